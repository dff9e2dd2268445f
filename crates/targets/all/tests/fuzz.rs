//! What people may hand to a compile as text (ttir, ttgir, llir, PTX) never makes anything panic when it is damaged: it
//! is refused with an error, or it compiles, and PTX runs on the emulator to its end or to a fault.

use emulator::{Argument, Checks, Launch, Memory, Program};
use std::path::Path;
use std::sync::Arc;
use target::{Artifact, CompileOptions, GivenStage, StageObserver, Target};

/// Words of block-level code that are put where others stood.
const BLOCK_WORDS: &[&str] = &[
    "<",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    "#",
    "!",
    "%0",
    "%arg0",
    "i1",
    "i8",
    "i32",
    "i64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f8E4M3FN",
    "tensor<4xi32>",
    "tensor<64x64xf16>",
    "tensor<1xf32>",
    "!tt.ptr<f32>",
    "arith.addi",
    "arith.addf",
    "arith.divsi",
    "arith.select",
    "arith.constant",
    "math.exp",
    "tt.load",
    "tt.store",
    "tt.dot",
    "tt.splat",
    "tt.reshape",
    "tt.trans",
    "tt.make_range",
    "tt.reduce",
    "tt.atomic_rmw",
    "scf.for",
    "scf.if",
    "scf.yield",
    "dense<0>",
    "axis = 1 : i32",
    "inputPrecision = tf32",
    "num-warps = 32 : i32",
    "order = [0, 1]",
    "kWidth = 4",
    "#smem",
    "mutable",
    "ttg.local_load",
    "ttg.local_alloc",
    "ttg.convert_layout",
    "ttg.async_wait",
    "num = 0 : i32",
];

/// Words of llir.
const VECTOR_WORDS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    ",",
    "=",
    "%1",
    "i1",
    "i32",
    "i64",
    "float",
    "double",
    "half",
    "ptr",
    "ptr addrspace(3)",
    "<4 x float>",
    "<8 x i32>",
    "zeroinitializer",
    "poison",
    "add",
    "fadd",
    "fmul",
    "load",
    "store",
    "getelementptr",
    "select",
    "icmp ult",
    "phi",
    "br",
    "ret void",
    "call",
    "align 16",
    "bitcast",
    "zext",
    "trunc",
];

/// Words of PTX.
const PTX_WORDS: &[&str] = &[
    ";",
    ",",
    "{",
    "}",
    "[",
    "]",
    "@%p1",
    "%r1",
    "%rd1",
    "%tid.x",
    ".b32",
    ".b64",
    ".u32",
    ".s32",
    ".f32",
    ".f16x2",
    ".pred",
    "0f3F800000",
    "ld.global.b32",
    "st.global.b32",
    "ld.shared.v4.b32",
    "mov.b32",
    "add.s32",
    "mad.lo.s32",
    "bra",
    "ret",
    "bar.sync 0",
    "shfl.sync.bfly.b32",
    "cp.async.cg.shared.global",
    "cp.async.wait_group 0",
    "mbarrier.init.shared.b64",
    "wgmma.wait_group.sync.aligned 0",
    "wgmma.fence.sync.aligned",
    ".reg",
    ".shared",
    ".param",
    ".loc",
    ".align 16",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

/// Kernels in ttir, one a text.
fn kernels() -> Vec<String> {
    let kernels = ["add_kernel", "softmax_kernel_v1", "matmul_kernel"]
        .map(|name| format!("tests/ttir/reference/{name}"));
    let own = ["attention", "paged", "rows"].map(|name| format!("tests/ttgir/kernels/{name}"));
    let paths = kernels.into_iter().chain(own);
    paths
        .map(|path| std::fs::read_to_string(root().join(path + ".ttir")).expect("the file is there"))
        .collect()
}

fn target(name: &str) -> Arc<dyn Target> {
    let (backend, arch) = name.split_once(':').unwrap_or((name, ""));
    let all = targets::all();
    let family = all.into_iter().find(|target| target.facts().backend == backend).expect("this build has it");
    family.for_arch(arch).expect("it has this architecture").unwrap_or(family)
}

fn module(text: &str) -> Option<ir::Module> {
    let options = ir::text::ParseOptions { file: Some("fuzz.ttir") };
    let module = ir::text::parse(text, ttir::registry(), options).ok()?;
    ir::verify(&module).ok()?;
    Some(module)
}

fn compiled(target: &dyn Target, text: &str) -> Option<Artifact> {
    target.compile(module(text)?, &CompileOptions::default(), &mut ()).ok()
}

/// The texts of a stage of all kernels.
fn stage(target: &dyn Target, name: &str) -> Vec<String> {
    let text = |kernel: &String| {
        let artifact = compiled(target, kernel).expect("the kernel is whole");
        let stage = artifact.stages.into_iter().find(|stage| stage.name == name).expect("it has this stage");
        String::from_utf8(stage.bytes).expect("the stage is text")
    };
    kernels().iter().map(text).collect()
}

/// Overrides one stage of a compile.
struct Override {
    stage: &'static str,
    text: String,
}

impl StageObserver for Override {
    fn given(&mut self, stage: &str) -> Option<GivenStage> {
        let given = || GivenStage {
            name: stage.into(),
            file: format!("fuzz.{stage}"),
            bytes: self.text.clone().into(),
        };
        (stage == self.stage).then(given)
    }
}

/// Damages a stage of the compiles of all kernels, each of which goes on from there. The first line of a text is the
/// number of its kernel.
fn damage_stage(rounds: u64, name: &str, stage_name: &'static str, words: &[&str]) {
    let (target, kernels) = (target(name), kernels());
    let stages = stage(target.as_ref(), stage_name);
    let samples: Vec<String> =
        stages.iter().enumerate().map(|(number, text)| format!("{number}\n{text}")).collect();
    damage::try_texts(rounds, &samples, words, |text| {
        let Some((number, text)) = text.split_once('\n') else { return false };
        let Some(kernel) = number.parse().ok().and_then(|number: usize| kernels.get(number)) else {
            return false;
        };
        let mut observer = Override { stage: stage_name, text: text.to_owned() };
        let module = module(kernel).expect("the kernel is whole");
        match target.compile(module, &CompileOptions::default(), &mut observer) {
            Ok(_) => true,
            Err(error) => !expect_no_internal(&error.to_string()),
        }
    });
}

/// Damages files of ttgir, from which compiles begin.
fn damage_file(rounds: u64, name: &str, words: &[&str]) {
    let target = target(name);
    damage::try_texts(rounds, &stage(target.as_ref(), "ttgir"), words, |text| {
        let given = GivenStage { name: "ttgir".into(), file: "fuzz.ttgir".into(), bytes: text.into() };
        match target.compile_given(&given, &CompileOptions::default(), &mut ()) {
            Ok(_) => true,
            Err(error) => !expect_no_internal(&error.to_string()),
        }
    });
}

/// An error that says that the compiler is at fault is one of ours.
fn expect_no_internal(message: &str) -> bool {
    assert!(!message.contains("internal error"), "{message}");
    true
}

fn damage_kernels(rounds: u64, name: &str) {
    let target = target(name);
    damage::try_texts(rounds, &kernels(), BLOCK_WORDS, |text| {
        let Some(module) = module(text) else { return false };
        match target.compile(module, &CompileOptions::default(), &mut ()) {
            Ok(_) => true,
            Err(error) => !expect_no_internal(&error.to_string()),
        }
    });
}

#[test]
fn damaged_kernels_compile_for_nvidia_gpus_or_are_refused() {
    damage_kernels(400, "cuda:90");
    damage_kernels(200, "cuda:80");
}

#[test]
fn damaged_kernels_compile_for_amd_gpus_or_are_refused() {
    damage_kernels(120, "hip:gfx942");
    damage_kernels(60, "hip:gfx1100");
}

#[test]
fn damaged_kernels_compile_for_the_processor_or_are_refused() {
    damage_kernels(150, "cpu");
}

#[test]
fn damaged_layouts_compile_or_are_refused() {
    damage_stage(400, "cuda:90", "ttgir", BLOCK_WORDS);
    damage_stage(120, "hip:gfx942", "ttgir", BLOCK_WORDS);
}

#[test]
fn damaged_files_with_layouts_compile_or_are_refused() {
    damage_file(400, "cuda:90", BLOCK_WORDS);
    damage_file(120, "hip:gfx942", BLOCK_WORDS);
}

#[test]
fn damaged_vector_code_compiles_or_is_refused() {
    damage_stage(120, "cpu", "llir", VECTOR_WORDS);
    damage_stage(120, "hip:gfx942", "llir", VECTOR_WORDS);
}

/// Whether the program is read; it then runs for a while.
fn runs(text: &str) -> bool {
    let Ok(program) = Program::parse(text) else { return false };
    let names: Vec<String> = program.entries().map(str::to_owned).collect();
    let checks = Checks { max_instructions: 20_000, ..Checks::default() };
    for name in names {
        let entry = program.entry(&name).expect("it is among the entries");
        let mut memory = Memory::new();
        let buffer = memory.allocate(1 << 16);
        let arguments = vec![Argument::from(buffer); entry.params.len()];
        let launch = Launch {
            block: [128, 1, 1],
            dynamic_shared: 64 << 10,
            arguments,
            schedule: 7,
            ..Launch::default()
        };
        // A fault is as good as an end.
        let _ = program.launch(&name, &launch, &mut memory, checks);
    }
    true
}

#[test]
fn damaged_ptx_runs_or_is_refused() {
    damage::try_texts(250, &stage(target("cuda:90").as_ref(), "ptx"), PTX_WORDS, runs);
    damage::try_texts(150, &stage(target("cuda:80").as_ref(), "ptx"), PTX_WORDS, runs);
}
