//! Compiles run on helper threads, one per compile that is under way, so that a fatal error of LLVM is an error and not
//! the end of the process.
//!
//! LLVM calls its fatal handler and then `exit`; the handler may not return. Ours reports the message to the caller and
//! sleeps for good; the caller goes on, and the next compile gets a new helper. What the lost thread held is lost with
//! it. Helpers are kept for later compiles, with the target machines they have made, and never end: nothing of LLVM is
//! taken down while the process exits. After a `fork` the child makes its own.

use crate::LlvmError;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// What a job gives, whatever that is.
type Answer = Result<Box<dyn Any + Send>, LlvmError>;
type Job = Box<dyn FnOnce() -> Answer + Send>;

/// The caller's ends of the two channels.
struct Helper {
    process: u32,
    jobs: Sender<Job>,
    answers: Receiver<Answer>,
}

/// LLVM recurses over deep expressions.
const STACK_BYTES: usize = 64 << 20;

/// Helpers without work.
static IDLE: Mutex<Vec<Helper>> = Mutex::new(Vec::new());

thread_local! {
    /// On a helper thread: where its answers go.
    static REPLY: RefCell<Option<Sender<Answer>>> = const { RefCell::new(None) };
}

/// Runs a job on a helper.
pub(crate) fn run<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, LlvmError> + Send + 'static,
) -> Result<T, LlvmError> {
    let helper = match idle() {
        Some(helper) => helper,
        None => start()?,
    };
    let lost = || LlvmError::Compile("its helper thread ended unexpectedly".into());
    let job = move || job().map(|made| Box::new(made) as Box<dyn Any + Send>);
    helper.jobs.send(Box::new(job)).map_err(|_| lost())?;
    let answer = helper.answers.recv().map_err(|_| lost())?;
    if !matches!(answer, Err(LlvmError::Fatal(_))) {
        match lock_idle() {
            Some(mut idle) => idle.push(helper),
            None => std::mem::forget(helper),
        }
    }
    let made = answer?.downcast::<T>().expect("a helper answers the job that it was given");
    Ok(*made)
}

/// The idle helpers. The lock is held for moments only; but after a fork it may be held by a thread that is not there,
/// so nobody waits for it long.
fn lock_idle() -> Option<MutexGuard<'static, Vec<Helper>>> {
    for _ in 0..1000 {
        match IDLE.try_lock() {
            Ok(idle) => return Some(idle),
            Err(TryLockError::Poisoned(idle)) => return Some(idle.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// A helper of this process without work.
fn idle() -> Option<Helper> {
    let mut idle = lock_idle()?;
    while let Some(helper) = idle.pop() {
        if helper.process == std::process::id() {
            return Some(helper);
        }
        // It is a thread of the parent.
        std::mem::forget(helper);
    }
    None
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
    let is_known = REPLY.with_borrow(|reply| {
        reply.as_ref().is_some_and(|reply| reply.send(Err(LlvmError::Fatal(text))).is_ok())
    });
    if !is_known {
        return;
    }
    crate::gate::leave();
    loop {
        std::thread::park();
    }
}
