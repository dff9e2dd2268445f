//! Blocks, edges and rows of a kernel; functions that it calls are put in place of the calls.

use crate::decode::assembly::{Assembly, Components, Scope, widths};
use crate::decode::flow::post_dominators;
use crate::decode::site::Site;
use crate::machine::code::{Block, Code, Edge, End, Fill, SitePlace, Slot};
use crate::ops;
use amdgcn_isa::Arch;
use llir::{Function, Global, GlobalKind, Module, Op, Payload, Value};
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

/// A kernel that is being decoded, block by block.
struct Assembler<'m> {
    made: Assembly<'m>,
    blocks: Vec<RawBlock>,
    sites: Vec<SitePlace>,
    /// The functions that are being put in place, to find recursion.
    active: Vec<String>,
}

/// A function that is being put in place.
struct Frame<'m> {
    scope: Scope<'m>,
    number: u32,
    blocks: FxHashMap<llir::Block, u32>,
    /// Where a return goes, and the rows that get the result.
    back: Option<(u32, Components)>,
    ends: Vec<(u32, RawEnd<'m>)>,
}

/// Decodes a kernel.
pub(crate) fn assemble(module: &Module, function: &Function, arch: Arch) -> Result<Code, Refusal> {
    let (offsets, lds) = lds_offsets(module);
    let mut assembler = Assembler {
        made: Assembly::new(module, arch, offsets),
        blocks: Vec::new(),
        sites: Vec::new(),
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
        let slot = assembler.made.fill(Fill::Argument { offset, bytes });
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
    module.functions().position(|other| other.name == function.name).expect("a function of the module") as u32
}

impl<'m> Assembler<'m> {
    fn open(&mut self, block: u32) {
        self.blocks[block as usize].instructions.start = self.made.instructions.len() as u32;
    }

    fn close(&mut self, block: u32, site: u32) {
        let raw = &mut self.blocks[block as usize];
        raw.instructions.end = self.made.instructions.len() as u32;
        raw.site = site;
    }

    fn block(&mut self) -> u32 {
        self.blocks.push(RawBlock { instructions: 0..0, end: None, site: 0 });
        self.blocks.len() as u32 - 1
    }

    /// Puts a function in place; answers its first block.
    fn function(
        &mut self,
        function: &'m Function,
        arguments: Vec<Components>,
        back: Option<(u32, Components)>,
    ) -> Result<u32, Refusal> {
        let number = number_of(self.made.module, function);
        let refuse = |message| Refusal { function: number, number: 0, message };
        if self.active.contains(&function.name) {
            return Err(refuse(format!("@{} calls itself, which cannot be run", function.name)));
        }
        self.active.push(function.name.clone());
        let mut order = llir::postorder(function);
        order.reverse();
        let mut frame = Frame {
            scope: Scope { function, values: FxHashMap::default() },
            number,
            blocks: FxHashMap::default(),
            back,
            ends: Vec::new(),
        };
        for (index, rows) in arguments.into_iter().enumerate() {
            frame.scope.values.insert(param(index), rows);
        }
        for block in &order {
            let index = self.block();
            frame.blocks.insert(*block, index);
            for value in &function.block(*block).params {
                let rows = self.made.rows(function.value(*value).ty).map_err(refuse)?;
                frame.scope.values.insert(*value, rows);
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
        let function = frame.scope.function;
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
                name: name_of(self.made.module, data),
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
            if let Some(callee) = callee(self.made.module, data) {
                current = self.call(frame, (*inst, data), callee, (current, site))?;
                continue;
            }
            let (assembly, scope) = (&mut self.made, &frame.scope);
            let mut decoder = Site { assembly, scope, data, site, result: SmallVec::new() };
            ops::decode(&mut decoder).map_err(|message| refuse(frame, message))?;
            let rows = decoder.result;
            if let Some(value) = function.result(*inst) {
                let widths = widths(data.ty).map_err(|message| refuse(frame, message))?;
                if widths.len() != rows.len() {
                    let message = format!("{} rows for {} components", rows.len(), widths.len());
                    return Err(refuse(frame, message));
                }
                frame.scope.values.insert(value, rows);
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
            arguments.push(self.made.value(&frame.scope, *value).map_err(|message| refuse(number, message))?);
        }
        let rows = match frame.scope.function.result(inst) {
            Some(_) => self.made.rows(data.ty).map_err(|message| refuse(number, message))?,
            None => Components::new(),
        };
        self.close(current, site);
        let next = self.block();
        let first = self.function(callee, arguments, Some((next, rows.clone())))?;
        self.blocks[current as usize].end = Some(End::Jump(Edge { block: first, moves: Box::new([]) }));
        self.open(next);
        if let Some(value) = frame.scope.function.result(inst) {
            frame.scope.values.insert(value, rows);
        }
        Ok(next)
    }

    /// A return.
    fn leave(&mut self, frame: &Frame<'m>, data: &llir::InstData) -> Result<End, String> {
        if data.op == Op::UNREACHABLE {
            return Ok(End::Unreachable);
        }
        let Some((block, rows)) = frame.back.clone() else { return Ok(End::Return) };
        let mut moves = Vec::new();
        if let [value] = data.operands[..] {
            moves.extend(rows.into_iter().zip(self.made.value(&frame.scope, value)?));
        }
        Ok(End::Jump(Edge { block, moves: moves.into() }))
    }

    fn resolve(&mut self, frame: &mut Frame<'m>, end: RawEnd<'m>) -> Result<End, String> {
        Ok(match end {
            RawEnd::Done(end) => end,
            RawEnd::Jump(jump) => End::Jump(self.edge(frame, &jump)?),
            RawEnd::Branch(condition, [yes, no]) => {
                let condition = self.made.value(&frame.scope, condition)?[0];
                End::Branch(condition, [self.edge(frame, &yes)?, self.edge(frame, &no)?])
            }
            RawEnd::Switch(value, cases, jumps) => {
                let value = self.made.value(&frame.scope, value)?[0];
                let edges: Result<Vec<Edge>, String> =
                    jumps.iter().map(|jump| self.edge(frame, jump)).collect();
                End::Switch(value, cases, edges?.into())
            }
        })
    }

    fn edge(&mut self, frame: &Frame<'m>, jump: &Jump<'m>) -> Result<Edge, String> {
        let mut moves: Vec<(Slot, Slot)> = Vec::new();
        for (param, args) in &jump.passed {
            let to = self.made.value(&frame.scope, *param)?;
            let from = self.made.value(&frame.scope, args[0])?;
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
                let aside = self.made.slot();
                let from = moves[0].1;
                out.push((aside, from));
                moves[0].1 = aside;
            }
        }
        out
    }

    fn finish(self, lds: usize) -> Code {
        let end = |block: &RawBlock| block.end.clone().expect("verified: every block has a terminator");
        let ends: Vec<End> = self.blocks.iter().map(end).collect();
        let joins = post_dominators(&ends.iter().map(targets).collect::<Vec<_>>());
        let mut blocks = Vec::with_capacity(ends.len());
        for ((raw, end), join) in self.blocks.into_iter().zip(ends).zip(joins) {
            blocks.push(Block { instructions: raw.instructions, end, site: raw.site, join });
        }
        Code {
            arch: self.made.arch,
            instructions: self.made.instructions,
            blocks,
            sites: self.sites,
            slots: self.made.slots as usize,
            fills: self.made.fills.into_iter().map(|(fill, slot)| (slot, fill)).collect(),
            lds,
            private: self.made.private,
            is_sequential: self.made.is_sequential,
        }
    }
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
    let function = frame.scope.function;
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
