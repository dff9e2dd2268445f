//! Dots that a warp group makes together, with operands in shared memory, while the program goes on.

use crate::types::{MEMDESC_ONLY, memdesc};
use ir::{ANY, Effect, Format, Infer, Module, Op, OpRow, Traits, TypeConstraint, Value};
use ttir::ops::dot::InputPrecision;
use ttir::types::{BOOL, TENSOR_ONLY, shape};

static TENSOR_OR_MEMORY: TypeConstraint = TypeConstraint {
    name: "a tensor or a memory descriptor",
    check: |ty| (TENSOR_ONLY.check)(ty) || (MEMDESC_ONLY.check)(ty),
};

ir::op_view! {
    WarpGroupDotOp of WARP_GROUP_DOT {
        operands { a: One TENSOR_OR_MEMORY => ReadUntil(WARP_GROUP_DOT_WAIT), b: One MEMDESC_ONLY => ReadUntil(WARP_GROUP_DOT_WAIT), c: One TENSOR_ONLY, use_c: Optional BOOL }
        attrs {
            input_precision "inputPrecision": InputPrecision = Enum(InputPrecision::Ieee as u32),
            is_async / set_is_async "isAsync": bool = Bool(false),
            max_imprecise "maxNumImpreciseAcc": i32 = Int(0),
        }
        results { d: One TENSOR_ONLY }
    }
}

/// Matrix product.
pub static WARP_GROUP_DOT: OpRow = OpRow {
    name: "ttng.warp_group_dot",
    doc: "a · b + c (without c where `useC` does not hold). With `isAsync` the result must not be used before a wait.",
    infer: Infer::SameAs(2),
    traits: Traits::MATMUL,
    format: Format::Text("$a, $b, $c (, $use_c)? attr-dict : type($a) * type($b) -> type($d)"),
    verify: Some(|module, op| {
        let [a, b, c] = [0, 1, 2].map(|index| block_shape(module, module.operand(op, index)));
        let fits = matches!((a, b, c), ([m, k], [l, n], [p, q]) if k == l && m == p && n == q);
        if fits { Ok(()) } else { Err(format!("shapes {a:?} and {b:?} do not multiply to {c:?}")) }
    }),
    ..WarpGroupDotOp::ROW
};

/// The shape of a tensor or of a memory descriptor.
pub fn block_shape(module: &Module, value: Value) -> &'static [i64] {
    let ty = module.ty(value);
    memdesc(ty).map_or_else(|| shape(ty), |desc| desc.shape)
}

ir::op_view! {
    WarpGroupDotWaitOp of WARP_GROUP_DOT_WAIT {
        operands { inputs: Variadic ANY => Nothing }
        attrs { pendings: u32 }
        results { outputs: Variadic ANY }
    }
}

/// Waits for dots.
pub static WARP_GROUP_DOT_WAIT: OpRow = OpRow {
    name: "ttng.warp_group_dot_wait",
    doc: "Waits until at most `pendings` of the newest dots are going on; passes values on, which are then whole.",
    infer: Infer::Rule(|args| Ok((0..args.operands.len()).map(|index| args.ty(index)).collect())),
    effect: Effect::Atomic,
    format: Format::Text("$inputs attr-dict : type($inputs)"),
    verify: Some(|module: &Module, op: Op| {
        let types = |values: &[Value]| values.iter().map(|&value| module.ty(value)).collect::<Vec<_>>();
        if types(module.operands(op)) == types(module.results(op)) {
            Ok(())
        } else {
            Err("the results must have the types of the operands".into())
        }
    }),
    ..WarpGroupDotWaitOp::ROW
};
