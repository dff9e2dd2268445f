//! Damaged programs never make anything panic: they are refused, or they are valid and print to what reads back.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::path::Path;

/// Words that are put where others stood, besides those of the programs themselves.
const WORDS: &[&str] = &[
    "<",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    "#",
    "!",
    "mutable",
    "0",
    "1",
    "-1",
    "3",
    "7",
    "8",
    "1024",
    "4294967295",
    "1048576",
    "99999999999999999999",
    "[]",
    "[[]]",
    "[[1]]",
    "[[0, 4294967295]]",
    "true",
    "1x1x1x1x1x1x1x1xf32",
    "1x1x1x1x1x1x1x1x1xf32",
    "64x64xf32",
    "64xf16",
    "3x64xi8",
    "axis = 9 : i32",
    "#smem",
    "#shared",
    "#blocked",
    "#mma",
    "#ttg.shared_memory",
    "sizePerThread",
    "order",
    "parent",
    "kWidth",
    "versionMajor = 3",
    "transposed = true",
    "CGALayout = [[1, 0]]",
    "fp4Padded = true",
    "rank = 3",
    "ttg.local_load",
    "ttg.memdesc_trans",
    "ttg.memdesc_subslice",
    "ttg.memdesc_reshape",
    "tt.join",
    "tt.split",
    "tt.trans",
    "tt.expand_dims",
    "tt.reshape",
    "tt.reduce",
    "tt.broadcast",
    "ttng.warp_group_dot",
];

fn programs() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ttgir");
    let mut texts = Vec::new();
    for folder in ["text", "verify", "reference"] {
        let mut paths: Vec<_> = std::fs::read_dir(root.join(folder))
            .expect("the folder is there")
            .map(|entry| entry.expect("a readable folder").path())
            .collect();
        paths.sort();
        let read = |path| std::fs::read_to_string(path).expect("a readable file");
        texts.extend(paths.iter().map(read).filter(|text: &String| text.len() < 12_000));
    }
    texts
}

/// Whether the text is a program, which then prints to what reads back.
fn survives(text: &str) -> bool {
    let Ok(module) = parse(text, ttgir::registry(), ParseOptions::default()) else { return false };
    if ir::verify(&module).is_err() {
        return false;
    }
    let printed = print(&module, PrintOptions::default());
    let again = parse(&printed, ttgir::registry(), ParseOptions::default()).expect("it reads back");
    ir::verify(&again).expect("it is still valid");
    true
}

#[test]
fn damaged_programs_are_refused_or_whole() {
    damage::try_texts(1500, &programs(), WORDS, survives);
}
