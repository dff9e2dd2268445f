//! The facade crate for Rust programs: kernel source text in, launch out. No Python takes part.
//!
//! ```
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
//! On a GPU (`Target::current()` where there is one, or `Target::named("cuda:90")`), arguments are [`Buffer`]s, made
//! with [`Target::buffer`], or addresses that another library has allocated, [`Arg::pointer`].
//!
//! A kernel may also be launched as from Python, [`Kernel::launch`]: what it is compiled for follows from its
//! arguments, by the same code, and it is compiled once for each kind of them.

mod arg;
mod buffer;
mod launch;

pub use arg::{Arg, Element};
pub use buffer::Buffer;

use launch::Launcher;
use runtime::knobs::Settings;
use runtime::launch::{Context, scratch_bytes};
use runtime::program::{CompiledProgram, Program};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use target::{AlignedCopies, CompileOptions, Launch, OptionValue};

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
pub struct Target(Arc<Context>);

impl Target {
    /// The target that this machine runs on, or that `DEUTERON_TARGET` names.
    ///
    /// # Errors
    /// When there is no such target in this build.
    pub fn current() -> Result<Target, Error> {
        Ok(Target::of(runtime::active_target()?))
    }

    fn of(target: Arc<dyn target::Target>) -> Target {
        Target(Arc::new(Context::new(target)))
    }

    fn target(&self) -> &Arc<dyn target::Target> {
        &self.0.target
    }

    /// The target of that name.
    ///
    /// # Errors
    /// Names the targets that there are.
    pub fn named(name: &str) -> Result<Target, Error> {
        Ok(Target::of(runtime::target_named(name)?))
    }

    /// A target whose device is emulated on this machine's cores, where every access is checked. Slices are its
    /// memory.
    ///
    /// # Errors
    /// Names the targets that there are; says if this one cannot be emulated.
    pub fn emulated(name: &str) -> Result<Target, Error> {
        Ok(Target::of(runtime::emulated(name)?))
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.target().facts().backend
    }

    /// The architecture that is compiled for.
    pub fn arch(&self) -> String {
        self.target().facts().arch
    }

    /// Whether kernels take slices: the memory of its devices is the host's.
    pub fn takes_slices(&self) -> bool {
        self.target().arrays() == "cpu"
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
        let ordinal = self.target().current_device().map_err(runtime::RuntimeError::from)?;
        self.target().devices().into_iter().nth(ordinal as usize).ok_or_else(|| {
            Error(format!("target {} {} has no device in this machine", self.name(), self.arch()))
        })
    }
}

/// Options of a compile; those of the reference by their names.
#[derive(Clone, Debug, Default, PartialEq)]
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
    launcher: Launcher,
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
        let launcher = Launcher::new(&program, name)?;
        Ok(Kernel { program, name: name.to_owned(), launcher })
    }

    /// Takes what `tl.static_print` prints during a compile, in place of the standard output. A kernel that comes from
    /// the cache prints nothing: it is not compiled.
    #[must_use]
    pub fn on_print(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Kernel {
        self.program = self.program.on_print(print);
        self
    }

    /// Compiles for a signature: one entry for each parameter, a type (`*fp32`, `i32`, with `:16` if divisible by 16)
    /// for what is passed at run time, a value (`1024`, `True`, `tl.float16`) for a constexpr. Kernels are kept on
    /// disk.
    ///
    /// # Errors
    /// What is wrong with the kernel or with the signature, with its place.
    pub fn compile(&self, target: &Target, signature: &str, options: &Options) -> Result<Compiled, Error> {
        let options = runtime::options::parse(target.target().as_ref(), &options.0)?;
        let options = CompileOptions { guarded: true, ..options };
        let settings = Settings::current();
        let compiled = self.program.compile(&self.name, signature, target.target(), options, &settings)?;
        Ok(Compiled::new(compiled))
    }

    /// Runs every program of the grid and waits for the last; compiles where that has not been done for such arguments.
    /// There is one for each parameter, constexprs included. The rules are those of a launch from Python: an integer
    /// equal to 1 becomes a constant, an address and an integer are known to be divisible by 16 where they are.
    ///
    /// # Safety
    /// The kernel must stay within the memory it is given, which nobody checks.
    ///
    /// # Errors
    /// What is wrong with the kernel or its arguments, or with the launch.
    pub unsafe fn launch(
        &self,
        target: &Target,
        grid: [u32; 3],
        args: &mut [Arg<'_>],
        options: &Options,
    ) -> Result<(), Error> {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.launcher.launch(&self.program, &target.0, (grid, None), args, options) }
    }

    /// Puts the launch into a stream of the current device and does not wait for it.
    ///
    /// # Safety
    /// As [`Kernel::launch`]; and the memory must stay until the launch is over.
    ///
    /// # Errors
    /// As [`Kernel::launch`]; for a kernel that needs scratch memory, whose size only a launch that waits can manage.
    pub unsafe fn launch_on(
        &self,
        target: &Target,
        grid: [u32; 3],
        args: &mut [Arg<'_>],
        options: &Options,
        stream: u64,
    ) -> Result<(), Error> {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.launcher.launch(&self.program, &target.0, (grid, Some(stream)), args, options) }
    }
}

/// A compiled kernel.
pub struct Compiled {
    kernel: Arc<runtime::compile::Kernel>,
    taken: Vec<arg::Taken>,
    is_host: bool,
}

impl Compiled {
    fn new(compiled: CompiledProgram) -> Compiled {
        let is_host = compiled.kernel.target().arrays() == "cpu";
        Compiled { taken: arg::taken(&compiled.args), kernel: compiled.kernel, is_host }
    }

    /// The name of its symbol.
    pub fn name(&self) -> &str {
        &self.kernel.artifact.name
    }

    /// A stage of the compile: `ttir`, `llir`, `asm`, `obj`, ….
    ///
    /// # Errors
    /// Names the stages that there are.
    pub fn stage(&self, name: &str) -> Result<&[u8], Error> {
        Ok(&self.kernel.stage(name)?.bytes)
    }

    /// Whether it came from the disk.
    pub fn from_cache(&self) -> bool {
        self.kernel.from_cache
    }

    /// Runs every program of the grid and waits for the last. `args` holds the run-time arguments in order; constexprs
    /// are left out.
    ///
    /// # Safety
    /// The kernel must stay within the memory it is given, which nobody checks.
    ///
    /// # Errors
    /// When the arguments are not what the kernel was compiled for, or the launch fails.
    pub unsafe fn launch(&self, grid: [u32; 3], args: &mut [Arg<'_>]) -> Result<(), Error> {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.submit((grid, None), args) }
    }

    /// Puts the launch into a stream of the current device and does not wait for it.
    ///
    /// # Safety
    /// As [`Compiled::launch`]; and the memory must stay until the launch is over.
    ///
    /// # Errors
    /// As [`Compiled::launch`]; for a kernel that needs scratch memory, whose size only a launch that waits can manage.
    pub unsafe fn launch_on(&self, grid: [u32; 3], args: &mut [Arg<'_>], stream: u64) -> Result<(), Error> {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.submit((grid, Some(stream)), args) }
    }

    /// # Safety
    /// As [`Compiled::launch_on`].
    unsafe fn submit(&self, place: ([u32; 3], Option<u64>), args: &[Arg<'_>]) -> Result<(), Error> {
        let slots = arg::pack(&self.taken, args, self.is_host);
        let slots = slots.map_err(|text| Error(format!("kernel {}: {text}", self.name())))?;
        // SAFETY: the slots fit the parameters, as `pack` has checked; the caller vouches for the memory.
        unsafe { submit(&self.kernel, place, &slots, args) }
    }
}

/// Launches with these slots, in a stream or, where none is named, waiting for the end.
///
/// # Safety
/// The slots are for this kernel; the memory is as [`Compiled::launch_on`] wants it.
unsafe fn submit(
    kernel: &runtime::compile::Kernel,
    (grid, stream): ([u32; 3], Option<u64>),
    slots: &[u64],
    args: &[Arg<'_>],
) -> Result<(), Error> {
    let scratch = match (scratch_bytes(kernel, grid), stream) {
        (None, _) => None,
        (Some(bytes), None) => Some(runtime::buffer::Buffer::zeroed(&kernel.device()?, bytes)?),
        (Some(_), Some(_)) => {
            let name = &kernel.artifact.name;
            return Err(Error(format!("kernel {name} needs scratch memory: use launch, which waits")));
        }
    };
    let address = scratch.as_ref().map_or(0, runtime::buffer::Buffer::address);
    let target = kernel.target();
    let ordinal = target.current_device().map_err(runtime::RuntimeError::from)?;
    let extents = if kernel.asks_extents(slots) { arg::extents(args) } else { Vec::new() };
    let mut launch = Launch {
        stream: stream.unwrap_or(0),
        scratch: address,
        extents: &extents,
        ..Launch::new(grid, slots)
    };
    // Memory for copies is free once the launch is over, which only a launch that waits knows.
    let bytes = kernel.copy_bytes(&launch).filter(|_| stream.is_none());
    let copies = bytes.and_then(|bytes| {
        // A device may align less.
        let whole = bytes.checked_add(AlignedCopies::ALIGNMENT)?;
        let buffer = runtime::buffer::Buffer::zeroed(&kernel.device().ok()?, whole).ok()?;
        let address = buffer.address().next_multiple_of(AlignedCopies::ALIGNMENT);
        Some((buffer, AlignedCopies { address, bytes }))
    });
    launch.copies = copies.as_ref().map(|(_, copies)| *copies);
    // SAFETY: as the caller promises; scratch memory and copies are kept until the launch is over.
    let launch = || unsafe { runtime::launch::submit(kernel, ordinal, &launch) };
    if target.checks_memory() {
        target::with_extents(arg::extents(args), launch)?;
    } else {
        launch()?;
    }
    if stream.is_none() && (scratch.is_some() || copies.is_some() || target.arrays() != "cpu") {
        kernel.device()?.synchronize().map_err(runtime::RuntimeError::from)?;
    }
    Ok(())
}
