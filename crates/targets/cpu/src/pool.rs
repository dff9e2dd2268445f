//! Runs the programs of a grid on all cores that this process may use.
//!
//! One worker is pinned to each allowed core; the launching thread works too, in the place of the worker of the
//! core it is on. The programs are cut into one contiguous range per core; who has finished its own range
//! takes chunks of the others'. The launcher never waits for a worker that has not woken: it waits only for chunks that
//! were taken. Workers spin for a moment after a launch, then sleep.
//!
//! Small launches run on the launching thread alone: it starts by itself and asks for help only after
//! [`SERIAL_NANOS`], unless earlier launches of the kernel say that there is more to do ([`Cost`]). Short launches that
//! help did not make faster, because the other cores are busy with something else, do without it for a while.
//!
//! One launch at a time has the workers; a launch that comes meanwhile (from another thread, or from inside a program)
//! runs on its own thread alone. A child of `fork` starts its own pool at its first launch.
//!
//! Programs that wait for each other need more than these workers: [`run_together`] where all must run at the same
//! time, [`run_waiting`] where they may have to.
//!
//! A launch may be given up ([`Watch`]): the launching thread asks between chunks, while it waits for the others, and
//! where a program of its own asks it to. Programs that spin look at the answer themselves.

mod cost;
mod futex;
mod interrupt;
mod job;
mod together;
mod waiters;
mod waiting;
mod worker;

pub use cost::Cost;
pub use interrupt::Watch;
pub use together::run_together;
pub use waiting::run_waiting;

use crate::topology;
use interrupt::Interrupt;
use job::{Job, Padded};
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Instant;
use worker::Seat;

/// Runs programs `begin..end`; `Break` ends the launch early.
pub type Task<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);

/// Work that is not worth a second core.
const SERIAL_NANOS: f64 = 5_000.0;
/// Work that is divided at once.
const LONG_NANOS: f64 = 10_000.0;
/// Chunks of short launches: small enough that all are done at the same time.
const SHORT_CHUNK_NANOS: f64 = 1_500.0;

/// Work that is taken at once, where that is known.
const CHUNK_NANOS: f64 = 20_000.0;

/// The same where nobody helps: it is only looked up whether the launch is to be given up.
const ALONE_NANOS: f64 = 5_000_000.0;

/// The workers of this process.
struct Pool {
    /// One per allowed core.
    seats: Box<[Padded<Seat>]>,
    job: Job,
    /// Whether a launch has the workers.
    busy: AtomicBool,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// Number of cores that a launch may use.
pub fn thread_count() -> usize {
    pool().seats.len()
}

/// Runs a task over the programs `0..total`, in ranges, on one or several threads. Returns when all have run, or when
/// one has broken off and those that had begun are done.
///
/// # Errors
/// The message of a panic in the task.
pub fn run(total: u64, cost: &Cost, task: Task<'_>) -> Result<(), String> {
    run_until(total, cost, task, &Watch::new(None))
}

/// The same, until the launch is given up: that is asked every [`target::INTERRUPT_INTERVAL`].
///
/// # Errors
/// The message of a panic in the task; that the launch was given up.
pub fn run_until(total: u64, cost: &Cost, task: Task<'_>, watch: &Watch) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| match total {
        0 => Ok(()),
        1 => {
            let _ = task(0, 1);
            watch.outcome()
        }
        _ => run_many(total, cost, task, Interrupt::new(watch)),
    }));
    outcome.unwrap_or_else(|panic| Err(panic_text(&*panic)))
}

fn run_many(total: u64, cost: &Cost, task: Task<'_>, mut interrupt: Interrupt<'_>) -> Result<(), String> {
    let pool = pool();
    let has_help = pool.seats.len() > 1 && cost.wants_help(total);
    let start = Instant::now();
    let is_long = cost.of(total).is_some_and(|nanos| nanos > LONG_NANOS);
    let mut elapsed = if is_long { f64::INFINITY } else { 0.0 };
    let mut step = cost.programs_in(SERIAL_NANOS).unwrap_or(1);
    let mut done = 0;
    // Alone, until it turns out to be long and the workers are free.
    while done < total {
        if has_help && elapsed > SERIAL_NANOS && !pool.busy.swap(true, Ordering::Acquire) {
            let _free = Free(&pool.busy);
            return pool.run_with_help(done..total, task, cost, interrupt);
        }
        let end = done.saturating_add(step).min(total);
        if task(done, end).is_break() {
            break;
        }
        done = end;
        elapsed = start.elapsed().as_nanos() as f64;
        cost.measured(done, elapsed);
        if interrupt.look() {
            break;
        }
        let longest = cost.programs_in(if has_help { CHUNK_NANOS } else { ALONE_NANOS });
        step = step.saturating_mul(2).min(longest.unwrap_or(u64::MAX));
    }
    interrupt.outcome()
}

/// Gives the workers back.
struct Free<'a>(&'a AtomicBool);

impl Drop for Free<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Pool {
    fn new(cores: &[usize]) -> Pool {
        Pool {
            seats: cores.iter().map(|cpu| Padded(Seat::new(*cpu))).collect(),
            job: Job::new(cores.len()),
            busy: AtomicBool::new(false),
        }
    }

    fn run_with_help(
        &'static self,
        programs: Range<u64>,
        task: Task<'_>,
        cost: &Cost,
        mut interrupt: Interrupt<'_>,
    ) -> Result<(), String> {
        let count = programs.end - programs.start;
        let cpu = topology::current_cpu();
        let place = self.seats.iter().position(|seat| seat.0.cpu == cpu).unwrap_or(0);
        let share = count.div_ceil(self.seats.len() as u64);
        let least = cost.programs_in(SHORT_CHUNK_NANOS).unwrap_or(1);
        let most = cost.programs_in(CHUNK_NANOS).unwrap_or(share);
        let chunk = (share / 8).max(least).min(most).clamp(1, share.max(1));
        // SAFETY: `close` below returns only when no worker has the task any more, also when ours panics.
        unsafe { self.job.open(programs, chunk, place, task) };
        let close = Close(self, interrupt.watch());
        self.wake(place);
        let expected = cost.of(count);
        interrupt.pace(cost.of(chunk));
        let start = Instant::now();
        let done = self.job.work(place, Some(&mut interrupt));
        cost.measured(done, start.elapsed().as_nanos() as f64);
        drop(close);
        cost.was_helped(expected, start.elapsed().as_nanos() as f64);
        self.job.take_panic().map_or_else(|| interrupt.outcome(), Err)
    }

    /// Wakes some sleeping workers, those after `place` first; those that wake go on waking others.
    fn wake(&self, place: usize) {
        let seats = self.seats.len();
        let others =
            (1..seats).map(|step| (place + step) % seats).filter(|other| *other != self.job.launcher());
        let sleepers = others.filter(|other| self.seats[*other].0.is_sleeping());
        let woken = sleepers.filter(|other| self.seats[*other].0.wake());
        let _ = woken.take(2).count();
    }
}

/// Ends a job, whatever happens in between.
struct Close<'a>(&'static Pool, &'a Watch);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.job.close(self.1);
    }
}

/// The pool of this process, made at the first call.
fn pool() -> &'static Pool {
    let known = POOL.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: a pool that was published is never freed.
        return unsafe { &*known };
    }
    make_pool()
}

#[cold]
fn make_pool() -> &'static Pool {
    static AT_FORK: Once = Once::new();
    AT_FORK.call_once(|| {
        // SAFETY: the handler only stores a null pointer.
        unsafe { libc::pthread_atfork(None, None, Some(forget_pool)) };
    });
    let allowed = topology::allowed_cpus();
    let count = topology::thread_count().clamp(1, allowed.len());
    let made = Box::into_raw(Box::new(Pool::new(&allowed[..count])));
    match POOL.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: it is published now and never freed.
            let pool: &'static Pool = unsafe { &*made };
            if count > 1 {
                worker::start(pool);
            }
            pool
        }
        Err(other) => {
            // SAFETY: ours was never published; the other was.
            unsafe {
                drop(Box::from_raw(made));
                &*other
            }
        }
    }
}

/// After a `fork`: the child has none of the workers.
extern "C" fn forget_pool() {
    POOL.store(std::ptr::null_mut(), Ordering::Release);
}

/// What a panic said.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

#[cfg(test)]
mod tests;
