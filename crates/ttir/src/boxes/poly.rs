//! Sums of products of integers of a program.
//!
//! Signed sums and products are taken not to overflow, as in the axis analysis.

use crate::ops::arith_cast::TRUNCI;
use crate::ops::arith_int::{ADDI, MULI};
use crate::ops::constant;
use ir::{Builder, Type, Value};
use smallvec::SmallVec;

/// The most terms of a sum; what has more is not followed.
const MOST_TERMS: usize = 16;
/// The most factors of a product.
const MOST_FACTORS: usize = 6;

/// The largest power of two that is asked for.
const MOST_DIVISOR: u64 = 1 << 16;

/// Factors in order; none for one.
pub type Monomial = SmallVec<[Value; 3]>;

/// A sum of products with their coefficients, in order and without zeros.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Poly(Vec<(Monomial, i64)>);

impl Poly {
    /// A number.
    pub fn constant(value: i64) -> Poly {
        Poly::of([(Monomial::new(), value)])
    }

    /// A value of the program.
    pub fn atom(value: Value) -> Poly {
        Poly(vec![(SmallVec::from_slice(&[value]), 1)])
    }

    /// The sum of these terms.
    pub(super) fn of(terms: impl IntoIterator<Item = (Monomial, i64)>) -> Poly {
        let mut sum = Poly::default();
        for (monomial, coefficient) in terms {
            match sum.0.binary_search_by(|(own, _)| own.cmp(&monomial)) {
                Ok(at) => sum.0[at].1 = sum.0[at].1.wrapping_add(coefficient),
                Err(at) => sum.0.insert(at, (monomial, coefficient)),
            }
        }
        sum.0.retain(|(_, coefficient)| *coefficient != 0);
        sum
    }

    /// Its terms.
    pub fn terms(&self) -> &[(Monomial, i64)] {
        &self.0
    }

    /// The values that it is made of.
    pub fn atoms(&self) -> impl Iterator<Item = Value> + '_ {
        self.0.iter().flat_map(|(monomial, _)| monomial.iter().copied())
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Its value, if that is known.
    pub fn as_constant(&self) -> Option<i64> {
        match &self.0[..] {
            [] => Some(0),
            [(monomial, value)] if monomial.is_empty() => Some(*value),
            _ => None,
        }
    }

    /// The sum of two.
    pub fn plus(&self, other: &Poly) -> Option<Poly> {
        let sum = Poly::of(self.0.iter().chain(&other.0).cloned());
        (sum.0.len() <= MOST_TERMS).then_some(sum)
    }

    /// The difference of two.
    pub fn minus(&self, other: &Poly) -> Option<Poly> {
        self.plus(&other.times_number(-1)?)
    }

    /// A multiple.
    pub fn times_number(&self, by: i64) -> Option<Poly> {
        let terms: Option<Vec<_>> =
            self.0.iter().map(|(monomial, value)| Some((monomial.clone(), value.checked_mul(by)?))).collect();
        Some(Poly::of(terms?))
    }

    /// The product of two.
    pub fn times(&self, other: &Poly) -> Option<Poly> {
        if self.0.len() * other.0.len() > MOST_TERMS {
            return None;
        }
        let mut terms = Vec::new();
        for (left, one) in &self.0 {
            for (right, two) in &other.0 {
                let mut monomial: Monomial = left.iter().chain(right).copied().collect();
                monomial.sort_unstable();
                if monomial.len() > MOST_FACTORS {
                    return None;
                }
                terms.push((monomial, one.checked_mul(*two)?));
            }
        }
        Some(Poly::of(terms))
    }

    /// Every coefficient divided by a number, where nothing is left over.
    pub fn divided_by(&self, by: i64) -> Option<Poly> {
        let terms = self.0.iter().map(|(monomial, value)| {
            let whole = by != 0 && value.checked_rem(by)? == 0;
            whole.then(|| (monomial.clone(), value / by))
        });
        Some(Poly::of(terms.collect::<Option<Vec<_>>>()?))
    }

    /// The part whose terms are multiples of a product with its coefficient, divided by it, and the rest. One divides
    /// nothing.
    pub fn split_by(&self, divisor: &Poly) -> (Poly, Poly) {
        let [(by, coefficient)] = &divisor.0[..] else { return (Poly::default(), self.clone()) };
        if divisor.as_constant() == Some(1) {
            return (Poly::default(), self.clone());
        }
        let (mut quotient, mut rest) = (Vec::new(), Vec::new());
        for (monomial, value) in &self.0 {
            match without(monomial, by).filter(|_| value.checked_rem(*coefficient) == Some(0)) {
                Some(left) => quotient.push((left, value / coefficient)),
                None => rest.push((monomial.clone(), *value)),
            }
        }
        (Poly::of(quotient), Poly::of(rest))
    }

    /// The part whose products are chosen, and the rest.
    pub(super) fn split(&self, is_chosen: impl Fn(&Monomial) -> bool) -> (Poly, Poly) {
        let (chosen, rest) = self.0.iter().cloned().partition(|(monomial, _)| is_chosen(monomial));
        (Poly(chosen), Poly(rest))
    }

    /// A power of two that it is a multiple of, at most 2^16; `of` says that of its values.
    pub fn divisor(&self, of: impl Fn(Value) -> u64) -> u64 {
        let terms = self.0.iter().map(|(monomial, coefficient)| {
            let own = 1 << coefficient.trailing_zeros().min(MOST_DIVISOR.trailing_zeros());
            monomial
                .iter()
                .fold(own, |product: u64, &atom| product.saturating_mul(of(atom)).min(MOST_DIVISOR))
        });
        terms.min().unwrap_or(MOST_DIVISOR)
    }

    /// The same with other values in the place of its own.
    pub fn with(&self, of: impl Fn(Value) -> Option<Value>) -> Option<Poly> {
        let terms = self.0.iter().map(|(monomial, value)| {
            let mut monomial = monomial.iter().map(|&atom| of(atom)).collect::<Option<Monomial>>()?;
            monomial.sort_unstable();
            Some((monomial, *value))
        });
        Some(Poly::of(terms.collect::<Option<Vec<_>>>()?))
    }

    /// Computes its low 32 bits.
    pub fn build(&self, builder: &mut Builder<'_>) -> Value {
        let ty = Type::int(32);
        let mut sum: Option<Value> = None;
        for (monomial, coefficient) in &self.0 {
            let mut product: Option<Value> = None;
            for &atom in monomial {
                let is_short = builder.module.ty(atom) == ty;
                let factor = if is_short { atom } else { builder.build_as(&TRUNCI, &[atom], &[], ty) };
                product = Some(match product {
                    Some(product) => builder.build(&MULI, &[product, factor], &[]),
                    None => factor,
                });
            }
            let term = match product {
                Some(product) if *coefficient == 1 => product,
                Some(product) => {
                    let by = constant::int(builder, ty, *coefficient);
                    builder.build(&MULI, &[product, by], &[])
                }
                None => constant::int(builder, ty, *coefficient),
            };
            sum = Some(match sum {
                Some(sum) => builder.build(&ADDI, &[sum, term], &[]),
                None => term,
            });
        }
        sum.unwrap_or_else(|| constant::int(builder, ty, 0))
    }
}

/// The factors of a product that are left without those of another.
fn without(monomial: &Monomial, by: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for factor in by {
        let at = left.iter().position(|own| own == factor)?;
        left.remove(at);
    }
    Some(left)
}
