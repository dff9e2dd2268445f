//! Branches, loops, calls: lanes part and meet again.

use crate::common::{Setup, kernel, on};
use amd_emulator::Arch;

#[test]
fn lanes_meet_behind_a_branch() {
    // Behind the branch all lanes vote.
    let text = kernel(
        "declare i64 @llvm.amdgcn.ballot.i64(i1)",
        "  %c = icmp ult i32 %t, 5
  br i1 %c, label %bb1, label %bb2
bb1:
  %x = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %bb3
bb2:
  %y = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %bb3
bb3:
  %z = phi i64 [ %x, %bb1 ], [ %y, %bb2 ]
  %w = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %m = sub i64 %w, %z
  %n = trunc i64 %m to i32
  store i32 %n, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    assert!((0..64).all(|lane| words[lane] == if lane < 5 { !31 } else { 31 }), "{words:x?}");
    let mut words = vec![0; 32];
    on(Arch::Gfx1100).clean(&text, &mut words);
    assert!((0..32).all(|lane| words[lane] == if lane < 5 { !31 } else { 31 }), "{words:x?}");
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_meet_behind_it() {
    // Each lane adds 0 to t - 1, with a part that only some lanes do, and all vote behind the loop.
    let text = kernel(
        "declare i64 @llvm.amdgcn.ballot.i64(i1)",
        "  br label %bb1
bb1:
  %i = phi i32 [ 0, %bb0 ], [ %j, %bb4 ]
  %s = phi i32 [ 0, %bb0 ], [ %r, %bb4 ]
  %c = icmp ult i32 %i, %t
  br i1 %c, label %bb2, label %bb5
bb2:
  %o = and i32 %i, 1
  %d = icmp eq i32 %o, 0
  br i1 %d, label %bb3, label %bb4
bb3:
  %u = add i32 %s, 1000
  br label %bb4
bb4:
  %q = phi i32 [ %s, %bb2 ], [ %u, %bb3 ]
  %r = add i32 %q, %i
  %j = add i32 %i, 1
  br label %bb1
bb5:
  %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %w = icmp eq i64 %v, -1
  %x = select i1 %w, i32 %s, i32 -1
  store i32 %x, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    for (lane, word) in words.into_iter().enumerate() {
        assert_eq!(word as usize, lane.div_ceil(2) * 1000 + (0..lane).sum::<usize>());
    }
}

#[test]
fn parameters_of_blocks_change_places() {
    let text = kernel(
        "",
        "  br label %bb1
bb1:
  %i = phi i32 [ 0, %bb0 ], [ %j, %bb1 ]
  %x = phi i32 [ 1, %bb0 ], [ %y, %bb1 ]
  %y = phi i32 [ %t, %bb0 ], [ %x, %bb1 ]
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, 4
  br i1 %c, label %bb1, label %bb2
bb2:
  %z = mul i32 %x, 1000
  %w = add i32 %z, %y
  store i32 %w, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    assert!((0..64).all(|lane| words[lane] == lane as u32 * 1000 + 1), "{words:?}");
}

#[test]
fn a_switch_has_a_default() {
    let text = kernel(
        "",
        "  %r = urem i32 %t, 4
  switch i32 %r, label %bb1 [ i32 1, label %bb2 i32 3, label %bb3 ]
bb1:
  br label %bb4
bb2:
  br label %bb4
bb3:
  br label %bb4
bb4:
  %v = phi i32 [ 10, %bb1 ], [ 20, %bb2 ], [ 30, %bb3 ]
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    assert!((0..64).all(|lane| words[lane] == [10, 20, 10, 30][lane % 4]));
}

#[test]
fn functions_stand_where_they_are_called() {
    let text = kernel(
        "",
        "  %x = call i32 @twice(i32 %t)
  %y = call i32 @twice(i32 %x)
  store i32 %y, ptr addrspace(1) %a, align 4
  ret void
}
define internal i32 @twice(i32 %n) {
bb0:
  %c = icmp ugt i32 %n, 10
  br i1 %c, label %bb1, label %bb2
bb1:
  ret i32 7
bb2:
  %d = add i32 %n, %n
  ret i32 %d",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    let twice = |n: u32| if n > 10 { 7 } else { 2 * n };
    assert!((0..64).all(|lane| words[lane] == twice(twice(lane as u32))), "{words:?}");
}

#[test]
fn lanes_that_return_early_are_gone() {
    let text = kernel(
        "declare i64 @llvm.amdgcn.ballot.i64(i1)",
        "  %c = icmp ult i32 %t, 60
  br i1 %c, label %bb1, label %bb2
bb1:
  ret void
bb2:
  call void @llvm.amdgcn.s.barrier()
  %w = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %n = lshr i64 %w, 60
  %m = trunc i64 %n to i32
  store i32 %m, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    assert!((0..64).all(|lane| words[lane] == if lane < 60 { 0 } else { 15 }), "{words:?}");
}

#[test]
fn programs_know_their_place_in_the_grid() {
    let text = kernel(
        "declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()",
        "  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %i = mul i32 %g, 64
  %b = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %n = load i32, ptr addrspace(4) %h, align 4
  %m = mul i32 %n, 100
  %v = add i32 %m, %g
  store i32 %v, ptr addrspace(1) %b, align 4
  ret void",
    );
    let mut words = vec![0; 192];
    Setup { grid: 3, ..Setup::default() }.clean(&text, &mut words);
    assert!((0..192).all(|lane| words[lane] == 300 + lane as u32 / 64));
}

#[test]
fn private_memory_belongs_to_its_lane() {
    let text = kernel(
        "",
        "  %s = alloca <4 x i32>, align 16
  %o = and i32 %t, 3
  %q = getelementptr i32, ptr %s, i32 %o
  store i32 %t, ptr %q, align 4
  %v = load i32, ptr %q, align 4
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void",
    );
    let mut words = vec![0; 64];
    Setup::default().clean(&text, &mut words);
    assert!((0..64).all(|lane| words[lane] == lane as u32));
    let unwritten = text.replace("  store i32 %t, ptr %q, align 4\n", "");
    Setup::default().finds(&unwritten, amd_emulator::FindingKind::Uninitialised);
}
