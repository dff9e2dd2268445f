//! The parameters of a function, read from its text: what a launcher needs to bind arguments.

use crate::diagnostic::Diagnostic;
use crate::parse;
use crate::value::FunctionRef;
use ruff_python_ast::{Expr, Parameter};
use ruff_text_size::Ranged;

/// How a parameter takes its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// By position only.
    PositionalOnly,
    /// By position or name.
    Positional,
    /// `*args`.
    Variadic,
    /// By name only.
    KeywordOnly,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// How it takes its argument.
    pub kind: ParamKind,
    /// The text of its annotation.
    pub annotation: Option<String>,
    /// Whether it is annotated as `constexpr`.
    pub is_constexpr: bool,
    /// Whether it is annotated as `tl.const` (a pointer that is not stored through).
    pub is_const: bool,
    /// The text of its default.
    pub default: Option<String>,
}

/// The parameters of a function, in order.
///
/// # Errors
/// Syntax errors in the function, and `**kwargs`, which the language does not have.
pub fn params(function: &FunctionRef) -> Result<Vec<ParamInfo>, Diagnostic> {
    Ok(of(&parse::function(function)?))
}

/// How many bytes of a text its first function takes, decorators included; `None` if the text does not begin with one.
/// What follows the function may be anything, so the rest of a file will do.
pub fn definition_length(text: &str) -> Option<usize> {
    parse::definition_length(text)
}

/// As [`definition_length`], of a text that may have been cut anywhere; `None` also where more of it must be seen to
/// know where the function ends.
pub fn whole_definition_length(text: &str) -> Option<usize> {
    parse::whole_definition_length(text)
}

/// The parameters of a parsed function.
pub(crate) fn of(parsed: &parse::ParsedFunction) -> Vec<ParamInfo> {
    let parameters = &parsed.ast.parameters;
    let info = |parameter: &Parameter, kind: ParamKind, default: Option<&Expr>| {
        let text = |expr: &Expr| parsed.text.slice(expr.range()).to_string();
        let annotation = parameter.annotation.as_deref().map(text);
        ParamInfo {
            name: parameter.name.to_string(),
            kind,
            is_constexpr: annotation.as_deref().is_some_and(is_constexpr_annotation),
            is_const: annotation.as_deref().is_some_and(is_const_annotation),
            annotation,
            default: default.map(text),
        }
    };
    let mut out = Vec::new();
    for (list, kind) in
        [(&parameters.posonlyargs, ParamKind::PositionalOnly), (&parameters.args, ParamKind::Positional)]
    {
        out.extend(list.iter().map(|param| info(&param.parameter, kind, param.default.as_deref())));
    }
    out.extend(parameters.vararg.iter().map(|parameter| info(parameter, ParamKind::Variadic, None)));
    let keyword_only = parameters.kwonlyargs.iter();
    out.extend(
        keyword_only.map(|param| info(&param.parameter, ParamKind::KeywordOnly, param.default.as_deref())),
    );
    out
}

/// Whether an annotation's text means `constexpr`.
pub(crate) fn is_constexpr_annotation(text: &str) -> bool {
    text.contains("constexpr")
}

fn is_const_annotation(text: &str) -> bool {
    !is_constexpr_annotation(text) && (text.contains("tl.const") || text.trim_matches(['"', '\'']) == "const")
}

#[cfg(test)]
mod tests {
    use super::{ParamKind, params};
    use crate::value::{Function, FunctionRef};
    use std::sync::Arc;

    #[test]
    fn a_function_ends_where_it_ends() {
        let plain = "@jit(\n    debug=True)\ndef f(x):\n    y = (x +\n1)\n\n    return y  # why\n";
        let indented = "    @jit\n    def f(x):\n        \"\"\"A\n text\n\"\"\"\n        return x\n";
        for (text, last) in [(plain, "return y"), (indented, "return x")] {
            for rest in ["", "\nother = 1\n", "\n) wrong [\n", "def g(): pass\n"] {
                let whole = format!("{text}{rest}");
                let end = super::definition_length(&whole).unwrap();
                assert!(whole[..end].ends_with(last), "{rest:?}: {:?}", &whole[..end]);
            }
        }
        assert_eq!(super::definition_length("x = 1\n"), None);
        assert_eq!(super::definition_length(""), None);
        assert_eq!(super::definition_length("    x\n"), None);
    }

    #[test]
    fn a_function_that_may_have_been_cut_needs_a_line_behind_it() {
        let text = "    @jit\n    def f(x):\n        t = \"\"\"\nA = 1\n\"\"\"\n        y = (x +\nz\n+ 1)\n\n        return y  # why\n";
        let whole = format!("{text}    # of the next\n\n    def g():\n        pass\n");
        let shown = text.len() + "    # of the next\n\n    def".len();
        for cut in 0..=whole.len() {
            let length = super::whole_definition_length(&whole[..cut]);
            match length {
                Some(length) => assert!(whole[..length].ends_with("return y"), "{cut}"),
                None => assert!(cut < shown, "{cut}"),
            }
        }
        assert_eq!(super::whole_definition_length("x = 1\ny = 2\n"), None);
    }

    #[test]
    fn every_kind_of_parameter() {
        let source = "@jit\ndef f(p, /, x_ptr: tl.const, N: tl.constexpr = 2 * 4, *rest, k: 'constexpr', d=1.5):\n    pass\n";
        let function = FunctionRef(Arc::new(Function {
            id: 1,
            name: "f".into(),
            module: "m".into(),
            file: "m.py".into(),
            first_line: 1,
            source: source.into(),
            noinline: false,
            extensions: crate::Extensions::default(),
        }));
        let all = params(&function).unwrap();
        let names: Vec<_> = all.iter().map(|param| (param.name.as_str(), param.kind)).collect();
        assert_eq!(
            names,
            [
                ("p", ParamKind::PositionalOnly),
                ("x_ptr", ParamKind::Positional),
                ("N", ParamKind::Positional),
                ("rest", ParamKind::Variadic),
                ("k", ParamKind::KeywordOnly),
                ("d", ParamKind::KeywordOnly)
            ]
        );
        assert!(all[1].is_const && !all[1].is_constexpr);
        assert!(all[2].is_constexpr && all[4].is_constexpr);
        assert_eq!(all[2].default.as_deref(), Some("2 * 4"));
        assert_eq!(all[5].default.as_deref(), Some("1.5"));
    }
}
