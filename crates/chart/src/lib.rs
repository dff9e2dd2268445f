//! Line charts as SVG text: what a report draws where there is no plotting library.
//!
//! Values that cannot be placed (not a number, infinite, or not above zero on a logarithmic axis) leave a gap. Two
//! charts of the same lines have the same text.

use std::fmt::Write;

mod axis;
mod colour;

use axis::Axis;

/// A line of a chart.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Where its points are.
    pub xs: Vec<f64>,
    /// Their values, as many.
    pub ys: Vec<f64>,
    /// The band around it: the lower and the upper value of each point. Empty for none.
    pub band: Vec<(f64, f64)>,
    /// A colour as matplotlib knows it (a name, `#rrggbb`, `tab:blue`, `C0`, `0.5`); one of a list by default.
    pub colour: Option<String>,
    /// A line style as matplotlib names it: `-`, `--`, `-.`, `:`, `solid`, `dashed`, `dashdot`, `dotted`.
    pub style: Option<String>,
}

/// What surrounds the lines.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Above the chart.
    pub title: String,
    /// Below it.
    pub x: String,
    /// Beside it.
    pub y: String,
    /// What stands where along x, a number where the text is empty; round numbers if there are none.
    pub x_ticks: Vec<(f64, String)>,
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scales {
    /// The x axis.
    pub x_log: bool,
    /// The y axis.
    pub y_log: bool,
}

const COLOURS: [&str; 8] =
    ["#2563eb", "#ea580c", "#16a34a", "#9333ea", "#dc2626", "#0891b2", "#ca8a04", "#4b5563"];
const DASHES: [(&[&str], &str); 3] =
    [(&["--", "dashed"], "7 4"), (&["-.", "dashdot"], "8 3 2 3"), (&[":", "dotted"], "2 3")];
/// At least; long names make it wider.
const WIDTH: f64 = 760.0;
/// At least; many names make it higher.
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;
/// Room for names at the ends of lines, within bounds.
const NAME_ROOM: (f64, f64) = (90.0, 270.0);
/// How long a piece of each line is that stands beside its name: a dashed one is told from another of its colour.
const SAMPLE: f64 = 24.0;
/// About how wide a letter of a name is.
const LETTER: f64 = 7.2;
/// Between two names at the ends of lines.
const NAME_HEIGHT: f64 = 16.0;

/// An SVG document.
pub fn line_chart(lines: &[Line], labels: &Labels, scales: Scales) -> String {
    let longest = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    let names = longest as f64 * LETTER + SAMPLE + 26.0;
    let right = WIDTH - names.clamp(NAME_ROOM.0, NAME_ROOM.1);
    let bottom = (HEIGHT - BOTTOM).max(TOP + lines.len() as f64 * NAME_HEIGHT);
    let mut x = Axis::new(lines.iter().flat_map(|line| line.xs.iter().copied()), (LEFT, right), scales.x_log);
    let bands = lines.iter().flat_map(|line| line.band.iter().flat_map(|(low, high)| [*low, *high]));
    let values = lines.iter().flat_map(|line| line.ys.iter().copied()).chain(bands);
    let mut y = Axis::new(values, (bottom, TOP), scales.y_log);
    y.start_at_zero();
    if !labels.x_ticks.is_empty() {
        x.show(labels.x_ticks.iter().map(|(value, _)| *value));
    }
    let chart = Chart { x, y, right, bottom, width: WIDTH.max(right + names) };
    let mut out = String::new();
    chart.write(&mut out, lines, labels);
    out
}

struct Chart {
    x: Axis,
    y: Axis,
    /// Where the axes end.
    right: f64,
    bottom: f64,
    width: f64,
}

/// How a text is set.
struct Style<'a> {
    anchor: &'a str,
    size: u32,
    extra: &'a str,
}

const MIDDLE: Style<'_> = Style { anchor: "middle", size: 12, extra: "" };

impl Chart {
    /// Writing to a string does not fail, here and below.
    fn write(&self, out: &mut String, lines: &[Line], labels: &Labels) {
        let (width, bottom, height) = (self.width, self.bottom, self.bottom + BOTTOM);
        let _ = writeln!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" fill="#111827">"##
        );
        let _ = writeln!(out, r#"<rect width="{width}" height="{height}" fill="white"/>"#);
        self.grid(out, &labels.x_ticks);
        let _ = writeln!(
            out,
            r##"<rect x="{LEFT}" y="{TOP}" width="{}" height="{}" fill="none" stroke="#9ca3af"/>"##,
            self.right - LEFT,
            bottom - TOP
        );
        lines.iter().enumerate().for_each(|(index, line)| self.band(out, line, index));
        lines.iter().enumerate().for_each(|(index, line)| self.line(out, line, index));
        self.names(out, lines);
        let centre = (LEFT + self.right) / 2.0;
        text(out, (centre, 28.0), &labels.title, &Style { size: 16, ..MIDDLE });
        text(out, (centre, height - 14.0), &labels.x, &MIDDLE);
        let middle = (TOP + bottom) / 2.0;
        let turned = format!(r#" transform="rotate(-90 20 {middle:.1})""#);
        text(out, (20.0, middle), &labels.y, &Style { extra: &turned, ..MIDDLE });
        out.push_str("</svg>\n");
    }

    fn grid(&self, out: &mut String, names: &[(f64, String)]) {
        for value in self.y.ticks() {
            let y = self.y.place(value);
            let _ = writeln!(
                out,
                r##"<line x1="{LEFT}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}" stroke="#e5e7eb"/>"##,
                self.right
            );
            text(out, (LEFT - 8.0, y + 4.0), &number(value), &Style { anchor: "end", ..MIDDLE });
        }
        let mut free = f64::NEG_INFINITY;
        for value in self.x.ticks() {
            let x = self.x.place(value);
            let _ = writeln!(
                out,
                r##"<line x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{:.1}" stroke="#f3f4f6"/>"##,
                self.bottom
            );
            let name = names.iter().find(|(at, name)| *at == value && !name.is_empty());
            let name = name.map_or_else(|| number(value), |(_, name)| name.clone());
            // What would be written over its neighbour is left out.
            let half = name.chars().count() as f64 * LETTER / 2.0;
            if x - half >= free {
                text(out, (x, self.bottom + 18.0), &name, &MIDDLE);
                free = x + half + LETTER;
            }
        }
    }

    /// The drawable runs of points, each with its index: one that cannot be placed interrupts them.
    fn runs(&self, xs: &[f64], ys: &[f64]) -> Vec<Vec<(usize, f64, f64)>> {
        let mut runs = vec![Vec::new()];
        for (index, (x, y)) in xs.iter().zip(ys).enumerate() {
            match (self.x.has(*x) && self.y.has(*y), runs.last_mut()) {
                (true, Some(run)) => run.push((index, self.x.place(*x), self.y.place(*y))),
                (false, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
                _ => {}
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    fn line(&self, out: &mut String, line: &Line, index: usize) {
        let colour = colour(line, index);
        let dash = dash(line);
        let runs = self.runs(&line.xs, &line.ys);
        for run in &runs {
            let points: Vec<String> = run.iter().map(|(_, x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                out,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>"#,
                points.join(" ")
            );
        }
        for (_, x, y) in runs.iter().flatten() {
            let _ = writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}"/>"#);
        }
    }

    fn band(&self, out: &mut String, line: &Line, index: usize) {
        let low: Vec<f64> = line.band.iter().map(|(low, high)| low.min(*high)).collect();
        for run in self.runs(&line.xs, &low) {
            let above = run.iter().rev().filter_map(|(index, x, _)| {
                let (low, high) = line.band.get(*index)?;
                let high = low.max(*high);
                self.y.has(high).then(|| format!("{x:.1},{:.1}", self.y.place(high)))
            });
            let below = run.iter().map(|(_, x, y)| format!("{x:.1},{y:.1}"));
            let points: Vec<String> = below.chain(above).collect();
            let _ = writeln!(
                out,
                r#"<polygon points="{}" fill="{}" fill-opacity="0.15"/>"#,
                points.join(" "),
                colour(line, index)
            );
        }
    }

    /// The name of each line beside its end, with a piece of it, one below the other where ends are close.
    fn names(&self, out: &mut String, lines: &[Line]) {
        let end = |line: &Line| {
            let runs = self.runs(&line.xs, &line.ys);
            runs.last().and_then(|run| run.last()).map_or(self.bottom, |(_, _, y)| *y)
        };
        let mut ends: Vec<(f64, usize)> =
            lines.iter().enumerate().map(|(at, line)| (end(line), at)).collect();
        ends.sort_by(|left, right| left.0.total_cmp(&right.0));
        // From above, each below the last; then from below, so that none leaves the chart.
        let mut places: Vec<f64> = Vec::new();
        for (y, _) in &ends {
            places.push(places.last().map_or(*y, |last: &f64| y.max(last + NAME_HEIGHT)));
        }
        let mut limit = self.bottom;
        for place in places.iter_mut().rev() {
            *place = place.min(limit);
            limit = *place - NAME_HEIGHT;
        }
        for (place, (_, at)) in places.iter().zip(&ends) {
            let (colour, dash) = (colour(&lines[*at], *at), dash(&lines[*at]));
            let (from, to) = (self.right + 8.0, self.right + 8.0 + SAMPLE);
            let _ = writeln!(
                out,
                r#"<line x1="{from:.1}" y1="{place:.1}" x2="{to:.1}" y2="{place:.1}" stroke="{colour}" stroke-width="2"{dash}/>"#
            );
            let extra = format!(r#" fill="{colour}" font-weight="bold""#);
            let style = Style { anchor: "start", extra: &extra, ..MIDDLE };
            text(out, (to + 6.0, place + 4.0), &lines[*at].name, &style);
        }
    }
}

/// The colour of a line: its own, or one of the list.
fn colour(line: &Line, index: usize) -> String {
    let own = line.colour.as_deref().and_then(colour::colour);
    own.unwrap_or_else(|| COLOURS[index % COLOURS.len()].to_owned())
}

fn dash(line: &Line) -> String {
    let style = line.style.as_deref().unwrap_or_default();
    let found = DASHES.iter().find(|(names, _)| names.contains(&style));
    found.map_or_else(String::new, |(_, dashes)| format!(r#" stroke-dasharray="{dashes}""#))
}

fn text(out: &mut String, (x, y): (f64, f64), text: &str, style: &Style<'_>) {
    let Style { anchor, size, extra } = style;
    let text = escape(text);
    let _ = writeln!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}"{extra}>{text}</text>"#
    );
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// A number in few letters.
fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-3) {
        let text = format!("{value:.6e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", short(digits));
    }
    short(&format!("{value:.6}")).to_owned()
}

/// Without the zeros at the end: steps like 0.1 + 0.2 carry rounding errors.
fn short(digits: &str) -> &str {
    digits.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::{Labels, Line, Scales, line_chart, number};

    fn line(name: &str, ys: &[f64]) -> Line {
        Line { name: name.into(), xs: vec![1.0, 10.0, 100.0], ys: ys.to_vec(), ..Line::default() }
    }

    #[test]
    fn whatever_the_values_it_is_a_chart() {
        let lines = [
            line("one & two", &[1.0, f64::NAN, 3.0]),
            line("flat", &[2.0, 2.0, 2.0]),
            line("gap", &[f64::NAN, f64::INFINITY, 0.0]),
            line("none", &[]),
        ];
        for (x_log, y_log) in [(false, false), (true, true)] {
            let labels = Labels { title: "a <title>".into(), ..Labels::default() };
            let text = line_chart(&lines, &labels, Scales { x_log, y_log });
            assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
            assert!(text.contains("a &lt;title&gt;") && text.contains("one &amp; two"));
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        let empty = line_chart(&[], &Labels::default(), Scales::default());
        assert!(empty.contains("</svg>"));
    }

    #[test]
    fn styles_and_bands_are_drawn() {
        let mut styled = line("a", &[1.0, 2.0, 3.0]);
        styled.colour = Some("g".into());
        styled.style = Some("dashdot".into());
        styled.band = vec![(0.5, 1.5), (2.5, 1.5), (f64::NAN, 4.0)];
        let text = line_chart(&[styled], &Labels::default(), Scales::default());
        assert!(text.contains(r#"stroke="green" stroke-width="2" stroke-dasharray="8 3 2 3""#), "{text}");
        assert_eq!(text.matches("<polygon").count(), 1, "{text}");
    }

    #[test]
    fn lines_of_one_colour_are_told_apart_beside_their_names() {
        let with = |name: &str, style: &str| Line {
            colour: Some("green".into()),
            style: Some(style.into()),
            ..line(name, &[1.0, 2.0, 3.0])
        };
        let text =
            line_chart(&[with("plain", "-"), with("dashed", "--")], &Labels::default(), Scales::default());
        let before = |name: &str| {
            let at = text.lines().position(|line| line.contains(&format!(">{name}<"))).expect("it is named");
            text.lines().nth(at - 1).expect("a sample").to_owned()
        };
        assert!(
            before("dashed").starts_with("<line") && before("dashed").contains("stroke-dasharray"),
            "{text}"
        );
        assert!(
            before("plain").starts_with("<line") && !before("plain").contains("stroke-dasharray"),
            "{text}"
        );
    }

    #[test]
    fn a_colour_that_is_none_is_one_of_ours() {
        let mut odd = line("b", &[1.0, 2.0, 3.0]);
        odd.colour = Some("\"/><script>".into());
        let text = line_chart(&[odd], &Labels::default(), Scales::default());
        assert!(!text.contains("<script") && text.contains("#2563eb"), "{text}");
    }

    #[test]
    fn texts_along_x_stand_side_by_side() {
        let names = [
            "fp16",
            "bf16",
            "a name that is much too long for the room that is left between it and the next",
            "e",
        ];
        let x_ticks = names.iter().enumerate().map(|(at, name)| (at as f64, (*name).to_owned())).collect();
        let mut few = line("a", &[1.0, 2.0, 3.0, 4.0]);
        few.xs = vec![0.0, 1.0, 2.0, 3.0];
        let text = line_chart(&[few], &Labels { x_ticks, ..Labels::default() }, Scales::default());
        assert!(text.contains(">fp16<") && text.contains(">bf16<") && text.contains(">e<"), "{text}");
        assert!(!text.contains("much too long"), "{text}");
    }

    #[test]
    fn there_is_room_for_every_name() {
        let long = "x".repeat(60);
        let lines: Vec<_> = (0..40).map(|_| line(&long, &[1.0, 2.0, 3.0])).collect();
        let text = line_chart(&lines, &Labels::default(), Scales::default());
        let size = text.split('"').nth(7).expect("the view box");
        let size: Vec<f64> = size.split(' ').filter_map(|part| part.parse().ok()).collect();
        let at = |key: &str| {
            let parts = text.lines().filter(|line| line.contains(&long)).map(|line| {
                line.split_once(key).and_then(|(_, rest)| rest.split('"').next()?.parse::<f64>().ok())
            });
            parts.map(|value| value.expect("a number")).collect::<Vec<_>>()
        };
        assert!(at(" x=\"").iter().all(|x| x + 60.0 * 7.2 <= size[2]), "{size:?}");
        let ys = at(" y=\"");
        assert!(ys.windows(2).all(|pair| pair[1] - pair[0] > 15.9), "{ys:?}");
        assert!(ys[0] > 0.0 && ys[39] < size[3], "{size:?} {ys:?}");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (12288.0, "12288"),
            (2e6, "2e6"),
            (-2.5, "-2.5"),
            (5.0 * 5e-7, "2.5e-6"),
            (1e-9 * 3.0, "3e-9"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
