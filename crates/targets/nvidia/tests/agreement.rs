//! Every fixture of the language gives on the emulator what it says, whatever the layout.

mod emulated;
mod support;

use emulated::Emulated;
use std::path::Path;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::check_file;

const WAYS: [(u32, Way); 7] = [
    (90, Way::Spread(Spread { num_warps: 4, vector: 1, column_major: false, num_ctas: 1 })),
    (80, Way::Spread(Spread { num_warps: 1, vector: 4, column_major: true, num_ctas: 1 })),
    (90, Way::Passes(4, 1)),
    (80, Way::Passes(2, 1)),
    (90, Way::Passes(4, 2)),
    (90, Way::Spread(Spread { num_warps: 2, vector: 2, column_major: true, num_ctas: 2 })),
    (90, Way::Passes(1, 4)),
];

/// What passes rewrite, and is only lowered behind them.
const REWRITTEN: &[&str] = &[
    "any_shape_descriptor.ttir",
    "descriptor.ttir",
    "descriptor_reduce.ttir",
    "written_descriptors.ttir",
    "dot.ttir",
    "dot_group.ttir",
    "dot_scaled.ttir",
    "dot_scaled_stack.ttir",
    "dot_scaled_wide.ttir",
];

/// Reductions, where the first of many warps combines what all have.
#[test]
fn reductions_by_many_warps() {
    let text = include_str!("../../../../tests/run/combine.ttir");
    for num_warps in [8, 16] {
        let way = Way::Spread(Spread { num_warps, vector: 1, column_major: false, num_ctas: 1 });
        let outcome = check_file(text, &mut Emulated::new(90, way));
        assert!(
            outcome.calls > 0 && outcome.failures.is_empty(),
            "{num_warps} warps: {:?}",
            outcome.failures
        );
    }
}

#[test]
fn fixtures_run_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut failures, mut calls) = (Vec::new(), 0);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for (capability, way) in WAYS {
            if REWRITTEN.contains(&name.as_str()) && matches!(way, Way::Spread(_)) {
                continue;
            }
            let outcome = check_file(&text, &mut Emulated::new(capability, way));
            calls += outcome.calls;
            failures.extend(
                outcome.failures.iter().map(|failure| format!("{name}, sm_{capability}, {way:?}: {failure}")),
            );
        }
    }
    assert!(calls > 0);
    assert!(failures.is_empty(), "{} failures of {calls}\n{}", failures.len(), failures.join("\n"));
}
