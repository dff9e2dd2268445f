//! The reference interpreter: the meaning of block-level code, the oracle of the other engines, and a sanitizer.
//!
//! What it promises beyond the rows:
//! - Programs run one after another, x fastest; atomics are therefore atomic, and happen in the order of the elements.
//! - Every access is checked: outside the given memory, or misaligned, is an error with the tensor, the offset, the
//!   program, the element and the line. Masked-off lanes touch nothing.
//! - Where [`Memory::watch_races`] asks for it, two programs that touch the same bytes, and nothing orders them, are an
//!   error at the end (module `races`).
//! - A masked-off lane of a load without `other`, or of an atomic, is undefined in the language; here it is 0.
//! - An element without a defined result (a division by zero, a float that does not fit an integer, `ub.poison`) may be
//!   computed with, but is an error with its origin when it reaches memory, output, an address or control.
//! - Reductions combine neighbours first (0 with 1, 2 with 3, then those, …); scans go along the axis element by
//!   element.
//! - `tt.dot` starts from c and adds the products in order of k, each step rounded to the accumulator's format: f64 for
//!   f64, i32 for integers (wrapping), f32 for the others; a narrower c is rounded once at the end. The product itself
//!   is exact (fused) for formats up to f32. `inputPrecision` is not modelled: operands are used in full.
//!
//! Left out: instructions of a target (`tt.elementwise_inline_asm`), which no interpreter can know.
//!
//! The module must have been verified before.

mod access;
mod affine;
mod atomic;
mod block_access;
mod combine;
mod control;
mod data;
mod debug;
mod descriptor;
mod dot;
mod error;
mod external;
mod external_bits;
mod external_directed;
mod handlers;
mod idle;
mod interpreter;
mod memory;
mod multiply;
mod others;
mod positions;
mod races;
mod shape;
mod step;
mod track;
mod waiting;
mod whole;

pub use debug::{PrintedElement, print_line};
pub use error::{RunError, RunErrorKind};
pub use memory::{Address, Memory};
pub use step::{BlockData, Standing, run_function};

use ir::Module;

/// What a kernel does besides computing.
pub trait Hooks {
    /// A line that the kernel prints, without the newline.
    fn print(&mut self, line: &str);

    /// Asked at each iteration of a loop and in front of each program: whether to stop.
    fn interrupted(&mut self) -> bool {
        false
    }

    /// Where in the program the operation stands that runs, by a number that the caller chose; none where its place in
    /// the module says it.
    fn place(&mut self) -> Option<u32> {
        None
    }

    /// Whether every value that is computed is reported.
    fn watches(&self) -> bool {
        false
    }

    /// A value was computed: the bits of its elements, `None` where they are undefined.
    fn computed(&mut self, value: ir::Value, elements: &[Option<u64>]) {
        let _ = (value, elements);
    }
}

/// Keeps what a kernel prints.
#[derive(Default, Debug)]
pub struct Lines {
    /// The lines in order.
    pub lines: Vec<String>,
}

impl Hooks for Lines {
    fn print(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// An address.
    Pointer(Address),
    /// An integer; its low bits are used.
    Int(i64),
    /// A float; rounded to the parameter's format.
    Float(f64),
    /// A scalar by its raw bits.
    Bits(u64),
}

/// Runs every program of a grid.
///
/// # Errors
/// When the kernel does not exist, the arguments do not fit its parameters, a program does something undefined, or
/// programs race and `memory` watches them; in the last case all of them have run.
pub fn run(
    module: &Module,
    kernel: &str,
    grid: [u32; 3],
    args: &[Arg],
    memory: &mut Memory,
    hooks: &mut dyn Hooks,
) -> Result<(), RunError> {
    let mut interpreter = interpreter::Interpreter::new(module, grid, memory, hooks, handlers::handler);
    let function = control::kernel(&interpreter, kernel)?;
    control::name_pointers(&mut interpreter, function, args);
    let args = control::arguments(&interpreter, function, args)?;
    interpreter.others = Some(others::Others::new(grid, function, args));
    while interpreter.run_next()? {}
    let place = |op| module.locs.describe(module.loc(ir::Op::from_u32(op)));
    memory.races(&place).map_or(Ok(()), Err)
}
