//! What a machine does in its own way: the hooks that the lowering calls.
//!
//! Every hook appends instructions to the function that is being built. Hooks work on single lanes' values; what
//! concerns layouts is decided by the caller.

use elementwise::ElementTarget;
use ir::Module;
use llir::{FunctionBuilder, Type, Value, Values};
use ttgir::{Machine, MatrixRow};
use ttir::ops::atomic::{Rmw, Scope, Sem};
use ttir::ops::dot::ScaleType;
use ttir::ops::memory::{CacheModifier, EvictionPolicy};

/// An access to neighbouring elements of device memory, or of shared memory.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address of the first element, without the constant part.
    pub pointer: Value,
    /// The constant part, in bytes.
    pub offset: i64,
    /// The type of an element in memory.
    pub element: Type,
    /// How many elements; all of them together are at most [`LaneTarget::vector_bytes`] and the address is a multiple
    /// of their size.
    pub count: usize,
    /// Where it is false memory is not touched.
    pub mask: Option<Value>,
    /// Where it stands in the caches.
    pub cache: CacheModifier,
    /// What the caches should drop first.
    pub eviction: EvictionPolicy,
    /// Whether it must happen as written.
    pub volatile: bool,
    /// What the address without its constant part is made of, where 32-bit offsets reach all of the memory.
    pub near: Option<Near>,
}

/// An address in memory that 32-bit offsets reach: so many elements behind a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Near {
    /// The parameter.
    pub base: Value,
    /// How many elements, a signed `i32`. Together with the constant part of the address, in bytes, it does not
    /// overflow where memory is touched.
    pub index: Value,
    /// Bytes of an element.
    pub element_bytes: u32,
}

impl Access {
    /// A plain access.
    pub fn new(pointer: Value, offset: i64, element: Type, count: usize) -> Access {
        Access {
            pointer,
            offset,
            element,
            count,
            mask: None,
            cache: CacheModifier::None,
            eviction: EvictionPolicy::Normal,
            volatile: false,
            near: None,
        }
    }
}

/// Emits a matrix instruction: answers `c + a · b` for the factors a and b and the sums c, where each list holds what a
/// lane holds, in the order of the instruction's registers. `None` where they do not fit it.
pub type Multiply = dyn Fn(&mut FunctionBuilder<'_>, [&[Value]; 2], &[Value]) -> Option<Values>;

/// Emits a matrix instruction for scaled factors, as [`Multiply`] does for others: the factors as bytes, and of each
/// the exponent of its scale, with a bias of 127, in a byte.
pub type ScaledMultiply =
    dyn Fn(&mut FunctionBuilder<'_>, [&[Value]; 2], [Value; 2], &[Value]) -> Option<Values>;

/// What becomes of integer sums of products that do not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// They wrap around.
    Wraps,
    /// All sums fit.
    Never,
}

/// A read-modify-write of neighbouring elements.
#[derive(Clone, Debug)]
pub struct AtomicAccess {
    /// The address of the first element.
    pub pointer: Value,
    /// The constant part of the address, in bytes.
    pub offset: i64,
    /// Where it is false memory is not touched and the result is undefined.
    pub mask: Option<Value>,
    /// How it orders other accesses.
    pub order: Sem,
    /// Among whom it is atomic.
    pub scope: Scope,
    /// As [`Access::near`].
    pub near: Option<Near>,
}

/// Copies that a wait leaves going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// As groups, the newest ones.
    pub groups: u32,
    /// As instructions of a warp: at most as many as these groups have.
    pub copies: u32,
}

/// Atomics that do not answer what was there before.
pub trait Reductions {
    /// How many neighbouring elements one instruction can take; `None` where there is none for them.
    fn width(&self, rmw: Rmw, element: Type) -> Option<usize>;

    /// Combines neighbouring values into memory. The order is relaxed or that of a release. Answers whether the machine
    /// can for so many: it then has done so.
    fn reduce(&self, b: &mut FunctionBuilder<'_>, rmw: Rmw, access: &AtomicAccess, values: &[Value]) -> bool;

    /// Orders the accesses of a lane before it in front of those behind it.
    fn fence(&self, b: &mut FunctionBuilder<'_>, scope: Scope);
}

/// A compare-and-swap.
#[derive(Clone, Debug)]
pub struct CompareSwap {
    /// Where and how.
    pub access: AtomicAccess,
    /// What memory must hold.
    pub expected: Value,
    /// What is written then.
    pub new: Value,
}

/// How lanes of a warp read each other's values.
#[derive(Clone, Copy, Debug)]
pub enum Shuffle {
    /// From the lane whose number differs in these bits.
    Xor(u32),
    /// From the lane so many below; lanes without one keep their own.
    Up(u32),
    /// From the lane so many above; lanes without one keep their own.
    Down(u32),
    /// From this lane.
    Index(Value),
}

/// How the lanes of a warp combine integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CombineLanes {
    /// Sum.
    Add,
    /// Signed minimum.
    Min,
    /// Signed maximum.
    Max,
    /// Unsigned minimum.
    UnsignedMin,
    /// Unsigned maximum.
    UnsignedMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// One line that a kernel prints: a format in C's notation and its arguments.
#[derive(Debug)]
pub struct PrintCall<'a> {
    /// The format, without a terminating zero byte.
    pub format: &'a str,
    /// The arguments; floats are `f64`, integers 32 or 64 bits wide.
    pub args: &'a [Value],
}

/// Where an assertion stands.
#[derive(Debug)]
pub struct AssertPlace<'a> {
    /// What it says.
    pub message: &'a str,
    /// The file.
    pub file: &'a str,
    /// The function.
    pub function: &'a str,
    /// The line.
    pub line: u32,
}

/// What a machine does in its own way.
pub trait LaneTarget: ElementTarget {
    /// How this machine lowers an operation in its own way: dots by its matrix instructions. `None` for what every
    /// machine does alike.
    fn handler(&self, module: &Module, op: ir::Op) -> Option<crate::Handler> {
        let _ = (module, op);
        None
    }

    /// Facts about the machine.
    fn machine(&self) -> &Machine;

    /// Fills in what concerns the whole module: triple, data layout.
    fn start_module(&self, module: &mut llir::Module);

    /// How a kernel of so many lanes in a thread block is launched, and LLVM's attributes of its function.
    fn kernel(&self, source: &Module, lanes: u32) -> (llir::Kernel, Vec<String>);

    /// The number of this lane in its thread block, `i32`.
    fn thread_id(&self, b: &mut FunctionBuilder<'_>) -> Value;

    /// A value of which the caller knows that all lanes of a warp have the same, such that the machine knows it too.
    fn uniform(&self, b: &mut FunctionBuilder<'_>, value: Value) -> Value;

    /// The position of this thread block along an axis of the grid, `i32`. Those of one program, a cluster, lie side by
    /// side along the first.
    fn program_id(&self, b: &mut FunctionBuilder<'_>, axis: u32) -> Value;

    /// How many thread blocks or clusters there are along an axis of the grid, `i32`.
    fn num_programs(&self, b: &mut FunctionBuilder<'_>, axis: u32) -> Value;

    /// The number of this thread block in its cluster, `i32`.
    fn block_id(&self, b: &mut FunctionBuilder<'_>) -> Value;

    /// All lanes of the thread block wait for each other and see each other's writes.
    fn barrier(&self, b: &mut FunctionBuilder<'_>);

    /// Whether it costs less to put shared memory alone in order ([`LaneTarget::shared_barrier`]).
    fn has_shared_barrier(&self) -> bool {
        false
    }

    /// All lanes of the program wait for each other and see each other's writes to shared memory; accesses to device
    /// memory may go on.
    fn shared_barrier(&self, b: &mut FunctionBuilder<'_>) {
        self.barrier(b);
    }

    /// Waits for what this lane has read of shared memory, which bulk copies are to overwrite next. Only asked of
    /// machines that have such copies.
    fn fence_reads(&self, b: &mut FunctionBuilder<'_>) {
        let _ = b;
    }

    /// Whether some warps of a program can wait for each other without the others ([`LaneTarget::barrier_of`]).
    fn has_roles(&self) -> bool {
        false
    }

    /// So many lanes, whole warps, wait for each other at a barrier of a number from 0 to 15, and see each other's
    /// writes. Only asked of machines that have roles.
    fn barrier_of(&self, b: &mut FunctionBuilder<'_>, number: u32, lanes: u32) {
        let _ = (b, number, lanes);
    }

    /// The same at a barrier whose number is a value, for lanes for which `when` holds if it is given; without `waits`
    /// they arrive and go on.
    fn arrive_at(
        &self,
        b: &mut FunctionBuilder<'_>,
        number: Value,
        lanes: u32,
        waits: bool,
        when: Option<Value>,
    ) {
        let _ = (b, number, lanes, waits, when);
    }

    /// Whether groups of four warps can give registers to others ([`LaneTarget::set_registers`]).
    fn divides_registers(&self) -> bool {
        false
    }

    /// From here on a lane has so many registers, more or fewer than before. Only asked of machines that divide
    /// registers.
    fn set_registers(&self, b: &mut FunctionBuilder<'_>, count: u32, more: bool) {
        let _ = (b, count, more);
    }

    /// All lanes of all blocks of the cluster wait for each other and see each other's writes. Only asked of machines
    /// that have clusters.
    fn cluster_barrier(&self, b: &mut FunctionBuilder<'_>);

    /// The address at which another block of the cluster keeps what this one keeps at `pointer`, an address in shared
    /// memory. Only asked of machines that have clusters.
    fn peer(&self, b: &mut FunctionBuilder<'_>, pointer: Value, block: Value) -> Value;

    /// All lanes of a warp wait for each other and see each other's writes.
    fn warp_barrier(&self, b: &mut FunctionBuilder<'_>);

    /// Reads another lane's 32-bit integer.
    fn shuffle(&self, b: &mut FunctionBuilder<'_>, shuffle: Shuffle, value: Value) -> Value;

    /// One bit for each lane of the warp: whether its condition holds.
    fn ballot(&self, b: &mut FunctionBuilder<'_>, condition: Value) -> Value;

    /// The lane to read in place of the one whose number differs in `lane`, where lanes whose numbers differ in the
    /// bits of `equal` have equal values: as the bits in which its number differs.
    fn partner(&self, lane: u32, _equal: u32) -> u32 {
        lane
    }

    /// From which distance between lanes on it is better to read single lanes ([`Shuffle::Index`] of a constant) than
    /// to exchange, where groups of so many lanes have equal values.
    fn reads_lanes_from(&self) -> Option<u32> {
        None
    }

    /// Whether an exchange between lanes takes so long that they rather choose between two values first, and exchange
    /// one: instructions that read another lane by themselves need no exchange.
    fn halves_exchanges(&self) -> bool {
        false
    }

    /// What all lanes of the warp have, 32-bit integers, combined in one instruction, if the machine has it; every lane
    /// gets the result.
    fn combine_lanes(&self, _b: &mut FunctionBuilder<'_>, _by: CombineLanes, _value: Value) -> Option<Value> {
        None
    }

    /// The widest access, in bytes.
    fn vector_bytes(&self) -> u32 {
        self.machine().vector_bytes
    }

    /// Where shared memory begins.
    fn shared_base(&self, b: &mut FunctionBuilder<'_>) -> Value {
        b.module().add_memory(llir::Global {
            name: "global_smem".into(),
            element: Type::I8,
            kind: llir::GlobalKind::External(0),
            space: 3,
            align: 16,
        });
        b.symbol_in("global_smem", 3)
    }

    /// Loads neighbouring elements; where the mask is off they are `other` (one per element), or undefined without it.
    fn load(&self, b: &mut FunctionBuilder<'_>, access: &Access, other: &[Value]) -> Values;

    /// Stores neighbouring elements.
    fn store(&self, b: &mut FunctionBuilder<'_>, access: &Access, values: &[Value]);

    /// Begins to copy neighbouring elements of device memory to shared memory, an address and a constant number of
    /// bytes; zeros where the access's mask is off, and nothing at all where `only` does not hold. Answers whether the
    /// machine can: it then has done so.
    fn async_copy(
        &self,
        b: &mut FunctionBuilder<'_>,
        to: (Value, i64),
        from: &Access,
        only: Option<Value>,
    ) -> bool {
        let _ = (b, to, from, only);
        false
    }

    /// The copies begun since the last call are the next group.
    fn async_commit(&self, _b: &mut FunctionBuilder<'_>) {}

    /// Waits until at most so many of the newest copies are going on.
    fn async_wait(&self, _b: &mut FunctionBuilder<'_>, _pending: Pending) {}

    /// Whether lanes can fetch rows of shared memory for each other ([`LaneTarget::load_rows`]).
    fn loads_rows(&self) -> bool {
        false
    }

    /// Lane `8 i + j` names the address of row `j`, 16 bytes, of matrix `i` of so many; lane `l` gets of each matrix,
    /// as an `i32`, the 4 bytes at `4 (l mod 4)` of row `l / 4`, or, transposed, the 16-bit elements of column `l / 4`
    /// in rows `2 (l mod 4)` and the next.
    fn load_rows(
        &self,
        b: &mut FunctionBuilder<'_>,
        from: (Value, i64),
        count: usize,
        transposed: bool,
    ) -> Values {
        let _ = (b, from, count, transposed);
        Values::new()
    }

    /// Whether lanes can store rows to shared memory for each other ([`LaneTarget::store_rows`]).
    fn stores_rows(&self) -> bool {
        false
    }

    /// Stores what [`LaneTarget::load_rows`] loads: one `i32` of each matrix from every lane, to the rows that lanes
    /// name.
    fn store_rows(&self, b: &mut FunctionBuilder<'_>, to: (Value, i64), words: &[Value], transposed: bool) {
        let _ = (b, to, words, transposed);
    }

    /// A matrix instruction of one warp, a row of the machine. `None` where the target does not emit it.
    fn multiplier(&self, row: &MatrixRow, overflow: Overflow) -> Option<Box<Multiply>> {
        let _ = (row, overflow);
        None
    }

    /// A matrix instruction of one warp that multiplies a few rows with many columns, a row of the machine: of the
    /// first factor all lanes take what block `block` of them holds. `None` where the target does not emit it.
    fn block_multiplier(&self, row: &MatrixRow, block: u32) -> Option<Box<Multiply>> {
        let _ = (row, block);
        None
    }

    /// A matrix instruction of one warp whose factors have these formats and scales, a row of the machine's
    /// `scaled_matrix`. `None` where the target does not emit it.
    fn scaled_multiplier(&self, row: &MatrixRow, formats: [ScaleType; 2]) -> Option<Box<ScaledMultiply>> {
        let _ = (row, formats);
        None
    }

    /// How many neighbouring elements one read-modify-write can take: 1, or more where the machine has packed ones.
    fn atomic_width(&self, rmw: Rmw, element: Type) -> usize;

    /// Combines values into memory; answers what was there before. `None` where the machine has no such instruction:
    /// the caller then loops with [`LaneTarget::compare_swap`].
    fn atomic(
        &self,
        b: &mut FunctionBuilder<'_>,
        rmw: Rmw,
        access: &AtomicAccess,
        values: &[Value],
    ) -> Option<Values>;

    /// How the machine combines values into memory without an answer, if it can.
    fn reductions(&self) -> Option<&dyn Reductions> {
        None
    }

    /// The bits of the narrowest integer that [`LaneTarget::compare_swap`] takes, at most 32; narrower ones are swapped
    /// as parts of words.
    fn narrowest_swap(&self) -> u32;

    /// Writes where memory holds what is expected, an integer of [`LaneTarget::narrowest_swap`] to 64 bits; answers
    /// what was there before.
    fn compare_swap(&self, b: &mut FunctionBuilder<'_>, swap: &CompareSwap) -> Value;

    /// An atomic load.
    fn atomic_load(&self, b: &mut FunctionBuilder<'_>, access: &AtomicAccess, element: Type) -> Value;

    /// An atomic store.
    fn atomic_store(&self, b: &mut FunctionBuilder<'_>, access: &AtomicAccess, value: Value);

    /// The time of the device in nanoseconds, `i64`, where it has a clock that all lanes share.
    fn clock(&self, _b: &mut FunctionBuilder<'_>) -> Option<Value> {
        None
    }

    /// Waits until the launch before this one is over, where launches overlap; elsewhere it is.
    fn await_launch_before(&self, _b: &mut FunctionBuilder<'_>) {}

    /// Lets the launch behind this one begin, where launches overlap.
    fn release_launch_behind(&self, _b: &mut FunctionBuilder<'_>) {}

    /// Prints a line.
    fn print(&self, b: &mut FunctionBuilder<'_>, call: &PrintCall<'_>);

    /// Reports that an assertion does not hold and stops the kernel.
    fn assert_fail(&self, b: &mut FunctionBuilder<'_>, place: &AssertPlace<'_>);
}
