//! What lanes of a warp tell one another: shuffles, votes, matches, reductions, an election.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::step::lanes_of;
use crate::numeric::reduce::{Operation, Reduce};
use crate::syntax::Operand;
use crate::syntax::types::{Kind, Type};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// From where a lane takes its value.
#[derive(Clone, Copy, PartialEq)]
enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

const SHUFFLES: &[(&str, Shuffle)] =
    &[("up", Shuffle::Up), ("down", Shuffle::Down), ("bfly", Shuffle::Butterfly), ("idx", Shuffle::Index)];

/// A result and, after `|`, a predicate.
fn pair(site: &mut Site<'_>, ty: Type) -> Result<(Option<Slot>, Option<Slot>), Diagnostic> {
    let one = |site: &mut Site<'_>, operand: &Operand, ty: Type| match operand {
        Operand::Sink => Ok(None),
        _ => site.dest_of(operand, ty).map(Some),
    };
    match site.operand(0)? {
        Operand::Pair(first, second) => Ok((one(site, first, ty)?, one(site, second, Type::PRED)?)),
        operand => Ok((one(site, operand, ty)?, None)),
    }
}

/// The lane that `lane` reads, and whether it lies in bounds.
fn source_lane(mode: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segments) = (b & 31, c & 31, c >> 8 & 31);
    let most = (lane & segments) | (clamp & !segments);
    let least = lane & segments;
    let (other, inside) = match mode {
        Shuffle::Up => {
            let other = lane.wrapping_sub(b);
            (other, lane >= b && other as i32 >= most as i32)
        }
        Shuffle::Down => (lane + b, lane + b <= most),
        Shuffle::Butterfly => (lane ^ b, lane ^ b <= most),
        Shuffle::Index => {
            let other = least | (b & !segments);
            (other, other <= most)
        }
    };
    if inside { (other, true) } else { (lane, false) }
}

/// `shfl.sync`.
pub(crate) fn shfl(site: &mut Site<'_>) -> Decoded {
    if !site.flag("sync") {
        return site.error("`.sync` is missing; without it the instruction is gone since sm_70");
    }
    let Some(mode) = site.choice(SHUFFLES) else { return site.error("a mode is missing") };
    site.ty()?;
    site.arity(5, 5)?;
    let (dest, inside) = pair(site, Type::B32)?;
    let (a, b, c) = (site.source(1, Type::B32)?, site.source(2, Type::B32)?, site.source(3, Type::B32)?);
    let member = site.source(4, Type::B32)?;
    site.sink(&[b, c, member]);
    site.parts.knows = true;
    Ok(run(move |step| {
        if let Err(flow) = step.members(member)? {
            return Ok(flow);
        }
        let (values, known) = (*step.warp.row(a), step.warp.known[a.index()]);
        let mut result_known = 0;
        for lane in step.lanes() {
            let (b, c) = (step.get(b, lane) as u32, step.get(c, lane) as u32);
            let (other, valid) = source_lane(mode, lane, b, c);
            if step.mask >> other & 1 == 0 {
                return Err(step.misuse(format!("lane {lane} reads lane {other}, which does not take part")));
            }
            if known >> other & 1 == 1 {
                result_known |= 1 << lane;
            }
            if let Some(dest) = dest {
                step.warp.set_lane(dest, lane, values[other as usize]);
            }
            if let Some(inside) = inside {
                step.warp.set_lane(inside, lane, u64::from(valid));
            }
        }
        for (slot, known) in [(dest, result_known), (inside, u32::MAX)] {
            if let Some(slot) = slot {
                step.know(slot, known);
            }
        }
        Ok(Flow::Next)
    }))
}

/// What a vote asks.
#[derive(Clone, Copy)]
enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

const VOTES: &[(&str, Vote)] =
    &[("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uniform), ("ballot", Vote::Ballot)];

/// `vote.sync`.
pub(crate) fn vote(site: &mut Site<'_>) -> Decoded {
    if !site.flag("sync") {
        return site.error("`.sync` is missing");
    }
    let Some(vote) = site.choice(VOTES) else { return site.error("a mode is missing") };
    let ty = site.ty()?;
    site.arity(3, 3)?;
    let dest = site.dest(0, ty)?;
    let predicate = site.predicate(1)?;
    let member = site.source(2, Type::B32)?;
    site.sink(&[member, predicate.0]);
    Ok(run(move |step| {
        let parts = match step.members(member)? {
            Ok(parts) => parts,
            Err(flow) => return Ok(flow),
        };
        let truth = step.warp.truth(predicate);
        for part in parts {
            let yes = truth & part;
            let value = match vote {
                Vote::All => u64::from(yes == part),
                Vote::Any => u64::from(yes != 0),
                Vote::Uniform => u64::from(yes == part || yes == 0),
                Vote::Ballot => u64::from(yes),
            };
            step.warp.set(dest, part, &[value; 32]);
        }
        Ok(Flow::Next)
    }))
}

/// `activemask`: the lanes that stand here.
pub(crate) fn activemask(site: &mut Site<'_>) -> Decoded {
    site.ty()?;
    let dest = site.dest(0, Type::B32)?;
    Ok(run(move |step| {
        let mask = step.mask;
        step.warp.set(dest, mask, &[u64::from(mask); 32]);
        Ok(Flow::Next)
    }))
}

/// `match.sync`: lanes with equal values.
pub(crate) fn matching(site: &mut Site<'_>) -> Decoded {
    let all = site.choice(&[("all", true), ("any", false)]);
    site.flag("sync");
    let ty = site.ty()?;
    site.arity(3, 3)?;
    let Some(all) = all else { return site.error("one of `.all`, `.any` is missing") };
    let (dest, agree) = pair(site, Type::B32)?;
    let (source, member) = (site.source(1, ty)?, site.source(2, Type::B32)?);
    site.sink(&[member, source]);
    Ok(run(move |step| {
        let parts = match step.members(member)? {
            Ok(parts) => parts,
            Err(flow) => return Ok(flow),
        };
        let values = *step.warp.row(source);
        for part in parts {
            for lane in lanes_of(part) {
                let equal = lanes_of(part)
                    .filter(|other| values[*other as usize] == values[lane as usize])
                    .fold(0, |mask, other| mask | 1u32 << other);
                let same = equal == part;
                let value = if all && !same { 0 } else { equal };
                if let Some(dest) = dest {
                    step.warp.set_lane(dest, lane, u64::from(value));
                }
                if let Some(agree) = agree {
                    step.warp.set_lane(agree, lane, u64::from(same));
                }
            }
        }
        Ok(Flow::Next)
    }))
}

/// `redux.sync`: one value from those of all lanes.
pub(crate) fn redux(site: &mut Site<'_>) -> Decoded {
    site.flag("sync");
    let operation = site.choice(&[
        ("add", Operation::Add),
        ("min", Operation::Min),
        ("max", Operation::Max),
        ("and", Operation::And),
        ("or", Operation::Or),
        ("xor", Operation::Xor),
    ]);
    let (magnitude, nan) = (site.flag("abs"), site.flag("NaN"));
    let ty = site.ty()?;
    site.arity(3, 3)?;
    let Some(operation) = operation else { return site.error("an operation is missing") };
    if ty.width() != 32 {
        return site.error("only values of 32 bits are possible");
    }
    let (dest, source, member) = (site.dest(0, ty)?, site.source(1, ty)?, site.source(2, Type::B32)?);
    site.sink(&[member, source]);
    let reduce = Reduce { operation, ty };
    let float = ty.kind == Kind::Float;
    Ok(run(move |step| {
        let parts = match step.members(member)? {
            Ok(parts) => parts,
            Err(flow) => return Ok(flow),
        };
        let values = *step.warp.row(source);
        for part in parts {
            let mut picked = lanes_of(part).map(|lane| {
                let value = values[lane as usize];
                if magnitude { value & !(1 << 31) } else { value }
            });
            let first = picked.next().unwrap_or(0);
            let mut value = picked.fold(first, |a, b| reduce.apply(a, b));
            let is_nan = |lane: u32| f32::from_bits(values[lane as usize] as u32).is_nan();
            if float && nan && lanes_of(part).any(is_nan) {
                value = 0x7fff_ffff;
            }
            step.warp.set(dest, part, &[value; 32]);
        }
        Ok(Flow::Next)
    }))
}

/// `elect.sync`: the lowest lane of the members.
pub(crate) fn elect(site: &mut Site<'_>) -> Decoded {
    site.flag("sync");
    site.arity(2, 2)?;
    let (dest, chosen) = pair(site, Type::B32)?;
    let member = site.source(1, Type::B32)?;
    site.sink(&[member]);
    Ok(run(move |step| {
        let parts = match step.members(member)? {
            Ok(parts) => parts,
            Err(flow) => return Ok(flow),
        };
        for part in parts {
            let leader = part.trailing_zeros();
            for lane in lanes_of(part) {
                if let Some(dest) = dest {
                    step.warp.set_lane(dest, lane, u64::from(leader));
                }
                if let Some(chosen) = chosen {
                    step.warp.set_lane(chosen, lane, u64::from(lane == leader));
                }
            }
        }
        Ok(Flow::Next)
    }))
}
