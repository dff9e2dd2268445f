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

/// A small generator of random numbers; the seed is printed when a test fails.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }
}

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

/// Pieces of a text: words, numbers, single other characters.
fn pieces(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_.%".contains(c);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length =
            if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        pieces.push(&rest[..length]);
        rest = &rest[length..];
    }
    pieces
}

fn damage(text: &str, random: &mut Random) -> String {
    let mut all = pieces(text);
    for _ in 0..=random.below(3) {
        let at = random.below(all.len());
        match random.below(5) {
            0 => all[at] = "",
            1 => all[at] = all[random.below(all.len())],
            2 => {
                let other = random.below(all.len());
                all.swap(at, other);
            }
            _ => all[at] = WORDS[random.below(WORDS.len())],
        }
    }
    all.concat()
}

#[test]
fn damaged_programs_are_refused_or_whole() {
    let rounds = std::env::var("FUZZ_ROUNDS").map_or(1500, |rounds| rounds.parse().expect("a number"));
    let seed = std::env::var("FUZZ_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let programs = programs();
    let mut valid = 0;
    for round in 0..rounds {
        let mut random = Random(seed * 1_000_003 + round);
        let text = damage(&programs[random.below(programs.len())], &mut random);
        let outcome = std::panic::catch_unwind(|| {
            let module = parse(&text, ttgir::registry(), ParseOptions::default()).ok()?;
            ir::verify(&module).ok()?;
            let printed = print(&module, PrintOptions::default());
            let again = parse(&printed, ttgir::registry(), ParseOptions::default()).expect("it reads back");
            ir::verify(&again).expect("it is still valid");
            Some(())
        });
        match outcome {
            Ok(whole) => valid += usize::from(whole.is_some()),
            Err(_) => panic!("seed {seed}, round {round}:\n{text}"),
        }
    }
    assert!(valid > 0, "no damaged program was still valid");
}
