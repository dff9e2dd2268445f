//! A kernel that not every launch takes as it is: what a launch must be for it, and the kernel for the others; and
//! kernels that loop over their programs, have them in pairs, have deeper loops, or load copies of what they are given,
//! for launches that gain by that.
//!
//! What a launch must be is computed of its grid and of some arguments, and only where those are others than before.

use super::Kernel;
use super::again::{another, compile_again};
use super::aligned::{Aligned, Copiers};
use super::deep::Deep;
use super::pairs::Pairs;
use crate::error::RuntimeError;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};
use target::{
    Artifact, CompileOptions, DEEP, Extent, Grid, Guards, Launch, OVERLAPPING, OptionValue, PERSISTENT,
    ParamKind, Residency,
};

/// What a launch must be for a kernel.
pub(super) struct Guarded {
    guards: Guards,
    /// What it must be to gain by a loop over its programs.
    persistence: Guards,
    /// The arguments that it depends on.
    args: Vec<usize>,
    last: Mutex<Option<Last>>,
    /// The kernel without it.
    plain: OnceLock<Result<Arc<Kernel>, RuntimeError>>,
    /// The kernel that loops over its programs; none where it cannot be compiled.
    persistent: OnceLock<Option<Arc<Kernel>>>,
    /// The kernels whose programs are in pairs.
    pairs: Pairs,
    /// The kernels with deeper loops.
    deep: Deep,
    /// The kernel for launches that copy what it loads.
    aligned: Aligned,
    copiers: Copiers,
}

/// The kernel that a launch takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Own,
    Plain,
    Persistent,
    /// In pairs, by their number.
    Paired(usize),
    /// With deeper loops, for so many programs on an SM.
    Deep(usize),
}

/// Programs of which one and the programs that run at a time can be counted in 32 bits.
const MOST_PROGRAMS: u64 = 1 << 30;

/// Bytes that move to the device's memory together.
const SECTOR: i64 = 32;

/// The last launch that was looked at.
struct Last {
    grid: Grid,
    words: SmallVec<[u64; 16]>,
    extents: SmallVec<[Extent; 8]>,
    choice: Choice,
}

impl Guarded {
    /// Of a kernel that not every launch takes.
    pub(super) fn of(artifact: &Artifact) -> Option<Box<Guarded>> {
        let guards = artifact.launch.guards().cloned().unwrap_or_default();
        let persistence = artifact.launch.persistence().cloned().unwrap_or_default();
        let pairs = Pairs::of(artifact);
        let deep = Deep::of(artifact);
        let aligned = Aligned::of(artifact);
        let is_one = persistence.is_empty() && pairs.is_empty() && deep.is_empty() && aligned.is_empty();
        if guards.is_empty() && is_one && !is_copied(artifact) {
            return None;
        }
        let mut args = guards.args();
        if !persistence.is_empty() || !pairs.is_empty() {
            // Of the others only the compiled kernel says which it depends on.
            let numbers = artifact.params.iter().enumerate();
            let numbers = numbers.filter(|(_, param)| matches!(param.kind, ParamKind::Int(_)));
            args.extend(numbers.map(|(at, _)| at));
        }
        let (plain, persistent) = (OnceLock::new(), OnceLock::new());
        Some(Box::new(Guarded {
            guards,
            persistence,
            args,
            last: Mutex::default(),
            plain,
            persistent,
            pairs,
            deep,
            aligned,
            copiers: Copiers::default(),
        }))
    }

    /// Whether a launch with these slots must say how far the memory of its arguments goes.
    #[inline]
    pub(super) fn asks_extents(&self, args: &[u64]) -> bool {
        self.may_copy() || self.guards.ask_extents(args)
    }

    /// Whether some launches make copies.
    #[inline]
    pub(super) fn may_copy(&self) -> bool {
        !self.aligned.is_empty()
    }

    /// Bytes of memory for copies that a launch makes if it can bring them; none where it makes none.
    #[inline]
    pub(super) fn copy_bytes(&self, kernel: &Kernel, launch: &Launch<'_>) -> Option<u64> {
        self.aligned.bytes(kernel, launch)
    }

    /// What makes the copies that this kernel loads.
    pub(super) fn copiers(&self) -> &Copiers {
        &self.copiers
    }

    /// The kernel that a launch takes.
    #[inline]
    pub(super) fn choose<'k>(
        &'k self,
        kernel: &'k Kernel,
        launch: &Launch<'_>,
    ) -> Result<&'k Kernel, RuntimeError> {
        if launch.copies.is_some()
            && let Some(copied) = self.aligned_kernel(kernel)
        {
            return copied.for_launch(launch);
        }
        match self.choice(kernel, launch)? {
            Choice::Own => Ok(kernel),
            Choice::Plain => {
                let plain = self.plain(kernel)?;
                plain.guarded().map_or(Ok(plain), |guarded| guarded.choose(plain, launch))
            }
            Choice::Persistent => Ok(self.persistent(kernel)),
            Choice::Paired(pair) => Ok(self.pairs.kernel(kernel, pair)),
            Choice::Deep(programs) => Ok(self.deep.kernel(kernel, programs)),
        }
    }

    #[inline]
    fn choice(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Choice, RuntimeError> {
        let read = || self.args.iter().filter_map(|&slot| launch.args.get(slot).copied());
        // Where another thread looks at the same kernel, each computes for itself.
        let mut last = self.last.try_lock().ok();
        if let Some(Some(last)) = last.as_deref()
            && last.grid == launch.grid
            && last.words.iter().copied().eq(read())
            && last.extents[..] == *launch.extents
        {
            return Ok(last.choice);
        }
        let choice = self.computed(kernel, launch)?;
        if let Some(last) = &mut last {
            let (words, extents) = (read().collect(), launch.extents.into());
            **last = Some(Last { grid: launch.grid, words, extents, choice });
        }
        Ok(choice)
    }

    fn computed(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Choice, RuntimeError> {
        if !self.guards.hold(launch.grid, launch.args, launch.extents) {
            return Ok(Choice::Plain);
        }
        if self.gains_by_loop(kernel, launch)? && self.may_loop(kernel, launch) {
            return Ok(Choice::Persistent);
        }
        if let Some(pair) = self.pairs.gain(kernel, launch) {
            return Ok(Choice::Paired(pair));
        }
        Ok(self.deep.gain(kernel, launch)?.map_or(Choice::Own, Choice::Deep))
    }

    fn gains_by_loop(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<bool, RuntimeError> {
        let Some(residency) = self.residency(kernel)? else { return Ok(false) };
        let programs: u64 = launch.grid.iter().copied().map(u64::from).product();
        if programs <= residency.programs() || programs > MOST_PROGRAMS {
            return Ok(false);
        }
        Ok(self.persistence.hold(launch.grid, launch.args, launch.extents)
            || residency.of_each == 1 && self.has_all_stages(kernel) && self.has_whole_rows(kernel, launch))
    }

    /// How many programs the device runs at a time, where there is a kernel that loops over them.
    fn residency(&self, kernel: &Kernel) -> Result<Option<Residency>, RuntimeError> {
        if self.persistence.is_empty() { Ok(None) } else { Ok(kernel.load()?.residency()) }
    }

    /// Whether a launch is as the kernel that loops over its programs needs it: it stores more by bulk copies.
    fn may_loop(&self, kernel: &Kernel, launch: &Launch<'_>) -> bool {
        let guards = self.persistent(kernel).artifact.launch.guards();
        guards.is_none_or(|guards| guards.hold(launch.grid, launch.args, launch.extents))
    }

    /// Whether the loops of the kernel that loops over its programs are as deep as those of the kernel itself: beside
    /// the stores of a program there are copies for the next one, so shared memory may be too short for both.
    fn has_all_stages(&self, kernel: &Kernel) -> bool {
        let fewer = |kernel: &Kernel| kernel.artifact.launch.device().is_some_and(|facts| facts.fewer_stages);
        fewer(kernel) || !fewer(self.persistent(kernel))
    }

    /// Whether the rows that bulk copies store begin at multiples of [`SECTOR`] bytes. Others take long to be stored,
    /// and whoever loops over programs waits for that: 4000×4104×4040 took 1.06 to 1.12 of its time by it.
    fn has_whole_rows(&self, kernel: &Kernel, launch: &Launch<'_>) -> bool {
        let facts = self.persistent(kernel).artifact.launch.device();
        let mut stored = facts.iter().flat_map(|facts| &facts.maps).filter(|map| map.is_written);
        stored.all(|map| {
            let bits = i64::from(map.element.bits());
            let mut strides = map.strides.iter().map(|stride| stride.value(launch.args));
            strides.all(|stride| stride.is_some_and(|stride| stride.wrapping_mul(bits) % (8 * SECTOR) == 0))
        })
    }

    /// The kernel that loops over its programs; the kernel itself where there is none.
    fn persistent<'k>(&'k self, kernel: &'k Kernel) -> &'k Kernel {
        let compiled = || compile_persistent(kernel).ok();
        self.persistent.get_or_init(compiled).as_deref().unwrap_or(kernel)
    }

    /// The kernel that loads copies; none where there is none.
    pub(super) fn aligned_kernel<'k>(&'k self, kernel: &Kernel) -> Option<&'k Kernel> {
        if self.aligned.is_empty() { None } else { self.aligned.kernel(kernel) }
    }

    /// The kernel for all other launches.
    #[cold]
    pub(super) fn plain<'k>(&'k self, kernel: &Kernel) -> Result<&'k Kernel, RuntimeError> {
        let plain = self.plain.get_or_init(|| compile_plain(kernel));
        plain.as_ref().map(Arc::as_ref).map_err(Clone::clone)
    }
}

/// Whether launches of a kernel make copies.
fn is_copied(artifact: &Artifact) -> bool {
    artifact.launch.device().is_some_and(|facts| facts.maps.iter().any(|map| map.is_copied))
}

/// Compiles a kernel again, so that every launch takes it.
fn compile_plain(kernel: &Kernel) -> Result<Arc<Kernel>, RuntimeError> {
    let mut options = CompileOptions { guarded: false, ..kernel.options.clone() };
    options.extra.insert(OVERLAPPING.to_owned(), OptionValue::Bool(true));
    let plain = compile_again(kernel, options)?;
    let asks_nothing = plain.artifact.launch.guards().is_none_or(Guards::is_empty);
    if asks_nothing { Ok(plain) } else { Err(another(kernel)) }
}

/// Compiles a kernel again, as a loop over its programs.
fn compile_persistent(kernel: &Kernel) -> Result<Arc<Kernel>, RuntimeError> {
    let mut options = kernel.options.clone();
    options.extra.insert(PERSISTENT.to_owned(), OptionValue::Bool(true));
    // What an SM has room for beside its programs is worth most where they go on and on.
    options.extra.entry(DEEP.to_owned()).or_insert(OptionValue::Int(0));
    let persistent = compile_again(kernel, options)?;
    let loops = persistent.artifact.launch.device().is_some_and(|facts| facts.persistent.is_some());
    if loops { Ok(persistent) } else { Err(another(kernel)) }
}
