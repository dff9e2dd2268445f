//! The layouts of dots by instructions whose lanes hold runs of elements.
//!
//! Which place along k an instruction gives to which lane is free as long as both operands agree, and so is which rows
//! and columns of the block one instruction takes. Both are chosen such that a lane reads 16 bytes of shared memory at
//! once:
//!
//! * an operand that is loaded along k gets runs of 16 bytes along k, which feed several instructions;
//! * an operand that is loaded along its other dimension is written by lanes that have turned small boxes in registers,
//!   and read as the same boxes: neighbours along that dimension belong to several tiles (`interleaved`).
//!
//! An operand that comes from the result of another dot has the runs of that result, so that it stays where it is.

use super::select::Selected;
use super::{WarpLayout, chain, operands};
use crate::passes::context::Context;
use crate::{Encoding, Fragments, Tiles, shape_per_block};
use ir::{Module, Op, Value};
use ttir::types::{elem, elem_bytes, shape};

/// Bytes of the widest access to shared memory.
const WIDEST: u32 = 16;

/// A dot whose layouts are looked for.
struct Choice<'m> {
    module: &'m Module,
    op: Op,
    /// The two matrices.
    factors: [Value; 2],
    selected: &'m Selected,
    /// Lanes of a program.
    threads: u32,
    k_base: u32,
}

/// The layouts of a dot of two matrices by an instruction of this version and with so many elements along k in a lane.
pub(super) fn layout(
    module: &Module,
    (op, factors): (Op, [Value; 2]),
    selected: &Selected,
    context: &Context,
    [version, k_base]: [u32; 2],
) -> WarpLayout {
    let lanes = context.machine.warp_size;
    let threads = lanes * context.config.num_warps;
    let choice = Choice { module, op, factors, selected, threads, k_base };
    let mut fragments = fragments(selected, context, version);
    let k_width = choice.k_width(fragments.run());
    let rank = selected.warps.len();
    let mut interleaved = vec![1; rank];
    for op_idx in 0..2 {
        interleaved[rank - 2 + op_idx] = choice.interleaved(op_idx, k_width);
    }
    if interleaved.iter().any(|&count| count > 1) {
        fragments.interleaved = interleaved;
    }
    WarpLayout { result: Encoding::Fragments(fragments), k_width: [k_width; 2] }
}

/// The layout of the result, in the plainest form.
pub(super) fn fragments(selected: &Selected, context: &Context, version: u32) -> Fragments {
    let (row, lanes) = (selected.row, context.machine.warp_size);
    Fragments {
        lanes,
        version,
        instr_shape: vec![selected.rows as u32, selected.columns as u32, row.k],
        // A lane then has neighbouring columns of the result, which rows in memory have side by side. Where there are
        // more columns than rows an instruction makes them the other way round alone.
        transposed: selected.rows >= selected.columns,
        interleaved: Vec::new(),
        tiles: tiles(lanes, &selected.warps),
        element_bits: row.c.bits().max(32),
        cga: selected.cga.clone(),
    }
}

/// How warps share tiles, in the way that the encoding for so many lanes is written.
fn tiles(lanes: u32, warps: &[u32]) -> Tiles {
    if lanes == 64 {
        return Tiles::Counts { per_warp: Vec::new(), warps: warps.to_vec() };
    }
    let mut bases = Vec::new();
    for dim in (0..warps.len()).rev() {
        for bit in 0..warps[dim].ilog2() {
            let mut basis = vec![0; warps.len()];
            basis[dim] = 1 << bit;
            bases.push(basis);
        }
    }
    Tiles::Bases { register: Vec::new(), warp: bases }
}

impl Choice<'_> {
    /// Neighbours along k that a lane has: as wide as one access, where all of k is a whole number of such steps.
    fn k_width(&self, run: u32) -> u32 {
        let depth = *shape(self.module.ty(self.factors[0])).last().expect("a dot has matrices") as u32;
        let row = self.selected.row;
        let from_dot = |&value: &Value| chain::comes_from_dot(self.module, self.op, value);
        // Where each lane has all places along k of an instruction, results are operands whatever the order of those
        // is.
        if self.k_base < row.k && self.factors.iter().any(from_dot) {
            return run.min(self.k_base);
        }
        let wide = (WIDEST * 8 / row.a.bits().min(row.b.bits())).max(self.k_base);
        // So many times the elements of one instruction are in a lane.
        let fits = |width: &u32| depth.is_multiple_of(row.k * (width / self.k_base));
        let mut widths = std::iter::successors(Some(wide), |width| Some(width / 2));
        widths.find(|width| *width <= self.k_base || fits(width)).unwrap_or(self.k_base).max(self.k_base)
    }

    /// How many tiles along its own dimension an operand is best spread over.
    fn interleaved(&self, op_idx: usize, k_width: u32) -> u32 {
        let value = self.factors[op_idx];
        let rank = self.selected.warps.len();
        let (side, k) = (rank - 2 + op_idx, rank - 1 - op_idx);
        let as_loaded = operands::is_as_loaded(self.module, self.op, value);
        if !as_loaded || operands::natural_order(self.module, value)[0] as usize == k {
            return 1;
        }
        let ty = self.module.ty(value);
        let block = shape_per_block(&self.selected.cga, shape(ty));
        let bytes = elem_bytes(elem(ty)) as u32;
        let run = turned_box(block.iter().product::<i64>() as u32 / self.threads, bytes).min(k_width);
        let tile = [self.selected.rows, self.selected.columns][op_idx] as u32;
        let most = (block[side] as u32 / (tile * self.selected.warps[side])).max(1);
        (WIDEST / (run * bytes).max(1)).clamp(1, most)
    }
}

/// The other side of the box that a lane loads when one side is as wide as an access: so many elements of so many bytes
/// in all.
pub(crate) fn turned_box(elements: u32, bytes: u32) -> u32 {
    (elements / (WIDEST / bytes.max(1)).max(1)).max(1)
}
