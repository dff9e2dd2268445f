//! Instructions that a pass makes, one behind the other.

use crate::constant::Constant;
use crate::function::{Function, Inst, InstData, IntCompare, Payload, Value};
use crate::location::Location;
use crate::rows::Op;
use crate::types::Type;

/// Instructions that are added to a list.
pub(super) struct Code<'a> {
    pub(super) function: &'a mut Function,
    pub(super) insts: Vec<Inst>,
    pub(super) location: Option<Location>,
}

impl Code<'_> {
    pub(super) fn push(&mut self, data: InstData) -> Value {
        let (inst, value) = self.function.make_value(data, self.location);
        self.insts.push(inst);
        value
    }

    pub(super) fn binary(&mut self, op: Op, ty: Type, a: Value, b: Value) -> Value {
        self.push(InstData::new(op, ty, &[a, b]))
    }

    pub(super) fn int(&mut self, ty: Type, number: i64) -> Value {
        self.function.intern(Constant::bits(ty, i128::from(number) as u128))
    }

    pub(super) fn compare(&mut self, how: IntCompare, a: Value, b: Value) -> Value {
        self.push(InstData::new(Op::ICMP, Type::I1, &[a, b]).with(Payload::IntCompare(how)))
    }

    /// A signed number of 64 bits, at least `-limit` and at most `limit`.
    pub(super) fn within(&mut self, value: Value, limit: i64) -> Value {
        let cut = |code: &mut Self, value: Value, how: IntCompare, limit: i64| {
            let limit = code.int(Type::I64, limit);
            let holds = code.compare(how, value, limit);
            code.push(InstData::new(Op::SELECT, Type::I64, &[holds, value, limit]))
        };
        let value = cut(self, value, IntCompare::Sgt, -limit);
        cut(self, value, IntCompare::Slt, limit)
    }
}
