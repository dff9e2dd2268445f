//! Functions of maths libraries: every name with every list of types, to be compared with the interpreter.

use super::value::{Tolerance, difference};
use super::wrap::{bytes_of, values_of};
use super::{Argument, Engine, Interpreter, Random};
use crate::types::{elem_bits, pointee, tensor};
use ir::scalar::{float_bits, truncate};
use ir::{Module, Type};

/// What numbers a function is tried with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Domain {
    /// Special numbers, random bits, numbers of usual size.
    Any,
    /// Numbers that 31 bits hold.
    Int,
    /// The same, and numbers that no integer holds. NaN is left out, of which machines make different integers.
    Whole,
    /// Positive numbers below a quarter turn, for which fast forms are good.
    Small,
    /// The first operand is a small integer.
    Order,
    /// The second operand is an exponent.
    Exponent,
}

/// Lists of types, how far singles and doubles may be apart in units in the last place, an absolute difference that is
/// allowed as well, the numbers, and the names.
type Group = (&'static str, [u64; 2], f64, Domain, &'static str);

const FF: &str = "f32->f32 | f64->f64";
const FFF: &str = "f32,f32->f32 | f64,f64->f64";

const GROUPS: &[Group] = &[
    (FF, [0, 0], 0.0, Domain::Any, "floor ceil trunc sqrt_rn sqrt rint nearbyint round logb"),
    (FF, [0, 0], 0.0, Domain::Any, "sqrt_rz sqrt_rd sqrt_ru rcp_rz rcp_rd rcp_ru"),
    (
        FF,
        [2, 2],
        0.0,
        Domain::Any,
        "rsqrt rcp_rn sinpi cospi log2 log log10 log1p cbrt rcbrt atan asin acos erf",
    ),
    // Of singles, results below the normal numbers may be zero, as on GPUs.
    ("f32->f32", [2, 0], 1.2e-38, Domain::Any, "exp exp2"),
    ("f64->f64", [0, 2], 0.0, Domain::Any, "exp exp2"),
    (FF, [3, 4], 0.0, Domain::Any, "sin cos tan exp10 cosh sinh tanh acosh asinh atanh expm1"),
    (FF, [5, 8], 0.0, Domain::Any, "erfc normcdf"),
    (FF, [4, 400], 1e-12, Domain::Any, "erfinv erfcinv normcdfinv erfcx"),
    (FF, [4, 200], 1e-12, Domain::Any, "tgamma"),
    // Below zero singles are made of doubles that are right to 2⁻³⁰: beside a zero there, that is some units of them.
    ("f32->f32", [4, 0], 9.32e-10, Domain::Any, "lgamma"),
    ("f64->f64", [0, 200], 1e-12, Domain::Any, "lgamma"),
    (FF, [8, 200], 1e-6, Domain::Any, "j0 j1 y0 y1"),
    (FF, [8, 200], 1e-12, Domain::Any, "cyl_bessel_i0 cyl_bessel_i1"),
    ("i32,f32->f32 | i32,f64->f64", [64, 4000], 1e-6, Domain::Order, "jn yn"),
    ("f32->f32", [1, 0], 0.0, Domain::Any, "saturatef"),
    ("f32->f32", [2, 0], 0.0, Domain::Any, "rsqrt_rn"),
    (
        "f32->f32",
        [64, 0],
        2e-5,
        Domain::Small,
        "fast_sinf fast_cosf fast_log2f fast_logf fast_expf fast_tanf fast_exp10f fast_log10f",
    ),
    ("f32->f32", [64, 0], 1e-3, Domain::Small, "fast_tanhf"),
    ("f64->f64", [0, 0], 0.0, Domain::Any, "rcp64h"),
    ("i32->i32 | i64->i64", [0, 0], 0.0, Domain::Any, "abs brev"),
    (FF, [0, 0], 0.0, Domain::Any, "abs"),
    ("i32->i32 | i64->i32", [0, 0], 0.0, Domain::Any, "clz popc ffs"),
    (FF, [0, 0], 0.0, Domain::Any, "fabs"),
    (
        FFF,
        [0, 0],
        0.0,
        Domain::Any,
        "div_rn div_rz div_rd div_ru sub_rn sub_rz sub_rd sub_ru add_rn add_rz add_rd add_ru mul_rn mul_rz mul_rd mul_ru \
         copysign nextafter fmod",
    ),
    (FFF, [1, 1], 0.0, Domain::Any, "remainder fdim"),
    (FFF, [3, 4], 0.0, Domain::Any, "atan2 hypot rhypot pow"),
    ("f32,f32->f32", [64, 0], 2e-5, Domain::Small, "fast_dividef fast_powf"),
    ("f32,i32->f32 | f64,i32->f64", [2, 4], 0.0, Domain::Exponent, "pow"),
    ("f32,i32->f32 | f64,i32->f64", [0, 0], 0.0, Domain::Exponent, "ldexp scalbn"),
    ("f32,f32,f32->f32 | f64,f64,f64->f64", [1, 0], 0.0, Domain::Any, "fma fma_rn"),
    ("f32,f32,f32->f32", [0, 0], 0.0, Domain::Any, "fma_rz fma_rd fma_ru"),
    ("f64,f64,f64->f64", [0, 0], 0.0, Domain::Int, "fma_rz fma_rd fma_ru"),
    ("f32,f32,f32->f32 | f64,f64,f64->f64", [4, 4], 0.0, Domain::Any, "norm3d rnorm3d"),
    ("f32,f32,f32,f32->f32 | f64,f64,f64,f64->f64", [5, 5], 0.0, Domain::Any, "norm4d rnorm4d"),
    ("f32->i32 | f64->i32", [0, 0], 0.0, Domain::Any, "isnan isinf signbit ilogb"),
    ("f32->i32", [0, 0], 0.0, Domain::Any, "finitef float_as_int float_as_uint"),
    ("f64->i32", [0, 0], 0.0, Domain::Any, "isfinited double2loint double2hiint"),
    ("f32->i64 | f64->i64", [0, 0], 0.0, Domain::Whole, "llrint llround"),
    ("i32,i32->i32 | i64,i64->i64", [0, 0], 0.0, Domain::Any, "mulhi umulhi"),
    ("i32,i32->i32", [0, 0], 0.0, Domain::Any, "mul24 umul24 hadd uhadd rhadd urhadd"),
    ("i32,i32,i32->i32", [0, 0], 0.0, Domain::Any, "byte_perm sad usad"),
    ("f32->i32", [0, 0], 0.0, Domain::Whole, "float2int_rn float2int_rz float2int_rd float2int_ru"),
    ("f32->i32", [0, 0], 0.0, Domain::Whole, "float2uint_rn float2uint_rz float2uint_rd float2uint_ru"),
    ("f32->i64", [0, 0], 0.0, Domain::Whole, "float2ll_rn float2ll_rz float2ll_rd float2ll_ru"),
    ("f32->i64", [0, 0], 0.0, Domain::Whole, "float2ull_rn float2ull_rz float2ull_rd float2ull_ru"),
    ("f64->i32", [0, 0], 0.0, Domain::Whole, "double2int_rn double2int_rz double2int_rd double2int_ru"),
    ("f64->i32", [0, 0], 0.0, Domain::Whole, "double2uint_rn double2uint_rz double2uint_rd double2uint_ru"),
    ("f64->i64", [0, 0], 0.0, Domain::Whole, "double2ll_rn double2ll_rz double2ll_rd double2ll_ru"),
    ("f64->i64", [0, 0], 0.0, Domain::Whole, "double2ull_rn double2ull_rz double2ull_rd double2ull_ru"),
    ("f64->i64", [0, 0], 0.0, Domain::Any, "double_as_longlong"),
    (
        "i32->f32",
        [0, 0],
        0.0,
        Domain::Any,
        "int2float_rn int2float_rz int2float_rd int2float_ru int_as_float uint2float_rn uint2float_rz uint2float_rd \
         uint2float_ru uint_as_float",
    ),
    ("f64->f32", [0, 0], 0.0, Domain::Any, "double2float_rn double2float_rz double2float_rd double2float_ru"),
    ("i32->f64", [0, 0], 0.0, Domain::Any, "int2double_rn uint2double_rn"),
    ("i32,i32->f64", [0, 0], 0.0, Domain::Any, "hiloint2double"),
    (
        "i64->f32",
        [0, 0],
        0.0,
        Domain::Any,
        "ll2float_rn ll2float_rz ll2float_rd ll2float_ru ull2float_rn ull2float_rz ull2float_rd ull2float_ru",
    ),
    (
        "i64->f64",
        [0, 0],
        0.0,
        Domain::Any,
        "ll2double_rn ll2double_rz ll2double_rd ll2double_ru longlong_as_double ull2double_rn ull2double_rz ull2double_rd \
         ull2double_ru",
    ),
];

/// A function with one list of types.
#[derive(Clone, Debug)]
pub struct LibraryFunction {
    /// Its name.
    pub symbol: &'static str,
    operands: Vec<&'static str>,
    result: &'static str,
    tolerance: Tolerance,
    domain: Domain,
}

/// Every function with every list of types.
pub fn library_functions() -> Vec<LibraryFunction> {
    let mut all = Vec::new();
    for (types, [single, double], absolute, domain, names) in GROUPS {
        for symbol in names.split_whitespace() {
            for variant in types.split('|') {
                let (operands, result) = variant.split_once("->").expect("the table has an arrow");
                let ulp = if variant.contains("64") { *double } else { *single };
                all.push(LibraryFunction {
                    symbol,
                    operands: operands.split(',').map(str::trim).collect(),
                    result: result.trim(),
                    tolerance: Tolerance { ulp, absolute: *absolute },
                    domain: *domain,
                });
            }
        }
    }
    all
}

/// Elements of a block.
pub const COUNT: usize = 256;

/// The types that the parameters of a kernel point to: those of the operands, and that of the result.
fn types_of(module: &Module) -> Vec<Type> {
    let entry = module.entry(module.region(module.symbol("kernel").expect("it has a kernel"), 0));
    let args = module.args(entry).iter();
    args.map(|arg| pointee(module.ty(*arg)).expect("all parameters are pointers")).collect()
}

impl LibraryFunction {
    /// How many operands it has.
    pub fn arity(&self) -> usize {
        self.operands.len()
    }

    /// The same, of singles that may be only so many units in the last place apart.
    #[must_use]
    pub fn within(&self, ulp: u64) -> LibraryFunction {
        LibraryFunction { tolerance: Tolerance { ulp, ..self.tolerance }, ..self.clone() }
    }

    /// Whether its operands and its result are singles.
    pub fn is_single(&self) -> bool {
        self.result == "f32" && self.operands.iter().all(|&operand| operand == "f32")
    }

    /// What an engine computes of as many numbers for each operand as [`COUNT`] says.
    ///
    /// # Errors
    /// When it fails, in words.
    pub fn run(&self, engine: &mut dyn Engine, given: &[Vec<u64>]) -> Result<Vec<u64>, String> {
        let module = self.module()?;
        let types = types_of(&module);
        let mut args: Vec<Argument> =
            given.iter().zip(&types).map(|(values, ty)| Argument::Buffer(bytes_of(values, *ty))).collect();
        let result = types[given.len()];
        let bytes = COUNT * result.scalar_bits().expect("a number has a width") as usize / 8;
        args.push(Argument::Buffer(vec![0; bytes]));
        let ran = engine
            .run(&module, "kernel", [1; 3], &args)
            .map_err(|error| self.says(error.lines().next().unwrap_or_default()))?;
        Ok(values_of(&ran.buffers[given.len()], result))
    }

    /// Compares an engine with the interpreter.
    ///
    /// # Errors
    /// When one of them fails or they differ, in words.
    pub fn check(&self, engine: &mut dyn Engine, random: &mut Random) -> Result<(), String> {
        let types = types_of(&self.module()?);
        let (result, operands) = types.split_last().expect("a function has a result");
        let given: Vec<Vec<u64>> =
            operands.iter().enumerate().map(|(at, ty)| self.inputs(at, *ty, random)).collect();
        let expected = self.run(&mut Interpreter, &given)?;
        let got = self.run(engine, &given)?;
        match difference(&expected, &got, tensor(&[COUNT as i64], *result), self.tolerance) {
            None => Ok(()),
            Some(text) => {
                let at: usize =
                    text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
                let of: Vec<u64> = given.iter().map(|values| values[at]).collect();
                Err(self.says(&format!("of {of:x?}: {text}")))
            }
        }
    }

    /// Words about it.
    fn says(&self, text: &str) -> String {
        format!("{}({}): {text}", self.symbol, self.operands.join(", "))
    }

    fn module(&self) -> Result<Module, String> {
        ir::text::parse(&self.kernel(), crate::registry(), Default::default())
            .map_err(|error| self.says(&error.to_string()))
    }

    /// Numbers for an operand.
    fn inputs(&self, operand: usize, ty: Type, random: &mut Random) -> Vec<u64> {
        let bits = elem_bits(ty);
        let mut values: Vec<u64> = Vec::with_capacity(COUNT);
        if self.domain == Domain::Any || self.domain == Domain::Exponent || self.domain == Domain::Order {
            values = match ty.as_float() {
                Some(kind) => [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-40, 1e30, -1e9, 200_000.0]
                    .into_iter()
                    .chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 88.5, -103.0, 16_777_217.0])
                    .map(|value| float_bits(kind, value))
                    .collect(),
                None => [0, 1, u64::MAX, 1 << (bits - 1), 24, 0x7520].to_vec(),
            };
        }
        if let (Some(kind), Domain::Whole) = (ty.as_float(), self.domain) {
            values = [
                f64::INFINITY,
                f64::NEG_INFINITY,
                0.0,
                -0.0,
                0.5,
                -0.5,
                2.5,
                -1.0,
                3e9,
                -3e9,
                5e9,
                -5e9,
                1e19,
            ]
            .into_iter()
            .chain([-1e19, 1e20, -1e20, 2f64.powi(31), -2f64.powi(31), 2f64.powi(63), -2f64.powi(63), 1e38])
            .map(|value| float_bits(kind, value))
            .collect();
        }
        while values.len() < COUNT {
            let word = random.word();
            let part = (word >> 11) as f64 / (1u64 << 53) as f64;
            values.push(match (ty.as_float(), self.domain) {
                (Some(kind), Domain::Int | Domain::Whole) => {
                    float_bits(kind, (part - 0.5) * 4e9 / f64::from(1u32 << (word % 32)))
                }
                (Some(kind), Domain::Small) => float_bits(kind, 0.01 + part * 2.5),
                (Some(kind), _) if !word.is_multiple_of(3) => float_bits(kind, (part - 0.5) * 120.0),
                _ => truncate(bits, word),
            });
        }
        let small = match (self.domain, operand) {
            (Domain::Order, 0) => Some(40),
            (Domain::Exponent, 1) => Some(300),
            _ => None,
        };
        if let Some(most) = small {
            for value in &mut values {
                *value = truncate(bits, (*value as i32 % most) as u64);
            }
        }
        // Pairs of special numbers meet in different ways.
        values.rotate_left(random.word() as usize % COUNT);
        values.iter().map(|value| truncate(bits, *value)).collect()
    }

    fn kernel(&self) -> String {
        let (symbol, result) = (self.symbol, self.result);
        let mut params: Vec<String> =
            self.operands.iter().enumerate().map(|(index, ty)| format!("%p{index}: !tt.ptr<{ty}>")).collect();
        params.push(format!("%q: !tt.ptr<{result}>"));
        let mut text = format!("tt.func public @kernel({}) {{\n", params.join(", "));
        text +=
            &format!("%r = tt.make_range {{end = {COUNT} : i32, start = 0 : i32}} : tensor<{COUNT}xi32>\n");
        let pointers = |name: &str, ty: &str| {
            format!(
                "%{name}s = tt.splat %{name} : !tt.ptr<{ty}> -> tensor<{COUNT}x!tt.ptr<{ty}>>\n\
                 %{name}a = tt.addptr %{name}s, %r : tensor<{COUNT}x!tt.ptr<{ty}>>, tensor<{COUNT}xi32>\n"
            )
        };
        for (index, ty) in self.operands.iter().enumerate() {
            text += &pointers(&format!("p{index}"), ty);
            text += &format!("%v{index} = tt.load %p{index}a : tensor<{COUNT}x!tt.ptr<{ty}>>\n");
        }
        let values: Vec<String> = (0..self.operands.len()).map(|index| format!("%v{index}")).collect();
        let types: Vec<String> = self.operands.iter().map(|ty| format!("tensor<{COUNT}x{ty}>")).collect();
        text += &format!(
            "%f = tt.extern_elementwise {} {{libname = \"\", libpath = \"\", pure = true, symbol = \"{symbol}\"}} : ({}) -> \
             tensor<{COUNT}x{result}>\n",
            values.join(", "),
            types.join(", ")
        );
        text += &pointers("q", result);
        text + &format!("tt.store %qa, %f : tensor<{COUNT}x!tt.ptr<{result}>>\ntt.return\n}}\n")
    }
}
