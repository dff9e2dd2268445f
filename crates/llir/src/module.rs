//! Modules: functions with bodies, declarations, constant data, and definitions that come as text.

use crate::function::{FuncId, Function, InstData, Param, Payload};
use crate::intrinsics::{Intrinsic, Purity};
use crate::location::FileId;
use crate::rows::Effect;
use crate::types::Type;
use cranelift_entity::PrimaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The signature of something that can be called.
#[derive(Clone, Debug)]
pub struct Callee {
    /// Its symbol.
    pub name: String,
    /// Its result.
    pub ret: Type,
    /// Its parameters.
    pub params: Vec<Type>,
    /// What may be assumed of calls.
    pub purity: Purity,
    /// Further attributes of the declaration, LLVM's words.
    pub attributes: Vec<String>,
    /// The row that it is; a row of a target's table where code was built of it.
    pub intrinsic: Option<&'static Intrinsic>,
}

impl Callee {
    /// Something by its name.
    pub fn new(name: &str, ret: Type, params: Vec<Type>, purity: Purity) -> Callee {
        Callee { name: name.into(), ret, params, purity, attributes: Vec::new(), intrinsic: None }
    }

    /// Whether LLVM defines it, as its name says.
    pub fn is_intrinsic(&self) -> bool {
        self.name.starts_with("llvm.")
    }

    /// The same of a name as LLVM has it, types included.
    pub(crate) fn named(name: &str, ret: Type, params: Vec<Type>) -> Callee {
        let intrinsic = Intrinsic::of_mangled(name);
        let purity = intrinsic.map_or(Purity::Impure, |row| row.purity);
        Callee { intrinsic, ..Callee::new(name, ret, params, purity) }
    }
}

/// What a global is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GlobalKind {
    /// Constant data, internal to the module: the bits of the elements.
    Constant(Vec<u128>),
    /// Memory that belongs to the module: so many elements, zero at first (or anything, in spaces that cannot be
    /// filled).
    Internal(u64),
    /// Memory that is made elsewhere: so many elements, 0 where the size is not known here.
    External(u64),
}

/// Data of a module.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its symbol.
    pub name: String,
    /// The type of one element.
    pub element: Type,
    /// What it is.
    pub kind: GlobalKind,
    /// The address space it is in.
    pub space: u8,
    /// Its alignment in bytes.
    pub align: u32,
}

/// A piece of textual LLVM IR that is printed as it is.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub(crate) key: String,
    pub(crate) body: String,
}

/// Everything that is compiled together.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// A name for people.
    pub name: String,
    /// The target triple; empty leaves it to the assembler.
    pub triple: String,
    /// The data layout; empty leaves it to the assembler.
    pub data_layout: String,
    /// Module flags for the code generator: names and numbers that must agree between modules.
    pub flags: Vec<(String, u32)>,
    /// Names of notes that every atomic change of memory carries in the text: what its code generator may assume of the
    /// memory.
    pub atomic_notes: Vec<String>,
    /// Whether the text says where instructions come from.
    pub print_locations: bool,
    pub(crate) files: PrimaryMap<FileId, String>,
    pub(crate) callees: PrimaryMap<FuncId, Callee>,
    pub(crate) bodies: BTreeMap<FuncId, Function>,
    pub(crate) globals: Vec<Global>,
    pub(crate) attachments: Vec<Attachment>,
    /// Symbols that attached text defines.
    pub(crate) attached: FxHashSet<String>,
    /// Declarations that attached text asks for, by symbol.
    pub(crate) attached_declarations: BTreeMap<String, String>,
    by_name: FxHashMap<String, FuncId>,
}

impl Module {
    /// An empty module.
    pub fn new(name: &str) -> Module {
        Module { name: name.into(), ..Module::default() }
    }

    /// Adds a function to be filled in by a [`crate::FunctionBuilder`].
    pub fn add_function(&mut self, name: &str, ret: Type, params: Vec<Param>) -> FuncId {
        let types = params.iter().map(|param| param.ty).collect();
        let id = self.declare(Callee::new(name, ret, types, Purity::Impure));
        self.bodies.insert(id, Function::new(name, ret, params));
        id
    }

    /// Names something that can be called. A name that is known keeps its first signature.
    pub fn declare(&mut self, callee: Callee) -> FuncId {
        if let Some(id) = self.by_name.get(&callee.name) {
            return *id;
        }
        let name = callee.name.clone();
        let id = self.callees.push(callee);
        self.by_name.insert(name, id);
        id
    }

    /// Names an intrinsic with its types filled in: `llvm.fma` on `<8 x float>` is `llvm.fma.v8f32`.
    pub fn declare_intrinsic(&mut self, intrinsic: &'static Intrinsic, ret: Type, args: &[Type]) -> FuncId {
        let mangled = intrinsic.mangled(ret, args);
        self.find(&mangled).unwrap_or_else(|| {
            let callee = Callee::new(&mangled, ret, args.to_vec(), intrinsic.purity);
            self.declare(Callee { intrinsic: Some(intrinsic), ..callee })
        })
    }

    /// What can be called under a name.
    pub fn find(&self, name: &str) -> Option<FuncId> {
        self.by_name.get(name).copied()
    }

    /// A signature.
    pub fn callee(&self, id: FuncId) -> &Callee {
        &self.callees[id]
    }

    /// Whether an instruction does nothing but give its result, which is the same for equal operands.
    pub(crate) fn is_pure(&self, data: &InstData) -> bool {
        match (data.op.row().effect, &data.payload) {
            (Effect::Pure, _) => true,
            (Effect::Callee, Payload::Callee(id)) => self.callee(*id).purity == Purity::Pure,
            (Effect::Callee, Payload::Asm(asm)) => asm.is_pure(),
            _ => false,
        }
    }

    /// Everything that can be called, functions with bodies too.
    pub fn callees(&self) -> impl Iterator<Item = (FuncId, &Callee)> {
        self.callees.iter()
    }

    /// The body of a function, if it has one here.
    pub fn function(&self, id: FuncId) -> Option<&Function> {
        self.bodies.get(&id)
    }

    /// The body of a function, to change its attributes.
    pub fn function_mut(&mut self, id: FuncId) -> Option<&mut Function> {
        self.bodies.get_mut(&id)
    }

    /// All functions with bodies.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.bodies.values()
    }

    /// Adds constant bytes and answers their symbol; equal bytes share one.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> String {
        let elements = bytes.iter().map(|byte| u128::from(*byte)).collect();
        self.add_table("data", Type::I8, elements, 1)
    }

    /// Adds a table of constants and answers its symbol; equal tables share one.
    pub fn add_table(&mut self, stem: &str, element: Type, elements: Vec<u128>, align: u32) -> String {
        let kind = GlobalKind::Constant(elements);
        let same = |global: &&Global| {
            global.element == element && global.align >= align && global.space == 0 && global.kind == kind
        };
        if let Some(global) = self.globals.iter().find(same) {
            return global.name.clone();
        }
        let name = format!(".{stem}.{}", self.globals.len());
        self.globals.push(Global { name: name.clone(), element, kind, space: 0, align });
        name
    }

    /// Adds memory that is not constant; a name that is known stays what it is.
    pub fn add_memory(&mut self, global: Global) {
        if !self.globals.iter().any(|known| known.name == global.name) {
            self.globals.push(global);
        }
    }

    /// All data.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// The number of a source file.
    pub fn add_file(&mut self, path: &str) -> FileId {
        let known = self.files.iter().find(|(_, known)| *known == path);
        known.map(|(id, _)| id).unwrap_or_else(|| self.files.push(path.into()))
    }

    /// All source files.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &str)> {
        self.files.iter().map(|(id, path)| (id, path.as_str()))
    }

    /// Attaches textual definitions once per `key`.
    ///
    /// Lines that begin with `declare` are merged with the module's own declarations; everything else is printed as it
    /// is, after the functions. The text must not use numbered metadata or attribute groups, whose numbers would
    /// collide with the module's.
    pub fn attach_text(&mut self, key: &str, text: &str) {
        if self.attachments.iter().any(|attachment| attachment.key == key) {
            return;
        }
        let mut body = String::new();
        for line in text.lines() {
            let symbol = symbol_of(line);
            match symbol {
                Some(symbol) if line.starts_with("declare ") => {
                    self.attached_declarations.insert(symbol, line.into());
                    continue;
                }
                Some(symbol) if line.starts_with("define ") => {
                    self.attached.insert(symbol);
                }
                _ => {}
            }
            body.push_str(line);
            body.push('\n');
        }
        self.attachments.push(Attachment { key: key.into(), body });
    }
}

/// The first `@name` of a line, quotes removed.
fn symbol_of(line: &str) -> Option<String> {
    let rest = &line[line.find('@')? + 1..];
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.split('"').next().map(str::to_string);
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "$._-".contains(c))).unwrap_or(rest.len());
    Some(rest[..end].to_string())
}
