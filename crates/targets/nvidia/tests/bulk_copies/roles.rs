//! Warps of their own begin the copies: products under many schedules, and what is missed when any arrival or wait is left out or waits for
//! the wrong phase.

use crate::case::{
    CHAIN, COLUMNS, Case, Compiled, PRODUCT, ROWS, check_tiles_under, compile_text, made, stored, tiled,
};
use nvidia::assemble::{AssembleOptions, Assembler, Ptxas, Search};
use ptx_isa::Arch;
use std::path::Path;
use ttir::testing::Random;

/// A product whose loop asks for roles.
fn product(second: &str, stages: u32) -> String {
    let text = PRODUCT.replace("SECOND", second).replace("STAGES", &stages.to_string());
    asked(&text)
}

/// The innermost loop asks for roles.
fn asked(text: &str) -> String {
    assert!(text.contains("{tt.num_stages"));
    text.replace("{tt.num_stages", "{tt.warp_specialize, tt.num_stages")
}

/// Tiles below each other whose loop asks for roles, in place of saying that it is flat.
fn asked_around(text: &str) -> String {
    tiled(text).replace("{tt.flatten}", "{tt.warp_specialize}")
}

/// The product with a dot that needs the result of another one.
fn chain(stages: u32) -> String {
    let (load, dot) = ("%x = tt.descriptor_load %a[%zero, %k]", "%d = tt.dot %x, %y, %acc");
    let text = product(ROWS, stages);
    let line = |word: &str| text.lines().find(|line| line.contains(word)).expect("it is there");
    let first = line(load).replace("%x", "%q").replace("%k]", "%zero]");
    let begin = "%three = arith.constant dense<3.000000e+00> : tensor<64x64xf32>
  %minus = arith.constant dense<-1.000000e+00> : tensor<64x64xf32>\n";
    text.replace(line(load), "")
        .replace(line(dot), CHAIN)
        .replace("  %sum = scf.for", &format!("  {begin}{first}\n  %sum = scf.for"))
        .replace("%acc = %none", "%acc = %three")
}

/// Whether warps of their own begin the copies.
fn has_roles(compiled: &Compiled, num_warps: u32) -> bool {
    compiled.threads > 32 * num_warps
}

fn check(case: &Case, compiled: &Compiled, expected: &[f32], what: &str) {
    for schedule in 0..8 {
        let found = case.run_under(compiled, &compiled.ptx, schedule);
        let found =
            found.unwrap_or_else(|error| panic!("{what}, schedule {schedule}: {error}\n{}", compiled.ptx));
        assert!(found == expected, "{what}, schedule {schedule}\n{}", compiled.ptx);
    }
}

#[test]
fn products_of_what_other_warps_copy() {
    let mut random = Random::new(21);
    for (second, transposed) in [(ROWS, false), (COLUMNS, true)] {
        for (stages, num_warps) in [(2, 4), (3, 4), (4, 8), (3, 2)] {
            let compiled = compile_text(&product(second, stages), stages, num_warps);
            assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
            for sizes in [[64, 64, 192], [50, 37, 121], [64, 3, 7], [33, 60, 320]] {
                let case = Case::random(&mut random, sizes, transposed);
                let what = format!("{sizes:?}, {stages} stages, {num_warps} warps");
                check(&case, &compiled, &case.product(), &what);
            }
        }
    }
}

#[test]
fn products_of_products_of_what_other_warps_copy() {
    let mut random = Random::new(22);
    for (stages, num_warps) in [(2, 4), (3, 4), (4, 8)] {
        let compiled = compile_text(&chain(stages), stages, num_warps);
        assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
        for (sizes, rounds) in [([64, 64, 64], 0), ([64, 64, 64], 1), ([50, 37, 121], 2), ([33, 60, 320], 5)]
        {
            let case = Case { rounds, ..Case::random(&mut random, sizes, false) };
            let what = format!("{sizes:?}, {rounds} rounds, {stages} stages, {num_warps} warps");
            check(&case, &compiled, &case.chain(), &what);
        }
    }
}

#[test]
fn copies_run_ahead_from_tile_to_tile() {
    let plain = PRODUCT.replace("SECOND", ROWS).replace("STAGES", "3");
    for (text, is_stored) in [(asked_around(&plain), false), (asked_around(&stored()), true)] {
        for num_warps in [4, 8] {
            let compiled = compile_text(&text, 3, num_warps);
            assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
            for schedule in 0..4 {
                check_tiles_under(&compiled, is_stored, schedule);
            }
        }
    }
}

/// Lines of a text that order the roles, by their numbers.
fn ordering(text: &str) -> Vec<usize> {
    const WORDS: &[&str] = &[
        "mbarrier.init",
        "mbarrier.arrive",
        "mbarrier.try_wait",
        "bar.sync 1,",
        "cp.async.bulk.tensor.2d.shared",
    ];
    let lines = text.lines().enumerate();
    let found = lines.filter(|(_, line)| WORDS.iter().any(|word| line.contains(word)));
    found.map(|(at, _)| at).collect()
}

/// The text with another line in a place.
fn with_line(text: &str, at: usize, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines[at] = line;
    lines.join("\n")
}

/// Whether the emulator lets a text pass under some schedules, each with the right result.
fn passes(case: &Case, compiled: &Compiled, text: &str, expected: &[f32]) -> bool {
    (0..8).all(|schedule| case.run_under(compiled, text, schedule).is_ok_and(|found| found == expected))
}

/// A kernel of each kind, with what it is to compute.
fn kernels() -> Vec<(Compiled, Case, Vec<f32>)> {
    let mut random = Random::new(23);
    let case = Case::random(&mut random, [64, 64, 64 * 7], false);
    let expected = case.product();
    let plain = (compile_text(&product(ROWS, 3), 3, 4), case, expected);
    let case = Case::random(&mut random, [64, 64, 64 * 6], false);
    let expected = case.chain();
    let chain = (compile_text(&chain(3), 3, 4), case, expected);
    let case = Case { stored: true, tiles: 4, ..Case::random(&mut random, [256, 64, 64 * 5], false) };
    let expected = case.product();
    let tiles = (compile_text(&asked_around(&stored()), 3, 4), case, expected);
    vec![plain, chain, tiles]
}

#[test]
fn nothing_that_orders_roles_may_be_missing() {
    for (compiled, case, expected) in kernels() {
        check(&case, &compiled, &expected, "as it is");
        let lines: Vec<&str> = compiled.ptx.lines().collect();
        let places = ordering(&compiled.ptx);
        assert!(places.len() >= 16, "{}", compiled.ptx);
        let mut unnoticed = Vec::new();
        for at in places {
            // A wait that asks nobody is one that is over at once.
            let left = if lines[at].contains("try_wait") { "\tsetp.eq.u32 complete, 0, 0;" } else { "" };
            if passes(&case, &compiled, &with_line(&compiled.ptx, at, left), &expected) {
                unnoticed.push(format!("line {}: {}", at + 1, lines[at].trim()));
            }
        }
        assert!(unnoticed.is_empty(), "{unnoticed:#?}\n{}", compiled.ptx);
    }
}

#[test]
fn a_wait_for_the_other_phase_is_noticed() {
    for (compiled, case, expected) in kernels() {
        let lines: Vec<&str> = compiled.ptx.lines().collect();
        for at in ordering(&compiled.ptx).into_iter().filter(|&at| lines[at].contains("try_wait")) {
            let (label, wait) = lines[at].split_once(':').expect("a label");
            let phase = wait.trim_end_matches(';').rsplit(", ").next().expect("a register");
            let turned = format!(
                "{label}: {{ .reg .b32 turned; xor.b32 turned, {phase}, 1; {} }}",
                wait.replace(phase, "turned")
            );
            let text = with_line(&compiled.ptx, at, &turned);
            assert!(!passes(&case, &compiled, &text, &expected), "nobody misses line {}\n{text}", at + 1);
        }
    }
}

#[test]
fn roles_divide_registers() {
    let compiled = compile_text(&product(ROWS, 4), 4, 8);
    for line in
        [".maxnreg 168", "setmaxnreg.inc.sync.aligned.u32 240;", "setmaxnreg.dec.sync.aligned.u32 24;"]
    {
        assert!(compiled.ptx.contains(line), "{line}\n{}", compiled.ptx);
    }
    assert_eq!(compiled.threads, 384);
    // Fewer warps share a multiprocessor with other programs: one warp beside them takes least of it.
    let compiled = compile_text(&product(ROWS, 4), 4, 4);
    assert!(compiled.threads == 160 && !compiled.ptx.contains("maxnreg"), "{}", compiled.ptx);
}

#[test]
fn where_roles_cannot_be_loops_are_as_before() {
    let inside = tiled(&asked(&stored())).replace("{tt.flatten}", "");
    let making = made(&asked_around(&stored()));
    for (text, others) in
        [(inside, tiled(&stored()).replace("{tt.flatten}", "")), (making, made(&tiled(&stored())))]
    {
        let (found, before) = (compile_text(&text, 3, 4), compile_text(&others, 3, 4));
        assert!(!has_roles(&found, 4), "{}", found.ptx);
        assert_eq!(found.ptx.matches("mbarrier.init").count(), before.ptx.matches("mbarrier.init").count());
    }
}

#[test]
fn the_assembler_takes_all_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let search = Search::from_environment(Some(&root.join(".venv")));
    let ptxas = Ptxas::find(&search).unwrap_or_else(|error| panic!("`make setup` installs it: {error}"));
    let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
    for num_warps in [4, 8] {
        for text in [product(COLUMNS, 4), chain(3), asked_around(&stored())] {
            let ptx = compile_text(&text, 3, num_warps).ptx;
            let assembled = ptxas.assemble(&ptx, &options).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
            // The assembler says what it does not carry out as it is written.
            assert!(!assembled.log.contains("C75"), "{}\n{ptx}", assembled.log);
        }
    }
}
