//! Kernels as sources in C, which hold the machine code and launch it through the driver: for programs without a
//! runtime.
//!
//! [`sources`] writes one kernel, specialised as a signature says; [`link::link`] writes what chooses among several by
//! the values of a launch. Headers carry the facts from one to the other in lines that begin with [`KERNEL`] and
//! [`BACKEND`].

pub mod link;

use crate::error::RuntimeError;
use std::fmt::Write;
use target::{Artifact, HostCode, KernelParam, ParamKind};

/// Begins the line of a header that describes its kernel: name, parameters, what it was compiled with.
const KERNEL: &str = "// tt-linker:";
/// Begins the line of a header that names the target.
const BACKEND: &str = "// tt-linker-backend:";

/// What sources are asked for, beyond the code.
pub struct Request<'a> {
    /// What the functions are called after.
    pub name: &'a str,
    /// One entry for each parameter of the kernel: `*fp32:16`, `i32:1`, `64`.
    pub signature: Vec<&'a str>,
    /// The names of the parameters.
    pub params: Vec<&'a str>,
    /// Expressions in C of the parameters.
    pub grid: [&'a str; 3],
    /// Options of the compile, as they are written in names: `warps4xstages3`.
    pub options: &'a str,
}

/// A kernel in C.
pub struct Sources {
    /// The function that launches it.
    pub function: String,
    /// What stands between the name of its files and their endings.
    pub suffix: String,
    /// The file with the code.
    pub source: String,
    /// Its header.
    pub header: String,
}

/// Whether an entry of a signature says that the value is always 1.
fn is_one(entry: &str) -> bool {
    entry.ends_with(":1")
}

/// The sources of a kernel.
///
/// # Errors
/// When the kernel needs what only a runtime has, or the signature says what names cannot.
pub fn sources(
    artifact: &Artifact,
    host: HostCode,
    backend: &str,
    request: &Request<'_>,
) -> Result<Sources, RuntimeError> {
    check(artifact, request)?;
    let key = format!("{} {}", request.signature.join(" "), request.options);
    let hash = blake3::hash(key.as_bytes()).to_hex()[..8].to_owned();
    let all = parameters(artifact, host, request);
    let suffix = format!("{hash}_{}", hints(&all)?);
    let function = format!("{}_{suffix}", request.name);
    let passed: Vec<&Parameter<'_>> = all.iter().filter(|param| !param.is_one).collect();
    let list = |params: &mut dyn Iterator<Item = &Parameter<'_>>| {
        params.map(|param| format!("{} {}", param.ty, param.name)).collect::<Vec<_>>().join(", ")
    };
    let behind_stream =
        passed.iter().map(|param| format!(", {} {}", param.ty, param.name)).collect::<String>();
    let title = format!("Kernel {} for {backend}: {}", artifact.name, request.signature.join(", "));
    let header = format!(
        "// {title}\n{}\n{BACKEND} {backend}\n{KERNEL} {function}:{}:{}\n\nvoid load_{function}(void);\nvoid unload_{function}(void);\n\
         TT_ResultTy {function}(TT_StreamTy tt_stream{behind_stream});\n",
        host.types,
        list(&mut all.iter()),
        algorithm(request),
    );
    let source =
        source(artifact, host, request, &Texts { title, function: &function, behind_stream, all: &all })?;
    Ok(Sources { function, suffix, source, header })
}

/// Pieces of the sources of a kernel.
struct Texts<'a> {
    title: String,
    function: &'a str,
    behind_stream: String,
    all: &'a [Parameter<'a>],
}

fn source(
    artifact: &Artifact,
    host: HostCode,
    request: &Request<'_>,
    texts: &Texts<'_>,
) -> Result<String, RuntimeError> {
    let facts = artifact.device_facts()?;
    let code =
        artifact.stages.last().ok_or_else(|| RuntimeError::Value("the kernel has no code".to_owned()))?;
    let mut bytes = code.bytes.clone();
    if code.text {
        bytes.push(0);
    }
    let ones: String = texts
        .all
        .iter()
        .filter(|param| param.is_one)
        .map(|param| format!("  const {} {} = 1;\n  (void){};\n", param.ty, param.name, param.name))
        .collect();
    let pointers: String =
        texts.all.iter().filter(|param| !param.is_one).map(|param| format!("&{}, ", param.name)).collect();
    let [x, y, z] = request.grid;
    let words = [
        ("@TITLE@", texts.title.clone()),
        ("@NAME@", texts.function.to_owned()),
        ("@SYMBOL@", artifact.name.clone()),
        ("@SHARED@", artifact.shared.to_string()),
        ("@THREADS@", (facts.num_warps * facts.warp_size).to_string()),
        ("@PARAMETERS@", texts.behind_stream.clone()),
        ("@POINTERS@", pointers),
        ("@ONES@", ones),
        ("@GRID_X@", x.to_owned()),
        ("@GRID_Y@", y.to_owned()),
        ("@GRID_Z@", z.to_owned()),
        ("@SIZE@", bytes.len().to_string()),
        ("@BYTES@", listed(&bytes)),
    ];
    let template = host.kernel.to_owned();
    Ok(words.iter().fold(template, |text, (word, value)| text.replace(word, value)))
}

/// Bytes as C writes them.
fn listed(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4);
    for (index, byte) in bytes.iter().enumerate() {
        text.push_str(if index % 24 == 0 { "\n    " } else { "" });
        _ = write!(text, "{byte},");
    }
    text
}

/// A parameter of the function that launches.
struct Parameter<'a> {
    name: &'a str,
    ty: &'static str,
    /// What the signature says of it.
    entry: &'a str,
    is_one: bool,
}

/// The parameters in the order of the signature: those that the kernel has, and integers that are always 1.
fn parameters<'a>(artifact: &'a Artifact, host: HostCode, request: &Request<'a>) -> Vec<Parameter<'a>> {
    let mut parameters = Vec::new();
    for (name, entry) in request.params.iter().zip(&request.signature) {
        if let Some(param) = artifact.params.iter().find(|param| param.name == *name) {
            parameters.push(Parameter { name, ty: c_type(param, host), entry, is_one: false });
        } else if is_one(entry) {
            parameters.push(Parameter { name, ty: "int32_t", entry, is_one: true });
        }
    }
    parameters
}

fn c_type(param: &KernelParam, host: HostCode) -> &'static str {
    match param.kind {
        ParamKind::Pointer => host.address,
        ParamKind::Int(1 | 8) => "int8_t",
        ParamKind::Int(16) => "int16_t",
        ParamKind::Int(32) => "int32_t",
        ParamKind::Int(_) => "int64_t",
        ParamKind::Float(32) => "float",
        ParamKind::Float(64) => "double",
        // The bits of a number that C has no type for.
        ParamKind::Float(_) | ParamKind::Bf16 => "uint16_t",
    }
}

/// What a name says of divisibility: `0d3c`, parameter 0 is a multiple of 16 and parameter 3 is 1.
fn hints(parameters: &[Parameter<'_>]) -> Result<String, RuntimeError> {
    let mut text = String::new();
    for (index, parameter) in parameters.iter().enumerate() {
        match parameter.entry.split_once(':') {
            None => {}
            Some((_, "16")) => _ = write!(text, "{index}d"),
            Some((_, "1")) => _ = write!(text, "{index}c"),
            Some((_, other)) => {
                return Err(RuntimeError::Value(format!("only 1 and 16 are valid hints, got {other}")));
            }
        }
    }
    Ok(text)
}

/// What a kernel was compiled with, as part of a name in C: the values of its constexprs and the options.
fn algorithm(request: &Request<'_>) -> String {
    let values: Vec<&str> =
        request.signature.iter().copied().filter(|entry| entry.parse::<f64>().is_ok()).collect();
    let text = format!("{}_{}", values.join("x"), request.options);
    text.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// Refuses kernels that need what a runtime provides.
fn check(artifact: &Artifact, request: &Request<'_>) -> Result<(), RuntimeError> {
    let facts = artifact.device_facts()?;
    let needs = [
        (facts.global_scratch.bytes > 0, "global scratch memory"),
        (facts.profile_scratch.bytes > 0, "memory of a profiler"),
        (facts.log_bytes > 0, "memory for what it prints"),
        (!facts.maps.is_empty(), "tensor maps"),
        (facts.num_ctas > 1 || facts.cooperative || facts.overlaps, "attributes of its launch"),
    ];
    if let Some((_, what)) = needs.iter().find(|(needed, _)| *needed) {
        let name = &artifact.name;
        return Err(RuntimeError::Value(format!(
            "kernel `{name}` needs {what}, which launches from C do not provide"
        )));
    }
    let (given, has) = (request.signature.len(), request.params.len());
    if given != has {
        return Err(RuntimeError::Value(format!("the signature has {given} entries for {has} parameters")));
    }
    Ok(())
}
