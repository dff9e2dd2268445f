//! How many registers of a lane the blocks take that are alive at the same time.
//!
//! Counted are blocks of floats, each element once: what is repeated along a dimension has the registers of what it
//! repeats. Addresses and masks are not: they are sums of few numbers.

use crate::Encoding;
use crate::passes::assign_layouts::bases::Bases;
use ir::{Block, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::constant::ConstantOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS, SPLAT};
use ttir::types::{elem, is_tensor, shape};

/// The most registers in each block of a function, those of the blocks in it included.
pub(super) struct Pressure<'m> {
    module: &'m Module,
    found: Vec<(Block, u64)>,
}

impl Pressure<'_> {
    pub(super) fn of(module: &Module, function: Op) -> Pressure<'_> {
        let mut pressure = Pressure { module, found: Vec::new() };
        pressure.block(module.entry_of(function), 0);
        pressure
    }

    /// The blocks that need more.
    pub(super) fn blocks_above(&self, limit: u64) -> Vec<Block> {
        self.found.iter().filter(|(_, words)| *words > limit).map(|(block, _)| *block).collect()
    }

    /// Goes through a block from its end, where `around` are the registers that others hold meanwhile.
    fn block(&mut self, block: Block, around: u64) -> u64 {
        let module = self.module;
        let mut live: FxHashSet<Value> = FxHashSet::default();
        let mut most = around;
        for op in module.ops(block).collect::<Vec<_>>().into_iter().rev() {
            let results = module.results(op);
            let is_wanted = results.iter().any(|result| live.contains(result));
            let held = |live: &FxHashSet<Value>| live.iter().map(|&value| words(module, value)).sum::<u64>();
            if !is_wanted {
                live.extend(results.iter().copied().filter(|&result| !module.is_unused(result)));
            }
            let made = held(&live);
            for result in results {
                live.remove(result);
            }
            let inner: Vec<Op> = module.walk(op);
            let taken = inner.iter().flat_map(|&inner| module.operands(inner)).copied();
            live.extend(taken.map(|value| origin(module, value)).filter(|&value| {
                is_tensor(module.ty(value)) && (module.regions(op).is_empty() || module.is_outside(value, op))
            }));
            most = most.max(around + made).max(around + held(&live));
            for &region in module.regions(op) {
                for &inner in module.blocks(region) {
                    most = most.max(self.block(inner, around + held(&live)));
                }
            }
        }
        self.found.push((block, most));
        most
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
fn words(module: &Module, value: Value) -> u64 {
    let ty = module.ty(value);
    let is_one = module.def_op(value).is_some_and(|op| {
        module.is(op, &SPLAT) || ConstantOp::of(module, op).is_some() || module.has(op, Traits::SOURCE)
    });
    let float = elem(ty).as_float().filter(|_| is_tensor(ty) && !is_one);
    let (Some(float), Some(encoding)) = (float, Encoding::of(ty)) else { return 0 };
    let registers = Bases::new(&encoding.to_linear(shape(ty)), shape(ty)).registers();
    (registers * u64::from(float.bits())).div_ceil(32)
}
