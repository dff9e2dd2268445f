//! Every program runs once, whatever the number of threads and launches; nothing waits for ever.

use super::*;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Busy for so long.
fn work(nanos: u64) {
    let start = Instant::now();
    while (start.elapsed().as_nanos() as u64) < nanos {
        std::hint::spin_loop();
    }
}

/// Runs a grid and checks that each program ran exactly once.
fn once_each(total: u64, cost: &Cost, nanos: u64) {
    let seen: Vec<AtomicU32> = (0..total).map(|_| AtomicU32::new(0)).collect();
    run(total, cost, &|begin, end| {
        for pid in begin..end {
            seen[pid as usize].fetch_add(1, Ordering::Relaxed);
            work(nanos);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{total} programs of {nanos} ns");
}

#[test]
fn every_program_runs_once() {
    for nanos in [0, 500, 30_000] {
        let cost = Cost::unknown();
        for total in [0, 1, 2, 3, 7, 64, 129, 1000] {
            if nanos * total < 20_000_000 {
                once_each(total, &cost, nanos);
                once_each(total, &cost, nanos);
            }
        }
    }
    once_each(1_000_003, &Cost::unknown(), 0);
}

#[test]
fn programs_that_wait_for_each_other() {
    for total in [0, 1, 2, 40] {
        let here = AtomicU64::new(0);
        let task = |begin: u64, end: u64| {
            assert_eq!(end, begin + 1);
            here.fetch_add(1, Ordering::AcqRel);
            while here.load(Ordering::Acquire) < total {
                std::thread::yield_now();
            }
            ControlFlow::Continue(())
        };
        run_together(total, &task, &Watch::new(None)).unwrap();
        assert_eq!(here.into_inner(), total);
    }
    let nobody = Watch::new(None);
    let too_many = run_together(1 << 40, &|_, _| ControlFlow::Continue(()), &nobody);
    assert!(too_many.unwrap_err().contains("at most"));
    assert_eq!(run_together(2, &|_, _| panic!("a program"), &nobody), Err("a program".into()));
}

#[test]
fn programs_that_wait_for_programs_that_have_not_begun() {
    for total in [0, 1, 2, 40, 200] {
        let watch = Watch::new(None);
        let here = AtomicU64::new(0);
        let task = |begin: u64, end: u64| {
            here.fetch_add(end - begin, Ordering::AcqRel);
            while here.load(Ordering::Acquire) < total {
                watch.wait();
            }
            ControlFlow::Continue(())
        };
        run_waiting(total, &task, &watch).unwrap();
        assert_eq!(here.into_inner(), total);
    }
    // Nobody waits: as many threads as cores.
    let (names, sum) = (std::sync::Mutex::new(std::collections::HashSet::new()), AtomicU64::new(0));
    let task = |begin: u64, end: u64| {
        work(100_000);
        names.lock().unwrap().insert(std::thread::current().id());
        sum.fetch_add((begin..end).sum(), Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    run_waiting(100, &task, &Watch::new(None)).unwrap();
    assert_eq!(sum.into_inner(), 99 * 100 / 2);
    assert!(names.into_inner().unwrap().len() <= thread_count());
    // A program that panics is not waited for.
    for failing in [0, 39] {
        let watch = Watch::new(None);
        let task = |begin: u64, _| {
            assert_ne!(begin, failing, "a program");
            while !watch.wait() {}
            ControlFlow::Break(())
        };
        assert!(run_waiting(40, &task, &watch).unwrap_err().contains("a program"));
        assert!(run_together(40, &task, &Watch::new(None)).unwrap_err().contains("a program"));
    }
}

#[test]
fn many_short_launches_after_each_other() {
    let cost = Cost::unknown();
    let sum = AtomicU64::new(0);
    for _ in 0..20_000 {
        // The estimate is forced up, so that the workers take part.
        cost.measured(1, 100_000.0);
        run(8, &cost, &|begin, end| {
            sum.fetch_add((begin..end).sum(), Ordering::Relaxed);
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    assert_eq!(sum.into_inner(), 20_000 * 28);
}

#[test]
fn several_threads_launch_at_once() {
    let threads: Vec<_> = (0..4)
        .map(|index| {
            std::thread::spawn(move || {
                let cost = Cost::unknown();
                for round in 0..200 {
                    once_each(100 + index * 7 + round, &cost, 200);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_launch_inside_a_program_runs_inline() {
    let inner = AtomicU64::new(0);
    let cost = Cost::unknown();
    run(40, &cost, &|begin, end| {
        for _ in begin..end {
            work(2_000);
            let counted = run(50, &Cost::unknown(), &|begin, end| {
                inner.fetch_add(end - begin, Ordering::Relaxed);
                ControlFlow::Continue(())
            });
            assert!(counted.is_ok());
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(inner.into_inner(), 40 * 50);
}

#[test]
fn a_break_ends_the_launch() {
    let ran = AtomicU64::new(0);
    run(100_000, &Cost::unknown(), &|begin, end| {
        for pid in begin..end {
            ran.fetch_add(1, Ordering::Relaxed);
            work(1_000);
            if pid > 50 {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(ran.into_inner() < 1_000);
}

#[test]
fn a_panic_is_an_error_and_the_pool_goes_on() {
    for total in [1, 1000] {
        let error = run(total, &Cost::unknown(), &|begin, end| {
            work(20_000);
            assert!(!(begin..end).contains(&(total - 1)), "program {} fell", total - 1);
            ControlFlow::Continue(())
        });
        assert_eq!(error, Err(format!("program {} fell", total - 1)));
        once_each(500, &Cost::unknown(), 1_000);
    }
}

#[test]
fn a_child_of_fork_has_its_own_pool() {
    once_each(200, &Cost::unknown(), 5_000);
    // SAFETY: the child only launches and exits; it takes no lock that another thread may hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let count = AtomicU64::new(0);
        let cost = Cost::unknown();
        for _ in 0..10 {
            let _ = run(200, &cost, &|begin, end| {
                work(5_000 * (end - begin));
                count.fetch_add(end - begin, Ordering::Relaxed);
                ControlFlow::Continue(())
            });
        }
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(count.into_inner() != 2000)) };
    }
    let mut status = 0;
    let start = Instant::now();
    // SAFETY: our own child.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "the child hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(status, 0);
}

#[test]
fn sleeping_workers_wake() {
    let cost = Cost::unknown();
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(3));
        once_each(64, &cost, 20_000);
    }
}

#[test]
fn short_launches_do_without_help_that_is_none() {
    let cost = Cost::unknown();
    cost.measured(1, 1_000.0);
    let attempts = |launches: u32| (0..launches).filter(|_| cost.wants_help(20)).count();
    assert_eq!(attempts(10), 10);
    // The first of a row may have found the workers asleep.
    (0..7).for_each(|_| cost.was_helped(cost.of(20), 30_000.0));
    assert_eq!(attempts(10), 10);
    cost.was_helped(cost.of(20), 30_000.0);
    assert_eq!(attempts(16), 0);
    assert_eq!(attempts(10), 10);
    (0..800).for_each(|_| cost.was_helped(cost.of(20), 30_000.0));
    assert_eq!(attempts(128), 0);
    assert_eq!(attempts(10), 10);
    // Long launches always ask, and say nothing about short ones.
    (0..8).for_each(|_| cost.was_helped(cost.of(20), 30_000.0));
    cost.was_helped(cost.of(1000), 600_000.0);
    assert!(cost.wants_help(1000) && !cost.wants_help(20));
    while !cost.wants_help(20) {}
    cost.was_helped(cost.of(20), 11_000.0);
    (0..7).for_each(|_| cost.was_helped(cost.of(20), 30_000.0));
    assert_eq!(attempts(10), 10);
}

#[test]
fn a_launch_is_given_up_soon_after_it_is_asked_to() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    // Alone and with help, with short programs and with long ones.
    for (total, nanos) in [(u64::from(u32::MAX), 1_000), (100_000, 1_000_000)] {
        ASKED.store(0, Ordering::SeqCst);
        let start = Instant::now();
        let task = |begin: u64, end: u64| {
            work(nanos * (end - begin));
            ControlFlow::Continue(())
        };
        let ask = || ASKED.fetch_add(1, Ordering::SeqCst) == 2;
        let error = run_until(total, &Cost::unknown(), &task, &Watch::new(Some(ask))).unwrap_err();
        assert_eq!(error, "it was interrupted");
        assert_eq!(ASKED.load(Ordering::SeqCst), 3);
        // Three intervals, and what a busy machine adds.
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
    once_each(1000, &Cost::unknown(), 0);
}

#[test]
fn programs_that_spin_end_when_the_launch_is_given_up() {
    // All programs spin, or only one of them: the last, which a worker has, or the first.
    let spins: [fn(u64) -> bool; 3] = [|_| true, |program| program == 99, |program| program == 0];
    for (together, spins) in [false, true].into_iter().flat_map(|way| spins.map(|spins| (way, spins))) {
        let watch = Watch::new(Some(|| true));
        let task = |begin: u64, end: u64| {
            work(1_000);
            while (begin..end).any(spins) && !watch.look() {
                std::hint::spin_loop();
            }
            if watch.outcome().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let start = Instant::now();
        let cost = Cost::unknown();
        // The estimate is forced up, so that the workers take part.
        cost.measured(1, 100_000.0);
        let ended = match together {
            true => run_together(100, &task, &watch),
            false => run_until(100, &cost, &task, &watch),
        };
        assert_eq!(ended, Err("it was interrupted".into()));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
    once_each(1000, &Cost::unknown(), 0);
}
