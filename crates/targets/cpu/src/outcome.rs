//! What a launch leaves behind besides memory: printed lines and the first failed assertion.
//!
//! The callbacks that compiled code calls are here. They take nothing on trust but the pointers they are given, never
//! unwind, and write whole lines, so that programs on several threads do not mix theirs.

use crate::abi::{LaunchContext, PrintKind};
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The coordinates of a program.
pub(crate) fn coordinates(grid: [u32; 3], pid: u64) -> [u64; 3] {
    let (x, y) = (u64::from(grid[0]).max(1), u64::from(grid[1]).max(1));
    [pid % x, pid / x % y, pid / x / y]
}

/// [`crate::abi::AssertFn`].
///
/// # Safety
/// The context must be that of the running launch, the message so many readable bytes.
pub(crate) unsafe extern "C" fn assert_fail(
    context: *const LaunchContext,
    pid: u64,
    message: *const u8,
    bytes: u64,
) {
    // SAFETY: promised by the caller.
    let (context, message) = unsafe { (&*context, bytes_at(message, bytes)) };
    let [x, y, z] = coordinates(context.grid, pid);
    let report =
        || format!("device-side assert in program ({x}, {y}, {z}): {}", String::from_utf8_lossy(message));
    // SAFETY: the outcome lives as long as the launch.
    let outcome = unsafe { &*context.outcome };
    let _ = catch_unwind(AssertUnwindSafe(|| outcome.stop(report)));
}

/// [`crate::abi::PollFn`].
///
/// # Safety
/// The context must be that of the running launch.
pub(crate) unsafe extern "C" fn poll(context: *const LaunchContext) -> i32 {
    // SAFETY: promised by the caller; what it leads to lives as long as the launch.
    let watch = unsafe { &*(*context).watch };
    catch_unwind(AssertUnwindSafe(|| watch.wait())).is_ok_and(|is_given_up| is_given_up).into()
}

/// [`crate::abi::PrintFn`].
///
/// # Safety
/// The context must be that of the running launch; the pointers must lead to as much as the other arguments say.
pub(crate) unsafe extern "C" fn print(
    context: *const LaunchContext,
    pid: u64,
    prefix: *const u8,
    prefix_bytes: u64,
    format: u64,
    data: *const u8,
    rank: u64,
    shape: *const u64,
) {
    let write = || {
        let kind = PrintKind::from_code(format & 0xff).expect("compiled code passes a code of the table");
        // SAFETY: promised by the caller.
        let (grid, prefix) = unsafe { ((*context).grid, bytes_at(prefix, prefix_bytes)) };
        let shape: Vec<u64> = match rank {
            0 => Vec::new(),
            // SAFETY: as above.
            _ => unsafe { std::slice::from_raw_parts(shape, 2 * rank as usize) }.to_vec(),
        };
        let (shape, distances) = shape.split_at(rank as usize);
        let last: u64 = shape.iter().zip(distances).map(|(size, distance)| (size - 1) * distance).sum();
        let count = if kind == PrintKind::Nothing { 0 } else { last + 1 };
        // SAFETY: as above.
        let data = unsafe { bytes_at(data, count * kind.bytes() as u64) };
        let record = Record {
            coordinates: coordinates(grid, pid),
            prefix: &String::from_utf8_lossy(prefix),
            kind,
            hex: format >> 8 & 1 == 1,
            operand: (format >> 16 & 0xffff).checked_sub(1),
            data,
            shape,
            distances,
        };
        let text = record.lines();
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    };
    let _ = catch_unwind(AssertUnwindSafe(write));
}

/// Bytes at an address; none where the count is 0, whatever the address.
unsafe fn bytes_at<'a>(start: *const u8, count: u64) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(start, count as usize) }
}

/// One operand of a `device_print`.
struct Record<'a> {
    coordinates: [u64; 3],
    prefix: &'a str,
    kind: PrintKind,
    hex: bool,
    operand: Option<u64>,
    data: &'a [u8],
    shape: &'a [u64],
    /// In elements, between neighbours along each dimension.
    distances: &'a [u64],
}

impl Record<'_> {
    /// `pid (0, 0, 0) idx (3) prefix: 7`, a line per element. The prefix is written as it is, with the spaces it
    /// brings.
    fn lines(&self) -> String {
        let [x, y, z] = self.coordinates;
        let mut text = String::new();
        if self.kind == PrintKind::Nothing {
            let _ = writeln!(text, "pid ({x}, {y}, {z}){}", self.prefix);
            return text;
        }
        let widths: Vec<usize> =
            self.shape.iter().map(|size| size.saturating_sub(1).to_string().len()).collect();
        let mut index = vec![0u64; self.shape.len()];
        let bytes = self.kind.bytes();
        for _ in 0..self.shape.iter().product::<u64>() {
            let offset: u64 = index.iter().zip(self.distances).map(|(at, distance)| at * distance).sum();
            let element = &self.data[offset as usize * bytes..][..bytes];
            let places = index.iter().zip(&widths).map(|(place, width)| format!("{place:width$}"));
            let places = places.collect::<Vec<_>>().join(", ");
            let _ = write!(text, "pid ({x}, {y}, {z}) idx ({places}){}", self.prefix);
            if let Some(operand) = self.operand {
                let _ = write!(text, "(operand {operand}) ");
            }
            let _ = writeln!(text, "{}", self.element(element));
            step(&mut index, self.shape);
        }
        text
    }

    fn element(&self, bytes: &[u8]) -> String {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes.len() as u32;
        let signed = ((bits << unused) as i64) >> unused;
        if self.hex || self.kind == PrintKind::Pointer {
            return format!("0x{bits:0width$x}", width = 2 * bytes.len());
        }
        match self.kind {
            PrintKind::F16 => float(half::f16::from_bits(bits as u16).to_f64()),
            PrintKind::BF16 => float(half::bf16::from_bits(bits as u16).to_f64()),
            PrintKind::F32 => float(f32::from_bits(bits as u32).into()),
            PrintKind::F64 => float(f64::from_bits(bits)),
            PrintKind::I8 | PrintKind::I16 | PrintKind::I32 | PrintKind::I64 => signed.to_string(),
            _ => bits.to_string(),
        }
    }
}

/// A float as C's `%f` writes it.
fn float(value: f64) -> String {
    format!("{value:.6}").to_ascii_lowercase()
}

/// The next index, the last dimension fastest.
fn step(index: &mut [u64], shape: &[u64]) {
    for (place, size) in index.iter_mut().zip(shape).rev() {
        *place += 1;
        if *place < *size {
            return;
        }
        *place = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Outcome;
    use expect_test::expect;

    fn record<'a>(kind: PrintKind, hex: bool, data: &'a [u8], shape: &'a [u64]) -> Record<'a> {
        let distances = if shape.len() == 2 { &[2, 1] } else { &[1][..] };
        Record { coordinates: [1, 2, 0], prefix: " x: ", kind, hex, operand: None, data, shape, distances }
    }

    #[test]
    fn elements_are_printed_one_a_line() {
        let data: Vec<u8> = [-1i32, 7, 300, -2_000_000].iter().flat_map(|x| x.to_le_bytes()).collect();
        expect![[r#"
            pid (1, 2, 0) idx (0, 0) x: -1
            pid (1, 2, 0) idx (0, 1) x: 7
            pid (1, 2, 0) idx (1, 0) x: 300
            pid (1, 2, 0) idx (1, 1) x: -2000000
        "#]]
        .assert_eq(&record(PrintKind::I32, false, &data, &[2, 2]).lines());
        let eleven = record(PrintKind::U8, false, &[9; 11], &[11]).lines();
        assert!(eleven.starts_with("pid (1, 2, 0) idx ( 0) x: 9\n"), "{eleven}");
        let numbers = record(PrintKind::F16, false, &[0x00, 0x3e, 0x00, 0x7c], &[2]).lines();
        assert!(numbers.contains("x: 1.500000\n") && numbers.contains("x: inf\n"), "{numbers}");
        assert!(record(PrintKind::U16, true, &[0xfe, 0x0a], &[]).lines().ends_with("idx () x: 0x0afe\n"));
    }

    #[test]
    fn coordinates_count_x_first() {
        assert_eq!(coordinates([3, 2, 4], 3 * 2 * 3 + 3 + 2), [2, 1, 3]);
    }

    #[test]
    fn the_first_failure_stays() {
        let outcome = Outcome::default();
        outcome.stop(|| "first".into());
        outcome.stop(|| "second".into());
        assert_eq!(outcome.into_failure().as_deref(), Some("first"));
    }
}
