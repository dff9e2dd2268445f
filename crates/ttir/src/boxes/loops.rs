//! Loads whose boxes a loop knows before it begins: the address of the tensor, its sizes and its strides, which may all
//! be loaded, and how far the loop goes.
//!
//! ```text
//! %a = tt.int_to_ptr (tt.load %as)       tensor %a, rows %stride apart; boxes at [%i, %k * 64]
//! %stride = tt.load %strides        =>   from [%i, 0] to [%i, (%n - 1) * 64]
//! scf.for %k = %zero to %n { tt.load (%a + (%i + 0..128) * %stride + %k * 64 + 0..64) }
//! ```
//!
//! What must hold for it is asked in front of the loop, by whoever makes use of it.

use super::{BoxAxis, Finder, Found, Poly};
use crate::ops::arith_int::int_value;
use crate::ops::control::ForOp;
use ir::{Module, Op, Value};

/// The largest factor of a number in a sum: such sums of 32-bit numbers do not overflow 64 bits.
const MOST_FACTOR: i64 = 1 << 24;

/// A load that reads a box which a loop knows.
#[derive(Clone, Debug)]
pub struct LoopBox {
    /// The load.
    pub load: Op,
    /// The address of the tensor.
    pub base: Value,
    /// By axis of the block. Strides and sizes are sums of 32-bit numbers from in front of the loop.
    pub axes: Vec<BoxAxis>,
    /// By axis, where boxes begin over all iterations.
    pub starts: Vec<Counted>,
    /// The axis along which neighbours are neighbours in memory.
    pub fastest: usize,
    /// Bits in which the loop computes offsets.
    pub bits: u32,
}

/// A number that moves in a loop: a sum of 32-bit numbers from in front of it, and so many times its counter.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The sum.
    pub first: Poly,
    /// How often the counter is added; not negative.
    pub times: i64,
}

/// The loads of a loop of which it knows the boxes, and whose addresses no launch knows.
pub fn in_loop(module: &Module, kernel: Op, around: ForOp<'_>, loads: &[Op]) -> Vec<LoopBox> {
    if int_value(module, around.step()) != Some(1) {
        return Vec::new();
    }
    let mut finder = Finder::new(module, kernel, Some(around.op));
    loads.iter().filter_map(|&load| finder.loop_box(load, around)).collect()
}

impl Finder<'_> {
    fn loop_box(&mut self, load: Op, around: ForOp<'_>) -> Option<LoopBox> {
        let Found { base, mut axes, fastest, bits } = self.of_load(load).ok()?;
        if self.slot(base).is_some() {
            return None;
        }
        let counter = around.counter();
        let mut starts = Vec::new();
        for (at, axis) in axes.iter_mut().enumerate() {
            let start = Counted::of(&axis.start, counter)?;
            starts.push(Counted { first: self.in_front(&start.first, around.op)?, ..start });
            if at != fastest {
                axis.stride = self.in_front(&axis.stride, around.op)?;
            }
            axis.extent = match &axis.extent {
                Some(extent) => Some(self.in_front(extent, around.op)?),
                None => None,
            };
        }
        Some(LoopBox { load, base, axes, starts, fastest, bits })
    }

    /// A sum by values that reach a loop, if it can be computed there in 64 bits.
    fn in_front(&self, poly: &Poly, around: Op) -> Option<Poly> {
        let module = self.module();
        let poly = poly.with(|name| self.forms.reaching(name, around))?;
        let is_short =
            |value: Value| module.ty(value).as_int() == Some(32) && module.is_outside(value, around);
        let fits = |(monomial, factor): &(super::Monomial, i64)| {
            monomial.len() <= 1
                && factor.abs() <= MOST_FACTOR
                && monomial.iter().all(|&value| is_short(value))
        };
        poly.terms().iter().all(fits).then_some(poly)
    }
}

impl Counted {
    /// A number by a counter, if it does not fall with it.
    fn of(poly: &Poly, counter: Value) -> Option<Counted> {
        let mut times = 0;
        let mut first = poly.clone();
        for (monomial, factor) in poly.terms().iter().filter(|term| term.0.contains(&counter)) {
            let [_] = monomial[..] else { return None };
            times = *factor;
            first = first.minus(&Poly::atom(counter).times_number(times)?)?;
        }
        (0..=MOST_FACTOR).contains(&times).then_some(Counted { first, times })
    }
}
