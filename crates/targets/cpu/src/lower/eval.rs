//! Values of a chunk, made where they are asked for.
//!
//! [`Cx::eval`] answers the value of a block at a position. What is in memory is read; shape operations move the
//! position; everything else is computed from its operands at the same position. Within a scope nothing is made twice.
//!
//! Unrolled loops make expressions thousands of operations deep. Recursion goes a few levels; below, operands are made one
//! after the other, in the same order.

use super::cx::Cx;
use super::error::{LowerError, Result};
use super::rows::is_view;
use super::types;
use super::value::{Affine, At, Index, Lanes, Linear, Val};
use elementwise::Elems;
use ir::{Attr, Def, Elements, Op, Value as IrValue};
use llir::{Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::constant::{self, ConstantOp};
use ttir::ops::shape::{MakeRangeOp, SplatOp};
use ttir::ops::{compare, extern_call, reduce};

/// How deep values are made by recursion.
pub(crate) const DEPTH: u32 = 48;

impl Cx<'_> {
    /// The value of a block (or scalar) at a position.
    pub(crate) fn eval(&mut self, value: IrValue, at: &At) -> Result<Val> {
        if !ttir::types::is_tensor(self.module.ty(value)) {
            return self.scalar(value).map(Val::Uniform);
        }
        if let Some(known) = self.known(value, at) {
            return Ok(known);
        }
        if self.depth >= DEPTH {
            self.make_operands(value, at)?;
        }
        self.depth += 1;
        let val = self.compute(value, at);
        self.depth -= 1;
        let val = val?;
        self.remember(value, at, val.clone());
        Ok(val)
    }

    /// The value of a block at a position, if it was made before or is a mask that is known here.
    fn known(&mut self, value: IrValue, at: &At) -> Option<Val> {
        let is_none = self.none.contains(&value);
        if self.full_at.contains(&at.id) && (is_none || self.full.contains(&value)) {
            return Some(Val::Uniform(self.b.bool(!is_none)));
        }
        let key = (value, at.id);
        self.memo.iter().rev().find_map(|scope| scope.get(&key)).cloned()
    }

    /// Makes what a value is computed from at its own position, operands before their users.
    fn make_operands(&mut self, value: IrValue, at: &At) -> Result<()> {
        let mut open = vec![value];
        while let Some(&top) = open.last() {
            if let Some(operand) = self.next_operand(top, at) {
                open.push(operand);
                continue;
            }
            open.pop();
            if top != value {
                let val = self.compute(top, at)?;
                self.remember(top, at, val);
            }
        }
        Ok(())
    }

    /// The first operand that a value needs at its own position and that is not made yet.
    fn next_operand(&mut self, value: IrValue, at: &At) -> Option<IrValue> {
        let module = self.module;
        let op = module.def_op(value).filter(|_| !self.buffers.contains_key(&value))?;
        let row = module.row(op);
        let Some(load) = AccessOp::load(module, op) else {
            let elsewhere = is_view(row) || row.is(&ttir::ops::shape::SPLAT);
            let operands = if elsewhere { &[] } else { module.operands(op) };
            return operands.iter().copied().find(|&operand| self.is_missing(operand, at));
        };
        let Some(mask) = load.mask() else { return Some(load.ptr()).filter(|&ptr| self.is_missing(ptr, at)) };
        if self.is_missing(mask, at) {
            return Some(mask);
        }
        // As the load itself: without an address where nothing is read, without `other` where everything is.
        let condition = match self.known(mask, at) {
            Some(Val::Uniform(condition)) => Some(condition),
            _ => None,
        };
        let (never, always) =
            condition.map_or((false, false), |value| (self.b.is_zero(value), self.b.is_all_ones(value)));
        let pointer = Some(load.ptr()).filter(|_| !never);
        let needed = pointer.into_iter().chain(load.other().filter(|_| !always));
        needed.into_iter().find(|&operand| self.is_missing(operand, at))
    }

    fn is_missing(&mut self, value: IrValue, at: &At) -> bool {
        ttir::types::is_tensor(self.module.ty(value)) && self.known(value, at).is_none()
    }

    /// The value of a block at a position, as a vector.
    pub(crate) fn eval_vector(&mut self, value: IrValue, at: &At) -> Result<Value> {
        let val = self.eval(value, at)?;
        Ok(self.vector(&val, self.module.ty(value)))
    }

    fn compute(&mut self, value: IrValue, at: &At) -> Result<Val> {
        if let Some(buffer) = self.buffers.get(&value).cloned() {
            self.prefetch_row(value, at)?;
            let base = self.address(&buffer);
            let val = self.read(base, buffer.elem, &buffer.strides, at);
            return Ok(self.converted(val, buffer.elem, ttir::types::elem(self.module.ty(value))));
        }
        let Def::Result(op, number) = self.module.def(value) else {
            return Err(LowerError::new("a block is used where it is not available"));
        };
        self.compute_op(op, number, value, at).map_err(|error| error.at(self.module, op))
    }

    /// What a buffer of binary32 holds, as a value of a narrower format.
    fn converted(&mut self, val: Val, from: ir::Type, to: ir::Type) -> Val {
        match (types::small_float(to), &val) {
            (Some(kind), Val::Uniform(value)) if from != to => Val::Uniform(self.narrow(kind, *value)),
            (Some(kind), Val::Vector(value)) if from != to => Val::Vector(self.narrow(kind, *value)),
            _ => val,
        }
    }

    /// The value of a block of narrow numbers at a position, as binary32 or `i32`.
    pub(crate) fn eval_wide(&mut self, value: IrValue, at: &At) -> Result<Value> {
        let ty = self.module.ty(value);
        let val = self.eval(value, at)?;
        let kind = types::small_float(ttir::types::elem(ty));
        let scalar = self.as_scalar(&val, ty);
        let narrow = scalar.unwrap_or_else(|| self.vector(&val, ty));
        let wide = match kind {
            Some(kind) => self.widen(kind, narrow),
            None if self.b.ty(narrow).is_int() => {
                let ty = self.b.ty(narrow).with_scalar(Type::I32);
                self.b.resize_signed(narrow, ty)
            }
            None => narrow,
        };
        Ok(if scalar.is_some() { self.spread(wide) } else { wide })
    }

    fn compute_op(&mut self, op: Op, number: u32, value: IrValue, at: &At) -> Result<Val> {
        let (module, row) = (self.module, self.module.row(op));
        if let Some(moved) = self.moved(op, number, at) {
            let (operand, at) = moved?;
            return self.eval(operand, &at);
        }
        if let Some(splat) = SplatOp::of(module, op) {
            return self.scalar(splat.src()).map(Val::Uniform);
        }
        if let Some(range) = MakeRangeOp::of(module, op) {
            return Ok(self.range(range, at));
        }
        if row.is(&constant::CONSTANT) {
            return self.constant_block(op, value, at);
        }
        if row.is(&constant::POISON) {
            let zero = self.b.zero(types::register(ttir::types::elem(module.ty(value))));
            return Ok(Val::Uniform(zero));
        }
        if AccessOp::load(module, op).is_some() {
            return self.load(op, at);
        }
        if row.is(&reduce::MAP_ELEMENTWISE) {
            return self.map_elementwise(op, number, at);
        }
        if row.is(&extern_call::INLINE_ASM) {
            return self.unsupported(
                op,
                "inline assembly is written for one processor; keep such kernels on theirs",
            );
        }
        self.elementwise(op, at)
    }

    /// An elementwise operation.
    fn elementwise(&mut self, op: Op, at: &At) -> Result<Val> {
        let module = self.module;
        let elems = Elems::of(module, op);
        let operands = module.operands(op);
        let vals: Vec<Val> = operands.iter().map(|&operand| self.eval(operand, at)).collect::<Result<_>>()?;
        if let Some(val) = self.symbolic(op, &elems, &vals)? {
            return Ok(val);
        }
        let scalars: Vec<Option<Value>> = operands
            .iter()
            .zip(&vals)
            .map(|(&operand, val)| self.as_scalar(val, module.ty(operand)))
            .collect();
        let all: Option<Vec<Value>> = scalars.iter().copied().collect();
        if let Some(all) = all {
            return self.apply(op, &all).map(Val::Uniform);
        }
        let mut vectors: Vec<Value> = Vec::new();
        for (index, (&operand, val)) in operands.iter().zip(&vals).enumerate() {
            vectors.push(match scalars[index] {
                Some(scalar) if index == 0 && module.is(op, &compare::SELECT) => scalar,
                _ => self.vector(val, module.ty(operand)),
            });
        }
        self.apply(op, &vectors).map(Val::Vector)
    }

    fn range(&mut self, range: MakeRangeOp<'_>, at: &At) -> Val {
        let start = range.start();
        match &at.dims[0] {
            Index::Known(linear, lanes) => {
                Val::Affine(Affine { base: self.b.i32(start), linear: linear.clone(), lanes: lanes.clone() })
            }
            Index::Vector(vector) => {
                let ty = self.vector_type(Type::I32);
                let (narrow, start) = (self.b.resize_signed(*vector, ty), self.b.int(ty, i64::from(start)));
                Val::Vector(self.b.add(narrow, start))
            }
        }
    }

    fn constant_block(&mut self, op: Op, value: IrValue, at: &At) -> Result<Val> {
        let ty = self.module.ty(value);
        let elem = ttir::types::elem(ty);
        let attr = ConstantOp::new(self.module, op).value();
        if let Some(bits) = constant::splat_bits(attr) {
            return Ok(Val::Uniform(self.b.bits(types::register(elem), u128::from(bits))));
        }
        let Attr::Dense { elements: Elements::List(list), .. } = attr else {
            return Err(LowerError::new("a constant block has no elements"));
        };
        let bits = list.iter().map(|&bits| u128::from(bits)).collect();
        let lane = types::memory(elem);
        let symbol = self.b.module().add_table("table", lane, bits, lane.lane_bytes().max(1));
        let base = self.b.symbol(&symbol);
        let strides = types::row_major(types::shape(ty));
        Ok(self.read(base, elem, &strides, at))
    }

    /// Reads a block with strides at a position.
    pub(crate) fn read(&mut self, base: Value, elem: ir::Type, strides: &[i64], at: &At) -> Val {
        match self.place(strides, at) {
            Index::Known(linear, lanes) => self.read_known(base, elem, &linear, &lanes),
            Index::Vector(offsets) => {
                let lane = types::memory(elem);
                let pointers = self.b.gep(lane, base, offsets);
                let mask = self.b.int(self.vector_type(Type::I1), -1);
                let loaded = self.gather(elem, pointers, mask, None);
                Val::Vector(loaded)
            }
        }
    }

    /// The element number of a position in a block with strides.
    pub(crate) fn place(&mut self, strides: &[i64], at: &At) -> Index {
        let (mut linear, mut lanes) = (Linear::default(), Lanes::uniform(self.lanes));
        let mut vector: Option<Value> = None;
        for (index, &stride) in at.dims.iter().zip(strides) {
            match index {
                Index::Known(more, each) => {
                    linear = linear.add(&more.scale(stride));
                    lanes = lanes.add(&each.map(|lane| lane * stride));
                }
                Index::Vector(value) => {
                    let factor = self.b.int(self.b.ty(*value), stride);
                    let term = self.b.mul(*value, factor);
                    vector = Some(vector.map_or(term, |sum| self.b.add(sum, term)));
                }
            }
        }
        match vector {
            None => Index::Known(linear, lanes),
            Some(vector) => {
                let known = self.index_vector(&Index::Known(linear, lanes));
                Index::Vector(self.b.add(vector, known))
            }
        }
    }

    /// An index as a vector of `i64`.
    pub(crate) fn index_vector(&mut self, index: &Index) -> Value {
        match index {
            Index::Vector(value) => *value,
            Index::Known(linear, lanes) => {
                let scalar = self.linear(linear);
                let (spread, table) = (self.spread(scalar), self.table(Type::I64, &lanes.0));
                self.b.add(spread, table)
            }
        }
    }

    fn read_known(&mut self, base: Value, elem: ir::Type, linear: &Linear, lanes: &Lanes) -> Val {
        if self.probe.is_some() {
            self.fail_probe();
            return Val::Uniform(self.b.zero(types::register(elem)));
        }
        let lane = types::memory(elem);
        let affine = Affine { base, linear: linear.clone(), lanes: lanes.clone() };
        let pointer = self.scalar_of(&affine, lane);
        let bytes = lane.lane_bytes();
        if lanes.is_uniform() {
            let loaded = self.b.load(lane, pointer, bytes);
            return Val::Uniform(self.in_register(loaded, elem));
        }
        if lanes.stride() == Some(1) {
            let loaded = self.b.load(self.vector_type(lane), pointer, bytes);
            return Val::Vector(self.in_register(loaded, elem));
        }
        let parts: Vec<Value> = lanes
            .0
            .iter()
            .map(|&offset| {
                let offset = self.b.i64(offset);
                let pointer = self.b.gep(lane, pointer, offset);
                self.b.load(lane, pointer, bytes)
            })
            .collect();
        let loaded = self.b.vector(&parts);
        Val::Vector(self.in_register(loaded, elem))
    }

    /// A value as it was in memory, as it is in a register.
    pub(crate) fn in_register(&mut self, value: Value, elem: ir::Type) -> Value {
        if elem.as_int() != Some(1) {
            return value;
        }
        let zero = self.b.zero(self.b.ty(value));
        self.b.icmp(llir::IntCompare::Ne, value, zero)
    }

    /// A value as it is in a register, as it goes to memory.
    pub(crate) fn in_memory(&mut self, value: Value, elem: ir::Type) -> Value {
        let ty = self.b.ty(value).with_scalar(types::memory(elem));
        if elem.as_int() == Some(1) { self.b.resize_unsigned(value, ty) } else { value }
    }
}
