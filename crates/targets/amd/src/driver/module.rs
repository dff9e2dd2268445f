//! Loading a kernel on a GPU, and launching it.
//!
//! A kernel takes its parameters in the order of its signature, then the addresses of its global scratch memory and of its log
//! (`crate::log`). Modules are never unloaded: a graph that was captured earlier, or a launch that is still running, may refer to them.

use super::Gpu;
use super::api::Handle;
use super::error::{Refused, check, describe, status};
use crate::log;
use crate::options::HSACO;
use std::ffi::{CString, c_void};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use target::{Artifact, Grid, Launch, LoadedKernel, TargetError};

/// Lanes of a program at most.
const MOST_LANES: u32 = 1024;
/// The largest grid in lanes along x, and in programs along the other axes.
const LARGEST: Grid = [u32::MAX, 65_535, 65_535];
/// Bytes of an argument slot.
type Slot = u64;
/// `hipHostMallocMapped | hipHostMallocCoherent`: memory of the host that the device writes and that is seen at once.
const SHARED_WITH_DEVICE: u32 = 0x2 | 0x4000_0000;

/// Numbers of function attributes.
mod attribute {
    pub(super) const LOCAL_BYTES: i32 = 3;
    pub(super) const REGISTERS: i32 = 4;
}

/// A kernel on a GPU.
#[derive(Debug)]
pub(crate) struct Module {
    gpu: Arc<Gpu>,
    /// The runtime's function.
    function: usize,
    name: String,
    params: usize,
    lanes: u32,
    lds: u32,
    cooperative: bool,
    registers: u32,
    spills: u32,
    /// The address of the log in memory of the host, for kernels that print. One launch uses it at a time.
    log: Option<Mutex<usize>>,
}

impl Module {
    /// Loads the code object of an artifact.
    pub(super) fn load(gpu: &Arc<Gpu>, artifact: &Artifact) -> Result<Module, TargetError> {
        let name = &artifact.name;
        let refuse = |reason: String| {
            TargetError::Load(format!("kernel `{name}` cannot be loaded on {}: {reason}", gpu.name()))
        };
        let facts = artifact.device_facts()?;
        fits(gpu, &facts.arch).map_err(&refuse)?;
        let limit = |name: &str, required: u64, limit: u64| match required <= limit {
            true => Ok(()),
            false => Err(TargetError::OutOfResources { name: name.into(), required, limit }),
        };
        limit("shared memory", artifact.shared, gpu.lds())?;
        let lanes = facts.lanes();
        limit("threads", u64::from(lanes), u64::from(MOST_LANES))?;
        let code = artifact.stage(HSACO).ok_or_else(|| refuse(format!("it has no stage `{HSACO}`")))?;
        let symbol = CString::new(name.as_str()).map_err(|_| refuse("its name holds a zero byte".into()))?;
        let (function, [local, registers]) =
            gpu.with(|driver| open(driver, code, &symbol)).map_err(|error| refuse(error.to_string()))?;
        let log = if facts.log_bytes > 0 { Some(Mutex::new(make_log(gpu)?)) } else { None };
        Ok(Module {
            gpu: Arc::clone(gpu),
            function: function as usize,
            name: name.clone(),
            params: artifact.params.len(),
            lanes,
            lds: artifact.shared as u32,
            cooperative: facts.cooperative,
            registers,
            // Registers are four bytes.
            spills: local / 4,
            log,
        })
    }

    fn check(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        if launch.args.len() != self.params {
            let (takes, given) = (self.params, launch.args.len());
            let name = &self.name;
            return Err(TargetError::Launch(format!(
                "kernel `{name}` takes {takes} arguments, {given} were given"
            )));
        }
        let most = [LARGEST[0] / self.lanes.max(1), LARGEST[1], LARGEST[2]];
        let Some(axis) = (0..3).find(|&axis| launch.grid[axis] > most[axis]) else { return Ok(()) };
        Err(TargetError::Launch(format!(
            "kernel `{}`: the grid has {} programs along {}, and the largest is {}: put more of them along x, or work on more \
             elements in each",
            self.name,
            launch.grid[axis],
            ["x", "y", "z"][axis],
            most[axis]
        )))
    }

    /// The one call of a launch.
    fn submit(&self, launch: &Launch<'_>, log: Slot) -> Result<(), TargetError> {
        let behind = [launch.scratch, log];
        let slots = launch.args.iter().chain(&behind);
        let mut params: Vec<*mut c_void> =
            slots.map(|slot| std::ptr::from_ref(slot).cast_mut().cast()).collect();
        let _entered = self.gpu.enter()?;
        let api = &self.gpu.driver.api;
        let (function, stream, [x, y, z]) = (self.function as Handle, launch.stream as Handle, launch.grid);
        let (lanes, lds, params) = (self.lanes, self.lds, params.as_mut_ptr());
        // SAFETY: the function is loaded, and there is one pointer for each of its parameters, to a slot of at least its size.
        let status = unsafe {
            match self.cooperative {
                true => (api.launch_cooperative_kernel)(function, x, y, z, lanes, 1, 1, lds, stream, params),
                false => {
                    let none = std::ptr::null_mut();
                    (api.launch_kernel)(function, x, y, z, lanes, 1, 1, lds, stream, params, none)
                }
            }
        };
        if status == status::SUCCESS { Ok(()) } else { Err(self.failed(status, launch.grid)) }
    }

    #[cold]
    fn failed(&self, status: i32, grid: Grid) -> TargetError {
        let api = &self.gpu.driver.api;
        match status {
            status::LAUNCH_OUT_OF_RESOURCES => TargetError::OutOfResources {
                name: "registers".into(),
                required: u64::from(self.registers) * u64::from(self.lanes),
                limit: u64::from(crate::machine::registers(self.gpu.arch())),
            },
            status::INVALID_VALUE | status::COOPERATIVE_LAUNCH_TOO_LARGE => TargetError::Launch(format!(
                "kernel `{}` could not be launched: {}; grid {grid:?}, {} lanes, {} bytes of LDS",
                self.name,
                describe(api, status),
                self.lanes,
                self.lds
            )),
            _ => Refused { status, doing: "launch a kernel" }.report(api),
        }
    }

    /// A launch of a kernel that prints: waits for it and says what it wrote.
    fn launch_and_read(&self, launch: &Launch<'_>, log: &Mutex<usize>) -> Result<(), TargetError> {
        let mut capturing = 0;
        let stream = launch.stream as Handle;
        self.gpu.with(|driver| {
            // SAFETY: the stream is the caller's, and `capturing` is a place for the answer.
            let status = unsafe { (driver.api.stream_is_capturing)(stream, &raw mut capturing) };
            check(status, "tell whether a graph is captured")
        })?;
        if capturing != 0 {
            return Err(TargetError::Launch(format!(
                "kernel `{}` prints or has assertions, and such kernels cannot be part of a graph: what they write is read when they \
                 are over",
                self.name
            )));
        }
        let address = log.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the memory was allocated with so many bytes, and only who holds the lock uses it; no launch does now.
        let bytes = unsafe { std::slice::from_raw_parts_mut(*address as *mut u8, log::BYTES) };
        bytes.copy_from_slice(&log::empty());
        self.submit(launch, *address as Slot)?;
        let done = self.gpu.with(|driver| {
            // SAFETY: the stream is the caller's.
            check(unsafe { (driver.api.stream_synchronize)(stream) }, "finish a kernel that prints")
        });
        let written = log::read(bytes);
        let mut out = std::io::stdout().lock();
        // Where nobody reads the output there is nobody to tell.
        let _ = out.write_all(written.output.as_bytes()).and_then(|()| out.flush());
        match written.failures.first() {
            Some(failure) => Err(TargetError::Launch(format!("kernel `{}`: {failure}", self.name))),
            None => done,
        }
    }
}

/// Whether the code is for the device's architecture.
fn fits(gpu: &Gpu, own: &str) -> Result<(), String> {
    let device = gpu.arch_name();
    if own == device { Ok(()) } else { Err(format!("it was compiled for {own}, and the device is {device}")) }
}

/// Loads a code object and finds the kernel in it, with what the runtime says of it: bytes of its stack, registers.
fn open(driver: &super::Driver, code: &[u8], name: &CString) -> Result<(Handle, [u32; 2]), Refused> {
    let (mut module, mut function): (Handle, Handle) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the code object is whole, and the runtime copies it; the name is a C string.
    unsafe {
        check((driver.api.module_load_data)(&raw mut module, code.as_ptr().cast()), "load the module")?;
        check(
            (driver.api.module_get_function)(&raw mut function, module, name.as_ptr()),
            "find the kernel in its module",
        )?;
    }
    let ask = |number| {
        let mut value = 0;
        // SAFETY: the function is loaded, and `value` is a place for the answer.
        let status = unsafe { (driver.api.func_get_attribute)(&raw mut value, number, function) };
        check(status, "tell an attribute of a kernel").map(|()| value.unsigned_abs())
    };
    Ok((function, [ask(attribute::LOCAL_BYTES)?, ask(attribute::REGISTERS)?]))
}

/// Memory for a log, which is never given back.
fn make_log(gpu: &Gpu) -> Result<usize, TargetError> {
    let mut address: *mut c_void = std::ptr::null_mut();
    gpu.with(|driver| {
        // SAFETY: `address` is a place for the answer.
        let status = unsafe { (driver.api.host_malloc)(&raw mut address, log::BYTES, SHARED_WITH_DEVICE) };
        check(status, "allocate memory for what a kernel prints")
    })?;
    Ok(address as usize)
}

impl LoadedKernel for Module {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        self.check(launch)?;
        if launch.grid.contains(&0) {
            return Ok(());
        }
        match &self.log {
            None => self.submit(launch, 0),
            Some(log) => self.launch_and_read(launch, log),
        }
    }

    fn handle(&self) -> u64 {
        self.function as u64
    }

    fn n_regs(&self) -> u32 {
        self.registers
    }

    fn n_spills(&self) -> u32 {
        self.spills
    }

    fn n_max_threads(&self) -> u32 {
        MOST_LANES
    }
}
