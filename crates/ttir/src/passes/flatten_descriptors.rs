//! Tensor descriptors that a kernel takes as arguments become descriptors that it makes itself.
//!
//! ```text
//! tt.func @k(%d: !tt.tensordesc<8x16xf16>,           tt.func @k(%d: !tt.ptr<f16> {tt.divisibility = 16 : i32},
//!   %d.shape.0: i32, %d.shape.1: i32,            =>    %d.shape.0: i32, %d.shape.1: i32,
//!   %d.stride.0: i64, %d.stride.1: i64)                %d.stride.0: i64 {tt.divisibility = 8 : i32}, %d.stride.1: i64)
//!                                                      %0 = tt.make_tensor_descriptor %d, [%d.shape.0, %d.shape.1], [%d.stride.0, 1]
//! ```
//!
//! This is the binary interface of descriptors: in their place an address, behind it sizes and strides, which the front
//! end has made parameters already. Addresses are divisible by 16, and so are strides in bytes; the last stride is 1.
//! Whoever launches has checked that. Every target runs this pass first; in the stage `ttir` of a kernel descriptors
//! are still to be seen.

use crate::ops::arith_cast::TT_BITCAST;
use crate::ops::arith_int::{ADDI, ANDI, SHRUI};
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use crate::ops::constant;
use crate::ops::descriptor::{DescriptorAccessOp, MAKE, MakeDescriptorOp, Padding};
use crate::ops::func::{DIVISIBILITY, FuncOp, PADS_NAN, ROUNDS_TO_TF32, kernels};
use crate::types::{TENSORDESC, elem, elem_bytes, ptr, shape, with_elem};
use ir::pass::PassRow;
use ir::{Attr, Block, Builder, DeclaredKey, Diagnostic, Module, Op, Place, Type, Value};

/// Lets kernels make the descriptors that are their parameters.
pub static FLATTEN_DESCRIPTORS: PassRow = PassRow {
    name: "flatten-descriptors",
    doc: "Passes tensor descriptors as addresses, sizes and strides.",
    run,
};

/// Bytes to which addresses and strides are aligned.
const ALIGNMENT: i64 = 16;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    super::written_descriptors::replace(module);
    for function in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let func = FuncOp::new(module, function);
        let (entry, params) = (func.entry(), func.params());
        let descriptors: Vec<usize> =
            (0..params.len()).filter(|&at| is_descriptor(module, params[at])).collect();
        if descriptors.is_empty() {
            continue;
        }
        for at in descriptors {
            flatten(module, function, entry, at)?;
        }
        FuncOp::follow_arguments(module, function);
    }
    Ok(())
}

fn is_descriptor(module: &Module, value: Value) -> bool {
    module.ty(value).params_of(&TENSORDESC).is_some()
}

/// Flattens one parameter.
fn flatten(module: &mut Module, function: Op, entry: Block, at: usize) -> Result<(), Diagnostic> {
    let param = module.args(entry)[at];
    let ty = module.ty(param);
    let rank = shape(ty).len();
    let (sizes, strides) = extents(module, entry, at, rank).ok_or_else(|| {
        let name = module.name(param).unwrap_or("?");
        let message = format!("behind the tensor descriptor `%{name}` stand no sizes and strides");
        Diagnostic::new(message).at(module.locs.describe(module.loc(function))).note(format!(
            "a parameter of type {ty} is followed by {rank} of type i32 and {rank} of type i64, which describe the tensor"
        ))
    })?;
    let (pads_nan, rounds) =
        (take_flag(module, entry, at, &PADS_NAN), take_flag(module, entry, at, &ROUNDS_TO_TF32));
    let users = module.uses(param).to_vec();
    module.set_ty(param, ptr(elem(ty)));
    hint(module, entry, at, ALIGNMENT);
    let step = (ALIGNMENT / elem_bytes(elem(ty)) as i64).max(1);
    for dim in 0..rank - 1 {
        hint(module, entry, at + 1 + rank + dim, step);
    }
    let place = module.first_op(entry).map_or(Place::End(entry), Place::Before);
    let mut builder = Builder::new(module, place);
    let one = constant::int(&mut builder, Type::int(64), 1);
    let mut operands = vec![param];
    operands.extend(sizes);
    operands.extend(&strides[..rank - 1]);
    operands.push(one);
    let padding = if pads_nan { Padding::Nan } else { Padding::Zero };
    let made = builder.build_as(&MAKE, &operands, &MakeDescriptorOp::attrs(padding), ty);
    for (user, operand) in users {
        module.set_operand(user, operand as usize, made);
        if rounds && DescriptorAccessOp::of(module, user).is_some_and(DescriptorAccessOp::reads) {
            round_result(module, user);
        }
    }
    Ok(())
}

/// The parameters that say how large the tensor is.
fn extents(module: &Module, entry: Block, at: usize, rank: usize) -> Option<(Vec<Value>, Vec<Value>)> {
    let behind = module.args(entry).get(at + 1..at + 1 + 2 * rank)?;
    let (sizes, strides) = behind.split_at(rank);
    let are = |values: &[Value], bits| values.iter().all(|&value| module.ty(value) == Type::int(bits));
    (are(sizes, 32) && are(strides, 64)).then(|| (sizes.to_vec(), strides.to_vec()))
}

/// Whether a parameter has an attribute, which it has no more.
fn take_flag(module: &mut Module, entry: Block, at: usize, key: &DeclaredKey) -> bool {
    let own = module.arg_attrs(entry, at).iter().find(|(own, _)| own.name() == key.name);
    let flag = own.and_then(|(_, attr)| attr.as_bool());
    module.set_arg_attr(entry, at, key.key(), None);
    flag == Some(true)
}

/// Says of a parameter that it is divisible by `divisor`, unless more is known of it.
fn hint(module: &mut Module, entry: Block, at: usize, divisor: i64) {
    let known = module.arg_attrs(entry, at).iter().find(|(key, _)| key.name() == DIVISIBILITY.name);
    let known = known.and_then(|(_, attr)| attr.as_int()).unwrap_or(1);
    if divisor > 1 && known % divisor != 0 {
        let attr = Attr::int(divisor, Type::int(32));
        module.set_arg_attr(entry, at, DIVISIBILITY.key(), Some(attr));
    }
}

/// Rounds what a load gives to ten bits of mantissa, to the nearest and then to even; infinities and NaN stay.
fn round_result(module: &mut Module, load: Op) {
    // A block never ends with a load.
    let Some(next) = module.next(load) else { return };
    let result = module.result(load, 0);
    let users = module.uses(result).to_vec();
    let ty = module.ty(result);
    let bits_ty = with_elem(ty, Type::int(32));
    let loc = module.loc(load);
    let mut b = Builder::before(module, next);
    b.loc = loc;
    let numbers = [0x7f80_0000, 13, 1, 0x0fff, 0xffff_e000];
    let [exponent, dropped, one, half, kept] = numbers.map(|bits| constant::build(&mut b, bits_ty, bits));
    let bits = b.build_as(&TT_BITCAST, &[result], &[], bits_ty);
    let own = b.build(&ANDI, &[bits, exponent], &[]);
    let special = b.build(&CMPI, &[own, exponent], &CmpIOp::attrs(CmpIPredicate::Eq));
    let last = b.build(&SHRUI, &[bits, dropped], &[]);
    let last = b.build(&ANDI, &[last, one], &[]);
    let bias = b.build(&ADDI, &[last, half], &[]);
    let sum = b.build(&ADDI, &[bits, bias], &[]);
    let rounded = b.build(&ANDI, &[sum, kept], &[]);
    let chosen = b.build(&SELECT, &[special, bits, rounded], &[]);
    let value = b.build_as(&TT_BITCAST, &[chosen], &[], ty);
    for (user, operand) in users {
        module.set_operand(user, operand as usize, value);
    }
}
