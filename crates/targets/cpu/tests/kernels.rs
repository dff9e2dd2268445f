//! Whole kernels on this machine, against plain Rust.

mod support;

use support::{Kernel, Random, at};

/// Kernels as the front end writes them.
fn fixture(name: &str) -> String {
    let path = format!("{}/tests/kernels/{name}.ttir", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn vector_add_touches_nothing_behind_its_mask() {
    for arch in ["native", "x86-64"] {
        let kernel = Kernel::with_arch(&fixture("add"), arch);
        for size in [0usize, 1, 7, 8, 1023, 1024, 1025, 98432] {
            let mut random = Random(size as u64 + 1);
            let (mut x, mut y) = (random.floats(size), random.floats(size));
            let mut out = vec![-7.5f32; size + 64];
            let args = [at(&mut x), at(&mut y), at(&mut out), size as u64];
            kernel.run([size.div_ceil(1024) as u32, 1, 1], &args);
            for (index, value) in out.iter().enumerate() {
                let expected = if index < size { x[index] + y[index] } else { -7.5 };
                assert_eq!(*value, expected, "{arch}: element {index} of {size}");
            }
        }
    }
}

fn softmax(row: &[f32]) -> Vec<f64> {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exps: Vec<f64> = row.iter().map(|&x| f64::from(x - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|x| x / sum).collect()
}

fn check_softmax(name: &str) {
    for arch in ["native", "x86-64"] {
        let kernel = Kernel::with_arch(&fixture(name), arch);
        for (rows, columns) in [(3usize, 781usize), (2, 1), (5, 256), (1, 1000), (4, 1024)] {
            let mut random = Random((rows * columns) as u64);
            let mut x: Vec<f32> = random.floats(rows * columns).iter().map(|x| x * 9.0).collect();
            let mut out = vec![f32::NAN; rows * columns + 8];
            let args = [at(&mut x), at(&mut out), columns as u64, columns as u64];
            kernel.run([rows as u32, 1, 1], &args);
            for row in 0..rows {
                let expected = softmax(&x[row * columns..(row + 1) * columns]);
                for (column, want) in expected.iter().enumerate() {
                    let got = f64::from(out[row * columns + column]);
                    assert!((got - want).abs() <= 2e-6 * want + 1e-12, "{arch}: {row}, {column}: {got} {want}");
                }
            }
            assert!(out[rows * columns..].iter().all(|x| x.is_nan()), "wrote behind the end");
        }
    }
}

#[test]
fn online_softmax_of_rows() {
    check_softmax("softmax_online");
}
