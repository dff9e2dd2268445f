//! Integer arithmetic against formulas of the machine's own integers.

use crate::common::{Random, check2, each};

#[test]
fn sums_differences_and_products_wrap() {
    check2("b16", "add.u16 %d, %a0, %a1;", |a, b| a.wrapping_add(b));
    check2("b32", "sub.s32 %d, %a0, %a1;", |a, b| a.wrapping_sub(b));
    check2("b64", "mul.lo.s64 %d, %a0, %a1;", |a, b| a.wrapping_mul(b));
    check2("b32", "mul.hi.u32 %d, %a0, %a1;", |a, b| (a * b) >> 32);
    check2("b32", "mul.hi.s32 %d, %a0, %a1;", |a, b| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64
    });
    check2("b64", "mul.hi.u64 %d, %a0, %a1;", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check2("b64", "mul.hi.s64 %d, %a0, %a1;", |a, b| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    });
    check2("b32", "mul24.lo.u32 %d, %a0, %a1;", |a, b| (a & 0xff_ffff) * (b & 0xff_ffff));
    check2("b32", "add.sat.s32 %d, %a0, %a1;", |a, b| (a as i32).saturating_add(b as i32) as u64);
}

#[test]
fn packed_sums_do_not_carry_over() {
    check2("b32", "add.u16x2 %d, %a0, %a1;", |a, b| {
        (a & 0xffff).wrapping_add(b) & 0xffff | ((a >> 16).wrapping_add(b >> 16) & 0xffff) << 16
    });
    check2("b32", "max.s16x2 %d, %a0, %a1;", |a, b| {
        let high = ((a >> 16) as i16).max((b >> 16) as i16) as u16;
        u64::from((a as i16).max(b as i16) as u16) | u64::from(high) << 16
    });
}

#[test]
fn wide_products_keep_all_bits() {
    let mut random = Random::fresh();
    let (a, b) = (random.cells(128), random.cells(128));
    let unsigned = each(&[("b32", &a), ("b32", &b)], "b64", "mul.wide.u32 %d, %a0, %a1;");
    let signed = each(&[("b32", &a), ("b32", &b)], "b64", "mul.wide.s32 %d, %a0, %a1;");
    let summed = each(&[("b32", &a), ("b32", &b)], "b64", "mov.b64 %q0, -7; mad.wide.s32 %d, %a0, %a1, %q0;");
    for index in 0..a.len() {
        let (a, b) = (a[index] as u32, b[index] as u32);
        assert_eq!(unsigned[index], u64::from(a) * u64::from(b));
        let product = i64::from(a as i32).wrapping_mul(i64::from(b as i32));
        assert_eq!(signed[index], product as u64);
        assert_eq!(summed[index], product.wrapping_sub(7) as u64);
    }
}

#[test]
fn carries_chain_words() {
    let mut random = Random::fresh();
    let (a, b) = (random.cells(128), random.cells(128));
    let split = "mov.b64 {%r0, %r1}, %a0; mov.b64 {%r2, %r3}, %a1;";
    let join = "mov.b64 %d, {%r4, %r5};";
    type Formula = fn(u64, u64) -> u64;
    let cases: [(&str, Formula); 3] = [
        ("add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, %r3;", u64::wrapping_add),
        ("sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, %r3;", u64::wrapping_sub),
        (
            "mul.lo.u32 %r4, %r0, %r2; mul.hi.u32 %r5, %r0, %r2; mad.lo.u32 %r5, %r0, %r3, %r5;
             mad.lo.u32 %r5, %r1, %r2, %r5;",
            u64::wrapping_mul,
        ),
    ];
    for (body, formula) in cases {
        let got = each(&[("b64", &a), ("b64", &b)], "b64", &format!("{split}{body}{join}"));
        for index in 0..a.len() {
            assert_eq!(got[index], formula(a[index], b[index]), "{body}");
        }
    }
    let body = "mov.b64 {%r0, %r1}, %a0; mov.b64 {%r2, %r3}, %a1; mad.lo.cc.u32 %r4, %r0, %r2, %r1;
                madc.hi.u32 %r5, %r0, %r2, 0; mov.b64 %d, {%r4, %r5};";
    let got = each(&[("b64", &a), ("b64", &b)], "b64", body);
    for index in 0..a.len() {
        let (low, high) = (a[index] & 0xffff_ffff, a[index] >> 32);
        assert_eq!(got[index], (low * (b[index] & 0xffff_ffff)).wrapping_add(high));
    }
}

#[test]
fn quotients_truncate_and_zero_divisors_do_not_stop() {
    check2("b32", "div.s32 %d, %a0, %a1;", |a, b| match b as i32 {
        0 => u64::MAX,
        b => (a as i32).wrapping_div(b) as u64,
    });
    check2("b64", "rem.u64 %d, %a0, %a1;", |a, b| if b == 0 { a } else { a % b });
    check2("b16", "rem.s16 %d, %a0, %a1;", |a, b| match b as i16 {
        0 => a,
        b => (a as i16).wrapping_rem(b) as u64,
    });
}

#[test]
fn extremes_distances_and_signs() {
    check2("b32", "min.s32 %d, %a0, %a1;", |a, b| (a as i32).min(b as i32) as u64);
    check2("b64", "max.u64 %d, %a0, %a1;", |a, b| a.max(b));
    check2("b32", "sad.s32 %d, %a0, %a1, 5;", |a, b| {
        u64::from((a as i32).abs_diff(b as i32).wrapping_add(5))
    });
    check2("b32", "abs.s32 %d, %a0;", |a, _| u64::from((a as i32).unsigned_abs()));
    check2("b64", "neg.s64 %d, %a0;", |a, _| a.wrapping_neg());
}

#[test]
fn dot_products_of_bytes() {
    let signed = |a: u64, b: u64| -> i64 {
        (0..4).map(|i| i64::from((a >> (8 * i)) as i8) * i64::from((b >> (8 * i)) as i8)).sum()
    };
    check2("b32", "dp4a.s32.s32 %d, %a0, %a1, 11;", move |a, b| (signed(a, b) + 11) as u64);
    check2("b32", "dp2a.hi.u32.u32 %d, %a0, %a1, 3;", |a, b| {
        (a & 0xffff) * (b >> 16 & 0xff) + (a >> 16) * (b >> 24 & 0xff) + 3
    });
}
