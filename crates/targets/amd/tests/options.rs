//! What the options of a launch do to the code of a matmul, and that the same options give the same bytes however many
//! compile.

#[allow(dead_code)] // It also has what tests of fixtures need.
mod support;

use llvm::{Llvm, Output, TargetSpec};
use support::{compile, has_llvm};
use target::{Artifact, CompileOptions, OptionValue};

fn matmul() -> ir::Module {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/amd/matmul.ttir");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let mut module =
        ir::text::parse(&text, ttir::registry(), ir::text::ParseOptions::default()).expect("it parses");
    ir::verify(&module).expect("it is right");
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ()).expect("it runs");
    module
}

fn options(given: &[(&str, i64)]) -> CompileOptions {
    let extra = given.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Int(*value))).collect();
    CompileOptions { num_warps: 4, num_stages: 2, extra, ..CompileOptions::default() }
}

fn compiled(arch: &str, given: &[(&str, i64)]) -> Artifact {
    compile(matmul(), arch, &options(given)).unwrap_or_else(|error| panic!("{arch}, {given:?}: {error}"))
}

fn assembly(arch: &str, given: &[(&str, i64)]) -> String {
    let target = amd::target().for_arch(arch).expect("known").expect("there are several");
    let stage = target.derive_stage(&compiled(arch, given), &options(given), "amdgcn").expect("assembly");
    String::from_utf8(stage.bytes).expect("text")
}

fn llir(arch: &str) -> String {
    String::from_utf8(compiled(arch, &[]).stage("llir").expect("llir").to_vec()).expect("text")
}

/// A number of the metadata of a compile.
fn fact(artifact: &Artifact, name: &str) -> i64 {
    match artifact.metadata.get(name) {
        Some(OptionValue::Int(number)) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn more_waves_of_a_simd_leave_fewer_registers_to_each() {
    if !has_llvm() {
        return;
    }
    // A SIMD has 512 registers for each lane.
    for (waves, most) in [(2, 256), (4, 128)] {
        let artifact = compiled("gfx942", &[("waves_per_eu", waves)]);
        let registers = fact(&artifact, "vgprs").max(fact(&artifact, "agprs"));
        assert!(registers <= most, "{waves} waves: {registers}");
    }
    let free = fact(&compiled("gfx942", &[]), "vgprs");
    assert!(free > 128, "{free} registers: the test shows nothing");
}

#[test]
fn the_size_of_matrix_instructions_is_obeyed() {
    if !has_llvm() {
        return;
    }
    for (size, own, other) in
        [(16, "v_mfma_f32_16x16x16", "v_mfma_f32_32x32x8"), (32, "v_mfma_f32_32x32x8", "v_mfma_f32_16x16x16")]
    {
        let text = assembly("gfx942", &[("matrix_instr_nonkdim", size)]);
        assert!(text.contains(own) && !text.contains(other), "{size}");
    }
    let error =
        compile(matmul(), "gfx942", &options(&[("matrix_instr_nonkdim", 8)])).expect_err("there is none");
    assert!(error.to_string().contains("[0, 16, 32]"), "{error}");
}

#[test]
fn kpack_makes_no_difference() {
    if !has_llvm() {
        return;
    }
    let code = |kpack| compiled("gfx942", &[("kpack", kpack)]).stage("hsaco").expect("code").to_vec();
    assert_eq!(code(1), code(2));
    let error = compile(matmul(), "gfx942", &options(&[("kpack", 4)])).expect_err("there is none");
    assert!(error.to_string().contains("kpack is 4"), "{error}");
}

#[test]
fn barriers_of_lds_leave_loads_under_way() {
    if !has_llvm() {
        return;
    }
    for (arch, empties) in [("gfx1100", "buffer_gl0_inv"), ("gfx1200", "global_inv")] {
        let text = assembly(arch, &[]);
        assert!(text.contains("s_barrier") && !text.contains(empties), "{arch}");
        let ahead = llir(arch).matches("fence syncscope(\"workgroup-one-as\")").count();
        assert!(ahead > 2, "{arch}: {ahead} fences");
    }
}

/// Code for a CPU, which LLVM makes with other options.
fn for_a_cpu(llvm: &'static Llvm) -> Vec<u8> {
    let text = "define i32 @f(ptr %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %s = phi i32 [ 0, %entry ], [ %t, %loop ]
  %m = mul i32 %i, 12
  %q = getelementptr i8, ptr %p, i32 %m
  %x = load i32, ptr %q
  %t = add i32 %s, %x
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %loop, label %done
done:
  ret i32 %t
}";
    let spec = TargetSpec {
        triple: llvm.host_triple(),
        cpu: llvm.host_cpu(),
        options: llvm::FOR_CPUS,
        ..TargetSpec::default()
    };
    llvm.compile(text, &spec, "", Output::default()).expect("it compiles").object
}

#[test]
fn bytes_do_not_depend_on_what_compiles_at_the_same_time() {
    if !has_llvm() {
        return;
    }
    let llvm = Llvm::load().expect("it was found");
    let code = |arch: &str| compiled(arch, &[]).stage("hsaco").expect("code").to_vec();
    let archs = ["gfx942", "gfx1200", "gfx90a"];
    let alone = archs.map(code);
    let cpu = for_a_cpu(llvm);
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (alone, cpu) = (&alone, &cpu);
            scope.spawn(move || {
                for step in 0..archs.len() {
                    let at = (first + step) % archs.len();
                    assert!(code(archs[at]) == alone[at], "{}", archs[at]);
                    assert!(for_a_cpu(llvm) == *cpu, "the CPU's");
                }
            });
        }
    });
}
