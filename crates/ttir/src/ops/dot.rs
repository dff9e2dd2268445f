//! Matrix products.

use crate::types::{TENSOR_ONLY, shape};
use ir::{AttrKind, AttrSpec, EnumRow, Format, Infer, OpRow, Presence, Traits, one, optional};

/// How binary32 operands are multiplied.
pub static INPUT_PRECISION: EnumRow = EnumRow {
    name: "inputPrecision",
    cases: &[("tf32", 0), ("tf32x3", 1), ("ieee", 2), ("bf16x3", 3), ("bf16x6", 4)],
};

/// Formats of scaled operands.
pub static SCALE_TYPE: EnumRow = EnumRow {
    name: "ScaleDotElemType",
    cases: &[("e4m3", 0), ("e5m2", 1), ("e2m3", 2), ("e3m2", 3), ("e2m1", 4), ("bf16", 5), ("fp16", 6)],
};

/// Matrix product.
pub static DOT: OpRow = OpRow {
    name: "tt.dot",
    doc: "a · b + c for matrices, or for each matrix of two stacks. Sums are in the format of c, in any order.",
    operands: &[one("a", &TENSOR_ONLY), one("b", &TENSOR_ONLY), one("c", &TENSOR_ONLY)],
    attrs: &[
        AttrSpec::with_default("inputPrecision", AttrKind::Enum(&INPUT_PRECISION), Presence::Enum(2)),
        AttrSpec::with_default("maxNumImpreciseAcc", AttrKind::Int(32), Presence::Int(0)),
    ],
    results: &[one("d", &TENSOR_ONLY)],
    infer: Infer::SameAs(2),
    traits: Traits::PURE,
    format: Format::Text(
        "$a, $b, $c (, inputPrecision = $inputPrecision)? attr-dict : type($a) * type($b) -> type($d)",
    ),
    verify: Some(|module, op| {
        let [a, b, c] = [0, 1, 2].map(|index| shape(module.ty(module.operand(op, index))));
        let rank = a.len();
        let fits = (rank == 2 || rank == 3)
            && b.len() == rank
            && c.len() == rank
            && a[rank - 1] == b[rank - 2]
            && c[rank - 2] == a[rank - 2]
            && c[rank - 1] == b[rank - 1]
            && (rank == 2 || (a[0] == b[0] && a[0] == c[0]));
        if fits { Ok(()) } else { Err(format!("shapes {a:?} and {b:?} do not multiply to {c:?}")) }
    }),
    ..OpRow::BASE
};

/// Matrix product of scaled operands. `scales` says which scales are given: bit 0 for a, bit 1 for b.
pub static DOT_SCALED: OpRow = OpRow {
    name: "tt.dot_scaled",
    doc: "a · b + c, where groups of 32 (or 16) elements along k share a scale.",
    operands: &[
        one("a", &TENSOR_ONLY),
        one("b", &TENSOR_ONLY),
        one("c", &TENSOR_ONLY),
        optional("a_scale", &TENSOR_ONLY),
        optional("b_scale", &TENSOR_ONLY),
    ],
    attrs: &[
        AttrSpec::required("a_elem_type", AttrKind::Enum(&SCALE_TYPE)),
        AttrSpec::required("b_elem_type", AttrKind::Enum(&SCALE_TYPE)),
        AttrSpec::with_default("fastMath", AttrKind::Bool, Presence::Bool(false)),
        AttrSpec::with_default("lhs_k_pack", AttrKind::Bool, Presence::Bool(true)),
        AttrSpec::with_default("rhs_k_pack", AttrKind::Bool, Presence::Bool(true)),
        AttrSpec::with_default("scales", AttrKind::Int(32), Presence::Int(3)),
    ],
    results: &[one("d", &TENSOR_ONLY)],
    infer: Infer::SameAs(2),
    traits: Traits::PURE,
    format: Format::Generic,
    ..OpRow::BASE
};
