//! The target of a `for` behind its loop.
//!
//! Python keeps the last value there, and the reference an undefined one. Which functions read it is asked of their
//! text, so that other loops compute nothing for it.
//!
//! Input:                      Output:
//! ```text
//! for i in range(0, n, 2):    scf.for %i = …
//!     …                       %last = 0 + (n - 1) / 2 * 2
//! x = i                       (the value before the loop, where it has one and n <= 0)
//! ```

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::semantic::{Overflow, Predicate};
use crate::value::PyValue;
use ruff_python_ast::Operator;
use ruff_python_ast::name::Name;
use ttir::ops::arith_int;

impl Ctx<'_> {
    /// Whether a name is the target of a loop of this function, and nothing outside of such loops reads it.
    pub(crate) fn is_read_by_its_loop_alone(&mut self, name: &Name) -> bool {
        self.frame().parsed.counters().is_read_by_its_loop_alone(name)
    }

    /// The value of a loop's target behind the loop, where something may read it.
    pub(crate) fn last_count(
        &mut self,
        target: &Name,
        bounds: &[Tensor; 3],
        is_reversed: bool,
        before: Option<&Val>,
    ) -> Res<Option<Tensor>> {
        if self.is_read_by_its_loop_alone(target) {
            return Ok(None);
        }
        let [lower, upper, step] = bounds;
        let one = self.literal(&PyValue::Int(1), lower.ty.clone())?;
        let span = self.elementwise(&arith_int::SUBI, upper, lower)?;
        let below = self.elementwise(&arith_int::SUBI, &span, &one)?;
        let (below, by) = (Num::Tensor(below), Num::Tensor(step.clone()));
        let steps = self.arithmetic(Operator::FloorDiv, below, by, Overflow::Wraps)?;
        let way = self.elementwise(&arith_int::MULI, &steps, step)?;
        let last = if is_reversed {
            self.elementwise(&arith_int::SUBI, upper, &way)?
        } else {
            self.elementwise(&arith_int::ADDI, lower, &way)?
        };
        let Some(Val::Tensor(before)) = before else { return Ok(Some(last)) };
        if before.ty != last.ty {
            return Ok(Some(last));
        }
        let runs = self.compare_same(Predicate::Lt, lower, upper)?;
        self.select(runs, Num::Tensor(last), Num::Tensor(before.clone())).map(Some)
    }
}
