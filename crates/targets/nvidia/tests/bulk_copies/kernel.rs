//! Kernels whose launches the interpreter checks: compiled, with the plain version that launches take which are not as
//! the other one demands, and run on the emulator under schedules.

use crate::case::{Compiled, compile_module};
use emulator::{Argument as Parameter, Checks, Launch, Memory, Program};
use ir::text::{ParseOptions, parse};
use nvidia::maps;
use ttgir::Machine;
use ttir::ops::func::kernels;
use ttir::testing::{Argument, Engine, Interpreter, interpret};

/// How a kernel is compiled.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    pub(crate) stages: u32,
    pub(crate) num_warps: u32,
    /// Changes the machine.
    pub(crate) change: &'a dyn Fn(&mut Machine),
}

/// A kernel in both versions.
pub(crate) struct Kernel {
    module: ir::Module,
    name: String,
    pub(crate) bulk: Compiled,
    pub(crate) plain: Compiled,
}

/// What a launch leaves in its buffers.
pub(crate) type Buffers = Vec<Vec<u8>>;

impl Kernel {
    pub(crate) fn of(text: &str, how: How<'_>) -> Kernel {
        let mut module = parse(text, ttir::registry(), ParseOptions::default())
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let original = module.clone();
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
            .unwrap_or_else(|errors| panic!("{errors:?}"));
        let name = kernels(&module).next().expect("a kernel").name().to_owned();
        let compile = |change: &dyn Fn(&mut Machine)| {
            compile_module(&mut module.clone(), how.stages, how.num_warps, change)
        };
        let bulk = compile(how.change);
        let plain = compile(&|machine| {
            (how.change)(machine);
            machine.bulk_loads = false;
        });
        assert!(plain.guards.is_empty());
        Kernel { module: original, name, bulk, plain }
    }

    /// What the launch should leave.
    pub(crate) fn interpret(&self, grid: [u32; 3], args: &[Argument]) -> Buffers {
        let ran = Interpreter.run(&self.module, &self.name, grid, args);
        ran.unwrap_or_else(|error| panic!("interpreter: {error}")).buffers
    }

    /// The same where programs wait for each other.
    pub(crate) fn interpret_unwatched(&self, grid: [u32; 3], args: &[Argument]) -> Buffers {
        let ran = interpret(&self.module, &self.name, grid, args, |_, _| ());
        ran.unwrap_or_else(|error| panic!("interpreter: {error}")).buffers
    }

    /// What a version leaves, with a text in place of its own.
    pub(crate) fn run(
        &self,
        version: &Compiled,
        text: &str,
        (grid, args): ([u32; 3], &[Argument]),
        schedule: u64,
    ) -> Result<Buffers, String> {
        let mut memory = Memory::new();
        let (slots, buffers) = place(&mut memory, args);
        let program = Program::parse(text).map_err(|error| error.to_string())?;
        let entry = program.entry(&self.name).ok_or("no entry")?;
        let maps = version.maps.iter().map(|map| {
            let map = maps::emulated(map, &slots).expect("arguments");
            map.encode().to_vec()
        });
        let programs = u64::from(grid.iter().product::<u32>());
        let scratch = memory.allocate((version.scratch * programs) as usize + 128).next_multiple_of(128);
        let values = slots.iter().map(|slot| slot.to_le_bytes().to_vec()).chain(maps);
        let values = values.chain([scratch.to_le_bytes().to_vec(), [0; 8].to_vec()]);
        let cut = |(param, value): (&emulator::Param, Vec<u8>)| Parameter(value[..param.bytes].to_vec());
        let launch = Launch {
            grid,
            cluster: [1; 3],
            block: [version.threads, 1, 1],
            dynamic_shared: version.shared as usize,
            arguments: entry.params.iter().zip(values).map(cut).collect(),
            schedule,
        };
        let checks = Checks { counters: false, max_instructions: 4_000_000, ..Checks::default() };
        let report =
            program.launch(&self.name, &launch, &mut memory, checks).map_err(|fault| fault.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(finding.to_string());
        }
        let read = |(address, bytes): (u64, usize)| {
            let mut buffer = vec![0; bytes];
            memory.read(address, &mut buffer).map(|()| buffer).map_err(|error| error.to_string())
        };
        buffers.into_iter().map(read).collect()
    }

    /// Whether launches with these arguments take the version with bulk copies.
    pub(crate) fn takes_bulk(&self, grid: [u32; 3], args: &[Argument]) -> bool {
        let (slots, _) = place(&mut Memory::new(), args);
        self.bulk.guards.hold(grid, &slots)
    }

    /// Runs the version that a launch takes under a few schedules; all leave what the interpreter says.
    pub(crate) fn check(&self, launch: ([u32; 3], &[Argument]), schedules: u64, what: &str) {
        let expected = self.interpret(launch.0, launch.1);
        let version = if self.takes_bulk(launch.0, launch.1) { &self.bulk } else { &self.plain };
        for schedule in 0..schedules {
            let found = self.run(version, &version.ptx, launch, schedule);
            let found =
                found.unwrap_or_else(|error| panic!("{what}, schedule {schedule}: {error}\n{}", version.ptx));
            if let Some(buffer) = (0..found.len()).find(|&at| found[at] != expected[at]) {
                let (one, two) = (&found[buffer], &expected[buffer]);
                let at = (0..one.len()).find(|&at| one[at] != two[at]);
                panic!(
                    "{what}, schedule {schedule}: buffer {buffer} differs from byte {at:?} on\n{}",
                    version.ptx
                );
            }
        }
    }

    /// Whether a text passes under one of a few schedules for a version of this kernel.
    pub(crate) fn misses_nothing(
        &self,
        version: &Compiled,
        text: &str,
        launch: ([u32; 3], &[Argument]),
        expected: &Buffers,
    ) -> bool {
        (0..4).all(|schedule| self.run(version, text, launch, schedule).is_ok_and(|found| found == *expected))
    }
}

/// Arguments as a launch has them, and where its buffers are.
fn place(memory: &mut Memory, args: &[Argument]) -> (Vec<u64>, Vec<(u64, usize)>) {
    let (mut slots, mut buffers) = (Vec::new(), Vec::new());
    for arg in args {
        slots.push(match arg {
            Argument::Bits(bits) => *bits,
            Argument::Buffer(bytes) => {
                let address = memory.allocate_with(bytes);
                buffers.push((address, bytes.len()));
                address
            }
        });
    }
    (slots, buffers)
}
