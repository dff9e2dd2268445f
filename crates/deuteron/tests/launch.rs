//! Source text in, numbers out, through the facade alone.

use deuteron::{Arg, Kernel, Options, Target};

const SOURCE: &str = r#"
import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(3)

@triton.jit
def scaled(x):
    return x * SCALE

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, scaled(x) + y, mask=mask)
"#;

fn compile(signature: &str) -> Result<deuteron::Compiled, deuteron::Error> {
    let target = Target::named("cpu")?;
    Kernel::from_source(SOURCE, "add")?.compile(
        &target,
        signature,
        &Options::default().number("num_warps", 8),
    )
}

/// Numbers that differ from run to run would be no better here: every size and value is written.
fn data(len: usize, factor: f32) -> Vec<f32> {
    (0..len).map(|index| index as f32 * factor - 7.5).collect()
}

#[test]
fn odd_sizes_are_right_and_what_lies_beyond_is_kept() {
    let add = compile("*fp32, *fp32, *fp32, i32, 128").expect("compiles");
    for len in [1usize, 127, 128, 129, 1000] {
        let (x, y) = (data(len, 0.25), data(len, -2.0));
        let mut out = vec![f32::NAN; len + 3];
        let grid = [len.div_ceil(128) as u32, 1, 1];
        let mut args = [Arg::read(&x), Arg::read(&y), Arg::write(&mut out), Arg::Int(len as i64)];
        // SAFETY: the kernel masks what lies beyond `n`, which is at most the length of each slice.
        unsafe { add.launch(grid, &mut args) }.expect("launches");
        for (index, value) in out.iter().enumerate() {
            match x.get(index) {
                Some(x) => assert_eq!(*value, x * 3.0 + y[index], "{index} of {len}"),
                None => assert!(value.is_nan(), "{index} of {len} was written"),
            }
        }
    }
    assert!(add.stage("ttir").is_ok_and(|text| text.starts_with(b"#loc") || text.starts_with(b"module")));
}

const OVERLAPPING: &str = r#"
import triton
import triton.language as tl

@triton.jit
def shift(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)
"#;

#[test]
fn memory_that_overlaps_is_loaded_before_it_is_stored_to() {
    const LEN: usize = 256;
    let target = Target::named("cpu").expect("a CPU");
    let kernel = Kernel::from_source(OVERLAPPING, "shift").expect("a kernel");
    let compiled = kernel.compile(&target, "*fp32, *fp32, 256", &Options::default()).expect("compiles");
    for distance in [0_i64, 1, -1, 7, -13, 100, 255, -255, 256, 300] {
        let values = data(1000, 0.5);
        let mut expected = values.clone();
        let (from, to) = (350, (350 + distance) as usize);
        for at in 0..LEN {
            expected[to + at] = values[from + at] + 1.0;
        }
        for ahead in [false, true] {
            let mut buffer = values.clone();
            let start = buffer.as_mut_ptr() as u64;
            let mut args: Vec<Arg<'_>> =
                [from, to].iter().map(|&at| Arg::pointer::<f32>(start + 4 * at as u64)).collect();
            let launched = if ahead {
                // SAFETY: both blocks lie in the buffer.
                unsafe { compiled.launch([1, 1, 1], &mut args) }
            } else {
                args.push(Arg::Int(LEN as i64));
                // SAFETY: as above.
                unsafe { kernel.launch(&target, [1, 1, 1], &mut args, &Options::default()) }
            };
            launched.expect("launches");
            assert!(buffer == expected, "{distance} {ahead}");
        }
    }
}

#[test]
fn wrong_arguments_are_named_before_anything_runs() {
    let add = compile("*fp32, *fp32, *fp32, i32:16, 128").expect("compiles");
    let (x, y) = (data(16, 1.0), [0.0f64; 16]);
    let mut out = [0.0f32; 16];
    let refuse = |args: &mut [Arg<'_>]| {
        // SAFETY: these launches are refused.
        unsafe { add.launch([1, 1, 1], args) }.expect_err("the arguments do not fit").to_string()
    };
    assert!(refuse(&mut [Arg::Int(1)]).contains("4 arguments are passed at run time, and 1 were given"));
    let text = refuse(&mut [Arg::read(&x), Arg::read(&y), Arg::write(&mut out), Arg::Int(16)]);
    assert!(text.contains("argument 1 is a slice of fp64, and the kernel was compiled for *fp32"), "{text}");
    let text = refuse(&mut [Arg::read(&x), Arg::read(&x), Arg::write(&mut out), Arg::Int(17)]);
    assert!(text.contains("divisible by 16"), "{text}");
    let text = refuse(&mut [Arg::read(&x), Arg::read(&x), Arg::Int(4), Arg::Int(16)]);
    assert!(text.contains("is a number"), "{text}");
    let text = refuse(&mut [Arg::read(&x), Arg::read(&x), Arg::write(&mut out), Arg::Int(1 << 40)]);
    assert!(text.contains("out of range"), "{text}");
}

#[test]
fn a_number_that_is_known_to_be_one_is_passed_as_one() {
    let add = compile("*fp32, *fp32, *fp32, i64:one, 128").expect("compiles");
    let x = data(16, 1.0);
    let mut out = [f32::NAN; 16];
    let mut args = [Arg::read(&x), Arg::read(&x), Arg::write(&mut out), Arg::Int(2)];
    // SAFETY: all but the first element are masked off, and another number than 1 is refused.
    let refused = unsafe { add.launch([1, 1, 1], &mut args) }.expect_err("it is not 1").to_string();
    assert!(refused.contains("argument 3 is not 1, and the kernel was compiled for that"), "{refused}");
    args[3] = Arg::Int(1);
    // SAFETY: as above.
    unsafe { add.launch([1, 1, 1], &mut args) }.expect("launches");
    assert_eq!(out[0], 4.0 * x[0]);
    assert!(out[1..].iter().all(|other| other.is_nan()));
}

#[test]
fn arguments_say_what_is_compiled() {
    let target = Target::named("cpu").expect("is there");
    let kernel = Kernel::from_source(SOURCE, "add").expect("it is there");
    let options = Options::default().number("num_warps", 2);
    // The same call again and again, other sizes between: what was foreseen and what was not give the same.
    for len in [1usize, 127, 128, 128, 128, 129, 128, 1000, 1000, 1, 1] {
        let (x, y) = (data(len, 0.25), data(len, -2.0));
        let mut out = vec![f32::NAN; len + 3];
        let grid = [len.div_ceil(128) as u32, 1, 1];
        let mut args =
            [Arg::read(&x), Arg::read(&y), Arg::write(&mut out), Arg::Int(len as i64), Arg::Int(128)];
        // SAFETY: the kernel masks what lies beyond `n`, which is at most the length of each slice.
        unsafe { kernel.launch(&target, grid, &mut args, &options) }.expect("launches");
        for (index, value) in out.iter().enumerate() {
            match x.get(index) {
                Some(x) => assert_eq!(*value, x * 3.0 + y[index], "{index} of {len}"),
                None => assert!(value.is_nan(), "{index} of {len} was written"),
            }
        }
    }
    // Another type of elements is another kernel.
    let (x, y) = (vec![1.5f64; 64], vec![2.0f64; 64]);
    let mut out = vec![0.0f64; 64];
    let mut args = [Arg::read(&x), Arg::read(&y), Arg::write(&mut out), Arg::Int(64), Arg::Int(64)];
    // SAFETY: as above.
    unsafe { kernel.launch(&target, [1, 1, 1], &mut args, &Options::default()) }.expect("launches");
    assert_eq!(out, vec![6.5; 64]);
    let refuse = |args: &mut [Arg<'_>], options: &Options| {
        // SAFETY: these launches are refused.
        unsafe { kernel.launch(&target, [1, 1, 1], args, options) }.expect_err("refused").to_string()
    };
    let text = refuse(&mut [Arg::Int(1)], &options);
    assert!(text.contains("takes 5 arguments, and 1 were given"), "{text}");
    let mut wrong = [Arg::Int(1), Arg::Int(1), Arg::Int(1), Arg::Int(1), Arg::read(&x)];
    assert!(refuse(&mut wrong, &options).contains("argument 4 is memory"));
    wrong[4] = Arg::Int(128);
    assert!(refuse(&mut wrong, &Options::default().number("warps", 4)).contains("takes no option `warps`"));
}

#[test]
fn an_emulated_gpu_takes_slices_and_buffers_and_checks_them() {
    let target = Target::emulated("cuda:80").expect("it can be");
    assert_eq!((target.name().as_str(), target.arch().as_str(), target.takes_slices()), ("cuda", "80", true));
    let kernel = Kernel::from_source(SOURCE, "add").expect("it is there");
    let add =
        kernel.compile(&target, "*fp32, *fp32, *fp32, i32, 128", &Options::default()).expect("compiles");
    assert!(add.stage("ptx").is_ok());
    let (x, y) = (data(300, 0.25), data(300, -2.0));
    let (on_device, out) = (target.buffer(&x).expect("memory"), target.zeroed::<f32>(300).expect("memory"));
    let mut args = [Arg::buffer(&on_device), Arg::read(&y), Arg::buffer(&out), Arg::Int(300)];
    // SAFETY: every access is checked.
    unsafe { add.launch([3, 1, 1], &mut args) }.expect("launches");
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x * 3.0 + y).collect();
    assert_eq!(out.to_vec().expect("reads"), expected);
    let mut args = [Arg::buffer(&on_device), Arg::read(&y[..100]), Arg::buffer(&out), Arg::Int(300)];
    // SAFETY: as above.
    let error = unsafe { add.launch([3, 1, 1], &mut args) }.expect_err("y is too short").to_string();
    assert!(error.contains("in no allocation") && error.contains("kernel.py:16"), "{error}");
}

#[test]
fn a_gpu_that_is_not_here_can_be_compiled_for() {
    let target = Target::named("cuda:80").expect("known");
    let kernel = Kernel::from_source(SOURCE, "add").expect("it is there");
    let add =
        kernel.compile(&target, "*fp32, *fp32, *fp32, i32, 128", &Options::default()).expect("compiles");
    assert!(add.stage("ptx").is_ok_and(|text| String::from_utf8_lossy(text).contains(".target sm_80")));
    assert!(!target.takes_slices() && Target::named("cuda:7").is_err());
}

#[test]
fn what_cannot_be_compiled_says_why() {
    let error = |result: Result<deuteron::Compiled, deuteron::Error>| match result {
        Ok(_) => panic!("it compiled"),
        Err(error) => error.to_string(),
    };
    assert!(error(compile("*fp32, i32")).contains("x_ptr, y_ptr, out_ptr, n, BLOCK"));
    assert!(error(compile("*fp32, *fp32, *fp32, i32, what")).contains("`what`"));
    assert!(error(compile("*fp32, *fp32, *fp32, i32, 100")).contains("kernel.py:13"));
    assert!(Kernel::from_source(SOURCE, "sub").is_err_and(|error| error.to_string().contains("scaled, add")));
    assert!(Kernel::from_source("def f(:\n", "f").is_err());
    assert!(Target::named("abacus").is_err_and(|error| error.to_string().contains("cpu")));
}

#[test]
fn what_a_compile_prints_is_heard() {
    let source = r#"
@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    tl.static_print("N is", N, sep=": ")
    tl.store(x_ptr, N)
"#;
    let heard = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let listener = std::sync::Arc::clone(&heard);
    let kernel =
        Kernel::from_source(&format!("import triton\nimport triton.language as tl\n{source}"), "kernel")
            .expect("parses")
            .on_print(move |text| listener.lock().expect("nobody panicked").push_str(text));
    let target = Target::named("cpu").expect("is there");
    // A number of its own for each run: what comes from the cache prints nothing.
    let number = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos() % 1_000_000_007;
    kernel.compile(&target, &format!("*i32, {number}"), &Options::default()).expect("compiles");
    assert_eq!(*heard.lock().expect("nobody panicked"), format!("N is: {number}\n"));
}

const MOVE: &str = r#"
import triton
import triton.language as tl

@triton.jit
def double(src, dst, column):
    dst.store([0, column], src.load([1, column]) * 2)
"#;

/// Words at an address that is divisible by 16.
#[repr(align(16))]
struct Aligned([f32; 24]);

fn tensor<'a>(memory: Arg<'a>, shape: &[i64]) -> Arg<'a> {
    Arg::tensor(memory, shape, &[8, 1]).expect("it is memory")
}

#[test]
fn tensors_are_read_and_written_in_blocks() {
    let target = Target::named("cpu").expect("there is always one");
    let kernel = Kernel::from_source(MOVE, "double").expect("parses");
    let signature = "tensordesc<fp32[2, 4], padding=nan>, tensordesc<fp32[2, 4]>, i32";
    let double = kernel.compile(&target, signature, &Options::default()).expect("compiles");
    let source = Aligned(std::array::from_fn(|index| index as f32));
    let mut result = Aligned([-1.0; 24]);
    let mut args =
        [tensor(Arg::read(&source.0), &[2, 6]), tensor(Arg::write(&mut result.0), &[3, 7]), Arg::Int(4)];
    // SAFETY: both tensors lie in their memory, which the launch checks, and the kernel stays in the tensors.
    unsafe { double.launch([1, 1, 1], &mut args) }.expect("launches");
    let mut expected = [-1.0f32; 24];
    (expected[4], expected[5]) = (24.0, 26.0);
    for (index, (got, wanted)) in result.0.iter().zip(&expected).enumerate() {
        let is_padding = matches!(index, 6 | 12..=14);
        assert!(if is_padding { got.is_nan() } else { got == wanted }, "{index}: {got}");
    }
    let refuse = |src: Arg<'_>, wanted: &str| {
        let mut out = Aligned([0.0; 24]);
        let mut args = [src, tensor(Arg::write(&mut out.0), &[3, 8]), Arg::Int(0)];
        // SAFETY: these launches are refused.
        let error = unsafe { double.launch([1, 1, 1], &mut args) }.expect_err(wanted).to_string();
        assert!(error.contains("argument 0") && error.contains(wanted), "{error}");
    };
    refuse(Arg::read(&source.0), "give memory, shape and strides by Arg::tensor");
    refuse(tensor(Arg::read(&source.0), &[4, 6]), "a tensor of 120 bytes in memory of 96 bytes");
    refuse(tensor(Arg::read(&source.0[1..]), &[2, 6]), "base must be 16-byte aligned");
    refuse(tensor(Arg::read(&source.0), &[2, 6, 1]), "rank mismatch");
    refuse(tensor(Arg::read(&[0i32; 24]), &[2, 6]), "holds i32");
    assert!(Arg::tensor(Arg::Int(3), &[1], &[1]).is_err());
}

const PRODUCT: &str = r#"
import triton
import triton.language as tl

@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_a + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * stride_b + (columns % N)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - step * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - step * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_b
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], total, mask=mask)
"#;

/// Loads by addresses are bulk copies where a launch is as it must be; where rows are not apart, the same kernel is
/// compiled once more without them.
#[test]
fn launches_choose_the_version_of_a_kernel() {
    let target = Target::emulated("cuda:90").expect("it can be");
    let kernel = Kernel::from_source(PRODUCT, "product").expect("it is one");
    let options = Options::default().number("num_warps", 4);
    let signature = "*fp32:16, *fp32:16, *fp32:16, i32, i32, i32, i32:16, i32:16, i32:16, 64, 32";
    let compiled = kernel.compile(&target, signature, &options).expect("compiles");
    let ttgir = String::from_utf8_lossy(compiled.stage("ttgir").expect("it has one")).into_owned();
    assert_eq!(ttgir.matches("tt.map_of").count(), 2, "{ttgir}");
    let (m, n, k) = (72_usize, 80_usize, 40_usize);
    let whole = |len: usize| -> Vec<f32> { (0..len).map(|at| (at * 7 % 9) as f32 - 4.0).collect() };
    let (a, b) = (whole(m * 48), whole(k * n));
    for row in [48_usize, 0, 48] {
        let mut c = vec![f32::NAN; m * n];
        let mut args = [Arg::read(&a), Arg::read(&b), Arg::write(&mut c)].into_iter().collect::<Vec<_>>();
        let numbers = [m, n, k, row, n, n, 64, 32];
        args.extend(numbers.iter().map(|&number| Arg::Int(number as i64)));
        let grid = [m.div_ceil(64) as u32, n.div_ceil(64) as u32, 1];
        // SAFETY: what is read and written is masked to the sizes of the slices.
        unsafe { kernel.launch(&target, grid, &mut args, &options) }.expect("launches");
        drop(args);
        for (at, value) in c.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let expected: f32 = (0..k).map(|step| a[i * row + step] * b[step * n + j]).sum();
            assert_eq!(*value, expected, "element {i}, {j} with rows {row} apart");
        }
    }
}

/// Matrices whose rows begin anywhere are copied to where bulk copies can load them, in memory that a launch which
/// waits makes for it; a launch into a stream has none. In a process of its own, whose environment asks for copies.
#[test]
fn launches_copy_matrices_that_begin_anywhere() {
    const ASKS: &str = "DEUTERON_ALIGNED_COPIES";
    if std::env::var_os(ASKS).is_some() {
        return multiply_what_begins_anywhere();
    }
    let folder = std::env::temp_dir().join(format!("deuteron-copies-{}", std::process::id()));
    let tests = std::env::current_exe().expect("there is one");
    let ran = std::process::Command::new(tests)
        .args(["--exact", "launches_copy_matrices_that_begin_anywhere"])
        .envs([(ASKS, "1"), ("TRITON_KERNEL_DUMP", "1")])
        .env("TRITON_DUMP_DIR", folder.join("dump"))
        .env("TRITON_CACHE_DIR", folder.join("cache"))
        .output()
        .expect("it runs");
    let compiles = std::fs::read_dir(folder.join("dump")).expect("stages were written");
    let copiers =
        compiles.flatten().filter(|compile| compile.path().join("copy_rows.ttgir").exists()).count();
    std::fs::remove_dir_all(&folder).expect("it is ours");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert_eq!(copiers, 1);
}

fn multiply_what_begins_anywhere() {
    let target = Target::emulated("cuda:90").expect("it can be");
    let kernel = Kernel::from_source(PRODUCT, "product").expect("it is one");
    let options = Options::default().number("num_warps", 4);
    let (m, n, k) = (67_usize, 71_usize, 73_usize);
    let whole = |len: usize| -> Vec<f32> { (0..len).map(|at| (at * 7 % 9) as f32 - 4.0).collect() };
    let (a, b) = (whole(m * k), whole(k * n));
    for stream in [None, Some(0)] {
        let mut c = vec![f32::NAN; m * n];
        let mut args = [Arg::read(&a), Arg::read(&b), Arg::write(&mut c)].into_iter().collect::<Vec<_>>();
        let numbers = [m, n, k, k, n, n, 64, 32];
        args.extend(numbers.iter().map(|&number| Arg::Int(number as i64)));
        let grid = [m.div_ceil(64) as u32, n.div_ceil(64) as u32, 1];
        // SAFETY: what is read and written is masked to the sizes of the slices, which outlive the launches.
        let launched = unsafe {
            match stream {
                None => kernel.launch(&target, grid, &mut args, &options),
                Some(stream) => kernel.launch_on(&target, grid, &mut args, &options, stream),
            }
        };
        launched.expect("launches");
        drop(args);
        for (at, value) in c.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let expected: f32 = (0..k).map(|step| a[i * k + step] * b[step * n + j]).sum();
            assert_eq!(*value, expected, "element {i}, {j}");
        }
    }
}
