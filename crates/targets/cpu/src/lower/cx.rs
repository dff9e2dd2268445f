//! The state of one lowering: the function that is built, where values live, which loops are open.

use super::error::{LowerError, Result};
use super::machine::Machine;
use super::plan::Planning;
use super::product::Product;
use super::scoped::{Mark, Scoped};
use super::scratch::{Arena, Buffer};
use super::types;
use super::value::{Affine, At, Index, Linear, LoopVar, Val, Window};
use ir::Op;
use llir::{FunctionBuilder, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

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

/// The state of a lowering.
pub(crate) struct Cx<'a> {
    /// What is lowered.
    pub(crate) module: &'a ir::Module,
    /// What is built.
    pub(crate) b: FunctionBuilder<'a>,
    /// For which processor.
    pub(crate) machine: &'a Machine,
    /// What is around the program.
    pub(crate) frame: Frame,
    /// Scalars by their values.
    pub(crate) scalars: Scoped<Value>,
    /// Blocks that are in memory.
    pub(crate) buffers: Scoped<Buffer>,
    /// Blocks of narrow floats that are also in memory as binary32, for `dot`.
    pub(crate) wide: Scoped<Buffer>,
    /// The scratch memory.
    pub(crate) arena: Arena,
    /// All loops of nests made so far.
    pub(crate) loops: Vec<Loop>,
    /// Values of chunks known so far, by scope.
    pub(crate) memo: Vec<FxHashMap<(ir::Value, u32), Val>>,
    /// Masks that hold in all lanes of the chunks with these positions.
    pub(crate) full: FxHashSet<ir::Value>,
    /// Masks that hold in none of them.
    pub(crate) none: Vec<ir::Value>,
    /// The positions for which `full` and `none` speak.
    pub(crate) full_at: Vec<u32>,
    /// Remainders that do not wrap around in the current nest, with what to take away from their dividend.
    pub(crate) no_wrap: FxHashMap<ir::Value, Value>,
    /// How many values are being made, one for the other.
    pub(crate) depth: u32,
    /// Set while only forms are asked for; turns true when one needs more.
    pub(crate) probe: Option<bool>,
    /// Lanes of the current chunk.
    pub(crate) lanes: u32,
    /// Whether the sign of a zero is free, as in a reduction, whose order is open.
    pub(crate) free_zeros: bool,
    /// Divisors that serve by their inverses in the current nest.
    pub(crate) inverses: FxHashMap<ir::Value, Value>,
    ids: FxHashMap<Rc<[Index]>, u32>,
    /// How addresses move from one round of a loop to the next.
    pub(crate) moves: super::induction::Moves,
    /// How many loops of the program are open.
    pub(crate) loop_depth: u32,
    /// The number of the current group.
    pub(crate) group_number: u32,
    /// In which group a parameter is loaded from first.
    pub(crate) loaded_in: FxHashMap<ir::Value, u32>,
    /// In which group it, or a kept block, is read for the second time.
    pub(crate) second_pass: FxHashMap<ir::Value, u32>,
    /// Stores past the caches.
    pub(crate) streams: super::stream::Streams,
    /// Which values are virtual.
    pub(crate) virtuals: super::plan::Virtuals,
    /// Whether an operand of a product is packed.
    pub(crate) is_packing: bool,
    /// Loops that only add products.
    pub(crate) products: FxHashMap<Op, Rc<Product>>,
    /// How accesses are done, and with how many lanes, for who asks.
    pub(crate) notes: Vec<Note>,
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

/// A region that is open.
#[derive(Debug)]
pub(crate) struct Region {
    scalars: Mark,
    buffers: Mark,
    wide: Mark,
    arena: u64,
}

impl<'a> Cx<'a> {
    /// The state at the start of a kernel.
    pub(crate) fn new(
        module: &'a ir::Module,
        b: FunctionBuilder<'a>,
        machine: &'a Machine,
        frame: Frame,
    ) -> Cx<'a> {
        Cx {
            module,
            b,
            machine,
            frame,
            scalars: Scoped::default(),
            buffers: Scoped::default(),
            wide: Scoped::default(),
            arena: Arena::default(),
            loops: Vec::new(),
            memo: vec![FxHashMap::default()],
            full: FxHashSet::default(),
            none: Vec::new(),
            full_at: Vec::new(),
            no_wrap: FxHashMap::default(),
            depth: 0,
            probe: None,
            lanes: 1,
            free_zeros: false,
            inverses: FxHashMap::default(),
            ids: FxHashMap::default(),
            moves: super::induction::Moves::default(),
            loop_depth: 0,
            group_number: 0,
            loaded_in: FxHashMap::default(),
            second_pass: FxHashMap::default(),
            streams: super::stream::Streams::default(),
            virtuals: super::plan::Virtuals::default(),
            notes: Vec::new(),
            is_packing: false,
            products: FxHashMap::default(),
        }
    }

    /// The type of so many lanes.
    pub(crate) fn vector_type(&self, lane: Type) -> Type {
        lane.with_lanes(self.lanes)
    }

    /// A scalar in every lane of the current chunk.
    pub(crate) fn spread(&mut self, scalar: Value) -> Value {
        if self.lanes == 1 { scalar } else { self.b.splat(scalar, self.lanes) }
    }

    /// 0, 1, 2, … in the lanes.
    pub(crate) fn iota(&mut self, lane: Type) -> Value {
        let lanes: Vec<i64> = (0..i64::from(self.lanes)).collect();
        self.table(lane, &lanes)
    }

    /// Constants in the lanes.
    pub(crate) fn table(&mut self, lane: Type, values: &[i64]) -> Value {
        if values.len() == 1 {
            return self.b.int(lane, values[0]);
        }
        let bits: Vec<u128> = values.iter().map(|&value| i128::from(value) as u128).collect();
        self.b.lanes(lane.vector(values.len() as u32), &bits)
    }

    /// A position.
    pub(crate) fn at(&mut self, dims: Vec<Index>) -> At {
        let dims: Rc<[Index]> = dims.into();
        let next = self.ids.len() as u32;
        let id = *self.ids.entry(dims.clone()).or_insert(next);
        At { id, dims }
    }

    /// Opens a loop of a nest whose counter is not known yet.
    pub(crate) fn new_loop(&mut self, step: i64, end: i64) -> LoopVar {
        self.loops.push(Loop { counter: None, step, end });
        LoopVar(self.loops.len() as u32 - 1)
    }

    /// The `i64` that a linear form stands for.
    pub(crate) fn linear(&mut self, linear: &Linear) -> Value {
        let mut sum = self.b.i64(linear.constant);
        for &(var, coefficient) in &linear.terms {
            let Some(counter) = self.loops[var.0 as usize].counter else {
                self.fail_probe();
                continue;
            };
            let factor = self.b.i64(coefficient);
            let term = self.b.mul(counter, factor);
            sum = self.b.add(sum, term);
        }
        sum
    }

    /// Notes that a form alone does not answer.
    pub(crate) fn fail_probe(&mut self) {
        if let Some(failed) = &mut self.probe {
            *failed = true;
        }
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

    /// The vector (the scalar for one lane) behind a chunk value. `ty` is its type, of which the element counts.
    pub(crate) fn vector(&mut self, val: &Val, ty: ir::Type) -> Value {
        match val {
            Val::Vector(value) => *value,
            Val::Uniform(value) => self.spread(*value),
            Val::Affine(affine) => self.affine_vector(affine, self.pointee(ty)),
            Val::Offsets { base, offsets } => self.b.gep(self.pointee(ty), *base, *offsets),
            Val::Window(window) => self.window_vector(window),
        }
    }

    /// What addresses of a type count in.
    pub(crate) fn pointee(&self, ty: ir::Type) -> Type {
        ttir::types::pointee(ty).map_or(Type::I8, types::memory)
    }

    fn affine_vector(&mut self, affine: &Affine, element: Type) -> Value {
        let scalar = self.scalar_of(affine, element);
        if affine.lanes.is_uniform() {
            return self.spread(scalar);
        }
        let lane = self.b.ty(scalar);
        if lane.is_ptr() {
            let table = self.table(Type::I64, &affine.lanes.0);
            return self.b.gep(element, scalar, table);
        }
        let (spread, table) = (self.spread(scalar), self.table(lane, &affine.lanes.0));
        self.b.add(spread, table)
    }

    /// An end of a window, from 0 to `lanes`, in every lane.
    fn window_end(&mut self, end: Value, linear: &Linear) -> Value {
        let more = self.linear(linear);
        let end = self.b.add(end, more);
        let (zero, all) = (self.b.i64(0), self.b.i64(i64::from(self.lanes)));
        let end = self.b.intrinsic("llvm.smax", Type::I64, &[end, zero]);
        let end = self.b.intrinsic("llvm.smin", Type::I64, &[end, all]);
        let end = self.b.resize_signed(end, Type::I32);
        self.spread(end)
    }

    pub(crate) fn window_vector(&mut self, window: &Window) -> Value {
        let iota = self.iota(Type::I32);
        let mut mask = self.b.int(self.vector_type(Type::I1), -1);
        if let Some(count) = window.count {
            let end = self.window_end(count, &window.linear);
            let holds = self.b.icmp(llir::IntCompare::Slt, iota, end);
            mask = self.b.and(mask, holds);
        }
        if let Some(start) = window.start {
            let start = self.window_end(start, &window.linear);
            let holds = self.b.icmp(llir::IntCompare::Sge, iota, start);
            mask = self.b.and(mask, holds);
        }
        mask
    }

    /// The scalar behind a chunk value that is the same in all lanes.
    pub(crate) fn as_scalar(&mut self, val: &Val, ty: ir::Type) -> Option<Value> {
        match val {
            Val::Uniform(value) => Some(*value),
            Val::Affine(affine) if affine.lanes.is_uniform() => {
                Some(self.scalar_of(affine, self.pointee(ty)))
            }
            Val::Vector(value) if self.lanes == 1 => Some(*value),
            Val::Window(_) if self.lanes == 1 => Some(self.vector(val, ty)),
            _ => None,
        }
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

    /// What regions are planned by.
    pub(crate) fn planning(&mut self) -> Planning<'_, 'a> {
        Planning {
            module: self.module,
            products: &self.products,
            virtuals: &mut self.virtuals,
            arena: &mut self.arena,
            wide: &self.wide,
        }
    }

    /// An error at an operation that is not supported.
    pub(crate) fn unsupported<T>(&self, op: Op, why: &str) -> Result<T> {
        Err(LowerError::unsupported(self.module, op, why))
    }

    /// Opens a region: what is noted and taken in it ends with it.
    pub(crate) fn enter_region(&mut self) -> Region {
        self.enter();
        Region {
            scalars: self.scalars.mark(),
            buffers: self.buffers.mark(),
            wide: self.wide.mark(),
            arena: self.arena.mark(),
        }
    }

    /// Closes a region.
    pub(crate) fn leave_region(&mut self, region: Region) {
        self.leave();
        self.scalars.rewind(region.scalars);
        self.buffers.rewind(region.buffers);
        self.wide.rewind(region.wide);
        self.arena.release(region.arena);
    }

    /// Opens a scope of known chunk values.
    pub(crate) fn enter(&mut self) {
        self.memo.push(FxHashMap::default());
    }

    /// Closes a scope.
    pub(crate) fn leave(&mut self) {
        self.memo.pop();
    }
}
