//! Waiting for a value in memory.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Num, Res};
use crate::dtype::DType;
use crate::value::PyValue;
use ir::Value;
use ttir::ops::atomic;

/// The arguments of `tl.atomic_poll`.
pub(crate) struct PollArgs {
    pub(crate) pointer: Tensor,
    pub(crate) expected: Num,
    pub(crate) sem: String,
    pub(crate) scope: String,
    pub(crate) timeout: Option<Num>,
}

impl Ctx<'_> {
    /// `tl.atomic_poll`: whether each value was seen before the time was over.
    pub(crate) fn atomic_poll(&mut self, args: PollArgs) -> Res<Tensor> {
        let target = self.pointer_of(&args.pointer, "atomic_poll")?;
        if !target.pointee.is_int() || target.pointee.bits() < 16 {
            return Err(self.error_help(
                format!("atomic_poll waits for integers of 16, 32 or 64 bits, found {}", args.pointer.ty),
                "keep flags as int32",
            ));
        }
        let expected = if args.pointer.ty.is_block() {
            let expected = self.make_scalar_or_block(args.expected, target.pointee)?;
            self.in_pointer_shape(&args.pointer, expected)?
        } else {
            self.make_scalar(args.expected, target.pointee)?
        };
        if let Some(Num::Literal(PyValue::Int(..=-1))) = &args.timeout {
            return Err(self.error_help(
                "atomic_poll timeout_ns must be non-negative",
                "leave it out to wait without a limit",
            ));
        }
        let timeout = match args.timeout {
            Some(timeout) => Some(self.make_scalar(timeout, DType::Int64)?),
            None => None,
        };
        let attrs = [self.sem(&args.sem, "acquire", &["acquire", "relaxed"])?, self.scope(&args.scope)?];
        let operands = [Some(args.pointer.value), Some(expected.value), timeout.map(|timeout| timeout.value)];
        let operands: Vec<Value> = operands.into_iter().flatten().collect();
        let value = self.emit(&atomic::ATOMIC_POLL, &operands, &attrs)?;
        Ok(Tensor { value, ty: args.pointer.ty.with(DType::Int1) })
    }
}
