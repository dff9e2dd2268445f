//! Inline assembly that says in PTX what the language has an operation for, as that operation: so that kernels with it
//! run where there is no PTX.
//!
//! ```text
//! tt.elementwise_inline_asm "tanh.approx.f32 $0, $1;" {…} %x    =>    math.tanh %x
//! ```
//!
//! Texts of one instruction, from the first operand on in order, whose types are those of the operands; the barrier of
//! a program, `bar.sync 0;`, and what launches say to each other, `griddepcontrol.wait;`, whose results mean nothing;
//! and straight code on registers ([`sequence`]). Everything else stays, and targets without PTX refuse it. An
//! approximation becomes the function that it approximates.

mod bits;
mod compute;
mod narrow;
mod places;
mod sequence;
mod text;

pub use places::note_any_order;

use ir::{Builder, FloatKind, Module, Op, OpRow, Type, Value};
use ttir::ops::extern_call::{INLINE_ASM, InlineAsmOp};
use ttir::ops::{arith_cast, arith_float, arith_int, constant, math, memory};

/// What an instruction is.
#[derive(Clone, Copy)]
enum Meaning {
    /// An operation on the same operands.
    Row(&'static OpRow),
    /// One over the operand.
    Reciprocal,
    /// The operand itself.
    Same,
}

use Meaning::{Reciprocal, Row, Same};

/// Instructions without the words that say how to round, with the types of their operands, and what they are.
#[rustfmt::skip]
static INSTRUCTIONS: &[(&str, &[&str], Meaning)] = &[
    ("abs", &["f32", "f64", "f16", "bf16"], Row(&math::ABSF)),
    ("abs", &["s16", "s32", "s64"], Row(&math::ABSI)),
    ("neg", &["f32", "f64", "f16", "bf16"], Row(&arith_float::NEGF)),
    ("add", &["f32", "f64", "f16", "bf16"], Row(&arith_float::ADDF)),
    ("sub", &["f32", "f64", "f16", "bf16"], Row(&arith_float::SUBF)),
    ("mul", &["f32", "f64", "f16", "bf16"], Row(&arith_float::MULF)),
    ("div", &["f32"], Row(&arith_float::PRECISE_DIVF)),
    ("div", &["f64"], Row(&arith_float::DIVF)),
    ("fma", &["f32", "f64", "f16", "bf16"], Row(&math::FMA)),
    ("min", &["f32", "f64", "f16", "bf16"], Row(&arith_float::MINNUMF)),
    ("max", &["f32", "f64", "f16", "bf16"], Row(&arith_float::MAXNUMF)),
    ("rcp", &["f32", "f64"], Reciprocal),
    ("sqrt", &["f32", "f64"], Row(&math::SQRT)),
    ("rsqrt", &["f32", "f64"], Row(&math::RSQRT)),
    ("sin", &["f32"], Row(&math::SIN)),
    ("cos", &["f32"], Row(&math::COS)),
    ("tanh", &["f32"], Row(&math::TANH)),
    ("ex2", &["f32"], Row(&math::EXP2)),
    ("lg2", &["f32"], Row(&math::LOG2)),
    ("mov", &["f32", "f64", "b16", "b32", "b64", "u32", "s32", "u64", "s64"], Same),
    ("add", &["s16", "u16", "s32", "u32", "s64", "u64"], Row(&arith_int::ADDI)),
    ("sub", &["s16", "u16", "s32", "u32", "s64", "u64"], Row(&arith_int::SUBI)),
    ("mul.lo", &["s16", "u16", "s32", "u32", "s64", "u64"], Row(&arith_int::MULI)),
    ("mul.hi", &["u32", "u64"], Row(&arith_int::MULHIUI)),
    ("min", &["s16", "s32", "s64"], Row(&arith_int::MINSI)),
    ("max", &["s16", "s32", "s64"], Row(&arith_int::MAXSI)),
    ("min", &["u16", "u32", "u64"], Row(&arith_int::MINUI)),
    ("max", &["u16", "u32", "u64"], Row(&arith_int::MAXUI)),
    ("and", &["b16", "b32", "b64"], Row(&arith_int::ANDI)),
    ("or", &["b16", "b32", "b64"], Row(&arith_int::ORI)),
    ("xor", &["b16", "b32", "b64"], Row(&arith_int::XORI)),
    ("cvt", &["f16.f32", "bf16.f32"], Row(&arith_cast::TRUNCF)),
    ("cvt", &["f32.f16", "f32.bf16"], Row(&arith_cast::EXTF)),
];

/// Words of an instruction that choose how well it rounds.
const ROUNDING: [&str; 4] = ["rn", "approx", "full", "ftz"];

/// Replaces inline assembly by operations, as far as there are some for it.
pub fn operations_for_assembly(module: &mut Module) {
    for op in module.walk(module.top()) {
        if module.is(op, &INLINE_ASM) && !replace(module, op) {
            sequence::replace(module, op);
        }
    }
}

/// Puts one operation in place of a text; whether it did.
fn replace(module: &mut Module, op: Op) -> bool {
    let of = InlineAsmOp::new(module, op);
    let (args, results) = (of.args().to_vec(), module.results(op).to_vec());
    let [result] = results[..] else { return false };
    let is_number = ttir::types::pointee(module.ty(result)).is_none();
    if args.is_empty()
        && is_number
        && let Some(effects) = effects(of.asm_string())
    {
        put_effects(module, op, &effects);
        return true;
    }
    let Some((name, types)) = instruction(of.asm_string(), args.len()) else { return false };
    let (result_type, args_types) = types.split_once('.').unwrap_or((types, types));
    let rounds = of.asm_string().contains(".rn.");
    let has_types = is_of(module.ty(result), result_type)
        && args.iter().all(|arg| is_of(module.ty(*arg), args_types))
        && of.packed_element() == 1;
    let row = INSTRUCTIONS.iter().find(|row| row.0 == name && row.1.contains(&types));
    let Some((_, _, meaning)) = row.filter(|_| has_types) else { return false };
    let value = match meaning {
        Row(row) if rounds => {
            let ty = module.ty(result);
            unfused(&mut Builder::before(module, op), ty, row, &args)
        }
        _ => None,
    };
    let Some(value) = value.or_else(|| meaning.build(module, op, &args)) else { return false };
    module.replace_uses(result, value);
    module.erase(op);
    true
}

/// What an instruction without registers does.
enum Effect {
    /// The barrier that all lanes of a program meet at.
    Barrier,
    /// It waits for the launch before, or lets the next one begin. Where there is no PTX, launches never overlap.
    Launch,
}

/// Puts what instructions do in place of a text, whose result none of them writes: it has no meaning, and is zero.
fn put_effects(module: &mut Module, op: Op, effects: &[Effect]) {
    let result = module.result(op, 0);
    let (ty, is_used) = (module.ty(result), !module.is_unused(result));
    let mut builder = Builder::before(module, op);
    for _ in effects.iter().filter(|effect| matches!(effect, Effect::Barrier)) {
        let attrs = memory::BarrierOp::attrs(memory::BarrierScope::All);
        builder.build_effect(&memory::BARRIER, &[], &attrs);
    }
    if is_used {
        let nothing = constant::build(&mut builder, ty, 0);
        module.replace_uses(result, nothing);
    }
    module.erase(op);
}

/// What the instructions of a text do, if none has a register.
fn effects(text: &str) -> Option<Vec<Effect>> {
    let text = text::parse(text)?;
    let effect = |instruction: &text::Instruction| {
        let words = instruction.words.join(".");
        match (words.as_str(), &instruction.operands[..]) {
            _ if instruction.guard.is_some() => None,
            (
                "bar.sync" | "barrier.sync" | "barrier.sync.aligned" | "bar.cta.sync",
                [text::Operand::Number(0)],
            ) => Some(Effect::Barrier),
            ("griddepcontrol.wait" | "griddepcontrol.launch_dependents", []) => Some(Effect::Launch),
            _ => None,
        }
    };
    let effects: Vec<Effect> = text.instructions.iter().map(effect).collect::<Option<_>>()?;
    (!effects.is_empty()).then_some(effects)
}

impl Meaning {
    /// The operation before the assembly; `None` where the operands are not those of the operation.
    fn build(self, module: &mut Module, op: Op, args: &[Value]) -> Option<Value> {
        let result = module.ty(module.result(op, 0));
        let same = args.first().copied().filter(|from| module.ty(*from) == result);
        let mut builder = Builder::before(module, op);
        match (self, args) {
            (Same, [_]) => same,
            (Reciprocal, [of]) => {
                let one = constant::float(&mut builder, result, 1.0);
                Some(builder.build(&arith_float::DIVF, &[one, *of], &[]))
            }
            (Row(row), args) if row.operands.len() == args.len() => {
                Some(builder.build_as(row, args, &[], result))
            }
            _ => None,
        }
    }
}

/// A sum or product that nothing is fused with, as `.rn` says: it is a fused operation itself, of which one step is
/// exact.
fn unfused(builder: &mut Builder<'_>, ty: Type, row: &OpRow, args: &[Value]) -> Option<Value> {
    let &[a, b] = args else { return None };
    if !matches!(ttir::types::elem(ty).as_float(), Some(FloatKind::F32 | FloatKind::F64)) {
        return None;
    }
    let constant = |builder: &mut Builder<'_>, value| constant::float(builder, ty, value);
    let operands = if row.is(&arith_float::MULF) {
        [a, b, constant(builder, -0.0)]
    } else if row.is(&arith_float::ADDF) {
        [a, constant(builder, 1.0), b]
    } else if row.is(&arith_float::SUBF) {
        [b, constant(builder, -1.0), a]
    } else {
        return None;
    };
    Some(builder.build(&math::FMA, &operands, &[]))
}

/// The name and the types of the one instruction of a text, if its operands are `$0, $1, …` up to the last.
fn instruction(text: &str, args: usize) -> Option<(&str, &str)> {
    let text = text.trim().trim_start_matches('{').trim_end_matches('}').trim();
    let (mnemonic, operands) = text.strip_suffix(';').unwrap_or(text).split_once(char::is_whitespace)?;
    let numbered = operands.split(',').enumerate().all(|(at, operand)| operand.trim() == format!("${at}"));
    (numbered && operands.split(',').count() == args + 1).then_some(())?;
    split(mnemonic)
}

/// `ex2.approx.ftz.f32` as `ex2` and `f32`; `cvt.rn.f16.f32` as `cvt` and `f16.f32`. What lies between may only be
/// about rounding.
fn split(mnemonic: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let is_type = |word: &str| {
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
        digits.len() < word.len() && matches!(digits, "16" | "32" | "64")
    };
    let types = words.iter().rev().take_while(|word| is_type(word)).count();
    let named = 1 + words[1..].iter().take_while(|word| matches!(**word, "lo" | "hi")).count();
    let between = words.get(named..words.len() - types)?;
    if types == 0 || !between.iter().all(|word| ROUNDING.contains(word)) {
        return None;
    }
    let length = |words: &[&str]| words.iter().map(|word| word.len() + 1).sum::<usize>() - 1;
    let types = &words[words.len() - types..];
    Some((&mnemonic[..length(&words[..named])], &mnemonic[mnemonic.len() - length(types)..]))
}

/// Whether the elements of a type are what a type of PTX says.
fn is_of(ty: Type, name: &str) -> bool {
    let element = ttir::types::elem(ty);
    match name {
        "f16" => element.as_float() == Some(FloatKind::F16),
        "bf16" => element.as_float() == Some(FloatKind::BF16),
        "f32" => element.as_float() == Some(FloatKind::F32),
        "f64" => element.as_float() == Some(FloatKind::F64),
        integer => element.as_int().is_some_and(|bits| integer[1..] == bits.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{INSTRUCTIONS, instruction, operations_for_assembly};

    #[test]
    fn one_instruction_is_taken_apart() {
        assert_eq!(instruction("ex2.approx.ftz.f32 $0, $1;", 1), Some(("ex2", "f32")));
        assert_eq!(instruction("{ mul.lo.s32 $0,$1, $2; }", 2), Some(("mul.lo", "s32")));
        assert_eq!(instruction("cvt.rn.bf16.f32 $0, $1;", 1), Some(("cvt", "bf16.f32")));
        for text in [
            "add.f32 $0, $2, $1;",
            "add.f32 $0, $1, 1;",
            "add.rz.f32 $0, $1, $2;",
            "ret;",
            "",
            "mov.u32 $0, %tid.x;",
        ] {
            assert_eq!(instruction(text, 2), None, "{text}");
        }
        assert_eq!(instruction("add.f32 $0, $1, $1; add.f32 $0, $0, $1;", 2), None);
    }

    #[test]
    fn names_and_types_of_rows_are_found() {
        for (name, types, _) in INSTRUCTIONS {
            for ty in *types {
                assert_eq!(super::split(&format!("{name}.rn.{ty}")), Some((*name, *ty)));
            }
        }
    }

    #[test]
    fn effects_of_texts_are_known() {
        let count = |text: &str| super::effects(text).map(|effects| effects.len());
        assert_eq!(count("bar.sync 0;"), Some(1));
        assert_eq!(count("griddepcontrol.wait; // dummy $0"), Some(1));
        assert_eq!(count("griddepcontrol.launch_dependents; /* and */ bar.sync 0"), Some(2));
        for text in
            ["", "ret;", "bar.sync 1;", "@p bar.sync 0;", "bar.sync 0, 64;", "griddepcontrol.wait $0;"]
        {
            assert_eq!(count(text), None, "{text}");
        }
    }

    #[test]
    fn assembly_becomes_operations() {
        let text = r#"
tt.func public @f(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %a = tt.elementwise_inline_asm "tanh.approx.f32 $0, $1;" {constraints = "=f,f", packed_element = 1 : i32, pure = true} %x : tensor<4xf32> -> tensor<4xf32>
  %b = tt.elementwise_inline_asm "rcp.approx.ftz.f32 $0, $1;" {constraints = "=f,f", packed_element = 1 : i32, pure = true} %a : tensor<4xf32> -> tensor<4xf32>
  %c = tt.elementwise_inline_asm "add.s32 $0, $1, $2;" {constraints = "=r,r,r", packed_element = 1 : i32, pure = true} %n, %n : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %e = tt.elementwise_inline_asm "mul.rn.f32 $0, $1, $2;" {constraints = "=f,f,f", packed_element = 1 : i32, pure = true} %b, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %d = tt.elementwise_inline_asm "fns.b32 $0, $1, $1, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %c : tensor<4xi32> -> tensor<4xi32>
  tt.return %e, %d : tensor<4xf32>, tensor<4xi32>
}"#;
        let mut module =
            ir::text::parse(text, ttir::registry(), ir::text::ParseOptions::default()).expect("it parses");
        operations_for_assembly(&mut module);
        ir::verify(&module).expect("it is valid");
        let printed = ir::text::print(&module, ir::text::PrintOptions::PLAIN);
        for part in ["math.tanh %x", "math.fma %", "arith.divf %", "arith.addi %n, %n", "fns.b32"] {
            assert!(printed.contains(part), "{printed}");
        }
        assert_eq!(printed.matches("inline_asm").count(), 1);
    }
}
