//! Tensor maps that launches make: what a kernel says of them, and what a launch's arguments make of that.
//!
//! A parameter of type `!tt.tensordesc<…, #shared>` with `tt.map_of` is 128 bytes for the copy engine. An artifact says among its metadata,
//! under [`METADATA`], how they are made: `%0[%1:i32,%2:i32][%3:i64] f16 128 128x64` is a map of the tensor of rank 2 whose address, sizes and
//! distance of rows are these arguments, of 16-bit floats, swizzled within 128 bytes, read in boxes of 128 rows of 64; `out` behind it
//! would say that the kernel writes by it ([`MapParts`] has the first word).

use crate::driver::tensor_map::{Element, TensorLayout};
use emulator::{Swizzle, TensorMap};
use ir::{FloatKind, Module, Op, Type};
use std::fmt;
use std::str::FromStr;
use ttgir::encoding::box_of;
use ttgir::{MAP_WRITTEN, MapPart, MapParts, SharedEncoding, map_parts};
use ttir::ops::func::FuncOp;
use ttir::types::{DESCRIPTOR, TENSORDESC, elem, shape};

/// The name of the metadata.
pub const METADATA: &str = "tensor_maps";

/// How a launch makes a map of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRecipe {
    /// The arguments that it is made of.
    pub parts: MapParts,
    /// What an element is.
    pub element: Element,
    /// Bytes of the swizzle.
    pub swizzle: u32,
    /// Elements of a box along each axis, the slowest first.
    pub sides: Vec<u32>,
    /// Whether the kernel writes by it.
    pub is_written: bool,
}

/// Elements by name, and the numbers that `tensormap.replace` has for them.
const ELEMENTS: &[(&str, Element, u8)] = &[
    ("u8", Element::U8, 0),
    ("u16", Element::U16, 1),
    ("u32", Element::U32, 2),
    ("i32", Element::I32, 3),
    ("u64", Element::U64, 4),
    ("i64", Element::I64, 5),
    ("f16", Element::F16, 6),
    ("f32", Element::F32, 7),
    ("f64", Element::F64, 9),
    ("bf16", Element::Bf16, 10),
];

/// What the copy engine calls elements of a type. It does not look at those that it only moves.
fn element_of(ty: Type) -> Option<Element> {
    Some(match (ty.as_float(), ty.as_int()) {
        (Some(FloatKind::F16), _) => Element::F16,
        (Some(FloatKind::BF16), _) => Element::Bf16,
        (Some(FloatKind::F32), _) => Element::F32,
        (Some(FloatKind::F64), _) => Element::F64,
        (Some(kind), _) if kind.bits() == 8 => Element::U8,
        (_, Some(8)) => Element::U8,
        (_, Some(16)) => Element::U16,
        (_, Some(32)) => Element::I32,
        (_, Some(64)) => Element::I64,
        _ => return None,
    })
}

impl MapRecipe {
    /// The maps that a kernel takes, in the order of its parameters.
    ///
    /// # Errors
    /// When a parameter is a descriptor that no launch can make.
    pub fn of_kernel(module: &Module, kernel: Op) -> Result<Vec<MapRecipe>, String> {
        let entry = FuncOp::new(module, kernel).entry();
        let mut recipes = Vec::new();
        for (at, &param) in module.args(entry).iter().enumerate() {
            let ty = module.ty(param);
            if (DESCRIPTOR.check)(ty) {
                let is_written =
                    module.arg_attrs(entry, at).iter().any(|(key, _)| key.name() == MAP_WRITTEN.name);
                let parts = map_parts(module, param);
                let recipe = parts.and_then(|parts| MapRecipe::of(ty, parts, is_written));
                recipes.push(recipe.ok_or_else(|| format!("a kernel cannot have a parameter of type {ty}"))?);
            }
        }
        Ok(recipes)
    }

    fn of(ty: Type, parts: MapParts, is_written: bool) -> Option<MapRecipe> {
        let encoding = ty.params_of(&TENSORDESC)?.iter().find_map(|param| match param {
            ir::TypeParam::Attr(encoding) => SharedEncoding::from_attr(encoding),
            _ => None,
        })?;
        let SharedEncoding::Nvmma { swizzling_byte_width: swizzle, .. } = encoding else { return None };
        let sides = box_of(&encoding, shape(ty))?;
        Some(MapRecipe { parts, element: element_of(elem(ty))?, swizzle, sides, is_written })
    }

    /// The tensor that the arguments of a launch describe, and its boxes.
    pub fn layout(&self, args: &[u64]) -> Option<TensorLayout> {
        let value = |part: &MapPart| part.value(&|slot| args.get(slot).copied());
        let base = args.get(self.parts.base)?;
        // A negative size is no elements.
        let size = |part: &MapPart| value(part).map(|size| u64::try_from(size).unwrap_or(0));
        let sizes = self.parts.sizes.iter().map(size).collect::<Option<Vec<u64>>>()?;
        let strides = self.parts.strides.iter().map(|part| value(part).map(|stride| stride as u64));
        let strides = strides.chain([Some(1)]).collect::<Option<Vec<u64>>>()?;
        Some(TensorLayout {
            base: *base,
            element: self.element,
            shape: sizes,
            strides,
            block: self.sides.clone(),
            swizzle: self.swizzle,
            nan: false,
        })
    }

    /// The number that `tensormap.replace` has for the elements.
    pub fn element_code(&self) -> u8 {
        ELEMENTS.iter().find(|row| row.1 == self.element).map_or(0, |row| row.2)
    }
}

impl MapRecipe {
    /// The map for arguments as the emulator has it.
    pub fn emulated(&self, args: &[u64]) -> Option<TensorMap> {
        let layout = self.layout(args)?;
        let bytes = layout.element.bytes();
        let strides = layout.strides.iter().rev().skip(1).map(|stride| stride.wrapping_mul(bytes));
        let swizzle = match layout.swizzle {
            32 => Swizzle::Bytes32,
            64 => Swizzle::Bytes64,
            128 => Swizzle::Bytes128,
            _ => Swizzle::None,
        };
        Some(TensorMap {
            address: layout.base,
            element: self.element_code(),
            dims: layout.shape.iter().rev().map(|&size| size as u32).collect(),
            strides: strides.collect(),
            boxes: layout.block.iter().rev().copied().collect(),
            swizzle,
        })
    }
}

impl fmt::Display for MapRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ELEMENTS.iter().find(|row| row.1 == self.element).map_or("u8", |row| row.0);
        write!(f, "{} {name} {}", self.parts, self.swizzle)?;
        for (index, side) in self.sides.iter().enumerate() {
            write!(f, "{}{side}", if index == 0 { " " } else { "x" })?;
        }
        if self.is_written { f.write_str(" out") } else { Ok(()) }
    }
}

impl FromStr for MapRecipe {
    type Err = String;

    fn from_str(text: &str) -> Result<MapRecipe, String> {
        let wrong = || format!("`{text}` describes no tensor map");
        let words: Vec<&str> = text.split_whitespace().collect();
        let (words, is_written) = match words.split_last() {
            Some((&"out", rest)) => (rest, true),
            _ => (&words[..], false),
        };
        let &[parts, element, swizzle, sides] = words else { return Err(wrong()) };
        let sides: Result<Vec<u32>, _> = sides.split('x').map(str::parse).collect();
        Ok(MapRecipe {
            parts: parts.parse()?,
            element: ELEMENTS.iter().find(|row| row.0 == element).ok_or_else(wrong)?.1,
            swizzle: swizzle.parse().map_err(|_| wrong())?,
            sides: sides.map_err(|_| wrong())?,
            is_written,
        })
    }
}

/// The maps that a text lists.
///
/// # Errors
/// When a part of it describes none.
pub fn parse_list(text: &str) -> Result<Vec<MapRecipe>, String> {
    text.split(';').filter(|part| !part.trim().is_empty()).map(str::parse).collect()
}

/// A list of maps as a text.
pub fn list(recipes: &[MapRecipe]) -> String {
    recipes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::{MapRecipe, list, parse_list};
    use crate::driver::tensor_map::Element;

    #[test]
    fn recipes_survive_their_text() {
        let recipe = |parts: &str, element, swizzle, sides: &[u32]| MapRecipe {
            parts: parts.parse().expect("parts"),
            element,
            swizzle,
            sides: sides.to_vec(),
            is_written: parts.starts_with("%7"),
        };
        let recipes = vec![
            recipe("%0[%1:i32,64][%3:i64]", Element::F16, 128, &[128, 64]),
            recipe("%7[%9:i64][]", Element::U8, 0, &[256]),
        ];
        assert_eq!(list(&recipes), "%0[%1:i32,64][%3:i64] f16 128 128x64; %7[%9:i64][] u8 0 256 out");
        assert_eq!(parse_list(&list(&recipes)), Ok(recipes));
        let wrong = ["%0[1][] f17 128 128", "%0[1][] f16", "%0[1] f16 0 8", "%0[1,2][] f16 0 8", "0 f16 0 8"];
        assert!(wrong.iter().all(|text| parse_list(text).is_err()));
        assert_eq!(parse_list(""), Ok(vec![]));
    }

    #[test]
    fn arguments_make_a_layout() {
        let recipe = MapRecipe {
            parts: "%1[%2:i32,37][%4:i64]".parse().expect("parts"),
            element: Element::F32,
            swizzle: 128,
            sides: vec![64, 32],
            is_written: false,
        };
        let layout =
            recipe.layout(&[9, 0x4000, 0xdead_0000_0064, 5, 40, 1]).expect("there are enough arguments");
        assert_eq!((layout.base, layout.shape, layout.strides), (0x4000, vec![100, 37], vec![40, 1]));
        assert_eq!(recipe.layout(&[9, 0x4000, 100]), None);
    }
}
