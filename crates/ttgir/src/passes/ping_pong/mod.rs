//! Two groups of four warps that run a loop with one dot half an iteration apart: one loads while the other multiplies.
//!
//! ```text
//!                                             ttg.barrier ; the second group: a barrier
//! scf.for … {                                 scf.for … {
//!   loads of memory and of operands             loads of memory, and of a slice of both operands
//!   tt.dot                               =>     ttg.barrier ; tt.dot of the slice ; ttg.barrier
//! }                                             and so on, slice after slice
//!                                             }
//!                                             the first group: a barrier
//! ```
//!
//! The second group is one barrier behind. So of the two warps that a SIMD holds one multiplies, with priority, while
//! the other one accesses memory, and neither waits for the other's instructions. Nothing moves across the barriers.
//! [`staged`] are loops whose loads go through registers, [`direct`] those whose copies pass by them; each says why no
//! group overwrites what the other still reads.
//!
//! Left out: other numbers of warps, loops with more than one dot, with other accesses of memory or with conditions,
//! dots that are too small, or whose slices would be shorter than what lanes read at a time.

mod direct;
mod staged;

use super::context::Context;
use crate::ops::schedule::{
    COND_BARRIER, LANE_ID, MayCross, SCHED_BARRIER, SET_PRIORITY, SchedBarrierOp, SetPriorityOp,
};
use crate::ops::shared::{MEMDESC_SUBSLICE, MemdescSubsliceOp, load_from};
use crate::types::{TOKEN_ONLY, memdesc, memdesc_part_type};
use crate::{Encoding, SharedEncoding};
use ir::pass::PassRow;
use ir::{Attr, Builder, Diagnostic, Effect, LayoutRule, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant::CONSTANT;
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::dot::MatmulOp;
use ttir::ops::memory::{BARRIER, BarrierOp, BarrierScope};
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS};
use ttir::types::{elem, elem_bytes, is_tensor, shape, tensor};

/// Lets two groups of warps run loops with one dot half an iteration apart.
pub static PING_PONG: PassRow = PassRow {
    name: "ping-pong",
    doc: "Lets two groups of four warps run a loop with one dot half an iteration apart.",
    run,
};

/// Warps of each of the two groups.
const GROUP: u32 = 4;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let Some(least) = context.machine.ping_pong else { return Ok(()) };
    if context.config.num_warps != 2 * GROUP || context.config.num_ctas > 1 {
        return Ok(());
    }
    // Where a machine copies past the registers, loops of fewer stages are those with less to hide.
    let copies = context.machine.direct_stages != u32::MAX;
    for op in module.walk(module.top()) {
        if !module.is(op, &FOR) {
            continue;
        }
        let is_woven = if copies { direct::weave(module, op) } else { staged::weave(module, op, least) };
        if is_woven {
            begin_apart(module, op, GROUP * context.config.threads_per_warp);
        }
    }
    Ok(())
}

/// A dot, the operations that read its operands from shared memory, and in how many parts it is made along its sums.
#[derive(Clone, Copy)]
struct Sliced {
    dot: Op,
    reads: [Op; 2],
    slices: i64,
}

impl Sliced {
    /// The one dot of a loop, if these are what reads its operands, and slices of them can be read.
    fn of(module: &Module, dots: &[Op], reads: &[Op], slices: impl Fn(u64) -> Option<i64>) -> Option<Sliced> {
        let (&[dot], 2) = (dots, reads.len()) else { return None };
        // What has scales has more operands.
        let of = MatmulOp::of(module, dot).filter(|_| module.operands(dot).len() == 3)?;
        let reads = [read_for(module, of.a(), reads)?, read_for(module, of.b(), reads)?];
        let slices = slices(work(module, of)?)?;
        let fits = (0..2).all(|side| slice_fits(module, reads[side], side, slices));
        fits.then_some(Sliced { dot, reads, slices })
    }

    /// The memory that the operands are read from.
    fn memory(&self, module: &Module) -> [Value; 2] {
        self.reads.map(|read| memory_of(module, read).expect("it reads memory"))
    }
}

/// The shared memory that an operation reads all of, if it does nothing else.
fn memory_of(module: &Module, op: Op) -> Option<Value> {
    let read = module.row(op).operands.iter().position(|operand| matches!(operand.effect, Effect::Read))?;
    let &[memory] = module.operand_group(op, read) else { return None };
    let mut others = module.operands(op).iter().filter(|&&value| value != memory);
    let is_plain = others.all(|&other| (TOKEN_ONLY.check)(module.ty(other)));
    (is_plain && memdesc(module.ty(memory)).is_some()).then_some(memory)
}

/// The operation that reads an operand of the dot, for nobody else.
fn read_for(module: &Module, operand: Value, reads: &[Op]) -> Option<Op> {
    let read = module.def_op(operand).filter(|def| reads.contains(def))?;
    (module.uses(operand).len() == 1).then_some(read)
}

/// Rows × columns × length of the sums × bits of an element.
fn work(module: &Module, dot: MatmulOp<'_>) -> Option<u64> {
    let (a, b) = (module.ty(dot.a()), module.ty(dot.b()));
    let ([rows, k], [_, columns]) = (shape(a), shape(b)) else { return None };
    Some(u64::try_from(rows * columns * k).ok()? * 8 * elem_bytes(elem(a)))
}

/// Whether an operand (0 or 1) can be read in so many parts along the sums: each must be as long at least as what the
/// lanes of an instruction hold of it.
fn slice_fits(module: &Module, read: Op, side: usize, slices: i64) -> bool {
    let ty = module.ty(module.result(read, 0));
    let Some(Encoding::DotOp { parent, k_width, .. }) = Encoding::of(ty) else { return false };
    let Encoding::Fragments(fragments) = &**parent else { return false };
    let few = fragments.instr_shape.iter().take(2).copied().min().unwrap_or(0);
    let held = i64::from(k_width * fragments.lanes_along_k(few));
    let source = memory_of(module, read).and_then(|memory| memdesc(module.ty(memory)));
    let is_whole = source.is_some_and(|memory| memory.shape == memory.alloc_shape);
    let k = shape(ty)[1 - side];
    is_whole && k % slices == 0 && k / slices >= held
}

/// Whether an operation needs nothing but registers of its lanes.
fn only_computes(module: &Module, op: Op) -> bool {
    let in_registers = module.row(op).layout == LayoutRule::Same
        || module.has(op, Traits::SOURCE)
        || [&BROADCAST, &EXPAND_DIMS].iter().any(|row| module.is(op, row))
        || module.results(op).iter().all(|&value| !is_tensor(module.ty(value)));
    let is_pure = module.has(op, Traits::PURE) && module.regions(op).is_empty();
    module.has(op, Traits::TERMINATOR) || is_pure && in_registers
}

/// Builds in front of the dot of a loop what comes in its place.
struct Weaver<'m> {
    builder: Builder<'m>,
    of: Sliced,
    /// The sums so far.
    sums: Value,
}

impl<'m> Weaver<'m> {
    fn new(module: &'m mut Module, of: Sliced) -> Weaver<'m> {
        let sums = MatmulOp::new(module, of.dot).c();
        Weaver { builder: Builder::before(module, of.dot), of, sums }
    }

    /// Puts an operation here that is nowhere yet.
    fn put_new(&mut self, op: Op) {
        self.builder.module.insert_before(self.of.dot, op);
    }

    /// Moves an operation here.
    fn put(&mut self, op: Op) {
        self.builder.module.move_before(self.of.dot, op);
    }

    /// Reads a slice of both operands.
    fn read(&mut self, number: i64) -> [Value; 2] {
        [0, 1].map(|side| {
            let module = &*self.builder.module;
            let from = self.of.memory(module)[side];
            let whole = module.ty(module.result(self.of.reads[side], 0));
            let memory = memdesc(module.ty(from)).expect("verified: it is read from memory");
            let encoding =
                memory.encoding.data::<SharedEncoding>().expect("verified: memory has an encoding");
            let mut part = shape(whole).to_vec();
            part[1 - side] /= self.of.slices;
            let mut offsets = [0; 2];
            offsets[1 - side] = part[1 - side] * number;
            let of_part = memdesc_part_type(&part, memory.elem, encoding, memory.mutable, memory.alloc_shape);
            let attrs = MemdescSubsliceOp::attrs(&offsets);
            let slice = match self.of.slices {
                1 => from,
                _ => self.builder.build_as(&MEMDESC_SUBSLICE, &[from], &attrs, of_part),
            };
            load_from(&mut self.builder, slice, None, like(whole, &part))
        })
    }

    /// Multiplies a slice between two barriers.
    fn multiply(&mut self, slice: [Value; 2]) {
        self.multiply_last(slice);
        end_turn(&mut self.builder);
    }

    /// Multiplies a slice behind a barrier.
    fn multiply_last(&mut self, [a, b]: [Value; 2]) {
        end_turn(&mut self.builder);
        self.builder.build_effect(&SET_PRIORITY, &[], &SetPriorityOp::attrs(1));
        let module = &mut *self.builder.module;
        let part = module.clone_op(self.of.dot, &mut FxHashMap::default());
        module.set_operands(part, &[a, b, self.sums]);
        self.sums = module.result(part, 0);
        self.put_new(part);
        self.builder.build_effect(&SET_PRIORITY, &[], &SetPriorityOp::attrs(0));
    }

    /// Puts what was built in the place of the dot, and a barrier at the end of the loop.
    fn finish(self, op: Op) {
        let Weaver { builder: Builder { module, .. }, of, sums } = self;
        module.replace_uses(module.result(of.dot, 0), sums);
        module.erase(of.dot);
        of.reads.iter().for_each(|&read| module.erase(read));
        let last = module.terminator(ForOp::new(module, op).body());
        end_turn(&mut Builder::before(module, last));
    }
}

/// A block of another shape, of the same elements in the same encoding.
fn like(ty: Type, shape: &[i64]) -> Type {
    let encoding = Encoding::of(ty).expect("verified: an operand of a dot has an encoding");
    crate::replace_encoding(tensor(shape, elem(ty)), encoding)
}

/// All warps wait, and nothing moves across.
fn end_turn(builder: &mut Builder<'_>) {
    builder.build_effect(&BARRIER, &[], &BarrierOp::attrs(BarrierScope::Local));
    fence(builder);
}

/// Nothing moves across.
fn fence(builder: &mut Builder<'_>) {
    builder.build_effect(&SCHED_BARRIER, &[], &SchedBarrierOp::attrs(MayCross::None));
}

/// Lets the second group of so many lanes come to the loop one barrier later, and the first one wait for it behind.
fn begin_apart(module: &mut Module, op: Op, lanes: u32) {
    let mut builder = Builder::before(module, op);
    builder.build_effect(&BARRIER, &[], &BarrierOp::attrs(BarrierScope::Local));
    let ty = Type::int(32);
    let lane = builder.build_as(&LANE_ID, &[], &[], ty);
    let first = builder.build_as(&CONSTANT, &[], &[Some(Attr::int(i64::from(lanes), ty))], ty);
    let is_second = builder.build(&CMPI, &[lane, first], &CmpIOp::attrs(CmpIPredicate::Uge));
    let is_first = builder.build(&CMPI, &[lane, first], &CmpIOp::attrs(CmpIPredicate::Ult));
    builder.build_effect(&COND_BARRIER, &[is_second], &[]);
    let behind = module.next(op).expect("a loop is followed by a terminator");
    Builder::before(module, behind).build_effect(&COND_BARRIER, &[is_first], &[]);
}
