//! Loads by addresses that feed dots in loops, and read boxes of tensors, become loads by descriptors that launches
//! make; in loops over programs or tiles whose loads run ahead, so do stores that write boxes.
//!
//! ```text
//! scf.for … iter_args(%q = %first) {                    one more parameter: %a.map: !tt.tensordesc<…> {tt.map_of = …}
//!   %x = tt.load %q, %mask, %zero                 =>    scf.for … {
//!   scf.yield (tt.addptr %q, %step)                       %x = tt.descriptor_load %a.map[%i, %j]
//! ```
//!
//! Which loads those are, `ttir::boxes` says. What a launch must be for it is the attribute `tt.guards` of the kernel:
//! a launch that is not so takes the kernel without it. Addresses and strides must be known to be multiples of what
//! bulk copies need; kernels say what could be loaded if they were ([`super::unaligned`]), and are compiled once more
//! for launches that copy it first.

use super::begins::begins_aligned;
use super::map_parts::{Combine, MapPart, MapParts, UNBOUNDED, map_parts};
use super::maps::{MAP_COPIED, add_map, is_box, is_map_written};
use super::unaligned::{UNALIGNED, UnalignedLoad};
use crate::Machine;
use crate::machine::{Copies, Persistence};
use crate::passes::{Context, DROP_CARRIED, feeds_dot, is_dot, written_params};
use ir::pass::PassRow;
use ir::passes::CANONICALIZE;
use ir::{Attr, Block, Builder, DeclaredKey, Def, Diagnostic, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::axis::{self, AxisTable};
use ttir::boxes::{self, BoxAccess, BoxAxis, Boxes, Poly, Reason};
use ttir::ops::access::AccessOp;
use ttir::ops::control::FLATTEN;
use ttir::ops::descriptor::{self, DescriptorLoadOp};
use ttir::ops::func::{FuncOp, kernels};
use ttir::ops::shape::{RESHAPE, ReshapeOp, TRANS, TransOp};
use ttir::types::{elem, elem_bytes, is_tensor, shape, tensor, tensordesc};

/// Attribute of a kernel: what a launch must be, as `ttir::boxes` writes it.
pub static GUARDS: DeclaredKey = DeclaredKey::new("tt.guards", "What a launch of the kernel must be.");

/// Attribute of a kernel: who loads what feeds its dots, and why.
pub static LOAD_NOTES: DeclaredKey =
    DeclaredKey::new("ttg.load-notes", "Who loads what feeds the dots of loops by addresses, and why.");

/// Loads of boxes become loads by descriptors.
pub(crate) static BOX_LOADS: PassRow = PassRow {
    name: "box-loads",
    doc: "Loads by addresses that read boxes of tensors become loads by descriptors that launches make.",
    run,
};

/// What a launch of a kernel must be.
pub fn guards(module: &Module, kernel: Op) -> Option<&str> {
    module.extra_attr(kernel, GUARDS.name).and_then(Attr::as_str)
}

/// Who loads what feeds the dots of a kernel, one sentence for each load.
pub fn load_notes(module: &Module, kernel: Op) -> Vec<String> {
    let notes = module.extra_attr(kernel, LOAD_NOTES.name).and_then(Attr::as_str);
    notes.map_or_else(Vec::new, |notes| notes.split("; ").map(str::to_owned).collect())
}

/// The loads of a kernel that would be bulk copies on a machine, and its stores among those asked for; and why the
/// others, of loads those that feed dots in loops, would not.
fn box_accesses(module: &Module, kernel: Op, stores: Stores, copies: Copies) -> Boxes {
    let inside = module.walk(kernel);
    let loads = inside.iter().copied().filter(|&op| is_wanted(module, kernel, op));
    let (rows, matrices): (Vec<Op>, Vec<Op>) = loads.partition(|&op| is_row(module, op));
    let stores: Vec<Op> = inside.iter().copied().filter(|&op| stores.asks_for(module, op)).collect();
    if matrices.is_empty() && (stores.is_empty() || !inside.iter().any(|&op| is_dot(module, op))) {
        return Boxes::default();
    }
    let entry = FuncOp::new(module, kernel).entry();
    let axis = axis::analyze(module, kernel);
    let analyze = |loads: &[Op]| {
        boxes::analyze(module, kernel, (loads, &stores), |access| fits(module, entry, &axis, access, copies))
    };
    let mut found = analyze(&matrices);
    let mut beside = rows_beside(module, &rows, &found);
    let mut reasons: FxHashMap<Op, Reason> = FxHashMap::default();
    while !beside.is_empty() {
        let with_rows = analyze(&[&matrices[..], &beside].concat());
        if with_rows.refused.len() == found.refused.len() {
            found = with_rows;
            break;
        }
        reasons.extend(with_rows.refused.iter().copied().filter(|(op, _)| beside.contains(op)));
        beside = rows_beside(module, &beside, &with_rows);
    }
    for row in rows.into_iter().filter(|row| !beside.contains(row)) {
        let reason = reasons.remove(&row);
        found.refused.push((row, reason.unwrap_or("it is a row, and lanes copy another block of its loop")));
    }
    found
}

/// Whether a load gives a block of one dimension.
fn is_row(module: &Module, load: Op) -> bool {
    shape(module.ty(module.result(load, 0))).len() == 1
}

/// Rows that are loaded in loops all of whose other blocks are boxes: lanes have nothing to copy there then. By itself
/// a row is not worth a bulk copy.
fn rows_beside(module: &Module, rows: &[Op], found: &Boxes) -> Vec<Op> {
    let around = |op: Op| {
        let mut parents = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
        parents.find(|&op| module.has(op, Traits::LOOP))
    };
    let has_boxes = |row: Op| found.loads.iter().any(|load| around(load.op) == around(row));
    let has_others = |row: Op| found.refused.iter().any(|&(other, _)| around(other) == around(row));
    rows.iter().copied().filter(|&row| has_boxes(row) && !has_others(row)).collect()
}

/// Whether a load feeds a dot in a loop.
fn is_wanted(module: &Module, kernel: Op, op: Op) -> bool {
    let around = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    AccessOp::load(module, op).is_some_and(|load| is_tensor(module.ty(load.ptr())))
        && around.take_while(|&op| op != kernel).any(|op| module.has(op, Traits::LOOP))
        && feeds_dot(module, None, op)
}

/// The stores by addresses that are to be bulk copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stores {
    None,
    /// Those beside whose blocks the loads of later ones run ahead: in a loop over tiles that says `tt.flatten`, whose
    /// other accesses by addresses are boxes too. Others gain nothing by it.
    InFlatLoops,
    /// Those of a kernel that will be a loop over its programs.
    All,
}

impl Stores {
    fn of(machine: &Machine) -> Stores {
        match machine.persistence {
            _ if !machine.bulk_store => Stores::None,
            Persistence::Loop => Stores::All,
            _ => Stores::InFlatLoops,
        }
    }

    fn asks_for(self, module: &Module, op: Op) -> bool {
        is_block_store(module, op)
            && match self {
                Stores::None => false,
                Stores::InFlatLoops => flat_loop(module, op).is_some(),
                Stores::All => true,
            }
    }
}

/// The loop around an operation that says `tt.flatten`, with a loop over dots in it.
fn flat_loop(module: &Module, op: Op) -> Option<Op> {
    let is_flat = |op: Op| module.extra_attr(op, FLATTEN.name).is_some();
    let mut around = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    around.find(|&op| is_flat(op) && has_dot_loop(module, op))
}

/// Whether lanes move something by addresses in the flat loops of some stores. What they load through one parameter
/// may have been stored through another, and a bulk copy would not have written it yet.
fn have_others_beside(module: &Module, found: &Boxes) -> bool {
    let is_box = |op: Op| found.loads.iter().chain(&found.stores).any(|access| access.op == op);
    let is_access = |op: Op| AccessOp::load(module, op).or(AccessOp::store(module, op)).is_some();
    let around = found.stores.iter().filter_map(|store| flat_loop(module, store.op));
    around.into_iter().any(|around| module.walk(around).into_iter().any(|op| is_access(op) && !is_box(op)))
}

/// Whether there is a loop over dots in an operation.
fn has_dot_loop(module: &Module, op: Op) -> bool {
    let has_dot = |op: Op| module.walk(op).iter().any(|&op| is_dot(module, op));
    module.walk(op).into_iter().any(|inner| inner != op && module.has(inner, Traits::LOOP) && has_dot(inner))
}

fn is_block_store(module: &Module, op: Op) -> bool {
    AccessOp::store(module, op).is_some_and(|store| !store.is_atomic() && is_tensor(module.ty(store.ptr())))
}

/// The block that an access loads or stores.
fn block(module: &Module, access: &BoxAccess) -> Value {
    let stored = AccessOp::store(module, access.op).and_then(AccessOp::value);
    stored.unwrap_or_else(|| module.result(access.op, 0))
}

/// Why lanes load what bulk copies could load of a copy.
const OFF_UNITS: Reason = "its address or the distance of its rows is not known to be a multiple of 16 bytes";

/// Whether bulk copies can move the boxes of an access, of a copy of the tensor where launches make these.
fn fits(
    module: &Module,
    entry: Block,
    axis: &AxisTable,
    load: &BoxAccess,
    copies: Copies,
) -> Result<(), Reason> {
    let parts =
        parts(module, entry, load).ok_or("sizes or strides are no sums and products of parameters")?;
    let bytes = elem_bytes(elem(module.ty(block(module, load))));
    let may_be_copied = copies == Copies::Made && is_load(module, load) && !parts.sizes.contains(&UNBOUNDED);
    if !may_be_copied && !parts.is_aligned(module, entry, bytes) {
        return Err(OFF_UNITS);
    }
    let columns = &load.axes[load.fastest].start;
    if !begins_aligned(columns.divisor(|atom| axis.info(module, atom).every(0)), bytes) {
        return Err("where its rows begin is not known to be a multiple of 16 bytes");
    }
    if is_box(desc_type(module, load), shape(desc_type(module, load))) {
        Ok(())
    } else {
        Err("its block is none that bulk copies can move")
    }
}

fn is_load(module: &Module, access: &BoxAccess) -> bool {
    AccessOp::load(module, access.op).is_some()
}

/// Whether a load can be one by a descriptor of a copy of the tensor alone.
fn is_unaligned(module: &Module, entry: Block, access: &BoxAccess) -> bool {
    let bytes = elem_bytes(elem(module.ty(block(module, access))));
    let parts = parts(module, entry, access);
    is_load(module, access) && parts.is_some_and(|parts| !parts.is_aligned(module, entry, bytes))
}

/// What bulk copies could load if launches copied it: nothing, unless they could then load all matrices of the loops.
fn unaligned_loads(module: &Module, kernel: Op, found: &Boxes) -> Vec<UnalignedLoad> {
    if !found.refused.iter().any(|&(_, reason)| reason == OFF_UNITS) {
        return Vec::new();
    }
    let entry = FuncOp::new(module, kernel).entry();
    let copied = box_accesses(module, kernel, Stores::None, Copies::Made);
    if copied.refused.iter().any(|&(op, _)| !is_row(module, op)) {
        return Vec::new();
    }
    // A copy is of what was there before the launch.
    let Some(apart) = written_params(module, kernel) else { return Vec::new() };
    let loads = copied.loads.iter().filter(|load| is_unaligned(module, entry, load));
    let unaligned = |load: &BoxAccess| {
        Some(UnalignedLoad {
            parts: parts(module, entry, load)?,
            bytes: elem_bytes(elem(module.ty(block(module, load)))),
            reads: order(load).into_iter().map(|at| read_along(module, load, at)).collect(),
            apart: apart.clone(),
        })
    };
    loads.filter_map(unaligned).collect()
}

/// Elements that the innermost loop around a load reads along an axis; none where it goes on along that axis.
fn read_along(module: &Module, load: &BoxAccess, axis: usize) -> Option<u64> {
    let axis = &load.axes[axis];
    let mut around = std::iter::successors(module.parent_op(load.op), |&op| module.parent_op(op));
    let inner = around.find(|&op| module.has(op, Traits::LOOP));
    let is_inside = |atom: Value| {
        let block = match module.def(atom) {
            Def::Arg(block, _) => Some(block),
            Def::Result(op, _) => module.block_of(op),
        };
        let op = block.and_then(|block| module.region_parent(module.block_region(block)));
        op.is_some_and(|op| inner.is_some_and(|inner| op == inner || module.is_inside(op, inner)))
    };
    let goes_on = axis.start.atoms().any(is_inside);
    (!goes_on).then(|| u64::try_from(axis.size).unwrap_or(0))
}

/// The axes of a block, the fastest one last.
fn order(load: &BoxAccess) -> Vec<usize> {
    let others = (0..load.axes.len()).filter(|&at| at != load.fastest);
    others.chain([load.fastest]).collect()
}

/// The axes of a tensor: those of the stack in front of the block's.
fn tensor_axes(load: &BoxAccess) -> Vec<&BoxAxis> {
    load.stack.iter().chain(order(load).into_iter().map(|at| &load.axes[at])).collect()
}

fn desc_type(module: &Module, load: &BoxAccess) -> Type {
    let sides: Vec<i64> = tensor_axes(load).iter().map(|axis| axis.size).collect();
    tensordesc(&sides, elem(module.ty(block(module, load))))
}

/// The block as it lies in memory: its fastest axis last, without those of the stack.
fn moved_type(module: &Module, load: &BoxAccess) -> Type {
    let sides: Vec<i64> = order(load).iter().map(|&at| load.axes[at].size).collect();
    tensor(&sides, elem(module.ty(block(module, load))))
}

/// What a launch makes the descriptor of.
fn parts(module: &Module, entry: Block, load: &BoxAccess) -> Option<MapParts> {
    let axes = tensor_axes(load);
    let (_, outer) = axes.split_last()?;
    let sizes = axes.iter().map(|axis| match &axis.extent {
        Some(extent) => part(module, entry, extent),
        None => Some(UNBOUNDED),
    });
    let strides = outer.iter().map(|axis| part(module, entry, &axis.stride));
    Some(MapParts {
        base: load.base,
        sizes: sizes.collect::<Option<_>>()?,
        strides: strides.collect::<Option<_>>()?,
    })
}

/// A sum of products of parameters, in 64 bits.
fn part(module: &Module, entry: Block, poly: &Poly) -> Option<MapPart> {
    let combined = |by, parts| MapPart::Combined { by, bits: 64, parts: Box::new(parts) };
    let mut sum = None;
    for (monomial, coefficient) in poly.terms() {
        let mut term = (*coefficient != 1 || monomial.is_empty()).then_some(MapPart::Constant(*coefficient));
        for &atom in monomial {
            let Def::Arg(block, slot) = module.def(atom) else { return None };
            let bits = module.ty(atom).as_int().filter(|_| block == entry)?;
            let param = MapPart::Param { slot: slot as usize, bits };
            term = Some(match term {
                Some(term) => combined(Combine::Mul, [term, param]),
                None => param,
            });
        }
        let term = term.expect("a term has a coefficient or a factor");
        sum = Some(match sum {
            Some(sum) => combined(Combine::Add, [sum, term]),
            None => term,
        });
    }
    Some(sum.unwrap_or(MapPart::Constant(0)))
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let Machine { bulk_copy, bulk_loads, .. } = *context.machine;
    if !bulk_copy || !bulk_loads || context.config.num_ctas != 1 {
        return Ok(());
    }
    let mut is_changed = false;
    for kernel in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let stores = Stores::of(context.machine);
        let copies = context.machine.copies;
        let mut found = box_accesses(module, kernel, stores, copies);
        if stores == Stores::InFlatLoops && have_others_beside(module, &found) {
            found = box_accesses(module, kernel, Stores::None, copies);
        }
        if copies == Copies::Noted {
            let loads = unaligned_loads(module, kernel, &found);
            let texts: Vec<String> = loads.iter().map(ToString::to_string).collect();
            let text = (!texts.is_empty()).then(|| Attr::str(&texts.join(UnalignedLoad::BETWEEN)));
            module.set_extra(kernel, UNALIGNED.key(), text);
        }
        note(module, kernel, &found);
        if found.loads.is_empty() && found.stores.is_empty() {
            continue;
        }
        is_changed = true;
        for load in &found.loads {
            rewrite(module, kernel, load);
        }
        for store in &found.stores {
            rewrite_store(module, kernel, store);
        }
        FuncOp::follow_arguments(module, kernel);
        module.set_extra(kernel, GUARDS.key(), Some(Attr::str(&found.guards.to_string())));
    }
    if is_changed {
        // Addresses that nobody needs are not to be given layouts.
        (DROP_CARRIED.run)(module)?;
        (CANONICALIZE.run)(module)?;
    }
    Ok(())
}

/// Writes down who loads what.
fn note(module: &mut Module, kernel: Op, found: &Boxes) {
    let name = |op: Op| format!("%{}", module.name(module.result(op, 0)).unwrap_or("?"));
    let place = |op: Op| module.locs.describe(module.loc(op)).unwrap_or_else(|| name(op));
    let bulk = found.loads.iter().map(|load| {
        format!("{}: bulk copies load it where launches are as `{}` says", place(load.op), GUARDS.name)
    });
    let refused = found.refused.iter().filter(|(op, _)| AccessOp::load(module, *op).is_some());
    let may_be_copied = module.extra_attr(kernel, UNALIGNED.name).is_some();
    let lanes = refused.map(|&(op, reason)| {
        let copies = may_be_copied && reason == OFF_UNITS;
        let but = if copies { " where launches do not copy its tensor first" } else { "" };
        format!("{}: lanes load it{but}, as {reason}", place(op))
    });
    let notes: Vec<String> = bulk.chain(lanes).collect();
    if !notes.is_empty() {
        module.set_extra(kernel, LOAD_NOTES.key(), Some(Attr::str(&notes.join("; "))));
    }
}

/// The descriptor of an access, one more parameter if there is none like it.
fn map_of(module: &mut Module, kernel: Op, access: &BoxAccess, is_written: bool) -> Value {
    let entry = FuncOp::new(module, kernel).entry();
    let ty = desc_type(module, access);
    let parts = parts(module, entry, access).expect("it was looked at before");
    let is_known = |&arg: &Value| {
        module.ty(arg) == ty
            && map_parts(module, arg).as_ref() == Some(&parts)
            && is_map_written(module, arg) == is_written
    };
    let known = module.args(entry).iter().copied().find(is_known);
    if let Some(known) = known {
        return known;
    }
    let map = add_map(module, entry, &parts, ty, is_written);
    if is_unaligned(module, entry, access) {
        let at = module.args(entry).len() - 1;
        module.set_arg_attr(entry, at, MAP_COPIED.key(), Some(Attr::Unit));
    }
    map
}

fn rewrite(module: &mut Module, kernel: Op, load: &BoxAccess) {
    let map = map_of(module, kernel, load, false);
    let of = AccessOp::new(module, load.op);
    let attrs = DescriptorLoadOp::attrs(of.cache(), of.evict());
    let order = order(load);
    let ty = moved_type(module, load);
    let mut builder = Builder::before(module, load.op);
    let corner: Vec<Value> =
        tensor_axes(load).into_iter().map(|axis| axis.start.build(&mut builder)).collect();
    let operands: Vec<Value> = std::iter::once(map).chain(corner).collect();
    let mut block = builder.build_as(&descriptor::LOAD, &operands, &attrs, ty);
    if order.iter().enumerate().any(|(at, &axis)| at != axis) {
        let back: Vec<i64> = (0..order.len())
            .map(|axis| order.iter().position(|&at| at == axis).expect("every axis has a place") as i64)
            .collect();
        block = builder.build(&TRANS, &[block], &TransOp::attrs(&back));
    }
    let old = module.result(load.op, 0);
    module.replace_uses(old, block);
    module.erase(load.op);
}

fn rewrite_store(module: &mut Module, kernel: Op, store: &BoxAccess) {
    let map = map_of(module, kernel, store, true);
    let mut value = block(module, store);
    let order = order(store);
    let mut builder = Builder::before(module, store.op);
    let corner: Vec<Value> =
        tensor_axes(store).into_iter().map(|axis| axis.start.build(&mut builder)).collect();
    if order.iter().enumerate().any(|(at, &axis)| at != axis) {
        let order: Vec<i64> = order.iter().map(|&at| at as i64).collect();
        value = builder.build(&TRANS, &[value], &TransOp::attrs(&order));
    }
    if !store.stack.is_empty() {
        let ty = descriptor::block_type(builder.module.ty(map));
        value = builder.build_as(&RESHAPE, &[value], &ReshapeOp::attrs(false, false), ty);
    }
    let operands: Vec<Value> = std::iter::once(map).chain(corner).chain([value]).collect();
    builder.build_effect(&descriptor::STORE, &operands, &[]);
    module.erase(store.op);
}
