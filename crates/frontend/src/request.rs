//! What a compile takes and gives.

use crate::diagnostic::Diagnostic;
use crate::dtype::{DType, Scalar};
use crate::globals::Globals;
use crate::value::{FunctionRef, PyValue};
use std::sync::Arc;

/// What the front end must know of the target; a target's own facts are copied into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The name that `get_current_target().backend` answers: `cpu`, ….
    pub backend: String,
    /// The architecture as users write it.
    pub arch: String,
    /// Lanes per warp; 1 where there are no warps.
    pub warp_size: u32,
    /// The `input_precision` of a `dot` that gives none.
    pub default_dot_precision: String,
    /// Every `input_precision` that a `dot` may ask for.
    pub allowed_dot_precisions: Vec<String>,
    /// Short names of the fp8 types that may be used.
    pub fp8_dtypes: Vec<String>,
    /// What to say of a `dot` of fp8e4b15, if anything.
    pub fp8e4b15_warning: Option<String>,
    /// The smallest (M, N, K) of a `dot`.
    pub min_dot_size: [u32; 3],
}

/// Options of the launch that change what the front end emits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Warps per program.
    pub num_warps: u32,
    /// Software pipelining stages.
    pub num_stages: u32,
    /// Programs per cluster.
    pub num_ctas: u32,
    /// Whether device assertions are emitted.
    pub debug: bool,
    /// Whether integer overflow is asserted against, when `debug` is on.
    pub sanitize_overflow: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { num_warps: 4, num_stages: 3, num_ctas: 1, debug: false, sanitize_overflow: true }
    }
}

/// The type of a run-time argument, as signatures write it: `*fp32`, `*ki8` (constant), `i32`, `u1`.
pub type ArgType = Scalar;

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    /// A value known at compile time.
    Constexpr(PyValue),
    /// A value known at launch.
    Runtime {
        /// Its type.
        ty: ArgType,
        /// What is known of its value.
        known: Known,
    },
    /// A tensor in memory, read and written in blocks.
    Descriptor(DescriptorSpec),
    /// A tuple of arguments, with the names of its fields if it is a `namedtuple`.
    Tuple {
        /// The elements.
        items: Vec<ArgSpec>,
        /// The names of the fields.
        fields: Option<Vec<String>>,
    },
}

/// What is known of a value that is passed at launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// A power of two up to 16 that it is divisible by; 1 where nothing is known.
    pub divisibility: u8,
    /// Whether it points to memory of less than 2 GiB.
    pub near: bool,
    /// Whether it is the number 1. Its annotation fixes its type, or it would be a constexpr.
    pub one: bool,
}

impl Known {
    /// Nothing.
    pub const NOTHING: Known = Known { divisibility: 1, near: false, one: false };

    /// That it is divisible by a power of two up to 16.
    pub const fn divisible_by(divisibility: u8) -> Known {
        Known { divisibility, ..Known::NOTHING }
    }
}

/// A tensor descriptor that is an argument, as far as a kernel is compiled for it.
#[derive(Clone, Debug, PartialEq)]
pub struct DescriptorSpec {
    /// What the tensor holds.
    pub element: DType,
    /// The shape of the blocks.
    pub block: Vec<u32>,
    /// Whether it reads NaN outside the tensor, instead of 0.
    pub pads_nan: bool,
    /// Whether what is read is rounded to ten bits of mantissa.
    pub rounds_to_tf32: bool,
    /// Whether the last size of the tensor, in bytes, is known to be divisible by 16.
    pub divisible_by_16: bool,
}

impl DescriptorSpec {
    /// Whether there are such descriptors.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let rank = self.block.len();
        if !(1..=5).contains(&rank) {
            return Err(format!("a tensor descriptor has 1 to 5 dimensions, not {rank}"));
        }
        let dims: Vec<i128> = self.block.iter().map(|dim| i128::from(*dim)).collect();
        crate::typing::check_block_shape(&dims)?;
        if self.pads_nan && !self.element.is_floating() {
            return Err("Padding option `nan` is only supported for floating point tensors".to_owned());
        }
        if self.rounds_to_tf32 && self.element != DType::Fp32 {
            return Err("round_f32_to_tf32 is only supported for float32 tensors".to_owned());
        }
        Ok(())
    }
}

impl ArgSpec {
    /// A run-time argument about whose value nothing is known.
    pub fn runtime(ty: impl Into<Scalar>) -> ArgSpec {
        ArgSpec::Runtime { ty: ty.into(), known: Known::NOTHING }
    }

    /// A run-time pointer that is aligned to 16 bytes.
    pub fn aligned_pointer(pointee: DType) -> ArgSpec {
        let ty = Scalar::Pointer(crate::dtype::Pointer { pointee, constant: false });
        ArgSpec::Runtime { ty, known: Known::divisible_by(16) }
    }
}

/// One compile.
pub struct Request<'a> {
    /// Answers for names outside the functions.
    pub globals: &'a dyn Globals,
    /// The kernel.
    pub function: FunctionRef,
    /// What the kernel is called in the result, in place of its function's name.
    pub symbol: Option<Arc<str>>,
    /// One for each parameter, in order; defaults are already bound.
    pub args: Vec<ArgSpec>,
    /// About the target.
    pub facts: Facts,
    /// About the launch.
    pub options: Options,
    /// Is given what `tl.static_print` prints, as it is printed.
    pub print: &'a dyn Fn(&str),
}

impl<'a> Request<'a> {
    /// A compile under the function's own name, with the usual options, which prints nothing.
    pub fn new(
        globals: &'a dyn Globals,
        function: FunctionRef,
        args: Vec<ArgSpec>,
        facts: Facts,
    ) -> Request<'a> {
        let options = Options::default();
        Request { globals, function, symbol: None, args, facts, options, print: &|_| () }
    }
}

/// Something outside the kernel's text that the result depends on.
#[derive(Clone, Debug, PartialEq)]
pub enum Dependency {
    /// The text of a function that was inlined.
    Function(FunctionRef),
    /// The value that a global name had, plain or constexpr.
    Global {
        /// The function that read it.
        function: FunctionRef,
        /// The name.
        name: String,
        /// The value.
        value: PyValue,
    },
}

/// The result of a compile.
pub struct Compiled {
    /// The ttir module with its one public function.
    pub module: ir::Module,
    /// What it depends on, each once, in the order in which it was met.
    pub dependencies: Vec<Dependency>,
    /// Deprecations and the like; they do not stop a compile.
    pub warnings: Vec<Diagnostic>,
}
