//! Removes instructions whose results nobody uses.
//!
//! Input:
//! ```text
//! %0 = add i32 %a, 1
//! %1 = add i32 %a, 2
//! store i32 %1, ptr %p, align 4
//! ```
//! Output: the same without `%0`. Loads that are not volatile go too; calls and assembly go when they are pure.

use crate::flags::Flags;
use crate::function::{Block, FuncId, Function, InstData, Payload, Value, ValueDef};
use crate::module::Module;
use crate::rows::Op;
use cranelift_entity::SecondaryMap;

/// Drops what is not needed, in every function of the module; block parameters that only feed themselves too.
pub fn remove_unused(module: &mut Module) {
    let ids: Vec<FuncId> = module.bodies.keys().copied().collect();
    for id in ids {
        let Some(mut function) = module.bodies.remove(&id) else { continue };
        remove_in(module, &mut function);
        module.bodies.insert(id, function);
    }
}

pub(crate) fn remove_in(module: &Module, function: &mut Function) {
    let used = used_values(module, function);
    drop_params(function, &used);
    let Function { layout, blocks, insts, results, .. } = function;
    for block in layout.iter() {
        blocks[*block].insts.retain(|inst| {
            let result = results[*inst].expand();
            has_effect(module, &insts[*inst]) || result.is_some_and(|value| used[value])
        });
    }
}

/// Whether an instruction must stay though nobody uses its result.
fn has_effect(module: &Module, data: &InstData) -> bool {
    !module.is_pure(data) && !is_plain_load(data) && data.op != Op::ALLOCA
}

fn is_plain_load(data: &InstData) -> bool {
    let plain = !data.flags.contains(Flags::VOLATILE);
    matches!(data.payload, Payload::Memory(memory) if memory.ordering.is_none())
        && data.op == Op::LOAD
        && plain
}

/// All values that something needed uses, and needed block parameters.
fn used_values(module: &Module, function: &Function) -> SecondaryMap<Value, bool> {
    let mut used: SecondaryMap<Value, bool> = function.about_values();
    let mut work: Vec<Value> = Vec::new();
    let mut sources: SecondaryMap<Block, Vec<usize>> = SecondaryMap::new();
    let mut calls = Vec::new();
    for block in &function.layout {
        for inst in &function.blocks[*block].insts {
            let data = &function.insts[*inst];
            if has_effect(module, data) {
                note(&data.operands, &mut used, &mut work);
            }
        }
        for call in function.targets(*block) {
            sources[call.block].push(calls.len());
            calls.push(call);
        }
    }
    while let Some(value) = work.pop() {
        match &function.values[value].def {
            ValueDef::Inst(inst) => note(&function.insts[*inst].operands, &mut used, &mut work),
            ValueDef::BlockParam(block, index) => {
                // Where others were dropped, it has moved to the front.
                let params = &function.blocks[*block].params;
                let params = &params[..params.len().min(*index as usize + 1)];
                let index = params.iter().rposition(|param| *param == value);
                let Some(index) = index else { continue };
                let passed = sources[*block].iter().filter_map(|call| calls[*call].args.get(index));
                passed.for_each(|value| note(std::slice::from_ref(value), &mut used, &mut work));
            }
            ValueDef::Constant(_) | ValueDef::Param(_) => {}
        }
    }
    used
}

/// Notes that values are used, and those that were not known to be as further work.
fn note(values: &[Value], used: &mut SecondaryMap<Value, bool>, work: &mut Vec<Value>) {
    for value in values {
        if !std::mem::replace(&mut used[*value], true) {
            work.push(*value);
        }
    }
}

/// Drops block parameters that are not used, with what is passed for them.
fn drop_params(function: &mut Function, used: &SecondaryMap<Value, bool>) {
    let Function { layout, blocks, insts, values, .. } = function;
    let keep: SecondaryMap<Block, Vec<bool>> = layout.iter().fold(SecondaryMap::new(), |mut keep, block| {
        keep[*block] = blocks[*block].params.iter().map(|param| used[*param]).collect();
        keep
    });
    for block in layout.iter() {
        let mut flags = keep[*block].iter();
        blocks[*block].params.retain(|_| *flags.next().expect("verified: as many arguments as parameters"));
        for (index, param) in blocks[*block].params.iter().enumerate() {
            values[*param].def = ValueDef::BlockParam(*block, index as u32);
        }
        let Some(last) = blocks[*block].insts.last() else { continue };
        for call in &mut insts[*last].targets {
            let mut flags = keep[call.block].iter();
            call.args.retain(|_| *flags.next().expect("verified: as many arguments as parameters"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{FunctionBuilder, Linkage, Module, Param, ParamAttributes, Type, verify};

    #[test]
    fn what_nobody_uses_goes() {
        let mut module = Module::new("test");
        let param = |ty, name: &str| Param { ty, name: name.into(), attributes: ParamAttributes::default() };
        let id = module.add_function("f", Type::VOID, vec![param(Type::PTR, "p"), param(Type::I32, "n")]);
        let mut b = FunctionBuilder::new(&mut module, id);
        let (p, n) = (b.param(0), b.param(1));
        let (zero, one) = (b.i32(0), b.i32(1));
        let unused = b.mul(n, n);
        let sums = b.for_loop(zero, n, one, &[zero, zero], |b, iv, carried| {
            let sum = b.add(carried[0], iv);
            let other = b.add(carried[1], unused);
            [sum, other].into_iter().collect()
        });
        b.store(sums[0], p, 4);
        b.ret(None);
        b.finish();
        let before = module.function(id).unwrap().len();
        super::remove_unused(&mut module);
        assert_eq!(module.function(id).unwrap().linkage, Linkage::External);
        assert_eq!(module.function(id).unwrap().len(), before - 2);
        assert!(!module.to_string().contains("mul"));
        verify(&module).unwrap();
    }
}
