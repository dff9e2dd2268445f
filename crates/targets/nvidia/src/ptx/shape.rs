//! How values lie in registers.
//!
//! A scalar has one register. Vectors of 16-bit lanes, an even number of them, are packed two to a 32-bit register,
//! vectors of 8-bit lanes four (or two to a 16-bit register); other vectors have a register for each lane. The parts
//! of a structure follow each other.

use super::machine::Class;
use llir::{Scalar, Type};

/// How a value that is no structure lies in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// The class of each register.
    pub(crate) class: Class,
    /// How many registers there are.
    pub(crate) words: u32,
    /// Lanes in each.
    pub(crate) per_word: u32,
}

/// The class of a lane in a register of its own; `None` for widths that PTX does not have.
pub(crate) fn lane_class(ty: Type) -> Option<Class> {
    match ty.lane_bits() {
        _ if ty.kind() == Scalar::Void => None,
        1 => Some(Class::Pred),
        8 | 16 => Some(Class::B16),
        32 => Some(Class::B32),
        64 => Some(Class::B64),
        _ => None,
    }
}

/// How a type lies in registers; `None` for structures, void, and widths that PTX does not have.
pub(crate) fn shape(ty: Type) -> Option<Shape> {
    if ty.is_structure() {
        return None;
    }
    let class = lane_class(ty)?;
    let lanes = ty.lanes();
    let (class, per_word) = match ty.lane_bits() {
        _ if !ty.is_vector() => (class, 1),
        16 if lanes.is_multiple_of(2) => (Class::B32, 2),
        8 if lanes.is_multiple_of(4) => (Class::B32, 4),
        8 if lanes.is_multiple_of(2) => (Class::B16, 2),
        _ => (class, 1),
    };
    Some(Shape { class, words: lanes / per_word, per_word })
}

/// How many registers a type has, those of the parts of structures together; `None` for widths that PTX does not have.
pub(crate) fn word_count(ty: Type) -> Option<u32> {
    match ty.like_parts() {
        Some((_, 0)) => Some(0),
        Some((part, count)) => Some(count * shape(part)?.words),
        None => part_offset(ty, ty.part_count()),
    }
}

/// The class of a register of a type, parts of structures after each other.
pub(crate) fn word_class(ty: Type, word: u32) -> Option<Class> {
    if let Some((part, count)) = ty.like_parts() {
        let shape = shape(part)?;
        return (word < count * shape.words).then_some(shape.class);
    }
    let mut first = 0;
    for part in (0..ty.part_count()).map_while(|index| ty.part(index)) {
        let shape = shape(part)?;
        first += shape.words;
        if word < first {
            return Some(shape.class);
        }
    }
    None
}

/// The number of the first register of a part of a structure.
pub(crate) fn part_offset(ty: Type, part: u32) -> Option<u32> {
    if let Some((like, _)) = ty.like_parts() {
        return Some(part * shape(like)?.words);
    }
    (0..part).map(|index| Some(shape(ty.part(index)?)?.words)).sum()
}

#[cfg(test)]
mod tests {
    use super::{Class, part_offset, shape, word_class, word_count};
    use llir::Type;

    #[test]
    fn narrow_lanes_are_packed() {
        let of = |ty: Type| shape(ty).map(|shape| (shape.class, shape.words, shape.per_word));
        assert_eq!(of(Type::F16), Some((Class::B16, 1, 1)));
        assert_eq!(of(Type::F16.vector(8)), Some((Class::B32, 4, 2)));
        assert_eq!(of(Type::F16.vector(3)), Some((Class::B16, 3, 1)));
        assert_eq!(of(Type::I8.vector(4)), Some((Class::B32, 1, 4)));
        assert_eq!(of(Type::I8.vector(2)), Some((Class::B16, 1, 2)));
        assert_eq!(of(Type::I1.vector(2)), Some((Class::Pred, 2, 1)));
        assert_eq!(of(Type::pointer(3)), Some((Class::B32, 1, 1)));
        assert_eq!(of(Type::int(128)), None);
        let parts = Type::structure(&[Type::F16.vector(4), Type::I1, Type::I64]);
        let classes =
            |ty: Type| (0..word_count(ty)?).map(|word| word_class(ty, word)).collect::<Option<Vec<_>>>();
        assert_eq!(classes(parts), Some(vec![Class::B32, Class::B32, Class::Pred, Class::B64]));
        assert_eq!((part_offset(parts, 2), word_class(parts, 4)), (Some(3), None));
        let like = Type::F16.vector(4).times(16);
        assert_eq!(classes(like), Some(vec![Class::B32; 32]));
        assert_eq!((part_offset(like, 5), word_class(like, 32)), (Some(10), None));
        assert_eq!((word_count(Type::VOID), word_count(Type::int(128))), (Some(0), None));
    }
}
