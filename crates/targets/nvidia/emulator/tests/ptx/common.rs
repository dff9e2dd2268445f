//! What the tests share: random numbers, and kernels made of a few lines that run for every lane.

use emulator::{Argument, Checks, Fault, Launch, Memory, Program, Report};
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};

/// Numbers that differ in every run; the seed is printed, so a failure can be repeated.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn fresh() -> Random {
        let seed = std::hash::RandomState::new().build_hasher().finish() | 1;
        println!("random numbers from seed {seed:#x}");
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    /// Bits of which some are extreme: zeros, ones, powers of two.
    pub(crate) fn bits(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << self.below(64),
            3 => (1 << self.below(64)) - 1,
            _ => self.next(),
        }
    }

    /// A number from -4 to 4, with a few bits of fraction.
    pub(crate) fn small(&mut self) -> f32 {
        (self.below(2049) as f32 - 1024.0) / 256.0
    }

    /// Bits of a single: any, extreme ones among them.
    pub(crate) fn single(&mut self) -> f32 {
        const EXTREMES: [f32; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MIN_POSITIVE,
            f32::MAX,
            1e-40,
            -1e-40,
            65519.0,
        ];
        match self.below(4) {
            0 => EXTREMES[self.below(12) as usize],
            1 => self.small(),
            _ => f32::from_bits(self.next() as u32),
        }
    }

    pub(crate) fn cells(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.bits()).collect()
    }
}

/// A text with one entry `k` of some parameters and a body.
pub(crate) fn entry(params: &str, body: &str) -> String {
    entry_for("sm_90a", params, body)
}

fn entry_for(arch: &str, params: &str, body: &str) -> String {
    format!(
        ".version 8.7\n.target {arch}\n.address_size 64\n.visible .entry k({params})\n{{\n{body}\nret;\n}}\n"
    )
}

pub(crate) fn parse(text: &str) -> Program {
    match Program::parse(text) {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Runs entry `k` with so many threads.
pub(crate) fn launch(
    text: &str,
    threads: u32,
    arguments: Vec<Argument>,
    memory: &mut Memory,
) -> Result<Report, Box<Fault>> {
    let launch = Launch { block: [threads, 1, 1], arguments, ..Launch::default() };
    parse(text).launch("k", &launch, memory, Checks::default())
}

/// The same, and nothing may be wrong with it.
pub(crate) fn clean(text: &str, threads: u32, arguments: Vec<Argument>, memory: &mut Memory) -> Report {
    let report = launch(text, threads, arguments, memory).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    if let Some(finding) = report.findings.first() {
        panic!(
            "{finding}
{text}"
        );
    }
    report
}

fn bits_of(ty: &str) -> u32 {
    ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().expect("a type ends in its width")
}

/// Runs `body` for every element: `%a0`, `%a1`, … (registers of types `b16`, `b32`, `b64`) hold the inputs, `%d`
/// takes the result. There are predicates `%p0` to `%p7` and registers `%h`, `%r`, `%q` (0 to 15) of 16, 32, 64 bits.
pub(crate) fn each(inputs: &[(&str, &[u64])], result: &str, body: &str) -> Vec<u64> {
    each_for("sm_90a", inputs, result, body)
}

/// The same for another architecture.
pub(crate) fn each_for(arch: &str, inputs: &[(&str, &[u64])], result: &str, body: &str) -> Vec<u64> {
    let count = inputs.first().map_or(32, |(_, cells)| cells.len());
    assert!(count.is_multiple_of(32), "whole warps");
    let mut memory = Memory::new();
    let mut text = String::from(
        ".reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %q<16>;
         .reg .b32 %t<4>; .reg .b64 %x<4>;
         mov.u32 %t0, %ctaid.x; mov.u32 %t1, %tid.x; shl.b32 %t0, %t0, 5; add.s32 %t0, %t0, %t1;",
    );
    let mut params = String::new();
    let mut arguments: Vec<Argument> = Vec::new();
    for (index, (ty, cells)) in inputs.iter().enumerate() {
        let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        arguments.push(memory.allocate_with(&bytes).into());
        let _ = write!(params, ".param .u64 in{index}, ");
        let width = bits_of(ty);
        let _ = write!(text, "\n.reg .{ty} %a{index};\nld.param.u64 %x0, [in{index}];");
        let _ = write!(text, "\nmad.wide.u32 %x0, %t0, 8, %x0;\nld.global.u{width} %a{index}, [%x0];");
    }
    let out = memory.allocate(count * 8);
    arguments.push(out.into());
    let width = bits_of(result);
    let _ = write!(
        text,
        "\n.reg .{result} %d;\n{body}\nld.param.u64 %x0, [out];\nmad.wide.u32 %x0, %t0, 8, %x0;"
    );
    let _ = write!(text, "\nst.global.b{width} [%x0], %d;");
    let text = entry_for(arch, &format!("{params}.param .u64 out"), &text);
    let launch =
        Launch { grid: [count as u32 / 32, 1, 1], block: [32, 1, 1], arguments, ..Launch::default() };
    let report = parse(&text).launch("k", &launch, &mut memory, Checks::default());
    let report = report.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert!(report.findings.is_empty(), "{}\n{text}", report.findings[0]);
    let mut bytes = vec![0; count * 8];
    memory.read(out, &mut bytes).expect("the buffer is there");
    bytes.chunks(8).map(|cell| u64::from_le_bytes(cell.try_into().expect("eight bytes"))).collect()
}

/// Checks an instruction on pairs of random values against a formula.
pub(crate) fn check2(ty: &str, body: &str, formula: impl Fn(u64, u64) -> u64) {
    let mut random = Random::fresh();
    let (a, b) = (random.cells(256), random.cells(256));
    let width = bits_of(ty);
    let mask = u64::MAX >> (64 - width);
    let got = each(&[(ty, &a), (ty, &b)], ty, body);
    for index in 0..a.len() {
        let (a, b) = (a[index] & mask, b[index] & mask);
        assert_eq!(got[index], formula(a, b) & mask, "{body} of {a:#x}, {b:#x}");
    }
}

/// Reads numbers of 32 bits.
pub(crate) fn words(memory: &mut Memory, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; count * 4];
    memory.read(address, &mut bytes).expect("the buffer is there");
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// Puts numbers of 32 bits into a new buffer.
pub(crate) fn put_words(memory: &mut Memory, words: &[u32]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.allocate_with(&bytes)
}
