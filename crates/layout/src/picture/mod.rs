//! Pictures of layouts: who holds each element, and which elements each lane or bank holds; as text and as SVG.
//!
//! A block is drawn as matrices: the last two dimensions are rows and columns, each position of the dimensions in front
//! of them is a matrix of its own. Copies are counted, and only the first holder is named.

mod shared;
mod svg;

pub use shared::{Memory, banks_text, shared_svg, shared_text};
pub use svg::svg;

use crate::dims::Dim;
use crate::linear::LinearLayout;

/// Who holds an element, and how many others hold a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// The block of the cluster.
    pub block: u32,
    /// The warp.
    pub warp: u32,
    /// The lane in its warp.
    pub lane: u32,
    /// The register in its lane.
    pub register: u32,
    /// The offset, for a layout of memory.
    pub offset: u32,
    /// How many more places hold the element.
    pub copies: u32,
}

/// A matrix of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matrix {
    /// The position in the dimensions in front of rows and columns.
    pub leading: Vec<u32>,
    /// The holder of each element, row by row; `None` where nobody holds it.
    pub rows: Vec<Vec<Option<Cell>>>,
}

/// The matrices of a block; a vector is a matrix of one row.
pub fn matrices(layout: &LinearLayout) -> Vec<Matrix> {
    let outs: Vec<(Dim, u32)> = layout.outs().iter().collect();
    let split = outs.len().saturating_sub(2);
    let (leading, matrix) = outs.split_at(split);
    let (rows, columns) = match matrix {
        [rows, columns] => (1usize << rows.1, 1usize << columns.1),
        [columns] => (1, 1 << columns.1),
        _ => (1, 1),
    };
    let empty = || vec![vec![None; columns]; rows];
    let mut found: Vec<Matrix> =
        positions(leading).into_iter().map(|leading| Matrix { leading, rows: empty() }).collect();
    for word in 0..1u64 << layout.ins().total_bits() {
        let place: Vec<u32> =
            layout.outs().unpack(layout.apply_word(word)).iter().map(|part| part.1).collect();
        let number = leading.iter().zip(&place).fold(0, |number, (dim, at)| number << dim.1 | *at as usize);
        let column = place.last().copied().unwrap_or(0) as usize;
        let row = if matrix.len() == 2 { place[split] as usize } else { 0 };
        match &mut found[number].rows[row][column] {
            Some(cell) => cell.copies += 1,
            cell => *cell = Some(holder(layout, word)),
        }
    }
    found
}

/// All positions in dimensions, the last one fastest.
fn positions(dims: &[(Dim, u32)]) -> Vec<Vec<u32>> {
    dims.iter().fold(vec![Vec::new()], |all, dim| {
        let with = |before: &Vec<u32>| {
            let before = before.clone();
            (0..1u32 << dim.1).map(move |at| [before.as_slice(), &[at]].concat())
        };
        all.iter().flat_map(with).collect()
    })
}

fn holder(layout: &LinearLayout, word: u64) -> Cell {
    let position = layout.ins().unpack(word);
    let at = |dim: Dim| position.iter().find(|part| part.0 == dim).map_or(0, |part| part.1);
    Cell {
        block: at(Dim::BLOCK),
        warp: at(Dim::WARP),
        lane: at(Dim::LANE),
        register: at(Dim::REGISTER),
        offset: at(Dim::OFFSET),
        copies: 0,
    }
}

/// A table of `lane:register` for each element, `w` in front where there are several warps, `b` where there are several
/// blocks, `*` behind where there are copies.
pub fn text(layout: &LinearLayout) -> String {
    let (blocks, warps) = (layout.ins().bits(Dim::BLOCK) > 0, layout.ins().bits(Dim::WARP) > 0);
    let word = |cell: &Cell| {
        let block = if blocks { format!("b{} ", cell.block) } else { String::new() };
        let warp = if warps { format!("w{} ", cell.warp) } else { String::new() };
        let copies = if cell.copies > 0 { "*" } else { "" };
        format!("{block}{warp}{}:{}{copies}", cell.lane, cell.register)
    };
    matrices(layout).iter().map(|matrix| table(matrix, &word)).collect()
}

/// A matrix with its position above and its cells in columns of one width.
fn table(matrix: &Matrix, word: &dyn Fn(&Cell) -> String) -> String {
    let words: Vec<Vec<String>> = matrix
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.as_ref().map_or("-".into(), word)).collect())
        .collect();
    title(&matrix.leading) + &aligned(&words)
}

/// The line above a matrix of a block with more than two dimensions.
fn title(leading: &[u32]) -> String {
    if leading.is_empty() {
        return String::new();
    }
    let parts: Vec<String> =
        leading.iter().enumerate().map(|(dim, at)| format!("{} = {at}", Dim::block(dim).name())).collect();
    parts.join(", ") + "\n"
}

fn aligned(words: &[Vec<String>]) -> String {
    let width = words.iter().flatten().map(String::len).max().unwrap_or(0);
    let line = |row: &Vec<String>| {
        let line: Vec<String> = row.iter().map(|word| format!("{word:>width$}")).collect();
        line.join(" ").trim_end().to_owned() + "\n"
    };
    words.iter().map(line).collect()
}

/// The other direction: a line for each lane of each warp, a column for each register, with the position of the element
/// that it holds.
pub fn lanes_text(layout: &LinearLayout) -> String {
    let ins = layout.ins();
    let mut lines = vec![heading(1 << ins.bits(Dim::REGISTER))];
    for block in 0..1 << ins.bits(Dim::BLOCK) {
        for warp in 0..1 << ins.bits(Dim::WARP) {
            for lane in 0..1 << ins.bits(Dim::LANE) {
                let mut line = Vec::new();
                let several = if ins.bits(Dim::BLOCK) > 0 { format!("b{block} ") } else { String::new() };
                line.push(format!("{several}w{warp} l{lane}"));
                for register in 0..1 << ins.bits(Dim::REGISTER) {
                    let at = [
                        (Dim::BLOCK, block),
                        (Dim::WARP, warp),
                        (Dim::LANE, lane),
                        (Dim::REGISTER, register),
                    ];
                    line.push(position(layout, &at));
                }
                lines.push(line);
            }
        }
    }
    aligned(&lines)
}

fn heading(registers: u32) -> Vec<String> {
    std::iter::once(String::new()).chain((0..registers).map(|register| format!("r{register}"))).collect()
}

/// `(row,column)` of what a position of the machine holds.
fn position(layout: &LinearLayout, at: &[(Dim, u32)]) -> String {
    let place: Vec<String> = layout.apply(at).iter().map(|part| part.1.to_string()).collect();
    format!("({})", place.join(","))
}
