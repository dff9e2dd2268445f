//! Functions of maths libraries, by the names that kernels know them under.

use super::Entry;
use super::per_register;
use crate::context::Cx;
use crate::error::Result;
use elementwise::{Elems, library};
use ir::Op;
use ttir::ops::extern_call::{EXTERN_ELEMENTWISE, ExternElementwiseOp};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&EXTERN_ELEMENTWISE, extern_call)];

fn extern_call(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let symbol = ExternElementwiseOp::new(cx.module, op).symbol();
    let elems = Elems::of(cx.module, op);
    per_register(cx, op, |cx, x| match cx.element(|ctx| library::call(ctx, symbol, &elems, x))? {
        Some(value) => Ok(value),
        None => Err(
            cx.error(op, format!("there is no function `{symbol}`; write it with the functions of tl.math"))
        ),
    })
}
