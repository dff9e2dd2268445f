//! Intrinsics: rows with their names, the types that are part of those, and which of them are pure.
//!
//! Those that LLVM has for all machines are here; those of one machine are rows of its target's table. Code that is
//! built calls rows, and code that is read finds the row of a name once, where the name is declared. An intrinsic
//! without a row is not pure.

use crate::types::Type;

/// What may be assumed of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purity {
    /// Equal arguments give equal results and nothing else happens.
    Pure,
    /// Anything may happen.
    Impure,
}

/// A type that is part of a name.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The result's.
    Result,
    /// That of an argument.
    Arg(u8),
}

use Part::{Arg, Result as Ret};
use Purity::{Impure, Pure};

/// A row. It is equal to itself alone: its table has it once, as a static.
#[derive(Debug)]
pub struct Intrinsic {
    /// Its name, without the types.
    pub name: &'static str,
    /// The types that LLVM adds to it.
    types: &'static [Part],
    /// What may be assumed of calls.
    pub purity: Purity,
}

impl PartialEq for Intrinsic {
    fn eq(&self, other: &Intrinsic) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Intrinsic {
    /// A row of a target's table.
    pub const fn new(name: &'static str, types: &'static [Part], purity: Purity) -> Intrinsic {
        Intrinsic { name, types, purity }
    }

    /// The same, of which nothing may be assumed.
    #[must_use]
    pub const fn impure(self) -> Intrinsic {
        Intrinsic { purity: Impure, ..self }
    }

    /// The full name for these types.
    pub(crate) fn mangled(&self, ret: Type, args: &[Type]) -> String {
        let mut mangled = self.name.to_owned();
        for part in self.types {
            let ty = match part {
                Ret => Some(&ret),
                Arg(index) => args.get(usize::from(*index)),
            };
            if let Some(ty) = ty {
                mangled.push('.');
                mangled.push_str(&ty.mangled());
            }
        }
        mangled
    }

    /// The row of a name that has its types in it: `llvm.fma.v8f32`.
    pub(crate) fn of_mangled(name: &str) -> Option<&'static Intrinsic> {
        let mut stem = name;
        loop {
            if let Ok(index) = ROWS.binary_search_by(|row| row.name.cmp(stem)) {
                return Some(ROWS[index]);
            }
            stem = stem.rsplit_once('.')?.0;
        }
    }
}

macro_rules! rows {
    ($($row:ident $name:literal $types:tt $purity:ident,)*) => {
        $(#[doc = concat!("`", $name, "`.")] pub static $row: Intrinsic = Intrinsic::new($name, &$types, $purity);)*

        /// Every intrinsic, in the order of their names.
        static ROWS: &[&Intrinsic] = &[$(&$row),*];
    };
}

#[rustfmt::skip]
rows! {
    ABS "llvm.abs" [Ret] Pure,
    ASSUME "llvm.assume" [] Impure,
    BITREVERSE "llvm.bitreverse" [Ret] Pure,
    BSWAP "llvm.bswap" [Ret] Pure,
    CANONICALIZE "llvm.canonicalize" [Ret] Pure,
    CEIL "llvm.ceil" [Ret] Pure,
    COPYSIGN "llvm.copysign" [Ret] Pure,
    COS "llvm.cos" [Ret] Pure,
    CTLZ "llvm.ctlz" [Ret] Pure,
    CTPOP "llvm.ctpop" [Ret] Pure,
    CTTZ "llvm.cttz" [Ret] Pure,
    EXP "llvm.exp" [Ret] Pure,
    EXP2 "llvm.exp2" [Ret] Pure,
    EXPECT "llvm.expect" [Ret] Pure,
    FABS "llvm.fabs" [Ret] Pure,
    FLOOR "llvm.floor" [Ret] Pure,
    FMA "llvm.fma" [Ret] Pure,
    FMULADD "llvm.fmuladd" [Ret] Pure,
    FPTOSI_SAT "llvm.fptosi.sat" [Ret, Arg(0)] Pure,
    FPTOUI_SAT "llvm.fptoui.sat" [Ret, Arg(0)] Pure,
    FSHL "llvm.fshl" [Ret] Pure,
    FSHR "llvm.fshr" [Ret] Pure,
    IS_FPCLASS "llvm.is.fpclass" [Arg(0)] Pure,
    LDEXP "llvm.ldexp" [Ret, Arg(1)] Pure,
    LIFETIME_END "llvm.lifetime.end" [Arg(1)] Impure,
    LIFETIME_START "llvm.lifetime.start" [Arg(1)] Impure,
    LOG "llvm.log" [Ret] Pure,
    LOG10 "llvm.log10" [Ret] Pure,
    LOG2 "llvm.log2" [Ret] Pure,
    LRINT "llvm.lrint" [Ret, Arg(0)] Pure,
    MASKED_COMPRESSSTORE "llvm.masked.compressstore" [Arg(0)] Impure,
    MASKED_EXPANDLOAD "llvm.masked.expandload" [Ret] Impure,
    MASKED_GATHER "llvm.masked.gather" [Ret, Arg(0)] Impure,
    MASKED_LOAD "llvm.masked.load" [Ret, Arg(0)] Impure,
    MASKED_SCATTER "llvm.masked.scatter" [Arg(0), Arg(1)] Impure,
    MASKED_STORE "llvm.masked.store" [Arg(0), Arg(1)] Impure,
    MAXIMUM "llvm.maximum" [Ret] Pure,
    MAXNUM "llvm.maxnum" [Ret] Pure,
    MEMCPY "llvm.memcpy" [Arg(0), Arg(1), Arg(2)] Impure,
    MEMMOVE "llvm.memmove" [Arg(0), Arg(1), Arg(2)] Impure,
    MEMSET "llvm.memset" [Arg(0), Arg(2)] Impure,
    MINIMUM "llvm.minimum" [Ret] Pure,
    MINNUM "llvm.minnum" [Ret] Pure,
    NEARBYINT "llvm.nearbyint" [Ret] Pure,
    POW "llvm.pow" [Ret] Pure,
    POWI "llvm.powi" [Ret, Arg(1)] Pure,
    PREFETCH "llvm.prefetch" [Arg(0)] Impure,
    PTRMASK "llvm.ptrmask" [Ret, Arg(1)] Pure,
    RINT "llvm.rint" [Ret] Pure,
    ROUND "llvm.round" [Ret] Pure,
    ROUNDEVEN "llvm.roundeven" [Ret] Pure,
    SADD_SAT "llvm.sadd.sat" [Ret] Pure,
    SADD_WITH_OVERFLOW "llvm.sadd.with.overflow" [Arg(0)] Pure,
    SIN "llvm.sin" [Ret] Pure,
    SMAX "llvm.smax" [Ret] Pure,
    SMIN "llvm.smin" [Ret] Pure,
    SMUL_WITH_OVERFLOW "llvm.smul.with.overflow" [Arg(0)] Pure,
    SQRT "llvm.sqrt" [Ret] Pure,
    SSUB_SAT "llvm.ssub.sat" [Ret] Pure,
    SSUB_WITH_OVERFLOW "llvm.ssub.with.overflow" [Arg(0)] Pure,
    TRAP "llvm.trap" [] Impure,
    TRUNC "llvm.trunc" [Ret] Pure,
    UADD_SAT "llvm.uadd.sat" [Ret] Pure,
    UADD_WITH_OVERFLOW "llvm.uadd.with.overflow" [Arg(0)] Pure,
    UMAX "llvm.umax" [Ret] Pure,
    UMIN "llvm.umin" [Ret] Pure,
    UMUL_WITH_OVERFLOW "llvm.umul.with.overflow" [Arg(0)] Pure,
    USUB_SAT "llvm.usub.sat" [Ret] Pure,
    USUB_WITH_OVERFLOW "llvm.usub.with.overflow" [Arg(0)] Pure,
    VECTOR_EXTRACT "llvm.vector.extract" [Ret, Arg(0)] Pure,
    VECTOR_INSERT "llvm.vector.insert" [Ret, Arg(1)] Pure,
    VECTOR_REDUCE_ADD "llvm.vector.reduce.add" [Arg(0)] Pure,
    VECTOR_REDUCE_AND "llvm.vector.reduce.and" [Arg(0)] Pure,
    VECTOR_REDUCE_FADD "llvm.vector.reduce.fadd" [Arg(1)] Pure,
    VECTOR_REDUCE_FMAX "llvm.vector.reduce.fmax" [Arg(0)] Pure,
    VECTOR_REDUCE_FMAXIMUM "llvm.vector.reduce.fmaximum" [Arg(0)] Pure,
    VECTOR_REDUCE_FMIN "llvm.vector.reduce.fmin" [Arg(0)] Pure,
    VECTOR_REDUCE_FMINIMUM "llvm.vector.reduce.fminimum" [Arg(0)] Pure,
    VECTOR_REDUCE_FMUL "llvm.vector.reduce.fmul" [Arg(1)] Pure,
    VECTOR_REDUCE_MUL "llvm.vector.reduce.mul" [Arg(0)] Pure,
    VECTOR_REDUCE_OR "llvm.vector.reduce.or" [Arg(0)] Pure,
    VECTOR_REDUCE_SMAX "llvm.vector.reduce.smax" [Arg(0)] Pure,
    VECTOR_REDUCE_SMIN "llvm.vector.reduce.smin" [Arg(0)] Pure,
    VECTOR_REDUCE_UMAX "llvm.vector.reduce.umax" [Arg(0)] Pure,
    VECTOR_REDUCE_UMIN "llvm.vector.reduce.umin" [Arg(0)] Pure,
    VECTOR_REDUCE_XOR "llvm.vector.reduce.xor" [Arg(0)] Pure,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn names_carry_their_types() {
        let vector = Type::F32.vector(8);
        let masks = [Type::PTR, Type::I32, vector.as_mask(), vector];
        let name = MASKED_LOAD.mangled(vector, &masks);
        assert_eq!(name, "llvm.masked.load.v8f32.p0");
        assert_eq!(Intrinsic::of_mangled(&name), Some(&MASKED_LOAD));
        assert_eq!(Intrinsic::of_mangled("llvm.x86.avx2.permd"), None);
        assert_eq!(TRAP.mangled(Type::VOID, &[]), "llvm.trap");
    }
}
