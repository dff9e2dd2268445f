//! The fixtures in `tests/ttir`: text in, text out. `BLESS=1` rewrites what is expected.
//!
//! Line 1 is the command: `// test pass=inline,canonicalize` runs passes and compares what is behind `// expect`;
//! `// test text` compares what is printed; `// test verify` expects errors, each as `// error: words` on the line that
//! errs. Whatever is valid must also print to a text that reads back to the same.

use ir::pass::{PassRow, Verify, by_names, run};
use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::path::{Path, PathBuf};

const MARK: &str = "// expect\n";

fn fixtures(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            fixtures(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ttir") {
            files.push(path);
        }
    }
}

/// The errors of a program, as line and message.
fn errors(text: &str) -> Result<ir::Module, Vec<(usize, String)>> {
    let module = parse(text, ttir::registry(), ParseOptions { file: Some("f") })
        .map_err(|error| vec![(error.line as usize, error.message)])?;
    let line = |place: &str| place.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
    let found = |error: ir::Diagnostic| (error.place.as_deref().map_or(0, line), error.message);
    ir::verify(&module).map_err(|errors| errors.into_iter().map(found).collect::<Vec<_>>())?;
    Ok(module)
}

fn expect_errors(text: &str) -> Result<(), String> {
    let found = errors(text).err().unwrap_or_default();
    let wanted = text
        .lines()
        .enumerate()
        .filter_map(|(line, content)| Some((line + 1, content.split_once("// error: ")?.1)));
    let wanted: Vec<(usize, &str)> = wanted.collect();
    for (line, message) in &found {
        if !wanted.iter().any(|(at, words)| at == line && message.contains(words)) {
            return Err(format!("line {line}: this error is not expected: {message}"));
        }
    }
    match wanted
        .iter()
        .find(|(line, words)| !found.iter().any(|(at, message)| at == line && message.contains(words)))
    {
        Some((line, words)) => Err(format!("line {line}: does not err with: {words}")),
        None => Ok(()),
    }
}

fn transform(text: &str, passes: &[&'static PassRow]) -> Result<String, String> {
    let mut module = errors(text).map_err(|errors| format!("{errors:?}"))?;
    let before = print(&module, PrintOptions::PLAIN);
    run(&mut module, passes, Verify::Each, &mut ()).map_err(|errors| errors[0].to_string())?;
    let after = print(&module, PrintOptions::PLAIN);
    for text in [before, after.clone()] {
        let again =
            parse(&text, ttir::registry(), ParseOptions::default()).map_err(|error| error.to_string())?;
        assert_eq!(print(&again, PrintOptions::PLAIN), text, "printed a second time");
    }
    // The outermost braces say nothing in a fixture.
    let inner = after.strip_prefix("module {\n").and_then(|text| text.strip_suffix("}\n")).unwrap_or(&after);
    Ok(inner.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect())
}

fn known_passes() -> Vec<&'static PassRow> {
    ir::passes::ALL.to_vec()
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let Some(command) = text.lines().next().and_then(|line| line.strip_prefix("// test ")) else {
        return expect_round_trip(&text);
    };
    if command == "verify" {
        return expect_errors(&text);
    }
    let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
    let names = if command == "text" { Some("") } else { command.strip_prefix("pass=") };
    let names = names.ok_or_else(|| format!("`{command}` is not a command"))?;
    let passes = by_names(names, &known_passes()).map_err(|error| error.to_string())?;
    let found = transform(input, &passes)?;
    if found == expected {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        let input = input.trim_end();
        return std::fs::write(path, format!("{input}\n\n{MARK}{found}")).map_err(|error| error.to_string());
    }
    let line = found.lines().zip(expected.lines()).find(|(ours, theirs)| ours != theirs);
    Err(format!("gives something else; the first line that differs: {line:?}\n{found}"))
}

fn expect_round_trip(text: &str) -> Result<(), String> {
    let module = errors(text).map_err(|errors| format!("{errors:?}"))?;
    if print(&module, PrintOptions::default()) == text { Ok(()) } else { Err("does not print back".into()) }
}

#[test]
fn fixtures_hold() {
    let mut files = Vec::new();
    fixtures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ttir"), &mut files);
    files.sort();
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| check(path).err().map(|error| format!("{}: {error}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(files.len() > 10, "only {} fixtures were found", files.len());
}
