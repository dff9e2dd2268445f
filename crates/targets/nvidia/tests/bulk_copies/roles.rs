//! Warps of their own begin the copies: products under many schedules, and what is missed when any arrival or wait is
//! left out or waits for the wrong phase.

use crate::assembler::assembler;
use crate::case::{
    CHAIN, COLUMNS, Case, Compiled, PRODUCT, ROWS, check_tiles_under, compile_for, compile_text, made,
    stored, tiled,
};
use nvidia::assemble::{AssembleOptions, Assembler};
use ptx_isa::Arch;
use ttgir::Roles;
use ttir::testing::Random;

/// A product whose loop asks for roles.
pub(crate) fn product(second: &str, stages: u32) -> String {
    let text = PRODUCT.replace("SECOND", second).replace("STAGES", &stages.to_string());
    asked(&text)
}

/// The innermost loop asks for roles.
pub(crate) fn asked(text: &str) -> String {
    assert!(text.contains("{tt.num_stages"));
    text.replace("{tt.num_stages", "{tt.warp_specialize, tt.num_stages")
}

/// Tiles below each other whose loop asks for roles, in place of saying that it is flat.
fn asked_around(text: &str) -> String {
    tiled(text).replace("{tt.flatten}", "{tt.warp_specialize}")
}

/// The product with a dot that needs the result of another one.
pub(crate) fn chain(stages: u32) -> String {
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

/// The same with so many rows, where each dot has a block of its own, as in attention.
pub(crate) fn attention(stages: u32, rows: u32) -> String {
    let load = "%v = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>";
    let second = "%d = tt.dot %p, %y, %less";
    let text = chain(stages).replace(second, &format!("{load}\n    {}", second.replace("%y", "%v")));
    let tall = |word: &str| word.replacen("64x", &format!("{rows}x"), 1);
    let mut out = String::new();
    for line in text.lines() {
        // Everything is tall but what is loaded of `b`, and what is computed from that.
        let stays = ["%v =", "%y =", "%z ="].iter().any(|name| line.trim().starts_with(name));
        let line = if stays { line.to_owned() } else { line.replace("64x64x", &tall("64x64x")) };
        let line = line
            .replace("!tt.tensordesc<64x64xf16>, %bm", "X")
            .replace(&format!("!tt.tensordesc<{rows}x64xf16>, %bm"), "X");
        out += &line.replace("X", "!tt.tensordesc<64x64xf16>, %bm");
        out.push('\n');
    }
    // The second operand of a dot, and rows and columns of the result.
    out.replace(&format!("* tensor<{rows}x64xf16>"), "* tensor<64x64xf16>")
        .replace(
            "%r = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>",
            &format!(
                "%h = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32>
  %r = tt.expand_dims %h {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>"
            ),
        )
        .replace(
            "%w = arith.constant dense<64> : tensor<64x1xi32>",
            &format!("%w = arith.constant dense<64> : tensor<{rows}x1xi32>"),
        )
        .replace(
            "%s = arith.muli %r, %w : tensor<64x1xi32>",
            &format!("%s = arith.muli %r, %w : tensor<{rows}x1xi32>"),
        )
        .replace("%s : tensor<64x1xi32>", &format!("%s : tensor<{rows}x1xi32>"))
}

/// Whether warps of their own begin the copies.
pub(crate) fn has_roles(compiled: &Compiled, num_warps: u32) -> bool {
    compiled.threads > 32 * num_warps
}

pub(crate) fn check(case: &Case, compiled: &Compiled, expected: &[f32], what: &str) {
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
fn groups_of_warps_take_turns() {
    let mut random = Random::new(24);
    for (stages, num_warps, rows) in [(2, 4, 64), (3, 4, 64), (2, 8, 128), (3, 8, 128), (3, 8, 64)] {
        let compiled = compile_text(&attention(stages, rows), stages, num_warps);
        assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
        assert_eq!(compiled.ptx.contains("bar.arrive"), num_warps == 8, "{}", compiled.ptx);
        let tiles = rows as usize / 64;
        for (k, rounds) in [(64, 0), (64, 1), (121, 2), (192, 3), (320, 5)] {
            let case = Case { rounds, tiles, ..Case::random(&mut random, [rows as usize, 64, k], false) };
            let what = format!("{k} keys, {rounds} rounds, {stages} stages, {num_warps} warps, {rows} rows");
            check(&case, &compiled, &case.chain(), &what);
        }
    }
}

#[test]
fn groups_of_warps_that_meet_in_a_loop_take_no_turns() {
    let zero = r#"%m = "tt.reduce"(%s) <{axis = 0 : i32}> ({
    ^bb0(%f: f32, %g: f32):
      %h = arith.maxnumf %f, %g : f32
      tt.reduce.return %h : f32
    }) : (tensor<128x64xf32>) -> tensor<64xf32>
    %n = arith.subf %m, %m : tensor<64xf32>
    %n1 = tt.expand_dims %n {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %n2 = tt.broadcast %n1 : tensor<1x64xf32> -> tensor<128x64xf32>
    %t = arith.addf %s, %n2 : tensor<128x64xf32>
    %p = arith.truncf %t"#;
    let compiled = compile_text(&attention(3, 128).replace("%p = arith.truncf %s", zero), 3, 8);
    assert!(has_roles(&compiled, 8) && !compiled.ptx.contains("bar.arrive"), "{}", compiled.ptx);
    let case = Case { tiles: 2, ..Case::random(&mut Random::new(25), [128, 64, 64 * 4], false) };
    check(&case, &compiled, &case.chain(), "a reduction of rows");
}

#[test]
fn roles_are_given_where_they_pay() {
    let without = |text: &str| text.replace("tt.warp_specialize, ", "");
    let chain = without(&attention(3, 128));
    let plain = PRODUCT.replace("SECOND", ROWS).replace("STAGES", "3");
    for (text, pays) in [(&chain, true), (&tiled(&stored()), true), (&plain, false)] {
        assert_eq!(has_roles(&compile_text(text, 3, 8), 8), pays, "{text}");
        assert!(!has_roles(&compile_for(text, 3, 8, &|machine| machine.roles = Roles::Asked), 8), "{text}");
        assert!(has_roles(&compile_for(text, 3, 8, &|machine| machine.roles = Roles::All), 8), "{text}");
    }
    // With 4 warps an SM has registers for two programs of 128 rows, and for one that has a warp more.
    assert!(!has_roles(&compile_text(&chain, 3, 4), 4));
    assert!(has_roles(&compile_text(&attention(3, 128), 3, 4), 4));
    assert!(has_roles(&compile_text(&without(&attention(3, 64)), 3, 4), 4));
    // Sums of 64 products are too short for taking turns.
    let compiled = compile_for(&chain, 3, 8, &|_| {});
    assert!(has_roles(&compiled, 8) && !compiled.ptx.contains("bar.arrive"), "{}", compiled.ptx);
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
pub(crate) fn ordering(text: &str) -> Vec<usize> {
    const WORDS: &[&str] = &[
        "mbarrier.init",
        "mbarrier.arrive",
        "mbarrier.try_wait",
        "bar.sync 1,",
        "bar.arrive",
        "bar.sync %",
        "cp.async.bulk.tensor.2d.shared",
    ];
    let lines = text.lines().enumerate();
    let found = lines.filter(|(_, line)| WORDS.iter().any(|word| line.contains(word)));
    found.map(|(at, _)| at).collect()
}

/// The text with another line in a place.
pub(crate) fn with_line(text: &str, at: usize, line: &str) -> String {
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
    let case = Case { tiles: 2, ..Case::random(&mut random, [128, 64, 64 * 6], false) };
    let expected = case.chain();
    let attention = (compile_text(&attention(2, 128), 2, 8), case, expected);
    let case = Case { stored: true, tiles: 4, ..Case::random(&mut random, [256, 64, 64 * 5], false) };
    let expected = case.product();
    let tiles = (compile_text(&asked_around(&stored()), 3, 4), case, expected);
    vec![plain, chain, attention, tiles]
}

#[test]
fn nothing_that_orders_roles_may_be_missing() {
    check_that_each_is_missed(&kernels());
}

/// That a kernel without one line that orders its roles is noticed, whichever it is.
pub(crate) fn check_that_each_is_missed(kernels: &[(Compiled, Case, Vec<f32>)]) {
    for (compiled, case, expected) in kernels {
        check(case, compiled, expected, "as it is");
        let lines: Vec<&str> = compiled.ptx.lines().collect();
        let places = ordering(&compiled.ptx);
        assert!(places.len() >= 16, "{}", compiled.ptx);
        let mut unnoticed = Vec::new();
        for at in places {
            // A wait that asks nobody is one that is over at once.
            let left = if lines[at].contains("try_wait") { "\tsetp.eq.u32 complete, 0, 0;" } else { "" };
            if passes(case, compiled, &with_line(&compiled.ptx, at, left), expected) {
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
    let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
    for num_warps in [4, 8] {
        for text in [product(COLUMNS, 4), chain(3), attention(3, 128), asked_around(&stored())] {
            let ptx = compile_text(&text, 3, num_warps).ptx;
            let assembled =
                assembler().assemble(&ptx, &options).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
            // The assembler says what it does not carry out as it is written.
            assert!(!assembled.log.contains("C75"), "{}\n{ptx}", assembled.log);
        }
    }
}
