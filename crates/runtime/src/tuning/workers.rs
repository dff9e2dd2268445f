//! Jobs on several threads, whose results come back in the order in which they are done.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

type Job<R> = (usize, Box<dyn FnOnce() -> R + Send>);

/// Jobs under way. Dropping it starts no further job and waits for those that run.
pub struct Workers<R> {
    queue: Arc<Mutex<VecDeque<Job<R>>>>,
    results: Receiver<(usize, R)>,
    threads: Vec<JoinHandle<()>>,
}

/// What [`Workers::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<R> {
    /// The job of that number is done.
    Done(usize, R),
    /// None was done in that time.
    Waiting,
    /// All are done, and all results were given.
    Finished,
}

impl<R: Send + 'static> Workers<R> {
    /// Starts jobs on as many threads as this process may use cores, but no more than there are jobs. Every thread
    /// runs `prepare` first.
    pub fn start(
        jobs: Vec<Box<dyn FnOnce() -> R + Send>>,
        prepare: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let count = jobs.len().min(available);
        let queue = Arc::new(Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>()));
        let (sender, results) = channel();
        let prepare = Arc::new(prepare);
        let start = |_| {
            let (queue, sender, prepare) = (Arc::clone(&queue), sender.clone(), Arc::clone(&prepare));
            let work = move || {
                prepare();
                run(&queue, &sender);
            };
            // A thread that the system refuses leaves its jobs to the others.
            std::thread::Builder::new().name("tuning".into()).spawn(work).ok()
        };
        let threads: Vec<JoinHandle<()>> = (0..count).filter_map(start).collect();
        if threads.is_empty() {
            run(&queue, &sender);
        }
        Workers { queue, results, threads }
    }

    /// Waits so long for the next result.
    pub fn next(&self, timeout: Duration) -> Next<R> {
        match self.results.recv_timeout(timeout) {
            Ok((number, result)) => Next::Done(number, result),
            Err(RecvTimeoutError::Timeout) => Next::Waiting,
            Err(RecvTimeoutError::Disconnected) => Next::Finished,
        }
    }
}

impl<R> Workers<R> {
    /// Starts no further job.
    pub fn stop(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl<R> Drop for Workers<R> {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A job that panicked was reported by the panic; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn run<R>(queue: &Mutex<VecDeque<Job<R>>>, results: &Sender<(usize, R)>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((number, job)) = job else { return };
        if results.send((number, job())).is_err() {
            return;
        }
    }
}
