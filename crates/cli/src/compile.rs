//! `deuteron compile`.

use crate::source::Source;
use crate::{Failure, output};
use clap::Args;
use runtime::compile::Kernel;
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
    /// Print how long each step took.
    #[arg(long)]
    time: bool,
}

impl Compile {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let start = Instant::now();
        let kernel = self.source.compile(self.signature.as_deref())?;
        let elapsed = start.elapsed();
        for warning in &kernel.warnings {
            eprintln!("{warning}");
        }
        for name in &self.emit {
            self.write(&kernel, name.trim())?;
        }
        if self.time {
            times(&kernel, elapsed);
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

fn times(kernel: &Kernel, elapsed: std::time::Duration) {
    let ms = |elapsed: std::time::Duration| elapsed.as_secs_f64() * 1e3;
    for (step, elapsed) in &kernel.times {
        eprintln!("{:>10.3} ms  {step}", ms(*elapsed));
    }
    let from = if kernel.from_cache { "from the cache" } else { "in all" };
    eprintln!("{:>10.3} ms  {from}", ms(elapsed));
}
