//! Calls: intrinsics by their rows, other functions by PTX's calling sequence.

use super::{Outcome, Part, Selector, intrinsic};
use crate::ptx::machine::{CallText, Class, MInst, Operand, Reg, Text};
use llir::{Inst, InstData, Payload, Type};
use smallvec::SmallVec;

/// How many 32-bit registers a result has that is a vector of words; `None` for one that has a single register.
pub(crate) fn returned_words(ty: Type) -> Option<u32> {
    let shape = crate::ptx::shape::shape(ty)?;
    (ty.is_vector() && shape.words > 1 && shape.class == Class::B32).then_some(shape.words)
}

/// Bits of a parameter or result of a call: at least 32, as the ABI has it.
pub(crate) fn call_bits(ty: Type) -> Result<u32, String> {
    let shape = crate::ptx::shape::shape(ty).filter(|shape| shape.words == 1);
    let shape = shape.ok_or_else(|| format!("a call passes {ty}, which needs several registers"))?;
    Ok(shape.class.bits().max(32))
}

pub(super) fn emit(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let Payload::Callee(id) = data.payload else { return Err("a call of nothing".into()) };
    if let Some(rule) = s.rules[id] {
        return intrinsic::emit(s, inst, data, rule);
    }
    let callee = s.module.callee(id);
    if callee.is_intrinsic() {
        return Err(format!("the intrinsic `{}` has no PTX here", callee.name));
    }
    let mut results = SmallVec::new();
    let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
    let mut after: Option<(Reg, Reg, Class)> = None;
    if let (Some(value), Some(words)) = (s.func.result(inst), returned_words(data.ty)) {
        results.extend((0..words).map(|_| 32));
        operands.extend(s.all_words(value).into_iter().map(Operand::Reg));
    } else if let Some(value) = s.func.result(inst) {
        let bits = call_bits(data.ty)?;
        let (reg, class) = (s.word(value, 0), s.shape(data.ty)?.class);
        results.push(bits);
        if class.bits() == bits {
            operands.push(Operand::Reg(reg));
        } else {
            let wide = s.fresh(Class::B32);
            operands.push(Operand::Reg(wide));
            after = Some((reg, wide, class));
        }
    }
    let defs = operands.len();
    let mut params = SmallVec::new();
    for value in &data.operands {
        let ty = s.ty(*value);
        let bits = call_bits(ty)?;
        let part = if ty.is_vector() { Part::Word(0) } else { Part::Scalar };
        let reg = s.reg(*value, part);
        let operand = match s.shape(ty)?.class {
            Class::Pred => {
                s.temp("selp.b32", Class::B32, &[Operand::Int(1), Operand::Int(0), Operand::Reg(reg)])
            }
            Class::B16 => s.temp("cvt.u32.u16", Class::B32, &[Operand::Reg(reg)]),
            _ => Operand::Reg(reg),
        };
        params.push(bits);
        operands.push(operand);
    }
    let text = CallText { name: callee.name.clone(), results, params };
    let location = s.location;
    s.out.push(MInst { text: Text::Call(Box::new(text)), defs, operands, location });
    if let Some((reg, wide, class)) = after {
        match class {
            Class::Pred => s.push("setp.ne.b32", &[reg], &[Operand::Reg(wide), Operand::Int(0)]),
            _ => s.push("cvt.u16.u32", &[reg], &[Operand::Reg(wide)]),
        }
    }
    Ok(())
}
