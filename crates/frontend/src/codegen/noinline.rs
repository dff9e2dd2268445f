//! Calls of functions that ask for real ones (`@jit(noinline=True)`): `tt.call` of a function of the module.
//!
//! A function is walked once for each kind of arguments: constants are part of it, the run-time values in its arguments
//! are its parameters, and those in its result are what it returns. Called in place stays what has other arguments or
//! results than numbers, addresses, blocks of them and tuples, and what combines elements. Later passes may inline
//! calls all the same; a function knows less of its arguments than code in place of the call.

use crate::codegen::join::{joinable, leaves, with_leaves};
use crate::codegen::scope::Locals;
use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::parse::ParsedFunction;
use crate::value::FunctionRef;
use ir::{Attr, Place, Type};
use std::sync::Arc;
use ttir::ops::control::{FOR, IF, WHILE};
use ttir::ops::func;

/// A function of the module.
pub(crate) struct Instance {
    function: FunctionRef,
    /// Its arguments, by the names of the parameters.
    args: Locals,
    symbol: Arc<str>,
    /// What it returns.
    result: Val,
}

impl Instance {
    fn takes(&self, function: &FunctionRef, args: &Locals) -> bool {
        let alike = |((one, a), (other, b)): ((&_, &Val), (&_, &Val))| one == other && joinable(a, b);
        self.function == *function && self.args.len() == args.len() && self.args.iter().zip(args).all(alike)
    }
}

/// Whether a value crosses into functions and back.
fn crosses(val: &Val) -> bool {
    match val {
        Val::Const(_) | Val::Tensor(_) => true,
        Val::Tuple(tuple) => tuple.items.iter().all(crosses),
        _ => false,
    }
}

impl Ctx<'_> {
    /// Calls a function that asks for it; `None` where the call stays one in place.
    pub(crate) fn call_function(
        &mut self,
        function: &FunctionRef,
        parsed: &Arc<ParsedFunction>,
        args: &Locals,
    ) -> Option<Res<Val>> {
        let is_plain = args.values().all(crosses);
        if !function.0.noinline || !is_plain || self.frames.is_empty() || self.combines_elements() {
            return None;
        }
        let known = self.instances.iter().position(|instance| instance.takes(function, args));
        let known = match known {
            Some(known) => known,
            None => match self.make_function(function, parsed, args) {
                Ok(made) => made?,
                Err(stop) => return Some(Err(stop)),
            },
        };
        let (symbol, result) = (self.instances[known].symbol.clone(), self.instances[known].result.clone());
        let operands: Vec<ir::Value> = parts(args.values()).iter().map(|part| part.value).collect();
        let types: Vec<Type> = parts([&result]).iter().map(|part| self.module.ty(part.value)).collect();
        let op = self.emit_op(&func::CALL, &operands, &[Some(Attr::Symbol(symbol))], &types);
        let mut results = self.module.results(op).to_vec().into_iter();
        let mut next = |_: &Tensor| results.next().expect("a result for each part");
        Some(Ok(with_leaves(&result, &mut next)))
    }

    /// Whether what is walked is the function of a reduction, a scan or a map.
    fn combines_elements(&self) -> bool {
        let module = &self.module;
        let around = match self.place {
            Place::End(block) => module.region_parent(module.block_region(block)),
            Place::Before(op) => module.parent_op(op),
        };
        let is_flow = |&op: &ir::Op| [&FOR, &WHILE, &IF].iter().any(|row| module.is(op, row));
        let mut outwards = std::iter::successors(around, |&op| module.parent_op(op));
        outwards.find(|op| !is_flow(op)).is_none_or(|op| !module.is(op, &func::FUNC))
    }

    /// A symbol for one more function, which is not that of the kernel.
    fn symbol_of(&self, function: &FunctionRef) -> Arc<str> {
        let symbol = format!("{}__{}", function.0.name, self.instances.len());
        let kernel = self.request.symbol.as_deref().unwrap_or(&self.request.function.0.name);
        if symbol == kernel { format!("{symbol}_") } else { symbol }.into()
    }

    /// Walks a function for such arguments; `None` where its result does not cross.
    fn make_function(
        &mut self,
        function: &FunctionRef,
        parsed: &Arc<ParsedFunction>,
        args: &Locals,
    ) -> Res<Option<usize>> {
        let symbol = self.symbol_of(function);
        let outside = std::mem::replace(&mut self.place, Place::End(self.module.body()));
        let attrs = [
            Some(Attr::Symbol(symbol.clone())),
            Some(Attr::Type(Type::function(Vec::new(), Vec::new()))),
            Some(Attr::str("private")),
            Some(Attr::Bool(true)),
        ];
        let op = self.emit_op(&func::FUNC, &[], &attrs, &[]);
        let region = self.module.region(op, 0);
        let block = self.module.add_block(region);
        self.place = Place::End(block);
        let mut locals = Locals::default();
        for (name, val) in args {
            let loc = self.loc();
            let mut next = |part: &Tensor| {
                let ty = self.module.ty(part.value);
                let param = self.module.add_arg(block, ty);
                self.module.set_name(param, name);
                self.module.set_arg_loc(block, self.module.args(block).len() - 1, loc);
                param
            };
            let param = with_leaves(val, &mut next);
            locals.insert(name.clone(), param);
        }
        let result = self.walk_bound(parsed, locals.clone(), None, false).map(|(result, _)| result);
        if let Ok(result) = &result {
            let values: Vec<ir::Value> = parts([result]).iter().map(|part| part.value).collect();
            self.emit_effect(&func::RETURN, &values, &[]);
            let ty = |value: &ir::Value| self.module.ty(*value);
            let params = self.module.args(block).iter().map(ty).collect();
            let ty = Type::function(params, values.iter().map(ty).collect());
            func::FuncOp::set_ty(&mut self.module, op, ty);
        }
        self.place = outside;
        let result = result?;
        if !crosses(&result) {
            self.module.erase(op);
            return Ok(None);
        }
        self.instances.push(Instance { function: function.clone(), args: locals, symbol, result });
        Ok(Some(self.instances.len() - 1))
    }
}

/// The run-time values in some values, in order.
fn parts<'a>(vals: impl IntoIterator<Item = &'a Val>) -> Vec<Tensor> {
    let mut all = Vec::new();
    vals.into_iter().for_each(|val| leaves(val, &mut all));
    all
}
