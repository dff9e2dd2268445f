//! What a compile read from outside the kernel's text, and whether it would read the same again.
//!
//! Everything outside a kernel's text reaches the front end through [`frontend::Globals`]. A [`Recorder`] stands
//! between the two and writes down every question and the hash of its answer. The list is kept in the cache; a later
//! process asks the same questions of its own live objects ([`replay`]). Where all answers hash alike, the compile
//! would go the same way, and its result may be used; where one differs, it is compiled again. So a change in a called
//! function, in the value of a global, in an attribute of a module or in what a constexpr function returns is never
//! missed, and nothing that the compile did not look at matters.
//!
//! Functions and objects have no identity across processes. They are named by the answer in which they appeared first
//! ([`Origin`]): the request itself is answer 0. A question about something that no answer gave cannot be asked again;
//! then the list is not sound and is not kept.
//!
//! It assumes that a constexpr function answers the same for the same arguments while its process lives, as the
//! language demands.

mod encode;
mod plain;
mod record;
mod replay;

pub(crate) use encode::{encode_args, encode_function};
pub(crate) use record::Recorder;
pub(crate) use replay::replay;

use plain::Plain;

/// Where a function or an object appeared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Origin {
    /// The number of the answer; 0 is the request.
    answer: u32,
    /// Its number among the functions and objects of that answer.
    index: u32,
}

/// A question that a compile asked.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Question {
    /// The value of a free name of a function.
    Lookup { function: Origin, name: String },
    /// An attribute of an object.
    Attribute { object: Origin, name: String },
    /// The result of a call.
    Call { callee: Origin, args: Vec<Plain>, kwargs: Vec<(String, Plain)> },
    /// A function that was made a method of blocks.
    BlockMethod { name: String },
}

/// A question with the hash of its answer.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Answered {
    question: Question,
    answer: [u8; 32],
}

#[cfg(test)]
mod tests;
