//! Copies for the next iteration of an outer loop, begun while the inner loop of this one goes on.
//!
//! ```text
//! scf.for %tile … {                         begin the copies of the first steps of the first tile
//!   %row = f(%tile)                         scf.for %tile … {
//!   scf.for %k … {                            scf.for %k … {
//!     %a = load [%row, %k]             =>       wait for the copy of this step ; use(%a)
//!     use(%a)                                   begin the copy of a later step: of this tile, or of the next one
//!   }                                         }
//!   store                                     store
//! }                                         }
//! ```
//!
//! What is begun next is a state of its own, carried by both loops: a counter and addresses of the outer loop, a
//! counter and addresses of the inner one, and whether there is such a step at all. The buffers and the phases of their
//! barriers go on from tile to tile.
//!
//! Only where the outer loop says `tt.flatten`: its iterations do not read what earlier ones write. Left out: copies by
//! lanes, inner loops whose bounds change from tile to tile, addresses that are loaded.

use super::copies::{Rings, Values, begin, compare, copy_slice, integer};
use super::plan::{AddressSlice, PipelinePlan, reads};
use crate::from_ttir::is_written;
use crate::passes::carried::{carry_through, yield_as};
use ir::{Block, Builder, Module, Op, OpInit, Place, Traits, Type, Value};
use smallvec::SmallVec;
use ttir::ops::arith_int::{ADDI, ANDI};
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::control::{FLATTEN, FOR, ForOp, IF, YIELD};
use ttir::ops::descriptor::DescriptorAccessOp;

/// A loop around a loop, for whose next iteration copies are begun.
pub(super) struct Outer {
    /// The loop.
    pub(super) op: Op,
    body: Block,
    /// What the addresses of the inner loop need of an iteration of this one.
    needs: Vec<Value>,
    /// What these depend on.
    ahead: AddressSlice,
}

/// What is begun next.
#[derive(Clone)]
struct Next {
    /// Counter and carried values of the outer loop, those that are computed ahead.
    outer: Vec<Value>,
    /// What the addresses of the inner loop need of that iteration.
    needs: Vec<Value>,
    /// Counter and carried values of the inner loop, those that are computed ahead.
    inner: Vec<Value>,
    /// Whether there is anything to begin.
    is_there: Value,
}

impl Outer {
    /// The loop around a loop, if the plan for it can be carried out across its iterations.
    pub(super) fn of(module: &Module, op: Op, plan: &PipelinePlan) -> Option<Outer> {
        let outer = module.parent_op(op).filter(|&parent| module.is(parent, &FOR))?;
        let says = module.extra_attr(outer, FLATTEN.name).is_some();
        let inside = |value: Value| !module.is_outside(value, outer);
        let bounds = &module.operands(op)[..ForOp::NUM_BOUNDS];
        let bulk = plan.copies.iter().all(|copy| copy.bulk);
        if !says || !bulk || bounds.iter().any(|&bound| inside(bound)) {
            return None;
        }
        for copy in &plan.copies {
            let desc = DescriptorAccessOp::new(module, copy.load).desc();
            if inside(desc) || is_written(module, desc) {
                return None;
            }
        }
        let body = ForOp::new(module, outer).body();
        let needs = needs(module, op, outer, plan);
        let ahead = AddressSlice::of_values(module, body, &needs)?;
        let is_pure = ahead.slice.iter().all(|&inner| module.has(inner, Traits::PURE));
        is_pure.then_some(Outer { op: outer, body, needs, ahead })
    }
}

/// The values of an outer loop that the addresses of an inner one depend on.
fn needs(module: &Module, op: Op, outer: Op, plan: &PipelinePlan) -> Vec<Value> {
    let of = ForOp::new(module, op);
    let indices =
        plan.copies.iter().flat_map(|copy| DescriptorAccessOp::new(module, copy.load).indices().to_vec());
    let slice = plan.ahead.slice.iter().flat_map(|&inner| reads(module, inner));
    let inits = plan.ahead.carried.iter().map(|&number| of.inits()[number]);
    let yields = plan.ahead.carried.iter().map(|&number| of.yielded()[number]);
    let mut needs: Vec<Value> = Vec::new();
    for value in indices.chain(slice).chain(inits).chain(yields) {
        let is_own = !module.is_outside(value, op);
        if !module.is_outside(value, outer) && !is_own && !needs.contains(&value) {
            needs.push(value);
        }
    }
    needs
}

impl Next {
    /// The first step of the first iteration.
    fn first(builder: &mut Builder<'_>, op: Op, plan: &PipelinePlan, outer: &Outer) -> Next {
        let of = ForOp::new(builder.module, outer.op);
        let (lower, upper) = (of.lower(), of.upper());
        let inits = outer.ahead.carried.iter().map(|&number| of.inits()[number]);
        let state: Vec<Value> = std::iter::once(lower).chain(inits).collect();
        let inner = ForOp::new(builder.module, op);
        let bounds = [inner.lower(), inner.upper()];
        let has_tiles = compare(builder, CmpIPredicate::Slt, lower, upper);
        let has_steps = compare(builder, CmpIPredicate::Slt, bounds[0], bounds[1]);
        let is_there = builder.build(&ANDI, &[has_tiles, has_steps], &[]);
        Next::start_of(builder, op, plan, outer, state, is_there)
    }

    /// The first step of an iteration of the outer loop.
    fn start_of(
        builder: &mut Builder<'_>,
        op: Op,
        plan: &PipelinePlan,
        outer: &Outer,
        state: Vec<Value>,
        is_there: Value,
    ) -> Next {
        let mut values = outer.values(builder.module, &state);
        copy_slice(builder, &outer.ahead.slice, &mut values, is_there);
        let get = |value: &Value| ir::mapped(&values, *value);
        let needs = outer.needs.iter().map(get).collect();
        let inner = ForOp::new(builder.module, op);
        let inits = plan.ahead.carried.iter().map(|&number| get(&inner.inits()[number]));
        let inner = std::iter::once(inner.lower()).chain(inits).collect();
        Next { outer: state, needs, inner, is_there }
    }

    /// Begins the copies, and says what is begun next.
    fn begin(
        &self,
        builder: &mut Builder<'_>,
        op: Op,
        (plan, outer): (&PipelinePlan, &Outer),
        (rings, index): (&Rings, Value),
    ) -> Next {
        let of = ForOp::new(builder.module, op);
        let (upper, step, body) = (of.upper(), of.step(), of.body());
        let args = builder.module.args(body).to_vec();
        let yielded: Vec<Value> = plan.ahead.carried.iter().map(|&number| of.yielded()[number]).collect();
        let mut values: Values = outer.needs.iter().copied().zip(self.needs.iter().copied()).collect();
        values.insert(args[0], self.inner[0]);
        for (&number, &state) in plan.ahead.carried.iter().zip(&self.inner[1..]) {
            values.insert(args[number + 1], state);
        }
        begin(builder, plan, rings, &mut values, self.is_there, index);
        builder.loc = builder.module.loc(op);
        let counter = builder.build(&ADDI, &[self.inner[0], step], &[]);
        let carried = yielded.iter().map(|&next| ir::mapped(&values, next));
        let inner = std::iter::once(counter).chain(carried).collect();
        let step = Next { inner, ..self.clone() };
        let is_over = compare(builder, CmpIPredicate::Sge, counter, upper);
        either(builder, is_over, |builder| self.next_tile(builder, op, plan, outer), &step)
    }

    /// The first step of the next iteration of the outer loop.
    fn next_tile(&self, builder: &mut Builder<'_>, op: Op, plan: &PipelinePlan, outer: &Outer) -> Next {
        let of = ForOp::new(builder.module, outer.op);
        let (upper, step) = (of.upper(), of.step());
        let yielded: Vec<Value> = outer.ahead.carried.iter().map(|&number| of.yielded()[number]).collect();
        let mut values = outer.values(builder.module, &self.outer);
        copy_slice(builder, &outer.ahead.slice, &mut values, self.is_there);
        let counter = builder.build(&ADDI, &[self.outer[0], step], &[]);
        let carried = yielded.iter().map(|&next| ir::mapped(&values, next));
        let state = std::iter::once(counter).chain(carried).collect();
        let is_left = compare(builder, CmpIPredicate::Slt, counter, upper);
        // Behind the last tile the counter may wrap.
        let is_there = builder.build(&ANDI, &[self.is_there, is_left], &[]);
        Next::start_of(builder, op, plan, outer, state, is_there)
    }

    fn values(&self) -> Vec<Value> {
        [&self.outer[..], &self.needs, &self.inner, &[self.is_there]].concat()
    }

    /// The same with other values.
    fn with(&self, values: &[Value]) -> Next {
        let (outer, rest) = values.split_at(self.outer.len());
        let (needs, rest) = rest.split_at(self.needs.len());
        let (inner, rest) = rest.split_at(self.inner.len());
        Next { outer: outer.into(), needs: needs.into(), inner: inner.into(), is_there: rest[0] }
    }
}

impl Outer {
    /// What stands for the arguments of the body in an iteration.
    fn values(&self, module: &Module, state: &[Value]) -> Values {
        let args = module.args(self.body);
        let carried = self.ahead.carried.iter().map(|&number| args[number + 1]);
        std::iter::once(args[0]).chain(carried).zip(state.iter().copied()).collect()
    }
}

/// Begins the copies of the first steps in front of both loops, and those of later ones at the end of the inner loop's
/// body.
pub(super) fn begin_all(
    module: &mut Module,
    op: Op,
    (plan, outer): (&PipelinePlan, &Outer),
    rings: &Rings,
    fills: impl FnOnce(&mut Builder<'_>) -> Value,
) {
    let mut builder = Builder::before(module, outer.op);
    let mut next = Next::first(&mut builder, op, plan, outer);
    for stage in 0..plan.distance {
        let index = integer(&mut builder, Type::int(32), (stage % plan.slots) as i64);
        next = next.begin(&mut builder, op, (plan, outer), (rings, index));
    }
    let body = ForOp::new(module, op).body();
    let args: Vec<Value> =
        next.values().iter().map(|&init| carry_through(module, &[outer.op, op], init)).collect();
    let last = ForOp::new(module, op).terminator();
    let mut builder = Builder::before(module, last);
    let index = fills(&mut builder);
    let later = next.with(&args).begin(&mut builder, op, (plan, outer), (rings, index));
    for (&arg, value) in args.iter().zip(later.values()) {
        yield_as(module, body, arg, value);
    }
}

/// What is next where a condition holds, and where it does not.
fn either(
    builder: &mut Builder<'_>,
    condition: Value,
    then: impl FnOnce(&mut Builder<'_>) -> Next,
    otherwise: &Next,
) -> Next {
    let values = otherwise.values();
    let init = OpInit {
        operands: SmallVec::from_slice(&[condition]),
        results: values.iter().map(|&value| builder.module.ty(value)).collect(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let branch = builder.insert(&IF, init);
    let behind = builder.place;
    let [first, second] =
        [0, 1].map(|region| builder.module.add_block(builder.module.region(branch, region)));
    builder.place = Place::End(first);
    let next = then(builder).values();
    builder.build_effect(&YIELD, &next, &[]);
    builder.place = Place::End(second);
    builder.build_effect(&YIELD, &values, &[]);
    builder.place = behind;
    let results = builder.module.results(branch).to_vec();
    otherwise.with(&results)
}
