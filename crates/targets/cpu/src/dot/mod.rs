//! Micro-kernels for `dot` as LLVM IR text: `C[m][n] += A[m][k] * B[k][n]` over tiles in scratch memory.
//!
//! # The contract
//! - `A` is row-major `[m][k]`, `B` row-major `[k][n]`, `C` row-major `[m][n]`; row strides are compile-time
//!   constants in elements; the three do not overlap. Sizes are powers of two, of which less may be used.
//! - Operands are handed over in the type in which they are multiplied: fp16, bf16, fp8 and tf32 operands as
//!   [`Operands::F32`] tiles, converted while the scratch tile is filled (that pass exists anyway). 8-bit integers
//!   go as [`Operands::I8Quads`] or [`Operands::I16Pairs`], bf16 and fp8 as [`Operands::Bf16Pairs`] and fp16 as
//!   [`Operands::F16Pairs`] where [`Operands::is_supported`] says so, else as [`Operands::I32`] and [`Operands::F32`].
//! - Column-major operands are turned by [`transpose`] while they are packed, never gathered.
//! - The order of the sums over `k` is not specified; every product is accumulated in the type of `C`.
//!
//! # The shape of the code
//! A register tile of a few rows by a few vectors, as a loop over `k` between loads and stores of its part of
//! `C`; around it loops over row blocks and over column panels. Rows that do not divide evenly
//! are spread: 64 rows are nine blocks of six and two of five. What is left out: blocking of `k`, which the caller
//! does (a panel of `B` should stay in the first-level cache). For loops over `k` there are kernels on packed operands
//! ([`PanelPlan`]): many steps of such a loop at once, so that accumulators stay in registers for long.
//!
//! Where [`Operands::takes_amx`] says so, the same operands are multiplied by the tile registers of AMX ([`amx`]).

pub mod amx;
mod few_rows;
mod kernel;
mod panels;
mod quads;
mod row_sums;
mod transpose;

pub use few_rows::{Along, Element, FewRows, MOST_ROWS};
pub use panels::{PanelPlan, PanelSpec};
pub use quads::interleave_quads;
pub use transpose::{Transpose, interleave_pairs, interleave_panels};

/// A definition as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The symbol without `@`: once in a module.
    pub symbol: String,
    /// The complete text.
    pub text: String,
}

/// The operand and accumulator types of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    /// Singles, accumulated in singles.
    F32,
    /// Doubles, accumulated in doubles.
    F64,
    /// 32-bit integers, accumulated with wrap-around in 32 bits.
    I32,
    /// 16-bit integers, two neighbours along `k` multiplied and added at once, accumulated in 32 bits. `A` is row-major
    /// `[m][k]` of i16; `B` is `[k / 2][n][2]` of i16 ([`interleave_pairs`] makes it, or a [`Transpose`] of 32-bit
    /// elements from a `B` whose columns are contiguous). `k` is at least 2; strides of `A` and `B` count
    /// such pairs.
    I16Pairs,
    /// The same of bf16, accumulated in singles. The instruction takes denormal operands for zero, and makes zero of
    /// denormal sums.
    Bf16Pairs,
    /// The same of fp16, whose denormal numbers count; denormal sums become zero. For AMX alone.
    F16Pairs,
    /// Bytes with a sign, four neighbours along `k` multiplied and added at once, accumulated in 32 bits. `A` is
    /// row-major `[m][k]` of i8; `B` is `[k / 4][n][4]` of i8; strides of `A` and `B` count such fours.
    I8Quads,
}

impl Operands {
    /// The LLVM type of an accumulator.
    pub(crate) const fn accumulator(self) -> &'static str {
        match self {
            Operands::F32 | Operands::Bf16Pairs | Operands::F16Pairs => "float",
            Operands::F64 => "double",
            Operands::I32 | Operands::I16Pairs | Operands::I8Quads => "i32",
        }
    }

    /// How many neighbours along `k` an instruction multiplies at once: strides and panels count such groups.
    pub const fn group(self) -> u32 {
        match self {
            Operands::I16Pairs | Operands::Bf16Pairs | Operands::F16Pairs => 2,
            Operands::I8Quads => 4,
            Operands::F32 | Operands::F64 | Operands::I32 => 1,
        }
    }

    /// Whether a machine multiplies these, of so many rows of `A` and columns of `B` with so many steps of `k`.
    pub const fn is_supported(self, machine: &VectorUnit, [m, n, k]: [u32; 3]) -> bool {
        match self {
            Operands::F32 | Operands::F64 | Operands::I32 => true,
            Operands::I16Pairs => machine.x86 && k >= 2,
            Operands::Bf16Pairs => {
                machine.has_bf16_pairs && k >= 2 && n >= 4 || self.takes_amx(machine, [m, n, k])
            }
            Operands::I8Quads => {
                machine.has_byte_quads && k >= kernel::QUAD_DEPTH && n >= 4
                    || self.takes_amx(machine, [m, n, k])
            }
            Operands::F16Pairs => self.takes_amx(machine, [m, n, k]),
        }
    }

    /// Whether they are multiplied by AMX, whose tile registers are filled by whole rows, columns and groups.
    pub const fn takes_amx(self, machine: &VectorUnit, [m, n, k]: [u32; 3]) -> bool {
        let has_it = match self {
            Operands::Bf16Pairs => machine.has_amx_bf16,
            Operands::F16Pairs => machine.has_amx_fp16,
            Operands::I8Quads => machine.has_amx_int8,
            Operands::F32 | Operands::F64 | Operands::I32 | Operands::I16Pairs => false,
        };
        has_it && m >= amx::TILE && n >= amx::TILE && k >= amx::TILE * self.group()
    }

    /// The size of an accumulator, and of one group of an operand along `k`.
    pub const fn bytes(self) -> u32 {
        match self {
            Operands::F64 => 8,
            _ => 4,
        }
    }

    const fn is_float(self) -> bool {
        matches!(self, Operands::F32 | Operands::F64)
    }

    const fn name(self) -> &'static str {
        match self {
            Operands::F32 => "f32",
            Operands::F64 => "f64",
            Operands::I32 => "i32",
            Operands::I16Pairs => "i16x2",
            Operands::Bf16Pairs => "bf16x2",
            Operands::F16Pairs => "f16x2",
            Operands::I8Quads => "i8x4",
        }
    }
}

/// What the machine offers to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorUnit {
    /// The bytes of one vector register: 16, 32 or 64.
    pub vector_bytes: u32,
    /// The number of vector registers: 16 or 32.
    pub vector_registers: u32,
    /// Fused multiply-add is one instruction.
    pub has_fma: bool,
    /// The machine is an x86-64, so pairs of 16-bit products have an instruction (for 64-byte vectors: AVX-512 BW).
    pub x86: bool,
    /// Pairs of bf16 products have an instruction, for vectors of 16, 32 and 64 bytes (AVX-512 BF16 and VL), which is
    /// faster than multiply-adds of singles.
    pub has_bf16_pairs: bool,
    /// Fours of byte products have an instruction, for vectors of 16, 32 and 64 bytes (AVX-512 VNNI and VL).
    pub has_byte_quads: bool,
    /// Tile registers of bf16 are multiplied (AMX), and this process may use them.
    pub has_amx_bf16: bool,
    /// Tile registers of fp16 are multiplied, and this process may use them.
    pub has_amx_fp16: bool,
    /// Tile registers of bytes are multiplied, and this process may use them.
    pub has_amx_int8: bool,
}

impl VectorUnit {
    /// The attributes of a kernel. Some processors prefer half of their widest vectors: kernels are written for the
    /// whole.
    fn attributes(&self) -> &'static str {
        match self.vector_bytes {
            64 => "noinline nounwind \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\"",
            _ => "noinline nounwind",
        }
    }
}

/// One kernel to be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DotSpec {
    /// Rows of `A` and `C`.
    pub m: u32,
    /// Columns of `B` and `C`.
    pub n: u32,
    /// Columns of `A`, rows of `B`.
    pub k: u32,
    /// The types.
    pub operands: Operands,
    /// Elements from one row of `A` to the next.
    pub a_row_stride: u32,
    /// Elements from one row of `B` to the next.
    pub b_row_stride: u32,
    /// Elements from one row of `C` to the next.
    pub c_row_stride: u32,
    /// How many rows, columns and steps of `k` have a meaning. Further sums may be anything, further steps are zeros.
    pub used: [u32; 3],
    /// The machine.
    pub machine: VectorUnit,
}

/// Why there is no kernel for a [`DotSpec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotError {
    what: String,
}

impl std::fmt::Display for DotError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "no dot kernel: {}", self.what)
    }
}

impl std::error::Error for DotError {}

/// How the registers are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// `rows` by `vectors` accumulators of `lanes` elements.
    Tile { rows: u32, vectors: u32, lanes: u32 },
    /// One column: vectors run along `k`.
    RowSums { rows: u32, lanes: u32 },
    /// Tile registers.
    Amx(amx::Block),
}

/// The chosen kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DotKernel {
    spec: DotSpec,
    shape: Shape,
    start: Start,
}

/// What the sums of a kernel begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Start {
    /// `C` as it is in memory.
    Sums,
    /// Zero, whatever memory holds.
    Zero,
    /// Zero or `C`, as an argument says.
    Given,
}

impl DotKernel {
    /// Chooses the register tile.
    ///
    /// # Errors
    /// Sizes that are not powers of two, rows that overlap, or a machine that no tile is known for.
    pub fn choose(spec: &DotSpec) -> Result<DotKernel, DotError> {
        check(spec)?;
        let machine = spec.machine;
        if spec.operands.takes_amx(&machine, [spec.m, spec.n, spec.k]) {
            let shape = Shape::Amx(amx::Block::of(spec.m, spec.n));
            return Ok(DotKernel { spec: *spec, shape, start: Start::Sums });
        }
        let full = machine.vector_bytes / spec.operands.bytes();
        if spec.n == 1 && spec.b_row_stride == 1 && spec.k > 1 && spec.operands.group() == 1 {
            let shape = Shape::RowSums { rows: spec.m.min(8), lanes: full.min(spec.k) };
            return Ok(DotKernel { spec: *spec, shape, start: Start::Sums });
        }
        let lanes = full.min(spec.n);
        let vectors = (spec.n / lanes).min(DotKernel::widest(machine, spec.operands));
        let rows = most_rows(machine, spec.operands, vectors).min(spec.m);
        Ok(DotKernel { spec: *spec, shape: Shape::Tile { rows, vectors, lanes }, start: Start::Sums })
    }

    /// The kernel that sets `C` to the product; of tile registers alone.
    pub fn from_zero(self) -> Option<DotKernel> {
        matches!(self.shape, Shape::Amx(_)).then_some(DotKernel { start: Start::Zero, ..self })
    }

    /// The kernel that sets `C` to the product or adds it, as a further argument says: one text for both, because the
    /// code of a kernel takes longer to make than a branch in it costs. Of vector registers alone.
    pub fn from_either(self) -> Option<DotKernel> {
        matches!(self.shape, Shape::Tile { .. }).then_some(DotKernel { start: Start::Given, ..self })
    }

    /// The most vectors in a row of a register tile.
    fn widest(machine: VectorUnit, operands: Operands) -> u32 {
        match operands {
            // Each vector of `B` takes an operation of its own.
            Operands::I8Quads => 2,
            _ if machine.vector_registers >= 32 => 4,
            _ => 2,
        }
    }

    /// The symbol of the kernel, without `@`. Its type is `void (ptr a, ptr b, ptr c)`, of [`DotKernel::from_either`]
    /// `void (ptr a, ptr b, ptr c, i1 from_zero)`.
    pub fn symbol(&self) -> String {
        let DotSpec { m, n, k, operands, a_row_stride, b_row_stride, c_row_stride, used, .. } = self.spec;
        let strides = format!("{a_row_stride}.{b_row_stride}.{c_row_stride}");
        let start = match self.start {
            Start::Sums => "",
            Start::Zero => ".zero",
            Start::Given => ".either",
        };
        format!("dn.dot.{}.{m}x{n}x{k}.{strides}{}{start}", operands.name(), used_name(&used, &[m, n, k]))
    }

    /// The text of the kernel and of the declarations it needs, each with its symbol: emit each symbol once.
    pub fn definitions(&self) -> Vec<Definition> {
        match self.shape {
            Shape::Tile { rows, vectors, lanes } => {
                let tile = kernel::Tile { rows, vectors, lanes };
                let form = kernel::Form::tile(&self.spec, tile, self.start);
                kernel::definitions(&self.symbol(), &self.spec, tile, form)
            }
            Shape::RowSums { rows, lanes } => {
                row_sums::definitions(&self.symbol(), &self.spec, row_sums::Tile { rows, lanes })
            }
            Shape::Amx(block) => {
                let panel_stride = block.width();
                let form = amx::Form { panel_stride, most_k: None, start: self.start };
                amx::definitions(&self.symbol(), &self.spec, block, form)
            }
        }
    }
}

/// What the name of a kernel says of sizes that are not used as a whole.
fn used_name(used: &[u32], sizes: &[u32]) -> String {
    if used == sizes { String::new() } else { used.iter().map(|size| format!(".of{size}")).collect() }
}

/// The most rows of a register tile: accumulators, one row of `B` and temporaries fit the registers; what was measured
/// as best.
fn most_rows(machine: VectorUnit, operands: Operands, vectors: u32) -> u32 {
    match (machine.vector_registers >= 32, machine.vector_bytes, vectors) {
        _ if operands == Operands::I8Quads => 8,
        // Wide vectors: 4 x 4 beats the larger tiles, which load and store more of C per step of k.
        (true, 64, 4) => 4,
        (true, _, 4) => 6,
        (true, _, 2) => 10,
        (true, _, _) => 16,
        (false, _, 2) if machine.has_fma => 6,
        (false, _, 2) => 4,
        (false, _, _) => 12,
    }
}

fn check(spec: &DotSpec) -> Result<(), DotError> {
    let error = |what: String| Err(DotError { what });
    let DotSpec { m, n, k, used, machine, .. } = *spec;
    for ((name, size), used) in [("m", m), ("n", n), ("k", k)].into_iter().zip(used) {
        if !size.is_power_of_two() || size > 1 << 16 {
            return error(format!("{name} is {size}: use a power of two up to 65536"));
        }
        if !(1..=size).contains(&used) {
            return error(format!("{used} of {name} = {size} are used"));
        }
    }
    if !spec.operands.is_supported(&machine, [m, n, k]) {
        return error(format!(
            "{machine:?} has no instruction for {:?} of {m} rows, {n} columns, k = {k}",
            spec.operands
        ));
    }
    let steps = k / spec.operands.group();
    for (name, stride, least) in
        [("A", spec.a_row_stride, steps), ("B", spec.b_row_stride, n), ("C", spec.c_row_stride, n)]
    {
        if stride < least {
            return error(format!("rows of {name} overlap: the stride is {stride}, a row has {least}"));
        }
    }
    if !matches!(machine.vector_bytes, 16 | 32 | 64) || !matches!(machine.vector_registers, 16 | 32) {
        return error(format!(
            "{} vector registers of {} bytes are no known machine",
            machine.vector_registers, machine.vector_bytes
        ));
    }
    Ok(())
}

/// The advised row stride of a scratch tile, in elements: rows never start a multiple of 2 KiB apart, because such rows
/// share one or two sets of the first-level cache (measured: 85 instead of 92 % of the peak at 2 KiB, 61 instead of 92
/// % at 4 KiB).
pub fn padded_stride(n: u32, operands: Operands) -> u32 {
    let bytes = n * operands.bytes();
    if bytes.is_multiple_of(2048) { n + 64 / operands.bytes() } else { n }
}
