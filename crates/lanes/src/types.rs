//! Which llir type stands for which element type, in registers and in memory.

use elementwise::{Abilities, Division, Widths};
use ir::{FloatKind, Type};
use ttir::types::{PTR, elem};

/// What lanes of every GPU can do with single elements.
pub const ABILITIES: Abilities = Abilities {
    widths: Widths { compare: 16, minmax: 16, add: 16, divide: 32 },
    division: Division::Wraps,
    halves_from_int: false,
    writes_functions_out: true,
};

/// The address space of a pointer type; 1 is the memory of the device.
pub(crate) fn space(ty: Type) -> u8 {
    match elem(ty).params_of(&PTR) {
        Some([_, ir::TypeParam::Int(space)]) => {
            u8::try_from(*space).expect("the type of a pointer was checked")
        }
        _ => 1,
    }
}

/// The type that an element has in a register. The 8-bit floats are integers there.
pub fn register(ty: Type) -> llir::Type {
    let ty = elem(ty);
    match ty.as_float() {
        Some(FloatKind::F16) => llir::Type::F16,
        Some(FloatKind::BF16) => llir::Type::BF16,
        Some(FloatKind::F32) => llir::Type::F32,
        Some(FloatKind::F64) => llir::Type::F64,
        Some(_) => llir::Type::I8,
        None => match ty.scalar_bits() {
            Some(bits) => llir::Type::int(bits as u16),
            None => llir::Type::pointer(space(ty)),
        },
    }
}

/// The type that an element has in memory: truth values take a byte.
pub(crate) fn memory(ty: Type) -> llir::Type {
    let register = register(ty);
    if register == llir::Type::I1 { llir::Type::I8 } else { register }
}

/// Bits that an element takes in memory.
pub(crate) fn memory_bits(ty: Type) -> u32 {
    memory(ty).lane_bits().max(8)
}
