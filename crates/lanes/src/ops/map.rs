//! `tl.map_elementwise`: a region with control flow, once for each element or each few neighbouring elements.
//!
//! Neighbours that one run of the region takes must be in one lane. Where the layout holds them apart, operands go to a
//! layout that does not, and results come back.

use super::SharingEntry;
use crate::block_memory::{Values, convert_blocks, plans_bytes};
use crate::context::Cx;
use crate::error::Result;
use crate::layouts::layout_of;
use crate::ops::convert;
use crate::shared::{Need, Planner};
use crate::types;
use crate::value::LaneValue;
use ir::{Module, Op, Value as IrValue};
use layout::convert::Conversion;
use layout::{Dim, LinearLayout};
use llir::Value;
use smallvec::SmallVec;
use std::rc::Rc;
use ttir::ops::reduce::{MAP_ELEMENTWISE, MapElementwiseOp};
use ttir::types::shape;

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&MAP_ELEMENTWISE, map_elementwise, need)];

/// The ways of the operands to lanes that hold neighbours, and of the results back.
struct Ways {
    /// Where the region runs.
    inner: LinearLayout,
    operands: Vec<Rc<Conversion>>,
    results: Vec<Rc<Conversion>>,
}

fn pack(module: &Module, op: Op) -> usize {
    MapElementwiseOp::new(module, op).pack().max(1)
}

/// Where each power of two of the row-major number of an element stands.
fn row_major_bits(sizes: &[i64]) -> Vec<(Dim, u32)> {
    let dims = sizes.iter().enumerate().rev();
    dims.flat_map(|(dim, size)| (0..size.ilog2()).map(move |bit| (Dim::block(dim), 1 << bit))).collect()
}

/// A layout whose lowest registers hold `pack` neighbours; the other elements are spread over lanes, then warps, then
/// blocks.
fn packed(planner: &Planner, sizes: &[i64], pack: usize) -> Result<LinearLayout> {
    let bits = row_major_bits(sizes);
    let none: Vec<(Dim, u32)> = Vec::new();
    let mut rest = bits.iter();
    let mut take = |count: u32| -> Vec<Vec<(Dim, u32)>> {
        (0..count).map(|_| rest.next().map_or_else(|| none.clone(), |bit| vec![*bit])).collect()
    };
    let mut register = take(pack.trailing_zeros().min(bits.len() as u32));
    let lane = take(planner.lanes.trailing_zeros());
    let warp = take(planner.num_warps.trailing_zeros());
    let block = take(planner.num_blocks.trailing_zeros());
    register.extend(take(bits.len() as u32).into_iter().filter(|basis| !basis.is_empty()));
    let slices = |list: &[Vec<(Dim, u32)>]| list.iter().map(|basis| basis.to_vec()).collect::<Vec<_>>();
    let lists = [slices(&register), slices(&lane), slices(&warp), slices(&block)];
    let lists: Vec<Vec<&[(Dim, u32)]>> =
        lists.iter().map(|list| list.iter().map(|basis| basis.as_slice()).collect()).collect();
    let outs: Vec<(Dim, u32)> =
        sizes.iter().enumerate().map(|(dim, size)| (Dim::block(dim), size.ilog2())).collect();
    let ins = [
        (Dim::REGISTER, &lists[0][..]),
        (Dim::LANE, &lists[1]),
        (Dim::WARP, &lists[2]),
        (Dim::BLOCK, &lists[3]),
    ];
    LinearLayout::new(&ins, &outs).map_err(|error| crate::error::plain(error.to_string()))
}

/// Whether the lowest registers of a layout hold `pack` neighbours.
fn holds_neighbours(layout: &LinearLayout, sizes: &[i64], pack: usize) -> bool {
    let wanted = row_major_bits(sizes);
    let bases = layout.bases(Dim::REGISTER);
    (0..pack.trailing_zeros() as usize).all(|bit| match (wanted.get(bit), bases.get(bit)) {
        (Some((dim, at)), Some(basis)) => {
            basis.iter().all(|(own, position)| *position == if own == dim { *at } else { 0 })
        }
        _ => false,
    })
}

fn ways(planner: &mut Planner, module: &Module, op: Op) -> Result<Ways> {
    let ty = module.ty(MapElementwiseOp::new(module, op).srcs()[0]);
    let layout = layout_of(ty)?;
    let pack = pack(module, op);
    let inner = if holds_neighbours(&layout, shape(ty), pack) {
        layout.clone()
    } else {
        packed(planner, shape(ty), pack)?
    };
    let mut plans = |values: &[IrValue], into: bool| -> Result<Vec<Rc<Conversion>>> {
        let each = values.iter().map(|value| types::memory_bits(module.ty(*value)));
        each.map(|bits| match into {
            true => planner.convert(&layout, &inner, bits),
            false => planner.convert(&inner, &layout, bits),
        })
        .collect()
    };
    let (operands, results) = (plans(module.operands(op), true)?, plans(module.results(op), false)?);
    Ok(Ways { inner, operands, results })
}

fn need(planner: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let ways = ways(planner, module, op)?;
    Ok(convert::need_of_all(&[&ways.operands, &ways.results]))
}

fn map_elementwise(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let ways = ways(&mut cx.planner, cx.module, op)?;
    let region = cx.scratch(op);
    let block_of = |cx: &Cx<'_>, value: IrValue, registers: Vec<Value>| Values {
        element: ttir::types::elem(cx.module.ty(value)),
        registers,
    };
    let mut operands = Vec::new();
    for value in cx.module.operands(op) {
        let registers = cx.registers(*value)?.to_vec();
        operands.push(block_of(cx, *value, registers));
    }
    let operands = convert_blocks(cx, &ways.operands, region, &operands)?;
    let outputs = run(cx, op, &ways.inner, &operands)?;
    let results = cx.module.results(op).to_vec();
    let outputs: Vec<Values> =
        results.iter().zip(outputs).map(|(value, registers)| block_of(cx, *value, registers)).collect();
    let behind = region.map(|region| region.after(plans_bytes(&ways.operands)));
    let outputs = convert_blocks(cx, &ways.results, behind, &outputs)?;
    for (result, registers) in results.iter().zip(outputs) {
        cx.set(*result, LaneValue::tensor(registers));
    }
    Ok(())
}

/// Runs the region for each few registers; answers the registers of each result.
fn run(cx: &mut Cx<'_>, op: Op, inner: &LinearLayout, operands: &[Vec<Value>]) -> Result<Vec<Vec<Value>>> {
    let (pack, count) = (pack(cx.module, op), 1usize << inner.ins().bits(Dim::REGISTER));
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
