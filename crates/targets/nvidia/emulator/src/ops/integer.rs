//! Integer arithmetic; mnemonics that floats share go on to `float`.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::flow::Flow;
use crate::machine::lanes::{map, map1, map2, map3, run};
use crate::ops::{float, half};
use crate::syntax::types::{Kind, Type, mask};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Makes an instruction for the integer type that a type names.
macro_rules! by_integer {
    ($site:expr, $ty:expr, $T:ident => $make:expr) => {
        match ($ty.is_signed(), $ty.bits) {
            (false, 16) => {
                type $T = u16;
                Ok($make)
            }
            (false, 32) => {
                type $T = u32;
                Ok($make)
            }
            (false, 64) => {
                type $T = u64;
                Ok($make)
            }
            (true, 16) => {
                type $T = i16;
                Ok($make)
            }
            (true, 32) => {
                type $T = i32;
                Ok($make)
            }
            (true, 64) => {
                type $T = i64;
                Ok($make)
            }
            _ => $site.error(format!("`.{}` is not possible here", $ty.name())),
        }
    };
}

/// Whether a type goes to the float families.
fn is_float(ty: Type) -> bool {
    matches!(ty.kind, Kind::Float | Kind::Brain)
}

/// Refuses what is no integer of at most 64 bits.
fn whole(site: &Site<'_>, ty: Type) -> Result<(), Diagnostic> {
    if matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed) && matches!(ty.width(), 16 | 32 | 64) {
        return Ok(());
    }
    site.error(format!("`.{}` is not possible here", ty.name()))
}

/// Sign-extends a cell.
fn signed(cell: u64, bits: u32) -> i64 {
    ((cell << (64 - bits)) as i64) >> (64 - bits)
}

/// A cell as an integer of its type.
fn wide(cell: u64, ty: Type) -> i128 {
    if ty.is_signed() { i128::from(signed(cell, ty.bits)) } else { i128::from(cell & mask(ty.bits)) }
}

/// Applies an operation to each of the packed elements.
fn packed(ty: Type, a: u64, b: u64, f: impl Fn(i128, i128) -> i128) -> u64 {
    let element = Type { lanes: 1, ..ty };
    (0..ty.lanes).fold(0, |out, lane| {
        let shift = lane * ty.bits;
        let value = f(wide(a >> shift, element), wide(b >> shift, element));
        out | (value as u64 & mask(ty.bits)) << shift
    })
}

/// `add`, `sub`, with `.cc` and `.sat`.
pub(crate) fn add(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    if is_float(ty) {
        return if ty.bits >= 32 { float::arithmetic(site, ty) } else { half::arithmetic(site, ty) };
    }
    whole(site, ty)?;
    if site.flag("cc") {
        return with_carry(site, ty, false);
    }
    let saturate = site.flag("sat");
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let subtract = site.mnemonic == "sub";
    if saturate {
        return Ok(map2(
            dest,
            sources,
            move |a: i32, b: i32| {
                if subtract { a.saturating_sub(b) } else { a.saturating_add(b) }
            },
        ));
    }
    if ty.lanes > 1 {
        let sign = if subtract { -1 } else { 1 };
        return Ok(map(dest, sources, move |[a, b]| packed(ty, a, b, |x, y| x + sign * y)));
    }
    let mask = ty.mask();
    Ok(match subtract {
        true => map(dest, sources, move |[a, b]| a.wrapping_sub(b) & mask),
        false => map(dest, sources, move |[a, b]| a.wrapping_add(b) & mask),
    })
}

/// `addc`, `subc`, `madc`: with the carry of an earlier instruction.
pub(crate) fn carry(site: &mut Site<'_>) -> Decoded {
    if site.mnemonic == "madc" {
        return mad(site);
    }
    let ty = site.ty()?;
    whole(site, ty)?;
    with_carry(site, ty, true)
}

/// Sums of two values that use the carry flag, make it, or both.
fn with_carry(site: &mut Site<'_>, ty: Type, takes: bool) -> Decoded {
    let makes = !takes || site.flag("cc");
    site.arity(3, 3)?;
    let (dest, a, b) = (site.dest(0, ty)?, site.source(1, ty)?, site.source(2, ty)?);
    let subtract = site.mnemonic.starts_with("sub");
    let top = mask(ty.bits);
    Ok(run(move |step| {
        for lane in step.lanes() {
            let (a, b) = (u128::from(step.get(a, lane)), u128::from(step.get(b, lane)));
            let carry = if takes { step.warp.carry >> lane & 1 } else { 0 };
            let sum = if subtract {
                a.wrapping_sub(b).wrapping_sub(u128::from(carry))
            } else {
                a + b + u128::from(carry)
            };
            let out = sum >> ty.bits & 1 == 1;
            step.warp.set_lane(dest, lane, sum as u64 & top);
            if makes {
                step.warp.carry = step.warp.carry & !(1 << lane) | u32::from(out) << lane;
            }
        }
        Ok(Flow::Next)
    }))
}

/// Which part of a product.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Low,
    High,
    Wide,
}

const PARTS: &[(&str, Part)] = &[("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)];

/// Refuses products wider than 64 bits.
fn widens(site: &Site<'_>, part: Part, ty: Type) -> Result<(), Diagnostic> {
    if part == Part::Wide && ty.bits > 32 {
        site.error("only values of 16 and 32 bits widen")
    } else {
        Ok(())
    }
}

/// The part of `a * b` as an integer without bounds.
fn product(ty: Type, part: Part, short: bool) -> impl Fn(u64, u64) -> i128 + Copy {
    let factor = if short { Type { bits: 24, ..ty } } else { ty };
    let shift = match (part, short) {
        (Part::High, true) => 16,
        (Part::High, false) => ty.bits,
        _ => 0,
    };
    // 64 by 64 bits unsigned overflows an i128 only in its sign, which the shift and mask drop.
    move |a, b| ((wide(a, factor).wrapping_mul(wide(b, factor))) as u128 >> shift) as i128
}

/// `mul`, `mul24`.
pub(crate) fn mul(site: &mut Site<'_>) -> Decoded {
    let part = site.choice(PARTS);
    let ty = site.ty()?;
    if is_float(ty) {
        return if ty.bits >= 32 { float::arithmetic(site, ty) } else { half::arithmetic(site, ty) };
    }
    whole(site, ty)?;
    let Some(part) = part else { return site.error("one of `.lo`, `.hi`, `.wide` is missing") };
    widens(site, part, ty)?;
    site.arity(3, 3)?;
    let result = if part == Part::Wide { Type { bits: ty.bits * 2, ..ty } } else { ty };
    let (dest, sources) = (site.dest(0, result)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let (mask, product) = (result.mask(), product(ty, part, site.mnemonic == "mul24"));
    Ok(map(dest, sources, move |[a, b]| product(a, b) as u64 & mask))
}

/// `mad`, `mad24`, `madc`, with `.cc` and `.sat`.
pub(crate) fn mad(site: &mut Site<'_>) -> Decoded {
    let part = site.choice(PARTS);
    let ty = site.ty()?;
    if is_float(ty) {
        return float::fused(site, ty);
    }
    whole(site, ty)?;
    let Some(part) = part else { return site.error("one of `.lo`, `.hi`, `.wide` is missing") };
    widens(site, part, ty)?;
    site.arity(4, 4)?;
    let (makes, saturates) = (site.flag("cc"), site.flag("sat"));
    let takes = site.mnemonic == "madc";
    let result = if part == Part::Wide { Type { bits: ty.bits * 2, ..ty } } else { ty };
    let dest = site.dest(0, result)?;
    let (a, b, c) = (site.source(1, ty)?, site.source(2, ty)?, site.source(3, result)?);
    let (top, product) = (result.mask(), product(ty, part, site.mnemonic == "mad24"));
    if saturates {
        return Ok(map(dest, [a, b, c], move |[a, b, c]| {
            let sum = i128::from(product(a, b) as i32) + wide(c, ty);
            sum.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as u64 & top
        }));
    }
    if !makes && !takes {
        return Ok(map(dest, [a, b, c], move |[a, b, c]| (product(a, b) as u64).wrapping_add(c) & top));
    }
    Ok(run(move |step| {
        for lane in step.lanes() {
            let low = product(step.get(a, lane), step.get(b, lane)) as u64 & top;
            let carry = if takes { step.warp.carry >> lane & 1 } else { 0 };
            let sum = u128::from(low) + u128::from(step.get(c, lane)) + u128::from(carry);
            step.warp.set_lane(dest, lane, sum as u64 & top);
            if makes {
                let out = u32::from(sum >> result.bits & 1 == 1);
                step.warp.carry = step.warp.carry & !(1 << lane) | out << lane;
            }
        }
        Ok(Flow::Next)
    }))
}

/// `div`, `rem`. A divisor of zero gives all ones or the dividend, as hardware does.
pub(crate) fn div(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    if is_float(ty) {
        return float::divide(site, ty);
    }
    whole(site, ty)?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    if site.mnemonic == "rem" {
        return by_integer!(site, ty, T => map2(dest, sources, |a: T, b: T| {
            if b == 0 { a } else { a.wrapping_rem(b) }
        }));
    }
    by_integer!(site, ty, T => map2(dest, sources, |a: T, b: T| {
        if b == 0 { !0 } else { a.wrapping_div(b) }
    }))
}

/// `abs`, `neg`.
pub(crate) fn sign(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    if is_float(ty) {
        return float::sign(site, ty);
    }
    whole(site, ty)?;
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, ty)?, site.source(1, ty)?);
    if site.mnemonic == "neg" {
        return by_integer!(site, ty, T => map1(dest, source, |a: T| a.wrapping_neg()));
    }
    match ty.bits {
        16 => Ok(map1(dest, source, |a: i16| a.wrapping_abs())),
        32 => Ok(map1(dest, source, |a: i32| a.wrapping_abs())),
        _ => Ok(map1(dest, source, |a: i64| a.wrapping_abs())),
    }
}

/// `min`, `max`, of two or three values.
pub(crate) fn extremum(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    if is_float(ty) {
        return if ty.bits >= 32 { float::extremum(site, ty) } else { half::extremum(site, ty) };
    }
    whole(site, ty)?;
    let relu = site.flag("relu");
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let least = site.mnemonic == "min";
    let floor = if relu { 0 } else { i128::MIN };
    Ok(map(dest, sources, move |[a, b]| {
        packed(ty, a, b, |x, y| if least { x.min(y) } else { x.max(y) }.max(floor))
    }))
}

/// `sad`: the distance of two values plus a third.
pub(crate) fn sad(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    whole(site, ty)?;
    site.arity(4, 4)?;
    let (dest, sources) =
        (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?, site.source(3, ty)?]);
    by_integer!(site, ty, T => map3(dest, sources, |a: T, b: T, c: T| {
        c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
    }))
}

/// `dp4a`, `dp2a`: a dot product of bytes.
pub(crate) fn dot(site: &mut Site<'_>) -> Decoded {
    let four = site.mnemonic == "dp4a";
    let half = match site.choice(&[("lo", 0), ("hi", 1)]) {
        Some(half) => half,
        None if four => 0,
        None => return site.error("`.lo` or `.hi` is missing"),
    };
    let (left, right) = (site.ty()?, site.ty()?);
    whole(site, left)?;
    whole(site, right)?;
    site.arity(4, 4)?;
    let accumulator = Type::S32;
    let dest = site.dest(0, accumulator)?;
    let sources = [site.source(1, Type::B32)?, site.source(2, Type::B32)?, site.source(3, accumulator)?];
    let element = |ty: Type, bits: u32| Type { bits, ..ty };
    let (a_ty, b_ty) = (element(left, if four { 8 } else { 16 }), element(right, 8));
    Ok(map(dest, sources, move |[a, b, c]| {
        let count = if four { 4 } else { 2 };
        let sum: i128 = (0..count)
            .map(|index| {
                let b_index = if four { index } else { index + 2 * half };
                wide(a >> (index * a_ty.bits), a_ty) * wide(b >> (b_index * 8), b_ty)
            })
            .sum();
        (sum as u64).wrapping_add(c) & mask(32)
    }))
}
