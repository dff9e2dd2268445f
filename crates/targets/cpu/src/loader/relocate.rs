//! Relocations: one row each with what is computed and how it is written.

use object::elf;

/// A processor that objects are loaded for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

/// What is computed from the place P, the symbol S and the addend A.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    /// S + A
    Absolute,
    /// S + A - P
    Relative,
    /// Page(S + A) - Page(P), in pages of 4 KiB
    Pages,
    /// The low 12 bits of S + A
    InPage,
}

/// How the result is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// 8 bytes.
    Word64,
    /// 4 bytes, signed.
    Signed32,
    /// 4 bytes, unsigned.
    Unsigned32,
    /// The 26 bits of a branch, in steps of 4.
    Branch26,
    /// The 21 bits of an `adrp`.
    Page21,
    /// The 12 bits of an `add`, `ldr` or `str` that counts in units of `1 << n` bytes.
    Low12(u32),
}

/// A relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    code: elf::RelocationType,
    value: Value,
    form: Form,
    /// It refers to an entry in the table of addresses that holds S.
    pub(super) through_table: bool,
    /// It is a call, which may go through a stub.
    pub(super) is_call: bool,
}

/// How a relocation gets to its symbol.
enum Way {
    Direct,
    Call,
    Table,
}

const fn row(code: elf::RelocationType, value: Value, form: Form, way: Way) -> Patch {
    Patch { code, value, form, through_table: matches!(way, Way::Table), is_call: matches!(way, Way::Call) }
}

const X86_64: &[Patch] = &[
    row(elf::R_X86_64_64, Value::Absolute, Form::Word64, Way::Direct),
    row(elf::R_X86_64_PC64, Value::Relative, Form::Word64, Way::Direct),
    row(elf::R_X86_64_PC32, Value::Relative, Form::Signed32, Way::Direct),
    row(elf::R_X86_64_PLT32, Value::Relative, Form::Signed32, Way::Call),
    row(elf::R_X86_64_32, Value::Absolute, Form::Unsigned32, Way::Direct),
    row(elf::R_X86_64_32S, Value::Absolute, Form::Signed32, Way::Direct),
    row(elf::R_X86_64_GOTPCREL, Value::Relative, Form::Signed32, Way::Table),
    row(elf::R_X86_64_GOTPCRELX, Value::Relative, Form::Signed32, Way::Table),
    row(elf::R_X86_64_REX_GOTPCRELX, Value::Relative, Form::Signed32, Way::Table),
];

const AARCH64: &[Patch] = &[
    row(elf::R_AARCH64_ABS64, Value::Absolute, Form::Word64, Way::Direct),
    row(elf::R_AARCH64_ABS32, Value::Absolute, Form::Unsigned32, Way::Direct),
    row(elf::R_AARCH64_PREL64, Value::Relative, Form::Word64, Way::Direct),
    row(elf::R_AARCH64_PREL32, Value::Relative, Form::Signed32, Way::Direct),
    row(elf::R_AARCH64_CALL26, Value::Relative, Form::Branch26, Way::Call),
    row(elf::R_AARCH64_JUMP26, Value::Relative, Form::Branch26, Way::Call),
    row(elf::R_AARCH64_ADR_PREL_PG_HI21, Value::Pages, Form::Page21, Way::Direct),
    row(elf::R_AARCH64_ADD_ABS_LO12_NC, Value::InPage, Form::Low12(0), Way::Direct),
    row(elf::R_AARCH64_LDST8_ABS_LO12_NC, Value::InPage, Form::Low12(0), Way::Direct),
    row(elf::R_AARCH64_LDST16_ABS_LO12_NC, Value::InPage, Form::Low12(1), Way::Direct),
    row(elf::R_AARCH64_LDST32_ABS_LO12_NC, Value::InPage, Form::Low12(2), Way::Direct),
    row(elf::R_AARCH64_LDST64_ABS_LO12_NC, Value::InPage, Form::Low12(3), Way::Direct),
    row(elf::R_AARCH64_LDST128_ABS_LO12_NC, Value::InPage, Form::Low12(4), Way::Direct),
    row(elf::R_AARCH64_ADR_GOT_PAGE, Value::Pages, Form::Page21, Way::Table),
    row(elf::R_AARCH64_LD64_GOT_LO12_NC, Value::InPage, Form::Low12(3), Way::Table),
];

impl Architecture {
    /// That of this process.
    pub(super) fn host() -> Option<Architecture> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Architecture::X86_64),
            "aarch64" => Some(Architecture::Aarch64),
            _ => None,
        }
    }

    /// ELF's code.
    pub(super) fn machine(self) -> elf::Machine {
        match self {
            Architecture::X86_64 => elf::EM_X86_64,
            Architecture::Aarch64 => elf::EM_AARCH64,
        }
    }

    /// The row of a relocation.
    pub(super) fn patch(self, code: elf::RelocationType) -> Result<Patch, String> {
        let rows = match self {
            Architecture::X86_64 => X86_64,
            Architecture::Aarch64 => AARCH64,
        };
        let row = rows.iter().find(|row| row.code == code);
        row.copied().ok_or_else(|| format!("the object has a relocation of an unknown kind ({code:?})"))
    }

    /// Code that jumps to an address anywhere.
    pub(super) fn stub(self, address: u64) -> [u8; super::STUB_BYTES] {
        let mut code = [0xcc; super::STUB_BYTES];
        match self {
            Architecture::X86_64 => {
                // jmp *0(%rip)
                code[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
                code[6..14].copy_from_slice(&address.to_le_bytes());
            }
            Architecture::Aarch64 => {
                // ldr x16, #8; br x16
                code[..4].copy_from_slice(&0x5800_0050u32.to_le_bytes());
                code[4..8].copy_from_slice(&0xd61f_0200u32.to_le_bytes());
                code[8..].copy_from_slice(&address.to_le_bytes());
            }
        }
        code
    }
}

impl Patch {
    /// How many bytes it changes.
    pub(super) fn bytes(self) -> usize {
        if self.form == Form::Word64 { 8 } else { 4 }
    }

    /// Changes the bytes at `place` so that they refer to `target + addend`.
    pub(super) fn write(
        self,
        bytes: &mut [u8],
        place: usize,
        target: usize,
        addend: i64,
    ) -> Result<(), String> {
        let goal = (target as i64).wrapping_add(addend);
        let value = match self.value {
            Value::Absolute => goal,
            Value::Relative => goal.wrapping_sub(place as i64),
            Value::Pages => (goal >> 12) - (place as i64 >> 12),
            Value::InPage => goal & 0xfff,
        };
        let too_far = || format!("it is too far away ({value:#x})");
        match self.form {
            Form::Word64 => bytes.copy_from_slice(&value.to_le_bytes()),
            Form::Signed32 => {
                bytes.copy_from_slice(&i32::try_from(value).map_err(|_| too_far())?.to_le_bytes())
            }
            Form::Unsigned32 => {
                bytes.copy_from_slice(&u32::try_from(value).map_err(|_| too_far())?.to_le_bytes())
            }
            Form::Branch26 => {
                if value % 4 != 0 || !(-(1 << 27)..1 << 27).contains(&value) {
                    return Err(too_far());
                }
                insert(bytes, 0x03ff_ffff, (value >> 2) as u32);
            }
            Form::Page21 => {
                if !(-(1 << 20)..1 << 20).contains(&value) {
                    return Err(too_far());
                }
                let value = value as u32;
                insert(bytes, 0x60ff_ffe0, (value & 3) << 29 | (value >> 2 & 0x7_ffff) << 5);
            }
            Form::Low12(scale) => {
                if value & ((1 << scale) - 1) != 0 {
                    return Err(format!("it is not aligned to {} bytes", 1 << scale));
                }
                insert(bytes, 0x003f_fc00, (value as u32 >> scale) << 10);
            }
        }
        Ok(())
    }
}

/// Replaces the bits of an instruction that are set in `field`.
fn insert(bytes: &mut [u8], field: u32, bits: u32) {
    let mut word = [0; 4];
    word.copy_from_slice(bytes);
    let word = u32::from_le_bytes(word) & !field | bits & field;
    bytes.copy_from_slice(&word.to_le_bytes());
}
