//! Tensor descriptors as addresses and masks.
//!
//! Input:  `%d = tt.make_tensor_descriptor %p, [%rows, %columns], [%stride, 1]`, `%x = tt.descriptor_load %d[%i, %j]`
//! Output: `%x = tt.load %addresses, %inside, %padding`, whose addresses and mask are index arithmetic.

use super::error::{LowerError, Result};
use ir::view::EnumAttr;
use ir::{Attr, Builder, Loc, Module, Op, Type, Value};
use ttir::ops::atomic::{self, AtomicRmwOp, Rmw, Scope, Sem};
use ttir::ops::compare::{self, CmpIOp, CmpIPredicate};
use ttir::ops::descriptor::{
    self, DescriptorAccessOp, DescriptorGatherOp, DescriptorLoadOp, DescriptorReduceOp, DescriptorScatterOp,
    DescriptorStoreOp, MakeDescriptorOp, Padding,
};
use ttir::ops::{arith_cast, arith_int, constant, memory, shape};
use ttir::types;

/// What an operation needs of its descriptor.
struct Descriptor {
    base: Value,
    sizes: Vec<Value>,
    strides: Vec<Value>,
    pads_nan: bool,
}

/// Rewrites all accesses through descriptors.
pub(crate) fn expand(module: &mut Module, kernel: Op) -> Result<()> {
    for op in module.walk(kernel) {
        let row = module.row(op);
        if row.is(&descriptor::LOAD) || row.is(&descriptor::GATHER) {
            load(module, op)?;
        } else if row.is(&descriptor::STORE) || row.is(&descriptor::SCATTER) || row.is(&descriptor::REDUCE) {
            store(module, op)?;
        }
    }
    let makers: Vec<Op> =
        module.walk(kernel).into_iter().filter(|&op| module.is(op, &descriptor::MAKE)).collect();
    for op in makers {
        if module.is_unused(module.result(op, 0)) {
            module.erase(op);
        }
    }
    Ok(())
}

fn describe(module: &Module, op: Op) -> Result<Descriptor> {
    let Some(made) = MakeDescriptorOp::def(module, DescriptorAccessOp::new(module, op).desc()) else {
        return Err(LowerError::unsupported(
            module,
            op,
            "its descriptor is carried by a loop or a condition, or handed to a function that is not inlined; make it in \
             front of its uses",
        ));
    };
    Ok(Descriptor {
        base: made.base(),
        sizes: made.shape().to_vec(),
        strides: made.strides().to_vec(),
        pads_nan: made.padding() == Padding::Nan,
    })
}

/// Makes blocks of one shape.
struct Maker<'m> {
    b: Builder<'m>,
    shape: Vec<i64>,
}

impl Maker<'_> {
    fn block(&self, elem: Type) -> Type {
        types::tensor(&self.shape, elem)
    }

    fn splat(&mut self, scalar: Value) -> Value {
        let ty = self.block(self.b.module.ty(scalar));
        self.b.build_as(&shape::SPLAT, &[scalar], &[], ty)
    }

    /// A block of one dimension, repeated along all others.
    fn along(&mut self, dim: usize, line: Value) -> Value {
        let elem = types::elem(self.b.module.ty(line));
        let mut wide = vec![1; self.shape.len()];
        wide[dim] = self.shape[dim];
        let mut value = line;
        for axis in (0..self.shape.len()).filter(|&axis| axis != dim) {
            value = self.b.build(&shape::EXPAND_DIMS, &[value], &[Some(Attr::i32(axis as i32))]);
        }
        debug_assert_eq!(types::shape(self.b.module.ty(value)), &wide[..]);
        let ty = self.block(elem);
        if self.b.module.ty(value) == ty {
            return value;
        }
        self.b.build_as(&shape::BROADCAST, &[value], &[], ty)
    }

    /// `start, start + 1, …` along a dimension.
    fn positions(&mut self, dim: usize, start: Value) -> Value {
        let size = self.shape[dim];
        let attrs = [Some(Attr::i32(size as i32)), Some(Attr::i32(0))];
        let range = self.b.build(&shape::MAKE_RANGE, &[], &attrs);
        let start = self.narrow(start);
        let start = self.b.build_as(&shape::SPLAT, &[start], &[], types::tensor(&[size], Type::int(32)));
        let line = self.b.build(&arith_int::ADDI, &[start, range], &[]);
        self.along(dim, line)
    }

    /// Positions and sizes as `i32`.
    fn narrow(&mut self, value: Value) -> Value {
        match self.b.module.ty(value).as_int() {
            Some(bits) if bits > 32 => self.b.build_as(&arith_cast::TRUNCI, &[value], &[], Type::int(32)),
            Some(bits) if bits < 32 => self.b.build_as(&arith_cast::EXTSI, &[value], &[], Type::int(32)),
            _ => value,
        }
    }

    /// Rows that were picked, as `i32`.
    fn as_positions(&mut self, rows: Value) -> Value {
        let ty = types::with_elem(self.b.module.ty(rows), Type::int(32));
        if ty == self.b.module.ty(rows) {
            rows
        } else {
            self.b.build_as(&arith_cast::EXTSI, &[rows], &[], ty)
        }
    }

    /// Addresses and the mask of what lies inside, given positions along each dimension of the tensor.
    fn places(&mut self, descriptor: &Descriptor, positions: &[Value]) -> (Value, Value) {
        let mut pointers = self.splat(descriptor.base);
        let mut inside: Option<Value> = None;
        let wide = self.block(Type::int(64));
        for (dim, &position) in positions.iter().enumerate() {
            let offset = self.b.build_as(&arith_cast::EXTSI, &[position], &[], wide);
            let stride = descriptor.strides[dim];
            let stride = match self.b.module.ty(stride).as_int() {
                Some(64) => stride,
                _ => self.b.build_as(&arith_cast::EXTSI, &[stride], &[], Type::int(64)),
            };
            let stride = self.splat(stride);
            let offset = self.b.build(&arith_int::MULI, &[offset, stride], &[]);
            pointers = self.b.build(&memory::ADDPTR, &[pointers, offset], &[]);
            let size = self.narrow(descriptor.sizes[dim]);
            let size = self.splat(size);
            let ty = self.b.module.ty(position);
            let zero = constant::int(&mut self.b, ty, 0);
            for (predicate, limit) in [(CmpIPredicate::Sge, zero), (CmpIPredicate::Slt, size)] {
                let holds = self.b.build(&compare::CMPI, &[position, limit], &CmpIOp::attrs(predicate));
                inside = Some(match inside {
                    Some(inside) => self.b.build(&arith_int::ANDI, &[inside, holds], &[]),
                    None => holds,
                });
            }
        }
        let always = inside.unwrap_or(pointers);
        (pointers, always)
    }
}

/// Positions of the elements that an access touches.
fn positions(maker: &mut Maker<'_>, op: Op) -> Vec<Value> {
    let module = &*maker.b.module;
    let gathered = DescriptorGatherOp::of(module, op).map(|gather| (gather.x_offsets(), gather.y_offset()));
    let scattered =
        DescriptorScatterOp::of(module, op).map(|scatter| (scatter.x_offsets(), scatter.y_offset()));
    if let Some((rows, column)) = gathered.or(scattered) {
        let rows = maker.as_positions(rows);
        let rows = maker.along(0, rows);
        return vec![rows, maker.positions(1, column)];
    }
    let indices = if let Some(load) = DescriptorLoadOp::of(module, op) {
        load.indices()
    } else if let Some(store) = DescriptorStoreOp::of(module, op) {
        store.indices()
    } else {
        DescriptorReduceOp::new(module, op).indices()
    };
    let indices = indices.to_vec();
    indices.into_iter().enumerate().map(|(dim, start)| maker.positions(dim, start)).collect()
}

fn load(module: &mut Module, op: Op) -> Result<()> {
    let descriptor = describe(module, op)?;
    let result = module.result(op, 0);
    let ty = module.ty(result);
    let elem = types::elem(ty);
    let mut maker = Maker { b: Builder::before(module, op), shape: types::shape(ty).to_vec() };
    let positions = positions(&mut maker, op);
    let (pointers, inside) = maker.places(&descriptor, &positions);
    let padding = match elem.as_float().filter(|_| descriptor.pads_nan) {
        Some(kind) => ir::scalar::float_bits(kind, f64::NAN),
        None => 0,
    };
    let other = constant::build(&mut maker.b, ty, padding);
    let loaded = maker.b.build_as(&memory::LOAD, &[pointers, inside, other], &[], ty);
    module.replace_uses(result, loaded);
    module.erase(op);
    Ok(())
}

/// The atomic that a kind of combination is, for floats and for integers.
fn combination(reduce: DescriptorReduceOp<'_>) -> Result<Rmw> {
    let keyword = reduce.kind().keyword();
    let name = descriptor::atomic_name(reduce.module.ty(reduce.desc()), keyword);
    name.and_then(Rmw::from_keyword).ok_or_else(|| {
        LowerError::unsupported(
            reduce.module,
            reduce.op,
            &format!("combining by `{keyword}`; load, combine and store instead"),
        )
    })
}

fn store(module: &mut Module, op: Op) -> Result<()> {
    let descriptor = describe(module, op)?;
    let (value, rmw) = if let Some(reduce) = DescriptorReduceOp::of(module, op) {
        (reduce.src(), Some(combination(reduce)?))
    } else if let Some(scatter) = DescriptorScatterOp::of(module, op) {
        (scatter.src(), None)
    } else {
        (DescriptorStoreOp::new(module, op).src(), None)
    };
    let ty = module.ty(value);
    let loc: Loc = module.loc(op);
    let mut maker = Maker { b: Builder::before(module, op), shape: types::shape(ty).to_vec() };
    maker.b.loc = loc;
    let positions = positions(&mut maker, op);
    let (pointers, inside) = maker.places(&descriptor, &positions);
    if let Some(rmw) = rmw {
        let attrs = AtomicRmwOp::attrs(rmw, Sem::Relaxed, Scope::Gpu);
        maker.b.build_as(&atomic::ATOMIC_RMW, &[pointers, value, inside], &attrs, ty);
    } else {
        maker.b.build_effect(&memory::STORE, &[pointers, value, inside], &[]);
    }
    module.erase(op);
    Ok(())
}
