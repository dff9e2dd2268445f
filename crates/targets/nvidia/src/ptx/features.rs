//! Collects what the instructions of a text need, and finds those that an architecture lacks.

use super::error::PtxError;
use ptx_isa::{Arch, Need, Version, find, find_in_any_order};
use rustc_hash::FxHashSet;

/// What the instructions seen so far need.
#[derive(Debug)]
pub(super) struct Features {
    arch: Arch,
    version: Version,
    function: String,
    seen: FxHashSet<String>,
    errors: Vec<PtxError>,
}

impl Features {
    /// Nothing seen yet.
    pub(super) fn new(arch: Arch) -> Features {
        Features {
            arch,
            version: arch.first_version().max(Version::new(7, 1)),
            function: String::new(),
            seen: FxHashSet::default(),
            errors: Vec::new(),
        }
    }

    /// Further instructions are in this function.
    pub(super) fn enter(&mut self, function: &str) {
        self.function = function.to_owned();
    }

    /// Adds an instruction of ours by its mnemonic; one that the table does not have is an error.
    pub(super) fn add(&mut self, mnemonic: &str) {
        if self.is_new(mnemonic) {
            match find(mnemonic.split(' ').next().unwrap_or(mnemonic)) {
                Some((_, need)) => self.need(mnemonic, need),
                None => self.error(format!("PTX has no instruction `{mnemonic}`")),
            }
        }
    }

    /// Adds an instruction that somebody else may have written.
    fn add_foreign(&mut self, mnemonic: &str) {
        if self.is_new(mnemonic)
            && let Some((_, need)) = find_in_any_order(mnemonic)
        {
            self.need(mnemonic, need);
        }
    }

    fn is_new(&mut self, mnemonic: &str) -> bool {
        if self.seen.contains(mnemonic) {
            return false;
        }
        self.seen.insert(mnemonic.to_owned())
    }

    /// Adds all instructions of a piece of text. Of those that the table does not have nothing is known, and the
    /// assembler will judge.
    pub(super) fn add_text(&mut self, text: &str) {
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
            self.add_foreign(first);
        }
    }

    fn need(&mut self, mnemonic: &str, need: Need) {
        self.version = self.version.max(need.version);
        if !need.is_met_by(self.arch) {
            let (have, since) = (self.arch, need.arch);
            let message = match (since.specific, need.also_later) {
                (true, false) => {
                    format!("`{mnemonic}` is an instruction of {since} alone; this is for {have}")
                }
                (true, true) => {
                    format!(
                        "`{mnemonic}` needs {since} or a later architecture with the suffix `a`; this is for {have}"
                    )
                }
                (false, _) => format!("`{mnemonic}` needs {since} or later; this is for {have}"),
            };
            self.error(message);
        }
    }

    fn error(&mut self, message: String) {
        self.errors.push(PtxError { function: self.function.clone(), location: None, message });
    }

    /// The lowest version that has every instruction seen and the architecture.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// What the architecture lacks.
    pub(super) fn take_errors(&mut self) -> Vec<PtxError> {
        std::mem::take(&mut self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::Features;

    #[test]
    fn text_is_searched_for_mnemonics() {
        let mut features = Features::new("sm_80".parse().expect("known"));
        features
            .add_text("{ .reg .pred p;\n@p add.bf16 %rs1, %rs2, %rs3; here: mov.b32 %r1, {%rs1, %rs2}; }");
        assert_eq!(features.take_errors().len(), 1, "the sum is for later architectures");
        features.add_text("frob.s32 %r1;");
        assert!(features.take_errors().is_empty(), "the assembler will judge");
        features.add("frob.u32");
        assert_eq!(features.take_errors()[0].message, "PTX has no instruction `frob.u32`");
    }

    #[test]
    fn what_an_architecture_lacks_is_named() {
        let mut features = Features::new("sm_80".parse().expect("known"));
        features.add("wgmma.fence.sync.aligned");
        features.add("setmaxnreg.inc.sync.aligned.u32");
        features.add("add.bf16");
        let errors: Vec<String> = features.take_errors().into_iter().map(|error| error.message).collect();
        assert_eq!(
            errors,
            [
                "`wgmma.fence.sync.aligned` is an instruction of sm_90a alone; this is for sm_80",
                "`setmaxnreg.inc.sync.aligned.u32` needs sm_90a or a later architecture with the suffix `a`; \
                 this is for sm_80",
                "`add.bf16` needs sm_90 or later; this is for sm_80",
            ]
        );
    }
}
