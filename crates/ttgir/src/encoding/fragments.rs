//! Layouts of matrix instructions that deal out runs of elements: one row of data for each family and version.
//!
//! A lane of such an instruction holds runs of neighbouring elements along the *inner* dimension of the result (its
//! rows, or, where the operands change places, its columns); lanes walk along the *outer* dimension first, then along
//! the inner one. Operands have their runs along k. Everything else is counting: see [`Pattern`].

use super::bases::{Bases, LANE, REGISTER, WARP};
use super::shared_layout::part;
use super::{BasisList, matrix};

/// The result of a matrix instruction that deals out runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fragments {
    /// Lanes of a warp: with the version, what finds the family's [`Pattern`].
    pub lanes: u32,
    /// The version of the family.
    pub version: u32,
    /// m, n and k of the instruction.
    pub instr_shape: Vec<u32>,
    /// Whether runs are of columns, not of rows: the instruction gets its operands the other way round.
    pub transposed: bool,
    /// How many tiles lie inside each other along each dimension: neighbours are in the same place of neighbouring
    /// tiles. Empty for one.
    pub interleaved: Vec<u32>,
    /// Which tiles a warp makes, and which warp makes which.
    pub tiles: Tiles,
    /// Bits of an element of the result; 32 where nothing else is said.
    pub element_bits: u32,
    /// How blocks of a cluster split the tensor; empty for one block.
    pub cga: BasisList,
}

/// How tiles are dealt out to registers and warps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Tiles {
    /// So many along each dimension, the last one fastest.
    Counts {
        /// Neighbouring tiles of a warp; empty for one.
        per_warp: Vec<u32>,
        /// Warps.
        warps: Vec<u32>,
    },
    /// Bases in units of tiles.
    Bases {
        /// Tiles of a warp.
        register: BasisList,
        /// Warps.
        warp: BasisList,
    },
}

/// What a family of instructions does with lanes and registers.
#[derive(Debug)]
struct Pattern {
    /// Lanes of a warp.
    lanes: u32,
    /// The versions that do so, the first and the last.
    versions: [u32; 2],
    /// The length of runs in the result.
    run: u32,
    /// The same for elements of 64 bits.
    wide_run: u32,
    /// Whether lanes beyond the outer dimension of an operand hold copies, not more of k.
    copies: bool,
}

static PATTERNS: &[Pattern] = &[
    Pattern { lanes: 64, versions: [1, 4], run: 4, wide_run: 1, copies: false },
    Pattern { lanes: 32, versions: [1, 1], run: 1, wide_run: 1, copies: true },
    Pattern { lanes: 32, versions: [2, 3], run: 8, wide_run: 8, copies: false },
];

impl Fragments {
    fn pattern(&self) -> &'static Pattern {
        self.find_pattern().expect("checked: the family has this version")
    }

    fn find_pattern(&self) -> Option<&'static Pattern> {
        PATTERNS.iter().find(|pattern| {
            let [first, last] = pattern.versions;
            pattern.lanes == self.lanes && (first..=last).contains(&self.version)
        })
    }

    /// Neighbouring elements of the result that a lane has.
    pub fn run(&self) -> u32 {
        let pattern = self.pattern();
        if self.element_bits == 64 { pattern.wide_run } else { pattern.run }
    }

    /// In how many lanes an operand's k lies, for a side of so many rows or columns.
    pub fn lanes_along_k(&self, side: u32) -> u32 {
        let pattern = self.pattern();
        if pattern.copies { 1 } else { pattern.lanes / side }
    }

    /// In which tile along a dimension (0 rows, 1 columns) a position is, and where in it.
    pub fn tile(&self, dim: usize, position: u32) -> (u32, u32) {
        let among = self.interleaved(self.rank() - 2 + dim);
        let (inside, size) = (position / among, self.instr_shape[dim]);
        (inside / size * among + position % among, inside % size)
    }

    /// The first position of a tile along a dimension (0 rows, 1 columns).
    pub fn corner(&self, dim: usize, tile: u32) -> u32 {
        let among = self.interleaved(self.rank() - 2 + dim);
        tile / among * among * self.instr_shape[dim] + tile % among
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        match &self.tiles {
            Tiles::Counts { warps, .. } => warps.len(),
            Tiles::Bases { register, warp } => {
                register.iter().chain(warp).chain(&self.cga).next().map_or(2, Vec::len)
            }
        }
    }

    /// Warps of a program.
    pub(super) fn num_warps(&self) -> u32 {
        match &self.tiles {
            Tiles::Counts { warps, .. } => warps.iter().product(),
            Tiles::Bases { warp, .. } => 1 << warp.len(),
        }
    }

    /// How many tiles lie inside each other along a dimension.
    fn interleaved(&self, dim: usize) -> u32 {
        self.interleaved.get(dim).copied().unwrap_or(1)
    }

    /// The layout of the result.
    pub(super) fn result(&self, shape: &[u32]) -> Bases {
        let rank = shape.len();
        let pattern = self.pattern();
        let mut bases = Bases::new(rank);
        let (rows, columns) = (rank - 2, rank - 1);
        let (inner, outer) = if self.transposed { (columns, rows) } else { (rows, columns) };
        for dim in [inner, outer] {
            bases.along(REGISTER, dim, self.interleaved(dim));
        }
        let [inner_size, outer_size] = [inner, outer].map(|dim| self.instr_shape[dim - rows]);
        let run = self.run();
        let lanes = pattern.lanes / outer_size;
        bases.along(REGISTER, inner, run);
        bases.along(LANE, outer, outer_size);
        bases.along(LANE, inner, lanes);
        bases.along(REGISTER, inner, inner_size / (run * lanes));
        self.deal(&mut bases, None, &part(&self.cga, shape));
        bases.fit(&self.cga, shape, &matrix::row_major(rank))
    }

    /// The layout of an operand with runs of `k_width` along k.
    pub(super) fn operand(&self, op_idx: u32, k_width: u32, shape: &[u32], cga: &[Vec<u32>]) -> Bases {
        let rank = shape.len();
        let pattern = self.pattern();
        let k = matrix::k_dim(op_idx, rank);
        let side = 2 * rank - 3 - k;
        let size = self.instr_shape[side + 2 - rank];
        let order = matrix::dot_operand_order(op_idx, rank);
        let mut bases = Bases::new(rank);
        bases.along(REGISTER, k, k_width);
        bases.along(REGISTER, side, self.interleaved(side));
        bases.along(LANE, side, size);
        let lanes = pattern.lanes / size;
        if pattern.copies {
            bases.repeated(LANE, lanes);
        } else {
            bases.along(LANE, k, lanes);
        }
        let depth = self.depth(k_width);
        bases.along(REGISTER, k, depth / bases.sizes[k].min(depth));
        self.deal_operand(&mut bases, k, &part(cga, shape));
        bases.fit(cga, shape, &order)
    }

    /// How far along k one tile of an operand reaches.
    fn depth(&self, k_width: u32) -> u32 {
        let least = self.instr_shape[0].min(self.instr_shape[1]);
        match self.tiles {
            Tiles::Counts { .. } => k_width * self.lanes / least,
            Tiles::Bases { .. } => self.instr_shape[2],
        }
    }

    /// Where tiles are counted, a warp has all of k in front of its next tile.
    fn deal_operand(&self, bases: &mut Bases, k: usize, shape: &[u32]) {
        if let Tiles::Counts { .. } = self.tiles {
            bases.along(REGISTER, k, shape[k] / bases.sizes[k].min(shape[k]));
        }
        self.deal(bases, Some(k), shape);
    }

    /// Tiles of a warp, then warps; along `k` they hold the same. Where tiles are counted, registers go on along one
    /// dimension before they turn to the next.
    fn deal(&self, bases: &mut Bases, k: Option<usize>, shape: &[u32]) {
        match &self.tiles {
            Tiles::Counts { per_warp, warps } => {
                for dim in matrix::row_major(bases.sizes.len()).into_iter().map(|dim| dim as usize) {
                    if Some(dim) == k {
                        bases.repeated(WARP, warps[dim]);
                        continue;
                    }
                    bases.along(REGISTER, dim, per_warp.get(dim).copied().unwrap_or(1));
                    bases.along(WARP, dim, warps[dim]);
                    bases.along(REGISTER, dim, shape[dim] / bases.sizes[dim].min(shape[dim]));
                }
            }
            Tiles::Bases { register, warp } => {
                let unit = bases.sizes.clone();
                for (input, list) in [(REGISTER, register), (WARP, warp)] {
                    for tile in list {
                        place_tile(bases, input, tile, &unit, k);
                    }
                }
            }
        }
    }

    /// What is wrong with the numbers, if anything is.
    pub(super) fn check(&self) -> Result<(), String> {
        let rank = self.rank();
        let Some(pattern) = self.find_pattern() else {
            return Err(format!("version {} is not known", self.version));
        };
        if !(2..=3).contains(&rank) {
            return Err(format!("a result of a matrix instruction has 2 or 3 dimensions, not {rank}"));
        }
        let [m, n, k] = self.instr_shape[..] else {
            return Err("instrShape has three numbers: m, n and k".into());
        };
        let sizes = [m, n].iter().all(|size| size.is_power_of_two() && *size <= pattern.lanes);
        if !sizes || !k.is_power_of_two() || k > 1 << 10 {
            return Err(format!("instrShape {:?} is no size of an instruction", self.instr_shape));
        }
        let (inner, outer) = if self.transposed { (n, m) } else { (m, n) };
        let run = if self.element_bits == 64 { pattern.wide_run } else { pattern.run };
        if u64::from(run) * u64::from(pattern.lanes / outer) > u64::from(inner) {
            return Err(format!("instrShape {:?} has fewer elements than lanes", self.instr_shape));
        }
        if ![16, 32, 64].contains(&self.element_bits) {
            return Err(format!("elementBitWidth {} is not 16, 32 or 64", self.element_bits));
        }
        let powers = |list: &[u32]| {
            list.is_empty() || list.len() == rank && list.iter().all(|n| n.is_power_of_two() && *n <= 64)
        };
        let fits = match &self.tiles {
            Tiles::Counts { per_warp, warps } => powers(per_warp) && powers(warps),
            Tiles::Bases { register, warp } => are_tiles(&[register, warp], rank),
        };
        if !fits || !powers(&self.interleaved) {
            return Err(format!("tiles are dealt out by powers of two along {rank} dimensions"));
        }
        Ok(())
    }
}

/// One basis of tiles, in units of a tile.
fn place_tile(bases: &mut Bases, input: usize, tile: &[u32], unit: &[u32], k: Option<usize>) {
    let mut basis: Vec<u32> = tile.iter().zip(unit).map(|(at, unit)| at * unit).collect();
    if let Some(k) = k {
        basis[k] = 0;
    }
    for (size, (at, unit)) in bases.sizes.iter_mut().zip(basis.iter().zip(unit)) {
        *size = (*size).max((at + unit).next_power_of_two());
    }
    // Tiles along k are one tile of an operand.
    if input == REGISTER && k.is_some() && basis.iter().all(|&at| at == 0) {
        return;
    }
    bases.inputs[input].push(basis);
}

/// Whether bases of tiles reach every tile of a box.
fn are_tiles(lists: &[&BasisList], rank: usize) -> bool {
    let all = || lists.iter().flat_map(|list| list.iter());
    if all().count() > 16 || all().any(|basis| basis.len() != rank || basis.iter().any(|at| *at >= 1 << 8)) {
        return false;
    }
    let mut bases = Bases::new(rank);
    for basis in all() {
        place_tile(&mut bases, REGISTER, basis, &vec![1; rank], None);
    }
    bases.finish().is_surjective()
}
