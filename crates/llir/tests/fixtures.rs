//! The fixtures in `tests/llir`: text in, a pass, text out. `BLESS=1` rewrites what is expected.
//!
//! Line 1 is `; test pass=NAME`, with one of the passes of the pipeline or `pipeline` for all of them.

use llir::passes::{PIPELINE, Pass, run};
use llir::{Module, read, verify};
use std::path::Path;

/// What stands before the expected text.
const EXPECT: &str = "\n; expect\n";

/// The functions of a printed module, without what is around them.
fn functions(module: &Module) -> String {
    let text = module.to_string();
    let start = text.find("define ").unwrap_or(text.len());
    let end = text.rfind("\n}\n").map_or(text.len(), |end| end + 3);
    text[start..end].to_owned()
}

fn passes(name: &str) -> Option<&'static [Pass]> {
    if name == "pipeline" {
        return Some(PIPELINE);
    }
    let at = PIPELINE.iter().position(|pass| pass.name == name)?;
    Some(&PIPELINE[at..=at])
}

/// What the pass makes of the text, and the name of the pass.
fn transformed(text: &str) -> Result<(String, String), String> {
    let command = text.lines().next().unwrap_or_default();
    let name = command.strip_prefix("; test pass=").ok_or("line 1 is no `; test pass=NAME`")?.trim();
    let passes = passes(name).ok_or_else(|| format!("there is no pass `{name}`"))?;
    let mut module = read(text).map_err(|error| error.to_string())?;
    verify(&module).map_err(|errors| errors[0].to_string())?;
    let printed = module.to_string();
    let again = read(&printed).map_err(|error| format!("read back: {error}\n{printed}"))?;
    if functions(&again) != functions(&module) {
        return Err(format!("what is read back differs:\n{}\n{}", functions(&module), functions(&again)));
    }
    run(&mut module, passes, &[], &mut |_, _| {});
    verify(&module).map_err(|errors| format!("behind the pass: {}\n{module}", errors[0]))?;
    Ok((name.to_owned(), functions(&module)))
}

#[test]
fn passes_make_what_the_fixtures_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/llir");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("one").path()).collect();
    paths.sort();
    let (mut failures, mut seen) = (Vec::new(), Vec::new());
    for path in paths {
        let whole = std::fs::read_to_string(&path).expect("a fixture");
        let (input, expected) = whole.split_once(EXPECT).unwrap_or((&whole, ""));
        match transformed(input) {
            Err(error) => failures.push(format!("{}: {error}", path.display())),
            Ok((name, found)) => {
                seen.push(name);
                if found != expected && std::env::var_os("BLESS").is_some() {
                    std::fs::write(&path, format!("{}{EXPECT}{found}", input.trim_end())).expect("written");
                } else if found != expected {
                    failures.push(format!("{}: found\n{found}\nexpected\n{expected}", path.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let missing = |pass: &&Pass| !seen.iter().any(|name| name == pass.name);
    let missing: Vec<&str> = PIPELINE.iter().filter(missing).map(|pass| pass.name).collect();
    assert!(missing.is_empty(), "no fixture in tests/llir is of {missing:?}");
}
