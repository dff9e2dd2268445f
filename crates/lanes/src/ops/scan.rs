//! Scans: neighbouring registers of a lane, then lanes of a warp, then warps through memory, then what a lane holds
//! further on.
//!
//! With `reverse` all positions along the axis are counted from the end. Blocks whose layout mixes the axis with other
//! dimensions, or has its positions in another order than registers, lanes, warps, registers, are converted first.
//! Conditions are counted ([`scan_bits`]).

use super::SharingEntry;
use super::combine::{Combine, Elements, column, select, zip};
use super::convert;
use super::scan_bits;
use super::scan_layout::{Axis, Spread, ordered, totals_of};
use crate::block_memory::{Values, convert_blocks, plans_bytes};
use crate::context::Cx;
use crate::error::{Result, at};
use crate::layouts::layout_of;
use crate::shared::{Need, Order, Planner};
use crate::shuffle::shuffle_values;
use crate::target::Shuffle;
use crate::types;
use crate::value::{LaneValue, Region};
use ir::{Module, Op};
use layout::LinearLayout;
use layout::convert::Conversion;
use llir::{IntCompare, Op as Inst, Value};
use smallvec::smallvec;
use std::rc::Rc;
use ttir::ops::reduce::{SCAN, ScanOp};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&SCAN, scan, |planner, module, op| {
    let plans = Plans::of(planner, module, op)?;
    let need = convert::need_of_all(&[&plans.before, &plans.totals, &plans.after]);
    Ok(Need { order: need.order.max(Order::Waits), ..need })
})];

/// The steps of a scan that move elements between lanes by plan; one plan per operand each.
struct Plans {
    axis: Axis,
    /// To the layout that is scanned, if that is another.
    before: Vec<Rc<Conversion>>,
    /// The totals of warps to all warps along the axis.
    totals: Vec<Rc<Conversion>>,
    /// How lanes share those.
    spread: Option<Spread>,
    /// Back.
    after: Vec<Rc<Conversion>>,
}

impl Plans {
    fn of(planner: &mut Planner, module: &Module, op: Op) -> Result<Plans> {
        let of = ScanOp::new(module, op);
        let dim = of.axis();
        let source = layout_of(module.ty(of.srcs()[0]))?;
        let bits: Vec<u32> =
            module.operands(op).iter().map(|&operand| types::memory_bits(module.ty(operand))).collect();
        let failed = |error: crate::error::Error| at(module, op, error.message());
        let (axis, scanned) = match Axis::of(&source, dim) {
            Some(axis) => (axis, None),
            None => {
                let scanned = ordered(&source, dim).map_err(|error| at(module, op, error.to_string()))?;
                let axis = Axis::of(&scanned, dim);
                (axis.ok_or_else(|| at(module, op, "the blocks of a cluster share the axis"))?, Some(scanned))
            }
        };
        let mut convert = |from: &LinearLayout, to: &LinearLayout| -> Result<Vec<Rc<Conversion>>> {
            bits.iter().map(|bits| planner.convert(from, to, *bits).map_err(failed)).collect()
        };
        let (before, after) = match &scanned {
            Some(scanned) => (convert(&source, scanned)?, convert(scanned, &source)?),
            None => (Vec::new(), Vec::new()),
        };
        let (totals, spread) = match totals_of(&axis, scanned.as_ref().unwrap_or(&source), dim) {
            Some(totals) => (convert(&totals.from, &totals.to)?, totals.spread),
            None => (Vec::new(), None),
        };
        Ok(Plans { axis, before, totals, spread, after })
    }
}

fn scan(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let plans = Plans::of(&mut cx.planner, cx.module, op)?;
    let combine = Combine::of(cx, op);
    let reverse = ScanOp::new(cx.module, op).reverse();
    let region = cx.scratch(op);
    let behind = |plans: &[&[Rc<Conversion>]]| {
        region.map(|region| region.after(plans.iter().map(|plans| plans_bytes(plans)).sum()))
    };
    let elements = combine.elements(cx);
    let mut all = combine.registers(cx)?;
    if !plans.before.is_empty() {
        all = moved(cx, &plans.before, region, &elements, &all)?;
    }
    let totals = behind(&[&plans.before]);
    let counted = scan_bits::counted(cx, op, &plans.axis).filter(|_| plans.before.is_empty());
    let conditions = counted.map(|block| cx.registers(block).map(|all| all.to_vec())).transpose()?;
    let conditions = conditions.as_deref();
    let scan = Scan { combine, elements: &elements, axis: &plans.axis, reverse, conditions };
    let shared = Shared { plans: &plans.totals, spread: plans.spread.as_ref(), region: totals };
    let mut results = scan.run(cx, &all, shared)?;
    if !plans.after.is_empty() {
        let region = behind(&[&plans.before, &plans.totals]);
        results = moved(cx, &plans.after, region, &elements, &results)?;
    }
    for operand in 0..elements.len() {
        let result = cx.module.result(op, operand);
        cx.set(result, LaneValue::tensor(column(&results, operand)));
    }
    Ok(())
}

/// Registers of all operands carried to other layouts.
fn moved(
    cx: &mut Cx<'_>,
    plans: &[Rc<Conversion>],
    region: Option<Region>,
    elements: &[ir::Type],
    all: &[Elements],
) -> Result<Vec<Elements>> {
    let blocks: Vec<Values> = elements
        .iter()
        .enumerate()
        .map(|(operand, element)| Values { element: *element, registers: column(all, operand) })
        .collect();
    Ok(zip(&convert_blocks(cx, plans, region, &blocks)?))
}

/// Something that stands in front, in those lanes where the condition holds; in all without one.
#[derive(Clone)]
struct Front {
    elements: Elements,
    holds: Option<Value>,
}

/// How totals come to all warps.
#[derive(Clone, Copy)]
struct Shared<'p> {
    plans: &'p [Rc<Conversion>],
    spread: Option<&'p Spread>,
    region: Option<Region>,
}

impl Shared<'_> {
    /// One warp has the whole axis.
    const NOT: Shared<'static> = Shared { plans: &[], spread: None, region: None };
}

#[derive(Clone, Copy)]
struct Scan<'p> {
    combine: Combine,
    elements: &'p [ir::Type],
    axis: &'p Axis,
    reverse: bool,
    /// The conditions that are counted, if that is what the scan does.
    conditions: Option<&'p [Value]>,
}

impl Scan<'_> {
    /// The scanned registers.
    fn run(&self, cx: &mut Cx<'_>, all: &[Elements], shared: Shared<'_>) -> Result<Vec<Elements>> {
        let axis = self.axis;
        let mut runs: Vec<Vec<Elements>> = Vec::with_capacity(axis.runs.len());
        for run in &axis.runs {
            runs.push(self.run_of(cx, run, all)?);
        }
        let mut totals: Vec<Elements> = runs.iter().filter_map(|run| run.last().cloned()).collect();
        let mut fronts: Vec<Vec<Front>> = vec![Vec::new(); runs.len()];
        match self.conditions {
            Some(conditions) => self.count(cx, conditions, &mut totals, &mut fronts),
            None if axis.lane_mask != 0 => self.lanes(cx, &mut totals, &mut fronts)?,
            None => {}
        }
        match shared.spread {
            Some(spread) => self.spread(cx, shared, spread, &totals, &mut fronts)?,
            None => {
                if !shared.plans.is_empty() {
                    self.warps(cx, shared, &mut totals, &mut fronts)?;
                }
                self.along_lines(cx, &totals, &mut fronts)?;
            }
        }
        let mut results: Vec<Option<Elements>> = vec![None; all.len()];
        for ((run, members), fronts) in axis.runs.iter().zip(runs).zip(fronts) {
            let front = self.join(cx, &fronts)?;
            for (register, scanned) in self.in_order(run).zip(members) {
                let value = match &front {
                    Some(front) => self.behind(cx, front, &scanned)?,
                    None => scanned,
                };
                results[register as usize] = Some(value);
            }
        }
        let of = |from: &u32| results[*from as usize].clone().expect("every register is in a run");
        Ok(axis.same.iter().map(of).collect())
    }

    /// Registers of a run in the order of the scan.
    fn in_order<'r>(&self, run: &'r [u32]) -> Box<dyn Iterator<Item = u32> + 'r> {
        if self.reverse { Box::new(run.iter().rev().copied()) } else { Box::new(run.iter().copied()) }
    }

    /// The scan of neighbouring registers.
    fn run_of(&self, cx: &mut Cx<'_>, run: &[u32], all: &[Elements]) -> Result<Vec<Elements>> {
        let mut scanned: Vec<Elements> = Vec::with_capacity(run.len());
        for register in self.in_order(run) {
            let own = &all[register as usize];
            let next = match scanned.last() {
                Some(before) => self.combine.two(cx, before, own)?,
                None => own.clone(),
            };
            scanned.push(next);
        }
        Ok(scanned)
    }

    /// Other lanes' values, all operands of all totals.
    fn shuffled(&self, cx: &mut Cx<'_>, lane: Value, totals: &[Elements]) -> Vec<Elements> {
        let elements = self.elements.iter().enumerate();
        let lists: Vec<Vec<Value>> = elements
            .map(|(operand, element)| {
                let sent = column(totals, operand);
                shuffle_values(cx, Shuffle::Index(lane), types::register(*element), &sent)
            })
            .collect();
        zip(&lists)
    }

    /// Scans totals over lanes: what stands in front of each lane, and the totals of warps in every lane.
    fn lanes(&self, cx: &mut Cx<'_>, totals: &mut Vec<Elements>, fronts: &mut [Vec<Front>]) -> Result<()> {
        let mask = self.axis.lane_mask;
        let lane = cx.ids().lane;
        let (zero, all) = (cx.b.i32(0), cx.b.i32(mask as i32));
        let mut below = 0u32;
        for bit in (0..32).map(|bit| 1u32 << bit).filter(|bit| mask & bit != 0) {
            // The last lane of the half in front, counted in the order of the scan.
            let (set, cleared) = if self.reverse { (bit, below) } else { (below, bit) };
            let (set, kept) = (cx.b.i32(set as i32), cx.b.i32(!cleared as i32));
            let source = cx.b.or(lane, set);
            let source = cx.b.and(source, kept);
            let others = self.shuffled(cx, source, totals);
            let half = cx.b.i32(bit as i32);
            let half = cx.b.and(lane, half);
            let compare = if self.reverse { IntCompare::Eq } else { IntCompare::Ne };
            let behind = cx.b.icmp(compare, half, zero);
            for (total, other) in totals.iter_mut().zip(others) {
                let both = self.combine.two_where(cx, Some(behind), &other, total)?;
                *total = select(cx, behind, &both, total);
            }
            below |= bit;
        }
        let others = cx.b.i32(!mask as i32);
        let (own, rest) = (cx.b.and(lane, all), cx.b.and(lane, others));
        let one = cx.b.i32(1);
        let (neighbour, first) = if self.reverse {
            let filled = cx.b.or(lane, others);
            (cx.b.add(filled, one), all)
        } else {
            (cx.b.sub(own, one), zero)
        };
        let neighbour = cx.b.and(neighbour, all);
        let neighbour = cx.b.or(neighbour, rest);
        let holds = cx.b.icmp(IntCompare::Ne, own, first);
        for (fronts, elements) in fronts.iter_mut().zip(self.shuffled(cx, neighbour, totals)) {
            fronts.push(Front { elements, holds: Some(holds) });
        }
        if self.axis.warp_bits > 0 || self.axis.runs_of_line > 1 {
            let last = if self.reverse { rest } else { cx.b.or(lane, all) };
            *totals = self.shuffled(cx, last, totals);
        }
        Ok(())
    }

    /// The same where conditions are counted.
    fn count(
        &self,
        cx: &mut Cx<'_>,
        conditions: &[Value],
        totals: &mut [Elements],
        fronts: &mut [Vec<Front>],
    ) {
        let ty = types::register(self.elements[0]);
        let counts = scan_bits::count(cx, self.axis, self.reverse, conditions, ty);
        for ((count, total), fronts) in counts.into_iter().zip(totals).zip(fronts) {
            fronts.push(Front { elements: smallvec![count.front], holds: None });
            *total = smallvec![count.total];
        }
    }

    /// Hands the totals of warps to all warps: what stands in front of each, and the totals of all together.
    fn warps(
        &self,
        cx: &mut Cx<'_>,
        shared: Shared<'_>,
        totals: &mut [Elements],
        fronts: &mut [Vec<Front>],
    ) -> Result<()> {
        let count = 1u32 << self.axis.warp_bits;
        let known = moved(cx, shared.plans, shared.region, self.elements, totals)?;
        let number = self.warp_in_order(cx);
        let zero = cx.b.i32(0);
        let holds = cx.b.icmp(IntCompare::Ne, number, zero);
        for (index, (total, fronts)) in totals.iter_mut().zip(fronts).enumerate() {
            let own = &known[index * count as usize..][..count as usize];
            let mut sum: Option<Elements> = None;
            let mut front: Option<Elements> = None;
            for at in 0..count {
                let warp = if self.reverse { count - 1 - at } else { at };
                let next = match &sum {
                    Some(sum) => self.combine.two(cx, sum, &own[warp as usize])?,
                    None => own[warp as usize].clone(),
                };
                if at + 1 < count {
                    front = Some(match front {
                        Some(front) => {
                            let at = cx.b.i32(at as i32);
                            let further = cx.b.icmp(IntCompare::Ugt, number, at);
                            select(cx, further, &next, &front)
                        }
                        None => next.clone(),
                    });
                }
                sum = Some(next);
            }
            if let (Some(sum), Some(elements)) = (sum, front) {
                *total = sum;
                // Warps stand in front of lanes.
                fronts.insert(0, Front { elements, holds: Some(holds) });
            }
        }
        Ok(())
    }

    /// The number of the warp along the axis, in the order of the scan.
    fn warp_in_order(&self, cx: &mut Cx<'_>) -> Value {
        let number = crate::shuffle::thread_map(cx, &self.axis.warp_number);
        let last = cx.b.i32((1 << self.axis.warp_bits) - 1);
        if self.reverse { cx.b.sub(last, number) } else { number }
    }

    /// What stands in front of each run in each warp, from totals of runs and warps that lanes scan together.
    fn spread(
        &self,
        cx: &mut Cx<'_>,
        shared: Shared<'_>,
        spread: &Spread,
        totals: &[Elements],
        fronts: &mut [Vec<Front>],
    ) -> Result<()> {
        let known = moved(cx, shared.plans, shared.region, self.elements, totals)?;
        let scanned = Scan { axis: &spread.axis, conditions: None, ..*self }.run(cx, &known, Shared::NOT)?;
        let warp = self.warp_in_order(cx);
        let (zero, one) = (cx.b.i32(0), cx.b.i32(1));
        let holds = cx.b.icmp(IntCompare::Ne, warp, zero);
        // Counted in the order of the scan, the total in front has the number `warps * run + warp - 1`.
        let before = cx.b.sub(warp, one);
        let sent: Vec<Elements> = spread
            .axis
            .runs
            .iter()
            .map(|run| {
                self.chosen(
                    cx,
                    before,
                    &self.in_order(run).map(|at| &scanned[at as usize]).collect::<Vec<_>>(),
                )
            })
            .collect();
        let along = cx.b.i32(spread.axis.lane_mask as i32);
        let others = cx.b.i32(!spread.axis.lane_mask as i32);
        let own = cx.ids().lane;
        let own = cx.b.and(own, others);
        let (registers, first) =
            (cx.b.i32(spread.register_bits as i32), cx.b.i32(spread.first_lane_bit as i32));
        let runs = self.axis.runs_of_line;
        for run in 0..runs {
            let start = cx.b.i32(((run as u32) << self.axis.warp_bits) as i32);
            let number = cx.b.add(before, start);
            let lane = cx.b.binary(Inst::ASHR, number, registers);
            let lane = cx.b.binary(Inst::SHL, lane, first);
            let lane = if self.reverse { cx.b.xor(lane, along) } else { lane };
            let lane = cx.b.and(lane, along);
            let lane = cx.b.or(lane, own);
            let place = if self.reverse { runs - 1 - run } else { run };
            for (line, elements) in self.shuffled(cx, lane, &sent).into_iter().enumerate() {
                // Warps stand in front of lanes.
                let front = Front { elements, holds: (run == 0).then_some(holds) };
                fronts[line * runs + place].insert(0, front);
            }
        }
        Ok(())
    }

    /// The one of some values, as many as a power of two, whose number is that of the lowest bits.
    fn chosen(&self, cx: &mut Cx<'_>, number: Value, values: &[&Elements]) -> Elements {
        let mut values: Vec<Elements> = values.iter().map(|elements| (*elements).clone()).collect();
        let zero = cx.b.i32(0);
        for bit in 0..values.len().ilog2() {
            let set = cx.b.i32(1 << bit);
            let set = cx.b.and(number, set);
            let set = cx.b.icmp(IntCompare::Ne, set, zero);
            values = values.chunks(2).map(|pair| select(cx, set, &pair[1], &pair[0])).collect();
        }
        values.swap_remove(0)
    }

    /// A run further on along a line has the runs before it in front.
    fn along_lines(&self, cx: &mut Cx<'_>, totals: &[Elements], fronts: &mut [Vec<Front>]) -> Result<()> {
        let runs = self.axis.runs_of_line;
        for start in (0..totals.len()).step_by(runs) {
            let mut sum: Option<Elements> = None;
            for at in 0..runs {
                let index = start + if self.reverse { runs - 1 - at } else { at };
                if let Some(sum) = &sum {
                    fronts[index].insert(0, Front { elements: sum.clone(), holds: None });
                }
                if at + 1 < runs {
                    sum = Some(match &sum {
                        Some(sum) => self.combine.two(cx, sum, &totals[index])?,
                        None => totals[index].clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// All that stands in front, as one.
    fn join(&self, cx: &mut Cx<'_>, fronts: &[Front]) -> Result<Option<Front>> {
        let mut joined: Option<Front> = None;
        for next in fronts {
            joined = Some(match joined {
                None => next.clone(),
                Some(front) => {
                    let both_hold = match (front.holds, next.holds) {
                        (Some(one), Some(other)) if self.combine.has_effects(cx) => {
                            Some(cx.b.and(one, other))
                        }
                        (one, other) => one.or(other),
                    };
                    let both = self.combine.two_where(cx, both_hold, &front.elements, &next.elements)?;
                    let mut elements = match front.holds {
                        Some(holds) => select(cx, holds, &both, &next.elements),
                        None => both,
                    };
                    if let Some(holds) = next.holds {
                        elements = select(cx, holds, &elements, &front.elements);
                    }
                    let holds = match (front.holds, next.holds) {
                        (Some(one), Some(other)) => Some(cx.b.or(one, other)),
                        _ => None,
                    };
                    Front { elements, holds }
                }
            });
        }
        Ok(joined)
    }

    /// Elements with something in front where there is something.
    fn behind(&self, cx: &mut Cx<'_>, front: &Front, elements: &Elements) -> Result<Elements> {
        let both = self.combine.two_where(cx, front.holds, &front.elements, elements)?;
        Ok(match front.holds {
            Some(holds) => select(cx, holds, &both, elements),
            None => both,
        })
    }
}
