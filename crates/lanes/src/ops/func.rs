//! Calls: the callee is lowered where it is called.
//!
//! Earlier stages inline nearly all calls. What is left takes and returns values of any kind, tensors among them, whose
//! parts would fill the parameters of a real call; and shared memory is laid out for a kernel as a whole.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::value::LaneValue;
use ir::Op;
use smallvec::SmallVec;
use ttir::ops::func::{CALL, CallOp};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&CALL, call)];

fn call(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let name = CallOp::new(cx.module, op).callee();
    let Some(callee) = cx.module.symbol(name) else {
        return Err(cx.error(op, format!("there is no function `{name}`")));
    };
    if cx.calls.contains(&callee) {
        return Err(cx.error(op, format!("`{name}` calls itself; kernels cannot recurse: use a loop")));
    }
    let operands = cx.module.operands(op);
    let args: SmallVec<[LaneValue; 4]> =
        operands.iter().map(|value| cx.get(*value)).collect::<Result<_>>()?;
    let axis = ttir::axis::analyze(cx.module, callee);
    let outer = std::mem::replace(&mut cx.axis, axis);
    cx.calls.push(callee);
    let entry = cx.module.entry_of(callee);
    let results = cx.inline_block(entry, &args);
    cx.calls.pop();
    cx.axis = outer;
    for (result, value) in cx.module.results(op).iter().zip(results?) {
        cx.set(*result, value);
    }
    Ok(())
}
