//! Lowerings, one file per family of operations.
//!
//! [`FAMILIES`] is the list of tables of handlers. Elementwise operations are in the crate `elementwise`: a function
//! that makes the instructions for one element, which [`lower_elements`] calls for each register.

mod async_copy;
mod atomic;
mod atomic_swap;
mod cat;
mod combine;
mod constant;
mod control;
mod convert;
mod debug;
mod dot;
mod extern_call;
mod fragment_dot;
mod func;
mod gather;
mod histogram;
mod in_order;
mod inline_asm;
pub(crate) mod local;
mod map;
mod matrix_dot;
pub(crate) mod memory;
mod neighbours;
mod program;
mod reduce;
pub(crate) mod roles;
mod scaled_dot;
mod scan;
mod scan_bits;
mod scan_layout;
mod scratch;
mod shape;
mod share_results;

pub use atomic::combine_into;

use crate::context::{Cx, Handler};
use crate::error::Result;
use crate::shared::{NeedOf, Needs};
use elementwise::{Byte, Elems, Emit, TOGETHER, convert_together};
use ir::{Op, OpRow};
use llir::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::OnceLock;
use ttir::ops::arith_float::DIVF;
use ttir::ops::arith_int::{ANDI, DIVSI, DIVUI, SHRSI, SHRUI};
use ttir::ops::compare::CMPI;
use ttir::ops::forms::{BinaryOp, UnaryOp};

/// A row and its handler.
type Entry = (&'static OpRow, Handler);
/// One that needs shared memory while it runs, and how much.
type SharingEntry = (&'static OpRow, Handler, NeedOf);

/// The tables of handlers.
const FAMILIES: &[&[Entry]] = &[
    async_copy::TABLE,
    atomic::TABLE,
    constant::TABLE,
    control::TABLE,
    debug::TABLE,
    dot::TABLE,
    scaled_dot::TABLE,
    extern_call::TABLE,
    func::TABLE,
    local::TABLE,
    memory::TABLE,
    program::TABLE,
    roles::TABLE,
    scratch::TABLE,
    shape::TABLE,
];

/// The same for those that need shared memory while they run.
const SHARING: &[&[SharingEntry]] = &[
    atomic::SHARING,
    cat::SHARING,
    convert::SHARING,
    gather::SHARING,
    histogram::SHARING,
    inline_asm::SHARING,
    map::SHARING,
    reduce::SHARING,
    roles::SHARING,
    scan::SHARING,
];

/// The handler of an operation that is no terminator.
pub(crate) fn handler(row: &'static OpRow) -> Option<Handler> {
    static TABLE: OnceLock<FxHashMap<&'static str, Handler>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let families = FAMILIES.iter().flat_map(|family| family.iter());
        let sharing = SHARING.iter().flat_map(|family| family.iter());
        let mut table: FxHashMap<&'static str, Handler> =
            families.map(|(row, handler)| (row.name, *handler)).collect();
        table.extend(sharing.map(|(row, handler, _)| (row.name, *handler)));
        for row in elementwise::rows() {
            table.insert(row.name, lower_elements);
        }
        table
    });
    table.get(row.name).copied()
}

/// What each row needs of shared memory, by its name.
pub(crate) fn needs() -> &'static Needs {
    static TABLE: OnceLock<Needs> = OnceLock::new();
    TABLE.get_or_init(|| {
        let sharing = SHARING.iter().flat_map(|family| family.iter());
        let own = sharing.map(|(row, _, need)| (row.name, *need));
        own.chain(scratch::BY_TARGETS.iter().map(|(row, need)| (row.name, *need))).collect()
    })
}

/// From so many quotients with one divisor on it is worth instructions of its own, which may also leave a loop.
const SHARERS: usize = 2;

/// Whether the divisors of a quotient of blocks are few: the sum of a row, the count of its elements. What masks leave
/// of a block is no divisor beside others.
fn shares_divisors(cx: &Cx<'_>, op: Op) -> Result<bool> {
    if !cx.module.is(op, &DIVF) {
        return Ok(false);
    }
    let quotient = BinaryOp::new(cx.module, op);
    let (dividends, divisors) = (cx.registers(quotient.lhs())?, cx.registers(quotient.rhs())?);
    let func = cx.b.func();
    let open: Vec<Value> = divisors.iter().copied().filter(|&value| func.constant(value).is_none()).collect();
    let quotients = if open.is_empty() { dividends.len() } else { open.len() };
    let divisors = if open.is_empty() { &divisors[..] } else { &open[..] };
    let different: FxHashSet<Value> = divisors.iter().copied().collect();
    Ok(different.len() * SHARERS <= quotients)
}

/// Whether results may be equal in runs in which the operands are not: the truth values of masks, and quotients (which
/// channel an element belongs to).
fn is_equal_in_runs(cx: &Cx<'_>, op: Op) -> bool {
    [&CMPI, &DIVSI, &DIVUI, &SHRSI, &SHRUI, &ANDI].iter().any(|row| cx.module.is(op, row))
}

/// Lowers an elementwise operation register by register. A scalar operand beside tensors stands for each element.
pub(crate) fn lower_elements(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let Some(emit) = elementwise::find(cx.module.row(op)) else {
        return Err(cx.error(op, "is not elementwise"));
    };
    let emit = if shares_divisors(cx, op)? { elementwise::divide_by_shared } else { emit };
    let elems = Elems::of(cx.module, op);
    let equal = match is_equal_in_runs(cx, op) {
        true => crate::access::equal_registers(cx, cx.module.result(op, 0))?,
        false => 0,
    };
    // Broadcast operands are the same for many registers; those of an operand that was made one after the other differ.
    let count = cx.register_count(cx.module.ty(cx.module.result(op, 0)))?;
    let mut differ = false;
    for &operand in cx.module.operands(op) {
        let registers = cx.registers(operand)?;
        differ |= registers.len() == count && registers.windows(2).all(|pair| pair[0] < pair[1]);
    }
    if let Some(from) = Byte::of(&elems).filter(|_| differ) {
        return convert_bytes(cx, op, (&elems, from), emit);
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
            None => cx.element(|ctx| emit(ctx, &elems, x))?,
        };
        if let Some(key) = key {
            known.insert(key, result);
        }
        made.push(result);
        Ok(result)
    })
}

/// Converts elements of 8 bits, neighbours in one word together where the target does.
fn convert_bytes(cx: &mut Cx<'_>, op: Op, (elems, from): (&Elems<'_>, Byte), emit: Emit) -> Result<()> {
    let registers = cx.registers(UnaryOp::new(cx.module, op).src())?;
    let mut results: Vec<Value> = Vec::with_capacity(registers.len());
    while let Some(rest) = registers.get(results.len()..).filter(|rest| !rest.is_empty()) {
        let mut groups = TOGETHER.into_iter().filter_map(|count| rest.get(..count));
        match groups.find_map(|x| cx.element(|ctx| convert_together(ctx, elems, from, x))) {
            Some(converted) => results.extend(converted),
            None => results.push(cx.element(|ctx| emit(ctx, elems, &rest[..1]))?),
        }
    }
    cx.set_registers(op, results);
    Ok(())
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
        cx.module.operands(op).iter().map(|operand| cx.registers(*operand)).collect::<Result<_>>()?;
    let mut results = Vec::with_capacity(count);
    let mut x: SmallVec<[Value; 4]> = SmallVec::new();
    for register in 0..count {
        x.clear();
        for all in &operands {
            // A scalar beside blocks stands for each of their elements.
            x.push(if all.len() == 1 { all[0] } else { all[register] });
        }
        results.push(emit(cx, &x)?);
    }
    cx.set_registers(op, results);
    Ok(())
}
