//! Compiled code does what the interpreter does: every fixture with a call, and random programs.

use std::path::Path;
use target::{CompileOptions, Launch, OptionValue};
use ttir::testing::{
    Argument, Engine, Interpreter, Profile, Ran, check_file, difference, generate, values_of,
};

/// Compiled code of this target, for a processor by name.
struct Compiled {
    arch: &'static str,
}

impl Engine for Compiled {
    fn name(&self) -> &str {
        self.arch
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
        let mut times = ir::pass::Times::default();
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut times)
            .map_err(|errors| format!("{errors:?}"))?;
        let mut options = CompileOptions { enable_fp_fusion: false, ..CompileOptions::default() };
        options.extra.insert("arch".into(), OptionValue::Str(self.arch.into()));
        let artifact = cpu::target().compile(module, &options, &mut ()).map_err(|error| error.to_string())?;
        let device = &cpu::target().devices()[0];
        let loaded = device.load(&artifact).map_err(|error| error.to_string())?;
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        let mut slots = Vec::new();
        for arg in args {
            slots.push(match arg {
                Argument::Bits(bits) => *bits,
                Argument::Buffer(bytes) => {
                    // Room behind the end shows what is written there.
                    let mut guarded = bytes.clone();
                    guarded.extend([0x5a; 256]);
                    buffers.push(guarded);
                    buffers.last().map_or(0, |buffer| buffer.as_ptr() as u64)
                }
            });
        }
        // SAFETY: the arguments are the kernel's own, and the buffers outlive the launch.
        unsafe { loaded.launch(&Launch::new(grid, &slots)) }.map_err(|error| error.to_string())?;
        for buffer in &mut buffers {
            let end = buffer.len() - 256;
            if buffer[end..].iter().any(|&byte| byte != 0x5a) {
                return Err("wrote behind the end of a buffer".into());
            }
            buffer.truncate(end);
        }
        Ok(Ran { buffers, lines: Vec::new() })
    }
}

/// Leaves one kernel public, inlines what it calls and drops the rest.
fn isolate(module: &mut ir::Module, kernel: &str) {
    use ttir::ops::func::func_attr::VISIBILITY;
    for op in module.ops(module.body()).collect::<Vec<_>>() {
        let is_kernel = module.attr_named(op, "sym_name").and_then(ir::Attr::as_str) == Some(kernel);
        module.set_attr(op, VISIBILITY, Some(ir::Attr::str(if is_kernel { "public" } else { "private" })));
    }
}

fn check_folder(arch: &'static str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let mut failures = Vec::new();
    let mut calls = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // What is printed goes to the process's own output.
        if path.extension().is_none_or(|extension| extension != "ttir") || path.ends_with("debug.ttir") {
            continue;
        }
        let outcome = check_file(&text, &mut Compiled { arch });
        calls += outcome.calls;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        failures.extend(outcome.failures.iter().map(|failure| format!("{name}:{failure}")));
    }
    assert!(failures.is_empty(), "{arch}: {} of {calls}\n{}", failures.len(), failures.join("\n"));
    assert!(calls > 100);
}

#[test]
fn fixtures_hold_on_this_processor() {
    check_folder("native");
}

#[test]
fn fixtures_hold_without_wide_vectors() {
    check_folder("x86-64");
}

/// The first difference between what both engines leave in the outputs of a random program.
fn compare(seed: u64, arch: &'static str) -> Result<(), String> {
    let program = generate(seed, Profile::ALL);
    let run =
        |engine: &mut dyn Engine| engine.run(&program.module, program.kernel, program.grid, &program.args);
    let expected = run(&mut Interpreter)?;
    let found = run(&mut Compiled { arch })?;
    for output in &program.outputs {
        let [want, got] = [&expected, &found].map(|ran| values_of(&ran.buffers[output.buffer], output.ty));
        if let Some(text) = difference(&want, &got, output.ty, output.tolerance) {
            return Err(format!("buffer {} of {}: {text}", output.buffer, output.ty));
        }
    }
    Ok(())
}

#[test]
fn random_programs_agree_with_the_interpreter() {
    let first = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let count = std::env::var("COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let mut failures = Vec::new();
    for seed in first.unwrap_or(0)..first.unwrap_or(0) + count {
        for arch in ["native", "x86-64"] {
            if let Err(error) = compare(seed, arch) {
                failures.push(format!("seed {seed}, {arch}: {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
