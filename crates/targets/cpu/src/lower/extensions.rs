//! Extensions of indices: where a sum of known form keeps it.
//!
//! Neighbours count up in 64 bits as in 32 only if none of them is past the end of the narrow numbers. Of a sum whose
//! base is a constant that is known. Of others it is taken for granted where they address memory, as everywhere (sums
//! of indices do not overflow, and are not negative unless the code shows it); a hash that wraps around is computed
//! element by element.

use super::chunk::Chunks;
use super::value::{Affine, Val};
use elementwise::Elems;
use ir::{Module, Op, Traits, Value as IrValue};
use ttir::ops::control::{ForOp, YIELD};
use ttir::ops::forms::UnaryOp;
use ttir::ops::{compare, memory};

/// What makes indices of indices.
const SUMS: Traits = Traits::INDEX.and(Traits::VIEW);
/// What takes an index apart: its row, its channel.
const DIGITS: Traits = Traits::NO_SPECULATION;

impl Chunks<'_, '_> {
    /// A number of more bits, if it keeps its form.
    pub(crate) fn extended(&mut self, cast: llir::Op, op: Op, elems: &Elems<'_>, a: &Val) -> Option<Val> {
        let Val::Affine(affine) = a else { return None };
        let module = self.module;
        let counts_by_one = affine.lanes.0.windows(2).all(|pair| (0..=1).contains(&(pair[1] - pair[0])))
            && affine.linear.terms.iter().all(|term| term.1 == 1);
        let is_signed = cast == llir::Op::SEXT;
        let keeps_form = self.stays_within(affine, is_signed)
            || (is_signed || !self.program().may_be_negative(UnaryOp::new(module, op).src()))
                && addresses(module, module.result(op, 0), counts_by_one);
        if keeps_form { self.resized(cast, elems, a) } else { None }
    }

    /// Whether all elements of a loop nest are numbers of the base's type, without wrapping around.
    pub(crate) fn stays_within(&self, affine: &Affine, is_signed: bool) -> bool {
        let Some(base) = self.b.as_int(affine.base) else { return false };
        let bits = self.b.ty(affine.base).lane_bits();
        let base = if is_signed { base } else { base & ((1i128 << bits) - 1) };
        let (mut least, mut greatest) = (0i128, 0i128);
        for &(var, coefficient) in &affine.linear.terms {
            let (step, end) = self.range(var);
            let most = i128::from(coefficient) * i128::from((end - step).max(0));
            least += most.min(0);
            greatest += most.max(0);
        }
        let lanes = affine.lanes.0.iter().map(|&lane| i128::from(lane));
        let (low, high) = (lanes.clone().min().unwrap_or(0), lanes.max().unwrap_or(0));
        let base = base + i128::from(affine.linear.constant);
        let limits = if is_signed { -(1i128 << (bits - 1))..1 << (bits - 1) } else { 0..1 << bits };
        limits.contains(&(base + least + low)) && limits.contains(&(base + greatest + high))
    }
}

/// Whether nothing but addresses and masks is made of an index; with `digits`, also its digits.
fn addresses(module: &Module, index: IrValue, digits: bool) -> bool {
    let (mut open, mut seen) = (vec![index], vec![index]);
    while let Some(value) = open.pop() {
        for &(user, number) in module.uses(value) {
            let row = module.row(user);
            let is_sum = row.traits.has_any(SUMS);
            let is_end =
                row.is(&memory::ADDPTR) || row.is(&compare::CMPI) || digits && row.traits.has(DIGITS);
            let carried = carried_as(module, user, number as usize);
            if !is_end && !is_sum && carried.is_empty() {
                return false;
            }
            let results = if is_sum { module.results(user) } else { &carried };
            for &made in results {
                if !seen.contains(&made) {
                    seen.push(made);
                    open.push(made);
                }
            }
        }
    }
    true
}

/// What an operand is in the next iteration of a loop and behind it, if the operation begins or repeats one.
fn carried_as(module: &Module, user: Op, number: usize) -> Vec<IrValue> {
    let (of, at) = match ForOp::of(module, user) {
        Some(of) => (Some(of), number.checked_sub(ForOp::NUM_BOUNDS)),
        None if module.is(user, &YIELD) => {
            (module.parent_op(user).and_then(|parent| ForOp::of(module, parent)), Some(number))
        }
        None => (None, None),
    };
    let Some((of, at)) = of.zip(at) else { return Vec::new() };
    vec![of.carried()[at], of.results()[at]]
}
