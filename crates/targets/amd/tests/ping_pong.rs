//! Two groups of warps half an iteration apart: what they make is right, and each barrier that it takes is needed.

use amd::lower::Lanes;
use amd::machine::{Copies, Loops, machine_for};
use amd::pipeline;
use amd_emulator::{Argument, Checks, Launch, Memory, Program};
use amdgcn_isa::Arch;
use ttgir::Machine;

/// A tile of a product of matrices, and how many iterations its sums take.
#[derive(Clone, Copy, Debug)]
struct Tile {
    arch: Arch,
    rows: usize,
    columns: usize,
    depth: usize,
    iterations: usize,
    /// Stages of the loop; b lies by columns where copies are to pass by the registers.
    stages: u32,
    /// Whether two groups of warps are to run apart; `None` leaves it to the architecture.
    apart: Option<bool>,
    /// From which work on they do, where that is not what the architecture says.
    least: Option<u64>,
}

const LARGE: Tile = Tile {
    arch: Arch::Gfx942,
    rows: 256,
    columns: 256,
    depth: 64,
    iterations: 3,
    stages: 2,
    apart: None,
    least: None,
};
const MEDIUM: Tile = Tile { columns: 128, ..LARGE };
/// One whose copies pass by the registers.
const COPIED: Tile = Tile { arch: Arch::Gfx950, stages: 3, iterations: 4, depth: 32, ..LARGE };

/// The bits of the halves from -3 to 3.
const HALVES: [u16; 7] = [0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200];

/// The call of a barrier.
const BARRIER: &str = "call void @llvm.amdgcn.s.barrier()";

impl Tile {
    fn by_columns(self) -> bool {
        self.stages > 2
    }

    fn source(self) -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/amd/matmul_tile.ttir");
        let text = std::fs::read_to_string(path).expect("the file is there");
        let (down, right, step) = if self.by_columns() {
            ("one", "k", self.depth)
        } else {
            ("columns", "one", self.depth * self.columns)
        };
        let [rows, columns, depth, step] =
            [self.rows, self.columns, self.depth, step].map(|size| size.to_string());
        let sizes = [
            ("ROWS", &*rows),
            ("COLUMNS", &columns),
            ("DEPTH", &depth),
            ("STEP", &step),
            ("DOWN", down),
            ("RIGHT", right),
        ];
        sizes.into_iter().fold(text, |text, (name, size)| text.replace(name, size))
    }

    /// The kernel as llir, and the bytes of LDS that it needs.
    fn llir(self) -> (String, u32) {
        let options = ir::text::ParseOptions::default();
        let mut module = ir::text::parse(&self.source(), ttir::registry(), options).expect("it parses");
        let each = ir::pass::Verify::Each;
        ir::pass::run(&mut module, ttir::passes::pipeline(), each, &mut ()).expect("it runs");
        let machine = machine_for(self.arch, Loops { copies: Copies::Asked, ping_pong: self.apart });
        let machine = match self.least {
            Some(_) => Box::leak(Box::new(Machine { ping_pong: self.least, ..*machine })),
            None => machine,
        };
        let launch = gpu::Launch { num_warps: 8, num_ctas: 1, num_stages: self.stages };
        gpu::to_ttgir(&mut module, pipeline::PASSES, machine, &launch, each, &mut ()).expect("it compiles");
        let options = lanes::Options::default();
        let mut lowered = lanes::lower(&module, &Lanes::new(self.arch), &options)
            .unwrap_or_else(|errors| panic!("{errors:?}"));
        llir::passes::optimize(&mut lowered.module, &[], &mut |_, _| {});
        amd::lower::arrange(&mut lowered.module, self.arch);
        (llir::print(&lowered.module), lowered.kernels[0].shared_bytes)
    }

    /// Runs a text on whole numbers; what is wrong with it.
    fn run(self, (text, shared): (&str, u32)) -> Result<(), String> {
        let length = self.depth * self.iterations;
        let number = |at: usize, by: usize| (at * by % 7) as i32 - 3;
        let a = |row: usize, k: usize| number(row * length + k, 5);
        let b = |k: usize, column: usize| number(k * self.columns + column, 11);
        let half = |value: i32| HALVES[(value + 3) as usize].to_le_bytes();
        let grid =
            |rows: usize, columns: usize| (0..rows * columns).map(move |at| (at / columns, at % columns));
        let left: Vec<u8> = grid(self.rows, length).flat_map(|(row, k)| half(a(row, k))).collect();
        let right: Vec<u8> = if self.by_columns() {
            grid(self.columns, length).flat_map(|(column, k)| half(b(k, column))).collect()
        } else {
            grid(length, self.columns).flat_map(|(k, column)| half(b(k, column))).collect()
        };
        let program = Program::parse(text, self.arch).map_err(|error| error.to_string())?;
        let mut memory = Memory::new();
        let mut arguments: Vec<Argument> =
            [&left, &right].map(|bytes| memory.allocate_with(bytes).into()).into();
        let size = 4 * self.rows * self.columns;
        let out = memory.allocate(size);
        arguments.extend([out.into(), (length as u32).into(), 0u64.into(), 0u64.into()]);
        let launch = Launch { grid: [1; 3], warps: 8, dynamic_lds: shared as usize, arguments, threads: 1 };
        let checks = Checks { counters: false, ..Checks::default() };
        let report =
            program.launch("tile", &launch, &mut memory, checks).map_err(|fault| fault.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(format!("{:?}: {finding}", finding.kind));
        }
        let mut sums = vec![0; size];
        memory.read(out, &mut sums).map_err(|error| error.to_string())?;
        for ((row, column), word) in grid(self.rows, self.columns).zip(sums.chunks(4)) {
            let expected: i32 = (0..length).map(|k| a(row, k) * b(k, column)).sum();
            let found = f32::from_le_bytes(word.try_into().expect("four bytes"));
            if found != expected as f32 {
                return Err(format!("({row}, {column}) is {found}, not {expected}"));
            }
        }
        Ok(())
    }
}

/// The text without its barrier of a number.
fn without(text: &str, number: usize) -> String {
    let mut seen = 0;
    let lines = text.lines().filter(|line| {
        let is_it = line.contains(BARRIER) && seen == number;
        seen += usize::from(line.contains(BARRIER));
        !is_it
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn products_are_right_however_often_the_loop_runs() {
    for tile in [LARGE, MEDIUM, COPIED] {
        let (text, shared) = tile.llir();
        assert!(text.contains("@llvm.amdgcn.s.setprio(i16 1)"), "{tile:?}");
        assert_eq!(text.contains("buffer.load.lds"), tile.by_columns(), "{tile:?}");
        for iterations in [0, 1, 2, 3, 5] {
            let tile = Tile { iterations, ..tile };
            tile.run((&text, shared)).unwrap_or_else(|error| panic!("{tile:?}: {error}"));
        }
    }
}

#[test]
fn without_a_barrier_that_keeps_groups_apart_something_is_found() {
    for (tile, slices) in [(LARGE, 4), (MEDIUM, 2), (COPIED, 1)] {
        let (text, shared) = tile.llir();
        let count = text.matches(BARRIER).count();
        // One in front of the loop, that of the second group, two a slice, that of the first group; what the last
        // iteration, which stands behind the loop, needs is not looked at.
        assert!(count >= 2 * slices + 3, "{tile:?}: {count}");
        // Behind the last reads, two around the stores, and at the end of the loop.
        let needed: Vec<usize> = [0, 1].into_iter().chain(2 * slices - 2..2 * slices + 3).collect();
        for number in 0..2 * slices + 3 {
            let outcome = tile.run((&without(&text, number), shared));
            assert_eq!(outcome.is_err(), needed.contains(&number), "{tile:?}, {number}: {outcome:?}");
        }
    }
}

#[test]
fn small_dots_and_what_is_not_wanted_stay_together() {
    let together = [
        Tile { rows: 128, columns: 128, ..LARGE },
        Tile { apart: Some(false), ..LARGE },
        Tile { arch: Arch::Gfx90a, ..LARGE },
        Tile { arch: Arch::Gfx1100, apart: Some(true), rows: 128, ..MEDIUM },
    ];
    for tile in together {
        assert!(!tile.llir().0.contains("s.setprio"), "{tile:?}");
    }
    assert!(Tile { arch: Arch::Gfx90a, apart: Some(true), ..LARGE }.llir().0.contains("s.setprio"));
}

#[test]
fn tiles_of_all_sizes_are_right() {
    let (mut apart, mut all) = (0, 0);
    for (number, (rows, columns)) in
        [32, 64, 128].into_iter().flat_map(|a| [32, 64, 128].map(|b| (a, b))).enumerate()
    {
        for depth in [16, 32, 64, 128] {
            for (arch, stages) in [(Arch::Gfx942, 2), (Arch::Gfx90a, 2), (Arch::Gfx950, 3)] {
                // Two slices or four.
                let work = (rows * columns * depth * 16) as u64;
                let least = Some(if number % 2 == 0 { work } else { work / 2 });
                let iterations = (number + depth / 16) % 5;
                let tile = Tile { arch, rows, columns, depth, iterations, stages, apart: Some(true), least };
                let (text, shared) = tile.llir();
                tile.run((&text, shared)).unwrap_or_else(|error| panic!("{tile:?}: {error}"));
                apart += usize::from(text.contains("s.setprio"));
                all += 1;
            }
        }
    }
    // Others are too short to be cut, or for gfx950 too small.
    assert!(4 * apart > all, "{apart} of {all}");
}
