//! Positions of elements in a block, in row-major order.

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

/// `(1, 2)`.
pub(crate) fn element_name(shape: &[i64], position: usize) -> String {
    let coordinates: Vec<String> = coordinates(shape, position).iter().map(usize::to_string).collect();
    format!("({})", coordinates.join(", "))
}
