//! Every fixture of the language, and random programs, on a GPU, through every stage that a user's kernel goes through. Without a
//! GPU the same path is gone with an emulated one; `GPU_TESTS=1` insists on a real one.
//!
//! On a machine without the sources' folder, `FIXTURES` names the folder of fixtures.

// Other tests use the rest.
#[allow(dead_code)]
mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::ways::{isolate, order_writes};
use target::{CompileOptions, Device, Extent, Launch, Target, with_extents};
use ttir::testing::{
    Argument, Engine, Interpreter, Profile, Program, Ran, check_file, difference, generate, values_of,
};

/// A device of a target as an engine.
struct OnDevice {
    target: Arc<dyn Target>,
    device: Arc<dyn Device>,
    options: CompileOptions,
}

impl OnDevice {
    /// Programs of so many warps in each of so many blocks of a cluster.
    fn new(num_warps: u32, num_ctas: u32) -> OnDevice {
        let real = nvidia::target();
        let target = match real.devices().is_empty() {
            false => real,
            true if std::env::var_os("GPU_TESTS").is_some() => panic!("there is no GPU here"),
            true => {
                println!("NOT RUN on a GPU: there is none; an emulated one takes its place");
                real.for_arch("90").unwrap().unwrap().emulated().unwrap().unwrap()
            }
        };
        let device = target.devices().remove(0);
        // The interpreter rounds every product.
        let options =
            CompileOptions { num_warps, num_ctas, enable_fp_fusion: false, ..CompileOptions::default() };
        OnDevice { target, device, options }
    }
}

impl Engine for OnDevice {
    fn name(&self) -> &str {
        "device"
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let mut module = module.clone();
        isolate(&mut module, kernel);
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
            .map_err(|errors| format!("{errors:?}"))?;
        order_writes(&mut module);
        let text = |error: target::TargetError| error.to_string();
        let artifact = self.target.compile(module, &self.options, &mut ()).map_err(text)?;
        let kernel = self.device.load(&artifact).map_err(text)?;
        let (mut slots, mut buffers) = (Vec::new(), Vec::new());
        for arg in args {
            match arg {
                Argument::Bits(bits) => slots.push(*bits),
                Argument::Buffer(bytes) => {
                    let address = self.device.alloc(bytes.len() as u64).map_err(text)?;
                    // SAFETY: the memory was allocated just now with that size.
                    unsafe { self.device.copy_in(address, bytes) }.map_err(text)?;
                    slots.push(address);
                    buffers.push((address, bytes.len()));
                }
            }
        }
        let programs: u64 = grid.iter().map(|&size| u64::from(size)).product();
        let scratch = (artifact.number("global_scratch_size") * programs).max(16);
        let scratch_at = self.device.alloc(scratch).map_err(text)?;
        let pieces = buffers.iter().copied().chain([(scratch_at, scratch as usize)]);
        let extents =
            pieces.clone().map(|(base, len)| Extent { base, len: len as u64, writable: true }).collect();
        let launch = Launch { scratch: scratch_at, ..Launch::new(grid, &slots) };
        // SAFETY: the slots are those of the kernel's parameters; fixtures stay within their buffers.
        with_extents(extents, || unsafe { kernel.launch(&launch) }).map_err(text)?;
        self.device.synchronize().map_err(text)?;
        let mut ran = Ran::default();
        for (address, len) in &buffers {
            let mut bytes = vec![0; *len];
            // SAFETY: the memory has that size.
            unsafe { self.device.copy_out(&mut bytes, *address) }.map_err(text)?;
            ran.buffers.push(bytes);
        }
        for (address, len) in pieces {
            // SAFETY: the memory is ours, and the launch is over.
            unsafe { self.device.free(address, len as u64) }.map_err(text)?;
        }
        Ok(ran)
    }
}

fn folder() -> PathBuf {
    match std::env::var_os("FIXTURES") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run"),
    }
}

/// What prints, which goes to the output of the process, and what fails, after which a GPU answers nothing more.
const NOT_HERE: &[&str] = &["debug.ttir", "undefined.ttir"];

#[test]
fn fixtures_run_as_they_say() {
    let (mut failures, mut calls) = (Vec::new(), 0);
    let mut engines = vec![OnDevice::new(4, 1), OnDevice::new(1, 1)];
    if engines[0].target.facts().arch.parse::<u32>().is_ok_and(|arch| arch >= 90) {
        engines.push(OnDevice::new(2, 2));
    }
    let mut paths: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if NOT_HERE.contains(&name.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for engine in &mut engines {
            let outcome = check_file(&text, engine);
            calls += outcome.calls;
            failures.extend(outcome.failures.iter().map(|failure| format!("{name}: {failure}")));
        }
    }
    println!("{calls} calls");
    assert!(calls > 0);
    assert!(failures.is_empty(), "{} failures of {calls}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn random_programs_agree_with_the_interpreter() {
    let mut engine = OnDevice::new(2, 1);
    let mut failures = Vec::new();
    for seed in 0..24 {
        let program = generate(seed, Profile::PLAIN);
        if let Err(error) = compare(&program, &mut engine) {
            failures.push(format!("{seed}: {}", error.lines().next().unwrap_or_default()));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn compare(program: &Program, engine: &mut OnDevice) -> Result<(), String> {
    let run =
        |engine: &mut dyn Engine| engine.run(&program.module, program.kernel, program.grid, &program.args);
    let (found, expected) = (run(engine)?, run(&mut Interpreter)?);
    for output in &program.outputs {
        let [want, got] = [&expected, &found].map(|ran| values_of(&ran.buffers[output.buffer], output.ty));
        if let Some(text) = difference(&want, &got, output.ty, output.tolerance) {
            return Err(format!("wrong result of {}: {text}", output.ty));
        }
    }
    Ok(())
}
