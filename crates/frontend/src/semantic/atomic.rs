//! Atomic operations on memory.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Num, Res};
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::typing::pointer_to;
use crate::value::PyValue;
use ir::{Attr, Type};
use smallvec::SmallVec;
use ttir::ops::{arith_int, atomic};

/// The arguments of an atomic operation.
pub(crate) struct AtomicArgs {
    pub(crate) pointer: Tensor,
    pub(crate) value: Option<Tensor>,
    pub(crate) mask: Option<Tensor>,
    pub(crate) sem: String,
    pub(crate) scope: String,
}

/// A value, its pointer and its mask (all lanes, where there was none), in one shape.
struct Checked {
    pointer: Tensor,
    value: Option<Tensor>,
    mask: Tensor,
    element: DType,
}

impl Ctx<'_> {
    pub(super) fn sem(&mut self, text: &str, default: &str, allowed: &[&str]) -> Res<Option<Attr>> {
        let text = if text.is_empty() { default } else { text };
        if !allowed.contains(&text) {
            let help = format!("one of {}", allowed.join(", "));
            return Err(self.error_help(format!("Memory semantic {text} not supported"), &help));
        }
        self.keyword(&atomic::SEM, text, "Memory semantic")
    }

    pub(super) fn scope(&mut self, text: &str) -> Res<Option<Attr>> {
        self.keyword(&atomic::SCOPE, if text.is_empty() { "gpu" } else { text }, "Memory scope")
    }

    fn check_atomic(&mut self, args: AtomicArgs, function: &str) -> Res<Checked> {
        let AtomicArgs { pointer, value, mask, .. } = args;
        let target = self.pointer_of(&pointer, &format!("atomic_{function}"))?;
        if value.is_some() && target.constant {
            return Err(self.error("Cannot store to a constant pointer"));
        }
        let mut pointer = pointer;
        let mut shaped = [value, mask];
        for (tensor, what) in shaped.iter_mut().zip(["Value", "Mask"]) {
            let Some(own) = tensor.take() else { continue };
            *tensor = Some(if pointer.ty.is_block() {
                self.in_pointer_shape(&pointer, own)?
            } else if own.ty.is_block() {
                let message =
                    format!("{what} argument cannot be block type if pointer argument is not a block");
                return Err(self.error(message));
            } else {
                own
            });
        }
        let [value, mask] = shaped;
        self.check_mask(mask.as_ref())?;
        let mut element = target.pointee;
        if element == DType::Int1 && matches!(function, "load" | "store") {
            element = DType::Int8;
            pointer = self.cast(pointer, pointer_to(element))?;
        }
        let value = match value {
            Some(value) => Some(self.cast(value, element)?),
            None => None,
        };
        let mask = match mask {
            Some(mask) => mask,
            None => self.literal(&PyValue::Bool(true), pointer.ty.with(DType::Int1))?,
        };
        Ok(Checked { pointer, value, mask, element })
    }

    fn rmw(&mut self, kind: &str, parts: [&Tensor; 3], attrs: &[Option<Attr>; 2]) -> Res<Tensor> {
        let [pointer, value, mask] = parts;
        let kind = self.keyword(&atomic::RMW, kind, "atomic operation")?;
        let operands = [pointer.value, value.value, mask.value];
        let result =
            self.emit(&atomic::ATOMIC_RMW, &operands, &[kind, attrs[0].clone(), attrs[1].clone()])?;
        Ok(Tensor { value: result, ty: value.ty.clone() })
    }

    /// `tl.atomic_add`, `and`, `or`, `xor`, `xchg`, `max`, `min`.
    pub(crate) fn atomic_rmw(&mut self, function: &str, args: AtomicArgs) -> Res<Tensor> {
        let attrs = [
            self.sem(&args.sem, "acq_rel", &["acquire", "release", "acq_rel", "relaxed"])?,
            self.scope(&args.scope)?,
        ];
        let Checked { pointer, value, mask, element } = self.check_atomic(args, function)?;
        let Some(value) = value else { return Err(self.error("internal error: an atomic without a value")) };
        let half = matches!(element, DType::Fp16 | DType::Bf16) && function != "add";
        if half || element.bits() < 16 || (element.bits() == 16 && element.is_int()) {
            return Err(self.error_help(
                format!("atomic_{function} does not support {element}"),
                "atomics work on 32 and 64 bits; `atomic_add` on fp16 and bf16 too",
            ));
        }
        let parts = [&pointer, &value, &mask];
        match (function, element.is_floating(), element.is_int_signed()) {
            ("add", true, _) => self.rmw("fadd", parts, &attrs),
            ("max" | "min", true, _) => self.float_extremum(function, parts, &attrs),
            ("max", false, false) => self.rmw("umax", parts, &attrs),
            ("min", false, false) => self.rmw("umin", parts, &attrs),
            ("xchg", _, _) => self.rmw("exch", parts, &attrs),
            ("and" | "or" | "xor", true, _) => self.float_bits(function, parts, &attrs),
            _ => self.rmw(function, parts, &attrs),
        }
    }

    /// Operations on the bits of floats.
    fn float_bits(&mut self, function: &str, parts: [&Tensor; 3], attrs: &[Option<Attr>; 2]) -> Res<Tensor> {
        let [pointer, value, mask] = parts;
        let scalar = value.ty.scalar;
        let Some(whole) = DType::int(scalar.bits(), true) else {
            return Err(
                self.error(Cause::Type.says(format!("atomic_{function} not supported for dtype {scalar}")))
            );
        };
        let bits = self.bitcast(value.clone(), whole.into())?;
        let pointer = self.bitcast(pointer.clone(), pointer_to(whole))?;
        let old = self.rmw(function, [&pointer, &bits, mask], attrs)?;
        self.bitcast(old, scalar)
    }

    /// Maximum and minimum of floats by those of integers: for positive floats the order of their bits is that of their
    /// values, for negative ones it is the reverse.
    fn float_extremum(
        &mut self,
        function: &str,
        parts: [&Tensor; 3],
        attrs: &[Option<Attr>; 2],
    ) -> Res<Tensor> {
        let [pointer, value, mask] = parts;
        let scalar = value.ty.scalar;
        let bits = scalar.bits();
        let (Some(signed), Some(unsigned)) = (DType::int(bits, true), DType::int(bits, false)) else {
            return Err(
                self.error(Cause::Type.says(format!("atomic_{function} not supported for dtype {scalar}")))
            );
        };
        let signed_value = self.bitcast(value.clone(), signed.into())?;
        let signed_pointer = self.bitcast(pointer.clone(), pointer_to(signed))?;
        let unsigned_value = self.bitcast(value.clone(), unsigned.into())?;
        let unsigned_pointer = self.bitcast(pointer.clone(), pointer_to(unsigned))?;
        let amount = self.literal(&PyValue::Int(i128::from(bits - 1)), unsigned_value.ty.clone())?;
        let sign = self.elementwise(&arith_int::SHRUI, &unsigned_value, &amount)?;
        let negative = self.cast(sign, DType::Int1)?;
        let positive = self.invert(negative.clone())?;
        let where_positive = self.elementwise(&arith_int::ANDI, mask, &positive)?;
        let where_negative = self.elementwise(&arith_int::ANDI, mask, &negative)?;
        let other = if function == "max" { "umin" } else { "umax" };
        let above = self.rmw(function, [&signed_pointer, &signed_value, &where_positive], attrs)?;
        let below = self.rmw(other, [&unsigned_pointer, &unsigned_value, &where_negative], attrs)?;
        let below = self.bitcast(below, signed.into())?;
        let old = self.select(positive, Num::Tensor(above), Num::Tensor(below))?;
        self.bitcast(old, scalar)
    }

    /// `tl.atomic_cas`. An integer that was there has the sign of the new value, as with Triton.
    pub(crate) fn atomic_cas(
        &mut self,
        pointer: Tensor,
        cmp: Tensor,
        val: Tensor,
        sem: &str,
        scope: &str,
    ) -> Res<Tensor> {
        let attrs =
            [self.sem(sem, "acq_rel", &["acquire", "release", "acq_rel", "relaxed"])?, self.scope(scope)?];
        let target = self.pointer_of(&pointer, "atomic_cas")?;
        if ![16, 32, 64].contains(&target.pointee.bits()) {
            return Err(self.error("atomic_cas only supports elements with width {16, 32, 64}"));
        }
        let own = match val.ty.scalar {
            Scalar::Number(own) if own.is_int() && own.bits() == target.pointee.bits() => own,
            _ => target.pointee,
        };
        let mut shaped: SmallVec<[Tensor; 2]> = SmallVec::new();
        for tensor in [cmp, val] {
            let tensor = self.in_pointer_shape(&pointer, tensor)?;
            shaped.push(self.cast(tensor, target.pointee)?);
        }
        let value =
            self.emit(&atomic::ATOMIC_CAS, &[pointer.value, shaped[0].value, shaped[1].value], &attrs)?;
        let was = Tensor { value, ty: shaped[1].ty.clone() };
        self.cast(was, own)
    }

    /// `tl.atomic_load`.
    pub(crate) fn atomic_load(&mut self, args: AtomicArgs) -> Res<Tensor> {
        let attrs = [self.sem(&args.sem, "acquire", &["acquire", "relaxed"])?, self.scope(&args.scope)?];
        let was_bool =
            matches!(args.pointer.ty.scalar, Scalar::Pointer(pointer) if pointer.pointee == DType::Int1);
        let Checked { pointer, mask, element, .. } = self.check_atomic(args, "load")?;
        let ty = pointer.ty.with(element);
        let ir_type: Type = self.ir_type(&ty)?;
        let value = self.emit_as(&atomic::ATOMIC_LOAD, &[pointer.value, mask.value], &attrs, ir_type);
        let loaded = Tensor { value, ty };
        if was_bool { self.cast(loaded, DType::Int1) } else { Ok(loaded) }
    }

    /// `tl.atomic_store`.
    pub(crate) fn atomic_store(&mut self, args: AtomicArgs) -> Res<()> {
        let attrs = [self.sem(&args.sem, "release", &["release", "relaxed"])?, self.scope(&args.scope)?];
        let Checked { pointer, value, mask, .. } = self.check_atomic(args, "store")?;
        let Some(value) = value else { return Err(self.error("internal error: an atomic without a value")) };
        self.emit_effect(&atomic::ATOMIC_STORE, &[pointer.value, value.value, mask.value], &attrs);
        Ok(())
    }
}
