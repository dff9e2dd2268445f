//! Loads and stores, and hints about caches.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::{map, run};
use crate::machine::place::Address;
use crate::machine::step::Step;
use crate::numeric::cell;
use crate::syntax::Operand;
use crate::syntax::types::{Space, Type, mask};
use emulation::Fault;

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Modifiers that change when others see an access, or what caches do, but not what it does here.
const HINTS: &[&str] = &[
    "weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "cta", "cluster", "gpu", "sys",
    "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified",
];

/// Bytes of the widest access.
pub(crate) const WIDEST: usize = 32;

/// Takes the hints of an access.
pub(crate) fn take_hints(site: &mut Site<'_>) -> bool {
    site.flags(HINTS);
    while site.map_modifier(|word| word.starts_with("L1::").then_some(())).is_some() {}
    let mut policy = false;
    while let Some(is_policy) =
        site.map_modifier(|word| word.strip_prefix("L2::").map(|rest| rest == "cache_hint"))
    {
        policy |= is_policy;
    }
    policy
}

/// Where a variable that is an address itself lies decides the space of `.param` accesses.
fn effective_space(space: Space, of_base: Option<Space>) -> Space {
    match (space, of_base) {
        (Space::Param, Some(Space::Local)) => Space::Local,
        (space, _) => space,
    }
}

fn vector(site: &mut Site<'_>) -> usize {
    site.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
}

/// Splits the policy off the operands.
fn operands(site: &Site<'_>, policy: bool) -> Result<(), Diagnostic> {
    let most = 2 + usize::from(policy);
    site.arity(2, most)
}

/// The address of every lane that executes a step.
fn addresses(step: &Step<'_, '_>, address: Address) -> Vec<u64> {
    step.lanes().map(|lane| step.effective(address, lane)).collect()
}

/// `ld`, `ldu`.
pub(crate) fn ld(site: &mut Site<'_>) -> Decoded {
    // What is read atomically may be the word around an element.
    let is_atomic = site.has(&["relaxed", "acquire"]);
    let policy = take_hints(site);
    let space = site.space();
    let width = vector(site);
    let ty = site.ty()?;
    operands(site, policy)?;
    let parts = site.elements(0)?;
    if parts.len() != width {
        return site.error(format!("{} registers for {width} elements", parts.len()));
    }
    if ty.bytes() * width > WIDEST {
        return site.error(format!("{} bytes: at most {WIDEST} are possible", ty.bytes() * width));
    }
    let mut dests = Vec::new();
    for part in parts {
        let (slot, register) = site.wide_dest_of(part, ty)?;
        dests.push((slot, register.mask(), ty.is_signed() && register.width() > ty.width()));
    }
    let (address, of_base) = site.address_of(site.operand(1)?)?;
    let load = Load { space: effective_space(space, of_base), address, ty, dests, is_atomic };
    site.parts.knows = true;
    Ok(Box::new(load))
}

struct Load {
    space: Space,
    address: Address,
    ty: Type,
    /// Register, mask of its bits, and whether the sign is spread.
    dests: Vec<(Slot, u64, bool)>,
    is_atomic: bool,
}

impl Execute for Load {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let size = self.ty.bytes();
        let bytes = size * self.dests.len();
        let mut known = 0;
        if step.world.checks.counters {
            step.count_traffic(self.space, &addresses(step, self.address), bytes);
        }
        // The destination may be the base: all addresses are taken before anything is written.
        let bases = *step.warp.row(self.address.base);
        for lane in step.lanes() {
            let address = bases[lane as usize].wrapping_add_signed(self.address.offset);
            let mut data = [0; WIDEST];
            let place = if self.is_atomic {
                step.word_place(self.space, address, lane, bytes)?
            } else {
                step.place(self.space, address, lane, bytes, bytes)?
            };
            if step.load_place(place, lane, &mut data[..bytes]) {
                known |= 1 << lane;
            }
            for ((slot, top, spread), chunk) in self.dests.iter().zip(data.chunks(size)) {
                if size == 16 {
                    step.warp.set_lane(*slot, lane, cell(&chunk[..8]));
                    step.warp.set_lane(Slot(slot.0 + 1), lane, cell(&chunk[8..]));
                    continue;
                }
                let value = cell(chunk);
                let negative = *spread && value >> (self.ty.bits - 1) & 1 == 1;
                let value = if negative { (value | !mask(self.ty.bits)) & top } else { value };
                step.warp.set_lane(*slot, lane, value);
            }
        }
        for (slot, _, _) in &self.dests {
            step.know(*slot, known);
            if size == 16 {
                step.know(Slot(slot.0 + 1), known);
            }
        }
        Ok(Flow::Next)
    }
}

/// `st`.
pub(crate) fn st(site: &mut Site<'_>) -> Decoded {
    if site.flag("async") {
        return site.error("asynchronous stores to other programs cannot be run");
    }
    let policy = take_hints(site);
    let space = site.space();
    let width = vector(site);
    let ty = site.ty()?;
    operands(site, policy)?;
    let (address, of_base) = site.address_of(site.operand(0)?)?;
    let parts = site.elements(1)?;
    if parts.len() != width {
        return site.error(format!("{} registers for {width} elements", parts.len()));
    }
    if ty.bytes() * width > WIDEST {
        return site.error(format!("{} bytes: at most {WIDEST} are possible", ty.bytes() * width));
    }
    let mut sources = Vec::new();
    for part in parts {
        sources.push(site.wide_source_of(part, ty)?);
    }
    let space = effective_space(space, of_base);
    // What lies in local or shared memory may yet be replaced before it is used.
    if matches!(space, Space::Global | Space::Generic) {
        site.sink(&sources.clone());
    }
    Ok(Box::new(Store { space, address, ty, sources }))
}

struct Store {
    space: Space,
    address: Address,
    ty: Type,
    sources: Vec<Slot>,
}

impl Execute for Store {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let size = self.ty.bytes();
        let bytes = size * self.sources.len();
        if step.world.checks.counters {
            step.count_traffic(self.space, &addresses(step, self.address), bytes);
        }
        let known = self.sources.iter().fold(u32::MAX, |known, slot| known & step.warp.known[slot.index()]);
        for lane in step.lanes() {
            let mut data = [0; WIDEST];
            for (slot, chunk) in self.sources.iter().zip(data.chunks_mut(size)) {
                if size == 16 {
                    chunk[8..].copy_from_slice(&step.get(Slot(slot.0 + 1), lane).to_le_bytes());
                }
                let low = size.min(8);
                chunk[..low].copy_from_slice(&step.get(*slot, lane).to_le_bytes()[..low]);
            }
            let address = step.effective(self.address, lane);
            let place = step.place(self.space, address, lane, bytes, bytes)?;
            step.store_place(place, lane, &data[..bytes])?;
            if known >> lane & 1 == 0 {
                step.unwrite(place, bytes);
            }
        }
        Ok(Flow::Next)
    }
}

/// `prefetch`, `discard`, `applypriority`: nothing to do.
pub(crate) fn hint(site: &mut Site<'_>) -> Decoded {
    site.flags(&["L1", "L2", "tensormap"]);
    take_hints(site);
    site.flag("uniform");
    site.space();
    site.address(0)?;
    Ok(run(|_| Ok(Flow::Next)))
}

/// `createpolicy`: a policy of the cache, of which nothing is seen here.
pub(crate) fn createpolicy(site: &mut Site<'_>) -> Decoded {
    site.flags(&["fractional", "range", "cvt", "L2"]);
    take_hints(site);
    site.flag("global");
    site.ty()?;
    let dest = match site.operand(0)? {
        Operand::Name(_) => site.dest(0, Type::B64)?,
        _ => return site.error("a register is expected"),
    };
    Ok(map(dest, [], |[]| 0))
}
