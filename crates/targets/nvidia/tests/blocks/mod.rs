//! Kernels on blocks of random layouts, as text, and running them by the emulator, whose checks must find nothing.

use emulator::{Argument, Checks, Launch, Memory, Program};
use ir::text::{ParseOptions, parse};
use lanes::Options;
use nvidia::lower::Lanes;
use nvidia::ptx;
use ptx_isa::Arch;
use std::fmt::Write as _;

/// Numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Runs kernel `f` of a module on buffers; answers what they hold afterwards.
pub(crate) fn run(text: &str, num_warps: u32, buffers: &[Vec<u8>]) -> Vec<Vec<u8>> {
    run_with(text, num_warps, buffers, &mut |_| ())
}

/// The same; `see` is shown the assembly.
pub(crate) fn run_with(
    text: &str,
    num_warps: u32,
    buffers: &[Vec<u8>],
    see: &mut dyn FnMut(&str),
) -> Vec<Vec<u8>> {
    let head = format!(
        "module attributes {{\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = {num_warps} : i32, ttg.target = \
         \"cuda:90\", \"ttg.threads-per-warp\" = 32 : i32}} {{\n{text}}}\n"
    );
    let module = parse(&head, ttgir::registry(), ParseOptions { file: Some("f") })
        .unwrap_or_else(|error| panic!("{error}\n{head}"));
    ir::verify(&module).unwrap_or_else(|errors| panic!("{}\n{head}", errors[0]));
    let target = Lanes::new(90, nvidia::machine::machine(90).expect("a machine"));
    let lowered = lanes::lower(&module, &target, &Options::default())
        .unwrap_or_else(|errors| panic!("{}\n{head}", errors[0]));
    llir::verify(&lowered.module).unwrap_or_else(|errors| panic!("{}\n{}", errors[0], lowered.module));
    let arch = Arch::of_capability(90).expect("an architecture");
    let emitted = ptx::emit(&lowered.module, &ptx::Options::new(arch))
        .unwrap_or_else(|errors| panic!("{}\n{}", errors[0], lowered.module));
    see(&emitted.text);
    let program = Program::parse(&emitted.text).unwrap_or_else(|error| panic!("{error}\n{}", emitted.text));
    let mut memory = Memory::new();
    let addresses: Vec<u64> = buffers.iter().map(|bytes| memory.allocate_with(bytes)).collect();
    let mut arguments: Vec<Argument> = addresses.iter().map(|address| (*address).into()).collect();
    arguments.extend([Argument::from(memory.allocate(16)), 0u64.into()]);
    let launch = Launch {
        block: [32 * num_warps, 1, 1],
        dynamic_shared: lowered.kernels[0].shared_bytes as usize,
        arguments,
        ..Launch::default()
    };
    let checks = Checks { counters: false, ..Checks::default() };
    let report = program
        .launch("f", &launch, &mut memory, checks)
        .unwrap_or_else(|fault| panic!("{fault}\n{head}\n{}", emitted.text));
    if let Some(finding) = report.findings.first() {
        panic!("{:?}: {finding}\n{head}\n{}", finding.kind, emitted.text);
    }
    let read = |(address, bytes): (&u64, &Vec<u8>)| {
        let mut buffer = vec![0; bytes.len()];
        memory.read(*address, &mut buffer).expect("the buffer is there");
        buffer
    };
    addresses.iter().zip(buffers).map(read).collect()
}

/// A random layout of a block on so many warps, as text: a permutation of bits, with copies, perhaps mixed.
pub(crate) fn linear(random: &mut Random, shape: &[usize], num_warps: u32, plain: bool) -> String {
    let bits: Vec<(usize, usize)> = shape
        .iter()
        .enumerate()
        .flat_map(|(dim, size)| (0..size.ilog2() as usize).map(move |bit| (dim, 1 << bit)))
        .collect();
    let warps = num_warps.ilog2() as usize;
    let unit = |&(dim, at): &(usize, usize)| {
        let mut basis = vec![0; shape.len()];
        basis[dim] = at;
        basis
    };
    let mut columns: Vec<Vec<usize>> = bits.iter().map(unit).collect();
    let registers = bits.len().saturating_sub(5 + warps) + random.below(2);
    let registers = registers.min(7);
    let total = (registers + 5 + warps).max(columns.len());
    let registers = total - 5 - warps;
    columns.resize(total, vec![0; shape.len()]);
    for at in (1..total).rev() {
        columns.swap(at, random.below(at + 1));
    }
    if !plain {
        for _ in 0..total {
            let (to, from) = (random.below(total), random.below(total));
            if to != from {
                let from = columns[from].clone();
                columns[to].iter_mut().zip(from).for_each(|(to, from)| *to ^= from);
            }
        }
    }
    let (register, rest) = columns.split_at(registers);
    let (lane, warp) = rest.split_at(5);
    format!("#ttg.linear<{{register = {register:?}, lane = {lane:?}, warp = {warp:?}, block = []}}>")
}

/// The usual layout of a block.
pub(crate) fn blocked(shape: &[usize], num_warps: u32) -> String {
    let rank = shape.len();
    let (mut lanes, mut warps) = (vec![1; rank], vec![1; rank]);
    (lanes[rank - 1], warps[0]) = (32, num_warps);
    let order: Vec<usize> = (0..rank).rev().collect();
    format!(
        "#ttg.blocked<{{sizePerThread = {:?}, threadsPerWarp = {lanes:?}, warpsPerCTA = {warps:?}, order = {order:?}}}>",
        vec![1; rank]
    )
}

pub(crate) fn dims(shape: &[usize]) -> String {
    shape.iter().map(|size| format!("{size}x")).collect()
}

/// Code that makes pointers to all elements of a block, row by row, from a pointer.
pub(crate) fn pointers(out: &mut String, name: &str, from: &str, shape: &[usize], elem: &str, enc: &str) {
    let ty = |elem: &str| format!("tensor<{}{elem}, {enc}>", dims(shape));
    let ptr = format!("!tt.ptr<{elem}>");
    let mut sum = format!("%{name}z");
    writeln!(out, "  {sum} = arith.constant dense<0> : {}", ty("i32")).unwrap();
    for (dim, size) in shape.iter().enumerate() {
        let stride: usize = shape[dim + 1..].iter().product();
        // Take out the other dimensions, the last first; put them back from the first on.
        let others: Vec<usize> = (0..shape.len()).filter(|&other| other != dim).collect();
        let mut encodings = vec![enc.to_owned()];
        for other in others.iter().rev() {
            let parent = encodings.last().unwrap();
            encodings.push(format!("#ttg.slice<{{dim = {other}, parent = {parent}}}>"));
        }
        let mut sizes = vec![*size];
        let mut value = format!("%{name}r{dim}");
        let line = encodings.last().unwrap();
        writeln!(
            out,
            "  {value} = tt.make_range {{end = {size} : i32, start = 0 : i32}} : tensor<{size}xi32, {line}>"
        )
        .unwrap();
        for (step, other) in others.iter().enumerate() {
            let from = format!("tensor<{}i32, {}>", dims(&sizes), encodings[encodings.len() - 1 - step]);
            sizes.insert(*other, 1);
            let to = format!("tensor<{}i32, {}>", dims(&sizes), encodings[encodings.len() - 2 - step]);
            let next = format!("%{name}e{dim}_{step}");
            writeln!(out, "  {next} = tt.expand_dims {value} {{axis = {other} : i32}} : {from} -> {to}")
                .unwrap();
            value = next;
        }
        let lone = format!("tensor<{}i32, {enc}>", dims(&sizes));
        writeln!(out, "  %{name}s{dim} = arith.constant dense<{stride}> : {lone}").unwrap();
        writeln!(out, "  %{name}m{dim} = arith.muli {value}, %{name}s{dim} : {lone}").unwrap();
        let mut whole = format!("%{name}m{dim}");
        if sizes != shape {
            whole = format!("%{name}b{dim}");
            writeln!(out, "  {whole} = tt.broadcast %{name}m{dim} : {lone} -> {}", ty("i32")).unwrap();
        }
        let next = format!("%{name}t{dim}");
        writeln!(out, "  {next} = arith.addi {sum}, {whole} : {}", ty("i32")).unwrap();
        sum = next;
    }
    writeln!(out, "  %{name}p = tt.splat {from} : {ptr} -> {}", ty(&ptr)).unwrap();
    writeln!(out, "  %{name} = tt.addptr %{name}p, {sum} : {}, {}", ty(&ptr), ty("i32")).unwrap();
}

pub(crate) fn function(params: &[&str], body: &str) -> String {
    let params: Vec<String> = params
        .iter()
        .enumerate()
        .map(|(at, elem)| format!("%arg{at}: !tt.ptr<{elem}> {{tt.divisibility = 16 : i32}}"))
        .collect();
    format!("tt.func public @f({}) {{\n{body}  tt.return\n}}\n", params.join(", "))
}

pub(crate) fn block(shape: &[usize], elem: &str, enc: &str) -> String {
    format!("tensor<{}{elem}, {enc}>", dims(shape))
}

pub(crate) fn bytes(elem: &str) -> usize {
    elem[1..].trim_start_matches('f').parse::<usize>().expect("a width") / 8
}
