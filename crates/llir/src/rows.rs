//! The table of instructions: one row each with its mnemonic, its format, what it operates on, its flags.
//!
//! Builder, printer and verifier read the row; none of them lists instructions. What differs in *form* is in
//! [`Format`], and code matches on that alone.

use crate::flags::Flags;

/// How an instruction is written and which payload it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `op T a, b`; the result has the type of the operands.
    Binary,
    /// `op T a`; the result has the type of the operand.
    Unary,
    /// `op pred T a, b`; the result is `i1` per lane.
    Compare,
    /// `op T a to U`.
    Cast,
    /// `select C c, T a, T b`.
    Select,
    /// `load T, ptr p, align N`.
    Load,
    /// `store T v, ptr p, align N`.
    Store,
    /// `getelementptr E, ptr p, I i`.
    Gep,
    /// `atomicrmw kind ptr p, T v ordering`.
    AtomicRmw,
    /// `cmpxchg ptr p, T expected, T new ordering ordering`.
    CmpXchg,
    /// `fence ordering`.
    Fence,
    /// `extractelement V v, I i`.
    Extract,
    /// `insertelement V v, T x, I i`.
    Insert,
    /// `shufflevector V a, V b, <N x i32> mask`.
    Shuffle,
    /// `extractvalue P p, N`.
    ExtractValue,
    /// `call T @f(...)`.
    Call,
    /// `call T %f(...)`; the first operand is the function's address.
    CallIndirect,
    /// `call T asm "...", "..."(...)`.
    Asm,
    /// `alloca T, align N`.
    Alloca,
    /// `br label`.
    Jump,
    /// `br i1 c, label, label`.
    Branch,
    /// `switch T v, label [...]`.
    Switch,
    /// `ret T v` or `ret void`.
    Return,
    /// `unreachable`.
    Unreachable,
}

/// What lanes an operand or a result may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Addresses.
    Ptr,
    /// Integers or addresses.
    IntOrPtr,
    /// Anything but void and structures.
    Any,
}

impl Lanes {
    /// Whether a type has such lanes.
    pub fn admits(self, ty: crate::Type) -> bool {
        match self {
            Lanes::Int => ty.is_int(),
            Lanes::Float => ty.is_float(),
            Lanes::Ptr => ty.is_ptr(),
            Lanes::IntOrPtr => ty.is_int() || ty.is_ptr(),
            Lanes::Any => !ty.is_void() && !ty.is_structure(),
        }
    }
}

/// How the width of a lane changes in a cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// The result is narrower.
    Narrower,
    /// The result is wider.
    Wider,
    /// Width does not matter.
    Free,
    /// All bits together stay the same number.
    SameTotal,
}

/// What an instruction does besides giving its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: equal operands give equal results, and an unused one may go.
    Pure,
    /// It touches memory or stops the program.
    Memory,
    /// It ends a block.
    Terminator,
    /// The callee knows.
    Callee,
}

/// The facts about one instruction.
#[derive(Debug)]
pub struct Row {
    /// LLVM's mnemonic.
    pub name: &'static str,
    /// How it is written.
    pub format: Format,
    /// What its operands are, where the format leaves a choice.
    pub operand: Lanes,
    /// What its result is, where the format leaves a choice.
    pub result: Lanes,
    /// How a cast changes the width.
    pub width: Width,
    /// What it does.
    pub effect: Effect,
    /// Flags it may carry.
    pub flags: Flags,
    /// Whether operands may be swapped.
    pub commutes: bool,
}

/// An instruction: the number of its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op(u8);

impl Op {
    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The number of its row.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// All instructions.
    pub fn all() -> impl Iterator<Item = Op> {
        (0..ROWS.len() as u8).map(Op)
    }
}

/// Makes the table and a constant for each row.
///
/// `ADD "add" Binary(Int) Pure [WRAP] commutes;` becomes `Op::ADD` and its row.
macro_rules! rows {
    ($($id:ident $name:literal $format:ident $(($operand:ident $(=> $result:ident, $width:ident)?))? $effect:ident
        [$($flag:ident)*] $($commutes:ident)?;)*) => {
        const ROWS: &[Row] = &[$(Row {
            name: $name,
            format: Format::$format,
            operand: first!(Lanes $($operand)?),
            result: first!(Lanes $($($result)?)?),
            width: first!(Width $($($width)?)?),
            effect: Effect::$effect,
            flags: first!(Flags $($flag)*),
            commutes: first!(bool $($commutes)?),
        }),*];
        numbered!(0u8; $($id $name)*);
    };
}

/// The value given, or the default of its column.
macro_rules! first {
    (Lanes) => {
        Lanes::Any
    };
    (Lanes $name:ident) => {
        Lanes::$name
    };
    (Width) => {
        Width::Free
    };
    (Width $name:ident) => {
        Width::$name
    };
    (Flags) => {
        Flags::NONE
    };
    (Flags $name:ident) => {
        Flags::$name
    };
    (bool) => {
        false
    };
    (bool $name:ident) => {
        true
    };
}

/// A constant for each row, counting up.
macro_rules! numbered {
    ($n:expr;) => {};
    ($n:expr; $id:ident $name:literal $($rest:tt)*) => {
        impl Op {
            #[doc = concat!("`", $name, "`")]
            pub const $id: Op = Op($n);
        }
        numbered!($n + 1; $($rest)*);
    };
}

rows! {
    ADD "add" Binary(Int) Pure [WRAP] commutes;
    SUB "sub" Binary(Int) Pure [WRAP];
    MUL "mul" Binary(Int) Pure [WRAP] commutes;
    SDIV "sdiv" Binary(Int) Pure [EXACT];
    UDIV "udiv" Binary(Int) Pure [EXACT];
    SREM "srem" Binary(Int) Pure [];
    UREM "urem" Binary(Int) Pure [];
    SHL "shl" Binary(Int) Pure [WRAP];
    LSHR "lshr" Binary(Int) Pure [EXACT];
    ASHR "ashr" Binary(Int) Pure [EXACT];
    AND "and" Binary(Int) Pure [] commutes;
    OR "or" Binary(Int) Pure [] commutes;
    XOR "xor" Binary(Int) Pure [] commutes;
    FADD "fadd" Binary(Float) Pure [FLOAT] commutes;
    FSUB "fsub" Binary(Float) Pure [FLOAT];
    FMUL "fmul" Binary(Float) Pure [FLOAT] commutes;
    FDIV "fdiv" Binary(Float) Pure [FLOAT];
    FREM "frem" Binary(Float) Pure [FLOAT];
    FNEG "fneg" Unary(Float) Pure [FLOAT];
    FREEZE "freeze" Unary(Any) Pure [];
    ICMP "icmp" Compare(IntOrPtr) Pure [];
    FCMP "fcmp" Compare(Float) Pure [FLOAT];
    SELECT "select" Select Pure [FLOAT];
    TRUNC "trunc" Cast(Int => Int, Narrower) Pure [];
    ZEXT "zext" Cast(Int => Int, Wider) Pure [];
    SEXT "sext" Cast(Int => Int, Wider) Pure [];
    FPTRUNC "fptrunc" Cast(Float => Float, Narrower) Pure [];
    FPEXT "fpext" Cast(Float => Float, Wider) Pure [];
    FPTOSI "fptosi" Cast(Float => Int, Free) Pure [];
    FPTOUI "fptoui" Cast(Float => Int, Free) Pure [];
    SITOFP "sitofp" Cast(Int => Float, Free) Pure [];
    UITOFP "uitofp" Cast(Int => Float, Free) Pure [];
    PTRTOINT "ptrtoint" Cast(Ptr => Int, Free) Pure [];
    INTTOPTR "inttoptr" Cast(Int => Ptr, Free) Pure [];
    ADDRSPACECAST "addrspacecast" Cast(Ptr => Ptr, Free) Pure [];
    BITCAST "bitcast" Cast(Any => Any, SameTotal) Pure [];
    EXTRACT "extractelement" Extract Pure [];
    INSERT "insertelement" Insert Pure [];
    SHUFFLE "shufflevector" Shuffle Pure [];
    EXTRACT_VALUE "extractvalue" ExtractValue Pure [];
    GEP "getelementptr" Gep Pure [INBOUNDS];
    LOAD "load" Load Memory [VOLATILE];
    STORE "store" Store Memory [VOLATILE];
    ATOMIC_RMW "atomicrmw" AtomicRmw Memory [VOLATILE];
    CMPXCHG "cmpxchg" CmpXchg Memory [VOLATILE];
    FENCE "fence" Fence Memory [];
    ALLOCA "alloca" Alloca Memory [];
    CALL "call" Call Callee [FLOAT];
    CALL_INDIRECT "call" CallIndirect Memory [FLOAT];
    ASM "call" Asm Callee [];
    JUMP "br" Jump Terminator [];
    BRANCH "br" Branch Terminator [];
    SWITCH "switch" Switch Terminator [];
    RETURN "ret" Return Terminator [];
    UNREACHABLE "unreachable" Unreachable Terminator [];
}
