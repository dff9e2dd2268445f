//! Puts loads from shared memory a step in front of the dots that use them.
//!
//! Input: `all loads; all dots`. Output:
//! `loads of step 0; loads of step 1; dots of step 0; loads of step 2; dots of step 1; …`, with marks between
//! the groups that keep a code generator from mixing them, and that say how many loads may still be under way. A step
//! is as many dots as need a few loads: fewer values are alive at a time than if all loads came first, and each has
//! a step of dots to arrive in. Stores to shared memory of what a block has loaded from memory are put in two
//! groups likewise.
//!
//! Elsewhere a few loads that follow each other are waited for together.
//!
//! A target says what its dots, loads and marks are ([`Groups`]). Left out: blocks with only one step.

use crate::constant::Constant;
use crate::flags::Flags;
use crate::function::{Block, Function, Inst, InstData, Payload, Value};
use crate::intrinsics::{Intrinsic, Purity};
use crate::module::{Callee, Module};
use crate::rows::{Effect, Op};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// What stands between groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Nothing moves across.
    Fence,
    /// Waits until at most so many loads from shared memory are under way.
    SharedLoads(u32),
    /// Waits until at most so many loads from memory are under way.
    Loads(u32),
}

/// The call of a mark: an intrinsic and constants.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkCall {
    /// What is called.
    pub intrinsic: &'static Intrinsic,
    /// Its operands.
    pub args: Vec<(Type, i64)>,
}

/// What a function does that is put in groups, or may be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// It is a matrix instruction: lanes multiply what they hold together.
    Dot,
    /// It loads from memory.
    Load,
    /// It only exchanges registers between lanes: it may stand anywhere in its block.
    Exchange,
}

/// What a target has.
pub trait Groups {
    /// What a function does.
    fn group(&self, callee: &Callee) -> Option<Group>;

    /// The address space of shared memory.
    fn shared(&self) -> u8;

    /// Whether there are registers for the loads of the next step.
    fn loads_ahead(&self) -> bool;

    /// Loads that a step has at least.
    fn least_loads(&self) -> usize {
        4
    }

    /// How a mark is written, if it is.
    fn mark(&self, mark: Mark) -> Option<MarkCall>;
}

/// Loads without dots that are waited for together, at most.
const MOST_TOGETHER: usize = 4;

/// Puts loads in front of dots, in every function.
pub fn interleave(module: &mut Module, groups: &dyn Groups) {
    let ids: Vec<_> = module.bodies.keys().copied().collect();
    for id in ids {
        let Some(mut function) = module.bodies.remove(&id) else { continue };
        for block in function.layout.clone() {
            Interleave { module, function: &mut function, groups }.block(block);
        }
        module.bodies.insert(id, function);
    }
}

/// What an instruction is here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// It only computes its result.
    Pure,
    /// It is a matrix instruction.
    Dot,
    /// It loads from shared memory.
    SharedLoad,
    /// It loads from memory.
    Load,
    /// It stores to shared memory.
    SharedStore,
    /// It must stay where it is.
    Wall,
}

/// Products with the loads that they are the first to use.
#[derive(Default)]
struct Batch {
    loads: Vec<usize>,
    dots: Vec<usize>,
}

struct Interleave<'a> {
    module: &'a mut Module,
    function: &'a mut Function,
    groups: &'a dyn Groups,
}

/// Instructions of a block between walls, and what each needs of the others.
struct Run {
    insts: Vec<Inst>,
    kinds: Vec<Kind>,
    /// Which results are floats.
    floats: Vec<bool>,
    needs: Vec<Vec<usize>>,
}

impl Interleave<'_> {
    fn block(&mut self, block: Block) {
        let insts = self.function.blocks[block].insts.clone();
        let kinds: Vec<Kind> = insts.iter().map(|&inst| self.kind(inst)).collect();
        let has_dots = kinds.contains(&Kind::Dot);
        if !has_dots && !kinds.contains(&Kind::SharedLoad) {
            return;
        }
        let mut order = Vec::with_capacity(insts.len());
        let mut at = 0;
        while at < insts.len() {
            let moves = |kind: Kind| matches!(kind, Kind::Pure | Kind::Dot | Kind::SharedLoad);
            let end = (at..insts.len()).find(|&next| !moves(kinds[next])).unwrap_or(insts.len()).max(at + 1);
            let run = self.run(&insts[at..end], &kinds[at..end]);
            at = end;
            self.arrange(&run, &mut order);
        }
        self.function.blocks[block].insts = if has_dots { self.wait_in_halves(order) } else { order };
    }

    /// Lets stores to shared memory wait for half of the loads of the block at a time.
    fn wait_in_halves(&mut self, order: Vec<Inst>) -> Vec<Inst> {
        let kinds: Vec<Kind> = order.iter().map(|&inst| self.kind(inst)).collect();
        let count = kinds.iter().filter(|&&kind| kind == Kind::Load).count() as u32;
        let is_simple = kinds.iter().rposition(|&kind| kind == Kind::Load)
            < kinds.iter().position(|&kind| kind == Kind::SharedStore);
        if count < 2 || !is_simple {
            return order;
        }
        // Of each value, how many loads must be over for it.
        let mut needs: FxHashMap<Value, u32> = FxHashMap::default();
        let (mut loaded, mut waited) = (0, 0);
        let mut with_waits = Vec::with_capacity(order.len());
        for (inst, kind) in order.into_iter().zip(kinds) {
            let operands = &self.function.inst(inst).operands;
            let mut need =
                operands.iter().filter_map(|operand| needs.get(operand)).copied().max().unwrap_or(0);
            match kind {
                Kind::Load => {
                    loaded += 1;
                    need = loaded;
                }
                // A dot waits for what it needs by itself, and so do others behind it.
                Kind::Dot | Kind::SharedLoad => need = 0,
                Kind::SharedStore if need > waited => {
                    waited = need.next_multiple_of(count.div_ceil(2)).min(count);
                    // What the store is made of waits as well.
                    let is_pure = |inst: &Inst| self.kind(*inst) == Kind::Pure;
                    let from = with_waits.iter().rposition(|inst| !is_pure(inst)).map_or(0, |last| last + 1);
                    let made = with_waits.split_off(from);
                    for mark in [Mark::Fence, Mark::Loads(count - waited), Mark::Fence] {
                        self.mark(mark, &mut with_waits);
                    }
                    with_waits.extend(made);
                }
                _ => {}
            }
            if let Some(result) = self.function.result(inst) {
                needs.insert(result, need);
            }
            with_waits.push(inst);
        }
        with_waits
    }

    fn kind(&self, inst: Inst) -> Kind {
        let data = self.function.inst(inst);
        let shared = Type::pointer(self.groups.shared());
        let is_shared = |pointer: usize| self.function.value(data.operands[pointer]).ty == shared;
        match (data.op.row().effect, &data.payload) {
            (Effect::Pure, _) => Kind::Pure,
            (Effect::Callee, Payload::Callee(id)) => {
                let callee = self.module.callee(*id);
                match (callee.purity, self.groups.group(callee)) {
                    (Purity::Pure, Some(Group::Dot)) => Kind::Dot,
                    (Purity::Pure, _) | (_, Some(Group::Exchange)) => Kind::Pure,
                    (_, Some(Group::Load)) => Kind::Load,
                    _ => Kind::Wall,
                }
            }
            (_, Payload::Memory(memory))
                if memory.ordering.is_none() && !data.flags.contains(Flags::VOLATILE) =>
            {
                match data.op {
                    Op::LOAD if is_shared(0) => Kind::SharedLoad,
                    Op::LOAD => Kind::Load,
                    Op::STORE if is_shared(1) => Kind::SharedStore,
                    _ => Kind::Wall,
                }
            }
            _ => Kind::Wall,
        }
    }

    fn run(&self, insts: &[Inst], kinds: &[Kind]) -> Run {
        let mut made: FxHashMap<Value, usize> = FxHashMap::default();
        let mut needs = Vec::with_capacity(insts.len());
        for (at, &inst) in insts.iter().enumerate() {
            let operands = &self.function.inst(inst).operands;
            needs.push(operands.iter().filter_map(|operand| made.get(operand).copied()).collect());
            if let Some(result) = self.function.result(inst) {
                made.insert(result, at);
            }
        }
        let is_float = |ty: Type| matches!(ty.lane(), Type::F16 | Type::BF16 | Type::F32 | Type::F64);
        let floats = insts.iter().map(|&inst| is_float(self.function.inst(inst).ty)).collect();
        Run { insts: insts.to_vec(), kinds: kinds.to_vec(), floats, needs }
    }

    /// Adds a run to the order of a block.
    fn arrange(&mut self, run: &Run, order: &mut Vec<Inst>) {
        let steps = self.steps(run);
        if steps.is_empty() {
            self.wait_once(run, order);
            return;
        }
        if steps.len() < 2 {
            order.extend(&run.insts);
            return;
        }
        let ahead = usize::from(self.groups.loads_ahead());
        let first = steps.iter().flat_map(|step| step.loads.iter().chain(&step.dots)).copied().min();
        let mut made = Made { run, order, done: vec![false; run.insts.len()] };
        for at in 0..first.unwrap_or(0) {
            made.add(at);
        }
        steps[..ahead].iter().flat_map(|step| &step.loads).for_each(|&load| made.add(load));
        for (number, step) in steps.iter().enumerate() {
            if ahead == 0 {
                made.add_ready(step.dots[0]);
            }
            let next = steps.get(number + ahead).map_or(&[][..], |next| &next.loads);
            next.iter().for_each(|&load| made.add(load));
            let pending = if ahead > 0 { next.len() as u32 } else { 0 };
            for mark in [Mark::Fence, Mark::SharedLoads(pending), Mark::Fence] {
                self.mark(mark, made.order);
            }
            step.dots.iter().for_each(|&dot| made.add(dot));
            self.mark(Mark::Fence, made.order);
        }
        (0..run.insts.len()).for_each(|at| made.add(at));
    }

    /// Adds a run without dots to the order of a block: loads from shared memory that stand together are waited for
    /// together.
    fn wait_once(&mut self, run: &Run, order: &mut Vec<Inst>) {
        let loads = run.kinds.iter().filter(|&&kind| kind == Kind::SharedLoad).count();
        let last = run.kinds.iter().rposition(|&kind| kind == Kind::SharedLoad);
        let Some(last) = last.filter(|_| (2..=MOST_TOGETHER).contains(&loads)) else {
            order.extend(&run.insts);
            return;
        };
        let mut made = Made { run, order, done: vec![false; run.insts.len()] };
        (0..=last).filter(|&at| run.kinds[at] == Kind::SharedLoad).for_each(|at| made.add(at));
        for mark in [Mark::Fence, Mark::SharedLoads(0), Mark::Fence] {
            self.mark(mark, made.order);
        }
        (0..run.insts.len()).for_each(|at| made.add(at));
    }

    /// The dots of a run in order, in groups that begin with the same sum.
    fn steps(&self, run: &Run) -> Vec<Batch> {
        let mut steps: Vec<Batch> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut chains: FxHashMap<usize, usize> = FxHashMap::default();
        let mut first = None;
        for dot in (0..run.insts.len()).filter(|&at| run.kinds[at] == Kind::Dot) {
            let chain = self.sum_before(run, dot).map_or(dot, |before| chains[&before]);
            chains.insert(dot, chain);
            let mut loads = Vec::new();
            fresh(run, dot, &mut seen, &mut loads);
            // Where registers are few, a step need not be all that uses the same k.
            let whole = self.groups.loads_ahead();
            let begins = !loads.is_empty() && (!whole || first.is_none_or(|first| first == chain));
            if steps.last().is_none_or(|last| begins && last.loads.len() >= self.groups.least_loads()) {
                steps.push(Batch::default());
                first = Some(chain);
            }
            let step = steps.last_mut().expect("there is one");
            step.loads.extend(loads);
            step.dots.push(dot);
        }
        steps
    }

    /// The dot of the run to which another one adds.
    fn sum_before(&self, run: &Run, dot: usize) -> Option<usize> {
        let data = self.function.inst(run.insts[dot]);
        let sums = data.operands.iter().rev().find(|&&operand| self.function.value(operand).ty == data.ty)?;
        let mut waiting: Vec<usize> = run.needs[dot]
            .iter()
            .copied()
            .filter(|&at| self.function.result(run.insts[at]) == Some(*sums))
            .collect();
        let mut seen = FxHashSet::default();
        while let Some(at) = waiting.pop() {
            if run.kinds[at] == Kind::Dot {
                return Some(at);
            }
            if seen.insert(at) {
                waiting.extend(&run.needs[at]);
            }
        }
        None
    }

    fn mark(&mut self, mark: Mark, order: &mut Vec<Inst>) {
        let Some(MarkCall { intrinsic, args }) = self.groups.mark(mark) else { return };
        let values: Vec<Value> = args
            .iter()
            .map(|&(ty, value)| self.function.intern(Constant::bits(ty, u128::from(value.cast_unsigned()))))
            .collect();
        let types: Vec<Type> = args.iter().map(|arg| arg.0).collect();
        let id = self.module.declare_intrinsic(intrinsic, Type::VOID, &types);
        let location = order.last().and_then(|&last| self.function.location_of(last));
        let data = InstData::new(Op::CALL, Type::VOID, &values).with(Payload::Callee(id));
        order.push(self.function.make(data, location));
    }
}

/// The loads that an instruction needs and none before it did.
fn fresh(run: &Run, at: usize, seen: &mut FxHashSet<usize>, loads: &mut Vec<usize>) {
    for &need in &run.needs[at] {
        match run.kinds[need] {
            Kind::Dot => {}
            _ if !seen.insert(need) => {}
            Kind::SharedLoad => loads.push(need),
            _ => fresh(run, need, seen, loads),
        }
    }
}

/// An order on its way: each instruction stands behind what it needs.
struct Made<'a> {
    run: &'a Run,
    order: &'a mut Vec<Inst>,
    done: Vec<bool>,
}

impl Made<'_> {
    fn add(&mut self, at: usize) {
        if std::mem::replace(&mut self.done[at], true) {
            return;
        }
        for &need in &self.run.needs[at] {
            self.add(need);
        }
        self.order.push(self.run.insts[at]);
    }

    /// Adds the floats that stand in front of an instruction and wait for nothing: what they are made of does not stay
    /// in registers any longer. Addresses and conditions come with what uses them.
    fn add_ready(&mut self, end: usize) {
        // What only computes, from what is there or only computes.
        let mut ready = vec![false; end];
        for at in 0..end {
            let mut needs = self.run.needs[at].iter();
            ready[at] = self.run.kinds[at] == Kind::Pure && needs.all(|&need| self.done[need] || ready[need]);
            if ready[at] && self.run.floats[at] {
                self.add(at);
            }
        }
    }
}
