//! Which parameters of a block are always equal, because they begin alike and change alike.
//!
//! All parameters of a block that have one type are taken for equal at first. Where what is passed for two of them
//! differs under that belief, they are not; so until nothing changes (value numbering by partition, Alpern, Wegman and
//! Zadeck, "Detecting equality of variables in programs", 1988). Loops in loops are believed in together.

use super::flow::Comers;
use super::rewrite::Replacements;
use crate::flags::Flags;
use crate::function::{Block, Function, Payload, Value, ValueDef};
use crate::module::Module;
use crate::rows::Op;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// How many instructions deep what is passed is looked at: what changes alike does so in few steps.
const DEPTH: u32 = 6;

/// For each block in which parameters are equal: for each of its parameters an earlier one that it equals.
pub(super) fn congruent(
    module: &Module,
    function: &Function,
    passed: &SecondaryMap<Block, Comers>,
    replacements: &Replacements,
) -> Vec<(Block, Vec<Option<Value>>)> {
    // One parameter has no other to be equal to.
    let blocks: Vec<Block> =
        function.layout.iter().copied().filter(|block| function.blocks[*block].params.len() > 1).collect();
    let mut classes = first_classes(function, &blocks);
    while classes.sizes.len() < classes.of.len() {
        let refined = refine(Numbers::new(module, function, replacements, &classes), &blocks, passed);
        let is_stable = refined.sizes.len() == classes.sizes.len();
        classes = refined;
        if is_stable {
            return blocks
                .into_iter()
                .filter_map(|block| Some((block, merged(function, block, &classes)?)))
                .collect();
        }
    }
    Vec::new()
}

/// A partition of parameters.
struct Classes {
    of: FxHashMap<Value, u32>,
    /// How many parameters each class has.
    sizes: Vec<u32>,
}

impl Classes {
    /// Parameters with equal keys are together.
    fn by<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = (Value, K)>) -> Classes {
        let mut classes: FxHashMap<K, u32> = FxHashMap::default();
        let mut sizes = Vec::new();
        let of: FxHashMap<Value, u32> = keys
            .map(|(param, key)| {
                let class = *classes.entry(key).or_insert(sizes.len() as u32);
                if class as usize == sizes.len() {
                    sizes.push(0);
                }
                sizes[class as usize] += 1;
                (param, class)
            })
            .collect();
        Classes { of, sizes }
    }

    /// Whether a parameter is in a class with others.
    fn has_company(&self, param: Value) -> bool {
        self.sizes[self.of[&param] as usize] > 1
    }
}

fn first_classes(function: &Function, blocks: &[Block]) -> Classes {
    let params = blocks
        .iter()
        .flat_map(|block| function.blocks[*block].params.iter().map(move |param| (*block, *param)));
    Classes::by(params.map(|(block, param)| (param, (block, function.value(param).ty))))
}

/// A parameter's class, and the number of what each comer passes for it.
type Behaviour = (u32, SmallVec<[u32; 4]>);

/// Parts parameters for which something else is passed.
fn refine(mut numbers: Numbers<'_>, blocks: &[Block], passed: &SecondaryMap<Block, Comers>) -> Classes {
    let mut keys: Vec<(Value, Behaviour)> = Vec::with_capacity(numbers.classes.of.len());
    for block in blocks {
        for (index, param) in numbers.function.blocks[*block].params.iter().enumerate() {
            // A class of one stays as it is.
            let comers: &[_] = if numbers.classes.has_company(*param) { &passed[*block] } else { &[] };
            let column = comers
                .iter()
                .map(|(from, target)| {
                    let value = numbers.function.targets(*from)[*target].args[index];
                    numbers.of(value, DEPTH)
                })
                .collect();
            keys.push((*param, (numbers.classes.of[param], column)));
        }
    }
    Classes::by(keys.into_iter())
}

/// For each parameter of a block an earlier one of its class; `None` if all are different.
fn merged(function: &Function, block: Block, classes: &Classes) -> Option<Vec<Option<Value>>> {
    let mut first: FxHashMap<u32, Value> = FxHashMap::default();
    let same: Vec<Option<Value>> = function.blocks[block]
        .params
        .iter()
        .map(|param| {
            let leader = *first.entry(classes.of[param]).or_insert(*param);
            (leader != *param).then_some(leader)
        })
        .collect();
    same.iter().any(Option::is_some).then_some(same)
}

/// What a value is, as far as its number says.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// A parameter of this class.
    Class(u32),
    /// Nothing but itself.
    Itself(Value),
    /// An instruction without effects on such numbers.
    Inst(Op, Type, Flags, Payload, SmallVec<[u32; 4]>),
}

/// Numbers of values: equal ones mean equal values as long as the classes hold.
struct Numbers<'a> {
    module: &'a Module,
    function: &'a Function,
    replacements: &'a Replacements,
    classes: &'a Classes,
    known: FxHashMap<Value, u32>,
    keys: FxHashMap<Key, u32>,
}

impl<'a> Numbers<'a> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        replacements: &'a Replacements,
        classes: &'a Classes,
    ) -> Numbers<'a> {
        Numbers {
            module,
            function,
            replacements,
            classes,
            known: FxHashMap::default(),
            keys: FxHashMap::default(),
        }
    }

    /// The number of a value, which looks at most `depth` instructions up.
    fn of(&mut self, value: Value, depth: u32) -> u32 {
        let value = self.replacements.find(value);
        if let Some(number) = self.known.get(&value) {
            return *number;
        }
        let key = self.key(value, depth);
        let next = self.keys.len() as u32;
        let number = *self.keys.entry(key).or_insert(next);
        self.known.insert(value, number);
        number
    }

    fn key(&mut self, value: Value, depth: u32) -> Key {
        let function = self.function;
        match &function.value(value).def {
            ValueDef::BlockParam(..) => {
                self.classes.of.get(&value).map_or(Key::Itself(value), |class| Key::Class(*class))
            }
            ValueDef::Inst(inst) if depth > 0 && self.module.is_pure(&function.insts[*inst]) => {
                let data = &function.insts[*inst];
                let operands = data.operands.iter().map(|operand| self.of(*operand, depth - 1)).collect();
                Key::Inst(data.op, data.ty, data.flags, data.payload.clone(), operands)
            }
            _ => Key::Itself(value),
        }
    }
}
