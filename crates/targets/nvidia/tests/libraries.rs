//! Functions of maths libraries agree with the interpreter, special numbers and random ones.

mod emulated;
mod support;

use emulated::Emulated;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{Argument, Engine, Interpreter, Random, Tolerance, bytes_of, difference, values_of};

/// Symbol, operand types, result type, how far apart in units in the last place.
type Row = (&'static str, &'static [&'static str], &'static str, u64);

/// Functions of several kinds.
const FUNCTIONS: &[Row] = &[
    ("__nv_acosf", &["f32"], "f32", 2),
    ("__nv_asinhf", &["f32"], "f32", 3),
    ("__nv_atan2f", &["f32", "f32"], "f32", 3),
    ("__nv_atanhf", &["f32"], "f32", 3),
    ("__nv_cbrtf", &["f32"], "f32", 2),
    ("__nv_ceilf", &["f32"], "f32", 0),
    ("__nv_copysignf", &["f32", "f32"], "f32", 0),
    ("__nv_cos", &["f64"], "f64", 2),
    ("__nv_cosf", &["f32"], "f32", 2),
    ("__nv_coshf", &["f32"], "f32", 3),
    ("__nv_erfcf", &["f32"], "f32", 5),
    ("__nv_erff", &["f32"], "f32", 2),
    ("__nv_exp10f", &["f32"], "f32", 3),
    ("__nv_exp", &["f64"], "f64", 2),
    ("__nv_expf", &["f32"], "f32", 2),
    ("__nv_expm1f", &["f32"], "f32", 3),
    ("__nv_fabsf", &["f32"], "f32", 0),
    ("__nv_fmod", &["f64", "f64"], "f64", 0),
    ("__nv_fmodf", &["f32", "f32"], "f32", 0),
    ("__nv_hypotf", &["f32", "f32"], "f32", 2),
    ("__nv_ilogbf", &["f32"], "i32", 0),
    ("__nv_isinff", &["f32"], "i32", 0),
    ("__nv_isnanf", &["f32"], "i32", 0),
    ("__nv_finitef", &["f32"], "i32", 0),
    ("__nv_ldexpf", &["f32", "i32"], "f32", 0),
    ("__nv_log10f", &["f32"], "f32", 2),
    ("__nv_log1pf", &["f32"], "f32", 3),
    ("__nv_log2f", &["f32"], "f32", 2),
    ("__nv_logf", &["f32"], "f32", 2),
    ("__nv_logbf", &["f32"], "f32", 0),
    ("__nv_nextafterf", &["f32", "f32"], "f32", 0),
    ("__nv_powf", &["f32", "f32"], "f32", 2),
    ("__nv_rintf", &["f32"], "f32", 0),
    ("__nv_roundf", &["f32"], "f32", 0),
    ("__nv_rsqrtf", &["f32"], "f32", 2),
    // Of one unit, so that the sign of zero is free.
    ("__nv_saturatef", &["f32"], "f32", 1),
    ("__nv_signbitf", &["f32"], "i32", 0),
    ("__nv_sin", &["f64"], "f64", 2),
    ("__nv_sinf", &["f32"], "f32", 2),
    ("__nv_sinhf", &["f32"], "f32", 3),
    ("__nv_tanf", &["f32"], "f32", 3),
    ("__nv_tanhf", &["f32"], "f32", 2),
    ("__nv_truncf", &["f32"], "f32", 0),
    ("__nv_abs", &["i32"], "i32", 0),
    ("__nv_brev", &["i32"], "i32", 0),
    ("__nv_byte_perm", &["i32", "i32", "i32"], "i32", 0),
    ("__nv_clz", &["i32"], "i32", 0),
    ("__nv_clzll", &["i64"], "i32", 0),
    ("__nv_ffs", &["i32"], "i32", 0),
    ("__nv_float_as_int", &["f32"], "i32", 0),
    ("__nv_hadd", &["i32", "i32"], "i32", 0),
    ("__nv_rhadd", &["i32", "i32"], "i32", 0),
    ("__nv_uhadd", &["i32", "i32"], "i32", 0),
    ("__nv_hiloint2double", &["i32", "i32"], "f64", 0),
    ("__nv_int2float_rn", &["i32"], "f32", 0),
    ("__nv_ull2double_rn", &["i64"], "f64", 0),
    ("__nv_mul24", &["i32", "i32"], "i32", 0),
    ("__nv_mulhi", &["i32", "i32"], "i32", 0),
    ("__nv_umul64hi", &["i64", "i64"], "i64", 0),
    ("__nv_popc", &["i32"], "i32", 0),
    ("__nv_sad", &["i32", "i32", "i32"], "i32", 0),
    ("__nv_usad", &["i32", "i32", "i32"], "i32", 0),
];

const COUNT: usize = 256;

/// Numbers of a type: special ones, then random bits and random numbers of usual size.
fn inputs(ty: ir::Type, random: &mut Random) -> Vec<u64> {
    let bits = ty.scalar_bits().unwrap_or(64);
    let mut values: Vec<u64> = match ty.as_float() {
        Some(kind) => [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-40, 1e30, -1e9, 200_000.0]
            .into_iter()
            .chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 88.5, -103.0])
            .map(|value| ir::scalar::float_bits(kind, value))
            .collect(),
        None => [0, 1, u64::MAX, 1 << (bits - 1), 24, 0x7520].to_vec(),
    };
    while values.len() < COUNT {
        let word = random.word();
        values.push(match ty.as_float() {
            Some(kind) if !word.is_multiple_of(3) => {
                let small = (word >> 16) as i64 % 4_000_000;
                ir::scalar::float_bits(kind, small as f64 / 65_537.0)
            }
            _ => ir::scalar::truncate(bits, word),
        });
    }
    // Pairs of special numbers meet in different ways.
    let by = random.word() as usize % COUNT;
    values.rotate_left(by);
    values.iter().map(|value| ir::scalar::truncate(bits, *value)).collect()
}

fn kernel(symbol: &str, operands: &[&str], result: &str) -> String {
    let mut params: Vec<String> =
        operands.iter().enumerate().map(|(index, ty)| format!("%p{index}: !tt.ptr<{ty}>")).collect();
    params.push(format!("%q: !tt.ptr<{result}>"));
    let mut text = format!("tt.func public @kernel({}) {{\n", params.join(", "));
    text += &format!("%r = tt.make_range {{end = {COUNT} : i32, start = 0 : i32}} : tensor<{COUNT}xi32>\n");
    let pointers = |name: &str, ty: &str| {
        format!(
            "%{name}s = tt.splat %{name} : !tt.ptr<{ty}> -> tensor<{COUNT}x!tt.ptr<{ty}>>\n\
             %{name}a = tt.addptr %{name}s, %r : tensor<{COUNT}x!tt.ptr<{ty}>>, tensor<{COUNT}xi32>\n"
        )
    };
    for (index, ty) in operands.iter().enumerate() {
        text += &pointers(&format!("p{index}"), ty);
        text += &format!("%v{index} = tt.load %p{index}a : tensor<{COUNT}x!tt.ptr<{ty}>>\n");
    }
    let values: Vec<String> = (0..operands.len()).map(|index| format!("%v{index}")).collect();
    let types: Vec<String> = operands.iter().map(|ty| format!("tensor<{COUNT}x{ty}>")).collect();
    text += &format!(
        "%f = tt.extern_elementwise {} {{libname = \"\", libpath = \"\", pure = true, symbol = \"{symbol}\"}} : ({}) -> tensor<{COUNT}x{result}>\n",
        values.join(", "),
        types.join(", ")
    );
    text += &pointers("q", result);
    text + &format!("tt.store %qa, %f : tensor<{COUNT}x!tt.ptr<{result}>>\ntt.return\n}}\n")
}

#[test]
fn functions_of_libraries_agree_with_the_interpreter() {
    let mut random = Random::new(7);
    let mut failures = Vec::new();
    for (symbol, operands, result, ulp) in FUNCTIONS {
        let text = kernel(symbol, operands, result);
        let module = ir::text::parse(&text, ttir::registry(), Default::default()).unwrap();
        let entry = module.entry(module.region(module.symbol("kernel").unwrap(), 0));
        let types: Vec<ir::Type> =
            module.args(entry).iter().map(|arg| ttir::types::pointee(module.ty(*arg)).unwrap()).collect();
        let mut args: Vec<Argument> = Vec::new();
        for ty in &types[..operands.len()] {
            let mut values = inputs(*ty, &mut random);
            if *symbol == "__nv_ldexpf" && ty.as_int().is_some() {
                values.iter_mut().for_each(|value| *value = ((*value as i32) % 300) as u32 as u64);
            }
            args.push(Argument::Buffer(bytes_of(&values, *ty)));
        }
        let last = types[operands.len()];
        args.push(Argument::Buffer(vec![0; COUNT * last.scalar_bits().unwrap() as usize / 8]));
        let want = Interpreter.run(&module, "kernel", [1; 3], &args).unwrap();
        let spread = Way::Spread(Spread { num_warps: 2, vector: 2, column_major: false, num_ctas: 1 });
        let (capability, way) = if operands.len() == 1 { (90, Way::Passes(4, 1)) } else { (80, spread) };
        let found = Emulated::new(capability, way).run(&module, "kernel", [1; 3], &args);
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                failures.push(format!("{symbol}: {}", error.lines().next().unwrap_or_default()));
                continue;
            }
        };
        let index = operands.len();
        let [expected, got] = [&want, &found].map(|ran| values_of(&ran.buffers[index], last));
        let ty = ttir::types::tensor(&[COUNT as i64], last);
        if let Some(text) = difference(&expected, &got, ty, Tolerance { ulp: *ulp, absolute: 0.0 }) {
            let at: usize = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
            let given: Vec<u64> = args[..index]
                .iter()
                .zip(&types)
                .filter_map(|(arg, ty)| match arg {
                    Argument::Buffer(bytes) => Some(values_of(bytes, *ty)[at]),
                    Argument::Bits(_) => None,
                })
                .collect();
            failures.push(format!("{symbol} of {given:x?}: {text}"));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
