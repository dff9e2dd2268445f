//! For tests of engines: text fixtures with a call and its result, and random programs. Not used by any product path.
//!
//! An [`Engine`] runs a kernel over buffers. The interpreter is one; a target that wants to be compared implements
//! another and gets every fixture and every random program.

mod differential;
mod fixture;
mod generate;
mod libraries;
mod prepare;
mod shrink;
mod text;
mod value;
mod wrap;

pub use differential::Differential;
pub use fixture::{Outcome, bless, check_file};
pub use generate::{Output, Profile, Program, Random, generate};
pub use libraries::{COUNT, LibraryFunction, library_functions};
pub use prepare::{isolate, order_writes};
pub use shrink::shrink;
pub use text::{check_text, check_texts};
pub use value::{Tolerance, difference, format_values, parse_values};
pub use wrap::{Signature, bytes_of, values_of, wrap};

use crate::interp::{self, Arg, Lines, Memory};
use ir::Module;

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// Memory that a pointer points to.
    Buffer(Vec<u8>),
    /// A scalar by its bits.
    Bits(u64),
}

/// What a kernel did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ran {
    /// The bytes of the buffers afterwards, in order of the arguments that are buffers.
    pub buffers: Vec<Vec<u8>>,
    /// What it printed.
    pub lines: Vec<String>,
}

/// Something that runs kernels.
pub trait Engine {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Whether it notices what a call should fail with. Compiled code does not look for most of that.
    fn notices(&self, failure: &str) -> bool {
        let _ = failure;
        false
    }

    /// Runs a kernel of a verified module.
    ///
    /// # Errors
    /// When it cannot, or the kernel fails; in words.
    fn run(
        &mut self,
        module: &Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String>;
}

/// The reference interpreter.
pub struct Interpreter;

impl Engine for Interpreter {
    fn name(&self) -> &str {
        "interpreter"
    }

    fn notices(&self, _failure: &str) -> bool {
        true
    }

    fn run(
        &mut self,
        module: &Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        interpret(module, kernel, grid, args, Memory::watch_races)
    }
}

/// Runs a program by the interpreter. `watch` says what its memory is watched for.
///
/// # Errors
/// What the interpreter refuses or finds.
pub fn interpret(
    module: &Module,
    kernel: &str,
    grid: [u32; 3],
    args: &[Argument],
    watch: fn(&mut Memory, [u32; 3]),
) -> Result<Ran, String> {
    let mut memory = Memory::new();
    let mut addresses = Vec::new();
    let args: Vec<Arg> = args
        .iter()
        .enumerate()
        .map(|(index, arg)| match arg {
            Argument::Buffer(bytes) => {
                let address = memory.alloc(&format!("argument {index}"), bytes.clone());
                addresses.push(address);
                Arg::Pointer(address)
            }
            Argument::Bits(bits) => Arg::Bits(*bits),
        })
        .collect();
    let mut lines = Lines::default();
    watch(&mut memory, grid);
    interp::run(module, kernel, grid, &args, &mut memory, &mut lines).map_err(|error| error.to_string())?;
    let buffers = addresses.iter().map(|&address| memory.bytes(address).to_vec()).collect();
    Ok(Ran { buffers, lines: lines.lines })
}
