//! Addresses that a loop moves by the same amount become what they begin with plus one offset.
//!
//! Input:
//! ```text
//! loop(%p, %q, …): load %p; load %q; …; br loop(%p + %step, %q + %step, …)
//! ```
//! Output:
//! ```text
//! loop(%o): %p2 = %p0 + %o; %q2 = %q0 + %o; …; load %p2; load %q2; …; br loop(%o + %step)
//! ```
//!
//! The sums are as many as before. But what they give is no longer the next address in the register of the last one:
//! they stand at the beginning of an iteration, where they wait for nothing, and not between the accesses and the end
//! of it. Of a few addresses each takes more registers than that is worth. Where many addresses begin at one pointer,
//! and each adds a number of 32 bits to it, the offset is added to the pointer, and the numbers are added in the
//! loop: that takes one register for each, and not two. Left out: addresses that are needed after being moved, loops
//! that are repeated from several places.

use super::Context;
use super::flow::passed;
use super::loops::{Loop, loops};
use super::merge_params::retain;
use super::rewrite::Replacements;
use crate::constant::Constant;
use crate::dominators::Dominators;
use crate::function::{Block, Function, Inst, InstData, Payload, Value, ValueData, ValueDef};
use crate::rows::Op;
use crate::types::Type;
use cranelift_entity::SecondaryMap;

/// So many addresses that move together share an offset.
const FEWEST: usize = 4;
/// So many addresses of a family take more registers than can be spared. For fewer, sums of 64 bits are no more
/// instructions, and ready earlier.
const MANY: usize = 24;

pub(super) fn share_steps(_: &Context<'_>, function: &mut Function) {
    let dominators = Dominators::new(function);
    for found in loops(&dominators) {
        for (step, moved) in groups(function, &found) {
            if moved.len() >= FEWEST {
                share(function, &found, step, &moved);
            }
        }
    }
}

/// By how much addresses are moved: a value that counts elements, and the bytes of one.
type Increment = (Value, i64);

/// An address that a loop carries.
struct Moved {
    param: Value,
    /// What it is in the first iteration.
    start: Value,
    /// The instruction that moves it.
    inst: Inst,
}

/// The addresses that a loop carries, by how much they are moved, in the order of the first of each.
fn groups(function: &Function, found: &Loop) -> Vec<(Increment, Vec<Moved>)> {
    let [tail] = found.tails[..] else { return Vec::new() };
    let (Some(starts), Some(nexts)) =
        (handed(function, found.before, found.head), handed(function, tail, found.head))
    else {
        return Vec::new();
    };
    let uses = function.uses();
    let mut inside: SecondaryMap<Block, bool> = SecondaryMap::new();
    for block in &found.blocks {
        inside[*block] = true;
    }
    let mut groups: Vec<(Increment, Vec<Moved>)> = Vec::new();
    for ((&param, &start), &next) in function.block(found.head).params.iter().zip(starts).zip(nexts) {
        let ValueDef::Inst(inst) = function.value(next).def else { continue };
        let (data, ty) = (function.inst(inst), function.value(param).ty);
        let [base, by] = data.operands[..] else { continue };
        let is_wide = ty.is_ptr() && !ty.is_vector() && ty.as_int().lane_bits() == 64;
        if data.op != Op::GEP || base != param || !is_wide || uses[next] != 1 {
            continue;
        }
        let Some(bytes) = data.element_bytes() else { continue };
        if is_made_in(function, by, &inside) {
            continue;
        }
        let moved = Moved { param, start, inst };
        match groups.iter_mut().find(|(step, _)| *step == (by, bytes)) {
            Some((_, group)) => group.push(moved),
            None => groups.push(((by, bytes), vec![moved])),
        }
    }
    groups
}

/// What a block hands to another one, if it goes there once.
fn handed(function: &Function, from: Block, to: Block) -> Option<&[Value]> {
    let mut calls = function.targets(from).iter().filter(|call| call.block == to);
    let first = calls.next()?;
    calls.next().is_none().then_some(&first.args)
}

/// Whether a value is made in some blocks.
fn is_made_in(function: &Function, value: Value, blocks: &SecondaryMap<Block, bool>) -> bool {
    match function.value(value).def {
        ValueDef::Constant(_) | ValueDef::Param(_) => false,
        ValueDef::BlockParam(block, _) => blocks[block],
        ValueDef::Inst(inst) => {
            let holds = |block: &&Block| function.block(**block).insts.contains(&inst);
            function.layout.iter().filter(|block| blocks[**block]).find(holds).is_some()
        }
    }
}

/// Lets addresses share an offset.
fn share(function: &mut Function, found: &Loop, (by, bytes): Increment, moved: &[Moved]) {
    let [tail] = found.tails[..] else { return };
    let wide = Type::I64;
    let location = function.location_of(moved[0].inst);
    let number = |function: &mut Function, number: i64| {
        function.intern(Constant::bits(wide, i128::from(number) as u128))
    };
    let append = |function: &mut Function, block: Block, data: InstData| {
        let (inst, value) = function.make_value(data, location);
        let insts = &mut function.blocks[block].insts;
        insts.insert(insts.len().saturating_sub(1), inst);
        value
    };
    let bytes = number(function, bytes);
    let by = match function.value(by).ty.lane_bits() {
        64 => by,
        _ => append(function, found.before, InstData::new(Op::SEXT, wide, &[by])),
    };
    let step = append(function, found.before, InstData::new(Op::MUL, wide, &[by, bytes]));
    let params = &mut function.blocks[found.head].params;
    let def = ValueDef::BlockParam(found.head, params.len() as u32);
    let offset = function.values.push(ValueData { ty: wide, def });
    params.push(offset);
    let zero = number(function, 0);
    hand_on(function, found.before, found.head, zero);
    let next = append(function, tail, InstData::new(Op::ADD, wide, &[offset, step]));
    hand_on(function, tail, found.head, next);
    let mut replacements = Replacements::default();
    let mut sums: Vec<Inst> = Vec::new();
    let gep = |function: &mut Function, ty: Type, base: Value, index: Value, element: Type| {
        let address = InstData::new(Op::GEP, ty, &[base, index]).with(Payload::Element(element, 0));
        function.make_value(address, location)
    };
    for family in families(function, moved) {
        let ty = function.value(family.root).ty;
        let mut root = family.root;
        for term in &family.common {
            let (inst, value) = gep(function, ty, root, term.index, term.element);
            let insts = &mut function.blocks[found.before].insts;
            insts.insert(insts.len().saturating_sub(1), inst);
            root = value;
        }
        let (inst, moving) = gep(function, ty, root, offset, Type::I8);
        sums.push(inst);
        for (param, own) in family.members {
            let (inst, value) = gep(function, ty, moving, own.index, own.element);
            sums.push(inst);
            replacements.replace(param, value);
        }
    }
    for one in moved {
        if replacements.find(one.param) != one.param {
            continue;
        }
        let (inst, value) = gep(function, function.value(one.param).ty, one.start, offset, Type::I8);
        sums.push(inst);
        replacements.replace(one.param, value);
    }
    function.blocks[found.head].insts.splice(0..0, sums);
    let params = &function.blocks[found.head].params;
    let keep: Vec<bool> = params.iter().map(|param| moved.iter().all(|one| one.param != *param)).collect();
    let comers = passed(function)[found.head].clone();
    retain(function, found.head, &keep, &comers);
    replacements.apply(function);
}

/// A number of elements that is added to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Term {
    index: Value,
    element: Type,
}

/// Addresses that begin at one root and differ by one number of 32 bits each: a register where the whole address takes
/// two, and an instruction that widens, scales and adds.
struct Family {
    root: Value,
    /// What is added for all of them.
    common: Vec<Term>,
    /// The parameters of the loop, and what is added for each alone.
    members: Vec<(Value, Term)>,
}

/// A parameter of a loop, and all that is added to its root.
type Member = (Value, Vec<Term>);

/// The families among addresses.
fn families(function: &Function, moved: &[Moved]) -> Vec<Family> {
    let mut roots: Vec<(Value, Vec<Member>)> = Vec::new();
    for one in moved {
        let (root, terms) = terms(function, one.start);
        match roots.iter_mut().find(|(known, _)| *known == root) {
            Some((_, members)) => members.push((one.param, terms)),
            None => roots.push((root, vec![(one.param, terms)])),
        }
    }
    roots.into_iter().filter_map(|(root, members)| family(function, root, &members)).collect()
}

/// The addresses of a root as a family, if they are one.
fn family(function: &Function, root: Value, members: &[Member]) -> Option<Family> {
    let (_, first) = members.first().filter(|_| members.len() >= MANY)?;
    let common: Vec<Term> =
        first.iter().filter(|term| members.iter().all(|(_, terms)| terms.contains(term))).copied().collect();
    let own = |(param, terms): &Member| {
        let mut rest = terms.clone();
        for term in &common {
            rest.remove(rest.iter().position(|one| one == term)?);
        }
        match rest[..] {
            [own] if is_narrow(function, own) => Some((*param, own)),
            _ => None,
        }
    };
    let members = members.iter().map(own).collect::<Option<Vec<_>>>()?;
    Some(Family { root, common, members })
}

/// Whether a term is widened from 32 bits, and scaled.
fn is_narrow(function: &Function, term: Term) -> bool {
    let widened = function.defining(term.index).filter(|data| [Op::SEXT, Op::ZEXT].contains(&data.op));
    let narrow = widened.map_or(term.index, |data| data.operands[0]);
    let is_constant = function.constant(term.index).is_some();
    !is_constant && function.value(narrow).ty == Type::I32 && term.element.lane_bytes() > 1
}

/// What an address begins at, and what is added to that.
fn terms(function: &Function, address: Value) -> (Value, Vec<Term>) {
    let (mut root, mut terms) = (address, Vec::new());
    while let Some(data) = function.defining(root).filter(|data| data.op == Op::GEP)
        && let Payload::Element(element, _) = data.payload
    {
        terms.push(Term { index: data.operands[1], element });
        root = data.operands[0];
    }
    (root, terms)
}

/// Adds a value to what a block hands to another one.
fn hand_on(function: &mut Function, from: Block, to: Block, value: Value) {
    let Some(last) = function.blocks[from].insts.last().copied() else { return };
    for call in function.insts[last].targets.iter_mut().filter(|call| call.block == to) {
        call.args.push(value);
    }
}
