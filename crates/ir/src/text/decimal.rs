//! Integers in text: the printer writes many, and formatting in the usual way is several times as slow.

/// Appends an integer in decimal digits.
pub(super) fn write_int(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    write_digits(out, value.unsigned_abs());
}

fn write_digits(out: &mut String, number: u64) {
    if number >= 10 {
        write_digits(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::write_int;

    #[test]
    fn integers_are_what_formatting_gives() {
        let edges = (0..19).flat_map(|power| [10i64.pow(power) - 1, 10i64.pow(power), 1 - 10i64.pow(power)]);
        for value in edges.chain(-2000..2000).chain([i64::MIN, i64::MIN + 1, i64::MAX]) {
            let mut text = String::new();
            write_int(&mut text, value);
            assert_eq!(text, value.to_string());
        }
    }
}
