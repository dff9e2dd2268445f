//! Every way to change a program: making, placing, changing and copying operations.

use super::{BlockData, Def, Module, OpData, OpInit, RegionData, ValueData};
use crate::entity::{Block, Loc, Op, Region, Value};
use crate::module::row::OpRow;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What a map has for a value, else the value itself: what stands for it in a copy ([`Module::clone_op`]).
pub fn mapped(map: &FxHashMap<Value, Value>, value: Value) -> Value {
    map.get(&value).copied().unwrap_or(value)
}

impl Module {
    // --- making ---

    /// Makes an operation that stands nowhere yet. Missing attribute slots get their defaults.
    pub fn create(&mut self, row: &'static OpRow, init: OpInit, loc: Loc) -> Op {
        let OpInit { operands, results, mut attrs, regions } = init;
        for spec in &row.attrs[attrs.len().min(row.attrs.len())..] {
            attrs.push(spec.default_attr());
        }
        for (slot, spec) in attrs.iter_mut().zip(row.attrs) {
            if slot.is_none() {
                *slot = spec.default_attr();
            }
        }
        let op = self.ops.push(OpData {
            row,
            operands: SmallVec::new(),
            results: SmallVec::new(),
            attrs,
            extra: Vec::new(),
            regions: SmallVec::new(),
            parent: None,
            prev: None,
            next: None,
            loc,
        });
        for value in operands {
            self.push_operand(op, value);
        }
        for ty in results {
            self.push_result(op, ty);
        }
        for _ in 0..regions {
            self.push_region(op);
        }
        op
    }

    /// Appends an operand.
    pub fn push_operand(&mut self, op: Op, value: Value) {
        self.settled = None;
        let index = self.ops[op].operands.len() as u32;
        self.ops[op].operands.push(value);
        self.values[value].uses.push((op, index));
    }

    /// Appends a result.
    pub fn push_result(&mut self, op: Op, ty: Type) -> Value {
        self.settled = None;
        let index = self.ops[op].results.len() as u32;
        let def = Def::Result(op, index);
        let value = self.values.push(ValueData { ty, def, uses: SmallVec::new(), name: None });
        self.ops[op].results.push(value);
        value
    }

    /// Appends a region without a block.
    pub fn push_region(&mut self, op: Op) -> Region {
        self.settled = None;
        let region = self.regions.push(RegionData { blocks: SmallVec::new(), parent: Some(op) });
        self.ops[op].regions.push(region);
        region
    }

    /// Appends an empty block to a region.
    pub fn add_block(&mut self, region: Region) -> Block {
        self.settled = None;
        let block = self.blocks.push(BlockData {
            args: SmallVec::new(),
            arg_attrs: Vec::new(),
            arg_locs: SmallVec::new(),
            first: None,
            last: None,
            parent: region,
        });
        self.regions[region].blocks.push(block);
        block
    }

    /// Erases all blocks of a region but the first. No other block may use their values.
    pub fn keep_first_block(&mut self, region: Region) {
        self.settled = None;
        while self.regions[region].blocks.len() > 1 {
            if let Some(block) = self.regions[region].blocks.pop() {
                while let Some(last) = self.blocks[block].last {
                    self.erase(last);
                }
            }
        }
    }

    /// Appends an argument to a block.
    pub fn add_arg(&mut self, block: Block, ty: Type) -> Value {
        self.settled = None;
        let index = self.blocks[block].args.len() as u32;
        let def = Def::Arg(block, index);
        let value = self.values.push(ValueData { ty, def, uses: SmallVec::new(), name: None });
        let unknown = self.locs.unknown();
        let data = &mut self.blocks[block];
        data.args.push(value);
        data.arg_attrs.push(Vec::new());
        data.arg_locs.push(unknown);
        value
    }

    /// Adds an argument in front of the one of a number.
    ///
    /// # Panics
    /// When there are fewer arguments.
    pub fn insert_arg(&mut self, block: Block, at: usize, ty: Type) -> Value {
        let value = self.add_arg(block, ty);
        let data = &mut self.blocks[block];
        data.args[at..].rotate_right(1);
        data.arg_attrs[at..].rotate_right(1);
        data.arg_locs[at..].rotate_right(1);
        for (index, &moved) in data.args.iter().enumerate().skip(at) {
            self.values[moved].def = Def::Arg(block, index as u32);
        }
        value
    }

    /// Removes the arguments that `keep` refuses; they must be unused.
    pub fn retain_args(&mut self, block: Block, keep: impl Fn(usize) -> bool) {
        self.settled = None;
        let data = &mut self.blocks[block];
        let old = std::mem::take(&mut data.args);
        let attrs = std::mem::take(&mut data.arg_attrs);
        let locs = std::mem::take(&mut data.arg_locs);
        for (index, ((value, attrs), loc)) in old.into_iter().zip(attrs).zip(locs).enumerate() {
            if keep(index) {
                let data = &mut self.blocks[block];
                self.values[value].def = Def::Arg(block, data.args.len() as u32);
                data.args.push(value);
                data.arg_attrs.push(attrs);
                data.arg_locs.push(loc);
            } else {
                debug_assert!(self.values[value].uses.is_empty(), "a removed argument is still used");
            }
        }
    }

    // --- placing ---

    /// Puts a detached operation at the end of a block.
    pub fn append(&mut self, block: Block, op: Op) {
        let last = self.blocks[block].last;
        self.link(block, op, last, None);
    }

    /// Puts a detached operation at the start of a block.
    pub fn prepend(&mut self, block: Block, op: Op) {
        let first = self.blocks[block].first;
        self.link(block, op, None, first);
    }

    /// Puts a detached operation in front of another.
    ///
    /// # Panics
    /// When `anchor` is detached.
    pub fn insert_before(&mut self, anchor: Op, op: Op) {
        let block = self.ops[anchor].parent.expect("an anchor stands in a block");
        let prev = self.ops[anchor].prev;
        self.link(block, op, prev, Some(anchor));
    }

    /// Puts a detached operation behind another.
    ///
    /// # Panics
    /// When `anchor` is detached.
    pub fn insert_after(&mut self, anchor: Op, op: Op) {
        let block = self.ops[anchor].parent.expect("an anchor stands in a block");
        let next = self.ops[anchor].next;
        self.link(block, op, Some(anchor), next);
    }

    fn link(&mut self, block: Block, op: Op, prev: Option<Op>, next: Option<Op>) {
        debug_assert!(self.ops[op].parent.is_none(), "an operation can stand in one place only");
        self.settled = None;
        let data = &mut self.ops[op];
        (data.parent, data.prev, data.next) = (Some(block), prev, next);
        match prev {
            Some(prev) => self.ops[prev].next = Some(op),
            None => self.blocks[block].first = Some(op),
        }
        match next {
            Some(next) => self.ops[next].prev = Some(op),
            None => self.blocks[block].last = Some(op),
        }
    }

    /// Takes an operation out of its block, whole.
    pub fn detach(&mut self, op: Op) {
        self.settled = None;
        let data = &mut self.ops[op];
        let (Some(block), prev, next) = (data.parent.take(), data.prev.take(), data.next.take()) else {
            return;
        };
        match prev {
            Some(prev) => self.ops[prev].next = next,
            None => self.blocks[block].first = next,
        }
        match next {
            Some(next) => self.ops[next].prev = prev,
            None => self.blocks[block].last = prev,
        }
    }

    /// Moves an operation in front of another.
    pub fn move_before(&mut self, anchor: Op, op: Op) {
        self.detach(op);
        self.insert_before(anchor, op);
    }

    /// Moves all operations of one block to the end of another.
    pub fn splice_block(&mut self, from: Block, to: Block) {
        while let Some(op) = self.blocks[from].first {
            self.detach(op);
            self.append(to, op);
        }
    }

    // --- changing ---

    /// Sets one operand.
    pub fn set_operand(&mut self, op: Op, index: usize, value: Value) {
        self.settled = None;
        let old = std::mem::replace(&mut self.ops[op].operands[index], value);
        self.drop_use(old, op, index as u32);
        self.values[value].uses.push((op, index as u32));
    }

    /// Sets all operands.
    pub fn set_operands(&mut self, op: Op, values: &[Value]) {
        self.drop_operands(op);
        for &value in values {
            self.push_operand(op, value);
        }
    }

    fn drop_use(&mut self, value: Value, op: Op, index: u32) {
        let uses = &mut self.values[value].uses;
        if let Some(at) = uses.iter().position(|&user| user == (op, index)) {
            uses.remove(at);
        }
    }

    fn drop_operands(&mut self, op: Op) {
        self.settled = None;
        let operands = std::mem::take(&mut self.ops[op].operands);
        for (index, value) in operands.into_iter().enumerate() {
            self.drop_use(value, op, index as u32);
        }
    }

    /// Makes every user of `from` use `to`.
    pub fn replace_uses(&mut self, from: Value, to: Value) {
        if from == to {
            return;
        }
        self.settled = None;
        let uses = std::mem::take(&mut self.values[from].uses);
        for &(op, index) in &uses {
            self.ops[op].operands[index as usize] = to;
        }
        self.values[to].uses.extend(uses);
    }

    /// Makes the users for which `pick` holds use `to` instead of `from`.
    pub fn replace_uses_if(&mut self, from: Value, to: Value, pick: impl Fn(&Module, Op, usize) -> bool) {
        for (op, index) in self.values[from].uses.clone() {
            if pick(self, op, index as usize) {
                self.set_operand(op, index as usize, to);
            }
        }
    }

    /// Removes an operation and all that stands in its regions.
    ///
    /// # Panics
    /// In debug builds, when a result is still used.
    pub fn erase(&mut self, op: Op) {
        self.detach(op);
        for region in self.ops[op].regions.clone() {
            for block in self.regions[region].blocks.clone() {
                // Backwards, so that uses go before definitions.
                while let Some(inner) = self.blocks[block].last {
                    self.erase(inner);
                }
            }
        }
        self.drop_operands(op);
        debug_assert!(
            self.ops[op].results.iter().all(|&result| self.values[result].uses.is_empty()),
            "{} is erased while it is used",
            self.ops[op].row.name
        );
    }

    /// Copies an operation with all that stands in its regions, detached. `map` gives the values that stand for those
    /// from outside; the copies of all results and block arguments are added to it.
    pub fn clone_op(&mut self, op: Op, map: &mut FxHashMap<Value, Value>) -> Op {
        let data = self.ops[op].clone();
        let init = OpInit {
            operands: data.operands.iter().map(|&value| mapped(map, value)).collect(),
            results: data.results.iter().map(|&value| self.ty(value)).collect(),
            attrs: data.attrs.clone(),
            regions: data.regions.len(),
        };
        let copy = self.create(data.row, init, data.loc);
        self.ops[copy].extra = data.extra;
        for (index, &old) in data.results.iter().enumerate() {
            let new = self.result(copy, index);
            self.values[new].name = self.values[old].name.clone();
            map.insert(old, new);
        }
        for (index, &region) in data.regions.iter().enumerate() {
            let target = self.region(copy, index);
            for block in self.regions[region].blocks.clone() {
                self.clone_block(block, target, map);
            }
        }
        copy
    }

    fn clone_block(&mut self, block: Block, target: Region, map: &mut FxHashMap<Value, Value>) {
        let copy = self.add_block(target);
        let data = self.blocks[block].clone();
        for &old in &data.args {
            let new = self.add_arg(copy, self.ty(old));
            self.values[new].name = self.values[old].name.clone();
            map.insert(old, new);
        }
        self.blocks[copy].arg_attrs = data.arg_attrs;
        self.blocks[copy].arg_locs = data.arg_locs;
        let inner: Vec<Op> = self.ops(block).collect();
        for op in inner {
            let op = self.clone_op(op, map);
            self.append(copy, op);
        }
    }
}
