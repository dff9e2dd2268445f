//! Index arithmetic without vectors: sums, products with constants, comparisons with bounds, conjunctions of masks.
//!
//! Each rule answers `None` where the operation needs a vector after all.

use super::chunk::Chunks;
use super::element::Zeros;
use super::error::Result;
use super::value::{Affine, Index, Lanes, Linear, Val, Window};
use super::whole_quotients::{self, Holds};
use elementwise::Elems;
use ir::{Op, OpRow};
use llir::{IntCompare, Type, Value, intrinsics};
use ttir::ops::{arith_cast, arith_int, compare, memory};

/// A rule for an operation on values of known form.
type Rule = fn(&mut Chunks<'_, '_>, Op, &Elems<'_>, &[Val]) -> Result<Option<Val>>;

/// The rules by their rows.
const RULES: [(&OpRow, Rule); 17] = [
    (&arith_int::ADDI, |cx, _, _, x| Ok(cx.sum(&x[0], &x[1]))),
    (&arith_int::SUBI, |cx, _, _, x| Ok(cx.difference(&x[0], &x[1]))),
    (&arith_int::MULI, |cx, _, _, x| Ok(cx.product(&x[0], &x[1]).or_else(|| cx.product(&x[1], &x[0])))),
    (&arith_int::SHLI, |cx, _, _, x| Ok(cx.shifted(&x[0], &x[1]))),
    (&arith_int::DIVSI, |cx, op, _, x| cx.quotient(op, &x[0], &x[1])),
    (&arith_int::DIVUI, |cx, op, _, x| cx.quotient(op, &x[0], &x[1])),
    (&arith_int::REMSI, |cx, op, _, x| cx.remainder(op, &x[0], &x[1])),
    (&arith_int::REMUI, |cx, op, _, x| cx.remainder(op, &x[0], &x[1])),
    (&arith_int::ANDI, |cx, _, e, x| Ok(if is_mask(e) { cx.both(&x[0], &x[1]) } else { None })),
    (&arith_int::ORI, |cx, _, e, x| Ok(if is_mask(e) { cx.either(&x[0], &x[1]) } else { None })),
    (&arith_cast::EXTSI, |cx, op, e, x| Ok(cx.extended(llir::Op::SEXT, op, e, &x[0]))),
    (&arith_cast::EXTUI, |cx, op, e, x| Ok(cx.extended(llir::Op::ZEXT, op, e, &x[0]))),
    (&arith_cast::TRUNCI, |cx, _, e, x| Ok(cx.resized(llir::Op::TRUNC, e, &x[0]))),
    (&memory::ADDPTR, |cx, _, e, x| Ok(cx.moved_pointer(e, &x[0], &x[1]))),
    (&compare::CMPI, |cx, _, e, x| cx.bound(e, &x[0], &x[1])),
    (&compare::SELECT, |cx, _, _, x| Ok(cx.chosen(x))),
    (&arith_cast::TT_BITCAST, |_, _, e, x| {
        Ok((e.operands[0] == e.result || same_pointee_size(e)).then(|| x[0].clone()))
    }),
];

fn is_mask(elems: &Elems<'_>) -> bool {
    elems.result.as_int() == Some(1)
}

/// Between pointers whose elements are equally large, addresses keep their form.
fn same_pointee_size(elems: &Elems<'_>) -> bool {
    let size = |ty| ttir::types::pointee(ty).map(ttir::types::elem_bytes);
    size(elems.operands[0]).is_some() && size(elems.operands[0]) == size(elems.result)
}

impl Chunks<'_, '_> {
    /// The value of an operation by its form alone.
    pub(crate) fn symbolic(&mut self, op: Op, elems: &Elems<'_>, x: &[Val]) -> Result<Option<Val>> {
        let row = self.module.row(op);
        match RULES.iter().find(|(own, _)| row.is(own)) {
            Some((_, rule)) => rule(self, op, elems, x),
            None => Ok(None),
        }
    }

    /// A value as a sum of known form.
    fn affine(&self, val: &Val) -> Option<Affine> {
        match val {
            Val::Affine(affine) => Some(affine.clone()),
            Val::Uniform(base) => {
                let (linear, lanes) = (Linear::default(), Lanes::uniform(self.lanes));
                Some(Affine { base: *base, linear, lanes })
            }
            _ => None,
        }
    }

    fn both_uniform(a: &Val, b: &Val) -> bool {
        matches!((a, b), (Val::Uniform(_), Val::Uniform(_)))
    }

    fn sum(&mut self, a: &Val, b: &Val) -> Option<Val> {
        if Self::both_uniform(a, b) {
            return None;
        }
        let (a, b) = (self.affine(a)?, self.affine(b)?);
        let base = self.b.add(a.base, b.base);
        Some(Val::Affine(Affine { base, linear: a.linear.add(&b.linear), lanes: a.lanes.add(&b.lanes) }))
    }

    fn difference(&mut self, a: &Val, b: &Val) -> Option<Val> {
        if Self::both_uniform(a, b) {
            return None;
        }
        let (a, b) = (self.affine(a)?, self.affine(b)?);
        let base = self.b.sub(a.base, b.base);
        let lanes = a.lanes.add(&b.lanes.map(i64::wrapping_neg));
        Some(Val::Affine(Affine { base, linear: a.linear.add(&b.linear.scale(-1)), lanes }))
    }

    /// The constant that every lane has.
    fn constant(&self, val: &Val) -> Option<i64> {
        match val {
            Val::Uniform(value) => self.b.as_int(*value).and_then(|value| i64::try_from(value).ok()),
            _ => None,
        }
    }

    fn product(&mut self, a: &Val, by: &Val) -> Option<Val> {
        let Val::Affine(a) = a else { return None };
        let factor = self.constant(by)?;
        let scalar = self.int_like(a.base, factor);
        let base = self.b.mul(a.base, scalar);
        let lanes = a.lanes.map(|lane| lane.wrapping_mul(factor));
        Some(Val::Affine(Affine { base, linear: a.linear.scale(factor), lanes }))
    }

    fn shifted(&mut self, a: &Val, by: &Val) -> Option<Val> {
        let Val::Affine(affine) = a else { return None };
        let amount = self.constant(by).filter(|amount| (0..31).contains(amount))?;
        let factor = self.int_like(affine.base, 1 << amount);
        self.product(a, &Val::Uniform(factor))
    }

    /// An affine value whose base is a constant, as an index.
    fn known_index(&self, val: &Val) -> Option<Index> {
        let Val::Affine(affine) = val else { return None };
        if !self.stays_within(affine, true) {
            return None;
        }
        let base = self.b.as_int(affine.base).and_then(|base| i64::try_from(base).ok())?;
        Some(Index::Known(affine.linear.add(&Linear::constant(base)), affine.lanes.clone()))
    }

    /// Quotient or rest of an index of constant base by a constant power of two, where no digit is cut.
    fn digits_of(&mut self, a: &Val, by: &Val) -> Option<((Linear, Lanes), (Linear, Lanes))> {
        let size = self.constant(by).filter(|size| *size > 0 && size.count_ones() == 1)?;
        let Index::Known(linear, lanes) = self.known_index(a)? else { return None };
        super::value::split_digits(&linear, &lanes, size, |var| self.range(var))
    }

    fn quotient(&mut self, op: Op, a: &Val, by: &Val) -> Result<Option<Val>> {
        if let Some(&quotient) = self.assumed.quotients.get(&self.module.result(op, 0)) {
            return Ok(Some(Val::Uniform(quotient)));
        }
        let Some(((linear, lanes), _)) = self.digits_of(a, by) else {
            return Ok(self.of_first_lane(op, (a, by), whole_quotients::is_one)?.map(Val::Uniform));
        };
        let Val::Affine(affine) = a else { return Ok(None) };
        let base = self.int_like(affine.base, 0);
        Ok(Some(Val::Affine(Affine { base, linear, lanes })))
    }

    fn remainder(&mut self, op: Op, a: &Val, by: &Val) -> Result<Option<Val>> {
        let Val::Affine(affine) = a else { return Ok(None) };
        if let Some(excess) = self.assumed.no_wrap.get(&self.module.result(op, 0)).copied() {
            let base = self.b.sub(affine.base, excess);
            return Ok(Some(Val::Affine(Affine { base, ..affine.clone() })));
        }
        let Some((_, (linear, lanes))) = self.digits_of(a, by) else {
            let Some(base) = self.of_first_lane(op, (a, by), whole_quotients::counts_up)? else {
                return Ok(None);
            };
            return Ok(Some(Val::Affine(Affine {
                base,
                linear: Linear::default(),
                lanes: affine.lanes.clone(),
            })));
        };
        let base = self.int_like(affine.base, 0);
        Ok(Some(Val::Affine(Affine { base, linear, lanes })))
    }

    /// Quotient or rest of an index in the first lane, where a fact about the whole block says what the other lanes
    /// have: chunks begin at multiples of their lanes.
    fn of_first_lane(&mut self, op: Op, (a, by): (&Val, &Val), holds: Holds) -> Result<Option<Value>> {
        let (Val::Affine(affine), &Val::Uniform(divisor)) = (a, by) else { return Ok(None) };
        let lanes = i64::from(self.lanes);
        // Other walks may begin anywhere.
        let begins_at_zero =
            (self.assumed.peel.is_none() || self.assumed.begins_first) && self.assumed.quotients.is_empty();
        let Linear { constant, terms } = &affine.linear;
        let steps = terms.iter().map(|&(var, coefficient)| coefficient.wrapping_mul(self.range(var).0));
        let is_aligned = steps.chain([*constant]).all(|step| step % lanes == 0);
        if lanes == 1 || affine.lanes.stride() != Some(1) || !begins_at_zero || !is_aligned {
            return Ok(None);
        }
        if !self.whole(op, lanes as u64, holds) {
            return Ok(None);
        }
        let first = self.scalar_of(affine, Type::I8);
        self.apply(op, &[first, divisor], Zeros::Signed).map(Some)
    }

    /// The same sum in another width of integers.
    pub(crate) fn resized(&mut self, op: llir::Op, elems: &Elems<'_>, a: &Val) -> Option<Val> {
        let Val::Affine(affine) = a else { return None };
        // Narrow integers wrap around within a chunk.
        if elems.result.as_int().is_none_or(|bits| bits < 32) {
            return None;
        }
        let base = self.b.cast(op, affine.base, super::types::register(elems.result));
        Some(Val::Affine(Affine { base, ..affine.clone() }))
    }

    fn moved_pointer(&mut self, elems: &Elems<'_>, pointer: &Val, offset: &Val) -> Option<Val> {
        let element = self.pointee(elems.operands[0]);
        let wide = self.vector_type(Type::I64);
        match (self.affine(pointer), pointer, self.affine(offset)) {
            (Some(pointer), _, Some(offset)) => {
                let base = self.b.gep(element, pointer.base, offset.base);
                let linear = pointer.linear.add(&offset.linear);
                let lanes = pointer.lanes.add(&offset.lanes);
                Some(Val::Affine(Affine { base, linear, lanes }))
            }
            (Some(pointer), _, None) => {
                let Val::Vector(offsets) = offset else { return None };
                let base = self.scalar_of(&pointer, element);
                if pointer.lanes.is_uniform() {
                    return Some(Val::Offsets { base, offsets: *offsets });
                }
                let offsets = self.b.resize_signed(*offsets, wide);
                let table = self.table(Type::I64, &pointer.lanes.0);
                Some(Val::Offsets { base, offsets: self.b.add(offsets, table) })
            }
            (None, Val::Offsets { base, offsets }, Some(more)) => {
                let scalar = self.scalar_of(&more, element);
                let base = self.b.gep(element, *base, scalar);
                if more.lanes.is_uniform() {
                    return Some(Val::Offsets { base, offsets: *offsets });
                }
                let offsets = self.b.resize_signed(*offsets, wide);
                let table = self.table(Type::I64, &more.lanes.0);
                Some(Val::Offsets { base, offsets: self.b.add(offsets, table) })
            }
            (None, Val::Offsets { base, offsets }, None) => {
                let Val::Vector(more) = offset else { return None };
                let [a, b] = [*offsets, *more].map(|value| self.b.resize_signed(value, wide));
                Some(Val::Offsets { base: *base, offsets: self.b.add(a, b) })
            }
            _ => None,
        }
    }

    /// `index < bound` and its relatives hold for a run of lanes.
    fn bound(&mut self, elems: &Elems<'_>, a: &Val, b: &Val) -> Result<Option<Val>> {
        use IntCompare::{Sge, Sgt, Sle, Slt};
        let predicate = elementwise::int_predicate(elems);
        let is_index = |val: &Val| matches!(val, Val::Affine(affine) if affine.lanes.stride() == Some(1) && !affine.lanes.is_uniform());
        // With the index on the left; `is_end` where the limit ends the run, `after` where the limit is part of it.
        let (index, limit, is_end, after) = match (is_index(a), is_index(b), predicate) {
            (true, false, Slt) | (false, true, Sgt) => (a, b, true, 0),
            (true, false, Sle) | (false, true, Sge) => (a, b, true, 1),
            (true, false, Sge) | (false, true, Sle) => (a, b, false, 0),
            (true, false, Sgt) | (false, true, Slt) => (a, b, false, 1),
            _ => return Ok(None),
        };
        let (index, limit) = if is_index(index) { (index, limit) } else { (limit, index) };
        let (Some(index), Some(limit)) = (self.affine(index), self.affine(limit)) else { return Ok(None) };
        if !limit.lanes.is_uniform() {
            return Ok(None);
        }
        let [from, to] = [index.base, limit.base].map(|value| self.b.resize_signed(value, Type::I64));
        let end = self.distance(elems.operands[0], from, to);
        let mut linear = limit.linear.add(&index.linear.scale(-1));
        let more = self.b.i64(std::mem::take(&mut linear.constant).wrapping_add(after));
        let end = Some(self.b.add(end, more));
        let window = match is_end {
            true => Window { start: None, count: end, linear },
            false => Window { start: end, count: None, linear },
        };
        Ok(Some(Val::Window(window)))
    }

    /// How far one number of a type is behind another, as 64 bits to which counters can be added: what is too far away
    /// for that is taken to be nearer.
    fn distance(&mut self, ty: ir::Type, from: Value, to: Value) -> Value {
        if ty.as_int().is_some_and(|bits| bits < 64) {
            return self.b.sub(to, from);
        }
        let far = 1 << 62;
        let [nearest, farthest] = [-far, far].map(|limit| self.b.i64(limit));
        let distance = self.b.intrinsic(&intrinsics::SSUB_SAT, Type::I64, &[to, from]);
        let distance = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[distance, nearest]);
        self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[distance, farthest])
    }

    /// A condition that is the same in all lanes.
    fn uniform_condition(&mut self, val: &Val) -> Option<Value> {
        match val {
            Val::Uniform(condition) => Some(*condition),
            _ => None,
        }
    }

    fn both(&mut self, a: &Val, b: &Val) -> Option<Val> {
        match (a, b) {
            (Val::Uniform(always), other) | (other, Val::Uniform(always)) if self.b.is_all_ones(*always) => {
                Some(other.clone())
            }
            (Val::Window(a), Val::Window(b)) => {
                if a.linear != b.linear {
                    return None;
                }
                let start = self.merged(&intrinsics::SMAX, a.start, b.start);
                let count = self.merged(&intrinsics::SMIN, a.count, b.count);
                Some(Val::Window(Window { start, count, linear: a.linear.clone() }))
            }
            (Val::Window(window), other) | (other, Val::Window(window)) => {
                let condition = self.uniform_condition(other)?;
                // Far enough below zero that no counter brings it back.
                let none = self.b.i64(-(1 << 40));
                let all = self.b.i64(1 << 40);
                let count = self.b.select(condition, window.count.unwrap_or(all), none);
                Some(Val::Window(Window { count: Some(count), ..window.clone() }))
            }
            _ => None,
        }
    }

    fn merged(
        &mut self,
        intrinsic: &'static llir::Intrinsic,
        a: Option<Value>,
        b: Option<Value>,
    ) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.intrinsic(intrinsic, Type::I64, &[a, b])),
            (one, other) => one.or(other),
        }
    }

    fn either(&mut self, a: &Val, b: &Val) -> Option<Val> {
        match (a, b) {
            (Val::Uniform(always), _) | (_, Val::Uniform(always)) if self.b.is_all_ones(*always) => {
                Some(Val::Uniform(*always))
            }
            (Val::Uniform(never), other) | (other, Val::Uniform(never)) if self.b.is_zero(*never) => {
                Some(other.clone())
            }
            _ => None,
        }
    }

    fn chosen(&mut self, x: &[Val]) -> Option<Val> {
        match &x[0] {
            Val::Uniform(condition) if self.b.is_all_ones(*condition) => Some(x[1].clone()),
            Val::Uniform(condition) if self.b.is_zero(*condition) => Some(x[2].clone()),
            _ => None,
        }
    }
}
