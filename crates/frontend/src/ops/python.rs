//! Python's own functions, as far as kernels have them, and the ranges that loops run over.

use crate::codegen::value::{Range, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::constexpr;
use crate::diagnostic::{Cause, Fault};
use crate::ops::{Args, Builtin, op};
use crate::semantic::{MAXIMUM, MINIMUM};
use crate::value::PyValue;
use ir::{Attr, DeclaredKey};
use std::rc::Rc;
use ttir::ops::control;

pub(super) static TABLE: &[Builtin] = &[
    // Options of `tl.range` are allowed on Python's `range` and mean nothing there, as for the reference.
    op(
        "python.range",
        "*args, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False, \
         warp_specialize=False, disable_licm=False",
        python_range,
    ),
    op(
        "tl.range",
        "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, \
         flatten=False, warp_specialize=False, disable_licm=False",
        tl_range,
    ),
    op("tl.static_range", "arg1, arg2=None, step=None", |ctx, args| {
        let bounds = bounds(&args);
        range(ctx, &bounds, Vec::new(), Unrolled::Yes)
    }),
    op("python.len", "x", |ctx, args| match args.val("x") {
        Val::Tuple(tuple) => Ok(Val::int(tuple.items.len() as i128)),
        Val::Const(PyValue::Str(text)) => Ok(Val::int(text.chars().count() as i128)),
        other => {
            let message = Cause::Type.says(format!(
                "object of type '{}' has no len(): {}",
                other.type_name(),
                other.describe()
            ));
            Err(ctx.error_help(message, "the dimensions of a block are `x.shape`, its elements `x.numel`"))
        }
    }),
    op("python.list", "x=()", |ctx, args| match args.val("x") {
        Val::Const(_) => Ok(Val::tuple(Vec::new())),
        val => Ok(Val::tuple(ctx.iterate(val)?)),
    }),
    op("python.tuple", "x=()", |ctx, args| match args.val("x") {
        Val::Const(_) => Ok(Val::tuple(Vec::new())),
        val => Ok(Val::tuple(ctx.iterate(val)?)),
    }),
    op("python.int", "x=0", |ctx, args| convert(ctx, &args, constexpr::to_int, ".to(tl.int32)")),
    op("python.float", "x=0", |ctx, args| convert(ctx, &args, constexpr::to_float, ".to(tl.float32)")),
    op("python.bool", "x=False", |ctx, args| {
        convert(ctx, &args, |value| Ok(PyValue::Bool(constexpr::truth(value))), ".to(tl.int1)")
    }),
    op("python.str", "x=''", |ctx, args| {
        convert(ctx, &args, |value| Ok(PyValue::str(&constexpr::text(value))), "…")
    }),
    op("python.abs", "x", |ctx, args| match args.val("x").to_py() {
        Some(value) => Ok(Val::Const(ctx.check(constexpr::absolute(&value))?)),
        None => ctx.call_builtin("tl.abs", vec![args.val("x").clone()], Vec::new()),
    }),
    op("python.sum", "x", |ctx, args| {
        let mut total = Val::int(0);
        for item in ctx.iterate(args.val("x"))? {
            total = ctx.binary(ruff_python_ast::Operator::Add, total, item)?;
        }
        Ok(total)
    }),
    op("python.zip", "*args", |ctx, args| {
        let mut lists = Vec::new();
        for list in &args.rest {
            lists.push(ctx.iterate(list)?);
        }
        let shortest = lists.iter().map(Vec::len).min().unwrap_or(0);
        let row = |at: usize| Val::tuple(lists.iter().map(|list| list[at].clone()).collect());
        Ok(Val::tuple((0..shortest).map(row).collect()))
    }),
    op("python.min", "*args", |ctx, args| extremum(ctx, args, true)),
    op("python.max", "*args", |ctx, args| extremum(ctx, args, false)),
    op("python.isinstance", "x, classinfo", isinstance),
    op("python.getattr", "x, name, default=_missing", |ctx, args| {
        let name = args.text(ctx, "name")?;
        let missing =
            matches!(args.val("default"), Val::Const(PyValue::Builtin(marker)) if &**marker == "_missing");
        match ctx.find_attribute(args.val("x"), &name)? {
            Some(val) => Ok(val),
            None if missing => ctx.attribute(args.val("x"), &name),
            None => Ok(args.val("default").clone()),
        }
    }),
    op("python.hasattr", "x, name", |ctx, args| {
        let name = args.text(ctx, "name")?;
        Ok(Val::bool(ctx.find_attribute(args.val("x"), &name)?.is_some()))
    }),
    op("python._floordiv", "x, y", |ctx, args| {
        let [x, y] = both(ctx, &args)?;
        Ok(Val::Tensor(ctx.floor_divide(x, y)?))
    }),
    op("python._mod", "x, y", |ctx, args| {
        let [x, y] = both(ctx, &args)?;
        Ok(Val::Tensor(ctx.floor_remainder(x, y)?))
    }),
    op("python._sub", "x, y", |ctx, args| {
        let [x, y] = both(ctx, &args)?;
        Ok(Val::Tensor(ctx.difference(x, y)?))
    }),
    op("python._index", "x, index", |ctx, args| match args.val("x") {
        Val::Tensor(tensor) => Ok(ctx.part_of(tensor.clone(), args.val("index"))?.into()),
        other => ctx.subscript_value(other, args.val("index")),
    }),
    op("python._set_index", "x, index, value", |ctx, args| {
        let x = args.tensor(ctx, "x")?;
        Ok(ctx.with_part(x, args.val("index"), args.val("value"))?.into())
    }),
    op("python.print", "*args, sep=' ', end='', hex=False", print),
];

/// The operands of an operator that an extension changes.
fn both(ctx: &mut Ctx<'_>, args: &Args) -> Res<[Num; 2]> {
    Ok([ctx.number(args.val("x"))?, ctx.number(args.val("y"))?])
}

/// Whether the front end unrolls a loop.
#[derive(Clone, Copy, PartialEq)]
enum Unrolled {
    Yes,
    No,
}

fn bounds(args: &Args) -> Vec<Val> {
    let mut bounds = vec![args.val("arg1").clone()];
    let step = args.given("step");
    match (args.given("arg2"), step) {
        (Some(end), _) => bounds.push(end.clone()),
        (None, Some(_)) => bounds.insert(0, Val::int(0)),
        (None, None) => {}
    }
    bounds.extend(step.cloned());
    bounds
}

fn range(
    ctx: &mut Ctx<'_>,
    bounds: &[Val],
    attrs: Vec<(&'static DeclaredKey, Attr)>,
    unrolled: Unrolled,
) -> Res<Val> {
    let (start, end, step) = match bounds {
        [end] => (Val::int(0), end.clone(), Val::int(1)),
        [start, end] => (start.clone(), end.clone(), Val::int(1)),
        [start, end, step] => (start.clone(), end.clone(), step.clone()),
        other => {
            return Err(ctx.error(
                Cause::Type.says(format!("range() takes 1 to 3 positional arguments, got {}", other.len())),
            ));
        }
    };
    for bound in [&start, &end, &step] {
        ctx.usable(bound)?;
    }
    let is_static = unrolled == Unrolled::Yes;
    Ok(Val::Range(Rc::new(Range { start, end, step, is_static, attrs })))
}

fn python_range(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let mut bounds = args.rest.clone();
    if let Some(step) = args.given("step") {
        if bounds.len() == 1 {
            bounds.insert(0, Val::int(0));
        }
        bounds.push(step.clone());
    }
    range(ctx, &bounds, Vec::new(), Unrolled::No)
}

fn tl_range(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let mut attrs: Vec<(&'static DeclaredKey, Attr)> = Vec::new();
    for (name, key) in [("num_stages", &control::NUM_STAGES), ("loop_unroll_factor", &control::UNROLL)] {
        if let Some(value) = args.optional_int(ctx, name)? {
            let held = i32::try_from(value);
            let held = held.map_err(|_| ctx.error(format!("{name} is {value}, which fits no 32 bits")))?;
            attrs.push((key, Attr::i32(held)));
        }
    }
    for (name, key) in [
        ("disallow_acc_multi_buffer", &control::DISALLOW_ACC_MULTI_BUFFER),
        ("flatten", &control::FLATTEN),
        ("warp_specialize", &control::WARP_SPECIALIZE),
        ("disable_licm", &control::DISABLE_LICM),
    ] {
        if args.truth(ctx, name)? {
            attrs.push((key, Attr::Unit));
        }
    }
    range(ctx, &bounds(&args), attrs, Unrolled::No)
}

fn convert(
    ctx: &mut Ctx<'_>,
    args: &Args,
    rule: fn(&PyValue) -> Result<PyValue, Fault>,
    help: &str,
) -> Res<Val> {
    match args.val("x").to_py() {
        Some(value) => Ok(Val::Const(ctx.check(rule(&value))?)),
        None => {
            let message =
                Cause::Type.says(format!("{} cannot be converted when compiling", args.val("x").describe()));
            Err(ctx.error_help(message, &format!("convert it at run time with `{help}`")))
        }
    }
}

fn is_minus_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// `min` and `max`: of constants by value, of run-time values by ops.
fn extremum(ctx: &mut Ctx<'_>, args: Args, smallest: bool) -> Res<Val> {
    let items = match args.rest.as_slice() {
        [Val::Tuple(tuple)] => tuple.items.clone(),
        items => items.to_vec(),
    };
    let constants: Option<Vec<PyValue>> = items.iter().map(Val::to_py).collect();
    if let Some(constants) = constants {
        let is_unclear = |value: &PyValue| matches!(value, PyValue::Float(value) if value.is_nan() || is_minus_zero(*value));
        if let Some(value) = constants.iter().find(|value| is_unclear(value)) {
            let name = if smallest { "min" } else { "max" };
            let message = format!("{name} of constants does not support {}", constexpr::repr(value));
            let help = "Python's answer would depend on the order: leave it out, or compare at run time with \
                        `tl.minimum` or `tl.maximum`";
            return Err(ctx.error_help(message, help));
        }
        return Ok(Val::from_py(ctx.check(constexpr::extremum(&constants, smallest))?));
    }
    let rows = if smallest { &MINIMUM } else { &MAXIMUM };
    let mut items = items.iter();
    let Some(first) = items.next() else { return Ok(Val::NONE) };
    let mut best = ctx.number(first)?;
    for item in items {
        let item = ctx.number(item)?;
        best = crate::codegen::Num::Tensor(ctx.extremum(rows, best, item)?);
    }
    Ok(ctx.num_to_tensor(best)?.into())
}

fn isinstance(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let classes = match args.val("classinfo") {
        Val::Tuple(tuple) => tuple.items.clone(),
        single => vec![single.clone()],
    };
    let x = args.val("x");
    let mut found = false;
    for class in classes {
        if let Val::Const(PyValue::Object(class)) = &class {
            found |= ctx.is_instance_of(x, class);
            continue;
        }
        let Val::Const(PyValue::Builtin(name)) = &class else {
            let message = format!("isinstance() cannot test for {}", class.describe());
            return Err(ctx
                .error_help(message, "test for `tl.tensor`, `tl.constexpr`, `tl.tuple`, `int`, `float`, …"));
        };
        found |= is_instance(x, name);
    }
    Ok(Val::bool(found))
}

fn is_instance(val: &Val, class: &str) -> bool {
    match class {
        "tl.tensor" => matches!(val, Val::Tensor(_) | Val::BlockPointer(_)),
        // What Python asks about a constant is asked about its value.
        "tl.constexpr" => false,
        "tl.tuple" | "tl.tuple_type" | "python.tuple" | "python.list" => matches!(val, Val::Tuple(_)),
        "tl.dtype" => matches!(val, Val::Const(PyValue::DType(_)) | Val::Type(_)),
        "tl.constexpr_type" => matches!(val, Val::ConstexprType(_)),
        "tl.pointer_type" => matches!(val, Val::Const(PyValue::DType(scalar)) if scalar.pointer().is_some()),
        "tl.block_type" => matches!(val, Val::Type(_)),
        "tl.tensor_descriptor" | "tl.tensor_descriptor_base" | "tl._experimental_tensor_descriptor" => {
            matches!(val, Val::Descriptor(_))
        }
        "python.int" => matches!(val, Val::Const(PyValue::Int(_) | PyValue::Bool(_))),
        "python.bool" => matches!(val, Val::Const(PyValue::Bool(_))),
        "python.str" => matches!(val, Val::Const(PyValue::Str(_))),
        "python.float" => matches!(val, Val::Const(PyValue::Float(_))),
        _ => false,
    }
}

/// Python's `print` is `tl.device_print`; texts make up its prefix.
fn print(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let mut prefix = Vec::new();
    let mut values = Vec::new();
    for val in args.rest {
        match &val {
            Val::Const(PyValue::Str(text)) => prefix.push(text.to_string()),
            Val::Const(value) if constexpr::as_float(value).is_none() => prefix.push(constexpr::text(value)),
            _ => {
                ctx.tensor_from(&val).map(|_| ())?;
                values.push(val);
            }
        }
    }
    let mut positional = vec![Val::Const(PyValue::str(&prefix.join(" ")))];
    positional.extend(values);
    ctx.call_builtin("tl.device_print", positional, Vec::new())
}
