//! Printing, assertions and assumptions.

use super::access::Element;
use super::error::RunErrorKind;
use super::interpreter::{Entry, Interpreter, Outcome};
use super::positions::{coordinates, element_name};
use crate::ops;
use crate::ops::debug::{AssertOp, PrintOp};
use crate::ops::program::AssumeOp;
use crate::types::{elem, elem_bits, numel, shape};
use ir::{Op, Type, Value};

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[
    (&ops::memory::BARRIER, nothing),
    (&ops::program::ASSUME, assume),
    (&ops::program::GRID_DEPENDENCY_WAIT, nothing),
    (&ops::program::GRID_DEPENDENCY_LAUNCH_DEPENDENTS, nothing),
    (&ops::debug::PRINT, print),
    (&ops::debug::ASSERT, assert),
];

/// One element that a kernel prints.
#[derive(Clone, Copy, Debug)]
pub struct PrintedElement<'a> {
    /// The program that prints.
    pub program: [u32; 3],
    /// The shape of the block; empty for a scalar.
    pub shape: &'a [i64],
    /// The row-major position of the element.
    pub position: usize,
    /// The prefix, with the spaces and the colon around it.
    pub prefix: &'a str,
    /// Which of several operands, if there are several.
    pub operand: Option<usize>,
    /// The type of the element.
    pub ty: Type,
    /// Its bits.
    pub bits: u64,
    /// Whether to print the bits in base 16.
    pub hex: bool,
    /// Whether an integer is signed.
    pub signed: bool,
}

/// The line for one printed element: `pid (0, 0, 0) idx ( 7) x: 1.500000`. Every engine prints through this.
pub fn print_line(printed: &PrintedElement<'_>) -> String {
    let [x, y, z] = printed.program;
    // Coordinates are as wide as the largest one of their dimension, so that lines stand below each other.
    let indices: Vec<String> = coordinates(printed.shape, printed.position)
        .iter()
        .zip(printed.shape)
        .map(|(coordinate, dim)| format!("{coordinate:>width$}", width = (dim - 1).to_string().len()))
        .collect();
    let operand = printed.operand.map(|operand| format!("(operand {operand}) ")).unwrap_or_default();
    let value = value_text(printed);
    format!("pid ({x}, {y}, {z}) idx ({}){}{operand}{value}", indices.join(", "), printed.prefix)
}

fn value_text(printed: &PrintedElement<'_>) -> String {
    let bits = printed.bits;
    if printed.hex || printed.ty.scalar_bits().is_none() {
        let digits = elem_bits(printed.ty).div_ceil(4) as usize;
        return format!("0x{bits:0digits$x}");
    }
    if let Some(kind) = printed.ty.as_float() {
        let value = ir::scalar::float_value(kind, bits);
        return if value.is_nan() { "nan".into() } else { format!("{value:.6}") };
    }
    if printed.signed {
        return ir::scalar::sign_extend(elem_bits(printed.ty), bits).to_string();
    }
    bits.to_string()
}

/// Prints every element of every operand.
pub(crate) fn print(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let module = interpreter.module;
    let of = PrintOp::new(module, op);
    let (prefix, hex, signed) = (of.prefix(), of.hex(), of.is_signed());
    let operands = interpreter.operands(op);
    if operands.is_empty() {
        let [x, y, z] = interpreter.program;
        interpreter.hooks.print(&format!("pid ({x}, {y}, {z}){prefix}"));
    }
    for (index, data) in operands.iter().enumerate() {
        let ty = module.ty(of.args()[index]);
        let printed = of.printed_shape(index);
        for position in 0..numel(ty) as usize {
            let at = coordinates(shape(ty), position);
            if at.iter().zip(printed).any(|(&at, &size)| at >= size as usize) {
                continue;
            }
            let element = Element { op, shape: shape(ty), position, pointer: None };
            interpreter.require(element, data, "the printed value")?;
            let line = print_line(&PrintedElement {
                program: interpreter.program,
                shape: printed,
                position: at.iter().zip(printed).fold(0, |number, (at, &size)| number * size as usize + at),
                prefix,
                operand: (operands.len() > 1).then_some(index),
                ty: elem(ty),
                bits: data.at(position),
                hex,
                signed: signed.get(index).is_some_and(|&signed| signed != 0),
            });
            interpreter.hooks.print(&line);
        }
    }
    Ok(())
}

/// Fails where the condition does not hold.
pub(crate) fn assert(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = AssertOp::new(interpreter.module, op);
    let message = format!("device-side assertion failed: {}", of.message());
    check(interpreter, op, of.condition(), "the asserted condition", &message)
}

/// A broken promise is an error here; other engines may do anything then.
pub(crate) fn assume(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let condition = AssumeOp::new(interpreter.module, op).cond();
    check(interpreter, op, condition, "the assumed condition", "the program assumes what does not hold")
}

fn check(
    interpreter: &mut Interpreter<'_>,
    op: Op,
    condition: Value,
    what: &str,
    message: &str,
) -> Outcome<()> {
    let ty = interpreter.module.ty(condition);
    let condition = interpreter.get(condition);
    for position in 0..numel(ty) as usize {
        interpreter.require(Element { op, shape: shape(ty), position, pointer: None }, condition, what)?;
        if condition.at(position) & 1 == 0 {
            let element = match shape(ty) {
                [] => String::new(),
                dims => format!(" (element {})", element_name(dims, position)),
            };
            return Err(interpreter.error(op, RunErrorKind::Assertion, format!("{message}{element}")));
        }
    }
    Ok(())
}

/// Programs have no lanes here that could run apart.
pub(crate) fn nothing(_machine: &mut Interpreter<'_>, _op: Op) -> Outcome<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{PrintedElement, print_line};
    use ir::{FloatKind, Type};

    fn line(ty: Type, bits: u64, hex: bool, signed: bool) -> String {
        print_line(&PrintedElement {
            program: [1, 0, 2],
            shape: &[4, 16],
            position: 25,
            prefix: " x: ",
            operand: None,
            ty,
            bits,
            hex,
            signed,
        })
    }

    #[test]
    fn lines_show_program_element_and_value() {
        let f32 = Type::float(FloatKind::F32);
        assert_eq!(line(f32, 0x3fc0_0000, false, false), "pid (1, 0, 2) idx (1,  9) x: 1.500000");
        assert_eq!(line(f32, 0x3fc0_0000, true, false), "pid (1, 0, 2) idx (1,  9) x: 0x3fc00000");
        assert_eq!(line(Type::int(8), 0xff, false, true), "pid (1, 0, 2) idx (1,  9) x: -1");
        assert_eq!(line(Type::int(8), 0xff, false, false), "pid (1, 0, 2) idx (1,  9) x: 255");
        assert_eq!(line(f32, 0xff80_0000, false, false), "pid (1, 0, 2) idx (1,  9) x: -inf");
    }

    #[test]
    fn a_scalar_has_no_index() {
        let printed = PrintedElement {
            program: [0; 3],
            shape: &[],
            position: 0,
            prefix: " n: ",
            operand: Some(1),
            ty: Type::int(32),
            bits: 5,
            hex: false,
            signed: true,
        };
        assert_eq!(print_line(&printed), "pid (0, 0, 0) idx () n: (operand 1) 5");
    }
}
