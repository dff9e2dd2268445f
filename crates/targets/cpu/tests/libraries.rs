//! Functions of maths libraries agree with the interpreter, special numbers and random ones.

mod engine;

use engine::Compiled;
use ttir::testing::{Random, library_functions};

#[test]
fn functions_of_libraries_agree_with_the_interpreter() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut random = Random::new(7);
    let mut failures = Vec::new();
    for function in library_functions().iter().filter(|function| function.symbol.contains(&only)) {
        failures
            .extend(function.check(&mut Compiled { arch: "native", overlapping: false }, &mut random).err());
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
