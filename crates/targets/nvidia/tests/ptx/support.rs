//! Helpers: builds a kernel, has it checked by our verifier and by LLVM, writes PTX, has it assembled.

use crate::assembler::assembler;
use llir::{FunctionBuilder, Kernel, Module, Param, ParamAttributes, Type, Value, verify};
use nvidia::assemble::{AssembleOptions, Assembler, Cubin};
use nvidia::ptx::{Options, PtxError, emit};
use ptx_isa::Arch;

/// Architectures that everything is assembled for.
pub(crate) const ARCHS: [&str; 6] = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"];

pub(crate) fn arch(name: &str) -> Arch {
    name.parse().expect("a known architecture")
}

/// Assembles a text.
pub(crate) fn assemble(ptx: &str, arch: Arch) -> Cubin {
    try_assemble(ptx, arch).unwrap_or_else(|error| panic!("{error}"))
}

/// Assembles a text, or says what is wrong with it.
pub(crate) fn try_assemble(ptx: &str, arch: Arch) -> Result<Cubin, String> {
    let result = assembler().assemble(ptx, &AssembleOptions::new(arch));
    result.map_err(|error| format!("{error}\n{ptx}"))
}

/// A module with one kernel `k`.
pub(crate) fn kernel(params: &[Type], fill: impl FnOnce(&mut FunctionBuilder<'_>, &[Value])) -> Module {
    let mut module = Module::new("test");
    module.triple = "nvptx64-nvidia-cuda".into();
    module.data_layout = "e-p3:32:32-p4:32:32-p5:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64".into();
    add_kernel(&mut module, params, fill);
    module
}

pub(crate) fn add_kernel(
    module: &mut Module,
    params: &[Type],
    fill: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) {
    let attributes =
        |ty: Type| ParamAttributes { align: if ty.is_ptr() { 16 } else { 0 }, ..Default::default() };
    let params: Vec<Param> =
        params.iter().map(|ty| Param { ty: *ty, name: String::new(), attributes: attributes(*ty) }).collect();
    let count = params.len();
    let id = module.add_function("k", Type::VOID, params);
    let kernel = Kernel { convention: "ptx_kernel".into(), lanes: Some([128, 1, 1]), ..Kernel::default() };
    module.function_mut(id).expect("it was added").kernel = Some(kernel);
    let mut builder = FunctionBuilder::new(module, id);
    let values: Vec<Value> = (0..count).map(|index| builder.param(index)).collect();
    fill(&mut builder, &values);
    if !builder.is_terminated() {
        builder.ret(None);
    }
    builder.finish();
}

/// Holds when our verifier and LLVM agree that a module is right.
pub(crate) fn accepted(module: &Module) {
    verify(module).unwrap_or_else(|errors| panic!("{errors:?}\n{module}"));
    let llvm = llvm::Llvm::load().expect("these tests need an LLVM");
    llvm.check(&module.to_string()).unwrap_or_else(|error| panic!("{error}\n{module}"));
}

/// The PTX of a module, assembled too.
pub(crate) fn ptx_for(module: &Module, arch: Arch) -> String {
    accepted(module);
    let ptx = emit(module, &Options::new(arch)).unwrap_or_else(|errors| panic!("{errors:?}\n{module}"));
    assemble(&ptx.text, arch);
    ptx.text
}

/// The PTX for sm_90a.
pub(crate) fn ptx(module: &Module) -> String {
    ptx_for(module, arch("sm_90a"))
}

/// The errors of a module that has no PTX.
pub(crate) fn errors(module: &Module, arch: Arch) -> Vec<PtxError> {
    accepted(module);
    emit(module, &Options::new(arch)).expect_err("no PTX")
}

/// The instructions of a text: without its head, declarations and labels.
pub(crate) fn instructions(ptx: &str) -> Vec<&str> {
    let body = ptx.split_once("{\n").map_or("", |(_, body)| body);
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.'));
    lines.filter(|line| !line.ends_with(':') && *line != "}").collect()
}
