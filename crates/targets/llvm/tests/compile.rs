//! Text in, objects and messages out, with whatever LLVM this machine has.

use llvm::{Llvm, LlvmError, Output, TargetSpec};

const ADD: &str =
    "define i32 @add(i32 %a, i32 %b) {\n  %c = add i32 %a, %b\n  %d = add i32 %c, 0\n  ret i32 %d\n}\n";

fn llvm() -> &'static Llvm {
    Llvm::load().expect("these tests need an LLVM")
}

fn spec(triple: &str, cpu: &str) -> TargetSpec {
    TargetSpec { triple: triple.into(), cpu: cpu.into(), ..TargetSpec::default() }
}

fn x86() -> TargetSpec {
    spec("x86_64-unknown-linux-gnu", "x86-64-v3")
}

#[test]
fn an_object_assembly_and_optimized_text_come_out() {
    let output = Output { assembly: true, optimized: true, ..Output::default() };
    let compiled = llvm().compile(ADD, &x86(), "function(instcombine)", output).unwrap();
    assert_eq!(&compiled.object[..4], b"\x7fELF");
    assert!(compiled.assembly.unwrap().contains("retq"));
    let optimized = compiled.optimized.unwrap();
    assert!(!optimized.contains(", 0"), "instcombine did not run: {optimized}");
    assert_eq!(compiled.timings.iter().map(|(step, _)| *step).next_back(), Some("codegen"));
}

#[test]
fn other_targets_work_where_they_are() {
    for (triple, cpu) in [("aarch64-unknown-linux-gnu", "neoverse-v1"), ("amdgcn-amd-amdhsa", "gfx942")] {
        if llvm().has_target(triple) {
            let compiled = llvm().compile(ADD, &spec(triple, cpu), "", Output::default()).unwrap();
            assert_eq!(&compiled.object[..4], b"\x7fELF", "{triple}");
        }
    }
}

#[test]
fn wrong_text_is_an_error_with_llvms_words() {
    let error = llvm().compile("define i32 @f() { ret i64 0 }", &x86(), "", Output::default()).unwrap_err();
    assert!(matches!(&error, LlvmError::Parse(text) if text.contains("i64")), "{error}");
    let unordered = "define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i32 1, 2\n br label %b\n\
                     b:\n ret i32 %x\n}";
    let error = llvm().check(unordered).unwrap_err();
    assert!(error.to_string().contains("dominate"), "{error}");
}

#[test]
fn unknown_processors_passes_and_triples_are_errors() {
    let with = |spec, passes| llvm().compile(ADD, &spec, passes, Output::default()).unwrap_err().to_string();
    assert!(with(spec("x86_64-unknown-linux-gnu", "pentium9"), "").contains("unknown processor `pentium9`"));
    assert!(with(spec("vax-dec-ultrix", "x86-64"), "").contains("not supported"));
    assert!(with(x86(), "no-such-pass").contains("no-such-pass"));
}

#[test]
fn a_fatal_error_does_not_end_the_process() {
    // The intrinsic is valid IR that the code generator of a processor without it cannot select.
    let text = "declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32)\n\
        define <16 x float> @f(<16 x float> %a) {\n %r = call <16 x float> \
        @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %a, <16 x float> %a, <16 x float> %a, i16 -1, i32 4)\n \
        ret <16 x float> %r\n}";
    let plain = spec("x86_64-unknown-linux-gnu", "x86-64");
    let error = llvm().compile(text, &plain, "", Output::default()).unwrap_err();
    assert!(matches!(&error, LlvmError::Fatal(text) if !text.is_empty()), "{error:?}");
    assert!(llvm().compile(ADD, &x86(), "", Output::default()).is_ok());
}

#[test]
fn threads_compile_at_once_and_agree() {
    let compile = || llvm().compile(ADD, &x86(), "function(instcombine)", Output::default()).unwrap().object;
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(move || [compile(), compile()])).collect();
    let first = compile();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), [first.clone(), first.clone()]);
    }
}

#[test]
fn the_host_is_described() {
    assert!(!llvm().host_cpu().is_empty());
    assert!(llvm().host_features().contains('+'));
    assert!(llvm().version().major >= 17);
}
