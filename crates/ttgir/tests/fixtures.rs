//! The fixtures in `tests/ttgir`: text in, text out. `BLESS=1` rewrites what is expected.
//!
//! Line 1 is the command, as in the fixtures of ttir: `// test text` compares what is printed with what is behind
//! `// expect`; `// test verify` expects errors, each as `// error: words` on the line that errs.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::path::{Path, PathBuf};

const MARK: &str = "// expect\n";

/// The errors of a program, as line and message.
fn errors(text: &str) -> Result<ir::Module, Vec<(usize, String)>> {
    let module = parse(text, ttgir::registry(), ParseOptions { file: Some("f") })
        .map_err(|error| vec![(error.line as usize, error.message)])?;
    let line = |place: &str| place.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
    let found = |error: ir::Diagnostic| (error.place.as_deref().map_or(0, line), error.message);
    ir::verify(&module).map_err(|errors| errors.into_iter().map(found).collect::<Vec<_>>())?;
    Ok(module)
}

fn expect_errors(text: &str) -> Result<(), String> {
    let found = errors(text).err().unwrap_or_default();
    let wanted: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter_map(|(line, content)| Some((line + 1, content.split_once("// error: ")?.1)))
        .collect();
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

/// What a program prints to. The text must read back, in both forms.
fn printed(text: &str) -> Result<String, String> {
    let module = errors(text).map_err(|errors| format!("{errors:?}"))?;
    for options in [PrintOptions::default(), PrintOptions { generic: true, ..PrintOptions::PLAIN }] {
        let once = print(&module, options);
        let again = errors(&once).map_err(|errors| format!("{errors:?}\n{once}"))?;
        let twice = print(&again, PrintOptions { locations: false, ..options });
        let plain = print(&module, PrintOptions { locations: false, ..options });
        if twice != plain {
            return Err(format!("prints to another text when it is read back:\n{twice}"));
        }
    }
    Ok(print(&module, PrintOptions::PLAIN))
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
    match text.lines().next().and_then(|line| line.strip_prefix("// test ")) {
        Some("verify") => expect_errors(&text),
        Some("text") => {
            let found = printed(input)?;
            if found == expected {
                Ok(())
            } else if std::env::var_os("BLESS").is_some() {
                let text = format!("{}\n\n{MARK}{found}", input.trim_end());
                std::fs::write(path, text).map_err(|error| error.to_string())
            } else {
                Err(format!("prints to:\n{found}"))
            }
        }
        command => Err(format!("unknown command {command:?}")),
    }
}

#[test]
fn fixtures_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ttgir");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["text", "verify"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
        files.extend(entries.map(|entry| entry.expect("a readable folder").path()));
    }
    files.sort();
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| check(path).err().map(|error| format!("{}: {error}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(files.len() > 5, "only {} fixtures were found", files.len());
}
