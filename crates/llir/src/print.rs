//! Prints a module as textual LLVM IR that LLVM 17 to 22 accept.
//!
//! Values are numbered in the order of the text and block parameters become `phi`s, so the same module always gives
//! the same bytes. A printer for the form of an instruction is chosen by its [`Format`].

mod debug;
mod number;

use crate::constant::write_lane;
use crate::flags::Flags;
use crate::function::{
    Block, Function, Inst, InstData, Linkage, Memory, ParamAttributes, Payload, SyncScope, Value,
};
use crate::function::{BlockCall, ValueDef};
use crate::location::FileId;
use crate::module::{Callee, Global, GlobalKind, Module};
use crate::quoted::{escape, symbol};
use crate::rows::Format;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use debug::Debug;
use number::write_constant;
use std::fmt::{self, Write};

pub use number::write_number;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// The text of a module.
///
/// # Panics
/// When instructions lack what their rows say they have, which the verifier refuses.
pub fn print(module: &Module) -> String {
    let lines: usize = module.bodies.values().map(Function::len).sum();
    let mut text = String::with_capacity(LINE * lines.max(1 << 10));
    write_module(&mut text, module).expect("instructions have what their rows say");
    text
}

/// Bytes of a line of the text, with room to spare.
const LINE: usize = 96;

fn write_module(out: &mut String, module: &Module) -> fmt::Result {
    writeln!(out, "; ModuleID = '{}'", escape(module.name.as_bytes()))?;
    writeln!(out, "source_filename = \"{}\"", escape(module.name.as_bytes()))?;
    if !module.data_layout.is_empty() {
        writeln!(out, "target datalayout = \"{}\"", module.data_layout)?;
    }
    if !module.triple.is_empty() {
        writeln!(out, "target triple = \"{}\"", module.triple)?;
    }
    out.push('\n');
    for (part, count) in named_structures(module) {
        let parts = vec![part.to_string(); count as usize];
        writeln!(out, "%{}.x{count} = type {{ {} }}", part.mangled(), parts.join(", "))?;
    }
    for global in &module.globals {
        write_global(out, global)?;
    }
    let weights = weights(module);
    let debug = Debug::new(module, 2 + weights.len() as u32);
    for function in module.bodies.values() {
        Printer::new(module, function, &weights, &debug).write(out)?;
        out.push('\n');
    }
    for attachment in &module.attachments {
        out.push_str(&attachment.body);
        out.push('\n');
    }
    for (id, callee) in module.callees.iter() {
        if !module.bodies.contains_key(&id) && !module.attached.contains(&callee.name) {
            write_declaration(out, callee)?;
        }
    }
    for (name, line) in &module.attached_declarations {
        if module.find(name).is_none() && !module.attached.contains(name) {
            writeln!(out, "{line}")?;
        }
    }
    out.push_str("\n!0 = !{i32 1}\n!1 = !{}\n");
    for (index, (likely, unlikely)) in weights.iter().enumerate() {
        writeln!(out, "!{} = !{{!\"branch_weights\", i32 {likely}, i32 {unlikely}}}", index + 2)?;
    }
    debug.write(out)
}

/// The structures whose types have names, each once, in order.
fn named_structures(module: &Module) -> Vec<(Type, u32)> {
    let instructions = module.bodies.values().flat_map(|function| function.insts.values());
    let mut found: Vec<(Type, u32)> = Vec::new();
    for named in instructions.filter_map(|data| data.ty.named_structure()) {
        if !found.contains(&named) {
            found.push(named);
        }
    }
    found
}

/// The branch weights in use, each once, in order.
fn weights(module: &Module) -> Vec<(u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for function in module.bodies.values() {
        for data in function.insts.values() {
            if let Payload::Weights(first, second) = data.payload {
                found.push((first, second));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn write_global(out: &mut String, global: &Global) -> fmt::Result {
    let (name, element) = (symbol(&global.name), global.element);
    let space = if global.space == 0 { String::new() } else { format!("addrspace({}) ", global.space) };
    match &global.kind {
        GlobalKind::External(count) => write!(out, "@{name} = external {space}global [{count} x {element}]")?,
        GlobalKind::Internal(count) => {
            let init = if global.space == 3 { "undef" } else { "zeroinitializer" };
            write!(out, "@{name} = internal {space}global [{count} x {element}] {init}")?;
        }
        GlobalKind::Constant(elements) => {
            let count = elements.len();
            write!(out, "@{name} = private unnamed_addr {space}constant [{count} x {element}] ")?;
            write_elements(out, element, elements)?;
        }
    }
    writeln!(out, ", align {}", global.align)
}

fn write_elements(out: &mut String, element: Type, elements: &[u128]) -> fmt::Result {
    if element == Type::I8 {
        let bytes: Vec<u8> = elements.iter().map(|byte| *byte as u8).collect();
        return write!(out, "c\"{}\"", escape(&bytes));
    }
    for (index, bits) in elements.iter().enumerate() {
        write!(out, "{}{element} ", if index == 0 { "[" } else { ", " })?;
        write_lane(out, element.kind(), *bits)?;
    }
    out.push_str(if elements.is_empty() { "[]" } else { "]" });
    Ok(())
}

fn write_declaration(out: &mut String, callee: &Callee) -> fmt::Result {
    write!(out, "declare {} @{}(", callee.ret, symbol(&callee.name))?;
    for (index, ty) in callee.params.iter().enumerate() {
        write!(out, "{}{ty}", if index == 0 { "" } else { ", " })?;
    }
    out.push(')');
    for attribute in &callee.attributes {
        write!(out, " {attribute}")?;
    }
    out.push('\n');
    Ok(())
}

fn write_param_attributes(out: &mut String, attributes: &ParamAttributes) -> fmt::Result {
    for (given, word) in [
        (attributes.in_register, " inreg"),
        (attributes.noalias, " noalias"),
        (attributes.readonly, " readonly"),
        (attributes.nonnull, " nonnull"),
        (attributes.noundef, " noundef"),
    ] {
        if given {
            out.push_str(word);
        }
    }
    if attributes.align > 1 {
        write!(out, " align {}", attributes.align)?;
    }
    if attributes.dereferenceable > 0 {
        write!(out, " dereferenceable({})", attributes.dereferenceable)?;
    }
    if attributes.by_value > 0 {
        write!(out, " byval([{} x i8])", attributes.by_value)?;
    }
    Ok(())
}

/// Prints one function.
struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Numbers of the values that are neither constants nor parameters.
    numbers: SecondaryMap<Value, u32>,
    /// Numbers of the blocks in the text.
    block_numbers: SecondaryMap<Block, u32>,
    weights: &'a [(u32, u32)],
    debug: &'a Debug<'a>,
    /// The description of the function in the debug metadata, and its file.
    subprogram: Option<(u32, FileId)>,
    /// The names of the parameters.
    params: Vec<String>,
}

impl<'a> Printer<'a> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        weights: &'a [(u32, u32)],
        debug: &'a Debug<'a>,
    ) -> Printer<'a> {
        let mut numbers = function.about_values();
        let mut block_numbers = SecondaryMap::new();
        let mut next = 0;
        let mut number = |value: Value| {
            numbers[value] = next;
            next += 1;
        };
        for (index, block) in function.layout.iter().enumerate() {
            block_numbers[*block] = index as u32;
            let data = function.block(*block);
            data.params.iter().copied().for_each(&mut number);
            data.insts.iter().filter_map(|inst| function.result(*inst)).for_each(&mut number);
        }
        let subprogram = debug.subprogram(function);
        let params = (0..function.params.len()).map(|index| param_name(function, index)).collect();
        Printer { module, function, numbers, block_numbers, weights, debug, subprogram, params }
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let function = self.function;
        let linkage = if function.linkage == Linkage::Internal { "internal " } else { "" };
        let convention = match &function.kernel {
            Some(kernel) if !kernel.convention.is_empty() => format!("{} ", kernel.convention),
            _ => String::new(),
        };
        write!(out, "define {linkage}{convention}{} @{}(", function.ret, symbol(&function.name))?;
        for (index, param) in function.params.iter().enumerate() {
            write!(out, "{}{}", if index == 0 { "" } else { ", " }, param.ty)?;
            write_param_attributes(out, &param.attributes)?;
            out.extend([" ", &self.params[index]]);
        }
        out.push(')');
        for attribute in &function.attributes {
            write!(out, " {attribute}")?;
        }
        if let Some((number, _)) = self.subprogram {
            write!(out, " !dbg !{number}")?;
        }
        out.push_str(" {\n");
        let predecessors = self.predecessors();
        for block in &function.layout {
            self.write_block(out, *block, &predecessors[*block])?;
        }
        out.push_str("}\n");
        Ok(())
    }

    /// For each block, who jumps to it with what; a jump that is named twice counts once.
    fn predecessors(&self) -> SecondaryMap<Block, Vec<(Block, &'a BlockCall)>> {
        let mut map: SecondaryMap<Block, Vec<(Block, &BlockCall)>> = SecondaryMap::new();
        for block in &self.function.layout {
            for call in self.function.targets(*block) {
                map[call.block].push((*block, call));
            }
        }
        map
    }

    fn write_block(&self, out: &mut String, block: Block, from: &[(Block, &BlockCall)]) -> fmt::Result {
        self.write_label(out, block);
        out.push_str(":\n");
        let data = self.function.block(block);
        for (index, param) in data.params.iter().enumerate() {
            out.push_str("  ");
            self.write_name(out, *param)?;
            out.push_str(" = phi ");
            write_type(out, self.ty(*param))?;
            out.push(' ');
            for (position, (pred, call)) in from.iter().enumerate() {
                out.push_str(if position == 0 { "[ " } else { ", [ " });
                match call.args.get(index) {
                    Some(arg) => self.write_name(out, *arg)?,
                    None => out.push_str("poison"),
                }
                out.push_str(", %");
                self.write_label(out, *pred);
                out.push_str(" ]");
            }
            out.push('\n');
        }
        for inst in &data.insts {
            self.write_inst(out, *inst)?;
        }
        Ok(())
    }

    fn write_label(&self, out: &mut String, block: Block) {
        out.push_str("bb");
        write_number(out, self.block_numbers[block]);
    }

    fn ty(&self, value: Value) -> Type {
        self.function.value(value).ty
    }

    fn write_name(&self, out: &mut String, value: Value) -> fmt::Result {
        match &self.function.value(value).def {
            ValueDef::Constant(constant) => return write_constant(out, constant),
            ValueDef::Param(index) => out.push_str(&self.params[*index as usize]),
            ValueDef::BlockParam(..) | ValueDef::Inst(_) => {
                out.push('%');
                write_number(out, self.numbers[value]);
            }
        }
        Ok(())
    }

    /// `T v`.
    fn write_typed(&self, out: &mut String, value: Value) -> fmt::Result {
        write_type(out, self.ty(value))?;
        out.push(' ');
        self.write_name(out, value)
    }

    /// `T a, U b, …`.
    fn write_list(&self, out: &mut String, values: &[Value]) -> fmt::Result {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            self.write_typed(out, *value)?;
        }
        Ok(())
    }

    /// `T a, b`.
    fn write_pair(&self, out: &mut String, a: Value, b: Value) -> fmt::Result {
        self.write_typed(out, a)?;
        out.push_str(", ");
        self.write_name(out, b)
    }

    fn write_inst(&self, out: &mut String, inst: Inst) -> fmt::Result {
        let data = self.function.inst(inst);
        out.push_str("  ");
        if let Some(result) = self.function.result(inst) {
            self.write_name(out, result)?;
            out.push_str(" = ");
        }
        self.write_body(out, data)?;
        if let Some(subprogram) = self.subprogram {
            self.debug.write_inst(out, subprogram, self.function, inst);
        }
        out.push('\n');
        Ok(())
    }

    /// The instruction without its result.
    fn write_body(&self, out: &mut String, data: &InstData) -> fmt::Result {
        let row = data.op.row();
        match row.format {
            Format::Shuffle | Format::ExtractValue | Format::Alloca => return self.write_shape(out, data),
            Format::Load | Format::Store | Format::AtomicRmw | Format::CmpXchg | Format::Fence => {
                return self.write_memory(out, data);
            }
            Format::Call | Format::CallIndirect | Format::Asm => return self.write_call(out, data),
            Format::Jump | Format::Branch | Format::Switch => return self.write_jump(out, data),
            _ => {}
        }
        out.push_str(row.name);
        if row.format != Format::Unreachable {
            out.push(' ');
        }
        write_flags(out, data.flags);
        match (row.format, &data.operands[..]) {
            (Format::Binary, [a, b]) => self.write_pair(out, *a, *b),
            (Format::Unary, [a]) => self.write_typed(out, *a),
            (Format::Compare, [a, b]) => {
                out.push_str(word(data));
                out.push(' ');
                self.write_pair(out, *a, *b)
            }
            (Format::Cast, [a]) => {
                self.write_typed(out, *a)?;
                out.push_str(" to ");
                write_type(out, data.ty)
            }
            (Format::Gep, args) => {
                let Payload::Element(element, _) = data.payload else { return Err(fmt::Error) };
                write_type(out, element)?;
                out.push_str(", ");
                self.write_list(out, args)
            }
            (Format::Return, []) => {
                out.push_str("void");
                Ok(())
            }
            (Format::Select | Format::Extract | Format::Insert | Format::Return, args) => {
                self.write_list(out, args)
            }
            (Format::Unreachable, _) => Ok(()),
            _ => Err(fmt::Error),
        }
    }

    fn write_shape(&self, out: &mut String, data: &InstData) -> fmt::Result {
        let name = data.op.row().name;
        match &data.payload {
            Payload::Mask(lanes) => {
                out.push_str(name);
                out.push(' ');
                self.write_list(out, &data.operands)?;
                write!(out, ", <{} x i32> <", lanes.len())?;
                for (index, lane) in lanes.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    match lane {
                        0.. => write!(out, "i32 {lane}")?,
                        _ => out.push_str("i32 poison"),
                    }
                }
                out.push('>');
                Ok(())
            }
            Payload::Index(index) => {
                out.push_str(name);
                out.push(' ');
                self.write_list(out, &data.operands)?;
                out.push_str(", ");
                write_number(out, *index);
                Ok(())
            }
            Payload::Element(ty, align) => write!(out, "{name} {ty}, align {align}"),
            _ => Err(fmt::Error),
        }
    }

    fn write_memory(&self, out: &mut String, data: &InstData) -> fmt::Result {
        out.push_str(data.op.row().name);
        out.push(' ');
        let list = |out: &mut String| self.write_list(out, &data.operands);
        match &data.payload {
            Payload::Memory(memory) if data.op.row().format == Format::CmpXchg => {
                let ordering = memory.ordering.ok_or(fmt::Error)?;
                let (success, failure) = (ordering.word(), ordering.on_failure().word());
                write_flags(out, data.flags);
                list(out)?;
                write_scope(out, memory.scope)?;
                write!(out, " {success} {failure}, align {}", memory.align)
            }
            Payload::Memory(memory) => {
                out.push_str(if memory.ordering.is_some() { "atomic " } else { "" });
                write_flags(out, data.flags);
                if !data.ty.is_void() {
                    write_type(out, data.ty)?;
                    out.push_str(", ");
                }
                list(out)?;
                write_memory_tail(out, memory)
            }
            Payload::Rmw(kind, memory) => {
                let ordering = memory.ordering.ok_or(fmt::Error)?.word();
                write_flags(out, data.flags);
                write!(out, "{} ", kind.word())?;
                list(out)?;
                write_scope(out, memory.scope)?;
                write!(out, " {ordering}, align {}", memory.align)?;
                self.module.atomic_notes.iter().try_for_each(|note| write!(out, ", !{note} !1"))
            }
            Payload::Fence(ordering, scope) => {
                // The mnemonic has a blank behind it.
                out.pop();
                write_scope(out, *scope)?;
                write!(out, " {}", ordering.word())
            }
            _ => Err(fmt::Error),
        }
    }

    fn write_call(&self, out: &mut String, data: &InstData) -> fmt::Result {
        out.push_str("call ");
        write_flags(out, data.flags);
        write_type(out, data.ty)?;
        out.push(' ');
        let mut args = &data.operands[..];
        match &data.payload {
            Payload::Callee(id) => {
                out.push('@');
                out.push_str(&symbol(&self.module.callee(*id).name));
            }
            Payload::Asm(asm) => {
                let effects = if asm.side_effects { "sideeffect " } else { "" };
                let (text, constraints) = (escape(asm.text.as_bytes()), escape(asm.constraints.as_bytes()));
                write!(out, "asm {effects}\"{text}\", \"{constraints}\"")?;
            }
            _ => {
                let (callee, rest) = args.split_first().ok_or(fmt::Error)?;
                self.write_name(out, *callee)?;
                args = rest;
            }
        }
        out.push('(');
        self.write_list(out, args)?;
        out.push(')');
        Ok(())
    }

    fn write_jump(&self, out: &mut String, data: &InstData) -> fmt::Result {
        out.push_str(data.op.row().name);
        out.push(' ');
        if let (Payload::Cases(cases), [value]) = (&data.payload, &data.operands[..]) {
            let (first, rest) = data.targets.split_first().ok_or(fmt::Error)?;
            self.write_typed(out, *value)?;
            out.push_str(", ");
            self.write_goal(out, first);
            out.push_str(" [");
            for (case, target) in cases.iter().zip(rest) {
                write!(out, " {} ", self.ty(*value))?;
                write_lane(out, self.ty(*value).kind(), *case)?;
                out.push_str(", ");
                self.write_goal(out, target);
            }
            out.push_str(" ]");
            return Ok(());
        }
        if let [condition] = data.operands[..] {
            self.write_typed(out, condition)?;
            out.push_str(", ");
        }
        for (index, target) in data.targets.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { ", " });
            self.write_goal(out, target);
        }
        if let Payload::Weights(first, second) = data.payload {
            let index = self.weights.binary_search(&(first, second)).map_err(|_| fmt::Error)?;
            write!(out, ", !prof !{}", index + 2)?;
        }
        Ok(())
    }

    fn write_goal(&self, out: &mut String, call: &BlockCall) {
        out.push_str("label %");
        self.write_label(out, call.block);
    }
}

/// `%name`, or `%p.0` for a parameter without one. Results are `%0`, `%1`, …, so the two never meet; a parameter that
/// is named like a block gets a dot.
fn param_name(function: &Function, index: usize) -> String {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let like_block = |name: &str| name.strip_prefix("bb").is_some_and(is_number);
    match function.params[index].name.as_str() {
        "" => format!("%p.{index}"),
        name if like_block(name) => format!("%{name}."),
        name => format!("%{}", symbol(name)),
    }
}

fn write_type(out: &mut String, ty: Type) -> fmt::Result {
    match ty.word() {
        Some(word) => out.push_str(word),
        None => return write!(out, "{ty}"),
    }
    Ok(())
}

fn write_flags(out: &mut String, flags: Flags) {
    if flags != Flags::NONE {
        flags.words().for_each(|word| out.extend([word, " "]));
    }
}

/// The word of a comparison.
fn word(data: &InstData) -> &'static str {
    match data.payload {
        Payload::IntCompare(compare) => compare.word(),
        Payload::FloatCompare(compare) => compare.word(),
        _ => "",
    }
}

/// ` syncscope("agent")`, where it is not that of all.
fn write_scope(out: &mut String, scope: SyncScope) -> fmt::Result {
    match scope {
        SyncScope::System => Ok(()),
        scope => write!(out, " syncscope(\"{}\")", scope.word()),
    }
}

fn write_memory_tail(out: &mut String, memory: &Memory) -> fmt::Result {
    if let Some(ordering) = memory.ordering {
        write_scope(out, memory.scope)?;
        write!(out, " {}", ordering.word())?;
    }
    write!(out, ", align {}", memory.align)?;
    if memory.nontemporal {
        out.push_str(", !nontemporal !0");
    }
    if memory.invariant {
        out.push_str(", !invariant.load !1");
    }
    Ok(())
}
