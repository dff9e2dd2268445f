//! What launches must know of a kernel, as far as all targets for GPUs have it.

use target::{CompileOptions, DeviceFacts, ScratchFacts};

/// The facts of a lowered kernel, with what the options of its compile say.
pub fn device_facts(arch: String, kernel: &lanes::Facts, options: &CompileOptions) -> DeviceFacts {
    let scratch = |scratch: lanes::Scratch| ScratchFacts {
        bytes: scratch.bytes,
        align: u64::from(scratch.align.max(1)),
    };
    DeviceFacts {
        num_ctas: kernel.num_blocks,
        paired: kernel.paired,
        global_scratch: scratch(kernel.global_scratch),
        profile_scratch: scratch(kernel.profile_scratch),
        cooperative: options.flag(target::COOPERATIVE),
        role_warps: kernel.total_warps - kernel.num_warps,
        ..DeviceFacts::new(arch, kernel.total_warps, kernel.lanes)
    }
}
