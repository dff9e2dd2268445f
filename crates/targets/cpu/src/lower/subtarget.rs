//! What the lowering must know of a processor.

use crate::host;

/// Facts about the processor that code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subtarget {
    /// Bytes of a vector register.
    pub(crate) vector_bytes: u32,
    /// Number of vector registers.
    pub(crate) vector_registers: u32,
    /// Fused multiply-add is one instruction.
    pub(crate) has_fma: bool,
    /// Conversions between binary16 and binary32 are instructions.
    pub(crate) has_f16: bool,
    /// AVX-512 with its vector length and dword/qword extensions.
    pub(crate) has_avx512: bool,
    /// AVX-512 with its instruction that rounds binary32 to bf16.
    pub(crate) rounds_to_bf16: bool,
    /// AVX-512 with its instruction for pairs of bf16 products, which is faster than multiply-adds of binary32.
    pub(crate) has_bf16_pairs: bool,
    /// AVX-512 with its instruction for fours of byte products.
    pub(crate) has_byte_quads: bool,
    /// AMX with its products of bf16.
    pub(crate) has_amx_bf16: bool,
    /// AMX with its products of fp16.
    pub(crate) has_amx_fp16: bool,
    /// AMX with its products of bytes.
    pub(crate) has_amx_int8: bool,
    /// An x86-64.
    pub(crate) is_x86: bool,
    /// Bytes of the nearest data cache.
    pub(crate) l1_bytes: u64,
}

impl Subtarget {
    /// The facts about a machine.
    pub(crate) fn new(machine: &host::Processor) -> Subtarget {
        let is_x86 = machine.arch == "x86_64";
        Subtarget {
            vector_bytes: machine.vector_bytes,
            vector_registers: machine.vector_registers,
            has_fma: !is_x86 || machine.has("fma"),
            has_f16: !is_x86 || machine.has("f16c"),
            has_avx512: machine.vector_bytes == 64,
            rounds_to_bf16: machine.vector_bytes == 64 && machine.has("avx512bf16"),
            has_bf16_pairs: machine.has_fast_bf16_pairs(),
            has_byte_quads: machine.vector_bytes == 64 && machine.has("avx512vnni"),
            has_amx_bf16: machine.has("amx-tile") && machine.has("amx-bf16"),
            has_amx_fp16: machine.has("amx-tile") && machine.has("amx-fp16"),
            has_amx_int8: machine.has("amx-tile") && machine.has("amx-int8"),
            is_x86,
            l1_bytes: machine.caches.l1,
        }
    }

    /// Lanes of binary32 in a vector register.
    pub(crate) fn lanes(&self) -> u32 {
        self.vector_bytes / 4
    }

    /// For dots.
    pub(crate) fn dot(&self) -> crate::dot::VectorUnit {
        crate::dot::VectorUnit {
            vector_bytes: self.vector_bytes,
            vector_registers: self.vector_registers,
            has_fma: self.has_fma,
            x86: self.is_x86,
            has_bf16_pairs: self.has_bf16_pairs,
            has_byte_quads: self.has_byte_quads,
            has_amx_bf16: self.has_amx_bf16,
            has_amx_fp16: self.has_amx_fp16,
            has_amx_int8: self.has_amx_int8,
        }
    }
}
