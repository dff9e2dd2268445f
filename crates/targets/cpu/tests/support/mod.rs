//! Compiling a kernel's text for a processor and running it.

use std::sync::Arc;
use target::{CompileOptions, Device, Launch, LoadedKernel, OptionValue};

/// A kernel that is ready to run.
pub(crate) struct Kernel {
    loaded: Arc<dyn LoadedKernel>,
}

/// The text form of a program as a module.
pub(crate) fn parse(text: &str) -> ir::Module {
    let options = ir::text::ParseOptions { file: Some("test.ttir") };
    ir::text::parse(text, ttir::registry(), options).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

/// Compiles for a processor by name.
pub(crate) fn compile(text: &str, arch: &str) -> Result<target::Artifact, target::TargetError> {
    // The tests pass vectors of their own.
    let mut options = CompileOptions { guarded: true, ..CompileOptions::default() };
    options.extra.insert("arch".into(), OptionValue::Str(arch.into()));
    cpu::target().compile(parse(text), &options, &mut ())
}

impl Kernel {
    /// Compiles and loads for this machine.
    pub(crate) fn new(text: &str) -> Kernel {
        Kernel::with_arch(text, "native")
    }

    /// Compiles for a processor by name and loads here.
    pub(crate) fn with_arch(text: &str, arch: &str) -> Kernel {
        Kernel::load(&compile(text, arch).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Loads what was compiled for this machine.
    pub(crate) fn load(artifact: &target::Artifact) -> Kernel {
        let device: &Arc<dyn Device> = &cpu::target().devices()[0];
        Kernel { loaded: device.load(artifact).unwrap_or_else(|error| panic!("{error}")) }
    }

    /// Runs a grid; panics when the launch fails.
    pub(crate) fn run(&self, grid: [u32; 3], args: &[u64]) {
        self.try_run(grid, args).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Runs a grid.
    pub(crate) fn try_run(&self, grid: [u32; 3], args: &[u64]) -> Result<(), target::TargetError> {
        self.try_launch(&Launch::new(grid, args))
    }

    /// Runs a launch.
    pub(crate) fn try_launch(&self, launch: &Launch<'_>) -> Result<(), target::TargetError> {
        // SAFETY: the tests pass addresses of vectors that outlive the launch.
        unsafe { self.loaded.launch(launch) }
    }
}

/// The address of a vector's elements as an argument.
pub(crate) fn at<T>(values: &mut [T]) -> u64 {
    values.as_mut_ptr() as u64
}

/// A small generator of test data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 29);
        x.wrapping_mul(0xbf58476d1ce4e5b9) >> 8
    }

    /// A float from -1 to 1.
    pub(crate) fn float(&mut self) -> f32 {
        (self.next() % 2_000_001) as f32 / 1_000_000.0 - 1.0
    }

    /// Many of them.
    pub(crate) fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }
}
