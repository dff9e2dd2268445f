//! What a value is, but for the elements of its run-time parts.

use crate::codegen::leaves;
use crate::codegen::value::{Descriptor, DescriptorBase, Tensor, Tuple, Val};
use crate::request::DescriptorSpec;
use crate::typing::Ty;
use crate::value::PyValue;
use crate::{DType, Pointer, Scalar};
use ir::Attr;
use std::rc::Rc;
use std::sync::Arc;
use ttir::ops::descriptor::PADDING;

/// What a value is, but for the elements of its run-time parts.
#[derive(Clone, Debug)]
pub struct Form(pub(crate) Val);

/// What a program that runs must know of a value.
#[derive(Clone, Debug)]
pub enum FormKind {
    /// Known without running anything.
    Const(PyValue),
    /// One run-time part of this type.
    Tensor(Ty),
    /// Several values, with the names of their fields if they have some.
    Tuple(Vec<Form>, Option<Vec<Arc<str>>>),
    /// A method of the value whose attribute was read.
    Method,
    /// Anything else; the text says what, as Python names types.
    Other(String),
}

/// Stands for a run-time value: forms have none.
fn nobody(ty: Ty) -> Tensor {
    Tensor { value: ir::Value::from_u32(0), ty }
}

impl Form {
    /// A value from outside.
    pub fn constant(value: PyValue) -> Form {
        Form(Val::from_py(value))
    }

    /// A run-time value.
    pub fn tensor(ty: Ty) -> Form {
        Form(Val::Tensor(nobody(ty)))
    }

    /// Several values.
    pub fn tuple(items: Vec<Form>, fields: Option<Vec<Arc<str>>>) -> Form {
        let items = items.into_iter().map(|form| form.0).collect();
        Form(Val::Tuple(Rc::new(Tuple { items, fields })))
    }

    /// `start:stop:step` in an index.
    pub fn slice([start, stop, step]: [Form; 3]) -> Form {
        Form(Val::Slice(Rc::new([start.0, stop.0, step.0])))
    }

    /// A tensor descriptor; its run-time parts are base, sizes (32 bits) and strides (64 bits).
    pub fn descriptor(spec: &DescriptorSpec) -> Form {
        let pointer = Scalar::Pointer(Pointer { pointee: spec.element, constant: false });
        let text = if spec.pads_nan { "pad_nan" } else { "pad_zero" };
        let padding = PADDING.value(text).map(|value| Attr::Enum { row: &PADDING, value });
        let parts = |dtype: DType| spec.block.iter().map(|_| nobody(Ty::scalar(dtype))).collect();
        Form(Val::Descriptor(Rc::new(Descriptor {
            value: ir::Value::from_u32(0),
            made_of: Some(DescriptorBase { base: nobody(Ty::scalar(pointer)), padding }),
            rounds_to_tf32: spec.rounds_to_tf32,
            block: Ty { scalar: spec.element.into(), shape: spec.block.iter().copied().collect() },
            shape: parts(DType::Int32),
            strides: parts(DType::Int64),
        })))
    }

    /// How many run-time parts it has.
    pub fn parts(&self) -> usize {
        let mut all = Vec::new();
        leaves(&self.0, &mut all);
        all.len()
    }

    /// What it is.
    pub fn kind(&self) -> FormKind {
        match &self.0 {
            Val::Const(value) => FormKind::Const(value.clone()),
            Val::Type(ty) if !ty.is_block() => FormKind::Const(PyValue::DType(ty.scalar)),
            Val::Tensor(tensor) => FormKind::Tensor(tensor.ty.clone()),
            Val::Tuple(tuple) => {
                FormKind::Tuple(tuple.items.iter().cloned().map(Form).collect(), tuple.fields.clone())
            }
            Val::Method { .. } => FormKind::Method,
            Val::Type(_) | Val::BlockPointer(_) | Val::Descriptor(_) => {
                FormKind::Other(self.0.type_name().to_owned())
            }
            other => FormKind::Other(other.type_name().to_owned()),
        }
    }

    /// What it is, in words.
    pub fn describe(&self) -> String {
        self.0.describe()
    }

    /// The name of its class in Python.
    pub fn class(&self) -> &str {
        self.0.type_name()
    }

    /// A text that equal forms share and different ones do not.
    pub fn key(&self) -> String {
        let nothing = crate::codegen::with_leaves(&self.0, &mut |_| ir::Value::from_u32(0));
        format!("{nothing:?}")
    }
}
