//! The facade crate for Rust programs: kernel source text in, launch out. No Python takes part.
//!
//! ```no_run
//! use deuteron::{Arg, Kernel, Options, Target};
//!
//! const SOURCE: &str = r#"
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
//!     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     mask = offsets < n
//!     x = tl.load(x_ptr + offsets, mask=mask)
//!     y = tl.load(y_ptr + offsets, mask=mask)
//!     tl.store(out_ptr + offsets, x + y, mask=mask)
//! "#;
//!
//! # fn main() -> Result<(), deuteron::Error> {
//! let target = Target::current()?;
//! let kernel = Kernel::from_source(SOURCE, "add")?;
//! let add = kernel.compile(&target, "*fp32, *fp32, *fp32, i32, 1024", &Options::default())?;
//!
//! let x = vec![1.0f32; 5000];
//! let y = vec![2.0f32; 5000];
//! let mut out = vec![0.0f32; 5000];
//! // SAFETY: the kernel masks what lies beyond `n`, and all three slices have `n` elements.
//! unsafe { add.launch([5, 1, 1], &mut [Arg::read(&x), Arg::read(&y), Arg::write(&mut out), Arg::Int(5000)])? };
//! assert_eq!(out[4999], 3.0);
//! # Ok(())
//! # }
//! ```
//!
//! On a GPU (`Target::current()` where there is one, or `Target::named("cuda:90")`), arguments are [`Buffer`]s, made with
//! [`Target::buffer`], or addresses that another library has allocated, [`Arg::pointer`].
//!
//! Left out: choosing the specialisation from the arguments. A signature says once what a kernel is compiled for, and a
//! launch checks that its arguments are that.

mod arg;
mod buffer;

pub use arg::{Arg, Element};
pub use buffer::Buffer;

use runtime::knobs::Settings;
use runtime::program::{CompiledProgram, Program};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use target::{Launch, OptionValue};

/// What went wrong; its text says where and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<runtime::RuntimeError> for Error {
    fn from(error: runtime::RuntimeError) -> Error {
        Error(error.to_string())
    }
}

/// Something to compile for and to run on.
#[derive(Clone)]
pub struct Target(Arc<dyn target::Target>);

impl Target {
    /// The target that this machine runs on, or that `DEUTERON_TARGET` names.
    ///
    /// # Errors
    /// When there is no such target in this build.
    pub fn current() -> Result<Target, Error> {
        Ok(Target(runtime::active_target()?))
    }

    /// The target of that name.
    ///
    /// # Errors
    /// Names the targets that there are.
    pub fn named(name: &str) -> Result<Target, Error> {
        Ok(Target(runtime::target_named(name)?))
    }

    /// A target whose device is emulated on this machine's processors, where every access is checked. Slices are its memory.
    ///
    /// # Errors
    /// Names the targets that there are; says if this one cannot be emulated.
    pub fn emulated(name: &str) -> Result<Target, Error> {
        Ok(Target(runtime::emulated(name)?))
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.0.facts().backend
    }

    /// The architecture that is compiled for.
    pub fn arch(&self) -> String {
        self.0.facts().arch
    }

    /// Whether kernels take slices: the memory of its devices is the host's.
    pub fn takes_slices(&self) -> bool {
        self.0.arrays() == "cpu"
    }

    /// A copy of a slice on the current device.
    ///
    /// # Errors
    /// When there is no device here, or no memory for it.
    pub fn buffer<T: Element>(&self, slice: &[T]) -> Result<Buffer<T>, Error> {
        Buffer::with(&self.device()?, slice)
    }

    /// Zeroed elements on the current device.
    ///
    /// # Errors
    /// When there is no device here, or no memory for it.
    pub fn zeroed<T: Element>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::zeroed(&self.device()?, len)
    }

    fn device(&self) -> Result<Arc<dyn target::Device>, Error> {
        let ordinal = self.0.current_device().map_err(runtime::RuntimeError::from)?;
        self.0.devices().into_iter().nth(ordinal as usize).ok_or_else(|| {
            Error(format!("target {} {} has no device in this machine", self.name(), self.arch()))
        })
    }
}

/// Options of a compile; those of the reference by their names.
#[derive(Clone, Debug, Default)]
pub struct Options(BTreeMap<String, OptionValue>);

impl Options {
    /// Sets an option that is a number, such as `num_warps`.
    #[must_use]
    pub fn number(mut self, name: &str, value: i64) -> Options {
        self.0.insert(name.to_owned(), OptionValue::Int(value));
        self
    }

    /// Sets an option that is on or off, such as `debug`.
    #[must_use]
    pub fn flag(mut self, name: &str, value: bool) -> Options {
        self.0.insert(name.to_owned(), OptionValue::Bool(value));
        self
    }
}

/// A kernel in source text.
pub struct Kernel {
    program: Program,
    name: String,
}

impl Kernel {
    /// Finds a kernel in the text of a `.py` file.
    ///
    /// # Errors
    /// Syntax errors, or the kernels that there are.
    pub fn from_source(source: &str, name: &str) -> Result<Kernel, Error> {
        Kernel::in_file("kernel.py", source, name)
    }

    /// Finds a kernel in a `.py` file.
    ///
    /// # Errors
    /// When the file cannot be read; syntax errors; or the kernels that there are.
    pub fn from_file(path: &std::path::Path, name: &str) -> Result<Kernel, Error> {
        let source = std::fs::read_to_string(path)
            .map_err(|error| Error(format!("cannot read {}: {error}", path.display())))?;
        Kernel::in_file(&path.to_string_lossy(), &source, name)
    }

    fn in_file(file: &str, source: &str, name: &str) -> Result<Kernel, Error> {
        let program = Program::new(file, source)?;
        program.function(name)?;
        Ok(Kernel { program, name: name.to_owned() })
    }

    /// Takes what `tl.static_print` prints during a compile, in place of the standard output. A kernel that comes from the
    /// cache prints nothing: it is not compiled.
    #[must_use]
    pub fn on_print(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Kernel {
        self.program = self.program.on_print(print);
        self
    }

    /// Compiles for a signature: one entry for each parameter, a type (`*fp32`, `i32`, with `:16` if divisible by 16) for what
    /// is passed at run time, a value (`1024`, `True`, `tl.float16`) for a constexpr. Kernels are kept on disk.
    ///
    /// # Errors
    /// What is wrong with the kernel or with the signature, with its place.
    pub fn compile(&self, target: &Target, signature: &str, options: &Options) -> Result<Compiled, Error> {
        let options = runtime::options::parse(target.0.as_ref(), &options.0)?;
        let compiled =
            self.program.compile(&self.name, signature, &target.0, options, &Settings::current())?;
        Ok(Compiled(compiled))
    }
}

/// A compiled kernel.
pub struct Compiled(CompiledProgram);

impl Compiled {
    /// The name of its symbol.
    pub fn name(&self) -> &str {
        &self.0.kernel.artifact.name
    }

    /// A stage of the compile: `ttir`, `llir`, `asm`, `obj`, ….
    ///
    /// # Errors
    /// Names the stages that there are.
    pub fn stage(&self, name: &str) -> Result<&[u8], Error> {
        Ok(&self.0.kernel.stage(name)?.bytes)
    }

    /// Whether it came from the disk.
    pub fn from_cache(&self) -> bool {
        self.0.kernel.from_cache
    }

    /// Runs every program of the grid and waits for the last. `args` holds the run-time arguments in order; constexprs are
    /// left out.
    ///
    /// # Safety
    /// The kernel must stay within the memory it is given, which nobody checks.
    ///
    /// # Errors
    /// When the arguments are not what the kernel was compiled for, or the launch fails.
    pub unsafe fn launch(&self, grid: [u32; 3], args: &mut [Arg<'_>]) -> Result<(), Error> {
        let kernel = &self.0.kernel;
        let device = kernel.device()?;
        let programs: u64 = grid.iter().map(|&size| u64::from(size)).product();
        let scratch =
            kernel.scratch().map(|scratch| scratch.bytes * programs * u64::from(kernel.options.num_ctas));
        let scratch = scratch.map(|bytes| runtime::buffer::Buffer::zeroed(&device, bytes)).transpose()?;
        let address = scratch.as_ref().map_or(0, runtime::buffer::Buffer::address);
        // SAFETY: the caller vouches for the memory.
        unsafe { self.submit(grid, args, 0, address) }?;
        device.synchronize().map_err(|error| Error::from(runtime::RuntimeError::from(error)))
    }

    /// Puts the launch into a stream of the current device and does not wait for it.
    ///
    /// # Safety
    /// As [`Compiled::launch`]; and the memory must stay until the launch is over.
    ///
    /// # Errors
    /// As [`Compiled::launch`]; for a kernel that needs scratch memory, whose size only a launch that waits can manage.
    pub unsafe fn launch_on(&self, grid: [u32; 3], args: &mut [Arg<'_>], stream: u64) -> Result<(), Error> {
        if self.0.kernel.scratch().is_some() {
            return Err(Error(format!(
                "kernel {} needs scratch memory: use launch, which waits",
                self.name()
            )));
        }
        // SAFETY: the caller vouches for the memory.
        unsafe { self.submit(grid, args, stream, 0) }
    }

    /// # Safety
    /// As [`Compiled::launch_on`].
    unsafe fn submit(
        &self,
        grid: [u32; 3],
        args: &[Arg<'_>],
        stream: u64,
        scratch: u64,
    ) -> Result<(), Error> {
        let kernel = &self.0.kernel;
        let host = kernel.target().arrays() == "cpu";
        let slots = arg::pack(&self.0.args, args, host);
        let slots = slots.map_err(|text| Error(format!("kernel {}: {text}", self.name())))?;
        let loaded = kernel.load()?;
        let launch = Launch { stream, scratch, ..Launch::new(grid, &slots) };
        // SAFETY: the slots fit the parameters, as `pack` has checked; the caller vouches for the memory.
        let launched = target::with_extents(arg::extents(args), || unsafe { loaded.launch(&launch) });
        launched.map_err(|error| Error::from(runtime::RuntimeError::from(error)))
    }
}
