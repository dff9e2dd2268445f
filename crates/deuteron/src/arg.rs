//! Arguments of a launch.

use crate::Buffer;
use runtime::launch::Slots;
use runtime::specialize::{self, Argument, DType, LaunchKey, ParamRules, TensorArgument, TensorSpec};
use std::marker::PhantomData;
use target::Extent;

/// A type that kernels know, by its name in signatures.
pub trait Element: Copy + sealed::Sealed {
    /// `fp32`, `i8`, ….
    const NAME: &'static str;
    #[doc(hidden)]
    const DTYPE: DType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty: $name:literal $dtype:ident),*) => { $(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const NAME: &'static str = $name;
            const DTYPE: DType = DType::$dtype;
        }
    )* };
}

// Example: `elements! { f32: "fp32" Fp32 }` lets a `&[f32]` be passed where a signature says `*fp32`.
elements! {
    bool: "u1" Int1, i8: "i8" Int8, i16: "i16" Int16, i32: "i32" Int32, i64: "i64" Int64, u8: "u8" UInt8,
    u16: "u16" UInt16, u32: "u32" UInt32, u64: "u64" UInt64, f32: "fp32" Fp32, f64: "fp64" Fp64,
    half::f16: "fp16" Fp16, half::bf16: "bf16" Bf16
}

/// An argument.
#[derive(Debug)]
pub enum Arg<'a> {
    /// An integer; a bool where a kernel was compiled for one.
    Int(i64),
    /// A bool.
    Bool(bool),
    /// A float.
    Float(f64),
    /// Memory; see [`Arg::read`] and [`Arg::write`].
    Memory(Memory<'a>),
    /// A tensor in memory, for a parameter `tensordesc<…>`; see [`Arg::tensor`].
    Tensor {
        /// Its memory.
        memory: Memory<'a>,
        /// Its sizes.
        shape: Vec<i64>,
        /// Elements between neighbours.
        strides: Vec<i64>,
    },
}

/// The memory of a slice or of a buffer.
#[derive(Debug)]
pub struct Memory<'a> {
    address: u64,
    element: &'static str,
    dtype: DType,
    /// None where nobody knows.
    bytes: Option<usize>,
    /// Whether it is the host's.
    is_slice: bool,
    slice: PhantomData<&'a mut [u8]>,
}

impl<'a> Arg<'a> {
    /// A slice that the kernel only reads.
    pub fn read<T: Element>(slice: &'a [T]) -> Arg<'a> {
        Arg::memory::<T>(slice.as_ptr() as u64, Some(slice.len()), true)
    }

    /// A slice that the kernel may write.
    pub fn write<T: Element>(slice: &'a mut [T]) -> Arg<'a> {
        Arg::memory::<T>(slice.as_mut_ptr() as u64, Some(slice.len()), true)
    }

    /// A buffer on the target's device.
    pub fn buffer<T: Element>(buffer: &'a Buffer<T>) -> Arg<'a> {
        Arg::memory::<T>(buffer.address(), Some(buffer.len()), false)
    }

    /// Elements at an address of the target's device, allocated by somebody else.
    pub fn pointer<T: Element>(address: u64) -> Arg<'a> {
        Arg::memory::<T>(address, None, false)
    }

    /// A tensor in the memory of another argument, for a parameter `tensordesc<…>`: its address is divisible by 16, its
    /// last stride is 1, and the others are multiples of 16 bytes.
    ///
    /// # Errors
    /// When the other argument is no memory.
    pub fn tensor(memory: Arg<'a>, shape: &[i64], strides: &[i64]) -> Result<Arg<'a>, String> {
        match memory {
            Arg::Memory(memory) => {
                Ok(Arg::Tensor { memory, shape: shape.to_vec(), strides: strides.to_vec() })
            }
            _ => {
                Err("a tensor lies in memory: give Arg::read, Arg::write, Arg::buffer or Arg::pointer"
                    .to_owned())
            }
        }
    }

    fn memory<T: Element>(address: u64, len: Option<usize>, is_slice: bool) -> Arg<'a> {
        let bytes = len.map(|len| len * size_of::<T>());
        let (element, dtype) = (T::NAME, T::DTYPE);
        Arg::Memory(Memory { address, element, dtype, bytes, is_slice, slice: PhantomData })
    }
}

impl Memory<'_> {
    /// Its size, where it is known.
    pub fn bytes(&self) -> Option<usize> {
        self.bytes
    }

    /// What it holds.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The address of its first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Whether it is the host's.
    pub(crate) fn is_slice(&self) -> bool {
        self.is_slice
    }

    /// Whether kernels get there.
    pub(crate) fn is_reachable(&self, is_host: bool) -> Result<(), String> {
        if self.is_slice && !is_host {
            return Err(
                "is a slice in the host's memory, which this target's devices do not have: copy it with \
                        Target::buffer"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// How far the memory of the arguments goes.
pub(crate) fn extents(args: &[Arg<'_>]) -> Vec<Extent> {
    let of = |arg: &Arg<'_>| match arg {
        Arg::Memory(Memory { address, bytes: Some(bytes), .. })
        | Arg::Tensor { memory: Memory { address, bytes: Some(bytes), .. }, .. } => {
            Some(Extent { base: *address, len: *bytes as u64, writable: true })
        }
        _ => None,
    };
    args.iter().filter_map(of).collect()
}

/// What a compiled kernel takes at one place.
pub(crate) enum Taken {
    /// A value of a type.
    Value(specialize::RuntimeType),
    /// A tensor descriptor.
    Tensor(TensorSpec),
    /// A tuple, which cannot be passed from Rust.
    Tuple,
}

/// What a kernel takes at run time, in order.
pub(crate) fn taken(specs: &[specialize::Spec]) -> Vec<Taken> {
    let of = |spec: &specialize::Spec| match spec {
        specialize::Spec::Constexpr(_) => None,
        specialize::Spec::Descriptor(spec) => Some(Taken::Tensor(spec.clone())),
        spec => Some(specialize::runtime_type(spec).map_or(Taken::Tuple, Taken::Value)),
    };
    specs.iter().filter_map(of).collect()
}

/// The slots of a launch, after checking that the arguments are what the kernel was compiled for.
pub(crate) fn pack(taken: &[Taken], args: &[Arg<'_>], is_host: bool) -> Result<Slots, String> {
    if taken.len() != args.len() {
        return Err(format!(
            "{} arguments are passed at run time, and {} were given",
            taken.len(),
            args.len()
        ));
    }
    let mut slots = Slots::new();
    for (at, (taken, arg)) in taken.iter().zip(args).enumerate() {
        add_slots(taken, arg, is_host, &mut slots).map_err(|text| format!("argument {at} {text}"))?;
    }
    Ok(slots)
}

fn add_slots(taken: &Taken, arg: &Arg<'_>, is_host: bool, slots: &mut Slots) -> Result<(), String> {
    match taken {
        Taken::Value(ty) => slots.push(slot(ty, arg, is_host)?),
        Taken::Tensor(spec) => {
            let Arg::Tensor { memory, shape, strides } = arg else {
                let wanted = specialize::tensor_name(spec);
                return Err(format!(
                    "is to be a tensor, for {wanted}: give memory, shape and strides by Arg::tensor"
                ));
            };
            slots.extend(described(spec, memory, shape, strides, is_host)?.slots());
        }
        Taken::Tuple => return Err("is a tuple, which cannot be passed from Rust".to_owned()),
    }
    Ok(())
}

/// A tensor that was checked against what the kernel was compiled for.
fn described(
    spec: &TensorSpec,
    memory: &Memory<'_>,
    shape: &[i64],
    strides: &[i64],
    is_host: bool,
) -> Result<TensorArgument, String> {
    memory.is_reachable(is_host)?;
    let tensor = TensorArgument::for_spec(spec, memory.element, memory.address, shape, strides)
        .map_err(|error| error.to_string())?;
    let bytes = tensor.span();
    match memory.bytes {
        Some(held) if bytes > held as u64 => {
            Err(format!("is a tensor of {bytes} bytes in memory of {held} bytes"))
        }
        _ => Ok(tensor),
    }
}

fn slot(ty: &specialize::RuntimeType, arg: &Arg<'_>, is_host: bool) -> Result<u64, String> {
    let argument = match arg {
        Arg::Int(value) => Argument::Int(*value),
        Arg::Float(value) => Argument::Float(*value),
        Arg::Bool(value) => Argument::Bool(*value),
        Arg::Tensor { .. } => {
            return Err(format!("is a tensor, and the kernel was compiled for {}", ty.name));
        }
        Arg::Memory(memory) => {
            let wanted = ty.name.trim_start_matches(['*', 'k']);
            if !ty.name.starts_with('*') || wanted != memory.element {
                return Err(format!(
                    "is a slice of {}, and the kernel was compiled for {}",
                    memory.element, ty.name
                ));
            }
            memory.is_reachable(is_host)?;
            let address = memory.address;
            let divisor = ty.known.divisibility;
            if !address.is_multiple_of(u64::from(divisor)) {
                return Err(format!(
                    "lies at {address:#x}, and the kernel was compiled for an address divisible by {divisor}"
                ));
            }
            if ty.known.near && memory.bytes().is_some_and(|bytes| bytes >= 1 << 31) {
                return Err("has 2 GiB or more, and the kernel was compiled for less".to_owned());
            }
            return Ok(address);
        }
    };
    if ty.name.starts_with('*') {
        return Err(format!("is a number, and the kernel was compiled for {}", ty.name));
    }
    let rules = ParamRules { fixed: Some(ty.ty), ..ParamRules::default() };
    let slot = rules
        .apply(argument, 0, &mut LaunchKey::new())
        .map_err(|error| error.to_string())?
        .unwrap_or_default();
    if ty.known.one && slot != 1 {
        return Err("is not 1, and the kernel was compiled for that".to_owned());
    }
    let divisor = ty.known.divisibility;
    if !slot.is_multiple_of(u64::from(divisor)) {
        return Err(format!(
            "is not divisible by {divisor}, and the kernel was compiled for a number that is"
        ));
    }
    Ok(slot)
}
