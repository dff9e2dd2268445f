//! Atomics by compare-and-swap: load, combine, swap, until no other lane came in between.
//!
//! An element that is narrower than what the machine can swap is part of a word that it can: the loop swaps the word,
//! and puts the neighbours' bits back as it found them. The word may reach beyond the end of an allocation, by less
//! than its own size.

use crate::context::Cx;
use crate::packing::{as_integer, from_integer};
use crate::target::{AtomicAccess, CompareSwap};
use llir::{IntCompare, Type, Value};
use ttir::ops::atomic::Sem;

/// The word that is swapped for an element.
struct Word {
    access: AtomicAccess,
    ty: Type,
    /// Where the element stands, unless it is the whole word.
    part: Option<Part>,
}

/// An element within a word.
struct Part {
    ty: Type,
    /// Its lowest bit.
    shift: Value,
    /// The bits of the word that are not the element's.
    others: Value,
}

impl Word {
    /// The word around an element of an integer type.
    fn around(cx: &mut Cx<'_>, access: AtomicAccess, element: Type) -> Word {
        let narrowest = cx.target.narrowest_swap();
        if element.lane_bits() >= narrowest {
            return Word { access, ty: element, part: None };
        }
        // Where both are possible, the word of a register: it is what memory works on.
        let ty = Type::I32;
        let by = cx.b.i64(access.offset);
        let pointer = cx.b.offset(access.pointer, by);
        let address = as_integer(cx, pointer);
        let address_ty = cx.b.ty(address);
        let low = cx.b.int(address_ty, i64::from(ty.lane_bytes()) - 1);
        let within = cx.b.and(address, low);
        let back = cx.b.neg(within);
        let pointer = cx.b.gep(Type::I8, pointer, back);
        let within = cx.b.resize_unsigned(within, ty);
        let three = cx.b.int(ty, 3);
        let shift = cx.b.shl(within, three);
        let ones = cx.b.int(ty, (1 << element.lane_bits()) - 1);
        let own = cx.b.shl(ones, shift);
        let others = cx.b.not(own);
        let access = AtomicAccess { pointer, offset: 0, near: None, ..access };
        Word { access, ty, part: Some(Part { ty: element, shift, others }) }
    }

    /// The element of a word.
    fn element(&self, cx: &mut Cx<'_>, word: Value) -> Value {
        let Some(part) = &self.part else { return word };
        let low = cx.b.lshr(word, part.shift);
        cx.b.resize_unsigned(low, part.ty)
    }

    /// The word with another element.
    fn with(&self, cx: &mut Cx<'_>, word: Value, element: Value) -> Value {
        let Some(part) = &self.part else { return element };
        let wide = cx.b.resize_unsigned(element, self.ty);
        let own = cx.b.shl(wide, part.shift);
        let others = cx.b.and(word, part.others);
        cx.b.or(others, own)
    }
}

/// Replaces the element at an address by what `combine` makes of it; answers what was there before, zero where the mask
/// is off. `ty` is the type of the element in a register.
pub(super) fn by_swapping(
    cx: &mut Cx<'_>,
    access: &AtomicAccess,
    ty: Type,
    combine: impl FnOnce(&mut Cx<'_>, Value) -> Value,
) -> Value {
    let integer = Type::int(ty.lane_bits().max(8) as u16);
    let zero = cx.b.zero(integer);
    let always = cx.b.bool(true);
    let mut branch = cx.b.begin_if(access.mask.unwrap_or(always));
    let word = Word::around(cx, AtomicAccess { mask: None, ..access.clone() }, integer);
    let relaxed = AtomicAccess { order: Sem::Relaxed, ..word.access.clone() };
    let first = cx.target.atomic_load(&mut cx.b, &relaxed, word.ty);
    let attempt = cx.b.begin_while(&[first]);
    let expected = attempt.carried[0];
    let old = word.element(cx, expected);
    let old = from_integer(cx, old, ty);
    let combined = combine(cx, old);
    let new = as_integer(cx, combined);
    let new = word.with(cx, expected, new);
    let swap = CompareSwap { access: word.access.clone(), expected, new };
    let found = cx.target.compare_swap(&mut cx.b, &swap);
    let again = cx.b.icmp(IntCompare::Ne, found, expected);
    cx.b.do_while(&attempt, again, &[found]);
    let result = cx.b.end_while(attempt, &[found])[0];
    let result = word.element(cx, result);
    cx.b.begin_else(&mut branch, &[result]);
    let result = cx.b.end_if(branch, &[zero])[0];
    from_integer(cx, result, ty)
}

/// Writes `new` where memory holds `expected`; answers what was there before.
pub(super) fn compare_swap(cx: &mut Cx<'_>, access: AtomicAccess, expected: Value, new: Value) -> Value {
    let ty = cx.b.ty(expected);
    if ty.lane_bits().max(8) >= cx.target.narrowest_swap() {
        let [expected, new] = [expected, new].map(|value| as_integer(cx, value));
        let found = cx.target.compare_swap(&mut cx.b, &CompareSwap { access, expected, new });
        return from_integer(cx, found, ty);
    }
    by_swapping(cx, &access, ty, |cx, old| {
        let [bits, wanted] = [old, expected].map(|value| as_integer(cx, value));
        let holds = cx.b.icmp(IntCompare::Eq, bits, wanted);
        cx.b.select(holds, new, old)
    })
}
