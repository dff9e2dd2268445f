//! Functions that `tt.map_elementwise` runs on each element.
//!
//! One that only computes may run on padding elements too. A loop might not end there, and an assertion might not hold:
//! such a function is run under a condition.

use super::Pad;
use super::combine::flag;
use crate::ops::arith_cast::EXTUI;
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use crate::ops::constant::{self, POISON};
use crate::ops::control::{IF, YIELD};
use crate::ops::reduce::{CombinedOp, MapElementwiseOp};
use crate::types::with_elem;
use ir::{Block, Builder, Module, Op, OpInit, Place, Traits, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Neighbours that a function takes together must stay neighbours.
pub(super) fn map(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let map = MapElementwiseOp::new(pad.module, op);
    let (pack, sources) = (map.pack() as i64, map.srcs().to_vec());
    let dims = pad.shape(sources[0]);
    let last = dims.last().copied().unwrap_or(1);
    if !pad.was_odd(sources[0]) {
        return Ok(());
    }
    if pack.count_ones() != 1 || last % pack != 0 {
        return Err(format!(
            "`pack` is {pack}: it must be a power of two that divides the last size of the block, {last}"
        ));
    }
    let runs_anywhere = |&inner: &Op| {
        let row = pad.module.row(inner);
        !row.traits.has(Traits::LOOP) && (!row.writes() || row.traits.has(Traits::REGION_EFFECTS))
    };
    if pad.module.walk(op).iter().skip(1).all(runs_anywhere) {
        return Ok(());
    }
    if let Some(valid) = pad.valid(op, dims) {
        under_condition(pad, op, valid, pack as usize);
    }
    Ok(())
}

/// Replaces a call by one that does nothing for padding elements.
fn under_condition(pad: &mut Pad<'_>, op: Op, valid: Value, pack: usize) {
    let mut b = Builder::before(pad.module, op);
    let ty = with_elem(b.module.ty(valid), flag());
    let counts = b.build_as(&EXTUI, &[valid], &[], ty);
    let row = b.module.row(op);
    let init = OpInit {
        operands: b.module.operands(op).iter().copied().chain([counts]).collect(),
        results: b.module.results(op).iter().map(|&result| b.module.ty(result)).collect(),
        attrs: b.module.attrs(op).iter().cloned().collect(),
        regions: 1,
    };
    let new = b.insert(row, init);
    let from = pad.module.entry_of(op);
    let region = pad.module.region(new, 0);
    let to = pad.module.add_block(region);
    conditional(pad.module, from, to, pack);
    for (index, old) in pad.module.results(op).to_vec().into_iter().enumerate() {
        let result = pad.module.result(new, index);
        pad.take_place(old, result);
    }
    pad.module.erase(op);
}

/// Fills a block with the function of another one, which is run where the last arguments say so.
fn conditional(module: &mut Module, from: Block, to: Block, pack: usize) {
    let mut map = FxHashMap::default();
    for arg in module.args(from).to_vec() {
        let new = module.add_arg(to, module.ty(arg));
        map.insert(arg, new);
    }
    // Those of a group are alike.
    let counts = (0..pack).map(|_| module.add_arg(to, flag())).next().expect("a group has elements");
    let inner: Vec<Op> = module.ops(from).collect();
    let (&end, inner) = inner.split_last().expect("verified: a block has a terminator");
    let returned = CombinedOp::new(module, end).result().to_vec();
    let types: SmallVec<[Type; 2]> = returned.iter().map(|&value| module.ty(value)).collect();
    let row = module.row(end);
    let mut b = Builder::new(module, Place::End(to));
    let zero = constant::int(&mut b, flag(), 0);
    let runs = b.build(&CMPI, &[counts, zero], &CmpIOp::attrs(CmpIPredicate::Ne));
    let init = OpInit {
        operands: SmallVec::from_slice(&[runs]),
        results: types.clone(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let branch = b.insert(&IF, init);
    let [yes, no] = [0, 1].map(|side| {
        let region = b.module.region(branch, side);
        b.module.add_block(region)
    });
    for &op in inner {
        let copy = b.module.clone_op(op, &mut map);
        b.module.append(yes, copy);
    }
    let results: Vec<Value> = returned.iter().map(|&value| ir::mapped(&map, value)).collect();
    Builder::new(b.module, Place::End(yes)).build_effect(&YIELD, &results, &[]);
    let mut other = Builder::new(b.module, Place::End(no));
    let nothing: Vec<Value> = types.iter().map(|&ty| nothing(&mut other, ty)).collect();
    other.build_effect(&YIELD, &nothing, &[]);
    let results = b.module.results(branch).to_vec();
    b.build_effect(row, &results, &[]);
}

/// A value that nobody looks at.
fn nothing(b: &mut Builder<'_>, ty: Type) -> Value {
    match ty.scalar_bits() {
        Some(_) => constant::build(b, ty, 0),
        None => b.build_as(&POISON, &[], &[], ty),
    }
}
