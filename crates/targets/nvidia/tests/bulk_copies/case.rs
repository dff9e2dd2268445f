//! Products of random blocks by descriptors: compiled, run on the emulator, and compared.

use emulator::{Argument, Checks, Launch, Memory, Program};
use ir::text::{ParseOptions, parse};
use lanes::Options;
use nvidia::lower::Lanes;
use nvidia::{machine, maps, pipeline, ptx};
use ptx_isa::Arch;
use target::{Guards, MapRecipe, PairFacts};
use ttgir::{Machine, Roles};
use ttir::ops::func::{FuncOp, kernels};
use ttir::testing::Random;

/// `c = a · b` in blocks of 64 × 64, of which `rounds` follow each other along k; `SECOND` is the right operand.
pub(crate) const PRODUCT: &str = r"
tt.func public @product(%a: !tt.tensordesc<64x64xf16>, %am: i32, %ak: i32, %as: i64, %a1: i64, %b: !tt.tensordesc<64x64xf16>, %bm: i32, %bk: i32, %bs: i64, %b1: i64, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %rounds: i32) {
  %none = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %side = arith.constant 64 : i32
  %sum = scf.for %i = %zero to %rounds step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %k = arith.muli %i, %side : i32
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    SECOND
    %d = tt.dot %x, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  } {tt.num_stages = STAGES : i32}
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %r = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %w = arith.constant dense<64> : tensor<64x1xi32>
  %s = arith.muli %r, %w : tensor<64x1xi32>
  %j = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %sb = tt.broadcast %s : tensor<64x1xi32> -> tensor<64x64xi32>
  %jb = tt.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %sb, %jb : tensor<64x64xi32>
  %cb = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %p = tt.addptr %cb, %o : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %p, %sum : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
";
pub(crate) const ROWS: &str =
    "%y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>";
pub(crate) const COLUMNS: &str =
    "%z = tt.descriptor_load %b[%zero, %k] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    %y = tt.trans %z {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>";

/// What is done in each iteration in place of one dot: `s = a · bᵀ`, then `acc = s · b - acc`, which begins with
/// threes.
pub(crate) const CHAIN: &str =
    "%z = tt.trans %y {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %z, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %less = arith.mulf %acc, %minus : tensor<64x64xf32>
    %d = tt.dot %p, %y, %less : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>";

/// A compiled product.
pub(crate) struct Compiled {
    pub(crate) ptx: String,
    pub(crate) maps: Vec<MapRecipe>,
    /// What launches must be for it.
    pub(crate) guards: Guards,
    pub(crate) shared: u32,
    pub(crate) threads: u32,
    /// Whether it takes a number of tiles.
    pub(crate) tiled: bool,
    /// Whether it takes the number of programs and loops over them.
    pub(crate) persistent: target::ProgramLoop,
    /// Whether two programs are a cluster.
    pub(crate) paired: bool,
    /// Of which tensors two programs read the same.
    pub(crate) pairs: Vec<PairFacts>,
    /// Bytes of the device's memory that it asks for.
    pub(crate) scratch: u64,
}

/// The same product, stored by a descriptor.
pub(crate) fn stored() -> String {
    let (head, rest) =
        PRODUCT.split_once("%c: !tt.ptr<f32> {tt.divisibility = 16 : i32}, ").expect("a pointer");
    let (rest, tail) = rest.split_once("  %i = tt.make_range").expect("an epilogue");
    assert!(tail.contains("tt.store"));
    let c = "%c: !tt.tensordesc<64x64xf32>, %cm: i32, %cn: i32, %cs: i64, %c1: i64, ";
    let store = "  tt.descriptor_store %c[%zero, %zero], %sum : !tt.tensordesc<64x64xf32>, tensor<64x64xf32>\n  tt.return\n}\n";
    format!("{head}{c}{rest}{store}").replace("SECOND", ROWS).replace("STAGES", "3")
}

pub(crate) fn compile_stored() -> Compiled {
    compile_text(&stored(), 3, 4)
}

/// The kernel for rows of multiples of 16 bytes: lanes have nothing to store at their ends.
pub(crate) fn whole_rows(stored: &str) -> String {
    stored.replacen("%cn: i32", "%cn: i32 {tt.divisibility = 16 : i32}", 1)
}

/// The product as one of `%tiles` below each other, made one after the other by a loop that says `tt.flatten`.
pub(crate) fn tiled(text: &str) -> String {
    let loops = "  scf.for %t = %zero to %tiles step %one : i32 {
    %row = arith.muli %t, %side : i32
    %place = arith.muli %row, %side : i32
    %base = tt.splat %place : i32 -> tensor<64x64xi32>
  %sum = scf.for";
    let text = text.replace("%rounds: i32)", "%rounds: i32, %tiles: i32)").replace("  %sum = scf.for", loops);
    let text = text.replace("%a[%zero, %k]", "%a[%row, %k]").replace("%c[%zero, %zero]", "%c[%row, %zero]");
    let text = text.replace(
        "  %o = arith.addi %sb, %jb",
        "  %in = arith.addi %base, %sb : tensor<64x64xi32>\n  %o = arith.addi %in, %jb",
    );
    text.replace("  tt.return", "  } {tt.flatten}\n  tt.return")
}

/// The same tiles by descriptors that the kernel makes of sizes which it computes, once more for each tile.
pub(crate) fn made(text: &str) -> String {
    let mut text = text.to_owned();
    let mut making = String::from(
        "  %row = arith.muli %t, %side : i32\n    %long = arith.constant 1 : i64\n    %most = arith.constant 65536 : i32\n",
    );
    for (name, elem, sizes) in
        [("a", "f16", ["am", "ak"]), ("b", "f16", ["bm", "bk"]), ("c", "f32", ["cm", "cn"])]
    {
        let passed = format!("%{name}: !tt.tensordesc<64x64x{elem}>");
        assert!(text.contains(&passed));
        text = text.replace(&passed, &format!("%{name}p: !tt.ptr<{elem}>"));
        for size in sizes {
            making += &format!("    %{size}_least = arith.minsi %{size}, %most : i32\n");
        }
        making += &format!(
            "    %{name} = tt.make_tensor_descriptor %{name}p, [%{0}_least, %{1}_least], [%{name}s, %long] : <{elem}>, <64x64x{elem}>\n",
            sizes[0], sizes[1]
        );
    }
    text.replace("  %row = arith.muli %t, %side : i32\n", &making)
}

pub(crate) fn compile(second: &str, stages: u32, num_warps: u32) -> Compiled {
    compile_text(&PRODUCT.replace("SECOND", second).replace("STAGES", &stages.to_string()), stages, num_warps)
}

/// Two products of which one needs the other's result.
pub(crate) fn compile_chain(stages: u32, num_warps: u32) -> Compiled {
    let (load, dot) = ("%x = tt.descriptor_load %a[%zero, %k]", "%d = tt.dot %x, %y, %acc");
    let line = |word: &str| PRODUCT.lines().find(|line| line.contains(word)).expect("it is there");
    let first = line(load).replace("%x", "%q").replace("%k]", "%zero]");
    let begin = "%three = arith.constant dense<3.000000e+00> : tensor<64x64xf32>
  %minus = arith.constant dense<-1.000000e+00> : tensor<64x64xf32>\n";
    let text = PRODUCT
        .replace(line(load), "")
        .replace(line(dot), CHAIN)
        .replace("  %sum = scf.for", &format!("  {begin}{first}\n  %sum = scf.for"))
        .replace("%acc = %none", "%acc = %three")
        .replace("SECOND", ROWS)
        .replace("STAGES", &stages.to_string());
    compile_for(&text, stages, num_warps, &|machine| machine.roles = Roles::Asked)
}

pub(crate) fn compile_text(text: &str, stages: u32, num_warps: u32) -> Compiled {
    compile_for(text, stages, num_warps, &|machine| machine.turns = Some(64))
}

/// Compiles such that all warps do the same, unless a loop asks for something else.
pub(crate) fn compile_alike(text: &str) -> Compiled {
    compile_for(text, 3, 4, &|machine| machine.roles = Roles::Asked)
}

/// Compiles for a machine that somebody changes.
pub(crate) fn compile_for(
    text: &str,
    stages: u32,
    num_warps: u32,
    change: &dyn Fn(&mut Machine),
) -> Compiled {
    let mut module =
        parse(text, ttir::registry(), ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let compiled = compile_module(&mut module, stages, num_warps, change);
    Compiled { tiled: text.contains("%tiles"), ..compiled }
}

/// Compiles a module for a machine that somebody changes.
pub(crate) fn compile_module(
    module: &mut ir::Module,
    stages: u32,
    num_warps: u32,
    change: &dyn Fn(&mut Machine),
) -> Compiled {
    let machine = machine::changed(machine::machine(90).expect("known"), change);
    let how = pipeline::Options { num_warps, num_ctas: 1, num_stages: stages };
    pipeline::to_ttgir(module, 90, machine, &how, ir::pass::Verify::Each, &mut ())
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    let target = Lanes::new(90, machine);
    let mut lowered =
        lanes::lower(module, &target, &Options::default()).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let kernel = kernels(module).next().expect("a kernel").op;
    let maps = maps::of_kernel(module, kernel).expect("maps");
    let guards = maps::guards(module, kernel).expect("guards");
    ptx::optimize(&mut lowered.module, &mut |_, _| {});
    let emitted = ptx::emit(&lowered.module, &ptx::Options::new(Arch::of_capability(90).expect("known")));
    let facts = &lowered.kernels[0];
    Compiled {
        ptx: emitted.unwrap_or_else(|errors| panic!("{}", errors[0])).text,
        maps,
        guards,
        shared: facts.shared_bytes,
        threads: facts.lanes * facts.total_warps,
        tiled: false,
        persistent: maps::persistent(module, FuncOp::new(module, kernel).entry()),
        paired: facts.paired,
        pairs: maps::pairs(module, kernel).expect("pairs"),
        scratch: facts.global_scratch.bytes,
    }
}

/// Matrices of small whole numbers, and their product.
pub(crate) struct Case {
    pub(crate) sizes: [usize; 3],
    pub(crate) a: Vec<i32>,
    pub(crate) b: Vec<i32>,
    pub(crate) transposed: bool,
    /// Whether the kernel stores by a descriptor.
    pub(crate) stored: bool,
    /// Blocks below each other.
    pub(crate) tiles: usize,
    pub(crate) rounds: usize,
}

impl Case {
    pub(crate) fn random(random: &mut Random, sizes: [usize; 3], transposed: bool) -> Case {
        let [m, n, k] = sizes;
        let mut numbers = |count: usize| (0..count).map(|_| random.below(9) as i32 - 4).collect();
        Case {
            sizes,
            a: numbers(m * k),
            b: numbers(k * n),
            transposed,
            stored: false,
            tiles: 1,
            rounds: k.div_ceil(64),
        }
    }

    /// What a chain of dots leaves: `a` is 64 columns wide and has 64 rows for each tile, and `b` has 64 rows for each
    /// iteration.
    pub(crate) fn chain(&self) -> Vec<f32> {
        let [m, n, k] = self.sizes;
        let a = |row: usize, column: usize| {
            if row < m && column < k { self.a[row * k + column] } else { 0 }
        };
        let b = |row: usize, column: usize| {
            if row < k && column < n { self.b[row * n + column] } else { 0 }
        };
        let mut sums = vec![3; self.tiles * 64 * 64];
        for round in 0..self.rounds {
            let at = |row: usize, column: usize| b(64 * round + row, column);
            let score = |row: usize, key: usize| (0..64).map(|i| a(row, i) * at(key, i)).sum::<i32>();
            let scores: Vec<i32> = (0..sums.len()).map(|place| score(place / 64, place % 64)).collect();
            for (place, sum) in sums.iter_mut().enumerate() {
                let term = |key: usize| scores[place / 64 * 64 + key] * at(key, place % 64);
                *sum = (0..64).map(term).sum::<i32>() - *sum;
            }
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }

    /// Of the blocks of 64 × 64, with zeros outside of the matrices.
    pub(crate) fn product(&self) -> Vec<f32> {
        let [m, n, k] = self.sizes;
        let at = |row: usize, column: usize| {
            let term = |i: usize| self.a[row * k + i] * self.b[i * n + column];
            if row < m && column < n { (0..k).map(term).sum::<i32>() as f32 } else { 0.0 }
        };
        (0..self.tiles * 64 * 64).map(|place| at(place / 64, place % 64)).collect()
    }

    /// Rows in memory, each beginning at a multiple of 16 bytes, with what stands between them poisoned; and their
    /// stride.
    fn rows(
        &self,
        memory: &mut Memory,
        rows: usize,
        columns: usize,
        at: impl Fn(usize, usize) -> i32,
    ) -> (u64, u64) {
        let stride = columns.next_multiple_of(8);
        let bits = |row: usize, column: usize| if column < columns { half(at(row, column)) } else { 0x7e00 };
        let place = |index: usize| bits(index / stride, index % stride).to_le_bytes();
        let bytes: Vec<u8> = (0..rows * stride).flat_map(place).collect();
        (memory.allocate_with(&bytes), stride as u64)
    }

    /// What the emulator says of a text, and what it leaves.
    pub(crate) fn run(&self, compiled: &Compiled, text: &str) -> Result<Vec<f32>, String> {
        self.run_under(compiled, text, 0)
    }

    /// The same where warps take turns as a schedule says.
    pub(crate) fn run_under(
        &self,
        compiled: &Compiled,
        text: &str,
        schedule: u64,
    ) -> Result<Vec<f32>, String> {
        let [m, n, k] = self.sizes;
        let mut memory = Memory::new();
        let (a, a_stride) = self.rows(&mut memory, m, k, |row, column| self.a[row * k + column]);
        let (b, b_stride) = if self.transposed {
            self.rows(&mut memory, n, k, |row, column| self.b[column * n + row])
        } else {
            self.rows(&mut memory, k, n, |row, column| self.b[row * n + column])
        };
        let c = memory.allocate_with(&vec![0xff; self.tiles * 64 * 64 * 4]);
        let (b_rows, b_columns) = if self.transposed { (n, k) } else { (k, n) };
        let rounds = self.rounds as u64;
        let mut slots = vec![
            a,
            m as u64,
            k as u64,
            a_stride,
            1,
            b,
            b_rows as u64,
            b_columns as u64,
            b_stride,
            1,
            c,
            rounds,
            self.tiles as u64,
        ];
        if !compiled.tiled {
            slots.pop();
        }
        if self.stored {
            // Behind the address stand sizes and strides, and rows keep their distance of 64.
            slots.splice(11..11, [m as u64, n as u64, 64, 1]);
        }
        let program = Program::parse(text).map_err(|error| error.to_string())?;
        let entry = program.entry("product").ok_or("no entry")?;
        let maps = compiled
            .maps
            .iter()
            .map(|map| maps::emulated(map, &slots, None).expect("arguments").encode().to_vec());
        let values = slots.iter().map(|slot| slot.to_le_bytes().to_vec()).chain(maps);
        let scratch = memory.allocate(compiled.scratch as usize + 128).next_multiple_of(128);
        let values = values.chain([scratch.to_le_bytes().to_vec(), [0; 8].to_vec()]);
        let cut = |(param, value): (&emulator::Param, Vec<u8>)| Argument(value[..param.bytes].to_vec());
        let launch = Launch {
            grid: [1; 3],
            cluster: [1; 3],
            block: [compiled.threads, 1, 1],
            dynamic_shared: compiled.shared as usize,
            arguments: entry.params.iter().zip(values).map(cut).collect(),
            schedule,
        };
        let checks = Checks { counters: false, max_instructions: 2_000_000, ..Checks::default() };
        let report =
            program.launch("product", &launch, &mut memory, checks).map_err(|fault| fault.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(finding.to_string());
        }
        let mut bytes = vec![0; self.tiles * 64 * 64 * 4];
        memory.read(c, &mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

/// The bits of a small whole number as a 16-bit float.
pub(crate) fn half(number: i32) -> u16 {
    let [zero, one, two, three, four] = [0, 0x3c00, 0x4000, 0x4200, 0x4400];
    let magnitude = [zero, one, two, three, four][number.unsigned_abs() as usize];
    magnitude | if number < 0 { 0x8000 } else { 0 }
}

/// The statements of a text that order copies, each with the text without it.
pub(crate) fn without_each(text: &str) -> Vec<(String, String)> {
    const ORDERING: &[&str] = &[
        "mbarrier.init",
        "mbarrier.arrive",
        "mbarrier.try_wait",
        "bar.sync",
        "cp.async.bulk",
        "wgmma.wait_group",
    ];
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    // The barrier in front of the first `inval` orders what the one of each iteration has ordered.
    let end = lines.iter().position(|line| line.contains("mbarrier.inval")).expect("barriers end") - 1;
    for (at, line) in lines[..end].iter().enumerate() {
        if !ORDERING.iter().any(|word| line.contains(word)) {
            continue;
        }
        let mut left = lines.clone();
        // A wait that asks nobody is one that is over at once.
        let over = "\tsetp.eq.u32 complete, 0, 0;";
        left[at] = if line.contains("try_wait") { over } else { "" };
        out.push((format!("line {}: {}", at + 1, line.trim()), left.join("\n")));
    }
    out
}

/// Whether the emulator lets a text pass and the result is right.
pub(crate) fn passes(case: &Case, compiled: &Compiled, text: &str, expected: &[f32]) -> bool {
    case.run(compiled, text).is_ok_and(|found| found == expected)
}

/// Products of several tiles, in one run of a kernel.
pub(crate) fn check_tiles(text: &str, stored: bool) -> Compiled {
    let compiled = compile_alike(text);
    check_tiles_under(&compiled, stored, 0);
    compiled
}

/// The same under a schedule.
pub(crate) fn check_tiles_under(compiled: &Compiled, stored: bool, schedule: u64) {
    let mut random = Random::new(12);
    for (tiles, k) in [(3, 64 * 5), (4, 64), (2, 64 * 2), (5, 7), (1, 64 * 4), (3, 0), (0, 64)] {
        let rows = if tiles == 0 { 64 } else { 64 * tiles - 14 };
        let case = Case { stored, tiles, ..Case::random(&mut random, [rows, 37, k.max(1)], false) };
        let case = if k == 0 {
            Case { sizes: [rows, 37, 0], a: vec![], b: vec![], rounds: 0, ..case }
        } else {
            case
        };
        let found = case.run_under(compiled, &compiled.ptx, schedule);
        let found = found.unwrap_or_else(|error| panic!("{tiles} tiles, k {k}: {error}\n{}", compiled.ptx));
        let expected = case.product();
        for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
            let inside = !stored || place / 64 < rows && place % 64 < 37;
            let same = if inside { *found == expected } else { found.to_bits() == u32::MAX };
            assert!(same, "{tiles} tiles, k {k}, at {place}: {found}, not {expected}");
        }
    }
}
