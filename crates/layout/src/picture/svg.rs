//! Drawings as SVG.

use super::{Cell, Matrix, matrices, title as leading_title};
use crate::dims::Dim;
use crate::linear::LinearLayout;
use std::fmt::Write as _;

/// The side of a square with room for two lines of text.
const LARGE: usize = 34;
/// The side of a square in a matrix with many columns; what it says is shown where a pointer rests on it.
const SMALL: usize = 12;
/// From so many columns on squares are small.
const MANY: usize = 65;
const MARGIN: usize = 10;
const HEADER: usize = 26;

/// What a square looks like.
pub(super) struct Square {
    pub(super) fill: String,
    pub(super) first: String,
    pub(super) second: String,
}

/// A drawing: one square per element, coloured by warp, darker for higher lanes, with lane, warp and register in it.
pub fn svg(layout: &LinearLayout, title: &str) -> String {
    let count = |dim: Dim| f64::from(1u32 << layout.ins().bits(dim).min(16));
    let (lanes, warps) = (count(Dim::LANE), count(Dim::WARP) * count(Dim::BLOCK));
    let own_warps = count(Dim::WARP);
    draw(layout, title, |cell| {
        let warp = f64::from(cell.block) * own_warps + f64::from(cell.warp);
        let light = 92.0 - 34.0 * f64::from(cell.lane) / lanes;
        Square {
            fill: format!("hsl({:.0},65%,{light:.0}%)", 360.0 * warp / warps),
            first: format!("T{}", cell.lane),
            second: format!("w{} r{}", cell.warp, cell.register),
        }
    })
}

/// A drawing of every matrix of a block, one below the other.
pub(super) fn draw(layout: &LinearLayout, title: &str, square: impl Fn(&Cell) -> Square) -> String {
    let all = matrices(layout);
    let columns = all.first().and_then(|matrix| matrix.rows.first()).map_or(0, Vec::len);
    let side = if columns < MANY { LARGE } else { SMALL };
    let rows: usize = all.iter().map(|matrix| matrix.rows.len()).sum();
    let width = (columns * side + 2 * MARGIN).max(title.len() * 7 + 2 * MARGIN);
    let height = rows * side + all.len() * HEADER + HEADER + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"9\">\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"#fff\"/>\n<text x=\"{MARGIN}\" y=\"18\" font-size=\"12\">{}</text>\n",
        escape(title)
    );
    let mut top = HEADER;
    for matrix in &all {
        let above = leading_title(&matrix.leading);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{}\">{}</text>", top + 16, escape(above.trim_end()));
        top += HEADER;
        draw_matrix(&mut out, matrix, top, side, &square);
        top += matrix.rows.len() * side;
    }
    out.push_str("</svg>\n");
    out
}

fn draw_matrix(
    out: &mut String,
    matrix: &Matrix,
    top: usize,
    side: usize,
    square: &impl Fn(&Cell) -> Square,
) {
    for (y, row) in matrix.rows.iter().enumerate() {
        for (x, cell) in row.iter().enumerate() {
            let (left, top) = (MARGIN + x * side, top + y * side);
            let Some(cell) = cell else { continue };
            let look = square(cell);
            let copies = if cell.copies > 0 { format!(", {} copies", cell.copies) } else { String::new() };
            let _ = write!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{side}\" height=\"{side}\" fill=\"{}\" stroke=\"#555\" \
                 stroke-width=\"0.4\"><title>({y},{x}): {} {}{copies}</title></rect>",
                look.fill, look.first, look.second
            );
            if side == LARGE {
                let _ = write!(
                    out,
                    "<text x=\"{}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" fill=\"#333\">{}</text>",
                    left + 3,
                    top + 14,
                    look.first,
                    left + 3,
                    top + 27,
                    look.second
                );
            }
            out.push('\n');
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
