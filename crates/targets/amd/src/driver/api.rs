//! The functions of the HIP runtime that are used here, as a table that is filled from its library at run time.
//!
//! The table is plain data, so a test fills it with functions of its own and sees every call. Names are those of the runtime without
//! `hip`.

use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// What almost every function returns; 0 is success.
pub type Status = c_int;
/// `hipModule_t`, `hipFunction_t`, `hipStream_t`, `hipEvent_t`: pointers that nobody looks behind.
pub type Handle = *mut c_void;

/// Bytes of `hipDeviceProp_tR0600`, with room for what later versions add.
pub const PROPERTY_BYTES: usize = 4096;

/// `hipDeviceProp_tR0600`, read by offsets.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct Properties(pub [u8; PROPERTY_BYTES]);

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($ty:ty),*) $(-> $result:ty)?;)*) => {
        /// The runtime's functions.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)] // Their documentation is the runtime's own.
        pub struct Api { $(pub $field: unsafe extern "C" fn($($ty),*) -> functions!(@ $($result)?),)* }

        impl Api {
            /// Finds every function in the library; the error names one that it lacks.
            pub(super) fn from_library(library: &Library) -> Result<Api, &'static str> {
                Ok(Api { $(
                    // SAFETY: the type is that of the runtime's header for this symbol.
                    $field: *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }.map_err(|_| $symbol)?,
                )* })
            }
        }
    };
    (@) => { Status };
    (@ $result:ty) => { $result };
}

// Example: `init = "hipInit" (c_uint);` is a field `init` that calls `hipInit`.
functions! {
    init = "hipInit" (c_uint);
    driver_get_version = "hipDriverGetVersion" (*mut c_int);
    get_error_name = "hipGetErrorName" (Status) -> *const c_char;
    get_error_string = "hipGetErrorString" (Status) -> *const c_char;

    get_device_count = "hipGetDeviceCount" (*mut c_int);
    get_device = "hipGetDevice" (*mut c_int);
    set_device = "hipSetDevice" (c_int);
    get_device_properties = "hipGetDevicePropertiesR0600" (*mut Properties, c_int);
    device_synchronize = "hipDeviceSynchronize" ();

    malloc = "hipMalloc" (*mut u64, usize);
    free = "hipFree" (u64);
    host_malloc = "hipHostMalloc" (*mut *mut c_void, usize, c_uint);
    memcpy_htod = "hipMemcpyHtoD" (u64, *const c_void, usize);
    memcpy_dtoh = "hipMemcpyDtoH" (*mut c_void, u64, usize);
    memset_d8_async = "hipMemsetD8Async" (u64, u8, usize, Handle);
    pointer_get_attribute = "hipPointerGetAttribute" (*mut c_void, c_int, u64);

    module_load_data = "hipModuleLoadData" (*mut Handle, *const c_void);
    module_get_function = "hipModuleGetFunction" (*mut Handle, Handle, *const c_char);
    func_get_attribute = "hipFuncGetAttribute" (*mut c_int, c_int, Handle);

    launch_kernel = "hipModuleLaunchKernel"
        (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
    launch_cooperative_kernel = "hipModuleLaunchCooperativeKernel"
        (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void);

    stream_synchronize = "hipStreamSynchronize" (Handle);
    stream_is_capturing = "hipStreamIsCapturing" (Handle, *mut c_int);

    event_create = "hipEventCreate" (*mut Handle);
    event_record = "hipEventRecord" (Handle, Handle);
    event_synchronize = "hipEventSynchronize" (Handle);
    event_elapsed_time = "hipEventElapsedTime" (*mut f32, Handle, Handle);
    event_destroy = "hipEventDestroy" (Handle);
}
