//! One launch as all threads see it.
//!
//! The launcher alone opens and closes a job. A worker first counts itself in (`active`), then looks whether the job is
//! open; only then may it read the fields. The launcher closes the job, then waits until nobody is counted in; so the
//! fields, and the task they point to, are never touched after [`Job::close`].

use super::interrupt::{Interrupt, Watch};
use super::{Task, futex, panic_text};
use std::cell::UnsafeCell;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use target::INTERRUPT_INTERVAL;

/// Keeps what different threads write on different cache lines.
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// How long the launcher spins for the last chunks before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// What the launcher fills in while the job is closed.
struct Fields {
    task: Option<*const (dyn Fn(u64, u64) -> ControlFlow<()> + Sync)>,
    chunk: u64,
}

/// The programs of one core.
struct Share {
    next: AtomicU64,
    end: AtomicU64,
}

pub(super) struct Job {
    /// Twice the number of the job, plus one while it is open.
    state: Padded<AtomicU64>,
    /// Workers that are counted in.
    active: Padded<AtomicU32>,
    /// Whether the launcher sleeps until `active` is zero.
    launcher_sleeps: AtomicBool,
    stopped: AtomicBool,
    /// The seat that the launcher works in place of.
    launcher: AtomicUsize,
    shares: Box<[Padded<Share>]>,
    fields: UnsafeCell<Fields>,
    panic: Mutex<Option<String>>,
}

// SAFETY: `fields` is written only between `close` and `open`, when no worker is counted in, and read only by those
// that are; the task is `Sync`.
unsafe impl Sync for Job {}
// SAFETY: the task pointer is used only as described above.
unsafe impl Send for Job {}

impl Job {
    pub(super) fn new(seats: usize) -> Job {
        let share = |_| Padded(Share { next: AtomicU64::new(0), end: AtomicU64::new(0) });
        Job {
            state: Padded(AtomicU64::new(0)),
            active: Padded(AtomicU32::new(0)),
            launcher_sleeps: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            launcher: AtomicUsize::new(0),
            shares: (0..seats).map(share).collect(),
            fields: UnsafeCell::new(Fields { task: None, chunk: 1 }),
            panic: Mutex::new(None),
        }
    }

    /// Offers programs to the workers.
    ///
    /// # Safety
    /// The job is closed and this thread has the pool; it calls [`Job::close`] before the task ends.
    pub(super) unsafe fn open(&self, programs: Range<u64>, chunk: u64, launcher: usize, task: Task<'_>) {
        let count = self.shares.len() as u64;
        let total = programs.end - programs.start;
        // The first `rest` shares have one program more.
        let (each, rest) = (total / count, total % count);
        let start_of = |index: u64| programs.start + each * index + index.min(rest);
        for (index, share) in self.shares.iter().enumerate() {
            share.0.next.store(start_of(index as u64), Ordering::Relaxed);
            share.0.end.store(start_of(index as u64 + 1), Ordering::Relaxed);
        }
        self.stopped.store(false, Ordering::Relaxed);
        self.launcher.store(launcher, Ordering::Relaxed);
        // SAFETY: the lifetime is only forgotten for the time until `close`, which the caller promises; no worker is
        // counted in while the job is closed.
        unsafe {
            let task: *const (dyn Fn(u64, u64) -> ControlFlow<()> + Sync + '_) = task;
            #[allow(clippy::missing_transmute_annotations)]
            let task: *const (dyn Fn(u64, u64) -> ControlFlow<()> + Sync + 'static) =
                std::mem::transmute(task);
            *self.fields.get() = Fields { task: Some(task), chunk };
        }
        self.state.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes the job back: waits for the chunks that workers are at, and asks meanwhile whether the launch is to be
    /// given up: programs that spin end with it.
    pub(super) fn close(&self, watch: &Watch) {
        self.state.0.fetch_add(1, Ordering::SeqCst);
        let start = Instant::now();
        loop {
            let active = self.active.0.load(Ordering::SeqCst);
            if active == 0 {
                break;
            }
            if start.elapsed() < SPIN {
                std::hint::spin_loop();
                continue;
            }
            self.launcher_sleeps.store(true, Ordering::SeqCst);
            futex::wait_for(&self.active.0, active, INTERRUPT_INTERVAL);
            watch.look();
        }
        self.launcher_sleeps.store(false, Ordering::Relaxed);
    }

    /// The number of the job that is open.
    pub(super) fn open_number(&self) -> Option<u64> {
        let state = self.state.0.load(Ordering::SeqCst);
        (state & 1 == 1).then_some(state)
    }

    /// The seat that the launcher works in place of.
    pub(super) fn launcher(&self) -> usize {
        self.launcher.load(Ordering::Relaxed)
    }

    /// Lets a worker take part, if the job is open; answers the number of the job.
    pub(super) fn join(&self, place: usize) -> Option<u64> {
        self.active.0.fetch_add(1, Ordering::SeqCst);
        let number = self.open_number();
        if number.is_some() {
            self.work(place, None);
        }
        if self.active.0.fetch_sub(1, Ordering::SeqCst) == 1 && self.launcher_sleeps.load(Ordering::SeqCst) {
            futex::wake_one(&self.active.0);
        }
        number
    }

    /// Runs chunks of the own share, then of the others'; answers how many programs. Only for the launcher, which
    /// asks whether the job is to be given up, and for workers that are counted in.
    pub(super) fn work(&self, place: usize, mut interrupt: Option<&mut Interrupt<'_>>) -> u64 {
        // SAFETY: the job is open or this is the launcher, so nobody writes the fields.
        let (task, chunk) = unsafe { ((*self.fields.get()).task, (*self.fields.get()).chunk) };
        let Some(task) = task else { return 0 };
        // SAFETY: the task lives until `close` has returned, which waits for us.
        let task = unsafe { &*task };
        let mut programs = 0;
        let shares = self.shares.len();
        for step in 0..shares {
            let share = &self.shares[(place + step) % shares].0;
            let end = share.end.load(Ordering::Relaxed);
            while !self.stopped.load(Ordering::Relaxed) && share.next.load(Ordering::Relaxed) < end {
                let begin = share.next.fetch_add(chunk, Ordering::Relaxed);
                if begin >= end {
                    break;
                }
                let stop = (begin + chunk).min(end);
                self.run_chunk(task, begin, stop);
                programs += stop - begin;
                if interrupt.as_mut().is_some_and(|interrupt| interrupt.look()) {
                    self.stopped.store(true, Ordering::Relaxed);
                }
            }
        }
        programs
    }

    /// Runs one chunk; a panic ends the job and is kept for the launcher.
    fn run_chunk(&self, task: Task<'_>, begin: u64, end: u64) {
        let outcome = catch_unwind(AssertUnwindSafe(|| task(begin, end)));
        if let Err(panic) = &outcome {
            let mut kept = self.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            kept.get_or_insert_with(|| panic_text(&**panic));
        }
        if !matches!(outcome, Ok(ControlFlow::Continue(()))) {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// The message of a panic in the last job.
    pub(super) fn take_panic(&self) -> Option<String> {
        self.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}
