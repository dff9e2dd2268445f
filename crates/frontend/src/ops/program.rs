//! Where a program stands in the grid.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::dtype::DType;
use crate::ops::{Args, Builtin, op};
use crate::typing::Ty;
use ir::{Attr, OpRow};
use ttir::ops::program;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.program_id", "axis", |ctx, args| grid_op(ctx, &args, "program_id", &program::GET_PROGRAM_ID)),
    op("tl.num_programs", "axis", |ctx, args| {
        grid_op(ctx, &args, "num_programs", &program::GET_NUM_PROGRAMS)
    }),
];

fn grid_op(ctx: &mut Ctx<'_>, args: &Args, name: &str, row: &'static OpRow) -> Res<Val> {
    let axis = args.int(ctx, "axis")?;
    let Some(value) = u32::try_from(axis).ok().filter(|axis| *axis < 3) else {
        return Err(ctx.error(format!("{name} axis must be 0, 1, or 2 but got {axis}")));
    };
    let value = ctx.emit(row, &[], &[Some(Attr::Enum { row: &program::AXIS, value })])?;
    Ok(Val::Tensor(Tensor { value, ty: Ty::scalar(DType::Int32) }))
}
