//! Accesses to memory: matrices by rows and columns, addresses that a loop moves on, and a buffer that is both written
//! and read.

use super::{Maker, input, stored};
use crate::ops::{
    arith_cast, arith_int, atomic, compare, constant, control, descriptor, memory, shape as ops,
};
use crate::types::{elem, is_tensor, numel, ptr, shape, tensor};
use ir::{Attr, OpInit, Type, Value};
use smallvec::SmallVec;

/// Elements of the buffer that each program writes and reads.
pub(super) const SCRATCH: i64 = 256;

impl Maker {
    pub(super) fn random_access(&mut self) {
        match self.random.below(13) {
            11 | 12 => self.random_atomic(),
            0 => self.scalar_load(),
            1 => self.indexed_load(),
            2 | 3 => self.matrix_load(),
            4 => self.moving_load(),
            5 | 6 => self.scratch_store(),
            7 => self.descriptor_load(),
            8 => self.descriptor_store(),
            9 if self.profile.combine => self.packing_store(),
            _ => self.scratch_load(),
        }
    }

    fn random_input(&mut self) -> (Value, Type) {
        let input = self.random.below(self.inputs.len() as u64) as usize;
        (self.inputs[input].pointer, self.inputs[input].elem)
    }

    fn scalar_load(&mut self) {
        let (pointer, elem) = self.random_input();
        let offset = self.random.below(input::LENGTH as u64) as i64;
        let offset = self.constant(Type::int(32), offset);
        let pointer = self.build(&memory::ADDPTR, &[pointer, offset], &[]);
        let loaded = self.build(&memory::LOAD, &[pointer], &[]);
        self.learn_loaded(loaded, elem, &[]);
    }

    /// Pointers to the elements of a buffer at these offsets.
    pub(super) fn pointers_at(&mut self, base: Value, offsets: Value) -> Value {
        let ty = tensor(shape(self.ty(offsets)), self.ty(base));
        let bases = self.build_as(&ops::SPLAT, &[base], &[], ty);
        self.build(&memory::ADDPTR, &[bases, offsets], &[])
    }

    pub(super) fn cut(&mut self, indices: Value, below: i64) -> Value {
        let mask = self.constant(self.ty(indices), below - 1);
        self.build(&arith_int::ANDI, &[indices, mask], &[])
    }

    /// A gather from memory, without a mask: indices are cut to the length.
    fn indexed_load(&mut self) {
        let Some(indices) = self.pick(|ty| is_tensor(ty) && matches!(elem(ty).as_int(), Some(32 | 64)))
        else {
            return;
        };
        let dims = shape(self.ty(indices));
        let inside = self.cut(indices, 512);
        let (pointer, elem) = self.random_input();
        let pointers = self.pointers_at(pointer, inside);
        if self.random.one_in(4) && elem.as_int() == Some(32) {
            return self.atomic_read(pointers);
        }
        let loaded = self.build(&memory::LOAD, &[pointers], &[]);
        self.learn_loaded(loaded, elem, dims);
    }

    /// An atomic that changes nothing, so that the order of programs does not matter.
    fn atomic_read(&mut self, pointers: Value) {
        let ty = tensor(shape(self.ty(pointers)), Type::int(32));
        let zero = self.constant(ty, 0);
        let attrs = [
            Attr::Enum { row: &atomic::RMW, value: 4 },
            Attr::Enum { row: &atomic::SEM, value: 1 },
            Attr::Enum { row: &atomic::SCOPE, value: 1 },
        ];
        let value = self.build(&atomic::ATOMIC_RMW, &[pointers, zero], &attrs.map(Some));
        self.learn(value);
    }

    pub(super) fn range(&mut self, count: i64) -> Value {
        let attrs = [Some(Attr::i32(count as i32)), Some(Attr::i32(0))];
        self.build(&ops::MAKE_RANGE, &[], &attrs)
    }

    /// `range` along one dimension of a matrix, times a stride.
    fn along(&mut self, dims: &[i64], dim: usize, stride: i64) -> Value {
        let range = self.range(dims[dim]);
        let line = self.build(&ops::EXPAND_DIMS, &[range], &[Some(Attr::i32(1 - dim as i32))]);
        let stride = self.constant(self.ty(line), stride);
        let scaled = self.build(&arith_int::MULI, &[line, stride], &[]);
        self.build_as(&ops::BROADCAST, &[scaled], &[], tensor(dims, Type::int(32)))
    }

    fn less(&mut self, left: Value, limit: i64) -> Value {
        let limit = self.constant(self.ty(left), limit);
        let predicate = Attr::Enum { row: &compare::CMPI_PREDICATE, value: 2 };
        self.build(&compare::CMPI, &[left, limit], &[Some(predicate)])
    }

    /// A matrix by rows or columns, with bounds along both dimensions.
    pub(super) fn matrix_load(&mut self) {
        let dims = self.shapes[1].clone();
        let extra = self.random.below(3) as i64;
        let by_columns = self.random.one_in(3);
        let strides = if by_columns { [1, dims[0] + extra] } else { [dims[1] + extra, 1] };
        let [rows, columns] = [0, 1].map(|dim| self.along(&dims, dim, strides[dim]));
        let mut offsets = self.build(&arith_int::ADDI, &[rows, columns], &[]);
        if let Some(shift) = self.pick_of(Type::int(32)).filter(|_| self.random.one_in(2)) {
            let shift = self.cut(shift, 16);
            let shift = self.build_as(&ops::SPLAT, &[shift], &[], tensor(&dims, Type::int(32)));
            offsets = self.build(&arith_int::ADDI, &[offsets, shift], &[]);
        }
        let mut mask = self.less(offsets, input::LENGTH as i64);
        for (dim, part) in [rows, columns].into_iter().enumerate() {
            if self.random.one_in(2) {
                let bound = self.random.below(dims[dim] as u64 + 1) as i64;
                let inside = self.less(part, bound * strides[dim]);
                mask = self.build(&arith_int::ANDI, &[mask, inside], &[]);
            }
        }
        let (pointer, elem) = self.random_input();
        let pointers = self.pointers_at(pointer, offsets);
        let other = self.constant(tensor(&dims, stored(elem)), 0);
        let loaded = self.build(&memory::LOAD, &[pointers, mask, other], &[]);
        self.learn_loaded(loaded, elem, &dims);
    }

    /// A loop that carries addresses and combines what it loads, as the loop of a product of matrices does.
    fn moving_load(&mut self) {
        let count = self.shapes[0][0].min(128);
        let (pointer, elem) = self.random_input();
        let offsets = self.range(count);
        let pointers = self.pointers_at(pointer, offsets);
        let [zero, one, trips] = [0, 1, 4].map(|value| self.constant(Type::int(32), value));
        let sum = self.constant(tensor(&[count], Type::int(32)), 0);
        let types = [Type::int(32), self.ty(pointers), self.ty(sum)];
        let init = OpInit {
            operands: SmallVec::from_slice(&[zero, trips, one, pointers, sum]),
            results: SmallVec::from_slice(&types[1..]),
            attrs: SmallVec::new(),
            regions: 1,
        };
        let op = self.builder().insert(&control::FOR, init);
        let (block, args) = self.block_with(op, 0, &types);
        let step = self.random.of(&[1, 16, 37, 128, 200]);
        self.inside(block, |maker| {
            // 4 steps of up to 200, and a block of up to 128, stay inside.
            let loaded = maker.build(&memory::LOAD, &[args[1]], &[]);
            let as_int = maker.as_i32(loaded, elem);
            let next_sum = maker.build(&arith_int::ADDI, &[args[2], as_int], &[]);
            let steps = maker.constant(tensor(&[count], Type::int(32)), step);
            let moved = maker.build(&memory::ADDPTR, &[args[1], steps], &[]);
            maker.terminate(&control::YIELD, &[moved, next_sum]);
        });
        let result = self.module.result(op, 1);
        self.learn(result);
    }

    /// Something of 32 bits that depends on every element: integers as they are, floats by a comparison.
    fn as_i32(&mut self, value: Value, elem: Type) -> Value {
        use arith_cast::{EXTSI, EXTUI, TRUNCI};
        let ty = tensor(shape(self.ty(value)), Type::int(32));
        match stored(elem).as_int() {
            Some(32) => value,
            Some(bits) if bits < 32 => self.build_as(&EXTSI, &[value], &[], ty),
            Some(_) => self.build_as(&TRUNCI, &[value], &[], ty),
            None if !super::is_computed(elem) => {
                let bytes =
                    self.build_as(&arith_cast::BITCAST, &[value], &[], tensor(shape(ty), Type::int(8)));
                self.build_as(&EXTUI, &[bytes], &[], ty)
            }
            None => {
                let ty_of_value = self.ty(value);
                let half = constant::float(&mut self.builder(), ty_of_value, 0.5);
                let predicate = Attr::Enum { row: &compare::CMPF_PREDICATE, value: 2 };
                let more = self.build(&compare::CMPF, &[value, half], &[Some(predicate)]);
                self.build_as(&EXTUI, &[more], &[], ty)
            }
        }
    }

    /// This program's part of the buffer that is written and read.
    fn scratch_part(&mut self) -> Value {
        let axis = Attr::Enum { row: &crate::ops::program::AXIS, value: 0 };
        let pid = self.build(&crate::ops::program::GET_PROGRAM_ID, &[], &[Some(axis)]);
        let size = self.constant(Type::int(32), SCRATCH);
        let start = self.build(&arith_int::MULI, &[pid, size], &[]);
        self.build(&memory::ADDPTR, &[self.scratch, start], &[])
    }

    /// Stores a block, in order or permuted, all of it or where some condition holds.
    fn scratch_store(&mut self) {
        let i32 = Type::int(32);
        let Some(mut value) = self.pick(|ty| elem(ty) == i32 && numel(ty) <= SCRATCH) else { return };
        let base = self.scratch_part();
        let ty = self.ty(value);
        if !is_tensor(ty) {
            self.builder().build_effect(&memory::STORE, &[base, value], &[]);
            return;
        }
        let flat = tensor(&[numel(ty)], i32);
        if ty != flat {
            value = self.build_as(&ops::RESHAPE, &[value], &[], flat);
        }
        let range = self.range(numel(ty));
        let flip = self.random.below(numel(ty) as u64) as i64;
        let flip = self.constant(flat, flip);
        let offsets =
            if self.random.one_in(2) { range } else { self.build(&arith_int::XORI, &[range, flip], &[]) };
        let pointers = self.pointers_at(base, offsets);
        let mut operands = vec![pointers, value];
        let condition = tensor(&[numel(ty)], Type::int(1));
        operands.extend(self.pick_of(condition).filter(|_| self.random.one_in(2)));
        self.builder().build_effect(&memory::STORE, &operands, &[]);
    }

    /// Stores the elements of a line for which some condition holds, one behind the other: places are running sums.
    fn packing_store(&mut self) {
        let i32 = Type::int(32);
        let is_line =
            |ty: Type| is_tensor(ty) && elem(ty) == i32 && shape(ty).len() == 1 && numel(ty) <= SCRATCH;
        let Some(value) = self.pick(is_line) else { return };
        let ty = self.ty(value);
        let kept = self.operand(tensor(&[numel(ty)], Type::int(1)));
        let ones = self.build_as(&arith_cast::EXTUI, &[kept], &[], ty);
        let Some(counts) = self.running_sum(ones) else { return };
        let one = self.constant(ty, 1);
        let places = self.build(&arith_int::SUBI, &[counts, one], &[]);
        let places = self.cut(places, SCRATCH);
        let base = self.scratch_part();
        let pointers = self.pointers_at(base, places);
        self.builder().build_effect(&memory::STORE, &[pointers, value, kept], &[]);
    }

    /// A descriptor of a matrix in memory.
    fn descriptor(&mut self, base: Value, sizes: [i64; 2], stride: i64, block: &[i64]) -> Value {
        let [rows, columns] = sizes.map(|size| self.constant(Type::int(32), size));
        let [stride, one] = [stride, 1].map(|stride| self.constant(Type::int(64), stride));
        let elem = crate::types::pointee(self.ty(base)).unwrap_or(Type::int(32));
        let padding = Attr::Enum { row: &descriptor::PADDING, value: self.random.below(2) as u32 + 1 };
        let operands = [base, rows, columns, stride, one];
        self.build_as(&descriptor::MAKE, &operands, &[Some(padding)], crate::types::tensordesc(block, elem))
    }

    /// Where a block begins: inside or outside, in front or behind.
    fn corner(&mut self) -> [Value; 2] {
        [0, 1].map(|_| {
            let at = self.random.below(24) as i64 - 8;
            self.constant(Type::int(32), at)
        })
    }

    fn descriptor_load(&mut self) {
        let (pointer, elem) = self.random_input();
        let dims = self.shapes[1].clone();
        let (rows, columns) = (self.random.below(8) as i64 + 1, self.random.below(60) as i64 + 1);
        let descriptor = self.descriptor(pointer, [rows, columns], columns + 3, &dims);
        let [row, column] = self.corner();
        let block = descriptor::block_type(self.module.ty(descriptor));
        let loaded = self.build_as(&descriptor::LOAD, &[descriptor, row, column], &[], block);
        self.learn_loaded(loaded, elem, &dims);
    }

    fn descriptor_store(&mut self) {
        let dims = self.shapes[1].clone();
        let Some(value) = self.pick_of(tensor(&dims, Type::int(32))) else { return };
        let base = self.scratch_part();
        let descriptor = self.descriptor(base, [16, 16], 16, &dims);
        let [row, column] = self.corner();
        self.builder().build_effect(&descriptor::STORE, &[descriptor, row, column, value], &[]);
    }

    fn scratch_load(&mut self) {
        let Some(indices) = self.pick(|ty| elem(ty).as_int() == Some(32)) else { return };
        let inside = self.cut(indices, SCRATCH);
        let base = self.scratch_part();
        let pointers = match shape(self.ty(inside)) {
            [] => self.build(&memory::ADDPTR, &[base, inside], &[]),
            _ => self.pointers_at(base, inside),
        };
        let loaded = self.build(&memory::LOAD, &[pointers], &[]);
        self.learn(loaded);
    }
}

/// The type of the pointer to the buffer that is written and read.
pub(super) fn scratch_pointer() -> Type {
    ptr(Type::int(32))
}
