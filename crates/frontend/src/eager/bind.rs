//! Operands of a step: their run-time parts become parameters of its function.

use crate::codegen::value::{Descriptor, Tensor, Tuple, Val};
use crate::codegen::{Ctx, Res, leaves, with_leaves};
use crate::dtype::Scalar;
use crate::request::DescriptorSpec;
use ir::Attr;
use std::rc::Rc;
use ttir::ops::descriptor::Padding;

/// The parameters so far.
pub(super) struct Bound {
    block: ir::Block,
    /// How many run-time parts of operands there were.
    seen: usize,
    /// Which of them each parameter takes.
    pub(super) params: Vec<usize>,
}

impl Bound {
    pub(super) fn new(block: ir::Block) -> Bound {
        Bound { block, seen: 0, params: Vec::new() }
    }

    /// An operand with parameters as its run-time parts.
    pub(super) fn bind(&mut self, ctx: &mut Ctx<'_>, val: &Val) -> Res<Val> {
        match val {
            Val::Descriptor(descriptor) => self.descriptor(ctx, descriptor),
            Val::Tuple(tuple) => {
                let items = tuple.items.iter().map(|item| self.bind(ctx, item)).collect::<Res<Vec<_>>>()?;
                Ok(Val::Tuple(Rc::new(Tuple { items, fields: tuple.fields.clone() })))
            }
            other => self.parts(ctx, other),
        }
    }

    fn parts(&mut self, ctx: &mut Ctx<'_>, val: &Val) -> Res<Val> {
        let mut parts = Vec::new();
        leaves(val, &mut parts);
        let mut made = Vec::with_capacity(parts.len());
        for part in &parts {
            made.push(self.parameter(ctx, part)?);
        }
        let mut next = made.into_iter();
        Ok(with_leaves(val, &mut |_| next.next().expect("there is one for each part")))
    }

    fn parameter(&mut self, ctx: &mut Ctx<'_>, part: &Tensor) -> Res<ir::Value> {
        let ty = ctx.ir_type(&part.ty)?;
        self.params.push(self.seen);
        self.seen += 1;
        Ok(ctx.module.add_arg(self.block, ty))
    }

    /// A descriptor comes in as one that is an argument of a kernel does; its base comes in once more, for whoever
    /// gives it on.
    fn descriptor(&mut self, ctx: &mut Ctx<'_>, descriptor: &Descriptor) -> Res<Val> {
        let Scalar::Number(element) = descriptor.block.scalar else {
            return Err(ctx.error("a descriptor of pointers"));
        };
        let made = descriptor.made_of.as_ref().expect("the form of a descriptor has a base");
        let pads_nan =
            matches!(&made.padding, Some(Attr::Enum { value, .. }) if *value == Padding::Nan as u32);
        let spec = DescriptorSpec {
            element,
            block: descriptor.block.shape.to_vec(),
            pads_nan,
            rounds_to_tf32: descriptor.rounds_to_tf32,
            divisible_by_16: false,
        };
        let first = self.seen;
        let mut own = ctx.descriptor_parameter("descriptor", &spec, self.block)?;
        self.params.extend(first..=first + own.shape.len() + own.strides.len());
        self.params.push(first);
        let ty = ctx.ir_type(&made.base.ty)?;
        let base = Tensor { value: ctx.module.add_arg(self.block, ty), ty: made.base.ty.clone() };
        self.seen = first + 1 + own.shape.len() + own.strides.len();
        own.made_of = Some(crate::codegen::value::DescriptorBase { base, padding: made.padding.clone() });
        Ok(Val::Descriptor(Rc::new(own)))
    }
}
