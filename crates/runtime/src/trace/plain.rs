//! Values that can be written to disk: the arguments of recorded calls.

use super::Origin;
use super::encode::{Identity, Known, RequestPart};
use frontend::{PyValue, TupleValue};
use std::sync::Arc;

/// A [`PyValue`] in which functions and objects are named by their origin.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) enum Plain {
    None,
    Bool(bool),
    Int(i128),
    /// The bits of a float.
    Float(u64),
    Str(String),
    DType(String),
    Builtin(String),
    Module(String),
    Tuple(Vec<Plain>, Option<Vec<String>>),
    Constexpr(Box<Plain>),
    Function(Origin),
    ConstexprFunction(Origin),
    Object(Origin),
}

impl Plain {
    /// `None` where the value holds something that no answer gave.
    pub(super) fn of(value: &PyValue, known: &Known) -> Option<Plain> {
        let object = |id: u64| known.origin(&Identity::Object(id));
        Some(match value {
            PyValue::None => Plain::None,
            PyValue::Bool(value) => Plain::Bool(*value),
            PyValue::Int(value) => Plain::Int(*value),
            PyValue::Float(value) => Plain::Float(value.to_bits()),
            PyValue::Str(text) => Plain::Str(text.to_string()),
            PyValue::DType(scalar) => Plain::DType(frontend::signature::type_text(*scalar)),
            PyValue::Builtin(path) => Plain::Builtin(path.to_string()),
            PyValue::Module(path) => Plain::Module(path.to_string()),
            PyValue::Tuple(tuple) => Plain::Tuple(
                tuple.items.iter().map(|item| Plain::of(item, known)).collect::<Option<_>>()?,
                tuple.fields.as_ref().map(|fields| fields.iter().map(|field| field.to_string()).collect()),
            ),
            PyValue::Constexpr(inner) => Plain::Constexpr(Box::new(Plain::of(inner, known)?)),
            PyValue::JitFunction(function) => {
                Plain::Function(known.origin(&Identity::of_function(function))?)
            }
            PyValue::ConstexprFunction(callee) => Plain::ConstexprFunction(object(callee.0.id)?),
            PyValue::Object(other) => Plain::Object(object(other.0.id)?),
        })
    }

    /// The value with this process's functions and objects.
    pub(super) fn live(&self, known: &Known) -> Option<PyValue> {
        Some(match self {
            Plain::None => PyValue::None,
            Plain::Bool(value) => PyValue::Bool(*value),
            Plain::Int(value) => PyValue::Int(*value),
            Plain::Float(bits) => PyValue::Float(f64::from_bits(*bits)),
            Plain::Str(text) => PyValue::str(text),
            Plain::DType(text) => PyValue::DType(frontend::signature::parse_type(text)?),
            Plain::Builtin(path) => PyValue::Builtin(Arc::from(path.as_str())),
            Plain::Module(path) => PyValue::Module(Arc::from(path.as_str())),
            Plain::Tuple(items, fields) => PyValue::Tuple(Arc::new(TupleValue {
                items: items.iter().map(|item| item.live(known)).collect::<Option<_>>()?,
                fields: fields
                    .as_ref()
                    .map(|fields| fields.iter().map(|field| Arc::from(field.as_str())).collect()),
            })),
            Plain::Constexpr(inner) => PyValue::Constexpr(Box::new(inner.live(known)?)),
            Plain::Function(origin) => match known.part(*origin)? {
                RequestPart::Function(function) => PyValue::JitFunction(function.clone()),
                RequestPart::Object(_) => return None,
            },
            Plain::ConstexprFunction(origin) | Plain::Object(origin) => match known.part(*origin)? {
                RequestPart::Object(object) if matches!(self, Plain::Object(_)) => {
                    PyValue::Object(object.clone())
                }
                RequestPart::Object(object) => PyValue::ConstexprFunction(object.clone()),
                RequestPart::Function(_) => return None,
            },
        })
    }
}
