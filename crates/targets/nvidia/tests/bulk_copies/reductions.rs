//! Blocks that are combined with a tensor by descriptors: bulk copies do what memory does for them, wherever the block
//! begins, and in the order that the program says.

use crate::assembler::assembler;
use crate::kernel::{Args, How, Kernel};
use nvidia::assemble::{AssembleOptions, Assembler};
use ptx_isa::Arch;
use ttir::testing::Random;

/// What bulk copies combine: elements, those of the descriptor, and how.
const COMBINED: &[(&str, &str, &[&str])] = &[
    ("f32", "f32", &["add"]),
    ("f16", "f16", &["add", "min", "max"]),
    ("bf16", "bf16", &["add", "min", "max"]),
    ("i32", "i32", &["add", "min", "max", "and", "or", "xor"]),
    ("i32", "ui32", &["add", "min", "max", "and", "or", "xor"]),
    ("i64", "i64", &["min", "max"]),
    ("i64", "ui64", &["add", "min", "max", "and", "or", "xor"]),
];

/// What they do not: lanes do.
const LEFT: &[(&str, &str, &[&str])] = &[
    ("f32", "f32", &["min", "max"]),
    ("f64", "f64", &["add"]),
    ("i64", "i64", &["add", "and", "or", "xor"]),
    ("i16", "i16", &["add", "max"]),
    ("i8", "i8", &["xor"]),
];

/// Sides of a block; rows of 4,096 elements at most have a place for each program.
const ROWS: i64 = 16;
const COLUMNS: i64 = 32;
const PITCH: i64 = 64;

/// Bytes of an element.
fn bytes(ty: &str) -> usize {
    let bits = ty.trim_start_matches(|c: char| !c.is_ascii_digit());
    bits.parse::<usize>().expect("bits") / 8
}

/// Combines a block of `%x` with one of `%out`, [%m, %n], at [%i + program · `step`, %j]: `%d` is the descriptor, `%v`
/// the block and `%c` the row.
fn kernel(ty: &str, element: &str, step: i64, body: &str) -> String {
    let attr = "{tt.divisibility = 16 : i32}";
    format!(
        r"
tt.func public @reduce(%x: !tt.ptr<{ty}> {attr}, %out: !tt.ptr<{ty}> {attr}, %m: i32, %n: i32, %i: i32, %j: i32) {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %step = arith.constant {step} : i32
  %unit = arith.constant 1 : i64
  %pitch = arith.constant {PITCH} : i64
  %pid = tt.get_program_id x : i32
  %by = arith.muli %pid, %step : i32
  %r = tt.make_range {{end = {ROWS} : i32, start = 0 : i32}} : tensor<{ROWS}xi32>
  %c = tt.make_range {{end = {COLUMNS} : i32, start = 0 : i32}} : tensor<{COLUMNS}xi32>
  %re = tt.expand_dims %r {{axis = 1 : i32}} : tensor<{ROWS}xi32> -> tensor<{ROWS}x1xi32>
  %ce = tt.expand_dims %c {{axis = 0 : i32}} : tensor<{COLUMNS}xi32> -> tensor<1x{COLUMNS}xi32>
  %w = arith.constant dense<{COLUMNS}> : tensor<{ROWS}x1xi32>
  %s = arith.muli %re, %w : tensor<{ROWS}x1xi32>
  %sb = tt.broadcast %s : tensor<{ROWS}x1xi32> -> tensor<{ROWS}x{COLUMNS}xi32>
  %cb = tt.broadcast %ce : tensor<1x{COLUMNS}xi32> -> tensor<{ROWS}x{COLUMNS}xi32>
  %o = arith.addi %sb, %cb : tensor<{ROWS}x{COLUMNS}xi32>
  %xb = tt.splat %x : !tt.ptr<{ty}> -> tensor<{ROWS}x{COLUMNS}x!tt.ptr<{ty}>>
  %p = tt.addptr %xb, %o : tensor<{ROWS}x{COLUMNS}x!tt.ptr<{ty}>>, tensor<{ROWS}x{COLUMNS}xi32>
  %v = tt.load %p : tensor<{ROWS}x{COLUMNS}x!tt.ptr<{ty}>>
  %d = tt.make_tensor_descriptor %out, [%m, %n], [%pitch, %unit] : <{ty}>, <{ROWS}x{COLUMNS}x{element}>
{body}  tt.return
}}
"
    )
}

/// The kernel for rows of multiples of 16 bytes: lanes have nothing to do at their ends.
fn whole_rows(kernel: &str) -> String {
    kernel.replacen("%n: i32", "%n: i32 {tt.divisibility = 16 : i32}", 1)
}

/// One reduction.
fn reduce(kind: &str, ty: &str, element: &str, at: &str) -> String {
    format!(
        "  tt.descriptor_reduce {kind}, %d[{at}], %v : !tt.tensordesc<{ROWS}x{COLUMNS}x{element}>, tensor<{ROWS}x{COLUMNS}x{ty}>\n"
    )
}

/// Elements whose sums are exact, some of them negative; floats are NaN now and then.
fn elements(random: &mut Random, ty: &str, count: i64) -> Vec<u8> {
    let (is_float, size) = (ty.contains('f'), bytes(ty));
    let mut element = || -> u64 {
        let number = random.below(9) as i64 - 4;
        match ty {
            "f16" | "bf16" if random.below(40) == 0 => 0x7fff,
            "f16" => u64::from(crate::case::half(number as i32)),
            "bf16" => u64::from((number as f32).to_bits() >> 16),
            "f32" => u64::from((number as f32).to_bits()),
            "f64" => (number as f64).to_bits(),
            _ if random.below(3) == 0 => random.below(1 << 32).wrapping_mul(0x1_0001_0001),
            _ => number as u64,
        }
    };
    assert!(is_float || ty.starts_with('i'));
    (0..count).flat_map(|_| element().to_le_bytes()[..size].to_vec()).collect()
}

fn args(random: &mut Random, ty: &str, numbers: [i64; 4]) -> Args {
    let x = elements(random, ty, ROWS * COLUMNS);
    let out = elements(random, ty, 64 * PITCH);
    Args::of(vec![x, out], &numbers)
}

const HOW: How<'static> = How { stages: 3, num_warps: 4, change: &|_| () };
const BULK: &str = "cp.reduce.async.bulk.tensor.2d.global.shared::cta";

#[test]
fn bulk_copies_combine_what_memory_does() {
    let mut random = Random::new(61);
    for &(ty, element, kinds) in COMBINED {
        for kind in kinds {
            // Three programs, whose blocks overlap.
            let body =
                format!("  %at = arith.addi %by, %zero : i32\n{}", reduce(kind, ty, element, "%at, %zero"));
            let what = format!("{kind} of {element}");
            let text = kernel(ty, element, 8, &body);
            let whole = Kernel::of(&whole_rows(&text), HOW);
            assert!(whole.bulk.ptx.contains(&format!("{BULK}.{kind}.tile")), "{what}\n{}", whole.bulk.ptx);
            assert!(!whole.bulk.ptx.contains(" red.") && !whole.bulk.ptx.contains("atom."), "{what}");
            let any = Kernel::of(&text, HOW);
            let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
            for (kernel, sizes) in
                [(whole, [[64, 64], [19, 32], [5, 16]]), (any, [[64, 64], [19, 21], [5, 1]])]
            {
                let assembled = assembler().assemble(&kernel.bulk.ptx, &options);
                assert!(assembled.is_ok(), "{what}: {:?}", assembled.err().map(|error| error.to_string()));
                for [m, n] in sizes {
                    kernel.check(([3, 1, 1], &args(&mut random, ty, [m, n, 0, 0])), 3, &what);
                }
            }
        }
    }
}

#[test]
fn what_bulk_copies_do_not_combine_lanes_do() {
    let mut random = Random::new(62);
    for &(ty, element, kinds) in LEFT {
        for kind in kinds {
            let kernel = Kernel::of(&kernel(ty, element, 8, &reduce(kind, ty, element, "%by, %zero")), HOW);
            assert!(!kernel.bulk.ptx.contains("cp.reduce"), "{}", kernel.bulk.ptx);
            let args = args(&mut random, ty, [40, 30, 0, 0]);
            kernel.check(([3, 1, 1], &args), 2, &format!("{kind} of {element}"));
        }
    }
}

#[test]
fn blocks_that_begin_anywhere_are_combined() {
    let mut random = Random::new(63);
    for &(ty, element, kinds) in COMBINED {
        for kind in kinds {
            let kernel = Kernel::of(&kernel(ty, element, 8, &reduce(kind, ty, element, "%i, %j")), HOW);
            assert!(kernel.bulk.ptx.contains(BULK), "{}", kernel.bulk.ptx);
            for at in [[0, 0], [3, 8], [3, 5], [-2, 0], [7, -3], [70, 0], [0, 90], [0, 16]] {
                let columns = if at[0] == 3 { 37 } else { 50 };
                let args = args(&mut random, ty, [37, columns, at[0], at[1]]);
                kernel.check(([2, 1, 1], &args), 1, &format!("{kind} of {element} at {at:?}"));
            }
        }
    }
}

/// Checks a kernel, and that each of its lines with one of these words is missed. Fences of what is read by other
/// parameters are not, as these are of other memory.
fn check(body: &str, words: &[&str], what: &str) {
    let mut random = Random::new(64);
    let kernel = Kernel::of(&whole_rows(&kernel("i32", "i32", 0, body)), HOW);
    let args = args(&mut random, "i32", [64, 64, 0, 0]);
    let launch = ([1; 3], &args);
    kernel.check(launch, 6, what);
    let expected = kernel.interpret(launch);
    let lines: Vec<&str> = kernel.bulk.ptx.lines().collect();
    for word in words {
        assert!(kernel.bulk.ptx.contains(word), "{what}: no `{word}`\n{}", kernel.bulk.ptx);
        for at in (0..lines.len()).filter(|&at| lines[at].contains(word)) {
            let mut left = lines.clone();
            left[at] = "";
            let missed = !kernel.misses_nothing(&kernel.bulk, &left.join("\n"), launch, &expected);
            assert!(missed, "{what}: nobody misses line {}, `{}`\n{}", at + 1, lines[at], kernel.bulk.ptx);
        }
    }
}

#[test]
fn reductions_come_in_the_order_of_the_program() {
    let at = |kind| reduce(kind, "i32", "i32", "%zero, %zero");
    let waits = ["fence.proxy.async.shared", "cp.async.bulk.wait_group 0"];
    check(&format!("{}{}", at("add"), at("max")), &waits[..1], "added, then the greater one");
    let load = "  %ob = tt.splat %out : !tt.ptr<i32> -> tensor<16x32x!tt.ptr<i32>>
  %os = tt.addptr %ob, %o : tensor<16x32x!tt.ptr<i32>>, tensor<16x32xi32>
  %e = tt.load %os : tensor<16x32x!tt.ptr<i32>>
  %f = arith.addi %e, %e : tensor<16x32xi32>
  tt.store %p, %f : tensor<16x32x!tt.ptr<i32>>\n";
    check(&format!("{}{load}", at("add")), &waits, "added, then loaded");
    let store = "  %ob = tt.splat %out : !tt.ptr<i32> -> tensor<16x32x!tt.ptr<i32>>
  %os = tt.addptr %ob, %o : tensor<16x32x!tt.ptr<i32>>, tensor<16x32xi32>
  tt.store %os, %v : tensor<16x32x!tt.ptr<i32>>\n";
    check(&format!("{store}{}", at("add")), &["fence.proxy.async.global"], "stored, then added to");
}

#[test]
fn reductions_of_one_kind_do_not_wait_for_each_other() {
    let twice = format!(
        "{}{}",
        reduce("add", "i32", "i32", "%zero, %zero"),
        reduce("add", "i32", "i32", "%zero, %zero")
    );
    let kernel = Kernel::of(&whole_rows(&kernel("i32", "i32", 0, &twice)), HOW);
    let ptx = &kernel.bulk.ptx;
    assert!(!ptx.contains("cp.async.bulk.wait_group 0"), "{ptx}");
    kernel.check(([2, 1, 1], &args(&mut Random::new(65), "i32", [64, 64, 0, 0])), 4, "added twice");
}

#[test]
fn reductions_in_loops_share_a_buffer() {
    let body = format!(
        "  scf.for %k = %zero to %three step %one : i32 {{\n  %at = arith.muli %k, %three : i32\n{}  }} {{tt.flatten}}\n",
        reduce("add", "i32", "i32", "%at, %zero")
    );
    check(&body, &["fence.proxy.async.shared", "cp.async.bulk.wait_group.read"], "added in a loop");
}
