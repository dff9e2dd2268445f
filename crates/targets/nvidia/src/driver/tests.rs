//! What the driver is asked, in which order, and what is made of its refusals.

use super::launch_maps::Maps;
use super::testing::{API, calls, driver, fake};
use super::{Driver, LinkOptions};
use crate::tensor_layout::{Element, TensorLayout};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::{
    AlignedCopies, ArgExpr, Artifact, Device, DeviceFacts, KernelParam, Launch, LaunchFacts, LoadedKernel,
    MapElement, MapRecipe, ParamKind, ProgramLoop, Residency, Stage, TargetError,
};

fn artifact(change: impl FnOnce(&mut DeviceFacts)) -> Artifact {
    let param = |name: &str, kind| KernelParam { name: name.into(), kind };
    let mut facts = DeviceFacts::new("sm_90a", 4, 32);
    change(&mut facts);
    Artifact {
        name: "add".into(),
        stages: vec![Stage { name: "cubin".into(), bytes: b"\x7fELF".to_vec(), text: false }],
        params: vec![param("x", ParamKind::Pointer), param("n", ParamKind::Int(32))],
        shared: 1024,
        launch: LaunchFacts::Device(facts),
        metadata: BTreeMap::new(),
    }
}

fn load(driver: &'static Driver, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
    fake(|fake| fake.params = artifact.params.len() + 2);
    driver.gpus()[0].load(artifact)
}

fn launch(kernel: &dyn LoadedKernel, grid: [u32; 3], stream: u64) -> Result<(), TargetError> {
    // SAFETY: the fake reads the slots alone.
    unsafe { kernel.launch(&Launch { stream, scratch: 77, ..Launch::new(grid, &[11, 22]) }) }
}

#[test]
fn a_launch_is_one_call_with_two_more_parameters() {
    let driver = driver();
    let kernel = load(driver, &artifact(|_| {})).expect("loads");
    assert_eq!((kernel.n_regs(), kernel.n_spills(), kernel.n_max_threads()), (40, 4, 1024));
    let loaded = calls();
    assert!(loaded.contains(&"library_get_kernel(add)".to_owned()), "{loaded:?}");
    assert!(!loaded.iter().any(|call| call.starts_with("func_set")), "48 KB are free: {loaded:?}");
    launch(&*kernel, [3, 2, 1], 99).expect("launches");
    assert_eq!(calls(), ["launch_kernel([3, 2, 1], [128, 1, 1], 1024, 99)"], "nothing waits or allocates");
    assert_eq!(fake(|fake| fake.slots.clone()), [11, 22, 77, 0]);
    launch(&*kernel, [3, 0, 1], 0).expect("nothing to do");
    assert!(calls().is_empty());
}

#[test]
fn a_kernel_that_loops_over_its_programs_starts_as_many_as_run_at_a_time() {
    let driver = driver();
    for (looped, grid, started) in [
        (ProgramLoop::AlongX, [1000, 1, 1], [132, 1, 1]),
        (ProgramLoop::AlongX, [1000, 2, 1], [66, 2, 1]),
        (ProgramLoop::AlongX, [1000, 200, 2], [1, 200, 2]),
        (ProgramLoop::AlongX, [100, 1, 1], [100, 1, 1]),
        (ProgramLoop::All, [1000, 1, 1], [132, 1, 1]),
        (ProgramLoop::All, [8, 4, 32], [132, 1, 1]),
        (ProgramLoop::All, [10, 2, 3], [60, 1, 1]),
    ] {
        let artifact = artifact(|facts| facts.persistent = looped);
        let kernel = load(driver, &artifact).expect("loads");
        // 132 SMs, of which each runs one.
        assert_eq!(kernel.residency().map(Residency::programs), Some(132));
        let counts = looped.counts(&grid).iter().copied().map(u64::from);
        fake(|fake| fake.params = artifact.params.len() + 2 + counts.len());
        calls();
        launch(&*kernel, grid, 99).expect("launches");
        assert_eq!(calls(), [format!("launch_kernel({started:?}, [128, 1, 1], 1024, 99)")]);
        let passed: Vec<u64> = [11, 22].into_iter().chain(counts).chain([77, 0]).collect();
        assert_eq!(fake(|fake| fake.slots.clone()), passed);
        let most = i32::MAX as u32 - 131;
        for grid in [[most, 1, 1], [most / 2 + 1, 2, 1]].iter().take(looped.counts(&[1; 3]).len()) {
            let error = launch(&*kernel, *grid, 99).expect_err("its counter would wrap");
            assert!(error.to_string().contains("DEUTERON_PERSISTENCE=1"), "{error}");
        }
    }
}

#[test]
fn a_graph_of_such_a_kernel_counts_anew() {
    let driver = driver();
    let artifact = artifact(|facts| facts.persistent = ProgramLoop::AlongX);
    let kernel = load(driver, &artifact).expect("loads");
    fake(|fake| fake.params = artifact.params.len() + 3);
    let start = |programs| {
        launch(&*kernel, [programs, 1, 1], 9).expect("launches");
        calls()
    };
    let all: Vec<_> = (0..2 * UNTIL_A_GRAPH).flat_map(|_| start(1000)).collect();
    assert!(names(&all).contains(&"graph_instantiate"), "{all:?}");
    start(1000);
    assert_eq!(names(&start(1000)), ["graph_launch"], "nothing is new");
    // As many are started, and they do more.
    assert_eq!(names(&start(1001)), ["graph_exec_kernel_node_set_params", "graph_launch"]);
    assert_eq!(fake(|fake| fake.slots.clone()), [11, 22, 1001, 77, 0]);
}

#[test]
fn what_is_special_about_a_launch_goes_along() {
    let driver = driver();
    let mut large = artifact(|facts| {
        (facts.num_warps, facts.num_ctas) = (8, 2);
        (facts.cooperative, facts.overlaps) = (true, true);
    });
    large.shared = 100_000;
    let kernel = load(driver, &large).expect("loads");
    let asked = calls();
    assert!(asked.iter().any(|call| call.ends_with(", 8, 100000)")), "shared memory is asked for: {asked:?}");
    launch(&*kernel, [5, 1, 1], 0).expect("launches");
    assert_eq!(calls(), ["launch_kernel_ex([10, 1, 1], [256, 1, 1], 100000, 0)"]);
    let attributes = fake(|fake| fake.launch_attributes.clone());
    let shown: Vec<_> = attributes.iter().map(|attribute| (attribute.id, attribute.value[0])).collect();
    assert_eq!(shown, [(4, 2), (2, 1), (6, 1)]);
}

/// Launches of a kernel until it has a graph, and from one look at the device to the next.
const UNTIL_A_GRAPH: usize = 16;

/// Launches with these arguments; what the driver was asked.
fn asked(kernel: &dyn LoadedKernel, stream: u64, args: &[u64; 2]) -> Vec<String> {
    // SAFETY: as above.
    unsafe { kernel.launch(&Launch { stream, ..Launch::new([3, 1, 1], args) }) }.expect("launches");
    calls()
}

fn names(calls: &[String]) -> Vec<&str> {
    calls.iter().map(|call| call.split('(').next().unwrap_or_default()).collect()
}

/// Launches until the kernel has a graph on the stream, and it is known that the device waits.
fn settle(kernel: &dyn LoadedKernel, stream: u64) {
    let all: Vec<_> = (0..2 * UNTIL_A_GRAPH).flat_map(|_| asked(kernel, stream, &[1, 2])).collect();
    let made = ["graph_create", "graph_add_kernel_node", "graph_instantiate"];
    let there: Vec<_> = names(&all).into_iter().filter(|name| made.contains(name)).collect();
    assert_eq!(there, made);
    let plain = names(&all).iter().filter(|name| **name == "launch_kernel").count();
    assert_eq!(plain, 2 * UNTIL_A_GRAPH, "{all:?}");
    assert!(
        all.contains(&format!("event_record(0x9, {:?})", stream as *const u8)),
        "to see how far the device is: {all:?}"
    );
}

#[test]
fn a_kernel_that_is_launched_often_is_launched_by_a_graph() {
    let driver = driver();
    let kernel = load(driver, &artifact(|_| {})).expect("loads");
    settle(&*kernel, 9);
    let first = asked(&*kernel, 9, &[1, 2]);
    assert!(first.contains(&"event_record(0x9, 0x9)".to_owned()), "to see how far the device is: {first:?}");
    assert_eq!(first.last().map(String::as_str), Some("graph_launch(102, 9)"));
    assert_eq!(asked(&*kernel, 9, &[1, 2]), ["graph_launch(102, 9)"], "nothing is new");
    let changed = asked(&*kernel, 9, &[1, 3]);
    let set = "graph_exec_kernel_node_set_params(102, [3, 1, 1], [128, 1, 1], 1024)";
    assert_eq!(changed, [set, "graph_launch(102, 9)"]);
    assert_eq!(fake(|fake| fake.slots.clone()), [1, 3, 0, 0]);
    assert_eq!(asked(&*kernel, 9, &[1, 3]), ["graph_launch(102, 9)"]);
    launch(&*kernel, [4, 1, 1], 9).expect("launches");
    assert_eq!(names(&calls()), ["graph_exec_kernel_node_set_params", "graph_launch"], "the grid is new");
    assert_eq!(names(&asked(&*kernel, 8, &[1, 3])), ["launch_kernel"], "another stream");
}

#[test]
fn launches_that_somebody_looks_at_are_plain() {
    let driver = driver();
    let kernel = load(driver, &artifact(|_| {})).expect("loads");
    settle(&*kernel, 0);
    fake(|fake| fake.capturing = true);
    assert_eq!(names(&asked(&*kernel, 0, &[1, 2])), ["launch_kernel"]);
    fake(|fake| fake.capturing = false);
    let observed = Launch { observed: true, ..Launch::new([3, 1, 1], &[1, 2]) };
    // SAFETY: as above.
    unsafe { kernel.launch(&observed) }.expect("launches");
    assert_eq!(names(&calls()), ["launch_kernel"]);
    assert_eq!(names(&asked(&*kernel, 0, &[1, 2])).last(), Some(&"graph_launch"));
}

#[test]
fn while_the_device_has_work_queued_launches_are_plain() {
    let driver = driver();
    let kernel = load(driver, &artifact(|_| {})).expect("loads");
    settle(&*kernel, 0);
    let many = || (0..64).flat_map(|_| asked(&*kernel, 0, &[1, 2])).collect::<Vec<_>>();
    let count = |calls: &[String], name: &str| names(calls).iter().filter(|call| **call == name).count();
    let idle = many();
    assert_eq!((count(&idle, "graph_launch"), count(&idle, "event_record")), (64, 4));
    // CUDA_ERROR_NOT_READY
    fake(|fake| fake.refuse.insert("event_query", 600));
    let busy = many();
    assert_eq!(
        (count(&busy, "launch_kernel"), count(&busy, "event_query")),
        (64, 4),
        "it is looked now and then"
    );
    assert_eq!(count(&busy, "event_record"), 0, "the event stays where the device has to come");
    fake(|fake| fake.refuse.clear());
    let idle = many();
    assert_eq!(
        (count(&idle, "launch_kernel"), count(&idle, "graph_launch")),
        (16, 48),
        "an event of long ago says nothing"
    );
    assert_eq!(count(&idle, "event_record"), 4);
}

#[test]
fn a_graph_that_is_refused_is_not_used_again() {
    for refused in ["graph_launch", "graph_exec_kernel_node_set_params"] {
        let driver = driver();
        let kernel = load(driver, &artifact(|_| {})).expect("loads");
        settle(&*kernel, 0);
        fake(|fake| fake.refuse.insert(refused, 1));
        let first = asked(&*kernel, 0, &[5, 6]);
        assert_eq!(first.last().map(String::as_str), Some("launch_kernel([3, 1, 1], [128, 1, 1], 1024, 0)"));
        assert!(names(&first).contains(&"graph_exec_destroy"), "{first:?}");
        assert_eq!(fake(|fake| fake.slots.clone()), [5, 6, 0, 0]);
        assert_eq!(names(&asked(&*kernel, 0, &[5, 6])), ["launch_kernel"]);
    }
}

#[test]
fn few_kernels_have_graphs_and_those_that_rest_give_theirs_away() {
    let driver = driver();
    let kernels: Vec<_> = (0..5).map(|_| load(driver, &artifact(|_| {})).expect("loads")).collect();
    calls();
    // All functions of the fake are the same one, so streams tell these apart.
    (0..4).for_each(|at| settle(&*kernels[at], at as u64));
    let plain: Vec<_> = (0..100).flat_map(|_| asked(&*kernels[4], 4, &[1, 2])).collect();
    assert!(names(&plain).iter().all(|name| *name == "launch_kernel"), "there is no room");
    for round in 0..200 {
        let at = 1 + round % 3;
        assert_eq!(names(&asked(&*kernels[at], at as u64, &[1, 2])).last(), Some(&"graph_launch"));
    }
    let all: Vec<_> = (0..2 * UNTIL_A_GRAPH).flat_map(|_| asked(&*kernels[4], 4, &[1, 2])).collect();
    let relaxed = [
        "thread_exchange_stream_capture_mode(2)",
        "graph_exec_destroy(0x66)",
        "graph_destroy(0x64)",
        "event_destroy(0x9)",
    ];
    assert!(all.windows(4).any(|calls| *calls == relaxed), "the first has rested: {all:?}");
    assert_eq!(names(&asked(&*kernels[4], 4, &[1, 2])).last(), Some(&"graph_launch"));
    assert_eq!(names(&asked(&*kernels[0], 0, &[1, 2])), ["launch_kernel"]);
}

#[test]
fn old_drivers_and_tools_have_no_graphs() {
    let is_wanted = |version, variables: &[(&str, &str)]| {
        super::replay::is_wanted(version, variables.iter().map(|&(name, value)| (name.into(), value.into())))
    };
    let usual = [("PATH", "/usr/bin"), ("LD_PRELOAD", "/usr/lib/libjemalloc.so")];
    assert!(is_wanted(13_000, &usual));
    assert!(!is_wanted(12_090, &usual));
    for (name, value, wanted) in [
        ("DEUTERON_PLAIN_LAUNCHES", "1", false),
        ("DEUTERON_PLAIN_LAUNCHES", "0", true),
        ("DEUTERON_PLAIN_LAUNCHES", "", true),
        ("CUDA_INJECTION64_PATH", "/opt/tool/libInjection64.so", false),
        ("NVTX_INJECTION64_PATH", "", false),
        ("LD_PRELOAD", "/opt/tool/libTreeLauncherTargetInjection.so", false),
    ] {
        assert_eq!(is_wanted(13_000, &[("PATH", "/usr/bin"), (name, value)]), wanted, "{name}={value}");
    }
}

#[test]
fn too_much_is_said_with_numbers() {
    let driver = driver();
    let mut large = artifact(|_| {});
    large.shared = 300_000;
    let error = load(driver, &large).err().expect("there is not so much");
    assert_eq!(
        error,
        TargetError::OutOfResources { name: "shared memory".into(), required: 300_000, limit: 232_448 }
    );
    fake(|fake| fake.attributes.insert(("function", 0), 512));
    let error = load(driver, &artifact(|facts| facts.num_warps = 32)).err().expect("too many threads");
    assert_eq!(error, TargetError::OutOfResources { name: "threads".into(), required: 1024, limit: 512 });
    let kernel = load(driver, &artifact(|_| {})).expect("loads");
    let error = launch(&*kernel, [1, 70_000, 1], 0).expect_err("beyond the largest").to_string();
    assert!(error.contains("70000 programs along y") && error.contains("65535"), "{error}");
    // SAFETY: refused before anything is read.
    let error = unsafe { kernel.launch(&Launch::new([1, 1, 1], &[1])) }.expect_err("too few").to_string();
    assert!(error.contains("takes 2 arguments, 1 were given"), "{error}");
}

#[test]
fn an_error_that_comes_late_names_the_kernels() {
    let driver = driver();
    let kernel = load(driver, &artifact(|_| {})).expect("loads");
    launch(&*kernel, [1, 1, 1], 0).expect("launches");
    fake(|fake| fake.refuse.insert("ctx_synchronize", 700));
    let error = driver.gpus()[0].synchronize().expect_err("it was illegal").to_string();
    for part in ["CUDA_ERROR_FAKE (700", "the last kernel launched was `add`", "check the masks"] {
        assert!(error.contains(part), "{error}");
    }
    fake(|fake| fake.refuse.insert("launch_kernel", 700));
    let error = launch(&*kernel, [1, 1, 1], 0).expect_err("broken").to_string();
    assert!(error.contains("an earlier one"), "{error}");
    fake(|fake| fake.refuse.insert("launch_kernel", 1));
    let error = launch(&*kernel, [1, 1, 1], 0).expect_err("refused").to_string();
    assert!(error.contains("kernel `add` could not be launched") && error.contains("128 threads"), "{error}");
    fake(|fake| fake.refuse.insert("launch_kernel", 701));
    let error = launch(&*kernel, [1, 1, 1], 0).expect_err("refused");
    assert_eq!(
        error,
        TargetError::OutOfResources { name: "registers".into(), required: 40 * 128, limit: 65_536 }
    );
}

#[test]
fn contexts_come_and_go() {
    let driver = driver();
    assert_eq!(super::current_ordinal(driver), Ok(0), "a thread without a context");
    driver.gpus()[1].make_current().expect("it is there");
    assert_eq!(super::current_ordinal(driver), Ok(1));
    calls();
    let kernel = load(driver, &artifact(|_| {})).expect("loads on the first");
    calls();
    launch(&*kernel, [1, 1, 1], 0).expect("launches");
    let expected =
        ["ctx_set_current(1070)", "launch_kernel([1, 1, 1], [128, 1, 1], 1024, 0)", "ctx_set_current(1071)"];
    assert_eq!(calls(), expected, "the thread keeps its device");
    assert_eq!(super::current_ordinal(driver), Ok(1));
}

#[test]
fn memory_and_events() {
    let driver = driver();
    let gpu = &driver.gpus()[0];
    let properties = gpu.properties();
    assert_eq!((properties.name.as_str(), properties.numbers["multiprocessor_count"]), ("Fake GPU", 132));
    assert_eq!((properties.numbers["max_shared_mem"], properties.numbers["warpSize"]), (232_448, 32));
    assert!(!properties.numbers.contains_key("mem_bus_width"), "what the driver does not know is left out");
    assert_eq!(gpu.capability(), 90);
    let address = gpu.alloc(0).expect("even that");
    // SAFETY: the fake touches no memory.
    unsafe {
        gpu.copy_in(address, &[1, 2, 3]).expect("copies");
        gpu.fill(address, 9, 3, 42).expect("fills");
        gpu.free(address, 3).expect("frees");
    }
    let asked = calls();
    assert!(
        asked.contains(&"mem_alloc(1)".to_owned()) && asked.contains(&"mem_free(4096)".to_owned()),
        "{asked:?}"
    );
    fake(|fake| fake.refuse.insert("mem_alloc", 2));
    let error = gpu.alloc(1 << 50).expect_err("too much").to_string();
    assert!(error.contains("1125899906842624 bytes") && error.contains("free some memory"), "{error}");
    let (start, end) = (gpu.record_event(5).expect("records"), gpu.record_event(5).expect("records"));
    assert_eq!(gpu.elapsed_ms(start, end), Ok(1.5));
    assert_eq!(gpu.reachable(64), Some(64));
    fake(|fake| fake.refuse.insert("pointer_get_attribute", 1));
    assert_eq!(gpu.reachable(64), None);
}

#[test]
fn ptx_goes_through_the_drivers_assembler() {
    let driver = driver();
    let gpu = &driver.gpus()[0];
    assert_eq!(gpu.link(".version 8.0\n", &LinkOptions::default()).expect("links"), b"\x7fELF");
    let asked = calls();
    assert!(asked.contains(&"link_add_data(1, 14)".to_owned()), "the zero is counted: {asked:?}");
    assert!(asked.iter().any(|call| call.starts_with("link_destroy")), "{asked:?}");
    fake(|fake| {
        fake.refuse.insert("link_add_data", 218);
        fake.log = "ptxas application ptx input, line 1; fatal : no such version";
    });
    let error = gpu.link(".version 99.0\n", &LinkOptions::default()).expect_err("refused").to_string();
    assert!(error.contains("fatal : no such version\n    | .version 99.0"), "{error}");
    let mut without = artifact(|_| {});
    without.stages[0].name = "ptx".into();
    fake(|fake| fake.refuse.insert("library_load_data", 218));
    let error = load(driver, &without).err().expect("PTX that is refused").to_string();
    assert!(error.contains("no such version"), "the reason is asked of the assembler: {error}");
}

#[test]
fn a_kernel_that_lacks_a_few_registers_for_a_second_program_is_assembled_again() {
    let driver = driver();
    let text = ".visible .entry add(\n)\n.reqntid 256, 1, 1\n{\n}\n";
    let mut of_text = artifact(|facts| facts.num_warps = 8);
    of_text.stages[0] = Stage { name: "ptx".into(), bytes: text.into(), text: true };
    let registers = |first: i32, second: [i32; 2]| {
        fake(|fake| {
            fake.attributes.insert(("function", 4), first);
            fake.attributes.extend([(("of two", 4), second[0]), (("of two", 3), second[1])]);
        });
        calls();
        let kernel = load(driver, &of_text).expect("loads");
        let loads = calls().iter().filter(|call| call.starts_with("library_load_data")).count();
        launch(&*kernel, [1, 1, 1], 0).expect("launches");
        (kernel.n_regs(), kernel.n_spills(), loads)
    };
    assert_eq!(
        registers(138, [128, 24]),
        (128, 6, 2),
        "8 bytes are spilled for a second program, and 16 were before"
    );
    assert_eq!(registers(138, [128, 120]), (138, 4, 2), "too many are spilled");
    assert_eq!(registers(138, [138, 16]), (138, 4, 2), "there is no second program");
    assert_eq!(registers(128, [128, 0]), (128, 4, 1));
    assert_eq!(registers(200, [128, 0]), (200, 4, 1), "too many are missing");
    // A file of machine code is what it is.
    fake(|fake| fake.attributes.insert(("function", 4), 138));
    let kernel = load(driver, &artifact(|facts| facts.num_warps = 8)).expect("loads");
    assert_eq!(kernel.n_regs(), 138);
}

#[test]
fn a_driver_that_cannot_be_used_says_why() {
    driver();
    fake(|fake| fake.refuse.insert("init", 100));
    let error = Driver::with_api(API).expect_err("no device").to_string();
    assert!(error.contains("could not start") && error.contains("nvidia-smi"), "{error}");
}

#[test]
fn tensor_maps_turn_the_axes_around() {
    let driver = driver();
    let layout = TensorLayout {
        base: 0x4000,
        element: Element::F16,
        shape: vec![100, 64],
        strides: vec![72, 1],
        block: vec![32, 64],
        swizzle: 128,
        nan: false,
    };
    driver.gpus()[0].encode(&layout).expect("a thread without a context gets one");
    let encoded = "tensor_map_encode_tiled(6, 0x4000, [64, 100], [144], [64, 32], 3, 0)";
    assert_eq!(calls(), ["device_primary_ctx_retain(70)", "ctx_set_current(1070)", encoded]);
    driver.gpus()[0].encode(&layout).expect("encodes again");
    assert_eq!(calls(), [encoded]);
    let broken = [
        (TensorLayout { strides: vec![65, 1], ..layout.clone() }, "16 bytes"),
        (TensorLayout { strides: vec![64, 2], ..layout.clone() }, "last stride"),
        (TensorLayout { base: 8, ..layout.clone() }, "multiple of 16"),
        (TensorLayout { block: vec![32, 512], ..layout.clone() }, "1 to 256"),
        (TensorLayout { swizzle: 64, ..layout.clone() }, "more than the 64"),
        (TensorLayout { shape: vec![1; 6], ..layout }, "1 to 5 axes"),
    ];
    for (layout, part) in broken {
        let error = driver.gpus()[0].encode(&layout).expect_err("it cannot be").to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn maps_are_made_where_what_they_are_made_of_is_new() {
    let gpu = Arc::clone(&driver().gpus()[0]);
    let recipe = |base| MapRecipe {
        base,
        sizes: vec![ArgExpr::Arg { slot: 2, bits: 32 }, ArgExpr::Constant(64)],
        strides: vec![ArgExpr::Constant(64)],
        element: MapElement::Float(16),
        swizzle: 128,
        sides: vec![32, 64],
        is_written: false,
        is_copied: base == 1,
    };
    let facts = DeviceFacts { maps: vec![recipe(0), recipe(1)], ..DeviceFacts::new("sm_90a", 4, 32) };
    let maps = Maps::of(&facts);
    gpu.make_current().expect("it is there");
    calls();
    let encoded = |args: [u64; 3], address: u64| {
        let copies = Some(AlignedCopies { address, bytes: 100 * 128 });
        assert_eq!(maps.make(&gpu, &args, copies).expect("they can be made").len(), 2);
        calls().len()
    };
    assert_eq!(encoded([0x1000, 0x2000, 100], 0x8000), 2);
    assert_eq!(encoded([0x1000, 0x2000, 100], 0x8000), 0);
    assert_eq!(encoded([0x9000, 0x2000, 100], 0x8000), 1);
    assert_eq!(encoded([0x1000, 0x2000, 100], 0x8000), 0, "those of the launch before the last are kept");
    assert_eq!(encoded([0x1000, 0x2000, 99], 0x8000), 2);
    assert_eq!(encoded([0x1000, 0x2000, 99], 0x6000), 1, "the copy is elsewhere");
    for copies in [None, Some(AlignedCopies { address: 0x8000, bytes: 100 * 128 - 1 })] {
        let error = maps.make(&gpu, &[0x1000, 0x2000, 100], copies).expect_err("there is no memory");
        assert!(error.to_string().contains("no memory for copies"), "{error}");
    }
}
