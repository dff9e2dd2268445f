//! Random programs: their text survives a round trip, passes do not change what they compute, axis facts hold.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::collections::HashMap;
use ttir::axis::{AxisInfo, AxisTable};
use ttir::interp::{self, Arg, Hooks, Memory};
use ttir::testing::{
    Argument, Engine, Interpreter, Profile, Program, Tolerance, difference, generate, values_of,
};

/// Programs of each test; more with `PROGRAMS=…`.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let first = std::env::var("FIRST").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    first..first + count
}

fn program(seed: u64) -> Program {
    let profile = if seed.is_multiple_of(4) { Profile::PLAIN } else { Profile::ALL };
    let program = generate(seed, profile);
    if let Err(errors) = ir::verify(&program.module) {
        panic!("seed {seed} is not valid: {}\n{}", errors[0], print(&program.module, PrintOptions::PLAIN));
    }
    program
}

fn run(program: &Program, seed: u64) -> Vec<Vec<u8>> {
    let ran = Interpreter.run(&program.module, program.kernel, program.grid, &program.args);
    ran.unwrap_or_else(|error| {
        panic!("seed {seed}: {error}\n{}", print(&program.module, PrintOptions::PLAIN))
    })
    .buffers
}

#[test]
fn programs_survive_text() {
    for seed in seeds() {
        let program = program(seed);
        for options in [PrintOptions::PLAIN, PrintOptions { locations: false, generic: true }] {
            let text = print(&program.module, options);
            let again = parse(&text, ttir::registry(), ParseOptions::default())
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            ir::verify(&again).unwrap_or_else(|errors| panic!("seed {seed}: {}\n{text}", errors[0]));
            assert_eq!(text, print(&again, options), "seed {seed}");
        }
    }
}

#[test]
fn passes_do_not_change_what_programs_compute() {
    let passes: Vec<&'static ir::pass::PassRow> =
        ttir::passes::pipeline().iter().copied().filter(|pass| pass.name != "accumulate-dots").collect();
    for seed in seeds() {
        let mut program = program(seed);
        let before = run(&program, seed);
        let text = print(&program.module, PrintOptions::PLAIN);
        for pass in &passes {
            let input = print(&program.module, PrintOptions::PLAIN);
            if let Err(errors) = ir::pass::run(&mut program.module, &[pass], ir::pass::Verify::Each, &mut ())
            {
                panic!("seed {seed}, {}: {}\n{input}", pass.name, errors[0]);
            }
            let after = run(&program, seed);
            for output in &program.outputs {
                let [old, new] =
                    [&before, &after].map(|buffers| values_of(&buffers[output.buffer], output.ty));
                if let Some(difference) = difference(&old, &new, output.ty, Tolerance::default()) {
                    let now = print(&program.module, PrintOptions::PLAIN);
                    panic!(
                        "seed {seed}: {} changes output {}: {difference}\n{text}\n{input}\n{now}",
                        pass.name, output.buffer
                    );
                }
            }
        }
    }
}

/// Checks axis facts against every value that a program computes, but for those that take a number not to be negative.
struct Facts<'m> {
    module: &'m ir::Module,
    table: AxisTable,
    wrong: HashMap<ir::Value, String>,
}

impl Hooks for Facts<'_> {
    fn print(&mut self, _: &str) {}

    fn watches(&self) -> bool {
        true
    }

    fn computed(&mut self, value: ir::Value, elements: &[Option<u64>]) {
        let ty = self.module.ty(value);
        let is_known = |_: &&AxisInfo| elements.iter().all(Option::is_some);
        if let Some(info) = self.table.get(value).filter(is_known) {
            let bits = ttir::types::elem(ty).as_int().unwrap_or(64);
            let unit = ttir::types::pointee(ty).map_or(1, ttir::types::elem_bytes) as i64;
            let numbers: Vec<i64> =
                elements.iter().flatten().map(|&bits_| ir::scalar::sign_extend(bits, bits_)).collect();
            let shape = ttir::types::shape(ty);
            let wrong = violation(info, shape, &numbers, unit, bits).or_else(|| {
                let runs = (0..shape.len()).filter(|_| bits == 1);
                let runs: Vec<u64> = runs.map(|dim| self.table.prefix_run(self.module, value, dim)).collect();
                late_truth(&runs, shape, &numbers)
            });
            if let Some(wrong) = wrong {
                self.wrong.insert(value, wrong);
            }
        }
    }
}

/// Which fact does not hold.
fn violation(info: &AxisInfo, shape: &[i64], numbers: &[i64], unit: i64, bits: u32) -> Option<String> {
    let shape = if shape.is_empty() { &[1][..] } else { shape };
    if let Some(constant) = info.constant
        && numbers.iter().any(|&number| number != constant)
    {
        return Some(format!("not always {constant}"));
    }
    for (dim, &size) in shape.iter().enumerate() {
        let inner: usize = shape[dim + 1..].iter().product::<i64>() as usize;
        for (position, &number) in numbers.iter().enumerate() {
            if !(number as u64).is_multiple_of(info.every(dim)) {
                return Some(format!("element {position}, {number}, is not divisible along {dim}"));
            }
            if info.assumes_sign.contains(dim) {
                continue;
            }
            let along = position / inner % size as usize;
            let start = |group: u64| number_at(numbers, position, along, group, inner);
            let (first, steps) = start(info.contiguity[dim]);
            let counted = first.wrapping_add(steps.wrapping_mul(unit)) as u64;
            if ir::scalar::sign_extend(bits, counted) != number {
                return Some(format!("element {position} is not contiguous along {dim}"));
            }
            if steps == 0 && !(first as u64).is_multiple_of(info.divisibility[dim]) {
                return Some(format!(
                    "element {position}, {first}, starts a group along {dim} but is not divisible"
                ));
            }
            if start(info.constancy[dim]).0 != number {
                return Some(format!("element {position} is not constant along {dim}"));
            }
        }
    }
    None
}

/// An element of a mask that is true behind one that is not, in a run in which none should be.
fn late_truth(runs: &[u64], shape: &[i64], numbers: &[i64]) -> Option<String> {
    for (dim, &run) in runs.iter().enumerate() {
        let inner: usize = shape[dim + 1..].iter().product::<i64>() as usize;
        for (position, &number) in numbers.iter().enumerate() {
            let in_run = position / inner % shape[dim] as usize % run as usize;
            if in_run > 0 && number != 0 && numbers[position - inner] == 0 {
                return Some(format!("element {position} is true behind a false one along {dim}"));
            }
        }
    }
    None
}

/// The first number of the aligned group along a dimension that a position is in, and the distance to it.
fn number_at(numbers: &[i64], position: usize, along: usize, group: u64, inner: usize) -> (i64, i64) {
    let steps = along % group as usize;
    (numbers[position - steps * inner], steps as i64)
}

#[test]
fn axis_facts_hold() {
    for seed in seeds() {
        let program = program(seed);
        let function = program.module.symbol(program.kernel).unwrap();
        let table = ttir::axis::analyze(&program.module, function);
        let mut facts = Facts { module: &program.module, table, wrong: HashMap::new() };
        let mut memory = Memory::new();
        let args: Vec<Arg> = program
            .args
            .iter()
            .map(|arg| match arg {
                Argument::Buffer(bytes) => Arg::Pointer(memory.alloc("buffer", bytes.clone())),
                Argument::Bits(bits) => Arg::Bits(*bits),
            })
            .collect();
        interp::run(&program.module, program.kernel, program.grid, &args, &mut memory, &mut facts).unwrap();
        if let Some((&value, wrong)) = facts.wrong.iter().min_by_key(|(value, _)| value.as_u32()) {
            let op = program.module.def_op(value).map(|op| ir::text::op_to_string(&program.module, op));
            let info = facts.table.get(value);
            panic!("seed {seed}: {wrong}\n{op:?}\n{info:?}\n{}", print(&program.module, PrintOptions::PLAIN));
        }
    }
}
