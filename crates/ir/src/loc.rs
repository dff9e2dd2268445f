//! Source locations, interned in one module.

use crate::entity::Loc;
use cranelift_entity::PrimaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Where something comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LocData {
    /// Nobody knows.
    Unknown,
    /// A place in a file; line and column count from 1.
    File {
        /// The path as the front end saw it.
        file: Arc<str>,
        /// The line.
        line: u32,
        /// The column.
        col: u32,
    },
    /// A named value at a place.
    Name {
        /// The name in the source.
        name: Arc<str>,
        /// The place.
        child: Loc,
    },
    /// Inlined code: where it stands and where it was called.
    CallSite {
        /// Where it stands.
        callee: Loc,
        /// Where it was called.
        caller: Loc,
    },
    /// Several places that became one.
    Fused(Vec<Loc>),
}

/// The locations of one module.
#[derive(Clone, Debug)]
pub struct LocTable {
    data: PrimaryMap<Loc, LocData>,
    known: FxHashMap<LocData, Loc>,
}

impl Default for LocTable {
    fn default() -> Self {
        let mut table = LocTable { data: PrimaryMap::new(), known: FxHashMap::default() };
        table.intern(LocData::Unknown);
        table
    }
}

impl LocTable {
    /// The location that nobody knows.
    pub fn unknown(&self) -> Loc {
        Loc::from_u32(0)
    }

    /// Interns a location.
    pub fn intern(&mut self, data: LocData) -> Loc {
        if let Some(&loc) = self.known.get(&data) {
            return loc;
        }
        let loc = self.data.push(data.clone());
        self.known.insert(data, loc);
        loc
    }

    /// What a location says.
    pub fn get(&self, loc: Loc) -> &LocData {
        &self.data[loc]
    }

    /// The innermost place in a file: file, line, column.
    pub fn file_place(&self, loc: Loc) -> Option<(Arc<str>, u32, u32)> {
        self.parts(loc).find_map(|part| match part {
            LocData::File { file, line, col } => Some((file.clone(), *line, *col)),
            _ => None,
        })
    }

    /// A location and all that it is made of, each once; where code stands before where it was called.
    fn parts(&self, loc: Loc) -> impl Iterator<Item = &LocData> {
        let mut met = FxHashSet::default();
        let mut waiting: SmallVec<[Loc; 4]> = smallvec![loc];
        std::iter::from_fn(move || {
            loop {
                let loc = waiting.pop()?;
                let data = self.get(loc);
                let is_leaf = matches!(data, LocData::Unknown | LocData::File { .. });
                if !is_leaf && !met.insert(loc) {
                    continue;
                }
                match data {
                    LocData::Unknown | LocData::File { .. } => {}
                    LocData::Name { child, .. } => waiting.push(*child),
                    LocData::CallSite { callee, caller } => waiting.extend([*caller, *callee]),
                    LocData::Fused(all) => waiting.extend(all.iter().rev().copied()),
                }
                return Some(data);
            }
        })
    }

    /// The name in the source, if the location carries one.
    pub fn name(&self, loc: Loc) -> Option<&str> {
        self.parts(loc).find_map(|part| match part {
            LocData::Name { name, .. } => Some(&**name).filter(|name| !name.is_empty()),
            _ => None,
        })
    }

    /// `file:line:column` for messages.
    pub fn describe(&self, loc: Loc) -> Option<String> {
        self.file_place(loc).map(|(file, line, col)| format!("{file}:{line}:{col}"))
    }
}
