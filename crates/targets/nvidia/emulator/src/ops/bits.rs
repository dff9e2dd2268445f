//! Logic, shifts, and the taking apart of bits.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::lanes::map;
use crate::syntax::types::{Kind, Type, mask};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Takes a type of 16, 32 or 64 bits.
fn bits_type(site: &mut Site<'_>) -> Result<Type, Diagnostic> {
    let ty = site.ty()?;
    let whole = matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed) && ty.lanes == 1;
    if whole && matches!(ty.bits, 16 | 32 | 64) {
        Ok(ty)
    } else {
        site.error("16, 32 or 64 bits are possible")
    }
}

/// The same, or a predicate.
fn bits_or_predicate(site: &mut Site<'_>) -> Result<Type, Diagnostic> {
    if site.flag("pred") { Ok(Type::PRED) } else { bits_type(site) }
}

/// `and`, `or`, `xor`.
pub(crate) fn logic(site: &mut Site<'_>) -> Decoded {
    let ty = bits_or_predicate(site)?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, ty)?]);
    Ok(match site.mnemonic {
        "and" => map(dest, sources, |[a, b]| a & b),
        "or" => map(dest, sources, |[a, b]| a | b),
        _ => map(dest, sources, |[a, b]| a ^ b),
    })
}

/// `not`, `cnot`.
pub(crate) fn not(site: &mut Site<'_>) -> Decoded {
    let ty = bits_or_predicate(site)?;
    site.arity(2, 2)?;
    let (dest, source, mask) = (site.dest(0, ty)?, site.source(1, ty)?, ty.mask());
    Ok(match site.mnemonic {
        "not" => map(dest, [source], move |[a]| !a & mask),
        _ => map(dest, [source], |[a]| u64::from(a == 0)),
    })
}

/// Any function of three bits, by its table.
pub(crate) fn lop3(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(5, 5)?;
    let dest = site.dest(0, ty)?;
    let sources = [site.source(1, ty)?, site.source(2, ty)?, site.source(3, ty)?];
    let (table, mask) = (site.immediate(4)?, ty.mask());
    Ok(map(dest, sources, move |[a, b, c]| {
        let out = (0..8).filter(|row| table >> row & 1 == 1).fold(0, |out, row| {
            let pick = |bit: i64, value: u64| if row >> bit & 1 == 1 { value } else { !value };
            out | pick(2, a) & pick(1, b) & pick(0, c)
        });
        out & mask
    }))
}

/// `shl`, `shr`: by more than the width, nothing (or the sign) is left.
pub(crate) fn shift(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, Type::U32)?]);
    let (bits, top) = (ty.bits, ty.mask());
    Ok(match (site.mnemonic, ty.is_signed()) {
        ("shl", _) => map(dest, sources, move |[a, n]| if n >= u64::from(bits) { 0 } else { a << n & top }),
        (_, false) => map(dest, sources, move |[a, n]| if n >= u64::from(bits) { 0 } else { a >> n }),
        (_, true) => map(dest, sources, move |[a, n]| {
            let value = ((a << (64 - bits)) as i64) >> (64 - bits);
            (value >> n.min(63)) as u64 & top
        }),
    })
}

/// `shf`: shifts two words as one.
pub(crate) fn funnel(site: &mut Site<'_>) -> Decoded {
    let left = site.choice(&[("l", true), ("r", false)]);
    let clamp = site.choice(&[("clamp", true), ("wrap", false)]);
    let ty = bits_type(site)?;
    site.arity(4, 4)?;
    let (Some(left), Some(clamp)) = (left, clamp) else {
        return site.error("a direction and a mode are needed");
    };
    let dest = site.dest(0, ty)?;
    let sources = [site.source(1, ty)?, site.source(2, ty)?, site.source(3, Type::U32)?];
    Ok(map(dest, sources, move |[low, high, n]| {
        let n = if clamp { n.min(32) } else { n & 31 };
        let both = high << 32 | low;
        let out = if left { if n == 32 { low } else { both << n >> 32 } } else { both >> n };
        out & mask(32)
    }))
}

/// `popc`, `clz`.
pub(crate) fn count(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(2, 2)?;
    let (dest, source, bits) = (site.dest(0, Type::U32)?, site.source(1, ty)?, ty.bits);
    Ok(match site.mnemonic {
        "popc" => map(dest, [source], |[a]| u64::from(a.count_ones())),
        _ => map(dest, [source], move |[a]| u64::from(a.leading_zeros() + bits - 64)),
    })
}

/// The highest bit that differs from the sign.
pub(crate) fn find(site: &mut Site<'_>) -> Decoded {
    let amount = site.flag("shiftamt");
    let ty = bits_type(site)?;
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, Type::U32)?, site.source(1, ty)?);
    Ok(map(dest, [source], move |[a]| {
        let negative = ty.is_signed() && a >> (ty.bits - 1) & 1 == 1;
        let value = if negative { !a & ty.mask() } else { a };
        if value == 0 {
            return mask(32);
        }
        let highest = 63 - u64::from(value.leading_zeros());
        if amount { u64::from(ty.bits) - 1 - highest } else { highest }
    }))
}

/// The n-th set bit from a base.
pub(crate) fn nth_set(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(4, 4)?;
    let dest = site.dest(0, ty)?;
    let sources = [site.source(1, ty)?, site.source(2, ty)?, site.source(3, Type::S32)?];
    Ok(map(dest, sources, |[value, base, offset]| {
        let (base, offset) = (base as i64, i64::from(offset as i32));
        let set = |bit: i64| (0..32).contains(&bit) && value >> bit & 1 == 1;
        if offset == 0 {
            return if set(base) { base as u64 } else { mask(32) };
        }
        let (step, mut left, mut bit) = (offset.signum(), offset.abs(), base);
        while (0..32).contains(&bit) {
            if set(bit) {
                left -= 1;
                if left == 0 {
                    return bit as u64;
                }
            }
            bit += step;
        }
        mask(32)
    }))
}

/// `brev`.
pub(crate) fn reverse(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(2, 2)?;
    let (dest, source, bits) = (site.dest(0, ty)?, site.source(1, ty)?, ty.bits);
    Ok(map(dest, [source], move |[a]| a.reverse_bits() >> (64 - bits)))
}

/// `bfe`: a field, with its sign.
pub(crate) fn extract(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(4, 4)?;
    let dest = site.dest(0, ty)?;
    let sources = [site.source(1, ty)?, site.source(2, Type::U32)?, site.source(3, Type::U32)?];
    Ok(map(dest, sources, move |[a, start, length]| {
        let (start, length) = (start & 0xff, length & 0xff);
        let bits = u64::from(ty.bits);
        let field = if start >= bits { 0 } else { a >> start & mask(length.min(64) as u32) };
        let last = (start + length).wrapping_sub(1).min(bits - 1);
        let negative = ty.is_signed() && length > 0 && a >> last & 1 == 1;
        if !negative {
            return field;
        }
        let kept = length.min(bits.saturating_sub(start));
        (field | !mask(kept as u32)) & ty.mask()
    }))
}

/// `bfi`: puts a field into a value.
pub(crate) fn insert(site: &mut Site<'_>) -> Decoded {
    let ty = bits_type(site)?;
    site.arity(5, 5)?;
    let dest = site.dest(0, ty)?;
    let sources =
        [site.source(1, ty)?, site.source(2, ty)?, site.source(3, Type::U32)?, site.source(4, Type::U32)?];
    let (bits, top) = (u64::from(ty.bits), ty.mask());
    Ok(map(dest, sources, move |[field, into, start, length]| {
        let (start, length) = (start & 0xff, length & 0xff);
        if start >= bits {
            return into;
        }
        let hole = mask(length.min(64) as u32) << start & top;
        into & !hole | field << start & hole
    }))
}

/// `bmsk`: a run of ones.
pub(crate) fn bitmask(site: &mut Site<'_>) -> Decoded {
    let clamp = site.choice(&[("clamp", true), ("wrap", false)]).unwrap_or(true);
    bits_type(site)?;
    site.arity(3, 3)?;
    let (dest, sources) =
        (site.dest(0, Type::B32)?, [site.source(1, Type::U32)?, site.source(2, Type::U32)?]);
    Ok(map(dest, sources, move |[start, length]| {
        let (start, length) = if clamp { (start.min(32), length.min(32)) } else { (start & 31, length & 31) };
        mask(length as u32) << start & mask(32)
    }))
}

/// `szext`: extends the sign or zero from a position.
pub(crate) fn extend(site: &mut Site<'_>) -> Decoded {
    let clamp = site.choice(&[("clamp", true), ("wrap", false)]).unwrap_or(true);
    let ty = bits_type(site)?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, Type::U32)?]);
    Ok(map(dest, sources, move |[a, n]| {
        let n = if clamp { n.min(32) } else { n & 31 };
        if n == 0 {
            return 0;
        }
        let low = a & mask(n as u32);
        let negative = ty.is_signed() && low >> (n - 1) & 1 == 1;
        if negative { (low | !mask(n as u32)) & mask(32) } else { low }
    }))
}

/// How `prmt` picks bytes.
#[derive(Clone, Copy)]
enum Pick {
    Any,
    Forward,
    Backward,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

const PICKS: &[(&str, Pick)] = &[
    ("f4e", Pick::Forward),
    ("b4e", Pick::Backward),
    ("rc8", Pick::Replicate8),
    ("ecl", Pick::EdgeLeft),
    ("ecr", Pick::EdgeRight),
    ("rc16", Pick::Replicate16),
];

/// The byte that each byte of the result is, and whether its sign is spread.
fn picked(pick: Pick, selector: u64, index: u64) -> (u64, bool) {
    let low = selector & 3;
    let byte = match pick {
        Pick::Any => {
            let nibble = selector >> (4 * index) & 15;
            return (nibble & 7, nibble & 8 != 0);
        }
        Pick::Forward => (low + index) & 7,
        Pick::Backward => low.wrapping_sub(index) & 7,
        Pick::Replicate8 => low,
        Pick::EdgeLeft => index.max(low),
        Pick::EdgeRight => index.min(low),
        Pick::Replicate16 => (low & 1) * 2 + (index & 1),
    };
    (byte, false)
}

/// `prmt`: bytes of two words in any order.
pub(crate) fn permute(site: &mut Site<'_>) -> Decoded {
    bits_type(site)?;
    let pick = site.choice(PICKS).unwrap_or(Pick::Any);
    site.arity(4, 4)?;
    let dest = site.dest(0, Type::B32)?;
    let sources = [site.source(1, Type::B32)?, site.source(2, Type::B32)?, site.source(3, Type::B32)?];
    Ok(map(dest, sources, move |[a, b, selector]| {
        let both = b << 32 | a;
        (0..4).fold(0, |out, index| {
            let (byte, spread) = picked(pick, selector, index);
            let byte = both >> (8 * byte) & 0xff;
            let byte = if spread { if byte & 0x80 != 0 { 0xff } else { 0 } } else { byte };
            out | byte << (8 * index)
        })
    }))
}
