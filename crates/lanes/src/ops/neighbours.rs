//! Operations that take a few neighbouring elements at a time: `tl.map_elementwise` and inline assembly with `pack`.
//!
//! Neighbours, which follow each other in the row-major order of the block, must be in the lowest registers of one
//! lane. Where they are not, operands go to a layout in which they are, and results come back.

use super::convert;
use crate::block_memory::{Values, convert_blocks, plans_bytes};
use crate::context::Cx;
use crate::error::Result;
use crate::layouts::layout_of;
use crate::shared::{Need, Order, Planner};
use crate::types;
use ir::{Module, Op, Value as IrValue};
use layout::convert::Conversion;
use layout::{Dim, LinearLayout};
use llir::Value;
use std::rc::Rc;
use ttir::types::{is_tensor, shape};

/// The ways of the operands to lanes that hold neighbours, and of the results back.
pub(crate) struct Ways {
    /// The registers of a lane that holds neighbours.
    pub(crate) registers: usize,
    operands: Vec<Rc<Conversion>>,
    results: Vec<Rc<Conversion>>,
}

/// The ways of an operation whose operands and results are blocks of one layout and that takes `pack` neighbours at a
/// time; `None` where they are in the registers of a lane as it wants them.
pub(crate) fn ways(planner: &mut Planner, module: &Module, op: Op, pack: usize) -> Result<Option<Ways>> {
    let values = module.operands(op).iter().chain(module.results(op));
    let types: Vec<_> = values.map(|&value| module.ty(value)).collect();
    let Some(&ty) = types.first().filter(|_| types.iter().all(|&ty| is_tensor(ty))) else { return Ok(None) };
    let layout = layout_of(ty)?;
    if holds_neighbours(&layout, shape(ty), pack) {
        return Ok(None);
    }
    let inner = packed(planner, shape(ty), pack)?;
    let mut plans = |values: &[IrValue], into: bool| -> Result<Vec<Rc<Conversion>>> {
        let each = values.iter().map(|value| types::memory_bits(module.ty(*value)));
        each.map(|bits| match into {
            true => planner.convert(&layout, &inner, bits),
            false => planner.convert(&inner, &layout, bits),
        })
        .collect()
    };
    let (operands, results) = (plans(module.operands(op), true)?, plans(module.results(op), false)?);
    let registers = 1 << inner.ins().bits(Dim::REGISTER);
    Ok(Some(Ways { registers, operands, results }))
}

/// The shared memory that the ways take.
pub(crate) fn need(ways: Option<&Ways>) -> Need {
    match ways {
        Some(ways) => convert::need_of_all(&[&ways.operands, &ways.results]),
        None => Need { bytes: 0, align: 16, order: Order::WithinWarp },
    }
}

/// The registers of the operands, neighbours together.
pub(crate) fn operands(cx: &mut Cx<'_>, op: Op, ways: Option<&Ways>) -> Result<Vec<Vec<Value>>> {
    let values = cx.module.operands(op).to_vec();
    let registers =
        values.iter().map(|value| Ok(cx.registers(*value)?.to_vec())).collect::<Result<Vec<_>>>()?;
    let Some(ways) = ways else { return Ok(registers) };
    let blocks = blocks_of(cx, &values, registers);
    let region = cx.scratch(op);
    convert_blocks(cx, &ways.operands, region, &blocks)
}

/// The registers of the results, back in their layout.
pub(crate) fn results(
    cx: &mut Cx<'_>,
    op: Op,
    ways: Option<&Ways>,
    registers: Vec<Vec<Value>>,
) -> Result<Vec<Vec<Value>>> {
    let Some(ways) = ways else { return Ok(registers) };
    let values = cx.module.results(op).to_vec();
    let blocks = blocks_of(cx, &values, registers);
    let behind = cx.scratch(op).map(|region| region.after(plans_bytes(&ways.operands)));
    convert_blocks(cx, &ways.results, behind, &blocks)
}

fn blocks_of(cx: &Cx<'_>, values: &[IrValue], registers: Vec<Vec<Value>>) -> Vec<Values> {
    let element = |value: &IrValue| ttir::types::elem(cx.module.ty(*value));
    values
        .iter()
        .map(element)
        .zip(registers)
        .map(|(element, registers)| Values { element, registers })
        .collect()
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
