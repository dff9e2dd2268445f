//! Links the relocatable object of one kernel to a code object, which the runtime loads as a shared library.
//!
//! The object has code, constants with the descriptors of kernels, and a note; descriptors say how far away their code
//! is, and code how far away constants are. There are three loaded segments: what is read (headers, note, symbols,
//! constants), code, and the dynamic table. Left out: line tables, several objects, symbols from elsewhere, data that
//! is written.

use super::ObjectError;
use super::elf::spec;
use super::elf::{Bytes, SYMBOL_BYTES, Section, Segment, Strings, Symbol, hash_table};
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SectionKind, SymbolFlags, SymbolSection,
};
use std::collections::BTreeMap;

/// Segments begin at such multiples.
const PAGE: u64 = 0x1000;
const HEADER: u64 = 64;
const SEGMENT: u64 = 56;
/// Read, code, dynamic table, and the two that say where the dynamic table and the note are, and the one of the headers
/// themselves.
const SEGMENTS: u64 = 6;

/// Relocations of the architecture, by their numbers in the ABI.
mod relocation {
    /// The distance, 32 bits.
    pub(super) const REL32: u32 = 4;
    /// The distance, 64 bits.
    pub(super) const REL64: u32 = 5;
    /// The low half of the distance.
    pub(super) const REL32_LO: u32 = 10;
    /// The high half of the distance.
    pub(super) const REL32_HI: u32 = 11;
}

type File<'a> = ElfFile64<'a, Endianness>;

/// A section of the object with its place in the result.
struct Placed {
    index: SectionIndex,
    name: String,
    kind: u32,
    flags: u64,
    align: u64,
    address: u64,
    offset: u64,
    data: Vec<u8>,
}

/// Links an object.
///
/// # Errors
/// What the object has that is not understood.
pub fn link(object: &[u8]) -> Result<Vec<u8>, ObjectError> {
    let file = File::parse(object)?;
    let mut placed = sections(&file)?;
    let symbols = symbols(&file)?;
    let mut layout = Layout::new(&mut placed, &symbols);
    relocate(&file, &mut placed)?;
    layout.finish(&placed, &symbols);
    Ok(layout.write(&file, &placed))
}

/// The sections that are loaded, those that are read first.
fn sections(file: &File<'_>) -> Result<Vec<Placed>, ObjectError> {
    let mut found = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        let sh_flags = sh_flags.0;
        let (is_loaded, size) = (sh_flags & spec::SHF_ALLOC != 0, section.size());
        if !is_loaded || size == 0 {
            continue;
        }
        let name = section.name()?.to_owned();
        if sh_flags & spec::SHF_WRITE != 0 {
            return Err(ObjectError(format!(
                "section `{name}` is written to, which kernels have no use for"
            )));
        }
        let kind = if section.kind() == SectionKind::Note { spec::SHT_NOTE } else { spec::SHT_PROGBITS };
        let data = section.data()?.to_vec();
        let (index, align) = (section.index(), section.align().max(1));
        found.push(Placed { index, name, kind, flags: sh_flags, align, address: 0, offset: 0, data });
    }
    found.sort_by_key(|section| (is_code(section), section.kind != spec::SHT_NOTE));
    Ok(found)
}

fn is_code(section: &Placed) -> bool {
    section.flags & spec::SHF_EXECINSTR != 0
}

/// A symbol that others may ask for.
struct Exported {
    name: String,
    section: SectionIndex,
    value: u64,
    size: u64,
    info: u8,
    other: u8,
}

/// The symbols that are seen from outside.
fn symbols(file: &File<'_>) -> Result<Vec<Exported>, ObjectError> {
    let mut found = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.is_global()) {
        let name = symbol.name()?.to_owned();
        let (SymbolSection::Section(section), SymbolFlags::Elf { st_info, st_other, .. }) =
            (symbol.section(), symbol.flags())
        else {
            // Numbers, such as how many registers a module takes, and memory whose size the launch says, have no place.
            if symbol.section() == SymbolSection::Undefined {
                return Err(ObjectError(format!("it needs `{name}` from elsewhere")));
            }
            continue;
        };
        let (st_info, st_other) = (st_info.0, st_other.0);
        if st_other & 3 == spec::STV_HIDDEN {
            continue;
        }
        let (value, size) = (symbol.address(), symbol.size());
        found.push(Exported { name, section, value, size, info: st_info, other: st_other });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Where everything stands.
struct Layout {
    /// Tables that a loader reads: symbols, hashes, names, and the dynamic table.
    dynsym: (u64, Vec<u8>),
    hash: (u64, Vec<u8>),
    dynstr: (u64, Vec<u8>),
    dynamic: (u64, u64, Vec<u8>),
    names: BTreeMap<String, u32>,
    /// The end of what is only read.
    read_end: u64,
    code: (u64, u64, u64),
}

fn align(value: u64, to: u64) -> u64 {
    value.next_multiple_of(to.max(1))
}

impl Layout {
    /// Gives every section and table its place.
    fn new(placed: &mut [Placed], symbols: &[Exported]) -> Layout {
        let mut at = HEADER + SEGMENTS * SEGMENT;
        let mut strings = Strings::new();
        let names: BTreeMap<String, u32> =
            symbols.iter().map(|symbol| (symbol.name.clone(), strings.add(&symbol.name))).collect();
        let list: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        let table = |bytes: Vec<u8>, to: u64, at: &mut u64| {
            *at = align(*at, to);
            let start = *at;
            *at += bytes.len() as u64;
            (start, bytes)
        };
        // The note comes first, so that it stands near the head of the file.
        for section in placed.iter_mut().filter(|section| section.kind == spec::SHT_NOTE) {
            place(section, &mut at, 0);
        }
        let dynsym = table(vec![0; (symbols.len() + 1) * SYMBOL_BYTES as usize], 8, &mut at);
        let hash = table(hash_table(&list), 8, &mut at);
        let dynstr = table(strings.0, 1, &mut at);
        for section in placed.iter_mut().filter(|section| section.kind != spec::SHT_NOTE && !is_code(section))
        {
            place(section, &mut at, 0);
        }
        let read_end = at;
        let code_start = align(at, 256);
        at = code_start;
        for section in placed.iter_mut().filter(|section| is_code(section)) {
            place(section, &mut at, PAGE);
        }
        let code = (code_start, code_start + PAGE, at - code_start);
        at = align(at, 8);
        let dynamic = (at, at + 2 * PAGE, Vec::new());
        Layout { dynsym, hash, dynstr, dynamic, names, read_end, code }
    }

    /// Fills in the tables whose content depends on places.
    fn finish(&mut self, placed: &[Placed], symbols: &[Exported]) {
        let mut table = Bytes::default();
        Symbol::NONE.write(&mut table);
        for symbol in symbols {
            let position = placed.iter().position(|section| section.index == symbol.section);
            let address = position.map_or(0, |position| placed[position].address);
            let section = position.map_or(0, |position| FIRST_OWN + position as u16);
            let Exported { value, size, info, other, .. } = *symbol;
            let name = self.names[&symbol.name];
            Symbol { name, info, other, section, value: address + value, size }.write(&mut table);
        }
        self.dynsym.1 = table.0;
        let mut dynamic = Bytes::default();
        for (tag, value) in [
            (spec::DT_SYMTAB, self.dynsym.0),
            (spec::DT_SYMENT, SYMBOL_BYTES),
            (spec::DT_STRTAB, self.dynstr.0),
            (spec::DT_STRSZ, self.dynstr.1.len() as u64),
            (spec::DT_HASH, self.hash.0),
            (spec::DT_NULL, 0),
        ] {
            dynamic.u64(tag).u64(value);
        }
        self.dynamic.2 = dynamic.0;
    }

    fn segments(&self, placed: &[Placed]) -> Vec<Segment> {
        let headers = SEGMENTS * SEGMENT;
        let plain = |kind, flags, offset, address, bytes, align| Segment {
            kind,
            flags,
            offset,
            address,
            bytes,
            align,
        };
        let (read, write, execute) = (spec::PF_R, spec::PF_W, spec::PF_X);
        let (at, address, ref bytes) = self.dynamic;
        let length = bytes.len() as u64;
        let note = placed.iter().find(|section| section.kind == spec::SHT_NOTE);
        let (note_at, note_bytes) = note.map_or((0, 0), |note| (note.offset, note.data.len() as u64));
        vec![
            plain(spec::PT_PHDR, read, HEADER, HEADER, headers, 8),
            plain(spec::PT_LOAD, read, 0, 0, self.read_end, PAGE),
            plain(spec::PT_LOAD, read | execute, self.code.0, self.code.1, self.code.2, PAGE),
            plain(spec::PT_LOAD, read | write, at, address, length, PAGE),
            plain(spec::PT_DYNAMIC, read | write, at, address, length, 8),
            plain(spec::PT_NOTE, read, note_at, note_at, note_bytes, 4),
        ]
    }

    /// The sections, and their names.
    fn sections(&self, placed: &[Placed]) -> (Vec<Section>, Strings) {
        let mut names = Strings::new();
        let alloc = spec::SHF_ALLOC;
        let mut table = |name, kind, (offset, bytes): (u64, u64), align, entry, link, info| Section {
            name: names.add(name),
            kind,
            flags: alloc,
            address: offset,
            offset,
            bytes,
            link,
            info,
            align,
            entry,
        };
        let place = |table: &(u64, Vec<u8>)| (table.0, table.1.len() as u64);
        let mut sections = vec![
            Section::NONE,
            table(".dynsym", spec::SHT_DYNSYM, place(&self.dynsym), 8, SYMBOL_BYTES, 3, 1),
            table(".hash", spec::SHT_HASH, place(&self.hash), 8, 4, 1, 0),
            table(".dynstr", spec::SHT_STRTAB, place(&self.dynstr), 1, 0, 0, 0),
        ];
        let (at, address, ref bytes) = self.dynamic;
        let dynamic = table(".dynamic", spec::SHT_DYNAMIC, (at, bytes.len() as u64), 8, 16, 3, 0);
        let flags = alloc | spec::SHF_WRITE;
        sections.push(Section { address, flags, ..dynamic });
        for section in placed {
            sections.push(Section {
                name: names.add(&section.name),
                kind: section.kind,
                flags: section.flags & (alloc | spec::SHF_EXECINSTR),
                address: section.address,
                offset: section.offset,
                bytes: section.data.len() as u64,
                align: section.align,
                ..Section::NONE
            });
        }
        (sections, names)
    }

    fn write(&self, file: &File<'_>, placed: &[Placed]) -> Vec<u8> {
        let (mut sections, mut names) = self.sections(placed);
        let name = names.add(".shstrtab");
        let names_at = self.dynamic.0 + self.dynamic.2.len() as u64;
        let bytes = names.0.len() as u64;
        let table =
            Section { name, kind: spec::SHT_STRTAB, offset: names_at, bytes, align: 1, ..Section::NONE };
        sections.push(table);
        let sections_at = align(names_at + bytes, 8);
        let mut out = Bytes::default();
        write_header(&mut out, file, sections_at, sections.len() as u16);
        self.segments(placed).iter().for_each(|segment| segment.write(&mut out));
        let mut pieces: Vec<(u64, &[u8])> =
            placed.iter().map(|section| (section.offset, &section.data[..])).collect();
        let tables = [&self.dynsym, &self.hash, &self.dynstr];
        pieces.extend(tables.map(|(at, bytes)| (*at, &bytes[..])));
        pieces.extend([(self.dynamic.0, &self.dynamic.2[..]), (names_at, &names.0[..])]);
        pieces.sort_by_key(|piece| piece.0);
        for (at, bytes) in pieces {
            out.pad_to(at).bytes(bytes);
        }
        out.pad_to(sections_at);
        sections.iter().for_each(|section| section.write(&mut out));
        out.0
    }
}

/// The number of the first section that comes from the object: behind nothing, the three tables and the dynamic one.
const FIRST_OWN: u16 = 5;

/// Puts a section at the next place that it may stand at; memory is so many bytes further on than the file.
fn place(section: &mut Placed, at: &mut u64, further: u64) {
    *at = align(*at, section.align);
    section.offset = *at;
    section.address = *at + further;
    *at += section.data.len() as u64;
}

/// Writes distances where the object asks for them.
fn relocate(file: &File<'_>, placed: &mut [Placed]) -> Result<(), ObjectError> {
    let address_of = |placed: &[Placed], target: RelocationTarget| -> Result<u64, ObjectError> {
        let RelocationTarget::Symbol(index) = target else {
            return Err(ObjectError("a relocation without a symbol".into()));
        };
        let symbol = file.symbol_by_index(index)?;
        let section = symbol.section_index().and_then(|index| placed.iter().find(|one| one.index == index));
        let name = symbol.name().unwrap_or("?");
        let section =
            section.ok_or_else(|| ObjectError(format!("`{name}` stands in no section that is loaded")))?;
        Ok(section.address + symbol.address())
    };
    for position in 0..placed.len() {
        let section = file.section_by_index(placed[position].index)?;
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let target = address_of(placed, relocation.target())?;
            let here = placed[position].address + offset;
            let distance = target.wrapping_add(relocation.addend() as u64).wrapping_sub(here);
            let bytes = match r_type.0 {
                relocation::REL64 => distance.to_le_bytes().to_vec(),
                relocation::REL32 | relocation::REL32_LO => (distance as u32).to_le_bytes().to_vec(),
                relocation::REL32_HI => ((distance >> 32) as u32).to_le_bytes().to_vec(),
                other => {
                    let name = &placed[position].name;
                    return Err(ObjectError(format!("section `{name}` has a relocation of type {other}")));
                }
            };
            let data = &mut placed[position].data;
            let place = data.get_mut(offset as usize..offset as usize + bytes.len());
            place
                .ok_or_else(|| ObjectError("a relocation beyond its section".into()))?
                .copy_from_slice(&bytes);
        }
    }
    Ok(())
}

fn write_header(out: &mut Bytes, file: &File<'_>, sections_at: u64, sections: u16) {
    let (header, endian) = (file.elf_header(), file.endian());
    let ident = header.e_ident();
    out.bytes(&spec::ELFMAG).bytes(&[spec::ELFCLASS64, spec::ELFDATA2LSB, 1]);
    out.bytes(&[ident.os_abi.0, ident.abi_version]).pad_to(16);
    out.u16(spec::ET_DYN).u16(header.e_machine(endian).0).u32(1).u64(0).u64(HEADER).u64(sections_at);
    out.u32(header.e_flags(endian).0).u16(HEADER as u16).u16(SEGMENT as u16).u16(SEGMENTS as u16);
    out.u16(64).u16(sections).u16(sections - 1);
}
