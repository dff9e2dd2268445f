//! What combines elements: reductions, scans, histograms, dots.
//!
//! Where the function of a reduction is one operation with a neutral element, padding elements hold that. Any other
//! function has one more operand, which says whether an argument counts:
//!
//! ```text
//! (a, i), (b, j) -> f(a, i, b, j)   =>   (a, i, has_a), (b, j, has_b) -> !has_b ? (a, i) : !has_a ? (b, j) : f(a, i, b, j),
//!                                                                        has_a | has_b
//! ```

use super::Pad;
use crate::ops::arith_cast::EXTUI;
use crate::ops::arith_int::{ANDI, MINUI, ORI};
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use crate::ops::constant;
use crate::ops::dot::{DotScaledOp, MatmulOp};
use crate::ops::reduce::{CombineOp, CombinedOp, HistogramOp, REDUCE, REDUCE_RETURN, ScanOp};
use crate::ops::shape::{RESHAPE, ReshapeOp};
use crate::types::{elem, numel, padded, tensor, with_elem};
use ir::{Attr, Block, Builder, Module, Op, OpInit, Place, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The type of the operand that says whether an argument counts.
pub(super) fn flag() -> Type {
    Type::int(32)
}

/// Padding elements take no part. Those of a scan from the front come last, where nobody sees them.
pub(super) fn combine(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    if let Some(scan) = ScanOp::of(pad.module, op) {
        if !scan.reverse() {
            return Ok(());
        }
    } else if let Some(sources) = flattened(pad, op) {
        return reduce_flattened(pad, op, &sources);
    }
    let combine = CombineOp::new(pad.module, op);
    let (sources, axis) = (combine.srcs().to_vec(), combine.axis());
    if let Some(bits) = combine.neutral() {
        // From the back, what comes first is combined with padding alone.
        let source = match ScanOp::of(pad.module, op).is_some() {
            true => pad.with_signed_padding(op, sources[0], axis, bits),
            false => pad.with_padding(op, sources[0], axis, bits),
        };
        pad.module.set_operands(op, &[source]);
    } else if let Some(valid) = pad.valid_along(op, pad.shape(sources[0]), &[axis]) {
        combine_counted(pad, op, &sources, valid);
    }
    Ok(())
}

/// What the blocks of a reduction were before they became lines; `None` where they are something else.
fn flattened(pad: &Pad<'_>, op: Op) -> Option<Vec<Value>> {
    let sources = CombineOp::new(pad.module, op).srcs();
    let before = |&source: &Value| {
        let reshape = ReshapeOp::def(pad.module, source)?;
        (pad.was_odd(reshape.src()) && pad.shape(source).len() == 1).then(|| reshape.src())
    };
    let found: Vec<Value> = sources.iter().map(before).collect::<Option<_>>()?;
    let same = found.iter().all(|&value| pad.shape(value) == pad.shape(found[0]));
    same.then_some(found)
}

/// All elements of blocks: whole blocks with their padding become lines, so that no element moves.
fn reduce_flattened(pad: &mut Pad<'_>, op: Op, sources: &[Value]) -> Result<(), String> {
    let Some(valid) = pad.valid(op, pad.shape(sources[0])) else { return Ok(()) };
    if let Some(bits) = CombineOp::new(pad.module, op).neutral() {
        let source =
            if pad.holds(sources[0], bits) { sources[0] } else { pad.selected(op, sources[0], valid, bits) };
        let source = line(&mut Builder::before(pad.module, op), source);
        pad.module.set_operands(op, &[source]);
        return Ok(());
    }
    let mut b = Builder::before(pad.module, op);
    let sources: Vec<Value> = sources.iter().map(|&source| line(&mut b, source)).collect();
    let valid = line(&mut b, valid);
    combine_counted(pad, op, &sources, valid);
    Ok(())
}

/// A block as a line, padding and all.
fn line(b: &mut Builder<'_>, block: Value) -> Value {
    let ty = b.module.ty(block);
    b.build_as(&RESHAPE, &[block], &ReshapeOp::attrs(false, false), tensor(&[numel(ty)], elem(ty)))
}

/// Replaces a reduction or scan by one that carries along which elements count.
fn combine_counted(pad: &mut Pad<'_>, op: Op, sources: &[Value], valid: Value) {
    let old_block = CombineOp::new(pad.module, op).block();
    let mut b = Builder::before(pad.module, op);
    let ty = with_elem(b.module.ty(valid), flag());
    let counts = b.build_as(&EXTUI, &[valid], &[], ty);
    let row = b.module.row(op);
    let mut results: SmallVec<[Type; 2]> =
        b.module.results(op).iter().map(|&result| b.module.ty(result)).collect();
    results.push(with_elem(results[0], flag()));
    let init = OpInit {
        operands: sources.iter().copied().chain([counts]).collect(),
        results,
        attrs: b.module.attrs(op).iter().cloned().collect(),
        regions: 1,
    };
    let new = b.insert(row, init);
    let region = pad.module.region(new, 0);
    let block = pad.module.add_block(region);
    counted_function(pad.module, old_block, block);
    for (index, old) in pad.module.results(op).to_vec().into_iter().enumerate() {
        let result = pad.module.result(new, index);
        pad.take_place(old, result);
    }
    pad.module.erase(op);
}

/// Fills a block with the function of another one, told whether its arguments count.
fn counted_function(module: &mut Module, from: Block, to: Block) {
    let args = module.args(from).to_vec();
    let half = args.len() / 2;
    let mut map = FxHashMap::default();
    let mut sides: [Vec<Value>; 2] = [Vec::new(), Vec::new()];
    for (side, args) in args.chunks(half).enumerate() {
        for &arg in args {
            let new = module.add_arg(to, module.ty(arg));
            map.insert(arg, new);
            sides[side].push(new);
        }
        let counts = module.add_arg(to, flag());
        sides[side].push(counts);
    }
    let inner: Vec<Op> = module.ops(from).collect();
    let (&end, inner) = inner.split_last().expect("verified: a block has a terminator");
    for &op in inner {
        let copy = module.clone_op(op, &mut map);
        module.append(to, copy);
    }
    let returned: Vec<Value> =
        CombinedOp::new(module, end).result().iter().map(|&value| ir::mapped(&map, value)).collect();
    let row = module.row(end);
    let mut b = Builder::new(module, Place::End(to));
    let zero = constant::int(&mut b, flag(), 0);
    let [has_a, has_b] = [sides[0][half], sides[1][half]]
        .map(|side| b.build(&CMPI, &[side, zero], &CmpIOp::attrs(CmpIPredicate::Ne)));
    let mut results = Vec::new();
    for (index, &both) in returned.iter().enumerate() {
        let of_b = b.build(&SELECT, &[has_a, both, sides[1][index]], &[]);
        results.push(b.build(&SELECT, &[has_b, of_b, sides[0][index]], &[]));
    }
    results.push(b.build(&ORI, &[sides[0][half], sides[1][half]], &[]));
    b.build_effect(row, &results, &[]);
}

/// The least number of a line of unsigned ones.
pub(super) fn least(b: &mut Builder<'_>, line: Value) -> Value {
    let ty = elem(b.module.ty(line));
    let init = OpInit {
        operands: SmallVec::from_slice(&[line]),
        results: SmallVec::from_slice(&[ty]),
        attrs: SmallVec::from_iter([Some(Attr::i32(0))]),
        regions: 1,
    };
    let op = b.insert(&REDUCE, init);
    let region = b.module.region(op, 0);
    let block = b.module.add_block(region);
    let args = [ty; 2].map(|ty| b.module.add_arg(block, ty));
    let mut inner = Builder::new(b.module, Place::End(block));
    let least = inner.build(&MINUI, &args, &[]);
    inner.build_effect(&REDUCE_RETURN, &[least], &[]);
    b.module.result(op, 0)
}

/// Padding elements are not counted.
pub(super) fn histogram(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let histogram = HistogramOp::new(pad.module, op);
    let (source, mask) = (histogram.src(), histogram.mask());
    let Some(valid) = pad.valid(op, pad.shape(source)) else { return Ok(()) };
    let mask = match mask {
        Some(mask) => Builder::before(pad.module, op).build(&ANDI, &[mask, valid], &[]),
        None => valid,
    };
    pad.module.set_operands(op, &[source, mask]);
    Ok(())
}

/// Zeros add nothing to sums of products.
pub(super) fn dot(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let dot = MatmulOp::new(pad.module, op);
    let (a, b, c) = (dot.a(), dot.b(), dot.c());
    let (rows, columns) = (pad.shape(a), pad.shape(b));
    let rank = rows.len();
    let used = [rows[rank - 2], columns[rank - 1], rows[rank - 1]];
    if used.iter().any(|&size| padded(size) != size) {
        MatmulOp::set_used(pad.module, op, used);
    }
    let a = pad.with_padding(op, a, rank - 1, 0);
    let b = pad.with_padding(op, b, rank - 2, 0);
    pad.module.set_operands(op, &[a, b, c]);
    Ok(())
}

/// Scales of zeros are zero bits, which are no NaN in any format of scales.
pub(super) fn dot_scaled(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let dot = DotScaledOp::new(pad.module, op);
    let (a, b, c, scales) = (dot.a(), dot.b(), dot.c(), dot.scales().to_vec());
    let rank = pad.shape(a).len();
    let mut operands = vec![pad.with_padding(op, a, rank - 1, 0), pad.with_padding(op, b, rank - 2, 0), c];
    for scale in scales {
        let along = pad.shape(scale).len() - 1;
        operands.push(pad.with_padding(op, scale, along, 0));
    }
    pad.module.set_operands(op, &operands);
    Ok(())
}
