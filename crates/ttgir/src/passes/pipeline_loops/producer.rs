//! The role that begins copies: it counts through the loops that have them, and asks the conditions around these.

use super::copies::{Rings, Values, begin_bulk, compare, integer, place};
use super::nest::{Body, Inner, Nest, Part};
use super::plan::PipelinePlan;
use crate::passes::bulk_copies::{barrier_at, wait};
use ir::{Attr, Block, Builder, Module, Op, OpInit, Place, Type, Value};
use smallvec::SmallVec;
use ttir::ops::arith_int::{ADDI, XORI};
use ttir::ops::compare::{CmpIPredicate, SELECT};
use ttir::ops::constant::CONSTANT;
use ttir::ops::control::{FOR, ForOp, IF, IfOp, YIELD, yielded};

/// The number of a buffer and the phase of its barrier.
type RingState = [Value; 2];

/// Fills a block that begins all copies of a nest. `empty` are the barriers of buffers that have been read.
pub(super) fn begin_copies(
    module: &mut Module,
    block: Block,
    nest: &Nest,
    (rings, empty): (&Rings, Value),
    slots: usize,
) {
    let end = module.terminator(block);
    let mut builder = Builder::before(module, end);
    let number = Type::int(32);
    let before_first = integer(&mut builder, number, -1);
    // The first time around the ring, the phase in front of the first one is over.
    let phase = integer(&mut builder, number, 1);
    let mut producer = Producer { builder, slots, rings, empty };
    let mut values = Values::default();
    producer.copy(&nest.between, &mut values);
    producer.parts(&nest.parts, &mut values, [before_first, phase]);
}

/// What makes the role.
struct Producer<'a, 'm> {
    builder: Builder<'m>,
    slots: usize,
    rings: &'a Rings,
    empty: Value,
}

impl Producer<'_, '_> {
    fn copy(&mut self, ops: &[Op], values: &mut Values) {
        for &op in ops {
            let copy = self.builder.module.clone_op(op, values);
            place(&mut self.builder, copy);
        }
    }

    fn parts(&mut self, parts: &[Part], values: &mut Values, state: RingState) -> RingState {
        parts.iter().fold(state, |state, part| self.part(part, values, state))
    }

    /// A loop or a condition like one of the nest that does nothing but begin copies; gives the number of the last
    /// buffer and the phase it was waited for in.
    fn part(&mut self, part: &Part, values: &mut Values, state: RingState) -> RingState {
        let copy = match IfOp::of(self.builder.module, part.op).map(IfOp::condition) {
            Some(condition) => self.condition(part, condition, values, state),
            None => self.a_loop(part, values, state),
        };
        let results = self.builder.module.results(copy);
        [results[results.len() - 2], results[results.len() - 1]]
    }

    fn condition(&mut self, part: &Part, condition: Value, values: &mut Values, state: RingState) -> Op {
        let condition = ir::mapped(values, condition);
        self.builder.loc = self.builder.module.loc(part.op);
        let ty = Type::int(32);
        let init = OpInit {
            operands: SmallVec::from_slice(&[condition]),
            results: SmallVec::from_slice(&[ty, ty]),
            attrs: SmallVec::new(),
            regions: 2,
        };
        let copy = self.builder.insert(&IF, init);
        for region in 0..2 {
            let block = self.builder.module.add_block(self.builder.module.region(copy, region));
            let bodies = part.bodies.get(region).map(std::slice::from_ref).unwrap_or_default();
            self.block(block, bodies, (&[], values), state);
        }
        copy
    }

    fn a_loop(&mut self, part: &Part, values: &mut Values, state: RingState) -> Op {
        let builder = &mut self.builder;
        let of = ForOp::new(builder.module, part.op);
        let get = |value: Value| ir::mapped(values, value);
        let carried = &part.bodies[0].ahead.carried;
        let inits = carried.iter().map(|&number| get(of.inits()[number])).chain(state);
        let operands: Vec<Value> =
            [of.lower(), of.upper(), of.step()].map(get).into_iter().chain(inits).collect();
        let old = builder.module.args(of.body()).to_vec();
        let (copy, args) = make_loop(builder, part.op, &operands);
        values.insert(old[0], args[0]);
        for (&number, &arg) in carried.iter().zip(&args[1..]) {
            values.insert(old[number + 1], arg);
        }
        let last = [args[args.len() - 2], args[args.len() - 1]];
        let block = ForOp::new(builder.module, copy).body();
        let next: Vec<Value> =
            carried.iter().map(|&number| yielded(builder.module, part.bodies[0].block)[number]).collect();
        self.block(block, &part.bodies, (&next, values), last);
        copy
    }

    /// Fills a block with what begins the copies of another one, if that is there; it yields what stands for some
    /// values, and the state.
    fn block(
        &mut self,
        block: Block,
        bodies: &[Body],
        (next, values): (&[Value], &mut Values),
        state: RingState,
    ) {
        let after = std::mem::replace(&mut self.builder.place, Place::End(block));
        let mut state = state;
        for body in bodies {
            self.copy(&body.ahead.slice, values);
            state = match &body.inner {
                Inner::Copies(plan) => self.copies(plan, values, state),
                Inner::Parts(parts) => self.parts(parts, values, state),
            };
        }
        let next = next.iter().map(|&next| ir::mapped(values, next));
        let next: Vec<Value> = next.chain(state).collect();
        self.builder.build_effect(&YIELD, &next, &[]);
        self.builder.place = after;
    }

    /// The copies of an iteration, once the buffer is empty.
    fn copies(&mut self, plan: &PipelinePlan, values: &mut Values, [before, phase]: RingState) -> RingState {
        let builder = &mut self.builder;
        let ty = Type::int(32);
        let [zero, one, slots] = [0, 1, self.slots as i64].map(|number| integer(builder, ty, number));
        let next = builder.build(&ADDI, &[before, one], &[]);
        let is_over = compare(builder, CmpIPredicate::Sge, next, slots);
        let index = builder.build(&SELECT, &[is_over, zero, next], &[]);
        let other = builder.build(&XORI, &[phase, one], &[]);
        let phase = builder.build(&SELECT, &[is_over, other, phase], &[]);
        let empty = barrier_at(builder, self.empty, index);
        wait(builder, empty, phase);
        let yes = builder.build_as(&CONSTANT, &[], &[Some(Attr::Bool(true))], Type::int(1));
        begin_bulk(builder, plan, self.rings, values, yes, index);
        [index, phase]
    }
}

/// A loop that carries what is given behind its bounds, with an empty body; and the arguments of that.
fn make_loop(builder: &mut Builder<'_>, like: Op, operands: &[Value]) -> (Op, Vec<Value>) {
    builder.loc = builder.module.loc(like);
    let types: Vec<Type> = operands.iter().map(|&value| builder.module.ty(value)).collect();
    let init = OpInit {
        operands: SmallVec::from_slice(operands),
        results: types[ForOp::NUM_BOUNDS..].iter().copied().collect(),
        attrs: SmallVec::new(),
        regions: 1,
    };
    let op = builder.insert(&FOR, init);
    let block = builder.module.add_block(builder.module.region(op, 0));
    let carried = &types[ForOp::NUM_BOUNDS..];
    let args = [&types[..1], carried].concat();
    let args = args.into_iter().map(|ty| builder.module.add_arg(block, ty)).collect();
    (op, args)
}
