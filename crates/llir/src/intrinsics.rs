//! Intrinsics: which types are part of their names, and which of them are pure.
//!
//! An intrinsic that is not in the table is taken by the name given, as those of one processor are, and is not pure.

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
#[derive(Clone, Copy)]
enum Part {
    /// The result's.
    Result,
    /// That of an argument.
    Arg(u8),
}

use Part::{Arg, Result as Ret};
use Purity::{Impure, Pure};

/// Name, types in the mangled name, purity.
type Row = (&'static str, &'static [Part], Purity);

/// One line per intrinsic.
const ROWS: &[Row] = &[
    ("llvm.abs", &[Ret], Pure),
    ("llvm.assume", &[], Impure),
    ("llvm.bitreverse", &[Ret], Pure),
    ("llvm.bswap", &[Ret], Pure),
    ("llvm.canonicalize", &[Ret], Pure),
    ("llvm.ceil", &[Ret], Pure),
    ("llvm.copysign", &[Ret], Pure),
    ("llvm.cos", &[Ret], Pure),
    ("llvm.ctlz", &[Ret], Pure),
    ("llvm.ctpop", &[Ret], Pure),
    ("llvm.cttz", &[Ret], Pure),
    ("llvm.exp", &[Ret], Pure),
    ("llvm.exp2", &[Ret], Pure),
    ("llvm.expect", &[Ret], Pure),
    ("llvm.fabs", &[Ret], Pure),
    ("llvm.floor", &[Ret], Pure),
    ("llvm.fma", &[Ret], Pure),
    ("llvm.fmuladd", &[Ret], Pure),
    ("llvm.fptosi.sat", &[Ret, Arg(0)], Pure),
    ("llvm.fptoui.sat", &[Ret, Arg(0)], Pure),
    ("llvm.fshl", &[Ret], Pure),
    ("llvm.fshr", &[Ret], Pure),
    ("llvm.is.fpclass", &[Arg(0)], Pure),
    ("llvm.ldexp", &[Ret, Arg(1)], Pure),
    ("llvm.lifetime.end", &[Arg(1)], Impure),
    ("llvm.lifetime.start", &[Arg(1)], Impure),
    ("llvm.log", &[Ret], Pure),
    ("llvm.log10", &[Ret], Pure),
    ("llvm.log2", &[Ret], Pure),
    ("llvm.lrint", &[Ret, Arg(0)], Pure),
    ("llvm.masked.compressstore", &[Arg(0)], Impure),
    ("llvm.masked.expandload", &[Ret], Impure),
    ("llvm.masked.gather", &[Ret, Arg(0)], Impure),
    ("llvm.masked.load", &[Ret, Arg(0)], Impure),
    ("llvm.masked.scatter", &[Arg(0), Arg(1)], Impure),
    ("llvm.masked.store", &[Arg(0), Arg(1)], Impure),
    ("llvm.maximum", &[Ret], Pure),
    ("llvm.maxnum", &[Ret], Pure),
    ("llvm.memcpy", &[Arg(0), Arg(1), Arg(2)], Impure),
    ("llvm.memmove", &[Arg(0), Arg(1), Arg(2)], Impure),
    ("llvm.memset", &[Arg(0), Arg(2)], Impure),
    ("llvm.minimum", &[Ret], Pure),
    ("llvm.minnum", &[Ret], Pure),
    ("llvm.nearbyint", &[Ret], Pure),
    ("llvm.pow", &[Ret], Pure),
    ("llvm.powi", &[Ret, Arg(1)], Pure),
    ("llvm.prefetch", &[Arg(0)], Impure),
    ("llvm.ptrmask", &[Ret, Arg(1)], Pure),
    ("llvm.rint", &[Ret], Pure),
    ("llvm.round", &[Ret], Pure),
    ("llvm.roundeven", &[Ret], Pure),
    ("llvm.sadd.sat", &[Ret], Pure),
    ("llvm.sadd.with.overflow", &[Arg(0)], Pure),
    ("llvm.sin", &[Ret], Pure),
    ("llvm.smax", &[Ret], Pure),
    ("llvm.smin", &[Ret], Pure),
    ("llvm.smul.with.overflow", &[Arg(0)], Pure),
    ("llvm.sqrt", &[Ret], Pure),
    ("llvm.ssub.sat", &[Ret], Pure),
    ("llvm.ssub.with.overflow", &[Arg(0)], Pure),
    ("llvm.trap", &[], Impure),
    ("llvm.trunc", &[Ret], Pure),
    ("llvm.uadd.sat", &[Ret], Pure),
    ("llvm.uadd.with.overflow", &[Arg(0)], Pure),
    ("llvm.umax", &[Ret], Pure),
    ("llvm.umin", &[Ret], Pure),
    ("llvm.umul.with.overflow", &[Arg(0)], Pure),
    ("llvm.usub.sat", &[Ret], Pure),
    ("llvm.usub.with.overflow", &[Arg(0)], Pure),
    ("llvm.vector.extract", &[Ret, Arg(0)], Pure),
    ("llvm.vector.insert", &[Ret, Arg(1)], Pure),
    ("llvm.vector.reduce.add", &[Arg(0)], Pure),
    ("llvm.vector.reduce.and", &[Arg(0)], Pure),
    ("llvm.vector.reduce.fadd", &[Arg(1)], Pure),
    ("llvm.vector.reduce.fmax", &[Arg(0)], Pure),
    ("llvm.vector.reduce.fmaximum", &[Arg(0)], Pure),
    ("llvm.vector.reduce.fmin", &[Arg(0)], Pure),
    ("llvm.vector.reduce.fminimum", &[Arg(0)], Pure),
    ("llvm.vector.reduce.fmul", &[Arg(1)], Pure),
    ("llvm.vector.reduce.mul", &[Arg(0)], Pure),
    ("llvm.vector.reduce.or", &[Arg(0)], Pure),
    ("llvm.vector.reduce.smax", &[Arg(0)], Pure),
    ("llvm.vector.reduce.smin", &[Arg(0)], Pure),
    ("llvm.vector.reduce.umax", &[Arg(0)], Pure),
    ("llvm.vector.reduce.umin", &[Arg(0)], Pure),
    ("llvm.vector.reduce.xor", &[Arg(0)], Pure),
];

/// The row of an intrinsic.
fn row(name: &str) -> Option<&'static Row> {
    ROWS.binary_search_by(|row| row.0.cmp(name)).ok().map(|index| &ROWS[index])
}

/// The full name for these types.
pub(crate) fn mangle(name: &str, ret: Type, args: &[Type]) -> String {
    let mut mangled = name.to_string();
    for part in row(name).map_or(&[][..], |row| row.1) {
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

/// What may be assumed of a call.
pub(crate) fn purity(name: &str) -> Purity {
    row(name).map_or(Impure, |row| row.2)
}

/// The same of a name that has its types in it: `llvm.fma.v8f32`.
pub(crate) fn purity_of_mangled(name: &str) -> Purity {
    let mut stem = name;
    loop {
        if row(stem).is_some() {
            return purity(stem);
        }
        match stem.rsplit_once('.') {
            Some((shorter, _)) => stem = shorter,
            None => return Impure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn names_carry_their_types() {
        let vector = Type::F32.vector(8);
        let masks = [Type::PTR, Type::I32, vector.as_mask(), vector];
        assert_eq!(mangle("llvm.masked.load", vector, &masks), "llvm.masked.load.v8f32.p0");
        assert_eq!(mangle("llvm.x86.avx2.permd", vector, &[]), "llvm.x86.avx2.permd");
        assert_eq!(mangle("llvm.trap", Type::VOID, &[]), "llvm.trap");
    }
}
