//! Fixtures and random programs, lowered, written as PTX and assembled. What cannot be lowered is not our business
//! here: the tests of the lowering see it.

use crate::lowering::encode::Spread;
use crate::lowering::ways::{Way, lowered};
use crate::support::{arch, try_assemble};
use nvidia::ptx::{Options, emit, optimize};
use std::path::Path;
use ttir::testing::{Argument, Engine, Interpreter, Profile, Ran, check_file, generate};

/// Each is tried for one of these.
const ARCHS: [(u32, &str); 3] = [(90, "sm_90a"), (80, "sm_80"), (120, "sm_120a")];

struct Assembled(usize);

impl Engine for Assembled {
    fn name(&self) -> &str {
        "assembly"
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        assembled(module, kernel, self.0)?;
        self.0 += 1;
        Interpreter.run(module, kernel, grid, args)
    }
}

fn assembled(module: &ir::Module, kernel: &str, turn: usize) -> Result<(), String> {
    let (capability, name) = ARCHS[turn % ARCHS.len()];
    let num_ctas = if capability < 90 { 1 } else { 1 << (turn / ARCHS.len() % 4) };
    let spread =
        Spread { num_warps: 4, vector: 1 + 3 * (turn as u32 % 2), column_major: turn % 4 > 1, num_ctas };
    let way = if turn.is_multiple_of(2) { Way::Passes(4, num_ctas) } else { Way::Spread(spread) };
    let Ok(mut lowered) = lowered(module, kernel, capability, way) else { return Ok(()) };
    optimize(&mut lowered.module, &mut |_, _| {});
    llir::verify(&lowered.module).map_err(|errors| format!("{}\n{}", errors[0], lowered.module))?;
    let ptx = emit(&lowered.module, &Options::new(arch(name)));
    let ptx = ptx.map_err(|errors| format!("{}\n{}", errors[0], lowered.module))?;
    if std::env::var_os("SHOW").is_some() {
        println!("{}\n{}", lowered.module, ptx.text);
    }
    try_assemble(&ptx.text, arch(name)).map(|_| ())
}

#[test]
fn fixtures_are_assembled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let mut failures = Vec::new();
    let mut engine = Assembled(0);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("one").path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a fixture");
        let outcome = check_file(&text, &mut engine);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        failures.extend(outcome.failures.iter().map(|failure| format!("{name}: {failure}")));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn random_programs_are_assembled() {
    let mut failures = Vec::new();
    for seed in 100..130 {
        let program = generate(seed, if seed % 4 == 0 { Profile::PLAIN } else { Profile::ALL });
        if let Err(error) = assembled(&program.module, program.kernel, seed as usize) {
            failures.push(format!("{seed}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
