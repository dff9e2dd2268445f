//! The step into this IR: every block gets a layout.
//!
//! ```text
//! tt.func @f(%p: !tt.ptr<f32>) {              module attributes {"ttg.num-warps" = 4 : i32, …} { tt.func @f(…) {
//!   %r = tt.make_range … : tensor<256xi32>  =>   %r = tt.make_range … : tensor<256xi32, #blocked>
//!   …                                            …
//! ```
//!
//! Assumed: verified code. What layouts cannot say or no machine does as it stands is written otherwise
//! first: tensor descriptors that bulk copies do not serve as addresses and masks, concatenation as pairs, scaled
//! dots as dots of widened operands.

mod begins;
mod box_loads;
mod cat;
mod load_once;
mod map_parts;
mod maps;
mod order;
mod pairs;
mod persist;
mod powers;
mod scaled;
mod squeeze_boxes;
mod tile_order;
mod unaligned;

pub(crate) use begins::Begin;
pub(crate) use box_loads::BOX_LOADS;
pub use box_loads::{GUARDS, LOAD_NOTES, guards, load_notes};
pub(crate) use cat::EXPAND_CAT;
pub(crate) use load_once::LOAD_ONCE;
pub(crate) use map_parts::value_of;
pub use map_parts::{Combine, MAP_OF, MapPart, MapParts, map_parts};
pub(crate) use maps::KEEP_DESCRIPTORS;
pub use maps::{MAP_COPIED, MAP_WRITTEN};
pub(crate) use maps::{is_written, map_slot};
pub use pairs::{HALVED, PAIRS, pairs};
pub(crate) use pairs::{PAIR, is_halved};
pub(crate) use persist::PERSIST;
pub use persist::{PERSISTENCE, PROGRAMS, persistence, programs_params};
pub(crate) use powers::BRANCH_POWERS;
pub(crate) use scaled::EXPAND_SCALED;
pub(crate) use squeeze_boxes::SQUEEZE_BOXES;
pub(crate) use tile_order::TILE_ORDER;
pub use unaligned::{UNALIGNED, UnalignedLoad, unaligned};

use crate::passes::{ASSIGN_LAYOUTS, DROP_CARRIED, SPLIT_PRECISION};
use crate::{Config, Machine, module};
use ir::pass::PassRow;
use ir::{Diagnostic, Module};
use layout::Dim;
use ttir::ops::func::FuncOp;
use ttir::passes::{EXPAND_DESCRIPTORS, FLATTEN_DESCRIPTORS};
use ttir::types::{is_odd, is_tensor, shape};

/// Forms that no layout or machine has are written otherwise.
static FORMS: &[&PassRow] = &[
    &FLATTEN_DESCRIPTORS,
    &EXPAND_CAT,
    &EXPAND_SCALED,
    // What is left of carried addresses is dropped next.
    &LOAD_ONCE,
    // Before loads become bulk copies: a descriptor of what only unused dots read would never get a layout.
    &DROP_CARRIED,
    &BOX_LOADS,
    &KEEP_DESCRIPTORS,
    &EXPAND_DESCRIPTORS,
    &SQUEEZE_BOXES,
    &BRANCH_POWERS,
    &SPLIT_PRECISION,
    &PERSIST,
    &PAIR,
    &TILE_ORDER,
];

/// Gives every block of a program a layout, for a machine and so many warps and blocks of a cluster.
///
/// # Errors
/// When the program is not one of this machine: too many warps, or what no layout can hold.
pub fn from_ttir(
    program: &mut Module,
    machine: &'static Machine,
    num_warps: u32,
    num_ctas: u32,
) -> Result<(), Diagnostic> {
    if !num_warps.is_power_of_two() || num_warps > machine.max_warps {
        return Err(Diagnostic::new(format!(
            "num_warps is {num_warps}, it must be a power of two up to {}",
            machine.max_warps
        )));
    }
    if !num_ctas.is_power_of_two() || num_ctas > machine.cluster {
        return Err(Diagnostic::new(format!(
            "num_ctas is {num_ctas}, it must be a power of two up to {}",
            machine.cluster
        ))
        .note(format!("`{}` has clusters of at most {} blocks", machine.name, machine.cluster)));
    }
    program.set_registry(crate::registry());
    program.set_environment(machine);
    Config { num_warps, threads_per_warp: machine.warp_size, num_ctas }.set(program);
    module::set_target(program, machine.name);
    refuse(program)?;
    for pass in FORMS {
        (pass.run)(program)?;
    }
    (ASSIGN_LAYOUTS.run)(program)
}

/// Refuses what cannot be written otherwise either.
fn refuse(program: &Module) -> Result<(), Diagnostic> {
    for op in program.walk(program.top()) {
        let place = || program.locs.describe(program.loc(op));
        if let Some(func) = FuncOp::of(program, op)
            && func.is_kernel()
            && func.params().iter().any(|&param| is_tensor(program.ty(param)))
        {
            let message = "a kernel cannot take a block as a parameter";
            return Err(Diagnostic::new(message).at(place()).note("pass a pointer and load the block"));
        }
        if program.results(op).iter().any(|&result| is_odd(program.ty(result))) {
            let message = "layouts hold blocks whose sizes are powers of two";
            return Err(Diagnostic::new(message)
                .at(place())
                .note("the pass `pad-blocks` makes them of others"));
        }
        let axes = program.results(op).iter().map(|&result| shape(program.ty(result)).len()).max();
        if let Some(axes) = axes.filter(|axes| *axes > Dim::MOST) {
            let message = format!("a block of {axes} axes: layouts have at most {}", Dim::MOST);
            let note = "reshape it to fewer axes first; those of size 1 count as well";
            return Err(Diagnostic::new(message).at(place()).note(note));
        }
    }
    Ok(())
}
