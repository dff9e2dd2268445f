//! The table of knobs: one row each. Nothing else in the house lists them.
//!
//! Knobs of a single vendor belong to that target and are not here.

use super::{KnobDefault, KnobKind, KnobRow};

const fn row(
    group: &'static str,
    name: &'static str,
    env: &'static [&'static str],
    kind: KnobKind,
    default: KnobDefault,
    doc: &'static str,
) -> KnobRow {
    KnobRow { group, name, env, kind, default, doc }
}

use KnobDefault::{Bool, Home, Int, Nothing, Text};
use KnobKind::{Flag, Number, Object, OptText, Path};

/// All knobs, by group.
#[rustfmt::skip]
pub(super) static ROWS: &[KnobRow] = &[
    row("build", "cc", &["CC"], OptText, Nothing,
        "C compiler. Read for the sake of scripts that ask; nothing here needs one."),
    row("build", "impl", &[], Object, Nothing,
        "A replacement for the native build step. Kept for scripts that set it; never called."),

    row("cache", "home_dir", &["TRITON_HOME"], Path, Home(""),
        "The folder that holds `.triton`, for dumps and overrides."),
    row("cache", "dir", &["DEUTERON_CACHE_DIR", "TRITON_CACHE_DIR"], Path, KnobDefault::CacheDir,
        "Where compiled kernels are kept. Default: `$XDG_CACHE_HOME/deuteron`, else `~/.cache/deuteron`."),
    row("cache", "dump_dir", &["TRITON_DUMP_DIR"], Path, Home(".triton/dump"),
        "Where `compilation.dump_ir` writes the stages, one folder for each kernel."),
    row("cache", "override_dir", &["TRITON_OVERRIDE_DIR"], Path, Home(".triton/override"),
        "Where `compilation.override` looks for stages to read instead of compiling them."),
    row("cache", "enabled", &["DEUTERON_CACHE"], Flag, Bool(true),
        "Whether compiled kernels are kept on disk."),
    row("cache", "limit", &["DEUTERON_CACHE_LIMIT"], Number, Int(1 << 30),
        "Bytes that the cache may take; the entries that were not used for longest go first."),
    row("cache", "manager_class", &["TRITON_CACHE_MANAGER"], OptText, Nothing,
        "What `runtime.cache.get_cache_manager` gives to libraries, as `module:Class`; the compiler keeps a cache of its own."),

    row("compilation", "always_compile", &["TRITON_ALWAYS_COMPILE"], Flag, Bool(false),
        "Compile even when the cache has the kernel."),
    row("compilation", "dump_ir", &["TRITON_KERNEL_DUMP"], Flag, Bool(false),
        "Write every stage of every compile to `cache.dump_dir`."),
    row("compilation", "override", &["TRITON_KERNEL_OVERRIDE"], Flag, Bool(false),
        "Read stages of kernels from `cache.override_dir` where they are there, and make the later ones from them."),
    row("compilation", "store_binary_only", &["TRITON_STORE_BINARY_ONLY"], Flag, Bool(false),
        "Keep only the last stage on disk."),
    row("compilation", "disable_line_info", &["TRITON_DISABLE_LINE_INFO"], Flag, Bool(false),
        "Kept for scripts that set it: compiled code holds no source lines."),
    row("compilation", "use_ir_loc", &["USE_IR_LOC"], OptText, Nothing,
        "Kept for scripts that set it: compiled code holds no source lines."),
    row("compilation", "front_end_debugging", &["TRITON_FRONT_END_DEBUGGING"], Flag, Bool(false),
        "Kept for scripts that set it: an error always shows the whole way to its place."),
    row("compilation", "allow_non_constexpr_globals", &["TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"], Flag, Bool(false),
        "Let kernels read any global, not only constexprs."),
    row("compilation", "instrumentation_mode", &["TRITON_INSTRUMENTATION_MODE"], KnobKind::Text, Text(""),
        "The sanitizer to compile in; there is none yet, and a name here is an error."),
    row("compilation", "time_passes", &["DEUTERON_TIME_PASSES", "MLIR_ENABLE_TIMING", "LLVM_ENABLE_TIMING"], Flag, Bool(false),
        "Print how long every step of a compile took."),
    row("compilation", "dump_passes", &["DEUTERON_DUMP_PASSES", "MLIR_ENABLE_DUMP"], OptText, Nothing,
        "Print the program in front of every pass over ttir and ttgir: `1` for every kernel, else the name of one."),
    row("compilation", "dump_llir", &["LLVM_IR_ENABLE_DUMP"], OptText, Nothing,
        "Print the program in front of every pass over llir: `1` for every kernel, else the name of one."),
    row("compilation", "dump_path", &["MLIR_DUMP_PATH"], OptText, Nothing,
        "The file that programs in front of passes are appended to; the standard error stream if there is none."),
    row("compilation", "listener", &[], Object, Nothing,
        "Called after every compile with its source, metadata and times."),

    row("autotuning", "cache", &["TRITON_CACHE_AUTOTUNING"], Flag, Bool(true),
        "Keep the results of tuning on disk. By default those of kernels that are timed in the standard way; set, those with a \
         `do_bench` of their own as well."),
    row("autotuning", "print", &["TRITON_PRINT_AUTOTUNING"], Flag, Bool(false),
        "Print every result of tuning."),
    row("autotuning", "progress", &["DEUTERON_TUNING_PROGRESS"], Flag, Bool(true),
        "Show on a terminal how far a tuning is."),
    row("autotuning", "listener", &[], Object, Nothing,
        "Called after every tuning with its timings."),

    row("runtime", "interpret", &["TRITON_INTERPRET"], Flag, Bool(false),
        "Run kernels in the interpreter."),
    row("runtime", "debug", &["TRITON_DEBUG"], Flag, Bool(false),
        "Device asserts and overflow checks in every kernel. Read once; `refresh_knobs()` reads it again."),
    row("runtime", "target", &["DEUTERON_TARGET", "TRITON_DEFAULT_BACKEND"], OptText, Nothing,
        "The target to use, such as `cpu`, or one with an architecture behind a colon. Default: the first with a device here."),
    row("runtime", "emulate", &["DEUTERON_EMULATE"], OptText, Nothing,
        "A target (with its architecture behind a colon) to emulate on the processors, where kernels then take arrays of the \
         host; every access is checked."),
    row("runtime", "override_arch", &["TRITON_OVERRIDE_ARCH"], OptText, Nothing,
        "Compile for this architecture of the target instead of the machine's own."),
    row("runtime", "launch_enter_hook", &[], Object, Nothing, "Called before every launch."),
    row("runtime", "launch_exit_hook", &[], Object, Nothing, "Called after every launch."),
    row("runtime", "kernel_load_start_hook", &[], Object, Nothing, "Called before a kernel is loaded."),
    row("runtime", "kernel_load_end_hook", &[], Object, Nothing, "Called after a kernel is loaded."),
    row("runtime", "kernel_unload_hook", &[], Object, Nothing, "Called before a kernel is unloaded."),
    row("runtime", "jit_cache_hook", &[], Object, Nothing,
        "Called before a kernel is compiled; a true answer stops the compile."),
    row("runtime", "jit_post_compile_hook", &[], Object, Nothing, "Called after a kernel was compiled."),
    row("runtime", "add_stages_inspection_hook", &[], Object, Nothing,
        "Refused: passes cannot be replaced from Python."),

    row("language", "fp32_default", &["TRITON_F32_DEFAULT"], OptText, Nothing,
        "The `input_precision` of an fp32 `dot` that gives none."),
    row("language", "default_fp_fusion", &["TRITON_DEFAULT_FP_FUSION"], Flag, Bool(true),
        "Whether mul + add becomes fma in launches that do not say."),
    row("language", "force_disable_fp_fusion", &["TRITON_FORCE_DISABLE_FP_FUSION"], Flag, Bool(false),
        "Never make mul + add an fma, whatever the launch says."),

    row("cpu", "llvm", &["DEUTERON_LLVM_PATH"], OptText, Nothing,
        "Path of the LLVM library to load; else it is searched for. Read from the environment alone, at the first compile."),
    row("cpu", "threads", &["DEUTERON_NUM_THREADS", "OMP_NUM_THREADS"], Number, Int(0),
        "Threads that run a grid; 0 for one on every allowed processor. Read from the environment alone, at the first launch."),
];
