//! `deuteron run`.

use crate::Failure;
use crate::source::Source;
use crate::values::{self, Array, Value};
use clap::{Args, ValueEnum};
use runtime::buffer::Buffer;
use runtime::compile::Kernel;
use runtime::specialize::{Argument, LaunchKey, ParamRules, float_slot, int_slot};
use std::time::{Duration, Instant};
use target::{Extent, Launch};
use ttir::interp;
use ttir::ops::func::functions;

/// What runs the kernel.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Compiled code on a device of the target.
    Native,
    /// The interpreter, which checks every access.
    Interpreter,
    /// Both; the results are compared.
    Both,
}

/// Run a kernel on made-up arguments and print what it wrote.
#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    source: Source,
    /// An argument for each parameter: `random:f32:1024` (also zeros, ones, iota), `17`, `0.5`, `i64:17`, `const:64`.
    #[arg(long = "arg", short, value_name = "ARG", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Programs along x, y and z.
    #[arg(long, short, value_delimiter = ',', num_args = 1..=3, default_value = "1")]
    grid: Vec<u32>,
    /// What runs the kernel.
    #[arg(long, short, value_enum, default_value = "native")]
    engine: Engine,
    /// Where random numbers begin.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many elements of each array to print.
    #[arg(long, default_value_t = 8)]
    print: usize,
    /// Launch so many times and print the median time; native code only.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// By how much native code and the interpreter may differ, relative to the larger of 1 and the value.
    #[arg(long, default_value_t = 1e-5)]
    tolerance: f64,
}

impl Run {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut seed = self.seed;
        let values = self
            .args
            .iter()
            .map(|text| values::parse(text, &mut seed))
            .collect::<Result<Vec<_>, Failure>>()?;
        let grid = [0, 1, 2].map(|axis| self.grid.get(axis).copied().unwrap_or(1));
        let prepared = Prepared::new(&values)?;
        let native =
            (self.engine != Engine::Interpreter).then(|| self.native(&prepared, grid)).transpose()?;
        let checked =
            (self.engine != Engine::Native).then(|| self.interpreted(&prepared, grid)).transpose()?;
        if let Some(after) = native.as_ref().or(checked.as_ref()) {
            self.show(&prepared.arrays, after);
        }
        match (native, checked) {
            (Some(native), Some(checked)) => compare(&native, &checked, self.tolerance),
            _ => Ok(()),
        }
    }

    fn native(&self, prepared: &Prepared, grid: target::Grid) -> Result<Vec<Array>, Failure> {
        let kernel = self.source.compile(Some(&prepared.signature))?;
        let device = kernel.device()?;
        let mut arrays = prepared.arrays.clone();
        let copies = if device.uses_host_memory() {
            Vec::new()
        } else {
            let copy = |array: &Array| Buffer::with_bytes(&device, array.bytes());
            arrays.iter().map(copy).collect::<Result<Vec<_>, _>>()?
        };
        let slots = prepared.slots(|at| match copies.get(at) {
            Some(copy) => copy.address(),
            None => arrays[at].bytes_mut().as_mut_ptr() as u64,
        });
        if slots.len() != kernel.artifact.params.len() {
            return Err(self.wrong_count(slots.len(), kernel.artifact.params.len()));
        }
        let extent = |array: &mut Array| {
            let bytes = array.bytes_mut();
            Extent { base: bytes.as_mut_ptr() as u64, len: bytes.len() as u64, writable: true }
        };
        let extents = arrays.iter_mut().map(extent).collect();
        let times = target::with_extents(extents, || self.launches(&kernel, grid, &slots))?;
        if self.repeat > 1 {
            let median = times[times.len() / 2].as_secs_f64() * 1e6;
            println!("median of {} launches: {median:.1} us", times.len());
        }
        for (array, copy) in arrays.iter_mut().zip(&copies) {
            copy.read(array.bytes_mut())?;
        }
        Ok(arrays)
    }

    /// Launches as often as was asked for; the times in order.
    fn launches(&self, kernel: &Kernel, grid: target::Grid, slots: &[u64]) -> Result<Vec<Duration>, Failure> {
        let (loaded, device) = (kernel.load()?, kernel.device()?);
        let programs: u64 = grid.iter().map(|&size| u64::from(size)).product();
        let scratch = kernel.scratch().map(|scratch| {
            Buffer::zeroed(&device, scratch.bytes * programs * u64::from(kernel.options.num_ctas))
        });
        let scratch = scratch.transpose()?;
        let launch =
            Launch { scratch: scratch.as_ref().map_or(0, Buffer::address), ..Launch::new(grid, slots) };
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..self.repeat.max(1) {
            let start = Instant::now();
            // SAFETY: the slots are those of the signature the kernel was compiled for. Whether the kernel stays within
            // its arrays is up to whoever asks to run it; the interpreter is there to check.
            unsafe { loaded.launch(&launch) }.map_err(runtime::RuntimeError::from)?;
            device.synchronize().map_err(runtime::RuntimeError::from)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        Ok(times)
    }

    fn interpreted(&self, prepared: &Prepared, grid: target::Grid) -> Result<Vec<Array>, Failure> {
        let (module, name) = self.ttir(prepared)?;
        let mut memory = interp::Memory::new();
        let at: Vec<interp::Address> = prepared
            .arrays
            .iter()
            .enumerate()
            .map(|(index, array)| memory.alloc(&format!("argument {index}"), array.bytes().to_vec()))
            .collect();
        let args: Vec<interp::Arg> = prepared
            .passed
            .iter()
            .map(|passed| match passed {
                Passed::Array(index) => interp::Arg::Pointer(at[*index]),
                Passed::Slot(bits) => interp::Arg::Bits(*bits),
            })
            .collect();
        let mut hooks = Print;
        memory.watch_races(grid);
        interp::run(&module, &name, grid, &args, &mut memory, &mut hooks)
            .map_err(|error| Failure(error.to_string()))?;
        let mut arrays = prepared.arrays.clone();
        for (array, address) in arrays.iter_mut().zip(at) {
            let bytes = memory.bytes(address);
            let target = array.bytes_mut();
            target.copy_from_slice(&bytes[..target.len()]);
        }
        Ok(arrays)
    }

    /// The kernel as ttir, and its name.
    fn ttir(&self, prepared: &Prepared) -> Result<(ir::Module, String), Failure> {
        if let Some(stage) = self.source.stage() {
            if stage != "ttir" {
                return Err(Failure(format!(
                    "the interpreter runs ttir, and {} is {stage}",
                    self.source.name()
                )));
            }
            let module = runtime::compile::parse_ir(&self.source.text()?, &self.source.name())?;
            ir::verify(&module).map_err(|errors| crate::all(&errors))?;
            let name = kernel_name(&module, self.source.kernel.as_deref())?;
            return Ok((module, name));
        }
        let target = self.source.target()?;
        let options = self.source.compile_options(target.as_ref())?;
        let (program, name) = self.source.program()?;
        let module =
            program.to_ttir(&name, &prepared.signature, &target, options, &self.source.settings())?;
        Ok((module, name))
    }

    fn show(&self, before: &[Array], after: &[Array]) {
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            let shown: Vec<String> = (0..after.len.min(self.print)).map(|at| after.text(at)).collect();
            let more = if after.len > self.print { ", …" } else { "" };
            let written = if before.bytes() == after.bytes() { "" } else { "  (written)" };
            println!("array {index}: {}[{}] = [{}{more}]{written}", after.dtype, after.len, shown.join(", "));
        }
    }

    fn wrong_count(&self, given: usize, taken: usize) -> Failure {
        Failure(format!("the kernel takes {taken} arguments at run time, and {given} were given with --arg"))
    }
}

/// The public function of a module.
fn kernel_name(module: &ir::Module, wanted: Option<&str>) -> Result<String, Failure> {
    let names: Vec<String> = functions(module).map(|function| function.name().to_owned()).collect();
    match wanted {
        Some(name) if names.iter().any(|known| known == name) => Ok(name.to_owned()),
        None if names.len() == 1 => Ok(names[0].clone()),
        _ => Err(Failure(format!("say which kernel with --kernel: {}", names.join(", ")))),
    }
}

/// Prints what a kernel prints.
struct Print;

impl interp::Hooks for Print {
    fn print(&mut self, line: &str) {
        println!("{line}");
    }
}

/// A run-time argument.
enum Passed {
    /// The array of that number.
    Array(usize),
    /// A number in a slot.
    Slot(u64),
}

/// Arguments with the signature that they stand for.
struct Prepared {
    signature: String,
    arrays: Vec<Array>,
    passed: Vec<Passed>,
}

impl Prepared {
    fn new(values: &[Value]) -> Result<Prepared, Failure> {
        let mut entries = Vec::new();
        let (mut arrays, mut passed) = (Vec::new(), Vec::new());
        for value in values {
            match value {
                Value::Array(array) => {
                    entries.push(format!("*{}:16", array.dtype.facts().short));
                    passed.push(Passed::Array(arrays.len()));
                    arrays.push(array.clone());
                }
                Value::Const(literal) => entries.push(literal.clone()),
                Value::Int(value, Some(dtype)) => {
                    entries.push(dtype.facts().short.to_owned());
                    passed.push(Passed::Slot(int_slot(*dtype, *value)?));
                }
                Value::Float(value, Some(dtype)) => {
                    entries.push(dtype.facts().short.to_owned());
                    passed.push(Passed::Slot(float_slot(*dtype, *value)?));
                }
                Value::Int(value, None) => {
                    let narrow = i64::try_from(*value).map(Argument::Int);
                    let wide = || u64::try_from(*value).map(Argument::BigInt);
                    let argument = narrow
                        .or_else(|_| wide())
                        .map_err(|_| Failure(format!("{value} does not fit 64 bits")))?;
                    passed.extend(specialized(argument, &mut entries)?);
                }
                Value::Float(value, None) => {
                    passed.extend(specialized(Argument::Float(*value), &mut entries)?)
                }
            }
        }
        Ok(Prepared { signature: entries.join(", "), arrays, passed })
    }

    fn slots(&self, mut address: impl FnMut(usize) -> u64) -> Vec<u64> {
        let slot = |passed: &Passed| match passed {
            Passed::Array(index) => address(*index),
            Passed::Slot(bits) => *bits,
        };
        self.passed.iter().map(slot).collect()
    }
}

/// A number by the rules of a launch from Python.
fn specialized(argument: Argument, entries: &mut Vec<String>) -> Result<Option<Passed>, Failure> {
    let mut key = LaunchKey::new();
    let slot = ParamRules::default().apply(argument, 0, &mut key)?;
    let args = runtime::specialize::decode(key.words(), &|_| frontend::PyValue::None);
    entries.push(match args.first() {
        Some(frontend::ArgSpec::Runtime { ty, known }) => {
            frontend::signature::type_text(*ty) + &frontend::signature::hint_text(*known)
        }
        _ => "1".to_owned(),
    });
    Ok(slot.map(Passed::Slot))
}

/// Compares the results of two engines.
fn compare(native: &[Array], checked: &[Array], tolerance: f64) -> Result<(), Failure> {
    let mut worst = 0.0f64;
    for (index, (one, other)) in native.iter().zip(checked).enumerate() {
        for at in 0..one.len {
            let (left, right) = (one.value(at), other.value(at));
            if left == right || (left.is_nan() && right.is_nan()) {
                continue;
            }
            let off = (left - right).abs() / right.abs().max(1.0);
            // A comparison with NaN is false: a NaN on one side is a difference as well.
            if off.is_nan() || off > tolerance {
                return Err(Failure(format!(
                    "array {index} differs at {at}: native code wrote {left:?}, the interpreter {right:?}"
                )));
            }
            worst = worst.max(off);
        }
    }
    println!("native code and the interpreter agree (largest difference {worst:.1e})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Prepared, values};

    #[test]
    fn arguments_make_a_signature() {
        let texts = ["random:f32:8", "1", "32", "17", "0.5", "i64:1", "const:64", "4294967296"];
        let values: Vec<_> =
            texts.iter().map(|text| values::parse(text, &mut 0).unwrap_or_else(|e| panic!("{e}"))).collect();
        let prepared = Prepared::new(&values).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(prepared.signature, "*fp32:16, 1, i32:16, i32, fp32, i64, 64, i64:16");
        assert_eq!(prepared.slots(|_| 7), [7, 32, 17, u64::from(0.5f32.to_bits()), 1, 1 << 32]);
    }
}
