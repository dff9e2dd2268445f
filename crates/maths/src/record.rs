//! A function as a list of steps, for back ends that do not read text.
//!
//! The steps are those of the function for one lane on a machine with a fused multiply-add, in order; each uses arguments,
//! constants and results of steps before it.

use super::text::{TextBuilder, Value};
use super::{Elem, MathConfig, MathError, find};

/// A part of a function that few inputs need: it runs where a condition holds, on the other operands, and gives the last
/// of them new values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rare {
    /// The reduction of a large angle. Input: the angle, not negative. Outputs: the remainder, the quadrant as an integer,
    /// and, where there is a third one, what rounding the remainder lost.
    ReduceAngle,
    /// The remainder of a division with a long quotient, for finite binary64 numbers x >= y > 0. Inputs: x, y.
    Remainder,
}

/// What a step does, in the words of LLVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// An instruction of two operands.
    Binary(&'static str),
    /// A cast to the kind of the result.
    Cast(&'static str),
    /// The intrinsic `llvm.…` on operands of one type.
    Intrinsic(&'static str),
    /// A float with the other sign.
    Negate,
    /// A comparison of floats.
    CompareFloat(&'static str),
    /// A comparison of integers.
    CompareInt(&'static str),
    /// The second operand where the first holds, else the third.
    Select,
    /// A branch around a rare part. Operands: the condition, inputs, what the outputs are where it does not hold.
    Rare(Rare),
}

/// One step of a function.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub action: Action,
    /// What it uses.
    pub operands: Vec<Value>,
    /// What it gives; [`super::Node::Register`]s.
    pub results: Vec<Value>,
}

/// A function as steps.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// What the function returns.
    pub result: Value,
}

/// The steps of a function.
///
/// # Errors
/// When no function has this name and number of operands.
pub fn record(name: &str, elem: Elem, operands: usize) -> Result<Recording, MathError> {
    let row = find(name).filter(|row| row.arity as usize == operands);
    let row = row.ok_or_else(|| MathError::Unknown(name.to_owned()))?;
    let mut builder = TextBuilder::new(elem, 1, MathConfig { has_fma: true, avx512: false });
    let arguments: Vec<Value> = (0..row.arity).map(|index| builder.argument(index)).collect();
    let result = (row.generate)(&mut builder, &arguments);
    Ok(Recording { steps: builder.steps(), result })
}

#[cfg(test)]
mod tests {
    use super::{Action, record};
    use crate::{Elem, FUNCTIONS, Node};

    #[test]
    fn every_function_is_made_of_steps_alone() {
        for row in FUNCTIONS {
            for elem in [Elem::F32, Elem::F64] {
                let recording = record(row.name, elem, row.arity as usize).unwrap();
                let mut made = std::collections::HashSet::new();
                for step in &recording.steps {
                    for operand in &step.operands {
                        if let Node::Register(number) = operand.node() {
                            assert!(made.contains(&number), "{}: {:?}", row.name, step.action);
                        }
                    }
                    for result in &step.results {
                        if let Node::Register(number) = result.node() {
                            made.insert(number);
                        }
                    }
                }
            }
        }
        let sine = record("sin", Elem::F32, 1).unwrap();
        assert!(sine.steps.iter().any(|step| matches!(step.action, Action::Rare(_))));
        assert!(record("sin", Elem::F32, 2).is_err());
    }
}
