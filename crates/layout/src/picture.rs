//! Pictures of a layout of a matrix: who holds each element, as text and as SVG.

use crate::dims::Dim;
use crate::linear::LinearLayout;
use std::fmt::Write as _;

/// Who holds an element: lane and register of a warp, and how many others hold a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// The warp.
    pub warp: u32,
    /// The lane in its warp.
    pub lane: u32,
    /// The register in its lane.
    pub register: u32,
    /// How many more places hold the element.
    pub copies: u32,
}

/// The holder of each element of a matrix (`dim0` rows, `dim1` columns; a vector is one row), row by row.
///
/// Elements that nobody holds are `None`.
pub fn grid(layout: &LinearLayout) -> Vec<Vec<Option<Cell>>> {
    let outs = layout.outs();
    let rank = outs.iter().count();
    let (row_dim, col_dim) =
        if rank < 2 { (None, Dim::block(0)) } else { (Some(Dim::block(0)), Dim::block(1)) };
    let rows = row_dim.map_or(1, |dim| 1usize << outs.bits(dim));
    let cols = 1usize << outs.bits(col_dim);
    let mut cells = vec![vec![None::<Cell>; cols]; rows];
    for word in 0..1u64 << layout.ins().total_bits() {
        let place = outs.unpack(layout.apply_word(word));
        let at = |dim: Dim| place.iter().find(|part| part.0 == dim).map_or(0, |part| part.1 as usize);
        let cell = &mut cells[row_dim.map_or(0, at)][at(col_dim)];
        match cell {
            Some(cell) => cell.copies += 1,
            None => *cell = Some(holder(layout, word)),
        }
    }
    cells
}

fn holder(layout: &LinearLayout, word: u64) -> Cell {
    let position = layout.ins().unpack(word);
    let at = |dim: Dim| position.iter().find(|part| part.0 == dim).map_or(0, |part| part.1);
    Cell { warp: at(Dim::WARP), lane: at(Dim::LANE), register: at(Dim::REGISTER), copies: 0 }
}

/// A table of `lane:register` for each element, `w` in front where there are several warps, `*` where there are copies.
pub fn text(layout: &LinearLayout) -> String {
    let several = layout.ins().bits(Dim::WARP) > 0;
    let words: Vec<Vec<String>> = grid(layout)
        .iter()
        .map(|row| row.iter().map(|cell| word(cell.as_ref(), several)).collect())
        .collect();
    let width = words.iter().flatten().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for row in &words {
        let line: Vec<String> = row.iter().map(|word| format!("{word:>width$}")).collect();
        out.push_str(line.join(" ").trim_end());
        out.push('\n');
    }
    out
}

fn word(cell: Option<&Cell>, several: bool) -> String {
    let Some(cell) = cell else { return "-".into() };
    let warp = if several { format!("w{} ", cell.warp) } else { String::new() };
    let copies = if cell.copies > 0 { "*" } else { "" };
    format!("{warp}{}:{}{copies}", cell.lane, cell.register)
}

/// A drawing: one square per element, coloured by lane, lighter by register, outlined by warp.
pub fn svg(layout: &LinearLayout, title: &str) -> String {
    const SIDE: usize = 34;
    let cells = grid(layout);
    let (rows, cols) = (cells.len(), cells.first().map_or(0, Vec::len));
    let (width, height) = (cols * SIDE + 20, rows * SIDE + 50);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"9\">\n<text x=\"10\" y=\"20\" font-size=\"13\">{}</text>\n",
        escape(title)
    );
    let lanes = f64::from(1u32 << layout.ins().bits(Dim::LANE).min(16));
    for (y, row) in cells.iter().enumerate() {
        for (x, cell) in row.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let (left, top) = (10 + x * SIDE, 35 + y * SIDE);
            let hue = 360.0 * f64::from(cell.lane) / lanes;
            let light = 85 - 5 * (cell.register % 6);
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"hsl({hue:.0},60%,{light}%)\" \
                 stroke=\"#444\" stroke-width=\"0.5\"/><text x=\"{}\" y=\"{}\">T{}</text><text x=\"{}\" y=\"{}\" \
                 fill=\"#333\">w{} r{}</text>",
                left + 3,
                top + 14,
                cell.lane,
                left + 3,
                top + 27,
                cell.warp,
                cell.register
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
