//! Comparisons and selections.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::flow::Flow;
use crate::machine::lanes::{map, run};
use crate::numeric::format_of;
use crate::syntax::Operand;
use crate::syntax::types::{Kind, Type, mask};
use std::cmp::Ordering;

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// A comparison: what it says of less, equal, greater and unordered.
type Test = [bool; 4];

/// Every comparison.
const TESTS: &[(&str, Test)] = &[
    ("eq", [false, true, false, false]),
    ("ne", [true, false, true, false]),
    ("lt", [true, false, false, false]),
    ("le", [true, true, false, false]),
    ("gt", [false, false, true, false]),
    ("ge", [false, true, true, false]),
    ("lo", [true, false, false, false]),
    ("ls", [true, true, false, false]),
    ("hi", [false, false, true, false]),
    ("hs", [false, true, true, false]),
    ("equ", [false, true, false, true]),
    ("neu", [true, false, true, true]),
    ("ltu", [true, false, false, true]),
    ("leu", [true, true, false, true]),
    ("gtu", [false, false, true, true]),
    ("geu", [false, true, true, true]),
    ("num", [true, true, true, false]),
    ("nan", [false, false, false, true]),
];

/// How a comparison is combined with a predicate.
#[derive(Clone, Copy)]
enum Combine {
    And,
    Or,
    Xor,
}

const COMBINATIONS: &[(&str, Combine)] = &[("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)];

fn combine(how: Option<Combine>, a: bool, b: bool) -> bool {
    match how {
        None => a,
        Some(Combine::And) => a & b,
        Some(Combine::Or) => a | b,
        Some(Combine::Xor) => a ^ b,
    }
}

fn number(bits: u64, ty: Type, flush: bool) -> f64 {
    let value = match format_of(ty) {
        Some(format) => format.decode(bits & mask(ty.bits)),
        None => f64::from_bits(bits),
    };
    let subnormal = ty.bits == 32 && value.abs() < f64::from(f32::MIN_POSITIVE);
    if flush && subnormal { 0.0 } else { value }
}

/// How two elements stand to each other.
fn compare(ty: Type, flush: bool, a: u64, b: u64) -> Option<Ordering> {
    match ty.kind {
        Kind::Float | Kind::Brain => number(a, ty, flush).partial_cmp(&number(b, ty, flush)),
        Kind::Signed => {
            let shift = 64 - ty.bits;
            Some(((a << shift) as i64).cmp(&((b << shift) as i64)))
        }
        _ => Some((a & mask(ty.bits)).cmp(&(b & mask(ty.bits)))),
    }
}

fn holds(test: Test, ordering: Option<Ordering>) -> bool {
    match ordering {
        Some(Ordering::Less) => test[0],
        Some(Ordering::Equal) => test[1],
        Some(Ordering::Greater) => test[2],
        None => test[3],
    }
}

/// The test of an instruction. Of floats `ne` is true of NaN only if it is `neu`, which the text says; of bits
/// there are no NaN.
fn test(site: &mut Site<'_>) -> Result<Test, Diagnostic> {
    match site.choice(TESTS) {
        Some(test) => Ok(test),
        None => site.error("a comparison such as `.eq` is missing"),
    }
}

/// Refuses values of 128 bits.
fn narrow(site: &Site<'_>, ty: Type) -> Result<(), Diagnostic> {
    if ty.width() > 64 { site.error("at most 64 bits are possible") } else { Ok(()) }
}

/// `setp`: one predicate, or it and its opposite; of packed halves one of each.
pub(crate) fn setp(site: &mut Site<'_>) -> Decoded {
    let test = test(site)?;
    let combination = site.choice(COMBINATIONS);
    let flush = site.flag("ftz");
    let ty = site.ty()?;
    narrow(site, ty)?;
    let operands = if combination.is_some() { 4 } else { 3 };
    site.arity(operands, operands)?;
    let (first, second) = match site.operand(0)? {
        Operand::Pair(first, second) => {
            (site.dest_of(first, Type::PRED)?, Some(site.dest_of(second, Type::PRED)?))
        }
        one => (site.dest_of(one, Type::PRED)?, None),
    };
    let (a, b) = (site.source(1, ty)?, site.source(2, ty)?);
    let other = match combination {
        Some(_) => Some(site.predicate(3)?),
        None => None,
    };
    if second.is_none() && other.is_none() {
        return Ok(map(first, [a, b], move |[a, b]| u64::from(holds(test, compare(ty, flush, a, b)))));
    }
    Ok(run(move |step| {
        let truth = other.map_or(0, |other| step.warp.truth(other));
        for lane in step.lanes() {
            let (a, b) = (step.get(a, lane), step.get(b, lane));
            let other = truth >> lane & 1 == 1;
            let result = holds(test, compare(ty, flush, a, b));
            step.warp.set_lane(first, lane, u64::from(combine(combination, result, other)));
            if let Some(second) = second {
                let high = match ty.lanes {
                    2 => holds(test, compare(ty, flush, a >> ty.bits, b >> ty.bits)),
                    _ => !result,
                };
                step.warp.set_lane(second, lane, u64::from(combine(combination, high, other)));
            }
        }
        Ok(Flow::Next)
    }))
}

/// `set`: all ones or zero, or 1.0, for each element.
pub(crate) fn set(site: &mut Site<'_>) -> Decoded {
    let test = test(site)?;
    let combination = site.choice(COMBINATIONS);
    let flush = site.flag("ftz");
    let (result, ty) = (site.ty()?, site.ty()?);
    narrow(site, ty)?;
    narrow(site, result)?;
    let dest = site.dest(0, result)?;
    let (a, b) = (site.source(1, ty)?, site.source(2, ty)?);
    let other = match combination {
        Some(_) => Some(site.predicate(3)?),
        None => None,
    };
    let one = match (result.kind, format_of(result)) {
        (Kind::Float | Kind::Brain, Some(format)) => format.encode(1.0, emulation::Rounding::Zero),
        _ => mask(result.bits),
    };
    Ok(run(move |step| {
        let truth = other.map_or(0, |other| step.warp.truth(other));
        for lane in step.lanes() {
            let (a, b) = (step.get(a, lane), step.get(b, lane));
            let mut value = 0;
            for element in 0..ty.lanes.min(result.lanes) {
                let ordering = compare(ty, flush, a >> (element * ty.bits), b >> (element * ty.bits));
                if combine(combination, holds(test, ordering), truth >> lane & 1 == 1) {
                    value |= one << (element * result.bits);
                }
            }
            step.warp.set_lane(dest, lane, value);
        }
        Ok(Flow::Next)
    }))
}

/// `selp`: one of two values by a predicate. Only the chosen one must be known.
pub(crate) fn selp(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    narrow(site, ty)?;
    site.arity(4, 4)?;
    let (dest, a, b) = (site.dest(0, ty)?, site.source(1, ty)?, site.source(2, ty)?);
    let predicate = site.predicate(3)?;
    site.parts.knows = true;
    Ok(run(move |step| {
        let truth = step.warp.truth(predicate);
        let (first, second) = (*step.warp.row(a), *step.warp.row(b));
        let values =
            std::array::from_fn(|lane| if truth >> lane & 1 == 1 { first[lane] } else { second[lane] });
        let mask = step.mask;
        step.warp.set(dest, mask, &values);
        let known = |slot: crate::machine::code::Slot| step.warp.known[slot.index()];
        let known = (truth & known(a) | !truth & known(b)) & known(predicate.0);
        step.know(dest, known);
        Ok(Flow::Next)
    }))
}

/// `slct`: one of two values by the sign of a third.
pub(crate) fn slct(site: &mut Site<'_>) -> Decoded {
    let flush = site.flag("ftz");
    let (ty, sign) = (site.ty()?, site.ty()?);
    narrow(site, ty)?;
    narrow(site, sign)?;
    site.arity(4, 4)?;
    let dest = site.dest(0, ty)?;
    let sources = [site.source(1, ty)?, site.source(2, ty)?, site.source(3, sign)?];
    Ok(map(dest, sources, move |[a, b, c]| {
        let positive = match sign.kind {
            Kind::Float => number(c, sign, flush) >= 0.0,
            _ => c as i32 >= 0,
        };
        if positive { a } else { b }
    }))
}
