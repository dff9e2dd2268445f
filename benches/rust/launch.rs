//! What a launch costs from Rust, on an empty grid: `cargo bench -p deuteron`.
//!
//! Each figure is the median of many single calls in nanoseconds, next to the median of doing nothing. A busy machine
//! makes them larger, never smaller.

use deuteron::{Arg, Kernel, Options, Target};
use std::hint::black_box;
use std::time::Instant;

const SOURCE: &str = "
import triton
import triton.language as tl

@triton.jit
def five_arguments(x_ptr, y_ptr, z_ptr, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, x * alpha + tl.load(y_ptr + offsets, mask=mask), mask=mask)
";

const EMPTY: [u32; 3] = [0, 1, 1];
const CALLS: usize = 50_000;

/// Median nanoseconds of single calls.
fn median_ns(mut call: impl FnMut()) -> u128 {
    let mut times: Vec<u128> = (0..CALLS)
        .map(|_| {
            let begin = Instant::now();
            call();
            begin.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[CALLS / 2]
}

fn main() -> Result<(), deuteron::Error> {
    let target = Target::named("cpu")?;
    let kernel = Kernel::from_source(SOURCE, "five_arguments")?;
    let options = Options::default();
    let compiled = kernel.compile(&target, "*fp32, *fp32, *fp32, i32:16, fp32, 64", &options)?;
    let (x, y, mut z) = (vec![1.0f32; 64], vec![2.0f32; 64], vec![0.0f32; 64]);
    println!("nothing                        {:6} ns", median_ns(|| _ = black_box(0)));
    let mut args =
        [Arg::read(&x), Arg::read(&y), Arg::write(&mut z), Arg::Int(64), Arg::Float(2.0), Arg::Int(64)];
    // SAFETY: the grid is empty, so that no memory is reached; the same in each launch below.
    let launch = |args: &mut [Arg<'_>]| unsafe { kernel.launch(&target, EMPTY, args, &options) };
    launch(&mut args)?;
    let by_arguments = median_ns(|| launch(black_box(&mut args)).expect("launched before"));
    println!("launch by arguments            {by_arguments:6} ns");
    let mut turn = 0;
    let alternating = median_ns(|| {
        turn += 1;
        args[3] = Arg::Int(64 + turn % 2);
        launch(black_box(&mut args)).expect("launched before");
    });
    println!("the same, kinds in turns       {alternating:6} ns");
    args[3] = Arg::Int(64);
    // SAFETY: as above.
    let by_signature = median_ns(|| unsafe {
        compiled.launch(EMPTY, black_box(&mut args[..5])).expect("the arguments are those of the signature");
    });
    println!("launch of a compiled signature {by_signature:6} ns");
    Ok(())
}
