//! Random programs give the same compiled as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod emulated;
mod support;

use emulated::Emulated;
use ir::text::{PrintOptions, print};
use std::collections::BTreeMap;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{Engine, Interpreter, Profile, Program, difference, generate, shrink, values_of};

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

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// What both engines make of a program differs, or one fails.
fn compare(program: &Program, (capability, way): (u32, Way)) -> Result<(), String> {
    let run =
        |engine: &mut dyn Engine| engine.run(&program.module, program.kernel, program.grid, &program.args);
    let expected = run(&mut Interpreter).map_err(|error| format!("interpreter: {error}"))?;
    let found = run(&mut Emulated::new(capability, way))?;
    for output in &program.outputs {
        let [want, got] = [&expected, &found].map(|ran| values_of(&ran.buffers[output.buffer], output.ty));
        if let Some(text) = difference(&want, &got, output.ty, output.tolerance) {
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
        // Descriptors are rewritten by passes.
        let has_descriptors = program
            .module
            .walk(program.module.top())
            .into_iter()
            .any(|op| program.module.is(op, &ttir::ops::descriptor::MAKE));
        let way = WAYS[if has_descriptors { seed % 4 * 2 } else { seed / 2 % 8 } as usize];
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

fn write_smallest(program: &Program, way: (u32, Way), error: &str, seed: u64) {
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
