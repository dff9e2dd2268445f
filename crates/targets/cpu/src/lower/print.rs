//! Prints: each operand goes to scratch memory, which the runtime is shown.

use super::emitter::Emitter;
use super::error::Result;
use super::scratch::Buffer;
use super::types;
use crate::abi::{PrintBase, PrintKind, offsets, print_format};
use ir::{FloatKind, Op, Type as IrType, Value as IrValue};
use llir::{Type, Value};
use ttir::ops::debug::PrintOp;

/// Writes an operand to memory, in the type that it is printed in.
type Write<'f, 'a> = &'f mut dyn FnMut(&mut Emitter<'a>, IrValue, &Buffer) -> Result<()>;

/// The type that elements are printed in.
fn printed(elem: IrType) -> IrType {
    match types::small_float(elem).is_some_and(|kind| kind.bits() == 8) {
        true => IrType::float(FloatKind::F32),
        false => elem,
    }
}

impl<'a> Emitter<'a> {
    /// `tt.print`.
    pub(crate) fn print(&mut self, op: Op, write: Write<'_, 'a>) -> Result<()> {
        let module = self.module;
        let print = PrintOp::new(module, op);
        let prefix = print.prefix();
        let base = if print.hex() { PrintBase::Hex } else { PrintBase::Decimal };
        let (signs, operands) = (print.is_signed(), print.args());
        if operands.is_empty() {
            let null = self.b.zero(Type::PTR);
            let format = print_format(PrintKind::Nothing, base, None);
            return self.print_one(prefix, format, null, (&[], &[]));
        }
        for (number, &operand) in operands.iter().enumerate() {
            let ty = module.ty(operand);
            let elem = ttir::types::elem(ty);
            let is_signed = signs.get(number).is_none_or(|&sign| sign != 0);
            let printed = printed(elem);
            let dims = types::shape(ty);
            let strides = types::row_major(dims);
            let distances = strides.clone();
            let lane = types::memory(printed);
            let bytes = dims.iter().product::<i64>() as u64 * u64::from(lane.lane_bytes());
            let mark = self.arena.mark();
            let offset = self.arena.bytes(bytes);
            let buffer = Buffer { offset, strides, elem: printed, by: None, panels: None };
            write(self, operand, &buffer)?;
            let data = self.address(&buffer);
            let operand_number = (operands.len() > 1).then_some(number as u16);
            let format = print_format(kind_of(printed, is_signed), base, operand_number);
            self.print_one(prefix, format, data, (print.printed_shape(number), &distances))?;
            self.arena.release(mark);
        }
        Ok(())
    }

    /// Writes a scalar to memory, in the type that it is printed in.
    pub(crate) fn store_printed(&mut self, operand: IrValue, buffer: &Buffer) -> Result<()> {
        let elem = self.module.ty(operand);
        let mut value = self.scalar(operand)?;
        if let Some(kind) = types::small_float(elem).filter(|_| buffer.elem != elem) {
            value = self.widen(kind, value);
        }
        let address = self.address(buffer);
        let value = self.in_memory(value, buffer.elem);
        self.b.store(value, address, types::memory(buffer.elem).lane_bytes());
        Ok(())
    }

    fn print_one(
        &mut self,
        prefix: &str,
        format: u64,
        data: Value,
        (dims, distances): (&[i64], &[i64]),
    ) -> Result<()> {
        let (text, length) = self.text(prefix);
        let sizes = dims.iter().chain(distances).map(|&dim| dim as u128).collect::<Vec<_>>();
        let sizes = if sizes.is_empty() { vec![0] } else { sizes };
        let symbol = self.b.module().add_table("shape", Type::I64, sizes, 8);
        let (format, rank) = (self.b.i64(format as i64), self.b.i64(dims.len() as i64));
        let shape = self.b.symbol(&symbol);
        let callback = self.callback(offsets::PRINT);
        let args = [self.frame.context, self.frame.pid, text, length, format, data, rank, shape];
        self.b.call_indirect(callback, Type::VOID, &args);
        Ok(())
    }
}

fn kind_of(elem: IrType, is_signed: bool) -> PrintKind {
    match (elem.as_int(), elem.as_float(), is_signed) {
        (Some(1), ..) => PrintKind::Bool,
        (Some(8), _, true) => PrintKind::I8,
        (Some(16), _, true) => PrintKind::I16,
        (Some(32), _, true) => PrintKind::I32,
        (Some(_), _, true) => PrintKind::I64,
        (Some(8), _, false) => PrintKind::U8,
        (Some(16), _, false) => PrintKind::U16,
        (Some(32), _, false) => PrintKind::U32,
        (Some(_), _, false) => PrintKind::U64,
        (_, Some(FloatKind::F16), _) => PrintKind::F16,
        (_, Some(FloatKind::BF16), _) => PrintKind::BF16,
        (_, Some(FloatKind::F64), _) => PrintKind::F64,
        (_, Some(_), _) => PrintKind::F32,
        _ => PrintKind::Pointer,
    }
}
