//! Scaled matrix instructions of gfx950: `c + (a · scale of a) · (b · scale of b)`, on floats of 8, 6 and 4 bits.
//!
//! Lane `i + M · (k / 32)` has the 32 elements of row `i` from that `k` on, and, in the byte that `opsel` names, the
//! exponent that scales them: a power of two with bias 127. The type of the operands says how many bits there are;
//! `cbsz` and `blgp` the format.

use super::cells::{Kind, low};
use super::matrix::{Item, Operand, Shape, known, place_of_c};
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, LANES, Row, Slot};
use crate::machine::lanes::run;
use crate::machine::step::Step;
use amdgcn_isa::Arch;
use emulation::{E2M1, E2M3, E3M2, E4M3, E5M2, Format};

/// The formats by their numbers.
const FORMATS: [Format; 5] = [E4M3, E5M2, E2M3, E3M2, E2M1];

/// Elements that one exponent scales.
const SCALED: usize = 32;

/// An operand and the exponents that scale it.
struct Scaled {
    operand: Operand,
    exponents: Slot,
    shift: u32,
}

impl Scaled {
    /// Operand `index`, its format at `format`, the byte of its exponents at `byte` and these behind.
    fn new(site: &mut Site<'_, '_>, index: usize, format: usize, byte: usize) -> Result<Scaled, String> {
        let number = site.constant(format)?;
        let format = FORMATS.get(number as usize);
        let item = Item::Small(*format.ok_or_else(|| format!("there is no format {number}"))?);
        let operand = Operand::new(site, index, item)?;
        let (room, needed) = (operand.rows.len() as u32 * operand.width, item.bits() * SCALED as u32);
        if room < needed {
            return Err(format!("operand {index} has {room} bits, its format needs {needed}"));
        }
        let shift = 8 * (site.constant(byte)? as u32 & 3);
        Ok(Scaled { operand, exponents: site.row(byte + 1)?, shift })
    }

    fn rows(&self) -> impl Iterator<Item = Slot> {
        self.operand.rows.iter().copied().chain([self.exponents])
    }

    /// Rows of `k` scaled elements.
    fn gather(&self, step: &Step<'_, '_>, shape: &Shape) -> Vec<f64> {
        let mut out = Vec::with_capacity(shape.m * shape.k);
        for i in 0..shape.m {
            for k in 0..shape.k {
                let lane = i + shape.m * (k / SCALED);
                let exponent = step.get(self.exponents, lane) >> self.shift & low(8);
                let scale = match exponent {
                    0xff => f64::NAN,
                    exponent => 2f64.powi(exponent as i32 - 127),
                };
                out.push(self.operand.get(step, lane, k % SCALED) * scale);
            }
        }
        out
    }
}

/// Decodes a scaled instruction.
pub(super) fn decode(site: &mut Site<'_, '_>, shape: Shape) -> Decoded {
    if site.arch() != Arch::Gfx950 {
        return Err(format!("{} has no scaled matrix instructions", site.arch()));
    }
    let a = Scaled::new(site, 0, 3, 5)?;
    let b = Scaled::new(site, 1, 4, 7)?;
    let c = Operand::new(site, 2, Item::Single)?;
    let dests = site.dests()?;
    let rows = dests.clone();
    let reads: Vec<Slot> = a.rows().chain(b.rows()).chain(c.rows.iter().copied()).collect();
    let all = reads.clone();
    let execute = run(move |step| {
        if !step.is_whole() {
            return Err(step.misuse("a matrix instruction needs all lanes of the warp"));
        }
        let (left, right) = (a.gather(step, &shape), b.gather(step, &shape));
        let mut out: Vec<Row> = vec![[0; LANES]; rows.len()];
        for (i, row) in left.chunks(shape.k).enumerate() {
            for (j, column) in right.chunks(shape.k).enumerate() {
                let (lane, item) = place_of_c(&shape, i, j);
                let addend = c.get(step, lane, item);
                let sum = row.iter().zip(column).fold(addend, |sum, (x, y)| sum + x * y);
                out[item][lane] = Kind::Single.encode(sum);
            }
        }
        let known = known(step, all.iter().copied());
        for (row, values) in rows.iter().zip(&out) {
            step.set(*row, values);
            step.know(*row, known);
        }
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &reads, writes: &dests, knows: true, ..Rows::default() });
    Ok(())
}
