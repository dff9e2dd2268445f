//! Which configurations are tried, and in what order.
//!
//! - `exhaustive`: all of them, in the order of the list.
//! - `random`: as many as the budget says, drawn without regard to results.
//! - `local`: half of the budget is drawn at random; then, in steps of four, the untried neighbours of the two best are
//!   tried: those that differ from one of them in the fewest values, by the smallest steps. Ends when the budget is
//!   spent.
//!
//! The same seed, list and results give the same choice, whatever the number of cores. What is known from before
//! counts towards the budget.

use rustc_hash::FxHashMap;

/// What is tried unless the caller says how much.
const USUAL_BUDGET: usize = 32;
/// How many configurations `local` tries between two looks at the results.
const STEP: usize = 4;
/// How many of the best have their neighbours tried.
const CENTRES: usize = 2;

/// The ways to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Everything.
    Exhaustive,
    /// A part, drawn at random.
    Random,
    /// A part drawn at random, then what is near the best.
    Local,
}

/// The names that users write.
const NAMES: [(&str, Strategy); 3] =
    [("exhaustive", Strategy::Exhaustive), ("random", Strategy::Random), ("local", Strategy::Local)];

impl Strategy {
    /// The strategy of a name.
    ///
    /// # Errors
    /// Lists the names.
    pub fn parse(name: &str) -> Result<Strategy, String> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, strategy)| *strategy).ok_or_else(|| {
            let names = NAMES.map(|(known, _)| format!("\"{known}\"")).join(", ");
            format!("search is {name:?}; it can be {names}")
        })
    }
}

/// One value of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A number: near values are neighbours.
    Number(f64),
    /// Anything else: either the same or another.
    Text(String),
}

/// Where a configuration lies: for each name the rank of its value among all that occur.
type Point = Vec<u32>;

/// Proposes configurations.
#[derive(Clone, Debug)]
pub struct Search {
    strategy: Strategy,
    budget: usize,
    points: Vec<Point>,
    /// By dimension: whether its ranks have an order.
    ordered: Vec<bool>,
    /// All numbers in the order of drawing.
    order: Vec<usize>,
}

impl Search {
    /// For configurations with their values by name, in which no name need occur everywhere.
    pub fn new(
        strategy: Strategy,
        configurations: &[Vec<(String, Setting)>],
        budget: Option<usize>,
        seed: u64,
    ) -> Search {
        let count = configurations.len();
        let budget = match strategy {
            Strategy::Exhaustive => count,
            _ => budget.unwrap_or(USUAL_BUDGET).clamp(1, count.max(1)),
        };
        let (points, ordered) = place(configurations);
        let mut order: Vec<usize> = (0..count).collect();
        if strategy != Strategy::Exhaustive {
            shuffle(&mut order, seed);
        }
        Search { strategy, budget, points, ordered, order }
    }

    /// How many configurations are tried in all.
    pub fn budget(&self) -> usize {
        self.budget.min(self.points.len())
    }

    /// What to try next, given the medians of those that were tried (infinite for what cannot run); nothing when the
    /// search is over.
    pub fn next(&self, medians: &[Option<f64>]) -> Vec<usize> {
        let known = medians.iter().flatten().count();
        let left = self.budget().saturating_sub(known);
        let untried = |number: &usize| medians.get(*number).is_some_and(Option::is_none);
        let drawn = |count: usize| self.order.iter().copied().filter(untried).take(count).collect();
        match self.strategy {
            Strategy::Exhaustive | Strategy::Random => drawn(left),
            Strategy::Local if known < self.budget().div_ceil(2) => drawn(self.budget().div_ceil(2) - known),
            Strategy::Local => self.neighbours(medians, left.min(STEP)),
        }
    }

    /// The untried configurations that are nearest to the best.
    fn neighbours(&self, medians: &[Option<f64>], count: usize) -> Vec<usize> {
        let mut tried: Vec<(f64, usize)> =
            medians.iter().enumerate().filter_map(|(at, median)| Some(((*median)?, at))).collect();
        tried.sort_by(|left, right| left.0.total_cmp(&right.0));
        let centres: Vec<usize> =
            tried.iter().filter(|(median, _)| median.is_finite()).map(|(_, at)| *at).take(CENTRES).collect();
        let distance = |number: usize| {
            centres.iter().map(|centre| self.distance(*centre, number)).min().unwrap_or_default()
        };
        let untried = self.order.iter().copied().filter(|at| medians.get(*at).is_some_and(Option::is_none));
        let mut near: Vec<(u32, usize)> = untried.map(|number| (distance(number), number)).collect();
        // The sort is stable: among equals the order of drawing counts.
        near.sort_by_key(|(distance, _)| *distance);
        near.into_iter().take(count).map(|(_, number)| number).collect()
    }

    /// Steps between two configurations; another text is as far as two steps of a number.
    fn distance(&self, left: usize, right: usize) -> u32 {
        let pairs = self.points[left].iter().zip(&self.points[right]).zip(&self.ordered);
        pairs
            .map(|((left, right), ordered)| match ordered {
                true => left.abs_diff(*right),
                false => 2 * u32::from(left != right),
            })
            .sum()
    }
}

/// Ranks of all values, by configuration and name, and which names have an order.
fn place(configurations: &[Vec<(String, Setting)>]) -> (Vec<Point>, Vec<bool>) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in configurations.iter().flatten() {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let mut points = vec![Point::new(); configurations.len()];
    let mut ordered = Vec::new();
    for name in names {
        let column: Vec<Option<&Setting>> = configurations
            .iter()
            .map(|all| all.iter().find(|(own, _)| own == name).map(|(_, setting)| setting))
            .collect();
        let (ranks, has_order) = ranks(&column);
        points.iter_mut().zip(ranks).for_each(|(point, rank)| point.push(rank));
        ordered.push(has_order);
    }
    (points, ordered)
}

/// The rank of every value of one name; whether they are all numbers.
fn ranks(column: &[Option<&Setting>]) -> (Vec<u32>, bool) {
    let number = |setting: &Option<&Setting>| match setting {
        Some(Setting::Number(number)) => Some(*number),
        _ => None,
    };
    let numbers: Option<Vec<f64>> = column.iter().map(number).collect();
    if let Some(numbers) = numbers {
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let rank = |value: &f64| sorted.partition_point(|other| other < value) as u32;
        return (numbers.iter().map(rank).collect(), true);
    }
    let mut known: FxHashMap<String, u32> = FxHashMap::default();
    let rank = |setting: &Option<&Setting>| {
        let next = known.len() as u32;
        *known.entry(format!("{setting:?}")).or_insert(next)
    };
    (column.iter().map(rank).collect(), false)
}

/// Shuffles by the generator SplitMix64, which is all that is needed here.
fn shuffle(order: &mut [usize], seed: u64) {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for last in (1..order.len()).rev() {
        let other = (random() % (last as u64 + 1)) as usize;
        order.swap(last, other);
    }
}
