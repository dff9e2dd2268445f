//! Arithmetic of floats: singles against the machine, halves against exact sums, approximations within bounds.

use crate::common::{Random, each};
use half::{bf16, f16};

fn singles(random: &mut Random, count: usize) -> Vec<u64> {
    (0..count).map(|_| u64::from(random.single().to_bits())).collect()
}

fn single(cell: u64) -> f32 {
    f32::from_bits(cell as u32)
}

/// Equal bits, or NaN both.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn check(body: &str, formula: impl Fn(f32, f32, f32) -> f32) {
    let mut random = Random::fresh();
    let [a, b, c] = [0; 3].map(|_| singles(&mut random, 512));
    let got = each(&[("b32", &a), ("b32", &b), ("b32", &c)], "b32", body);
    for index in 0..a.len() {
        let (a, b, c) = (single(a[index]), single(b[index]), single(c[index]));
        let (got, want) = (single(got[index]), formula(a, b, c));
        assert!(same(got, want), "{body} of {a:e}, {b:e}, {c:e}: {got:e}, not {want:e}");
    }
}

#[test]
fn singles_to_nearest() {
    check("add.f32 %d, %a0, %a1;", |a, b, _| a + b);
    check("sub.rn.f32 %d, %a0, %a1;", |a, b, _| a - b);
    check("mul.rn.f32 %d, %a0, %a1;", |a, b, _| a * b);
    check("fma.rn.f32 %d, %a0, %a1, %a2;", |a, b, c| a.mul_add(b, c));
    check("div.rn.f32 %d, %a0, %a1;", |a, b, _| a / b);
    check("sqrt.rn.f32 %d, %a0;", |a, _, _| a.sqrt());
    check("rcp.rn.f32 %d, %a0;", |a, _, _| 1.0 / a);
    check("neg.f32 %d, %a0;", |a, _, _| -a);
    check("abs.f32 %d, %a0;", |a, _, _| a.abs());
    check("copysign.f32 %d, %a0, %a1;", |a, b, _| b.copysign(a));
}

fn flush(a: f32) -> f32 {
    if a.is_subnormal() { 0f32.copysign(a) } else { a }
}

#[test]
fn subnormals_flush_where_asked() {
    check("add.ftz.f32 %d, %a0, %a1;", |a, b, _| flush(flush(a) + flush(b)));
    check("fma.rn.ftz.f32 %d, %a0, %a1, %a2;", |a, b, c| flush(flush(a).mul_add(flush(b), flush(c))));
    check("mul.sat.f32 %d, %a0, %a1;", |a, b, _| if a * b > 0.0 { (a * b).min(1.0) } else { 0.0 });
}

#[test]
fn extremes_prefer_numbers() {
    let least = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    };
    check("min.f32 %d, %a0, %a1;", |a, b, _| least(a, b));
    check("max.f32 %d, %a0, %a1;", |a, b, _| -least(-a, -b));
    check(
        "max.NaN.f32 %d, %a0, %a1;",
        |a, b, _| if a.is_nan() || b.is_nan() { f32::NAN } else { -least(-a, -b) },
    );
}

#[test]
fn directions_of_rounding_enclose_the_exact_result() {
    let mut random = Random::fresh();
    let [a, b, c] = [0; 3].map(|_| {
        (0..256).map(|_| u64::from(random.small().to_bits() ^ random.below(16) as u32)).collect::<Vec<_>>()
    });
    let run = |body: &str| each(&[("b32", &a), ("b32", &b), ("b32", &c)], "b32", body);
    type Exact = fn(f64, f64, f64) -> f64;
    let cases: [(&str, Exact); 3] = [
        ("add.MODE.f32 %d, %a0, %a1;", |a, b, _| a + b),
        ("mul.MODE.f32 %d, %a0, %a1;", |a, b, _| a * b),
        ("fma.MODE.f32 %d, %a0, %a1, %a2;", |a, b, c| a * b + c),
    ];
    for (body, exact) in cases {
        let [down, up, zero] = ["rm", "rp", "rz"].map(|mode| run(&body.replace("MODE", mode)));
        for index in 0..a.len() {
            let exact = exact(single(a[index]).into(), single(b[index]).into(), single(c[index]).into());
            let (low, high) = (single(down[index]), single(up[index]));
            assert!(
                f64::from(low) <= exact && exact <= f64::from(high),
                "{body}: {low:e} {exact:e} {high:e}"
            );
            assert!(low == high || low.next_up() == high, "{body}: {low:e} {high:e}");
            let toward = if exact > 0.0 { low } else { high };
            assert_eq!(single(zero[index]), toward, "{body}");
        }
    }
}

#[test]
fn doubles() {
    let mut random = Random::fresh();
    let cells: Vec<u64> = (0..128).map(|_| f64::from(random.single()).to_bits()).collect();
    let other: Vec<u64> = (0..128).map(|_| (f64::from(random.single()) * 1.000_000_1).to_bits()).collect();
    type Formula = fn(f64, f64) -> f64;
    let cases: [(&str, Formula); 4] = [
        ("add.f64 %d, %a0, %a1;", |a, b| a + b),
        ("mul.rn.f64 %d, %a0, %a1;", |a, b| a * b),
        ("fma.rn.f64 %d, %a0, %a1, %a1;", |a, b| a.mul_add(b, b)),
        ("div.rn.f64 %d, %a0, %a1;", |a, b| a / b),
    ];
    for (body, formula) in cases {
        let got = each(&[("b64", &cells), ("b64", &other)], "b64", body);
        for index in 0..cells.len() {
            let want = formula(f64::from_bits(cells[index]), f64::from_bits(other[index]));
            let got = f64::from_bits(got[index]);
            assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{body}");
        }
    }
}

#[test]
fn approximations_are_close() {
    let mut random = Random::fresh();
    let a: Vec<u64> = (0..256).map(|_| u64::from((random.small().abs() + 0.01).to_bits())).collect();
    type Formula = fn(f64) -> f64;
    let cases: [(&str, Formula); 8] = [
        ("ex2.approx.ftz.f32", f64::exp2),
        ("lg2.approx.f32", f64::log2),
        ("sin.approx.f32", f64::sin),
        ("cos.approx.f32", f64::cos),
        ("tanh.approx.f32", f64::tanh),
        ("rsqrt.approx.f32", |a| 1.0 / a.sqrt()),
        ("rcp.approx.ftz.f32", |a| 1.0 / a),
        ("sqrt.approx.ftz.f32", f64::sqrt),
    ];
    for (opcode, formula) in cases {
        let got = each(&[("b32", &a)], "b32", &format!("{opcode} %d, %a0;"));
        for (a, got) in a.iter().zip(got) {
            let want = formula(single(*a).into());
            assert!(
                (f64::from(single(got)) - want).abs() <= 1e-6 * (1.0 + want.abs()),
                "{opcode} of {}",
                single(*a)
            );
        }
    }
}

/// Whether a double holds a sum exactly, so that rounding it again is rounding once.
fn fits(a: f64, b: f64) -> bool {
    let sum = a + b;
    let other = sum - a;
    (a - (sum - other)) + (b - other) == 0.0 || !sum.is_finite()
}

/// A double whose upper 32 bits round as all of it does: the crate `half` drops the lower ones when it converts.
fn sticky(value: f64) -> f64 {
    let bits = value.to_bits();
    let lower = bits & 0xffff_ffff;
    f64::from_bits((bits - lower) | (u64::from(lower != 0) << 32))
}

#[test]
fn halves_round_once() {
    let mut random = Random::fresh();
    let [a, b, c] = [0; 3].map(|_| (0..256).map(|_| random.bits() & 0xffff_ffff).collect::<Vec<_>>());
    let inputs = [("b32", &a[..]), ("b32", &b[..]), ("b32", &c[..])];
    let sums = each(&inputs, "b32", "add.rn.f16x2 %d, %a0, %a1;");
    let fused = each(&inputs, "b32", "fma.rn.f16x2 %d, %a0, %a1, %a2;");
    let brains = each(&inputs, "b32", "fma.rn.bf16x2 %d, %a0, %a1, %a2;");
    let least = each(&inputs, "b32", "min.bf16x2 %d, %a0, %a1;");
    for index in 0..a.len() {
        for shift in [0, 16] {
            let part = |cells: &[u64]| (cells[index] >> shift) as u16;
            let [x, y, z] = [&a, &b, &c].map(|cells| f16::from_bits(part(cells)).to_f64());
            let equal = |got: u16, want: f16| {
                f16::from_bits(got) == want || (want.is_nan() && f16::from_bits(got).is_nan())
            };
            assert!(equal(part(&sums), f16::from_f64(sticky(x + y))), "{x} + {y}");
            if fits(x * y, z) {
                assert!(equal(part(&fused), f16::from_f64(sticky(x * y + z))), "{x} * {y} + {z}");
            }
            let [x, y, z] = [&a, &b, &c].map(|cells| bf16::from_bits(part(cells)).to_f32());
            let product = f64::from(x) * f64::from(y);
            let want = bf16::from_f64(sticky(product + f64::from(z)));
            let got = bf16::from_bits(part(&brains));
            let fits = fits(product, f64::from(z));
            assert!(
                !fits || got == want || (got.is_nan() && want.is_nan()),
                "{x} * {y} + {z}: {got}, not {want}"
            );
            let (got, want) = (bf16::from_bits(part(&least)).to_f32(), x.min(y));
            assert!(got == want || (got.is_nan() && want.is_nan()), "min({x}, {y})");
        }
    }
}

#[test]
fn kinds_of_numbers() {
    let values = [0.0, 1.5, -1e-40, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, -2.0, 1e-45];
    let a: Vec<u64> = (0..32).map(|lane| u64::from(values[lane % 8].to_bits())).collect();
    type Formula = fn(f32) -> bool;
    let cases: [(&str, Formula); 5] = [
        ("finite", f32::is_finite),
        ("infinite", f32::is_infinite),
        ("notanumber", f32::is_nan),
        ("normal", f32::is_normal),
        ("subnormal", f32::is_subnormal),
    ];
    for (kind, formula) in cases {
        let got = each(&[("b32", &a)], "b32", &format!("testp.{kind}.f32 %p0, %a0; selp.b32 %d, 1, 0, %p0;"));
        for (a, got) in a.iter().zip(got) {
            assert_eq!(got == 1, formula(single(*a)), "{kind} of {}", single(*a));
        }
    }
}
