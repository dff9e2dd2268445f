//! The state of a lowering: the function that is built, what each value of the program is, facts about the machine.

use crate::affine::Affine;
use crate::copies::Copies;
use crate::error::{Result, at};
use crate::facts::{Facts, Notes, Options};
use crate::free_bits::first_copies;
use crate::layouts::layout_of;
use crate::roles::Roles;
use crate::shared::{self, Barrier, Planner};
use crate::target::LaneTarget;
use crate::types;
use crate::value::{LaneValue, Region};
use ir::{Block, Module, Op, OpRow, Traits, Type, Value as IrValue};
use layout::{Dim, LinearLayout};
use llir::{FuncId, FunctionBuilder, Location, Value, Values};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::rc::Rc;
use ttir::axis::AxisTable;

/// Lowers one operation.
pub type Handler = fn(&mut Cx<'_>, Op) -> Result<()>;

/// The numbers of this lane. All are `i32`.
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    /// In the program.
    pub thread: Value,
    /// In its warp.
    pub lane: Value,
    /// Of its warp in the program.
    pub warp: Value,
}

/// Warps that run one part of a kernel while others run other parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Role {
    /// The number of the barrier at which they meet.
    pub(crate) barrier: u32,
    /// The first of them among all warps of a launch.
    pub(crate) first_warp: u32,
    /// How many they are.
    pub(crate) num_warps: u32,
}

/// The state of the lowering of one function.
pub struct Cx<'a> {
    /// The program.
    pub module: &'a Module,
    /// The function that is built.
    pub b: FunctionBuilder<'a>,
    /// What the machine does in its own way.
    pub target: &'a dyn LaneTarget,
    /// What the caller wants.
    pub options: &'a Options,
    /// What is known of integers and addresses.
    pub axis: AxisTable,
    /// What a launch needs; grows on the way.
    pub facts: Facts,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Warps of a program.
    pub num_warps: u32,
    /// Thread blocks of a cluster, which run one program together.
    pub num_blocks: u32,
    ids: Ids,
    handler: fn(&'static OpRow) -> Option<Handler>,
    pub(crate) affine: Affine,
    /// Functions around.
    pub(crate) calls: Vec<Op>,
    /// Functions that are called, as far as they are made.
    pub(crate) functions: FxHashMap<Op, FuncId>,
    /// Plans of conversions.
    pub(crate) planner: Planner,
    /// Where buffers lie and barriers stand.
    pub(crate) shared: shared::SharedPlan,
    /// What is decided on the way, for who asks.
    pub(crate) notes: Option<Notes>,
    /// Bytes of the program's memory on the device that are given away.
    pub(crate) scratch_taken: u64,
    /// Who runs the code, where warps have roles, and the roles of the kernel.
    pub(crate) role: Option<Role>,
    pub(crate) roles: Option<Rc<Roles>>,
    /// The operation that is being lowered.
    pub(crate) current: Option<Op>,
    /// In which lanes a combining region runs on elements; in the others nothing becomes of its results, and what it
    /// asserts means nothing. In all lanes where there is none.
    pub(crate) combining: Option<Value>,
    /// Copies to shared memory that go on while the program does.
    pub(crate) copies: Copies,
    values: FxHashMap<IrValue, LaneValue>,
    layouts: FxHashMap<Type, Rc<LinearLayout>>,
}

/// Values of a kernel of the usual size.
const USUAL: usize = 256;

/// What [`Cx`] is made of.
pub(crate) struct CxParts<'a> {
    pub(crate) module: &'a Module,
    pub(crate) b: FunctionBuilder<'a>,
    pub(crate) target: &'a dyn LaneTarget,
    pub(crate) options: &'a Options,
    /// The handler of an operation that is no terminator.
    pub(crate) handler: fn(&'static OpRow) -> Option<Handler>,
    pub(crate) axis: AxisTable,
    pub(crate) facts: Facts,
    pub(crate) planner: Planner,
    pub(crate) shared: shared::SharedPlan,
}

impl<'a> Cx<'a> {
    /// Starts a kernel: the current block is the entry.
    pub(crate) fn new(parts: CxParts<'a>) -> Cx<'a> {
        let CxParts { module, mut b, target, options, handler, axis, facts, planner, shared } = parts;
        let (lanes, num_warps) = (planner.lanes, planner.num_warps);
        let thread = if planner.is_one_lane() { b.i32(0) } else { target.thread_id(&mut b) };
        let mask = b.i32(lanes as i32 - 1);
        let lane = b.and(thread, mask);
        let warp = if num_warps == 1 {
            b.i32(0)
        } else {
            let by = b.i32(lanes.trailing_zeros() as i32);
            let warp = b.lshr(thread, by);
            target.uniform(&mut b, warp)
        };
        let num_blocks = facts.num_blocks;
        Cx {
            module,
            b,
            target,
            options,
            axis,
            facts,
            lanes,
            num_warps,
            num_blocks,
            ids: Ids { thread, lane, warp },
            handler,
            affine: Affine::default(),
            calls: Vec::new(),
            functions: FxHashMap::default(),
            planner,
            shared,
            notes: None,
            scratch_taken: 0,
            role: None,
            roles: None,
            current: None,
            combining: None,
            copies: Copies::default(),
            values: FxHashMap::with_capacity_and_hasher(USUAL, FxBuildHasher),
            layouts: FxHashMap::default(),
        }
    }

    /// The numbers of this lane.
    pub fn ids(&mut self) -> Ids {
        self.ids
    }

    /// Says what the numbers of this lane are.
    pub(crate) fn set_ids(&mut self, ids: Ids) {
        self.ids = ids;
    }

    /// An error at an operation.
    pub fn error(&self, op: Op, message: impl Into<String>) -> crate::Error {
        at(self.module, op, message)
    }

    /// What a value is in one lane.
    ///
    /// # Errors
    /// When it has no meaning yet, which verified code never asks for.
    pub fn get(&self, value: IrValue) -> Result<LaneValue> {
        self.values.get(&value).cloned().ok_or_else(|| {
            crate::error::plain(format!(
                "a value of type {} is used before it is made",
                self.module.ty(value)
            ))
        })
    }

    /// Says what a value is in one lane.
    pub fn set(&mut self, value: IrValue, lane_value: LaneValue) {
        self.values.insert(value, lane_value);
    }

    /// Says what the only result of an operation is.
    pub fn set_result(&mut self, op: Op, lane_value: LaneValue) {
        let result = self.module.result(op, 0);
        self.set(result, lane_value);
    }

    /// Says what the only result of an operation is, by its registers; a scalar has one.
    pub fn set_registers(&mut self, op: Op, registers: Vec<Value>) {
        let is_tensor = ttir::types::is_tensor(self.module.ty(self.module.result(op, 0)));
        let value = match registers.first() {
            Some(only) if !is_tensor => LaneValue::Scalar(*only),
            _ => LaneValue::tensor(registers),
        };
        self.set_result(op, value);
    }

    /// The registers of a tensor; a scalar has one.
    ///
    /// # Errors
    /// When the value is no number or address, or a tensor of them.
    pub fn registers(&self, value: IrValue) -> Result<Rc<[Value]>> {
        match self.get(value)? {
            LaneValue::Tensor(registers) => Ok(registers),
            LaneValue::Scalar(value) => Ok([value].into()),
            _ => Err(crate::error::plain(format!("{} has no registers", self.module.ty(value)))),
        }
    }

    /// A scalar.
    ///
    /// # Errors
    /// When the value is no scalar.
    pub fn scalar(&self, value: IrValue) -> Result<Value> {
        match self.get(value)? {
            LaneValue::Scalar(value) => Ok(value),
            _ => Err(crate::error::plain(format!("{} is not a scalar", self.module.ty(value)))),
        }
    }

    /// The buffer of an operation in shared memory: what it allocates, or its scratch memory.
    pub(crate) fn scratch(&mut self, op: Op) -> Option<Region> {
        let offset = self.shared.offset(op)?;
        Some(Region { base: self.target.shared_base(&mut self.b), offset: i64::from(offset) })
    }

    /// The address of the scratch memory of an operation in shared memory.
    ///
    /// # Errors
    /// When it has none.
    pub fn scratch_address(&mut self, op: Op) -> Result<Value> {
        let Some(region) = self.scratch(op) else { return Err(self.error(op, "has no memory")) };
        let bytes = self.b.i32(region.offset as i32);
        Ok(self.add_pointer(region.base, bytes, 1))
    }

    /// The linear layout of a tensor type, with the inputs register, lane, warp, block.
    ///
    /// # Errors
    /// When the type has no layout.
    pub fn layout(&mut self, ty: Type) -> Result<Rc<LinearLayout>> {
        if let Some(layout) = self.layouts.get(&ty) {
            return Ok(layout.clone());
        }
        let layout = Rc::new(layout_of(ty)?);
        if layout.ins().bits(Dim::BLOCK) != self.num_blocks.ilog2() {
            let (own, blocks) = (1u32 << layout.ins().bits(Dim::BLOCK), self.num_blocks);
            let message = format!("{ty} is for {own} blocks of a cluster, the program has {blocks}");
            return Err(crate::error::plain(message));
        }
        self.layouts.insert(ty, layout.clone());
        Ok(layout)
    }

    /// How many registers a value of a type has; 1 for a scalar.
    ///
    /// # Errors
    /// As [`Cx::layout`].
    pub fn register_count(&mut self, ty: Type) -> Result<usize> {
        if !ttir::types::is_tensor(ty) {
            return Ok(1);
        }
        Ok(1 << self.layout(ty)?.ins().bits(Dim::REGISTER))
    }

    /// The type of a register of a type.
    pub fn register_type(&self, ty: Type) -> llir::Type {
        types::register(ty)
    }

    /// The sum of two integers, constants kept apart.
    pub fn add(&mut self, x: Value, y: Value) -> Value {
        self.affine.add_integers(&mut self.b, x, y)
    }

    /// A pointer moved by a number of elements of so many bytes, constants kept apart.
    pub fn add_pointer(&mut self, pointer: Value, index: Value, element_bytes: u32) -> Value {
        self.affine.move_pointer(&mut self.b, pointer, index, element_bytes)
    }

    /// A value as a part that varies and a constant; without the first it is that constant.
    pub fn split_constant(&self, value: Value) -> (Option<Value>, i64) {
        let sum = self.affine.split(&self.b, value);
        (sum.base, sum.constant)
    }

    /// A pointer as an address and a constant number of bytes.
    pub fn split_pointer(&self, pointer: Value) -> (Value, i64) {
        self.affine.split_pointer(pointer)
    }

    /// Lowers the operations of a block but for its terminator.
    ///
    /// # Errors
    /// What the operations say.
    pub fn lower_block(&mut self, block: Block) -> Result<()> {
        for op in self.module.ops(block) {
            if !self.module.has(op, Traits::TERMINATOR) {
                self.lower_op(op)?;
            }
        }
        Ok(())
    }

    /// Lowers one operation.
    ///
    /// # Errors
    /// What its handler says; that there is none.
    pub fn lower_op(&mut self, op: Op) -> Result<()> {
        let place = self.module.locs.file_place(self.module.loc(op));
        let location = place.map(|(file, line, column)| Location {
            file: self.b.module().add_file(&file),
            line,
            column,
        });
        self.b.set_loc(location);
        if self.shared.is_fenced(op) {
            self.target.fence_reads(&mut self.b);
        }
        match self.shared.barrier_before(op) {
            Some(Barrier::Block) => self.block_barrier(),
            Some(Barrier::Cluster) => self.program_barrier(),
            None => {}
        }
        let own = self.target.handler(self.module, op);
        let Some(handler) = own.or_else(|| (self.handler)(self.module.row(op))) else {
            return Err(self.error(op, "cannot be lowered for this machine; a pass should have replaced it"));
        };
        let outer = self.current.replace(op);
        let lowered = handler(self, op);
        self.current = outer;
        lowered
    }

    /// Runs a block inline on values for its arguments; answers what its terminator hands on.
    ///
    /// # Errors
    /// What the operations say.
    pub fn inline_block(&mut self, block: Block, args: &[LaneValue]) -> Result<SmallVec<[LaneValue; 4]>> {
        let params = self.module.args(block);
        for (param, arg) in params.iter().zip(args) {
            self.set(*param, arg.clone());
        }
        self.lower_block(block)?;
        let last = self.module.terminator(block);
        self.module.operands(last).iter().map(|value| self.get(*value)).collect()
    }

    /// The llir values that a construct must carry for a value of a type: a register for each different element.
    ///
    /// # Errors
    /// As [`Cx::layout`].
    pub(crate) fn pack(&mut self, ty: Type, value: &LaneValue) -> Result<Values> {
        let all = value.flatten();
        if !matches!(value, LaneValue::Tensor(_)) {
            return Ok(all.iter().copied().collect());
        }
        let first = first_copies(&*self.layout(ty)?);
        let different = all.iter().zip(&first).enumerate().filter(|(index, (_, first))| index == *first);
        let different: Values = different.map(|(_, (value, _))| *value).collect();
        Ok(match carried_together(ty, different.len()) {
            Some(each) => different.chunks(each).map(|chunk| word_of(&mut self.b, chunk)).collect(),
            None => different,
        })
    }

    /// A value like another, made of what [`Cx::pack`] gave for it.
    ///
    /// # Errors
    /// As [`Cx::layout`].
    pub(crate) fn unpack(
        &mut self,
        ty: Type,
        like: &LaneValue,
        values: &mut impl Iterator<Item = Value>,
    ) -> Result<LaneValue> {
        let LaneValue::Tensor(old) = like else { return Ok(like.rebuild(values)) };
        let first = first_copies(&*self.layout(ty)?);
        let different = first.iter().enumerate().filter(|(index, first)| index == *first).count();
        let mut parts = match carried_together(ty, different) {
            Some(each) => {
                let element = self.b.ty(old[0]);
                let words: Values = values.take(different / each).collect();
                words.iter().flat_map(|word| parts_of(&mut self.b, *word, element, each)).collect()
            }
            None => values.take(different).collect::<Values>(),
        }
        .into_iter();
        let mut registers: Vec<Value> = Vec::with_capacity(old.len());
        for (index, first) in first.iter().enumerate() {
            let value = if *first == index { parts.next() } else { registers.get(*first).copied() };
            registers.push(value.expect("as many values as `pack` gave"));
        }
        Ok(LaneValue::tensor(registers))
    }
}

/// How many elements of a block share a 32-bit register where a loop or a branch carries it, if they do: what is
/// loaded, what matrix instructions read and the 16-bit sums that they give come in such registers, and others take
/// fewer.
fn carried_together(ty: ir::Type, count: usize) -> Option<usize> {
    let element = ttir::types::elem(ty);
    let narrow = element.scalar_bits().filter(|bits| matches!(bits, 8 | 16))?;
    let each = 32 / narrow as usize;
    count.is_multiple_of(each).then_some(each)
}

/// Elements of 8 or 16 bits together in a 32-bit register.
fn word_of(b: &mut FunctionBuilder<'_>, parts: &[Value]) -> Value {
    let vector = b.vector(parts);
    b.bitcast(vector, llir::Type::I32)
}

/// The elements in a register.
fn parts_of(b: &mut FunctionBuilder<'_>, word: Value, ty: llir::Type, count: usize) -> Values {
    let vector = b.bitcast(word, ty.vector(count as u32));
    (0..count as u32).map(|index| b.extract(vector, index)).collect()
}
