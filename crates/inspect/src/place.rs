//! Places in the source, as people want to see them: the line of the kernel, also where code of the language's own
//! library was inlined there.

use ir::{Loc, LocData, Module, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A place in a source file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// All places of a location, the innermost first.
fn chain(module: &Module, loc: Loc) -> Vec<Place> {
    let mut out = Vec::new();
    add_places(module, loc, &mut FxHashSet::default(), &mut out);
    out
}

/// The places of a location; what was met before has none.
fn add_places(module: &Module, loc: Loc, met: &mut FxHashSet<Loc>, out: &mut Vec<Place>) {
    if !met.insert(loc) {
        return;
    }
    match module.locs.get(loc) {
        LocData::Unknown => {}
        LocData::File { file, line, col } => {
            out.push(Place { file: file.to_string(), line: *line, column: *col });
        }
        LocData::Name { child, .. } => add_places(module, *child, met, out),
        LocData::CallSite { callee, caller } => {
            add_places(module, *callee, met, out);
            add_places(module, *caller, met, out);
        }
        LocData::Fused(all) => {
            if let Some(first) = all.first() {
                add_places(module, *first, met, out);
            }
        }
    }
}

/// Finds the places of operations.
pub(crate) struct Places<'a> {
    module: &'a Module,
    file: Option<String>,
}

impl<'a> Places<'a> {
    /// Places in the file that the kernel is in come first.
    pub(crate) fn new(module: &'a Module, kernel: Op) -> Places<'a> {
        let own = chain(module, module.loc(kernel));
        Places { module, file: own.into_iter().next().map(|place| place.file) }
    }

    /// The file that the kernel is in.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The innermost place in the kernel's own file, else the innermost of all.
    pub(crate) fn of(&self, op: Op) -> Option<Place> {
        let all = chain(self.module, self.module.loc(op));
        let own = all.iter().position(|place| Some(&place.file) == self.file.as_ref());
        all.into_iter().nth(own.unwrap_or(0))
    }

    /// For each innermost place, the places that stand for it.
    pub(crate) fn by_innermost(&self, kernel: Op) -> FxHashMap<(String, u32, u32), BTreeSet<Place>> {
        let mut found: FxHashMap<_, BTreeSet<Place>> = FxHashMap::default();
        for op in self.module.walk(kernel) {
            let all = chain(self.module, self.module.loc(op));
            if let (Some(innermost), Some(place)) = (all.into_iter().next(), self.of(op)) {
                found.entry((innermost.file, innermost.line, innermost.column)).or_default().insert(place);
            }
        }
        found
    }
}
