//! Numbers as people read them.

const STEPS: &[(f64, &str)] = &[(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];

/// Three digits.
fn short(value: f64) -> String {
    match value {
        _ if value >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// With a prefix of thousands.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    match STEPS.iter().find(|(step, _)| value >= *step) {
        Some((step, prefix)) => format!("{} {prefix}{unit}", short(value / step)),
        None => format!("{} {unit}", short(value)),
    }
}

/// Bytes: small ones exactly.
pub(crate) fn bytes(value: f64) -> String {
    if value < 10_000.0 { format!("{value:.0} B") } else { amount(value, "B") }
}

/// A share.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A time.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 1.0 => format!("{} s", short(seconds)),
        _ if seconds >= 1e-3 => format!("{} ms", short(seconds * 1e3)),
        _ if seconds >= 1e-6 => format!("{} µs", short(seconds * 1e6)),
        _ => format!("{} ns", short(seconds * 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::{amount, bytes, percent, time};

    #[test]
    fn numbers_are_short() {
        assert_eq!(amount(4.8e12, "B"), "4.80 TB");
        assert_eq!(amount(989_000_000_000_000.0, "op"), "989 Top");
        assert_eq!(amount(12.0, "op"), "12 op");
        assert_eq!(bytes(9_999.0), "9999 B");
        assert_eq!(bytes(32_768.0), "32.8 kB");
        assert_eq!(percent(0.125), "12 %");
        assert_eq!(time(3.2e-6), "3.20 µs");
    }
}
