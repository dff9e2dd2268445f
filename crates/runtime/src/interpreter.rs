//! The interpreter as a target: `TRITON_INTERPRET=1`.
//!
//! A kernel is compiled as far as ttir and then run by [`ttir::interp`], one program after another, with every access
//! checked. It stands in for another target: the front end sees that target's facts, so that the same code runs.
//!
//! A launch passes addresses, and the interpreter wants to know how far the memory behind them goes. Whoever launches
//! says so with [`target::with_extents`]; for an address that nobody spoke of, it is as far as the process has memory
//! there. Pieces are called after the parameters that point into them.

use crate::eager::memory;
use crate::error::RuntimeError;
use std::collections::BTreeMap;
use std::sync::Arc;
use target::{
    Artifact, CompileOptions, Device, DeviceProperties, KernelParam, Launch, LaunchFacts, LoadedKernel,
    OptionRow, ParamKind, Stage, StageObserver, Target, TargetError, TargetFacts,
};
use ttir::interp::{Address, Arg, Hooks};
use ttir::ops::func::kernel_of;

/// A target in place of which the interpreter runs.
pub(crate) struct Interpreter(pub(crate) Arc<dyn Target>);

/// What the machine of interpreted kernels is called, which keeps them apart from compiled ones.
const MACHINE: &str = "interpreter";

/// Whether a target is the interpreter in place of another.
pub(crate) fn is_interpreter(target: &dyn Target) -> bool {
    target.machine() == MACHINE
}

impl Target for Interpreter {
    fn facts(&self) -> TargetFacts {
        self.0.facts()
    }

    fn machine(&self) -> String {
        MACHINE.to_owned()
    }

    fn options(&self) -> &'static [OptionRow] {
        self.0.options()
    }

    fn compile(
        &self,
        mut module: ir::Module,
        _options: &CompileOptions,
        _observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        let text = ir::text::print(&module, ir::text::PrintOptions::default());
        flatten(&mut module).map_err(|message| TargetError::Compile { message, location: None })?;
        let kernel =
            kernel_of(&module).map_err(|message| TargetError::Compile { message, location: None })?;
        let name = kernel.name().to_owned();
        let params = kernel.params().iter().enumerate().map(|(index, &arg)| {
            let kind = param_kind(module.ty(arg));
            let name = module.name(arg).map_or_else(|| format!("arg{index}"), str::to_owned);
            kind.map(|kind| KernelParam { name, kind })
        });
        let params = params.collect::<Result<_, _>>()?;
        let stages = vec![Stage { name: "ttir".to_owned(), bytes: text.into_bytes(), text: true }];
        let (launch, metadata) = (LaunchFacts::Interpreted, BTreeMap::new());
        Ok(Artifact { name, stages, params, shared: 0, launch, metadata })
    }

    fn for_arch(&self, arch: &str) -> Result<Option<Arc<dyn Target>>, TargetError> {
        Ok(self.0.for_arch(arch)?.map(|target| Arc::new(Interpreter(target)) as Arc<dyn Target>))
    }

    fn checks_memory(&self) -> bool {
        true
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        self.0.devices().into_iter().map(|device| Arc::new(Host(device)) as Arc<dyn Device>).collect()
    }
}

/// Tensor descriptors among the arguments are passed as on every target.
fn flatten(module: &mut ir::Module) -> Result<(), String> {
    (ttir::passes::FLATTEN_DESCRIPTORS.run)(module)
        .map_err(|error| std::iter::once(error.message).chain(error.notes).collect::<Vec<_>>().join("; "))
}

fn param_kind(ty: ir::Type) -> Result<ParamKind, TargetError> {
    if ttir::types::pointee(ty).is_some() {
        return Ok(ParamKind::Pointer);
    }
    match (ty.as_int(), ty.as_float()) {
        (Some(bits), _) => Ok(ParamKind::Int(bits)),
        (_, Some(ir::FloatKind::BF16)) => Ok(ParamKind::Bf16),
        (_, Some(kind)) => Ok(ParamKind::Float(kind.bits())),
        _ => Err(TargetError::Compile {
            message: format!("a kernel cannot have a parameter of type {ty} in the interpreter"),
            location: None,
        }),
    }
}

/// The host, on which the interpreter runs.
struct Host(Arc<dyn Device>);

impl Device for Host {
    fn ordinal(&self) -> u32 {
        self.0.ordinal()
    }

    fn properties(&self) -> DeviceProperties {
        self.0.properties()
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        let text = artifact.stage("ttir");
        let text = text.ok_or_else(|| TargetError::Load("the kernel comes without its ttir".into()))?;
        let text = std::str::from_utf8(text)
            .map_err(|error| TargetError::Load(format!("the ttir is no text: {error}")))?;
        let mut module = crate::compile::parse_ir(text, &artifact.name)
            .map_err(|error: RuntimeError| TargetError::Load(error.to_string()))?;
        flatten(&mut module).map_err(TargetError::Load)?;
        ir::verify(&module).map_err(|errors| {
            TargetError::Load(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        })?;
        Ok(Arc::new(Loaded { name: artifact.name.clone(), module, params: artifact.params.clone() }))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

struct Loaded {
    name: String,
    module: ir::Module,
    params: Vec<KernelParam>,
}

impl LoadedKernel for Loaded {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        let mut args = Vec::with_capacity(launch.args.len());
        let mut pointers = Vec::new();
        for (param, &slot) in self.params.iter().zip(launch.args) {
            if param.kind == ParamKind::Pointer {
                args.push(Arg::Pointer(Address(slot)));
                pointers.push((param.name.as_str(), slot));
            } else {
                args.push(Arg::Bits(slot));
            }
        }
        // SAFETY: whoever launches vouches for the memory behind the arguments, and says how far it goes and whether it
        // may be written.
        let mut memory = unsafe { memory(&pointers) };
        if crate::knobs::flag("runtime", "interpret_races") {
            memory.watch_races(launch.grid);
        }
        ttir::interp::run(&self.module, &self.name, launch.grid, &args, &mut memory, &mut Print)
            .map_err(|error| TargetError::Launch(error.to_string()))
    }

    fn n_regs(&self) -> u32 {
        1
    }

    fn n_spills(&self) -> u32 {
        0
    }

    fn n_max_threads(&self) -> u32 {
        1
    }
}

/// Prints what kernels print.
struct Print;

impl Hooks for Print {
    fn print(&mut self, line: &str) {
        use std::io::Write as _;
        // A reader that has gone away is no reason to stop.
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::Interpreter;
    use crate::compile::{Job, compile};
    use crate::knobs::Settings;
    use crate::testing::{FakeTarget, Numbers, kernel};
    use frontend::{ArgSpec, DType, Pointer, PyValue, Scalar};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use target::{Extent, Launch, Target, with_extents};

    const SOURCE: &str = "@triton.jit\ndef kernel(p, n, N: tl.constexpr):\n    i = tl.arange(0, N)\n    \
                          tl.store(p + i, tl.load(p + i, mask=i < n) * 2, mask=i < n)\n";

    /// Doubles the first `n` numbers; `len` is how many the interpreter may access.
    fn double(values: &mut [f32], n: u64, len: usize) -> Result<(), String> {
        let target: Arc<dyn Target> = Arc::new(Interpreter(Arc::new(FakeTarget::default())));
        let pointer = Scalar::Pointer(Pointer { pointee: DType::Fp32, constant: false });
        let args = vec![
            ArgSpec::runtime(pointer),
            ArgSpec::runtime(DType::Int32),
            ArgSpec::Constexpr(PyValue::Int(16)),
        ];
        let options =
            crate::options::parse(target.as_ref(), &BTreeMap::new()).map_err(|error| error.to_string())?;
        let job = Job {
            function: kernel(SOURCE),
            symbol: None,
            args,
            options,
            target,
            globals: &Language,
            print: &|_| (),
            owner: 5,
        };
        let settings = Settings { cache_dir: None, ..Settings::current() };
        let compiled = compile(&job, &settings).map_err(|error| error.to_string())?;
        let base = values.as_mut_ptr() as u64;
        let loaded = compiled.load().map_err(|error| error.to_string())?;
        with_extents(vec![Extent { base, len: len as u64 * 4, writable: true }], || {
            // SAFETY: the interpreter stays within what it may access, which is the slice or less.
            unsafe { loaded.launch(&Launch::new([1, 1, 1], &[base, n])) }.map_err(|error| error.to_string())
        })
    }

    /// The two modules that every kernel names.
    struct Language;

    impl frontend::Globals for Language {
        fn lookup(&self, _function: &frontend::FunctionRef, name: &str) -> Option<PyValue> {
            frontend::language::resolve(if name == "tl" { "tl" } else { "triton" })
        }
        fn attribute(&self, object: &frontend::ObjectRef, name: &str) -> Option<PyValue> {
            Numbers::default().attribute(object, name)
        }
        fn call(
            &self,
            callee: &frontend::ObjectRef,
            args: &[PyValue],
            kwargs: &[(String, PyValue)],
        ) -> Result<PyValue, frontend::Fault> {
            Numbers::default().call(callee, args, kwargs)
        }
    }

    #[test]
    fn a_kernel_is_interpreted_on_live_memory() {
        let mut values: Vec<f32> = (0..16).map(|value| value as f32).collect();
        double(&mut values, 11, 16).expect("it stays within the slice");
        let expected: Vec<f32> =
            (0..16).map(|value| if value < 11 { value as f32 * 2.0 } else { value as f32 }).collect();
        assert_eq!(values, expected);
        let error = double(&mut values, 11, 10).expect_err("the eleventh is out of bounds");
        assert!(error.contains("m.py:4") && error.contains("byte 40 of `p`"), "{error}");
    }
}
