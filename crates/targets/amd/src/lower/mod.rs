//! What lanes do on these machines: the hooks of the lowering from ttgir to llir.
//!
//! Whatever is no instruction of llir is a call of an intrinsic that the table of `amdgcn-isa` has for the
//! architecture.

mod access;
mod arrange;
mod atomic;
pub(crate) mod buffer;
mod convert;
pub(crate) mod copy;
mod exchange;
mod log;
mod math;
mod matrix;
mod memory;
pub(crate) mod order;
mod registers;
mod scaled;
mod schedule;

pub use arrange::arrange;

use amdgcn_isa::{Arch, CDNA, RDNA, Row, system};
use elementwise::{Abilities, Division, ElementTarget, Math, MathMachine, MinMax, Rounding};
use ir::{FloatKind, Module, Op};
use lanes::{
    Access, AssertPlace, AtomicAccess, CompareSwap, Handler, LaneTarget, Multiply, Overflow, Pending,
    PrintCall, Reductions, ScaledMultiply, Shuffle,
};
use llir::{FunctionBuilder, Kernel, Memory, Ordering, SyncScope, Type, Value, Values};
use ttgir::{Machine, MatrixRow};
use ttir::ops::atomic::Rmw;
use ttir::ops::dot::ScaleType;

/// The triple that LLVM knows these machines by.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// The version of code objects, times 100: the one that the runtimes of all releases since 2021 load.
const CODE_OBJECT: u32 = 500;

/// The address space of memory that nobody writes while a kernel runs.
const CONSTANT_SPACE: u8 = 4;

/// What a launch asks of the code of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tuning {
    /// Waves that a SIMD is to hold at a time; 0 leaves it to the code generator.
    pub waves_per_eu: u32,
    /// Whether denormal numbers of 32 bits may be zero.
    pub flush_denormals: bool,
    /// Whether atomics go through addresses even where memory is near.
    pub plain_atomics: bool,
}

/// The lanes of a device of some architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    /// The architecture.
    pub arch: Arch,
    /// Facts about the device.
    pub machine: &'static Machine,
    /// What the launch asks for.
    pub tuning: Tuning,
}

impl Lanes {
    /// The lanes of an architecture, as a launch asks for nothing.
    pub fn new(arch: Arch) -> Lanes {
        Lanes { arch, machine: crate::machine::machine(arch), tuning: Tuning::default() }
    }
}

/// The position of the program along each axis of the grid.
static AXES: [&Row; 3] = [&system::WORKGROUP_ID_X, &system::WORKGROUP_ID_Y, &system::WORKGROUP_ID_Z];

impl LaneTarget for Lanes {
    fn machine(&self) -> &Machine {
        self.machine
    }

    fn handler(&self, module: &Module, op: Op) -> Option<Handler> {
        registers::handler(module, op)
            .or_else(|| schedule::handler(module, op))
            .or_else(|| convert::handler(self.arch, module, op))
    }

    fn start_module(&self, module: &mut llir::Module) {
        module.triple = TRIPLE.into();
        module.flags.push(("amdhsa_code_object_version".into(), CODE_OBJECT));
        // Without these LLVM makes loops of compare-and-swap where the memory might be the host's.
        module.atomic_notes =
            ["amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory", "amdgpu.ignore.denormal.mode"]
                .map(String::from)
                .into();
    }

    fn kernel(&self, _source: &Module, lanes: u32) -> (Kernel, Vec<String>) {
        let kernel =
            Kernel { convention: "amdgpu_kernel".into(), lanes: Some([lanes, 1, 1]), ..Kernel::default() };
        let denormals = if self.tuning.flush_denormals { "preserve-sign" } else { "ieee" };
        let mut attributes = vec![
            format!("\"amdgpu-flat-work-group-size\"=\"{lanes},{lanes}\""),
            "\"uniform-work-group-size\"=\"true\"".to_owned(),
            format!("\"denormal-fp-math-f32\"=\"{denormals},{denormals}\""),
        ];
        if CDNA.has(self.arch) {
            // Sums of matrix instructions stay in ordinary registers: otherwise each iteration of a loop moves them
            // there and back.
            attributes.push("\"amdgpu-agpr-alloc\"=\"0\"".to_owned());
        }
        if self.tuning.waves_per_eu > 0 {
            let waves = self.tuning.waves_per_eu;
            attributes.push(format!("\"amdgpu-waves-per-eu\"=\"{waves},{waves}\""));
        }
        (kernel, attributes)
    }

    fn thread_id(&self, b: &mut FunctionBuilder<'_>) -> Value {
        b.intrinsic(&system::WORKITEM_ID_X, Type::I32, &[])
    }

    fn uniform(&self, b: &mut FunctionBuilder<'_>, value: Value) -> Value {
        // All lanes of a wave have the value, so it does not matter which of them are active where it is read.
        b.intrinsic(&amdgcn_isa::exchange::READFIRSTLANE, Type::I32, &[value])
    }

    fn program_id(&self, b: &mut FunctionBuilder<'_>, axis: u32) -> Value {
        b.intrinsic(AXES[axis as usize], Type::I32, &[])
    }

    fn num_programs(&self, b: &mut FunctionBuilder<'_>, axis: u32) -> Value {
        let base = b.intrinsic(&system::IMPLICITARG_PTR, Type::pointer(CONSTANT_SPACE), &[]);
        let by = b.i64(4 * i64::from(axis));
        let pointer = b.offset(base, by);
        let memory = Memory { invariant: true, ..Memory::aligned(4) };
        b.load_with(Type::I32, pointer, memory, llir::Flags::NONE)
    }

    fn block_id(&self, b: &mut FunctionBuilder<'_>) -> Value {
        b.i32(0)
    }

    fn barrier(&self, b: &mut FunctionBuilder<'_>) {
        b.fence_among(Ordering::Release, SyncScope::Workgroup);
        b.intrinsic_void(&system::S_BARRIER, &[]);
        b.fence_among(Ordering::Acquire, SyncScope::Workgroup);
    }

    fn has_shared_barrier(&self) -> bool {
        // The waves of a program have several caches there, which a barrier for device memory empties.
        RDNA.has(self.arch)
    }

    fn shared_barrier(&self, b: &mut FunctionBuilder<'_>) {
        order::shared_barrier(b);
    }

    fn cluster_barrier(&self, b: &mut FunctionBuilder<'_>) {
        self.barrier(b);
    }

    fn peer(&self, _b: &mut FunctionBuilder<'_>, pointer: Value, _block: Value) -> Value {
        // A cluster is one thread block here.
        pointer
    }

    fn warp_barrier(&self, b: &mut FunctionBuilder<'_>) {
        b.fence_among(Ordering::Release, SyncScope::Wavefront);
        b.intrinsic_void(&system::WAVE_BARRIER, &[]);
        b.fence_among(Ordering::Acquire, SyncScope::Wavefront);
    }

    fn shuffle(&self, b: &mut FunctionBuilder<'_>, shuffle: Shuffle, value: Value) -> Value {
        exchange::shuffle(b, self.arch, shuffle, value)
    }

    fn partner(&self, lane: u32, equal: u32) -> u32 {
        exchange::partner(lane, equal)
    }

    fn reads_lanes_from(&self) -> Option<u32> {
        // Within rows of 16 lanes instructions read other lanes themselves.
        CDNA.has(self.arch).then_some(16)
    }

    fn ballot(&self, b: &mut FunctionBuilder<'_>, condition: Value) -> Value {
        let wide = self.machine.warp_size == 64;
        let row = if wide { &amdgcn_isa::exchange::BALLOT } else { &amdgcn_isa::exchange::BALLOT_32 };
        b.intrinsic(row, Type::int(self.machine.warp_size as u16), &[condition])
    }

    fn load(&self, b: &mut FunctionBuilder<'_>, access: &Access, other: &[Value]) -> Values {
        memory::load(b, self.arch, access, other)
    }

    fn store(&self, b: &mut FunctionBuilder<'_>, access: &Access, values: &[Value]) {
        memory::store(b, self.arch, access, values);
    }

    fn async_copy(
        &self,
        b: &mut FunctionBuilder<'_>,
        to: (Value, i64),
        from: &Access,
        only: Option<Value>,
    ) -> bool {
        copy::begin(b, self.arch, to, from, only)
    }

    fn async_wait(&self, b: &mut FunctionBuilder<'_>, pending: Pending) {
        if CDNA.has(self.arch) {
            copy::wait(b, pending);
        }
    }

    fn multiplier(&self, row: &MatrixRow, _overflow: Overflow) -> Option<Box<Multiply>> {
        matrix::multiplier(self.arch, row, None)
    }

    fn block_multiplier(&self, row: &MatrixRow, block: u32) -> Option<Box<Multiply>> {
        matrix::multiplier(self.arch, row, Some(block))
    }

    fn scaled_multiplier(&self, row: &MatrixRow, formats: [ScaleType; 2]) -> Option<Box<ScaledMultiply>> {
        scaled::multiplier(row, formats)
    }

    fn atomic_width(&self, rmw: Rmw, element: Type) -> usize {
        atomic::width(self.arch, rmw, element)
    }

    fn atomic(
        &self,
        b: &mut FunctionBuilder<'_>,
        rmw: Rmw,
        access: &AtomicAccess,
        values: &[Value],
    ) -> Option<Values> {
        atomic::rmw(b, self, rmw, access, values)
    }

    fn reductions(&self) -> Option<&dyn Reductions> {
        Some(self)
    }

    fn narrowest_swap(&self) -> u32 {
        atomic::NARROWEST_SWAP
    }

    fn compare_swap(&self, b: &mut FunctionBuilder<'_>, swap: &CompareSwap) -> Value {
        atomic::compare_swap(b, swap)
    }

    fn atomic_load(&self, b: &mut FunctionBuilder<'_>, access: &AtomicAccess, element: Type) -> Value {
        atomic::load(b, access, element)
    }

    fn atomic_store(&self, b: &mut FunctionBuilder<'_>, access: &AtomicAccess, value: Value) {
        atomic::store(b, access, value);
    }

    fn print(&self, b: &mut FunctionBuilder<'_>, call: &PrintCall<'_>) {
        log::print(b, call);
    }

    fn assert_fail(&self, b: &mut FunctionBuilder<'_>, place: &AssertPlace<'_>) {
        log::assert_fail(b, place);
    }
}

impl ElementTarget for Lanes {
    fn register(&self, ty: ir::Type) -> Type {
        lanes::register(ty)
    }

    fn abilities(&self) -> Abilities {
        Abilities { division: Division::Undefined, ..lanes::ABILITIES }
    }

    fn to_int(&self, b: &mut FunctionBuilder<'_>, signed: bool, value: Value, ty: Type) -> Value {
        if ty.lane_bits() == 16 {
            // Instructions hold numbers at the ends of 32 bits.
            let row = if signed { &llir::intrinsics::FPTOSI_SAT } else { &llir::intrinsics::FPTOUI_SAT };
            return b.intrinsic(row, ty, &[value]);
        }
        b.cast(if signed { llir::Op::FPTOSI } else { llir::Op::FPTOUI }, value, ty)
    }

    fn has_arithmetic(&self, kind: FloatKind) -> bool {
        kind == FloatKind::F16
    }

    fn converts(&self, kind: FloatKind) -> bool {
        kind.bits() == 16
    }

    fn minmax(&self, ty: Type) -> MinMax {
        if matches!(ty, Type::F16 | Type::F32 | Type::F64) { MinMax::Ordered } else { MinMax::Compared }
    }

    fn minmax_nan(&self, b: &mut FunctionBuilder<'_>, max: bool, x: &[Value]) -> Option<Value> {
        let ty = b.ty(x[0]);
        let row = if max { &llir::intrinsics::MAXIMUM } else { &llir::intrinsics::MINIMUM };
        matches!(ty, Type::F32 | Type::F64).then(|| b.intrinsic(row, ty, x))
    }

    fn math(&self, b: &mut FunctionBuilder<'_>, function: Math, x: &[Value]) -> Option<Value> {
        math::exact(b, function, x)
    }

    fn fast_math(&self, b: &mut FunctionBuilder<'_>, name: &str, x: &[Value]) -> Option<Value> {
        math::fast(b, name, x)
    }

    fn maths(&self) -> &dyn MathMachine {
        self
    }

    fn mul_high(&self, b: &mut FunctionBuilder<'_>, signed: bool, x: Value, y: Value) -> Value {
        math::mul_high(b, signed, x, y)
    }

    fn convert(
        &self,
        b: &mut FunctionBuilder<'_>,
        formats: (FloatKind, FloatKind),
        rounding: Rounding,
        value: Value,
    ) -> Option<Value> {
        convert::one(b, self.arch, formats, rounding, value)
    }
}

impl MathMachine for Lanes {
    fn has_fma(&self) -> bool {
        true
    }

    fn exp2(&self, b: &mut FunctionBuilder<'_>, x: Value) -> Option<Value> {
        self.math(b, Math::Exp2, &[x])
    }

    fn mul_high(&self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        math::mul_high(b, false, x, y)
    }
}
