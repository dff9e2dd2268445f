//! Whether an engine computes what the interpreter does, on random input. Not used by any product path.
//!
//! Quotients and elementary functions of binary32 may be off by some units in the last place, as the language says;
//! what an error of one operation does to the next is not bounded. So each of them is compared by itself, within its
//! own bound, and random programs, in which quotients are asked for exactly, are compared bit for bit.

use ir::{Accuracy, OpRow};
use std::fmt::Write as _;
use ttir::ops::arith_cast::{EXTF, TRUNCF};
use ttir::ops::arith_float::{DIVF, PRECISE_DIVF};
use ttir::testing::{
    Engine, Interpreter, Profile, Random, bless, check_file, difference, generate, values_of,
};

/// Arguments of one call.
const COUNT: usize = 256;

/// A fixture that calls a function on random numbers and expects nothing yet.
fn call(row: &OpRow, accuracy: Accuracy, random: &mut Random) -> String {
    let ([least, greatest], operands) = (accuracy.range, row.operands.len());
    let mut number = || {
        let part = random.below(1 << 24) as f64 / f64::from(1 << 24);
        (least + (greatest - least) * part) as f32
    };
    let mut list = || {
        let numbers: Vec<String> = (0..COUNT).map(|_| format!("{:?}", number())).collect();
        format!("[{}]", numbers.join(", "))
    };
    let ty = format!("tensor<{COUNT}xf32>");
    let arguments: Vec<String> = (0..operands).map(|_| list()).collect();
    let params: Vec<String> = (0..operands).map(|at| format!("%x{at}: {ty}")).collect();
    let names: Vec<String> = (0..operands).map(|at| format!("%x{at}")).collect();
    let mut text =
        format!("// run: @f({}) == [0.0; {COUNT}] within {} ulp\n", arguments.join(", "), accuracy.ulp);
    let _ = writeln!(text, "tt.func @f({}) -> {ty} {{", params.join(", "));
    let _ = writeln!(text, "  %r = {} {} : {ty}\n  tt.return %r : {ty}\n}}", row.name, names.join(", "));
    text
}

/// Compares each approximate function with the interpreter on random numbers; what is beyond its bound.
pub fn check_functions(engine: &mut dyn Engine, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut failures = Vec::new();
    for row in ttir::registry().ops() {
        let Some(accuracy) = row.accuracy else { continue };
        let unknown = call(row, accuracy, &mut random);
        let expected = bless(&unknown, &check_file(&unknown, &mut Interpreter));
        let outcome = check_file(&expected, engine);
        failures.extend(outcome.failures.into_iter().map(|failure| format!("{}: {failure}", row.name)));
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
