//! LLVM's intrinsics for these GPUs (`llvm.nvvm.…`), each with the instruction that it is.
//!
//! Code of lanes calls the rows here, and selection writes the instruction of a row, so that their names stand nowhere
//! else. Rows without a name of their own are for llir that somebody else wrote, which is where a row is looked for by
//! LLVM's. Left out: intrinsics that have types in their names.

use llir::{Callee, Intrinsic, Purity};
use ptx_isa::{Role, role};
use std::ops::Deref;

/// An intrinsic and what it becomes.
#[derive(Debug)]
pub(crate) struct Row {
    intrinsic: Intrinsic,
    /// What it becomes.
    pub(crate) form: Form,
}

impl Deref for Row {
    type Target = Intrinsic;

    fn deref(&self) -> &Intrinsic {
        &self.intrinsic
    }
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

impl Row {
    /// The row of something that is called.
    pub(crate) fn of(callee: &Callee) -> Option<&'static Row> {
        let is_called = |row: &&&Row| match callee.intrinsic {
            Some(intrinsic) => row.intrinsic == *intrinsic,
            None => row.name == callee.name,
        };
        ROWS.iter().find(is_called).copied()
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

const fn pure(name: &'static str, form: Form) -> Row {
    Row { intrinsic: Intrinsic::new(name, &[], Purity::Pure), form }
}

const fn plain(name: &'static str, mnemonic: &'static str) -> Row {
    pure(name, Form::Plain(mnemonic))
}

const fn special(name: &'static str, register: &'static str) -> Row {
    pure(name, Form::Special(register))
}

const fn effect(name: &'static str, mnemonic: &'static str) -> Row {
    Row { intrinsic: Intrinsic::new(name, &[], Purity::Impure), form: Form::Plain(mnemonic) }
}

const fn ordered(name: &'static str, mnemonic: &'static str, order: &'static [usize]) -> Row {
    Row { intrinsic: Intrinsic::new(name, &[], Purity::Impure), form: Form::Ordered(mnemonic, order) }
}

macro_rules! rows {
    (named { $($name:ident: $row:expr,)* } others { $($other:expr,)* }) => {
        $(pub(crate) static $name: Row = $row;)*

        /// Every intrinsic.
        static ROWS: &[&Row] = &[$(&$name,)* $(&$other,)*];
    };
}

#[rustfmt::skip]
rows! {
    named {
        CLUSTER_ARRIVE: effect("llvm.nvvm.barrier.cluster.arrive.aligned", "barrier.cluster.arrive.aligned"),
        CLUSTER_WAIT: effect("llvm.nvvm.barrier.cluster.wait.aligned", "barrier.cluster.wait.aligned"),
        BARRIER: effect("llvm.nvvm.barrier0", "bar.sync 0"),
        WARP_BARRIER: effect("llvm.nvvm.bar.warp.sync", "bar.warp.sync"),
        DIV: plain("llvm.nvvm.div.approx.f", "div.approx.f32"),
        DIV_FULL: plain("llvm.nvvm.div.full", "div.full.f32"),
        EX2: plain("llvm.nvvm.ex2.approx.f", "ex2.approx.f32"),
        EX2_FTZ: plain("llvm.nvvm.ex2.approx.ftz.f", "ex2.approx.ftz.f32"),
        EXIT: effect("llvm.nvvm.exit", "exit"),
        RELEASE_LAUNCH: effect("llvm.nvvm.griddepcontrol.launch.dependents", "griddepcontrol.launch_dependents"),
        AWAIT_LAUNCH: effect("llvm.nvvm.griddepcontrol.wait", "griddepcontrol.wait"),
        LG2: plain("llvm.nvvm.lg2.approx.f", "lg2.approx.f32"),
        LG2_FTZ: plain("llvm.nvvm.lg2.approx.ftz.f", "lg2.approx.ftz.f32"),
        MUL_DOWN: plain("llvm.nvvm.mul.rm.f", "mul.rm.f32"),
        MULHI_S64: plain("llvm.nvvm.mulhi.ll", "mul.hi.s64"),
        MULHI_U64: plain("llvm.nvvm.mulhi.ull", "mul.hi.u64"),
        RCP_FTZ: plain("llvm.nvvm.rcp.approx.ftz.f", "rcp.approx.ftz.f32"),
        CLUSTER_CTARANK: special("llvm.nvvm.read.ptx.sreg.cluster.ctarank", "%cluster_ctarank"),
        CTAID_X: special("llvm.nvvm.read.ptx.sreg.ctaid.x", "%ctaid.x"),
        CTAID_Y: special("llvm.nvvm.read.ptx.sreg.ctaid.y", "%ctaid.y"),
        CTAID_Z: special("llvm.nvvm.read.ptx.sreg.ctaid.z", "%ctaid.z"),
        LANEID: special("llvm.nvvm.read.ptx.sreg.laneid", "%laneid"),
        NCTAID_X: special("llvm.nvvm.read.ptx.sreg.nctaid.x", "%nctaid.x"),
        NCTAID_Y: special("llvm.nvvm.read.ptx.sreg.nctaid.y", "%nctaid.y"),
        NCTAID_Z: special("llvm.nvvm.read.ptx.sreg.nctaid.z", "%nctaid.z"),
        NTID_X: special("llvm.nvvm.read.ptx.sreg.ntid.x", "%ntid.x"),
        NTID_Y: special("llvm.nvvm.read.ptx.sreg.ntid.y", "%ntid.y"),
        NTID_Z: special("llvm.nvvm.read.ptx.sreg.ntid.z", "%ntid.z"),
        TID_X: special("llvm.nvvm.read.ptx.sreg.tid.x", "%tid.x"),
        TID_Y: special("llvm.nvvm.read.ptx.sreg.tid.y", "%tid.y"),
        TID_Z: special("llvm.nvvm.read.ptx.sreg.tid.z", "%tid.z"),
        RSQRT: plain("llvm.nvvm.rsqrt.approx.f", "rsqrt.approx.f32"),
        RSQRT_FTZ: plain("llvm.nvvm.rsqrt.approx.ftz.f", "rsqrt.approx.ftz.f32"),
        // Of what is used here alone `ptxas` makes a part of the instruction before it: `fma.rn.sat.f32`.
        SATURATE: plain("llvm.nvvm.saturate.f", "cvt.sat.f32.f32"),
        SHUFFLE_XOR: ordered("llvm.nvvm.shfl.sync.bfly.i32", "shfl.sync.bfly.b32", &[1, 2, 3, 0]),
        SHUFFLE_DOWN: ordered("llvm.nvvm.shfl.sync.down.i32", "shfl.sync.down.b32", &[1, 2, 3, 0]),
        SHUFFLE_INDEX: ordered("llvm.nvvm.shfl.sync.idx.i32", "shfl.sync.idx.b32", &[1, 2, 3, 0]),
        SHUFFLE_UP: ordered("llvm.nvvm.shfl.sync.up.i32", "shfl.sync.up.b32", &[1, 2, 3, 0]),
        SQRT: plain("llvm.nvvm.sqrt.approx.f", "sqrt.approx.f32"),
        SQRT_FTZ: plain("llvm.nvvm.sqrt.approx.ftz.f", "sqrt.approx.ftz.f32"),
        BALLOT: ordered("llvm.nvvm.vote.ballot.sync", "vote.sync.ballot.b32", &[1, 0]),
        // The same of what is equal in all lanes, so that it does not matter which of them take part.
        SAME_FOR_ALL: pure("llvm.nvvm.shfl.sync.idx.i32", Form::Ordered("shfl.sync.idx.b32", &[1, 2, 3, 0])),
    }
    others {
        plain("llvm.nvvm.mulhi.i", "mul.hi.s32"),
        plain("llvm.nvvm.mulhi.ui", "mul.hi.u32"),
        effect("llvm.nvvm.barrier.cta.sync.aligned.all", "barrier.sync.aligned"),
        effect("llvm.nvvm.barrier.cta.sync.aligned.count", "barrier.sync.aligned"),
        effect("llvm.nvvm.barrier.sync", "barrier.sync"),
        effect("llvm.nvvm.cp.async.commit.group", "cp.async.commit_group"),
        effect("llvm.nvvm.cp.async.wait.all", "cp.async.wait_all"),
        effect("llvm.nvvm.cp.async.wait.group", "cp.async.wait_group"),
        plain("llvm.nvvm.div.full.ftz", "div.full.ftz.f32"),
        plain("llvm.nvvm.div.rn.f", "div.rn.f32"),
        plain("llvm.nvvm.div.rn.d", "div.rn.f64"),
        effect("llvm.nvvm.membar.cta", "membar.cta"),
        effect("llvm.nvvm.membar.gl", "membar.gl"),
        effect("llvm.nvvm.membar.sys", "membar.sys"),
        effect("llvm.nvvm.nanosleep", "nanosleep.u32"),
        plain("llvm.nvvm.prmt", "prmt.b32"),
        plain("llvm.nvvm.rcp.rn.d", "rcp.rn.f64"),
        plain("llvm.nvvm.rcp.rn.f", "rcp.rn.f32"),
        special("llvm.nvvm.read.ptx.sreg.activemask", "%activemask"),
        special("llvm.nvvm.read.ptx.sreg.clock", "%clock"),
        special("llvm.nvvm.read.ptx.sreg.clock64", "%clock64"),
        special("llvm.nvvm.read.ptx.sreg.cluster.ctaid.x", "%cluster_ctaid.x"),
        special("llvm.nvvm.read.ptx.sreg.cluster.ctaid.y", "%cluster_ctaid.y"),
        special("llvm.nvvm.read.ptx.sreg.cluster.ctaid.z", "%cluster_ctaid.z"),
        special("llvm.nvvm.read.ptx.sreg.cluster.nctarank", "%cluster_nctarank"),
        special("llvm.nvvm.read.ptx.sreg.clusterid.x", "%clusterid.x"),
        special("llvm.nvvm.read.ptx.sreg.clusterid.y", "%clusterid.y"),
        special("llvm.nvvm.read.ptx.sreg.clusterid.z", "%clusterid.z"),
        special("llvm.nvvm.read.ptx.sreg.globaltimer", "%globaltimer"),
        special("llvm.nvvm.read.ptx.sreg.nclusterid.x", "%nclusterid.x"),
        special("llvm.nvvm.read.ptx.sreg.nclusterid.y", "%nclusterid.y"),
        special("llvm.nvvm.read.ptx.sreg.nclusterid.z", "%nclusterid.z"),
        special("llvm.nvvm.read.ptx.sreg.smid", "%smid"),
        special("llvm.nvvm.read.ptx.sreg.warpid", "%warpid"),
        ordered("llvm.nvvm.redux.sync.add", "redux.sync.add.s32", &[0, 1]),
        plain("llvm.nvvm.rsqrt.approx.d", "rsqrt.approx.f64"),
        ordered("llvm.nvvm.shfl.sync.bfly.f32", "shfl.sync.bfly.b32", &[1, 2, 3, 0]),
        ordered("llvm.nvvm.shfl.sync.down.f32", "shfl.sync.down.b32", &[1, 2, 3, 0]),
        ordered("llvm.nvvm.shfl.sync.idx.f32", "shfl.sync.idx.b32", &[1, 2, 3, 0]),
        ordered("llvm.nvvm.shfl.sync.up.f32", "shfl.sync.up.b32", &[1, 2, 3, 0]),
        plain("llvm.nvvm.sqrt.rn.f", "sqrt.rn.f32"),
        ordered("llvm.nvvm.vote.all.sync", "vote.sync.all.pred", &[1, 0]),
        ordered("llvm.nvvm.vote.any.sync", "vote.sync.any.pred", &[1, 0]),
    }
}

#[cfg(test)]
mod tests {
    use super::{BARRIER, Form, ROWS, Row, SAME_FOR_ALL, SHUFFLE_INDEX, mnemonic};
    use llir::{Callee, Purity, Type};
    use ptx_isa::Role;

    #[test]
    fn every_instruction_is_in_the_table() {
        for row in ROWS {
            let (Form::Plain(text) | Form::Ordered(text, _)) = row.form else { continue };
            assert!(ptx_isa::find(mnemonic(text)).is_some(), "`{text}` of `{}`", row.name);
        }
    }

    #[test]
    fn rows_are_found_by_themselves_and_by_name() {
        let read = |name| Row::of(&Callee::new(name, Type::VOID, Vec::new(), Purity::Impure));
        for row in ROWS.iter().filter(|row| row.intrinsic != SAME_FOR_ALL.intrinsic) {
            assert!(read(row.name).is_some_and(|found| found.intrinsic == row.intrinsic), "{}", row.name);
        }
        assert_eq!((BARRIER.role(), SHUFFLE_INDEX.role()), (Role::Barrier, Role::Shuffle));
        assert!(read("llvm.nvvm.fmax").is_none());
        let mut callee = Callee::new(SAME_FOR_ALL.name, Type::I32, Vec::new(), Purity::Pure);
        callee.intrinsic = Some(&SAME_FOR_ALL);
        assert!(Row::of(&callee).is_some_and(|found| found.intrinsic == SAME_FOR_ALL.intrinsic));
    }
}
