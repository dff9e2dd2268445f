//! Launch options: `num_warps`, `num_stages` and what each target adds.

use std::collections::BTreeMap;

/// The value of a launch option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum OptionValue {
    /// `None` in Python.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text.
    Str(String),
}

/// One option a target reads: its name, its default, what it does.
#[derive(Debug)]
pub struct OptionRow {
    /// The keyword at the launch.
    pub name: &'static str,
    /// Its value when it is not given.
    pub default: OptionValue,
    /// One line for people.
    pub doc: &'static str,
}

/// Among the `extra` of a compile where parameters may be the same memory, accessed in other places; elsewhere targets
/// take them to be apart, or guard what they take for granted.
pub const OVERLAPPING: &str = "overlapping";

/// The option, true, of a kernel that loops over the programs of its launches where it can, or false. Without it
/// launches of the runtime get such a kernel where they gain by it ([`crate::DeviceFacts::persistence`]).
pub const PERSISTENT: &str = "persistence";

/// The option, true, of a kernel whose launches have their programs in pairs wherever they can, or false. Without it
/// they have where they gain by it ([`crate::DeviceFacts::pairs`]).
pub const PAIRS: &str = "pairs";

/// The option of a kernel that is compiled for such launches: the number of the argument that is the address of the
/// tensor of which two read the same.
pub const PAIRED: &str = "paired";

/// The option of a kernel whose loops over dots have more stages than they ask for, as long as an SM has room for so
/// many programs, or for as many as without (0); true for one program. False for none. Without it launches of the
/// runtime get such a kernel where they gain by it ([`crate::DeviceFacts::spare_stages`]).
pub const DEEP: &str = "deep_loops";

/// The option, true, of a kernel whose launches copy what it loads to where bulk copies can load it wherever they can,
/// or false. Without it they do where they gain by it ([`crate::DeviceFacts::unaligned`]).
pub const ALIGNED_COPIES: &str = "aligned_copies";

/// The option of a kernel that is compiled for such launches.
pub const COPIED: &str = "copied";

/// All options of one compile. The common ones are fields; the target's own are in `extra`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct CompileOptions {
    /// Warps per program.
    pub num_warps: u32,
    /// Stages of software pipelining.
    pub num_stages: u32,
    /// Programs per cluster.
    pub num_ctas: u32,
    /// Whether mul + add may become one fused operation.
    pub enable_fp_fusion: bool,
    /// Device asserts and overflow checks.
    pub debug: bool,
    /// Whether `debug` checks integer arithmetic for overflow.
    pub sanitize_overflow: bool,
    /// Whether launches check what the kernel was compiled for ([`crate::DeviceFacts::guards`]): those of the runtime
    /// do, others cannot.
    pub guarded: bool,
    /// The options of [`crate::Target::options`] that were given.
    pub extra: BTreeMap<String, OptionValue>,
}

/// The option of a launch whose programs all run at the same time.
pub const COOPERATIVE: &str = "launch_cooperative_grid";

impl CompileOptions {
    /// Whether a flag is among the target's own options; people write numbers for it as well.
    pub fn flag(&self, name: &str) -> bool {
        match self.extra.get(name) {
            Some(OptionValue::Bool(flag)) => *flag,
            Some(OptionValue::Int(value)) => *value != 0,
            _ => false,
        }
    }
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            num_warps: 4,
            num_stages: 3,
            num_ctas: 1,
            enable_fp_fusion: true,
            debug: false,
            sanitize_overflow: true,
            guarded: false,
            extra: BTreeMap::new(),
        }
    }
}
