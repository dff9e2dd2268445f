//! Watching a compile: dumps, times, warnings.

use crate::cache::Key;
use crate::knobs::Settings;
use std::path::PathBuf;
use std::time::Duration;
use target::StageObserver;

/// What a compile said on the way.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) warnings: Vec<String>,
    pub(super) times: Vec<(String, Duration)>,
}

/// Is told the stages and steps of one compile.
pub(super) struct Watch {
    kernel: String,
    dump: Option<PathBuf>,
    print_times: bool,
    dump_passes: bool,
    report: Report,
}

impl Watch {
    pub(super) fn new(kernel: &str, key: &Key, settings: &Settings) -> Watch {
        Watch {
            kernel: kernel.to_owned(),
            dump: settings.dump_dir.as_ref().map(|dir| dir.join(key.to_string())),
            print_times: settings.time_passes,
            dump_passes: settings.dump_passes.as_ref().is_some_and(|name| name == "1" || name == kernel),
            report: Report::default(),
        }
    }

    /// Whether the IR after each pass is wanted.
    pub(super) fn dumps_passes(&self) -> bool {
        self.dump_passes
    }

    pub(super) fn warn(&mut self, text: String) {
        self.report.warnings.push(text);
    }

    /// Runs a step and takes its time.
    pub(super) fn time<R>(&mut self, step: &str, work: impl FnOnce(&mut Watch) -> R) -> R {
        let start = std::time::Instant::now();
        let result = work(self);
        self.timed(step, start.elapsed());
        result
    }

    pub(super) fn finish(self) -> Report {
        if self.print_times {
            eprintln!("{}: times of the compile", self.kernel);
            for (step, elapsed) in &self.report.times {
                eprintln!("  {:>9.3} ms  {step}", elapsed.as_secs_f64() * 1e3);
            }
        }
        self.report
    }
}

impl StageObserver for Watch {
    fn stage(&mut self, name: &str, bytes: &[u8]) {
        let Some(dir) = &self.dump else { return };
        let path = dir.join(format!("{}.{name}", self.kernel));
        if let Err(error) = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, bytes)) {
            // A dump is for a person who waits for it: say why it is not there, and compile on.
            self.report.warnings.push(format!("cannot write the dump {}: {error}", path.display()));
        }
    }

    fn timed(&mut self, step: &str, elapsed: Duration) {
        self.report.times.push((step.to_owned(), elapsed));
    }
}
