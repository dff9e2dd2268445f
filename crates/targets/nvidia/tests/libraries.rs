//! Functions of maths libraries agree with the interpreter, special numbers and random ones.

mod emulated;
mod support;

use emulated::Emulated;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{Random, library_functions};

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
