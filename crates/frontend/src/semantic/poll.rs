//! Waiting for a value in memory: a loop of atomic loads.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::dtype::DType;
use crate::semantic::{AtomicArgs, Predicate};
use crate::typing::Ty;
use crate::value::PyValue;
use ir::Place;
use ruff_python_ast::Operator;
use ttir::ops::{arith_int, control};

/// The arguments of `tl.atomic_poll`.
pub(crate) struct PollArgs {
    pub(crate) pointer: Tensor,
    pub(crate) expected: Num,
    pub(crate) sem: String,
    pub(crate) scope: String,
    pub(crate) timeout: Option<Num>,
}

/// The nanoseconds that one look at memory counts for where the target has no clock.
const NANOSECONDS_OF_A_LOOK: i128 = 100;

impl Ctx<'_> {
    /// `tl.atomic_poll`: whether the value was seen before the time was over.
    pub(crate) fn atomic_poll(&mut self, args: PollArgs) -> Res<Tensor> {
        let target = self.pointer_of(&args.pointer, "atomic_poll")?;
        if args.pointer.ty.is_block() || !target.pointee.is_int() || target.pointee.bits() < 16 {
            return Err(self.error_help(
                format!(
                    "atomic_poll waits for a scalar integer of 16, 32 or 64 bits, found {}",
                    args.pointer.ty
                ),
                "pass a pointer to one flag",
            ));
        }
        let expected = self.make_scalar(args.expected, target.pointee)?;
        let timeout = match args.timeout {
            Some(timeout) => Some(self.make_scalar(timeout, DType::Int64)?),
            None => None,
        };
        let start = if timeout.is_some() { self.clock()? } else { None };
        let nothing = self.literal(&PyValue::Int(0), Ty::scalar(DType::Int64))?;
        let inits = [expected.value, nothing.value];
        let types = inits.map(|value| self.module.ty(value));
        let op = self.emit_op(&control::WHILE, &inits, &[], &types);
        let regions = [0, 1].map(|index| self.module.region(op, index));
        let [look, again] = regions.map(|region| self.module.add_block(region));
        let arg = |ctx: &mut Self, block: ir::Block, at: usize| ctx.module.add_arg(block, types[at]);
        let (_, passed) = (arg(self, look, 0), arg(self, look, 1));
        let (seen, elapsed) = (arg(self, again, 0), arg(self, again, 1));
        let outside = std::mem::replace(&mut self.place, Place::End(look));
        let load =
            AtomicArgs { pointer: args.pointer, value: None, mask: None, sem: args.sem, scope: args.scope };
        let found = self.atomic_load(load)?;
        let mut goes_on = self.compare_same(Predicate::Ne, &found, &expected)?;
        let passed = Tensor { value: passed, ty: Ty::scalar(DType::Int64) };
        if let Some(timeout) = &timeout {
            let in_time = self.compare_same(Predicate::Lt, &passed, timeout)?;
            goes_on = self.elementwise(&arith_int::ANDI, &goes_on, &in_time)?;
        }
        self.emit_effect(&control::CONDITION, &[goes_on.value, found.value, passed.value], &[]);
        self.place = Place::End(again);
        let elapsed = Tensor { value: elapsed, ty: Ty::scalar(DType::Int64) };
        let elapsed = match (timeout, start) {
            (None, _) => elapsed,
            (Some(_), Some(start)) => match self.clock()? {
                Some(now) => self.plain(Operator::Sub, now, start)?,
                None => elapsed,
            },
            (Some(_), None) => {
                let step = self.literal(&PyValue::Int(NANOSECONDS_OF_A_LOOK), elapsed.ty.clone())?;
                self.plain(Operator::Add, elapsed, step)?
            }
        };
        self.emit_effect(&control::YIELD, &[seen, elapsed.value], &[]);
        self.place = outside;
        let last = Tensor { value: self.module.result(op, 0), ty: expected.ty.clone() };
        self.compare_same(Predicate::Eq, &last, &expected)
    }

    /// The time of the device, where it has a clock.
    fn clock(&mut self) -> Res<Option<Tensor>> {
        if !crate::ops::has_clock(self) {
            return Ok(None);
        }
        match self.call_builtin(crate::ops::CLOCK, Vec::new(), Vec::new())? {
            Val::Tensor(time) => Ok(Some(time)),
            _ => Ok(None),
        }
    }
}
