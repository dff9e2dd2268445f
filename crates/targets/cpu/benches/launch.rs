//! What a launch costs: empty launches after each other, and 64 programs of 20 µs after the process was idle.
//!
//! `cargo bench -p cpu --bench launch`. Each figure is the median of its rounds.

use cpu::pool::{Cost, run, thread_count};
use llir::{FunctionBuilder, Module, Param, ParamAttributes, Type};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use target::{Artifact, Launch, LoadedKernel, Stage};

fn main() {
    println!("{} threads", thread_count());
    let kernel = empty_kernel();
    for total in [1u32, 2, 8] {
        let launch = Launch::new([total, 1, 1], &[]);
        // SAFETY: the kernel touches nothing.
        let time =
            per_call(100_000, || unsafe { kernel.launch(&launch) }.expect("an empty kernel cannot fail"));
        println!("empty kernel, {total} programs: {time:.0} ns");
    }
    let helped = Cost::unknown();
    let time = median(2_000, || {
        // Forces the workers to take part.
        learn(&helped);
        timed(|| run(2, &helped, &|_, _| ControlFlow::Continue(())).expect("no panic"))
    });
    println!("empty launch with all workers awake: {time:.0} ns");
    for idle_ms in [0u64, 1, 50] {
        let cost = Cost::unknown();
        let rounds = if idle_ms == 50 { 40 } else { 300 };
        let time = median(rounds, || {
            std::thread::sleep(Duration::from_millis(idle_ms));
            timed(|| run(64, &cost, &busy).expect("no panic"))
        });
        let ideal = 64.0 * 20.0 / thread_count() as f64;
        println!("64 x 20 us after {idle_ms} ms idle: {:.0} us (ideal {ideal:.0})", time / 1e3);
    }
}

/// Teaches that a program is long.
fn learn(cost: &Cost) {
    if cost.nanos_per_program().is_none_or(|nanos| nanos < 20_000.0) {
        let _ = run(2, cost, &busy);
    }
}

fn busy(begin: u64, end: u64) -> ControlFlow<()> {
    for _ in begin..end {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(20) {
            std::hint::spin_loop();
        }
    }
    ControlFlow::Continue(())
}

/// Nanoseconds that one call takes.
fn timed(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_nanos() as f64
}

fn median(rounds: usize, mut f: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..rounds).map(|_| f()).collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

/// Nanoseconds per call, over many.
fn per_call(calls: u32, mut f: impl FnMut()) -> f64 {
    median(9, || timed(|| (0..calls).for_each(|_| f())) / f64::from(calls))
}

/// A kernel that returns at once.
fn empty_kernel() -> std::sync::Arc<dyn LoadedKernel> {
    let mut module = Module::new("empty");
    let types = [Type::PTR, Type::PTR, Type::I64, Type::I64, Type::PTR];
    let params = types.map(|ty| Param { ty, name: String::new(), attributes: ParamAttributes::default() });
    let id = module.add_function("empty", Type::I32, params.into());
    let mut builder = FunctionBuilder::new(&mut module, id);
    let zero = builder.i32(0);
    builder.ret(Some(zero));
    builder.finish();
    let llvm = llvm::Llvm::load().expect("this bench needs an LLVM");
    let spec = cpu::host::Processor::host().spec(llvm);
    let compiled = llvm.compile(&module.to_string(), &spec, "", llvm::Output::default()).expect("valid text");
    let artifact = Artifact {
        name: "empty".into(),
        stages: vec![Stage { name: cpu::driver::OBJECT_STAGE.into(), bytes: compiled.object, text: false }],
        params: Vec::new(),
        shared: 0,
        launch: target::LaunchFacts::Host(target::HostFacts::default()),
        metadata: Default::default(),
    };
    cpu::driver::device().load(&artifact).expect("it loads")
}
