//! How a tensor of addresses is cut into wide accesses.
//!
//! Registers whose elements are neighbours in memory make one access, as wide as three things allow: how many
//! neighbours the lane holds (the layout), how many of them are known to be contiguous from an aligned address
//! on (axis analysis of the addresses), and what is known of their truth values (axis analysis of the mask): that they
//! share one or, where accesses have predicates, that none is true behind one that is not. Of the latter all are
//! accessed at once where the last may be, and those that may be else in parts of equal truth values.

use crate::context::Cx;
use crate::error::Result;
use crate::free_bits::FreeBits;
use crate::types;
use ir::Value;
use layout::{Dim, LinearLayout};
use target::survey::WidthBounds;

/// The accesses of one operation.
#[derive(Debug)]
pub(crate) struct AccessPlan {
    /// For each access its registers, in order of the addresses. Copies of one element are accessed once.
    pub(crate) groups: Vec<Vec<usize>>,
    /// So many of a group, one behind the other, share one truth value.
    pub(crate) part: usize,
    /// Which lanes, warps and blocks hold copies.
    pub(crate) free: FreeBits,
    /// Why they are as wide as they are.
    pub(crate) bounds: WidthBounds,
}

/// Which registers go together, for an access through `pointers` where `mask` holds, of elements of so many bytes.
/// `limit` is the most elements that go together.
pub(crate) fn plan(cx: &mut Cx<'_>, pointers: Value, mask: Option<Value>, limit: u64) -> Result<AccessPlan> {
    plan_as(cx, pointers, mask, (limit, Masked::Whole))
}

/// As [`plan`], for accesses that may be done in parts: those of groups of which a first part is true.
pub(crate) fn plan_in_parts(
    cx: &mut Cx<'_>,
    pointers: Value,
    mask: Option<Value>,
    limit: u64,
) -> Result<AccessPlan> {
    let masked = if cx.target.machine().predicated { Masked::InParts } else { Masked::Whole };
    plan_as(cx, pointers, mask, (limit, masked))
}

/// What groups may be masked off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Masked {
    /// Those of which all elements are.
    Whole,
    /// Those of which the last elements are as well.
    InParts,
}

fn plan_as(
    cx: &mut Cx<'_>,
    pointers: Value,
    mask: Option<Value>,
    (limit, masked): (u64, Masked),
) -> Result<AccessPlan> {
    let ty = cx.module.ty(pointers);
    if !ttir::types::is_tensor(ty) {
        // Every lane holds the scalar.
        let all = |count: u32| count - 1;
        let free =
            FreeBits { register: 0, lane: all(cx.lanes), warp: all(cx.num_warps), block: all(cx.num_blocks) };
        let bounds = WidthBounds {
            machine: limit,
            contiguity: 1,
            alignment: limit,
            mask: limit,
            ..WidthBounds::default()
        };
        let bounds = WidthBounds { layout: 1, ..bounds };
        return Ok(AccessPlan { groups: vec![vec![0]], part: 1, free, bounds });
    }
    let layout = cx.layout(ty)?;
    let free = FreeBits::of(&layout);
    let (mut best, mut along): (Vec<u32>, usize) = (Vec::new(), 0);
    let mut bounds = WidthBounds::default();
    for dim in 0..ttir::types::shape(ty).len() {
        let known = known_bounds(cx, pointers, (mask, masked), dim, limit);
        let bits = neighbours(&layout, dim, known.run(), free.register);
        let is_better = bits.len() > best.len();
        // Of two that are equally wide, that is reported whose elements are contiguous.
        if is_better
            || bounds.machine == 0
            || (bits.len() == best.len() && known.contiguity > bounds.contiguity)
        {
            bounds = WidthBounds { layout: held(&layout, dim, free.register), ..known };
        }
        if is_better {
            (best, along) = (bits, dim);
        }
    }
    let count = 1u32 << layout.ins().bits(Dim::REGISTER);
    let inner: u32 = best.iter().fold(0, |mask, bit| mask | 1 << bit);
    let starts = (0..count).filter(|register| register & (free.register | inner) == 0);
    let groups = starts.map(|start| {
        (0..1u32 << best.len())
            .map(|index| {
                let bits = best.iter().enumerate().filter(|(at, _)| index >> at & 1 != 0);
                bits.fold(start, |register, (_, bit)| register | 1 << bit) as usize
            })
            .collect()
    });
    let equal = mask.map_or(u64::MAX, |mask| cx.axis.info(cx.module, mask).sure_constancy(along));
    let part = 1 << equal.max(1).ilog2().min(best.len() as u32);
    Ok(AccessPlan { groups: groups.collect(), part, free, bounds })
}

/// What is known of a run of elements along a dimension, wherever lanes hold them.
fn known_bounds(
    cx: &Cx<'_>,
    pointers: Value,
    (mask, masked): (Option<Value>, Masked),
    dim: usize,
    limit: u64,
) -> WidthBounds {
    let info = cx.axis.info(cx.module, pointers);
    let bytes = ttir::types::pointee(cx.module.ty(pointers)).map_or(1, ttir::types::elem_bytes);
    WidthBounds {
        dim,
        machine: limit,
        contiguity: info.contiguity[dim],
        alignment: (info.divisibility[dim] / bytes).max(1),
        mask: mask.map_or(u64::MAX, |mask| match masked {
            Masked::Whole => cx.axis.info(cx.module, mask).sure_constancy(dim),
            Masked::InParts => cx.axis.prefix_run(cx.module, mask, dim),
        }),
        layout: u64::MAX,
    }
}

/// How many neighbours along a dimension a lane holds.
fn held(layout: &LinearLayout, dim: usize, free: u32) -> u64 {
    1 << neighbours(layout, dim, 1 << 31, free).len()
}

/// Bits of the register number that lead from an element to equal ones, as far as axis analysis knows: those that stay
/// in an aligned run of equal elements, whatever lanes do in it.
pub(crate) fn equal_registers(cx: &mut Cx<'_>, value: Value) -> Result<usize> {
    let ty = cx.module.ty(value);
    let rank = if ttir::types::is_tensor(ty) { ttir::types::shape(ty).len() } else { 0 };
    let info = cx.axis.info(cx.module, value);
    let runs: Vec<u64> = (0..rank).map(|dim| info.sure_constancy(dim).max(1)).collect();
    if runs.iter().all(|&run| run == 1) {
        return Ok(0);
    }
    let layout = cx.layout(ty)?;
    let stays = |basis: &[(Dim, u32)]| {
        basis.iter().zip(&runs).all(|((_, at), run)| u64::from(*at) < 1 << run.ilog2())
    };
    let bases = layout.bases(Dim::REGISTER).into_iter().enumerate();
    Ok(bases.filter(|(_, basis)| stays(basis)).fold(0, |all, (bit, _)| all | 1 << bit))
}

/// Bits of the register number that walk along a dimension: the first to the neighbour, the next two on, … for at most
/// `run` elements, such that nothing else moves within that run.
fn neighbours(layout: &LinearLayout, dim: usize, run: u64, free: u32) -> Vec<u32> {
    let registers = layout.bases(Dim::REGISTER);
    let mut bits: Vec<u32> = Vec::new();
    while 2u64 << bits.len() <= run {
        let step = 1u32 << bits.len();
        let found = registers.iter().position(|basis| {
            basis.iter().enumerate().all(|(index, (_, at))| *at == if index == dim { step } else { 0 })
        });
        match found {
            Some(bit) if free >> bit & 1 == 0 => bits.push(bit as u32),
            _ => break,
        }
    }
    // What other bits do must leave the low bits of the position alone, or the order within a run would vary.
    if bits.is_empty() {
        return bits;
    }
    let threads = [Dim::LANE, Dim::WARP, Dim::BLOCK].into_iter().flat_map(|dim_in| layout.bases(dim_in));
    let by_threads = threads.fold(0, |all, basis| all | basis[dim].1);
    loop {
        let others = registers.iter().enumerate().filter(|(bit, _)| !bits.contains(&(*bit as u32)));
        let moved = others.fold(by_threads, |all, (_, basis)| all | basis[dim].1);
        if moved & ((1 << bits.len()) - 1) == 0 || bits.pop().is_none() {
            return bits;
        }
    }
}

/// How many elements of a type the widest access takes.
pub(crate) fn widest(cx: &Cx<'_>, element: ir::Type) -> u64 {
    u64::from(8 * cx.target.vector_bytes() / types::memory_bits(element)).max(1)
}
