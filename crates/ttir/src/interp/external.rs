//! Functions of a maths library, by name.
//!
//! A symbol may be spelled as in the library of a GPU's vendor (`__nv_tanhf`, `__ocml_tanh_f32`) or plainly (`tanh`).
//! Floats are computed in binary64 and rounded to the result's format.

use super::data::Data;
use super::error::RunErrorKind;
use super::external_bits::BITS;
use super::external_directed::{self, Directed};
use super::interpreter::{Entry, Interpreter, Outcome, merge_undefined};
use crate::ops;
use crate::ops::extern_call::{ExternElementwiseOp, plain_symbol};
use crate::types::{elem, elem_bits};
use ir::scalar::{float_bits, float_value, sign_extend, truncate};
use ir::{Op, Type};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI, SQRT_2};

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[(&ops::extern_call::EXTERN_ELEMENTWISE, extern_elementwise)];

/// A function on the values of floats (and of integers that go with them).
type OnValues = fn(&[f64]) -> f64;

fn of_bool(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Plain name, number of operands, meaning.
static FLOATS: &[(&str, usize, OnValues)] = &[
    ("acos", 1, |v| v[0].acos()),
    ("acosh", 1, |v| if v[0] < 1.0 { f64::NAN } else { libm::acosh(v[0]) }),
    ("asin", 1, |v| v[0].asin()),
    ("asinh", 1, |v| libm::asinh(v[0])),
    ("atan", 1, |v| v[0].atan()),
    ("atan2", 2, |v| v[0].atan2(v[1])),
    ("atanh", 1, |v| libm::atanh(v[0])),
    ("add", 2, |v| v[0] + v[1]),
    ("cbrt", 1, |v| v[0].cbrt()),
    ("ceil", 1, |v| v[0].ceil()),
    ("copysign", 2, |v| v[0].copysign(v[1])),
    ("cos", 1, |v| v[0].cos()),
    ("cosh", 1, |v| v[0].cosh()),
    ("cospi", 1, |v| cosine_of_half_turns(v[0])),
    ("cyl_bessel_i0", 1, |v| bessel_i(0, v[0])),
    ("cyl_bessel_i1", 1, |v| bessel_i(1, v[0])),
    ("div", 2, |v| v[0] / v[1]),
    ("erf", 1, |v| libm::erf(v[0])),
    ("erfc", 1, |v| libm::erfc(v[0])),
    ("erfcinv", 1, |v| inverse_erfc(v[0])),
    ("erfcx", 1, |v| scaled_erfc(v[0])),
    ("erfinv", 1, |v| inverse_erf(v[0])),
    ("exp", 1, |v| v[0].exp()),
    ("exp10", 1, |v| libm::exp10(v[0])),
    ("exp2", 1, |v| v[0].exp2()),
    ("expm1", 1, |v| v[0].exp_m1()),
    ("fabs", 1, |v| v[0].abs()),
    ("fast_cos", 1, |v| v[0].cos()),
    ("fast_dividef", 2, |v| v[0] / v[1]),
    ("fast_exp", 1, |v| v[0].exp()),
    ("fast_exp10", 1, |v| libm::exp10(v[0])),
    ("fast_fdividef", 2, |v| v[0] / v[1]),
    ("fast_log", 1, |v| v[0].ln()),
    ("fast_log10", 1, |v| v[0].log10()),
    ("fast_log2", 1, |v| v[0].log2()),
    ("fast_pow", 2, |v| libm::pow(v[0], v[1])),
    ("fast_sin", 1, |v| v[0].sin()),
    ("fast_tan", 1, |v| v[0].tan()),
    ("fast_tanh", 1, |v| v[0].tanh()),
    ("fdim", 2, |v| libm::fdim(v[0], v[1])),
    ("finite", 1, |v| of_bool(v[0].is_finite())),
    ("floor", 1, |v| v[0].floor()),
    ("fma", 3, |v| v[0].mul_add(v[1], v[2])),
    ("fmod", 2, |v| v[0] % v[1]),
    ("hypot", 2, |v| v[0].hypot(v[1])),
    ("ilogb", 1, |v| f64::from(libm::ilogb(v[0]))),
    ("isfinite", 1, |v| of_bool(v[0].is_finite())),
    ("isinf", 1, |v| of_bool(v[0].is_infinite())),
    ("isnan", 1, |v| of_bool(v[0].is_nan())),
    ("j0", 1, |v| libm::j0(v[0])),
    ("j1", 1, |v| libm::j1(v[0])),
    ("jn", 2, |v| libm::jn(v[0] as i32, v[1])),
    ("ldexp", 2, |v| libm::ldexp(v[0], v[1] as i32)),
    ("lgamma", 1, |v| libm::lgamma(v[0])),
    ("llrint", 1, |v| v[0].round_ties_even()),
    ("llround", 1, |v| v[0].round()),
    ("log", 1, |v| v[0].ln()),
    ("log10", 1, |v| v[0].log10()),
    ("log1p", 1, |v| v[0].ln_1p()),
    ("log2", 1, |v| v[0].log2()),
    ("logb", 1, |v| exponent(v[0])),
    ("mul", 2, |v| v[0] * v[1]),
    ("nearbyint", 1, |v| v[0].round_ties_even()),
    ("norm3d", 3, |v| v[0].hypot(v[1]).hypot(v[2])),
    ("norm4d", 4, |v| v[0].hypot(v[1]).hypot(v[2].hypot(v[3]))),
    ("normcdf", 1, |v| normal_distribution(v[0])),
    ("normcdfinv", 1, |v| -SQRT_2 * inverse_erfc(2.0 * v[0])),
    ("pow", 2, |v| libm::pow(v[0], v[1])),
    ("powi", 2, |v| libm::pow(v[0], v[1])),
    ("rcbrt", 1, |v| 1.0 / v[0].cbrt()),
    ("rcp", 1, |v| 1.0 / v[0]),
    ("rcp64h", 1, |v| f64::from_bits((1.0 / v[0]).to_bits() & !0xffff_ffff)),
    ("remainder", 2, |v| libm::remainder(v[0], v[1])),
    ("rhypot", 2, |v| 1.0 / v[0].hypot(v[1])),
    ("rint", 1, |v| v[0].round_ties_even()),
    ("rnorm3d", 3, |v| 1.0 / v[0].hypot(v[1]).hypot(v[2])),
    ("rnorm4d", 4, |v| 1.0 / v[0].hypot(v[1]).hypot(v[2].hypot(v[3]))),
    ("round", 1, |v| v[0].round()),
    ("rsqrt", 1, |v| 1.0 / v[0].sqrt()),
    ("saturate", 1, |v| if v[0].is_nan() { 0.0 } else { v[0].clamp(0.0, 1.0) }),
    ("scalbn", 2, |v| libm::ldexp(v[0], v[1] as i32)),
    ("signbit", 1, |v| of_bool(v[0].is_sign_negative())),
    ("sin", 1, |v| v[0].sin()),
    ("sinh", 1, |v| v[0].sinh()),
    ("sinpi", 1, |v| sine_of_half_turns(v[0])),
    ("sqrt", 1, |v| v[0].sqrt()),
    ("sub", 2, |v| v[0] - v[1]),
    ("tan", 1, |v| v[0].tan()),
    ("tanh", 1, |v| v[0].tanh()),
    ("tgamma", 1, |v| libm::tgamma(v[0])),
    ("trunc", 1, |v| v[0].trunc()),
    ("y0", 1, |v| libm::y0(v[0])),
    ("y1", 1, |v| libm::y1(v[0])),
    ("yn", 2, |v| libm::yn(v[0] as i32, v[1])),
];

/// The exponent of a number as a float.
fn exponent(x: f64) -> f64 {
    match x {
        0.0 => f64::NEG_INFINITY,
        x if x.is_infinite() => f64::INFINITY,
        x if x.is_nan() => x,
        x => f64::from(libm::ilogb(x)),
    }
}

/// Modified Bessel function of the first kind, by its power series, in which all terms have one sign.
fn bessel_i(order: i32, x: f64) -> f64 {
    if x.is_infinite() {
        return if order == 0 { f64::INFINITY } else { x };
    }
    let quarter = x * x / 4.0;
    let mut term = if order == 0 { 1.0 } else { x / 2.0 };
    let mut sum = term;
    for k in 1..2000 {
        term *= quarter / (f64::from(k) * f64::from(k + order));
        sum += term;
        if term.abs() <= sum.abs() * f64::EPSILON / 4.0 {
            break;
        }
    }
    sum
}

/// `sin πx`, from an argument of at most a quarter turn.
fn sine_of_half_turns(x: f64) -> f64 {
    let rest = x % 2.0;
    let rest = if rest.abs() > 1.0 { rest - 2f64.copysign(rest) } else { rest };
    let rest = if rest.abs() > 0.5 { (1.0 - rest.abs()).copysign(rest) } else { rest };
    (rest * PI).sin()
}

/// `cos πx` likewise.
fn cosine_of_half_turns(x: f64) -> f64 {
    let rest = x.abs() % 2.0;
    let rest = if rest > 1.0 { 2.0 - rest } else { rest };
    if rest < 0.25 { (rest * PI).cos() } else { sine_of_half_turns(0.5 - rest) }
}

/// `exp(x²) · erfc(x)`; by its continued fraction where the factors over- and underflow.
fn scaled_erfc(x: f64) -> f64 {
    if x < 10.0 {
        let square = x * x;
        let lost = x.mul_add(x, -square);
        let power = square.exp();
        return if power.is_infinite() { power } else { power * (1.0 + lost) * libm::erfc(x) };
    }
    let tail = (1..=60).rev().fold(x, |tail, k| x + f64::from(k) / 2.0 / tail);
    1.0 / (tail * PI.sqrt())
}

/// The number whose `erf` is `x`; small ones by Newton's method on the function itself, which is exact there.
fn inverse_erf(x: f64) -> f64 {
    if x.abs() > 0.5 || x == 0.0 || x.is_nan() {
        return if x == 0.0 { x } else { inverse_erfc(1.0 - x) };
    }
    let mut y = x * PI.sqrt() / 2.0;
    for _ in 0..8 {
        y -= (libm::erf(y) - x) * PI.sqrt() / 2.0 * (y * y).exp();
    }
    y
}

/// The number whose `erfc` is `y`, by Newton's method on the logarithm from the asymptotic form.
fn inverse_erfc(y: f64) -> f64 {
    if y > 1.0 {
        return -inverse_erfc(2.0 - y);
    }
    if y == 0.0 {
        return f64::INFINITY;
    }
    if y.is_nan() || y < 0.0 {
        return f64::NAN;
    }
    let mut x = if y > 0.2 { (1.0 - y) * PI.sqrt() / 2.0 } else { (-(y * PI.sqrt()).ln()).max(0.5).sqrt() };
    for _ in 0..60 {
        let value = libm::erfc(x);
        let slope = 2.0 / PI.sqrt() * (-x * x).exp() / value;
        let step = (value.ln() - y.ln()) / slope;
        x += step;
        if step.abs() <= x.abs() * f64::EPSILON {
            break;
        }
    }
    x
}

/// Half of `erfc(-x/√2)`, with what the quotient loses by rounding.
fn normal_distribution(x: f64) -> f64 {
    const ROOT_REST: f64 = -4.833_646_656_726_457e-17;
    let x = x.clamp(-40.0, 40.0);
    let scaled = -x * FRAC_1_SQRT_2;
    let lost = (-x).mul_add(FRAC_1_SQRT_2, -scaled) - x * ROOT_REST;
    0.5 * (libm::erfc(scaled) - lost * FRAC_2_SQRT_PI * (-scaled * scaled).exp())
}

/// Rounding of a conversion to an integer, by the suffix of the symbol.
static ROUNDING: &[(&str, OnValues)] = &[
    ("_rn", |v| v[0].round_ties_even()),
    ("_rz", |v| v[0].trunc()),
    ("_rd", |v| v[0].floor()),
    ("_ru", |v| v[0].ceil()),
];

/// What a symbol means.
#[derive(Clone, Copy)]
enum Meaning {
    Values(usize, OnValues),
    Whole { round: OnValues, unsigned: bool },
    Bits(fn(&[Type], Type, &[u64]) -> Option<u64>),
    Directed(Directed),
}

fn meaning(symbol: &str) -> Option<Meaning> {
    let plain = plain_symbol(symbol);
    if let Some(found) = BITS.iter().find(|(name, _)| *name == plain) {
        return Some(Meaning::Bits(found.1));
    }
    let typed = plain.strip_prefix(['f', 'd']).unwrap_or(plain);
    let bare = plain.replacen("f_r", "_r", 1);
    if let Some(found) = [plain, typed, &bare].iter().find_map(|name| external_directed::find(name)) {
        return Some(Meaning::Directed(found));
    }
    if plain.contains('2') {
        let rounding = ROUNDING.iter().find(|(suffix, _)| plain.ends_with(suffix));
        let to_int =
            ["float2", "double2"].iter().any(|from| plain.starts_with(from)) && !plain.contains("2float");
        if let (Some(&(_, round)), true) = (rounding, to_int) {
            return Some(Meaning::Whole { round, unsigned: plain.contains("2u") });
        }
    }
    let plain = plain.strip_suffix("_rn").unwrap_or(plain);
    let shorter = plain.strip_suffix(['f', 'd']).unwrap_or(plain);
    // `fadd_rn` and `dadd_rn` name the format in front.
    let typed = symbol.ends_with("_rn").then(|| plain.strip_prefix(['f', 'd'])).flatten().unwrap_or(plain);
    let found = [plain, shorter, typed].iter().find_map(|name| FLOATS.iter().find(|row| row.0 == *name))?;
    Some(Meaning::Values(found.1, found.2))
}

fn value_of(ty: Type, bits: u64) -> f64 {
    match ty.as_float() {
        Some(kind) => float_value(kind, bits),
        None => sign_extend(elem_bits(ty), bits) as f64,
    }
}

fn bits_of(ty: Type, value: f64) -> u64 {
    match ty.as_float() {
        Some(kind) => float_bits(kind, value),
        None => truncate(elem_bits(ty), value as i64 as u64),
    }
}

/// The integer next to a number that is whole: the first or the last one where that is out of range, zero for NaN.
fn whole_bits(ty: Type, unsigned: bool, value: f64) -> u64 {
    let bits = elem_bits(ty);
    let magnitude = 1i128 << (bits - 1);
    let (least, most) = if unsigned { (0, 2 * magnitude - 1) } else { (-magnitude, magnitude - 1) };
    truncate(bits, (value as i128).clamp(least, most) as u64)
}

pub(crate) fn extern_elementwise(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let module = interpreter.module;
    let symbol = ExternElementwiseOp::new(module, op).symbol();
    let operands = interpreter.operands(op);
    let types: Vec<Type> = module.operands(op).iter().map(|&value| elem(module.ty(value))).collect();
    let result = elem(interpreter.result_ty(op));
    let known = meaning(symbol).filter(|meaning| match meaning {
        Meaning::Values(arity, _) => *arity == types.len(),
        Meaning::Whole { .. } => types.len() == 1,
        Meaning::Bits(_) => true,
        Meaning::Directed(directed) => directed.arity == types.len(),
    });
    let Some(meaning) = known else {
        let message =
            format!("the interpreter does not know the function `{symbol}` of {} operands", types.len());
        return Err(interpreter.error(op, RunErrorKind::Unsupported, message));
    };
    let count = operands.iter().map(Data::kept).max().unwrap_or(1);
    let mut failed = Vec::new();
    let data = Data::from_fn(count, |index| match meaning {
        Meaning::Values(_, apply) => {
            let values: Vec<f64> =
                operands.iter().zip(&types).map(|(data, &ty)| value_of(ty, data.at(index))).collect();
            bits_of(result, apply(&values))
        }
        Meaning::Whole { round, unsigned } => {
            whole_bits(result, unsigned, round(&[value_of(types[0], operands[0].at(index))]))
        }
        Meaning::Directed(directed) => {
            let words: Vec<u64> = operands.iter().map(|data| data.at(index)).collect();
            directed.apply(&types, result, &words).unwrap_or_else(|| {
                failed.push(index);
                0
            })
        }
        Meaning::Bits(apply) => {
            let words: Vec<u64> = operands.iter().map(|data| data.at(index)).collect();
            apply(&types, result, &words).unwrap_or_else(|| {
                failed.push(index);
                0
            })
        }
    });
    let data = if count == 1 { Data::uniform(data.at(0)) } else { data };
    let undefined = merge_undefined(interpreter.module, op, &operands.iter().collect::<Vec<_>>(), &failed);
    interpreter.set_result(op, data.with_undefined(undefined));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FLOATS, Meaning, inverse_erfc, meaning, scaled_erfc, whole_bits};
    use ir::Type;

    fn value(symbol: &str, operands: &[f64]) -> Option<f64> {
        match meaning(symbol)? {
            Meaning::Values(arity, apply) if arity == operands.len() => Some(apply(operands)),
            _ => None,
        }
    }

    fn whole(symbol: &str, bits: u32, operand: f64) -> Option<u64> {
        match meaning(symbol)? {
            Meaning::Whole { round, unsigned } => {
                Some(whole_bits(Type::int(bits), unsigned, round(&[operand])))
            }
            _ => None,
        }
    }

    #[test]
    fn conversions_to_integers_hold_at_the_ends() {
        assert_eq!(whole("float2int_rn", 32, f64::INFINITY), Some(0x7fff_ffff));
        assert_eq!(whole("float2int_rz", 32, -3e9), Some(0x8000_0000));
        assert_eq!(whole("float2uint_rd", 32, -0.5), Some(0));
        assert_eq!(whole("double2uint_rn", 32, 3e9), Some(3_000_000_000));
        assert_eq!(whole("double2ll_ru", 64, 1e19), Some(i64::MAX as u64));
        assert_eq!(whole("double2ull_ru", 64, 1e20), Some(u64::MAX));
        assert_eq!(whole("float2ll_rn", 64, f64::NAN), Some(0));
    }

    #[test]
    fn the_normal_distribution_is_exact_far_out() {
        // By a computation of 140 bits.
        for (x, exact) in
            [(-36.0, 4.182_624_065_797_283e-284), (-3.0, 1.349_898_031_630_094_5e-3), (8.5, 1.0)]
        {
            let found = value("normcdf", &[x]).expect("it is known");
            assert!((found / exact - 1.0).abs() < 4e-16, "{x}: {found}, {exact}");
        }
        assert_eq!(value("normcdf", &[f64::NEG_INFINITY]), Some(0.0));
        assert!(value("normcdf", &[f64::NAN]).is_some_and(f64::is_nan));
    }

    #[test]
    fn spellings_of_all_libraries_are_understood() {
        for symbol in ["__nv_tanhf", "__nv_tanh", "__ocml_tanh_f32", "tanh", "tanhf"] {
            assert_eq!(value(symbol, &[0.5]), Some(0.5f64.tanh()), "{symbol}");
        }
        assert_eq!(value("__nv_erff", &[0.5]), Some(libm::erf(0.5)));
        assert_eq!(value("__nv_isnand", &[f64::NAN]), Some(1.0));
        assert_eq!(value("__nv_fadd_rn", &[1.0, 2.0]), Some(3.0));
        assert_eq!(value("__nv_dsqrt_rn", &[9.0]), Some(3.0));
        assert_eq!(whole("__nv_float2int_rd", 32, -1.5), Some(-2i32 as u32 as u64));
        assert_eq!(whole("__nv_double2ull_ru", 64, 1.5), Some(2));
        assert_eq!(value("__nv_fdiv_rz", &[1.0, 3.0]), None);
        assert_eq!(value("__nv_nonsense", &[1.0]), None);
    }

    #[test]
    fn names_are_sorted_by_no_rule_but_unique() {
        for (index, row) in FLOATS.iter().enumerate() {
            assert!(FLOATS[..index].iter().all(|other| other.0 != row.0), "{} is listed twice", row.0);
        }
    }

    #[test]
    fn inverse_functions_undo() {
        for x in [-2.5, -0.3, 0.0, 1e-9, 0.4, 1.7, 4.0, 9.0] {
            let back = inverse_erfc(libm::erfc(x));
            assert!((back - x).abs() <= 1e-13 + 1e-9 * x.abs(), "{x} came back as {back}");
        }
        assert_eq!(inverse_erfc(0.0), f64::INFINITY);
        assert_eq!(inverse_erfc(2.0), f64::NEG_INFINITY);
        assert!(inverse_erfc(-0.5).is_nan());
        assert!((scaled_erfc(9.999_999) / scaled_erfc(10.000_001) - 1.0).abs() < 1e-6);
    }
}
