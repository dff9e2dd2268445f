//! Arguments of a launch.

use runtime::specialize::{self, Argument, LaunchKey, ParamRules};
use std::ffi::c_void;
use std::marker::PhantomData;

/// A type that kernels know, by its name in signatures.
pub trait Element: Copy + sealed::Sealed {
    /// `fp32`, `i8`, ….
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty: $name:literal),*) => { $(
        impl sealed::Sealed for $ty {}
        impl Element for $ty { const NAME: &'static str = $name; }
    )* };
}

// Example: `elements! { f32: "fp32" }` lets a `&[f32]` be passed where a signature says `*fp32`.
elements! {
    bool: "u1", i8: "i8", i16: "i16", i32: "i32", i64: "i64", u8: "u8", u16: "u16", u32: "u32", u64: "u64",
    f32: "fp32", f64: "fp64", half::f16: "fp16", half::bf16: "bf16"
}

/// A run-time argument.
#[derive(Debug)]
pub enum Arg<'a> {
    /// An integer or a bool.
    Int(i64),
    /// A float.
    Float(f64),
    /// Memory; see [`Arg::read`] and [`Arg::write`].
    Memory(Memory<'a>),
}

/// The memory of a slice.
#[derive(Debug)]
pub struct Memory<'a> {
    address: *mut c_void,
    element: &'static str,
    bytes: usize,
    slice: PhantomData<&'a mut [u8]>,
}

impl<'a> Arg<'a> {
    /// A slice that the kernel only reads.
    pub fn read<T: Element>(slice: &'a [T]) -> Arg<'a> {
        Arg::memory(slice.as_ptr().cast_mut(), slice.len())
    }

    /// A slice that the kernel may write.
    pub fn write<T: Element>(slice: &'a mut [T]) -> Arg<'a> {
        Arg::memory(slice.as_mut_ptr(), slice.len())
    }

    fn memory<T: Element>(address: *mut T, len: usize) -> Arg<'a> {
        let bytes = len * size_of::<T>();
        Arg::Memory(Memory { address: address.cast(), element: T::NAME, bytes, slice: PhantomData })
    }
}

impl Memory<'_> {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The slots of a launch, after checking that the arguments are what the kernel was compiled for.
pub(crate) fn pack(specs: &[specialize::Spec], args: &[Arg<'_>]) -> Result<Vec<u64>, String> {
    let runtime: Vec<_> = specs.iter().filter_map(specialize::runtime_type).collect();
    if runtime.len() != args.len() {
        return Err(format!(
            "{} arguments are passed at run time, and {} were given",
            runtime.len(),
            args.len()
        ));
    }
    runtime
        .iter()
        .zip(args)
        .enumerate()
        .map(|(at, (ty, arg))| slot(ty, arg).map_err(|text| format!("argument {at} {text}")))
        .collect()
}

fn slot(ty: &specialize::RuntimeType, arg: &Arg<'_>) -> Result<u64, String> {
    let argument = match arg {
        Arg::Int(value) => Argument::Int(*value),
        Arg::Float(value) => Argument::Float(*value),
        Arg::Memory(memory) => {
            let wanted = ty.name.trim_start_matches(['*', 'k']);
            if !ty.name.starts_with('*') || wanted != memory.element {
                return Err(format!(
                    "is a slice of {}, and the kernel was compiled for {}",
                    memory.element, ty.name
                ));
            }
            let address = memory.address as u64;
            if ty.divisible_by_16 && !address.is_multiple_of(16) {
                return Err(format!(
                    "lies at {address:#x}, and the kernel was compiled for an address divisible by 16"
                ));
            }
            return Ok(address);
        }
    };
    if ty.name.starts_with('*') {
        return Err(format!("is a number, and the kernel was compiled for {}", ty.name));
    }
    let rules = ParamRules { fixed: Some(ty.ty), ..ParamRules::default() };
    let slot =
        rules.apply(argument, &mut LaunchKey::new()).map_err(|error| error.to_string())?.unwrap_or_default();
    if ty.divisible_by_16 && !slot.is_multiple_of(16) {
        return Err("is not divisible by 16, and the kernel was compiled for a number that is".to_owned());
    }
    Ok(slot)
}
