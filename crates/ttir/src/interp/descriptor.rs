//! Tensor descriptors. A descriptor is held as the words `base, shape…, strides…, padding`.

use super::access::Element;
use super::atomic::{Combine, combine_named};
use super::data::Data;
use super::error::RunErrorKind;
use super::interpreter::{Entry, Interpreter, Outcome};
use super::positions::coordinates;
use super::races::Doing;
use crate::ops;
use crate::ops::descriptor::{
    DescriptorAccessOp, DescriptorGatherOp, DescriptorReduceOp, DescriptorScatterOp, FIRST_WORD,
    MakeDescriptorOp, Padding, WriteDescriptorOp, WrittenDescriptorOp, atomic_kind,
};
use crate::types::{elem, elem_bits, elem_bytes, numel, shape};
use ir::view::EnumAttr;
use ir::{Op, Type, Value};

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[
    (&ops::descriptor::MAKE, make),
    (&ops::descriptor::WRITTEN, written),
    (&ops::descriptor::WRITE, write_descriptor),
    (&ops::descriptor::LOAD, load),
    (&ops::descriptor::STORE, store),
    (&ops::descriptor::GATHER, gather),
    (&ops::descriptor::SCATTER, scatter),
    (&ops::descriptor::REDUCE, reduce),
];

/// The words of a descriptor.
fn pack(base: u64, shape: &[i64], strides: &[i64], pad_nan: bool) -> Data {
    let mut words = vec![base];
    words.extend(shape.iter().chain(strides).map(|&word| word as u64));
    words.push(u64::from(pad_nan));
    Data::each(words)
}

/// A descriptor that an operation uses.
struct Descriptor {
    base: u64,
    shape: Vec<i64>,
    strides: Vec<i64>,
    pad_nan: bool,
    block: &'static [i64],
    elem: Type,
}

impl Descriptor {
    fn of(interpreter: &Interpreter<'_>, op: Op) -> Descriptor {
        let desc = DescriptorAccessOp::new(interpreter.module, op).desc();
        let (ty, data) = (interpreter.module.ty(desc), interpreter.get(desc));
        let rank = shape(ty).len();
        let word = |index: usize| data.at(index) as i64;
        Descriptor {
            base: data.at(0),
            shape: (1..=rank).map(word).collect(),
            strides: (rank + 1..=2 * rank).map(word).collect(),
            pad_nan: word(2 * rank + 1) != 0,
            block: shape(ty),
            elem: elem(ty),
        }
    }

    /// The address of an element, if it is inside the tensor.
    fn address(&self, coordinates: &[i64]) -> Option<u64> {
        let inside = coordinates.iter().zip(&self.shape).all(|(at, size)| (0..*size).contains(at));
        let offset = coordinates.iter().zip(&self.strides).map(|(at, stride)| at.wrapping_mul(*stride));
        let bytes = offset.fold(0i64, i64::wrapping_add).wrapping_mul(elem_bytes(self.elem) as i64);
        inside.then(|| self.base.wrapping_add(bytes as u64))
    }

    fn padding(&self) -> u64 {
        match self.elem.as_float() {
            Some(kind) if self.pad_nan => ir::scalar::float_bits(kind, f64::NAN),
            _ => 0,
        }
    }
}

fn signed(ty: Type, bits: u64) -> i64 {
    ir::scalar::sign_extend(elem_bits(ty), bits)
}

/// Scalar operands, sign-extended.
fn scalars(interpreter: &Interpreter<'_>, op: Op, values: &[Value], what: &str) -> Outcome<Vec<i64>> {
    let number = |&value| {
        Ok(signed(interpreter.module.ty(value), interpreter.decided(op, interpreter.get(value), what)?))
    };
    values.iter().map(number).collect()
}

pub(crate) fn make(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = MakeDescriptorOp::new(interpreter.module, op);
    let base = interpreter.decided(op, interpreter.get(of.base()), "the base")?;
    let sizes = scalars(interpreter, op, of.shape(), "the shape")?;
    let strides = scalars(interpreter, op, of.strides(), "the strides")?;
    interpreter.set_result(op, pack(base, &sizes, &strides, of.padding() == Padding::Nan));
    Ok(())
}

/// The words of a descriptor in memory, by their number and where they are.
fn words(address: u64) -> impl Iterator<Item = (usize, u64)> {
    (0..).zip((address.wrapping_add(8 * FIRST_WORD as u64)..).step_by(8))
}

pub(crate) fn written(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = WrittenDescriptorOp::new(interpreter.module, op);
    let address = interpreter.decided(op, interpreter.get(of.ptr()), "the address of the descriptor")?;
    let (rank, word) = (shape(interpreter.module.ty(of.result())).len(), Type::int(64));
    interpreter.touch(op, Doing::Read, word, words(address).take(1 + rank), None);
    let element = Element { op, shape: &[], position: 0, pointer: Some(of.ptr()) };
    let read = |(_, at)| interpreter.read_element(element, at, word);
    let read = words(address).take(1 + rank).map(read).collect::<Outcome<Vec<u64>>>()?;
    // Sizes have 32 bits where they are used, and rows lie side by side.
    let sizes: Vec<i64> = read[1..].iter().map(|&size| i64::from(size as i32)).collect();
    let strides: Vec<i64> = sizes.iter().skip(1).copied().chain([1]).collect();
    interpreter.set_result(op, pack(read[0], &sizes, &strides, false));
    Ok(())
}

pub(crate) fn write_descriptor(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = WriteDescriptorOp::new(interpreter.module, op);
    let address = interpreter.decided(op, interpreter.get(of.ptr()), "the address of the descriptor")?;
    let base = interpreter.decided(op, interpreter.get(of.base()), "the base")?;
    let sizes = scalars(interpreter, op, of.shape(), "the shape")?;
    let (element, word) = (Element { op, shape: &[], position: 0, pointer: Some(of.ptr()) }, Type::int(64));
    interpreter.touch(op, Doing::Write, word, words(address).take(1 + sizes.len()), None);
    interpreter.memory.changed();
    for ((_, at), bits) in
        words(address).zip(std::iter::once(base).chain(sizes.iter().map(|&size| size as u64)))
    {
        interpreter.write_element(element, at, word, bits)?;
    }
    Ok(())
}

/// The coordinates in the tensor of each element of the block at `offsets`.
fn block_at(descriptor: &Descriptor, offsets: &[i64]) -> Vec<Vec<i64>> {
    let count = descriptor.block.iter().product::<i64>() as usize;
    (0..count)
        .map(|position| {
            let inside = coordinates(descriptor.block, position);
            inside.iter().zip(offsets).map(|(&at, offset)| offset + at as i64).collect()
        })
        .collect()
}

/// The coordinates of each element of rows picked one by one.
fn picked_rows(
    interpreter: &Interpreter<'_>,
    op: Op,
    [rows, column]: [Value; 2],
    block: Type,
) -> Outcome<Vec<Vec<i64>>> {
    let (rows_ty, rows) = (interpreter.module.ty(rows), interpreter.get(rows));
    let first = interpreter.decided(op, interpreter.get(column), "the column")?;
    let first = signed(interpreter.module.ty(column), first);
    let mut all = Vec::with_capacity(numel(block) as usize);
    for position in 0..numel(block) as usize {
        let inside = coordinates(shape(block), position);
        let row = Element { op, shape: shape(rows_ty), position: inside[0], pointer: None };
        interpreter.require(row, rows, "the row")?;
        all.push(vec![signed(rows_ty, rows.at(inside[0])), first + inside[1] as i64]);
    }
    Ok(all)
}

/// The elements inside the tensor.
fn spots(descriptor: &Descriptor, places: &[Vec<i64>]) -> impl Iterator<Item = (usize, u64)> {
    let address =
        |(position, place): (usize, &Vec<i64>)| descriptor.address(place).map(|address| (position, address));
    places.iter().enumerate().filter_map(address)
}

fn read(interpreter: &mut Interpreter<'_>, op: Op, places: &[Vec<i64>]) -> Outcome<()> {
    let descriptor = Descriptor::of(interpreter, op);
    let pointer = Some(DescriptorAccessOp::new(interpreter.module, op).desc());
    let dims = shape(interpreter.result_ty(op));
    interpreter.touch(op, Doing::Read, interpreter.result_ty(op), spots(&descriptor, places), None);
    let mut bits = Vec::with_capacity(places.len());
    for (position, place) in places.iter().enumerate() {
        let element = Element { op, shape: dims, position, pointer };
        bits.push(match descriptor.address(place) {
            Some(address) => interpreter.read_element(element, address, descriptor.elem)?,
            None => descriptor.padding(),
        });
    }
    interpreter.set_result(op, Data::each(bits));
    Ok(())
}

/// Writes `new(old, value)` for each element inside the tensor.
fn write(
    interpreter: &mut Interpreter<'_>,
    op: Op,
    places: &[Vec<i64>],
    new: Option<Combine>,
) -> Outcome<()> {
    let descriptor = Descriptor::of(interpreter, op);
    let source = DescriptorAccessOp::new(interpreter.module, op).src().expect("only what writes is run here");
    let values = interpreter.get(source).clone();
    let dims = shape(interpreter.module.ty(source));
    let (doing, written) = match new {
        Some(_) => (Doing::AtomicWrite, None),
        None => (Doing::Write, Some(&values)),
    };
    interpreter.touch(op, doing, interpreter.module.ty(source), spots(&descriptor, places), written);
    interpreter.memory.changed();
    let pointer = Some(DescriptorAccessOp::new(interpreter.module, op).desc());
    for (position, place) in places.iter().enumerate() {
        let Some(address) = descriptor.address(place) else { continue };
        let element = Element { op, shape: dims, position, pointer };
        interpreter.require(element, &values, "the stored value")?;
        let mut bits = values.at(position);
        if let Some(combine) = new {
            let old = interpreter.read_element(element, address, descriptor.elem)?;
            bits = combine(descriptor.elem, old, bits).ok_or_else(|| {
                let message = format!("this reduction is not defined for {}", descriptor.elem);
                interpreter.error(op, RunErrorKind::Unsupported, message)
            })?;
        }
        interpreter.write_element(element, address, descriptor.elem, bits)?;
    }
    Ok(())
}

pub(crate) fn load(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let indices = DescriptorAccessOp::new(interpreter.module, op).indices();
    let offsets = scalars(interpreter, op, indices, "the offset")?;
    let places = block_at(&Descriptor::of(interpreter, op), &offsets);
    read(interpreter, op, &places)
}

pub(crate) fn store(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let indices = DescriptorAccessOp::new(interpreter.module, op).indices();
    let offsets = scalars(interpreter, op, indices, "the offset")?;
    let places = block_at(&Descriptor::of(interpreter, op), &offsets);
    write(interpreter, op, &places, None)
}

pub(crate) fn gather(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = DescriptorGatherOp::new(interpreter.module, op);
    let places = picked_rows(interpreter, op, [of.x_offsets(), of.y_offset()], interpreter.result_ty(op))?;
    read(interpreter, op, &places)
}

pub(crate) fn scatter(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = DescriptorScatterOp::new(interpreter.module, op);
    let block = interpreter.module.ty(of.src());
    let places = picked_rows(interpreter, op, [of.x_offsets(), of.y_offset()], block)?;
    write(interpreter, op, &places, None)
}

/// Combines into memory; integers are compared as the descriptor says, floats as numbers.
pub(crate) fn reduce(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let indices = DescriptorAccessOp::new(interpreter.module, op).indices();
    let offsets = scalars(interpreter, op, indices, "the offset")?;
    let descriptor = Descriptor::of(interpreter, op);
    let places = block_at(&descriptor, &offsets);
    let of = DescriptorReduceOp::new(interpreter.module, op);
    let kind = of.kind();
    match atomic_kind(interpreter.module.ty(of.desc()), kind)
        .and_then(|atomic| combine_named(atomic.keyword()))
    {
        Some(combine) => write(interpreter, op, &places, Some(combine)),
        None => {
            let message =
                format!("the reduction `{}` is not defined for {}", kind.keyword(), descriptor.elem);
            Err(interpreter.error(op, RunErrorKind::Unsupported, message))
        }
    }
}
