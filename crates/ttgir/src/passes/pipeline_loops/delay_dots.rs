//! Makes dots an iteration later, beside the first dots of the next one.
//!
//! ```text
//! scf.for %i … iter_args(%x = %x0) {            scf.for %i … iter_args(%x, %r, %n = …) {
//!   %s = dot %q, %k[%j]                           %s = dot %q, %k[%j]
//!   %p, %a = what is computed from %s      =>     %y = dot %r, %v[%n], %x
//!   %y = dot %p, %v[%j], %x * %a                  %p, %a = what is computed from %s
//!   yield %y                                      yield %y * %a, %p, %j
//! }                                             }
//!                                               dot %r, %v[%n], %x
//! ```
//!
//! The first iteration stands in front of the loop without its later dot, all of it behind a branch where there may be no iteration.
//! What is computed from the first dots runs while the later ones are made. Taken are dots that need the result of another dot of
//! their iteration, add to a carried sum, and read buffers that copies fill ahead or memory from outside the loop. It costs the
//! registers of their left operands: what a lane then holds at once is counted, and a loop for which it is too much stays as
//! it is.

use super::copies::{carry, compare, place, yield_as};
use super::group_dots::{carried_number, make_wait, memory_of, wait_behind};
use super::plan::outlives_iteration;
use crate::Encoding;
use crate::ops::async_copy::{ASYNC_COMMIT_GROUP, ASYNC_COPY};
use crate::ops::barrier::BARRIER_EXPECT;
use crate::ops::group_dot::{WARP_GROUP_DOT, WarpGroupDotOp};
use crate::ops::shared::{MemdescIndexOp, MemdescTransOp};
use ir::{Block, Builder, Def, Module, Op, OpInit, Place, Traits, Value};
use layout::Dim;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use ttir::ops::arith_int::ADDI;
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::constant::{CONSTANT, attr_from_bits};
use ttir::ops::control::{ForOp, IF, YIELD};
use ttir::ops::reduce::REDUCE;
use ttir::types::{elem, elem_bytes, is_tensor, pointee, shape};

/// Registers of a lane that blocks may take. What else a loop needs is less than the rest of 255.
const MOST_REGISTERS: u64 = 176;

/// What is done to a loop.
pub(super) struct Delay {
    /// Dots that need nothing of other dots of their iteration; the first stands in front of the others.
    leading: Vec<Op>,
    /// Dots that are made an iteration later, with the number of the carried value that each becomes.
    delayed: Vec<(Op, usize)>,
    /// All others.
    others: Vec<Op>,
}

impl Delay {
    /// The dots of a loop that can be delayed, if that pays. `ring` are the views of buffers that copies fill ahead.
    pub(super) fn of(module: &Module, op: Op, ring: &FxHashSet<Value>) -> Option<Delay> {
        let body = ForOp::new(module, op).body();
        let dots: Vec<Op> = module.ops(body).filter(|&inner| module.is(inner, &WARP_GROUP_DOT)).collect();
        let all = module.walk(op).iter().filter(|&&inner| module.is(inner, &WARP_GROUP_DOT)).count();
        if dots.len() < 2 || all != dots.len() || !dots.iter().all(|&dot| is_plain(module, dot)) {
            return None;
        }
        let (mut leading, mut delayed, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for &dot in &dots {
            let of = WarpGroupDotOp::new(module, dot);
            let needs = Needs::of(module, body, &[of.a(), of.b()]);
            let is_chained = dots.iter().any(|other| needs.ops.contains(other));
            match carried_number(module, body, dot) {
                Some(number) if is_chained && can_wait(module, body, dot, ring) => {
                    delayed.push((dot, number));
                }
                Some(_) => return None,
                None if is_chained => others.push(dot),
                None => leading.push(dot),
            }
        }
        let delay = Delay { leading, delayed, others };
        delay.is_sound(module, body).then_some(())?;
        (delay.registers(module, body)? <= MOST_REGISTERS).then_some(delay)
    }

    /// Whether the leading dots can stand in front of everything that uses the sums of the delayed ones.
    fn is_sound(&self, module: &Module, body: Block) -> bool {
        let (Some(&first), false) = (self.leading.first(), self.delayed.is_empty()) else { return false };
        let sums: Vec<Value> =
            self.delayed.iter().map(|&(_, number)| module.args(body)[number + 1]).collect();
        let uses_sum = |op: Op| module.walk(op).iter().any(|&inner| uses_any(module.operands(inner), &sums));
        let mut before = module.ops(body).take_while(|&op| op != first);
        if before.any(uses_sum) || uses_sum(first) {
            return false;
        }
        self.leading.iter().skip(1).all(|&dot| {
            let needs = Needs::of(module, body, module.operands(dot));
            let moves = |op: Op| module.has(op, Traits::PURE) && module.regions(op).is_empty();
            !uses_any(&needs.carried, &sums)
                && behind(module, first, &needs.ops).into_iter().all(|op| moves(op) && !uses_sum(op))
        })
    }

    /// Registers of a lane that hold blocks while the delayed dots run, with their left operands.
    fn registers(&self, module: &Module, body: Block) -> Option<u64> {
        let carried = module.args(body)[1..].iter().copied();
        let left = self.delayed.iter().map(|&(dot, _)| WarpGroupDotOp::new(module, dot).a());
        let results = self.leading.iter().chain(&self.others).map(|&dot| module.result(dot, 0));
        carried.chain(left).chain(results).map(|value| registers_of(module, value)).sum()
    }

    /// Carries it out.
    pub(super) fn apply(&self, module: &mut Module, op: Op) {
        let body = ForOp::new(module, op).body();
        let last = self.gather(module, body);
        let carried = self.carry_operands(module, op, body);
        let then = self.split_first(module, op, body);
        let anchor = module.next(last).expect("a body ends in a terminator");
        let sums: Vec<Value> =
            self.delayed.iter().map(|&(_, number)| module.args(body)[number + 1]).collect();
        let made = self.repeat(&mut Builder::before(module, anchor), &sums, &carried);
        self.finish(module, op, then, &carried);
        for (&(dot, _), (&sum, &later)) in self.delayed.iter().zip(sums.iter().zip(&made)) {
            let product = module.result(later, 0);
            module.replace_uses_if(sum, product, |_, user, _| user != later);
            let next = WarpGroupDotOp::new(module, dot).c();
            yield_as(module, body, sum, next);
        }
        for &(dot, _) in &self.delayed {
            module.erase(dot);
        }
        sink(module, body, &made);
        let early: Vec<Op> = self.leading.iter().chain(&self.others).copied().collect();
        wait_for_each(module, body, &early);
        wait_for_delayed(module, body, &made);
    }

    /// Puts the first iteration in front of the loop, without the delayed dots, and both behind a branch that asks whether there
    /// is an iteration. Gives the block in which the loop then stands last.
    fn split_first(&self, module: &mut Module, op: Op, body: Block) -> Block {
        let of = ForOp::new(module, op);
        let (lower, upper, step) = (of.lower(), of.upper(), of.step());
        let inits = of.inits().to_vec();
        let results = module.results(op).to_vec();
        let mut builder = Builder::before(module, op);
        let has_any = compare(&mut builder, CmpIPredicate::Slt, lower, upper);
        let branch = make_branch(&mut builder, has_any, &results);
        for (slot, &result) in results.iter().enumerate() {
            let whole = builder.module.result(branch, slot);
            builder.module.replace_uses(result, whole);
        }
        let [then, otherwise] = [0, 1].map(|index| builder.module.region(branch, index));
        let then = builder.module.add_block(then);
        builder.place = Place::End(then);
        let args = builder.module.args(body).to_vec();
        let mut values: FxHashMap<Value, Value> =
            args.iter().copied().zip([lower].into_iter().chain(inits.iter().copied())).collect();
        let first = self.clone_first(&mut builder, body, &mut values);
        let second = builder.build(&ADDI, &[lower, step], &[]);
        builder.module.detach(op);
        builder.module.append(then, op);
        let operands: Vec<Value> = [second, upper, step].into_iter().chain(first).collect();
        builder.module.set_operands(op, &operands);
        builder.place = Place::End(builder.module.add_block(otherwise));
        builder.build_effect(&YIELD, &inits, &[]);
        let dots = self.leading.iter().chain(&self.others);
        let dots: Vec<Op> =
            dots.filter_map(|&dot| module.def_op(*values.get(&module.result(dot, 0))?)).collect();
        wait_for_each(module, then, &dots);
        then
    }

    /// The operations of the first iteration but for the delayed dots; gives what it hands on, with what those add to.
    fn clone_first(
        &self,
        builder: &mut Builder<'_>,
        body: Block,
        values: &mut FxHashMap<Value, Value>,
    ) -> Vec<Value> {
        let ops: Vec<Op> = builder.module.ops(body).collect();
        let (&last, ops) = ops.split_last().expect("a body ends in a terminator");
        let is_delayed = |op: Op| self.delayed.iter().any(|&(dot, _)| dot == op);
        for &inner in ops.iter().filter(|&&inner| !is_delayed(inner)) {
            let copy = builder.module.clone_op(inner, values);
            place(builder, copy);
        }
        let mut next = builder.module.operands(last).to_vec();
        for &(dot, number) in &self.delayed {
            next[number] = WarpGroupDotOp::new(builder.module, dot).c();
        }
        for value in &mut next {
            *value = values.get(value).copied().unwrap_or(*value);
        }
        next
    }

    /// The delayed dots with other sums and other values.
    fn repeat(&self, builder: &mut Builder<'_>, sums: &[Value], values: &FxHashMap<Value, Value>) -> Vec<Op> {
        self.delayed.iter().zip(sums).map(|(&(dot, _), &sum)| repeat(builder, dot, sum, values)).collect()
    }

    /// Puts the leading dots behind the first of them, with what they need; gives the last.
    fn gather(&self, module: &mut Module, body: Block) -> Op {
        let first = self.leading[0];
        let mut last = first;
        for &dot in &self.leading[1..] {
            let needs = Needs::of(module, body, module.operands(dot));
            for op in behind(module, last, &needs.ops).into_iter().chain([dot]) {
                module.detach(op);
                module.insert_after(last, op);
                last = op;
            }
        }
        last
    }

    /// Carries what the delayed dots read from one iteration to the next. Gives what stands for each value in the body.
    fn carry_operands(&self, module: &mut Module, op: Op, body: Block) -> FxHashMap<Value, Value> {
        let mut carried = FxHashMap::default();
        for &(dot, _) in &self.delayed {
            let of = WarpGroupDotOp::new(module, dot);
            for operand in [of.a(), of.b()] {
                let Some(value) = leaf(module, body, operand) else { continue };
                if carried.contains_key(&value) {
                    continue;
                }
                let ty = module.ty(value);
                let init = Builder::before(module, op).build_as(&CONSTANT, &[], &[attr_from_bits(ty, 0)], ty);
                let arg = carry(module, op, body, init);
                yield_as(module, body, arg, value);
                carried.insert(value, arg);
            }
        }
        carried
    }

    /// The delayed dots of the last iteration, behind the loop, at the end of a block that hands on its results.
    fn finish(&self, module: &mut Module, op: Op, then: Block, carried: &FxHashMap<Value, Value>) {
        let body = ForOp::new(module, op).body();
        let results = module.results(op).to_vec();
        let args = module.args(body)[1..].to_vec();
        let values: FxHashMap<Value, Value> = carried
            .iter()
            .filter_map(|(&value, arg)| Some((value, results[args.iter().position(|own| own == arg)?])))
            .collect();
        let sums: Vec<Value> = self.delayed.iter().map(|&(_, number)| results[number]).collect();
        let mut builder = Builder { loc: module.loc(op), place: Place::End(then), module };
        let dots = self.repeat(&mut builder, &sums, &values);
        let wait = wait_for(builder.module, &dots, &[]);
        place(&mut builder, wait);
        let mut next = results;
        for (slot, &(_, number)) in self.delayed.iter().enumerate() {
            next[number] = builder.module.result(wait, slot);
        }
        builder.build_effect(&YIELD, &next, &[]);
    }
}

/// Waits for each of some dots where its result is used first.
fn wait_for_each(module: &mut Module, block: Block, dots: &[Op]) {
    for &dot in dots {
        WarpGroupDotOp::set_is_async(module, dot, true);
        let Some(first) = first_user(module, block, &[dot]) else { continue };
        let between = module.ops(block).skip_while(|&op| op != dot).skip(1).take_while(|&op| op != first);
        let pendings = between.filter(|&op| module.is(op, &WARP_GROUP_DOT)).count() as u32;
        let wait = wait_behind(module, dot, pendings);
        module.move_before(first, wait);
    }
}

/// Waits for the delayed dots where a result is used first, at the latest where copies begin.
fn wait_for_delayed(module: &mut Module, body: Block, made: &[Op]) {
    let copies = first_copy(module, body, *made.last().expect("there are delayed dots"));
    let first = first_user(module, body, made);
    let at = module.ops(body).find(|&op| Some(op) == first || op == copies).expect("it is there");
    // Left operands of the next iteration are ready in front of the wait; the assembler would wait earlier to make them.
    let early: FxHashSet<Op> = module.ops(body).take_while(|&op| op != at).collect();
    let ready = |&value: &Value| {
        let is_operand = matches!(Encoding::of(module.ty(value)), Some(Encoding::DotOp { .. }));
        is_operand && module.def_op(value).is_some_and(|def| early.contains(&def))
    };
    let last = module.last_op(body).expect("a body ends in a terminator");
    let ready: Vec<Value> = module.operands(last).iter().copied().filter(ready).collect();
    let wait = wait_for(module, made, &ready);
    module.insert_before(at, wait);
}

/// What values need in the body.
struct Needs {
    ops: FxHashSet<Op>,
    /// Carried values of the body.
    carried: Vec<Value>,
}

impl Needs {
    fn of(module: &Module, body: Block, values: &[Value]) -> Needs {
        let mut needs = Needs { ops: FxHashSet::default(), carried: Vec::new() };
        let mut open = values.to_vec();
        while let Some(value) = open.pop() {
            match module.def(value) {
                Def::Result(op, _) if module.block_of(op) == Some(body) => {
                    if needs.ops.insert(op) {
                        for inner in module.walk(op) {
                            open.extend(module.operands(inner));
                        }
                    }
                }
                Def::Arg(block, _) if block == body => needs.carried.push(value),
                Def::Arg(..) | Def::Result(..) => {}
            }
        }
        needs
    }
}

/// Whether sums have a register each, and count.
fn is_plain(module: &Module, dot: Op) -> bool {
    let of = WarpGroupDotOp::new(module, dot);
    of.use_c().is_none() && elem_bytes(elem(module.ty(of.d()))) == 4
}

fn uses_any(operands: &[Value], values: &[Value]) -> bool {
    operands.iter().any(|operand| values.contains(operand))
}

/// Those operations of a body that stand behind another one, in order.
fn behind(module: &Module, first: Op, ops: &FxHashSet<Op>) -> Vec<Op> {
    std::iter::successors(module.next(first), |&op| module.next(op)).filter(|op| ops.contains(op)).collect()
}

/// Whether what a dot reads is still there an iteration later, and can be found again.
fn can_wait(module: &Module, body: Block, dot: Op, ring: &FxHashSet<Value>) -> bool {
    memory_of(module, dot).into_iter().all(|view| {
        let mut source = view;
        while let Some(def) = module.def_op(source).filter(|&def| module.block_of(def) == Some(body)) {
            let of = MemdescTransOp::of(module, def).map(MemdescTransOp::src);
            let Some(from) = of.or_else(|| Some(MemdescIndexOp::of(module, def)?.src())) else {
                return false;
            };
            source = from;
        }
        outlives_iteration(module, body, view, ring)
    })
}

/// What of an operand must be carried: the block itself, or the number of a buffer. Nothing if it comes from outside the loop.
fn leaf(module: &Module, body: Block, operand: Value) -> Option<Value> {
    let mut value = operand;
    loop {
        let def = match module.def(value) {
            Def::Result(def, _) if module.block_of(def) == Some(body) => def,
            Def::Arg(block, _) if block == body => return Some(value),
            Def::Arg(..) | Def::Result(..) => return None,
        };
        if let Some(view) = MemdescTransOp::of(module, def) {
            value = view.src();
        } else if let Some(view) = MemdescIndexOp::of(module, def) {
            value = view.index();
        } else {
            return Some(value);
        }
    }
}

/// An operand of a dot with other values in place of some; views are made anew.
fn earlier(
    builder: &mut Builder<'_>,
    value: Value,
    body: Block,
    values: &mut FxHashMap<Value, Value>,
) -> Value {
    if let Some(&known) = values.get(&value) {
        return known;
    }
    let Some(def) = builder.module.def_op(value).filter(|&def| builder.module.block_of(def) == Some(body))
    else {
        return value;
    };
    for operand in builder.module.operands(def).to_vec() {
        earlier(builder, operand, body, values);
    }
    let copy = builder.module.clone_op(def, values);
    place(builder, copy);
    builder.module.result(copy, 0)
}

/// A branch that gives values of the types of these; its regions are empty.
fn make_branch(builder: &mut Builder<'_>, condition: Value, like: &[Value]) -> Op {
    let init = OpInit {
        operands: SmallVec::from_slice(&[condition]),
        results: like.iter().map(|&value| builder.module.ty(value)).collect(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    builder.insert(&IF, init)
}

/// A dot like another one, with another sum and other values.
fn repeat(builder: &mut Builder<'_>, dot: Op, sum: Value, values: &FxHashMap<Value, Value>) -> Op {
    let body = builder.module.block_of(dot).expect("a dot of a body");
    let mut values = values.clone();
    builder.loc = builder.module.loc(dot);
    let of = WarpGroupDotOp::new(builder.module, dot);
    let [a, b] = [of.a(), of.b()].map(|operand| earlier(builder, operand, body, &mut values));
    let attrs = builder.module.attrs(dot).to_vec();
    let product = builder.build(&WARP_GROUP_DOT, &[a, b, sum], &attrs);
    let made = builder.module.def_op(product).expect("it was built");
    WarpGroupDotOp::set_is_async(builder.module, made, true);
    made
}

/// Puts what needs the sums of delayed dots behind all that does not, in front of the copies.
fn sink(module: &mut Module, body: Block, made: &[Op]) {
    let last = *made.last().expect("there are delayed dots");
    let copies = first_copy(module, body, last);
    let mut late: FxHashSet<Value> = made.iter().map(|&dot| module.result(dot, 0)).collect();
    let mut ops = Vec::new();
    for op in std::iter::successors(module.next(last), |&op| module.next(op)).take_while(|&op| op != copies) {
        let is_late = |inner: &Op| module.operands(*inner).iter().any(|operand| late.contains(operand));
        if !module.walk(op).iter().any(is_late) {
            continue;
        }
        if !module.has(op, Traits::PURE) && !module.is(op, &REDUCE) {
            return;
        }
        late.extend(module.results(op));
        ops.push(op);
    }
    for op in ops {
        module.move_before(copies, op);
    }
}

/// The first operation behind another one that begins copies, or the end of the body.
fn first_copy(module: &Module, body: Block, behind: Op) -> Op {
    let begins =
        |op: &Op| [&ASYNC_COPY, &ASYNC_COMMIT_GROUP, &BARRIER_EXPECT].iter().any(|row| module.is(*op, row));
    let found = std::iter::successors(module.next(behind), |&op| module.next(op)).find(begins);
    found.unwrap_or_else(|| module.last_op(body).expect("a body ends in a terminator"))
}

/// The first operation of a body, but for its end, that uses results of dots.
fn first_user(module: &Module, body: Block, dots: &[Op]) -> Option<Op> {
    let results: Vec<Value> = dots.iter().map(|&dot| module.result(dot, 0)).collect();
    let last = module.last_op(body);
    let uses = |op: Op| module.walk(op).iter().any(|&inner| uses_any(module.operands(inner), &results));
    module.ops(body).find(|&op| Some(op) != last && uses(op))
}

/// A wait for dots and for what they read, registers too: until then nothing else may be in them. It also hands on values that
/// the end of the body names.
fn wait_for(module: &mut Module, dots: &[Op], more: &[Value]) -> Op {
    let results: Vec<Value> = dots.iter().map(|&dot| module.result(dot, 0)).collect();
    let read = |&dot: &Op| {
        let of = WarpGroupDotOp::new(module, dot);
        [of.a(), of.b()]
    };
    let read: Vec<Value> = dots.iter().flat_map(read).collect();
    let inputs: Vec<Value> = results.iter().chain(&read).chain(more).copied().collect();
    let wait = make_wait(module, dots[0], &inputs, 0);
    for (slot, &value) in inputs.iter().enumerate() {
        let whole = module.result(wait, slot);
        if results.contains(&value) {
            module.replace_uses_if(value, whole, |_, user, _| user != wait);
        } else if more.contains(&value) {
            module.replace_uses_if(value, whole, |module, user, _| module.has(user, Traits::TERMINATOR));
        }
    }
    wait
}

/// Registers of a lane for a value: those of blocks of numbers.
fn registers_of(module: &Module, value: Value) -> Option<u64> {
    let ty = module.ty(value);
    if !is_tensor(ty) || pointee(elem(ty)).is_some() {
        return Some(0);
    }
    let encoding = Encoding::of(ty)?;
    let count = 1u64 << encoding.to_linear(shape(ty)).ins().bits(Dim::REGISTER);
    let bytes = elem_bytes(elem(ty));
    let packed = matches!(encoding, Encoding::DotOp { .. });
    Some(count * if packed { bytes } else { bytes.max(4) } / 4)
}
