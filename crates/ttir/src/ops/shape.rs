//! Making blocks and moving their elements about.

use crate::passes::patterns;
use crate::types::{INT_LIKE, SCALAR, TENSOR_ONLY, VALUE_LIKE, elem, numel, shape, tensor};
use ir::{Attr, AttrKind, AttrSpec, Format, Infer, InferArgs, Module, Op, OpRow, Traits, Type, one};
use smallvec::{SmallVec, smallvec};

type Types = Result<SmallVec<[Type; 2]>, String>;

const PURE: Traits = Traits::PURE;

fn int_attr(attrs: &[Option<Attr>], slot: usize) -> Result<i64, String> {
    attrs.get(slot).and_then(|attr| attr.as_ref()?.as_int()).ok_or_else(|| "an attribute is missing".into())
}

/// The numbers of an `array<i32: …>` attribute.
pub fn ints(attr: Option<&Attr>) -> &[i64] {
    if let Some(Attr::DenseArray { values, .. }) = attr { values } else { &[] }
}

/// `start, start + 1, …, end - 1`.
pub static MAKE_RANGE: OpRow = OpRow {
    name: "tt.make_range",
    doc: "The 32-bit integers from `start` up to, without, `end`.",
    attrs: &[AttrSpec::required("end", AttrKind::Int(32)), AttrSpec::required("start", AttrKind::Int(32))],
    results: &[one("result", &INT_LIKE)],
    infer: Infer::Rule(|args| {
        let (end, start) = (int_attr(args.attrs, 0)?, int_attr(args.attrs, 1)?);
        Ok(smallvec![tensor(&[end - start], Type::int(32))])
    }),
    traits: PURE,
    format: Format::Text("attr-dict : type($result)"),
    verify: Some(|module, op| {
        let (end, start) = (int_attr(module.attrs(op), 0)?, int_attr(module.attrs(op), 1)?);
        let count = numel(module.ty(module.result(op, 0)));
        if end - start == count { Ok(()) } else { Err(format!("{start}..{end} are not {count} numbers")) }
    }),
    ..OpRow::BASE
};

/// A block filled with one scalar.
pub static SPLAT: OpRow = OpRow {
    name: "tt.splat",
    doc: "A block filled with one scalar.",
    operands: &[one("src", &SCALAR)],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Explicit,
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(same_elem),
    fold: Some(patterns::fold_uniform),
    ..OpRow::BASE
};

/// The one element of a block of one element.
pub static UNSPLAT: OpRow = OpRow {
    name: "tt.unsplat",
    doc: "The one element of a block of one element, as a scalar.",
    operands: &[one("src", &TENSOR_ONLY)],
    results: &[one("result", &SCALAR)],
    infer: Infer::Rule(|args| Ok(smallvec![elem(args.ty(0))])),
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src)"),
    verify: Some(|module, op| match numel(module.ty(module.operand(op, 0))) {
        1 => Ok(()),
        count => Err(format!("the block has {count} elements, not one")),
    }),
    fold: Some(patterns::fold_uniform),
    patterns: &[patterns::unsplat_of_splat],
    ..OpRow::BASE
};

fn same_elem(module: &Module, op: Op) -> Result<(), String> {
    let (from, to) = (elem(module.ty(module.operand(op, 0))), elem(module.ty(module.result(op, 0))));
    if from == to { Ok(()) } else { Err(format!("elements change from {from} to {to}")) }
}

/// Inserts a dimension of size 1.
pub static EXPAND_DIMS: OpRow = OpRow {
    name: "tt.expand_dims",
    doc: "Inserts a dimension of size 1 in front of dimension `axis`.",
    operands: &[one("src", &TENSOR_ONLY)],
    attrs: &[AttrSpec::required("axis", AttrKind::Int(32))],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Rule(|args| {
        let (ty, axis) = (args.ty(0), int_attr(args.attrs, 0)?);
        let mut dims = shape(ty).to_vec();
        if axis < 0 || axis as usize > dims.len() {
            return Err(format!("axis {axis} is outside a block of rank {}", dims.len()));
        }
        dims.insert(axis as usize, 1);
        Ok(smallvec![tensor(&dims, elem(ty))])
    }),
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(inferred),
    fold: Some(patterns::fold_uniform),
    patterns: &[patterns::expand_dims_of_splat],
    ..OpRow::BASE
};

/// The result type must be the one the row infers, but for its encoding.
fn inferred(module: &Module, op: Op) -> Result<(), String> {
    let Infer::Rule(rule) = module.row(op).infer else { return Ok(()) };
    let args = InferArgs { module, operands: module.operands(op), attrs: module.attrs(op) };
    let types = rule(&args)?;
    for (&expected, &result) in types.iter().zip(module.results(op)) {
        let found = module.ty(result);
        if shape(expected) != shape(found) || elem(expected) != elem(found) {
            return Err(format!("the result must be {expected}, found {found}"));
        }
    }
    Ok(())
}

/// Repeats along dimensions of size 1.
pub static BROADCAST: OpRow = OpRow {
    name: "tt.broadcast",
    doc: "Repeats a block along its dimensions of size 1. The rank stays.",
    operands: &[one("src", &TENSOR_ONLY)],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Explicit,
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        same_elem(module, op)?;
        let (from, to) = (shape(module.ty(module.operand(op, 0))), shape(module.ty(module.result(op, 0))));
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(f, t)| f == t || *f == 1);
        if fits { Ok(()) } else { Err(format!("{from:?} cannot be broadcast to {to:?}")) }
    }),
    fold: Some(patterns::fold_same_type),
    patterns: &[patterns::broadcast_of_splat, patterns::broadcast_of_broadcast],
    ..OpRow::BASE
};

/// The same elements in another shape.
pub static RESHAPE: OpRow = OpRow {
    name: "tt.reshape",
    doc: "The same elements, in row-major order, in another shape. `allow_reorder` leaves the order open.",
    operands: &[one("src", &TENSOR_ONLY)],
    attrs: &[
        AttrSpec::optional("allow_reorder", AttrKind::Unit),
        AttrSpec::optional("efficient_layout", AttrKind::Unit),
    ],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Explicit,
    traits: PURE,
    format: Format::Text(
        "$src (allow_reorder $allow_reorder)? (efficient_layout $efficient_layout)? attr-dict : type($src) -> type($result)",
    ),
    verify: Some(|module, op| {
        same_elem(module, op)?;
        let (from, to) = (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)));
        if numel(from) == numel(to) {
            Ok(())
        } else {
            Err(format!("{from} and {to} differ in number of elements"))
        }
    }),
    fold: Some(patterns::fold_same_type),
    patterns: &[patterns::reshape_of_splat, patterns::reshape_of_reshape],
    ..OpRow::BASE
};

/// Permutes dimensions.
pub static TRANS: OpRow = OpRow {
    name: "tt.trans",
    doc: "Permutes dimensions: dimension `i` of the result is dimension `order[i]` of the operand.",
    operands: &[one("src", &TENSOR_ONLY)],
    attrs: &[AttrSpec::required("order", AttrKind::DenseArray(32))],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Rule(|args| {
        let (ty, order) = (args.ty(0), ints(args.attrs[0].as_ref()));
        let dims = shape(ty);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..dims.len() as i64) {
            return Err(format!("{order:?} is not a permutation of the {} dimensions", dims.len()));
        }
        let dims: Vec<i64> = order.iter().map(|&from| dims[from as usize]).collect();
        Ok(smallvec![tensor(&dims, elem(ty))])
    }),
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(inferred),
    fold: Some(patterns::fold_trans),
    patterns: &[patterns::trans_of_splat, patterns::trans_of_trans],
    ..OpRow::BASE
};

/// Pairs two blocks in a new last dimension.
pub static JOIN: OpRow = OpRow {
    name: "tt.join",
    doc: "Pairs the elements of two blocks in a new last dimension of size 2.",
    operands: &[one("lhs", &TENSOR_ONLY), one("rhs", &TENSOR_ONLY)],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Rule(|args| {
        let mut dims = shape(args.ty(0)).to_vec();
        dims.push(2);
        Ok(smallvec![tensor(&dims, elem(args.ty(0)))])
    }),
    traits: PURE,
    format: Format::Text("$lhs, $rhs attr-dict : type($lhs) -> type($result)"),
    verify: Some(super::same_type_operands),
    ..OpRow::BASE
};

/// Undoes [`JOIN`].
pub static SPLIT: OpRow = OpRow {
    name: "tt.split",
    doc: "The two halves of a block along its last dimension, which has size 2.",
    operands: &[one("src", &TENSOR_ONLY)],
    results: &[one("outLHS", &VALUE_LIKE), one("outRHS", &VALUE_LIKE)],
    infer: Infer::Rule(|args: &InferArgs<'_>| -> Types {
        let ty = args.ty(0);
        match shape(ty) {
            [dims @ .., 2] => {
                let half = tensor(dims, elem(ty));
                Ok(smallvec![half, half])
            }
            other => Err(format!("the last dimension of {other:?} is not 2")),
        }
    }),
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($outLHS)"),
    verify: Some(inferred),
    patterns: &[patterns::split_of_join],
    ..OpRow::BASE
};

/// One block behind the other.
pub static CAT: OpRow = OpRow {
    name: "tt.cat",
    doc: "One block of rank 1 behind another.",
    operands: &[one("lhs", &TENSOR_ONLY), one("rhs", &TENSOR_ONLY)],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Rule(|args| {
        let (left, right) = (shape(args.ty(0)), shape(args.ty(1)));
        match (left, right) {
            ([n, rest @ ..], [m, others @ ..]) if rest == others => {
                let mut dims = vec![n + m];
                dims.extend(rest);
                Ok(smallvec![tensor(&dims, elem(args.ty(0)))])
            }
            _ => Err(format!("{left:?} and {right:?} cannot stand behind each other")),
        }
    }),
    traits: PURE,
    format: Format::Text("$lhs, $rhs attr-dict : type($lhs) -> type($result)"),
    verify: Some(inferred),
    ..OpRow::BASE
};

/// Picks elements by index.
pub static GATHER: OpRow = OpRow {
    name: "tt.gather",
    doc: "For each index, the element of `src` whose position along `axis` it is. Undefined out of range.",
    operands: &[one("src", &TENSOR_ONLY), one("indices", &INT_LIKE)],
    attrs: &[
        AttrSpec::required("axis", AttrKind::Int(32)),
        AttrSpec::optional("efficient_layout", AttrKind::Unit),
    ],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Rule(|args| Ok(smallvec![tensor(shape(args.ty(1)), elem(args.ty(0)))])),
    traits: PURE,
    format: Format::Text("$src [ $indices ] attr-dict : functional-type"),
    verify: Some(|module, op| {
        let (src, indices) =
            (shape(module.ty(module.operand(op, 0))), shape(module.ty(module.operand(op, 1))));
        let axis = int_attr(module.attrs(op), 0)?;
        let fits = src.len() == indices.len()
            && (0..src.len() as i64).contains(&axis)
            && (0..src.len()).all(|dim| dim as i64 == axis || src[dim] == indices[dim]);
        if fits {
            inferred(module, op)
        } else {
            Err(format!("indices of shape {indices:?} do not fit {src:?}"))
        }
    }),
    ..OpRow::BASE
};
