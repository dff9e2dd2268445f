//! Kernels on disk: which one is right, and keeping a new one.

use super::Job;
use super::given::TTIR;
use super::kernel::{Kernel, Source};
use crate::cache::{EntryKind, Key, KeyBuilder, Store};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::machine::target_named;
use crate::trace::{self, Answered};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use target::{Artifact, CompileOptions, Stage, TargetFacts};

/// How many sets of outside values are kept for one text and specialisation.
const ALTERNATIVES: usize = 8;

/// Bytes that are enough for what a kernel is kept with besides its stages.
const BESIDE_STAGES: usize = 4096;

/// An opened folder, or nothing where it cannot be used.
type Opened = Option<Arc<Store>>;

/// The cache that the settings name; `None` where there is none or it may not be used. The reason is said once.
pub(crate) fn store(settings: &Settings) -> Opened {
    static OPEN: Mutex<Option<FxHashMap<PathBuf, Opened>>> = Mutex::new(None);
    let dir = settings.cache_dir.as_ref()?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_with(FxHashMap::default);
    if let Some(known) = open.get(dir)
        && known.as_ref().is_none_or(|store| store.limit() == settings.cache_limit && store.root().is_dir())
    {
        return known.clone();
    }
    let opened = match Store::open(dir, settings.cache_limit) {
        Ok(store) => Some(Arc::new(store)),
        Err(reason) => {
            eprintln!("deuteron: kernels are not kept on disk: {reason}");
            None
        }
    };
    open.insert(dir.clone(), opened.clone());
    opened
}

/// The name of the kernel that the text `key` yields where it reads `steps` from outside.
pub(super) fn kernel_key(key: &Key, steps: &[Answered]) -> Key {
    KeyBuilder::new("kernel").part("source", &key.0).value("steps", &steps).finish()
}

/// The kernel for what the job's globals answer now.
pub(super) fn find(store: &Store, key: &Key, job: &Job<'_>) -> Option<(Key, Artifact)> {
    let steps = alternatives(store, key)
        .into_iter()
        .find(|steps| trace::replay(steps, job.globals, &job.function, &job.args))?;
    let hash = kernel_key(key, &steps);
    Some((hash, read(store, &hash)?))
}

/// What a kernel on disk is called, for lists.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Label {
    /// The symbol of the kernel.
    pub name: String,
    /// The name of its function.
    pub function: String,
    /// The target and its architecture.
    pub target: String,
    /// The options it was compiled with.
    pub options: CompileOptions,
}

impl Label {
    pub(super) fn new(
        function: &str,
        artifact: &Artifact,
        facts: &TargetFacts,
        options: &CompileOptions,
    ) -> Label {
        let target = format!("{}:{}", facts.backend, facts.arch);
        let function = function.to_owned();
        Label { name: artifact.name.clone(), function, target, options: options.clone() }
    }
}

/// A kernel by its entry in the cache, to look at it; `None` where the payload is one of another version.
///
/// # Errors
/// When this build has no such target.
pub fn cached(payload: &[u8], hash: Key) -> Option<Result<Kernel, RuntimeError>> {
    let (label, artifact) = postcard::from_bytes::<(Label, Artifact)>(payload).ok()?;
    Some(
        target_named(&label.target).map(|target| {
            Kernel::new(&label.function, &target, &label.options, artifact, hash, Source::Cache)
        }),
    )
}

/// A kernel as the payload of its entry, which [`cached`] reads.
pub fn payload(kernel: &Kernel) -> Vec<u8> {
    let label = Label::new(&kernel.function, &kernel.artifact, &kernel.facts, &kernel.options);
    postcard::to_stdvec(&(label, &kernel.artifact)).expect("labels and artifacts are plain data")
}

/// What the payload of a kernel's entry says about itself; `None` for one of another version.
pub fn label(payload: &[u8]) -> Option<Label> {
    postcard::from_bytes::<(Label, Artifact)>(payload).ok().map(|(label, _)| label)
}

/// Takes over what stands in folders of kernels below `folder`, see [`Store::carried`].
pub(super) fn take_carried(store: &Store, folder: &Path) {
    for (kind, key, payload) in store.carried(folder) {
        match kind {
            EntryKind::Kernel => {
                store.keep(kind, &key, &payload);
            }
            EntryKind::Dependencies => {
                let all: Vec<Vec<Answered>> = postcard::from_bytes(&payload).unwrap_or_default();
                all.into_iter().rev().for_each(|steps| remember(store, &key, steps));
            }
            EntryKind::Tuning => {}
        }
    }
}

/// Puts the entries of a kernel into its folder below `folder`, see [`Store::carry`].
pub(super) fn carry(store: &Store, folder: &Path, key: &Key, hash: &Key) {
    store.carry(folder, hash, &[(EntryKind::Kernel, hash), (EntryKind::Dependencies, key)]);
}

/// The kernel of that name.
pub(super) fn read(store: &Store, hash: &Key) -> Option<Artifact> {
    let payload = store.read(EntryKind::Kernel, hash)?;
    postcard::from_bytes::<(Label, Artifact)>(&payload).ok().map(|(_, artifact)| artifact)
}

fn alternatives(store: &Store, key: &Key) -> Vec<Vec<Answered>> {
    let payload = store.read(EntryKind::Dependencies, key).unwrap_or_default();
    postcard::from_bytes(&payload).unwrap_or_default()
}

/// Keeps a kernel with what it depends on.
pub(super) fn keep(
    store: &Store,
    key: &Key,
    hash: &Key,
    steps: Vec<Answered>,
    (artifact, label): (&Artifact, Label),
    settings: &Settings,
) {
    if !write(store, hash, artifact, label, settings) {
        return;
    }
    remember(store, key, steps);
}

/// Adds what a kernel depends on to what is known for its text.
fn remember(store: &Store, key: &Key, steps: Vec<Answered>) {
    let mut all = alternatives(store, key);
    all.retain(|other| *other != steps);
    all.insert(0, steps);
    all.truncate(ALTERNATIVES);
    if let Ok(payload) = postcard::to_stdvec(&all) {
        store.keep(EntryKind::Dependencies, key, &payload);
    }
}

/// Whether not every launch takes the kernel as it is.
fn is_guarded(artifact: &Artifact) -> bool {
    let launch = &artifact.launch;
    launch.guards().is_some_and(|guards| !guards.is_empty())
        || launch.persistence().is_some()
        || launch
            .device()
            .is_some_and(|facts| !facts.pairs.is_empty() || !facts.unaligned.is_empty() || facts.spare_stages)
}

/// Writes a kernel; says whether it is there now.
pub(super) fn write(
    store: &Store,
    hash: &Key,
    artifact: &Artifact,
    label: Label,
    settings: &Settings,
) -> bool {
    let binary_only = settings.store_binary_only.then(|| {
        // A launch that takes the kernel in another way compiles it from there.
        let is_needed = |stage: &&Stage| is_guarded(artifact) && stage.name == TTIR;
        let front = artifact.stages.iter().filter(is_needed);
        let stages = front.chain(artifact.stages.last()).cloned().collect();
        Artifact { stages, ..artifact.clone() }
    });
    let artifact = binary_only.as_ref().unwrap_or(artifact);
    let bytes: usize = artifact.stages.iter().map(|stage| stage.bytes.len()).sum();
    match postcard::to_extend(&(label, artifact), Vec::with_capacity(bytes + BESIDE_STAGES)) {
        Ok(payload) => store.keep(EntryKind::Kernel, hash, &payload),
        Err(_) => false,
    }
}
