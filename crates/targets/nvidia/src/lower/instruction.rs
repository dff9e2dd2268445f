//! One instruction of PTX in llir: inline assembly that is built of a row of the table and of typed operands.
//!
//! ```text
//! Instruction::new("mbarrier.arrive.shared::cta.b64").sink().at(barrier).constant(1).when(speaks).effect(b);
//!   => call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [ $0 ], 1;", "r,b,~{memory}"(i32 %barrier, i1 %speaks)
//! ```
//!
//! Operands are written in the order in which they are given; a register's letter follows from its type. Where our own checks run, a
//! mnemonic without a row, or operands that are not those of the row, are a panic. Left out: text of several statements, with labels or
//! registers of its own.

use llir::{Asm, FunctionBuilder, Type, Value, Values};
use ptx_isa::{Kind, OperandRow};

/// An operand, or what takes the place of one among the constraints.
enum Part {
    /// So many registers that the instruction writes, each of a type, and whether one of them is in braces.
    Results(Type, usize, bool),
    /// What the results are where the instruction is not executed: values in their registers.
    Kept(Values),
    /// Whether it is executed.
    Guard(Value),
    /// An address, with bytes to add where somebody says how many.
    Address(Value, Option<i64>),
    /// A place in a tensor: its map, and numbers along each axis.
    Tensor(Value, Values),
    /// A register, or several in braces, and whether one of them is in braces.
    Registers(Values, bool),
    /// A number that is part of the instruction.
    Constant(i64),
    /// `_`: a result that nobody wants.
    Sink,
}

/// An instruction on its way to llir.
pub(super) struct Instruction {
    mnemonic: String,
    parts: Vec<Part>,
}

impl Instruction {
    pub(super) fn new(mnemonic: impl Into<String>) -> Instruction {
        Instruction { mnemonic: mnemonic.into(), parts: Vec::new() }
    }

    fn with(mut self, part: Part) -> Instruction {
        self.parts.push(part);
        self
    }

    /// Registers that it writes. They come first.
    pub(super) fn results(self, ty: Type, count: usize) -> Instruction {
        self.with(Part::Results(ty, count, false))
    }

    /// Registers that it writes, in braces though it be one.
    pub(super) fn tuple(self, ty: Type, count: usize) -> Instruction {
        self.with(Part::Results(ty, count, true))
    }

    /// What the results are where it is not executed.
    pub(super) fn kept(self, values: &[Value]) -> Instruction {
        self.with(Part::Kept(values.iter().copied().collect()))
    }

    /// It is executed where a condition holds, if there is one.
    pub(super) fn when(self, condition: impl Into<Option<Value>>) -> Instruction {
        match condition.into() {
            Some(condition) => self.with(Part::Guard(condition)),
            None => self,
        }
    }

    /// The memory at an address.
    pub(super) fn at(self, address: Value) -> Instruction {
        self.with(Part::Address(address, None))
    }

    /// The memory at an address and so many bytes.
    pub(super) fn at_offset(self, (address, offset): (Value, i64)) -> Instruction {
        self.with(Part::Address(address, Some(offset)))
    }

    /// A place in a tensor.
    pub(super) fn in_tensor(self, map: Value, place: Values) -> Instruction {
        self.with(Part::Tensor(map, place))
    }

    /// A register.
    pub(super) fn register(self, value: Value) -> Instruction {
        self.registers(&[value])
    }

    /// A register, or several in braces.
    pub(super) fn registers(self, values: &[Value]) -> Instruction {
        self.with(Part::Registers(values.iter().copied().collect(), false))
    }

    /// Registers in braces, though it be one.
    pub(super) fn tuple_of(self, values: &[Value]) -> Instruction {
        self.with(Part::Registers(values.iter().copied().collect(), true))
    }

    /// A number.
    pub(super) fn constant(self, number: impl Into<i64>) -> Instruction {
        self.with(Part::Constant(number.into()))
    }

    /// A result that nobody wants.
    pub(super) fn sink(self) -> Instruction {
        self.with(Part::Sink)
    }

    /// Emits it; memory may be another behind it.
    pub(super) fn effect(self, b: &mut FunctionBuilder<'_>) -> Option<Value> {
        let Written { text, mut constraints, args, result } = self.written(b);
        constraints.push("~{memory}".into());
        b.inline_asm(Asm::effect(&text, &constraints.join(",")), result, &args)
    }

    /// Emits it; it reads memory, and stays where it is.
    pub(super) fn reads(self, b: &mut FunctionBuilder<'_>) -> Option<Value> {
        let Written { text, constraints, args, result } = self.written(b);
        b.inline_asm(Asm::effect(&text, &constraints.join(",")), result, &args)
    }

    /// Emits it; it does nothing but compute its result.
    pub(super) fn pure(self, b: &mut FunctionBuilder<'_>) -> Value {
        let Written { text, constraints, args, result } = self.written(b);
        b.inline_asm(Asm::pure(&text, &constraints.join(",")), result, &args).expect("it has a result")
    }

    fn written(self, b: &FunctionBuilder<'_>) -> Written {
        debug_assert!(self.fits(), "`{}` does not take these operands", self.mnemonic);
        let mut writer = Writer { b, constraints: Vec::new(), args: Values::new() };
        let (mut guard, mut operands, mut result) = (String::new(), Vec::new(), Type::VOID);
        for part in &self.parts {
            match part {
                Part::Guard(condition) => guard = format!("@{} ", writer.input(*condition)),
                Part::Kept(values) => writer.kept(values),
                Part::Results(ty, count, braced) => {
                    result = ty.times(*count as u32);
                    operands.push(writer.results(*ty, *count, *braced));
                }
                operand => operands.push(writer.operand(operand)),
            }
        }
        let list = operands.join(", ");
        let blank = if list.is_empty() { "" } else { " " };
        let text = format!("{guard}{}{blank}{list};", self.mnemonic);
        Written { text, constraints: writer.constraints, args: writer.args, result }
    }

    /// Whether the table has it, with these operands.
    fn fits(&self) -> bool {
        let Some((row, _)) = ptx_isa::find_in_any_order(&self.mnemonic) else { return false };
        let given: Vec<&Part> =
            self.parts.iter().filter(|part| !matches!(part, Part::Guard(_) | Part::Kept(_))).collect();
        ptx_isa::operands(row.operands).is_some_and(|rows| follow(&rows, &given))
    }
}

/// Whether operands are those of a row, of which some may be left out.
fn follow(rows: &[OperandRow], given: &[&Part]) -> bool {
    let Some((row, rest)) = rows.split_first() else { return given.is_empty() };
    let takes = |part: &Part| match row.kind {
        Kind::Result | Kind::Results => match part {
            Part::Results(_, _, braced) => *braced == row.braced,
            part => matches!(part, Part::Sink),
        },
        Kind::Operand | Kind::Operands => match part {
            Part::Registers(_, braced) => *braced == row.braced,
            part => matches!(part, Part::Constant(_)),
        },
        Kind::Address => matches!(part, Part::Address(..) | Part::Tensor(..)),
        Kind::Constant => matches!(part, Part::Constant(_)),
        Kind::Name | Kind::Policy => false,
    };
    let taken = given.split_first().is_some_and(|(first, others)| takes(first) && follow(rest, others));
    taken || ((row.optional || row.kind == Kind::Policy) && follow(rest, given))
}

/// What an instruction is in llir.
struct Written {
    text: String,
    constraints: Vec<String>,
    args: Values,
    result: Type,
}

/// Numbers operands as they come.
struct Writer<'a, 'b> {
    b: &'a FunctionBuilder<'b>,
    constraints: Vec<String>,
    args: Values,
}

impl Writer<'_, '_> {
    /// The text of a register that is read.
    fn input(&mut self, value: Value) -> String {
        let ty = self.b.ty(value);
        let letter = if ty.is_ptr() { address_letter(ty) } else { letter(ty) };
        let text = format!("${}", self.constraints.len());
        self.constraints.push(letter.into());
        self.args.push(value);
        text
    }

    fn results(&mut self, ty: Type, count: usize, braced: bool) -> String {
        let list: Vec<String> = (0..count).map(|index| format!("${index}")).collect();
        // Addresses of shared memory have 32 bits.
        let letter = if ty.is_ptr() { address_letter(ty) } else { letter(ty) };
        self.constraints.extend((0..count).map(|_| format!("={letter}")));
        braces(&list, braced)
    }

    fn kept(&mut self, values: &[Value]) {
        self.constraints.extend((0..values.len()).map(|index| index.to_string()));
        self.args.extend(values.iter().copied());
    }

    fn operand(&mut self, part: &Part) -> String {
        match part {
            Part::Address(address, None) => format!("[ {} ]", self.input(*address)),
            Part::Address(address, Some(offset)) => format!("[ {} + {offset} ]", self.input(*address)),
            Part::Tensor(map, place) => {
                let map = self.input(*map);
                let place: Vec<String> = place.iter().map(|number| self.input(*number)).collect();
                format!("[ {map}, {{ {} }} ]", place.join(", "))
            }
            Part::Registers(values, braced) => {
                let list: Vec<String> = values.iter().map(|value| self.input(*value)).collect();
                braces(&list, *braced)
            }
            Part::Constant(number) => number.to_string(),
            Part::Sink => "_".into(),
            Part::Results(..) | Part::Kept(_) | Part::Guard(_) => unreachable!("they are no operands"),
        }
    }
}

/// The letter of the constraint for an address.
fn address_letter(ty: Type) -> &'static str {
    if matches!(ty.kind(), llir::Scalar::Ptr(3 | 7)) { "r" } else { "l" }
}

/// The letter of the constraint for a value.
fn letter(ty: Type) -> &'static str {
    match (ty.is_float() && !ty.is_vector(), ty.lane_bits() * ty.lanes()) {
        (_, 1) => "b",
        (_, 8 | 16) => "h",
        (true, 32) => "f",
        (false, 32) => "r",
        (true, _) => "d",
        (false, _) => "l",
    }
}

/// Several in braces, one alone where it may be.
fn braces(list: &[String], always: bool) -> String {
    if list.len() == 1 && !always { list.concat() } else { format!("{{ {} }}", list.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::Instruction;

    #[test]
    fn operands_are_those_of_the_row() {
        let fits = |instruction: Instruction| instruction.fits();
        assert!(fits(Instruction::new("cp.async.commit_group")));
        assert!(fits(Instruction::new("cp.async.wait_group").constant(2)));
        assert!(!fits(Instruction::new("cp.async.wait_group")), "a number is missing");
        assert!(!fits(Instruction::new("cp.async.wait_group").sink()), "it has no result");
        assert!(!fits(Instruction::new("cp.async.wait_groups").constant(2)), "there is no such instruction");
    }
}
