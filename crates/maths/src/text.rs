//! A small writer of straight-line LLVM IR text over vectors of one lane count.
//!
//! Every value of one function has the same number of lanes, so a [`Value`] only knows its element
//! kind; one lane means plain scalars. Nothing here sets fast-math flags: compensated steps rely on
//! every rounding, and a fused multiply-add is asked for by name ([`TextBuilder::mul_add`]).
//! What it leaves out: loops. Branches are written by the few helpers that need them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::record::{Action, Rare, Step};
use super::{Elem, MathConfig};

/// The element kind of a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One bit: the result of a comparison.
    I1,
    /// A 32-bit integer: the bits of an `F32`.
    I32,
    /// A 64-bit integer: the bits of an `F64`.
    I64,
    /// A single.
    F32,
    /// A double.
    F64,
}

impl Kind {
    /// The LLVM spelling of the element type.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::I1 => "i1",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::F32 => "float",
            Kind::F64 => "double",
        }
    }

    /// The suffix that overloaded intrinsics use for it.
    pub const fn suffix(self) -> &'static str {
        match self {
            Kind::I1 => "i1",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
        }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    /// The result of a step, by its number.
    Register(u32),
    /// An argument of the function.
    Argument(u32),
    /// A float constant.
    Float(f64),
    /// An integer constant.
    Integer(i64),
}

/// One SSA value or splat constant of a function under construction.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    kind: Kind,
    node: Node,
}

impl Value {
    /// The element kind of the value.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// What it is.
    pub fn node(self) -> Node {
        self.node
    }
}

/// The LLVM spelling of `lanes` elements of `kind`.
pub(super) fn type_name(kind: Kind, lanes: u32) -> String {
    if lanes == 1 { kind.name().to_owned() } else { format!("<{lanes} x {}>", kind.name()) }
}

/// The suffix of an overloaded intrinsic at this type, such as `v8f32` or `f64`.
pub(super) fn type_suffix(kind: Kind, lanes: u32) -> String {
    if lanes == 1 { kind.suffix().to_owned() } else { format!("v{lanes}{}", kind.suffix()) }
}

/// Builds the body of one function; see the file's documentation.
pub struct TextBuilder {
    elem: Elem,
    lanes: u32,
    config: MathConfig,
    next: u32,
    block: String,
    body: String,
    declarations: BTreeMap<String, String>,
    steps: Vec<Step>,
}

impl TextBuilder {
    /// An empty body for `lanes` elements of `elem`.
    pub fn new(elem: Elem, lanes: u32, config: MathConfig) -> TextBuilder {
        TextBuilder {
            elem,
            lanes,
            config,
            next: 0,
            block: "entry".to_owned(),
            body: String::from("entry:\n"),
            declarations: BTreeMap::new(),
            steps: Vec::new(),
        }
    }

    /// The element type of the function.
    pub fn elem(&self) -> Elem {
        self.elem
    }

    /// The number of lanes of every value.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// What the target machine offers.
    pub fn config(&self) -> MathConfig {
        self.config
    }

    /// The float kind of the function's element type.
    pub fn float_kind(&self) -> Kind {
        self.elem.float_kind()
    }

    /// The integer kind as wide as the function's element type.
    pub fn int_kind(&self) -> Kind {
        self.elem.int_kind()
    }

    /// The LLVM type of a value of `kind`.
    pub fn type_of(&self, kind: Kind) -> String {
        type_name(kind, self.lanes)
    }

    /// The body so far and the declarations it needs, by symbol.
    pub(super) fn finish(self) -> (String, BTreeMap<String, String>) {
        (self.body, self.declarations)
    }

    /// The `index`-th argument of the function.
    pub fn argument(&self, index: u32) -> Value {
        Value { kind: self.float_kind(), node: Node::Argument(index) }
    }

    /// A float constant of the function's element type.
    pub fn float(&self, value: f64) -> Value {
        self.float_of(self.float_kind(), value)
    }

    /// A float constant of a given kind.
    pub fn float_of(&self, kind: Kind, value: f64) -> Value {
        let value = if kind == Kind::F32 { f64::from(value as f32) } else { value };
        Value { kind, node: Node::Float(value) }
    }

    /// An integer constant as wide as the function's element type.
    pub fn int(&self, value: i64) -> Value {
        self.int_of(self.int_kind(), value)
    }

    /// An integer constant of a given kind.
    pub fn int_of(&self, kind: Kind, value: i64) -> Value {
        Value { kind, node: Node::Integer(value) }
    }

    /// The operand text of a value, without its type.
    pub fn operand(&self, value: Value) -> String {
        let one = match value.node {
            Node::Register(id) => return format!("%v{id}"),
            Node::Argument(id) => return format!("%a{id}"),
            Node::Float(float) => format!("0x{:016X}", float.to_bits()),
            Node::Integer(integer) => integer.to_string(),
        };
        if self.lanes == 1 {
            return one;
        }
        let element = format!("{} {one}", value.kind.name());
        format!("<{}>", vec![element; self.lanes as usize].join(", "))
    }

    /// The operand text of a value with its type in front.
    pub fn typed(&self, value: Value) -> String {
        format!("{} {}", self.type_of(value.kind), self.operand(value))
    }

    /// Appends one instruction that defines a value of `kind`.
    pub fn push(&mut self, kind: Kind, instruction: &str) -> Value {
        let id = self.next;
        self.next += 1;
        let _ = writeln!(self.body, "  %v{id} = {instruction}");
        Value { kind, node: Node::Register(id) }
    }

    /// Appends one instruction or label without a result.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "{text}");
    }

    /// A name that no other value of this function has.
    pub fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Ends the current block by falling into a new block called `label`.
    pub fn start_block(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
        label.clone_into(&mut self.block);
    }

    /// The label of the current block.
    pub fn block(&self) -> &str {
        &self.block
    }

    /// Notes that the function needs a declaration or another definition.
    pub fn declare(&mut self, symbol: &str, text: String) {
        self.declarations.insert(symbol.to_owned(), text);
    }

    /// The steps so far.
    pub(super) fn steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// Appends one instruction and notes what it does.
    fn act(&mut self, action: Action, operands: &[Value], kind: Kind, instruction: &str) -> Value {
        let result = self.push(kind, instruction);
        self.steps.push(Step { action, operands: operands.to_vec(), results: vec![result] });
        result
    }

    fn binary(&mut self, op: &'static str, a: Value, b: Value) -> Value {
        let text = format!("{op} {}, {}", self.typed(a), self.operand(b));
        self.act(Action::Binary(op), &[a, b], a.kind, &text)
    }

    fn cast(&mut self, op: &'static str, a: Value, kind: Kind) -> Value {
        let text = format!("{op} {} to {}", self.typed(a), self.type_of(kind));
        self.act(Action::Cast(op), &[a], kind, &text)
    }

    /// Calls an overloaded intrinsic on operands of one type.
    pub fn intrinsic(&mut self, stem: &'static str, operands: &[Value]) -> Value {
        let kind = operands[0].kind;
        let symbol = format!("llvm.{stem}.{}", type_suffix(kind, self.lanes));
        let ty = self.type_of(kind);
        let parameters = vec![ty.as_str(); operands.len()].join(", ");
        self.declare(&symbol, format!("declare {ty} @{symbol}({parameters})\n"));
        let list: Vec<String> = operands.iter().map(|&v| self.typed(v)).collect();
        let text = format!("call {ty} @{symbol}({})", list.join(", "));
        self.act(Action::Intrinsic(stem), operands, kind, &text)
    }

    /// `a + b` on floats.
    pub fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.binary("fadd", a, b)
    }

    /// `a - b` on floats.
    pub fn fsub(&mut self, a: Value, b: Value) -> Value {
        self.binary("fsub", a, b)
    }

    /// `a * b` on floats.
    pub fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.binary("fmul", a, b)
    }

    /// `a / b` on floats.
    pub fn fdiv(&mut self, a: Value, b: Value) -> Value {
        self.binary("fdiv", a, b)
    }

    /// `-a` on floats.
    pub fn fneg(&mut self, a: Value) -> Value {
        let text = format!("fneg {}", self.typed(a));
        self.act(Action::Negate, &[a], a.kind, &text)
    }

    /// `a * b + c`, fused where the machine can, else rounded twice.
    pub fn mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.config.has_fma {
            return self.intrinsic("fma", &[a, b, c]);
        }
        let product = self.fmul(a, b);
        self.fadd(product, c)
    }

    /// `c - a * b`, fused where the machine can, else rounded twice.
    pub fn neg_mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.config.has_fma {
            let negated = match a.node {
                Node::Float(float) => Value { kind: a.kind, node: Node::Float(-float) },
                _ => self.fneg(a),
            };
            return self.intrinsic("fma", &[negated, b, c]);
        }
        let product = self.fmul(a, b);
        self.fsub(c, product)
    }

    /// A polynomial by Horner's rule; coefficients from the highest power to the lowest.
    pub fn polynomial(&mut self, x: Value, coefficients: &[f64]) -> Value {
        let mut sum = self.float_of(x.kind, coefficients[0]);
        for &coefficient in &coefficients[1..] {
            let constant = self.float_of(x.kind, coefficient);
            sum = self.mul_add(sum, x, constant);
        }
        sum
    }

    /// The square root.
    pub fn sqrt(&mut self, a: Value) -> Value {
        self.intrinsic("sqrt", &[a])
    }

    /// A float comparison such as `olt`.
    pub fn fcmp(&mut self, predicate: &'static str, a: Value, b: Value) -> Value {
        let text = format!("fcmp {predicate} {}, {}", self.typed(a), self.operand(b));
        self.act(Action::CompareFloat(predicate), &[a, b], Kind::I1, &text)
    }

    /// An integer comparison such as `slt`.
    pub fn icmp(&mut self, predicate: &'static str, a: Value, b: Value) -> Value {
        let text = format!("icmp {predicate} {}, {}", self.typed(a), self.operand(b));
        self.act(Action::CompareInt(predicate), &[a, b], Kind::I1, &text)
    }

    /// `condition ? a : b`, lane by lane.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let text = format!("select {}, {}, {}", self.typed(condition), self.typed(a), self.typed(b));
        self.act(Action::Select, &[condition, a, b], a.kind, &text)
    }

    /// The smaller of `x` and a bound; a NaN in `x` stays.
    pub fn at_most(&mut self, x: Value, bound: f64) -> Value {
        let bound = self.float_of(x.kind, bound);
        let below = self.fcmp("olt", bound, x);
        self.select(below, bound, x)
    }

    /// The larger of `x` and a bound; a NaN in `x` stays.
    pub fn at_least(&mut self, x: Value, bound: f64) -> Value {
        let bound = self.float_of(x.kind, bound);
        let above = self.fcmp("ogt", bound, x);
        self.select(above, bound, x)
    }

    /// `a + b` on integers.
    pub fn iadd(&mut self, a: Value, b: Value) -> Value {
        self.binary("add", a, b)
    }

    /// `a - b` on integers.
    pub fn isub(&mut self, a: Value, b: Value) -> Value {
        self.binary("sub", a, b)
    }

    /// Bitwise and.
    pub fn iand(&mut self, a: Value, b: Value) -> Value {
        self.binary("and", a, b)
    }

    /// Bitwise or.
    pub fn ior(&mut self, a: Value, b: Value) -> Value {
        self.binary("or", a, b)
    }

    /// Bitwise exclusive or.
    pub fn ixor(&mut self, a: Value, b: Value) -> Value {
        self.binary("xor", a, b)
    }

    /// Shift left by a constant.
    pub fn shl(&mut self, a: Value, count: i64) -> Value {
        let count = self.int_of(a.kind, count);
        self.binary("shl", a, count)
    }

    /// Logical shift right by a constant.
    pub fn lshr(&mut self, a: Value, count: i64) -> Value {
        let count = self.int_of(a.kind, count);
        self.binary("lshr", a, count)
    }

    /// The bits of a float.
    pub fn to_bits(&mut self, a: Value) -> Value {
        let kind = if a.kind == Kind::F32 { Kind::I32 } else { Kind::I64 };
        self.cast("bitcast", a, kind)
    }

    /// The float with these bits.
    pub fn from_bits(&mut self, a: Value) -> Value {
        let kind = if a.kind == Kind::I32 { Kind::F32 } else { Kind::F64 };
        self.cast("bitcast", a, kind)
    }

    /// Widens a single to a double.
    pub fn widen(&mut self, a: Value) -> Value {
        self.cast("fpext", a, Kind::F64)
    }

    /// Rounds a double to a single.
    pub fn narrow(&mut self, a: Value) -> Value {
        self.cast("fptrunc", a, Kind::F32)
    }

    /// The low half of a 64-bit integer.
    pub fn narrow_int(&mut self, a: Value) -> Value {
        self.cast("trunc", a, Kind::I32)
    }

    /// Computes on doubles what was asked for on singles: widens, generates, rounds.
    pub(super) fn in_doubles(
        &mut self,
        arguments: &[Value],
        generate: fn(&mut TextBuilder, &[Value]) -> Value,
    ) -> Value {
        let wide: Vec<Value> = arguments.iter().map(|&argument| self.widen(argument)).collect();
        let elem = std::mem::replace(&mut self.elem, Elem::F64);
        let result = generate(self, &wide);
        self.elem = elem;
        self.narrow(result)
    }

    /// Whether any lane of a condition holds: one bit, as operand text.
    pub(super) fn any(&mut self, condition: Value) -> String {
        let lanes = self.lanes;
        if lanes == 1 {
            return self.operand(condition);
        }
        let symbol = format!("llvm.vector.reduce.or.v{lanes}i1");
        self.declare(&symbol, format!("declare i1 @{symbol}(<{lanes} x i1>)\n"));
        let id = self.fresh();
        let typed = self.typed(condition);
        self.line(&format!("  %any{id} = call i1 @{symbol}({typed})"));
        format!("%any{id}")
    }

    /// If any lane of `condition` holds, calls the function `symbol` with pointers to the inputs and to the outputs,
    /// which it may change; otherwise costs one branch. Values go through memory, so the function does not depend on how vectors are passed.
    pub(super) fn call_if_any(
        &mut self,
        condition: Value,
        (rare, symbol): (Rare, &str),
        inputs: &[Value],
        outputs: &[Value],
    ) -> Vec<Value> {
        let any = self.any(condition);
        let id = self.fresh();
        let all: Vec<Value> = inputs.iter().chain(outputs).copied().collect();
        for (index, &value) in all.iter().enumerate() {
            let ty = self.type_of(value.kind);
            self.line(&format!("  %m{id}.{index} = alloca {ty}"));
        }
        let from = self.block.clone();
        self.line(&format!("  br i1 {any}, label %rare{id}, label %joined{id}"));
        self.start_block(&format!("rare{id}"));
        for (index, &value) in all.iter().enumerate() {
            let typed = self.typed(value);
            self.line(&format!("  store {typed}, ptr %m{id}.{index}"));
        }
        let pointers: Vec<String> = (0..all.len()).map(|index| format!("ptr %m{id}.{index}")).collect();
        self.line(&format!("  call void @{symbol}({})", pointers.join(", ")));
        for (index, &value) in all.iter().enumerate().skip(inputs.len()) {
            let ty = self.type_of(value.kind);
            self.line(&format!("  %l{id}.{index} = load {ty}, ptr %m{id}.{index}"));
        }
        self.line(&format!("  br label %joined{id}"));
        self.start_block(&format!("joined{id}"));
        let results: Vec<Value> = (inputs.len()..all.len())
            .map(|index| {
                let value = all[index];
                let (ty, before) = (self.type_of(value.kind), self.operand(value));
                let text = format!("phi {ty} [ {before}, %{from} ], [ %l{id}.{index}, %rare{id} ]");
                self.push(value.kind, &text)
            })
            .collect();
        let operands = std::iter::once(condition).chain(all).collect();
        self.steps.push(Step { action: Action::Rare(rare), operands, results: results.clone() });
        results
    }

    /// A product and its rounding error.
    pub(super) fn two_product(&mut self, a: Value, b: Value) -> (Value, Value) {
        let product = self.fmul(a, b);
        if self.config.has_fma {
            let negated = self.fneg(product);
            return (product, self.intrinsic("fma", &[a, b, negated]));
        }
        let (a_head, a_tail) = self.halves(a);
        let (b_head, b_tail) = self.halves(b);
        let first = self.fmul(a_head, b_head);
        let error = self.fsub(first, product);
        let second = self.fmul(a_head, b_tail);
        let error = self.fadd(error, second);
        let third = self.fmul(a_tail, b_head);
        let error = self.fadd(error, third);
        let fourth = self.fmul(a_tail, b_tail);
        (product, self.fadd(error, fourth))
    }

    /// A float as a sum of two with half as many bits.
    fn halves(&mut self, a: Value) -> (Value, Value) {
        let bits = self.to_bits(a);
        let mask = self.int_of(bits.kind, if a.kind == Kind::F32 { !0xFFF } else { !0x7FF_FFFF });
        let bits = self.iand(bits, mask);
        let head = self.from_bits(bits);
        (head, self.fsub(a, head))
    }

    /// A sum and its rounding error, for |a| >= |b|.
    pub(super) fn fast_two_sum(&mut self, a: Value, b: Value) -> (Value, Value) {
        let sum = self.fadd(a, b);
        let kept = self.fsub(sum, a);
        (sum, self.fsub(b, kept))
    }

    /// Whether both conditions hold.
    pub(super) fn both(&mut self, a: Value, b: Value) -> Value {
        self.iand(a, b)
    }

    /// The magnitude of a float.
    pub fn fabs(&mut self, a: Value) -> Value {
        self.intrinsic("fabs", &[a])
    }

    /// The sign bit of a float, as an integer with only that bit.
    pub fn sign_bit(&mut self, a: Value) -> Value {
        let bits = self.to_bits(a);
        let mask = self.int_of(bits.kind, if a.kind == Kind::F32 { i64::from(i32::MIN) } else { i64::MIN });
        self.iand(bits, mask)
    }

    /// Flips the sign of `a` where `sign` (from [`TextBuilder::sign_bit`]) has its bit set.
    pub fn flip_sign(&mut self, a: Value, sign: Value) -> Value {
        let bits = self.to_bits(a);
        let flipped = self.ixor(bits, sign);
        self.from_bits(flipped)
    }
}
