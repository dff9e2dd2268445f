//! Instructions that map lanes' values to a result, each lane by itself.

use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::step::Step;
use crate::machine::warp::FULL;
use emulation::Fault;

/// A value that a register cell holds.
pub(crate) trait Cell: Copy {
    fn from_cell(cell: u64) -> Self;
    fn to_cell(self) -> u64;
}

/// A cell for an integer type.
macro_rules! integer_cell {
    ($($ty:ty as $unsigned:ty),*) => {$(
        impl Cell for $ty {
            fn from_cell(cell: u64) -> Self { cell as $ty }
            fn to_cell(self) -> u64 { self as $unsigned as u64 }
        }
    )*};
}

integer_cell!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

impl Cell for bool {
    fn from_cell(cell: u64) -> bool {
        cell & 1 == 1
    }
    fn to_cell(self) -> u64 {
        u64::from(self)
    }
}

impl Cell for f32 {
    fn from_cell(cell: u64) -> f32 {
        f32::from_bits(cell as u32)
    }
    fn to_cell(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Cell for f64 {
    fn from_cell(cell: u64) -> f64 {
        f64::from_bits(cell)
    }
    fn to_cell(self) -> u64 {
        self.to_bits()
    }
}

/// Writes `f(lane)` to the lanes that execute the step.
fn fill(step: &mut Step<'_, '_>, dest: Slot, f: impl Fn(usize) -> u64) {
    let mask = step.mask;
    let row = &mut step.warp.rows[dest.index()];
    if mask == FULL {
        for (lane, cell) in row.iter_mut().enumerate() {
            *cell = f(lane);
        }
    } else {
        for (lane, cell) in row.iter_mut().enumerate() {
            if mask >> lane & 1 == 1 {
                *cell = f(lane);
            }
        }
    }
}

struct Map<F, const N: usize> {
    dest: Slot,
    sources: [Slot; N],
    f: F,
}

impl<F: Fn([u64; N]) -> u64 + Send + Sync, const N: usize> Execute for Map<F, N> {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let rows: [[u64; 32]; N] = std::array::from_fn(|index| *step.warp.row(self.sources[index]));
        fill(step, self.dest, |lane| (self.f)(std::array::from_fn(|index| rows[index][lane])));
        Ok(Flow::Next)
    }
}

/// A result from so many cells.
pub(crate) fn map<const N: usize>(
    dest: Slot,
    sources: [Slot; N],
    f: impl Fn([u64; N]) -> u64 + Send + Sync + 'static,
) -> Box<dyn Execute> {
    Box::new(Map { dest, sources, f })
}

/// A result from one value.
pub(crate) fn map1<A: Cell + 'static, D: Cell + 'static>(
    dest: Slot,
    source: Slot,
    f: impl Fn(A) -> D + Send + Sync + 'static,
) -> Box<dyn Execute> {
    map(dest, [source], move |[a]| f(A::from_cell(a)).to_cell())
}

/// A result from two values of one type.
pub(crate) fn map2<A: Cell + 'static, D: Cell + 'static>(
    dest: Slot,
    sources: [Slot; 2],
    f: impl Fn(A, A) -> D + Send + Sync + 'static,
) -> Box<dyn Execute> {
    map(dest, sources, move |[a, b]| f(A::from_cell(a), A::from_cell(b)).to_cell())
}

/// A result from three values of one type.
pub(crate) fn map3<A: Cell + 'static, D: Cell + 'static>(
    dest: Slot,
    sources: [Slot; 3],
    f: impl Fn(A, A, A) -> D + Send + Sync + 'static,
) -> Box<dyn Execute> {
    map(dest, sources, move |[a, b, c]| f(A::from_cell(a), A::from_cell(b), A::from_cell(c)).to_cell())
}

/// An instruction that is a function of the step.
pub(crate) fn run(
    f: impl Fn(&mut Step<'_, '_>) -> Result<Flow, Box<Fault>> + Send + Sync + 'static,
) -> Box<dyn Execute> {
    Box::new(f)
}
