//! Kernels for a few rows of `A` on rows of `B` where they lie in memory: `C[m][n] += A[m][k] * B[k][n]`.
//!
//! Packing a right operand reads, writes and reads it again, which pays where many rows meet it. A few rows multiply it
//! faster than memory gives it, so that here it is read once, as it comes. A table says where each of its rows begins:
//! a row is what lies side by side, elements of one step of `k` ([`Along::Columns`]) or of one column
//! ([`Along::Depth`]). Elements of 16 bits are widened as they are read, or multiplied in pairs.
//!
//! `A` is row-major with a constant stride, `C` too, both of binary32 but for pairs; every sum is added to what `C`
//! holds. What is left out: masks. Rows that hang over an edge are handed over as copies.

use std::fmt::Write as _;

use super::VectorUnit;
use super::kernel::{PREFETCH, bf16_intrinsic};
use crate::dot::Definition;

/// What lies side by side in `B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Along {
    /// The columns of one step of `k`: the table has a row for each step.
    Columns,
    /// The steps of `k` of one column: the table has a row for each column, again and again for each `step`.
    Depth,
}

/// The type of the elements of `B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// binary32.
    F32,
    /// bf16.
    Bf16,
    /// binary16.
    F16,
    /// bf16 of both operands, of which an instruction multiplies and adds two neighbours along `k`. Steps of `k`,
    /// those of `count` and the elements of a row of `A` are such pairs; the rows of the table are as for bf16. The
    /// instruction takes denormal operands for zero, and makes zero of denormal sums.
    Bf16Pairs,
}

/// One kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FewRows {
    /// Rows of `A` and `C`, a power of two.
    pub m: u32,
    /// Columns of `B` and `C`, a power of two.
    pub n: u32,
    /// Steps of `k` that one part of the table is for, a power of two.
    pub step: u32,
    /// What lies side by side.
    pub along: Along,
    /// Of what type.
    pub element: Element,
    /// Elements from one row of `A` to the next.
    pub a_row_stride: u32,
    /// Elements from one row of `C` to the next.
    pub c_row_stride: u32,
    /// The machine.
    pub machine: VectorUnit,
}

/// The most rows for which a right operand is read where it lies.
pub const MOST_ROWS: u32 = 16;

/// Steps of `k` that are added before sums go back to memory.
const GROUP: u32 = 8;

/// Lanes of the part of a register in which neighbours are added.
const PART: u32 = 4;

impl FewRows {
    /// Whether there is a kernel for these sizes.
    pub fn exists(&self) -> bool {
        let FewRows { m, n, step, .. } = *self;
        let fits = match self.along {
            Along::Columns => n >= self.lanes(),
            Along::Depth => step >= self.lanes() && n >= PART,
        };
        let has_instruction = self.element != Element::Bf16Pairs || self.machine.has_bf16_pairs;
        fits && has_instruction && m <= MOST_ROWS
    }

    /// The symbol, without `@`. Its type is `void (ptr a, ptr table, ptr c, i64 count, i64 rows)`: so many rows, from
    /// one on, of `A` and `C`, where `count` is the steps of `k` ([`Along::Columns`]), or the parts of the table.
    pub fn symbol(&self) -> String {
        let FewRows { m, n, step, along, element, a_row_stride, c_row_stride, .. } = self;
        let along = match along {
            Along::Columns => "columns",
            Along::Depth => "depth",
        };
        let element = match element {
            Element::F32 => "f32",
            Element::Bf16 => "bf16",
            Element::F16 => "f16",
            Element::Bf16Pairs => "bf16x2",
        };
        format!("dn.few_rows.{along}.{element}.{m}x{n}x{step}.{a_row_stride}.{c_row_stride}")
    }

    /// The text of the kernel and of the declarations that it needs, each with its symbol: emit each symbol once.
    pub fn definitions(&self) -> Vec<Definition> {
        let symbol = self.symbol();
        let mut writer =
            Writer { text: String::new(), spec: self, vector: format!("<{} x float>", self.lanes()) };
        match self.along {
            Along::Columns => writer.by_columns(&symbol),
            Along::Depth => writer.by_depth(&symbol),
        }
        let (vector, lanes) = (&writer.vector, self.lanes());
        let (instruction, operand) = match self.element {
            Element::Bf16Pairs => (bf16_intrinsic(lanes), format!("<{} x bfloat>", 2 * lanes)),
            _ => (format!("llvm.fma.v{lanes}f32"), vector.clone()),
        };
        let text = format!("declare {vector} @{instruction}({vector}, {operand}, {operand})\n");
        let ask = format!("declare void @{PREFETCH}(ptr, i32, i32, i32)\n");
        vec![
            Definition { symbol, text: writer.text },
            Definition { symbol: instruction, text },
            Definition { symbol: PREFETCH.to_owned(), text: ask },
        ]
    }

    /// Lanes of a register.
    const fn lanes(&self) -> u32 {
        self.machine.vector_bytes / 4
    }

    /// The type of an element of `B` in memory, or of a pair where these are neighbours.
    const fn memory(&self) -> &'static str {
        match (self.element, self.along) {
            (Element::F32, _) | (Element::Bf16Pairs, Along::Depth) => "float",
            (Element::Bf16, _) | (Element::Bf16Pairs, Along::Columns) => "i16",
            (Element::F16, _) => "half",
        }
    }

    /// Steps of `k` that are multiplied at once.
    pub const fn group(&self) -> u32 {
        if matches!(self.element, Element::Bf16Pairs) { 2 } else { 1 }
    }
}

/// How many rows and columns are added up at once.
#[derive(Clone, Copy)]
struct Block {
    rows: u32,
    columns: u32,
}

struct Writer<'a> {
    text: String,
    spec: &'a FewRows,
    vector: String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    /// The head of the function, which tells one row from several; answers both ways, the number of rows of each.
    fn head(&mut self, symbol: &str, most: u32) -> Vec<(&'static str, u32)> {
        let attributes = self.spec.machine.attributes();
        self.line(&format!(
            "define internal void @{symbol}(ptr noalias %a, ptr noalias %table, ptr noalias %c, i64 %count, i64 %rows) \
             {attributes} {{\nentry:"
        ));
        if self.spec.m == 1 {
            self.line("  br label %one");
            return vec![("one", 1)];
        }
        self.line("  %is.one = icmp ule i64 %rows, 1\n  br i1 %is.one, label %one, label %more");
        vec![("one", 1), ("more", most.min(self.spec.m))]
    }

    /// A vector of `B`, as binary32, or of pairs from its rows.
    fn load_b(&mut self, name: &str, pointers: &[String]) {
        let (lanes, vector, pointer) = (self.spec.lanes(), self.vector.clone(), &pointers[0]);
        self.line(&match self.spec.element {
            Element::F32 => format!("  %{name} = load {vector}, ptr {pointer}, align 4"),
            Element::Bf16Pairs if pointers.len() == 1 => {
                format!("  %{name} = load {vector}, ptr {pointer}, align 2")
            }
            Element::Bf16Pairs => format!(
                "  %{name}.e = load <{lanes} x i16>, ptr {pointer}, align 2
  %{name}.o = load <{lanes} x i16>, ptr {}, align 2
  %{name}.l = zext <{lanes} x i16> %{name}.e to <{lanes} x i32>
  %{name}.w = zext <{lanes} x i16> %{name}.o to <{lanes} x i32>
  %{name}.h = shl <{lanes} x i32> %{name}.w, {}
  %{name}.b = or <{lanes} x i32> %{name}.l, %{name}.h
  %{name} = bitcast <{lanes} x i32> %{name}.b to {vector}",
                pointers[1],
                splat("i32", "16", lanes)
            ),
            Element::Bf16 => format!(
                "  %{name}.s = load <{lanes} x i16>, ptr {pointer}, align 2
  %{name}.w = zext <{lanes} x i16> %{name}.s to <{lanes} x i32>
  %{name}.h = shl <{lanes} x i32> %{name}.w, {}
  %{name} = bitcast <{lanes} x i32> %{name}.h to {vector}",
                splat("i32", "16", lanes)
            ),
            Element::F16 => format!(
                "  %{name}.s = load <{lanes} x half>, ptr {pointer}, align 2
  %{name} = fpext <{lanes} x half> %{name}.s to {vector}"
            ),
        });
    }

    /// Adds products to a sum, or to nothing.
    fn multiply_add(&mut self, result: &str, a: &str, b: &str, sum: Option<&str>) {
        let (v, lanes) = (self.vector.clone(), self.spec.lanes());
        match sum {
            _ if self.spec.element == Element::Bf16Pairs => {
                let (pairs, symbol) = (format!("<{} x bfloat>", 2 * lanes), bf16_intrinsic(lanes));
                let sum = sum.unwrap_or("zeroinitializer");
                self.line(&format!(
                    "  %{result}.l = bitcast {v} %{a} to {pairs}
  %{result}.r = bitcast {v} %{b} to {pairs}
  %{result} = call {v} @{symbol}({v} {sum}, {pairs} %{result}.l, {pairs} %{result}.r)"
                ));
            }
            None => self.line(&format!("  %{result} = fmul {v} %{a}, %{b}")),
            Some(sum) if self.spec.machine.has_fma => self.line(&format!(
                "  %{result} = call {v} @llvm.fma.v{lanes}f32({v} %{a}, {v} %{b}, {v} {sum})"
            )),
            Some(sum) => self.line(&format!(
                "  %{result}.x = fmul {v} %{a}, %{b}\n  %{result} = fadd {v} %{result}.x, {sum}"
            )),
        }
    }

    /// Rows of `B` along the columns: some steps of `k` at a time over all columns, so that each row is read in one go,
    /// while sums stay in the nearest cache.
    fn by_columns(&mut self, symbol: &str) {
        let ways = self.head(symbol, 4);
        for (p, rows) in ways {
            self.groups_of_steps(p, rows);
        }
        self.line("exit:\n  ret void\n}");
    }

    fn groups_of_steps(&mut self, p: &str, rows: u32) {
        let spec = *self.spec;
        let group = spec.group();
        let steps = (GROUP / group).min(spec.step);
        let columns = (2 * spec.lanes()).min(spec.n);
        self.line(&format!(
            "{p}:
  %{p}.k = phi i64 [ 0, %entry ], [ %{p}.k.next, %{p}.done ]
  %{p}.k.next = add nuw nsw i64 %{p}.k, {steps}
  %{p}.last = icmp eq i64 %{p}.k.next, %count
  %{p}.k.ask = select i1 %{p}.last, i64 %{p}.k, i64 %{p}.k.next
  %{p}.k.row = mul nuw nsw i64 %{p}.k, {group}
  %{p}.k.ask.row = mul nuw nsw i64 %{p}.k.ask, {group}
  %{p}.table = getelementptr inbounds ptr, ptr %table, i64 %{p}.k.row
  %{p}.asked = getelementptr inbounds ptr, ptr %table, i64 %{p}.k.ask.row
  %{p}.a = getelementptr inbounds float, ptr %a, i64 %{p}.k"
        ));
        for step in 0..steps * group {
            for (name, table) in [("row", "table"), ("ask", "asked")] {
                self.line(&format!(
                    "  %{p}.{name}{step}.p = getelementptr inbounds ptr, ptr %{p}.{table}, i64 {step}
  %{p}.{name}{step} = load ptr, ptr %{p}.{name}{step}.p, align 8"
                ));
            }
        }
        self.line(&format!(
            "  br label %{p}.n\n{p}.n:\n  %{p}.i = phi i64 [ 0, %{p} ], [ %{p}.i.next, %{p}.n.end ]"
        ));
        self.line(&format!("  %{p}.c = getelementptr inbounds float, ptr %c, i64 %{p}.i"));
        let memory = spec.memory();
        for step in 0..steps * group {
            self.line(&format!(
                "  %{p}.ask{step}.i = getelementptr {memory}, ptr %{p}.ask{step}, i64 %{p}.i
  call void @{PREFETCH}(ptr %{p}.ask{step}.i, i32 0, i32 3, i32 1)
  %{p}.b{step} = getelementptr {memory}, ptr %{p}.row{step}, i64 %{p}.i"
            ));
        }
        self.line(&format!("  br label %{p}.m"));
        self.rows_of_step(p, Block { rows, columns: columns / spec.lanes() }, steps);
        let n = spec.n;
        self.line(&format!(
            "{p}.n.end:
  %{p}.i.next = add nuw nsw i64 %{p}.i, {columns}
  %{p}.n.last = icmp eq i64 %{p}.i.next, {n}
  br i1 %{p}.n.last, label %{p}.done, label %{p}.n
{p}.done:
  br i1 %{p}.last, label %exit, label %{p}"
        ));
    }

    /// The loop over blocks of rows of `A`, which ends in `<p>.n.end`. The steps of a group are added up before they
    /// are added to `C`: sums behind one another are fewer, and closer.
    fn rows_of_step(&mut self, p: &str, Block { rows, columns: vectors }: Block, steps: u32) {
        let FewRows { a_row_stride, c_row_stride, .. } = *self.spec;
        let (lanes, v, memory) = (self.spec.lanes(), self.vector.clone(), self.spec.memory());
        let group = self.spec.group();
        self.line(&format!(
            "{p}.m:
  %{p}.r = phi i64 [ 0, %{p}.n ], [ %{p}.r.next, %{p}.m ]
  %{p}.r.a.i = mul nuw nsw i64 %{p}.r, {a_row_stride}
  %{p}.r.a = getelementptr inbounds float, ptr %{p}.a, i64 %{p}.r.a.i
  %{p}.r.c.i = mul nuw nsw i64 %{p}.r, {c_row_stride}
  %{p}.r.c = getelementptr inbounds float, ptr %{p}.c, i64 %{p}.r.c.i"
        ));
        for row in 0..rows {
            for vector in 0..vectors {
                let (name, offset) = (format!("{p}.c.{row}.{vector}"), row * c_row_stride + vector * lanes);
                self.line(&format!(
                    "  %{name}.p = getelementptr inbounds float, ptr %{p}.r.c, i64 {offset}
  %{name} = load {v}, ptr %{name}.p, align 4"
                ));
            }
        }
        for step in 0..steps {
            for vector in 0..vectors {
                let name = format!("{p}.b{step}.{vector}");
                let pointers: Vec<String> = (0..group).map(|row| format!("%{name}.p{row}")).collect();
                for (row, pointer) in (step * group..).zip(&pointers) {
                    let offset = vector * lanes;
                    self.line(&format!(
                        "  {pointer} = getelementptr {memory}, ptr %{p}.b{row}, i64 {offset}"
                    ));
                }
                self.load_b(&name, &pointers);
            }
            for row in 0..rows {
                let (name, offset) = (format!("{p}.a{step}.{row}"), row * a_row_stride + step);
                let zeros = splat("i32", "0", lanes);
                self.line(&format!(
                    "  %{name}.p = getelementptr inbounds float, ptr %{p}.r.a, i64 {offset}
  %{name}.1 = load float, ptr %{name}.p, align 4
  %{name}.v = insertelement {v} poison, float %{name}.1, i64 0
  %{name} = shufflevector {v} %{name}.v, {v} poison, <{lanes} x i32> {zeros}"
                ));
                for vector in 0..vectors {
                    let sum = |step: u32| format!("{p}.sum{step}.{row}.{vector}");
                    let b = format!("{p}.b{step}.{vector}");
                    let before = (step > 0).then(|| format!("%{}", sum(step)));
                    self.multiply_add(&sum(step + 1), &name, &b, before.as_deref());
                }
            }
        }
        for row in 0..rows {
            for vector in 0..vectors {
                self.line(&format!(
                    "  %{p}.new.{row}.{vector} = fadd {v} %{p}.c.{row}.{vector}, %{p}.sum{steps}.{row}.{vector}
  store {v} %{p}.new.{row}.{vector}, ptr %{p}.c.{row}.{vector}.p, align 4"
                ));
            }
        }
        self.line(&format!(
            "  %{p}.r.next = add nuw nsw i64 %{p}.r, {rows}
  %{p}.r.more = icmp ult i64 %{p}.r.next, %rows
  br i1 %{p}.r.more, label %{p}.m, label %{p}.n.end"
        ));
    }

    /// Rows of `B` along `k`: vectors along `k`, added up to one number for each row and column behind all parts.
    fn by_depth(&mut self, symbol: &str) {
        let spec = *self.spec;
        let most = if spec.machine.vector_registers >= 32 { 4 } else { 2 };
        let ways = self.head(symbol, most);
        for (p, rows) in ways {
            let columns = if rows == 1 { (2 * PART).min(spec.n) } else { PART };
            self.columns_by_depth(p, Block { rows, columns });
        }
        self.line("exit:\n  ret void\n}");
    }

    fn columns_by_depth(&mut self, p: &str, block: Block) {
        let FewRows { n, step, a_row_stride, c_row_stride, .. } = *self.spec;
        let Block { rows, columns } = block;
        self.line(&format!(
            "{p}:
  %{p}.i = phi i64 [ 0, %entry ], [ %{p}.i.next, %{p}.n.end ]
  %{p}.c = getelementptr inbounds float, ptr %c, i64 %{p}.i
  %{p}.table = getelementptr inbounds ptr, ptr %table, i64 %{p}.i
  br label %{p}.m
{p}.m:
  %{p}.r = phi i64 [ 0, %{p} ], [ %{p}.r.next, %{p}.sums ]
  %{p}.r.a.i = mul nuw nsw i64 %{p}.r, {a_row_stride}
  %{p}.r.a = getelementptr inbounds float, ptr %a, i64 %{p}.r.a.i
  %{p}.r.c.i = mul nuw nsw i64 %{p}.r, {c_row_stride}
  %{p}.r.c = getelementptr inbounds float, ptr %{p}.c, i64 %{p}.r.c.i
  br label %{p}.part
{p}.part:
  %{p}.t = phi i64 [ 0, %{p}.m ], [ %{p}.t.next, %{p}.part.end ]"
        ));
        let (v, lanes) = (self.vector.clone(), self.spec.lanes());
        let each = |f: &mut dyn FnMut(u32, u32)| {
            (0..rows).for_each(|row| (0..columns).for_each(|column| f(row, column)));
        };
        each(&mut |row, column| {
            self.line(&format!(
                "  %{p}.p.{row}.{column} = phi {v} [ zeroinitializer, %{p}.m ], [ %{p}.sum.{row}.{column}, %{p}.part.end ]"
            ));
        });
        self.line(&format!(
            "  %{p}.t.table.i = mul nuw nsw i64 %{p}.t, {n}
  %{p}.t.table = getelementptr inbounds ptr, ptr %{p}.table, i64 %{p}.t.table.i
  %{p}.t.a.i = mul nuw nsw i64 %{p}.t, {step}
  %{p}.t.a = getelementptr inbounds float, ptr %{p}.r.a, i64 %{p}.t.a.i"
        ));
        for column in 0..columns {
            self.line(&format!(
                "  %{p}.row{column}.p = getelementptr inbounds ptr, ptr %{p}.t.table, i64 {column}
  %{p}.row{column} = load ptr, ptr %{p}.row{column}.p, align 8"
            ));
        }
        self.line(&format!(
            "  br label %{p}.k\n{p}.k:\n  %{p}.k.i = phi i64 [ 0, %{p}.part ], [ %{p}.k.next, %{p}.k ]"
        ));
        each(&mut |row, column| {
            self.line(&format!(
                "  %{p}.q.{row}.{column} = phi {v} [ %{p}.p.{row}.{column}, %{p}.part ], [ %{p}.sum.{row}.{column}, %{p}.k ]"
            ));
        });
        self.vectors_of_depth(p, block);
        self.line(&format!(
            "  %{p}.k.next = add nuw nsw i64 %{p}.k.i, {lanes}
  %{p}.k.last = icmp eq i64 %{p}.k.next, {step}
  br i1 %{p}.k.last, label %{p}.part.end, label %{p}.k
{p}.part.end:
  %{p}.t.next = add nuw nsw i64 %{p}.t, 1
  %{p}.t.last = icmp eq i64 %{p}.t.next, %count
  br i1 %{p}.t.last, label %{p}.sums, label %{p}.part
{p}.sums:"
        ));
        self.add_lanes(p, block);
        self.line(&format!(
            "  %{p}.r.next = add nuw nsw i64 %{p}.r, {rows}
  %{p}.r.more = icmp ult i64 %{p}.r.next, %rows
  br i1 %{p}.r.more, label %{p}.m, label %{p}.n.end
{p}.n.end:
  %{p}.i.next = add nuw nsw i64 %{p}.i, {columns}
  %{p}.n.last = icmp eq i64 %{p}.i.next, {n}
  br i1 %{p}.n.last, label %exit, label %{p}"
        ));
    }

    /// One vector of each row of `A` and of `B`.
    fn vectors_of_depth(&mut self, p: &str, Block { rows, columns }: Block) {
        let (v, memory, a_row_stride) = (self.vector.clone(), self.spec.memory(), self.spec.a_row_stride);
        for row in 0..rows {
            self.line(&format!(
                "  %{p}.a{row}.p = getelementptr inbounds float, ptr %{p}.t.a, i64 {}
  %{p}.a{row}.k = getelementptr inbounds float, ptr %{p}.a{row}.p, i64 %{p}.k.i
  %{p}.a{row} = load {v}, ptr %{p}.a{row}.k, align 4",
                row * a_row_stride
            ));
        }
        for column in 0..columns {
            self.line(&format!(
                "  %{p}.b{column}.p = getelementptr {memory}, ptr %{p}.row{column}, i64 %{p}.k.i"
            ));
            self.load_b(&format!("{p}.b{column}"), &[format!("%{p}.b{column}.p")]);
            for row in 0..rows {
                let sum = format!("%{p}.q.{row}.{column}");
                self.multiply_add(
                    &format!("{p}.sum.{row}.{column}"),
                    &format!("{p}.a{row}"),
                    &format!("{p}.b{column}"),
                    Some(&sum),
                );
            }
        }
    }

    /// Adds the lanes of the sums of four columns at a time, and all to `C`.
    fn add_lanes(&mut self, p: &str, Block { rows, columns }: Block) {
        let c_row_stride = self.spec.c_row_stride;
        for row in 0..rows {
            for first in (0..columns).step_by(PART as usize) {
                let sum = |column: u32| format!("{p}.sum.{row}.{}", first + column);
                let name = format!("{p}.fold.{row}.{first}");
                self.add_neighbours(&format!("{name}.0"), [&sum(0), &sum(1)]);
                self.add_neighbours(&format!("{name}.1"), [&sum(2), &sum(3)]);
                self.add_neighbours(&name, [&format!("{name}.0"), &format!("{name}.1")]);
                let four = self.add_parts(&name);
                self.line(&format!(
                    "  %{name}.c = getelementptr inbounds float, ptr %{p}.r.c, i64 {}
  %{name}.old = load <4 x float>, ptr %{name}.c, align 4
  %{name}.new = fadd <4 x float> %{name}.old, %{four}
  store <4 x float> %{name}.new, ptr %{name}.c, align 4",
                    row * c_row_stride + first
                ));
            }
        }
    }

    /// In each part of four lanes, the sums of two neighbours of one vector, then those of the other.
    fn add_neighbours(&mut self, name: &str, [x, y]: [&str; 2]) {
        let (lanes, v) = (self.spec.lanes(), self.vector.clone());
        for (half, odd) in [("even", 0), ("odd", 1)] {
            let mask: Vec<String> = (0..lanes)
                .step_by(PART as usize)
                .flat_map(|part| [part, part + 2, lanes + part, lanes + part + 2])
                .map(|lane| format!("i32 {}", lane + odd))
                .collect();
            let mask = mask.join(", ");
            self.line(&format!(
                "  %{name}.{half} = shufflevector {v} %{x}, {v} %{y}, <{lanes} x i32> <{mask}>"
            ));
        }
        self.line(&format!("  %{name} = fadd {v} %{name}.even, %{name}.odd"));
    }

    /// The sum of all parts of a vector; answers its name.
    fn add_parts(&mut self, name: &str) -> String {
        let (mut lanes, mut own) = (self.spec.lanes(), name.to_owned());
        while lanes > PART {
            let half = lanes / 2;
            let next = format!("{name}.of{half}");
            for (which, first) in [("low", 0), ("high", half)] {
                let mask: Vec<String> = (first..first + half).map(|lane| format!("i32 {lane}")).collect();
                let mask = mask.join(", ");
                self.line(&format!(
                    "  %{next}.{which} = shufflevector <{lanes} x float> %{own}, <{lanes} x float> poison, \
                     <{half} x i32> <{mask}>"
                ));
            }
            self.line(&format!("  %{next} = fadd <{half} x float> %{next}.low, %{next}.high"));
            (lanes, own) = (half, next);
        }
        own
    }
}

/// A constant in so many lanes.
fn splat(ty: &str, value: &str, lanes: u32) -> String {
    let one = format!("{ty} {value}");
    format!("<{}>", vec![one; lanes as usize].join(", "))
}
