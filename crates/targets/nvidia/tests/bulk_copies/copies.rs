//! Copies of lanes that do everything: what they bring and store, and what is missed when any of it is left out.

use crate::assembler::assembler;
use crate::case::{
    COLUMNS, Case, PRODUCT, ROWS, check_tiles, compile, compile_alike, compile_chain, compile_stored,
    compile_text, made, passes, stored, tiled, whole_rows, without_each,
};
use nvidia::assemble::{AssembleOptions, Assembler};
use ptx_isa::Arch;
use ttir::testing::Random;

#[test]
fn products_of_what_bulk_copies_bring() {
    let mut random = Random::new(7);
    for (second, transposed) in [(ROWS, false), (COLUMNS, true)] {
        for (stages, num_warps) in [(1, 4), (2, 4), (3, 4), (4, 8), (3, 2)] {
            let compiled = compile(second, stages, num_warps);
            assert!(
                compiled.ptx.contains("cp.async.bulk.tensor.2d.shared::cluster.global"),
                "{}",
                compiled.ptx
            );
            for sizes in [[64, 64, 192], [50, 37, 121], [1, 64, 64], [64, 3, 7], [33, 60, 320]] {
                let case = Case::random(&mut random, sizes, transposed);
                let found = case.run(&compiled, &compiled.ptx).unwrap_or_else(|error| {
                    panic!("{sizes:?}, {stages} stages, {num_warps} warps: {error}\n{}", compiled.ptx)
                });
                assert_eq!(found, case.product(), "{sizes:?}, {stages} stages, {num_warps} warps");
            }
        }
    }
}

#[test]
fn nothing_that_orders_copies_may_be_missing() {
    let mut random = Random::new(8);
    let compiled = compile(ROWS, 3, 4);
    let case = Case::random(&mut random, [64, 64, 64 * 7], false);
    let expected = case.product();
    let mut unnoticed = Vec::new();
    let cases = without_each(&compiled.ptx);
    assert!(cases.len() > 12, "{}", compiled.ptx);
    for (what, text) in cases {
        if passes(&case, &compiled, &text, &expected) {
            unnoticed.push(what);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}\n{}", compiled.ptx);
}

#[test]
fn a_wait_for_the_other_phase_is_noticed() {
    let mut random = Random::new(9);
    let compiled = compile(ROWS, 3, 4);
    let case = Case::random(&mut random, [64, 64, 64 * 7], false);
    let line = compiled.ptx.lines().find(|line| line.contains("try_wait")).expect("a wait");
    let phase = line.trim_end_matches(';').rsplit(", ").next().expect("a register");
    let turned =
        format!("{{ .reg .b32 turned; xor.b32 turned, {phase}, 1; {} }}", line.replace(phase, "turned"));
    let text = compiled.ptx.replace(line, &turned.replacen("again:", "", 1));
    let text = text.replacen("{ .reg .b32 turned;", "again: { .reg .b32 turned;", 1);
    assert!(case.run(&compiled, &text).is_err());
}

#[test]
fn products_that_bulk_copies_store() {
    let mut random = Random::new(10);
    let compiled = compile_stored();
    assert!(compiled.ptx.contains("cp.async.bulk.tensor.2d.global.shared::cta"), "{}", compiled.ptx);
    for sizes in [[64, 64, 192], [50, 37, 121], [1, 64, 64], [64, 3, 7]] {
        let case = Case { stored: true, ..Case::random(&mut random, sizes, false) };
        let found = case.run(&compiled, &compiled.ptx).unwrap_or_else(|error| panic!("{sizes:?}: {error}"));
        let inside = |place: usize| place / 64 < sizes[0] && place % 64 < sizes[1];
        for (place, (found, expected)) in found.iter().zip(case.product()).enumerate() {
            // What lies outside of the tensor stays poisoned.
            let same = if inside(place) { *found == expected } else { found.to_bits() == u32::MAX };
            assert!(same, "{sizes:?} at {place}: {found}, not {expected}");
        }
    }
}

#[test]
fn stores_need_their_fence_their_barrier_and_their_group() {
    let mut random = Random::new(11);
    let compiled = compile_text(&whole_rows(&stored()), 3, 4);
    let case = Case { stored: true, ..Case::random(&mut random, [64, 64, 128], false) };
    let expected = case.product();
    let lines: Vec<&str> = compiled.ptx.lines().collect();
    let store = lines.iter().position(|line| line.contains("global.shared::cta")).expect("a store");
    let before =
        |word: &str| lines[..store].iter().rposition(|line| line.contains(word)).expect("it is there");
    for at in [before("fence.proxy.async"), before("bar.sync"), store] {
        let mut left = lines.clone();
        left[at] = "";
        let ran = case.run(&compiled, &left.join("\n"));
        assert!(ran.is_err() || ran.is_ok_and(|found| found != expected), "nobody misses `{}`", lines[at]);
    }
}

#[test]
fn copies_go_on_from_tile_to_tile() {
    let text = PRODUCT.replace("SECOND", ROWS).replace("STAGES", "3");
    let compiled = check_tiles(&tiled(&text), false);
    // The barriers are made once.
    let place = |word: &str| compiled.ptx.find(word).expect("it is there");
    assert!(place("mbarrier.init") < place("cp.async.bulk.tensor"));
    assert!(place("cp.async.bulk.tensor") < place("wgmma.mma_async"));
    assert_eq!(compiled.ptx.matches("mbarrier.inval").count(), 3);
}

#[test]
fn stores_go_on_from_tile_to_tile() {
    let compiled = check_tiles(&tiled(&stored()), true);
    assert!(compiled.ptx.contains("cp.async.bulk.wait_group.read 0"), "{}", compiled.ptx);
}

#[test]
fn nothing_that_orders_copies_across_tiles_may_be_missing() {
    let mut random = Random::new(13);
    let compiled = compile_alike(&whole_rows(&tiled(&stored())));
    let case = Case { stored: true, tiles: 4, ..Case::random(&mut random, [256, 64, 64 * 5], false) };
    let expected = case.product();
    assert!(passes(&case, &compiled, &compiled.ptx, &expected), "{}", compiled.ptx);
    let cases = without_each(&compiled.ptx);
    assert!(cases.len() > 16, "{}", compiled.ptx);
    let unnoticed: Vec<String> = cases
        .into_iter()
        .filter(|(_, text)| passes(&case, &compiled, text, &expected))
        .map(|(what, _)| what)
        .collect();
    assert!(unnoticed.is_empty(), "{unnoticed:#?}\n{}", compiled.ptx);
}

#[test]
fn the_assembler_takes_all_of_it() {
    let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
    for text in [tiled(&stored()), made(&tiled(&stored()))] {
        let ptx = compile_alike(&text).ptx;
        let assembled = assembler().assemble(&ptx, &options);
        assert!(
            assembled.is_ok(),
            "{}\n{ptx}",
            assembled.err().map(|error| error.to_string()).unwrap_or_default()
        );
    }
}

#[test]
fn kernels_make_their_own_descriptors() {
    let compiled = check_tiles(&made(&tiled(&stored())), true);
    assert!(compiled.maps.is_empty() && compiled.scratch == 3 * 128, "{}", compiled.ptx);
    let copies = ["shared::cluster.global", "global.shared::cta.tile.bulk_group"];
    assert!(copies.iter().all(|copy| compiled.ptx.contains(copy)), "{}", compiled.ptx);
}

#[test]
fn nothing_that_makes_descriptors_may_be_missing() {
    let mut random = Random::new(14);
    let compiled = compile_alike(&made(&tiled(&stored())));
    let case = Case { stored: true, tiles: 2, ..Case::random(&mut random, [128, 64, 64 * 3], false) };
    let expected = case.product();
    let lines: Vec<&str> = compiled.ptx.lines().collect();
    let mut unnoticed = Vec::new();
    // Fields that a cleared descriptor has as they should be are not missed.
    let fields =
        ["global_address", "rank", "box_dim", "global_dim", "global_stride", "swizzle_mode", "elemtype"];
    for (at, line) in lines.iter().enumerate() {
        let is_field = line.contains("tensormap.replace") && fields.iter().any(|field| line.contains(field));
        if !is_field && !line.contains("cp_fenceproxy") {
            continue;
        }
        let mut left = lines.clone();
        left[at] = "";
        if passes(&case, &compiled, &left.join("\n"), &expected) {
            unnoticed.push(line);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}\n{}", compiled.ptx);
}

#[test]
fn products_may_need_the_result_of_another_one() {
    let mut random = Random::new(12);
    for (stages, num_warps) in [(1, 4), (2, 4), (3, 4), (4, 8), (3, 2)] {
        let compiled = compile_chain(stages, num_warps);
        for (sizes, rounds) in
            [([64, 64, 64], 0), ([64, 64, 64], 1), ([50, 37, 121], 2), ([64, 64, 192], 3), ([33, 60, 320], 5)]
        {
            let case = Case { rounds, ..Case::random(&mut random, sizes, false) };
            let found = case.run(&compiled, &compiled.ptx).unwrap_or_else(|error| {
                panic!("{sizes:?}, {stages} stages, {num_warps} warps: {error}\n{}", compiled.ptx)
            });
            assert_eq!(found, case.chain(), "{sizes:?}, {stages} stages, {num_warps} warps");
        }
    }
}

#[test]
fn each_wait_for_products_is_needed() {
    let mut random = Random::new(13);
    let compiled = compile_chain(3, 4);
    let case = Case::random(&mut random, [64, 64, 64 * 6], false);
    let lines: Vec<&str> = compiled.ptx.lines().collect();
    let waits = lines.iter().enumerate().filter(|(_, line)| line.contains("wgmma.wait_group"));
    let waits: Vec<usize> = waits.map(|(at, _)| at).collect();
    assert!(waits.len() >= 2, "{}", compiled.ptx);
    for at in waits {
        let mut left = lines.clone();
        left[at] = "";
        let ran = case.run(&compiled, &left.join("\n"));
        assert!(ran.is_err(), "nobody misses line {}, `{}`\n{}", at + 1, lines[at], compiled.ptx);
    }
}
