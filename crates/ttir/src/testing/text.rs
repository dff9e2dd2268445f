//! Fixtures of text: what a program prints to, and the errors that it has.
//!
//! Line 1 is the command: `// test text` compares what is printed with what is behind `// expect`; `// test verify`
//! expects errors, each as `// error: words` on the line that errs. The program of any other fixture must print to a
//! text that reads back to the same; one of a folder `reference` prints to itself. `BLESS=1` rewrites what is expected.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use ir::{Diagnostic, Module, Registry};
use std::path::Path;

const MARK: &str = "// expect\n";

/// A program, or its errors as line and message.
fn parsed(text: &str, registry: &'static Registry) -> Result<Module, Vec<(usize, String)>> {
    let module = parse(text, registry, ParseOptions { file: Some("f") })
        .map_err(|error| vec![(error.line as usize, error.message)])?;
    let line = |place: &str| place.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
    let found = |error: Diagnostic| (error.place.as_deref().map_or(0, line), error.message);
    ir::verify(&module).map_err(|errors| errors.into_iter().map(found).collect::<Vec<_>>())?;
    Ok(module)
}

fn expect_errors(text: &str, registry: &'static Registry) -> Result<(), String> {
    let found = parsed(text, registry).err().unwrap_or_default();
    let lines = text.lines().enumerate();
    let wanted: Vec<(usize, &str)> =
        lines.filter_map(|(line, content)| Some((line + 1, content.split_once("// error: ")?.1))).collect();
    let fits = |&(at, words): &(usize, &str), (line, message): &(usize, String)| {
        at == *line && message.contains(words)
    };
    if let Some((line, message)) = found.iter().find(|found| !wanted.iter().any(|wanted| fits(wanted, found)))
    {
        return Err(format!("line {line}: this error is not expected: {message}"));
    }
    match wanted.iter().find(|wanted| !found.iter().any(|found| fits(wanted, found))) {
        Some((line, words)) => Err(format!("line {line}: does not err with: {words}")),
        None => Ok(()),
    }
}

/// What a program prints to, without outermost braces that say nothing. The text must read back, in both forms.
fn printed(text: &str, registry: &'static Registry) -> Result<String, String> {
    let module = parsed(text, registry).map_err(|errors| format!("{errors:?}"))?;
    for options in [PrintOptions::default(), PrintOptions { generic: true, ..PrintOptions::PLAIN }] {
        let once = print(&module, options);
        let again = parsed(&once, registry).map_err(|errors| format!("{errors:?}\n{once}"))?;
        let twice = print(&again, PrintOptions { locations: false, ..options });
        if twice != print(&module, PrintOptions { locations: false, ..options }) {
            return Err(format!("prints to another text when it is read back:\n{twice}"));
        }
    }
    let text = print(&module, PrintOptions::PLAIN);
    let Some(inner) = text.strip_prefix("module {\n").and_then(|text| text.strip_suffix("}\n")) else {
        return Ok(text);
    };
    Ok(inner.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect())
}

/// Whether a fixture holds.
///
/// # Errors
/// Says what it does instead.
pub fn check_text(path: &Path, registry: &'static Registry) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
    match text.lines().next().and_then(|line| line.strip_prefix("// test ")) {
        Some("verify") => expect_errors(&text, registry),
        Some("text") => {
            let found = printed(input, registry)?;
            if found == expected {
                Ok(())
            } else if std::env::var_os("BLESS").is_some() {
                let text = format!("{}\n\n{MARK}{found}", input.trim_end());
                std::fs::write(path, text).map_err(|error| error.to_string())
            } else {
                Err(format!("prints to:\n{found}"))
            }
        }
        _ if path.parent().is_some_and(|folder| folder.ends_with("reference")) => {
            let module = parsed(&text, registry).map_err(|errors| format!("{errors:?}"))?;
            let is_same = print(&module, PrintOptions::default()) == text;
            if is_same { Ok(()) } else { Err("does not print back".into()) }
        }
        _ => printed(input, registry).map(drop),
    }
}

/// Checks all fixtures of some folders below a folder, and those below them.
///
/// # Panics
/// With what the fixtures do that do not hold, or where there are too few.
pub fn check_texts(root: &Path, folders: &[&str], registry: &'static Registry) {
    let mut folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let (mut failures, mut count) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            count += 1;
            if let Err(error) = check_text(&path, registry) {
                failures.push(format!("{}: {error}", path.display()));
            }
        }
    }
    failures.sort();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 5, "only {count} fixtures were found");
}
