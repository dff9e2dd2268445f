//! Lanes reading each other's values, against loops over lanes.

use crate::common::{Random, Setup, kernel, on};
use amd_emulator::{Arch, FindingKind};

/// Runs `%r = call …` of the lane's word `%v`, in the lanes below `active` only; the results.
fn exchanged(arch: Arch, declaration: &str, call: &str, input: &[u32], active: u32) -> Vec<u32> {
    let text = kernel(
        declaration,
        &format!(
            "  %v = load i32, ptr addrspace(1) %a, align 4
  %c = icmp ult i32 %t, {active}
  br i1 %c, label %bb1, label %bb2
bb1:
  %r = {call}
  store i32 %r, ptr addrspace(1) %a, align 4
  br label %bb2
bb2:
  ret void"
        ),
    );
    let mut words = input.to_vec();
    on(arch).clean(&text, &mut words);
    words
}

const UPDATE: &str = "declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)";

fn dpp(control: u32, rows: u32, zeros: bool) -> String {
    format!(
        "call i32 @llvm.amdgcn.update.dpp.i32(i32 77, i32 %v, i32 {control}, i32 {rows}, i32 15, i1 {zeros})"
    )
}

#[test]
fn data_parallel_patterns() {
    let input = Random::fresh().words(64);
    let run = |control, zeros| exchanged(Arch::Gfx942, UPDATE, &dpp(control, 15, zeros), &input, 64);
    for lane in 0..64usize {
        let row = lane & !15;
        assert_eq!(run(0x4e, true)[lane], input[lane ^ 2]);
        assert_eq!(run(0x141, true)[lane], input[lane ^ 7]);
        assert_eq!(run(0x128, true)[lane], input[lane ^ 8]);
        let shifted = if lane % 16 >= 4 { input[lane - 4] } else { 0 };
        assert_eq!(run(0x114, true)[lane], shifted);
        let kept = if lane % 16 >= 4 { input[lane - 4] } else { 77 };
        assert_eq!(run(0x114, false)[lane], kept);
        let broadcast = if row == 0 { 0 } else { input[row - 1] };
        assert_eq!(run(0x142, true)[lane], broadcast);
        assert_eq!(run(0x143, true)[lane], if lane < 32 { 0 } else { input[31] });
    }
    let masked = exchanged(Arch::Gfx942, UPDATE, &dpp(0x4e, 0b0101, true), &input, 64);
    assert!((0..64).all(|lane| masked[lane] == if lane / 16 % 2 == 0 { input[lane ^ 2] } else { 77 }));
    let rdna = exchanged(Arch::Gfx1100, UPDATE, &dpp(0x165, 15, true), &input[..32], 32);
    assert!((0..32).all(|lane| rdna[lane] == input[lane ^ 5]));
}

#[test]
fn inactive_lanes_give_what_the_manual_says() {
    let input = Random::fresh().words(64);
    // Of lanes 0 to 9, lanes 8 and 9 would read 10 and 11.
    let got = exchanged(Arch::Gfx942, UPDATE, &dpp(0x4e, 15, true), &input, 10);
    assert_eq!((got[7], got[8], got[9], got[10]), (input[5], 0, 0, input[10]));
    let kept = exchanged(Arch::Gfx942, UPDATE, &dpp(0x4e, 15, false), &input, 10);
    assert_eq!((kept[7], kept[8]), (input[5], 77));
    let permute = "declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)";
    let call = "call i32 @llvm.amdgcn.ds.bpermute(i32 44, i32 %v)";
    assert_eq!(exchanged(Arch::Gfx942, permute, call, &input, 10)[3], 0);
    assert_eq!(exchanged(Arch::Gfx942, permute, call, &input, 12)[3], input[11]);
    let read = "declare i32 @llvm.amdgcn.readlane.i32(i32, i32)";
    let call = "call i32 @llvm.amdgcn.readlane.i32(i32 %v, i32 40)";
    assert_eq!(exchanged(Arch::Gfx942, read, call, &input, 10)[3], input[40]);
}

#[test]
fn swizzles_and_permutes() {
    let input = Random::fresh().words(64);
    let declaration = "declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)";
    let call = |word: u32| format!("call i32 @llvm.amdgcn.ds.swizzle(i32 %v, i32 {word})");
    let xor = exchanged(Arch::Gfx942, declaration, &call(16 << 10 | 31), &input, 64);
    assert!((0..64).all(|lane| xor[lane] == input[lane ^ 16]));
    let quads = exchanged(Arch::Gfx942, declaration, &call(0x8000 | 0x1b), &input, 64);
    assert!((0..64).all(|lane| quads[lane] == input[lane ^ 3]));
    let declaration = "declare i32 @llvm.amdgcn.ds.permute(i32, i32)";
    // Lane t sends to t / 2: of two the later one is there.
    let text = kernel(
        declaration,
        "  %v = load i32, ptr addrspace(1) %a, align 4
  %h = lshr i32 %t, 1
  %b = shl i32 %h, 2
  %r = call i32 @llvm.amdgcn.ds.permute(i32 %b, i32 %v)
  store i32 %r, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut sent = input.clone();
    Setup::default().clean(&text, &mut sent);
    assert!((0..64).all(|lane| sent[lane] == if lane < 32 { input[2 * lane + 1] } else { 0 }));
}

#[test]
fn rows_change_lanes_on_rdna() {
    let input = Random::fresh().words(32);
    let declaration = "declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)";
    let call = "call i32 @llvm.amdgcn.permlanex16.i32(i32 %v, i32 %v, i32 1985229328, i32 -19088744, i1 false, i1 false)";
    let got = exchanged(Arch::Gfx1100, declaration, call, &input, 32);
    assert!((0..32).all(|lane| got[lane] == input[lane ^ 16]), "{got:?}");
    let declaration = "declare i32 @llvm.amdgcn.mov.dpp8.i32(i32, i32)";
    let reversed: u32 = (0..8).map(|lane| (7 - lane) << (3 * lane)).sum();
    let call = format!("call i32 @llvm.amdgcn.mov.dpp8.i32(i32 %v, i32 {reversed})");
    let got = exchanged(Arch::Gfx1100, declaration, &call, &input, 32);
    assert!((0..32).all(|lane| got[lane] == input[lane ^ 7]));
}

#[test]
fn halves_change_places_on_gfx950() {
    let mut numbers = Random::fresh();
    let (a, b) = (numbers.words(64), numbers.words(64));
    for part in [16usize, 32] {
        let text = kernel(
            &format!("declare {{ i32, i32 }} @llvm.amdgcn.permlane{part}.swap(i32, i32, i1, i1)"),
            &format!(
                "  %b = getelementptr i8, ptr addrspace(1) %a, i32 256
  %x = load i32, ptr addrspace(1) %a, align 4
  %y = load i32, ptr addrspace(1) %b, align 4
  %r = call {{ i32, i32 }} @llvm.amdgcn.permlane{part}.swap(i32 %x, i32 %y, i1 false, i1 false)
  %u = extractvalue {{ i32, i32 }} %r, 0
  %w = extractvalue {{ i32, i32 }} %r, 1
  store i32 %u, ptr addrspace(1) %a, align 4
  store i32 %w, ptr addrspace(1) %b, align 4
  ret void"
            ),
        );
        let mut words = [a.clone(), b.clone()].concat();
        on(Arch::Gfx950).clean(&text, &mut words);
        let (mut x, mut y) = (a.clone(), b.clone());
        for lane in (0..64).filter(|lane| lane & part != 0) {
            std::mem::swap(&mut x[lane], &mut y[lane - part]);
        }
        assert_eq!(words, [x, y].concat());
    }
}

#[test]
fn counts_of_lanes_below() {
    let text = kernel(
        "declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)\ndeclare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)",
        "  %l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %h = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %l)
  store i32 %h, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 128];
    Setup { warps: 2, ..Setup::default() }.clean(&text, &mut words);
    assert!((0..128).all(|lane| words[lane] == lane as u32 % 64));
}

#[test]
fn a_value_that_only_other_lanes_have_is_not_known() {
    let text = kernel(
        "declare i32 @llvm.amdgcn.readlane.i32(i32, i32)",
        "  %c = icmp ult i32 %t, 8
  br i1 %c, label %bb1, label %bb2
bb1:
  %v = add i32 %t, 1
  %r = call i32 @llvm.amdgcn.readlane.i32(i32 %v, i32 9)
  store i32 %r, ptr addrspace(1) %a, align 4
  br label %bb2
bb2:
  ret void",
    );
    Setup::default().finds(&text, FindingKind::Uninitialised);
    Setup::default().clean(&text.replace("i32 9)", "i32 7)"), &mut vec![0; 64]);
}

#[test]
fn bytes_are_picked() {
    let text = kernel(
        "declare i32 @llvm.amdgcn.perm(i32, i32, i32)",
        "  %r = call i32 @llvm.amdgcn.perm(i32 -2023406815, i32 287454020, i32 218105092)
  store i32 %r, ptr addrspace(1) %a, align 4
  ret void",
    );
    // 0x87654321 and 0x11223344; bytes 0x0d, 0x00, 0x05, 0x04: ones, 44, 43, 21.
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    assert_eq!(words[0], 0xff44_4321, "{:#x}", words[0]);
}
