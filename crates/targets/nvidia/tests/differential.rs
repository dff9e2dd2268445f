//! Random programs give the same compiled as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod emulated;
mod support;

use emulated::Emulated;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{Differential, Engine, Program, Tolerance};

const WAYS: [(u32, Way); 8] = [
    (90, Way::Passes(4, 1)),
    (90, Way::Spread(Spread { num_warps: 4, vector: 2, column_major: false, num_ctas: 1 })),
    (80, Way::Passes(1, 1)),
    (80, Way::Spread(Spread { num_warps: 2, vector: 4, column_major: true, num_ctas: 1 })),
    (90, Way::Passes(2, 2)),
    (90, Way::Spread(Spread { num_warps: 1, vector: 2, column_major: false, num_ctas: 4 })),
    (90, Way::Passes(1, 8)),
    (90, Way::Spread(Spread { num_warps: 2, vector: 1, column_major: true, num_ctas: 2 })),
];

/// What errors say of programs that are too large.
const REFUSALS: [&str; 2] = ["bytes of shared memory, and there are", "the kernel is too large"];

/// The way for a seed. Descriptors and dots with scales are rewritten by passes.
fn way(seed: u64, program: &Program) -> (u32, Way) {
    let rewritten = [&ttir::ops::descriptor::MAKE, &ttir::ops::dot::DOT_SCALED];
    let ops = program.module.walk(program.module.top());
    let needs_passes = ops.into_iter().any(|op| rewritten.iter().any(|row| program.module.is(op, row)));
    WAYS[if needs_passes { seed % 4 * 2 } else { seed / 2 % 8 } as usize]
}

#[test]
fn random_programs_agree_with_the_interpreter() {
    let check = Differential {
        programs: 40,
        ways: &|seed, program| vec![way(seed, program)],
        run: &|(capability, way), program| {
            let mut engine = Emulated::new(capability, way);
            match engine.run(&program.module, program.kernel, program.grid, &program.args) {
                // What does not fit is refused, and nothing of it runs.
                Err(error) if REFUSALS.iter().any(|text| error.contains(text)) => Ok(None),
                ran => ran.map(Some),
            }
        },
        tolerance: |mut tolerance| {
            if tolerance != Tolerance::default() {
                // `exp` and `exp2` give zero for what is denormal.
                tolerance.absolute = tolerance.absolute.max(f64::from(f32::MIN_POSITIVE));
            }
            tolerance
        },
    };
    check.check().unwrap_or_else(|report| panic!("{report}"));
}
