//! Comparisons and choices.

use super::Decode;
use super::cells::{Kind, signed};
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, Slot, blend};
use crate::machine::lanes::{map, run};
use llir::{FloatCompare, IntCompare, Op, Payload};
use std::cmp::Ordering;

pub(super) const OPS: &[(Op, Decode)] = &[(Op::ICMP, icmp), (Op::FCMP, fcmp), (Op::SELECT, select)];

fn icmp(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::IntCompare(compare) = site.data.payload else { return Err("no comparison".to_owned()) };
    let bits = site.widths(0)?[0];
    let is_signed = matches!(compare, IntCompare::Slt | IntCompare::Sle | IntCompare::Sgt | IntCompare::Sge);
    let holds: fn(Ordering) -> bool = match compare {
        IntCompare::Eq => Ordering::is_eq,
        IntCompare::Ne => Ordering::is_ne,
        IntCompare::Slt | IntCompare::Ult => Ordering::is_lt,
        IntCompare::Sle | IntCompare::Ule => Ordering::is_le,
        IntCompare::Sgt | IntCompare::Ugt => Ordering::is_gt,
        IntCompare::Sge | IntCompare::Uge => Ordering::is_ge,
    };
    if is_signed {
        compared(site, move |[a, b]| u64::from(holds(signed(a, bits).cmp(&signed(b, bits)))))
    } else {
        compared(site, move |[a, b]| u64::from(holds(a.cmp(&b))))
    }
}

fn fcmp(site: &mut Site<'_, '_>) -> Decoded {
    use FloatCompare as C;
    let Payload::FloatCompare(compare) = site.data.payload else { return Err("no comparison".to_owned()) };
    let kind = Kind::of(site.ty(0))?;
    // Whether it holds for less, equal, greater, unordered.
    let table: [bool; 4] = match compare {
        C::Oeq => [false, true, false, false],
        C::Ogt => [false, false, true, false],
        C::Oge => [false, true, true, false],
        C::Olt => [true, false, false, false],
        C::Ole => [true, true, false, false],
        C::One => [true, false, true, false],
        C::Ord => [true, true, true, false],
        C::Uno => [false, false, false, true],
        C::Ueq => [false, true, false, true],
        C::Ugt => [false, false, true, true],
        C::Uge => [false, true, true, true],
        C::Ult => [true, false, false, true],
        C::Ule => [true, true, false, true],
        C::Une => [true, false, true, true],
    };
    compared(site, move |[a, b]| {
        let index = match kind.decode(a).partial_cmp(&kind.decode(b)) {
            Some(Ordering::Less) => 0,
            Some(Ordering::Equal) => 1,
            Some(Ordering::Greater) => 2,
            None => 3,
        };
        u64::from(table[index])
    })
}

fn compared(site: &mut Site<'_, '_>, f: impl Fn([u64; 2]) -> u64 + Copy + Send + Sync + 'static) -> Decoded {
    site.each(f)
}

fn select(site: &mut Site<'_, '_>) -> Decoded {
    let (conditions, yes, no) = (site.rows(0)?, site.rows(1)?, site.rows(2)?);
    let dests = site.dests()?;
    for (index, dest) in dests.into_iter().enumerate() {
        let condition = if conditions.len() == 1 { conditions[0] } else { conditions[index] };
        choose(site, condition, [yes[index], no[index]], dest);
    }
    Ok(())
}

/// One component: known where the condition and what is chosen are.
fn choose(site: &mut Site<'_, '_>, condition: Slot, [yes, no]: [Slot; 2], dest: Slot) {
    if yes == no {
        let execute = map(dest, [yes], |[a]| a);
        return site.push(execute, &[yes], &[dest]);
    }
    let execute = run(move |step| {
        let truth = step.wave.truth(condition);
        let known =
            step.wave.known(condition) & (step.wave.known(yes) & truth | step.wave.known(no) & !truth);
        let mut out = *step.wave.row(no);
        blend(&mut out, step.wave.row(yes), truth);
        step.set(dest, &out);
        step.know(dest, known);
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &[condition, yes, no], writes: &[dest], knows: true, ..Rows::default() });
}
