//! Which rule says what is known of the result of which operation. Operations without a rule make values of which
//! nothing is known.

use super::{Rule, arithmetic, spread};
use crate::ops::access::is_load;
use ir::{OpRow, Traits};

/// The rule of an operation.
pub(crate) fn rule(row: &OpRow) -> Option<Rule> {
    if is_load(row) {
        return Some(spread::load);
    }
    if row.traits.has(Traits::RELAYOUT) {
        return Some(spread::same);
    }
    spread::RULES.iter().chain(arithmetic::RULES).find(|(own, _)| own.is(row)).map(|(_, rule)| *rule)
}
