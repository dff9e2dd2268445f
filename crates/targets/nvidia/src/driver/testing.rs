//! A driver that does nothing but remember what it was asked: tests run without a GPU.

use super::Driver;
use super::api::{
    Api, DeviceHandle, DevicePointer, Handle, KernelNode, LaunchAttribute, LaunchConfig, Status,
};
use gpu::driver::Calls;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// What the driver was asked and how it is to answer, on this thread.
#[derive(Default)]
pub(crate) struct Fake {
    /// Calls in order: the function and what matters of its arguments.
    pub(crate) calls: Vec<String>,
    /// Functions that refuse, with their status.
    pub(crate) refuse: BTreeMap<&'static str, Status>,
    /// Attributes of devices, of functions, and of functions whose text asks for two programs on an SM ("of two"), by
    /// name and number.
    pub(crate) attributes: BTreeMap<(&'static str, i32), i32>,
    /// How many parameters a launch takes.
    pub(crate) params: usize,
    /// The slots of the last launch.
    pub(crate) slots: Vec<u64>,
    /// The attributes of the last launch.
    pub(crate) launch_attributes: Vec<LaunchAttribute>,
    /// What the assembler says.
    pub(crate) log: &'static str,
    /// Whether streams are captured.
    pub(crate) capturing: bool,
    /// How many graphs there are.
    graphs: usize,
    /// Whether the text that was loaded last asks for two programs on an SM.
    of_two: bool,
    current: usize,
}

/// The address of the function of a text that asks for two programs on an SM.
pub(crate) const OF_TWO: usize = 7;

thread_local! {
    static FAKE: RefCell<Fake> = RefCell::default();
}

/// Looks at or changes what this thread's driver knows.
pub(crate) fn fake<R>(work: impl FnOnce(&mut Fake) -> R) -> R {
    FAKE.with_borrow_mut(work)
}

/// The calls since the last question.
pub(crate) fn calls() -> Vec<String> {
    fake(|fake| std::mem::take(&mut fake.calls))
}

/// A driver with two devices of compute capability 9.0.
pub(crate) fn driver() -> &'static Driver {
    let numbers = [(75, 9), (76, 0), (97, 232_448), (16, 132), (10, 32), (12, 65_536), (13, 1_980_000)];
    let of_functions = [(0, 1024), (1, 0), (3, 16), (4, 40)];
    fake(|fake| {
        *fake = Fake { params: 2, ..Fake::default() };
        fake.attributes.extend(numbers.map(|(number, value)| (("device", number), value)));
        fake.attributes.extend(of_functions.map(|(number, value)| (("function", number), value)));
    });
    let driver = Driver::with_api(API).expect("the fake starts");
    calls();
    driver
}

/// Remembers a call; the status it answers with.
fn call(name: &'static str, arguments: String) -> Status {
    fake(|fake| {
        fake.calls.push(format!("{name}({arguments})"));
        fake.refuse.get(name).copied().unwrap_or(0)
    })
}

/// Remembers a call that gives something back.
fn give<T>(name: &'static str, arguments: String, place: *mut T, value: T) -> Status {
    let status = call(name, arguments);
    if status == 0 {
        // SAFETY: the caller of a driver's function gives a place for the answer.
        unsafe { place.write(value) };
    }
    status
}

fn handle(number: usize) -> Handle {
    std::ptr::without_provenance_mut(number)
}

macro_rules! plain {
    ($($name:ident ($($arg:ident: $ty:ty),*);)*) => { $(
        unsafe extern "C" fn $name($($arg: $ty),*) -> Status {
            let arguments: Vec<String> = vec![$(format!("{:?}", $arg)),*];
            call(stringify!($name), arguments.join(", "))
        }
    )* };
}

// Example: `ctx_synchronize();` is a function that remembers `ctx_synchronize()`.
plain! {
    ctx_synchronize();
    mem_free(address: DevicePointer);
    memcpy_dtoh(to: *mut c_void, from: DevicePointer, bytes: usize);
    memset_d8_async(address: DevicePointer, byte: u8, bytes: usize, stream: Handle);
    func_set_attribute(function: Handle, number: c_int, value: c_int);
    func_set_cache_config(function: Handle, config: c_int);
    link_destroy(state: Handle);
    graph_exec_destroy(exec: Handle);
    graph_destroy(graph: Handle);
    event_record(event: Handle, stream: Handle);
    event_query(event: Handle);
    event_synchronize(event: Handle);
    event_destroy(event: Handle);
}

unsafe extern "C" fn init(_flags: c_uint) -> Status {
    call("init", String::new())
}

unsafe extern "C" fn driver_get_version(place: *mut c_int) -> Status {
    give("driver_get_version", String::new(), place, 13_000)
}

unsafe extern "C" fn get_error_name(_status: Status, place: *mut *const c_char) -> Status {
    // SAFETY: as in `give`.
    unsafe { place.write(c"CUDA_ERROR_FAKE".as_ptr()) };
    0
}

unsafe extern "C" fn get_error_string(_status: Status, place: *mut *const c_char) -> Status {
    // SAFETY: as in `give`.
    unsafe { place.write(c"a made-up error".as_ptr()) };
    0
}

unsafe extern "C" fn device_get_count(place: *mut c_int) -> Status {
    give("device_get_count", String::new(), place, 2)
}

unsafe extern "C" fn device_get(place: *mut DeviceHandle, ordinal: c_int) -> Status {
    give("device_get", ordinal.to_string(), place, 70 + ordinal)
}

unsafe extern "C" fn device_get_name(place: *mut c_char, _room: c_int, _device: DeviceHandle) -> Status {
    let name = c"Fake GPU";
    // SAFETY: the buffer of the caller is longer.
    unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), place, name.count_bytes() + 1) };
    0
}

unsafe extern "C" fn device_get_attribute(place: *mut c_int, number: c_int, _device: DeviceHandle) -> Status {
    match fake(|fake| fake.attributes.get(&("device", number)).copied()) {
        // SAFETY: as in `give`.
        Some(value) => unsafe { place.write(value) },
        None => return 1,
    }
    0
}

unsafe extern "C" fn device_total_mem(place: *mut usize, _device: DeviceHandle) -> Status {
    // SAFETY: as in `give`.
    unsafe { place.write(1 << 37) };
    0
}

unsafe extern "C" fn device_primary_ctx_retain(place: *mut Handle, device: DeviceHandle) -> Status {
    give("device_primary_ctx_retain", device.to_string(), place, handle(1000 + device as usize))
}

unsafe extern "C" fn ctx_get_current(place: *mut Handle) -> Status {
    // SAFETY: as in `give`.
    unsafe { place.write(handle(fake(|fake| fake.current))) };
    0
}

unsafe extern "C" fn ctx_set_current(context: Handle) -> Status {
    fake(|fake| fake.current = context as usize);
    call("ctx_set_current", (context as usize).to_string())
}

unsafe extern "C" fn ctx_get_device(place: *mut DeviceHandle) -> Status {
    let device = fake(|fake| fake.current as i32 % 100);
    give("ctx_get_device", String::new(), place, device)
}

unsafe extern "C" fn mem_alloc(place: *mut DevicePointer, bytes: usize) -> Status {
    give("mem_alloc", bytes.to_string(), place, 0x1000)
}

unsafe extern "C" fn memcpy_htod(to: DevicePointer, _from: *const c_void, bytes: usize) -> Status {
    call("memcpy_htod", format!("{to:#x}, {bytes}"))
}

unsafe extern "C" fn pointer_get_attribute(
    place: *mut c_void,
    _what: c_int,
    address: DevicePointer,
) -> Status {
    give("pointer_get_attribute", format!("{address:#x}"), place.cast(), address)
}

unsafe extern "C" fn library_load_data(
    place: *mut Handle,
    image: *const c_void,
    _options: *mut c_int,
    _values: *mut *mut c_void,
    _count: c_uint,
    _library_options: *mut c_int,
    _library_values: *mut *mut c_void,
    _library_count: c_uint,
) -> Status {
    // SAFETY: an image is a cubin, whose first bytes hold no zero, or text with a zero behind it.
    let is_text = unsafe { *image.cast::<u8>() } != 0x7f;
    // SAFETY: as above.
    let text = is_text.then(|| unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy());
    fake(|fake| fake.of_two = text.is_some_and(|text| text.contains("\n.minnctapersm 2\n")));
    give("library_load_data", String::new(), place, handle(5))
}

unsafe extern "C" fn library_get_kernel(place: *mut Handle, _library: Handle, name: *const c_char) -> Status {
    // SAFETY: the caller hands over a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    give("library_get_kernel", name, place, handle(4))
}

unsafe extern "C" fn kernel_get_function(place: *mut Handle, _kernel: Handle) -> Status {
    let function = if fake(|fake| fake.of_two) { OF_TWO } else { 6 };
    give("kernel_get_function", String::new(), place, handle(function))
}

unsafe extern "C" fn func_get_attribute(place: *mut c_int, number: c_int, function: Handle) -> Status {
    let of_two = (function as usize == OF_TWO).then_some(("of two", number));
    let value = fake(|fake| {
        let own = of_two.and_then(|key| fake.attributes.get(&key));
        own.or_else(|| fake.attributes.get(&("function", number))).copied()
    });
    // An invalid value, to a driver.
    let Some(value) = value else { return 1 };
    // SAFETY: as in `give`.
    unsafe { place.write(value) };
    0
}

unsafe extern "C" fn link_create(
    count: c_uint,
    numbers: *mut c_int,
    values: *mut *mut c_void,
    place: *mut Handle,
) -> Status {
    let log = fake(|fake| fake.log);
    for at in 0..count as usize {
        // SAFETY: the caller gives as many numbers and values as it says; the log is as long as it says.
        unsafe {
            if *numbers.add(at) == 5 {
                std::ptr::copy_nonoverlapping(log.as_ptr(), (*values.add(at)).cast(), log.len());
            }
        }
    }
    give("link_create", count.to_string(), place, handle(8))
}

unsafe extern "C" fn link_add_data(
    _state: Handle,
    kind: c_int,
    _data: *mut c_void,
    bytes: usize,
    _name: *const c_char,
    _count: c_uint,
    _numbers: *mut c_int,
    _values: *mut *mut c_void,
) -> Status {
    call("link_add_data", format!("{kind}, {bytes}"))
}

unsafe extern "C" fn link_complete(_state: Handle, place: *mut *mut c_void, bytes: *mut usize) -> Status {
    static CUBIN: [u8; 4] = *b"\x7fELF";
    // SAFETY: as in `give`.
    unsafe { bytes.write(CUBIN.len()) };
    give("link_complete", String::new(), place, CUBIN.as_ptr().cast_mut().cast())
}

/// # Safety
/// There are as many pointers as the fake was told, each to a slot.
unsafe fn remember(params: *mut *mut c_void) {
    fake(|fake| {
        // SAFETY: as the caller promises.
        fake.slots = (0..fake.params).map(|at| unsafe { (*params.add(at)).cast::<u64>().read() }).collect();
    });
}

unsafe extern "C" fn launch_kernel(
    _function: Handle,
    x: c_uint,
    y: c_uint,
    z: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Status {
    // SAFETY: the caller of a launch promises it.
    unsafe { remember(params) };
    call("launch_kernel", format!("{:?}, {:?}, {shared}, {}", [x, y, z], [bx, by, bz], stream as usize))
}

unsafe extern "C" fn launch_kernel_ex(
    config: *const LaunchConfig,
    _function: Handle,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Status {
    // SAFETY: the caller hands over a whole configuration, and what a launch promises.
    let config = unsafe {
        remember(params);
        &*config
    };
    let count = config.attribute_count as usize;
    // SAFETY: there are as many attributes as it says.
    let attributes = unsafe { std::slice::from_raw_parts(config.attributes, count) }.to_vec();
    fake(|fake| fake.launch_attributes = attributes);
    call(
        "launch_kernel_ex",
        format!("{:?}, {:?}, {}, {}", config.grid, config.block, config.shared, config.stream as usize),
    )
}

unsafe extern "C" fn event_create(place: *mut Handle, _flags: c_uint) -> Status {
    give("event_create", String::new(), place, handle(9))
}

unsafe extern "C" fn event_elapsed_time(place: *mut f32, _start: Handle, _end: Handle) -> Status {
    give("event_elapsed_time", String::new(), place, 1.5)
}

unsafe extern "C" fn stream_is_capturing(_stream: Handle, place: *mut c_int) -> Status {
    // SAFETY: as in `give`.
    unsafe { place.write(fake(|fake| fake.capturing).into()) };
    0
}

unsafe extern "C" fn occupancy(
    place: *mut c_int,
    _function: Handle,
    _threads: c_int,
    _shared: usize,
) -> Status {
    // SAFETY: as in `give`.
    unsafe { place.write(1) };
    0
}

unsafe extern "C" fn graph_create(place: *mut Handle, _flags: c_uint) -> Status {
    let number = fake(|fake| {
        fake.graphs += 1;
        100 * fake.graphs
    });
    give("graph_create", String::new(), place, handle(number))
}

/// # Safety
/// The node is a whole one, with pointers for all of its parameters.
unsafe fn node(name: &'static str, graph: Handle, node: *const KernelNode) -> Status {
    // SAFETY: as the caller promises.
    let node = unsafe {
        remember((*node).params);
        &*node
    };
    call(name, format!("{}, {:?}, {:?}, {}", graph as usize, node.grid, node.block, node.shared))
}

unsafe extern "C" fn graph_add_kernel_node(
    place: *mut Handle,
    graph: Handle,
    _behind: *const Handle,
    _count: usize,
    params: *const KernelNode,
) -> Status {
    // SAFETY: as in `give`; the caller hands over a whole node.
    unsafe {
        place.write(handle(graph as usize + 1));
        node("graph_add_kernel_node", graph, params)
    }
}

unsafe extern "C" fn graph_instantiate(place: *mut Handle, graph: Handle, _flags: u64) -> Status {
    give("graph_instantiate", String::new(), place, handle(graph as usize + 2))
}

unsafe extern "C" fn graph_exec_kernel_node_set_params(
    exec: Handle,
    _node: Handle,
    params: *const KernelNode,
) -> Status {
    // SAFETY: the caller hands over a whole node.
    unsafe { node("graph_exec_kernel_node_set_params", exec, params) }
}

unsafe extern "C" fn graph_launch(exec: Handle, stream: Handle) -> Status {
    call("graph_launch", format!("{}, {}", exec as usize, stream as usize))
}

unsafe extern "C" fn thread_exchange_stream_capture_mode(mode: *mut c_int) -> Status {
    // SAFETY: the caller gives a place that holds the new mode.
    let new = unsafe { mode.replace(0) };
    call("thread_exchange_stream_capture_mode", new.to_string())
}

unsafe extern "C" fn tensor_map_encode_tiled(
    map: *mut c_void,
    element: c_int,
    rank: c_uint,
    base: DevicePointer,
    shape: *const u64,
    strides: *const u64,
    block: *const c_uint,
    _steps: *const c_uint,
    _interleave: c_int,
    swizzle: c_int,
    _promotion: c_int,
    fill: c_int,
) -> Status {
    assert!((map as usize).is_multiple_of(64), "the driver asks for this alignment");
    if fake(|fake| fake.current) == 0 {
        return 201;
    }
    let rank = rank as usize;
    // SAFETY: the caller gives lists as long as the rank says, the strides one shorter.
    let (shape, strides, block) = unsafe {
        let shape = std::slice::from_raw_parts(shape, rank);
        (shape, std::slice::from_raw_parts(strides, rank - 1), std::slice::from_raw_parts(block, rank))
    };
    call(
        "tensor_map_encode_tiled",
        format!("{element}, {base:#x}, {shape:?}, {strides:?}, {block:?}, {swizzle}, {fill}"),
    )
}

/// The table of the functions above.
pub(crate) const API: Api = Api {
    calls: Calls {
        synchronize: ctx_synchronize,
        init,
        driver_get_version,
        device_get_count,
        mem_alloc,
        mem_free,
        memcpy_htod,
        memcpy_dtoh,
        memset_d8_async,
        pointer_get_attribute,
        func_get_attribute,
        launch_kernel,
        event_create,
        event_record,
        event_synchronize,
        event_elapsed_time,
        event_destroy,
        stream_is_capturing,
        thread_exchange_stream_capture_mode,
    },
    get_error_name,
    get_error_string,
    device_get,
    device_get_name,
    device_get_attribute,
    device_total_mem,
    device_primary_ctx_retain,
    ctx_get_current,
    ctx_set_current,
    ctx_get_device,
    library_load_data,
    library_get_kernel,
    kernel_get_function,
    func_set_attribute,
    func_set_cache_config,
    occupancy,
    link_create,
    link_add_data,
    link_complete,
    link_destroy,
    launch_kernel_ex,
    graph_create,
    graph_add_kernel_node,
    graph_instantiate,
    graph_exec_kernel_node_set_params,
    graph_launch,
    graph_exec_destroy,
    graph_destroy,
    event_query,
    tensor_map_encode_tiled,
};
