//! Attributes of values.

use crate::codegen::operator_method::operator_method_of;
use crate::codegen::value::{Tuple, Val};
use crate::codegen::{Ctx, Res, Stop};
use crate::diagnostic::Cause;
use crate::dtype::{DType, FACTS, Scalar};
use crate::language;
use crate::ops;
use crate::python_methods;
use crate::typing::Ty;
use crate::value::PyValue;
use std::rc::Rc;
use std::sync::Arc;

/// A question about an element type that is a method of dtypes.
type Question = fn(Scalar) -> bool;

/// Methods of dtypes that take nothing and answer yes or no.
const QUESTIONS: [(&str, Question); 10] = [
    ("is_floating", |scalar| scalar.is_number(DType::is_floating)),
    ("is_standard_floating", |scalar| scalar.is_number(DType::is_standard_floating)),
    ("is_int", |scalar| scalar.is_number(DType::is_int)),
    ("is_int_signed", |scalar| scalar.is_number(DType::is_int_signed)),
    ("is_int_unsigned", |scalar| scalar.is_number(DType::is_int_unsigned)),
    ("is_bool", |scalar| scalar.is_number(DType::is_bool)),
    ("is_fp8", |scalar| scalar.is_number(DType::is_fp8)),
    ("is_ptr", |scalar| scalar.pointer().is_some()),
    ("is_const", |scalar| scalar.pointer().is_some_and(|pointer| pointer.constant)),
    ("is_void", |scalar| scalar == DType::Void.into()),
];

/// Other methods of dtypes.
const DTYPE_METHODS: [&str; 4] = ["is_block", "get_int_max_value", "get_int_min_value", "with_element_ty"];

fn method(receiver: &Val, name: &str) -> Val {
    Val::Method { receiver: Rc::new(receiver.clone()), name: Rc::from(name) }
}

fn dims(ty: &Ty) -> Val {
    Val::tuple(ty.shape.iter().map(|dim| Val::int(*dim)).collect())
}

impl Ctx<'_> {
    /// `value.name`.
    pub(crate) fn attribute(&mut self, value: &Val, name: &str) -> Res<Val> {
        if let Some(val) = self.find_attribute(value, name)? {
            return Ok(val);
        }
        // An argument that is 1 is a constant, and kernels say `n.to(tl.float32)` of all that they may get.
        let found = match value {
            Val::Const(PyValue::Int(_)) => {
                let number = self.materialized(value.clone())?;
                self.find_attribute(&number, name)?
            }
            _ => None,
        };
        found.ok_or_else(|| self.no_attribute(value, name))
    }

    fn no_attribute(&mut self, value: &Val, name: &str) -> Stop {
        let (what, help) = match value {
            Val::Const(PyValue::Module(module)) => {
                let path = language::short_path(module);
                (
                    format!("module '{path}' has no attribute '{name}'"),
                    "see the list of operations in the documentation",
                )
            }
            Val::Const(PyValue::Object(object)) => (
                format!(
                    "'{}' object has no attribute '{name}', or it cannot be read here",
                    object.0.type_name
                ),
                "kernels may use numbers, strings, tuples, dtypes and @triton.jit functions of Python objects",
            ),
            other => (format!("'{}' object has no attribute '{name}'", other.type_name()), ""),
        };
        let what = Cause::Attribute.says(what);
        if help.is_empty() { self.error(what) } else { self.error_help(what, help) }
    }

    /// `value.name`, if there is such an attribute.
    pub(crate) fn find_attribute(&mut self, value: &Val, name: &str) -> Res<Option<Val>> {
        Ok(match value {
            Val::Poison => return Err(Stop),
            Val::Undefined(why) => return Err(self.error(Cause::Name.says(&**why))),
            _ if operator_method_of(value, name).is_some() => Some(method(value, name)),
            Val::Tensor(tensor) => match name {
                "dtype" => Some(Val::dtype(tensor.ty.scalar)),
                "type" => Some(Val::type_of(&tensor.ty)),
                "shape" => Some(dims(&tensor.ty)),
                "numel" => Some(Val::int(i128::from(tensor.ty.numel()))),
                "T" => Some(Val::Tensor(self.transpose(tensor.clone())?)),
                _ => self.block_method(name).map(|_| method(value, name)),
            },
            Val::Tuple(tuple) if name != "value" || tuple.fields.is_some() => {
                let field =
                    tuple.fields.as_ref().and_then(|fields| fields.iter().position(|field| &**field == name));
                match field {
                    Some(index) => Some(tuple.items[index].clone()),
                    None if name == "type" => Some(self.tuple_type(tuple)?),
                    None => None,
                }
            }
            Val::Const(PyValue::Object(object)) => {
                let found = self.class_member(object, name);
                found.map(Val::from_py).or_else(|| (name == "value").then(|| value.clone()))
            }
            Val::Type(_) | Val::Tuple(_) | Val::BlockPointerType(_) | Val::Const(_) if name == "value" => {
                Some(value.clone())
            }
            Val::ConstexprType(constant) if name == "value" => Some(Val::Const(constant.clone())),
            Val::Const(
                constant @ (PyValue::None
                | PyValue::Bool(_)
                | PyValue::Int(_)
                | PyValue::Float(_)
                | PyValue::Str(_)),
            ) if name == "type" => Some(Val::ConstexprType(constant.clone())),
            Val::Const(constant) if python_methods::has(constant, name) => Some(method(value, name)),
            Val::Const(constant) if let Some(part) = python_methods::part(constant, name) => {
                Some(Val::Const(part))
            }
            Val::Type(ty) => type_attribute(value, ty, name),
            Val::Aggregate(aggregate) => {
                let aggregate = aggregate.clone();
                self.aggregate_attribute(value, &aggregate, name)?
            }
            Val::BlockPointer(pointer) => match name {
                "type" | "dtype" => Some(Val::BlockPointerType(pointer.block.clone())),
                "shape" => Some(dims(&pointer.block)),
                "load" | "store" | "advance" => Some(method(value, name)),
                _ => None,
            },
            Val::BlockPointerType(ty) => match name {
                "element_ty" => Some(Val::Type(ty.clone())),
                "scalar" => Some(value.clone()),
                "is_ptr" | "is_block" | "is_const" => Some(method(value, name)),
                "primitive_bitwidth" => Some(Val::int(64)),
                _ => None,
            },
            Val::Const(PyValue::DType(scalar)) => type_attribute(value, &Ty::scalar(*scalar), name),
            Val::Const(PyValue::Module(path)) => language::attribute(path, name).map(Val::from_py),
            Val::Const(PyValue::Builtin(path)) => language::attribute(path, name).map(Val::from_py),
            Val::Const(PyValue::JitFunction(function)) => match name {
                "__name__" => Some(Val::Const(PyValue::str(&function.0.name))),
                "fn" => Some(value.clone()),
                _ => None,
            },
            Val::Descriptor(descriptor) => match name {
                "dtype" => Some(Val::dtype(descriptor.block.scalar)),
                "block_shape" => Some(dims(&descriptor.block)),
                "block_type" | "type" => Some(Val::Type(descriptor.block.clone())),
                "shape" => Some(Val::tuple(descriptor.shape.iter().cloned().map(Val::Tensor).collect())),
                "strides" => Some(Val::tuple(descriptor.strides.iter().cloned().map(Val::Tensor).collect())),
                _ => ops::find(&format!("descriptor.{name}")).map(|_| method(value, name)),
            },
            _ => None,
        })
    }

    /// What is called with a block as its first argument by `block.name(…)`.
    fn block_method(&self, name: &str) -> Option<PyValue> {
        ops::find_method(name).or_else(|| self.request.globals.block_method(name))
    }

    /// The type of a tuple: the tuple of the types in it.
    fn tuple_type(&mut self, tuple: &Tuple) -> Res<Val> {
        let types = tuple.items.iter().map(|item| match (self.find_attribute(item, "type")?, item) {
            (Some(ty), _) => Ok(ty),
            (None, Val::Const(constant)) => Ok(Val::ConstexprType(constant.clone())),
            (None, _) => Err(self.no_attribute(item, "type")),
        });
        let items = types.collect::<Res<Vec<_>>>()?;
        Ok(Val::Tuple(Rc::new(Tuple { items, fields: tuple.fields.clone() })))
    }

    /// `tl.tuple_type(types, fields)`: the type of a tuple is the tuple of its types.
    pub(crate) fn named_tuple_type(&mut self, args: &[Val], keywords: &[(String, Val)]) -> Res<Val> {
        let keyword = |name: &str| keywords.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        let types = args.first().or_else(|| keyword("types"));
        let Some(Val::Tuple(types)) = types else {
            return Err(
                self.error("tuple_type takes a tuple of types, and the names of the fields if they have any")
            );
        };
        let fields = match args.get(1).or_else(|| keyword("fields")) {
            None | Some(Val::Const(PyValue::None)) => None,
            Some(Val::Tuple(names)) => {
                let names = names.items.iter().map(|name| match name {
                    Val::Const(PyValue::Str(name)) => Ok(Arc::from(&**name)),
                    other => Err(self.error(format!("a field has a name, not {}", other.describe()))),
                });
                Some(names.collect::<Res<_>>()?)
            }
            Some(other) => {
                return Err(self.error(format!("the fields are a tuple of names, not {}", other.describe())));
            }
        };
        Ok(Val::Tuple(Rc::new(Tuple { items: types.items.clone(), fields })))
    }

    /// Calls a method of a value.
    pub(crate) fn call_method(
        &mut self,
        receiver: &Val,
        name: &str,
        mut args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        if let Some(method) = operator_method_of(receiver, name) {
            return self.call_operator_method(receiver, name, method, args);
        }
        let scalar = match receiver {
            Val::Tensor(_) => {
                args.insert(0, receiver.clone());
                return match self.block_method(name) {
                    Some(callee) => self.call_value(&Val::Const(callee), args, keywords),
                    None => Err(self.no_attribute(receiver, name)),
                };
            }
            Val::Descriptor(_) => {
                args.insert(0, receiver.clone());
                return self.call_builtin(&format!("descriptor.{name}"), args, keywords);
            }
            Val::Aggregate(aggregate) => {
                return self.call_aggregate_method(receiver, aggregate, name, args, keywords);
            }
            Val::BlockPointer(_) => {
                args.insert(0, receiver.clone());
                return self.call_builtin(&format!("tl.{name}"), args, keywords);
            }
            Val::BlockPointerType(_) => return Ok(Val::bool(name == "is_ptr")),
            Val::Type(ty) => ty.scalar,
            Val::Const(PyValue::DType(scalar)) => *scalar,
            Val::Const(constant) if python_methods::has(constant, name) => {
                let (args, keywords) = self.constants(name, args, keywords)?;
                if let Some((keyword, _)) = keywords.first() {
                    return Err(self.error(
                        Cause::Type.says(format!("{name}() takes no keyword here, and `{keyword}` is given")),
                    ));
                }
                return Ok(Val::from_py(self.check(python_methods::call(constant, name, &args))?));
            }
            _ => return Err(self.no_attribute(receiver, name)),
        };
        if let Some(answer) = question(scalar, name) {
            return Ok(Val::bool(answer));
        }
        match (name, scalar) {
            ("is_block", _) => Ok(Val::bool(matches!(receiver, Val::Type(_)))),
            ("get_int_max_value", Scalar::Number(dtype)) if dtype.is_int() => {
                Ok(Val::int(dtype.int_range().1))
            }
            ("get_int_min_value", Scalar::Number(dtype)) if dtype.is_int() => {
                Ok(Val::int(dtype.int_range().0))
            }
            ("with_element_ty", _) => match (args.first(), receiver) {
                (Some(Val::Const(PyValue::DType(element))), Val::Type(ty)) => {
                    Ok(Val::Type(ty.with(*element)))
                }
                (Some(element), _) => Ok(element.clone()),
                _ => {
                    Err(self
                        .error(Cause::Type.says("with_element_ty() missing required argument: 'element_ty'")))
                }
            },
            ("get_block_shapes", _) if let Val::Type(ty) = receiver => Ok(dims(ty)),
            _ => Err(self.no_attribute(receiver, name)),
        }
    }
}

/// An attribute of an element type that is known at compile time and no method.
pub(crate) fn dtype_attribute(scalar: Scalar, name: &str) -> Option<PyValue> {
    type_attribute(&Val::dtype(scalar), &Ty::scalar(scalar), name)?.to_py()
}

/// The answer of a method of an element type that takes nothing.
pub(crate) fn dtype_question(scalar: Scalar, name: &str) -> Option<PyValue> {
    question(scalar, name).map(PyValue::Bool)
}

/// The answer to `dtype.name()`, where that is a question: one of [`QUESTIONS`], or `is_int64` and the like.
fn question(scalar: Scalar, name: &str) -> Option<bool> {
    if let Some((_, question)) = QUESTIONS.iter().find(|(own, _)| *own == name) {
        return Some(question(scalar));
    }
    let asked = FACTS.iter().find(|row| name.strip_prefix("is_") == Some(row.name))?;
    Some(scalar == asked.dtype.into())
}

fn type_attribute(value: &Val, ty: &Ty, name: &str) -> Option<Val> {
    let bits = i128::from(ty.scalar.bits());
    Some(match (name, ty.scalar) {
        ("scalar", _) => Val::dtype(ty.scalar),
        ("element_ty", Scalar::Pointer(pointer)) if !ty.is_block() => Val::dtype(pointer.pointee),
        ("element_ty", _) => Val::dtype(ty.scalar),
        ("shape", _) if ty.is_block() => dims(ty),
        ("numel", _) => Val::int(i128::from(ty.numel())),
        ("primitive_bitwidth", _) => Val::int(bits),
        ("itemsize", _) => Val::int(bits / 8),
        ("nbytes", _) => Val::int(i128::from(ty.numel()) * (bits / 8)),
        ("name", scalar) => Val::Const(PyValue::str(&scalar.to_string())),
        ("int_bitwidth", Scalar::Number(dtype)) if dtype.is_int() => Val::int(bits),
        ("int_signedness", Scalar::Number(dtype)) if dtype.is_int() => {
            let which = if dtype.is_int_signed() { "SIGNED" } else { "UNSIGNED" };
            Val::Const(PyValue::Builtin(format!("tl.dtype.SIGNEDNESS.{which}").into()))
        }
        ("fp_mantissa_width", Scalar::Number(dtype)) if dtype.is_floating() => {
            Val::int(dtype.facts().mantissa)
        }
        ("exponent_bias", Scalar::Number(dtype)) if dtype.is_floating() => Val::int(dtype.facts().bias),
        ("get_block_shapes", _) if ty.is_block() => method(value, name),
        _ if question(ty.scalar, name).is_some() || DTYPE_METHODS.contains(&name) => method(value, name),
        _ => return None,
    })
}
