//! The table of knobs that concern every target: one row each. Nothing else in the house lists them.
//!
//! Knobs of a single vendor belong to that target; those of targets that this build does not have stand beside the list
//! of targets.

use target::knobs::{KnobDefault, KnobKind, KnobRow, KnobStanding};

use KnobDefault::{Bool, CacheDir, Home, Int};
use KnobKind::{Flag, FlagOrText, Number, Object, OptText, Path};
use KnobStanding::{Compiles, Environment, Idle, Missing, Moot, Refused};

const UNLOADING: KnobStanding = Missing(
    "kernels stay loaded for the life of the process, because a captured graph may refer to them: use knobs.runtime.kernel_load_end_hook",
);
const REMOTE: KnobStanding = Missing(
    "the compiler keeps its own cache, which is safe on network file systems: set knobs.cache.dir (TRITON_CACHE_DIR) to a folder \
     that the machines share",
);
const DEBUG_OUTPUT: KnobStanding = Idle(
    "the LLVM that is loaded is built without debug output: LLVM_IR_ENABLE_DUMP=1 shows what goes into its passes and its code \
     generator, MLIR_ENABLE_DUMP=1 every pass before",
);
const PLUGINS: KnobStanding = Refused(
    "passes are native and plugins cannot be loaded: TRITON_KERNEL_OVERRIDE=1 puts an edited stage in the place of a pass's result",
);
const SANITIZERS: KnobStanding = Refused(NO_SANITIZER);

/// Why what asks for a sanitizer is refused.
pub(crate) const NO_SANITIZER: &str = "there is no sanitizer to compile in: TRITON_INTERPRET=1 checks every access, and DEUTERON_EMULATE (see \
     `runtime.emulate`) races as well";

/// All knobs, by group.
#[rustfmt::skip]
pub(super) static ROWS: &[KnobRow] = &[
    KnobRow::new("build", "cc", &["CC"], OptText, "C compiler. Nothing here needs one.").but(Moot),
    KnobRow::new("build", "impl", &[], Object, "A replacement for the native build step. No compile has one, and it is never called.").but(Moot),
    KnobRow::new("build", "backends_in_tree", &["TRITON_BACKENDS_IN_TREE"], Flag,
        "Look for targets in the folder of the package alone. They are part of the package, and nowhere else.").but(Moot),

    KnobRow::new("redis", "key_format", &["TRITON_REDIS_KEY_FORMAT"], KnobKind::Text, "How kernels are called in a Redis cache.")
        .or(KnobDefault::Text("triton:{key}:{filename}")).but(REMOTE),
    KnobRow::new("redis", "host", &["TRITON_REDIS_HOST"], KnobKind::Text, "The host of a Redis cache.")
        .or(KnobDefault::Text("localhost")).but(REMOTE),
    KnobRow::new("redis", "port", &["TRITON_REDIS_PORT"], Number, "The port of a Redis cache.").or(Int(6379)).but(REMOTE),

    KnobRow::new("cache", "home_dir", &["TRITON_HOME"], Path, "The folder that holds `.triton`, for dumps and overrides.").or(Home("")),
    KnobRow::new("cache", "dir", &["DEUTERON_CACHE_DIR", "TRITON_CACHE_DIR"], Path,
        "Where compiled kernels are kept; a relative path counts from the current directory at its first use. Default: \
         `$XDG_CACHE_HOME/deuteron`, else `~/.cache/deuteron`.").or(CacheDir),
    KnobRow::new("cache", "dump_dir", &["TRITON_DUMP_DIR"], Path,
        "Where `compilation.dump_ir` writes the stages, one folder for each kernel.").or(Home(".triton/dump")),
    KnobRow::new("cache", "override_dir", &["TRITON_OVERRIDE_DIR"], Path,
        "Where `compilation.override` looks for stages to read instead of compiling them.").or(Home(".triton/override")),
    KnobRow::new("cache", "enabled", &["DEUTERON_CACHE"], Flag, "Whether compiled kernels are kept on disk.").or(Bool(true)),
    KnobRow::new("cache", "limit", &["DEUTERON_CACHE_LIMIT"], Number,
        "Bytes that the cache may take; the entries that were not used for longest go first.").or(Int(1 << 30)),
    KnobRow::new("cache", "manager_class", &["TRITON_CACHE_MANAGER"], OptText,
        "What `runtime.cache.get_cache_manager` gives to libraries, as `module:Class`; the compiler keeps a cache of its own."),
    KnobRow::new("cache", "remote_manager_class", &["TRITON_REMOTE_CACHE_BACKEND"], OptText,
        "The class of a cache on another machine, as `module:Class`.").but(REMOTE),

    KnobRow::new("compilation", "always_compile", &["TRITON_ALWAYS_COMPILE"], Flag, "Compile even when the cache has the kernel."),
    KnobRow::new("compilation", "dump_ir", &["TRITON_KERNEL_DUMP"], Flag, "Write every stage of every compile to `cache.dump_dir`."),
    KnobRow::new("compilation", "override", &["TRITON_KERNEL_OVERRIDE"], Flag,
        "Read stages of kernels from `cache.override_dir` where they are there, and make the later ones from them."),
    KnobRow::new("compilation", "store_binary_only", &["TRITON_STORE_BINARY_ONLY"], Flag, "Keep only the last stage on disk."),
    KnobRow::new("compilation", "disable_line_info", &["TRITON_DISABLE_LINE_INFO"], Flag,
        "Leave the lines of the source out of the code (that of the CPU has none in any case).").but(Compiles),
    KnobRow::new("compilation", "use_ir_loc", &["USE_IR_LOC"], OptText, "Let the lines in the code be those of this stage.")
        .but(Idle("lines in the code are those of the source: `deuteron inspect FILE --html PAGE` shows any two stages side by side, with \
                   the lines that belong together")),
    KnobRow::new("compilation", "dump_ir_extract_di_local_variables", &["LLVM_EXTRACT_DI_LOCAL_VARIABLES"], Flag,
        "Describe the variables of the source in the code, for debuggers.")
        .but(Idle("the code has lines and no descriptions of variables: TRITON_INTERPRET=1 names the line and the values of what goes wrong")),
    KnobRow::new("compilation", "front_end_debugging", &["TRITON_FRONT_END_DEBUGGING"], Flag,
        "Show the whole way to an error of the front end. Every error does.").but(Moot),
    KnobRow::new("compilation", "allow_non_constexpr_globals", &["TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"], Flag,
        "Let kernels read any global, not only constexprs."),
    KnobRow::new("compilation", "enable_asan", &["TRITON_ENABLE_ASAN"], Flag, "Compile a check of addresses in.").but(SANITIZERS),
    KnobRow::new("compilation", "instrumentation_mode", &["TRITON_INSTRUMENTATION_MODE"], KnobKind::Text,
        "The sanitizer to compile in. Read once; `refresh_knobs()` reads it again.").but(SANITIZERS),
    KnobRow::new("compilation", "fpsan_homomorphic_casts", &["TRITON_FPSAN_HOMOMORPHIC_CASTS"], Flag,
        "How the sanitizer of floats treats casts.").but(SANITIZERS),
    KnobRow::new("compilation", "consan_init_allocations", &["TRITON_CONSAN_INIT_ALLOCATIONS"], Flag,
        "Whether the sanitizer of races fills memory first.").but(SANITIZERS),
    KnobRow::new("compilation", "experimental_consan", &["TRITON_ENABLE_EXPERIMENTAL_CONSAN"], Flag,
        "The sanitizer of races, by an older name.").but(SANITIZERS),
    KnobRow::new("compilation", "disable_llvm_opt", &["DISABLE_LLVM_OPT"], FlagOrText,
        "`1`: on the CPU LLVM optimises nothing (its level O0); on GPUs, where no LLVM takes part, the passes over llir are left out. Or a \
         list of LLVM's own flags, such as `disable-cgp,disable-machine-licm`, for the CPU: LLVM is started with them, so set it before the \
         first compile.").but(Compiles),
    KnobRow::new("compilation", "time_passes", &["DEUTERON_TIME_PASSES", "MLIR_ENABLE_TIMING", "LLVM_ENABLE_TIMING"], Flag,
        "Print how long every step of a compile took."),
    KnobRow::new("compilation", "dump_passes", &["DEUTERON_DUMP_PASSES", "MLIR_ENABLE_DUMP"], OptText,
        "Print the program in front of every pass over ttir and ttgir: `1` for every kernel, else the name of one."),
    KnobRow::new("compilation", "dump_llir", &["LLVM_IR_ENABLE_DUMP"], OptText,
        "Print the program in front of every pass over llir: `1` for every kernel, else the name of one."),
    KnobRow::new("compilation", "dump_path", &["MLIR_DUMP_PATH"], OptText,
        "The file that programs in front of passes are appended to; the standard error stream if there is none."),
    KnobRow::new("compilation", "diagnostics", &["MLIR_ENABLE_DIAGNOSTICS"], OptText,
        "What the compiler says besides errors: `warnings`, `remarks`, `stacktraces`, `operations`.")
        .but(Idle("errors and warnings always come with their place in the source; `deuteron inspect` says what became of each access and dot")),
    KnobRow::new("compilation", "disable_multithreading", &["MLIR_DISABLE_MULTITHREADING"], Flag,
        "Run the passes over one kernel one after the other. They always do; different kernels compile side by side.").but(Moot),
    KnobRow::new("compilation", "reproducer_path", &["TRITON_REPRODUCER_PATH"], OptText,
        "How the names of files begin that repeat a compile: each writes its program in front of all passes, its target and its options to \
         `….make_ttir.repro.mlir`, which `deuteron compile` takes."),
    KnobRow::new("compilation", "python_stacktrace", &["TRITON_ENABLE_PYTHON_STACKTRACE"], Flag,
        "Show the stack of Python when the compiler fails. Its errors are Python exceptions, which have it.").but(Moot),
    KnobRow::new("compilation", "dump_partition_scheduling",
        &["TRITON_PARTITION_SCHEDULING_ENABLE_DUMP_DOT", "TRITON_PARTITION_SCHEDULING_DUMP_DATA_ONLY", "TRITON_PARTITION_SCHEDULING_DUMP_LOOP_ONLY"],
        Flag, "Draw how loops are split over specialised warps.")
        .but(Idle("kernels are not split over specialised warps: MLIR_ENABLE_DUMP=1 shows the program in front of every pass")),
    KnobRow::new("compilation", "llvm_debug", &["TRITON_ENABLE_LLVM_DEBUG"], Flag, "LLVM's own debug output.").but(DEBUG_OUTPUT),
    KnobRow::new("compilation", "llvm_debug_only", &["TRITON_LLVM_DEBUG_ONLY"], OptText,
        "LLVM's own debug output, of the passes that are named.").but(DEBUG_OUTPUT),
    KnobRow::new("compilation", "llvm_pass_plugin_path", &["LLVM_PASS_PLUGIN_PATH"], OptText, "A plugin with passes for LLVM.").but(PLUGINS),
    KnobRow::new("compilation", "plugin_paths", &["TRITON_PLUGIN_PATHS"], OptText, "Plugins with passes.").but(PLUGINS),
    KnobRow::new("compilation", "plugin_version_check", &["TRITON_PLUGIN_VERSION_CHECK"], OptText,
        "Whether plugins must be of this version. There are none.").but(Moot),
    KnobRow::new("compilation", "listener", &[], Object, "Called after every compile with its source, metadata and times."),

    KnobRow::new("autotuning", "cache", &["TRITON_CACHE_AUTOTUNING"], Flag,
        "Keep the results of tuning on disk. By default those of kernels that are timed in the standard way; set, those with a \
         `do_bench` of their own as well.").or(Bool(true)),
    KnobRow::new("autotuning", "print", &["TRITON_PRINT_AUTOTUNING"], Flag, "Print every result of tuning."),
    KnobRow::new("autotuning", "progress", &["DEUTERON_TUNING_PROGRESS"], Flag, "Show on a terminal how far a tuning is.").or(Bool(true)),
    KnobRow::new("autotuning", "listener", &[], Object, "Called after every tuning with its timings."),

    KnobRow::new("runtime", "interpret", &["TRITON_INTERPRET"], Flag,
        "Run kernels in the interpreter. `@triton.jit(interpret=True)` asks for it for one kernel."),
    KnobRow::new("runtime", "interpret_program", &["DEUTERON_INTERPRET_PROGRAM"], OptText,
        "The one program of the grid that the interpreter runs, such as `3` or `3,0,1`. Default: all of them."),
    KnobRow::new("runtime", "interpret_races", &["DEUTERON_INTERPRET_RACES"], Flag,
        "Whether the interpreter looks for races between the programs of a launch, which are an error at its end.").or(Bool(true)),
    KnobRow::new("runtime", "debug", &["TRITON_DEBUG"], Flag,
        "Device asserts and overflow checks in every kernel. Read once; `refresh_knobs()` reads it again."),
    KnobRow::new("runtime", "target", &["DEUTERON_TARGET", "TRITON_DEFAULT_BACKEND"], OptText,
        "The target to use, such as `cpu`, or one with an architecture behind a colon. Default: the first with a device here."),
    KnobRow::new("runtime", "emulate", &["DEUTERON_EMULATE"], OptText,
        "A target (with its architecture behind a colon) to emulate on the host's cores, where kernels then take arrays of the \
         host; every access is checked."),
    KnobRow::new("runtime", "override_arch", &["TRITON_OVERRIDE_ARCH"], OptText,
        "Compile for this architecture of the target instead of the machine's own."),
    KnobRow::new("runtime", "launch_enter_hook", &[], Object, "Called before every launch."),
    KnobRow::new("runtime", "launch_exit_hook", &[], Object, "Called after every launch."),
    KnobRow::new("runtime", "kernel_load_start_hook", &[], Object, "Called before a kernel is loaded on a device."),
    KnobRow::new("runtime", "kernel_load_end_hook", &[], Object, "Called after a kernel is loaded on a device."),
    KnobRow::new("runtime", "kernel_unload_hook", &[], Object, "Called before a kernel is unloaded.").but(UNLOADING),
    KnobRow::new("runtime", "jit_cache_hook", &[], Object, "Called before a kernel is compiled; a true answer stops the compile."),
    KnobRow::new("runtime", "jit_post_compile_hook", &[], Object, "Called after a kernel was compiled."),
    KnobRow::new("runtime", "add_stages_inspection_hook", &[], Object, "Called with the steps of a compile, to change them.")
        .but(Missing("passes are native and cannot be replaced from Python: look at kernel.asm, or set TRITON_KERNEL_DUMP=1 for every stage and \
                      TRITON_KERNEL_OVERRIDE=1 to replace one")),

    KnobRow::new("language", "fp32_default", &["TRITON_F32_DEFAULT"], OptText,
        "The `input_precision` of an fp32 `dot` that gives none."),
    KnobRow::new("language", "default_fp_fusion", &["TRITON_DEFAULT_FP_FUSION"], Flag,
        "Whether mul + add becomes fma in launches that do not say.").or(Bool(true)),
    KnobRow::new("language", "force_disable_fp_fusion", &["TRITON_FORCE_DISABLE_FP_FUSION"], Flag,
        "Never make mul + add an fma, whatever the launch says."),

    KnobRow::new("cpu", "llvm", &["DEUTERON_LLVM_PATH"], OptText,
        "Path of the LLVM library to load; else it is searched for. Read from the environment alone, at the first compile.").but(Environment),
    KnobRow::new("cpu", "threads", &["DEUTERON_NUM_THREADS", "TRITON_CPU_NUM_THREADS", "OMP_NUM_THREADS"], Number,
        "Threads that run a grid; 0 for one on every allowed core. Read from the environment alone, at the first launch.").but(Environment),
];
