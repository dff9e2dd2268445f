//! Text fixtures of the lowering: ttgir in, llir out. `BLESS=1` rewrites what is expected.

use nvidia::lower::Lanes;
use std::path::Path;

/// What separates the program from what is expected of it.
const EXPECT: &str = "// expect\n";

/// The llir of a program, without what every module has.
fn lowered(text: &str) -> Result<String, String> {
    let module =
        ir::text::parse(text, ttgir::registry(), Default::default()).map_err(|error| error.to_string())?;
    ir::verify(&module).map_err(|errors| errors[0].to_string())?;
    let target = Lanes::new(90, nvidia::machine::machine(90).ok_or("no such machine")?);
    let options = lanes::Options { line_info: false, ..lanes::Options::default() };
    let lowered = lanes::lower(&module, &target, &options).map_err(|errors| errors[0].to_string())?;
    llir::verify(&lowered.module).map_err(|errors| errors[0].to_string())?;
    let text = lowered.module.to_string();
    let from = text.find("define").ok_or("there is no function")?;
    let to = text.find("\n}\n").ok_or("the function has no end")?;
    Ok(text[from..to + 3].to_owned())
}

#[test]
fn programs_become_the_llir_that_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/lanes");
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (program, expected) = text.split_once(EXPECT).unwrap_or((&text, ""));
        match lowered(program) {
            Ok(found) if found.trim() == expected.trim() => {}
            Ok(found) if bless => std::fs::write(&path, format!("{program}{EXPECT}{found}")).unwrap(),
            Ok(found) => failures.push(format!("{} gives\n{found}", path.display())),
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
