//! Carries what is computed from the counter of a loop, and adds to it, where that is cheaper than computing it again.
//!
//! Input:
//! ```text
//! loop(%i): %a = mul %i, %n; %b = add %a, %lane; %c = mul %b, %m; store %c …; br loop(%i + 2)
//! ```
//! Output:
//! ```text
//! loop(%i, %c): store %c …; br loop(%i + 2, %c + %step)
//! ```
//! with `%lane * %m` as the first `%c`, and `%step = 2 * %n * %m` made before the loop. Values that differ by constants
//! share what is carried, as constants are added last (`simplify` sees to it) and accesses take them as they are.
//!
//! The added sums wrap and promise nothing: the last one is of an iteration that does not take place.
//!
//! Registers are precious. A value is carried only if more instructions disappear than are added ([`cost`] counts
//! them), only a few for each loop, and where many registers are taken only if that takes no more of them.
//!
//! Left out: replacing the test at the end, so that the counter goes too. Without knowing that the new value does not
//! wrap the test would have to be for equality with a last value, and that takes a division before a loop which is
//! often run once.

mod carry;
mod cost;
mod linear;

pub(super) use cost::int;

use super::Context;
use super::loops::{Loop, loops};
use super::rewrite::Replacements;
use crate::dominators::Dominators;
use crate::function::{Block, Function, Inst, Value, ValueDef};
use cranelift_entity::SecondaryMap;
use linear::Moving;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The most values that are added to what a loop carries.
const MOST: usize = 4;
/// The most instructions that are looked at behind one value.
const LONGEST: usize = 16;
/// So many registers of a loop leave room for a few more.
const ROOM: u32 = 64;

pub(super) fn reduce_strength(_: &Context<'_>, function: &mut Function) {
    let dominators = Dominators::new(function);
    for found in loops(&dominators) {
        if let Some(moving) = Moving::of(function, &found) {
            reduce_in(function, &dominators, &found, &moving);
        }
    }
}

/// Values with what disappears when they are carried.
struct Chain {
    roots: Roots,
    /// The values that nothing else needs; the roots come first.
    gone: SmallVec<[Value; LONGEST]>,
    /// How often each operand of theirs is used no more.
    lost: FxHashMap<Value, u32>,
    /// Parameters of the head that nothing needs any more.
    counters: SmallVec<[Value; 2]>,
    /// How many instructions fewer an iteration has.
    gain: u32,
}

/// Values that are carried together.
type Roots = SmallVec<[Value; MOST]>;

/// How often values are used, and which of those from before the loop are needed after it.
struct Uses {
    /// How often in the whole function.
    all: SecondaryMap<Value, u32>,
    /// How often in the loop.
    inside: SecondaryMap<Value, u32>,
    /// Whether it is used after the loop.
    after: SecondaryMap<Value, bool>,
    /// Registers that the loop needs all the time.
    registers: u32,
}

struct Reducer<'a> {
    function: &'a mut Function,
    dominators: &'a Dominators,
    found: &'a Loop,
    moving: &'a Moving,
    uses: Uses,
    /// Instructions that nothing needs any more.
    gone: FxHashSet<Inst>,
    replacements: Replacements,
}

fn reduce_in(function: &mut Function, dominators: &Dominators, found: &Loop, moving: &Moving) {
    if !moving.may_pay {
        return;
    }
    let uses = Uses::count(function, dominators, found, moving);
    let replacements = Replacements::default();
    let gone = FxHashSet::default();
    let mut reducer = Reducer { function, dominators, found, moving, uses, gone, replacements };
    let mut chains: Vec<Chain> =
        reducer.candidates().into_iter().filter_map(|roots| reducer.chain(roots)).collect();
    chains.sort_by_key(|chain| std::cmp::Reverse(chain.gain));
    let mut carried = 0;
    for chain in chains {
        let count = chain.roots.len();
        if carried + count <= MOST && reducer.reduce(chain.roots) {
            carried += count;
        }
    }
    if carried > 0 {
        let Reducer { function, gone, replacements, .. } = reducer;
        for block in &found.blocks {
            function.blocks[*block].insts.retain(|inst| !gone.contains(inst));
        }
        replacements.apply(function);
    }
}

impl Reducer<'_> {
    /// What could be carried: each value, and together all that are made of one.
    fn candidates(&self) -> Vec<Roots> {
        let mut makes: FxHashMap<Value, Roots> = FxHashMap::default();
        for value in &self.moving.made {
            let Some(data) = self.function.defining(*value) else { continue };
            for operand in data.operands.iter().filter(|operand| self.moving.is_made(**operand)) {
                let made = makes.entry(*operand).or_default();
                if !made.contains(value) {
                    made.push(*value);
                }
            }
        }
        let alone = self.moving.made.iter().map(|value| SmallVec::from_slice(&[*value]));
        let together = self.moving.made.iter().filter_map(|value| makes.get(value));
        let together = together.filter(|made| (2..=MOST).contains(&made.len()));
        let last = |made: &Roots| {
            let mut last: Roots = made.iter().map(|value| self.last(*value, &makes)).collect();
            last.sort_unstable();
            last.dedup();
            last
        };
        alone.chain(together.map(last)).collect()
    }

    /// The last of the values that are made of each other alone, beginning with one.
    fn last(&self, first: Value, makes: &FxHashMap<Value, Roots>) -> Value {
        let mut value = first;
        for _ in 0..LONGEST {
            match makes.get(&value).map(|made| &made[..]) {
                Some([next]) if self.uses.all[value] == 1 && !self.is_free(*next) => value = *next,
                _ => break,
            }
        }
        value
    }

    /// Whether an instruction costs nothing, as accesses do it.
    fn is_free(&self, value: Value) -> bool {
        let data = self.function.defining(value);
        data.is_none_or(|data| cost::of(self.function, data, |value| self.uses.all[value]) == 0)
    }

    /// Carries values if that still pays.
    fn reduce(&mut self, roots: Roots) -> bool {
        // What others carry now may have taken a part of it.
        let Some(chain) = self.chain(roots) else { return false };
        let taken = self.registers(&chain);
        let registers = self.uses.registers.saturating_add_signed(taken);
        if taken > 0 && registers > ROOM {
            return false;
        }
        self.uses.registers = registers;
        for value in &chain.gone {
            let ValueDef::Inst(inst) = self.function.value(*value).def else { continue };
            self.gone.insert(inst);
            for operand in &self.function.inst(inst).operands {
                self.uses.all[*operand] = self.uses.all[*operand].saturating_sub(1);
                self.uses.inside[*operand] = self.uses.inside[*operand].saturating_sub(1);
            }
        }
        for root in chain.roots {
            let param = carry::carry(self.function, self.found, self.moving, root);
            self.replacements.replace(root, param);
        }
        true
    }

    /// Whether an instruction that makes a value is still there, and runs in every iteration.
    fn is_there(&self, value: Value) -> bool {
        let ValueDef::Inst(inst) = self.function.value(value).def else { return false };
        let block = self.moving.known.get(&value).and_then(|linear| linear.block);
        let runs = |block| self.found.tails.iter().all(|tail| self.dominators.dominates(block, *tail));
        !self.gone.contains(&inst) && block.is_some_and(runs)
    }

    /// What would disappear with some values; `None` if that does not pay.
    fn chain(&self, roots: Roots) -> Option<Chain> {
        let function = &*self.function;
        if !roots.iter().all(|root| self.is_there(*root)) {
            return None;
        }
        let mut gone: SmallVec<[Value; LONGEST]> = roots.iter().copied().collect();
        let mut lost: FxHashMap<Value, u32> = FxHashMap::default();
        let mut saved = 0;
        let mut next = 0;
        while let Some(value) = gone.get(next).copied().filter(|_| next < LONGEST) {
            next += 1;
            let Some(data) = function.defining(value) else { continue };
            saved += cost::of(function, data, |value| self.uses.all[value]);
            for operand in &data.operands {
                let count = lost.entry(*operand).or_default();
                *count += 1;
                if *count == self.uses.all[*operand]
                    && self.moving.is_made(*operand)
                    && !gone.contains(operand)
                {
                    gone.push(*operand);
                }
            }
        }
        gone.truncate(next);
        // A counter that nothing else needs goes, too.
        let is_last = |(value, count): &(&Value, &u32)| self.is_last_use(**value, **count);
        let counters: SmallVec<[Value; 2]> = lost.iter().filter(is_last).map(|(value, _)| *value).collect();
        let steps = |values: &[Value]| -> u32 {
            values.iter().map(|value| cost::of_step(function.value(*value).ty)).sum()
        };
        let gain = (saved + steps(&counters)).checked_sub(steps(&roots))?;
        (gain > 0).then_some(Chain { roots, gone, lost, counters, gain })
    }

    /// Whether a parameter of the head is only needed so often, and to move itself.
    fn is_last_use(&self, value: Value, count: u32) -> bool {
        let Some(step) = self.moving.steps.get(&value) else { return false };
        let next = self.function.result(step.inst);
        self.uses.all[value] == count + 1 && next.is_some_and(|next| self.uses.all[next] == 1)
    }

    /// How many registers more it takes to carry values; those of one chain move by the same amount, or by a constant.
    fn registers(&self, chain: &Chain) -> i32 {
        let of = |value: Value| cost::registers(self.function.value(value).ty);
        let is_constant =
            |value: &Value| self.moving.known.get(value).is_some_and(|linear| linear.step.is_some());
        let step = chain.roots.iter().filter(|root| !is_constant(root)).map(|root| of(*root)).max();
        let is_freed = |value: Value, count: u32| {
            self.moving.is_fixed(value)
                && self.function.constant(value).is_none()
                && self.uses.inside[value] == count
                && !self.uses.after[value]
        };
        let fixed = chain.lost.iter().filter(|(value, count)| is_freed(**value, **count));
        let freed: u32 = fixed.map(|(value, _)| value).chain(&chain.counters).map(|value| of(*value)).sum();
        let taken: u32 = chain.roots.iter().map(|root| of(*root)).sum();
        (taken + step.unwrap_or(0)) as i32 - freed as i32
    }
}

impl Uses {
    fn count(function: &Function, dominators: &Dominators, found: &Loop, moving: &Moving) -> Uses {
        let mut uses = Uses {
            all: function.about_values(),
            inside: function.about_values(),
            after: function.about_values(),
            registers: 0,
        };
        let of = |value: Value| cost::registers(function.value(value).ty);
        let mut is_inside: SecondaryMap<Block, bool> = SecondaryMap::new();
        for block in &found.blocks {
            is_inside[*block] = true;
        }
        for block in &function.layout {
            let is_after = !is_inside[*block] && !dominators.dominates(*block, found.head);
            for inst in &function.block(*block).insts {
                let data = function.inst(*inst);
                let passed = data.targets.iter().flat_map(|call| &call.args);
                for value in data.operands.iter().chain(passed) {
                    uses.all[*value] += 1;
                    uses.after[*value] |= is_after;
                    if is_inside[*block] {
                        let is_first = uses.inside[*value] == 0;
                        uses.inside[*value] += 1;
                        let stays = moving.is_fixed(*value) && function.constant(*value).is_none();
                        uses.registers += if is_first && stays { of(*value) } else { 0 };
                    }
                }
            }
        }
        uses.registers += function.block(found.head).params.iter().map(|param| of(*param)).sum::<u32>();
        uses
    }
}
