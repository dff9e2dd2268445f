//! Kernels whose programs are in pairs, for launches that gain by that: where rows of a tensor that two programs read
//! begin off a line of the cache, each row of a box is in two lines, and what brings the boxes is asked for more than
//! it can do. Elsewhere pairs lose a little (`docs/notes/gpu.md`).

use super::Kernel;
use super::again::compile_again;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};
use target::{Artifact, Grid, Launch, OptionValue, PAIRED, PAIRS, PairFacts};

/// Bytes of a line of the cache.
const LINE: i64 = 128;

/// Launches that are remembered: looking at one goes over all of its programs.
const REMEMBERED: usize = 16;

/// The kernels of which programs could be in pairs.
pub(super) struct Pairs {
    facts: Vec<PairFacts>,
    /// The kernels for them; none where one cannot be compiled.
    kernels: Vec<OnceLock<Option<Arc<Kernel>>>>,
    looked: Mutex<Vec<Looked>>,
}

/// Whether a launch is as a pair needs it.
struct Looked {
    pair: usize,
    grid: Grid,
    words: SmallVec<[u64; 8]>,
    holds: bool,
}

impl Pairs {
    pub(super) fn of(artifact: &Artifact) -> Pairs {
        let facts = artifact.launch.device().map_or_else(Vec::new, |facts| facts.pairs.clone());
        let kernels = facts.iter().map(|_| OnceLock::new()).collect();
        Pairs { facts, kernels, looked: Mutex::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// The number of the pair that a launch gains by; of any that it can be in, where the kernel asks for that.
    pub(super) fn gain(&self, kernel: &Kernel, launch: &Launch<'_>) -> Option<usize> {
        let asks = kernel.options.extra.get(PAIRS) == Some(&OptionValue::Bool(true));
        let mut pairs = 0..self.facts.len();
        pairs.find(|&pair| (asks || self.is_off_lines(kernel, pair, launch)) && self.holds(pair, launch))
    }

    /// The kernel of a pair; the kernel itself where there is none.
    pub(super) fn kernel<'k>(&'k self, kernel: &'k Kernel, pair: usize) -> &'k Kernel {
        let compiled = || compile_pair(kernel, &self.facts[pair]);
        self.kernels[pair].get_or_init(compiled).as_deref().unwrap_or(kernel)
    }

    /// Whether some rows of the tensor begin where no line does.
    fn is_off_lines(&self, kernel: &Kernel, pair: usize, launch: &Launch<'_>) -> bool {
        let facts = kernel.artifact.launch.device();
        let maps = facts.iter().flat_map(|facts| &facts.maps);
        let mut read =
            maps.filter(|map| map.base == self.facts[pair].base && !map.is_written && !map.is_copied);
        read.any(|map| {
            let bits = i64::from(map.element.bits());
            let mut strides = map.strides.iter().map(|stride| stride.value(launch.args));
            strides.any(|stride| stride.is_some_and(|stride| stride.wrapping_mul(bits) % (8 * LINE) != 0))
        })
    }

    /// Whether two programs read the same.
    fn holds(&self, pair: usize, launch: &Launch<'_>) -> bool {
        let guards = &self.facts[pair].guards;
        let words = guards.args().into_iter().map(|slot| launch.args.get(slot).copied());
        let Some(words) = words.collect::<Option<SmallVec<[u64; 8]>>>() else { return false };
        let mut looked = self.looked.lock().unwrap_or_else(|broken| broken.into_inner());
        let is_this = |one: &&Looked| one.pair == pair && one.grid == launch.grid && one.words == words;
        if let Some(known) = looked.iter().find(is_this) {
            return known.holds;
        }
        let holds = guards.hold(launch.grid, launch.args, &[]);
        if looked.len() == REMEMBERED {
            looked.remove(0);
        }
        looked.push(Looked { pair, grid: launch.grid, words, holds });
        holds
    }
}

/// Compiles a kernel again, with its programs in pairs.
fn compile_pair(kernel: &Kernel, facts: &PairFacts) -> Option<Arc<Kernel>> {
    let mut options = kernel.options.clone();
    options.extra.insert(PAIRED.to_owned(), OptionValue::Int(i64::try_from(facts.base).ok()?));
    let paired = compile_again(kernel, options).ok()?;
    paired.artifact.launch.device().is_some_and(|facts| facts.paired).then_some(paired)
}
