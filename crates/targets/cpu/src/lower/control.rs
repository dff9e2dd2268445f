//! Control flow: structured operations become branches; scalars they carry become block parameters, blocks they carry
//! live in scratch memory.

use super::cx::Cx;
use super::error::Result;
use super::plan::{self, Carried, Step};
use super::scratch::Buffer;
use ir::{Block, Op, Value as IrValue};
use llir::{Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::control::{self, ForOp, IfOp, WhileOp};

impl Cx<'_> {
    /// A region's block up to its terminator.
    pub(crate) fn block(&mut self, block: Block) -> Result<()> {
        self.loop_block(block, &[])
    }

    /// The same for the body of a loop that carries blocks.
    fn loop_block(&mut self, block: Block, carried: &[Carried]) -> Result<()> {
        let mut plan = plan::plan(self.planning(), block);
        plan::coalesce(self.module, block, &mut plan, carried);
        self.run_plan(&plan)
    }

    /// The steps of a plan, with the scalars in front of them.
    pub(crate) fn run_plan(&mut self, plan: &plan::Plan) -> Result<()> {
        let mut by_step: Vec<Vec<Op>> = vec![Vec::new(); plan.steps.len() + 1];
        for &(op, step) in &plan.scalars {
            by_step[step].push(op);
        }
        for (number, ops) in by_step.iter().enumerate() {
            for &op in ops {
                let known = self.scalar_op(op).map_err(|error| error.at(self.module, op))?;
                if !known {
                    return self.unsupported(op, "there is no lowering for it on scalars yet");
                }
            }
            match plan.steps.get(number) {
                Some(Step::Group(group)) => self.group(group)?,
                Some(Step::Single(op)) => {
                    self.single(*op).map_err(|error| error.at(self.module, *op))?;
                }
                None => {}
            }
        }
        Ok(())
    }

    fn is_block(&self, value: IrValue) -> bool {
        ttir::types::is_tensor(self.module.ty(value))
    }

    /// The scalars among these values.
    pub(crate) fn scalars_of(&mut self, values: &[IrValue]) -> Result<Vec<Value>> {
        let scalars: Vec<IrValue> = values.iter().copied().filter(|&value| !self.is_block(value)).collect();
        scalars.into_iter().map(|value| self.scalar(value)).collect()
    }

    /// Binds the scalars among these values.
    pub(crate) fn bind(&mut self, values: &[IrValue], scalars: &[Value]) {
        let own: Vec<IrValue> = values.iter().copied().filter(|&value| !self.is_block(value)).collect();
        for (value, &scalar) in own.into_iter().zip(scalars) {
            self.scalars.insert(value, scalar);
        }
    }

    /// Buffers for the blocks among these values.
    pub(crate) fn buffers_for(&mut self, values: &[IrValue]) -> Vec<Buffer> {
        let types: Vec<ir::Type> = values
            .iter()
            .filter(|&&value| self.is_block(value))
            .map(|&value| self.module.ty(value))
            .collect();
        types.into_iter().map(|ty| self.new_buffer(ty)).collect()
    }

    /// Says that the blocks among these values are in these buffers.
    pub(crate) fn place_in(&mut self, values: &[IrValue], buffers: &[Buffer]) {
        let own: Vec<IrValue> = values.iter().copied().filter(|&value| self.is_block(value)).collect();
        for (value, buffer) in own.into_iter().zip(buffers) {
            self.buffers.insert(value, buffer.clone());
        }
    }

    /// Copies the blocks among these values into buffers. When several change at once, values go through buffers of
    /// their own first, as one may be computed from another's old contents.
    pub(crate) fn fill(&mut self, values: &[IrValue], buffers: &[Buffer]) -> Result<()> {
        let own: Vec<IrValue> = values.iter().copied().filter(|&value| self.is_block(value)).collect();
        let moves: Vec<(IrValue, Buffer)> = own
            .into_iter()
            .zip(buffers.iter().cloned())
            .filter(|(value, buffer)| self.buffers.get(value) != Some(buffer))
            .collect();
        if moves.len() <= 1 {
            for (value, buffer) in &moves {
                self.copy_block(*value, buffer)?;
            }
            return Ok(());
        }
        let mut staged = Vec::new();
        for (value, buffer) in moves {
            let is_target = |own: &Buffer| buffers.iter().any(|other| other.offset == own.offset);
            let is_safe = match self.buffers.get(&value) {
                Some(own) => !is_target(own),
                None => self.virtuals.cost(self.module, value).is_some(),
            };
            if is_safe {
                staged.push((value, buffer, None));
            } else {
                let own = self.new_buffer(self.module.ty(value));
                self.copy_block(value, &own)?;
                staged.push((value, buffer, Some(own)));
            }
        }
        for (value, buffer, own) in staged {
            let before = self.buffers.get(&value).cloned();
            if let Some(own) = own {
                self.buffers.insert(value, own);
            }
            let copied = self.copy_block(value, &buffer);
            match before {
                Some(before) => self.buffers.insert(value, before),
                None => self.buffers.remove(&value),
            };
            copied?;
        }
        Ok(())
    }

    /// `scf.for`.
    pub(crate) fn for_op(&mut self, op: Op) -> Result<()> {
        if let Some(product) = self.products.get(&op).cloned() {
            return self.product_loop(op, &product);
        }
        let module = self.module;
        let of = ForOp::new(module, op);
        let (block, counter, args, inits) = (of.body(), of.counter(), of.carried(), of.inits());
        let buffers = self.buffers_for(args);
        self.fill(inits, &buffers)?;
        let bounds = self.bounds_of(of)?;
        let carried = self.scalars_of(inits)?;
        let opened = self.b.begin_for(bounds[0], bounds[1], bounds[2], &carried);
        let narrow = super::types::register(module.ty(counter));
        let number = self.b.resize_signed(opened.iv, narrow);
        let repeats = self.streams.repeats;
        self.streams.repeats = self.repeats_in(op, &bounds);
        let region = self.enter_region();
        self.scalars.insert(counter, number);
        self.bind(args, &opened.carried);
        self.place_in(args, &buffers);
        let yields = of.yielded();
        let blocks = args.iter().zip(yields).filter(|(value, _)| ttir::types::is_tensor(module.ty(**value)));
        let own: Vec<Carried> = blocks
            .zip(&buffers)
            .map(|((&value, &yielded), buffer)| Carried { value, yielded, buffer: buffer.clone() })
            .collect();
        self.loop_depth += 1;
        let body = self.loop_block(block, &own);
        self.loop_depth -= 1;
        body?;
        self.fill(yields, &buffers)?;
        let next = self.scalars_of(yields)?;
        self.leave_region(region);
        self.streams.repeats = repeats;
        let after = self.b.end_for(opened, &next);
        let results = module.results(op);
        self.bind(results, &after);
        self.place_in(results, &buffers);
        Ok(())
    }

    /// The bounds and the step of a loop. Counting in 64 bits does not overflow at the end of the range.
    pub(crate) fn bounds_of(&mut self, of: ForOp<'_>) -> Result<[Value; 3]> {
        let mut bound = |value: IrValue| -> Result<Value> {
            let bound = self.scalar(value)?;
            Ok(self.b.resize_signed(bound, Type::I64))
        };
        Ok([bound(of.lower())?, bound(of.upper())?, bound(of.step())?])
    }

    /// How often the body of a loop runs in the whole launch, if it stores anything.
    fn repeats_in(&mut self, op: Op, bounds: &[Value]) -> Option<Value> {
        let module = self.module;
        let repeats = self.streams.repeats?;
        if !module.walk(op).into_iter().any(|inner| module.is(inner, &ttir::ops::memory::STORE)) {
            return None;
        }
        // The step is positive where the body runs.
        let one = self.b.i64(1);
        let step = self.b.intrinsic("llvm.smax", Type::I64, &[bounds[2], one]);
        let length = self.b.sub(bounds[1], bounds[0]);
        let rounds = self.b.sdiv(length, step);
        let rounds = self.b.add(rounds, one);
        Some(self.b.mul(repeats, rounds))
    }

    /// `scf.if`.
    pub(crate) fn if_op(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let of = IfOp::new(module, op);
        let condition = self.scalar(of.condition())?;
        let results = of.results();
        let buffers = self.buffers_for(results);
        let mut branch = self.b.begin_if(condition);
        let first = self.branch(of.then_block(), &buffers)?;
        let after = match of.else_block() {
            Some(otherwise) => {
                self.b.begin_else(&mut branch, &first);
                let second = self.branch(otherwise, &buffers)?;
                self.b.end_if(branch, &second)
            }
            None => self.b.end_if(branch, &first),
        };
        self.bind(results, &after);
        self.place_in(results, &buffers);
        Ok(())
    }

    /// One branch: its blocks go to the buffers, its scalars are answered.
    fn branch(&mut self, block: Block, buffers: &[Buffer]) -> Result<Vec<Value>> {
        let region = self.enter_region();
        self.block(block)?;
        let yields = control::yielded(self.module, block);
        self.fill(yields, buffers)?;
        let scalars = self.scalars_of(yields)?;
        self.leave_region(region);
        Ok(scalars)
    }

    /// `scf.while`.
    pub(crate) fn while_op(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let of = WhileOp::new(module, op);
        let (before, after, inits) = (of.before(), of.after(), of.inits());
        let (args, passed, results) = (module.args(before), module.args(after), of.results());
        let (own, out) = (self.buffers_for(args), self.buffers_for(passed));
        self.fill(inits, &own)?;
        let carried = self.scalars_of(inits)?;
        let repeats = self.streams.repeats.take();
        let opened = self.b.begin_while(&carried);
        let region = self.enter_region();
        self.bind(args, &opened.carried);
        self.place_in(args, &own);
        self.loop_depth += 1;
        self.block(before)?;
        let values = of.condition().args();
        self.fill(values, &out)?;
        let (condition, leaving) = (self.scalar(of.condition().condition())?, self.scalars_of(values)?);
        self.b.do_while(&opened, condition, &leaving);
        self.bind(passed, &leaving);
        self.place_in(passed, &out);
        self.block(after)?;
        self.loop_depth -= 1;
        let yields = of.yielded();
        self.fill(yields, &own)?;
        let next = self.scalars_of(yields)?;
        self.leave_region(region);
        self.streams.repeats = repeats;
        let end = self.b.end_while(opened, &next);
        self.bind(results, &end);
        self.place_in(results, &out);
        Ok(())
    }

    /// A step of its own.
    fn single(&mut self, op: Op) -> Result<()> {
        if AccessOp::of(self.module, op).is_some_and(AccessOp::is_atomic) {
            return self.scalar_effect(op);
        }
        match SINGLES.iter().find(|(row, _)| self.module.is(op, row)) {
            Some((_, emit)) => emit(self, op),
            None => self.unsupported(op, "there is no lowering for it yet"),
        }
    }
}

/// How a step of its own is made.
type Single = fn(&mut Cx<'_>, Op) -> Result<()>;

/// The operations that are steps of their own.
const SINGLES: &[(&ir::OpRow, Single)] = &[
    (&control::FOR, |cx, op| cx.for_op(op)),
    (&control::IF, |cx, op| cx.if_op(op)),
    (&control::WHILE, |cx, op| cx.while_op(op)),
    (&ttir::ops::memory::STORE, |cx, op| cx.scalar_store(op)),
    (&ttir::ops::memory::LOAD, |cx, op| cx.scalar_op(op).map(|_| ())),
    (&ttir::ops::dot::DOT, |cx, op| cx.dot(op)),
    (&ttir::ops::dot::DOT_SCALED, |cx, op| cx.dot_scaled(op)),
    (&ttir::ops::reduce::SCAN, |cx, op| cx.scan(op)),
    (&ttir::ops::reduce::MAP_ELEMENTWISE, |cx, op| cx.map_packed(op)),
    (&ttir::ops::reduce::HISTOGRAM, |cx, op| cx.histogram(op)),
    (&ttir::ops::shape::GATHER, |cx, op| cx.gather_block(op)),
    (&ttir::ops::shape::CAT, |cx, op| cx.cat(op)),
    (&ttir::ops::shape::JOIN, |cx, op| cx.join(op)),
    (&ttir::ops::shape::UNSPLAT, |cx, op| cx.scalar_op(op).map(|_| ())),
    (&ttir::ops::debug::ASSERT, |cx, op| cx.scalar_effect(op)),
    (&ttir::ops::debug::PRINT, |cx, op| cx.print(op)),
];
