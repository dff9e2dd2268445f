//! The next row, asked for while this one is computed with.
//!
//! Programs that work on rows read, compute and write in turn, and memory rests while they compute. A loaded block that
//! is read a second time, from where it was kept or by loading it again, tells when: in that pass, the same element of
//! the next row is asked for (of short rows, of a later one). That is the row of the next program, or of the next
//! iteration where both passes are in one iteration of a loop, as in persistent programs; its address follows from the
//! position in the grid, or from the counter of the loop.
//!
//! Launches that write more than the last cache holds read from memory as well. Where they compute much in between, the
//! processor sees too few loads at once, and what lies as far ahead is asked for. Of two arrays it is not: that is
//! slower.

use super::accesses;
use super::chunk::Chunks;
use super::memory::Cache;
use super::value::{At, Index, Val};
use ir::{Module, Op, Traits, Value as IrValue};
use llir::{Type, Value, intrinsics};
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::program::{Axis, ProgramIdOp};
use ttir::ops::shape::SplatOp;
use ttir::ops::{arith_cast, arith_int, constant, program, shape};

/// What goes over the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// The programs along x.
    Programs,
    /// The iterations of a loop.
    Iterations(Op),
}

/// How much a value grows from one row to the next.
enum Growth {
    /// Nothing.
    None,
    /// So much, an `i64`.
    By(Value),
}

/// The longest row, in bytes, that is asked for: it must still be near when its turn comes.
const LONGEST: i64 = 128 << 10;

/// How far ahead, in bytes, is asked for, of rows in whole ones: a short row is over before the next one has come. Of
/// rows in parts, whose length is not known, the next one is asked for.
const AHEAD: i64 = 8 << 10;

/// How deep index expressions are looked into.
const DEPTH: u32 = 24;

/// The next row.
pub(crate) struct Row {
    /// The address of this one.
    pub(crate) pointer: IrValue,
    /// How many elements behind it the one is that is asked for, an `i64`.
    by: Value,
    /// Whether each program or iteration loads it in parts, in a loop.
    is_in_parts: bool,
    /// The type of an element.
    lane: Type,
}

impl Chunks<'_, '_> {
    /// Whether a load runs where the same tensor was read before, in another group: then its block is in the caches.
    pub(crate) fn is_loaded_again(&mut self, op: Op) -> bool {
        let module = self.module;
        let Some(param) = accesses::param_of(module, AccessOp::new(module, op).ptr()) else {
            return false;
        };
        let group = self.passes.group;
        self.passes.loaded_in.entry(param).or_insert((group, op)).0 != group
    }

    /// The next row, where a block of this one is read for the second time.
    pub(crate) fn next_row(&mut self, value: IrValue, at: &At) -> Option<Row> {
        let module = self.module;
        let load = module.def_op(value).and_then(|op| AccessOp::load(module, op))?;
        let ([Index::Known(linear, _)], false) = (&at.dims[..], self.is_form) else { return None };
        let pointer = load.ptr();
        let lane = self.pointee(module.ty(pointer));
        let bytes = i64::from(lane.lane_bytes());
        let is_line_start = (linear.constant * bytes) % super::memory::LINE == 0;
        let param = accesses::param_of(module, pointer);
        let key = param.unwrap_or(value);
        let group = self.passes.group;
        let is_first = *self.passes.second.entry(key).or_insert(group) == group;
        let elements = ttir::types::numel(module.ty(pointer));
        if !is_line_start || !is_first || elements * bytes > LONGEST {
            return None;
        }
        // The first pass loads by this operation, or by another one.
        let first = param.and_then(|param| self.passes.loaded_in.get(&param)).map_or(load.op, |&(_, op)| op);
        let around = loops_around(module, load.op);
        let shared = loops_around(module, first).into_iter().filter(|of| around.contains(of));
        let repeats = shared.map(Repeat::Iterations).chain([Repeat::Programs]);
        for repeat in repeats {
            let outside = match repeat {
                Repeat::Iterations(of) if is_over_parts(module, of, elements) => continue,
                Repeat::Iterations(of) => loops_around(module, of).len() + 1,
                Repeat::Programs => 0,
            };
            let is_in_parts = match (self.here().loops as usize).checked_sub(outside)? {
                0 => false,
                1 => true,
                _ => return None,
            };
            match self.growth(pointer, repeat, DEPTH)? {
                Growth::By(by) => {
                    let by = if is_in_parts { by } else { self.rows_ahead(by, elements * bytes) };
                    return Some(Row { pointer, by, is_in_parts, lane });
                }
                Growth::None => {}
            }
        }
        None
    }

    /// By how many elements the addresses of a load grow from one iteration of the loop around it to the next, where
    /// they follow from its counter.
    pub(crate) fn growth_in_loop(&mut self, load: Op, pointer: IrValue) -> Option<Value> {
        let of = *loops_around(self.module, load).first()?;
        match self.growth(pointer, Repeat::Iterations(of), DEPTH)? {
            Growth::By(by) => Some(by),
            Growth::None => None,
        }
    }

    /// The distance to the row that is asked for, given that to the next one and the bytes of a row.
    fn rows_ahead(&mut self, by: Value, bytes: i64) -> Value {
        match AHEAD / bytes {
            0 | 1 => by,
            rows => {
                let rows = self.b.i64(rows);
                self.b.mul(by, rows)
            }
        }
    }

    /// Asks for a chunk of a row, given the address of this one's.
    pub(crate) fn prefetch_row(&mut self, row: &Row, pointer: &Val) {
        if let Val::Affine(affine) = pointer {
            let bytes = i64::from(row.lane.lane_bytes());
            let by = if row.is_in_parts { self.if_short(row.by, bytes) } else { row.by };
            let address = self.scalar_of(affine, row.lane);
            let next = self.b.gep(row.lane, address, by);
            self.prefetch_chunk(next, row.lane, Cache::Second);
        }
    }

    /// A distance between rows, or nothing where rows may be longer than what is asked for.
    fn if_short(&mut self, by: Value, bytes: i64) -> Value {
        let (longest, zero) = (self.b.i64(LONGEST / bytes), self.b.i64(0));
        let is_short = self.b.icmp(llir::IntCompare::Sle, by, longest);
        self.b.select(is_short, by, zero)
    }

    /// Asks for what a launch will load later whose stores go past the caches, given the address of this chunk.
    /// It goes behind the loads of a chunk: LLVM keeps these together then, which is up to a tenth faster.
    pub(crate) fn prefetch_stream(&mut self, load: Op, address: Value, lane: Type) {
        // Where chunks are one register there is little to compute, and memory does not rest.
        let is_wide = self.lanes > self.machine.lanes();
        if self.assumed.is_of_one_load && is_wide && !self.is_loaded_again(load) {
            let by = self.b.i64(AHEAD / i64::from(lane.lane_bytes()));
            let ahead = self.b.gep(lane, address, by);
            self.prefetch_chunk(ahead, lane, Cache::First);
        }
    }

    /// Asks for the cache lines of a chunk that begins at an address, which is taken to be the start of a line.
    pub(crate) fn prefetch_chunk(&mut self, address: Value, lane: Type, cache: Cache) {
        let (read, data) = (self.b.i32(0), self.b.i32(1));
        let near = self.b.i32(cache as i32);
        let per_line = super::memory::LINE / i64::from(lane.lane_bytes());
        for offset in (0..i64::from(self.lanes)).step_by(per_line as usize) {
            let offset = self.b.i64(offset);
            let line = self.b.gep(lane, address, offset);
            self.b.intrinsic_void(&intrinsics::PREFETCH, &[line, read, near, data]);
        }
    }

    /// How much a value grows from one row to the next; `None` if that is not known.
    fn growth(&mut self, value: IrValue, repeat: Repeat, depth: u32) -> Option<Growth> {
        let module = self.module;
        let depth = depth.checked_sub(1)?;
        let Some(op) = module.def_op(value) else {
            return match counted_by(module, value) {
                Some(of) if repeat == Repeat::Iterations(of.op) => {
                    let step = self.scalar(of.step()).ok()?;
                    Some(Growth::By(self.b.resize_signed(step, Type::I64)))
                }
                Some(of) if is_around(module, of.op, repeat) => Some(Growth::None),
                Some(of) => {
                    let bounds = [of.lower(), of.step()].map(|bound| self.growth(bound, repeat, depth));
                    bounds.iter().all(|by| matches!(by, Some(Growth::None))).then_some(Growth::None)
                }
                None => is_argument(module, value).then_some(Growth::None),
            };
        };
        let row = module.row(op);
        if row.is(&program::GET_PROGRAM_ID) {
            let is_x = ProgramIdOp::new(module, op).axis() == Axis::X;
            return Some(if is_x && repeat == Repeat::Programs {
                Growth::By(self.b.i64(1))
            } else {
                Growth::None
            });
        }
        let parts: Vec<Growth> = module
            .operands(op)
            .iter()
            .map(|&operand| self.growth(operand, repeat, depth))
            .collect::<Option<_>>()?;
        match &parts[..] {
            [only] if row.traits.has(Traits::VIEW) || row.is(&shape::SPLAT) || row.is(&arith_cast::EXTSI) => {
                match only {
                    Growth::None => Some(Growth::None),
                    Growth::By(by) => Some(Growth::By(*by)),
                }
            }
            [a, b] if row.traits.has(Traits::ADDS) => Some(match (a, b) {
                (Growth::None, Growth::None) => Growth::None,
                (Growth::By(by), Growth::None) | (Growth::None, Growth::By(by)) => Growth::By(*by),
                (Growth::By(a), Growth::By(b)) => Growth::By(self.b.add(*a, *b)),
            }),
            [a, b] if row.is(&arith_int::MULI) => self.multiple_growth(op, a, b),
            _ => parts.iter().all(|part| matches!(part, Growth::None)).then_some(Growth::None),
        }
    }

    fn multiple_growth(&mut self, op: Op, a: &Growth, b: &Growth) -> Option<Growth> {
        let two = BinaryOp::new(self.module, op);
        let (by, factor) = match (a, b) {
            (Growth::None, Growth::None) => return Some(Growth::None),
            (Growth::By(by), Growth::None) => (*by, two.rhs()),
            (Growth::None, Growth::By(by)) => (*by, two.lhs()),
            (Growth::By(_), Growth::By(_)) => return None,
        };
        let factor = match SplatOp::def(self.module, factor) {
            Some(splat) => splat.src(),
            None => factor,
        };
        if ttir::types::is_tensor(self.module.ty(factor)) {
            return None;
        }
        let factor = self.scalar(factor).ok()?;
        let factor = self.b.resize_signed(factor, Type::I64);
        Some(Growth::By(self.b.mul(by, factor)))
    }
}

/// The loops around an operation, the innermost first.
fn loops_around(module: &Module, op: Op) -> Vec<Op> {
    let outward = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    outward.filter(|&op| module.has(op, Traits::LOOP)).collect()
}

/// Whether a loop goes over parts of a row that lie one behind the other, which the processor foresees.
fn is_over_parts(module: &Module, of: Op, elements: i64) -> bool {
    let step = ForOp::of(module, of).and_then(|of| module.constant(of.step()));
    step.and_then(constant::splat_bits).is_some_and(|step| step as i64 == elements)
}

/// Whether a loop is around another one, in one iteration of which both rows are.
fn is_around(module: &Module, of: Op, repeat: Repeat) -> bool {
    matches!(repeat, Repeat::Iterations(inner) if loops_around(module, inner).contains(&of))
}

/// The loop whose counter a value is.
fn counted_by(module: &Module, value: IrValue) -> Option<ForOp<'_>> {
    let ir::Def::Arg(block, 0) = module.def(value) else { return None };
    ForOp::of(module, module.region_parent(module.block_region(block))?)
}

/// Whether a value is a parameter of the kernel.
fn is_argument(module: &Module, value: IrValue) -> bool {
    match module.def(value) {
        ir::Def::Arg(block, _) => module
            .region_parent(module.block_region(block))
            .is_some_and(|op| module.is(op, &ttir::ops::func::FUNC)),
        ir::Def::Result(..) => false,
    }
}
