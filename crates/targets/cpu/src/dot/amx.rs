//! The kernel on AMX: blocks of `C` in tile registers, as loops over columns, rows and `k`.
//!
//! A tile register has 16 rows of 64 bytes. Those of `A` hold 16 of its rows and 16 groups of neighbours along `k`,
//! those of `B` 16 groups by 16 columns, as operands of groups lie in memory anyway, and those of `C` 16 rows by 16
//! columns. Two by two of `C` are added to at once: four instructions to four loads of operands.
//!
//! A block of one operand stays in the first cache while it meets all blocks of the other one, which come from the
//! second cache. The next block of the operand that the outer loop walks over is asked for into the second cache
//! meanwhile, so that is best the one that comes from further away: `B` walks where the loops are over columns and rows
//! in them, `A` where they are the other way round, as an argument says.
//!
//! All tile registers are whole, so one configuration serves all kernels: [`begin`] sets it, in front of the first
//! program, and [`end`] gives the registers back. Left out: blocks of less than a tile register, which other kernels
//! multiply.

use std::fmt::Write as _;

use super::kernel::PREFETCH;
use super::{Definition, DotSpec, Operands, Start};

/// Rows of a tile register, and elements of 32 bits in a row of one.
pub(super) const TILE: u32 = 16;

/// The most tile registers of `C` along rows and along columns.
const MOST: u32 = 2;

/// The registers with `C`, row by row; those with `A` and `B` follow.
const FIRST_A: u32 = MOST * MOST;
const FIRST_B: u32 = FIRST_A + MOST;

/// A block of `C`, in tile registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    rows: u32,
    columns: u32,
}

impl Block {
    /// The largest one for so many rows and columns.
    pub(super) fn of(m: u32, n: u32) -> Block {
        Block { rows: (m / TILE).clamp(1, MOST), columns: (n / TILE).clamp(1, MOST) }
    }

    /// Its columns.
    pub(super) fn width(self) -> u32 {
        self.columns * TILE
    }
}

/// How `B` lies in memory, and how far `k` goes.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Groups from the columns of one block to those of the next.
    pub(super) panel_stride: u32,
    /// `k` is an argument, in groups, up to so many, and the order of the loops is another one; else `k` is that of the
    /// specification.
    pub(super) most_k: Option<u32>,
    /// What the sums begin with.
    pub(super) start: Start,
}

/// The symbol of [`begin`]. Its type is `void ()`, as is that of [`END`].
pub const BEGIN: &str = "dn.amx.begin";

/// The symbol of [`end`].
pub const END: &str = "dn.amx.end";

/// A function that configures the tile registers of its thread, which kernels here assume.
pub fn begin() -> [Definition; 3] {
    // Palette 1, no row to start from, 14 bytes of nothing, then the bytes of a row and the rows of 16 registers, of
    // which there are eight.
    let mut bytes = [0u8; 64];
    bytes[0] = 1;
    for register in 0..8 {
        bytes[16 + 2 * register] = 4 * TILE as u8;
        bytes[48 + register] = TILE as u8;
    }
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("i8 {byte}")).collect();
    let (table, load) = ("dn.amx.shape", "llvm.x86.ldtilecfg");
    let constant =
        format!("@{table} = internal unnamed_addr constant [64 x i8] [{}], align 64\n", bytes.join(", "));
    let text = format!(
        "define internal void @{BEGIN}() noinline nounwind {{\n  call void @{load}(ptr @{table})\n  ret void\n}}\n"
    );
    [
        Definition { symbol: table.to_owned(), text: constant },
        Definition { symbol: load.to_owned(), text: format!("declare void @{load}(ptr)\n") },
        Definition { symbol: BEGIN.to_owned(), text },
    ]
}

/// A function that gives the tile registers back: a system has less to save of a thread that uses none.
pub fn end() -> [Definition; 2] {
    let release = "llvm.x86.tilerelease";
    let text = format!(
        "define internal void @{END}() noinline nounwind {{\n  call void @{release}()\n  ret void\n}}\n"
    );
    [
        Definition { symbol: release.to_owned(), text: format!("declare void @{release}()\n") },
        Definition { symbol: END.to_owned(), text },
    ]
}

const LOAD: &str = "llvm.x86.tileloadd64";
const STORE: &str = "llvm.x86.tilestored64";
const ZERO: &str = "llvm.x86.tilezero";

/// The instruction that multiplies.
fn multiply(operands: Operands) -> &'static str {
    match operands {
        Operands::I8Quads => "llvm.x86.tdpbssd",
        Operands::F16Pairs => "llvm.x86.tdpfp16ps",
        _ => "llvm.x86.tdpbf16ps",
    }
}

/// The kernel and its declarations.
pub(super) fn definitions(symbol: &str, spec: &DotSpec, block: Block, form: Form) -> Vec<Definition> {
    let mut writer = Writer { text: String::new(), spec, block, form };
    writer.kernel(symbol);
    let mut all = vec![Definition { symbol: symbol.to_owned(), text: writer.text }];
    for symbol in [LOAD, STORE] {
        let text = format!("declare void @{symbol}(i8 immarg, ptr, i64)\n");
        all.push(Definition { symbol: symbol.to_owned(), text });
    }
    if form.most_k.is_some() {
        let text = format!("declare void @{PREFETCH}(ptr, i32, i32, i32)\n");
        all.push(Definition { symbol: PREFETCH.to_owned(), text });
    }
    if form.start == Start::Zero {
        let text = format!("declare void @{ZERO}(i8 immarg)\n");
        all.push(Definition { symbol: ZERO.to_owned(), text });
    }
    let symbol = multiply(spec.operands);
    let text = format!("declare void @{symbol}(i8 immarg, i8 immarg, i8 immarg)\n");
    all.push(Definition { symbol: symbol.to_owned(), text });
    all
}

struct Writer<'a> {
    text: String,
    spec: &'a DotSpec,
    block: Block,
    form: Form,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    fn kernel(&mut self, symbol: &str) {
        let DotSpec { a_row_stride, c_row_stride, used: [rows, columns, depth], .. } = *self.spec;
        let (height, width) = (self.block.rows * TILE, self.block.width());
        let groups = depth.div_ceil(self.spec.operands.group()).next_multiple_of(TILE);
        let (arguments, by_rows, end) = match self.form.most_k {
            Some(_) => (", i64 %k, i1 %by.rows", "%by.rows", "%k".to_owned()),
            None => ("", "false", groups.to_string()),
        };
        let [over_rows, over_columns] = [rows.div_ceil(height), columns.div_ceil(width)];
        self.line(&format!(
            "define internal void @{symbol}(ptr noalias %a, ptr noalias %b, ptr noalias %c{arguments}) noinline nounwind {{
entry:"
        ));
        let [a_next, c_next] = [a_row_stride, c_row_stride].map(|stride| height * stride);
        let b_next = self.form.panel_stride;
        for (name, with_rows, with_columns) in
            [("a", a_next, 0), ("b", 0, b_next), ("c", c_next, width), ("count", over_rows, over_columns)]
        {
            let choose = |loops: &str, yes: u32, no: u32| {
                format!("  %{name}.{loops} = select i1 {by_rows}, i64 {yes}, i64 {no}")
            };
            self.line(&choose("outer", with_rows, with_columns));
            self.line(&choose("inner", with_columns, with_rows));
        }
        self.line(
            "  br label %outer\nouter:\n  %outer.i = phi i64 [ 0, %entry ], [ %outer.next, %inner.end ]",
        );
        self.places("outer", ["%a", "%b", "%c"], ["a.part", "b.part", "c.part"]);
        self.line("  br label %inner\ninner:\n  %inner.i = phi i64 [ 0, %outer ], [ %inner.next, %done ]");
        self.places("inner", ["%a.part", "%b.part", "%c.part"], ["a.block", "b.block", "c.block"]);
        match self.form.start {
            Start::Sums => self.sums(LOAD),
            Start::Zero => self.zeros(),
            Start::Given => unreachable!("for vector registers alone"),
        }
        self.line("  br label %step");
        self.inner_loop(&end);
        self.line("done:");
        self.sums(STORE);
        self.line(
            "  %inner.next = add nuw nsw i64 %inner.i, 1
  %inner.last = icmp eq i64 %inner.next, %count.inner
  br i1 %inner.last, label %inner.end, label %inner
inner.end:
  %outer.next = add nuw nsw i64 %outer.i, 1
  %outer.last = icmp eq i64 %outer.next, %count.outer
  br i1 %outer.last, label %exit, label %outer
exit:
  ret void
}",
        );
    }

    /// Where the blocks of an iteration are.
    fn places(&mut self, loops: &str, from: [&str; 3], to: [&str; 3]) {
        for (operand, (from, to)) in ["a", "b", "c"].into_iter().zip(from.into_iter().zip(to)) {
            self.line(&format!(
                "  %{to}.by = mul nuw nsw i64 %{loops}.i, %{operand}.{loops}
  %{to} = getelementptr inbounds i32, ptr {from}, i64 %{to}.by"
            ));
        }
    }

    /// Sets the block of `C` to zero.
    fn zeros(&mut self) {
        for row in 0..self.block.rows {
            for column in 0..self.block.columns {
                self.line(&format!("  call void @{ZERO}(i8 {})", sum(row, column)));
            }
        }
    }

    /// Loads or stores the block of `C`.
    fn sums(&mut self, what: &str) {
        let stride = self.spec.c_row_stride;
        for row in 0..self.block.rows {
            for column in 0..self.block.columns {
                let name = format!("{}.{row}.{column}", if what == LOAD { "load" } else { "store" });
                let offset = u64::from(row * TILE) * u64::from(stride) + u64::from(column * TILE);
                self.access(what, &name, sum(row, column), ("%c.block", offset, stride));
            }
        }
    }

    /// The loop over `k`, a tile register of each operand at a time.
    fn inner_loop(&mut self, end: &str) {
        let DotSpec { a_row_stride, b_row_stride, operands, .. } = *self.spec;
        self.line(&format!(
            "step:
  %k.i = phi i64 [ 0, %inner ], [ %k.next, %step ]
  %k.a = getelementptr inbounds i32, ptr %a.block, i64 %k.i
  %k.row = mul nuw nsw i64 %k.i, {b_row_stride}
  %k.b = getelementptr inbounds i32, ptr %b.block, i64 %k.row"
        ));
        if let Some(most) = self.form.most_k {
            self.ask_for_next(most);
        }
        for row in 0..self.block.rows {
            let offset = u64::from(row * TILE) * u64::from(a_row_stride);
            self.access(LOAD, &format!("a.{row}"), FIRST_A + row, ("%k.a", offset, a_row_stride));
            for column in 0..self.block.columns {
                if row == 0 {
                    let offset = u64::from(column * TILE);
                    let place = ("%k.b", offset, b_row_stride);
                    self.access(LOAD, &format!("b.{column}"), FIRST_B + column, place);
                }
                let (symbol, to) = (multiply(operands), sum(row, column));
                let (left, right) = (FIRST_A + row, FIRST_B + column);
                self.line(&format!("  call void @{symbol}(i8 {to}, i8 {left}, i8 {right})"));
            }
        }
        self.line(&format!(
            "  %k.next = add nuw nsw i64 %k.i, {TILE}
  %k.last = icmp eq i64 %k.next, {end}
  br i1 %k.last, label %done, label %step"
        ));
    }

    /// Asks for the next block of the operand that the outer loop walks over, into the second cache: with each step of
    /// `k` of each iteration of the inner loop as much of it as that is of all.
    fn ask_for_next(&mut self, most_k: u32) {
        let DotSpec { a_row_stride, used: [rows, columns, _], .. } = *self.spec;
        let (height, width) = (self.block.rows * TILE, self.block.width());
        let share = |groups: u32, inner: u32| (groups * TILE).div_ceil(most_k * inner).next_multiple_of(TILE);
        let of_a = share(height * a_row_stride, columns.div_ceil(width));
        let of_b = share(width * most_k, rows.div_ceil(height));
        self.line(&format!(
            "  %ask.base = select i1 %by.rows, ptr %a.part, ptr %b.part
  %ask.next = select i1 %by.rows, i64 {}, i64 {}
  %ask.share = select i1 %by.rows, i64 {}, i64 {}
  %ask.before = mul nuw nsw i64 %inner.i, %k
  %ask.step = add nuw nsw i64 %ask.before, %k.i
  %ask.part = mul nuw nsw i64 %ask.step, %ask.share
  %ask.offset = add nuw nsw i64 %ask.part, %ask.next
  %ask = getelementptr i32, ptr %ask.base, i64 %ask.offset",
            height * a_row_stride,
            self.form.panel_stride,
            of_a / TILE,
            of_b / TILE
        ));
        for line in (0..of_a.max(of_b)).step_by(TILE as usize) {
            self.line(&format!(
                "  %ask.{line} = getelementptr i32, ptr %ask, i64 {line}
  call void @{PREFETCH}(ptr %ask.{line}, i32 0, i32 2, i32 1)"
            ));
        }
    }

    /// Moves a tile register from or to memory: so many elements behind a place, with a row so many from the next.
    fn access(&mut self, what: &str, name: &str, register: u32, (base, offset, stride): (&str, u64, u32)) {
        self.line(&format!("  %{name}.p = getelementptr inbounds i32, ptr {base}, i64 {offset}"));
        self.line(&format!(
            "  call void @{what}(i8 {register}, ptr %{name}.p, i64 {})",
            4 * u64::from(stride)
        ));
    }
}

/// The register of a part of `C`.
fn sum(row: u32, column: u32) -> u32 {
    row * MOST + column
}
