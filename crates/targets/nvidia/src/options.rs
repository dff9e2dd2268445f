//! Names: of the target, of the options of a launch.

use target::{OptionRow, OptionValue};

/// The name of the target.
pub(crate) const BACKEND: &str = "cuda";

/// Options of a launch.
pub(crate) mod option {
    /// The architecture, as `sm90` or `90`.
    pub(crate) const ARCH: &str = "arch";
    /// The most registers of a lane.
    pub(crate) const MAX_REGISTERS: &str = "maxnreg";
    /// A launch may begin before the one in front of it is finished.
    pub(crate) const DEPENDENT: &str = "launch_pdl";
    /// The version of PTX to write, at least.
    pub(crate) const PTX_VERSION: &str = "ptx_version";
    /// The least shared memory of a program.
    pub(crate) const MIN_SHARED: &str = "min_shared_mem";
    /// Whether exponentials flush denormal results to zero.
    pub(crate) const FLUSH: &str = "enable_reflect_ftz";
    /// Further options of the assembler.
    pub(crate) const PTX_OPTIONS: &str = "ptx_options";
}

pub(crate) static OPTIONS: [OptionRow; 8] = [
    OptionRow {
        name: option::ARCH,
        default: OptionValue::None,
        doc: "The architecture to compile for, such as sm90; that of the device by default.",
    },
    OptionRow {
        name: option::MAX_REGISTERS,
        default: OptionValue::None,
        doc: "The most registers that a lane may use; fewer registers, more programs at a time, perhaps spills.",
    },
    OptionRow {
        name: target::COOPERATIVE,
        default: OptionValue::Bool(false),
        doc: "Launch so that all programs run at the same time, or not at all.",
    },
    OptionRow {
        name: option::DEPENDENT,
        default: OptionValue::Bool(false),
        doc: "Let the launch begin before the one in front of it in the stream is finished.",
    },
    OptionRow {
        name: option::PTX_VERSION,
        default: OptionValue::None,
        doc: "The version of PTX to write, 87 for 8.7; the lowest that has every instruction used by default.",
    },
    OptionRow {
        name: option::MIN_SHARED,
        default: OptionValue::None,
        doc: "Bytes of shared memory that a launch brings along at least.",
    },
    OptionRow {
        name: option::FLUSH,
        default: OptionValue::Bool(true),
        doc: "Whether exp and exp2 of 32-bit numbers give zero where a result is denormal, which is faster.",
    },
    OptionRow {
        name: option::PTX_OPTIONS,
        default: OptionValue::None,
        doc: "Further options of ptxas, which is then used in place of the driver's own assembler.",
    },
];
