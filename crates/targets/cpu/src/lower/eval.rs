//! Values of a chunk, evaluated where they are asked for.
//!
//! [`Chunks::eval`] answers the value of a block at a position. What is in memory is read; shape operations move the
//! position; everything else is computed from its operands at the same position. Within a scope nothing is evaluated
//! twice.
//!
//! Values are evaluated in topological order: what one needs is opened above it on a list, so that expressions may be
//! as deep as they like, and what lowers an operation is given the values of its operands.

use super::chunk::Chunks;
use super::element::Zeros;
use super::error::{LowerError, Result};
use super::memory::{Loading, Next};
use super::prefetch::Row;
use super::scratch::Buffer;
use super::types;
use super::value::{Affine, At, Index, Val};
use elementwise::Elems;
use ir::{Attr, Def, Elements, Op, Traits, Value as IrValue};
use llir::{Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_float::DIVF;
use ttir::ops::constant::{self, ConstantOp};
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::{MakeRangeOp, SplatOp};
use ttir::ops::{compare, extern_call, reduce};

/// A value that is being evaluated.
struct Open {
    value: IrValue,
    at: At,
    /// How many values were evaluated for others when it was opened: those behind are its own.
    base: usize,
    how: How,
}

/// How a value is evaluated.
enum How {
    /// From the operands of an operation at the same position.
    Computed(Op, u32),
    /// It is another value at another position.
    Moved(IrValue, At),
    /// By a load.
    Loaded(Op, Loading),
    /// Out of a buffer, once the address is known of what is asked for ahead.
    Read(Box<(Buffer, Row)>),
}

impl Chunks<'_, '_> {
    /// The value of a block (or scalar) at a position.
    pub(crate) fn eval(&mut self, value: IrValue, at: &At) -> Result<Val> {
        let (mut open, mut evaluated) = (Vec::new(), Vec::with_capacity(8));
        if let Some(how) = self.begin(value, at, &mut evaluated)? {
            open.push(Open { value, at: at.clone(), base: 0, how });
        }
        while let Some(top) = open.last_mut() {
            match self.go_on(top, &mut evaluated) {
                Ok(Some(needed)) => open.push(needed),
                Ok(None) => {
                    open.pop();
                }
                Err(error) => {
                    return Err(match self.module.def_op(top.value) {
                        Some(op) => error.at(self.module, op),
                        None => error,
                    });
                }
            }
        }
        evaluated.pop().ok_or_else(|| LowerError::new("a value was not evaluated"))
    }

    /// The value of a block at a position, as a vector.
    pub(crate) fn eval_vector(&mut self, value: IrValue, at: &At) -> Result<Value> {
        let val = self.eval(value, at)?;
        let ty = self.module.ty(value);
        Ok(self.vector(&val, ty))
    }

    /// What a buffer of binary32 holds, as a value of a narrower format.
    fn converted(&mut self, val: Val, from: ir::Type, to: ir::Type) -> Val {
        match (types::small_float(to), &val) {
            (Some(kind), Val::Uniform(value)) if from != to => Val::Uniform(self.narrow(kind, *value)),
            (Some(kind), Val::Vector(value)) if from != to => Val::Vector(self.narrow(kind, *value)),
            _ => val,
        }
    }

    /// The value of a block of numbers at a position, in a type that holds them all.
    pub(crate) fn eval_as(&mut self, value: IrValue, to: ir::Type, at: &At) -> Result<Value> {
        let ty = self.module.ty(value);
        let val = self.eval(value, at)?;
        let elem = ttir::types::elem(ty);
        let scalar = self.as_scalar(&val, ty);
        let own = scalar.unwrap_or_else(|| self.vector(&val, ty));
        let wide = match types::small_float(elem) {
            _ if elem == to => own,
            Some(kind) => {
                let wide = self.widen(kind, own);
                types::small_float(to).map_or(wide, |kind| self.narrow(kind, wide))
            }
            None if elem.as_int().is_some() => {
                let ty = self.b.ty(own).with_scalar(types::register(to));
                self.b.resize_signed(own, ty)
            }
            None => own,
        };
        Ok(if scalar.is_some() { self.spread(wide) } else { wide })
    }

    /// Evaluates a value that is known or needs no other; else answers how it is evaluated.
    fn begin(&mut self, value: IrValue, at: &At, evaluated: &mut Vec<Val>) -> Result<Option<How>> {
        let module = self.module;
        if !ttir::types::is_tensor(module.ty(value)) {
            evaluated.push(Val::Uniform(self.scalar(value)?));
            return Ok(None);
        }
        if let Some(known) = self.known(value, at) {
            evaluated.push(known);
            return Ok(None);
        }
        let val = if let Some(buffer) = self.buffers.get(&value).cloned() {
            if let Some(row) = self.next_row(value, at) {
                return Ok(Some(How::Read(Box::new((buffer, row)))));
            }
            self.read_kept(value, &buffer, at)
        } else {
            let Def::Result(op, number) = module.def(value) else {
                return Err(LowerError::new("a block is used where it is not available"));
            };
            if let Some(how) = self.how(op, number, at).map_err(|error| error.at(module, op))? {
                return Ok(Some(how));
            }
            self.source(op, value, at).map_err(|error| error.at(module, op))?
        };
        self.remember(value, at, val.clone());
        evaluated.push(val);
        Ok(None)
    }

    /// How the result of an operation is evaluated, if it needs other values.
    fn how(&mut self, op: Op, number: u32, at: &At) -> Result<Option<How>> {
        let (module, row) = (self.module, self.module.row(op));
        if row.traits.has(Traits::VIEW) {
            let (operand, at) = self.moved(op, number, at)?;
            return Ok(Some(How::Moved(operand, at)));
        }
        if AccessOp::load(module, op).is_some() {
            return Ok(Some(How::Loaded(op, Loading::Begun)));
        }
        Ok((!row.traits.has(Traits::SOURCE)).then_some(How::Computed(op, number)))
    }

    /// A value that needs no other block.
    fn source(&mut self, op: Op, value: IrValue, at: &At) -> Result<Val> {
        let module = self.module;
        Ok(if let Some(splat) = SplatOp::of(module, op) {
            Val::Uniform(self.scalar(splat.src())?)
        } else if let Some(range) = MakeRangeOp::of(module, op) {
            self.range_at(range, at)
        } else if module.is(op, &constant::CONSTANT) {
            self.constant_block(op, value, at)?
        } else {
            Val::Uniform(self.b.zero(types::register(ttir::types::elem(module.ty(value)))))
        })
    }

    /// Goes on with the value on top, given what was evaluated for it: answers what it needs next, or evaluates it.
    fn go_on(&mut self, top: &mut Open, evaluated: &mut Vec<Val>) -> Result<Option<Open>> {
        let module = self.module;
        let val = match &mut top.how {
            How::Computed(op, number) => {
                let operands = module.operands(*op);
                for &operand in &operands[evaluated.len() - top.base..] {
                    if let Some(how) = self.begin(operand, &top.at, evaluated)? {
                        let (at, base) = (top.at.clone(), evaluated.len());
                        return Ok(Some(Open { value: operand, at, base, how }));
                    }
                }
                self.computed(*op, *number, &evaluated[top.base..])?
            }
            How::Moved(operand, at) => {
                if evaluated.len() == top.base
                    && let Some(how) = self.begin(*operand, at, evaluated)?
                {
                    return Ok(Some(Open { value: *operand, at: at.clone(), base: evaluated.len(), how }));
                }
                evaluated[top.base].clone()
            }
            How::Loaded(op, loading) => loop {
                let base = top.base;
                let given = if evaluated.len() > base { evaluated.pop() } else { None };
                match self.load(*op, &top.at, loading, given)? {
                    Next::Done(val) => break val,
                    Next::Needs(value, at) => {
                        if let Some(how) = self.begin(value, &at, evaluated)? {
                            return Ok(Some(Open { value, at, base, how }));
                        }
                    }
                }
            },
            How::Read(kept) => {
                let (buffer, row) = &**kept;
                if evaluated.len() == top.base
                    && let Some(how) = self.begin(row.pointer, &top.at, evaluated)?
                {
                    let (at, base) = (top.at.clone(), evaluated.len());
                    return Ok(Some(Open { value: row.pointer, at, base, how }));
                }
                self.prefetch_row(row, &evaluated[top.base]);
                self.read_kept(top.value, buffer, &top.at)
            }
        };
        evaluated.truncate(top.base);
        self.remember(top.value, &top.at, val.clone());
        evaluated.push(val);
        Ok(None)
    }

    /// The result of an operation, given the values of its operands.
    fn computed(&mut self, op: Op, number: u32, vals: &[Val]) -> Result<Val> {
        let row = self.module.row(op);
        if row.is(&reduce::MAP_ELEMENTWISE) {
            return self.map_elementwise(op, number, vals);
        }
        if row.is(&extern_call::INLINE_ASM) {
            return self.no_lowering(op);
        }
        self.elementwise(op, vals)
    }

    /// A block that is in memory.
    fn read_kept(&mut self, value: IrValue, buffer: &Buffer, at: &At) -> Val {
        let base = self.address(buffer);
        let val = self.read(base, buffer.elem, &buffer.strides, at);
        let elem = ttir::types::elem(self.module.ty(value));
        self.converted(val, buffer.elem, elem)
    }

    /// An elementwise operation, given the values of its operands.
    fn elementwise(&mut self, op: Op, vals: &[Val]) -> Result<Val> {
        let module = self.module;
        let elems = Elems::of(module, op);
        let operands = module.operands(op);
        if let Some(val) = self.symbolic(op, &elems, vals)? {
            return Ok(val);
        }
        let scalars: Vec<Option<Value>> = operands
            .iter()
            .zip(vals)
            .map(|(&operand, val)| self.as_scalar(val, module.ty(operand)))
            .collect();
        let all: Option<Vec<Value>> = scalars.iter().copied().collect();
        if let Some(all) = all {
            return self.apply(op, &all, Zeros::Signed).map(Val::Uniform);
        }
        let mut vectors: Vec<Value> = Vec::new();
        for (index, (&operand, val)) in operands.iter().zip(vals).enumerate() {
            vectors.push(match scalars[index] {
                Some(scalar) if index == 0 && module.is(op, &compare::SELECT) => scalar,
                _ => self.vector(val, module.ty(operand)),
            });
        }
        if module.is(op, &DIVF)
            && let Some(&inverse) = self.assumed.inverses.get(&BinaryOp::new(module, op).rhs())
        {
            return Ok(Val::Vector(self.corrected(op, [vectors[0], vectors[1]], inverse)));
        }
        self.apply(op, &vectors, Zeros::Signed).map(Val::Vector)
    }

    /// An elementwise call of a region, given the values of its operands.
    fn map_elementwise(&mut self, op: Op, number: u32, vals: &[Val]) -> Result<Val> {
        let module = self.module;
        let operands: Vec<Value> = module
            .operands(op)
            .iter()
            .zip(vals)
            .map(|(&operand, val)| self.vector(val, module.ty(operand)))
            .collect();
        let block = module.entry_of(op);
        let results = self.inline_region(block, &operands, Zeros::Signed)?;
        Ok(Val::Vector(results[number as usize]))
    }

    fn range_at(&mut self, range: MakeRangeOp<'_>, at: &At) -> Val {
        let start = range.start();
        match &at.dims[0] {
            Index::Known(linear, lanes) => {
                Val::Affine(Affine { base: self.b.i32(start), linear: linear.clone(), lanes: lanes.clone() })
            }
            Index::Vector(vector) => {
                let ty = self.vector_type(Type::I32);
                let (narrow, start) = (self.b.resize_signed(*vector, ty), self.b.int(ty, i64::from(start)));
                Val::Vector(self.b.add(narrow, start))
            }
        }
    }

    fn constant_block(&mut self, op: Op, value: IrValue, at: &At) -> Result<Val> {
        let ty = self.module.ty(value);
        let elem = ttir::types::elem(ty);
        let attr = ConstantOp::new(self.module, op).value();
        if let Some(bits) = constant::splat_bits(attr) {
            return Ok(Val::Uniform(self.b.bits(types::register(elem), u128::from(bits))));
        }
        let Attr::Dense { elements: Elements::List(list), .. } = attr else {
            return Err(LowerError::new("a constant block has no elements"));
        };
        let bits = list.iter().map(|&bits| u128::from(bits)).collect();
        let lane = types::memory(elem);
        let symbol = self.b.module().add_table("table", lane, bits, lane.lane_bytes().max(1));
        let base = self.b.symbol(&symbol);
        let strides = types::row_major(types::shape(ty));
        Ok(self.read(base, elem, &strides, at))
    }
}
