//! Accesses of lanes: why they are as wide as they are, and how many sectors of memory a request of a warp touches.

use crate::formula;
use crate::numbers::{Index, Numbers};
use crate::report::Sectors;
use ir::{Attr, Def, Module, Op, Value};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use target::survey::AccessFacts;
use ttgir::ops::access::{addresses, mask};
use ttir::ops::control::{ForOp, WhileOp};
use ttir::ops::func::DIVISIBILITY;
use ttir::types::{elem_bytes, pointee, shape};

/// How the addresses of an operation run along a dimension, for the arguments at hand.
fn step(module: &Module, op: Op, dim: usize, numbers: &Numbers<'_>) -> Option<i64> {
    let pointer = addresses(module, op)?;
    let dims = shape(module.ty(pointer));
    if dims.get(dim).is_none_or(|size| *size < 2) {
        return None;
    }
    let (mut first, mut second): (Index, Index) =
        (dims.iter().map(|_| 0).collect(), dims.iter().map(|_| 0).collect());
    first[dim] = 0;
    second[dim] = 1;
    Some(numbers.bits(pointer, &second)?.wrapping_sub(numbers.bits(pointer, &first)?) as i64)
}

/// Whether elements are contiguous: in words.
pub(crate) fn contiguity(module: &Module, facts: &AccessFacts, numbers: &Numbers<'_>) -> String {
    let Some(pointer) = addresses(module, facts.op) else { return "yes".into() };
    let dims = shape(module.ty(pointer));
    let bytes = elem_bytes(pointee(module.ty(pointer)).expect("verified: addresses are pointers"));
    if dims.is_empty() {
        return "one element".into();
    }
    let steps: Vec<String> = (0..dims.len())
        .filter(|dim| dims[*dim] > 1)
        .map(|dim| match step(module, facts.op, dim, numbers) {
            Some(0) => format!("dim {dim}: the same address"),
            Some(step) if step == bytes as i64 => format!("dim {dim}: contiguous"),
            Some(step) => format!("dim {dim}: {step} bytes apart"),
            None => format!("dim {dim}: where data says"),
        })
        .collect();
    if steps.is_empty() { "one element".into() } else { steps.join(", ") }
}

/// Why an access is not wider; `None` where the machine has nothing wider.
pub(crate) fn why(module: &Module, facts: &AccessFacts, numbers: &Numbers<'_>, lanes: u64) -> Option<String> {
    let bounds = &facts.bounds;
    let pointer = addresses(module, facts.op)?;
    let dims = shape(module.ty(pointer));
    let vector = facts.vector;
    if facts.way == "atomic" {
        return Some("atomics act on one element at a time".into());
    }
    if vector >= bounds.machine || dims.is_empty() {
        return None;
    }
    let bytes = elem_bytes(pointee(module.ty(pointer)).expect("verified: addresses are pointers"));
    // What makes the widest access: so many elements, and their bytes for a pointer.
    let enough = Enough { elements: bounds.machine.max(1), bytes: bounds.machine.max(1) * bytes };
    let mut reasons = Vec::new();
    if bounds.contiguity <= vector {
        reasons.push(match step(module, facts.op, bounds.dim, numbers) {
            Some(step) if step != bytes as i64 => {
                format!("neighbours along dim {} are {step} bytes apart, not {bytes}", bounds.dim)
            }
            Some(_) if bounds.contiguity > 1 => {
                format!("only {} elements are known to be contiguous", bounds.contiguity)
            }
            _ => "elements are not known to be contiguous".into(),
        });
    }
    if bounds.alignment <= vector && reasons.is_empty() {
        reasons.push(format!(
            "the address is only known to be a multiple of {} bytes{}",
            bounds.alignment * bytes,
            unaligned(module, pointer, enough)
        ));
    }
    if let Some(mask) = mask(module, facts.op).filter(|_| bounds.mask <= vector) {
        let group = if bounds.mask > 1 {
            format!("groups of {} elements", bounds.mask)
        } else {
            "single elements".into()
        };
        reasons.push(format!("the mask may change between {group}{}", unaligned(module, mask, enough)));
    }
    if reasons.is_empty() && bounds.layout <= vector {
        let elements: i64 = dims.iter().product();
        let each = elements as u64 / lanes.max(1);
        reasons.push(if each <= vector {
            format!("{elements} elements over {lanes} lanes leave {} a lane", each.max(1))
        } else {
            let held = if bounds.layout == 1 { "no".to_owned() } else { format!("only {}", bounds.layout) };
            format!("a lane holds {held} neighbours in this layout, which suits other operations better")
        });
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// What parameters must be multiples of, so that an access is as wide as the machine allows.
#[derive(Clone, Copy)]
struct Enough {
    elements: u64,
    bytes: u64,
}

/// Parameters behind a value that are not known to be multiples of enough: what callers could change.
fn unaligned(module: &Module, value: Value, enough: Enough) -> String {
    let (mut open, mut seen, mut names) = (vec![value], FxHashSet::default(), BTreeSet::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        match module.def(value) {
            Def::Result(op, _) => open.extend_from_slice(module.operands(op)),
            Def::Arg(block, index) => {
                let parent = module.region_parent(module.block_region(block));
                let is_kernel = parent.is_some_and(|op| module.is(op, &ttir::ops::func::FUNC));
                let attrs = module.arg_attrs(block, index as usize).iter();
                let known = attrs
                    .filter(|(key, _)| key.name() == DIVISIBILITY.name)
                    .find_map(|(_, attr)| Attr::as_int(attr));
                let is_pointer = pointee(module.ty(value)).is_some();
                let wanted = if is_pointer { enough.bytes } else { enough.elements };
                if is_kernel && known.unwrap_or(1) < wanted as i64 {
                    names.extend(formula::name(module, value).map(|name| (wanted, format!("`{name}`"))));
                } else if let Some(of) = parent.and_then(|op| ForOp::of(module, op)) {
                    // What a loop carries comes from where it begins.
                    let init =
                        (index as usize).checked_sub(1).map_or(of.lower(), |number| of.inits()[number]);
                    open.push(init);
                } else if let Some(of) = parent.and_then(|op| WhileOp::of(module, op)) {
                    open.extend(of.inits().get(index as usize));
                }
            }
        }
    }
    multiples(&names)
}

/// Says which parameters are not known to be multiples of what.
fn multiples(names: &BTreeSet<(u64, String)>) -> String {
    let of = |wanted: u64| {
        let own: Vec<&str> =
            names.iter().filter(|name| name.0 == wanted).map(|name| name.1.as_str()).collect();
        match own.as_slice() {
            [one] => format!("{one} is not known to be a multiple of {wanted}"),
            all => format!("{} are not known to be multiples of {wanted}", all.join(", ")),
        }
    };
    let wanted: BTreeSet<u64> = names.iter().map(|name| name.0).collect();
    let parts: Vec<String> = wanted.into_iter().rev().map(of).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

/// The sectors that the first request of the first warp touches.
pub(crate) fn sectors(
    module: &Module,
    facts: &AccessFacts,
    numbers: &Numbers<'_>,
    (sector, line): (u64, u64),
) -> Result<Sectors, &'static str> {
    if facts.positions.is_empty() {
        return Err("the program has no lanes");
    }
    let pointer = addresses(module, facts.op).ok_or("a descriptor has the addresses")?;
    let pointee = pointee(module.ty(pointer)).expect("verified: addresses are pointers");
    let bytes = elem_bytes(pointee) * facts.vector;
    let (mut touched, mut wanted, mut lines) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for position in facts.positions.iter().flatten() {
        let index: Index = position.iter().map(|at| i64::from(*at)).collect();
        let address = numbers.bits(pointer, &index).ok_or("addresses depend on data")?;
        wanted.insert(address);
        let last = address + bytes.max(1) - 1;
        touched.extend(address / sector..=last / sector);
        lines.extend(address / line..=last / line);
    }
    let bytes = wanted.len() as u64 * bytes;
    let count = |set: &BTreeSet<u64>| set.len() as u64;
    Ok(Sectors { touched: count(&touched), ideal: bytes.div_ceil(sector), bytes, lines: count(&lines) })
}
