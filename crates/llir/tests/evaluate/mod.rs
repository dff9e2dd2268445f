//! Runs functions of integers and addresses, one lane, and tells what they store.
//!
//! A broken promise gives poison, as LLVM says; a branch or an address made of it is an error, since then anything may
//! happen. What is stored is told in order. Left out: loads, floats, vectors, calls.

use llir::{Block, ConstantKind, Flags, Function, InstData, IntCompare, Op, Payload, Type, Value, ValueDef};
use std::collections::HashMap;

/// A number, or poison.
pub(crate) type Number = Option<u128>;

/// The address and the number of a store.
pub(crate) type Stored = (u64, Number);

/// Why a run has no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Something depends on poison.
    Undefined,
    /// It runs too long.
    Long,
}

/// The addresses and the numbers that a function stores.
pub(crate) fn stores(function: &Function, args: &[u128]) -> Result<Vec<Stored>, Stop> {
    let mut run = Run { function, args, values: HashMap::new(), stored: Vec::new() };
    let mut block = function.layout[0];
    for _ in 0..10_000 {
        match run.block(block)? {
            Some(next) => block = next,
            None => return Ok(run.stored),
        }
    }
    Err(Stop::Long)
}

struct Run<'a> {
    function: &'a Function,
    args: &'a [u128],
    values: HashMap<Value, Number>,
    stored: Vec<Stored>,
}

fn cut(bits: u128, width: u32) -> u128 {
    bits & ((1 << width) - 1)
}

fn signed(bits: u128, width: u32) -> i128 {
    ((bits << (128 - width)) as i128) >> (128 - width)
}

fn width(ty: Type) -> u32 {
    ty.lane_bits()
}

impl Run<'_> {
    fn get(&self, value: Value) -> Number {
        match &self.function.value(value).def {
            ValueDef::Constant(constant) => match constant.kind {
                ConstantKind::Bits(bits) => Some(bits),
                _ => None,
            },
            ValueDef::Param(index) => Some(self.args[*index as usize]),
            _ => self.values[&value],
        }
    }

    fn ty(&self, value: Value) -> Type {
        self.function.value(value).ty
    }

    /// Runs a block; answers the next one.
    fn block(&mut self, block: Block) -> Result<Option<Block>, Stop> {
        for inst in &self.function.block(block).insts {
            let data = self.function.inst(*inst);
            let args: Vec<Number> = data.operands.iter().map(|value| self.get(*value)).collect();
            match data.op {
                Op::STORE => self.stored.push((args[1].ok_or(Stop::Undefined)? as u64, args[0])),
                Op::RETURN => return Ok(None),
                Op::JUMP => return Ok(Some(self.go(data, 0))),
                Op::BRANCH => {
                    let side = usize::from(args[0].ok_or(Stop::Undefined)? & 1 == 0);
                    return Ok(Some(self.go(data, side)));
                }
                _ => {
                    let result = self.function.result(*inst).expect("a result");
                    let number = self.pure(data, &args).map(|bits| cut(bits, width(data.ty)));
                    self.values.insert(result, number);
                }
            }
        }
        panic!("a block without an end");
    }

    fn go(&mut self, data: &InstData, target: usize) -> Block {
        let call = &data.targets[target];
        let args: Vec<Number> = call.args.iter().map(|value| self.get(*value)).collect();
        for (param, arg) in self.function.block(call.block).params.iter().zip(args) {
            self.values.insert(*param, arg);
        }
        call.block
    }

    fn pure(&self, data: &InstData, args: &[Number]) -> Number {
        if data.op == Op::SELECT {
            return if args[0]? & 1 == 1 { args[1] } else { args[2] };
        }
        let a = args[0]?;
        let b = if args.len() > 1 { args[1]? } else { 0 };
        let from = width(self.ty(data.operands[0]));
        let (x, y) = (signed(a, from), signed(b, from));
        match (data.op, &data.payload) {
            (Op::ADD, _) => self.sum(data, x + y, a + b),
            (Op::SUB, _) => self.sum(data, x - y, a.wrapping_sub(b)),
            (Op::MUL, _) => self.sum(data, x * y, a.wrapping_mul(b)),
            (Op::SHL, _) if b < u128::from(from) => self.sum(data, x << b, a << b),
            (Op::LSHR, _) if b < u128::from(from) => Some(a >> b),
            (Op::ASHR, _) if b < u128::from(from) => Some((x >> b) as u128),
            (Op::UDIV, _) => a.checked_div(b),
            (Op::UREM, _) => a.checked_rem(b),
            (Op::SDIV | Op::SREM, _) if y == 0 || (y == -1 && x == -1 << (from - 1)) => None,
            (Op::SDIV, _) => Some((x / y) as u128),
            (Op::SREM, _) => Some((x % y) as u128),
            (Op::AND, _) => Some(a & b),
            (Op::OR, _) => Some(a | b),
            (Op::XOR, _) => Some(a ^ b),
            (Op::SEXT, _) => Some(x as u128),
            (Op::ZEXT | Op::TRUNC, _) => Some(a),
            (Op::ICMP, Payload::IntCompare(compare)) => Some(u128::from(match compare {
                IntCompare::Eq => a == b,
                IntCompare::Ne => a != b,
                IntCompare::Slt => x < y,
                IntCompare::Sle => x <= y,
                IntCompare::Sgt => x > y,
                IntCompare::Sge => x >= y,
                IntCompare::Ult => a < b,
                IntCompare::Ule => a <= b,
                IntCompare::Ugt => a > b,
                IntCompare::Uge => a >= b,
            })),
            (Op::GEP, Payload::Element(element, _)) => {
                let index = signed(b, width(self.ty(data.operands[1])));
                let bytes = i128::from(element.lane_bytes());
                Some(a.wrapping_add((index * bytes) as u128))
            }
            (Op::SHL | Op::LSHR | Op::ASHR, _) => None,
            (op, _) => panic!("`{}` is not run here", op.row().name),
        }
    }

    /// A result that flags may forbid to wrap.
    fn sum(&self, data: &InstData, exact: i128, bits: u128) -> Number {
        let width = width(data.ty);
        let fits = signed(cut(exact as u128, width), width) == exact;
        (fits || !data.flags.contains(Flags::NSW)).then_some(bits)
    }
}
