//! The walk: a syntax tree and argument types in, ttir out.
//!
//! Every function that is called is inlined where it is called, but for those that ask for calls. Names are a map from
//! name to value; control flow on run-time conditions walks each arm on a copy of the map and joins the copies into
//! results of the op. A fault is reported where it is met and the walk goes on behind the statement, with the names
//! that it would have set poisoned, so that several faults are found at once.

mod aggregate;
mod aggregate_operator;
mod assigned;
mod attribute;
mod call;
mod emit;
mod entry;
mod exits;
mod expr;
mod flow;
mod format;
mod growth;
mod join;
mod last_count;
mod loops;
mod marked;
mod noinline;
mod operator;
mod operator_method;
mod scope;
mod stmt;
pub(crate) mod value;

pub(crate) use assigned::names as assigned_names;
pub(crate) use attribute::{dtype_attribute, dtype_question};
pub(crate) use emit::ir_dtype;
pub use entry::compile;
pub(crate) use expr::parse_int as int_literal;
pub(crate) use join::{leaves, with_leaves};

use crate::diagnostic::Diagnostic;
use crate::extension::Extensions;
use crate::parse::ParsedFunction;
use crate::request::{Dependency, Request};
use crate::typing::Ty;
use crate::value::PyValue;
use ruff_python_ast::name::Name;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use scope::Frame;
use std::sync::Arc;
use value::Tensor;

/// Something was reported; give up on the statement.
#[derive(Debug)]
pub(crate) struct Stop;

/// The result of a step of the walk.
pub(crate) type Res<T> = Result<T, Stop>;

/// One side of an operation: a Python number, or a run-time value.
#[derive(Clone, Debug)]
pub(crate) enum Num {
    /// A Python number or constexpr.
    Literal(PyValue),
    /// A run-time value.
    Tensor(Tensor),
}

/// The state of one compile.
pub(crate) struct Ctx<'a> {
    /// What was asked for.
    pub(crate) request: &'a Request<'a>,
    /// The module being filled.
    pub(crate) module: ir::Module,
    /// Where the next op goes.
    pub(crate) place: ir::Place,
    /// The location of the next op, once it was asked for: most of what is walked emits nothing.
    pub(crate) known_loc: Option<ir::Loc>,
    /// What is being walked, for messages.
    pub(crate) at: TextRange,
    /// The functions being walked, the kernel first.
    pub(crate) frames: Vec<Frame>,
    /// Functions parsed so far.
    pub(crate) parsed: FxHashMap<(u64, String), Arc<ParsedFunction>>,
    /// Global names that were read, by function (where its parsed text lies, which is kept) and name, so that each is
    /// asked for once.
    pub(crate) known_globals: FxHashMap<(usize, Name), Option<PyValue>>,
    /// The ir types of types, as far as they were asked for.
    pub(crate) ir_types: FxHashMap<Ty, ir::Type>,
    /// A call that stands alone, so that nobody uses its result.
    pub(crate) discarded: Option<TextRange>,
    /// Functions of the module besides the kernel, in the order in which they were called first.
    pub(crate) instances: Vec<noinline::Instance>,
    /// How deep what is being walked is nested.
    pub(crate) depth: usize,
    /// Calls, unrolled iterations and elements of comprehensions so far.
    pub(crate) repeats: usize,
    /// Extensions that are used outside of any function, where single operations are run.
    pub(crate) granted: Extensions,
    /// Whether a default value is being evaluated: it may read any global.
    pub(crate) in_defaults: bool,
    /// Errors so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Warnings so far.
    pub(crate) warnings: Vec<Diagnostic>,
    /// What the result depends on, so far.
    pub(crate) dependencies: Vec<Dependency>,
}

impl Ctx<'_> {
    /// The function being walked.
    ///
    /// # Panics
    /// When none is; the walk begins by pushing the kernel's frame.
    pub(crate) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the walk stands in a function")
    }

    /// Runs a step with the place of a node as the location of ops and messages.
    pub(crate) fn at<T>(&mut self, node: &impl Ranged, step: impl FnOnce(&mut Self) -> T) -> T {
        let outer = (self.known_loc, self.at);
        if !self.frames.is_empty() {
            (self.known_loc, self.at) = (None, node.range());
        }
        let result = step(self);
        (self.known_loc, self.at) = outer;
        result
    }

    /// The location of the next op: the place of what is being walked.
    pub(crate) fn loc(&mut self) -> ir::Loc {
        if let Some(loc) = self.known_loc {
            return loc;
        }
        let Some(frame) = self.frames.last() else { return self.module.locs.unknown() };
        let (line, col) = frame.parsed.text.line_column(self.at.start());
        let file = frame.parsed.text.file().clone();
        let here = self.module.locs.intern(ir::LocData::File { file, line, col });
        let loc = match frame.call_loc {
            Some(caller) => self.module.locs.intern(ir::LocData::CallSite { callee: here, caller }),
            None => here,
        };
        self.known_loc = Some(loc);
        loc
    }
}
