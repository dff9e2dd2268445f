//! The fixtures in `tests/nvidia`: llir in, PTX out, which is assembled too. `BLESS=1` rewrites what is expected.
//!
//! Line 1 is `; test arch=ARCH pass=NAME`: `optimize` runs the passes over llir first, `none` does not.

use crate::support::{arch, try_assemble};
use llir::{read, verify};
use nvidia::ptx::{Options, emit, optimize};
use std::path::Path;

/// What stands before the expected text.
const EXPECT: &str = "\n; expect\n";

/// The kernels of a text, without the lines above that say for which version and architecture it is.
fn kernels(ptx: &str) -> &str {
    let start = ptx.find(".visible").or_else(|| ptx.find(".extern")).unwrap_or(0);
    ptx[start..].trim_end()
}

/// The kernels of a fixture's program as PTX.
fn written(text: &str) -> Result<String, String> {
    let command = text.lines().next().unwrap_or_default();
    let words = command.strip_prefix("; test arch=").and_then(|rest| rest.trim().split_once(" pass="));
    let (name, pass) = words.ok_or("line 1 is no `; test arch=ARCH pass=NAME`")?;
    let mut module = read(text).map_err(|error| error.to_string())?;
    verify(&module).map_err(|errors| errors[0].to_string())?;
    match pass {
        "optimize" => optimize(&mut module, &mut |_, _| {}),
        "none" => {}
        other => return Err(format!("there is no pass `{other}`")),
    }
    let ptx = emit(&module, &Options::new(arch(name))).map_err(|errors| errors[0].to_string())?;
    try_assemble(&ptx.text, arch(name))?;
    Ok(format!("{}\n", kernels(&ptx.text)))
}

#[test]
fn programs_are_written_as_the_fixtures_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/nvidia");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("one").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in paths {
        let whole = std::fs::read_to_string(&path).expect("a fixture");
        let (input, expected) = whole.split_once(EXPECT).unwrap_or((&whole, ""));
        match written(input) {
            Err(error) => failures.push(format!("{}: {error}", path.display())),
            Ok(found) if found != expected && std::env::var_os("BLESS").is_some() => {
                std::fs::write(&path, format!("{}{EXPECT}{found}", input.trim_end())).expect("written");
            }
            Ok(found) if found != expected => {
                failures.push(format!("{}: found\n{found}\nexpected\n{expected}", path.display()));
            }
            Ok(_) => {}
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
