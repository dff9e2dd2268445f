//! Instructions as PTX has them, over virtual registers, before those are named.
//!
//! Registers have a class by width alone; PTX lets an untyped register of the right width stand for any type.

use cranelift_entity::{PrimaryMap, entity_impl};
use llir::{Block, Location};
use smallvec::SmallVec;
use std::borrow::Cow;

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Reg(u32);
entity_impl!(Reg, "reg");

/// How wide a register is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Class {
    /// A truth value.
    Pred,
    /// 16 bits; 8-bit values live here too, their upper bits undefined.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl Class {
    /// All of them, in the order they are declared.
    pub(crate) const ALL: [Class; 4] = [Class::Pred, Class::B16, Class::B32, Class::B64];

    /// What names of such registers begin with.
    pub(crate) fn prefix(self) -> &'static str {
        ["%p", "%rs", "%r", "%rd"][self as usize]
    }

    /// The type they are declared with.
    pub(crate) fn ty(self) -> &'static str {
        [".pred", ".b16", ".b32", ".b64"][self as usize]
    }

    /// The instruction that copies one.
    pub(crate) fn mov(self) -> &'static str {
        ["mov.pred", "mov.b16", "mov.b32", "mov.b64"][self as usize]
    }

    /// Bits of one.
    pub(crate) fn bits(self) -> u32 {
        [1, 16, 32, 64][self as usize]
    }
}

/// What an instruction reads or writes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Operand {
    /// A register.
    Reg(Reg),
    /// An integer.
    Int(i64),
    /// The bits of a 32-bit float.
    F32(u32),
    /// The bits of a 64-bit float.
    F64(u64),
    /// A name: of a variable, a special register, a barrier.
    Name(Cow<'static, str>),
    /// A place in memory: what it begins at, and bytes from there.
    Address(Base, i64),
    /// Several in braces.
    List(Vec<Operand>),
    /// Nowhere.
    Sink,
}

/// What an address begins at.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Base {
    /// The value of a register.
    Reg(Reg),
    /// A variable.
    Name(Cow<'static, str>),
    /// A number.
    Absolute,
}

/// How an instruction is written.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    /// A mnemonic, then the operands.
    Plain(Cow<'static, str>),
    /// The result is a copy of the operand.
    Copy,
    /// Text of its own.
    Asm(Box<AsmText>),
    /// A call.
    Call(Box<CallText>),
}

/// Inline assembly: text with places for operands.
#[derive(Clone, Debug)]
pub(crate) struct AsmText {
    /// What is printed, but for the operands.
    pub(crate) text: String,
    /// Where operands stand in it, in order: before which byte, and the position of the operand.
    pub(crate) places: Vec<(usize, usize)>,
    /// Pairs of results and operands that must share a register, as positions in the operands.
    pub(crate) ties: SmallVec<[(usize, usize); 4]>,
    /// Whether results may be written before all operands are read.
    pub(crate) early: bool,
}

/// A call: what is called, and the types of its result and parameters.
#[derive(Clone, Debug)]
pub(crate) struct CallText {
    /// The symbol.
    pub(crate) name: String,
    /// Bits of each register of the result.
    pub(crate) results: SmallVec<[u32; 1]>,
    /// Bits of the parameters.
    pub(crate) params: SmallVec<[u32; 4]>,
}

/// One instruction. The first `defs` operands are results.
#[derive(Clone, Debug)]
pub(crate) struct MInst {
    /// How it is written.
    pub(crate) text: Text,
    /// How many of the operands are results.
    pub(crate) defs: usize,
    /// Results, then operands.
    pub(crate) operands: SmallVec<[Operand; 4]>,
    /// Where it comes from.
    pub(crate) location: Option<Location>,
}

/// Values that a jump hands to the registers of the block it goes to.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// The block.
    pub(crate) block: Block,
    /// Registers and what they get, all at once.
    pub(crate) copies: Vec<(Reg, Operand)>,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// Out of the function, with these results.
    Return(SmallVec<[Operand; 1]>),
    /// Nowhere.
    Unreachable,
    /// To one block.
    Jump(Edge),
    /// To one of two blocks: the first when the register holds.
    Branch {
        /// What is asked.
        condition: Reg,
        /// Where to when it holds, and when not.
        edges: [Edge; 2],
        /// Whether all lanes go the same way.
        uniform: bool,
    },
    /// By the first of the registers that holds, else to the last edge.
    Switch(Vec<Reg>, Vec<Edge>),
}

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct MBlock {
    /// Which.
    pub(crate) block: Block,
    /// The registers of its parameters.
    pub(crate) params: Vec<Reg>,
    /// Its instructions.
    pub(crate) insts: Vec<MInst>,
    /// Its end.
    pub(crate) end: End,
}

/// A function whose instructions are chosen.
#[derive(Clone, Debug)]
pub(crate) struct MFunction {
    /// The blocks in the order of the text.
    pub(crate) blocks: Vec<MBlock>,
    /// The classes of the registers.
    pub(crate) regs: PrimaryMap<Reg, Class>,
    /// Bytes and alignment of the memory on the stack.
    pub(crate) stack: (u64, u32),
}

impl Operand {
    /// Several in braces.
    pub(crate) fn list(operands: impl IntoIterator<Item = Operand>) -> Operand {
        Operand::List(operands.into_iter().collect())
    }

    /// Calls `f` with every register in here.
    pub(crate) fn each_reg(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Operand::Reg(reg) | Operand::Address(Base::Reg(reg), _) => f(*reg),
            Operand::List(list) => list.iter().for_each(|operand| operand.each_reg(f)),
            _ => {}
        }
    }
}

impl MInst {
    /// Calls `f` with every register that is read.
    pub(crate) fn each_use(&self, mut f: impl FnMut(Reg)) {
        self.operands[self.defs..].iter().for_each(|operand| operand.each_reg(&mut f));
    }

    /// Calls `f` with every register that is written.
    pub(crate) fn each_def(&self, mut f: impl FnMut(Reg)) {
        self.operands[..self.defs].iter().for_each(|operand| operand.each_reg(&mut f));
    }
}

impl End {
    /// Where it may go.
    pub(crate) fn edges(&self) -> &[Edge] {
        match self {
            End::Return(_) | End::Unreachable => &[],
            End::Jump(edge) => std::slice::from_ref(edge),
            End::Branch { edges, .. } => edges,
            End::Switch(_, edges) => edges,
        }
    }

    /// The same, to be changed.
    pub(crate) fn edges_mut(&mut self) -> &mut [Edge] {
        match self {
            End::Return(_) | End::Unreachable => &mut [],
            End::Jump(edge) => std::slice::from_mut(edge),
            End::Branch { edges, .. } => edges,
            End::Switch(_, edges) => edges,
        }
    }

    /// Calls `f` with every register that is read, what edges hand on included.
    pub(crate) fn each_use(&self, mut f: impl FnMut(Reg)) {
        match self {
            End::Return(operands) => operands.iter().for_each(|operand| operand.each_reg(&mut f)),
            End::Branch { condition, .. } => f(*condition),
            End::Switch(conditions, _) => conditions.iter().copied().for_each(&mut f),
            End::Jump(_) | End::Unreachable => {}
        }
        for (_, source) in self.edges().iter().flat_map(|edge| &edge.copies) {
            source.each_reg(&mut f);
        }
    }
}

/// Functions for tests.
#[cfg(test)]
pub(super) mod testing {
    use super::{AsmText, Edge, End, MBlock, MFunction, MInst, Text};
    use cranelift_entity::{EntityRef, PrimaryMap};
    use llir::Block;
    use smallvec::SmallVec;

    /// A block of these instructions, each so many times, that goes to another or out of the function.
    pub(crate) fn block(number: usize, mnemonics: &[(&'static str, usize)], targets: &[usize]) -> MBlock {
        let asm = |text: &str| AsmText {
            text: text.into(),
            places: Vec::new(),
            ties: SmallVec::new(),
            early: false,
        };
        let inst = |name: &'static str| MInst {
            text: if name.starts_with("mma") {
                Text::Asm(Box::new(asm(name)))
            } else {
                Text::Plain(name.into())
            },
            defs: 0,
            operands: SmallVec::new(),
            location: None,
        };
        let insts =
            mnemonics.iter().flat_map(|(name, count)| std::iter::repeat_n(inst(name), *count)).collect();
        let edges = targets.iter().map(|target| Edge { block: Block::new(*target), copies: Vec::new() });
        let end = match targets {
            [] => End::Return(SmallVec::new()),
            _ => End::Switch(Vec::new(), edges.collect()),
        };
        MBlock { block: Block::new(number), params: Vec::new(), insts, end }
    }

    /// A function of blocks without registers.
    pub(crate) fn function(blocks: Vec<MBlock>) -> MFunction {
        MFunction { blocks, regs: PrimaryMap::new(), stack: (0, 1) }
    }
}
