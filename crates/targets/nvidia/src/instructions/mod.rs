//! The PTX instruction table: which mnemonics there are, what operands they take, and since when.
//!
//! A row is one line of a pattern language ([`pattern`]); [`table`] has the rows, a file for each family. The back end
//! looks every mnemonic up, those in inline assembly too, so that `.version` is the lowest that has them all and an
//! instruction that the architecture lacks is an error of ours. [`template`] makes inline assembly from a row.

mod arch;
mod features;
mod pattern;
mod table;
mod template;

pub use arch::{Arch, UnknownArch, Version};
pub use features::Features;
pub use pattern::{Need, Row};
pub use table::{find, rows};
pub use template::{Slot, TemplateError, template};
