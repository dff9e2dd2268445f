//! Logic, shifts and bit fields, each against a formula bit by bit.

use crate::common::{Random, check2, each};

#[test]
fn logic() {
    check2("b64", "and.b64 %d, %a0, %a1;", |a, b| a & b);
    check2("b16", "xor.b16 %d, %a0, %a1;", |a, b| a ^ b);
    check2("b32", "not.b32 %d, %a0;", |a, _| !a);
    check2("b32", "cnot.b32 %d, %a0;", |a, _| u64::from(a == 0));
    check2("b32", "mov.b32 %r0, 0x0f0f3355; lop3.b32 %d, %a0, %a1, %r0, 0xe8;", |a, b| {
        let c = 0x0f0f_3355;
        a & b | a & c | b & c
    });
}

#[test]
fn shifts_clamp() {
    check2("b32", "and.b32 %r0, %a1, 63; shl.b32 %d, %a0, %r0;", |a, n| {
        (a as u32).checked_shl(n as u32 & 63).unwrap_or(0).into()
    });
    check2("b64", "cvt.u32.u64 %r0, %a1; and.b32 %r0, %r0, 127; shr.u64 %d, %a0, %r0;", |a, n| {
        a.checked_shr(n as u32 & 127).unwrap_or(0)
    });
    check2("b32", "and.b32 %r0, %a1, 63; shr.s32 %d, %a0, %r0;", |a, n| {
        ((a as i32) >> (n & 63).min(31)) as u64
    });
    check2("b32", "shf.l.wrap.b32 %d, %a0, %a0, %a1;", |a, n| (a as u32).rotate_left(n as u32 & 31).into());
    check2("b32", "mov.b32 %r0, 0x89abcdef; shf.r.clamp.b32 %d, %a0, %r0, %a1;", |a, n| {
        (0x89ab_cdef << 32 | a) >> n.min(32)
    });
}

#[test]
fn fields() {
    let field = |b: u64| (b & 0xff, b >> 8 & 0xff);
    let take = "and.b32 %r0, %a1, 255; bfe.u32 %r1, %a1, 8, 8;";
    check2("b32", &format!("{take} bfe.u32 %d, %a0, %r0, %r1;"), move |a, b| {
        let (start, length) = field(b);
        (0..length)
            .filter(|bit| start + bit < 32 && a >> (start + bit) & 1 == 1)
            .fold(0, |out, bit| out | 1 << bit)
    });
    check2("b32", &format!("{take} bfe.s32 %d, %a0, %r0, %r1;"), move |a, b| {
        let (start, length) = field(b);
        let sign = if length == 0 { 0 } else { a >> (start + length - 1).min(31) & 1 };
        (0..32).fold(0, |out, bit| {
            let value = if bit < length && start + bit < 32 { a >> (start + bit) & 1 } else { sign };
            out | value << bit
        })
    });
    check2(
        "b32",
        &format!("{take} mov.b32 %r2, 0x12345678; bfi.b32 %d, %a0, %r2, %r0, %r1;"),
        move |a, b| {
            let (start, length) = field(b);
            (0..32).fold(0, |out, bit| {
                let inside = bit >= start && bit < start + length;
                let value = if inside { a >> (bit - start) } else { 0x1234_5678u64 >> bit };
                out | (value & 1) << bit
            })
        },
    );
}

#[test]
fn counting_and_finding() {
    check2("b32", "popc.b32 %d, %a0;", |a, _| a.count_ones().into());
    check2("b32", "clz.b32 %d, %a0;", |a, _| (a as u32).leading_zeros().into());
    check2("b32", "brev.b32 %d, %a0;", |a, _| (a as u32).reverse_bits().into());
    check2("b32", "bfind.u32 %d, %a0;", |a, _| (a as u32).checked_ilog2().map_or(u64::MAX, u64::from));
    check2("b32", "bfind.s32 %d, %a0;", |a, _| {
        let a = if (a as i32) < 0 { !(a as u32) } else { a as u32 };
        a.checked_ilog2().map_or(u64::MAX, u64::from)
    });
    check2("b32", "and.b32 %r0, %a1, 31; add.s32 %r0, %r0, 1; fns.b32 %d, %a0, 0, %r0;", |a, b| {
        (0..32).filter(|bit| a >> bit & 1 == 1).nth((b & 31) as usize).unwrap_or(u64::MAX)
    });
    let mut random = Random::fresh();
    let a = random.cells(64);
    let got = each(
        &[("b64", &a)],
        "b32",
        "clz.b64 %r0, %a0; popc.b64 %r1, %a0; shl.b32 %r1, %r1, 8; or.b32 %d, %r0, %r1;",
    );
    for (got, a) in got.iter().zip(&a) {
        assert_eq!(*got, u64::from(a.leading_zeros() | a.count_ones() << 8));
    }
}

#[test]
fn bytes_in_any_order() {
    check2("b32", "mov.b32 %r0, 0x44332211; prmt.b32 %d, %a0, %r0, %a1;", |a, selector| {
        let bytes = [a & 255, a >> 8 & 255, a >> 16 & 255, a >> 24, 0x11, 0x22, 0x33, 0x44];
        (0..4).fold(0, |out, index| {
            let nibble = selector >> (4 * index) & 15;
            let byte = bytes[(nibble & 7) as usize];
            let byte = if nibble & 8 == 0 { byte } else { (byte >> 7) * 255 };
            out | byte << (8 * index)
        })
    });
    check2("b32", "prmt.b32.f4e %d, %a0, %a0, 1;", |a, _| (a as u32).rotate_right(8).into());
    check2("b32", "prmt.b32.rc8 %d, %a0, %a1, 2;", |a, _| (a >> 16 & 255) * 0x0101_0101);
}

#[test]
fn masks_and_extensions() {
    check2("b32", "and.b32 %r0, %a0, 31; and.b32 %r1, %a1, 31; bmsk.clamp.b32 %d, %r0, %r1;", |a, b| {
        ((1u64 << (b & 31)) - 1) << (a & 31)
    });
    check2("b32", "and.b32 %r1, %a1, 31; szext.wrap.s32 %d, %a0, %r1;", |a, b| match b & 31 {
        0 => 0,
        n => (((a as u32) << (32 - n)) as i32 >> (32 - n)) as u64,
    });
}
