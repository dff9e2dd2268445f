//! Launching: the arguments as the driver wants them.
//!
//! A kernel takes its parameters in the order of its signature, then the tensor maps that are
//! made of them ([`super::launch_maps`]), then the addresses of its global scratch memory and of the memory
//! of a profiler. Nothing here waits. Device memory is taken for graphs alone (see [`super::replay`]), outside of captures.

use super::api::{Handle, LaunchAttribute, LaunchConfig, attribute};
use super::error::status;
use super::module::Module;
use super::replay::Pointers;
use smallvec::SmallVec;
use std::ffi::c_void;
use target::{DeviceFacts, Grid, Launch, LoadedKernel, TargetError};

/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;

/// The largest grid.
const LARGEST: Grid = [i32::MAX as u32, 65_535, 65_535];

/// How a kernel is launched: what its artifact says beyond the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Lanes of a program.
    threads: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u64,
    /// Blocks of a cluster along each axis; one program is `ctas` of them along x.
    pub(super) cluster: [u32; 3],
    ctas: u32,
    pub(super) attributes: SmallVec<[LaunchAttribute; 3]>,
}

impl Shape {
    /// Of the facts of an artifact.
    pub(super) fn of(facts: &DeviceFacts, shared: u64) -> Shape {
        let ctas = facts.num_ctas;
        let cluster = [ctas, 1, 1];
        let mut attributes = SmallVec::new();
        if cluster != [1, 1, 1] {
            attributes.push(LaunchAttribute::new(attribute::CLUSTER_DIMENSION, &cluster));
        }
        if facts.cooperative {
            attributes.push(LaunchAttribute::new(attribute::COOPERATIVE, &[1]));
        }
        if facts.overlaps {
            attributes.push(LaunchAttribute::new(attribute::PROGRAMMATIC_STREAM_SERIALIZATION, &[1]));
        }
        Shape { threads: facts.lanes(), shared, cluster, ctas, attributes }
    }

    /// Lanes of a block.
    pub(super) fn threads(&self) -> u32 {
        self.threads
    }
}

impl Module {
    /// The grid in blocks.
    #[inline]
    fn blocks(&self, grid: Grid) -> Result<Grid, TargetError> {
        let x = grid[0].checked_mul(self.shape.ctas);
        let blocks = [x.unwrap_or(u32::MAX), grid[1], grid[2]];
        match (0..3).find(|&axis| blocks[axis] > LARGEST[axis]) {
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
            LARGEST[axis] / if axis == 0 { self.shape.ctas } else { 1 }
        ))
    }

    #[cold]
    fn failed(&self, status: i32, grid: Grid) -> TargetError {
        let reason = super::error::describe(&self.gpu.driver.api, status);
        if super::error::is_sticky(status) {
            return self.gpu.driver.report(super::error::Refused { status, doing: "launch" });
        }
        let threads = self.shape.threads;
        let more = match status {
            status::LAUNCH_OUT_OF_RESOURCES => {
                return TargetError::OutOfResources {
                    name: "registers".into(),
                    required: u64::from(self.registers) * u64::from(threads),
                    limit: self.gpu.attribute(12).unwrap_or(0).unsigned_abs(),
                };
            }
            status::INVALID_VALUE | status::COOPERATIVE_LAUNCH_TOO_LARGE => format!(
                "; grid {grid:?}, {threads} threads, {} bytes of shared memory, clusters of {:?}",
                self.shape.shared, self.shape.cluster
            ),
            status::OUT_OF_MEMORY => "; local memory for every thread is taken at the launch".to_owned(),
            _ => String::new(),
        };
        TargetError::Launch(format!("kernel `{}` could not be launched: {reason}{more}", self.name))
    }

    #[inline]
    fn submit(&self, blocks: Grid, stream: Handle, params: *mut *mut c_void) -> i32 {
        let api = &self.gpu.driver.api;
        let function = self.function as Handle;
        let [x, y, z] = blocks;
        let (threads, shared) = (self.shape.threads, self.shape.shared as u32);
        let none = std::ptr::null_mut();
        if self.shape.attributes.is_empty() {
            // SAFETY: the function is loaded, and there is one pointer for each of its parameters, to a slot of at least its
            // size.
            return unsafe {
                (api.launch_kernel)(function, x, y, z, threads, 1, 1, shared, stream, params, none)
            };
        }
        let config = LaunchConfig {
            grid: blocks,
            block: [threads, 1, 1],
            shared,
            stream,
            attributes: self.shape.attributes.as_ptr(),
            attribute_count: self.shape.attributes.len() as u32,
        };
        // SAFETY: as above; the attributes live as long as the kernel.
        unsafe { (api.launch_kernel_ex)(&raw const config, function, params, none) }
    }
}

impl LoadedKernel for Module {
    #[inline]
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        if launch.args.len() != self.params {
            let (takes, given) = (self.params, launch.args.len());
            return Err(TargetError::Launch(format!(
                "kernel `{}` takes {takes} arguments, {given} were given",
                self.name
            )));
        }
        if launch.grid.contains(&0) {
            return Ok(());
        }
        let blocks = self.blocks(launch.grid)?;
        let extra = [launch.scratch, 0u64];
        let maps = self.maps.make(&self.gpu, launch.args)?;
        let mut params = Pointers::with_capacity(self.params + maps.len() + extra.len());
        // Pushing within the capacity is a store; extending from a chain is a call.
        for slot in launch.args {
            params.push(std::ptr::from_ref(slot).cast_mut().cast());
        }
        for map in &maps {
            params.push(std::ptr::from_ref(map).cast_mut().cast());
        }
        for slot in &extra {
            params.push(std::ptr::from_ref(slot).cast_mut().cast());
        }
        let driver = self.gpu.driver;
        let _entered = self.gpu.enter().map_err(|refused| driver.report(refused))?;
        // SAFETY: there is one pointer for each parameter of the kernel.
        if !unsafe { self.replay(blocks, launch, &mut params) } {
            let status = self.submit(blocks, launch.stream as Handle, params.as_mut_ptr());
            if status != status::SUCCESS {
                return Err(self.failed(status, launch.grid));
            }
        }
        driver.trail.note(self.name);
        Ok(())
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
        self.max_threads
    }
}
