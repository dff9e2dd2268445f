//! Descriptors that were written to memory become loads of what they are made of, and writing one stores of it.
//!
//! ```text
//! %d = tt.reinterpret_tensor_descriptor %p       =>    %d = tt.make_tensor_descriptor (load %p + 8), [load %p + 16, load %p + 24], [%1, 1]
//! tt.experimental_tensormap_create %p, %a, [%m, %n]    store %p + 8, %a ; store %p + 16, %m ; store %p + 24, %n
//! ```
//!
//! That is the record of `tools.experimental_descriptor`: address, rows and columns of 64 bits each, behind eight bytes
//! that nobody looks at here. A row has its size for rows. Addresses and rows are multiples of 16 bytes, as whoever
//! writes a descriptor promises. A loop in which none is written reads those that it uses once, in front of itself:
//! their memory is there wherever their address is.

use crate::ops::access::AccessOp;
use crate::ops::arith_cast::{EXTSI, INT_TO_PTR, PTR_TO_INT, TRUNCI, TT_BITCAST};
use crate::ops::constant;
use crate::ops::descriptor::{
    DescriptorAccessOp, FIRST_WORD, MAKE, MakeDescriptorOp, Padding, WRITE, WriteDescriptorOp,
    WrittenDescriptorOp,
};
use crate::ops::func::DIVISIBILITY;
use crate::ops::memory::{self, ADDPTR};
use crate::ops::program::ASSUME;
use crate::types::{elem, elem_bytes, ptr, shape};
use ir::{Attr, Builder, Module, Op, Traits, Type, Value};

/// Bytes that addresses and rows are multiples of.
const ALIGNMENT: i64 = 16;

/// Replaces both operations.
pub(super) fn replace(module: &mut Module) {
    for op in module.walk(module.top()) {
        if WrittenDescriptorOp::of(module, op).is_some() {
            read(module, op);
        }
    }
    for op in module.walk(module.top()) {
        if module.is(op, &WRITE) {
            write(module, op);
        }
    }
}

/// The operation in front of which a descriptor is read: the outermost loop around it that has its address and in which
/// it stays what it is.
fn place(module: &Module, op: Op) -> Op {
    let address = WrittenDescriptorOp::new(module, op).ptr();
    let mut at = op;
    while let Some(around) = module.parent_op(at).filter(|&around| module.has(around, Traits::LOOP))
        && module.is_outside(address, around)
        && module.walk(around).iter().all(|&inner| keeps_descriptors(module, inner))
    {
        at = around;
    }
    at
}

/// Whether an operation neither writes a descriptor nor learns, as an atomic may, that another program has. Stores of
/// elements write none.
fn keeps_descriptors(module: &Module, op: Op) -> bool {
    let is_store = || {
        AccessOp::store(module, op).is_some_and(|store| !store.is_atomic())
            || DescriptorAccessOp::of(module, op).is_some()
    };
    !module.row(op).writes() || is_store() || module.is(op, &ASSUME)
}

fn read(module: &mut Module, op: Op) {
    let of = WrittenDescriptorOp::new(module, op);
    let (address, result) = (of.ptr(), of.result());
    let ty = module.ty(result);
    let (rank, pointer) = (shape(ty).len() as i64, ptr(elem(ty)));
    let step = (ALIGNMENT / elem_bytes(elem(ty)) as i64).max(1);
    let loc = module.loc(op);
    let at = place(module, op);
    let mut b = Builder::before(module, at);
    b.loc = loc;
    let words = b.build_as(&TT_BITCAST, &[address], &[], ptr(Type::int(64)));
    let base = load_word(&mut b, words, FIRST_WORD);
    let base = b.build_as(&INT_TO_PTR, &[base], &[], pointer);
    hint(b.module, base, ALIGNMENT);
    let mut operands = vec![base];
    for dim in 0..rank {
        let size = load_word(&mut b, words, FIRST_WORD + 1 + dim);
        let size = b.build_as(&TRUNCI, &[size], &[], Type::int(32));
        if dim > 0 {
            hint(b.module, size, step);
        }
        operands.push(size);
    }
    if rank > 1 {
        let columns = operands[rank as usize];
        operands.push(b.build_as(&EXTSI, &[columns], &[], Type::int(64)));
    }
    operands.push(constant::int(&mut b, Type::int(64), 1));
    let made = b.build_as(&MAKE, &operands, &MakeDescriptorOp::attrs(Padding::Zero), ty);
    module.replace_uses(result, made);
    module.erase(op);
}

fn write(module: &mut Module, op: Op) {
    let of = WriteDescriptorOp::new(module, op);
    let (address, base, sizes) = (of.ptr(), of.base(), of.shape().to_vec());
    let loc = module.loc(op);
    let mut b = Builder::before(module, op);
    b.loc = loc;
    let words = b.build_as(&TT_BITCAST, &[address], &[], ptr(Type::int(64)));
    let base = b.build_as(&PTR_TO_INT, &[base], &[], Type::int(64));
    for (number, word) in (FIRST_WORD..).zip(std::iter::once(base).chain(sizes)) {
        let at = word_at(&mut b, words, number);
        memory::store(&mut b, at, word);
    }
    module.erase(op);
}

fn word_at(b: &mut Builder<'_>, words: Value, number: i64) -> Value {
    let number = constant::int(b, Type::int(32), number);
    b.build(&ADDPTR, &[words, number], &[])
}

fn load_word(b: &mut Builder<'_>, words: Value, number: i64) -> Value {
    let at = word_at(b, words, number);
    memory::load(b, at)
}

/// Says that a value is a multiple of a number.
fn hint(module: &mut Module, value: Value, divisor: i64) {
    let op = module.def_op(value).expect("it was built");
    module.set_extra(op, DIVISIBILITY.key(), Some(Attr::int(divisor, Type::int(32))));
}
