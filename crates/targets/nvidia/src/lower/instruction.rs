//! Instructions of PTX in llir: inline assembly that is built of rows of the table and of typed operands.
//!
//! ```text
//! Instruction::new("mbarrier.arrive.shared::cta.b64").sink().at(barrier).constant(1).when(speaks).effect(b);
//!   => call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [ $0 ], 1;", "r,b,~{memory}"(i32 %barrier, i1 %speaks)
//! ```
//!
//! Operands are written in the order in which they are given; a register's letter follows from its type. Several
//! instructions that must stay together, with labels and registers of their own, are a [`Sequence`]. Where our own
//! checks run, a mnemonic without a row, or operands that are not those of the row, are a panic.

use llir::{Asm, FunctionBuilder, Type, Value, Values};
use ptx_isa::{Kind, OperandRow};

/// A name of a sequence: a label, or a truth value that only its instructions see.
#[derive(Clone, Copy)]
pub(super) struct Name(&'static str);

/// When an instruction is executed.
#[derive(Clone, Copy)]
enum Guard {
    /// Where a value holds.
    If(Value),
    /// Where it does not.
    Unless(Value),
    /// Where a truth value of the sequence does not hold.
    UnlessOwn(Name),
}

/// An operand, or what takes the place of one among the constraints.
enum Part {
    /// So many registers that the instruction writes, each of a type, and whether one of them is in braces.
    Results(Type, usize, bool),
    /// What the results are where the instruction is not executed: values in their registers.
    Kept(Values),
    /// Values whose registers it must find settled, and leaves as they are: the text does not name them.
    Passed(Values),
    /// A truth value that it writes, behind a result that nobody wants.
    Flag,
    /// Whether it is executed.
    Guard(Guard),
    /// An address, with bytes to add where somebody says how many.
    Address(Value, Option<i64>),
    /// A place in a tensor: its map, and numbers along each axis.
    Tensor(Value, Values),
    /// A register, or several in braces, and whether one of them is in braces.
    Registers(Values, bool),
    /// A number that is part of the instruction.
    Constant(i64),
    /// A special register.
    Special(&'static str),
    /// A label, or a truth value of the sequence.
    Own(Name),
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

    /// Values that are read behind it, but not before: their registers pass through it.
    pub(super) fn passing(self, values: &[Value]) -> Instruction {
        self.with(Part::Passed(values.iter().copied().collect()))
    }

    /// Its result is a truth value that stands behind another, which nobody wants.
    pub(super) fn flag(self) -> Instruction {
        self.with(Part::Flag)
    }

    /// It is executed where a condition holds, if there is one.
    pub(super) fn when(self, condition: impl Into<Option<Value>>) -> Instruction {
        match condition.into() {
            Some(condition) => self.with(Part::Guard(Guard::If(condition))),
            None => self,
        }
    }

    /// It is executed where a condition does not hold.
    pub(super) fn unless(self, condition: Value) -> Instruction {
        self.with(Part::Guard(Guard::Unless(condition)))
    }

    /// It is executed where a truth value of the sequence does not hold.
    pub(super) fn unless_own(self, condition: Name) -> Instruction {
        self.with(Part::Guard(Guard::UnlessOwn(condition)))
    }

    /// A label of the sequence to go to, or a truth value of it to read or write.
    pub(super) fn own(self, name: Name) -> Instruction {
        self.with(Part::Own(name))
    }

    /// A special register.
    pub(super) fn special(self, register: &'static str) -> Instruction {
        self.with(Part::Special(register))
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
        Sequence::from(self).effect(b)
    }

    /// Emits it; it reads memory, and stays where it is.
    pub(super) fn reads(self, b: &mut FunctionBuilder<'_>) -> Option<Value> {
        let Written { text, constraints, args, result } = Sequence::from(self).written(b);
        b.inline_asm(Asm::effect(&text, &constraints.text), result, &args)
    }

    /// Emits it; it does nothing but compute its result.
    pub(super) fn pure(self, b: &mut FunctionBuilder<'_>) -> Value {
        let Written { text, constraints, args, result } = Sequence::from(self).written(b);
        b.inline_asm(Asm::pure(&text, &constraints.text), result, &args).expect("it has a result")
    }

    /// Whether the table has it, with these operands.
    fn fits(&self) -> bool {
        let Some((row, _)) = ptx_isa::find_in_any_order(&self.mnemonic) else { return false };
        let given: Vec<&Part> = self
            .parts
            .iter()
            .filter(|part| !matches!(part, Part::Guard(_) | Part::Kept(_) | Part::Passed(_)))
            .collect();
        ptx_isa::operands(row.operands).is_some_and(|rows| follow(&rows, &given))
    }
}

/// A line of a sequence.
enum Line {
    Instruction(Instruction),
    /// A place to go to.
    Label(Name),
    /// A truth value.
    Own(Name),
}

/// Instructions that are one piece of assembly, one after the other. Those with results all write the same registers.
#[derive(Default)]
pub(super) struct Sequence {
    lines: Vec<Line>,
}

impl From<Instruction> for Sequence {
    fn from(instruction: Instruction) -> Sequence {
        Sequence { lines: vec![Line::Instruction(instruction)] }
    }
}

impl Sequence {
    /// The next instruction.
    pub(super) fn push(&mut self, instruction: Instruction) {
        self.lines.push(Line::Instruction(instruction));
    }

    /// A truth value that only its instructions see.
    pub(super) fn predicate(&mut self, name: &'static str) -> Name {
        self.lines.push(Line::Own(Name(name)));
        Name(name)
    }

    /// A label for [`Sequence::place`].
    pub(super) fn label(&self, name: &'static str) -> Name {
        Name(name)
    }

    /// Here is where a label stands.
    pub(super) fn place(&mut self, label: Name) {
        self.lines.push(Line::Label(label));
    }

    /// Emits it; memory may be another behind it.
    pub(super) fn effect(self, b: &mut FunctionBuilder<'_>) -> Option<Value> {
        let Written { text, mut constraints, args, result } = self.written(b);
        constraints.push("", "~{memory}");
        b.inline_asm(Asm::effect(&text, &constraints.text), result, &args)
    }

    fn written(self, b: &FunctionBuilder<'_>) -> Written {
        let text = String::with_capacity(LINE * self.lines.len());
        let (constraints, args, result) = (Constraints::default(), Values::new(), Type::VOID);
        let mut writer = Writer { b, text, constraints, args, result };
        let mut has_own = false;
        for line in &self.lines {
            if !writer.text.is_empty() {
                writer.text.push_str(if writer.text.ends_with(':') { " " } else { "\n\t" });
            }
            match line {
                Line::Instruction(instruction) => writer.instruction(instruction),
                Line::Label(Name(name)) => writer.text.extend([*name, ":"]),
                Line::Own(Name(name)) => {
                    writer.text.extend([".reg .pred ", *name, ";"]);
                    has_own = true;
                }
            }
        }
        let Writer { mut text, constraints, args, result, .. } = writer;
        if has_own {
            text = format!("{{\n\t{text}\n\t}}");
        }
        Written { text, constraints, args, result }
    }
}

/// Bytes of an instruction, as a rule.
const LINE: usize = 96;

/// Whether operands are those of a row, of which some may be left out.
fn follow(rows: &[OperandRow], given: &[&Part]) -> bool {
    let Some((row, rest)) = rows.split_first() else { return given.is_empty() };
    let takes = |part: &Part| match row.kind {
        Kind::Result | Kind::Results => match part {
            Part::Results(_, _, braced) => *braced == row.braced,
            Part::Flag => row.with_predicate,
            part => matches!(part, Part::Sink | Part::Own(_)),
        },
        Kind::Operand | Kind::Operands => match part {
            Part::Registers(_, braced) => *braced == row.braced || row.several,
            part => matches!(part, Part::Constant(_) | Part::Special(_)),
        },
        Kind::Address => matches!(part, Part::Address(..) | Part::Tensor(..)),
        Kind::Constant => matches!(part, Part::Constant(_)),
        Kind::Name => matches!(part, Part::Own(_)),
        Kind::Policy => false,
    };
    let taken = given.split_first().is_some_and(|(first, others)| takes(first) && follow(rest, others));
    taken || ((row.optional || row.kind == Kind::Policy) && follow(rest, given))
}

/// What an instruction is in llir.
struct Written {
    text: String,
    constraints: Constraints,
    args: Values,
    result: Type,
}

/// Constraints of assembly, with commas between them.
#[derive(Default)]
struct Constraints {
    text: String,
    count: usize,
}

impl Constraints {
    fn push(&mut self, sign: &str, letter: &str) {
        self.text.extend([if self.count > 0 { "," } else { "" }, sign, letter]);
        self.count += 1;
    }
}

/// Writes instructions, and numbers operands as they come.
struct Writer<'a, 'b> {
    b: &'a FunctionBuilder<'b>,
    text: String,
    constraints: Constraints,
    args: Values,
    result: Type,
}

impl Writer<'_, '_> {
    fn instruction(&mut self, instruction: &Instruction) {
        debug_assert!(instruction.fits(), "`{}` does not take these operands", instruction.mnemonic);
        let start = self.text.len();
        self.text.push_str(&instruction.mnemonic);
        let (mut guard, mut blank) = (String::new(), " ");
        for part in &instruction.parts {
            match part {
                Part::Guard(Guard::If(condition)) => guard = format!("@${} ", self.number(*condition)),
                Part::Guard(Guard::Unless(condition)) => guard = format!("@!${} ", self.number(*condition)),
                Part::Guard(Guard::UnlessOwn(Name(name))) => guard = format!("@!{name} "),
                Part::Kept(values) => self.kept(values),
                Part::Passed(values) => self.passed(values),
                operand => {
                    self.text.push_str(std::mem::replace(&mut blank, ", "));
                    self.operand(operand);
                }
            }
        }
        self.text.push(';');
        self.text.insert_str(start, &guard);
    }

    /// The number of a register that is read.
    fn number(&mut self, value: Value) -> usize {
        let ty = self.b.ty(value);
        let letter = if ty.is_ptr() { address_letter(ty) } else { letter(ty) };
        self.constraints.push("", letter);
        self.args.push(value);
        self.constraints.count - 1
    }

    fn register(&mut self, number: usize) {
        self.text.push('$');
        llir::write_number(&mut self.text, number as u32);
    }

    /// A register that is read.
    fn input(&mut self, value: Value) {
        let number = self.number(value);
        self.register(number);
    }

    /// Registers that are read, with commas between them.
    fn inputs(&mut self, values: &[Value]) {
        for (index, value) in values.iter().enumerate() {
            self.text.push_str(if index > 0 { ", " } else { "" });
            self.input(*value);
        }
    }

    fn results(&mut self, ty: Type, count: usize, braced: bool) {
        if self.result.is_void() {
            // Addresses of shared memory have 32 bits.
            let letter = if ty.is_ptr() { address_letter(ty) } else { letter(ty) };
            (0..count).for_each(|_| self.constraints.push("=", letter));
            self.result = ty.times(count as u32);
        }
        self.braces(count != 1 || braced, |writer| {
            for index in 0..count {
                writer.text.push_str(if index > 0 { ", " } else { "" });
                writer.register(index);
            }
        });
    }

    fn passed(&mut self, values: &[Value]) {
        let types: Vec<Type> = values.iter().map(|value| self.b.ty(*value)).collect();
        types.iter().for_each(|ty| self.constraints.push("=", letter(*ty)));
        self.result = Type::structure(&types);
        self.kept(values);
    }

    fn kept(&mut self, values: &[Value]) {
        (0..values.len()).for_each(|index| self.constraints.push("", &index.to_string()));
        self.args.extend(values.iter().copied());
    }

    /// A list, in braces or not.
    fn braces(&mut self, braced: bool, list: impl FnOnce(&mut Self)) {
        self.text.push_str(if braced { "{ " } else { "" });
        list(self);
        self.text.push_str(if braced { " }" } else { "" });
    }

    fn operand(&mut self, part: &Part) {
        match part {
            Part::Results(ty, count, braced) => self.results(*ty, *count, *braced),
            Part::Address(address, offset) => {
                self.text.push_str("[ ");
                self.input(*address);
                if let Some(offset) = offset {
                    self.text.extend([" + ", &offset.to_string()]);
                }
                self.text.push_str(" ]");
            }
            Part::Tensor(map, place) => {
                self.text.push_str("[ ");
                self.input(*map);
                self.text.push_str(", ");
                self.braces(true, |writer| writer.inputs(place));
                self.text.push_str(" ]");
            }
            Part::Registers(values, braced) => {
                self.braces(values.len() != 1 || *braced, |writer| writer.inputs(values));
            }
            Part::Constant(number) => self.text.push_str(&number.to_string()),
            Part::Special(name) | Part::Own(Name(name)) => self.text.push_str(name),
            Part::Sink => self.text.push('_'),
            Part::Flag => {
                self.text.push_str("_|");
                self.results(Type::I1, 1, false);
            }
            Part::Kept(_) | Part::Passed(_) | Part::Guard(_) => unreachable!("they are no operands"),
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
        assert!(fits(Instruction::new("elect.sync").flag().constant(-1)));
        assert!(
            !fits(Instruction::new("redux.sync.add.s32").flag().constant(1).constant(-1)),
            "it has no flag"
        );
    }
}
