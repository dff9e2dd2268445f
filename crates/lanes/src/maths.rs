//! The project's own elementary functions, written out where they are called.
//!
//! A function comes as a list of steps ([`maths::record`]); each becomes one instruction. Parts that few inputs need are
//! branched around.

mod rare;

use crate::cx::Cx;
use crate::error::{Result, plain};
use crate::ops::exactly;
use llir::{FloatCompare, IntCompare, Op, Type, Value};
use maths::{Action, Elem, Kind, Node, Recording, Step};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Functions that were asked for before.
pub(crate) type Recordings = FxHashMap<(String, Elem), Rc<Recording>>;

/// A function of the library on binary32 or binary64 values.
///
/// # Errors
/// When there is none of this name for so many operands.
pub(crate) fn call(cx: &mut Cx<'_>, name: &str, x: &[Value]) -> Result<Value> {
    let elem = if cx.b.ty(x[0]) == Type::F64 { Elem::F64 } else { Elem::F32 };
    let key = (name.to_owned(), elem);
    let recording = match cx.recordings.get(&key) {
        Some(known) => known.clone(),
        None => {
            let recording = maths::record(name, elem, x.len()).map_err(|error| plain(error.to_string()))?;
            let recording = Rc::new(recording);
            cx.recordings.insert(key, recording.clone());
            recording
        }
    };
    exactly(cx, |cx| {
        let mut replay = Replay { cx, args: x, results: FxHashMap::default() };
        for step in &recording.steps {
            replay.step(step)?;
        }
        replay.value(recording.result)
    })
}

/// The llir type of a kind.
fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::I1 => Type::I1,
        Kind::I32 => Type::I32,
        Kind::I64 => Type::I64,
        Kind::F32 => Type::F32,
        Kind::F64 => Type::F64,
    }
}

struct Replay<'r, 'a> {
    cx: &'r mut Cx<'a>,
    args: &'r [Value],
    results: FxHashMap<u32, Value>,
}

fn unknown(what: &str) -> crate::Error {
    plain(format!("`{what}` is not known as a step of a function"))
}

/// The instruction of a word of LLVM.
fn op_of(word: &str) -> Result<Op> {
    Op::all().find(|op| op.row().name == word).ok_or_else(|| unknown(word))
}

impl Replay<'_, '_> {
    fn value(&mut self, value: maths::Value) -> Result<Value> {
        let ty = type_of(value.kind());
        match value.node() {
            Node::Register(number) => self.results.get(&number).copied().ok_or_else(|| unknown("a result")),
            Node::Argument(index) => {
                self.args.get(index as usize).copied().ok_or_else(|| unknown("an argument"))
            }
            Node::Float(float) => Ok(self.cx.b.float(ty, float)),
            Node::Integer(integer) => Ok(self.cx.b.int(ty, integer)),
        }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let x: Vec<Value> = step.operands.iter().map(|value| self.value(*value)).collect::<Result<_>>()?;
        if let Action::Rare(kind) = step.action {
            let outputs = rare::branch(self.cx, kind, &x, step.results.len());
            for (result, output) in step.results.iter().zip(outputs) {
                self.name(*result, output);
            }
            return Ok(());
        }
        let Some(result) = step.results.first() else { return Ok(()) };
        let ty = type_of(result.kind());
        let b = &mut self.cx.b;
        let made = match step.action {
            Action::Binary(word) => b.binary(op_of(word)?, x[0], x[1]),
            Action::Cast(word) => b.cast(op_of(word)?, x[0], ty),
            Action::Intrinsic(stem) => b.intrinsic(&format!("llvm.{stem}"), ty, &x),
            Action::Negate => b.fneg(x[0]),
            Action::CompareFloat(word) => b.fcmp(float_compare(word)?, x[0], x[1]),
            Action::CompareInt(word) => b.icmp(int_compare(word)?, x[0], x[1]),
            Action::Select => b.select(x[0], x[1], x[2]),
            Action::Rare(_) => return Ok(()),
        };
        self.name(*result, made);
        Ok(())
    }

    fn name(&mut self, result: maths::Value, value: Value) {
        if let Node::Register(number) = result.node() {
            self.results.insert(number, value);
        }
    }
}

fn float_compare(word: &str) -> Result<FloatCompare> {
    const ALL: [FloatCompare; 14] = [
        FloatCompare::Oeq,
        FloatCompare::Ogt,
        FloatCompare::Oge,
        FloatCompare::Olt,
        FloatCompare::Ole,
        FloatCompare::One,
        FloatCompare::Ord,
        FloatCompare::Uno,
        FloatCompare::Ueq,
        FloatCompare::Ugt,
        FloatCompare::Uge,
        FloatCompare::Ult,
        FloatCompare::Ule,
        FloatCompare::Une,
    ];
    ALL.into_iter().find(|compare| compare.word() == word).ok_or_else(|| unknown(word))
}

fn int_compare(word: &str) -> Result<IntCompare> {
    const ALL: [IntCompare; 10] = [
        IntCompare::Eq,
        IntCompare::Ne,
        IntCompare::Slt,
        IntCompare::Sle,
        IntCompare::Sgt,
        IntCompare::Sge,
        IntCompare::Ult,
        IntCompare::Ule,
        IntCompare::Ugt,
        IntCompare::Uge,
    ];
    ALL.into_iter().find(|compare| compare.word() == word).ok_or_else(|| unknown(word))
}
