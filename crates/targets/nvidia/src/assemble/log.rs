//! What an assembler says: the use of registers and memory, and complaints with the lines they are about.

use std::fmt::Write;

/// What a kernel uses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Registers of a lane.
    pub registers: u32,
    /// Bytes of stack of a lane.
    pub stack: u32,
    /// Bytes that are stored because there are too few registers.
    pub spill_stores: u32,
    /// Bytes that are loaded because there are too few registers.
    pub spill_loads: u32,
    /// Bytes of shared memory whose size the text says.
    pub shared: u32,
}

/// Reads what `ptxas -v` writes.
pub(super) fn usage(log: &str) -> Vec<(String, Usage)> {
    let mut found: Vec<(String, Usage)> = Vec::new();
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            let name = rest.split('\'').next().unwrap_or_default();
            found.push((name.to_owned(), Usage::default()));
        }
        let Some((_, usage)) = found.last_mut() else { continue };
        for part in line.split(',') {
            let number = number_before(part);
            if part.contains("bytes stack frame") {
                usage.stack = number;
            } else if part.contains("bytes spill stores") {
                usage.spill_stores = number;
            } else if part.contains("bytes spill loads") {
                usage.spill_loads = number;
            } else if part.contains(" registers") {
                usage.registers = number;
            } else if part.contains("bytes smem") {
                usage.shared = number;
            }
        }
    }
    found
}

/// The last number before the words of a part: `ptxas info : Used 12 registers` has 12.
fn number_before(part: &str) -> u32 {
    part.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0)
}

/// Complaints with the lines of the text that they are about.
pub(crate) fn complaints(log: &str, ptx: &str) -> String {
    let mut text = String::new();
    let lines = log.lines().filter(|line| !line.trim().is_empty() && !line.contains("ptxas info"));
    for line in lines.take(12) {
        _ = writeln!(text, "  {}", line.trim());
        let number = line.split("line ").nth(1).and_then(|rest| {
            rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<usize>().ok())
        });
        if let Some(shown) = number.and_then(|number| ptx.lines().nth(number.checked_sub(1)?)) {
            _ = writeln!(text, "    | {}", shown.trim());
        }
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::{Usage, complaints, usage};

    #[test]
    fn usage_is_read() {
        let log = "ptxas info    : 8 bytes gmem\n\
            ptxas info    : Compiling entry function 'k' for 'sm_90a'\n\
            ptxas info    : Function properties for k\n\
            \x20   16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n\
            ptxas info    : Used 15 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem\n";
        let expected = Usage { registers: 15, stack: 16, spill_stores: 8, spill_loads: 4, shared: 512 };
        assert_eq!(usage(log), [("k".to_owned(), expected)]);
        assert_eq!(usage("nothing"), []);
    }

    #[test]
    fn complaints_show_their_lines() {
        let log = "ptxas /tmp/x.ptx, line 2; error   : Unknown symbol 'y'\nptxas fatal   : Aborted\n";
        let text = complaints(log, "one\n\ttwo y;\nthree\n");
        assert!(text.contains("Unknown symbol 'y'\n    | two y;\n"), "{text}");
    }
}
