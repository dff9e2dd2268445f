//! Goes through a function in order, loops again and again until nothing changes.

use super::rules::rule;
use super::{AxisInfo, AxisTable, divisor_of, has_facts, sizes};
use crate::ops::control::{ForOp, IfOp, WhileOp, yielded};
use crate::ops::func::{CONSTANCY, CONTIGUITY, DIVISIBILITY};
use crate::types::shape;
use ir::{Attr, AttrKey, Block, Elements, Module, Op, Value};

/// What is known of each integer and address in a function.
pub fn analyze(module: &Module, function: Op) -> AxisTable {
    let mut table = AxisTable::for_program(module);
    let entry = module.entry_of(function);
    for (index, &param) in module.args(entry).iter().enumerate() {
        if has_facts(module.ty(param)) {
            let mut info = AxisInfo::unknown(shape(module.ty(param)).len());
            apply_hints(&mut info, module.arg_attrs(entry, index));
            table.set(param, info);
        }
    }
    visit_block(module, entry, &mut table);
    table
}

fn visit_block(module: &Module, block: Block, table: &mut AxisTable) {
    for op in module.ops(block) {
        visit(module, op, table);
    }
}

fn visit(module: &Module, op: Op, table: &mut AxisTable) {
    if let Some(op) = ForOp::of(module, op) {
        return visit_for(op, table);
    }
    if let Some(op) = WhileOp::of(module, op) {
        return visit_while(op, table);
    }
    if let Some(op) = IfOp::of(module, op) {
        return visit_if(op, table);
    }
    for &region in module.regions(op) {
        for &block in module.blocks(region) {
            forget(module, module.args(block), table);
            visit_block(module, block, table);
        }
    }
    for &result in module.results(op) {
        if !has_facts(module.ty(result)) {
            continue;
        }
        let rank = shape(module.ty(result)).len();
        let known = rule(module.row(op)).and_then(|rule| rule(module, op, table));
        let mut info = known.unwrap_or_else(|| AxisInfo::unknown(rank));
        apply_hints(&mut info, module.extra(op));
        limit(&mut info, shape(module.ty(result)));
        table.set(result, info);
    }
}

fn forget(module: &Module, values: &[Value], table: &mut AxisTable) {
    for &value in values {
        table.set(value, AxisInfo::unknown(shape(module.ty(value)).len()));
    }
}

/// No group is larger than its dimension, and one that is smaller has a power of two of elements: groups of two sizes
/// lie in each other.
fn limit(info: &mut AxisInfo, shape: &[i64]) {
    let group_in = |group: u64, size: u64| if group >= size { size } else { divisor_of(group as i64) };
    for (dim, size) in sizes(shape).into_iter().enumerate() {
        let contiguity = group_in(info.contiguity[dim], size);
        info.divisibility[dim] = info.starts(dim, contiguity);
        info.contiguity[dim] = contiguity;
        info.constancy[dim] = group_in(info.constancy[dim], size);
    }
}

/// The numbers of a hint: one for all dimensions, or one each.
fn hint_values(attr: &Attr, rank: usize) -> Option<Vec<u64>> {
    let values: Vec<i64> = match attr {
        Attr::Int { value, .. } => vec![*value; rank],
        Attr::Dense { elements: Elements::Splat(bits), .. } => vec![*bits as i64; rank],
        Attr::Dense { elements: Elements::List(list), .. } => list.iter().map(|&bits| bits as i64).collect(),
        Attr::DenseArray { values, .. } => values.to_vec(),
        _ => return None,
    };
    let powers: Vec<u64> = values.iter().map(|&value| super::divisor_of(value.max(1))).collect();
    (powers.len() == rank).then_some(powers)
}

/// Promises of the program: each replaces what was known where it says more.
fn apply_hints(info: &mut AxisInfo, attrs: &[(AttrKey, Attr)]) {
    let rank = info.rank();
    for (key, attr) in attrs {
        let Some(values) = hint_values(attr, rank) else { continue };
        let target = match key.name() {
            name if name == DIVISIBILITY.name => &mut info.divisibility,
            name if name == CONTIGUITY.name => &mut info.contiguity,
            name if name == CONSTANCY.name => &mut info.constancy,
            _ => continue,
        };
        for (known, value) in target.iter_mut().zip(values) {
            *known = (*known).max(value);
        }
    }
}

/// Joins what is known of each of two lists into the first; whether that changed anything.
fn join_into(module: &Module, targets: &[Value], sources: &[Value], table: &mut AxisTable) -> bool {
    let mut changed = false;
    for (&target, &source) in targets.iter().zip(sources) {
        if !has_facts(module.ty(target)) {
            continue;
        }
        let source = table.info(module, source);
        let joined = match table.get(target) {
            None => source,
            Some(known) => known.join(&source),
        };
        if table.get(target) != Some(&joined) {
            table.set(target, joined);
            changed = true;
        }
    }
    changed
}

fn copy(module: &Module, targets: &[Value], sources: &[Value], table: &mut AxisTable) {
    for (&target, &source) in targets.iter().zip(sources) {
        if has_facts(module.ty(target)) {
            let info = table.info(module, source);
            table.set(target, info);
        }
    }
}

fn visit_for(op: ForOp<'_>, table: &mut AxisTable) {
    let module = op.module;
    let [lower, step] = [op.lower(), op.step()].map(|value| table.info(module, value));
    let mut counter = AxisInfo::unknown(0);
    counter.divisibility[0] = lower.every(0).min(step.every(0));
    counter.non_negative = lower.non_negative;
    counter.negative = lower.negative;
    table.set(op.counter(), counter);
    copy(module, op.carried(), op.inits(), table);
    loop {
        visit_block(module, op.body(), table);
        if !join_into(module, op.carried(), op.yielded(), table) {
            break;
        }
    }
    // The loop may not run at all.
    copy(module, op.results(), op.carried(), table);
}

fn visit_while(op: WhileOp<'_>, table: &mut AxisTable) {
    let (module, before, after) = (op.module, op.before(), op.after());
    let passed = op.condition().args();
    copy(module, module.args(before), op.inits(), table);
    loop {
        visit_block(module, before, table);
        copy(module, module.args(after), passed, table);
        visit_block(module, after, table);
        if !join_into(module, module.args(before), op.yielded(), table) {
            break;
        }
    }
    copy(module, op.results(), passed, table);
}

fn visit_if(op: IfOp<'_>, table: &mut AxisTable) {
    let module = op.module;
    for (index, block) in op.blocks().enumerate() {
        visit_block(module, block, table);
        if index == 0 {
            copy(module, op.results(), yielded(module, block), table);
        } else {
            join_into(module, op.results(), yielded(module, block), table);
        }
    }
}
