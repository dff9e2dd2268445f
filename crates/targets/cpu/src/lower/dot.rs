//! Dots: operands as tiles in scratch memory, the micro-kernels of this target, an accumulator in place.

use super::emitter::Emitter;
use super::error::{LowerError, Result};
use super::scratch::Buffer;
use super::types;
use crate::dot::{DotKernel, DotSpec, Operands, Transpose, interleave_pairs, interleave_quads};
use ir::{Def, Module, Op, Type as IrType, Value as IrValue};
use llir::{Purity, Type, Value};
use ttir::ops::dot::MatmulOp;
use ttir::ops::func;

/// What a dot adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    /// What the accumulator holds.
    Sums,
    /// The same, by the kernel that another dot begins at zero with.
    SumsByEither,
    /// Nothing, whatever memory holds.
    Zero,
}

impl Starts {
    /// What a dot begins with.
    fn of(module: &Module, op: Op) -> Starts {
        let outward = std::iter::successors(Some(op), |&op| module.parent_op(op));
        let function = outward.take_while(|&op| !module.is(op, &func::FUNC)).last().unwrap_or(op);
        let begins_so = |other: Op| {
            let is_dot = MatmulOp::of(module, other).is_some();
            is_dot && begins_at_zero(module, other) && shapes(module, other) == shapes(module, op)
        };
        match () {
            () if begins_at_zero(module, op) => Starts::Zero,
            () if module.walk(function).into_iter().any(begins_so) => Starts::SumsByEither,
            () => Starts::Sums,
        }
    }
}

/// Whether a dot adds to zeros, and is one that a kernel can begin so.
fn begins_at_zero(module: &Module, op: Op) -> bool {
    let has_columns = |shape: &[i64]| shape.last() != Some(&1);
    let c = MatmulOp::new(module, op).c();
    has_columns(types::shape(module.ty(c))) && super::operands::is_zero(module, c)
}

/// The shapes of the operands of a dot.
fn shapes(module: &Module, op: Op) -> [&[i64]; 2] {
    let dot = MatmulOp::new(module, op);
    [dot.a(), dot.b()].map(|value| types::shape(module.ty(value)))
}

impl Emitter<'_> {
    /// `tt.dot`.
    pub(crate) fn dot(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let dot = MatmulOp::new(module, op);
        let (a, b, c) = (dot.a(), dot.b(), dot.c());
        let Some((operands, elem)) = super::operands::multiplied(module, self.machine, op) else {
            return self.unsupported(op, "operands and accumulator of these types cannot be multiplied");
        };
        let kept = self.kept_tile(op, (operands, elem))?;
        let tiles = match (operands.group(), kept) {
            (1, Some(kept)) => [self.tile(a, elem)?, kept],
            (1, None) => [self.tile(a, elem)?, self.tile(b, elem)?],
            (_, Some(kept)) => [self.groups_in_rows(a, elem, operands)?, kept],
            (_, None) => {
                [self.groups_in_rows(a, elem, operands)?, self.groups_in_columns(b, elem, operands)?]
            }
        };
        let result = dot.d();
        let sum = types::dot_operand(ttir::types::elem(module.ty(result)));
        let starts = Starts::of(module, op);
        let accumulator = match starts {
            Starts::Zero => self.arena.block(types::shape(module.ty(c)), sum),
            Starts::Sums | Starts::SumsByEither => self.accumulator(op, c, sum)?,
        };
        let used = super::operands::used(module, op);
        self.multiply((operands, starts), &tiles, &accumulator, (shapes(module, op), used))?;
        self.buffers.insert(result, accumulator);
        Ok(())
    }

    /// An operand in memory, row by row, in the type that it is multiplied in.
    fn tile(&mut self, value: IrValue, elem: IrType) -> Result<Buffer> {
        let buffer = self.operand(value, elem)?;
        match buffer.strides.last() {
            Some(1) => Ok(buffer),
            _ => self.turned(&buffer, types::shape(self.module.ty(value))),
        }
    }

    /// A left operand as groups of neighbours in a row.
    fn groups_in_rows(&mut self, value: IrValue, elem: IrType, operands: Operands) -> Result<Buffer> {
        let group = i64::from(operands.group());
        let buffer = self.operand(value, elem)?;
        let &[m, k] = types::shape(self.module.ty(value)) else { return Err(strange_order()) };
        if buffer.strides[1] == 1 {
            let strides = vec![buffer.strides[0] / group, 1];
            return Ok(Buffer { strides, elem: IrType::int(32), ..buffer });
        }
        let columns = Buffer { strides: vec![buffer.strides[1], buffer.strides[0]], ..buffer };
        let mut groups = self.interleaved(&columns, [k, m], operands)?;
        groups.strides.reverse();
        self.turned(&groups, &[m, k / group])
    }

    /// A right operand as groups of neighbours in a column.
    fn groups_in_columns(&mut self, value: IrValue, elem: IrType, operands: Operands) -> Result<Buffer> {
        let group = i64::from(operands.group());
        let buffer = self.operand(value, elem)?;
        let &[k, n] = types::shape(self.module.ty(value)) else { return Err(strange_order()) };
        if buffer.strides[1] == 1 {
            return self.interleaved(&buffer, [k, n], operands);
        }
        let strides = vec![buffer.strides[0], buffer.strides[1] / group];
        self.turned(&Buffer { strides, elem: IrType::int(32), ..buffer }, &[k / group, n])
    }

    /// A copy of a matrix of narrow elements whose neighbouring rows are groups.
    fn interleaved(
        &mut self,
        buffer: &Buffer,
        [rows, columns]: [i64; 2],
        operands: Operands,
    ) -> Result<Buffer> {
        if buffer.strides[1] != 1 {
            return Err(strange_order());
        }
        let groups = self.arena.block(&[rows / i64::from(operands.group()), columns], IrType::int(32));
        let from = self.address(buffer);
        self.interleave(operands, [rows as u32, columns as u32], (from, buffer.strides[0]), &groups)?;
        Ok(groups)
    }

    /// Interleaves rows of narrow elements that begin so many from each other; answers where the groups are.
    pub(crate) fn interleave(
        &mut self,
        operands: Operands,
        [rows, columns]: [u32; 2],
        (from, stride): (Value, i64),
        groups: &Buffer,
    ) -> Result<Value> {
        let to_stride = groups.strides[0] as u32;
        let definition = match operands {
            Operands::I8Quads => interleave_quads(rows, columns, to_stride)?,
            _ => interleave_pairs(rows, columns, to_stride, self.machine.vector_bytes)?,
        };
        let symbol = definition.symbol.clone();
        let (to, stride) = (self.address(groups), self.b.i64(stride));
        self.call_text(&[definition], &symbol, Type::VOID, &[from, stride, to], Purity::Impure);
        Ok(to)
    }

    /// An operand in memory, in the type that it is multiplied in, row by row or column by column.
    fn operand(&mut self, value: IrValue, elem: IrType) -> Result<Buffer> {
        let (source, is_turned) = super::operands::source(self.module, value);
        let ty = self.module.ty(value);
        let kept = match ttir::types::elem(ty) == elem {
            true => self.buffers.get(&source).filter(|buffer| buffer.elem == elem),
            false => self.wide.get(&(source, elem)),
        };
        if let Some(mut buffer) = kept.cloned() {
            if is_turned {
                buffer.strides.reverse();
            }
            // The distance to the next row of a single one means nothing; the kernels want it as long as a row.
            if let ([.., 1, columns], [.., row, _]) = (types::shape(ty), buffer.strides.as_mut_slice()) {
                *row = *columns;
            }
            return Ok(buffer);
        }
        let buffer = self.arena.block(types::shape(ty), elem);
        self.copy_wide(value, &buffer)?;
        Ok(buffer)
    }

    /// A copy of a matrix that is stored column by column, row by row.
    fn turned(&mut self, buffer: &Buffer, shape: &[i64]) -> Result<Buffer> {
        if shape.len() != 2 || buffer.strides[0] != 1 {
            return Err(strange_order());
        }
        let turned = self.arena.block(shape, buffer.elem);
        self.turn_to(buffer, shape, &turned)?;
        Ok(turned)
    }

    /// A copy of a matrix along its other dimension than the one that its neighbours lie along.
    pub(crate) fn crossed(&mut self, buffer: &Buffer, shape: &[i64]) -> Result<Buffer> {
        if buffer.strides.first() == Some(&1) {
            return self.turned(buffer, shape);
        }
        let [mut strides, mut shape] = [buffer.strides.clone(), shape.to_vec()];
        strides.reverse();
        shape.reverse();
        let mut turned = self.turned(&Buffer { strides, ..buffer.clone() }, &shape)?;
        turned.strides.reverse();
        Ok(turned)
    }

    /// The same to a place that is given.
    fn turn_to(&mut self, buffer: &Buffer, shape: &[i64], turned: &Buffer) -> Result<()> {
        let transpose = Transpose {
            rows: shape[1] as u32,
            columns: shape[0] as u32,
            element_bytes: types::memory(buffer.elem).lane_bytes(),
            to_row_stride: turned.strides[0] as u32,
            vector_bytes: self.machine.vector_bytes,
        };
        let definition = transpose.definition()?;
        let (from, to) = (self.address(buffer), self.address(turned));
        let stride = self.b.i64(buffer.strides[1]);
        self.call_text(&[definition], &transpose.symbol(), Type::VOID, &[from, stride, to], Purity::Impure);
        Ok(())
    }

    /// Brings a right operand that lies in memory row by row or column by column to a place, in the order that it is
    /// multiplied in.
    pub(crate) fn bring_into_order(
        &mut self,
        (operands, loaded): (Operands, &Buffer),
        shape: &[i64],
        target: &Buffer,
    ) -> Result<()> {
        let &[k, n] = shape else { return Err(strange_order()) };
        let group = i64::from(operands.group());
        if loaded.strides[1] != 1 {
            let strides = vec![loaded.strides[0], loaded.strides[1] / group];
            let columns = Buffer { strides, elem: target.elem, ..loaded.clone() };
            return self.turn_to(&columns, &[k / group, n], target);
        }
        let from = self.address(loaded);
        self.interleave(operands, [k as u32, n as u32], (from, loaded.strides[0]), target)?;
        Ok(())
    }

    /// Where the dot is added: the buffer of `c` itself where nobody else reads it, else a copy.
    pub(crate) fn accumulator(&mut self, op: Op, c: IrValue, elem: IrType) -> Result<Buffer> {
        let module = self.module;
        let is_local = match module.def(c) {
            Def::Result(own, _) => module.block_of(own) == module.block_of(op),
            Def::Arg(block, _) => Some(block) == module.block_of(op),
        };
        let own = self.buffers.get(&c).filter(|buffer| buffer.elem == elem);
        if let Some(own) = own.filter(|_| is_local && module.uses(c).len() == 1) {
            return Ok(own.clone());
        }
        let ty = module.ty(c);
        let buffer = self.arena.block(types::shape(ty), elem);
        self.copy_wide(c, &buffer)?;
        Ok(buffer)
    }

    /// Adds the product of two tiles, whose strides count what is multiplied at once, to a third one.
    pub(crate) fn multiply(
        &mut self,
        (operands, starts): (Operands, Starts),
        tiles: &[Buffer; 2],
        c: &Buffer,
        ([a_shape, b_shape], used): ([&[i64]; 2], [u32; 3]),
    ) -> Result<()> {
        let rank = a_shape.len();
        let row = |buffer: &Buffer| buffer.strides[rank - 2] as u32;
        let spec = DotSpec {
            m: a_shape[rank - 2] as u32,
            n: b_shape[rank - 1] as u32,
            k: a_shape[rank - 1] as u32,
            operands,
            a_row_stride: row(&tiles[0]),
            b_row_stride: row(&tiles[1]),
            c_row_stride: row(c),
            used,
            machine: self.machine.dot(),
        };
        let plan = DotKernel::choose(&spec)?;
        // Tile registers have a kernel of their own for zeros, vector registers one for both.
        let (plan, is_zero) = match (starts, plan.from_zero(), plan.from_either()) {
            (Starts::Zero, Some(zero), _) => (zero, None),
            (Starts::Zero | Starts::SumsByEither, None, Some(either)) => {
                (either, Some(self.b.bool(starts == Starts::Zero)))
            }
            (Starts::Sums | Starts::SumsByEither, ..) => (plan, None),
            (Starts::Zero, None, None) => {
                return Err(LowerError::new("one column is added to what is there, not to zeros"));
            }
        };
        let (definitions, symbol) = (plan.definitions(), plan.symbol());
        let mut bases: Vec<Value> =
            [&tiles[0], &tiles[1], c].into_iter().map(|buffer| self.address(buffer)).collect();
        if rank == 2 {
            bases.extend(is_zero);
            self.call_text(&definitions, &symbol, Type::VOID, &bases, Purity::Impure);
            return Ok(());
        }
        let (start, end, step) = (self.b.i64(0), self.b.i64(a_shape[0]), self.b.i64(1));
        let opened = self.b.begin_for(start, end, step, &[]);
        let lane = types::memory(c.elem);
        let args: Vec<Value> = [&tiles[0], &tiles[1], c]
            .into_iter()
            .zip(bases)
            .map(|(buffer, base)| {
                let stride = self.b.i64(buffer.strides[0]);
                let offset = self.b.mul(opened.iv, stride);
                self.b.gep(lane, base, offset)
            })
            .chain(is_zero)
            .collect();
        self.call_text(&definitions, &symbol, Type::VOID, &args, Purity::Impure);
        self.b.end_for(opened, &[]);
        Ok(())
    }
}

fn strange_order() -> LowerError {
    LowerError::new("an operand of a dot is in memory in an order that is not expected")
}
