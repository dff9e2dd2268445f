//! Powers by an exponent that all elements share are products where it is 2 or 3.
//!
//! ```text
//! %e = tt.splat %n                              %two = arith.cmpi eq, %n, 2 ; %three = arith.cmpi eq, %n, 3
//! %r = tt.extern_elementwise %x, %e {pow}       %r = scf.if %two or %three {
//!                                                 %s = arith.mulf %x, %x ; %c = arith.mulf %s, %x
//!                                          =>     scf.yield (%two ? %s : %c)
//!                                               } else {
//!                                                 %p = tt.extern_elementwise %x, %e {pow} ; scf.yield %p
//!                                               }
//! ```
//!
//! A general power takes some forty instructions an element. Two roundings leave a third power within 1.5 units, as the
//! general one is; three would leave a fourth within 2.5. Constant exponents are done before, for every target. Left
//! out: exponents that differ from element to element.

use ir::pass::PassRow;
use ir::{Builder, Diagnostic, Module, Op, OpInit, Place, Value};
use smallvec::SmallVec;
use ttir::ops::arith_float::MULF;
use ttir::ops::arith_int::ORI;
use ttir::ops::compare::{CMPF, CMPI, CmpFOp, CmpFPredicate, CmpIOp, CmpIPredicate, SELECT};
use ttir::ops::constant;
use ttir::ops::control::{IF, YIELD};
use ttir::ops::extern_call::{ExternElementwiseOp, power_of};
use ttir::ops::shape::SplatOp;
use ttir::types::{elem, is_tensor};

/// Multiplies where that is the power.
pub(crate) static BRANCH_POWERS: PassRow = PassRow {
    name: "branch-powers",
    doc: "Multiplies where a power's exponent, one number for all, is small.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        branch(module, op);
    }
    Ok(())
}

fn branch(module: &mut Module, op: Op) {
    let Some(call) = ExternElementwiseOp::of(module, op).filter(|call| call.pure()) else { return };
    let result = call.result();
    let Some((x, exponent)) = power_of(call) else { return };
    let splat = module.def_op(exponent).and_then(|def| SplatOp::of(module, def));
    let Some(number) = splat.map(|splat| splat.src()).filter(|_| is_tensor(module.ty(x))) else { return };

    let mut b = Builder::before(module, op);
    let [two, three] = [2, 3].map(|small| equals(&mut b, number, small));
    let few = b.build(&ORI, &[two, three], &[]);
    let init = OpInit {
        operands: SmallVec::from_slice(&[few]),
        results: SmallVec::from_slice(&[b.module.ty(result)]),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let choice = b.insert(&IF, init);
    let [short, general] = [0, 1].map(|side| {
        let region = b.module.region(choice, side);
        b.module.add_block(region)
    });
    let loc = b.loc;
    let chosen = module.result(choice, 0);
    module.replace_uses(result, chosen);

    let mut b = Builder { loc, place: Place::End(short), module };
    let square = b.build(&MULF, &[x, x], &[]);
    let cube = b.build(&MULF, &[square, x], &[]);
    let product = b.build(&SELECT, &[two, square, cube], &[]);
    b.build_effect(&YIELD, &[product], &[]);
    module.detach(op);
    module.append(general, op);
    Builder { loc, place: Place::End(general), module }.build_effect(&YIELD, &[result], &[]);
}

/// Whether a scalar is a number.
fn equals(b: &mut Builder<'_>, scalar: Value, number: i64) -> Value {
    let ty = b.module.ty(scalar);
    if elem(ty).as_float().is_some() {
        let number = constant::float(b, ty, number as f64);
        b.build(&CMPF, &[scalar, number], &CmpFOp::attrs(CmpFPredicate::Oeq))
    } else {
        let number = constant::int(b, ty, number);
        b.build(&CMPI, &[scalar, number], &CmpIOp::attrs(CmpIPredicate::Eq))
    }
}
