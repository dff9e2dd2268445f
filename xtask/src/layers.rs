//! Which crate may depend on which: the arrows of the architecture, checked against every `Cargo.toml`, and printed
//! into the page about the architecture.

use crate::sources::SourceFile;
use std::fmt::Write as _;

/// A crate.
struct Layer {
    name: &'static str,
    /// Its folder below `crates`.
    folder: &'static str,
    /// What it is.
    about: &'static str,
    /// All crates of the workspace that it may depend on.
    uses: &'static [&'static str],
    /// What it must not know.
    ignores: &'static str,
}

/// The arrows. A crate that is missing here is a finding, so a new crate is a decision.
const LAYERS: &[Layer] = &[
    Layer {
        name: "ir",
        folder: "ir",
        about: "arena of operations, values, blocks, regions; types, attributes; text form, verifier, passes, pass runner",
        uses: &[],
        ignores: "tensors, devices, Python",
    },
    Layer {
        name: "layout",
        folder: "layout",
        about: "linear layouts over F2: pure maths",
        uses: &[],
        ignores: "IR, devices",
    },
    Layer {
        name: "ttir",
        folder: "ttir",
        about: "op rows of block-level code, its patterns, axis analysis, reference interpreter",
        uses: &["ir"],
        ignores: "layouts, targets",
    },
    Layer {
        name: "frontend",
        folder: "frontend",
        about: "Python source text to ttir, without CPython",
        uses: &["ir", "ttir"],
        ignores: "anything below ttir",
    },
    Layer {
        name: "ttgir",
        folder: "ttgir",
        about: "block-level code with layouts: assignment, matrix instructions, pipelining; machines as data",
        uses: &["ir", "ttir", "layout"],
        ignores: "a vendor's name",
    },
    Layer {
        name: "llir",
        folder: "llir",
        about: "per-vector code in SSA form; prints as textual LLVM IR",
        uses: &[],
        ignores: "a vendor's name",
    },
    Layer {
        name: "maths",
        folder: "maths",
        about: "elementary functions of one or two units in the last place",
        uses: &["llir"],
        ignores: "any target",
    },
    Layer {
        name: "elementwise",
        folder: "elementwise",
        about: "operations on single elements as llir, for lanes and for vectors alike",
        uses: &["ir", "ttir", "llir", "maths"],
        ignores: "any target",
    },
    Layer {
        name: "lanes",
        folder: "lanes",
        about: "ttgir to llir for one lane; what differs between machines goes through a trait",
        uses: &["ir", "ttir", "ttgir", "layout", "llir", "elementwise", "target"],
        ignores: "a vendor's name",
    },
    Layer {
        name: "target",
        folder: "targets/api",
        about: "the two traits `Target` and `Device`, artifacts, options, errors",
        uses: &["ir"],
        ignores: "any target",
    },
    Layer {
        name: "llvm",
        folder: "targets/llvm",
        about: "finds a shared LLVM at run time and feeds it text",
        uses: &[],
        ignores: "ttir",
    },
    Layer {
        name: "cpu",
        folder: "targets/cpu",
        about: "ttir to loops to llir; dot kernels, object loader, thread pool",
        uses: &["ir", "ttir", "llir", "maths", "elementwise", "target", "llvm"],
        ignores: "Python",
    },
    Layer {
        name: "ptx-isa",
        folder: "targets/nvidia/isa",
        about: "the table of PTX instructions, which the back end writes by and the emulator reads by; tests give every row to the assembler",
        uses: &[],
        ignores: "llir",
    },
    Layer {
        name: "amdgcn-isa",
        folder: "targets/amd/isa",
        about: "the table of LLVM's intrinsics for AMD GPUs, which the back end may call and the emulator runs; tests give every row to LLVM",
        uses: &["llir"],
        ignores: "how llir is written",
    },
    Layer {
        name: "emulation",
        folder: "targets/gpu/emulator",
        about: "what emulators of GPUs share: memory, race clocks, number formats, reports",
        uses: &[],
        ignores: "any instruction",
    },
    Layer {
        name: "amd-emulator",
        folder: "targets/amd/emulator",
        about: "runs llir for AMD GPUs on the host and checks every access",
        uses: &["llir", "amdgcn-isa", "emulation"],
        ignores: "how the llir was written",
    },
    Layer {
        name: "emulator",
        folder: "targets/nvidia/emulator",
        about: "runs PTX text on the host and checks every access",
        uses: &["ptx-isa", "emulation"],
        ignores: "where the PTX comes from",
    },
    Layer {
        name: "gpu",
        folder: "targets/gpu",
        about: "what targets for GPUs share: the stages from ttir to llir, parameters, errors, drivers (memory, events, loading, launches)",
        uses: &["ir", "ttir", "ttgir", "llir", "lanes", "target", "emulation"],
        ignores: "a vendor's name",
    },
    Layer {
        name: "amd",
        folder: "targets/amd",
        about: "machines, lists of passes, llir for LLVM's AMDGPU back end, a linker for code objects, the HIP runtime",
        uses: &[
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
        ignores: "Python",
    },
    Layer {
        name: "nvidia",
        folder: "targets/nvidia",
        about: "machines, lists of passes, PTX from a table of instructions, assemblers that are found, the CUDA driver",
        uses: &[
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
        ignores: "Python",
    },
    Layer {
        name: "targets",
        folder: "targets/all",
        about: "the list of targets in this build",
        uses: &["ir", "ttgir", "target", "cpu", "amd", "nvidia"],
        ignores: "",
    },
    Layer {
        name: "inspect",
        folder: "inspect",
        about: "what each access, layout conversion and dot of a compiled kernel costs, and what bounds it",
        uses: &["ir", "ttir", "ttgir", "target"],
        ignores: "a vendor's name",
    },
    Layer {
        name: "runtime",
        folder: "runtime",
        about: "specialise, compile, cache, launch, knobs",
        uses: &["ir", "ttir", "frontend", "target", "targets"],
        ignores: "a vendor's name",
    },
    Layer {
        name: "chart",
        folder: "chart",
        about: "line charts as SVG text",
        uses: &[],
        ignores: "any crate",
    },
    Layer {
        name: "py",
        folder: "py",
        about: "the Python API: conversions and docstrings",
        uses: &["ir", "ttir", "frontend", "target", "inspect", "runtime", "cli", "chart"],
        ignores: "how a kernel is launched",
    },
    Layer {
        name: "cli",
        folder: "cli",
        about: "the command",
        uses: &[
            "ir", "ttir", "ttgir", "layout", "frontend", "llir", "target", "targets", "inspect", "runtime",
        ],
        ignores: "",
    },
    Layer {
        name: "deuteron",
        folder: "deuteron",
        about: "the Rust API",
        uses: &["runtime", "target"],
        ignores: "",
    },
    Layer {
        name: "damage",
        folder: "damage",
        about: "changes texts and bytes at random, for tests that bad input is refused and nothing panics",
        uses: &[],
        ignores: "any crate",
    },
    Layer {
        name: "xtask",
        folder: "xtask",
        about: "the rules of this repository",
        uses: &[],
        ignores: "any crate",
    },
];

/// The page that shows the arrows, and what stands around them there.
pub(crate) const PAGE: &str = "docs/architecture.md";
const BEGIN: &str = "<!-- the crates, as `cargo xtask layers` writes them -->\n";
const END: &str = "\n<!-- end of the crates -->";

/// The text of the page with the arrows of today; `None` where it has no place for them.
pub(crate) fn page(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", table()))
}

/// The crates as a table in Markdown.
fn table() -> String {
    let mut table = String::from("| crate | what it is | may use | must not know |\n|---|---|---|---|\n");
    for Layer { name, folder, about, uses, ignores } in LAYERS {
        let place = if folder == name { String::new() } else { format!(" ({folder})") };
        let uses = if uses.is_empty() { "–".to_owned() } else { uses.join(", ") };
        let ignores = if ignores.is_empty() { "–" } else { ignores };
        _ = writeln!(table, "| `{name}`{place} | {about} | {uses} | {ignores} |");
    }
    table
}

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
            allowed = LAYERS.iter().find(|layer| layer.name == name).map(|layer| layer.uses);
            if allowed.is_none() {
                report(format!("the crate `{name}` has no layer: add it to xtask/src/layers.rs"));
            }
        } else if section == "dependencies" {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            let known = LAYERS.iter().any(|layer| layer.name == name);
            if known && !allowed.is_some_and(|allowed| allowed.contains(&name)) {
                report(format!("the architecture has no arrow to `{name}` from here"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{breaches, page};
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

    #[test]
    fn a_page_gets_the_crates_between_its_marks() {
        let text = |inside: &str| format!("a\n{}{inside}{}\nb\n", super::BEGIN, super::END);
        let found = page(&text("old")).expect("it has the marks");
        assert!(found.contains("| `ir` |") && !found.contains("old") && found.ends_with("\nb\n"));
        assert_eq!(page(&found).as_ref(), Some(&found));
        assert_eq!(page("a"), None);
    }
}
