//! Right operands of dots in other loops, kept from program to program in the order that they are multiplied in.
//!
//! Programs that lie side by side in the grid often multiply by the same blocks, as those of one head of an attention
//! do by its keys and values. What one iteration of a loop multiplies by depends on its number and on scalars from
//! outside of the loop; where no program writes what is loaded and these scalars do not follow from the position along
//! x, the tiles of the first iterations stay in memory of their own. The notes are how many are there, and the scalars
//! that they were made with; they are zero at the first program that a thread runs of a launch.

use super::super::emitter::Emitter;
use super::super::error::Result;
use super::super::plan::{self, RegionStep, Root};
use super::super::scratch::{Arena, Buffer};
use super::super::subtarget::Subtarget;
use super::super::{operands, types};
use super::is_harmless;
use super::keys;
use super::slice::Slice;
use crate::dot::Operands;
use ir::{Def, Module, Op, Type as IrType, Value as IrValue};
use llir::{IntCompare, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::ops::access::AccessOp;
use ttir::ops::control::{self, ForOp};
use ttir::ops::dot::MatmulOp;
use ttir::ops::func;
use ttir::ops::program::{self, Axis, ProgramIdOp};

/// The most bytes of tiles that a thread keeps for all loops of a kernel, the same share for each operand. They are
/// seldom larger than what they are made of, so that they come from no further away.
const MOST_BYTES: i64 = 8 << 20;

/// The tiles of an operand.
#[derive(Debug)]
pub(crate) struct Tiles {
    /// The operand.
    pub(crate) operand: IrValue,
    /// The loop around the dot.
    of: Op,
    slice: Slice,
    /// The scalars from outside of the loop that they depend on.
    keys: Vec<IrValue>,
    /// Where the notes are, in bytes.
    notes: u64,
    /// The first tile.
    first: Buffer,
    /// Rows of a tile, and how many tiles there is room for: the last place is for those that are not kept.
    rows: i64,
    count: i64,
}

/// What is kept, by the dots that multiply by it; their places are not taken yet.
pub(super) fn find(
    module: &Module,
    machine: &Subtarget,
    kernel: Op,
    dot_loops: &FxHashSet<Op>,
    arena: &mut Arena,
) -> FxHashMap<Op, Tiles> {
    let mut found = FxHashMap::default();
    for op in module.walk(kernel) {
        if !module.is(op, &control::FOR) || dot_loops.contains(&op) {
            continue;
        }
        for dot in module.ops(ForOp::new(module, op).body()) {
            if let Some(mut tiles) = find_one(module, machine, (kernel, op), dot) {
                tiles.notes = arena.bytes(8 * (1 + tiles.keys.len() as u64));
                found.insert(dot, tiles);
            }
        }
    }
    found
}

/// Takes the places of the tiles.
pub(super) fn place(found: &mut FxHashMap<Op, Tiles>, arena: &mut Arena) {
    let mut tiles: Vec<&mut Tiles> = found.values_mut().collect();
    tiles.sort_unstable_by_key(|tiles| tiles.notes);
    let share = MOST_BYTES / tiles.len().max(1) as i64;
    for tiles in tiles {
        let (columns, elem) = (tiles.first.strides[0], tiles.first.elem);
        tiles.count = share / (tiles.rows * columns * i64::from(types::memory(elem).lane_bytes())) + 1;
        tiles.first = arena.block(&[tiles.count * tiles.rows, columns], elem);
    }
}

fn find_one(module: &Module, machine: &Subtarget, (kernel, of): (Op, Op), op: Op) -> Option<Tiles> {
    let dot = MatmulOp::of(module, op)?;
    let operand = dot.b();
    let &[k, n] = types::shape(module.ty(operand)) else { return None };
    let (operands, elem) = operands::multiplied(module, machine, op)?;
    let (source, _) = operands::source(module, operand);
    AccessOp::load(module, module.def_op(source)?)?;
    let slice = Slice::new(module, ForOp::new(module, of).body(), Some(operand), &[])?;
    let is_plain = slice.ops.iter().all(|&inner| is_harmless(module, inner));
    if !is_plain || n == 1 || [dot.a(), dot.c()].contains(&operand) {
        return None;
    }
    let kept = keys::find(module, kernel, of, (&slice, keys::Length::Open))?;
    if kept.keys.iter().any(|&key| may_follow_from_x(module, key)) {
        return None;
    }
    let group = i64::from(operands.group());
    let (rows, elem) = (k / group, if group == 1 { elem } else { IrType::int(32) });
    // The number of columns, until it has a place.
    let first = Buffer { offset: 0, strides: vec![n, 1], elem, by: None, panels: None };
    Some(Tiles { operand, of, slice, keys: kept.keys, notes: 0, first, rows, count: 1 })
}

/// Whether a scalar may differ between programs that lie side by side.
fn may_follow_from_x(module: &Module, value: IrValue) -> bool {
    let (mut open, mut seen) = (vec![value], FxHashSet::default());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        match module.def(value) {
            Def::Result(op, _) if module.is(op, &program::GET_PROGRAM_ID) => {
                if ProgramIdOp::new(module, op).axis() == Axis::X {
                    return true;
                }
            }
            Def::Result(op, _) if module.regions(op).is_empty() => open.extend(module.operands(op)),
            Def::Arg(block, _)
                if module
                    .region_parent(module.block_region(block))
                    .is_some_and(|op| module.is(op, &func::FUNC)) => {}
            _ => return true,
        }
    }
    false
}

impl Emitter<'_> {
    /// In front of a loop: forgets tiles that were made with other scalars.
    pub(crate) fn begin_tiles(&mut self, of: ForOp<'_>) -> Result<()> {
        let mut all: Vec<&Tiles> = self.program().tiles.values().filter(|tiles| tiles.of == of.op).collect();
        all.sort_unstable_by_key(|tiles| tiles.notes);
        for tiles in all.into_iter().filter(|tiles| !tiles.keys.is_empty()) {
            let place = self.b.i64(tiles.notes as i64);
            let notes = self.b.offset(self.frame.scratch, place);
            let mut differs = self.b.bool(false);
            let mut keys = Vec::new();
            for (number, &key) in tiles.keys.iter().enumerate() {
                let key = self.scalar(key)?;
                let key = self.as_bits(key);
                let at = self.b.i64(8 * (1 + number as i64));
                let place = self.b.offset(notes, at);
                let known = self.b.load(Type::I64, place, 8);
                let is_other = self.b.icmp(IntCompare::Ne, key, known);
                differs = self.b.or(differs, is_other);
                keys.push((key, place));
            }
            let branch = self.b.begin_if(differs);
            for (key, place) in keys {
                self.b.store(key, place, 8);
            }
            let zero = self.b.i64(0);
            self.b.store(zero, notes, 8);
            self.b.end_if(branch, &[]);
        }
        Ok(())
    }

    /// The right operand of a dot where it is kept, made if it is not there.
    pub(crate) fn kept_tile(
        &mut self,
        dot: Op,
        (operands, elem): (Operands, IrType),
    ) -> Result<Option<Buffer>> {
        let Some(tiles) = self.program().tiles.get(&dot) else { return Ok(None) };
        let of = ForOp::new(self.module, tiles.of);
        let [start, _, step] = self.bounds_of(of)?;
        let counter = self.scalar(of.counter())?;
        let counter = self.b.resize_signed(counter, Type::I64);
        let past = self.b.sub(counter, start);
        let number = self.b.sdiv(past, step);
        // Where no other program lies beside this one, one place is enough.
        let last = self.b.i64(tiles.count - 1);
        let one = self.b.i32(1);
        let is_shared = self.b.icmp(IntCompare::Sgt, self.frame.grid[0], one);
        let has_room = self.b.icmp(IntCompare::Slt, number, last);
        let is_kept = self.b.and(is_shared, has_room);
        let slot = self.b.select(is_kept, number, last);
        let each = self.b.i64(tiles.rows * tiles.first.strides[0]);
        let by = self.b.mul(slot, each);
        let target = Buffer { by: Some(by), ..tiles.first.clone() };
        let place = self.b.i64(tiles.notes as i64);
        let notes = self.b.offset(self.frame.scratch, place);
        let valid = self.b.load(Type::I64, notes, 8);
        let is_stale = self.b.icmp(IntCompare::Sge, number, valid);
        let branch = self.b.begin_if(is_stale);
        self.in_region(self.here(), |cx| cx.make_tile(tiles, (operands, elem), &target))?;
        let one = self.b.i64(1);
        let more = self.b.add(number, one);
        let valid = self.b.select(is_kept, more, valid);
        self.b.store(valid, notes, 8);
        self.b.end_if(branch, &[]);
        Ok(Some(target))
    }

    /// Loads an operand and brings it into the order that it is multiplied in.
    fn make_tile(
        &mut self,
        tiles: &Tiles,
        (operands, elem): (Operands, IrType),
        target: &Buffer,
    ) -> Result<()> {
        let module = self.module;
        let block = ForOp::new(module, tiles.of).body();
        let (source, is_turned) = operands::source(module, tiles.operand);
        let shape = types::shape(module.ty(source));
        let mut loaded = self.arena.block(shape, elem);
        let written = Some((source, loaded.clone()));
        let mut plan = plan::slice(self.planning(), block, &tiles.slice.ops, written);
        for step in &mut plan.steps {
            let RegionStep::Group(group) = step else { continue };
            let is_by_columns = group.along == Some(0);
            for root in &mut group.roots {
                let Root::KeepWide(value, buffer) = root else { continue };
                if *value != source {
                    continue;
                }
                if operands.group() == 1 && is_by_columns == is_turned {
                    let mut strides = target.strides.clone();
                    if is_turned {
                        strides.reverse();
                    }
                    loaded = Buffer { strides, ..target.clone() };
                } else if is_by_columns {
                    let turned = self.arena.block(&[shape[1], shape[0]], elem);
                    loaded = Buffer { strides: vec![turned.strides[1], turned.strides[0]], ..turned };
                }
                *buffer = loaded.clone();
            }
        }
        self.wide.remove(&(source, elem));
        self.run_plan(&plan, |_, _| Ok(false))?;
        if is_turned {
            loaded.strides.reverse();
        }
        if loaded == *target {
            return Ok(());
        }
        self.bring_into_order((operands, &loaded), types::shape(module.ty(tiles.operand)), target)
    }
}
