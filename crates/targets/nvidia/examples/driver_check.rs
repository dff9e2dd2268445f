//! Checks the driver layer on a machine with a GPU, with PTX that was written by hand: devices, assembly, launches,
//! memory, events, errors. Says what it does and ends with 0 if all of it is right.
//!
//! `cargo run -p nvidia --example driver_check`

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;
use target::{
    Artifact, Device, DeviceFacts, KernelParam, Launch, LaunchFacts, LoadedKernel, ParamKind, Stage,
    TargetError,
};

/// `out[i] = x[i] + y[i]` for `i < n`, 128 lanes a program, with the two parameters that every kernel has at its end.
const ADD: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n, .param .u64 scratch, .param .u64 profile)
.reqntid 128
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.u64 %d3, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 128, %r3;
    setp.ge.u32 %p1, %r4, %r1;
    @%p1 bra done;
    mul.wide.u32 %d4, %r4, 4;
    add.s64 %d5, %d1, %d4;
    add.s64 %d6, %d2, %d4;
    add.s64 %d7, %d3, %d4;
    ld.global.f32 %f1, [%d5];
    ld.global.f32 %f2, [%d6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%d7], %f3;
done:
    ret;
}
";

fn artifact(ptx: &str, shared: u64) -> Artifact {
    let param = |name: &str, kind| KernelParam { name: name.into(), kind };
    Artifact {
        name: "add".into(),
        stages: vec![Stage { name: "ptx".into(), bytes: ptx.as_bytes().to_vec(), text: true }],
        params: vec![
            param("x", ParamKind::Pointer),
            param("y", ParamKind::Pointer),
            param("out", ParamKind::Pointer),
            param("n", ParamKind::Int(32)),
        ],
        shared,
        launch: LaunchFacts::Device(DeviceFacts::new("sm_80", 4, 32)),
        metadata: BTreeMap::new(),
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn main() -> ExitCode {
    match check() {
        Ok(()) => {
            println!("all is well");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<(), TargetError> {
    let driver = nvidia::driver::driver()?;
    println!("driver for CUDA {}.{}", driver.version() / 1000, driver.version() % 1000 / 10);
    for gpu in driver.gpus() {
        let properties = gpu.properties();
        println!("device {}: {} (capability {})", gpu.ordinal(), properties.name, gpu.capability());
        for (name, number) in &properties.numbers {
            println!("    {name} = {number}");
        }
    }
    let gpu = &*driver.gpus()[0];
    let kernel = assemble(gpu)?;
    results(gpu, &*kernel)?;
    times(gpu, &*kernel)?;
    errors(gpu, &*kernel)
}

fn assemble(gpu: &dyn Device) -> Result<std::sync::Arc<dyn LoadedKernel>, TargetError> {
    let start = Instant::now();
    let kernel = gpu.load(&artifact(ADD, 0))?;
    println!("assembled and loaded in {:.1} ms (the first time)", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    gpu.load(&artifact(&ADD.replace("mov.u32 %r2", "mov.u32  %r2"), 0))?;
    println!("assembled and loaded in {:.1} ms (the second time)", start.elapsed().as_secs_f64() * 1e3);
    println!(
        "registers {}, spills {}, most threads {}, handle {:#x}",
        kernel.n_regs(),
        kernel.n_spills(),
        kernel.n_max_threads(),
        kernel.handle()
    );
    match gpu.load(&artifact(&ADD.replace("ld.global.f32 %f1", "ld.global.f32 %f99"), 0)) {
        Ok(_) => return Err(TargetError::Internal("broken PTX was taken".into())),
        Err(error) => println!("broken PTX: {error}"),
    }
    gpu.load(&artifact(ADD, 200 << 10)).map(|_| println!("200 KB of shared memory: loaded"))?;
    match gpu.load(&artifact(ADD, 1 << 20)) {
        Ok(_) => Err(TargetError::Internal("a MB of shared memory was given".into())),
        Err(error) => {
            println!("a MB of shared memory: {error}");
            Ok(kernel)
        }
    }
}

fn results(gpu: &dyn Device, kernel: &dyn LoadedKernel) -> Result<(), TargetError> {
    let n = 1_000_003usize;
    let x: Vec<f32> = (0..n).map(|index| index as f32 * 0.25).collect();
    let y: Vec<f32> = (0..n).map(|index| 7.0 - index as f32).collect();
    let size = n as u64 * 4;
    let memory = [gpu.alloc(size)?, gpu.alloc(size)?, gpu.alloc(size)?];
    let args = [memory[0], memory[1], memory[2], n as u64];
    let mut out = vec![0u8; n * 4];
    // SAFETY: the memory holds `n` elements each, and the kernel stays below `n`.
    unsafe {
        gpu.copy_in(memory[0], &bytes(&x))?;
        gpu.copy_in(memory[1], &bytes(&y))?;
        gpu.fill(memory[2], 0xff, size, 0)?;
        kernel.launch(&Launch::new([n.div_ceil(128) as u32, 1, 1], &args))?;
        gpu.copy_out(&mut out, memory[2])?;
        for address in memory {
            gpu.free(address, size)?;
        }
    }
    let right = out
        .chunks_exact(4)
        .zip(x.iter().zip(&y))
        .all(|(bytes, (x, y))| bytes.try_into().map(f32::from_le_bytes).is_ok_and(|value| value == x + y));
    println!("{n} sums: {}", if right { "right" } else { "WRONG" });
    if right { Ok(()) } else { Err(TargetError::Internal("wrong sums".into())) }
}

fn times(gpu: &dyn Device, kernel: &dyn LoadedKernel) -> Result<(), TargetError> {
    let n = 1u64 << 28;
    let memory = [gpu.alloc(n * 4)?, gpu.alloc(n * 4)?, gpu.alloc(n * 4)?];
    let args = [memory[0], memory[1], memory[2], n];
    let mut best = f64::INFINITY;
    // SAFETY: as above.
    unsafe {
        for _ in 0..5 {
            let start = gpu.record_event(0)?;
            kernel.launch(&Launch::new([(n / 128) as u32, 1, 1], &args))?;
            let end = gpu.record_event(0)?;
            best = best.min(gpu.elapsed_ms(start, end)?);
            gpu.free_event(start);
            gpu.free_event(end);
        }
        println!("2^28 sums: {best:.3} ms, {:.0} GB/s", n as f64 * 12.0 / best * 1e-6);
        let (count, small) = (20_000, [memory[0], memory[1], memory[2], 1]);
        let start = Instant::now();
        for _ in 0..count {
            kernel.launch(&Launch::new([1, 1, 1], &small))?;
        }
        println!("a launch: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(count));
        gpu.synchronize()?;
        for address in memory {
            gpu.free(address, n * 4)?;
        }
    }
    Ok(())
}

/// Comes last: the device answers nothing more afterwards.
fn errors(gpu: &dyn Device, kernel: &dyn LoadedKernel) -> Result<(), TargetError> {
    // SAFETY: the grid is refused; the second launch fails on the device, which is what this shows.
    unsafe {
        match kernel.launch(&Launch::new([1, 70_000, 1], &[0; 4])) {
            Ok(()) => return Err(TargetError::Internal("a grid beyond the largest was taken".into())),
            Err(error) => println!("too many programs: {error}"),
        }
        kernel.launch(&Launch::new([1, 1, 1], &[8, 16, 32, 100]))?;
    }
    match gpu.synchronize() {
        Ok(()) => Err(TargetError::Internal("an illegal address was taken".into())),
        Err(error) => {
            println!("an illegal address: {error}");
            Ok(())
        }
    }
}
