//! Random programs give the same compiled as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod engine;

use engine::Compiled;
use ttir::testing::{Differential, Engine};

const PROCESSORS: [&str; 2] = ["native", "x86-64"];

#[test]
fn random_programs_agree_with_the_interpreter() {
    let check = Differential {
        programs: 60,
        ways: &|_, _| PROCESSORS.to_vec(),
        run: &|arch, program| {
            let mut engine = Compiled { arch };
            engine.run(&program.module, program.kernel, program.grid, &program.args).map(Some)
        },
        tolerance: |tolerance| tolerance,
    };
    check.check().unwrap_or_else(|report| panic!("{report}"));
}
