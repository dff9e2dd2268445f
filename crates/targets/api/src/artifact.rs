//! What a compile leaves behind: the text of every stage, the binary, and what a launch must know.

use crate::{DeviceFacts, LaunchFacts, OptionValue, TargetError};
use std::collections::BTreeMap;

/// One stage of a compile, named as in `kernel.asm[…]`: `ttir`, `ttgir`, `llir`, `asm`, `obj`, ….
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Stage {
    /// The key in `kernel.asm`.
    pub name: String,
    /// Its bytes; UTF-8 where `text` is set.
    #[serde(with = "whole")]
    pub bytes: Vec<u8>,
    /// Whether `bytes` is text for people.
    pub text: bool,
}

/// Bytes as a whole, as they would be written one by one, but many times as fast.
mod whole {
    use serde::de::{Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::Serializer;
    use std::fmt;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_byte_buf(Whole)
    }

    struct Whole;

    impl<'de> Visitor<'de> for Whole {
        type Value = Vec<u8>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = seq.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
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
    /// What its launches must know.
    pub launch: LaunchFacts,
    /// Further facts for `kernel.metadata`, by name: for people, no code reads them.
    pub metadata: BTreeMap<String, OptionValue>,
}

impl Artifact {
    /// What a device must know of a kernel that was compiled for one.
    ///
    /// # Errors
    /// When it was compiled for something else.
    pub fn device_facts(&self) -> Result<&DeviceFacts, TargetError> {
        let name = &self.name;
        self.launch
            .device()
            .ok_or_else(|| TargetError::Load(format!("kernel `{name}` was not compiled for a device")))
    }

    /// The bytes of a stage.
    pub fn stage(&self, name: &str) -> Option<&[u8]> {
        self.stages.iter().find(|stage| stage.name == name).map(|stage| &stage.bytes[..])
    }
}

/// A stage that is given as text: a file that overrides that stage of a compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenStage {
    /// Which stage: the ending of the file's name.
    pub name: String,
    /// The file, for messages.
    pub file: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl GivenStage {
    /// The content of a stage that is text.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self) -> Result<&str, TargetError> {
        std::str::from_utf8(&self.bytes).map_err(|error| self.wrong(format!("it is no text: {error}")))
    }

    /// An error in the file.
    pub fn wrong(&self, message: String) -> TargetError {
        TargetError::Compile { message, location: Some(self.file.clone()) }
    }

    /// The error of a step that took the file as it is: what would be a fault of the compiler is one of the file.
    pub fn blame(&self, error: TargetError) -> TargetError {
        match error {
            TargetError::Internal(message) => self.wrong(message),
            error => error,
        }
    }
}

/// Follows a compile: sees every stage, and may override it.
///
/// Steps have the name of the stage that they belong to. A part of a step, such as a pass, is named `step/part`, and is
/// reported before the whole.
pub trait StageObserver {
    /// A stage is finished.
    fn stage(&mut self, name: &str, bytes: &[u8]) {
        let _ = (name, bytes);
    }
    /// A step (a pass, a tool) took so long.
    fn timed(&mut self, step: &str, elapsed: std::time::Duration) {
        let _ = (step, elapsed);
    }
    /// The override of a stage, if there is one. It is asked for once for each stage, in order.
    fn given(&mut self, stage: &str) -> Option<GivenStage> {
        let _ = stage;
        None
    }
    /// Whether the program is wanted in front of each pass over this stage; making its text takes time.
    fn wants_programs(&self, stage: &str) -> bool {
        let _ = stage;
        false
    }
    /// The program in front of a pass over a stage.
    fn program(&mut self, stage: &str, pass: &str, text: &str) {
        let _ = (stage, pass, text);
    }
    /// A text that a setting asked for.
    fn tell(&mut self, text: &str) {
        let _ = text;
    }
    /// Something that the author of the kernel should know.
    fn warn(&mut self, text: String) {
        let _ = text;
    }
}

impl StageObserver for () {}
