//! Random programs give the same on the emulated devices as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod emulated;

use amdgcn_isa::Arch;
use emulated::Emulated;
use ir::text::{PrintOptions, print};
use std::collections::BTreeMap;
use ttir::testing::{
    Engine, Interpreter, Profile, Program, Tolerance, difference, generate, shrink, values_of,
};

/// Architectures with warps of a program.
const WAYS: [(Arch, u32); 6] = [
    (Arch::Gfx942, 4),
    (Arch::Gfx1100, 2),
    (Arch::Gfx90a, 1),
    (Arch::Gfx1200, 4),
    (Arch::Gfx950, 2),
    (Arch::Gfx1100, 8),
];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// What both engines make of a program differs, or one fails.
fn compare(program: &Program, (arch, warps): (Arch, u32)) -> Result<(), String> {
    let run =
        |engine: &mut dyn Engine| engine.run(&program.module, program.kernel, program.grid, &program.args);
    let expected = run(&mut Interpreter).map_err(|error| format!("interpreter: {error}"))?;
    let found = match run(&mut Emulated { arch, warps }) {
        // What does not fit is refused, and nothing of it runs.
        Err(error) if error.contains("bytes of shared memory, and there are") => return Ok(()),
        found => found?,
    };
    for output in &program.outputs {
        let mut tolerance = output.tolerance;
        if tolerance != Tolerance::default() {
            // Elementary functions give zero for what is denormal.
            tolerance.absolute = tolerance.absolute.max(f64::from(f32::MIN_POSITIVE));
        }
        let [want, got] = [&expected, &found].map(|ran| values_of(&ran.buffers[output.buffer], output.ty));
        if let Some(text) = difference(&want, &got, output.ty, tolerance) {
            return Err(format!("wrong result of {}: {text}", output.ty));
        }
    }
    Ok(())
}

/// An error without what differs from program to program: wrong results of one type are of one kind.
fn kind(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = if line.starts_with("wrong result") { line.split(':').next().unwrap_or(line) } else { line };
    line.chars().filter(|character| !character.is_ascii_digit()).collect()
}

#[test]
fn random_programs_agree_with_the_interpreter() {
    let first = number("FIRST", 0);
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for seed in first..first + number("PROGRAMS", 40) {
        let profile = if seed.is_multiple_of(4) { Profile::PLAIN } else { Profile::ALL };
        let program = generate(seed, profile);
        let way = WAYS[(seed % 6) as usize];
        let Err(error) = compare(&program, way) else { continue };
        let known = failures.entry(kind(&error)).or_default();
        if known.is_empty() {
            write_smallest(&program, way, &error, seed);
        }
        known.push(format!("seed {seed}, {way:?}: {}", error.lines().next().unwrap_or_default()));
    }
    let report: Vec<String> =
        failures.values().map(|all| format!("{} times, first: {}", all.len(), all[0])).collect();
    assert!(report.is_empty(), "{} kinds of failures\n{}", report.len(), report.join("\n"));
}

fn write_smallest(program: &Program, way: (Arch, u32), error: &str, seed: u64) {
    let Some(folder) = std::env::var_os("SHRINK") else { return };
    let wanted = kind(error);
    let small =
        shrink(program, &mut |smaller| compare(smaller, way).is_err_and(|error| kind(&error) == wanted));
    let now = compare(&small, way).err().unwrap_or_default();
    let now = now.lines().next().unwrap_or_default();
    let text = format!("// {way:?}: {now}\n{}", print(&small.module, PrintOptions::PLAIN));
    let path = std::path::Path::new(&folder).join(format!("seed{seed}.ttir"));
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
