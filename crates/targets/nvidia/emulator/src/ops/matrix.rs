//! `ldmatrix`, `stmatrix`, `movmatrix`: tiles of 8 by 8 elements of 16 bits, spread over the lanes of a warp.
//!
//! Lane `l` holds of a tile the elements `2 * (l % 4)` and the next of row `l / 4` (of column, if transposed).

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::place::Address;
use crate::machine::place::Place;
use crate::machine::step::Step;
use crate::ops::mma;
use crate::syntax::types::{Space, Type};
use emulation::{Fault, FaultKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Bytes of a tile's row.
const ROW: usize = 16;

/// A tile and which of its bytes are known.
type Tile = [[u16; 8]; 8];

struct Shape {
    tiles: usize,
    transposed: bool,
    space: Space,
}

fn shape(site: &mut Site<'_>) -> Result<Shape, Diagnostic> {
    site.flags(&["sync", "aligned"]);
    if !site.flag("m8n8") {
        return site.error("only tiles of `.m8n8` can be run");
    }
    let Some(tiles) = site.choice(&[("x1", 1), ("x2", 2), ("x4", 4)]) else {
        return site.error("the number of tiles is missing");
    };
    let transposed = site.flag("trans");
    let space = site.space();
    if site.ty()? != Type::B16 {
        return site.error("only elements of `.b16` can be run");
    }
    site.arity(2, 2)?;
    Ok(Shape { tiles, transposed, space })
}

/// The element of a tile that a lane holds as its `half`.
fn element(lane: usize, half: usize, transposed: bool) -> (usize, usize) {
    let (major, minor) = (lane / 4, 2 * (lane % 4) + half);
    if transposed { (minor, major) } else { (major, minor) }
}

/// The place of a row, whose address a lane gives.
fn row_place(
    step: &mut Step<'_, '_>,
    space: Space,
    address: Address,
    lane: u32,
) -> Result<Place, Box<Fault>> {
    let space = if space == Space::Generic { Space::Generic } else { Space::Shared };
    let at = step.effective(address, lane);
    match step.place(space, at, lane, ROW, ROW)? {
        place @ Place::Shared(..) => Ok(place),
        _ => Err(step.fault(FaultKind::Misuse, lane, "the rows of a tile lie in shared memory")),
    }
}

/// Counts the passes over the banks that the rows of the tiles take.
fn count_rows(step: &mut Step<'_, '_>, address: Address, tiles: usize) {
    if step.world.checks.counters {
        let addresses: Vec<u64> = (0..8 * tiles as u32).map(|lane| step.effective(address, lane)).collect();
        step.count_traffic(Space::Shared, &addresses, ROW);
    }
}

/// `ldmatrix`.
pub(crate) fn ldmatrix(site: &mut Site<'_>) -> Decoded {
    let Shape { tiles, transposed, space } = shape(site)?;
    let dests = site.dests(0, Type::B32)?;
    if dests.len() != tiles {
        return site.error(format!("{} registers for {tiles} tiles", dests.len()));
    }
    let address = site.address(1)?;
    site.parts.knows = true;
    Ok(run(move |step| {
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        count_rows(step, address, tiles);
        let mut known = true;
        let mut loaded: Vec<Tile> = vec![[[0; 8]; 8]; tiles];
        for (index, tile) in loaded.iter_mut().enumerate() {
            for (row, elements) in tile.iter_mut().enumerate() {
                let lane = (8 * index + row) as u32;
                let mut bytes = [0; ROW];
                let place = row_place(step, space, address, lane)?;
                known &= step.load_place(place, lane, &mut bytes);
                for (element, pair) in elements.iter_mut().zip(bytes.chunks(2)) {
                    *element = u16::from_le_bytes([pair[0], pair[1]]);
                }
            }
        }
        for (tile, dest) in loaded.iter().zip(&dests) {
            let values = std::array::from_fn(|lane| {
                let at = |half| {
                    let (row, column) = element(lane, half, transposed);
                    u64::from(tile[row][column])
                };
                at(1) << 16 | at(0)
            });
            let mask = step.mask;
            step.warp.set(*dest, mask, &values);
            step.know(*dest, if known { u32::MAX } else { 0 });
        }
        Ok(Flow::Next)
    }))
}

/// `stmatrix`.
pub(crate) fn stmatrix(site: &mut Site<'_>) -> Decoded {
    let Shape { tiles, transposed, space } = shape(site)?;
    let address = site.address(0)?;
    let sources = site.sources(1, Type::B32)?;
    if sources.len() != tiles {
        return site.error(format!("{} registers for {tiles} tiles", sources.len()));
    }
    Ok(run(move |step| {
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        count_rows(step, address, tiles);
        for (index, source) in sources.iter().enumerate() {
            let known = mma::all_known(step, &[*source]);
            let tile = gather(step.warp.row(*source), transposed);
            for (row, elements) in tile.iter().enumerate() {
                let lane = (8 * index + row) as u32;
                let mut bytes = [0; ROW];
                for (pair, element) in bytes.chunks_mut(2).zip(elements) {
                    pair.copy_from_slice(&element.to_le_bytes());
                }
                let place = row_place(step, space, address, lane)?;
                step.store_place(place, lane, &bytes)?;
                if !known {
                    step.unwrite(place, ROW);
                }
            }
        }
        Ok(Flow::Next)
    }))
}

/// The tile that lanes hold.
fn gather(row: &[u64; 32], transposed: bool) -> Tile {
    let mut tile = [[0; 8]; 8];
    for (lane, cell) in row.iter().enumerate() {
        for half in 0..2 {
            let (row, column) = element(lane, half, transposed);
            tile[row][column] = (cell >> (16 * half)) as u16;
        }
    }
    tile
}

/// `movmatrix`: transposes a tile within the registers.
pub(crate) fn movmatrix(site: &mut Site<'_>) -> Decoded {
    site.flags(&["sync", "aligned", "m8n8", "trans"]);
    site.ty()?;
    site.arity(2, 2)?;
    let (dest, source): (Slot, Slot) = (site.dest(0, Type::B32)?, site.source(1, Type::B32)?);
    Ok(run(move |step| {
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        let tile = gather(step.warp.row(source), true);
        let values = std::array::from_fn(|lane| {
            let at = |half| {
                let (row, column) = element(lane, half, false);
                u64::from(tile[row][column])
            };
            at(1) << 16 | at(0)
        });
        let mask = step.mask;
        step.warp.set(dest, mask, &values);
        Ok(Flow::Next)
    }))
}
