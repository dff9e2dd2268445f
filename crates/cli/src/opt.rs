//! `deuteron opt`.

use crate::{Failure, all, output};
use clap::Args;
use ir::pass::{Dump, DumpWhen, PassRow, Times, Verify};
use ir::text::{ParseOptions, PrintOptions};
use std::path::PathBuf;

/// Run passes over a .ttir or .ttgir file.
#[derive(Args)]
pub(crate) struct Opt {
    /// The file.
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
    /// The passes, separated by commas; without it, what every target runs on a .ttir file, and none on a .ttgir file.
    #[arg(long, short)]
    passes: Option<String>,
    /// Print the program after each pass.
    #[arg(long)]
    dump_after_each: bool,
    /// Print the program after each pass that changed it.
    #[arg(long)]
    dump_changed: bool,
    /// Print how long each pass took.
    #[arg(long)]
    time: bool,
    /// Leave the locations out.
    #[arg(long)]
    no_locations: bool,
    /// List the passes.
    #[arg(long)]
    list: bool,
}

impl Opt {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let known: Vec<&'static PassRow> =
            ir::passes::ALL.iter().chain(ttir::passes::ALL).chain(ttgir::PASSES).copied().collect();
        if self.list {
            let lines: String =
                known.iter().map(|pass| format!("{:<20} {}\n", pass.name, pass.doc)).collect();
            return output::write(lines.as_bytes());
        }
        let Some(file) = &self.file else { return Ok(()) };
        let text = crate::source::read(file)?;
        let name = file.display().to_string();
        let with_layouts = file.extension().is_some_and(|extension| extension == "ttgir");
        let mut module = if with_layouts {
            let options = ParseOptions { file: Some(&name) };
            let mut module =
                ir::text::parse(&text, ttgir::registry(), options).map_err(|error| error.in_file(&name))?;
            if let Some(machine) = ttgir::target(&module).and_then(targets::machine) {
                module.set_environment(machine);
            }
            module
        } else {
            runtime::compile::parse_ir(&text, &name)?
        };
        ir::verify(&module).map_err(|errors| all(&errors))?;
        let passes = match &self.passes {
            Some(names) => ir::pass::by_names(names, &known)?,
            None if with_layouts => Vec::new(),
            None => ttir::passes::pipeline().to_vec(),
        };
        let options = if self.no_locations { PrintOptions::PLAIN } else { PrintOptions::default() };
        let mut times = Times::default();
        if self.dump_after_each || self.dump_changed {
            let when = if self.dump_changed { DumpWhen::Changed } else { DumpWhen::After };
            let mut sink = |text: &str| eprint!("{text}");
            let mut observer = (Dump::new(when, options, &mut sink), times);
            let result = ir::pass::run(&mut module, &passes, Verify::Each, &mut observer);
            times = observer.1;
            result.map_err(|errors| all(&errors))?;
        } else {
            ir::pass::run(&mut module, &passes, Verify::Each, &mut times).map_err(|errors| all(&errors))?;
        }
        output::write(ir::text::print(&module, options).as_bytes())?;
        if self.time {
            eprint!("{times}");
        }
        Ok(())
    }
}
