//! Facts about kernels that are in the file with their machine code: registers, stack, shared memory.
//!
//! The section `.nv.info` is a list of attributes: a byte for the form, one for the kind, two for a length, then as
//! many bytes, which begin with the number of a symbol.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolIndex};
use std::fmt;

/// The form of an attribute that has a length.
const SIZED: u8 = 4;
/// Kinds of attributes.
const REGISTERS: u8 = 0x2f;
const FRAME: u8 = 0x11;

/// What a kernel needs of the device.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Facts {
    /// The kernel.
    pub name: String,
    /// Registers of a lane.
    pub registers: u32,
    /// Bytes of stack of a lane, where registers that did not suffice went too.
    pub stack: u32,
    /// Bytes of shared memory whose size the code says.
    pub shared: u32,
}

/// A file that is no machine code of this kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CubinError(String);

impl fmt::Display for CubinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no cubin: {}", self.0)
    }
}

impl std::error::Error for CubinError {}

/// The facts of all kernels in a file, in the order of their names.
///
/// # Errors
/// The file is damaged or something else.
pub fn facts(cubin: &[u8]) -> Result<Vec<Facts>, CubinError> {
    let broken = |error: object::Error| CubinError(error.to_string());
    let file = ElfFile64::<object::Endianness>::parse(cubin).map_err(broken)?;
    let mut found: Vec<Facts> = Vec::new();
    for section in file.sections() {
        let name = section.name().map_err(broken)?;
        if let Some(kernel) = name.strip_prefix(".text.") {
            entry(&mut found, kernel);
        }
        if let Some(kernel) = name.strip_prefix(".nv.shared.")
            && !kernel.starts_with("reserved.")
        {
            entry(&mut found, kernel).shared = section.size() as u32;
        }
    }
    let info = file.section_by_name(".nv.info");
    let data = info.map(|section| section.data()).transpose().map_err(broken)?.unwrap_or_default();
    for (kind, symbol, value) in attributes(data) {
        let Ok(symbol) = file.symbol_by_index(SymbolIndex(symbol as usize)) else { continue };
        let name = symbol.name().map_err(broken)?;
        let Some(facts) = found.iter_mut().find(|facts| facts.name == name) else { continue };
        match kind {
            REGISTERS => facts.registers = value,
            FRAME => facts.stack = value,
            _ => {}
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn entry<'a>(found: &'a mut Vec<Facts>, name: &str) -> &'a mut Facts {
    let index = found.iter().position(|facts| facts.name == name).unwrap_or_else(|| {
        found.push(Facts { name: name.to_owned(), ..Facts::default() });
        found.len() - 1
    });
    &mut found[index]
}

/// Kind, symbol and value of the attributes that have all three.
fn attributes(mut data: &[u8]) -> Vec<(u8, u32, u32)> {
    let mut found = Vec::new();
    while let [form, kind, low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        if *form != SIZED {
            data = rest;
            continue;
        }
        let Some(body) = rest.get(..length) else { break };
        if let [a, b, c, d, e, f, g, h, ..] = *body {
            found.push((*kind, u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])));
        }
        data = &rest[length..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{attributes, facts};

    #[test]
    fn damaged_files_are_refused() {
        assert!(facts(b"").is_err());
        assert!(facts(b"\x7fELF and nothing more").is_err());
    }

    #[test]
    fn attributes_are_read() {
        let data =
            [4, 0x2f, 8, 0, 5, 0, 0, 0, 24, 0, 0, 0, 3, 1, 0, 0, 4, 0x11, 8, 0, 5, 0, 0, 0, 16, 0, 0, 0];
        assert_eq!(attributes(&data), [(0x2f, 5, 24), (0x11, 5, 16)]);
        assert_eq!(attributes(&data[..10]), []);
    }
}
