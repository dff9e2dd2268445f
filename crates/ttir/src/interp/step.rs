//! Code that is run piece by piece: functions of small modules one after another, with values that live in between.
//!
//! The meaning is that of a whole program, because the same interpreter runs each piece. What a whole program knows and
//! pieces do not is where an undefined element came from, if its piece has no place in a source: [`BlockData::placed`]
//! adds it.

use super::data::{Data, Origin, Undefined};
use super::handlers::handler;
use super::interpreter::Interpreter;
use super::memory::Memory;
use super::{Hooks, RunError};
use crate::ops::func::FuncOp;
use ir::{Module, Op};
use std::sync::Arc;

/// The elements of a block or scalar.
#[derive(Clone, Debug)]
pub struct BlockData(Data);

impl BlockData {
    /// A scalar, or a block of equal elements, by their bits.
    pub fn uniform(bits: u64) -> BlockData {
        BlockData(Data::uniform(bits))
    }

    /// A block by the bits of its elements, in row-major order.
    pub fn each(bits: Vec<u64>) -> BlockData {
        BlockData(Data::each(bits))
    }

    /// The bits of an element.
    pub fn at(&self, index: usize) -> u64 {
        self.0.at(index)
    }

    /// Whether an element has no defined value.
    pub fn is_undefined(&self, index: usize) -> bool {
        self.0.is_undefined(index)
    }

    /// Where elements without a value come from, if there are any.
    pub fn undefined_origin(&self) -> Option<String> {
        self.0.undefined().map(|undefined| undefined.explain())
    }

    /// The same, with a place for undefined elements whose origin has none.
    #[must_use]
    pub fn placed(self, place: impl FnOnce() -> Option<String>) -> BlockData {
        let Some(undefined) = self.0.undefined().filter(|undefined| undefined.origin.place.is_none()) else {
            return self;
        };
        let Origin { name, doc, shape, .. } = *undefined.origin;
        let origin = Arc::new(Origin { name, doc, shape, place: place() });
        let placed = Undefined { origin, ..Undefined::clone(undefined) };
        BlockData(self.0.with_undefined(Some(Arc::new(placed))))
    }
}

/// Which program of a grid runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The grid.
    pub grid: [u32; 3],
    /// The program.
    pub program: [u32; 3],
}

/// Runs a function with these arguments, as many as it has parameters.
///
/// # Errors
/// When it does something undefined.
pub fn run_function(
    module: &Module,
    function: Op,
    args: Vec<BlockData>,
    standing: Standing,
    memory: &mut Memory,
    hooks: &mut dyn Hooks,
) -> Result<Vec<BlockData>, RunError> {
    let mut interpreter = Interpreter::new(module, standing.grid, memory, hooks, handler);
    interpreter.program = standing.program;
    let args: Vec<Data> = args.into_iter().map(|arg| arg.0).collect();
    let results = interpreter.run_block(FuncOp::new(module, function).entry(), &args)?;
    Ok(results.into_iter().map(BlockData).collect())
}

#[cfg(test)]
mod tests {
    use super::{BlockData, Standing, run_function};
    use crate::interp::{Lines, Memory};

    /// A division by zero here is stored there: the error names the place that was added.
    #[test]
    fn undefined_elements_live_from_piece_to_piece() {
        let parse = |text: &str| {
            let options = ir::text::ParseOptions::default();
            ir::text::parse(text, crate::registry(), options).expect("it parses")
        };
        let divide = parse(
            "tt.func public @f(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2xi32> {\n  \
             %0 = arith.divsi %a, %b : tensor<2xi32>\n  tt.return %0 : tensor<2xi32>\n}\n",
        );
        let store = parse(
            "tt.func public @f(%p: tensor<2x!tt.ptr<i32>>, %v: tensor<2xi32>) {\n  \
             tt.store %p, %v : tensor<2x!tt.ptr<i32>>\n  tt.return\n}\n",
        );
        let standing = Standing { grid: [4, 1, 1], program: [3, 0, 0] };
        let mut memory = Memory::new();
        let base = memory.alloc("p", vec![0; 8]).0;
        let function = |module: &ir::Module| module.symbol("f").expect("it is there");
        let mut run = |module: &ir::Module, args| {
            run_function(module, function(module), args, standing, &mut memory, &mut Lines::default())
        };
        let args = vec![BlockData::each(vec![6, 7]), BlockData::each(vec![2, 0])];
        let quotient = run(&divide, args).expect("computing is allowed").remove(0);
        assert_eq!((quotient.at(0), quotient.is_undefined(0), quotient.is_undefined(1)), (3, false, true));
        let quotient = quotient.placed(|| Some("k.py:9:4".to_owned()));
        let addresses = BlockData::each(vec![base, base + 4]);
        let error = run(&store, vec![addresses, quotient]).expect_err("storing is not").to_string();
        assert!(error.contains("program (3, 0, 0)") && error.contains("element (1) at"), "{error}");
    }
}
