//! Loops that follow each other, and loops inside of conditions, whose copies one role begins into one ring.

use crate::assembler::assembler;
use crate::case::{COLUMNS, Case, Compiled, PRODUCT, ROWS, compile_text, tiled};
use crate::roles::{asked, attention, chain, check, check_that_each_is_missed, has_roles, product};
use nvidia::assemble::{AssembleOptions, Assembler};
use ptx_isa::Arch;
use ttir::testing::Random;

/// A text around its loop, the loop without its attributes, these, and the text behind it.
fn cut(text: &str) -> [&str; 4] {
    let (head, rest) = text.split_once("  %sum = scf.for").expect("a loop");
    let (body, rest) = rest.split_once("\n  } {tt.").expect("attributes");
    let (attrs, tail) = rest.split_once("}\n").expect("their end");
    [head, body, attrs, tail]
}

/// What the sum of a loop begins with, and its type.
fn carried(body: &str) -> (&str, &str) {
    let (_, rest) = body.split_once("iter_args(%acc = ").expect("a sum");
    let (init, rest) = rest.split_once(") -> (").expect("its type");
    (init, rest.split_once(')').expect("its end").0)
}

/// The loop as two that follow each other, the first of which ends at `middle`. What the second one begins with, and
/// where, is computed in between.
fn in_two(text: &str, middle: &str) -> String {
    let [head, body, attrs, tail] = cut(text);
    let (init, ty) = carried(body);
    let begin = format!("  %two = arith.constant 2 : i32\n  %middle = {middle} : i32\n");
    let first = body.replace("to %rounds", "to %middle");
    let second = body.replace("= %zero to", "= %low to").replace(&format!("%acc = {init}"), "%acc = %again");
    let between = format!(
        "  %low = arith.addi %middle, %zero : i32\n  %minus_part = arith.negf %part : {ty}\n  %again = arith.negf %minus_part : {ty}\n"
    );
    format!(
        "{head}{begin}  %part = scf.for{first}\n  }} {{tt.{attrs}}}\n{between}  %sum = scf.for{second}\n  }} {{tt.{attrs}}}\n{tail}"
    )
}

/// The loop behind a condition, which may say in another place what the sum is otherwise.
fn under(text: &str, condition: &str, loops: &str, otherwise: &str) -> String {
    let [head, body, _, tail] = cut(text);
    let ty = carried(body).1;
    format!(
        "{head}  %yes = {condition} : i32\n  %sum = scf.if %yes -> ({ty}) {{\n{loops}    scf.yield %inner : {ty}\n  }} else {{\n{otherwise}  }}\n{tail}"
    )
}

/// The loop of a text with another name, and attributes.
fn inner(text: &str) -> String {
    let [_, body, attrs, _] = cut(text);
    format!("  %inner = scf.for{body}\n  }} {{tt.{attrs}}}\n")
}

/// Rings of a kernel: a barrier for each of its buffers that says it is full, and one that says it is empty.
fn barriers(compiled: &Compiled) -> usize {
    compiled.ptx.matches("mbarrier.init").count()
}

const MIDDLES: [&str; 3] =
    ["arith.divsi %rounds, %two", "arith.minsi %rounds, %two", "arith.muli %rounds, %zero"];

#[test]
fn loops_that_follow_each_other_share_a_ring() {
    let mut random = Random::new(31);
    for middle in MIDDLES {
        for (stages, num_warps) in [(2, 4), (3, 8)] {
            let whole = compile_text(&product(COLUMNS, stages), stages, num_warps);
            let compiled = compile_text(&in_two(&product(COLUMNS, stages), middle), stages, num_warps);
            assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
            assert_eq!(barriers(&compiled), barriers(&whole), "{}", compiled.ptx);
            for k in [1, 64, 65, 3 * 64, 7 * 64, 520] {
                let case = Case::random(&mut random, [60, 33, k], true);
                check(&case, &compiled, &case.product(), &format!("{middle}, k {k}, {stages} stages"));
            }
        }
    }
}

#[test]
fn chains_of_dots_go_on_in_the_next_loop() {
    let mut random = Random::new(32);
    for middle in MIDDLES {
        for (stages, num_warps, rows) in [(2, 4, 64), (3, 8, 128)] {
            let whole = compile_text(&attention(stages, rows), stages, num_warps);
            let compiled = compile_text(&in_two(&attention(stages, rows), middle), stages, num_warps);
            assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
            assert_eq!(barriers(&compiled), barriers(&whole), "{}", compiled.ptx);
            let tiles = rows as usize / 64;
            for rounds in [0, 1, 2, 3, 4, 7] {
                let sizes = [rows as usize, 64, 64 * rounds.max(1)];
                let case = Case { rounds, tiles, ..Case::random(&mut random, sizes, false) };
                check(
                    &case,
                    &compiled,
                    &case.chain(),
                    &format!("{middle}, {rounds} rounds, {stages} stages"),
                );
            }
        }
    }
}

#[test]
fn loops_of_other_blocks_have_their_own_rings() {
    let text = in_two(&product(COLUMNS, 3), MIDDLES[0]);
    let (first, second) = text.split_once("%again = ").expect("two loops");
    let load = COLUMNS.lines().next().expect("a load");
    let other = second.replace(load, "").replace("tt.trans %z", "tt.trans %x");
    assert!(other != second);
    let compiled = compile_text(&format!("{first}%again = {other}"), 3, 4);
    assert!(has_roles(&compiled, 4) && barriers(&compiled) == 12, "{}", compiled.ptx);
}

#[test]
fn loops_behind_stores_to_what_they_read_have_their_own_rings() {
    // The parameter of the descriptor is written to between the loops.
    let text = in_two(&product(COLUMNS, 3), MIDDLES[0]);
    let store = "  %none16 = arith.constant dense<0.000000e+00> : tensor<64x64xf16>
  tt.descriptor_store %b[%far, %far], %none16 : !tt.tensordesc<64x64xf16>, tensor<64x64xf16>\n";
    let far = "  %far = arith.constant 4096 : i32\n";
    let text = text.replace("  %low =", &format!("{far}{store}  %low ="));
    let compiled = compile_text(&text, 3, 4);
    assert!(has_roles(&compiled, 4) && barriers(&compiled) == 12, "{}", compiled.ptx);
}

#[test]
fn a_loop_inside_of_a_condition() {
    let mut random = Random::new(33);
    let condition = "arith.cmpi sgt, %rounds, %one";
    for (stages, num_warps) in [(2, 4), (3, 8)] {
        let plain = chain(stages);
        let loops = inner(&plain);
        let ty = carried(cut(&plain)[1]).1;
        let compiled = compile_text(
            &under(&plain, condition, &loops, &format!("    scf.yield %three : {ty}\n")),
            stages,
            num_warps,
        );
        assert!(has_roles(&compiled, num_warps), "{}", compiled.ptx);
        let both = under(&plain, condition, &loops, &format!("{loops}    scf.yield %inner : {ty}\n"));
        let both = compile_text(&both, stages, num_warps);
        assert_eq!(barriers(&both), barriers(&compiled), "{}", both.ptx);
        for rounds in [0, 1, 2, 3, 6] {
            let case = Case { rounds, ..Case::random(&mut random, [64, 64, 64 * rounds.max(1)], false) };
            check(&case, &both, &case.chain(), &format!("{rounds} rounds"));
            let case = Case { rounds: if rounds > 1 { rounds } else { 0 }, ..case };
            let expected = case.chain();
            let case = Case { rounds, ..case };
            check(&case, &compiled, &expected, &format!("{rounds} rounds behind a condition"));
        }
    }
}

/// Tiles of which every other one is multiplied, others are zeros.
fn every_other_tile(stages: u32) -> String {
    let plain = PRODUCT.replace("SECOND", ROWS).replace("STAGES", &stages.to_string());
    let loops = inner(&asked(&plain));
    let ty = carried(cut(&plain)[1]).1;
    let odd = "arith.andi %t, %one : i32\n  %yes = arith.cmpi ne, %odd, %zero";
    let text = under(&plain, odd, &loops, &format!("    scf.yield %none : {ty}\n"));
    let text =
        text.replace("%yes = arith.andi", "%odd = arith.andi").replace("  %odd", "  %sum = scf.for\n  %odd");
    tiled(&text).replace("  %sum = scf.for\n", "").replace("{tt.flatten}", "{tt.warp_specialize}")
}

/// What these tiles are.
fn of_every_other(case: &Case) -> Vec<f32> {
    let zeroed = |(place, value): (usize, f32)| if place / 4096 % 2 == 1 { value } else { 0.0 };
    case.product().into_iter().enumerate().map(zeroed).collect()
}

#[test]
fn a_loop_inside_of_a_condition_inside_of_a_loop() {
    let mut random = Random::new(34);
    let compiled = compile_text(&every_other_tile(3), 3, 4);
    assert!(has_roles(&compiled, 4), "{}", compiled.ptx);
    for (tiles, k) in [(0, 64), (1, 64), (2, 1), (5, 64 * 4), (6, 64 * 2 + 3)] {
        let case = Case { tiles, ..Case::random(&mut random, [64 * tiles.max(1), 50, k], false) };
        check(&case, &compiled, &of_every_other(&case), &format!("{tiles} tiles, k {k}"));
    }
}

/// A kernel of each kind, with what it is to compute.
fn kernels() -> Vec<(Compiled, Case, Vec<f32>)> {
    let mut random = Random::new(35);
    let case = Case::random(&mut random, [64, 64, 64 * 7], true);
    let expected = case.product();
    let sums = (compile_text(&in_two(&product(COLUMNS, 3), MIDDLES[0]), 3, 4), case, expected);
    let case = Case { tiles: 2, ..Case::random(&mut random, [128, 64, 64 * 7], false) };
    let expected = case.chain();
    let chains = (compile_text(&in_two(&attention(2, 128), MIDDLES[0]), 2, 8), case, expected);
    let case = Case { tiles: 6, ..Case::random(&mut random, [64 * 6, 64, 64 * 3], false) };
    let expected = of_every_other(&case);
    let tiles = (compile_text(&every_other_tile(3), 3, 4), case, expected);
    vec![sums, chains, tiles]
}

#[test]
fn nothing_that_orders_them_may_be_missing() {
    check_that_each_is_missed(&kernels());
}

#[test]
fn the_assembler_takes_them() {
    let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
    for (compiled, ..) in kernels() {
        let assembled = assembler()
            .assemble(&compiled.ptx, &options)
            .unwrap_or_else(|error| panic!("{error}\n{}", compiled.ptx));
        assert!(!assembled.log.contains("C75"), "{}\n{}", assembled.log, compiled.ptx);
    }
}
