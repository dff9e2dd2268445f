//! Every matrix instruction of the table on random whole numbers, against products whose elements are placed by linear
//! maps: what each bit of the lane and of the item adds to the coordinates. The emulator has the formulas of the
//! manuals instead.

use crate::common::{Random, Setup, on};
use amd_emulator::{Arch, FaultKind};
use amdgcn_isa::{ARCHS, CDNA, Matrix, Number, Row};
use emulation::{BF16, E2M1, E2M3, E3M2, E4M3, E4M3_FNUZ, E5M2, E5M2_FNUZ, F16, Format, Rounding};
use llir::Type;

/// What a bit adds: to the first coordinate, the second, and the block.
type Base = [usize; 3];

/// Numbers, where lanes and items hold them, what they are, and how many rows and columns there are.
type Source<'a> = (&'a [i64], &'a [Vec<Base>; 2], Number, usize, usize);

/// The coordinates of an item of a lane.
fn place(lanes: &[Base], items: &[Base], lane: usize, item: usize) -> Base {
    let mut at = [0; 3];
    let bits = lanes.iter().enumerate().map(|(bit, base)| (lane >> bit & 1, base));
    for (set, base) in bits.chain(items.iter().enumerate().map(|(bit, base)| (item >> bit & 1, base))) {
        for (sum, part) in at.iter_mut().zip(base) {
            *sum += set * part;
        }
    }
    at
}

/// 1, 2, 4, … below an end, in one coordinate.
fn powers(from: usize, end: usize, coordinate: usize) -> Vec<Base> {
    let ones = std::iter::successors(Some(from), |value| Some(value * 2)).take_while(|value| *value < end);
    ones.map(|value| std::array::from_fn(|index| if index == coordinate { value } else { 0 })).collect()
}

/// The lane and item bits of the operands (outer coordinate, k) and of the result (row, column).
struct Layout {
    a: [Vec<Base>; 2],
    b: [Vec<Base>; 2],
    c: [Vec<Base>; 2],
}

fn mfma(matrix: &Matrix) -> Layout {
    let [m, n, k, blocks] = [matrix.m, matrix.n, matrix.k, matrix.blocks].map(|size| size as usize);
    let operand = |outer: usize| {
        let own = k * outer * blocks / 64;
        let lanes = [powers(1, outer, 0), powers(1, blocks, 2), powers(own, k, 1)].concat();
        [lanes, powers(1, own, 1)]
    };
    let column = powers(1, n, 1);
    let c = match (m, matrix.c) {
        (32, _) => [[column, vec![[4, 0, 0]]].concat(), vec![[1, 0, 0], [2, 0, 0], [8, 0, 0], [16, 0, 0]]],
        (16, Number::F64) => [[column, powers(1, 4, 0)].concat(), powers(4, 16, 0)],
        (16, _) => [[column, powers(4, 16, 0)].concat(), powers(1, 4, 0)],
        (_, Number::F64) => [[column, powers(1, 4, 0), powers(1, blocks, 2)].concat(), vec![]],
        _ => [[column, powers(1, blocks, 2)].concat(), powers(1, 4, 0)],
    };
    Layout { a: operand(m), b: operand(n), c }
}

fn wmma(matrix: &Matrix, arch: Arch) -> Layout {
    let k = matrix.k as usize;
    let outer = powers(1, 16, 0);
    if arch == Arch::Gfx1100 {
        // The fifth bit of the lane adds nothing: a copy.
        let operand = || [[outer.clone(), vec![[0; 3]]].concat(), powers(1, k, 1)];
        let c = [[powers(1, 16, 1), vec![[1, 0, 0]]].concat(), powers(2, 16, 0)];
        return Layout { a: operand(), b: operand(), c };
    }
    let operand = || [[outer.clone(), powers(k / 2, k, 1)].concat(), powers(1, k / 2, 1)];
    Layout { a: operand(), b: operand(), c: [[powers(1, 16, 1), vec![[8, 0, 0]]].concat(), powers(1, 8, 0)] }
}

fn encode(number: Number, arch: Arch, value: i64) -> u64 {
    let float = |format: Format| format.encode(value as f64, Rounding::NearestEven);
    let is_fnuz = arch == Arch::Gfx942;
    match number {
        Number::F64 => (value as f64).to_bits(),
        // What lies below the bits that are looked at makes no difference.
        Number::Xf32 => u64::from((value as f32).to_bits() | (0x1fff * u32::from(value != 0))),
        Number::F32 => u64::from((value as f32).to_bits()),
        Number::F16 => float(F16),
        Number::BF16 => float(BF16),
        Number::Fp8 => float(if is_fnuz { E4M3_FNUZ } else { E4M3 }),
        Number::Bf8 => float(if is_fnuz { E5M2_FNUZ } else { E5M2 }),
        Number::I8 | Number::I4 | Number::I32 => value as u64 & (u64::MAX >> (64 - number.bits())),
    }
}

/// Puts bits into bytes.
fn put(bytes: &mut [u8], at: usize, bits: u32, value: u64) {
    for bit in 0..bits as usize {
        bytes[(at + bit) / 8] |= ((value >> bit & 1) as u8) << ((at + bit) % 8);
    }
}

fn bits_of(ty: Type) -> usize {
    (ty.lane_bits() * ty.lanes()) as usize
}

/// A kernel that loads the operands from one array each behind one another, and stores the result behind them.
fn text(name: &str, result: Type, operands: &[(Type, bool)], lanes: usize, immediate: &str) -> String {
    let mut body = String::new();
    let mut arguments = Vec::new();
    let mut start = 0;
    for (index, &(ty, is_constant)) in operands.iter().enumerate() {
        if is_constant {
            arguments.push(format!("{ty} {}", if ty == Type::I1 { immediate } else { "0" }));
            continue;
        }
        let bytes = bits_of(ty) / 8;
        body += &format!(
            "  %o{index} = mul i32 %t, {bytes}
  %s{index} = add i32 %o{index}, {start}
  %q{index} = getelementptr i8, ptr addrspace(1) %p, i32 %s{index}
  %x{index} = load {ty}, ptr addrspace(1) %q{index}, align 4\n"
        );
        arguments.push(format!("{ty} %x{index}"));
        start += bytes * lanes;
    }
    let bytes = bits_of(result) / 8;
    let types: Vec<String> = operands.iter().map(|(ty, _)| ty.to_string()).collect();
    let declaration = format!("declare {result} @{name}({})", types.join(", "));
    body += &format!(
        "  %d = call {result} @{name}({})
  %o = mul i32 %t, {bytes}
  %s = add i32 %o, {start}
  %q = getelementptr i8, ptr addrspace(1) %p, i32 %s
  store {result} %d, ptr addrspace(1) %q, align 4
  ret void",
        arguments.join(", ")
    );
    crate::common::kernel(&declaration, &body)
}

/// Random matrices of so many blocks, rows and columns.
fn random(random: &mut Random, count: usize, end: i64) -> Vec<i64> {
    (0..count).map(|_| random.whole(end)).collect()
}

fn check(row: &'static Row, arch: Arch, numbers: &mut Random) {
    let matrix = row.matrix.expect("a matrix instruction");
    let [m, n, k, blocks] = [matrix.m, matrix.n, matrix.k, matrix.blocks].map(|size| size as usize);
    let layout = if CDNA.has(arch) { mfma(&matrix) } else { wmma(&matrix, arch) };
    let lanes = arch.wave().lanes() as usize;
    let call = row.calls().next().expect("one");
    let signature = call.signature();
    let a = random(numbers, blocks * m * k, 3);
    let b = random(numbers, blocks * n * k, 3);
    let c = random(numbers, blocks * m * n, 50);
    // gfx11 keeps 16-bit results in one half of each word.
    let spread = if arch == Arch::Gfx1100 && matrix.c.bits() == 16 { 2 } else { 1 };
    let at = |values: &[i64], [x, y, block]: Base, rows: usize, columns: usize| {
        values[(block * rows + x) * columns + y]
    };
    let values: Vec<&(Type, bool)> = signature.operands.iter().filter(|operand| !operand.1).collect();
    let mut bytes = Vec::new();
    let sources: [Source<'_>; 3] =
        [(&a, &layout.a, matrix.a, m, k), (&b, &layout.b, matrix.b, n, k), (&c, &layout.c, matrix.c, m, n)];
    for (index, &&(ty, _)) in values.iter().enumerate() {
        let (data, bases, number, rows, columns) = sources[index];
        let spread = if index == 2 { spread } else { 1 };
        let mut region = vec![0; bits_of(ty) / 8 * lanes];
        for lane in 0..lanes {
            for item in 0..1 << bases[1].len() {
                let place = place(&bases[0], &bases[1], lane, item);
                let bits = encode(number, arch, at(data, place, rows, columns));
                let position = lane * bits_of(ty) + item * spread * number.bits() as usize;
                put(&mut region, position, number.bits(), bits);
            }
        }
        bytes.extend(region);
    }
    let start = bytes.len();
    let result_bits = bits_of(signature.result);
    bytes.resize(start + result_bits / 8 * lanes, 0);
    // Operands of integers are signed; results of halves lie in the lower halves of words.
    let immediate = if matrix.c == Number::I32 { "true" } else { "false" };
    let text = text(&call.name(), signature.result, &signature.operands, lanes, immediate);
    let mut words: Vec<u32> =
        bytes.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let report = on(arch).run(&text, &mut words).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    // The other halves of words are anything, which storing them tells.
    assert!(spread == 2 || report.findings.is_empty(), "{:?}", report.findings);
    let out: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for lane in 0..lanes {
        for item in 0..1 << layout.c[1].len() {
            let place @ [i, j, block] = place(&layout.c[0], &layout.c[1], lane, item);
            let products = (0..k)
                .map(|k| a[(block * m + i) * k_of(&matrix) + k] * b[(block * n + j) * k_of(&matrix) + k]);
            let expected = encode(matrix.c, arch, at(&c, place, m, n) + products.sum::<i64>());
            let bits = matrix.c.bits() as usize;
            let position = start * 8 + lane * result_bits + item * spread * bits;
            let mut found = [0; 8];
            found[..bits / 8].copy_from_slice(&out[position / 8..(position + bits) / 8]);
            assert_eq!(u64::from_le_bytes(found), expected, "{} on {arch}: {place:?}", call.name());
        }
    }
}

fn k_of(matrix: &Matrix) -> usize {
    matrix.k as usize
}

#[test]
fn every_matrix_instruction_multiplies() {
    let mut numbers = Random::fresh();
    let mut count = 0;
    for row in amdgcn_isa::rows().filter(|row| row.matrix.is_some()) {
        for arch in ARCHS.into_iter().filter(|arch| row.is_on(*arch)) {
            check(row, arch, &mut numbers);
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

/// Formats of the scaled instructions: number, bits, words of an operand.
const SCALED: [(Format, u32, usize); 5] =
    [(E4M3, 8, 8), (E5M2, 8, 8), (E2M3, 6, 6), (E3M2, 6, 6), (E2M1, 4, 4)];

#[test]
fn scaled_matrix_instructions_multiply() {
    let mut numbers = Random::fresh();
    for (m, k) in [(16usize, 128usize), (32, 64)] {
        for left in 0..5 {
            for right in 0..5 {
                scaled(m, k, [left, right], &mut numbers);
            }
        }
    }
}

fn scaled(m: usize, k: usize, formats: [usize; 2], numbers: &mut Random) {
    let items = if m == 16 { 4 } else { 16 };
    let [left, right] = formats.map(|format| SCALED[format].2);
    let name = format!("llvm.amdgcn.mfma.scale.f32.{m}x{m}x{k}.f8f6f4.v{left}i32.v{right}i32");
    let factors = [left, right].map(|words| Type::I32.vector(words as u32));
    let c_type = Type::F32.vector(items as u32);
    let mut operands = [factors[0], factors[1], c_type].map(|ty| (ty, false)).to_vec();
    operands.extend([true, true, true, false, true, false].map(|constant| (Type::I32, constant)));
    let text = text(&name, c_type, &operands, 64, "");
    let call = text.find("%d = call").expect("it calls");
    let (head, tail) = text.split_at(call);
    // Formats, and the second byte of the exponents of b.
    let tail =
        tail.replacen("i32 0, i32 0, i32 0", &format!("i32 {}, i32 {}, i32 0", formats[0], formats[1]), 1);
    let tail = tail.replacen("%x6, i32 0, i32 %x8", "%x6, i32 1, i32 %x8", 1);
    let values: [Vec<i64>; 2] = [0, 1].map(|_| random(numbers, m * k, 3));
    let scales: [Vec<i64>; 2] = [0, 1].map(|_| random(numbers, m * k / 32, 2));
    let c = random(numbers, m * m, 50);
    let mut bytes = Vec::new();
    for (side, format) in formats.into_iter().enumerate() {
        let (format, bits, words) = SCALED[format];
        let mut region = vec![0; words * 4 * 64];
        for lane in 0..64 {
            for item in 0..32 {
                let value = values[side][lane % m * k + lane / m * 32 + item];
                let cell = format.encode(value as f64, Rounding::NearestEven);
                put(&mut region, lane * words * 32 + item * bits as usize, bits, cell);
            }
        }
        bytes.extend(region);
    }
    let lanes_of_c = [powers(1, m, 1), powers(4, 256 / m, 0)].concat();
    let items_of_c = if m == 16 { powers(1, 4, 0) } else { [powers(1, 4, 0), powers(8, 32, 0)].concat() };
    for lane in 0..64 {
        for item in 0..items {
            let [i, j, _] = place(&lanes_of_c, &items_of_c, lane, item);
            bytes.extend((c[i * m + j] as f32).to_le_bytes());
        }
    }
    for (side, scales) in scales.iter().enumerate() {
        for lane in 0..64 {
            let exponent = (127 + scales[lane % m * (k / 32) + lane / m]) as u32;
            bytes.extend((exponent << (8 * side)).to_le_bytes());
        }
    }
    let start = bytes.len();
    bytes.resize(start + items * 4 * 64, 0);
    let mut words: Vec<u32> =
        bytes.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    on(Arch::Gfx950).clean(&format!("{head}{tail}"), &mut words);
    for lane in 0..64 {
        for item in 0..items {
            let [i, j, _] = place(&lanes_of_c, &items_of_c, lane, item);
            let sum = (0..k).fold(c[i * m + j] as f64, |sum, at| {
                let power = scales[0][i * (k / 32) + at / 32] + scales[1][j * (k / 32) + at / 32];
                sum + (values[0][i * k + at] * values[1][j * k + at]) as f64 * 2f64.powi(power as i32)
            });
            let found = f32::from_bits(words[start / 4 + lane * items + item]);
            assert_eq!(f64::from(found), sum, "{name}: {i}, {j}");
        }
    }
}

#[test]
fn matrix_instructions_need_all_lanes_and_copies() {
    let declaration =
        "declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(float, float, <4 x float>, i32, i32, i32)";
    let body = "  %c = icmp ult i32 %t, 7
  br i1 %c, label %bb1, label %bb2
bb1:
  %d = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(float 0.0, float 0.0, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  br label %bb2
bb2:
  ret void";
    let fault = Setup::default().faults(&crate::common::kernel(declaration, body));
    assert_eq!(fault.kind, FaultKind::Misuse);
    assert!(fault.message.contains("needs all lanes"), "{fault}");
    let declaration = "declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)";
    let body = "  %h = uitofp i32 %t to half
  %x = insertelement <16 x half> zeroinitializer, half %h, i32 0
  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %x, <16 x half> zeroinitializer, <8 x float> zeroinitializer)
  ret void";
    let fault = on(Arch::Gfx1100).faults(&crate::common::kernel(declaration, body));
    assert!(fault.message.contains("lane 16 must hold what lane 0 does"), "{fault}");
}
