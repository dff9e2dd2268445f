//! Fixtures and random programs are lowered to valid llir, whatever the layout.

mod support;

use std::path::Path;
use support::encode::Spread;
use support::engine::lowered;
use ttir::testing::{Argument, Engine, Interpreter, Profile, Ran, check_file, generate};

struct Checked(Spread);

impl Engine for Checked {
    fn name(&self) -> &str {
        "lowering"
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let lowered = lowered(module, kernel, 90, self.0)?;
        if std::env::var_os("SHOW").is_some() {
            println!("{}", lowered.module);
        }
        Interpreter.run(module, kernel, grid, args)
    }
}

const SPREADS: [Spread; 2] = [
    Spread { num_warps: 4, vector: 1, column_major: false },
    Spread { num_warps: 2, vector: 4, column_major: true },
];

#[test]
fn fixtures_become_valid_llir() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for spread in SPREADS {
            let outcome = check_file(&text, &mut Checked(spread));
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            failures.extend(outcome.failures.iter().map(|failure| format!("{name}: {failure}")));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn random_programs_become_valid_llir() {
    let mut failures = Vec::new();
    for seed in 0..40 {
        let program = generate(seed, if seed % 4 == 0 { Profile::PLAIN } else { Profile::ALL });
        if let Err(error) = lowered(&program.module, program.kernel, 90, SPREADS[seed as usize % 2]) {
            failures.push(format!("{seed}: {}", error.lines().next().unwrap_or_default()));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
