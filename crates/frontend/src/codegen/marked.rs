//! Calls of Python functions that see run-time values while a kernel is compiled: constexpr functions, and functions of
//! other packages that are marked as operations of the language (`__triton_builtin__`).
//!
//! In the place of a run-time value stands a mark, which says what is known of it: `tl._run_time.0:tensor:*fp16:`,
//! `tl._run_time.1:tensor:fp32:32x8`, `tl._run_time.2:tensor_descriptor:fp16:64x64`. Where one of these is returned,
//! the result is that value. `deuteron.language._run_time` reads the marks. Left out: objects with fields.

use crate::codegen::value::{Tuple, Val};
use crate::codegen::{Ctx, Res};
use crate::signature;
use crate::typing::Ty;
use crate::value::{ObjectRef, PyValue, TupleValue};
use std::rc::Rc;
use std::sync::Arc;

const MARK: &str = "tl._run_time.";
/// The keyword by which a function learns that a kernel calls it.
const SEMANTIC: &str = "_semantic";

/// Run-time values in the order of their marks.
#[derive(Default)]
struct Hidden(Vec<Val>);

impl Hidden {
    /// What Python sees of a value; `None` where a mark cannot say what the value is.
    fn seen(&mut self, val: &Val) -> Option<PyValue> {
        if let Some(value) = val.to_py() {
            return Some(value);
        }
        let (kind, ty) = match val {
            Val::Tensor(tensor) => ("tensor", &tensor.ty),
            Val::Descriptor(descriptor) => ("tensor_descriptor", &descriptor.block),
            Val::BlockPointer(pointer) => ("tensor", &pointer.block),
            Val::Type(ty) => ("block_type", ty),
            Val::Tuple(tuple) => {
                let items = tuple.items.iter().map(|item| self.seen(item)).collect::<Option<Vec<_>>>()?;
                return Some(PyValue::Tuple(Arc::new(TupleValue { items, fields: tuple.fields.clone() })));
            }
            _ => return None,
        };
        self.0.push(val.clone());
        Some(PyValue::Builtin(Arc::from(format!("{MARK}{}:{kind}:{}", self.0.len() - 1, text(ty)))))
    }

    /// A value that Python returned.
    fn revealed(&self, value: PyValue) -> Val {
        match value {
            PyValue::Constexpr(inner) => self.revealed(*inner),
            PyValue::Tuple(tuple) => Val::Tuple(Rc::new(Tuple {
                items: tuple.items.iter().cloned().map(|item| self.revealed(item)).collect(),
                fields: tuple.fields.clone(),
            })),
            other => match number(&other).and_then(|number| self.0.get(number)) {
                Some(val) => val.clone(),
                None => Val::from_py(other),
            },
        }
    }
}

impl Ctx<'_> {
    /// The result of such a call; `None` for an object that is not marked.
    pub(crate) fn call_marked(
        &mut self,
        object: &ObjectRef,
        args: &[Val],
        keywords: &[(String, Val)],
    ) -> Res<Option<Val>> {
        if self.request.globals.attribute(object, "__triton_builtin__") != Some(PyValue::Bool(true)) {
            return Ok(None);
        }
        let mut keywords = keywords.to_vec();
        keywords.retain(|(name, _)| name != SEMANTIC);
        keywords.push((SEMANTIC.to_string(), Val::from_py(self.options_of_compile())));
        self.call_seeing(object, args, &keywords).map(Some)
    }

    /// What such a function may ask of the compile, in the order of `deuteron.language._run_time.OPTIONS`.
    fn options_of_compile(&self) -> PyValue {
        let (facts, options) = (&self.request.facts, &self.request.options);
        let numbers = [facts.warp_size, options.num_warps, options.num_stages, options.num_ctas];
        let mut items = vec![PyValue::str(&facts.backend), PyValue::str(&facts.arch)];
        items.extend(numbers.map(|number| PyValue::Int(number.into())));
        items.extend([options.debug, options.sanitize_overflow].map(PyValue::Bool));
        PyValue::Tuple(Arc::new(TupleValue { items, fields: None }))
    }

    /// Calls a Python function, to which run-time values are marks.
    pub(crate) fn call_seeing(
        &mut self,
        object: &ObjectRef,
        args: &[Val],
        keywords: &[(String, Val)],
    ) -> Res<Val> {
        let mut hidden = Hidden::default();
        let mut positional = Vec::with_capacity(args.len());
        for val in args {
            positional.push(self.seen(&object.0.text, val, &mut hidden)?);
        }
        let mut named = Vec::with_capacity(keywords.len());
        for (name, val) in keywords {
            named.push((name.clone(), self.seen(&object.0.text, val, &mut hidden)?));
        }
        let result = self.request.globals.call(object, &positional, &named);
        Ok(hidden.revealed(self.check(result)?))
    }

    fn seen(&mut self, what: &str, val: &Val, hidden: &mut Hidden) -> Res<PyValue> {
        self.usable(val)?;
        match hidden.seen(val) {
            Some(value) => Ok(value),
            None => self.constant_argument(what, val),
        }
    }
}

/// A type in a mark: that of an element as in signatures, and the sizes.
fn text(ty: &Ty) -> String {
    let sizes: Vec<String> = ty.shape.iter().map(u32::to_string).collect();
    format!("{}:{}", signature::type_text(ty.scalar), sizes.join("x"))
}

/// The number of a mark.
fn number(value: &PyValue) -> Option<usize> {
    match value {
        PyValue::Builtin(path) => path.strip_prefix(MARK)?.split(':').next()?.parse().ok(),
        _ => None,
    }
}
