//! How many warps a program needs: more where the sums of its loops do not fit into registers, one without blocks.

use super::is_dot;
use crate::scalar::is_scalar_program;
use crate::{Machine, MatrixKind};
use ir::{Module, Op};
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::func;
use ttir::types::{numel, shape};

/// Registers of a lane that sums may take. With more than that nothing else fits, and the sums are stored and loaded in
/// each iteration.
const MOST_REGISTERS: u64 = 224;
/// Warps that a program is given at most.
const MOST_WARPS: u32 = 8;

/// The warps that were asked for, or twice or four times as many where the sums of dots that a loop carries are more
/// than the registers of those can hold, on machines where warp groups multiply from shared memory: more warps read
/// no more there. Where no kernel has a block there is work for one lane alone, and one warp is enough.
pub fn enough_warps(module: &Module, machine: &Machine, asked: u32) -> u32 {
    let mut kernels = func::kernels(module).peekable();
    if kernels.peek().is_some() && kernels.all(|kernel| is_scalar_program(module, kernel.op)) {
        return asked.min(1);
    }
    let by_groups = machine.matrix.iter().any(|row| row.kind == MatrixKind::Group);
    let loops = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR));
    let Some(most) = loops.map(|op| sums(module, op)).max().filter(|_| by_groups) else { return asked };
    let lanes = u64::from(machine.warp_size);
    let mut warps = asked;
    while warps < MOST_WARPS && most > MOST_REGISTERS * lanes * u64::from(warps) {
        warps *= 2;
    }
    warps
}

/// Elements of the sums of dots that a loop carries.
fn sums(module: &Module, op: Op) -> u64 {
    let yielded = ForOp::new(module, op).yielded().iter();
    let made = yielded.filter(|&&value| module.def_op(value).is_some_and(|def| is_dot(module, def)));
    let results = made.map(|&value| module.ty(value)).filter(|&ty| shape(ty).len() == 2);
    results.map(|ty| numel(ty) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::enough_warps;
    use crate::{FragmentKind, Machine, MatrixKind, MatrixRow, Number};
    use ir::FloatKind;
    use ir::text::{ParseOptions, parse};

    const HALF: Number = Number::Float(FloatKind::F16);
    static GROUPS: Machine = Machine {
        matrix: &[MatrixRow {
            kind: MatrixKind::Group,
            a: HALF,
            b: HALF,
            c: Number::Float(FloatKind::F32),
            m: 64,
            n: &[8],
            k: 16,
            fragments: FragmentKind::Pairs,
            warps: 4,
            a_in_registers: true,
            in_shared: true,
            any_major: true,
        }],
        ..Machine::BASE
    };

    /// Two sums of so many columns.
    fn warps(columns: u32, machine: &Machine, asked: u32) -> u32 {
        let ty = format!("tensor<128x{columns}xf32>");
        let dot = format!("tt.dot %a, %b, %X : tensor<128x16xf16> * tensor<16x{columns}xf16> -> {ty}");
        let text = format!(
            "tt.func @f(%a: tensor<128x16xf16>, %b: tensor<16x{columns}xf16>, %z: {ty}, %n: i32) {{
               %r:2 = scf.for %i = %n to %n step %n iter_args(%x = %z, %y = %z) -> ({ty}, {ty}) : i32 {{
                 %p = {}\n %q = {}\n scf.yield %p, %q : {ty}, {ty}
               }}\n tt.return\n }}",
            dot.replace("%X", "%x"),
            dot.replace("%X", "%y")
        );
        let module = parse(&text, ttir::registry(), ParseOptions::default()).unwrap();
        enough_warps(&module, machine, asked)
    }

    #[test]
    fn sums_that_do_not_fit_get_more_warps() {
        let found =
            [(128, 4), (64, 4), (128, 8), (256, 4), (32, 1)].map(|(n, asked)| warps(n, &GROUPS, asked));
        assert_eq!(found, [8, 4, 8, 8, 2]);
        assert_eq!(warps(128, &Machine::BASE, 4), 4);
    }

    #[test]
    fn programs_without_blocks_have_one_warp() {
        let warps = |body: &str| {
            let text = format!("tt.func public @f(%p: !tt.ptr<i32>, %n: i32) {{ {body} tt.return }}");
            let module = parse(&text, ttir::registry(), ParseOptions::default()).unwrap();
            enough_warps(&module, &Machine::BASE, 4)
        };
        assert_eq!(warps("tt.store %p, %n : !tt.ptr<i32>"), 1);
        assert_eq!(warps("%x = tt.splat %n : i32 -> tensor<4xi32>"), 4);
        let assembly = "tt.elementwise_inline_asm \"mov.u32 $0, %laneid;\" {constraints = \"=r\", packed_element = 1 : i32, pure = false} -> i32";
        assert_eq!(warps(&format!("%x = {assembly}")), 4);
    }
}
