//! Matrix instructions: `mfma` and `wmma`, by the formulas of the ISA manuals.
//!
//! `mfma` of `B` blocks of `M × N × K` (CDNA3 manual, 7.1.4.2), with `K_L = K / (64 / (M · B))`: element `(b, i, k)` of
//! a is item `k mod K_L` of lane `i + M · (b + B · (k / K_L))`, b likewise with `j`. With `H` = 4 (1 of doubles),
//! `B_I = ⌈64 / (N · M / H)⌉`, `M_I = (64 / B_I) / N` and `G = M / (H · M_I)`, element `(b, i, j)` of c is item
//! `(i mod H) + H · (i / (H · M_I) + G · (b / B_I))` of lane `j + N · ((i / H) mod M_I + M_I · (b mod B_I))`.
//!
//! `wmma` of gfx11: lane `l` has row (column) `l mod 16` of a (b), lanes 16 to 31 a copy; item `r` of c is row
//! `2 r + l / 16`, column `l mod 16`. Of gfx12: lane `l` has `k` from `(K / 2) · (l / 16)` on; item `r` of c is row
//! `r + 8 · (l / 16)`.
//!
//! With `cbsz` of n the blocks of each 2^n take the `a` of the one that `abid` counts among them.
//!
//! Products are exact and summed as doubles (integers as integers), and a sum is rounded once.

use super::cells::{Kind, low, signed};
use super::small::{bf8, fp8};
use crate::decode::assembly::Components;
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::Execute;
use crate::machine::code::{Flow, LANES, NOWHERE, Row, Slot};
use crate::machine::step::Step;
use amdgcn_isa::{Arch, CDNA, Matrix, Number};
use emulation::{BF16, F16, Fault, Format, Rounding};

/// How the items of an operand are read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Item {
    Small(Format),
    Single,
    Xf32,
    Double,
    /// Bits, and whether they have a sign.
    Integer(u32, bool),
}

impl Item {
    fn of(number: Number, arch: Arch) -> Item {
        match number {
            Number::F64 => Item::Double,
            Number::F32 => Item::Single,
            Number::Xf32 => Item::Xf32,
            Number::F16 => Item::Small(F16),
            Number::BF16 => Item::Small(BF16),
            Number::Fp8 => Item::Small(fp8(arch)),
            Number::Bf8 => Item::Small(bf8(arch)),
            Number::I8 => Item::Integer(8, true),
            Number::I4 => Item::Integer(4, true),
            Number::I32 => Item::Integer(32, true),
        }
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Item::Small(format) => format.bits(),
            Item::Single | Item::Xf32 => 32,
            Item::Double => 64,
            Item::Integer(bits, _) => bits,
        }
    }

    pub(super) fn decode(self, cell: u64) -> f64 {
        match self {
            Item::Small(format) => format.decode(cell),
            Item::Single => Kind::Single.decode(cell),
            // Only 10 bits of the fraction are looked at.
            Item::Xf32 => Kind::Single.decode(cell & !0x1fff),
            Item::Double => f64::from_bits(cell),
            Item::Integer(bits, true) => signed(cell, bits) as f64,
            Item::Integer(_, false) => cell as f64,
        }
    }

    fn encode(self, value: f64, saturates: bool) -> u64 {
        match self {
            Item::Small(format) => format.encode(value, Rounding::NearestEven),
            Item::Single | Item::Xf32 => Kind::Single.encode(value),
            Item::Double => value.to_bits(),
            Item::Integer(..) if saturates => {
                (value as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u64 & low(32)
            }
            Item::Integer(..) => value as i64 as u64 & low(32),
        }
    }
}

/// Where elements are: the lane and the item, by block, row (column) and the other coordinate.
type Where = fn(&Shape, usize, usize, usize) -> (usize, usize);

/// Sizes of an instruction.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) blocks: usize,
    /// Items of c that are next to one another in `i`.
    pub(super) run: usize,
}

impl From<Matrix> for Shape {
    fn from(matrix: Matrix) -> Shape {
        let [m, n, k, blocks] = [matrix.m, matrix.n, matrix.k, matrix.blocks].map(|size| size as usize);
        Shape { m, n, k, blocks, run: if matrix.c == Number::F64 { 1 } else { 4 } }
    }
}

impl Shape {
    /// Lane and item of element `(b, i, k)` of an operand of so many rows.
    fn operand(&self, rows: usize, b: usize, i: usize, k: usize) -> (usize, usize) {
        let k_lane = self.k / (64 / (rows * self.blocks));
        (i + rows * (b + self.blocks * (k / k_lane)), k % k_lane)
    }
}

fn mfma_a(shape: &Shape, b: usize, i: usize, k: usize) -> (usize, usize) {
    shape.operand(shape.m, b, i, k)
}

fn mfma_b(shape: &Shape, b: usize, j: usize, k: usize) -> (usize, usize) {
    shape.operand(shape.n, b, j, k)
}

fn mfma_c(shape: &Shape, b: usize, i: usize, j: usize) -> (usize, usize) {
    let Shape { m, n, run: h, .. } = *shape;
    let blocks_of_lanes = 64usize.div_ceil(n * m / h);
    let m_lanes = 64 / blocks_of_lanes / n;
    let groups = m / (h * m_lanes);
    let item = i % h + h * (i / (h * m_lanes) + groups * (b / blocks_of_lanes));
    (j + n * (i / h % m_lanes + m_lanes * (b % blocks_of_lanes)), item)
}

fn wmma11(_: &Shape, _: usize, i: usize, k: usize) -> (usize, usize) {
    (i, k)
}

fn wmma11_c(_: &Shape, _: usize, i: usize, j: usize) -> (usize, usize) {
    (j + 16 * (i % 2), i / 2)
}

fn wmma12(shape: &Shape, _: usize, i: usize, k: usize) -> (usize, usize) {
    let half = shape.k / 2;
    (i + 16 * (k / half), k % half)
}

fn wmma12_c(_: &Shape, _: usize, i: usize, j: usize) -> (usize, usize) {
    (j + 16 * (i / 8), i % 8)
}

/// An operand: its components, their width, and what its items are.
#[derive(Clone)]
pub(super) struct Operand {
    pub(super) rows: Components,
    pub(super) width: u32,
    pub(super) item: Item,
}

impl Operand {
    pub(super) fn new(site: &mut Site<'_, '_>, index: usize, item: Item) -> Result<Operand, String> {
        Ok(Operand { rows: site.rows(index)?, width: site.ty(index).lane_bits(), item })
    }

    /// An item of a lane.
    pub(super) fn get(&self, step: &Step<'_, '_>, lane: usize, item: usize) -> f64 {
        let bits = self.item.bits();
        let (first, shift) = (item as u32 * bits / self.width, item as u32 * bits % self.width);
        let mut cell = step.get(self.rows[first as usize], lane) >> shift;
        // Items of 6 bits may lie across words.
        if shift + bits > self.width {
            cell |= step.get(self.rows[first as usize + 1], lane) << (self.width - shift);
        }
        self.item.decode(cell & low(bits))
    }
}

/// A matrix instruction.
struct Product {
    shape: Shape,
    a: (Operand, Where),
    b: (Operand, Where),
    c: (Operand, Where),
    dests: Vec<Slot>,
    /// The items of c are every so many, from a first one on.
    spread: (usize, usize),
    saturates: bool,
    /// Lanes 16 to 31 must hold what lanes 0 to 15 do.
    has_copies: bool,
    /// How many blocks share an `a`, and whose it is.
    among: usize,
    of_block: usize,
}

/// Decodes a matrix instruction of the table.
pub(super) fn decode(site: &mut Site<'_, '_>, matrix: Matrix) -> Decoded {
    let arch = site.arch();
    let (a, b, c) = (Item::of(matrix.a, arch), Item::of(matrix.b, arch), Item::of(matrix.c, arch));
    let shape = Shape::from(matrix);
    if CDNA.has(arch) {
        let (among, block) = (site.constant(3)? as usize, site.constant(4)? as usize);
        if site.constant(5)? != 0 || 1 << among > shape.blocks || block >> among != 0 {
            return Err(format!(
                "a matrix instruction of {} blocks with cbsz {among}, abid {block} and a blgp that may not be 0 cannot be run",
                shape.blocks
            ));
        }
        let operands = [Operand::new(site, 0, a)?, Operand::new(site, 1, b)?, Operand::new(site, 2, c)?];
        let options = Options { among, block, ..Options::default() };
        return product(site, shape, operands, [mfma_a, mfma_b, mfma_c], options);
    }
    wmma(site, shape, [a, b, c])
}

/// What else there is to an instruction.
#[derive(Default)]
struct Options {
    spread: Option<usize>,
    saturates: bool,
    has_copies: bool,
    /// A power of two of blocks that share the `a` of one of them.
    among: usize,
    /// Which one.
    block: usize,
}

fn wmma(site: &mut Site<'_, '_>, shape: Shape, [a, b, c]: [Item; 3]) -> Decoded {
    let is_gfx11 = site.arch() == Arch::Gfx1100;
    let places: [Where; 3] = if is_gfx11 { [wmma11, wmma11, wmma11_c] } else { [wmma12, wmma12, wmma12_c] };
    let is_integer = matches!(a, Item::Integer(..));
    let (first, second, third) = if is_integer { (1, 3, 4) } else { (0, 1, 2) };
    let with_sign = |site: &Site<'_, '_>, item: Item, index: usize| match item {
        Item::Integer(bits, _) => site.constant(index).map(|sign| Item::Integer(bits, sign & 1 == 1)),
        item => Ok(item),
    };
    let (a, b) = (with_sign(site, a, 0)?, with_sign(site, b, 2)?);
    let is_half = matches!(c, Item::Small(_));
    let options = Options {
        // gfx11 keeps 16-bit results in one half of each word.
        spread: if is_half && is_gfx11 { Some(site.constant(3)? as usize & 1) } else { None },
        saturates: is_integer && site.constant(5)? & 1 == 1,
        has_copies: is_gfx11,
        ..Options::default()
    };
    let operands =
        [Operand::new(site, first, a)?, Operand::new(site, second, b)?, Operand::new(site, third, c)?];
    product(site, shape, operands, places, options)
}

fn product(
    site: &mut Site<'_, '_>,
    shape: Shape,
    [a, b, c]: [Operand; 3],
    places: [Where; 3],
    options: Options,
) -> Decoded {
    let dests = site.dests()?.to_vec();
    let spread = options.spread.map_or((1, 0), |first| (2, first));
    let written: Vec<Slot> = dests.iter().copied().skip(spread.1).step_by(spread.0).collect();
    // The other halves of words are anything.
    for (index, row) in site.result.iter_mut().enumerate() {
        if index % spread.0 != spread.1 {
            *row = NOWHERE;
        }
    }
    let of_c = c.rows.iter().skip(spread.1).step_by(spread.0);
    let reads: Vec<Slot> = a.rows.iter().chain(&b.rows).chain(of_c).copied().collect();
    let product = Product {
        shape,
        a: (a, places[0]),
        b: (b, places[1]),
        c: (c, places[2]),
        dests,
        spread,
        saturates: options.saturates,
        has_copies: options.has_copies,
        among: 1 << options.among,
        of_block: options.block,
    };
    site.add(Box::new(product), Rows { reads: &reads, writes: &written, knows: true, ..Rows::default() });
    Ok(())
}

/// Results are known where all that goes into them is: rows and columns of unknown operands are not.
pub(super) fn known(step: &Step<'_, '_>, rows: impl Iterator<Item = Slot>) -> u64 {
    let all = rows.fold(u64::MAX, |known, row| known & step.wave.known(row));
    if step.mask & !all == 0 { u64::MAX } else { 0 }
}

impl Execute for Product {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        if !step.is_whole() {
            return Err(step.misuse("a matrix instruction needs all lanes of the warp"));
        }
        if self.has_copies {
            self.check_copies(step)?;
        }
        let Shape { m, n, k, blocks, .. } = self.shape;
        let gather = |(operand, place): &(Operand, Where), rows: usize, b: usize| -> Vec<f64> {
            let elements = (0..rows).flat_map(|i| (0..k).map(move |k| (i, k)));
            let get = |(i, k)| {
                let (lane, item) = place(&self.shape, b, i, k);
                operand.get(step, lane, item)
            };
            elements.map(get).collect()
        };
        let mut out: Vec<Row> = vec![[0; LANES]; self.dests.len()];
        for block in 0..blocks {
            let of_a = block / self.among * self.among + self.of_block;
            let (a, b) = (gather(&self.a, m, of_a), gather(&self.b, n, block));
            for (i, row) in a.chunks(k).enumerate() {
                for (j, column) in b.chunks(k).enumerate() {
                    let (lane, item) = (self.c.1)(&self.shape, block, i, j);
                    let item = item * self.spread.0 + self.spread.1;
                    let addend = self.c.0.get(step, lane, item);
                    out[item][lane] = self.sum(row, column, addend);
                }
            }
        }
        let (step_by, first) = self.spread;
        let of_c = self.c.0.rows.iter().skip(first).step_by(step_by);
        let rows = self.a.0.rows.iter().chain(&self.b.0.rows).chain(of_c).copied();
        let known = known(step, rows);
        for (dest, values) in self.dests.iter().zip(&out).skip(first).step_by(step_by) {
            step.set(*dest, values);
            step.know(*dest, known);
        }
        Ok(Flow::Next)
    }
}

impl Product {
    fn sum(&self, row: &[f64], column: &[f64], addend: f64) -> u64 {
        let item = self.c.0.item;
        let pairs = row.iter().zip(column);
        let sum = match item {
            Item::Double => pairs.fold(addend, |sum, (x, y)| x.mul_add(*y, sum)),
            _ => pairs.fold(addend, |sum, (x, y)| sum + x * y),
        };
        item.encode(sum, self.saturates)
    }

    /// Faults where the upper lanes do not hold what the lower ones do.
    fn check_copies(&self, step: &Step<'_, '_>) -> Result<(), Box<Fault>> {
        for row in self.a.0.rows.iter().chain(&self.b.0.rows) {
            for lane in 0..16 {
                let known = step.wave.known(*row) >> lane & step.wave.known(*row) >> (lane + 16) & 1 == 1;
                if known && step.get(*row, lane) != step.get(*row, lane + 16) {
                    let message = format!("lane {} must hold what lane {lane} does", lane + 16);
                    return Err(step.fault(emulation::FaultKind::Misuse, lane + 16, message));
                }
            }
        }
        Ok(())
    }
}

/// Where `mfma` keeps c, for the scaled instructions.
pub(super) fn place_of_c(shape: &Shape, i: usize, j: usize) -> (usize, usize) {
    mfma_c(shape, 0, i, j)
}
