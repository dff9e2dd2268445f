//! A `ptxas` that is started before there is a text for it.
//!
//! For a small kernel half of its time is its own start, which comes before it opens its input. A process that
//! assembles again and again therefore keeps one waiting, and starts the next one while that one works.
//!
//! Its input is called `/proc/PID/fd/N`, where N is a number of this process. At first that is a pipe, and it waits in
//! its first read. To hand over a text, a file with that text takes the number N, since `ptxas` opens its input a
//! second time and asks for its size; then the text goes through the pipe, which ends. One that is not as far as its
//! first read finds the file. It writes to its standard input, a file without a name. So nothing has to be tidied up;
//! and when this process ends, by whatever cause, so does the pipe: the program finds an empty text, and ends, too.
//!
//! Whatever is odd (it ended early, it refuses the text, it writes nothing) is an error here: the caller runs the
//! program as usual, and that answer counts.

mod keep;

pub(super) use keep::{assemble, keep_one, mistrust};

use super::made::{INPUT, Made, NotMade};
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use std::{env, process};

/// What fits into a pipe. Longer texts take so long to assemble that a start is little.
const LONGEST: usize = 1 << 16;

/// Milliseconds that the start of another program may take.
const SOON: libc::c_int = 20;

/// Everything that a program sees when it starts. One that waits is for one call, and for no other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    program: PathBuf,
    /// Which file that is: device, number, size, time of the last change.
    file: (u64, u64, u64, i64, i64),
    arguments: Vec<OsString>,
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Call {
    /// A program that gets these arguments, the name of its input, and `-o` with that of its output. `None` for a
    /// script, which may do things that show before it reads anything.
    pub(super) fn new(program: &Path, arguments: &[OsString]) -> Option<Call> {
        if is_binary(program) { Call::of(program, arguments) } else { None }
    }

    fn of(program: &Path, arguments: &[OsString]) -> Option<Call> {
        let file = |data: Metadata| (data.dev(), data.ino(), data.size(), data.mtime(), data.mtime_nsec());
        Some(Call {
            program: program.to_owned(),
            file: program.metadata().map(file).ok()?,
            arguments: arguments.to_owned(),
            folder: env::current_dir().ok()?,
            environment: env::vars_os().collect(),
        })
    }
}

/// Whether a file is a program in machine code.
fn is_binary(program: &Path) -> bool {
    let mut start = [0; 4];
    File::open(program).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
}

/// One that waits for its text.
#[derive(Debug)]
struct Waiting {
    call: Call,
    since: Instant,
    reader: PipeReader,
    writer: PipeWriter,
    process: Process,
}

impl Waiting {
    fn start(call: &Call) -> io::Result<Waiting> {
        let (reader, writer) = io::pipe()?;
        let input = OwnedFd::from(reader.try_clone()?);
        let name = format!("/proc/{}/fd/{}", process::id(), input.as_raw_fd());
        let output = tempfile::tempfile()?;
        let (log, errors) = io::pipe()?;
        let child = Command::new(&call.program)
            .args(&call.arguments)
            .arg(&name)
            .args(["-o", "/proc/self/fd/0"])
            .stdin(output.try_clone()?)
            .stdout(errors.try_clone()?)
            .stderr(Stdio::from(errors))
            .spawn()?;
        let process = Process { child, owner: process::id(), input, name, output, log };
        Ok(Waiting { call: call.clone(), since: Instant::now(), reader, writer, process })
    }

    /// Gives it its text.
    fn hand_over(self, text: &str) -> Result<Process, NotMade> {
        let Waiting { mut process, reader, writer, .. } = self;
        match process.child.try_wait() {
            Ok(None) => {}
            // A signal comes from outside; whoever ends unasked does so every time.
            Ok(Some(status)) if status.signal().is_none() => return Err(NotMade::EndedEarly),
            _ => return Err(NotMade::NoneWaits),
        }
        let sent = || -> io::Result<bool> {
            let mut file = tempfile::tempfile()?;
            file.write_all(text.as_bytes())?;
            replace(&process.input, &file)?;
            send(text, writer)
        };
        // Another process that was forked from this one may hold the pipe open: then no end comes.
        if sent().unwrap_or(false) && has_ended(&reader) { Ok(process) } else { Err(NotMade::NoneWaits) }
    }
}

/// Lets a number be that of another file, from one moment to the next.
fn replace(number: &OwnedFd, file: &File) -> io::Result<()> {
    // SAFETY: both are open, and the number belongs to the same owner afterwards.
    let done = unsafe { libc::dup3(file.as_raw_fd(), number.as_raw_fd(), libc::O_CLOEXEC) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes a text and ends the pipe; never waits for a reader. Whether the pipe took all of it.
fn send(text: &str, writer: PipeWriter) -> io::Result<bool> {
    let name = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut end = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(name)?;
    Ok(end.write(text.as_bytes())? == text.len())
}

/// Whether nobody can write to a pipe any more, or soon: what this process starts at this moment has its files until
/// it runs.
fn has_ended(reader: &PipeReader) -> bool {
    let mut asked = libc::pollfd { fd: reader.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: it is one entry.
    let found = unsafe { libc::poll(&raw mut asked, 1, SOON) };
    found == 1 && asked.revents & libc::POLLHUP != 0
}

/// One that waits or works; it is ended when this is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    /// The process that started it. In a fork of that, this is a copy that has no part in it.
    owner: u32,
    /// The number that the name of its input is about.
    input: OwnedFd,
    name: String,
    output: File,
    log: PipeReader,
}

impl Process {
    /// Waits for what it makes.
    fn finish(mut self) -> io::Result<Made> {
        let (mut log, mut bytes) = (Vec::new(), Vec::new());
        self.log.read_to_end(&mut log)?;
        if !self.child.wait()?.success() {
            return Err(io::Error::other("it ended with an error"));
        }
        self.output.rewind()?;
        self.output.read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Err(io::Error::other("it wrote nothing"));
        }
        Ok(Made { bytes, log: String::from_utf8_lossy(&log).replace(&self.name, INPUT) })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.owner == process::id() {
            _ = self.child.kill();
            _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests;
