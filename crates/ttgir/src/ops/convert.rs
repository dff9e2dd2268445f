//! Change of layout.

use ir::{Builder, Format, Infer, OpRow, Traits, Type, Value};
use ttir::types::{TENSOR_ONLY, elem, shape};

ir::op_view! {
    ConvertLayoutOp of CONVERT_LAYOUT {
        operands { src: One TENSOR_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// The same block in another layout.
pub static CONVERT_LAYOUT: OpRow = OpRow {
    name: "ttg.convert_layout",
    doc: "The same block, held in another layout.",
    infer: Infer::Explicit,
    traits: Traits::PURE.and(Traits::MOVES).and(Traits::RELAYOUT).and(Traits::PERMUTES),
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        let (from, to) = (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)));
        if shape(from) == shape(to) && elem(from) == elem(to) {
            Ok(())
        } else {
            Err(format!("{from} and {to} differ in more than their encoding"))
        }
    }),
    ..ConvertLayoutOp::ROW
};

/// A value as another type, which differs in the encoding at most.
pub fn convert(builder: &mut Builder<'_>, value: Value, ty: Type) -> Value {
    if builder.module.ty(value) == ty { value } else { builder.build_as(&CONVERT_LAYOUT, &[value], &[], ty) }
}
