//! Blocks, edges and rows of a kernel; functions that it calls are put in place of the calls.

use crate::decode::flow::post_dominators;
use crate::decode::site::{Components, Site};
use crate::machine::code::{Block, Code, Edge, End, Fill, Instr, NOWHERE, SitePlace, Slot};
use crate::ops;
use amdgcn_isa::Arch;
use llir::{Constant, ConstantKind, Function, Global, GlobalKind, Module, Op, Payload, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Why a kernel cannot be run, and the instruction that says so: its function's number, and its own.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) function: u32,
    pub(crate) number: u32,
    pub(crate) message: String,
}

/// What jumps pass, before all values are known.
struct Jump<'m> {
    block: u32,
    passed: Vec<(Value, &'m [Value])>,
}

enum RawEnd<'m> {
    Jump(Jump<'m>),
    Branch(Value, [Jump<'m>; 2]),
    Switch(Value, Box<[u64]>, Vec<Jump<'m>>),
    Done(End),
}

struct RawBlock {
    instructions: std::ops::Range<u32>,
    end: Option<End>,
    site: u32,
}

/// A kernel that is being decoded.
pub(crate) struct Assembler<'m> {
    pub(crate) module: &'m Module,
    pub(crate) arch: Arch,
    instructions: Vec<Instr>,
    blocks: Vec<RawBlock>,
    sites: Vec<SitePlace>,
    slots: u32,
    fills: FxHashMap<Fill, Slot>,
    pub(crate) private: usize,
    pub(crate) is_sequential: bool,
    /// Offsets in LDS of variables there.
    offsets: FxHashMap<String, u64>,
    /// The functions that are being put in place, to find recursion.
    active: Vec<String>,
}

/// A function that is being put in place.
pub(crate) struct Frame<'m> {
    pub(crate) function: &'m Function,
    number: u32,
    pub(crate) values: FxHashMap<Value, Components>,
    blocks: FxHashMap<llir::Block, u32>,
    /// Where a return goes, and the rows that get the result.
    back: Option<(u32, Components)>,
    ends: Vec<(u32, RawEnd<'m>)>,
}

/// Decodes a kernel.
pub(crate) fn assemble(module: &Module, function: &Function, arch: Arch) -> Result<Code, Refusal> {
    let (offsets, lds) = lds_offsets(module);
    let mut assembler = Assembler {
        module,
        arch,
        instructions: Vec::new(),
        blocks: Vec::new(),
        sites: Vec::new(),
        slots: NOWHERE.0 + 1,
        fills: FxHashMap::default(),
        private: 0,
        is_sequential: false,
        offsets,
        active: Vec::new(),
    };
    let mut arguments = Vec::new();
    let mut offset = 0;
    for param in &function.params {
        let bytes = param.ty.lane_bytes() as usize;
        if param.ty.is_vector() || param.ty.is_structure() || param.attributes.by_value > 0 {
            let message = format!("a parameter of the type {} cannot be given", param.ty);
            return Err(Refusal { function: number_of(module, function), number: 0, message });
        }
        let slot = assembler.fill(Fill::Argument { offset, bytes });
        arguments.push(SmallVec::from_slice(&[slot]));
        offset += bytes;
    }
    assembler.function(function, arguments, None)?;
    Ok(assembler.finish(lds))
}

/// Where the variables of a module in LDS lie, and how many bytes they take; what has no size lies behind.
fn lds_offsets(module: &Module) -> (FxHashMap<String, u64>, usize) {
    let mut offsets = FxHashMap::default();
    let mut end = 0u64;
    let in_lds = || module.globals().iter().filter(|global| global.space == 3);
    let count = |global: &Global| match &global.kind {
        GlobalKind::Constant(elements) => elements.len() as u64,
        GlobalKind::Internal(count) | GlobalKind::External(count) => *count,
    };
    for sized in [true, false] {
        for global in in_lds().filter(|global| (count(global) > 0) == sized) {
            end = end.next_multiple_of(u64::from(global.align.max(1)));
            offsets.insert(global.name.clone(), end);
            end += count(global) * u64::from(global.element.lane_bytes());
        }
    }
    (offsets, end as usize)
}

/// The number of a function among those with bodies, in order of the text.
fn number_of(module: &Module, function: &Function) -> u32 {
    module.functions().position(|other| other.name == function.name).unwrap_or(0) as u32
}

impl<'m> Assembler<'m> {
    /// A new row.
    pub(crate) fn slot(&mut self) -> Slot {
        self.slots += 1;
        Slot(self.slots - 1)
    }

    /// The row that a warp starts with.
    pub(crate) fn fill(&mut self, fill: Fill) -> Slot {
        if let Some(slot) = self.fills.get(&fill) {
            return *slot;
        }
        let slot = self.slot();
        self.fills.insert(fill, slot);
        slot
    }

    /// Adds an instruction to the block that is open.
    pub(crate) fn push(&mut self, instr: Instr) {
        self.instructions.push(instr);
    }

    fn open(&mut self, block: u32) {
        self.blocks[block as usize].instructions.start = self.instructions.len() as u32;
    }

    fn close(&mut self, block: u32, site: u32) {
        let raw = &mut self.blocks[block as usize];
        raw.instructions.end = self.instructions.len() as u32;
        raw.site = site;
    }

    fn block(&mut self) -> u32 {
        self.blocks.push(RawBlock { instructions: 0..0, end: None, site: 0 });
        self.blocks.len() as u32 - 1
    }

    /// Rows for a value of a type.
    pub(crate) fn rows(&mut self, ty: Type) -> Result<Components, String> {
        Ok(widths(ty)?.into_iter().map(|_| self.slot()).collect())
    }

    /// The rows of a constant.
    pub(crate) fn constant(&mut self, constant: &Constant) -> Result<Components, String> {
        let widths = widths(constant.ty)?;
        let is_buffer = constant.ty.kind() == Scalar::Ptr(8);
        Ok(match &constant.kind {
            ConstantKind::Poison | ConstantKind::Undef => widths.iter().map(|_| NOWHERE).collect(),
            ConstantKind::Bits(bits) if is_buffer => [*bits as u64, (*bits >> 64) as u64]
                .map(|half| self.fill(Fill::Bits(half)))
                .into_iter()
                .collect(),
            ConstantKind::Bits(bits) => {
                let slot = self.fill(Fill::Bits(*bits as u64));
                widths.iter().map(|_| slot).collect()
            }
            ConstantKind::Lanes(lanes) => {
                lanes.iter().map(|bits| self.fill(Fill::Bits(*bits as u64))).collect()
            }
            ConstantKind::Symbol(name) => SmallVec::from_slice(&[self.symbol(name)?]),
        })
    }

    /// The address of a variable.
    fn symbol(&mut self, name: &str) -> Result<Slot, String> {
        if let Some(offset) = self.offsets.get(name).copied() {
            return Ok(self.fill(Fill::Bits(offset)));
        }
        match self.module.globals().iter().position(|global| global.name == name) {
            Some(index) => Ok(self.fill(Fill::Variable(index))),
            None => Err(format!("the address of @{name} is not known")),
        }
    }

    /// Puts a function in place; answers its first block.
    fn function(
        &mut self,
        function: &'m Function,
        arguments: Vec<Components>,
        back: Option<(u32, Components)>,
    ) -> Result<u32, Refusal> {
        let number = number_of(self.module, function);
        let refuse = |message| Refusal { function: number, number: 0, message };
        if self.active.contains(&function.name) {
            return Err(refuse(format!("@{} calls itself, which cannot be run", function.name)));
        }
        self.active.push(function.name.clone());
        let mut order = llir::postorder(function);
        order.reverse();
        let mut frame = Frame {
            function,
            number,
            values: FxHashMap::default(),
            blocks: FxHashMap::default(),
            back,
            ends: Vec::new(),
        };
        for (index, rows) in arguments.into_iter().enumerate() {
            frame.values.insert(param(index), rows);
        }
        for block in &order {
            let index = self.block();
            frame.blocks.insert(*block, index);
            for value in &function.block(*block).params {
                let rows = self.rows(function.value(*value).ty).map_err(refuse)?;
                frame.values.insert(*value, rows);
            }
        }
        let numbers = numbers(function);
        for block in &order {
            self.decode_block(&mut frame, *block, &numbers)?;
        }
        for (block, end) in std::mem::take(&mut frame.ends) {
            let end = self.resolve(&mut frame, end).map_err(refuse)?;
            self.blocks[block as usize].end = Some(end);
        }
        self.active.pop();
        Ok(frame.blocks[&order[0]])
    }

    fn decode_block(
        &mut self,
        frame: &mut Frame<'m>,
        block: llir::Block,
        numbers: &FxHashMap<llir::Inst, u32>,
    ) -> Result<(), Refusal> {
        let function = frame.function;
        let mut current = frame.blocks[&block];
        self.open(current);
        for inst in &function.block(block).insts {
            let data = function.inst(*inst);
            let number = numbers[inst];
            let refuse = |frame: &Frame<'_>, message| Refusal { function: frame.number, number, message };
            let site = self.sites.len() as u32;
            self.sites.push(SitePlace {
                function: frame.number,
                number,
                name: name_of(self.module, data),
                location: function.location_of(*inst).filter(|place| place.line > 0),
            });
            if !data.targets.is_empty() || matches!(data.op, Op::RETURN | Op::UNREACHABLE) {
                self.close(current, site);
                let end = raw_end(frame, data);
                let end = match end {
                    Some(end) => end,
                    None => RawEnd::Done(self.leave(frame, data).map_err(|message| refuse(frame, message))?),
                };
                frame.ends.push((current, end));
                continue;
            }
            if let Some(callee) = callee(self.module, data) {
                current = self.call(frame, (*inst, data), callee, (current, site))?;
                continue;
            }
            let mut decoder = Site { assembler: self, frame, data, site, result: SmallVec::new() };
            ops::decode(&mut decoder).map_err(|message| Refusal {
                function: frame_number(&decoder),
                number,
                message,
            })?;
            let rows = decoder.result;
            if let Some(value) = function.result(*inst) {
                let widths = widths(data.ty).map_err(|message| refuse(frame, message))?;
                if widths.len() != rows.len() {
                    let message = format!("{} rows for {} components", rows.len(), widths.len());
                    return Err(refuse(frame, message));
                }
                frame.values.insert(value, rows);
            }
        }
        Ok(())
    }

    /// Puts the callee in place of a call; answers the block behind it.
    fn call(
        &mut self,
        frame: &mut Frame<'m>,
        (inst, data): (llir::Inst, &'m llir::InstData),
        callee: &'m Function,
        (current, site): (u32, u32),
    ) -> Result<u32, Refusal> {
        let refuse = |number, message| Refusal { function: number, number: 0, message };
        let number = frame.number;
        let mut arguments = Vec::new();
        for value in &data.operands {
            arguments.push(self.value(frame, *value).map_err(|message| refuse(number, message))?);
        }
        let rows = match frame.function.result(inst) {
            Some(_) => self.rows(data.ty).map_err(|message| refuse(number, message))?,
            None => Components::new(),
        };
        self.close(current, site);
        let next = self.block();
        let first = self.function(callee, arguments, Some((next, rows.clone())))?;
        self.blocks[current as usize].end = Some(End::Jump(Edge { block: first, moves: Box::new([]) }));
        self.open(next);
        if let Some(value) = frame.function.result(inst) {
            frame.values.insert(value, rows);
        }
        Ok(next)
    }

    /// The rows of a value.
    pub(crate) fn value(&mut self, frame: &Frame<'_>, value: Value) -> Result<Components, String> {
        if let Some(constant) = frame.function.constant(value) {
            return self.constant(constant);
        }
        let rows = frame.values.get(&value).cloned();
        rows.ok_or_else(|| format!("{value} is used before it is made"))
    }

    /// A return.
    fn leave(&mut self, frame: &Frame<'m>, data: &llir::InstData) -> Result<End, String> {
        if data.op == Op::UNREACHABLE {
            return Ok(End::Unreachable);
        }
        let Some((block, rows)) = frame.back.clone() else { return Ok(End::Return) };
        let mut moves = Vec::new();
        if let [value] = data.operands[..] {
            moves.extend(rows.into_iter().zip(self.value(frame, value)?));
        }
        Ok(End::Jump(Edge { block, moves: moves.into() }))
    }

    fn resolve(&mut self, frame: &mut Frame<'m>, end: RawEnd<'m>) -> Result<End, String> {
        Ok(match end {
            RawEnd::Done(end) => end,
            RawEnd::Jump(jump) => End::Jump(self.edge(frame, &jump)?),
            RawEnd::Branch(condition, [yes, no]) => {
                let condition = self.value(frame, condition)?[0];
                End::Branch(condition, [self.edge(frame, &yes)?, self.edge(frame, &no)?])
            }
            RawEnd::Switch(value, cases, jumps) => {
                let value = self.value(frame, value)?[0];
                let edges: Result<Vec<Edge>, String> =
                    jumps.iter().map(|jump| self.edge(frame, jump)).collect();
                End::Switch(value, cases, edges?.into())
            }
        })
    }

    fn edge(&mut self, frame: &Frame<'m>, jump: &Jump<'m>) -> Result<Edge, String> {
        let mut moves: Vec<(Slot, Slot)> = Vec::new();
        for (param, args) in &jump.passed {
            let to = self.value(frame, *param)?;
            let from = self.value(frame, args[0])?;
            moves.extend(to.into_iter().zip(from).filter(|(to, from)| to != from));
        }
        Ok(Edge { block: jump.block, moves: self.in_order(moves).into() })
    }

    /// Moves that happen at once, as moves one after another.
    fn in_order(&mut self, mut moves: Vec<(Slot, Slot)>) -> Vec<(Slot, Slot)> {
        let mut out = Vec::with_capacity(moves.len());
        while !moves.is_empty() {
            let before = moves.len();
            let mut index = 0;
            while index < moves.len() {
                let to = moves[index].0;
                if moves.iter().enumerate().any(|(other, (_, from))| other != index && *from == to) {
                    index += 1;
                } else {
                    out.push(moves.swap_remove(index));
                }
            }
            if moves.len() == before {
                // A circle: one value steps aside.
                let aside = self.slot();
                let from = moves[0].1;
                out.push((aside, from));
                moves[0].1 = aside;
            }
        }
        out
    }

    fn finish(self, lds: usize) -> Code {
        let ends: Vec<End> =
            self.blocks.iter().map(|block| block.end.clone().unwrap_or(End::Unreachable)).collect();
        let joins = post_dominators(&ends.iter().map(targets).collect::<Vec<_>>());
        let mut blocks = Vec::with_capacity(ends.len());
        for ((raw, end), join) in self.blocks.into_iter().zip(ends).zip(joins) {
            blocks.push(Block { instructions: raw.instructions, end, site: raw.site, join });
        }
        Code {
            arch: self.arch,
            instructions: self.instructions,
            blocks,
            sites: self.sites,
            slots: self.slots as usize,
            fills: self.fills.into_iter().map(|(fill, slot)| (slot, fill)).collect(),
            lds,
            private: self.private,
            is_sequential: self.is_sequential,
        }
    }
}

fn frame_number(site: &Site<'_, '_>) -> u32 {
    site.frame.number
}

/// The value of a parameter: the first values of a function are its parameters.
fn param(index: usize) -> Value {
    use cranelift_entity::EntityRef;
    Value::new(index)
}

/// The numbers of a function's instructions, in order of the text.
fn numbers(function: &Function) -> FxHashMap<llir::Inst, u32> {
    let insts = function.layout.iter().flat_map(|block| function.block(*block).insts.iter().copied());
    insts.enumerate().map(|(number, inst)| (inst, number as u32)).collect()
}

/// What an instruction is called in messages.
fn name_of(module: &Module, data: &llir::InstData) -> String {
    match data.payload {
        Payload::Callee(id) => {
            let name = &module.callee(id).name;
            name.strip_prefix("llvm.amdgcn.").or(name.strip_prefix("llvm.")).unwrap_or(name).to_owned()
        }
        _ => data.op.row().name.to_owned(),
    }
}

/// The function that an instruction calls, if it has a body here.
fn callee<'m>(module: &'m Module, data: &llir::InstData) -> Option<&'m Function> {
    match data.payload {
        Payload::Callee(id) => module.function(id),
        _ => None,
    }
}

fn raw_end<'m>(frame: &Frame<'m>, data: &'m llir::InstData) -> Option<RawEnd<'m>> {
    let function = frame.function;
    let jump = |call: &'m llir::BlockCall| {
        let params = &function.block(call.block).params;
        let passed = params.iter().enumerate().map(|(index, param)| (*param, &call.args[index..=index]));
        Jump { block: frame.blocks[&call.block], passed: passed.collect() }
    };
    match (&data.payload, &data.operands[..], &data.targets[..]) {
        (Payload::Cases(cases), [value], targets) => {
            let cases = cases.iter().map(|case| *case as u64).collect();
            Some(RawEnd::Switch(*value, cases, targets.iter().map(jump).collect()))
        }
        (_, [], [target]) => Some(RawEnd::Jump(jump(target))),
        (_, [condition], [yes, no]) => Some(RawEnd::Branch(*condition, [jump(yes), jump(no)])),
        _ => None,
    }
}

fn targets(end: &End) -> Vec<u32> {
    match end {
        End::Jump(edge) => vec![edge.block],
        End::Branch(_, edges) => edges.iter().map(|edge| edge.block).collect(),
        End::Switch(_, _, edges) => edges.iter().map(|edge| edge.block).collect(),
        End::Return | End::Unreachable => Vec::new(),
    }
}

/// The widths of a type's components in bits.
pub(crate) fn widths(ty: Type) -> Result<SmallVec<[u32; 8]>, String> {
    let mut widths = SmallVec::new();
    if ty.is_structure() {
        for part in (0..ty.part_count()).filter_map(|index| ty.part(index)) {
            widths.extend(self::widths(part)?);
        }
        return Ok(widths);
    }
    match ty.kind() {
        Scalar::Void => {}
        Scalar::Ptr(8) if !ty.is_vector() => widths.extend([64, 64]),
        Scalar::Ptr(7 | 8) => return Err(format!("values of the type {ty} cannot be run")),
        Scalar::Int(bits) if bits > 64 => return Err(format!("integers of {bits} bits cannot be run")),
        kind => widths.extend(std::iter::repeat_n(kind.bits(), ty.lanes() as usize)),
    }
    Ok(widths)
}
