//! Constants and values without meaning.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::types;
use ir::{Attr, Elements, Op};
use llir::Value;
use ttir::ops::constant::{CONSTANT, ConstantOp, POISON, splat_bits};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&CONSTANT, constant), (&POISON, poison)];

fn constant(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let ty = cx.module.ty(cx.module.result(op, 0));
    let register = types::register(ty);
    let attr = ConstantOp::new(cx.module, op).value();
    if let Attr::Dense { elements: Elements::List(list), .. } = attr {
        let registers = listed(cx, ty, list)?;
        cx.set_registers(op, registers);
        return Ok(());
    }
    let Some(bits) = splat_bits(attr) else { return Err(cx.error(op, "is not of numbers")) };
    let value = cx.b.bits(register, u128::from(bits));
    let count = cx.register_count(ty)?;
    cx.set_registers(op, vec![value; count]);
    Ok(())
}

/// A list whose element depends on the lane: a chain of selections over the positions that occur. Lists are short; only
/// hand-written programs have them.
fn listed(cx: &mut Cx<'_>, ty: ir::Type, list: &[u64]) -> Result<Vec<Value>> {
    let register = types::register(ty);
    let layout = cx.layout(ty)?;
    let shape = ttir::types::shape(ty);
    let positions = cx.positions(&layout);
    let mut registers = Vec::with_capacity(positions.len());
    for position in positions {
        // The number of the element in row-major order.
        let mut index = cx.b.i32(0);
        for (dim, at) in position.iter().enumerate() {
            let size = cx.b.i32(shape[dim] as i32);
            index = cx.b.mul(index, size);
            index = cx.b.add(index, *at);
        }
        let mut value = cx.b.bits(register, u128::from(list[0]));
        for (number, bits) in list.iter().enumerate().skip(1) {
            let (number, bits) = (cx.b.i32(number as i32), cx.b.bits(register, u128::from(*bits)));
            let here = cx.b.icmp(llir::IntCompare::Eq, index, number);
            value = cx.b.select(here, bits, value);
        }
        registers.push(value);
    }
    Ok(registers)
}

/// Zero: a value without meaning must still be the same each time.
fn poison(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let ty = cx.module.ty(cx.module.result(op, 0));
    let value = cx.b.zero(types::register(ty));
    let count = cx.register_count(ty)?;
    cx.set_registers(op, vec![value; count]);
    Ok(())
}
