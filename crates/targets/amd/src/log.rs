//! What a kernel prints, and why it stopped: records that lanes write to memory that a launch hands in, read when it is
//! over.
//!
//! No call of the host from the kernel takes part. The memory begins with how many bytes are taken, which lanes add to,
//! and with its size; both are `u64`. A record has [`Head`] words of `u64` in front: its bytes with its kind in the
//! upper half, and the bytes of its text with the number of its arguments in the upper half. Arguments follow, 8 bytes
//! each, then the text, padded to 8 bytes. A record that does not fit is not written, and neither are those behind it.

use amd_emulator::printf;
use std::fmt::Write;

/// The bytes that a launch hands in.
pub(crate) const BYTES: usize = 16 << 20;

/// Bytes in front of the first record.
pub(crate) const FIRST: u64 = 16;

/// Bytes in front of a record's arguments.
pub(crate) const HEAD: u64 = 16;

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A format of `printf` with its arguments.
    Print = 0,
    /// Why the kernel stops.
    Assert = 1,
}

/// The memory as a launch hands it in.
pub fn empty() -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    bytes[..8].copy_from_slice(&FIRST.to_le_bytes());
    bytes[8..16].copy_from_slice(&(BYTES as u64).to_le_bytes());
    bytes
}

/// What is in a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// What the kernel prints.
    pub output: String,
    /// Assertions that did not hold.
    pub failures: Vec<String>,
    /// Bytes of records that did not fit.
    pub lost: u64,
}

/// Reads what lanes have written.
pub fn read(bytes: &[u8]) -> Log {
    let mut log = Log::default();
    let taken = word(bytes, 0).unwrap_or(0);
    let end = taken.min(bytes.len() as u64);
    let mut at = FIRST;
    while at < end {
        let Some((record, size)) = record(bytes, at).filter(|(_, size)| *size >= HEAD) else { break };
        match record {
            Record::Print(text) => log.output.push_str(&text),
            Record::Assert(text) => log.failures.push(text),
        }
        at += size;
    }
    log.lost = taken.saturating_sub(at);
    if log.lost > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(log.output, "… and {} bytes more, for which there was no room", log.lost);
    }
    log
}

enum Record {
    Print(String),
    Assert(String),
}

fn word(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The two halves of a word.
fn halves(word: u64) -> (u64, u64) {
    (word & 0xffff_ffff, word >> 32)
}

/// The record at a place, with its bytes; `None` where there is none.
fn record(bytes: &[u8], at: u64) -> Option<(Record, u64)> {
    let (size, kind) = halves(word(bytes, at)?);
    let (length, count) = halves(word(bytes, at + 8)?);
    let mut arguments = Vec::new();
    for index in 0..count {
        arguments.push(word(bytes, at + HEAD + 8 * index)?);
    }
    let start = usize::try_from(at + HEAD + 8 * count).ok()?;
    let text = bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
    let text = String::from_utf8_lossy(text).into_owned();
    let record = match kind {
        kind if kind == Kind::Print as u64 => {
            let mut words = Words(arguments.into_iter());
            Record::Print(
                printf::format(&text, &mut words).unwrap_or_else(|error| format!("{text}: {error}\n")),
            )
        }
        kind if kind == Kind::Assert as u64 => Record::Assert(text),
        _ => return None,
    };
    Some((record, size))
}

/// Arguments of a record.
struct Words(std::vec::IntoIter<u64>);

impl printf::Arguments for Words {
    type Error = String;

    fn next(&mut self, bytes: usize) -> Result<u64, String> {
        let word = self.0.next().ok_or("an argument is missing")?;
        Ok(if bytes < 8 { word & ((1 << (8 * bytes)) - 1) } else { word })
    }

    fn text(&mut self, _address: u64) -> Result<String, String> {
        Err("a string is no argument".into())
    }

    fn unknown(&mut self, verb: char) -> String {
        format!("no conversion is called `{verb}`")
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, HEAD, Kind, Log, empty, read};

    fn put(bytes: &mut [u8], at: u64, words: &[u64]) {
        for (index, word) in words.iter().enumerate() {
            let at = at as usize + 8 * index;
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }

    fn text(text: &str) -> u64 {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn records_are_read_in_order() {
        let mut bytes = empty();
        assert_eq!(read(&bytes), Log::default());
        let sizes = [HEAD + 16, HEAD + 8];
        put(&mut bytes, FIRST, &[sizes[0] | (Kind::Print as u64) << 32, 5 | 1 << 32, 7, text("n %u\n")]);
        put(&mut bytes, FIRST + sizes[0], &[sizes[1] | (Kind::Assert as u64) << 32, 3, text("bad")]);
        put(&mut bytes, 0, &[FIRST + sizes[0] + sizes[1]]);
        let log = read(&bytes);
        assert_eq!((log.output.as_str(), log.failures, log.lost), ("n 7\n", vec!["bad".to_owned()], 0));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut bytes = empty();
        let size = bytes.len() as u64;
        put(&mut bytes, 0, &[size + 100]);
        let log = read(&bytes);
        assert_eq!(log.lost, size + 100 - FIRST);
        assert!(log.output.contains("no room"));
    }

    #[test]
    fn damaged_records_end_the_log() {
        let mut bytes = empty();
        put(&mut bytes, 0, &[FIRST + 64]);
        put(&mut bytes, FIRST, &[64 | 9 << 32, u64::MAX]);
        assert_eq!(read(&bytes).failures, Vec::<String>::new());
        assert_eq!(read(&[]), Log::default());
    }
}
