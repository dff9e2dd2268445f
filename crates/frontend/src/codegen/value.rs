//! Values while a kernel is walked: constants, ir values with a type, and what is built of them.

use crate::constexpr;
use crate::dtype::Scalar;
use crate::typing::Ty;
use crate::value::{ObjectRef, PyValue, TupleValue};
use std::rc::Rc;
use std::sync::Arc;

/// A run-time value and its type, which knows what the ir does not: signedness, constness.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) value: ir::Value,
    pub(crate) ty: Ty,
}

/// Elements of a tuple, with the names of its fields for a `namedtuple`.
#[derive(Clone, Debug)]
pub(crate) struct Tuple {
    pub(crate) items: Vec<Val>,
    pub(crate) fields: Option<Vec<Arc<str>>>,
}

/// The arguments of `range`, `tl.range` or `tl.static_range`.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) start: Val,
    pub(crate) end: Val,
    pub(crate) step: Val,
    /// Whether the loop is unrolled by the front end.
    pub(crate) is_static: bool,
    /// Attributes of the loop, from its options.
    pub(crate) attrs: Vec<(&'static ir::DeclaredKey, ir::Attr)>,
}

/// A descriptor of a tensor in memory.
#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    pub(crate) value: ir::Value,
    /// What it was made of in the kernel; `None` for an argument.
    pub(crate) made_of: Option<DescriptorBase>,
    /// Whether what is read is rounded to ten bits of mantissa, as an argument may ask for.
    pub(crate) rounds_to_tf32: bool,
    /// The type of the blocks that are read and written.
    pub(crate) block: Ty,
    pub(crate) shape: Vec<Tensor>,
    pub(crate) strides: Vec<Tensor>,
}

/// What makes a descriptor besides sizes and strides.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorBase {
    /// The first element of the tensor.
    pub(crate) base: Tensor,
    /// What is read outside the tensor.
    pub(crate) padding: Option<ir::Attr>,
}

impl Descriptor {
    /// The run-time values that make it up: base, sizes, strides.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Tensor> {
        let base = self.made_of.iter().map(|made| &made.base);
        base.chain(&self.shape).chain(&self.strides)
    }

    /// Whether another descriptor differs in nothing but run-time values, and can be made of them.
    pub(crate) fn remakeable_as(&self, other: &Descriptor) -> bool {
        let (Some(a), Some(b)) = (&self.made_of, &other.made_of) else { return false };
        let types = self.parts().map(|part| &part.ty).eq(other.parts().map(|part| &part.ty));
        a.padding == b.padding && self.block == other.block && types
    }
}

/// A pointer to a block of a tensor, which knows the edges of the tensor.
#[derive(Clone, Debug)]
pub(crate) struct BlockPointer {
    /// The first element of the tensor.
    pub(crate) base: Tensor,
    /// The sizes of the tensor, each of 32 or 64 bits.
    pub(crate) shape: Vec<Tensor>,
    /// The distances of its elements, 64 bits each.
    pub(crate) strides: Vec<Tensor>,
    /// Where the block begins, 32 bits each.
    pub(crate) offsets: Vec<Tensor>,
    /// The type of the block.
    pub(crate) block: Ty,
}

impl BlockPointer {
    /// The run-time values that make it up: base, sizes, strides, offsets.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Tensor> {
        let lists = self.shape.iter().chain(&self.strides).chain(&self.offsets);
        std::iter::once(&self.base).chain(lists)
    }
}

/// An object of an `@aggregate` class.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    /// Its class.
    pub(crate) class: ObjectRef,
    /// The names of its fields.
    pub(crate) names: Vec<Arc<str>>,
    /// Their values.
    pub(crate) values: Vec<Val>,
}

/// Any value.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    /// Known at compile time. Never a tuple and never wrapped: see [`Val::from_py`].
    Const(PyValue),
    /// Known at run time.
    Tensor(Tensor),
    /// A tuple or list of either.
    Tuple(Rc<Tuple>),
    /// The type of a block, as `x.type` gives it; that of a scalar is a constant.
    Type(Ty),
    /// `a:b:c` in an index.
    Slice(Rc<[Val; 3]>),
    /// A method of a value, not called yet.
    Method { receiver: Rc<Val>, name: Rc<str> },
    /// What a `for` runs over.
    Range(Rc<Range>),
    /// The condition of a `while` with options.
    Condition { value: Rc<Val>, disable_licm: bool },
    /// A tensor descriptor.
    Descriptor(Rc<Descriptor>),
    /// The type of a constant, which is as special as its value.
    ConstexprType(PyValue),
    /// An object with fields.
    Aggregate(Rc<Aggregate>),
    /// A block pointer.
    BlockPointer(Rc<BlockPointer>),
    /// The type of a block pointer, by the type of its block.
    BlockPointerType(Ty),
    /// A name that has no value here; the text says why.
    Undefined(Rc<str>),
    /// The result of something that was reported already; using it reports nothing.
    Poison,
}

impl Val {
    /// `None`.
    pub(crate) const NONE: Val = Val::Const(PyValue::None);

    /// A value from outside.
    pub(crate) fn from_py(value: PyValue) -> Val {
        match value {
            PyValue::Constexpr(inner) => Val::from_py(*inner),
            PyValue::Tuple(tuple) => Val::Tuple(Rc::new(Tuple {
                items: tuple.items.iter().cloned().map(Val::from_py).collect(),
                fields: tuple.fields.clone(),
            })),
            other => Val::Const(other),
        }
    }

    /// The value known at compile time, of a tuple that of all its elements.
    pub(crate) fn to_py(&self) -> Option<PyValue> {
        match self {
            Val::Const(value) => Some(value.clone()),
            Val::Tuple(tuple) => {
                let items: Option<Vec<PyValue>> = tuple.items.iter().map(Val::to_py).collect();
                Some(PyValue::Tuple(Arc::new(TupleValue { items: items?, fields: tuple.fields.clone() })))
            }
            Val::Type(ty) if !ty.is_block() => Some(PyValue::DType(ty.scalar)),
            _ => None,
        }
    }

    /// An integer constant.
    pub(crate) fn int(value: impl Into<i128>) -> Val {
        Val::Const(PyValue::Int(value.into()))
    }

    /// A truth constant.
    pub(crate) fn bool(value: bool) -> Val {
        Val::Const(PyValue::Bool(value))
    }

    /// An element type as a value.
    pub(crate) fn dtype(scalar: impl Into<Scalar>) -> Val {
        Val::Const(PyValue::DType(scalar.into()))
    }

    /// A tuple.
    pub(crate) fn tuple(items: Vec<Val>) -> Val {
        Val::Tuple(Rc::new(Tuple { items, fields: None }))
    }

    /// The type of a run-time value as a value.
    pub(crate) fn type_of(ty: &Ty) -> Val {
        if ty.is_block() { Val::Type(ty.clone()) } else { Val::dtype(ty.scalar) }
    }

    /// Whether it is `None`.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Val::Const(PyValue::None))
    }

    /// What it is, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Val::Const(
                value @ (PyValue::Int(_) | PyValue::Float(_) | PyValue::Bool(_) | PyValue::Str(_)),
            ) => {
                format!("constexpr[{}]", constexpr::repr(value))
            }
            Val::Const(PyValue::None) => "None".to_string(),
            Val::Const(value) => format!("a {}", value.type_name()),
            Val::Tensor(tensor) if tensor.ty.is_block() => format!("a tensor of type {}", tensor.ty),
            Val::Tensor(tensor) => format!("a run-time value of type {}", tensor.ty),
            Val::Tuple(tuple) => format!("a tuple of {} elements", tuple.items.len()),
            Val::Type(ty) => format!("the type {ty}"),
            Val::Slice(_) => "a slice".to_string(),
            Val::Method { name, .. } => format!("the method `{name}`"),
            Val::Range(_) => "a range".to_string(),
            Val::Condition { .. } => "a loop condition".to_string(),
            Val::Descriptor(descriptor) => format!("a tensor descriptor of blocks {}", descriptor.block),
            Val::ConstexprType(value) => format!("the type constexpr_type[{}]", constexpr::text(value)),
            Val::Aggregate(aggregate) => format!("an object of {}", aggregate.class.0.text),
            Val::BlockPointer(pointer) => format!("a pointer to blocks {}", pointer.block),
            Val::BlockPointerType(ty) => format!("the type pointer<{ty}>"),
            Val::Undefined(_) => "an undefined name".to_string(),
            Val::Poison => "an invalid value".to_string(),
        }
    }

    /// The name of its Python type, for messages.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Val::Const(value) => value.type_name(),
            Val::Tensor(_) => "tensor",
            Val::Tuple(_) => "tuple",
            Val::Type(_) => "block_type",
            Val::Slice(_) => "slice",
            Val::Method { .. } => "method",
            Val::Range(_) => "range",
            Val::Condition { .. } => "condition",
            Val::Descriptor(_) => "tensor_descriptor",
            Val::ConstexprType(_) => "constexpr_type",
            Val::Aggregate(_) => "aggregate",
            Val::BlockPointer(_) => "tensor",
            Val::BlockPointerType(_) => "pointer_type",
            Val::Undefined(_) | Val::Poison => "undefined",
        }
    }
}

impl From<Tensor> for Val {
    fn from(tensor: Tensor) -> Self {
        Val::Tensor(tensor)
    }
}
