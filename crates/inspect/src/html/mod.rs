//! A report as one page for the browser: no other files, no network.
//!
//! The sentence and the tables stand above two panes that show any two stages side by side; lines that come from one
//! line of the source light up together, also from the tables.

use crate::place::Place;
use crate::report::{AccessRow, Report, StageText};
use crate::shared::text as shared_text;
use crate::terminal::{access_text, capital, sectors_text, width_text};
use crate::text::{amount, bytes, time};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Text between tags or in an attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    out
}

/// The page.
pub fn html(report: &Report) -> String {
    let mut out = String::new();
    let title = escape(&format!("{} for {}", report.kernel, report.target));
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><main><h1>{title}</h1><div class=\"sub\">limits of {}: {}</div>",
        escape(&report.device),
        escape(&report.device_source)
    );
    verdict(&mut out, report);
    out.push_str("<div class=\"two\">");
    bounds(&mut out, report);
    work(&mut out, report);
    out.push_str("</div>");
    accesses(&mut out, report);
    dots(&mut out, report);
    moves(&mut out, report);
    shared(&mut out, report);
    out.push_str("<div class=\"two\">");
    memory(&mut out, report);
    events(&mut out, report);
    resources(&mut out, report);
    out.push_str("</div>");
    code(&mut out, report);
    let _ = writeln!(out, "</main><script>{SCRIPT}</script></body></html>");
    out
}

fn verdict(out: &mut String, report: &Report) {
    let _ = write!(
        out,
        "<div class=\"verdict\" role=\"note\" id=\"verdict\"><p>{}</p><ul>",
        escape(&report.verdict)
    );
    for line in &report.evidence {
        let _ = write!(out, "<li>{}</li>", escape(line));
    }
    out.push_str("</ul></div>");
}

/// A table under a heading; rows are whole `<tr>` elements.
fn table(out: &mut String, heading: &str, note: &str, columns: &[&str], rows: &str) {
    if rows.is_empty() {
        return;
    }
    let heads: String = columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let _ = write!(
        out,
        "<section><h2>{heading}</h2>{}<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></section>",
        if note.is_empty() { String::new() } else { format!("<p class=\"note\">{}</p>", escape(note)) }
    );
}

fn bounds(out: &mut String, report: &Report) {
    let longest = report.bounds.first().map_or(1.0, |row| row.seconds);
    let mut rows = String::new();
    for row in &report.bounds {
        let _ = write!(
            rows,
            "<tr><td>{}</td><td class=\"number\">{}</td><td style=\"width:30%\"><span class=\"bar\" style=\"width:{:.1}%\"></span></td>\
             <td class=\"number\">{}</td><td class=\"number\">{}/s</td></tr>",
            escape(&row.what),
            time(row.seconds),
            row.seconds / longest * 100.0,
            amount(row.amount, row.unit),
            amount(row.rate, row.unit)
        );
    }
    let of = match report.grid {
        Some([x, y, z]) => format!("of all {x}×{y}×{z} programs"),
        None => "of one program, its share of a full device".to_owned(),
    };
    table(out, "Least times", &of, &["limit", "at least", "", "amount", "peak"], &rows);
}

fn work(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.work {
        let _ = write!(
            rows,
            "<tr><td>{}</td><td class=\"number\">{}</td><td>{} {}</td></tr>",
            escape(&row.what),
            amount(row.value, row.unit),
            escape(&row.amount.text(&report.loops)),
            row.unit
        );
    }
    for one in &report.loops {
        let count = one.count.map_or_else(|| "not known".to_owned(), |count| format!("{count:.1}"));
        let _ = write!(
            rows,
            "<tr{}><td>{}, the loop{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            link(one.place.as_ref()),
            escape(&one.name),
            one.place.as_ref().map_or_else(String::new, |place| format!(" at line {}", place.line)),
            count.trim_end_matches(".0"),
            escape(&one.trips)
        );
    }
    let assumed: Vec<String> = report
        .assumptions
        .iter()
        .map(|one| format!("{} = {}{}", one.name, one.value, if one.given { "" } else { " (assumed)" }))
        .collect();
    table(out, "Work of one program", &assumed.join(", "), &["what", "amount", "as a sum"], &rows);
}

/// The attribute that ties a row to a line of the source.
fn link(place: Option<&Place>) -> String {
    place.map_or_else(String::new, |place| format!(" data-l=\"{}\"", place.line))
}

fn line(place: Option<&Place>) -> String {
    place.map_or_else(|| "–".to_owned(), |place| format!("{}:{}", place.line, place.column))
}

/// The text of the line that a place is on.
fn source(report: &Report, place: Option<&Place>) -> String {
    let line = place.and_then(|place| report.source_line(place));
    line.map_or_else(String::new, |line| format!("<br><code>{}</code>", escape(line.trim())))
}

fn accesses(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.accesses {
        let _ = write!(
            rows,
            "<tr{}><td>{}</td><td>{}{}</td><td>{}<br><span class=\"note\">{}</span></td><td>{}</td><td>{}</td></tr>",
            link(row.place.as_ref()),
            line(row.place.as_ref()),
            escape(&access_text(row)),
            source(report, row.place.as_ref()),
            escape(&width_text(row)),
            escape(&row.contiguous),
            why(row),
            sectors(row, report.granule)
        );
    }
    let columns = ["line", "access", "how wide", "why not wider", "what a request moves"];
    table(out, "Accesses to memory", "", &columns, &rows);
}

fn why(row: &AccessRow) -> String {
    match &row.why {
        Some(why) => escape(why),
        None if row.vector > 1 => "<span class=\"fine\">as wide as can be</span>".to_owned(),
        None => String::new(),
    }
}

fn sectors(row: &AccessRow, granule: &str) -> String {
    let text = escape(&sectors_text(row, granule));
    match &row.sectors {
        Some(sectors) if sectors.efficiency() < 0.75 => format!("<span class=\"bad\">{text}</span>"),
        Some(_) => format!("<span class=\"fine\">{text}</span>"),
        None => text,
    }
}

fn dots(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.dots {
        let why = row.why_not.as_ref().map_or_else(String::new, |why| {
            format!("<br><span class=\"bad\">no matrix instruction: {}</span>", escape(why))
        });
        let _ = write!(
            rows,
            "<tr{}><td>{}</td><td>{}{}</td><td><code>{}</code>{why}</td><td>{}</td></tr>",
            link(row.place.as_ref()),
            line(row.place.as_ref()),
            escape(&row.size()),
            source(report, row.place.as_ref()),
            escape(&row.instruction),
            escape(&row.operands)
        );
    }
    table(out, "Dots", "", &["line", "size", "instructions", "operands"], &rows);
}

fn moves(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.moves {
        let _ = write!(
            rows,
            "<tr{}><td>{}</td><td>{} ({}){}</td><td>{}</td><td>{}</td></tr>",
            link(row.place.as_ref()),
            line(row.place.as_ref()),
            escape(&row.what),
            bytes(row.bytes as f64),
            source(report, row.place.as_ref()),
            escape(&row.way),
            if row.conflicts > 0 {
                format!("<span class=\"bad\">{}</span>", escape(&row.cost))
            } else {
                escape(&row.cost)
            }
        );
    }
    table(out, "Layout conversions", "", &["line", "what", "by", "cost"], &rows);
}

fn shared(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.shared {
        let text = escape(&shared_text(row));
        let _ = write!(
            rows,
            "<tr{}><td>{}</td><td>{}</td></tr>",
            link(row.place.as_ref()),
            line(row.place.as_ref()),
            if row.lost > 0.0 { format!("<span class=\"bad\">{text}</span>") } else { text }
        );
    }
    let heading = format!("What one program moves through {}", report.shared_name);
    table(out, &heading, "in all iterations of its loops", &["line", "what"], &rows);
}

fn memory(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.buffers {
        let _ = write!(
            rows,
            "<tr{}><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            link(row.place.as_ref()),
            line(row.place.as_ref()),
            escape(&row.what),
            bytes(row.bytes as f64),
            row.offset,
            escape(&row.alive)
        );
    }
    let heading = format!("{}: {}", capital(report.shared_name), bytes(report.shared_bytes as f64));
    let note = "alive over operations of the program, by number";
    table(out, &heading, note, &["line", "what", "size", "at", "alive"], &rows);
}

fn events(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for row in &report.events {
        let lines: Vec<String> = row.places.iter().map(|place| line(Some(place))).collect();
        let links: Vec<String> = row.places.iter().map(|place| place.line.to_string()).collect();
        let link = if links.is_empty() { String::new() } else { format!(" data-l=\"{}\"", links.join(" ")) };
        let _ = write!(
            rows,
            "<tr{link}><td>{}</td><td class=\"number\">{}</td><td>{}</td><td><code>{}</code></td></tr>",
            if lines.is_empty() { "–".to_owned() } else { lines.join(" or ") },
            row.count,
            row.what,
            escape(&row.text)
        );
    }
    table(out, "Waits and shuffles in the code", "", &["line", "count", "what", "instruction"], &rows);
}

fn resources(out: &mut String, report: &Report) {
    let rows: String = report
        .resources
        .iter()
        .map(|(what, text)| format!("<tr><td>{}</td><td>{}</td></tr>", escape(what), escape(text)))
        .collect();
    table(out, &format!("Machine code on one {}", report.unit), "", &["what", "how much"], &rows);
}

fn code(out: &mut String, report: &Report) {
    if report.stages.is_empty() {
        missing(out, report);
        return;
    }
    out.push_str(
        "<h2>Stages</h2><p class=\"note\">Lines that come from one line of the source light up together; a click keeps them \
         and moves the other pane there. In a pane, arrow keys and Enter do the same.</p><div class=\"code\">",
    );
    let second = report.stages.iter().position(|stage| stage.name == "ttgir").unwrap_or(1);
    for (side, chosen) in [("left", 0), ("right", second.min(report.stages.len() - 1))] {
        pane(out, &report.stages, side, chosen);
    }
    out.push_str("</div>");
    missing(out, report);
}

/// What is not among the panes, and why: the first line of the reason, the rest of it folded up.
fn missing(out: &mut String, report: &Report) {
    if report.missing.is_empty() {
        return;
    }
    out.push_str("<section id=\"missing\"><h2>Not shown</h2><ul>");
    for (name, reason) in &report.missing {
        let (first, rest) = reason.split_once('\n').unwrap_or((reason, ""));
        let _ = write!(out, "<li><b>{}</b>: {}", escape(name), escape(first));
        if !rest.trim().is_empty() {
            let _ = write!(out, "<details><summary>more</summary><pre>{}</pre></details>", escape(rest));
        }
        out.push_str("</li>");
    }
    out.push_str("</ul></section>");
}

fn pane(out: &mut String, stages: &[StageText], side: &str, chosen: usize) {
    let _ = write!(
        out,
        "<div class=\"pane\" id=\"{side}\"><div class=\"tabs\" role=\"tablist\" aria-label=\"stages, {side} pane\">"
    );
    for (index, stage) in stages.iter().enumerate() {
        let is_chosen = index == chosen;
        let _ = write!(
            out,
            "<button type=\"button\" role=\"tab\" id=\"{side}-tab-{index}\" aria-controls=\"{side}-{index}\" \
             aria-selected=\"{is_chosen}\" tabindex=\"{}\">{}</button>",
            if is_chosen { 0 } else { -1 },
            escape(&stage.name)
        );
    }
    out.push_str("</div>");
    for (index, stage) in stages.iter().enumerate() {
        let hidden = if index == chosen { "" } else { " hidden" };
        let _ = write!(
            out,
            "<ol id=\"{side}-{index}\" data-stage=\"{}\" role=\"tabpanel\" tabindex=\"0\" aria-labelledby=\"{side}-tab-{index}\"{hidden}>",
            escape(&stage.name)
        );
        for (text, lines) in &stage.lines {
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let link =
                if lines.is_empty() { String::new() } else { format!(" data-l=\"{}\"", lines.join(" ")) };
            let _ = write!(out, "<li{link}>{}</li>", escape(text));
        }
        out.push_str("</ol>");
    }
    out.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
