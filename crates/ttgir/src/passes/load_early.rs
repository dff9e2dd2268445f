//! Loads begin in front of what all warps wait at, unless they depend on it.
//!
//! ```text
//! %x = tt.load %p                                  %x = tt.load %p
//! %m = "tt.reduce"(%x) …                           %q = tt.addptr %w, %i
//! %q = tt.addptr %w, %i                      =>    %y = tt.load %q
//! %y = tt.load %q                                  %m = "tt.reduce"(%x) …
//! ```
//!
//! Machine code keeps a load behind a barrier where it stands, so that a program would wait for memory once in front of
//! the barrier and once behind it. Loads move past what neither writes nor has another effect, where lanes hold little
//! meanwhile: registers that are held over a wait cost programs on a multiprocessor, which hide more than this does.
//! Left out: loads behind a loop or a condition do not move past it.

use super::assign_layouts::bases::{Bases, Reach, strides};
use super::context::Context;
use crate::Encoding;
use ir::pass::PassRow;
use ir::{Block, Diagnostic, Module, Op, Traits, Value};
use rustc_hash::FxHashMap;
use ttir::ops::access::AccessOp;
use ttir::ops::reduce::CombineOp;
use ttir::types::{elem, elem_bytes, is_tensor, numel, shape};

/// Lets loads begin in front of barriers.
pub static LOAD_EARLY: PassRow =
    PassRow { name: "load-early", doc: "Lets loads begin in front of what all warps wait at.", run };

/// Bytes that a lane may hold while all warps wait for parts of a reduction, and for a conversion. Rows of a norm are
/// held over its sums: where weights of 16 bytes a lane were loaded in front of these as well, 16 warps ran at 0.9 of
/// their speed on an H200, as fewer programs fit.
const OVER_REDUCTION: u64 = 48;
const OVER_CONVERSION: u64 = 128;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    if Context::of(module)?.config.num_warps == 1 {
        return Ok(());
    }
    for op in module.walk(module.top()) {
        for region in module.regions(op).to_vec() {
            for block in module.blocks(region).to_vec() {
                if may_gain(module, block) {
                    Walk::default().block(module, block);
                }
            }
        }
    }
    Ok(())
}

/// Whether a load stands behind what warps may wait at.
fn may_gain(module: &Module, block: Block) -> bool {
    let mut behind = false;
    module.ops(block).any(|op| {
        behind |= module.has(op, Traits::RELAYOUT) || CombineOp::of(module, op).is_some();
        behind && is_load_of_block(module, op)
    })
}

/// An operation that all warps wait at.
struct Wait {
    op: Op,
    place: usize,
    /// Bytes that a lane may still hold over it.
    room: u64,
}

/// Where an operation stands: its place, an even number, or where it moved the odd one in front of where it went; and
/// how many moved before it, as several may go to one place.
type Place = (usize, usize);

/// What a walk through a block knows.
#[derive(Default)]
struct Walk {
    /// Operations since the last effect.
    places: FxHashMap<Op, Place>,
    /// How many operations moved.
    moved: usize,
    /// Those of them that all warps wait at, in order.
    waits: Vec<Wait>,
    /// Blocks that are not computed again where they are wanted, each with the number of uses to come.
    kept: FxHashMap<Value, usize>,
}

impl Walk {
    fn block(&mut self, module: &mut Module, block: Block) {
        for &arg in module.args(block) {
            self.keep(module, arg);
        }
        for (place, op) in module.ops(block).collect::<Vec<_>>().into_iter().enumerate() {
            let place = 2 * (place + 1);
            if has_effect(module, op) {
                self.places.clear();
                self.waits.clear();
            } else {
                self.places.insert(op, (place, 0));
                if !self.waits.is_empty() && is_load_of_block(module, op) {
                    self.raise(module, op);
                }
            }
            let is_made_of_kept = self.use_up(module, op);
            if let Some(most) = most_over(module, op) {
                let held: u64 = self.kept.keys().map(|&value| bytes_of_lane(module, value)).sum();
                self.waits.push(Wait { op, place, room: most.saturating_sub(held) });
            } else if !is_made_of_kept && module.has(op, Traits::PURE) {
                continue;
            }
            for &result in module.results(op) {
                self.keep(module, result);
            }
        }
    }

    fn keep(&mut self, module: &Module, value: Value) {
        let uses = module.uses(value).len();
        if uses > 0 && is_tensor(module.ty(value)) {
            self.kept.insert(value, uses);
        }
    }

    /// Counts the uses of what an operation takes; whether anything of it is kept.
    fn use_up(&mut self, module: &Module, op: Op) -> bool {
        let mut any = false;
        for &operand in module.operands(op) {
            let Some(left) = self.kept.get_mut(&operand) else { continue };
            any = true;
            *left -= 1;
            if *left == 0 {
                self.kept.remove(&operand);
            }
        }
        any
    }

    /// Moves a load and what its address is computed from in front of the first wait that it does not depend on, as far
    /// as lanes have room for what it brings.
    fn raise(&mut self, module: &mut Module, load: Op) {
        let (slice, fixed) = self.slice(module, load);
        let bytes = bytes_of_lane(module, module.result(load, 0));
        let passed = self.waits.iter_mut().rev();
        let passed = passed.take_while(|wait| fixed.is_none_or(|at| at < wait.place) && bytes <= wait.room);
        let mut target = None;
        for wait in passed {
            wait.room -= bytes;
            target = Some((wait.op, wait.place));
        }
        let Some((wait, to)) = target else { return };
        for op in slice.into_iter().chain([load]) {
            if self.places[&op].0 > to {
                module.move_before(wait, op);
                self.moved += 1;
                self.places.insert(op, (to - 1, self.moved));
            }
        }
    }

    /// What may move with a load, in order, and the last place that it depends on and that may not.
    fn slice(&self, module: &Module, load: Op) -> (Vec<Op>, Option<usize>) {
        let first = self.waits[0].place;
        let (mut slice, mut fixed, mut stack) = (Vec::new(), None, vec![load]);
        while let Some(op) = stack.pop() {
            let makers = module.operands(op).iter().filter_map(|&value| module.def_op(value));
            for maker in makers.collect::<Vec<_>>() {
                // What stands in front of all waits, or in another block, is there already.
                let place = self.places.get(&maker).map(|&(place, _)| place);
                let Some(place) = place.filter(|&place| place >= first) else { continue };
                if !can_move(module, maker) {
                    fixed = fixed.max(Some(place));
                } else if !slice.contains(&maker) {
                    slice.push(maker);
                    stack.push(maker);
                }
            }
        }
        slice.sort_by_key(|op| self.places[op]);
        (slice, fixed)
    }
}

/// Whether an operation loads a block. What must take place as it is written is an effect.
fn is_load_of_block(module: &Module, op: Op) -> bool {
    AccessOp::load(module, op)
        .and_then(|load| load.result())
        .is_some_and(|loaded| is_tensor(module.ty(loaded)))
}

/// Whether an operation does more than to compute and to read; those around others count as if they did.
fn has_effect(module: &Module, op: Op) -> bool {
    if module.has(op, Traits::TERMINATOR) {
        return false;
    }
    if let Some(load) = AccessOp::load(module, op) {
        return load.volatile();
    }
    let is_pure = |op: Op| module.has(op, Traits::PURE) || module.has(op, Traits::TERMINATOR);
    match CombineOp::of(module, op) {
        Some(combine) => !module.ops(combine.block()).all(is_pure),
        None => !is_pure(op) || !module.regions(op).is_empty(),
    }
}

/// Whether an operation may be computed earlier.
fn can_move(module: &Module, op: Op) -> bool {
    module.has(op, Traits::PURE) && module.regions(op).is_empty() && most_over(module, op).is_none()
}

/// Bytes that a lane may hold over an operation in which all warps wait for each other, as elements go from one to
/// another; `None` for others.
fn most_over(module: &Module, op: Op) -> Option<u64> {
    if module.has(op, Traits::RELAYOUT) {
        let values = module.operands(op).iter().chain(module.results(op));
        let bases: Option<Vec<Bases>> = values.map(|&value| bases_of(module, value)).collect();
        let stays =
            bases.is_some_and(|bases| bases.windows(2).all(|pair| pair[0].reach(&pair[1]) < Reach::Warps));
        return (!stays).then_some(OVER_CONVERSION);
    }
    let combine = CombineOp::of(module, op)?;
    let first = *combine.srcs().first()?;
    let shape = shape(module.ty(first));
    let (stride, size) = (strides(shape)[combine.axis()], shape[combine.axis()] as u64);
    let is_along = |word: &u64| !(word / stride).is_multiple_of(size);
    let waits = bases_of(module, first).is_none_or(|bases| bases.warp.iter().any(is_along));
    waits.then_some(OVER_REDUCTION)
}

fn bases_of(module: &Module, value: Value) -> Option<Bases> {
    let ty = module.ty(value);
    let shape = shape(ty);
    Some(Bases::new(&Encoding::of(ty)?.to_linear(shape), shape))
}

/// Bytes of a lane's registers that a block takes; all of the block where no layout says what a lane holds.
fn bytes_of_lane(module: &Module, block: Value) -> u64 {
    let ty = module.ty(block);
    let registers = bases_of(module, block).map_or(numel(ty) as u64, |bases| bases.registers());
    registers * elem_bytes(elem(ty))
}
