//! Addresses and masks that one instruction needs are computed right in front of it.
//!
//! Input:
//! ```text
//! %0 = add i32 %row, %a;  %1 = add i32 %row, %b;  %2 = getelementptr %p, %0;  %3 = getelementptr %p, %1
//! store %x, %2;  store %y, %3
//! ```
//! Output:
//! ```text
//! %0 = add i32 %row, %a;  %2 = getelementptr %p, %0;  store %x, %2
//! %1 = add i32 %row, %b;  %3 = getelementptr %p, %1;  store %y, %3
//! ```
//!
//! A block of values is computed operation by operation, so all its addresses would be alive at once; two registers
//! each are more than a lane has, and assemblers do not always find another order. Moved are whole numbers, addresses
//! and conditions with one use, down to what only acts, such as a store, unless more bits have to be kept alive for
//! longer than are saved. Left out: loops without loops in them, whose order the passes before have decided, and
//! other blocks than that of the use.

use super::Context;
use super::loops::loops;
use crate::dominators::Dominators;
use crate::function::{Block, Function, Inst, InstData, Value, ValueDef};
use crate::module::Module;
use crate::rows::Effect;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

pub(super) fn sink(cx: &Context<'_>, function: &mut Function) {
    let inner = inner_loops(function);
    let uses = function.uses();
    for block in function.layout.clone() {
        if !inner[block] {
            sink_in(cx.module, function, block, &uses);
        }
    }
}

/// The blocks of loops that have no loop in them.
fn inner_loops(function: &Function) -> SecondaryMap<Block, bool> {
    let mut inner: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut heads: SecondaryMap<Block, bool> = SecondaryMap::new();
    for found in loops(&Dominators::new(function)) {
        let has_inner = found.blocks.iter().any(|block| heads[*block]);
        heads[found.head] = true;
        for block in found.blocks.iter().filter(|_| !has_inner) {
            inner[*block] = true;
        }
    }
    inner
}

fn sink_in(module: &Module, function: &mut Function, block: Block, uses: &SecondaryMap<Value, u32>) {
    let insts = std::mem::take(&mut function.blocks[block].insts);
    // What stands in front of an instruction for it alone, in order; the last use is met first.
    let mut in_front: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
    let mut user_of: FxHashMap<Value, Inst> = FxHashMap::default();
    let mut stays = Vec::with_capacity(insts.len());
    for &inst in insts.iter().rev() {
        let data = function.inst(inst);
        let result = function.result(inst);
        let user = result.and_then(|value| user_of.get(&value)).copied();
        let user = user.filter(|_| can_sink(function, data, result, uses));
        let takes = user.is_some() || acts(module, data, result);
        for value in data.operands.iter().filter(|value| takes && uses[**value] == 1) {
            user_of.insert(*value, inst);
        }
        match user {
            Some(user) => in_front.entry(user).or_default().push(inst),
            None => stays.push(inst),
        }
    }
    // From the last to the first, as the lists are.
    let mut order = Vec::with_capacity(insts.len());
    let mut waiting: Vec<Inst> = stays.into_iter().rev().collect();
    while let Some(inst) = waiting.pop() {
        order.push(inst);
        waiting.extend(in_front.remove(&inst).into_iter().flatten().rev());
    }
    order.reverse();
    function.blocks[block].insts = order;
}

/// Whether an instruction gives nothing and ends nothing: it acts on memory.
fn acts(module: &Module, data: &InstData, result: Option<Value>) -> bool {
    result.is_none() && data.op.row().effect != Effect::Terminator && !module.is_pure(data)
}

/// Whether an instruction may move down to its only use without keeping more alive.
fn can_sink(
    function: &Function,
    data: &InstData,
    result: Option<Value>,
    uses: &SecondaryMap<Value, u32>,
) -> bool {
    let Some(result) = result.filter(|result| uses[*result] == 1) else { return false };
    let bits = |value: Value| function.value(value).ty.lane_bits();
    let ends_here = |value: &&Value| uses[**value] == 1 && is_computed(function, **value);
    let kept: u32 = data.operands.iter().filter(ends_here).map(|value| bits(*value)).sum();
    let ty = function.value(result).ty;
    let is_number = !ty.is_vector() && (ty.is_ptr() || ty.is_int());
    is_number && data.op.row().effect == Effect::Pure && kept <= bits(result)
}

/// Whether a register holds a value only for its uses.
fn is_computed(function: &Function, value: Value) -> bool {
    matches!(function.value(value).def, ValueDef::Inst(_) | ValueDef::BlockParam(..))
}
