//! Indexing, and moving elements between shapes.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::diagnostic::Cause;
use crate::extension::Extension;
use crate::typing::{self, Shape, ShapeText, Ty};
use ir::{Attr, Type};
use ttir::ops::shape;

impl Ctx<'_> {
    /// Whether there are blocks of this shape.
    pub(crate) fn check_block(&self, dims: &[i128]) -> Result<Shape, String> {
        let any = self.has_extension(Extension::AnyShape);
        if any { typing::check_any_shape(dims) } else { typing::check_block_shape(dims) }
    }

    /// The shape of a new block.
    pub(crate) fn block_shape(&mut self, dims: &[i128]) -> Res<Shape> {
        let checked = self.check_block(dims);
        self.check(checked)
    }

    /// The shape of a block that is made of another one. What is made of a block of any shape may have any shape.
    pub(crate) fn shape_of(&mut self, tensor: &Tensor, dims: &[i128]) -> Res<Shape> {
        let any = tensor.ty.shape.iter().any(|dim| !dim.is_power_of_two());
        if any { self.check(typing::check_any_shape(dims)) } else { self.block_shape(dims) }
    }

    /// The elements at the same positions in a block of other sizes; those that it does not have are undefined.
    pub(crate) fn resized_to(&mut self, tensor: Tensor, dims: &[u32]) -> Res<Tensor> {
        if tensor.ty.shape.as_slice() == dims {
            return Ok(tensor);
        }
        let ty = Ty::block(tensor.ty.scalar, dims);
        self.reshaped(&shape::RESIZE, tensor, &[], ty)
    }

    /// An axis between `-rank` and `rank - 1` as one counted from the front.
    pub(crate) fn wrap_axis(&mut self, axis: i128, rank: usize) -> Res<usize> {
        let rank = rank as i128;
        if (-rank..rank).contains(&axis) {
            return Ok(if axis < 0 { axis + rank } else { axis } as usize);
        }
        Err(self.error(format!("invalid axis {axis}. Expected {} <= axis < {rank}", -rank)))
    }

    /// `x[…]`: only new dimensions (`None`) and whole ones (`:`), unless an extension allows more.
    pub(crate) fn index_tensor(&mut self, tensor: Tensor, index: &Val) -> Res<Tensor> {
        if self.has_extension(Extension::BlockIndexing) {
            return self.part_of(tensor, index);
        }
        let parts: Vec<Val> = match index {
            Val::Tuple(tuple) => tuple.items.clone(),
            other => vec![other.clone()],
        };
        let is_scalar = !tensor.ty.is_block();
        let mut result = tensor;
        for (dim, part) in parts.iter().enumerate() {
            match part {
                Val::Const(crate::value::PyValue::None) => {
                    // A scalar has no dimension that a `:` could stand for: `scalar[:, None]` is a block of one
                    // element.
                    let dim = if is_scalar { dim.min(result.ty.shape.len()) } else { dim };
                    result = self.expand_dims(result, dim)?;
                }
                // One too many changes nothing, as for the reference before 3.9: `scalar[:]`, `row[:, None, :]`.
                Val::Slice(slice) if slice.iter().all(Val::is_none) => {}
                Val::Poison => return Err(crate::codegen::Stop),
                other => {
                    let message = format!(
                        "unsupported tensor index: {}; a block can only be indexed with `:` and `None` (`x[:, None]`)",
                        other.describe()
                    );
                    let help = if result.ty.numel() == 1 {
                        "the tensor has one element: read it with `x.item()`"
                    } else {
                        "load what you need through a pointer, select with `tl.where(positions == i, x, 0)` and `tl.sum`, use \
                         `tl.gather`, or switch it on: `@triton.jit(extensions=[\"block_indexing\"])`"
                    };
                    return Err(self.error_help(message, help));
                }
            }
        }
        Ok(result)
    }

    /// The same elements in another shape.
    pub(crate) fn reshape(&mut self, tensor: Tensor, dims: &[i128], reorder: bool) -> Res<Tensor> {
        let dims = self.shape_of(&tensor, dims)?;
        let ty = Ty { scalar: tensor.ty.scalar, shape: dims };
        if ty.numel() != tensor.ty.numel() {
            let (from, to) = (ShapeText(&tensor.ty.shape).to_string(), ShapeText(&ty.shape).to_string());
            return Err(self.error(format!(
                "reshape() cannot change total number of elements in tensor: {from} has {}, {to} has {}",
                tensor.ty.numel(),
                ty.numel()
            )));
        }
        if ty.shape.is_empty() {
            return self.item(tensor);
        }
        if !tensor.ty.is_block() {
            return self.splat(tensor, &ty.shape);
        }
        if ty.shape == tensor.ty.shape {
            return Ok(tensor);
        }
        self.reshaped(&shape::RESHAPE, tensor, &[reorder.then_some(Attr::Unit)], ty)
    }

    /// The only element of a tensor.
    pub(crate) fn item(&mut self, tensor: Tensor) -> Res<Tensor> {
        if !tensor.ty.is_block() {
            return Ok(tensor);
        }
        if tensor.ty.numel() != 1 {
            let found = tensor.ty.numel();
            return Err(self
                .error(Cause::Assertion.says(format!(
                    "can only unsplat single-element tensors, this one has {found} elements"
                ))));
        }
        self.reshaped(&shape::UNSPLAT, tensor.clone(), &[], Ty::scalar(tensor.ty.scalar))
    }

    /// Dimensions in another order.
    pub(crate) fn permute(&mut self, tensor: Tensor, order: &[i128]) -> Res<Tensor> {
        let rank = tensor.ty.shape.len();
        if order.len() != rank {
            return Err(self.error(format!(
                "permute dims must have the same length as input shape, got {rank} and {}",
                order.len()
            )));
        }
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..rank as i128) {
            return Err(self
                .error(format!("permute dims must be a permutation of 0, 1, ..., n-1, but were {order:?}")));
        }
        let dims = order.iter().map(|from| tensor.ty.shape[*from as usize]).collect();
        let ty = Ty { scalar: tensor.ty.scalar, shape: dims };
        let values = order.iter().map(|from| *from as i64).collect();
        self.reshaped(&shape::TRANS, tensor, &[Some(Attr::DenseArray { elem: Type::int(32), values })], ty)
    }

    /// The last two dimensions swapped.
    pub(crate) fn transpose(&mut self, tensor: Tensor) -> Res<Tensor> {
        let rank = tensor.ty.shape.len() as i128;
        if rank < 2 {
            return Err(self.error("tl.trans invoked with a 0- or 1-dimensional tensor"));
        }
        let order: Vec<i128> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        self.permute(tensor, &order)
    }

    /// Two values paired in a new last dimension.
    pub(crate) fn join(&mut self, a: Tensor, b: Tensor) -> Res<Tensor> {
        self.check_alike(&a, &b, "tl.join")?;
        let (mut a, mut b) = self.broadcast_both(a, b)?;
        let scalars = !a.ty.is_block();
        if scalars {
            (a, b) = (self.expand_dims(a, 0)?, self.expand_dims(b, 0)?);
        }
        let mut ty = a.ty.clone();
        ty.shape.push(2);
        self.ir_type(&ty)?;
        let value = self.emit(&shape::JOIN, &[a.value, b.value], &[])?;
        let joined = Tensor { value, ty };
        if scalars { self.reshape(joined, &[2], false) } else { Ok(joined) }
    }

    /// Refuses to put elements of different types into one block; whether integers are signed does not matter.
    fn check_alike(&mut self, a: &Tensor, b: &Tensor, what: &str) -> Res<()> {
        let of = |tensor: &Tensor| Ty::scalar(tensor.ty.scalar);
        if self.ir_type(&of(a))? == self.ir_type(&of(b))? {
            return Ok(());
        }
        Err(self.error(format!("{what} needs equal types, got {} and {}", a.ty.scalar, b.ty.scalar)))
    }

    /// The halves of the last dimension, which has size 2.
    pub(crate) fn split(&mut self, tensor: Tensor) -> Res<(Tensor, Tensor)> {
        let last = tensor.ty.shape.last().copied();
        if last != Some(2) {
            let found = ShapeText(&tensor.ty.shape).to_string();
            return Err(self.error(
                Cause::Assertion
                    .says(format!("expected last dimension to be 2 for split, got shape {found}")),
            ));
        }
        let was_rank_1 = tensor.ty.shape.len() == 1;
        let tensor = if was_rank_1 { self.expand_dims(tensor, 0)? } else { tensor };
        let mut ty = tensor.ty.clone();
        ty.shape.pop();
        let ir_type = self.ir_type(&ty)?;
        let op = self.emit_op(&shape::SPLIT, &[tensor.value], &[], &[ir_type, ir_type]);
        let half = |index: usize| Tensor { value: self.module.result(op, index), ty: ty.clone() };
        let (left, right) = (half(0), half(1));
        if was_rank_1 { Ok((self.item(left)?, self.item(right)?)) } else { Ok((left, right)) }
    }

    /// One block behind the other along a dimension.
    pub(crate) fn cat(&mut self, a: Tensor, b: Tensor, dim: i128, reorder: bool) -> Res<Tensor> {
        let rank = a.ty.shape.len();
        if a.ty.shape != b.ty.shape || rank == 0 {
            let (left, right) = (ShapeText(&a.ty.shape).to_string(), ShapeText(&b.ty.shape).to_string());
            return Err(
                self.error(format!("tl.cat requires tensors of the same shape, got {left} and {right}"))
            );
        }
        if reorder {
            self.check_alike(&a, &b, "tl.cat")?;
            let mut ty = a.ty.clone();
            ty.shape[0] *= 2;
            self.ir_type(&ty)?;
            let value = self.emit(&shape::CAT, &[a.value, b.value], &[])?;
            return Ok(Tensor { value, ty });
        }
        let dim = self.wrap_axis(dim, rank)?;
        let mut dims: Vec<i128> = a.ty.shape.iter().map(|dim| i128::from(*dim)).collect();
        dims[dim] *= 2;
        let joined = self.join(a, b)?;
        let mut order: Vec<i128> = (0..rank as i128).collect();
        order.insert(dim, rank as i128);
        let permuted = self.permute(joined, &order)?;
        self.reshape(permuted, &dims, false)
    }

    /// A block of one value.
    pub(crate) fn full(&mut self, dims: &[i128], value: Num, dtype: crate::dtype::DType) -> Res<Tensor> {
        let dims = self.block_shape(dims)?;
        if let Num::Literal(value) = &value {
            return self.literal(value, Ty { scalar: dtype.into(), shape: dims });
        }
        let scalar = self.make_scalar(value, dtype)?;
        self.splat(scalar, &dims)
    }
}
