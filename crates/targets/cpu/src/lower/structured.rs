//! Structured control flow as branches. Scalars that it carries become parameters of blocks; what runs in its regions
//! is the caller's, and so are blocks of elements.

use super::emitter::Emitter;
use super::error::Result;
use super::{spin, types};
use ir::{Block, Op, Value as IrValue};
use llir::{Type, Value, intrinsics};
use ttir::ops::access::AccessOp;
use ttir::ops::control::{self, ForOp, IfOp, WhileOp};

/// What runs in a region.
type Body<'f, 'a> = &'f mut dyn FnMut(&mut Emitter<'a>, Block) -> Result<()>;

impl<'a> Emitter<'a> {
    /// Whether a value is a block of elements.
    pub(crate) fn is_block(&self, value: IrValue) -> bool {
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

    /// `scf.for`.
    pub(crate) fn for_loop(&mut self, of: ForOp<'_>, body: Body<'_, 'a>) -> Result<()> {
        let bounds = self.bounds_of(of)?;
        let carried = self.scalars_of(of.inits())?;
        let opened = self.b.begin_for(bounds[0], bounds[1], bounds[2], &carried);
        let narrow = types::register(self.module.ty(of.counter()));
        let number = self.b.resize_signed(opened.iv, narrow);
        let repeats = self.repeats_in(of.op, &bounds);
        let place = self.here().in_loop(repeats);
        let next = self.in_region(place, |cx| {
            cx.scalars.insert(of.counter(), number);
            cx.bind(of.carried(), &opened.carried);
            body(cx, of.body())?;
            cx.scalars_of(of.yielded())
        })?;
        let after = self.b.end_for(opened, &next);
        self.bind(self.module.results(of.op), &after);
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
        let repeats = self.here().repeats?;
        if !module.walk(op).into_iter().any(|inner| AccessOp::store(module, inner).is_some()) {
            return None;
        }
        // The step is positive where the body runs.
        let one = self.b.i64(1);
        let step = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[bounds[2], one]);
        let length = self.b.sub(bounds[1], bounds[0]);
        let iterations = self.b.sdiv(length, step);
        let iterations = self.b.add(iterations, one);
        Some(self.b.mul(repeats, iterations))
    }

    /// `scf.if`.
    pub(crate) fn branches(&mut self, of: IfOp<'_>, body: Body<'_, 'a>) -> Result<()> {
        let condition = self.scalar(of.condition())?;
        let mut branch = self.b.begin_if(condition);
        let first = self.branch(of.then_block(), body)?;
        let after = match of.else_block() {
            Some(otherwise) => {
                self.b.begin_else(&mut branch, &first);
                let second = self.branch(otherwise, body)?;
                self.b.end_if(branch, &second)
            }
            None => self.b.end_if(branch, &first),
        };
        self.bind(of.results(), &after);
        Ok(())
    }

    /// One branch; answers the scalars that it yields.
    fn branch(&mut self, block: Block, body: Body<'_, 'a>) -> Result<Vec<Value>> {
        self.in_region(self.here(), |cx| {
            body(cx, block)?;
            cx.scalars_of(control::yielded(cx.module, block))
        })
    }

    /// `scf.while`.
    pub(crate) fn while_loop(&mut self, of: WhileOp<'_>, body: Body<'_, 'a>) -> Result<()> {
        let module = self.module;
        let (before, after) = (of.before(), of.after());
        let mut carried = self.scalars_of(of.inits())?;
        let may_spin = spin::may_spin(module, of.op);
        carried.extend(may_spin.then(|| self.b.i32(0)));
        let opened = self.b.begin_while(&carried);
        let place = self.here().in_loop(None);
        let mut next = self.in_region(place, |cx| {
            cx.bind(module.args(before), &opened.carried);
            body(cx, before)?;
            let condition = cx.scalar(of.condition().condition())?;
            let leaving = cx.scalars_of(of.condition().args())?;
            cx.b.do_while(&opened, condition, &leaving);
            cx.bind(module.args(after), &leaving);
            body(cx, after)?;
            cx.scalars_of(of.yielded())
        })?;
        if let Some(&iterations) = opened.carried.last().filter(|_| may_spin) {
            next.push(self.end_spin(iterations));
        }
        let end = self.b.end_while(opened, &next);
        self.bind(of.results(), &end);
        Ok(())
    }
}
