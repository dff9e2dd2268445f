//! [`Globals`] of a plain `.py` file, read without Python.
//!
//! The module's statements are run as far as they can be known: imports of the language under any alias, constants,
//! `tl.constexpr(…)`, functions decorated with `@triton.jit` and `@triton.constexpr_function`. What cannot be known
//! (other imports, calls of other functions) becomes an object that says so when a kernel uses it.

mod eval;

use crate::diagnostic::{Diagnostic, Fault};
use crate::extension::Extensions;
use crate::globals::Globals;
use crate::language;
use crate::parse::{self, ParsedFile};
use crate::value::{Function, FunctionRef, Object, ObjectRef, PyValue};
use eval::{Interpreter, Scope};
use ruff_python_ast::{self as ast, Expr, Stmt, StmtFunctionDef};
use std::sync::Arc;

/// A `.py` file as the source of kernels and of the names they use.
pub struct FileGlobals {
    names: Scope,
    functions: Vec<FunctionRef>,
    constexpr_functions: Vec<StmtFunctionDef>,
}

impl FileGlobals {
    /// Reads a file's text. `file` is its path, for messages.
    ///
    /// # Errors
    /// Syntax errors.
    pub fn new(file: &str, source: &str) -> Result<FileGlobals, Diagnostic> {
        stacker::maybe_grow(4 << 20, 32 << 20, || FileGlobals::read(file, source))
    }

    fn read(file: &str, source: &str) -> Result<FileGlobals, Diagnostic> {
        let parsed = parse::file(file, source)?;
        let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
        let mut globals =
            FileGlobals { names: Scope::default(), functions: Vec::new(), constexpr_functions: Vec::new() };
        globals.names.insert("__name__".into(), PyValue::str(stem));
        globals.statements(&parsed.body, &parsed, stem);
        Ok(globals)
    }

    /// The `@triton.jit` function of a name.
    pub fn function(&self, name: &str) -> Option<FunctionRef> {
        self.functions.iter().rev().find(|function| function.0.name == name).cloned()
    }

    /// Every `@triton.jit` function, in the order of the file.
    pub fn functions(&self) -> &[FunctionRef] {
        &self.functions
    }

    fn statements(&mut self, body: &[Stmt], file: &ParsedFile, module: &str) {
        for stmt in body {
            self.statement(stmt, file, module);
        }
    }

    fn statement(&mut self, stmt: &Stmt, file: &ParsedFile, module: &str) {
        match stmt {
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.import(alias)),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::FunctionDef(definition) => self.definition(definition, file, module),
            Stmt::If(stmt) => match self.evaluate(&stmt.test) {
                Ok(test) if crate::constexpr::truth(&test) => self.statements(&stmt.body, file, module),
                Ok(_) => {
                    for clause in &stmt.elif_else_clauses {
                        let taken = clause.test.as_ref().is_none_or(|test| {
                            self.evaluate(test).is_ok_and(|test| crate::constexpr::truth(&test))
                        });
                        if taken {
                            return self.statements(&clause.body, file, module);
                        }
                    }
                }
                // Unknown: definitions of every arm are looked at, the later ones win.
                Err(_) => {
                    self.statements(&stmt.body, file, module);
                    for clause in &stmt.elif_else_clauses {
                        self.statements(&clause.body, file, module);
                    }
                }
            },
            Stmt::Try(stmt) => self.statements(&stmt.body, file, module),
            Stmt::With(stmt) => self.statements(&stmt.body, file, module),
            Stmt::ClassDef(class) => {
                self.names.insert(class.name.to_string(), unknown(&class.name));
            }
            other => {
                let mut scope = std::mem::take(&mut self.names);
                let outcome = Interpreter::new(self).run(std::slice::from_ref(other), &mut scope);
                self.names = scope;
                if outcome.is_err() {
                    self.forget(other);
                }
            }
        }
    }

    /// Names that a statement would have set, had it been understood.
    fn forget(&mut self, stmt: &Stmt) {
        for name in crate::codegen::assigned_names(std::slice::from_ref(stmt)) {
            let value = unknown(&name);
            self.names.insert(name.to_string(), value);
        }
    }

    fn evaluate(&mut self, expr: &Expr) -> Result<PyValue, Fault> {
        let mut scope = std::mem::take(&mut self.names);
        let value = Interpreter::new(self).expr(expr, &mut scope);
        self.names = scope;
        value
    }

    fn import(&mut self, alias: &ast::Alias) {
        let path = alias.name.as_str();
        let root = path.split('.').next().unwrap_or(path);
        let (name, path) = match &alias.asname {
            Some(name) => (name.as_str(), path),
            None => (root, root),
        };
        self.names.insert(name.to_string(), imported(path));
    }

    fn import_from(&mut self, import: &ast::StmtImportFrom) {
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        for alias in &import.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            let value = if import.level > 0 {
                unknown(&alias.name)
            } else {
                imported(&format!("{module}.{}", alias.name))
            };
            self.names.insert(name.to_string(), value);
        }
    }

    fn definition(&mut self, definition: &StmtFunctionDef, file: &ParsedFile, module: &str) {
        let name = definition.name.to_string();
        let mut noinline = false;
        let mut extensions = Extensions::default();
        let mut kind = None;
        for decorator in &definition.decorator_list {
            let (callee, keywords) = match &decorator.expression {
                Expr::Call(call) => (&*call.func, Some(&call.arguments.keywords)),
                other => (other, None),
            };
            if let Ok(PyValue::Builtin(path)) = self.evaluate(callee)
                && matches!(&*path, "triton.jit" | "triton.constexpr_function")
            {
                kind = Some(path);
            }
            for keyword in keywords.into_iter().flatten() {
                if keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "extensions") {
                    // A name that is none is reported by the walk, where it meets what the name should have switched
                    // on.
                    extensions = Extensions::from_names(texts(&keyword.value)).unwrap_or_default();
                }
            }
            noinline |= keywords.into_iter().flatten().any(|keyword| {
                let on = matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value);
                on && keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "noinline")
            });
        }
        let value = match kind.as_deref() {
            Some("triton.jit") => {
                let (source, first_line) = file.definition_source(definition);
                let function = FunctionRef(Arc::new(Function {
                    id: self.functions.len() as u64,
                    name: name.clone(),
                    module: module.to_string(),
                    file: file.text.file().to_string(),
                    first_line,
                    source,
                    noinline,
                    extensions,
                }));
                self.functions.push(function.clone());
                PyValue::JitFunction(function)
            }
            Some(_) => {
                self.constexpr_functions.push(definition.clone());
                let id = self.constexpr_functions.len() as u64;
                PyValue::ConstexprFunction(object(id, "ConstexprFunction", &name))
            }
            None => unknown(&name),
        };
        self.names.insert(name, value);
    }
}

/// What an import of a dotted path gives.
fn imported(path: &str) -> PyValue {
    let root = path.split('.').next().unwrap_or(path);
    let own = matches!(root, "triton" | "deuteron" | "math");
    if own { language::resolve(path).unwrap_or_else(|| unknown(path)) } else { unknown(path) }
}

fn object(id: u64, type_name: &str, text: &str) -> ObjectRef {
    ObjectRef(Arc::new(Object { id, type_name: type_name.to_string(), text: text.to_string() }))
}

/// A value that only running Python would tell.
/// The texts in a list or tuple of texts.
fn texts(list: &Expr) -> Vec<&str> {
    let items = match list {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return Vec::new(),
    };
    items
        .iter()
        .filter_map(|item| match item {
            Expr::StringLiteral(text) => Some(text.value.to_str()),
            _ => None,
        })
        .collect()
}

fn unknown(name: &str) -> PyValue {
    PyValue::Object(object(u64::MAX, "value that is not known without running Python", name))
}

impl Globals for FileGlobals {
    fn lookup(&self, _function: &FunctionRef, name: &str) -> Option<PyValue> {
        self.names.get(name).cloned()
    }

    fn attribute(&self, _object: &ObjectRef, _name: &str) -> Option<PyValue> {
        None
    }

    fn call(
        &self,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, Fault> {
        let index = usize::try_from(callee.0.id).ok().and_then(|id| id.checked_sub(1));
        match index.and_then(|index| self.constexpr_functions.get(index)) {
            Some(definition) => Interpreter::new(self).call_function(definition, args, kwargs),
            None => Err(format!("`{}` cannot be called without running Python", callee.0.text).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FileGlobals;
    use crate::dtype::DType;
    use crate::globals::Globals;
    use crate::value::PyValue;

    const SOURCE: &str = r#"
import deuteron as t
import triton.language as tl
from triton import jit as compiled
from triton.language import load as ld, float16
import numpy as np
import math

BLOCK = tl.constexpr(64 * 2)
plain = 7
size = np.zeros(3).size
pair: tl.constexpr = (1, 2)
inf = float("-inf")
log2e = tl.constexpr(1 / math.log(2))

@t.constexpr_function
def halves(n, least=1):
    count = 0
    while n > least:
        n //= 2
        count += 1
    return count

if __name__ == "__main__":
    BLOCK = 0

try:
    @compiled
    def kernel(x):
        pass
except ImportError:
    pass

@t.autotune(configs=[], key=[])
@t.jit(noinline=True)
def tuned(x):
    pass

def host(x):
    return x
"#;

    #[test]
    fn a_module_is_read_without_python() {
        let globals = FileGlobals::new("dir/m.py", SOURCE).unwrap();
        let kernel = globals.function("kernel").unwrap();
        let get = |name: &str| globals.lookup(&kernel, name);
        assert_eq!(get("tl"), Some(PyValue::Module("tl".into())));
        assert_eq!(get("t"), Some(PyValue::Module("triton".into())));
        assert_eq!(get("ld"), Some(PyValue::Builtin("tl.load".into())));
        assert_eq!(get("float16"), Some(PyValue::dtype(DType::Fp16)));
        assert_eq!(get("BLOCK"), Some(PyValue::Constexpr(Box::new(PyValue::Int(128)))));
        assert!(matches!(get("pair"), Some(PyValue::Constexpr(_))));
        assert_eq!(get("plain"), Some(PyValue::Int(7)));
        assert_eq!(get("inf"), Some(PyValue::Float(f64::NEG_INFINITY)));
        assert!(matches!(get("size"), Some(PyValue::Object(_))));
        assert!(matches!(get("host"), Some(PyValue::Object(_))));
        assert_eq!(get("nothing"), None);
        let Some(PyValue::ConstexprFunction(halves)) = get("halves") else { panic!("no constexpr function") };
        assert_eq!(globals.call(&halves, &[PyValue::Int(64)], &[]), Ok(PyValue::Int(6)));
        let least = [("least".to_string(), PyValue::Int(16))];
        assert_eq!(globals.call(&halves, &[PyValue::Int(64)], &least), Ok(PyValue::Int(2)));
        assert!(globals.call(&halves, &[], &[]).is_err());
        assert!(globals.function("tuned").unwrap().0.noinline);
        assert_eq!(globals.functions().len(), 2);
    }

    #[test]
    fn syntax_errors_are_reported() {
        assert!(FileGlobals::new("m.py", "def f(:\n").is_err());
    }
}
