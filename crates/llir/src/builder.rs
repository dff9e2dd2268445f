//! Builds a function instruction by instruction.
//!
//! Lowering code may be naive: constants are shared, trivial integer arithmetic is folded, and a pure instruction that
//! was already made in a block that dominates the current one is not made again (dominance is known from how the
//! control-flow helpers nest; for blocks made by hand it is assumed only of the entry, unless
//! [`FunctionBuilder::set_dominator`] says more). The builder never fails on wrong types: [`crate::verify`] reports
//! them.

mod arithmetic;
mod call;
mod control;
pub(crate) mod fold;
mod memory;
mod vector;

pub use control::{ForLoop, If, Values, While};

use crate::constant::{Constant, ConstantKind, mask};
use crate::flags::Flags;
use crate::function::{Block, BlockData, FuncId, Function, Inst, InstData, Value, ValueData, ValueDef};
use crate::known::{Key, Known};
use crate::location::Location;
use crate::module::Module;
use crate::rows::Effect;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// Appends instructions to a function of a module. Dropping it (or [`FunctionBuilder::finish`]) puts the function back.
#[derive(Debug)]
pub struct FunctionBuilder<'m> {
    module: &'m mut Module,
    id: FuncId,
    func: Function,
    current: Block,
    /// Flags that float instructions get.
    float_flags: Flags,
    /// Where further instructions come from.
    location: Option<Location>,
    /// For each block, one that dominates it, and how deep it is in that tree.
    dominators: SecondaryMap<Block, (Option<Block>, u32)>,
    /// Pure instructions made so far, with the blocks they are in.
    known: Known,
    /// Vectors whose lanes are all one scalar.
    splats: FxHashMap<Value, Value>,
    last_intrinsic: Option<call::LastIntrinsic>,
}

impl<'m> FunctionBuilder<'m> {
    /// Starts to fill the function `id`, which [`Module::add_function`] made, with its entry block as current.
    pub fn new(module: &'m mut Module, id: FuncId) -> FunctionBuilder<'m> {
        let callee = module.callee(id);
        let empty = Function::new(&callee.name, callee.ret, Vec::new());
        let mut func = module.bodies.remove(&id).unwrap_or(empty);
        func.reserve(Known::USUAL);
        let mut builder = FunctionBuilder {
            module,
            id,
            func,
            current: Block::from_u32(0),
            float_flags: Flags::NONE,
            location: None,
            dominators: SecondaryMap::new(),
            known: Known::new(),
            splats: FxHashMap::default(),
            last_intrinsic: None,
        };
        let entry = builder.func.blocks.push(BlockData::default());
        builder.func.layout.push(entry);
        builder.current = entry;
        builder
    }

    /// Ends the building: blocks that cannot be reached are dropped.
    pub fn finish(self) {}

    /// The module, to add data or declarations to.
    pub fn module(&mut self) -> &mut Module {
        self.module
    }

    /// The function so far.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// A parameter of the function.
    ///
    /// # Panics
    /// When there are not so many.
    pub fn param(&self, index: usize) -> Value {
        assert!(index < self.func.params.len(), "{} has no parameter {index}", self.func.name);
        Value::from_u32(index as u32)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.func.value(value).ty
    }

    /// A new block, to be filled after [`FunctionBuilder::switch_to`].
    pub fn create_block(&mut self) -> Block {
        self.func.blocks.push(BlockData::default())
    }

    /// A new parameter of a block.
    pub fn add_block_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.func.blocks[block].params.len() as u32;
        let value = self.func.values.push(ValueData { ty, def: ValueDef::BlockParam(block, index) });
        self.func.blocks[block].params.push(value);
        value
    }

    /// Further instructions go to the end of this block.
    pub fn switch_to(&mut self, block: Block) {
        if !self.func.layout.contains(&block) {
            self.func.layout.push(block);
        }
        self.current = block;
    }

    /// Promises that every way to `block` leads through `dominator`, whose values may then be used again in `block`.
    pub fn set_dominator(&mut self, block: Block, dominator: Block) {
        let depth = self.dominators[dominator].1 + 1;
        self.dominators[block] = (Some(dominator), depth);
    }

    /// The block that is being filled.
    pub fn current(&self) -> Block {
        self.current
    }

    /// Whether the current block has its terminator.
    pub fn is_terminated(&self) -> bool {
        let last = self.func.blocks[self.current].insts.last();
        last.is_some_and(|inst| self.func.insts[*inst].op.row().effect == Effect::Terminator)
    }

    /// The flags that float instructions get from now on; answers those before.
    pub fn set_float_flags(&mut self, flags: Flags) -> Flags {
        std::mem::replace(&mut self.float_flags, flags.and(Flags::FLOAT))
    }

    /// Where instructions come from, from now on; answers what was said before.
    pub fn set_loc(&mut self, location: Option<Location>) -> Option<Location> {
        std::mem::replace(&mut self.location, location)
    }

    /// A constant.
    pub fn constant(&mut self, constant: Constant) -> Value {
        self.func.intern(constant)
    }

    /// An integer (or every lane of a vector of them), cut to the width.
    pub fn int(&mut self, ty: Type, value: i64) -> Value {
        self.constant(Constant::bits(ty, i128::from(value) as u128))
    }

    /// An `i32`.
    pub fn i32(&mut self, value: i32) -> Value {
        self.int(Type::I32, i64::from(value))
    }

    /// An `i64`.
    pub fn i64(&mut self, value: i64) -> Value {
        self.int(Type::I64, value)
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) -> Value {
        self.int(Type::I1, i64::from(value))
    }

    /// A float (or every lane of a vector of them), rounded to the lane type.
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        self.constant(Constant::float(ty, value))
    }

    /// Bits in the lane type's own encoding, in every lane.
    pub fn bits(&mut self, ty: Type, bits: u128) -> Value {
        self.constant(Constant::bits(ty, bits))
    }

    /// A vector with these bits in its lanes.
    pub fn lanes(&mut self, ty: Type, lanes: &[u128]) -> Value {
        self.constant(Constant::lanes(ty, lanes))
    }

    /// 0, 1, 2, … in the lanes of an integer vector.
    pub fn iota(&mut self, ty: Type) -> Value {
        let lanes: Vec<u128> = (0..u128::from(ty.lanes())).collect();
        self.lanes(ty, &lanes)
    }

    /// Zero, false, null.
    pub fn zero(&mut self, ty: Type) -> Value {
        self.bits(ty, 0)
    }

    /// A value that must not matter.
    pub fn poison(&mut self, ty: Type) -> Value {
        self.constant(Constant { ty, kind: ConstantKind::Poison })
    }

    /// The address of a symbol: a function, or what [`Module::add_bytes`] and [`Module::add_table`] answered.
    pub fn symbol(&mut self, name: &str) -> Value {
        self.symbol_in(name, 0)
    }

    /// The address of a symbol in an address space.
    pub fn symbol_in(&mut self, name: &str, space: u8) -> Value {
        self.constant(Constant { ty: Type::pointer(space), kind: ConstantKind::Symbol(name.into()) })
    }

    /// The constant integer behind a value (the one that all lanes share), sign extended.
    pub fn as_int(&self, value: Value) -> Option<i128> {
        let constant = self.func.constant(value)?;
        let bits = constant.splat_bits()?;
        constant.ty.is_int().then(|| crate::constant::signed(bits, constant.ty.lane_bits()))
    }

    /// Whether a value is a constant with known bits, the same in all lanes.
    pub fn is_known(&self, value: Value) -> bool {
        self.func.constant(value).and_then(Constant::splat_bits).is_some()
    }

    /// Whether a value is a constant with all bits of all lanes zero.
    pub fn is_zero(&self, value: Value) -> bool {
        self.func.constant(value).and_then(Constant::splat_bits) == Some(0)
    }

    /// Whether a value is a constant with all bits of all lanes one: a mask that is always on.
    pub fn is_all_ones(&self, value: Value) -> bool {
        self.func
            .constant(value)
            .is_some_and(|constant| constant.splat_bits() == Some(mask(u128::MAX, constant.ty.lane_bits())))
    }

    /// Adds an instruction with a result, or finds the value it would have.
    pub fn emit(&mut self, mut data: InstData) -> Value {
        self.order_operands(&mut data);
        if let Some(value) = self.fold(&data) {
            return value;
        }
        if !self.module.is_pure(&data) {
            return self.push_with_result(data);
        }
        let key = Key::of(&data);
        let dominates = |block: Block| self.dominates(block, self.current);
        if let Some(value) = self.known.find(&self.func, (key, &data), dominates) {
            return value;
        }
        let value = self.push_with_result(data);
        self.known.add(key, self.current, value);
        value
    }

    /// Adds an instruction without a result.
    pub fn emit_void(&mut self, data: InstData) {
        self.append(data);
    }

    fn append(&mut self, data: InstData) -> Inst {
        let inst = self.func.make(data, self.location);
        self.func.blocks[self.current].insts.push(inst);
        inst
    }

    fn push_with_result(&mut self, data: InstData) -> Value {
        let (inst, value) = self.func.make_value(data, self.location);
        self.func.blocks[self.current].insts.push(inst);
        value
    }

    /// Puts the operands of a commuting instruction in one order, constants last.
    fn order_operands(&self, data: &mut InstData) {
        if data.op.row().commutes && data.operands.len() == 2 {
            let rank = |value: Value| (self.func.constant(value).is_some(), value);
            if rank(data.operands[0]) > rank(data.operands[1]) {
                data.operands.swap(0, 1);
            }
        }
    }

    /// Whether `block` is known to dominate `other`.
    fn dominates(&self, block: Block, other: Block) -> bool {
        let entry = self.func.layout[0];
        let mut walk = other;
        while self.dominators[walk].1 > self.dominators[block].1 {
            match self.dominators[walk].0 {
                Some(above) => walk = above,
                None => break,
            }
        }
        walk == block || block == entry
    }

    /// Drops blocks that cannot be reached from the entry.
    fn drop_unreachable(&mut self) {
        let mut reached: SecondaryMap<Block, bool> = SecondaryMap::new();
        let mut work: Vec<Block> = self.func.layout.first().copied().into_iter().collect();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                work.extend(self.func.targets(block).iter().map(|call| call.block));
            }
        }
        self.func.layout.retain(|block| reached[*block]);
    }
}

impl Drop for FunctionBuilder<'_> {
    fn drop(&mut self) {
        self.drop_unreachable();
        let func = std::mem::replace(&mut self.func, Function::new("", Type::VOID, Vec::new()));
        self.module.bodies.insert(self.id, func);
    }
}
