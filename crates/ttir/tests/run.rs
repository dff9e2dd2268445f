//! The fixtures in `tests/run`: what calls give, by the interpreter. `BLESS=1` rewrites the expected values.

use std::path::{Path, PathBuf};
use ttir::testing::{Interpreter, bless, check_file};

fn fixtures() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/run");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ttir"))
        .collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn calls_give_what_the_fixtures_say() {
    let update = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    let mut calls = 0;
    for (path, text) in fixtures() {
        let outcome = check_file(&text, &mut Interpreter);
        calls += outcome.calls;
        if update {
            std::fs::write(&path, bless(&text, &outcome)).unwrap();
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        failures.extend(outcome.failures.iter().map(|failure| format!("{name}:{failure}")));
    }
    assert!(failures.is_empty() || update, "{}", failures.join("\n"));
    assert!(calls > 100, "only {calls} calls were made");
}

#[test]
fn every_operation_is_in_a_fixture() {
    let text: String = fixtures().into_iter().map(|(_, text)| text).collect();
    // Instructions of a target have no meaning here; files are only written with braces.
    let exempt = ["tt.elementwise_inline_asm", "builtin.module"];
    let missing: Vec<&str> = ttir::registry()
        .ops()
        .iter()
        .map(|row| row.name)
        .filter(|name| !exempt.contains(name) && !contains_word(&text, name))
        .collect();
    assert!(missing.is_empty(), "no fixture in tests/run runs {missing:?}");
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        text[at + word.len()..]
            .chars()
            .next()
            .is_none_or(|next| !next.is_alphanumeric() && next != '_' && next != '.')
    })
}
