//! Calls of Python functions of other packages that are marked as operations of the language (`__triton_builtin__`).
//!
//! They run when compiling. Constants come to them as `tl.constexpr`; in the place of a run-time value stands a mark
//! (`tl._run_time.0`, `tl._run_time.1`, …), and where one of these is returned, the result is that value.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::value::{ObjectRef, PyValue};
use std::sync::Arc;

const MARK: &str = "tl._run_time.";

impl Ctx<'_> {
    /// The result of such a call; `None` for an object that is not marked.
    pub(crate) fn call_marked(
        &mut self,
        object: &ObjectRef,
        args: &[Val],
        keywords: &[(String, Val)],
    ) -> Res<Option<Val>> {
        let globals = self.request.globals;
        if globals.attribute(object, "__triton_builtin__") != Some(PyValue::Bool(true)) {
            return Ok(None);
        }
        let mut hidden = Vec::new();
        let mut seen = |val: &Val| {
            val.to_py().unwrap_or_else(|| {
                hidden.push(val.clone());
                PyValue::Builtin(Arc::from(format!("{MARK}{}", hidden.len() - 1)))
            })
        };
        let args: Vec<PyValue> = args.iter().map(&mut seen).collect();
        let keywords: Vec<(String, PyValue)> =
            keywords.iter().map(|(name, val)| (name.clone(), seen(val))).collect();
        let result = self.check(globals.call(object, &args, &keywords))?;
        Ok(Some(match number(&result).and_then(|number| hidden.get(number)) {
            Some(val) => val.clone(),
            None => Val::from_py(result),
        }))
    }
}

/// The number of a mark.
fn number(value: &PyValue) -> Option<usize> {
    match value {
        PyValue::Builtin(path) => path.strip_prefix(MARK)?.parse().ok(),
        _ => None,
    }
}
