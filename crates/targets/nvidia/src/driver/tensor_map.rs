//! Tensor maps: what the bulk copy engine of newer devices must know about a tensor in global memory, as the driver
//! encodes it.

use super::Cuda;
use super::api::Status;
use crate::tensor_layout::TensorLayout;
use gpu::driver::{Vendor, check};
use target::TargetError;

/// The 128 opaque bytes that a kernel takes as a parameter.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap(pub [u64; 16]);

/// Drivers up to this version of CUDA set a bit for small tensors that makes copies of them go wrong.
const LAST_WRONG: i32 = 13_010;
/// Tensors of fewer bytes are small.
const SMALL: u64 = 128 << 10;

impl Cuda {
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
            0 => 0,
            bytes => unreachable!("checked: no swizzle over {bytes} bytes"),
        };
        // Threads that have launched nothing yet, as those of gradients, have no context, and the driver asks for one.
        let _entered = self.enter().map_err(|refused| self.driver.report(refused))?;
        /// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`.
        const PROMOTION: i32 = 2;
        // SAFETY: the lists are as long as the rank says, the strides one shorter, and the map is aligned to 64 bytes.
        let status: Status = unsafe {
            (self.driver.api.tensor_map_encode_tiled)(
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
        check(status, "encode a tensor map").map_err(|refused| self.driver.report(refused))?;
        if self.driver.version() <= LAST_WRONG && layout.span() < SMALL {
            map.0[1] &= !(1 << 21);
        }
        Ok(map)
    }
}
