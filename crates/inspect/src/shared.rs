//! What a program moves through its own memory: by whom, how often, and how much conflicts of banks add.
//!
//! A pass over the banks takes as long as any other, however many of its bytes are wanted; so passes are what is
//! limited.

use crate::place::{Place, Places};
use crate::report::SharedRow;
use ir::{Module, Op, Traits};
use std::collections::BTreeMap;
use target::survey::{SharedBy, SharedFacts, Survey};
use ttgir::ops::shared::{LOCAL_ALLOC, LOCAL_LOAD, LOCAL_STORE};

/// What a line does, in words.
fn what(module: &Module, facts: &SharedFacts) -> &'static str {
    let is_plain = [&LOCAL_ALLOC, &LOCAL_LOAD, &LOCAL_STORE].iter().any(|row| module.is(facts.op, row));
    match facts.by {
        SharedBy::Copies => "asynchronous copies",
        SharedBy::Rows if facts.writes => "matrix stores",
        SharedBy::Rows => "matrix loads",
        SharedBy::Matrix => "operands of matrix instructions",
        SharedBy::Lanes if module.has(facts.op, Traits::RELAYOUT) => "layout conversion",
        SharedBy::Lanes if is_plain && facts.writes => "stores",
        SharedBy::Lanes if is_plain => "loads",
        SharedBy::Lanes => module.row(facts.op).name,
    }
}

/// A row for each line and what it does, those first that take most passes. `count` is how often an operation is
/// carried out.
pub(crate) fn rows(survey: &Survey, places: &Places<'_>, count: impl Fn(Op) -> f64) -> Vec<SharedRow> {
    let mut found: BTreeMap<(Option<Place>, &str, bool), SharedRow> = BTreeMap::new();
    for facts in &survey.shared {
        let (place, what, times) = (places.of(facts.op), what(&survey.module, facts), count(facts.op));
        let row = found.entry((place.clone(), what, facts.writes)).or_insert_with(|| SharedRow {
            place,
            what: what.to_owned(),
            is_move: survey.module.has(facts.op, Traits::RELAYOUT),
            writes: facts.writes,
            bytes: 0.0,
            passes: 0.0,
            lost: 0.0,
        });
        row.bytes += facts.bytes as f64 * times;
        row.passes += facts.passes as f64 * times;
        row.lost += facts.passes.saturating_sub(facts.ideal) as f64 * times;
    }
    let mut rows: Vec<SharedRow> = found.into_values().collect();
    rows.sort_by(|a, b| b.passes.total_cmp(&a.passes));
    rows
}

/// What a row moves, in one line.
pub(crate) fn text(row: &SharedRow) -> String {
    let verb = if row.writes { "write" } else { "read" };
    let lost = if row.lost > 0.0 {
        format!(", {:.0} of them lost to bank conflicts", row.lost)
    } else {
        String::new()
    };
    format!("{} {verb} {} in {:.0} passes{lost}", row.what, crate::text::bytes(row.bytes), row.passes)
}
