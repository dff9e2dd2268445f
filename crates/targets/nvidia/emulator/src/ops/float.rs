//! Arithmetic of singles and doubles.
//!
//! Rounding to nearest uses the machine's own arithmetic; other directions go through `numeric`. Approximations
//! (`ex2.approx`, `rcp.approx`, …) are computed in double and rounded, which lies within what the manual allows.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::lanes::{Cell, map, map1, map2, map3};
use crate::ops::half;
use crate::syntax::types::{Kind, Type};
use emulation::arithmetic::{self, Inexact, canonical, flush};
use emulation::{F32, ROUNDINGS, Rounding};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Modifiers that change a single's result.
#[derive(Clone, Copy)]
struct Modes {
    rounding: Rounding,
    flush: bool,
    saturate: bool,
}

impl Modes {
    fn take(site: &mut Site<'_>) -> Modes {
        let rounding = site.choice(ROUNDINGS).unwrap_or(Rounding::NearestEven);
        Modes { rounding, flush: site.flag("ftz"), saturate: site.flag("sat") }
    }

    fn input(self, value: f32) -> f32 {
        if self.flush { flush(value) } else { value }
    }

    fn output(self, value: f32) -> f32 {
        let value = if self.flush { flush(value) } else { value };
        if !self.saturate {
            return canonical(value);
        }
        // A NaN saturates to zero.
        if value > 0.0 { value.min(1.0) } else { 0.0 }
    }

    fn round(self, value: Inexact) -> f32 {
        f32::from_bits(value.encode(F32, self.rounding) as u32)
    }

    fn is_plain(self) -> bool {
        self.rounding == Rounding::NearestEven
    }
}

/// Refuses what is neither single nor double.
fn single_or_double(site: &Site<'_>, ty: Type) -> Result<(), Diagnostic> {
    if ty.kind == Kind::Float && ty.bits >= 32 {
        return Ok(());
    }
    site.error(format!("`.{}` is not possible here", ty.name()))
}

/// An operation on two doubles, or singles as doubles.
type Exact = fn(f64, f64, Rounding) -> Inexact;

fn sum(a: f64, b: f64, rounding: Rounding) -> Inexact {
    arithmetic::add(a, b, rounding)
}

fn difference(a: f64, b: f64, rounding: Rounding) -> Inexact {
    arithmetic::add(a, -b, rounding)
}

fn product(a: f64, b: f64, _: Rounding) -> Inexact {
    arithmetic::mul(a, b)
}

fn quotient(a: f64, b: f64, _: Rounding) -> Inexact {
    arithmetic::div(a, b)
}

/// A double moved by one place if what it misses and the direction ask for it.
fn direct(inexact: Inexact, rounding: Rounding) -> f64 {
    let Inexact { value, rest } = inexact;
    let up = match rounding {
        Rounding::Up => true,
        Rounding::Down => false,
        Rounding::Zero => value < 0.0,
        _ => return value,
    };
    if !value.is_finite() || rest == 0.0 || (rest > 0.0) != up {
        return value;
    }
    if up { value.next_up() } else { value.next_down() }
}

/// `add`, `sub`, `mul` of singles, pairs of singles and doubles.
pub(crate) fn arithmetic(site: &mut Site<'_>, ty: Type) -> Decoded {
    let modes = Modes::take(site);
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let (plain, exact): (fn(f32, f32) -> f32, Exact) = match site.mnemonic {
        "add" => (|a, b| a + b, sum),
        "sub" => (|a, b| a - b, difference),
        _ => (|a, b| a * b, product),
    };
    if ty.bits == 64 {
        return Ok(map2(dest, sources, move |a: f64, b: f64| {
            let result = exact(a, b, modes.rounding);
            if modes.is_plain() { result.value } else { direct(result, modes.rounding) }
        }));
    }
    let one = move |a: f32, b: f32| {
        let (a, b) = (modes.input(a), modes.input(b));
        modes.output(match modes.is_plain() {
            true => plain(a, b),
            false => modes.round(exact(f64::from(a), f64::from(b), modes.rounding)),
        })
    };
    Ok(by_element(ty, dest, sources, move |[a, b]| one(a, b)))
}

/// A function of singles, applied to each of the packed ones.
fn by_element<const N: usize>(
    ty: Type,
    dest: crate::machine::code::Slot,
    sources: [crate::machine::code::Slot; N],
    f: impl Fn([f32; N]) -> f32 + Send + Sync + 'static,
) -> Box<dyn Execute> {
    if ty.lanes == 1 {
        return map(dest, sources, move |cells| f(cells.map(f32::from_cell)).to_cell());
    }
    map(dest, sources, move |cells| {
        let low = f(cells.map(f32::from_cell)).to_cell();
        let high = f(cells.map(|cell| f32::from_cell(cell >> 32))).to_cell();
        high << 32 | low
    })
}

/// `fma` of every float type.
pub(crate) fn fma(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    if ty.bits < 32 { half::fma(site, ty) } else { fused(site, ty) }
}

/// `fma`, `mad` of singles and doubles.
pub(crate) fn fused(site: &mut Site<'_>, ty: Type) -> Decoded {
    single_or_double(site, ty)?;
    let modes = Modes::take(site);
    site.arity(4, 4)?;
    let (dest, sources) =
        (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?, site.source(3, ty)?]);
    if ty.bits == 64 {
        if !modes.is_plain() {
            return site.error("a fused product of doubles can only be rounded to nearest here");
        }
        return Ok(map3(dest, sources, |a: f64, b: f64, c: f64| a.mul_add(b, c)));
    }
    Ok(by_element(ty, dest, sources, move |[a, b, c]| {
        let (a, b, c) = (modes.input(a), modes.input(b), modes.input(c));
        modes.output(match modes.is_plain() {
            true => a.mul_add(b, c),
            false => modes.round(arithmetic::fma(f64::from(a), f64::from(b), f64::from(c), modes.rounding)),
        })
    }))
}

/// `div`, rounded or approximate.
pub(crate) fn divide(site: &mut Site<'_>, ty: Type) -> Decoded {
    single_or_double(site, ty)?;
    site.flags(&["approx", "full"]);
    let modes = Modes::take(site);
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    if ty.bits == 64 {
        return Ok(map2(dest, sources, move |a: f64, b: f64| {
            direct(quotient(a, b, modes.rounding), modes.rounding)
        }));
    }
    Ok(map2(dest, sources, move |a: f32, b: f32| {
        let (a, b) = (modes.input(a), modes.input(b));
        modes.output(if modes.is_plain() {
            a / b
        } else {
            modes.round(quotient(f64::from(a), f64::from(b), modes.rounding))
        })
    }))
}

/// `rcp`, `sqrt`, `rsqrt`.
pub(crate) fn reciprocal(site: &mut Site<'_>) -> Decoded {
    site.flag("approx");
    let modes = Modes::take(site);
    let ty = site.ty()?;
    single_or_double(site, ty)?;
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, ty)?, site.source(1, ty)?);
    let exact: fn(f64) -> Inexact = match site.mnemonic {
        "rcp" => |a| arithmetic::div(1.0, a),
        "sqrt" => arithmetic::sqrt,
        _ => |a| Inexact { value: 1.0 / a.sqrt(), rest: 0.0 },
    };
    if ty.bits == 64 {
        return Ok(map1(dest, source, move |a: f64| direct(exact(a), modes.rounding)));
    }
    Ok(map1(dest, source, move |a: f32| {
        let value = exact(f64::from(modes.input(a)));
        modes.output(modes.round(value))
    }))
}

/// `ex2`, `lg2`, `sin`, `cos`, `tanh`.
pub(crate) fn approximate(site: &mut Site<'_>) -> Decoded {
    site.flag("approx");
    let modes = Modes::take(site);
    let ty = site.ty()?;
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, ty)?, site.source(1, ty)?);
    let f: fn(f64) -> f64 = match site.mnemonic {
        "ex2" => libm::exp2,
        "lg2" => libm::log2,
        "sin" => libm::sin,
        "cos" => libm::cos,
        _ => libm::tanh,
    };
    if ty.bits == 16 {
        return half::map_elements(site, ty, [source], dest, move |[a]| f(a));
    }
    if ty.bits != 32 {
        return site.error("only singles and halves are possible");
    }
    Ok(map1(dest, source, move |a: f32| modes.output(f(f64::from(modes.input(a))) as f32)))
}

/// `abs`, `neg`: of the sign bit alone.
pub(crate) fn sign(site: &mut Site<'_>, ty: Type) -> Decoded {
    let flushes = site.flag("ftz");
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, ty)?, site.source(1, ty)?);
    let bits = (0..ty.lanes).fold(0, |bits, lane| bits | 1 << (lane * ty.bits + ty.bits - 1));
    let negate = site.mnemonic == "neg";
    let single = ty.bits == 32 && flushes;
    Ok(map(dest, [source], move |[a]| {
        let a = if single { flush(f32::from_cell(a)).to_cell() } else { a };
        if negate { a ^ bits } else { a & !bits }
    }))
}

/// `min`, `max` of two or three singles, or two doubles.
pub(crate) fn extremum(site: &mut Site<'_>, ty: Type) -> Decoded {
    let modes = Modes::take(site);
    let nan = site.flag("NaN");
    let magnitude = site.flag("abs");
    let xor_sign = site.flag("xorsign");
    if magnitude != xor_sign {
        return site.error("`.xorsign.abs` come together");
    }
    site.arity(3, 4)?;
    let dest = site.dest(0, ty)?;
    let (a, b) = (site.source(1, ty)?, site.source(2, ty)?);
    let least = site.mnemonic == "min";
    let pick = move |a: f64, b: f64| {
        let (x, y) = if magnitude { (a.abs(), b.abs()) } else { (a, b) };
        let value = if least { arithmetic::minimum(x, y, nan) } else { arithmetic::maximum(x, y, nan) };
        if xor_sign && a.is_sign_negative() != b.is_sign_negative() { -value } else { value }
    };
    if ty.bits == 64 {
        return Ok(map2(dest, [a, b], pick));
    }
    if site.count() == 4 {
        let c = site.source(3, ty)?;
        return Ok(map3(dest, [a, b, c], move |a: f32, b: f32, c: f32| {
            let [a, b, c] = [a, b, c].map(|value| f64::from(modes.input(value)));
            modes.output(pick(pick(a, b), c) as f32)
        }));
    }
    Ok(map2(dest, [a, b], move |a: f32, b: f32| {
        modes.output(pick(f64::from(modes.input(a)), f64::from(modes.input(b))) as f32)
    }))
}

/// `copysign d, a, b`: the sign of `a` on the magnitude of `b`.
pub(crate) fn copysign(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    single_or_double(site, ty)?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let sign = 1 << (ty.bits - 1);
    Ok(map(dest, sources, move |[a, b]| a & sign | b & !sign))
}

/// `testp`: what kind of number it is.
pub(crate) fn testp(site: &mut Site<'_>) -> Decoded {
    /// Of a number, and whether it is subnormal.
    type Test = fn(f64, bool) -> bool;
    const KINDS: &[(&str, Test)] = &[
        ("finite", |a, _| a.is_finite()),
        ("infinite", |a, _| a.is_infinite()),
        ("number", |a, _| !a.is_nan()),
        ("notanumber", |a, _| a.is_nan()),
        ("normal", |a, tiny| a.is_finite() && a != 0.0 && !tiny),
        ("subnormal", |a, tiny| a != 0.0 && tiny),
    ];
    let Some(test) = site.choice(KINDS) else { return site.error("a kind of number is missing") };
    let ty = site.ty()?;
    if ty.kind != Kind::Float || ty.bits < 32 {
        return site.error("only singles and doubles are possible");
    }
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, Type::PRED)?, site.source(1, ty)?);
    Ok(map(dest, [source], move |[a]| {
        u64::from(match ty.bits {
            64 => test(f64::from_cell(a), f64::from_cell(a).is_subnormal()),
            _ => test(f64::from(f32::from_cell(a)), f32::from_cell(a).is_subnormal()),
        })
    }))
}
