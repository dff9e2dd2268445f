//! The loops of a kernel, and amounts of work that depend on how often they run.

use crate::formula;
use crate::place::{Place, Places};
use ir::{Module, Op, Traits};
use std::collections::BTreeMap;
use ttir::ops::control::FOR;

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    pub(crate) op: Op,
    /// Its name in amounts: `T1`, ….
    pub name: String,
    /// How often it runs, as text.
    pub trips: String,
    /// Where it begins.
    pub place: Option<Place>,
    /// How often it runs for the arguments that are given or assumed; none where only data decides.
    pub count: Option<f64>,
}

/// All loops, in the order of the program.
pub(crate) fn find(module: &Module, kernel: Op, places: &Places<'_>) -> Vec<Loop> {
    let ops = module.walk(kernel).into_iter();
    let loops = ops.filter(|op| module.has(*op, Traits::LOOP));
    loops
        .enumerate()
        .map(|(index, op)| Loop {
            op,
            name: format!("T{}", index + 1),
            trips: if module.is(op, &FOR) { formula::trips(module, op) } else { "as data decides".into() },
            place: places.of(op),
            count: None,
        })
        .collect()
}

/// A sum of numbers, each times how often some loops run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Amount(BTreeMap<Vec<usize>, f64>);

impl Amount {
    /// Adds what is done in a nest of loops.
    pub(crate) fn add(&mut self, nest: &[usize], amount: f64) {
        if amount != 0.0 {
            *self.0.entry(nest.to_vec()).or_default() += amount;
        }
    }

    /// Adds another amount, so many times.
    pub(crate) fn add_all(&mut self, other: &Amount, times: f64) {
        for (nest, amount) in &other.0 {
            self.add(nest, amount * times);
        }
    }

    /// The number, where loops that only data decides count once.
    pub(crate) fn value(&self, loops: &[Loop]) -> f64 {
        let trips = |nest: &Vec<usize>| -> f64 {
            nest.iter().map(|index| loops[*index].count.unwrap_or(1.0)).product()
        };
        self.0.iter().map(|(nest, amount)| amount * trips(nest)).sum()
    }

    /// The sum as text.
    pub fn text(&self, loops: &[Loop]) -> String {
        let terms: Vec<String> = self
            .0
            .iter()
            .map(|(nest, amount)| {
                let names: Vec<&str> = nest.iter().map(|index| loops[*index].name.as_str()).collect();
                if names.is_empty() {
                    plain(*amount)
                } else {
                    format!("{}·{}", plain(*amount), names.join("·"))
                }
            })
            .collect();
        if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn plain(amount: f64) -> String {
    if amount.fract() == 0.0 { format!("{amount:.0}") } else { format!("{amount:.1}") }
}

#[cfg(test)]
mod tests {
    use super::Amount;

    #[test]
    fn amounts_add_up_by_nest() {
        let mut amount = Amount::default();
        amount.add(&[], 3.0);
        amount.add(&[], 1.5);
        amount.add(&[], 0.0);
        let mut twice = Amount::default();
        twice.add_all(&amount, 2.0);
        assert_eq!(twice.text(&[]), "9");
        assert_eq!(twice.value(&[]), 9.0);
        assert_eq!(Amount::default().text(&[]), "0");
    }
}
