//! `wgmma`: products of matrices in shared memory by four warps, which run by themselves.
//!
//! Each warp computes its own 16 of the 64 rows when it executes the instruction, so the results are what they
//! must be; what would go wrong on hardware is found by other means: the registers of a product in flight may not be
//! touched before `wgmma.wait_group`, registers written since `wgmma.fence` may not be used, ordinary stores need a
//! `fence.proxy.async`, and later stores to what is read must come after the wait.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::step::Step;
use crate::machine::warp::{Busy, Flight};
use crate::numeric::cell;
use crate::numeric::matrix::{Matrix, add_product, decode};
use crate::ops::mma;
use crate::syntax::Operand;
use crate::syntax::types::{Type, mask};
use crate::tensor_map::Swizzle;
use emulation::{Access, Fault};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Where `A` is.
enum Left {
    Registers(Vec<Slot>),
    Descriptor(Slot),
}

struct Wgmma {
    columns: usize,
    depth: usize,
    /// Types of D, A and B.
    types: [Type; 3],
    results: Vec<Slot>,
    left: Left,
    right: Slot,
    /// Whether the sum goes on from what D holds.
    accumulates: (Slot, bool),
    negate: [bool; 2],
    transposed: [bool; 2],
    saturate: bool,
}

/// Every `wgmma.…`.
pub(crate) fn wgmma(site: &mut Site<'_>) -> Decoded {
    site.flags(&["sync", "aligned"]);
    site.parts.in_flight_allowed = true;
    if site.flag("fence") {
        return Ok(run(|step| {
            if let Some(flow) = step.aligned() {
                return Ok(flow);
            }
            step.warp.unfenced.fill(false);
            Ok(Flow::Next)
        }));
    }
    if site.flag("commit_group") {
        return Ok(run(|step| {
            step.warp.matrix_groups += 1;
            Ok(Flow::Next)
        }));
    }
    if site.flag("wait_group") {
        site.arity(1, 1)?;
        let left = site.immediate(0)? as u32;
        return Ok(run(move |step| {
            if let Some(flow) = step.aligned() {
                return Ok(flow);
            }
            wait(step, left);
            Ok(Flow::Next)
        }));
    }
    if site.flag("mma_async") { product(site) } else { site.error("the operation is unknown") }
}

/// Ends the products of all but the last `left` groups.
fn wait(step: &mut Step<'_, '_>, left: u32) {
    let warp = &mut *step.warp;
    let end = warp.matrix_groups.saturating_sub(left);
    let mut clock = 0;
    warp.flights.retain(|flight| {
        let over = flight.group < end;
        if over {
            clock = clock.max(flight.clock);
        }
        !over
    });
    warp.busy.fill(Busy::Free);
    for flight in &warp.flights {
        for (slots, busy) in [(&flight.operands, Busy::Operand), (&flight.results, Busy::Result)] {
            for slot in slots {
                warp.busy[slot.index()] = busy;
            }
        }
    }
    let number = warp.number;
    step.team.clocks.finish_asynchronous(number, clock);
}

fn flag_operand(site: &Site<'_>, index: usize) -> Result<i64, Diagnostic> {
    site.immediate(index)
}

fn product(site: &mut Site<'_>) -> Decoded {
    if site.flag("sp") {
        return site.error("sparse products cannot be run");
    }
    let Some((64, columns, depth)) = site.map_modifier(mma::shape) else {
        return site.error("a shape of 64 rows is missing");
    };
    let saturate = site.flag("satfinite");
    let d = site.ty()?;
    let a = site.ty()?;
    let b = site.ty()?;
    let fits =
        columns % 8 == 0 && (8..=256).contains(&columns) && (a.bits as usize).saturating_mul(depth) == 256;
    if !fits || a.bits != b.bits || !matches!(d.width(), 16 | 32) || a.lanes != 1 || b.lanes != 1 {
        return site.error("the shape or the types cannot be run");
    }
    let results = site.dests(0, Type::B32)?;
    let expected = columns / 2 / (if d.bits == 16 { 2 } else { 1 });
    if results.len() != expected {
        return site.error(format!("{} registers for the result, not {expected}", results.len()));
    }
    let left = match site.operand(1)? {
        Operand::Vector(parts) if parts.len() == 4 => Left::Registers(site.sources(1, Type::B32)?),
        Operand::Vector(_) => return site.error("`A` has 4 registers"),
        _ => Left::Descriptor(site.source(1, Type::B64)?),
    };
    let right = site.source(2, Type::B64)?;
    site.sink(&[right]);
    let accumulates = site.predicate(3)?;
    let mut negate = [false; 2];
    let mut transposed = [false; 2];
    let mut next = 4;
    // Scales and majors follow as far as the types have them.
    if site.count() > 4 {
        for negate in &mut negate {
            *negate = match flag_operand(site, next)? {
                1 => false,
                -1 => true,
                other => return site.error(format!("a scale of {other}")),
            };
            next += 1;
        }
    }
    let of_descriptors = match left {
        Left::Registers(_) => &mut transposed[1..],
        Left::Descriptor(_) => &mut transposed[..],
    };
    for transposed in of_descriptors {
        if next < site.count() {
            *transposed = flag_operand(site, next)? != 0;
            next += 1;
        }
    }
    if transposed.contains(&true) && a.bits != 16 {
        return site.error("only elements of 16 bits can be transposed");
    }
    site.arity(next, next)?;
    site.parts.knows = true;
    let types = [d, a, b];
    Ok(Box::new(Wgmma {
        columns,
        depth,
        types,
        results,
        left,
        right,
        accumulates,
        negate,
        transposed,
        saturate,
    }))
}

/// A descriptor of a matrix in shared memory.
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    base_offset: u64,
    swizzle: Swizzle,
}

impl Descriptor {
    fn decode(bits: u64) -> Descriptor {
        let field = |at: u32| (bits >> at & mask(14)) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base_offset: bits >> 49 & 7,
            swizzle,
        }
    }

    /// Bytes of a row of the swizzled pattern.
    fn span(&self) -> u64 {
        16 << (self.swizzle as u64)
    }

    /// The address of 16 bytes: chunk `chunk` (of 16 bytes) along the major dimension, row `row` along the other.
    fn address(&self, transposed: bool, chunk: u64, row: u64) -> u64 {
        let (group, within) = (row / 8, row % 8);
        let chunks = self.span() / 16;
        let offset = match (self.swizzle, transposed) {
            (Swizzle::None, false) => chunk * self.leading + group * self.stride + within * 16,
            // Core matrices along the major dimension are a stride apart, along the other the leading offset.
            (Swizzle::None, true) => chunk * self.stride + group * self.leading + within * 16,
            // A row of the pattern holds all that one instruction needs along `k`.
            (_, false) => chunk * 16 + group * self.stride + within * self.span(),
            (_, true) => {
                chunk / chunks * self.leading
                    + chunk % chunks * 16
                    + group * self.stride
                    + within * self.span()
            }
        };
        let address = self.start + offset;
        let turn = self.base_offset << 7;
        self.swizzle.apply(address.wrapping_sub(turn)).wrapping_add(turn)
    }
}

/// Bytes of a read of a descriptor.
const CHUNK: usize = 16;

impl Wgmma {
    /// Rows of a matrix in shared memory along `k`, and whether all bytes were written.
    fn read(
        &self,
        step: &mut Step<'_, '_>,
        bits: u64,
        (first, rows): (usize, usize),
        (ty, transposed): (Type, bool),
        clock: u32,
    ) -> Result<(Matrix, bool), Box<Fault>> {
        let descriptor = Descriptor::decode(bits);
        let mut matrix = Matrix::new(rows, self.depth);
        let mut known = true;
        let size = ty.bytes();
        let each = CHUNK / size;
        // Along the major dimension go chunks, along the other single rows.
        let (major, minor) = if transposed {
            (first..first + rows, 0..self.depth)
        } else {
            (0..self.depth, first..first + rows)
        };
        for row in minor {
            for chunk in major.start / each..major.end / each {
                let address = descriptor.address(transposed, chunk as u64, row as u64);
                let (data, written) = self.chunk(step, address, clock)?;
                known &= written;
                for (index, bytes) in data.chunks(size).enumerate() {
                    let along = chunk * each + index;
                    let (r, k) = if transposed { (along, row) } else { (row, along) };
                    matrix.set((r - first, k), decode(cell(bytes), ty));
                }
            }
        }
        Ok((matrix, known))
    }

    fn chunk(
        &self,
        step: &mut Step<'_, '_>,
        address: u64,
        clock: u32,
    ) -> Result<([u8; CHUNK], bool), Box<Fault>> {
        let (block, offset) = step.shared_place(address, 0, CHUNK)?;
        let number = step.warp.number;
        let team = &mut *step.team;
        let column = team.clocks.asynchronous_column(number);
        let block = &mut team.blocks[block];
        let mut clash = None;
        if let Some(shadow) = &mut block.shadow {
            let access =
                Access { column, lane: 0, clock, seen: team.clocks.row(number), instruction: step.pc };
            clash = shadow.unfenced(offset..offset + CHUNK, number, &team.clocks);
            clash = shadow.read(offset..offset + CHUNK, &access).or(clash);
        }
        let mut data = [0; CHUNK];
        data.copy_from_slice(&block.shared[offset..offset + CHUNK]);
        let written = block.written[offset..offset + CHUNK].iter().all(|written| *written);
        step.report_clash(clash, offset, 0);
        Ok((data, written))
    }

    /// Registers must have been fenced since they were written, but for results of products before.
    fn check_fence(&self, step: &Step<'_, '_>) -> Result<(), Box<Fault>> {
        let operands = match &self.left {
            Left::Registers(registers) => &registers[..],
            Left::Descriptor(_) => &[],
        };
        let busy = |slot: &&Slot| step.warp.busy.get(slot.index()) == Some(&Busy::Result);
        let name = |slot: Slot| step.world.code.name_of(slot);
        if let Some(slot) = operands.iter().find(busy) {
            let name = name(*slot);
            return Err(step.misuse(format!(
                "`{name}` of `A` is still being computed by a `wgmma.mma_async` in flight"
            )));
        }
        match operands.iter().chain(&self.results).find(|slot| step.warp.unfenced[slot.index()]) {
            None => Ok(()),
            Some(slot) => {
                let name = name(*slot);
                Err(step.misuse(format!(
                    "`{name}` was written since the last `wgmma.fence`: one must come between"
                )))
            }
        }
    }

    fn begin(&self, step: &mut Step<'_, '_>, clock: u32) {
        let operands: Box<[Slot]> = match &self.left {
            Left::Registers(registers) => registers.as_slice().into(),
            Left::Descriptor(_) => Box::default(),
        };
        let warp = &mut *step.warp;
        if warp.busy.is_empty() {
            warp.busy = vec![Busy::Free; warp.rows.len()];
        }
        for (slots, busy) in [(&operands[..], Busy::Operand), (&self.results[..], Busy::Result)] {
            for slot in slots {
                warp.busy[slot.index()] = busy;
            }
        }
        let group = warp.matrix_groups;
        warp.flights.push(Flight { group, results: self.results.as_slice().into(), operands, clock });
    }
}

impl Execute for Wgmma {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        self.check_fence(step)?;
        let [d, a, b] = self.types;
        let number = step.warp.number;
        let clock = step.team.clocks.begin_asynchronous(number);
        // The warp's place among the four says which rows are its own.
        let first = 16 * (step.warp.index as usize % 4);
        let (left, mut known) = match &self.left {
            Left::Registers(registers) => {
                (mma::left(step, registers, a, 2, self.depth), mma::all_known(step, registers))
            }
            Left::Descriptor(slot) => {
                let bits = step.uniform(*slot);
                self.read(step, bits, (first, 16), (a, self.transposed[0]), clock)?
            }
        };
        let bits = step.uniform(self.right);
        let (right, right_known) =
            self.read(step, bits, (0, self.columns), (b, self.transposed[1]), clock)?;
        let mut right = right.transposed();
        known &= right_known;
        if self.negate[0] != self.negate[1] {
            right.values.iter_mut().for_each(|value| *value = -*value);
        }
        let accumulates = step.warp.truth(self.accumulates) & step.mask != 0;
        let mut sums = Matrix::new(16, self.columns);
        if accumulates {
            sums = mma::accumulator(step, &self.results, d, 2, self.columns);
            known &= mma::all_known(step, &self.results);
        }
        add_product(&left, &right, &mut sums);
        mma::deliver(step, &self.results, (d, self.saturate), 2, &sums);
        for slot in &self.results {
            step.know(*slot, if known { u32::MAX } else { 0 });
        }
        self.begin(step, clock);
        if step.world.checks.races {
            step.team.clocks.tick(number);
        }
        Ok(Flow::Next)
    }
}
