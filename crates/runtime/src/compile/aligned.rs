//! Launches that copy what they load to where bulk copies can load it: matrices whose rows begin at no multiple of 16
//! bytes are loaded element by element otherwise, again and again, by each program that needs them.
//!
//! ```text
//! launch of 544 programs      copy A (4001 rows, 8082 bytes apart) to rows 8192 apart
//! that read A and B     =>    copy B likewise
//! element by element          launch of the kernel that loads boxes of the copies
//! ```
//!
//! Whoever launches brings the memory for it ([`Aligned::bytes`]), and launches without it where there is none. Only
//! tensors that lie in memory of the arguments as a whole are copied, as a program may stay inside of a part that a
//! size does not tell; and none in memory to which the kernel writes, as a program may wait for what another one
//! writes.

use super::again::compile_again;
use super::given::TTIR;
use super::{Kernel, compile_given};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};
use target::{
    ALIGNED_COPIES, AlignedCopy, Artifact, COPIED, CompileOptions, CopyPlan, Extent, GivenStage, Grid,
    Launch, OptionValue, Target, Unaligned,
};

/// What copies rows, of elements that are named in it.
const COPY_ROWS: &str = include_str!("copy_rows.ttir");

/// Rows and columns that one of its programs copies.
const COPIED_BLOCK: [u64; 2] = [4, 512];

/// Bytes that all programs read together before copies pay for the launches that make them.
const LEAST_READ: u64 = 16 << 20;

/// How often as many bytes must be read as are copied, as a quotient: one who reads each byte once or little more often
/// loses by copies.
const READ_OF_COPIED: (u64, u64) = (3, 2);

/// The kernel for launches that make copies.
#[derive(Default)]
pub(super) struct Aligned {
    tensors: Vec<Unaligned>,
    /// The arguments that they depend on.
    args: Vec<usize>,
    /// None where it cannot be compiled.
    kernel: OnceLock<Option<Arc<Kernel>>>,
    last: Mutex<Option<Last>>,
}

/// The last launch that was looked at.
struct Last {
    grid: Grid,
    words: SmallVec<[u64; 16]>,
    extents: SmallVec<[Extent; 8]>,
    bytes: Option<u64>,
}

impl Aligned {
    pub(super) fn of(artifact: &Artifact) -> Aligned {
        // What begins ahead of its turn in the stream would not wait for copies; where programs run at the same time
        // they may wait for each other.
        let facts = artifact.launch.device().filter(|facts| !facts.overlaps && !facts.cooperative);
        let tensors = facts.map_or_else(Vec::new, |facts| facts.unaligned.clone());
        let args = tensors.iter().flat_map(Unaligned::args).collect();
        Aligned { tensors, args, ..Aligned::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Bytes of memory that a launch needs for copies; none where it makes none.
    pub(super) fn bytes(&self, kernel: &Kernel, launch: &Launch<'_>) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        // What guards look at besides.
        let others = self.kernel.get().into_iter().flatten();
        let others =
            others.flat_map(|copied| copied.artifact.launch.guards()).flat_map(|guards| guards.args());
        let slots = self.args.iter().copied().chain(others);
        let words: SmallVec<[u64; 16]> = slots.filter_map(|slot| launch.args.get(slot).copied()).collect();
        let mut last = self.last.try_lock().ok();
        if let Some(Some(last)) = last.as_deref()
            && last.grid == launch.grid
            && last.words == words
            && last.extents[..] == *launch.extents
        {
            return last.bytes;
        }
        let is_known = self.kernel.get().is_some();
        let bytes = self.computed(kernel, launch);
        if let Some(last) =
            last.as_mut().filter(|_| is_known || bytes.is_none() && self.kernel.get().is_none())
        {
            let extents = launch.extents.into();
            **last = Some(Last { grid: launch.grid, words, extents, bytes });
        }
        bytes
    }

    fn computed(&self, kernel: &Kernel, launch: &Launch<'_>) -> Option<u64> {
        let plan = CopyPlan::of_tensors(&self.tensors, launch.args)?;
        let is_allowed = || CopyPlan::is_allowed(&self.tensors, launch.args, launch.extents);
        if !self.gains(kernel, launch, &plan) || !is_allowed() {
            return None;
        }
        let copied = self.kernel(kernel)?;
        let guards = copied.artifact.launch.guards();
        let holds = guards.is_none_or(|guards| guards.hold(launch.grid, launch.args, launch.extents));
        let of_maps = CopyPlan::of_maps(maps(copied), launch.args)?;
        holds.then_some(of_maps.bytes)
    }

    fn gains(&self, kernel: &Kernel, launch: &Launch<'_>, plan: &CopyPlan) -> bool {
        if kernel.options.extra.get(ALIGNED_COPIES) == Some(&OptionValue::Bool(true)) {
            return true;
        }
        let programs = launch.grid.iter().fold(1u64, |all, &along| all.saturating_mul(along.into()));
        let read = CopyPlan::read(&self.tensors, launch.args, programs).unwrap_or(u64::MAX);
        read >= LEAST_READ && read / READ_OF_COPIED.0 >= plan.bytes / READ_OF_COPIED.1
    }

    /// The kernel that loads copies.
    pub(super) fn kernel(&self, kernel: &Kernel) -> Option<&Kernel> {
        self.kernel.get_or_init(|| compile_copied(kernel)).as_deref()
    }
}

/// Compiles a kernel again, which then loads copies.
fn compile_copied(kernel: &Kernel) -> Option<Arc<Kernel>> {
    let mut options = kernel.options.clone();
    options.extra.insert(COPIED.to_owned(), OptionValue::Bool(true));
    let copied = compile_again(kernel, options).ok()?;
    maps(&copied).iter().any(|map| map.is_copied).then_some(copied)
}

fn maps(kernel: &Kernel) -> &[target::MapRecipe] {
    kernel.artifact.launch.device().map_or(&[], |facts| &facts.maps)
}

/// What makes copies, by the size of their elements.
#[derive(Default)]
pub(super) struct Copiers([OnceLock<Result<Arc<Kernel>, RuntimeError>>; 4]);

impl Copiers {
    /// The kernel that copies elements of so many bytes.
    fn of(&self, target: &Arc<dyn Target>, bytes: u64) -> Result<&Kernel, RuntimeError> {
        let place = self.0.get(bytes.trailing_zeros() as usize).filter(|_| bytes.is_power_of_two());
        let place = place
            .ok_or_else(|| RuntimeError::Internal(format!("no kernel copies elements of {bytes} bytes")))?;
        let compiled = || compile_given(&copy_rows(bytes), target, &options(), &Settings::current());
        place.get_or_init(compiled).as_deref().map_err(Clone::clone)
    }

    /// Loads what makes the copies of a launch.
    pub(super) fn prepare(&self, kernel: &Kernel, ordinal: u32, args: &[u64]) -> Result<(), RuntimeError> {
        for copy in CopyPlan::of_maps(maps(kernel), args).unwrap_or_default().copies {
            self.of(kernel.target(), copy.element_bytes())?.load_on(ordinal)?;
        }
        Ok(())
    }

    /// Makes the copies that a kernel loads, in the memory that a launch of it brings, in front of it in its stream.
    ///
    /// # Safety
    /// As for a launch of the kernel.
    pub(super) unsafe fn copy(
        &self,
        kernel: &Kernel,
        ordinal: u32,
        launch: &Launch<'_>,
    ) -> Result<(), RuntimeError> {
        let plan = CopyPlan::of_maps(maps(kernel), launch.args);
        let plan = plan.filter(|plan| launch.copies.is_some_and(|memory| plan.bytes <= memory.bytes));
        let (Some(plan), Some(memory)) = (plan, launch.copies) else {
            return Err(RuntimeError::Internal(format!(
                "a launch of `{}` brings too little memory for copies",
                kernel.artifact.name
            )));
        };
        // Most launches have two copies, of elements of one size.
        let mut copies = plan.copies;
        copies.sort_by_key(AlignedCopy::element_bytes);
        for alike in copies.chunk_by(|one, two| one.element_bytes() == two.element_bytes()) {
            let loaded = self.of(kernel.target(), alike[0].element_bytes())?.load_on(ordinal)?;
            for two in alike.chunks(2) {
                let words = |copy: &AlignedCopy| {
                    let [from, rows, columns, distance] = copy.source();
                    [from, copy.address(memory), rows, columns, distance, copy.stride()]
                };
                let (one, other) = (two[0], two.get(1));
                let counts = [copying_programs(&one), other.map_or(0, copying_programs)];
                let all = u32::try_from(counts[0] + counts[1]).map_err(|_| too_many(counts))?;
                let args = [&words(&one)[..], &words(other.unwrap_or(&one)), &[counts[0]]].concat();
                let own = Launch {
                    stream: launch.stream,
                    observed: launch.observed,
                    interrupt: launch.interrupt,
                    ..Launch::new([all, 1, 1], &args)
                };
                // SAFETY: what is read lies within memory of the arguments, as `Aligned::bytes` has seen; what is
                // written within the memory that the launch brings, of which there is enough.
                unsafe { loaded.launch(&own) }.map_err(RuntimeError::from)?;
            }
        }
        Ok(())
    }
}

/// Programs that make a copy.
fn copying_programs(copy: &AlignedCopy) -> u64 {
    let [_, rows, columns, _] = copy.source();
    rows.div_ceil(COPIED_BLOCK[0]) * columns.div_ceil(COPIED_BLOCK[1])
}

#[cold]
fn too_many(programs: [u64; 2]) -> RuntimeError {
    RuntimeError::Internal(format!("copies take {programs:?} programs"))
}

/// The kernel as a stage.
fn copy_rows(bytes: u64) -> GivenStage {
    let text = COPY_ROWS.replace("ELEMENT", &format!("i{}", 8 * bytes));
    GivenStage { name: TTIR.to_owned(), file: format!("copy_rows.{TTIR}"), bytes: text.into_bytes() }
}

fn options() -> CompileOptions {
    CompileOptions { num_warps: 4, ..CompileOptions::default() }
}
