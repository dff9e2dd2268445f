//! Inlining, but for functions that ask for calls (`@jit(noinline=True)`) and can have them.
//!
//! ```text
//! tt.func private @f(…) attributes {noinline = true} { … }
//! tt.func private @g(…) { … }
//! %r = tt.call @f(%a)                    =>    %r = tt.call @f(%a)
//! %s = tt.call @g(%r)                          …
//! ```
//!
//! A function keeps its calls where it takes and gives numbers, addresses and blocks of them, computes and loads. What
//! stores, multiplies matrices, has descriptors or asks which program it is in is inlined: which memory is touched, how
//! loops are pipelined, and whether a program does the work of several is decided for a kernel as a whole. Targets
//! without calls replace the others too ([`replace_calls`]).

use crate::ops::dot::MatmulOp;
use crate::ops::func::{CallOp, FuncOp, functions};
use crate::ops::program::ProgramIdOp;
use crate::passes::pipeline;
use crate::types::{DESCRIPTOR, is_odd, is_scalar, is_tensor};
use ir::pass::{Observer, PassRow, Verify};
use ir::passes::{INLINE, inline_calls};
use ir::{Diagnostic, Module, Op, Type};

/// Replaces calls by bodies, but for those that stay.
pub static INLINE_CALLS: PassRow = PassRow {
    name: "inline-calls",
    doc: "Replaces calls by the bodies of the functions, but for functions with `noinline` that compute and load only.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    inline_calls(module, keeps_calls)
}

/// Whether a function is called where its kernel runs.
fn keeps_calls(module: &Module, op: Op) -> bool {
    let Some(func) = FuncOp::of(module, op) else { return false };
    let params = func.params().iter().map(|&param| module.ty(param));
    let crosses = |ty: Type| (is_scalar(ty) || is_tensor(ty)) && !is_odd(ty);
    func.noinline() == Some(true)
        && !func.is_kernel()
        && params.chain(func.result_types().iter().copied()).all(crosses)
        && module.walk(op).into_iter().filter(|&inner| inner != op).all(|inner| computes(module, inner))
}

/// Whether an operation neither writes nor is one that the whole kernel is arranged for.
fn computes(module: &Module, op: Op) -> bool {
    let has_descriptor = |&value: &ir::Value| (DESCRIPTOR.check)(module.ty(value));
    let is_special = MatmulOp::of(module, op).is_some()
        || ProgramIdOp::of(module, op).is_some()
        || module.operands(op).iter().chain(module.results(op)).any(has_descriptor);
    !is_special && (!module.row(op).writes() || CallOp::of(module, op).is_some())
}

/// Replaces the calls that are left, for a target that makes none.
///
/// # Errors
/// What the passes say.
pub fn replace_calls(
    module: &mut Module,
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Vec<Diagnostic>> {
    if functions(module).count() < 2 {
        return Ok(());
    }
    let passes: Vec<&PassRow> = std::iter::once(&INLINE).chain(pipeline().iter().copied()).collect();
    ir::pass::run(module, &passes, verify, observer)
}
