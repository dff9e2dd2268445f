//! The fixtures in `tests/ttir`: text in, text out. `BLESS=1` rewrites what is expected.
//!
//! Line 1 is the command: `// test text` compares what is printed with what is behind `// expect`; `// test verify`
//! expects errors, each as `// error: words` on the line that errs. The programs of every other fixture of block-level
//! code must print to a text that reads back to the same.

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

/// What a program prints to, without the outermost braces, which say nothing in a fixture. The text must read back.
fn printed(text: &str) -> Result<String, String> {
    let module = errors(text).map_err(|errors| format!("{errors:?}"))?;
    for options in [PrintOptions::default(), PrintOptions { generic: true, ..PrintOptions::PLAIN }] {
        let once = print(&module, options);
        let again =
            parse(&once, ttir::registry(), ParseOptions::default()).map_err(|error| error.to_string())?;
        if print(&again, options) != once {
            return Err("prints to another text when it is read back".into());
        }
    }
    let text = print(&module, PrintOptions::PLAIN);
    let inner = text.strip_prefix("module {\n").and_then(|text| text.strip_suffix("}\n")).unwrap_or(&text);
    Ok(inner.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect())
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let command = text.lines().next().and_then(|line| line.strip_prefix("// test "));
    let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
    match command {
        Some("verify") => expect_errors(&text),
        Some("text") => {
            let found = printed(input)?;
            if found == expected {
                Ok(())
            } else if std::env::var_os("BLESS").is_some() {
                let text = format!("{}\n\n{MARK}{found}", input.trim_end());
                std::fs::write(path, text).map_err(|error| error.to_string())
            } else {
                Err(format!("prints as something else:\n{found}"))
            }
        }
        _ if path.parent().is_some_and(|folder| folder.ends_with("reference")) => {
            let module = errors(&text).map_err(|errors| format!("{errors:?}"))?;
            if print(&module, PrintOptions::default()) == text {
                Ok(())
            } else {
                Err("does not print back".into())
            }
        }
        _ => printed(input).map(|_| ()),
    }
}

#[test]
fn fixtures_hold() {
    let mut files = Vec::new();
    for folder in ["ttir", "passes", "axis", "run"] {
        fixtures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder), &mut files);
    }
    files.sort();
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| check(path).err().map(|error| format!("{}: {error}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(files.len() > 10, "only {} fixtures were found", files.len());
}
