//! Where a shared LLVM may be.
//!
//! In this order: `DEUTERON_LLVM_PATH` (alone, when it is set), the package `deuteron_llvm` beside ours, beside our own
//! library or program, the system's folders, a Rust toolchain's. Inside a folder newer versions come first. Nothing is
//! opened here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What the search looks at, so that a test can look at something else.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `DEUTERON_LLVM_PATH`.
    pub path_override: Option<PathBuf>,
    /// The folder of our own library or program.
    pub beside: Vec<PathBuf>,
    /// Folders of the system's libraries.
    pub system: Vec<PathBuf>,
    /// Library folders of Rust toolchains.
    pub toolchains: Vec<PathBuf>,
}

impl Environment {
    /// That of this process.
    pub fn of_process() -> Environment {
        Environment {
            path_override: std::env::var_os("DEUTERON_LLVM_PATH")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            beside: beside(),
            system: system(),
            toolchains: toolchains(),
        }
    }
}

/// The files to try, in order, each once.
pub fn candidates(environment: &Environment) -> Vec<PathBuf> {
    if let Some(path) = &environment.path_override {
        return if path.is_dir() { libraries_in(path) } else { vec![path.clone()] };
    }
    let folders = environment.beside.iter().chain(&environment.system).chain(&environment.toolchains);
    let mut seen = BTreeSet::new();
    let all = folders.flat_map(|folder| libraries_in(folder));
    all.filter(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone()))).collect()
}

/// Shared LLVMs in a folder, newest first. Linker scripts and other small files are left out.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(u32, String, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = version_in(&name)?;
            let path = entry.path();
            let size = std::fs::metadata(&path).ok()?.len();
            (size > 1 << 20).then_some((version, name, path))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, _, path)| path).collect()
}

/// The major version in a file name: `libLLVM-19.so.1`, `libLLVM.so.22.1-rust-…`; 0 for a bare `libLLVM.so`.
pub(crate) fn version_in(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("libLLVM")?;
    if !name.contains(".so") && !name.ends_with(".dylib") {
        return None;
    }
    let rest = rest.trim_start_matches("-").trim_start_matches(".so").trim_start_matches('.');
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if digits.is_empty() { (rest.is_empty() || rest == "dylib").then_some(0) } else { digits.parse().ok() }
}

/// The folder of the library or program that this code is in, and what is usual beside it.
fn beside() -> Vec<PathBuf> {
    let own = own_file().or_else(|| std::env::current_exe().ok());
    let Some(folder) = own.as_deref().and_then(Path::parent).map(Path::to_path_buf) else {
        return Vec::new();
    };
    beside_folder(folder)
}

/// Where an LLVM may be that was installed with us: that of `pip install 'deuteron[cpu]'` is a package of its own in
/// the same `site-packages`.
fn beside_folder(folder: PathBuf) -> Vec<PathBuf> {
    vec![folder.join("../deuteron_llvm/lib"), folder.join("lib"), folder.join("../lib"), folder]
}

/// The file this function was loaded from.
fn own_file() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let address = own_file as *const () as usize;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let holds = usize::from_str_radix(start, 16).ok()? <= address
            && address < usize::from_str_radix(end, 16).ok()?;
        let file = rest.find('/').map(|at| PathBuf::from(&rest[at..]));
        if holds { file } else { None }
    })
}

/// Folders of the system's libraries, `LD_LIBRARY_PATH` first.
fn system() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&path).filter(|path| !path.as_os_str().is_empty()));
    }
    for version in super::SUPPORTED.rev() {
        folders.push(format!("/usr/lib/llvm-{version}/lib").into());
        folders.push(format!("/usr/lib64/llvm{version}/lib64").into());
        folders.push(format!("/opt/homebrew/opt/llvm@{version}/lib").into());
    }
    let arch = std::env::consts::ARCH;
    for folder in
        [&format!("/usr/lib/{arch}-linux-gnu"), "/usr/lib64", "/usr/lib", "/usr/local/lib", "/lib64"]
    {
        folders.push(folder.into());
    }
    folders.push("/opt/homebrew/opt/llvm/lib".into());
    folders
}

/// Library folders of Rust toolchains: that of `rustc` on the path, then all that rustup has.
fn toolchains() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let rustup =
        std::env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| home.map(|home| home.join(".rustup")));
    if let Some(rustup) = rustup {
        let entries = std::fs::read_dir(rustup.join("toolchains")).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join("lib")));
        folders.sort();
        folders.reverse();
    }
    if folders.iter().all(|folder| libraries_in(folder).is_empty()) {
        folders.extend(sysroot().map(|root| root.join("lib")));
    }
    folders
}

/// The answer of `rustc --print sysroot`.
fn sysroot() -> Option<PathBuf> {
    let output = std::process::Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        for (name, version) in [
            ("libLLVM-19.so.1", Some(19)),
            ("libLLVM-17.so", Some(17)),
            ("libLLVM.so.22.1-rust-1.95.0-stable", Some(22)),
            ("libLLVM.so.18.1", Some(18)),
            ("libLLVM.so", Some(0)),
            ("libLLVMCore.a", None),
            ("libLLVMgold.so", None),
            ("libLTO.so", None),
        ] {
            assert_eq!(version_in(name), version, "{name}");
        }
    }

    #[test]
    fn the_package_beside_ours_comes_before_the_system() {
        let root = tempfile::tempdir().expect("a folder for the test");
        let place = |folder: &str| {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).expect("a folder");
            let file = folder.join("libLLVM.so.22.1");
            std::fs::write(&file, vec![0; (1 << 20) + 1]).expect("a file");
            file.canonicalize().expect("it is there")
        };
        let system = place("usr/lib");
        let package = place("site-packages/deuteron_llvm/lib");
        std::fs::create_dir_all(root.path().join("site-packages/deuteron")).expect("a folder");
        let environment = Environment {
            beside: beside_folder(root.path().join("site-packages/deuteron")),
            system: vec![root.path().join("usr/lib")],
            ..Environment::default()
        };
        let found: Vec<PathBuf> = candidates(&environment)
            .into_iter()
            .map(|file| file.canonicalize().expect("it is there"))
            .collect();
        assert_eq!(found, [package, system]);
    }

    #[test]
    fn an_override_stands_alone() {
        let environment = Environment {
            path_override: Some("/nowhere/libLLVM.so".into()),
            system: vec!["/usr/lib".into()],
            ..Environment::default()
        };
        assert_eq!(candidates(&environment), [PathBuf::from("/nowhere/libLLVM.so")]);
    }
}
