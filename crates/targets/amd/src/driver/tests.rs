//! What the driver does with the runtime, seen by a table of functions of our own.

use super::testing::{Script, driver, script};
use super::{candidates, load_library};
use crate::log::{HEAD, Kind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use target::{Artifact, Device, DeviceFacts, Launch, LaunchFacts, LoadedKernel, Stage, TargetError};

/// An artifact of a kernel with two parameters.
fn artifact(change: impl FnOnce(&mut DeviceFacts)) -> Artifact {
    let param = |name: &str| target::KernelParam { name: name.into(), kind: target::ParamKind::Pointer };
    let mut facts = DeviceFacts::new("gfx942", 4, 64);
    change(&mut facts);
    Artifact {
        name: "k".into(),
        stages: vec![Stage { name: "hsaco".into(), bytes: vec![1], text: false }],
        params: vec![param("a"), param("b")],
        shared: 1024,
        launch: LaunchFacts::Device(facts),
        metadata: BTreeMap::new(),
    }
}

fn kernel(own: Script, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
    driver(own)?.gpus()[0].load(artifact)
}

fn launch(kernel: &dyn LoadedKernel, launch: &Launch<'_>) -> Result<(), TargetError> {
    script(|script| script.calls.clear());
    // SAFETY: nothing looks behind the arguments.
    unsafe { kernel.launch(launch) }
}

fn text<T>(result: Result<T, TargetError>) -> String {
    result.err().expect("it fails").to_string()
}

#[test]
fn a_launch_is_one_call() {
    let kernel = kernel(Script::default(), &artifact(|_| {})).expect("it loads");
    launch(&*kernel, &Launch { scratch: 9, ..Launch::new([5, 2, 1], &[7, 8]) }).expect("it runs");
    script(|script| {
        assert_eq!(script.calls, ["launch"]);
        assert_eq!(script.slots, [7, 8, 9, 0]);
        assert_eq!(script.sizes, [5, 2, 1, 256, 1024]);
    });
    launch(&*kernel, &Launch::new([0, 1, 1], &[7, 8])).expect("it does nothing");
    script(|script| assert!(script.calls.is_empty()));
    assert_eq!((kernel.n_regs(), kernel.n_spills(), kernel.n_max_threads()), (64, 12, 1024));
}

#[test]
fn cooperative_launches_have_a_call_of_their_own() {
    let artifact = artifact(|facts| facts.cooperative = true);
    let kernel = kernel(Script::default(), &artifact).expect("it loads");
    launch(&*kernel, &Launch::new([1, 1, 1], &[7, 8])).expect("it runs");
    script(|script| {
        assert_eq!(script.calls, ["cooperative"]);
        script.fails = Some(("cooperative", 720));
    });
    let error = text(launch(&*kernel, &Launch::new([9, 1, 1], &[7, 8])));
    assert!(error.contains("smaller grid") && error.contains("[9, 1, 1]"), "{error}");
}

#[test]
fn what_a_kernel_prints_is_read_when_it_is_over() {
    let size = HEAD + 8;
    let record = [size | (Kind::Assert as u64) << 32, 3, u64::from_le_bytes(*b"bad\0\0\0\0\0")];
    let own = Script { log: record.to_vec(), ..Script::default() };
    let kernel = kernel(own, &artifact(|facts| facts.log_bytes = 1)).expect("it loads");
    let error = text(launch(&*kernel, &Launch::new([1, 1, 1], &[7, 8])));
    assert!(error.contains("kernel `k`: bad"), "{error}");
    script(|script| {
        assert_eq!(script.calls, ["capturing", "launch", "stream_synchronize"]);
        script.log.clear();
    });
    launch(&*kernel, &Launch::new([1, 1, 1], &[7, 8])).expect("nothing is left of the last launch");
    script(|script| script.capturing = true);
    let error = text(launch(&*kernel, &Launch::new([1, 1, 1], &[7, 8])));
    assert!(error.contains("graph"), "{error}");
}

#[test]
fn runtimes_that_cannot_be_used_say_why() {
    let none = Script { devices: 0, ..Script::default() };
    assert!(text(driver(none)).contains("HIP_VISIBLE_DEVICES"));
    let refused = Script { fails: Some(("count", 100)), ..Script::default() };
    assert!(text(driver(refused)).contains("sees no device"));
    let old = Script { version: 50_700_000, ..Script::default() };
    assert!(text(driver(old)).contains("HIP 5.7.0"));
    for name in ["init", "version", "count", "properties"] {
        let broken = Script { fails: Some((name, 999)), ..Script::default() };
        let error = text(driver(broken));
        assert!(error.contains("hipErrorOfTest (999, the test says so)"), "{name}: {error}");
    }
}

#[test]
fn kernels_that_do_not_fit_are_not_loaded() {
    let other = Script { arch: "gfx90a", ..Script::default() };
    let error = text(kernel(other, &artifact(|_| {})));
    assert!(error.contains("compiled for gfx942, and the device is gfx90a"), "{error}");
    let large = Artifact { shared: 65 << 10, ..artifact(|_| {}) };
    let out = kernel(Script::default(), &large).err().expect("it is too large");
    assert!(matches!(out, TargetError::OutOfResources { required: 66560, limit: 65536, .. }), "{out}");
    let out =
        kernel(Script::default(), &artifact(|facts| facts.num_warps = 32)).err().expect("too many lanes");
    assert!(matches!(out, TargetError::OutOfResources { required: 2048, limit: 1024, .. }), "{out}");
    let bare = Artifact { stages: Vec::new(), ..artifact(|_| {}) };
    assert!(text(kernel(Script::default(), &bare)).contains("no stage `hsaco`"));
    for (name, status) in [("load", 209), ("find", 500), ("attribute", 1)] {
        let broken = Script { fails: Some((name, status)), ..Script::default() };
        let error = text(kernel(broken, &artifact(|_| {})));
        assert!(error.contains("kernel `k` cannot be loaded on AMD Instinct of tests"), "{error}");
        assert!(error.contains(&format!("({status}")), "{error}");
    }
}

#[test]
fn launches_that_fail_say_why() {
    let kernel = kernel(Script::default(), &artifact(|_| {})).expect("it loads");
    assert!(
        text(launch(&*kernel, &Launch::new([1, 1, 1], &[7]))).contains("takes 2 arguments, 1 were given")
    );
    let error = text(launch(&*kernel, &Launch::new([1, 70_000, 1], &[7, 8])));
    assert!(error.contains("70000 programs along y"), "{error}");
    let failing = |status| {
        script(|script| script.fails = Some(("launch", status)));
        launch(&*kernel, &Launch::new([1, 1, 1], &[7, 8])).expect_err("it fails")
    };
    assert!(matches!(failing(701), TargetError::OutOfResources { .. }));
    assert!(failing(1).to_string().contains("256 threads, 1024 bytes of LDS"));
    assert!(failing(700).to_string().contains("HIP_LAUNCH_BLOCKING"));
    assert!(failing(2).to_string().contains("free some memory"));
}

#[test]
fn memory_and_time_go_through_the_runtime() {
    let gpu = &driver(Script::default()).expect("it starts").gpus()[0];
    let address = gpu.alloc(0).expect("there is memory");
    // SAFETY: nothing is written.
    unsafe {
        gpu.copy_in(address, &[1]).expect("copied");
        gpu.copy_out(&mut [0], address).expect("copied");
        gpu.fill(address, 1, 1, 0).expect("filled");
        gpu.free(address, 0).expect("freed");
    }
    let events = [gpu.record_event(0).expect("made"), gpu.record_event(0).expect("made")];
    assert_eq!(gpu.elapsed_ms(events[0], events[1]), Ok(1.5));
    assert_eq!(gpu.reachable(5), Some(5));
    gpu.synchronize().expect("done");
    let properties = gpu.properties();
    assert_eq!((properties.name.as_str(), properties.numbers["warpSize"]), ("AMD Instinct of tests", 64));
    assert_eq!(
        (properties.numbers["max_shared_mem"], properties.numbers["multiprocessor_count"]),
        (65536, 304)
    );
    for (name, status) in [("malloc", 2), ("event_record", 1), ("synchronize", 719), ("copy_out", 1)] {
        script(|script| script.fails = Some((name, status)));
        let failed = [
            gpu.alloc(64).err(),
            gpu.record_event(0).err(),
            gpu.synchronize().err(),
            // SAFETY: nothing is written.
            unsafe { gpu.copy_out(&mut [0], address) }.err(),
        ];
        assert_eq!(failed.iter().flatten().count(), 1, "{name}");
    }
}

#[test]
fn with_several_devices_each_call_is_on_its_own() {
    let own = Script { devices: 2, ..Script::default() };
    let gpus = driver(own).expect("it starts").gpus();
    let kernel = gpus[1].load(&artifact(|_| {})).expect("it loads");
    launch(&*kernel, &Launch::new([1, 1, 1], &[7, 8])).expect("it runs");
    script(|script| {
        assert_eq!(script.calls, ["get_device", "set_device", "launch", "set_device"]);
        assert_eq!(script.current, 0);
    });
}

#[test]
fn libraries_are_looked_for_where_rocm_puts_them() {
    let none = candidates(|_| None);
    assert_eq!(none[0], PathBuf::from("libamdhip64.so"));
    assert_eq!(none.last(), Some(&PathBuf::from("/opt/rocm/lib/libamdhip64.so")));
    let named = |name: &str| (name == "TRITON_LIBHIP_PATH").then(|| OsString::from("/x/libamdhip64.so"));
    assert_eq!(candidates(named), [PathBuf::from("/x/libamdhip64.so")]);
    let folder = |name: &str| (name == "ROCM_PATH").then(|| OsString::from("/y"));
    assert!(candidates(folder).contains(&PathBuf::from("/y/lib/libamdhip64.so")));
}

#[test]
fn without_a_library_the_error_names_what_was_looked_for() {
    let error =
        text(load_library(&[PathBuf::from("/nowhere/libamdhip64.so"), PathBuf::from("libnone.so.6")]));
    for part in ["/nowhere/libamdhip64.so", "libnone.so.6", "can be compiled", "TRITON_LIBHIP_PATH"] {
        assert!(error.contains(part), "{error}");
    }
    // Some other library.
    let error = text(load_library(&[PathBuf::from("libc.so.6")]));
    assert!(error.contains("libc.so.6 has no function hip") && error.contains("ROCm 6.0"), "{error}");
}

#[test]
fn a_captured_launch_is_the_same_call() {
    let kernel = kernel(Script::default(), &artifact(|_| {})).expect("it loads");
    script(|script| script.capturing = true);
    launch(&*kernel, &Launch::new([5, 2, 1], &[7, 8])).expect("it is captured");
    script(|script| assert_eq!(script.calls, ["launch"]));
    // A kernel that is loaded meanwhile, and its memory, leave the capture alone.
    for facts in [|_: &mut DeviceFacts| {}, |facts: &mut DeviceFacts| facts.log_bytes = 1] {
        script(|script| script.calls.clear());
        let gpu = &driver(Script { capturing: true, ..Script::default() }).expect("it starts").gpus()[0];
        gpu.load(&artifact(facts)).expect("it loads");
        script(|script| {
            let modes: Vec<usize> =
                (0..script.calls.len()).filter(|&at| script.calls[at] == "capture_mode").collect();
            let taking = ["load", "find", "host_malloc"];
            let taken =
                (0..script.calls.len()).filter(|&at| taking.contains(&script.calls[at])).collect::<Vec<_>>();
            assert!(modes.len() >= 2 && taken.len() >= 2, "{:?}", script.calls);
            assert!(
                taken.iter().all(|at| modes[0] < *at && at < modes.last().unwrap()),
                "{:?}",
                script.calls
            );
        });
    }
}
