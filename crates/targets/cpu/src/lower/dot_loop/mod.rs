//! Loops that only add dots to accumulators: many iterations at once, on packed operands.
//!
//! Input:  `for k { a = load …; b = load …; acc = dot a, b, acc }`
//! Output: `for block of iterations { for k { pack a }; for k { pack b }; panels(a, b, acc, iterations) }`
//!
//! The operands of several iterations lie side by side in scratch memory, so that accumulators stay in registers for
//! long and `B` is read from front to end. What the programs of one launch pack alike is packed once and kept
//! ([`keys`]): programs that run one after the other on a thread often share an operand.
//!
//! A few rows multiply the right operand where it lies ([`in_place`]).
//!
//! The kernel stops before rows and columns that no store writes ([`limits`]).
//!
//! Legal where the loop has no effects, carries nothing but scalars and accumulators, and nobody reads an accumulator
//! inside of it: the order of a `dot`'s sums is open. Any other loop stays as it is.

mod emit;
mod in_place;
mod keys;
mod limits;
mod slice;
mod tiles;

pub(crate) use in_place::is_read_in_place;
pub(crate) use tiles::Tiles;

use super::scratch::Arena;
use super::subtarget::Subtarget;
use super::types;
use crate::dot::{PanelPlan, PanelSpec};
use in_place::InPlace;
use ir::{Module, Op, Traits, Type as IrType, Value as IrValue};
use keys::Kept;
use limits::Depth;
use rustc_hash::FxHashMap;
use slice::Slice;
use ttir::ops::control::ForOp;
use ttir::ops::dot::MatmulOp;
use ttir::ops::{control, program};

/// A loop that only adds dots.
#[derive(Debug)]
pub(crate) struct DotLoop {
    dots: Vec<PanelDot>,
    /// Iterations that run at once.
    iterations: u32,
    /// The same where the right operand is multiplied where it lies, along k: its rows are read in longer runs.
    in_place_iterations: u32,
    /// What moves the scalars that the loop carries: all of them.
    moves: Slice,
}

/// A dot whose operands are packed.
#[derive(Debug)]
struct PanelDot {
    /// Which of the carried values it adds to.
    carried: usize,
    spec: PanelSpec,
    plan: PanelPlan,
    elem: IrType,
    sides: [Side; 2],
    /// Masks of the rows and the columns that are seen.
    limits: [Option<IrValue>; 2],
    /// Where both operands are zeros along k.
    depth: Option<Depth>,
    /// How the right operand is multiplied without being packed.
    in_place: Option<InPlace>,
}

/// One operand.
#[derive(Debug)]
struct Side {
    operand: IrValue,
    slice: Slice,
    kept: Option<Kept>,
}

/// Finds the loops of a kernel and takes the memory that outlives a program: first the notes of what it holds, whose
/// bytes are answered, then the panels themselves.
pub(crate) fn prepare(
    module: &Module,
    machine: &Subtarget,
    kernel: Op,
    arena: &mut Arena,
) -> (FxHashMap<Op, DotLoop>, FxHashMap<Op, Tiles>, u64) {
    let loops = module.walk(kernel).into_iter().filter(|&op| module.is(op, &control::FOR));
    let mut found: Vec<(Op, DotLoop)> =
        loops.filter_map(|op| find(module, machine, op).map(|found| (op, found))).collect();
    let mut left = keys::MOST_BYTES;
    for (op, dot_loop) in &mut found {
        for dot in &mut dot_loop.dots {
            for side in &mut dot.sides {
                side.kept = keys::find(module, kernel, *op, (&side.slice, keys::Length::Fixed));
            }
            dot.settle_right(module);
        }
        dot_loop.lengthen();
        for dot in &mut dot_loop.dots {
            for kept in dot.sides.iter_mut().filter_map(|side| side.kept.as_mut()) {
                kept.notes = arena.bytes(kept.note_bytes());
            }
        }
    }
    let loops = found.iter().map(|(op, _)| *op).collect();
    let mut tiles = tiles::find(module, machine, kernel, &loops, arena);
    let notes = arena.mark();
    let sides = found.iter().flat_map(|(_, dot_loop)| &dot_loop.dots).flat_map(|dot| &dot.sides);
    let mut sharing = sides.filter(|side| side.kept.is_some()).count() as u64;
    for (_, dot_loop) in &mut found {
        for dot in &mut dot_loop.dots {
            let sizes = [dot.a_bytes(), dot.b_bytes()];
            // `B` first: more programs share it where the first ones differ in their rows.
            for (side, bytes) in dot.sides.iter_mut().zip(sizes).rev() {
                let Some(kept) = &mut side.kept else { continue };
                kept.blocks = left / sharing / bytes;
                sharing -= 1;
                if kept.blocks == 0 {
                    side.kept = None;
                    continue;
                }
                kept.panels = arena.bytes(kept.blocks * bytes);
                left -= kept.blocks * bytes;
            }
        }
    }
    tiles::place(&mut tiles, arena);
    (found.into_iter().collect(), tiles, notes)
}

/// What a loop multiplies, if that is all it does.
fn find(module: &Module, machine: &Subtarget, op: Op) -> Option<DotLoop> {
    let of = ForOp::new(module, op);
    let (block, args, yields) = (of.body(), of.carried(), of.yielded());
    let mut dots = Vec::new();
    for inner in module.ops(block).filter(|&inner| inner != of.terminator()) {
        if MatmulOp::of(module, inner).is_some() {
            dots.push((inner, accumulates(module, inner, args, yields)?));
        } else if !is_harmless(module, inner) {
            return None;
        }
    }
    let is_accumulator = |index: usize| dots.iter().any(|(_, carried)| *carried == index);
    let is_block = |index: usize| ttir::types::is_tensor(module.ty(args[index]));
    if dots.is_empty() || (0..args.len()).any(|index| is_block(index) && !is_accumulator(index)) {
        return None;
    }
    let specs: Vec<(PanelSpec, IrType)> =
        dots.iter().map(|&(inner, _)| spec_of(module, machine, inner)).collect::<Option<_>>()?;
    let iterations = specs.iter().map(|(spec, _)| spec.depth / spec.step).min()?;
    let scalars: Vec<usize> = (0..args.len()).filter(|&index| !is_block(index)).collect();
    let mut found = Vec::new();
    for (&(inner, carried), (spec, elem)) in dots.iter().zip(specs) {
        let depth = iterations * spec.step;
        let pad = 64 / spec.operands.bytes();
        let spec = PanelSpec { depth, a_row_stride: depth + pad, ..spec };
        let inner = MatmulOp::new(module, inner);
        let (a, b) = (inner.a(), inner.b());
        let sides = [
            Side { operand: a, slice: Slice::new(module, block, Some(a), &[])?, kept: None },
            Side { operand: b, slice: Slice::new(module, block, Some(b), &[])?, kept: None },
        ];
        let plan = PanelPlan::choose(&spec).ok()?;
        let limits = match plan.stops_early() {
            true => limits::find(module, module.results(op)[carried]),
            false => [None; 2],
        };
        let depth = limits::find_depth(module, block, [a, b]).filter(|_| plan.steps().is_some());
        let in_place = in_place::find(module, machine, &spec, b);
        found.push(PanelDot { carried, spec, plan, elem, sides, limits, depth, in_place });
    }
    let moves = Slice::new(module, block, None, &scalars)?;
    Some(DotLoop { dots: found, iterations, in_place_iterations: iterations, moves })
}

/// Which carried value a dot adds to, if nobody else sees that value inside of the loop.
fn accumulates(module: &Module, op: Op, args: &[IrValue], yields: &[IrValue]) -> Option<usize> {
    let dot = MatmulOp::new(module, op);
    let (c, result) = (dot.c(), dot.d());
    let index = args.iter().position(|&arg| arg == c)?;
    let is_alone = module.uses(c).len() == 1 && module.uses(result).len() == 1;
    (is_alone && yields[index] == result).then_some(index)
}

/// Operations that may run earlier or later, or twice.
pub(crate) fn is_harmless(module: &Module, op: Op) -> bool {
    let row = module.row(op);
    let is_quiet = row.traits.has(Traits::PURE) || row.is(&program::ASSUME);
    let is_load = super::accesses::is_plain_load(module, op);
    module.regions(op).is_empty() && (is_quiet || is_load)
}

/// The kernel for one dot, and the type of packed elements. The stride of `C` is not known yet.
fn spec_of(module: &Module, machine: &Subtarget, op: Op) -> Option<(PanelSpec, IrType)> {
    let dot = MatmulOp::new(module, op);
    let (a, b) = (dot.a(), dot.b());
    let (&[m, k], &[_, n]) = (types::shape(module.ty(a)), types::shape(module.ty(b))) else { return None };
    let (operands, elem) = super::operands::multiplied(module, machine, op)?;
    // Accumulators of narrow types are rounded each time.
    let sum = ttir::types::elem(module.ty(dot.d()));
    if types::dot_operand(sum) != sum {
        return None;
    }
    let [m, n, k] = [m, n, k].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    let [rows, columns, _] = super::operands::used(module, op);
    let step = k / operands.group();
    let depth = PanelSpec::depth([m, n, k], operands, machine.dot(), machine.l1_bytes)?.max(step);
    let stride = n.checked_add(64)?;
    let spec = PanelSpec {
        m,
        n,
        step,
        depth,
        operands,
        a_row_stride: depth.checked_add(64)?,
        c_row_stride: stride,
        used: [rows, columns],
        machine: machine.dot(),
    };
    PanelPlan::choose(&spec).ok().map(|_| (spec, elem))
}

impl DotLoop {
    /// Lets more iterations run at once where the right operand lies along k and is not packed, or not always: its rows
    /// are read in longer runs.
    fn lengthen(&mut self) {
        let [dot] = &mut self.dots[..] else { return };
        let Some(in_place) = dot.in_place.as_mut().filter(|in_place| in_place.is_along_depth()) else {
            return;
        };
        let depth = in_place::DEPTH_OF_RUNS.max(dot.spec.depth);
        let a_row_stride = dot.spec.a_row_stride - dot.spec.depth + depth;
        // Panels of a shared operand stay as deep as they are.
        let packed = if in_place.is_shared { dot.spec.depth } else { depth };
        let spec = PanelSpec { depth: packed, a_row_stride, ..dot.spec };
        let Ok(plan) = PanelPlan::choose(&spec) else { return };
        in_place.set_a_row_stride(a_row_stride);
        self.in_place_iterations = depth / spec.step;
        self.iterations = packed / spec.step;
        (dot.spec, dot.plan) = (spec, plan);
    }
}

impl PanelDot {
    /// Decides whether the right operand is kept once it is packed, and whether it is packed at all. Where all programs
    /// multiply the same rows, no two of them share it.
    fn settle_right(&mut self, module: &Module) {
        let [a, b] = &mut self.sides;
        if a.kept.as_ref().is_some_and(|kept| kept.keys.is_empty()) {
            b.kept = None;
        }
        let Some(in_place) = &mut self.in_place else { return };
        // One row is as fast whoever else has it.
        if self.spec.m == 1 {
            b.kept = None;
        }
        match (&b.kept, self.limits[0].and_then(|mask| limits::compared_with(module, mask))) {
            (None, _) => {}
            (Some(_), Some(_)) => in_place.is_shared = true,
            (Some(_), None) => self.in_place = None,
        }
    }

    /// Whether panels of the right operand are kept by some programs and not by others.
    fn packs_aside(&self) -> bool {
        self.in_place.is_none() && self.sides[1].kept.is_some() && self.limits[0].is_some()
    }

    /// Elements of a group that is multiplied at once: offsets of panels count such groups.
    fn group(&self) -> i64 {
        i64::from(self.spec.operands.group())
    }

    /// The type that such a group is moved in.
    fn unit(&self) -> llir::Type {
        if self.group() == 1 { types::memory(self.elem) } else { llir::Type::I32 }
    }

    /// Groups of a packed operand of one block of iterations.
    fn block_elements(&self, index: usize) -> u64 {
        [self.a_bytes(), self.b_bytes()][index] / u64::from(self.spec.operands.bytes())
    }

    /// Bytes of the packed `A` of one block of iterations.
    fn a_bytes(&self) -> u64 {
        u64::from(self.spec.m) * u64::from(self.spec.a_row_stride) * u64::from(self.spec.operands.bytes())
    }

    /// Bytes of the packed `B` of one block of iterations.
    fn b_bytes(&self) -> u64 {
        self.plan.panel_elements() * u64::from(self.spec.operands.bytes())
    }
}
