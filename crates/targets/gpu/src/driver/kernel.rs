//! Loading a kernel on a device, and what every launch of it does.
//!
//! A kernel takes its parameters in the order of its signature, then what the vendor puts behind them, the address of
//! its scratch memory and one word more. Nothing here waits.

use super::error::{Refused, check, status};
use super::{Calls, Gpu, Handle, Name, Names, Status, Vendor};
use smallvec::SmallVec;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use target::{Artifact, DeviceFacts, Grid, Launch, LoadedKernel, Residency, TargetError};

/// Numbers of function attributes, which drivers have in common.
mod attribute {
    pub(super) const MAX_THREADS: i32 = 0;
    pub(super) const STATIC_SHARED: i32 = 1;
    pub(super) const LOCAL_BYTES: i32 = 3;
    pub(super) const REGISTERS: i32 = 4;
}

/// The mode of capture in which calls that allocate are let through while a graph is captured.
const RELAXED: i32 = 2;

/// Pointers to the arguments of a launch.
pub type Pointers = SmallVec<[*mut c_void; 34]>;

/// How a kernel is launched: what its artifact says beyond the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Lanes of a thread block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
}

/// A kernel that is loaded, before its first launch.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    /// The driver's function.
    pub function: Handle,
    /// How it is launched.
    pub shape: &'a Shape,
    /// Bytes of shared memory that its code has for itself.
    pub static_shared: u32,
}

/// A kernel on a device.
#[derive(Debug)]
pub struct Kernel<V: Vendor> {
    /// The device.
    pub gpu: Arc<Gpu<V>>,
    /// The driver's function.
    pub function: usize,
    /// Its name.
    pub name: &'static Name,
    /// How it is launched.
    pub shape: Shape,
    /// What the vendor keeps of it.
    pub own: V::Kernel,
    params: usize,
    /// The most thread blocks along each axis.
    largest: Grid,
    registers: u32,
    spills: u32,
    max_threads: u32,
}

impl<V: Vendor> Kernel<V> {
    /// Loads the code of an artifact.
    ///
    /// # Errors
    /// That it needs more than the device has, or what the driver says against it.
    pub(super) fn load(gpu: &Arc<Gpu<V>>, artifact: &Artifact) -> Result<Kernel<V>, TargetError> {
        let (name, driver) = (&artifact.name, gpu.driver());
        let refuse = |reason: String| {
            TargetError::Load(format!("kernel `{name}` cannot be loaded on {}: {reason}", gpu.name()))
        };
        let facts = artifact.device_facts()?;
        let most_shared = gpu.most_shared().map_err(|refused| driver.report(refused))?;
        limit("shared memory", artifact.shared, most_shared)?;
        let shape = Shape::of(facts, artifact.shared);
        let symbol = CString::new(name.as_str()).map_err(|_| refuse("its name holds a zero byte".into()))?;
        let opened = {
            let _entered = gpu.enter().map_err(|refused| driver.report(refused))?;
            relaxed(&driver.api, || V::load(gpu, artifact, facts, &symbol))
        };
        let (function, own) = opened.map_err(|error| refuse(error.to_string()))?;
        let asked = gpu.with(|api| {
            let all = [
                attribute::MAX_THREADS,
                attribute::STATIC_SHARED,
                attribute::LOCAL_BYTES,
                attribute::REGISTERS,
            ];
            let mut values = [0; 4];
            for (value, number) in values.iter_mut().zip(all) {
                *value = function_attribute(api, function, number)?;
            }
            gpu.prepare(&Loaded { function, shape: &shape, static_shared: values[1] })?;
            Ok(values)
        });
        let [max_threads, _, local, registers] = asked.map_err(|error| refuse(error.to_string()))?;
        limit("threads", u64::from(shape.threads), u64::from(max_threads))?;
        Ok(Kernel {
            gpu: Arc::clone(gpu),
            function: function as usize,
            name: Names::name(name),
            params: artifact.params.len(),
            largest: V::largest(&shape),
            shape,
            own,
            registers,
            // Registers are four bytes.
            spills: local / 4,
            max_threads,
        })
    }

    /// The grid in thread blocks.
    #[inline]
    fn blocks(&self, grid: Grid) -> Result<Grid, TargetError> {
        let x = grid[0].checked_mul(self.shape.ctas);
        let blocks = [x.unwrap_or(u32::MAX), grid[1], grid[2]];
        match (0..3).find(|&axis| blocks[axis] > self.largest[axis]) {
            None => Ok(blocks),
            Some(axis) => Err(self.too_large(axis, grid)),
        }
    }

    #[cold]
    fn too_large(&self, axis: usize, grid: Grid) -> TargetError {
        TargetError::Launch(format!(
            "kernel `{}`: the grid has {} programs along {}, and the largest is {}: put more of them along x, or work on more \
             elements in each",
            self.name,
            grid[axis],
            ["x", "y", "z"][axis],
            self.largest[axis] / if axis == 0 { self.shape.ctas } else { 1 }
        ))
    }

    #[cold]
    fn wrong_count(&self, given: usize) -> TargetError {
        let (name, takes) = (self.name, self.params);
        TargetError::Launch(format!("kernel `{name}` takes {takes} arguments, {given} were given"))
    }

    /// The error for a launch that the driver refused.
    #[cold]
    pub fn failed(&self, status: Status, grid: Grid) -> TargetError {
        let (driver, Shape { threads, shared, ctas }) = (self.gpu.driver(), self.shape);
        if V::TERMS.is_late(status) {
            return driver.report(Refused { status, doing: "launch" });
        }
        let more = match status {
            status::LAUNCH_OUT_OF_RESOURCES => {
                let required = u64::from(self.registers) * u64::from(threads);
                return match self.gpu.registers() {
                    Ok(limit) => TargetError::OutOfResources { name: "registers".into(), required, limit },
                    Err(refused) => driver.report(refused),
                };
            }
            status::INVALID_VALUE | status::COOPERATIVE_LAUNCH_TOO_LARGE => format!(
                "; grid {grid:?}, {threads} threads, {shared} bytes of {}, {ctas} thread blocks a program",
                V::TERMS.shared
            ),
            status::OUT_OF_MEMORY => "; local memory for every thread is taken at the launch".to_owned(),
            _ => String::new(),
        };
        let reason = driver.describe(status);
        TargetError::Launch(format!("kernel `{}` could not be launched: {reason}{more}", self.name))
    }

    /// The plain call of a launch.
    ///
    /// # Safety
    /// The device is the current one, and there is one pointer for each parameter of the kernel, to a slot of at least
    /// its size.
    #[inline]
    pub unsafe fn submit(&self, [x, y, z]: Grid, stream: u64, params: &mut Pointers) -> Status {
        let Shape { threads, shared, .. } = self.shape;
        let (function, stream, none) = (self.function as Handle, stream as Handle, std::ptr::null_mut());
        let call = self.gpu.driver().api.launch_kernel;
        // SAFETY: the function is loaded; the rest is what the caller promises.
        unsafe { call(function, x, y, z, threads, 1, 1, shared, stream, params.as_mut_ptr(), none) }
    }
}

impl Shape {
    fn of(facts: &DeviceFacts, shared: u64) -> Shape {
        // No device has as much shared memory as does not fit.
        let shared = u32::try_from(shared).unwrap_or(u32::MAX);
        Shape { threads: facts.lanes(), shared, ctas: facts.num_ctas.max(1) }
    }
}

/// Pointers to the slots of a launch: its arguments, what a vendor puts behind them, and the words at the end.
#[inline]
pub fn slots<T>(args: &[u64], more: &[T], last: &[u64; 2]) -> Pointers {
    let mut params = Pointers::with_capacity(args.len() + more.len() + last.len());
    // Pushing within the capacity is a store; extending from a chain is a call.
    for slot in args {
        params.push(std::ptr::from_ref(slot).cast_mut().cast());
    }
    for slot in more {
        params.push(std::ptr::from_ref(slot).cast_mut().cast());
    }
    for slot in last {
        params.push(std::ptr::from_ref(slot).cast_mut().cast());
    }
    params
}

/// Does what takes or frees memory while this thread or another one captures a graph, which would otherwise be the end
/// of the capture.
pub fn relaxed<T>(calls: &Calls, work: impl FnOnce() -> T) -> T {
    let mut mode = RELAXED;
    // SAFETY: `mode` is read and gets the mode of before.
    unsafe { (calls.thread_exchange_stream_capture_mode)(&raw mut mode) };
    let result = work();
    // SAFETY: as above.
    unsafe { (calls.thread_exchange_stream_capture_mode)(&raw mut mode) };
    result
}

fn limit(name: &str, required: u64, limit: u64) -> Result<(), TargetError> {
    match required <= limit {
        true => Ok(()),
        false => Err(TargetError::OutOfResources { name: name.into(), required, limit }),
    }
}

/// Registers of a lane of a loaded kernel, and its bytes of local memory.
///
/// # Errors
/// What the driver says.
pub fn registers_and_stack(calls: &Calls, function: Handle) -> Result<[u32; 2], Refused> {
    let ask = |number| function_attribute(calls, function, number);
    Ok([ask(attribute::REGISTERS)?, ask(attribute::LOCAL_BYTES)?])
}

fn function_attribute(calls: &Calls, function: Handle, number: i32) -> Result<u32, Refused> {
    let mut value = 0;
    // SAFETY: the function is loaded, and `value` is a place for the answer.
    let status = unsafe { (calls.func_get_attribute)(&raw mut value, number, function) };
    check(status, "tell an attribute of a kernel")?;
    Ok(value.unsigned_abs())
}

// A launch is about 2 µs, most of it the driver's. What stands here is compiled for each vendor by itself, so that
// between the call of the runtime, which does not know the vendor, and that of the driver there is no other call that
// is not known when the code is compiled.
impl<V: Vendor> LoadedKernel for Kernel<V> {
    #[inline]
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        if launch.args.len() != self.params {
            return Err(self.wrong_count(launch.args.len()));
        }
        if launch.grid.contains(&0) {
            return Ok(());
        }
        let blocks = self.blocks(launch.grid)?;
        // SAFETY: as the caller promises; arguments and grid are as they have to be.
        unsafe { V::launch(self, blocks, launch) }?;
        self.gpu.driver().launched.note(self.name);
        Ok(())
    }

    fn handle(&self) -> u64 {
        self.function as u64
    }

    fn residency(&self) -> Option<Residency> {
        V::residency(self)
    }

    fn n_regs(&self) -> u32 {
        self.registers
    }

    fn n_spills(&self) -> u32 {
        self.spills
    }

    fn n_max_threads(&self) -> u32 {
        self.max_threads
    }
}
