//! The kernel for one column: every row of `A` times the vector `B`, with vectors along `k`.

use std::fmt::Write as _;

use super::kernel::{Blocks, spread};
use super::{DotSpec, Operands};
use crate::dot::Definition;

/// Rows at once, and elements of one vector along `k`; the latter is at least 2 and divides `k`.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) rows: u32,
    pub(super) lanes: u32,
}

struct Writer<'a> {
    text: String,
    spec: &'a DotSpec,
    lanes: u32,
    element: &'static str,
    vector: String,
    suffix: String,
}

/// The kernel and its declarations.
pub(super) fn definitions(symbol: &str, spec: &DotSpec, tile: Tile) -> Vec<Definition> {
    let element = spec.operands.accumulator();
    let lanes = tile.lanes;
    let suffix = match spec.operands {
        Operands::F32 | Operands::Bf16Pairs | Operands::F16Pairs => "f32",
        Operands::F64 => "f64",
        Operands::I32 | Operands::I16Pairs | Operands::I8Quads => "i32",
    };
    let mut writer = Writer {
        text: String::new(),
        spec,
        lanes,
        element,
        vector: format!("<{lanes} x {element}>"),
        suffix: format!("v{lanes}{suffix}"),
    };
    writer.kernel(symbol, tile.rows);
    let declarations = writer.declarations();
    let mut all = vec![Definition { symbol: symbol.to_owned(), text: writer.text }];
    all.extend(declarations);
    all
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    fn declarations(&self) -> Vec<Definition> {
        let Writer { element, vector, suffix, .. } = self;
        let mut all = Vec::new();
        let mut declare = |symbol: String, parameters: String, result: &str| {
            let text = format!("declare {result} @{symbol}({parameters})\n");
            all.push(Definition { symbol, text });
        };
        if self.spec.operands.is_float() {
            declare(format!("llvm.vector.reduce.fadd.{suffix}"), format!("{element}, {vector}"), element);
            if self.spec.machine.has_fma {
                declare(format!("llvm.fma.{suffix}"), format!("{vector}, {vector}, {vector}"), vector);
            }
        } else {
            declare(format!("llvm.vector.reduce.add.{suffix}"), vector.clone(), element);
        }
        all
    }

    fn kernel(&mut self, symbol: &str, rows: u32) {
        self.line(&format!(
            "define internal void @{symbol}(ptr noalias %a, ptr noalias %b, ptr noalias %c) {} {{",
            self.spec.machine.attributes()
        ));
        self.line("entry:\n  br label %rows0");
        let blocks = spread(self.spec.used[0], rows);
        for (index, &block) in blocks.iter().enumerate() {
            let from = if index == 0 { "entry".to_owned() } else { format!("rows{}.done", index - 1) };
            let to = if index + 1 == blocks.len() { "exit".to_owned() } else { format!("rows{}", index + 1) };
            self.row_blocks(&format!("rows{index}"), block, &from, &to);
        }
        self.line("exit:\n  ret void\n}");
    }

    /// The loop over row blocks of one height, entered from `from`, left to `to`.
    fn row_blocks(&mut self, p: &str, blocks: Blocks, from: &str, to: &str) {
        let Blocks { first, rows, count } = blocks;
        let (element, vector) = (self.element, self.vector.clone());
        let DotSpec { a_row_stride, c_row_stride, k, .. } = *self.spec;
        let align = self.spec.operands.bytes();
        self.line(&format!(
            "{p}:
  %{p}.i = phi i64 [ 0, %{from} ], [ %{p}.next, %{p}.done ]
  %{p}.offset = mul nuw nsw i64 %{p}.i, {rows}
  %{p}.row = add nuw nsw i64 %{p}.offset, {first}
  %{p}.a.offset = mul nuw nsw i64 %{p}.row, {a_row_stride}
  %{p}.a = getelementptr inbounds {element}, ptr %a, i64 %{p}.a.offset
  %{p}.c.offset = mul nuw nsw i64 %{p}.row, {c_row_stride}
  %{p}.c = getelementptr inbounds {element}, ptr %c, i64 %{p}.c.offset
  br label %{p}.k
{p}.k:
  %{p}.k.i = phi i64 [ 0, %{p} ], [ %{p}.k.next, %{p}.k ]"
        ));
        for row in 0..rows {
            self.line(&format!(
                "  %{p}.acc.{row} = phi {vector} [ zeroinitializer, %{p} ], [ %{p}.sum.{row}, %{p}.k ]"
            ));
        }
        self.line(&format!(
            "  %{p}.b.p = getelementptr inbounds {element}, ptr %b, i64 %{p}.k.i
  %{p}.b = load {vector}, ptr %{p}.b.p, align {align}
  %{p}.k.a = getelementptr inbounds {element}, ptr %{p}.a, i64 %{p}.k.i"
        ));
        for row in 0..rows {
            let offset = u64::from(row) * u64::from(a_row_stride);
            self.line(&format!(
                "  %{p}.a.{row}.p = getelementptr inbounds {element}, ptr %{p}.k.a, i64 {offset}
  %{p}.a.{row} = load {vector}, ptr %{p}.a.{row}.p, align {align}"
            ));
            self.multiply_add(p, row);
        }
        let lanes = self.lanes;
        self.line(&format!(
            "  %{p}.k.next = add nuw nsw i64 %{p}.k.i, {lanes}
  %{p}.k.last = icmp eq i64 %{p}.k.next, {k}
  br i1 %{p}.k.last, label %{p}.done, label %{p}.k
{p}.done:"
        ));
        for row in 0..rows {
            self.finish(p, row);
        }
        self.line(&format!(
            "  %{p}.next = add nuw nsw i64 %{p}.i, 1
  %{p}.last = icmp eq i64 %{p}.next, {count}
  br i1 %{p}.last, label %{to}, label %{p}"
        ));
    }

    fn multiply_add(&mut self, p: &str, row: u32) {
        let (v, suffix) = (&self.vector, &self.suffix);
        let (a, b) = (format!("%{p}.a.{row}"), format!("%{p}.b"));
        let (acc, sum) = (format!("%{p}.acc.{row}"), format!("%{p}.sum.{row}"));
        let text = match (self.spec.operands.is_float(), self.spec.machine.has_fma) {
            (true, true) => format!("  {sum} = call {v} @llvm.fma.{suffix}({v} {a}, {v} {b}, {v} {acc})"),
            (true, false) => format!("  {sum}.x = fmul {v} {a}, {b}\n  {sum} = fadd {v} {sum}.x, {acc}"),
            (false, _) => format!("  {sum}.x = mul {v} {a}, {b}\n  {sum} = add {v} {sum}.x, {acc}"),
        };
        self.line(&text);
    }

    /// Adds the lanes of one row and its element of `C`.
    fn finish(&mut self, p: &str, row: u32) {
        let (element, vector, suffix) = (self.element, self.vector.clone(), self.suffix.clone());
        let offset = u64::from(row) * u64::from(self.spec.c_row_stride);
        let align = self.spec.operands.bytes();
        self.line(&format!(
            "  %{p}.c.{row}.p = getelementptr inbounds {element}, ptr %{p}.c, i64 {offset}
  %{p}.c.{row} = load {element}, ptr %{p}.c.{row}.p, align {align}"
        ));
        let sum = format!("%{p}.sum.{row}");
        if self.spec.operands.is_float() {
            self.line(&format!(
                "  %{p}.new.{row} = call reassoc {element} @llvm.vector.reduce.fadd.{suffix}({element} %{p}.c.{row}, {vector} {sum})"
            ));
        } else {
            self.line(&format!(
                "  %{p}.total.{row} = call {element} @llvm.vector.reduce.add.{suffix}({vector} {sum})
  %{p}.new.{row} = add {element} %{p}.total.{row}, %{p}.c.{row}"
            ));
        }
        self.line(&format!("  store {element} %{p}.new.{row}, ptr %{p}.c.{row}.p, align {align}"));
    }
}
