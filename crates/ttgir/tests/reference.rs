//! Programs that the reference wrote parse, verify, and print back as they were.
//!
//! `TTGIR_FOLDER` names another folder of such programs.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::path::Path;

fn check(text: &str) -> Result<(), String> {
    let module = parse(text, ttgir::registry(), ParseOptions { file: Some("f") })
        .map_err(|error| error.to_string())?;
    if let Err(errors) = ir::verify(&module) {
        return Err(errors.iter().map(|error| format!("{error}\n")).collect());
    }
    let printed = print(&module, PrintOptions::default());
    for (number, (ours, theirs)) in printed.lines().zip(text.lines()).enumerate() {
        if ours != theirs {
            return Err(format!("line {}\n  ours:   {ours}\n  theirs: {theirs}", number + 1));
        }
    }
    if printed == text { Ok(()) } else { Err("one text is longer".into()) }
}

#[test]
fn programs_of_the_reference_print_back() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ttgir/reference");
    let folder = std::env::var("TTGIR_FOLDER").unwrap_or(own.into());
    let mut failed = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(Path::new(&folder)).expect("the folder is there") {
        let path = entry.expect("a readable folder").path();
        if path.extension().is_none_or(|extension| extension != "ttgir") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&path).expect("a readable file");
        if let Err(error) = check(&text) {
            failed.push(format!("{}: {error}", path.display()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count > 10, "only {count} programs");
}
