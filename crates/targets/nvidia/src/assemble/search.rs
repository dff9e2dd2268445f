//! Where an assembler may be: named in the environment, on the path, in packages of Python, in the toolkit's folder.

use crate::knobs::{NEWER_ASSEMBLER, PROGRAM_VARIABLES};
use ptx_isa::Arch;
use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is looked for, and the packages that bring it.
const PACKAGES: &[(&str, &str)] = &[
    ("ptxas", "`pip install nvidia-cuda-nvcc` (for CUDA 12: nvidia-cuda-nvcc-cu12) brings one"),
    (NEWER_ASSEMBLER, "`pip install nvidia-cuda-nvcc` brings a `ptxas` that will do"),
    ("nvdisasm", "`pip install nvidia-cuda-nvdisasm` brings one"),
    ("cuobjdump", "`pip install nvidia-cuda-cuobjdump` brings one"),
    (LIBRARY, "`pip install nvidia-nvjitlink` (for CUDA 12: nvidia-nvjitlink-cu12) brings one"),
];

/// The library that assembles in this process.
pub(super) const LIBRARY: &str = "libnvJitLink";

/// Folders of packages of Python that have a `ptxas`, in `site-packages`.
const PROGRAM_FOLDERS: &[&str] =
    &["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "triton/backends/nvidia/bin", "torch/bin"];

/// Folders of packages of Python that have `libnvJitLink`.
const LIBRARY_FOLDERS: &[&str] = &["nvidia/cu13/lib", "nvidia/nvjitlink/lib"];

/// The places to look in.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Search {
    /// Programs whose file somebody names: nothing else is tried.
    pub named: BTreeMap<&'static str, PathBuf>,
    /// Folders for programs.
    pub path: Vec<PathBuf>,
    /// Folders of packages of Python.
    pub site_packages: Vec<PathBuf>,
    /// Folders of the toolkit.
    pub toolkits: Vec<PathBuf>,
}

impl Search {
    /// The places that the environment names, and the packages of a Python environment (a folder with `lib`).
    pub fn from_environment(python: Option<&Path>) -> Search {
        let path = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
        let mut toolkits: Vec<PathBuf> = env::var_os("CUDA_HOME").map(PathBuf::from).into_iter().collect();
        toolkits.push("/usr/local/cuda".into());
        let environments = python.map(Path::to_owned).into_iter();
        let environments = environments.chain(env::var_os("VIRTUAL_ENV").map(PathBuf::from));
        Search {
            named: PROGRAM_VARIABLES.iter().filter_map(|(name, variable)| named(name, variable)).collect(),
            path,
            site_packages: environments.flat_map(|folder| site_packages(&folder)).collect(),
            toolkits,
        }
    }

    /// Files that may be a program, in the order they are tried.
    pub fn programs(&self, name: &str) -> Vec<PathBuf> {
        if let Some(named) = self.named.get(name) {
            return vec![named.clone()];
        }
        let packages = self.site_packages.iter();
        let packages = packages.flat_map(|site| PROGRAM_FOLDERS.iter().map(|folder| site.join(folder)));
        let toolkits = self.toolkits.iter().map(|toolkit| toolkit.join("bin"));
        once(self.path.iter().cloned().chain(packages).chain(toolkits).map(|folder| folder.join(name)))
    }

    /// The name of the assembler for an architecture: newer ones may have one of their own.
    pub fn assembler(&self, arch: Arch) -> &'static str {
        if arch.number >= NEWER && self.named.contains_key(NEWER_ASSEMBLER) {
            NEWER_ASSEMBLER
        } else {
            "ptxas"
        }
    }

    /// Files that may be a library, by the names it has, in the order they are tried.
    pub fn libraries(&self, names: &[&str]) -> Vec<PathBuf> {
        let packages = self.site_packages.iter();
        let packages = packages.flat_map(|site| LIBRARY_FOLDERS.iter().map(|folder| site.join(folder)));
        let toolkits = self.toolkits.iter().map(|toolkit| toolkit.join("lib64"));
        let folders: Vec<PathBuf> = packages.chain(toolkits).collect();
        let named = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        once(named.chain(names.iter().map(PathBuf::from)))
    }
}

/// Every file once, where it is first.
fn once(files: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for file in files {
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all
}

/// The oldest architecture that is a newer one.
const NEWER: u16 = 90;

/// A program that the environment names.
fn named(name: &'static str, variable: &str) -> Option<(&'static str, PathBuf)> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    Some((name, PathBuf::from(value)))
}

/// The folders of packages of a Python environment.
fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(environment.join("lib")) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python"))
        .map(|entry| entry.path().join("site-packages"))
        .collect();
    found.sort();
    found
}

/// Something that was looked for in vain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFound {
    /// What.
    pub what: &'static str,
    /// The files that were tried.
    pub looked: Vec<PathBuf>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |rows: &'static [(&str, &'static str)]| {
            rows.iter().find(|(name, _)| *name == self.what).map(|(_, text)| *text)
        };
        let package = of(PACKAGES).map_or_else(String::new, |text| format!("; {text}"));
        let variable = of(PROGRAM_VARIABLES).map_or_else(String::new, |name| format!(", or set {name}"));
        write!(f, "no usable {} was found{package}{variable}", self.what)?;
        // Behind the first line, which some places show alone.
        for (index, path) in self.looked.iter().enumerate() {
            write!(f, "{}\n  {}", if index == 0 { "\nlooked at" } else { "" }, path.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for NotFound {}

#[cfg(test)]
mod tests {
    use super::{LIBRARY, NotFound, Search};
    use crate::knobs::{NEWER_ASSEMBLER, PROGRAM_VARIABLES};
    use ptx_isa::Arch;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn a_named_file_is_the_only_one() {
        let names = BTreeMap::from([("ptxas", "/x/ptxas".into()), ("ptxas-blackwell", "/y/ptxas".into())]);
        let named = Search { named: names, path: vec!["/bin".into()], ..Search::default() };
        assert_eq!(named.programs("ptxas"), [PathBuf::from("/x/ptxas")]);
        assert_eq!(named.programs("nvdisasm").first(), Some(&PathBuf::from("/bin/nvdisasm")));
        assert_eq!(
            (named.assembler(Arch::new(80)), named.assembler(Arch::new(90))),
            ("ptxas", "ptxas-blackwell")
        );
        assert_eq!(Search::default().assembler(Arch::new(90)), "ptxas");
    }

    #[test]
    fn what_is_missing_names_its_own_package() {
        let text = |what| NotFound { what, looked: vec!["/a/x".into(), "/b/x".into()] }.to_string();
        let library = text(LIBRARY);
        let first = library.lines().next().unwrap_or_default();
        assert!(
            first.contains("pip install nvidia-nvjitlink`") && first.contains("nvidia-nvjitlink-cu12"),
            "{first}"
        );
        assert!(!library.contains("nvcc") && library.ends_with("looked at\n  /a/x\n  /b/x"), "{library}");
        for (program, variable) in PROGRAM_VARIABLES {
            let text = text(program);
            assert!(text.contains("pip install") && text.contains(&format!("or set {variable}\n")), "{text}");
        }
        assert!(
            text("nvdisasm").contains("nvidia-cuda-nvdisasm")
                && text(NEWER_ASSEMBLER).contains("nvidia-cuda-nvcc")
        );
    }

    #[test]
    fn no_place_is_looked_at_twice() {
        let search = Search {
            named: BTreeMap::new(),
            path: ["/b", "/a", "/b", "/t/bin"].map(PathBuf::from).to_vec(),
            site_packages: ["/s", "/s"].map(PathBuf::from).to_vec(),
            toolkits: ["/t", "/t"].map(PathBuf::from).to_vec(),
        };
        let found = search.programs("ptxas");
        assert_eq!(found[..3], ["/b/ptxas", "/a/ptxas", "/t/bin/ptxas"].map(PathBuf::from));
        for all in [found, search.libraries(&["libx.so", "libx.so"])] {
            let mut sorted = all.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), all.len(), "{all:?}");
        }
    }

    #[test]
    fn the_path_comes_before_packages_and_toolkits() {
        let search = Search {
            named: BTreeMap::new(),
            path: vec!["/a".into()],
            site_packages: vec!["/s".into()],
            toolkits: vec!["/t".into()],
        };
        let found = search.programs("ptxas");
        assert_eq!(found.first(), Some(&PathBuf::from("/a/ptxas")));
        assert_eq!(found.last(), Some(&PathBuf::from("/t/bin/ptxas")));
        assert!(found.contains(&PathBuf::from("/s/nvidia/cuda_nvcc/bin/ptxas")));
        let libraries = search.libraries(&["libx.so"]);
        assert_eq!(libraries.last(), Some(&PathBuf::from("libx.so")));
    }
}
