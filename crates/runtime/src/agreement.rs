//! Whether an engine computes what the interpreter does, on random input. Not used by any product path.
//!
//! Quotients and elementary functions of binary32 may be off by some units in the last place, as the language says; what an error of
//! one operation does to the next is not bounded. So each of them is compared by itself, within its own bound, and random programs,
//! in which quotients are asked for exactly, are compared bit for bit.

use std::fmt::Write as _;
use ttir::ops::arith_cast::{EXTF, TRUNCF};
use ttir::ops::arith_float::{DIVF, PRECISE_DIVF};
use ttir::testing::{
    Engine, Interpreter, Profile, Random, bless, check_file, difference, generate, values_of,
};

/// A function of binary32 that engines approximate.
struct Bound {
    name: &'static str,
    operands: usize,
    /// The least and the greatest argument.
    range: [f64; 2],
    /// How many units in the last place the result may be off.
    ulp: u64,
}

const fn of_one(name: &'static str, range: [f64; 2], ulp: u64) -> Bound {
    Bound { name, operands: 1, range, ulp }
}

static BOUNDS: &[Bound] = &[
    of_one("math.exp", [-87.0, 88.0], 2),
    of_one("math.exp2", [-125.0, 127.0], 2),
    of_one("math.log", [1e-30, 4.0], 2),
    of_one("math.log2", [1e-30, 4.0], 2),
    of_one("math.sin", [-100.0, 100.0], 2),
    of_one("math.cos", [-100.0, 100.0], 2),
    of_one("math.sqrt", [1e-30, 1e30], 2),
    of_one("math.rsqrt", [1e-30, 1e30], 2),
    of_one("math.erf", [-4.0, 4.0], 2),
    of_one("math.tanh", [-9.0, 9.0], 2),
    Bound { name: "arith.divf", operands: 2, range: [-1e10, 1e10], ulp: 2 },
];

/// Arguments of one call.
const COUNT: usize = 256;

/// A fixture that calls a function on random numbers and expects nothing yet.
fn call(bound: &Bound, random: &mut Random) -> String {
    let [least, greatest] = bound.range;
    let mut number = || {
        let part = random.below(1 << 24) as f64 / f64::from(1 << 24);
        (least + (greatest - least) * part) as f32
    };
    let mut list = || {
        let numbers: Vec<String> = (0..COUNT).map(|_| format!("{:?}", number())).collect();
        format!("[{}]", numbers.join(", "))
    };
    let ty = format!("tensor<{COUNT}xf32>");
    let arguments: Vec<String> = (0..bound.operands).map(|_| list()).collect();
    let params: Vec<String> = (0..bound.operands).map(|at| format!("%x{at}: {ty}")).collect();
    let names: Vec<String> = (0..bound.operands).map(|at| format!("%x{at}")).collect();
    let mut text =
        format!("// run: @f({}) == [0.0; {COUNT}] within {} ulp\n", arguments.join(", "), bound.ulp);
    let _ = writeln!(text, "tt.func @f({}) -> {ty} {{", params.join(", "));
    let _ = writeln!(text, "  %r = {} {} : {ty}\n  tt.return %r : {ty}\n}}", bound.name, names.join(", "));
    text
}

/// Compares each approximate function with the interpreter on random numbers; what is beyond its bound.
pub fn check_functions(engine: &mut dyn Engine, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut failures = Vec::new();
    for bound in BOUNDS {
        let unknown = call(bound, &mut random);
        let expected = bless(&unknown, &check_file(&unknown, &mut Interpreter));
        let outcome = check_file(&expected, engine);
        failures.extend(outcome.failures.into_iter().map(|failure| format!("{}: {failure}", bound.name)));
    }
    failures
}

/// Asks for exact quotients. Those of 16-bit floats are quotients of binary32, rounded: exact as well.
fn exact_quotients(module: &mut ir::Module) {
    for op in module.walk(module.top()) {
        if !module.is(op, &DIVF) {
            continue;
        }
        let (result, mut operands) = (module.result(op, 0), module.operands(op).to_vec());
        let ty = module.ty(result);
        let bits = ttir::types::elem(ty).scalar_bits();
        if !matches!(bits, Some(16 | 32)) {
            continue;
        }
        let single = ttir::types::with_elem(ty, ir::Type::float(ir::FloatKind::F32));
        let mut builder = ir::Builder::before(module, op);
        if bits == Some(16) {
            for operand in &mut operands {
                *operand = builder.build_as(&EXTF, &[*operand], &[], single);
            }
        }
        let mut exact = builder.build(&PRECISE_DIVF, &operands, &[]);
        if bits == Some(16) {
            exact = builder.build_as(&TRUNCF, &[exact], &[], ty);
        }
        module.replace_uses(result, exact);
        module.erase(op);
    }
}

/// Compares a random program with the interpreter, bit for bit.
///
/// # Errors
/// What differs.
pub fn check_program(engine: &mut dyn Engine, seed: u64) -> Result<(), String> {
    let mut program = generate(seed, Profile::PLAIN);
    exact_quotients(&mut program.module);
    let run =
        |engine: &mut dyn Engine| engine.run(&program.module, program.kernel, program.grid, &program.args);
    let (found, expected) = (run(engine)?, run(&mut Interpreter)?);
    for output in &program.outputs {
        let [want, got] = [&expected, &found].map(|ran| values_of(&ran.buffers[output.buffer], output.ty));
        if let Some(text) = difference(&want, &got, output.ty, output.tolerance) {
            return Err(format!("program {seed}: wrong result of {}: {text}", output.ty));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check_functions, check_program};
    use ttir::testing::Interpreter;

    #[test]
    fn the_interpreter_agrees_with_itself() {
        assert_eq!(check_functions(&mut Interpreter, 7), Vec::<String>::new());
        assert_eq!((0..8).try_for_each(|seed| check_program(&mut Interpreter, seed)), Ok(()));
    }
}
