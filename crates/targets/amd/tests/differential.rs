//! Random programs give the same on the emulated devices as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod emulated;

use amdgcn_isa::Arch;
use emulated::Emulated;
use ttir::testing::{Differential, Engine, Tolerance};

type Way = (Arch, u32, bool);

/// Architectures with warps of a program, and whether arrays are known to be less than 2 GiB.
const WAYS: [Way; 7] = [
    (Arch::Gfx942, 4, true),
    (Arch::Gfx1100, 2, true),
    (Arch::Gfx90a, 1, false),
    (Arch::Gfx1200, 4, true),
    (Arch::Gfx950, 2, true),
    (Arch::Gfx1100, 8, false),
    (Arch::Gfx942, 8, true),
];

/// What errors say of programs that are too large.
const REFUSALS: [&str; 2] = ["bytes of shared memory, and there are", "the kernel is too large"];

#[test]
fn random_programs_agree_with_the_interpreter() {
    let check = Differential {
        programs: 40,
        ways: &|seed, _| vec![WAYS[(seed % 7) as usize]],
        run: &|(arch, warps, near), program| {
            let mut engine = Emulated { arch, warps, near };
            match engine.run(&program.module, program.kernel, program.grid, &program.args) {
                // What does not fit is refused, and nothing of it runs.
                Err(error) if REFUSALS.iter().any(|text| error.contains(text)) => Ok(None),
                ran => ran.map(Some),
            }
        },
        tolerance: |mut tolerance| {
            if tolerance != Tolerance::default() {
                // Elementary functions give zero for what is denormal.
                tolerance.absolute = tolerance.absolute.max(f64::from(f32::MIN_POSITIVE));
            }
            tolerance
        },
    };
    check.check().unwrap_or_else(|report| panic!("{report}"));
}
