//! Scratch memory: blocks that live between loops, at offsets that are known when compiling.
//!
//! A region frees what was taken in it when it ends, so loops and branches share memory.

use super::types;
use ir::Type;
use llir::Value;

/// A block in scratch memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buffer {
    /// Where it starts, in bytes.
    pub(crate) offset: u64,
    /// Elements between neighbours along each dimension.
    pub(crate) strides: Vec<i64>,
    /// The type of its elements.
    pub(crate) elem: Type,
    /// How many elements behind `offset` it starts, where that is known only at run time.
    pub(crate) by: Option<Value>,
    /// Column panels, where it is not row-major.
    pub(crate) panels: Option<Panels>,
}

impl Buffer {
    /// The dimension along which neighbours lie, if that is not the last one.
    pub(crate) fn turned(&self) -> Option<usize> {
        let is_turned = self.panels.is_none() && self.strides.last().is_some_and(|&last| last != 1);
        self.strides.iter().rposition(|&stride| stride == 1).filter(|_| is_turned)
    }
}

/// A matrix as panels of some columns each, one panel behind the other. The stride of that dimension counts inside of a
/// panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    /// The dimension that is divided.
    pub(crate) dim: usize,
    /// Columns of a panel, a power of two.
    pub(crate) width: i64,
    /// Elements from one panel to the next.
    pub(crate) stride: i64,
}

/// Buffers start at multiples of this.
const ALIGN: u64 = 64;

/// Rows whose distance is a multiple of this fall onto the same few cache sets.
const ALIASING: i64 = 4096;

/// The scratch memory of a program.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    top: u64,
    highest: u64,
}

impl Arena {
    /// What is in use now; see [`Arena::release`].
    pub(crate) fn mark(&self) -> u64 {
        self.top
    }

    /// Frees what was taken since the mark.
    pub(crate) fn release(&mut self, mark: u64) {
        self.top = mark;
    }

    /// The most that was ever in use.
    pub(crate) fn size(&self) -> u64 {
        self.highest
    }

    /// Takes so many bytes.
    pub(crate) fn bytes(&mut self, bytes: u64) -> u64 {
        let offset = self.top;
        self.top += bytes.next_multiple_of(ALIGN);
        self.highest = self.highest.max(self.top);
        offset
    }

    /// Takes room for a block. Rows are padded where their distance would be a multiple of a page.
    pub(crate) fn block(&mut self, shape: &[i64], elem: Type) -> Buffer {
        let bytes = i64::from(types::memory(elem).lane_bytes());
        let mut strides = types::row_major(shape);
        if let [.., rows, columns] = *shape
            && rows > 1
            && (columns * bytes) % ALIASING == 0
        {
            let padded = columns + ALIGN as i64 / bytes;
            let last = strides.len() - 2;
            for (dim, stride) in strides.iter_mut().enumerate().take(last + 1) {
                *stride = shape[dim + 1..=last].iter().product::<i64>() * padded;
            }
        }
        let rows = strides.first().map_or(1, |stride| stride * shape[0]).max(1);
        Buffer { offset: self.bytes((rows * bytes) as u64), strides, elem, by: None, panels: None }
    }

    /// Takes room for a value whose neighbours lie along a dimension.
    pub(crate) fn along(&mut self, ty: Type, dim: usize) -> Buffer {
        let shape = types::shape(ty);
        let order: Vec<usize> = (0..shape.len()).filter(|&other| other != dim).chain([dim]).collect();
        let turned: Vec<i64> = order.iter().map(|&dim| shape[dim]).collect();
        let mut buffer = self.block(&turned, ttir::types::elem(ty));
        let mut strides = vec![1; shape.len()];
        for (&dim, &stride) in order.iter().zip(&buffer.strides) {
            strides[dim] = stride;
        }
        buffer.strides = strides;
        buffer
    }

    /// Takes room for a value.
    pub(crate) fn of(&mut self, ty: Type) -> Buffer {
        self.block(types::shape(ty), ttir::types::elem(ty))
    }
}
