//! The functions of the HIP runtime that are used here, as a table that is filled from its library at run time.
//!
//! The table is plain data, so a test fills it with functions of its own and sees every call. Names are those of the
//! runtime without `hip`. A [`Handle`] is a `hipModule_t`, `hipFunction_t`, `hipStream_t` or `hipEvent_t`.

use gpu::driver::Symbols;
pub use gpu::driver::{Handle, Status};
use gpu::driver_table;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Bytes of `hipDeviceProp_tR0600`, with room for what later versions add.
pub const PROPERTY_BYTES: usize = 4096;

/// `hipDeviceProp_tR0600`, read by offsets.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct Properties(pub [u8; PROPERTY_BYTES]);

/// The names of what all drivers have.
pub(super) const SYMBOLS: Symbols = Symbols {
    init: "hipInit",
    driver_get_version: "hipDriverGetVersion",
    device_get_count: "hipGetDeviceCount",
    synchronize: "hipDeviceSynchronize",
    mem_alloc: "hipMalloc",
    mem_free: "hipFree",
    memcpy_htod: "hipMemcpyHtoD",
    memcpy_dtoh: "hipMemcpyDtoH",
    memset_d8_async: "hipMemsetD8Async",
    pointer_get_attribute: "hipPointerGetAttribute",
    func_get_attribute: "hipFuncGetAttribute",
    launch_kernel: "hipModuleLaunchKernel",
    event_create: "hipEventCreateWithFlags",
    event_record: "hipEventRecord",
    event_synchronize: "hipEventSynchronize",
    event_elapsed_time: "hipEventElapsedTime",
    event_destroy: "hipEventDestroy",
    stream_is_capturing: "hipStreamIsCapturing",
    thread_exchange_stream_capture_mode: "hipThreadExchangeStreamCaptureMode",
};

// Example: `get_device = "hipGetDevice" (*mut c_int);` is a field `get_device` that calls `hipGetDevice`.
driver_table! {
    /// The runtime's functions.
    pub struct Api;

    get_error_name = "hipGetErrorName" (Status) -> *const c_char;
    get_error_string = "hipGetErrorString" (Status) -> *const c_char;

    get_device = "hipGetDevice" (*mut c_int);
    set_device = "hipSetDevice" (c_int);
    get_device_properties = "hipGetDevicePropertiesR0600" (*mut Properties, c_int);

    host_malloc = "hipHostMalloc" (*mut *mut c_void, usize, c_uint);

    module_load_data = "hipModuleLoadData" (*mut Handle, *const c_void);
    module_get_function = "hipModuleGetFunction" (*mut Handle, Handle, *const c_char);

    launch_cooperative_kernel = "hipModuleLaunchCooperativeKernel"
        (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void);

    stream_synchronize = "hipStreamSynchronize" (Handle);
}
