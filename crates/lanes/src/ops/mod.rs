//! Lowerings, one file per family of operations.
//!
//! [`FAMILIES`] is the list of tables of handlers. Elementwise operations have tables of their own: a function that makes
//! the instructions for one element, which [`elementwise`] calls for each register.

mod arith_float;
mod arith_int;
mod async_copy;
mod atomic;
mod atomic_swap;
mod cast;
mod cat;
mod combine;
mod compare;
mod constant;
mod control;
mod convert;
mod debug;
mod dot;
mod extern_call;
mod func;
mod gather;
mod hand_round;
mod histogram;
mod inline_asm;
pub(crate) mod local;
mod map;
mod math;
pub(crate) mod memory;
mod program;
mod reduce;
mod scan;
mod scan_layout;
mod shape;
mod small_float;

pub(crate) use small_float::exactly;

use crate::cx::Cx;
use crate::error::Result;
use crate::shared::NeedOf;
use crate::table::Entry;
use ir::{Attr, Op, OpRow, Type};
use llir::Value;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::OnceLock;
use ttir::ops::compare::CMPI;

/// The tables of handlers.
pub(crate) const FAMILIES: &[&[Entry]] = &[
    async_copy::TABLE,
    atomic::TABLE,
    cat::TABLE,
    constant::TABLE,
    control::TABLE,
    convert::TABLE,
    debug::TABLE,
    dot::TABLE,
    extern_call::TABLE,
    func::TABLE,
    gather::TABLE,
    histogram::TABLE,
    inline_asm::TABLE,
    local::TABLE,
    map::TABLE,
    memory::TABLE,
    program::TABLE,
    reduce::TABLE,
    scan::TABLE,
    shape::TABLE,
];

/// The tables of what operations need of memory of the program while they run.
const NEEDS: &[&[(&OpRow, NeedOf)]] = &[
    atomic::NEEDS,
    cat::NEEDS,
    convert::NEEDS,
    gather::NEEDS,
    histogram::NEEDS,
    map::NEEDS,
    reduce::NEEDS,
    scan::NEEDS,
];

/// What each row needs of memory of the program, by its name.
pub(crate) fn needs() -> &'static FxHashMap<&'static str, NeedOf> {
    static TABLE: OnceLock<FxHashMap<&'static str, NeedOf>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let entries = NEEDS.iter().flat_map(|table| table.iter());
        entries.map(|(row, need)| (row.name, *need)).collect()
    })
}

/// The types of one elementwise operation.
pub struct Elems<'a> {
    /// Its attribute slots.
    pub attrs: &'a [Option<Attr>],
    /// Element types of the operands.
    pub operands: SmallVec<[Type; 4]>,
    /// Element type of the result.
    pub result: Type,
}

/// Makes the instructions of an operation on one element.
pub(crate) type Emit = fn(&mut Cx<'_>, &Elems<'_>, &[Value]) -> Result<Value>;

/// A row and what it is made of.
pub(crate) type ElementEntry = (&'static OpRow, Emit);

const ELEMENTWISE: &[&[ElementEntry]] =
    &[arith_int::TABLE, arith_float::TABLE, cast::TABLE, compare::TABLE, math::TABLE];

/// The rows that [`elementwise`] lowers.
pub(crate) fn elementwise_rows() -> impl Iterator<Item = &'static OpRow> {
    ELEMENTWISE.iter().flat_map(|table| table.iter()).map(|(row, _)| *row)
}

fn emit_of(row: &'static OpRow) -> Option<Emit> {
    static TABLE: OnceLock<FxHashMap<&'static str, Emit>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let entries = ELEMENTWISE.iter().flat_map(|table| table.iter());
        entries.map(|(row, emit)| (row.name, *emit)).collect()
    });
    table.get(row.name).copied()
}

/// The types of an operation with one result.
pub(crate) fn elems(module: &ir::Module, op: Op) -> Elems<'_> {
    let elem = |value: &ir::Value| ttir::types::elem(module.ty(*value));
    Elems {
        attrs: module.attrs(op),
        operands: module.operands(op).iter().map(elem).collect(),
        result: module.results(op).first().map_or(Type::none(), elem),
    }
}

/// Lowers an elementwise operation register by register. A scalar operand beside tensors stands for each element.
pub(crate) fn elementwise(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let Some(emit) = emit_of(cx.module.row(op)) else {
        return Err(cx.error(op, "is not elementwise"));
    };
    let emit = arith_float::by_shared_divisors(cx, op)?.unwrap_or(emit);
    let elems = elems(cx.module, op);
    // The truth values of masks are known to be equal in runs.
    let equal = match cx.module.is(op, &CMPI) {
        true => crate::access::equal_registers(cx, cx.module.result(op, 0))?,
        false => 0,
    };
    // Broadcast operands are the same for many registers; those of an operand that was made one after the other differ.
    let count = cx.register_count(cx.module.ty(cx.module.result(op, 0)))?;
    let mut differ = false;
    for index in 0..cx.module.operands(op).len() {
        let registers = cx.operand(op, index)?;
        differ |= registers.len() == count && registers.windows(2).all(|pair| pair[0] < pair[1]);
    }
    let mut known: FxHashMap<u128, Value> = FxHashMap::default();
    if !differ {
        known.reserve(count);
    }
    let mut made: Vec<Value> = Vec::with_capacity(count);
    per_register(cx, op, |cx, x| {
        let key = word_of(x).filter(|_| !differ);
        let first = made.get(made.len() & !equal).or_else(|| known.get(&key?)).copied();
        let result = match first {
            Some(result) => result,
            None => emit(cx, &elems, x)?,
        };
        if let Some(key) = key {
            known.insert(key, result);
        }
        made.push(result);
        Ok(result)
    })
}

/// Up to four values as one word, which other values do not give where there are as many.
fn word_of(values: &[Value]) -> Option<u128> {
    let word = values.iter().fold(0, |word, value| word << 32 | u128::from(value.as_u32()));
    (values.len() <= 4).then_some(word)
}

/// Calls a function with the operands of each register and makes the answers the result.
pub(crate) fn per_register(
    cx: &mut Cx<'_>,
    op: Op,
    mut emit: impl FnMut(&mut Cx<'_>, &[Value]) -> Result<Value>,
) -> Result<()> {
    let count = cx.register_count(cx.module.ty(cx.module.result(op, 0)))?;
    let operands: SmallVec<[_; 4]> =
        (0..cx.module.operands(op).len()).map(|index| cx.operand(op, index)).collect::<Result<_>>()?;
    let mut results = Vec::with_capacity(count);
    let mut x: SmallVec<[Value; 4]> = SmallVec::new();
    for register in 0..count {
        x.clear();
        for all in &operands {
            x.push(*all.get(register).unwrap_or(&all[0]));
        }
        results.push(emit(cx, &x)?);
    }
    cx.set_registers(op, results);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::emit_of;
    use ir::Traits;

    #[test]
    fn every_elementwise_row_is_known() {
        let missing: Vec<_> = ttir::registry()
            .ops()
            .into_iter()
            .filter(|row| row.traits.has(Traits::ELEMENTWISE) && emit_of(row).is_none())
            .map(|row| row.name)
            .collect();
        assert!(missing.is_empty(), "no lowering for {missing:?}");
    }
}
