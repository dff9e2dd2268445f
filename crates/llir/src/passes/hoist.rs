//! Moves what does not change in a loop before it.
//!
//! Input: `loop: %a = mul %n, 4; …`. Output: `%a` made before the loop. Moved is what has no effect and cannot fail.
//! A constant added to an address moves only with something that needs the sum: a load takes it as it is.

use super::Context;
use super::loops::{Loop, loops};
use super::regroup::regroup;
use crate::constant::Constant;
use crate::dominators::Dominators;
use crate::function::{Block, Function, Inst, InstData, Value, ValueDef};
use crate::module::Module;
use crate::rows::Op;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// How often the sums of a loop are regrouped.
const MOST_ROUNDS: usize = 3;

pub(super) fn hoist(cx: &Context<'_>, function: &mut Function) {
    let dominators = Dominators::new(function);
    let loops = loops(&dominators);
    if loops.is_empty() {
        return;
    }
    let mut homes: SecondaryMap<Value, Option<Block>> = function.about_values();
    for block in dominators.order() {
        let data = function.block(*block);
        let made = data.insts.iter().filter_map(|inst| function.result(*inst));
        for value in data.params.iter().copied().chain(made) {
            homes[value] = Some(*block);
        }
    }
    let mut uses = None;
    for found in loops {
        hoist_out_of(cx.module, function, &found, &mut homes);
        let mut again = true;
        for _ in 0..MOST_ROUNDS {
            again = again && regroup(function, &found, &mut homes, &mut uses);
        }
    }
}

fn hoist_out_of(
    module: &Module,
    function: &mut Function,
    found: &Loop,
    homes: &mut SecondaryMap<Value, Option<Block>>,
) {
    let mut inside: SecondaryMap<Block, bool> = SecondaryMap::new();
    for block in &found.blocks {
        inside[*block] = true;
    }
    let mut moved: Vec<Inst> = Vec::new();
    for block in &found.blocks {
        let insts = std::mem::take(&mut function.blocks[*block].insts);
        let mut stay = Vec::with_capacity(insts.len());
        for inst in insts {
            let data = &function.insts[inst];
            let is_fixed = |value: Value| homes[value].is_none_or(|home| !inside[home]);
            // Sums of an address and a constant that go along.
            let mut along: SmallVec<[Inst; 2]> = SmallVec::new();
            let movable = can_move(module, function, data)
                && data.operands.iter().all(|value| {
                    is_fixed(*value)
                        || offset_of(function, *value, &is_fixed).map(|inst| along.push(inst)).is_some()
                });
            if !movable || is_offset(function, data) {
                stay.push(inst);
                continue;
            }
            along.sort_unstable();
            along.dedup();
            for inst in along.into_iter().chain([inst]) {
                if let Some(value) = function.result(inst) {
                    homes[value] = Some(found.before);
                    moved.push(inst);
                }
            }
        }
        function.blocks[*block].insts = stay;
    }
    // What went along is still in its old place.
    let gone: FxHashSet<Inst> = moved.iter().copied().collect();
    for block in &found.blocks {
        function.blocks[*block].insts.retain(|inst| !gone.contains(inst));
    }
    let insts = &mut function.blocks[found.before].insts;
    let end = insts.len().saturating_sub(1);
    insts.splice(end..end, moved);
}

fn can_move(module: &Module, function: &Function, data: &InstData) -> bool {
    let divides = [Op::SDIV, Op::UDIV, Op::SREM, Op::UREM].contains(&data.op);
    if divides
        && !function.constant(data.operands[1]).and_then(Constant::splat_bits).is_some_and(is_safe_divisor)
    {
        return false;
    }
    module.is_pure(data)
}

/// Neither 0 nor, as a signed number of any width, -1.
fn is_safe_divisor(bits: u128) -> bool {
    (1..0x7f).contains(&bits) || bits.is_power_of_two() && bits > 1
}

/// Whether an instruction adds a constant to an address.
fn is_offset(function: &Function, data: &InstData) -> bool {
    data.op == Op::GEP && is_constant(function, data.operands[1])
}

/// The instruction that adds a constant to a fixed address to make a value.
fn offset_of(function: &Function, value: Value, is_fixed: &impl Fn(Value) -> bool) -> Option<Inst> {
    let ValueDef::Inst(inst) = function.value(value).def else { return None };
    let data = &function.insts[inst];
    (is_offset(function, data) && is_fixed(data.operands[0])).then_some(inst)
}

fn is_constant(function: &Function, value: Value) -> bool {
    matches!(function.value(value).def, ValueDef::Constant(_))
}
