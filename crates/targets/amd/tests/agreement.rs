//! Every fixture of the language gives on the emulator what it says, on every architecture.

mod emulated;

use amdgcn_isa::Arch;
use emulated::Emulated;
use std::path::Path;
use ttir::testing::check_file;

/// Architectures with warps of a program, and whether arrays are known to be less than 2 GiB.
const WAYS: [(Arch, u32, bool); 7] = [
    (Arch::Gfx942, 4, true),
    (Arch::Gfx1100, 2, true),
    (Arch::Gfx942, 1, false),
    (Arch::Gfx950, 4, true),
    (Arch::Gfx90a, 2, true),
    (Arch::Gfx1200, 4, false),
    (Arch::Gfx942, 8, true),
];

#[test]
fn fixtures_run_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut wrong, mut calls) = (Vec::new(), 0);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is there");
        for (arch, warps, near) in WAYS {
            let outcome = check_file(&text, &mut Emulated { arch, warps, near });
            calls += outcome.calls;
            wrong
                .extend(outcome.failures.iter().map(|failure| format!("{name}, {arch}, {warps}: {failure}")));
        }
    }
    assert!(calls > 0);
    assert!(wrong.is_empty(), "{} of {calls}\n{}", wrong.len(), wrong.join("\n"));
}
