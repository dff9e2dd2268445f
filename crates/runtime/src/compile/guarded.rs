//! A kernel that not every launch takes as it is: what a launch must be for it, and the kernel for the others.
//!
//! What a launch must be is computed of its grid and of some arguments, and only where those are others than before.

use super::given::TTIR;
use super::{Kernel, compile_given};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::options::IR_OVERRIDE;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};
use target::{CompileOptions, Extent, GivenStage, Grid, Guards, Launch, OVERLAPPING, OptionValue};

/// What a launch must be for a kernel.
pub(super) struct Guarded {
    guards: Guards,
    /// The arguments that it depends on.
    args: Vec<usize>,
    last: Mutex<Option<Last>>,
    /// The kernel without it.
    plain: OnceLock<Result<Arc<Kernel>, RuntimeError>>,
}

/// The last launch that was looked at.
struct Last {
    grid: Grid,
    words: SmallVec<[u64; 16]>,
    extents: SmallVec<[Extent; 8]>,
    holds: bool,
}

impl Guarded {
    /// Of a kernel that not every launch takes.
    pub(super) fn of(guards: &Guards) -> Option<Box<Guarded>> {
        let guards = guards.clone();
        let args = guards.args();
        let is_empty = guards.is_empty();
        (!is_empty)
            .then(|| Box::new(Guarded { guards, args, last: Mutex::default(), plain: OnceLock::new() }))
    }

    /// Whether a launch with these slots must say how far the memory of its arguments goes.
    #[inline]
    pub(super) fn asks_extents(&self, args: &[u64]) -> bool {
        self.guards.ask_extents(args)
    }

    /// The kernel that a launch takes.
    #[inline]
    pub(super) fn choose<'k>(
        &'k self,
        kernel: &'k Kernel,
        launch: &Launch<'_>,
    ) -> Result<&'k Kernel, RuntimeError> {
        if self.hold(launch) { Ok(kernel) } else { self.plain(kernel) }
    }

    #[inline]
    fn hold(&self, launch: &Launch<'_>) -> bool {
        let read = || self.args.iter().filter_map(|&slot| launch.args.get(slot).copied());
        // Where another thread looks at the same kernel, each computes for itself.
        let mut last = self.last.try_lock().ok();
        if let Some(Some(last)) = last.as_deref()
            && last.grid == launch.grid
            && last.words.iter().copied().eq(read())
            && last.extents[..] == *launch.extents
        {
            return last.holds;
        }
        let holds = self.guards.hold(launch.grid, launch.args, launch.extents);
        if let Some(last) = &mut last {
            let (words, extents) = (read().collect(), launch.extents.into());
            **last = Some(Last { grid: launch.grid, words, extents, holds });
        }
        holds
    }

    /// The kernel for all other launches.
    #[cold]
    pub(super) fn plain<'k>(&'k self, kernel: &Kernel) -> Result<&'k Kernel, RuntimeError> {
        let plain = self.plain.get_or_init(|| compile_plain(kernel));
        plain.as_ref().map(Arc::as_ref).map_err(Clone::clone)
    }
}

/// Compiles a kernel again, so that every launch takes it.
fn compile_plain(kernel: &Kernel) -> Result<Arc<Kernel>, RuntimeError> {
    let name = &kernel.artifact.name;
    let bytes = kernel.stage(TTIR)?.bytes.clone();
    let given = GivenStage { name: TTIR.to_owned(), file: format!("{name}.{TTIR}"), bytes };
    let mut options = CompileOptions { guarded: false, ..kernel.options.clone() };
    // A file in place of a later stage is what the launch is refused for.
    options.extra.remove(IR_OVERRIDE);
    options.extra.insert(OVERLAPPING.to_owned(), OptionValue::Bool(true));
    let plain = compile_given(&given, kernel.target(), &options, &Settings::current())?;
    let is_alike = plain.scratch() == kernel.scratch() && plain.artifact.params == kernel.artifact.params;
    if plain.guarded().is_some() || !is_alike {
        return Err(RuntimeError::Internal(format!(
            "`{name}` without what its launches must be is another kernel"
        )));
    }
    Ok(plain)
}
