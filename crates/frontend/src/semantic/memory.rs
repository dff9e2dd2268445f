//! Loads and stores through pointers.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Num, Res};
use crate::dtype::{DType, Pointer, Scalar};
use crate::typing::{self, Shape, ShapeText, Ty, pointer_to};
use ir::{Attr, EnumRow};
use smallvec::SmallVec;
use ttir::ops::memory;

/// The arguments of a load.
pub(crate) struct LoadArgs {
    pub(crate) pointer: Tensor,
    pub(crate) mask: Option<Num>,
    pub(crate) other: Option<Num>,
    pub(crate) cache_modifier: String,
    pub(crate) eviction_policy: String,
    pub(crate) volatile: bool,
}

/// The arguments of a store.
pub(crate) struct StoreArgs {
    pub(crate) pointer: Tensor,
    pub(crate) value: Num,
    pub(crate) mask: Option<Num>,
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
        let Scalar::Pointer(pointer) = tensor.ty.scalar else {
            return Err(self.error("internal error: no pointer"));
        };
        if pointer.pointee != DType::Int1 {
            return Ok((tensor, pointer.pointee, false));
        }
        let tensor = self.cast(tensor, pointer_to(DType::Int8))?;
        Ok((tensor, DType::Int8, true))
    }

    /// A scalar access takes scalar masks and values only.
    fn check_scalar_access(&mut self, what: &str, num: Option<&Num>) -> Res<()> {
        match num {
            Some(Num::Tensor(tensor)) if tensor.ty.is_block() => {
                let help = "make the pointer a block too, by adding `tl.arange(…)` to it";
                let message =
                    format!("{what} argument cannot be block type if pointer argument is not a block");
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
    pub(crate) fn in_pointer_shape(&mut self, pointer: &Tensor, tensor: Tensor) -> Res<Tensor> {
        let dims = self.check(typing::broadcast_shapes(&pointer.ty.shape, &tensor.ty.shape))?;
        self.check_pointer_shape(pointer, &dims)?;
        self.broadcast(tensor, &dims)
    }

    fn check_pointer_shape(&mut self, pointer: &Tensor, dims: &[u32]) -> Res<()> {
        if pointer.ty.shape.as_slice() == dims {
            return Ok(());
        }
        let (expected, found) = (ShapeText(dims).to_string(), ShapeText(&pointer.ty.shape).to_string());
        Err(self.error_help(
            format!("Expected pointer argument to have shape {expected} but got {found}"),
            "every element needs its own address: add offsets of that shape to the pointer",
        ))
    }

    /// The shape that a pointer and what goes with it broadcast to.
    fn common_shape(&mut self, pointer: &Tensor, others: &[Option<&Num>]) -> Res<Shape> {
        let mut dims = pointer.ty.shape.clone();
        for other in others.iter().flatten() {
            if let Num::Tensor(tensor) = other {
                dims = self.check(typing::broadcast_shapes(&dims, &tensor.ty.shape))?;
            }
        }
        Ok(dims)
    }

    /// A value that is read or written, in the type of the elements; a Python number becomes a constant at once.
    fn element_value(&mut self, num: Num, element: DType, dims: &[u32]) -> Res<Tensor> {
        match num {
            Num::Tensor(tensor) => {
                let tensor = self.broadcast(tensor, dims)?;
                self.cast(tensor, element)
            }
            Num::Literal(value) if element.is_floating() && !element.is_fp8() => {
                self.literal(&value, Ty::block(element, dims))
            }
            Num::Literal(value) => {
                let own = self.check(typing::literal_type(&value))?;
                let tensor = self.literal(&value, Ty::block(own, dims))?;
                self.cast(tensor, element)
            }
        }
    }

    fn mask_value(&mut self, mask: Option<Num>, dims: &[u32]) -> Res<Option<Tensor>> {
        let Some(mask) = mask else { return Ok(None) };
        let mask = self.num_to_tensor(mask)?;
        self.check_mask(Some(&mask))?;
        Ok(Some(self.broadcast(mask, dims)?))
    }

    /// `tl.load`.
    pub(crate) fn load(&mut self, args: LoadArgs) -> Res<Tensor> {
        let LoadArgs { pointer, mask, other, cache_modifier, eviction_policy, volatile } = args;
        self.pointer_of(&pointer, "load")?;
        if mask.is_none() && other.is_some() {
            return Err(self.error("`other` cannot be provided without `mask`"));
        }
        if !pointer.ty.is_block() {
            self.check_scalar_access("Mask", mask.as_ref())?;
            self.check_scalar_access("Other", other.as_ref())?;
        }
        let dims = self.common_shape(&pointer, &[mask.as_ref(), other.as_ref()])?;
        let pointer = self.broadcast(pointer, &dims)?;
        let (pointer, element, is_bool) = self.as_byte_pointer(pointer)?;
        let mut operands: SmallVec<[ir::Value; 3]> = SmallVec::new();
        operands.push(pointer.value);
        operands.extend(self.mask_value(mask, &dims)?.map(|mask| mask.value));
        if let Some(other) = other {
            operands.push(self.element_value(other, element, &dims)?.value);
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
        let StoreArgs { pointer, value, mask, cache_modifier, eviction_policy } = args;
        let target = self.pointer_of(&pointer, "store")?;
        if target.constant {
            return Err(self.error_help(
                "Cannot store to a constant pointer",
                "the parameter is annotated `tl.const`: remove that, or store elsewhere",
            ));
        }
        if !pointer.ty.is_block() {
            self.check_scalar_access("Value", Some(&value))?;
            self.check_scalar_access("Mask", mask.as_ref())?;
        }
        let dims = self.common_shape(&pointer, &[Some(&value), mask.as_ref()])?;
        self.check_pointer_shape(&pointer, &dims)?;
        let value = self.element_value(value, target.pointee, &dims)?;
        let mask = self.mask_value(mask, &dims)?;
        let (pointer, element, _) = self.as_byte_pointer(pointer)?;
        let value = self.cast(value, element)?;
        let mut operands: SmallVec<[ir::Value; 3]> = SmallVec::new();
        operands.extend([pointer.value, value.value]);
        operands.extend(mask.map(|mask| mask.value));
        let attrs = [
            self.cache_attr(&cache_modifier, &["wb", "cg", "cs", "wt"])?,
            self.eviction_attr(&eviction_policy)?,
        ];
        self.emit_effect(&memory::STORE, &operands, &attrs);
        Ok(())
    }
}
