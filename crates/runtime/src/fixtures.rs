//! A device as an engine of fixtures and random programs: every stage that a user's kernel goes through. Not used by
//! any product path.

use crate::buffer::Buffer;
use crate::error::RuntimeError;
use std::path::PathBuf;
use std::sync::Arc;
use target::{CompileOptions, Device, Extent, Launch, Target, with_extents};
use ttir::testing::{Argument, Engine, Ran, isolate, order_writes};

/// The first device of a target.
pub struct OnDevice {
    target: Arc<dyn Target>,
    device: Arc<dyn Device>,
    options: CompileOptions,
    output: Option<PathBuf>,
}

/// What an interpreter says of an assertion; a device says it in its own words.
const ASSERTION: &str = "assertion failed";

impl OnDevice {
    /// Programs of so many warps in each of so many blocks of a cluster.
    ///
    /// # Errors
    /// Where there is no device.
    pub fn new(target: Arc<dyn Target>, num_warps: u32, num_ctas: u32) -> Result<OnDevice, RuntimeError> {
        let device = target.devices().into_iter().next();
        let device =
            device.ok_or_else(|| RuntimeError::Runtime("there is no device of this target".into()))?;
        // The interpreter rounds every product.
        let options = CompileOptions {
            num_warps,
            num_ctas,
            enable_fp_fusion: false,
            // Buffers lie apart from each other.
            guarded: target.host_code().is_none(),
            ..CompileOptions::default()
        };
        Ok(OnDevice { target, device, options, output: None })
    }

    /// With a file that takes what the process prints, where kernels print to as well.
    #[must_use]
    pub fn printing_to(mut self, output: Option<PathBuf>) -> OnDevice {
        self.output = output;
        self
    }

    fn printed(&self) -> Result<String, String> {
        let Some(output) = &self.output else { return Ok(String::new()) };
        let bytes = std::fs::read(output).map_err(|error| format!("{}: {error}", output.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Compiles and runs; what the buffers hold afterwards.
    fn launch(
        &self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Vec<Vec<u8>>, RuntimeError> {
        let mut module = module.clone();
        isolate(&mut module, kernel);
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
            .map_err(|errors| RuntimeError::Runtime(format!("{errors:?}")))?;
        order_writes(&mut module);
        let artifact = self.target.compile(module, &self.options, &mut ())?;
        let kernel = self.device.load(&artifact)?;
        let (mut slots, mut buffers) = (Vec::new(), Vec::new());
        for arg in args {
            match arg {
                Argument::Bits(bits) => slots.push(*bits),
                Argument::Buffer(bytes) => {
                    let buffer = Buffer::with_bytes(&self.device, bytes)?;
                    slots.push(buffer.address());
                    buffers.push(buffer);
                }
            }
        }
        let programs: u64 = grid.iter().map(|&size| u64::from(size)).product();
        let scratch_bytes =
            (artifact.launch.device().map_or(0, |facts| facts.global_scratch.bytes) * programs).max(16);
        let scratch = Buffer::zeroed(&self.device, scratch_bytes)?;
        let extents = buffers
            .iter()
            .chain([&scratch])
            .map(|buffer| Extent { base: buffer.address(), len: buffer.bytes(), writable: true })
            .collect();
        let launch = Launch { scratch: scratch.address(), ..Launch::new(grid, &slots) };
        // SAFETY: the slots are those of the kernel's parameters; fixtures stay within their buffers.
        with_extents(extents, || unsafe { kernel.launch(&launch) })?;
        self.device.synchronize()?;
        let read = |buffer: &Buffer| {
            let mut bytes = vec![0; buffer.bytes() as usize];
            buffer.read(&mut bytes).map(|()| bytes)
        };
        buffers.iter().map(read).collect()
    }
}

/// The words of the interpreter for assertions that a device tells of in its own: "… Assertion `text` failed."
fn assertions(printed: &str) -> Vec<String> {
    let text = |line: &str| Some(line.split_once("Assertion `")?.1.rsplit_once("` failed")?.0.to_owned());
    printed.lines().filter_map(text).map(|text| format!("{ASSERTION}: {text}")).collect()
}

impl Engine for OnDevice {
    fn name(&self) -> &str {
        "device"
    }

    fn notices(&self, failure: &str) -> bool {
        self.output.is_some() && failure.starts_with(ASSERTION)
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let before = self.printed()?.len();
        let result = self.launch(module, kernel, grid, args);
        let printed = self.printed()?.split_off(before);
        match result {
            Ok(buffers) => {
                // Programs and lanes print in any order; fixtures expect them in that of their numbers.
                let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
                lines.sort();
                Ok(Ran { buffers, lines })
            }
            Err(error) => Err(format!("{error}\n{}\n{printed}", assertions(&printed).join("\n"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::assertions;

    #[test]
    fn assertions_are_told_as_the_interpreter_does() {
        let printed = "other\nk.py:3: f: block: [0,0,0], thread: [2,0,0] Assertion `x > 0` failed.\n";
        assert_eq!(assertions(printed), ["assertion failed: x > 0"]);
    }
}
