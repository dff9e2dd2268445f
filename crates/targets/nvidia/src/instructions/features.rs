//! Collects what the instructions of a text need, and finds those that an architecture lacks.

use super::arch::{Arch, Version};
use super::pattern::Need;
use super::table::find;
use crate::ptx::PtxError;
use rustc_hash::FxHashSet;

/// What the instructions seen so far need.
#[derive(Debug)]
pub struct Features {
    arch: Arch,
    version: Version,
    function: String,
    seen: FxHashSet<String>,
    unknown: Vec<String>,
    errors: Vec<PtxError>,
}

impl Features {
    /// Nothing seen yet.
    pub fn new(arch: Arch) -> Features {
        Features {
            arch,
            version: arch.first_version().max(Version::new(7, 1)),
            function: String::new(),
            seen: FxHashSet::default(),
            unknown: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Further instructions are in this function.
    pub(crate) fn enter(&mut self, function: &str) {
        self.function = function.to_owned();
    }

    /// Adds an instruction by its mnemonic.
    pub fn add(&mut self, mnemonic: &str) {
        if self.seen.contains(mnemonic) {
            return;
        }
        self.seen.insert(mnemonic.to_owned());
        match find(mnemonic.split(' ').next().unwrap_or(mnemonic)) {
            Some((_, need)) => self.need(mnemonic, need),
            None => self.unknown.push(mnemonic.to_owned()),
        }
    }

    /// Adds all instructions of a piece of text.
    pub fn add_text(&mut self, text: &str) {
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            if matches!(byte, b';' | b'{' | b'}' | b'\n') {
                self.add_statement(&text[start..at]);
                start = at + 1;
            }
        }
        self.add_statement(&text[start..]);
    }

    fn add_statement(&mut self, statement: &str) {
        let statement = statement.trim_ascii_start();
        // Lists of registers are long, and many.
        if statement.is_empty() || statement.starts_with('%') {
            return;
        }
        let mut words = statement
            .split_ascii_whitespace()
            .skip_while(|word| word.starts_with('@') || word.ends_with(':'));
        let first = words.next().unwrap_or_default();
        if first.starts_with(|c: char| c.is_ascii_lowercase()) {
            self.add(first);
        }
    }

    fn need(&mut self, mnemonic: &str, need: Need) {
        self.version = self.version.max(need.version);
        if !need.is_met_by(self.arch) {
            let (have, since) = (self.arch, need.arch);
            let message = match since.specific {
                true => format!("`{mnemonic}` is an instruction of {since} alone; this is for {have}"),
                false => format!("`{mnemonic}` needs {since} or later; this is for {have}"),
            };
            self.errors.push(PtxError { function: self.function.clone(), location: None, message });
        }
    }

    /// The lowest version that has every instruction seen and the architecture.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Mnemonics that are not in the table: nothing is known about them, and the assembler will judge.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// What the architecture lacks.
    pub(crate) fn take_errors(&mut self) -> Vec<PtxError> {
        std::mem::take(&mut self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::Features;

    #[test]
    fn text_is_searched_for_mnemonics() {
        let mut features = Features::new("sm_80".parse().expect("known"));
        features.add_text("{ .reg .pred p;\n@p add.s32 %r1, %r2, 3; here: mov.b32 %r1, {%rs1, %rs2}; }");
        assert!(features.unknown().is_empty(), "{:?}", features.unknown());
        features.add_text("frob.s32 %r1;");
        assert_eq!(features.unknown(), ["frob.s32"]);
    }

    #[test]
    fn what_an_architecture_lacks_is_named() {
        let mut features = Features::new("sm_80".parse().expect("known"));
        features.add("wgmma.fence.sync.aligned");
        features.add("add.bf16");
        let errors: Vec<String> = features.take_errors().into_iter().map(|error| error.message).collect();
        assert_eq!(
            errors,
            [
                "`wgmma.fence.sync.aligned` is an instruction of sm_90a alone; this is for sm_80",
                "`add.bf16` needs sm_90 or later; this is for sm_80",
            ]
        );
    }
}
