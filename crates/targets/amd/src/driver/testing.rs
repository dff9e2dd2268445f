//! A HIP runtime of our own for tests: it keeps a list of calls and does what a test asks of it.

use super::Driver;
use super::api::{Api, Handle, Properties, Status};
use gpu::driver::Calls;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use target::TargetError;

/// What the runtime is to do, and what was asked of it, on this thread.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The function that fails, and with what.
    pub(crate) fails: Option<(&'static str, Status)>,
    pub(crate) devices: i32,
    pub(crate) version: i32,
    pub(crate) arch: &'static str,
    pub(crate) capturing: bool,
    /// The device that is current.
    pub(crate) current: i32,
    pub(crate) calls: Vec<&'static str>,
    /// The slots of the last launch, and its sizes: grid, lanes, LDS.
    pub(crate) slots: Vec<u64>,
    pub(crate) sizes: [u32; 5],
    /// What a launch writes to the log: words behind the first two.
    pub(crate) log: Vec<u64>,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            fails: None,
            devices: 1,
            version: 70_100_000,
            arch: "gfx942:sramecc+:xnack-",
            capturing: false,
            current: 0,
            calls: Vec::new(),
            slots: Vec::new(),
            sizes: [0; 5],
            log: Vec::new(),
        }
    }
}

thread_local! {
    static SCRIPT: RefCell<Script> = RefCell::default();
}

/// The script of this thread, to be read or changed.
pub(crate) fn script<T>(work: impl FnOnce(&mut Script) -> T) -> T {
    SCRIPT.with_borrow_mut(work)
}

/// A runtime by a script.
pub(crate) fn driver(own: Script) -> Result<&'static Driver, TargetError> {
    script(|script| *script = own);
    let driver = Driver::with_api(api());
    script(|script| script.calls.clear());
    driver
}

/// Notes a call; the status that it is to answer with.
fn called(name: &'static str) -> Status {
    script(|script| {
        script.calls.push(name);
        script.fails.filter(|(failing, _)| *failing == name).map_or(0, |(_, status)| status)
    })
}

/// Puts an answer in its place, where the call succeeds.
fn answer<T>(name: &'static str, place: *mut T, value: T) -> Status {
    let status = called(name);
    if status == 0 {
        // SAFETY: the caller gives a place for the answer.
        unsafe { place.write(value) };
    }
    status
}

const MODULE: usize = 0x100;
const FUNCTION: usize = 0x200;
/// Arguments of the kernels of tests, the two behind them included.
pub(crate) const SLOTS: usize = 4;

extern "C" fn init(_: c_uint) -> Status {
    called("init")
}
extern "C" fn version(place: *mut c_int) -> Status {
    answer("version", place, script(|script| script.version))
}
extern "C" fn name(_: Status) -> *const c_char {
    c"hipErrorOfTest".as_ptr()
}
extern "C" fn meaning(_: Status) -> *const c_char {
    c"the test says so".as_ptr()
}
extern "C" fn count(place: *mut c_int) -> Status {
    answer("count", place, script(|script| script.devices))
}
extern "C" fn get_device(place: *mut c_int) -> Status {
    answer("get_device", place, script(|script| script.current))
}
extern "C" fn set_device(ordinal: c_int) -> Status {
    script(|script| script.current = ordinal);
    called("set_device")
}
extern "C" fn properties(place: *mut Properties, _: c_int) -> Status {
    let mut bytes = [0; super::api::PROPERTY_BYTES];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, b"AMD Instinct of tests");
    put(288, &(64u64 << 30).to_le_bytes());
    put(296, &(64u64 << 10).to_le_bytes());
    put(308, &64i32.to_le_bytes());
    put(388, &304i32.to_le_bytes());
    put(1160, script(|script| script.arch).as_bytes());
    answer("properties", place, Properties(bytes))
}
extern "C" fn synchronize() -> Status {
    called("synchronize")
}
extern "C" fn malloc(place: *mut u64, _: usize) -> Status {
    answer("malloc", place, 0x1000)
}
extern "C" fn free(_: u64) -> Status {
    called("free")
}
extern "C" fn host_malloc(place: *mut *mut c_void, bytes: usize, _: c_uint) -> Status {
    let memory = Box::leak(vec![0u64; bytes / 8].into_boxed_slice());
    answer("host_malloc", place, memory.as_mut_ptr().cast())
}
extern "C" fn copy_in(_: u64, _: *const c_void, _: usize) -> Status {
    called("copy_in")
}
extern "C" fn copy_out(_: *mut c_void, _: u64, _: usize) -> Status {
    called("copy_out")
}
extern "C" fn fill(_: u64, _: u8, _: usize, _: Handle) -> Status {
    called("fill")
}
extern "C" fn pointer(place: *mut c_void, _: c_int, address: u64) -> Status {
    answer("pointer", place.cast(), address)
}
extern "C" fn load(place: *mut Handle, _: *const c_void) -> Status {
    answer("load", place, MODULE as Handle)
}
extern "C" fn find(place: *mut Handle, _: Handle, _: *const c_char) -> Status {
    answer("find", place, FUNCTION as Handle)
}
extern "C" fn attribute(place: *mut c_int, number: c_int, _: Handle) -> Status {
    // The first is how many lanes a thread block may have.
    answer("attribute", place, if number == 0 { 1024 } else { number * 16 })
}

/// Keeps what a launch hands in.
fn launched(grid: [c_uint; 3], lanes: c_uint, lds: c_uint, params: *mut *mut c_void) {
    // SAFETY: there are so many pointers to slots.
    let slots: Vec<u64> = (0..SLOTS).map(|at| unsafe { *(*params.add(at)).cast::<u64>() }).collect();
    let words = script(|script| script.log.clone());
    if let Some(log) = slots.last().filter(|log| **log != 0) {
        let place = *log as *mut u64;
        let bytes = crate::log::FIRST + 8 * words.len() as u64;
        // SAFETY: the driver has given so much memory.
        unsafe {
            place.write(bytes);
            words.iter().enumerate().for_each(|(at, word)| place.add(2 + at).write(*word));
        }
    }
    script(|script| {
        script.slots = slots;
        script.sizes = [grid[0], grid[1], grid[2], lanes, lds];
    });
}

extern "C" fn launch(
    _: Handle,
    x: c_uint,
    y: c_uint,
    z: c_uint,
    lanes: c_uint,
    _: c_uint,
    _: c_uint,
    lds: c_uint,
    _: Handle,
    params: *mut *mut c_void,
    _: *mut *mut c_void,
) -> Status {
    launched([x, y, z], lanes, lds, params);
    called("launch")
}
extern "C" fn cooperative(
    _: Handle,
    x: c_uint,
    y: c_uint,
    z: c_uint,
    lanes: c_uint,
    _: c_uint,
    _: c_uint,
    lds: c_uint,
    _: Handle,
    params: *mut *mut c_void,
) -> Status {
    launched([x, y, z], lanes, lds, params);
    called("cooperative")
}
extern "C" fn stream_synchronize(_: Handle) -> Status {
    called("stream_synchronize")
}
extern "C" fn capturing(_: Handle, place: *mut c_int) -> Status {
    answer("capturing", place, script(|script| i32::from(script.capturing)))
}
extern "C" fn event_create(place: *mut Handle, _: c_uint) -> Status {
    answer("event_create", place, 0x300 as Handle)
}
extern "C" fn event_record(_: Handle, _: Handle) -> Status {
    called("event_record")
}
extern "C" fn event_synchronize(_: Handle) -> Status {
    called("event_synchronize")
}
extern "C" fn event_elapsed(place: *mut f32, _: Handle, _: Handle) -> Status {
    answer("event_elapsed", place, 1.5)
}
extern "C" fn event_destroy(_: Handle) -> Status {
    called("event_destroy")
}

extern "C" fn capture_mode(_: *mut c_int) -> Status {
    called("capture_mode")
}

fn api() -> Api {
    Api {
        calls: Calls {
            init,
            driver_get_version: version,
            device_get_count: count,
            synchronize,
            mem_alloc: malloc,
            mem_free: free,
            memcpy_htod: copy_in,
            memcpy_dtoh: copy_out,
            memset_d8_async: fill,
            pointer_get_attribute: pointer,
            func_get_attribute: attribute,
            launch_kernel: launch,
            event_create,
            event_record,
            event_synchronize,
            event_elapsed_time: event_elapsed,
            event_destroy,
            stream_is_capturing: capturing,
            thread_exchange_stream_capture_mode: capture_mode,
        },
        get_error_name: name,
        get_error_string: meaning,
        get_device,
        set_device,
        get_device_properties: properties,
        host_malloc,
        module_load_data: load,
        module_get_function: find,
        launch_cooperative_kernel: cooperative,
        stream_synchronize,
    }
}
