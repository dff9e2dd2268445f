//! Random programs give the same on the emulated devices as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod emulated;

use amdgcn_isa::Arch;
use emulated::Emulated;
use ttir::testing::{Differential, Engine, Tolerance};

/// Architectures with warps of a program.
const WAYS: [(Arch, u32); 6] = [
    (Arch::Gfx942, 4),
    (Arch::Gfx1100, 2),
    (Arch::Gfx90a, 1),
    (Arch::Gfx1200, 4),
    (Arch::Gfx950, 2),
    (Arch::Gfx1100, 8),
];

#[test]
fn random_programs_agree_with_the_interpreter() {
    let check = Differential {
        programs: 40,
        ways: &|seed, _| vec![WAYS[(seed % 6) as usize]],
        run: &|(arch, warps), program| {
            let mut engine = Emulated { arch, warps };
            match engine.run(&program.module, program.kernel, program.grid, &program.args) {
                // What does not fit is refused, and nothing of it runs.
                Err(error) if error.contains("bytes of shared memory, and there are") => Ok(None),
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
