//! Programs in pairs: each copies half of what both read, to both. Products under many schedules, what a launch must be
//! for it, and what is missed when an arrival, a wait or a copy is left out.

use crate::assembler::assembler;
use crate::case::{Compiled, half};
use crate::kernel::{Args, How, Kernel};
use nvidia::assemble::{AssembleOptions, Assembler};
use ptx_isa::Arch;
use ttgir::{Machine, Pairs, Roles};
use ttir::testing::Random;

/// `out = x · y` in blocks of 64 × 128, of two rows of blocks: neighbours have the same columns of `y`.
const TEXT: &str = r"
tt.func public @pairs(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %m: i32, %n: i32, %k: i32) {
  %none = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %side = arith.constant 64 : i32
  %wide = arith.constant 128 : i32
  %stride = arith.constant 320 : i64
  %unit = arith.constant 1 : i64
  %pid = tt.get_program_id x : i32
  %row = arith.remsi %pid, %two : i32
  %column = arith.divsi %pid, %two : i32
  %i = arith.muli %row, %side : i32
  %j = arith.muli %column, %wide : i32
  %xd = tt.make_tensor_descriptor %x, [%m, %k], [%stride, %unit] : <f16>, <64x64xf16>
  %yd = tt.make_tensor_descriptor %y, [%k, %n], [%stride, %unit] : <f16>, <64x128xf16>
  %rest = arith.addi %k, %side : i32
  %last = arith.subi %rest, %one : i32
  %rounds = arith.divsi %last, %side : i32
  %sum = scf.for %l = %zero to %rounds step %one iter_args(%acc = %none) -> (tensor<64x128xf32>) : i32 {
    %at = arith.muli %l, %side : i32
    %a = tt.descriptor_load %xd[%i, %at] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    %b = tt.descriptor_load %yd[%at, %j] : !tt.tensordesc<64x128xf16> -> tensor<64x128xf16>
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x128xf16> -> tensor<64x128xf32>
    scf.yield %d : tensor<64x128xf32>
  } {tt.num_stages = 3 : i32}
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %is = tt.splat %i : i32 -> tensor<64xi32>
  %js = tt.splat %j : i32 -> tensor<128xi32>
  %rows = arith.addi %is, %r : tensor<64xi32>
  %columns = arith.addi %js, %c : tensor<128xi32>
  %re = tt.expand_dims %rows {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %ce = tt.expand_dims %columns {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %w = arith.constant dense<320> : tensor<64x1xi32>
  %s = arith.muli %re, %w : tensor<64x1xi32>
  %sb = tt.broadcast %s : tensor<64x1xi32> -> tensor<64x128xi32>
  %cb = tt.broadcast %ce : tensor<1x128xi32> -> tensor<64x128xi32>
  %o = arith.addi %sb, %cb : tensor<64x128xi32>
  %ob = tt.splat %out : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
  %p = tt.addptr %ob, %o : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
  tt.store %p, %sum : tensor<64x128x!tt.ptr<f32>>
  tt.return
}
";

/// Elements from one row to the next.
const PITCH: i64 = 320;

/// Matrices of small whole numbers, in rows of [`PITCH`] whose ends are NaN.
fn args(random: &mut Random, [m, n, k]: [i64; 3]) -> Args {
    let mut matrix = |rows: i64, columns: i64| -> Vec<u8> {
        let mut element =
            |at: i64| if at % PITCH < columns { half(random.below(5) as i32 - 2) } else { 0x7e00 };
        (0..rows * PITCH).flat_map(|at| element(at).to_le_bytes()).collect()
    };
    let (x, y) = (matrix(m, k), matrix(k.max(1), n));
    Args::of(vec![x, y, vec![0x5a; 128 * PITCH as usize * 4]], &[m, n, k])
}

fn how(num_warps: u32, change: &dyn Fn(&mut Machine)) -> How<'_> {
    How { stages: 3, num_warps, change }
}

/// In pairs that share the columns of `%y`.
fn in_pairs(machine: &mut Machine) {
    machine.roles = Roles::All;
    machine.pairs = Pairs::Of(1);
}

fn paired(num_warps: u32) -> Kernel {
    let kernel = Kernel::of(TEXT, how(num_warps, &in_pairs));
    assert!(kernel.bulk.paired, "{}", kernel.bulk.ptx);
    kernel
}

#[test]
fn each_copies_half_of_what_both_read() {
    let mut random = Random::new(71);
    for num_warps in [4, 8] {
        let kernel = paired(num_warps);
        let ptx = &kernel.bulk.ptx;
        assert!(ptx.contains(".reqnctapercluster 2, 1, 1"), "{ptx}");
        // One box of `%x`, and one of two of `%y`.
        assert_eq!(ptx.matches("cp.async.bulk.tensor.2d.shared::cluster").count(), 2, "{ptx}");
        assert_eq!(ptx.matches(".multicast::cluster").count(), 1, "{ptx}");
        let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
        let assembled = assembler().assemble(ptx, &options);
        assert!(assembled.is_ok(), "{:?}\n{ptx}", assembled.err().map(|error| error.to_string()));
        for sizes in [[128, 256, 320], [70, 129, 64], [3, 200, 257], [128, 128, 0], [100, 256, 640 / 3]] {
            let args = args(&mut random, sizes);
            let programs = 2 * (sizes[1] as u32).div_ceil(128);
            kernel.check(([programs, 1, 1], &args), 8, &format!("{sizes:?}, {num_warps} warps"));
        }
    }
}

#[test]
fn nothing_that_orders_the_copies_of_a_pair_may_be_missing() {
    let kernel = paired(4);
    let args = args(&mut Random::new(72), [128, 128, 5 * 64]);
    let launch = ([2, 1, 1], &args);
    let expected = kernel.interpret(launch);
    let lines: Vec<&str> = kernel.bulk.ptx.lines().collect();
    let words =
        ["mbarrier.arrive", "mbarrier.try_wait", "barrier.cluster", "cp.async.bulk.tensor", "mbarrier.init"];
    let mut unnoticed = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !words.iter().any(|word| line.contains(word)) {
            continue;
        }
        let mut left = lines.clone();
        left[at] = "";
        if (0..8).all(|schedule| {
            let ran = kernel.run(&kernel.bulk, &left.join("\n"), launch, schedule);
            ran.is_ok_and(|found| found == expected)
        }) {
            unnoticed.push((at + 1, line));
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}\n{}", kernel.bulk.ptx);
}

/// What a kernel says of launches whose programs could be in pairs.
fn noted(text: &str) -> Compiled {
    let noted = |machine: &mut Machine| {
        machine.roles = Roles::All;
        machine.pairs = Pairs::Noted;
    };
    let kernel = Kernel::of(text, how(4, &noted));
    assert!(!kernel.bulk.paired);
    kernel.bulk
}

#[test]
fn a_launch_tells_what_neighbours_share() {
    let holds = |text: &str, grid: [u32; 3]| -> Vec<usize> {
        let pairs = noted(text).pairs.into_iter();
        let slots = [0, 0, 0, 128, 256, 64];
        pairs.filter(|pair| pair.guards.hold(grid, &slots, &[])).map(|pair| pair.base).collect()
    };
    assert_eq!(holds(TEXT, [4, 1, 1]), [1]);
    assert_eq!(holds(TEXT, [4, 2, 1]), [1]);
    // There is one without a neighbour.
    assert_eq!(holds(TEXT, [3, 1, 1]), []);
    // Neighbours have the same row, of which a block is one box.
    let rows = TEXT
        .replace("%row = arith.remsi", "%row = arith.divsi")
        .replace("%column = arith.divsi", "%column = arith.remsi");
    assert_eq!(holds(&rows, [4, 1, 1]), []);
    // Pairs lie along x alone.
    assert_eq!(holds(&TEXT.replace("tt.get_program_id x", "tt.get_program_id y"), [2, 4, 1]), [1]);
    // Columns in groups of three.
    let threes = TEXT.replace("%two = arith.constant 2", "%two = arith.constant 3");
    assert_eq!(holds(&threes, [6, 1, 1]), []);
    // What a program reads is loaded.
    let loaded = TEXT
        .replace(
            "%j = arith.muli %column, %wide : i32",
            "%jp = tt.load %jq : !tt.ptr<i32>\n  %j = arith.muli %jp, %wide : i32",
        )
        .replace("%m: i32", "%jq: !tt.ptr<i32>, %m: i32");
    assert_eq!(noted(&loaded).pairs, []);
    // The loop is not as long in every program.
    let long = TEXT.replace("%rounds = arith.divsi %last, %side", "%rounds = arith.addi %pid, %one");
    assert_eq!(noted(&long).pairs, []);
}
