//! Damaged llir never makes anything panic: it is refused with its line, or it goes through every pass.

use llir::passes::{PIPELINE, run};
use llir::{read, verify};
use std::path::{Path, PathBuf};

/// Words that are put where others stood.
const WORDS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    "=",
    "\"",
    "\n",
    "%",
    "@",
    "!",
    "#",
    ";",
    "i1",
    "i8",
    "i32",
    "i64",
    "i128",
    "half",
    "bfloat",
    "float",
    "double",
    "ptr",
    "ptr addrspace(1)",
    "ptr addrspace(3)",
    "void",
    "<4 x float>",
    "<0 x i32>",
    "<3 x i1>",
    "<1048576 x i8>",
    "label",
    "undef",
    "poison",
    "zeroinitializer",
    "null",
    "true",
    "false",
    "0x7FF8000000000000",
    "add",
    "fadd",
    "udiv",
    "sdiv",
    "shl",
    "ashr",
    "icmp eq",
    "fcmp olt",
    "select",
    "phi",
    "br",
    "ret void",
    "load",
    "store",
    "getelementptr",
    "extractelement",
    "insertelement",
    "shufflevector",
    "extractvalue",
    "insertvalue",
    "zext",
    "trunc",
    "bitcast",
    "addrspacecast",
    "call",
    "atomicrmw",
    "cmpxchg",
    "fence",
    "unreachable",
    "switch",
    "align 16",
    "align 3",
    "nsw",
    "volatile",
    "define",
    "declare",
    "asm sideeffect",
    "é",
];

/// The programs of all fixtures, those of targets as well.
fn programs() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let folders = std::fs::read_dir(root).expect("folders").map(|entry| entry.expect("one").path());
    let files =
        folders.filter(|path| path.is_dir()).flat_map(|folder| std::fs::read_dir(folder).expect("files"));
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.expect("one").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "llir"));
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).expect("a readable file"));
    texts.map(|text| text.split("\n; expect\n").next().unwrap_or_default().to_owned()).collect()
}

/// Whether the text is a program, which is then valid behind each pass and reads back as it is printed.
fn survives(text: &str) -> bool {
    let Ok(mut module) = read(text) else { return false };
    if verify(&module).is_err() {
        return false;
    }
    read(&module.to_string()).unwrap_or_else(|error| panic!("what was printed does not read back: {error}"));
    for at in 0..PIPELINE.len() {
        run(&mut module, &PIPELINE[at..=at], &[], &mut |_, _| {});
        verify(&module)
            .unwrap_or_else(|errors| panic!("behind {}: {}\n{module}", PIPELINE[at].name, errors[0]));
    }
    true
}

#[test]
fn damaged_programs_never_panic() {
    damage::try_texts(2000, &programs(), WORDS, survives);
}
