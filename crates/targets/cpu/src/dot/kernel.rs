//! The register-tiled kernel: loops over column panels, row blocks and `k`.

use std::fmt::Write as _;

use super::{DotSpec, Operands, Start};
use crate::dot::Definition;

/// The register tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tile {
    pub(super) rows: u32,
    pub(super) vectors: u32,
    pub(super) lanes: u32,
}

/// `count` row blocks of `rows` rows each, starting at row `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) first: u32,
    pub(super) rows: u32,
    pub(super) count: u32,
}

/// Spreads `m` rows over the fewest blocks of at most `most` rows, as evenly as possible.
pub(super) fn spread(m: u32, most: u32) -> Vec<Blocks> {
    let blocks = m.div_ceil(most);
    let small = m / blocks;
    let large_count = m % blocks;
    let mut spread = Vec::new();
    if large_count > 0 {
        spread.push(Blocks { first: 0, rows: small + 1, count: large_count });
    }
    spread.push(Blocks { first: large_count * (small + 1), rows: small, count: blocks - large_count });
    spread
}

/// How `B` lies in memory, and how far `k` goes.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Elements from one column panel of `B` to the next.
    pub(super) panel_stride: u32,
    /// How many steps of `k` one iteration of the inner loop does.
    pub(super) steps: u32,
    /// `k` is an argument, a multiple of `steps`, as are panels for long stretches of it; else it is that of the
    /// specification. What comes next is then asked for in time.
    pub(super) k_is_given: bool,
    /// How many rows and columns are multiplied are arguments, from one to what is used.
    pub(super) is_part: bool,
    /// What sums begin with.
    pub(super) start: Start,
}

/// How many steps of `k` one iteration of the inner loop does over a tile.
const STEPS: u32 = 2;

/// The same of fours of bytes: the sums of rows, which the kernel takes first, are made so many at a time.
const QUAD_STEPS: u32 = 4;

/// The least steps of `k` that a kernel for fours of bytes is made for.
pub(super) const QUAD_DEPTH: u32 = 4 * QUAD_STEPS;

/// The highest bits of the bytes of a number of 32 bits.
const SIGNS: u32 = 0x8080_8080;

impl Form {
    /// A tile: column panels are neighbours, `k` is known.
    pub(super) fn tile(spec: &DotSpec, tile: Tile, start: Start) -> Form {
        let groups = spec.k / spec.operands.group();
        let panel_stride = tile.vectors * tile.lanes;
        let steps = if spec.operands == Operands::I8Quads { QUAD_STEPS } else { STEPS };
        Form { panel_stride, steps: steps.min(groups), k_is_given: false, is_part: false, start }
    }
}

struct Writer<'a> {
    text: String,
    spec: &'a DotSpec,
    tile: Tile,
    form: Form,
    vector: String,
}

/// The kernel and its declarations.
pub(super) fn definitions(symbol: &str, spec: &DotSpec, tile: Tile, form: Form) -> Vec<Definition> {
    let element = spec.operands.accumulator();
    let vector = if tile.lanes == 1 { element.to_owned() } else { format!("<{} x {element}>", tile.lanes) };
    let mut writer = Writer { text: String::new(), spec, tile, form, vector };
    writer.kernel(symbol);
    let mut all = vec![Definition { symbol: symbol.to_owned(), text: writer.text }];
    all.extend(multiply_declaration(spec, tile.lanes));
    if spec.operands == Operands::I8Quads {
        all.push(sum_declaration());
        all.extend((tile.lanes != QUAD_STEPS).then(|| quad_declaration(QUAD_STEPS)));
    }
    if form.k_is_given {
        let text = format!("declare void @{PREFETCH}(ptr, i32, i32, i32)\n");
        all.push(Definition { symbol: PREFETCH.to_owned(), text });
    }
    all
}

/// The intrinsic that asks for a cache line.
pub(super) const PREFETCH: &str = "llvm.prefetch.p0";

/// The intrinsic that multiplies, if one is needed.
fn multiply_declaration(spec: &DotSpec, lanes: u32) -> Option<Definition> {
    let (symbol, text) = match spec.operands {
        Operands::F32 | Operands::F64 if spec.machine.has_fma => {
            let ty = spec.operands.accumulator();
            let suffix = if spec.operands == Operands::F32 { "f32" } else { "f64" };
            let (vector, suffix) = if lanes == 1 {
                (ty.to_owned(), suffix.to_owned())
            } else {
                (format!("<{lanes} x {ty}>"), format!("v{lanes}{suffix}"))
            };
            let symbol = format!("llvm.fma.{suffix}");
            let text = format!("declare {vector} @{symbol}({vector}, {vector}, {vector})\n");
            (symbol, text)
        }
        Operands::I16Pairs => {
            let (symbol, lanes) = pair_intrinsic(lanes);
            let pairs = 2 * lanes;
            let text = format!("declare <{lanes} x i32> @{symbol}(<{pairs} x i16>, <{pairs} x i16>)\n");
            (symbol.to_owned(), text)
        }
        Operands::Bf16Pairs => {
            let (symbol, pairs) = (bf16_intrinsic(lanes), 2 * lanes);
            let [sum, operand] = [format!("<{lanes} x float>"), format!("<{pairs} x bfloat>")];
            let text = format!("declare {sum} @{symbol}({sum}, {operand}, {operand})\n");
            (symbol, text)
        }
        Operands::I8Quads => return Some(quad_declaration(lanes)),
        _ => return None,
    };
    Some(Definition { symbol, text })
}

/// The declaration of the instruction that adds fours of products of bytes, the first ones without a sign, to so many
/// numbers: 4, 8 or 16.
fn quad_declaration(lanes: u32) -> Definition {
    let (symbol, vector) = (quad_intrinsic(lanes), format!("<{lanes} x i32>"));
    let text = format!("declare {vector} @{symbol}({vector}, {vector}, {vector})\n");
    Definition { symbol, text }
}

fn quad_intrinsic(lanes: u32) -> String {
    format!("llvm.x86.avx512.vpdpbusd.{}", 32 * lanes)
}

/// So many numbers of nothing but the highest bits of their bytes.
fn signs(lanes: u32) -> String {
    let numbers = vec![format!("i32 {}", SIGNS.cast_signed()); lanes as usize];
    format!("<{}>", numbers.join(", "))
}

/// The declaration of the sum of a vector.
fn sum_declaration() -> Definition {
    let symbol = format!("llvm.vector.reduce.add.v{QUAD_STEPS}i32");
    let text = format!("declare i32 @{symbol}(<{QUAD_STEPS} x i32>)\n");
    Definition { symbol, text }
}

/// The instruction that adds pairs of 16-bit products, and its lanes: at least four.
fn pair_intrinsic(lanes: u32) -> (&'static str, u32) {
    match lanes {
        16 => ("llvm.x86.avx512.pmaddw.d.512", 16),
        8 => ("llvm.x86.avx2.pmadd.wd", 8),
        _ => ("llvm.x86.sse2.pmadd.wd", 4),
    }
}

/// The instruction that adds pairs of bf16 products to so many singles: 4, 8 or 16.
pub(super) fn bf16_intrinsic(lanes: u32) -> String {
    format!("llvm.x86.avx512bf16.dpbf16ps.{}", 32 * lanes)
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    fn element(&self) -> &'static str {
        self.spec.operands.accumulator()
    }

    /// A scalar zero of the accumulator's type.
    fn zero(&self) -> &'static str {
        if self.element() == "i32" { "0" } else { "0.0" }
    }

    fn kernel(&mut self, symbol: &str) {
        let panel = self.tile.vectors * self.tile.lanes;
        let [rows, columns, _] = self.spec.used;
        let panels = columns.div_ceil(panel);
        let blocks = spread(rows, self.tile.rows);
        let last = blocks.len() - 1;
        let k = if self.form.k_is_given { ", i64 %k" } else { "" };
        let zero = if self.form.start == Start::Given { ", i1 %zero" } else { "" };
        let part = if self.form.is_part { ", i64 %rows, i64 %columns" } else { "" };
        self.line(&format!(
            "define internal void @{symbol}(ptr noalias %a, ptr noalias %b, ptr noalias %c{k}{part}{zero}) {} {{",
            self.spec.machine.attributes()
        ));
        self.line("entry:");
        let mut end = panels.to_string();
        if self.form.is_part {
            let more = panel - 1;
            self.line(&format!("  %columns.up = add nuw nsw i64 %columns, {more}"));
            self.line(&format!("  %panels = udiv i64 %columns.up, {panel}"));
            end = "%panels".to_owned();
            blocks.iter().enumerate().for_each(|(index, &block)| self.count_blocks(index, block));
        }
        self.line("  br label %panel\npanel:");
        self.line(&format!("  %panel.i = phi i64 [ 0, %entry ], [ %panel.next, %rows{last}.end ]"));
        self.line(&format!("  %column = mul nuw nsw i64 %panel.i, {panel}"));
        let element = self.element();
        self.line(&format!("  %b.offset = mul nuw nsw i64 %panel.i, {}", self.form.panel_stride));
        self.line(&format!("  %b.panel = getelementptr inbounds {element}, ptr %b, i64 %b.offset"));
        self.line(&format!("  %c.panel = getelementptr inbounds {element}, ptr %c, i64 %column"));
        self.line("  br label %rows0");
        for (index, &block) in blocks.iter().enumerate() {
            let from = if index == 0 { "panel".to_owned() } else { format!("rows{}.end", index - 1) };
            self.row_blocks(index, block, &from);
            if index != last {
                let next = index + 1;
                match self.form.is_part {
                    true => self
                        .line(&format!("  br i1 %rows{next}.any, label %rows{next}, label %rows{next}.end")),
                    false => self.line(&format!("  br label %rows{next}")),
                }
            }
        }
        self.line("  %panel.next = add nuw nsw i64 %panel.i, 1");
        self.line(&format!("  %panel.done = icmp eq i64 %panel.next, {end}"));
        self.line("  br i1 %panel.done, label %exit, label %panel");
        self.line("exit:\n  ret void\n}");
    }

    /// Whether any of these blocks has a row that is multiplied, and then how many have.
    fn count_blocks(&mut self, index: usize, Blocks { first, rows, count }: Blocks) {
        let p = format!("rows{index}");
        self.line(&format!("  %{p}.any = icmp ugt i64 %rows, {first}"));
        self.line(&format!("  %{p}.up = add i64 %rows, {}", i64::from(rows) - 1 - i64::from(first)));
        self.line(&format!("  %{p}.blocks = udiv i64 %{p}.up, {rows}"));
        self.line(&format!("  %{p}.few = icmp ult i64 %{p}.blocks, {count}"));
        self.line(&format!("  %{p}.count = select i1 %{p}.few, i64 %{p}.blocks, i64 {count}"));
    }

    /// The loop over row blocks of one height; ends inside the block `rows<index>.end`.
    fn row_blocks(&mut self, index: usize, blocks: Blocks, from: &str) {
        let p = format!("rows{index}");
        let element = self.element();
        let Blocks { first, rows, count } = blocks;
        self.line(&format!("{p}:"));
        self.line(&format!("  %{p}.i = phi i64 [ 0, %{from} ], [ %{p}.next, %{p}.done ]"));
        self.line(&format!("  %{p}.offset = mul nuw nsw i64 %{p}.i, {rows}"));
        self.line(&format!("  %{p}.row = add nuw nsw i64 %{p}.offset, {first}"));
        for (name, base, stride) in
            [("a", "a", self.spec.a_row_stride), ("c", "c.panel", self.spec.c_row_stride)]
        {
            self.line(&format!("  %{p}.{name}.offset = mul nuw nsw i64 %{p}.row, {stride}"));
            self.line(&format!(
                "  %{p}.{name} = getelementptr inbounds {element}, ptr %{base}, i64 %{p}.{name}.offset"
            ));
        }
        if self.form.k_is_given {
            self.ask_for_next(&p, rows);
        }
        let head = if self.spec.operands == Operands::I8Quads { self.row_sums(&p, rows) } else { p.clone() };
        if self.form.start == Start::Given {
            self.line(&format!("  br i1 %zero, label %{p}.k, label %{p}.sums"));
            self.line(&format!("{p}.sums:"));
        }
        self.accumulators(&p, rows, "load");
        self.line(&format!("  br label %{p}.k"));
        self.inner_loop(&p, rows, &head);
        self.line(&format!("{p}.done:"));
        self.accumulators(&p, rows, "store");
        self.line(&format!("  %{p}.next = add nuw nsw i64 %{p}.i, 1"));
        let count = if self.form.is_part { format!("%{p}.count") } else { count.to_string() };
        self.line(&format!("  %{p}.last = icmp eq i64 %{p}.next, {count}"));
        self.line(&format!("  br i1 %{p}.last, label %{p}.end, label %{p}"));
        self.line(&format!("{p}.end:"));
    }

    /// The instruction takes fours of `B` without a sign: with their highest bits turned they are 128 more, and sums
    /// 128 times the sum of a row of `A` too large, which is taken off where they begin: `%<p>.less.<row>`. Answers the
    /// block that this ends in.
    fn row_sums(&mut self, p: &str, rows: u32) -> String {
        let (quads, wide, lanes) = (format!("<{QUAD_STEPS} x i32>"), self.vector.clone(), self.tile.lanes);
        let (multiply, sum) = (quad_intrinsic(QUAD_STEPS), sum_declaration().symbol);
        let (turned, end) = (signs(QUAD_STEPS), self.end_of_k());
        let name = |row: u32| format!("{p}.rows.{row}");
        self.line(&format!("  br label %{p}.rows\n{p}.rows:"));
        self.line(&format!("  %{p}.rows.i = phi i64 [ 0, %{p} ], [ %{p}.rows.next, %{p}.rows ]"));
        for name in (0..rows).map(name) {
            self.line(&format!(
                "  %{name} = phi {quads} [ zeroinitializer, %{p} ], [ %{name}.more, %{p}.rows ]"
            ));
        }
        for row in 0..rows {
            let (name, offset) = (name(row), u64::from(row) * u64::from(self.spec.a_row_stride));
            self.line(&format!(
                "  %{name}.i = add nuw nsw i64 %{p}.rows.i, {offset}
  %{name}.p = getelementptr inbounds i32, ptr %{p}.a, i64 %{name}.i
  %{name}.a = load {quads}, ptr %{name}.p, align 4
  %{name}.more = call {quads} @{multiply}({quads} %{name}, {quads} {turned}, {quads} %{name}.a)"
            ));
        }
        self.line(&format!("  %{p}.rows.next = add nuw nsw i64 %{p}.rows.i, {QUAD_STEPS}"));
        self.line(&format!("  %{p}.rows.last = icmp eq i64 %{p}.rows.next, {end}"));
        self.line(&format!("  br i1 %{p}.rows.last, label %{p}.summed, label %{p}.rows\n{p}.summed:"));
        for row in 0..rows {
            let name = name(row);
            self.line(&format!(
                "  %{name}.sum = call i32 @{sum}({quads} %{name}.more)
  %{name}.less = sub i32 0, %{name}.sum
  %{name}.v = insertelement {wide} poison, i32 %{name}.less, i64 0
  %{p}.less.{row} = shufflevector {wide} %{name}.v, {wide} poison, <{lanes} x i32> zeroinitializer"
            ));
        }
        format!("{p}.summed")
    }

    /// Where the loop over `k` ends: at a multiple of the steps of one iteration.
    fn end_of_k(&self) -> String {
        let turns = self.spec.used[2].div_ceil(self.spec.operands.group()).next_multiple_of(self.form.steps);
        if self.form.k_is_given { "%k".to_owned() } else { turns.to_string() }
    }

    /// Asks for the next part of `C`, and finds which part of the next panel of `B` is asked for meanwhile: as much of
    /// it as these rows are of all.
    fn ask_for_next(&mut self, p: &str, rows: u32) {
        let (element, stride) = (self.element(), u64::from(self.spec.c_row_stride));
        for row in 0..rows {
            let offset = u64::from(rows + row) * stride;
            self.line(&format!("  %{p}.ask.{row} = getelementptr {element}, ptr %{p}.c, i64 {offset}"));
            self.line(&format!("  call void @{PREFETCH}(ptr %{p}.ask.{row}, i32 1, i32 3, i32 1)"));
        }
        let (panel, m) = (self.form.panel_stride, self.spec.m.trailing_zeros());
        self.line(&format!("  %{p}.part.m = mul nuw nsw i64 %{p}.row, {panel}"));
        self.line(&format!("  %{p}.part = lshr i64 %{p}.part.m, {m}"));
        self.line(&format!("  %{p}.next.i = add nuw nsw i64 %{p}.part, {panel}"));
        self.line(&format!("  %{p}.ask = getelementptr {element}, ptr %b.panel, i64 %{p}.next.i"));
    }

    /// One iteration's worth of the next panel of `B`, into the second cache, and of the next rows of `A`, into the
    /// first.
    fn ask_for_operands(&mut self, p: &str, rows: u32) {
        let (element, m) = (self.element(), self.spec.m.trailing_zeros());
        let share = u64::from(rows) * u64::from(self.tile.vectors * self.tile.lanes);
        self.line(&format!("  %{p}.k.share = mul nuw nsw i64 %{p}.k.i, {share}"));
        self.line(&format!("  %{p}.k.part = lshr i64 %{p}.k.share, {m}"));
        self.line(&format!("  %{p}.k.ask = getelementptr {element}, ptr %{p}.ask, i64 %{p}.k.part"));
        self.line(&format!("  call void @{PREFETCH}(ptr %{p}.k.ask, i32 0, i32 2, i32 1)"));
        let next = u64::from(rows) * u64::from(self.spec.a_row_stride);
        self.line(&format!("  %{p}.k.more = mul nuw nsw i64 %{p}.k.i, {rows}"));
        self.line(&format!("  %{p}.k.next.part = add nuw nsw i64 %{p}.k.more, {next}"));
        self.line(&format!("  %{p}.k.next.a = getelementptr {element}, ptr %{p}.a, i64 %{p}.k.next.part"));
        self.line(&format!("  call void @{PREFETCH}(ptr %{p}.k.next.a, i32 0, i32 3, i32 1)"));
    }

    /// Loads or stores the register tile.
    fn accumulators(&mut self, p: &str, rows: u32, what: &str) {
        let element = self.element();
        let vector = self.vector.clone();
        let align = self.spec.operands.bytes();
        for row in 0..rows {
            for column in 0..self.tile.vectors {
                let offset =
                    u64::from(row) * u64::from(self.spec.c_row_stride) + u64::from(column * self.tile.lanes);
                let name = format!("{p}.{what}.{row}.{column}");
                self.line(&format!(
                    "  %{name}.p = getelementptr inbounds {element}, ptr %{p}.c, i64 {offset}"
                ));
                if what == "load" && self.spec.operands == Operands::I8Quads {
                    self.line(&format!(
                        "  %{name}.c = load {vector}, ptr %{name}.p, align {align}
  %{name} = add {vector} %{name}.c, %{p}.less.{row}"
                    ));
                } else if what == "load" {
                    self.line(&format!("  %{name} = load {vector}, ptr %{name}.p, align {align}"));
                } else {
                    self.line(&format!(
                        "  store {vector} %{p}.sum.{row}.{column}, ptr %{name}.p, align {align}"
                    ));
                }
            }
        }
    }

    /// The loop over `k` behind a block: its results are `%<p>.sum.<row>.<column>`.
    fn inner_loop(&mut self, p: &str, rows: u32, before: &str) {
        let element = self.element();
        let vector = self.vector.clone();
        let (steps, end) = (self.form.steps, self.end_of_k());
        self.line(&format!("{p}.k:"));
        // Where sums are loaded, and where they are left to be zero.
        let is_given = self.form.start == Start::Given;
        let (sums, also) = match is_given {
            true => (format!("{p}.sums"), format!(", [ 0, %{p}.sums ]")),
            false => (before.to_owned(), String::new()),
        };
        self.line(&format!("  %{p}.k.i = phi i64 [ 0, %{before} ]{also}, [ %{p}.k.next, %{p}.k ]"));
        for row in 0..rows {
            let zero = match self.spec.operands {
                Operands::I8Quads => format!("%{p}.less.{row}"),
                _ if self.tile.lanes == 1 => self.zero().to_owned(),
                _ => "zeroinitializer".to_owned(),
            };
            let zeros = if is_given { format!(" [ {zero}, %{before} ],") } else { String::new() };
            for column in 0..self.tile.vectors {
                self.line(&format!(
                    "  %{p}.acc.{row}.{column} = phi {vector}{zeros} [ %{p}.load.{row}.{column}, %{sums} ], \
                     [ %{p}.sum.{row}.{column}, %{p}.k ]"
                ));
            }
        }
        let stride = self.spec.b_row_stride;
        self.line(&format!("  %{p}.k.a = getelementptr inbounds {element}, ptr %{p}.a, i64 %{p}.k.i"));
        self.line(&format!("  %{p}.k.row = mul nuw nsw i64 %{p}.k.i, {stride}"));
        self.line(&format!("  %{p}.k.b = getelementptr inbounds {element}, ptr %b.panel, i64 %{p}.k.row"));
        if self.form.k_is_given {
            self.ask_for_operands(p, rows);
        }
        for step in 0..steps {
            let acc = if step == 0 { "acc".to_owned() } else { format!("sum{}", step - 1) };
            let sum = if step + 1 == steps { "sum".to_owned() } else { format!("sum{step}") };
            self.step(p, rows, step, (&acc, &sum));
        }
        self.line(&format!("  %{p}.k.next = add nuw nsw i64 %{p}.k.i, {steps}"));
        self.line(&format!("  %{p}.k.last = icmp eq i64 %{p}.k.next, {end}"));
        self.line(&format!("  br i1 %{p}.k.last, label %{p}.done, label %{p}.k"));
    }

    /// One step of `k`: a row of `B` times a column of `A`.
    fn step(&mut self, p: &str, rows: u32, step: u32, (acc, sum): (&str, &str)) {
        let element = self.element();
        let vector = self.vector.clone();
        let align = self.spec.operands.bytes();
        for column in 0..self.tile.vectors {
            let offset =
                u64::from(step) * u64::from(self.spec.b_row_stride) + u64::from(column * self.tile.lanes);
            let name = format!("{p}.b{step}.{column}");
            self.line(&format!("  %{name}.p = getelementptr inbounds {element}, ptr %{p}.k.b, i64 {offset}"));
            match self.spec.operands {
                Operands::I8Quads => self.line(&format!(
                    "  %{name}.s = load {vector}, ptr %{name}.p, align {align}
  %{name} = xor {vector} %{name}.s, {}",
                    signs(self.tile.lanes)
                )),
                _ => self.line(&format!("  %{name} = load {vector}, ptr %{name}.p, align {align}")),
            }
        }
        for row in 0..rows {
            let offset = u64::from(row) * u64::from(self.spec.a_row_stride) + u64::from(step);
            let name = format!("{p}.a{step}.{row}");
            self.line(&format!("  %{name}.p = getelementptr inbounds {element}, ptr %{p}.k.a, i64 {offset}"));
            self.line(&format!("  %{name}.1 = load {element}, ptr %{name}.p, align {align}"));
            let operand = if self.tile.lanes == 1 { format!("%{name}.1") } else { format!("%{name}") };
            if self.tile.lanes > 1 {
                self.line(&format!(
                    "  %{name}.v = insertelement {vector} poison, {element} %{name}.1, i64 0"
                ));
                self.line(&format!(
                    "  %{name} = shufflevector {vector} %{name}.v, {vector} poison, <{} x i32> zeroinitializer",
                    self.tile.lanes
                ));
            }
            for column in 0..self.tile.vectors {
                let b = format!("%{p}.b{step}.{column}");
                let acc = format!("%{p}.{acc}.{row}.{column}");
                self.multiply_add(&format!("{p}.{sum}.{row}.{column}"), &operand, &b, &acc);
            }
        }
    }

    fn multiply_add(&mut self, result: &str, a: &str, b: &str, acc: &str) {
        let v = self.vector.clone();
        let text = match self.spec.operands {
            Operands::F32 | Operands::F64 if self.spec.machine.has_fma => {
                let suffix = if self.spec.operands == Operands::F32 { "f32" } else { "f64" };
                let suffix = if self.tile.lanes == 1 {
                    suffix.to_owned()
                } else {
                    format!("v{}{suffix}", self.tile.lanes)
                };
                format!("  %{result} = call {v} @llvm.fma.{suffix}({v} {a}, {v} {b}, {v} {acc})")
            }
            Operands::F32 | Operands::F64 => {
                format!("  %{result}.x = fmul {v} {a}, {b}\n  %{result} = fadd {v} %{result}.x, {acc}")
            }
            Operands::I32 => {
                format!("  %{result}.x = mul {v} {a}, {b}\n  %{result} = add {v} %{result}.x, {acc}")
            }
            Operands::I16Pairs => self.multiply_pairs(result, a, b, acc),
            Operands::Bf16Pairs => self.multiply_bf16(result, a, b, acc),
            Operands::I8Quads => {
                let symbol = quad_intrinsic(self.tile.lanes);
                format!("  %{result} = call {v} @{symbol}({v} {acc}, {v} {b}, {v} {a})")
            }
            Operands::F16Pairs => unreachable!("they are multiplied by AMX alone"),
        };
        self.line(&text);
    }

    /// Pairs of bf16 products.
    fn multiply_bf16(&self, result: &str, a: &str, b: &str, acc: &str) -> String {
        let v = &self.vector;
        let pairs = format!("<{} x bfloat>", 2 * self.tile.lanes);
        let symbol = bf16_intrinsic(self.tile.lanes);
        format!(
            "  %{result}.l = bitcast {v} {a} to {pairs}
  %{result}.r = bitcast {v} {b} to {pairs}
  %{result} = call {v} @{symbol}({v} {acc}, {pairs} %{result}.l, {pairs} %{result}.r)"
        )
    }

    /// Pairs of 16-bit products; narrow vectors are widened to the smallest one that has the instruction.
    fn multiply_pairs(&self, result: &str, a: &str, b: &str, acc: &str) -> String {
        let v = &self.vector;
        let lanes = self.tile.lanes;
        let (symbol, wide) = pair_intrinsic(lanes);
        let pairs = 2 * wide;
        let mut text = String::new();
        let mut operands = [a.to_owned(), b.to_owned()];
        for (name, operand) in ["l", "r"].iter().zip(&mut operands) {
            if lanes == 1 {
                let _ = writeln!(
                    text,
                    "  %{result}.{name}w = insertelement <4 x i32> zeroinitializer, i32 {operand}, i64 0"
                );
                *operand = format!("%{result}.{name}w");
            } else if lanes < wide {
                let _ = writeln!(
                    text,
                    "  %{result}.{name}w = shufflevector {v} {operand}, {v} zeroinitializer, <4 x i32> <i32 0, i32 1, i32 2, i32 3>"
                );
                *operand = format!("%{result}.{name}w");
            }
            let _ =
                writeln!(text, "  %{result}.{name} = bitcast <{wide} x i32> {operand} to <{pairs} x i16>");
        }
        let _ = writeln!(
            text,
            "  %{result}.x = call <{wide} x i32> @{symbol}(<{pairs} x i16> %{result}.l, <{pairs} x i16> %{result}.r)"
        );
        let mut product = format!("%{result}.x");
        if lanes == 1 {
            let _ = writeln!(text, "  %{result}.n = extractelement <4 x i32> %{result}.x, i64 0");
            product = format!("%{result}.n");
        } else if lanes < wide {
            let _ = writeln!(
                text,
                "  %{result}.n = shufflevector <4 x i32> %{result}.x, <4 x i32> poison, <2 x i32> <i32 0, i32 1>"
            );
            product = format!("%{result}.n");
        }
        let _ = write!(text, "  %{result} = add {v} {product}, {acc}");
        text
    }
}
