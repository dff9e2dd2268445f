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
    damage::try_texts(1500, &SEEDS.map(str::to_owned), TOKENS, survives);
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
