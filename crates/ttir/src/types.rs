//! The types of block-level code: tensors, pointers, tensor descriptors.
//!
//! A scalar is a value of an element type; a block is a `tensor` with any number of elements along each dimension, from
//! the pass `pad-blocks` on a power of two. Helpers here treat a scalar as a block of rank 0, so that one rule serves
//! both.

use ir::text::{ParseError, Parser, Printer};
use ir::{Attr, Type, TypeConstraint, TypeParam, TypeRow};

/// The largest number of elements of a block, counted with each dimension rounded up to a power of two.
pub const MAX_ELEMENTS: i64 = 1 << 20;

/// `tensor<128x64xf32>`, with an optional encoding that says where each element lives.
pub static TENSOR: TypeRow = TypeRow {
    name: "tensor",
    print: |params, printer| {
        printer.text("<");
        print_shaped(params, printer);
        if let Some(TypeParam::Attr(encoding)) = params.get(2) {
            printer.text(", ");
            printer.attr(encoding);
        }
        printer.text(">");
    },
    parse: |parser| {
        parser.expect("<")?;
        let mut params = parse_shaped(parser)?;
        if parser.accept(",") {
            params.push(TypeParam::Attr(parser.parse_attr(None)?));
        }
        parser.expect(">")?;
        Ok(params)
    },
    verify: verify_shaped,
};

/// `!tt.ptr<f32>`: the address of an element; the second parameter is the address space, 1 when it is not written.
pub static PTR: TypeRow = TypeRow {
    name: "tt.ptr",
    print: |params, printer| {
        if let [TypeParam::Type(pointee), TypeParam::Int(space)] = params {
            printer.text("<");
            printer.ty(*pointee);
            if *space != 1 {
                printer.text(&format!(", {space}"));
            }
            printer.text(">");
        }
    },
    parse: |parser| {
        parser.expect("<")?;
        let pointee = parser.parse_type()?;
        let space = if parser.accept(",") { parser.parse_int()? } else { 1 };
        parser.expect(">")?;
        Ok(vec![TypeParam::Type(pointee), TypeParam::Int(space)])
    },
    verify: |params| match params {
        [TypeParam::Type(pointee), TypeParam::Int(0..=255)] => check_in_memory(*pointee),
        _ => Err("a pointer has a pointee and an address space from 0 to 255".into()),
    },
};

/// `!tt.tensordesc<16x16xf32>`: a tensor in memory with its shape and strides, read and written in blocks; with an
/// optional encoding that says how blocks of it stand in the memory of a program. Integers may have a sign here
/// (`si32`, `ui32`), which says how they are compared; blocks of it are of integers without.
pub static TENSORDESC: TypeRow = TypeRow {
    name: "tt.tensordesc",
    print: |params, printer| {
        if let [TypeParam::Ints(shape), TypeParam::Type(elem), rest @ ..] = params {
            printer.text("<");
            printer.dimensions(shape);
            for param in rest {
                if let TypeParam::Int(sign) = param {
                    printer.text(if *sign == SIGNED { "s" } else { "u" });
                }
            }
            printer.ty(*elem);
            for param in rest {
                if let TypeParam::Attr(encoding) = param {
                    printer.text(", ");
                    printer.attr(encoding);
                }
            }
            printer.text(">");
        }
    },
    parse: |parser| {
        parser.expect("<")?;
        let shape = parser.parse_dimensions()?;
        let word = parser.peek_keyword().unwrap_or_default();
        let signed = |prefix: &str| word.strip_prefix(prefix).and_then(|bits| bits.parse::<u32>().ok());
        let with_sign = signed("si").map(|bits| (bits, SIGNED)).or(signed("ui").map(|bits| (bits, UNSIGNED)));
        let mut params = vec![TypeParam::Ints(shape)];
        match with_sign.filter(|(bits, _)| matches!(bits, 1 | 8 | 16 | 32 | 64)) {
            Some((bits, sign)) => {
                parser.keyword()?;
                params.extend([TypeParam::Type(Type::int(bits)), TypeParam::Int(sign)]);
            }
            None => params.push(TypeParam::Type(parser.parse_type()?)),
        }
        if parser.accept(",") {
            params.push(TypeParam::Attr(parser.parse_attr(None)?));
        }
        parser.expect(">")?;
        Ok(params)
    },
    verify: |params| {
        verify_shaped(params)?;
        params.iter().try_for_each(|param| match param {
            TypeParam::Type(elem) => check_in_memory(*elem),
            _ => Ok(()),
        })
    },
};

/// Integers in memory take whole bytes, a power of two of them; `i1` takes one.
fn check_in_memory(ty: Type) -> Result<(), String> {
    match ty.as_int() {
        Some(1 | 8 | 16 | 32 | 64 | 128) | None => Ok(()),
        Some(_) => Err(format!("memory has no elements of type {ty}")),
    }
}

const SIGNED: i64 = 1;
const UNSIGNED: i64 = 0;

fn print_shaped(params: &[TypeParam], printer: &mut Printer<'_>) {
    if let [TypeParam::Ints(shape), TypeParam::Type(elem), ..] = params {
        printer.dimensions(shape);
        printer.ty(*elem);
    }
}

fn parse_shaped(parser: &mut Parser<'_>) -> Result<Vec<TypeParam>, ParseError> {
    let shape = parser.parse_dimensions()?;
    let elem = parser.parse_type()?;
    Ok(vec![TypeParam::Ints(shape), TypeParam::Type(elem)])
}

fn verify_shaped(params: &[TypeParam]) -> Result<(), String> {
    let (Some(TypeParam::Ints(shape)), Some(TypeParam::Type(elem))) = (params.first(), params.get(1)) else {
        return Err("a tensor has a shape and an element type".into());
    };
    if !is_scalar(*elem) {
        return Err(format!("a tensor cannot have elements of type {elem}"));
    }
    let has_layout = params.iter().any(|param| matches!(param, TypeParam::Attr(_)));
    for &dim in shape {
        if dim <= 0 {
            return Err(format!("shape dimension {dim} is not positive"));
        }
        if has_layout && !is_power_of_two(dim) {
            return Err(format!("shape dimension {dim} is not a positive power of two"));
        }
    }
    let count = shape.iter().try_fold(1i64, |count, &dim| count.checked_mul(padded(dim)));
    match count {
        Some(count) if count <= MAX_ELEMENTS => Ok(()),
        _ => Err(format!("a tensor of shape {shape:?} exceeds the maximum of {MAX_ELEMENTS} elements")),
    }
}

/// A tensor of a shape; with an empty shape, the element type itself.
pub fn tensor(shape: &[i64], elem: Type) -> Type {
    if shape.is_empty() {
        return elem;
    }
    Type::dialect(&TENSOR, vec![TypeParam::Ints(shape.to_vec()), TypeParam::Type(elem)])
}

fn is_power_of_two(dim: i64) -> bool {
    dim & (dim - 1) == 0
}

/// A dimension rounded up to a power of two.
pub fn padded(dim: i64) -> i64 {
    dim.cast_unsigned().checked_next_power_of_two().map_or(i64::MAX, u64::cast_signed)
}

/// Whether a type is a block, or a descriptor of blocks, with a dimension that is no power of two.
pub fn is_odd(ty: Type) -> bool {
    shape(ty).iter().any(|&dim| !is_power_of_two(dim))
}

/// The same type with every dimension rounded up to a power of two.
pub fn padded_type(ty: Type) -> Type {
    if !is_odd(ty) {
        return ty;
    }
    let row = if is_tensor(ty) { &TENSOR } else { &TENSORDESC };
    let mut params = ty.params_of(row).expect("only blocks and descriptors are odd").to_vec();
    params[0] = TypeParam::Ints(shape(ty).iter().map(|&dim| padded(dim)).collect());
    Type::dialect(row, params)
}

/// Whether a type is a tensor.
pub fn is_tensor(ty: Type) -> bool {
    ty.params_of(&TENSOR).is_some()
}

/// The shape; empty for a scalar.
pub fn shape(ty: Type) -> &'static [i64] {
    match ty.params_of(&TENSOR).or_else(|| ty.params_of(&TENSORDESC)) {
        Some([TypeParam::Ints(shape), ..]) => shape,
        _ => &[],
    }
}

/// The element type; a scalar is its own.
pub fn elem(ty: Type) -> Type {
    match ty.params_of(&TENSOR).or_else(|| ty.params_of(&TENSORDESC)) {
        Some([_, TypeParam::Type(elem), ..]) => *elem,
        _ => ty,
    }
}

/// The encoding of a tensor.
pub fn encoding(ty: Type) -> Option<&'static Attr> {
    match ty.params_of(&TENSOR) {
        Some([_, _, TypeParam::Attr(encoding)]) => Some(encoding),
        _ => None,
    }
}

/// The number of elements; 1 for a scalar.
pub fn numel(ty: Type) -> i64 {
    shape(ty).iter().product()
}

/// The same shape and encoding with another element type.
pub fn with_elem(ty: Type, elem: Type) -> Type {
    match ty.params_of(&TENSOR) {
        Some(params) => {
            let mut params = params.to_vec();
            params[1] = TypeParam::Type(elem);
            Type::dialect(&TENSOR, params)
        }
        None => elem,
    }
}

/// A pointer to elements in the global address space.
pub fn ptr(pointee: Type) -> Type {
    Type::dialect(&PTR, vec![TypeParam::Type(pointee), TypeParam::Int(1)])
}

/// What a pointer, or each pointer of a tensor, points to.
pub fn pointee(ty: Type) -> Option<Type> {
    match elem(ty).params_of(&PTR) {
        Some([TypeParam::Type(pointee), ..]) => Some(*pointee),
        _ => None,
    }
}

/// A descriptor of blocks.
pub fn tensordesc(block_shape: &[i64], elem: Type) -> Type {
    Type::dialect(&TENSORDESC, vec![TypeParam::Ints(block_shape.to_vec()), TypeParam::Type(elem)])
}

/// A descriptor of blocks of integers that are compared as signed ones.
pub fn signed_tensordesc(block_shape: &[i64], elem: Type) -> Type {
    tensordesc_with(block_shape, elem, SIGNED)
}

/// A descriptor of blocks of integers that are compared as unsigned ones.
pub fn unsigned_tensordesc(block_shape: &[i64], elem: Type) -> Type {
    tensordesc_with(block_shape, elem, UNSIGNED)
}

fn tensordesc_with(block_shape: &[i64], elem: Type, sign: i64) -> Type {
    let shape = TypeParam::Ints(block_shape.to_vec());
    Type::dialect(&TENSORDESC, vec![shape, TypeParam::Type(elem), TypeParam::Int(sign)])
}

/// Whether a descriptor is of integers that are compared as unsigned ones.
pub fn is_unsigned(descriptor: Type) -> bool {
    matches!(descriptor.params_of(&TENSORDESC), Some([_, _, TypeParam::Int(UNSIGNED), ..]))
}

/// Whether a type is a number or a pointer.
pub fn is_scalar(ty: Type) -> bool {
    ty.as_int().is_some() || ty.as_float().is_some() || ty.params_of(&PTR).is_some()
}

/// Bits of an integer or an index.
///
/// # Panics
///
/// Where it is something else, which the verifier lets no operation on integers have.
pub(crate) fn int_bits(ty: Type) -> u32 {
    ty.scalar_bits().unwrap_or_else(|| panic!("verified: {ty} is an integer"))
}

/// Bits of an element: a pointer has 64.
///
/// # Panics
///
/// Where elements are neither numbers nor pointers, which the verifier lets no block have.
pub fn elem_bits(ty: Type) -> u32 {
    let elem = elem(ty);
    if elem.params_of(&PTR).is_some() {
        return 64;
    }
    elem.scalar_bits().unwrap_or_else(|| panic!("verified: {elem} is a number or a pointer"))
}

/// Bytes that an element takes in memory: `i1` takes one, a pointer eight.
pub fn elem_bytes(ty: Type) -> u64 {
    u64::from(elem_bits(ty).div_ceil(8))
}

macro_rules! constraints {
    ($($(#[$doc:meta])* $name:ident = $words:literal, $check:expr;)*) => {
        $($(#[$doc])* pub static $name: TypeConstraint = TypeConstraint { name: $words, check: $check };)*
    };
}

constraints! {
    /// Integers and tensors of them.
    INT_LIKE = "an integer or a tensor of integers", |ty| elem(ty).as_int().is_some() && !is_desc(ty);
    /// `i1` and tensors of it.
    BOOL_LIKE = "i1 or a tensor of i1", |ty| elem(ty).as_int() == Some(1) && !is_desc(ty);
    /// Floats and tensors of them.
    FLOAT_LIKE = "a float or a tensor of floats", |ty| elem(ty).as_float().is_some() && !is_desc(ty);
    /// Pointers and tensors of them.
    PTR_LIKE = "a pointer or a tensor of pointers", |ty| pointee(ty).is_some() && !is_desc(ty);
    /// Numbers, pointers and tensors of them.
    VALUE_LIKE = "a number, a pointer or a tensor", |ty| is_scalar(elem(ty)) && !is_desc(ty);
    /// Scalars.
    SCALAR = "a number or a pointer", is_scalar;
    /// Tensors.
    TENSOR_ONLY = "a tensor", is_tensor;
    /// `i1`.
    BOOL = "i1", |ty| ty.as_int() == Some(1);
    /// A scalar integer.
    INT = "an integer", |ty| ty.as_int().is_some();
    /// A pointer.
    POINTER = "a pointer", |ty| pointee(ty).is_some() && !is_tensor(ty);
    /// A tensor descriptor.
    DESCRIPTOR = "a tensor descriptor", is_desc;
}

fn is_desc(ty: Type) -> bool {
    ty.params_of(&TENSORDESC).is_some()
}
