//! What the note of an object says of its kernel: registers, spills, memory.

use super::ObjectError;
use super::msgpack::{self, Value};
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// The type of the note that describes kernels.
const METADATA: u32 = 32;

/// What a kernel takes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelFacts {
    /// Its symbol.
    pub name: String,
    /// Vector registers of a lane, those for accumulators included.
    pub vgprs: u32,
    /// Those for accumulators among them.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers that are kept in memory.
    pub vgpr_spills: u32,
    /// Scalar registers that are kept elsewhere.
    pub sgpr_spills: u32,
    /// Bytes of memory that every lane has for itself.
    pub private_bytes: u32,
    /// Bytes of LDS beside those that the launch asks for.
    pub lds_bytes: u32,
    /// Bytes of arguments.
    pub kernarg_bytes: u32,
    /// Lanes of a wave.
    pub wave: u32,
}

/// Reads the note of an object's only kernel.
///
/// # Errors
/// What is missing or damaged.
pub fn facts(object: &[u8]) -> Result<KernelFacts, ObjectError> {
    let wrong = |what: &str| ObjectError(format!("the code object {what}"));
    let note = metadata(object)?.ok_or_else(|| wrong("has no note that describes its kernels"))?;
    let value = msgpack::read(&note).ok_or_else(|| wrong("has a note that is damaged"))?;
    let kernels = value.get("amdhsa.kernels").map(Value::list).unwrap_or_default();
    let [kernel] = kernels else { return Err(wrong(&format!("has {} kernels", kernels.len()))) };
    let number = |name: &str| {
        let found = kernel.get(name).and_then(Value::int).and_then(|value| u32::try_from(value).ok());
        found.ok_or_else(|| wrong(&format!("does not say `{name}`")))
    };
    // What an architecture lacks is not in its notes.
    let optional = |name: &str| kernel.get(name).map_or(Ok(0), |_| number(name));
    let name = kernel.get(".name").and_then(Value::text).ok_or_else(|| wrong("does not name its kernel"))?;
    Ok(KernelFacts {
        name: name.to_owned(),
        vgprs: number(".vgpr_count")?,
        agprs: optional(".agpr_count")?,
        sgprs: number(".sgpr_count")?,
        vgpr_spills: number(".vgpr_spill_count")?,
        sgpr_spills: number(".sgpr_spill_count")?,
        private_bytes: number(".private_segment_fixed_size")?,
        lds_bytes: number(".group_segment_fixed_size")?,
        kernarg_bytes: number(".kernarg_segment_size")?,
        wave: number(".wavefront_size")?,
    })
}

/// The bytes of the note that describes kernels.
fn metadata(object: &[u8]) -> Result<Option<Vec<u8>>, ObjectError> {
    let header = FileHeader64::<Endianness>::parse(object)?;
    let endian = header.endian()?;
    for section in header.sections(endian, object)?.iter() {
        if section.sh_type(endian) != elf::SHT_NOTE {
            continue;
        }
        let Some(mut notes) = section.notes(endian, object)? else { continue };
        while let Some(note) = notes.next()? {
            if note.n_type(endian).0 == METADATA && note.name() == b"AMDGPU" {
                return Ok(Some(note.desc().to_vec()));
            }
        }
    }
    Ok(None)
}
