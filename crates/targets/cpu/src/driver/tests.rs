//! Kernels built with llir, compiled, loaded and launched.

use super::*;
use crate::abi::{PrintBase, PrintKind, offsets, print_format};
use llir::{Flags, FunctionBuilder, IntCompare, Module, Param, ParamAttributes, Type, Value, Values};
use target::{HostFacts, KernelParam, LaunchFacts, ParamKind, Stage};

/// The kernel being built: its builder and the parameters of its entry.
struct Kit<'a, 'm> {
    b: &'a mut FunctionBuilder<'m>,
    context: Value,
    args: Value,
    scratch: Value,
}

impl Kit<'_, '_> {
    /// A run-time argument.
    fn arg(&mut self, index: i64, ty: Type) -> Value {
        let index = self.b.i64(index);
        let slot = self.b.gep(Type::I64, self.args, index);
        self.b.load(ty, slot, 8)
    }

    /// A field of the context.
    fn field(&mut self, offset: u64, ty: Type) -> Value {
        let offset = self.b.i64(offset as i64);
        let at = self.b.offset(self.context, offset);
        self.b.load(ty, at, ty.lane_bytes())
    }
}

fn launch_facts(features: &[String]) -> LaunchFacts {
    LaunchFacts::Host(HostFacts { features: features.to_vec(), ..HostFacts::default() })
}

/// Makes an artifact whose programs do what `program` builds; it gets the pid and gives the code to stop with, if any.
fn artifact(
    shared: u64,
    params: usize,
    program: impl FnOnce(&mut Kit<'_, '_>, Value) -> Option<Value>,
) -> Artifact {
    let mut module = Module::new("test");
    let param = |name: &str, ty| Param { ty, name: name.into(), attributes: ParamAttributes::default() };
    let entry = vec![
        param("context", Type::PTR),
        param("args", Type::PTR),
        param("begin", Type::I64),
        param("end", Type::I64),
        param("scratch", Type::PTR),
    ];
    let id = module.add_function("kernel", Type::I32, entry);
    let mut builder = FunctionBuilder::new(&mut module, id);
    let b = &mut builder;
    let (begin, end, one, zero) = (b.param(2), b.param(3), b.i64(1), b.i32(0));
    let (context, args, scratch) = (b.param(0), b.param(1), b.param(4));
    b.for_loop(begin, end, one, &[], |b, pid, _| {
        let mut kit = Kit { b, context, args, scratch };
        if let Some(code) = program(&mut kit, pid) {
            let failed = b.icmp(IntCompare::Ne, code, zero);
            let branch = b.begin_if(failed);
            b.ret(Some(code));
            b.end_if(branch, &[]);
        }
        Values::new()
    });
    b.ret(Some(zero));
    builder.finish();
    llir::verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{module}"));
    let llvm = llvm::Llvm::load().expect("these tests need an LLVM");
    let host = Processor::host();
    let passes = "function(early-cse,instcombine,simplifycfg)";
    let compiled =
        llvm.compile(&module.to_string(), &host.spec(llvm), passes, llvm::Output::default()).unwrap();
    Artifact {
        name: "kernel".into(),
        stages: vec![Stage { name: OBJECT_STAGE.into(), bytes: compiled.object, text: false }],
        params: vec![KernelParam { name: "p".into(), kind: ParamKind::Pointer }; params],
        shared,
        launch: launch_facts(&host.features),
        metadata: BTreeMap::new(),
    }
}

fn launch(artifact: &Artifact, grid: Grid, args: &[u64]) -> Result<(), TargetError> {
    let kernel = device().load(artifact).unwrap();
    // SAFETY: each test passes what its kernel takes.
    unsafe { kernel.launch(&Launch::new(grid, args)) }
}

#[test]
fn every_program_writes_its_place_through_its_scratch() {
    let artifact = artifact(4096, 2, |kit, pid| {
        let (out, scale) = (kit.arg(0, Type::PTR), kit.arg(1, Type::I64));
        let value = kit.b.mul(pid, scale);
        kit.b.store(value, kit.scratch, 8);
        let value = kit.b.load_with(Type::I64, kit.scratch, llir::Memory::aligned(8), Flags::VOLATILE);
        let place = kit.b.gep(Type::I64, out, pid);
        kit.b.store(value, place, 8);
        None
    });
    for grid in [[1, 1, 1], [7, 1, 1], [33, 5, 3], [100_003, 1, 1]] {
        let total = grid.iter().product::<u32>() as usize;
        let mut out = vec![u64::MAX; total];
        launch(&artifact, grid, &[out.as_mut_ptr() as u64, 3]).unwrap();
        assert!(out.iter().enumerate().all(|(pid, value)| *value == 3 * pid as u64), "{grid:?}");
    }
    launch(&artifact, [0, 4, 1], &[0, 0]).unwrap();
}

#[test]
fn a_failed_assertion_says_where_and_stops() {
    let artifact = artifact(0, 1, |kit, pid| {
        let limit = kit.arg(0, Type::I64);
        let bad = kit.b.icmp(IntCompare::Eq, pid, limit);
        let mut branch = kit.b.begin_if(bad);
        let message = b"x must be small, f.py:3";
        let text = kit.b.module().add_bytes(message);
        let (text, bytes) = (kit.b.symbol(&text), kit.b.i64(message.len() as i64));
        let report = kit.field(offsets::ASSERT_FAIL, Type::PTR);
        kit.b.call_indirect(report, Type::VOID, &[kit.context, pid, text, bytes]);
        let (one, zero) = (kit.b.i32(1), kit.b.i32(0));
        kit.b.begin_else(&mut branch, &[one]);
        Some(kit.b.end_if(branch, &[zero])[0])
    });
    for (grid, limit, place) in [([4, 3, 2], 17, "(1, 1, 1)"), ([1, 1, 1], 0, "(0, 0, 0)")] {
        let error = launch(&artifact, grid, &[limit]).unwrap_err().to_string();
        assert!(error.contains(&format!("program {place}: x must be small, f.py:3")), "{error}");
        assert!(error.contains("kernel `kernel`"), "{error}");
    }
    launch(&artifact, [4, 3, 2], &[99]).unwrap();
}

#[test]
fn printing_reaches_the_callback() {
    let artifact = artifact(64, 0, |kit, pid| {
        let print = kit.field(offsets::PRINT, Type::PTR);
        let grid = kit.field(offsets::GRID, Type::I32);
        kit.b.store(grid, kit.scratch, 4);
        let prefix = kit.b.module().add_bytes(b" grid: ");
        let shape = kit.b.module().add_table("shape", Type::I64, vec![1, 1], 8);
        let (prefix, shape) = (kit.b.symbol(&prefix), kit.b.symbol(&shape));
        let format = kit.b.i64(print_format(PrintKind::I32, PrintBase::Hex, Some(0)) as i64);
        let (bytes, rank) = (kit.b.i64(7), kit.b.i64(1));
        let args = [kit.context, pid, prefix, bytes, format, kit.scratch, rank, shape];
        kit.b.call_indirect(print, Type::VOID, &args);
        None
    });
    launch(&artifact, [2, 1, 1], &[]).unwrap();
}

#[test]
fn wrong_launches_and_artifacts_are_refused() {
    let artifact = artifact(0, 1, |_, _| None);
    let message = |result: Result<(), TargetError>| result.unwrap_err().to_string();
    assert!(message(launch(&artifact, [1, 1, 1], &[])).contains("takes 1 arguments, 0 were given"));
    assert!(message(launch(&artifact, [u32::MAX; 3], &[0])).contains("too many programs"));
    let load = |artifact: &Artifact| device().load(artifact).err().unwrap().to_string();
    let mut changed = artifact.clone();
    changed.launch = launch_facts(&["sse2".into(), "amx-tile9".into()]);
    assert!(load(&changed).contains("a processor with") && load(&changed).contains("amx-tile9"));
    let mut changed = artifact.clone();
    changed.shared = 1 << 40;
    assert!(load(&changed).contains("out of resource"));
    let mut changed = artifact.clone();
    changed.name = "other".into();
    assert!(load(&changed).contains("kernel `other`"));
    let mut changed = artifact;
    changed.stages[0].bytes.truncate(100);
    assert!(load(&changed).contains("damaged"));
}

#[test]
fn the_device_has_the_usual_properties() {
    let properties = device().properties();
    assert!(!properties.name.is_empty());
    for name in ["multiprocessor_count", "max_num_regs", "max_shared_mem", "warpSize", "max_threads_per_sm"] {
        assert!(properties.numbers[name] > 0, "{name}");
    }
    for name in ["sm_clock_rate", "mem_clock_rate", "mem_bus_width"] {
        assert!(properties.numbers.contains_key(name), "{name}");
    }
}
