//! Atomics on LDS and device memory, and what they order.

use crate::common::{Setup, kernel};
use amd_emulator::FindingKind;

#[test]
fn lanes_of_all_programs_add_up() {
    let text = kernel(
        "",
        "  %o = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope(\"agent\") monotonic, align 4
  %q = getelementptr i8, ptr addrspace(1) %p, i32 4
  %f = atomicrmw fadd ptr addrspace(1) %q, float 0.5 syncscope(\"agent\") monotonic, align 4
  %r = getelementptr i8, ptr addrspace(1) %p, i32 8
  %m = atomicrmw max ptr addrspace(1) %r, i32 %t monotonic, align 4
  %s = getelementptr i8, ptr addrspace(1) %p, i32 12
  %n = atomicrmw umin ptr addrspace(1) %s, i32 %t monotonic, align 4
  ret void",
    );
    let mut words = vec![0, 0, 5, 1000];
    Setup { grid: 5, warps: 2, ..Setup::default() }.clean(&text, &mut words);
    assert_eq!(words, [640, 320f32.to_bits(), 127, 0]);
}

#[test]
fn a_swap_stores_where_it_finds_what_it_expects() {
    let text = kernel(
        "",
        "  %x = cmpxchg ptr addrspace(1) %a, i32 7, i32 9 syncscope(\"agent\") acq_rel acquire, align 4
  %v = extractvalue { i32, i1 } %x, 0
  %s = extractvalue { i32, i1 } %x, 1
  %z = zext i1 %s to i32
  %y = add i32 %v, %z
  %b = getelementptr i8, ptr addrspace(1) %a, i32 256
  store i32 %y, ptr addrspace(1) %b, align 4
  ret void",
    );
    let mut words: Vec<u32> = (0..128).map(|lane| lane % 8).collect();
    Setup::default().clean(&text, &mut words);
    for lane in 0..64u32 {
        let found = lane % 8;
        assert_eq!(words[lane as usize], if found == 7 { 9 } else { found });
        assert_eq!(words[64 + lane as usize], found + u32::from(found == 7));
    }
}

/// The first warp writes a word of LDS and raises a flag; the second one waits for the flag and reads the word.
fn handed_over(store: &str, load: &str) -> String {
    kernel(
        "declare i32 @llvm.amdgcn.readfirstlane.i32(i32)",
        &format!(
            "  %f = getelementptr i8, ptr addrspace(3) @lds, i32 8
  %z = icmp eq i32 %t, 0
  br i1 %z, label %bb1, label %bb2
bb1:
  store i32 0, ptr addrspace(3) %f, align 4
  br label %bb2
bb2:
  fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire
  %w = lshr i32 %t, 6
  %u = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %w)
  %c = icmp eq i32 %u, 0
  br i1 %c, label %bb3, label %bb4
bb3:
  store i32 42, ptr addrspace(3) @lds, align 4
  store atomic i32 1, ptr addrspace(3) %f syncscope(\"workgroup\") {store}, align 4
  br label %bb6
bb4:
  %g = load atomic i32, ptr addrspace(3) %f syncscope(\"workgroup\") {load}, align 4
  %d = icmp eq i32 %g, 1
  br i1 %d, label %bb5, label %bb4
bb5:
  %v = load i32, ptr addrspace(3) @lds, align 4
  store i32 %v, ptr addrspace(1) %a, align 4
  br label %bb6
bb6:
  ret void"
        ),
    )
}

#[test]
fn release_and_acquire_hand_over_lds() {
    let setup = Setup { warps: 2, lds: 16, ..Setup::default() };
    let mut words = vec![0; 128];
    setup.clean(&handed_over("release", "acquire"), &mut words);
    assert!(words[64..].iter().all(|word| *word == 42));
    for (store, load) in [("monotonic", "acquire"), ("release", "monotonic")] {
        setup.finds(&handed_over(store, load), FindingKind::Race);
    }
}
