//! Tensor maps: what the bulk copy engine of newer devices must know about a tensor in global memory.

use super::Driver;
use super::api::{DevicePointer, Status};
use target::TargetError;

/// The most axes that a tensor map has.
pub const MAX_RANK: usize = 5;

/// The 128 opaque bytes that a kernel takes as a parameter.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap(pub [u64; 16]);

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
    pub base: DevicePointer,
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

/// Drivers up to this version of CUDA set a bit for small tensors that makes copies of them go wrong.
const LAST_WRONG: i32 = 13_010;
/// Tensors of fewer bytes are small.
const SMALL: u64 = 128 << 10;

impl TensorLayout {
    /// Bytes from the first element to the end of the last.
    fn span(&self) -> u64 {
        let steps =
            self.shape.iter().zip(&self.strides).map(|(&size, &stride)| size.saturating_sub(1) * stride);
        (steps.sum::<u64>() + 1) * self.element.bytes()
    }

    /// Says what the copy engine cannot do, before the driver says so with one word.
    fn check(&self) -> Result<(), String> {
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
        if let Some(stride) =
            self.strides[..rank - 1].iter().find(|stride| !(**stride * bytes).is_multiple_of(16))
        {
            return Err(format!("a stride of {stride} elements is not a multiple of 16 bytes"));
        }
        if let Some(block) = self.block.iter().find(|block| !(1..=256).contains(*block)) {
            return Err(format!("a block has 1 to 256 elements along an axis, not {block}"));
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

impl Driver {
    /// Encodes a tensor map.
    ///
    /// # Errors
    /// Says what of the layout the copy engine cannot do.
    pub fn encode(&self, layout: &TensorLayout) -> Result<TensorMap, TargetError> {
        layout
            .check()
            .map_err(|text| TargetError::Launch(format!("a tensor descriptor cannot be made: {text}")))?;
        let mut map = TensorMap([0; 16]);
        // The driver counts axes from the fastest.
        let shape: Vec<u64> = layout.shape.iter().rev().copied().collect();
        let strides: Vec<u64> =
            layout.strides.iter().rev().skip(1).map(|stride| stride * layout.element.bytes()).collect();
        let block: Vec<u32> = layout.block.iter().rev().copied().collect();
        let steps = vec![1u32; shape.len()];
        let swizzle = match layout.swizzle {
            32 => 1,
            64 => 2,
            128 => 3,
            _ => 0,
        };
        /// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`.
        const PROMOTION: i32 = 2;
        // SAFETY: the lists are as long as the rank says, the strides one shorter, and the map is aligned to 64 bytes.
        let status: Status = unsafe {
            (self.api.tensor_map_encode_tiled)(
                (&raw mut map).cast(),
                layout.element as i32,
                shape.len() as u32,
                layout.base,
                shape.as_ptr(),
                strides.as_ptr(),
                block.as_ptr(),
                steps.as_ptr(),
                0,
                swizzle,
                PROMOTION,
                i32::from(layout.nan),
            )
        };
        super::error::check(status, "encode a tensor map").map_err(|refused| self.report(refused))?;
        if self.version <= LAST_WRONG && layout.span() < SMALL {
            map.0[1] &= !(1 << 21);
        }
        Ok(map)
    }
}
