//! Straightens control flow.
//!
//! Input: `bb0: br bb1(%a)`, nobody else going to `bb1(%x)`. Output: one block, `%x` replaced by `%a`. Branches on
//! constants become jumps first, and blocks that cannot be reached go.

use super::Context;
use super::rewrite::Replacements;
use crate::constant::Constant;
use crate::function::{Block, Function};
use crate::rows::Op;
use cranelift_entity::SecondaryMap;

pub(super) fn straighten(_: &Context<'_>, function: &mut Function) {
    decide_constant_branches(function);
    drop_unreachable(function);
    join_blocks(function);
}

fn decide_constant_branches(function: &mut Function) {
    for block in function.layout.clone() {
        let Some(last) = function.blocks[block].insts.last().copied() else { continue };
        if function.insts[last].op != Op::BRANCH {
            continue;
        }
        let condition = function.insts[last].operands[0];
        let known = function.constant(condition).and_then(Constant::splat_bits);
        let same = function.insts[last].targets[0] == function.insts[last].targets[1];
        let taken = match known {
            Some(bits) => usize::from(bits & 1 == 0),
            None if same => 0,
            None => continue,
        };
        let data = &mut function.insts[last];
        data.op = Op::JUMP;
        data.operands.clear();
        data.payload = crate::function::Payload::None;
        let target = data.targets.swap_remove(taken);
        data.targets.clear();
        data.targets.push(target);
    }
}

fn drop_unreachable(function: &mut Function) {
    let mut reached: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut work: Vec<Block> = function.layout.first().copied().into_iter().collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut reached[block], true) {
            work.extend(function.targets(block).iter().map(|call| call.block));
        }
    }
    function.layout.retain(|block| reached[*block]);
}

/// Joins a block with the only one that goes to it and goes nowhere else.
fn join_blocks(function: &mut Function) {
    let mut comers: SecondaryMap<Block, u32> = SecondaryMap::new();
    for block in &function.layout {
        for call in function.targets(*block) {
            comers[call.block] += 1;
        }
    }
    let mut replacements = Replacements::default();
    let mut gone: SecondaryMap<Block, bool> = SecondaryMap::new();
    for block in function.layout.clone() {
        if gone[block] {
            continue;
        }
        while let [call] = function.targets(block) {
            let call = call.clone();
            let is_jump =
                function.blocks[block].insts.last().is_some_and(|inst| function.insts[*inst].op == Op::JUMP);
            if !is_jump
                || comers[call.block] != 1
                || call.block == block
                || Some(&call.block) == function.layout.first()
            {
                break;
            }
            let next = std::mem::take(&mut function.blocks[call.block]);
            for (param, arg) in next.params.iter().zip(&call.args) {
                replacements.replace(*param, *arg);
            }
            function.blocks[block].insts.pop();
            function.blocks[block].insts.extend(next.insts);
            gone[call.block] = true;
        }
    }
    function.layout.retain(|block| !gone[*block]);
    replacements.apply(function);
}

/// For each block the places that go there: the block and the number of the target.
pub(super) type Comers = Vec<(Block, usize)>;

/// Who goes to each block.
pub(super) fn passed(function: &Function) -> SecondaryMap<Block, Comers> {
    let mut comers: SecondaryMap<Block, Comers> = SecondaryMap::new();
    for block in &function.layout {
        for (index, call) in function.targets(*block).iter().enumerate() {
            comers[call.block].push((*block, index));
        }
    }
    comers
}
