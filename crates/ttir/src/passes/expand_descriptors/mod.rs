//! Tensor descriptors become addresses and masks.
//!
//! ```text
//! %d = tt.make_tensor_descriptor %base, [%m, %n], [%s, %one]       %p = tt.addptr (splat %base), rows · %s + columns
//! %x = tt.descriptor_load %d[%i, %j]                         =>    %q = rows <u %m && columns <u %n
//!                                                                  %x = tt.load %p, %q, padding
//! ```
//!
//! A descriptor that is a parameter of a kernel is made by the kernel by now (`ttir::passes::FLATTEN_DESCRIPTORS`).
//! Left out, and refused: descriptors that control flow carries, and reductions that memory does not do on floats.

mod blocks;

pub use blocks::Inside;

use crate::ops::atomic::{ATOMIC_RMW, AtomicRmwOp, Scope, Sem};
use crate::ops::constant;
use crate::ops::descriptor::{
    self, DescriptorAccessOp, DescriptorGatherOp, DescriptorLoadOp, DescriptorReduceOp, DescriptorScatterOp,
    DescriptorStoreOp, MakeDescriptorOp, Padding,
};
use crate::ops::func::{FuncOp, functions};
use crate::ops::memory::{CacheModifier, EvictionPolicy, LOAD, LoadOp, STORE};
use crate::ops::shape::RESHAPE;
use crate::types::{elem, shape, tensor};
use blocks::Blocks;
use ir::pass::PassRow;
use ir::view::EnumAttr;
use ir::{Builder, DeclaredKey, Diagnostic, FloatKind, Module, Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Writes tensor descriptors as addresses and masks.
pub static EXPAND_DESCRIPTORS: PassRow = PassRow {
    name: "expand-descriptors",
    doc: "Writes accesses by tensor descriptors as accesses by addresses and masks.",
    run: |module| expand_descriptors(module, Inside::Unsigned),
};

/// Attribute of the making of a descriptor that stays one.
pub static KEPT: DeclaredKey = DeclaredKey::new("tt.kept", "Bulk copies go by this descriptor.");

/// What a descriptor is made of.
#[derive(Clone, Debug)]
struct Parts {
    base: Value,
    sizes: SmallVec<[Value; 4]>,
    strides: SmallVec<[Value; 4]>,
    /// Whether what stands outside the tensor is NaN rather than 0.
    pads_nan: bool,
    /// How the test whether an index lies inside is written.
    form: Inside,
}

const CARRIED: &str = "a tensor descriptor cannot be carried by a loop or a condition, nor handed to a function that is not inlined";

type Known = FxHashMap<Value, Parts>;

/// Writes accesses by tensor descriptors as accesses by addresses and masks, but for descriptors that are [`KEPT`].
///
/// # Errors
/// Names a descriptor that control flow carries, and a reduction that memory does not do.
pub fn expand_descriptors(module: &mut Module, form: Inside) -> Result<(), Diagnostic> {
    for function in functions(module).map(|func| func.op).collect::<Vec<_>>() {
        let mut known = Known::default();
        for op in module.walk(function) {
            if let Some(made) = MakeDescriptorOp::of(module, op) {
                if module.extra_attr(op, KEPT.name).is_none() {
                    known.insert(made.result(), Parts::of(made, form));
                }
            } else if let Some(&(_, expand)) = ACCESSES.iter().find(|(row, _)| module.is(op, row)) {
                if is_kept(module, function, op) {
                    continue;
                }
                let parts = known.get(&DescriptorAccessOp::new(module, op).desc()).cloned();
                let result = parts.ok_or_else(|| CARRIED.into());
                let result = result.and_then(|parts| expand(module, op, &parts));
                if let Err(message) = result {
                    let place = module.locs.describe(module.loc(op));
                    return Err(Diagnostic::new(message).at(place).note(
                        "make the descriptor in front of its uses, or address the block with pointers",
                    ));
                }
            }
        }
        clean_up(module, &known)?;
    }
    Ok(())
}

/// Whether the descriptor of an access is one for bulk copies.
fn is_kept(module: &Module, function: Op, access: Op) -> bool {
    let entry = FuncOp::new(module, function).entry();
    let desc = DescriptorAccessOp::new(module, access).desc();
    let made = module.def_op(desc);
    module.args(entry).contains(&desc)
        || made.is_some_and(|made| module.extra_attr(made, KEPT.name).is_some())
}

type Expand = fn(&mut Module, Op, &Parts) -> Result<(), String>;

static ACCESSES: &[(&ir::OpRow, Expand)] = &[
    (&descriptor::LOAD, load),
    (&descriptor::STORE, store),
    (&descriptor::GATHER, gather),
    (&descriptor::SCATTER, scatter),
    (&descriptor::REDUCE, reduce),
];

impl Parts {
    fn of(made: MakeDescriptorOp<'_>, form: Inside) -> Parts {
        Parts {
            base: made.base(),
            sizes: made.shape().into(),
            strides: made.strides().into(),
            pads_nan: made.padding() == Padding::Nan,
            form,
        }
    }

    fn blocks<'b, 'm>(&self, builder: &'b mut Builder<'m>) -> Blocks<'b, 'm> {
        Blocks { builder, form: self.form }
    }
}

/// Removes the descriptors, which nobody uses any more.
fn clean_up(module: &mut Module, known: &Known) -> Result<(), Diagnostic> {
    let mut gone: Vec<Value> = known.keys().copied().collect();
    gone.sort_unstable();
    for value in gone {
        if !module.is_unused(value) {
            let user = module.uses(value)[0].0;
            let place = module.locs.describe(module.loc(user));
            return Err(Diagnostic::new(CARRIED).at(place));
        }
        if let Some(op) = module.def_op(value) {
            module.erase(op);
        }
    }
    Ok(())
}

/// The addresses of a block at an offset, and which of them lie inside the tensor.
fn block_at(blocks: &mut Blocks<'_, '_>, parts: &Parts, dims: &[i64], offsets: &[Value]) -> (Value, Value) {
    let indices: Vec<Value> =
        dims.iter().zip(offsets).map(|(&size, &offset)| blocks.count_from(offset, size)).collect();
    addresses(blocks, parts, dims, &indices)
}

/// The addresses of the elements whose indices along each dimension are given, and which of them lie inside the tensor.
fn addresses(blocks: &mut Blocks<'_, '_>, parts: &Parts, dims: &[i64], indices: &[Value]) -> (Value, Value) {
    let rank = dims.len();
    let (mut address, mut inside): (Option<Value>, Option<Value>) = (None, None);
    for (dim, &index) in indices.iter().enumerate() {
        let along = blocks.along(index, dim, rank);
        let offset = blocks.widen(along);
        let offset = if dim + 1 == rank { offset } else { blocks.scale(offset, parts.strides[dim]) };
        address = Some(match address {
            None => blocks.offset_scalar(parts.base, offset),
            Some(address) => blocks.offset(address, offset),
        });
        let below = blocks.is_below(along, parts.sizes[dim]);
        inside = Some(match inside {
            None => below,
            Some(inside) => blocks.both(inside, below),
        });
    }
    let (address, inside) =
        (address.expect("a block has a dimension"), inside.expect("a block has a dimension"));
    (blocks.fill(address, dims), blocks.fill(inside, dims))
}

fn padding(builder: &mut Builder<'_>, parts: &Parts, ty: Type) -> Value {
    let nan = elem(ty).as_float().map_or(0, |kind: FloatKind| ir::scalar::float_bits(kind, f64::NAN));
    constant::build(builder, ty, if parts.pads_nan { nan } else { 0 })
}

/// Where a load stands in the caches.
type Cached = (CacheModifier, EvictionPolicy);

fn load_from(builder: &mut Builder<'_>, op: Op, parts: &Parts, at: (Value, Value), cached: Cached) {
    let ((address, inside), (cache, evict)) = (at, cached);
    let ty = builder.module.ty(builder.module.result(op, 0));
    let block = tensor(shape(builder.module.ty(address)), elem(ty));
    let other = padding(builder, parts, block);
    let attrs = LoadOp::attrs(cache, evict, false);
    let mut value = builder.build(&LOAD, &[address, inside, other], &attrs);
    let old = builder.module.result(op, 0);
    if builder.module.ty(value) != ty {
        value = builder.build_as(&RESHAPE, &[value], &[None, None], ty);
    }
    builder.module.replace_uses(old, value);
    builder.module.erase(op);
}

fn load(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let load = DescriptorLoadOp::new(module, op);
    let dims = shape(module.ty(load.desc()));
    let (offsets, cached) = (load.indices().to_vec(), (load.cache(), load.evict()));
    let mut builder = Builder::before(module, op);
    let at = block_at(&mut parts.blocks(&mut builder), parts, dims, &offsets);
    load_from(&mut builder, op, parts, at, cached);
    Ok(())
}

fn store(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let store = DescriptorStoreOp::new(module, op);
    let (value, offsets) = (store.src(), store.indices().to_vec());
    let dims = shape(module.ty(value));
    let mut builder = Builder::before(module, op);
    let (address, inside) = block_at(&mut parts.blocks(&mut builder), parts, dims, &offsets);
    builder.build_effect(&STORE, &[address, value, inside], &[None, None]);
    module.erase(op);
    Ok(())
}

/// The addresses of picked rows, from a column on.
fn picked(
    builder: &mut Builder<'_>,
    rows: Value,
    column: Value,
    parts: &Parts,
    dims: &[i64],
) -> (Value, Value) {
    let mut blocks = parts.blocks(builder);
    let rows = blocks.as_index(rows);
    let columns = blocks.count_from(column, dims[1]);
    addresses(&mut blocks, parts, dims, &[rows, columns])
}

fn gather(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let gather = DescriptorGatherOp::new(module, op);
    let (rows, column, dims) = (gather.x_offsets(), gather.y_offset(), shape(module.ty(gather.result())));
    let mut builder = Builder::before(module, op);
    let at = picked(&mut builder, rows, column, parts, dims);
    load_from(&mut builder, op, parts, at, (CacheModifier::None, EvictionPolicy::Normal));
    Ok(())
}

fn scatter(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let scatter = DescriptorScatterOp::new(module, op);
    let (rows, column, value) = (scatter.x_offsets(), scatter.y_offset(), scatter.src());
    let dims = shape(module.ty(value));
    let mut builder = Builder::before(module, op);
    let (address, inside) = picked(&mut builder, rows, column, parts, dims);
    builder.build_effect(&STORE, &[address, value, inside], &[None, None]);
    module.erase(op);
    Ok(())
}

fn reduce(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let reduce = DescriptorReduceOp::new(module, op);
    let (value, offsets) = (reduce.src(), reduce.indices().to_vec());
    let ty = module.ty(value);
    let kind = descriptor::atomic_kind(module.ty(reduce.desc()), reduce.kind())
        .ok_or_else(|| format!("a descriptor cannot reduce {} by `{}`", elem(ty), reduce.kind().keyword()))?;
    let mut builder = Builder::before(module, op);
    let (address, inside) = block_at(&mut parts.blocks(&mut builder), parts, shape(ty), &offsets);
    let attrs = AtomicRmwOp::attrs(kind, Sem::Relaxed, Scope::Gpu);
    builder.build(&ATOMIC_RMW, &[address, value, inside], &attrs);
    module.erase(op);
    Ok(())
}
