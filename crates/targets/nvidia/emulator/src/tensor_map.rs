//! Tensor maps: what bulk tensor copies need to know of a tensor in global memory.
//!
//! Hardware keeps them in 128 bytes of a form that only the driver knows; here those bytes have a form of our own,
//! which [`TensorMap::encode`] makes and `tensormap.replace` edits.

use emulation::Operation;

/// How rows of a box are mixed in shared memory, to keep banks apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// The mode that `tensormap.replace` names by a number.
    pub(crate) fn from_code(code: u8) -> Option<Swizzle> {
        [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128].get(usize::from(code)).copied()
    }

    /// How many bits of the address above bit 7 are mixed into those above bit 4.
    fn bits(self) -> u32 {
        self as u32
    }

    /// Where a byte of a box lies: its address in shared memory, mixed.
    pub(crate) fn apply(self, address: u64) -> u64 {
        let mask = (1 << self.bits()) - 1;
        address ^ (address >> 7 & mask) << 4
    }
}

/// Bytes of the elements that `tensormap.replace` names by a number.
const ELEMENT_BYTES: [usize; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4];

/// Types of elements that a reduction knows, by the same number.
const ELEMENT_TYPES: [&str; 13] =
    ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32"];

/// A tensor in global memory and the box that a copy moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// The first element's address.
    pub address: u64,
    /// The number by which `tensormap.replace` names the type of the elements (6 for f16, 7 for f32, 10 for bf16).
    pub element: u8,
    /// Elements along each dimension, the innermost first; 1 to 5 of them.
    pub dims: Vec<u32>,
    /// Bytes between neighbours along each dimension but the innermost.
    pub strides: Vec<u64>,
    /// Elements of a box along each dimension.
    pub boxes: Vec<u32>,
    /// How a box is mixed.
    pub swizzle: Swizzle,
}

/// A field of the encoded form: where it begins and the bytes of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    /// Whether it has one entry a dimension.
    pub(crate) indexed: bool,
    /// Whether its value is part of the instruction.
    pub(crate) constant: bool,
}

const fn field(offset: usize, bytes: usize, indexed: bool) -> Field {
    Field { offset, bytes, indexed, constant: false }
}

const fn constant(offset: usize) -> Field {
    Field { constant: true, ..field(offset, 1, false) }
}

/// The fields, by the names that `tensormap.replace` gives them.
pub(crate) const FIELDS: &[(&str, Field)] = &[
    ("global_address", field(0, 8, false)),
    ("rank", field(8, 1, false)),
    ("elemtype", constant(9)),
    ("swizzle_mode", constant(10)),
    ("interleave_layout", constant(11)),
    ("fill_mode", constant(12)),
    ("swizzle_atomicity", constant(13)),
    ("global_dim", field(16, 4, true)),
    ("box_dim", field(36, 4, true)),
    ("element_stride", field(56, 4, true)),
    ("global_stride", field(80, 8, true)),
];

fn place(name: &str) -> Field {
    FIELDS.iter().find(|(own, _)| *own == name).expect("every name asked for is a row of the table").1
}

/// Bytes of the encoded form.
pub(crate) const BYTES: usize = 128;

impl TensorMap {
    /// The 128 bytes that a kernel gets as its parameter or finds in memory.
    pub fn encode(&self) -> [u8; 128] {
        let mut out = [0; BYTES];
        let mut put = |name: &str, index: usize, value: u64| {
            let Field { offset, bytes, .. } = place(name);
            let at = offset + index * bytes;
            out[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        };
        put("global_address", 0, self.address);
        put("rank", 0, self.dims.len().saturating_sub(1) as u64);
        put("elemtype", 0, u64::from(self.element));
        put("swizzle_mode", 0, self.swizzle as u64);
        for (index, dim) in self.dims.iter().take(5).enumerate() {
            put("global_dim", index, u64::from(*dim));
            put("element_stride", index, 1);
        }
        for (index, dim) in self.boxes.iter().take(5).enumerate() {
            put("box_dim", index, u64::from(*dim));
        }
        for (index, stride) in self.strides.iter().take(4).enumerate() {
            put("global_stride", index, *stride);
        }
        out
    }

    /// What encoded bytes say, or why a copy cannot use them.
    pub(crate) fn decode(bytes: &[u8; BYTES]) -> Result<TensorMap, String> {
        let get = |name: &str, index: usize| {
            let Field { offset, bytes: size, .. } = place(name);
            let at = offset + index * size;
            let mut cell = [0; 8];
            cell[..size].copy_from_slice(&bytes[at..at + size]);
            u64::from_le_bytes(cell)
        };
        let rank = get("rank", 0) as usize + 1;
        if rank > 5 {
            return Err(format!("a tensor map of rank {rank}"));
        }
        let each = |name: &str, count: usize| (0..count).map(|index| get(name, index)).collect::<Vec<u64>>();
        let map = TensorMap {
            address: get("global_address", 0),
            element: get("elemtype", 0) as u8,
            dims: each("global_dim", rank).into_iter().map(|dim| dim as u32).collect(),
            strides: each("global_stride", rank - 1),
            boxes: each("box_dim", rank).into_iter().map(|dim| dim as u32).collect(),
            swizzle: Swizzle::from_code(get("swizzle_mode", 0) as u8).ok_or("an unknown swizzle mode")?,
        };
        if get("interleave_layout", 0) != 0 || get("swizzle_atomicity", 0) != 0 {
            return Err(
                "a tensor map with an interleaved layout or another atomicity of its swizzle".to_owned()
            );
        }
        if each("element_stride", rank).iter().any(|stride| *stride != 1) {
            return Err("a tensor map whose element strides are not 1".to_owned());
        }
        map.check()?;
        Ok(map)
    }

    fn check(&self) -> Result<(), String> {
        let Some(size) = ELEMENT_BYTES.get(usize::from(self.element)) else {
            return Err(format!("a tensor map of element type {}", self.element));
        };
        if !self.address.is_multiple_of(16) || self.strides.iter().any(|stride| !stride.is_multiple_of(16)) {
            return Err("the address and the strides of a tensor map must be multiples of 16".to_owned());
        }
        if self.boxes.iter().any(|dim| *dim == 0 || *dim > 256) {
            return Err(format!("a box of {:?}: 1 to 256 are possible along each dimension", self.boxes));
        }
        let row = self.boxes[0] as usize * size;
        if !row.is_multiple_of(16) {
            return Err(format!("a row of a box has {row} bytes, which is not a multiple of 16"));
        }
        let most = 16 << self.swizzle.bits();
        if self.swizzle != Swizzle::None && row > most {
            return Err(format!("a row of a box has {row} bytes, the swizzle allows {most}"));
        }
        Ok(())
    }

    pub(crate) fn element_bytes(&self) -> usize {
        ELEMENT_BYTES[usize::from(self.element)]
    }

    /// The type of an element in PTX.
    pub(crate) fn element_type(&self) -> &'static str {
        ELEMENT_TYPES[usize::from(self.element)]
    }

    /// Bytes of a box.
    pub(crate) fn box_bytes(&self) -> usize {
        self.boxes.iter().map(|dim| *dim as usize).product::<usize>() * self.element_bytes()
    }

    /// Why hardware ends a copy of the box at a corner with an illegal instruction (H100, maps of the driver and of
    /// kernels): rows begin at no multiple of 16 bytes, or a store begins in front of the tensor.
    pub(crate) fn refused(&self, corner: &[i32], stores: bool) -> Option<String> {
        let unit = (16 / self.element_bytes()).max(1);
        if !(corner[0] as usize).is_multiple_of(unit) {
            return Some(format!(
                "a box begins at {corner:?}: the first must be a multiple of {unit}, 16 bytes"
            ));
        }
        (stores && corner.iter().any(|at| *at < 0))
            .then(|| format!("a store begins at {corner:?}, in front of the tensor"))
    }

    /// Why hardware ends a copy that combines a box with the tensor with an illegal instruction: of `s64` it knows the
    /// smaller and the larger alone (H200). What was not tried there is refused as well.
    pub(crate) fn refused_reduction(&self, operation: Operation) -> Option<String> {
        let known = match self.element_type() {
            "u32" | "s32" | "u64" => true,
            "s64" => matches!(operation, Operation::Min | Operation::Max),
            "f16" | "bf16" => matches!(operation, Operation::Add | Operation::Min | Operation::Max),
            "f32" => operation == Operation::Add,
            _ => false,
        };
        (!known)
            .then(|| format!("a bulk reduction {operation:?} of elements of type {}", self.element_type()))
    }

    /// Where each run of up to 16 bytes of a box lies: its offset in the box, its bytes, and its address, if the
    /// tensor has it. Stores write 16 bytes wherever the first of them is in the tensor (H200): what lies behind the
    /// end of a row is overwritten up to the next multiple of 16 bytes.
    pub(crate) fn runs(&self, corner: &[i32], stores: bool, mut each: impl FnMut(usize, usize, Option<u64>)) {
        let size = self.element_bytes();
        let row = self.boxes[0] as usize;
        let rows = self.boxes[1..].iter().map(|dim| *dim as usize).product::<usize>();
        let per = (16 / size).min(row);
        for index in 0..rows {
            let mut rest = index;
            let mut base = Some(self.address as i64);
            let outer = corner.iter().zip(&self.boxes).zip(&self.dims).skip(1);
            for (((corner, size), dim), stride) in outer.zip(&self.strides) {
                let at = i64::from(*corner) + (rest % *size as usize) as i64;
                rest /= *size as usize;
                base = base.filter(|_| (0..i64::from(*dim)).contains(&at));
                base = base.map(|base| base.wrapping_add(at.wrapping_mul(*stride as i64)));
            }
            for start in (0..row).step_by(per) {
                let first = i64::from(corner[0]) + start as i64;
                let last = first + per as i64 - 1;
                let inside = |at: i64| (0..i64::from(self.dims[0])).contains(&at);
                let address = |at: i64| base.map(|base| base.wrapping_add(at * size as i64) as u64);
                let offset = (index * row + start) * size;
                if stores || inside(first) == inside(last) {
                    each(offset, per * size, address(first).filter(|_| inside(first)));
                    continue;
                }
                for element in 0..per {
                    let at = first + element as i64;
                    each(offset + element * size, size, address(at).filter(|_| inside(at)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, Swizzle, TensorMap};

    #[test]
    fn maps_survive_their_bytes() {
        let map = TensorMap {
            address: 0x1000,
            element: 6,
            dims: vec![100, 30, 7],
            strides: vec![208, 6400],
            boxes: vec![64, 8, 2],
            swizzle: Swizzle::Bytes128,
        };
        assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
    }

    #[test]
    fn a_box_ends_where_the_tensor_ends() {
        let map = TensorMap {
            address: 0,
            element: 7,
            dims: vec![6, 2],
            strides: vec![32],
            boxes: vec![8, 4],
            swizzle: Swizzle::None,
        };
        let count = |corner: &[i32], stores: bool| {
            let (mut total, mut inside) = (0, 0);
            map.runs(corner, stores, |_, bytes, address| {
                total += bytes;
                inside += if address.is_some() { bytes } else { 0 };
            });
            (total, inside)
        };
        assert_eq!(count(&[-4, -1], false), (8 * 4 * 4, 4 * 2 * 4));
        assert_eq!(count(&[4, 0], false), (8 * 4 * 4, 2 * 2 * 4));
        assert_eq!(count(&[4, 0], true), (8 * 4 * 4, 4 * 2 * 4), "stores write 16 bytes or none");
        for (corner, stores, is_refused) in [
            ([-4, -1], false, false),
            ([-4, 0], true, true),
            ([0, -1], true, true),
            ([3, 0], false, true),
            ([-3, 0], false, true),
            ([8, 9], true, false),
        ] {
            assert_eq!(map.refused(&corner, stores).is_some(), is_refused, "{corner:?}");
        }
    }

    #[test]
    fn reductions_know_few_types() {
        let map = |element: u8| TensorMap {
            address: 0,
            element,
            dims: vec![32],
            strides: vec![],
            boxes: vec![32],
            swizzle: Swizzle::None,
        };
        for (element, operation, is_refused) in [
            (5, Operation::Or, true),
            (5, Operation::Add, true),
            (5, Operation::Max, false),
            (4, Operation::Or, false),
            (4, Operation::Add, false),
            (3, Operation::Xor, false),
            (7, Operation::Add, false),
            (7, Operation::Min, true),
            (6, Operation::Min, false),
            (9, Operation::Add, true),
        ] {
            let refused = map(element).refused_reduction(operation);
            assert_eq!(refused.is_some(), is_refused, "{operation:?} of {}", map(element).element_type());
        }
    }

    #[test]
    fn swizzles_permute_16_bytes_within_their_span() {
        assert_eq!(Swizzle::Bytes128.apply(0x0), 0x0);
        assert_eq!(Swizzle::Bytes128.apply(0x80), 0x90);
        assert_eq!(Swizzle::Bytes128.apply(0x3f0), 0x380);
        assert_eq!(Swizzle::Bytes64.apply(0x380), 0x3b0);
        assert_eq!(Swizzle::Bytes32.apply(0x390), 0x380);
    }
}
