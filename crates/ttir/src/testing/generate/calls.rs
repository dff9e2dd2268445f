//! Functions that are called.

use super::{Buffer, Maker};
use crate::ops::func;
use crate::types::pointee;
use ir::{Attr, Builder, OpInit, Place, Type, Value};
use smallvec::SmallVec;

impl Maker {
    /// A function of a few values and all buffers that gives a few values, called here.
    pub(super) fn random_call(&mut self) {
        let mut given: Vec<Value> =
            (0..self.random.below(3) + 1).filter_map(|_| self.pick(|ty| pointee(ty).is_none())).collect();
        let own = given.len();
        given.extend(self.inputs.iter().map(|input| input.pointer));
        given.extend([self.scratch, self.counters]);
        let params: Vec<Type> = given.iter().map(|&value| self.ty(value)).collect();
        let name = format!("function_{}", self.functions);
        self.functions += 1;
        let results = self.function(&name, &params, own);
        let init = OpInit {
            operands: given.into(),
            results: results.into_iter().collect(),
            attrs: SmallVec::from_iter([Some(Attr::Symbol(name.as_str().into()))]),
            regions: 0,
        };
        let call = self.builder().insert(&func::CALL, init);
        self.learn_results(call);
    }

    /// The function; gives the types of its results. The first parameters are values, the others buffers.
    fn function(&mut self, name: &str, params: &[Type], own: usize) -> Vec<Type> {
        let attrs = SmallVec::from_iter([
            Some(Attr::Symbol(name.into())),
            Some(Attr::Type(Type::function(params.to_vec(), Vec::new()))),
            Some(Attr::str("private")),
            Some(Attr::Bool(!self.random.one_in(4))),
        ]);
        let body = self.module.body();
        let mut builder = Builder::new(&mut self.module, Place::End(body));
        let function = builder.insert(&func::FUNC, OpInit { attrs, regions: 1, ..OpInit::default() });
        let (block, args) = self.block_with(function, 0, params);
        let mut pointers = args[own..].iter();
        let inputs = self.inputs.iter().zip(pointers.by_ref());
        let inputs = inputs.map(|(input, &pointer)| Buffer { pointer, elem: input.elem }).collect();
        let outer = (std::mem::replace(&mut self.inputs, inputs), self.scratch, self.counters);
        (self.scratch, self.counters) = (args[args.len() - 2], args[args.len() - 1]);
        let mut results = Vec::new();
        self.inside(block, |maker| {
            maker.known.clear();
            args[..own].iter().for_each(|&arg| maker.learn(arg));
            let computes_only = maker.random.one_in(2);
            for _ in 0..maker.random.below(5) + 1 {
                if computes_only { maker.random_elementwise() } else { maker.step() }
            }
            let values = maker.carried();
            results = values.iter().map(|&value| maker.ty(value)).collect();
            maker.terminate(&func::RETURN, &values);
        });
        (self.inputs, self.scratch, self.counters) = outer;
        let ty = Type::function(params.to_vec(), results.clone());
        func::FuncOp::set_ty(&mut self.module, function, ty);
        results
    }
}
