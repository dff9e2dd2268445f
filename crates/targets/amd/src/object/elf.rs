//! Pieces of ELF files, as bytes.

/// Numbers of the ELF specification.
pub(super) mod spec {
    pub(crate) const ELFMAG: [u8; 4] = *b"\x7fELF";
    pub(crate) const ELFCLASS64: u8 = 2;
    pub(crate) const ELFDATA2LSB: u8 = 1;
    pub(crate) const ET_DYN: u16 = 3;
    pub(crate) const PT_LOAD: u32 = 1;
    pub(crate) const PT_DYNAMIC: u32 = 2;
    pub(crate) const PT_NOTE: u32 = 4;
    pub(crate) const PT_PHDR: u32 = 6;
    pub(crate) const PF_X: u32 = 1;
    pub(crate) const PF_W: u32 = 2;
    pub(crate) const PF_R: u32 = 4;
    pub(crate) const SHT_PROGBITS: u32 = 1;
    pub(crate) const SHT_STRTAB: u32 = 3;
    pub(crate) const SHT_HASH: u32 = 5;
    pub(crate) const SHT_DYNAMIC: u32 = 6;
    pub(crate) const SHT_NOTE: u32 = 7;
    pub(crate) const SHT_DYNSYM: u32 = 11;
    pub(crate) const SHF_WRITE: u64 = 1;
    pub(crate) const SHF_ALLOC: u64 = 2;
    pub(crate) const SHF_EXECINSTR: u64 = 4;
    pub(crate) const STV_HIDDEN: u8 = 2;
    pub(crate) const DT_NULL: u64 = 0;
    pub(crate) const DT_HASH: u64 = 4;
    pub(crate) const DT_STRTAB: u64 = 5;
    pub(crate) const DT_SYMTAB: u64 = 6;
    pub(crate) const DT_STRSZ: u64 = 10;
    pub(crate) const DT_SYMENT: u64 = 11;
}

/// Bytes that grow.
#[derive(Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn u16(&mut self, value: u16) -> &mut Bytes {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Bytes {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Bytes {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Bytes {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Zeros up to a length.
    pub(super) fn pad_to(&mut self, length: u64) -> &mut Bytes {
        self.0.resize((length as usize).max(self.0.len()), 0);
        self
    }
}

/// Texts behind each other, each with a zero byte; the first one is empty.
pub(super) struct Strings(pub(super) Vec<u8>);

impl Strings {
    pub(super) fn new() -> Strings {
        Strings(vec![0])
    }

    /// Where a text stands.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// A symbol of the linked object.
pub(super) struct Symbol {
    pub(super) name: u32,
    pub(super) info: u8,
    pub(super) other: u8,
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl Symbol {
    /// The one that every table begins with.
    pub(super) const NONE: Symbol = Symbol { name: 0, info: 0, other: 0, section: 0, value: 0, size: 0 };

    pub(super) fn write(&self, out: &mut Bytes) {
        out.u32(self.name).bytes(&[self.info, self.other]).u16(self.section).u64(self.value).u64(self.size);
    }
}

/// The bytes of a table of symbols.
pub(super) const SYMBOL_BYTES: u64 = 24;

/// A segment.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) flags: u32,
    /// Where its bytes stand in the file, and where in memory.
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) align: u64,
}

impl Segment {
    pub(super) fn write(&self, out: &mut Bytes) {
        out.u32(self.kind).u32(self.flags).u64(self.offset).u64(self.address).u64(self.address);
        out.u64(self.bytes).u64(self.bytes).u64(self.align);
    }
}

/// A section.
#[derive(Clone, Copy)]
pub(super) struct Section {
    pub(super) name: u32,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry: u64,
}

impl Section {
    pub(super) const NONE: Section = Section {
        name: 0,
        kind: 0,
        flags: 0,
        address: 0,
        offset: 0,
        bytes: 0,
        link: 0,
        info: 0,
        align: 0,
        entry: 0,
    };

    pub(super) fn write(&self, out: &mut Bytes) {
        out.u32(self.name).u32(self.kind).u64(self.flags).u64(self.address).u64(self.offset);
        out.u64(self.bytes).u32(self.link).u32(self.info).u64(self.align).u64(self.entry);
    }
}

/// The hash of a symbol's name, as the System V ABI has it.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

/// The table by which symbols are found: `names` are those of the symbols behind the first, in order.
pub(super) fn hash_table(names: &[&str]) -> Vec<u8> {
    let (buckets, symbols) = (names.len().max(1) as u32, names.len() as u32 + 1);
    let mut heads = vec![0u32; buckets as usize];
    let mut next = vec![0u32; symbols as usize];
    for (index, name) in names.iter().enumerate() {
        let (symbol, bucket) = (index + 1, (hash(name) % buckets) as usize);
        next[symbol] = heads[bucket];
        heads[bucket] = symbol as u32;
    }
    let mut out = Bytes::default();
    out.u32(buckets).u32(symbols);
    heads.iter().chain(&next).for_each(|word| _ = out.u32(*word));
    out.0
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn hashes_are_those_of_the_abi() {
        assert_eq!((hash(""), hash("printf"), hash("syscall")), (0, 0x077905a6, 0x0b09985c));
    }
}
