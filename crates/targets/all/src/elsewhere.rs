//! Knobs of the language's users that concern what this build does not have: one row each, with what is said to those
//! who set one.

use target::knobs::{KnobDefault, KnobKind, KnobRow, KnobStanding};

use KnobDefault::{Bool, Int};
use KnobKind::{Flag, Number, OptText, Text};
use KnobStanding::{Idle, Moot};

const BY_EVENTS: KnobStanding = Idle(
    "`triton.profiler` takes times by events in the stream, in this process, and loads no library for it; launches may be \
     named for other profilers with knobs.runtime.launch_enter_hook",
);

const fn profiler(
    name: &'static str,
    env: &'static [&'static str],
    kind: KnobKind,
    doc: &'static str,
) -> KnobRow {
    KnobRow::new("proton", name, env, kind, doc).but(BY_EVENTS)
}

/// All of them.
#[rustfmt::skip]
pub(crate) static ROWS: &[KnobRow] = &[
    KnobRow::new("build", "cudacrt_path", &["TRITON_CUDACRT_PATH"], OptText,
        "Headers for the native build step. No compile has one.").but(Moot),
    KnobRow::new("build", "cudart_path", &["TRITON_CUDART_PATH"], OptText,
        "A library for the native build step. No compile has one.").but(Moot),

    KnobRow::new("proton", "disable", &["TRITON_PROTON_DISABLE"], Flag, "Turn the profiler off: sessions record and write nothing."),
    profiler("cupti_lib_dir", &["TRITON_CUPTI_LIB_PATH"], Text, "The folder of the profiler's library."),
    profiler("cupti_lib_blackwell_dir", &["TRITON_CUPTI_LIB_BLACKWELL_PATH"], Text, "The same for the newest GPUs."),
    profiler("hsa_runtime_path", &["TRITON_HSA_RUNTIME_PATH"], OptText, "The folder of the HSA runtime."),
    profiler("hsa_runtime_library", &["TRITON_HSA_RUNTIME_LIBRARY"], OptText, "The library of the HSA runtime."),
    profiler("rocprofiler_sdk_include_path", &["TRITON_ROCPROFILER_SDK_INCLUDE_PATH"], OptText, "The headers of rocprofiler."),
    profiler("rocprofiler_sdk_lib_path", &["TRITON_ROCPROFILER_SDK_LIB_PATH"], OptText, "The folder of rocprofiler."),
    profiler("rocprofiler_sdk_library", &["TRITON_ROCPROFILER_SDK_LIBRARY"], OptText, "The library of rocprofiler."),
    profiler("roctracer_lib_path", &["TRITON_ROCTRACER_LIB_PATH"], OptText, "The folder of roctracer."),
    profiler("roctracer_library", &["TRITON_ROCTRACER_LIBRARY"], OptText, "The library of roctracer."),
    profiler("roctx_lib_path", &["TRITON_ROCTX_LIB_PATH"], OptText, "The folder of roctx."),
    profiler("roctx_library", &["TRITON_ROCTX_LIBRARY"], Text, "The library of roctx.").or(KnobDefault::Text("libroctx64.so")),
    profiler("profile_buffer_size", &["TRITON_PROFILE_BUFFER_SIZE"], Number, "Bytes for what the profiler records.").or(Int(64 << 20)),
    profiler("profile_metric_buffer_size", &["TRITON_PROFILE_METRIC_BUFFER_SIZE"], Number, "Bytes for its metrics.").or(Int(64 << 20)),
    profiler("enable_nvtx", &["TRITON_ENABLE_NVTX"], Flag, "Name ranges for other profilers.").or(Bool(true)),
    profiler("enable_hw_trace", &["TRITON_ENABLE_HW_TRACE"], Flag, "Trace by the hardware."),
];
