//! Calls: functions of the module, outside symbols, intrinsics, addresses, inline assembly.

use super::FunctionBuilder;
use crate::asm::Asm;
use crate::flags::Flags;
use crate::function::{FuncId, InstData, Payload, Value};
use crate::intrinsics::{Intrinsic, Purity};
use crate::module::Callee;
use crate::rows::Op;
use crate::types::Type;
use smallvec::SmallVec;

/// The intrinsic that was called last. One register of a block after the other asks for the same one.
#[derive(Debug)]
pub(super) struct LastIntrinsic {
    intrinsic: &'static Intrinsic,
    ret: Type,
    types: SmallVec<[Type; 4]>,
    id: FuncId,
}

impl LastIntrinsic {
    fn is(&self, intrinsic: &Intrinsic, ret: Type, types: &[Type]) -> bool {
        self.intrinsic == intrinsic && self.ret == ret && self.types[..] == *types
    }
}

impl FunctionBuilder<'_> {
    /// Calls something declared; `None` when it gives nothing.
    pub fn call(&mut self, callee: FuncId, args: &[Value]) -> Option<Value> {
        let ty = self.module.callee(callee).ret;
        let flags = if ty.is_float() { self.float_flags } else { Flags::NONE };
        let data = InstData::new(Op::CALL, ty, args).with(Payload::Callee(callee)).flagged(flags);
        if ty.is_void() {
            self.emit_void(data);
            return None;
        }
        Some(self.emit(data))
    }

    /// Calls a symbol by name, declaring it with the types of the arguments when it is new.
    pub fn call_symbol(&mut self, name: &str, ret: Type, args: &[Value], purity: Purity) -> Option<Value> {
        let id = self.module.find(name).unwrap_or_else(|| {
            let params = args.iter().map(|arg| self.func.value(*arg).ty).collect();
            self.module.declare(Callee::new(name, ret, params, purity))
        });
        self.call(id, args)
    }

    /// Calls an intrinsic that gives a value: `intrinsic(&intrinsics::FMA, ty, &[a, b, c])`. Its types become
    /// part of its name.
    pub fn intrinsic(&mut self, intrinsic: &'static Intrinsic, ret: Type, args: &[Value]) -> Value {
        let id = self.intrinsic_id(intrinsic, ret, args);
        let flags = if ret.is_float() { self.float_flags } else { Flags::NONE };
        self.emit(InstData::new(Op::CALL, ret, args).with(Payload::Callee(id)).flagged(flags))
    }

    /// Calls an intrinsic that gives nothing.
    pub fn intrinsic_void(&mut self, intrinsic: &'static Intrinsic, args: &[Value]) {
        let id = self.intrinsic_id(intrinsic, Type::VOID, args);
        self.emit_void(InstData::new(Op::CALL, Type::VOID, args).with(Payload::Callee(id)));
    }

    /// Calls the function at an address.
    pub fn call_indirect(&mut self, function: Value, ret: Type, args: &[Value]) -> Option<Value> {
        let mut operands: SmallVec<[Value; 4]> = SmallVec::from_slice(&[function]);
        operands.extend_from_slice(args);
        let data = InstData::new(Op::CALL_INDIRECT, ret, &operands);
        if ret.is_void() {
            self.emit_void(data);
            return None;
        }
        Some(self.emit(data))
    }

    /// Inline assembly; `None` when it gives nothing. Several results are a [`Type::structure`], to be taken apart by
    /// [`FunctionBuilder::part`].
    pub fn inline_asm(&mut self, asm: Asm, ret: Type, args: &[Value]) -> Option<Value> {
        let data = InstData::new(Op::ASM, ret, args).with(Payload::Asm(Box::new(asm)));
        if ret.is_void() {
            self.emit_void(data);
            return None;
        }
        Some(self.emit(data))
    }

    fn intrinsic_id(&mut self, intrinsic: &'static Intrinsic, ret: Type, args: &[Value]) -> FuncId {
        let types: SmallVec<[Type; 4]> = args.iter().map(|arg| self.ty(*arg)).collect();
        if let Some(last) = self.last_intrinsic.as_ref().filter(|last| last.is(intrinsic, ret, &types)) {
            return last.id;
        }
        let id = self.module.declare_intrinsic(intrinsic, ret, &types);
        self.last_intrinsic = Some(LastIntrinsic { intrinsic, ret, types, id });
        id
    }
}
