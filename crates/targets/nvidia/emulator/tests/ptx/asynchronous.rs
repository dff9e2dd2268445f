//! Copies that run by themselves, mbarriers, tensor maps.

use crate::common::{Random, clean, entry, launch, parse, put_words, words};
use emulator::{Argument, Checks, FaultKind, FindingKind, Launch, Memory, Swizzle, TensorMap};

/// A program of 64 threads that copies words by `cp.async` and reads them in another order after `wait`.
fn copied(wait: &str) -> (Vec<u32>, Vec<FindingKind>) {
    let text = entry(
        ".param .u64 a, .param .u64 b",
        &format!(
            ".shared .align 16 .b8 s[1024]; .reg .b32 %r<8>; .reg .b64 %q<4>; mov.u32 %r0, %tid.x; mov.u32 %r1, s;
             ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mad.lo.u32 %r2, %r0, 16, %r1; mad.wide.u32 %q0, %r0, 16, %q0;
             cp.async.cg.shared.global [%r2], [%q0], 16, 12; cp.async.commit_group;
             {wait}
             xor.b32 %r3, %r0, 33; mad.lo.u32 %r3, %r3, 16, %r1; ld.shared.v2.b32 {{%r4, %r5}}, [%r3+8];
             mad.wide.u32 %q1, %r0, 8, %q1; st.global.v2.b32 [%q1], {{%r4, %r5}};"
        ),
    );
    let mut memory = Memory::new();
    let a = put_words(&mut memory, &(100..356).collect::<Vec<u32>>());
    let b = memory.allocate(512);
    let report =
        launch(&text, 64, vec![a.into(), b.into()], &mut memory).unwrap_or_else(|fault| panic!("{fault}"));
    (words(&mut memory, b, 128), report.findings.iter().map(|finding| finding.kind).collect())
}

#[test]
fn copies_land_when_they_are_waited_for() {
    let want: Vec<u32> = (0..64).flat_map(|thread: u32| [100 + (thread ^ 33) * 4 + 2, 0]).collect();
    assert_eq!(copied("cp.async.wait_group 0; bar.sync 0;"), (want.clone(), vec![]));
    assert_eq!(copied("cp.async.wait_all; bar.sync 0;"), (want, vec![]));
    let (_, findings) = copied("cp.async.wait_group 1; bar.sync 0;");
    assert!(findings.contains(&FindingKind::Unfinished) && findings.contains(&FindingKind::Uninitialised));
    let (_, findings) = copied("cp.async.wait_group 0;");
    assert!(!findings.is_empty());
}

/// Copies of so many bytes from places that no instruction could read, and what lies where they land.
fn copied_from_between(bytes: u32) -> Result<Vec<u32>, Box<emulator::Fault>> {
    let text = entry(
        ".param .u64 a, .param .u64 b",
        &format!(
            ".shared .align 16 .b8 s[512]; .reg .b32 %r<8>; .reg .b64 %q<4>; mov.u32 %r0, %tid.x; mov.u32 %r1, s;
             ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mad.lo.u32 %r2, %r0, 16, %r1; add.u64 %q0, %q0, 6;
             mov.b32 %r3, {bytes}; st.shared.b32 [%r2], %r0;
             cp.async.cg.shared.global [%r2], [%q0], 16, %r3; cp.async.commit_group; cp.async.wait_group 0;
             ld.shared.b32 %r4, [%r2]; mad.wide.u32 %q1, %r0, 4, %q1; st.global.b32 [%q1], %r4;"
        ),
    );
    let mut memory = Memory::new();
    let a = put_words(&mut memory, &[77; 8]);
    let b = memory.allocate(128);
    launch(&text, 32, vec![a.into(), b.into()], &mut memory)?;
    Ok(words(&mut memory, b, 32))
}

#[test]
fn copies_of_nothing_read_nowhere() {
    assert_eq!(copied_from_between(0).unwrap_or_else(|fault| panic!("{fault}")), [0; 32]);
    assert_eq!(copied_from_between(4).expect_err("it is read").kind, FaultKind::Misaligned);
}

/// Warp 0 fills a buffer of two stages, warp 1 adds up what it finds.
fn pipeline(full: &str, empty: &str) -> String {
    entry(
        ".param .u64 p",
        &format!(
            ".shared .align 8 .b8 bars[32]; .shared .align 16 .b8 s[256]; .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %q<4>;
             mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r8, bars; and.b32 %r9, %r0, 31;
             @%p0 mbarrier.init.shared::cta.b64 [bars], 32; @%p0 mbarrier.init.shared::cta.b64 [bars+8], 32;
             @%p0 mbarrier.init.shared::cta.b64 [bars+16], 32; @%p0 mbarrier.init.shared::cta.b64 [bars+24], 32;
             bar.sync 0; mov.b32 %r1, 0; mov.b32 %r7, 0; setp.gt.u32 %p1, %r0, 31; @%p1 bra consume;
             produce: and.b32 %r2, %r1, 1; shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1; xor.b32 %r4, %r3, 1;
             mad.lo.u32 %r5, %r2, 8, %r8; {{ .reg .pred done; w: {empty} @!done bra w; }}
             mov.u32 %r6, s; mad.lo.u32 %r6, %r2, 128, %r6; mad.lo.u32 %r6, %r9, 4, %r6; add.u32 %r10, %r1, %r9;
             st.shared.b32 [%r6], %r10; mbarrier.arrive.shared::cta.b64 _, [%r5];
             add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 10; @%p2 bra produce; bra end;
             consume: and.b32 %r2, %r1, 1; shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1;
             mad.lo.u32 %r5, %r2, 8, %r8; {{ .reg .pred done; w: {full} @!done bra w; }}
             mov.u32 %r6, s; mad.lo.u32 %r6, %r2, 128, %r6; xor.b32 %r10, %r9, 5; mad.lo.u32 %r6, %r10, 4, %r6;
             ld.shared.b32 %r10, [%r6]; add.u32 %r7, %r7, %r10; mbarrier.arrive.shared::cta.b64 _, [%r5+16];
             add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 10; @%p2 bra consume;
             ld.param.u64 %q0, [p]; mad.wide.u32 %q0, %r9, 4, %q0; st.global.b32 [%q0], %r7; end:"
        ),
    )
}

#[test]
fn mbarriers_order_a_pipeline() {
    let full = "mbarrier.try_wait.parity.shared::cta.b64 done, [%r5], %r3;";
    let empty = "mbarrier.try_wait.parity.shared::cta.b64 done, [%r5+16], %r4;";
    let mut memory = Memory::new();
    let p = memory.allocate(128);
    for polls in [false, true] {
        let poll = |text: &str| if polls { text.replace("try_wait", "test_wait") } else { text.to_owned() };
        clean(&pipeline(&poll(full), &poll(empty)), 64, vec![p.into()], &mut memory);
        let want: Vec<u32> = (0..32).map(|lane: u32| (0..10).map(|round| round + (lane ^ 5)).sum()).collect();
        assert_eq!(words(&mut memory, p, 32), want);
    }
    let skip = "setp.eq.u32 done, 0, 0;";
    for text in [pipeline(skip, empty), pipeline(full, skip)] {
        match launch(&text, 64, vec![p.into()], &mut memory) {
            Ok(report) => assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::Race)),
            // Arriving too often, or waiting for those who ran ahead, is noticed even before.
            Err(fault) => assert!(matches!(fault.kind, FaultKind::Misuse | FaultKind::Deadlock), "{fault}"),
        }
    }
    // The first phase of an empty barrier has not been completed by anybody.
    let wrong = pipeline(full, "mbarrier.try_wait.parity.shared::cta.b64 done, [%r5+16], %r3;");
    let fault = launch(&wrong, 64, vec![p.into()], &mut memory).expect_err("both wait for each other");
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.message.contains("misses 32 arrivals and 0 bytes"), "{fault}");
}

/// Copies 256 bytes in, adds one to each word, copies them out.
fn bulk(expected: u32, wait: &str, fence: &str) -> String {
    entry(
        ".param .u64 a, .param .u64 b",
        &format!(
            ".shared .align 128 .b8 s[256]; .shared .align 8 .b8 bar[8]; .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %q<4>;
             mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mov.b32 %r1, s;
             @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @!%p0 bra wait;
             mbarrier.arrive.expect_tx.shared.b64 _, [bar], {expected};
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%q0], 256, [bar];
             wait: {wait}
             mad.lo.u32 %r2, %r0, 4, %r1; ld.shared.b32 %r3, [%r2]; add.u32 %r3, %r3, 1; st.shared.b32 [%r2], %r3;
             {fence} bar.sync 0; @!%p0 bra end;
             cp.async.bulk.global.shared::cta.bulk_group [%q1], [%r1], 256; cp.async.bulk.commit_group;
             cp.async.bulk.wait_group 0; end:"
        ),
    )
}

const WAIT: &str =
    "{ .reg .pred done; w: mbarrier.try_wait.parity.shared.b64 done, [bar], 0; @!done bra w; }";

#[test]
fn bulk_copies_need_their_barrier_and_their_fence() {
    let mut memory = Memory::new();
    let a = put_words(&mut memory, &(0..64).collect::<Vec<u32>>());
    let b = memory.allocate(256);
    let arguments: Vec<Argument> = vec![a.into(), b.into()];
    let fence = "fence.proxy.async.shared::cta;";
    clean(&bulk(256, WAIT, fence), 64, arguments.clone(), &mut memory);
    assert_eq!(words(&mut memory, b, 64), (1..65).collect::<Vec<u32>>());
    let mut kinds = |text: &str| {
        let report =
            launch(text, 64, arguments.clone(), &mut memory).unwrap_or_else(|fault| panic!("{fault}"));
        report.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    assert!(kinds(&bulk(256, WAIT, "")).contains(&FindingKind::AsyncRace));
    let findings = kinds(&bulk(256, "", fence));
    assert!(
        findings.contains(&FindingKind::AsyncRace) && findings.contains(&FindingKind::Unfinished),
        "{findings:?}"
    );
    let fault = launch(&bulk(272, WAIT, fence), 64, arguments, &mut memory).expect_err("16 bytes never come");
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.message.contains("misses 0 arrivals and 16 bytes"), "{fault}");
}

#[test]
fn memory_of_a_barrier_that_was_waited_for_is_copied_over() {
    let wait = |of: &str| {
        WAIT.replace("bar]", &format!("{of}]"))
            .replace("w:", &format!("w{of}:"))
            .replace("bra w", &format!("bra w{of}"))
    };
    let text = |load: &str| {
        entry(
            ".param .u64 a, .param .u64 b",
            &format!(
                ".shared .align 16 .b8 bar[16]; .shared .align 8 .b8 other[8]; .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %q<4>;
                 mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mov.b32 %r1, bar;
                 @%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 mbarrier.init.shared.b64 [other], 1; bar.sync 0;
                 @%p0 mbarrier.arrive.shared.b64 _, [bar]; {} {load} bar.sync 0; @!%p0 bra wait;
                 mbarrier.inval.shared.b64 [bar]; fence.proxy.async.shared::cta;
                 mbarrier.arrive.expect_tx.shared.b64 _, [other], 16;
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%q0], 16, [other];
                 wait: {} and.b32 %r2, %r0, 3; mad.lo.u32 %r2, %r2, 4, %r1; ld.shared.b32 %r3, [%r2];
                 mad.wide.u32 %q1, %r0, 4, %q1; st.global.b32 [%q1], %r3;",
                wait("bar"),
                wait("other")
            ),
        )
    };
    let mut memory = Memory::new();
    let a = put_words(&mut memory, &[7, 8, 9, 10]);
    let b = memory.allocate(256);
    let arguments: Vec<Argument> = vec![a.into(), b.into()];
    clean(&text(""), 64, arguments.clone(), &mut memory);
    assert_eq!(words(&mut memory, b, 64), (0..64).map(|lane| 7 + lane % 4).collect::<Vec<u32>>());
    // What lanes load otherwise may still be under way.
    let report = launch(&text("ld.shared.b32 %r4, [bar+8];"), 64, arguments, &mut memory)
        .unwrap_or_else(|fault| panic!("{fault}"));
    assert!(report.findings.iter().any(|finding| finding.message.contains("what ordinary loads read")));
}

/// Writes 16 words of shared memory, sends them to `a`, waits, and copies a word of `a` to `b`.
fn sent(wait: &str) -> String {
    entry(
        ".param .u64 a, .param .u64 b",
        &format!(
            ".shared .align 128 .b8 s[64]; .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %q<4>;
             mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mov.b32 %r1, s;
             mad.lo.u32 %r2, %r0, 4, %r1; st.shared.b32 [%r2], 5; fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra end;
             cp.async.bulk.global.shared::cta.bulk_group [%q0], [%r1], 64; cp.async.bulk.commit_group; {wait}
             ld.global.b32 %r3, [%q0]; st.global.b32 [%q1], %r3; end:"
        ),
    )
}

#[test]
fn what_bulk_copies_write_is_there_once_it_is_waited_for() {
    let mut memory = Memory::new();
    let (a, b) = (memory.allocate(64), memory.allocate(4));
    for (wait, seen, late) in
        [("cp.async.bulk.wait_group.read 0;", 1, true), ("cp.async.bulk.wait_group 0;", 5, false)]
    {
        memory.write(a, &[1, 0, 0, 0]).expect("it was allocated");
        let arguments = vec![a.into(), b.into()];
        let report =
            launch(&sent(wait), 16, arguments, &mut memory).unwrap_or_else(|fault| panic!("{fault}"));
        let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, if late { vec![FindingKind::AsyncRace] } else { vec![] }, "{wait}");
        assert_eq!(words(&mut memory, b, 1), [seen], "{wait}");
        assert_eq!(words(&mut memory, a, 16), [5; 16]);
    }
    let report = launch(&sent(""), 16, vec![a.into(), b.into()], &mut memory).expect("it runs");
    let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::AsyncRace, FindingKind::Unfinished]);
}

/// 64 threads store a word each to `a`, bulk copies bring `a` to shared memory, and all of it goes to `b`; with `again`
/// right behind.
fn stored_and_copied(between: &str, wait: &str, again: &str) -> String {
    entry(
        ".param .u64 a, .param .u64 b",
        &format!(
            ".shared .align 128 .b8 s[256]; .shared .align 8 .b8 bar[8]; .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %q<6>;
             mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mov.b32 %r1, s;
             mov.b32 %r2, bar; @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; mad.wide.u32 %q2, %r0, 4, %q0; add.u32 %r4, %r0, 7;
             st.global.b32 [%q2], %r4; {between}
             @!%p0 bra other; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%q0], 256, [%r2];
             other: {wait} mad.lo.u32 %r5, %r0, 4, %r1; ld.shared.b32 %r6, [%r5]; mad.wide.u32 %q3, %r0, 4, %q1;
             st.global.b32 [%q3], %r6; {again}"
        ),
    )
}

#[test]
fn bulk_copies_see_what_is_fenced_and_ordered() {
    let wait =
        "{ .reg .pred done; w: mbarrier.try_wait.parity.shared::cta.b64 done, [%r2], 0; @!done bra w; }";
    let fence = "fence.proxy.async.global;";
    let mut memory = Memory::new();
    let (a, b) = (memory.allocate(256), memory.allocate(256));
    let mut kinds = |between: &str, wait: &str, again: &str| {
        let text = stored_and_copied(between, wait, again);
        let report = launch(&text, 64, vec![a.into(), b.into()], &mut memory);
        let report = report.unwrap_or_else(|fault| panic!("{fault}"));
        report.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    let over = "st.global.b32 [%q2], %r6;";
    for between in [
        format!("{fence} bar.sync 0;"),
        format!("bar.sync 0; {fence}"),
        "fence.proxy.async; bar.sync 0;".into(),
    ] {
        assert_eq!(kinds(&between, wait, over), [], "{between}");
    }
    for between in ["bar.sync 0;", "fence.proxy.async.shared::cta; bar.sync 0;", fence] {
        assert!(kinds(between, wait, "").contains(&FindingKind::AsyncRace), "{between}");
    }
    // Who has not waited writes what is still read.
    let only_first = format!("@!%p0 bra skip; {wait} skip: bar.sync 0;");
    assert_eq!(kinds(&format!("{fence} bar.sync 0;"), &only_first, over), []);
    let alone = format!("@!%p0 bra skip; {wait} skip:");
    assert!(kinds(&format!("{fence} bar.sync 0;"), &alone, over).contains(&FindingKind::AsyncRace));
}

/// Copies a box of 8 rows of 32 words in, reads it plainly, and sends it back elsewhere.
fn tensor_text(store: &str) -> String {
    entry(
        ".param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .u64 seen, .param .u32 x, .param .u32 y",
        &format!(
            ".shared .align 1024 .b8 s[1024]; .shared .align 8 .b8 bar[8]; .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %q<6>;
             mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b64 %q0, from; cvta.param.u64 %q0, %q0; mov.b64 %q1, to;
             cvta.param.u64 %q1, %q1; ld.param.u64 %q2, [seen]; ld.param.u32 %r6, [x]; ld.param.u32 %r7, [y]; mov.b32 %r1, s;
             @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @!%p0 bra wait;
             mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;
             cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%q0, {{%r6, %r7}}], [bar];
             wait: {WAIT}
             mad.lo.u32 %r2, %r0, 16, %r1; ld.shared.v4.b32 {{%r8, %r9, %r10, %r11}}, [%r2];
             mad.wide.u32 %q3, %r0, 16, %q2; st.global.v4.b32 [%q3], {{%r8, %r9, %r10, %r11}}; @!%p0 bra end;
             max.s32 %r6, %r6, 0; max.s32 %r7, %r7, 0;
             {store} [%q1, {{%r7, %r6}}], [%r1]; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; end:"
        ),
    )
}

#[test]
fn boxes_of_tensors_are_cut_and_mixed() {
    let mut random = Random::fresh();
    let (rows, columns) = (13i64, 44i64);
    let values: Vec<u32> = (0..rows * columns).map(|_| random.below(1 << 24) as u32).collect();
    let swizzles = [(Swizzle::None, 0), (Swizzle::Bytes32, 1), (Swizzle::Bytes64, 2), (Swizzle::Bytes128, 3)];
    for (swizzle, bits) in swizzles {
        // A row of the box must fit the swizzle.
        let width: i64 = if swizzle == Swizzle::None { 32 } else { 4 << bits };
        let height = 256 / width;
        let mut memory = Memory::new();
        let from = put_words(&mut memory, &values);
        let to = put_words(&mut memory, &vec![7; values.len()]);
        let seen = memory.allocate(1024);
        let map = |address: u64| TensorMap {
            address,
            element: 2,
            dims: vec![columns as u32, rows as u32],
            strides: vec![columns as u64 * 4],
            boxes: vec![width as u32, height as u32],
            swizzle,
        };
        let (x, y) = (random.below(15) as i64 * 4 - 8, random.below(5) as i64 * 4 - 4);
        let arguments: Vec<Argument> = vec![
            map(from).encode().to_vec().into(),
            map(to).encode().to_vec().into(),
            seen.into(),
            (x as i32).into(),
            (y as i32).into(),
        ];
        let text = tensor_text("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group");
        clean(&text, 64, arguments.clone(), &mut memory);
        let value = |row: i64, column: i64| {
            let inside = (0..rows).contains(&row) && (0..columns).contains(&column);
            if inside { values[(row * columns + column) as usize] } else { 0 }
        };
        let image = words(&mut memory, seen, 256);
        let mut sent = vec![7; values.len()];
        for row in 0..height {
            for column in 0..width {
                let plain = (row * width + column) * 4;
                let mixed = plain ^ (plain >> 7 & ((1 << bits) - 1)) << 4;
                let want = value(y + row, x + column);
                assert_eq!(
                    image[mixed as usize / 4],
                    want,
                    "{swizzle:?} ({x}, {y}) row {row}, column {column}"
                );
                // It goes back to the place with both coordinates exchanged, not in front of the tensor.
                let (r, c) = (x.max(0) + row, y.max(0) + column);
                if (0..rows).contains(&r) && (0..columns).contains(&c) {
                    sent[(r * columns + c) as usize] = want;
                }
            }
        }
        assert_eq!(words(&mut memory, to, values.len()), sent, "{swizzle:?}");
        let more = tensor_text("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group");
        clean(&more, 64, arguments, &mut memory);
        let twice: Vec<u32> =
            sent.iter().zip(words(&mut memory, to, values.len())).map(|(a, b)| b.wrapping_sub(*a)).collect();
        assert!(twice.iter().zip(&sent).all(|(more, sent)| *more == 0 || more == sent));
    }
}

#[test]
fn maps_are_made_by_kernels() {
    // A kernel makes the map in shared memory, publishes it, and copies 4 rows of 4 words through it.
    let set =
        |field: &str, value: &str| format!("@%p0 tensormap.replace.tile.{field}.shared::cta.b1024.{value};");
    let fields = [
        set("global_address", "b64 [%q5], %q0"),
        set("rank", "b32 [%q5], 0x1"),
        set("box_dim", "b32 [%q5], 0x0, %r4"),
        set("box_dim", "b32 [%q5], 0x1, %r4"),
        set("global_dim", "b32 [%q5], 0x0, %r5"),
        set("global_dim", "b32 [%q5], 0x1, %r5"),
        set("global_stride", "b64 [%q5], 0x0, %q4"),
        set("element_stride", "b32 [%q5], 0x0, 1"),
        set("element_stride", "b32 [%q5], 0x1, 1"),
        set("elemtype", "b32 [%q5], 0x7"),
        set("swizzle_mode", "b32 [%q5], 0x0"),
    ]
    .concat();
    let text = entry(
        ".param .u64 a, .param .u64 map, .param .u64 out",
        &format!(
            ".shared .align 128 .b8 s[128]; .shared .align 128 .b8 d[64]; .shared .align 8 .b8 bar[8]; .reg .pred %p<4>;
             .reg .b32 %r<8>; .reg .b64 %q<8>; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %q0, [a];
             ld.param.u64 %q1, [map]; ld.param.u64 %q2, [out]; mov.b32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; mov.b32 %r3, 0;
             st.shared.b32 [%r2], %r3; bar.warp.sync -1; mov.b32 %r4, 4; mov.b32 %r5, 8; mov.b64 %q4, 32; mov.b64 %q5, s;
             {fields}
             bar.warp.sync -1;
             tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%q1], [s], 128;
             fence.proxy.tensormap::generic.acquire.gpu [%q1], 128;
             @%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64; mov.b32 %r6, d;
             @%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r6],
                 [%q1, {{%r4, %r4}}], [bar]; bar.warp.sync -1; {WAIT}
             setp.gt.u32 %p1, %r0, 15; @%p1 bra end; mad.lo.u32 %r6, %r0, 4, %r6; ld.shared.b32 %r6, [%r6];
             mad.wide.u32 %q2, %r0, 4, %q2; st.global.b32 [%q2], %r6; end:"
        ),
    );
    let mut memory = Memory::new();
    let a = put_words(&mut memory, &(0..64).collect::<Vec<u32>>());
    let (map, out) = (memory.allocate(128), memory.allocate(64));
    let arguments: Vec<Argument> = vec![a.into(), map.into(), out.into()];
    let launch = Launch { arguments, ..Launch::default() };
    let report =
        parse(&text).launch("k", &launch, &mut memory, Checks::default()).unwrap_or_else(|f| panic!("{f}"));
    assert!(report.findings.is_empty(), "{}", report.findings[0]);
    let want: Vec<u32> = (0..16).map(|index| (index / 4 + 4) * 8 + index % 4 + 4).collect();
    assert_eq!(words(&mut memory, out, 16), want);
}

#[test]
fn copies_reach_every_program_of_a_cluster() {
    // Program 0 sends to both; each waits at its own mbarrier, then tells the other's second one.
    let text = entry(
        ".param .u64 a, .param .u64 b",
        &format!(
            ".shared .align 128 .b8 s[128]; .shared .align 8 .b8 bar[8]; .shared .align 8 .b8 far[8]; .reg .pred %p<4>;
             .reg .b16 %h; .reg .b32 %r<10>; .reg .b64 %q<4>; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;
             ld.param.u64 %q0, [a]; ld.param.u64 %q1, [b]; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0;
             @%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 mbarrier.init.shared.b64 [far], 32;
             fence.mbarrier_init.release.cluster; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
             barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
             and.pred %p2, %p0, %p1; mov.b16 %h, 3; mov.b32 %r2, s;
             @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
                 [%r2], [%q0], 128, [bar], %h;
             {WAIT}
             mad.lo.u32 %r3, %r0, 4, %r2; ld.shared.b32 %r4, [%r3]; mov.u32 %r5, far; xor.b32 %r6, %r1, 1;
             mapa.shared::cluster.u32 %r7, %r5, %r6; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
             {{ .reg .pred done; w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [far], 0; @!done bra w; }}
             mad.lo.u32 %r8, %r1, 32, %r0; mad.wide.u32 %q1, %r8, 4, %q1; st.global.b32 [%q1], %r4;
             barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
        ),
    );
    let mut memory = Memory::new();
    let a = put_words(&mut memory, &(50..82).collect::<Vec<u32>>());
    let b = memory.allocate(256);
    let launch = Launch {
        grid: [2, 1, 1],
        cluster: [2, 1, 1],
        arguments: vec![a.into(), b.into()],
        ..Launch::default()
    };
    let report =
        parse(&text).launch("k", &launch, &mut memory, Checks::default()).unwrap_or_else(|f| panic!("{f}"));
    assert!(report.findings.is_empty(), "{}", report.findings[0]);
    assert_eq!(words(&mut memory, b, 64), (50..82).chain(50..82).collect::<Vec<u32>>());
}
