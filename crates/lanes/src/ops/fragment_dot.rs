//! What matrix instructions of one warp whose lanes hold runs of elements read and write: `#ttg.dot_op` and result of
//! `Encoding::Fragments`.
//!
//! The result is taken apart into tiles of the instruction; along k, as many elements of a lane as one instruction
//! takes are added to every tile before the next, so that instructions next to each other do not wait for each other.
//! In warps of 32 lanes, tiles that share the fragment of the longer side follow each other: a lane then keeps the
//! fragments of the shorter side and one more. Which place along k an element has is the same in both operands, and
//! that is all that matters.

use crate::positions::{Element, Positions};
use ir::Type;
use layout::{Dim, LinearLayout};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use ttgir::{FragmentKind, Fragments, Machine, MatrixRow};

/// Numbers of registers, in the order of an instruction.
pub(super) type Registers = SmallVec<[u32; 16]>;

/// The registers that one instruction takes: of the factors of the dot, and of the sums that it reads and writes.
pub(super) struct Instruction {
    pub(super) factors: [Registers; 2],
    pub(super) sums: Registers,
    /// Which block of lanes has the rows, where an instruction multiplies a few rows with many columns.
    pub(super) block: Option<u32>,
}

/// That an operand does not have what the result asks for.
pub(super) const STRANGER: &str = "an operand's encoding does not belong to the result's";

/// A tile of the result: its batch, and its number along rows and columns.
type Tile = [u32; 3];

/// What the instruction reads and writes, as lane 0 of warp 0 sees it.
struct FragmentPlan {
    k_base: usize,
    /// The registers of each tile in the order of the instruction; tiles in the order in which they are multiplied.
    tiles: Vec<(Tile, Registers)>,
    /// Where the elements of a lane are along k.
    depth: Vec<u32>,
}

/// The instructions of a dot in order.
pub(super) fn instructions(
    row: &'static MatrixRow,
    fragments: &Fragments,
    layouts: [&LinearLayout; 2],
    positions: &[Positions; 3],
) -> Result<Vec<Instruction>, String> {
    if row.is_narrow() {
        return narrow_instructions(row, fragments, layouts, positions);
    }
    check_depth(fragments, layouts, &positions[0])?;
    let plan = plan(row, fragments, positions)?;
    let mut list = Vec::with_capacity(plan.tiles.len() * plan.depth.len() / plan.k_base);
    for step in plan.depth.chunks(plan.k_base) {
        for &([batch, row, column], ref sums) in &plan.tiles {
            let place = [batch, fragments.corner(0, row), fragments.corner(1, column)];
            let left = pick(&positions[0], step, |k| [place[0], place[1], k]);
            let right = pick(&positions[1], step, |k| [place[0], k, place[2]]);
            let (Some(left), Some(right)) = (left, right) else { return Err(STRANGER.into()) };
            list.push(Instruction { factors: [left, right], sums: sums.clone(), block: None });
        }
    }
    Ok(list)
}

/// The instructions of a dot of a few rows (columns) with many columns (rows). The lanes of a block hold the rows at
/// some places along k, those of the next block at the next ones; all lanes have all of k of their column. So each
/// block's rows are multiplied in turn.
fn narrow_instructions(
    row: &'static MatrixRow,
    fragments: &Fragments,
    layouts: [&LinearLayout; 2],
    positions: &[Positions; 3],
) -> Result<Vec<Instruction>, String> {
    let FragmentKind::Runs { k_base, .. } = row.fragments else { unreachable!("narrow rows have runs") };
    // Transposed, the few are columns of b.
    let few = usize::from(fragments.transposed);
    let k_of = |operand: usize| fragments.rank() - 1 - operand;
    let along_lanes = |operand: usize| -> Vec<u32> {
        let part = |basis: &[(Dim, u32)]| {
            basis.iter().find(|(out, _)| *out == Dim::block(k_of(operand))).map_or(0, |(_, at)| *at)
        };
        layouts[operand].bases(Dim::LANE).iter().map(|basis| part(basis)).filter(|&at| at != 0).collect()
    };
    let steps = along_lanes(few);
    if 1 << steps.len() != fragments.lanes / row.m || !along_lanes(1 - few).is_empty() {
        return Err(STRANGER.into());
    }
    let axis = if few == 0 { 2 } else { 1 };
    let depth = depth(&positions[few], axis);
    let tiles = tiles(fragments, &positions[2])?;
    let mut list = Vec::new();
    for step in depth.chunks(k_base as usize) {
        for block in 0..1u32 << steps.len() {
            let offset =
                (0..steps.len()).filter(|bit| block >> bit & 1 == 1).map(|bit| steps[bit]).sum::<u32>();
            let there: Vec<u32> = step.iter().map(|k| k + offset).collect();
            for &([batch, high, wide], ref sums) in &tiles {
                let (high, wide) = (fragments.corner(0, high), fragments.corner(1, wide));
                let along = |operand: usize| if operand == few { step } else { &there[..] };
                let left = pick(&positions[0], along(0), |k| [batch, high, k]);
                let right = pick(&positions[1], along(1), |k| [batch, k, wide]);
                let (Some(left), Some(right)) = (left, right) else { return Err(STRANGER.into()) };
                list.push(Instruction { factors: [left, right], sums: sums.clone(), block: Some(block) });
            }
        }
    }
    Ok(list)
}

/// The registers that one instruction for scaled operands takes.
pub(super) struct ScaledInstruction {
    pub(super) plain: Instruction,
    /// The register of the scale of each factor.
    pub(super) scales: [u32; 2],
}

/// The instructions of a dot of scaled operands in order. Of each factor a lane gives one run along k, which has one
/// scale; both have as many runs. Positions are those of a, b, the sums and the two scales.
pub(super) fn scaled_instructions(
    fragments: &Fragments,
    positions: &[Positions; 5],
    runs: [usize; 2],
) -> Result<Vec<ScaledInstruction>, String> {
    let [a, b, c, x, y] = positions;
    let (tiles, along_a) = (tiles(fragments, c)?, depth(a, 2));
    let (along_b, along_x, along_y) = (depth(b, 1), depth(x, 2), depth(y, 2));
    let count = along_x.len();
    if along_y.len() != count || along_a.len() != count * runs[0] || along_b.len() != count * runs[1] {
        return Err("scales do not lie as the numbers that they scale".into());
    }
    let mut list = Vec::with_capacity(tiles.len() * count);
    for step in 0..count {
        let of = |along: &[u32], run: usize| along[step * run..(step + 1) * run].to_vec();
        let (left, right) = (of(&along_a, runs[0]), of(&along_b, runs[1]));
        for &([batch, row, column], ref sums) in &tiles {
            let (high, wide) = (fragments.corner(0, row), fragments.corner(1, column));
            let factors = pick(a, &left, |k| [batch, high, k]).zip(pick(b, &right, |k| [batch, k, wide]));
            let scales =
                x.register([batch, high, along_x[step]]).zip(y.register([batch, wide, along_y[step]]));
            let (Some((left, right)), Some((of_left, of_right))) = (factors, scales) else {
                return Err(STRANGER.into());
            };
            let plain = Instruction { factors: [left, right], sums: sums.clone(), block: None };
            list.push(ScaledInstruction { plain, scales: [of_left, of_right] });
        }
    }
    Ok(list)
}

/// The instruction for element types of a, b and the sum.
pub(super) fn find_row(
    machine: &Machine,
    fragments: &Fragments,
    [a, b, c]: [Type; 3],
) -> Result<&'static MatrixRow, String> {
    let [m, n, k] = fragments.instr_shape[..] else { return Err("an instruction has three sizes".into()) };
    let (a, b, m, n) = if fragments.transposed { (b, a, n, m) } else { (a, b, m, n) };
    let fits = |row: &&MatrixRow| row.m == m && row.n.contains(&n) && row.k == k;
    let runs = |row: &&MatrixRow| matches!(row.fragments, FragmentKind::Runs { version, .. } if version == fragments.version);
    let found = machine.matrix_rows(a, b, c).filter(runs).find(fits);
    found.ok_or_else(|| {
        format!(
            "{} has no matrix instruction of {m}x{n}x{k} that multiplies {a} and {b} into {c}",
            machine.name
        )
    })
}

/// Both operands must have the same places along k in the same lanes, each place once.
fn check_depth(
    fragments: &Fragments,
    [a, b]: [&LinearLayout; 2],
    positions: &Positions,
) -> Result<(), &'static str> {
    let rank = fragments.rank();
    let along = |layout: &LinearLayout, dim: usize| -> Vec<u32> {
        let part = |basis: &[(Dim, u32)]| {
            basis.iter().find(|(out, _)| *out == Dim::block(dim)).map_or(0, |(_, at)| *at)
        };
        let mut list: Vec<u32> = layout.bases(Dim::LANE).iter().map(|basis| part(basis)).collect();
        list.sort_unstable();
        list.retain(|&at| at != 0);
        list
    };
    let (left, right) = (along(a, rank - 1), along(b, rank - 2));
    if left != right {
        return Err("the operands of a dot have other places along k in a lane");
    }
    let lanes = fragments.lanes_along_k(fragments.instr_shape[0].min(fragments.instr_shape[1]));
    let held: Vec<u32> = positions.steps(2, 1);
    if (held.len() as u32) * lanes != positions.sizes()[2] || 1 << left.len() != lanes {
        return Err(
            "the sums of a dot are shorter than what its lanes hold of them: places would count twice",
        );
    }
    Ok(())
}

fn plan(
    row: &'static MatrixRow,
    fragments: &Fragments,
    [a, _, c]: &[Positions; 3],
) -> Result<FragmentPlan, String> {
    let FragmentKind::Runs { k_base, .. } = row.fragments else {
        return Err("its lanes hold no runs".into());
    };
    let depth = depth(a, 2);
    if !depth.len().is_multiple_of(k_base as usize) {
        return Err(format!(
            "a lane has {} elements along k, and the instruction takes {k_base}",
            depth.len()
        ));
    }
    Ok(FragmentPlan { k_base: k_base as usize, tiles: tiles(fragments, c)?, depth })
}

/// Where the elements of a lane are along k, which is an axis of the operand.
fn depth(positions: &Positions, axis: usize) -> Vec<u32> {
    distinct(positions.elements().iter().map(|element| element[axis]))
}

/// The registers of each tile in the order of the instruction; tiles in the order in which they are multiplied.
fn tiles(fragments: &Fragments, c: &Positions) -> Result<Vec<(Tile, Registers)>, String> {
    let mut tiles: BTreeMap<Tile, Vec<(u32, u32)>> = BTreeMap::new();
    for (register, &[batch, row, column]) in c.elements().iter().enumerate() {
        // Copies of an element get its value afterwards.
        if c.register([batch, row, column]) != Some(register as u32) {
            continue;
        }
        let ((high, inner), (wide, outer)) = (fragments.tile(0, row), fragments.tile(1, column));
        let at = if fragments.transposed { outer } else { inner };
        tiles.entry([batch, high, wide]).or_default().push((at, register as u32));
    }
    let mut ordered = Vec::with_capacity(tiles.len());
    let each = (fragments.instr_shape[0] * fragments.instr_shape[1]) / fragments.lanes;
    for (tile, mut list) in tiles {
        list.sort_unstable();
        let registers: Vec<u32> = list.into_iter().map(|(_, register)| register).collect();
        // Where the block is smaller than the tile, what is beyond it is a copy.
        if !(each as usize).is_multiple_of(registers.len()) {
            return Err("the result's encoding does not hold whole tiles".into());
        }
        let missing = each as usize / registers.len();
        ordered.push((tile, Registers::from_vec(registers.repeat(missing))));
    }
    // In small warps a lane has twice as much of a fragment.
    let [rows, columns] = [1, 2].map(|side| distinct(ordered.iter().map(|(tile, _)| tile[side])).len());
    if columns > rows && fragments.lanes <= 32 {
        ordered.sort_by_key(|&([batch, row, column], _)| [batch, column, row]);
    }
    Ok(ordered)
}

/// Each value once, in the order of the first time.
fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut list = Vec::new();
    for value in values {
        if !list.contains(&value) {
            list.push(value);
        }
    }
    list
}

fn pick(positions: &Positions, step: &[u32], place: impl Fn(u32) -> Element) -> Option<Registers> {
    step.iter().map(|&k| positions.register(place(k))).collect()
}
