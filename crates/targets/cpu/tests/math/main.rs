//! The accuracy of the generated maths functions, their special values, and that they call nothing.

mod oracle;
mod special;
#[cfg(target_arch = "x86_64")]
mod underflow;

#[path = "../native/mod.rs"]
mod native;

use cpu::loader::LoadedObject;
use cpu::math::MathConfig;
use llvm::{Llvm, Output};
use maths::{Elem, FUNCTIONS, MathFn, NONPOSITIVE, SPECIAL};
use native::{Isa, Random};
use std::fmt::Write as _;

/// All rows with bounds of their own.
fn rows() -> impl Iterator<Item = &'static MathFn> {
    FUNCTIONS.iter().chain(NONPOSITIVE)
}

/// A loop over arrays for every function: `run_<name>_<elem>(x, y, to, count)`.
fn module(config: MathConfig, lanes: [u32; 2]) -> String {
    module_of(rows(), config, lanes)
}

fn module_of(rows: impl Iterator<Item = &'static MathFn>, config: MathConfig, lanes: [u32; 2]) -> String {
    let mut module = llir::Module::new("maths");
    let mut text = String::new();
    for row in rows {
        for (elem, lanes) in [(Elem::F32, lanes[0]), (Elem::F64, lanes[1])] {
            maths::function(&mut module, &config, row.name, (elem, lanes)).expect("a known function");
            let symbol = maths::function_name(row.name, elem, lanes);
            let (element, ty) = (elem.float(), elem.float().with_lanes(lanes));
            let second = if row.arity == 2 { format!(", {ty} %vy") } else { String::new() };
            let _ = write!(
                text,
                "define void @run_{}_{}(ptr %x, ptr %y, ptr %to, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr {element}, ptr %x, i64 %i
  %py = getelementptr {element}, ptr %y, i64 %i
  %vx = load {ty}, ptr %px, align 4
  %vy = load {ty}, ptr %py, align 4
  %r = call {ty} @{symbol}({ty} %vx{second})
  %pt = getelementptr {element}, ptr %to, i64 %i
  store {ty} %r, ptr %pt, align 4
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}
",
                row.name,
                elem.suffix()
            );
        }
    }
    module.attach_text("loops", &text);
    module.to_string()
}

fn config(isa: &Isa) -> MathConfig {
    MathConfig { has_fma: isa.has_fma, avx512: isa.vectors.0 == 64, avx: isa.vectors.0 >= 32 }
}

struct Compiled {
    object: LoadedObject,
    name: &'static str,
}

fn compile(isa: &Isa, lanes: [u32; 2]) -> Compiled {
    Compiled { object: native::load(&module(config(isa), lanes), isa), name: isa.name }
}

fn native_lanes(isa: &Isa) -> [u32; 2] {
    [isa.vectors.0 / 4, isa.vectors.0 / 8]
}

/// The most lanes that a test uses; arrays are filled up to a multiple of it.
const MOST_LANES: usize = 64;

fn run<T: Copy + Default>(compiled: &Compiled, name: &str, elem: Elem, x: &[T], y: &[T]) -> Vec<T> {
    let padded = x.len().next_multiple_of(MOST_LANES);
    let fill = |values: &[T]| {
        let mut values = values.to_vec();
        values.resize(padded, T::default());
        values
    };
    let (x_all, y_all, mut to) = (fill(x), fill(y), vec![T::default(); padded]);
    let address = compiled.object.symbol(&format!("run_{name}_{}", elem.suffix())).expect("it is defined");
    type Loop = extern "C" fn(*const u8, *const u8, *mut u8, u64);
    // SAFETY: the symbol is a loop of this type, and the arrays are a multiple of the lanes long.
    let function = unsafe { std::mem::transmute::<usize, Loop>(address) };
    function(x_all.as_ptr().cast(), y_all.as_ptr().cast(), to.as_mut_ptr().cast(), padded as u64);
    to.truncate(x.len());
    to
}

/// The distance of `got` from the exact value in units of the last place of a format.
fn ulps(got: f64, want: oracle::Pair, mantissa: i32, smallest: i32, largest: f64) -> f64 {
    if want.high.is_nan() || got.is_nan() {
        return if want.high.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() || want.high.is_infinite() {
        // Beyond the largest number either neighbour will do.
        let same = want.high.abs() >= largest && got.abs() >= largest && got.signum() == want.high.signum();
        return if same { 0.0 } else { f64::INFINITY };
    }
    let exponent = if want.high == 0.0 { -2000 } else { want.high.abs().log2().floor() as i32 };
    let unit = (exponent - mantissa).max(smallest);
    let difference = (got - want.high) - want.low;
    let half = unit / 2;
    (difference / 2f64.powi(half) / 2f64.powi(unit - half)).abs()
}

fn ulps_f32(got: f32, want: oracle::Pair) -> f64 {
    ulps(f64::from(got), want, 23, -149, f64::from(f32::MAX))
}

fn ulps_f64(got: f64, want: oracle::Pair) -> f64 {
    ulps(got, want, 52, -1074, f64::MAX)
}

/// Values at which formulas change or overflow.
const EDGES: &[f64] = &[
    0.0,
    1.0,
    0.5,
    0.6,
    0.625,
    0.93,
    0.41421356,
    2.0,
    3.0,
    4.0,
    6.0,
    1e-3,
    1e-8,
    1e-20,
    std::f64::consts::FRAC_PI_2,
    10.0,
    38.0,
    88.0,
    88.72,
    88.73,
    89.4,
    89.5,
    103.9,
    104.0,
    127.0,
    128.0,
    149.0,
    150.0,
    151.0,
    308.0,
    323.0,
    700.0,
    709.78,
    709.79,
    710.0,
    710.47,
    710.48,
    745.13,
    745.14,
    1023.0,
    1024.0,
    1074.0,
    1075.0,
    131072.0,
    131073.0,
    1048576.0,
    1e-38,
    1e-40,
    1e-45,
    3e38,
    1e-308,
    1e-310,
    5e-324,
    1e300,
    1.7e308,
];

/// Arguments of a function in which it has neither of its trivial values.
fn interesting(row: &MathFn, random: &mut Random) -> f64 {
    let (low, high) = match row.name {
        "exp" | "expm1" => (-750.0, 712.0),
        "exp_nonpositive" => (-750.0, 0.0),
        "exp2" => (-1080.0, 1026.0),
        "exp2_nonpositive" => (-1080.0, 0.0),
        "exp10" => (-325.0, 309.0),
        "sinh" | "cosh" => (-712.0, 712.0),
        "tanh" | "erf" => (-7.0, 7.0),
        "asin" | "acos" | "atanh" => (-1.0, 1.0),
        "erfc" => (-7.0, 28.0),
        "pow" | "fmod" => (-1e4, 1e4),
        _ => (-50.0, 50.0),
    };
    let x = random.between(low, high);
    // Half of them with a narrower range: singles and formulas for small values.
    if random.bits().is_multiple_of(2) { x } else { x * random.between(0.0, 0.15) }
}

/// Whether a function may be given an argument.
fn takes(name: &str, x: f64) -> bool {
    x <= 0.0 || !NONPOSITIVE.iter().any(|row| row.name == name)
}

/// Special values and the trigonometric functions of large arguments have tests of their own.
fn oracle_holds(name: &str, x: f64, y: f64) -> bool {
    if name == "nextafter" {
        return false;
    }
    takes(name, x)
        && x.is_finite()
        && y.is_finite()
        && (!matches!(name, "sin" | "cos" | "tan") || x.abs() < 1e6)
}

fn check_f32(compiled: &Compiled, row: &MathFn, x: &[f32], y: &[f32]) {
    let got = run(compiled, row.name, Elem::F32, x, y);
    for (index, &got) in got.iter().enumerate() {
        let (x, y) = (f64::from(x[index]), f64::from(y[index]));
        if !oracle_holds(row.name, x, y) {
            continue;
        }
        let distance = ulps_f32(got, oracle::value(row.name, x, y));
        assert!(
            distance <= row.accuracy_ulp.0,
            "{} {}({x:e}, {y:e}) f32 is {got:e}, {distance:.3} units off",
            compiled.name,
            row.name
        );
    }
}

fn check_f64(compiled: &Compiled, row: &MathFn, x: &[f64], y: &[f64]) {
    let got = run(compiled, row.name, Elem::F64, x, y);
    for (index, &got) in got.iter().enumerate() {
        let (x, y) = (x[index], y[index]);
        if !oracle_holds(row.name, x, y) {
            continue;
        }
        let want = oracle::value(row.name, x, y);
        // The oracle is not exact next to subnormal results.
        if want.high != 0.0 && want.high.abs() < 1e-280 {
            continue;
        }
        let distance = ulps_f64(got, want);
        assert!(
            distance <= row.accuracy_ulp.1,
            "{} {}({x:e}, {y:e}) f64 is {got:e}, {distance:.3} units off",
            compiled.name,
            row.name
        );
    }
}

#[test]
fn errors_stay_within_the_bounds_of_the_table() {
    let mut random = Random::fresh();
    for isa in native::isas() {
        let compiled = compile(&isa, native_lanes(&isa));
        for row in rows() {
            let mut x: Vec<f64> = EDGES.iter().flat_map(|&edge| [edge, -edge]).collect();
            x.extend((0..1000).map(|_| interesting(row, &mut random)));
            let mut y = x.clone();
            for index in (1..y.len()).rev() {
                y.swap(index, (random.bits() % (index as u64 + 1)) as usize);
            }
            check_f64(&compiled, row, &x, &y);
            let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
            check_f32(&compiled, row, &narrow(&x), &narrow(&y));
        }
    }
}

#[test]
fn singles_are_right_over_all_bit_patterns() {
    let mut random = Random::fresh();
    for isa in native::isas() {
        let compiled = compile(&isa, native_lanes(&isa));
        for row in rows() {
            // Every 2^20th pattern, from a random one on.
            let start = random.bits() as u32;
            let x: Vec<f32> =
                (0..1u32 << 12).map(|step| f32::from_bits(start.wrapping_add(step << 20))).collect();
            let y: Vec<f32> = x.iter().map(|_| f32::from_bits(random.bits() as u32)).collect();
            check_f32(&compiled, row, &x, &y);
        }
    }
}

/// The size of a function around an argument, whose unit counts: where it has zeros, more than its value.
fn size_around(name: &str, x: f64, value: f64) -> f64 {
    match name {
        "j0" | "j1" | "y0" | "y1" => value.abs().max((std::f64::consts::FRAC_2_PI / x.abs()).sqrt().min(1.0)),
        "lgamma" if x < 0.0 => value.abs().max(1.0),
        _ => value.abs(),
    }
}

#[test]
fn singles_of_special_functions_are_rounded_doubles() {
    let mut random = Random::fresh();
    let special = || SPECIAL.iter().filter(|row| row.arity == 1);
    for isa in native::isas() {
        let lanes = native_lanes(&isa);
        let object = native::load(&module_of(special(), config(&isa), lanes), &isa);
        let compiled = Compiled { object, name: isa.name };
        for row in special() {
            let start = random.bits() as u32;
            let mut x: Vec<f32> =
                (0..1u32 << 14).map(|step| f32::from_bits(start.wrapping_add(step << 18))).collect();
            for reach in [1.0, 12.0, 50.0, 200.0] {
                x.extend((0..1 << 13).map(|_| random.between(-reach, reach) as f32));
            }
            let wide: Vec<f64> = x.iter().copied().map(f64::from).collect();
            let got = run(&compiled, row.name, Elem::F32, &x, &x);
            let want = run(&compiled, row.name, Elem::F64, &wide, &wide);
            for ((&x, got), want) in wide.iter().zip(got).zip(want) {
                let got = f64::from(got);
                // Below zero it has poles at whole numbers.
                let is_pole = x < 0.0 && x.fract() == 0.0;
                let undefined = row.name == "tgamma" && !x.is_nan() && (got.is_nan() || want.is_nan());
                assert!(!undefined || is_pole || x == f64::NEG_INFINITY, "{} tgamma({x:e})", compiled.name);
                if same(got, want) || same(got, f64::from(want as f32)) {
                    continue;
                }
                let size = size_around(row.name, x, want).max(f64::from(f32::MIN_POSITIVE));
                let distance = (got - want).abs() / 2f64.powi(size.log2().floor() as i32 - 23);
                assert!(
                    distance <= row.accuracy_ulp.0,
                    "{} {}({x:e}) is {got:e} as a single, {want:e} as a double, {distance:.3} units off",
                    compiled.name,
                    row.name
                );
            }
        }
    }
}

#[test]
fn the_double_next_to_a_multiple_of_half_pi_is_reduced() {
    let x = 6_381_956_970_095_103.0 * 2f64.powi(797);
    for isa in native::isas() {
        let compiled = compile(&isa, native_lanes(&isa));
        let got = run(&compiled, "cos", Elem::F64, &[x], &[x])[0];
        // The exact value is -4.68716592425462761112…e-19.
        assert!(ulps_f64(got, (-4.687_165_924_254_628e-19).into()) <= 1.0, "{} {got:e}", isa.name);
    }
}

#[test]
fn angles_of_any_size_are_reduced() {
    let mut random = Random::fresh();
    // A single next to a multiple of pi/2, the largest double, and powers of two.
    let mut x = vec![f64::MAX, 1e22, 16_367_173.0 * 2f64.powi(72)];
    x.extend((17..1024).map(|exponent| 2f64.powi(exponent)));
    x.extend((0..4000).map(|_| 2f64.powf(random.between(15.0, 1023.0)) * random.between(-1.0, 1.0)));
    for isa in native::isas() {
        let compiled = compile(&isa, native_lanes(&isa));
        type Function = fn(f64) -> f64;
        let reference: [(&str, Function); 3] = [("sin", f64::sin), ("cos", f64::cos), ("tan", f64::tan)];
        for (name, function) in reference {
            let row = maths::find(name).expect("it is in the table");
            for (&x, got) in x.iter().zip(run(&compiled, name, Elem::F64, &x, &x)) {
                // The standard library's own error is below one unit.
                let distance = ulps_f64(got, function(x).into());
                assert!(distance <= row.accuracy_ulp.1 + 1.0, "{} {name}({x:e}): {distance}", isa.name);
            }
            let singles: Vec<f32> =
                x.iter().map(|&x| x as f32).filter(|x| x.is_finite()).chain([f32::MAX]).collect();
            for (&x, got) in singles.iter().zip(run(&compiled, name, Elem::F32, &singles, &singles)) {
                let distance = ulps_f32(got, function(f64::from(x)).into());
                assert!(distance <= row.accuracy_ulp.0, "{} {name}({x:e}) f32: {distance}", isa.name);
            }
        }
    }
}

fn same(got: f64, want: f64) -> bool {
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

#[test]
fn the_next_float_is_the_neighbour() {
    let mut random = Random::fresh();
    let mut x: Vec<f64> = (0..500).map(|_| f64::from_bits(random.bits())).collect();
    x.extend([0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, -5e-324]);
    let y: Vec<f64> = x.iter().map(|_| f64::from_bits(random.bits())).collect();
    let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
    for isa in native::isas() {
        let compiled = compile(&isa, native_lanes(&isa));
        for (index, got) in run(&compiled, "nextafter", Elem::F64, &x, &y).into_iter().enumerate() {
            let (x, y) = (x[index], y[index]);
            let want = match x.partial_cmp(&y) {
                None => f64::NAN,
                Some(std::cmp::Ordering::Less) => x.next_up(),
                Some(std::cmp::Ordering::Equal) => y,
                Some(std::cmp::Ordering::Greater) => x.next_down(),
            };
            assert!(same(got, want), "{} nextafter({x:e}, {y:e}): {got:e}, not {want:e}", isa.name);
        }
        let (x, y) = (narrow(&x), narrow(&y));
        for (index, got) in run(&compiled, "nextafter", Elem::F32, &x, &y).into_iter().enumerate() {
            let (x, y) = (x[index], y[index]);
            let want = match x.partial_cmp(&y) {
                None => f32::NAN,
                Some(std::cmp::Ordering::Less) => x.next_up(),
                Some(std::cmp::Ordering::Equal) => y,
                Some(std::cmp::Ordering::Greater) => x.next_down(),
            };
            assert!(same(got.into(), want.into()), "{} nextafter({x:e}, {y:e}): {got:e}", isa.name);
        }
    }
}

#[test]
fn special_values_are_exact() {
    let singles = special::VALUES.iter().map(|&(name, x, want)| (name, x, 0.0, want));
    let all: Vec<(&str, f64, f64, f64)> = singles.chain(special::PAIRS.iter().copied()).collect();
    for isa in native::isas() {
        for lanes in [[1, 1], native_lanes(&isa)] {
            let compiled = compile(&isa, lanes);
            for &(name, x, y, want) in &all {
                let got = run(&compiled, name, Elem::F64, &[x], &[y])[0];
                assert!(same(got, want), "{} {name}({x:e}, {y:e}) f64: {got:e}, not {want:e}", isa.name);
                let got = run(&compiled, name, Elem::F32, &[x as f32], &[y as f32])[0];
                let want = want as f32;
                assert!(
                    same(f64::from(got), f64::from(want)),
                    "{} {name}({x:e}, {y:e}) f32: {got:e}, not {want:e}",
                    isa.name
                );
            }
        }
    }
}

#[test]
fn every_lane_count_gives_the_same_bits() {
    let mut random = Random::fresh();
    let x: Vec<f64> = (0..MOST_LANES * 4)
        .map(|index| if index % 5 == 0 { f64::from_bits(random.bits()) } else { random.between(-9.0, 9.0) })
        .collect();
    let y: Vec<f64> = x.iter().rev().copied().collect();
    let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
    let (x_f32, y_f32) = (narrow(&x), narrow(&y));
    for isa in native::isas() {
        // The instruction that scales on AVX-512 rounds like the two factors, so lane counts without it agree.
        let scalar = compile(&isa, [1, 1]);
        for lanes in [[2, 4], [8, 2], [64, 16]] {
            let wide = compile(&isa, lanes);
            for row in rows() {
                let (a, b) = (
                    run(&scalar, row.name, Elem::F32, &x_f32, &y_f32),
                    run(&wide, row.name, Elem::F32, &x_f32, &y_f32),
                );
                let agree = a.iter().zip(&b).all(|(&a, &b)| same(a.into(), b.into()));
                assert!(agree, "{} {} f32 with {lanes:?} lanes: {a:?} {b:?}", isa.name, row.name);
                let (a, b) =
                    (run(&scalar, row.name, Elem::F64, &x, &y), run(&wide, row.name, Elem::F64, &x, &y));
                let agree = a.iter().zip(&b).all(|(&a, &b)| same(a, b));
                assert!(agree, "{} {} f64 with {lanes:?} lanes", isa.name, row.name);
            }
        }
    }
}

#[test]
fn code_for_other_machines_calls_no_library() {
    let llvm = Llvm::load().expect("an LLVM is needed");
    let targets = [
        ("x86_64-unknown-linux-gnu", "x86-64", "", false, false, [4, 2], "call"),
        ("x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma", true, false, [8, 4], "call"),
        (
            "x86_64-unknown-linux-gnu",
            "x86-64",
            "+avx512f,+avx512vl,+avx512dq,+fma",
            true,
            true,
            [16, 8],
            "call",
        ),
        (
            "x86_64-unknown-linux-gnu",
            "x86-64",
            "+avx512f,+avx512vl,+avx512dq,+fma",
            true,
            true,
            [8, 4],
            "call",
        ),
        ("aarch64-unknown-linux-gnu", "generic", "+neon", true, false, [4, 2], "bl"),
    ];
    for (triple, cpu, features, has_fma, avx512, lanes, call) in targets {
        if !llvm.has_target(triple) {
            println!("this LLVM makes no code for {triple}");
            continue;
        }
        let text = module(MathConfig { has_fma, avx512, avx: features.contains("+avx") }, lanes);
        let output = Output { assembly: true, ..Output::default() };
        let spec = native::spec(triple, cpu, features);
        let compiled = llvm.compile(&text, &spec, native::PASSES, output).expect("it compiles");
        let assembly = compiled.assembly.expect("it was asked for");
        for line in assembly.lines() {
            let mut words = line.split_whitespace();
            let is_call = words.next().is_some_and(|word| word.trim_end_matches('q') == call);
            let callee = words.next().unwrap_or("");
            assert!(!is_call || callee.contains("dn.math."), "{triple} {features}: {line}");
        }
        assert_eq!(assembly.contains("scalef"), avx512, "{triple} {features}");
    }
}

#[test]
fn unknown_functions_and_lane_counts_are_refused() {
    let config = MathConfig::default();
    let mut module = llir::Module::new("maths");
    let error = maths::function(&mut module, &config, "gamma_of_nothing", (Elem::F32, 4)).unwrap_err();
    assert!(
        error.to_string().contains("`gamma_of_nothing`") && error.to_string().contains("tanh"),
        "{error}"
    );
    for lanes in [0, 3, 2048] {
        let refused = maths::function(&mut module, &config, "exp", (Elem::F32, lanes));
        assert_eq!(refused, Err(maths::MathError::Lanes(lanes)));
    }
}

#[test]
fn a_module_holds_each_function_once() {
    let config = MathConfig { has_fma: true, ..MathConfig::default() };
    let mut module = llir::Module::new("maths");
    for name in ["exp", "tanh", "exp", "erf"] {
        let id = maths::function(&mut module, &config, name, (Elem::F32, 8)).expect("a known function");
        assert_eq!(module.callee(id).name, maths::function_name(name, Elem::F32, 8));
    }
    let text = module.to_string();
    assert_eq!(text.matches("@dn.math.exp.v8f32(").count(), 1);
    assert_eq!(text.matches("declare <8 x float> @llvm.fma.v8f32").count(), 1);
    Llvm::load().expect("an LLVM is needed").check(&text).expect("it parses");
}
