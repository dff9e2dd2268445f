//! What several neighbours of a dot's operand share is loaded once: words of which each holds the weights of eight
//! rows, say.
//!
//! ```text
//! %p = addresses of 128×32 words,                       %q = the addresses of every eighth row
//!      the same for eight rows                     =>   %v = tt.load %q : tensor<16x32x!tt.ptr<i32>>
//! %w = tt.load %p : tensor<128x32x!tt.ptr<i32>>         %e = tt.expand_dims %v : … -> tensor<16x1x32xi32>
//!                                                       %b = tt.broadcast %e : … -> tensor<16x8x32xi32>
//!                                                       %w = tt.reshape %b : … -> tensor<128x32xi32>
//! ```
//!
//! Addresses and masks are computed anew for one element of each group. Only in loops, for what dots read: such
//! blocks are copied to shared memory ahead, with every element of them. Where all rows share one, that row alone is
//! loaded, and broadcast. Left alone: masks that may end within a group, and blocks whose addresses are themselves
//! loaded.

use crate::passes::{carry, feeds_dot, yield_as};
use ir::pass::PassRow;
use ir::{Builder, DeclaredKey, Def, Diagnostic, Module, Op, Place, Traits, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::axis::{self, AxisTable};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int::{ADDI, DIVSI, MULI, SHRSI, int_value};
use ttir::ops::constant::{self, splat_bits};
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::forms::BinaryOp;
use ttir::ops::func::{CONSTANCY, CONTIGUITY, DIVISIBILITY, functions};
use ttir::ops::shape::{
    BROADCAST, BroadcastOp, EXPAND_DIMS, ExpandDimsOp, MAKE_RANGE, MakeRangeOp, RESHAPE, SPLAT, SplatOp,
};
use ttir::types::{elem, is_tensor, shape, tensor};

/// Loads once what neighbours share.
pub(crate) static LOAD_ONCE: PassRow =
    PassRow { name: "load-once", doc: "Loads once what neighbours of a dot's operand share.", run };

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for function in functions(module).map(|function| function.op).collect::<Vec<Op>>() {
        let loads: Vec<Op> = module.walk(function).into_iter().filter(|&op| is_wanted(module, op)).collect();
        if loads.is_empty() {
            continue;
        }
        let axis = axis::analyze(module, function);
        for load in loads {
            if let Some((axis_of, group)) = shared(module, load, &axis) {
                load_once(module, load, &mut Thinned::new(&axis, axis_of, group));
            }
        }
    }
    Ok(())
}

/// Whether an operation loads a block in a loop, for a dot.
fn is_wanted(module: &Module, op: Op) -> bool {
    let mut around = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    AccessOp::load(module, op).is_some_and(|load| is_tensor(module.ty(load.ptr())) && !load.volatile())
        && around.any(|op| module.has(op, Traits::LOOP))
        && feeds_dot(module, None, op)
}

/// The axis along which most neighbours of a load share an address and all else that it reads, and how many do.
fn shared(module: &Module, load: Op, axis: &AxisTable) -> Option<(usize, i64)> {
    let of = AccessOp::new(module, load);
    let dims = shape(module.ty(of.ptr()));
    let inputs = [Some(of.ptr()), of.mask(), of.other()];
    let group = |dim: usize| {
        let equal = |&value: &Value| axis.info(module, value).sure_constancy(dim);
        inputs.iter().flatten().map(equal).min().map_or(1, |group| group as i64)
    };
    let (dim, group) = (0..dims.len()).map(|dim| (dim, group(dim))).max_by_key(|&(_, group)| group)?;
    let thinned = Thinned::new(axis, dim, group);
    let is_part = group > 1 && dims[dim] % group == 0;
    let are_thinned = || {
        let mut seen = FxHashSet::default();
        inputs.iter().flatten().all(|&value| thinned.can(module, value, dim, &mut seen))
    };
    (is_part && are_thinned()).then_some((dim, group))
}

fn load_once(module: &mut Module, load: Op, thinned: &mut Thinned<'_>) {
    let of = AccessOp::new(module, load);
    let (dim, group) = (thinned.dim, thinned.group);
    let inputs: Vec<Value> = [Some(of.ptr()), of.mask(), of.other()].into_iter().flatten().collect();
    let whole = module.result(load, 0);
    let ty = module.ty(whole);
    let mut values = FxHashMap::default();
    for value in inputs {
        let taken = thinned.take(module, value, dim);
        values.insert(value, taken);
    }
    let copy = module.clone_op(load, &mut values);
    drop_hints(module, copy);
    module.insert_before(load, copy);
    let one_each = module.result(copy, 0);
    module.set_ty(one_each, thinned.ty(ty, dim));
    let mut builder = Builder::before(module, load);
    if shape(ty)[dim] == group {
        let all = builder.build_as(&BROADCAST, &[one_each], &[], ty);
        module.replace_uses(whole, all);
        module.erase(load);
        return;
    }
    let expanded = builder.build(&EXPAND_DIMS, &[one_each], &ExpandDimsOp::attrs(dim + 1));
    let mut sizes = shape(builder.module.ty(expanded)).to_vec();
    sizes[dim + 1] = group;
    let several = builder.build_as(&BROADCAST, &[expanded], &[], tensor(&sizes, elem(ty)));
    let all = builder.build_as(&RESHAPE, &[several], &[None, None], ty);
    module.replace_uses(whole, all);
    module.erase(load);
}

/// Every `group`-th element of blocks along an axis.
struct Thinned<'a> {
    axis: &'a AxisTable,
    dim: usize,
    group: i64,
    /// What is known of a value along one of its axes.
    known: FxHashMap<(Value, usize), Value>,
}

impl<'a> Thinned<'a> {
    fn new(axis: &'a AxisTable, dim: usize, group: i64) -> Thinned<'a> {
        Thinned { axis, dim, group, known: FxHashMap::default() }
    }

    /// Whether a value has no elements to leave out.
    fn is_whole(module: &Module, value: Value, dim: usize) -> bool {
        !is_tensor(module.ty(value)) || shape(module.ty(value))[dim] == 1
    }

    /// Whether some elements of a value can be computed alone.
    fn can(&self, module: &Module, value: Value, dim: usize, seen: &mut FxHashSet<(Value, usize)>) -> bool {
        if Self::is_whole(module, value, dim) || !seen.insert((value, dim)) {
            return true;
        }
        let op = match module.def(value) {
            Def::Arg(..) => {
                let Some((_, init, next)) = carried(module, value) else { return false };
                return self.can(module, init, dim, seen) && self.can(module, next, dim, seen);
            }
            Def::Result(op, _) => op,
        };
        if let Some(attr) = module.constant(value) {
            return splat_bits(attr).is_some();
        }
        if let Some(expand) = ExpandDimsOp::of(module, op) {
            return self.can(module, expand.src(), below(dim, expand.axis()), seen);
        }
        if let Some(broadcast) = BroadcastOp::of(module, op) {
            return self.can(module, broadcast.src(), dim, seen);
        }
        let is_each = module.has(op, Traits::PURE.and(Traits::ELEMENTWISE)) && module.results(op).len() == 1;
        module.is(op, &MAKE_RANGE)
            || module.is(op, &SPLAT)
            || is_each && module.operands(op).iter().all(|&operand| self.can(module, operand, dim, seen))
    }

    /// Some elements of a value that [`Thinned::can`] be computed alone.
    fn take(&mut self, module: &mut Module, value: Value, dim: usize) -> Value {
        if Self::is_whole(module, value, dim) {
            return value;
        }
        if let Some(&known) = self.known.get(&(value, dim)) {
            return known;
        }
        let Def::Result(op, _) = module.def(value) else { return self.carry(module, value, dim) };
        let taken = self.quotient(module, op, dim).unwrap_or_else(|| self.compute(module, op, dim));
        self.known.insert((value, dim), taken);
        taken
    }

    fn carry(&mut self, module: &mut Module, value: Value, dim: usize) -> Value {
        let (op, init, next) = carried(module, value).expect("it can be computed alone");
        let body = ForOp::new(module, op).body();
        let init = self.take(module, init, dim);
        let arg = carry(module, op, body, init);
        self.known.insert((value, dim), arg);
        let next = self.take(module, next, dim);
        yield_as(module, body, arg, next);
        arg
    }

    /// The type of some elements of a block.
    fn ty(&self, ty: Type, dim: usize) -> Type {
        let mut sizes = shape(ty).to_vec();
        sizes[dim] /= self.group;
        tensor(&sizes, elem(ty))
    }

    fn compute(&mut self, module: &mut Module, op: Op, dim: usize) -> Value {
        let result = module.result(op, 0);
        let ty = self.ty(module.ty(result), dim);
        if let Some(bits) = module.constant(result).and_then(splat_bits) {
            return constant::build(&mut behind(module, op), ty, bits);
        }
        if let Some(splat) = SplatOp::of(module, op) {
            let src = splat.src();
            return behind(module, op).build_as(&SPLAT, &[src], &[], ty);
        }
        if let Some(expand) = ExpandDimsOp::of(module, op) {
            let (src, at) = (expand.src(), expand.axis());
            let src = self.take(module, src, below(dim, at));
            return behind(module, op).build(&EXPAND_DIMS, &[src], &ExpandDimsOp::attrs(at));
        }
        if let Some(broadcast) = BroadcastOp::of(module, op) {
            let src = broadcast.src();
            let src = self.take(module, src, dim);
            return behind(module, op).build_as(&BROADCAST, &[src], &[], ty);
        }
        if let Some(range) = MakeRangeOp::of(module, op) {
            let start = range.start();
            let group = self.group;
            let mut builder = behind(module, op);
            let numbers = count(&mut builder, 0, ty);
            let group = constant::int(&mut builder, ty, group);
            let numbers = builder.build(&MULI, &[numbers, group], &[]);
            let start = constant::int(&mut builder, ty, start.into());
            return builder.build(&ADDI, &[numbers, start], &[]);
        }
        let mut values = FxHashMap::default();
        for operand in module.operands(op).to_vec() {
            let taken = self.take(module, operand, dim);
            values.insert(operand, taken);
        }
        let copy = module.clone_op(op, &mut values);
        drop_hints(module, copy);
        let taken = module.result(copy, 0);
        module.set_ty(taken, ty);
        module.insert_before(module.next(op).expect("a terminator follows"), copy);
        taken
    }

    /// Some elements of a quotient by the size of the groups, as numbers that count up by one.
    fn quotient(&mut self, module: &mut Module, op: Op, dim: usize) -> Option<Value> {
        // Of unsigned ones a part may be larger than the whole.
        let by_number = module.is(op, &DIVSI);
        if !by_number && !module.is(op, &SHRSI) {
            return None;
        }
        let of = BinaryOp::new(module, op);
        let (number, by) = (of.lhs(), int_value(module, of.rhs())?);
        let by = if by_number { by } else { 1i64.checked_shl(u32::try_from(by).ok()?)? };
        if by != self.group || !self.is_exact(module, number, dim) {
            return None;
        }
        Some(self.divided(module, op, number, dim))
    }

    /// Whether what is taken of a value are multiples of the size of the groups, sums of which count up.
    fn is_exact(&self, module: &Module, value: Value, dim: usize) -> bool {
        let Some(op) = module.def_op(value) else { return false };
        let is_multiple = |number: i64| number % self.group == 0;
        if let Some(bits) = int_value(module, value) {
            return is_multiple(bits);
        }
        if let Some(range) = MakeRangeOp::of(module, op) {
            return is_multiple(range.start().into());
        }
        if let Some(splat) = SplatOp::of(module, op) {
            return self.axis.info(module, splat.src()).every(0).is_multiple_of(self.group as u64);
        }
        if let Some(expand) = ExpandDimsOp::of(module, op) {
            return shape(module.ty(value))[dim] > 1
                && self.is_exact(module, expand.src(), below(dim, expand.axis()));
        }
        module.is(op, &ADDI) && module.operands(op).iter().all(|&part| self.is_exact(module, part, dim))
    }

    /// What is taken of a part of a quotient's numerator, divided as the whole is.
    fn divided(&self, module: &mut Module, quotient: Op, value: Value, dim: usize) -> Value {
        let op = module.def_op(value).expect("it is exact");
        let ty = self.ty(module.ty(value), dim);
        if let Some(number) = int_value(module, value) {
            return constant::int(&mut behind(module, op), ty, number / self.group);
        }
        if let Some(range) = MakeRangeOp::of(module, op) {
            let start = range.start() / self.group as i32;
            return count(&mut behind(module, op), start, ty);
        }
        if let Some(splat) = SplatOp::of(module, op) {
            let src = splat.src();
            let row = module.row(quotient);
            let by = int_value(module, BinaryOp::new(module, quotient).rhs()).expect("it was asked");
            let mut builder = behind(module, op);
            let scalar = builder.module.ty(src);
            let by = constant::int(&mut builder, scalar, by);
            let part = builder.build(row, &[src, by], &[]);
            return builder.build_as(&SPLAT, &[part], &[], ty);
        }
        if let Some(expand) = ExpandDimsOp::of(module, op) {
            let (src, at) = (expand.src(), expand.axis());
            let src = self.divided(module, quotient, src, below(dim, at));
            return behind(module, op).build(&EXPAND_DIMS, &[src], &ExpandDimsOp::attrs(at));
        }
        let parts = module.operands(op).to_vec();
        let parts: Vec<Value> =
            parts.into_iter().map(|part| self.divided(module, quotient, part, dim)).collect();
        behind(module, op).build(&ADDI, &parts, &[])
    }
}

/// An axis of a block before another one was inserted.
fn below(dim: usize, inserted: usize) -> usize {
    if dim > inserted { dim - 1 } else { dim }
}

/// `start, start + 1, …`, as a block of one axis.
fn count(builder: &mut Builder<'_>, start: i32, ty: Type) -> Value {
    let end = start + shape(ty)[0] as i32;
    builder.build_as(&MAKE_RANGE, &[], &MakeRangeOp::attrs(end, start), ty)
}

/// What a program says of the elements of a block.
static HINTS: [&DeclaredKey; 3] = [&CONTIGUITY, &CONSTANCY, &DIVISIBILITY];

/// What was said of all elements need not hold of some.
fn drop_hints(module: &mut Module, op: Op) {
    for key in HINTS {
        module.set_extra(op, key.key(), None);
    }
}

/// A builder behind an operation.
fn behind(module: &mut Module, op: Op) -> Builder<'_> {
    let (loc, next) = (module.loc(op), module.next(op).expect("a terminator follows"));
    Builder { loc, place: Place::Before(next), module }
}

/// The loop that carries a value, what the value is at first, and what it becomes.
fn carried(module: &Module, value: Value) -> Option<(Op, Value, Value)> {
    let Def::Arg(block, index) = module.def(value) else { return None };
    let op = module.region_parent(module.block_region(block)).filter(|&op| module.is(op, &FOR))?;
    let number = (index as usize).checked_sub(1)?;
    let next = *module.operands(module.terminator(block)).get(number)?;
    Some((op, ForOp::new(module, op).inits()[number], next))
}
