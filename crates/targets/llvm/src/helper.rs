//! Compiles run on a helper thread, one per calling thread, so that a fatal error of LLVM is an error and not the end of
//! the process.
//!
//! LLVM calls its fatal handler and then `exit`; the handler may not return. Ours reports the message to the caller and
//! sleeps for good; the caller goes on with a new helper. What the lost thread held is lost with it. A helper also has
//! a stack of known size, and keeps target machines between compiles. After a `fork` the child makes its own.

use crate::LlvmError;
use crate::compile::Compiled;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::mpsc::{Receiver, Sender, channel};

type Answer = Result<Compiled, LlvmError>;
type Job = Box<dyn FnOnce() -> Answer + Send>;

/// The caller's ends of the two channels.
struct Helper {
    process: u32,
    jobs: Sender<Job>,
    answers: Receiver<Answer>,
}

/// LLVM recurses over deep expressions.
const STACK_BYTES: usize = 64 << 20;

thread_local! {
    /// The helper of this calling thread.
    static HELPER: RefCell<Option<Helper>> = const { RefCell::new(None) };
    /// On a helper thread: where its answers go.
    static REPLY: RefCell<Option<Sender<Answer>>> = const { RefCell::new(None) };
}

/// Runs a job on the helper of this thread.
pub(crate) fn run(job: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    let helper = HELPER.take().filter(|helper| helper.process == std::process::id());
    let helper = match helper {
        Some(helper) => helper,
        None => start()?,
    };
    let lost = || LlvmError::Compile("its helper thread ended unexpectedly".into());
    helper.jobs.send(Box::new(job)).map_err(|_| lost())?;
    let answer = helper.answers.recv().map_err(|_| lost())?;
    if !matches!(answer, Err(LlvmError::Fatal(_))) {
        HELPER.set(Some(helper));
    }
    answer
}

fn start() -> Result<Helper, LlvmError> {
    let (jobs, incoming) = channel::<Job>();
    let (outgoing, answers) = channel::<Answer>();
    let work = move || {
        REPLY.set(Some(outgoing.clone()));
        while let Ok(job) = incoming.recv() {
            if outgoing.send(job()).is_err() {
                break;
            }
        }
    };
    std::thread::Builder::new()
        .name("deuteron-llvm".into())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| LlvmError::Compile(format!("no thread could be started: {error}")))?;
    Ok(Helper { process: std::process::id(), jobs, answers })
}

/// LLVM's fatal handler. On a thread that is not ours it returns, and LLVM ends the process.
pub(crate) unsafe extern "C" fn fatal(message: *const c_char) {
    // SAFETY: LLVM passes a valid C string.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    let told = REPLY.with_borrow(|reply| {
        reply.as_ref().is_some_and(|reply| reply.send(Err(LlvmError::Fatal(text))).is_ok())
    });
    if !told {
        return;
    }
    loop {
        std::thread::park();
    }
}
