//! Arithmetic of integers and floats, on random bits, against Rust's.

use crate::common::{Random, Setup, kernel};

/// Runs `%r`, made of two words `%x` and `%y`, and compares.
fn pairs(declarations: &str, body: &str, f: impl Fn(u32, u32) -> u32) {
    let mut numbers = Random::fresh();
    let mut words = numbers.words(128);
    for extreme in [0, 1, u32::MAX, i32::MIN as u32, 0x7f80_0000, 0x7fc0_0000, 0x8000_0000, 0x0000_0001] {
        let at = numbers.next() as usize % 128;
        words[at] = extreme;
    }
    // Zeros of both signs meet, in both orders.
    for (lane, (x, y)) in [(0, 0x8000_0000), (0x8000_0000, 0)].into_iter().enumerate() {
        (words[lane], words[64 + lane]) = (x, y);
    }
    let text = kernel(
        declarations,
        &format!(
            "  %b = getelementptr i8, ptr addrspace(1) %a, i32 256
  %x = load i32, ptr addrspace(1) %a, align 4
  %y = load i32, ptr addrspace(1) %b, align 4
  %xf = bitcast i32 %x to float
  %yf = bitcast i32 %y to float
{body}
  store i32 %r, ptr addrspace(1) %a, align 4
  ret void"
        ),
    );
    let mut got = words.clone();
    Setup::default().clean(&text, &mut got);
    for lane in 0..64 {
        let (x, y) = (words[lane], words[64 + lane]);
        let (found, expected) = (got[lane], f(x, y));
        let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
        let same = found == expected || (body.contains("float") && is_nan(found) && is_nan(expected));
        assert!(same, "{body}: {x:#x}, {y:#x}: {found:#x}, not {expected:#x}");
    }
}

/// The smaller one, or the one that is a number; -0 is less than +0. Rust's `min` answers with either zero.
fn least(x: f32, y: f32) -> f32 {
    if x == 0.0 && y == 0.0 { f32::from_bits(x.to_bits() | y.to_bits()) } else { x.min(y) }
}

fn float(f: impl Fn(f32, f32) -> f32) -> impl Fn(u32, u32) -> u32 {
    move |x, y| f(f32::from_bits(x), f32::from_bits(y)).to_bits()
}

#[test]
fn integers() {
    pairs("", "  %r = add i32 %x, %y", u32::wrapping_add);
    pairs("", "  %r = sub i32 %x, %y", u32::wrapping_sub);
    pairs("", "  %r = mul i32 %x, %y", u32::wrapping_mul);
    pairs("", "  %o = or i32 %y, 1\n  %r = udiv i32 %x, %o", |x, y| x / (y | 1));
    pairs("", "  %o = or i32 %y, 2\n  %p1 = and i32 %o, 65535\n  %r = srem i32 %x, %p1", |x, y| {
        (x as i32 % ((y | 2) & 0xffff) as i32) as u32
    });
    pairs("", "  %o = and i32 %y, 31\n  %r = shl i32 %x, %o", |x, y| x << (y & 31));
    pairs("", "  %o = and i32 %y, 31\n  %r = ashr i32 %x, %o", |x, y| ((x as i32) >> (y & 31)) as u32);
    pairs("", "  %r = xor i32 %x, %y", |x, y| x ^ y);
    pairs("", "  %c = icmp slt i32 %x, %y\n  %r = select i1 %c, i32 %x, i32 %y", |x, y| {
        (x as i32).min(y as i32) as u32
    });
    let declaration = "declare i32 @llvm.umax.i32(i32, i32)";
    pairs(declaration, "  %r = call i32 @llvm.umax.i32(i32 %x, i32 %y)", u32::max);
    let declaration = "declare i32 @llvm.ctlz.i32(i32, i1)";
    pairs(declaration, "  %r = call i32 @llvm.ctlz.i32(i32 %x, i1 false)", |x, _| x.leading_zeros());
    let declaration = "declare i32 @llvm.fshl.i32(i32, i32, i32)";
    pairs(declaration, "  %r = call i32 @llvm.fshl.i32(i32 %x, i32 %y, i32 7)", |x, y| x << 7 | y >> 25);
    let declaration = "declare i32 @llvm.sadd.sat.i32(i32, i32)";
    pairs(declaration, "  %r = call i32 @llvm.sadd.sat.i32(i32 %x, i32 %y)", |x, y| {
        (x as i32).saturating_add(y as i32) as u32
    });
    let declaration = "declare { i32, i1 } @llvm.umul.with.overflow.i32(i32, i32)";
    let body = "  %o = call { i32, i1 } @llvm.umul.with.overflow.i32(i32 %x, i32 %y)
  %f = extractvalue { i32, i1 } %o, 1
  %r = zext i1 %f to i32";
    pairs(declaration, body, |x, y| u32::from(x.checked_mul(y).is_none()));
    pairs(
        "",
        "  %a1 = zext i32 %x to i64\n  %b1 = zext i32 %y to i64\n  %m = mul i64 %a1, %b1\n  %h = lshr i64 %m, 32\n  %r = trunc i64 %h to i32",
        |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32,
    );
}

#[test]
fn floats() {
    let of = |op: &str| format!("  %z = {op} float %xf, %yf\n  %r = bitcast float %z to i32");
    pairs("", &of("fadd"), float(|x, y| x + y));
    pairs("", &of("fsub"), float(|x, y| x - y));
    pairs("", &of("fmul"), float(|x, y| x * y));
    pairs("", &of("fdiv"), float(|x, y| x / y));
    let call = |name: &str| {
        (
            format!("declare float @{name}.f32(float, float)"),
            format!("  %z = call float @{name}.f32(float %xf, float %yf)\n  %r = bitcast float %z to i32"),
        )
    };
    let (declaration, body) = call("llvm.maxnum");
    pairs(&declaration, &body, float(|x, y| -least(-x, -y)));
    let (declaration, body) = call("llvm.minimum");
    pairs(&declaration, &body, float(|x, y| if x.is_nan() || y.is_nan() { f32::NAN } else { least(x, y) }));
    let (declaration, body) = call("llvm.copysign");
    pairs(&declaration, &body, |x, y| x & 0x7fff_ffff | y & 0x8000_0000);
    let declaration = "declare float @llvm.fma.f32(float, float, float)";
    let body =
        "  %z = call float @llvm.fma.f32(float %xf, float %yf, float %xf)\n  %r = bitcast float %z to i32";
    pairs(declaration, body, float(|x, y| x.mul_add(y, x)));
    pairs("", "  %c = fcmp ult float %xf, %yf\n  %r = zext i1 %c to i32", |x, y| {
        u32::from(f32::from_bits(x).partial_cmp(&f32::from_bits(y)).is_none_or(std::cmp::Ordering::is_lt))
    });
}

#[test]
fn approximations_are_rounded_and_flush_denormals() {
    let declaration = "declare float @llvm.amdgcn.exp2.f32(float)\ndeclare float @llvm.amdgcn.rcp.f32(float)";
    let flush = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
    let exp2 = "  %z = call float @llvm.amdgcn.exp2.f32(float %xf)\n  %r = bitcast float %z to i32";
    pairs(declaration, exp2, float(move |x, _| flush(f64::from(flush(x)).exp2() as f32)));
    let rcp = "  %z = call float @llvm.amdgcn.rcp.f32(float %xf)\n  %r = bitcast float %z to i32";
    pairs(declaration, rcp, float(move |x, _| flush(1.0 / flush(x))));
}
