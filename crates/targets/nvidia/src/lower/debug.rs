//! Printing and assertions through the functions that the driver links in.

use crate::intrinsics;
use lanes::{AssertPlace, PrintCall};
use llir::{FunctionBuilder, Purity, Type, Value};

/// Text with a zero byte at its end, by its address.
fn text(b: &mut FunctionBuilder<'_>, text: &str) -> Value {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let symbol = b.module().add_bytes(&bytes);
    b.symbol(&symbol)
}

/// Prints: the arguments lie in memory of the lane, each at a multiple of its size.
pub(super) fn print(b: &mut FunctionBuilder<'_>, call: &PrintCall<'_>) {
    let format = text(b, call.format);
    let mut at = 0u32;
    let mut places = Vec::new();
    for value in call.args {
        let bytes = b.ty(*value).lane_bytes();
        at = at.next_multiple_of(bytes);
        places.push((*value, at, bytes));
        at += bytes;
    }
    let buffer =
        if places.is_empty() { b.zero(Type::PTR) } else { b.alloca(Type::I64.vector(at.div_ceil(8)), 8) };
    for (value, at, bytes) in places {
        let by = b.i64(i64::from(at));
        let pointer = b.offset(buffer, by);
        b.store(value, pointer, bytes);
    }
    b.call_symbol("vprintf", Type::I32, &[format, buffer], Purity::Impure);
}

/// Reports the place and stops.
pub(super) fn assert_fail(b: &mut FunctionBuilder<'_>, place: &AssertPlace<'_>) {
    let [message, file, function] = [place.message, place.file, place.function].map(|part| text(b, part));
    let (line, size) = (b.i32(place.line as i32), b.i64(1));
    b.call_symbol("__assertfail", Type::VOID, &[message, file, line, function, size], Purity::Impure);
    // It does not come back, which the assembler does not know: without an end it keeps registers over the call.
    b.intrinsic_void(&intrinsics::EXIT, &[]);
}
