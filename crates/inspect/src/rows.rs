//! The tables of a report, from what the target reports.

use crate::numbers::Numbers;
use crate::place::Places;
use crate::report::{AccessRow, BufferRow, DotRow, EventRow, MoveRow};
use crate::text::bytes;
use crate::width;
use crate::work::{Kind, touch};
use ir::view::EnumAttr;
use ir::{Module, Op, Traits};
use std::collections::BTreeMap;
use target::survey::{AccessFacts, DotFacts, Event, MoveWay, SharedMove, Survey};
use ttgir::ops::async_copy::AsyncCopyOp;
use ttir::ops::access::AccessOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::memory::{CacheModifier, EvictionPolicy};

/// What rows are made from.
pub(crate) struct Ground<'a> {
    pub(crate) survey: &'a Survey,
    pub(crate) kernel: Op,
    pub(crate) places: &'a Places<'a>,
    pub(crate) numbers: &'a Numbers<'a>,
    /// Bytes of a sector and of a line.
    pub(crate) granules: (u64, u64),
}

/// Cache hints, beyond the usual.
fn hints(module: &Module, op: Op) -> Vec<String> {
    let Some((cache, evict, volatile)) = cached(module, op) else { return Vec::new() };
    let mut all = Vec::new();
    if cache != CacheModifier::None {
        all.push(format!(".{}", cache.keyword()));
    }
    if evict != EvictionPolicy::Normal {
        all.push(format!(".{}", evict.keyword()));
    }
    if volatile {
        all.push("volatile".into());
    }
    all
}

/// Where an access stands in the caches, and whether it is volatile.
fn cached(module: &Module, op: Op) -> Option<(CacheModifier, EvictionPolicy, bool)> {
    if let Some(op) = AccessOp::of(module, op) {
        Some((op.cache(), op.evict(), op.volatile()))
    } else {
        AsyncCopyOp::of(module, op).map(|op| (op.cache(), op.evict(), op.volatile()))
    }
}

impl Ground<'_> {
    fn module(&self) -> &Module {
        &self.survey.module
    }

    /// The lines of the loops around an operation, the outermost first.
    fn nest(&self, op: Op) -> Vec<String> {
        let module = self.module();
        let mut all = Vec::new();
        let mut inner = module.parent_op(op);
        while let Some(parent) = inner {
            if module.has(parent, Traits::LOOP) {
                let line = self.places.of(parent).map_or(0, |place| place.line);
                all.push(format!("line {line}"));
            }
            inner = module.parent_op(parent);
        }
        all.reverse();
        all
    }

    /// Accesses; several of one place that are done alike are one row.
    pub(crate) fn accesses(&self) -> Vec<AccessRow> {
        let mut rows: Vec<AccessRow> = Vec::new();
        for facts in &self.survey.accesses {
            let Some(row) = self.access(facts) else { continue };
            let same = |known: &AccessRow| {
                (&known.place, known.kind, known.elements, known.sectors)
                    == (&row.place, row.kind, row.elements, row.sectors)
            };
            // Where one thread runs a program, the ends of a loop are done in another way than the rest.
            let several_ways = self.survey.warps == 1 && facts.bounds.layout == u64::MAX;
            if let Some(known) = rows.iter_mut().find(|known| several_ways && same(known)) {
                if !known.way.contains(&row.way) {
                    known.way = format!("{}, {}", known.way, row.way);
                }
                if known.vector < row.vector {
                    (known.vector, known.instructions, known.why) = (row.vector, row.instructions, row.why);
                }
                continue;
            }
            let alike =
                |known: &&mut AccessRow| same(known) && known.way == row.way && known.vector == row.vector;
            match rows.iter_mut().find(alike) {
                Some(known) => {
                    known.copies += 1;
                    if known.nest.len() < row.nest.len() {
                        known.nest = row.nest;
                    }
                }
                None => rows.push(row),
            }
        }
        rows.extend(self.unplanned());
        rows.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
        rows
    }

    fn access(&self, facts: &AccessFacts) -> Option<AccessRow> {
        let module = self.module();
        let touch = touch(module, facts.op)?;
        let lanes = u64::from(self.survey.lanes * self.survey.warps);
        let sectors = width::sectors(module, facts, self.numbers, self.granules);
        Some(AccessRow {
            place: self.places.of(facts.op),
            kind: touch.kind,
            elem: touch.elem.to_string(),
            nest: self.nest(facts.op),
            copies: 1,
            elements: touch.elements,
            element_bytes: ttir::types::elem_bytes(touch.elem),
            way: facts.way.to_owned(),
            contiguous: width::contiguity(module, facts, self.numbers),
            vector: facts.vector,
            instructions: facts.instructions,
            why: width::why(module, facts, self.numbers, lanes),
            sectors: sectors.as_ref().ok().copied(),
            sectors_unknown: sectors.err().map(str::to_owned),
            hints: hints(module, facts.op),
        })
    }

    /// Accesses that the lowering planned as no vectors: by descriptor, or of single elements.
    fn unplanned(&self) -> Vec<AccessRow> {
        let module = self.module();
        let reported: Vec<Op> = self.survey.accesses.iter().map(|facts| facts.op).collect();
        let ops = module.walk(self.kernel).into_iter().filter(|op| !reported.contains(op));
        let rows = ops.filter_map(|op| {
            let touch = touch(module, op)?;
            let way = if touch.by_address { "single elements" } else { "by descriptor" };
            Some(AccessRow {
                place: self.places.of(op),
                kind: touch.kind,
                elem: touch.elem.to_string(),
                nest: self.nest(op),
                copies: 1,
                elements: touch.elements,
                element_bytes: ttir::types::elem_bytes(touch.elem),
                way: way.to_owned(),
                contiguous: if touch.by_address { "one element".into() } else { "rows of a box".into() },
                vector: 1,
                instructions: 1,
                why: None,
                sectors: None,
                sectors_unknown: Some(
                    if touch.by_address { "one lane accesses it" } else { "the copy engine moves it" }.into(),
                ),
                hints: hints(module, op),
            })
        });
        rows.collect()
    }

    /// Layout conversions.
    pub(crate) fn moves(&self) -> Vec<MoveRow> {
        let module = self.module();
        let mut rows: Vec<MoveRow> = self
            .survey
            .moves
            .iter()
            .map(|facts| {
                let (way, cost, conflicts) = costs(&facts.way);
                MoveRow {
                    place: self.places.of(facts.op),
                    what: short_type(module.ty(UnaryOp::new(module, facts.op).src())),
                    way: way.to_owned(),
                    bytes: facts.bytes,
                    cost,
                    conflicts,
                }
            })
            .collect();
        rows.sort_by(|a, b| a.place.cmp(&b.place));
        rows
    }

    /// Dots, with the instructions that do them; several of one place and size are one row.
    pub(crate) fn dots(&self) -> Vec<DotRow> {
        let mut rows: Vec<(DotRow, Vec<&DotFacts>)> = Vec::new();
        for facts in &self.survey.dots {
            let row = self.dot(facts);
            let alike = |(known, _): &&mut (DotRow, _)| {
                (&known.place, &known.shape, &known.operands, &known.rate, &known.why_not)
                    == (&row.place, &row.shape, &row.operands, &row.rate, &row.why_not)
            };
            match rows.iter_mut().find(alike) {
                Some((known, copies)) => {
                    known.copies += 1;
                    copies.push(facts);
                }
                None => rows.push((row, vec![facts])),
            }
        }
        let done = rows.into_iter().map(|(row, copies)| DotRow { instruction: self.done_by(&copies), ..row });
        done.collect()
    }

    /// The instructions of dots of one place. The code has places alone, so where other dots are at this one too, each
    /// has the share of its multiplications if all are done by one instruction.
    fn done_by(&self, dots: &[&DotFacts]) -> String {
        let own = self.file_place(dots[0].op);
        let here = |event: &&Event| event.what == "matrix" && event.place == own;
        let events: Vec<&Event> = self.survey.events.iter().filter(here).collect();
        let work = |facts: &DotFacts| facts.shape.iter().product::<u64>();
        let part: u64 = dots.iter().map(|facts| work(facts)).sum();
        let neighbours = self.survey.dots.iter().filter(|facts| self.file_place(facts.op) == own);
        let whole: u64 = neighbours.map(work).sum();
        match events[..] {
            [] if dots[0].matrix => "matrix instructions".to_owned(),
            [] => "multiply-adds of single numbers".to_owned(),
            [event] if (event.count * part).is_multiple_of(whole) => {
                format!("{} × {}", event.count * part / whole, event.text)
            }
            _ => {
                let listed: Vec<String> =
                    events.iter().map(|event| format!("{} × {}", event.count, event.text)).collect();
                let shared = if part < whole { " in all dots of this place" } else { "" };
                format!("{}{shared}", listed.join(", "))
            }
        }
    }

    fn file_place(&self, op: Op) -> Option<(String, u32, u32)> {
        let module = self.module();
        module.locs.file_place(module.loc(op)).map(|(file, line, column)| (file.to_string(), line, column))
    }

    fn dot(&self, facts: &DotFacts) -> DotRow {
        let [m, n, k, batch] = facts.shape;
        let times = if batch > 1 { format!("{batch} × ") } else { String::new() };
        DotRow {
            place: self.places.of(facts.op),
            shape: format!("{times}{m}×{n}×{k}"),
            copies: 1,
            instruction: String::new(),
            operands: if facts.operands[0] == facts.operands[1] {
                format!("both from {}", facts.operands[0])
            } else {
                format!("a from {}, b from {}", facts.operands[0], facts.operands[1])
            },
            rate: facts.rate.clone(),
            matrix: facts.matrix,
            why_not: facts.why_not.clone(),
        }
    }

    /// Shared memory.
    pub(crate) fn buffers(&self) -> Vec<BufferRow> {
        let module = self.module();
        let mut rows: Vec<BufferRow> = self
            .survey
            .buffers
            .iter()
            .map(|facts| {
                let row = module.row(facts.op);
                let what = match (&facts.why, ttgir_type(module, facts.op)) {
                    (Some(why), _) => {
                        let ty = short_type(module.ty(module.result(facts.op, 0)));
                        format!("{ty} of {}, not fused: {why}", row.name)
                    }
                    (None, Some(ty)) => ty,
                    (None, None) => format!("scratch of {}", row.name),
                };
                let alive: Vec<String> =
                    facts.alive.iter().map(|(from, to)| format!("{from}–{to}")).collect();
                BufferRow {
                    place: self.places.of(facts.op),
                    what,
                    offset: facts.offset,
                    bytes: facts.bytes,
                    alive: alive.join(", "),
                }
            })
            .collect();
        rows.sort_by_key(|row| (row.offset, row.place.clone()));
        rows
    }

    /// Waits and shuffles by the places they come from.
    pub(crate) fn events(&self) -> Vec<EventRow> {
        let known = self.places.by_innermost(self.kernel);
        let mut rows: BTreeMap<_, u64> = BTreeMap::new();
        for event in &self.survey.events {
            let places = event.place.as_ref().and_then(|place| known.get(place));
            let places: Vec<_> = places.map(|places| places.iter().cloned().collect()).unwrap_or_default();
            *rows.entry((places, event.what, event.text.clone())).or_default() += event.count;
        }
        rows.into_iter().map(|((places, what, text), count)| EventRow { places, what, text, count }).collect()
    }
}

/// The type of memory that an operation allocates.
fn ttgir_type(module: &Module, op: Op) -> Option<String> {
    let ty = module.ty(*module.results(op).first()?);
    let desc = ttgir::types::memdesc(ty)?;
    let sizes: Vec<String> = desc.shape.iter().map(i64::to_string).collect();
    Some(format!("{}×{}", sizes.join("×"), desc.elem))
}

/// A type without its layout.
fn short_type(ty: ir::Type) -> String {
    let sizes: Vec<String> = ttir::types::shape(ty).iter().map(i64::to_string).collect();
    if sizes.is_empty() { ty.to_string() } else { format!("{}×{}", sizes.join("×"), ttir::types::elem(ty)) }
}

/// How elements move, what it costs, and passes over the banks beyond those needed.
fn costs(way: &MoveWay) -> (&'static str, String, u64) {
    match way {
        MoveWay::Registers => ("registers", "nothing: every lane has what it needs".into(), 0),
        MoveWay::Shuffles { shuffles, selects } => {
            ("shuffles", format!("{shuffles} shuffles and {selects} selects a lane"), 0)
        }
        MoveWay::Shared(shared) => ("shared memory", shared_cost(shared), conflicts(shared)),
    }
}

fn conflicts(shared: &SharedMove) -> u64 {
    let extra = |(passes, ideal): (u32, u32), count: u64| u64::from(passes - ideal.min(passes)) * count;
    extra(shared.store_passes, shared.stores) + extra(shared.load_passes, shared.loads)
}

fn shared_cost(shared: &SharedMove) -> String {
    let conflicts = match conflicts(shared) {
        0 => "no bank conflicts".to_owned(),
        count => format!(
            "{count} passes lost to bank conflicts (a store takes {} of {}, a load {} of {})",
            shared.store_passes.0, shared.store_passes.1, shared.load_passes.0, shared.load_passes.1
        ),
    };
    let barriers = match shared.barriers {
        0 => "no barrier of the program".to_owned(),
        1 => "1 barrier".to_owned(),
        count => format!("{count} barriers"),
    };
    format!(
        "{} stores of {} B and {} loads of {} B a lane, {conflicts}, {barriers}, {} of shared memory",
        shared.stores,
        shared.store_bytes,
        shared.loads,
        shared.load_bytes,
        bytes(shared.bytes as f64)
    )
}

/// How many instructions the accesses of a kernel are, of one kind or of all.
pub(crate) fn instructions(rows: &[AccessRow], trips: impl Fn(&AccessRow) -> f64) -> f64 {
    rows.iter().filter(|row| row.kind != Kind::Atomic).map(|row| row.instructions as f64 * trips(row)).sum()
}
