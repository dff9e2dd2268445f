//! Reductions, scans and quotients of rows that masks cut off anywhere, against plain Rust, on every kind of vector
//! that this machine has.

mod support;

use support::{Kernel, Random, at};

/// Elements of a block.
const BLOCK: usize = 1024;

/// Valid elements of a row: none, few, around ends of vectors and chunks, all.
const LENGTHS: [usize; 14] = [0, 1, 2, 15, 16, 17, 63, 64, 65, 500, 781, 1008, 1023, 1024];

/// Names of processors whose code runs here.
fn processors() -> Vec<&'static str> {
    let all = ["native", "avx512", "avx2", "x86-64"];
    all.into_iter()
        .filter(|name| cpu::host::Processor::named(name).is_ok_and(|machine| machine.runs_here()))
        .collect()
}

/// A kernel `(x, out, n)` over one row: `%mask` holds for its elements, `%x` are these, `other` is what others are.
fn row_kernel(other: &str, body: &str) -> String {
    format!(
        "module {{
  tt.func public @row(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {{
    %range = tt.make_range {{end = {BLOCK} : i32, start = 0 : i32}} : tensor<{BLOCK}xi32>
    %bound = tt.splat %n : i32 -> tensor<{BLOCK}xi32>
    %mask = arith.cmpi slt, %range, %bound : tensor<{BLOCK}xi32>
    %from = tt.splat %in : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>>
    %at = tt.addptr %from, %range : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi32>
    %to = tt.splat %out : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>>
    %there = tt.addptr %to, %range : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi32>
    %other = arith.constant dense<{other}> : tensor<{BLOCK}xf32>
    %x = tt.load %at, %mask, %other : tensor<{BLOCK}x!tt.ptr<f32>>
{body}
    tt.return
  }}
}}"
    )
}

/// A reduction of `%x` that is stored in the first element.
fn reduction(op: &str) -> String {
    format!(
        "    %r = \"tt.reduce\"(%x) <{{axis = 0 : i32}}> ({{
    ^bb0(%a: f32, %b: f32):
      %c = {op} %a, %b : f32
      tt.reduce.return %c : f32
    }}) : (tensor<{BLOCK}xf32>) -> f32
    tt.store %out, %r : !tt.ptr<f32>"
    )
}

/// A scan of `%x` that is stored.
fn scan(op: &str, reverse: bool) -> String {
    format!(
        "    %s = \"tt.scan\"(%x) <{{axis = 0 : i32, reverse = {reverse}}}> ({{
    ^bb0(%a: f32, %b: f32):
      %c = {op} %a, %b : f32
      tt.scan.return %c : f32
    }}) : (tensor<{BLOCK}xf32>) -> tensor<{BLOCK}xf32>
    tt.store %there, %s, %mask : tensor<{BLOCK}x!tt.ptr<f32>>"
    )
}

/// Runs a kernel on the first elements of a row; answers the output, which was -7.5 before.
fn run(kernel: &Kernel, row: &[f32], length: usize) -> Vec<f32> {
    let mut row = row.to_vec();
    let mut out = vec![-7.5f32; BLOCK + 16];
    kernel.run([1, 1, 1], &[at(&mut row), at(&mut out), length as u64]);
    out
}

fn rows() -> Vec<Vec<f32>> {
    let mut random = Random(7);
    let plain = random.floats(BLOCK);
    let with_nan = plain.iter().enumerate().map(|(i, &x)| if i % 3 == 0 { f32::NAN } else { x }).collect();
    let nothing = vec![f32::NAN; BLOCK];
    let mut one = nothing.clone();
    one[780] = -3.0;
    vec![plain, with_nan, nothing, one, vec![f32::NEG_INFINITY; BLOCK], vec![f32::INFINITY; BLOCK]]
}

#[test]
fn extremes_ignore_nan_and_count_what_masked_lanes_are() {
    for arch in processors() {
        for (op, other, start) in [
            ("arith.maxnumf", "0xFF800000", f32::NEG_INFINITY),
            ("arith.minnumf", "0x7F800000", f32::INFINITY),
            ("arith.maxnumf", "0.25", 0.25),
            ("arith.minnumf", "0x7FC00000", f32::NAN),
        ] {
            let kernel = Kernel::with_arch(&row_kernel(other, &reduction(op)), arch);
            let best = if op == "arith.maxnumf" { f32::max } else { f32::min };
            for (number, row) in rows().iter().enumerate() {
                for length in LENGTHS {
                    let got = run(&kernel, row, length)[0];
                    let start = if length == BLOCK { f32::NAN } else { start };
                    let want = row[..length].iter().copied().fold(start, best);
                    let same = got == want || got.is_nan() && want.is_nan();
                    assert!(same, "{arch}: {op}, other {other}, row {number}, {length}: {got} {want}");
                }
            }
        }
    }
}

#[test]
fn sums_count_what_masked_lanes_are() {
    let ones = vec![1.0; BLOCK];
    for arch in processors() {
        for other in ["0.000000e+00", "1.5"] {
            let kernel = Kernel::with_arch(&row_kernel(other, &reduction("arith.addf")), arch);
            for length in LENGTHS {
                let each = if other == "1.5" { 1.5 } else { 0.0 };
                let want = length as f32 + (BLOCK - length) as f32 * each;
                let got = run(&kernel, &ones, length)[0];
                assert_eq!(got.to_bits(), want.to_bits(), "{arch}: other {other}, {length}");
            }
        }
    }
}

#[test]
fn sums_of_functions_of_masked_lanes_are_whole() {
    // exp(other) is neither zero nor the same as what is in the row.
    let body = format!(
        "    %y = math.exp %x : tensor<{BLOCK}xf32>\n{}",
        reduction("arith.addf").replace("%x", "%y")
    );
    let zeros = vec![0.0; BLOCK];
    for arch in processors() {
        for (other, each) in
            [("0xFF800000", 0.0), ("-1.0", (-1.0f64).exp()), ("0xC2C80000", (-100.0f64).exp())]
        {
            let kernel = Kernel::with_arch(&row_kernel(other, &body), arch);
            for length in LENGTHS {
                let got = f64::from(run(&kernel, &zeros, length)[0]);
                let want = length as f64 + (BLOCK - length) as f64 * each;
                assert!((got - want).abs() <= 1e-5 * want + 1e-40, "{arch}: {other}, {length}: {got} {want}");
            }
        }
    }
}

#[test]
fn powers_of_what_is_less_than_its_maximum() {
    let mut random = Random(5);
    let mut rows: Vec<Vec<f32>> = [1.0, 30.0, 100.0, 160.0, 1e30, f32::MAX]
        .map(|size| (0..BLOCK).map(|_| random.float() * size).collect())
        .into();
    rows.push(vec![f32::NEG_INFINITY; BLOCK]);
    for special in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, -0.0] {
        rows.push((0..BLOCK).map(|i| if i % 9 == 4 { special } else { random.float() * 90.0 }).collect());
    }
    type Power = fn(f64) -> f64;
    let powers: [(&str, Power); 2] = [("exp", f64::exp), ("exp2", f64::exp2)];
    for (name, power) in powers {
        let body = reduction("arith.maxnumf").split("    tt.store").next().unwrap_or_default().to_owned()
            + &format!(
                "    %all = tt.splat %r : f32 -> tensor<{BLOCK}xf32>
    %d = arith.subf %x, %all : tensor<{BLOCK}xf32>
    %y = math.{name} %d : tensor<{BLOCK}xf32>
    tt.store %there, %y, %mask : tensor<{BLOCK}x!tt.ptr<f32>>"
            );
        for arch in processors() {
            let kernel = Kernel::with_arch(&row_kernel("0xFF800000", &body), arch);
            for (number, row) in rows.iter().enumerate() {
                for length in [BLOCK, 781] {
                    let largest = row[..length].iter().fold(f32::NAN, |most, x| most.max(*x));
                    for (got, x) in run(&kernel, row, length)[..length].iter().zip(row) {
                        let want = power(f64::from(x - largest));
                        // Two units in the last place; that of the smallest numbers is 2^-149.
                        let allowed = want * 2f64.powi(-22) + 2f64.powi(-148);
                        let is_near = (f64::from(*got) - want).abs() <= allowed;
                        let both = got.is_nan() && want.is_nan();
                        assert!(is_near || both, "{arch} {name} row {number}: {x:e} - {largest:e}: {got:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn scans_carry_from_chunk_to_chunk() {
    let row: Vec<f32> = (0..BLOCK).map(|i| (i % 7) as f32 - 2.0).collect();
    for arch in processors() {
        for reverse in [false, true] {
            let kernel = Kernel::with_arch(&row_kernel("0.000000e+00", &scan("arith.addf", reverse)), arch);
            for length in LENGTHS {
                let got = run(&kernel, &row, length);
                for i in 0..length {
                    let part = if reverse { &row[i..length] } else { &row[..=i] };
                    assert_eq!(got[i], part.iter().sum::<f32>(), "{arch}: {length}, element {i}");
                }
                assert!(got[length..].iter().all(|x| *x == -7.5), "{arch}: {length}: wrote behind the end");
            }
        }
    }
}

#[test]
fn a_scan_in_place_reads_before_it_writes() {
    let kernel = Kernel::new(&row_kernel("0.000000e+00", &scan("arith.addf", false)));
    for length in LENGTHS {
        let mut row = vec![1f32; BLOCK];
        let place = at(&mut row);
        kernel.run([1, 1, 1], &[place, place, length as u64]);
        let want: Vec<f32> = (0..BLOCK).map(|i| if i < length { i as f32 + 1.0 } else { 1.0 }).collect();
        assert_eq!(row, want, "{length}");
    }
}

#[test]
fn scans_without_a_neutral_element_and_scans_of_scans() {
    // Of the first scan every element is the first one.
    let first = "    %s = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      tt.scan.return %a : f32
    }) : (tensor<1024xf32>) -> tensor<1024xf32>
    %t = \"tt.scan\"(%s) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.scan.return %c : f32
    }) : (tensor<1024xf32>) -> tensor<1024xf32>
    %r = \"tt.reduce\"(%t) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<1024xf32>) -> f32
    %rs = tt.splat %r : f32 -> tensor<1024xf32>
    %u = arith.addf %t, %rs : tensor<1024xf32>
    tt.store %there, %u, %mask : tensor<1024x!tt.ptr<f32>>";
    let row: Vec<f32> = (0..BLOCK).map(|i| i as f32 + 3.0).collect();
    for arch in processors() {
        let kernel = Kernel::with_arch(&row_kernel("0.000000e+00", first), arch);
        for length in LENGTHS {
            let got = run(&kernel, &row, length);
            let largest = if length == 0 { 0.0 } else { 3.0 * BLOCK as f32 };
            for (i, value) in got[..length].iter().enumerate() {
                assert_eq!(*value, 3.0 * (i as f32 + 1.0) + largest, "{arch}: {length}, element {i}");
            }
        }
    }
}

#[test]
fn quotients_by_one_number_are_rounded_like_any() {
    let body = "    %d = tt.load %out : !tt.ptr<f32>
    %ds = tt.splat %d : f32 -> tensor<1024xf32>
    %q = arith.divf %x, %ds : tensor<1024xf32>
    tt.store %there, %q, %mask : tensor<1024x!tt.ptr<f32>>";
    let mut random = Random(3);
    let special =
        [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, -f32::MAX, 1e-30, 1e30, 1.0];
    let row: Vec<f32> = (0..BLOCK)
        .map(|i| match special.get(i) {
            Some(x) => *x,
            None => random.float() * 2f32.powi((random.next() % 120) as i32 - 60),
        })
        .collect();
    let mut divisors = vec![1.0, -1.0, 3.0, -7.0, 0.1, 0.0, -0.0, 1e30, 2e30, 1e-40, f32::INFINITY, f32::NAN];
    divisors.extend((0..40).map(|_| random.float() * 2f32.powi((random.next() % 40) as i32)));
    for arch in processors() {
        let kernel = Kernel::with_arch(&row_kernel("0.000000e+00", body), arch);
        for &divisor in &divisors {
            for length in [BLOCK, 781] {
                let (mut x, mut out) = (row.clone(), vec![0f32; BLOCK]);
                out[0] = divisor;
                kernel.run([1, 1, 1], &[at(&mut x), at(&mut out), length as u64]);
                for (got, x) in out[..length].iter().zip(&row) {
                    let want = x / divisor;
                    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                    assert!(same, "{arch}: {x:e} / {divisor:e}: {got:e} {want:e}");
                }
            }
        }
    }
}

#[test]
fn powers_by_their_sum_are_rounded_like_any_quotient() {
    // The powers of a softmax, their sum, and what both are together, each in rows of its own.
    let reduce = |to: &str, from: &str, op: &str| {
        format!(
            "    {to} = \"tt.reduce\"({from}) <{{axis = 0 : i32}}> ({{
    ^bb0(%l: f32, %m: f32):
      %c = {op} %l, %m : f32
      tt.reduce.return %c : f32
    }}) : (tensor<{BLOCK}xf32>) -> f32\n"
        )
    };
    let body = reduce("%max", "%x", "arith.maxnumf")
        + &format!(
            "    %maxes = tt.splat %max : f32 -> tensor<{BLOCK}xf32>
    %less = arith.subf %x, %maxes : tensor<{BLOCK}xf32>
    %e = math.exp %less : tensor<{BLOCK}xf32>\n"
        )
        + &reduce("%sum", "%e", "arith.addf")
        + &format!(
            "    %sums = tt.splat %sum : f32 -> tensor<{BLOCK}xf32>
    %q = arith.divf %e, %sums : tensor<{BLOCK}xf32>
    tt.store %there, %q, %mask : tensor<{BLOCK}x!tt.ptr<f32>>
    %far = arith.constant dense<{BLOCK}> : tensor<{BLOCK}xi32>
    %behind = tt.addptr %there, %far : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi32>
    tt.store %behind, %e, %mask : tensor<{BLOCK}x!tt.ptr<f32>>
    %further = tt.addptr %behind, %far : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi32>
    tt.store %further, %sums, %mask : tensor<{BLOCK}x!tt.ptr<f32>>"
        );
    let mut random = Random(5);
    // Powers of all sizes down to zero; rows with infinities or NaN have sums that are NaN, one power alone is one.
    let ranges = [0.0, 1.0, 60.0, 300.0];
    let specials = [None, Some(f32::INFINITY), Some(f32::NEG_INFINITY), Some(f32::NAN)];
    for arch in processors() {
        let kernel = Kernel::with_arch(&row_kernel("0xFF800000", &body), arch);
        for (range, special) in ranges.into_iter().flat_map(|range| specials.map(|special| (range, special)))
        {
            for length in [BLOCK, 781, 9, 1] {
                let mut x: Vec<f32> = (0..BLOCK).map(|_| random.float() * range).collect();
                x[length / 2] = special.unwrap_or(x[length / 2]);
                let mut out = vec![-7.5f32; 3 * BLOCK];
                kernel.run([1, 1, 1], &[at(&mut x), at(&mut out), length as u64]);
                for i in 0..length {
                    let (got, power, sum) = (out[i], out[BLOCK + i], out[2 * BLOCK + i]);
                    let want = power / sum;
                    let least = f32::MIN_POSITIVE * 2f32.powi(24);
                    let apart = got.to_bits().abs_diff(want.to_bits());
                    let same = apart == 0 || power < least && apart == 1 || got.is_nan() && want.is_nan();
                    assert!(same, "{arch}: {length}, {range}: {power:e} / {sum:e}: {got:e} {want:e}");
                }
                assert!(out[length..BLOCK].iter().all(|&rest| rest == -7.5), "{arch}: {length}");
            }
        }
    }
}

/// A kernel `(x, out)` over a matrix, whose rows are reduced.
fn rows_kernel(rows: usize, columns: usize, op: &str) -> String {
    format!(
        "module {{
  tt.func public @rows(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>) {{
    %row = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32>
    %column = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32>
    %long = arith.constant dense<{columns}> : tensor<{rows}xi32>
    %start = arith.muli %row, %long : tensor<{rows}xi32>
    %starts = tt.expand_dims %start {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
    %line = tt.expand_dims %column {{axis = 0 : i32}} : tensor<{columns}xi32> -> tensor<1x{columns}xi32>
    %a = tt.broadcast %starts : tensor<{rows}x1xi32> -> tensor<{rows}x{columns}xi32>
    %b = tt.broadcast %line : tensor<1x{columns}xi32> -> tensor<{rows}x{columns}xi32>
    %at = arith.addi %a, %b : tensor<{rows}x{columns}xi32>
    %from = tt.splat %in : !tt.ptr<f32> -> tensor<{rows}x{columns}x!tt.ptr<f32>>
    %there = tt.addptr %from, %at : tensor<{rows}x{columns}x!tt.ptr<f32>>, tensor<{rows}x{columns}xi32>
    %x = tt.load %there : tensor<{rows}x{columns}x!tt.ptr<f32>>
    %r = \"tt.reduce\"(%x) <{{axis = 1 : i32}}> ({{
    ^bb0(%l: f32, %m: f32):
      %c = {op} %l, %m : f32
      tt.reduce.return %c : f32
    }}) : (tensor<{rows}x{columns}xf32>) -> tensor<{rows}xf32>
    %to = tt.splat %out : !tt.ptr<f32> -> tensor<{rows}x!tt.ptr<f32>>
    %place = tt.addptr %to, %row : tensor<{rows}x!tt.ptr<f32>>, tensor<{rows}xi32>
    tt.store %place, %r : tensor<{rows}x!tt.ptr<f32>>
    tt.return
  }}
}}"
    )
}

#[test]
fn rows_of_a_matrix_are_reduced_one_by_one() {
    for arch in processors() {
        for (rows, columns) in [(1, 64), (2, 32), (4, 16), (4, 256), (8, 64), (64, 32), (64, 64), (512, 16)] {
            for op in ["arith.addf", "arith.maxnumf", "arith.minnumf"] {
                let kernel = Kernel::with_arch(&rows_kernel(rows, columns, op), arch);
                // Sums of small integers are exact in any order.
                let mut x: Vec<f32> =
                    (0..rows * columns).map(|i| ((i * 7919 + i / columns) % 2003) as f32 - 999.0).collect();
                if op != "arith.addf" {
                    x.iter_mut().step_by(3).for_each(|x| *x = f32::NAN);
                    x[..columns].fill(f32::NAN);
                }
                let mut out = vec![-7.5f32; rows + 16];
                kernel.run([1, 1, 1], &[at(&mut x), at(&mut out)]);
                for (row, values) in x.chunks(columns).enumerate() {
                    let want = match op {
                        "arith.addf" => values.iter().sum(),
                        "arith.maxnumf" => values.iter().copied().fold(f32::NAN, f32::max),
                        _ => values.iter().copied().fold(f32::NAN, f32::min),
                    };
                    let same = out[row] == want || out[row].is_nan() && want.is_nan();
                    assert!(same, "{arch}: {op} of {rows}x{columns}, row {row}: {} {want}", out[row]);
                }
                assert!(out[rows..].iter().all(|&rest| rest == -7.5), "{arch}: {op} of {rows}x{columns}");
            }
        }
    }
}
