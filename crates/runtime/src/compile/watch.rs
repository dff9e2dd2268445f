//! Watching a compile: dumps, times, warnings, and overrides of stages.

use super::given::Given;
use super::reproducer::Reproducer;
use super::times::times_table;
use crate::cache::Key;
use crate::knobs::Settings;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use target::{CompileOptions, GivenStage, Stage, StageObserver, Target};

/// How much of a kernel's name is in the names of files: some are longer than file systems allow.
const LONGEST_NAME: usize = 150;

/// What a compile said on the way.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) warnings: Vec<String>,
    pub(super) times: Vec<(String, Duration)>,
}

/// Follows the stages and steps of one compile.
pub(super) struct Watch {
    kernel: String,
    dumps: Dumps,
    given: Given,
    print_times: bool,
    shows_passes: bool,
    shows_llir_passes: bool,
    dump_path: Option<PathBuf>,
    reproducer_path: Option<PathBuf>,
    report: Report,
}

impl Watch {
    pub(super) fn new(kernel: &str, source: &Key, settings: &Settings, given: Given) -> Watch {
        Watch {
            kernel: kernel.to_owned(),
            dumps: Dumps::new(kernel, source, settings),
            given,
            print_times: settings.time_passes,
            shows_passes: settings.shows_passes(kernel),
            shows_llir_passes: settings.shows_llir_passes(kernel),
            dump_path: settings.dump_path.clone(),
            reproducer_path: settings.reproducer_path.clone(),
            report: Report::default(),
        }
    }

    /// Runs a step and takes its time.
    pub(super) fn time<R>(&mut self, step: &str, work: impl FnOnce(&mut Watch) -> R) -> R {
        let start = std::time::Instant::now();
        let result = work(self);
        self.timed(step, start.elapsed());
        result
    }

    /// Writes the file that repeats the compile, if a setting names one.
    pub(super) fn keep_reproducer(&mut self, source: &str, target: &dyn Target, options: &CompileOptions) {
        let Some(prefix) = &self.reproducer_path else { return };
        if let Err(error) = Reproducer::new(target, options).write(prefix, source) {
            self.report.warnings.push(error);
        }
    }

    pub(super) fn finish(self) -> Report {
        if self.print_times {
            eprint!("{}: times of the compile\n{}", self.kernel, times_table(&self.report.times, None));
        }
        self.report
    }

    /// Shows a text on the standard error stream, or where a file is named for that at its end.
    fn show(&self, text: &str) {
        let Some(path) = &self.dump_path else {
            eprint!("{text}");
            return;
        };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            eprint!("deuteron: cannot write {}: {error}\n{text}", path.display());
        }
    }
}

impl StageObserver for Watch {
    fn stage(&mut self, name: &str, bytes: &[u8]) {
        if let Err(error) = self.dumps.write(name, bytes) {
            // Somebody waits for a dump: say why it is not there, and compile on.
            self.report.warnings.push(error);
        }
    }

    fn timed(&mut self, step: &str, elapsed: Duration) {
        self.report.times.push((step.to_owned(), elapsed));
    }

    fn given(&mut self, stage: &str) -> Option<GivenStage> {
        let given = self.given.take(stage)?;
        eprintln!("Overriding kernel with file {}", given.file);
        Some(given)
    }

    fn tell(&mut self, text: &str) {
        print_text(text);
    }

    fn warn(&mut self, text: String) {
        self.report.warnings.push(text);
    }

    fn wants_programs(&self, stage: &str) -> bool {
        if stage == "llir" { self.shows_llir_passes } else { self.shows_passes }
    }

    fn program(&mut self, stage: &str, pass: &str, text: &str) {
        let kernel = &self.kernel;
        self.show(&format!(
            "// -----// IR Dump Before {pass} ({stage} of kernel {kernel}) //----- //\n{text}\n"
        ));
    }
}

/// Prints a text; a reader that has gone away is no reason to stop.
fn print_text(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text.trim_end());
}

/// The files that the stages of one kernel are written to, if a setting asks for them.
pub(super) struct Dumps {
    kernel: String,
    folder: Option<PathBuf>,
    /// Stages that are printed, with the headlines above them.
    printed: Vec<(&'static str, &'static str)>,
}

impl Dumps {
    /// `source` is the name of the kernel's folder.
    pub(super) fn new(kernel: &str, source: &Key, settings: &Settings) -> Dumps {
        let kernel = kernel.chars().take(LONGEST_NAME).collect();
        let folder = settings.dump_dir.as_ref().map(|dir| dir.join(source.to_string()));
        Dumps { kernel, folder, printed: settings.printed.clone() }
    }

    fn write(&self, stage: &str, bytes: &[u8]) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(format!("{}.{stage}", self.kernel));
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|error| format!("cannot write the dump {}: {error}", path.display()))
    }

    /// Writes all stages of a finished kernel, also those that no launch needs; says what could not be written.
    pub(super) fn write_all(&self, kernel: &super::Kernel) {
        self.print(kernel);
        if self.folder.is_none() {
            return;
        }
        for name in kernel.stage_names() {
            let written = match kernel.stage(name) {
                Ok(Stage { bytes, .. }) => self.write(name, bytes),
                Err(error) => Err(format!("no dump of stage `{name}`: {error}")),
            };
            if let Err(text) = written {
                eprintln!("deuteron: kernel {}: {text}", self.kernel);
            }
        }
    }

    /// Prints the stages that settings name and this kernel's target has.
    fn print(&self, kernel: &super::Kernel) {
        for (name, headline) in self.printed.iter().filter(|(name, _)| has_stage(kernel, name)) {
            match kernel.stage(name) {
                Ok(stage) => {
                    let text = String::from_utf8_lossy(&stage.bytes);
                    print_text(&format!("// -----// {headline} //----- //\n{text}"));
                }
                Err(error) => {
                    eprintln!("deuteron: kernel {}: stage `{name}` cannot be printed: {error}", self.kernel)
                }
            }
        }
    }
}

/// Whether a target makes a stage.
fn has_stage(kernel: &super::Kernel, name: &str) -> bool {
    let target = kernel.target();
    target.stages().contains(&name) || target.derived_stages().contains(&name)
}
