//! A worker: pinned to its core, spinning for a moment after each job, then asleep.

use super::job::Job;
use super::{Pool, futex};
use crate::topology;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a worker looks for the next job before it sleeps.
const SPIN: Duration = Duration::from_micros(40);

/// Kernels may keep tiles on the stack.
pub(super) const STACK_BYTES: usize = 8 << 20;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// A worker's place.
pub(super) struct Seat {
    pub(super) cpu: usize,
    /// [`AWAKE`] or [`ASLEEP`]; the worker sleeps on it.
    sleep: AtomicU32,
}

impl Seat {
    pub(super) fn new(cpu: usize) -> Seat {
        Seat { cpu, sleep: AtomicU32::new(AWAKE) }
    }

    pub(super) fn is_sleeping(&self) -> bool {
        self.sleep.load(Ordering::SeqCst) == ASLEEP
    }

    /// Wakes the worker; whether it was this call that did.
    pub(super) fn wake(&self) -> bool {
        let was = self.sleep.swap(AWAKE, Ordering::SeqCst);
        if was == ASLEEP {
            futex::wake_one(&self.sleep);
        }
        was == ASLEEP
    }

    /// Sleeps until woken, unless a job is open that this worker has not seen.
    fn doze(&self, job: &Job, seen: Option<u64>) {
        self.sleep.store(ASLEEP, Ordering::SeqCst);
        while self.sleep.load(Ordering::SeqCst) == ASLEEP {
            let number = job.open_number();
            if number.is_some() && number != seen {
                self.sleep.store(AWAKE, Ordering::SeqCst);
                return;
            }
            futex::wait(&self.sleep, ASLEEP);
        }
    }
}

/// Starts a worker per seat. One that cannot be started is missed by nobody: its share is taken by the others.
pub(super) fn start(pool: &'static Pool) {
    for place in 0..pool.seats.len() {
        let work = move || serve(pool, place);
        let name = format!("deuteron-{place}");
        let _ = std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(work);
    }
}

fn serve(pool: &'static Pool, place: usize) {
    let seat = &pool.seats[place].0;
    block_signals();
    topology::pin(seat.cpu);
    let mut seen = None;
    loop {
        let start = Instant::now();
        let mut spins = 0u32;
        loop {
            let number = pool.job.open_number();
            if number.is_some() && number != seen {
                if pool.job.launcher() == place {
                    // The launcher is on this core and does this worker's part.
                    seen = number;
                    break;
                }
                pool.wake(place);
                seen = pool.job.join(place).or(number);
                break;
            }
            spins += 1;
            if spins.is_multiple_of(32) && start.elapsed() > SPIN {
                seat.doze(&pool.job, seen);
                break;
            }
            std::hint::spin_loop();
        }
        if pool.job.launcher() == place {
            seat.doze(&pool.job, seen);
        }
    }
}

/// Signals are for the threads of the program.
fn block_signals() {
    // SAFETY: a valid set; only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}
