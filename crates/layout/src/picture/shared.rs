//! Pictures of layouts of shared memory: the bank of each element, and the elements in each bank.

use super::{Cell, aligned, matrices, position, svg, table};
use crate::dims::Dim;
use crate::linear::LinearLayout;

/// What is known of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Banks.
    pub banks: u32,
    /// Bytes of a bank that one access reads.
    pub bank_bytes: u32,
}

impl Memory {
    /// The bank of an offset in elements.
    pub fn bank(&self, offset: u32) -> u32 {
        let byte = u64::from(offset) * u64::from(self.element_bytes);
        (byte / u64::from(self.bank_bytes.max(1)) % u64::from(self.banks.max(1))) as u32
    }

    /// Elements in a line of all banks.
    fn line(&self) -> u32 {
        (self.banks * self.bank_bytes / self.element_bytes.max(1)).max(1)
    }
}

/// A table of `offset:bank` for each element; then the elements in each line of the banks, offsets going to the right.
pub fn shared_text(layout: &LinearLayout, memory: Memory) -> String {
    let several = layout.ins().bits(Dim::BLOCK) > 0;
    let word = |cell: &Cell| {
        let block = if several { format!("b{} ", cell.block) } else { String::new() };
        let copies = if cell.copies > 0 { "*" } else { "" };
        format!("{block}{}:{}{copies}", cell.offset, memory.bank(cell.offset))
    };
    matrices(layout).iter().map(|matrix| table(matrix, &word)).collect()
}

/// The other direction: a line for each line of the banks, with the positions of the elements at its offsets.
pub fn banks_text(layout: &LinearLayout, memory: Memory) -> String {
    let (line, all) = (memory.line(), 1u32 << layout.ins().bits(Dim::OFFSET));
    let mut lines = Vec::new();
    for start in (0..all).step_by(line as usize) {
        let mut words = vec![format!("{start}:")];
        let offsets = start..(start + line).min(all);
        words.extend(offsets.map(|offset| position(layout, &[(Dim::OFFSET, offset)])));
        lines.push(words);
    }
    aligned(&lines)
}

/// A drawing: one square per element, coloured by bank.
pub fn shared_svg(layout: &LinearLayout, memory: Memory, title: &str) -> String {
    let banks = f64::from(memory.banks.max(1));
    svg::draw(layout, title, |cell| {
        let bank = memory.bank(cell.offset);
        svg::Square {
            fill: format!("hsl({:.0},65%,75%)", 360.0 * f64::from(bank) / banks),
            first: format!("B{bank}"),
            second: cell.offset.to_string(),
        }
    })
}
