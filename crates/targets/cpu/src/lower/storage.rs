//! Blocks in memory, by position: of kept values, tables of constants, packed operands.

use super::chunk::Chunks;
use super::scratch::{Buffer, Panels};
use super::types;
use super::value::{Affine, At, Index, Lanes, Linear, Val};
use llir::{Type, Value};

impl Chunks<'_, '_> {
    /// Reads a block with strides at a position.
    pub(crate) fn read(&mut self, base: Value, elem: ir::Type, strides: &[i64], at: &At) -> Val {
        match self.place(strides, at) {
            Index::Known(linear, lanes) => self.read_known(base, elem, &linear, &lanes),
            Index::Vector(offsets) => {
                let lane = types::memory(elem);
                let pointers = self.b.gep(lane, base, offsets);
                let mask = self.all();
                let loaded = self.gather(elem, pointers, mask, None);
                Val::Vector(loaded)
            }
        }
    }

    /// The element number of a position in a block with strides.
    pub(crate) fn place(&mut self, strides: &[i64], at: &At) -> Index {
        let (mut linear, mut lanes) = (Linear::default(), Lanes::uniform(self.lanes));
        let mut vector: Option<Value> = None;
        for (index, &stride) in at.dims.iter().zip(strides) {
            match index {
                Index::Known(more, each) => {
                    linear = linear.add(&more.scale(stride));
                    lanes = lanes.add(&each.map(|lane| lane * stride));
                }
                Index::Vector(value) => {
                    let factor = self.int_like(*value, stride);
                    let term = self.b.mul(*value, factor);
                    vector = Some(vector.map_or(term, |sum| self.b.add(sum, term)));
                }
            }
        }
        match vector {
            None => Index::Known(linear, lanes),
            Some(vector) => {
                let known = self.index_vector(&Index::Known(linear, lanes));
                Index::Vector(self.b.add(vector, known))
            }
        }
    }

    /// An index as a vector of `i64`.
    pub(crate) fn index_vector(&mut self, index: &Index) -> Value {
        match index {
            Index::Vector(value) => *value,
            Index::Known(linear, lanes) => {
                let scalar = self.linear(linear);
                let (spread, table) = (self.spread(scalar), self.table(Type::I64, &lanes.0));
                self.b.add(spread, table)
            }
        }
    }

    fn read_known(&mut self, base: Value, elem: ir::Type, linear: &Linear, lanes: &Lanes) -> Val {
        if self.is_form {
            self.is_open = true;
            return Val::Uniform(self.b.zero(types::register(elem)));
        }
        let lane = types::memory(elem);
        let affine = Affine { base, linear: linear.clone(), lanes: lanes.clone() };
        let pointer = self.scalar_of(&affine, lane);
        let bytes = lane.lane_bytes();
        if lanes.is_uniform() {
            let loaded = self.b.load(lane, pointer, bytes);
            return Val::Uniform(self.in_register(loaded, elem));
        }
        if lanes.stride() == Some(1) {
            let ty = self.vector_type(lane);
            let loaded = self.b.load(ty, pointer, bytes);
            return Val::Vector(self.in_register(loaded, elem));
        }
        let parts: Vec<Value> = lanes
            .0
            .iter()
            .map(|&offset| {
                let offset = self.b.i64(offset);
                let pointer = self.b.gep(lane, pointer, offset);
                self.b.load(lane, pointer, bytes)
            })
            .collect();
        let loaded = self.b.vector(&parts);
        Val::Vector(self.in_register(loaded, elem))
    }

    /// Loads each lane from its own address.
    pub(crate) fn gather(
        &mut self,
        elem: ir::Type,
        addresses: Value,
        mask: Value,
        other: Option<Value>,
    ) -> Value {
        let lane = types::memory(elem);
        let ty = self.vector_type(lane);
        if self.lanes == 1 {
            let other = other.unwrap_or_else(|| self.b.zero(ty));
            let other = self.in_register(other, elem);
            return self.load_if(elem, addresses, mask, other);
        }
        let other = other.unwrap_or_else(|| self.b.zero(ty));
        let loaded = self.b.gather(ty, addresses, lane.lane_bytes(), mask, other);
        self.in_register(loaded, elem)
    }

    /// Writes a vector to the place of a position in a buffer.
    pub(crate) fn write(&mut self, buffer: &Buffer, vector: Value, at: &At) {
        let elem = buffer.elem;
        let lane = types::memory(elem);
        let bytes = lane.lane_bytes();
        let vector = self.in_memory(vector, elem);
        let base = self.address(buffer);
        if let Some(panels) = buffer.panels {
            return self.write_panel(buffer, panels, vector, at);
        }
        match self.place(&buffer.strides, at) {
            Index::Known(linear, lanes) => {
                let affine = Affine { base, linear, lanes: lanes.clone() };
                let pointer = self.scalar_of(&affine, lane);
                if self.lanes == 1 || lanes.stride() == Some(1) {
                    self.b.store(vector, pointer, bytes);
                } else {
                    for (number, &offset) in lanes.0.iter().enumerate() {
                        let offset = self.b.i64(offset);
                        let pointer = self.b.gep(lane, pointer, offset);
                        let value = self.b.extract(vector, number as u32);
                        self.b.store(value, pointer, bytes);
                    }
                }
            }
            Index::Vector(offsets) => {
                let pointers = self.b.gep(lane, base, offsets);
                if self.lanes == 1 {
                    self.b.store(vector, pointers, bytes);
                } else {
                    let mask = self.all();
                    self.b.scatter(vector, pointers, bytes, mask);
                }
            }
        }
    }

    /// The same in panels. A chunk that runs along the divided dimension is in one panel: as many lanes as it has
    /// divide its width and its position.
    fn write_panel(&mut self, buffer: &Buffer, panels: Panels, vector: Value, at: &At) {
        let lane = types::memory(buffer.elem);
        let bytes = lane.lane_bytes();
        let base = self.address(buffer);
        let (across, other) = (&at.dims[panels.dim], &at.dims[1 - panels.dim]);
        let (width, rest) = (panels.width.trailing_zeros(), panels.width - 1);
        let offset = |cx: &mut Self, column: Value, row: Value| {
            let ty = cx.b.ty(column);
            let [shift, mask, stride, step] =
                [i64::from(width), rest, panels.stride, buffer.strides[1 - panels.dim]]
                    .map(|number| cx.b.int(ty, number));
            let (panel, column) = (cx.b.lshr(column, shift), cx.b.and(column, mask));
            let (panel, row) = (cx.b.mul(panel, stride), cx.b.mul(row, step));
            let sum = cx.b.add(panel, row);
            cx.b.add(sum, column)
        };
        if let (Index::Known(column, lanes), Index::Known(row, same)) = (across, other)
            && same.is_uniform()
            && (self.lanes == 1 || lanes.stride() == Some(1))
            && i64::from(self.lanes) <= panels.width
        {
            let (column, row) = (self.linear(column), self.linear(row));
            let offset = offset(self, column, row);
            let pointer = self.b.gep(lane, base, offset);
            self.b.store(vector, pointer, bytes);
            return;
        }
        let (column, row) = (self.index_vector(across), self.index_vector(other));
        let offsets = offset(self, column, row);
        let pointers = self.b.gep(lane, base, offsets);
        let mask = self.all();
        self.b.scatter(vector, pointers, bytes, mask);
    }
}
