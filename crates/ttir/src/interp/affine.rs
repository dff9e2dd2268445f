//! Blocks of integers and addresses that are sums of multiples of their coordinates, as most offsets are: arithmetic
//! on them costs as little as on scalars, and accesses know where rows lie.

use super::positions::strides;
use ir::scalar::{sign_extend, truncate};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// The element at coordinates `c` is `base + Σ c·steps`, in so many bits.
#[derive(Debug)]
pub(crate) struct Affine {
    pub(super) base: u64,
    pub(super) steps: SmallVec<[u64; 3]>,
    pub(super) shape: &'static [i64],
    pub(super) bits: u32,
    /// The elements, once somebody has asked for them.
    each: OnceLock<Arc<[u64]>>,
}

impl Affine {
    pub(crate) fn new(base: u64, steps: &[u64], shape: &'static [i64], bits: u32) -> Affine {
        let one = |(&step, &size): (&u64, &i64)| if size == 1 { 0 } else { truncate(bits, step) };
        let steps = steps.iter().zip(shape).map(one).collect();
        Affine { base: truncate(bits, base), steps, shape, bits, each: OnceLock::new() }
    }

    /// `start`, `start + 1`, …
    pub(crate) fn range(start: u64, shape: &'static [i64], bits: u32) -> Affine {
        let steps: SmallVec<[u64; 3]> = strides(shape).iter().map(|&step| step as u64).collect();
        Affine::new(start, &steps, shape, bits)
    }

    /// The element that all are, if they are all the same.
    pub(crate) fn as_uniform(&self) -> Option<u64> {
        self.steps.iter().all(|&step| step == 0).then_some(self.base)
    }

    pub(crate) fn numel(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }

    /// The elements in row-major order.
    pub(crate) fn each(&self) -> &Arc<[u64]> {
        self.each.get_or_init(|| {
            let mut all = vec![self.base];
            for (&step, &size) in self.steps.iter().zip(self.shape) {
                let next = all.iter().flat_map(|&first| {
                    (0..size as u64).map(move |at| first.wrapping_add(at.wrapping_mul(step)))
                });
                all = next.collect();
            }
            all.iter().map(|&element| truncate(self.bits, element)).collect()
        })
    }

    /// The least and the greatest element as signed numbers, if no element wraps.
    pub(crate) fn bounds(&self) -> Option<[i64; 2]> {
        let signed = |bits: u64| i128::from(sign_extend(self.bits, bits));
        let [mut least, mut greatest] = [signed(self.base); 2];
        for (&step, &size) in self.steps.iter().zip(self.shape) {
            let far = signed(step) * i128::from(size - 1);
            least += far.min(0);
            greatest += far.max(0);
        }
        let half = 1i128 << (self.bits - 1);
        (-half <= least && greatest < half).then_some([least as i64, greatest as i64])
    }

    /// The same with another base and other steps, in the same bits.
    pub(crate) fn map(&self, apply: impl Fn(u64) -> u64) -> Affine {
        let steps: SmallVec<[u64; 3]> = self.steps.iter().map(|&step| apply(step)).collect();
        Affine::new(apply(self.base), &steps, self.shape, self.bits)
    }

    /// With another base.
    pub(crate) fn moved(&self, base: u64) -> Affine {
        Affine::new(base, &self.steps, self.shape, self.bits)
    }

    /// Element by element with another one of the same shape; the function is linear.
    pub(crate) fn zip(&self, other: &Affine, apply: impl Fn(u64, u64) -> u64) -> Option<Affine> {
        if self.shape != other.shape || self.bits != other.bits {
            return None;
        }
        let steps: SmallVec<[u64; 3]> =
            self.steps.iter().zip(&other.steps).map(|(&one, &two)| apply(one, two)).collect();
        Some(Affine::new(apply(self.base, other.base), &steps, self.shape, self.bits))
    }

    /// The same numbers, signed, in another number of bits; `None` where one wraps here.
    pub(crate) fn extended(&self, bits: u32) -> Option<Affine> {
        self.bounds()?;
        let wide = |value: u64| sign_extend(self.bits, value) as u64;
        let steps: SmallVec<[u64; 3]> = self.steps.iter().map(|&step| wide(step)).collect();
        Some(Affine::new(wide(self.base), &steps, self.shape, bits))
    }

    /// The same elements in row-major order in another shape, where that only adds or leaves out dimensions of size 1.
    pub(crate) fn reshaped(&self, shape: &'static [i64]) -> Option<Affine> {
        let mut steps: SmallVec<[u64; 3]> = SmallVec::new();
        let mut own = self.steps.iter().zip(self.shape).filter(|(_, size)| **size != 1);
        for &size in shape {
            let step = if size == 1 { 0 } else { *own.next().filter(|(_, own)| **own == size)?.0 };
            steps.push(step);
        }
        own.next().is_none().then(|| Affine::new(self.base, &steps, shape, self.bits))
    }

    /// A block of another shape, whose dimensions are these of this one; `None` stands for a new one, along which
    /// elements repeat.
    pub(crate) fn arranged(
        &self,
        shape: &'static [i64],
        dims: impl Iterator<Item = Option<usize>>,
    ) -> Affine {
        let steps: SmallVec<[u64; 3]> = dims.map(|dim| dim.map_or(0, |dim| self.steps[dim])).collect();
        Affine::new(self.base, &steps, shape, self.bits)
    }

    /// A dimension along which elements of so many bytes lie one behind another.
    pub(crate) fn dense(&self, size: u64) -> Option<usize> {
        (0..self.shape.len()).rev().find(|&dim| self.steps[dim] == size && self.shape[dim] > 1)
    }

    /// Where lines along a dimension begin: position and element.
    pub(crate) fn lines(&self, dim: usize) -> Vec<(usize, u64)> {
        let mut starts = vec![(0, self.base)];
        let outer = self.steps.iter().zip(self.shape).zip(strides(self.shape)).enumerate();
        for (_, ((&step, &size), stride)) in outer.filter(|(at, _)| *at != dim) {
            let next = starts.iter().flat_map(|&(position, first)| {
                (0..size as usize).map(move |at| {
                    (position + at * stride, first.wrapping_add((at as u64).wrapping_mul(step)))
                })
            });
            starts = next.collect();
        }
        starts
    }

    /// Where rows along the last dimension begin, how many elements each has, and how far apart those are.
    pub(crate) fn rows(&self) -> (Vec<u64>, usize, u64) {
        let Some((&step, outer)) = self.steps.split_last() else { return (vec![self.base], 1, 0) };
        let mut starts = vec![self.base];
        for (&step, &size) in outer.iter().zip(self.shape) {
            let next = starts
                .iter()
                .flat_map(|&first| (0..size as u64).map(move |at| first.wrapping_add(at.wrapping_mul(step))));
            starts = next.collect();
        }
        (starts, self.shape[outer.len()] as usize, step)
    }
}

#[cfg(test)]
mod tests {
    use super::Affine;

    const SHAPE: &[i64] = &[2, 1, 3];

    #[test]
    fn elements_are_sums_of_multiples_of_coordinates() {
        let affine = Affine::new(250, &[10, 77, 1], SHAPE, 8);
        assert_eq!(affine.each()[..], [250, 251, 252, 4, 5, 6]);
        assert_eq!(affine.bounds(), Some([-6, 6]));
        assert_eq!(Affine::new(120, &[10, 0, 1], SHAPE, 8).bounds(), None);
        assert_eq!(affine.map(|value| value.wrapping_mul(3)).each()[..], [238, 241, 244, 12, 15, 18]);
        let both = affine.zip(&affine.moved(1), u64::wrapping_sub).expect("one shape");
        assert_eq!(both.as_uniform(), Some(249));
        assert_eq!(affine.extended(64).expect("it fits").each()[0], (-6i64) as u64);
        assert_eq!(affine.rows(), (vec![250, 260], 3, 1));
        assert_eq!(affine.lines(2), [(0, 250), (3, 260)]);
        assert_eq!(affine.lines(0), [(0, 250), (1, 251), (2, 252)]);
        assert_eq!([affine.dense(1), affine.dense(10), affine.dense(77)], [Some(2), Some(0), None]);
    }

    #[test]
    fn shapes_change_by_dimensions_of_one() {
        let range = Affine::range(5, &[4], 32);
        let column = range.reshaped(&[4, 1]).expect("a column");
        assert_eq!(column.each()[..], [5, 6, 7, 8]);
        assert!(range.reshaped(&[2, 2]).is_none());
        let spread = column.arranged(&[4, 2], [Some(0), None].into_iter());
        assert_eq!(spread.each()[..], [5, 5, 6, 6, 7, 7, 8, 8]);
        let turned = spread.arranged(&[2, 4], [Some(1), Some(0)].into_iter());
        assert_eq!(turned.each()[..], [5, 6, 7, 8, 5, 6, 7, 8]);
    }
}
