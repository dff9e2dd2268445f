//! Elementary functions, built of instructions of [`llir`].
//!
//! The rows of [`FUNCTIONS`] and [`SPECIAL`] are the whole list. A function takes and returns numbers of one type,
//! scalars or whole vectors; it calls no library, needs no gather and sets no fast-math flag. Its accuracy is the
//! row's, for every input: subnormal, infinite, NaN and huge ones too. [`call`] writes it out where it is used, for one
//! lane; [`function`] makes it a function of the module, for any number of lanes.
//!
//! Assumed: functions with `alwaysinline` are inlined, and float operations run with the default rounding mode and
//! without flushing of subnormals.

mod approximate;
mod bessel;
mod builder;
mod erf;
mod exponential;
mod exponential_quarters;
mod exponential_table;
mod gamma;
mod inverse;
mod inverse_erf;
mod inverse_hyperbolic;
mod logarithm;
mod outline;
mod power;
mod rare;
mod rare_bessel;
mod reduction;
mod remainder;
mod roots;
mod short;
mod steps;
mod trigonometric;

pub use approximate::{APPROXIMATE, ApproximateFn};

use builder::{Builder, Place};
use llir::{
    Callee, Flags, FuncId, FunctionBuilder, Linkage, Module, Op, Param, ParamAttributes, Purity, Type, Value,
};

/// The element type of a maths function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elem {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Elem {
    /// The suffix used in symbols.
    pub const fn suffix(self) -> &'static str {
        match self {
            Elem::F32 => "f32",
            Elem::F64 => "f64",
        }
    }

    /// The type of one lane.
    pub const fn float(self) -> Type {
        match self {
            Elem::F32 => Type::F32,
            Elem::F64 => Type::F64,
        }
    }

    /// The integer as wide as that.
    pub const fn int(self) -> Type {
        match self {
            Elem::F32 => Type::I32,
            Elem::F64 => Type::I64,
        }
    }

    /// The element type of scalars or vectors of a type.
    pub fn of(ty: Type) -> Option<Elem> {
        match ty.lane() {
            Type::F32 => Some(Elem::F32),
            Type::F64 => Some(Elem::F64),
            _ => None,
        }
    }
}

/// What a machine approximates by an instruction, for one single. Denormal arguments and results may be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approximation {
    /// `2^x`, to two units in the last place.
    Exp2,
    /// `log2(x)`, to 2^-22 between 1/2 and 2, elsewhere relative to that.
    Log2,
    /// `1 / x`, to one unit.
    Reciprocal,
    /// `1 / √x`, to 2^-22.9 relative to it.
    ReciprocalRoot,
    /// `√x`, to one unit.
    Root,
}

/// The elements of a table that a lane picks from.
pub const TABLE: u32 = 16;

/// What the machine offers to the functions.
pub trait MathMachine {
    /// Whether a fused multiply-add is one instruction.
    fn has_fma(&self) -> bool;

    /// Whether `p · 2^n`, rounded once, is an instruction for the type: see [`Self::scale`].
    fn scales(&self, _ty: Type) -> bool {
        false
    }

    /// `p · 2^n` for the whole part of a float `n`, rounded down, where [`Self::scales`].
    fn scale(&self, _b: &mut FunctionBuilder<'_>, _p: Value, _n: Value) -> Value {
        unreachable!("asked of a machine that scales")
    }

    /// Whether each lane of the type may pick one of [`TABLE`] values by an instruction: see [`Self::pick`].
    fn picks(&self, _ty: Type) -> bool {
        false
    }

    /// The elements of a vector of [`TABLE`] values whose numbers are the low bits of `index`, where [`Self::picks`].
    fn pick(&self, _b: &mut FunctionBuilder<'_>, _table: Value, _index: Value) -> Value {
        unreachable!("asked of a machine that picks")
    }

    /// Whether each lane of the type may pick one of four values by an instruction: see [`Self::pick_of_four`].
    fn picks_of_four(&self, _ty: Type) -> bool {
        false
    }

    /// The values, given by their bits, whose numbers are the low bits of `index`, where [`Self::picks_of_four`].
    fn pick_of_four(&self, _b: &mut FunctionBuilder<'_>, _table: [u32; 4], _index: Value) -> Value {
        unreachable!("asked of a machine that picks one of four")
    }

    /// Whether there are instructions for every [`Approximation`], and for minima that are NaN where an operand is.
    fn approximates(&self) -> bool {
        false
    }

    /// What an instruction gives, where [`Self::approximates`].
    fn approximate(&self, _b: &mut FunctionBuilder<'_>, _what: Approximation, _x: Value) -> Value {
        unreachable!("asked of a machine that approximates")
    }

    /// Whether a binary32 is brought within 0 and 1 by the instruction that made it: see [`Self::saturate`].
    fn saturates(&self) -> bool {
        false
    }

    /// A binary32 brought within 0 and 1, a NaN to 0, where [`Self::saturates`].
    fn saturate(&self, _b: &mut FunctionBuilder<'_>, _x: Value) -> Value {
        unreachable!("asked of a machine that saturates")
    }

    /// `2^x` of a binary32 within two units in the last place, if that is less than a polynomial.
    fn exp2(&self, _b: &mut FunctionBuilder<'_>, _x: Value) -> Option<Value> {
        None
    }

    /// The upper half of the product of two unsigned integers of 64 bits.
    fn mul_high(&self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        let ty = b.ty(x);
        let wide = ty.with_scalar(Type::int(128));
        let [x, y] = [x, y].map(|value| b.cast(Op::ZEXT, value, wide));
        let product = b.mul(x, y);
        let by = b.int(wide, 64);
        let high = b.lshr(product, by);
        b.cast(Op::TRUNC, high, ty)
    }
}

/// Builds a function of some operands.
type Generate = fn(&mut Builder<'_, '_>, &[Value]) -> Value;

/// One row of the table: a function that can be generated.
pub struct MathFn {
    /// Its name, as in the `math` dialect.
    pub name: &'static str,
    /// Its number of operands.
    pub arity: u32,
    /// The bound on its error, in units in the last place: for F32 and for F64.
    pub accuracy_ulp: (f64, f64),
    generate: Generate,
}

impl MathFn {
    /// The function in the way that suits the machine.
    fn build(&self, b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
        let by_approximation = if b.approximates() { approximate::find(self.name) } else { None };
        by_approximation.unwrap_or(self.generate)(b, x)
    }
}

/// Why no function could be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MathError {
    /// No row has this name.
    Unknown(String),
    /// The number of lanes is not a power of two between 1 and 1024, or not 1 where the function is written out.
    Lanes(u32),
    /// The function has another number of operands.
    Operands(&'static str, u32),
    /// There is no version for this type.
    Type(String),
}

impl std::fmt::Display for MathError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MathError::Unknown(name) => write!(
                formatter,
                "no maths function is called `{name}`; known are: {}",
                names().collect::<Vec<_>>().join(", ")
            ),
            MathError::Lanes(lanes) => {
                write!(formatter, "{lanes} lanes asked for: use a power of two from 1 to 1024")
            }
            MathError::Operands(name, arity) => write!(formatter, "`{name}` takes {arity} operands"),
            MathError::Type(ty) => write!(formatter, "no maths function has a version for {ty}"),
        }
    }
}

impl std::error::Error for MathError {}

/// Every function of the language.
pub const FUNCTIONS: &[MathFn] = &[
    MathFn { name: "exp", arity: 1, accuracy_ulp: (1.2, 1.2), generate: exponential::exp },
    // Up to 1.35 units (1.31 of doubles) were found where multiply-adds round twice, 1.12 (1.02) elsewhere.
    MathFn { name: "exp2", arity: 1, accuracy_ulp: (1.5, 1.5), generate: exponential::exp2 },
    MathFn { name: "tanh", arity: 1, accuracy_ulp: (2.7, 2.3), generate: exponential::tanh },
    MathFn { name: "log", arity: 1, accuracy_ulp: (1.0, 1.0), generate: logarithm::log },
    MathFn { name: "log2", arity: 1, accuracy_ulp: (1.0, 1.0), generate: logarithm::log2 },
    MathFn { name: "sqrt", arity: 1, accuracy_ulp: (0.5, 0.5), generate: roots::sqrt },
    MathFn { name: "rsqrt", arity: 1, accuracy_ulp: (1.5, 1.5), generate: roots::rsqrt },
    MathFn { name: "sin", arity: 1, accuracy_ulp: (1.7, 1.0), generate: trigonometric::sin },
    MathFn { name: "cos", arity: 1, accuracy_ulp: (1.7, 1.0), generate: trigonometric::cos },
    MathFn { name: "erf", arity: 1, accuracy_ulp: (1.5, 1.5), generate: erf::erf },
    MathFn { name: "exp10", arity: 1, accuracy_ulp: (1.5, 1.5), generate: exponential::exp10 },
    MathFn { name: "expm1", arity: 1, accuracy_ulp: (2.0, 2.0), generate: exponential::expm1 },
    MathFn { name: "sinh", arity: 1, accuracy_ulp: (1.8, 1.8), generate: exponential::sinh },
    MathFn { name: "cosh", arity: 1, accuracy_ulp: (1.8, 1.8), generate: exponential::cosh },
    MathFn { name: "log10", arity: 1, accuracy_ulp: (1.0, 1.0), generate: logarithm::log10 },
    MathFn { name: "log1p", arity: 1, accuracy_ulp: (1.1, 1.1), generate: logarithm::log1p },
    MathFn { name: "tan", arity: 1, accuracy_ulp: (2.0, 2.2), generate: trigonometric::tan },
    MathFn { name: "asin", arity: 1, accuracy_ulp: (1.0, 1.0), generate: inverse::asin },
    MathFn { name: "acos", arity: 1, accuracy_ulp: (1.0, 1.0), generate: inverse::acos },
    MathFn { name: "atan", arity: 1, accuracy_ulp: (1.3, 1.3), generate: inverse::atan },
    MathFn { name: "atan2", arity: 2, accuracy_ulp: (2.0, 2.0), generate: inverse::atan2 },
    MathFn { name: "asinh", arity: 1, accuracy_ulp: (0.6, 2.5), generate: inverse_hyperbolic::asinh },
    MathFn { name: "acosh", arity: 1, accuracy_ulp: (0.6, 2.5), generate: inverse_hyperbolic::acosh },
    MathFn { name: "atanh", arity: 1, accuracy_ulp: (0.6, 2.5), generate: inverse_hyperbolic::atanh },
    MathFn { name: "erfc", arity: 1, accuracy_ulp: (0.6, 4.0), generate: erf::erfc },
    MathFn { name: "pow", arity: 2, accuracy_ulp: (0.6, 1.5), generate: power::pow },
    MathFn { name: "cbrt", arity: 1, accuracy_ulp: (1.1, 1.1), generate: power::cbrt },
    MathFn { name: "hypot", arity: 2, accuracy_ulp: (0.6, 1.5), generate: power::hypot },
    MathFn { name: "fmod", arity: 2, accuracy_ulp: (0.0, 0.0), generate: remainder::fmod },
    MathFn { name: "sinpi", arity: 1, accuracy_ulp: (1.5, 1.0), generate: trigonometric::sinpi },
    MathFn { name: "cospi", arity: 1, accuracy_ulp: (1.5, 1.0), generate: trigonometric::cospi },
    MathFn { name: "rcbrt", arity: 1, accuracy_ulp: (2.0, 2.0), generate: power::rcbrt },
    MathFn { name: "rhypot", arity: 2, accuracy_ulp: (0.6, 0.6), generate: power::rhypot },
    MathFn { name: "fdim", arity: 2, accuracy_ulp: (0.5, 0.5), generate: steps::fdim },
    MathFn { name: "nextafter", arity: 2, accuracy_ulp: (0.0, 0.0), generate: steps::nextafter },
];

/// Functions of arguments that are known to be zero or less, or NaN, but for rounding errors: nothing else may be given
/// to them.
pub const NONPOSITIVE: &[MathFn] = &[
    MathFn {
        name: "exp_nonpositive",
        arity: 1,
        accuracy_ulp: (1.2, 1.2),
        generate: exponential::exp_nonpositive,
    },
    MathFn {
        name: "exp2_nonpositive",
        arity: 1,
        accuracy_ulp: (1.5, 1.5),
        generate: exponential::exp2_nonpositive,
    },
];

/// Functions of a maths library that the language has not. Singles go through doubles, but for those of
/// [`APPROXIMATE`] on machines that approximate. Where a function has zeros between its ends (`lgamma` below zero,
/// Bessel functions), the unit is that of the largest values around.
pub const SPECIAL: &[MathFn] = &[
    MathFn { name: "tgamma", arity: 1, accuracy_ulp: (0.6, 64.0), generate: gamma::tgamma },
    MathFn { name: "lgamma", arity: 1, accuracy_ulp: (0.6, 64.0), generate: gamma::lgamma },
    MathFn { name: "erfinv", arity: 1, accuracy_ulp: (0.6, 64.0), generate: inverse_erf::erfinv },
    MathFn { name: "erfcinv", arity: 1, accuracy_ulp: (0.6, 64.0), generate: inverse_erf::erfcinv },
    MathFn { name: "normcdfinv", arity: 1, accuracy_ulp: (0.6, 64.0), generate: inverse_erf::normcdfinv },
    MathFn { name: "normcdf", arity: 1, accuracy_ulp: (0.6, 4.0), generate: erf::normcdf },
    MathFn { name: "erfcx", arity: 1, accuracy_ulp: (0.6, 64.0), generate: erf::erfcx },
    MathFn { name: "j0", arity: 1, accuracy_ulp: (0.6, 64.0), generate: bessel::j0 },
    MathFn { name: "j1", arity: 1, accuracy_ulp: (0.6, 64.0), generate: bessel::j1 },
    MathFn { name: "jn", arity: 2, accuracy_ulp: (0.6, 64.0), generate: bessel::jn },
    MathFn { name: "y0", arity: 1, accuracy_ulp: (0.6, 64.0), generate: bessel::y0 },
    MathFn { name: "y1", arity: 1, accuracy_ulp: (0.6, 64.0), generate: bessel::y1 },
    MathFn { name: "yn", arity: 2, accuracy_ulp: (0.6, 64.0), generate: bessel::yn },
    MathFn { name: "cyl_bessel_i0", arity: 1, accuracy_ulp: (0.6, 64.0), generate: bessel::cyl_bessel_i0 },
    MathFn { name: "cyl_bessel_i1", arity: 1, accuracy_ulp: (0.6, 64.0), generate: bessel::cyl_bessel_i1 },
];

/// The names of all functions, in table order.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().chain(SPECIAL).map(|row| row.name)
}

/// The row of a function.
pub fn find(name: &str) -> Option<&'static MathFn> {
    FUNCTIONS.iter().chain(NONPOSITIVE).chain(SPECIAL).find(|row| row.name == name)
}

/// The symbol of a function for so many lanes.
pub fn function_name(name: &str, elem: Elem, lanes: u32) -> String {
    let lanes = if lanes == 1 { String::new() } else { format!("v{lanes}") };
    format!("dn.math.{name}.{lanes}{}", elem.suffix())
}

/// The row of a name and a number of operands.
fn row_of(name: &str, operands: usize) -> Result<&'static MathFn, MathError> {
    let row = find(name).ok_or_else(|| MathError::Unknown(name.to_owned()))?;
    if row.arity as usize == operands { Ok(row) } else { Err(MathError::Operands(row.name, row.arity)) }
}

/// Writes out a function of scalars in the current block.
///
/// # Errors
/// When there is none of this name for so many operands of this type.
pub fn call(
    b: &mut FunctionBuilder<'_>,
    machine: &dyn MathMachine,
    name: &str,
    x: &[Value],
) -> Result<Value, MathError> {
    let row = row_of(name, x.len())?;
    let ty = b.ty(x[0]);
    let elem = Elem::of(ty).ok_or_else(|| MathError::Type(ty.to_string()))?;
    if ty.is_vector() {
        return Err(MathError::Lanes(ty.lanes()));
    }
    // Nothing may be fused or reordered.
    let flags = b.set_float_flags(Flags::NONE);
    let result = row.build(&mut Builder::new(b, machine, (elem, 1), Place::Here), x);
    b.set_float_flags(flags);
    Ok(result)
}

/// A function of a module, made when it is asked for first; it is internal, always inlined and pure.
///
/// # Errors
/// When there is none of this name, or not for so many lanes.
pub fn function(
    module: &mut Module,
    machine: &dyn MathMachine,
    name: &str,
    (elem, lanes): (Elem, u32),
) -> Result<FuncId, MathError> {
    let row = find(name).ok_or_else(|| MathError::Unknown(name.to_owned()))?;
    if !lanes.is_power_of_two() || lanes > 1024 {
        return Err(MathError::Lanes(lanes));
    }
    let symbol = function_name(name, elem, lanes);
    if let Some(known) = module.find(&symbol) {
        return Ok(known);
    }
    let ty = elem.float().with_lanes(lanes);
    let params = vec![ty; row.arity as usize];
    let id = define(module, (symbol, ty, params), Purity::Pure, &["alwaysinline", "nounwind"]);
    let mut b = FunctionBuilder::new(module, id);
    let arguments: Vec<Value> = (0..row.arity as usize).map(|index| b.param(index)).collect();
    let result = row.build(&mut Builder::new(&mut b, machine, (elem, lanes), Place::Outside), &arguments);
    b.ret(Some(result));
    Ok(id)
}

/// An internal function without a body yet: its symbol, result and parameters, what may be assumed of calls, and its
/// attributes.
fn define(
    module: &mut Module,
    (symbol, ret, types): (String, Type, Vec<Type>),
    purity: Purity,
    attributes: &[&str],
) -> FuncId {
    let params = types
        .iter()
        .map(|&ty| Param { ty, name: String::new(), attributes: ParamAttributes::default() })
        .collect();
    module.declare(Callee::new(&symbol, ret, types, purity));
    let id = module.add_function(&symbol, ret, params);
    let function = module.function_mut(id).expect("it was just added");
    function.linkage = Linkage::Internal;
    function.attributes = attributes.iter().map(|&word| word.to_owned()).collect();
    id
}

#[cfg(test)]
mod tests {
    use super::{Elem, FUNCTIONS, MathMachine, NONPOSITIVE, SPECIAL, function};

    struct Plain(bool);

    impl MathMachine for Plain {
        fn has_fma(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn every_function_is_valid_for_scalars_and_vectors() {
        for fma in [false, true] {
            let mut module = llir::Module::new("maths");
            for row in FUNCTIONS.iter().chain(NONPOSITIVE).chain(SPECIAL) {
                for (elem, lanes) in [(Elem::F32, 1), (Elem::F32, 8), (Elem::F64, 1), (Elem::F64, 4)] {
                    function(&mut module, &Plain(fma), row.name, (elem, lanes)).unwrap();
                }
            }
            if let Err(errors) = llir::verify(&module) {
                panic!("{}\n{module}", errors[0]);
            }
        }
    }
}
