//! Tensor descriptors as arguments: their rules, the words of the key and the slots of a launch.
//!
//! A kernel is compiled for element type, block shape, padding and rounding, and for whether the last size is a
//! multiple of 16 bytes, on which wide accesses with bounds depend; that of a tensor without gaps is. Address, sizes
//! and strides are passed: `address, sizes…, strides…`, one slot each.

use super::{LaunchKey, ParamRules};
use crate::error::RuntimeError;
use frontend::DType;
use smallvec::SmallVec;

/// One number for each dimension.
pub type Dims = SmallVec<[i64; 5]>;

/// What a kernel is compiled for, of a tensor.
pub type TensorSpec = frontend::DescriptorSpec;

/// How a tensor descriptor is written in signatures.
pub fn tensor_name(spec: &TensorSpec) -> String {
    frontend::signature::descriptor_text(spec)
}

/// Bytes to which addresses and strides are aligned.
const ALIGNMENT: u64 = 16;
/// Dimensions of a tensor.
const MOST_DIMS: usize = 5;
/// Elements of a block.
const MOST_ELEMENTS: i64 = 1 << 20;

/// A tensor in memory that a kernel reads and writes in blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorArgument {
    /// What it holds.
    pub dtype: DType,
    /// Where.
    pub address: u64,
    /// Its sizes.
    pub shape: Dims,
    /// Elements between neighbours.
    pub strides: Dims,
    /// The shape of blocks.
    pub block: Dims,
    /// Whether it reads NaN outside.
    pub pads_nan: bool,
    /// Whether what is read is rounded to ten bits of mantissa.
    pub rounds_to_tf32: bool,
}

impl TensorArgument {
    /// Whether kernels may rely on what they rely on.
    ///
    /// # Errors
    /// Which rule is broken.
    #[inline]
    pub fn check(&self) -> Result<(), String> {
        let rank = self.shape.len();
        if self.strides.len() != rank || self.block.len() != rank {
            return Err(format!(
                "rank mismatch: shape {:?}, strides {:?}, block_shape {:?}",
                &*self.shape, &*self.strides, &*self.block
            ));
        }
        let (Some(last), true) = (self.strides.last(), rank <= MOST_DIMS) else {
            return Err(format!("rank must be from 1 to {MOST_DIMS}, but is {rank}"));
        };
        if !self.address.is_multiple_of(ALIGNMENT) {
            return Err(format!("base must be 16-byte aligned, but lies at {:#x}", self.address));
        }
        if *last != 1 {
            return Err(format!("Last dimension must be contiguous, but its stride is {last}"));
        }
        if let Some(stride) = self.strides[..rank - 1].iter().find(|&&stride| !self.is_aligned(stride)) {
            let bytes = self.bytes();
            return Err(format!(
                "strides must be 16-byte aligned, but one is {stride} elements of {bytes} bytes: pad the rows of the tensor"
            ));
        }
        if let Some(size) = self.shape.iter().find(|&&size| size <= 0 || size > i64::from(i32::MAX)) {
            return Err(format!("shape must be positive and fit 32 bits, but holds {size}"));
        }
        if self.pads_nan && !self.dtype.is_floating() {
            return Err("Padding option `nan` is only supported for floating point tensors".to_owned());
        }
        if self.rounds_to_tf32 && self.dtype != DType::Fp32 {
            return Err("round_f32_to_tf32 is only supported for float32 tensors".to_owned());
        }
        Ok(())
    }

    /// Whether there are such blocks.
    ///
    /// # Errors
    /// What is wrong with their shape.
    #[inline]
    pub fn check_block(&self) -> Result<(), String> {
        let mut elements = 1i64;
        for (at, &dim) in self.block.iter().enumerate() {
            if dim <= 0 || !dim.cast_unsigned().is_power_of_two() {
                return Err(format!("Shape element {at} must be a power of 2, but is {dim}"));
            }
            elements = elements.saturating_mul(dim);
        }
        if elements > MOST_ELEMENTS {
            return Err(format!("numel ({elements}) exceeds triton maximum tensor numel ({MOST_ELEMENTS})"));
        }
        Ok(())
    }

    /// Whether so many elements are a multiple of 16 bytes.
    #[inline]
    fn is_aligned(&self, elements: i64) -> bool {
        elements.wrapping_mul(self.bytes()).cast_unsigned().is_multiple_of(ALIGNMENT)
    }

    #[inline]
    fn bytes(&self) -> i64 {
        i64::from(self.dtype.facts().bits.div_ceil(8))
    }

    /// What a launch passes.
    #[inline]
    pub fn slots(&self) -> impl Iterator<Item = u64> {
        let extents = self.shape.iter().chain(&self.strides).map(|value| value.cast_unsigned());
        std::iter::once(self.address).chain(extents)
    }

    /// Whether a kernel compiled for `spec` can take it.
    ///
    /// # Errors
    /// What it was compiled for.
    pub fn fits(&self, spec: &TensorSpec) -> Result<(), RuntimeError> {
        self.valid()?;
        let divisible = self.divides();
        let own = self.spec(divisible);
        if own == (TensorSpec { divisible_by_16: divisible, ..spec.clone() })
            && (divisible || !spec.divisible_by_16)
        {
            return Ok(());
        }
        let hint = |divisible| if divisible { ", its rows a multiple of 16 bytes" } else { "" };
        Err(RuntimeError::Type(format!(
            "is a {}{}, and the kernel was compiled for {}{}",
            tensor_name(&own),
            hint(divisible),
            tensor_name(spec),
            hint(spec.divisible_by_16)
        )))
    }

    /// A tensor for a kernel that is compiled already. `element` is the short name of what the memory holds.
    ///
    /// # Errors
    /// When it does not keep the rules, or the kernel was compiled for another one.
    pub fn for_spec(
        spec: &TensorSpec,
        element: &str,
        address: u64,
        shape: &[i64],
        strides: &[i64],
    ) -> Result<TensorArgument, RuntimeError> {
        if element != spec.element.facts().short {
            let wanted = tensor_name(spec);
            return Err(RuntimeError::Type(format!(
                "holds {element}, and the kernel was compiled for {wanted}"
            )));
        }
        let tensor = TensorArgument {
            dtype: spec.element,
            address,
            shape: shape.into(),
            strides: strides.into(),
            block: spec.block.iter().map(|&dim| i64::from(dim)).collect(),
            pads_nan: spec.pads_nan,
            rounds_to_tf32: spec.rounds_to_tf32,
        };
        tensor.fits(spec)?;
        Ok(tensor)
    }

    /// How many bytes behind its address it has.
    pub fn span(&self) -> u64 {
        let steps = self.shape.iter().zip(&self.strides);
        let last = steps.fold(0i64, |sum, (size, stride)| {
            sum.saturating_add((size - 1).saturating_mul((*stride).max(0)))
        });
        last.saturating_add(1).saturating_mul(self.bytes()).cast_unsigned()
    }

    fn spec(&self, divisible_by_16: bool) -> TensorSpec {
        TensorSpec {
            element: self.dtype,
            block: self.block.iter().map(|&dim| u32::try_from(dim).expect("the block was checked")).collect(),
            pads_nan: self.pads_nan,
            rounds_to_tf32: self.rounds_to_tf32,
            divisible_by_16,
        }
    }

    /// What launches say of it, behind the name of the argument.
    fn valid(&self) -> Result<(), RuntimeError> {
        self.check().and_then(|()| self.check_block()).map_err(|message| {
            RuntimeError::Value(format!("is a tensor descriptor that does not keep the rules: {message}"))
        })
    }

    fn divides(&self) -> bool {
        self.shape.last().is_some_and(|&size| self.is_aligned(size))
    }
}

impl ParamRules {
    /// Writes the words of a tensor descriptor into the key.
    ///
    /// # Errors
    /// When the descriptor does not keep the rules, or the annotation fixes another type; the text leaves out the name
    /// of the parameter.
    #[inline]
    pub fn describe(&self, tensor: &TensorArgument, key: &mut LaunchKey) -> Result<(), RuntimeError> {
        tensor.valid()?;
        if let Some(fixed) = self.fixed {
            let name = frontend::signature::type_text(fixed);
            return Err(RuntimeError::Type(format!(
                "is annotated as {name} and cannot take a tensor descriptor"
            )));
        }
        key.descriptor(tensor, self.specialize && self.align && tensor.divides());
        Ok(())
    }
}
