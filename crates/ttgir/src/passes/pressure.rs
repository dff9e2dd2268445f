//! How many registers of a lane the blocks take that are alive at the same time.
//!
//! Counted are blocks of floats, each element once: what is repeated along a dimension has the registers of what it
//! repeats. Addresses and masks are not: they are sums of few numbers.

use crate::Encoding;
use crate::passes::assign_layouts::bases::Bases;
use ir::{Block, Module, Op, Traits, Value};
use rustc_hash::FxHashMap;
use ttir::ops::constant::ConstantOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS, SPLAT};
use ttir::types::{elem, is_tensor, shape};

/// The most registers in each block of a function, those of the blocks in it included.
pub(in crate::passes) struct Pressure<'m> {
    module: &'m Module,
    words: FxHashMap<Value, u64>,
    found: Vec<(Block, u64)>,
}

/// Values that are alive, and the registers that they take.
#[derive(Default)]
struct Live {
    values: FxHashMap<Value, u64>,
    total: u64,
}

impl Live {
    fn remove(&mut self, value: Value) -> bool {
        let words = self.values.remove(&value);
        self.total -= words.unwrap_or(0);
        words.is_some()
    }
}

impl Pressure<'_> {
    pub(in crate::passes) fn of(module: &Module, function: Op) -> Pressure<'_> {
        let mut pressure = Pressure { module, words: FxHashMap::default(), found: Vec::new() };
        pressure.block(module.entry_of(function), 0);
        pressure
    }

    /// The blocks that need more.
    pub(in crate::passes) fn blocks_above(&self, limit: u64) -> Vec<Block> {
        self.found.iter().filter(|(_, words)| *words > limit).map(|(block, _)| *block).collect()
    }

    /// The most in a block.
    pub(in crate::passes) fn most_in(&self, block: Block) -> u64 {
        self.found.iter().find(|(of, _)| *of == block).map_or(0, |(_, words)| *words)
    }

    /// Goes through a block from its end, where others hold `around` registers meanwhile.
    fn block(&mut self, block: Block, around: u64) -> u64 {
        let module = self.module;
        let (mut live, mut most) = (Live::default(), around);
        for op in module.ops(block).collect::<Vec<_>>().into_iter().rev() {
            let mut made = live.total;
            for &result in module.results(op) {
                let is_own = origin(module, result) == result && is_tensor(module.ty(result));
                if !live.remove(result) && is_own && !module.is_unused(result) {
                    made += self.words(result);
                }
            }
            let has_regions = !module.regions(op).is_empty();
            for inner in module.walk(op) {
                for &operand in module.operands(inner) {
                    let value = origin(module, operand);
                    let is_there = !has_regions || module.is_outside(value, op);
                    if is_there && is_tensor(module.ty(value)) && !live.values.contains_key(&value) {
                        let words = self.words(value);
                        live.values.insert(value, words);
                        live.total += words;
                    }
                }
            }
            most = most.max(around + made).max(around + live.total);
            for &region in module.regions(op) {
                for &inner in module.blocks(region) {
                    most = most.max(self.block(inner, around + live.total));
                }
            }
        }
        self.found.push((block, most));
        most
    }

    fn words(&mut self, value: Value) -> u64 {
        let module = self.module;
        *self.words.entry(value).or_insert_with(|| words(module, value))
    }
}

/// What a value repeats: the value itself where it is no repetition.
fn origin(module: &Module, value: Value) -> Value {
    let mut value = value;
    while let Some(op) = module.def_op(value)
        && [&BROADCAST, &EXPAND_DIMS].iter().any(|row| module.is(op, row))
    {
        value = UnaryOp::new(module, op).src();
    }
    value
}

/// Words of a lane's registers that a block of floats takes.
pub(in crate::passes) fn words(module: &Module, value: Value) -> u64 {
    let ty = module.ty(value);
    let is_one = module.def_op(value).is_some_and(|op| {
        module.is(op, &SPLAT) || ConstantOp::of(module, op).is_some() || module.has(op, Traits::SOURCE)
    });
    let float = elem(ty).as_float().filter(|_| is_tensor(ty) && !is_one);
    let (Some(float), Some(encoding)) = (float, Encoding::of(ty)) else { return 0 };
    let registers = Bases::new(&encoding.to_linear(shape(ty)), shape(ty)).registers();
    (registers * u64::from(float.bits())).div_ceil(32)
}
