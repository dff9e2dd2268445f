//! Which of them wait in this process, and how long.

use super::{Call, LONGEST, Waiting};
use crate::assemble::made::{Made, NotMade};
use crate::knobs::PLAIN_ASSEMBLER;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{env, process, thread};

/// Texts that a process assembles before one waits for the next: most processes that assemble one assemble no other.
const FIRST: usize = 2;

/// How many wait at most. Kernels are assembled at two levels.
const MOST: usize = 2;

/// How long one waits.
pub(super) const IDLE: Duration = Duration::from_secs(10);

/// Texts that this process assembled.
static TEXTS: AtomicUsize = AtomicUsize::new(0);

/// Whether to start no more.
static MISTRUSTED: AtomicBool = AtomicBool::new(false);

static KEPT: Mutex<Kept> = Mutex::new(Kept { waiting: Vec::new(), tended: None });

/// Tells who tends that there is nothing left to tend.
static EMPTIED: Condvar = Condvar::new();

struct Kept {
    waiting: Vec<Waiting>,
    /// The thread that ends those that wait too long, and its process: forks have no such thread.
    tended: Option<(u32, JoinHandle<()>)>,
}

impl Kept {
    fn is_tended_here(&self) -> bool {
        self.tended.as_ref().is_some_and(|(_, tending)| tending.thread().id() == thread::current().id())
    }
}

/// Lets one that waits assemble a text, and starts the next one meanwhile.
///
/// # Errors
/// There is none, or it did not work.
pub(in crate::assemble) fn assemble(call: &Call, text: &str) -> Result<Made, NotMade> {
    if text.len() > LONGEST {
        return Err(NotMade::NoneWaits);
    }
    let process = take(call).ok_or(NotMade::NoneWaits)?.hand_over(text).inspect_err(|error| {
        if matches!(error, NotMade::EndedEarly) {
            mistrust();
        }
    })?;
    keep_one(call);
    process.finish().map_err(|_| NotMade::Failed)
}

/// Starts no more: the program is not one that can wait.
pub(in crate::assemble) fn mistrust() {
    MISTRUSTED.store(true, Ordering::Relaxed);
}

/// Starts one that waits for the text after this one, unless there is one.
pub(in crate::assemble) fn keep_one(call: &Call) {
    let texts = TEXTS.fetch_add(1, Ordering::Relaxed) + 1;
    if texts < FIRST || MISTRUSTED.load(Ordering::Relaxed) || is_unwanted() {
        return;
    }
    let is_missing = locked().is_some_and(|kept| kept.waiting.iter().all(|waiting| waiting.call != *call));
    if is_missing && let Ok(waiting) = Waiting::start(call) {
        keep(waiting);
    }
}

fn is_unwanted() -> bool {
    let yes =
        |value: String| ["1", "true", "on", "y", "yes"].iter().any(|word| value.eq_ignore_ascii_case(word));
    env::var(PLAIN_ASSEMBLER).is_ok_and(yes)
}

/// What is kept. Nobody waits for it, as it may have been locked when this process was forked.
fn locked() -> Option<MutexGuard<'static, Kept>> {
    KEPT.try_lock().ok()
}

fn take(call: &Call) -> Option<Waiting> {
    let mut kept = locked()?;
    let index = kept.waiting.iter().position(|waiting| waiting.call == *call)?;
    Some(kept.waiting.remove(index))
}

/// Keeps one that waits.
pub(super) fn keep(waiting: Waiting) {
    static AT_FORK: Once = Once::new();
    AT_FORK.call_once(|| {
        // SAFETY: the handler runs in the thread that forks, before it does.
        unsafe { libc::pthread_atfork(Some(give_up), None, None) };
    });
    // What is left over is ended behind the lock.
    let mut ended = Vec::new();
    let Some(mut kept) = locked() else { return };
    if kept.tended.as_ref().is_none_or(|(owner, _)| *owner != process::id()) {
        let tending = thread::Builder::new().name("ptxas-ahead".into()).spawn(tend);
        let Ok(tending) = tending else { return };
        // In a fork there is no thread of its parent to let go.
        std::mem::forget(kept.tended.replace((process::id(), tending)));
    }
    if kept.waiting.len() == MOST {
        ended.push(kept.waiting.remove(0));
    }
    kept.waiting.push(waiting);
    drop(kept);
}

/// Ends all that wait, since a fork would hold their pipes open for as long as it lives, and the thread that tends
/// them: Python warns of forks of processes with threads.
pub(super) extern "C" fn give_up() {
    let Some(mut kept) = locked() else { return };
    let (waiting, tended) = (std::mem::take(&mut kept.waiting), kept.tended.take());
    drop(kept);
    EMPTIED.notify_all();
    drop(waiting);
    if let Some((owner, tending)) = tended
        && owner == process::id()
    {
        _ = tending.join();
    }
}

/// Ends those that wait too long, until none is left or this thread is given up.
fn tend() {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    while kept.is_tended_here()
        && let Some(age) = kept.waiting.iter().map(|waiting| waiting.since.elapsed()).max()
    {
        if age < IDLE {
            let woken = EMPTIED.wait_timeout(kept, IDLE - age);
            kept = woken.unwrap_or_else(PoisonError::into_inner).0;
        } else {
            kept.waiting.retain(|waiting| waiting.since.elapsed() < IDLE);
        }
    }
    if kept.is_tended_here() {
        kept.tended = None;
    }
}
