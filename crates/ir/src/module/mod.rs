//! The arena that holds a program; `edit` has every way to change it.
//!
//! Invariants, which [`crate::verify`] checks:
//! - A value is used only where its definition dominates the use: later in the same block, or in a region nested there.
//! - `uses` of a value lists every operand slot that holds it, no more and no less.
//! - An operation is either in exactly one block or detached; a region belongs to exactly one operation.
//! - The attribute slots of an operation are as many as its row declares.

mod core_attrs;
mod edit;
pub(crate) mod row;
pub(crate) mod traits;

pub use edit::mapped;

use crate::entity::{Block, Loc, Op, Region, Value};
use crate::loc::LocTable;
use crate::types::Type;
use crate::types::attr::{Attr, AttrKey};
use cranelift_entity::PrimaryMap;
use row::{OpRow, Registry};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;
use traits::Traits;

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Def {
    /// The result of an operation.
    Result(Op, u32),
    /// The argument of a block.
    Arg(Block, u32),
}

#[derive(Clone)]
struct ValueData {
    ty: Type,
    def: Def,
    uses: SmallVec<[(Op, u32); 2]>,
    name: Option<Arc<str>>,
}

#[derive(Clone)]
struct OpData {
    row: &'static OpRow,
    operands: SmallVec<[Value; 4]>,
    results: SmallVec<[Value; 1]>,
    attrs: SmallVec<[Option<Attr>; 2]>,
    extra: Vec<(AttrKey, Attr)>,
    regions: SmallVec<[Region; 1]>,
    parent: Option<Block>,
    prev: Option<Op>,
    next: Option<Op>,
    loc: Loc,
}

#[derive(Clone)]
struct BlockData {
    args: SmallVec<[Value; 4]>,
    arg_attrs: Vec<Vec<(AttrKey, Attr)>>,
    arg_locs: SmallVec<[Loc; 4]>,
    first: Option<Op>,
    last: Option<Op>,
    parent: Region,
}

#[derive(Clone)]
struct RegionData {
    blocks: SmallVec<[Block; 1]>,
    parent: Option<Op>,
}

/// A program: a tree of operations under one top operation.
#[derive(Clone)]
pub struct Module {
    ops: PrimaryMap<Op, OpData>,
    values: PrimaryMap<Value, ValueData>,
    blocks: PrimaryMap<Block, BlockData>,
    regions: PrimaryMap<Region, RegionData>,
    registry: &'static Registry,
    environment: Option<&'static (dyn Any + Send + Sync)>,
    /// The name of a pass that would do again what it has done, as long as nothing is changed.
    settled: Option<&'static str>,
    top: Op,
    /// Its source locations.
    pub locs: LocTable,
}

/// What a new operation is made of.
#[derive(Default)]
pub struct OpInit {
    /// Operands.
    pub operands: SmallVec<[Value; 4]>,
    /// Types of the results.
    pub results: SmallVec<[Type; 2]>,
    /// Attribute slots; missing ones at the end are filled with their defaults.
    pub attrs: SmallVec<[Option<Attr>; 2]>,
    /// How many regions, each without a block.
    pub regions: usize,
}

/// Operations and values of a program of the usual size, with those that passes replace.
const USUAL: usize = 512;

impl Module {
    /// An empty program with one block in the top operation's region.
    pub fn new(registry: &'static Registry) -> Module {
        let mut module = Module {
            ops: PrimaryMap::with_capacity(USUAL),
            values: PrimaryMap::with_capacity(USUAL),
            blocks: PrimaryMap::new(),
            regions: PrimaryMap::new(),
            registry,
            environment: None,
            settled: None,
            top: Op::from_u32(0),
            locs: LocTable::default(),
        };
        let loc = module.locs.unknown();
        module.top = module.create(registry.module(), OpInit { regions: 1, ..OpInit::default() }, loc);
        let region = module.region(module.top, 0);
        module.add_block(region);
        module
    }

    /// The dialects this program is made of.
    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Goes over to more dialects: what the program is made of must be in the new registry.
    pub fn set_registry(&mut self, registry: &'static Registry) {
        self.settled = None;
        self.registry = registry;
    }

    /// What passes may ask about the place where the program will run, if it was set to data of this type. It is no
    /// part of the program and of its text.
    pub fn environment<T: 'static>(&self) -> Option<&'static T> {
        self.environment?.downcast_ref()
    }

    /// Sets what [`Module::environment`] gives.
    pub fn set_environment(&mut self, environment: &'static (dyn Any + Send + Sync)) {
        self.settled = None;
        self.environment = Some(environment);
    }

    /// Notes that a pass would do again what it has done, which holds until the program is changed.
    pub fn settle(&mut self, pass: &'static str) {
        self.settled = Some(pass);
    }

    /// Whether the program is as a pass left it that settled it.
    pub fn is_settled(&self, pass: &str) -> bool {
        self.settled == Some(pass)
    }

    /// The top operation.
    pub fn top(&self) -> Op {
        self.top
    }

    /// The block of the top operation, which holds the functions.
    pub fn body(&self) -> Block {
        self.entry(self.region(self.top, 0))
    }

    // --- operations: reading ---

    /// The declaration of an operation.
    #[inline]
    pub fn row(&self, op: Op) -> &'static OpRow {
        self.ops[op].row
    }

    /// Whether an operation is of this kind.
    #[inline]
    pub fn is(&self, op: Op, row: &OpRow) -> bool {
        self.ops[op].row.is(row)
    }

    /// Whether an operation has these properties.
    #[inline]
    pub fn has(&self, op: Op, traits: Traits) -> bool {
        self.ops[op].row.traits.has(traits)
    }

    /// All operands.
    #[inline]
    pub fn operands(&self, op: Op) -> &[Value] {
        &self.ops[op].operands
    }

    /// One operand.
    #[inline]
    pub fn operand(&self, op: Op, index: usize) -> Value {
        self.ops[op].operands[index]
    }

    /// The values of the declared operand number `group`.
    pub fn operand_group(&self, op: Op, group: usize) -> &[Value] {
        let data = &self.ops[op];
        // As many as are declared: one in each group.
        if data.operands.len() == data.row.operands.len() {
            return &data.operands[group..=group];
        }
        let Some(sizes) = data.row.operand_groups(data.operands.len()) else { return &[] };
        let start: usize = sizes[..group].iter().sum();
        &data.operands[start..start + sizes[group]]
    }

    /// The value of the optional operand number `group`.
    pub fn optional_operand(&self, op: Op, group: usize) -> Option<Value> {
        self.operand_group(op, group).first().copied()
    }

    /// The values of the operand of this name; none where no operand has it.
    pub fn operands_named(&self, op: Op, name: &str) -> &[Value] {
        let group = self.row(op).operands.iter().position(|spec| spec.name == name);
        group.map_or(&[], |group| self.operand_group(op, group))
    }

    /// The value of the operand of this name, if there is one; the first where there are several.
    pub fn operand_named(&self, op: Op, name: &str) -> Option<Value> {
        self.operands_named(op, name).first().copied()
    }

    /// All results.
    #[inline]
    pub fn results(&self, op: Op) -> &[Value] {
        &self.ops[op].results
    }

    /// The values of the declared result number `group`.
    pub fn result_group(&self, op: Op, group: usize) -> &[Value] {
        let data = &self.ops[op];
        // As many as are declared: one in each group.
        if data.results.len() == data.row.results.len() {
            return &data.results[group..=group];
        }
        let Some(sizes) = data.row.result_groups(data.results.len()) else { return &[] };
        let start: usize = sizes[..group].iter().sum();
        &data.results[start..start + sizes[group]]
    }

    /// One result.
    #[inline]
    pub fn result(&self, op: Op, index: usize) -> Value {
        self.ops[op].results[index]
    }

    /// The attribute slots.
    #[inline]
    pub fn attrs(&self, op: Op) -> &[Option<Attr>] {
        &self.ops[op].attrs
    }

    /// One attribute slot.
    pub fn attr(&self, op: Op, slot: usize) -> Option<&Attr> {
        self.ops[op].attrs.get(slot)?.as_ref()
    }

    /// The attribute slot of this name.
    pub fn attr_named(&self, op: Op, name: &str) -> Option<&Attr> {
        self.attr(op, self.row(op).attr_slot(name)?)
    }

    /// Sets an attribute slot.
    pub fn set_attr(&mut self, op: Op, slot: usize, attr: Option<Attr>) {
        self.settled = None;
        self.ops[op].attrs[slot] = attr;
    }

    /// Attributes beyond the slots, in order of their names.
    pub fn extra(&self, op: Op) -> &[(AttrKey, Attr)] {
        &self.ops[op].extra
    }

    /// One attribute beyond the slots.
    pub fn extra_attr(&self, op: Op, name: &str) -> Option<&Attr> {
        self.ops[op].extra.iter().find(|(key, _)| key.name() == name).map(|(_, attr)| attr)
    }

    /// Sets or (with `None`) removes an attribute beyond the slots.
    pub fn set_extra(&mut self, op: Op, key: AttrKey, attr: Option<Attr>) {
        self.settled = None;
        set_sorted(&mut self.ops[op].extra, key, attr);
    }

    /// The regions an operation owns.
    #[inline]
    pub fn regions(&self, op: Op) -> &[Region] {
        &self.ops[op].regions
    }

    /// One region.
    pub fn region(&self, op: Op, index: usize) -> Region {
        self.ops[op].regions[index]
    }

    /// The location of an operation.
    pub fn loc(&self, op: Op) -> Loc {
        self.ops[op].loc
    }

    /// Sets the location of an operation.
    pub fn set_loc(&mut self, op: Op, loc: Loc) {
        self.ops[op].loc = loc;
    }

    /// The block an operation stands in.
    #[inline]
    pub fn block_of(&self, op: Op) -> Option<Block> {
        self.ops[op].parent
    }

    /// The operation whose region an operation stands in.
    pub fn parent_op(&self, op: Op) -> Option<Op> {
        self.ops[op].parent.and_then(|block| self.regions[self.blocks[block].parent].parent)
    }

    /// The next operation in the block.
    #[inline]
    pub fn next(&self, op: Op) -> Option<Op> {
        self.ops[op].next
    }

    /// The previous operation in the block.
    pub fn prev(&self, op: Op) -> Option<Op> {
        self.ops[op].prev
    }

    // --- blocks and regions: reading ---

    /// The blocks of a region.
    #[inline]
    pub fn blocks(&self, region: Region) -> &[Block] {
        &self.regions[region].blocks
    }

    /// The first block of a region.
    ///
    /// # Panics
    /// When the region has none; the verifier reports that first.
    pub fn entry(&self, region: Region) -> Block {
        *self.regions[region].blocks.first().expect("a verified region has a block")
    }

    /// The first block of an operation's first region: a function's entry, a loop's body.
    ///
    /// # Panics
    /// When it has none; the verifier reports that first.
    pub fn entry_of(&self, op: Op) -> Block {
        self.entry(self.regions(op)[0])
    }

    /// The operation that owns a region.
    pub fn region_parent(&self, region: Region) -> Option<Op> {
        self.regions[region].parent
    }

    /// The region a block stands in.
    pub fn block_region(&self, block: Block) -> Region {
        self.blocks[block].parent
    }

    /// The arguments of a block.
    #[inline]
    pub fn args(&self, block: Block) -> &[Value] {
        &self.blocks[block].args
    }

    /// Attributes of a block argument (of a function parameter), in order of their names.
    pub fn arg_attrs(&self, block: Block, index: usize) -> &[(AttrKey, Attr)] {
        self.blocks[block].arg_attrs.get(index).map_or(&[], |attrs| attrs)
    }

    /// Sets or removes an attribute of a block argument.
    pub fn set_arg_attr(&mut self, block: Block, index: usize, key: AttrKey, attr: Option<Attr>) {
        self.settled = None;
        set_sorted(&mut self.blocks[block].arg_attrs[index], key, attr);
    }

    /// The location of a block argument.
    pub fn arg_loc(&self, block: Block, index: usize) -> Loc {
        self.blocks[block].arg_locs[index]
    }

    /// Sets the location of a block argument.
    pub fn set_arg_loc(&mut self, block: Block, index: usize, loc: Loc) {
        self.blocks[block].arg_locs[index] = loc;
    }

    /// The operations of a block, in order. The iterator holds the module; collect before changing it.
    pub fn ops(&self, block: Block) -> impl Iterator<Item = Op> + '_ {
        std::iter::successors(self.blocks[block].first, |&op| self.ops[op].next)
    }

    /// The first operation of a block.
    pub fn first_op(&self, block: Block) -> Option<Op> {
        self.blocks[block].first
    }

    /// The last operation of a block: its terminator, once the block is finished.
    pub fn last_op(&self, block: Block) -> Option<Op> {
        self.blocks[block].last
    }

    /// The terminator of a block.
    ///
    /// # Panics
    ///
    /// Where a block has none, which the verifier refuses.
    pub fn terminator(&self, block: Block) -> Op {
        self.last_op(block).expect("verified: a block has a terminator")
    }

    /// Every operation below `op`, itself included: an operation before those in its regions.
    pub fn walk(&self, op: Op) -> Vec<Op> {
        let mut found = Vec::with_capacity(if self.regions(op).is_empty() { 1 } else { 64 });
        found.push(op);
        self.walk_into(op, &mut found);
        found
    }

    fn walk_into(&self, op: Op, found: &mut Vec<Op>) {
        for &region in self.regions(op) {
            for &block in self.blocks(region) {
                let mut next = self.first_op(block);
                while let Some(inner) = next {
                    let data = &self.ops[inner];
                    found.push(inner);
                    if !data.regions.is_empty() {
                        self.walk_into(inner, found);
                    }
                    next = data.next;
                }
            }
        }
    }

    // --- values ---

    /// The type of a value.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// Changes the type of a value.
    pub fn set_ty(&mut self, value: Value, ty: Type) {
        self.settled = None;
        self.values[value].ty = ty;
    }

    /// Where a value comes from.
    #[inline]
    pub fn def(&self, value: Value) -> Def {
        self.values[value].def
    }

    /// The operation a value is a result of.
    pub fn def_op(&self, value: Value) -> Option<Op> {
        if let Def::Result(op, _) = self.values[value].def { Some(op) } else { None }
    }

    /// Every operand slot that holds a value.
    #[inline]
    pub fn uses(&self, value: Value) -> &[(Op, u32)] {
        &self.values[value].uses
    }

    /// The operation that uses a value, if there is one slot that holds it.
    pub fn only_user(&self, value: Value) -> Option<Op> {
        match self.uses(value) {
            [(user, _)] => Some(*user),
            _ => None,
        }
    }

    /// Whether nobody uses a value.
    pub fn is_unused(&self, value: Value) -> bool {
        self.values[value].uses.is_empty()
    }

    /// The name of a value in the source, for the text form.
    pub fn name(&self, value: Value) -> Option<&str> {
        self.values[value].name.as_deref()
    }

    /// Names a value.
    pub fn set_name(&mut self, value: Value, name: &str) {
        self.values[value].name = Some(Arc::from(name));
    }

    /// An upper bound of the index of any value, for tables.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// An upper bound of the index of any operation, for tables.
    pub fn num_ops(&self) -> usize {
        self.ops.len()
    }

    // --- asking ---

    /// Whether a value is defined outside of the regions of an operation, and is not one of its own results.
    pub fn is_outside(&self, value: Value, around: Op) -> bool {
        let owner = match self.def(value) {
            Def::Result(def, _) => Some(def),
            Def::Arg(block, _) => self.region_parent(self.block_region(block)),
        };
        owner.is_none_or(|owner| owner != around && !self.is_inside(owner, around))
    }

    /// Whether `op` stands somewhere below `ancestor`, or is it.
    pub fn is_inside(&self, op: Op, ancestor: Op) -> bool {
        std::iter::successors(Some(op), |&op| self.parent_op(op)).any(|op| op == ancestor)
    }

    /// The symbol of this name among the operations of the top block.
    pub fn symbol(&self, name: &str) -> Option<Op> {
        self.ops(self.body()).find(|&op| self.symbol_name(op) == Some(name))
    }

    /// The attribute of the constant that defines a value, if one does.
    pub fn constant(&self, value: Value) -> Option<&Attr> {
        self.constant_value(self.def_op(value)?)
    }
}

fn set_sorted(list: &mut Vec<(AttrKey, Attr)>, key: AttrKey, attr: Option<Attr>) {
    match (list.binary_search_by(|(own, _)| own.cmp(&key)), attr) {
        (Ok(at), Some(attr)) => list[at].1 = attr,
        (Ok(at), None) => {
            list.remove(at);
        }
        (Err(at), Some(attr)) => list.insert(at, (key, attr)),
        (Err(_), None) => {}
    }
}
