//! Printing and assertions: lanes write records to the log of the launch (`crate::log` has the format).
//!
//! The log is the last parameter of a kernel; without one nothing is written. Texts are constants of the code, so that
//! a code object needs no data beside it.

use crate::log::{HEAD, Kind};
use lanes::{AssertPlace, PrintCall};
use llir::{Flags, FunctionBuilder, IntCompare, Memory, Ordering, Rmw, SyncScope, Type, Value, intrinsics};

/// Prints a line.
pub(super) fn print(b: &mut FunctionBuilder<'_>, call: &PrintCall<'_>) {
    write(b, Kind::Print, call.format, call.args);
}

/// Says which assertion does not hold, and stops the wave.
pub(super) fn assert_fail(b: &mut FunctionBuilder<'_>, place: &AssertPlace<'_>) {
    let AssertPlace { message, file, function, line } = place;
    let text = format!("device-side assertion failed: {message}, at {file}:{line} in {function}");
    write(b, Kind::Assert, &text, &[]);
    b.intrinsic_void(&intrinsics::TRAP, &[]);
}

/// Writes a record, where there is a log with room for it.
fn write(b: &mut FunctionBuilder<'_>, kind: Kind, text: &str, args: &[Value]) {
    let log = b.param(b.func().params.len() - 1);
    let args: Vec<Value> = args.iter().map(|value| word(b, *value)).collect();
    let size = HEAD + 8 * args.len() as u64 + (text.len() as u64).next_multiple_of(8);
    let mut words = Vec::new();
    let head = [size | (kind as u64) << 32, text.len() as u64 | (args.len() as u64) << 32];
    words.extend(head.map(|word| b.i64(word as i64)));
    words.extend(args);
    words.extend(text.as_bytes().chunks(8).map(|part| {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        b.i64(i64::from_le_bytes(bytes))
    }));

    let none = b.zero(Type::pointer(1));
    let is_there = b.icmp(IntCompare::Ne, log, none);
    let there = b.begin_if(is_there);
    let taken = b.i64(size as i64);
    let memory =
        Memory { ordering: Some(Ordering::Monotonic), scope: SyncScope::Agent, ..Memory::aligned(8) };
    let at = b.atomic_rmw_with(Rmw::Add, log, taken, memory);
    let eight = b.i64(8);
    let place_of_size = b.offset(log, eight);
    let room = b.load_with(Type::I64, place_of_size, Memory::aligned(8), Flags::NONE);
    let end = b.add(at, taken);
    let fits = b.icmp(IntCompare::Ule, end, room);
    let fitting = b.begin_if(fits);
    let record = b.offset(log, at);
    for (index, word) in words.into_iter().enumerate() {
        let by = b.i64(8 * index as i64);
        let pointer = b.offset(record, by);
        b.store(word, pointer, 8);
    }
    b.end_if(fitting, &[]);
    b.end_if(there, &[]);
}

/// An argument as 64 bits.
fn word(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let ty = b.ty(value);
    match ty.lane_bits() {
        64 if ty.is_float() => b.bitcast(value, Type::I64),
        64 => value,
        _ => b.resize_unsigned(value, Type::I64),
    }
}
