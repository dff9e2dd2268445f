//! Appends operations at a place.

use crate::entity::{Block, Loc, Op, Value};
use crate::module::row::{Infer, InferArgs, OpRow};
use crate::module::{Module, OpInit};
use crate::types::Type;
use crate::types::attr::Attr;
use smallvec::SmallVec;

/// Where the next operation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The end of a block.
    End(Block),
    /// In front of an operation.
    Before(Op),
}

/// Appends operations at a place; all get the current location.
pub struct Builder<'m> {
    /// The program.
    pub module: &'m mut Module,
    /// Where the next operation goes.
    pub place: Place,
    /// The location of the next operation.
    pub loc: Loc,
}

impl<'m> Builder<'m> {
    /// Builds at a place, without a location.
    pub fn new(module: &'m mut Module, place: Place) -> Builder<'m> {
        let loc = module.locs.unknown();
        Builder { module, place, loc }
    }

    /// Builds in front of an operation, at its location.
    pub fn before(module: &'m mut Module, op: Op) -> Builder<'m> {
        let loc = module.loc(op);
        Builder { module, place: Place::Before(op), loc }
    }

    /// Makes an operation from all its parts and puts it in place.
    pub fn insert(&mut self, row: &'static OpRow, init: OpInit) -> Op {
        let op = self.module.create(row, init, self.loc);
        match self.place {
            Place::End(block) => self.module.append(block, op),
            Place::Before(anchor) => self.module.insert_before(anchor, op),
        }
        op
    }

    /// Makes an operation whose result types follow from its operands and attributes.
    ///
    /// # Errors
    /// When they do not; the text says why.
    pub fn try_build(
        &mut self,
        row: &'static OpRow,
        operands: &[Value],
        attrs: &[Option<Attr>],
    ) -> Result<Op, String> {
        let results = infer(self.module, row, operands, attrs)?;
        let init = OpInit {
            operands: SmallVec::from_slice(operands),
            results,
            attrs: attrs.iter().cloned().collect(),
            regions: row.regions.unwrap_or(0),
        };
        Ok(self.insert(row, init))
    }

    /// Makes an operation with one result whose type follows from its operands and attributes.
    ///
    /// # Panics
    /// When it does not; callers have checked the types.
    pub fn build(&mut self, row: &'static OpRow, operands: &[Value], attrs: &[Option<Attr>]) -> Value {
        match self.try_build(row, operands, attrs) {
            Ok(op) => self.module.result(op, 0),
            Err(error) => panic!("{}: {error}", row.name),
        }
    }

    /// Makes an operation with one result of a given type.
    pub fn build_as(
        &mut self,
        row: &'static OpRow,
        operands: &[Value],
        attrs: &[Option<Attr>],
        ty: Type,
    ) -> Value {
        let init = OpInit {
            operands: SmallVec::from_slice(operands),
            results: SmallVec::from_slice(&[ty]),
            attrs: attrs.iter().cloned().collect(),
            regions: row.regions.unwrap_or(0),
        };
        let op = self.insert(row, init);
        self.module.result(op, 0)
    }

    /// Makes an operation without results.
    pub fn build_effect(&mut self, row: &'static OpRow, operands: &[Value], attrs: &[Option<Attr>]) -> Op {
        let init = OpInit {
            operands: SmallVec::from_slice(operands),
            results: SmallVec::new(),
            attrs: attrs.iter().cloned().collect(),
            regions: row.regions.unwrap_or(0),
        };
        self.insert(row, init)
    }
}

/// The types of the results of an operation, from its row's rule.
///
/// # Errors
/// When they do not follow; the text says why.
pub fn infer(
    module: &Module,
    row: &'static OpRow,
    operands: &[Value],
    attrs: &[Option<Attr>],
) -> Result<SmallVec<[Type; 2]>, String> {
    match row.infer {
        Infer::Nothing => Ok(SmallVec::new()),
        Infer::Explicit => Err("the result type must be given".into()),
        Infer::SameAs(index) => match operands.get(index) {
            Some(&value) => Ok(row.results.iter().map(|_| module.ty(value)).collect()),
            None => Err(format!("operand {index} is missing")),
        },
        Infer::Rule(rule) => {
            let needed =
                row.operands.iter().filter(|spec| spec.arity == crate::module::row::Arity::One).count();
            if operands.len() < needed {
                return Err(format!("needs {needed} operands, has {}", operands.len()));
            }
            rule(&InferArgs { module, operands, attrs })
        }
    }
}
