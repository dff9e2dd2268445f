//! Loads and stores, and the checked access of one element that atomics and descriptors use too.

use super::block_access::BlockAccess;
use super::data::Data;
use super::error::RunErrorKind;
use super::interpreter::{Entry, Interpreter, Outcome};
use super::positions::element_name;
use super::track::{Elements, Order};
use crate::ops;
use crate::ops::access::AccessOp;
use crate::types::{elem, elem_bits, elem_bytes, numel, shape};
use ir::{Op, Type, Value};

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[
    (&ops::memory::LOAD, load),
    (&ops::memory::STORE, store),
    (&ops::atomic::ATOMIC_LOAD, load),
    (&ops::atomic::ATOMIC_STORE, store),
];

/// One element of an operation that accesses memory.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    /// The operation.
    pub(crate) op: Op,
    /// The shape of the block it belongs to.
    pub(crate) shape: &'a [i64],
    /// Its position there.
    pub(crate) position: usize,
    /// What the address was computed for, such as the name of the pointer.
    pub(crate) pointer: Option<Value>,
}

impl Interpreter<'_> {
    /// Reads one element.
    pub(crate) fn read_element(&self, element: Element<'_>, address: u64, ty: Type) -> Outcome<u64> {
        let size = self.access_size(element, ty)?;
        match self.memory.read(address, size) {
            Ok(bits) => Ok(ir::scalar::truncate(elem_bits(ty), bits)),
            Err(why) => Err(self.access_error(element, "reading", &why)),
        }
    }

    /// Writes one element.
    pub(crate) fn write_element(
        &mut self,
        element: Element<'_>,
        address: u64,
        ty: Type,
        bits: u64,
    ) -> Outcome<()> {
        let size = self.access_size(element, ty)?;
        let written = self.memory.write(address, size, bits);
        written.map_err(|why| self.access_error(element, "writing", &why))
    }

    fn access_size(&self, element: Element<'_>, ty: Type) -> Outcome<u64> {
        let size = elem_bytes(ty);
        if matches!(size, 1 | 2 | 4 | 8) {
            return Ok(size);
        }
        let message = format!("elements of type {ty} cannot be in memory");
        Err(self.error(element.op, RunErrorKind::Unsupported, message))
    }

    fn access_error(&self, element: Element<'_>, doing: &str, why: &str) -> Box<super::RunError> {
        let name = element.pointer.map(|value| self.describe_value(value)).unwrap_or_default();
        let through = if name.is_empty() { name } else { format!(" through {name}") };
        let which = match element.shape {
            [] => String::new(),
            dims => format!(" element {}", element_name(dims, element.position)),
        };
        let message = format!("{doing}{which}{through} {why}");
        self.error(element.op, RunErrorKind::Access, message)
    }

    /// Fails if an element that an access depends on is undefined.
    pub(crate) fn require(&self, element: Element<'_>, data: &Data, what: &str) -> Outcome<()> {
        match data.undefined() {
            Some(undefined) if data.is_undefined(element.position) => {
                let which = (!element.shape.is_empty())
                    .then(|| format!("element {}", element_name(element.shape, element.position)));
                Err(self.undefined(element.op, undefined, what, which))
            }
            _ => Ok(()),
        }
    }

    /// Whether the mask holds for an element; without a mask it does.
    pub(crate) fn mask_holds(&self, element: Element<'_>, mask: Option<&Data>) -> Outcome<bool> {
        let Some(mask) = mask else { return Ok(true) };
        self.require(element, mask, "the mask")?;
        Ok(mask.at(element.position) & 1 != 0)
    }
}

/// The mask of an access.
pub(crate) fn mask(interpreter: &Interpreter<'_>, op: Op) -> Option<Data> {
    AccessOp::new(interpreter.module, op).mask().map(|mask| interpreter.get(mask).clone())
}

/// Loads, atomic or not: each element by itself.
pub(crate) fn load(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let ty = interpreter.result_ty(op);
    let (dims, element_ty) = (shape(ty), elem(ty));
    let access = AccessOp::new(interpreter.module, op);
    let pointer = access.ptr();
    let addresses = interpreter.get(pointer).clone();
    let mask = mask(interpreter, op);
    let other = access.other().map(|other| interpreter.get(other).clone());
    let (order, elements) = (Order::of(access), Elements::new(ty, &addresses, mask.as_ref()));
    interpreter.acquire(order, elements);
    interpreter.touch_block(op, order.reading(), ty, elements, None);
    if order.is_atomic {
        interpreter.memory.found_unchanged();
    }
    if let Some(data) = load_plainly(interpreter, ty, &addresses, mask.as_ref(), other.as_ref()) {
        interpreter.set_result(op, data);
        return Ok(());
    }
    let mut bits = Vec::with_capacity(numel(ty) as usize);
    let mut used_other = vec![];
    for position in 0..numel(ty) as usize {
        let element = Element { op, shape: dims, position, pointer: Some(pointer) };
        if interpreter.mask_holds(element, mask.as_ref())? {
            interpreter.require(element, &addresses, "the address")?;
            bits.push(interpreter.read_element(element, addresses.at(position), element_ty)?);
        } else {
            bits.push(other.as_ref().map_or(0, |other| other.at(position)));
            used_other.push(position);
        }
    }
    let data =
        Data::each(bits).with_undefined(undefined_others(other.as_ref(), &used_other, numel(ty) as usize));
    interpreter.set_result(op, data);
    Ok(())
}

/// Whether all elements have a defined value.
fn is_defined(data: Option<&Data>) -> bool {
    data.is_none_or(|data| data.undefined().is_none())
}

/// All elements at once; `None` where one of them needs a closer look.
fn load_plainly(
    interpreter: &Interpreter<'_>,
    ty: Type,
    addresses: &Data,
    mask: Option<&Data>,
    other: Option<&Data>,
) -> Option<Data> {
    let size = elem_bytes(elem(ty));
    if !matches!(size, 1 | 2 | 4 | 8) || ![Some(addresses), mask, other].into_iter().all(is_defined) {
        return None;
    }
    let access = BlockAccess { count: numel(ty) as usize, size, addresses, mask };
    let data = interpreter.memory.read_block(&access, other)?;
    let width = elem_bits(ty);
    if u64::from(width) == 8 * size {
        return Some(data);
    }
    let low = |index| ir::scalar::truncate(width, data.at(index)) as u32;
    Some(Data::words((0..data.kept()).map(low).collect()))
}

/// What is undefined in `other` is undefined in the result where `other` is used.
fn undefined_others(
    other: Option<&Data>,
    used: &[usize],
    count: usize,
) -> Option<std::sync::Arc<super::data::Undefined>> {
    let other = other?;
    let undefined = other.undefined()?;
    let mut flags = vec![false; count];
    used.iter().for_each(|&position| flags[position] = other.is_undefined(position));
    Some(undefined.with_flags(flags.into()))
}

/// Stores, atomic or not: each element by itself, in order, so that the last of several to one address stays.
pub(crate) fn store(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let access = AccessOp::new(interpreter.module, op);
    let (pointer, value) = (access.ptr(), access.value().expect("only what writes is run here"));
    let ty = interpreter.module.ty(value);
    let (dims, element_ty) = (shape(ty), elem(ty));
    let (addresses, values) = (interpreter.get(pointer).clone(), interpreter.get(value).clone());
    let mask = mask(interpreter, op);
    let size = elem_bytes(element_ty);
    let (order, elements) = (Order::of(access), Elements::new(ty, &addresses, mask.as_ref()));
    interpreter.touch_block(op, order.writing(), ty, elements, Some(&values));
    interpreter.memory.changed();
    if order.is_atomic {
        interpreter.release(order, elements.each().map(|(_, address)| address), false);
    }
    if matches!(size, 1 | 2 | 4 | 8)
        && [Some(&addresses), Some(&values), mask.as_ref()].into_iter().all(is_defined)
    {
        let access =
            BlockAccess { count: numel(ty) as usize, size, addresses: &addresses, mask: mask.as_ref() };
        if interpreter.memory.write_block(&access, &values) {
            return Ok(());
        }
    }
    for position in 0..numel(ty) as usize {
        let element = Element { op, shape: dims, position, pointer: Some(pointer) };
        if interpreter.mask_holds(element, mask.as_ref())? {
            interpreter.require(element, &addresses, "the address")?;
            interpreter.require(element, &values, "the stored value")?;
            interpreter.write_element(element, addresses.at(position), element_ty, values.at(position))?;
        }
    }
    Ok(())
}
