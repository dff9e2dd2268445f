//! Elements and slices of blocks, read and assigned (extension `block_indexing`).
//!
//! Positions count as in Python. A slice of an aligned half or quarter is taken apart by `split`, everything else by
//! `gather`. An assignment makes a new block: a position is taken from the new value or from the old one.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res, Stop};
use crate::constexpr;
use crate::dtype::{DType, Scalar};
use crate::extension::Extension;
use crate::semantic::{Overflow, Predicate};
use crate::typing::{ANY_SHAPE, ShapeText};
use crate::value::PyValue;
use ir::Attr;
use ruff_python_ast::Operator;
use ttir::ops::{arith_int, shape};

/// The largest number of equal pieces that a dimension is split into rather than gathered from.
const MOST_PIECES: i128 = 4;

/// `count` positions from `start` on, `step` apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    start: i128,
    count: i128,
    step: i128,
}

/// What an index says of one dimension.
enum Part {
    /// A new dimension of size 1.
    New,
    /// A position; the dimension goes.
    One(Position),
    /// A slice.
    Slice(Run),
}

/// A position in a dimension.
enum Position {
    Known(i128),
    /// A scalar of the kernel.
    RunTime(Tensor),
}

impl Ctx<'_> {
    /// `block[index]`.
    pub(crate) fn part_of(&mut self, block: Tensor, index: &Val) -> Res<Tensor> {
        let mut result = block;
        let mut axis = 0;
        for part in self.parts(&result, index)? {
            match part {
                Part::New => {
                    result = self.expand_dims(result, axis)?;
                    axis += 1;
                }
                Part::Slice(run) => {
                    result = self.slice_of(result, axis, run)?;
                    axis += 1;
                }
                Part::One(position) => {
                    let one = self.element_of(result, axis, position)?;
                    result = self.without_axis(one, axis)?;
                }
            }
        }
        Ok(result)
    }

    /// The block that `block[index] = value` makes.
    pub(crate) fn with_part(&mut self, block: Tensor, index: &Val, value: &Val) -> Res<Tensor> {
        let parts = self.parts(&block, index)?;
        let Scalar::Number(dtype) = block.ty.scalar else {
            return Err(self.error("elements of a block of pointers cannot be assigned"));
        };
        let value = self.number(value)?;
        let value = self.make_scalar_or_block(value, dtype)?;
        let mut dims: Vec<u32> = Vec::new();
        for part in &parts {
            match part {
                Part::New => return Err(self.new_dimension_in_target()),
                Part::Slice(run) => dims.push(run.count as u32),
                Part::One(_) => {}
            }
        }
        dims.extend(&block.ty.shape[parts.len()..]);
        self.check_fits(&value, &dims)?;
        let mut value = self.broadcast(value, &dims)?;
        let mut chosen: Option<Tensor> = None;
        for (axis, part) in parts.into_iter().enumerate() {
            let (spread, mask) =
                self.spread(value, axis, block.ty.shape[axis], block.ty.shape.len(), part)?;
            value = spread;
            chosen = match (chosen, mask) {
                (Some(a), Some(b)) => {
                    let (a, b) = self.broadcast_both(a, b)?;
                    Some(self.elementwise(&arith_int::ANDI, &a, &b)?)
                }
                (a, b) => a.or(b),
            };
        }
        let value = self.broadcast(value, &block.ty.shape)?;
        match chosen {
            Some(mask) => self.select(mask, Num::Tensor(value), Num::Tensor(block)),
            None => Ok(value),
        }
    }

    fn new_dimension_in_target(&mut self) -> Stop {
        self.error("`None` has no meaning in an index that is assigned to")
    }

    pub(super) fn make_scalar_or_block(&mut self, value: Num, dtype: DType) -> Res<Tensor> {
        match value {
            Num::Tensor(tensor) => self.cast(tensor, dtype),
            literal => self.make_scalar(literal, dtype),
        }
    }

    fn check_fits(&mut self, value: &Tensor, dims: &[u32]) -> Res<()> {
        let own = &value.ty.shape;
        let fits = own.len() <= dims.len()
            && own.iter().rev().zip(dims.iter().rev()).all(|(own, asked)| own == asked || *own == 1);
        if fits {
            return Ok(());
        }
        let (own, asked) = (ShapeText(own).to_string(), ShapeText(dims).to_string());
        Err(self.error(format!("a block of shape {own} cannot be assigned to a part of shape {asked}")))
    }

    /// What an index says, dimension by dimension; whole dimensions at its end are left out.
    fn parts(&mut self, block: &Tensor, index: &Val) -> Res<Vec<Part>> {
        let entries: Vec<Val> = match index {
            Val::Tuple(tuple) => tuple.items.clone(),
            other => vec![other.clone()],
        };
        let mut sizes = block.ty.shape.iter().copied();
        let mut parts = Vec::new();
        for entry in entries {
            if entry.is_none() {
                parts.push(Part::New);
                continue;
            }
            let Some(size) = sizes.next() else {
                // `scalar[:]` is the scalar.
                if matches!(&entry, Val::Slice(slice) if slice.iter().all(Val::is_none)) {
                    continue;
                }
                let rank = block.ty.shape.len();
                return Err(self.error(format!("too many indices: the block has {rank} dimensions")));
            };
            parts.push(self.part(&entry, i128::from(size))?);
        }
        Ok(parts)
    }

    fn part(&mut self, entry: &Val, size: i128) -> Res<Part> {
        match entry {
            Val::Slice(bounds) => Ok(Part::Slice(self.run(bounds, size)?)),
            Val::Const(value) if constexpr::as_int(value).is_some() => {
                let at = constexpr::as_int(value).expect("just asked");
                let wrapped = if at < 0 { at + size } else { at };
                if (0..size).contains(&wrapped) {
                    return Ok(Part::One(Position::Known(wrapped)));
                }
                Err(self.error(format!("index {at} is out of range for a dimension of {size} elements")))
            }
            Val::Tensor(tensor) if !tensor.ty.is_block() && tensor.ty.scalar.is_number(DType::is_int) => {
                let at = self.cast(tensor.clone(), DType::Int32)?;
                Ok(Part::One(Position::RunTime(at)))
            }
            Val::Poison => Err(Stop),
            other => {
                let message = format!("unsupported tensor index: {}", other.describe());
                Err(self
                    .error_help(message, "an integer, a slice with bounds that are constexprs, or `None`"))
            }
        }
    }

    /// The positions of a slice, as Python counts them.
    fn run(&mut self, bounds: &[Val; 3], size: i128) -> Res<Run> {
        let mut known = [None; 3];
        for (bound, known) in bounds.iter().zip(&mut known) {
            *known = bound.to_py().as_ref().and_then(constexpr::as_int);
            if known.is_none() && !bound.is_none() {
                let message = format!("the bounds of a slice must be constexprs, found {}", bound.describe());
                return Err(self.error_help(message, "load the part that you need through a pointer"));
            }
        }
        let step = known[2].unwrap_or(1);
        if step == 0 {
            return Err(self.error("slice step cannot be zero"));
        }
        let (low, high) = if step < 0 { (-1, size - 1) } else { (0, size) };
        let clamp = |at: i128| if at < 0 { at + size } else { at }.clamp(low, high);
        let start = known[0].map_or(if step < 0 { high } else { low }, clamp);
        let stop = known[1].map_or(if step < 0 { low } else { high }, clamp);
        let distance = if step < 0 { start - stop } else { stop - start };
        let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
        if count.count_ones() == 1 || count > 0 && self.has_extension(Extension::AnyShape) {
            return Ok(Run { start, count, step });
        }
        if count == 0 {
            return Err(self.error(format!("a slice must have elements, this one has none of {size}")));
        }
        let message = format!("a slice must have a power of two of elements, this one has {count} of {size}");
        let help = format!("take a larger one and mask what is too much, or {ANY_SHAPE}");
        Err(self.error_help(message, &help))
    }

    fn slice_of(&mut self, block: Tensor, axis: usize, run: Run) -> Res<Tensor> {
        let size = i128::from(block.ty.shape[axis]);
        if run == (Run { start: 0, count: size, step: 1 }) {
            return Ok(block);
        }
        if run.start == 0 && run.step == 1 && [run.count, size].iter().any(|count| count.count_ones() != 1) {
            let mut dims = block.ty.shape.clone();
            dims[axis] = run.count as u32;
            return self.resized_to(block, &dims);
        }
        let span = run.count * run.step;
        let are_powers = [run.count, run.step, size].iter().all(|count| count.count_ones() == 1);
        let is_aligned = run.step > 0 && are_powers && span <= size;
        if is_aligned && run.start % span < run.step && size / run.count <= MOST_PIECES {
            let cut = self.resized(block, axis, &[size / span, run.count, run.step])?;
            let piece = self.picked(cut, axis, run.start / span)?;
            return self.picked(piece, axis + 1, run.start % span);
        }
        let positions = self.places(run.count, axis, block.ty.shape.len())?;
        let scaled = self.with_number(Operator::Mult, positions, run.step)?;
        let positions = self.with_number(Operator::Add, scaled, run.start)?;
        self.gathered(block, positions, axis)
    }

    /// One position of a dimension, which stays with size 1.
    fn element_of(&mut self, block: Tensor, axis: usize, position: Position) -> Res<Tensor> {
        match position {
            Position::Known(start) => self.slice_of(block, axis, Run { start, count: 1, step: 1 }),
            Position::RunTime(at) => {
                let at = self.splat(at, &vec![1; block.ty.shape.len()])?;
                self.gathered(block, at, axis)
            }
        }
    }

    /// A dimension as several.
    fn resized(&mut self, block: Tensor, axis: usize, sizes: &[i128]) -> Res<Tensor> {
        let mut dims: Vec<i128> = block.ty.shape.iter().map(|size| i128::from(*size)).collect();
        dims.splice(axis..=axis, sizes.iter().copied());
        self.reshape(block, &dims, false)
    }

    fn without_axis(&mut self, block: Tensor, axis: usize) -> Res<Tensor> {
        self.resized(block, axis, &[])
    }

    /// One position of a dimension of a power of two of elements, without the dimension.
    fn picked(&mut self, mut block: Tensor, axis: usize, mut position: i128) -> Res<Tensor> {
        let mut size = i128::from(block.ty.shape[axis]);
        while size > 1 {
            size /= 2;
            let paired = self.resized(block, axis, &[size, 2])?;
            let rank = paired.ty.shape.len() as i128;
            let behind = axis as i128 + 1;
            let order: Vec<i128> = (0..rank).filter(|dim| *dim != behind).chain([behind]).collect();
            let last = self.permute(paired, &order)?;
            let (even, odd) = self.split(last)?;
            block = if position % 2 == 0 { even } else { odd };
            position /= 2;
        }
        if block.ty.is_block() { self.without_axis(block, axis) } else { Ok(block) }
    }

    /// `0, 1, … count - 1` along one of several dimensions, the others of size 1.
    fn places(&mut self, count: i128, axis: usize, rank: usize) -> Res<Tensor> {
        let bounds = vec![Val::int(0), Val::int(count)];
        let range = self.call_builtin("tl.arange", bounds, Vec::new())?;
        let range = self.tensor_from(&range)?;
        let mut dims = vec![1; rank];
        dims[axis] = count;
        self.reshape(range, &dims, false)
    }

    fn with_number(&mut self, op: Operator, tensor: Tensor, number: i128) -> Res<Tensor> {
        let number = Num::Literal(PyValue::Int(number));
        self.arithmetic(op, Num::Tensor(tensor), number, Overflow::Wraps)
    }

    /// The elements of a block at positions along a dimension; the positions have size 1 in the others.
    fn gathered(&mut self, block: Tensor, positions: Tensor, axis: usize) -> Res<Tensor> {
        let Scalar::Number(dtype) = block.ty.scalar else {
            let help = "slice the offsets, and add the pointer afterwards";
            return Err(self.error_help("elements of a block of pointers cannot be taken", help));
        };
        let mut dims = block.ty.shape.clone();
        dims[axis] = positions.ty.shape[axis];
        let positions = self.broadcast(positions, &dims)?;
        let is_bool = dtype == DType::Int1;
        let source = if is_bool { self.cast(block, DType::Int8)? } else { block };
        let attrs = [Some(Attr::i32(axis as i32))];
        let value = self.emit(&shape::GATHER, &[source.value, positions.value], &attrs)?;
        let taken = Tensor { value, ty: positions.ty.with(source.ty.scalar) };
        if is_bool { self.cast(taken, DType::Int1) } else { Ok(taken) }
    }

    /// A value that is assigned to a part of a dimension, at the positions of the whole dimension, and which positions
    /// it is meant for (`None`: all).
    fn spread(
        &mut self,
        value: Tensor,
        axis: usize,
        size: u32,
        rank: usize,
        part: Part,
    ) -> Res<(Tensor, Option<Tensor>)> {
        let size = i128::from(size);
        let run = match part {
            Part::Slice(run) if run == (Run { start: 0, count: size, step: 1 }) => return Ok((value, None)),
            Part::Slice(run) => run,
            Part::One(Position::Known(start)) => {
                let value = self.expand_dims(value, axis)?;
                let positions = self.places(size, axis, rank)?;
                let start = Num::Literal(PyValue::Int(start));
                let mask = self.compare(Predicate::Eq, Num::Tensor(positions), start)?;
                return Ok((value, Some(mask)));
            }
            Part::One(Position::RunTime(at)) => {
                let value = self.expand_dims(value, axis)?;
                let positions = self.places(size, axis, rank)?;
                let mask = self.compare(Predicate::Eq, Num::Tensor(positions), Num::Tensor(at))?;
                return Ok((value, Some(mask)));
            }
            Part::New => return Err(self.new_dimension_in_target()),
        };
        self.spread_run(value, axis, size, rank, run)
    }

    fn spread_run(
        &mut self,
        value: Tensor,
        axis: usize,
        size: i128,
        rank: usize,
        run: Run,
    ) -> Res<(Tensor, Option<Tensor>)> {
        let positions = self.places(size, axis, rank)?;
        let distance = self.with_number(Operator::Sub, positions, run.start)?;
        let nth = self.with_number(Operator::FloorDiv, distance.clone(), run.step)?;
        let back = self.with_number(Operator::Mult, nth.clone(), run.step)?;
        let number = |value: i128| Num::Literal(PyValue::Int(value));
        let mut mask = self.compare(Predicate::Eq, Num::Tensor(back), Num::Tensor(distance))?;
        for (predicate, bound) in [(Predicate::Ge, 0), (Predicate::Lt, run.count)] {
            let within = self.compare(predicate, Num::Tensor(nth.clone()), number(bound))?;
            mask = self.elementwise(&arith_int::ANDI, &mask, &within)?;
        }
        if run.count == 1 {
            return Ok((value, Some(mask)));
        }
        let zero = self.full_like(&nth)?;
        let index = self.select(mask.clone(), Num::Tensor(nth), Num::Tensor(zero))?;
        // The block that is assigned may still lack dimensions behind this one; those in front are there.
        let mut dims: Vec<i128> = vec![1; value.ty.shape.len()];
        dims[axis] = size;
        let index = self.reshape(index, &dims, false)?;
        Ok((self.gathered(value, index, axis)?, Some(mask)))
    }

    fn full_like(&mut self, tensor: &Tensor) -> Res<Tensor> {
        let ty = tensor.ty.clone();
        self.literal(&PyValue::Int(0), ty)
    }
}
