//! Calls: of operations, of `@jit` functions (inlined), of constexpr functions.

use crate::codegen::flow::Flow;
use crate::codegen::scope::{Frame, Locals};
use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res, Stop};
use crate::diagnostic::Cause;
use crate::ops::external::EXTERN_ELEMENTWISE;
use crate::ops::{self, Args};
use crate::parse::{self, ParsedFunction};
use crate::python_math;
use crate::request::Dependency;
use crate::stdlib;
use crate::value::{FunctionRef, ObjectRef, PyValue};
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, ParameterWithDefault};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Calls nested deeper than this are taken for endless recursion.
const MAX_DEPTH: usize = 64;

/// The operation that asserts while compiling.
const STATIC_ASSERT: &str = "tl.static_assert";

/// Why a block pointer that was moved must be assigned.
const MOVES_NOTHING: &str = "A block pointer is a value: assign it, as in `p = tl.advance(p, (0, BLOCK))`.";

/// Arguments known at compile time, by position and by name.
type Constants = (Vec<PyValue>, Vec<(String, PyValue)>);

impl Ctx<'_> {
    /// A call expression.
    pub(crate) fn call_expr(&mut self, call: &ast::ExprCall) -> Res<Val> {
        let discarded = self.discarded.take() == Some(call.range());
        let callee = self.expr(&call.func)?;
        if discarded {
            self.check_discarded(&callee, &call.func)?;
        }
        if let (Val::Const(PyValue::Builtin(path)), [condition, message], []) =
            (&callee, &*call.arguments.args, &*call.arguments.keywords)
            && &**path == STATIC_ASSERT
            && !condition.is_starred_expr()
            && !message.is_starred_expr()
        {
            return self.static_assert_expr(condition, message);
        }
        let mut args = Vec::with_capacity(call.arguments.args.len());
        for arg in &call.arguments.args {
            match arg {
                Expr::Starred(starred) => {
                    let val = self.expr(&starred.value)?;
                    args.extend(self.at(arg, |ctx| ctx.iterate(&val))?);
                }
                other => args.push(self.argument(&callee, other)?),
            }
        }
        let mut keywords = Vec::with_capacity(call.arguments.keywords.len());
        for keyword in &call.arguments.keywords {
            let Some(name) = &keyword.arg else {
                return Err(
                    self.unsupported("`**` in a call is not supported", "pass every argument by name")
                );
            };
            keywords.push((name.to_string(), self.argument(&callee, &keyword.value)?));
        }
        self.call_value(&callee, args, keywords)
    }

    /// `tl.static_assert(condition, message)`: the message is only made where the condition does not hold.
    fn static_assert_expr(&mut self, condition: &Expr, message: &Expr) -> Res<Val> {
        let holds = self.expr(condition)?;
        let is_known = matches!(&holds, Val::Const(_) | Val::Tuple(_));
        if !is_known || Self::known_truth(&holds) {
            return self.call_builtin(STATIC_ASSERT, vec![holds], Vec::new());
        }
        let errors = self.diagnostics.len();
        let text = self.expr(message).unwrap_or_else(|Stop| {
            let why = self.diagnostics.drain(errors..).next().map(|error| error.message);
            let why = why.unwrap_or_default();
            Val::Const(PyValue::str(&format!("<failed to evaluate assertion message: {why}>")))
        });
        self.call_builtin(STATIC_ASSERT, vec![holds, text], Vec::new())
    }

    /// One argument of a call. A table of symbols is given as its pairs.
    fn argument(&mut self, callee: &Val, arg: &Expr) -> Res<Val> {
        let takes_table =
            matches!(callee, Val::Const(PyValue::Builtin(path)) if &**path == EXTERN_ELEMENTWISE);
        let Expr::Dict(table) = arg else { return self.expr(arg) };
        if !takes_table {
            return self.expr(arg);
        }
        let mut pairs = Vec::new();
        for item in &table.items {
            let Some(key) = &item.key else { return self.expr(arg) };
            pairs.push(Val::tuple(vec![self.expr(key)?, self.expr(&item.value)?]));
        }
        Ok(Val::tuple(pairs))
    }

    /// Refuses calls that mean nothing without their result.
    fn check_discarded(&mut self, callee: &Val, func: &Expr) -> Res<()> {
        let globals = self.request.globals;
        let marked = |function: &PyValue| match function {
            PyValue::JitFunction(function) => globals.must_use(function),
            PyValue::ConstexprFunction(object) => match globals.attribute(object, "_must_use_result") {
                Some(PyValue::Str(text)) => Some(text.to_string()),
                Some(PyValue::Bool(true)) => Some(String::new()),
                _ => None,
            },
            _ => None,
        };
        let why = match callee {
            Val::Const(PyValue::Builtin(path)) if &**path == "tl.advance" => Some(MOVES_NOTHING.to_owned()),
            Val::Const(function) => marked(function),
            Val::Method { receiver, name } => match &**receiver {
                Val::BlockPointer(_) if &**name == "advance" => Some(MOVES_NOTHING.to_owned()),
                Val::Aggregate(aggregate) => {
                    self.class_function(&aggregate.class, name).as_ref().and_then(marked)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(why) = why else { return Ok(()) };
        let called = self.frame().parsed.text.slice(func.range()).to_string();
        let dot = if why.is_empty() { "." } else { ". " };
        Err(self.error(format!("The result of {called} is not being used{dot}{why}")))
    }

    /// Calls a value.
    pub(crate) fn call_value(
        &mut self,
        callee: &Val,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        match callee {
            Val::Method { receiver, name } => self.call_method(receiver, name, args, keywords),
            Val::Const(PyValue::Builtin(path)) => self.call_builtin(path, args, keywords),
            Val::Const(PyValue::JitFunction(function)) => self.call_jit(&function.clone(), args, keywords),
            Val::Const(PyValue::ConstexprFunction(object)) => self.call_seeing(object, &args, &keywords),
            Val::Const(PyValue::Object(object)) => self.call_object(object, args, keywords),
            Val::Aggregate(aggregate) => {
                self.call_aggregate_method(callee, aggregate, "__call__", args, keywords)
            }
            // `tl.float32(x)` is `x` in that type.
            Val::Const(PyValue::DType(_)) if args.len() == 1 && keywords.is_empty() => {
                self.call_builtin("tl.cast", args.into_iter().chain([callee.clone()]).collect(), keywords)
            }
            Val::Poison => Err(Stop),
            other => Err(self.error(Cause::Type.says(format!(
                "'{}' object is not callable: {}",
                other.type_name(),
                other.describe()
            )))),
        }
    }

    /// Calls an operation by its short path.
    pub(crate) fn call_builtin(
        &mut self,
        path: &str,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        if let Some(name) = path.strip_prefix("math.") {
            let (args, _) = self.constants(path, args, keywords)?;
            return Ok(Val::Const(self.check(python_math::call(name, &args))?));
        }
        if path == "tl.aggregate_replace" {
            return self.aggregate_replace(args, keywords);
        }
        if path == "tl.constexpr_type" {
            let (args, _) = self.constants(path, args, keywords)?;
            return match <[PyValue; 1]>::try_from(args) {
                Ok([value]) => Ok(Val::ConstexprType(value.unwrapped())),
                Err(_) => Err(self.error(
                    Cause::Type.says("constexpr_type takes one value, the constant whose type it is"),
                )),
            };
        }
        if path == "tl.tuple_type" {
            return self.named_tuple_type(&args, &keywords);
        }
        let Some(entry) = ops::find(path) else {
            return Err(self.unsupported(format!("`{path}` cannot be called in a kernel"), ""));
        };
        let name = path.rsplit('.').next().unwrap_or(path);
        let (args, keywords) = ops::memory::by_name(path, args, keywords);
        let args = Args::bind(self, name, &entry.params, args, keywords)?;
        if path.starts_with("libdevice.") {
            return ops::call_libdevice(self, path, &args);
        }
        (entry.builtin.run)(self, args)
    }

    pub(crate) fn constants(
        &mut self,
        what: &str,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Constants> {
        let mut known = Vec::new();
        for val in &args {
            known.push(self.constant_argument(what, val)?);
        }
        let mut named = Vec::new();
        for (name, val) in keywords {
            named.push((name, self.constant_argument(what, &val)?));
        }
        Ok((known, named))
    }

    pub(crate) fn constant_argument(&mut self, what: &str, val: &Val) -> Res<PyValue> {
        self.usable(val)?;
        if let Val::Aggregate(aggregate) = val {
            return self.instance(aggregate);
        }
        match val.to_py() {
            Some(value) => Ok(value),
            None => {
                let found = val.describe();
                Err(self.error_help(
                    format!("`{what}` runs when compiling: its arguments must be constexprs, found {found}"),
                    "for run-time values, write a @triton.jit function",
                ))
            }
        }
    }

    fn call_object(&mut self, object: &ObjectRef, args: Vec<Val>, keywords: Vec<(String, Val)>) -> Res<Val> {
        if object.0.type_name == "type"
            && let Some(made) = self.call_class(object, args.clone(), keywords.clone())
        {
            return made;
        }
        if let Some(result) = self.call_marked(object, &args, &keywords)? {
            return Ok(result);
        }
        let known = args.iter().chain(keywords.iter().map(|(_, val)| val)).all(|val| val.to_py().is_some());
        if known {
            return self.call_seeing(object, &args, &keywords);
        }
        Err(self.unsupported(
            format!("`{}` (a {}) cannot be called in a kernel", object.0.text, object.0.type_name),
            "kernels may call operations of the language and functions decorated with @triton.jit",
        ))
    }

    /// The parsed text of a function.
    pub(crate) fn parsed_function(&mut self, function: &FunctionRef) -> Res<Arc<ParsedFunction>> {
        if let Some(parsed) = stdlib::parsed(function) {
            return Ok(parsed);
        }
        let key = (function.0.id, format!("{}.{}", function.0.module, function.0.name));
        if let Some(parsed) = self.parsed.get(&key) {
            return Ok(parsed.clone());
        }
        match parse::function(function) {
            Ok(parsed) => {
                let parsed = Arc::new(parsed);
                self.parsed.insert(key, parsed.clone());
                self.dependencies.push(Dependency::Function(function.clone()));
                Ok(parsed)
            }
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                Err(Stop)
            }
        }
    }

    /// Calls a `@jit` function: its body is walked here.
    pub(crate) fn call_jit(
        &mut self,
        function: &FunctionRef,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        let parsed = self.parsed_function(function)?;
        let bound = self.bind(&parsed, args, keywords)?;
        if let Some(result) = self.call_function(function, &parsed, &bound) {
            return result;
        }
        let call_loc = Some(self.loc());
        self.walk_bound(&parsed, bound, call_loc, false).map(|(result, _)| result)
    }

    /// Walks the body of a function; gives its result and its names, the parameters first.
    pub(crate) fn walk_jit(
        &mut self,
        function: &FunctionRef,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
        initializes: bool,
    ) -> Res<(Val, Locals)> {
        let parsed = self.parsed_function(function)?;
        let bound = self.bind(&parsed, args, keywords)?;
        let call_loc = Some(self.loc());
        self.walk_bound(&parsed, bound, call_loc, initializes)
    }

    /// The same with arguments that are bound to parameters; `call_loc` is where locations say that it is called.
    pub(crate) fn walk_bound(
        &mut self,
        parsed: &Arc<ParsedFunction>,
        bound: Locals,
        call_loc: Option<ir::Loc>,
        initializes: bool,
    ) -> Res<(Val, Locals)> {
        if self.frames.len() >= MAX_DEPTH {
            let name = &parsed.ast.name;
            return Err(self.error_help(
                format!(
                    "calls are nested more than {MAX_DEPTH} deep, at `{name}`: is it recursive without end?"
                ),
                "recursion must end on a constexpr condition",
            ));
        }
        self.repeat_code()?;
        let frame = Frame {
            parsed: parsed.clone(),
            locals: bound,
            pending_constexprs: FxHashSet::default(),
            call: self.at,
            call_loc,
            initializes,
            loops: 0,
            returned: None,
            looks_for_value: false,
        };
        let outer = (self.known_loc, self.at);
        let errors = self.diagnostics.len();
        self.frames.push(frame);
        let outcome = self.fill_defaults(parsed).map(|()| self.block(&parsed.ast.body, None));
        let locals = self.frames.pop().map(|frame| frame.locals).unwrap_or_default();
        (self.known_loc, self.at) = outer;
        if self.diagnostics.len() > errors {
            return Err(Stop);
        }
        match outcome? {
            Flow::Return(val) => Ok((val, locals)),
            Flow::Next | Flow::End => Ok((Val::NONE, locals)),
        }
    }

    /// Binds arguments to parameters, run-time values also to those that are annotated as constexpr; those without an
    /// argument are left to [`Ctx::fill_defaults`].
    fn bind(&mut self, parsed: &ParsedFunction, args: Vec<Val>, keywords: Vec<(String, Val)>) -> Res<Locals> {
        let name = parsed.ast.name.to_string();
        let parameters = &parsed.ast.parameters;
        if parameters.kwarg.is_some() {
            return Err(self.unsupported(format!("`{name}` takes **kwargs, which kernels do not have"), ""));
        }
        for val in args.iter().chain(keywords.iter().map(|(_, val)| val)) {
            self.usable(val)?;
        }
        let mut locals = Locals::default();
        let mut args = args.into_iter();
        for param in positional(parsed) {
            match args.next() {
                Some(val) => locals.insert(param.parameter.name.id.clone(), val),
                None => break,
            };
        }
        let rest: Vec<Val> = args.collect();
        match &parameters.vararg {
            Some(vararg) => {
                locals.insert(vararg.name.id.clone(), Val::tuple(rest));
            }
            None if !rest.is_empty() => {
                let most = positional(parsed).count();
                let given = most + rest.len();
                return Err(self
                    .error(Cause::Type.says(format!(
                        "{name}() takes {most} positional arguments but {given} were given"
                    ))));
            }
            None => {}
        }
        for (keyword, val) in keywords {
            if keyword.starts_with('_') && matches!(keyword.as_str(), "_semantic" | "_generator" | "_builder")
            {
                continue;
            }
            let known = positional(parsed)
                .chain(&parameters.kwonlyargs)
                .any(|param| param.parameter.name.id == keyword);
            if !known {
                let all: Vec<&str> = positional(parsed)
                    .chain(&parameters.kwonlyargs)
                    .map(|param| &*param.parameter.name.id)
                    .collect();
                let help = format!("its parameters are: {}", all.join(", "));
                return Err(self.error_help(
                    Cause::Type.says(format!("{name}() got an unexpected keyword argument '{keyword}'")),
                    &help,
                ));
            }
            if locals.insert(Name::from(keyword.as_str()), val).is_some() {
                return Err(self.error(
                    Cause::Type.says(format!("{name}() got multiple values for argument '{keyword}'")),
                ));
            }
        }
        for param in positional(parsed).chain(&parameters.kwonlyargs) {
            let own = &param.parameter.name.id;
            if !locals.contains_key(own) && param.default.is_none() {
                return Err(
                    self.error(Cause::Type.says(format!("{name}() missing required argument: '{own}'")))
                );
            }
        }
        Ok(locals)
    }

    /// Evaluates the defaults of parameters without an argument, in the function's own scope.
    fn fill_defaults(&mut self, parsed: &ParsedFunction) -> Res<()> {
        for param in positional(parsed).chain(&parsed.ast.parameters.kwonlyargs) {
            let name = &param.parameter.name.id;
            let Some(default) = &param.default else { continue };
            if self.frame().locals.contains_key(name) {
                continue;
            }
            let outer = std::mem::replace(&mut self.in_defaults, true);
            let val = self.expr(default);
            self.in_defaults = outer;
            let val = val?;
            self.frame().locals.insert(name.clone(), val);
        }
        Ok(())
    }
}

/// The parameters that take arguments by position.
pub(crate) fn positional(parsed: &ParsedFunction) -> impl Iterator<Item = &ParameterWithDefault> {
    parsed.ast.parameters.posonlyargs.iter().chain(&parsed.ast.parameters.args)
}
