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

/// Functions of singles that are made of approximate instructions, each with the bound of its row; the interpreter's
/// results are rounded besides. A tangent ends with a reciprocal, and keeps the bound of the table of functions.
/// Doubles that begin with an approximate reciprocal or root are to be rounded as others are.
fn approximated() -> Vec<LibraryFunction> {
    let singles: Vec<LibraryFunction> =
        library_functions().into_iter().filter(LibraryFunction::is_single).collect();
    let find = |name: &str| singles.iter().find(|function| function.symbol == name).expect("it is known");
    let rows = maths::APPROXIMATE.iter();
    let mut all: Vec<LibraryFunction> =
        rows.map(|row| find(row.name).within((row.accuracy_ulp + 0.5) as u64)).collect();
    all.push(find("tan").clone());
    let by_doubles = ["j0", "j1", "y0", "y1"];
    all.extend(by_doubles.map(|name| find(name).within(1)));
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
