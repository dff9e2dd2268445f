//! Dots of matrices by fused multiply-adds, for results that no matrix instruction makes.
//!
//! Each lane holds, of the operands, all of k for the rows and columns of its part of the result. Sums run along k in
//! order. Those by matrix instructions are in [`super::matrix_dot`].

use super::Entry;
use super::matrix_dot;
use crate::context::Cx;
use crate::error::Result;
use crate::positions::Positions;
use elementwise::small_float::as_wide;
use ir::{Op, Value as IrValue};
use llir::{Op as LlirOp, Type, Value, intrinsics};
use ttgir::Encoding;
use ttir::ops::dot::DotOp;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&ttir::ops::dot::DOT, lower_dot)];

fn lower_dot(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let dot = DotOp::new(cx.module, op);
    let operands = [dot.a(), dot.b(), dot.c()];
    match Encoding::of(cx.module.ty(cx.module.result(op, 0))) {
        Some(Encoding::Mma { .. } | Encoding::Fragments(_)) => matrix_dot::lower(cx, op, operands),
        _ => lower_by_elements(cx, op, operands),
    }
}

fn lower_by_elements(cx: &mut Cx<'_>, op: Op, operands: [IrValue; 3]) -> Result<()> {
    let types = operands.map(|operand| cx.module.ty(operand));
    let mut positions = Vec::with_capacity(3);
    for ty in types {
        positions.push(Positions::of(&*cx.layout(ty)?));
    }
    let sum = cx.register_type(types[2]);
    let a = widen(cx, op, operands[0], sum)?;
    let b = widen(cx, op, operands[1], sum)?;
    let c = cx.registers(operands[2])?;
    let depth = positions[0].sizes()[2];
    let lost = || "a lane does not hold all of k: the operands' encodings do not belong to the result's";
    // Along k outside, so that an operand's registers are free as soon as its columns or rows were multiplied.
    let mut results = c.to_vec();
    for k in 0..depth {
        for (acc, [batch, row, column]) in results.iter_mut().zip(positions[2].elements()) {
            let x = positions[0].register([*batch, *row, k]).ok_or_else(|| cx.error(op, lost()))?;
            let y = positions[1].register([*batch, k, *column]).ok_or_else(|| cx.error(op, lost()))?;
            *acc = multiply_add(cx, a[x as usize], b[y as usize], *acc);
        }
    }
    cx.set_registers(op, results);
    Ok(())
}

fn multiply_add(cx: &mut Cx<'_>, x: Value, y: Value, acc: Value) -> Value {
    let ty = cx.b.ty(acc);
    if ty.is_float() {
        return cx.b.intrinsic(&intrinsics::FMA, ty, &[x, y, acc]);
    }
    let product = cx.b.mul(x, y);
    cx.b.add(product, acc)
}

/// The registers of an operand in the format of the sum.
fn widen(cx: &mut Cx<'_>, op: Op, operand: IrValue, sum: Type) -> Result<Vec<Value>> {
    let mut registers = cx.registers(operand)?.to_vec();
    let ty = cx.module.ty(operand);
    let (mut from, element) = (cx.register_type(ty), ttir::types::elem(ty));
    if element.as_float().is_some_and(|kind| kind.bits() == 8) {
        registers = cx.element(|ctx| registers.iter().map(|&value| as_wide(ctx, element, value)).collect());
        from = Type::F32;
    }
    if from == sum {
        return Ok(registers);
    }
    let cast = match (from.is_float(), sum.is_float()) {
        (true, true) if from.lane_bits() > sum.lane_bits() => LlirOp::FPTRUNC,
        (true, true) => LlirOp::FPEXT,
        (false, false) => LlirOp::SEXT,
        _ => return Err(cx.error(op, "operands and result of a dot are of different kinds")),
    };
    Ok(registers.iter().map(|value| cx.b.cast(cast, *value, sum)).collect())
}
