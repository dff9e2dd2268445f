//! Instructions of the machine that the program brings along.
//!
//! The text runs once for each `packed_element` neighbouring elements. Operands of fewer than 32 bits travel together
//! in one 32-bit register; so do results.

use super::SharingEntry;
use super::neighbours::{self, Ways};
use crate::context::Cx;
use crate::error::Result;
use crate::shared::{Need, Planner};
use crate::types;
use crate::value::LaneValue;
use ir::{Module, Op};
use llir::{Asm, Op as Inst, Type, Value, Values};
use ttir::ops::extern_call::{INLINE_ASM, InlineAsmOp};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&INLINE_ASM, inline_asm, need)];

fn need(planner: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    Ok(neighbours::need(ways(planner, module, op)?.as_ref()))
}

fn ways(planner: &mut Planner, module: &Module, op: Op) -> Result<Option<Ways>> {
    neighbours::ways(planner, module, op, InlineAsmOp::new(module, op).neighbours())
}

/// The attributes of one operation.
struct Text {
    asm: Asm,
    pack: usize,
}

fn text(cx: &Cx<'_>, op: Op) -> Result<Text> {
    let view = InlineAsmOp::new(cx.module, op);
    // LLVM takes no blanks between constraints, and people write them.
    let constraints = view.constraints().split_whitespace().collect();
    let asm = Asm { text: view.asm_string().to_owned(), constraints, side_effects: !view.pure() };
    match view.packed_element() {
        0 => Err(cx.error(op, "takes no element at a time")),
        pack => Ok(Text { asm, pack: pack as usize }),
    }
}

fn inline_asm(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let text = text(cx, op)?;
    let ways = ways(&mut cx.planner, cx.module, op)?;
    let results = cx.module.results(op).to_vec();
    let operands = neighbours::operands(cx, op, ways.as_ref())?;
    let count = match &ways {
        Some(ways) => ways.registers,
        None => {
            let of = |value: &ir::Value| cx.register_count(cx.module.ty(*value));
            let counts = results.iter().map(of).collect::<Result<Vec<_>>>()?;
            counts.into_iter().chain(operands.iter().map(Vec::len)).max().unwrap_or(1)
        }
    };
    let element = |value: &ir::Value| types::register(cx.module.ty(*value));
    let result_types: Vec<Type> = results.iter().map(element).collect();
    let mut outputs: Vec<Vec<Value>> = vec![Vec::with_capacity(count); results.len()];
    for start in (0..count).step_by(text.pack) {
        let mut args = Values::new();
        for registers in &operands {
            let group: Values = (start..start + text.pack)
                .map(|register| registers[register.min(registers.len() - 1)])
                .collect();
            args.extend(pack_words(cx, &group));
        }
        let produced = run(cx, &text, &result_types, &args);
        for (all, values) in outputs.iter_mut().zip(produced) {
            all.extend(values.into_iter().take(count - start));
        }
    }
    let outputs = neighbours::results(cx, op, ways.as_ref(), outputs)?;
    for (result, registers) in results.iter().zip(outputs) {
        let is_tensor = ttir::types::is_tensor(cx.module.ty(*result));
        let value = match is_tensor {
            true => LaneValue::tensor(registers),
            false => LaneValue::Scalar(registers[0]),
        };
        cx.set(*result, value);
    }
    Ok(())
}

/// How many elements of a type share a word.
fn per_word(ty: Type) -> usize {
    (32 / ty.lane_bits().max(8) as usize).max(1)
}

/// Elements in words: those of fewer than 32 bits together in 32-bit integers, others as they are.
fn pack_words(cx: &mut Cx<'_>, values: &[Value]) -> Values {
    let ty = cx.b.ty(values[0]);
    let each = per_word(ty);
    if each == 1 || values.len() == 1 {
        return values.iter().map(|value| as_operand(cx, *value)).collect();
    }
    values.chunks(each).map(|chunk| crate::packing::join(cx, chunk)).collect()
}

/// Truth values are passed as integers, addresses as they are.
fn as_operand(cx: &mut Cx<'_>, value: Value) -> Value {
    match cx.b.ty(value) {
        Type::I1 => cx.b.cast(Inst::ZEXT, value, Type::I32),
        Type::I8 => cx.b.cast(Inst::ZEXT, value, Type::I16),
        _ => value,
    }
}

/// Runs the text once; answers the elements of each result.
fn run(cx: &mut Cx<'_>, text: &Text, results: &[Type], args: &[Value]) -> Vec<Values> {
    let mut parts: Vec<Type> = Vec::new();
    for ty in results {
        let each = per_word(*ty);
        let packed = each > 1 && text.pack > 1;
        let words = if packed { text.pack.div_ceil(each) } else { text.pack };
        let word = match *ty {
            _ if packed => Type::I32,
            Type::I1 => Type::I32,
            Type::I8 => Type::I16,
            other => other,
        };
        parts.extend(std::iter::repeat_n(word, words));
    }
    let produced = cx.b.inline_asm(text.asm.clone(), Type::structure(&parts), args);
    let Some(produced) = produced else { return Vec::new() };
    let mut words = cx.b.parts(produced).into_iter();
    let mut all = Vec::new();
    for ty in results {
        let each = per_word(*ty);
        let mut values = Values::new();
        while values.len() < text.pack {
            let Some(word) = words.next() else { break };
            if each > 1 && text.pack > 1 {
                let split = crate::packing::split(cx, word, *ty, each);
                values.extend(split);
            } else {
                let value = match *ty {
                    Type::I1 | Type::I8 => cx.b.cast(Inst::TRUNC, word, *ty),
                    _ => word,
                };
                values.push(value);
            }
        }
        values.truncate(text.pack);
        all.push(values);
    }
    all
}
