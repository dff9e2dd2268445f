//! The cache around a compile: what is compiled again and what is not.

use super::{Job, Kernel, compile_with, watch::Watch};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::testing::{FakeTarget, Numbers, artifact, kernel};
use frontend::{ArgSpec, DType, Globals, Known, PyValue};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use target::Artifact;

fn settings(dir: &Path) -> Settings {
    Settings {
        cache_dir: Some(dir.to_owned()),
        cache_limit: 1 << 20,
        always_compile: false,
        dump_dir: None,
        override_dir: None,
        store_binary_only: false,
        ..Settings::current()
    }
}

/// A compile of `source` on `machine`; its object code is what the global `N` says.
struct Bench {
    built: AtomicU32,
    owner: u64,
    symbol: Option<Arc<str>>,
    settings: Settings,
}

impl Bench {
    fn new(dir: &Path) -> Bench {
        // Tests run side by side and must not wait for each other's compiles.
        static OWNERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(100);
        Bench {
            built: AtomicU32::new(0),
            owner: OWNERS.fetch_add(1, Ordering::Relaxed),
            symbol: None,
            settings: settings(dir),
        }
    }

    fn run(&self, source: &str, machine: &str, globals: &Numbers, args: Vec<ArgSpec>) -> Arc<Kernel> {
        self.try_run(source, machine, globals, args).expect("compiles")
    }

    fn try_run(
        &self,
        source: &str,
        machine: &str,
        globals: &Numbers,
        args: Vec<ArgSpec>,
    ) -> Result<Arc<Kernel>, RuntimeError> {
        let target = Arc::new(FakeTarget { machine: machine.into(), ..FakeTarget::default() });
        let options = crate::options::parse(target.as_ref(), &BTreeMap::new()).expect("defaults are fine");
        let job = Job {
            function: kernel(source),
            symbol: self.symbol.clone(),
            args,
            options,
            target,
            globals,
            print: &|_| (),
            owner: self.owner,
        };
        let build = |job: &Job<'_>,
                     globals: &dyn Globals,
                     _: &Settings,
                     _: &mut Watch|
         -> Result<Artifact, RuntimeError> {
            self.built.fetch_add(1, Ordering::Relaxed);
            match globals.lookup(&job.function, "N") {
                Some(PyValue::Int(value)) => Ok(artifact(&value.to_le_bytes())),
                _ => Err(RuntimeError::Value("N is missing".into())),
            }
        };
        compile_with(&job, &self.settings, &build)
    }

    fn built(&self) -> u32 {
        self.built.load(Ordering::Relaxed)
    }
}

fn object(kernel: &Kernel) -> i128 {
    let bytes = &kernel.stage("obj").expect("it has one").bytes;
    i128::from_le_bytes(bytes.as_slice().try_into().expect("sixteen bytes"))
}

fn int() -> Vec<ArgSpec> {
    vec![ArgSpec::runtime(DType::Int32)]
}

#[test]
fn the_second_compile_comes_from_the_disk() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::new(dir.path());
    let first = bench.run("def kernel(x): pass", "m", &Numbers::with("N", 4), int());
    let second = bench.run("def kernel(x): pass", "m", &Numbers::with("N", 4), int());
    assert_eq!((bench.built(), first.from_cache, second.from_cache), (1, false, true));
    assert_eq!(first.hash, second.hash);
    assert_eq!(object(&second), 4);
    assert_eq!(second.load().expect("it loads").n_regs(), 16);
}

#[test]
fn whatever_the_result_depends_on_is_in_the_key() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::new(dir.path());
    let four = Numbers::with("N", 4);
    let mut hashes = std::collections::BTreeSet::new();
    let aligned = vec![ArgSpec::Runtime { ty: DType::Int32.into(), known: Known::divisible_by(16) }];
    let one = vec![ArgSpec::Constexpr(PyValue::Int(1))];
    let yes = vec![ArgSpec::Constexpr(PyValue::Bool(true))];
    for (source, machine, args) in [
        ("def kernel(x): pass", "m", int()),
        ("def kernel(x): return", "m", int()),
        ("def kernel(x): pass", "other", int()),
        ("def kernel(x): pass", "m", aligned),
        ("def kernel(x): pass", "m", one),
        ("def kernel(x): pass", "m", yes),
    ] {
        hashes.insert(bench.run(source, machine, &four, args).hash);
    }
    let named = Bench { symbol: Some("named".into()), ..Bench::new(dir.path()) };
    hashes.insert(named.run("def kernel(x): pass", "m", &four, int()).hash);
    assert_eq!((bench.built(), named.built(), hashes.len()), (6, 1, 7));
}

#[test]
fn a_changed_global_is_another_kernel_and_the_old_one_is_kept() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::new(dir.path());
    for round in 0..3 {
        for value in 0..5 {
            let kernel = bench.run("def kernel(x): pass", "m", &Numbers::with("N", value), int());
            assert_eq!(object(&kernel), value, "round {round}");
        }
    }
    assert_eq!(bench.built(), 5);
}

#[test]
fn a_damaged_entry_is_compiled_again() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::new(dir.path());
    let run = || bench.run("def kernel(x): pass", "m", &Numbers::with("N", 4), int());
    run();
    for entry in files(dir.path()) {
        let mut bytes = std::fs::read(&entry).expect("it is there");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&entry, &bytes).expect("writes");
        assert_eq!(object(&run()), 4, "{}", entry.display());
        assert!(run().from_cache);
    }
    assert_eq!(bench.built(), 3, "the kernel and its list of dependencies, one after the other");
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let list = |dir: &Path| {
        std::fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.path()).collect::<Vec<_>>()
    };
    list(&dir.join("v1")).iter().flat_map(|folder| list(folder)).collect()
}

#[test]
fn always_compile_compiles_and_no_cache_keeps_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut bench = Bench::new(dir.path());
    bench.settings.always_compile = true;
    for _ in 0..2 {
        bench.run("def kernel(x): pass", "m", &Numbers::with("N", 4), int());
    }
    assert_eq!(bench.built(), 2);
    let other = tempfile::tempdir().expect("a temporary folder");
    bench.settings = Settings { cache_dir: None, ..settings(other.path()) };
    for _ in 0..2 {
        bench.run("def kernel(x): pass", "m", &Numbers::with("N", 4), int());
    }
    assert_eq!(bench.built(), 4);
    assert!(!other.path().join("v1").exists());
}

#[test]
fn an_error_is_not_kept() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::new(dir.path());
    let error =
        bench.try_run("def kernel(x): pass", "m", &Numbers::default(), int()).expect_err("N is missing");
    assert_eq!(error, RuntimeError::Value("N is missing".into()));
    assert_eq!(object(&bench.run("def kernel(x): pass", "m", &Numbers::with("N", 9), int())), 9);
}

#[test]
fn a_kernel_whose_folder_came_from_elsewhere_is_not_compiled() {
    let (here, there) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let bench = |dir: &tempfile::TempDir| {
        let mut bench = Bench::new(&dir.path().join("own"));
        bench.settings.carried_dir = Some(dir.path().join("kernels"));
        bench
    };
    let (one, other) = (bench(&here), bench(&there));
    let source = "def kernel(x): pass";
    for number in [3, 4] {
        one.run(source, "m", &Numbers::with("N", number), int());
    }
    let from = std::fs::read_dir(here.path().join("kernels")).expect("folders of kernels");
    for folder in from.map(|folder| folder.expect("a folder").path()) {
        let to = there.path().join("kernels").join(folder.file_name().expect("a name"));
        std::fs::create_dir_all(&to).expect("makes a folder");
        for file in std::fs::read_dir(&folder).expect("files").map(|file| file.expect("a file").path()) {
            std::fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copies");
        }
    }
    for number in [4, 3] {
        let kernel = other.run(source, "m", &Numbers::with("N", number), int());
        assert_eq!(object(&kernel), number);
        assert!(kernel.from_cache);
    }
    assert_eq!(object(&other.run(source, "m", &Numbers::with("N", 5), int())), 5);
    assert_eq!(other.built.load(Ordering::Relaxed), 1);
}

/// Compiles one slow kernel from threads at the same time, each with its owner.
fn compile_at_once(bench: &Bench, owners: &[u64]) {
    let globals = Numbers::with("N", 4);
    let gate = std::sync::Barrier::new(owners.len());
    let slow =
        |_: &Job<'_>, _: &dyn Globals, _: &Settings, _: &mut Watch| -> Result<Artifact, RuntimeError> {
            bench.built.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(100));
            Ok(artifact(b"x"))
        };
    std::thread::scope(|scope| {
        for &owner in owners {
            let (gate, globals, slow) = (&gate, &globals, &slow);
            scope.spawn(move || {
                let target = Arc::new(FakeTarget::default());
                let options =
                    crate::options::parse(target.as_ref(), &BTreeMap::new()).expect("defaults are fine");
                let function = kernel("def kernel(y): pass");
                let (args, print) = (int(), &|_: &str| ());
                let job = Job { function, symbol: None, args, options, target, globals, print, owner };
                gate.wait();
                compile_with(&job, &bench.settings, slow).expect("compiles");
            });
        }
    });
}

#[test]
fn threads_that_ask_at_once_compile_once() {
    let settings = Settings { cache_dir: None, ..Settings::current() };
    let bench = Bench { built: AtomicU32::new(0), owner: 77, symbol: None, settings };
    compile_at_once(&bench, &[77; 8]);
    assert_eq!(bench.built(), 1);
}

#[test]
fn of_several_processes_one_compiles() {
    // An owner of its own for each thread: within the process nothing joins them, as nothing joins processes.
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bench = Bench::new(dir.path());
    compile_at_once(&bench, &[1000, 1001, 1002, 1003, 1004, 1005]);
    assert_eq!(bench.built(), 1);
    let left = crate::cache::Store::open(dir.path(), u64::MAX).expect("it opens").leftovers();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn stages_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let kernel = Bench::new(dir.path()).run("def kernel(x): pass", "m", &Numbers::with("N", 4), int());
    let error = kernel.stage("sass").expect_err("there is none");
    assert_eq!(error, RuntimeError::Key("there is no stage `sass`; there are ttir, obj".into()));
}
