//! What lanes do on these machines: the hooks of the lowering from ttgir to llir.
//!
//! Where LLVM has an intrinsic it is called ([`crate::intrinsics`]), else the instruction is inline assembly
//! ([`instruction`]). Both are rows of the instruction table.

mod async_copy;
mod atomic;
mod bulk;
mod convert;
mod debug;
mod instruction;
mod math;
pub mod matrix;
mod memory;
mod tensormap;

use crate::intrinsics::{self, Row};
use elementwise::{
    Abilities, Approximation, Byte, ConvertBytes, ElementTarget, Math, MathMachine, MinMax, Rounding,
    mul_high_by_widening,
};
use instruction::Instruction;
use ir::{FloatKind, Module, Op};
use lanes::{
    Access, AssertPlace, AtomicAccess, CombineLanes, CompareSwap, Handler, LaneTarget, Multiply, Overflow,
    Pending, PrintCall, Shuffle,
};
use llir::{FunctionBuilder, Kernel, Type, Value, Values};
use ttgir::{Machine, MatrixRow};
use ttir::ops::atomic::Rmw;

/// Lanes of a warp.
const LANES: u32 = 32;

/// Ten times the compute capability since which a launch may begin before the one in front of it is over.
const OVERLAPPING: u32 = 90;

/// The lanes of a device of some compute capability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    /// Ten times the compute capability.
    pub capability: u32,
    /// Facts about the device.
    pub machine: &'static Machine,
    /// What becomes of exponentials below the normal numbers.
    pub denormals: Denormals,
}

/// What becomes of 32-bit exponentials that are smaller than every normal number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Denormals {
    /// They are zero, which saves three instructions for each element.
    #[default]
    Flushed,
    /// They are what they are.
    Kept,
}

impl Lanes {
    /// The lanes of a device, as kernels without options have them.
    #[must_use]
    pub fn new(capability: u32, machine: &'static Machine) -> Lanes {
        Lanes { capability, machine, denormals: Denormals::default() }
    }
}

/// Reads a special register of 32 bits.
fn special(b: &mut FunctionBuilder<'_>, register: &'static Row) -> Value {
    b.intrinsic(register, Type::I32, &[])
}

/// The number of a program and of programs along each axis of the grid.
static AXES: [[&Row; 2]; 3] = [
    [&intrinsics::CTAID_X, &intrinsics::NCTAID_X],
    [&intrinsics::CTAID_Y, &intrinsics::NCTAID_Y],
    [&intrinsics::CTAID_Z, &intrinsics::NCTAID_Z],
];

impl LaneTarget for Lanes {
    fn machine(&self) -> &Machine {
        self.machine
    }

    fn handler(&self, module: &Module, op: Op) -> Option<Handler> {
        matrix::handler(module, op)
            .or_else(|| bulk::handler(module, op).or_else(|| tensormap::handler(module, op)))
    }

    fn start_module(&self, module: &mut llir::Module) {
        module.triple = "nvptx64-nvidia-cuda".into();
        module.data_layout =
            "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
                .into();
    }

    fn kernel(&self, _source: &Module, lanes: u32) -> (Kernel, Vec<String>) {
        let kernel =
            Kernel { convention: "ptx_kernel".into(), lanes: Some([lanes, 1, 1]), ..Kernel::default() };
        (kernel, vec![format!("\"nvvm.reqntid\"=\"{lanes}\"")])
    }

    fn thread_id(&self, b: &mut FunctionBuilder<'_>) -> Value {
        special(b, &intrinsics::TID_X)
    }

    fn uniform(&self, b: &mut FunctionBuilder<'_>, value: Value) -> Value {
        let [members, lane, clamp] = [-1, 0, LANES as i32 - 1].map(|number| b.i32(number));
        b.intrinsic(&intrinsics::SAME_FOR_ALL, Type::I32, &[members, value, lane, clamp])
    }

    fn program_id(&self, b: &mut FunctionBuilder<'_>, axis: u32) -> Value {
        special(b, AXES[axis as usize][0])
    }

    fn num_programs(&self, b: &mut FunctionBuilder<'_>, axis: u32) -> Value {
        special(b, AXES[axis as usize][1])
    }

    fn block_id(&self, b: &mut FunctionBuilder<'_>) -> Value {
        special(b, &intrinsics::CLUSTER_CTARANK)
    }

    fn barrier(&self, b: &mut FunctionBuilder<'_>) {
        b.intrinsic_void(&intrinsics::BARRIER, &[]);
    }

    fn fence_reads(&self, b: &mut FunctionBuilder<'_>) {
        // Others have no copies that go past the ordinary accesses.
        if self.machine.bulk_copy {
            Instruction::new("fence.proxy.async.shared::cta").effect(b);
        }
    }

    fn has_roles(&self) -> bool {
        true
    }

    fn barrier_of(&self, b: &mut FunctionBuilder<'_>, number: u32, lanes: u32) {
        Instruction::new("bar.sync").constant(number).constant(lanes).effect(b);
    }

    fn arrive_at(
        &self,
        b: &mut FunctionBuilder<'_>,
        number: Value,
        lanes: u32,
        waits: bool,
        when: Option<Value>,
    ) {
        let arrive = Instruction::new(if waits { "bar.sync" } else { "bar.arrive" });
        arrive.register(number).constant(lanes).when(when).effect(b);
    }

    fn divides_registers(&self) -> bool {
        (90..120).contains(&self.capability)
    }

    fn set_registers(&self, b: &mut FunctionBuilder<'_>, count: u32, more: bool) {
        let how = if more { "inc" } else { "dec" };
        Instruction::new(format!("setmaxnreg.{how}.sync.aligned.u32")).constant(count).effect(b);
    }

    fn cluster_barrier(&self, b: &mut FunctionBuilder<'_>) {
        // The first releases what was written, the second acquires.
        b.intrinsic_void(&intrinsics::CLUSTER_ARRIVE, &[]);
        b.intrinsic_void(&intrinsics::CLUSTER_WAIT, &[]);
    }

    fn peer(&self, b: &mut FunctionBuilder<'_>, pointer: Value, block: Value) -> Value {
        let map = Instruction::new("mapa.shared::cluster.u32").results(Type::pointer(7), 1);
        map.register(pointer).register(block).pure(b)
    }

    fn warp_barrier(&self, b: &mut FunctionBuilder<'_>) {
        let members = b.i32(-1);
        b.intrinsic_void(&intrinsics::WARP_BARRIER, &[members]);
    }

    fn shuffle(&self, b: &mut FunctionBuilder<'_>, shuffle: Shuffle, value: Value) -> Value {
        let (intrinsic, by, clamp): (&Row, _, _) = match shuffle {
            Shuffle::Xor(bits) => (&intrinsics::SHUFFLE_XOR, b.i32(bits as i32), LANES as i32 - 1),
            Shuffle::Up(by) => (&intrinsics::SHUFFLE_UP, b.i32(by as i32), 0),
            Shuffle::Down(by) => (&intrinsics::SHUFFLE_DOWN, b.i32(by as i32), LANES as i32 - 1),
            Shuffle::Index(lane) => (&intrinsics::SHUFFLE_INDEX, lane, LANES as i32 - 1),
        };
        let [members, clamp] = [-1, clamp].map(|number| b.i32(number));
        b.intrinsic(intrinsic, Type::I32, &[members, value, by, clamp])
    }

    fn ballot(&self, b: &mut FunctionBuilder<'_>, condition: Value) -> Value {
        let members = b.i32(-1);
        b.intrinsic(&intrinsics::BALLOT, Type::I32, &[members, condition])
    }

    fn halves_exchanges(&self) -> bool {
        true
    }

    fn combine_lanes(&self, b: &mut FunctionBuilder<'_>, by: CombineLanes, value: Value) -> Option<Value> {
        let operation = match by {
            CombineLanes::Add => "add.s32",
            CombineLanes::Min => "min.s32",
            CombineLanes::Max => "max.s32",
            CombineLanes::UnsignedMin => "min.u32",
            CombineLanes::UnsignedMax => "max.u32",
            CombineLanes::And => "and.b32",
            CombineLanes::Or => "or.b32",
            CombineLanes::Xor => "xor.b32",
        };
        let members = b.i32(-1);
        let combine = Instruction::new(format!("redux.sync.{operation}")).results(Type::I32, 1);
        combine.register(value).register(members).reads(b)
    }

    fn load(&self, b: &mut FunctionBuilder<'_>, access: &Access, other: &[Value]) -> Values {
        memory::load(b, access, other)
    }

    fn store(&self, b: &mut FunctionBuilder<'_>, access: &Access, values: &[Value]) {
        memory::store(b, access, values);
    }

    fn async_copy(
        &self,
        b: &mut FunctionBuilder<'_>,
        to: (Value, i64),
        from: &Access,
        only: Option<Value>,
    ) -> bool {
        async_copy::copy(b, to, from, only)
    }

    fn async_commit(&self, b: &mut FunctionBuilder<'_>) {
        async_copy::commit(b);
    }

    fn async_wait(&self, b: &mut FunctionBuilder<'_>, pending: Pending) {
        async_copy::wait(b, pending.groups);
    }

    fn loads_rows(&self) -> bool {
        self.machine().matrix_load
    }

    fn load_rows(
        &self,
        b: &mut FunctionBuilder<'_>,
        from: (Value, i64),
        count: usize,
        transposed: bool,
    ) -> Values {
        memory::load_rows(b, from, count, transposed)
    }

    fn stores_rows(&self) -> bool {
        self.machine().matrix_store
    }

    fn store_rows(&self, b: &mut FunctionBuilder<'_>, to: (Value, i64), words: &[Value], transposed: bool) {
        memory::store_rows(b, to, words, transposed);
    }

    fn multiplier(&self, row: &MatrixRow, overflow: Overflow) -> Option<Box<Multiply>> {
        matrix::mma::multiplier(row, overflow)
    }

    fn atomic_width(&self, rmw: Rmw, element: Type) -> usize {
        atomic::width(self.capability, rmw, element)
    }

    fn atomic(
        &self,
        b: &mut FunctionBuilder<'_>,
        rmw: Rmw,
        access: &AtomicAccess,
        values: &[Value],
    ) -> Option<Values> {
        atomic::rmw(b, self.capability, rmw, access, values)
    }

    fn reductions(&self) -> Option<&dyn lanes::Reductions> {
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

    fn clock(&self, b: &mut FunctionBuilder<'_>) -> Option<Value> {
        Instruction::new("mov.u64").results(Type::I64, 1).special("%globaltimer").reads(b)
    }

    fn await_launch_before(&self, b: &mut FunctionBuilder<'_>) {
        if self.capability >= OVERLAPPING {
            b.intrinsic_void(&intrinsics::AWAIT_LAUNCH, &[]);
        }
    }

    fn release_launch_behind(&self, b: &mut FunctionBuilder<'_>) {
        if self.capability >= OVERLAPPING {
            b.intrinsic_void(&intrinsics::RELEASE_LAUNCH, &[]);
        }
    }

    fn print(&self, b: &mut FunctionBuilder<'_>, call: &PrintCall<'_>) {
        debug::print(b, call);
    }

    fn assert_fail(&self, b: &mut FunctionBuilder<'_>, place: &AssertPlace<'_>) {
        debug::assert_fail(b, place);
    }
}

impl ElementTarget for Lanes {
    fn register(&self, ty: ir::Type) -> Type {
        lanes::register(ty)
    }

    fn abilities(&self) -> Abilities {
        Abilities { halves_from_int: true, ..lanes::ABILITIES }
    }

    fn has_arithmetic(&self, kind: FloatKind) -> bool {
        match kind {
            FloatKind::F16 => true,
            FloatKind::BF16 => self.capability >= 80,
            _ => false,
        }
    }

    fn converts(&self, kind: FloatKind) -> bool {
        kind.bits() == 16
    }

    fn minmax(&self, ty: Type) -> MinMax {
        if ty == Type::F32 || ty == Type::F64 { MinMax::Ordered } else { MinMax::Compared }
    }

    fn minmax_nan(&self, b: &mut FunctionBuilder<'_>, max: bool, x: &[Value]) -> Option<Value> {
        let ty = b.ty(x[0]);
        let row = if max { &llir::intrinsics::MAXIMUM } else { &llir::intrinsics::MINIMUM };
        (ty == Type::F32 && self.capability >= 80).then(|| b.intrinsic(row, ty, x))
    }

    fn math(&self, b: &mut FunctionBuilder<'_>, function: Math, x: &[Value]) -> Option<Value> {
        math::exact(b, self, function, x)
    }

    fn fast_math(&self, b: &mut FunctionBuilder<'_>, name: &str, x: &[Value]) -> Option<Value> {
        math::fast(b, self.capability, name, x)
    }

    fn maths(&self) -> &dyn MathMachine {
        self
    }

    /// By a product of twice the bits where there is one. `ptxas` 12.8 to 13.5 makes one sum with a carry of `mul.hi`
    /// of 32 bits, widened, minus a number of 64 bits, and the result is wrong where the lower half of that number is
    /// 0.
    fn mul_high(&self, b: &mut FunctionBuilder<'_>, signed: bool, x: Value, y: Value) -> Value {
        let ty = b.ty(x);
        match (signed, ty.lane_bits() > 32) {
            (_, false) => mul_high_by_widening(b, signed, x, y),
            (true, true) => b.intrinsic(&intrinsics::MULHI_S64, ty, &[x, y]),
            (false, true) => b.intrinsic(&intrinsics::MULHI_U64, ty, &[x, y]),
        }
    }

    fn convert(
        &self,
        b: &mut FunctionBuilder<'_>,
        formats: (FloatKind, FloatKind),
        rounding: Rounding,
        value: Value,
    ) -> Option<Value> {
        convert::one(b, self.capability, formats, rounding, value)
    }

    fn bytes_converter(&self, from: Byte, to: FloatKind) -> Option<ConvertBytes> {
        convert::has_bytes(self.capability, from, to).then_some(convert::bytes)
    }
}

impl MathMachine for Lanes {
    fn has_fma(&self) -> bool {
        true
    }

    fn approximates(&self) -> bool {
        self.capability >= 80
    }

    fn approximate(&self, b: &mut FunctionBuilder<'_>, what: Approximation, x: Value) -> Value {
        b.intrinsic(math::approximation(what), Type::F32, &[x])
    }

    fn saturates(&self) -> bool {
        true
    }

    fn saturate(&self, b: &mut FunctionBuilder<'_>, x: Value) -> Value {
        b.intrinsic(&intrinsics::SATURATE, Type::F32, &[x])
    }

    fn exp2(&self, b: &mut FunctionBuilder<'_>, x: Value) -> Option<Value> {
        self.math(b, Math::Exp2, &[x])
    }

    fn mul_high(&self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        ElementTarget::mul_high(self, b, false, x, y)
    }
}
