//! Functions of maths libraries agree with the interpreter, special numbers and random ones.

mod emulated;
mod support;

use emulated::{Approximate, Emulated};
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{COUNT, Engine, Interpreter, LibraryFunction, Random, library_functions};

#[test]
fn functions_of_libraries_agree_with_the_interpreter() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut random = Random::new(7);
    let mut failures = Vec::new();
    for function in library_functions().iter().filter(|function| function.symbol.contains(&only)) {
        let spread = Way::Spread(Spread { num_warps: 2, vector: 2, column_major: false, num_ctas: 1 });
        let (capability, way) = if function.arity() == 1 { (90, Way::Passes(4, 1)) } else { (80, spread) };
        failures.extend(function.check(&mut Emulated::new(capability, way), &mut random).err());
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Functions of singles that are made of approximate instructions, each with the bound of its row; the interpreter's
/// results are rounded besides. A tangent ends with a reciprocal, and keeps the bound of the table of functions.
fn approximated() -> Vec<LibraryFunction> {
    let singles: Vec<LibraryFunction> =
        library_functions().into_iter().filter(LibraryFunction::is_single).collect();
    let find = |name: &str| singles.iter().find(|function| function.symbol == name).expect("it is known");
    let rows = maths::APPROXIMATE.iter();
    let mut all: Vec<LibraryFunction> =
        rows.map(|row| find(row.name).within((row.accuracy_ulp + 0.5) as u64)).collect();
    all.push(find("tan").clone());
    all
}

#[test]
fn functions_stay_within_bounds_whatever_approximate_instructions_do() {
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    let mut random = Random::new(seed);
    let mut failures = Vec::new();
    for function in approximated() {
        for approximate in [Approximate::Rounded, Approximate::Worst(1), Approximate::Worst(-1)] {
            let mut engine = Emulated { approximate, ..Emulated::new(90, Way::Passes(4, 1)) };
            for _ in 0..10 {
                failures.extend(function.check(&mut engine, &mut random).err());
            }
        }
    }
    assert!(failures.is_empty(), "seed {seed}: {} failures\n{}", failures.len(), failures.join("\n"));
}

/// Bessel functions that are made of approximate instructions, with the bounds of their rows.
fn waves() -> Vec<(LibraryFunction, f64)> {
    let functions: Vec<LibraryFunction> =
        library_functions().into_iter().filter(LibraryFunction::is_single).collect();
    let names = ["j0", "j1", "y0", "y1"];
    let rows = maths::APPROXIMATE.iter().filter(|row| names.contains(&row.name));
    let find =
        |name: &str| functions.iter().find(|function| function.symbol == name).expect("it is known").clone();
    rows.map(|row| (find(row.name), row.accuracy_ulp)).collect()
}

/// The zeros of the functions below 8, as singles, and the ends of what they are made of.
const PLACES: [f32; 13] = [
    2.404_825_7,
    5.520_078,
    3.831_706,
    7.015_587,
    0.893_577,
    3.957_678_3,
    7.086_051,
    2.197_141_4,
    5.429_681,
    2.8,
    3.4,
    8.0,
    131_072.0,
];

/// Singles for such a function: special ones, neighbours of places, and random ones of every size, most from 0 to 30.
fn arguments(random: &mut Random) -> Vec<u64> {
    let special =
        [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, 1.8e-39, 1.2e-38, f32::MAX, -1.0];
    let mut all: Vec<f32> = special.to_vec();
    let near = |place: f32, steps: u64| f32::from_bits(place.to_bits() + steps as u32 - 8);
    all.extend(PLACES.iter().flat_map(|place| [0, 1].map(|_| near(*place, random.word() % 17))));
    while all.len() < COUNT {
        let word = random.word();
        let part = (word >> 40) as f32 / 16_777_216.0;
        all.push(match word % 4 {
            0 => f32::from_bits((word >> 20) as u32),
            1 => 30.0 * part,
            2 => 8.0 * part,
            _ => (part * 60.0 - 30.0).exp2(),
        });
    }
    all.iter().map(|number| u64::from(number.to_bits())).collect()
}

/// How far a result is from another one, in units of the last place, from 8 on of what a wave is at most. The other one
/// is rounded.
fn distance(x: f32, want: f32, found: f32) -> f64 {
    if want.to_bits() == found.to_bits() || want == found || want.is_nan() && found.is_nan() {
        return 0.0;
    }
    let size = match x.abs() {
        x if x < 8.0 => want.abs().max(f32::MIN_POSITIVE),
        x => (std::f32::consts::FRAC_2_PI / x).sqrt(),
    };
    let unit = f64::from(f32::from_bits(size.to_bits() & 0x7f80_0000)) * 2f64.powi(-23);
    (f64::from(want) - f64::from(found)).abs() / unit - 0.5
}

#[test]
fn bessel_functions_keep_their_precision_next_to_zeros() {
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    let mut random = Random::new(seed);
    for (function, bound) in waves() {
        for approximate in [Approximate::Rounded, Approximate::Worst(1), Approximate::Worst(-1)] {
            let mut engine = Emulated { approximate, ..Emulated::new(90, Way::Passes(4, 1)) };
            for _ in 0..10 {
                let given = [arguments(&mut random)];
                let [want, found] = [&mut Interpreter as &mut dyn Engine, &mut engine]
                    .map(|engine| function.run(engine, &given).expect("it runs"));
                for ((x, want), found) in given[0].iter().zip(want).zip(found) {
                    let [x, want, found] = [*x, want, found].map(|bits| f32::from_bits(bits as u32));
                    let off = distance(x, want, found);
                    let name = function.symbol;
                    assert!(
                        off <= bound,
                        "seed {seed}: {name}({x:e}) is {found:e}, not {want:e}: {off} units"
                    );
                }
            }
        }
    }
}
