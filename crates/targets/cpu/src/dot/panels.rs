//! Kernels on operands that were packed for a long stretch of `k`: `C[m][n] += A[m][0..k] * B[0..k][n]`.
//!
//! `A` is row-major with a constant stride. `B` lies in column panels as wide as a register tile, each with its rows
//! one after the other: a panel is read from front to end, stays in the first-level cache, and falls onto all of its
//! sets. `k` is an argument; the stretch that panels are made for is [`PanelSpec::depth`].

use super::kernel::{self, Form, Tile};
use super::{
    DotError, DotKernel, DotSpec, Operands, Shape, Start, VectorUnit, amx, interleave_panels, quads,
};
use crate::dot::Definition;

/// Steps of `k` that one iteration of the inner loop does, where they divide the step of the caller.
const STEPS: u32 = 4;

/// One kernel on panels. Of pairs, steps, depth and the stride of `A` count pairs, and rows of panels hold one of each
/// column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PanelSpec {
    /// Rows of `A` and `C`.
    pub m: u32,
    /// Columns of `B` and `C`.
    pub n: u32,
    /// What `k` is a multiple of.
    pub step: u32,
    /// Steps of `k` that a panel has room for.
    pub depth: u32,
    /// The types.
    pub operands: Operands,
    /// Elements from one row of `A` to the next.
    pub a_row_stride: u32,
    /// Elements from one row of `C` to the next.
    pub c_row_stride: u32,
    /// How many rows and columns have a meaning; further sums may be anything.
    pub used: [u32; 2],
    /// The machine.
    pub machine: VectorUnit,
}

/// The chosen kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PanelPlan {
    spec: PanelSpec,
    shape: PanelShape,
    /// Whether arguments say how many rows and columns are multiplied.
    is_part: bool,
    start: Start,
}

/// What multiplies a panel at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PanelShape {
    Vectors(Tile),
    Amx(amx::Block),
}

impl PanelSpec {
    /// The columns of a panel of `B`, of so many rows of `A`, columns and steps of `k`; `None` where the columns do not
    /// fill a vector, so that panels are of no use.
    pub fn width([m, n, k]: [u32; 3], operands: Operands, machine: VectorUnit) -> Option<u32> {
        if operands.takes_amx(&machine, [m, n, k]) {
            return Some(amx::Block::of(m, n).width());
        }
        let lanes = machine.vector_bytes / operands.bytes();
        (n >= lanes).then(|| lanes * (n / lanes).min(DotKernel::widest(machine, operands)))
    }

    /// The most steps of `k`, a power of two, with which a panel of `B` takes no more than about half of a cache. The
    /// rows of `A` that meet it by AMX are as many as its columns, and share that half.
    pub fn depth(
        [m, n, k]: [u32; 3],
        operands: Operands,
        machine: VectorUnit,
        cache_bytes: u64,
    ) -> Option<u32> {
        let width = PanelSpec::width([m, n, k], operands, machine)?;
        let shared = if operands.takes_amx(&machine, [m, n, k]) { 2 } else { 1 };
        let most = cache_bytes * 2 / 3 / u64::from(shared * width * operands.bytes());
        let most = u32::try_from(most).unwrap_or(u32::MAX).clamp(MIN_DEPTH, MAX_DEPTH);
        Some(1 << most.ilog2())
    }
}

/// The least and the most steps of `k` in a panel.
const MIN_DEPTH: u32 = 64;
const MAX_DEPTH: u32 = 512;

impl PanelPlan {
    /// Chooses the register tile.
    ///
    /// # Errors
    /// Sizes that are not powers of two, rows that overlap, too few columns, or a machine that no tile is known for.
    pub fn choose(spec: &PanelSpec) -> Result<PanelPlan, DotError> {
        let shape = match DotKernel::choose(&spec.as_tile())?.shape {
            Shape::Tile { rows, vectors, lanes } => PanelShape::Vectors(Tile { rows, vectors, lanes }),
            Shape::Amx(block) => PanelShape::Amx(block),
            Shape::RowSums { .. } => return Err(DotError { what: "one column has no panels".into() }),
        };
        if !spec.depth.is_multiple_of(spec.step) {
            let PanelSpec { operands, depth, step, .. } = spec;
            return Err(DotError {
                what: format!("no panels of {depth} for {operands:?} in steps of {step}"),
            });
        }
        Ok(PanelPlan { spec: *spec, shape, is_part: false, start: Start::Sums })
    }

    /// Whether there is a kernel that multiplies fewer rows and columns, as it turns out at run time; of vector
    /// registers alone.
    pub fn stops_early(&self) -> bool {
        matches!(self.shape, PanelShape::Vectors(_))
    }

    /// That kernel.
    pub fn of_a_part(self) -> PanelPlan {
        PanelPlan { is_part: self.stops_early(), ..self }
    }

    /// What `k` is a multiple of when a kernel is called; of vector registers alone.
    pub fn steps(&self) -> Option<u32> {
        matches!(self.shape, PanelShape::Vectors(_)).then_some(STEPS.min(self.spec.step))
    }

    /// The kernel that sets `C` to the product or adds it, as a further argument says; of vector registers alone.
    pub fn from_either(self) -> Option<PanelPlan> {
        matches!(self.shape, PanelShape::Vectors(_)).then_some(PanelPlan { start: Start::Given, ..self })
    }

    /// The columns of a panel of `B`.
    pub fn panel_width(&self) -> u32 {
        match self.shape {
            PanelShape::Vectors(tile) => tile.vectors * tile.lanes,
            PanelShape::Amx(block) => block.width(),
        }
    }

    /// Elements from one panel of `B` to the next: a cache line more than a panel has, so that a row that is divided
    /// among panels does not fall onto one set of the cache.
    pub fn panel_stride(&self) -> u32 {
        self.panel_width() * self.spec.depth + 64 / self.spec.operands.bytes()
    }

    /// Elements of all panels of `B` together.
    pub fn panel_elements(&self) -> u64 {
        u64::from(self.spec.n / self.panel_width()) * u64::from(self.panel_stride())
    }

    /// A function that interleaves the rows of a step in place, where they were written one behind the other into the
    /// panels of groups.
    ///
    /// # Errors
    /// Those of [`interleave_panels`].
    pub fn interleave(&self) -> Result<Definition, DotError> {
        let panels = self.spec.n / self.panel_width();
        let (width, stride) = (self.panel_width(), self.panel_stride());
        let rows = self.spec.operands.group() * self.spec.step;
        match self.spec.operands {
            Operands::I8Quads => quads::interleave_quad_panels(rows, width, panels, stride),
            _ => interleave_panels(rows, width, panels, stride),
        }
    }

    /// Whether the kernel walks over blocks of rows or of columns, as an argument says: the operand that lies further
    /// away is asked for in time where it is the one that the kernel walks over.
    pub fn has_orders(&self) -> bool {
        matches!(self.shape, PanelShape::Amx(_))
    }

    /// The symbol of the kernel, without `@`. Its type is `void (ptr a, ptr b, ptr c, i64 k)`, with orders
    /// `void (ptr a, ptr b, ptr c, i64 k, i1 by_rows)`, and of a part `void (ptr a, ptr b, ptr c, i64 k, i64 rows, i64
    /// columns)`, where both are from one to what is used. [`PanelPlan::from_either`] has an `i1 from_zero` behind
    /// these.
    pub fn symbol(&self) -> String {
        let PanelSpec { m, n, step, depth, operands, a_row_stride, c_row_stride, used, .. } = self.spec;
        let used = super::used_name(&used, &[m, n]);
        let part = if self.is_part { ".part" } else { "" };
        let start = if self.start == Start::Given { ".either" } else { "" };
        format!(
            "dn.panels.{}.{m}x{n}x{step}.{depth}.{a_row_stride}.{c_row_stride}{used}{part}{start}",
            operands.name()
        )
    }

    /// The text of the kernel and of the declarations it needs, each with its symbol: emit each symbol once.
    pub fn definitions(&self) -> Vec<Definition> {
        let width = self.panel_width();
        let spec = DotSpec { b_row_stride: width, ..self.spec.as_tile() };
        let (symbol, panel_stride) = (self.symbol(), self.panel_stride());
        match self.shape {
            PanelShape::Vectors(tile) => {
                let steps = self.steps().expect("of vector registers");
                kernel::definitions(
                    &symbol,
                    &spec,
                    tile,
                    Form { panel_stride, steps, k_is_given: true, is_part: self.is_part, start: self.start },
                )
            }
            PanelShape::Amx(block) => {
                let most_k = Some(self.spec.depth);
                let form = amx::Form { panel_stride, most_k, start: Start::Sums };
                amx::definitions(&symbol, &spec, block, form)
            }
        }
    }
}

impl PanelSpec {
    /// One step as a tile.
    fn as_tile(&self) -> DotSpec {
        DotSpec {
            m: self.m,
            n: self.n,
            k: self.step * self.operands.group(),
            operands: self.operands,
            a_row_stride: self.a_row_stride,
            b_row_stride: self.n,
            c_row_stride: self.c_row_stride,
            used: [self.used[0], self.used[1], self.step * self.operands.group()],
            machine: self.machine,
        }
    }
}
