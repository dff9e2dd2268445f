//! `mma.sync`: products of small matrices that a warp holds in its registers.
//!
//! Products are exact and summed in double; a sum is rounded once, where hardware rounds in ways that nobody documents.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::step::Step;
use crate::numeric::matrix::{Matrix, add_product, decode, encode, per_register, place_a, place_b, place_c};
use crate::syntax::types::{Kind, Type, mask};
use emulation::Fault;

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

struct Mma {
    rows: usize,
    columns: usize,
    depth: usize,
    /// Types of D, A, B and C.
    types: [Type; 4],
    registers: [Vec<Slot>; 4],
    saturate: bool,
}

/// `m16n8k16` as its three numbers.
pub(crate) fn shape(word: &str) -> Option<(usize, usize, usize)> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

/// The type of a register that holds elements.
fn register_type(ty: Type) -> Type {
    if ty.bits == 64 { ty } else { Type::B32 }
}

/// Elements of each register of an accumulator: halves go in pairs.
fn accumulator_lanes(ty: Type) -> usize {
    if ty.bits == 16 { 2 } else { 1 }
}

/// `mma`.
pub(crate) fn mma(site: &mut Site<'_>) -> Decoded {
    site.flags(&["sync", "aligned"]);
    if site.flag("sp") || site.flag("sp::ordered_metadata") {
        return site.error("sparse products cannot be run");
    }
    let Some((rows, columns, depth)) = site.map_modifier(shape) else {
        return site.error("a shape is missing");
    };
    if !(site.flag("row") && site.flag("col")) {
        return site.error("only `.row.col` can be run");
    }
    let saturate = site.flag("satfinite");
    let types = [site.ty()?, site.ty()?, site.ty()?, site.ty()?];
    let [_, a, b, _] = types;
    let narrow = types.iter().all(|ty| ty.lanes == 1 && matches!(ty.bits, 8 | 16 | 32 | 64)) && depth <= 256;
    if !narrow || a.bits != b.bits || (rows != 8 && rows != 16) || columns != 8 || (a.bits == 16 && rows == 8)
    {
        return site.error("the shape or the types cannot be run");
    }
    site.arity(4, 4)?;
    let registers = [
        site.dests(0, register_type(types[0]))?,
        site.sources(1, register_type(a))?,
        site.sources(2, register_type(b))?,
        site.sources(3, register_type(types[3]))?,
    ];
    let each = per_register(a);
    let expected = [
        rows * columns / 32 / accumulator_lanes(types[0]),
        rows * depth / 32 / each,
        columns * depth / 32 / each,
        rows * columns / 32 / accumulator_lanes(types[3]),
    ];
    for (registers, expected) in registers.iter().zip(expected) {
        if registers.len() != expected || expected == 0 {
            return site.error(format!("{} registers where {expected} are expected", registers.len()));
        }
    }
    site.parts.knows = true;
    Ok(Box::new(Mma { rows, columns, depth, types, registers, saturate }))
}

/// The numbers of an accumulator, of which a register may hold two.
pub(crate) fn accumulator(
    step: &Step<'_, '_>,
    registers: &[Slot],
    ty: Type,
    halves: usize,
    columns: usize,
) -> Matrix {
    let mut matrix = Matrix::new(8 * halves, columns);
    let each = accumulator_lanes(ty);
    for (index, register) in registers.iter().enumerate() {
        for (lane, cell) in step.warp.row(*register).iter().enumerate() {
            for part in 0..each {
                let bits = cell >> (part as u32 * ty.bits) & mask(ty.bits);
                matrix.set(place_c(halves, lane, index * each + part), decode(bits, ty));
            }
        }
    }
    matrix
}

/// Writes an accumulator back.
pub(crate) fn deliver(
    step: &mut Step<'_, '_>,
    registers: &[Slot],
    (ty, saturate): (Type, bool),
    halves: usize,
    matrix: &Matrix,
) {
    let each = accumulator_lanes(ty);
    for (index, register) in registers.iter().enumerate() {
        let values = std::array::from_fn(|lane| {
            (0..each).fold(0, |cell, part| {
                let sum = matrix.get(place_c(halves, lane, index * each + part));
                cell | encode(sum, ty, saturate) << (part as u32 * ty.bits)
            })
        });
        let mask = step.mask;
        step.warp.set(*register, mask, &values);
    }
}

/// The numbers of `A`, row by row.
pub(crate) fn left(step: &Step<'_, '_>, registers: &[Slot], ty: Type, halves: usize, depth: usize) -> Matrix {
    let mut matrix = Matrix::new(8 * halves, depth);
    for (i, register) in registers.iter().enumerate() {
        for (lane, cell) in step.warp.row(*register).iter().enumerate() {
            for j in 0..per_register(ty) {
                let bits = cell >> (j as u32 * ty.bits);
                matrix.set(place_a(ty, halves, lane, i, j), decode(bits, ty));
            }
        }
    }
    matrix
}

/// Whether every lane's value of these registers was written.
pub(crate) fn all_known(step: &Step<'_, '_>, registers: &[Slot]) -> bool {
    registers.iter().all(|slot| step.warp.known[slot.index()] & step.warp.live == step.warp.live)
}

impl Execute for Mma {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        let [d_ty, a_ty, b_ty, c_ty] = self.types;
        let [d, a, b, c] = &self.registers;
        let halves = self.rows / 8;
        let left = left(step, a, a_ty, halves, self.depth);
        let mut right = Matrix::new(self.depth, self.columns);
        for (i, register) in b.iter().enumerate() {
            for (lane, cell) in step.warp.row(*register).iter().enumerate() {
                for j in 0..per_register(b_ty) {
                    right.set(place_b(b_ty, lane, i, j), decode(cell >> (j as u32 * b_ty.bits), b_ty));
                }
            }
        }
        let mut sums = accumulator(step, c, c_ty, halves, self.columns);
        if d_ty.kind == Kind::Float || d_ty.kind == Kind::Signed {
            add_product(&left, &right, &mut sums);
        }
        let known = [a, b, c].iter().all(|registers| all_known(step, registers));
        deliver(step, d, (d_ty, self.saturate), halves, &sums);
        for slot in d {
            step.know(*slot, if known { u32::MAX } else { 0 });
        }
        Ok(Flow::Next)
    }
}
