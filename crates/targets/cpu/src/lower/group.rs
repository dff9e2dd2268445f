//! How a group is walked: which dimension its vectors run along, and how many lanes a chunk has.

use super::element;
use super::emitter::Emitter;
use super::nest::Nest;
use super::plan::{Group, Root};
use super::rows;
use super::types;
use ir::{Op, Value};
use std::ops::RangeInclusive;

/// Registers of a chunk whose elements go through an elementary function, the best first: of binary32 each, where more
/// than four would not leave room for constants.
const WIDTHS: [u32; 2] = [4, 2];

/// Registers of such a chunk in launches that stream, with 32 registers.
const WIDEST: u32 = 8;

/// The fewest of them in a block. Its ends run one register at a time where the first aligned store is not at its
/// start: with eight chunks that cost more than was gained.
const WIDEST_TRIPS: i64 = 16;

/// Instructions of the elementary functions in it. Of shorter chains, such as `exp` with 16, the processor sees enough
/// side by side in four registers; of longer ones, such as `erf` with 42, so many values are spilled that the loop is
/// slower. `log` with 37 would gain, and take 16 ms to compile in place of 12. `tanh` has 27.
const WIDEST_FOR: RangeInclusive<usize> = 20..=30;

impl Emitter<'_> {
    /// How the space of a group is walked.
    pub(crate) fn nest_of(&self, group: &Group) -> Nest {
        let shape = &group.shape;
        let lanes = i64::from(self.machine.lanes());
        let mut vector = group.along.or_else(|| self.lies_along(group)).unwrap_or(shape.len() - 1);
        if let Some(axis) = group.axis
            && axis == vector
            && shape[axis] < lanes
            && shape.len() > 1
        {
            // A short axis: vectors along another dimension give one result per lane.
            let others = (0..shape.len()).filter(|&dim| dim != axis);
            vector =
                others.max_by_key(|&dim| (shape[dim], dim)).filter(|&dim| shape[dim] > 1).unwrap_or(axis);
        } else if group.axis.is_none() && shape[vector] == 1 {
            vector = (0..shape.len()).max_by_key(|&dim| (shape[dim] > 1, dim)).unwrap_or(vector);
        }
        let most = if group.is_sequential(self.module) {
            1
        } else if group.keeps_order(self.module) {
            self.machine.lanes() * self.ordered_width(shape[vector])
        } else {
            self.machine.lanes() * self.width(group, shape[vector])
        };
        Nest::new(shape, vector, group.axis, most)
    }

    /// The dimension along which a block lies that is read or written, if that is not the last one.
    fn lies_along(&self, group: &Group) -> Option<usize> {
        let module = self.module;
        let written = group.roots.iter().find_map(|root| match root {
            Root::Keep(_, buffer) => buffer.turned(),
            _ => None,
        });
        let reducing = group.roots.iter().filter_map(|root| match root {
            Root::Reduce(op, _) | Root::Store(op) => Some(op),
            _ => None,
        });
        let mut readers = group.members.iter().chain(reducing).flat_map(|&op| module.operands(op));
        let read = |value: &Value| self.buffers.get(value)?.turned();
        let is_whole = |value: &&Value| types::shape(module.ty(**value)) == group.shape;
        written.or_else(|| readers.by_ref().filter(is_whole).find_map(read))
    }

    /// How many vector registers a chunk of a group is, along a dimension of this size.
    ///
    /// Elementary functions are long chains of operations that wait for each other. A chunk of several registers has as
    /// many chains side by side, instruction by instruction, where chunks that run together have one behind the other,
    /// too far apart for the processor to see both.
    fn width(&self, group: &Group, size: i64) -> u32 {
        let is_panel = |root: &Root| matches!(root, Root::KeepWide(_, buffer) if buffer.panels.is_some());
        if group.long_members(self.module) == 0
            || group.has_effects()
            || group.scans()
            || group.roots.iter().any(is_panel)
        {
            return 1;
        }
        let bytes = |op: &Op| {
            types::memory(ttir::types::elem(self.module.ty(self.module.result(*op, 0)))).lane_bytes()
        };
        let is_double = group.members.iter().any(|op| rows::is_long(self.module, *op) && bytes(op) > 4);
        let fits = |width: &u32| size % i64::from(self.machine.lanes() * width) == 0;
        let widths = if is_double || self.has_short_powers(group) { &WIDTHS[1..] } else { &WIDTHS };
        widths.iter().copied().find(fits).unwrap_or(1)
    }

    /// The same where a reduction combines neighbours: one chunk waits for the one before.
    fn ordered_width(&self, size: i64) -> u32 {
        let fits = |width: &u32| size % i64::from(2 * self.machine.lanes() * width) == 0;
        let widths = if self.machine.vector_registers >= 32 { &WIDTHS } else { &WIDTHS[1..] };
        widths.iter().copied().find(fits).unwrap_or(1)
    }

    /// The same for launches that stream: twice as many chains side by side hide more of what they wait for. Other
    /// loops keep shorter code, which compiles faster.
    pub(crate) fn wider(&self, group: &Group, nest: &Nest) -> Nest {
        let vector = nest.loops[nest.vector].dim;
        let most = self.machine.lanes() * WIDEST;
        let is_wide = nest.lanes == self.machine.lanes() * WIDTHS[0] && self.machine.vector_registers >= 32;
        let size = group.shape[vector];
        if !is_wide || size % i64::from(most) != 0 || size / i64::from(most) < WIDEST_TRIPS {
            return nest.clone();
        }
        let long = group.members.iter().filter(|op| rows::is_long(self.module, **op));
        let length: Option<usize> = long.map(|&op| self.length_of(op)).sum();
        if !length.is_some_and(|length| WIDEST_FOR.contains(&length)) {
            return nest.clone();
        }
        let wider = Nest::new(&group.shape, vector, group.axis, most);
        Nest { most_unroll: nest.most_unroll, is_split: nest.is_split, ..wider }
    }

    /// Whether all elementary functions of a group are powers that are put together of quarters: of these chains the
    /// processor sees enough at once.
    fn has_short_powers(&self, group: &Group) -> bool {
        let mut long = group.members.iter().filter(|op| rows::is_long(self.module, **op));
        self.machine.is_x86
            && self.machine.vector_bytes == 32
            && long.all(|&op| element::exp_of_nonpositive(self.module, op).is_some())
    }
}
