//! Which crate may depend on which: the arrows of the architecture, checked against every `Cargo.toml`.

use crate::sources::SourceFile;

/// A crate and all crates of the workspace that it may depend on.
type Layer = (&'static str, &'static [&'static str]);

/// The arrows. A crate that is missing here is a finding, so a new crate is a decision.
const LAYERS: &[Layer] = &[
    ("ir", &[]),
    ("layout", &[]),
    ("ttir", &["ir"]),
    ("frontend", &["ir", "ttir"]),
    ("ttgir", &["ir", "ttir", "layout"]),
    ("llir", &[]),
    ("maths", &["llir"]),
    ("elementwise", &["ir", "ttir", "llir", "maths"]),
    ("lanes", &["ir", "ttir", "ttgir", "layout", "llir", "elementwise", "target"]),
    ("target", &["ir"]),
    ("llvm", &[]),
    ("cpu", &["ir", "ttir", "llir", "maths", "elementwise", "target", "llvm"]),
    ("ptx-isa", &[]),
    ("amdgcn-isa", &[]),
    ("emulation", &[]),
    ("amd-emulator", &["llir", "amdgcn-isa", "emulation"]),
    ("emulator", &["ptx-isa", "emulation"]),
    ("gpu", &["ir", "ttir", "ttgir", "llir", "lanes", "target", "emulation"]),
    (
        "amd",
        &[
            "ir",
            "ttir",
            "ttgir",
            "llir",
            "elementwise",
            "lanes",
            "target",
            "gpu",
            "llvm",
            "amdgcn-isa",
            "amd-emulator",
        ],
    ),
    (
        "nvidia",
        &[
            "ir",
            "ttir",
            "ttgir",
            "layout",
            "llir",
            "elementwise",
            "lanes",
            "target",
            "gpu",
            "ptx-isa",
            "emulator",
        ],
    ),
    ("targets", &["ir", "ttgir", "target", "cpu", "amd", "nvidia"]),
    ("inspect", &["ir", "ttir", "ttgir", "target"]),
    ("runtime", &["ir", "ttir", "frontend", "target", "targets"]),
    ("py", &["ir", "ttir", "frontend", "target", "inspect", "runtime", "cli"]),
    (
        "cli",
        &["ir", "ttir", "ttgir", "layout", "frontend", "llir", "target", "targets", "inspect", "runtime"],
    ),
    ("deuteron", &["runtime", "target"]),
    ("xtask", &[]),
];

/// A dependency that the architecture does not have.
pub(crate) struct Breach {
    /// The manifest.
    pub(crate) path: String,
    /// Its line.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) message: String,
}

/// All dependencies (tests' own left out) that are not among the arrows.
pub(crate) fn breaches(manifests: &[SourceFile]) -> Vec<Breach> {
    manifests.iter().flat_map(breaches_of).collect()
}

fn breaches_of(manifest: &SourceFile) -> Vec<Breach> {
    let mut found = Vec::new();
    let mut section = "";
    let mut allowed: Option<&[&str]> = None;
    for (index, line) in manifest.text.lines().enumerate() {
        let mut report =
            |message: String| found.push(Breach { path: manifest.path.clone(), line: index + 1, message });
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        } else if section == "package" && line.starts_with("name") {
            let name = line.split('"').nth(1).unwrap_or("");
            allowed = LAYERS.iter().find(|(layer, _)| *layer == name).map(|(_, allowed)| *allowed);
            if allowed.is_none() {
                report(format!("the crate `{name}` has no layer: add it to xtask/src/layers.rs"));
            }
        } else if section == "dependencies" {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            let known = LAYERS.iter().any(|(layer, _)| *layer == name);
            if known && !allowed.is_some_and(|allowed| allowed.contains(&name)) {
                report(format!("the architecture has no arrow to `{name}` from here"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::breaches;
    use crate::sources::SourceFile;

    fn findings(text: &str) -> Vec<(usize, String)> {
        let manifest = SourceFile { path: "Cargo.toml".to_owned(), text: text.to_owned() };
        breaches(&[manifest]).into_iter().map(|breach| (breach.line, breach.message)).collect()
    }

    #[test]
    fn an_arrow_backwards_is_found() {
        let text =
            "[package]\nname = \"ir\"\n\n[dependencies]\nsmallvec.workspace = true\nttir.workspace = true\n";
        assert_eq!(findings(text), [(6, "the architecture has no arrow to `ttir` from here".to_owned())]);
    }

    #[test]
    fn allowed_arrows_and_test_dependencies_pass() {
        let text = "[package]\nname = \"ttir\"\n[dependencies]\nir.workspace = true\n[dev-dependencies]\nfrontend = 1\n";
        assert_eq!(findings(text), []);
    }

    #[test]
    fn an_unknown_crate_is_found() {
        assert_eq!(findings("[package]\nname = \"new\"\n").len(), 1);
    }
}
