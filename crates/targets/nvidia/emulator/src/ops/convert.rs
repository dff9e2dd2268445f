//! `cvt`: between integers and floats of every width, alone and packed.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::lanes::map;
use crate::numeric::format_of;
use crate::syntax::types::{Kind, Type, mask};
use emulation::{ROUNDINGS, Rounding};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Rounding of a float to a whole number.
const INTEGER_ROUNDINGS: &[(&str, Rounding)] = &[
    ("rni", Rounding::NearestEven),
    ("rzi", Rounding::Zero),
    ("rmi", Rounding::Down),
    ("rpi", Rounding::Up),
];

/// How to convert.
#[derive(Clone, Copy)]
struct Modes {
    rounding: Rounding,
    whole: Option<Rounding>,
    saturate: bool,
    finite: bool,
    relu: bool,
    flush: bool,
    to: Type,
    from: Type,
}

fn is_float(ty: Type) -> bool {
    ty.kind.is_float()
}

/// The power of two of a code: 2^(code - 127), the last one is NaN.
fn decode_power(code: u64) -> f64 {
    if code == 0xff { f64::NAN } else { f64::from(code as i32 - 127).exp2() }
}

/// The code of a magnitude, whose sign is dropped: the power below it or, upwards, above it. What is too large is NaN,
/// or with `finite` the largest power.
fn encode_power(value: f64, rounding: Rounding, finite: bool) -> u64 {
    if value.is_nan() {
        return 0xff;
    }
    let magnitude = value.abs();
    let least = decode_power(0);
    let code = if magnitude <= least {
        0
    } else {
        let bits = magnitude.to_bits();
        let below = (bits >> 52) as i64 - 1023 + 127;
        let is_between = bits & ((1 << 52) - 1) != 0;
        (below + i64::from(is_between && rounding == Rounding::Up)).min(0xff) as u64
    };
    if finite { code.min(0xfe) } else { code }
}

fn whole(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
    }
}

/// The smallest and largest value of an integer type.
fn bounds(ty: Type) -> (i128, i128) {
    if ty.is_signed() { (-(1 << (ty.bits - 1)), (1 << (ty.bits - 1)) - 1) } else { (0, (1 << ty.bits) - 1) }
}

fn integer(cell: u64, ty: Type) -> i128 {
    let shift = 64 - ty.bits;
    if ty.is_signed() {
        i128::from(((cell << shift) as i64) >> shift)
    } else {
        i128::from(cell & mask(ty.bits))
    }
}

/// One element as a double; singles and smaller are exact.
fn decode(cell: u64, ty: Type, flush: bool) -> f64 {
    match format_of(ty) {
        None if ty.kind == Kind::E8M0 => decode_power(cell & mask(ty.bits)),
        Some(format) => {
            let value = format.decode(cell & mask(format.bits()));
            let subnormal = ty.bits == 32 && value.abs() < f64::from(f32::MIN_POSITIVE);
            if flush && subnormal { 0f64.copysign(value) } else { value }
        }
        None => f64::from_bits(cell),
    }
}

impl Modes {
    fn encode(self, value: f64) -> u64 {
        if self.to.kind == Kind::E8M0 {
            return encode_power(value, self.rounding, self.finite);
        }
        let relu = self.relu && (value < 0.0 || (value == 0.0 && value.is_sign_negative()));
        let value = if relu { 0.0 } else { value };
        let value = match self.saturate {
            true if value.is_nan() => 0.0,
            true => value.clamp(0.0, 1.0),
            false => value,
        };
        let Some(format) = format_of(self.to) else { return value.to_bits() };
        let bits = format.encode(value, self.rounding);
        let bits = if self.finite { format.clamp_finite(bits, value) } else { bits };
        let subnormal = self.to.bits == 32 && bits & mask(31) < 1 << 23;
        if self.flush && subnormal { bits & 1 << 31 } else { bits }
    }

    fn float_to_float(self, cell: u64) -> u64 {
        let value = decode(cell, self.from, self.flush);
        self.encode(self.whole.map_or(value, |rounding| whole(value, rounding)))
    }

    fn float_to_integer(self, cell: u64) -> u64 {
        let value = decode(cell, self.from, self.flush);
        if value.is_nan() {
            // Doubles become the smallest value, others zero.
            return if self.from.bits == 64 { 1 << (self.to.bits - 1) } else { 0 };
        }
        let (low, high) = bounds(self.to);
        let rounded = whole(value, self.whole.unwrap_or(Rounding::Zero));
        (rounded as i128).clamp(low, high) as u64 & self.to.mask()
    }

    fn integer_to_float(self, cell: u64) -> u64 {
        let value = integer(cell, self.from);
        if self.to.bits == 64 {
            let rounded = value as f64;
            let exact = rounded as i128;
            return match self.rounding {
                Rounding::Up if exact < value => rounded.next_up(),
                Rounding::Down if exact > value => rounded.next_down(),
                Rounding::Zero if exact.abs() > value.abs() && value > 0 => rounded.next_down(),
                Rounding::Zero if exact.abs() > value.abs() => rounded.next_up(),
                _ => rounded,
            }
            .to_bits();
        }
        let Some(format) = format_of(self.to) else { return 0 };
        if self.saturate {
            return self.encode(value as f64);
        }
        format.encode_integer(value, self.rounding)
    }

    fn integer_to_integer(self, cell: u64) -> u64 {
        let value = integer(cell, self.from);
        let (low, high) = bounds(self.to);
        let value = if self.saturate { value.clamp(low, high) } else { value };
        value as u64 & self.to.mask()
    }

    /// One element.
    fn convert(self, cell: u64) -> u64 {
        match (is_float(self.from), is_float(self.to)) {
            (true, true) => self.float_to_float(cell),
            (true, false) => self.float_to_integer(cell),
            (false, true) => self.integer_to_float(cell),
            (false, false) => self.integer_to_integer(cell),
        }
    }
}

/// `cvt`.
pub(crate) fn cvt(site: &mut Site<'_>) -> Decoded {
    if site.flag("pack") {
        return pack(site);
    }
    let rounding = site.choice(ROUNDINGS).unwrap_or(Rounding::NearestEven);
    let whole = site.choice(INTEGER_ROUNDINGS);
    let (flush, saturate) = (site.flag("ftz"), site.flag("sat"));
    let (finite, relu) = (site.flag("satfinite"), site.flag("relu"));
    let (to, from) = (site.ty()?, site.ty()?);
    if to.width() > 64 || from.width() > 64 || [to.kind, from.kind].contains(&Kind::Predicate) {
        return site.error("the types cannot be converted");
    }
    let modes = Modes { rounding, whole, saturate, finite, relu, flush, to, from };
    if site.count() == 3 {
        return two_to_pair(site, modes);
    }
    site.arity(2, 2)?;
    let operand = site.operand(1)?;
    let source = site.wide_source_of(operand, from)?;
    let (dest, register) = site.wide_dest_of(site.operand(0)?, to)?;
    if to.lanes == 2 || from.lanes == 2 {
        if to.lanes != from.lanes {
            return site.error("one pair and one single value");
        }
        return Ok(map(dest, [source], move |[a]| {
            let element = |cell: u64| modes.convert(cell & mask(from.bits)) & mask(to.bits);
            element(a >> from.bits) << to.bits | element(a)
        }));
    }
    // A wider register holds the value extended by its sign.
    let extend = to.is_signed() && register.width() > to.width();
    let (bits, top) = (to.bits, register.mask());
    Ok(map(dest, [source], move |[a]| {
        let value = modes.convert(a);
        if extend && value >> (bits - 1) & 1 == 1 { (value | !mask(bits)) & top } else { value }
    }))
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` in the upper half, `b` in the lower.
fn two_to_pair(site: &mut Site<'_>, modes: Modes) -> Decoded {
    let Modes { to, from, .. } = modes;
    if to.lanes != 2 || from.lanes != 1 {
        return site.error("two sources make a pair");
    }
    let dest = site.dest(0, to)?;
    let sources = [site.source(1, from)?, site.source(2, from)?];
    Ok(map(dest, sources, move |[a, b]| modes.convert(a) << to.bits | modes.convert(b)))
}

/// `cvt.pack.sat.s8.s32.b32 d, a, b, c`: `a` and `b` narrowed, over the low part of `c`.
fn pack(site: &mut Site<'_>) -> Decoded {
    if !site.flag("sat") {
        return site.error("`.sat` is missing");
    }
    let (to, from) = (site.ty()?, site.ty()?);
    let narrow = to.bits < 16;
    if narrow {
        site.ty()?;
    }
    site.arity(3, 4)?;
    let dest = site.dest(0, Type::B32)?;
    let (a, b) = (site.source(1, from)?, site.source(2, from)?);
    let c = if site.count() == 4 { site.source(3, Type::B32)? } else { b };
    let modes = Modes {
        rounding: Rounding::Zero,
        whole: None,
        saturate: true,
        finite: false,
        relu: false,
        flush: false,
        to,
        from,
    };
    Ok(map(dest, [a, b, c], move |[a, b, c]| {
        let pair = modes.convert(a) << to.bits | modes.convert(b);
        if narrow { (c << (2 * to.bits) | pair) & mask(32) } else { pair }
    }))
}
