//! Inlining: every call is replaced by the body of the function it calls.
//!
//! ```text
//! tt.func private @f(%x: i32) -> i32 { %y = … ; tt.return %y }
//! %r = tt.call @f(%a)                    =>    %y = … (with %a for %x)
//! use(%r)                                      use(%y)
//! ```
//!
//! The copies' locations say where they were called. Functions that are left without callers are removed. A function
//! that calls itself, directly or not, is an error.

use super::dce::SYMBOL_DCE;
use crate::diagnostic::Diagnostic;
use crate::entity::{Loc, Op};
use crate::loc::LocData;
use crate::module::traits::Traits;
use crate::module::{Module, mapped};
use crate::pass::PassRow;
use rustc_hash::FxHashMap;

/// Replaces calls by bodies.
pub static INLINE: PassRow =
    PassRow { name: "inline", doc: "Replaces every call by the body of the function it calls.", run };

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    inline_calls(module, |_, _| false)
}

/// Replaces the calls of functions that a predicate does not keep. It is asked about a function once the calls in that
/// are replaced.
///
/// # Errors
/// Where a function calls itself, directly or not.
pub fn inline_calls(module: &mut Module, keeps: fn(&Module, Op) -> bool) -> Result<(), Diagnostic> {
    let functions: Vec<Op> = module.ops(module.body()).filter(|&op| module.has(op, Traits::SYMBOL)).collect();
    let mut state = FxHashMap::default();
    for function in functions {
        inline_into(module, function, keeps, &mut state)?;
    }
    (SYMBOL_DCE.run)(module)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
}

/// Inlines all calls in a function, after those in the functions it calls.
fn inline_into(
    module: &mut Module,
    function: Op,
    keeps: fn(&Module, Op) -> bool,
    state: &mut FxHashMap<Op, State>,
) -> Result<(), Diagnostic> {
    if state.get(&function) == Some(&State::Done) {
        return Ok(());
    }
    state.insert(function, State::Open);
    let calls: Vec<Op> =
        module.walk(function).into_iter().filter(|&op| module.has(op, Traits::CALL)).collect();
    for call in calls {
        let place = module.locs.describe(module.loc(call));
        let name = module.callee(call).expect("verified: a call names a function").to_owned();
        let Some(callee) = module.symbol(&name) else {
            return Err(Diagnostic::new(format!("there is no function @{name}")).at(place));
        };
        if state.get(&callee) == Some(&State::Open) {
            return Err(
                Diagnostic::new(format!("@{name} calls itself; recursion is not supported")).at(place)
            );
        }
        inline_into(module, callee, keeps, state)?;
        if keeps(module, callee) {
            continue;
        }
        expand(module, call, callee).map_err(|message| Diagnostic::new(message).at(place))?;
    }
    state.insert(function, State::Done);
    Ok(())
}

fn expand(module: &mut Module, call: Op, callee: Op) -> Result<(), String> {
    let entry = module.entry_of(callee);
    let (params, args) = (module.args(entry).to_vec(), module.operands(call).to_vec());
    if params.len() != args.len() {
        return Err(format!("the function takes {} arguments, {} are given", params.len(), args.len()));
    }
    let mut map: FxHashMap<_, _> = params.into_iter().zip(args).collect();
    let caller = module.loc(call);
    let mut returned = Vec::new();
    for op in module.ops(entry).collect::<Vec<_>>() {
        if module.has(op, Traits::TERMINATOR) {
            returned = module.operands(op).iter().map(|&value| mapped(&map, value)).collect();
            continue;
        }
        let copy = module.clone_op(op, &mut map);
        module.insert_before(call, copy);
        for inner in module.walk(copy) {
            place_at_call(module, inner, caller);
        }
    }
    let results = module.results(call).to_vec();
    if results.len() != returned.len() {
        return Err(format!(
            "the function returns {} values, {} are expected",
            returned.len(),
            results.len()
        ));
    }
    for (from, to) in results.into_iter().zip(returned) {
        module.replace_uses(from, to);
    }
    module.erase(call);
    Ok(())
}

/// Makes the locations of an operation and of its block arguments say where they were called.
fn place_at_call(module: &mut Module, op: Op, caller: Loc) {
    let loc = call_site(module, module.loc(op), caller);
    module.set_loc(op, loc);
    for region in module.regions(op).to_vec() {
        for block in module.blocks(region).to_vec() {
            for index in 0..module.args(block).len() {
                let loc = call_site(module, module.arg_loc(block, index), caller);
                module.set_arg_loc(block, index, loc);
            }
        }
    }
}

fn call_site(module: &mut Module, callee: Loc, caller: Loc) -> Loc {
    module.locs.intern(LocData::CallSite { callee, caller })
}
