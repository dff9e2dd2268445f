//! The types that layouts add: memory descriptors and tokens.

use crate::encoding::SharedMemory;
use ir::text::{ParseError, Parser, Printer};
use ir::{Attr, Type, TypeConstraint, TypeParam, TypeRow};

/// `!ttg.memdesc<128x64xf16, #shared, #smem, mutable, 128x64>`: a part of shared memory that holds a block.
///
/// Parameters: shape, element type, encoding, memory space, whether it may be written, and the shape of what was
/// allocated if that is another.
pub static MEMDESC: TypeRow =
    TypeRow { name: "ttg.memdesc", print: print_memdesc, parse: parse_memdesc, verify: verify_memdesc };

/// `!ttg.async.token`: stands for copies that may not have finished.
pub static TOKEN: TypeRow = TypeRow {
    name: "ttg.async.token",
    print: |_, _| {},
    parse: |_| Ok(Vec::new()),
    verify: |params| if params.is_empty() { Ok(()) } else { Err("a token has no parameters".into()) },
};

fn print_memdesc(params: &[TypeParam], printer: &mut Printer<'_>) {
    let Some(desc) = read(params) else { return };
    printer.text("<");
    printer.dimensions(desc.shape);
    printer.ty(desc.elem);
    printer.text(", ");
    printer.attr(desc.encoding);
    printer.text(", ");
    printer.attr(desc.space);
    if desc.mutable {
        printer.text(", mutable");
    }
    if desc.alloc_shape != desc.shape {
        printer.text(", ");
        for (index, size) in desc.alloc_shape.iter().enumerate() {
            printer.text(if index > 0 { "x" } else { "" });
            printer.int(*size);
        }
    }
    printer.text(">");
}

fn parse_memdesc(parser: &mut Parser<'_>) -> Result<Vec<TypeParam>, ParseError> {
    parser.expect("<")?;
    let shape = parser.parse_dimensions()?;
    let elem = parser.parse_type()?;
    parser.expect(",")?;
    let encoding = parser.parse_attr(None)?;
    parser.expect(",")?;
    let space = parser.parse_attr(None)?;
    let mut mutable = false;
    let mut alloc_shape = shape.clone();
    while parser.accept(",") {
        if parser.accept("mutable") {
            mutable = true;
        } else {
            alloc_shape = parser.parse_sizes()?;
        }
    }
    parser.expect(">")?;
    Ok(params(&shape, elem, encoding, space, mutable, &alloc_shape))
}

fn params(
    shape: &[i64],
    elem: Type,
    encoding: Attr,
    space: Attr,
    mutable: bool,
    alloc_shape: &[i64],
) -> Vec<TypeParam> {
    vec![
        TypeParam::Ints(shape.to_vec()),
        TypeParam::Type(elem),
        TypeParam::Attr(encoding),
        TypeParam::Attr(space),
        TypeParam::Int(i64::from(mutable)),
        TypeParam::Ints(alloc_shape.to_vec()),
    ]
}

fn verify_memdesc(params: &[TypeParam]) -> Result<(), String> {
    let Some(desc) = read(params) else {
        return Err("a memory descriptor has a shape, an element type, an encoding and a space".into());
    };
    if !ttir::types::is_scalar(desc.elem) {
        return Err(format!("a memory descriptor cannot have elements of type {}", desc.elem));
    }
    let sizes = desc.shape.iter().chain(desc.alloc_shape);
    // The leading dimension of several buffers may be any number.
    for (index, &size) in sizes.enumerate() {
        if size <= 0 || size > ttir::types::MAX_ELEMENTS {
            return Err(format!("dimension {index} has size {size}"));
        }
    }
    let count = |shape: &[i64]| shape.iter().try_fold(1i64, |count, &size| count.checked_mul(size));
    if [desc.shape, desc.alloc_shape]
        .into_iter()
        .any(|shape| count(shape).is_none_or(|count| count > 1 << 30))
    {
        return Err("a memory descriptor cannot have more than 2^30 elements".into());
    }
    let Some(encoding) = desc.encoding.data::<crate::SharedEncoding>() else {
        return Err("the encoding of a memory descriptor must be one of shared memory".into());
    };
    if desc.space.data::<SharedMemory>().is_none() {
        return Err("the space of a memory descriptor must be #ttg.shared_memory".into());
    }
    let rank = desc.shape.len();
    if rank == 0 || ![rank, rank - 1].contains(&encoding.rank()) {
        return Err(format!("an encoding of rank {} does not fit shape {:?}", encoding.rank(), desc.shape));
    }
    if desc.alloc_shape.len() < encoding.rank() {
        return Err(format!("the allocated shape {:?} has too few dimensions", desc.alloc_shape));
    }
    let inner = desc.shape.iter().skip(rank - encoding.rank());
    let alloc = desc.alloc_shape.iter().skip(desc.alloc_shape.len() - encoding.rank());
    for (&size, &of) in inner.zip(alloc) {
        if size & (size - 1) != 0 || of & (of - 1) != 0 {
            return Err("the dimensions of the encoding must be powers of two".into());
        }
        if size > of {
            return Err(format!("the shape {:?} exceeds the allocated {:?}", desc.shape, desc.alloc_shape));
        }
    }
    let alloc = &desc.alloc_shape[desc.alloc_shape.len() - encoding.rank()..];
    if encoding.to_linear(alloc).is_surjective() {
        Ok(())
    } else {
        Err(format!("the encoding does not reach every element of {alloc:?}"))
    }
}

fn read(params: &'_ [TypeParam]) -> Option<MemDesc<'_>> {
    match params {
        [
            TypeParam::Ints(shape),
            TypeParam::Type(elem),
            TypeParam::Attr(encoding),
            TypeParam::Attr(space),
            TypeParam::Int(mutable),
            TypeParam::Ints(alloc_shape),
        ] => Some(MemDesc { shape, elem: *elem, encoding, space, mutable: *mutable != 0, alloc_shape }),
        _ => None,
    }
}

/// The parameters of a memory descriptor.
#[derive(Clone, Copy, Debug)]
pub struct MemDesc<'a> {
    /// The shape of the part.
    pub shape: &'a [i64],
    /// The type of the elements.
    pub elem: Type,
    /// Where the elements are: a [`crate::SharedEncoding`].
    pub encoding: &'a Attr,
    /// The memory space.
    pub space: &'a Attr,
    /// Whether it may be written.
    pub mutable: bool,
    /// The shape of what was allocated.
    pub alloc_shape: &'a [i64],
}

/// The parameters of a type, if it is a memory descriptor.
pub fn memdesc(ty: Type) -> Option<MemDesc<'static>> {
    read(ty.params_of(&MEMDESC)?)
}

/// Makes a memory descriptor of all that was allocated.
pub fn memdesc_type(shape: &[i64], elem: Type, encoding: &crate::SharedEncoding, mutable: bool) -> Type {
    memdesc_part_type(shape, elem, encoding, mutable, shape)
}

/// Makes a memory descriptor of a part of what was allocated.
pub fn memdesc_part_type(
    shape: &[i64],
    elem: Type,
    encoding: &crate::SharedEncoding,
    mutable: bool,
    alloc_shape: &[i64],
) -> Type {
    let space = Attr::own(SharedMemory);
    Type::dialect(&MEMDESC, params(shape, elem, encoding.attr(), space, mutable, alloc_shape))
}

/// The type of a token.
pub fn token_type() -> Type {
    Type::dialect(&TOKEN, Vec::new())
}

/// Memory descriptors.
pub static MEMDESC_ONLY: TypeConstraint =
    TypeConstraint { name: "a memory descriptor", check: |ty| ty.params_of(&MEMDESC).is_some() };
/// Memory descriptors that may be written.
pub static MUTABLE: TypeConstraint = TypeConstraint {
    name: "a mutable memory descriptor",
    check: |ty| memdesc(ty).is_some_and(|desc| desc.mutable),
};
/// Tokens.
pub static TOKEN_ONLY: TypeConstraint =
    TypeConstraint { name: "a token", check: |ty| ty.params_of(&TOKEN).is_some() };
