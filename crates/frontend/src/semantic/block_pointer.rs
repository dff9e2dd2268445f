//! Block pointers: blocks of a tensor that know where the tensor ends.
//!
//! They exist while a kernel is walked only. Each is a base, sizes, strides and offsets; a load or store becomes one
//! through a block of addresses, with a mask for the dimensions that are checked. The part of the addresses that
//! depends on the offsets is a scalar, so that a loop that moves a block pointer computes nothing else anew.

use crate::codegen::value::{BlockPointer, Tensor};
use crate::codegen::{Ctx, Num, Res};
use crate::dtype::DType;
use crate::semantic::{LoadArgs, Overflow, Predicate, StoreArgs};
use crate::typing::Ty;
use crate::value::PyValue;
use ir::{Attr, Type};
use ruff_python_ast::Operator;
use ttir::ops::{arith_int, shape};

impl Ctx<'_> {
    /// An operator on two run-time values, overflow unchecked.
    pub(crate) fn plain(&mut self, op: Operator, a: Tensor, b: Tensor) -> Res<Tensor> {
        self.arithmetic(op, Num::Tensor(a), Num::Tensor(b), Overflow::Wraps)
    }

    /// `0, 1, …` along a dimension of a block, in an integer type.
    fn positions(&mut self, pointer: &BlockPointer, dim: usize, dtype: DType) -> Res<Tensor> {
        let size = pointer.block.shape[dim];
        let attrs = [i64::from(size), 0].map(|bound| Some(Attr::int(bound, Type::int(32))));
        let value = self.emit(&shape::MAKE_RANGE, &[], &attrs)?;
        self.cast(Tensor { value, ty: Ty::block(DType::Int32, &[size]) }, dtype)
    }

    /// A line along a dimension as a block of the pointer's rank.
    fn along(&mut self, mut line: Tensor, dim: usize, rank: usize) -> Res<Tensor> {
        for other in 0..rank {
            if other != dim {
                line = self.expand_dims(line, other)?;
            }
        }
        Ok(line)
    }

    /// The addresses of the elements of a block.
    pub(crate) fn block_addresses(&mut self, pointer: &BlockPointer) -> Res<Tensor> {
        let rank = pointer.block.shape.len();
        let mut start = pointer.base.clone();
        let mut within: Option<Tensor> = None;
        for dim in 0..rank {
            let stride = &pointer.strides[dim];
            let offset = self.cast(pointer.offsets[dim].clone(), DType::Int64)?;
            let moved = self.plain(Operator::Mult, offset, stride.clone())?;
            start = self.plain(Operator::Add, start, moved)?;
            let positions = self.positions(pointer, dim, DType::Int64)?;
            let line = self.plain(Operator::Mult, positions, stride.clone())?;
            let line = self.along(line, dim, rank)?;
            within = Some(match within {
                Some(before) => self.plain(Operator::Add, before, line)?,
                None => line,
            });
        }
        match within {
            Some(within) => self.plain(Operator::Add, start, within),
            None => Ok(start),
        }
    }

    /// Which elements of a block lie in the tensor, as far as dimensions are checked; `None` where none is.
    pub(crate) fn block_mask(&mut self, pointer: &BlockPointer, checked: &[usize]) -> Res<Option<Tensor>> {
        let rank = pointer.block.shape.len();
        let mut mask: Option<Tensor> = None;
        for dim in checked.iter().copied() {
            let size = &pointer.shape[dim];
            let dtype = if size.ty.scalar == DType::Int32.into() { DType::Int32 } else { DType::Int64 };
            let offset = self.cast(pointer.offsets[dim].clone(), dtype)?;
            let positions = self.positions(pointer, dim, dtype)?;
            let index = self.plain(Operator::Add, offset, positions)?;
            let zero = self.literal(&PyValue::Int(0), index.ty.clone())?;
            let not_before = self.compare_same(Predicate::Ge, &index, &zero)?;
            let end = self.broadcast(size.clone(), &index.ty.shape)?;
            let not_behind = self.compare_same(Predicate::Lt, &index, &end)?;
            let inside = self.elementwise(&arith_int::ANDI, &not_before, &not_behind)?;
            let inside = self.along(inside, dim, rank)?;
            let inside = self.broadcast(inside, &pointer.block.shape)?;
            mask = Some(match mask {
                Some(before) => self.elementwise(&arith_int::ANDI, &before, &inside)?,
                None => inside,
            });
        }
        Ok(mask)
    }

    /// What is read outside the tensor.
    fn padding(&mut self, pointer: &BlockPointer, option: &str) -> Res<Option<Num>> {
        let element = pointer.block.scalar;
        match option {
            "" => Ok(None),
            "zero" => Ok(Some(Num::Literal(PyValue::Int(0)))),
            "nan" if element.is_number(DType::is_int) => {
                Err(self.error("Padding option `nan` is not supported for integer block pointers"))
            }
            "nan" => Ok(Some(Num::Literal(PyValue::Float(f64::NAN)))),
            other => {
                Err(self.error_help(format!("Padding option {other} not supported"), "one of zero, nan"))
            }
        }
    }

    /// `tl.load` of a block pointer.
    pub(crate) fn load_block(
        &mut self,
        pointer: &BlockPointer,
        checked: &[usize],
        padding: &str,
        [cache_modifier, eviction_policy]: [String; 2],
        volatile: bool,
    ) -> Res<Tensor> {
        let other = self.padding(pointer, padding)?;
        let mask = self.block_mask(pointer, checked)?;
        let other = other.filter(|_| mask.is_some());
        let addresses = self.block_addresses(pointer)?;
        let mask = mask.map(Num::Tensor);
        self.load(LoadArgs { pointer: addresses, mask, other, cache_modifier, eviction_policy, volatile })
    }

    /// `tl.store` through a block pointer.
    pub(crate) fn store_block(
        &mut self,
        pointer: &BlockPointer,
        value: Num,
        checked: &[usize],
        [cache_modifier, eviction_policy]: [String; 2],
    ) -> Res<()> {
        if let Num::Tensor(tensor) = &value
            && tensor.ty.is_block()
            && tensor.ty.shape != pointer.block.shape
        {
            let message = format!(
                "Block shape({}) and value block shape({}) mismatch",
                crate::typing::ShapeText(&pointer.block.shape),
                crate::typing::ShapeText(&tensor.ty.shape)
            );
            return Err(self.error(message));
        }
        let mask = self.block_mask(pointer, checked)?.map(Num::Tensor);
        let addresses = self.block_addresses(pointer)?;
        self.store(StoreArgs { pointer: addresses, value, mask, cache_modifier, eviction_policy })
    }
}
