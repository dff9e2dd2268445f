//! Dots with sums of fp64 of operands that are narrower floats.
//!
//! Input:  `dot %a, %b, %c : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf64>`
//! Output: `%x = arith.extf %a; %y = arith.extf %b; dot %x, %y, %c : … xf64> * … xf64> -> … xf64>`
//!
//! Every product of such numbers is a number of fp64. Floats of eight bits are left as they are.

use ir::{Builder, FloatKind, Module, Op, Type};
use ttir::ops::arith_cast;
use ttir::ops::dot::MatmulOp;
use ttir::types;

/// Widens the operands of every such dot of a kernel.
pub(crate) fn widen_operands(module: &mut Module, kernel: Op) {
    let wide = Type::float(FloatKind::F64);
    for op in module.walk(kernel) {
        let Some(dot) = MatmulOp::of(module, op) else { continue };
        if types::elem(module.ty(dot.c())) != wide {
            continue;
        }
        for (index, value) in [dot.a(), dot.b()].into_iter().enumerate() {
            let ty = module.ty(value);
            if types::elem(ty).as_float().is_none_or(|kind| !matches!(kind.bits(), 16 | 32)) {
                continue;
            }
            let to = types::with_elem(ty, wide);
            let widened = Builder::before(module, op).build_as(&arith_cast::EXTF, &[value], &[], to);
            module.set_operand(op, index, widened);
        }
    }
}
