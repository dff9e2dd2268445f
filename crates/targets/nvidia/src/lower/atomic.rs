//! Atomic instructions: with what was there before (`atom`), and without (`red`).

use super::Lanes;
use super::instruction::Instruction;
use super::memory::{address, space};
use lanes::{AtomicAccess, CompareSwap, Reductions};
use llir::{FunctionBuilder, Type, Value, Values};
use ttir::ops::atomic::{Rmw, Scope, Sem};

/// An operation on a type: PTX's words for both, and the capability that has it.
type Row = (Rmw, Type, &'static str, u32);

const ROWS: &[Row] = &[
    (Rmw::And, Type::I32, "and.b32", 0),
    (Rmw::And, Type::I64, "and.b64", 0),
    (Rmw::Or, Type::I32, "or.b32", 0),
    (Rmw::Or, Type::I64, "or.b64", 0),
    (Rmw::Xor, Type::I32, "xor.b32", 0),
    (Rmw::Xor, Type::I64, "xor.b64", 0),
    (Rmw::Add, Type::I32, "add.u32", 0),
    (Rmw::Add, Type::I64, "add.u64", 0),
    (Rmw::Fadd, Type::F16, "add.noftz.f16", 70),
    (Rmw::Fadd, Type::BF16, "add.noftz.bf16", 90),
    (Rmw::Fadd, Type::F16.vector(2), "add.noftz.f16x2", 60),
    (Rmw::Fadd, Type::BF16.vector(2), "add.noftz.bf16x2", 90),
    (Rmw::Fadd, Type::F32, "add.f32", 0),
    (Rmw::Fadd, Type::F64, "add.f64", 60),
    (Rmw::Max, Type::I32, "max.s32", 0),
    (Rmw::Max, Type::I64, "max.s64", 0),
    (Rmw::Min, Type::I32, "min.s32", 0),
    (Rmw::Min, Type::I64, "min.s64", 0),
    (Rmw::Umax, Type::I32, "max.u32", 0),
    (Rmw::Umax, Type::I64, "max.u64", 0),
    (Rmw::Umin, Type::I32, "min.u32", 0),
    (Rmw::Umin, Type::I64, "min.u64", 0),
    (Rmw::Exch, Type::I32, "exch.b32", 0),
    (Rmw::Exch, Type::I64, "exch.b64", 0),
    (Rmw::Exch, Type::F32, "exch.b32", 0),
    (Rmw::Exch, Type::F64, "exch.b64", 0),
];

/// What `red` combines at once besides, by the type of all elements together.
const WIDE_ROWS: &[Row] = &[
    (Rmw::Fadd, Type::F32.vector(2), "add.v2.f32", 90),
    (Rmw::Fadd, Type::F32.vector(4), "add.v4.f32", 90),
    (Rmw::Fadd, Type::F16.vector(4), "add.noftz.v2.f16x2", 90),
    (Rmw::Fadd, Type::F16.vector(8), "add.noftz.v4.f16x2", 90),
    (Rmw::Fadd, Type::BF16.vector(4), "add.noftz.v2.bf16x2", 90),
    (Rmw::Fadd, Type::BF16.vector(8), "add.noftz.v4.bf16x2", 90),
];

/// The most elements of a row.
const WIDEST: usize = 8;

/// Bits of the narrowest `atom.cas`.
pub(super) const NARROWEST_SWAP: u32 = 16;

fn order_word(order: Sem) -> &'static str {
    match order {
        Sem::Relaxed => ".relaxed",
        Sem::Acquire => ".acquire",
        Sem::Release => ".release",
        Sem::AcqRel => ".acq_rel",
    }
}

fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Gpu => ".gpu",
        Scope::Cta => ".cta",
        Scope::Sys => ".sys",
    }
}

/// Runs an instruction with the address and further operands, each of one or more registers, behind the mask. Where the
/// mask is off the result is zero.
fn run(
    b: &mut FunctionBuilder<'_>,
    access: &AtomicAccess,
    name: &str,
    operands: &[&[Value]],
    result: Option<Type>,
) -> Option<Value> {
    let place = address(b, access.pointer, access.offset);
    let mut instruction = Instruction::new(name);
    if let Some(ty) = result {
        instruction = instruction.results(ty, 1);
        if access.mask.is_some() {
            instruction = instruction.kept(&[b.zero(ty)]);
        }
    }
    let instruction = instruction.when(access.mask).at_offset(place);
    operands.iter().fold(instruction, |instruction, operand| instruction.registers(operand)).effect(b)
}

/// The words of an instruction, the manual's order first.
fn prefix(b: &FunctionBuilder<'_>, what: &str, access: &AtomicAccess) -> String {
    let words = [order_word(access.order), scope_word(access.scope), space(b.ty(access.pointer))];
    format!("{what}{}", words.concat())
}

/// `atom` in the order of words that programs look for, as another compiler writes it; assemblers take any.
fn read_modify_write(b: &FunctionBuilder<'_>, access: &AtomicAccess) -> String {
    let words = [space(b.ty(access.pointer)), scope_word(access.scope), order_word(access.order)];
    format!("atom{}", words.concat())
}

/// The same for a compare-and-swap, whose order of words is another one.
fn swap(b: &FunctionBuilder<'_>, access: &AtomicAccess) -> String {
    let words = [space(b.ty(access.pointer)), order_word(access.order), scope_word(access.scope)];
    format!("atom{}", words.concat())
}

fn row(capability: u32, rmw: Rmw, ty: Type) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.0 == rmw && row.1 == ty && row.3 <= capability)
}

/// The row of `red` for so many elements.
fn reduction_row(capability: u32, rmw: Rmw, element: Type, count: usize) -> Option<&'static Row> {
    let ty = element.with_lanes(u32::try_from(count).ok()?);
    let rows = ROWS.iter().chain(WIDE_ROWS).filter(|row| row.0 != Rmw::Exch);
    rows.into_iter().find(|row| row.0 == rmw && row.1 == ty && row.3 <= capability)
}

impl Reductions for Lanes {
    fn width(&self, rmw: Rmw, element: Type) -> Option<usize> {
        let counts = std::iter::successors(Some(WIDEST), |&count| (count > 1).then_some(count / 2));
        counts.into_iter().find(|&count| reduction_row(self.capability, rmw, element, count).is_some())
    }

    fn reduce(&self, b: &mut FunctionBuilder<'_>, rmw: Rmw, access: &AtomicAccess, values: &[Value]) -> bool {
        let element = b.ty(values[0]);
        let Some(row) = reduction_row(self.capability, rmw, element, values.len()) else { return false };
        let name = format!("{}.{}", prefix(b, "red", access), row.2);
        let words: Values = match element.lane_bits() {
            16 if values.len() > 1 => values.chunks(2).map(|pair| packed(b, pair)).collect(),
            _ => values.iter().copied().collect(),
        };
        run(b, access, &name, &[&words], None);
        true
    }

    fn fence(&self, b: &mut FunctionBuilder<'_>, scope: Scope) {
        Instruction::new(format!("fence.acq_rel{}", scope_word(scope))).effect(b);
    }
}

/// Two values of 16 bits in one register.
fn packed(b: &mut FunctionBuilder<'_>, pair: &[Value]) -> Value {
    let pair = b.vector(pair);
    b.bitcast(pair, Type::I32)
}

/// How many neighbours one instruction combines: two of 16 bits.
pub(super) fn width(capability: u32, rmw: Rmw, element: Type) -> usize {
    if row(capability, rmw, element.vector(2)).is_some() { 2 } else { 1 }
}

/// Combines values into memory; `None` where there is no instruction for it. Two values go as one register.
pub(super) fn rmw(
    b: &mut FunctionBuilder<'_>,
    capability: u32,
    rmw: Rmw,
    access: &AtomicAccess,
    values: &[Value],
) -> Option<Values> {
    let ty = b.ty(*values.first()?).with_lanes(values.len() as u32);
    let row = row(capability, rmw, ty)?;
    let name = format!("{}.{}", read_modify_write(b, access), row.2);
    let [value] = values else {
        let word = packed(b, values);
        let old = run(b, access, &name, &[&[word]], Some(Type::I32))?;
        let old = b.bitcast(old, ty);
        return Some((0..values.len() as u32).map(|index| b.extract(old, index)).collect());
    };
    run(b, access, &name, &[&[*value]], Some(ty)).map(|old| Values::from_slice(&[old]))
}

/// Writes where memory holds what is expected.
pub(super) fn compare_swap(b: &mut FunctionBuilder<'_>, swap: &CompareSwap) -> Value {
    let ty = b.ty(swap.expected);
    let name = format!("{}.cas.b{}", self::swap(b, &swap.access), ty.lane_bits());
    let old = run(b, &swap.access, &name, &[&[swap.expected], &[swap.new]], Some(ty));
    old.expect("a compare-and-swap gives what was there")
}

/// Loads atomically; the machine has acquiring and relaxed loads.
pub(super) fn load(b: &mut FunctionBuilder<'_>, access: &AtomicAccess, element: Type) -> Value {
    let order = match access.order {
        Sem::Acquire | Sem::AcqRel => Sem::Acquire,
        Sem::Relaxed | Sem::Release => Sem::Relaxed,
    };
    let access = AtomicAccess { order, ..access.clone() };
    let name = format!("{}.b{}", prefix(b, "ld", &access), element.lane_bits());
    run(b, &access, &name, &[], Some(element)).expect("a load has a result")
}

/// Stores atomically; the machine has releasing and relaxed stores.
pub(super) fn store(b: &mut FunctionBuilder<'_>, access: &AtomicAccess, value: Value) {
    let order = match access.order {
        Sem::Release | Sem::AcqRel => Sem::Release,
        Sem::Relaxed | Sem::Acquire => Sem::Relaxed,
    };
    let access = AtomicAccess { order, ..access.clone() };
    let name = format!("{}.b{}", prefix(b, "st", &access), b.ty(value).lane_bits());
    run(b, &access, &name, &[&[value]], None);
}
