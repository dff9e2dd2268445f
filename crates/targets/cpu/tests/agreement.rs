//! Compiled code does what the interpreter does on every fixture with a call. Random programs: `differential.rs`.

mod engine;

use engine::Compiled;
use std::path::Path;
use ttir::testing::check_file;

fn check_folder(arch: &'static str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let mut failures = Vec::new();
    let mut calls = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // What is printed goes to the process's own output.
        if path.extension().is_none_or(|extension| extension != "ttir") || path.ends_with("debug.ttir") {
            continue;
        }
        let outcome = check_file(&text, &mut Compiled { arch, overlapping: false });
        calls += outcome.calls;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        failures.extend(outcome.failures.iter().map(|failure| format!("{name}:{failure}")));
    }
    assert!(failures.is_empty(), "{arch}: {} of {calls}\n{}", failures.len(), failures.join("\n"));
    assert!(calls > 100);
}

#[test]
fn fixtures_hold_on_this_processor() {
    check_folder("native");
}

#[test]
fn fixtures_hold_without_wide_vectors() {
    check_folder("x86-64");
}
