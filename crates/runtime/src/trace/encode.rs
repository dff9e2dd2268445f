//! Values as bytes, for hashing.

use super::Origin;
use frontend::{ArgSpec, Function, FunctionRef, ObjectRef, PyValue};
use rustc_hash::FxHashMap;

/// A function or an object that appeared in an answer.
#[derive(Clone, Debug)]
pub(super) enum RequestPart {
    /// The text of a function.
    Function(FunctionRef),
    /// Something only the globals can look into.
    Object(ObjectRef),
}

/// How functions and objects are told apart within one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    Function(u64, String, String),
    Object(u64),
}

impl RequestPart {
    pub(super) fn identity(&self) -> Identity {
        match self {
            RequestPart::Function(function) => Identity::of_function(function),
            RequestPart::Object(object) => Identity::Object(object.0.id),
        }
    }
}

impl Identity {
    pub(super) fn of_function(function: &FunctionRef) -> Identity {
        Identity::Function(function.0.id, function.0.module.clone(), function.0.name.clone())
    }
}

/// Everything that appeared so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    origins: FxHashMap<Identity, Origin>,
    parts: Vec<Vec<RequestPart>>,
}

impl Known {
    /// Starts with the request: the kernel, then what its arguments hold.
    pub(super) fn new(kernel: &FunctionRef, args: &[ArgSpec]) -> Known {
        let mut parts = vec![RequestPart::Function(kernel.clone())];
        args.iter().for_each(|arg| parts_of_arg(arg, &mut parts));
        let mut known = Known::default();
        known.add(parts);
        known
    }

    /// Adds an answer and gives the hash of its content, in which each function or object stands with its first origin.
    pub(super) fn answer(&mut self, value: Option<&PyValue>) -> [u8; 32] {
        let mut parts = Vec::new();
        if let Some(value) = value {
            parts_of(value, &mut parts);
        }
        self.add(parts);
        let mut bytes = Vec::new();
        match value {
            None => bytes.push(b'!'),
            Some(value) => encode(value, &mut bytes, Some(&self.origins)),
        }
        *blake3::hash(&bytes).as_bytes()
    }

    fn add(&mut self, parts: Vec<RequestPart>) {
        let answer = self.parts.len() as u32;
        for (index, part) in parts.iter().enumerate() {
            self.origins.entry(part.identity()).or_insert(Origin { answer, index: index as u32 });
        }
        self.parts.push(parts);
    }

    pub(super) fn origin(&self, identity: &Identity) -> Option<Origin> {
        self.origins.get(identity).copied()
    }

    pub(super) fn part(&self, origin: Origin) -> Option<&RequestPart> {
        self.parts.get(origin.answer as usize)?.get(origin.index as usize)
    }
}

fn parts_of_arg(arg: &ArgSpec, parts: &mut Vec<RequestPart>) {
    match arg {
        ArgSpec::Constexpr(value) => parts_of(value, parts),
        ArgSpec::Runtime { .. } | ArgSpec::Descriptor(_) => {}
        ArgSpec::Tuple { items, .. } => items.iter().for_each(|item| parts_of_arg(item, parts)),
    }
}

fn parts_of(value: &PyValue, parts: &mut Vec<RequestPart>) {
    match value {
        PyValue::Tuple(tuple) => tuple.items.iter().for_each(|item| parts_of(item, parts)),
        PyValue::Constexpr(inner) => parts_of(inner, parts),
        PyValue::JitFunction(function) => parts.push(RequestPart::Function(function.clone())),
        PyValue::ConstexprFunction(object) | PyValue::Object(object) => {
            parts.push(RequestPart::Object(object.clone()))
        }
        _ => {}
    }
}

/// The bytes of a function: its text and its place, because messages and debug locations name the place. The folder of
/// the file is left out, so that two checkouts of one project share their kernels; a message of a kernel from the cache
/// may then name the folder of the other.
pub(crate) fn encode_function(function: &Function, bytes: &mut Vec<u8>) {
    bytes.push(b'F');
    let file = function.file.rsplit(['/', '\\']).next().unwrap_or_default();
    for text in [&function.name, &function.module, file, &function.source] {
        put_text(text, bytes);
    }
    bytes.extend(function.first_line.to_le_bytes());
    bytes.extend([u8::from(function.noinline), function.extensions.bits()]);
}

/// The bytes of the arguments of a compile.
pub(crate) fn encode_args(args: &[ArgSpec], bytes: &mut Vec<u8>) {
    bytes.extend((args.len() as u64).to_le_bytes());
    for arg in args {
        match arg {
            ArgSpec::Constexpr(value) => {
                bytes.push(b'C');
                encode(value, bytes, None);
            }
            ArgSpec::Runtime { ty, known } => {
                bytes.extend([b'R', known.divisibility, u8::from(known.near) | u8::from(known.one) << 1]);
                put_text(&frontend::signature::type_text(*ty), bytes);
            }
            ArgSpec::Descriptor(spec) => {
                bytes.extend([b'D', u8::from(spec.divisible_by_16)]);
                put_text(&frontend::signature::descriptor_text(spec), bytes);
            }
            ArgSpec::Tuple { items, fields } => {
                bytes.push(b'T');
                put_fields(fields.as_deref().unwrap_or_default().iter().map(String::as_str), bytes);
                bytes.push(u8::from(fields.is_some()));
                encode_args(items, bytes);
            }
        }
    }
}

fn encode(value: &PyValue, bytes: &mut Vec<u8>, origins: Option<&FxHashMap<Identity, Origin>>) {
    match value {
        PyValue::None => bytes.push(b'n'),
        PyValue::Bool(value) => bytes.extend([b'b', u8::from(*value)]),
        PyValue::Int(value) => {
            bytes.push(b'i');
            bytes.extend(value.to_le_bytes());
        }
        PyValue::Float(value) => {
            bytes.push(b'f');
            bytes.extend(value.to_bits().to_le_bytes());
        }
        PyValue::Str(text) => tagged(b's', text, bytes),
        PyValue::DType(scalar) => tagged(b'd', &frontend::signature::type_text(*scalar), bytes),
        PyValue::Builtin(path) => tagged(b'B', path, bytes),
        PyValue::Module(path) => tagged(b'M', path, bytes),
        PyValue::Tuple(tuple) => {
            bytes.extend([b't', u8::from(tuple.fields.is_some())]);
            put_fields(tuple.fields.as_deref().unwrap_or_default().iter().map(|field| &**field), bytes);
            bytes.extend((tuple.items.len() as u64).to_le_bytes());
            tuple.items.iter().for_each(|item| encode(item, bytes, origins));
        }
        PyValue::Constexpr(inner) => {
            bytes.push(b'c');
            encode(inner, bytes, origins);
        }
        PyValue::JitFunction(function) => {
            put_origin(origins, &Identity::of_function(function), bytes);
            encode_function(&function.0, bytes);
        }
        PyValue::ConstexprFunction(object) => put_object(b'e', object, bytes, origins),
        PyValue::Object(object) => put_object(b'o', object, bytes, origins),
    }
}

fn put_object(
    tag: u8,
    object: &ObjectRef,
    bytes: &mut Vec<u8>,
    origins: Option<&FxHashMap<Identity, Origin>>,
) {
    put_origin(origins, &Identity::Object(object.0.id), bytes);
    tagged(tag, &object.0.type_name, bytes);
    put_text(&object.0.text, bytes);
}

fn put_origin(origins: Option<&FxHashMap<Identity, Origin>>, identity: &Identity, bytes: &mut Vec<u8>) {
    let origin = origins.and_then(|origins| origins.get(identity));
    bytes.extend(origin.map_or(u32::MAX, |origin| origin.answer).to_le_bytes());
    bytes.extend(origin.map_or(u32::MAX, |origin| origin.index).to_le_bytes());
}

fn tagged(tag: u8, text: &str, bytes: &mut Vec<u8>) {
    bytes.push(tag);
    put_text(text, bytes);
}

fn put_fields<'a>(fields: impl ExactSizeIterator<Item = &'a str>, bytes: &mut Vec<u8>) {
    bytes.extend((fields.len() as u64).to_le_bytes());
    fields.for_each(|field| put_text(field, bytes));
}

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
