//! The typing and promotion rules of the language, as pure functions on element types and shapes.
//!
//! A *literal* is a Python number or constexpr: its type follows from its value and it does not widen a tensor of the
//! same or a higher kind. A run-time scalar is not a literal. Every other module asks here and repeats no rule.

use crate::diagnostic::{Cause, Fault};
use crate::dtype::{DType, Pointer, Scalar};
use crate::value::PyValue;
use smallvec::SmallVec;
use std::fmt;

/// The dimensions of a block; empty for a scalar.
pub type Shape = SmallVec<[u32; 4]>;

/// The most elements that a block may have.
pub const MAX_ELEMENTS: u64 = 1 << 20;

/// The type of a run-time value: an element type and a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    /// The type of an element.
    pub scalar: Scalar,
    /// The shape; empty for a scalar.
    pub shape: Shape,
}

impl Ty {
    /// A scalar type.
    pub fn scalar(scalar: impl Into<Scalar>) -> Ty {
        Ty { scalar: scalar.into(), shape: Shape::new() }
    }

    /// A block type.
    pub fn block(scalar: impl Into<Scalar>, shape: &[u32]) -> Ty {
        Ty { scalar: scalar.into(), shape: Shape::from_slice(shape) }
    }

    /// The same shape with other elements.
    pub fn with(&self, scalar: impl Into<Scalar>) -> Ty {
        Ty { scalar: scalar.into(), shape: self.shape.clone() }
    }

    /// Whether it is a block.
    pub fn is_block(&self) -> bool {
        !self.shape.is_empty()
    }

    /// The number of elements.
    pub fn numel(&self) -> u64 {
        self.shape.iter().map(|dim| u64::from(*dim)).product()
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_block() {
            write!(f, "<{}, {}>", ShapeText(&self.shape), self.scalar)
        } else {
            self.scalar.fmt(f)
        }
    }
}

/// Writes a shape as `[8, 16]`.
pub struct ShapeText<'a>(pub &'a [u32]);

impl fmt::Display for ShapeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.0.iter().map(u32::to_string).collect();
        write!(f, "[{}]", dims.join(", "))
    }
}

/// What a binary operation computes, as far as promotion cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Anything but division.
    Plain,
    /// `/`, `//` and `%`: not done in floats narrower than fp32, and not on mixed signedness.
    Division,
}

/// One side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its element type.
    pub dtype: DType,
    /// Whether it is a Python number or constexpr.
    pub literal: bool,
}

impl Operand {
    /// A tensor or run-time scalar.
    pub fn tensor(dtype: DType) -> Operand {
        Operand { dtype, literal: false }
    }

    /// A Python number or constexpr.
    pub fn literal(dtype: DType) -> Operand {
        Operand { dtype, literal: true }
    }
}

/// The type that a Python number has by itself.
///
/// # Errors
/// For values that are no numbers, and integers that fit no type.
pub fn literal_type(value: &PyValue) -> Result<DType, Fault> {
    match value {
        PyValue::Bool(_) => Ok(DType::Int1),
        PyValue::Int(value) => [DType::Int32, DType::UInt32, DType::Int64, DType::UInt64]
            .into_iter()
            .find(|dtype| fits(*value, *dtype))
            .ok_or_else(|| {
                Fault::from(format!(
                    "Nonrepresentable integer {value}: no integer type has more than 64 bits"
                ))
            }),
        PyValue::Float(value) => {
            let magnitude = value.abs();
            let normal = (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&magnitude);
            let single = normal || magnitude == 0.0 || !magnitude.is_finite();
            Ok(if single { DType::Fp32 } else { DType::Fp64 })
        }
        other => {
            Err(Cause::Type
                .says(format!("cannot convert a value of type `{}` to a tensor", other.type_name())))
        }
    }
}

fn fits(value: i128, dtype: DType) -> bool {
    let (min, max) = dtype.int_range();
    (min..=max).contains(&value)
}

/// Checks that a literal can take part in an operation that is done in `dtype`.
///
/// # Errors
/// For negative values with unsigned types and for values out of range.
pub fn check_literal(value: &PyValue, dtype: DType) -> Result<(), String> {
    let negative = match value {
        PyValue::Int(value) => *value < 0,
        PyValue::Float(value) => *value < 0.0,
        _ => false,
    };
    if negative && dtype.is_int_unsigned() {
        return Err(format!(
            "Cannot perform a binary operation between an unsigned tensor ({dtype}) and a negative scalar. \
             Perform a explicit cast on one of them."
        ));
    }
    match value {
        PyValue::Int(value) if dtype.is_int() && !fits(*value, dtype) => {
            let (min, max) = dtype.int_range();
            Err(format!("Scalar {value} is out of range for type {dtype} ({min} to {max})"))
        }
        _ => Ok(()),
    }
}

/// The integer type that two integer types promote to, as in C.
pub fn promote_integers(a: DType, b: DType) -> DType {
    let wider_of = |first: DType, second: DType| if first.bits() > second.bits() { first } else { second };
    match (a.is_int_signed(), b.is_int_signed()) {
        (true, true) | (false, false) => wider_of(a, b),
        (false, true) => {
            if a.bits() >= b.bits() {
                a
            } else {
                b
            }
        }
        (true, false) => {
            if b.bits() >= a.bits() {
                b
            } else {
                a
            }
        }
    }
}

/// The type in which an operation on two numbers is done.
///
/// # Errors
/// For mixed signedness in a division.
pub fn computation_type(a: Operand, b: Operand, arithmetic: Arithmetic) -> Result<DType, Fault> {
    let (mut left, mut right) = (a.dtype, b.dtype);
    if a.literal != b.literal {
        let (literal, tensor) = if a.literal { (left, right) } else { (right, left) };
        if literal.kind() <= tensor.kind() {
            (left, right) = (tensor, tensor);
        }
    }
    let either = |dtype: DType| left == dtype || right == dtype;
    if either(DType::Fp64) {
        return Ok(DType::Fp64);
    }
    if arithmetic == Arithmetic::Division && (left.is_floating() || right.is_floating()) {
        return Ok(DType::Fp32);
    }
    for dtype in [DType::Fp32, DType::Fp16] {
        if either(dtype) {
            return Ok(dtype);
        }
    }
    if either(DType::Bf16) {
        return Ok(if left == right { DType::Bf16 } else { DType::Fp32 });
    }
    if left.is_fp8() && right.is_fp8() {
        return Ok(if left == right { left } else { DType::Fp16 });
    }
    if !left.is_int() || !right.is_int() {
        return Err(
            Cause::Type.says(format!("unexpected types {left} and {right}: cast one of them explicitly"))
        );
    }
    if arithmetic == Arithmetic::Division && left.is_int_signed() != right.is_int_signed() {
        return Err(Cause::Type.says(format!(
            "Cannot use /, //, or % with {left} and {right} because they have different signedness; this is unlikely to \
             result in a useful answer. Cast them to the same signedness."
        )));
    }
    Ok(promote_integers(left, right))
}

/// The type in which an operation on three numbers is done: independent of their order.
///
/// # Errors
/// As [`computation_type`].
pub fn ternary_type(operands: [Operand; 3]) -> Result<DType, Fault> {
    let combine = |literal: bool| -> Result<Option<Operand>, Fault> {
        let mut found: Option<Operand> = None;
        for operand in operands.into_iter().filter(|operand| operand.literal == literal) {
            found = Some(match found {
                None => operand,
                Some(known) => {
                    Operand { dtype: computation_type(known, operand, Arithmetic::Plain)?, literal }
                }
            });
        }
        Ok(found)
    };
    match (combine(false)?, combine(true)?) {
        (Some(tensor), Some(literal)) => computation_type(tensor, literal, Arithmetic::Plain),
        (Some(one), None) | (None, Some(one)) => Ok(one.dtype),
        (None, None) => Err("no operands".into()),
    }
}

/// Checks operands of which one may be a pointer.
///
/// # Errors
/// For pointers where none may be, pointers of different types, and a pointer with a float.
pub fn check_pointers(a: Scalar, b: Scalar, a_may_be: bool, b_may_be: bool) -> Result<(), Fault> {
    let invalid = || Cause::IncompatibleTypes.says(format!("invalid operands of type {a} and {b}"));
    for (one, other, allowed) in [(a, b, a_may_be), (b, a, b_may_be)] {
        let Some(pointer) = one.pointer() else { continue };
        let different = other.pointer().is_some_and(|other| other != pointer);
        if !allowed || different || other.is_number(DType::is_floating) {
            return Err(invalid());
        }
    }
    Ok(())
}

/// The shape that two blocks broadcast to; missing leading dimensions count as 1.
///
/// # Errors
/// For sizes that differ and are not 1.
pub fn broadcast_shapes(a: &[u32], b: &[u32]) -> Result<Shape, String> {
    let rank = a.len().max(b.len());
    let dim_of = |shape: &[u32], index: usize| {
        let missing = rank - shape.len();
        if index < missing { 1 } else { shape[index - missing] }
    };
    (0..rank)
        .map(|index| match (dim_of(a, index), dim_of(b, index)) {
            (1, right) => Ok(right),
            (left, right) if right == 1 || right == left => Ok(left),
            (left, right) => Err(format!(
                "Cannot make_shape_compatible: incompatible dimensions at index {index}: {left} and {right} \
                 (shapes {} and {})",
                ShapeText(a),
                ShapeText(b)
            )),
        })
        .collect()
}

/// How blocks of any size are switched on.
pub const ANY_SHAPE: &str = "switch it on: `@triton.jit(extensions=[\"any_shape\"])`";

/// Checks the shape of a new block of the language.
///
/// # Errors
/// For dimensions that are no powers of two and for too many elements.
pub fn check_block_shape(dims: &[i128]) -> Result<Shape, String> {
    match dims.iter().position(|dim| *dim <= 0 || dim & (dim - 1) != 0) {
        Some(index) => Err(format!(
            "Shape element {index} must be a power of 2\nit is {}: take more and mask them, or {ANY_SHAPE}",
            dims[index]
        )),
        None => check_any_shape(dims),
    }
}

/// Checks the shape of a block whose sizes need not be powers of two.
///
/// # Errors
/// For dimensions without elements, and for too many elements, with each dimension rounded up to a power of two.
pub fn check_any_shape(dims: &[i128]) -> Result<Shape, String> {
    let mut shape = Shape::new();
    for (index, dim) in dims.iter().enumerate() {
        if *dim <= 0 {
            return Err(format!("Shape element {index} must be positive, and is {dim}"));
        }
        shape.push(u32::try_from(*dim).map_err(|_| too_many(dims))?);
    }
    let numel: u128 = shape.iter().map(|dim| u128::from(*dim).next_power_of_two()).product();
    if numel > u128::from(MAX_ELEMENTS) { Err(too_many(dims)) } else { Ok(shape) }
}

fn too_many(dims: &[i128]) -> String {
    let rounded = if dims.iter().all(|dim| dim.count_ones() == 1) {
        ""
    } else {
        ", with sizes rounded up to powers of two,"
    };
    format!("shape {dims:?} has{rounded} more elements than a block may have ({MAX_ELEMENTS})")
}

/// A pointer to elements of a type.
pub fn pointer_to(pointee: DType) -> Scalar {
    Scalar::Pointer(Pointer { pointee, constant: false })
}

#[cfg(test)]
mod tests {
    use super::{
        Arithmetic, Operand, broadcast_shapes, check_any_shape, check_block_shape, check_literal,
        computation_type, literal_type, ternary_type,
    };
    use crate::dtype::DType;
    use crate::value::PyValue;

    /// Every pair of types, as the language's reference implementation promotes it: tensor with tensor, tensor with
    /// literal, and both in a division. `!` is an error.
    #[test]
    fn promotion_follows_the_table() {
        let table = include_str!("../tests/promotion.txt");
        let mut rows = 0;
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [a, b, expected @ ..] = words.as_slice() else { panic!("bad line: {line}") };
            let (a, b) = (DType::from_name(a).unwrap(), DType::from_name(b).unwrap());
            let cases = [
                (Operand::tensor(a), Operand::tensor(b), Arithmetic::Plain),
                (Operand::tensor(a), Operand::tensor(b), Arithmetic::Division),
                (Operand::tensor(a), Operand::literal(b), Arithmetic::Plain),
                (Operand::tensor(a), Operand::literal(b), Arithmetic::Division),
            ];
            for ((left, right, arithmetic), expected) in cases.into_iter().zip(expected) {
                let found = computation_type(left, right, arithmetic);
                let text = found.map_or("!", DType::name);
                assert_eq!(text, *expected, "{left:?} {right:?} {arithmetic:?}");
                let swapped = computation_type(right, left, arithmetic).map_or("!", DType::name);
                assert_eq!(swapped, text, "not symmetric: {left:?} {right:?}");
                rows += 1;
            }
        }
        assert_eq!(rows, 18 * 18 * 4);
    }

    #[test]
    fn literals_take_the_first_type_that_holds_them() {
        let int = |value: i128| literal_type(&PyValue::Int(value));
        assert_eq!(int(0), Ok(DType::Int32));
        assert_eq!(int(-(1 << 31)), Ok(DType::Int32));
        assert_eq!(int(1 << 31), Ok(DType::UInt32));
        assert_eq!(int(1 << 32), Ok(DType::Int64));
        assert_eq!(int(-(1 << 31) - 1), Ok(DType::Int64));
        assert_eq!(int(u64::MAX as i128), Ok(DType::UInt64));
        assert!(int(1 << 64).is_err());
        let float = |value: f64| literal_type(&PyValue::Float(value)).unwrap();
        assert_eq!(float(0.0), DType::Fp32);
        assert_eq!(float(f64::NAN), DType::Fp32);
        assert_eq!(float(f64::NEG_INFINITY), DType::Fp32);
        assert_eq!(float(f64::from(f32::MIN_POSITIVE)), DType::Fp32);
        assert_eq!(float(1e-39), DType::Fp64);
        assert_eq!(float(1e39), DType::Fp64);
        assert_eq!(literal_type(&PyValue::Bool(true)), Ok(DType::Int1));
        assert!(literal_type(&PyValue::str("x")).is_err());
    }

    #[test]
    fn literals_must_fit() {
        assert!(check_literal(&PyValue::Int(128), DType::Int8).unwrap_err().contains("out of range"));
        assert!(check_literal(&PyValue::Int(-1), DType::UInt32).unwrap_err().contains("negative scalar"));
        assert!(check_literal(&PyValue::Int(255), DType::UInt8).is_ok());
        assert!(check_literal(&PyValue::Int(1 << 40), DType::Fp16).is_ok());
    }

    #[test]
    fn three_operands_do_not_depend_on_their_order() {
        let operands =
            [Operand::tensor(DType::Fp16), Operand::literal(DType::Fp32), Operand::literal(DType::Int32)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(ternary_type(order.map(|index| operands[index])), Ok(DType::Fp16));
        }
        let ints =
            [Operand::tensor(DType::Int8), Operand::tensor(DType::Int64), Operand::literal(DType::Fp32)];
        assert_eq!(ternary_type(ints), Ok(DType::Fp32));
    }

    #[test]
    fn shapes() {
        assert_eq!(broadcast_shapes(&[8], &[4, 1]).unwrap().as_slice(), [4, 8]);
        assert_eq!(broadcast_shapes(&[], &[4]).unwrap().as_slice(), [4]);
        assert!(broadcast_shapes(&[8], &[4]).unwrap_err().contains("index 0: 8 and 4"));
        assert_eq!(check_block_shape(&[4, 1]).unwrap().as_slice(), [4, 1]);
        assert!(check_block_shape(&[3]).unwrap_err().contains("power of 2"));
        assert!(check_block_shape(&[0]).is_err());
        assert!(check_block_shape(&[1 << 21]).is_err());
        assert!(check_block_shape(&[1 << 40]).is_err());
        assert_eq!(check_any_shape(&[3, 100]).unwrap().as_slice(), [3, 100]);
        assert!(check_any_shape(&[0]).is_err());
        assert!(check_any_shape(&[1000, 1000]).is_ok());
        assert!(check_any_shape(&[513, 1025]).unwrap_err().contains("rounded up to powers of two"));
    }
}
