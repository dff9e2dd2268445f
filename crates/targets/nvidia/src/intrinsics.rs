//! LLVM's intrinsics for these GPUs (`llvm.nvvm.…`), each with the instruction that it is.
//!
//! Code of lanes calls them by the constants here, and selection writes the instruction of the row, so that their names
//! stand nowhere else. Rows without a constant are for llir that somebody else wrote. Left out: intrinsics that have
//! types in their names.

use ptx_isa::{Role, role};

/// An intrinsic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Intrinsic {
    /// Its name in llir.
    pub(crate) name: &'static str,
    /// What it becomes.
    pub(crate) form: Form,
}

/// What an intrinsic becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An instruction whose operands are those of the intrinsic in their order, constants as they are.
    Plain(&'static str),
    /// An instruction whose operands are those of the intrinsic with these numbers, the first in a register.
    Ordered(&'static str, &'static [usize]),
    /// A read of a special register.
    Special(&'static str),
}

impl Intrinsic {
    /// The row of an intrinsic by its name.
    pub(crate) fn named(name: &str) -> Option<&'static Intrinsic> {
        ROWS.iter().find(|row| row.name == name)
    }

    /// What it does, as far as somebody counts it.
    pub(crate) fn role(&self) -> Role {
        match self.form {
            Form::Plain(text) | Form::Ordered(text, _) => role(mnemonic(text)),
            Form::Special(_) => Role::Other,
        }
    }
}

/// The text of a form without the operands that are part of it.
fn mnemonic(text: &str) -> &str {
    text.split_once(' ').map_or(text, |(mnemonic, _)| mnemonic)
}

const fn plain(name: &'static str, mnemonic: &'static str) -> Intrinsic {
    Intrinsic { name, form: Form::Plain(mnemonic) }
}

const fn ordered(name: &'static str, mnemonic: &'static str, order: &'static [usize]) -> Intrinsic {
    Intrinsic { name, form: Form::Ordered(mnemonic, order) }
}

const fn special(name: &'static str, register: &'static str) -> Intrinsic {
    Intrinsic { name, form: Form::Special(register) }
}

pub(crate) const CLUSTER_ARRIVE: Intrinsic =
    plain("llvm.nvvm.barrier.cluster.arrive.aligned", "barrier.cluster.arrive.aligned");
pub(crate) const CLUSTER_WAIT: Intrinsic =
    plain("llvm.nvvm.barrier.cluster.wait.aligned", "barrier.cluster.wait.aligned");
pub(crate) const BARRIER: Intrinsic = plain("llvm.nvvm.barrier0", "bar.sync 0");
pub(crate) const WARP_BARRIER: Intrinsic = plain("llvm.nvvm.bar.warp.sync", "bar.warp.sync");
pub(crate) const DIV: Intrinsic = plain("llvm.nvvm.div.approx.f", "div.approx.f32");
pub(crate) const DIV_FULL: Intrinsic = plain("llvm.nvvm.div.full", "div.full.f32");
pub(crate) const EX2: Intrinsic = plain("llvm.nvvm.ex2.approx.f", "ex2.approx.f32");
pub(crate) const EX2_FTZ: Intrinsic = plain("llvm.nvvm.ex2.approx.ftz.f", "ex2.approx.ftz.f32");
pub(crate) const EXIT: Intrinsic = plain("llvm.nvvm.exit", "exit");
pub(crate) const RELEASE_LAUNCH: Intrinsic =
    plain("llvm.nvvm.griddepcontrol.launch.dependents", "griddepcontrol.launch_dependents");
pub(crate) const AWAIT_LAUNCH: Intrinsic = plain("llvm.nvvm.griddepcontrol.wait", "griddepcontrol.wait");
pub(crate) const LG2: Intrinsic = plain("llvm.nvvm.lg2.approx.f", "lg2.approx.f32");
pub(crate) const LG2_FTZ: Intrinsic = plain("llvm.nvvm.lg2.approx.ftz.f", "lg2.approx.ftz.f32");
pub(crate) const MUL_DOWN: Intrinsic = plain("llvm.nvvm.mul.rm.f", "mul.rm.f32");
pub(crate) const MULHI_S32: Intrinsic = plain("llvm.nvvm.mulhi.i", "mul.hi.s32");
pub(crate) const MULHI_S64: Intrinsic = plain("llvm.nvvm.mulhi.ll", "mul.hi.s64");
pub(crate) const MULHI_U32: Intrinsic = plain("llvm.nvvm.mulhi.ui", "mul.hi.u32");
pub(crate) const MULHI_U64: Intrinsic = plain("llvm.nvvm.mulhi.ull", "mul.hi.u64");
pub(crate) const RCP_FTZ: Intrinsic = plain("llvm.nvvm.rcp.approx.ftz.f", "rcp.approx.ftz.f32");
pub(crate) const CLUSTER_CTARANK: Intrinsic =
    special("llvm.nvvm.read.ptx.sreg.cluster.ctarank", "%cluster_ctarank");
pub(crate) const CTAID_X: Intrinsic = special("llvm.nvvm.read.ptx.sreg.ctaid.x", "%ctaid.x");
pub(crate) const CTAID_Y: Intrinsic = special("llvm.nvvm.read.ptx.sreg.ctaid.y", "%ctaid.y");
pub(crate) const CTAID_Z: Intrinsic = special("llvm.nvvm.read.ptx.sreg.ctaid.z", "%ctaid.z");
pub(crate) const LANEID: Intrinsic = special("llvm.nvvm.read.ptx.sreg.laneid", "%laneid");
pub(crate) const NCTAID_X: Intrinsic = special("llvm.nvvm.read.ptx.sreg.nctaid.x", "%nctaid.x");
pub(crate) const NCTAID_Y: Intrinsic = special("llvm.nvvm.read.ptx.sreg.nctaid.y", "%nctaid.y");
pub(crate) const NCTAID_Z: Intrinsic = special("llvm.nvvm.read.ptx.sreg.nctaid.z", "%nctaid.z");
pub(crate) const NTID_X: Intrinsic = special("llvm.nvvm.read.ptx.sreg.ntid.x", "%ntid.x");
pub(crate) const NTID_Y: Intrinsic = special("llvm.nvvm.read.ptx.sreg.ntid.y", "%ntid.y");
pub(crate) const NTID_Z: Intrinsic = special("llvm.nvvm.read.ptx.sreg.ntid.z", "%ntid.z");
pub(crate) const TID_X: Intrinsic = special("llvm.nvvm.read.ptx.sreg.tid.x", "%tid.x");
pub(crate) const TID_Y: Intrinsic = special("llvm.nvvm.read.ptx.sreg.tid.y", "%tid.y");
pub(crate) const TID_Z: Intrinsic = special("llvm.nvvm.read.ptx.sreg.tid.z", "%tid.z");
pub(crate) const RSQRT: Intrinsic = plain("llvm.nvvm.rsqrt.approx.f", "rsqrt.approx.f32");
pub(crate) const RSQRT_FTZ: Intrinsic = plain("llvm.nvvm.rsqrt.approx.ftz.f", "rsqrt.approx.ftz.f32");
pub(crate) const SHUFFLE_XOR: Intrinsic =
    ordered("llvm.nvvm.shfl.sync.bfly.i32", "shfl.sync.bfly.b32", &[1, 2, 3, 0]);
pub(crate) const SHUFFLE_DOWN: Intrinsic =
    ordered("llvm.nvvm.shfl.sync.down.i32", "shfl.sync.down.b32", &[1, 2, 3, 0]);
pub(crate) const SHUFFLE_INDEX: Intrinsic =
    ordered("llvm.nvvm.shfl.sync.idx.i32", "shfl.sync.idx.b32", &[1, 2, 3, 0]);
pub(crate) const SHUFFLE_UP: Intrinsic =
    ordered("llvm.nvvm.shfl.sync.up.i32", "shfl.sync.up.b32", &[1, 2, 3, 0]);
pub(crate) const SQRT: Intrinsic = plain("llvm.nvvm.sqrt.approx.f", "sqrt.approx.f32");
pub(crate) const SQRT_FTZ: Intrinsic = plain("llvm.nvvm.sqrt.approx.ftz.f", "sqrt.approx.ftz.f32");
pub(crate) const BALLOT: Intrinsic = ordered("llvm.nvvm.vote.ballot.sync", "vote.sync.ballot.b32", &[1, 0]);

/// Every intrinsic.
static ROWS: &[Intrinsic] = &[
    CLUSTER_ARRIVE,
    CLUSTER_WAIT,
    plain("llvm.nvvm.barrier.cta.sync.aligned.all", "barrier.sync.aligned"),
    plain("llvm.nvvm.barrier.cta.sync.aligned.count", "barrier.sync.aligned"),
    plain("llvm.nvvm.barrier.sync", "barrier.sync"),
    BARRIER,
    WARP_BARRIER,
    plain("llvm.nvvm.cp.async.commit.group", "cp.async.commit_group"),
    plain("llvm.nvvm.cp.async.wait.all", "cp.async.wait_all"),
    plain("llvm.nvvm.cp.async.wait.group", "cp.async.wait_group"),
    DIV,
    DIV_FULL,
    plain("llvm.nvvm.div.full.ftz", "div.full.ftz.f32"),
    plain("llvm.nvvm.div.rn.f", "div.rn.f32"),
    plain("llvm.nvvm.div.rn.d", "div.rn.f64"),
    EX2,
    EX2_FTZ,
    EXIT,
    RELEASE_LAUNCH,
    AWAIT_LAUNCH,
    LG2,
    LG2_FTZ,
    plain("llvm.nvvm.membar.cta", "membar.cta"),
    plain("llvm.nvvm.membar.gl", "membar.gl"),
    plain("llvm.nvvm.membar.sys", "membar.sys"),
    MUL_DOWN,
    MULHI_S32,
    MULHI_S64,
    MULHI_U32,
    MULHI_U64,
    plain("llvm.nvvm.nanosleep", "nanosleep.u32"),
    plain("llvm.nvvm.prmt", "prmt.b32"),
    RCP_FTZ,
    plain("llvm.nvvm.rcp.rn.d", "rcp.rn.f64"),
    plain("llvm.nvvm.rcp.rn.f", "rcp.rn.f32"),
    special("llvm.nvvm.read.ptx.sreg.activemask", "%activemask"),
    special("llvm.nvvm.read.ptx.sreg.clock", "%clock"),
    special("llvm.nvvm.read.ptx.sreg.clock64", "%clock64"),
    special("llvm.nvvm.read.ptx.sreg.cluster.ctaid.x", "%cluster_ctaid.x"),
    special("llvm.nvvm.read.ptx.sreg.cluster.ctaid.y", "%cluster_ctaid.y"),
    special("llvm.nvvm.read.ptx.sreg.cluster.ctaid.z", "%cluster_ctaid.z"),
    CLUSTER_CTARANK,
    special("llvm.nvvm.read.ptx.sreg.cluster.nctarank", "%cluster_nctarank"),
    special("llvm.nvvm.read.ptx.sreg.clusterid.x", "%clusterid.x"),
    special("llvm.nvvm.read.ptx.sreg.clusterid.y", "%clusterid.y"),
    special("llvm.nvvm.read.ptx.sreg.clusterid.z", "%clusterid.z"),
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    special("llvm.nvvm.read.ptx.sreg.globaltimer", "%globaltimer"),
    LANEID,
    special("llvm.nvvm.read.ptx.sreg.nclusterid.x", "%nclusterid.x"),
    special("llvm.nvvm.read.ptx.sreg.nclusterid.y", "%nclusterid.y"),
    special("llvm.nvvm.read.ptx.sreg.nclusterid.z", "%nclusterid.z"),
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    special("llvm.nvvm.read.ptx.sreg.smid", "%smid"),
    TID_X,
    TID_Y,
    TID_Z,
    special("llvm.nvvm.read.ptx.sreg.warpid", "%warpid"),
    ordered("llvm.nvvm.redux.sync.add", "redux.sync.add.s32", &[0, 1]),
    plain("llvm.nvvm.rsqrt.approx.d", "rsqrt.approx.f64"),
    RSQRT,
    RSQRT_FTZ,
    ordered("llvm.nvvm.shfl.sync.bfly.f32", "shfl.sync.bfly.b32", &[1, 2, 3, 0]),
    SHUFFLE_XOR,
    ordered("llvm.nvvm.shfl.sync.down.f32", "shfl.sync.down.b32", &[1, 2, 3, 0]),
    SHUFFLE_DOWN,
    ordered("llvm.nvvm.shfl.sync.idx.f32", "shfl.sync.idx.b32", &[1, 2, 3, 0]),
    SHUFFLE_INDEX,
    ordered("llvm.nvvm.shfl.sync.up.f32", "shfl.sync.up.b32", &[1, 2, 3, 0]),
    SHUFFLE_UP,
    SQRT,
    SQRT_FTZ,
    plain("llvm.nvvm.sqrt.rn.f", "sqrt.rn.f32"),
    ordered("llvm.nvvm.vote.all.sync", "vote.sync.all.pred", &[1, 0]),
    ordered("llvm.nvvm.vote.any.sync", "vote.sync.any.pred", &[1, 0]),
    BALLOT,
];

#[cfg(test)]
mod tests {
    use super::{BARRIER, Form, Intrinsic, ROWS, SHUFFLE_XOR, mnemonic};
    use ptx_isa::Role;

    #[test]
    fn every_instruction_is_in_the_table() {
        for row in ROWS {
            let (Form::Plain(text) | Form::Ordered(text, _)) = row.form else { continue };
            assert!(ptx_isa::find(mnemonic(text)).is_some(), "`{text}` of `{}`", row.name);
        }
    }

    #[test]
    fn names_are_found_and_differ() {
        assert!(ROWS.iter().all(|row| Intrinsic::named(row.name) == Some(row)));
        assert_eq!((BARRIER.role(), SHUFFLE_XOR.role()), (Role::Barrier, Role::Shuffle));
        assert_eq!(Intrinsic::named("llvm.nvvm.fmax"), None);
    }
}
