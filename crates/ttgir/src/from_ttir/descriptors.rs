//! Tensor descriptors become addresses and masks.
//!
//! ```text
//! %d = tt.make_tensor_descriptor %base, [%m, %n], [%s, %one]       %p = tt.addptr (splat %base), rows · %s + columns
//! %x = tt.descriptor_load %d[%i, %j]                         =>    %q = rows <u %m && columns <u %n
//!                                                                  %x = tt.load %p, %q, padding
//! ```
//!
//! A descriptor that is a parameter of a kernel becomes, in its place, the parameters base, sizes (i32), strides (i64) and
//! whether it pads with NaN (i1). Left out, and refused: descriptors that control flow carries, and reductions that memory
//! does not do on floats.

use super::blocks::Blocks;
use ir::pass::PassRow;
use ir::{Attr, Builder, Diagnostic, FloatKind, Module, Op, Type, TypeKind, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::ops::atomic::{ATOMIC_RMW, RMW, SCOPE, SEM};
use ttir::ops::compare::SELECT;
use ttir::ops::descriptor::{self, PADDING, REDUCE_KIND};
use ttir::ops::func::{DIVISIBILITY, FUNC, func_attr};
use ttir::ops::memory::{LOAD, STORE};
use ttir::ops::shape::SPLAT;
use ttir::types::{TENSORDESC, elem, elem_bytes, ptr, shape};

/// Writes tensor descriptors as addresses and masks.
pub(crate) static EXPAND_DESCRIPTORS: PassRow = PassRow {
    name: "expand-descriptors",
    doc: "Writes accesses by tensor descriptors as accesses by addresses and masks.",
    run,
};

/// Bytes to which bases and strides are aligned, by contract.
const ALIGNMENT: i64 = 16;

/// What a descriptor is made of.
#[derive(Clone, Debug)]
struct Parts {
    base: Value,
    sizes: SmallVec<[Value; 4]>,
    strides: SmallVec<[Value; 4]>,
    padding: Padding,
}

/// What stands outside the tensor.
#[derive(Clone, Copy, Debug)]
enum Padding {
    Zero,
    Nan,
    /// NaN where the value holds.
    Asked(Value),
}

type Known = FxHashMap<Value, Parts>;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for function in module.ops(module.body()).filter(|&op| module.is(op, &FUNC)).collect::<Vec<_>>() {
        let mut known = Known::default();
        expand_params(module, function, &mut known);
        for op in module.walk(function) {
            if module.is(op, &descriptor::MAKE) {
                note_made(module, op, &mut known);
            } else if let Some(&(_, expand)) = ACCESSES.iter().find(|(row, _)| module.is(op, row)) {
                let parts = known.get(&module.operand(op, 0)).cloned();
                let result = parts
                    .ok_or_else(|| "a tensor descriptor cannot be carried by a loop or a condition".into());
                let result = result.and_then(|parts| expand(module, op, &parts));
                if let Err(message) = result {
                    let place = module.locs.describe(module.loc(op));
                    return Err(Diagnostic::new(message).at(place).note(
                        "make the descriptor in front of its uses, or address the block with pointers",
                    ));
                }
            }
        }
        clean_up(module, function, &known)?;
    }
    Ok(())
}

type Expand = fn(&mut Module, Op, &Parts) -> Result<(), String>;

static ACCESSES: &[(&ir::OpRow, Expand)] = &[
    (&descriptor::LOAD, load),
    (&descriptor::STORE, store),
    (&descriptor::GATHER, gather),
    (&descriptor::SCATTER, scatter),
    (&descriptor::REDUCE, reduce),
];

fn note_made(module: &Module, op: Op, known: &mut Known) {
    let case = module.attr(op, 0).and_then(|attr| attr.as_enum(&PADDING));
    let nan = case.and_then(|case| PADDING.keyword(case)) == Some("pad_nan");
    let parts = Parts {
        base: module.operand(op, 0),
        sizes: module.operand_group(op, 1).iter().copied().collect(),
        strides: module.operand_group(op, 2).iter().copied().collect(),
        padding: if nan { Padding::Nan } else { Padding::Zero },
    };
    known.insert(module.result(op, 0), parts);
}

/// Removes the descriptors, which nobody uses any more.
fn clean_up(module: &mut Module, function: Op, known: &Known) -> Result<(), Diagnostic> {
    let mut gone: Vec<Value> = known.keys().copied().collect();
    gone.sort_unstable();
    for value in gone {
        if !module.is_unused(value) {
            let user = module.uses(value)[0].0;
            let place = module.locs.describe(module.loc(user));
            return Err(
                Diagnostic::new("a tensor descriptor cannot be carried by a loop or a condition").at(place)
            );
        }
        if let Some(op) = module.def_op(value) {
            module.erase(op);
        }
    }
    let entry = module.entry(module.region(function, 0));
    let keep: Vec<bool> =
        module.args(entry).iter().map(|&arg| module.ty(arg).params_of(&TENSORDESC).is_none()).collect();
    module.retain_args(entry, |index| keep[index]);
    Ok(())
}

/// New parameters stand behind the others until the descriptors go; then all are put in order.
fn expand_params(module: &mut Module, function: Op, known: &mut Known) {
    let entry = module.entry(module.region(function, 0));
    let old = module.args(entry).to_vec();
    if old.iter().all(|&arg| module.ty(arg).params_of(&TENSORDESC).is_none()) {
        return;
    }
    let mut order: Vec<Value> = Vec::new();
    for arg in old {
        let ty = module.ty(arg);
        if ty.params_of(&TENSORDESC).is_none() {
            order.push(arg);
            continue;
        }
        let rank = shape(ty).len();
        let element = elem(ty);
        let mut add = |ty: Type, divisor: i64| {
            let value = module.add_arg(entry, ty);
            let index = module.args(entry).len() - 1;
            if divisor > 1 {
                let hint = Attr::int(divisor, Type::int(32));
                module.set_arg_attr(entry, index, DIVISIBILITY.key(), Some(hint));
            }
            order.push(value);
            value
        };
        let base = add(ptr(element), ALIGNMENT);
        let sizes = (0..rank).map(|_| add(Type::int(32), 1)).collect();
        let step = (ALIGNMENT / elem_bytes(element) as i64).max(1);
        let strides =
            (0..rank).map(|dim| add(Type::int(64), if dim + 1 == rank { 1 } else { step })).collect();
        let padding = Padding::Asked(add(Type::int(1), 1));
        known.insert(arg, Parts { base, sizes, strides, padding });
    }
    let moved = reorder_params(module, function, &order);
    for parts in known.values_mut() {
        let all = [&mut parts.base].into_iter().chain(&mut parts.sizes).chain(&mut parts.strides);
        for value in all.chain(match &mut parts.padding {
            Padding::Asked(asked) => Some(asked),
            Padding::Zero | Padding::Nan => None,
        }) {
            *value = moved[value];
        }
    }
}

/// Puts the parameters into an order, by giving each a new argument behind all others.
fn reorder_params(module: &mut Module, function: Op, order: &[Value]) -> FxHashMap<Value, Value> {
    let entry = module.entry(module.region(function, 0));
    let mut params = Vec::new();
    let mut stale = Vec::new();
    for &old in order {
        let index = module.args(entry).iter().position(|&arg| arg == old).unwrap_or(0);
        let (ty, attrs) = (module.ty(old), module.arg_attrs(entry, index).to_vec());
        let new = module.add_arg(entry, ty);
        let at = module.args(entry).len() - 1;
        for (key, attr) in attrs {
            module.set_arg_attr(entry, at, key, Some(attr));
        }
        if let Some(name) = module.name(old).map(str::to_owned) {
            module.set_name(new, &name);
        }
        params.push(ty);
        stale.push((old, new));
    }
    for &(old, new) in &stale {
        module.replace_uses(old, new);
    }
    let gone: Vec<Value> = stale.iter().map(|pair| pair.0).collect();
    let keep: Vec<bool> = module.args(entry).iter().map(|arg| !gone.contains(arg)).collect();
    module.retain_args(entry, |index| keep[index]);
    let results = match module.attr(function, func_attr::TYPE) {
        Some(Attr::Type(ty)) => match ty.kind() {
            TypeKind::Function { results, .. } => results.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    module.set_attr(function, func_attr::TYPE, Some(Attr::Type(Type::function(params, results))));
    stale.into_iter().collect()
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
    let element = elem(ty);
    let nan = element.as_float().map_or(0, |kind: FloatKind| ir::scalar::float_bits(kind, f64::NAN));
    let mut blocks = Blocks { builder };
    match parts.padding {
        Padding::Zero => blocks.constant(ty, 0),
        Padding::Nan => blocks.constant(ty, nan),
        Padding::Asked(asked) => {
            let (nan, zero) = (blocks.constant(element, nan), blocks.constant(element, 0));
            let one = blocks.builder.build(&SELECT, &[asked, nan, zero], &[]);
            blocks.builder.build_as(&SPLAT, &[one], &[], ty)
        }
    }
}

fn load_from(builder: &mut Builder<'_>, op: Op, parts: &Parts, address: Value, inside: Value) {
    let ty = builder.module.ty(builder.module.result(op, 0));
    let other = padding(builder, parts, ty);
    let cached = [0, 1].map(|slot| {
        let slot = builder.module.row(op).attrs.get(slot).and_then(|_| builder.module.attr(op, slot));
        slot.cloned()
    });
    let value = builder.build(&LOAD, &[address, inside, other], &cached);
    let old = builder.module.result(op, 0);
    builder.module.replace_uses(old, value);
    builder.module.erase(op);
}

fn load(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let dims = shape(module.ty(module.result(op, 0)));
    let offsets = module.operand_group(op, 1).to_vec();
    let mut builder = Builder::before(module, op);
    let block = shape(builder.module.ty(builder.module.operand(op, 0)));
    if block != dims {
        return Err(format!("a block of shape {block:?} cannot be loaded as {dims:?}"));
    }
    let (address, inside) = block_at(&mut Blocks { builder: &mut builder }, parts, dims, &offsets);
    load_from(&mut builder, op, parts, address, inside);
    Ok(())
}

fn store(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let value = module.operand_group(op, 2)[0];
    let dims = shape(module.ty(value));
    let offsets = module.operand_group(op, 1).to_vec();
    let mut builder = Builder::before(module, op);
    let (address, inside) = block_at(&mut Blocks { builder: &mut builder }, parts, dims, &offsets);
    builder.build_effect(&STORE, &[address, value, inside], &[None, None]);
    module.erase(op);
    Ok(())
}

/// The addresses of picked rows, from a column on.
fn picked(builder: &mut Builder<'_>, op: Op, parts: &Parts, dims: &[i64]) -> (Value, Value) {
    let (rows, column) = (builder.module.operand(op, 1), builder.module.operand(op, 2));
    let mut blocks = Blocks { builder };
    let rows = blocks.as_index(rows);
    let columns = blocks.count_from(column, dims[1]);
    addresses(&mut blocks, parts, dims, &[rows, columns])
}

fn gather(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let dims = shape(module.ty(module.result(op, 0)));
    let mut builder = Builder::before(module, op);
    let (address, inside) = picked(&mut builder, op, parts, dims);
    load_from(&mut builder, op, parts, address, inside);
    Ok(())
}

fn scatter(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let value = module.operand(op, 3);
    let dims = shape(module.ty(value));
    let mut builder = Builder::before(module, op);
    let (address, inside) = picked(&mut builder, op, parts, dims);
    builder.build_effect(&STORE, &[address, value, inside], &[None, None]);
    module.erase(op);
    Ok(())
}

fn reduce(module: &mut Module, op: Op, parts: &Parts) -> Result<(), String> {
    let value = module.operand_group(op, 2)[0];
    let ty = module.ty(value);
    let case = module.attr(op, 0).and_then(|attr| attr.as_enum(&REDUCE_KIND));
    let keyword = case.and_then(|case| REDUCE_KIND.keyword(case)).unwrap_or_default();
    let float = elem(ty).as_float().is_some();
    let name = match (keyword, float) {
        ("add", true) => "fadd",
        ("add" | "min" | "max" | "and" | "or" | "xor", false) => keyword,
        _ => return Err(format!("a descriptor cannot reduce {} by `{keyword}`", elem(ty))),
    };
    let offsets = module.operand_group(op, 1).to_vec();
    let mut builder = Builder::before(module, op);
    let (address, inside) = block_at(&mut Blocks { builder: &mut builder }, parts, shape(ty), &offsets);
    let attr = |row: &'static ir::EnumRow, name: &str| row.value(name).map(|value| Attr::Enum { row, value });
    let attrs = [attr(&RMW, name), attr(&SEM, "relaxed"), attr(&SCOPE, "gpu")];
    builder.build(&ATOMIC_RMW, &[address, value, inside], &attrs);
    module.erase(op);
    Ok(())
}
