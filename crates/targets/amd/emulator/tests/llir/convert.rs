//! Casts, vectors taken apart and put together, conversions of 8-bit floats.

use crate::common::{Random, Setup, kernel, on};
use amd_emulator::Arch;

/// Runs a body that makes `%r` of the lane's word `%v`.
fn mapped(arch: Arch, declarations: &str, body: &str, input: &[u32]) -> Vec<u32> {
    let text = kernel(
        declarations,
        &format!(
            "  %v = load i32, ptr addrspace(1) %a, align 4
{body}
  store i32 %r, ptr addrspace(1) %a, align 4
  ret void"
        ),
    );
    let mut words = input.to_vec();
    on(arch).clean(&text, &mut words);
    words
}

#[test]
fn vectors_are_taken_apart_and_put_together() {
    let input = Random::fresh().words(64);
    let got = mapped(
        Arch::Gfx942,
        "",
        "  %b = bitcast i32 %v to <4 x i8>
  %s = shufflevector <4 x i8> %b, <4 x i8> <i8 1, i8 2, i8 3, i8 4>, <4 x i32> <i32 3, i32 2, i32 5, i32 0>
  %x = extractelement <4 x i8> %b, i32 1
  %n = insertelement <4 x i8> %s, i8 %x, i32 3
  %r = bitcast <4 x i8> %n to i32",
        &input,
    );
    for (word, old) in got.into_iter().zip(input) {
        let bytes = old.to_le_bytes();
        assert_eq!(word.to_le_bytes(), [bytes[3], bytes[2], 2, bytes[1]]);
    }
}

#[test]
fn components_are_chosen_at_run_time() {
    let input: Vec<u32> = (0..64).collect();
    let got = mapped(
        Arch::Gfx942,
        "",
        "  %i = and i32 %v, 3
  %n = insertelement <4 x i32> <i32 10, i32 20, i32 30, i32 40>, i32 %v, i32 %i
  %j = xor i32 %i, 1
  %x = extractelement <4 x i32> %n, i32 %j
  %y = extractelement <4 x i32> %n, i32 %i
  %z = mul i32 %y, 100
  %r = add i32 %x, %z",
        &input,
    );
    assert!((0..64).all(|lane| got[lane] == 100 * lane as u32 + 10 * ((lane as u32 & 3 ^ 1) + 1)));
}

#[test]
fn integers_and_floats_become_each_other() {
    let mut numbers = Random::fresh();
    let input = numbers.words(64);
    let check = |body: &str, f: &dyn Fn(u32) -> u32| {
        let got = mapped(Arch::Gfx942, "", body, &input);
        for (word, old) in got.into_iter().zip(&input) {
            assert_eq!(word, f(*old), "{body}: {old:#x}");
        }
    };
    check("  %f = sitofp i32 %v to float\n  %r = bitcast float %f to i32", &|v| (v as i32 as f32).to_bits());
    check("  %f = uitofp i32 %v to float\n  %r = bitcast float %f to i32", &|v| (v as f32).to_bits());
    check("  %s = sext i32 %v to i64\n  %h = lshr i64 %s, 32\n  %r = trunc i64 %h to i32", &|v| {
        if (v as i32) < 0 { u32::MAX } else { 0 }
    });
    check(
        "  %c = and i32 %v, 16777215\n  %f = uitofp i32 %c to float\n  %g = fmul float %f, 0.5\n  %r = fptoui float %g to i32",
        &|v| (v & 0xff_ffff) / 2,
    );
    check("  %t1 = trunc i32 %v to i8\n  %r = sext i8 %t1 to i32", &|v| v as u8 as i8 as i32 as u32);
}

#[test]
fn halves_round_to_nearest_even() {
    // Bits of singles around ties of halves, and extreme ones.
    let cases: [(f32, u16); 8] = [
        (1.0, 0x3c00),
        (1.0 + 1.0 / 2048.0, 0x3c00),
        (1.0 + 3.0 / 2048.0, 0x3c02),
        (65519.0, 0x7bff),
        (65520.0, 0x7c00),
        (-0.0, 0x8000),
        (f32::NEG_INFINITY, 0xfc00),
        (5.960_464_5e-8, 1),
    ];
    let mut input: Vec<u32> = cases.iter().map(|(value, _)| value.to_bits()).collect();
    input.resize(64, 0);
    let body = "  %f = bitcast i32 %v to float
  %h = fptrunc float %f to half
  %s = bitcast half %h to i16
  %r = zext i16 %s to i32";
    let got = mapped(Arch::Gfx942, "", body, &input);
    for ((value, half), word) in cases.into_iter().zip(got) {
        assert_eq!(word, u32::from(half), "{value}");
    }
}

#[test]
fn bytes_are_floats_of_the_architecture() {
    // 0x38 is 1.0 in OCP e4m3 and 0.5 in FNUZ; 0x80 is -0.0 and NaN.
    let declarations = "declare float @llvm.amdgcn.cvt.f32.fp8(i32, i32)";
    let body = "  %f = call float @llvm.amdgcn.cvt.f32.fp8(i32 %v, i32 1)\n  %r = bitcast float %f to i32";
    let input: Vec<u32> = (0..64).map(|lane| if lane == 0 { 0x3800 } else { 0x8000 }).collect();
    let fnuz = mapped(Arch::Gfx942, declarations, body, &input);
    assert_eq!(f32::from_bits(fnuz[0]), 0.5);
    assert!(f32::from_bits(fnuz[1]).is_nan());
    let ocp = mapped(Arch::Gfx950, declarations, body, &input);
    assert_eq!((f32::from_bits(ocp[0]), ocp[1]), (1.0, 0x8000_0000));
}

#[test]
fn bytes_are_packed_beside_others() {
    let declarations = "declare i32 @llvm.amdgcn.cvt.pk.fp8.f32(float, float, i32, i1)";
    let body = "  %f = uitofp i32 %v to float
  %g = fneg float %f
  %r = call i32 @llvm.amdgcn.cvt.pk.fp8.f32(float %f, float %g, i32 4660, i1 true)";
    let input: Vec<u32> = (0..64).map(|lane| lane % 3).collect();
    let got = mapped(Arch::Gfx942, declarations, body, &input);
    // FNUZ: 1 is 0x40, 2 is 0x48, and zero has no sign.
    assert_eq!((got[0], got[1], got[2]), (0x0000_1234, 0xc040_1234, 0xc848_1234));
}

#[test]
fn flat_addresses_lead_to_lds() {
    let text = kernel(
        "",
        "  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  %f = addrspacecast ptr addrspace(3) %m to ptr
  store i32 %t, ptr %f, align 4
  %v = load i32, ptr addrspace(3) %m, align 4
  %g = addrspacecast ptr addrspace(1) %a to ptr
  store i32 %v, ptr %g, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup { lds: 256, ..Setup::default() }.clean(&text, &mut words);
    assert!((0..64).all(|lane| words[lane] == lane as u32));
}
