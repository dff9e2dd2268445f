//! Doing a compile once when many ask for it at the same time.

use super::Kernel;
use crate::cache::Key;
use crate::error::RuntimeError;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Name = (u64, Key);
type Outcome = Result<Arc<Kernel>, RuntimeError>;

/// Compiles under way in this process. A child of a fork starts with none: the threads that did them are not in it.
struct UnderWay {
    process: u32,
    compiles: FxHashMap<Name, Arc<OnceLock<Outcome>>>,
}

static UNDER_WAY: Mutex<Option<UnderWay>> = Mutex::new(None);

/// Runs `work`, or waits for the thread that runs it for the same name already. A panic there is a panic here.
pub(super) fn once(name: Name, work: impl FnOnce() -> Outcome) -> Outcome {
    let cell = with_under_way(|compiles| Arc::clone(compiles.entry(name).or_default()));
    let outcome = cell.get_or_init(work).clone();
    // Whoever is last finds nothing to remove. A later compile of the same name starts afresh.
    with_under_way(|compiles| {
        if compiles.get(&name).is_some_and(|other| Arc::ptr_eq(other, &cell)) {
            compiles.remove(&name);
        }
    });
    outcome
}

fn with_under_way<R>(work: impl FnOnce(&mut FxHashMap<Name, Arc<OnceLock<Outcome>>>) -> R) -> R {
    let mut guard = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    let under_way = guard.get_or_insert_with(|| UnderWay { process, compiles: FxHashMap::default() });
    if under_way.process != process {
        *under_way = UnderWay { process, compiles: FxHashMap::default() };
    }
    work(&mut under_way.compiles)
}
