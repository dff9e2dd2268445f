//! What single instructions compute, on integers of the width of a register.

use super::text::{Instruction, Operand};
use super::{INSTRUCTIONS, Meaning, ROUNDING};
use ir::{Builder, FloatKind, Module, OpRow, Place, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::arith_cast::{
    EXTF, EXTSI, EXTUI, FP_TO_FP, FPTOSI, FPTOUI, FpToFpOp, Rounding, SITOFP, TRUNCF, TRUNCI, TT_BITCAST,
    UITOFP,
};
use ttir::ops::arith_int::{ADDI, ANDI, MULI, ORI, SHLI, SHRSI, SHRUI, SUBI, XORI};
use ttir::ops::compare::{CMPF, CMPI, CmpFOp, CmpFPredicate, CmpIOp, CmpIPredicate, SELECT};
use ttir::ops::{arith_float, constant};
use ttir::types::{elem, with_elem};

/// Bits and value of each register; none where nothing was written yet.
pub(super) type Registers = FxHashMap<String, (u32, Option<Value>)>;

/// Where operations go, and what they are on.
pub(super) struct Compute<'m> {
    module: &'m mut Module,
    place: Place,
    /// A block of this shape, or a scalar.
    shape: Type,
}

/// A type that an instruction names.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Bits(u32),
    Signed(u32),
    Unsigned(u32),
    Float(FloatKind),
}

impl Kind {
    fn of(word: &str) -> Option<Kind> {
        Some(match word {
            "f16" => Kind::Float(FloatKind::F16),
            "bf16" => Kind::Float(FloatKind::BF16),
            "f32" => Kind::Float(FloatKind::F32),
            "f64" => Kind::Float(FloatKind::F64),
            _ => {
                let bits = word.get(1..)?.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
                match &word[..1] {
                    "b" => Kind::Bits(bits),
                    "s" => Kind::Signed(bits),
                    "u" => Kind::Unsigned(bits),
                    _ => return None,
                }
            }
        })
    }

    fn bits(self) -> u32 {
        match self {
            Kind::Bits(bits) | Kind::Signed(bits) | Kind::Unsigned(bits) => bits,
            Kind::Float(kind) => kind.bits(),
        }
    }
}

impl<'m> Compute<'m> {
    pub(super) fn new(module: &'m mut Module, place: Place, shape: Type) -> Compute<'m> {
        Compute { module, place, shape }
    }

    pub(super) fn builder(&mut self) -> Builder<'_> {
        Builder::new(self.module, self.place)
    }

    pub(super) fn shape(&self) -> Type {
        self.shape
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.module.ty(value)
    }

    /// A cast to elements of a type.
    pub(super) fn cast(&mut self, row: &'static OpRow, value: Value, to: Type) -> Value {
        let ty = with_elem(self.shape, to);
        if self.ty(value) == ty {
            return value;
        }
        self.builder().build_as(row, &[value], &[], ty)
    }

    /// A constant of so many bits.
    pub(super) fn number(&mut self, bits: u32, value: u64) -> Value {
        let ty = with_elem(self.shape, Type::int(bits));
        constant::build(&mut self.builder(), ty, ir::scalar::truncate(bits, value))
    }

    pub(super) fn op(&mut self, row: &'static OpRow, operands: &[Value]) -> Value {
        self.builder().build(row, operands, &[])
    }

    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        self.op(&ORI, &[a, b])
    }

    fn bits(&self, value: Value) -> u32 {
        elem(self.ty(value)).as_int().expect("registers are integers")
    }

    pub(super) fn shifted_left(&mut self, value: Value, by: u32) -> Value {
        let by = self.number(self.bits(value), by.into());
        self.op(&SHLI, &[value, by])
    }

    pub(super) fn shifted_right(&mut self, value: Value, by: u32) -> Value {
        let by = self.number(self.bits(value), by.into());
        self.op(&SHRUI, &[value, by])
    }

    pub(super) fn compare(&mut self, predicate: CmpIPredicate, a: Value, b: Value) -> Value {
        self.builder().build(&CMPI, &[a, b], &CmpIOp::attrs(predicate))
    }

    pub(super) fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.op(&SELECT, &[condition, a, b])
    }

    /// What an operand is, in so many bits.
    pub(super) fn read(&mut self, operand: &Operand, bits: u32, registers: &Registers) -> Option<Value> {
        match operand {
            Operand::Register(name) => {
                let (own, value) = registers.get(name)?;
                value.filter(|_| *own == bits)
            }
            Operand::Number(value) => Some(self.number(bits, *value)),
            // One of another width would have to be converted.
            Operand::Float { bits: own, value } => (*own == bits).then(|| self.number(bits, *value)),
            Operand::Decimal(value) => match bits {
                32 => {
                    let single = *value as f32;
                    (f64::from(single) == *value).then(|| self.number(bits, single.to_bits().into()))
                }
                64 => Some(self.number(bits, value.to_bits())),
                _ => None,
            },
            Operand::Parts(parts) => {
                let each = bits / u32::try_from(parts.len()).ok().filter(|count| *count > 0)?;
                let mut whole = self.number(bits, 0);
                for (index, part) in parts.iter().enumerate() {
                    let part = self.read(part, each, registers)?;
                    let part = self.resized(part, bits);
                    let part = self.shifted_left(part, each * index as u32);
                    whole = self.or(whole, part);
                }
                Some(whole)
            }
        }
    }

    /// Writes a result; where the guard does not hold, the register keeps what it has.
    fn write(
        &mut self,
        to: &Operand,
        value: Value,
        guard: Option<Value>,
        registers: &mut Registers,
    ) -> Option<()> {
        let bits = self.bits(value);
        match to {
            Operand::Register(name) => {
                let (own, old) = registers.get(name).copied().filter(|(own, _)| *own == bits)?;
                let value = match guard {
                    // What was never written is undefined where the guard does not hold.
                    Some(guard) => old.map_or(value, |old| self.select(guard, value, old)),
                    None => value,
                };
                registers.insert(name.clone(), (own, Some(value)));
            }
            Operand::Parts(parts) => {
                let each = bits / u32::try_from(parts.len()).ok().filter(|count| *count > 0)?;
                for (index, part) in parts.iter().enumerate() {
                    let own = self.shifted_right(value, each * index as u32);
                    let own = self.resized(own, each);
                    self.write(part, own, guard, registers)?;
                }
            }
            Operand::Number(_) | Operand::Float { .. } | Operand::Decimal(_) => return None,
        }
        Some(())
    }

    /// Runs an instruction; `None` where it is not known.
    pub(super) fn instruction(&mut self, of: &Instruction, registers: &mut Registers) -> Option<()> {
        let guard = match &of.guard {
            None => None,
            Some((name, negated)) => {
                let holds = registers.get(name).filter(|(bits, _)| *bits == 1)?.1?;
                let ones = self.number(1, 1);
                Some(if *negated { self.op(&XORI, &[holds, ones]) } else { holds })
            }
        };
        let words: Vec<&str> = of.words.iter().map(String::as_str).collect();
        let (to, from) = of.operands.split_first()?;
        let value = self.result(&words, from, registers)?;
        self.write(to, value, guard, registers)
    }

    fn result(&mut self, words: &[&str], from: &[Operand], registers: &Registers) -> Option<Value> {
        let get = |this: &mut Self, at: usize, bits: u32| this.read(from.get(at)?, bits, registers);
        if let Some(value) = self.of_bits(words, from, registers) {
            return Some(value);
        }
        match (words, from.len()) {
            (["lop3", "b32"], 4) => {
                let Operand::Number(table) = from[3] else { return None };
                let all = [get(self, 0, 32)?, get(self, 1, 32)?, get(self, 2, 32)?];
                Some(self.table(all, table))
            }
            (["prmt", "b32"], 3) => {
                let all = [get(self, 0, 32)?, get(self, 1, 32)?, get(self, 2, 32)?];
                Some(self.permute(all))
            }
            (["selp", ty], 3) => {
                let bits = Kind::of(ty)?.bits();
                let (a, b, condition) = (get(self, 0, bits)?, get(self, 1, bits)?, get(self, 2, 1)?);
                Some(self.select(condition, a, b))
            }
            (["setp", predicate, ty], 2) => {
                let kind = Kind::of(ty)?;
                let (a, b) = (get(self, 0, kind.bits())?, get(self, 1, kind.bits())?);
                self.predicate(predicate, kind, a, b)
            }
            (["mov", "pred"], 1) => get(self, 0, 1),
            (["mov", ty], 1) => get(self, 0, Kind::of(ty)?.bits()),
            (["not", "pred"], 1) => {
                let (value, ones) = (get(self, 0, 1)?, self.number(1, 1));
                Some(self.op(&XORI, &[value, ones]))
            }
            (["not", ty], 1) => {
                let bits = Kind::of(ty)?.bits();
                let (value, ones) = (get(self, 0, bits)?, self.number(bits, u64::MAX));
                Some(self.op(&XORI, &[value, ones]))
            }
            (["and" | "or" | "xor", "pred"], 2) => {
                let (a, b) = (get(self, 0, 1)?, get(self, 1, 1)?);
                let row =
                    [&ANDI, &ORI, &XORI][["and", "or", "xor"].iter().position(|word| *word == words[0])?];
                Some(self.op(row, &[a, b]))
            }
            (["shl" | "shr", ty], 2) => {
                let kind = Kind::of(ty)?;
                let (value, by) = (get(self, 0, kind.bits())?, get(self, 1, 32)?);
                Some(self.shift(words[0] == "shl", kind, value, by))
            }
            (["neg", ty @ ("s16" | "s32" | "s64")], 1) => {
                let bits = Kind::of(ty)?.bits();
                let (zero, value) = (self.number(bits, 0), get(self, 0, bits)?);
                Some(self.op(&SUBI, &[zero, value]))
            }
            (["mad", "lo", ty], 3) => {
                let bits = Kind::of(ty).filter(|kind| !matches!(kind, Kind::Float(_)))?.bits();
                let (a, b, c) = (get(self, 0, bits)?, get(self, 1, bits)?, get(self, 2, bits)?);
                let product = self.op(&MULI, &[a, b]);
                Some(self.op(&ADDI, &[product, c]))
            }
            (["mul", "wide", ty @ ("s16" | "u16" | "s32" | "u32")], 2) => {
                let kind = Kind::of(ty)?;
                let row = if matches!(kind, Kind::Signed(_)) { &EXTSI } else { &EXTUI };
                let (a, b) = (get(self, 0, kind.bits())?, get(self, 1, kind.bits())?);
                let wide = [a, b].map(|value| self.cast(row, value, Type::int(2 * kind.bits())));
                Some(self.op(&MULI, &wide))
            }
            (["cvt", rest @ ..], count) => self.convert(rest, count, |this, at, bits| get(this, at, bits)),
            ([.., ty @ ("f16x2" | "bf16x2")], _) => {
                let all: Option<Vec<Value>> = (0..from.len()).map(|at| get(self, at, 32)).collect();
                self.halves(&words[..words.len() - 1], &ty[..ty.len() - 2], &all?)
            }
            ([.., ty], _) => {
                let bits = Kind::of(ty)?.bits();
                let all: Option<Vec<Value>> = (0..from.len()).map(|at| get(self, at, bits)).collect();
                self.plain(&words[..words.len() - 1], ty, &all?)
            }
            _ => None,
        }
    }

    /// An instruction of the table, by its name without its type.
    fn plain(&mut self, words: &[&str], ty: &str, operands: &[Value]) -> Option<Value> {
        let named = 1 + words.get(1..)?.iter().take_while(|word| matches!(**word, "lo" | "hi")).count();
        let rounds = &words[named..];
        if !rounds.iter().all(|word| ROUNDING.contains(word)) {
            return None;
        }
        let name = words[..named].join(".");
        let (_, _, meaning) = INSTRUCTIONS.iter().find(|row| row.0 == name && row.1.contains(&ty))?;
        let Kind::Float(kind) = Kind::of(ty)? else {
            let Meaning::Row(row) = meaning else { return None };
            return (row.operands.len() == operands.len()).then(|| self.op(row, operands));
        };
        let floats: Vec<Value> = operands.iter().map(|&value| self.float(value, kind)).collect();
        let ty = with_elem(self.shape, Type::float(kind));
        let result = match meaning {
            Meaning::Same => *floats.first()?,
            Meaning::Reciprocal => {
                let one = constant::float(&mut self.builder(), ty, 1.0);
                self.op(&arith_float::DIVF, &[one, *floats.first()?])
            }
            Meaning::Row(row) if row.operands.len() == floats.len() => {
                let exact = (rounds.contains(&"rn"))
                    .then(|| super::unfused(&mut self.builder(), ty, row, &floats))
                    .flatten();
                exact.unwrap_or_else(|| self.op(row, &floats))
            }
            Meaning::Row(_) => return None,
        };
        Some(self.bits_of(result))
    }

    /// An instruction on both halves of registers.
    fn halves(&mut self, words: &[&str], ty: &str, operands: &[Value]) -> Option<Value> {
        let mut whole = self.number(32, 0);
        for half in [0, 16] {
            let parts: Vec<Value> = operands
                .iter()
                .map(|&value| {
                    let part = self.shifted_right(value, half);
                    self.resized(part, 16)
                })
                .collect();
            let part = self.plain(words, ty, &parts)?;
            let part = self.resized(part, 32);
            let part = self.shifted_left(part, half);
            whole = self.or(whole, part);
        }
        Some(whole)
    }

    pub(super) fn float(&mut self, value: Value, kind: FloatKind) -> Value {
        self.cast(&TT_BITCAST, value, Type::float(kind))
    }

    pub(super) fn bits_of(&mut self, value: Value) -> Value {
        let bits = elem(self.ty(value)).scalar_bits().expect("a number");
        self.cast(&TT_BITCAST, value, Type::int(bits))
    }

    /// A shift, whose amount may reach the width.
    fn shift(&mut self, is_left: bool, kind: Kind, value: Value, by: Value) -> Value {
        let bits = kind.bits();
        let limit = self.number(32, u64::from(bits - 1));
        let is_far = self.compare(CmpIPredicate::Ugt, by, limit);
        let near = self.select(is_far, limit, by);
        let amount = self.resized(near, bits);
        let row = match (is_left, kind) {
            (true, _) => &SHLI,
            (false, Kind::Signed(_)) => return self.op(&SHRSI, &[value, amount]),
            (false, _) => &SHRUI,
        };
        let (shifted, zero) = (self.op(row, &[value, amount]), self.number(bits, 0));
        self.select(is_far, zero, shifted)
    }

    /// A function of three bits, by its table.
    fn table(&mut self, values: [Value; 3], table: u64) -> Value {
        let ones = self.number(32, u64::MAX);
        let negated = values.map(|value| self.op(&XORI, &[value, ones]));
        let mut all = self.number(32, 0);
        for row in (0..8).filter(|row| table >> row & 1 == 1) {
            let part = |at: usize| if row >> (2 - at) & 1 == 1 { values[at] } else { negated[at] };
            let pair = self.op(&ANDI, &[part(0), part(1)]);
            let term = self.op(&ANDI, &[pair, part(2)]);
            all = self.or(all, term);
        }
        all
    }

    /// Four of the eight bytes of two registers, each chosen by four bits. The highest of those repeats the sign of the
    /// byte.
    fn permute(&mut self, [a, b, choice]: [Value; 3]) -> Value {
        let [low, high] = [a, b].map(|value| self.cast(&EXTUI, value, Type::int(64)));
        let high = self.shifted_left(high, 32);
        let bytes = self.or(high, low);
        let (seven, byte, one) = (self.number(32, 7), self.number(64, 0xff), self.number(32, 1));
        let mut whole = self.number(32, 0);
        for at in 0..4 {
            let own = self.shifted_right(choice, 4 * at);
            let number = self.op(&ANDI, &[own, seven]);
            let by = self.shifted_left(number, 3);
            let by = self.cast(&EXTUI, by, Type::int(64));
            let moved = self.op(&SHRUI, &[bytes, by]);
            let moved = self.op(&ANDI, &[moved, byte]);
            let chosen = self.cast(&TRUNCI, moved, Type::int(32));
            let sign = self.shifted_right(chosen, 7);
            let (all, zero) = (self.number(32, 0xff), self.number(32, 0));
            let signs = self.op(&MULI, &[sign, all]);
            let repeats = self.shifted_right(own, 3);
            let repeats = self.op(&ANDI, &[repeats, one]);
            let repeats = self.compare(CmpIPredicate::Ne, repeats, zero);
            let part = self.select(repeats, signs, chosen);
            let part = self.shifted_left(part, 8 * at);
            whole = self.or(whole, part);
        }
        whole
    }

    fn predicate(&mut self, word: &str, kind: Kind, a: Value, b: Value) -> Option<Value> {
        if let Kind::Float(kind) = kind {
            let predicate = match word {
                "eq" => CmpFPredicate::Oeq,
                "ne" => CmpFPredicate::One,
                "lt" => CmpFPredicate::Olt,
                "le" => CmpFPredicate::Ole,
                "gt" => CmpFPredicate::Ogt,
                "ge" => CmpFPredicate::Oge,
                "neu" => CmpFPredicate::Une,
                _ => return None,
            };
            let (a, b) = (self.float(a, kind), self.float(b, kind));
            return Some(self.builder().build(&CMPF, &[a, b], &CmpFOp::attrs(predicate)));
        }
        let is_signed = matches!(kind, Kind::Signed(_));
        let predicate = match (word, is_signed) {
            ("eq", _) => CmpIPredicate::Eq,
            ("ne", _) => CmpIPredicate::Ne,
            ("lt", true) => CmpIPredicate::Slt,
            ("le", true) => CmpIPredicate::Sle,
            ("gt", true) => CmpIPredicate::Sgt,
            ("ge", true) => CmpIPredicate::Sge,
            ("lt" | "lo", false) => CmpIPredicate::Ult,
            ("le" | "ls", false) => CmpIPredicate::Ule,
            ("gt" | "hi", false) => CmpIPredicate::Ugt,
            ("ge" | "hs", false) => CmpIPredicate::Uge,
            _ => return None,
        };
        Some(self.compare(predicate, a, b))
    }

    /// `cvt`: between integers, between floats, from one to the other as far as operations round alike.
    fn convert(
        &mut self,
        words: &[&str],
        operands: usize,
        mut get: impl FnMut(&mut Self, usize, u32) -> Option<Value>,
    ) -> Option<Value> {
        if let ["rn", to @ ("f16x2" | "bf16x2"), "f32"] = words {
            let kind = if *to == "f16x2" { FloatKind::F16 } else { FloatKind::BF16 };
            let mut whole = self.number(32, 0);
            for (at, half) in [(0, 16), (1, 0)] {
                let value = get(self, at, 32)?;
                let value = self.float(value, FloatKind::F32);
                let value = self.cast(&TRUNCF, value, Type::float(kind));
                let value = self.bits_of(value);
                let value = self.resized(value, 32);
                let value = self.shifted_left(value, half);
                whole = self.or(whole, value);
            }
            return (operands == 2).then_some(whole);
        }
        match (words, operands) {
            (["rn", "satfinite", to @ ("e4m3x2" | "e5m2x2"), "f32"], 2) => {
                let [upper, lower] = [get(self, 0, 32)?, get(self, 1, 32)?];
                return Some(self.bytes_of(eight(to), [lower, upper]));
            }
            (["rn", "f16x2", from @ ("e4m3x2" | "e5m2x2")], 1) => {
                let bytes = get(self, 0, 16)?;
                return Some(self.halves_of_bytes(eight(from), bytes));
            }
            // Bytes may have registers of their own, or wider ones.
            (["u8", from @ ("u16" | "u32")], 1) => {
                let value = get(self, 0, Kind::of(from)?.bits())?;
                return Some(self.resized(value, 8));
            }
            ([to @ ("u16" | "u32"), "u8"], 1) => {
                let byte = get(self, 0, 8)?;
                return Some(self.resized(byte, Kind::of(to)?.bits()));
            }
            _ => {}
        }
        if let Some(value) = self.narrow(words, operands, &mut get) {
            return Some(value);
        }
        let [rounding @ .., to, from] = words else { return None };
        let (to, from) = (Kind::of(to)?, Kind::of(from)?);
        if operands != 1 || to.bits() == 8 || from.bits() == 8 {
            return None;
        }
        let value = get(self, 0, from.bits())?;
        match (from, to, rounding) {
            (Kind::Float(from), Kind::Float(to), _) if from.bits() < to.bits() && rounding.is_empty() => {
                let value = self.float(value, from);
                let value = self.cast(&EXTF, value, Type::float(to));
                Some(self.bits_of(value))
            }
            (Kind::Float(from), Kind::Float(to), ["rn"]) if from.bits() > to.bits() => {
                let value = self.float(value, from);
                let value = self.cast(&TRUNCF, value, Type::float(to));
                Some(self.bits_of(value))
            }
            (Kind::Signed(_) | Kind::Unsigned(_), Kind::Float(to), ["rn"]) => {
                let row = if matches!(from, Kind::Signed(_)) { &SITOFP } else { &UITOFP };
                let value = self.cast(row, value, Type::float(to));
                Some(self.bits_of(value))
            }
            (Kind::Float(from), Kind::Signed(32) | Kind::Unsigned(32), ["rzi"]) if from != FloatKind::F64 => {
                self.truncated(value, from, matches!(to, Kind::Signed(_)))
            }
            (Kind::Signed(_), Kind::Signed(bits) | Kind::Unsigned(bits), []) if bits > from.bits() => {
                Some(self.cast(&EXTSI, value, Type::int(bits)))
            }
            (Kind::Signed(_) | Kind::Unsigned(_), Kind::Signed(bits) | Kind::Unsigned(bits), []) => {
                Some(self.resized(value, bits))
            }
            _ => None,
        }
    }

    /// Two floats as bytes, the first lower.
    fn bytes_of(&mut self, kind: FloatKind, values: [Value; 2]) -> Value {
        let mut whole = self.number(16, 0);
        for (value, half) in values.into_iter().zip([0, 8]) {
            let value = self.float(value, FloatKind::F32);
            let ty = with_elem(self.shape, Type::float(kind));
            let byte =
                self.builder().build_as(&FP_TO_FP, &[value], &FpToFpOp::attrs(Some(Rounding::Rtne)), ty);
            let byte = self.bits_of(byte);
            let byte = self.resized(byte, 16);
            let byte = self.shifted_left(byte, half);
            whole = self.or(whole, byte);
        }
        whole
    }

    /// Two bytes as fp16.
    fn halves_of_bytes(&mut self, kind: FloatKind, bytes: Value) -> Value {
        let mut whole = self.number(32, 0);
        for half in [0, 1] {
            let byte = self.shifted_right(bytes, 8 * half);
            let byte = self.resized(byte, 8);
            let byte = self.float(byte, kind);
            let ty = with_elem(self.shape, Type::float(FloatKind::F16));
            let value = self.builder().build_as(&FP_TO_FP, &[byte], &FpToFpOp::attrs(None), ty);
            let value = self.bits_of(value);
            let value = self.resized(value, 32);
            let value = self.shifted_left(value, 16 * half);
            whole = self.or(whole, value);
        }
        whole
    }

    /// A float as an integer of 32 bits, toward zero: the nearest one where it is out of range, 0 for NaN.
    fn truncated(&mut self, value: Value, from: FloatKind, is_signed: bool) -> Option<Value> {
        let value = self.float(value, from);
        let value =
            if from == FloatKind::F32 { value } else { self.cast(&EXTF, value, Type::float(FloatKind::F32)) };
        let value = self.cast(&EXTF, value, Type::float(FloatKind::F64));
        let ty = with_elem(self.shape, Type::float(FloatKind::F64));
        let (least, most) =
            if is_signed { (f64::from(i32::MIN), f64::from(i32::MAX)) } else { (0.0, f64::from(u32::MAX)) };
        let [least, most, zero] =
            [least, most, 0.0].map(|bound| constant::float(&mut self.builder(), ty, bound));
        let ordered = self.builder().build(&CMPF, &[value, value], &CmpFOp::attrs(CmpFPredicate::Ord));
        let value = self.op(&arith_float::MAXNUMF, &[value, least]);
        let value = self.op(&arith_float::MINNUMF, &[value, most]);
        let value = self.select(ordered, value, zero);
        let row = if is_signed { &FPTOSI } else { &FPTOUI };
        Some(self.cast(row, value, Type::int(32)))
    }
}

/// The format of pairs of bytes.
fn eight(word: &str) -> FloatKind {
    if word == "e4m3x2" { FloatKind::F8E4M3FN } else { FloatKind::F8E5M2 }
}
