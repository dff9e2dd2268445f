//! A report for a terminal: plain text, the sentence first.

use crate::place::Place;
use crate::report::{AccessRow, Report};
use crate::shared::text as shared_text;
use crate::text::{amount, bytes, percent, time};
use std::fmt::Write as _;

/// How wide text may be.
const WIDTH: usize = 110;

/// Text broken into lines behind a first and further indents.
fn wrap(out: &mut String, first: &str, further: &str, text: &str) {
    let mut line = first.to_owned();
    let mut length = first.chars().count();
    let mut fresh = true;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if !fresh && length + 1 + size > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = further.to_owned();
            length = further.chars().count();
            fresh = true;
        }
        if !fresh {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += size;
        fresh = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn at(place: Option<&Place>) -> String {
    place.map_or_else(|| "-".to_owned(), |place| format!("{}:{}", place.line, place.column))
}

/// The report as text.
pub fn terminal(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} for {}, limits of {}\n", report.kernel, report.target, report.device);
    wrap(&mut out, "", "", &report.verdict);
    for line in &report.evidence {
        wrap(&mut out, "  - ", "    ", line);
    }
    out.push('\n');
    bounds(&mut out, report);
    accesses(&mut out, report);
    dots(&mut out, report);
    moves(&mut out, report);
    shared(&mut out, report);
    memory(&mut out, report);
    if !report.resources.is_empty() {
        let _ = writeln!(out, "\nMachine code on one {}", report.unit);
        for (what, text) in &report.resources {
            wrap(&mut out, &format!("  {what:<34} "), "      ", text);
        }
    }
    assumed(&mut out, report);
    out
}

fn bounds(out: &mut String, report: &Report) {
    let programs = match report.grid {
        Some([x, y, z]) => format!("all {x}×{y}×{z} programs"),
        None => "one program, its share of a full device".to_owned(),
    };
    let _ = writeln!(out, "Least times of {programs}");
    for row in &report.bounds {
        let _ = writeln!(
            out,
            "  {:<28} {:>10}   {} at {}/s",
            row.what,
            time(row.seconds),
            amount(row.amount, row.unit),
            amount(row.rate, row.unit)
        );
    }
    out.push_str("\nWork of one program\n");
    for row in &report.work {
        let _ = writeln!(
            out,
            "  {:<28} {:>12}   {} {}",
            row.what,
            amount(row.value, row.unit),
            row.amount.text(&report.loops),
            row.unit
        );
    }
    for one in &report.loops {
        let count = one.count.map_or_else(|| "not known".to_owned(), |count| format!("{count:.6}"));
        let count = if count.contains('.') {
            count.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            count
        };
        let _ = writeln!(
            out,
            "    {} = {} = {count}, the loop at line {}",
            one.name,
            one.trips,
            at(one.place.as_ref())
        );
    }
}

/// What an access does, in one line.
pub(crate) fn access_text(row: &AccessRow) -> String {
    let copies = if row.copies > 1 { format!(" in {} places", row.copies) } else { String::new() };
    let nest = if row.nest.is_empty() {
        String::new()
    } else {
        format!(", in the loop of {}", row.nest.join(" and "))
    };
    let hints = if row.hints.is_empty() { String::new() } else { format!(", {}", row.hints.join(" ")) };
    format!(
        "{} of {}×{} ({}){copies}{nest}{hints}",
        row.kind.word(),
        row.elements,
        row.elem,
        bytes((row.elements * row.element_bytes) as f64)
    )
}

/// How wide an access is.
pub(crate) fn width_text(row: &AccessRow) -> String {
    let plural = if row.instructions == 1 { "instruction" } else { "instructions" };
    format!(
        "{}: {} B an access ({} × {} B), {} {plural}",
        row.way,
        row.vector * row.element_bytes,
        row.vector,
        row.element_bytes,
        row.instructions
    )
}

/// How well lanes access memory together.
pub(crate) fn sectors_text(row: &AccessRow, granule: &str) -> String {
    match (&row.sectors, &row.sectors_unknown) {
        (Some(sectors), _) => format!(
            "{} {granule} a request, {} would do: {}",
            sectors.touched,
            sectors.ideal,
            percent(sectors.efficiency())
        ),
        (None, Some(reason)) => format!("{granule} not known: {reason}"),
        (None, None) => String::new(),
    }
}

fn accesses(out: &mut String, report: &Report) {
    if !report.accesses.is_empty() {
        out.push_str("\nAccesses to memory\n");
    }
    for row in &report.accesses {
        let _ = writeln!(out, "  {:<8} {}", at(row.place.as_ref()), access_text(row));
        source(out, report, row.place.as_ref());
        let _ = writeln!(out, "           {}; {}", width_text(row), row.contiguous);
        match &row.why {
            Some(why) => wrap(out, "           not wider: ", "             ", why),
            None if row.vector > 1 => out.push_str("           as wide as can be\n"),
            None => {}
        }
        let _ = writeln!(out, "           {}", sectors_text(row, report.granule));
    }
}

/// The line of the source.
fn source(out: &mut String, report: &Report, place: Option<&Place>) {
    let line = place.and_then(|place| report.source_line(place));
    if let Some(line) = line {
        let _ = writeln!(out, "           | {}", line.trim());
    }
}

fn dots(out: &mut String, report: &Report) {
    if !report.dots.is_empty() {
        out.push_str("\nDots\n");
    }
    for row in &report.dots {
        let _ = writeln!(
            out,
            "  {:<8} {}: {}; {}",
            at(row.place.as_ref()),
            row.size(),
            row.instruction,
            row.operands
        );
        source(out, report, row.place.as_ref());
        if let Some(why) = &row.why_not {
            wrap(out, "           no matrix instruction: ", "             ", why);
        }
    }
}

fn moves(out: &mut String, report: &Report) {
    if !report.moves.is_empty() {
        out.push_str("\nLayout conversions\n");
    }
    for row in &report.moves {
        let head = format!(
            "  {:<8} {} ({}) by {}: ",
            at(row.place.as_ref()),
            row.what,
            bytes(row.bytes as f64),
            row.way
        );
        wrap(out, &head, "             ", &row.cost);
        source(out, report, row.place.as_ref());
    }
}

fn shared(out: &mut String, report: &Report) {
    if !report.shared.is_empty() {
        let _ = writeln!(out, "\nWhat one program moves through {}", report.shared_name);
    }
    for row in &report.shared {
        wrap(out, &format!("  {:<8} ", at(row.place.as_ref())), "             ", &shared_text(row));
    }
}

fn memory(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n{}: {}", capital(report.shared_name), bytes(report.shared_bytes as f64));
    for row in &report.buffers {
        let start =
            format!("  {:<8} {:>8} at {:>6}: ", at(row.place.as_ref()), bytes(row.bytes as f64), row.offset);
        let alive = match row.alive.is_empty() {
            true => String::new(),
            false => format!(", alive over operations {}", row.alive),
        };
        wrap(out, &start, "             ", &format!("{}{alive}", row.what));
    }
    if !report.events.is_empty() {
        out.push_str("\nWaits, shuffles and matrix instructions in the code\n");
    }
    for row in &report.events {
        let lines: Vec<String> = row.places.iter().map(|place| at(Some(place))).collect();
        let lines = if lines.is_empty() { "-".to_owned() } else { lines.join(" or ") };
        let _ = writeln!(out, "  {lines:<8} {:>4} × {} ({})", row.count, row.text, row.what);
    }
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn assumed(out: &mut String, report: &Report) {
    let say = |given: bool| {
        let all = report.assumptions.iter().filter(|one| one.given == given);
        all.map(|one| format!("{}={}", one.name, one.value)).collect::<Vec<_>>().join(" ")
    };
    let (given, assumed) = (say(true), say(false));
    out.push('\n');
    if !given.is_empty() {
        wrap(out, "Given: ", "  ", &given);
    }
    if !assumed.is_empty() {
        wrap(out, "Assumed: ", "  ", &format!("{assumed} (say others with --arg NAME=VALUE)"));
    }
    if report.grid.is_none() {
        wrap(out, "", "", "What programs share is not counted: say the grid with --grid X,Y,Z.");
    }
    wrap(out, "Limits: ", "  ", &report.device_source);
}
