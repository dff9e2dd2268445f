//! Shared memory: what needs how much, where each buffer lies, and where all lanes must wait for each other.
//!
//! Buffers are those that the program allocates (`ttg.local_alloc`) and scratch memory that single operations need
//! while they run (conversions of layouts, reductions, …). [`plan`] finds how long each is alive, places those that are
//! never alive together over each other, and inserts barriers only between accesses that touch the same bytes.

mod barriers;
mod buffers;
mod device;
mod place;
mod slots;
mod touched;

use crate::error::{Error, Result, SharedMemoryNeed, diagnostic};
use crate::facts::Facts;
use crate::layouts::{everywhere, layout_of};
use crate::target::LaneTarget;
use barriers::Waits;
use buffers::Buffers;
use ir::{Module, Op, Type};
use layout::LinearLayout;
use layout::convert::{self, ConvertFacts};
use layout::reduce::{Reduction, Work};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use target::survey::BufferFacts;

/// Scratch memory that an operation needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Need {
    /// Its size.
    pub(crate) bytes: u32,
    /// What the address must be a multiple of; 16 at least is given.
    pub(crate) align: u32,
    /// How the operation orders its own accesses to it.
    pub(crate) order: Order,
}

impl Need {
    /// So many bytes that all lanes write, then read after waiting for each other.
    pub(crate) fn exchanged(bytes: u32) -> Need {
        Need { bytes, align: 16, order: Order::Waits }
    }
}

/// How an operation orders its accesses to its scratch memory, from the fewest lanes that wait to the most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Order {
    /// Each warp reads only what it wrote itself, and waits for itself before it writes and before it reads.
    WithinWarp,
    /// Writes, then a barrier of the block, then reads.
    #[default]
    Waits,
    /// Writes, then a barrier of the cluster, then reads, also what other blocks wrote in their memory.
    WaitsForCluster,
}

/// Who waits at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Barrier {
    /// The lanes of the block.
    Block,
    /// The lanes of all blocks of the cluster.
    Cluster,
}

/// Conversions go through no less memory: below it most of their time is that of barriers.
const LEAST_BYTES: u32 = 8 << 10;

/// What scratch memory an operation needs, if any.
pub(crate) type NeedOf = fn(&mut Planner, &Module, Op) -> Result<Need>;

/// What each row needs, by its name.
pub(crate) type Needs = FxHashMap<&'static str, NeedOf>;

/// The type of what is reduced, the dimension, the type of the result, and what combining takes.
pub(crate) type ReductionKey = (Type, i64, Type, Work);

/// How a block is stored to memory, and how it is loaded.
pub(crate) type Accesses = (convert::Access, convert::Access);

/// Plans of conversions, reductions and accesses to memory, made once.
#[derive(Default, Debug)]
pub(crate) struct Planner {
    /// Costs and sizes.
    pub(crate) facts: ConvertFacts,
    /// Lanes of a warp that run the program.
    pub(crate) lanes: u32,
    /// Warps that do.
    pub(crate) num_warps: u32,
    /// Blocks of a cluster.
    pub(crate) num_blocks: u32,
    /// Whether barriers may put shared memory alone in order.
    pub(crate) has_shared_barrier: bool,
    /// Whether lanes rather choose what they exchange than exchange all.
    pub(crate) halves_exchanges: bool,
    plans: FxHashMap<(LinearLayout, LinearLayout, u32), Rc<convert::Conversion>>,
    reductions: FxHashMap<ReductionKey, Rc<Reduction>>,
    accesses: FxHashMap<(LinearLayout, LinearLayout, u32, u32), Rc<Accesses>>,
}

impl Planner {
    /// Of a kernel. Where it has no block, and nothing else that several lanes do together, one lane runs the program.
    pub(crate) fn new(module: &Module, kernel: Op, facts: &Facts, target: &dyn LaneTarget) -> Planner {
        let convert = ConvertFacts::default();
        let convert = ConvertFacts {
            // Wider accesses that a machine may have are those of device memory.
            max_vector_bytes: target.vector_bytes().min(convert.max_vector_bytes),
            stores_rows: target.stores_rows(),
            loads_rows: target.loads_rows(),
            ..convert
        };
        let by_one = facts.num_blocks == 1 && ttgir::scalar::is_scalar_program(module, kernel);
        Planner {
            facts: convert,
            lanes: if by_one { 1 } else { facts.lanes },
            num_warps: if by_one { 1 } else { facts.num_warps },
            num_blocks: facts.num_blocks,
            has_shared_barrier: target.has_shared_barrier(),
            halves_exchanges: target.halves_exchanges(),
            plans: FxHashMap::default(),
            reductions: FxHashMap::default(),
            accesses: FxHashMap::default(),
        }
    }

    /// Whether a single lane runs the program.
    pub(crate) fn is_one_lane(&self) -> bool {
        self.lanes * self.num_warps * self.num_blocks == 1
    }

    /// The layout of a value: every lane has a scalar.
    ///
    /// # Errors
    /// When a block has none.
    pub(crate) fn layout(&self, ty: Type) -> Result<LinearLayout> {
        match ttir::types::is_tensor(ty) {
            true => layout_of(ty),
            false => everywhere(self.lanes, self.num_warps, self.num_blocks.ilog2()),
        }
    }

    /// How a reduction is done; `make` is asked once for each key.
    ///
    /// # Errors
    /// What `make` says.
    pub(crate) fn reduction(
        &mut self,
        key: ReductionKey,
        make: impl FnOnce(&Planner) -> Result<Reduction>,
    ) -> Result<Rc<Reduction>> {
        if let Some(reduction) = self.reductions.get(&key) {
            return Ok(reduction.clone());
        }
        let reduction = Rc::new(make(self)?);
        self.reductions.insert(key, reduction.clone());
        Ok(reduction)
    }

    /// The way from one layout to another for elements of so many bits in memory.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn convert(
        &mut self,
        from: &LinearLayout,
        to: &LinearLayout,
        bits: u32,
    ) -> Result<Rc<convert::Conversion>> {
        let key = (from.clone(), to.clone(), bits);
        if let Some(plan) = self.plans.get(&key) {
            return Ok(plan.clone());
        }
        let plan = convert::plan(from, to, bits, &self.facts);
        let plan = Rc::new(plan.map_err(|error| crate::error::plain(error.to_string()))?);
        self.plans.insert(key, plan.clone());
        Ok(plan)
    }

    /// Lets conversions go through half the memory, in more rounds; whether they may.
    fn shrink(&mut self) -> bool {
        let may = self.facts.max_bytes > LEAST_BYTES;
        if may {
            self.facts.max_bytes /= 2;
            self.plans.clear();
        }
        may
    }
}

impl Planner {
    /// How a block of a layout is stored to and loaded from memory of a layout, elements of so many bits in
    /// instructions of at most so many bytes.
    ///
    /// # Errors
    /// When the memory does not hold the block.
    pub(crate) fn access(
        &mut self,
        tensor: &LinearLayout,
        memory: &LinearLayout,
        bits: u32,
        widest: u32,
    ) -> Result<Rc<Accesses>> {
        let key = (tensor.clone(), memory.clone(), bits, widest);
        if let Some(known) = self.accesses.get(&key) {
            return Ok(known.clone());
        }
        let facts = ConvertFacts { max_vector_bytes: widest, ..self.facts };
        let access = convert::access(tensor, memory, bits, &facts);
        let access = Rc::new(access.map_err(|error| crate::error::plain(error.to_string()))?);
        self.accesses.insert(key, access.clone());
        Ok(access)
    }
}

/// Where buffers lie, and where barriers stand.
#[derive(Default, Debug)]
pub(crate) struct SharedPlan {
    offsets: FxHashMap<Op, u32>,
    barriers: FxHashMap<Op, Barrier>,
    fences: FxHashSet<Op>,
    /// Whether barriers between accesses to shared memory put those to device memory in order as well.
    pub(crate) orders_device: bool,
    /// Whether other blocks may still read the memory of a block that is at its end.
    pub(crate) read_at_end: bool,
    /// What lies there, and when it is alive.
    pub(crate) buffers: Vec<BufferFacts>,
    /// Bytes in all.
    pub(crate) bytes: u32,
}

impl SharedPlan {
    /// Where the buffer of an operation begins: what it allocates, or its scratch memory.
    pub(crate) fn offset(&self, op: Op) -> Option<u32> {
        self.offsets.get(&op).copied()
    }

    /// Whether what lanes have read must be there, before they wait for each other in front of an operation: bulk
    /// copies overwrite it.
    pub(crate) fn is_fenced(&self, op: Op) -> bool {
        self.fences.contains(&op)
    }

    /// Who must wait for each other before an operation.
    pub(crate) fn barrier_before(&self, op: Op) -> Option<Barrier> {
        self.barriers.get(&op).copied()
    }
}

/// Plans the memory of a kernel on a machine that has so many bytes of it, where operations need what a table says.
/// Where it does not fit, conversions go through less of it.
///
/// # Errors
/// When an operation has no plan, or the machine has too little memory: then with what needs how much.
pub(crate) fn plan(
    module: &Module,
    kernel: Op,
    planner: &mut Planner,
    (needs, limit): (&Needs, u32),
) -> Result<SharedPlan> {
    let Placed { buffers, offsets, bytes } = placed(module, kernel, planner, (needs, limit))?;
    if bytes > limit {
        return Err(too_large(module, kernel, &buffers, bytes, limit));
    }
    let program = if planner.num_blocks == 1 { Barrier::Block } else { Barrier::Cluster };
    let Waits { barriers, fences, read_at_end } = match planner.is_one_lane() {
        true => Waits::default(),
        false => barriers::insert(module, kernel, (&buffers, &offsets), program),
    };
    let orders_device = !planner.has_shared_barrier || barriers::orders_device(module, kernel, program);
    let facts = buffers.list.iter().zip(&offsets).map(|(buffer, offset)| buffer.facts(*offset)).collect();
    let offsets = buffers.list.iter().zip(offsets).map(|(buffer, offset)| (buffer.op, offset)).collect();
    Ok(SharedPlan { offsets, barriers, fences, orders_device, read_at_end, buffers: facts, bytes })
}

/// The bytes that a plan for a kernel would take, on a machine that has so many.
///
/// # Errors
/// When an operation has no plan.
pub(crate) fn bytes(
    module: &Module,
    kernel: Op,
    planner: &mut Planner,
    memory: (&Needs, u32),
) -> Result<u32> {
    Ok(placed(module, kernel, planner, memory)?.bytes)
}

/// Buffers with their places.
struct Placed {
    buffers: Buffers,
    offsets: Vec<u32>,
    bytes: u32,
}

/// The buffers of a kernel; conversions go through less memory where they do not fit.
fn placed(
    module: &Module,
    kernel: Op,
    planner: &mut Planner,
    (needs, limit): (&Needs, u32),
) -> Result<Placed> {
    loop {
        let buffers = buffers(module, kernel, planner, needs)?;
        let (offsets, bytes) = place::place(&buffers.requests());
        if bytes <= limit || !planner.shrink() {
            return Ok(Placed { buffers, offsets, bytes });
        }
    }
}

fn buffers(module: &Module, kernel: Op, planner: &mut Planner, needs: &Needs) -> Result<Buffers> {
    let mut need_of = |op: Op| match needs.get(module.row(op).name) {
        Some(need) => need(planner, module, op),
        None => Ok(Need::default()),
    };
    Buffers::of(module, kernel, &mut need_of)
}

/// The error of a machine with too little memory.
fn too_large(module: &Module, kernel: Op, buffers: &Buffers, bytes: u32, limit: u32) -> Error {
    let mut list: Vec<_> = buffers.list.iter().collect();
    list.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
    let largest: Vec<String> = list
        .iter()
        .take(5)
        .map(|buffer| {
            let place =
                module.locs.describe(module.loc(buffer.op)).unwrap_or_else(|| "an unknown place".into());
            format!("{} bytes for `{}` at {place}", buffer.bytes, module.row(buffer.op).name)
        })
        .collect();
    let message = format!(
        "the kernel needs {bytes} bytes of shared memory, and there are {limit}: smaller blocks or `num_stages` need less. The \
         largest: {}",
        largest.join("; ")
    );
    let (required, limit) = (u64::from(bytes), u64::from(limit));
    let diagnostic = diagnostic(module, kernel, message);
    Error::SharedMemory(Box::new(SharedMemoryNeed { required, limit, diagnostic }))
}
