//! Loads and stores through pointers.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Res};
use crate::dtype::{DType, Pointer, Scalar};
use crate::typing::{ShapeText, pointer_to};
use ir::{Attr, EnumRow};
use smallvec::SmallVec;
use ttir::ops::memory;

/// The arguments of a load.
pub(crate) struct LoadArgs {
    pub(crate) pointer: Tensor,
    pub(crate) mask: Option<Tensor>,
    pub(crate) other: Option<Tensor>,
    pub(crate) cache_modifier: String,
    pub(crate) eviction_policy: String,
    pub(crate) volatile: bool,
}

/// The arguments of a store.
pub(crate) struct StoreArgs {
    pub(crate) pointer: Tensor,
    pub(crate) value: Tensor,
    pub(crate) mask: Option<Tensor>,
    pub(crate) cache_modifier: String,
    pub(crate) eviction_policy: String,
}

impl Ctx<'_> {
    /// The pointer type of a value that must be one.
    pub(crate) fn pointer_of(&mut self, tensor: &Tensor, function: &str) -> Res<Pointer> {
        match tensor.ty.scalar {
            Scalar::Pointer(pointer) => Ok(pointer),
            Scalar::Number(dtype) => Err(self.error_help(
                format!("Unsupported ptr type {} in `tl.{function}`", tensor.ty),
                &format!("a pointer is expected, such as a tensor argument plus offsets; this is a {dtype}"),
            )),
        }
    }

    /// An attribute from a keyword, where the empty text is the default.
    pub(crate) fn keyword(&mut self, row: &'static EnumRow, text: &str, what: &str) -> Res<Option<Attr>> {
        if text.is_empty() {
            return Ok(None);
        }
        match row.value(text) {
            Some(value) => Ok(Some(Attr::Enum { row, value })),
            None => {
                let known: Vec<&str> = row.cases.iter().map(|case| case.0).collect();
                let help = format!("one of {}", known.join(", "));
                Err(self.error_help(format!("{what} {text} not supported"), &help))
            }
        }
    }

    fn cache_attr(&mut self, text: &str, allowed: &[&str]) -> Res<Option<Attr>> {
        let keyword = text.strip_prefix('.').unwrap_or(text);
        if !keyword.is_empty() && keyword != "none" && !allowed.contains(&keyword) {
            let help = format!("one of .{}", allowed.join(", ."));
            return Err(self.error_help(format!("Cache modifier {text} not supported"), &help));
        }
        self.keyword(&memory::CACHE, keyword, "Cache modifier")
    }

    fn eviction_attr(&mut self, text: &str) -> Res<Option<Attr>> {
        self.keyword(&memory::EVICT, text, "Eviction policy")
    }

    /// A boolean is a byte in memory.
    fn as_byte_pointer(&mut self, tensor: Tensor) -> Res<(Tensor, DType, bool)> {
        let Scalar::Pointer(pointer) = tensor.ty.scalar else { return Err(self.error("internal error: no pointer")) };
        if pointer.pointee != DType::Int1 {
            return Ok((tensor, pointer.pointee, false));
        }
        let tensor = self.cast(tensor, pointer_to(DType::Int8))?;
        Ok((tensor, DType::Int8, true))
    }

    /// A scalar access takes scalar masks and values only.
    fn check_scalar_access(&mut self, what: &str, tensor: Option<&Tensor>) -> Res<()> {
        match tensor {
            Some(tensor) if tensor.ty.is_block() => {
                let help = "make the pointer a block too, by adding `tl.arange(…)` to it";
                let message = format!("{what} argument cannot be block type if pointer argument is not a block");
                Err(self.error_help(message, help))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn check_mask(&mut self, mask: Option<&Tensor>) -> Res<()> {
        match mask {
            Some(mask) if mask.ty.scalar != DType::Int1.into() => {
                let message = format!("Mask must have boolean scalar type, not {}", mask.ty.scalar);
                Err(self.error_help(message, "compare: `mask = offsets < n`, or cast with `.to(tl.int1)`"))
            }
            _ => Ok(()),
        }
    }

    /// Brings arguments to the shape of the pointer, which itself must not grow.
    pub(crate) fn to_pointer_shape(&mut self, pointer: &Tensor, tensor: Tensor) -> Res<Tensor> {
        let (same, tensor) = self.broadcast_both(pointer.clone(), tensor)?;
        if same.ty.shape == pointer.ty.shape {
            return Ok(tensor);
        }
        let (expected, found) = (ShapeText(&same.ty.shape).to_string(), ShapeText(&pointer.ty.shape).to_string());
        Err(self.error(format!("Expected pointer argument to have shape {expected} but got {found}")))
    }

    /// `tl.load`.
    pub(crate) fn load(&mut self, args: LoadArgs) -> Res<Tensor> {
        let LoadArgs { mut pointer, mut mask, mut other, cache_modifier, eviction_policy, volatile } = args;
        self.pointer_of(&pointer, "load")?;
        if mask.is_none() && other.is_some() {
            return Err(self.error("`other` cannot be provided without `mask`"));
        }
        if !pointer.ty.is_block() {
            self.check_scalar_access("Mask", mask.as_ref())?;
            self.check_scalar_access("Other", other.as_ref())?;
        } else {
            for tensor in [&mut mask, &mut other].into_iter().flatten() {
                let (same, broadcast) = self.broadcast_both(pointer.clone(), tensor.clone())?;
                (pointer, *tensor) = (same, broadcast);
            }
        }
        self.check_mask(mask.as_ref())?;
        let (pointer, element, is_bool) = self.as_byte_pointer(pointer)?;
        let mut operands: SmallVec<[ir::Value; 3]> = SmallVec::new();
        operands.push(pointer.value);
        if let Some(mask) = mask {
            operands.push(self.broadcast(mask, &pointer.ty.shape)?.value);
        }
        if let Some(other) = other {
            let other = self.broadcast(other, &pointer.ty.shape)?;
            operands.push(self.cast(other, element)?.value);
        }
        let attrs = [
            self.cache_attr(&cache_modifier, &["ca", "cg", "cs", "cv"])?,
            self.eviction_attr(&eviction_policy)?,
            Some(Attr::Bool(volatile)),
        ];
        let value = self.emit(&memory::LOAD, &operands, &attrs)?;
        let loaded = Tensor { value, ty: pointer.ty.with(element) };
        if is_bool { self.cast(loaded, DType::Int1) } else { Ok(loaded) }
    }

    /// `tl.store`.
    pub(crate) fn store(&mut self, args: StoreArgs) -> Res<()> {
        let StoreArgs { pointer, mut value, mut mask, cache_modifier, eviction_policy } = args;
        let target = self.pointer_of(&pointer, "store")?;
        if target.constant {
            return Err(self.error_help(
                "Cannot store to a constant pointer",
                "the parameter is annotated `tl.const`: remove that, or store elsewhere",
            ));
        }
        if pointer.ty.is_block() {
            value = self.to_pointer_shape(&pointer, value)?;
            mask = match mask {
                Some(mask) => Some(self.to_pointer_shape(&pointer, mask)?),
                None => None,
            };
        } else {
            self.check_scalar_access("Value", Some(&value))?;
            self.check_scalar_access("Mask", mask.as_ref())?;
        }
        self.check_mask(mask.as_ref())?;
        value = self.cast(value, target.pointee)?;
        let (pointer, element, _) = self.as_byte_pointer(pointer)?;
        value = self.cast(value, element)?;
        let mut operands: SmallVec<[ir::Value; 3]> = SmallVec::new();
        operands.extend([pointer.value, value.value]);
        operands.extend(mask.map(|mask| mask.value));
        let attrs =
            [self.cache_attr(&cache_modifier, &["wb", "cg", "cs", "wt"])?, self.eviction_attr(&eviction_policy)?];
        self.emit_effect(&memory::STORE, &operands, &attrs);
        Ok(())
    }
}
