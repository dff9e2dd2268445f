//! `tl.map_elementwise`: a region with control flow, once for each element or each few neighbouring elements.

use super::SharingEntry;
use super::neighbours::{self, Ways};
use crate::context::Cx;
use crate::error::Result;
use crate::shared::{Need, Planner};
use crate::value::LaneValue;
use ir::{Module, Op};
use llir::Value;
use smallvec::SmallVec;
use ttir::ops::reduce::{MAP_ELEMENTWISE, MapElementwiseOp};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&MAP_ELEMENTWISE, map_elementwise, need)];

fn need(planner: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    Ok(neighbours::need(ways(planner, module, op)?.as_ref()))
}

fn ways(planner: &mut Planner, module: &Module, op: Op) -> Result<Option<Ways>> {
    neighbours::ways(planner, module, op, MapElementwiseOp::new(module, op).pack())
}

fn map_elementwise(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let ways = ways(&mut cx.planner, cx.module, op)?;
    let operands = neighbours::operands(cx, op, ways.as_ref())?;
    let outputs = run(cx, op, &operands)?;
    let results = cx.module.results(op).to_vec();
    let outputs = neighbours::results(cx, op, ways.as_ref(), outputs)?;
    for (result, registers) in results.iter().zip(outputs) {
        cx.set(*result, LaneValue::tensor(registers));
    }
    Ok(())
}

/// Runs the region for each few registers; answers the registers of each result.
fn run(cx: &mut Cx<'_>, op: Op, operands: &[Vec<Value>]) -> Result<Vec<Vec<Value>>> {
    let (pack, count) = (MapElementwiseOp::new(cx.module, op).pack(), operands[0].len());
    let block = cx.module.entry_of(op);
    let mut outputs: Vec<Vec<Value>> = vec![Vec::with_capacity(count); cx.module.results(op).len()];
    for start in (0..count).step_by(pack) {
        let args: SmallVec<[LaneValue; 4]> = operands
            .iter()
            .flat_map(|registers| {
                registers[start..start + pack].iter().map(|value| LaneValue::Scalar(*value))
            })
            .collect();
        let produced = cx.inline_block(block, &args)?;
        for (all, values) in outputs.iter_mut().zip(produced.chunks(pack)) {
            for value in values {
                all.extend(value.flatten());
            }
        }
    }
    Ok(outputs)
}
