//! Knobs that concern these GPUs alone, and what they change in a compile.

use crate::stage;
use target::knobs::{KnobKind, KnobRow, KnobStanding};
use target::{ALIGNED_COPIES, COPIED, CompileOptions, DEEP, OptionValue, PAIRED, PAIRS, PERSISTENT};
use ttgir::{Copies, Machine, Pairs, Persistence, Roles};

use KnobKind::{Flag, OptFlag, OptText, Tool};
use KnobStanding::{Compiles, Environment, Idle, Moot, Prints, Refused, Shows};

/// Names of those that a compile finds among its options.
pub(crate) mod knob {
    /// Assemble without optimising.
    pub(crate) const NO_ASSEMBLER_OPTIMIZATION: &str = "disable_ptxas_opt";
    /// Further options of the assembler, where the launch gives none.
    pub(crate) const ASSEMBLER_OPTIONS: &str = "ptxas_options";
    /// Assemble the code of emulated devices too.
    pub(crate) const ASSEMBLE_EMULATED: &str = "assemble_emulated";
    /// Print what the assembler says.
    pub(crate) const ASSEMBLER_LOG: &str = "dump_ptxas_log";
    /// Move no blocks by bulk copies.
    pub(crate) const NO_BULK_COPIES: &str = "disable_bulk_copies";
    /// Load nothing by bulk copies that pointers address.
    pub(crate) const NO_BULK_LOADS: &str = "disable_bulk_loads";
    /// Start programs as the device does.
    pub(crate) const NO_TILE_GROUPS: &str = "disable_tile_groups";
    /// Which loops have warps of their own that begin the copies.
    pub(crate) const ROLES: &str = "warp_specialize";
    /// Whether warp groups take turns with the matrix units.
    pub(crate) const TURNS: &str = "warp_turns";
    /// Leave lines of the source out: one of the knobs of all targets.
    pub(crate) const NO_LINES: &str = "disable_line_info";
    /// Leave out passes over llir: one of the knobs of all targets.
    pub(crate) const NO_PASSES: &str = "disable_llvm_opt";
}

/// The folder of the driver's library.
pub(crate) const DRIVER_VARIABLE: &str = "TRITON_LIBCUDA_PATH";

/// Whether every launch is to be a call of its own.
pub(crate) const PLAIN_LAUNCHES: &str = "DEUTERON_PLAIN_LAUNCHES";

/// Whether no assembler is to be started ahead of its text.
pub(crate) const PLAIN_ASSEMBLER: &str = "DEUTERON_PLAIN_PTXAS";

/// Variables that name a program, by its name.
pub(crate) const PROGRAM_VARIABLES: &[(&str, &str)] = &[
    ("ptxas", "TRITON_PTXAS_PATH"),
    (NEWER_ASSEMBLER, "TRITON_PTXAS_BLACKWELL_PATH"),
    ("cuobjdump", "TRITON_CUOBJDUMP_PATH"),
    ("nvdisasm", "TRITON_NVDISASM_PATH"),
];

/// What the assembler for newer architectures is called where somebody names one.
pub(crate) const NEWER_ASSEMBLER: &str = "ptxas-blackwell";

const fn row(name: &'static str, env: &'static [&'static str], kind: KnobKind, doc: &'static str) -> KnobRow {
    KnobRow::new("nvidia", name, env, kind, doc)
}

/// All of them.
#[rustfmt::skip]
pub(crate) static ROWS: &[KnobRow] = &[
    row("ptxas", &["TRITON_PTXAS_PATH"], Tool,
        "The assembler. Default: of the path, of Python packages, of the toolkit. It is used for devices that are not here and for the \
         stages `cubin` and `sass`; the driver assembles for its own devices."),
    row("ptxas_blackwell", &["TRITON_PTXAS_BLACKWELL_PATH"], Tool, "The assembler for sm_90 and newer. Default: `ptxas`."),
    row("cuobjdump", &["TRITON_CUOBJDUMP_PATH"], Tool, "Shows machine code, where there is no `nvdisasm`. Default: as for `ptxas`."),
    row("nvdisasm", &["TRITON_NVDISASM_PATH"], Tool, "Makes the stage `sass`. Default: as for `ptxas`."),
    row("dump_nvptx", &["NVPTX_ENABLE_DUMP"], Flag, "Print the PTX of every kernel on the standard output.").but(Prints(stage::PTX, "NVPTX Dump")),
    row(knob::NO_ASSEMBLER_OPTIMIZATION, &["DISABLE_PTXAS_OPT"], Flag,
        "Assemble at level 0, by a `ptxas` or nvJitLink that is found, also for devices that are here.").but(Compiles),
    row(knob::ASSEMBLER_OPTIONS, &["PTXAS_OPTIONS"], OptText,
        "Further options of `ptxas`, which is then used for devices that are here as well; `ptx_options=` of a launch stands in their place.")
        .but(Compiles),
    row(knob::ASSEMBLER_LOG, &["TRITON_DUMP_PTXAS_LOG"], Flag,
        "Print what `ptxas -v` says of every kernel, which it then assembles for devices that are here as well.").but(Shows),
    row(knob::ASSEMBLE_EMULATED, &["DEUTERON_ASSEMBLE_EMULATED"], Flag,
        "Give the code for emulated devices to a `ptxas` that is found as well, at level 0, or at that of a launch where it refuses that, and end with \
         an error where it refuses both: emulators run PTX, and a device runs what the assembler makes of it.").but(Compiles),
    row("plain_ptxas", &[PLAIN_ASSEMBLER], Flag,
        "Start `ptxas` when there is something to assemble. Else a process that assembles again and again keeps one or two waiting for up to 10 \
         seconds, which have done half of the work for a small kernel by then.").but(Environment),
    row("mock_ptx_version", &["TRITON_MOCK_PTX_VERSION"], OptText, "What to take for the version of `ptxas`.")
        .but(Idle("no compile asks `ptxas` for its version: PTX is written in the lowest version that has every instruction used, and \
                   `ptx_version=87` at a launch asks for another")),
    row("libdevice_path", &["TRITON_LIBDEVICE_PATH"], OptText, "The library of mathematical functions to link.")
        .but(Idle("mathematical functions are written by the compiler itself, and no library is linked")),
    row("libcuda_path", &[DRIVER_VARIABLE], OptText,
        "The folder of the driver's library, `libcuda.so.1`. Read before a device is first looked for."),
    row("plain_launches", &[PLAIN_LAUNCHES], Flag,
        "Launch every kernel by a call of its own, and none by a graph that is kept for it (see `docs/gpu.md`): for tools that look for launches \
         and are not recognised.").but(Environment),
    row(knob::NO_BULK_COPIES, &["DEUTERON_DISABLE_BULK_COPIES"], Flag,
        "Let lanes load what tensor descriptors describe, where bulk copies (TMA) would: to compare the two.").but(Compiles),
    row(knob::NO_BULK_LOADS, &["DEUTERON_DISABLE_BULK_LOADS"], Flag,
        "Let lanes load what pointers address, also where bulk copies (TMA) would load the same: to compare the two.").but(Compiles),
    row(knob::NO_TILE_GROUPS, &["DEUTERON_DISABLE_TILE_GROUPS"], Flag,
        "Let the programs of a plane of tiles start in the order of the device, along x first, where they would in groups of tiles that read the \
         same: to compare the two.").but(Compiles),
    row(PERSISTENT, &["DEUTERON_PERSISTENCE"], OptFlag,
        "Let all kernels with one loop over one dot that can do so loop over the programs of their launch (1) or none (0), in place of those whose \
         launches gain by it.").but(Compiles),
    row(PAIRS, &["DEUTERON_PAIRS"], OptFlag,
        "Let two programs that read the same be a cluster in which each copies half of that to both (TMA multicast) in all launches that can do so \
         (1) or in none (0), in place of those that gain by it.").but(Compiles),
    row(DEEP, &["DEUTERON_DEEP_LOOPS"], OptFlag,
        "Give loops over dots more stages than they ask for, as far as shared memory is worth it for one program an SM (1), or never (0), in place \
         of where a launch has few programs for an SM.").but(Compiles),
    row(ALIGNED_COPIES, &["DEUTERON_ALIGNED_COPIES"], OptFlag,
        "Let launches whose matrices have rows that begin at no multiple of 16 bytes copy them to where bulk copies (TMA) can load them, wherever \
         they can (1) or never (0), in place of those that gain by it.").but(Compiles),
    row(knob::ROLES, &["DEUTERON_WARP_SPECIALIZE"], OptFlag,
        "Let warps of their own begin the bulk copies (TMA) of every loop that can have them (1) or of none (0), in place of those that say \
         `warp_specialize=True` or gain by it.").but(Compiles),
    row(knob::TURNS, &["DEUTERON_WARP_TURNS"], OptFlag,
        "Let the warp groups of all loops with two dots, whose copies others begin, take turns with the matrix units (1) or those of none (0), \
         in place of those that gain by it.").but(Compiles),
    row("disable_mma_v3", &["DISABLE_MMA_V3"], Flag, "Multiply with `mma` in place of `wgmma`.")
        .but(Refused("matrix instructions are those of the architecture: `arch=\"sm80\"` at a launch (or TRITON_OVERRIDE_ARCH=sm80) compiles with `mma`")),
    row("disable_mma_v5", &["DISABLE_MMA_V5"], Flag, "Multiply without `tcgen05`, which is never used.").but(Moot),
    row("allow_lhs_tmem_layout_conversion", &["ALLOW_LHS_TMEM_LAYOUT_CONVERSION"], Flag, "Convert layouts in tensor memory.")
        .but(Idle("no kernel uses tensor memory")),
    KnobRow::new("runtime", "cuda_as_cpu", &["DEUTERON_CUDA_AS_CPU"], Flag,
        "For programs under `python -m deuteron` and `deuteron bench`: tensors that they put on \"cuda\" are put on the CPU, and \
         `torch.cuda` answers for it. The same as the option `--cuda-as-cpu`.").but(Environment),
];

/// Changes the facts about a machine as a compile asks for.
pub(crate) fn change(machine: &mut Machine, options: &CompileOptions) {
    machine.bulk_copy &= !options.flag(knob::NO_BULK_COPIES);
    let choice = |name: &str| match options.extra.get(name) {
        Some(OptionValue::Bool(value)) => Some(*value),
        _ => None,
    };
    machine.bulk_loads = machine.bulk_copy && options.guarded && !options.flag(knob::NO_BULK_LOADS);
    machine.tile_groups &= machine.bulk_copy && !options.flag(knob::NO_TILE_GROUPS);
    machine.persistence = match choice(PERSISTENT) {
        _ if !options.guarded || !machine.bulk_copy => Persistence::Never,
        Some(true) if machine.persistence != Persistence::Never => Persistence::Loop,
        Some(false) => Persistence::Never,
        _ => machine.persistence,
    };
    machine.pairs = match options.extra.get(PAIRED) {
        _ if !machine.bulk_copy || choice(PAIRS) == Some(false) => Pairs::Never,
        Some(OptionValue::Int(base)) => usize::try_from(*base).map_or(Pairs::Never, Pairs::Of),
        _ if !options.guarded => Pairs::Never,
        _ => machine.pairs,
    };
    machine.copies = match choice(ALIGNED_COPIES) {
        _ if !machine.bulk_loads => Copies::Never,
        _ if options.flag(COPIED) => Copies::Made,
        Some(false) => Copies::Never,
        _ => machine.copies,
    };
    if machine.roles != Roles::None
        && let Some(all) = choice(knob::ROLES)
    {
        machine.roles = if all { Roles::All } else { Roles::None };
    }
    if let Some(all) = choice(knob::TURNS) {
        machine.turns = all.then_some(1);
    }
}
