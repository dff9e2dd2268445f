//! One block behind another. The second is brought to the layout of the first, stands behind it in registers of its
//! own, and both together go to the layout of the result; steps that change nothing cost nothing.

use super::SharingEntry;
use crate::block_memory::{Values, convert_block, plans_bytes};
use crate::context::Cx;
use crate::error::{Result, plain};
use crate::layouts::layout_of;
use crate::ops::convert;
use crate::shared::{Need, Planner};
use crate::types;
use ir::{Module, Op, Type};
use layout::convert::Conversion;
use layout::{Dim, LinearLayout};
use std::rc::Rc;
use ttir::ops::shape::{CAT, CatOp};
use ttir::types::{elem, shape};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&CAT, cat, need)];

/// Bases of one input dimension.
type Bases<'a> = Vec<&'a [(Dim, u32)]>;

/// The layout of two blocks behind each other in registers of their own.
fn joined(first: &LinearLayout, ty: Type) -> Result<LinearLayout> {
    let sizes = shape(ty);
    let behind = [(Dim::block(0), sizes[0] as u32)];
    let bases = [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK].map(|dim| (dim, first.bases(dim)));
    let mut lists: Vec<(Dim, Bases<'_>)> = Vec::new();
    for (dim, list) in &bases {
        lists.push((*dim, list.iter().map(|basis| basis.as_slice()).collect()));
    }
    lists[0].1.push(&behind);
    let ins: Vec<_> = lists.iter().map(|(dim, list)| (*dim, list.as_slice())).collect();
    let outs: Vec<(Dim, u32)> = sizes
        .iter()
        .enumerate()
        .map(|(dim, size)| (Dim::block(dim), size.ilog2() + u32::from(dim == 0)))
        .collect();
    LinearLayout::new(&ins, &outs).map_err(|error| plain(error.to_string()))
}

/// The way of the second operand to the layout of the first, and of both to the result's.
fn plans(planner: &mut Planner, module: &Module, op: Op) -> Result<[Rc<Conversion>; 2]> {
    let cat = CatOp::new(module, op);
    let [left, right] = [cat.lhs(), cat.rhs()].map(|operand| module.ty(operand));
    if shape(left) != shape(right) {
        return Err(crate::error::at(module, op, "the blocks differ in shape"));
    }
    let (first, second) = (layout_of(left)?, layout_of(right)?);
    let result = layout_of(module.ty(cat.result()))?;
    let bits = types::memory_bits(left);
    Ok([planner.convert(&second, &first, bits)?, planner.convert(&joined(&first, left)?, &result, bits)?])
}

fn need(planner: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let [first, second] = plans(planner, module, op)?;
    Ok(convert::need_of_all(&[&[first], &[second]]))
}

fn cat(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let [second, both] = plans(&mut cx.planner, cx.module, op)?;
    let cat = CatOp::new(cx.module, op);
    let element = elem(cx.module.ty(cat.lhs()));
    let region = cx.scratch(op);
    let behind = region.map(|region| region.after(plans_bytes(std::slice::from_ref(&second))));
    let right = Values { element, registers: cx.registers(cat.rhs())?.to_vec() };
    let right = convert_block(cx, second, region, right)?;
    let mut registers = cx.registers(cat.lhs())?.to_vec();
    registers.extend(right);
    let result = convert_block(cx, both, behind, Values { element, registers })?;
    cx.set_registers(op, result);
    Ok(())
}
