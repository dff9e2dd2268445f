//! Descriptors that a kernel takes as arguments stay descriptors where bulk copies can serve the accesses by them.
//!
//! ```text
//! %d = tt.make_tensor_descriptor %p, [%m, %n], [%s, 1]        one more parameter: %p.map: !tt.tensordesc<…> {tt.map_of = "%0[%1:i32,%2:i32][%3:i64]"}
//! %x = tt.descriptor_load %d[%i, %j]                    =>    %x = tt.descriptor_load %p.map[%i, %j]
//! ```
//!
//! `tt.map_of` says of which parameters and constants the descriptor is made ([`MapParts`]). Whoever launches makes the
//! new parameter of these, so a descriptor that a kernel makes of its parameters alone costs it nothing. Only loads
//! that feed dots and, where the machine says so, stores of kernels with dots, and reductions: what goes through
//! registers anyway is loaded and stored by the lanes.
//!
//! A descriptor of anything else, of addresses and sizes that a kernel loads, is made a second time with the attribute
//! `tt.kept`: the kernel will write it to memory where it makes it (`bulk-copies`).
//!
//! Addresses and strides of what bulk copies move are multiples of 16 bytes. Of a tensor that is passed as a descriptor
//! its launch says so if they are not; of one that a kernel makes of its parameters it must be known of these; of the
//! others the language demands it. Where a block begins along the last axis must be a multiple of 16 bytes as well, and
//! a store must not begin in front of the tensor, nor reach past the end of rows that end at no such multiple
//! ([`Begin`]). Of loads the code must show it; of stores the program finds out where the code does not
//! (`bulk-copies`).
//!
//! Left out, and written as addresses and masks later: padding with NaN, machines without bulk copies, clusters, loads
//! by a descriptor that the same iteration of a loop makes.

use super::begins::Begin;
use super::map_parts::{MAP_OF, MapParts, UNIT, map_parts};
use crate::encoding::{SharedEncoding, box_of};
use crate::passes::{Context, feeds_dot, is_dot};
use ir::pass::PassRow;
use ir::{Attr, Block, DeclaredKey, Def, Diagnostic, FloatKind, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::axis::{self, AxisTable};
use ttir::ops::constant::splat_bits;
use ttir::ops::descriptor::{DescriptorAccessOp, MAKE, MakeDescriptorOp, Padding, ReduceKind};
use ttir::ops::func::{FuncOp, kernels};
use ttir::passes::KEPT;
use ttir::types::{elem, elem_bytes, is_unsigned, numel, shape};

/// Attribute of a tensor descriptor that launches make: the kernel writes by it.
pub static MAP_WRITTEN: DeclaredKey = DeclaredKey::new("tt.map_written", "The kernel writes by it.");

/// Attribute of a tensor descriptor that launches make: of a copy of the tensor, whose rows begin as they must.
pub static MAP_COPIED: DeclaredKey = DeclaredKey::new("tt.map_copied", "The launch copies the tensor first.");

/// Keeps descriptors for bulk copies.
pub(crate) static KEEP_DESCRIPTORS: PassRow = PassRow {
    name: "keep-descriptors",
    doc: "Keeps descriptors of loads that bulk copies can serve, as parameters that launches make.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    if !context.machine.bulk_copy || context.config.num_ctas != 1 {
        return Ok(());
    }
    for function in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let entry = FuncOp::new(module, function).entry();
        let inside = module.walk(function);
        let made: Vec<Op> = inside.iter().copied().filter(|&op| module.is(op, &MAKE)).collect();
        if made.is_empty() {
            continue;
        }
        let reduces = context.machine.bulk_store;
        let stores = reduces && inside.iter().any(|&op| is_dot(module, op));
        let axis = axis::analyze(module, function);
        for op in made {
            keep(module, entry, op, ([stores, reduces], &axis));
        }
        FuncOp::follow_arguments(module, function);
    }
    Ok(())
}

/// Lets the accesses by a descriptor that bulk copies can serve use a parameter in its place, one for loads and one for
/// what writes.
fn keep(
    module: &mut Module,
    entry: Block,
    make: Op,
    ([keeps_stores, keeps_reductions], axis): ([bool; 2], &AxisTable),
) {
    let made = MakeDescriptorOp::new(module, make);
    let (result, pads_zero) = (made.result(), made.padding() == Padding::Zero);
    let source = Source::of(module, entry, made);
    if matches!(source, Source::Unknown) {
        return;
    }
    let users = || module.uses(result).iter().map(|use_| use_.0);
    let is_load = |&user: &Op| {
        DescriptorAccessOp::load(module, user)
            .is_some_and(|load| is_box(module.ty(load.desc()), shape(module.ty(load.block()))))
            && feeds_dot(module, None, user)
            && Begin::of(module, user, axis).may_be_loaded()
    };
    let is_written = |&user: &Op| {
        let keeps = |write: &DescriptorAccessOp<'_>| match write.kind() {
            Some(kind) => keeps_reductions && is_combined(module.ty(write.desc()), kind),
            None => keeps_stores,
        };
        DescriptorAccessOp::written(module, user)
            .filter(keeps)
            .is_some_and(|write| is_box(module.ty(write.desc()), shape(module.ty(write.block()))))
            && Begin::of(module, user, axis).may_be_stored(module)
    };
    let by_kernel = matches!(source, Source::Kernel);
    let is_worth_it = |user: &Op| !by_kernel || outlives_load(module, make, *user);
    let loads: Vec<Op> = users().filter(is_load).filter(is_worth_it).filter(|_| pads_zero).collect();
    let writes: Vec<Op> = users().filter(is_written).collect();
    for (accesses, is_written) in [(loads, false), (writes, true)] {
        if accesses.is_empty() {
            continue;
        }
        let map = match &source {
            Source::Launch(parts) => add_map(module, entry, parts, module.ty(result), is_written),
            _ => make_kept(module, make),
        };
        module.replace_uses_if(result, map, |_, user, _| accesses.contains(&user));
    }
}

/// Whether a load may run several times by a descriptor that the kernel has made once. One that an iteration makes for
/// its own loads is written, fenced and read in more time than lanes take, and no copy by it can begin an iteration
/// ahead.
fn outlives_load(module: &Module, make: Op, load: Op) -> bool {
    let around = |op: Op| {
        let mut parents = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
        parents.find(|&op| module.has(op, Traits::LOOP))
    };
    around(load).is_none_or(|own| around(make) != Some(own))
}

/// The same descriptor once more, which stays one.
fn make_kept(module: &mut Module, make: Op) -> Value {
    let kept = module.clone_op(make, &mut FxHashMap::default());
    module.insert_before(make, kept);
    module.set_extra(kept, KEPT.key(), Some(Attr::Unit));
    module.result(kept, 0)
}

/// One more parameter, a descriptor that is made of these.
pub(super) fn add_map(
    module: &mut Module,
    entry: Block,
    parts: &MapParts,
    ty: Type,
    is_written: bool,
) -> Value {
    let map = module.add_arg(entry, ty);
    let ending = if is_written { "out" } else { "map" };
    let name = module.name(module.args(entry)[parts.base]).map(|name| format!("{name}.{ending}"));
    if let Some(name) = name {
        module.set_name(map, &name);
    }
    let at = module.args(entry).len() - 1;
    module.set_arg_attr(entry, at, MAP_OF.key(), Some(Attr::str(&parts.to_string())));
    if is_written {
        module.set_arg_attr(entry, at, MAP_WRITTEN.key(), Some(Attr::Bool(true)));
    }
    map
}

/// Who makes a descriptor for bulk copies.
enum Source {
    /// Launches, of these.
    Launch(MapParts),
    /// The kernel.
    Kernel,
    /// Nobody: it may describe what bulk copies cannot move.
    Unknown,
}

impl Source {
    fn of(module: &Module, entry: Block, made: MakeDescriptorOp<'_>) -> Source {
        let Some((&last, outer)) = made.strides().split_last() else { return Source::Unknown };
        let bytes = elem_bytes(elem(module.ty(made.result())));
        let whole = |stride: &Value| {
            let stride = module.constant(*stride).and_then(Attr::as_int);
            stride.is_none_or(|stride| {
                u64::try_from(stride).is_ok_and(|stride| (stride * bytes).is_multiple_of(UNIT))
            })
        };
        if module.constant(last).and_then(splat_bits) != Some(1) || !outer.iter().all(whole) {
            return Source::Unknown;
        }
        match MapParts::of(module, entry, made) {
            Some(parts) if parts.is_passed() || parts.is_aligned(module, entry, bytes) => {
                Source::Launch(parts)
            }
            Some(_) => Source::Unknown,
            None => Source::Kernel,
        }
    }
}

/// The number of the parameter that is the address of what a descriptor describes, where launches make the descriptor.
pub(crate) fn map_slot(module: &Module, desc: Value) -> Option<usize> {
    map_parts(module, desc).map(|parts| parts.base)
}

/// Whether a kernel may write to the tensor that a descriptor describes, as far as that is known by its parameters: by
/// another descriptor of it, or by its address.
pub(crate) fn is_written(module: &Module, desc: Value) -> bool {
    let (Def::Arg(entry, _), Some(slot)) = (module.def(desc), map_slot(module, desc)) else { return true };
    let args = module.args(entry);
    let by_descriptor =
        args.iter().any(|&arg| map_slot(module, arg) == Some(slot) && is_map_written(module, arg));
    by_descriptor || !module.is_unused(args[slot])
}

/// Whether the kernel writes by a descriptor that launches make.
pub(super) fn is_map_written(module: &Module, map: Value) -> bool {
    let Def::Arg(entry, at) = module.def(map) else { return false };
    module.arg_attrs(entry, at as usize).iter().any(|(key, _)| key.name() == MAP_WRITTEN.name)
}

/// Bytes of shared memory that the place of a bulk copy is a multiple of. Buffers of a ring lie behind each other.
const COPY_ALIGNMENT: u64 = 128;

/// Whether bulk copies can combine blocks with a tensor so.
fn is_combined(desc: Type, kind: ReduceKind) -> bool {
    let ty = elem(desc);
    match (kind, ty.as_float(), ty.as_int()) {
        (ReduceKind::Add, Some(FloatKind::F16 | FloatKind::BF16 | FloatKind::F32), _) => true,
        (ReduceKind::Min | ReduceKind::Max, Some(FloatKind::F16 | FloatKind::BF16), _) => true,
        (ReduceKind::Inc | ReduceKind::Dec, ..) => false,
        // Of whole numbers with a sign that is an illegal instruction (H200).
        (ReduceKind::Add | ReduceKind::And | ReduceKind::Or | ReduceKind::Xor, None, Some(64)) => {
            is_unsigned(desc)
        }
        (_, None, Some(bits)) => matches!(bits, 32 | 64),
        _ => false,
    }
}

/// Whether bulk copies can move a block by a descriptor of a type.
pub(super) fn is_box(ty: Type, block: &[i64]) -> bool {
    let bytes = numel(ty) as u64 * elem_bytes(elem(ty));
    shape(ty) == block
        && bytes.is_multiple_of(COPY_ALIGNMENT)
        && SharedEncoding::of_box(ty).is_some_and(|encoding| box_of(&encoding, block).is_some())
}
