//! A sum that is rescaled to a new maximum.
//!
//! ```text
//! %h = arith.maxnumf %a, %b                %d = arith.subf %a, %b
//! %p = math.exp (%a - %h)                  %e = math.exp (-|%d|)
//! %q = math.exp (%b - %h)                  %one = 1 + 0 · %h
//! %s = %x · %p + %q                  =>    %s = %a < %b ? %x · %e + %one : %x · %one + %e
//! ```
//!
//! One selection where there were three. `%p` may be 0 where `%h` is -inf, and `%q` where `%b` is, as programs say that
//! mask elements by -inf. Where both hold the sum is `%x · 0 + 0`. Where only `%b` is -inf `%e` is 0 by itself, and
//! where only `%h` is, `%b` is NaN, and so is `%e`.

use super::Powers;
use crate::ops::arith_float::{ADDF, MAXNUMF, MULF, NEGF, SUBF};
use crate::ops::arith_int::ANDI;
use crate::ops::compare::{CMPF, CmpFOp, CmpFPredicate, SELECT, SelectOp};
use crate::ops::constant::{self, number};
use crate::ops::math::ABSF;
use ir::{Builder, Module, Op, Value};

/// The sum of a pair of exponentials.
pub(super) struct Sum {
    /// What is rescaled.
    total: Value,
    /// The operation that adds.
    add: Op,
    /// What is below the maximum: that of the scale, and that of the term.
    below: [Value; 2],
    highest: Value,
    /// The comparisons with -inf that say where the scale and the term are 0.
    masks: Option<[Value; 2]>,
}

impl Sum {
    /// Finds `x · p + q`, or `x · q + p`, where neither exponential is used otherwise.
    pub(super) fn of(module: &Module, powers: &Powers) -> Option<Sum> {
        let [a, b] = powers.below;
        let [p, q] = powers.powers.map(|power| module.result(power, 0));
        Sum::ordered(module, powers, [(a, p), (b, q)])
            .or_else(|| Sum::ordered(module, powers, [(b, q), (a, p)]))
    }

    fn ordered(module: &Module, powers: &Powers, [scale, term]: [(Value, Value); 2]) -> Option<Sum> {
        let (scaled_by, scale_mask) = masked(module, scale.1, powers.highest)?;
        let (added, term_mask) = masked(module, term.1, term.0)?;
        let masks = match (scale_mask, term_mask) {
            (Some(scale), Some(term)) if module.is(powers.maximum, &MAXNUMF) => Some([scale, term]),
            (None, None) => None,
            _ => return None,
        };
        let mul = module.only_user(scaled_by).filter(|&user| module.is(user, &MULF))?;
        let total = other(module, mul, scaled_by)?;
        let scaled = module.result(mul, 0);
        let add = module.only_user(scaled).filter(|&user| module.is(user, &ADDF))?;
        let is_sum = other(module, add, scaled)? == added && module.only_user(added) == Some(add);
        let here = module.block_of(add);
        let is_here = powers.powers.iter().all(|&power| module.block_of(power) == here);
        (is_sum && is_here).then_some(Sum {
            total,
            add,
            below: [scale.0, term.0],
            highest: powers.highest,
            masks,
        })
    }

    /// Builds the sum in another way, in place of what was found.
    pub(super) fn share(self, module: &mut Module, powers: &Powers) {
        let [a, b] = self.below;
        let ty = module.ty(self.highest);
        let mut builder = Builder::before(module, self.add);
        let [zero, unit] = [0.0, 1.0].map(|number| constant::float(&mut builder, ty, number));
        let nothing = builder.build(&MULF, &[self.highest, zero], &[]);
        let one = builder.build(&ADDF, &[nothing, unit], &[]);
        let difference = builder.build(&SUBF, &[a, b], &[]);
        let distance = builder.build(&ABSF, &[difference], &[]);
        let lower = builder.build(&NEGF, &[distance], &[]);
        let power = builder.build(powers.row, &[lower], &[]);
        let is_lower = builder.build(&CMPF, &[a, b], &CmpFOp::attrs(CmpFPredicate::Olt));
        let mut sum = |scale, term| {
            let scaled = builder.build(&MULF, &[self.total, scale], &[]);
            builder.build(&ADDF, &[scaled, term], &[])
        };
        let (raised, kept) = (sum(power, one), sum(one, power));
        let cleared = self.masks.map(|masks| (masks, sum(zero, zero)));
        let mut result = builder.build(&SELECT, &[is_lower, raised, kept], &[]);
        if let Some((masks, cleared)) = cleared {
            let both = builder.build(&ANDI, &masks, &[]);
            result = builder.build(&SELECT, &[both, cleared, result], &[]);
        }
        let old = module.result(self.add, 0);
        module.replace_uses(old, result);
        module.erase(self.add);
    }
}

/// What an exponential is used as, and the comparison of `of` with -inf that makes it 0.
fn masked(module: &Module, power: Value, of: Value) -> Option<(Value, Option<Value>)> {
    let user = module.only_user(power)?;
    let Some(select) = SelectOp::of(module, user) else { return Some((power, None)) };
    let compare = CmpFOp::def(module, select.condition())?;
    let fits = select.false_value() == power
        && number(module, select.true_value()) == Some(0.0)
        && compare.predicate() == CmpFPredicate::Oeq
        && compare.lhs() == of
        && number(module, compare.rhs()) == Some(f64::NEG_INFINITY);
    fits.then(|| (select.result(), Some(compare.result())))
}

/// The other operand of an operation of two.
fn other(module: &Module, op: Op, one: Value) -> Option<Value> {
    match module.operands(op) {
        [a, b] if *a == one => Some(*b),
        [a, b] if *b == one => Some(*a),
        _ => None,
    }
}
