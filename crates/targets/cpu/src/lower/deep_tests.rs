//! Expressions that are thousands of operations deep are lowered on the stack of any thread.

use super::lower;
use crate::host::Processor;
use std::fmt::Write as _;
use target::CompileOptions;

/// Bytes of a small stack, even for a build without optimisation.
const STACK: usize = 2 << 20;

/// A kernel that loads a matrix, does something to `%x` again and again, and stores it. `{i}` is the number of a step.
fn kernel(steps: usize, step: &str) -> String {
    let mut text = String::from(
        "tt.func public @deep(%p: !tt.ptr<i32>) {
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %all = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %at = tt.addptr %all, %lane : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %line = tt.load %at : tensor<64x!tt.ptr<i32>>
  %x0 = tt.reshape %line : tensor<64xi32> -> tensor<8x8xi32>
",
    );
    for number in 0..steps {
        let step = step.replace("{i}", &number.to_string()).replace("{next}", &(number + 1).to_string());
        text.push_str(&step);
    }
    let _ = write!(
        text,
        "  %end = tt.reshape %x{steps} : tensor<8x8xi32> -> tensor<64xi32>
  tt.store %at, %end : tensor<64x!tt.ptr<i32>>
  tt.return
}}
"
    );
    text
}

fn lowers(text: &str) {
    let work = || {
        let parsed = ir::text::parse(text, ttir::registry(), ir::text::ParseOptions::default());
        let module = parsed.expect("the kernel is right");
        let lowered =
            lower(module, Processor::host(), &CompileOptions { guarded: true, ..CompileOptions::default() })
                .expect("it is lowered");
        assert!(!lowered.module.to_string().is_empty());
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("the stack is deep enough");
    });
}

#[test]
fn long_sums_are_lowered() {
    lowers(&kernel(20_000, "  %x{next} = arith.muli %x{i}, %x{i} : tensor<8x8xi32>\n"));
}

#[test]
fn long_chains_of_turned_matrices_are_lowered() {
    let step = "  %t{i} = tt.trans %x{i} {order = array<i32: 1, 0>} : tensor<8x8xi32> -> tensor<8x8xi32>
  %x{next} = arith.muli %t{i}, %x{i} : tensor<8x8xi32>
";
    lowers(&kernel(1_000, step));
}

#[test]
fn long_chains_of_loads_are_lowered() {
    let step = "  %s{i} = tt.splat %p : !tt.ptr<i32> -> tensor<8x8x!tt.ptr<i32>>
  %a{i} = tt.addptr %s{i}, %x{i} : tensor<8x8x!tt.ptr<i32>>, tensor<8x8xi32>
  %x{next} = tt.load %a{i} : tensor<8x8x!tt.ptr<i32>>
";
    lowers(&kernel(2_000, step));
}
