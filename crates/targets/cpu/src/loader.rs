//! Loads a relocatable ELF object (x86-64, AArch64) into this process.
//!
//! All sections that are needed at run time go into one mapping: code, then read-only data with the table of outside
//! addresses, then writable data. It is written while nothing in it may be executed, then each part gets its final
//! rights: no page is ever writable and executable. Outside symbols come from the caller's table alone. The object may
//! be damaged: everything read from it is checked, and what does not fit is an error. (That it holds the code that
//! was meant is the business of the cache's checksum.)
//!
//! Left out: exceptions (`.eh_frame` is not registered), thread-local data, constructors, debug information.

mod memory;
mod relocate;

use memory::{Mapping, Rights};
use object::read::elf::{ElfFile64, ElfSection64};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SymbolIndex, SymbolSection, elf,
};
use relocate::{Architecture, Patch};
use std::collections::BTreeMap;
use target::TargetError;

/// More than this is not a kernel.
const MAX_BYTES: usize = 256 << 20;

/// Stubs that jump to outside functions are this long on every architecture.
const STUB_BYTES: usize = 16;

/// An object in memory, ready to run. Dropping it unmaps its code.
#[derive(Debug)]
pub struct LoadedObject {
    mapping: Mapping,
    symbols: BTreeMap<String, usize>,
}

/// Finds the address of an outside symbol.
pub type Resolver<'a> = &'a dyn Fn(&str) -> Option<usize>;

impl LoadedObject {
    /// Loads an object for the processor of this process.
    ///
    /// # Errors
    /// When the object is damaged or for another processor, or asks for a symbol that `resolve` does not know.
    pub fn load(bytes: &[u8], resolve: Resolver<'_>) -> Result<LoadedObject, TargetError> {
        let host = Architecture::host()
            .ok_or_else(|| TargetError::Load("there is no object loader for this processor".into()))?;
        LoadedObject::load_as(bytes, host, resolve).map_err(TargetError::Load)
    }

    /// The address of a symbol that the object defines.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.symbols.get(name).copied()
    }

    /// Bytes of memory that are mapped.
    pub fn mapped_bytes(&self) -> usize {
        self.mapping.len()
    }

    /// Loads an object for any architecture; its code can only run on that one.
    fn load_as(bytes: &[u8], arch: Architecture, resolve: Resolver<'_>) -> Result<LoadedObject, String> {
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(|error| damaged(&error))?;
        if file.elf_header().e_machine.get(LittleEndian) != arch.machine() {
            return Err("the object is for another processor".into());
        }
        if file.elf_header().e_type.get(LittleEndian) != elf::ET_REL {
            return Err("the object is not relocatable".into());
        }
        let layout = Layout::new(&file)?;
        let mut loading =
            Loading { mapping: Mapping::new(layout.total)?, layout, arch, resolve, outside: Vec::new() };
        loading.copy_sections(&file)?;
        loading.relocate(&file)?;
        loading.finish(&file)
    }
}

/// What went wrong while reading.
fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("the object is damaged: {error}")
}

/// What may be done with a part of the mapping in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Code,
    ReadOnly,
    Writable,
}

/// Which part a section belongs to; `None` for what is not loaded.
fn part_of(section: &ElfSection64<'_, '_, LittleEndian>) -> Result<Option<Part>, String> {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return Ok(None) };
    let has = |flag: elf::SectionFlags| sh_flags.contains(flag);
    let name = section.name().map_err(|error| damaged(&error))?;
    if !has(elf::SHF_ALLOC) || name == ".eh_frame" || section.size() == 0 {
        return Ok(None);
    }
    if has(elf::SHF_TLS) || name.starts_with(".init_array") || name.starts_with(".ctors") {
        return Err(format!("the section `{name}` is of a kind that is not loaded"));
    }
    Ok(Some(match (has(elf::SHF_EXECINSTR), has(elf::SHF_WRITE)) {
        (true, true) => return Err(format!("the section `{name}` is writable code")),
        (true, false) => Part::Code,
        (false, true) if !name.starts_with(".data.rel.ro") => Part::Writable,
        _ => Part::ReadOnly,
    }))
}

/// Offset and size of each section that is loaded, by its number in the file.
type Places = BTreeMap<usize, (usize, usize)>;

/// Where everything goes in the mapping.
struct Layout {
    /// Offsets of the sections.
    places: Places,
    /// Where the stubs begin; as many as there are undefined symbols.
    stubs: usize,
    /// Where the table of addresses begins; as many as there are symbols, the null symbol included.
    table: usize,
    code_end: usize,
    read_only_end: usize,
    total: usize,
}

impl Layout {
    fn new(file: &ElfFile64<'_, LittleEndian>) -> Result<Layout, String> {
        let page = memory::page_bytes();
        let symbols = file.symbols().count();
        let undefined = file.symbols().filter(|symbol| symbol.is_undefined()).count();
        let mut cursor = Cursor { at: 0 };
        let mut places = BTreeMap::new();
        cursor.part(file, Part::Code, &mut places)?;
        let stubs = cursor.take(undefined * STUB_BYTES, STUB_BYTES)?;
        let code_end = cursor.take(0, page)?;
        cursor.part(file, Part::ReadOnly, &mut places)?;
        let table = cursor.take((symbols + 1) * 8, 8)?;
        let read_only_end = cursor.take(0, page)?;
        cursor.part(file, Part::Writable, &mut places)?;
        let total = cursor.take(0, page)?;
        if code_end == 0 {
            return Err("the object holds no code".into());
        }
        Ok(Layout { places, stubs, table, code_end, read_only_end, total })
    }
}

/// Hands out room.
struct Cursor {
    at: usize,
}

impl Cursor {
    fn part(
        &mut self,
        file: &ElfFile64<'_, LittleEndian>,
        part: Part,
        places: &mut Places,
    ) -> Result<(), String> {
        for section in file.sections() {
            if part_of(&section)? == Some(part) {
                let size = usize::try_from(section.size()).unwrap_or(usize::MAX);
                let align = usize::try_from(section.align()).unwrap_or(usize::MAX);
                places.insert(section.index().0, (self.take(size, align)?, size));
            }
        }
        Ok(())
    }

    /// The offset of the next `size` bytes.
    fn take(&mut self, size: usize, align: usize) -> Result<usize, String> {
        let align = align.max(1);
        if !align.is_power_of_two() || align > memory::page_bytes() {
            return Err(format!("the object is damaged: an alignment of {align} bytes"));
        }
        let start = self.at.next_multiple_of(align);
        self.at = start.checked_add(size).filter(|end| *end <= MAX_BYTES).ok_or("the object is too large")?;
        Ok(start)
    }
}

/// An object while it is being loaded.
struct Loading<'a> {
    mapping: Mapping,
    layout: Layout,
    arch: Architecture,
    resolve: Resolver<'a>,
    /// Undefined symbols that have a stub, in the order of the stubs.
    outside: Vec<SymbolIndex>,
}

impl Loading<'_> {
    fn copy_sections(&mut self, file: &ElfFile64<'_, LittleEndian>) -> Result<(), String> {
        for (index, (start, size)) in &self.layout.places {
            let section = file.section_by_index(SectionIndex(*index)).map_err(|error| damaged(&error))?;
            let data = section.data().map_err(|error| damaged(&error))?;
            if data.len() > *size {
                return Err("the object is damaged: a section is longer than it says".into());
            }
            // What a `.bss` leaves out is already zero.
            self.mapping.bytes_mut()[*start..*start + data.len()].copy_from_slice(data);
        }
        Ok(())
    }

    fn relocate(&mut self, file: &ElfFile64<'_, LittleEndian>) -> Result<(), String> {
        for (index, (start, size)) in self.layout.places.clone() {
            let section = file.section_by_index(SectionIndex(index)).map_err(|error| damaged(&error))?;
            for (offset, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return Err("the object is damaged: a relocation of another format".into());
                };
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return Err("the object is damaged: a relocation without a symbol".into());
                };
                let patch = self.arch.patch(r_type)?;
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                if offset.checked_add(patch.bytes()).is_none_or(|end| end > size) {
                    return Err("the object is damaged: a relocation outside its section".into());
                }
                self.apply(file, patch, start + offset, symbol, relocation.addend())?;
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        file: &ElfFile64<'_, LittleEndian>,
        patch: Patch,
        place: usize,
        symbol: SymbolIndex,
        addend: i64,
    ) -> Result<(), String> {
        let address = self.address(file, symbol)?;
        let base = self.mapping.address();
        let target = if patch.through_table {
            let slot = self.layout.table + 8 * symbol.0;
            let room =
                self.mapping.bytes_mut().get_mut(slot..slot + 8).ok_or("the object is damaged: a symbol")?;
            room.copy_from_slice(&(address as u64).to_le_bytes());
            base + slot
        } else if patch.is_call && !self.is_inside(address) {
            self.stub(symbol, address)?
        } else {
            address
        };
        let bytes = self.mapping.bytes_mut();
        patch.write(&mut bytes[place..place + patch.bytes()], base + place, target, addend).map_err(|why| {
            let name = name_of(file, symbol);
            format!("the reference to `{name}` cannot be resolved: {why}")
        })
    }

    fn is_inside(&self, address: usize) -> bool {
        (self.mapping.address()..self.mapping.address() + self.mapping.len()).contains(&address)
    }

    /// The address of a symbol: of its section here, or outside.
    fn address(&self, file: &ElfFile64<'_, LittleEndian>, index: SymbolIndex) -> Result<usize, String> {
        let symbol = file.symbol_by_index(index).map_err(|error| damaged(&error))?;
        let name = name_of(file, index);
        match symbol.section() {
            SymbolSection::Section(section) => {
                let (start, size) = self.layout.places.get(&section.0).ok_or_else(|| {
                    format!("the object is damaged: `{name}` is in a section that is not loaded")
                })?;
                let offset = usize::try_from(symbol.address()).ok().filter(|offset| offset <= size);
                let offset = offset
                    .ok_or_else(|| format!("the object is damaged: `{name}` is outside its section"))?;
                Ok(self.mapping.address() + start + offset)
            }
            SymbolSection::Undefined => (self.resolve)(&name).ok_or_else(|| {
                format!("the kernel needs `{name}`, which is not among the functions a kernel may call")
            }),
            other => Err(format!("the object is damaged: `{name}` is in {other:?}")),
        }
    }

    /// A piece of code near the kernel that jumps to an outside function.
    fn stub(&mut self, symbol: SymbolIndex, address: usize) -> Result<usize, String> {
        let index = self.outside.iter().position(|known| *known == symbol);
        let index = index.unwrap_or_else(|| {
            self.outside.push(symbol);
            self.outside.len() - 1
        });
        let start = self.layout.stubs + index * STUB_BYTES;
        if start + STUB_BYTES > self.layout.code_end {
            return Err("the object is damaged: more outside functions than undefined symbols".into());
        }
        let code = self.arch.stub(address as u64);
        self.mapping.bytes_mut()[start..start + STUB_BYTES].copy_from_slice(&code);
        Ok(self.mapping.address() + start)
    }

    fn finish(mut self, file: &ElfFile64<'_, LittleEndian>) -> Result<LoadedObject, String> {
        let mut symbols = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global()) {
            let name = symbol.name().map_err(|error| damaged(&error))?;
            symbols.insert(name.to_string(), self.address(file, symbol.index())?);
        }
        let (code_end, read_only_end) = (self.layout.code_end, self.layout.read_only_end);
        self.mapping.protect(0..code_end, Rights::Execute)?;
        self.mapping.protect(code_end..read_only_end, Rights::Read)?;
        Ok(LoadedObject { mapping: self.mapping, symbols })
    }
}

/// A symbol's name for people and for look-ups.
fn name_of(file: &ElfFile64<'_, LittleEndian>, index: SymbolIndex) -> String {
    let symbol = file.symbol_by_index(index);
    symbol.and_then(|symbol| symbol.name().map(str::to_string)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
