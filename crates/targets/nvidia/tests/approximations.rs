//! What is made of approximate instructions: within two units in the last place, also at the ends of the format.

mod emulated;
mod support;

use emulated::Emulated;
use ir::text::{ParseOptions, parse};
use support::encode::Spread;
use support::ways::{Way, lowered};
use ttir::testing::{Argument, Engine, Random};

const COLUMNS: usize = 256;

/// A kernel whose programs read a row each, work on it and write a row.
fn on_rows(params: &str, work: &str) -> String {
    format!(
        "tt.func public @rows(%x: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, {params}%o: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
  %columns = arith.constant 256 : i32
  %row = tt.get_program_id x : i32
  %first = arith.muli %row, %columns : i32
  %at = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32>
  %firsts = tt.splat %first : i32 -> tensor<256xi32>
  %i = arith.addi %firsts, %at : tensor<256xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %xa = tt.addptr %xs, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %oa = tt.addptr %os, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %v = tt.load %xa : tensor<256x!tt.ptr<f32>>
  {work}
  tt.store %oa, %result : tensor<256x!tt.ptr<f32>>
  tt.return
}}"
    )
}

/// Each program divides its row by a number of its own.
const QUOTIENTS: &str = "%da = tt.addptr %d, %row : !tt.ptr<f32>, i32
  %divisor = tt.load %da : !tt.ptr<f32>
  %divisors = tt.splat %divisor : f32 -> tensor<256xf32>
  %result = arith.divf %v, %divisors : tensor<256xf32>";

/// Numbers at the ends of the format, and where the reciprocal of one would be denormal.
const EDGES: [u32; 14] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x807f_ffff,
    0x0080_0000,
    0x7e80_0000,
    0x7e80_0001,
    0xff00_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x3f80_0000,
    0xbf00_0001,
];

fn numbers(random: &mut Random, count: usize) -> Vec<f32> {
    let random = (0..count).map(|_| random.below(1 << 32) as u32);
    let edges = EDGES.iter().copied();
    edges.chain(random).take(count).map(f32::from_bits).collect()
}

fn buffer(numbers: &[f32]) -> Argument {
    Argument::Buffer(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

/// How many numbers of the format lie between two.
fn apart(a: f32, b: f32) -> i64 {
    let place = |number: f32| {
        let bits = i64::from(number.to_bits() & 0x7fff_ffff);
        if number.is_sign_negative() { -bits } else { bits }
    };
    (place(a) - place(b)).abs()
}

#[test]
fn one_divisor_for_many() {
    let module = parse(&on_rows("%d: !tt.ptr<f32>, ", QUOTIENTS), ttir::registry(), ParseOptions::default())
        .expect("a program");
    let mut random = Random::new(11);
    let divisors = numbers(&mut random, 40);
    let dividends: Vec<f32> = divisors.iter().flat_map(|_| numbers(&mut random, COLUMNS)).collect();
    let args = [buffer(&dividends), buffer(&divisors), buffer(&vec![0.0; dividends.len()])];
    let spread = Way::Spread(Spread { num_warps: 1, vector: 2, column_major: false, num_ctas: 1 });
    for way in [Way::Passes(1, 1), Way::Passes(4, 1), spread] {
        let text = lowered(&module, "rows", 90, way).expect("llir").module.to_string();
        assert!(!text.contains("div.full") && text.contains("rcp.approx.ftz"), "{text}");
        let ran = Emulated::new(90, way).run(&module, "rows", [divisors.len() as u32, 1, 1], &args);
        let ran = ran.unwrap_or_else(|error| panic!("{error}"));
        let found = ran.buffers.last().expect("the quotients").chunks_exact(4);
        for (at, bytes) in found.enumerate() {
            let found = f32::from_le_bytes(bytes.try_into().expect("four bytes"));
            let (dividend, divisor) = (dividends[at], divisors[at / COLUMNS]);
            let expected = (f64::from(dividend) / f64::from(divisor)) as f32;
            let fits = if expected.is_nan() { found.is_nan() } else { apart(found, expected) <= 2 };
            assert!(fits, "{dividend:e} / {divisor:e} is {found:e}, not {expected:e}: {way:?}");
        }
    }
}

/// Powers of e: any number, those around the ends of what fits, and those in between.
#[test]
fn powers_of_e() {
    const ROWS: usize = 40;
    let kernel = on_rows("", "%result = math.exp %v : tensor<256xf32>");
    let module = parse(&kernel, ttir::registry(), ParseOptions::default()).expect("a program");
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    let mut random = Random::new(seed);
    let mut exponents = numbers(&mut random, ROWS * COLUMNS / 4);
    for middle in [88.722_84_f32, -87.336_54, -103.972_08] {
        exponents.extend((0..500).map(|at| f32::from_bits(middle.to_bits() - 250 + at)));
    }
    exponents.resize_with(ROWS * COLUMNS, || {
        (random.below(1 << 24) as f32 / (1 << 24) as f32).mul_add(177.0, -88.0)
    });
    holds(&module, &exponents, f64::exp, |found, exact| apart(found, exact as f32) <= 2, seed);
}

/// One and a power of e has a reciprocal of one instruction; the reciprocal of another sum is a quotient.
#[test]
fn sigmoids() {
    const ROWS: usize = 8;
    let work = |divisor: &str| {
        format!(
            "%one = arith.constant dense<1.000000e+00> : tensor<256xf32>
  %minus = arith.negf %v : tensor<256xf32>
  %power = math.exp %minus : tensor<256xf32>
  %sum = arith.addf %one, {divisor} : tensor<256xf32>
  %result = arith.divf %one, %sum : tensor<256xf32>"
        )
    };
    let kernel = |divisor| {
        let text = on_rows("", &work(divisor));
        parse(&text, ttir::registry(), ParseOptions::default()).expect("a program")
    };
    let text = |module: &ir::Module| {
        lowered(module, "rows", 90, Way::Passes(4, 1)).expect("llir").module.to_string()
    };
    assert!(text(&kernel("%minus")).contains("div.full"));
    let module = kernel("%power");
    assert!(!text(&module).contains("div.full") && text(&module).contains("rcp.approx.ftz"));

    let seed = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    let mut random = Random::new(seed);
    let mut arguments = numbers(&mut random, ROWS * COLUMNS / 2);
    arguments.resize_with(ROWS * COLUMNS, || {
        (random.below(1 << 24) as f32 / (1 << 24) as f32).mul_add(200.0, -100.0)
    });
    // Two units of the power, half a unit of the sum, and one of the reciprocal, each of a number that is 2^23 or more.
    let fits = |found, exact: f64| (f64::from(found) / exact - 1.0).abs() <= 3.5 / f64::from(1 << 23);
    holds(&module, &arguments, |x| 1.0 / (1.0 + (-x).exp()), fits, seed);
}

/// Runs a function on rows of arguments; results that are below the normal numbers are zero.
fn holds(
    module: &ir::Module,
    arguments: &[f32],
    exact: impl Fn(f64) -> f64,
    is_near: impl Fn(f32, f64) -> bool,
    seed: u64,
) {
    let rows = (arguments.len() / COLUMNS) as u32;
    let args = [buffer(arguments), buffer(&vec![f32::NAN; arguments.len()])];
    let ran = Emulated::new(90, Way::Passes(4, 1)).run(module, "rows", [rows, 1, 1], &args);
    let ran = ran.unwrap_or_else(|error| panic!("{error}"));
    let found = ran.buffers.last().expect("the results").chunks_exact(4);
    for (bytes, &argument) in found.zip(arguments) {
        let found = f32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let exact = exact(f64::from(argument));
        let expected = exact as f32;
        let fits = if expected.is_nan() {
            found.is_nan()
        } else if expected < f32::MIN_POSITIVE {
            (0.0..=f32::MIN_POSITIVE).contains(&found)
        } else {
            is_near(found, exact)
        };
        assert!(fits, "of {argument:e} comes {found:e}, not {expected:e}; seed {seed}");
    }
}
