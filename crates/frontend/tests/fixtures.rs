//! Runs every file of `tests/frontend`: Python text in, ttir or errors out.
//!
//! The first lines say what to compile: `# test kernel=NAME signature="*fp32:16, i32, 64"`, with `debug` for device
//! assertions. The ttir stands behind `# expect` at the end, and is read back and printed again. Where lines end in
//! `# error: TEXT` (or `# warning: TEXT`) the compile must report TEXT on that line, and no other errors anywhere.
//! `BLESS=1` rewrites what is expected.

use frontend::{Compiled, Diagnostic, Facts, FileGlobals, Kind, Options, Request};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXPECT: &str = "# expect\n";

/// What one `# test` line asks for.
struct Test<'a> {
    kernel: &'a str,
    signature: &'a str,
    debug: bool,
}

fn parse_test(line: &str) -> Test<'_> {
    let word = |name: &str, end: char| {
        let start = line.find(name).unwrap_or_else(|| panic!("no {name} in: {line}")) + name.len();
        line[start..].split(end).next().unwrap_or_default()
    };
    Test {
        kernel: word("kernel=", ' '),
        signature: word("signature=\"", '"'),
        debug: line.ends_with(" debug"),
    }
}

fn facts() -> Facts {
    Facts {
        backend: "cpu".into(),
        arch: "x86_64".into(),
        warp_size: 1,
        default_dot_precision: "ieee".into(),
        allowed_dot_precisions: vec!["ieee".into(), "tf32".into()],
        fp8_dtypes: vec!["fp8e5".into(), "fp8e4nv".into(), "fp8e4b15".into()],
        fp8e4b15_warning: None,
        min_dot_size: [1, 1, 1],
    }
}

fn compile(
    name: &str,
    source: &str,
    test: &Test<'_>,
    print: &dyn Fn(&str),
) -> Result<Compiled, Vec<Diagnostic>> {
    let globals = FileGlobals::new(name, source).map_err(|error| vec![error])?;
    let function =
        globals.function(test.kernel).unwrap_or_else(|| panic!("{name}: no kernel {}", test.kernel));
    let signature = test.signature.replace('\'', "\"");
    let args = frontend::signature::parse(&signature).unwrap_or_else(|error| panic!("{name}: {error}"));
    let options = Options { debug: test.debug, ..Options::default() };
    frontend::compile(&Request {
        globals: &globals,
        function,
        symbol: None,
        args,
        facts: facts(),
        options,
        print,
    })
}

/// Texts that stand behind a mark, with their line.
fn marked(source: &str, mark: &str) -> Vec<(u32, String)> {
    let lines = source.lines().enumerate();
    lines
        .filter_map(|(index, line)| Some((index as u32 + 1, line.split_once(mark)?.1.trim().to_string())))
        .collect()
}

fn check_reports(name: &str, source: &str, mark: &str, reports: &[Diagnostic]) {
    let mut left: Vec<&Diagnostic> = reports.iter().collect();
    for (line, text) in marked(source, mark) {
        let found = left.iter().position(|report| {
            report.place.as_ref().is_some_and(|place| place.line == line) && report.message.contains(&text)
        });
        match found {
            Some(index) => {
                left.remove(index);
            }
            None => {
                panic!("{name}:{line}: expected `{mark}{text}`, found:\n{}", frontend::render_all(reports))
            }
        }
    }
    assert!(
        left.is_empty(),
        "{name}: unexpected reports:\n{}",
        left.iter().map(|r| r.render()).collect::<String>()
    );
    for report in reports {
        assert!(
            report.place.is_some()
                && report.render().contains(&report.message.lines().next().unwrap_or("")[..1])
        );
    }
}

fn printed(name: &str, compiled: &Compiled) -> String {
    let text = ir::text::print(&compiled.module, ir::text::PrintOptions::PLAIN);
    let again = ir::text::parse(&text, ttir::registry(), ir::text::ParseOptions::default())
        .unwrap_or_else(|error| panic!("{name}: the printed ttir does not parse: {error:?}\n{text}"));
    let second = ir::text::print(&again, ir::text::PrintOptions::PLAIN);
    assert_eq!(text, second, "{name}: printing what was parsed gives another text");
    text
}

fn run(path: &Path) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let whole = std::fs::read_to_string(path).expect("a fixture is readable");
    let (source, expected) = whole.split_once(EXPECT).unwrap_or((&whole, ""));
    let mut found = String::new();
    let mut warnings = Vec::new();
    for line in source.lines().take_while(|line| line.starts_with("# test ")) {
        let test = parse_test(line);
        let said = RefCell::new(String::new());
        match compile(name, source, &test, &|text| said.borrow_mut().push_str(text)) {
            Ok(compiled) => {
                assert!(
                    marked(source, "# error: ").is_empty(),
                    "{name}: compiled, though errors are expected"
                );
                for text in printed(name, &compiled).lines() {
                    let _ = writeln!(found, "# {text}");
                }
                for text in said.borrow().lines() {
                    let _ = writeln!(found, "# printed: {text}");
                }
                warnings.extend(compiled.warnings);
            }
            Err(errors) => {
                assert!(errors.iter().all(|error| error.kind != Kind::Warning));
                check_reports(name, source, "# error: ", &errors);
            }
        }
    }
    check_reports(name, source, "# warning: ", &warnings);
    if found == expected {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{}\n\n{EXPECT}{found}", source.trim_end()))
            .expect("a fixture is writable");
        return;
    }
    panic!("{name}: expected\n{expected}\nfound\n{found}\nBLESS=1 accepts what was found");
}

#[test]
fn fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frontend");
    let entries = std::fs::read_dir(&folder).expect("the fixtures are there");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    assert!(paths.len() > 10, "too few fixtures in {}", folder.display());
    paths.iter().for_each(|path| run(path));
}
