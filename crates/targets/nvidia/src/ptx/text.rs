//! Writes functions as PTX text: names for registers, labels, jumps.

use super::coalesce::{Classes, coalesce};
use super::edges::{EdgeCopy, Placed, place, remaining, sequence};
use super::features::Features;
use super::liveness::{Liveness, liveness};
use super::machine::{Base, CallText, Class, Edge, End, MBlock, MFunction, MInst, Operand, Reg, Text};
use super::options::Options;
use cranelift_entity::SecondaryMap;
use llir::{Block, Location, write_number};
use std::fmt::Write;

/// The name of a function's memory on the stack.
pub(crate) const STACK: &str = "__local_depot";

/// A name as PTX can read it.
pub(crate) fn symbol(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match plain(c) {
            true => text.push(c),
            false => _ = write!(text, "_${:x}_", u32::from(c)),
        }
    }
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert_str(0, "_$");
    }
    text
}

/// The name of a parameter.
pub(crate) fn param_name(function: &str, index: usize) -> String {
    format!("{}_param_{index}", symbol(function))
}

/// The declaration of a result of several 32-bit words.
pub(crate) fn word_array(name: &str, words: u32) -> String {
    format!(".param .align 16 .b8 {name}[{}]", 4 * words)
}

/// Bytes behind the name of such a result.
fn offset(word: usize) -> String {
    if word == 0 { String::new() } else { format!("+{}", 4 * word) }
}

/// Writes the body of one function.
pub(crate) struct Writer<'a> {
    function: &'a MFunction,
    number: usize,
    /// Where blocks are in the text.
    places: SecondaryMap<Block, usize>,
    liveness: Liveness,
    classes: Classes,
    names: SecondaryMap<Reg, Option<u32>>,
    /// How many registers of each class there are.
    counts: [u32; 4],
    options: &'a Options,
    /// The loops that the assembler may unroll, by their heads.
    unrolled: &'a [Block],
    line: Option<Location>,
    stubs: usize,
    /// Blocks that something goes to, other than by falling into them.
    is_target: SecondaryMap<Block, bool>,
    /// Where the text of each block begins.
    starts: Vec<(usize, Block)>,
    out: String,
    features: &'a mut Features,
}

/// The text between the braces of a function.
pub(crate) fn body(
    function: &MFunction,
    (number, unrolled): (usize, &[Block]),
    options: &Options,
    features: &mut Features,
) -> String {
    let mut places = SecondaryMap::new();
    for (index, block) in function.blocks.iter().enumerate() {
        places[block.block] = index;
    }
    let liveness = liveness(function, &places);
    let classes = coalesce(function, &places, &liveness);
    let mut writer = Writer {
        function,
        number,
        places,
        liveness,
        classes,
        names: SecondaryMap::new(),
        counts: [0; 4],
        options,
        unrolled,
        line: None,
        stubs: 0,
        is_target: SecondaryMap::new(),
        starts: Vec::with_capacity(function.blocks.len()),
        out: String::with_capacity(1 << 16),
        features,
    };
    writer.names.resize(function.regs.len());
    for (index, block) in function.blocks.iter().enumerate() {
        writer.block(index, block);
    }
    writer.finish()
}

impl Writer<'_> {
    fn finish(self) -> String {
        let mut head = String::new();
        let (size, align) = self.function.stack;
        if size > 0 {
            _ = writeln!(head, "\t.local .align {align} .b8 {STACK}[{size}];");
        }
        for class in Class::ALL {
            let count = self.counts[class as usize];
            if count > 0 {
                _ = writeln!(head, "\t.reg {} {}<{}>;", class.ty(), class.prefix(), count + 1);
            }
        }
        head.push('\n');
        let mut written = 0;
        for (start, block) in self.starts {
            head.push_str(&self.out[written..start]);
            written = start;
            if self.is_target[block] {
                _ = writeln!(head, "$L__BB{}_{}:", self.number, self.places[block]);
            }
        }
        head.push_str(&self.out[written..]);
        head
    }

    /// The label of a block that something goes to.
    fn label(&mut self, block: Block) -> String {
        self.is_target[block] = true;
        format!("$L__BB{}_{}", self.number, self.places[block])
    }

    fn block(&mut self, index: usize, block: &MBlock) {
        self.starts.push((self.out.len(), block.block));
        let may_be_unrolled = self.options.unroll || self.unrolled.contains(&block.block);
        if !may_be_unrolled && self.is_loop_head(index) {
            self.out.push_str("\t.pragma \"nounroll\";\n");
        }
        for inst in &block.insts {
            self.inst(inst);
        }
        self.end(index, block);
    }

    /// Whether a block at or behind this place goes back to it.
    fn is_loop_head(&self, index: usize) -> bool {
        let later = &self.function.blocks[index..];
        later.iter().any(|block| block.end.edges().iter().any(|edge| self.places[edge.block] == index))
    }

    fn name(&mut self, reg: Reg) -> (&'static str, u32) {
        let leader = self.classes.leader(reg);
        self.leader_name(leader, self.function.regs[reg])
    }

    fn leader_name(&mut self, leader: Reg, class: Class) -> (&'static str, u32) {
        if let Some(number) = self.names[leader] {
            return (class.prefix(), number);
        }
        self.counts[class as usize] += 1;
        let number = self.counts[class as usize];
        self.names[leader] = Some(number);
        (class.prefix(), number)
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Reg(reg) => self.reg(*reg),
            Operand::Int(value) => self.int(*value),
            Operand::F32(bits) => _ = write!(self.out, "0f{bits:08X}"),
            Operand::F64(bits) => _ = write!(self.out, "0d{bits:016X}"),
            Operand::Name(name) => self.out.push_str(name),
            Operand::Sink => self.out.push('_'),
            Operand::Address(base, offset) => {
                self.out.push('[');
                match base {
                    Base::Reg(reg) => self.reg(*reg),
                    Base::Name(name) => self.out.push_str(name),
                    Base::Absolute => self.int(*offset),
                }
                if *base != Base::Absolute && *offset != 0 {
                    // Also before a negative one: `[%rd1+-8]` is an address, `[%rd1-8]` is none.
                    self.out.push('+');
                    self.int(*offset);
                }
                self.out.push(']');
            }
            Operand::List(list) => {
                self.out.push('{');
                for (index, operand) in list.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    self.operand(operand);
                }
                self.out.push('}');
            }
        }
    }

    fn reg(&mut self, reg: Reg) {
        let (prefix, number) = self.name(reg);
        self.numbered(prefix, number);
    }

    fn numbered(&mut self, prefix: &str, number: u32) {
        self.out.push_str(prefix);
        write_number(&mut self.out, number);
    }

    fn int(&mut self, value: i64) {
        match u32::try_from(value.unsigned_abs()) {
            Ok(number) => {
                self.out.push_str(if value < 0 { "-" } else { "" });
                write_number(&mut self.out, number);
            }
            Err(_) => _ = write!(self.out, "{value}"),
        }
    }

    fn operands(&mut self, operands: &[Operand]) {
        for (index, operand) in operands.iter().enumerate() {
            self.out.push_str(if index == 0 { " " } else { ", " });
            self.operand(operand);
        }
    }

    fn locate(&mut self, location: Option<Location>) {
        let Some(place) = location.filter(|place| self.options.has_lines && place.line > 0) else { return };
        if self.line != location {
            self.line = location;
            let (file, line, column) = (place.file.as_u32() + 1, place.line, place.column);
            for (before, number) in [("\t.loc\t", file), (" ", line), (" ", column)] {
                self.numbered(before, number);
            }
            self.out.push('\n');
        }
    }

    fn inst(&mut self, inst: &MInst) {
        match &inst.text {
            Text::Copy => {
                if let [Operand::Reg(to), Operand::Reg(from)] = inst.operands[..] {
                    if self.classes.leader(to) == self.classes.leader(from) {
                        return;
                    }
                    self.locate(inst.location);
                    self.out.push('\t');
                    self.out.push_str(self.function.regs[to].mov());
                    self.operands(&inst.operands);
                    self.out.push_str(";\n");
                }
            }
            Text::Plain(mnemonic) => {
                self.locate(inst.location);
                self.features.add(mnemonic);
                self.out.push('\t');
                self.out.push_str(mnemonic);
                self.operands(&inst.operands);
                self.out.push_str(";\n");
            }
            Text::Asm(asm) => {
                self.locate(inst.location);
                self.out.push('\t');
                let start = self.out.len();
                let mut written = 0;
                for (at, operand) in &asm.places {
                    self.out.push_str(&asm.text[written..*at]);
                    self.operand(&inst.operands[*operand]);
                    written = *at;
                }
                self.out.push_str(&asm.text[written..]);
                self.features.add_text(&asm.text);
                let trimmed = self.out.trim_end().len();
                self.out.truncate(trimmed.max(start));
                if trimmed > start && !self.out.ends_with([';', '}']) {
                    self.out.push(';');
                }
                self.out.push('\n');
            }
            Text::Call(call) => {
                self.locate(inst.location);
                self.call(call, inst);
            }
        }
    }

    /// A call: parameters and results lie in variables of a scope of their own.
    fn call(&mut self, call: &CallText, inst: &MInst) {
        self.out.push_str("\t{\n");
        for (index, bits) in call.params.iter().enumerate() {
            _ = write!(self.out, "\t.param .b{bits} param{index};\n\tst.param.b{bits} [param{index}], ");
            self.operand(&inst.operands[inst.defs + index]);
            self.out.push_str(";\n");
        }
        match call.results[..] {
            [] => {}
            [bits] => _ = writeln!(self.out, "\t.param .b{bits} retval0;"),
            ref words => _ = writeln!(self.out, "\t{};", word_array("retval0", words.len() as u32)),
        }
        let result = if call.results.is_empty() { "" } else { "(retval0), " };
        let params: Vec<String> = (0..call.params.len()).map(|index| format!("param{index}")).collect();
        let name = symbol(&call.name);
        match params.is_empty() {
            true => _ = writeln!(self.out, "\tcall.uni {result}{name};"),
            false => _ = writeln!(self.out, "\tcall.uni {result}{name}, ({});", params.join(", ")),
        }
        for (word, bits) in call.results.iter().enumerate() {
            _ = write!(self.out, "\tld.param.b{bits} ");
            self.operand(&inst.operands[word]);
            _ = writeln!(self.out, ", [retval0{}];", offset(word));
        }
        self.out.push_str("\t}\n");
    }

    fn end(&mut self, index: usize, block: &MBlock) {
        match &block.end {
            End::Return(results) => {
                for (word, result) in results.iter().enumerate() {
                    let bits = match result {
                        Operand::Reg(reg) => self.function.regs[*reg].bits().max(32),
                        Operand::F64(_) => 64,
                        _ => 32,
                    };
                    _ = write!(self.out, "\tst.param.b{bits} [func_retval0{}], ", offset(word));
                    self.operand(result);
                    self.out.push_str(";\n");
                }
                self.out.push_str("\tret;\n");
            }
            End::Unreachable => self.out.push_str("\ttrap;\n"),
            End::Jump(edge) => {
                self.copies(remaining(edge, &self.classes));
                self.jump(index, edge.block);
            }
            End::Branch { condition, edges, uniform } => self.branch(index, *condition, edges, *uniform),
            End::Switch(conditions, edges) => self.switch(index, conditions, edges),
        }
    }

    /// Goes to a block, unless it comes next.
    fn jump(&mut self, index: usize, block: Block) {
        if self.places[block] != index + 1 {
            let label = self.label(block);
            _ = writeln!(self.out, "\tbra.uni {label};");
        }
    }

    fn copies(&mut self, copies: Vec<EdgeCopy>) {
        let (function, classes) = (self.function, &mut self.classes);
        let mut spares: Vec<Reg> = Vec::new();
        let sequenced = sequence(copies, |like| {
            let spare = Reg::from_u32((function.regs.len() + spares.len()) as u32);
            spares.push(classes.leader(like));
            spare
        });
        let class_of = |reg: Reg| {
            let index = (reg.as_u32() as usize).checked_sub(function.regs.len());
            index.map_or_else(|| function.regs[reg], |index| function.regs[spares[index]])
        };
        // Spare registers get names of their own each time.
        for index in 0..spares.len() {
            self.names[Reg::from_u32((function.regs.len() + index) as u32)] = None;
        }
        for (to, from) in sequenced {
            let class = class_of(to);
            let (prefix, number) = self.leader_name(to, class);
            self.out.push('\t');
            self.out.push_str(class.mov());
            self.out.push(' ');
            self.numbered(prefix, number);
            self.out.push_str(", ");
            match from {
                Operand::Reg(reg) => {
                    let (prefix, number) = self.leader_name(reg, class_of(reg));
                    self.numbered(prefix, number);
                }
                other => self.operand(&other),
            }
            self.out.push_str(";\n");
        }
    }

    fn branch(&mut self, index: usize, condition: Reg, edges: &[Edge; 2], uniform: bool) {
        let function = self.function;
        let params = |block: Block| function.blocks[self.places[block]].params.clone();
        let placed = place(condition, edges, &self.classes, &self.liveness, &self.places, params);
        let Placed { before, on_edge } = placed;
        let [first, second] = before;
        self.copies(first);
        self.copies(second);
        let [then, otherwise] = on_edge;
        let bra = if uniform { "bra.uni" } else { "bra" };
        let (prefix, number) = self.name(condition);
        match (then.is_empty(), otherwise.is_empty()) {
            (true, true) if self.places[edges[0].block] == index + 1 => {
                let no = self.label(edges[1].block);
                _ = writeln!(self.out, "\t@!{prefix}{number} {bra} {no};");
            }
            (true, _) => {
                let yes = self.label(edges[0].block);
                _ = writeln!(self.out, "\t@{prefix}{number} {bra} {yes};");
                self.copies(otherwise);
                self.jump(index, edges[1].block);
            }
            (false, true) => {
                let no = self.label(edges[1].block);
                _ = writeln!(self.out, "\t@!{prefix}{number} {bra} {no};");
                self.copies(then);
                self.jump(index, edges[0].block);
            }
            (false, false) => {
                let (stub, yes) = (self.stub(), self.label(edges[0].block));
                _ = writeln!(self.out, "\t@!{prefix}{number} {bra} {stub};");
                self.copies(then);
                _ = writeln!(self.out, "\tbra.uni {yes};\n{stub}:");
                self.copies(otherwise);
                self.jump(index, edges[1].block);
            }
        }
    }

    fn stub(&mut self) -> String {
        self.stubs += 1;
        format!("$L__BB{}_s{}", self.number, self.stubs)
    }

    fn switch(&mut self, index: usize, conditions: &[Reg], edges: &[Edge]) {
        for (condition, edge) in conditions.iter().zip(edges) {
            let copies = remaining(edge, &self.classes);
            let (prefix, number) = self.name(*condition);
            let label = self.label(edge.block);
            if copies.is_empty() {
                _ = writeln!(self.out, "\t@{prefix}{number} bra {label};");
                continue;
            }
            let stub = self.stub();
            _ = writeln!(self.out, "\t@!{prefix}{number} bra {stub};");
            self.copies(copies);
            _ = writeln!(self.out, "\tbra.uni {label};\n{stub}:");
        }
        if let Some(default) = edges.last() {
            self.copies(remaining(default, &self.classes));
            self.jump(index, default.block);
        }
    }
}
