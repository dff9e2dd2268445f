//! `tl.map_elementwise`: a region with control flow, once for each element or each few neighbouring registers.

use crate::cx::Cx;
use crate::error::Result;
use crate::table::Entry;
use crate::value::LaneValue;
use ir::{Attr, Op};
use llir::Value;
use smallvec::SmallVec;
use ttir::ops::reduce::MAP_ELEMENTWISE;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&MAP_ELEMENTWISE, map_elementwise)];

fn map_elementwise(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let pack = cx.module.attr(op, 0).and_then(Attr::as_int).and_then(|pack| usize::try_from(pack).ok());
    let pack = pack.unwrap_or(1).max(1);
    let results = cx.module.results(op).to_vec();
    let operands: SmallVec<[_; 4]> =
        (0..cx.module.operands(op).len()).map(|index| cx.operand(op, index)).collect::<Result<_>>()?;
    let count = operands.first().map_or(0, |registers| registers.len());
    if count % pack != 0 {
        return Err(cx.error(op, format!("`pack` is {pack}, but each lane holds {count} elements")));
    }
    let block = cx.module.entry(cx.module.region(op, 0));
    let mut outputs: Vec<Vec<Value>> = vec![Vec::with_capacity(count); results.len()];
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
    for (result, registers) in results.iter().zip(outputs) {
        cx.set(*result, LaneValue::tensor(registers));
    }
    Ok(())
}
