//! Memory: loads, stores, addresses, masked and atomic accesses.

use super::{FunctionBuilder, Values};
use crate::flags::Flags;
use crate::function::{InstData, Memory, Ordering, Payload, Rmw, SyncScope, Value};
use crate::intrinsics;
use crate::rows::Op;
use crate::types::Type;

impl FunctionBuilder<'_> {
    /// A plain load.
    pub fn load(&mut self, ty: Type, pointer: Value, align: u32) -> Value {
        self.load_with(ty, pointer, Memory::aligned(align), Flags::NONE)
    }

    /// A load with all that can be said of it; the flag may be [`Flags::VOLATILE`].
    pub fn load_with(&mut self, ty: Type, pointer: Value, memory: Memory, flags: Flags) -> Value {
        self.emit(InstData::new(Op::LOAD, ty, &[pointer]).with(Payload::Memory(memory)).flagged(flags))
    }

    /// A plain store.
    pub fn store(&mut self, value: Value, pointer: Value, align: u32) {
        self.store_with(value, pointer, Memory::aligned(align), Flags::NONE);
    }

    /// A store with all that can be said of it; the flag may be [`Flags::VOLATILE`].
    pub fn store_with(&mut self, value: Value, pointer: Value, memory: Memory, flags: Flags) {
        let data = InstData::new(Op::STORE, Type::VOID, &[value, pointer]);
        self.emit_void(data.with(Payload::Memory(memory)).flagged(flags));
    }

    /// The address of element `index` of an array of `element`s; a vector of indices or addresses gives a vector.
    pub fn gep(&mut self, element: Type, pointer: Value, index: Value) -> Value {
        self.gep_with(element, pointer, index, Flags::NONE)
    }

    /// The same with flags: [`Flags::INBOUNDS`] where the address stays inside its object.
    pub fn gep_with(&mut self, element: Type, pointer: Value, index: Value, flags: Flags) -> Value {
        let (base, by) = (self.ty(pointer), self.ty(index));
        let ty = if by.is_vector() { base.vector(by.lanes()) } else { base };
        let data = InstData::new(Op::GEP, ty, &[pointer, index]).with(Payload::Element(element, 0));
        self.emit(data.flagged(flags))
    }

    /// The address `bytes` further on.
    pub fn offset(&mut self, pointer: Value, bytes: Value) -> Value {
        self.gep(Type::I8, pointer, bytes)
    }

    /// Lanes of memory where the mask is on, `other` elsewhere; memory of lanes that are off is not touched.
    pub fn masked_load(&mut self, ty: Type, pointer: Value, align: u32, mask: Value, other: Value) -> Value {
        let align = self.i32(align as i32);
        self.intrinsic(&intrinsics::MASKED_LOAD, ty, &[pointer, align, mask, other])
    }

    /// Stores the lanes where the mask is on.
    pub fn masked_store(&mut self, value: Value, pointer: Value, align: u32, mask: Value) {
        let align = self.i32(align as i32);
        self.intrinsic_void(&intrinsics::MASKED_STORE, &[value, pointer, align, mask]);
    }

    /// Loads each lane from its own address where the mask is on, `other` elsewhere.
    pub fn gather(&mut self, ty: Type, pointers: Value, align: u32, mask: Value, other: Value) -> Value {
        let align = self.i32(align as i32);
        self.intrinsic(&intrinsics::MASKED_GATHER, ty, &[pointers, align, mask, other])
    }

    /// Stores each lane to its own address where the mask is on, lower lanes first.
    pub fn scatter(&mut self, value: Value, pointers: Value, align: u32, mask: Value) {
        let align = self.i32(align as i32);
        self.intrinsic_void(&intrinsics::MASKED_SCATTER, &[value, pointers, align, mask]);
    }

    /// Room for one value on the stack of the function. Make it in the entry block.
    pub fn alloca(&mut self, ty: Type, align: u32) -> Value {
        self.emit(InstData::new(Op::ALLOCA, Type::PTR, &[]).with(Payload::Element(ty, align)))
    }

    /// Changes memory in one step and answers what was there before.
    pub fn atomic_rmw(&mut self, rmw: Rmw, pointer: Value, value: Value, ordering: Ordering) -> Value {
        let memory = self.atomic(self.ty(value), ordering);
        self.atomic_rmw_with(rmw, pointer, value, memory)
    }

    /// The same with all that can be said of it.
    pub fn atomic_rmw_with(&mut self, rmw: Rmw, pointer: Value, value: Value, memory: Memory) -> Value {
        let data = InstData::new(Op::ATOMIC_RMW, self.ty(value), &[pointer, value]);
        self.emit(data.with(Payload::Rmw(rmw, memory)))
    }

    /// Stores `new` where memory holds `expected`, in one step; answers what was there before and whether it stored.
    pub fn cmpxchg(
        &mut self,
        pointer: Value,
        expected: Value,
        new: Value,
        ordering: Ordering,
    ) -> (Value, Value) {
        let memory = self.atomic(self.ty(new), ordering);
        self.cmpxchg_with(pointer, expected, new, memory)
    }

    /// The same with all that can be said of it.
    pub fn cmpxchg_with(
        &mut self,
        pointer: Value,
        expected: Value,
        new: Value,
        memory: Memory,
    ) -> (Value, Value) {
        let ty = self.ty(new);
        let data = InstData::new(Op::CMPXCHG, ty.flagged(), &[pointer, expected, new]);
        let pair = self.emit(data.with(Payload::Memory(memory)));
        (self.part(pair, 0), self.part(pair, 1))
    }

    /// Orders memory accesses.
    pub fn fence(&mut self, ordering: Ordering) {
        self.fence_among(ordering, SyncScope::System);
    }

    /// Orders memory accesses among some lanes.
    pub fn fence_among(&mut self, ordering: Ordering, scope: SyncScope) {
        self.emit_void(InstData::new(Op::FENCE, Type::VOID, &[]).with(Payload::Fence(ordering, scope)));
    }

    /// Asks for memory to be brought near: for reading into the nearest cache.
    pub fn prefetch(&mut self, pointer: Value) {
        let (read, near, data) = (self.i32(0), self.i32(3), self.i32(1));
        self.intrinsic_void(&intrinsics::PREFETCH, &[pointer, read, near, data]);
    }

    /// Copies bytes between regions that do not overlap.
    pub fn memcpy(&mut self, to: Value, from: Value, bytes: Value) {
        let volatile = self.bool(false);
        self.intrinsic_void(&intrinsics::MEMCPY, &[to, from, bytes, volatile]);
    }

    /// Fills memory with a byte.
    pub fn memset(&mut self, to: Value, byte: Value, bytes: Value) {
        let volatile = self.bool(false);
        self.intrinsic_void(&intrinsics::MEMSET, &[to, byte, bytes, volatile]);
    }

    /// One part of a structure; a value that is none is its own only part.
    pub fn part(&mut self, structure: Value, index: u32) -> Value {
        if !self.ty(structure).is_structure() {
            return structure;
        }
        let ty = self.ty(structure).part(index).expect("a structure has the part that is read");
        self.emit(InstData::new(Op::EXTRACT_VALUE, ty, &[structure]).with(Payload::Index(index)))
    }

    /// All parts of a structure.
    pub fn parts(&mut self, structure: Value) -> Values {
        (0..self.ty(structure).part_count()).map(|index| self.part(structure, index)).collect()
    }

    fn atomic(&self, ty: Type, ordering: Ordering) -> Memory {
        Memory { ordering: Some(ordering), ..Memory::aligned(ty.lane_bytes()) }
    }
}
