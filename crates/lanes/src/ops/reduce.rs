//! Reductions: registers of a lane, then lanes of a warp, then warps through memory with one barrier, or two where the
//! first warp alone combines what the others have.

use super::SharingEntry;
use super::combine::{Combine, Elements, column, of_warp, select, zip};
use super::convert::need_of_all;
use super::share_results;
use crate::block_memory::{Values, convert_blocks, plans_bytes};
use crate::context::Cx;
use crate::error::{Result, at};
use crate::layouts::layout_of;
use crate::shared::Planner;
use crate::shuffle::shuffle_values;
use crate::target::Shuffle;
use crate::types;
use crate::value::{LaneValue, Region};
use ir::{Module, Op, Type};
use layout::Dim;
use layout::convert::Conversion;
use layout::reduce::{self, Fold, Reduction, Work};
use llir::IntCompare;
use std::rc::Rc;
use ttir::ops::reduce::{REDUCE, ReduceOp};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&REDUCE, lower, |planner, module, op| {
    let reduction = reduction(planner, module, op)?;
    let gathered = plans(planner, module, op, &reduction)?;
    let by = By::of(planner, module, op, &reduction)?;
    Ok(need_of_all(&[&gathered, by.hands_on()]))
})];

/// How a reduction is done.
fn reduction(planner: &mut Planner, module: &Module, op: Op) -> Result<Rc<Reduction>> {
    let of = ReduceOp::new(module, op);
    let axis = of.axis() as i64;
    let (from, to) = (module.ty(of.srcs()[0]), module.ty(of.results()[0]));
    let work = work(planner, module, op);
    planner.reduction((from, axis, to, work), |planner| {
        let source = layout_of(from)?;
        let result = planner.layout(to)?;
        let plan = reduce::plan(&source, axis as usize, &result, work);
        plan.map_err(|error| at(module, op, error.to_string()))
    })
}

/// What combining two elements takes.
fn work(planner: &Planner, module: &Module, op: Op) -> Work {
    let of = ReduceOp::new(module, op);
    let body = module.entry_of(op);
    let combine: f64 = module.ops(body).map(|inner| module.row(inner).cost.instructions()).sum();
    Work {
        combine: combine.ceil() as u32,
        values: of.srcs().len() as u32,
        halves: planner.halves_exchanges,
        by_warp: of_warp(module, op).is_some(),
    }
}

/// How the partial results of each operand get where they are wanted.
fn plans(
    planner: &mut Planner,
    module: &Module,
    op: Op,
    reduction: &Reduction,
) -> Result<Vec<Rc<Conversion>>> {
    let operands = module.operands(op).iter();
    operands
        .map(|&operand| {
            let bits = types::memory_bits(module.ty(operand));
            let plan = planner.convert(&reduction.partials, &reduction.wanted, bits);
            plan.map_err(|error| at(module, op, error.message()))
        })
        .collect()
}

/// From how many warps on a second wait costs less than that every warp combines the partial results of all: the
/// argument of a maximum by 16 warps took 106 µs, by one of them 95 (H200, rows of 4096).
const MANY_WARPS: u32 = 8;

/// Which lanes combine the partial results of all warps.
enum By {
    /// All that need what comes out.
    All,
    /// The first warp; the others read what comes out.
    FirstWarp(Vec<Rc<Conversion>>),
    /// Each lane those of its share of the elements; all read what comes out.
    Shares(Vec<Rc<Conversion>>),
}

impl By {
    fn of(planner: &mut Planner, module: &Module, op: Op, reduction: &Reduction) -> Result<By> {
        let results = module.results(op);
        let wanted = planner.layout(module.ty(results[0]))?;
        if reduction.combined != wanted {
            let bits = results.iter().map(|&result| types::memory_bits(module.ty(result)));
            let plans = bits.map(|bits| planner.convert(&reduction.combined, &wanted, bits));
            return Ok(By::Shares(plans.collect::<Result<_>>()?));
        }
        let is_one = |ty: Type| ttir::types::shape(ty).iter().product::<i64>() == 1;
        let by_first = !reduction.late.is_empty()
            && reduction.wanted.ins().bits(Dim::REGISTER) == 0
            && planner.num_blocks == 1
            && planner.num_warps >= MANY_WARPS
            && results.iter().all(|&result| is_one(module.ty(result)));
        if !by_first {
            return Ok(By::All);
        }
        let plans = results.iter().map(|&result| share_results::plan(planner, module.ty(result)));
        let plans: Option<Vec<_>> = plans.collect::<Result<_>>()?;
        Ok(plans.map_or(By::All, By::FirstWarp))
    }

    /// How what comes out gets to the lanes that did not combine it.
    fn hands_on(&self) -> &[Rc<Conversion>] {
        match self {
            By::All => &[],
            By::FirstWarp(plans) | By::Shares(plans) => plans,
        }
    }
}

fn lower(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let combine = Combine::of(cx, op);
    let elements = combine.elements(cx);
    let reduction = reduction(&mut cx.planner, cx.module, op)?;
    let plans = plans(&mut cx.planner, cx.module, op, &reduction)?;
    let mut groups = in_lane(cx, combine, &reduction)?;
    if !combine_warps(cx, combine, &reduction, &mut groups) {
        over_lanes(cx, combine, &reduction, &mut groups)?;
    }
    let blocks: Vec<Values> = elements
        .iter()
        .enumerate()
        .map(|(operand, element)| Values { element: *element, registers: column(&groups, operand) })
        .collect();
    let region = cx.scratch(op);
    let wanted = convert_blocks(cx, &plans, region, &blocks)?;
    let mut results: Vec<Elements> = zip(&wanted);
    if reduction.late.is_empty() {
        let partials = std::mem::take(&mut results);
        for partials in partials.chunks(1 << reduction.partial_bits) {
            results.push(combine.all(cx, partials)?);
        }
    }
    let by = By::of(&mut cx.planner, cx.module, op, &reduction)?;
    let region = region.map(|region| region.after(plans_bytes(&plans)));
    match by {
        By::All => late(cx, combine, &reduction, &mut results)?,
        By::FirstWarp(plans) => {
            results = by_first_warp(cx, combine, &reduction, &results, (&plans, region))?;
        }
        By::Shares(plans) => {
            late(cx, combine, &reduction, &mut results)?;
            results = hand_on(cx, combine, &results, (&plans, region))?;
        }
    }
    for operand in 0..elements.len() {
        let result = cx.module.result(op, operand);
        let registers = column(&results, operand);
        let is_tensor = ttir::types::is_tensor(cx.module.ty(result));
        let value = if is_tensor { LaneValue::tensor(registers) } else { LaneValue::Scalar(registers[0]) };
        cx.set(result, value);
    }
    Ok(())
}

/// Lanes that have one partial result each combine them.
fn late(cx: &mut Cx<'_>, combine: Combine, reduction: &Reduction, results: &mut [Elements]) -> Result<()> {
    let mut equal = 0;
    for &lane in &reduction.late {
        exchange(cx, combine, Fold { lane, group: 0, halves: false }, &mut equal, results)?;
    }
    Ok(())
}

/// The lanes of the first warp combine the partial results, and the others read what came out.
fn by_first_warp(
    cx: &mut Cx<'_>,
    combine: Combine,
    reduction: &Reduction,
    partials: &[Elements],
    (plans, region): (&[Rc<Conversion>], Option<Region>),
) -> Result<Vec<Elements>> {
    let (warp, first) = (cx.ids().warp, cx.b.i32(0));
    let is_first = cx.b.icmp(IntCompare::Eq, warp, first);
    let mut branch = cx.b.begin_if(is_first);
    let mut combined = partials.to_vec();
    late(cx, combine, reduction, &mut combined)?;
    cx.b.begin_else(&mut branch, &combined.concat());
    let combined = cx.b.end_if(branch, &partials.concat());
    hand_on(cx, combine, &[combined.into_iter().collect()], (plans, region))
}

/// Results in the lanes that have them, handed to those that want them.
fn hand_on(
    cx: &mut Cx<'_>,
    combine: Combine,
    combined: &[Elements],
    (plans, region): (&[Rc<Conversion>], Option<Region>),
) -> Result<Vec<Elements>> {
    let elements = combine.elements(cx).into_iter().enumerate();
    let blocks: Vec<Values> =
        elements.map(|(operand, element)| Values { element, registers: column(combined, operand) }).collect();
    Ok(zip(&convert_blocks(cx, plans, region, &blocks)?))
}

/// Lanes combine step by step.
fn over_lanes(
    cx: &mut Cx<'_>,
    combine: Combine,
    reduction: &Reduction,
    groups: &mut Vec<Elements>,
) -> Result<()> {
    let elements = combine.elements(cx);
    let (near, far) = near_and_far(cx, reduction);
    // Lanes whose numbers differ in these bits have equal values by now.
    let mut equal = 0;
    for fold in near {
        match fold.halves {
            true => *groups = exchange_halves(cx, combine, *fold, groups)?,
            false => exchange(cx, combine, *fold, &mut equal, groups)?,
        }
    }
    if far.is_empty() {
        return Ok(());
    }
    // Lanes of a group have equal values now: one lane of each is read.
    let lanes = (0..1u32 << far.len()).map(|set| {
        let bits = far.iter().enumerate().filter(|(bit, _)| set >> bit & 1 != 0);
        bits.fold(0, |lane, (_, fold)| lane | fold.lane)
    });
    let lanes: Vec<u32> = lanes.collect();
    let mut partials: Vec<Vec<Elements>> = vec![Vec::new(); groups.len()];
    for lane in lanes {
        let lane = cx.b.i32(lane as i32);
        let mut others = Vec::with_capacity(elements.len());
        for (operand, element) in elements.iter().enumerate() {
            let sent: Vec<_> = groups.iter().map(|group| group[operand]).collect();
            others.push(shuffle_values(cx, Shuffle::Index(lane), types::register(*element), &sent));
        }
        for (list, other) in partials.iter_mut().zip(zip(&others)) {
            list.push(other);
        }
    }
    for (group, list) in groups.iter_mut().zip(&partials) {
        *group = combine.all(cx, list)?;
    }
    Ok(())
}

/// Each lane combines what it has with what another has; lanes whose numbers differ in `equal` bits have equal values.
fn exchange(
    cx: &mut Cx<'_>,
    combine: Combine,
    fold: Fold,
    equal: &mut u32,
    groups: &mut [Elements],
) -> Result<()> {
    let elements = combine.elements(cx);
    let from = Shuffle::Xor(cx.target.partner(fold.lane, *equal));
    let alike = fold.group == 0 && fold.lane.is_power_of_two();
    *equal |= if alike { fold.lane } else { 0 };
    let mut others = Vec::with_capacity(elements.len());
    for (operand, element) in elements.iter().enumerate() {
        let sent: Vec<_> =
            (0..groups.len()).map(|group| groups[group ^ fold.group as usize][operand]).collect();
        others.push(shuffle_values(cx, from, types::register(*element), &sent));
    }
    for (group, other) in groups.iter_mut().zip(zip(&others)) {
        *group = combine.two(cx, group, &other)?;
    }
    Ok(())
}

/// Each lane keeps half of what it has, and combines it with the same half of another lane.
fn exchange_halves(
    cx: &mut Cx<'_>,
    combine: Combine,
    fold: Fold,
    groups: &[Elements],
) -> Result<Vec<Elements>> {
    let lane = cx.ids().lane;
    let (bit, zero) = (cx.b.i32(fold.lane as i32), cx.b.i32(0));
    let bit = cx.b.and(lane, bit);
    let keeps_upper = cx.b.icmp(IntCompare::Ne, bit, zero);
    let (lower, upper) = groups.split_at(groups.len() / 2);
    let mut chosen = |one: &[Elements], two: &[Elements]| -> Vec<Elements> {
        one.iter().zip(two).map(|(one, two)| select(cx, keeps_upper, one, two)).collect()
    };
    let (kept, sent) = (chosen(upper, lower), chosen(lower, upper));
    let from = Shuffle::Xor(fold.lane);
    let others: Vec<Vec<_>> = combine
        .elements(cx)
        .into_iter()
        .enumerate()
        .map(|(operand, element)| shuffle_values(cx, from, types::register(element), &column(&sent, operand)))
        .collect();
    kept.iter().zip(zip(&others)).map(|(kept, other)| combine.two(cx, kept, &other)).collect()
}

/// The exchanges of a reduction, and those in whose place single lanes are read: where all lanes of a warp take part.
fn near_and_far<'r>(cx: &Cx<'_>, reduction: &'r Reduction) -> (Vec<&'r Fold>, Vec<&'r Fold>) {
    let folds = reduction.folds.iter();
    let covered = folds.clone().fold(0, |all, fold| all | fold.lane);
    let all = folds.len() == cx.lanes.ilog2() as usize
        && covered == cx.lanes - 1
        && folds.clone().all(|fold| fold.group == 0 && fold.lane.is_power_of_two() && !fold.halves);
    match cx.target.reads_lanes_from().filter(|_| all) {
        Some(from) => folds.partition(|fold| fold.lane < from),
        None => (folds.collect(), Vec::new()),
    }
}

/// All lanes of a warp combine in one instruction, if all take part and the machine has it; says whether it did.
fn combine_warps(cx: &mut Cx<'_>, combine: Combine, reduction: &Reduction, groups: &mut [Elements]) -> bool {
    let all = reduction.folds.len() == cx.lanes.ilog2() as usize
        && reduction.folds.iter().all(|fold| fold.group == 0 && !fold.halves);
    let Some(by) = combine.of_warp(cx).filter(|_| all) else { return false };
    let mut combined = Vec::with_capacity(groups.len());
    for group in groups.iter() {
        let Some(value) = cx.target.combine_lanes(&mut cx.b, by, group[0]) else { return false };
        combined.push(value);
    }
    for (group, value) in groups.iter_mut().zip(combined) {
        group[0] = value;
    }
    true
}

/// Each group of a lane's registers combined.
fn in_lane(cx: &mut Cx<'_>, combine: Combine, reduction: &Reduction) -> Result<Vec<Elements>> {
    let (all, known) = (combine.registers(cx)?, combine.known_in_order(cx));
    let mut groups = Vec::with_capacity(reduction.groups.len());
    for group in &reduction.groups {
        let members: Vec<Elements> = group.iter().map(|register| all[*register as usize].clone()).collect();
        groups.push(combine.all_where(cx, &members, &known)?);
    }
    Ok(groups)
}
