//! Damaged programs never make anything panic: they are refused, or they are valid and go through everything.

use ir::text::{ParseOptions, PrintOptions, parse, print};

const SEEDS: [&str; 6] = [
    include_str!("../../../tests/ttir/reference/add_kernel.ttir"),
    include_str!("../../../tests/ttir/reference/softmax_kernel_v1.ttir"),
    include_str!("../../../tests/ttir/reference/matmul_kernel.ttir"),
    include_str!("../../../tests/ttir/reference/zoo.ttir"),
    include_str!("../../../tests/ttir/reference/zoo2.ttir"),
    include_str!("../../../tests/ttir/reference/calls.ttir"),
];

const TOKENS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "[",
    "]",
    "%",
    "#",
    "@",
    "!",
    "^",
    "\"",
    "->",
    ":",
    "=",
    ",",
    "loc(",
    "dense<",
    "array<",
    "i32",
    "i1",
    "f16",
    "f64",
    "i128",
    "i0",
    "tensor<",
    "tensor<4xi32>",
    "!tt.ptr<",
    "-",
    "0",
    "1",
    "-1",
    "0x",
    "0xFF",
    "4294967295",
    "99999999999999999999",
    "1.0",
    "e",
    "true",
    "false",
    "%0",
    "%0#1",
    "%0:2",
    "scf.yield",
    "tt.return",
    "scf.for",
    "tt.reduce",
    "module",
    "\\",
    "//",
    "\n",
    "é",
    "\u{0}",
    "unit",
    "attributes",
    "iter_args",
    "else",
    "do",
    "tt.func",
];

/// A small generator of random numbers; the seed is printed when a test fails.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn cut_to_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Changes a text in one place.
fn mutate(text: &mut String, random: &mut Random) {
    let at = cut_to_char(text, random.below(text.len() + 1));
    let length = random.below(12);
    let end = cut_to_char(text, (at + length).min(text.len())).max(at);
    match random.below(7) {
        0 => text.replace_range(at..end, ""),
        1 => text.insert_str(at, TOKENS[random.below(TOKENS.len())]),
        2 => text.replace_range(at..end, TOKENS[random.below(TOKENS.len())]),
        3 => {
            let piece = text[at..end].to_owned();
            let to = cut_to_char(text, random.below(text.len() + 1));
            text.insert_str(to, &piece);
        }
        4 => {
            // A number becomes another one.
            if let Some(digit) = text[at..].find(|c: char| c.is_ascii_digit()) {
                let digit = at + digit;
                text.replace_range(digit..=digit, ["0", "1", "7", "-3", "64", "1073741824"][random.below(6)]);
            }
        }
        5 => {
            // A line goes, or comes twice.
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
            let line = text[start..end].to_owned();
            if random.below(2) == 0 {
                text.replace_range(start..end, "")
            } else {
                text.insert_str(end, &line)
            }
        }
        _ => {
            // A type becomes another one.
            for (from, to) in
                [("i32", "i64"), ("f32", "f16"), ("x", "x1x"), ("addf", "addi"), ("%", "%z_26#0, %")]
            {
                if random.below(4) == 0
                    && let Some(found) = text[at..].find(from)
                {
                    text.replace_range(at + found..at + found + from.len(), to);
                    return;
                }
            }
        }
    }
}

/// Whether the text is a program; if it is, everything else must work on it.
fn survives(text: &str) -> bool {
    let Ok(mut module) = parse(text, ttir::registry(), ParseOptions { file: Some("fuzz.ttir") }) else {
        return false;
    };
    if ir::verify(&module).is_err() {
        return false;
    }
    for options in
        [PrintOptions::default(), PrintOptions::PLAIN, PrintOptions { generic: true, ..PrintOptions::PLAIN }]
    {
        let once = print(&module, options);
        let again = parse(&once, ttir::registry(), ParseOptions::default())
            .unwrap_or_else(|error| panic!("what was printed does not parse: {error}"));
        let twice = print(&again, options);
        for (now, before) in twice.lines().zip(once.lines()) {
            assert_eq!(now, before, "printed a second time");
        }
        assert_eq!(twice.len(), once.len());
    }
    for pass in ttir::passes::pipeline() {
        if (pass.run)(&mut module).is_err() {
            return false;
        }
        if let Err(errors) = ir::verify(&module) {
            panic!("after {}: {}\n{module}", pass.name, errors[0]);
        }
    }
    true
}

#[test]
fn damaged_programs_never_panic() {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    let start =
        std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(clock.as_nanos() as u64);
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1500u64);
    let mut valid = 0;
    for round in 0..rounds {
        let seed = start.wrapping_add(round) | 1;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut text = SEEDS[random.below(SEEDS.len())].to_owned();
        for _ in 0..=random.below(3) {
            mutate(&mut text, &mut random);
        }
        let outcome = std::panic::catch_unwind(|| survives(&text));
        match outcome {
            Ok(true) => valid += 1,
            Ok(false) => {}
            Err(_) => {
                let path = std::env::temp_dir().join("deuteron_fuzz.ttir");
                let _ = std::fs::write(&path, &text);
                panic!(
                    "FUZZ_SEED={} FUZZ_ROUNDS=1 fails; the text is in {}",
                    start.wrapping_add(round),
                    path.display()
                );
            }
        }
    }
    assert!(valid > 0, "not one damaged text was still valid: the damage is too large to test anything");
}

#[test]
fn deep_nesting_is_refused() {
    for piece in [
        "module {",
        "tensor<4x",
        "!tt.ptr<",
        "[",
        "{a = ",
        "loc(callsite(",
        "((",
        "\"scf.if\"(%a) ({",
        "#a.b<#a.b<",
    ] {
        for text in [piece.repeat(20_000), format!("%a = arith.constant {}", piece.repeat(20_000))] {
            assert!(parse(&text, ttir::registry(), ParseOptions::default()).is_err());
        }
    }
}
