//! Which rule says what is known of the result of which operation. Operations without a rule make values of which
//! nothing is known.

use super::{Rule, arithmetic, spread};
use ir::OpRow;

/// The rule of an operation.
pub(crate) fn rule(row: &OpRow) -> Option<Rule> {
    spread::RULES.iter().chain(arithmetic::RULES).find(|(own, _)| own.is(row)).map(|(_, rule)| *rule)
}
