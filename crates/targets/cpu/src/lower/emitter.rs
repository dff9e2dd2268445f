//! What a kernel is lowered with: facts that hold for all of it, the function that is built, where values are.

use super::dot_loop::{DotLoop, Tiles};
use super::error::{LowerError, Result};
use super::induction::Moves;
use super::plan::{Planning, Virtuals, Why};
use super::scoped::{Mark, Scoped};
use super::scratch::{Arena, Buffer};
use super::subtarget::Subtarget;
use super::types;
use super::value::{Affine, At, Index, Linear, LoopVar};
use ir::{Op, Type as IrType, Value as IrValue};
use llir::{FunctionBuilder, Type, Value, intrinsics};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;
use ttir::axis::AxisTable;
use ttir::ops::extern_call::INLINE_ASM;

/// What is fixed for a kernel.
pub(crate) struct Program<'a> {
    /// What is lowered.
    pub(crate) module: &'a ir::Module,
    /// The function of it that is.
    pub(crate) kernel: Op,
    /// How integers run along blocks, once somebody asked.
    pub(crate) axis: OnceCell<AxisTable>,
    /// For which processor.
    pub(crate) machine: &'a Subtarget,
    /// How addresses move from one iteration of a loop to the next.
    pub(crate) moves: Moves,
    /// Loops that only add dots.
    pub(crate) dot_loops: FxHashMap<Op, DotLoop>,
    /// Right operands that are kept from program to program, by their dots.
    pub(crate) tiles: FxHashMap<Op, Tiles>,
    /// Parameters that are only written, by plain stores.
    pub(crate) written: FxHashSet<ir::Value>,
}

impl Program<'_> {
    /// Whether the code shows that elements of an integer may be negative.
    pub(crate) fn may_be_negative(&self, value: ir::Value) -> bool {
        let axis = self.axis.get_or_init(|| ttir::axis::analyze(self.module, self.kernel));
        axis.get(value).is_none_or(|info| info.negative)
    }
}

/// What a kernel can reach besides its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The launch context.
    pub(crate) context: Value,
    /// The arena.
    pub(crate) scratch: Value,
    /// The linear number of the program.
    pub(crate) pid: Value,
    /// The position of the program.
    pub(crate) position: [Value; 3],
    /// The size of the grid.
    pub(crate) grid: [Value; 3],
}

/// A loop of a nest.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// The counter, an `i64`; not known while only forms are asked for.
    pub(crate) counter: Option<Value>,
    /// How much it grows each time.
    pub(crate) step: i64,
    /// Where it ends.
    pub(crate) end: i64,
}

/// How an access was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    /// The operation.
    pub(crate) op: Op,
    /// The way, in words.
    pub(crate) way: &'static str,
    /// Elements at once.
    pub(crate) lanes: u32,
}

/// A block that goes through memory between loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    /// What makes it.
    pub(crate) op: Op,
    /// Where it is in the scratch memory.
    pub(crate) offset: u64,
    /// Why it does.
    pub(crate) why: Why,
}

/// A reduction of which the lanes of each row are still to be combined.
#[derive(Clone, Debug)]
pub(crate) struct RowFold {
    /// The operation.
    pub(crate) op: Op,
    /// The vector of each row.
    pub(crate) partials: Buffer,
    /// What becomes of the rows.
    pub(crate) result: Buffer,
    /// How many there are.
    pub(crate) rows: i64,
    /// The lanes of each.
    pub(crate) lanes: u32,
}

/// What is known of a region, which may be the body of a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// How often it runs in the whole launch, an `i64`; `None` where that is not known.
    pub(crate) repeats: Option<Value>,
    /// How many loops of the program are around it.
    pub(crate) loops: u32,
    /// Whether it does nothing but pack an operand of a dot.
    pub(crate) is_packing: bool,
}

impl Place {
    /// The body of a loop here.
    pub(crate) fn in_loop(self, repeats: Option<Value>) -> Place {
        Place { repeats, loops: self.loops + 1, ..self }
    }
}

/// A region that is open, and what was known before it.
#[derive(Debug)]
struct Region {
    place: Place,
    scalars: Mark,
    buffers: Mark,
    wide: Mark,
    arena: u64,
}

/// Which groups of the program have loaded what, in the order that they are made in.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    /// The number of the current group.
    pub(crate) group: u32,
    /// In which group a parameter is loaded from first, and by what.
    pub(crate) loaded_in: FxHashMap<ir::Value, (u32, Op)>,
    /// In which group it, or a kept block, is read for the second time.
    pub(crate) second: FxHashMap<ir::Value, u32>,
}

/// The function that is built, and where its values are.
pub(crate) struct Emitter<'a> {
    program: &'a Program<'a>,
    /// What is built.
    pub(crate) b: FunctionBuilder<'a>,
    /// What is around the program.
    pub(crate) frame: Frame,
    /// Scalars by their values.
    pub(crate) scalars: Scoped<Value>,
    /// Blocks that are in memory.
    pub(crate) buffers: Scoped<Buffer>,
    /// Blocks of narrow floats that are also in memory as binary32, for `dot`.
    pub(crate) wide: Scoped<Buffer, (IrValue, IrType)>,
    /// The scratch memory.
    pub(crate) arena: Arena,
    /// Which values are virtual.
    pub(crate) virtuals: Virtuals,
    /// Which groups load what.
    pub(crate) passes: Passes,
    /// Reductions of the walk that is open whose lanes are still to be combined.
    pub(crate) row_folds: Vec<RowFold>,
    /// Whether any store goes past the caches.
    pub(crate) has_streams: bool,
    /// How accesses are done, and with how many lanes, for who asks.
    pub(crate) notes: Vec<Note>,
    /// Which blocks go through memory between loops, for who asks.
    pub(crate) kept: Vec<Kept>,
    regions: Vec<Region>,
    loops: Vec<Loop>,
    positions: FxHashMap<Rc<[Index]>, u32>,
}

impl<'a> Deref for Emitter<'a> {
    type Target = Program<'a>;

    fn deref(&self) -> &Program<'a> {
        self.program
    }
}

impl<'a> Emitter<'a> {
    /// The state at the start of a program. The arena has what outlives it.
    pub(crate) fn new(
        program: &'a Program<'a>,
        b: FunctionBuilder<'a>,
        frame: Frame,
        arena: Arena,
    ) -> Emitter<'a> {
        Emitter {
            program,
            b,
            frame,
            scalars: Scoped::default(),
            buffers: Scoped::default(),
            wide: Scoped::default(),
            arena,
            virtuals: Virtuals::default(),
            passes: Passes::default(),
            row_folds: Vec::new(),
            has_streams: false,
            notes: Vec::new(),
            kept: Vec::new(),
            regions: Vec::new(),
            loops: Vec::new(),
            positions: FxHashMap::default(),
        }
    }

    /// What is fixed for the kernel.
    pub(crate) fn program(&self) -> &'a Program<'a> {
        self.program
    }

    /// What regions are planned by.
    pub(crate) fn planning(&mut self) -> Planning<'_, 'a> {
        Planning {
            module: self.program.module,
            dot_loops: &self.program.dot_loops,
            tiles: &self.program.tiles,
            virtuals: &mut self.virtuals,
            arena: &mut self.arena,
            wide: &self.wide,
            machine: self.program.machine,
        }
    }

    /// What is known of the innermost region that is open.
    pub(crate) fn here(&self) -> Place {
        self.regions.last().map_or_else(Place::default, |region| region.place)
    }

    /// Runs what makes a region: what is noted and taken in it ends with it.
    pub(crate) fn in_region<T>(
        &mut self,
        place: Place,
        make: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.regions.push(Region {
            place,
            scalars: self.scalars.mark(),
            buffers: self.buffers.mark(),
            wide: self.wide.mark(),
            arena: self.arena.mark(),
        });
        let made = make(self);
        if let Some(region) = self.regions.pop() {
            self.scalars.rewind(region.scalars);
            self.buffers.rewind(region.buffers);
            self.wide.rewind(region.wide);
            self.arena.release(region.arena);
        }
        made
    }

    /// Constants in the lanes.
    pub(crate) fn table(&mut self, lane: Type, values: &[i64]) -> Value {
        if values.len() == 1 {
            return self.b.int(lane, values[0]);
        }
        let bits: Vec<u128> = values.iter().map(|&value| i128::from(value) as u128).collect();
        self.b.lanes(lane.vector(values.len() as u32), &bits)
    }

    /// A number of the type of a value.
    pub(crate) fn int_like(&mut self, like: Value, number: i64) -> Value {
        let ty = self.b.ty(like);
        self.b.int(ty, number)
    }

    /// The same for floats.
    pub(crate) fn float_like(&mut self, like: Value, number: f64) -> Value {
        let ty = self.b.ty(like);
        self.b.float(ty, number)
    }

    /// A position.
    pub(crate) fn at(&mut self, dims: Vec<Index>) -> At {
        let dims: Rc<[Index]> = dims.into();
        let next = self.positions.len() as u32;
        let id = *self.positions.entry(dims.clone()).or_insert(next);
        At { id, dims }
    }

    /// A loop of a nest whose counter is not known yet.
    pub(crate) fn new_loop(&mut self, step: i64, end: i64) -> LoopVar {
        self.loops.push(Loop { counter: None, step, end });
        LoopVar(self.loops.len() as u32 - 1)
    }

    /// A loop of a nest with its counter.
    pub(crate) fn counted_loop(&mut self, step: i64, end: i64, counter: Value) -> LoopVar {
        let var = self.new_loop(step, end);
        self.loops[var.0 as usize].counter = Some(counter);
        var
    }

    /// The counter of a loop, if it is known.
    pub(crate) fn counter(&self, var: LoopVar) -> Option<Value> {
        self.loops[var.0 as usize].counter
    }

    /// The step and the end of a loop.
    pub(crate) fn range(&self, var: LoopVar) -> (i64, i64) {
        let one = &self.loops[var.0 as usize];
        (one.step, one.end)
    }

    /// The `i64` that a linear form stands for, as far as the counters in it are known.
    pub(crate) fn linear(&mut self, linear: &Linear) -> Value {
        let mut sum = self.b.i64(linear.constant);
        for &(var, coefficient) in &linear.terms {
            let Some(counter) = self.counter(var) else { continue };
            let factor = self.b.i64(coefficient);
            let term = self.b.mul(counter, factor);
            sum = self.b.add(sum, term);
        }
        sum
    }

    /// `base + linear` of an affine value, as a scalar. `element` is what addresses count in.
    pub(crate) fn scalar_of(&mut self, affine: &Affine, element: Type) -> Value {
        let ty = self.b.ty(affine.base);
        if ty.is_ptr() {
            // The constant last: chunks that run together share the rest, and it becomes part of the instruction.
            let moving = Linear { constant: 0, ..affine.linear.clone() };
            let (moving, fixed) = (self.linear(&moving), self.b.i64(affine.linear.constant));
            let pointer = self.b.gep(element, affine.base, moving);
            return self.b.gep(element, pointer, fixed);
        }
        let sum = self.linear(&affine.linear);
        let sum = self.b.resize_signed(sum, ty);
        self.b.add(affine.base, sum)
    }

    /// What addresses of a type count in.
    pub(crate) fn pointee(&self, ty: ir::Type) -> Type {
        ttir::types::pointee(ty).map_or(Type::I8, types::memory)
    }

    /// The address of a buffer.
    pub(crate) fn address(&mut self, buffer: &Buffer) -> Value {
        let offset = self.b.i64(buffer.offset as i64);
        let start = self.b.gep_with(Type::I8, self.frame.scratch, offset, llir::Flags::INBOUNDS);
        match buffer.by {
            Some(by) => self.b.gep_with(types::memory(buffer.elem), start, by, llir::Flags::INBOUNDS),
            None => start,
        }
    }

    /// A value as it was in memory, as it is in a register.
    pub(crate) fn in_register(&mut self, value: Value, elem: ir::Type) -> Value {
        types::in_register(&mut self.b, value, elem)
    }

    /// A value as it is in a register, as it goes to memory.
    pub(crate) fn in_memory(&mut self, value: Value, elem: ir::Type) -> Value {
        let ty = self.b.ty(value).with_scalar(types::memory(elem));
        if elem.as_int() == Some(1) { self.b.resize_unsigned(value, ty) } else { value }
    }

    /// Whether any lane of a mask holds.
    pub(crate) fn any(&mut self, mask: Value) -> Value {
        if self.b.ty(mask).is_vector() {
            return self.b.intrinsic(&intrinsics::VECTOR_REDUCE_OR, Type::I1, &[mask]);
        }
        mask
    }

    /// Calls a function that is attached as text.
    pub(crate) fn call_text(
        &mut self,
        definitions: &[crate::dot::Definition],
        symbol: &str,
        ret: Type,
        args: &[Value],
        purity: llir::Purity,
    ) -> Option<Value> {
        for definition in definitions {
            self.b.module().attach_text(&definition.symbol, &definition.text);
        }
        self.b.call_symbol(symbol, ret, args, purity)
    }

    /// The error for an operation that has no lowering.
    pub(crate) fn no_lowering<T>(&self, op: Op) -> Result<T> {
        let why = if self.module.is(op, &INLINE_ASM) {
            "inline assembly is written for one processor; keep such kernels on theirs"
        } else {
            "there is no lowering for it yet"
        };
        self.unsupported(op, why)
    }

    /// An error at an operation that is not supported.
    pub(crate) fn unsupported<T>(&self, op: Op, why: &str) -> Result<T> {
        Err(LowerError::unsupported(self.module, op, why))
    }
}
