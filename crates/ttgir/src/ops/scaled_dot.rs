//! Dots of scaled blocks by one instruction that multiplies both the numbers and their scales.

use crate::ops::group_dot::block_shape;
use ir::{CostClass, Infer, LayoutRule, Module, OpRow, Traits};
use ttir::ops::dot::{InputPrecision, MatmulOp, ScaleType};
use ttir::types::{TENSOR_ONLY, elem, shape};

/// Elements along k that share a scale.
pub const GROUP: u32 = 32;

ir::op_view! {
    ScaledDotOp of SCALED_DOT {
        operands {
            a: One TENSOR_ONLY,
            b: One TENSOR_ONLY,
            c: One TENSOR_ONLY,
            a_scale: One TENSOR_ONLY,
            b_scale: One TENSOR_ONLY,
        }
        attrs {
            a_format "a_elem_type": ScaleType,
            b_format "b_elem_type": ScaleType,
            input_precision "inputPrecision": InputPrecision = Enum(InputPrecision::Ieee as u32),
        }
        results { d: One TENSOR_ONLY }
    }
}

/// Matrix product of scaled operands.
pub static SCALED_DOT: OpRow = OpRow {
    name: "ttg.scaled_dot",
    doc: "a · b + c, where 32 elements along k share a scale: a power of two by its exponent with a bias of 127. `a_scale` is \
          m × k/32, `b_scale` n × k/32. Numbers of 4 bits lie in pairs along k, two in a byte.",
    infer: Infer::SameAs(2),
    layout: LayoutRule::Dot,
    cost: CostClass::Once,
    traits: Traits::PURE.and(Traits::MATMUL),
    format: ir::Format::Generic,
    verify: Some(|module, op| {
        let dot = ScaledDotOp::new(module, op);
        let [a, b, c, x, y] =
            [dot.a(), dot.b(), dot.c(), dot.a_scale(), dot.b_scale()].map(|value| shape(module.ty(value)));
        let depth = |bytes: i64, format| bytes * i64::from(elements_of_a_byte(format));
        let fits = match (a, b, c) {
            ([m, ka], [kb, n], [p, q]) => {
                let (ka, kb) = (depth(*ka, dot.a_format()), depth(*kb, dot.b_format()));
                let groups = ka / i64::from(GROUP);
                m == p && n == q && ka == kb && x == [*m, groups] && y == [*n, groups]
            }
            _ => false,
        };
        let bytes = [dot.a(), dot.b(), dot.a_scale(), dot.b_scale()];
        if !fits {
            Err(format!("shapes {a:?} and {b:?} with scales {x:?} and {y:?} do not multiply to {c:?}"))
        } else if bytes.iter().any(|&value| elem(module.ty(value)).scalar_bits() != Some(8)) {
            Err("operands and scales have elements of 8 bits".into())
        } else {
            Ok(())
        }
    }),
    ..ScaledDotOp::ROW
};

/// How many numbers of a format share a byte.
pub const fn elements_of_a_byte(format: ScaleType) -> u32 {
    if matches!(format, ScaleType::E2m1) { 2 } else { 1 }
}

/// How many products each element of the result is the sum of.
///
/// # Panics
/// Where the left operand has no dimensions, which verified dots have.
pub fn depth(module: &Module, dot: MatmulOp<'_>) -> i64 {
    let last = *block_shape(module, dot.a()).last().expect("verified: a dot multiplies matrices");
    let in_byte = ScaledDotOp::of(module, dot.op).map_or(1, |dot| elements_of_a_byte(dot.a_format()));
    last * i64::from(in_byte)
}
