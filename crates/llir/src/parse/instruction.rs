//! Instructions in text, by the form that their row names.

use super::ParseError;
use super::lexer::{Cursor, Token};
use super::reader::Reader;
use crate::asm::Asm;
use crate::flags::Flags;
use crate::function::{
    BlockCall, FloatCompare, InstData, IntCompare, Memory, Ordering, Payload, Rmw, SyncScope, Value,
};
use crate::location::Location;
use crate::module::Callee;
use crate::rows::{Format, Op};
use crate::types::Type;
use smallvec::SmallVec;

/// Words that LLVM prints and this crate does not have; leaving one out says less and is right.
const WORDS_OF_LESS: &[&str] = &["tail", "disjoint", "nneg", "samesign", "nusw"];

type Read<T> = Result<T, ParseError>;

/// Reads an instruction with what is attached to it.
pub(super) fn read(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>) -> Read<(InstData, Option<Location>)> {
    while let Some(Token::Word(word)) = cursor.peek() {
        if !WORDS_OF_LESS.contains(&word.as_str()) {
            break;
        }
        cursor.take();
    }
    let unknown = cursor.wrong("an instruction is expected here");
    let name = cursor.word("an instruction")?;
    let op = Op::all().find(|op| op.row().name == name);
    let op = op.ok_or(ParseError { message: format!("there is no instruction `{name}`"), ..unknown })?;
    let atomic = cursor.accept_word("atomic");
    let mut flags = Flags::NONE;
    while let Some(Token::Word(word)) = cursor.peek() {
        let flag = Flags::of_word(word);
        if flag.is_none() && !WORDS_OF_LESS.contains(&word.as_str()) {
            break;
        }
        if let Some(flag) = flag.filter(|flag| !op.row().flags.contains(*flag)) {
            let message = format!("`{name}` cannot be `{}`", flag.to_string().trim());
            return Err(cursor.wrong(&message));
        }
        flags = flags | flag.unwrap_or(Flags::NONE);
        cursor.take();
    }
    let data = match op.row().format {
        Format::Call | Format::CallIndirect | Format::Asm => call(reader, cursor)?,
        Format::Jump | Format::Branch => branch(reader, cursor)?,
        format => plain(reader, cursor, op, format, atomic)?,
    };
    let flags = data.flags | flags;
    attached(reader, cursor, InstData { flags, ..data })
}

/// `, !name !7` behind an instruction.
fn attached(
    reader: &mut Reader<'_>,
    cursor: &mut Cursor<'_>,
    mut data: InstData,
) -> Read<(InstData, Option<Location>)> {
    let mut location = None;
    while let (Some(Token::Mark(',')), Some(Token::Metadata(kind))) = (cursor.peek(), cursor.peek_second()) {
        cursor.take();
        cursor.take();
        let Some(Token::Metadata(number)) = cursor.take() else {
            return Err(cursor.wrong("the number of metadata is expected in front of this"));
        };
        match kind.as_str() {
            "dbg" => {
                // A call without a place is printed with line 0: LLVM wants one on every call.
                let is_call = matches!(data.op.row().format, Format::Call | Format::CallIndirect);
                location = reader.metadata.location(number, reader.module);
                location = location.filter(|place| !is_call || place.line > 0);
            }
            "prof" => {
                if let Some(weights) = reader.metadata.weights(number) {
                    data.payload = weights;
                }
            }
            // Other attributes of an override are advice.
            _ => {}
        }
        if let Payload::Memory(memory) = &mut data.payload {
            memory.nontemporal |= kind == "nontemporal";
            memory.invariant |= kind == "invariant.load";
        }
    }
    Ok((data, location))
}

/// Instructions that have a form of their own.
fn plain(
    reader: &mut Reader<'_>,
    cursor: &mut Cursor<'_>,
    op: Op,
    format: Format,
    atomic: bool,
) -> Read<InstData> {
    match format {
        Format::Binary => {
            let a = reader.typed(cursor)?;
            cursor.expect(',')?;
            let ty = reader.ty(a);
            let b = reader.value(cursor, ty)?;
            Ok(InstData::new(op, ty, &[a, b]))
        }
        Format::Unary => {
            let a = reader.typed(cursor)?;
            Ok(InstData::new(op, reader.ty(a), &[a]))
        }
        Format::Compare => compare(reader, cursor, op),
        Format::Cast => {
            let a = reader.typed(cursor)?;
            cursor.expect_word("to")?;
            let ty = reader.structures.read(cursor)?;
            Ok(InstData::new(op, ty, &[a]))
        }
        Format::Gep => {
            let element = reader.structures.read(cursor)?;
            cursor.expect(',')?;
            let operands = typed_list(reader, cursor, 2)?;
            let (base, by) = (reader.ty(operands[0]), reader.ty(operands[1]));
            let ty = if by.is_vector() { base.vector(by.lanes()) } else { base };
            Ok(InstData::new(op, ty, &operands).with(Payload::Element(element, 0)))
        }
        Format::Select => {
            let operands = typed_list(reader, cursor, 3)?;
            Ok(InstData::new(op, reader.ty(operands[1]), &operands))
        }
        Format::Extract => {
            let operands = typed_list(reader, cursor, 2)?;
            Ok(InstData::new(op, reader.ty(operands[0]).lane(), &operands))
        }
        Format::Insert => {
            let operands = typed_list(reader, cursor, 3)?;
            Ok(InstData::new(op, reader.ty(operands[0]), &operands))
        }
        Format::Return if cursor.accept_word("void") => Ok(InstData::new(op, Type::VOID, &[])),
        Format::Return => Ok(InstData::new(op, Type::VOID, &[reader.typed(cursor)?])),
        Format::Unreachable => Ok(InstData::new(op, Type::VOID, &[])),
        Format::Switch => switch(reader, cursor, op),
        Format::Shuffle => shuffle(reader, cursor, op),
        Format::ExtractValue => {
            let whole = reader.typed(cursor)?;
            cursor.expect(',')?;
            let index = cursor.number("the number of a part")?;
            let part = reader.ty(whole).part(index).ok_or_else(|| cursor.wrong("there is no such part"))?;
            Ok(InstData::new(op, part, &[whole]).with(Payload::Index(index)))
        }
        Format::Alloca => {
            let ty = reader.structures.read(cursor)?;
            let align = alignment(cursor)?;
            Ok(InstData::new(op, Type::PTR, &[]).with(Payload::Element(ty, align)))
        }
        Format::Load => {
            let ty = reader.structures.read(cursor)?;
            cursor.expect(',')?;
            let pointer = reader.typed(cursor)?;
            Ok(InstData::new(op, ty, &[pointer]).with(Payload::Memory(memory(cursor, atomic)?)))
        }
        Format::Store => {
            let operands = typed_list(reader, cursor, 2)?;
            Ok(InstData::new(op, Type::VOID, &operands).with(Payload::Memory(memory(cursor, atomic)?)))
        }
        Format::AtomicRmw => {
            let kind =
                chosen(cursor, RMWS.iter().map(|kind| (kind.word(), *kind)), "what to do to the memory")?;
            let operands = typed_list(reader, cursor, 2)?;
            let memory = memory(cursor, true)?;
            Ok(InstData::new(op, reader.ty(operands[1]), &operands).with(Payload::Rmw(kind, memory)))
        }
        Format::CmpXchg => {
            let operands = typed_list(reader, cursor, 3)?;
            let scope = scope(cursor)?;
            let success = ordering(cursor)?;
            ordering(cursor)?;
            let memory = Memory { ordering: Some(success), scope, ..Memory::aligned(alignment(cursor)?) };
            let ty = reader.ty(operands[2]).flagged();
            Ok(InstData::new(op, ty, &operands).with(Payload::Memory(memory)))
        }
        Format::Fence => Ok(InstData::new(op, Type::VOID, &[]).with({
            let scope = scope(cursor)?;
            Payload::Fence(ordering(cursor)?, scope)
        })),
        Format::Call | Format::CallIndirect | Format::Asm | Format::Jump | Format::Branch => {
            Err(cursor.wrong("an instruction is expected here"))
        }
    }
}

fn compare(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>, op: Op) -> Read<InstData> {
    let payload = if op == Op::ICMP {
        let words = INT_COMPARES.iter().map(|compare| (compare.word(), *compare));
        Payload::IntCompare(chosen(cursor, words, "a comparison")?)
    } else {
        let words = FLOAT_COMPARES.iter().map(|compare| (compare.word(), *compare));
        Payload::FloatCompare(chosen(cursor, words, "a comparison")?)
    };
    let a = reader.typed(cursor)?;
    cursor.expect(',')?;
    let ty = reader.ty(a);
    let b = reader.value(cursor, ty)?;
    Ok(InstData::new(op, ty.as_mask(), &[a, b]).with(payload))
}

fn shuffle(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>, op: Op) -> Read<InstData> {
    let operands = typed_list(reader, cursor, 2)?;
    cursor.expect(',')?;
    let mask_type = reader.structures.read(cursor)?;
    let lanes = mask_type.lanes();
    let mask: Vec<i32> = if cursor.accept_word("zeroinitializer") {
        vec![0; lanes as usize]
    } else if cursor.accept_word("poison") {
        vec![-1; lanes as usize]
    } else {
        cursor.expect('<')?;
        let mut mask = Vec::new();
        while !cursor.accept('>') {
            if !mask.is_empty() {
                cursor.expect(',')?;
            }
            cursor.expect_word("i32")?;
            let anything = cursor.accept_word("poison") || cursor.accept_word("undef");
            mask.push(if anything { -1 } else { cursor.number("the number of a lane")? });
        }
        mask
    };
    let ty = reader.ty(operands[0]).vector(lanes);
    Ok(InstData::new(op, ty, &operands).with(Payload::Mask(mask.into())))
}

/// `br label %b`, or `br i1 c, label %b, label %c`.
fn branch(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>) -> Read<InstData> {
    if cursor.accept_word("label") {
        let target = target(reader, cursor)?;
        return Ok(InstData { targets: vec![target], ..InstData::new(Op::JUMP, Type::VOID, &[]) });
    }
    let condition = reader.typed(cursor)?;
    let mut targets = Vec::new();
    for _ in 0..2 {
        cursor.expect(',')?;
        cursor.expect_word("label")?;
        targets.push(target(reader, cursor)?);
    }
    Ok(InstData { targets, ..InstData::new(Op::BRANCH, Type::VOID, &[condition]) })
}

/// `switch T v, label %b [ T 1, label %c … ]`.
fn switch(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>, op: Op) -> Read<InstData> {
    let value = reader.typed(cursor)?;
    cursor.expect(',')?;
    cursor.expect_word("label")?;
    let mut targets = vec![target(reader, cursor)?];
    let mut cases = Vec::new();
    cursor.expect('[')?;
    while !cursor.accept(']') {
        let ty = reader.structures.read(cursor)?;
        let case = super::constant::read(cursor, ty, reader.structures)?;
        cases.push(case.splat_bits().ok_or_else(|| cursor.wrong("a number is expected in front of this"))?);
        cursor.expect(',')?;
        cursor.expect_word("label")?;
        targets.push(target(reader, cursor)?);
    }
    let data = InstData::new(op, Type::VOID, &[value]).with(Payload::Cases(cases.into()));
    Ok(InstData { targets, ..data })
}

/// Where a jump goes; what it passes is known once the whole function is read.
fn target(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>) -> Read<BlockCall> {
    Ok(BlockCall { block: reader.label(cursor)?, args: SmallVec::new() })
}

/// Behind `call`: assembly, a function, or an address.
fn call(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>) -> Read<InstData> {
    let ty = reader.structures.read(cursor)?;
    if cursor.accept_word("asm") {
        let side_effects = cursor.accept_word("sideeffect");
        let text = cursor.text("the text of the assembly")?;
        cursor.expect(',')?;
        let constraints = cursor.text("the constraints of the assembly")?;
        let args = arguments(reader, cursor)?;
        let asm = Asm { text, constraints, side_effects };
        return Ok(InstData::new(Op::ASM, ty, &args).with(Payload::Asm(asm.into())));
    }
    if let Some(Token::Global(name)) = cursor.peek() {
        cursor.take();
        let args = arguments(reader, cursor)?;
        let params = args.iter().map(|arg| reader.ty(*arg)).collect();
        let id = reader.module.declare(Callee::named(name, ty, params));
        return Ok(InstData::new(Op::CALL, ty, &args).with(Payload::Callee(id)));
    }
    let callee = reader.value(cursor, Type::PTR)?;
    let mut operands = vec![callee];
    operands.extend(arguments(reader, cursor)?);
    Ok(InstData::new(Op::CALL_INDIRECT, ty, &operands))
}

fn arguments(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>) -> Read<Vec<Value>> {
    cursor.expect('(')?;
    let mut args = Vec::new();
    while !cursor.accept(')') {
        if !args.is_empty() {
            cursor.expect(',')?;
        }
        args.push(reader.typed(cursor)?);
    }
    Ok(args)
}

/// So many operands with their types.
fn typed_list(reader: &mut Reader<'_>, cursor: &mut Cursor<'_>, count: usize) -> Read<Vec<Value>> {
    let mut values = Vec::with_capacity(count);
    for index in 0..count {
        if index > 0 {
            cursor.expect(',')?;
        }
        values.push(reader.typed(cursor)?);
    }
    Ok(values)
}

/// What stands behind the operands of an access.
fn memory(cursor: &mut Cursor<'_>, atomic: bool) -> Read<Memory> {
    let scope = if atomic { scope(cursor)? } else { SyncScope::System };
    let ordering = if atomic { Some(ordering(cursor)?) } else { None };
    Ok(Memory { ordering, scope, ..Memory::aligned(alignment(cursor)?) })
}

/// `, align 16`.
fn alignment(cursor: &mut Cursor<'_>) -> Read<u32> {
    cursor.expect(',')?;
    cursor.expect_word("align")?;
    cursor.number("a number of bytes")
}

/// `syncscope("agent")`, if it is there.
fn scope(cursor: &mut Cursor<'_>) -> Read<SyncScope> {
    if !cursor.accept_word("syncscope") {
        return Ok(SyncScope::System);
    }
    cursor.expect('(')?;
    let wrong = cursor.wrong("the name of a scope is expected here");
    let word = cursor.text("the name of a scope")?;
    cursor.expect(')')?;
    SyncScope::ALL.iter().copied().find(|scope| scope.word() == word).ok_or(wrong)
}

fn ordering(cursor: &mut Cursor<'_>) -> Read<Ordering> {
    chosen(cursor, ORDERINGS.iter().map(|ordering| (ordering.word(), *ordering)), "an ordering")
}

/// The value of a word.
fn chosen<T>(
    cursor: &mut Cursor<'_>,
    mut choices: impl Iterator<Item = (&'static str, T)>,
    what: &str,
) -> Read<T> {
    let wrong = cursor.wrong(&format!("{what} is expected here"));
    let word = cursor.word(what)?;
    choices.find(|(name, _)| *name == word).map(|(_, value)| value).ok_or(wrong)
}

const ORDERINGS: &[Ordering] =
    &[Ordering::Monotonic, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

const RMWS: &[Rmw] = Rmw::ALL;
const INT_COMPARES: &[IntCompare] = IntCompare::ALL;
const FLOAT_COMPARES: &[FloatCompare] = FloatCompare::ALL;
