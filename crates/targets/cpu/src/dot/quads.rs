//! The interleaving of four rows of bytes, as [`super::Operands::I8Quads`] wants `B`.

use super::DotError;
use super::transpose::over_panels;
use crate::dot::Definition;

/// The lanes that are interleaved at once: what becomes one vector of 64 bytes.
const LANES: u32 = 16;

/// A function that interleaves four neighbouring rows of bytes: `to[r][c] = (from[4 r][c], …, from[4 r + 3][c])`. Its
/// type is `void (ptr from, i64 from_row_stride, ptr to)`; the source stride counts bytes, the destination's counts
/// such fours.
///
/// # Errors
/// Sizes that are not powers of two, fewer than four rows, overlapping rows.
pub fn interleave_quads(rows: u32, columns: u32, to_row_stride: u32) -> Result<Definition, DotError> {
    check(rows, columns)?;
    if to_row_stride < columns {
        return Err(DotError { what: format!("rows of {columns} fours overlap {to_row_stride} apart") });
    }
    let symbol = format!("dn.interleave.quads.{rows}x{columns}.{to_row_stride}");
    let lanes = LANES.min(columns);
    let text = format!(
        "define internal void @{symbol}(ptr noalias %from, i64 %stride, ptr noalias %to) noinline nounwind {{
entry:
  br label %rows
rows:
  %row = phi i64 [ 0, %entry ], [ %row.next, %rows.end ]
  %row.first = mul nuw nsw i64 %row, 4
  %row.offset = mul i64 %row.first, %stride
  %row.0 = getelementptr inbounds i8, ptr %from, i64 %row.offset
  %row.1 = getelementptr inbounds i8, ptr %row.0, i64 %stride
  %row.2 = getelementptr inbounds i8, ptr %row.1, i64 %stride
  %row.3 = getelementptr inbounds i8, ptr %row.2, i64 %stride
  %to.offset = mul nuw nsw i64 %row, {to_row_stride}
  %to.row = getelementptr inbounds i32, ptr %to, i64 %to.offset
  br label %columns
columns:
  %column = phi i64 [ 0, %rows ], [ %column.next, %columns ]
{}  %to.p = getelementptr inbounds i32, ptr %to.row, i64 %column
{}  %column.next = add nuw nsw i64 %column, {lanes}
  %columns.done = icmp eq i64 %column.next, {columns}
  br i1 %columns.done, label %rows.end, label %columns
rows.end:
  %row.next = add nuw nsw i64 %row, 1
  %rows.done = icmp eq i64 %row.next, {}
  br i1 %rows.done, label %exit, label %rows
exit:
  ret void
}}
",
        loads("", lanes, |row| format!("ptr %row.{row}, i64 %column")),
        four_as_one("", lanes, "%to.p"),
        rows / 4
    );
    Ok(Definition { symbol, text })
}

/// A function that interleaves four rows of bytes at a time in place, in each of some panels: what was `[row][column]`
/// becomes `[row / 4][column][row % 4]`. Its type is `void (ptr at)`; the stride from panel to panel counts fours.
///
/// # Errors
/// Sizes that are not powers of two, fewer than four rows, overlapping panels, panels wider than two vectors.
pub(super) fn interleave_quad_panels(
    rows: u32,
    width: u32,
    panels: u32,
    stride: u32,
) -> Result<Definition, DotError> {
    check(rows, width)?;
    let (lanes, quads) = (LANES.min(width), rows / 4);
    if panels == 0 || stride / width < quads || width > 2 * LANES {
        let what =
            format!("{panels} panels of {rows} rows of {width}, {stride} apart, cannot be interleaved");
        return Err(DotError { what });
    }
    let symbol = format!("dn.interleave.quads.panels.{rows}x{width}.{panels}.{stride}");
    // All of the four rows is read before any of it is written.
    let parts: Vec<(String, u32)> =
        (0..width / lanes).map(|part| (format!("p{part}."), part * lanes)).collect();
    let read: String = parts
        .iter()
        .map(|(name, first)| {
            let place = |row: u32| format!("ptr %row.p, i64 {}", row * width + first);
            loads(name, lanes, place)
        })
        .collect();
    let written: String = parts
        .iter()
        .map(|(name, first)| {
            format!(
                "  %{name}to = getelementptr inbounds i32, ptr %row.p, i64 {first}\n{}",
                four_as_one(name, lanes, &format!("%{name}to"))
            )
        })
        .collect();
    let text = over_panels(&symbol, (panels, stride), (quads, width), &[read, written].concat());
    Ok(Definition { symbol, text })
}

fn check(rows: u32, columns: u32) -> Result<(), DotError> {
    if rows.is_power_of_two() && rows >= 4 && columns.is_power_of_two() {
        return Ok(());
    }
    Err(DotError { what: format!("{rows} rows of {columns} bytes cannot be interleaved by fours") })
}

/// Loads a vector of each of the four rows, `%<name>r<row>`.
fn loads(name: &str, lanes: u32, place: impl Fn(u32) -> String) -> String {
    let load = |row: u32| {
        format!(
            "  %{name}r{row}.p = getelementptr inbounds i8, {}
  %{name}r{row} = load <{lanes} x i8>, ptr %{name}r{row}.p, align 1
",
            place(row)
        )
    };
    (0..4).map(load).collect()
}

/// Interleaves four vectors, first two and two, and stores them.
fn four_as_one(name: &str, lanes: u32, to: &str) -> String {
    let mask: Vec<String> = (0..lanes).map(|lane| format!("i32 {lane}, i32 {}", lane + lanes)).collect();
    let (mask, both) = (mask.join(", "), 2 * lanes);
    let two = |half: u32, first: u32| {
        let second = first + 1;
        format!(
            "  %{name}x{half} = shufflevector <{lanes} x i8> %{name}r{first}, <{lanes} x i8> %{name}r{second}, <{both} x i32> <{mask}>
  %{name}y{half} = bitcast <{both} x i8> %{name}x{half} to <{lanes} x i16>
"
        )
    };
    format!(
        "{}{}  %{name}z = shufflevector <{lanes} x i16> %{name}y0, <{lanes} x i16> %{name}y1, <{both} x i32> <{mask}>
  store <{both} x i16> %{name}z, ptr {to}, align 4
",
        two(0, 0),
        two(1, 2)
    )
}
