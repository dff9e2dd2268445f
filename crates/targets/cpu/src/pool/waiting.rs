//! Launches whose programs may wait for what others write, as at a lock or a barrier: the one that is waited for may
//! not have begun.
//!
//! The workers of the pool take the programs one at a time. The first program that waits starts a thread that looks
//! after this: when all programs that run wait, and none has begun or ended for a moment ([`PATIENCE`]), it starts more
//! threads that take programs, each time as many as there are already, until all have begun.

use super::interrupt::Watch;
use super::together::MOST;
use super::waiters::held;
use super::worker::STACK_BYTES;
use super::{Cost, Task, panic_text, run_until, thread_count};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;
use target::INTERRUPT_INTERVAL;

/// After how long it is looked whether all wait.
const PATIENCE: Duration = Duration::from_micros(300);
/// The same at most. Where some do not say within the time that they wait it is doubled, as threads may wait for cores.
const MOST_PATIENCE: Duration = Duration::from_millis(100);

/// Runs the programs `0..total`. Whatever some of them wait for, the others begin in the end, up to [`MOST`] at a time.
///
/// # Errors
/// The message of a panic in the task; that there is no thread for what is waited for; that the launch was given up.
pub fn run_waiting(total: u64, task: Task<'_>, watch: &Watch) -> Result<(), String> {
    if total < 2 {
        return run_until(total, &Cost::unknown(), task, watch);
    }
    let crew = Crew::new(total, task, watch);
    std::thread::scope(|scope| {
        let crew = &crew;
        let begin = move || {
            if let Err(error) = Builder::new().spawn_scoped(scope, move || crew.help(scope)) {
                crew.fail(format!("no thread to look after programs that wait: {error}"));
            }
        };
        let _call = watch.waiting().when_one_waits(&begin);
        // What the pool hands out are turns: which program is run in one is decided here.
        let turns = |begin: u64, end: u64| (begin..end).try_for_each(|_| crew.run_next());
        let outcome = run_until(total, &Cost::unknown(), &turns, watch);
        crew.finish(outcome.is_err());
        outcome
    })?;
    let problem = held(&crew.problem).take();
    problem.map_or_else(|| watch.outcome(), Err)
}

/// What the threads of a launch share.
struct Crew<'a> {
    total: u64,
    task: Task<'a>,
    watch: &'a Watch,
    /// The program that begins next.
    next: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    /// No more programs are to begin.
    is_stopped: AtomicBool,
    /// What went wrong outside the pool.
    problem: Mutex<Option<String>>,
    outside: Mutex<Outside>,
    changed: Condvar,
}

/// What goes on besides the workers of the pool.
#[derive(Default)]
struct Outside {
    /// Threads that take programs.
    threads: u64,
    /// The pool has no more turns, so no thread is to be started.
    is_closed: bool,
}

impl<'a> Crew<'a> {
    fn new(total: u64, task: Task<'a>, watch: &'a Watch) -> Crew<'a> {
        let [next, begun, ended] = [0; 3].map(AtomicU64::new);
        let is_stopped = AtomicBool::new(false);
        let (problem, outside, changed) = (Mutex::default(), Mutex::default(), Condvar::new());
        Crew { total, task, watch, next, begun, ended, is_stopped, problem, outside, changed }
    }

    /// Runs a program, if there is one that has not begun.
    fn run_next(&self) -> ControlFlow<()> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let program = self.next.fetch_add(1, Ordering::Relaxed);
        if program >= self.total {
            return ControlFlow::Continue(());
        }
        self.begun.fetch_add(1, Ordering::Relaxed);
        let _ended = Ended(&self.ended);
        let flow = (self.task)(program, program + 1);
        if flow.is_break() {
            self.stop();
        }
        flow
    }

    /// No more programs begin, and those that wait end when they next ask.
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.watch.end();
    }

    fn fail(&self, problem: String) {
        held(&self.problem).get_or_insert(problem);
        self.stop();
    }

    /// Whether a program is left that nobody has taken.
    fn has_more(&self) -> bool {
        !self.is_stopped.load(Ordering::Relaxed) && self.next.load(Ordering::Relaxed) < self.total
    }

    /// Starts threads where all programs that run wait.
    fn help<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut threads = thread_count() as u64;
        let (mut seen, mut patience) = (None, PATIENCE);
        let mut outside = held(&self.outside);
        while !outside.is_closed && self.has_more() {
            outside = self.changed.wait_timeout(outside, patience).unwrap_or_else(PoisonError::into_inner).0;
            let (begun, ended) = (self.begun.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed));
            let waiting = self.watch.waiting().count();
            self.watch.waiting().count_anew();
            if seen != Some((begun, ended)) {
                (seen, patience) = (Some((begun, ended)), PATIENCE);
                continue;
            }
            if outside.is_closed || waiting < begun - ended {
                patience = (patience * 2).min(MOST_PATIENCE);
                continue;
            }
            let left = self.total.saturating_sub(self.next.load(Ordering::Relaxed));
            for _ in 0..left.min(threads).min(MOST.saturating_sub(threads)) {
                self.watch.waiting().crowd();
                let started = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || self.take_part());
                if let Err(error) = started {
                    return self.fail(format!("no thread for a program that others wait for: {error}"));
                }
                outside.threads += 1;
                threads += 1;
            }
        }
    }

    /// What an additional thread does.
    fn take_part(&self) {
        while self.has_more() {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run_next())) {
                self.fail(panic_text(&*panic));
            }
        }
        held(&self.outside).threads -= 1;
        self.changed.notify_all();
    }

    /// On the launching thread, when the pool has no more turns: waits for the additional threads.
    fn finish(&self, has_failed: bool) {
        if has_failed {
            self.stop();
        }
        let mut outside = held(&self.outside);
        outside.is_closed = true;
        self.changed.notify_all();
        while outside.threads > 0 {
            let waited = self.changed.wait_timeout(outside, INTERRUPT_INTERVAL);
            outside = waited.unwrap_or_else(PoisonError::into_inner).0;
            self.watch.look();
        }
    }
}

/// Counts a program as ended, also when it panics.
struct Ended<'a>(&'a AtomicU64);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
