//! Launches whose programs wait for each other: each program has a thread of its own, for the length of the launch.
//!
//! The threads run on all processors that the launching one may use; programs that wait for one that has no processor
//! do so until the system gives it one. Such a launch is given up where its programs look whether it is to be.

use super::interrupt::Watch;
use super::waiters::held;
use super::worker::STACK_BYTES;
use super::{Task, panic_text, thread_count};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use target::INTERRUPT_INTERVAL;

/// Threads of one launch at most.
pub(super) const MOST: u64 = 1 << 12;

/// Runs the programs `0..total`, all at the same time.
///
/// # Errors
/// The message of a panic in the task; that there are too many programs, or no more threads; that the launch was given
/// up.
pub fn run_together(total: u64, task: Task<'_>, watch: &Watch) -> Result<(), String> {
    if total > MOST {
        return Err(format!(
            "{total} programs cannot run at the same time, as launch_cooperative_grid asks: at most {MOST} can"
        ));
    }
    if total > thread_count() as u64 {
        watch.waiting().crowd();
    }
    let problem = Mutex::new(None);
    let (left, is_done) = (Mutex::new(total), Condvar::new());
    let one = |program: u64| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(program, program + 1))) {
            held(&problem).get_or_insert_with(|| panic_text(&*panic));
            watch.end();
        }
        *held(&left) -= 1;
        is_done.notify_one();
    };
    // All threads wait until they are all there: with too few of them no program begins.
    let (gate, begins) = (Mutex::new(()), Mutex::new(true));
    std::thread::scope(|scope| {
        let closed = held(&gate);
        for program in 1..total {
            let (one, gate, begins) = (&one, &gate, &begins);
            let started =
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                    drop(held(gate));
                    if *held(begins) {
                        one(program);
                    }
                });
            if let Err(error) = started {
                *held(begins) = false;
                return Err(format!(
                    "no thread for program {program} of {total}, which run at the same time: {error}"
                ));
            }
        }
        drop(closed);
        if total > 0 {
            one(0);
        }
        let mut still = held(&left);
        while *still > 0 {
            let waited = is_done.wait_timeout(still, INTERRUPT_INTERVAL);
            still = waited.unwrap_or_else(PoisonError::into_inner).0;
            watch.look();
        }
        Ok(())
    })?;
    held(&problem).take().map_or_else(|| watch.outcome(), Err)
}
