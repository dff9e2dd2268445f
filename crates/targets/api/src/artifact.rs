//! What a compile leaves behind: the text of every stage, the binary, and what a launch must know.

use crate::OptionValue;
use std::collections::BTreeMap;

/// One stage of a compile, named as in `kernel.asm[…]`: `ttir`, `ttgir`, `llir`, `asm`, `obj`, ….
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Stage {
    /// The key in `kernel.asm`.
    pub name: String,
    /// Its bytes; UTF-8 where `text` is set.
    pub bytes: Vec<u8>,
    /// Whether `bytes` is text for people.
    pub text: bool,
}

/// How one kernel parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ParamKind {
    /// An address, 8 bytes.
    Pointer,
    /// An integer of so many bits (1, 8, 16, 32 or 64), in the low bytes of its slot.
    Int(u32),
    /// A float of so many bits (16, 32 or 64; 16 is fp16), in the low bytes of its slot.
    Float(u32),
    /// A bfloat16, in the low bytes of its slot.
    Bf16,
}

/// One kernel parameter, in signature order, constexprs left out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KernelParam {
    /// Its name in the source.
    pub name: String,
    /// How it is passed: every parameter has one 8-byte slot.
    pub kind: ParamKind,
}

/// The result of a compile: all that is cached, all that a device needs.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Artifact {
    /// The symbol of the kernel.
    pub name: String,
    /// The stages in order; the last is what the device loads.
    pub stages: Vec<Stage>,
    /// The run-time parameters.
    pub params: Vec<KernelParam>,
    /// Bytes of memory shared by the lanes of a program (on a CPU: of scratch for each program).
    pub shared: u64,
    /// Further facts for `kernel.metadata`, by name.
    pub metadata: BTreeMap<String, OptionValue>,
}

impl Artifact {
    /// A number among the metadata; 0 where there is none.
    pub fn number(&self, name: &str) -> u64 {
        match self.metadata.get(name) {
            Some(OptionValue::Int(value)) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }

    /// A text among the metadata; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        match self.metadata.get(name) {
            Some(OptionValue::Str(text)) => text,
            _ => "",
        }
    }

    /// The bytes of a stage.
    pub fn stage(&self, name: &str) -> Option<&[u8]> {
        self.stages.iter().find(|stage| stage.name == name).map(|stage| &stage.bytes[..])
    }
}

/// Is told each stage as it is finished and each pass as it runs.
pub trait StageObserver {
    /// A stage is finished.
    fn stage(&mut self, name: &str, bytes: &[u8]) {
        let _ = (name, bytes);
    }
    /// A step (a pass, a tool) took so long.
    fn timed(&mut self, step: &str, elapsed: std::time::Duration) {
        let _ = (step, elapsed);
    }
}

impl StageObserver for () {}
