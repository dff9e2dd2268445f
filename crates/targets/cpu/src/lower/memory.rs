//! Loads and stores of chunks, by the form of their addresses and masks.
//!
//! Neighbouring addresses are one vector access, equal ones a scalar access, near ones some vectors where they are
//! loaded ([`super::rearranged`]), others one access per lane. Memory of lanes that are masked off is not touched; such
//! lanes read as `other`, or as zero without it.

use super::chunk::Chunks;
use super::emitter::Note;
use super::error::{LowerError, Result};
use super::induction::Amount;
use super::rearranged::{NEAR, Near};
use super::types;
use super::value::{At, Index, Val};
use ir::{Op, Traits, Value as IrValue};
use llir::{Flags, Memory, Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::memory::{AddPtrOp, LoadOp};
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

/// Bytes from which on the rows of a tile are so long that what comes next is in the same iteration.
const LONG_ROW: i64 = 256;

/// How many rows ahead is asked for then.
const ROWS_AHEAD: i64 = 2;

/// How stores are done in the loops for launches that write more than the last cache holds.
const PAST_CACHES: &str = "vector past the caches where a launch writes more than the last one holds";

/// A mask, once constants are taken out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mask {
    /// Every lane.
    All,
    /// One condition for all lanes.
    Condition(Value),
    /// One condition per lane.
    Lanes(Value),
}

/// Where the lanes of an access are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// All at one address.
    One(Value),
    /// Next to each other from an address on.
    Run(Value),
    /// Anywhere: a vector of addresses.
    Many(Value),
}

/// How far a `tt.load` is: what it has, while it waits for the value that it asked for.
pub(crate) enum Loading {
    /// Nothing.
    Begun,
    /// The value of its mask comes.
    Masked,
    /// That of its pointer comes.
    Addressed(Mask),
    /// The address comes that is asked for ahead.
    Behind(Mask, Target),
    /// What masked-off lanes are comes.
    Others(Mask, Target),
    /// The same, for a load by vectors.
    Near(Near, Mask),
    /// No lane is read: what comes is the answer.
    Answered,
}

/// How making a value goes on.
pub(crate) enum Next {
    /// The value of a block at a position is needed.
    Needs(IrValue, At),
    /// It is made.
    Done(Val),
}

/// Whether a load reads something in every lane.
fn reads_all(target: &Target, mask: &Mask) -> bool {
    matches!((target, mask), (Target::One(_) | Target::Run(_), Mask::All))
}

impl Chunks<'_, '_> {
    /// The mask of an access, given its value; of the lanes that are inside.
    pub(crate) fn mask(&mut self, mask: Option<(IrValue, &Val)>) -> Mask {
        let own = match mask {
            Some((mask, val)) => self.own_mask(mask, val),
            None => Mask::All,
        };
        let Some(limit) = self.limit else { return own };
        let lanes = self.mask_vector(&own);
        Mask::Lanes(self.b.and(lanes, limit))
    }

    /// The mask of an access as the program gives it.
    fn own_mask(&mut self, mask: IrValue, val: &Val) -> Mask {
        let ty = self.module.ty(mask);
        if let Some(condition) = self.as_scalar(val, ty) {
            let always = self.b.is_all_ones(condition);
            return if always { Mask::All } else { Mask::Condition(condition) };
        }
        Mask::Lanes(self.vector(val, ty))
    }

    /// Whether a mask is known to hold nowhere.
    pub(crate) fn is_never(&self, mask: &Mask) -> bool {
        matches!(mask, Mask::Condition(condition) if self.b.is_zero(*condition))
    }

    pub(crate) fn mask_vector(&mut self, mask: &Mask) -> Value {
        match mask {
            Mask::All => self.all(),
            Mask::Condition(condition) => self.spread(*condition),
            Mask::Lanes(lanes) => *lanes,
        }
    }

    pub(crate) fn target(&mut self, pointer: IrValue, val: &Val) -> Target {
        let ty = self.module.ty(pointer);
        let element = self.pointee(ty);
        match val {
            Val::Uniform(address) => Target::One(*address),
            Val::Affine(affine) if affine.lanes.is_uniform() => Target::One(self.scalar_of(affine, element)),
            Val::Affine(affine) if affine.lanes.stride() == Some(1) => {
                Target::Run(self.scalar_of(affine, element))
            }
            _ if self.lanes == 1 => Target::One(self.vector(val, ty)),
            _ => Target::Many(self.vector(val, ty)),
        }
    }

    /// Writes down how an access is done.
    pub(crate) fn note(&mut self, op: Op, target: &Target, mask: &Mask) {
        let is_store = AccessOp::store(self.module, op).is_some();
        let is_past_caches = is_store && self.assumed.peel.is_some();
        let (way, lanes) = match (target, mask) {
            (Target::Run(_), Mask::All) if is_past_caches => (PAST_CACHES, self.lanes),
            (Target::One(_), _) => ("one element for all lanes", 1),
            (Target::Run(_), Mask::All) => ("vector", self.lanes),
            (Target::Run(_), Mask::Condition(_)) => ("vector behind a condition", self.lanes),
            (Target::Run(_), Mask::Lanes(_)) => ("masked vector", self.lanes),
            (Target::Many(_), _) if is_store => ("scatter, one address for each lane", 1),
            (Target::Many(_), _) => ("gather, one address for each lane", 1),
        };
        self.note_way(op, way, lanes);
    }

    /// Writes down that an access is done in a way, with so many lanes at once.
    fn note_way(&mut self, op: Op, way: &'static str, lanes: u32) {
        let note = Note { op, way, lanes };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Goes on with a `tt.load` as far as what is given leads: the value that it asked for last.
    pub(crate) fn load(
        &mut self,
        op: Op,
        at: &At,
        loading: &mut Loading,
        given: Option<Val>,
    ) -> Result<Next> {
        let module = self.module;
        let load = LoadOp::new(module, op);
        let elem = ttir::types::elem(module.ty(load.result()));
        let given = match (&*loading, given) {
            (Loading::Begun, None) if self.is_form => {
                self.is_open = true;
                return Ok(Next::Done(Val::Uniform(self.b.zero(types::register(elem)))));
            }
            (Loading::Begun, None) => match load.mask() {
                Some(mask) => {
                    *loading = Loading::Masked;
                    return Ok(Next::Needs(mask, at.clone()));
                }
                None => None,
            },
            (_, given) => given,
        };
        match (std::mem::replace(loading, Loading::Answered), given) {
            (Loading::Begun | Loading::Masked, val) => {
                let mask = self.mask(load.mask().zip(val.as_ref()));
                match (self.is_never(&mask), load.other()) {
                    (false, _) => {
                        *loading = Loading::Addressed(mask);
                        Ok(Next::Needs(load.ptr(), at.clone()))
                    }
                    (true, Some(other)) => Ok(Next::Needs(other, at.clone())),
                    (true, None) => Ok(Next::Done(Val::Uniform(self.b.zero(types::register(elem))))),
                }
            }
            (Loading::Addressed(mask), Some(pointer)) => {
                let near = if load.volatile() { None } else { self.near(load.ptr(), &pointer) };
                if let Some(near) = near {
                    self.note_way(op, NEAR, self.lanes);
                    return match load.other() {
                        Some(other) if !matches!(mask, Mask::All) => {
                            *loading = Loading::Near(near, mask);
                            Ok(Next::Needs(other, at.clone()))
                        }
                        _ => Ok(Next::Done(self.loaded_near(elem, (&near, &mask), None))),
                    };
                }
                let target = self.target(load.ptr(), &pointer);
                self.note(op, &target, &mask);
                if matches!(target, Target::Run(_))
                    && self.is_loaded_again(op)
                    && let Some(row) = self.next_row(load.result(), at)
                {
                    self.prefetch_row(&row, &pointer);
                }
                if let (Target::Run(address), Mask::All) = (&target, &mask)
                    && let Some(behind) = self.prefetch_next(load, *address, at)
                {
                    *loading = Loading::Behind(mask, target);
                    return Ok(Next::Needs(load.ptr(), behind));
                }
                match load.other() {
                    Some(other) if !reads_all(&target, &mask) => {
                        *loading = Loading::Others(mask, target);
                        Ok(Next::Needs(other, at.clone()))
                    }
                    _ => Ok(Next::Done(self.loaded(load, elem, (&target, &mask), None))),
                }
            }
            (Loading::Behind(mask, target), Some(behind)) => {
                if let Val::Affine(affine) = &behind {
                    let lane = types::memory(elem);
                    let next = self.scalar_of(affine, lane);
                    self.prefetch_chunk(next, lane, Cache::First);
                }
                Ok(Next::Done(self.loaded(load, elem, (&target, &mask), None)))
            }
            (Loading::Others(mask, target), other) => {
                Ok(Next::Done(self.loaded(load, elem, (&target, &mask), other)))
            }
            (Loading::Near(near, mask), other) => {
                Ok(Next::Done(self.loaded_near(elem, (&near, &mask), other)))
            }
            (Loading::Answered, Some(other)) => Ok(Next::Done(other)),
            (Loading::Addressed(_) | Loading::Behind(..) | Loading::Answered, None) => {
                Err(LowerError::new("a load goes on without what it asked for"))
            }
        }
    }

    /// What a load reads; `other` is the value of the lanes that are masked off, if the program gives one.
    fn loaded(
        &mut self,
        load: LoadOp<'_>,
        elem: ir::Type,
        (target, mask): (&Target, &Mask),
        other: Option<Val>,
    ) -> Val {
        let flags = if load.volatile() { Flags::VOLATILE } else { Flags::NONE };
        let lane = types::memory(elem);
        let (memory, ty) = (Memory::aligned(lane.lane_bytes()), self.vector_type(lane));
        match (target, mask) {
            (Target::One(address), Mask::All) => {
                let loaded = self.b.load_with(lane, *address, memory, flags);
                Val::Uniform(self.in_register(loaded, elem))
            }
            (Target::Run(address), Mask::All) => {
                let loaded = self.b.load_with(ty, *address, memory, flags);
                self.prefetch_stream(load.op, *address, lane);
                Val::Vector(self.in_register(loaded, elem))
            }
            (Target::One(address), Mask::Condition(condition)) => {
                let scalar = match &other {
                    Some(other) => self.as_scalar(other, elem),
                    None => Some(self.b.zero(types::register(elem))),
                };
                match scalar {
                    Some(scalar) => Val::Uniform(self.load_if(elem, *address, *condition, scalar)),
                    None => self.load_lanes(*address, mask, elem, other),
                }
            }
            (Target::One(address), _) => self.load_lanes(*address, mask, elem, other),
            (Target::Run(address), Mask::Condition(condition)) => {
                let other = self.other_memory(other, elem);
                let mut branch = self.b.begin_if(*condition);
                let loaded = self.b.load_with(ty, *address, memory, flags);
                self.b.begin_else(&mut branch, &[loaded]);
                let loaded = self.b.end_if(branch, &[other])[0];
                Val::Vector(self.in_register(loaded, elem))
            }
            (Target::Run(address), _) => {
                let lanes = self.mask_vector(mask);
                let other = self.other_memory(other, elem);
                let loaded = self.b.masked_load(ty, *address, memory.align, lanes, other);
                Val::Vector(self.in_register(loaded, elem))
            }
            (Target::Many(addresses), _) => {
                let lanes = self.mask_vector(mask);
                let other = self.other_memory(other, elem);
                Val::Vector(self.gather(elem, *addresses, lanes, Some(other)))
            }
        }
    }

    /// The same by vectors that have all lanes.
    fn loaded_near(&mut self, elem: ir::Type, (near, mask): (&Near, &Mask), other: Option<Val>) -> Val {
        let lane = types::memory(elem);
        let loaded = match *mask {
            Mask::All => self.load_near(lane, near, None),
            Mask::Condition(condition) => {
                let other = self.other_memory(other, elem);
                let mut branch = self.b.begin_if(condition);
                let loaded = self.load_near(lane, near, None);
                self.b.begin_else(&mut branch, &[loaded]);
                self.b.end_if(branch, &[other])[0]
            }
            Mask::Lanes(lanes) => {
                let other = self.other_memory(other, elem);
                let loaded = self.load_near(lane, near, Some(lanes));
                self.b.select(lanes, loaded, other)
            }
        };
        Val::Vector(self.in_register(loaded, elem))
    }

    /// Asks for what the next iteration of the loop will load: tiles of matrices lie in as many places as they have
    /// rows, too many for the processor to foresee. Answers the position to ask for instead where the next iteration is
    /// too far away.
    fn prefetch_next(&mut self, load: LoadOp<'_>, address: Value, at: &At) -> Option<At> {
        let pointer = load.ptr();
        let lane = self.pointee(self.module.ty(pointer));
        let is_line_start = at.dims.iter().all(|index| match index {
            Index::Known(linear, _) => (linear.constant * i64::from(lane.lane_bytes())) % LINE == 0,
            Index::Vector(_) => false,
        });
        if at.dims.len() < 2 || !is_line_start {
            return None;
        }
        if let Some(behind) = self.row_behind(pointer, lane, at) {
            return Some(behind);
        }
        let by = match self.move_of(pointer) {
            Some(Amount::Constant(by)) => self.b.i64(by),
            Some(Amount::Scalar(by)) => *self.scalars.get(&by)?,
            None if self.here().is_packing => self.growth_in_loop(load.op, pointer)?,
            None => return None,
        };
        let next = self.b.gep(lane, address, by);
        self.prefetch_chunk(next, lane, Cache::First);
        None
    }

    /// What lies some rows behind in a matrix with long rows that is packed: the next iteration is too far away.
    fn row_behind(&mut self, pointer: IrValue, lane: Type, at: &At) -> Option<At> {
        if !self.here().is_packing {
            return None;
        }
        let ty = self.module.ty(pointer);
        let is_uniform = |index: &Index| matches!(index, Index::Known(_, lanes) if lanes.is_uniform());
        let (&[rows, columns], [row, column]) = (types::shape(ty), &at.dims[..]) else { return None };
        let (dim, run) = if is_uniform(row) { (0, columns) } else { (1, rows) };
        if (is_uniform(row) == is_uniform(column)) || run * i64::from(lane.lane_bytes()) < LONG_ROW {
            return None;
        }
        let mut dims = at.dims.to_vec();
        if let Index::Known(linear, _) = &mut dims[dim] {
            linear.constant += ROWS_AHEAD;
        }
        Some(self.at(dims))
    }

    /// By how much an address moves from one iteration of the loop around it to the next.
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
            } else if !module.has(op, Traits::VIEW) {
                return None;
            }
            value = UnaryOp::new(module, op).src();
        }
    }

    /// What masked-off lanes of a load read, as it would be in memory.
    fn other_memory(&mut self, other: Option<Val>, elem: ir::Type) -> Value {
        match other {
            Some(other) => {
                let other = self.vector(&other, elem);
                self.in_memory(other, elem)
            }
            None => {
                let ty = self.vector_type(types::memory(elem));
                self.b.zero(ty)
            }
        }
    }

    /// All lanes from one address, under a mask.
    fn load_lanes(&mut self, address: Value, mask: &Mask, elem: ir::Type, other: Option<Val>) -> Val {
        let lanes = self.mask_vector(mask);
        let any = self.any(lanes);
        let zero = self.b.zero(types::register(elem));
        let loaded = self.load_if(elem, address, any, zero);
        let spread = self.spread(loaded);
        let other = self.vector(&other.unwrap_or(Val::Uniform(zero)), elem);
        Val::Vector(self.b.select(lanes, spread, other))
    }

    /// Writes what a `tt.store` stores.
    pub(crate) fn store_to(&mut self, elem: ir::Type, target: &Target, mask: &Mask, stored: Value) {
        let lane = types::memory(elem);
        let memory = Memory::aligned(lane.lane_bytes());
        match (target, mask) {
            (Target::Run(address), Mask::All) => {
                let stored = self.in_memory(stored, elem);
                let bytes = lane.lane_bytes() * self.lanes;
                let memory = match self.assumed.peel.is_some() {
                    true => {
                        Memory { nontemporal: true, ..Memory::aligned(bytes.min(self.machine.vector_bytes)) }
                    }
                    false => memory,
                };
                self.b.store_with(stored, *address, memory, Flags::NONE);
            }
            (Target::Run(address), Mask::Condition(condition)) => {
                let stored = self.in_memory(stored, elem);
                let branch = self.b.begin_if(*condition);
                self.b.store_with(stored, *address, memory, Flags::NONE);
                self.b.end_if(branch, &[]);
            }
            (Target::Run(address), mask) => {
                let lanes = self.mask_vector(mask);
                let lanes = self.store_mask(lanes, lane);
                let stored = self.in_memory(stored, elem);
                self.b.masked_store(stored, *address, memory.align, lanes);
            }
            (Target::One(address), mask) => {
                let lanes = self.mask_vector(mask);
                self.store_last(elem, *address, stored, lanes);
            }
            (Target::Many(addresses), mask) => {
                let lanes = self.mask_vector(mask);
                let stored = self.in_memory(stored, elem);
                self.b.scatter(stored, *addresses, memory.align, lanes);
            }
        }
    }

    /// Lanes that all go to one address: what the last of them writes stays.
    fn store_last(&mut self, elem: ir::Type, address: Value, stored: Value, mask: Value) {
        let lane = types::memory(elem);
        for index in 0..self.lanes {
            let (value, active) = (self.b.extract(stored, index), self.b.extract(mask, index));
            let branch = self.b.begin_if(active);
            let value = self.in_memory(value, elem);
            self.b.store(value, address, lane.lane_bytes());
            self.b.end_if(branch, &[]);
        }
    }
}
