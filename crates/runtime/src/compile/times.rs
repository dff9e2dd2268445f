//! How long the steps of a compile took, as a table for people.
//!
//! Steps are named after the stage they make; a part of a step is named `step/part` and stands in front of the whole.

use std::fmt::Write;
use std::time::Duration;

/// A table with the steps in order, their parts below them, and shares of the whole. `whole` is all that was waited
/// for; what no step accounts for is a row of its own.
pub fn times_table(times: &[(String, Duration)], whole: Option<Duration>) -> String {
    let steps = times.iter().filter(|(name, _)| !name.contains('/'));
    let accounted: Duration = steps.clone().map(|(_, elapsed)| *elapsed).sum();
    let total = whole.unwrap_or(accounted).max(accounted);
    let mut table = format!("{:>12}  {:>6}  step\n", "ms", "share");
    let mut row = |indent: &str, name: &str, elapsed: Duration| {
        let share = 100.0 * elapsed.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        // Writing to a string does not fail.
        let _ = writeln!(table, "{:>12.3}  {share:>5.1}%  {indent}{name}", elapsed.as_secs_f64() * 1e3);
    };
    for (name, elapsed) in steps {
        row("", name, *elapsed);
        for (part, elapsed) in times {
            if let Some((_, part)) = part.split_once('/').filter(|(step, _)| step == name) {
                row("  ", part, *elapsed);
            }
        }
    }
    if total > accounted {
        row("", "everything else", total - accounted);
    }
    row("", "total", total);
    table
}

#[cfg(test)]
mod tests {
    use super::times_table;
    use std::time::Duration;

    #[test]
    fn parts_stand_below_their_step() {
        let ms = Duration::from_millis;
        let times = [("ttir/cse", 1), ("ttir", 3), ("llir/lower", 4), ("llir", 5)];
        let times: Vec<_> = times.iter().map(|(name, time)| ((*name).to_owned(), ms(*time))).collect();
        let expected = "          ms   share  step\n       3.000   30.0%  ttir\n       1.000   10.0%    cse\n       \
                        5.000   50.0%  llir\n       4.000   40.0%    lower\n       2.000   20.0%  everything else\n      \
                        10.000  100.0%  total\n";
        assert_eq!(times_table(&times, Some(ms(10))), expected);
        assert!(times_table(&[], None).ends_with("0.000    0.0%  total\n"));
    }
}
