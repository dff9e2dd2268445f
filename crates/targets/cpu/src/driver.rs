//! The cores of this machine as one device.

use crate::abi::{Entry, LaunchContext, Outcome};
use crate::host::Processor;
use crate::loader::LoadedObject;
use crate::outcome;
use crate::pool::{self, Cost, Watch};
use crate::{scratch, symbols, topology};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use target::{Artifact, Device, DeviceProperties, Grid, Launch, LoadedKernel, TargetError};

/// The stage of an artifact that is loaded.
pub const OBJECT_STAGE: &str = "obj";

/// The most scratch a program may ask for.
pub const MAX_SCRATCH_BYTES: u64 = 64 << 20;

/// Warps that a program may have; a warp has one lane here.
const MAX_WARPS: u32 = 64;

/// The device of this machine.
pub fn device() -> Arc<dyn Device> {
    static DEVICE: OnceLock<Arc<Cpu>> = OnceLock::new();
    DEVICE.get_or_init(|| Arc::new(Cpu)).clone()
}

/// All cores that this process may use, together.
#[derive(Debug)]
struct Cpu;

impl Device for Cpu {
    fn ordinal(&self) -> u32 {
        0
    }

    fn properties(&self) -> DeviceProperties {
        let host = Processor::host();
        let numbers = [
            ("multiprocessor_count", pool::thread_count() as i64),
            ("max_num_regs", i64::from(host.vector_registers * MAX_WARPS)),
            ("max_shared_mem", MAX_SCRATCH_BYTES as i64),
            ("warpSize", 1),
            ("max_threads_per_sm", i64::from(MAX_WARPS)),
            ("sm_clock_rate", topology::clock_khz()),
            // The system does not say how memory is attached.
            ("mem_clock_rate", 0),
            ("mem_bus_width", 0),
            ("vector_bytes", i64::from(host.vector_bytes)),
            ("l1_bytes", host.caches.l1 as i64),
            ("l2_bytes", host.caches.l2 as i64),
            ("last_level_cache_bytes", host.caches.last as i64),
            ("total_memory", topology::memory_bytes()),
        ];
        let numbers: BTreeMap<String, i64> = numbers.map(|(name, number)| (name.to_string(), number)).into();
        DeviceProperties { name: topology::cpu_name(), numbers }
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        Ok(Arc::new(Kernel::load(artifact)?))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        // A launch is finished when its call returns.
        Ok(())
    }
}

/// A kernel whose code is in memory.
#[derive(Debug)]
struct Kernel {
    name: String,
    entry: Entry,
    params: usize,
    scratch_bytes: usize,
    note_bytes: usize,
    cooperative: bool,
    waits: bool,
    cost: Cost,
    /// Keeps the code where it is.
    _object: LoadedObject,
}

impl Kernel {
    fn load(artifact: &Artifact) -> Result<Kernel, TargetError> {
        let name = &artifact.name;
        let error = |text: String| TargetError::Load(format!("kernel `{name}`: {text}"));
        let facts = artifact.launch.host().ok_or_else(|| error("it was compiled for a device".into()))?;
        let features = facts.features.iter().map(String::as_str);
        let lacking: Vec<&str> = features.filter(|name| !Processor::host().has(name)).collect();
        if !lacking.is_empty() {
            let list = lacking.join(", ");
            return Err(error(format!("it was compiled for a processor with {list}, which this one lacks")));
        }
        if artifact.shared > MAX_SCRATCH_BYTES {
            return Err(TargetError::OutOfResources {
                name: "scratch memory".into(),
                required: artifact.shared,
                limit: MAX_SCRATCH_BYTES,
            });
        }
        let bytes = artifact.stage(OBJECT_STAGE).ok_or_else(|| error("there is no object code".into()))?;
        let object =
            LoadedObject::load(bytes, &symbols::resolve).map_err(|problem| error(problem.to_string()))?;
        let entry = object.symbol(name).ok_or_else(|| error("its object code does not define it".into()))?;
        Ok(Kernel {
            name: name.clone(),
            // SAFETY: the compiler gives every kernel this type (`abi`).
            entry: unsafe { std::mem::transmute::<usize, Entry>(entry) },
            params: artifact.params.len(),
            scratch_bytes: artifact.shared as usize,
            note_bytes: facts.kept_bytes.min(artifact.shared) as usize,
            cooperative: facts.cooperative,
            waits: facts.waits,
            cost: Cost::unknown(),
            _object: object,
        })
    }

    /// Runs programs on this thread.
    fn run(&self, shared: &Shared<'_>, begin: u64, end: u64) -> ControlFlow<()> {
        let call = |scratch| {
            // SAFETY: the entry has this type, the context is valid, the slots match the parameters (`launch` promises
            // it), and the scratch is ours for the call.
            unsafe { (self.entry)(&shared.context, shared.args.as_ptr(), begin, end, scratch) }
        };
        match scratch::with(self.scratch_bytes, (shared.launch, self.note_bytes), call) {
            Some(0) => return ControlFlow::Continue(()),
            Some(code) => shared.outcome.stop(|| format!("the kernel stopped itself with code {code}")),
            None => shared.outcome.stop(|| format!("no memory for {} bytes of scratch", self.scratch_bytes)),
        }
        shared.watch.end();
        ControlFlow::Break(())
    }
}

/// What the threads of a launch share.
struct Shared<'a> {
    context: LaunchContext,
    /// The number of the launch, for kernels that leave notes.
    launch: u64,
    args: &'a [u64],
    outcome: &'a Outcome,
    watch: &'a Watch,
}

// SAFETY: the context's pointers lead to an `Outcome` and a `Watch`, which are `Sync`; all else is read only.
unsafe impl Sync for Shared<'_> {}

impl LoadedKernel for Kernel {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        let error = |text: String| Err(TargetError::Launch(format!("kernel `{}`: {text}", self.name)));
        if launch.args.len() != self.params {
            return error(format!("it takes {} arguments, {} were given", self.params, launch.args.len()));
        }
        let Some(total) = programs(launch.grid) else {
            return error(format!("the grid {:?} has too many programs", launch.grid));
        };
        let (outcome, watch) = (Outcome::default(), Watch::new(launch.interrupt));
        let context = LaunchContext {
            grid: launch.grid,
            pad: 0,
            print: outcome::print,
            assert_fail: outcome::assert_fail,
            poll: outcome::poll,
            last_level_cache: Processor::host().caches.last_of(topology::allowed_cpus().len()),
            outcome: &outcome,
            watch: &watch,
        };
        let number = if self.note_bytes > 0 { next_launch() } else { 0 };
        let shared = Shared { context, launch: number, args: launch.args, outcome: &outcome, watch: &watch };
        let task = |begin, end| self.run(&shared, begin, end);
        let finished = if self.cooperative {
            pool::run_together(total, &task, &watch)
        } else if self.waits {
            pool::run_waiting(total, &task, &watch)
        } else {
            pool::run_until(total, &self.cost, &task, &watch)
        };
        match finished.err().or_else(|| outcome.into_failure()) {
            Some(reason) => error(reason),
            None => Ok(()),
        }
    }

    fn n_regs(&self) -> u32 {
        Processor::host().vector_registers
    }

    fn n_spills(&self) -> u32 {
        0
    }

    fn n_max_threads(&self) -> u32 {
        MAX_WARPS
    }
}

/// A number that no launch had before; never 0.
fn next_launch() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The number of programs in a grid, if it can be counted.
fn programs(grid: Grid) -> Option<u64> {
    let [x, y, z] = grid.map(u64::from);
    let total = x.checked_mul(y)?.checked_mul(z)?;
    // Chunks are counted past the end.
    (total <= 1 << 62).then_some(total)
}

#[cfg(test)]
mod tests;
