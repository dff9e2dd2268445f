//! What the caller of a lowering wants, what a launch needs, and what is noted on the way.

use target::survey::{AccessFacts, BufferFacts, MoveFacts, SharedFacts};

/// What the caller wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether a product and a sum may be fused.
    pub fuse_multiply_add: bool,
    /// Whether instructions carry where they come from.
    pub line_info: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { fuse_multiply_add: true, line_info: true }
    }
}

/// A region of device memory that each program needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scratch {
    /// Bytes for one program.
    pub bytes: u64,
    /// Its alignment.
    pub align: u32,
}

/// What a launch of a kernel needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// The name of the kernel.
    pub name: String,
    /// Names of the parameters, without the scratch regions.
    pub params: Vec<String>,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Scratch memory that the kernel uses.
    pub global_scratch: Scratch,
    /// Scratch memory of a profiler.
    pub profile_scratch: Scratch,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Warps of a program.
    pub num_warps: u32,
    /// Warps of a launch: those of the program, and those with roles beside them.
    pub total_warps: u32,
    /// Thread blocks of a cluster, which run one program together.
    pub num_blocks: u32,
    /// Whether two programs that lie side by side are a cluster.
    pub paired: bool,
}

/// What was written down.
#[derive(Default, Debug)]
pub(crate) struct Notes {
    pub(crate) accesses: Vec<AccessFacts>,
    pub(crate) moves: Vec<MoveFacts>,
    pub(crate) buffers: Vec<BufferFacts>,
    pub(crate) shared: Vec<SharedFacts>,
}
