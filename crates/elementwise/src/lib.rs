//! Operations on single elements as instructions of [`llir`]: one function per row, for scalars and vectors alike.
//!
//! A lane of a GPU hands in scalars, a CPU chunks of vectors; the types of the values say how many lanes there
//! are. What a machine does in its own way goes through [`ElementTarget`], and integer sums and addresses through
//! [`Sums`], so that who wants to keep constants apart may. The tables are the whole list of elementwise operations;
//! [`find`] looks a row up. Functions of maths libraries, which have no rows, are in [`library`].

mod arith_float;
mod arith_int;
mod bytes;
mod cast;
mod compare;
pub mod lane_math;
pub mod library;
mod math;
pub mod small_float;
mod target;

pub use arith_float::{divide, divide_by_shared, minmax};
pub use bytes::{Byte, TOGETHER, convert_together};
pub use compare::int_predicate;
pub use maths::{Approximation, MathMachine};
pub use target::{
    Abilities, ConvertBytes, Division, ElementTarget, Math, MinMax, PlainSums, Rounding, Sums, Widths,
    mul_high_by_widening,
};

use ir::{Module, Op, OpRow, Type};
use llir::{Flags, FunctionBuilder, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::fmt;
use std::sync::OnceLock;
use ttir::interval::Interval;

/// What instructions are made with: where they go, and what the machine does in its own way.
pub struct Ctx<'c, 'm> {
    /// The function that is built.
    pub b: &'c mut FunctionBuilder<'m>,
    /// The machine.
    pub target: &'c dyn ElementTarget,
    /// Integer sums and addresses.
    pub sums: &'c mut dyn Sums,
}

/// Why an operation cannot be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<maths::MathError> for Error {
    fn from(error: maths::MathError) -> Error {
        Error(error.to_string())
    }
}

/// A result, or why there is none.
pub type Result<T> = std::result::Result<T, Error>;

/// One elementwise operation and its types.
pub struct Elems<'a> {
    /// Its module.
    pub module: &'a Module,
    /// The operation.
    pub op: Op,
    /// Element types of the operands.
    pub operands: SmallVec<[Type; 4]>,
    /// Element type of the result.
    pub result: Type,
    /// Bounds of the only operand, once they were asked for.
    bounds: OnceCell<Option<Interval>>,
    /// Whether the result has bounds, likewise.
    fits: OnceCell<bool>,
}

impl Elems<'_> {
    /// The types of an operation with one result.
    pub fn of(module: &Module, op: Op) -> Elems<'_> {
        let elem = |value: &ir::Value| ttir::types::elem(module.ty(*value));
        Elems {
            module,
            op,
            operands: module.operands(op).iter().map(elem).collect(),
            result: elem(&module.result(op, 0)),
            bounds: OnceCell::new(),
            fits: OnceCell::new(),
        }
    }

    /// Whether the result is known to be what it would be with any number of bits.
    pub(crate) fn result_fits(&self) -> bool {
        *self.fits.get_or_init(|| Interval::of(self.module, self.module.result(self.op, 0)).is_some())
    }

    /// Between which bounds the elements of an operand lie, as far as the code shows.
    pub(crate) fn bounds_of(&self, operand: usize) -> Option<Interval> {
        Interval::of(self.module, self.module.operands(self.op)[operand])
    }

    /// Between which bounds the elements of the only operand lie, as far as the code shows.
    pub(crate) fn source_bounds(&self) -> Option<Interval> {
        let [source] = self.module.operands(self.op) else { return None };
        *self.bounds.get_or_init(|| Interval::of(self.module, *source))
    }
}

/// Makes the instructions of an operation.
pub type Emit = fn(&mut Ctx<'_, '_>, &Elems<'_>, &[Value]) -> Result<Value>;

/// A row and how it is made.
type Entry = (&'static OpRow, Emit);

const TABLES: [&[Entry]; 5] =
    [arith_int::TABLE, arith_float::TABLE, cast::TABLE, compare::TABLE, math::TABLE];

/// How a row is made, if it is elementwise.
pub fn find(row: &'static OpRow) -> Option<Emit> {
    static TABLE: OnceLock<FxHashMap<&'static str, Emit>> = OnceLock::new();
    let table =
        TABLE.get_or_init(|| TABLES.into_iter().flatten().map(|(row, emit)| (row.name, *emit)).collect());
    table.get(row.name).copied()
}

/// The rows that [`find`] knows.
pub fn rows() -> impl Iterator<Item = &'static OpRow> {
    TABLES.into_iter().flatten().map(|(row, _)| *row)
}

impl Ctx<'_, '_> {
    /// Computes on what multiplies and powers of two leave exact: nothing may be fused or reordered.
    pub fn exactly<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        let flags = self.b.set_float_flags(Flags::NONE);
        let result = build(self);
        self.b.set_float_flags(flags);
        result
    }

    /// A function of the project's own maths on binary32 or binary64.
    ///
    /// # Errors
    /// When there is none of this name for so many operands.
    pub fn maths(&mut self, name: &str, x: &[Value]) -> Result<Value> {
        let maths = self.target.maths();
        if self.target.abilities().writes_functions_out {
            return Ok(maths::call(self.b, maths, name, x)?);
        }
        let ty = self.b.ty(x[0]);
        let elem = maths::Elem::of(ty).ok_or_else(|| Error(format!("`{name}` has no version for {ty}")))?;
        let function = maths::function(self.b.module(), maths, name, (elem, ty.lanes().max(1)))?;
        if self.b.module().callee(function).params.len() != x.len() {
            return Err(Error(format!("`{name}` takes another number of operands than {}", x.len())));
        }
        self.b.call(function, x).ok_or_else(|| Error(format!("`{name}` gives no result")))
    }

    /// So many lanes of a type as a value has.
    fn like(&self, value: Value, lane: llir::Type) -> llir::Type {
        self.b.ty(value).with_scalar(lane)
    }

    /// The type that the result has in registers, with the lanes of a value.
    fn result_like(&self, value: Value, elems: &Elems<'_>) -> llir::Type {
        self.like(value, self.target.register(elems.result))
    }
}

#[cfg(test)]
mod tests {
    use super::find;
    use ir::Traits;

    #[test]
    fn every_elementwise_row_is_known() {
        let missing: Vec<_> = ttir::registry()
            .ops()
            .into_iter()
            .filter(|row| row.traits.has(Traits::ELEMENTWISE) && find(row).is_none())
            .map(|row| row.name)
            .collect();
        assert!(missing.is_empty(), "no lowering for {missing:?}");
    }
}
