//! Layout conversions.

use super::SharingEntry;
use crate::block_memory::{Values, convert_block, plans_bytes, plans_cross, plans_wait};
use crate::context::Cx;
use crate::error::Result;
use crate::layouts::layout_of;
use crate::shared::{Need, Order, Planner};
use crate::types;
use ir::{Module, Op};
use layout::convert::Conversion;
use std::rc::Rc;
use ttgir::ops::convert::{CONVERT_LAYOUT, ConvertLayoutOp};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] =
    &[(&CONVERT_LAYOUT, convert_layout, |planner, module, op| Ok(need(&[plan(planner, module, op)?])))];

fn plan(planner: &mut Planner, module: &Module, op: Op) -> Result<Rc<Conversion>> {
    let convert = ConvertLayoutOp::new(module, op);
    let (from, to) = (module.ty(convert.src()), module.ty(convert.result()));
    let plan = planner.convert(&layout_of(from)?, &layout_of(to)?, types::memory_bits(from));
    plan.map_err(|error| crate::error::at(module, op, error.message()))
}

/// What carrying out plans needs.
pub(crate) fn need(plans: &[Rc<Conversion>]) -> Need {
    let order = match (plans_cross(plans), plans_wait(plans)) {
        (true, _) => Order::WaitsForCluster,
        (_, true) => Order::Waits,
        _ => Order::WithinWarp,
    };
    Need { bytes: plans_bytes(plans), align: 16, order }
}

/// What carrying out plans one behind the other needs, each in memory of its own.
pub(crate) fn need_of_all(steps: &[&[Rc<Conversion>]]) -> Need {
    let needs = steps.iter().map(|plans| need(plans));
    needs.fold(Need { bytes: 0, align: 16, order: Order::WithinWarp }, |all, next| Need {
        bytes: all.bytes + next.bytes,
        align: 16,
        order: all.order.max(next.order),
    })
}

fn convert_layout(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let plan = plan(&mut cx.planner, cx.module, op)?;
    let source = ConvertLayoutOp::new(cx.module, op).src();
    let element = ttir::types::elem(cx.module.ty(source));
    crate::notes::note_move(cx, op, cx.module.ty(source), &plan);
    let registers = cx.registers(source)?.to_vec();
    let region = cx.scratch(op);
    let converted = convert_block(cx, plan, region, Values { element, registers })?;
    cx.set_registers(op, converted);
    Ok(())
}
