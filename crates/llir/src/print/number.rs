//! Numbers in text: printers of code write many, and formatting in the usual way is several times as slow.

use crate::constant::{Constant, signed};
use std::fmt::{self, Write};

/// The numbers below 100 in two digits each.
const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
    404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// A number in decimal digits.
pub fn write_number(out: &mut String, number: u32) {
    if number >= 100 {
        write_number(out, number / 100);
    }
    let pair = 2 * (number % 100) as usize;
    if number >= 10 {
        out.push(char::from(PAIRS[pair]));
    }
    out.push(char::from(PAIRS[pair + 1]));
}

/// A constant; small integers, which are most of them, without the usual formatting.
pub(super) fn write_constant(out: &mut String, constant: &Constant) -> fmt::Result {
    let ty = constant.ty;
    let is_number = ty.is_int() && !ty.is_vector() && ty.lane_bits() >= 8;
    let number = constant.splat_bits().filter(|_| is_number).map(|bits| signed(bits, ty.lane_bits()));
    let Some(number) = number.filter(|number| number.unsigned_abs() <= u128::from(u32::MAX)) else {
        return write!(out, "{constant}");
    };
    out.push_str(if number < 0 { "-" } else { "" });
    write_number(out, number.unsigned_abs() as u32);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write_number;

    #[test]
    fn numbers_are_what_formatting_gives() {
        let edges = (0..10).flat_map(|power| [10u32.pow(power) - 1, 10u32.pow(power), 10u32.pow(power) + 1]);
        for number in edges.chain(0..2000).chain([u32::MAX - 1, u32::MAX]) {
            let mut text = String::new();
            write_number(&mut text, number);
            assert_eq!(text, number.to_string());
        }
    }
}
