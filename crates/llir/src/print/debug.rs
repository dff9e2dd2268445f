//! Source places as LLVM's debug metadata: line tables only.
//!
//! Assumes that the numbers below `first` are taken by other metadata. Left out: variables, types, inlined calls.

use super::{escape, write_number};
use crate::function::{Function, Inst};
use crate::location::{FileId, Location};
use crate::module::Module;
use crate::rows::Format;
use rustc_hash::FxHashMap;
use std::fmt::{self, Write};

/// LLVM keeps columns in 16 bits and says 0 of those further right: that none is known.
const MOST_COLUMNS: u32 = 0xffff;

/// The metadata of a module and the numbers in it.
#[derive(Default)]
pub(super) struct Debug<'a> {
    next: u32,
    lines: Vec<String>,
    /// Numbers of the descriptions of functions.
    subprograms: FxHashMap<&'a str, (u32, FileId)>,
    scopes: FxHashMap<(u32, FileId), u32>,
    places: FxHashMap<(u32, Location), u32>,
    /// Number of the unit, if there is one; that of the first file is three more.
    unit: u32,
    has_unit: bool,
    /// Number of the first line, and how many flags of the module stand in front.
    first: u32,
    flags: u32,
}

impl<'a> Debug<'a> {
    /// Describes all functions that have places, when the module asks for it.
    pub(super) fn new(module: &'a Module, first: u32) -> Debug<'a> {
        let mut debug = Debug { next: first, first, ..Debug::default() };
        for (name, value) in &module.flags {
            debug.add(format!("!{{i32 1, !\"{name}\", i32 {value}}}"));
        }
        debug.flags = module.flags.len() as u32;
        debug.unit = debug.next;
        let has_places = |function: &Function| main_place(function).is_some();
        if !module.print_locations || !module.functions().any(has_places) {
            return debug;
        }
        debug.has_unit = true;
        debug.add(format!(
            "distinct !DICompileUnit(language: DW_LANG_C, file: !{}, producer: \"deuteron\", isOptimized: true, \
             runtimeVersion: 0, emissionKind: LineTablesOnly)",
            debug.unit + 3
        ));
        debug.add("!{i32 2, !\"Debug Info Version\", i32 3}".into());
        debug.add("!DISubroutineType(types: !1)".into());
        for path in module.files.values() {
            let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
            let (name, directory) = (escape(name.as_bytes()), escape(directory.as_bytes()));
            debug.add(format!("!DIFile(filename: \"{name}\", directory: \"{directory}\")"));
        }
        for function in module.functions() {
            debug.function(function);
        }
        debug
    }

    fn add(&mut self, text: String) -> u32 {
        self.lines.push(text);
        self.next += 1;
        self.next - 1
    }

    fn file(&self, file: FileId) -> u32 {
        self.unit + 3 + file.as_u32()
    }

    fn function(&mut self, function: &'a Function) {
        let Some(place) = main_place(function) else { return };
        let (file, name) = (self.file(place.file), escape(function.name.as_bytes()));
        let subprogram = self.add(format!(
            "distinct !DISubprogram(name: \"{name}\", linkageName: \"{name}\", scope: !{file}, file: !{file}, \
             line: {line}, type: !{ty}, scopeLine: {line}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{unit})",
            line = place.line,
            ty = self.unit + 2,
            unit = self.unit,
        ));
        self.subprograms.insert(&function.name, (subprogram, place.file));
        for block in &function.layout {
            for inst in &function.block(*block).insts {
                if let Some(location) = printed(function, *inst, place.file) {
                    self.place(subprogram, place.file, location);
                }
            }
        }
    }

    fn place(&mut self, subprogram: u32, home: FileId, location: Location) {
        if self.places.contains_key(&(subprogram, location)) {
            return;
        }
        let scope = match self.scopes.get(&(subprogram, location.file)) {
            _ if location.file == home => subprogram,
            Some(scope) => *scope,
            None => {
                let file = self.file(location.file);
                let text =
                    format!("!DILexicalBlockFile(scope: !{subprogram}, file: !{file}, discriminator: 0)");
                let scope = self.add(text);
                self.scopes.insert((subprogram, location.file), scope);
                scope
            }
        };
        let Location { line, column, .. } = location;
        let column = if column > MOST_COLUMNS { 0 } else { column };
        let number = self.add(format!("!DILocation(line: {line}, column: {column}, scope: !{scope})"));
        self.places.insert((subprogram, location), number);
    }

    /// The number of the description of a function that has places, and its file.
    pub(super) fn subprogram(&self, function: &Function) -> Option<(u32, FileId)> {
        self.subprograms.get(function.name.as_str()).copied()
    }

    /// Writes `, !dbg !N` after an instruction of such a function that has a place.
    pub(super) fn write_inst(
        &self,
        out: &mut String,
        (subprogram, home): (u32, FileId),
        function: &Function,
        inst: Inst,
    ) {
        let number = printed(function, inst, home).and_then(|place| self.places.get(&(subprogram, place)));
        if let Some(number) = number {
            out.push_str(", !dbg !");
            write_number(out, *number);
        }
    }

    /// Writes the metadata itself.
    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        if self.lines.is_empty() {
            return Ok(());
        }
        let mut flags: Vec<u32> = (self.first..self.first + self.flags).collect();
        if self.has_unit {
            writeln!(out, "!llvm.dbg.cu = !{{!{}}}", self.unit)?;
            flags.push(self.unit + 1);
        }
        let flags: Vec<String> = flags.into_iter().map(|number| format!("!{number}")).collect();
        writeln!(out, "!llvm.module.flags = !{{{}}}", flags.join(", "))?;
        for (index, line) in self.lines.iter().enumerate() {
            writeln!(out, "!{} = {line}", self.first + index as u32)?;
        }
        Ok(())
    }
}

/// Where a function begins: its own place or that of its first instruction with one. Calls from nowhere have line 0.
fn main_place(function: &Function) -> Option<Location> {
    let insts = || function.layout.iter().flat_map(|block| &function.block(*block).insts);
    let place = |inst: &Inst| function.location_of(*inst).filter(|place| place.line > 0);
    function.location.or_else(|| insts().find_map(place))
}

/// The place that is printed; a call must have one in a function that has places.
fn printed(function: &Function, inst: Inst, home: FileId) -> Option<Location> {
    let is_call = matches!(function.inst(inst).op.row().format, Format::Call | Format::CallIndirect);
    let nowhere = Location { file: home, line: 0, column: 0 };
    function.location_of(inst).or(is_call.then_some(nowhere))
}
