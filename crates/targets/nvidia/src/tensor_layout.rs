//! Tensors in device memory as the bulk copy engine of newer devices sees them.

/// The most axes that a tensor map has.
pub const MAX_RANK: usize = 5;
/// Bytes from one element to the next along an axis are fewer.
const STRIDE_END: u64 = 1 << 40;
/// Elements along an axis, at most.
const MOST_ELEMENTS: u64 = 1 << 32;

/// What an element is, by the driver's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // The names say it.
pub enum Element {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    I32 = 3,
    U64 = 4,
    I64 = 5,
    F16 = 6,
    F32 = 7,
    F64 = 8,
    Bf16 = 9,
    Tf32 = 11,
}

impl Element {
    /// Bytes of one.
    pub fn bytes(self) -> u64 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::I32 | Element::F32 | Element::Tf32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
        }
    }
}

/// A tensor and the block that one copy moves. The first axis is the slowest one, as in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    /// The address of the first element; a multiple of 16.
    pub base: u64,
    /// What an element is.
    pub element: Element,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Elements from one to the next along each axis; the last is 1.
    pub strides: Vec<u64>,
    /// Elements of the block along each axis.
    pub block: Vec<u32>,
    /// Bytes over which rows of the block are swizzled in shared memory: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Whether elements beyond the tensor are NaN instead of zero.
    pub nan: bool,
}

impl TensorLayout {
    /// Bytes from the first element to the end of the last.
    pub(crate) fn span(&self) -> u64 {
        let steps = self.shape.iter().zip(&self.strides);
        let last = steps.fold(0u64, |sum, (&size, &stride)| {
            sum.saturating_add(size.saturating_sub(1).saturating_mul(stride))
        });
        last.saturating_add(1).saturating_mul(self.element.bytes())
    }

    /// Says what the copy engine cannot do, before the driver says so with one word.
    pub(crate) fn check(&self) -> Result<(), String> {
        let rank = self.shape.len();
        if !(1..=MAX_RANK).contains(&rank) || self.strides.len() != rank || self.block.len() != rank {
            return Err(format!(
                "a descriptor has 1 to {MAX_RANK} axes with a stride and a block size each, not {rank}"
            ));
        }
        if self.strides[rank - 1] != 1 {
            return Err(format!("the last stride must be 1, and is {}", self.strides[rank - 1]));
        }
        let bytes = self.element.bytes();
        if !self.base.is_multiple_of(16) {
            return Err(format!("the address {:#x} is not a multiple of 16", self.base));
        }
        for &stride in &self.strides[..rank - 1] {
            let Some(stride) = stride.checked_mul(bytes).filter(|&stride| stride < STRIDE_END) else {
                let stride = stride as i64;
                return Err(format!("a stride of {stride} elements is negative, or has 2^40 bytes or more"));
            };
            if !stride.is_multiple_of(16) {
                let stride = stride / bytes;
                return Err(format!("a stride of {stride} elements is not a multiple of 16 bytes"));
            }
        }
        if let Some(size) = self.shape.iter().find(|size| **size > MOST_ELEMENTS) {
            return Err(format!("there are at most 2^32 elements along an axis, not {size}"));
        }
        if let Some(block) = self.block.iter().find(|block| !(1..=256).contains(*block)) {
            return Err(format!("a block has 1 to 256 elements along an axis, not {block}"));
        }
        if ![0, 32, 64, 128].contains(&self.swizzle) {
            return Err(format!("blocks are swizzled over 0, 32, 64 or 128 bytes, not {}", self.swizzle));
        }
        let row = u64::from(self.block[rank - 1]) * bytes;
        if self.swizzle != 0 && row > u64::from(self.swizzle) {
            return Err(format!(
                "a row of the block has {row} bytes, more than the {} of its swizzle",
                self.swizzle
            ));
        }
        Ok(())
    }
}
