//! The memory of a launch: what its arguments point into, called after the parameters.

use ttir::interp::{Address, Memory};

/// The memory behind these pointers, as far as [`target::with_extents`] said or the process has some there.
///
/// # Safety
/// Whoever launches vouches for the memory behind the arguments, as long as the result is in use.
pub unsafe fn memory<'a>(pointers: &[(&'a str, u64)]) -> Memory {
    let mut memory = Memory::new();
    for extent in target::pieces(pointers.iter().map(|(_, address)| *address)) {
        let inside = pointers.iter().filter(|(_, address)| extent.holds(*address));
        let name = inside.map(|(name, _)| *name).collect::<Vec<&'a str>>().join(", ");
        // SAFETY: the caller vouches for it; what is merely mapped is there to be read, and to be written if it is
        // mapped so.
        unsafe { memory.map_foreign(&name, extent.base, extent.len, extent.writable) };
    }
    for (name, address) in pointers {
        memory.name_pointer(name, Address(*address));
    }
    memory
}
