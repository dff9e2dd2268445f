//! Single elements: what the lowering of elementwise operations is given of this one.

use crate::affine::Affine;
use crate::context::Cx;
use crate::error::Error;
use elementwise::{Ctx, Sums};
use llir::{FunctionBuilder, Type, Value};
use ttir::interval::Interval;

impl Cx<'_> {
    /// Makes instructions on single elements.
    pub(crate) fn element<T>(&mut self, build: impl FnOnce(&mut Ctx<'_, '_>) -> T) -> T {
        build(&mut Ctx { b: &mut self.b, target: self.target, sums: &mut self.affine })
    }
}

impl From<elementwise::Error> for Error {
    fn from(error: elementwise::Error) -> Error {
        crate::error::plain(error.to_string())
    }
}

/// Constants are kept apart.
impl Sums for Affine {
    fn add(&mut self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        self.add_integers(b, x, y)
    }

    fn sub(&mut self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        self.subtract(b, x, y)
    }

    fn mul(&mut self, b: &mut FunctionBuilder<'_>, factors: (Value, Value), fits: bool) -> Value {
        self.multiply(b, factors, fits)
    }

    fn shl(&mut self, b: &mut FunctionBuilder<'_>, x: Value, (amount, _): (u32, Value)) -> Value {
        self.shift_left(b, x, amount)
    }

    fn extend(&mut self, b: &mut FunctionBuilder<'_>, x: Value, ty: Type, bounds: Option<Interval>) -> Value {
        self.sign_extend(b, x, ty, bounds)
    }

    fn add_pointer(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        pointer: Value,
        index: Value,
        element: Type,
    ) -> Value {
        self.move_pointer(b, pointer, index, element.lane_bits() / 8)
    }
}
