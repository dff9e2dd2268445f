//! A target without a compiler and a world of globals, for tests.

use frontend::{Function, FunctionRef, Globals, ObjectRef, PyValue};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use target::{
    Artifact, CompileOptions, Device, DeviceProperties, Launch, LoadedKernel, OptionRow, OptionValue, Stage,
    StageObserver, Target, TargetError, TargetFacts,
};

/// A target whose machine can be changed and whose device counts launches.
#[derive(Default)]
pub(crate) struct FakeTarget {
    pub(crate) machine: String,
    pub(crate) launches: Arc<AtomicU64>,
}

impl Target for FakeTarget {
    fn facts(&self) -> TargetFacts {
        TargetFacts {
            backend: "fake".into(),
            arch: "none".into(),
            warp_size: 1,
            default_dot_precision: "ieee".into(),
            allowed_dot_precisions: vec!["ieee".into()],
            fp8_dtypes: Vec::new(),
            fp8e4b15_warning: None,
        }
    }

    fn machine(&self) -> String {
        self.machine.clone()
    }

    fn options(&self) -> &'static [OptionRow] {
        &[OptionRow { name: "own", default: OptionValue::Int(7), doc: "An option of this target." }]
    }

    fn compile(
        &self,
        _module: ir::Module,
        _options: &CompileOptions,
        _observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        Err(TargetError::Internal("this target compiles nothing".into()))
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        vec![Arc::new(FakeDevice(Arc::clone(&self.launches)))]
    }
}

struct FakeDevice(Arc<AtomicU64>);

impl Device for FakeDevice {
    fn ordinal(&self) -> u32 {
        0
    }
    fn properties(&self) -> DeviceProperties {
        DeviceProperties::default()
    }
    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        if artifact.stage("obj").is_none() {
            return Err(TargetError::Load("there is no object code".into()));
        }
        Ok(Arc::new(FakeKernel(Arc::clone(&self.0))))
    }
    fn synchronize(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

struct FakeKernel(Arc<AtomicU64>);

impl LoadedKernel for FakeKernel {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        self.0.fetch_add(launch.grid.iter().map(|&size| u64::from(size)).product(), Ordering::Relaxed);
        Ok(())
    }
    fn n_regs(&self) -> u32 {
        16
    }
    fn n_spills(&self) -> u32 {
        0
    }
    fn n_max_threads(&self) -> u32 {
        1
    }
}

/// An artifact with that object code.
pub(crate) fn artifact(object: &[u8]) -> Artifact {
    Artifact {
        name: "kernel".into(),
        stages: vec![
            Stage { name: "ttir".into(), bytes: b"text".to_vec(), text: true },
            Stage { name: "obj".into(), bytes: object.to_vec(), text: false },
        ],
        params: Vec::new(),
        shared: 1,
        launch: target::LaunchFacts::Host(target::HostFacts::default()),
        metadata: BTreeMap::new(),
    }
}

/// A kernel function.
pub(crate) fn kernel(source: &str) -> FunctionRef {
    FunctionRef(Arc::new(Function {
        id: 1,
        name: "kernel".into(),
        module: "m".into(),
        file: "m.py".into(),
        first_line: 1,
        source: source.into(),
        noinline: false,
        extensions: frontend::Extensions::default(),
    }))
}

/// Globals that are numbers.
#[derive(Default)]
pub(crate) struct Numbers(pub(crate) Mutex<BTreeMap<String, i128>>);

impl Numbers {
    pub(crate) fn with(name: &str, value: i128) -> Numbers {
        Numbers(Mutex::new(BTreeMap::from([(name.to_owned(), value)])))
    }
}

impl Globals for Numbers {
    fn lookup(&self, _function: &FunctionRef, name: &str) -> Option<PyValue> {
        self.0.lock().expect("no panic holds it").get(name).map(|value| PyValue::Int(*value))
    }
    fn attribute(&self, _object: &ObjectRef, _name: &str) -> Option<PyValue> {
        None
    }
    fn call(
        &self,
        _: &ObjectRef,
        _: &[PyValue],
        _: &[(String, PyValue)],
    ) -> Result<PyValue, frontend::Fault> {
        Err("nothing to call".into())
    }
}
