//! `cvt`: every kind of source and result against formulas.

use crate::common::{Random, each, each_for};
use half::{bf16, f16};

fn convert(from: &str, to: &str, opcode: &str, cells: &[u64]) -> Vec<u64> {
    each(&[(from, cells)], to, &format!("{opcode} %d, %a0;"))
}

#[test]
fn integers_extend_cut_and_saturate() {
    let mut random = Random::fresh();
    let cells = random.cells(256);
    type Formula = fn(u64) -> u64;
    let cases: [(&str, &str, &str, Formula); 7] = [
        ("b32", "b64", "cvt.s64.s32", |a| a as i32 as i64 as u64),
        ("b32", "b64", "cvt.u64.u32", |a| a & 0xffff_ffff),
        ("b64", "b32", "cvt.u32.u64", |a| a & 0xffff_ffff),
        ("b32", "b16", "cvt.sat.s16.s32", |a| (a as i32).clamp(-32768, 32767) as u16 as u64),
        ("b32", "b16", "cvt.sat.u16.s32", |a| (a as i32).clamp(0, 65535) as u64),
        ("b16", "b32", "cvt.s32.s8", |a| a as i8 as i32 as u32 as u64),
        ("b32", "b32", "cvt.s8.s32", |a| a as i8 as i32 as u32 as u64),
    ];
    for (from, to, opcode, formula) in cases {
        let got = convert(from, to, opcode, &cells);
        for (cell, got) in cells.iter().zip(got) {
            assert_eq!(got, formula(*cell), "{opcode} of {cell:#x}");
        }
    }
}

#[test]
fn floats_become_integers() {
    let mut random = Random::fresh();
    let mut values: Vec<f32> = (0..192).map(|_| random.single()).collect();
    values.extend((0..64).map(|index| index as f32 / 4.0 - 8.0));
    let cells: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
    type Formula = fn(f32) -> u64;
    let cases: [(&str, &str, Formula); 6] = [
        ("cvt.rzi.s32.f32", "b32", |a| u64::from(a as i32 as u32)),
        ("cvt.rni.s32.f32", "b32", |a| u64::from(a.round_ties_even() as i32 as u32)),
        ("cvt.rmi.u32.f32", "b32", |a| u64::from(a.floor() as u32)),
        ("cvt.rpi.s64.f32", "b64", |a| a.ceil() as i64 as u64),
        ("cvt.rni.f32.f32", "b32", |a| {
            u64::from(if a.is_nan() { 0x7fff_ffff } else { a.round_ties_even().to_bits() })
        }),
        ("cvt.f64.f32", "b64", |a| if a.is_nan() { 0x7ff8 << 48 } else { f64::from(a).to_bits() }),
    ];
    for (opcode, to, formula) in cases {
        let got = convert("b32", to, opcode, &cells);
        for (value, got) in values.iter().zip(got) {
            let nan = value.is_nan() && to == "b64" && opcode.contains("f64");
            assert!(nan || got == formula(*value), "{opcode} of {value:e}: {got:#x}");
        }
    }
}

#[test]
fn integers_become_floats() {
    let mut random = Random::fresh();
    let cells = random.cells(256);
    let signed = convert("b64", "b32", "cvt.rn.f32.s64", &cells);
    let unsigned = convert("b32", "b32", "cvt.rn.f32.u32", &cells);
    let double = convert("b64", "b64", "cvt.rn.f64.u64", &cells);
    let down = convert("b64", "b32", "cvt.rz.f32.u64", &cells);
    let half = convert("b32", "b16", "cvt.rn.f16.s32", &cells);
    for (index, cell) in cells.iter().enumerate() {
        assert_eq!(signed[index] as u32, (*cell as i64 as f32).to_bits());
        assert_eq!(unsigned[index] as u32, (*cell as u32 as f32).to_bits());
        assert_eq!(double[index], (*cell as f64).to_bits());
        let down = f32::from_bits(down[index] as u32);
        let above = down.next_up();
        assert!(down as u128 <= u128::from(*cell), "{cell}: {down}");
        assert!(above as u128 > u128::from(*cell) || f64::from(above) > *cell as f64, "{cell}: {down}");
        assert_eq!(half[index] as u16, f16::from_f64(f64::from(*cell as i32)).to_bits(), "{}", *cell as i32);
    }
}

#[test]
fn floats_narrow() {
    let mut random = Random::fresh();
    let values: Vec<f32> = (0..512).map(|_| random.single()).collect();
    let cells: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
    let halves = convert("b32", "b16", "cvt.rn.f16.f32", &cells);
    let brains = convert("b32", "b16", "cvt.rn.bf16.f32", &cells);
    let relu = convert("b32", "b16", "cvt.rn.relu.f16.f32", &cells);
    let tensor = convert("b32", "b32", "cvt.rna.tf32.f32", &cells);
    let pairs = each(&[("b32", &cells)], "b32", "mov.b32 %r0, 0f3FC00000; cvt.rn.bf16x2.f32 %d, %a0, %r0;");
    for (index, value) in values.iter().enumerate() {
        if value.is_nan() {
            assert_eq!((halves[index], brains[index]), (0x7fff, 0x7fff));
            continue;
        }
        assert_eq!(halves[index] as u16, f16::from_f32(*value).to_bits());
        assert_eq!(brains[index] as u16, bf16::from_f32(*value).to_bits());
        let positive = if *value > 0.0 { *value } else { 0.0 };
        assert_eq!(relu[index] as u16, f16::from_f32(positive).to_bits());
        assert_eq!(pairs[index], brains[index] << 16 | 0x3fc0);
        let rounded = value.to_bits().wrapping_add(0x1000) & !0x1fff;
        if f32::from_bits(rounded).is_finite() && value.is_finite() {
            assert_eq!(tensor[index] as u32, rounded, "tf32 of {value:e}");
        }
    }
}

/// The value of a byte with so many bits of exponent, by its definition.
fn byte_value(byte: u8, exponent_bits: u32, finite: bool) -> f64 {
    let fraction_bits = 7 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = i32::from(byte & 0x7f) >> fraction_bits;
    let fraction = f64::from(byte & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let top = (1 << exponent_bits) - 1;
    let magnitude = if finite && byte & 0x7f == 0x7f {
        f64::NAN
    } else if !finite && exponent == top {
        if fraction == 0.0 { f64::INFINITY } else { f64::NAN }
    } else if exponent == 0 {
        fraction * f64::from(1 - bias).exp2()
    } else {
        (1.0 + fraction) * f64::from(exponent - bias).exp2()
    };
    if byte & 0x80 != 0 { -magnitude } else { magnitude }
}

#[test]
fn bytes_are_the_nearest_and_come_back() {
    let mut random = Random::fresh();
    for (ty, exponent_bits, finite) in [("e4m3x2", 4, true), ("e5m2x2", 5, false)] {
        let values: Vec<f32> = (0..256).map(|_| random.small() * 300.0 * random.small()).collect();
        let cells: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
        let body = format!("mov.b32 %r0, 0f3F800000; cvt.rn.satfinite.{ty}.f32 %d, %r0, %a0;");
        let got = each(&[("b32", &cells)], "b16", &body);
        let all: Vec<f64> =
            (0..128).map(|byte| byte_value(byte, exponent_bits, finite)).filter(|v| v.is_finite()).collect();
        for (value, got) in values.iter().zip(&got) {
            let value = f64::from(*value);
            let found = byte_value(*got as u8, exponent_bits, finite);
            let best = all.iter().map(|other| (other - value.abs()).abs()).fold(f64::INFINITY, f64::min);
            assert_eq!((found - value).abs(), best, "{ty} of {value}: {found}");
            assert_eq!(byte_value((*got >> 8) as u8, exponent_bits, finite), 1.0);
        }
        let wide = each(&[("b16", &got)], "b32", &format!("cvt.rn.f16x2.{ty} %d, %a0;"));
        for (got, wide) in got.iter().zip(wide) {
            assert_eq!(f16::from_bits(wide as u16).to_f64(), byte_value(*got as u8, exponent_bits, finite));
            assert_eq!(f16::from_bits((wide >> 16) as u16).to_f64(), 1.0);
        }
    }
}

/// The magnitudes of a format of at most six bits, by its definition, in the order of their codes.
fn small_values(exponent_bits: u32, fraction_bits: u32) -> Vec<f64> {
    let bias = (1 << (exponent_bits - 1)) - 1;
    (0..1u32 << (exponent_bits + fraction_bits))
        .map(|code| {
            let exponent = (code >> fraction_bits) as i32;
            let fraction = f64::from(code & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
            match exponent {
                0 => fraction * f64::from(1 - bias).exp2(),
                _ => (1.0 + fraction) * f64::from(exponent - bias).exp2(),
            }
        })
        .collect()
}

/// The code of the nearest of all, of two the even one; the last is for all beyond.
fn nearest(all: &[f64], value: f64) -> usize {
    let value = value.min(all[all.len() - 1]);
    let distance = |code: &usize| (all[*code] - value).abs();
    (0..all.len())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2))))
        .expect("there are some")
}

#[test]
fn four_and_six_bits_are_the_nearest_and_come_back() {
    let mut random = Random::fresh();
    for (ty, exponent_bits, fraction_bits, cell) in
        [("e2m1x2", 2, 1, "b8"), ("e2m3x2", 2, 3, "b16"), ("e3m2x2", 3, 2, "b16")]
    {
        let all = small_values(exponent_bits, fraction_bits);
        let mut values: Vec<f32> = (0..256).map(|_| random.small() * 8.0 * random.small()).collect();
        // Halves between neighbours, what is too large, and zeros.
        values.extend(all.windows(2).map(|pair| ((pair[0] + pair[1]) / 2.0) as f32));
        values.extend([0.0, -0.0, 1e30, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1e-30]);
        values.resize(values.len().next_multiple_of(32), 1.0);
        let cells: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
        let (sign, shift) = (exponent_bits + fraction_bits, if cell == "b8" { 4 } else { 8 });
        let body = format!("mov.b32 %r0, 0f3F800000; cvt.rn.satfinite.{ty}.f32 %d, %r0, %a0;");
        let got = each_for("sm_100a", &[("b32", &cells)], cell, &body);
        let one = nearest(&all, 1.0) as u64;
        for (value, got) in values.iter().zip(&got) {
            let code = if value.is_nan() { all.len() - 1 } else { nearest(&all, f64::from(value.abs())) };
            let negative = value.is_sign_negative() && !value.is_nan();
            let own = got & ((1 << shift) - 1);
            assert_eq!(own, code as u64 | u64::from(negative) << sign, "{ty} of {value}");
            assert_eq!(got >> shift, one, "{ty} of 1");
        }
        let wide = each_for("sm_100a", &[(cell, &got)], "b32", &format!("cvt.rn.f16x2.{ty} %d, %a0;"));
        for (got, wide) in got.iter().zip(wide) {
            let magnitude = all[(got & ((1 << sign) - 1)) as usize];
            let value = if got >> sign & 1 == 1 { -magnitude } else { magnitude };
            assert_eq!(f16::from_f64(value).to_bits(), wide as u16, "{ty} {got:#x}");
            assert_eq!(f16::from_bits((wide >> 16) as u16).to_f64(), 1.0);
        }
    }
}

#[test]
fn powers_of_two_are_those_below_or_above() {
    let mut random = Random::fresh();
    let mut values: Vec<f32> = (0..256).map(|_| random.single()).collect();
    let edges =
        [0u32, 1, 0x0040_0000, 0x0040_0001, 0x007f_ffff, 0x0080_0000, 0x7f00_0000, 0x7f00_0001, 0x7f7f_ffff];
    values.extend(edges.map(f32::from_bits));
    values.extend([1.0, 1.5, 2.0, -3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    values.resize(values.len().next_multiple_of(32), 1.0);
    let cells: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
    for (opcode, upward, finite) in [
        ("rz", false, false),
        ("rp", true, false),
        ("rz.satfinite", false, true),
        ("rp.satfinite", true, true),
    ] {
        let got = each_for(
            "sm_100a",
            &[("b32", &cells)],
            "b16",
            &format!("cvt.{opcode}.ue8m0x2.f32 %d, 0f40000000, %a0;"),
        );
        for (value, got) in values.iter().zip(&got) {
            let magnitude = f64::from(value.abs());
            let power = |code: i32| f64::from(code - 127).exp2();
            let want = match (0..255)
                .find(|&code| if upward { power(code) >= magnitude } else { power(code + 1) > magnitude })
            {
                _ if value.is_nan() => 255,
                Some(code) if value.is_finite() => code,
                _ if finite => 254,
                _ => 255,
            };
            assert_eq!((got & 0xff) as i32, want, "{opcode} of {value:e}");
            assert_eq!(got >> 8, 128, "{opcode} of 2");
        }
    }
    let codes: Vec<u64> = (0..256).collect();
    let wide = each_for("sm_100a", &[("b16", &codes)], "b32", "cvt.rn.bf16x2.ue8m0x2 %d, %a0;");
    for (code, wide) in codes.iter().zip(wide) {
        let low = bf16::from_bits(wide as u16).to_f64();
        assert!(
            if *code == 255 { low.is_nan() } else { low == f64::from(*code as i32 - 127).exp2() },
            "{code}: {low}"
        );
        let high = bf16::from_bits((wide >> 16) as u16).to_f64();
        assert_eq!(high, f64::from(-127).exp2());
    }
}
