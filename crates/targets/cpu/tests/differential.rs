//! Random programs give the same compiled as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod engine;

use engine::Compiled;
use ttir::testing::{Differential, Engine};

/// Processors, and whether buffers may overlap.
const WAYS: [(&str, bool); 3] = [("native", false), ("x86-64", false), ("native", true)];

#[test]
fn random_programs_agree_with_the_interpreter() {
    let check = Differential {
        programs: 60,
        ways: &|_, _| WAYS.to_vec(),
        run: &|(arch, overlapping), program| {
            let mut engine = Compiled { arch, overlapping };
            engine.run(&program.module, program.kernel, program.grid, &program.args).map(Some)
        },
        tolerance: |tolerance| tolerance,
    };
    check.check().unwrap_or_else(|report| panic!("{report}"));
}
