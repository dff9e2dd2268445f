//! Operations on scalars, which run once, in order.

use super::cx::Cx;
use super::error::{LowerError, Result};
use super::types;
use ir::{Block, Op, Value as IrValue};
use llir::{Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::access::AccessOp;
use ttir::ops::memory::StoreOp;
use ttir::ops::program::ProgramIdOp;
use ttir::ops::shape::UnsplatOp;
use ttir::ops::{compare, constant, extern_call, program, reduce, shape};

impl Cx<'_> {
    /// The scalar that stands for a value.
    pub(crate) fn scalar(&mut self, value: IrValue) -> Result<Value> {
        if let Some(&known) = self.scalars.get(&value) {
            return Ok(known);
        }
        // Constants are made where they are needed, so that regions may share them.
        if let Some(bits) = self.module.constant(value).and_then(constant::splat_bits) {
            let ty = types::register(self.module.ty(value));
            return Ok(self.b.bits(ty, u128::from(bits)));
        }
        let op = self.module.def_op(value).map_or("an argument", |op| self.module.row(op).name);
        Err(LowerError::new(format!("the scalar that `{op}` gives is used where it is not available")))
    }

    /// An operation on scalars with at most one result; `false` if it is none of those.
    pub(crate) fn scalar_op(&mut self, op: Op) -> Result<bool> {
        let (module, row) = (self.module, self.module.row(op));
        let value = if row.is(&constant::CONSTANT) {
            self.scalar(module.result(op, 0))?
        } else if row.is(&constant::POISON) {
            self.b.zero(types::register(module.ty(module.result(op, 0))))
        } else if row.is(&program::GET_PROGRAM_ID) {
            self.frame.position[axis(module, op)]
        } else if row.is(&program::GET_NUM_PROGRAMS) {
            self.frame.grid[axis(module, op)]
        } else if row.is(&shape::UNSPLAT) {
            self.unsplat(op)?
        } else if AccessOp::load(module, op).is_some() {
            self.scalar_load(op)?
        } else if row.is(&extern_call::EXTERN_ELEMENTWISE) || elementwise::find(row).is_some() {
            let operands: Vec<Value> =
                module.operands(op).iter().map(|&operand| self.scalar(operand)).collect::<Result<_>>()?;
            self.apply(op, &operands)?
        } else {
            return Ok(false);
        };
        self.scalars.insert(module.result(op, 0), value);
        Ok(true)
    }

    fn unsplat(&mut self, op: Op) -> Result<Value> {
        let operand = UnsplatOp::new(self.module, op).src();
        let ty = self.module.ty(operand);
        let lanes = std::mem::replace(&mut self.lanes, 1);
        let dims = types::shape(ty).iter().map(|_| super::value::Index::constant(0, 1)).collect();
        let at = self.at(dims);
        let result = self.eval_vector(operand, &at);
        self.lanes = lanes;
        result
    }

    fn scalar_load(&mut self, op: Op) -> Result<Value> {
        let module = self.module;
        let load = AccessOp::new(module, op);
        let elem = module.ty(module.result(op, 0));
        let address = self.scalar(load.ptr())?;
        let Some(mask) = load.mask() else {
            let lane = types::memory(elem);
            let flags = if load.volatile() { llir::Flags::VOLATILE } else { llir::Flags::NONE };
            let loaded = self.b.load_with(lane, address, llir::Memory::aligned(lane.lane_bytes()), flags);
            return Ok(self.in_register(loaded, elem));
        };
        let condition = self.scalar(mask)?;
        let other = match load.other() {
            Some(other) => self.scalar(other)?,
            None => self.b.zero(types::register(elem)),
        };
        Ok(self.load_if(elem, address, condition, other))
    }

    /// `tt.store` of a scalar.
    pub(crate) fn scalar_store(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let store = StoreOp::new(module, op);
        let (address, value) = (self.scalar(store.ptr())?, self.scalar(store.value())?);
        let elem = module.ty(store.value());
        let condition = match store.mask() {
            Some(mask) => self.scalar(mask)?,
            None => self.b.bool(true),
        };
        let branch = self.b.begin_if(condition);
        let value = self.in_memory(value, elem);
        self.b.store(value, address, types::memory(elem).lane_bytes());
        self.b.end_if(branch, &[]);
        Ok(())
    }

    /// The region of a reduction, a scan or an elementwise call on vectors (or scalars): what its terminator returns.
    pub(crate) fn inline_region(&mut self, block: Block, args: &[Value]) -> Result<Vec<Value>> {
        let module = self.module;
        if module.ops(block).any(|op| !module.regions(op).is_empty()) {
            return self.branching_region(block, args);
        }
        let mut known: FxHashMap<IrValue, Value> =
            module.args(block).iter().copied().zip(args.iter().copied()).collect();
        let lanes = args.iter().map(|&arg| self.b.ty(arg)).find(|ty| ty.is_vector()).map_or(1, Type::lanes);
        for op in module.ops(block) {
            let row = module.row(op);
            let operand = |cx: &mut Self, value: IrValue| match known.get(&value) {
                Some(&value) => Ok(value),
                None => cx.scalar(value),
            };
            let operands: Vec<Value> = module
                .operands(op)
                .iter()
                .map(|&value| operand(self, value))
                .collect::<Result<_>>()
                .map_err(|error| error.at(module, op))?;
            if [&reduce::REDUCE_RETURN, &reduce::SCAN_RETURN, &reduce::MAP_ELEMENTWISE_RETURN]
                .iter()
                .any(|end| row.is(end))
            {
                return Ok(operands.into_iter().map(|value| self.widen_to(value, lanes)).collect());
            }
            if row.is(&constant::CONSTANT) {
                known.insert(module.result(op, 0), self.scalar(module.result(op, 0))?);
                continue;
            }
            let mixed = operands.iter().any(|&value| self.b.ty(value).is_vector());
            let first_may_stay = row.is(&compare::SELECT);
            let operands: Vec<Value> = operands
                .into_iter()
                .enumerate()
                .map(|(index, value)| {
                    let stays = !mixed || (index == 0 && first_may_stay);
                    if stays { value } else { self.widen_to(value, lanes) }
                })
                .collect();
            let result = self.apply(op, &operands).map_err(|error| error.at(module, op))?;
            known.insert(module.result(op, 0), result);
        }
        Err(LowerError::new("a combining function returns nothing"))
    }

    /// A region with control flow, lane by lane.
    fn branching_region(&mut self, block: Block, args: &[Value]) -> Result<Vec<Value>> {
        let module = self.module;
        let lanes = args.iter().map(|&arg| self.b.ty(arg)).find(|ty| ty.is_vector()).map_or(1, Type::lanes);
        let before = std::mem::replace(&mut self.lanes, 1);
        let mut columns: Vec<Vec<Value>> = Vec::new();
        for lane in 0..lanes {
            let region = self.enter_region();
            for (&own, &arg) in module.args(block).iter().zip(args) {
                let scalar = self.b.extract(arg, lane);
                self.scalars.insert(own, scalar);
            }
            self.block(block)?;
            let last = module.last_op(block).ok_or_else(|| LowerError::new("a region does not end"))?;
            let results: Vec<Value> =
                module.operands(last).iter().map(|&value| self.scalar(value)).collect::<Result<_>>()?;
            self.leave_region(region);
            columns.resize(results.len(), Vec::new());
            for (column, result) in columns.iter_mut().zip(results) {
                column.push(result);
            }
        }
        self.lanes = before;
        Ok(columns.iter().map(|column| if lanes == 1 { column[0] } else { self.b.vector(column) }).collect())
    }

    fn widen_to(&mut self, value: Value, lanes: u32) -> Value {
        if lanes > 1 && !self.b.ty(value).is_vector() { self.b.splat(value, lanes) } else { value }
    }

    /// `tt.map_elementwise`.
    pub(crate) fn map_elementwise(
        &mut self,
        op: Op,
        number: u32,
        at: &super::value::At,
    ) -> Result<super::value::Val> {
        let module = self.module;
        let operands: Vec<Value> = module
            .operands(op)
            .iter()
            .map(|&operand| self.eval_vector(operand, at))
            .collect::<Result<_>>()?;
        let block = module.entry(module.region(op, 0));
        let results = self.inline_region(block, &operands)?;
        Ok(super::value::Val::Vector(results[number as usize]))
    }
}

fn axis(module: &ir::Module, op: Op) -> usize {
    ProgramIdOp::new(module, op).axis() as usize
}
