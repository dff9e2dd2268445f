//! Matrix instructions of a warp: fragments are laid out by the formulas of the manual, element by element, and
//! products are sums of products.

use crate::common::{Random, clean, entry, words};
use emulator::Memory;
use half::{bf16, f16};

/// A kind of number: how to make bits of it.
#[derive(Clone, Copy)]
struct Number {
    name: &'static str,
    bits: usize,
    encode: fn(f64) -> u64,
}

fn byte_e4m3(value: f64) -> u64 {
    // Small whole numbers and halves of them have 3 bits of fraction at most.
    let magnitude = value.abs();
    let sign = u64::from(value < 0.0) << 7;
    if magnitude == 0.0 {
        return sign;
    }
    let exponent = magnitude.log2().floor();
    let fraction = ((magnitude / exponent.exp2() - 1.0) * 8.0) as u64;
    sign | ((exponent as i64 + 7) as u64) << 3 | fraction
}

const NUMBERS: [Number; 5] = [
    Number { name: "f16", bits: 16, encode: |value| f16::from_f64(value).to_bits().into() },
    Number { name: "bf16", bits: 16, encode: |value| bf16::from_f64(value).to_bits().into() },
    Number { name: "tf32", bits: 32, encode: |value| u64::from((value as f32).to_bits()) },
    Number { name: "e4m3", bits: 8, encode: byte_e4m3 },
    Number { name: "s8", bits: 8, encode: |value| value as i64 as u8 as u64 },
];

/// Row and column of element `i` of lane `lane` of `A`, of 16 rows, by the manual's formulas.
fn place_a(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    match bits {
        16 => (
            if i < 2 || (4..6).contains(&i) { g } else { g + 8 },
            t * 2 + (i & 1) + if i < 4 { 0 } else { 8 },
        ),
        32 => (if i & 1 == 0 { g } else { g + 8 }, if i < 2 { t } else { t + 4 }),
        _ => (
            if i < 4 || (8..12).contains(&i) { g } else { g + 8 },
            t * 4 + (i & 3) + if i < 8 { 0 } else { 16 },
        ),
    }
}

/// Row and column of element `i` of lane `lane` of `B`.
fn place_b(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    let row = match bits {
        16 => t * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        32 => {
            if i == 0 {
                t
            } else {
                t + 4
            }
        }
        _ => t * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
    };
    (row, g)
}

/// Words of lanes: each has `count` registers of 32 bits, filled with elements from the lowest bits up.
fn fragments(bits: usize, count: usize, element: impl Fn(usize, usize) -> u64) -> Vec<u8> {
    let each = 32 / bits;
    let mut bytes = Vec::new();
    for lane in 0..32 {
        for register in 0..count {
            let word =
                (0..each).fold(0, |word, part| word | element(lane, register * each + part) << (part * bits));
            bytes.extend_from_slice(&(word as u32).to_le_bytes());
        }
    }
    bytes
}

fn small(random: &mut Random) -> f64 {
    random.below(15) as f64 - 7.0
}

/// Runs one product with `halves` of the depth of the largest shape; compares with the sum of products.
fn product(number: Number, shallow: bool) {
    let mut random = Random::fresh();
    let depth = if shallow { 128 } else { 256 } / number.bits;
    let matrix = |random: &mut Random, rows: usize, columns: usize| {
        (0..rows).map(|_| (0..columns).map(|_| small(random)).collect()).collect::<Vec<Vec<f64>>>()
    };
    let (a, b, c) =
        (matrix(&mut random, 16, depth), matrix(&mut random, depth, 8), matrix(&mut random, 16, 8));
    let integer = number.name == "s8";
    let result = |value: f64| if integer { value as i32 as u32 } else { (value as f32).to_bits() };
    let (a_registers, b_registers) = if shallow { (2, 1) } else { (4, 2) };
    let mut memory = Memory::new();
    let left = fragments(number.bits, a_registers, |lane, i| {
        let (row, k) = place_a(number.bits, lane, i);
        (number.encode)(a[row][k])
    });
    let right = fragments(number.bits, b_registers, |lane, i| {
        let (k, column) = place_b(number.bits, lane, i);
        (number.encode)(b[k][column])
    });
    let place_c = |lane: usize, i: usize| (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + (i & 1));
    let sum = fragments(32, 4, |lane, i| {
        let (row, column) = place_c(lane, i);
        u64::from(result(c[row][column]))
    });
    let addresses = [&left, &right, &sum].map(|bytes| memory.allocate_with(bytes));
    let out = memory.allocate(512);
    let (d, name) = (if integer { "s32" } else { "f32" }, number.name);
    let (a_list, b_list) = if shallow { ("%a0, %a1", "%b0") } else { ("%a0, %a1, %a2, %a3", "%b0, %b1") };
    let vector = |count: usize| if count == 1 { String::new() } else { format!(".v{count}") };
    let body = format!(
        ".reg .b32 %r0; .reg .b32 %a<4>; .reg .b32 %b<2>; .reg .b32 %c<4>; .reg .b64 %q<5>; mov.u32 %r0, %tid.x;
         ld.param.u64 %q0, [a]; mad.wide.u32 %q0, %r0, {}, %q0; ld.global{}.b32 {{{a_list}}}, [%q0];
         ld.param.u64 %q1, [b]; mad.wide.u32 %q1, %r0, {}, %q1; ld.global{}.b32 {{{b_list}}}, [%q1];
         ld.param.u64 %q2, [c]; mad.wide.u32 %q2, %r0, 16, %q2; ld.global.v4.b32 {{%c0, %c1, %c2, %c3}}, [%q2];
         mma.sync.aligned.m16n8k{depth}.row.col.{d}.{name}.{name}.{d} {{%c0, %c1, %c2, %c3}}, {{{a_list}}}, {{{b_list}}},
             {{%c0, %c1, %c2, %c3}};
         ld.param.u64 %q3, [d]; mad.wide.u32 %q3, %r0, 16, %q3; st.global.v4.b32 [%q3], {{%c0, %c1, %c2, %c3}};",
        a_registers * 4,
        vector(a_registers),
        b_registers * 4,
        vector(b_registers),
    );
    let text = entry(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d", &body);
    let [a_at, b_at, c_at] = addresses;
    clean(&text, 32, vec![a_at.into(), b_at.into(), c_at.into(), out.into()], &mut memory);
    for (index, got) in words(&mut memory, out, 128).into_iter().enumerate() {
        let (row, column) = place_c(index / 4, index % 4);
        let want = c[row][column] + (0..depth).map(|k| a[row][k] * b[k][column]).sum::<f64>();
        assert_eq!(got, result(want), "{name}, depth {depth}, row {row}, column {column}");
    }
}

#[test]
fn products_of_every_type() {
    for number in NUMBERS {
        product(number, false);
        product(number, true);
    }
}

#[test]
fn sums_of_halves_stay_halves() {
    // All elements are one: every sum is the depth plus what was there.
    let text = entry(
        ".param .u64 p",
        ".reg .b32 %r<4>; .reg .b64 %q0; mov.b32 %r0, 0x3c003c00; mov.b32 %r1, 0x40003c00; mov.b32 %r2, %r1;
         mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%r1, %r2};
         mov.u32 %r0, %tid.x; ld.param.u64 %q0, [p]; mad.wide.u32 %q0, %r0, 8, %q0; st.global.v2.b32 [%q0], {%r1, %r2};",
    );
    let mut memory = Memory::new();
    let out = memory.allocate(256);
    clean(&text, 32, vec![out.into()], &mut memory);
    let pair = u32::from(f16::from_f32(18.0).to_bits()) << 16 | u32::from(f16::from_f32(17.0).to_bits());
    assert_eq!(words(&mut memory, out, 64), vec![pair; 64]);
}

#[test]
fn products_of_doubles() {
    let mut random = Random::fresh();
    let [a, b] = [0; 2].map(|_| (0..32).map(|_| f64::from(random.small())).collect::<Vec<f64>>());
    let mut memory = Memory::new();
    let put = |memory: &mut Memory, values: &[f64]| {
        memory.allocate_with(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
    };
    // Lane l holds row l / 4, k = l % 4 of A, and k = l % 4, column l / 4 of B.
    let (left, right) = (put(&mut memory, &a), put(&mut memory, &b));
    let out = memory.allocate(512);
    let text = entry(
        ".param .u64 a, .param .u64 b, .param .u64 d",
        ".reg .b32 %r0; .reg .b64 %q<8>; mov.u32 %r0, %tid.x; ld.param.u64 %q0, [a]; mad.wide.u32 %q0, %r0, 8, %q0;
         ld.global.b64 %q1, [%q0]; ld.param.u64 %q0, [b]; mad.wide.u32 %q0, %r0, 8, %q0; ld.global.b64 %q2, [%q0];
         mov.b64 %q3, 0d3FF0000000000000; mov.b64 %q4, %q3;
         mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%q3, %q4}, {%q1}, {%q2}, {%q3, %q4};
         ld.param.u64 %q0, [d]; mad.wide.u32 %q0, %r0, 16, %q0; st.global.v2.b64 [%q0], {%q3, %q4};",
    );
    clean(&text, 32, vec![left.into(), right.into(), out.into()], &mut memory);
    let mut bytes = [0; 512];
    memory.read(out, &mut bytes).expect("the buffer is there");
    for (index, cell) in bytes.chunks(8).enumerate() {
        let (lane, part) = (index / 2, index % 2);
        let (row, column) = (lane / 4, lane % 4 * 2 + part);
        let want = 1.0 + (0..4).map(|k| a[row * 4 + k] * b[column * 4 + k]).sum::<f64>();
        assert_eq!(f64::from_le_bytes(cell.try_into().expect("eight bytes")), want);
    }
}

/// Loads tiles from a matrix of 32 rows of 8 numbers, `row * 8 + column`, in rows of 16 bytes.
fn loaded(instruction: &str) -> Vec<u32> {
    let text = entry(
        ".param .u64 p",
        &format!(
            ".shared .align 16 .b8 s[512]; .reg .b32 %r<12>; .reg .b64 %q0; mov.u32 %r0, %tid.x; mov.u32 %r1, s;
             mad.lo.u32 %r2, %r0, 16, %r1; mul.lo.u32 %r3, %r0, 0x00080008; add.u32 %r4, %r3, 0x00010000;
             add.u32 %r5, %r4, 0x00020002; add.u32 %r6, %r5, 0x00020002; add.u32 %r7, %r6, 0x00020002;
             st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}}; bar.warp.sync -1;
             mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; {instruction}
             ld.param.u64 %q0, [p]; mad.wide.u32 %q0, %r0, 16, %q0; st.global.v4.b32 [%q0], {{%r4, %r5, %r6, %r7}};"
        ),
    );
    let mut memory = Memory::new();
    let out = memory.allocate(512);
    clean(&text, 32, vec![out.into()], &mut memory);
    words(&mut memory, out, 128)
}

fn pair(low: usize, high: usize) -> u32 {
    low as u32 | (high as u32) << 16
}

#[test]
fn tiles_are_loaded() {
    let got = loaded("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];");
    let turned = loaded("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r4, %r5, %r6, %r7}, [%r2];");
    let two = loaded("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r2+256];");
    for lane in 0..32 {
        for tile in 0..4 {
            let at = |row: usize, column: usize| (tile * 8 + row) * 8 + column;
            let (major, minor) = (lane / 4, lane % 4 * 2);
            assert_eq!(got[lane * 4 + tile], pair(at(major, minor), at(major, minor + 1)));
            assert_eq!(turned[lane * 4 + tile], pair(at(minor, major), at(minor + 1, major)));
            if tile < 2 {
                assert_eq!(two[lane * 4 + tile], got[lane * 4 + tile + 2]);
            }
        }
    }
}

#[test]
fn tiles_are_stored_and_turned() {
    // Stored as they were loaded, tiles are what they were; stored turned, their transposes.
    let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];";
    let plain = loaded(load);
    let again = format!(
        "{load} bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {{%r4, %r5, %r6, %r7}}; bar.warp.sync -1; {load}"
    );
    assert_eq!(loaded(&again), plain);
    let turned = format!(
        "{load} bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r2], {{%r4, %r5, %r6, %r7}}; bar.warp.sync -1; {load}"
    );
    let trans = loaded("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];");
    assert_eq!(loaded(&turned), trans);
    let moved = format!(
        "{load} movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r4; movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r5; movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r6; movmatrix.sync.aligned.m8n8.trans.b16 %r7, %r7;"
    );
    assert_eq!(loaded(&moved), trans);
}
