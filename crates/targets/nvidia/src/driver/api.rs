//! The functions of the CUDA driver that are used here, as a table that is filled from its library at run time.
//!
//! The table is plain data, so a test fills it with functions of its own and sees every call. Names are those of the
//! driver without `cu`; the symbol is the version of the function whose types stand here. A [`Handle`] is a
//! `CUcontext`, `CUlibrary`, `CUkernel`, `CUfunction`, `CUstream`, `CUevent`, `CUlinkState`, `CUgraph`, `CUgraphNode`
//! or `CUgraphExec`.

use gpu::driver::Symbols;
pub use gpu::driver::{Handle, Status};
use gpu::driver_table;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A device of the driver.
pub type DeviceHandle = c_int;
/// An address on a device.
pub type DevicePointer = u64;

/// `CUlaunchAttribute`: a number that says what, eight bytes on, a union of 64 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchAttribute {
    /// One of [`attribute`].
    pub id: c_uint,
    pad: c_uint,
    /// The union; every value used here is one to three 32-bit numbers.
    pub value: [c_uint; 16],
}

/// Numbers of launch attributes.
pub mod attribute {
    /// All programs run at the same time.
    pub const COOPERATIVE: u32 = 2;
    /// Programs of a cluster along x, y and z.
    pub const CLUSTER_DIMENSION: u32 = 4;
    /// The launch may begin before the one in front of it in the stream is finished.
    pub const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;
}

impl LaunchAttribute {
    /// An attribute with the first numbers of its value.
    pub fn new(id: u32, numbers: &[u32]) -> LaunchAttribute {
        let mut value = [0; 16];
        value.iter_mut().zip(numbers).for_each(|(place, number)| *place = *number);
        LaunchAttribute { id, pad: 0, value }
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Debug)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [c_uint; 3],
    /// Lanes of a block along x, y and z.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// The stream.
    pub stream: Handle,
    /// The first attribute.
    pub attributes: *const LaunchAttribute,
    /// How many there are.
    pub attribute_count: c_uint,
}

/// `CUDA_KERNEL_NODE_PARAMS`: a launch as a node of a graph.
#[repr(C)]
#[derive(Debug)]
pub struct KernelNode {
    /// The kernel.
    pub function: Handle,
    /// Blocks along x, y and z.
    pub grid: [c_uint; 3],
    /// Lanes of a block along x, y and z.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// Pointers to the arguments.
    pub params: *mut *mut c_void,
    /// Packed arguments; null.
    pub extra: *mut *mut c_void,
    /// A kernel of a library in place of `function`; null.
    pub kernel: Handle,
    /// Its context; null for the current one.
    pub context: Handle,
}

/// The names of what all drivers have.
pub(super) const SYMBOLS: Symbols = Symbols {
    init: "cuInit",
    driver_get_version: "cuDriverGetVersion",
    device_get_count: "cuDeviceGetCount",
    synchronize: "cuCtxSynchronize",
    mem_alloc: "cuMemAlloc_v2",
    mem_free: "cuMemFree_v2",
    memcpy_htod: "cuMemcpyHtoD_v2",
    memcpy_dtoh: "cuMemcpyDtoH_v2",
    memset_d8_async: "cuMemsetD8Async",
    pointer_get_attribute: "cuPointerGetAttribute",
    func_get_attribute: "cuFuncGetAttribute",
    launch_kernel: "cuLaunchKernel",
    event_create: "cuEventCreate",
    event_record: "cuEventRecord",
    event_synchronize: "cuEventSynchronize",
    event_elapsed_time: "cuEventElapsedTime",
    event_destroy: "cuEventDestroy_v2",
    stream_is_capturing: "cuStreamIsCapturing",
    thread_exchange_stream_capture_mode: "cuThreadExchangeStreamCaptureMode",
};

// Example: `ctx_get_current = "cuCtxGetCurrent" (*mut Handle);` is a field `ctx_get_current` that calls
// `cuCtxGetCurrent`.
driver_table! {
    /// The driver's functions.
    pub struct Api;

    get_error_name = "cuGetErrorName" (Status, *mut *const c_char);
    get_error_string = "cuGetErrorString" (Status, *mut *const c_char);

    device_get = "cuDeviceGet" (*mut DeviceHandle, c_int);
    device_get_name = "cuDeviceGetName" (*mut c_char, c_int, DeviceHandle);
    device_get_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, DeviceHandle);
    device_total_mem = "cuDeviceTotalMem_v2" (*mut usize, DeviceHandle);

    device_primary_ctx_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, DeviceHandle);
    ctx_get_current = "cuCtxGetCurrent" (*mut Handle);
    ctx_set_current = "cuCtxSetCurrent" (Handle);
    ctx_get_device = "cuCtxGetDevice" (*mut DeviceHandle);

    library_load_data = "cuLibraryLoadData"
        (*mut Handle, *const c_void, *mut c_int, *mut *mut c_void, c_uint, *mut c_int, *mut *mut c_void, c_uint);
    library_get_kernel = "cuLibraryGetKernel" (*mut Handle, Handle, *const c_char);
    kernel_get_function = "cuKernelGetFunction" (*mut Handle, Handle);
    func_set_attribute = "cuFuncSetAttribute" (Handle, c_int, c_int);
    func_set_cache_config = "cuFuncSetCacheConfig" (Handle, c_int);

    occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor" (*mut c_int, Handle, c_int, usize);

    link_create = "cuLinkCreate_v2" (c_uint, *mut c_int, *mut *mut c_void, *mut Handle);
    link_add_data = "cuLinkAddData_v2"
        (Handle, c_int, *mut c_void, usize, *const c_char, c_uint, *mut c_int, *mut *mut c_void);
    link_complete = "cuLinkComplete" (Handle, *mut *mut c_void, *mut usize);
    link_destroy = "cuLinkDestroy" (Handle);

    launch_kernel_ex = "cuLaunchKernelEx" (*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);

    graph_create = "cuGraphCreate" (*mut Handle, c_uint);
    graph_add_kernel_node = "cuGraphAddKernelNode_v2" (*mut Handle, Handle, *const Handle, usize, *const KernelNode);
    graph_instantiate = "cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
    graph_exec_kernel_node_set_params = "cuGraphExecKernelNodeSetParams_v2" (Handle, Handle, *const KernelNode);
    graph_launch = "cuGraphLaunch" (Handle, Handle);
    graph_exec_destroy = "cuGraphExecDestroy" (Handle);
    graph_destroy = "cuGraphDestroy" (Handle);

    event_query = "cuEventQuery" (Handle);

    tensor_map_encode_tiled = "cuTensorMapEncodeTiled"
        (*mut c_void, c_int, c_uint, DevicePointer, *const u64, *const u64, *const c_uint, *const c_uint,
         c_int, c_int, c_int, c_int);
}

#[cfg(test)]
mod tests {
    use super::{KernelNode, LaunchAttribute, LaunchConfig, attribute};
    use std::mem::offset_of;

    #[test]
    fn structures_are_laid_out_as_in_the_header() {
        assert_eq!((size_of::<LaunchAttribute>(), offset_of!(LaunchAttribute, value)), (72, 8));
        assert_eq!((size_of::<LaunchConfig>(), offset_of!(LaunchConfig, stream)), (56, 32));
        assert_eq!((size_of::<KernelNode>(), offset_of!(KernelNode, params)), (72, 40));
        let cluster = LaunchAttribute::new(attribute::CLUSTER_DIMENSION, &[2, 1, 1]);
        assert_eq!((cluster.id, &cluster.value[..4]), (4, &[2, 1, 1, 0][..]));
    }
}
