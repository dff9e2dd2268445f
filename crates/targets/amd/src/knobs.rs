//! Knobs that concern these GPUs alone.

use target::knobs::{KnobDefault, KnobKind, KnobRow, KnobStanding};

use KnobKind::{Flag, OptFlag, OptText};
use KnobStanding::{Compiles, Idle, Prints, Refused};

/// The knob that leaves buffer operations out.
pub(crate) const USE_BUFFER_OPS: &str = "use_buffer_ops";

/// The knob that leaves only atomics through buffers out.
pub(crate) const USE_BUFFER_ATOMICS: &str = "use_buffer_atomics";

/// The knob that says which loops copy to LDS past the registers.
pub(crate) const USE_ASYNC_COPY: &str = "use_async_copy";

/// The knob that says whether two groups of warps run large loops with dots half an iteration apart.
pub(crate) const USE_PING_PONG: &str = "use_block_pingpong";

const OTHERS_ONLY: KnobStanding =
    Idle("the reference does this on gfx1250 alone, for which no code is made here");

const fn row(name: &'static str, env: &'static [&'static str], kind: KnobKind, doc: &'static str) -> KnobRow {
    KnobRow::new("amd", name, env, kind, doc)
}

/// All of them.
#[rustfmt::skip]
pub(crate) static ROWS: &[KnobRow] = &[
    row("dump_amdgcn", &["AMDGCN_ENABLE_DUMP"], Flag, "Print the assembly of every kernel on the standard output.")
        .but(Prints(crate::options::AMDGCN, "AMDGCN Dump")),
    row(USE_BUFFER_OPS, &["AMDGCN_USE_BUFFER_OPS"], Flag, "Use buffer loads and stores.").or(KnobDefault::Bool(true)).but(Compiles),
    row(USE_BUFFER_ATOMICS, &["AMDGCN_USE_BUFFER_ATOMICS"], Flag, "Use buffer atomics.").or(KnobDefault::Bool(true)).but(Compiles),
    row("buffer_ops_analyze_small_tensor_range", &["AMDGCN_ANALYZE_SMALL_TENSOR_RANGE"], Flag,
        "Ask how large tensors are before buffer operations are used.")
        .but(Idle("a launch always looks at how far the memory of its arguments goes")),
    row(USE_PING_PONG, &["TRITON_HIP_USE_BLOCK_PINGPONG"], OptFlag,
        "Let two groups of four warps run large loops with one dot half an iteration apart: by default on gfx942, and on gfx950 where they copy to LDS.").but(Compiles),
    row("use_in_thread_transpose", &["TRITON_HIP_USE_IN_THREAD_TRANSPOSE"], OptFlag, "Transpose within lanes.")
        .but(Idle("operands that lie across the sums of a dot are always turned in registers, on every architecture")),
    row(USE_ASYNC_COPY, &["TRITON_HIP_USE_ASYNC_COPY"], OptFlag, "Copy to LDS past the registers, on gfx950: by default in loops of three stages and more.")
        .but(Compiles),
    row("use_coexec_scheduler", &["TRITON_HIP_USE_COEXEC_SCHEDULER"], OptFlag, "Schedule for execution side by side.").but(OTHERS_ONLY),
    row("use_expert_scheduling", &["TRITON_HIP_USE_EXPERT_SCHEDULING"], OptFlag, "Schedule without the processor's checks.").but(OTHERS_ONLY),
    row("scalarize_packed_fops", &["AMDGCN_SCALARIZE_PACKED_FOPS"], Flag, "Split packed operations on floats.")
        .but(Idle("LLVM decides which operations on floats it packs, and is not asked to split them")),
    row("libhip_path", &["TRITON_LIBHIP_PATH"], OptText, "The library of the HIP runtime."),
    row("codegen_path", &["TRITON_AMD_CODEGEN_PATH"], OptText, "The folder of tools for AMD GPUs.")
        .but(Idle("code is made by a shared LLVM (`DEUTERON_LLVM_PATH`) and linked here: no tool is run")),
    row("dump_mir", &["TRITON_DUMP_MIR"], OptText, "The folder for the machine code that LLVM works on.")
        .but(Refused("LLVM is driven through its C interface, which has no such text: `kernel.asm['amdgcn']` is the assembly")),
    row("swap_mir", &["TRITON_SWAP_MIR"], OptText, "The folder of machine code to use in its place.")
        .but(Refused("LLVM is driven through its C interface, which takes no such text: TRITON_KERNEL_OVERRIDE=1 takes edited .ttgir and .llir files")),
    row("swap_mir_enable_misched", &["TRITON_SWAP_MIR_ENABLE_MISCHED"], Flag, "Schedule what `swap_mir` gives.").but(KnobStanding::Moot),
];
