//! The command `ptxas`: run with a file of its own, or by one that was started ahead of its text.

use super::ahead::{self, Call};
use super::log::{complaints, usage};
use super::made::{INPUT, Made, NotMade};
use super::{AssembleError, AssembleOptions, Assembler, Cubin, NotFound, Search};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An assembler that is a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ptxas {
    path: PathBuf,
    version: String,
}

impl Ptxas {
    /// Looks for the command and asks for its version.
    ///
    /// # Errors
    /// Where it was looked for in vain, or why what was found could not be run.
    pub fn find(search: &Search) -> Result<Ptxas, AssembleError> {
        Ptxas::find_as(search, "ptxas")
    }

    /// The same under another name.
    ///
    /// # Errors
    /// As [`Ptxas::find`].
    pub fn find_as(search: &Search, name: &'static str) -> Result<Ptxas, AssembleError> {
        let candidates = search.programs(name);
        let mut failures = String::new();
        for path in candidates.iter().filter(|path| path.is_file()) {
            match Ptxas::at(path) {
                Ok(ptxas) => return Ok(ptxas),
                Err(error) => failures.push_str(&format!("\n  {error}")),
            }
        }
        let text = NotFound { what: name, looked: candidates }.to_string();
        Err(AssembleError::NotRun(format!("{text}{failures}")))
    }

    /// The command at a place.
    ///
    /// # Errors
    /// Why it could not be run.
    pub fn at(path: &Path) -> Result<Ptxas, AssembleError> {
        let fail = |why: String| AssembleError::NotRun(format!("{}: {why}", path.display()));
        let output = Command::new(path).arg("--version").output().map_err(|error| fail(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().rev().find(|line| line.contains('V') || line.contains("release"));
        match line {
            Some(line) if output.status.success() => {
                Ok(Ptxas { path: path.to_owned(), version: line.trim().to_owned() })
            }
            _ => Err(fail("it does not say its version".into())),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The options, in front of the files.
    fn arguments(options: &AssembleOptions) -> Vec<OsString> {
        let mut words = vec!["-v".into(), format!("--gpu-name={}", options.arch)];
        words.push(format!("-O{}", options.optimization));
        words.extend(options.line_info.then(|| "-lineinfo".to_owned()));
        words.extend((!options.fuse).then(|| "--fmad=false".to_owned()));
        words.extend(options.further.iter().cloned());
        words.into_iter().map(OsString::from).collect()
    }

    /// Runs the command; the one that will wait for the next text starts meanwhile.
    fn run(&self, ptx: &str, arguments: &[OsString], call: Option<&Call>) -> Result<Made, AssembleError> {
        let fail = |error: std::io::Error| AssembleError::NotRun(format!("ptxas: {error}"));
        let folder = tempfile::tempdir().map_err(fail)?;
        let (input, output) = (folder.path().join(INPUT), folder.path().join("kernel.cubin"));
        std::fs::write(&input, ptx).map_err(fail)?;
        let mut command = Command::new(&self.path);
        command.args(arguments).arg(&input).arg("-o").arg(&output);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(fail)?;
        call.inspect(|call| ahead::keep_one(call));
        let done = child.wait_with_output().map_err(fail)?;
        let log =
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let log = log.replace(&input.display().to_string(), INPUT);
        if !done.status.success() {
            let text = complaints(&log, ptx);
            let text = if text.is_empty() { format!("  it ended with {}", done.status) } else { text };
            return Err(AssembleError::Refused(text));
        }
        Ok(Made { bytes: std::fs::read(&output).map_err(fail)?, log })
    }
}

impl Assembler for Ptxas {
    fn version(&self) -> String {
        format!("ptxas {}", self.version)
    }

    fn assemble(&self, ptx: &str, options: &AssembleOptions) -> Result<Cubin, AssembleError> {
        let arguments = Ptxas::arguments(options);
        let call = Call::new(&self.path, &arguments);
        let early = call.as_ref().map(|call| ahead::assemble(call, ptx));
        let made = match early {
            Some(Ok(made)) => made,
            Some(Err(NotMade::Failed)) => {
                let made = self.run(ptx, &arguments, None)?;
                ahead::mistrust();
                made
            }
            _ => self.run(ptx, &arguments, call.as_ref())?,
        };
        let usage = usage(&made.log);
        Ok(Cubin { bytes: made.bytes, log: made.log, usage })
    }
}
