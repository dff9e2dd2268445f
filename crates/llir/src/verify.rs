//! Checks the rules of a module: types by row and format, blocks and jumps, and that definitions dominate uses.

use crate::asm::Constraint;
use crate::dominators::Dominators;
use crate::function::{Block, FuncId, Function, Inst, InstData, Payload, Value, ValueDef};
use crate::module::Module;
use crate::rows::{Effect, Format, Lanes, Width};
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use std::fmt;

/// A broken rule and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function's symbol.
    pub function: String,
    /// The block and the number of the instruction in it, where one is to blame.
    pub place: Option<(Block, usize)>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.function)?;
        if let Some((block, index)) = self.place {
            write!(f, ", {block}, instruction {index}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for VerifyError {}

/// All broken rules of a module.
///
/// # Errors
/// One entry per broken rule, in the order of the text.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    for (id, function) in &module.bodies {
        let mut checker = Checker { module, function, errors: &mut errors, place: None };
        checker.signature(*id);
        checker.function();
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// What is wrong with an instruction, if anything.
type Finding = Result<(), String>;

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    errors: &'a mut Vec<VerifyError>,
    place: Option<(Block, usize)>,
}

impl Checker<'_> {
    fn error(&mut self, message: impl Into<String>) {
        let function = self.function.name.clone();
        self.errors.push(VerifyError { function, place: self.place, message: message.into() });
    }

    fn check(&mut self, finding: Finding) {
        if let Err(message) = finding {
            self.error(message);
        }
    }

    fn signature(&mut self, id: FuncId) {
        let callee = self.module.callee(id);
        let params: Vec<Type> = self.function.params.iter().map(|param| param.ty).collect();
        if callee.params != params || callee.ret != self.function.ret {
            self.error("the body and the declaration have different signatures");
        }
        if self.module.attached.contains(&self.function.name) {
            self.error("attached text defines this function too");
        }
    }

    fn function(&mut self) {
        let Some(entry) = self.function.layout.first().copied() else {
            return self.error("there are no blocks: build a body with a FunctionBuilder");
        };
        if !self.function.block(entry).params.is_empty() {
            self.error("the entry block has parameters");
        }
        let order = Order::new(self.function);
        for block in self.function.layout.clone() {
            self.block(block, &order);
        }
        self.place = None;
    }

    fn block(&mut self, block: Block, order: &Order) {
        let insts = &self.function.block(block).insts;
        self.place = Some((block, insts.len().saturating_sub(1)));
        if !order.dominators.is_reached(block) {
            return self.error("the block cannot be reached");
        }
        let is_end = |inst: &Inst| self.function.inst(*inst).op.row().effect == Effect::Terminator;
        if !insts.last().is_some_and(is_end) {
            self.error("the block does not end in a terminator");
        }
        for (index, inst) in insts.iter().enumerate() {
            self.place = Some((block, index));
            let data = self.function.inst(*inst);
            if is_end(inst) && index + 1 != insts.len() {
                self.error(format!("`{}` stands before the end of the block", data.op.row().name));
            }
            self.uses(data, block, index, order);
            self.check(self.types(data));
            self.check(self.jumps(data));
        }
    }

    /// Every value that is used is defined before, on every way.
    fn uses(&mut self, data: &InstData, block: Block, index: usize, order: &Order) {
        let passed = data.targets.iter().flat_map(|call| call.args.iter());
        for value in data.operands.iter().chain(passed) {
            if !order.is_defined(self.function, *value, block, index) {
                self.error(format!("{value} is used where its definition may not have run"));
            }
        }
    }

    fn jumps(&self, data: &InstData) -> Finding {
        for call in &data.targets {
            if Some(&call.block) == self.function.layout.first() {
                return Err("a jump goes to the entry block".into());
            }
            let types = |values: &[Value]| values.iter().map(|value| self.ty(*value)).collect::<Vec<Type>>();
            let params = &self.function.block(call.block).params;
            let of = |value: &Value| self.ty(*value);
            if !params.iter().map(of).eq(call.args.iter().map(of)) {
                let (params, args) = (types(params), types(&call.args));
                return Err(format!("{} takes {params:?} but is passed {args:?}", call.block));
            }
        }
        for (index, call) in data.targets.iter().enumerate() {
            let other = data.targets[..index].iter().find(|other| other.block == call.block);
            if other.is_some_and(|other| other.args != call.args) {
                return Err(format!("{} is named twice with different arguments", call.block));
            }
        }
        Ok(())
    }

    fn ty(&self, value: Value) -> Type {
        self.function.value(value).ty
    }

    fn types(&self, data: &InstData) -> Finding {
        let row = data.op.row();
        let types: SmallVec<[Type; 4]> = data.operands.iter().map(|value| self.ty(*value)).collect();
        if !row.flags.contains(data.flags) {
            return Err(format!("`{}` cannot carry the flags `{}`", row.name, data.flags));
        }
        let finding = match row.format {
            Format::Binary | Format::Unary | Format::Compare | Format::Cast | Format::Select => {
                value_types(data, &types)
            }
            Format::Load | Format::Store | Format::AtomicRmw | Format::CmpXchg | Format::Gep => {
                memory_types(data, &types)
            }
            Format::Extract | Format::Insert | Format::Shuffle | Format::ExtractValue => {
                lane_types(data, &types)
            }
            Format::Call => self.call_types(data, &types),
            Format::Return => match &types[..] {
                [] => self.function.ret.is_void(),
                [ty] => *ty == self.function.ret,
                _ => false,
            },
            Format::CallIndirect => types.first() == Some(&Type::PTR),
            Format::Branch => types[..] == [Type::I1] && data.targets.len() == 2,
            Format::Jump => types.is_empty() && data.targets.len() == 1,
            Format::Switch => match &data.payload {
                Payload::Cases(cases) => {
                    types.len() == 1 && types[0].is_int() && data.targets.len() == cases.len() + 1
                }
                _ => false,
            },
            Format::Asm => return asm_types(data),
            Format::Fence | Format::Alloca | Format::Unreachable => true,
        };
        match finding {
            true => Ok(()),
            false => Err(format!("`{}` does not take {types:?} to give {}", row.name, data.ty)),
        }
    }

    fn call_types(&self, data: &InstData, types: &[Type]) -> bool {
        let Payload::Callee(id) = data.payload else { return false };
        let callee = self.module.callee(id);
        callee.params == types && callee.ret == data.ty
    }
}

/// The constraints of assembly count its results and operands.
fn asm_types(data: &InstData) -> Finding {
    let Payload::Asm(asm) = &data.payload else { return Err("assembly without its text".into()) };
    let (mut outputs, mut inputs) = (0, 0);
    for entry in asm.entries() {
        match entry {
            Constraint::Output(_) => outputs += 1,
            Constraint::Input(_) => inputs += 1,
            Constraint::Tied(output) if output < outputs => inputs += 1,
            Constraint::Tied(output) => {
                return Err(format!("an operand is tied to result {output}: there is none"));
            }
            Constraint::Clobber(_) => {}
        }
    }
    if (outputs, inputs) == (data.ty.part_count() as usize, data.operands.len()) {
        return Ok(());
    }
    let (given, args) = (data.ty.part_count(), data.operands.len());
    Err(format!(
        "the constraints `{}` have {outputs} results and {inputs} operands, the assembly {given} and {args}",
        asm.constraints
    ))
}

fn value_types(data: &InstData, types: &[Type]) -> bool {
    let row = data.op.row();
    match (row.format, types) {
        (Format::Binary, [a, b]) => a == b && row.operand.admits(*a) && data.ty == *a,
        (Format::Unary, [a]) => row.operand.admits(*a) && data.ty == *a,
        (Format::Compare, [a, b]) => a == b && row.operand.admits(*a) && data.ty == a.as_mask(),
        (Format::Select, [condition, a, b]) => {
            let fits = *condition == Type::I1 || *condition == a.as_mask();
            a == b && data.ty == *a && fits
        }
        (Format::Cast, [a]) => {
            let (from, to) = (a.lane_bits(), data.ty.lane_bits());
            let same_lanes = a.lanes() == data.ty.lanes() && a.is_vector() == data.ty.is_vector();
            let width_fits = match row.width {
                Width::Narrower => same_lanes && to < from,
                Width::Wider => same_lanes && to > from,
                Width::Free => same_lanes,
                Width::SameTotal => {
                    from * a.lanes() == to * data.ty.lanes() && a.is_ptr() == data.ty.is_ptr()
                }
            };
            row.operand.admits(*a) && row.result.admits(data.ty) && width_fits
        }
        _ => false,
    }
}

fn memory_types(data: &InstData, types: &[Type]) -> bool {
    let aligned = match data.payload {
        Payload::Memory(memory) | Payload::Rmw(_, memory) => memory.align.is_power_of_two(),
        _ => true,
    };
    let is_address = |ty: Type| ty.is_ptr() && !ty.is_vector();
    let is_atomic = matches!(data.op.row().format, Format::AtomicRmw | Format::CmpXchg);
    let is_ordered = match data.payload {
        Payload::Memory(memory) | Payload::Rmw(_, memory) => memory.ordering.is_some(),
        _ => false,
    };
    aligned
        && (is_ordered || !is_atomic)
        && match (data.op.row().format, types) {
            (Format::Load, [pointer]) => is_address(*pointer) && Lanes::Any.admits(data.ty),
            (Format::Store, [value, pointer]) => is_address(*pointer) && Lanes::Any.admits(*value),
            (Format::AtomicRmw, [pointer, value]) => is_address(*pointer) && data.ty == *value,
            (Format::CmpXchg, [pointer, expected, new]) => {
                is_address(*pointer) && expected == new && data.ty == new.flagged()
            }
            (Format::Gep, [base, index]) => {
                let lanes = base.is_vector() && index.is_vector() && base.lanes() != index.lanes();
                base.is_ptr() && index.is_int() && !lanes && data.ty.is_ptr()
            }
            _ => false,
        }
}

fn lane_types(data: &InstData, types: &[Type]) -> bool {
    match (data.op.row().format, types, &data.payload) {
        (Format::Extract, [vector, index], _) => {
            vector.is_vector() && index.is_int() && !index.is_vector() && data.ty == vector.lane()
        }
        (Format::Insert, [vector, scalar, index], _) => {
            let fits = vector.is_vector() && *scalar == vector.lane() && data.ty == *vector;
            fits && index.is_int() && !index.is_vector()
        }
        (Format::Shuffle, [a, b], Payload::Mask(mask)) => {
            let in_range = mask.iter().all(|lane| (-1..2 * a.lanes() as i32).contains(lane));
            a == b && a.is_vector() && data.ty == a.vector(mask.len() as u32) && in_range
        }
        (Format::ExtractValue, [structure], Payload::Index(index)) => {
            structure.is_structure() && structure.part(*index) == Some(data.ty)
        }
        _ => false,
    }
}

/// Where values are made, and which block comes before which on every way.
struct Order {
    dominators: Dominators,
    /// Where each result is made.
    places: SecondaryMap<Value, Option<(Block, usize)>>,
}

impl Order {
    fn new(function: &Function) -> Order {
        let dominators = Dominators::new(function);
        let mut places: SecondaryMap<Value, Option<(Block, usize)>> = function.about_values();
        for block in &function.layout {
            for (index, inst) in function.block(*block).insts.iter().enumerate() {
                if let Some(value) = function.result(*inst).filter(|_| dominators.is_reached(*block)) {
                    places[value] = Some((*block, index));
                }
            }
        }
        Order { dominators, places }
    }

    fn is_defined(&self, function: &Function, value: Value, block: Block, index: usize) -> bool {
        match function.value(value).def {
            ValueDef::Constant(_) | ValueDef::Param(_) => true,
            ValueDef::BlockParam(home, _) => self.dominators.dominates(home, block),
            ValueDef::Inst(_) => match self.places[value] {
                Some((home, place)) if home == block => place < index,
                Some((home, _)) => self.dominators.dominates(home, block),
                None => false,
            },
        }
    }
}
