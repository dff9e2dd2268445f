//! Compiled code of this target as an engine for fixtures and random programs.

use target::{CompileOptions, Launch, OptionValue};
use ttir::testing::{Argument, Engine, Ran, isolate};

/// Bytes behind each buffer that must stay as they are.
const GUARD: usize = 256;

/// Compiled code for a processor by name.
pub(crate) struct Compiled {
    /// The processor.
    pub(crate) arch: &'static str,
    /// Whether it must be right for buffers that overlap as well.
    pub(crate) overlapping: bool,
}

impl Engine for Compiled {
    fn name(&self) -> &str {
        self.arch
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let mut module = module.clone();
        isolate(&mut module, kernel);
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
            .map_err(|errors| format!("{errors:?}"))?;
        // The interpreter rounds every product.
        let mut options = CompileOptions {
            enable_fp_fusion: false,
            guarded: !self.overlapping,
            ..CompileOptions::default()
        };
        options.extra.insert("arch".into(), OptionValue::Str(self.arch.into()));
        let artifact = cpu::target().compile(module, &options, &mut ()).map_err(|error| error.to_string())?;
        let device = &cpu::target().devices()[0];
        let loaded = device.load(&artifact).map_err(|error| error.to_string())?;
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        let mut slots = Vec::new();
        for arg in args {
            slots.push(match arg {
                Argument::Bits(bits) => *bits,
                Argument::Buffer(bytes) => {
                    buffers.push(bytes.iter().copied().chain([0x5a; GUARD]).collect());
                    buffers.last().map_or(0, |buffer| buffer.as_ptr() as u64)
                }
            });
        }
        // SAFETY: the arguments are the kernel's own, and the buffers outlive the launch.
        unsafe { loaded.launch(&Launch::new(grid, &slots)) }.map_err(|error| error.to_string())?;
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let end = buffer.len() - GUARD;
            if buffer[end..].iter().any(|&byte| byte != 0x5a) {
                return Err(format!("wrote behind the end of buffer {index}"));
            }
            buffer.truncate(end);
        }
        Ok(Ran { buffers, lines: Vec::new() })
    }
}
