//! Calls. A function that asks for it (`noinline`) becomes one, where the machine has calls and all warps do the same;
//! others are lowered where they are called.
//!
//! A function takes a register of llir for each different element of a lane, and gives one value alone, or several as
//! the 32-bit words of a vector. Where its buffers in shared memory lie and where barriers stand is planned for a
//! kernel with all that it calls ([`crate::shared`]): once for each operation, such that it is right at every call.

use super::Entry;
use crate::context::{Cx, CxParts};
use crate::error::Result;
use crate::free_bits::first_copies;
use crate::kernel::float_flags;
use crate::shuffle_words::{from_words, to_words, words_of};
use crate::types;
use crate::value::LaneValue;
use ir::Op;
use llir::{FuncId, FunctionBuilder, Linkage, Param, ParamAttributes, Type, Value, Values};
use smallvec::SmallVec;
use ttir::ops::func::{CALL, CallOp, FuncOp};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&CALL, call)];

fn call(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let name = CallOp::new(cx.module, op).callee();
    let Some(callee) = cx.module.symbol(name) else {
        return Err(cx.error(op, format!("there is no function `{name}`")));
    };
    if cx.calls.contains(&callee) {
        return Err(cx.error(op, format!("`{name}` calls itself; kernels cannot recurse: use a loop")));
    }
    let operands = cx.module.operands(op);
    let args: SmallVec<[LaneValue; 4]> =
        operands.iter().map(|value| cx.get(*value)).collect::<Result<_>>()?;
    let results = if is_function(cx, callee, &args) {
        call_function(cx, op, callee, &args)?
    } else {
        lower_here(cx, callee, &args)?
    };
    for (result, value) in cx.module.results(op).iter().zip(results) {
        cx.set(*result, value);
    }
    Ok(())
}

/// Whether calls of a function are calls.
fn is_function(cx: &Cx<'_>, callee: Op, args: &[LaneValue]) -> bool {
    let func = FuncOp::new(cx.module, callee);
    let crosses = |ty: ir::Type| ttir::types::is_scalar(ty) || ttir::types::is_tensor(ty);
    let is_plain = |arg: &LaneValue| matches!(arg, LaneValue::Scalar(_) | LaneValue::Tensor(_));
    func.noinline() == Some(true)
        && cx.target.machine().has_calls
        && cx.roles.is_none()
        && cx.combining.is_none()
        && args.iter().all(is_plain)
        && func.result_types().iter().all(|&ty| crosses(ty))
}

/// The body of a function in place of a call.
fn lower_here(cx: &mut Cx<'_>, callee: Op, args: &[LaneValue]) -> Result<SmallVec<[LaneValue; 4]>> {
    let axis = ttir::axis::analyze(cx.module, callee);
    let outer = std::mem::replace(&mut cx.axis, axis);
    cx.calls.push(callee);
    let results = cx.inline_block(cx.module.entry_of(callee), args);
    cx.calls.pop();
    cx.axis = outer;
    results
}

/// Calls a function, which is made when it is called for the first time.
fn call_function(
    cx: &mut Cx<'_>,
    op: Op,
    callee: Op,
    args: &[LaneValue],
) -> Result<SmallVec<[LaneValue; 4]>> {
    let mut passed = Values::new();
    for (operand, arg) in cx.module.operands(op).iter().zip(args) {
        passed.extend(different(cx, cx.module.ty(*operand), arg)?);
    }
    let id = match cx.functions.get(&callee) {
        Some(&id) => id,
        None => define(cx, callee)?,
    };
    let returned = cx.b.call(id, &passed);
    let types = FuncOp::new(cx.module, callee).result_types();
    let counts: Vec<usize> = types.iter().map(|&ty| count(cx, ty)).collect::<Result<_>>()?;
    let is_alone = counts.iter().sum::<usize>() == 1;
    let (mut results, mut word) = (SmallVec::new(), 0);
    for (&ty, &count) in types.iter().zip(&counts) {
        let returned = returned.expect("a function that gives values gives some");
        let register = types::register(ty);
        let values = if is_alone {
            vec![returned]
        } else {
            let words = words_of(register, count) as u32;
            let own: Vec<Value> = (word..word + words).map(|word| cx.b.extract(returned, word)).collect();
            word += words;
            from_words(cx, register, &own, count)
        };
        results.push(spread(cx, ty, values.into_iter())?);
    }
    Ok(results)
}

/// Makes the function.
fn define(cx: &mut Cx<'_>, callee: Op) -> Result<FuncId> {
    let (module, target, options) = (cx.module, cx.target, cx.options);
    let func = FuncOp::new(module, callee);
    let mut params = Vec::new();
    for &param in func.params() {
        let ty = module.ty(param);
        for _ in 0..count(cx, ty)? {
            let name = format!("p{}", params.len());
            params.push(Param { ty: types::register(ty), name, attributes: ParamAttributes::default() });
        }
    }
    let ret = returned_type(cx, func.result_types())?;
    let id = cx.b.module().add_function(func.name(), ret, params);
    let function = cx.b.module().function_mut(id).expect("it was just added");
    function.linkage = Linkage::Internal;
    function.attributes = vec!["noinline".into(), "nounwind".into()];
    cx.functions.insert(callee, id);
    cx.calls.push(callee);
    let parts = CxParts {
        module,
        target,
        options,
        handler: super::handler,
        axis: ttir::axis::analyze(module, callee),
        facts: cx.facts.clone(),
        planner: std::mem::take(&mut cx.planner),
        shared: std::mem::take(&mut cx.shared),
        b: FunctionBuilder::new(cx.b.module(), id),
    };
    let (notes, functions, calls) =
        (cx.notes.take(), std::mem::take(&mut cx.functions), std::mem::take(&mut cx.calls));
    let mut inner = Cx::new(parts);
    (inner.notes, inner.functions, inner.calls) = (notes, functions, calls);
    let body = fill(&mut inner, func);
    let Cx { planner, shared, notes, functions, calls, .. } = inner;
    (cx.planner, cx.shared, cx.notes, cx.functions, cx.calls) = (planner, shared, notes, functions, calls);
    cx.calls.pop();
    body.map(|()| id)
}

/// Lowers the body of a function.
fn fill(cx: &mut Cx<'_>, func: FuncOp<'_>) -> Result<()> {
    cx.b.set_float_flags(float_flags(cx.options));
    let params: Vec<Value> = (0..cx.b.func().params.len()).map(|index| cx.b.param(index)).collect();
    let mut params = params.into_iter();
    let mut args: SmallVec<[LaneValue; 4]> = SmallVec::new();
    for &param in func.params() {
        let ty = cx.module.ty(param);
        let count = count(cx, ty)?;
        args.push(spread(cx, ty, params.by_ref().take(count))?);
    }
    let results = cx.inline_block(func.entry(), &args)?;
    let mut values: Vec<(Type, Values)> = Vec::new();
    for (&ty, result) in func.result_types().iter().zip(&results) {
        values.push((types::register(ty), different(cx, ty, result)?));
    }
    cx.b.set_loc(None);
    let returned = if values.iter().map(|(_, values)| values.len()).sum::<usize>() > 1 {
        let words = values.iter().map(|(ty, values)| to_words(cx, *ty, values)).collect::<Vec<_>>().concat();
        Some(if words.len() == 1 { words[0] } else { cx.b.vector(&words) })
    } else {
        values.first().map(|(_, values)| values[0])
    };
    cx.b.ret(returned);
    Ok(())
}

/// What a function gives: nothing, one value, or words.
fn returned_type(cx: &mut Cx<'_>, types: &[ir::Type]) -> Result<Type> {
    let (mut values, mut words) = (0, 0);
    for &ty in types {
        let count = count(cx, ty)?;
        values += count;
        words += words_of(types::register(ty), count);
    }
    Ok(match (values, words) {
        (0, _) => Type::VOID,
        (1, _) => types::register(types[0]),
        (_, 1) => Type::I32,
        _ => Type::I32.vector(words as u32),
    })
}

/// How many different elements a lane has of a block; 1 of a scalar.
fn count(cx: &mut Cx<'_>, ty: ir::Type) -> Result<usize> {
    if !ttir::types::is_tensor(ty) {
        return Ok(1);
    }
    let first = first_copies(&*cx.layout(ty)?);
    Ok(first.iter().enumerate().filter(|(index, first)| index == *first).count())
}

/// The registers of those elements.
fn different(cx: &mut Cx<'_>, ty: ir::Type, value: &LaneValue) -> Result<Values> {
    let registers = value.flatten();
    if !ttir::types::is_tensor(ty) {
        return Ok(registers.iter().copied().collect());
    }
    let first = first_copies(&*cx.layout(ty)?);
    let own = registers.iter().zip(&first).enumerate().filter(|(index, (_, first))| index == *first);
    Ok(own.map(|(_, (value, _))| *value).collect())
}

/// A value with these registers for its different elements.
fn spread(cx: &mut Cx<'_>, ty: ir::Type, mut values: impl Iterator<Item = Value>) -> Result<LaneValue> {
    let mut next = || values.next().expect("as many values as the type has different elements");
    if !ttir::types::is_tensor(ty) {
        return Ok(LaneValue::Scalar(next()));
    }
    let mut registers: Vec<Value> = Vec::new();
    for (index, first) in first_copies(&*cx.layout(ty)?).into_iter().enumerate() {
        let value = if first == index { next() } else { registers[first] };
        registers.push(value);
    }
    Ok(LaneValue::tensor(registers))
}
