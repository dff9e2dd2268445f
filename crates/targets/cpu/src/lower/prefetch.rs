//! The next program's row, asked for while this one's is computed with.
//!
//! Programs that work on rows read, compute and write in turn, and memory rests while they compute. A loaded block that
//! is read a second time, from where it was kept or by loading it again, tells when: in that pass, the same element of
//! the next program is asked for, where its address follows from the position in the grid.

use super::accesses;
use super::chunk::Chunks;
use super::memory::Cache;
use super::value::{At, Index, Val};
use ir::{Module, Op, Value as IrValue};
use llir::{Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::program::{Axis, ProgramIdOp};
use ttir::ops::{arith_cast, arith_int, constant, memory, program, shape};

/// How much a value grows from one program to the next.
enum Growth {
    /// Nothing.
    None,
    /// So much, an `i64`.
    By(Value),
}

/// The longest row, in bytes, that is asked for: it must still be near when its program comes.
const LONGEST: i64 = 128 << 10;

/// How deep index expressions are looked into.
const DEPTH: u32 = 24;

/// The row of the next program.
pub(crate) struct Row {
    /// The address of this program's.
    pub(crate) pointer: IrValue,
    /// How many elements behind it that is, an `i64`.
    by: Value,
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
        *self.passes.loaded_in.entry(param).or_insert(group) != group
    }

    /// The row of the next program, where this one reads a block for the second time.
    pub(crate) fn next_row(&mut self, value: IrValue, at: &At) -> Option<Row> {
        let module = self.module;
        let load = module.def_op(value).and_then(|op| AccessOp::load(module, op))?;
        let ([Index::Known(linear, _)], 0..=1, false) = (&at.dims[..], self.here().loops, self.is_form)
        else {
            return None;
        };
        let pointer = load.ptr();
        let lane = self.pointee(module.ty(pointer));
        let bytes = i64::from(lane.lane_bytes());
        let is_line_start = (linear.constant * bytes) % super::memory::LINE == 0;
        let key = accesses::param_of(module, pointer).unwrap_or(value);
        let group = self.passes.group;
        let is_first = *self.passes.second.entry(key).or_insert(group) == group;
        let is_short = ttir::types::numel(module.ty(pointer)) * bytes <= LONGEST;
        if !is_line_start || !is_first || !is_short {
            return None;
        }
        match self.growth(pointer, DEPTH)? {
            Growth::By(by) => Some(Row { pointer, by, lane }),
            Growth::None => None,
        }
    }

    /// Asks for a chunk of a row, given the address of this program's.
    pub(crate) fn prefetch_row(&mut self, row: &Row, pointer: &Val) {
        if let Val::Affine(affine) = pointer {
            let bytes = i64::from(row.lane.lane_bytes());
            let by = if self.here().loops > 0 { self.if_short(row.by, bytes) } else { row.by };
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

    /// Asks for the cache lines of a chunk that begins at an address, which is taken to be the start of a line.
    pub(crate) fn prefetch_chunk(&mut self, address: Value, lane: Type, cache: Cache) {
        let (read, data) = (self.b.i32(0), self.b.i32(1));
        let near = self.b.i32(cache as i32);
        let per_line = super::memory::LINE / i64::from(lane.lane_bytes());
        for offset in (0..i64::from(self.lanes)).step_by(per_line as usize) {
            let offset = self.b.i64(offset);
            let line = self.b.gep(lane, address, offset);
            self.b.intrinsic_void("llvm.prefetch", &[line, read, near, data]);
        }
    }

    /// How much a value grows with the position along x; `None` if that is not known.
    fn growth(&mut self, value: IrValue, depth: u32) -> Option<Growth> {
        let module = self.module;
        let depth = depth.checked_sub(1)?;
        let Some(op) = module.def_op(value) else {
            return match counted_by(module, value) {
                Some(of) => {
                    let bounds = [of.lower(), of.step()].map(|bound| self.growth(bound, depth));
                    bounds.iter().all(|by| matches!(by, Some(Growth::None))).then_some(Growth::None)
                }
                None => is_argument(module, value).then_some(Growth::None),
            };
        };
        let row = module.row(op);
        if row.is(&program::GET_PROGRAM_ID) {
            let is_x = ProgramIdOp::new(module, op).axis() == Axis::X;
            return Some(if is_x { Growth::By(self.b.i64(1)) } else { Growth::None });
        }
        let sources = [&shape::MAKE_RANGE, &constant::CONSTANT, &program::GET_NUM_PROGRAMS];
        if sources.iter().any(|source| row.is(source)) {
            return Some(Growth::None);
        }
        let parts: Vec<Growth> =
            module.operands(op).iter().map(|&operand| self.growth(operand, depth)).collect::<Option<_>>()?;
        match &parts[..] {
            [only] if row.is(&shape::SPLAT) || row.is(&arith_cast::EXTSI) => match only {
                Growth::None => Some(Growth::None),
                Growth::By(by) => Some(Growth::By(*by)),
            },
            [a, b] if row.is(&arith_int::ADDI) || row.is(&memory::ADDPTR) => Some(match (a, b) {
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
        if ttir::types::is_tensor(self.module.ty(factor)) {
            return None;
        }
        let factor = self.scalar(factor).ok()?;
        let factor = self.b.resize_signed(factor, Type::I64);
        Some(Growth::By(self.b.mul(by, factor)))
    }
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
