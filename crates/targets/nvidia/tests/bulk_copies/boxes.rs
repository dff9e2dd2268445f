//! Random kernels whose loops multiply boxes of matrices that they load by pointers: loops that follow each other,
//! inside of conditions and of other loops, with carried addresses or computed ones, ends by masks, remainders or none.

use crate::case::half;
use crate::kernel::{Args, Slot};
use std::fmt::Write;
use ttir::testing::Random;

/// How positions beyond the end of a matrix are kept out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    /// By masks along both axes.
    Masked,
    /// Rows are taken back into the matrix by a remainder, columns are masked.
    Remainder,
    /// Nothing is beyond the end.
    None,
}

/// What a kernel looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ends: Ends,
    /// Loops carry addresses.
    pub(crate) carried: bool,
    /// The second operand has its columns one behind the other.
    pub(crate) turned: bool,
    /// Strides of 64 bits.
    pub(crate) long: bool,
    /// Rows and iterations begin where parameters say.
    pub(crate) started: bool,
    /// What the loops say besides.
    pub(crate) says: &'static str,
    /// What the loop around the loops says, if there is one.
    pub(crate) around: Option<&'static str>,
    /// How many loops follow each other, and whether the second one is inside of a condition.
    pub(crate) loops: u32,
    pub(crate) branch: bool,
    pub(crate) stages: u32,
}

const SIDE: u64 = 64;
const DEPTH: u64 = 32;

/// A text of numbered values.
struct Text {
    out: String,
    next: u32,
    shape: Shape,
}

impl Text {
    /// `%name = text`, by a fresh name.
    fn put(&mut self, text: &str) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        let _ = writeln!(self.out, "  {name} = {text}");
        name
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "  {text}");
    }

    /// `start + 0..size`.
    fn positions(&mut self, start: &str, size: u64) -> String {
        let range =
            self.put(&format!("tt.make_range {{end = {size} : i32, start = 0 : i32}} : tensor<{size}xi32>"));
        let start = self.put(&format!("tt.splat {start} : i32 -> tensor<{size}xi32>"));
        self.put(&format!("arith.addi {start}, {range} : tensor<{size}xi32>"))
    }

    /// A block of numbers along an axis of a matrix.
    fn spread(&mut self, of: &str, axis: usize, elem: &str, dims: [u64; 2]) -> String {
        let size = dims[axis];
        let [one, two] = if axis == 0 { [size, 1] } else { [1, size] };
        let thin = format!("tensor<{one}x{two}x{elem}>");
        let other = 1 - axis;
        let thin_value = self
            .put(&format!("tt.expand_dims {of} {{axis = {other} : i32}} : tensor<{size}x{elem}> -> {thin}"));
        self.put(&format!("tt.broadcast {thin_value} : {thin} -> tensor<{}x{}x{elem}>", dims[0], dims[1]))
    }

    /// Offsets of positions, the second axis or the first one with neighbours in memory.
    fn offsets(&mut self, at: [&str; 2], stride: &str, dims: [u64; 2], fastest: usize) -> String {
        let int = if self.shape.long { "i64" } else { "i32" };
        let mut parts = Vec::new();
        for axis in 0..2 {
            let size = dims[axis];
            let ty = format!("tensor<{size}x{int}>");
            let mut along = at[axis].to_owned();
            if self.shape.long {
                along = self.put(&format!("arith.extsi {along} : tensor<{size}xi32> to {ty}"));
            }
            if axis != fastest {
                let stride = self.put(&format!("tt.splat {stride} : {int} -> {ty}"));
                along = self.put(&format!("arith.muli {along}, {stride} : {ty}"));
            }
            parts.push(self.spread(&along, axis, int, dims));
        }
        self.put(&format!("arith.addi {}, {} : tensor<{}x{}x{int}>", parts[0], parts[1], dims[0], dims[1]))
    }

    fn pointers(&mut self, base: &str, offsets: &str, dims: [u64; 2]) -> String {
        let int = if self.shape.long { "i64" } else { "i32" };
        let block = |elem: &str| format!("tensor<{}x{}x{elem}>", dims[0], dims[1]);
        let ty = block("!tt.ptr<f16>");
        let all = self.put(&format!("tt.splat {base} : !tt.ptr<f16> -> {ty}"));
        self.put(&format!("tt.addptr {all}, {offsets} : {ty}, {}", block(int)))
    }

    /// Where positions lie below an end.
    fn below(&mut self, at: &str, end: &str, axis: usize, dims: [u64; 2]) -> String {
        let size = dims[axis];
        let end = self.put(&format!("tt.splat {end} : i32 -> tensor<{size}xi32>"));
        let mask = self.put(&format!("arith.cmpi slt, {at}, {end} : tensor<{size}xi32>"));
        self.spread(&mask, axis, "i1", dims)
    }

    /// The step of the addresses that a loop carries.
    fn step(&mut self, pointers: &str, stride: Option<&str>, dims: [u64; 2]) -> String {
        let int = if self.shape.long { "i64" } else { "i32" };
        let depth = self.put(&format!("arith.constant {DEPTH} : {int}"));
        let by = match stride {
            Some(stride) => self.put(&format!("arith.muli {depth}, {stride} : {int}")),
            None => depth,
        };
        let block = |elem: &str| format!("tensor<{}x{}x{elem}>", dims[0], dims[1]);
        let by = self.put(&format!("tt.splat {by} : {int} -> {}", block(int)));
        self.put(&format!("tt.addptr {pointers}, {by} : {}, {}", block("!tt.ptr<f16>"), block(int)))
    }

    /// Rows of one of the matrices, from where on and to which end.
    fn rows(&mut self, start: &str, end: &str) -> String {
        let at = self.positions(start, SIDE);
        if self.shape.ends != Ends::Remainder {
            return at;
        }
        let end = self.put(&format!("tt.splat {end} : i32 -> tensor<{SIDE}xi32>"));
        self.put(&format!("arith.remsi {at}, {end} : tensor<{SIDE}xi32>"))
    }

    /// A loop that adds the product of boxes to a sum.
    fn product(&mut self, sum: &str, [row, column]: [&str; 2]) -> String {
        let Shape { ends, carried, turned, says, stages, .. } = self.shape;
        let sum_ty = "tensor<64x64xf32>";
        let (a_dims, b_dims) = ([SIDE, DEPTH], if turned { [SIDE, DEPTH] } else { [DEPTH, SIDE] });
        let b_rows = usize::from(!turned);
        let (at_m, at_n) = (self.rows(row, "%m"), self.rows(column, "%n"));
        let mut inits = format!("%acc = {sum}");
        let mut types = sum_ty.to_owned();
        let first = self.positions("%zero", DEPTH);
        if carried {
            let depth = self.put(&format!("arith.constant {DEPTH} : i32"));
            let begin = self.put(&format!("arith.muli %first, {depth} : i32"));
            let begin = self.positions(&begin, DEPTH);
            let a = self.offsets([&at_m, &begin], "%sa", a_dims, 1);
            let b_at = if turned { [&at_n, &begin] } else { [&begin, &at_n] };
            let b = self.offsets(b_at.map(String::as_str), "%sb", b_dims, 1);
            let (a, b) = (self.pointers("%a", &a, a_dims), self.pointers("%b", &b, b_dims));
            let _ = write!(inits, ", %ap = {a}, %bp = {b}");
            let of = |dims: [u64; 2]| format!("tensor<{}x{}x!tt.ptr<f16>>", dims[0], dims[1]);
            let _ = write!(types, ", {}, {}", of(a_dims), of(b_dims));
        }
        self.next += 1;
        let out = format!("%v{}", self.next);
        let results = if carried { format!("{out}:3") } else { out.clone() };
        self.line(&format!(
            "{results} = scf.for %kk = %first to %rounds step %one iter_args({inits}) -> ({types}) : i32 {{"
        ));
        let depth = self.put(&format!("arith.constant {DEPTH} : i32"));
        let k = self.put(&format!("arith.muli %kk, {depth} : i32"));
        let (a, b, at_k) = if carried {
            let left = self.put(&format!("arith.subi %k, {k} : i32"));
            ("%ap".to_owned(), "%bp".to_owned(), (first, left))
        } else {
            let at_k = self.positions(&k, DEPTH);
            let a = self.offsets([&at_m, &at_k], "%sa", a_dims, 1);
            let b_at = if turned { [&at_n, &at_k] } else { [&at_k, &at_n] };
            let b = self.offsets(b_at.map(String::as_str), "%sb", b_dims, 1);
            (self.pointers("%a", &a, a_dims), self.pointers("%b", &b, b_dims), (at_k, "%k".to_owned()))
        };
        let load = |own: &mut Text, pointers: &str, at: &str, end: &str, rows: usize, dims: [u64; 2]| {
            let block = |elem: &str| format!("tensor<{}x{}x{elem}>", dims[0], dims[1]);
            let mask = match ends {
                Ends::None => return own.put(&format!("tt.load {pointers} : {}", block("!tt.ptr<f16>"))),
                Ends::Remainder => own.below(&at_k.0, &at_k.1, 1 - rows, dims),
                Ends::Masked => {
                    let inner = own.below(&at_k.0, &at_k.1, 1 - rows, dims);
                    let outer = own.below(at, end, rows, dims);
                    own.put(&format!("arith.andi {inner}, {outer} : {}", block("i1")))
                }
            };
            let other = own.put(&format!("arith.constant dense<0.000000e+00> : {}", block("f16")));
            own.put(&format!("tt.load {pointers}, {mask}, {other} : {}", block("!tt.ptr<f16>")))
        };
        let x = load(self, &a, &at_m, "%m", 0, a_dims);
        let mut y = load(self, &b, &at_n, "%n", b_rows, b_dims);
        if turned {
            y = self.put(&format!(
                "tt.trans {y} {{order = array<i32: 1, 0>}} : tensor<64x32xf16> -> tensor<32x64xf16>"
            ));
        }
        let next =
            self.put(&format!("tt.dot {x}, {y}, %acc : tensor<64x32xf16> * tensor<32x64xf16> -> {sum_ty}"));
        if carried {
            let a_next = self.step("%ap", None, a_dims);
            let b_next = self.step("%bp", (!turned).then_some("%sb"), b_dims);
            self.line(&format!("scf.yield {next}, {a_next}, {b_next} : {types}"));
        } else {
            self.line(&format!("scf.yield {next} : {types}"));
        }
        let says = if says.is_empty() { String::new() } else { format!("{says}, ") };
        self.line(&format!("}} {{{says}tt.num_stages = {stages} : i32}}"));
        if carried { format!("{out}#0") } else { out }
    }

    /// A tile of the result.
    fn tile(&mut self, row: &str, column: &str) {
        let ty = "tensor<64x64xf32>";
        let mut sum = self.put(&format!("arith.constant dense<0.000000e+00> : {ty}"));
        for number in 0..self.shape.loops {
            if self.shape.branch && number + 1 == self.shape.loops {
                self.next += 1;
                let out = format!("%v{}", self.next);
                self.line(&format!("{out} = scf.if %yes -> ({ty}) {{"));
                let inner = self.product(&sum, [row, column]);
                self.line(&format!("scf.yield {inner} : {ty}"));
                self.line("} else {");
                self.line(&format!("scf.yield {sum} : {ty}"));
                self.line("}");
                sum = out;
            } else {
                sum = self.product(&sum, [row, column]);
            }
        }
        let at = [self.positions(row, SIDE), self.positions(column, SIDE)];
        let dims = [SIDE, SIDE];
        let [in_m, in_n] = [self.below(&at[0], "%m", 0, dims), self.below(&at[1], "%n", 1, dims)];
        let mask = self.put(&format!("arith.andi {in_m}, {in_n} : tensor<64x64xi1>"));
        let offsets = self.offsets([&at[0], &at[1]], "%sc", dims, 1);
        let int = if self.shape.long { "i64" } else { "i32" };
        let all = self.put("tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>");
        let pointers = self
            .put(&format!("tt.addptr {all}, {offsets} : tensor<64x64x!tt.ptr<f32>>, tensor<64x64x{int}>"));
        self.line(&format!("tt.store {pointers}, {sum}, {mask} : tensor<64x64x!tt.ptr<f32>>"));
    }
}

/// The text of a kernel.
pub(crate) fn text(shape: Shape) -> String {
    let mut text = Text { out: String::new(), next: 0, shape };
    let int = if shape.long { "i64" } else { "i32" };
    let whole = "{tt.divisibility = 16 : i32}";
    text.out = format!(
        "tt.func public @boxes(%a: !tt.ptr<f16> {whole}, %b: !tt.ptr<f16> {whole}, %c: !tt.ptr<f32> {whole}, %m: i32, %n: i32, %k: i32, %sa: {int} {whole}, %sb: {int} {whole}, %sc: {int} {whole}, %rounds: i32, %start: i32, %tiles: i32, %begin: i32) {{\n"
    );
    text.line("%zero = arith.constant 0 : i32");
    text.line("%one = arith.constant 1 : i32");
    text.line(&format!(
        "%first = arith.addi {}, %zero : i32",
        if shape.started { "%begin" } else { "%zero" }
    ));
    text.line("%side = arith.constant 64 : i32");
    text.line("%yes = arith.cmpi sgt, %tiles, %zero : i32");
    let pid = text.put("tt.get_program_id x : i32");
    let own = text.put(&format!("arith.muli {pid}, %side : i32"));
    let own = if shape.started { text.put(&format!("arith.addi {own}, %start : i32")) } else { own };
    match shape.around {
        Some(says) => {
            text.line("scf.for %t = %zero to %tiles step %one : i32 {");
            let column = text.put("arith.muli %t, %side : i32");
            text.tile(&own, &column);
            text.line(&if says.is_empty() { "}".to_owned() } else { format!("}} {{{says}}}") });
        }
        None => text.tile(&own, "%zero"),
    }
    text.line("tt.return");
    text.out.push_str("}\n");
    text.out
}

/// A shape by chance.
pub(crate) fn random_shape(random: &mut Random) -> Shape {
    let says = ["", "", "tt.warp_specialize"];
    let around = [None, Some(""), Some("tt.flatten"), Some("tt.warp_specialize")];
    let loops = 1 + random.below(3) as u32;
    Shape {
        ends: random.of(&[Ends::Masked, Ends::Remainder, Ends::None]),
        carried: random.one_in(2),
        turned: random.one_in(2),
        long: random.one_in(3),
        started: random.one_in(4),
        says: random.of(&says),
        around: random.of(&around),
        loops,
        branch: random.one_in(3),
        stages: 1 + random.below(4) as u32,
    }
}

/// A launch of a kernel: its sizes, and what lies around the matrices.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    pub(crate) strides: [i64; 3],
    pub(crate) rounds: i64,
    pub(crate) start: i64,
    pub(crate) tiles: i64,
    pub(crate) programs: u32,
    pub(crate) begin: i64,
    /// Elements of the buffers in front of the addresses, and behind them.
    pub(crate) before: [i64; 3],
    pub(crate) behind: [i64; 3],
}

/// Sizes by chance, of which the kernel accesses only what is there.
pub(crate) fn random_sizes(random: &mut Random, shape: Shape) -> Sizes {
    let programs = 1 + random.below(4) as u32;
    let tiles = if shape.around.is_some() { 1 + random.below(3) as i64 } else { 1 };
    let start = if shape.started { 8 * random.below(4) as i64 } else { 0 };
    let (rows, columns) = (64 * i64::from(programs) + start, 64 * tiles);
    let rounds = random.below(5) as i64;
    let odd = |random: &mut Random, most: i64| 1 + random.below(most as u64) as i64;
    let [m, n, k] = if shape.ends == Ends::None {
        [rows, columns, 32 * rounds]
    } else {
        [odd(random, rows), odd(random, columns), odd(random, 32 * rounds.max(1))]
    };
    let row = |random: &mut Random, length: i64| (length + 15) / 16 * 16 + 16 * random.below(3) as i64;
    let b_row = if shape.turned { k } else { n };
    let strides = [row(random, k.max(1)), row(random, b_row), row(random, n)];
    let b_rows = if shape.turned { n } else { k };
    let begin = if shape.started { random.below(2) as i64 } else { 0 };
    let behind = [m * strides[0] + 16, b_rows * strides[1] + 16, m * strides[2] + 16];
    Sizes { m, n, k, strides, rounds, start, tiles, programs, begin, before: [0; 3], behind }
}

impl Sizes {
    /// The arguments. What lies in the rows of the matrices, and in front of their addresses, is small whole numbers;
    /// what lies between the rows is none.
    pub(crate) fn args(&self, random: &mut Random, shape: Shape) -> Args {
        let mut buffer = |length: i64, stride: i64, at: usize| -> Vec<u8> {
            let bits = (-self.before[at]..self.behind[at]).map(|place| {
                let is_there = place < 0 || stride <= 0 || place % stride < length;
                let number = i32::from(random.below(3) == 0) - i32::from(random.below(3) == 0);
                if is_there { half(number) } else { 0x7e00 }
            });
            bits.flat_map(u16::to_le_bytes).collect()
        };
        let a = buffer(self.k, self.strides[0], 0);
        let b = buffer(if shape.turned { self.k } else { self.n }, self.strides[1], 1);
        let c = vec![0x5a; (self.before[2] + self.behind[2]) as usize * 4];
        let numbers = [self.m, self.n, self.k].into_iter().chain(self.strides);
        let numbers = numbers.chain([self.rounds, self.start, self.tiles, self.begin]);
        let mut args = Args::of(vec![a, b, c], &numbers.collect::<Vec<_>>());
        for (at, bytes) in [2, 2, 4].into_iter().enumerate() {
            args.slots[at] = Slot::Pointer(at, self.before[at] * bytes);
        }
        args
    }
}
