//! What a processor offers to the maths functions.

use crate::lower::subtarget::Subtarget;
use llir::{FunctionBuilder, Purity, Type, Value};
use maths::MathMachine;

/// What the processor has for maths functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MathConfig {
    /// Fused multiply-add is one instruction (x86-64 with FMA, every AArch64).
    pub has_fma: bool,
    /// AVX-512 F, VL and DQ are there: scaling by a power of two is one instruction.
    pub avx512: bool,
    /// AVX is there: a lane picks one of four values by one instruction.
    pub avx: bool,
}

impl MathConfig {
    /// What a machine has.
    pub(crate) fn of(machine: &Subtarget) -> MathConfig {
        MathConfig {
            has_fma: machine.has_fma,
            avx512: machine.has_avx512,
            avx: machine.is_x86 && machine.vector_bytes >= 32,
        }
    }
}

impl MathMachine for MathConfig {
    fn has_fma(&self) -> bool {
        self.has_fma
    }

    /// The AVX-512 instruction, where a vector is one register or several.
    fn scales(&self, ty: Type) -> bool {
        let bits = ty.lanes() * ty.lane_bits();
        self.avx512 && ty.is_vector() && ([128, 256].contains(&bits) || bits.is_multiple_of(512))
    }

    fn scale(&self, b: &mut FunctionBuilder<'_>, p: Value, n: Value) -> Value {
        let ty = b.ty(p);
        if ty.lanes() * ty.lane_bits() <= 512 {
            return scale_register(b, p, n);
        }
        let half = ty.lanes() / 2;
        let [low, high] = [0, half].map(|start| {
            let (p, n) = (b.slice(p, start, half), b.slice(n, start, half));
            self.scale(b, p, n)
        });
        b.concat(low, high)
    }

    /// The permutation of AVX-512, where a vector is one register of binary32 or several.
    fn picks(&self, ty: Type) -> bool {
        self.avx512 && ty.lane() == Type::F32 && ty.lanes() >= maths::TABLE
    }

    fn pick(&self, b: &mut FunctionBuilder<'_>, table: Value, index: Value) -> Value {
        let lanes = b.ty(index).lanes();
        if lanes <= maths::TABLE {
            let (ty, args) = (b.ty(table), [table, index]);
            let picked = b.call_symbol("llvm.x86.avx512.permvar.sf.512", ty, &args, Purity::Pure);
            return picked.expect("the intrinsic has a result");
        }
        let half = lanes / 2;
        let [low, high] = [0, half].map(|start| {
            let index = b.slice(index, start, half);
            self.pick(b, table, index)
        });
        b.concat(low, high)
    }

    /// The permutation of AVX, where a vector is a half of a register of binary32, one or several.
    fn picks_of_four(&self, ty: Type) -> bool {
        self.avx && ty.lane() == Type::F32 && ty.lanes() >= 4
    }

    fn pick_of_four(&self, b: &mut FunctionBuilder<'_>, table: [u32; 4], index: Value) -> Value {
        let lanes = b.ty(index).lanes();
        if lanes * 32 <= PICKED {
            return pick_in_register(b, table, index);
        }
        let half = lanes / 2;
        let [low, high] = [0, half].map(|start| {
            let index = b.slice(index, start, half);
            self.pick_of_four(b, table, index)
        });
        b.concat(low, high)
    }
}

/// Bits of a register of which each half of 128 bits picks from its own table.
const PICKED: u32 = 256;

/// Picks from four values in each half of a register.
fn pick_in_register(b: &mut FunctionBuilder<'_>, table: [u32; 4], index: Value) -> Value {
    let lanes = b.ty(index).lanes();
    let ty = Type::F32.with_lanes(lanes);
    let values: Vec<u128> = (0..lanes as usize).map(|lane| u128::from(table[lane % 4])).collect();
    let table = b.lanes(ty, &values);
    let symbol = if lanes == 4 { "llvm.x86.avx.vpermilvar.ps" } else { "llvm.x86.avx.vpermilvar.ps.256" };
    b.call_symbol(symbol, ty, &[table, index], Purity::Pure).expect("the intrinsic has a result")
}

/// Scales one register.
fn scale_register(b: &mut FunctionBuilder<'_>, p: Value, n: Value) -> Value {
    let ty = b.ty(p);
    let letter = if ty.lane() == Type::F32 { "ps" } else { "pd" };
    let bits = ty.lanes() * ty.lane_bits();
    let symbol = format!("llvm.x86.avx512.mask.scalef.{letter}.{bits}");
    let zero = b.zero(ty);
    let all = b.int(if ty.lanes() == 16 { Type::I16 } else { Type::I8 }, -1);
    let current = b.i32(4);
    let args = [p, n, zero, all, current];
    // Only the widest form names a rounding.
    let scaled = b.call_symbol(&symbol, ty, if bits == 512 { &args } else { &args[..4] }, Purity::Pure);
    scaled.expect("the intrinsic has a result")
}
