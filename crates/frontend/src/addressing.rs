//! Which parameters of a kernel take part in addresses and masks, read from its text.
//!
//! A launch records what powers of two such integers are multiples of, because wide accesses depend on it; of others it
//! does not, so that a counter or a seed makes no further variants of a kernel. Input:
//! `tl.load(x + rows * stride, mask=rows < n)`. Output: `stride` and `n`.
//!
//! A name takes part if it stands in the pointer, the offsets or the mask of an access or in the arguments of a helper,
//! or in what a name that takes part is computed from. Nothing depends on the answer but how much a launch records:
//! what is recorded is true of the value in any case.

use crate::diagnostic::Diagnostic;
use crate::value::FunctionRef;
use crate::{ops, params, parse};
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt};
use rustc_hash::FxHashSet;

/// The first parameters of operations whose arguments are addresses, offsets and masks, but for [`VALUES`].
const ADDRESSES: &[&str] = &["pointer", "base", "desc"];
/// Modules whose other functions reach no memory.
const MODULES: &[&str] = &["tl", "triton", "language", "math", "libdevice", "tldevice"];
/// Functions of Python that may be called by their bare names.
const BUILTINS: &[&str] =
    &["range", "min", "max", "abs", "len", "int", "float", "bool", "print", "isinstance"];
/// Parameters of such operations that are values, or say what is read where a mask is off.
const VALUES: &[&str] =
    &["value", "expected_value", "val", "cmp", "other", "sem", "scope", "cache_modifier", "eviction_policy"];

type Names<'a> = FxHashSet<&'a Name>;

/// For each parameter in order, whether it takes part in addresses or masks.
///
/// # Errors
/// Syntax errors in the function.
pub fn parameters(function: &FunctionRef) -> Result<Vec<bool>, Diagnostic> {
    let parsed = parse::function(function)?;
    let mut flows = Flows::default();
    for stmt in &parsed.ast.body {
        flows.visit_stmt(stmt);
    }
    let params = params::of(&parsed);
    let is_local = |name: &str| {
        params.iter().any(|param| param.name == name)
            || flows.assigned.iter().any(|(targets, _)| targets.iter().any(|target| target.as_str() == name))
    };
    let mut relevant = Names::default();
    for call in &flows.calls {
        call_names(call, &is_local, &mut relevant);
    }
    let mut known = usize::MAX;
    while relevant.len() != known {
        known = relevant.len();
        for (targets, values) in &flows.assigned {
            if targets.iter().any(|target| relevant.contains(target)) {
                relevant.extend(values);
            }
        }
    }
    Ok(params.iter().map(|param| relevant.iter().any(|name| name.as_str() == param.name)).collect())
}

/// What a body assigns, and its calls.
#[derive(Default)]
struct Flows<'a> {
    /// Names with the names that their values are computed from.
    assigned: Vec<(Names<'a>, Names<'a>)>,
    calls: Vec<&'a ExprCall>,
}

impl<'a> Visitor<'a> for Flows<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                let mut targets = Names::default();
                assign.targets.iter().for_each(|target| targets.extend(names_in(target)));
                self.assigned.push((targets, names_in(&assign.value)));
            }
            Stmt::AugAssign(assign) => {
                self.assigned.push((names_in(&assign.target), names_in(&assign.value)))
            }
            Stmt::AnnAssign(assign) => {
                let values = assign.value.as_deref().map(names_in).unwrap_or_default();
                self.assigned.push((names_in(&assign.target), values));
            }
            Stmt::For(each) => self.assigned.push((names_in(&each.target), steps_of(&each.iter))),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.calls.push(call),
            Expr::Named(named) => self.assigned.push((names_in(&named.target), names_in(&named.value))),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// The names that the values of a loop's variable are computed from: of a range its begin and its step.
fn steps_of(iter: &Expr) -> Names<'_> {
    let Expr::Call(call) = iter else { return names_in(iter) };
    if !matches!(last_name(&call.func), Some("range" | "static_range")) {
        return names_in(iter);
    }
    let args = &call.arguments.args;
    let by_position = args.iter().enumerate().filter(|(at, _)| args.len() > 1 && *at != 1);
    let by_name = call.arguments.keywords.iter().filter(|keyword| {
        keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "arg1" | "start" | "step"))
    });
    let all = by_position.map(|(_, arg)| arg).chain(by_name.map(|keyword| &keyword.value));
    all.flat_map(names_in).collect()
}

/// Adds the names in those arguments of a call that are addresses or masks, or may become some in a helper.
fn call_names<'a>(call: &'a ExprCall, is_local: &impl Fn(&str) -> bool, relevant: &mut Names<'a>) {
    let Some(name) = last_name(&call.func) else { return };
    let access = access(name);
    let is_access = access.is_some();
    if !is_access && !is_helper(&call.func, is_local) {
        return;
    }
    let mut params = access.into_iter().flatten();
    for arg in &call.arguments.args {
        if !params.next().is_some_and(|param| VALUES.contains(&param)) {
            relevant.extend(names_in(arg));
        }
    }
    for keyword in &call.arguments.keywords {
        let is_value = keyword.arg.as_ref().is_some_and(|name| VALUES.contains(&name.as_str()));
        if !(is_access && is_value) {
            relevant.extend(names_in(&keyword.value));
        }
    }
    // The descriptor or block pointer that a method belongs to.
    if let (true, Expr::Attribute(method)) = (is_access, &*call.func) {
        relevant.extend(names_in(&method.value));
    }
}

/// The parameters of an access, as its row has them; those of a method of descriptors without the descriptor.
fn access(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    ops::rows().find_map(|row| {
        let (family, own) = row.name.split_once('.')?;
        let params = row.params.split(',').map(|param| param.split('=').next().unwrap_or(param).trim());
        let is_access = own == name && params.clone().next().is_some_and(|first| ADDRESSES.contains(&first));
        is_access.then(|| params.skip(usize::from(family == "descriptor")))
    })
}

/// Whether a function may be one of the program's own, which may do anything with its arguments.
fn is_helper(function: &Expr, is_local: &impl Fn(&str) -> bool) -> bool {
    match function {
        Expr::Name(name) => !BUILTINS.contains(&name.id.as_str()),
        _ => root_name(function).is_some_and(|root| !MODULES.contains(&root) && !is_local(root)),
    }
}

/// `load` of `tl.load`.
fn last_name(function: &Expr) -> Option<&str> {
    match function {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// `tl` of `tl.math.exp`.
fn root_name(function: &Expr) -> Option<&str> {
    match function {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root_name(&attribute.value),
        _ => None,
    }
}

/// All names in an expression.
fn names_in(expr: &Expr) -> Names<'_> {
    struct Collect<'a>(Names<'a>);
    impl<'a> Visitor<'a> for Collect<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr {
                self.0.insert(&name.id);
            }
            walk_expr(self, expr);
        }
    }
    let mut collect = Collect(Names::default());
    collect.visit_expr(expr);
    collect.0
}

#[cfg(test)]
mod tests {
    use super::parameters;
    use crate::value::{Function, FunctionRef};
    use std::sync::Arc;

    /// The parameters that take part, of a kernel with these parameters and lines.
    fn found(params: &str, lines: &[&str]) -> String {
        let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        let function = FunctionRef(Arc::new(Function {
            id: 1,
            name: "f".into(),
            module: String::new(),
            file: "f.py".into(),
            first_line: 1,
            source: format!("def f({params}):\n{body}"),
            noinline: false,
            extensions: crate::Extensions::default(),
        }));
        let all = parameters(&function).expect("parses");
        let names = params.split(", ").zip(all);
        names.filter(|(_, takes_part)| *takes_part).map(|(name, _)| name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn strides_and_sizes_take_part_and_values_do_not() {
        let lines = [
            "rows = tl.program_id(0) * 8 + tl.arange(0, 8)",
            "at = x + rows * stride",
            "noise = tl.rand(seed, rows)",
            "if flag > 0:",
            "    noise += shift",
            "tl.store(at, noise * scale, mask=rows < n)",
        ];
        assert_eq!(found("x, stride, n, seed, flag, shift, scale", &lines), "x stride n");
    }

    #[test]
    fn of_a_loop_the_begin_and_the_step_count_and_not_the_end() {
        let lines =
            ["for k in range(first, end, step):", "    total += tl.load(x + k)", "tl.store(y, total)"];
        assert_eq!(found("x, y, first, end, step", &lines), "x y first step");
        let lines = ["for _ in range(count):", "    x += stride", "tl.store(x, count)"];
        assert_eq!(found("x, count, stride", &lines), "x stride");
    }

    #[test]
    fn helpers_and_descriptors_may_do_anything() {
        let lines = [
            "at = offsets(a, b)",
            "z = tl.cdiv(c, 4)",
            "desc.store([d, 0], e)",
            "tl.store(x + at, z.to(tl.int8))",
        ];
        assert_eq!(found("x, a, b, c, d, e, desc", &lines), "x a b d desc");
        assert_eq!(found("x, n, m", &["v = lib.run(x, n)", "w = tl.sum(m)"]), "x n");
        let lines = ["desc.scatter(a, b, c)", "tl.atomic_cas(x, d, e)", "tl.atomic_load(y, n > 0)"];
        assert_eq!(found("x, y, a, b, c, d, e, n, desc", &lines), "x y b c n desc");
    }
}
