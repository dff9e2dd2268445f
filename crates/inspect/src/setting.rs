//! What is assumed of arguments that nobody gave, and what that means for loops.

use crate::formula;
use crate::loops::Loop;
use crate::numbers::{Numbers, Setting};
use crate::report::Assumption;
use ir::{Attr, Module, Op};
use std::collections::BTreeMap;
use ttir::ops::control::FOR;
use ttir::ops::func::{DIVISIBILITY, FuncOp};
use ttir::types::{elem, pointee};

/// An integer of which nothing is known but that it is a multiple of something.
const ASSUMED: i64 = 4096;
/// An integer of which nothing is known at all: a little odd, as in life.
const ASSUMED_ODD: i64 = 4095;
/// How far the arrays of different parameters are apart.
const APART: u64 = 1 << 42;
/// Programs of a grid for which loops are looked at.
const SAMPLES: i64 = 9;

/// The arguments of a kernel, given or assumed, and the grid.
pub(crate) fn setting(
    module: &Module,
    kernel: Op,
    given: &BTreeMap<String, i64>,
    grid: Option<[u32; 3]>,
) -> Result<(Setting, Vec<Assumption>), String> {
    let entry = FuncOp::new(module, kernel).entry();
    let mut setting = Setting { grid: grid.unwrap_or([1; 3]).map(i64::from), ..Setting::default() };
    let mut assumptions = Vec::new();
    let mut names = Vec::new();
    for (index, &arg) in module.args(entry).iter().enumerate() {
        let ty = module.ty(arg);
        let name = formula::name(module, arg).unwrap_or_else(|| format!("arg{index}"));
        names.push(name.clone());
        if pointee(ty).is_some() {
            setting.params.insert(arg, (index as u64 + 1) * APART);
        } else if let Some(bits) = elem(ty).as_int() {
            let divisibility = module.arg_attrs(entry, index).iter();
            let divisibility = divisibility
                .filter(|(key, _)| key.name() == DIVISIBILITY.name)
                .find_map(|(_, attr)| Attr::as_int(attr));
            let assumed = match divisibility {
                _ if bits == 1 => 1,
                Some(by) if by > 1 => ASSUMED,
                _ => ASSUMED_ODD,
            };
            let value = given.get(&name).copied().unwrap_or(assumed);
            setting.params.insert(arg, ir::scalar::truncate(bits, value as u64));
            assumptions.push(Assumption { given: given.contains_key(&name), name, value });
        }
    }
    match given.keys().find(|name| !names.contains(name)) {
        Some(name) => Err(format!("the kernel has no parameter `{name}`; it has {}", names.join(", "))),
        None => Ok((setting, assumptions)),
    }
}

/// The programs that are looked at: all of a small grid, else some spread over it.
pub(crate) fn samples(grid: [i64; 3]) -> Vec<[i64; 3]> {
    let total = grid.iter().product::<i64>().max(1);
    let count = total.min(SAMPLES);
    (0..count)
        .map(|sample| program(grid, if count == 1 { 0 } else { sample * (total - 1) / (count - 1) }))
        .collect()
}

/// The position of a program by its number.
pub(crate) fn program([x, y, _]: [i64; 3], number: i64) -> [i64; 3] {
    let (x, y) = (x.max(1), y.max(1));
    [number % x, number / x % y, number / x / y]
}

/// Fills in how often loops run, on average over some programs.
pub(crate) fn count_loops(module: &Module, loops: &mut [Loop], setting: &Setting) {
    let programs = samples(setting.grid);
    for one in loops.iter_mut().filter(|one| module.is(one.op, &FOR)) {
        let counts: Option<Vec<i64>> = programs
            .iter()
            .map(|program| {
                let setting = Setting { program: *program, ..setting.clone() };
                Numbers::new(module, setting).trips(one.op)
            })
            .collect();
        one.count = counts.map(|counts| counts.iter().sum::<i64>() as f64 / counts.len() as f64);
        if one.count.is_none() {
            one.trips = format!("{}, which only data decides", one.trips);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{program, samples};

    #[test]
    fn samples_reach_both_ends_of_a_grid() {
        assert_eq!(samples([1, 1, 1]), [[0, 0, 0]]);
        assert_eq!(samples([2, 2, 1]), [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]);
        let all = samples([100, 7, 3]);
        assert_eq!((all.len(), all[0], all[8]), (9, [0, 0, 0], [99, 6, 2]));
        assert_eq!(program([0, 0, 0], 0), [0, 0, 0]);
    }
}
