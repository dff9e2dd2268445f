//! What is known of a kernel before it is assembled.

use crate::ptx::Effort;
use target::{Guards, KernelParam, MapRecipe, PairFacts, ProgramLoop, Unaligned};

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
    /// Which programs of a launch it loops over.
    pub(crate) persistent: ProgramLoop,
    /// What a launch must be to gain by that in any case.
    pub(crate) persistence: Guards,
    /// Of which tensors two programs read the same, and what a launch must be for that.
    pub(crate) pairs: Vec<PairFacts>,
    /// What bulk copies could load if launches copied it first.
    pub(crate) unaligned: Vec<Unaligned>,
    /// Whether loops have fewer stages than they ask for.
    pub(crate) fewer_stages: bool,
    /// Whether shared memory has room for more stages than they ask for.
    pub(crate) spare_stages: bool,
    /// What its launches need.
    pub(crate) kernel: lanes::Facts,
    /// How hard the assembler should try.
    pub(crate) effort: Effort,
}

impl Facts {
    /// Leaves out the other ways to launch it: a stage that somebody edited is what is to run.
    pub(crate) fn stay(&mut self) {
        (self.persistence, self.pairs, self.spare_stages) = (Guards::default(), Vec::new(), false);
        self.unaligned = Vec::new();
    }
}
