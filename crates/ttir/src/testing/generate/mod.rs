//! Random programs: verified kernels over the operations of the table, with inputs, that do nothing undefined.
//!
//! A program loads blocks, computes with them, with scalars and with blocks of two and three dimensions, in loops,
//! conditions and functions that it calls, combines lines of one and of several blocks, updates memory by atomics, and
//! stores every kind of value that it made. Floats of 8 bits are moved and converted. Guards keep it defined: divisors
//! are odd, shift amounts below the width, indices inside, floats clamped before they become integers. Sums of floats
//! are of small integers, so that they are exact in any order. Results of elementary functions are stored but not
//! computed with, so that their tolerance means something.

mod atomics;
mod blocks;
mod calls;
mod combine;
mod control;
mod elementwise;
mod input;
mod memory;
mod products;
mod random;
mod scaled;
mod tuples;

pub use random::Random;

use super::Argument;
use super::value::Tolerance;
use super::wrap::add_function;
use crate::ops::{arith_int, compare, constant, func, memory as memory_ops, program, shape};
use crate::types::{elem, elem_bytes, is_tensor, numel, ptr, tensor, with_elem};
use ir::{Attr, Block, Builder, FloatKind, Module, OpRow, Place, Type, Value};

/// What programs may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Elementary functions.
    pub approximate: bool,
    /// Loops and conditions.
    pub control: bool,
    /// Reductions, scans, elementwise regions, histograms, gathers.
    pub combine: bool,
    /// Blocks whose sizes are no powers of two, in half of the programs.
    pub any_shape: bool,
    /// Roughly how many operations.
    pub size: usize,
}

impl Profile {
    /// Everything.
    pub const ALL: Profile =
        Profile { approximate: true, control: true, combine: true, any_shape: true, size: 30 };
    /// Only what every engine must compute bit for bit, without regions.
    pub const PLAIN: Profile =
        Profile { approximate: false, control: false, combine: false, any_shape: true, size: 20 };
}

/// Memory that a program writes.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Which of the buffers.
    pub buffer: usize,
    /// The type of its elements.
    pub ty: Type,
    /// How much engines may differ.
    pub tolerance: Tolerance,
}

/// A random program with its inputs.
#[derive(Clone)]
pub struct Program {
    /// The code.
    pub module: Module,
    /// The kernel in it.
    pub kernel: &'static str,
    /// The grid to run it on.
    pub grid: [u32; 3],
    /// Its arguments.
    pub args: Vec<Argument>,
    /// What it writes.
    pub outputs: Vec<Output>,
}

const KERNEL: &str = "kernel";

/// A value that is there to be used.
#[derive(Clone, Copy)]
struct Known {
    value: Value,
    /// Not `None` if engines may differ; then it is only stored.
    tolerance: Tolerance,
}

/// A kernel parameter: memory of elements of a type.
struct Buffer {
    pointer: Value,
    elem: Type,
}

/// The state of making a program.
struct Maker {
    module: Module,
    random: Random,
    profile: Profile,
    block: Block,
    known: Vec<Known>,
    shapes: Vec<Vec<i64>>,
    inputs: Vec<Buffer>,
    scratch: Value,
    counters: Value,
    counter_elem: Type,
    functions: usize,
    depth: usize,
}

/// Makes the program of a seed.
pub fn generate(seed: u64, profile: Profile) -> Program {
    let mut random = Random::new(seed);
    let shapes = random_shapes(&mut random, profile);
    let most = if random.one_in(4) { 8 } else { 3 };
    let programs = random.below(most) as u32 + 1;
    let input_elems: Vec<Type> =
        (0..random.below(3) + 2).map(|_| elementwise::random_elem(&mut random)).collect();
    // Kernels with a module of their own for types: results are not known before the body is made.
    let counter_elem = atomics::random_elem(&mut random);
    let (module, known) = make_body(&mut random, profile, &shapes, &input_elems, counter_elem);
    finish(random, module, known, programs, &input_elems, counter_elem)
}

fn random_shapes(random: &mut Random, profile: Profile) -> Vec<Vec<i64>> {
    if profile.any_shape && random.one_in(2) {
        let columns = if random.one_in(8) { 257 + random.below(800) } else { 1 + random.below(130) } as i64;
        let rows = 1 + random.below(12) as i64;
        return with_stack(random, rows, columns);
    }
    // Now and then more columns than the loop over a block takes at once.
    let columns = 1 << if random.one_in(8) { 8 + random.below(3) } else { random.below(8) };
    let rows = 1 << random.below(4);
    with_stack(random, rows, columns)
}

/// Lines, matrices and, where those are small, stacks of matrices.
fn with_stack(random: &mut Random, rows: i64, columns: i64) -> Vec<Vec<i64>> {
    let mut shapes = vec![vec![columns], vec![rows, columns]];
    let is_odd = [rows, columns].iter().any(|size| size.count_ones() != 1);
    let count = if is_odd { 1 + random.below(4) as i64 } else { 1 << random.below(3) };
    if rows * columns * count <= 2048 && random.one_in(2) {
        shapes.push(vec![count, rows, columns]);
    }
    shapes
}

/// Whether anything is computed with elements of a type. Floats of 8 bits are only moved and converted.
fn is_computed(elem: Type) -> bool {
    elem.as_float().is_none_or(|kind| kind.bits() > 8)
}

const MAX_OUTPUTS: usize = 12;

/// Makes the body; gives the program so far and what it knows at its end.
fn make_body(
    random: &mut Random,
    profile: Profile,
    shapes: &[Vec<i64>],
    inputs: &[Type],
    counter_elem: Type,
) -> (Module, Vec<Known>) {
    let mut module = crate::new_module();
    let i32 = Type::int(32);
    // Inputs, two scalars, a buffer that is written and read, then a pointer for each output; the types of those are
    // set when they are known.
    let mut params: Vec<Type> = inputs.iter().map(|&elem| ptr(stored(elem))).collect();
    params.extend([i32, Type::float(FloatKind::F32), memory::scratch_pointer(), ptr(counter_elem)]);
    params.extend(vec![ptr(i32); MAX_OUTPUTS]);
    let block = add_function(&mut module, KERNEL, &params);
    let args = module.args(block).to_vec();
    let buffers =
        inputs.iter().zip(&args).map(|(&elem, &pointer)| Buffer { pointer, elem }).collect::<Vec<_>>();
    let mut maker = Maker {
        module,
        random: random.fork(),
        profile,
        block,
        known: Vec::new(),
        shapes: shapes.to_vec(),
        inputs: buffers,
        scratch: args[inputs.len() + 2],
        counters: args[inputs.len() + 3],
        counter_elem,
        functions: 0,
        depth: 0,
    };
    for &scalar in &args[inputs.len()..inputs.len() + 2] {
        maker.learn(scalar);
    }
    let axis = Attr::Enum { row: &program::AXIS, value: 0 };
    let pid = maker.build(&program::GET_PROGRAM_ID, &[], &[Some(axis)]);
    maker.learn(pid);
    for input in 0..maker.inputs.len() {
        maker.load_input(input, pid);
    }
    maker.learn_numbers_around_zero(args[inputs.len()]);
    for _ in 0..profile.size {
        maker.step();
    }
    (maker.module, maker.known)
}

/// Stores what is known at the end, at most one value of each type and tolerance, and makes the inputs.
fn finish(
    mut random: Random,
    module: Module,
    known: Vec<Known>,
    programs: u32,
    inputs: &[Type],
    counter_elem: Type,
) -> Program {
    let function = module.symbol(KERNEL);
    let block = function.map(|function| module.entry_of(function));
    let mut program =
        Program { module, kernel: KERNEL, grid: [programs, 1, 1], args: Vec::new(), outputs: Vec::new() };
    let Some((function, block)) = function.zip(block) else { return program };
    let first_output = inputs.len() + 4;
    for &elem in inputs {
        let values = input::values(&mut random, elem, input::LENGTH);
        program.args.push(Argument::Buffer(super::bytes_of(&values, stored(elem))));
    }
    program.args.push(Argument::Bits(input::values(&mut random, Type::int(32), 1)[0]));
    program.args.push(Argument::Bits(input::values(&mut random, Type::float(FloatKind::F32), 1)[0]));
    let scratch = input::values(&mut random, Type::int(32), programs as usize * memory::SCRATCH as usize);
    program.args.push(Argument::Buffer(super::bytes_of(&scratch, Type::int(32))));
    program.outputs.push(Output { buffer: inputs.len(), ty: Type::int(32), tolerance: Tolerance::default() });
    let counters = input::values(&mut random, counter_elem, programs as usize * atomics::COUNTERS as usize);
    program.args.push(Argument::Buffer(super::bytes_of(&counters, counter_elem)));
    program.outputs.push(Output {
        buffer: inputs.len() + 1,
        ty: counter_elem,
        tolerance: Tolerance::default(),
    });
    let chosen: Vec<Known> = known.iter().rev().take(MAX_OUTPUTS).copied().collect();
    for (index, known) in chosen.iter().enumerate() {
        let pointer = program.module.args(block)[first_output + index];
        let ty = program.module.ty(known.value);
        program.module.set_ty(pointer, ptr(stored(elem(ty))));
        store_output(&mut program.module, block, pointer, known.value);
        let bytes = numel(ty) as u64 * elem_bytes(stored(elem(ty))) * u64::from(programs);
        program.args.push(Argument::Buffer(vec![0x5a; bytes as usize]));
        program.outputs.push(Output {
            buffer: inputs.len() + 2 + index,
            ty: stored(elem(ty)),
            tolerance: known.tolerance,
        });
    }
    let used = first_output + chosen.len();
    program.module.retain_args(block, |index| index < used);
    Builder::new(&mut program.module, Place::End(block)).build_effect(&func::RETURN, &[], &[]);
    func::FuncOp::follow_arguments(&mut program.module, function);
    program
}

/// Truth values are stored as bytes.
fn stored(elem: Type) -> Type {
    if elem.as_int() == Some(1) { Type::int(8) } else { elem }
}

/// Stores a value where this program's part of an output is.
fn store_output(module: &mut Module, block: Block, pointer: Value, mut value: Value) {
    let mut builder = Builder::new(module, Place::End(block));
    let ty = builder.module.ty(value);
    if elem(ty) != stored(elem(ty)) {
        let wide = with_elem(ty, stored(elem(ty)));
        value = builder.build_as(&crate::ops::arith_cast::EXTUI, &[value], &[], wide);
    }
    let axis = Attr::Enum { row: &program::AXIS, value: 0 };
    let pid = builder.build(&program::GET_PROGRAM_ID, &[], &[Some(axis)]);
    let count = constant::int(&mut builder, Type::int(32), numel(ty));
    let start = builder.build(&arith_int::MULI, &[pid, count], &[]);
    let base = builder.build(&memory_ops::ADDPTR, &[pointer, start], &[]);
    if !is_tensor(ty) {
        builder.build_effect(&memory_ops::STORE, &[base, value], &[]);
        return;
    }
    let flat = tensor(&[numel(ty)], stored(elem(ty)));
    if builder.module.ty(value) != flat {
        value = builder.build_as(&shape::RESHAPE, &[value], &[], flat);
    }
    let pointers = super::wrap::pointers(&mut builder, base, numel(ty));
    builder.build_effect(&memory_ops::STORE, &[pointers, value], &[]);
}

impl Maker {
    fn builder(&mut self) -> Builder<'_> {
        Builder::new(&mut self.module, Place::End(self.block))
    }

    fn build(&mut self, row: &'static OpRow, operands: &[Value], attrs: &[Option<Attr>]) -> Value {
        self.builder().build(row, operands, attrs)
    }

    fn build_as(
        &mut self,
        row: &'static OpRow,
        operands: &[Value],
        attrs: &[Option<Attr>],
        ty: Type,
    ) -> Value {
        self.builder().build_as(row, operands, attrs, ty)
    }

    fn ty(&self, value: Value) -> Type {
        self.module.ty(value)
    }

    fn constant(&mut self, ty: Type, value: i64) -> Value {
        constant::int(&mut self.builder(), ty, value)
    }

    /// Adds a value to those that may be used.
    fn learn(&mut self, value: Value) {
        self.known.push(Known { value, tolerance: Tolerance::default() });
    }

    fn learn_approximate(&mut self, value: Value, tolerance: Tolerance) {
        self.known.push(Known { value, tolerance });
    }

    /// A known value whose type passes, rather a late one.
    fn pick(&mut self, passes: impl Fn(Type) -> bool) -> Option<Value> {
        let fitting: Vec<Value> = self
            .known
            .iter()
            .filter(|known| known.tolerance == Tolerance::default() && passes(self.module.ty(known.value)))
            .map(|known| known.value)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let index = self.random.below(fitting.len() as u64).max(self.random.below(fitting.len() as u64));
        Some(fitting[index as usize])
    }

    fn pick_of(&mut self, ty: Type) -> Option<Value> {
        self.pick(|own| own == ty)
    }

    /// Adds one or a few operations.
    fn step(&mut self) {
        let choice = self.random.below(20);
        match choice {
            0..=9 => self.random_elementwise(),
            10 | 11 => self.random_cast(),
            12 | 13 => self.random_shape_change(),
            14 => self.random_constant(),
            15 | 16 => self.random_access(),
            17 if self.profile.combine => self.random_combination(),
            18 | 19 if self.profile.control && self.depth < 2 => self.random_control(),
            _ => self.random_elementwise(),
        }
    }

    /// Loads a block from an input, at this program's offset, masked so that it stays inside.
    fn load_input(&mut self, input: usize, pid: Value) {
        let (pointer, elem) = (self.inputs[input].pointer, self.inputs[input].elem);
        let dims = self.shapes[self.random.below(self.shapes.len() as u64) as usize].clone();
        let count = dims.iter().product::<i64>();
        let i32s = tensor(&[count], Type::int(32));
        let attrs = [Some(Attr::i32(count as i32)), Some(Attr::i32(0))];
        let range = self.build(&shape::MAKE_RANGE, &[], &attrs);
        let size = self.constant(Type::int(32), count);
        let start = self.build(&arith_int::MULI, &[pid, size], &[]);
        let starts = self.build_as(&shape::SPLAT, &[start], &[], i32s);
        let offsets = self.build(&arith_int::ADDI, &[starts, range], &[]);
        let limit = self.constant(i32s, input::LENGTH as i64);
        let predicate = Attr::Enum { row: &compare::CMPI_PREDICATE, value: 2 };
        let mask = self.build(&compare::CMPI, &[offsets, limit], &[Some(predicate)]);
        let bases = tensor(&[count], self.ty(pointer));
        let bases = self.build_as(&shape::SPLAT, &[pointer], &[], bases);
        let pointers = self.build(&memory_ops::ADDPTR, &[bases, offsets], &[]);
        let other = self.constant(tensor(&[count], stored(elem)), 0);
        let loaded = self.build(&memory_ops::LOAD, &[pointers, mask, other], &[]);
        self.learn_loaded(loaded, elem, &dims);
        self.learn(offsets);
        self.learn(mask);
    }

    /// Neighbours that count up through zero from a multiple of a power of two, which the code does not show: quotients
    /// and remainders of them are grouped only from zero on.
    fn learn_numbers_around_zero(&mut self, scalar: Value) {
        let i32s = |module: &Module, value: &Known| {
            is_tensor(module.ty(value.value)) && elem(module.ty(value.value)) == Type::int(32)
        };
        let ranges = self.known.iter().filter(|known| i32s(&self.module, known));
        let Some(range) = ranges.map(|known| known.value).next() else { return };
        let low = self.constant(Type::int(32), -16);
        let below = self.build(&arith_int::ORI, &[scalar, low], &[]);
        let scale = self.constant(Type::int(32), 16);
        let first = self.build(&arith_int::MULI, &[below, scale], &[]);
        let firsts = self.build_as(&shape::SPLAT, &[first], &[], self.ty(range));
        let numbers = self.build(&arith_int::ADDI, &[range, firsts], &[]);
        self.learn(numbers);
        // A hash, which wraps around.
        let factor = self.constant(self.ty(range), 166_452_501);
        let hash = self.build(&arith_int::MULI, &[numbers, factor], &[]);
        self.learn(hash);
    }

    fn learn_loaded(&mut self, mut loaded: Value, elem: Type, dims: &[i64]) {
        let narrow = with_elem(self.ty(loaded), elem);
        if self.ty(loaded) != narrow {
            loaded = self.build_as(&crate::ops::arith_cast::TRUNCI, &[loaded], &[], narrow);
        }
        let ty = tensor(dims, elem);
        if self.ty(loaded) != ty {
            loaded = self.build_as(&shape::RESHAPE, &[loaded], &[], ty);
        }
        self.learn(loaded);
    }

    fn random_constant(&mut self) {
        let elem = elementwise::random_elem(&mut self.random);
        let dims = self.random_shape();
        let bits = input::values(&mut self.random, elem, 1)[0];
        let value = constant::build(&mut self.builder(), tensor(&dims, elem), bits);
        self.learn(value);
    }

    /// A shape of the program, or none for a scalar.
    fn random_shape(&mut self) -> Vec<i64> {
        let index = self.random.below(self.shapes.len() as u64 + 1) as usize;
        self.shapes.get(index).cloned().unwrap_or_default()
    }
}
