//! What compiled kernels and this process agree on: the entry, the launch context, the callbacks.
//!
//! - A run-time parameter has one 8-byte slot; a narrow value is in the low bytes of its slot, the rest is not defined.
//! - Programs are numbered `x + gx * (y + gy * z)`. An entry runs those from `pid_begin` to `pid_end` (excluded), in
//!   order, on the calling thread.
//! - `scratch` is 64-byte aligned, holds [`target::Artifact::shared`] bytes, belongs to the calling thread for the call
//!   and has undefined contents. Where a kernel says that its programs leave notes, those bytes are zero at the first
//!   call of a launch on a thread, and all of the scratch is as it was left at later ones. It is a dangling pointer
//!   when no bytes are asked for.
//! - An entry returns 0, or another number to stop the launch, after it reported why to [`LaunchContext::assert_fail`]
//!   or was told to by [`LaunchContext::poll`].
//! - Neither an entry nor a callback unwinds.

use crate::pool::Watch;
use std::sync::{Mutex, PoisonError};

/// The entry of a compiled kernel.
pub type Entry = unsafe extern "C" fn(
    context: *const LaunchContext,
    args: *const u64,
    pid_begin: u64,
    pid_end: u64,
    scratch: *mut u8,
) -> i32;

/// Prints one operand of `device_print`: `(context, pid, prefix, prefix bytes, format, data, rank, shape)`.
///
/// `format` is made by [`print_format`]; `data` holds the elements; `shape` is the size of each dimension as a `u64`,
/// then the distance in elements between neighbours along each (rank 0 is a scalar). The prefix is printed as it is,
/// with the spaces around it. Nothing is kept after the call.
pub type PrintFn =
    unsafe extern "C" fn(*const LaunchContext, u64, *const u8, u64, u64, *const u8, u64, *const u64);

/// Reports a failed `device_assert`: `(context, pid, message, message bytes)`. The first one wins.
pub type AssertFn = unsafe extern "C" fn(*const LaunchContext, u64, *const u8, u64);

/// Whether the launch is to be given up: any number but 0. Asked by programs that spin.
pub type PollFn = unsafe extern "C" fn(*const LaunchContext) -> i32;

/// What every program of a launch can see. Compiled code reads it at the offsets of [`offsets`].
#[repr(C)]
#[derive(Debug)]
pub struct LaunchContext {
    /// Programs along x, y and z.
    pub grid: [u32; 3],
    /// Nothing.
    pub pad: u32,
    /// Prints.
    pub print: PrintFn,
    /// Reports a failed assertion.
    pub assert_fail: AssertFn,
    /// Says whether the launch is to be given up.
    pub poll: PollFn,
    /// Bytes of the last-level cache that this process may count on: a launch that stores more may store past the
    /// caches.
    pub last_level_cache: u64,
    /// Where the callbacks keep what is reported to them; compiled code leaves it alone.
    pub outcome: *const Outcome,
    /// What [`LaunchContext::poll`] looks at; compiled code leaves it alone.
    pub watch: *const Watch,
}

/// What a launch has reported so far.
#[derive(Debug, Default)]
pub struct Outcome {
    failure: Mutex<Option<String>>,
}

impl Outcome {
    /// Ends the launch; the first reason stays.
    pub(crate) fn stop(&self, reason: impl FnOnce() -> String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = Some(reason());
        }
    }

    /// Why the launch ended early, if it did.
    pub(crate) fn into_failure(self) -> Option<String> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where compiled code finds the fields of [`LaunchContext`].
pub mod offsets {
    use super::LaunchContext;
    use std::mem::offset_of;

    /// `[i32; 3]`.
    pub const GRID: u64 = offset_of!(LaunchContext, grid) as u64;
    /// A [`super::PrintFn`].
    pub const PRINT: u64 = offset_of!(LaunchContext, print) as u64;
    /// An [`super::AssertFn`].
    pub const ASSERT_FAIL: u64 = offset_of!(LaunchContext, assert_fail) as u64;
    /// A [`super::PollFn`].
    pub const POLL: u64 = offset_of!(LaunchContext, poll) as u64;
    /// `i64`.
    pub const LAST_LEVEL_CACHE: u64 = offset_of!(LaunchContext, last_level_cache) as u64;
}

/// How an element that is printed is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PrintKind {
    /// No operand: the prefix alone.
    Nothing = 0,
    /// One byte, 0 or 1.
    Bool = 1,
    /// Signed, 1 byte.
    I8 = 2,
    /// Signed, 2 bytes.
    I16 = 3,
    /// Signed, 4 bytes.
    I32 = 4,
    /// Signed, 8 bytes.
    I64 = 5,
    /// Unsigned, 1 byte.
    U8 = 6,
    /// Unsigned, 2 bytes.
    U16 = 7,
    /// Unsigned, 4 bytes.
    U32 = 8,
    /// Unsigned, 8 bytes.
    U64 = 9,
    /// IEEE binary16.
    F16 = 10,
    /// bfloat16.
    BF16 = 11,
    /// IEEE binary32.
    F32 = 12,
    /// IEEE binary64.
    F64 = 13,
    /// An address, 8 bytes.
    Pointer = 14,
}

/// All kinds, in the order of their codes.
const KINDS: [PrintKind; 15] = [
    PrintKind::Nothing,
    PrintKind::Bool,
    PrintKind::I8,
    PrintKind::I16,
    PrintKind::I32,
    PrintKind::I64,
    PrintKind::U8,
    PrintKind::U16,
    PrintKind::U32,
    PrintKind::U64,
    PrintKind::F16,
    PrintKind::BF16,
    PrintKind::F32,
    PrintKind::F64,
    PrintKind::Pointer,
];

impl PrintKind {
    /// The kind with a code.
    pub(crate) fn from_code(code: u64) -> Option<PrintKind> {
        KINDS.get(usize::try_from(code).ok()?).copied()
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            PrintKind::Nothing => 0,
            PrintKind::Bool | PrintKind::I8 | PrintKind::U8 => 1,
            PrintKind::I16 | PrintKind::U16 | PrintKind::F16 | PrintKind::BF16 => 2,
            PrintKind::I32 | PrintKind::U32 | PrintKind::F32 => 4,
            PrintKind::I64 | PrintKind::U64 | PrintKind::F64 | PrintKind::Pointer => 8,
        }
    }
}

/// Whether numbers are printed in base 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrintBase {
    /// As people write them.
    Decimal,
    /// `0x0000001f`.
    Hex,
}

/// The `format` argument of [`PrintFn`]. `operand` is the number of the operand when there are several.
pub const fn print_format(kind: PrintKind, base: PrintBase, operand: Option<u16>) -> u64 {
    let operand = match operand {
        Some(operand) => (operand as u64 + 1) << 16,
        None => 0,
    };
    kind as u64 | (matches!(base, PrintBase::Hex) as u64) << 8 | operand
}
