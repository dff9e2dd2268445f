//! How much of the machine's multiply-add peak the dot kernels reach, on one thread with operands in scratch.
//!
//! `cargo run -p cpu --example dot_peak` prints, for each tile, the median and the ninth decile of the ratio in paired
//! runs: a register-only loop of multiply-adds, then the kernel, in turn. The generated code does not depend on how
//! this program is built.

use cpu::dot::{DotKernel, DotSpec, Operands, VectorUnit, padded_stride};
use cpu::loader::LoadedObject;
use llvm::{Llvm, Output, TargetSpec};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

/// Independent chains of the peak loop: enough to hide the latency of every machine tried.
const CHAINS: u32 = 12;
const PAIRS: usize = 401;
const SHAPES: &[[u32; 3]] =
    &[[32, 32, 32], [64, 64, 32], [64, 64, 64], [128, 128, 32], [128, 128, 64], [64, 16, 64], [32, 1024, 32]];

fn host() -> (&'static str, VectorUnit) {
    #[cfg(target_arch = "x86_64")]
    {
        let machine = |vector_bytes, vector_registers, has_fma| VectorUnit {
            vector_bytes,
            vector_registers,
            has_fma,
            x86: true,
            has_bf16_pairs: false,
            has_byte_quads: false,
            has_amx_bf16: false,
            has_amx_fp16: false,
            has_amx_int8: false,
        };
        if std::is_x86_feature_detected!("avx512bw") && std::is_x86_feature_detected!("avx512vl") {
            return ("AVX-512", machine(64, 32, true));
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            return ("AVX2", machine(32, 16, true));
        }
        ("SSE2", machine(16, 16, false))
    }
    #[cfg(not(target_arch = "x86_64"))]
    (
        "NEON",
        VectorUnit {
            vector_bytes: 16,
            vector_registers: 32,
            has_fma: true,
            x86: false,
            has_bf16_pairs: false,
            has_byte_quads: false,
            has_amx_bf16: false,
            has_amx_fp16: false,
            has_amx_int8: false,
        },
    )
}

/// A loop of multiply-adds that touches no memory.
fn peak_loop(machine: &VectorUnit) -> String {
    let lanes = machine.vector_bytes / 4;
    let v = format!("<{lanes} x float>");
    let mut text = format!(
        "define void @peak(ptr %p, i64 %count) \"prefer-vector-width\"=\"512\" {{
entry:
  %x = load {v}, ptr %p, align 4
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
"
    );
    for chain in 0..CHAINS {
        let start = vec![format!("float {chain}.0"); lanes as usize].join(", ");
        let _ = writeln!(text, "  %a{chain} = phi {v} [ <{start}>, %entry ], [ %b{chain}, %loop ]");
    }
    for chain in 0..CHAINS {
        let _ = if machine.has_fma {
            writeln!(text, "  %b{chain} = call {v} @llvm.fma.v{lanes}f32({v} %a{chain}, {v} %x, {v} %x)")
        } else {
            writeln!(text, "  %c{chain} = fmul {v} %a{chain}, %x\n  %b{chain} = fadd {v} %c{chain}, %x")
        };
    }
    text.push_str("  %next = add i64 %i, 1\n  %done = icmp eq i64 %next, %count\n");
    text.push_str("  br i1 %done, label %exit, label %loop\nexit:\n  %s0 = fadd ");
    let _ = writeln!(text, "{v} %b0, %x");
    for chain in 1..CHAINS {
        let _ = writeln!(text, "  %s{chain} = fadd {v} %b{chain}, %s{}", chain - 1);
    }
    let _ = write!(text, "  store {v} %s{}, ptr %p, align 4\n  ret void\n}}\n", CHAINS - 1);
    text
}

/// Calls a kernel many times, so that the call from here does not count.
fn repeat_loop(symbol: &str) -> String {
    format!(
        "define void @\"repeat.{symbol}\"(ptr %a, ptr %b, ptr %c, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @{symbol}(ptr %a, ptr %b, ptr %c)
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}}
"
    )
}

fn specs(machine: VectorUnit) -> Vec<DotSpec> {
    let mut specs = Vec::new();
    for operands in [Operands::F32, Operands::F64, Operands::I32, Operands::I16Pairs] {
        if operands == Operands::I16Pairs && !machine.x86 {
            continue;
        }
        for &[m, n, k] in SHAPES {
            let steps = if operands == Operands::I16Pairs { k / 2 } else { k };
            specs.push(DotSpec {
                m,
                n,
                k,
                operands,
                a_row_stride: padded_stride(steps, operands),
                b_row_stride: padded_stride(n, operands),
                c_row_stride: padded_stride(n, operands),
                used: [m, n, k],
                machine,
            });
        }
    }
    specs
}

/// Zeroed memory that starts at a cache line.
struct Scratch {
    words: Vec<u64>,
}

impl Scratch {
    fn new(bytes: u32) -> Scratch {
        Scratch { words: vec![0; bytes as usize / 8 + 16] }
    }

    fn pointer(&mut self) -> *mut u8 {
        let start = self.words.as_mut_ptr().cast::<u8>();
        start.wrapping_add(start.align_offset(64))
    }
}

type PeakLoop = extern "C" fn(*mut u8, u64);
type RepeatLoop = extern "C" fn(*mut u8, *mut u8, *mut u8, u64);

/// Operations per nanosecond of the kernel and of the peak loop, in pairs.
fn measure(spec: &DotSpec, peak: PeakLoop, kernel: RepeatLoop) -> Vec<(f64, f64)> {
    let bytes = spec.operands.bytes();
    let mut a = Scratch::new(spec.m * spec.a_row_stride * bytes);
    let mut b = Scratch::new(spec.k * spec.b_row_stride * bytes);
    let mut c = Scratch::new(spec.m * spec.c_row_stride * bytes);
    let mut registers = Scratch::new(64);
    let operations = 2.0 * f64::from(spec.m) * f64::from(spec.n) * f64::from(spec.k);
    let calls = (4e6 / operations).ceil() as u64;
    let turns = 15_000u64;
    let peak_operations = f64::from(2 * CHAINS * spec.machine.vector_bytes / 4) * turns as f64;
    (0..PAIRS)
        .map(|_| {
            let start = Instant::now();
            peak(registers.pointer(), turns);
            let middle = Instant::now();
            kernel(a.pointer(), b.pointer(), c.pointer(), calls);
            let kernel_time = middle.elapsed().as_nanos() as f64;
            let peak_time = (middle - start).as_nanos() as f64;
            (operations * calls as f64 / kernel_time, peak_operations / peak_time)
        })
        .collect()
}

fn load(machine: &VectorUnit, specs: &[DotSpec]) -> Result<LoadedObject, Box<dyn Error>> {
    let llvm = Llvm::load()?;
    let mut texts = BTreeMap::new();
    for spec in specs {
        let plan = DotKernel::choose(spec)?;
        for definition in plan.definitions() {
            texts.insert(definition.symbol, definition.text);
        }
        texts.insert(format!("repeat {}", plan.symbol()), repeat_loop(&plan.symbol()));
    }
    let text = peak_loop(machine) + &texts.into_values().collect::<String>();
    let spec = TargetSpec {
        triple: llvm.host_triple(),
        cpu: llvm.host_cpu(),
        features: llvm.host_features(),
        options: llvm::FOR_CPUS,
    };
    let compiled = llvm.compile(&text, &spec, "", Output::default())?;
    Ok(LoadedObject::load(&compiled.object, &|_| None)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (name, machine) = host();
    let specs = specs(machine);
    let object = load(&machine, &specs)?;
    let symbol = |name: &str| object.symbol(name).ok_or_else(|| format!("{name} is not in the object"));
    // SAFETY: the symbol is a loop of this type.
    let peak = unsafe { std::mem::transmute::<usize, PeakLoop>(symbol("peak")?) };
    println!("{name}; percent of the F32 multiply-add peak of one thread, operations of F64 counted twice");
    println!("{:<12} {:>14} {:>8} {:>6} {:>10}", "operands", "m x n x k", "median", "90th", "peak Gop/s");
    for spec in &specs {
        let address = symbol(&format!("repeat.{}", DotKernel::choose(spec)?.symbol()))?;
        // SAFETY: the symbol is a loop of this type around the kernel for this specification.
        let kernel = unsafe { std::mem::transmute::<usize, RepeatLoop>(address) };
        let mut pairs = measure(spec, peak, kernel);
        pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let weight = if spec.operands == Operands::F64 { 200.0 } else { 100.0 };
        let ratio = |index: usize| weight * pairs[index].0 / pairs[index].1;
        let operands = format!("{:?}", spec.operands);
        let shape = format!("{}x{}x{}", spec.m, spec.n, spec.k);
        println!(
            "{operands:<12} {shape:>14} {:>7.1}% {:>5.1}% {:>10.1}",
            ratio(PAIRS / 2),
            ratio(PAIRS * 9 / 10),
            pairs[PAIRS / 2].1
        );
    }
    Ok(())
}
