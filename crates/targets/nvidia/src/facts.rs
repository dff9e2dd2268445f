//! What is known of a kernel before it is assembled.

use crate::ptx::Effort;
use target::{Guards, KernelParam, MapRecipe};

/// What is known of a kernel once its PTX is written.
pub(crate) struct Facts {
    /// Its symbol.
    pub(crate) name: String,
    /// Its parameters, without the two of scratch memory.
    pub(crate) params: Vec<KernelParam>,
    /// The tensor maps that launches make, which are parameters behind those.
    pub(crate) maps: Vec<MapRecipe>,
    /// What a launch must be.
    pub(crate) guards: Guards,
    /// What its launches need.
    pub(crate) kernel: lanes::Facts,
    /// How hard the assembler should try.
    pub(crate) effort: Effort,
}
