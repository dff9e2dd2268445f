//! Values that only one of several holders of an element has, handed to all of them.

use crate::block_memory::{Values, convert_block};
use crate::context::Cx;
use crate::error::{Result, plain};
use crate::shared::{Need, Planner};
use crate::types;
use ir::{Module, Op, Type};
use layout::convert::{self, Conversion};
use llir::Value;
use std::rc::Rc;

/// The way of a value from the lanes that own its elements ([`crate::FreeBits`]) to all that hold them; none where each
/// element has one holder.
pub(crate) fn plan(planner: &Planner, ty: Type) -> Result<Option<Rc<Conversion>>> {
    let staged = convert::plan_from_owners(&planner.layout(ty)?, types::memory_bits(ty), &planner.facts);
    let staged = staged.map_err(|error| plain(error.to_string()))?;
    let shared = staged.store.copies != 0 || staged.crosses_blocks;
    Ok(shared.then(|| Rc::new(Conversion::Shared(staged))))
}

/// What handing round the result of an operation needs; nothing if the result is not used.
pub(crate) fn need(planner: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let Some(&result) = module.results(op).first() else { return Ok(Need::default()) };
    if module.is_unused(result) {
        return Ok(Need::default());
    }
    match plan(planner, module.ty(result))? {
        Some(plan) => Ok(super::convert::need(&[plan])),
        None => Ok(Need::default()),
    }
}

/// The registers of an operation's result in all lanes, from those in the lanes that own its elements.
pub(crate) fn share_results(cx: &mut Cx<'_>, op: Op, registers: Vec<Value>) -> Result<Vec<Value>> {
    let ty = cx.module.ty(cx.module.result(op, 0));
    let Some(plan) = plan(&cx.planner, ty)? else { return Ok(registers) };
    let region = cx.scratch(op);
    let block = Values { element: ttir::types::elem(ty), registers };
    convert_block(cx, plan, region, block)
}
