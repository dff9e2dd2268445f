//! An axis: from values to places, and where numbers stand.

/// About how many steps a linear axis has.
const STEPS: f64 = 6.0;

/// Maps values to places.
pub(super) struct Axis {
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
    log: bool,
    shown: Vec<f64>,
}

impl Axis {
    /// From the least to the greatest value that can be placed.
    pub(super) fn new(values: impl Iterator<Item = f64>, (begin, end): (f64, f64), log: bool) -> Axis {
        let usable = values.filter(|value| value.is_finite() && (*value > 0.0 || !log));
        let scaled = usable.map(|value| if log { value.log10() } else { value });
        let (low, high) = scaled
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (0.0, 0.0) } else { (low, high) };
        // Values that lie all together get some room around them.
        let room =
            if high - low > 1e-12 * high.abs().max(low.abs()) { 0.0 } else { (high.abs() * 0.5).max(0.5) };
        Axis { low: low - room, high: high + room, begin, end, log, shown: Vec::new() }
    }

    /// Begins at zero, with room above, unless the axis is logarithmic.
    pub(super) fn start_at_zero(&mut self) {
        if self.log {
            return;
        }
        self.low = self.low.min(0.0);
        self.high += (self.high - self.low) * 0.05;
    }

    /// Shows these numbers.
    pub(super) fn show(&mut self, values: impl Iterator<Item = f64>) {
        self.shown = values.filter(|value| self.has(*value)).collect();
    }

    /// Whether a value has a place.
    pub(super) fn has(&self, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || !self.log)
    }

    /// The place of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)
    }

    /// Where numbers stand.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.shown.is_empty() {
            return self.shown.clone();
        }
        if self.log { self.log_ticks() } else { self.round_ticks() }
    }

    fn log_ticks(&self) -> Vec<f64> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let parts: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = (first..=last).flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        let inside = |tick: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(&tick.log10());
        let ticks: Vec<f64> = all.filter(inside).collect();
        if ticks.len() > 1 { ticks } else { vec![10f64.powf(self.low), 10f64.powf(self.high)] }
    }

    fn round_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / STEPS;
        let scale = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * scale);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * scale);
        let (first, last) =
            ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn numbers_are_round_and_inside() {
        let axis = Axis::new([256.0, 12672.0].into_iter(), (0.0, 100.0), false);
        assert_eq!(axis.ticks(), [2500.0, 5000.0, 7500.0, 10000.0, 12500.0]);
        let log = Axis::new([1.0, 1000.0, -5.0, 0.0].into_iter(), (0.0, 90.0), true);
        assert_eq!((log.place(1.0), log.place(1000.0).round()), (0.0, 90.0));
        assert!(!log.has(0.0) && log.ticks().len() > 3);
    }

    #[test]
    fn values_that_are_all_the_same_have_a_place() {
        for value in [0.0, 7.0, -3.0, 1e300] {
            let axis = Axis::new([value, value].into_iter(), (0.0, 10.0), false);
            assert!(axis.place(value).is_finite() && axis.ticks().len() < 20, "{value}");
        }
        assert!(Axis::new(std::iter::empty(), (0.0, 1.0), true).ticks().len() >= 2);
    }
}
