//! What accesses to LDS with an order let other warps see.

use crate::machine::place::Place;
use crate::machine::step::Step;
use crate::machine::wave::merge;
use llir::Ordering;

/// Whether an ordering lets what follows see what others released.
pub(super) fn acquires(ordering: Option<Ordering>) -> bool {
    matches!(ordering, Some(Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst))
}

/// Whether an ordering releases what came before.
pub(super) fn releases(ordering: Option<Ordering>) -> bool {
    matches!(ordering, Some(Ordering::Release | Ordering::AcqRel | Ordering::SeqCst))
}

/// An atomic on LDS comes after the atomics before it at that address.
pub(super) fn order(step: &mut Step<'_, '_>, place: Place, bytes: usize, ordering: Option<Ordering>) {
    let Place::Lds(offset) = place else { return };
    if !step.world.checks.races {
        return;
    }
    let warp = step.wave.index as usize;
    let Some(seen) = step.group.published.get(&(offset as u32)) else { return };
    if acquires(ordering) {
        step.group.clocks.acquire(warp, seen);
    } else {
        merge(&mut step.wave.met, seen);
    }
    // The atomics themselves are ordered, those of one warp, too.
    if let Some(shadow) = &mut step.group.shadow {
        shadow.forget(offset..offset + bytes);
    }
}

/// What an atomic on LDS releases may be acquired by those behind it.
pub(super) fn publish(step: &mut Step<'_, '_>, place: Place, bytes: usize, ordering: Option<Ordering>) {
    let Place::Lds(offset) = place else { return };
    if !step.world.checks.races || bytes == 0 {
        return;
    }
    let entry = step.group.published.entry(offset as u32).or_default();
    if releases(ordering) {
        step.group.clocks.release(step.wave.index as usize, entry);
    } else if let Some(released) = &step.wave.released {
        merge(entry, released);
    }
}
