//! Kernels whose launches the interpreter checks: compiled, with the plain version that launches take which are not as
//! the other one demands, and run on the emulator under schedules.

use crate::case::{Compiled, compile_module};
use emulator::{Argument as Parameter, Checks, Launch, Memory, Program};
use ir::text::{ParseOptions, parse};
use nvidia::maps;
use target::Guards;
use ttgir::{Machine, Persistence};
use ttir::interp::{self, Arg, Lines};
use ttir::ops::func::kernels;

/// How a kernel is compiled.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    pub(crate) stages: u32,
    pub(crate) num_warps: u32,
    /// Changes the machine.
    pub(crate) change: &'a dyn Fn(&mut Machine),
}

/// A kernel in all its versions.
pub(crate) struct Kernel {
    module: ir::Module,
    name: String,
    pub(crate) bulk: Compiled,
    pub(crate) plain: Compiled,
    /// As a loop over its programs, where it can be one.
    pub(crate) persistent: Compiled,
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// A pointer to a byte of a buffer, or in front of it.
    Pointer(usize, i64),
    /// A number.
    Number(i64),
}

/// The arguments of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) slots: Vec<Slot>,
}

impl Args {
    /// A pointer to each buffer, then numbers.
    pub(crate) fn of(buffers: Vec<Vec<u8>>, numbers: &[i64]) -> Args {
        let pointers = (0..buffers.len()).map(|buffer| Slot::Pointer(buffer, 0));
        let slots = pointers.chain(numbers.iter().map(|&number| Slot::Number(number))).collect();
        Args { buffers, slots }
    }

    /// Puts the buffers into memory; where they are, and the arguments.
    fn place(&self, memory: &mut Memory) -> (Vec<u64>, Vec<u64>) {
        let buffers: Vec<u64> = self.buffers.iter().map(|bytes| memory.allocate_with(bytes)).collect();
        let slot = |slot: &Slot| match *slot {
            Slot::Pointer(buffer, offset) => buffers[buffer].wrapping_add_signed(offset),
            Slot::Number(number) => number as u64,
        };
        let slots = self.slots.iter().map(slot).collect();
        (buffers, slots)
    }
}

/// A grid and arguments.
pub(crate) type Launched<'a> = ([u32; 3], &'a Args);

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
        let bulk = compile(&|machine| {
            machine.bulk_loads = true;
            (how.change)(machine);
        });
        let plain = compile(&|machine| {
            (how.change)(machine);
            machine.bulk_loads = false;
        });
        assert!(plain.guards.is_empty());
        let persistent = compile(&|machine| {
            machine.bulk_loads = true;
            (how.change)(machine);
            machine.persistence = Persistence::Loop;
        });
        Kernel { module: original, name, bulk, plain, persistent }
    }

    /// What the launch should leave.
    pub(crate) fn interpret(&self, launch: Launched<'_>) -> Buffers {
        self.interpreted(launch, interp::Memory::watch_races)
    }

    /// The same where programs wait for each other.
    pub(crate) fn interpret_unwatched(&self, launch: Launched<'_>) -> Buffers {
        self.interpreted(launch, |_, _| ())
    }

    fn interpreted(&self, (grid, args): Launched<'_>, watch: fn(&mut interp::Memory, [u32; 3])) -> Buffers {
        let mut memory = interp::Memory::new();
        let buffers: Vec<interp::Address> = args
            .buffers
            .iter()
            .enumerate()
            .map(|(at, bytes)| memory.alloc(&format!("buffer {at}"), bytes.clone()))
            .collect();
        let slot = |slot: &Slot| match *slot {
            Slot::Pointer(buffer, offset) => Arg::Pointer(buffers[buffer].offset(offset)),
            Slot::Number(number) => Arg::Int(number),
        };
        let slots: Vec<Arg> = args.slots.iter().map(slot).collect();
        watch(&mut memory, grid);
        interp::run(&self.module, &self.name, grid, &slots, &mut memory, &mut Lines::default())
            .unwrap_or_else(|error| panic!("interpreter: {error}"));
        buffers.iter().map(|&address| memory.bytes(address).to_vec()).collect()
    }

    /// What a version leaves, with a text in place of its own.
    pub(crate) fn run(
        &self,
        version: &Compiled,
        text: &str,
        (grid, args): Launched<'_>,
        schedule: u64,
    ) -> Result<Buffers, String> {
        let mut memory = Memory::new();
        let (buffers, slots) = args.place(&mut memory);
        let program = Program::parse(text).map_err(|error| error.to_string())?;
        let entry = program.entry(&self.name).ok_or("no entry")?;
        let maps = version.maps.iter().map(|map| Ok(maps::emulated(map, &slots, None)?.encode().to_vec()));
        let maps: Vec<Vec<u8>> = maps.collect::<Result<_, String>>()?;
        let programs = u64::from(grid.iter().product::<u32>());
        let scratch = memory.allocate((version.scratch * programs) as usize + 128).next_multiple_of(128);
        let counts = version.persistent.counts(&grid).iter().map(|count| count.to_le_bytes().to_vec());
        let values = slots.iter().map(|slot| slot.to_le_bytes().to_vec()).chain(counts).chain(maps);
        let values = values.chain([scratch.to_le_bytes().to_vec(), [0; 8].to_vec()]);
        let cut = |(param, value): (&emulator::Param, Vec<u8>)| Parameter(value[..param.bytes].to_vec());
        // One program, or two, do the work of all.
        let launch = Launch {
            grid: version.persistent.started(1 + schedule % 2, grid),
            cluster: [if version.paired { 2 } else { 1 }, 1, 1],
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
        let read = |(address, bytes): (u64, &Vec<u8>)| {
            let mut buffer = vec![0; bytes.len()];
            memory.read(address, &mut buffer).map(|()| buffer).map_err(|error| error.to_string())
        };
        buffers.into_iter().zip(&args.buffers).map(read).collect()
    }

    /// Whether a launch takes the version with bulk copies.
    pub(crate) fn takes_bulk(&self, launch: Launched<'_>) -> bool {
        takes(&self.bulk, launch)
    }

    /// Whether a launch may take the version that loops over its programs.
    pub(crate) fn takes_persistent(&self, launch: Launched<'_>) -> bool {
        self.persistent.persistent.is_some() && takes(&self.persistent, launch)
    }

    /// The conditions that a launch does not meet, by their numbers.
    pub(crate) fn violated(&self, launch: Launched<'_>) -> Vec<usize> {
        let (_, slots) = launch.1.place(&mut Memory::new());
        let guards = &self.bulk.guards;
        let alone =
            |at: &usize| Guards { conditions: vec![guards.conditions[*at].clone()], ..guards.clone() };
        (0..guards.conditions.len()).filter(|at| !alone(at).hold(launch.0, &slots, &[])).collect()
    }

    /// Runs the version that a launch takes under a few schedules; all leave what the interpreter says.
    pub(crate) fn check(&self, launch: Launched<'_>, schedules: u64, what: &str) {
        let expected = self.interpret(launch);
        let takes_bulk = self.takes_bulk(launch);
        let version = if takes_bulk { &self.bulk } else { &self.plain };
        let takes_persistent = self.takes_persistent(launch);
        assert!(takes_bulk || !takes_persistent, "a loop over programs needs more");
        let persistent = Some(&self.persistent).filter(|_| takes_persistent);
        for (version, schedule) in std::iter::once(version)
            .chain(persistent)
            .flat_map(|version| (0..schedules).map(move |schedule| (version, schedule)))
        {
            let found = self.run(version, &version.ptx, launch, schedule);
            let found =
                found.unwrap_or_else(|error| panic!("{what}, schedule {schedule}: {error}\n{}", version.ptx));
            if let Some(buffer) = (0..found.len()).find(|&at| found[at] != expected[at]) {
                let (one, two) = (&found[buffer], &expected[buffer]);
                let at = (0..one.len()).find(|&at| one[at] != two[at]);
                panic!(
                    "{what}, schedule {schedule}: buffer {buffer} differs from byte {at:?} on: {:?}, not {:?}\n{}",
                    at.map(|at| &one[at..one.len().min(at + 16)]),
                    at.map(|at| &two[at..two.len().min(at + 16)]),
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
        launch: Launched<'_>,
        expected: &Buffers,
    ) -> bool {
        (0..4).all(|schedule| self.run(version, text, launch, schedule).is_ok_and(|found| found == *expected))
    }
}

/// Whether a launch is as a version needs it.
fn takes(version: &Compiled, (grid, args): Launched<'_>) -> bool {
    version.guards.hold(grid, &args.place(&mut Memory::new()).1, &[])
}
