//! Products that a group of warps makes together, with operands in shared memory, while the program goes on.

use crate::types::{MEMDESC_ONLY, memdesc};
use ir::{
    ANY, AttrKind, AttrSpec, Format, Infer, Module, Op, OpRow, Presence, Traits, TypeConstraint, Value, one,
    optional, variadic,
};
use ttir::ops::dot::INPUT_PRECISION;
use ttir::types::{BOOL, TENSOR_ONLY, shape};

static TENSOR_OR_MEMORY: TypeConstraint = TypeConstraint {
    name: "a tensor or a memory description",
    check: |ty| (TENSOR_ONLY.check)(ty) || (MEMDESC_ONLY.check)(ty),
};

/// Matrix product.
pub static WARP_GROUP_DOT: OpRow = OpRow {
    name: "ttng.warp_group_dot",
    doc: "a · b + c (without c where `useC` does not hold). With `isAsync` the result must not be used before a wait.",
    operands: &[
        one("a", &TENSOR_OR_MEMORY),
        one("b", &MEMDESC_ONLY),
        one("c", &TENSOR_ONLY),
        optional("useC", &BOOL),
    ],
    attrs: &[
        AttrSpec::with_default("inputPrecision", AttrKind::Enum(&INPUT_PRECISION), Presence::Enum(2)),
        AttrSpec::with_default("isAsync", AttrKind::Bool, Presence::Bool(false)),
        AttrSpec::with_default("maxNumImpreciseAcc", AttrKind::Int(32), Presence::Int(0)),
    ],
    results: &[one("d", &TENSOR_ONLY)],
    infer: Infer::SameAs(2),
    traits: Traits::READS,
    format: Format::Text("$a, $b, $c (, $useC)? attr-dict : type($a) * type($b) -> type($d)"),
    verify: Some(|module, op| {
        let [a, b, c] = [0, 1, 2].map(|index| block_shape(module, module.operand(op, index)));
        let fits = matches!((a, b, c), ([m, k], [l, n], [p, q]) if k == l && m == p && n == q);
        if fits { Ok(()) } else { Err(format!("shapes {a:?} and {b:?} do not multiply to {c:?}")) }
    }),
    ..OpRow::BASE
};

/// The shape of a tensor or of a memory description.
pub fn block_shape(module: &Module, value: Value) -> &'static [i64] {
    let ty = module.ty(value);
    memdesc(ty).map_or_else(|| shape(ty), |desc| desc.shape)
}

/// Waits for products.
pub static WARP_GROUP_DOT_WAIT: OpRow = OpRow {
    name: "ttng.warp_group_dot_wait",
    doc: "Waits until at most `pendings` of the newest products are going on; passes values on, which are then whole.",
    operands: &[variadic("inputs", &ANY)],
    attrs: &[AttrSpec::required("pendings", AttrKind::Int(32))],
    results: &[variadic("outputs", &ANY)],
    infer: Infer::Rule(|args| Ok((0..args.operands.len()).map(|index| args.ty(index)).collect())),
    traits: Traits::READS.and(Traits::WRITES),
    format: Format::Text("$inputs attr-dict : type($inputs)"),
    verify: Some(|module: &Module, op: Op| {
        let types = |values: &[Value]| values.iter().map(|&value| module.ty(value)).collect::<Vec<_>>();
        if types(module.operands(op)) == types(module.results(op)) {
            Ok(())
        } else {
            Err("the results must have the types of the operands".into())
        }
    }),
    ..OpRow::BASE
};
