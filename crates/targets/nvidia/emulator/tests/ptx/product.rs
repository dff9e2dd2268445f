//! `wgmma`: products of matrices in shared memory, in every layout that descriptors can name.

use crate::common::{Random, clean, entry, launch, words};
use emulator::{Argument, FaultKind, FindingKind, Memory};
use half::f16;

/// How a matrix lies in shared memory.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Bytes of the swizzled span; 16 if there is none.
    span: usize,
    /// Rows (of A, columns of B) are contiguous, not `k`.
    transposed: bool,
}

impl Layout {
    /// Leading and stride offset of a matrix of so many rows, 16 along `k`; what holds is chosen freely.
    fn offsets(self, rows: usize) -> (usize, usize) {
        match (self.span, self.transposed) {
            (16, false) => (rows * 16, 128),
            (16, true) => (rows / 8 * 128, 128),
            (span, false) => (16, 8 * span),
            // Two groups of 8 along `k` follow each other, then the next rows.
            (span, true) => (16 * span, 8 * span),
        }
    }

    /// Where an element lies.
    fn place(self, rows: usize, row: usize, k: usize) -> usize {
        let (leading, stride) = self.offsets(rows);
        let span = self.span;
        let (major, minor) = if self.transposed { (row * 2, k) } else { (k * 2, row) };
        let offset = match (span, self.transposed) {
            (16, false) => major / 16 * leading + minor / 8 * stride + minor % 8 * 16 + major % 16,
            (16, true) => major / 16 * stride + minor / 8 * leading + minor % 8 * 16 + major % 16,
            (_, false) => minor / 8 * stride + minor % 8 * span + major,
            (_, true) => major / span * leading + minor / 8 * stride + minor % 8 * span + major % span,
        };
        let bits = (span / 16).ilog2();
        offset ^ (offset >> 7 & ((1 << bits) - 1)) << 4
    }

    fn descriptor(self, rows: usize, at: usize) -> u64 {
        let (leading, stride) = self.offsets(rows);
        let mode = match self.span {
            16 => 0u64,
            128 => 1,
            64 => 2,
            _ => 3,
        };
        (at as u64 >> 4) | (leading as u64 >> 4) << 16 | (stride as u64 >> 4) << 32 | mode << 62
    }
}

const LAYOUTS: [Layout; 8] = {
    let mut out = [Layout { span: 16, transposed: false }; 8];
    let mut index = 0;
    while index < 8 {
        out[index] = Layout { span: 16 << (index / 2), transposed: index % 2 == 1 };
        index += 1;
    }
    out
};

/// Shared memory begins behind what the system keeps; the first variable aligned to 1024 lies there.
const BASE: usize = 1024;
/// Bytes given to each matrix.
const ROOM: usize = 8192;
const COLUMNS: usize = 64;

/// Loads both matrices as they lie, multiplies, and writes what lane holds; `parts` replace steps of it.
fn text(a: &str, fence: &str, proxy: &str, wait: &str, majors: &str) -> String {
    let list = (0..32).map(|index| format!("%f{index}")).collect::<Vec<_>>().join(", ");
    let zeros: String = (0..32).map(|index| format!("mov.b32 %f{index}, 0;")).collect();
    let stores: String =
        (0..32).map(|index| format!("st.global.b32 [%q2+{}], %f{index};", index * 4)).collect();
    entry(
        ".param .u64 image, .param .u64 out, .param .u64 adesc, .param .u64 bdesc, .param .u64 regs",
        &format!(
            ".shared .align 1024 .b8 s[{}]; .reg .b32 %f<32>; .reg .b32 %r<12>; .reg .b64 %q<12>; .reg .pred %p<3>;
             mov.u32 %r0, %tid.x; ld.param.u64 %q0, [image]; mov.b32 %r1, s; mov.b32 %r2, %r0;
             load: mad.wide.u32 %q1, %r2, 4, %q0; ld.global.b32 %r3, [%q1]; mad.lo.u32 %r4, %r2, 4, %r1;
             st.shared.b32 [%r4], %r3; add.u32 %r2, %r2, 128; setp.lt.u32 %p0, %r2, {}; @%p0 bra load;
             ld.param.u64 %q2, [out]; mad.wide.u32 %q2, %r0, 128, %q2; ld.param.u64 %q3, [adesc]; ld.param.u64 %q4, [bdesc];
             ld.param.u64 %q5, [regs]; mad.wide.u32 %q5, %r0, 16, %q5; ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%q5];
             {zeros} {proxy} bar.sync 0; setp.eq.u32 %p1, 0, 1; {fence}
             wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{list}}}, {a}, %q4, %p1, 1, 1, {majors};
             wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{list}}}, {a}, %q4, 1, -1, 1, {majors};
             wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{list}}}, {a}, %q4, 1, 1, 1, {majors};
             wgmma.commit_group.sync.aligned; {wait}
             {stores}",
            2 * ROOM,
            2 * ROOM / 4
        ),
    )
}

const FENCE: &str = "wgmma.fence.sync.aligned;";
const PROXY: &str = "fence.proxy.async.shared::cta;";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

struct Case {
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
    arguments: Vec<Argument>,
    out: u64,
}

fn case(memory: &mut Memory, left: Layout, right: Layout) -> Case {
    let mut random = Random::fresh();
    let mut matrix = |rows: usize| {
        (0..rows).map(|_| (0..16).map(|_| random.below(17) as f64 - 8.0).collect()).collect::<Vec<Vec<f64>>>()
    };
    let (a, b) = (matrix(64), matrix(COLUMNS));
    let mut image = vec![0; 2 * ROOM];
    for (matrix, layout, start) in [(&a, left, 0), (&b, right, ROOM)] {
        for (row, values) in matrix.iter().enumerate() {
            for (k, value) in values.iter().enumerate() {
                let at = start + layout.place(matrix.len(), row, k);
                image[at..at + 2].copy_from_slice(&f16::from_f64(*value).to_bits().to_le_bytes());
            }
        }
    }
    // The registers of A: of thread t, rows 16 * (t / 32) + ..., in pairs along k.
    let mut registers = Vec::new();
    for thread in 0..128 {
        for register in 0..4 {
            let row = thread / 32 * 16 + thread % 32 / 4 + register % 2 * 8;
            for half in 0..2 {
                let k = thread % 4 * 2 + half + register / 2 * 8;
                registers.extend_from_slice(&f16::from_f64(a[row][k]).to_bits().to_le_bytes());
            }
        }
    }
    let (image, out, registers) =
        (memory.allocate_with(&image), memory.allocate(128 * 128), memory.allocate_with(&registers));
    let descriptors = [left.descriptor(64, BASE), right.descriptor(COLUMNS, BASE + ROOM)];
    let arguments =
        vec![image.into(), out.into(), descriptors[0].into(), descriptors[1].into(), registers.into()];
    Case { a, b, arguments, out }
}

fn check(memory: &mut Memory, case: &Case, what: &str) {
    for (index, got) in words(memory, case.out, 128 * 32).into_iter().enumerate() {
        let (thread, i) = (index / 32, index % 32);
        let row = thread / 32 * 16 + thread % 32 / 4 + if i % 4 < 2 { 0 } else { 8 };
        let column = i / 4 * 8 + thread % 4 * 2 + i % 2;
        let want: f64 = (0..16).map(|k| case.a[row][k] * case.b[column][k]).sum();
        assert_eq!(f64::from(f32::from_bits(got)), want, "{what}: row {row}, column {column}");
    }
}

#[test]
fn every_layout_of_both_sides() {
    for left in LAYOUTS {
        for right in LAYOUTS {
            let mut memory = Memory::new();
            let case = case(&mut memory, left, right);
            let majors = format!("{}, {}", u32::from(left.transposed), u32::from(right.transposed));
            let text = text("%q3", FENCE, PROXY, WAIT, &majors);
            clean(&text, 128, case.arguments.clone(), &mut memory);
            check(&mut memory, &case, &format!("{left:?}, {right:?}"));
        }
    }
}

#[test]
fn the_left_side_in_registers() {
    let mut memory = Memory::new();
    let case = case(&mut memory, LAYOUTS[0], LAYOUTS[7]);
    let text = text("{%r5, %r6, %r7, %r8}", FENCE, PROXY, WAIT, "1");
    clean(&text, 128, case.arguments.clone(), &mut memory);
    check(&mut memory, &case, "registers");
}

#[test]
fn what_is_forgotten_is_found() {
    let run = |text: String| {
        let mut memory = Memory::new();
        let case = case(&mut memory, LAYOUTS[6], LAYOUTS[6]);
        launch(&text, 128, case.arguments, &mut memory)
    };
    let fault = run(text("%q3", "", PROXY, WAIT, "0, 0")).expect_err("no fence of registers");
    assert!(fault.kind == FaultKind::Misuse && fault.message.contains("`wgmma.fence`"), "{fault}");
    let fault = run(text("%q3", FENCE, PROXY, "", "0, 0")).expect_err("no wait");
    assert!(fault.kind == FaultKind::Misuse && fault.message.contains("wgmma.wait_group"), "{fault}");
    let report = run(text("%q3", FENCE, "", WAIT, "0, 0")).expect("it runs");
    assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::AsyncRace));
    let early = "st.shared.b32 [%r4+-512], %r0; wgmma.wait_group.sync.aligned 0;";
    let report = run(text("%q3", FENCE, PROXY, early, "0, 0")).expect("it runs");
    assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::Race), "{:?}", report.findings);
}
