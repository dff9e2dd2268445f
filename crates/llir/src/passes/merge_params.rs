//! Drops block parameters that are always one value, or always the same as another parameter.
//!
//! Input: `loop(%i, %j, %k): … br loop(%i2, %i2, %k)`, entered with `(0, 0, %n)`. Output: `loop(%i)`, with `%i` for
//! `%j` and `%n` for `%k`. Of two counters that both begin at 0 and both grow by 1 one stays as well.

use super::Context;
use super::congruent::congruent;
use super::flow::{Comers, passed};
use super::rewrite::Replacements;
use crate::function::{Block, Function, Value, ValueDef};
use crate::module::Module;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

pub(super) fn merge_params(cx: &Context<'_>, function: &mut Function) {
    let mut replacements = Replacements::default();
    loop {
        while merge_each(function, &mut replacements) {}
        if !merge_congruent(cx.module, function, &mut replacements) {
            break;
        }
    }
    replacements.apply(function);
}

/// Merges, in each block for itself, what is seen to be the same.
fn merge_each(function: &mut Function, replacements: &mut Replacements) -> bool {
    let mut changed = false;
    let passed = passed(function);
    for block in function.layout.clone() {
        changed |= merge_in(function, block, &passed[block], replacements);
    }
    changed
}

/// Merges parameters that begin alike and change alike.
fn merge_congruent(module: &Module, function: &mut Function, replacements: &mut Replacements) -> bool {
    let passed = passed(function);
    let congruences = congruent(module, function, &passed, replacements);
    for (block, same) in &congruences {
        let params = function.blocks[*block].params.clone();
        for (param, by) in params.iter().zip(same) {
            if let Some(by) = by {
                replacements.replace(*param, *by);
            }
        }
        let keep: Vec<bool> = same.iter().map(Option::is_none).collect();
        retain(function, *block, &keep, &passed[*block]);
    }
    !congruences.is_empty()
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
pub(super) fn retain(function: &mut Function, block: Block, keep: &[bool], comers: &Comers) {
    let Function { blocks, insts, values, .. } = function;
    let mut flags = keep.iter();
    blocks[block].params.retain(|_| *flags.next().expect("verified: as many arguments as parameters"));
    for (place, param) in blocks[block].params.iter().enumerate() {
        values[*param].def = ValueDef::BlockParam(block, place as u32);
    }
    for (from, target) in comers {
        if let Some(last) = blocks[*from].insts.last() {
            let mut flags = keep.iter();
            insts[*last].targets[*target]
                .args
                .retain(|_| *flags.next().expect("verified: as many arguments as parameters"));
        }
    }
}
