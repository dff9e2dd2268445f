//! Integers of 128 bits travel between lanes: four words each. The emulator has no such registers, so that LLVM alone
//! says whether the code is right in form.

#[allow(dead_code)] // It also has what tests of fixtures need.
mod support;

use support::{compile, has_llvm};
use target::CompileOptions;

/// Warps send their sums, lanes theirs, and the result goes to another layout.
const SUMS: &str = r#"
tt.func public @sums(%p: !tt.ptr<i64>, %q: !tt.ptr<i64>) {
  %range = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %at = tt.splat %p : !tt.ptr<i64> -> tensor<256x!tt.ptr<i64>>
  %from = tt.addptr %at, %range : tensor<256x!tt.ptr<i64>>, tensor<256xi32>
  %x = tt.load %from : tensor<256x!tt.ptr<i64>>
  %wide = arith.extsi %x : tensor<256xi64> to tensor<256xi128>
  %square = arith.muli %wide, %wide : tensor<256xi128>
  %rows = tt.reshape %square : tensor<256xi128> -> tensor<16x16xi128>
  %s = "tt.reduce"(%rows) <{axis = 1 : i32}> ({
  ^bb0(%a: i128, %b: i128):
    %c = arith.addi %a, %b : i128
    tt.reduce.return %c : i128
  }) : (tensor<16x16xi128>) -> tensor<16xi128>
  %low = arith.trunci %s : tensor<16xi128> to tensor<16xi64>
  %few = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %out = tt.splat %q : !tt.ptr<i64> -> tensor<16x!tt.ptr<i64>>
  %to = tt.addptr %out, %few : tensor<16x!tt.ptr<i64>>, tensor<16xi32>
  tt.store %to, %low : tensor<16x!tt.ptr<i64>>
  tt.return
}
"#;

#[test]
fn lanes_send_each_other_integers_of_128_bits() {
    if !has_llvm() {
        return;
    }
    for (arch, num_warps) in [("gfx942", 1), ("gfx942", 4), ("gfx1100", 1), ("gfx1100", 4)] {
        let module =
            ir::text::parse(SUMS, ttir::registry(), ir::text::ParseOptions::default()).expect("it parses");
        let options = CompileOptions { num_warps, num_stages: 2, ..CompileOptions::default() };
        compile(module, arch, &options).unwrap_or_else(|error| panic!("{arch}, {num_warps}: {error}"));
    }
}
