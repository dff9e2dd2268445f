//! `vprintf`: a format in memory and arguments packed in memory, as C lays them out.

use crate::machine::step::Step;
use crate::syntax::types::Space;
use emulation::printf::{self, LONGEST};
use emulation::{Fault, FaultKind};

/// Reads bytes of the C string at a generic address.
pub(crate) fn text_at(step: &mut Step<'_, '_>, lane: u32, address: u64) -> Result<String, Box<Fault>> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST {
        let mut byte = [0];
        // A format need not end in a zero if its variable ends there.
        if step.load(Space::Generic, address + bytes.len() as u64, lane, &mut byte).is_err()
            && !bytes.is_empty()
        {
            break;
        }
        if byte[0] == 0 {
            break;
        }
        bytes.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Arguments packed one after another, each aligned to its size.
struct Packed<'s, 'a, 'w> {
    step: &'s mut Step<'a, 'w>,
    lane: u32,
    at: u64,
}

impl printf::Arguments for Packed<'_, '_, '_> {
    type Error = Box<Fault>;

    fn next(&mut self, bytes: usize) -> Result<u64, Box<Fault>> {
        self.at = self.at.next_multiple_of(bytes as u64);
        let mut cell = [0; 8];
        self.step.load(Space::Generic, self.at, self.lane, &mut cell[..bytes])?;
        self.at += bytes as u64;
        Ok(u64::from_le_bytes(cell))
    }

    fn text(&mut self, address: u64) -> Result<String, Box<Fault>> {
        text_at(self.step, self.lane, address)
    }

    fn unknown(&mut self, verb: char) -> Box<Fault> {
        let message = format!("the conversion `%{verb}` of printf is unknown");
        self.step.fault(FaultKind::Misuse, self.lane, message)
    }
}

/// The text of a format with its arguments.
pub(crate) fn format(
    step: &mut Step<'_, '_>,
    lane: u32,
    format: u64,
    arguments: u64,
) -> Result<String, Box<Fault>> {
    let text = text_at(step, lane, format)?;
    printf::format(&text, &mut Packed { step, lane, at: arguments })
}
