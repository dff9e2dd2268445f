//! What launches make a descriptor of: an address, sizes and strides, each a parameter, a number, or a sum or product
//! of such.
//!
//! Their text, which attributes and compiled kernels carry, has operators behind operands:
//! `%0[%1:i32_%2:i32_mul32,64][%3:i64]` is a tensor at the address that parameter 0 is, of so many rows as the product
//! of the parameters 1 and 2, of 64 columns, with rows parameter 3 apart.

use ir::{Attr, Block, Builder, DeclaredKey, Def, Module, OpRow, Type, Value};
use std::fmt;
use std::str::FromStr;
use ttir::ops::arith_cast::{EXTSI, TT_BITCAST};
use ttir::ops::arith_int::{ADDI, MULI, SUBI};
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::MakeDescriptorOp;
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::func::DIVISIBILITY;

/// Attribute of a tensor descriptor that is a parameter: who launches makes it of these.
pub static MAP_OF: DeclaredKey = DeclaredKey::new(
    "tt.map_of",
    "Made at the launch of these parameters and constants: an address, sizes, strides but the last.",
);

/// What addresses and strides of tensors that bulk copies move are multiples of, in bytes.
pub(super) const UNIT: u64 = 16;
/// The size of an axis along which nothing is known but that the program stays inside.
pub(super) const UNBOUNDED: MapPart = MapPart::Constant(i32::MAX as i64);
/// The deepest sums and products.
const DEEPEST: usize = 8;

/// How two numbers make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
}

/// Operations with their names in texts.
static COMBINES: &[(&OpRow, Combine, &str)] =
    &[(&ADDI, Combine::Add, "add"), (&SUBI, Combine::Sub, "sub"), (&MULI, Combine::Mul, "mul")];

/// A size or a stride of a descriptor that launches make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MapPart {
    /// The parameter of this number, an integer of so many bits.
    Param {
        /// Its number.
        slot: usize,
        /// Its bits.
        bits: u32,
    },
    /// A number that is known.
    Constant(i64),
    /// Made of two others, in so many bits.
    Combined {
        /// How.
        by: Combine,
        /// Bits of the result.
        bits: u32,
        /// The two.
        parts: Box<[MapPart; 2]>,
    },
}

/// What launches make a descriptor of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapParts {
    /// The number of the parameter that is its address.
    pub base: usize,
    /// Elements along each axis.
    pub sizes: Vec<MapPart>,
    /// Elements from one to the next along each axis but the last, where it is one.
    pub strides: Vec<MapPart>,
}

impl Combine {
    /// The operation that does it.
    pub fn row(self) -> &'static OpRow {
        COMBINES.iter().find(|(_, by, _)| *by == self).expect("each has a row").0
    }

    fn name(self) -> &'static str {
        COMBINES.iter().find(|(_, by, _)| *by == self).expect("each has a name").2
    }
}

impl MapPart {
    /// What a value is made of, if that are parameters of a kernel and constants.
    fn of(module: &Module, entry: Block, value: Value, depth: usize) -> Option<MapPart> {
        if let Some(number) = module.constant(value).and_then(Attr::as_int) {
            return Some(MapPart::Constant(number));
        }
        let bits = module.ty(value).as_int().filter(|bits| matches!(bits, 32 | 64))?;
        match module.def(value) {
            Def::Arg(block, slot) => (block == entry).then_some(MapPart::Param { slot: slot as usize, bits }),
            Def::Result(op, _) if module.is(op, &EXTSI) => {
                MapPart::of(module, entry, UnaryOp::new(module, op).src(), depth)
            }
            Def::Result(op, _) => {
                let by = COMBINES.iter().find(|(row, ..)| module.is(op, row)).filter(|_| depth > 0)?.1;
                let of = BinaryOp::new(module, op);
                let part = |value| MapPart::of(module, entry, value, depth - 1);
                Some(MapPart::Combined { by, bits, parts: Box::new([part(of.lhs())?, part(of.rhs())?]) })
            }
        }
    }

    /// Whether it is known to be a multiple of a power of two.
    pub(super) fn is_multiple_of(&self, module: &Module, entry: Block, unit: u64) -> bool {
        self.divisor(&|slot| divisor_of(module, entry, slot)).is_multiple_of(unit)
    }

    /// The parameters that it is made of.
    fn params(&self, found: &mut Vec<usize>) {
        match self {
            MapPart::Param { slot, .. } => found.push(*slot),
            MapPart::Constant(_) => {}
            MapPart::Combined { parts, .. } => parts.iter().for_each(|part| part.params(found)),
        }
    }

    /// A power of two that it is a multiple of, as far as is known; `of_param` says that of parameters.
    fn divisor(&self, of_param: &dyn Fn(usize) -> u64) -> u64 {
        let most = 1 << 16;
        match self {
            MapPart::Param { slot, .. } => of_param(*slot).min(most),
            MapPart::Constant(value) => 1 << value.trailing_zeros().min(16),
            MapPart::Combined { by, parts, .. } => {
                let [left, right] = [parts[0].divisor(of_param), parts[1].divisor(of_param)];
                if *by == Combine::Mul { (left * right).min(most) } else { left.min(right) }
            }
        }
    }
}

/// A power of two that a parameter is known to be a multiple of.
fn divisor_of(module: &Module, entry: Block, slot: usize) -> u64 {
    let mut attrs = module.arg_attrs(entry, slot).iter();
    let known = attrs.find(|(key, _)| key.name() == DIVISIBILITY.name).and_then(|(_, attr)| attr.as_int());
    known.and_then(|known| u64::try_from(known).ok()).map_or(1, |known| 1 << known.trailing_zeros().min(16))
}

impl MapParts {
    /// What a kernel makes a descriptor of, if that are parameters and constants.
    pub(super) fn of(module: &Module, entry: Block, made: MakeDescriptorOp<'_>) -> Option<MapParts> {
        let mut base = made.base();
        // Seen as the address of other elements it is the same address.
        while let Some(cast) = module.def_op(base).filter(|&op| module.is(op, &TT_BITCAST)) {
            base = UnaryOp::new(module, cast).src();
        }
        let Def::Arg(block, base) = module.def(base) else { return None };
        let part = |&value: &Value| MapPart::of(module, entry, value, DEEPEST);
        let (_, outer) = made.strides().split_last()?;
        Some(MapParts {
            base: (block == entry).then_some(base as usize)?,
            sizes: made.shape().iter().map(part).collect::<Option<_>>()?,
            strides: outer.iter().map(part).collect::<Option<_>>()?,
        })
    }

    /// The parameters that it is made of.
    pub fn params(&self) -> Vec<usize> {
        let mut found = vec![self.base];
        self.sizes.iter().chain(&self.strides).for_each(|part| part.params(&mut found));
        found
    }

    /// Whether these are the parameters that are passed for a descriptor: behind the address sizes, then strides.
    pub(super) fn is_passed(&self) -> bool {
        let first = self.base + 1;
        let params = |parts: &[MapPart], first: usize, bits: u32| {
            parts.iter().enumerate().all(|(at, part)| *part == MapPart::Param { slot: first + at, bits })
        };
        params(&self.sizes, first, 32) && params(&self.strides, first + self.sizes.len(), 64)
    }

    /// Whether address and strides are known to be what bulk copies need, of elements of so many bytes.
    pub(super) fn is_aligned(&self, module: &Module, entry: Block, bytes: u64) -> bool {
        let of_param = |slot: usize| divisor_of(module, entry, slot);
        let fits = |stride: &MapPart| (stride.divisor(&of_param) * bytes).is_multiple_of(UNIT);
        of_param(self.base).is_multiple_of(UNIT) && self.strides.iter().all(fits)
    }
}

/// What a descriptor that is a parameter of a kernel is made of.
pub fn map_parts(module: &Module, desc: Value) -> Option<MapParts> {
    let Def::Arg(entry, at) = module.def(desc) else { return None };
    let mut attrs = module.arg_attrs(entry, at as usize).iter();
    attrs.find(|(key, _)| key.name() == MAP_OF.name)?.1.as_str()?.parse().ok()
}

/// A part of a descriptor as a number of so many bits.
pub(crate) fn value_of(builder: &mut Builder<'_>, entry: Block, part: &MapPart, bits: u32) -> Value {
    let ty = Type::int(bits);
    let (value, own) = match part {
        MapPart::Constant(value) => {
            return builder.build_as(&CONSTANT, &[], &[Some(Attr::int(*value, ty))], ty);
        }
        MapPart::Param { slot, bits } => (builder.module.args(entry)[*slot], *bits),
        MapPart::Combined { by, bits, parts } => {
            let [left, right] = [0, 1].map(|at| value_of(builder, entry, &parts[at], *bits));
            (builder.build(by.row(), &[left, right], &[]), *bits)
        }
    };
    if own < bits { builder.build_as(&EXTSI, &[value], &[], ty) } else { value }
}

impl fmt::Display for MapPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapPart::Param { slot, bits } => write!(f, "%{slot}:i{bits}"),
            MapPart::Constant(value) => write!(f, "{value}"),
            MapPart::Combined { by, bits, parts } => {
                write!(f, "{}_{}_{}{bits}", parts[0], parts[1], by.name())
            }
        }
    }
}

impl FromStr for MapPart {
    type Err = String;

    fn from_str(text: &str) -> Result<MapPart, String> {
        let wrong = || format!("`{text}` is no part of a descriptor");
        let mut stack: Vec<MapPart> = Vec::new();
        for word in text.split('_') {
            let combined = COMBINES.iter().find_map(|(_, by, name)| Some((*by, word.strip_prefix(name)?)));
            let part = if let Some((by, bits)) = combined {
                let (right, left) = (stack.pop().ok_or_else(wrong)?, stack.pop().ok_or_else(wrong)?);
                let bits = bits.parse().map_err(|_| wrong())?;
                MapPart::Combined { by, bits, parts: Box::new([left, right]) }
            } else if let Some((slot, bits)) = word.strip_prefix('%').and_then(|word| word.split_once(":i")) {
                let (slot, bits) = (slot.parse().map_err(|_| wrong())?, bits.parse().map_err(|_| wrong())?);
                MapPart::Param { slot, bits }
            } else {
                MapPart::Constant(word.parse().map_err(|_| wrong())?)
            };
            stack.push(part);
        }
        let known = |part: &MapPart| match part {
            MapPart::Param { bits, .. } | MapPart::Combined { bits, .. } => matches!(bits, 32 | 64),
            MapPart::Constant(_) => true,
        };
        match stack.pop() {
            Some(part) if stack.is_empty() && known(&part) => Ok(part),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for MapParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[MapPart]| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        write!(f, "%{}[{}][{}]", self.base, list(&self.sizes), list(&self.strides))
    }
}

impl FromStr for MapParts {
    type Err = String;

    fn from_str(text: &str) -> Result<MapParts, String> {
        let wrong = || format!("`{text}` does not say what a descriptor is made of");
        let inner = text.strip_prefix('%').and_then(|text| text.strip_suffix(']')).ok_or_else(wrong)?;
        let (base, lists) = inner.split_once('[').ok_or_else(wrong)?;
        let (sizes, strides) = lists.split_once("][").ok_or_else(wrong)?;
        let list = |text: &str| -> Result<Vec<MapPart>, String> {
            text.split(',').filter(|part| !part.is_empty()).map(str::parse).collect()
        };
        let parts = MapParts {
            base: base.parse().map_err(|_| wrong())?,
            sizes: list(sizes)?,
            strides: list(strides)?,
        };
        if parts.sizes.len() == parts.strides.len() + 1 { Ok(parts) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::MapParts;

    #[test]
    fn texts_say_what_descriptors_are_made_of() {
        let text = "%0[%1:i32_%2:i32_mul32,64][%3:i64_-8_add64]";
        let parts: MapParts = text.parse().expect("a descriptor of two axes");
        assert_eq!(parts.to_string(), text);
        assert_eq!(parts.params(), [0, 1, 2, 3]);
        for wrong in ["%0[1]", "%0[1,2][]", "0[1][]", "%0[1_mul32][]", "%0[%1:i32_2][]", "%0[%1:i16][]"] {
            assert!(wrong.parse::<MapParts>().is_err(), "{wrong}");
        }
    }
}
