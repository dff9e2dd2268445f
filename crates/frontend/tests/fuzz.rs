//! Damaged kernels in Python never make the front end panic: they compile to verified ttir, or each error has a place.

use frontend::{Facts, FileGlobals, Request};
use std::path::Path;

/// Words that are put where others stood.
const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    "=",
    "==",
    "->",
    "*",
    "**",
    "@",
    ":=",
    "\n",
    "\n    ",
    "    ",
    "#",
    "'",
    "\"\"\"",
    "\\",
    "-1",
    "0.5",
    "1e400",
    "0x",
    "1j",
    "None",
    "True",
    "...",
    "_",
    "self",
    "lambda",
    "yield",
    "await",
    "async def",
    "class C:",
    "def f(",
    "return",
    "pass",
    "break",
    "continue",
    "if",
    "elif",
    "else:",
    "for i in",
    "while",
    "try:",
    "with",
    "assert",
    "del",
    "global",
    "import",
    "not",
    "and",
    "is",
    "in",
    "f'{x}'",
    "tl",
    "tl.load",
    "tl.store",
    "tl.arange(0, 64)",
    "tl.zeros((4, 4), tl.float32)",
    "tl.constexpr",
    "tl.constexpr(3)",
    "tl.float16",
    "tl.int1",
    "tl.dot",
    "tl.sum",
    "tl.reduce",
    "tl.associative_scan",
    "tl.reshape",
    "tl.trans",
    "tl.join",
    "tl.cat",
    "tl.range(",
    "tl.static_range(",
    "tl.static_assert(",
    "tl.make_block_ptr",
    "tl.tensor",
    "tl.dtype",
    ".to(tl.int8)",
    ".T",
    ".shape[0]",
    "[:, None]",
    "[None]",
    "[1:]",
    "*args",
    "**kwargs",
    "é",
    "\u{0}",
];

/// The kernels of all fixtures: the kernel's name, its signature, the file.
fn kernels() -> Vec<(String, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frontend");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("one").path()).collect();
    paths.sort();
    let mut kernels = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let source = text.split("# expect\n").next().unwrap_or_default();
        for line in text.lines().take_while(|line| line.starts_with("# test ")) {
            let word = |name: &str, end: char| {
                let start = line.find(name).expect("the test line has it") + name.len();
                line[start..].split(end).next().unwrap_or_default().to_owned()
            };
            kernels.push((word("kernel=", ' '), word("signature=\"", '"'), source.to_owned()));
        }
    }
    kernels
}

fn facts() -> Facts {
    Facts {
        backend: "cpu".into(),
        arch: "x86_64".into(),
        warp_size: 1,
        default_dot_precision: "ieee".into(),
        allowed_dot_precisions: vec!["ieee".into()],
        fp8_dtypes: Vec::new(),
        fp8e4b15_warning: None,
        min_dot_size: [1, 1, 1],
    }
}

/// Whether the kernel of a text, whose first line names it and its signature, still compiles.
fn survives(text: &str) -> bool {
    let Some((head, source)) = text.split_once('\n') else { return false };
    let Some((kernel, signature)) = head.split_once(' ') else { return false };
    let Ok(args) = frontend::signature::parse(signature) else { return false };
    let Ok(globals) = FileGlobals::new("fuzz.py", source) else { return false };
    let Some(function) = globals.function(kernel) else { return false };
    let request = Request::new(&globals, function, args, facts());
    match frontend::compile(&request) {
        Ok(compiled) => {
            if let Err(errors) = ir::verify(&compiled.module) {
                panic!("what was compiled is not valid: {}\n{}", errors[0], compiled.module);
            }
            true
        }
        Err(errors) => {
            assert!(!errors.is_empty(), "it is refused without a word");
            false
        }
    }
}

#[test]
fn damaged_kernels_never_panic() {
    let samples: Vec<String> = kernels()
        .into_iter()
        .map(|(kernel, signature, source)| format!("{kernel} {}\n{source}", signature.replace('\'', "\"")))
        .collect();
    damage::try_texts(1500, &samples, WORDS, survives);
}
