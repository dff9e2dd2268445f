//! Drops block parameters that are always one value, or always the same as another parameter.
//!
//! Input: `loop(%i, %j, %k): … br loop(%i2, %i2, %k)`, entered with `(0, 0, %n)`. Output: `loop(%i)`, with `%i` for `%j`
//! and `%n` for `%k`.

use super::Context;
use super::rewrite::Replacements;
use crate::function::{Block, Function, Value, ValueDef};
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

pub(super) fn merge_params(_: &Context<'_>, function: &mut Function) {
    let mut replacements = Replacements::default();
    loop {
        let mut changed = false;
        let passed = passed(function);
        for block in function.layout.clone() {
            changed |= merge_in(function, block, &passed[block], &mut replacements);
        }
        if !changed {
            break;
        }
    }
    replacements.apply(function);
}

/// For each block the places that go there: the block and the number of the target.
type Comers = Vec<(Block, usize)>;

fn passed(function: &Function) -> SecondaryMap<Block, Comers> {
    let mut comers: SecondaryMap<Block, Comers> = SecondaryMap::new();
    for block in &function.layout {
        for (index, call) in function.targets(*block).iter().enumerate() {
            comers[call.block].push((*block, index));
        }
    }
    comers
}

fn merge_in(function: &mut Function, block: Block, comers: &Comers, replacements: &mut Replacements) -> bool {
    let params = function.blocks[block].params.clone();
    // What comes in for each parameter that stays, one value for each comer.
    let mut columns: FxHashMap<SmallVec<[Value; 4]>, Value> =
        FxHashMap::with_capacity_and_hasher(params.len(), FxBuildHasher);
    let mut keep = Vec::with_capacity(params.len());
    for (index, param) in params.iter().enumerate() {
        let arg =
            |(from, target): &(Block, usize)| replacements.find(function.targets(*from)[*target].args[index]);
        let column: SmallVec<[Value; 4]> = comers.iter().map(arg).collect();
        let mut others = column.iter().filter(|value| *value != param);
        let single = others.next().filter(|first| others.all(|other| other == *first)).copied();
        let same = single.or_else(|| columns.get(&column).copied());
        keep.push(same.is_none());
        match same {
            Some(value) => replacements.replace(*param, value),
            None => _ = columns.insert(column, *param),
        }
    }
    let changed = keep.contains(&false);
    if changed {
        retain(function, block, &keep, comers);
    }
    changed
}

/// Keeps some parameters of a block.
fn retain(function: &mut Function, block: Block, keep: &[bool], comers: &Comers) {
    let Function { blocks, insts, values, .. } = function;
    let mut flags = keep.iter();
    blocks[block].params.retain(|_| flags.next().copied().unwrap_or(true));
    for (place, param) in blocks[block].params.iter().enumerate() {
        values[*param].def = ValueDef::BlockParam(block, place as u32);
    }
    for (from, target) in comers {
        if let Some(last) = blocks[*from].insts.last() {
            let mut flags = keep.iter();
            insts[*last].targets[*target].args.retain(|_| flags.next().copied().unwrap_or(true));
        }
    }
}
