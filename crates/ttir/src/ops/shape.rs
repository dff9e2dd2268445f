//! Making blocks and moving their elements about.

use crate::passes::patterns;
use crate::types::{INT_LIKE, SCALAR, TENSOR_ONLY, VALUE_LIKE, elem, numel, shape, tensor};
use ir::view::{Flag, Ints};
use ir::{Attr, CostClass, Format, Infer, InferArgs, LayoutRule, Module, Op, OpRow, Traits, Type};
use smallvec::{SmallVec, smallvec};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[
    &MAKE_RANGE,
    &SPLAT,
    &UNSPLAT,
    &EXPAND_DIMS,
    &BROADCAST,
    &RESHAPE,
    &TRANS,
    &JOIN,
    &SPLIT,
    &CAT,
    &GATHER,
    &RESIZE,
];

type Types = Result<SmallVec<[Type; 2]>, String>;

const PURE: Traits = Traits::PURE;
const MOVES: Traits = Traits::PURE.and(Traits::MOVES);

fn int_attr(attrs: &[Option<Attr>], slot: usize) -> Result<i64, String> {
    attrs.get(slot).and_then(|attr| attr.as_ref()?.as_int()).ok_or_else(|| "an attribute is missing".into())
}

/// The numbers of an `array<i32: …>` attribute.
pub fn ints(attr: Option<&Attr>) -> &[i64] {
    if let Some(Attr::DenseArray { values, .. }) = attr { values } else { &[] }
}

/// The order among the attribute slots of a transposition.
pub fn order(attrs: &[Option<Attr>]) -> &[i64] {
    ints(attrs.first().and_then(Option::as_ref))
}

ir::op_view! {
    MakeRangeOp of MAKE_RANGE {
        attrs { end: i32, start: i32 }
        results { result: One INT_LIKE }
    }
}

/// `start, start + 1, …, end - 1`.
pub static MAKE_RANGE: OpRow = OpRow {
    name: "tt.make_range",
    doc: "The 32-bit integers from `start` up to, without, `end`.",
    infer: Infer::Rule(|args| {
        let (end, start) = (int_attr(args.attrs, 0)?, int_attr(args.attrs, 1)?);
        Ok(smallvec![tensor(&[end - start], Type::int(32))])
    }),
    traits: PURE.and(Traits::SOURCE),
    format: Format::Text("attr-dict : type($result)"),
    verify: Some(|module, op| {
        let (end, start) = (int_attr(module.attrs(op), 0)?, int_attr(module.attrs(op), 1)?);
        let count = numel(module.ty(module.result(op, 0)));
        if end - start == count { Ok(()) } else { Err(format!("{start}..{end} are not {count} numbers")) }
    }),
    ..MakeRangeOp::ROW
};

ir::op_view! {
    SplatOp of SPLAT {
        operands { src: One SCALAR }
        results { result: One TENSOR_ONLY }
    }
}

/// A block filled with one scalar.
pub static SPLAT: OpRow = OpRow {
    name: "tt.splat",
    doc: "A block filled with one scalar.",
    infer: Infer::Explicit,
    cost: CostClass::Nothing,
    traits: MOVES.and(Traits::SOURCE).and(Traits::KEEPS_DIMS),
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(same_elem),
    fold: Some(patterns::fold_uniform),
    ..SplatOp::ROW
};

ir::op_view! {
    UnsplatOp of UNSPLAT {
        operands { src: One TENSOR_ONLY }
        results { result: One SCALAR }
    }
}

/// The one element of a block of one element.
pub static UNSPLAT: OpRow = OpRow {
    name: "tt.unsplat",
    doc: "The one element of a block of one element, as a scalar.",
    infer: Infer::Rule(|args| Ok(smallvec![elem(args.ty(0))])),
    traits: MOVES,
    format: Format::Text("$src attr-dict : type($src)"),
    verify: Some(|module, op| match numel(module.ty(module.operand(op, 0))) {
        1 => Ok(()),
        count => Err(format!("the block has {count} elements, not one")),
    }),
    fold: Some(patterns::fold_uniform),
    patterns: &[patterns::unsplat_of_splat],
    ..UnsplatOp::ROW
};

fn same_elem(module: &Module, op: Op) -> Result<(), String> {
    let (from, to) = (elem(module.ty(module.operand(op, 0))), elem(module.ty(module.result(op, 0))));
    if from == to { Ok(()) } else { Err(format!("elements change from {from} to {to}")) }
}

ir::op_view! {
    ExpandDimsOp of EXPAND_DIMS {
        operands { src: One TENSOR_ONLY }
        attrs { axis: usize }
        results { result: One TENSOR_ONLY }
    }
}

/// Inserts a dimension of size 1.
pub static EXPAND_DIMS: OpRow = OpRow {
    name: "tt.expand_dims",
    doc: "Inserts a dimension of size 1 in front of dimension `axis`.",
    infer: Infer::Rule(|args| {
        let (ty, axis) = (args.ty(0), int_attr(args.attrs, 0)?);
        let mut dims = shape(ty).to_vec();
        if axis < 0 || axis as usize > dims.len() {
            return Err(format!("axis {axis} is outside a block of rank {}", dims.len()));
        }
        dims.insert(axis as usize, 1);
        Ok(smallvec![tensor(&dims, elem(ty))])
    }),
    layout: LayoutRule::ExpandDims,
    cost: CostClass::Nothing,
    traits: MOVES.and(Traits::VIEW).and(Traits::KEEPS_DIMS),
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(inferred),
    fold: Some(patterns::fold_uniform),
    patterns: &[patterns::expand_dims_of_splat],
    ..ExpandDimsOp::ROW
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

ir::op_view! {
    BroadcastOp of BROADCAST {
        operands { src: One TENSOR_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// Repeats along dimensions of size 1.
pub static BROADCAST: OpRow = OpRow {
    name: "tt.broadcast",
    doc: "Repeats a block along its dimensions of size 1. The rank stays.",
    infer: Infer::Explicit,
    layout: LayoutRule::Broadcast,
    cost: CostClass::Nothing,
    traits: MOVES.and(Traits::VIEW),
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        same_elem(module, op)?;
        let (from, to) = (shape(module.ty(module.operand(op, 0))), shape(module.ty(module.result(op, 0))));
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(f, t)| f == t || *f == 1);
        if fits { Ok(()) } else { Err(format!("{from:?} cannot be broadcast to {to:?}")) }
    }),
    fold: Some(patterns::fold_same_type),
    patterns: &[patterns::broadcast_of_splat, patterns::broadcast_of_broadcast],
    ..BroadcastOp::ROW
};

ir::op_view! {
    ReshapeOp of RESHAPE {
        operands { src: One TENSOR_ONLY }
        attrs { allow_reorder: Flag, efficient_layout: Flag }
        results { result: One TENSOR_ONLY }
    }
}

/// The same elements in another shape.
pub static RESHAPE: OpRow = OpRow {
    name: "tt.reshape",
    doc: "The same elements, in row-major order, in another shape. `allow_reorder` leaves the order open.",
    infer: Infer::Explicit,
    layout: LayoutRule::Reshape,
    traits: MOVES.and(Traits::VIEW).and(Traits::PERMUTES),
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
    ..ReshapeOp::ROW
};

ir::op_view! {
    TransOp of TRANS {
        operands { src: One TENSOR_ONLY }
        attrs { order / set_order: Ints }
        results { result: One TENSOR_ONLY }
    }
}

impl ReshapeOp<'_> {
    /// Whether the elements stay in row-major order.
    pub fn keeps_order(self) -> bool {
        !self.allow_reorder() && !self.efficient_layout()
    }
}

/// Permutes dimensions.
pub static TRANS: OpRow = OpRow {
    name: "tt.trans",
    doc: "Permutes dimensions: dimension `i` of the result is dimension `order[i]` of the operand.",
    infer: Infer::Rule(|args| {
        let (ty, order) = (args.ty(0), order(args.attrs));
        let dims = shape(ty);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..dims.len() as i64) {
            return Err(format!("{order:?} is not a permutation of the {} dimensions", dims.len()));
        }
        let dims: Vec<i64> = order.iter().map(|&from| dims[from as usize]).collect();
        Ok(smallvec![tensor(&dims, elem(ty))])
    }),
    layout: LayoutRule::Trans,
    cost: CostClass::Nothing,
    traits: MOVES.and(Traits::VIEW).and(Traits::KEEPS_DIMS).and(Traits::PERMUTES),
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(inferred),
    fold: Some(patterns::fold_trans),
    patterns: &[patterns::trans_of_splat, patterns::trans_of_trans],
    ..TransOp::ROW
};

ir::op_view! {
    JoinOp of JOIN {
        operands { lhs: One TENSOR_ONLY, rhs: One TENSOR_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// Pairs two blocks in a new last dimension.
pub static JOIN: OpRow = OpRow {
    name: "tt.join",
    doc: "Pairs the elements of two blocks in a new last dimension of size 2.",
    infer: Infer::Rule(|args| {
        let mut dims = shape(args.ty(0)).to_vec();
        dims.push(2);
        Ok(smallvec![tensor(&dims, elem(args.ty(0)))])
    }),
    layout: LayoutRule::Join,
    cost: CostClass::Once,
    traits: PURE,
    format: Format::Text("$lhs, $rhs attr-dict : type($lhs) -> type($result)"),
    verify: Some(super::same_type_operands),
    ..JoinOp::ROW
};

ir::op_view! {
    SplitOp of SPLIT {
        operands { src: One TENSOR_ONLY }
        results { out_lhs: One VALUE_LIKE, out_rhs: One VALUE_LIKE }
    }
}

/// Undoes [`JOIN`].
pub static SPLIT: OpRow = OpRow {
    name: "tt.split",
    doc: "The two halves of a block along its last dimension, which has size 2.",
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
    layout: LayoutRule::Split,
    cost: CostClass::Once,
    traits: PURE.and(Traits::VIEW),
    format: Format::Text("$src attr-dict : type($src) -> type($out_lhs)"),
    verify: Some(inferred),
    patterns: &[patterns::split_of_join],
    ..SplitOp::ROW
};

ir::op_view! {
    CatOp of CAT {
        operands { lhs: One TENSOR_ONLY, rhs: One TENSOR_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// One block behind the other.
pub static CAT: OpRow = OpRow {
    name: "tt.cat",
    doc: "One block of rank 1 behind another.",
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
    cost: CostClass::Once,
    traits: PURE,
    format: Format::Text("$lhs, $rhs attr-dict : type($lhs) -> type($result)"),
    verify: Some(inferred),
    ..CatOp::ROW
};

ir::op_view! {
    GatherOp of GATHER {
        operands { src: One TENSOR_ONLY, indices: One INT_LIKE }
        attrs { axis: usize, efficient_layout: Flag }
        results { result: One TENSOR_ONLY }
    }
}

/// Picks elements by index.
pub static GATHER: OpRow = OpRow {
    name: "tt.gather",
    doc: "For each index, the element of `src` whose position along `axis` it is. Undefined out of range.",
    infer: Infer::Rule(|args| Ok(smallvec![tensor(shape(args.ty(1)), elem(args.ty(0)))])),
    layout: LayoutRule::Gather,
    cost: CostClass::Once,
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
    ..GatherOp::ROW
};

ir::op_view! {
    ResizeOp of RESIZE {
        operands { src: One TENSOR_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// Cuts or extends dimensions at their ends.
pub static RESIZE: OpRow = OpRow {
    name: "tt.resize",
    doc: "The elements at the same positions in a block of other sizes. Positions that `src` does not have are undefined.",
    infer: Infer::Explicit,
    cost: CostClass::Once,
    traits: PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        same_elem(module, op)?;
        let (from, to) = (shape(module.ty(module.operand(op, 0))), shape(module.ty(module.result(op, 0))));
        if from.len() == to.len() { Ok(()) } else { Err(format!("{from:?} and {to:?} differ in rank")) }
    }),
    fold: Some(patterns::fold_same_type),
    ..ResizeOp::ROW
};
