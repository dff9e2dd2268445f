//! Tensor maps that launches make: what the parameters of a kernel say of them, and what a launch's arguments make of
//! that.
//!
//! A parameter of type `!tt.tensordesc<…, #shared>` with `tt.map_of` is 128 bytes for the copy engine. A compile makes
//! a [`MapRecipe`] of it, which the facts of a launch carry.

use crate::tensor_layout::{Element, TensorLayout};
use emulator::{Swizzle, TensorMap};
use ir::{Block, FloatKind, Module, Op, Type};
use target::{
    AlignedCopies, ArgExpr, Combine, CopyPlan, Guards, MapElement, MapRecipe, PairFacts, ProgramLoop,
    Unaligned,
};
use ttgir::encoding::box_of;
use ttgir::{MAP_COPIED, MAP_WRITTEN, MapPart, MapParts, SharedEncoding, map_parts};
use ttir::ops::func::FuncOp;
use ttir::types::{DESCRIPTOR, TENSORDESC, elem, is_unsigned, shape};

/// What elements are to the driver, and the numbers that `tensormap.replace` has for them.
const ELEMENTS: &[(MapElement, Element, u8)] = &[
    (MapElement::Int(8), Element::U8, 0),
    (MapElement::Int(16), Element::U16, 1),
    (MapElement::Int(32), Element::I32, 3),
    (MapElement::Int(64), Element::I64, 5),
    (MapElement::Unsigned(32), Element::U32, 2),
    (MapElement::Unsigned(64), Element::U64, 4),
    (MapElement::Float(16), Element::F16, 6),
    (MapElement::Float(32), Element::F32, 7),
    (MapElement::Float(64), Element::F64, 9),
    (MapElement::Bf16, Element::Bf16, 10),
];

/// What the copy engine calls elements of a descriptor. It does not look at those that it only moves.
fn element_of(desc: Type) -> Option<MapElement> {
    let ty = elem(desc);
    let element = match (ty.as_float(), ty.as_int()) {
        (Some(FloatKind::BF16), _) => MapElement::Bf16,
        (Some(kind), _) if kind.bits() == 8 => MapElement::Int(8),
        (Some(kind), _) => MapElement::Float(kind.bits()),
        (_, Some(bits @ (32 | 64))) if is_unsigned(desc) => MapElement::Unsigned(bits),
        (_, Some(bits)) => MapElement::Int(bits),
        _ => return None,
    };
    ELEMENTS.iter().any(|row| row.0 == element).then_some(element)
}

fn row_of(element: MapElement) -> &'static (MapElement, Element, u8) {
    ELEMENTS.iter().find(|row| row.0 == element).expect("recipes are made of elements that have a row")
}

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
            let has = |wanted: &str| module.arg_attrs(entry, at).iter().any(|(key, _)| key.name() == wanted);
            let is = [has(MAP_WRITTEN.name), has(MAP_COPIED.name)];
            let recipe = map_parts(module, param).and_then(|parts| of_type(ty, &parts, is));
            recipes.push(recipe.ok_or_else(|| format!("a kernel cannot have a parameter of type {ty}"))?);
        }
    }
    Ok(recipes)
}

/// What a launch of a kernel must be.
///
/// # Errors
/// When the kernel says what nobody can read.
pub fn guards(module: &Module, kernel: Op) -> Result<Guards, String> {
    ttgir::guards(module, kernel).map_or(Ok(Guards::default()), str::parse)
}

/// What a launch of a kernel must be to gain by a loop over its programs.
///
/// # Errors
/// When the kernel says what nobody can read.
pub fn persistence(module: &Module, kernel: Op) -> Result<Guards, String> {
    ttgir::persistence(module, kernel).map_or(Ok(Guards::default()), str::parse)
}

/// Which programs of a launch a kernel loops over.
pub fn persistent(module: &Module, entry: Block) -> ProgramLoop {
    match ttgir::programs_params(module, entry).len() {
        0 => ProgramLoop::None,
        1 => ProgramLoop::AlongX,
        _ => ProgramLoop::All,
    }
}

/// Of which tensors two programs of a kernel read the same.
///
/// # Errors
/// When the kernel says what nobody can read.
pub fn pairs(module: &Module, kernel: Op) -> Result<Vec<PairFacts>, String> {
    ttgir::pairs(module, kernel).map(str::parse).collect()
}

/// What bulk copies could load of a kernel if launches copied it first.
///
/// # Errors
/// When the kernel says what nobody can read.
pub fn unaligned(module: &Module, kernel: Op) -> Result<Vec<Unaligned>, String> {
    let of = |load: ttgir::UnalignedLoad| Unaligned {
        base: load.parts.base,
        sizes: load.parts.sizes.iter().map(expr).collect(),
        strides: load.parts.strides.iter().map(expr).collect(),
        bytes: load.bytes,
        reads: load.reads,
        apart: load.apart,
    };
    Ok(ttgir::unaligned(module, kernel)?.into_iter().map(of).collect())
}

fn of_type(ty: Type, parts: &MapParts, [is_written, is_copied]: [bool; 2]) -> Option<MapRecipe> {
    let encoding = ty.params_of(&TENSORDESC)?.iter().find_map(|param| match param {
        ir::TypeParam::Attr(encoding) => SharedEncoding::from_attr(encoding),
        _ => None,
    })?;
    let SharedEncoding::Nvmma { swizzling_byte_width: swizzle, .. } = encoding else { return None };
    Some(MapRecipe {
        base: parts.base,
        sizes: parts.sizes.iter().map(expr).collect(),
        strides: parts.strides.iter().map(expr).collect(),
        element: element_of(ty)?,
        swizzle,
        sides: box_of(&encoding, shape(ty))?,
        is_written,
        is_copied,
    })
}

/// The number that a launch computes for a part of a descriptor.
fn expr(part: &MapPart) -> ArgExpr {
    match part {
        MapPart::Param { slot, bits } => ArgExpr::Arg { slot: *slot, bits: *bits },
        MapPart::Constant(value) => ArgExpr::Constant(*value),
        MapPart::Combined { by, bits, parts } => {
            let by = match by {
                ttgir::Combine::Add => Combine::Add,
                ttgir::Combine::Sub => Combine::Sub,
                ttgir::Combine::Mul => Combine::Mul,
            };
            ArgExpr::Combined { by, bits: *bits, parts: Box::new([expr(&parts[0]), expr(&parts[1])]) }
        }
    }
}

/// Copies of tensors that a launch has made, and the memory in which they are.
pub type Copied = (CopyPlan, AlignedCopies);

/// The copies of which a launch with these arguments makes maps, in the memory that it brings; none where no map is of
/// one.
///
/// # Errors
/// When the launch brings too little memory, or none.
pub fn copied(
    recipes: &[MapRecipe],
    args: &[u64],
    memory: Option<AlignedCopies>,
) -> Result<Option<Copied>, &'static str> {
    if !recipes.iter().any(|recipe| recipe.is_copied) {
        return Ok(None);
    }
    let plan = CopyPlan::of_maps(recipes, args).ok_or("there are no copies of such tensors")?;
    let memory = memory.filter(|memory| plan.bytes <= memory.bytes);
    Ok(Some((plan, memory.ok_or("the launch brings no memory for copies of tensors")?)))
}

/// The tensor that the arguments of a launch describe, or its copy, and its boxes.
pub fn layout(recipe: &MapRecipe, args: &[u64], copied: Option<&Copied>) -> Option<TensorLayout> {
    let base = args.get(recipe.base)?;
    // A negative size is no elements.
    let size = |part: &ArgExpr| part.value(args).map(|size| u64::try_from(size).unwrap_or(0));
    let sizes = recipe.sizes.iter().map(size).collect::<Option<Vec<u64>>>()?;
    let strides = recipe.strides.iter().map(|part| part.value(args).map(|stride| stride as u64));
    let mut strides = strides.chain([Some(1)]).collect::<Option<Vec<u64>>>()?;
    let mut base = *base;
    if recipe.is_copied {
        let (plan, memory) = copied?;
        let copy = plan.of_map(recipe, args)?;
        base = copy.address(*memory);
        let (_, rows) = strides.split_last_mut()?;
        rows.fill(copy.stride());
    }
    Some(TensorLayout {
        base,
        element: row_of(recipe.element).1,
        shape: sizes,
        strides,
        block: recipe.sides.clone(),
        swizzle: recipe.swizzle,
        nan: false,
    })
}

/// The map for arguments as the emulator has it.
///
/// # Errors
/// When an argument is missing, or the copy engine cannot do it.
pub fn emulated(recipe: &MapRecipe, args: &[u64], copied: Option<&Copied>) -> Result<TensorMap, String> {
    let layout = layout(recipe, args, copied).ok_or("a tensor map has no arguments")?;
    layout.check().map_err(|text| format!("a tensor descriptor cannot be made: {text}"))?;
    let bytes = layout.element.bytes();
    let strides = layout.strides.iter().rev().skip(1).map(|stride| stride.wrapping_mul(bytes));
    let swizzle = match layout.swizzle {
        32 => Swizzle::Bytes32,
        64 => Swizzle::Bytes64,
        128 => Swizzle::Bytes128,
        0 => Swizzle::None,
        bytes => unreachable!("checked: no swizzle over {bytes} bytes"),
    };
    Ok(TensorMap {
        address: layout.base,
        element: row_of(recipe.element).2,
        dims: layout.shape.iter().rev().map(|&size| size as u32).collect(),
        strides: strides.collect(),
        boxes: layout.block.iter().rev().copied().collect(),
        swizzle,
    })
}

#[cfg(test)]
mod tests {
    use super::{MapElement, MapRecipe, element_of, expr, layout};
    use ttgir::MapParts;

    #[test]
    fn arguments_make_a_layout() {
        let parts: MapParts = "%1[%2:i32_2_mul32,37][%4:i64]".parse().expect("parts");
        let recipe = MapRecipe {
            base: parts.base,
            sizes: parts.sizes.iter().map(expr).collect(),
            strides: parts.strides.iter().map(expr).collect(),
            element: MapElement::Float(32),
            swizzle: 128,
            sides: vec![64, 32],
            is_written: false,
            is_copied: false,
        };
        assert_eq!(recipe.to_string(), "%1[%2:i32_2_mul32,37][%4:i64] f32 128 64x32");
        let made =
            layout(&recipe, &[9, 0x4000, 0xdead_0000_0064, 5, 40, 1], None).expect("there are arguments");
        assert_eq!((made.base, made.shape, made.strides), (0x4000, vec![200, 37], vec![40, 1]));
        assert_eq!(layout(&recipe, &[9, 0x4000, 100], None), None);
    }

    #[test]
    fn elements_without_a_row_have_no_map() {
        assert_eq!(element_of(ir::Type::int(16)), Some(MapElement::Int(16)));
        assert_eq!(element_of(ir::Type::int(1)), None);
    }
}
