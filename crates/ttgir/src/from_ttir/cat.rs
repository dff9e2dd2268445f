//! Concatenation becomes pairs: no layout has one block behind another.
//!
//! ```text
//! %c = tt.cat %a, %b : tensor<8xf32> -> tensor<16xf32>   =>   %j = tt.join %a, %b : … -> tensor<8x2xf32>
//!                                                            %t = tt.trans %j {order = [1, 0]} : … -> tensor<2x8xf32>
//!                                                            %c = tt.reshape %t : … -> tensor<16xf32>
//! ```
//!
//! Left out, and refused: blocks of different sizes, which are no pairs.

use ir::pass::PassRow;
use ir::{Builder, Diagnostic, Module, Op};
use ttir::ops::shape::{CAT, CatOp, JOIN, RESHAPE, TRANS, TransOp};

/// Writes concatenations as pairs.
pub(crate) static EXPAND_CAT: PassRow =
    PassRow { name: "expand-cat", doc: "Writes concatenations as pairs, which layouts can hold.", run };

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        if module.is(op, &CAT) {
            expand(module, op)?;
        }
    }
    Ok(())
}

fn expand(module: &mut Module, op: Op) -> Result<(), Diagnostic> {
    let cat = CatOp::new(module, op);
    let (a, b, result) = (cat.lhs(), cat.rhs(), cat.result());
    if module.ty(a) != module.ty(b) {
        let place = module.locs.describe(module.loc(op));
        let message = format!(
            "blocks of types {} and {} cannot be put behind each other here",
            module.ty(a),
            module.ty(b)
        );
        return Err(Diagnostic::new(message).at(place).note("both must have one shape"));
    }
    let ty = module.ty(result);
    let rank = ttir::types::shape(ty).len();
    let mut builder = Builder::before(module, op);
    let pairs = builder.build(&JOIN, &[a, b], &[]);
    // The number of the block becomes the first dimension.
    let order: Vec<i64> = [rank as i64].into_iter().chain(0..rank as i64).collect();
    let behind = builder.build(&TRANS, &[pairs], &TransOp::attrs(&order));
    let whole = builder.build_as(&RESHAPE, &[behind], &[None, None], ty);
    module.replace_uses(result, whole);
    module.erase(op);
    Ok(())
}
