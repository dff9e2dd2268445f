//! Arithmetic of f16 and bf16, alone and in pairs: computed exactly, rounded once.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::lanes::map;
use crate::numeric::format_of;
use crate::syntax::types::{Type, mask};
use emulation::arithmetic::{self, Inexact};
use emulation::{Format, ROUNDINGS, Rounding};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

const NEAREST: Rounding = Rounding::NearestEven;

/// What follows the operation.
#[derive(Clone, Copy)]
struct Modes {
    format: Format,
    flush: bool,
    saturate: bool,
    relu: bool,
}

fn modes(site: &mut Site<'_>, ty: Type) -> Result<Modes, Diagnostic> {
    if !matches!(site.choice(ROUNDINGS), None | Some(NEAREST)) {
        return site.error("halves are rounded to nearest");
    }
    let Some(format) = format_of(ty) else { return site.error("a type of 16 bits is expected") };
    Ok(Modes { format, flush: site.flag("ftz"), saturate: site.flag("sat"), relu: site.flag("relu") })
}

impl Modes {
    fn flushed(self, bits: u64) -> u64 {
        let sign = 1 << 15;
        let subnormal = bits & (sign - 1) < 1 << self.format.fraction;
        if self.flush && subnormal { bits & sign } else { bits }
    }

    fn finish(self, value: Inexact) -> u64 {
        let nan = value.value.is_nan();
        let value = match (self.saturate, self.relu) {
            (true, _) if nan => Inexact { value: 0.0, rest: 0.0 },
            (true, _) if value.value >= 1.0 => Inexact { value: 1.0, rest: 0.0 },
            (true, _) | (_, true) if value.value < 0.0 => Inexact { value: 0.0, rest: 0.0 },
            _ => value,
        };
        self.flushed(value.encode(self.format, NEAREST))
    }

    /// Applies a function to each element.
    fn apply<const N: usize>(
        self,
        ty: Type,
        dest: Slot,
        sources: [Slot; N],
        f: impl Fn([f64; N]) -> Inexact + Send + Sync + 'static,
    ) -> Box<dyn Execute> {
        map(dest, sources, move |cells| {
            (0..ty.lanes).fold(0, |out, lane| {
                let shift = 16 * lane;
                let values = cells.map(|cell| self.format.decode(self.flushed(cell >> shift & mask(16))));
                out | self.finish(f(values)) << shift
            })
        })
    }
}

/// `add`, `sub`, `mul`.
pub(crate) fn arithmetic(site: &mut Site<'_>, ty: Type) -> Decoded {
    let modes = modes(site, ty)?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let f: fn(f64, f64) -> Inexact = match site.mnemonic {
        "add" => |a, b| arithmetic::add(a, b, NEAREST),
        "sub" => |a, b| arithmetic::add(a, -b, NEAREST),
        _ => arithmetic::mul,
    };
    Ok(modes.apply(ty, dest, sources, move |[a, b]| f(a, b)))
}

/// `fma`.
pub(crate) fn fma(site: &mut Site<'_>, ty: Type) -> Decoded {
    let modes = modes(site, ty)?;
    site.arity(4, 4)?;
    let (dest, sources) =
        (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?, site.source(3, ty)?]);
    Ok(modes.apply(ty, dest, sources, |[a, b, c]| arithmetic::fma(a, b, c, NEAREST)))
}

/// `min`, `max`.
pub(crate) fn extremum(site: &mut Site<'_>, ty: Type) -> Decoded {
    let modes = modes(site, ty)?;
    let nan = site.flag("NaN");
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    let least = site.mnemonic == "min";
    Ok(modes.apply(ty, dest, sources, move |[a, b]| Inexact {
        value: if least { arithmetic::minimum(a, b, nan) } else { arithmetic::maximum(a, b, nan) },
        rest: 0.0,
    }))
}

/// A function of doubles, applied to each element and rounded.
pub(crate) fn map_elements<const N: usize>(
    site: &mut Site<'_>,
    ty: Type,
    sources: [Slot; N],
    dest: Slot,
    f: impl Fn([f64; N]) -> f64 + Send + Sync + 'static,
) -> Decoded {
    let modes = modes(site, ty)?;
    Ok(modes.apply(ty, dest, sources, move |values| Inexact { value: f(values), rest: 0.0 }))
}
