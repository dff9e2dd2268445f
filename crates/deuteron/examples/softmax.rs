//! The fused softmax of the tutorials from a Rust program, with no Python on the machine.
//!
//! `cargo run -p deuteron --example softmax` runs on the GPU where there is one, else on the cores of the host;
//! `cargo run -p deuteron --example softmax cpu` names the target.

use deuteron::{Arg, Error, Kernel, Options, Target};

const SOURCE: &str = r#"
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(out_ptr, in_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * row_stride + cols, mask=cols < n_cols, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    result = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * row_stride + cols, result, mask=cols < n_cols)
"#;

const ROWS: usize = 1823;
const COLS: usize = 781;

fn main() -> Result<(), Error> {
    let target = match std::env::args().nth(1) {
        Some(name) => Target::named(&name)?,
        None => Target::current()?,
    };
    println!("target {} {}", target.name(), target.arch());
    let kernel = Kernel::from_source(SOURCE, "softmax_kernel")?;
    let options = Options::default().number("num_warps", 8);
    let softmax = kernel.compile(&target, "*fp32, *fp32, i32, i32, 1024", &options)?;

    let input: Vec<f32> = (0..ROWS * COLS).map(|at| ((at * 7919) % 1000) as f32 * 0.01 - 5.0).collect();
    let grid = [ROWS as u32, 1, 1];
    let (stride, cols) = (Arg::Int(COLS as i64), Arg::Int(COLS as i64));
    let output = if target.takes_slices() {
        let mut output = vec![0.0f32; input.len()];
        let mut args = [Arg::write(&mut output), Arg::read(&input), stride, cols];
        // SAFETY: the kernel masks what lies beyond a row, and both slices have all rows.
        unsafe { softmax.launch(grid, &mut args) }?;
        output
    } else {
        let (on_device, result) = (target.buffer(&input)?, target.zeroed::<f32>(input.len())?);
        let mut args = [Arg::buffer(&result), Arg::buffer(&on_device), stride, cols];
        // SAFETY: as above, with buffers.
        unsafe { softmax.launch(grid, &mut args) }?;
        result.to_vec()?
    };

    let mut worst = 0.0f64;
    for (row, result) in input.chunks(COLS).zip(output.chunks(COLS)) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exponentials: Vec<f64> = row.iter().map(|x| f64::from(x - max).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        for (expected, found) in exponentials.iter().zip(result) {
            worst = worst.max((expected / sum - f64::from(*found)).abs());
        }
    }
    println!("{ROWS} rows of {COLS}: largest difference from float64 {worst:.1e}");
    assert!(worst < 1e-6, "the softmax is wrong");
    Ok(())
}
