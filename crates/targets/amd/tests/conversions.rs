//! Random conversions between the layouts of results and operands of matrix instructions, blocked ones and padded
//! shared memory: chains of them, run by the emulator, end with the elements that they began with.
//!
//! `CHAINS=…` says how many.

use amd::lower::{Lanes, arrange};
use amd_emulator::{Argument, Checks, Fault, Launch, Memory, Program, Report};
use amdgcn_isa::Arch;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher};

/// Conversions of a chain; with as many chains they are 10,000.
const STEPS: usize = 50;
const CHAINS: usize = 200;

const SHAPES: &[[usize; 2]] = &[[16, 16], [16, 64], [32, 32], [64, 16], [64, 32], [32, 128]];
const ELEMENTS: &[&str] = &["i8", "i16", "f16", "i32"];

struct Random(u64);

impl Random {
    fn fresh() -> Random {
        let seed = std::hash::RandomState::new().build_hasher().finish() | 1;
        println!("random numbers from seed {seed:#x}");
        Random(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Two powers of two with this product.
    fn split(&mut self, product: u32) -> [u32; 2] {
        let first = 1 << self.below(product.ilog2() as usize + 1);
        [first, product / first]
    }
}

/// What runs a chain.
#[derive(Clone, Copy)]
struct Way {
    arch: Arch,
    warps: u32,
}

impl Way {
    fn lanes(self) -> u32 {
        self.arch.wave().lanes()
    }
}

fn blocked(random: &mut Random, way: Way) -> String {
    let each = [random.pick(&[1, 2, 4]), random.pick(&[1, 2, 4, 8])];
    let (lanes, warps) = (random.split(way.lanes()), random.split(way.warps));
    let order = random.pick(&[[1, 0], [0, 1]]);
    format!(
        "#ttg.blocked<{{sizePerThread = {each:?}, threadsPerWarp = {lanes:?}, warpsPerCTA = {warps:?}, order = {order:?}}}>"
    )
}

/// Of the result of a matrix instruction.
fn matrix(random: &mut Random, way: Way) -> String {
    let turned = random.pick(&[true, false]);
    let [m, n] = random.split(way.warps);
    if way.lanes() == 64 {
        let instruction = random.pick(&[[32, 32, 8], [16, 16, 16]]);
        return format!(
            "#ttg.amd_mfma<{{version = 3, warpsPerCTA = [{m}, {n}], instrShape = {instruction:?}, isTransposed = {turned}}}>"
        );
    }
    let version = if way.arch == Arch::Gfx1100 { 1 } else { 2 };
    let warps: Vec<[u32; 2]> = (0..way.warps.ilog2())
        .map(|bit| if bit < n.ilog2() { [0, 1 << bit] } else { [1 << (bit - n.ilog2()), 0] })
        .collect();
    format!(
        "#ttg.amd_wmma<{{version = {version}, isTranspose = {turned}, ctaLayout = {{warp = {warps:?}}}}}>"
    )
}

fn operand(random: &mut Random, way: Way) -> String {
    let width = match way.arch {
        Arch::Gfx1100 => 16,
        Arch::Gfx1200 => 8,
        _ => random.pick(&[4, 8]),
    };
    let (index, parent) = (random.below(2), matrix(random, way));
    format!("#ttg.dot_op<{{opIdx = {index}, parent = {parent}, kWidth = {width}}}>")
}

fn padded(random: &mut Random, [rows, columns]: [usize; 2]) -> String {
    let order = random.pick(&[[1, 0], [0, 1]]);
    let (interval, padding) = (random.pick(&[32, 64, 128]), random.pick(&[4, 8, 16]));
    format!("#ttg.padded_shared<[{interval}:+{padding}] {{order = {order:?}, shape = [{rows}, {columns}]}}>")
}

/// Addresses of all elements, row by row.
fn addresses(
    text: &mut String,
    name: &str,
    from: &str,
    [rows, columns]: [usize; 2],
    (elem, layout): (&str, &str),
) {
    let whole = |elem: &str| format!("tensor<{rows}x{columns}x{elem}, {layout}>");
    for (dim, size, shape) in [(0, rows, format!("{rows}x1")), (1, columns, format!("1x{columns}"))] {
        let line = format!("tensor<{size}xi32, #ttg.slice<{{dim = {}, parent = {layout}}}>>", 1 - dim);
        let lone = format!("tensor<{shape}xi32, {layout}>");
        let stride = if dim == 0 { columns } else { 1 };
        writeln!(
            text,
            "  %{name}r{dim} = tt.make_range {{end = {size} : i32, start = 0 : i32}} : {line}
  %{name}e{dim} = tt.expand_dims %{name}r{dim} {{axis = {} : i32}} : {line} -> {lone}
  %{name}s{dim} = arith.constant dense<{stride}> : {lone}
  %{name}m{dim} = arith.muli %{name}e{dim}, %{name}s{dim} : {lone}
  %{name}b{dim} = tt.broadcast %{name}m{dim} : {lone} -> {}",
            1 - dim,
            whole("i32")
        )
        .expect("a string");
    }
    let pointer = format!("!tt.ptr<{elem}>");
    writeln!(
        text,
        "  %{name}o = arith.addi %{name}b0, %{name}b1 : {offsets}
  %{name}p = tt.splat {from} : {pointer} -> {pointers}
  %{name} = tt.addptr %{name}p, %{name}o : {pointers}, {offsets}",
        offsets = whole("i32"),
        pointers = whole(&pointer)
    )
    .expect("a string");
}

/// A kilobyte of memory that is written in front of a chain, and read behind it: what is stored there is written over.
fn holding(way: Way, body: &str) -> String {
    let layout = format!(
        "#ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [{}], warpsPerCTA = [{}], order = [0]}}>",
        way.lanes(),
        way.warps
    );
    let memory = "!ttg.memdesc<256xi32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, \
                  #ttg.shared_memory>";
    let [numbers, pointers] = ["i32", "!tt.ptr<i32>"].map(|elem| format!("tensor<256x{elem}, {layout}>"));
    let (front, store) = body.rsplit_once("  tt.store").expect("a chain ends with a store");
    format!(
        "  %hr = tt.make_range {{end = 256 : i32, start = 0 : i32}} : {numbers}
  %hm = ttg.local_alloc %hr : ({numbers}) -> {memory}
{front}  %hv = ttg.local_load %hm : {memory} -> {numbers}
  %hs = tt.splat %out : !tt.ptr<i32> -> {pointers}
  %hp = tt.addptr %hs, %hr : {pointers}, {numbers}
  tt.store %hp, %hv : {pointers}
  tt.store{store}"
    )
}

/// A kernel that loads a block, converts it again and again, and stores it.
fn chain(random: &mut Random, way: Way, shape: [usize; 2], elem: &str) -> String {
    let block = |layout: &str| format!("tensor<{}x{}x{elem}, {layout}>", shape[0], shape[1]);
    let first = blocked(random, way);
    let mut body = String::new();
    addresses(&mut body, "x", "%in", shape, (elem, &first));
    addresses(&mut body, "y", "%out", shape, (elem, &first));
    let pointers = format!("tensor<{}x{}x!tt.ptr<{elem}>, {first}>", shape[0], shape[1]);
    writeln!(body, "  %v0 = tt.load %x : {pointers}").expect("a string");
    let mut last = first.clone();
    for step in 0..STEPS {
        let next = match random.below(5) {
            _ if step + 1 == STEPS => first.clone(),
            0 | 1 => blocked(random, way),
            2 => matrix(random, way),
            _ => operand(random, way),
        };
        let (from, to, number) = (block(&last), block(&next), step + 1);
        if random.below(4) == 0 {
            let memory = format!(
                "!ttg.memdesc<{}x{}x{elem}, {}, #ttg.shared_memory>",
                shape[0],
                shape[1],
                padded(random, shape)
            );
            writeln!(
                body,
                "  %m{step} = ttg.local_alloc %v{step} : ({from}) -> {memory}\n  %v{number} = ttg.local_load %m{step} : {memory} -> {to}"
            )
            .expect("a string");
        } else {
            writeln!(body, "  %v{number} = ttg.convert_layout %v{step} : {from} -> {to}").expect("a string");
        }
        last = next;
    }
    writeln!(body, "  tt.store %y, %v{STEPS} : {pointers}").expect("a string");
    kernel(way, elem, &body)
}

/// A kernel with this body.
fn kernel(way: Way, elem: &str, body: &str) -> String {
    let (warps, lanes) = (way.warps, way.lanes());
    format!(
        "module attributes {{\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = {warps} : i32, \"ttg.threads-per-warp\" = {lanes} : i32}} {{
tt.func public @chain(%in: !tt.ptr<{elem}> {{tt.divisibility = 16 : i32}}, %out: !tt.ptr<{elem}> {{tt.divisibility = 16 : i32}}) {{
{body}  tt.return
}}
}}
"
    )
}

/// What a chain makes of an array.
fn run(text: &str, way: Way, input: &[u8]) -> Vec<u8> {
    let (report, output, _) = execute(text, way, input);
    let report = report.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert!(report.findings.is_empty(), "{:?}\n{text}", report.findings);
    output
}

/// What the emulator says of a kernel, what it made of an array, and its code.
fn execute(text: &str, way: Way, input: &[u8]) -> (Result<Report, Box<Fault>>, Vec<u8>, String) {
    let options = ir::text::ParseOptions::default();
    let module =
        ir::text::parse(text, ttgir::registry(), options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir::verify(&module).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    let target = Lanes::new(way.arch);
    let lowered = lanes::lower(&module, &target, &lanes::Options::default());
    let mut lowered = lowered.unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    llir::passes::optimize(&mut lowered.module, &[], &mut |_, _| {});
    arrange(&mut lowered.module, way.arch);
    let program = Program::new(&lowered.module, way.arch).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::new();
    let from = memory.allocate_with(input);
    let to = memory.allocate(input.len());
    let scratch = memory.allocate(16);
    let launch = Launch {
        grid: [1, 1, 1],
        warps: way.warps,
        dynamic_lds: lowered.kernels[0].shared_bytes as usize,
        arguments: [from, to, scratch, scratch].map(Argument::from).to_vec(),
        threads: 1,
    };
    let report =
        program.launch("chain", &launch, &mut memory, Checks { counters: false, ..Checks::default() });
    let mut output = vec![0; input.len()];
    memory.read(to, &mut output).expect("it was allocated");
    (report, output, llir::print(&lowered.module))
}

#[test]
fn conversions_keep_every_element() {
    let mut random = Random::fresh();
    let count = std::env::var("CHAINS").ok().and_then(|count| count.parse().ok()).unwrap_or(CHAINS);
    for _ in 0..count {
        let way = Way {
            arch: random.pick(&[Arch::Gfx942, Arch::Gfx942, Arch::Gfx1100, Arch::Gfx1200]),
            warps: random.pick(&[1, 2, 4]),
        };
        let (shape, elem) = (random.pick(SHAPES), random.pick(ELEMENTS));
        let bytes = elem[1..].parse::<usize>().expect("a width") / 8;
        let input: Vec<u8> = (0..shape[0] * shape[1] * bytes).map(|_| random.below(256) as u8).collect();
        let text = chain(&mut random, way, shape, elem);
        assert_eq!(run(&text, way, &input), input, "{}, {} warps\n{text}", way.arch, way.warps);
    }
}

#[test]
fn conversions_of_blocks_as_large_as_the_memory_go_in_rounds() {
    let way = Way { arch: Arch::Gfx942, warps: 4 };
    let (shape, elem) = ([128, 128], "i32");
    let block = |layout: &str| format!("tensor<128x128x{elem}, {layout}>");
    let rows = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>";
    let matrix = |turned: bool| {
        format!(
            "#ttg.amd_mfma<{{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = {turned}}}>"
        )
    };
    let mut body = String::new();
    addresses(&mut body, "x", "%in", shape, (elem, rows));
    addresses(&mut body, "y", "%out", shape, (elem, rows));
    body += &format!("  %v0 = tt.load %x : tensor<128x128x!tt.ptr<{elem}>, {rows}>\n");
    let layouts = [rows.to_owned(), matrix(true), matrix(false), rows.to_owned()];
    for (step, pair) in layouts.windows(2).enumerate() {
        let [from, to] = [&pair[0], &pair[1]].map(|layout| block(layout));
        body += &format!("  %v{} = ttg.convert_layout %v{step} : {from} -> {to}\n", step + 1);
    }
    body += &format!("  tt.store %y, %v3 : tensor<128x128x!tt.ptr<{elem}>, {rows}>\n");
    let text = kernel(way, elem, &holding(way, &body));
    let mut random = Random::fresh();
    let input: Vec<u8> = (0..shape[0] * shape[1] * 4).map(|_| random.below(256) as u8).collect();
    assert_eq!(run(&text, way, &input), input, "{text}");
}

/// A kernel that copies 32-bit numbers to LDS, so many by each lane, waits for all but so many copies, and stores what
/// lies there.
fn copy(way: Way, each: u32, left: u32) -> (String, usize) {
    let count = each * way.lanes() * way.warps;
    let blocked = format!(
        "#ttg.blocked<{{sizePerThread = [{each}], threadsPerWarp = [{}], warpsPerCTA = [{}], order = [0]}}>",
        way.lanes(),
        way.warps
    );
    let shared = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>";
    let memory = format!("!ttg.memdesc<{count}xi32, {shared}, #ttg.shared_memory, mutable>");
    let [numbers, pointers] =
        ["i32", "!tt.ptr<i32>"].map(|elem| format!("tensor<{count}x{elem}, {blocked}>"));
    let param = "!tt.ptr<i32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}";
    let (warps, lanes) = (way.warps, way.lanes());
    let text = format!(
        "module attributes {{\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = {warps} : i32, \"ttg.threads-per-warp\" = {lanes} : i32}} {{
tt.func public @chain(%in: {param}, %out: {param}) {{
  %r = tt.make_range {{end = {count} : i32, start = 0 : i32}} : {numbers}
  %x = tt.splat %in : !tt.ptr<i32> -> {pointers}
  %p = tt.addptr %x, %r : {pointers}, {numbers}
  %m = ttg.local_alloc : () -> {memory}
  %c = ttg.async_copy_global_to_local %p, %m : {pointers} -> <{count}xi32, {shared}, #ttg.shared_memory, mutable>
  %g = ttg.async_commit_group tokens %c
  %w = ttg.async_wait {{num = {left} : i32}}
  %v = ttg.local_load %m : {memory} -> {numbers}
  %y = tt.splat %out : !tt.ptr<i32> -> {pointers}
  %q = tt.addptr %y, %r : {pointers}, {numbers}
  tt.store %q, %v : {pointers}
  tt.return
}}
}}
"
    );
    (text, count as usize * 4)
}

#[test]
fn copies_to_lds_pass_by_the_registers() {
    // Four bytes a lane on all of CDNA, sixteen on gfx950; what there is no instruction for is loaded and stored.
    for (arch, each, is_copied) in [
        (Arch::Gfx90a, 1, true),
        (Arch::Gfx942, 1, true),
        (Arch::Gfx942, 4, false),
        (Arch::Gfx950, 1, true),
        (Arch::Gfx950, 4, true),
        (Arch::Gfx1100, 1, false),
        (Arch::Gfx1200, 4, false),
    ] {
        let way = Way { arch, warps: 2 };
        let (text, bytes) = copy(way, each, 0);
        let input: Vec<u8> = (0..bytes).map(|at| (at * 7 % 251) as u8).collect();
        let (report, output, code) = execute(&text, way, &input);
        let report = report.unwrap_or_else(|fault| panic!("{arch}: {fault}"));
        assert!(report.findings.is_empty(), "{arch}: {:?}", report.findings);
        assert_eq!(output, input, "{arch}, {each}");
        assert_eq!(
            code.contains("call void @llvm.amdgcn.raw.ptr.buffer.load.lds"),
            is_copied,
            "{arch}, {each}"
        );
    }
}

#[test]
fn a_wait_that_leaves_the_copy_going_on_is_found() {
    let way = Way { arch: Arch::Gfx950, warps: 2 };
    let (text, bytes) = copy(way, 4, 1);
    let (report, output, _) = execute(&text, way, &vec![1; bytes]);
    let is_found = report.is_err() || report.is_ok_and(|report| !report.findings.is_empty());
    assert!(is_found, "{output:?}");
}
