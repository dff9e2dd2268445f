//! Vector maths as LLVM IR text: one always-inlined function per (function, element type, lanes).
//!
//! The rows of [`FUNCTIONS`] are the whole list. A generated function takes and returns plain vectors
//! (scalars for one lane), calls no library, needs no gather and sets no fast-math flag. Its
//! accuracy is the row's, for every input: subnormal, infinite, NaN and huge ones too.
//!
//! Assumed of the caller: the pass pipeline inlines `alwaysinline` functions, definitions are
//! emitted once per symbol ([`Library`] does that), and float operations run with the default
//! rounding mode and without flushing of subnormals.

mod erf;
mod exponential;
mod inverse;
mod inverse_hyperbolic;
mod logarithm;
mod power;
mod record;
mod reduction;
mod remainder;
mod roots;
mod steps;
mod text;
mod trigonometric;

use std::collections::BTreeMap;

pub use record::{Action, Rare, Recording, Step, record};
pub use reduction::TWO_OVER_PI;
pub use text::{Kind, Node, TextBuilder, Value};

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

    /// The float kind of the element.
    pub const fn float_kind(self) -> Kind {
        match self {
            Elem::F32 => Kind::F32,
            Elem::F64 => Kind::F64,
        }
    }

    /// The integer kind as wide as the element.
    pub const fn int_kind(self) -> Kind {
        match self {
            Elem::F32 => Kind::I32,
            Elem::F64 => Kind::I64,
        }
    }
}

/// What the machine offers to the generated code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MathConfig {
    /// Fused multiply-add is one instruction (x86-64 with FMA, every AArch64).
    pub has_fma: bool,
    /// AVX-512 F, VL and DQ are there: scaling by a power of two is one instruction.
    pub avx512: bool,
}

/// One row of the table: a function that can be generated.
pub struct MathFn {
    /// Its name, as in the `math` dialect.
    pub name: &'static str,
    /// Its number of operands.
    pub arity: u32,
    /// The bound on its error, in units in the last place: for F32 and for F64.
    pub accuracy_ulp: (f64, f64),
    generate: fn(&mut TextBuilder, &[Value]) -> Value,
}

/// One definition or declaration of the generated text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The symbol without `@`: emit each symbol once per module.
    pub symbol: String,
    /// The complete text.
    pub text: String,
}

/// Why no function could be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MathError {
    /// No row has this name.
    Unknown(String),
    /// The number of lanes is not a power of two between 1 and 1024.
    Lanes(u32),
}

impl std::fmt::Display for MathError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MathError::Unknown(name) => write!(
                formatter,
                "no vector maths function is called `{name}`; known are: {}",
                names().collect::<Vec<_>>().join(", ")
            ),
            MathError::Lanes(lanes) => {
                write!(formatter, "{lanes} lanes asked for: use a power of two from 1 to 1024")
            }
        }
    }
}

impl std::error::Error for MathError {}

/// Every function that can be generated.
pub const FUNCTIONS: &[MathFn] = &[
    MathFn { name: "exp", arity: 1, accuracy_ulp: (1.2, 1.2), generate: exponential::exp },
    MathFn { name: "exp2", arity: 1, accuracy_ulp: (1.3, 1.2), generate: exponential::exp2 },
    MathFn { name: "tanh", arity: 1, accuracy_ulp: (1.5, 1.5), generate: exponential::tanh },
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

/// The names of all functions, in table order.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|row| row.name)
}

/// The row of a function.
pub fn find(name: &str) -> Option<&'static MathFn> {
    FUNCTIONS.iter().find(|row| row.name == name)
}

/// The symbol of a generated function, without `@`.
pub fn function_name(name: &str, elem: Elem, lanes: u32) -> String {
    format!("dn.math.{name}.{}", text::type_suffix(elem.float_kind(), lanes))
}

/// The function itself, then everything it needs: helper functions and declarations of intrinsics.
pub fn definitions(
    name: &str,
    elem: Elem,
    lanes: u32,
    config: MathConfig,
) -> Result<Vec<Definition>, MathError> {
    let row = find(name).ok_or_else(|| MathError::Unknown(name.to_owned()))?;
    if !lanes.is_power_of_two() || lanes > 1024 {
        return Err(MathError::Lanes(lanes));
    }
    let mut builder = TextBuilder::new(elem, lanes, config);
    let arguments: Vec<Value> = (0..row.arity).map(|index| builder.argument(index)).collect();
    let result = (row.generate)(&mut builder, &arguments);
    let returned = builder.typed(result);
    builder.line(&format!("  ret {returned}"));
    let ty = builder.type_of(elem.float_kind());
    let parameters: Vec<String> = (0..row.arity).map(|index| format!("{ty} %a{index}")).collect();
    let (body, needed) = builder.finish();
    let symbol = function_name(name, elem, lanes);
    let text = format!(
        "define internal {ty} @{symbol}({}) alwaysinline nounwind {{\n{body}}}\n",
        parameters.join(", ")
    );
    let mut all = vec![Definition { symbol, text }];
    all.extend(needed.into_iter().map(|(symbol, text)| Definition { symbol, text }));
    Ok(all)
}

/// [`definitions`] as one text, for a module that needs a single function.
pub fn definition(name: &str, elem: Elem, lanes: u32, config: MathConfig) -> Result<String, MathError> {
    Ok(definitions(name, elem, lanes, config)?.into_iter().map(|one| one.text).collect())
}

/// Collects the functions that one module uses, each symbol once.
pub struct Library {
    config: MathConfig,
    texts: BTreeMap<String, String>,
}

impl Library {
    /// An empty collection for one machine.
    pub fn new(config: MathConfig) -> Library {
        Library { config, texts: BTreeMap::new() }
    }

    /// Adds a function if it is new and returns the symbol to call, without `@`.
    pub fn require(&mut self, name: &str, elem: Elem, lanes: u32) -> Result<String, MathError> {
        let symbol = function_name(name, elem, lanes);
        if !self.texts.contains_key(&symbol) {
            for one in definitions(name, elem, lanes, self.config)? {
                self.texts.insert(one.symbol, one.text);
            }
        }
        Ok(symbol)
    }

    /// Everything collected, ordered by symbol.
    pub fn definitions(&self) -> impl Iterator<Item = Definition> + '_ {
        self.texts.iter().map(|(symbol, text)| Definition { symbol: symbol.clone(), text: text.clone() })
    }
}
