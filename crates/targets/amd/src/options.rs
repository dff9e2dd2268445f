//! Names: of the target, of its stages, of the options of a launch.

use target::{OptionRow, OptionValue};

/// The name of the target.
pub(crate) const BACKEND: &str = "hip";

/// The assembly, which people read and no launch needs.
pub(crate) const AMDGCN: &str = "amdgcn";
/// The code object, which a device loads.
pub(crate) const HSACO: &str = "hsaco";

/// Options of a launch.
pub(crate) mod option {
    pub(crate) const ARCH: &str = "arch";
    pub(crate) const NUM_STAGES: &str = "num_stages";
    pub(crate) const WAVES_PER_EU: &str = "waves_per_eu";
    pub(crate) const NONKDIM: &str = "matrix_instr_nonkdim";
    pub(crate) const KPACK: &str = "kpack";
    pub(crate) const FLUSH_DENORMALS: &str = "allow_flush_denorm";
    pub(crate) const SCHEDULE_HINT: &str = "schedule_hint";
    pub(crate) const WGP_CU_MODE: &str = "wgp_cu_mode";
}

pub(crate) static OPTIONS: [OptionRow; 9] = [
    OptionRow {
        name: option::ARCH,
        default: OptionValue::None,
        doc: "The architecture to compile for, such as gfx942; that of the target by default.",
    },
    OptionRow {
        name: option::NUM_STAGES,
        default: OptionValue::Int(2),
        doc: "Stages of a loop with dots: 2 load the next iteration while this one multiplies; 0 and 1 do not.",
    },
    OptionRow {
        name: option::WAVES_PER_EU,
        default: OptionValue::Int(0),
        doc: "Waves that a SIMD is to hold at a time: fewer registers for each; 0 leaves it to the code generator.",
    },
    OptionRow {
        name: option::NONKDIM,
        default: OptionValue::Int(0),
        doc: "Rows and columns of the matrix instruction, 16 or 32; 0 chooses by the block.",
    },
    OptionRow {
        name: option::KPACK,
        default: OptionValue::Int(1),
        doc: "1 or 2; without effect: loads from shared memory feed as many instructions as 16 bytes are enough for.",
    },
    OptionRow {
        name: option::FLUSH_DENORMALS,
        default: OptionValue::Bool(false),
        doc: "Let denormal 32-bit floats be zero.",
    },
    OptionRow {
        name: target::COOPERATIVE,
        default: OptionValue::Bool(false),
        doc: "Launch so that all programs run at the same time, or not at all.",
    },
    OptionRow {
        name: option::SCHEDULE_HINT,
        default: OptionValue::Str(String::new()),
        doc: "Taken, and without effect, as in the reference.",
    },
    OptionRow {
        name: option::WGP_CU_MODE,
        default: OptionValue::None,
        doc: "On RDNA, `wgp` or `cu`: whether a thread block may use both compute units of a pair. Default: wgp.",
    },
];
