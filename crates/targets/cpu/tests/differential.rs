//! Random programs give the same compiled as interpreted.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the smallest program of each kind of failure.

mod engine;

use engine::Compiled;
use ir::text::{PrintOptions, print};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use ttir::testing::{Engine, Interpreter, Profile, Program, Ran, difference, generate, shrink, values_of};

const PROCESSORS: [&str; 2] = ["native", "x86-64"];

/// Where the last panic was; a panic of the compiler is a failure like others here.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn run(engine: &mut dyn Engine, program: &Program) -> Result<Ran, String> {
    let attempt =
        AssertUnwindSafe(|| engine.run(&program.module, program.kernel, program.grid, &program.args));
    catch_unwind(attempt).unwrap_or_else(|_| Err(PANIC.lock().map(|text| text.clone()).unwrap_or_default()))
}

/// What both engines make of a program differs, or one fails.
fn compare(program: &Program, arch: &'static str) -> Result<(), String> {
    let expected = run(&mut Interpreter, program).map_err(|error| format!("interpreter: {error}"))?;
    let found = run(&mut Compiled { arch }, program)?;
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
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut text) = PANIC.lock() {
            *text = info.to_string().replace('\n', " ");
        }
    }));
    let first = number("FIRST", 0);
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for seed in first..first + number("PROGRAMS", 60) {
        let profile = if seed.is_multiple_of(4) { Profile::PLAIN } else { Profile::ALL };
        let program = generate(seed, profile);
        for arch in PROCESSORS {
            let Err(error) = compare(&program, arch) else { continue };
            let known = failures.entry(kind(&error)).or_default();
            if known.is_empty() {
                write_smallest(&program, arch, &error, seed);
            }
            known.push(format!("seed {seed}, {arch}: {error}"));
        }
    }
    let _ = std::panic::take_hook();
    let report: Vec<String> =
        failures.values().map(|all| format!("{} times, first: {}", all.len(), all[0])).collect();
    assert!(report.is_empty(), "{} kinds of failures\n{}", report.len(), report.join("\n"));
}

fn write_smallest(program: &Program, arch: &'static str, error: &str, seed: u64) {
    let Some(folder) = std::env::var_os("SHRINK") else { return };
    let wanted = kind(error);
    let small =
        shrink(program, &mut |smaller| compare(smaller, arch).is_err_and(|error| kind(&error) == wanted));
    let now = compare(&small, arch).err().unwrap_or_default();
    let text = format!("// {arch}: {now}\n{}", print(&small.module, PrintOptions::PLAIN));
    let path = std::path::Path::new(&folder).join(format!("seed{seed}-{arch}.ttir"));
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
