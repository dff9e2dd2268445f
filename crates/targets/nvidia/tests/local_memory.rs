//! Blocks that are stored to shared memory in one layout and loaded in another, through views of it, run by the
//! emulator, whose race checker must find nothing.

mod blocks;

use blocks::{Random, block, blocked, bytes, function, linear, pointers, run};
use std::fmt::Write as _;

/// A random layout of memory for a block of 32 by 64 elements, and that of its transpose.
fn memory(random: &mut Random, elem: &str) -> [String; 2] {
    let bits = 8 * bytes(elem);
    if bits <= 32 && random.below(2) == 0 {
        let width = *random.pick(&[32, 64, 128]);
        let make = |transposed: bool| {
            format!(
                "#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {transposed}, elementBitWidth = {bits}}}>"
            )
        };
        let transposed = random.below(2) == 1;
        return [make(transposed), make(!transposed)];
    }
    let (vec, phase, phases) = (1 << random.below(4), 1 << random.below(3), 1 << random.below(4));
    let order = *random.pick(&[[0, 1], [1, 0]]);
    let make = |order: [usize; 2]| {
        format!(
            "#ttg.swizzled_shared<{{vec = {vec}, perPhase = {phase}, maxPhase = {phases}, order = {order:?}}}>"
        )
    };
    [make(order), make([order[1], order[0]])]
}

/// The part of a block, row by row.
fn part(
    input: &[u8],
    size: usize,
    [row, col]: [usize; 2],
    [rows, cols]: [usize; 2],
    turned: bool,
) -> Vec<u8> {
    let at = |row: usize, col: usize| &input[(row * 64 + col) * size..][..size];
    let element =
        |one: usize, two: usize| if turned { at(row + two, col + one) } else { at(row + one, col + two) };
    let (outer, inner) = if turned { (cols, rows) } else { (rows, cols) };
    (0..outer).flat_map(|one| (0..inner).flat_map(move |two| element(one, two).to_vec())).collect()
}

#[test]
fn views_hold_the_elements_of_their_part() {
    let mut random = Random(1234);
    for round in 0..40 {
        let num_warps = *random.pick(&[1, 4]);
        let elem = *random.pick(&["i8", "f16", "i32", "i64"]);
        let whole = [32, 64];
        let size = [*random.pick(&[8, 16, 32]), *random.pick(&[16, 32, 64])];
        let start = [random.below(32 / size[0]) * size[0], random.below(64 / size[1]) * size[1]];
        let turned = random.below(2) == 1;
        let shown = if turned { [size[1], size[0]] } else { size };
        let [layout, other] = memory(&mut random, elem);
        let first = blocked(&whole, num_warps);
        let stored = linear(&mut random, &whole, num_warps, round % 2 == 0);
        let loaded = linear(&mut random, &shown, num_warps, round % 2 == 0);
        let desc = |shape: &str, layout: &str| {
            format!("!ttg.memdesc<{shape}, {layout}, #ttg.shared_memory, mutable>")
        };
        let all = desc(&format!("3x32x64x{elem}"), &layout);
        let one = desc(&format!("32x64x{elem}"), &layout);
        let box_of = |shape: [usize; 2], alloc: &str, layout: &str| {
            let shape = format!("{}x{}x{elem}", shape[0], shape[1]);
            if format!("{alloc}x{elem}") == shape {
                return desc(&shape, layout);
            }
            desc(&shape, layout).replace("mutable>", &format!("mutable, {alloc}>"))
        };
        let (slice, turn) = (box_of(size, "32x64", &layout), box_of(shown, "64x32", &other));
        let mut body = String::new();
        pointers(&mut body, "x", "%arg0", &whole, elem, &first);
        pointers(&mut body, "y", "%arg1", &shown, elem, &loaded);
        let (from, to) = (block(&whole, elem, &first), block(&whole, elem, &stored));
        writeln!(
            body,
            "  %n = arith.constant 2 : i32
  %v = tt.load %x : {}
  %w = ttg.convert_layout %v : {from} -> {to}
  %all = ttg.local_alloc : () -> {all}
  %one = ttg.memdesc_index %all[%n] : {all} -> {one}
  ttg.local_store %w, %one : {to} -> {one}
  %box = ttg.memdesc_subslice %one[{}, {}] : {one} -> {slice}",
            block(&whole, &format!("!tt.ptr<{elem}>"), &first),
            start[0],
            start[1],
        )
        .unwrap();
        let mut view = ("%box", slice.clone());
        if turned {
            writeln!(body, "  %t = ttg.memdesc_trans %box {{order = array<i32: 1, 0>}} : {slice} -> {turn}")
                .unwrap();
            view = ("%t", turn);
        }
        let result = block(&shown, elem, &loaded);
        writeln!(
            body,
            "  %l = ttg.local_load {} : {} -> {result}\n  tt.store %y, %l : {}",
            view.0,
            view.1,
            block(&shown, &format!("!tt.ptr<{elem}>"), &loaded)
        )
        .unwrap();
        let width = bytes(elem);
        let input: Vec<u8> = (0..32 * 64 * width).map(|_| random.next() as u8).collect();
        let text = function(&[elem, elem], &body);
        let after = run(&text, num_warps, &[input.clone(), vec![0; size[0] * size[1] * width]]);
        assert_eq!(after[1], part(&input, width, start, size, turned), "{text}");
    }
}
