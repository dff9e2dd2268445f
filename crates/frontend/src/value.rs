//! Values that are known when a kernel is compiled, as they are handed in from outside.
//!
//! They are what global names, attributes of Python objects, default arguments and constexpr arguments come as. Two
//! references stand for what the front end cannot hold itself: [`FunctionRef`] for the text of a `@jit` function and
//! [`ObjectRef`] for any other object, which only the [`crate::Globals`] that made it can look into.

use crate::dtype::{DType, Scalar};
use crate::extension::Extensions;
use std::fmt;
use std::sync::Arc;

/// A value known at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum PyValue {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer. Larger ones than fit here are an error where they come in.
    Int(i128),
    /// A float.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// An element type: `tl.float32`, or a pointer to one.
    DType(Scalar),
    /// A tuple or a list; named where it is a `namedtuple`.
    Tuple(Arc<TupleValue>),
    /// A `@jit` function, user's or library's.
    JitFunction(FunctionRef),
    /// An operation or a function of the language under its short path: `tl.load`, `tl.math.exp`, `triton.cdiv`,
    /// `libdevice.exp`, `python.len`. See [`crate::language::resolve`].
    Builtin(Arc<str>),
    /// A module of the language under its short path: `triton`, `tl`, `tl.math`, `libdevice`, ….
    Module(Arc<str>),
    /// A `@triton.constexpr_function`: called at compile time through [`crate::Globals::call`].
    ConstexprFunction(ObjectRef),
    /// A value wrapped as `tl.constexpr(…)`: only such plain values may be read from globals.
    Constexpr(Box<PyValue>),
    /// Anything else.
    Object(ObjectRef),
}

/// A tuple that is known at compile time.
#[derive(Clone, Debug, PartialEq)]
pub struct TupleValue {
    /// Its elements.
    pub items: Vec<PyValue>,
    /// The names of its fields, for a `namedtuple`.
    pub fields: Option<Vec<Arc<str>>>,
}

impl PyValue {
    /// A string value.
    pub fn str(text: &str) -> PyValue {
        PyValue::Str(Arc::from(text))
    }

    /// An unnamed tuple.
    pub fn tuple(items: Vec<PyValue>) -> PyValue {
        PyValue::Tuple(Arc::new(TupleValue { items, fields: None }))
    }

    /// An element type.
    pub fn dtype(dtype: DType) -> PyValue {
        PyValue::DType(Scalar::Number(dtype))
    }

    /// The value inside `tl.constexpr(…)`, however often it is wrapped.
    pub fn unwrapped(self) -> PyValue {
        match self {
            PyValue::Constexpr(inner) => inner.unwrapped(),
            other => other,
        }
    }

    /// The name of its type, as Python says it.
    pub fn type_name(&self) -> &str {
        match self {
            PyValue::None => "NoneType",
            PyValue::Bool(_) => "bool",
            PyValue::Int(_) => "int",
            PyValue::Float(_) => "float",
            PyValue::Str(_) => "str",
            PyValue::DType(_) => "dtype",
            PyValue::Tuple(_) => "tuple",
            PyValue::JitFunction(_) => "JITFunction",
            PyValue::Builtin(_) => "function",
            PyValue::Module(_) => "module",
            PyValue::ConstexprFunction(_) => "ConstexprFunction",
            PyValue::Constexpr(inner) => inner.type_name(),
            PyValue::Object(object) => &object.0.type_name,
        }
    }
}

/// One function in Python source text.
#[derive(Debug)]
pub struct Function {
    /// Tells functions apart: unique within one [`crate::Globals`], stable over its life.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The dotted name of the module it stands in.
    pub module: String,
    /// The file, for messages and debug locations.
    pub file: String,
    /// The line of the file on which `source` begins, counted from 1.
    pub first_line: u32,
    /// Its text as in the file: decorators, comments and indentation included.
    pub source: String,
    /// Whether it asks for a real call (`@jit(noinline=True)`).
    pub noinline: bool,
    /// What it uses beyond the language (`@jit(extensions=[…])`).
    pub extensions: Extensions,
}

/// A shared [`Function`]; two are equal when they are the same function.
#[derive(Clone)]
pub struct FunctionRef(pub Arc<Function>);

impl PartialEq for FunctionRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id && self.0.module == other.0.module && self.0.name == other.0.name
    }
}

impl Eq for FunctionRef {}

impl fmt::Debug for FunctionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<function {}.{}>", self.0.module, self.0.name)
    }
}

/// An object that only its [`crate::Globals`] can look into.
#[derive(Debug)]
pub struct Object {
    /// Its handle there: equal for the same object.
    pub id: u64,
    /// The name of its type, for messages.
    pub type_name: String,
    /// How it prints, for messages and f-strings.
    pub text: String,
}

/// A shared [`Object`]; two are equal when they are the same object.
#[derive(Clone, Debug)]
pub struct ObjectRef(pub Arc<Object>);

impl PartialEq for ObjectRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for ObjectRef {}
