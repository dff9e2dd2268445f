//! Functions: values, instructions, and blocks with parameters.
//!
//! Rules, which [`crate::verify`] checks:
//! - Every value has one definition, which dominates its uses.
//! - A block ends in exactly one terminator and has none before its end. The entry block is the first of the layout
//!   and has no predecessors and no block parameters; the function's parameters are values of their own.
//! - A jump passes one argument per parameter of the block it goes to. A terminator that names a block twice must
//!   pass the same arguments both times.

use crate::asm::Asm;
use crate::constant::Constant;
use crate::flags::Flags;
use crate::location::Location;
use crate::rows::Op;
use crate::types::Type;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A value: a constant, a parameter, or the result of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "bb");

/// A function of a module, defined or only declared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(u32);
entity_impl!(FuncId, "fn");

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// It is a constant.
    Constant(Box<Constant>),
    /// It is a parameter of the function.
    Param(u32),
    /// It is a parameter of a block.
    BlockParam(Block, u32),
    /// It is the result of an instruction.
    Inst(Inst),
}

/// A value's type and origin.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: ValueDef,
}

/// A jump's goal and what it passes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BlockCall {
    /// The block.
    pub block: Block,
    /// One value per parameter of the block.
    pub args: SmallVec<[Value; 4]>,
}

/// How memory is touched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// The address is a multiple of so many bytes.
    pub align: u32,
    /// The data should not stay in the caches.
    pub nontemporal: bool,
    /// Nobody writes this memory while the function runs.
    pub invariant: bool,
    /// The ordering of an atomic access; `None` for a plain one.
    pub ordering: Option<Ordering>,
    /// Among whom it is atomic.
    pub scope: SyncScope,
}

impl Memory {
    /// A plain access of such alignment.
    pub const fn aligned(align: u32) -> Memory {
        Memory { align, nontemporal: false, invariant: false, ordering: None, scope: SyncScope::System }
    }
}

/// Orderings of atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ordering {
    /// No ordering.
    Monotonic,
    /// Later accesses stay behind.
    Acquire,
    /// Earlier accesses stay before.
    Release,
    /// Both.
    AcqRel,
    /// One order for all.
    SeqCst,
}

impl Ordering {
    /// LLVM's word.
    pub fn word(self) -> &'static str {
        match self {
            Ordering::Monotonic => "monotonic",
            Ordering::Acquire => "acquire",
            Ordering::Release => "release",
            Ordering::AcqRel => "acq_rel",
            Ordering::SeqCst => "seq_cst",
        }
    }

    /// The ordering a failed compare-and-exchange may have at most.
    #[must_use]
    pub fn on_failure(self) -> Ordering {
        match self {
            Ordering::Release => Ordering::Monotonic,
            Ordering::AcqRel => Ordering::Acquire,
            other => other,
        }
    }
}

/// An enum whose variants are words of LLVM.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All of them.
            pub(crate) const ALL: &[$name] = &[$($name::$variant),*];

            /// LLVM's word.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }
    };
}

words! {
    /// Among whom an atomic access is atomic, and a fence orders.
    SyncScope {
        /// All lanes of all devices, and the host; LLVM has no word for it.
        System "",
        /// The lanes of one device.
        Agent "agent",
        /// The lanes that share memory of their own.
        Workgroup "workgroup",
        /// The same lanes, for each kind of memory by itself.
        Shared "workgroup-one-as",
        /// The lanes that run in step.
        Wavefront "wavefront",
    }
}

words! {
    /// What an integer comparison asks.
    IntCompare {
        /// Equal.
        Eq "eq",
        /// Not equal.
        Ne "ne",
        /// Signed less.
        Slt "slt",
        /// Signed less or equal.
        Sle "sle",
        /// Signed greater.
        Sgt "sgt",
        /// Signed greater or equal.
        Sge "sge",
        /// Unsigned less.
        Ult "ult",
        /// Unsigned less or equal.
        Ule "ule",
        /// Unsigned greater.
        Ugt "ugt",
        /// Unsigned greater or equal.
        Uge "uge",
    }
}

words! {
    /// What a float comparison asks: ordered ones are false, unordered ones true, when there is a NaN.
    FloatCompare {
        /// Ordered and equal.
        Oeq "oeq",
        /// Ordered and greater.
        Ogt "ogt",
        /// Ordered and greater or equal.
        Oge "oge",
        /// Ordered and less.
        Olt "olt",
        /// Ordered and less or equal.
        Ole "ole",
        /// Ordered and not equal.
        One "one",
        /// No NaN.
        Ord "ord",
        /// A NaN.
        Uno "uno",
        /// Unordered or equal.
        Ueq "ueq",
        /// Unordered or greater.
        Ugt "ugt",
        /// Unordered or greater or equal.
        Uge "uge",
        /// Unordered or less.
        Ult "ult",
        /// Unordered or less or equal.
        Ule "ule",
        /// Unordered or not equal.
        Une "une",
    }
}

words! {
    /// What an `atomicrmw` does to the memory.
    Rmw {
        /// Stores the value.
        Xchg "xchg",
        /// Adds integers.
        Add "add",
        /// Subtracts integers.
        Sub "sub",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
        /// Signed maximum.
        Max "max",
        /// Signed minimum.
        Min "min",
        /// Unsigned maximum.
        UMax "umax",
        /// Unsigned minimum.
        UMin "umin",
        /// Adds floats.
        FAdd "fadd",
        /// Subtracts floats.
        FSub "fsub",
        /// The larger float, numbers before NaN.
        FMax "fmax",
        /// The smaller float, numbers before NaN.
        FMin "fmin",
    }
}

/// What an instruction carries besides operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Payload {
    /// Nothing.
    None,
    /// What an integer comparison asks.
    IntCompare(IntCompare),
    /// What a float comparison asks.
    FloatCompare(FloatCompare),
    /// How memory is touched.
    Memory(Memory),
    /// The type that a `getelementptr` counts in, or that an `alloca` makes.
    Element(Type, u32),
    /// Which lanes a shuffle takes; -1 is poison.
    Mask(Box<[i32]>),
    /// The part of a structure.
    Index(u32),
    /// The operation of an `atomicrmw` and how memory is touched.
    Rmw(Rmw, Memory),
    /// The ordering of a fence.
    Fence(Ordering, SyncScope),
    /// The callee.
    Callee(FuncId),
    /// Inline assembly.
    Asm(Box<Asm>),
    /// The cases of a switch; target 0 is the default.
    Cases(Box<[u128]>),
    /// How often the first and the second target of a branch are taken.
    Weights(u32, u32),
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InstData {
    /// Which.
    pub op: Op,
    /// The type of its result.
    pub ty: Type,
    /// Its flags.
    pub flags: Flags,
    /// Its operands.
    pub operands: SmallVec<[Value; 4]>,
    /// What else it carries.
    pub payload: Payload,
    /// Where a terminator goes.
    pub targets: Vec<BlockCall>,
}

impl InstData {
    /// Bytes of one element of an address that it computes.
    pub fn element_bytes(&self) -> Option<i64> {
        match self.payload {
            Payload::Element(element, _) => {
                Some(i64::from(element.lane_bytes()) * i64::from(element.lanes()))
            }
            _ => None,
        }
    }

    /// An instruction with operands only.
    pub fn new(op: Op, ty: Type, operands: &[Value]) -> InstData {
        InstData {
            op,
            ty,
            flags: Flags::NONE,
            operands: SmallVec::from_slice(operands),
            payload: Payload::None,
            targets: Vec::new(),
        }
    }

    /// The same with a payload.
    #[must_use]
    pub fn with(mut self, payload: Payload) -> InstData {
        self.payload = payload;
        self
    }

    /// The same with flags.
    #[must_use]
    pub fn flagged(mut self, flags: Flags) -> InstData {
        self.flags = flags;
        self
    }
}

/// A block's parameters and instructions.
#[derive(Clone, Default, Debug)]
pub struct BlockData {
    /// Its parameters.
    pub params: Vec<Value>,
    /// Its instructions, the last a terminator.
    pub insts: Vec<Inst>,
}

/// Who sees a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Everybody: the entry of a kernel.
    External,
    /// This module alone.
    Internal,
}

/// What may be assumed of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ParamAttributes {
    /// Memory reached through it is reached through nothing else.
    pub noalias: bool,
    /// It is only read through.
    pub readonly: bool,
    /// It is not null.
    pub nonnull: bool,
    /// It is never undefined.
    pub noundef: bool,
    /// The address is a multiple of so many bytes; 0 and 1 say nothing.
    pub align: u32,
    /// It is passed in a register that all lanes share, where the machine has such.
    pub in_register: bool,
    /// So many bytes may be read; 0 says nothing.
    pub dereferenceable: u64,
    /// The parameter itself holds so many bytes, and the function sees their address; 0 for an ordinary one.
    pub by_value: u32,
}

/// That the host launches a function, and with how many lanes. Only the convention is printed; a target says the rest
/// in [`Function::attributes`] where LLVM is to know it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Kernel {
    /// LLVM's word for the calling convention; empty for that of functions.
    pub convention: String,
    /// Exactly so many lanes in a thread block.
    pub lanes: Option<[u32; 3]>,
    /// At most so many lanes in a thread block.
    pub max_lanes: Option<u32>,
    /// At least so many thread blocks on an SM at a time.
    pub min_blocks: Option<u32>,
    /// At most so many registers for a lane.
    pub max_registers: Option<u32>,
    /// So many thread blocks in a cluster.
    pub cluster: Option<[u32; 3]>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its type.
    pub ty: Type,
    /// A name for people, unique in the function; empty for none.
    pub name: String,
    /// What may be assumed.
    pub attributes: ParamAttributes,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Who sees it.
    pub linkage: Linkage,
    /// Its result.
    pub ret: Type,
    /// Its parameters.
    pub params: Vec<Param>,
    /// LLVM's function attributes, as text: `nounwind`, `"prefer-vector-width"="512"`.
    pub attributes: Vec<String>,
    /// Set for what the host launches.
    pub kernel: Option<Kernel>,
    /// Where it is defined.
    pub location: Option<Location>,
    /// Blocks in the order they are printed; the first is the entry.
    pub layout: Vec<Block>,
    pub(crate) values: PrimaryMap<Value, ValueData>,
    pub(crate) insts: PrimaryMap<Inst, InstData>,
    pub(crate) results: PrimaryMap<Inst, PackedOption<Value>>,
    pub(crate) blocks: PrimaryMap<Block, BlockData>,
    pub(crate) constants: FxHashMap<Constant, Value>,
    pub(crate) locations: PrimaryMap<Inst, Option<Location>>,
}

impl Function {
    /// A function without a body yet. Its parameters are the first values.
    pub fn new(name: &str, ret: Type, params: Vec<Param>) -> Function {
        let mut values = PrimaryMap::new();
        for (index, param) in params.iter().enumerate() {
            values.push(ValueData { ty: param.ty, def: ValueDef::Param(index as u32) });
        }
        Function {
            name: name.into(),
            linkage: Linkage::External,
            ret,
            params,
            attributes: Vec::new(),
            kernel: None,
            location: None,
            layout: Vec::new(),
            values,
            insts: PrimaryMap::new(),
            results: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            constants: FxHashMap::default(),
            locations: PrimaryMap::new(),
        }
    }

    /// A constant as a value; equal constants are one value.
    pub(crate) fn intern(&mut self, constant: Constant) -> Value {
        if let Some(value) = self.constants.get(&constant) {
            return *value;
        }
        let data = ValueData { ty: constant.ty, def: ValueDef::Constant(constant.clone().into()) };
        let value = self.values.push(data);
        self.constants.insert(constant, value);
        value
    }

    /// Makes room for so many further instructions.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.values.reserve(count);
        self.insts.reserve(count);
        self.results.reserve(count);
        self.locations.reserve(count);
    }

    /// A new instruction without a result, in no block yet.
    pub(crate) fn make(&mut self, data: InstData, location: Option<Location>) -> Inst {
        self.results.push(None.into());
        self.locations.push(location);
        self.insts.push(data)
    }

    /// A new instruction with its result, in no block yet.
    pub(crate) fn make_value(&mut self, data: InstData, location: Option<Location>) -> (Inst, Value) {
        let ty = data.ty;
        let inst = self.make(data, location);
        let value = self.values.push(ValueData { ty, def: ValueDef::Inst(inst) });
        self.results[inst] = value.into();
        (inst, value)
    }

    /// A map with room for something about each value there is.
    pub fn about_values<T: Clone + Default>(&self) -> SecondaryMap<Value, T> {
        let mut map = SecondaryMap::new();
        map.resize(self.values.len());
        map
    }

    /// How often each value is used.
    pub fn uses(&self) -> SecondaryMap<Value, u32> {
        let mut uses: SecondaryMap<Value, u32> = self.about_values();
        for inst in self.layout.iter().flat_map(|block| &self.block(*block).insts) {
            let data = self.inst(*inst);
            for value in data.operands.iter().chain(data.targets.iter().flat_map(|call| &call.args)) {
                uses[*value] += 1;
            }
        }
        uses
    }

    /// Where an instruction comes from.
    pub fn location_of(&self, inst: Inst) -> Option<Location> {
        self.locations[inst]
    }

    /// A value's type and origin.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value]
    }

    /// The constant behind a value, if it is one.
    pub fn constant(&self, value: Value) -> Option<&Constant> {
        match &self.values[value].def {
            ValueDef::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// The instruction that makes a value, if one does.
    pub fn defining(&self, value: Value) -> Option<&InstData> {
        match self.values[value].def {
            ValueDef::Inst(inst) => Some(&self.insts[inst]),
            _ => None,
        }
    }

    /// An instruction.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst]
    }

    /// The result of an instruction, if it has one.
    pub fn result(&self, inst: Inst) -> Option<Value> {
        self.results[inst].expand()
    }

    /// A block.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block]
    }

    /// How many instructions are in the blocks: the measure of compile time.
    pub fn len(&self) -> usize {
        self.layout.iter().map(|block| self.blocks[*block].insts.len()).sum()
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Where a block may go.
    pub fn targets(&self, block: Block) -> &[BlockCall] {
        match self.blocks[block].insts.last() {
            Some(inst) => &self.insts[*inst].targets,
            None => &[],
        }
    }
}
