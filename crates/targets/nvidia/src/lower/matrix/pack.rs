//! Registers of 32 bits that hold neighbouring elements, as matrix instructions read them.

use llir::{FunctionBuilder, Type, Value};
use smallvec::SmallVec;

/// Packs values of 8, 16 or 32 bits into as few 32-bit integers as hold them; 64-bit values stay as they are.
pub(crate) fn pack(b: &mut FunctionBuilder<'_>, values: &[Value]) -> SmallVec<[Value; 16]> {
    let Some(first) = values.first() else { return SmallVec::new() };
    let ty = b.ty(*first);
    let bits = ty.lane_bits();
    if bits >= 64 {
        return SmallVec::from_slice(values);
    }
    let each = (32 / bits) as usize;
    values
        .chunks(each)
        .map(|chunk| {
            let word = if each == 1 { chunk[0] } else { b.vector(chunk) };
            if b.ty(word) == Type::I32 { word } else { b.bitcast(word, Type::I32) }
        })
        .collect()
}

/// Sums as an instruction takes them: those of 16 bits packed, others as they are.
pub(crate) fn pack_narrow(b: &mut FunctionBuilder<'_>, values: &[Value]) -> SmallVec<[Value; 16]> {
    let wide = values.first().is_none_or(|first| b.ty(*first).lane_bits() >= 32);
    if wide { SmallVec::from_slice(values) } else { pack(b, values) }
}
