//! Values of kernels as text: elements, shape, dtype.

use frontend::eager::FormKind;
use frontend::typing::{ShapeText, Ty};
use runtime::eager::{Element, Session, Value, element};
use ttir::interp::BlockData;

/// Blocks of more elements are shown by the first and last ones of each dimension.
const WHOLE: u64 = 128;
/// How many of them at each end.
const EDGE: usize = 3;

/// A value as text.
pub(super) fn show(session: &Session, value: &Value) -> String {
    let form = session.form(value.form);
    match form.kind() {
        FormKind::Tensor(ty) => tensor(&ty, &value.parts[0]),
        _ => {
            let parts: Vec<String> = value.parts.iter().map(|part| format!("{:#x}", part.at(0))).collect();
            let parts = if parts.is_empty() { String::new() } else { format!(" of {}", parts.join(", ")) };
            format!("<{}{parts}>", form.describe())
        }
    }
}

fn tensor(ty: &Ty, data: &BlockData) -> String {
    if !ty.is_block() {
        return format!("tensor({}, dtype={})", one(ty, data, 0), ty.scalar);
    }
    let whole = ty.numel() <= WHOLE;
    let mut text = String::from("tensor(");
    dimension(&mut text, ty, data, 0, 0, whole);
    text.push_str(&format!(", shape={}, dtype={})", ShapeText(&ty.shape), ty.scalar));
    text
}

fn dimension(text: &mut String, ty: &Ty, data: &BlockData, dim: usize, first: usize, whole: bool) {
    if dim == ty.shape.len() {
        text.push_str(&one(ty, data, first));
        return;
    }
    let size = ty.shape[dim] as usize;
    let inner: usize = ty.shape[dim + 1..].iter().map(|dim| *dim as usize).product();
    let between = if dim + 1 < ty.shape.len() {
        format!(",\n{}", " ".repeat("tensor(".len() + dim + 1))
    } else {
        ", ".to_owned()
    };
    text.push('[');
    for index in 0..size {
        if !whole && size > 2 * EDGE && index == EDGE {
            text.push_str(&between);
            text.push_str("...");
        }
        if !whole && size > 2 * EDGE && (EDGE..size - EDGE).contains(&index) {
            continue;
        }
        if index > 0 {
            text.push_str(&between);
        }
        dimension(text, ty, data, dim + 1, first + index * inner, whole);
    }
    text.push(']');
}

/// One element, as short as it can be told from its neighbours.
fn one(ty: &Ty, data: &BlockData, index: usize) -> String {
    if data.is_undefined(index) {
        return "undefined".to_owned();
    }
    match element(ty.scalar, data.at(index)) {
        Element::Bool(true) => "True".to_owned(),
        Element::Bool(false) => "False".to_owned(),
        Element::Int(value) => value.to_string(),
        Element::Pointer(value) => format!("{value:#x}"),
        Element::Float(value) if value.is_nan() => "nan".to_owned(),
        Element::Float(value) if ty.scalar.bits() > 32 => format!("{value:?}"),
        Element::Float(value) => format!("{:?}", value as f32),
    }
}
