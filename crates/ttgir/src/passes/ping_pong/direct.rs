//! Loops whose copies to shared memory pass by the registers, into one buffer more than iterations are under way.
//!
//! ```text
//! ttg.async_wait of this iteration            begin copies of a later iteration
//! begin copies of a later iteration           read the operands
//! read the operands                    =>     ttg.async_wait of the next iteration
//! tt.dot                                      barrier ; tt.dot ; barrier
//! ```
//!
//! A group waits for its copies of the next iteration in front of the barrier behind which the other group, half an
//! iteration behind, has waited for its own; one barrier later both are read. What copies overwrite was read an
//! iteration ago, by the other group in front of the barrier before. The first iteration is waited for in front of the
//! loop.
//! Three buffers for operands of more than one slice do not fit shared memory, so that all is one slice.

use super::{Sliced, Weaver, memory_of, only_computes};
use crate::ops::async_copy::{ASYNC_COMMIT_GROUP, ASYNC_COPY, ASYNC_WAIT, AsyncWaitOp};
use crate::passes::is_dot;
use crate::types::token_type;
use ir::{Builder, Module, Op};
use ttir::ops::control::ForOp;
use ttir::ops::dot::MatmulOp;
use ttir::types::{elem, elem_bytes, shape};

/// Rows and columns of a dot at most that is too small.
const SMALL: i64 = 64;
/// Bytes of an element of an operand, at most.
const WIDEST: u64 = 2;

/// Lets two groups run a loop apart, if it is such a loop; whether it is.
pub(super) fn weave(module: &mut Module, op: Op) -> bool {
    let Some((wait, dot)) = parts(module, op) else { return false };
    let pending = AsyncWaitOp::new(module, wait).num();
    let mut weaver = Weaver::new(module, dot);
    let operands = weaver.read(0);
    weaver.put(wait);
    weaver.multiply_last(operands);
    weaver.finish(op);
    let attrs = AsyncWaitOp::attrs(pending);
    Builder::before(module, op).build_as(&ASYNC_WAIT, &[], &attrs, token_type());
    true
}

/// The wait and the dot of a loop, if there is nothing else in it but copies.
fn parts(module: &Module, op: Op) -> Option<(Op, Sliced)> {
    let body = ForOp::new(module, op).body();
    let (mut waits, mut reads, mut dots) = (vec![], vec![], vec![]);
    for inner in module.ops(body) {
        if module.is(inner, &ASYNC_WAIT) {
            waits.push(inner);
        } else if memory_of(module, inner).is_some() {
            reads.push(inner);
        } else if is_dot(module, inner) {
            dots.push(inner);
        } else if ![&ASYNC_COPY, &ASYNC_COMMIT_GROUP].iter().any(|row| module.is(inner, row))
            && !only_computes(module, inner)
        {
            return None;
        }
    }
    let &[wait] = &waits[..] else { return None };
    let dot = Sliced::of(module, &dots, &reads, |_| Some(1))?;
    // Nobody but the reads asks for the wait, and more than one iteration is under way.
    let asks = |&(user, _): &(Op, u32)| dot.reads.contains(&user);
    let is_ours = module.uses(module.result(wait, 0)).iter().all(asks);
    (is_ours && AsyncWaitOp::new(module, wait).num() > 0 && is_large(module, dot.dot)).then_some((wait, dot))
}

fn is_large(module: &Module, dot: Op) -> bool {
    let of = MatmulOp::new(module, dot);
    let sums = shape(module.ty(of.d()));
    sums.iter().all(|&size| size > SMALL) && elem_bytes(elem(module.ty(of.a()))) <= WIDEST
}
