//! Moves, packing and unpacking, and what turns one kind of address into another.

use crate::decode::scope::Symbol;
use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::{map, run};
use crate::machine::place::{LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW};
use crate::syntax::Operand;
use crate::syntax::types::{Space, Type, mask};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Registers that change while a launch runs, and the width of their type.
const CLOCKS: &[(&str, u32)] =
    &[("%clock", 32), ("%clock_hi", 32), ("%clock64", 64), ("%globaltimer", 64), ("%globaltimer_lo", 32)];

/// `mov`.
pub(crate) fn mov(site: &mut Site<'_>) -> Decoded {
    let ty = site.ty()?;
    site.arity(2, 2)?;
    let (to, from) = (site.operand(0)?, site.operand(1)?);
    match (to, from) {
        (Operand::Vector(parts), _) => unpack(site, ty, parts),
        (_, Operand::Vector(parts)) => pack(site, ty, parts),
        (_, Operand::Name(name)) if CLOCKS.iter().any(|(own, _)| own == name) => clock(site, ty),
        _ if ty.width() == 128 => {
            let (dest, source) = (site.dest(0, ty)?, site.source(1, ty)?);
            Ok(run(move |step| {
                for half in 0..2 {
                    let values = *step.warp.row(Slot(source.0 + half));
                    let mask = step.mask;
                    step.warp.set(Slot(dest.0 + half), mask, &values);
                }
                Ok(Flow::Next)
            }))
        }
        _ => {
            let (dest, source) = (site.dest(0, ty)?, site.source(1, ty)?);
            let mask = ty.mask();
            Ok(map(dest, [source], move |[a]| a & mask))
        }
    }
}

fn clock(site: &mut Site<'_>, ty: Type) -> Decoded {
    let (dest, _) = site.wide_dest_of(site.operand(0)?, ty)?;
    let high = matches!(site.operand(1)?, Operand::Name(name) if name == "%clock_hi");
    let top = ty.mask();
    Ok(run(move |step| {
        let now = step.world.warp_instructions;
        let mask = step.mask;
        step.warp.set(dest, mask, &[if high { now >> 32 } else { now } & top; 32]);
        Ok(Flow::Next)
    }))
}

fn part_type(site: &Site<'_>, ty: Type, parts: usize) -> Result<Type, Diagnostic> {
    match ty.width().checked_div(parts as u32).unwrap_or(0) {
        8 => Ok(Type::B8),
        16 => Ok(Type::B16),
        32 => Ok(Type::B32),
        64 => Ok(Type::B64),
        _ => site.error(format!("{} bits cannot be {parts} parts", ty.width())),
    }
}

/// `mov.b64 {a, b}, d`.
fn unpack(site: &mut Site<'_>, ty: Type, parts: &[Operand]) -> Decoded {
    let part = part_type(site, ty, parts.len())?;
    let source = site.source(1, ty)?;
    let dests = site.dests(0, part)?;
    let per = 64 / part.width();
    Ok(run(move |step| {
        let mask_of = step.mask;
        for (index, dest) in dests.iter().enumerate() {
            let index = index as u32;
            let row = *step.warp.row(Slot(source.0 + index / per));
            let shift = index % per * part.width();
            let values = row.map(|cell| cell >> shift & mask(part.width()));
            step.warp.set(*dest, mask_of, &values);
        }
        Ok(Flow::Next)
    }))
}

/// `mov.b64 d, {a, b}`.
fn pack(site: &mut Site<'_>, ty: Type, parts: &[Operand]) -> Decoded {
    let part = part_type(site, ty, parts.len())?;
    let sources = site.sources(1, part)?;
    let dest = site.dest(0, ty)?;
    let per = (64 / part.width()) as usize;
    Ok(run(move |step| {
        let mask_of = step.mask;
        for (half, sources) in sources.chunks(per).enumerate() {
            let mut values = [0; 32];
            for (index, source) in sources.iter().enumerate() {
                let row = step.warp.row(*source);
                for (value, cell) in values.iter_mut().zip(row) {
                    *value |= (cell & mask(part.width())) << (index as u32 * part.width());
                }
            }
            step.warp.set(Slot(dest.0 + half as u32), mask_of, &values);
        }
        Ok(Flow::Next)
    }))
}

/// The window of generic addresses that a space has; 0 for global memory.
fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        _ => 0,
    }
}

/// `cvta`: to a generic address, or from one.
pub(crate) fn cvta(site: &mut Site<'_>) -> Decoded {
    let from_generic = site.flag("to");
    let space = site.space();
    let ty = site.ty()?;
    site.arity(2, 2)?;
    let dest = site.dest(0, ty)?;
    // A parameter of an inlined function lies in local memory.
    let space = match site.operand(1)? {
        Operand::Name(name) => match site.assembly.scopes.find(name) {
            Some(&Symbol::Placed { space: placed, .. }) => placed,
            _ => space,
        },
        _ => space,
    };
    let source = site.source(1, ty)?;
    let window = window(space);
    Ok(match from_generic {
        true => map(dest, [source], move |[a]| if a & WINDOW == window { a & !WINDOW } else { a }),
        false => map(dest, [source], move |[a]| a | window),
    })
}

/// `isspacep`: whether a generic address lies in a space.
pub(crate) fn isspacep(site: &mut Site<'_>) -> Decoded {
    let space = site.space();
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, Type::PRED)?, site.source(1, Type::B64)?);
    let window = window(space);
    Ok(map(dest, [source], move |[a]| u64::from(a & WINDOW == window)))
}

/// `mapa`: the same address in another program of the cluster.
pub(crate) fn mapa(site: &mut Site<'_>) -> Decoded {
    let space = site.space();
    let ty = site.ty()?;
    site.arity(3, 3)?;
    let (dest, sources) = (site.dest(0, ty)?, [site.source(1, ty)?, site.source(2, Type::U32)?]);
    let window = if space == Space::Generic { SHARED_WINDOW } else { 0 };
    Ok(map(dest, sources, move |[address, rank]| {
        let offset = address & mask(RANK_SHIFT);
        window | (rank + 1) << RANK_SHIFT | offset
    }))
}

/// `getctarank`: whose shared memory an address lies in.
pub(crate) fn getctarank(site: &mut Site<'_>) -> Decoded {
    site.space();
    let ty = site.ty()?;
    site.arity(2, 2)?;
    let (dest, source) = (site.dest(0, Type::U32)?, site.source(1, ty)?);
    Ok(run(move |step| {
        let own = step.warp.block as u64;
        for lane in step.lanes() {
            let rank = (step.get(source, lane) as u32 >> RANK_SHIFT) as u64;
            step.warp.set_lane(dest, lane, if rank == 0 { own } else { rank - 1 });
        }
        Ok(Flow::Next)
    }))
}
