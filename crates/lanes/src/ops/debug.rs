//! Printing and asserting.
//!
//! Each lane prints the elements that it holds; of copies, one. The line is that of the reference interpreter.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::free_bits::FreeBits;
use crate::target::{AssertPlace, PrintCall};
use crate::types;
use elementwise::small_float::as_wide;
use ir::{Op, Type as IrType};
use llir::{IntCompare, Op as Inst, Type, Value, Values};
use ttir::ops::debug::{ASSERT, AssertOp, PRINT, PrintOp};
use ttir::ops::func::FuncOp;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&PRINT, print), (&ASSERT, assert)];

/// How one operand is printed.
struct Operand {
    ty: IrType,
    /// The sizes of what is printed of it.
    sizes: Vec<i64>,
    /// The text between the position and the value.
    prefix: String,
    hex: bool,
    signed: bool,
}

fn print(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let view = PrintOp::new(cx.module, op);
    let (prefix, hex) = (view.prefix().replace('%', "%%"), view.hex());
    let signed = view.is_signed().to_vec();
    let args = view.args();
    if args.is_empty() {
        let mask = cx.is_first_lane();
        return guarded(cx, Some(mask), |cx| {
            let args = program(cx);
            cx.target
                .print(&mut cx.b, &PrintCall { format: &format!("pid (%u, %u, %u){prefix}\n"), args: &args });
            Ok(())
        });
    }
    for (index, &arg) in args.iter().enumerate() {
        let number = if args.len() > 1 { format!("(operand {index}) ") } else { String::new() };
        let operand = Operand {
            ty: cx.module.ty(arg),
            sizes: PrintOp::new(cx.module, op).printed_shape(index).to_vec(),
            prefix: format!("{prefix}{number}"),
            hex,
            signed: signed.get(index).is_some_and(|signed| *signed != 0),
        };
        let registers = cx.registers(arg)?;
        print_operand(cx, &operand, &registers)?;
    }
    Ok(())
}

fn program(cx: &mut Cx<'_>) -> Values {
    (0..3).map(|axis| cx.program_id(axis)).collect()
}

fn print_operand(cx: &mut Cx<'_>, operand: &Operand, registers: &[Value]) -> Result<()> {
    if !ttir::types::is_tensor(operand.ty) {
        let mask = cx.is_first_lane();
        return guarded(cx, Some(mask), |cx| {
            print_element(cx, operand, &[], registers[0]);
            Ok(())
        });
    }
    let layout = cx.layout(operand.ty)?;
    let free = FreeBits::of(&layout);
    let positions = cx.positions(&layout);
    let mask = cx.owner_mask(&free);
    guarded(cx, mask, |cx| {
        for (register, value) in registers.iter().enumerate() {
            if register as u32 & free.register == 0 {
                let position = &positions[register];
                let mask = within(cx, operand, position);
                guarded(cx, mask, |cx| {
                    print_element(cx, operand, position, *value);
                    Ok(())
                })?;
            }
        }
        Ok(())
    })
}

/// Whether an element is one that is printed; `None` where all are.
fn within(cx: &mut Cx<'_>, operand: &Operand, position: &[Value]) -> Option<Value> {
    let mut within: Option<Value> = None;
    let sizes = operand.sizes.iter().zip(ttir::types::shape(operand.ty));
    for ((&size, _), &at) in sizes.zip(position).filter(|((size, own), _)| size != own) {
        let size = cx.b.int(cx.b.ty(at), size);
        let below = cx.b.icmp(IntCompare::Slt, at, size);
        within = Some(match within {
            Some(within) => cx.b.and(within, below),
            None => below,
        });
    }
    within
}

/// Builds something that only lanes run where a condition holds.
fn guarded(
    cx: &mut Cx<'_>,
    mask: Option<Value>,
    build: impl FnOnce(&mut Cx<'_>) -> Result<()>,
) -> Result<()> {
    let Some(mask) = mask else { return build(cx) };
    let branch = cx.b.begin_if(mask);
    build(cx)?;
    cx.b.end_if(branch, &[]);
    Ok(())
}

fn print_element(cx: &mut Cx<'_>, operand: &Operand, position: &[Value], value: Value) {
    let mut args = program(cx);
    let sizes = &operand.sizes;
    // Coordinates are as wide as the largest one of their dimension, so that lines stand below each other.
    let indices: Vec<String> =
        sizes.iter().map(|size| format!("%{}u", (size - 1).to_string().len())).collect();
    args.extend_from_slice(position);
    let (conversion, values) = printed(cx, operand, value);
    args.extend(values);
    let format = format!("pid (%u, %u, %u) idx ({}){}{conversion}\n", indices.join(", "), operand.prefix);
    cx.target.print(&mut cx.b, &PrintCall { format: &format, args: &args });
}

/// How a value is printed: the conversion of the format and the argument as C passes it.
fn printed(cx: &mut Cx<'_>, operand: &Operand, value: Value) -> (String, Values) {
    let elem = ttir::types::elem(operand.ty);
    let bits = ttir::types::elem_bits(elem);
    if operand.hex || elem.scalar_bits().is_none() {
        let integer = crate::packing::as_integer(cx, value);
        let wide = cx.b.resize_unsigned(integer, if bits > 32 { Type::I64 } else { Type::I32 });
        let digits = bits.div_ceil(4);
        let length = if bits > 32 { "ll" } else { "" };
        return (format!("0x%0{digits}{length}x"), Values::from_slice(&[wide]));
    }
    if elem.as_float().is_some() {
        let wide = cx.element(|ctx| as_wide(ctx, elem, value));
        let double = cx.b.cast(Inst::FPEXT, wide, Type::F64);
        return ("%f".into(), Values::from_slice(&[double]));
    }
    let ty = if types::register(elem).lane_bits() > 32 { Type::I64 } else { Type::I32 };
    let wide = if operand.signed { cx.b.resize_signed(value, ty) } else { cx.b.resize_unsigned(value, ty) };
    let conversion = match (operand.signed, ty == Type::I64) {
        (true, false) => "%i",
        (true, true) => "%lli",
        (false, false) => "%u",
        (false, true) => "%llu",
    };
    (conversion.into(), Values::from_slice(&[wide]))
}

fn assert(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let assert = AssertOp::new(cx.module, op);
    let registers = cx.registers(assert.condition())?;
    let mut all: Option<Value> = None;
    for value in registers.iter() {
        all = Some(match all {
            Some(all) => cx.b.and(all, *value),
            None => *value,
        });
    }
    let Some(all) = all else { return Ok(()) };
    if cx.b.as_int(all).is_some_and(|value| value != 0) {
        return Ok(());
    }
    let fails = cx.b.not(all);
    let fails = match cx.combining {
        Some(combining) => cx.b.and(fails, combining),
        None => fails,
    };
    let message = assert.message().to_owned();
    let place = cx.module.locs.file_place(cx.module.loc(op));
    let (file, line) = place.map_or(("unknown".to_owned(), 0), |(file, line, _)| (file.to_string(), line));
    let function = function_name(cx, op);
    guarded(cx, Some(fails), |cx| {
        let place = AssertPlace { message: &message, file: &file, function: &function, line };
        cx.target.assert_fail(&mut cx.b, &place);
        Ok(())
    })?;
    // Lanes whose elements are fine must not run ahead of the failure.
    if ttir::types::is_tensor(cx.module.ty(assert.condition())) {
        cx.memory_barrier();
    }
    Ok(())
}

/// The function that an operation stands in, as the source names it.
fn function_name(cx: &Cx<'_>, op: Op) -> String {
    let mut walk = Some(op);
    while let Some(op) = walk {
        if let Some(function) = FuncOp::of(cx.module, op) {
            return function.name().to_owned();
        }
        walk = cx.module.parent_op(op);
    }
    "unknown".to_owned()
}
