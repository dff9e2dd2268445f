//! Printing and asserting, when compiling and when running.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::constexpr;
use crate::diagnostic::{Cause, Kind};
use crate::dtype::DType;
use crate::ops::{Args, Builtin, op};
use crate::semantic::Predicate;
use crate::value::PyValue;
use ir::{Attr, Type};
use ttir::ops::{arith_int, debug, memory};

pub(super) static TABLE: &[Builtin] = &[
    op("tl.static_assert", "cond, msg=''", static_assert),
    op("tl.static_print", "*values, sep=' ', end='\\n', file=None, flush=False", static_print),
    op("tl.device_print", "prefix, *args, hex=False", device_print),
    op("tl.device_assert", "cond, msg='', mask=None", |ctx, args| {
        let mask = args.optional_tensor(ctx, "mask")?;
        ctx.device_assert(args.val("cond"), args.val("msg"), mask)?;
        Ok(Val::NONE)
    }),
    op("tl.debug_barrier", "", |ctx, _| {
        let value = memory::BARRIER_SCOPE.value("local");
        let attr = value.map(|value| Attr::Enum { row: &memory::BARRIER_SCOPE, value });
        ctx.emit_effect(&memory::BARRIER, &[], &[attr]);
        Ok(Val::NONE)
    }),
    op("tl.expect_zero", "x, mask", expect_zero),
];

fn static_assert(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let holds = match args.val("cond") {
        Val::Const(value) => constexpr::truth(value),
        Val::Tuple(tuple) => !tuple.items.is_empty(),
        _ => {
            return Err(ctx.error_help(
                Cause::NotImplemented.says("Assertion condition could not be determined at compile-time. Make sure that it depends only on \
                 `constexpr` values"),
                "use `tl.device_assert` for run-time values",
            ));
        }
    };
    if holds {
        return Ok(Val::NONE);
    }
    let message = static_text(args.val("msg"));
    let text = if message.is_empty() { "static assertion failed".to_string() } else { message };
    let at = ctx.at;
    Err(ctx.report(Kind::StaticAssert, text, at, &[]))
}

/// Prints while compiling. The text goes to the request's listener, not to the process's output.
fn static_print(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    if !args.val("file").is_none() {
        return Err(ctx.error_help(
            "static_print cannot print to another file",
            "leave `file` out: it prints to the standard output",
        ));
    }
    let texts: Vec<String> = args.rest.iter().map(static_text).collect();
    let (sep, end) = (args.text(ctx, "sep")?, args.text(ctx, "end")?);
    (ctx.request.print)(&format!("{}{}", texts.join(&sep), end.replace("\\n", "\n")));
    Ok(Val::NONE)
}

/// A value as `static_print` shows it: a block by its type, `int32[constexpr[128]]`, as the reference does.
fn static_text(val: &Val) -> String {
    match val {
        Val::Tensor(tensor) => {
            let sizes: Vec<String> =
                tensor.ty.shape.iter().map(|size| format!("constexpr[{size}]")).collect();
            format!("{}[{}]", tensor.ty.scalar, sizes.join(", "))
        }
        Val::Type(ty) => ty.to_string(),
        Val::ConstexprType(value) => format!("constexpr_type[{}]", constexpr::text(value)),
        other => other.to_py().map_or_else(|| other.describe(), |value| constexpr::text(&value)),
    }
}

fn device_print(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let mut prefix = args.text(ctx, "prefix")?;
    if !prefix.is_ascii() {
        return Err(ctx.error(Cause::Assertion.says(format!("{prefix} is not an ascii string"))));
    }
    let hex = args.bool(ctx, "hex")?;
    let tensors: Res<Vec<Tensor>> = args.rest.iter().map(|val| ctx.tensor_from(val)).collect();
    let tensors = tensors?;
    if !tensors.is_empty() && !prefix.ends_with(": ") {
        let bare = prefix.strip_suffix(' ').unwrap_or(&prefix);
        prefix = format!("{}: ", bare.strip_suffix(':').unwrap_or(bare));
    }
    if prefix.len() > 2 && !prefix.starts_with(' ') {
        prefix.insert(0, ' ');
    }
    let signed =
        tensors.iter().map(|tensor| i64::from(tensor.ty.scalar.is_number(DType::is_int_signed))).collect();
    let values: Vec<ir::Value> = tensors.iter().map(|tensor| tensor.value).collect();
    let attrs = [
        Some(Attr::str(&prefix)),
        Some(Attr::Bool(hex)),
        Some(Attr::DenseArray { elem: Type::int(32), values: signed }),
    ];
    ctx.emit_effect(&debug::PRINT, &values, &attrs);
    Ok(Val::NONE)
}

fn expect_zero(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (x, mask) = (args.tensor(ctx, "x")?, args.tensor(ctx, "mask")?);
    if ctx.request.options.debug {
        let (value, zero) = (Num::Tensor(x.clone()), Num::Literal(PyValue::Int(0)));
        let is_zero = ctx.compare(Predicate::Eq, value, zero)?;
        let message = Val::Const(PyValue::str("expect_zero expected x == 0 where mask is true"));
        let mask = ctx.as_bool(mask)?;
        ctx.device_assert(&Val::Tensor(is_zero), &message, Some(mask))?;
    }
    Ok(x.into())
}

impl Ctx<'_> {
    /// `tl.device_assert` and `assert`: nothing unless debugging is on.
    pub(crate) fn device_assert(&mut self, cond: &Val, message: &Val, mask: Option<Tensor>) -> Res<()> {
        self.usable(cond)?;
        if !self.request.options.debug {
            return Ok(());
        }
        let cond = match cond {
            Val::Tensor(tensor) => tensor.clone(),
            Val::Const(value) if !constexpr::truth(value) => self.tensor_from(&Val::bool(false))?,
            _ => return Ok(()),
        };
        let mut cond = self.as_bool(cond)?;
        if let Some(mask) = mask {
            let unmasked = self.logical_not(mask)?;
            let (a, b) = self.broadcast_both(cond, unmasked)?;
            cond = self.elementwise(&arith_int::ORI, &a, &b)?;
        }
        let text = match message {
            Val::Const(PyValue::Str(text)) => text.to_string(),
            other => static_text(other),
        };
        self.emit_effect(&debug::ASSERT, &[cond.value], &[Some(Attr::str(&text))]);
        Ok(())
    }
}
