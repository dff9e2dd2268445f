//! What lanes tell one another, against loops over lanes.

use crate::common::{Random, each, entry, launch};
use emulator::{FaultKind, Memory};

fn random_cells() -> Vec<u64> {
    let mut random = Random::fresh();
    (0..64).map(|_| random.next() & 0xffff_ffff).collect()
}

#[test]
fn shuffles() {
    let cells = random_cells();
    type From = fn(usize) -> (usize, bool);
    let cases: [(&str, From); 6] = [
        ("bfly.b32 %d|%p0, %a0, 5, 31, -1", |lane| (lane ^ 5, true)),
        ("idx.b32 %d|%p0, %a0, 7, 31, -1", |_| (7, true)),
        (
            "down.b32 %d|%p0, %a0, 3, 31, -1",
            |lane| if lane + 3 < 32 { (lane + 3, true) } else { (lane, false) },
        ),
        ("up.b32 %d|%p0, %a0, 4, 0, -1", |lane| if lane >= 4 { (lane - 4, true) } else { (lane, false) }),
        ("down.b32 %d|%p0, %a0, 3, 0x181f, -1", |lane| {
            if lane % 8 + 3 < 8 { (lane + 3, true) } else { (lane, false) }
        }),
        ("idx.b32 %d|%p0, %a0, 2, 0x1c1f, -1", |lane| (lane / 4 * 4 + 2, true)),
    ];
    for (shuffle, from) in cases {
        let body = format!("shfl.sync.{shuffle}; selp.b32 %r0, 1, 0, %p0; xor.b32 %d, %d, %r0;");
        let got = each(&[("b32", &cells)], "b32", &body);
        for (index, got) in got.iter().enumerate() {
            let (other, valid) = from(index % 32);
            assert_eq!(*got, cells[index / 32 * 32 + other] ^ u64::from(valid), "{shuffle}, lane {index}");
        }
    }
}

#[test]
fn votes_matches_and_reductions() {
    let mut random = Random::fresh();
    let cells: Vec<u64> = (0..64).map(|_| random.below(4)).collect();
    let ballot =
        each(&[("b32", &cells)], "b32", "setp.gt.u32 %p0, %a0, 1; vote.sync.ballot.b32 %d, %p0, -1;");
    let any = each(
        &[("b32", &cells)],
        "b32",
        "setp.eq.u32 %p0, %a0, 9; vote.sync.any.pred %p1, %p0, -1; selp.b32 %d, 1, 0, %p1;",
    );
    let equal = each(&[("b32", &cells)], "b32", "match.any.sync.b32 %d, %a0, -1;");
    let sum = each(&[("b32", &cells)], "b32", "redux.sync.add.u32 %d, %a0, -1;");
    let least = each(&[("b32", &cells)], "b32", "neg.s32 %r0, %a0; redux.sync.min.s32 %d, %r0, -1;");
    for (index, cell) in cells.iter().enumerate() {
        let warp = &cells[index / 32 * 32..][..32];
        let mask = |test: &dyn Fn(u64) -> bool| {
            (0..32).filter(|lane| test(warp[*lane])).fold(0u64, |m, lane| m | 1 << lane)
        };
        assert_eq!(ballot[index], mask(&|other| other > 1));
        assert_eq!(any[index], 0);
        assert_eq!(equal[index], mask(&|other| other == *cell));
        assert_eq!(sum[index], warp.iter().sum::<u64>());
        assert_eq!(least[index] as i32, -(*warp.iter().max().expect("32 of them") as i32));
    }
}

#[test]
fn parts_of_a_warp_vote_by_themselves() {
    let cells: Vec<u64> = (0..32).collect();
    let body = "setp.lt.u32 %p0, %a0, 12; mov.b32 %r0, 0xfff; @!%p0 mov.b32 %r0, 0xfffff000;
        @!%p0 bra other; activemask.b32 %r1; vote.sync.ballot.b32 %d, %p0, %r0; bra end;
        other: activemask.b32 %r1; vote.sync.ballot.b32 %d, !%p0, %r0; end: xor.b32 %d, %d, %r1;";
    assert_eq!(each(&[("b32", &cells)], "b32", body), vec![0; 32]);
    let body = "elect.sync %r0|%p0, 0xfffff000; selp.b32 %d, 1, 0, %p0; add.s32 %d, %d, %r0;";
    let body = format!("mov.b32 %d, 0; setp.lt.u32 %p1, %a0, 12; @%p1 bra end; {body} end:");
    let want: Vec<u64> = (0..32).map(|lane| if lane < 12 { 0 } else { 12 + u64::from(lane == 12) }).collect();
    assert_eq!(each(&[("b32", &cells)], "b32", &body), want);
}

#[test]
fn lanes_wait_for_those_they_name() {
    // The lanes arrive at the shuffle in two groups, by different ways.
    let cells = random_cells();
    let body = "and.b32 %r0, %t1, 1; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, 0; @%p0 bra even;
        loop: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 50; @%p1 bra loop; even:
        shfl.sync.bfly.b32 %d, %a0, 1, 31, -1;";
    let got = each(&[("b32", &cells)], "b32", body);
    for (index, got) in got.iter().enumerate() {
        assert_eq!(*got, cells[index ^ 1]);
    }
}

#[test]
fn masks_must_name_the_lane() {
    let text = entry("", ".reg .b32 %r<3>; mov.u32 %r0, %tid.x; shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff;");
    let fault = launch(&text, 32, Vec::new(), &mut Memory::new()).expect_err("lane 16 is not named");
    assert_eq!((fault.kind, fault.lane), (FaultKind::Misuse, Some(16)));
}

#[test]
fn lanes_that_never_come_are_a_deadlock() {
    let text = entry(
        "",
        ".reg .pred %p; .reg .b32 %r<3>; mov.u32 %r0, %tid.x; setp.lt.u32 %p, %r0, 8; @%p bra a;
         bar.warp.sync 0xffffffff; bra end; a: bar.warp.sync 0xffffffff; end:",
    );
    let fault = launch(&text, 32, Vec::new(), &mut Memory::new()).expect_err("two places");
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.message.contains("lanes 0x000000ff of its warp"), "{fault}");
}
