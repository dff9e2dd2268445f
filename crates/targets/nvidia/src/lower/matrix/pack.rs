//! Registers of 32 bits that hold neighbouring elements, as matrix instructions read them.

use lanes::Cx;
use llir::{Type, Value};
use smallvec::SmallVec;

/// Packs values of 8, 16 or 32 bits into as few 32-bit integers as hold them; 64-bit values stay as they are.
pub(crate) fn pack(cx: &mut Cx<'_>, values: &[Value]) -> SmallVec<[Value; 16]> {
    let Some(first) = values.first() else { return SmallVec::new() };
    let ty = cx.b.ty(*first);
    let bits = ty.lane_bits();
    if bits >= 64 {
        return SmallVec::from_slice(values);
    }
    let each = (32 / bits) as usize;
    values
        .chunks(each)
        .map(|chunk| {
            let word = if each == 1 { chunk[0] } else { cx.b.vector(chunk) };
            if cx.b.ty(word) == Type::I32 { word } else { cx.b.bitcast(word, Type::I32) }
        })
        .collect()
}

/// Sums as an instruction takes them: those of 16 bits packed, others as they are.
pub(crate) fn pack_narrow(cx: &mut Cx<'_>, values: &[Value]) -> SmallVec<[Value; 16]> {
    let wide = values.first().is_none_or(|first| cx.b.ty(*first).lane_bits() >= 32);
    if wide { SmallVec::from_slice(values) } else { pack(cx, values) }
}
