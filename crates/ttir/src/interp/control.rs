//! Functions, calls, loops and conditions; where a program stands in its grid.

use super::Arg;
use super::data::Data;
use super::error::{RunError, RunErrorKind};
use super::interpreter::{Entry, Interpreter, Outcome};
use crate::ops;
use crate::ops::control::{ForOp, IfOp, WhileOp};
use crate::ops::func::{CallOp, FuncOp, functions};
use crate::ops::program::{Axis, ProgramIdOp};
use crate::types::{DESCRIPTOR, elem, is_tensor, pointee};
use ir::{Module, Op, Type, TypeKind, Value};

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[
    (&ops::program::GET_PROGRAM_ID, program_id),
    (&ops::program::GET_NUM_PROGRAMS, num_programs),
    (&ops::control::FOR, run_for),
    (&ops::control::IF, run_if),
    (&ops::control::WHILE, run_while),
    (&ops::func::CALL, run_call),
];

/// Calls deeper than this are taken for endless recursion.
const MAX_DEPTH: usize = 100;

fn call_error(message: String) -> RunError {
    RunError { kind: RunErrorKind::Call, message, place: None, program: None, notes: Vec::new() }
}

/// The function of this name.
pub(crate) fn kernel(interpreter: &Interpreter<'_>, name: &str) -> Result<Op, RunError> {
    let module = interpreter.module;
    functions(module).find(|func| func.name() == name).map(|func| func.op).ok_or_else(|| {
        let known: Vec<&str> = functions(module).map(|func| func.name()).collect();
        call_error(format!("there is no function `{name}`; there are: {}", known.join(", ")))
    })
}

/// Tells memory what the arguments that point into it are called.
pub(crate) fn name_pointers(interpreter: &mut Interpreter<'_>, function: Op, args: &[Arg]) {
    let module = interpreter.module;
    let params = FuncOp::new(module, function).params();
    for (index, (&param, arg)) in params.iter().zip(args).enumerate() {
        if let Arg::Pointer(address) = arg {
            let name = module.name(param).map_or_else(|| format!("argument {index}"), str::to_owned);
            interpreter.memory.name_pointer(&name, *address);
        }
    }
}

/// The values of the parameters of a kernel.
pub(crate) fn arguments(
    interpreter: &Interpreter<'_>,
    function: Op,
    args: &[Arg],
) -> Result<Vec<Data>, RunError> {
    let module = interpreter.module;
    let params = FuncOp::new(module, function).params();
    if params.len() != args.len() {
        return Err(call_error(format!(
            "the kernel takes {} arguments, {} are given",
            params.len(),
            args.len()
        )));
    }
    let mut values = Vec::with_capacity(args.len());
    for (index, (&param, arg)) in params.iter().zip(args).enumerate() {
        let ty = module.ty(param);
        let value = argument(ty, arg).ok_or_else(|| {
            let name = interpreter.describe_value(param);
            call_error(format!("parameter {index} {name} is of type {ty}; {arg:?} does not fit"))
        })?;
        values.push(value);
    }
    Ok(values)
}

fn argument(ty: Type, arg: &Arg) -> Option<Data> {
    // Descriptors are flattened before a kernel is run.
    if is_tensor(ty) || (DESCRIPTOR.check)(ty) {
        return None;
    }
    let width = elem(ty).scalar_bits();
    let int = |value: u64| Some(Data::uniform(ir::scalar::truncate(width?, value)));
    match arg {
        Arg::Pointer(address) => pointee(ty).map(|_| Data::uniform(address.0)),
        Arg::Int(value) => ty.as_int().and_then(|_| int(*value as u64)),
        Arg::Float(value) => Some(Data::uniform(ir::scalar::float_bits(ty.as_float()?, *value))),
        Arg::Bits(bits) => int(*bits),
    }
}

/// Runs a function.
pub(crate) fn call(interpreter: &mut Interpreter<'_>, function: Op, args: &[Data]) -> Outcome<Vec<Data>> {
    if interpreter.depth >= MAX_DEPTH {
        return Err(interpreter.error(
            function,
            RunErrorKind::Unsupported,
            "the calls are nested too deep".into(),
        ));
    }
    let module = interpreter.module;
    let caller = interpreter.enter();
    let results = interpreter.run_block(FuncOp::new(module, function).entry(), args);
    interpreter.leave(caller);
    results
}

pub(crate) fn run_call(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let module = interpreter.module;
    let name = CallOp::new(module, op).callee();
    let callee = module.symbol(name).expect("verified: the called function exists");
    let args = interpreter.operands(op);
    let results = call(interpreter, callee, &args)?;
    interpreter.set_results(op, results);
    Ok(())
}

/// A bound of a loop, sign-extended.
fn bound(interpreter: &Interpreter<'_>, op: Op, value: Value, what: &str) -> Outcome<i64> {
    let bits = interpreter.decided(op, interpreter.get(value), what)?;
    Ok(ir::scalar::sign_extend(width(interpreter.module.ty(value)), bits))
}

fn width(ty: Type) -> u32 {
    if let TypeKind::Int(bits) = ty.kind() { *bits } else { 64 }
}

pub(crate) fn run_for(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = ForOp::new(interpreter.module, op);
    let lower = bound(interpreter, op, of.lower(), "the lower bound of the loop")?;
    let upper = bound(interpreter, op, of.upper(), "the upper bound of the loop")?;
    let step = bound(interpreter, op, of.step(), "the step of the loop")?;
    if step <= 0 {
        let message = format!("the step of a loop must be positive, it is {step}");
        return Err(interpreter.error(op, RunErrorKind::Undefined, message));
    }
    let counter_bits = width(of.module.ty(of.lower()));
    let mut args = vec![Data::uniform(0)];
    args.extend(of.inits().iter().map(|&init| interpreter.get(init).clone()));
    let mut counter = i128::from(lower);
    while counter < i128::from(upper) {
        interpreter.poll(op)?;
        args[0] = Data::uniform(ir::scalar::truncate(counter_bits, counter as u64));
        let yielded = interpreter.run_block(of.body(), &args)?;
        args.truncate(1);
        args.extend(yielded);
        counter += i128::from(step);
    }
    interpreter.set_results(op, args.split_off(1));
    Ok(())
}

pub(crate) fn run_if(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = IfOp::new(interpreter.module, op);
    let holds = interpreter.decided(op, interpreter.get(of.condition()), "the condition")? & 1 != 0;
    if let Some(block) = if holds { Some(of.then_block()) } else { of.else_block() } {
        let results = interpreter.run_block(block, &[])?;
        interpreter.set_results(op, results);
    }
    Ok(())
}

pub(crate) fn run_while(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = WhileOp::new(interpreter.module, op);
    let mut carried = interpreter.operands(op);
    loop {
        interpreter.poll(op)?;
        interpreter.give_way(op)?;
        let mut passed = interpreter.run_block(of.before(), &carried)?;
        let rest = passed.split_off(1);
        if interpreter.decided(op, &passed[0], "the condition of the loop")? & 1 == 0 {
            interpreter.set_results(op, rest);
            return Ok(());
        }
        carried = interpreter.run_block(of.after(), &rest)?;
    }
}

fn along_grid(module: &Module, op: Op, sizes: [u32; 3]) -> Data {
    let [x, y, z] = sizes;
    Data::uniform(u64::from(match ProgramIdOp::new(module, op).axis() {
        Axis::X => x,
        Axis::Y => y,
        Axis::Z => z,
    }))
}

pub(crate) fn program_id(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let position = along_grid(interpreter.module, op, interpreter.program);
    interpreter.set_result(op, position);
    Ok(())
}

pub(crate) fn num_programs(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let size = along_grid(interpreter.module, op, interpreter.grid);
    interpreter.set_result(op, size);
    Ok(())
}
