//! Masks of stores that LLVM must not see through.
//!
//! With AVX-512, LLVM makes one instruction of a truncation and the masked store of its result. Where the mask is a
//! constant with one lane, it then stores that lane alone, but as wide as it was before it was truncated: the memory
//! behind the element is overwritten (seen with LLVM 22). A mask that goes through a register by an
//! empty piece of assembly is no constant. `tests/python/test_masked_stores.py` stores one lane of each width.

use super::chunk::Chunks;
use llir::{Asm, Type, Value};

/// The fewest lanes of a mask register that assembly takes.
const LEAST_LANES: u32 = 8;

impl Chunks<'_, '_> {
    /// The mask for a store of elements of this type in memory.
    pub(crate) fn store_mask(&mut self, mask: Value, lane: Type) -> Value {
        if !self.machine.has_avx512 || lane.is_float() || lane.lane_bytes() > 4 || self.lanes < 2 {
            return mask;
        }
        let wide = self.lanes.max(LEAST_LANES);
        let given = self.b.ty(mask);
        let (ty, off) = (given.vector(wide), self.b.zero(given));
        let lanes: Vec<i32> = (0..wide).map(|lane| lane.min(self.lanes) as i32).collect();
        let widened = self.b.shuffle(mask, off, &lanes);
        let kept =
            self.b.inline_asm(Asm::pure("", "=k,0"), ty, &[widened]).expect("the assembly has a result");
        let lanes: Vec<i32> = (0..self.lanes as i32).collect();
        self.b.shuffle(kept, kept, &lanes)
    }
}
