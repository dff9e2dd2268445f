//! Functions of maths libraries agree with the interpreter, special numbers and random ones.

mod emulated;
mod support;

use emulated::{Approximate, Emulated};
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{LibraryFunction, Random, library_functions};

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

/// Functions that are made of approximate instructions and leave room for what those are off. (Powers of e and ten are
/// one instruction and a correction.)
const APPROXIMATED: &[&str] = &[
    "tanh", "sinh", "cosh", "log", "log2", "log10", "log1p", "asinh", "acosh", "atanh", "atan", "asin",
    "acos", "erfc", "normcdf", "erfinv", "pow", "cbrt", "tan",
];

#[test]
fn functions_stay_within_bounds_whatever_approximate_instructions_do() {
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    let mut random = Random::new(seed);
    let functions = library_functions();
    let approximated = |function: &&LibraryFunction| APPROXIMATED.contains(&function.symbol);
    let mut failures = Vec::new();
    let mut count = 0;
    for function in functions.iter().filter(approximated) {
        for approximate in [Approximate::Rounded, Approximate::Worst(1), Approximate::Worst(-1)] {
            let mut engine = Emulated { approximate, ..Emulated::new(90, Way::Passes(4, 1)) };
            for _ in 0..10 {
                failures.extend(function.check(&mut engine, &mut random).err());
                count += 1;
            }
        }
    }
    assert!(
        count > 0 && failures.is_empty(),
        "seed {seed}: {} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}
