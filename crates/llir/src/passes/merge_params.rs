//! Drops block parameters that are always one value, or always the same as another parameter.
//!
//! Input: `loop(%i, %j, %k): … br loop(%i2, %i2, %k)`, entered with `(0, 0, %n)`. Output: `loop(%i)`, with `%i` for `%j`
//! and `%n` for `%k`.

use super::Context;
use super::rewrite::Replacements;
use crate::function::{Block, Function, Value};
use cranelift_entity::SecondaryMap;
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
    let columns: Vec<SmallVec<[Value; 4]>> = (0..params.len())
        .map(|index| {
            let arg = |(from, target): &(Block, usize)| {
                replacements.find(function.targets(*from)[*target].args[index])
            };
            comers.iter().map(arg).collect()
        })
        .collect();
    let mut drop = vec![false; params.len()];
    for (index, param) in params.iter().enumerate() {
        let mut others = columns[index].iter().filter(|value| *value != param);
        let single = others.next().filter(|first| others.all(|other| other == *first));
        if let Some(value) = single {
            replacements.replace(*param, *value);
            drop[index] = true;
        } else if let Some(earlier) =
            (0..index).find(|earlier| !drop[*earlier] && columns[*earlier] == columns[index])
        {
            replacements.replace(*param, params[earlier]);
            drop[index] = true;
        }
        if drop[index] {
            break;
        }
    }
    let Some(index) = drop.iter().position(|dropped| *dropped) else { return false };
    remove(function, block, index, comers);
    true
}

fn remove(function: &mut Function, block: Block, index: usize, comers: &Comers) {
    function.blocks[block].params.remove(index);
    for (place, param) in function.blocks[block].params.clone().into_iter().enumerate() {
        function.values[param].def = crate::function::ValueDef::BlockParam(block, place as u32);
    }
    for (from, target) in comers {
        if let Some(last) = function.blocks[*from].insts.last().copied() {
            function.insts[last].targets[*target].args.remove(index);
        }
    }
}
