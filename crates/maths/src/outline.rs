//! What few lanes of a vector need, in a function of its own that does them one after the other.
//!
//! It takes memory, not vectors, so that it does not depend on how vectors are passed.

use crate::rare::Rare;
use crate::{MathMachine, define};
use llir::{FunctionBuilder, IntCompare, Module, Op, Purity, Type, Value, Values, intrinsics};

/// What is called, for so many lanes.
pub(crate) struct Call<'a> {
    /// What is done.
    pub(crate) rare: Rare,
    /// The lanes of every value.
    pub(crate) lanes: u32,
    /// What it is made of.
    pub(crate) inputs: &'a [Value],
    /// What gets new values.
    pub(crate) outputs: &'a [Value],
}

/// Where any lane of a condition holds, calls the function for those lanes, which gives the outputs new values.
pub(crate) fn call(
    b: &mut FunctionBuilder<'_>,
    machine: &dyn MathMachine,
    condition: Value,
    &Call { rare, lanes, inputs, outputs }: &Call<'_>,
) -> Vec<Value> {
    let any = match lanes {
        1 => condition,
        _ => b.intrinsic(&intrinsics::VECTOR_REDUCE_OR, Type::I1, &[condition]),
    };
    let marks = b.cast(Op::ZEXT, condition, Type::I8.with_lanes(lanes));
    let all: Vec<Value> = [marks].iter().chain(inputs).chain(outputs).copied().collect();
    let slots: Vec<Value> = all
        .iter()
        .map(|value| {
            let ty = b.ty(*value);
            b.alloca(ty, bytes(ty))
        })
        .collect();
    let mut branch = b.begin_if(any);
    for (value, slot) in all.iter().zip(&slots) {
        let align = bytes(b.ty(*value));
        b.store(*value, *slot, align);
    }
    let types = [inputs, outputs].map(|values| values.iter().map(|value| b.ty(*value).lane()).collect());
    let [inputs, results] = types;
    let symbol = define_loop(b.module(), machine, rare, Lanes { count: lanes, inputs, outputs: results });
    b.call_symbol(&symbol, Type::VOID, &slots, Purity::Impure);
    let made: Values = outputs
        .iter()
        .zip(&slots[all.len() - outputs.len()..])
        .map(|(value, slot)| {
            let ty = b.ty(*value);
            b.load(ty, *slot, bytes(ty))
        })
        .collect();
    b.begin_else(&mut branch, &made);
    b.end_if(branch, outputs).to_vec()
}

/// Bytes of a value in memory, which is its alignment too.
fn bytes(ty: Type) -> u32 {
    (ty.lane_bits() * ty.lanes().max(1) / 8).max(1)
}

/// How many lanes there are, and the types of one.
struct Lanes {
    count: u32,
    inputs: Vec<Type>,
    outputs: Vec<Type>,
}

/// The function, by its symbol: takes the addresses of marks (not zero for lanes that need it), of the inputs and of
/// the outputs.
fn define_loop(module: &mut Module, machine: &dyn MathMachine, rare: Rare, lanes: Lanes) -> String {
    let types: Vec<String> = lanes.inputs.iter().chain(&lanes.outputs).map(Type::to_string).collect();
    let symbol = format!("dn.math.{}.{}.{}", rare.name(), lanes.count, types.join("."));
    if module.find(&symbol).is_some() {
        return symbol;
    }
    let params = vec![Type::PTR; 1 + types.len()];
    let id = define(
        module,
        (symbol.clone(), Type::VOID, params),
        Purity::Impure,
        &["noinline", "cold", "nounwind"],
    );
    let mut b = FunctionBuilder::new(module, id);
    let (first, count, step) = (b.i64(0), b.i64(i64::from(lanes.count)), b.i64(1));
    b.for_loop(first, count, step, &[], |b, lane, _| {
        one_lane(b, machine, rare, (&lanes, lane));
        Values::new()
    });
    b.ret(None);
    symbol
}

fn one_lane(
    b: &mut FunctionBuilder<'_>,
    machine: &dyn MathMachine,
    rare: Rare,
    (lanes, lane): (&Lanes, Value),
) {
    let marks = b.param(0);
    let mark = b.gep(Type::I8, marks, lane);
    let mark = b.load(Type::I8, mark, 1);
    let zero = b.zero(Type::I8);
    let needed = b.icmp(IntCompare::Ne, mark, zero);
    let branch = b.begin_if(needed);
    let mut inputs = Values::new();
    for (index, ty) in lanes.inputs.iter().enumerate() {
        let from = b.param(1 + index);
        let from = b.gep(*ty, from, lane);
        inputs.push(b.load(*ty, from, bytes(*ty)));
    }
    let made = rare.build(b, machine, &inputs, lanes.outputs.len());
    for (index, (ty, value)) in lanes.outputs.iter().zip(made).enumerate() {
        let to = b.param(1 + lanes.inputs.len() + index);
        let to = b.gep(*ty, to, lane);
        b.store(value, to, bytes(*ty));
    }
    b.end_if(branch, &[]);
}
