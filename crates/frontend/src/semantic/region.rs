//! Operations that take a function of elements: reductions, scans, elementwise maps.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::typing::{ShapeText, Ty};
use crate::value::PyValue;
use ir::{Attr, OpRow, Place, Type};
use ttir::ops::reduce;

/// The most elements of one operand that `map_elementwise` hands to its function at once.
const MAX_PACK: i64 = 1024;

impl Ctx<'_> {
    /// All inputs must be blocks of one shape.
    fn check_same_shapes(&mut self, inputs: &[Tensor], what: &str) -> Res<()> {
        let Some(first) = inputs.first() else {
            return Err(self.error(format!("{what} needs at least one input")));
        };
        match inputs.iter().find(|input| input.ty.shape != first.ty.shape) {
            None => Ok(()),
            Some(other) => {
                let (a, b) = (ShapeText(&first.ty.shape).to_string(), ShapeText(&other.ty.shape).to_string());
                Err(self.error(
                    Cause::Assertion
                        .says(format!("all {what} inputs must have the same shape, got {a} and {b}")),
                ))
            }
        }
    }

    /// `tl.reduce`; with no axis over all elements.
    pub(crate) fn reduce(
        &mut self,
        inputs: Vec<Tensor>,
        axis: Option<i128>,
        combine: &Val,
        keep_dims: bool,
    ) -> Res<Vec<Tensor>> {
        self.check_same_shapes(&inputs, "reduction")?;
        let rank = inputs[0].ty.shape.len();
        if rank == 0 {
            return Err(self.error_help(
                format!("a reduction needs a block, found a scalar of type {}", inputs[0].ty),
                "a scalar is its own sum, minimum and maximum: use it as it is",
            ));
        }
        let (inputs, along) = match axis {
            Some(axis) => {
                let along = self.wrap_axis(axis, rank)?;
                (inputs, along)
            }
            None => {
                let numel = [i128::from(inputs[0].ty.numel() as u32)];
                let mut flat = Vec::new();
                for input in inputs {
                    flat.push(self.reshape(input, &numel, true)?);
                }
                (flat, 0)
            }
        };
        let mut results = Vec::new();
        for input in &inputs {
            let mut ty = input.ty.clone();
            ty.shape.remove(along);
            results.push(ty);
        }
        let attrs = [Some(Attr::i32(along as i32))];
        let mut reduced =
            self.combining_op(&reduce::REDUCE, &reduce::REDUCE_RETURN, &inputs, &attrs, results, combine)?;
        if keep_dims {
            for tensor in &mut reduced {
                let expansions = if axis.is_some() { vec![along] } else { vec![0; rank] };
                for at in expansions {
                    *tensor = self.expand_dims(tensor.clone(), at)?;
                }
            }
        }
        Ok(reduced)
    }

    /// `tl.associative_scan`.
    pub(crate) fn scan(
        &mut self,
        inputs: Vec<Tensor>,
        axis: i128,
        combine: &Val,
        reverse: bool,
    ) -> Res<Vec<Tensor>> {
        self.check_same_shapes(&inputs, "scan")?;
        let along = self.wrap_axis(axis, inputs[0].ty.shape.len())?;
        let attrs = [Some(Attr::i32(along as i32)), Some(Attr::Bool(reverse))];
        let results = inputs.iter().map(|input| input.ty.clone()).collect();
        self.combining_op(&reduce::SCAN, &reduce::SCAN_RETURN, &inputs, &attrs, results, combine)
    }

    /// An op whose region combines two elements of each input into one.
    fn combining_op(
        &mut self,
        row: &'static OpRow,
        terminator: &'static OpRow,
        inputs: &[Tensor],
        attrs: &[Option<Attr>],
        results: Vec<Ty>,
        combine: &Val,
    ) -> Res<Vec<Tensor>> {
        let elements: Vec<Ty> = inputs.iter().map(|input| Ty::scalar(input.ty.scalar)).collect();
        let params: Vec<Ty> = elements.iter().chain(&elements).cloned().collect();
        let op = self.region_op(row, inputs, attrs, &results)?;
        let (returned, _) = self.fill_region(op, terminator, &params, combine, &elements)?;
        if returned.len() != elements.len() {
            let (expected, found) = (elements.len(), returned.len());
            return Err(
                self.error(format!("the combine function must return {expected} values, it returns {found}"))
            );
        }
        for (returned, element) in returned.iter().zip(&elements) {
            if returned != element {
                return Err(self.error_help(
                    format!("the combine function returns {returned} for elements of type {element}"),
                    "cast the input to the type of the result first, or the result back",
                ));
            }
        }
        Ok(self.op_results(op, results))
    }

    fn region_op(
        &mut self,
        row: &'static OpRow,
        inputs: &[Tensor],
        attrs: &[Option<Attr>],
        results: &[Ty],
    ) -> Res<ir::Op> {
        let operands: Vec<ir::Value> = inputs.iter().map(|input| input.value).collect();
        let mut types: Vec<Type> = Vec::new();
        for ty in results {
            types.push(self.ir_type(ty)?);
        }
        Ok(self.emit_op(row, &operands, attrs, &types))
    }

    fn op_results(&self, op: ir::Op, results: Vec<Ty>) -> Vec<Tensor> {
        let values = self.module.results(op).to_vec();
        values.into_iter().zip(results).map(|(value, ty)| Tensor { value, ty }).collect()
    }

    /// Fills the region of an op by calling a function on its arguments. Gives the types of what it returned.
    fn fill_region(
        &mut self,
        op: ir::Op,
        terminator: &'static OpRow,
        params: &[Ty],
        function: &Val,
        wanted: &[Ty],
    ) -> Res<(Vec<Ty>, bool)> {
        let region = self.module.region(op, 0);
        let block = self.module.add_block(region);
        let mut args = Vec::new();
        for ty in params {
            let ir_type = self.ir_type(ty)?;
            args.push(Val::Tensor(Tensor { value: self.module.add_arg(block, ir_type), ty: ty.clone() }));
        }
        let loc = self.module.loc(op);
        for index in 0..args.len() {
            self.module.set_arg_loc(block, index, loc);
        }
        let outside = std::mem::replace(&mut self.place, Place::End(block));
        let result = self.call_combine(function, args).and_then(|(returned, is_tuple)| {
            let pairs = returned.into_iter().enumerate();
            let fitted = pairs.map(|(at, tensor)| match wanted.get(at) {
                Some(ty) => self.narrowed_extremum(tensor, ty),
                None => Ok(tensor),
            });
            Ok((fitted.collect::<Res<Vec<Tensor>>>()?, is_tuple))
        });
        let result = result.map(|(returned, is_tuple)| {
            let values: Vec<ir::Value> = returned.iter().map(|tensor| tensor.value).collect();
            self.emit_effect(terminator, &values, &[]);
            (returned.into_iter().map(|tensor| tensor.ty).collect(), is_tuple)
        });
        self.place = outside;
        result
    }

    /// What the function returns, and whether that is a tuple.
    fn call_combine(&mut self, function: &Val, args: Vec<Val>) -> Res<(Vec<Tensor>, bool)> {
        let Val::Const(PyValue::JitFunction(function)) = function else {
            let message = format!("expected a @jit function to combine with, found {}", function.describe());
            return Err(self.error(message));
        };
        match self.call_jit(&function.clone(), args, Vec::new())? {
            Val::Tuple(tuple) => {
                let items: Res<Vec<Tensor>> = tuple.items.iter().map(|item| self.tensor_from(item)).collect();
                Ok((items?, true))
            }
            single => Ok((vec![self.tensor_from(&single)?], false)),
        }
    }

    /// `tl.map_elementwise`: the results, and whether they are a tuple, as they are of a function that returns one.
    pub(crate) fn map_elementwise(
        &mut self,
        function: &Val,
        inputs: Vec<Tensor>,
        pack: i128,
    ) -> Res<(Vec<Tensor>, bool)> {
        if inputs.is_empty() || pack < 1 {
            return Err(self.error("map_elementwise must have at least 1 input tensor, and pack >= 1"));
        }
        let Some(pack) = i64::try_from(pack).ok().filter(|&pack| pack <= MAX_PACK) else {
            return Err(self.error(format!("map_elementwise: pack is {pack}, and can be at most {MAX_PACK}")));
        };
        let inputs = self.broadcast_all(inputs)?;
        if inputs[0].ty.shape.is_empty() {
            return Err(self.error_help(
                "map_elementwise needs a block, found scalars",
                "call the function itself: it works on scalars",
            ));
        }
        let params: Vec<Ty> = inputs
            .iter()
            .flat_map(|input| std::iter::repeat_n(Ty::scalar(input.ty.scalar), pack as usize))
            .collect();
        let op =
            self.region_op(&reduce::MAP_ELEMENTWISE, &inputs, &[Some(Attr::int(pack, Type::int(32)))], &[])?;
        let (returned, is_tuple) =
            self.fill_region(op, &reduce::MAP_ELEMENTWISE_RETURN, &params, function, &[])?;
        let mut results = Vec::new();
        for group in returned.chunks(pack as usize) {
            if group.len() != pack as usize || group.iter().any(|ty| *ty != group[0]) {
                return Err(self.error("type mismatch in unpacked results"));
            }
            let ty = inputs[0].ty.with(group[0].scalar);
            let ir_type = self.ir_type(&ty)?;
            self.module.push_result(op, ir_type);
            results.push(ty);
        }
        Ok((self.op_results(op, results), is_tuple))
    }
}
