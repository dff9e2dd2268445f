//! Binding of arguments to the parameters of an operation, and reading them.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res, Stop};
use crate::constexpr;
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::value::PyValue;

/// A parameter of an operation.
pub(crate) struct Param {
    pub(crate) name: &'static str,
    /// Its default; `None` if it must be given.
    pub(crate) default: Option<PyValue>,
    /// `*args`.
    pub(crate) variadic: bool,
    /// Behind a `*`.
    pub(crate) keyword_only: bool,
}

/// Reads `"pointer, mask=None, *, cache_modifier=''"`.
pub(crate) fn parse_params(text: &'static str) -> Vec<Param> {
    let mut keyword_only = false;
    let mut params = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part == "*" {
            keyword_only = true;
            continue;
        }
        let (name, default) = part.split_once('=').map_or((part, None), |(name, text)| (name, Some(text)));
        let variadic = name.starts_with('*');
        params.push(Param {
            name: name.trim_start_matches('*'),
            default: default.map(parse_default),
            variadic,
            keyword_only,
        });
        keyword_only |= variadic;
    }
    params
}

fn parse_default(text: &'static str) -> PyValue {
    match text {
        "None" => PyValue::None,
        "True" => PyValue::Bool(true),
        "False" => PyValue::Bool(false),
        text => match (text.parse(), text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))) {
            (Ok(value), _) => PyValue::Int(value),
            (_, Some(text)) => PyValue::str(text),
            _ => PyValue::Builtin(text.into()),
        },
    }
}

/// Arguments, bound to the parameters of an operation.
pub(crate) struct Args {
    params: &'static [Param],
    values: Vec<Val>,
    /// What `*args` took.
    pub(crate) rest: Vec<Val>,
}

impl Args {
    /// Binds arguments.
    pub(crate) fn bind(
        ctx: &mut Ctx<'_>,
        function: &str,
        params: &'static [Param],
        positional: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Args> {
        let mut values: Vec<Option<Val>> = params.iter().map(|_| None).collect();
        let mut rest = Vec::new();
        let mut at = 0;
        for val in positional {
            match params.get(at) {
                Some(param) if param.variadic => rest.push(val),
                Some(param) if !param.keyword_only => {
                    values[at] = Some(val);
                    at += 1;
                }
                _ => {
                    let most = params.iter().filter(|param| !param.keyword_only).count();
                    return Err(ctx.error(
                        Cause::Type.says(format!("{function}() takes at most {most} positional arguments")),
                    ));
                }
            }
        }
        for (name, val) in keywords {
            // Conventions of wrappers around builtins; they carry nothing here.
            if matches!(name.as_str(), "_semantic" | "_generator" | "_builder") {
                continue;
            }
            match params.iter().position(|param| param.name == name && !param.variadic) {
                Some(index) if values[index].is_some() => {
                    return Err(ctx.error(
                        Cause::Type.says(format!("{function}() got multiple values for argument '{name}'")),
                    ));
                }
                Some(index) => values[index] = Some(val),
                None => {
                    let known: Vec<&str> = params.iter().map(|param| param.name).collect();
                    let help = format!("its parameters are: {}", known.join(", "));
                    return Err(ctx.error_help(
                        Cause::Type.says(format!("{function}() got an unexpected keyword argument '{name}'")),
                        &help,
                    ));
                }
            }
        }
        let mut bound = Vec::with_capacity(params.len());
        for (param, value) in params.iter().zip(values) {
            bound.push(match (value, &param.default) {
                (Some(value), _) => value,
                (None, Some(default)) => Val::from_py(default.clone()),
                (None, None) if param.variadic => Val::NONE,
                (None, None) => {
                    return Err(ctx.error(
                        Cause::Type.says(format!("{function}() missing required argument: '{}'", param.name)),
                    ));
                }
            });
        }
        for val in bound.iter().chain(&rest) {
            ctx.usable(val)?;
        }
        Ok(Args { params, values: bound, rest })
    }

    /// An argument.
    ///
    /// # Panics
    /// When the operation has no such parameter: its row and its code disagree.
    pub(crate) fn val(&self, name: &str) -> &Val {
        let index = self.params.iter().position(|param| param.name == name);
        &self.values[index.expect("an operation asks for its own parameters")]
    }

    /// An argument, unless it is `None`.
    pub(crate) fn given(&self, name: &str) -> Option<&Val> {
        Some(self.val(name)).filter(|val| !val.is_none())
    }

    /// An argument as a tensor.
    pub(crate) fn tensor(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Tensor> {
        ctx.tensor_from(self.val(name))
    }

    /// An argument as a tensor, unless it is `None`.
    pub(crate) fn optional_tensor(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Option<Tensor>> {
        self.given(name).map(|val| ctx.tensor_from(val)).transpose()
    }

    /// An argument that is one side of an operation.
    pub(crate) fn num(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Num> {
        ctx.number(self.val(name))
    }

    /// As [`Args::num`], unless it is `None`.
    pub(crate) fn optional_num(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Option<Num>> {
        self.given(name).map(|val| ctx.number(val)).transpose()
    }

    fn wrong(&self, ctx: &mut Ctx<'_>, name: &str, expected: &str) -> Stop {
        let found = self.val(name).describe();
        let help = match self.val(name) {
            Val::Tensor(_) => {
                "a value that is known when compiling is needed: a literal, a `tl.constexpr` parameter or name"
            }
            _ => "",
        };
        let message = format!("argument '{name}' must be {expected}, found {found}");
        let fault = Cause::Type.says(message);
        if help.is_empty() { ctx.error(fault) } else { ctx.error_help(fault, help) }
    }

    /// An argument known at compile time.
    pub(crate) fn constant(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<PyValue> {
        match self.val(name).to_py() {
            Some(value) => Ok(value),
            None => Err(self.wrong(ctx, name, "a constexpr")),
        }
    }

    /// An integer known at compile time.
    pub(crate) fn int(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<i128> {
        match self.val(name).to_py().as_ref().and_then(constexpr::as_int) {
            Some(value) => Ok(value),
            None => Err(self.wrong(ctx, name, "a constexpr integer")),
        }
    }

    /// An integer known at compile time, unless it is `None`.
    pub(crate) fn optional_int(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Option<i128>> {
        self.given(name).is_some().then(|| self.int(ctx, name)).transpose()
    }

    /// A truth known at compile time.
    pub(crate) fn bool(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<bool> {
        match self.val(name) {
            Val::Const(value) => Ok(constexpr::truth(value)),
            _ => Err(self.wrong(ctx, name, "a constexpr truth")),
        }
    }

    /// What Triton's own Python asks by `if argument:`, where any value of the program's is true.
    pub(crate) fn truth(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<bool> {
        let Val::Tensor(_) = self.val(name) else { return self.bool(ctx, name) };
        ctx.warn(&format!(
            "'{name}' is a run-time value, which counts as true whatever it is; make its parameter a `tl.constexpr`"
        ));
        Ok(true)
    }

    /// A text known at compile time; empty for `None`.
    pub(crate) fn text(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<String> {
        match self.val(name) {
            Val::Const(PyValue::None) => Ok(String::new()),
            Val::Const(PyValue::Str(text)) => Ok(text.to_string()),
            _ => Err(self.wrong(ctx, name, "a string")),
        }
    }

    /// An element type.
    pub(crate) fn scalar(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Scalar> {
        match self.val(name) {
            Val::Const(PyValue::DType(scalar)) => Ok(*scalar),
            Val::Type(ty) => Ok(ty.scalar),
            _ => Err(self.wrong(ctx, name, "a dtype such as `tl.float32`")),
        }
    }

    /// A number type.
    pub(crate) fn dtype(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<DType> {
        match self.scalar(ctx, name)? {
            Scalar::Number(dtype) => Ok(dtype),
            Scalar::Pointer(_) => Err(self.wrong(ctx, name, "a number type, not a pointer type")),
        }
    }

    /// Integers known at compile time: an integer, a tuple of them, or what `*args` took.
    pub(crate) fn dims(&self, ctx: &mut Ctx<'_>, name: &str) -> Res<Vec<i128>> {
        let variadic = self.params.iter().any(|param| param.variadic && param.name == name);
        let items: Vec<Val> = match (variadic, self.rest.as_slice()) {
            (true, [Val::Tuple(tuple)]) => tuple.items.clone(),
            (true, rest) => rest.to_vec(),
            (false, _) => match self.val(name) {
                Val::Tuple(tuple) => tuple.items.clone(),
                single => vec![single.clone()],
            },
        };
        let mut dims = Vec::with_capacity(items.len());
        for item in &items {
            match item.to_py().as_ref().and_then(constexpr::as_int) {
                Some(dim) => dims.push(dim),
                None => {
                    let found = item.describe();
                    return Err(ctx.error_help(
                        Cause::Type.says(format!("'{name}' must hold constexpr integers, found {found}")),
                        "shapes and axes must be known when compiling: use literals or `tl.constexpr` parameters",
                    ));
                }
            }
        }
        Ok(dims)
    }
}
