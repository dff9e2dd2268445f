//! Packing helpers: transposition in registers, and the interleaving of 16-bit pairs.

use std::fmt::Write as _;

use super::DotError;
use crate::dot::Definition;

/// A function that transposes a tile: `to[c][r] = from[r][c]`, for elements of 4 or 8 bytes of any type.
///
/// Its type is `void (ptr from, i64 from_row_stride, ptr to)`; strides count elements. Square blocks of one vector per
/// row go through registers, so a column-major operand costs a few shuffles, not gathers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transpose {
    /// Rows of the source, a power of two.
    pub rows: u32,
    /// Columns of the source, a power of two.
    pub columns: u32,
    /// The bytes of an element: 4 or 8.
    pub element_bytes: u32,
    /// Elements from one row of the destination to the next.
    pub to_row_stride: u32,
    /// The bytes of one vector register.
    pub vector_bytes: u32,
}

impl Transpose {
    /// The symbol, without `@`.
    pub fn symbol(&self) -> String {
        let Transpose { rows, columns, element_bytes, to_row_stride, .. } = self;
        format!("dn.transpose.{element_bytes}.{rows}x{columns}.{to_row_stride}")
    }

    /// The text of the function.
    ///
    /// # Errors
    /// Sizes that are not powers of two, other element sizes, overlapping rows.
    pub fn definition(&self) -> Result<Definition, DotError> {
        let Transpose { rows, columns, element_bytes, to_row_stride, vector_bytes } = *self;
        if !rows.is_power_of_two() || !columns.is_power_of_two() || to_row_stride < rows {
            return Err(DotError {
                what: format!(
                    "a transposition of {rows}x{columns} to rows of {to_row_stride} cannot be written"
                ),
            });
        }
        if !matches!(element_bytes, 4 | 8) || !matches!(vector_bytes, 16 | 32 | 64) {
            return Err(DotError {
                what: format!(
                    "elements of {element_bytes} bytes are not transposed in vectors of {vector_bytes}"
                ),
            });
        }
        let lanes = (vector_bytes / element_bytes).min(rows).min(columns);
        Ok(Definition { symbol: self.symbol(), text: self.text(lanes) })
    }

    fn text(&self, lanes: u32) -> String {
        let Transpose { rows, columns, element_bytes, to_row_stride, .. } = *self;
        let element = if element_bytes == 4 { "i32" } else { "i64" };
        let vector = if lanes == 1 { element.to_owned() } else { format!("<{lanes} x {element}>") };
        let symbol = self.symbol();
        let mut text = format!(
            "define internal void @{symbol}(ptr noalias %from, i64 %stride, ptr noalias %to) noinline nounwind {{
entry:
  br label %rows
rows:
  %row = phi i64 [ 0, %entry ], [ %row.next, %rows.end ]
  %row.offset = mul i64 %row, %stride
  %from.row = getelementptr inbounds {element}, ptr %from, i64 %row.offset
  %to.row = getelementptr inbounds {element}, ptr %to, i64 %row
  br label %columns
columns:
  %column = phi i64 [ 0, %rows ], [ %column.next, %columns ]
  %p.0 = getelementptr inbounds {element}, ptr %from.row, i64 %column
  %to.offset = mul nuw nsw i64 %column, {to_row_stride}
  %to.block = getelementptr inbounds {element}, ptr %to.row, i64 %to.offset
"
        );
        for row in 0..lanes {
            if row > 0 {
                let before = row - 1;
                let _ = writeln!(
                    text,
                    "  %p.{row} = getelementptr inbounds {element}, ptr %p.{before}, i64 %stride"
                );
            }
            let _ = writeln!(text, "  %x.{row} = load {vector}, ptr %p.{row}, align {element_bytes}");
        }
        let mut network = Network { text, vector, lanes, next: 0 };
        let loaded = (0..lanes).map(|row| format!("%x.{row}")).collect();
        let turned = network.transpose(loaded, 16 / element_bytes);
        let Network { mut text, vector, .. } = network;
        for (column, value) in turned.iter().enumerate() {
            let offset = column as u64 * u64::from(to_row_stride);
            let _ = write!(
                text,
                "  %q.{column} = getelementptr inbounds {element}, ptr %to.block, i64 {offset}
  store {vector} {value}, ptr %q.{column}, align {element_bytes}
"
            );
        }
        let _ = write!(
            text,
            "  %column.next = add nuw nsw i64 %column, {lanes}
  %columns.done = icmp eq i64 %column.next, {columns}
  br i1 %columns.done, label %rows.end, label %columns
rows.end:
  %row.next = add nuw nsw i64 %row, {lanes}
  %rows.done = icmp eq i64 %row.next, {rows}
  br i1 %rows.done, label %exit, label %rows
exit:
  ret void
}}
"
        );
        text
    }
}

/// Writes the shuffles that transpose a square of `lanes` vectors.
struct Network {
    text: String,
    vector: String,
    lanes: u32,
    next: u32,
}

impl Network {
    /// One two-operand shuffle; `pick` gives, for a chunk, the source elements of its positions.
    fn shuffle(&mut self, a: &str, b: &str, mask: &[u32]) -> String {
        let name = format!("%s.{}", self.next);
        self.next += 1;
        let mask: Vec<String> = mask.iter().map(|index| format!("i32 {index}")).collect();
        let (vector, lanes) = (&self.vector, self.lanes);
        let _ = writeln!(
            self.text,
            "  {name} = shufflevector {vector} {a}, {vector} {b}, <{lanes} x i32> <{}>",
            mask.join(", ")
        );
        name
    }

    /// The low (`half` 0) or high (1) halves of every chunk of `chunk` elements, interleaved in units of `unit`.
    fn unpack(&mut self, a: &str, b: &str, (chunk, unit, half): (u32, u32, u32)) -> String {
        let mut mask = Vec::new();
        for start in (0..self.lanes).step_by(chunk as usize) {
            let from = start + half * chunk / 2;
            for piece in (from..from + chunk / 2).step_by(unit as usize) {
                mask.extend(piece..piece + unit);
                mask.extend(piece + self.lanes..piece + self.lanes + unit);
            }
        }
        self.shuffle(a, b, &mask)
    }

    /// Every second chunk of `a`, then of `b`, starting with chunk `odd`.
    fn every_second(&mut self, a: &str, b: &str, chunk: u32, odd: u32) -> String {
        let mut mask = Vec::new();
        for base in [0, self.lanes] {
            for start in (odd * chunk..self.lanes).step_by(2 * chunk as usize) {
                mask.extend(base + start..base + start + chunk);
            }
        }
        self.shuffle(a, b, &mask)
    }

    /// The columns of the square whose rows are given. `chunk` elements make 16 bytes: within such chunks
    /// transposing is unpacking, across them it is a transposition of chunks.
    fn transpose(&mut self, rows: Vec<String>, chunk: u32) -> Vec<String> {
        if self.lanes == 1 {
            return rows;
        }
        let chunk = chunk.min(self.lanes);
        let groups: Vec<Vec<String>> =
            rows.chunks(chunk as usize).map(|group| self.within_chunks(group, chunk)).collect();
        let mut columns = vec![String::new(); self.lanes as usize];
        for position in 0..chunk as usize {
            let parts: Vec<&str> = groups.iter().map(|group| group[position].as_str()).collect();
            for (index, column) in self.across_chunks(&parts, chunk).into_iter().enumerate() {
                columns[index * chunk as usize + position] = column;
            }
        }
        columns
    }

    fn within_chunks(&mut self, rows: &[String], chunk: u32) -> Vec<String> {
        if chunk == 2 {
            return (0..2).map(|half| self.unpack(&rows[0], &rows[1], (2, 1, half))).collect();
        }
        let mut columns = Vec::new();
        for side in 0..2 {
            let left = self.unpack(&rows[0], &rows[1], (4, 1, side));
            let right = self.unpack(&rows[2], &rows[3], (4, 1, side));
            columns.extend((0..2).map(|half| self.unpack(&left, &right, (4, 2, half))));
        }
        columns
    }

    fn across_chunks(&mut self, parts: &[&str], chunk: u32) -> Vec<String> {
        match parts {
            [one] => vec![(*one).to_owned()],
            [a, b] => (0..2).map(|odd| self.every_second(a, b, chunk, odd)).collect(),
            _ => {
                let middle = parts.len() / 2;
                let [even, odd] = [0, 1].map(|odd| {
                    let left = self.every_second(parts[0], parts[1], chunk, odd);
                    let right = self.every_second(parts[middle], parts[middle + 1], chunk, odd);
                    [0, 1].map(|odd| self.every_second(&left, &right, chunk, odd))
                });
                vec![even[0].clone(), odd[0].clone(), even[1].clone(), odd[1].clone()]
            }
        }
    }
}

/// A function that interleaves neighbouring rows of 16-bit elements, as [`super::Operands::I16Pairs`] wants `B`:
/// `to[r][c] = (from[2 r][c], from[2 r + 1][c])`. Its type is `void (ptr from, i64 from_row_stride, ptr to)`; the
/// source stride counts 16-bit elements, the destination's counts pairs.
///
/// # Errors
/// Sizes that are not powers of two, fewer than two rows, overlapping rows.
pub fn interleave_pairs(
    rows: u32,
    columns: u32,
    to_row_stride: u32,
    vector_bytes: u32,
) -> Result<Definition, DotError> {
    if !rows.is_power_of_two() || rows < 2 || !columns.is_power_of_two() || to_row_stride < columns {
        return Err(DotError {
            what: format!("{rows} rows of {columns} cannot be interleaved to rows of {to_row_stride} pairs"),
        });
    }
    let lanes = (vector_bytes.max(4) / 4).min(columns);
    let symbol = format!("dn.interleave.{rows}x{columns}.{to_row_stride}");
    let mask: Vec<String> = (0..lanes).map(|lane| format!("i32 {lane}, i32 {}", lane + lanes)).collect();
    let mask = mask.join(", ");
    let (pairs, half_rows) = (2 * lanes, rows / 2);
    let text = format!(
        "define internal void @{symbol}(ptr noalias %from, i64 %stride, ptr noalias %to) noinline nounwind {{
entry:
  br label %rows
rows:
  %row = phi i64 [ 0, %entry ], [ %row.next, %rows.end ]
  %row.twice = mul nuw nsw i64 %row, 2
  %row.offset = mul i64 %row.twice, %stride
  %even.row = getelementptr inbounds i16, ptr %from, i64 %row.offset
  %odd.row = getelementptr inbounds i16, ptr %even.row, i64 %stride
  %to.offset = mul nuw nsw i64 %row, {to_row_stride}
  %to.row = getelementptr inbounds i32, ptr %to, i64 %to.offset
  br label %columns
columns:
  %column = phi i64 [ 0, %rows ], [ %column.next, %columns ]
  %even.p = getelementptr inbounds i16, ptr %even.row, i64 %column
  %odd.p = getelementptr inbounds i16, ptr %odd.row, i64 %column
  %even = load <{lanes} x i16>, ptr %even.p, align 2
  %odd = load <{lanes} x i16>, ptr %odd.p, align 2
  %pairs = shufflevector <{lanes} x i16> %even, <{lanes} x i16> %odd, <{pairs} x i32> <{mask}>
  %to.p = getelementptr inbounds i32, ptr %to.row, i64 %column
  store <{pairs} x i16> %pairs, ptr %to.p, align 4
  %column.next = add nuw nsw i64 %column, {lanes}
  %columns.done = icmp eq i64 %column.next, {columns}
  br i1 %columns.done, label %rows.end, label %columns
rows.end:
  %row.next = add nuw nsw i64 %row, 1
  %rows.done = icmp eq i64 %row.next, {half_rows}
  br i1 %rows.done, label %exit, label %rows
exit:
  ret void
}}
"
    );
    Ok(Definition { symbol, text })
}

/// A function that interleaves neighbouring rows of 16-bit elements in place, in each of some panels: what was
/// `[row][column]` becomes `[row / 2][column][row % 2]`. Its type is `void (ptr at)`; the stride from panel to panel
/// counts pairs.
///
/// # Errors
/// Sizes that are not powers of two, fewer than two rows, overlapping panels.
pub fn interleave_panels(rows: u32, width: u32, panels: u32, stride: u32) -> Result<Definition, DotError> {
    let pairs = rows / 2;
    let is_legal = rows.is_power_of_two() && rows >= 2 && width.is_power_of_two() && panels > 0;
    if !is_legal || stride / width < pairs {
        return Err(DotError {
            what: format!("{panels} panels of {rows} rows of {width}, {stride} apart, cannot be interleaved"),
        });
    }
    let symbol = format!("dn.interleave.panels.{rows}x{width}.{panels}.{stride}");
    let mask: Vec<String> = (0..width).map(|lane| format!("i32 {lane}, i32 {}", lane + width)).collect();
    let (mask, both) = (mask.join(", "), 2 * width);
    let body = format!(
        "  %odd.p = getelementptr inbounds i16, ptr %row.p, i64 {width}
  %even = load <{width} x i16>, ptr %row.p, align 2
  %odd = load <{width} x i16>, ptr %odd.p, align 2
  %pairs = shufflevector <{width} x i16> %even, <{width} x i16> %odd, <{both} x i32> <{mask}>
  store <{both} x i16> %pairs, ptr %row.p, align 4
"
    );
    let text = over_panels(&symbol, (panels, stride), (pairs, width), &body);
    Ok(Definition { symbol, text })
}

/// A function over panels, `stride` words apart, of rows of so many words. `body` stands for each row, at `%row.p`.
pub(super) fn over_panels(
    symbol: &str,
    (panels, stride): (u32, u32),
    (rows, width): (u32, u32),
    body: &str,
) -> String {
    format!(
        "define internal void @{symbol}(ptr %at) noinline nounwind {{
entry:
  br label %panels
panels:
  %panel = phi i64 [ 0, %entry ], [ %panel.next, %panels.end ]
  %panel.offset = mul nuw nsw i64 %panel, {stride}
  %panel.p = getelementptr inbounds i32, ptr %at, i64 %panel.offset
  br label %rows
rows:
  %row = phi i64 [ 0, %panels ], [ %row.next, %rows ]
  %row.offset = mul nuw nsw i64 %row, {width}
  %row.p = getelementptr inbounds i32, ptr %panel.p, i64 %row.offset
{body}  %row.next = add nuw nsw i64 %row, 1
  %rows.done = icmp eq i64 %row.next, {rows}
  br i1 %rows.done, label %panels.end, label %rows
panels.end:
  %panel.next = add nuw nsw i64 %panel, 1
  %panels.done = icmp eq i64 %panel.next, {panels}
  br i1 %panels.done, label %exit, label %panels
exit:
  ret void
}}
"
    )
}
