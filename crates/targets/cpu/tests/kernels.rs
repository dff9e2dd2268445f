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

#[test]
fn programs_of_a_cooperative_launch_wait_for_each_other() {
    let mut options = target::CompileOptions::default();
    options.extra.insert("launch_cooperative_grid".into(), target::OptionValue::Bool(true));
    let module = support::parse(&fixture("cooperative"));
    let kernel = Kernel::load(&cpu::target().compile(module, &options, &mut ()).unwrap());
    for programs in [1u32, 2, 23] {
        let (mut arrived, mut seen) = (vec![0i32], vec![-1i32; programs as usize]);
        kernel.run([programs, 1, 1], &[at(&mut arrived), at(&mut seen), u64::from(programs)]);
        assert!(seen.iter().all(|&count| count == programs as i32), "{seen:?}");
    }
    let error = kernel.try_run([1 << 20, 1, 1], &[0, 0, 0]).unwrap_err();
    assert!(error.to_string().contains("cannot run at the same time"), "{error}");
}

#[test]
fn programs_that_wait_for_programs_that_have_not_begun() {
    let _limit = limit_time();
    let kernel = Kernel::with_arch(&fixture("cooperative"), "native");
    for programs in [1u32, 2, 23, 300] {
        for _ in 0..3 {
            let (mut arrived, mut seen) = (vec![0i32], vec![-1i32; programs as usize]);
            kernel.run([programs, 1, 1], &[at(&mut arrived), at(&mut seen), u64::from(programs)]);
            assert!(seen.iter().all(|&count| count == programs as i32), "{seen:?}");
        }
    }
}

#[test]
fn nobody_waits_for_a_program_that_has_failed() {
    let _limit = limit_time();
    for is_cooperative in [false, true] {
        let mut options = target::CompileOptions::default();
        let cooperative = target::OptionValue::Bool(is_cooperative);
        options.extra.insert("launch_cooperative_grid".into(), cooperative);
        let module = support::parse(&fixture("failing"));
        let kernel = Kernel::load(&cpu::target().compile(module, &options, &mut ()).unwrap());
        for (programs, failing) in [(2u32, 0), (2, 1), (40, 0), (40, 39)] {
            let mut arrived = vec![0i32];
            let args = [at(&mut arrived), u64::from(programs), failing];
            let error = kernel.try_run([programs, 1, 1], &args).unwrap_err().to_string();
            let is_its_own =
                error.contains(&format!("program ({failing}, 0, 0)")) && error.contains("not this one");
            assert!(is_its_own, "{error}");
            assert!(arrived[0] < programs as i32);
        }
    }
}

/// Ends this process if what holds the answer lives longer than a minute: what is tested is that it ends.
fn limit_time() -> std::sync::mpsc::Sender<()> {
    let (alive, gone) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let waited = gone.recv_timeout(std::time::Duration::from_secs(60));
        if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("a launch was not given up");
            std::process::abort();
        }
    });
    alive
}

#[test]
fn programs_that_spin_are_given_up() {
    let _limit = limit_time();
    for is_cooperative in [false, true] {
        let mut options = target::CompileOptions { guarded: true, ..target::CompileOptions::default() };
        let cooperative = target::OptionValue::Bool(is_cooperative);
        options.extra.insert("launch_cooperative_grid".into(), cooperative);
        let module = support::parse(&fixture("spinning"));
        let kernel = Kernel::load(&cpu::target().compile(module, &options, &mut ()).unwrap());
        for (programs, way) in
            [1, 2, 23].into_iter().flat_map(|programs| [0, 1, 2, 7].map(|way| (programs, way)))
        {
            let (mut flag, mut done) = (vec![1i32], vec![0i32]);
            let args = [at(&mut flag), at(&mut done), way];
            let launch =
                target::Launch { interrupt: Some(|| true), ..target::Launch::new([programs, 1, 1], &args) };
            let start = std::time::Instant::now();
            let error = kernel.try_launch(&launch).unwrap_err().to_string();
            assert!(error.contains("it was interrupted"), "{error}");
            assert!(start.elapsed() < std::time::Duration::from_secs(5), "{way}: {:?}", start.elapsed());
            assert_eq!((flag[0], done[0]), (1, 0));
            // What they wait for has come; nobody asks to end.
            let mut flag = vec![if way == 7 { 0 } else { 7i32 }];
            kernel.run([programs, 1, 1], &[at(&mut flag), at(&mut done), way]);
            assert_eq!(done[0], programs as i32);
        }
    }
}

fn softmax(row: &[f32]) -> Vec<f64> {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exps: Vec<f64> = row.iter().map(|&x| f64::from(x - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|x| x / sum).collect()
}

/// `is_output_first` is the order of the two tensors among the parameters.
fn check_softmax(name: &str, is_output_first: bool) {
    for arch in ["native", "x86-64"] {
        let kernel = Kernel::with_arch(&fixture(name), arch);
        for (rows, columns) in [(3usize, 781usize), (2, 1), (5, 256), (1, 1000), (4, 1024)] {
            let mut random = Random((rows * columns) as u64);
            let mut x: Vec<f32> = random.floats(rows * columns).iter().map(|x| x * 9.0).collect();
            let mut out = vec![f32::NAN; rows * columns + 8];
            let mut args = [at(&mut x), at(&mut out), columns as u64, columns as u64];
            if is_output_first {
                args.swap(0, 1);
            }
            kernel.run([rows as u32, 1, 1], &args);
            for row in 0..rows {
                let expected = softmax(&x[row * columns..(row + 1) * columns]);
                for (column, want) in expected.iter().enumerate() {
                    let got = f64::from(out[row * columns + column]);
                    assert!(
                        (got - want).abs() <= 2e-6 * want + 1e-12,
                        "{arch}: {row}, {column}: {got} {want}"
                    );
                }
            }
            assert!(out[rows * columns..].iter().all(|x| x.is_nan()), "wrote behind the end");
        }
    }
}

#[test]
fn online_softmax_of_rows() {
    check_softmax("softmax_online", false);
}

#[test]
fn layer_norm_of_rows() {
    let kernel = Kernel::new(&fixture("layer_norm"));
    for (rows, columns) in [(3usize, 781usize), (2, 1024), (5, 100), (2, 1)] {
        let mut random = Random(columns as u64);
        let mut x = random.floats(rows * columns);
        let (mut w, mut b) = (random.floats(columns), random.floats(columns));
        let mut y = vec![f32::NAN; rows * columns + 16];
        let (mut mean, mut rstd) = (vec![0f32; rows], vec![0f32; rows]);
        let eps = 1e-5f32;
        let args = [
            at(&mut x),
            at(&mut y),
            at(&mut w),
            at(&mut b),
            at(&mut mean),
            at(&mut rstd),
            columns as u64,
            columns as u64,
            u64::from(eps.to_bits()),
        ];
        kernel.run([rows as u32, 1, 1], &args);
        for row in 0..rows {
            let values: Vec<f64> = x[row * columns..][..columns].iter().map(|&x| f64::from(x)).collect();
            let m = values.iter().sum::<f64>() / columns as f64;
            let var = values.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / columns as f64;
            let r = 1.0 / (var + f64::from(eps)).sqrt();
            assert!((f64::from(mean[row]) - m).abs() < 1e-5 && (f64::from(rstd[row]) - r).abs() < 1e-4 * r);
            for column in 0..columns {
                let want = (values[column] - m) * r * f64::from(w[column]) + f64::from(b[column]);
                let got = f64::from(y[row * columns + column]);
                assert!((got - want).abs() < 1e-3 * want.abs().max(1.0), "{row}, {column}: {got} {want}");
            }
        }
        assert!(y[rows * columns..].iter().all(|x| x.is_nan()));
    }
}

/// The random numbers of the language: ten rounds of Philox on the offset.
fn philox(seed: u64, offset: u32) -> f32 {
    let (mut c, mut k) = ([offset, 0u32, 0, 0], [seed as u32, (seed >> 32) as u32]);
    for _ in 0..10 {
        let (a, b) = (0xD251_1F53u64 * u64::from(c[0]), 0xCD9E_8D57u64 * u64::from(c[2]));
        c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    let x = c[0] as i32;
    (if x < 0 { -x - 1 } else { x }) as f32 * 4.656_612_6e-10
}

#[test]
fn dropout_drops_what_philox_says() {
    for arch in ["native", "x86-64"] {
        let kernel = Kernel::with_arch(&fixture("dropout"), arch);
        let size = 2500usize;
        let mut x = Random(3).floats(size);
        let mut out = vec![f32::NAN; size];
        let args = [at(&mut x), at(&mut out), size as u64, u64::from(0.4f32.to_bits()), 123];
        kernel.run([3, 1, 1], &args);
        for index in 0..size {
            let want = if philox(123, index as u32) > 0.4 { x[index] / (1.0 - 0.4f32) } else { 0.0 };
            assert_eq!(out[index], want, "{arch}: element {index}");
        }
    }
}

#[test]
fn fused_and_naive_softmax_of_rows() {
    check_softmax("softmax_fused", true);
    check_softmax("softmax_naive", true);
}

#[test]
fn matrix_products_with_ragged_edges() {
    for (name, arch) in [("matmul_fp32", "native"), ("matmul_fp32", "x86-64"), ("matmul_fp16", "native")] {
        let kernel = Kernel::with_arch(&fixture(name), arch);
        for [m, n, k] in [[64usize, 64, 32], [100, 70, 45], [1, 200, 64], [130, 129, 96]] {
            let mut random = Random((m * n * k) as u64);
            let (a, b) = (random.floats(m * k), random.floats(k * n));
            let is_half = name.ends_with("16");
            let round = |x: f32| if is_half { half::f16::from_f32(x).to_f32() } else { x };
            let mut half_a: Vec<half::f16> = a.iter().map(|&x| half::f16::from_f32(x)).collect();
            let mut half_b: Vec<half::f16> = b.iter().map(|&x| half::f16::from_f32(x)).collect();
            let (mut full_a, mut full_b) = (a.clone(), b.clone());
            let mut half_c = vec![half::f16::NAN; m * n + 8];
            let mut full_c = vec![f32::NAN; m * n + 8];
            let data = match is_half {
                true => [at(&mut half_a), at(&mut half_b), at(&mut half_c)],
                false => [at(&mut full_a), at(&mut full_b), at(&mut full_c)],
            };
            let sizes = [m, n, k, k, n, n].map(|size| size as u64);
            let args: Vec<u64> = data.into_iter().chain(sizes).collect();
            kernel.run([(m.div_ceil(64) * n.div_ceil(64)) as u32, 1, 1], &args);
            for row in 0..m {
                for column in 0..n {
                    let mut want: f64 = (0..k)
                        .map(|i| f64::from(round(a[row * k + i])) * f64::from(round(b[i * n + column])))
                        .sum();
                    if is_half && want < 0.0 {
                        want *= 0.01;
                    }
                    let place = row * n + column;
                    let got = if is_half { half_c[place].to_f64() } else { f64::from(full_c[place]) };
                    let limit = if is_half { 2e-3 } else { 1e-5 };
                    assert!(
                        (got - want).abs() < limit * want.abs().max(1.0),
                        "{name} {row},{column}: {got} {want}"
                    );
                }
            }
            assert!(half_c[m * n..].iter().all(|x| x.is_nan()) && full_c[m * n..].iter().all(|x| x.is_nan()));
        }
    }
}

#[test]
fn attention_with_and_without_a_causal_mask() {
    for (name, causal) in [("attention", false), ("attention_causal", true)] {
        let kernel = Kernel::new(&fixture(name));
        for size in [64usize, 100, 33] {
            let (heads, head) = (2usize, 32usize);
            let count = heads * size * head;
            let mut random = Random(size as u64);
            let (mut q, mut k, mut v) = (random.floats(count), random.floats(count), random.floats(count));
            let mut out = vec![f32::NAN; count + 8];
            let scale = 0.3f32;
            let args =
                [at(&mut q), at(&mut k), at(&mut v), at(&mut out), size as u64, u64::from(scale.to_bits())];
            kernel.run([size.div_ceil(32) as u32, heads as u32, 1], &args);
            for row in 0..heads * size {
                let (h, i) = (row / size, row % size);
                let last = if causal { i + 1 } else { size };
                let scores: Vec<f32> = (0..last)
                    .map(|j| {
                        (0..head).map(|d| q[row * head + d] * k[(h * size + j) * head + d]).sum::<f32>()
                            * scale
                    })
                    .collect();
                // The sum starts from one, whose weight the first maximum (minus infinity) takes away.
                let weights = softmax(&scores);
                for d in 0..head {
                    let want: f64 = weights
                        .iter()
                        .enumerate()
                        .map(|(j, w)| w * f64::from(v[(h * size + j) * head + d]))
                        .sum();
                    let got = f64::from(out[row * head + d]);
                    assert!((got - want).abs() < 1e-5, "{name} {size}: {row},{d}: {got} {want}");
                }
            }
            assert!(out[count..].iter().all(|x| x.is_nan()));
        }
    }
}

#[test]
fn kernels_compile_for_other_processors() {
    let names = [
        "add",
        "softmax_online",
        "softmax_fused",
        "softmax_naive",
        "layer_norm",
        "dropout",
        "matmul_fp32",
        "matmul_fp16",
        "attention",
        "attention_causal",
    ];
    for arch in ["avx512", "avx2", "x86-64", "aarch64", "znver4", "neoverse-v1"] {
        for name in names {
            let artifact =
                support::compile(&fixture(name), arch).unwrap_or_else(|error| panic!("{arch}: {error}"));
            assert_eq!(&artifact.stage("obj").unwrap()[..4], b"\x7fELF");
        }
    }
}

/// A launch of many programs stores past the caches, whatever the alignment; most programs here are all masked off.
#[test]
fn large_launches_store_the_same_at_any_alignment() {
    let add = Kernel::new(&fixture("add"));
    let naive = Kernel::new(&fixture("softmax_naive"));
    let programs = 1 << 17;
    for shift in [0usize, 1, 3, 4, 8, 13, 15] {
        for size in [1usize, 15, 16, 17, 1000, 1024, 1025, 3000] {
            let mut random = Random((shift * size) as u64 + 5);
            let (mut x, mut y) = (random.floats(size), random.floats(size));
            let mut out = vec![-7.5f32; size + 64];
            let args = [at(&mut x), at(&mut y), at(&mut out[shift..]), size as u64];
            add.run([programs, 1, 1], &args);
            for (index, value) in out.iter().enumerate() {
                let place = index.checked_sub(shift).filter(|&place| place < size);
                let expected = place.map_or(-7.5, |place| x[place] + y[place]);
                assert_eq!(*value, expected, "element {index} of {size} + {shift}");
            }
        }
        // Every program writes the same row, so that a few numbers make a large launch.
        let columns = 700usize;
        let mut x = Random(shift as u64).floats(columns);
        let mut out = vec![f32::NAN; columns + 64];
        let args = [at(&mut out[shift..]), at(&mut x), 0, columns as u64];
        naive.run([1 << 15, 1, 1], &args);
        for (column, want) in softmax(&x).iter().enumerate() {
            let got = f64::from(out[shift + column]);
            assert!((got - want).abs() <= 2e-6 * want, "{column} + {shift}: {got} {want}");
        }
        assert!(out[..shift].iter().chain(&out[shift + columns..]).all(|x| x.is_nan()));
    }
}

#[test]
fn long_chains_of_operations_compile_on_any_thread() {
    let mut text = String::from(
        "module {\n  tt.func public @chain(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {\n\
         %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n\
         %a = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n\
         %from = tt.addptr %a, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n\
         %x0 = tt.load %from : tensor<64x!tt.ptr<f32>>\n",
    );
    let depth = 4000;
    for step in 0..depth {
        text.push_str(&format!("%x{} = arith.addf %x{step}, %x0 : tensor<64xf32>\n", step + 1));
    }
    text.push_str(&format!(
        "%b = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n\
         %to = tt.addptr %b, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n\
         tt.store %to, %x{depth} : tensor<64x!tt.ptr<f32>>\n\
         tt.return\n  }}\n}}\n"
    ));
    let mut out = vec![0f32; 64];
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let kernel = thread.spawn(move || Kernel::new(&text)).unwrap().join().unwrap();
    let mut x: Vec<f32> = (0..64).map(|x| x as f32).collect();
    kernel.run([1, 1, 1], &[at(&mut x), at(&mut out)]);
    for (index, value) in out.iter().enumerate() {
        assert_eq!(*value, index as f32 * (depth + 1) as f32);
    }
}

const LOCKED: &str = "module {
  tt.func public @locked(%lock: !tt.ptr<i32>, %count: !tt.ptr<i32>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %spins = scf.while (%n = %zero) : (i32) -> (i32) {
      %old = tt.atomic_cas acquire, gpu, %lock, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32
      %busy = arith.cmpi ne, %old, %zero : i32
      scf.condition(%busy) %n : i32
    } do {
    ^bb0(%m: i32):
      %more = arith.addi %m, %one : i32
      scf.yield %more : i32
    }
    %x = tt.load %count : !tt.ptr<i32>
    %y = arith.addi %x, %one : i32
    tt.store %count, %y : !tt.ptr<i32>
    %r = tt.atomic_rmw exch, release, gpu, %lock, %zero, %true : (!tt.ptr<i32>, i32, i1) -> i32
    tt.return
  }
}
";

#[test]
fn a_lock_holds_between_threads() {
    let kernel = Kernel::new(LOCKED);
    let (mut lock, mut count) = (vec![0i32], vec![0i32]);
    for round in 1..=20 {
        kernel.run([5000, 1, 1], &[at(&mut lock), at(&mut count)]);
        assert_eq!((lock[0], count[0]), (0, 5000 * round));
    }
}

const ADDING: &str = "module {
  tt.func public @adding(%p: !tt.ptr<f32>, %n: i32) {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %m = tt.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %i, %m : tensor<64xi32>
    %a = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %to = tt.addptr %a, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %x = arith.sitofp %i : tensor<64xi32> to tensor<64xf32>
    %r = tt.atomic_rmw fadd, relaxed, gpu, %to, %x, %mask : (!TYPES) -> tensor<64xf32>
    tt.return
  }
}
";

#[test]
fn atomic_sums_of_blocks_lose_nothing() {
    let types = "tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>";
    let kernel = Kernel::new(&ADDING.replace("!TYPES", types));
    let mut sums = vec![0f32; 64];
    kernel.run([3000, 1, 1], &[at(&mut sums), 50]);
    for (index, sum) in sums.iter().enumerate() {
        assert_eq!(*sum, if index < 50 { 3000.0 * index as f32 } else { 0.0 });
    }
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    let text = "module {
  tt.func public @k(%p: !tt.ptr<i32>) {
    %x = tt.load %p : !tt.ptr<i32>
    %y = tt.extern_elementwise %x {libname = \"\", libpath = \"\", pure = true, symbol = \"__nv_frobnicate\"} : (i32) -> i32
    tt.store %p, %y : !tt.ptr<i32>
    tt.return
  }
}
";
    let error = support::compile(text, "native").unwrap_err().to_string();
    assert!(error.contains("__nv_frobnicate") && error.contains("test.ttir:4"), "{error}");
}

#[test]
fn functions_of_libraries_on_integers_and_bits() {
    type Case = (&'static str, fn(i32, i32) -> i32);
    let cases: [Case; 6] = [
        ("__nv_clz", |x, _| x.leading_zeros() as i32),
        ("__nv_popc", |x, _| x.count_ones() as i32),
        ("__nv_brev", |x, _| x.reverse_bits()),
        ("__nv_ffs", |x, _| if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 }),
        ("__nv_mulhi", |x, y| ((i64::from(x) * i64::from(y)) >> 32) as i32),
        ("__nv_umulhi", |x, y| ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32),
    ];
    for (symbol, expected) in cases {
        let is_binary = symbol.ends_with("hi");
        let (operands, types) = match is_binary {
            true => ("%x, %y", "tensor<16xi32>, tensor<16xi32>"),
            false => ("%x", "tensor<16xi32>"),
        };
        let text = format!(
            "module {{
  tt.func public @k(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {{
    %i = tt.make_range {{end = 16 : i32, start = 0 : i32}} : tensor<16xi32>
    %a = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %from = tt.addptr %a, %i : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %x = tt.load %from : tensor<16x!tt.ptr<i32>>
    %b = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %to = tt.addptr %b, %i : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %y = tt.load %to : tensor<16x!tt.ptr<i32>>
    %r = tt.extern_elementwise {operands} {{libname = \"\", libpath = \"\", pure = true, symbol = \"{symbol}\"}} \
             : ({types}) -> tensor<16xi32>
    tt.store %to, %r : tensor<16x!tt.ptr<i32>>
    tt.return
  }}
}}
"
        );
        let mut random = Random(7);
        let mut x: Vec<i32> = (0..16).map(|_| random.next() as i32).collect();
        x[3] = 0;
        let y: Vec<i32> = (0..16).map(|_| random.next() as i32).collect();
        let mut out = y.clone();
        Kernel::new(&text).run([1, 1, 1], &[at(&mut x), at(&mut out)]);
        for index in 0..16 {
            assert_eq!(out[index], expected(x[index], y[index]), "{symbol}({}, {})", x[index], y[index]);
        }
    }
}
