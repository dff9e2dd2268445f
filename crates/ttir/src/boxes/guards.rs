//! What a launch must be for bulk copies to read what loads would: a list of numbers that it can compute, each of those
//! before it, and conditions on them.
//!
//! ```text
//! %3:i32; program 0; 128; mul32 1 2 | 0 in 1..2147483647; 3 in 0..2147483519
//! ```
//!
//! A number stands for all values that it takes in any program of the launch: `program 0` for all positions along the
//! first axis of the grid, `counter 4 5` for what counts from one number up to another. `target::Guards` reads it.

use super::forms::Forms;
use super::poly::Poly;
use crate::ops::arith_cast::EXTSI;
use crate::ops::arith_int::{ADDI, DIVSI, MAXSI, MINSI, MULI, REMSI, SUBI, int_value};
use crate::ops::control::ForOp;
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::program::{GET_PROGRAM_ID, ProgramIdOp};
use ir::view::EnumAttr;
use ir::{Block, Def, OpRow, Value};
use std::fmt;

/// Operations that are followed from one number, at most.
const DEPTH: u32 = 48;

/// Operations that a launch can do, with their names in texts.
static COMBINES: &[(&OpRow, &str)] = &[
    (&ADDI, "add"),
    (&SUBI, "sub"),
    (&MULI, "mul"),
    (&DIVSI, "div"),
    (&REMSI, "rem"),
    (&MINSI, "min"),
    (&MAXSI, "max"),
];

/// Numbers and conditions of a kernel.
#[derive(Clone, Default, Debug)]
pub struct GuardText {
    numbers: Vec<String>,
    conditions: Vec<String>,
}

impl GuardText {
    /// Whether there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    fn number(&mut self, text: String) -> usize {
        self.numbers.iter().position(|own| *own == text).unwrap_or_else(|| {
            self.numbers.push(text);
            self.numbers.len() - 1
        })
    }

    fn condition(&mut self, text: String) {
        if !self.conditions.contains(&text) {
            self.conditions.push(text);
        }
    }

    /// A number that is known.
    pub(super) fn constant(&mut self, value: i64) -> usize {
        self.number(value.to_string())
    }

    /// Two numbers combined, in 64 bits.
    pub(super) fn combined(&mut self, by: &str, parts: [usize; 2]) -> usize {
        self.number(format!("{by}64 {} {}", parts[0], parts[1]))
    }

    /// A scalar of a kernel, if a launch can compute it.
    fn scalar(&mut self, forms: &mut Forms<'_>, entry: Block, value: Value, depth: u32) -> Option<usize> {
        let module = forms.module;
        if let Some(number) = int_value(module, value) {
            return Some(self.constant(number));
        }
        let bits = module.ty(value).as_int().filter(|bits| matches!(bits, 32 | 64))?;
        let depth = depth.checked_sub(1)?;
        let op = match module.def(value) {
            Def::Arg(block, slot) if block == entry => return Some(self.number(format!("%{slot}:i{bits}"))),
            Def::Arg(block, 0) => {
                let around = module.region_parent(module.block_region(block))?;
                let of_loop = ForOp::of(module, around)?;
                let lower = self.scalar(forms, entry, of_loop.lower(), depth)?;
                let upper = self.scalar(forms, entry, of_loop.upper(), depth)?;
                return Some(self.number(format!("counter {lower} {upper}")));
            }
            Def::Arg(..) => {
                let carried = forms.scalar(value).filter(|form| *form != Poly::atom(value))?;
                return self.sum(forms, entry, &carried, depth);
            }
            Def::Result(op, _) => op,
        };
        if module.is(op, &EXTSI) {
            return self.scalar(forms, entry, UnaryOp::new(module, op).src(), depth);
        }
        if let Some(id) = ProgramIdOp::of(module, op) {
            let word = if module.is(op, &GET_PROGRAM_ID) { "program" } else { "programs" };
            return Some(self.number(format!("{word} {}", id.axis().number())));
        }
        let by = COMBINES.iter().find(|(row, _)| module.is(op, row))?.1;
        let pair = BinaryOp::new(module, op);
        let parts =
            [self.scalar(forms, entry, pair.lhs(), depth)?, self.scalar(forms, entry, pair.rhs(), depth)?];
        Some(self.number(format!("{by}{bits} {} {}", parts[0], parts[1])))
    }

    /// A sum of products, in 64 bits.
    pub(super) fn poly(&mut self, forms: &mut Forms<'_>, entry: Block, poly: &Poly) -> Option<usize> {
        self.sum(forms, entry, poly, DEPTH)
    }

    fn sum(&mut self, forms: &mut Forms<'_>, entry: Block, poly: &Poly, depth: u32) -> Option<usize> {
        let mut sum = None;
        for (monomial, coefficient) in poly.terms() {
            let mut term = (*coefficient != 1 || monomial.is_empty()).then(|| self.constant(*coefficient));
            for &atom in monomial {
                let factor = self.scalar(forms, entry, atom, depth)?;
                term = Some(match term {
                    Some(term) => self.combined("mul", [term, factor]),
                    None => factor,
                });
            }
            let term = term.expect("a term has a coefficient or a factor");
            sum = Some(match sum {
                Some(sum) => self.combined("add", [sum, term]),
                None => term,
            });
        }
        Some(sum.unwrap_or_else(|| self.constant(0)))
    }

    /// Every value of a number lies between these, both included.
    pub(super) fn within(&mut self, number: usize, low: i64, high: i64) {
        self.condition(format!("{number} in {low}..{high}"));
    }

    /// A number is the same in both programs of each pair that lies side by side.
    pub(super) fn alike(&mut self, number: usize) {
        self.condition(format!("{number} alike"));
    }

    /// From one scalar to another it is some way, and this far at most.
    pub(super) fn few(
        &mut self,
        forms: &mut Forms<'_>,
        entry: Block,
        [lower, upper]: [Value; 2],
        most: i64,
    ) -> Option<()> {
        let ends = [self.scalar(forms, entry, upper, DEPTH)?, self.scalar(forms, entry, lower, DEPTH)?];
        let length = self.combined("sub", ends);
        self.within(length, 1, most);
        Some(())
    }

    /// Two pieces of memory, by parameters that are addresses and numbers of bytes, have nothing in common.
    pub(super) fn apart(&mut self, one: (usize, usize), two: (usize, usize)) {
        self.condition(format!("%{} {} apart %{} {}", one.0, one.1, two.0, two.1));
    }
}

impl fmt::Display for GuardText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {}", self.numbers.join("; "), self.conditions.join("; "))
    }
}
