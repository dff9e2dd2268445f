//! The value of a block or scalar while it is interpreted: raw bits of its elements, and which of them are undefined.
//!
//! A block whose elements are all equal may be kept as one element, so that constants, splats and scalars cost no
//! memory; [`Data::at`] hides the difference. Equal data may thus have two representations: compare elements, not
//! `Data`.

use std::sync::Arc;

#[derive(Clone, Debug)]
enum Bits {
    Uniform(u64),
    Each(Arc<[u64]>),
}

/// An operation that could not define an element of its result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, and with that when it is not defined.
    pub(crate) doc: &'static str,
    /// Where it stands in the source.
    pub(crate) place: Option<String>,
    /// The shape of its result.
    pub(crate) shape: &'static [i64],
}

/// Which elements have no defined value, and the operation that could not define them.
#[derive(Clone, Debug)]
pub(crate) struct Undefined {
    /// One flag for each element, or one for all.
    pub(crate) flags: Arc<[bool]>,
    /// Where the first of them came from.
    pub(crate) origin: Arc<Origin>,
    /// The element of the origin's result.
    pub(crate) element: usize,
}

impl Undefined {
    fn at(&self, index: usize) -> bool {
        self.flags[if self.flags.len() == 1 { 0 } else { index }]
    }

    /// The same origin with other flags.
    pub(crate) fn with_flags(&self, flags: Arc<[bool]>) -> Arc<Undefined> {
        Arc::new(Undefined { flags, origin: Arc::clone(&self.origin), element: self.element })
    }
}

/// How the elements of a value are kept, for loops over them.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a> {
    /// All are equal.
    Uniform(u64),
    /// One by one.
    Each(&'a [u64]),
}

impl Side<'_> {
    /// The bits of one element.
    #[inline]
    pub(crate) fn at(self, index: usize) -> u64 {
        match self {
            Side::Uniform(bits) => bits,
            Side::Each(each) => each[index],
        }
    }
}

/// The elements of a value, in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    bits: Bits,
    undefined: Option<Arc<Undefined>>,
}

impl Data {
    /// A scalar, or a block filled with it.
    pub(crate) fn uniform(bits: u64) -> Data {
        Data { bits: Bits::Uniform(bits), undefined: None }
    }

    /// A block of these elements.
    ///
    /// A single element becomes uniform: a scalar may be splatted to any size by keeping its data.
    pub(crate) fn each(bits: impl Into<Arc<[u64]>>) -> Data {
        let bits = bits.into();
        let bits = if let [only] = *bits { Bits::Uniform(only) } else { Bits::Each(bits) };
        Data { bits, undefined: None }
    }

    /// A block of `count` elements by position.
    pub(crate) fn from_fn(count: usize, element: impl FnMut(usize) -> u64) -> Data {
        Data::each((0..count).map(element).collect::<Arc<[u64]>>())
    }

    /// The same elements, some of them undefined.
    pub(crate) fn with_undefined(mut self, undefined: Option<Arc<Undefined>>) -> Data {
        self.undefined = undefined;
        self
    }

    /// The bits of one element.
    pub(crate) fn at(&self, index: usize) -> u64 {
        match &self.bits {
            Bits::Uniform(bits) => *bits,
            Bits::Each(each) => each[index],
        }
    }

    /// How the elements are kept.
    pub(crate) fn side(&self) -> Side<'_> {
        match &self.bits {
            Bits::Uniform(bits) => Side::Uniform(*bits),
            Bits::Each(each) => Side::Each(each),
        }
    }

    /// The bits of a scalar.
    pub(crate) fn scalar(&self) -> u64 {
        self.at(0)
    }

    /// The element that all share, if it is kept as one.
    pub(crate) fn as_uniform(&self) -> Option<u64> {
        if let Bits::Uniform(bits) = self.bits { Some(bits) } else { None }
    }

    /// How many elements are kept: 1 where all are equal by construction.
    pub(crate) fn kept(&self) -> usize {
        match &self.bits {
            Bits::Uniform(_) => 1,
            Bits::Each(each) => each.len(),
        }
    }

    /// Which elements are undefined, if any may be.
    pub(crate) fn undefined(&self) -> Option<&Arc<Undefined>> {
        self.undefined.as_ref()
    }

    /// Whether an element has no defined value.
    pub(crate) fn is_undefined(&self, index: usize) -> bool {
        self.undefined.as_ref().is_some_and(|undefined| undefined.at(index))
    }

    /// A block of `count` elements, each taken from the position of this one that `from` gives.
    pub(crate) fn permute(&self, count: usize, from: impl Fn(usize) -> usize) -> Data {
        let bits = match &self.bits {
            Bits::Uniform(bits) => Bits::Uniform(*bits),
            Bits::Each(each) => Bits::Each((0..count).map(|index| each[from(index)]).collect()),
        };
        let undefined = self.undefined.as_ref().map(|undefined| {
            let flags = (0..count).map(|index| undefined.at(from(index))).collect();
            undefined.with_flags(flags)
        });
        Data { bits, undefined }
    }

    /// A block of `count` elements, each taken from one of several blocks: which one, and at which position.
    pub(crate) fn pick(parts: &[&Data], count: usize, from: impl Fn(usize) -> (usize, usize)) -> Data {
        let bits = (0..count).map(|index| {
            let (part, at) = from(index);
            parts[part].at(at)
        });
        let data = Data::each(bits.collect::<Arc<[u64]>>());
        let Some(first) = parts.iter().find_map(|part| part.undefined()) else { return data };
        let flags = (0..count).map(|index| {
            let (part, at) = from(index);
            parts[part].is_undefined(at)
        });
        data.with_undefined(Some(first.with_flags(flags.collect())))
    }
}

/// Row-major positions of a shape seen around one of its dimensions: `outer × size × inner`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AroundAxis {
    /// Elements of the dimensions in front.
    pub(crate) outer: usize,
    /// The dimension.
    pub(crate) size: usize,
    /// Elements of the dimensions behind.
    pub(crate) inner: usize,
}

impl AroundAxis {
    /// Splits a shape; `axis` is inside it.
    pub(crate) fn new(shape: &[i64], axis: usize) -> AroundAxis {
        let product = |dims: &[i64]| dims.iter().product::<i64>() as usize;
        AroundAxis {
            outer: product(&shape[..axis]),
            size: shape[axis] as usize,
            inner: product(&shape[axis + 1..]),
        }
    }

    /// Lines along the axis.
    pub(crate) fn lines(self) -> usize {
        self.outer * self.inner
    }

    /// Position of element `along` of a line.
    pub(crate) fn position(self, line: usize, along: usize) -> usize {
        (line / self.inner * self.size + along) * self.inner + line % self.inner
    }
}

/// The positions that the elements of a row-major shape have where its dimensions lie at these distances.
pub(crate) fn positions(shape: &[i64], strides: &[usize]) -> Vec<usize> {
    let mut all = vec![0];
    for (&size, &stride) in shape.iter().zip(strides) {
        let next = all.iter().flat_map(|&first| (0..size as usize).map(move |at| first + at * stride));
        all = next.collect();
    }
    all
}

/// The coordinates of a row-major position.
pub(crate) fn coordinates(shape: &[i64], mut position: usize) -> Vec<usize> {
    let mut coordinates = vec![0; shape.len()];
    for (coordinate, &dim) in coordinates.iter_mut().zip(shape).rev() {
        *coordinate = position % dim as usize;
        position /= dim as usize;
    }
    coordinates
}

/// The distance in elements between neighbours along each dimension of a row-major shape.
pub(crate) fn strides(shape: &[i64]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim] as usize;
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::Data;

    #[test]
    fn a_single_element_stands_for_a_block_of_any_size() {
        let scalar = Data::from_fn(1, |_| 7);
        assert_eq!((scalar.at(0), scalar.at(5), scalar.as_uniform()), (7, 7, Some(7)));
        assert_eq!(Data::each(vec![1, 2]).at(1), 2);
    }
}
