//! Loads and stores of chunks, by the form of their addresses and masks.
//!
//! Neighbouring addresses are one vector access, equal ones a scalar access, others one access per lane. Memory of lanes
//! that are masked off is not touched; such lanes read as `other`, or as zero without it.

use super::cx::{Cx, Note};
use super::error::Result;
use super::induction::Amount;
use super::scratch::{Buffer, Panels};
use super::types;
use super::value::{Affine, At, Index, Val};
use ir::{Op, Value as IrValue};
use llir::{Flags, Memory, Type, Value};
use ttir::ops::forms::UnaryOp;
use ttir::ops::memory::{AddPtrOp, LoadOp, StoreOp};
use ttir::ops::shape::SplatOp;

/// Bytes of a cache line.
pub(crate) const LINE: i64 = 64;

/// Where what is asked for goes to, as LLVM counts caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cache {
    /// The nearest: for what comes at once.
    First = 3,
    /// The second: for what must not take the place of what is worked on.
    Second = 2,
}

/// Bytes from which on the rows of a tile are so long that what comes next is in the same round.
const LONG_ROW: i64 = 256;

/// How many rows ahead is asked for then.
const ROWS_AHEAD: i64 = 2;

/// How stores are done in the loops for launches that write more than the last cache holds.
const PAST_CACHES: &str = "vector past the caches where a launch writes more than the last one holds";

/// A mask, once constants are taken out.
enum Mask {
    /// Every lane.
    All,
    /// One condition for all lanes.
    Condition(Value),
    /// One condition per lane.
    Lanes(Value),
}

/// Where the lanes of an access are.
enum Target {
    /// All at one address.
    One(Value),
    /// Next to each other from an address on.
    Run(Value),
    /// Anywhere: a vector of addresses.
    Many(Value),
}

impl Cx<'_> {
    fn mask(&mut self, mask: Option<IrValue>, at: &At) -> Result<Mask> {
        let own = self.own_mask(mask, at)?;
        let Some(limit) = self.streams.limit else { return Ok(own) };
        let lanes = self.mask_vector(&own);
        Ok(Mask::Lanes(self.b.and(lanes, limit)))
    }

    /// The mask of an access as the program gives it.
    fn own_mask(&mut self, mask: Option<IrValue>, at: &At) -> Result<Mask> {
        let Some(mask) = mask else { return Ok(Mask::All) };
        let val = self.eval(mask, at)?;
        if let Some(condition) = self.as_scalar(&val, self.module.ty(mask)) {
            let always = self.b.is_all_ones(condition);
            return Ok(if always { Mask::All } else { Mask::Condition(condition) });
        }
        Ok(Mask::Lanes(self.vector(&val, self.module.ty(mask))))
    }

    /// Whether a mask is known to hold nowhere.
    fn is_never(&self, mask: &Mask) -> bool {
        matches!(mask, Mask::Condition(condition) if self.b.is_zero(*condition))
    }

    fn mask_vector(&mut self, mask: &Mask) -> Value {
        match mask {
            Mask::All => self.b.int(self.vector_type(Type::I1), -1),
            Mask::Condition(condition) => self.spread(*condition),
            Mask::Lanes(lanes) => *lanes,
        }
    }

    fn target(&mut self, pointer: IrValue, at: &At) -> Result<Target> {
        let ty = self.module.ty(pointer);
        let element = self.pointee(ty);
        let val = self.eval(pointer, at)?;
        Ok(match &val {
            Val::Uniform(address) => Target::One(*address),
            Val::Affine(affine) if affine.lanes.is_uniform() => Target::One(self.scalar_of(affine, element)),
            Val::Affine(affine) if affine.lanes.stride() == Some(1) => {
                Target::Run(self.scalar_of(affine, element))
            }
            _ if self.lanes == 1 => Target::One(self.vector(&val, ty)),
            _ => Target::Many(self.vector(&val, ty)),
        })
    }

    /// Writes down how an access is done.
    fn note(&mut self, op: Op, target: &Target, mask: &Mask) {
        let is_store = StoreOp::of(self.module, op).is_some();
        let is_past_caches = is_store && self.streams.peel.is_some();
        let (way, lanes) = match (target, mask) {
            (Target::Run(_), Mask::All) if is_past_caches => (PAST_CACHES, self.lanes),
            (Target::One(_), _) => ("one element for all lanes", 1),
            (Target::Run(_), Mask::All) => ("vector", self.lanes),
            (Target::Run(_), Mask::Condition(_)) => ("vector behind a condition", self.lanes),
            (Target::Run(_), Mask::Lanes(_)) => ("masked vector", self.lanes),
            (Target::Many(_), _) if is_store => ("scatter, one address for each lane", 1),
            (Target::Many(_), _) => ("gather, one address for each lane", 1),
        };
        let note = Note { op, way, lanes };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// `tt.load`.
    pub(crate) fn load(&mut self, op: Op, at: &At) -> Result<Val> {
        let module = self.module;
        let load = LoadOp::new(module, op);
        let elem = ttir::types::elem(module.ty(load.result()));
        if self.probe.is_some() {
            self.fail_probe();
            return Ok(Val::Uniform(self.b.zero(types::register(elem))));
        }
        let mask = self.mask(load.mask(), at)?;
        if self.is_never(&mask) {
            let other = self.other(op, at)?;
            return Ok(other.unwrap_or_else(|| Val::Uniform(self.b.zero(types::register(elem)))));
        }
        let target = self.target(load.ptr(), at)?;
        self.note(op, &target, &mask);
        if matches!(target, Target::Run(_)) && self.is_loaded_again(op) {
            self.prefetch_row(load.result(), at)?;
        }
        let flags = if load.volatile() { Flags::VOLATILE } else { Flags::NONE };
        let lane = types::memory(elem);
        let memory = Memory::aligned(lane.lane_bytes());
        match (&target, &mask) {
            (Target::One(address), Mask::All) => {
                let loaded = self.b.load_with(lane, *address, memory, flags);
                Ok(Val::Uniform(self.in_register(loaded, elem)))
            }
            (Target::Run(address), Mask::All) => {
                self.prefetch_next(load.ptr(), *address, lane, at)?;
                let loaded = self.b.load_with(self.vector_type(lane), *address, memory, flags);
                Ok(Val::Vector(self.in_register(loaded, elem)))
            }
            (Target::One(address), Mask::Condition(condition)) => {
                let other = self.other(op, at)?;
                let other = match &other {
                    Some(other) => match self.as_scalar(other, elem) {
                        Some(scalar) => scalar,
                        None => return self.load_lanes(op, *address, &mask, elem, at),
                    },
                    None => self.b.zero(types::register(elem)),
                };
                let loaded = self.load_if(elem, *address, *condition, other);
                Ok(Val::Uniform(loaded))
            }
            (Target::One(address), _) => self.load_lanes(op, *address, &mask, elem, at),
            (Target::Run(address), Mask::Condition(condition)) => {
                let other = self.other_memory(op, elem, at)?;
                let mut branch = self.b.begin_if(*condition);
                let loaded = self.b.load_with(self.vector_type(lane), *address, memory, flags);
                self.b.begin_else(&mut branch, &[loaded]);
                let loaded = self.b.end_if(branch, &[other])[0];
                Ok(Val::Vector(self.in_register(loaded, elem)))
            }
            (Target::Run(address), _) => {
                let lanes = self.mask_vector(&mask);
                let other = self.other_memory(op, elem, at)?;
                let ty = self.vector_type(lane);
                let loaded = self.b.masked_load(ty, *address, memory.align, lanes, other);
                Ok(Val::Vector(self.in_register(loaded, elem)))
            }
            (Target::Many(addresses), _) => {
                let lanes = self.mask_vector(&mask);
                let other = self.other_memory(op, elem, at)?;
                Ok(Val::Vector(self.gather(elem, *addresses, lanes, Some(other))))
            }
        }
    }

    /// Asks for what the next round of the loop will load: tiles of matrices lie in as many places as they have rows, too
    /// many for the processor to foresee.
    fn prefetch_next(&mut self, pointer: IrValue, address: Value, lane: Type, at: &At) -> Result<()> {
        let is_line_start = at.dims.iter().all(|index| match index {
            Index::Known(linear, _) => (linear.constant * i64::from(lane.lane_bytes())) % LINE == 0,
            Index::Vector(_) => false,
        });
        if at.dims.len() < 2 || !is_line_start {
            return Ok(());
        }
        if self.is_packing && self.prefetch_row_behind(pointer, lane, at)? {
            return Ok(());
        }
        let by = match self.move_of(pointer) {
            Some(Amount::Constant(by)) => self.b.i64(by),
            Some(Amount::Scalar(by)) => match self.scalars.get(&by) {
                Some(&by) => by,
                None => return Ok(()),
            },
            None => return Ok(()),
        };
        let next = self.b.gep(lane, address, by);
        self.prefetch_chunk(next, lane, Cache::First);
        Ok(())
    }

    /// Asks for what lies some rows behind in a matrix with long rows: the next round is too far away. Answers whether its
    /// rows are long.
    fn prefetch_row_behind(&mut self, pointer: IrValue, lane: Type, at: &At) -> Result<bool> {
        let ty = self.module.ty(pointer);
        let is_uniform = |index: &Index| matches!(index, Index::Known(_, lanes) if lanes.is_uniform());
        let (&[rows, columns], [row, column]) = (types::shape(ty), &at.dims[..]) else { return Ok(false) };
        let (dim, run) = if is_uniform(row) { (0, columns) } else { (1, rows) };
        if (is_uniform(row) == is_uniform(column)) || run * i64::from(lane.lane_bytes()) < LONG_ROW {
            return Ok(false);
        }
        let mut dims = at.dims.to_vec();
        if let Index::Known(linear, _) = &mut dims[dim] {
            linear.constant += ROWS_AHEAD;
        }
        let behind = self.at(dims);
        if let Val::Affine(affine) = self.eval(pointer, &behind)? {
            let next = self.scalar_of(&affine, lane);
            self.prefetch_chunk(next, lane, Cache::First);
        }
        Ok(true)
    }

    /// By how much an address moves from one round of the loop around it to the next.
    fn move_of(&self, pointer: IrValue) -> Option<Amount> {
        let module = self.module;
        let mut value = pointer;
        loop {
            let op = module.def_op(value)?;
            if let Some(moved) = AddPtrOp::of(module, op) {
                let carried = SplatOp::def(module, moved.offset());
                if let Some(amount) = carried.and_then(|splat| self.moves.get(&splat.src())) {
                    return Some(*amount);
                }
            } else if !super::rows::is_view(module.row(op)) {
                return None;
            }
            value = UnaryOp::new(module, op).src();
        }
    }

    /// What masked-off lanes of a load read, if it is given.
    fn other(&mut self, op: Op, at: &At) -> Result<Option<Val>> {
        let other = LoadOp::new(self.module, op).other();
        other.map(|other| self.eval(other, at)).transpose()
    }

    /// What masked-off lanes of a load read, as it would be in memory.
    fn other_memory(&mut self, op: Op, elem: ir::Type, at: &At) -> Result<Value> {
        match self.other(op, at)? {
            Some(other) => {
                let other = self.vector(&other, elem);
                Ok(self.in_memory(other, elem))
            }
            None => Ok(self.b.zero(self.vector_type(types::memory(elem)))),
        }
    }

    /// All lanes from one address, under a mask.
    fn load_lanes(&mut self, op: Op, address: Value, mask: &Mask, elem: ir::Type, at: &At) -> Result<Val> {
        let lanes = self.mask_vector(mask);
        let any = self.any(lanes);
        let zero = self.b.zero(types::register(elem));
        let loaded = self.load_if(elem, address, any, zero);
        let spread = self.spread(loaded);
        let other = self.other(op, at)?.unwrap_or(Val::Uniform(zero));
        let other = self.vector(&other, elem);
        Ok(Val::Vector(self.b.select(lanes, spread, other)))
    }

    /// Whether any lane of a mask holds.
    pub(crate) fn any(&mut self, mask: Value) -> Value {
        if self.b.ty(mask).is_vector() {
            return self.b.intrinsic("llvm.vector.reduce.or", Type::I1, &[mask]);
        }
        mask
    }

    /// A scalar from memory where a condition holds, else `other`.
    pub(crate) fn load_if(
        &mut self,
        elem: ir::Type,
        address: Value,
        condition: Value,
        other: Value,
    ) -> Value {
        let lane = types::memory(elem);
        let mut branch = self.b.begin_if(condition);
        let loaded = self.b.load(lane, address, lane.lane_bytes());
        let loaded = self.in_register(loaded, elem);
        self.b.begin_else(&mut branch, &[loaded]);
        self.b.end_if(branch, &[other])[0]
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

    /// `tt.store`.
    pub(crate) fn store(&mut self, op: Op, at: &At) -> Result<()> {
        let module = self.module;
        let store = StoreOp::new(module, op);
        let (pointer, value) = (store.ptr(), store.value());
        let elem = ttir::types::elem(module.ty(value));
        let mask = self.mask(store.mask(), at)?;
        if self.is_never(&mask) {
            return Ok(());
        }
        let target = self.target(pointer, at)?;
        self.note(op, &target, &mask);
        let stored = self.eval(value, at)?;
        let lane = types::memory(elem);
        let memory = Memory::aligned(lane.lane_bytes());
        match (&target, &mask) {
            (Target::Run(address), Mask::All) => {
                let stored = self.vector(&stored, elem);
                let stored = self.in_memory(stored, elem);
                let bytes = lane.lane_bytes() * self.lanes;
                let memory = match self.streams.peel.is_some() {
                    true => {
                        Memory { nontemporal: true, ..Memory::aligned(bytes.min(self.machine.vector_bytes)) }
                    }
                    false => memory,
                };
                self.b.store_with(stored, *address, memory, Flags::NONE);
            }
            (Target::Run(address), Mask::Condition(condition)) => {
                let stored = self.vector(&stored, elem);
                let stored = self.in_memory(stored, elem);
                let branch = self.b.begin_if(*condition);
                self.b.store_with(stored, *address, memory, Flags::NONE);
                self.b.end_if(branch, &[]);
            }
            (Target::Run(address), mask) => {
                let lanes = self.mask_vector(mask);
                let stored = self.vector(&stored, elem);
                let stored = self.in_memory(stored, elem);
                self.b.masked_store(stored, *address, memory.align, lanes);
            }
            (Target::One(address), mask) => {
                let lanes = self.mask_vector(mask);
                let stored = self.vector(&stored, elem);
                self.store_last(elem, *address, stored, lanes);
            }
            (Target::Many(addresses), mask) => {
                let lanes = self.mask_vector(mask);
                let stored = self.vector(&stored, elem);
                let stored = self.in_memory(stored, elem);
                self.b.scatter(stored, *addresses, memory.align, lanes);
            }
        }
        Ok(())
    }

    /// Lanes that all go to one address: what the last of them writes stays.
    fn store_last(&mut self, elem: ir::Type, address: Value, stored: Value, mask: Value) {
        let lane = types::memory(elem);
        for index in 0..self.lanes {
            let (value, active) = (self.lane(stored, index), self.lane(mask, index));
            let branch = self.b.begin_if(active);
            let value = self.in_memory(value, elem);
            self.b.store(value, address, lane.lane_bytes());
            self.b.end_if(branch, &[]);
        }
    }

    /// One lane of a vector, or the scalar that stands for it.
    pub(crate) fn lane(&mut self, vector: Value, lane: u32) -> Value {
        self.b.extract(vector, lane)
    }

    /// Writes a chunk of a block to a buffer.
    pub(crate) fn keep(&mut self, buffer: &Buffer, stored: &Val, from: ir::Type, at: &At) -> Result<()> {
        let vector = self.vector(stored, from);
        self.write(buffer, vector, at)
    }

    /// Writes a vector to the place of a position in a buffer.
    pub(crate) fn write(&mut self, buffer: &Buffer, vector: Value, at: &At) -> Result<()> {
        let elem = buffer.elem;
        let lane = types::memory(elem);
        let bytes = lane.lane_bytes();
        let vector = self.in_memory(vector, elem);
        let base = self.address(buffer);
        if let Some(panels) = buffer.panels {
            self.write_panel(buffer, panels, vector, at);
            return Ok(());
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
                        let value = self.lane(vector, number as u32);
                        self.b.store(value, pointer, bytes);
                    }
                }
            }
            Index::Vector(offsets) => {
                let pointers = self.b.gep(lane, base, offsets);
                if self.lanes == 1 {
                    self.b.store(vector, pointers, bytes);
                } else {
                    let mask = self.b.int(self.vector_type(Type::I1), -1);
                    self.b.scatter(vector, pointers, bytes, mask);
                }
            }
        }
        Ok(())
    }

    /// The same in panels. A chunk that runs along the divided dimension is in one panel: as many lanes as it has divide
    /// its width and its position.
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
        let mask = self.b.int(self.vector_type(Type::I1), -1);
        self.b.scatter(vector, pointers, bytes, mask);
    }
}
