//! Reads an operation as the steps of its format say.

use crate::builder::infer;
use crate::entity::{Op, Value};
use crate::module::OpInit;
use crate::module::row::{Arity, AttrKind, OpRow};
use crate::text::format::{Directive, Part, steps};
use crate::text::parse::{ParseError, Parser};
use crate::text::parse_attr::NamedAttr;
use crate::types::Type;
use crate::types::attr::Attr;
use smallvec::SmallVec;

/// What was read of an operation.
struct Found {
    operands: Vec<SmallVec<[Value; 4]>>,
    operand_types: Vec<Option<Vec<Type>>>,
    all_operand_types: Option<Vec<Type>>,
    result_types: Vec<Option<Vec<Type>>>,
    all_result_types: Option<Vec<Type>>,
    attrs: SmallVec<[Option<Attr>; 2]>,
    extra: Vec<NamedAttr>,
}

impl Parser<'_> {
    /// Reads what stands behind the name of an operation as directives say (see [`crate::Format::Text`]).
    ///
    /// # Errors
    /// When something else stands here.
    pub fn directives(&mut self, row: &'static OpRow, text: &'static str) -> Result<Op, ParseError> {
        let start = self.peek_byte().map_or(self.text.len(), |_| self.at);
        let steps = steps(row, text);
        let mut found = Found {
            operands: vec![SmallVec::new(); row.operands.len()],
            operand_types: vec![None; row.operands.len()],
            all_operand_types: None,
            result_types: vec![None; row.results.len()],
            all_result_types: None,
            attrs: row.attrs.iter().map(|_| None).collect(),
            extra: Vec::new(),
        };
        self.steps(row, &steps.steps, &mut found)?;
        let operands = self.gathered_operands(row, &found, start)?;
        self.check_operand_types(&found, &operands)?;
        for (slot, spec) in found.attrs.iter_mut().zip(row.attrs) {
            if slot.is_none() {
                *slot = spec.default_attr();
            }
        }
        let results = self.gathered_results(row, &found, &operands, start)?;
        let init = OpInit { operands, results, attrs: found.attrs, regions: row.regions.unwrap_or(0) };
        let op = self.append(row, init);
        self.set_extra(op, found.extra);
        Ok(op)
    }

    fn steps(
        &mut self,
        row: &'static OpRow,
        steps: &[Directive],
        found: &mut Found,
    ) -> Result<(), ParseError> {
        for step in steps {
            self.step(row, step, found)?;
        }
        Ok(())
    }

    fn step(&mut self, row: &'static OpRow, step: &Directive, found: &mut Found) -> Result<(), ParseError> {
        match step {
            Directive::Literal(text) => self.expect(text)?,
            Directive::Part(Part::Operand(group)) => {
                found.operands[*group] = match row.operands[*group].arity {
                    Arity::Variadic => self.operands()?,
                    _ => SmallVec::from_slice(&[self.operand()?]),
                };
            }
            Directive::Part(Part::Attr(slot)) => found.attrs[*slot] = Some(self.slot(&row.attrs[*slot])?),
            Directive::Type(Part::Operand(group)) => {
                found.operand_types[*group] = Some(self.counted_types(found.operands[*group].len())?);
            }
            Directive::Type(Part::Result(group)) => {
                let several = row.results[*group].arity == Arity::Variadic;
                found.result_types[*group] =
                    Some(if several { self.parse_types()? } else { self.counted_types(1)? });
            }
            Directive::ShortType(Part::Operand(group)) => {
                let ty = self.parse_short_type(row.operands[*group].constraint)?;
                found.operand_types[*group] = Some(vec![ty]);
            }
            Directive::ShortType(Part::Result(group)) => {
                let ty = self.parse_short_type(row.results[*group].constraint)?;
                found.result_types[*group] = Some(vec![ty]);
            }
            Directive::OperandTypes => {
                let count = found.operands.iter().map(SmallVec::len).sum();
                found.all_operand_types = Some(self.counted_types(count)?);
            }
            Directive::FunctionalType => {
                let (params, results) = self.parse_function_type()?;
                found.all_operand_types = Some(params);
                found.all_result_types = Some(results);
            }
            Directive::AttrDict => {
                let entries = self.optional_attr_dict()?;
                let (slots, extra) = self.split_attrs(row, entries)?;
                for (own, slot) in found.attrs.iter_mut().zip(slots) {
                    if slot.is_some() {
                        *own = slot;
                    }
                }
                found.extra = extra;
            }
            Directive::Optional(_, steps) => {
                if self.is_there(row, steps) {
                    self.steps(row, steps, found)?;
                }
            }
            Directive::Part(Part::Result(_))
            | Directive::Type(Part::Attr(_))
            | Directive::ShortType(Part::Attr(_)) => {}
        }
        Ok(())
    }

    fn counted_types(&mut self, count: usize) -> Result<Vec<Type>, ParseError> {
        let mut types = Vec::with_capacity(count);
        for index in 0..count {
            if index > 0 {
                self.expect(",")?;
            }
            types.push(self.parse_type()?);
        }
        Ok(types)
    }

    /// Whether the text goes on with an optional part: its leading words and punctuation, and a value behind them if
    /// the format has one there.
    fn is_there(&mut self, row: &'static OpRow, steps: &[Directive]) -> bool {
        let start = self.at;
        let mut there = true;
        for step in steps {
            match step {
                Directive::Literal(text) if there => {
                    there = self.accept(text);
                    continue;
                }
                Directive::Part(Part::Operand(_)) => there &= self.peek("%"),
                Directive::Part(Part::Attr(slot)) => there &= self.begins_slot(row.attrs[*slot].kind),
                _ => {}
            }
            break;
        }
        self.at = start;
        there
    }

    fn begins_slot(&mut self, kind: AttrKind) -> bool {
        match kind {
            AttrKind::Enum(row) => self.peek_keyword().is_some_and(|word| row.value(word).is_some()),
            AttrKind::Str => self.peek("\""),
            AttrKind::Symbol => self.peek("@"),
            AttrKind::Unit => true,
            AttrKind::Int(_) => self.peek_byte().is_some_and(|c| c == b'-' || c.is_ascii_digit()),
            _ => self.peek_byte().is_some_and(|c| !b",:)]}".contains(&c)),
        }
    }

    fn gathered_operands(
        &mut self,
        row: &'static OpRow,
        found: &Found,
        start: usize,
    ) -> Result<SmallVec<[Value; 4]>, ParseError> {
        let operands: SmallVec<[Value; 4]> = found.operands.iter().flatten().copied().collect();
        let fits = row
            .operand_groups(operands.len())
            .is_some_and(|sizes| sizes.iter().zip(&found.operands).all(|(&size, group)| size == group.len()));
        if fits {
            Ok(operands)
        } else {
            Err(self.error_at(start, format!("`{}` cannot have operands grouped like this", row.name)))
        }
    }

    fn check_operand_types(&mut self, found: &Found, operands: &[Value]) -> Result<(), ParseError> {
        for (group, types) in found.operands.iter().zip(&found.operand_types) {
            if let Some(types) = types {
                self.check_types(group, types)?;
            }
        }
        match &found.all_operand_types {
            Some(types) => self.check_types(operands, types),
            None => Ok(()),
        }
    }

    fn gathered_results(
        &mut self,
        row: &'static OpRow,
        found: &Found,
        operands: &[Value],
        start: usize,
    ) -> Result<SmallVec<[Type; 2]>, ParseError> {
        if let Some(types) = &found.all_result_types {
            return Ok(SmallVec::from_slice(types));
        }
        if found.result_types.iter().all(Option::is_some) {
            return Ok(found.result_types.iter().flatten().flatten().copied().collect());
        }
        let inferred = infer(&self.module, row, operands, &found.attrs)
            .map_err(|message| self.error_at(start, format!("`{}`: {message}", row.name)))?;
        let one_each = inferred.len() == row.results.len();
        // A type that is given stands for all results that the rule gives the same type.
        let given_for = |own: Type| {
            let alike = inferred.iter().zip(&found.result_types).filter(move |(other, _)| **other == own);
            alike.filter_map(|(_, given)| given.clone()).next()
        };
        let types = inferred.iter().zip(&found.result_types).flat_map(|(&own, given)| match given {
            Some(given) if one_each => given.clone(),
            None if one_each => given_for(own).unwrap_or_else(|| vec![own]),
            _ => vec![own],
        });
        Ok(if one_each { types.collect() } else { inferred })
    }
}
