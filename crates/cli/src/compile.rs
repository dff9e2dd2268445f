//! `deuteron compile`.

use crate::source::Source;
use crate::{Failure, output};
use clap::Args;
use runtime::compile::{Kernel, times_table};
use std::path::PathBuf;
use std::time::Instant;

/// Compile a kernel and write its stages.
#[derive(Args)]
pub(crate) struct Compile {
    #[command(flatten)]
    source: Source,
    /// A type or value for each parameter: `*fp32:16, i32, 1024`.
    #[arg(long, short)]
    signature: Option<String>,
    /// The stages to write, separated by commas: ttir, llir, asm, obj, ….
    #[arg(long, short, value_delimiter = ',', default_value = "ttir")]
    emit: Vec<String>,
    /// The folder to write `<kernel>.<stage>` to; without it, text goes to the standard output.
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Compile even if the cache has the kernel, and print how long each stage and each pass took.
    #[arg(long)]
    time: bool,
}

impl Compile {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let start = Instant::now();
        let mut source = self.source.clone();
        // There is nothing to time about a kernel that was compiled earlier.
        source.always_compile |= self.time;
        let kernel = source.compile(self.signature.as_deref())?;
        let elapsed = start.elapsed();
        for warning in &kernel.warnings {
            eprintln!("{warning}");
        }
        for name in &self.emit {
            self.write(&kernel, name.trim())?;
        }
        if self.time {
            eprint!("{}", times_table(&kernel.times, Some(elapsed)));
        }
        Ok(())
    }

    fn write(&self, kernel: &Kernel, name: &str) -> Result<(), Failure> {
        let stage = kernel.stage(name)?;
        match &self.output {
            Some(folder) => {
                let path = folder.join(format!("{}.{name}", kernel.artifact.name));
                let written =
                    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &stage.bytes));
                written.map_err(|error| Failure(format!("cannot write {}: {error}", path.display())))?;
                eprintln!("{} ({} bytes)", path.display(), stage.bytes.len());
                Ok(())
            }
            None if stage.text => output::write(&stage.bytes),
            None => Err(Failure(format!("stage `{name}` is not text; say where to write it with --output"))),
        }
    }
}
