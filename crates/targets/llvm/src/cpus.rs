//! Processor names that may be asked for, with the first LLVM that knows each.
//!
//! LLVM stops the whole process on some names that it does not know, so a name must be in this table or be the one
//! that LLVM itself found for this machine.

use crate::{LlvmError, TargetSpec};

/// Architecture of the triple, name, first version that knows it.
const CPUS: &[(&str, &str, u32)] = &[
    ("x86_64", "x86-64", 17),
    ("x86_64", "x86-64-v2", 17),
    ("x86_64", "x86-64-v3", 17),
    ("x86_64", "x86-64-v4", 17),
    ("x86_64", "alderlake", 17),
    ("x86_64", "arrowlake", 18),
    ("x86_64", "broadwell", 17),
    ("x86_64", "cascadelake", 17),
    ("x86_64", "cooperlake", 17),
    ("x86_64", "diamondrapids", 20),
    ("x86_64", "emeraldrapids", 17),
    ("x86_64", "graniterapids", 17),
    ("x86_64", "haswell", 17),
    ("x86_64", "icelake-client", 17),
    ("x86_64", "icelake-server", 17),
    ("x86_64", "ivybridge", 17),
    ("x86_64", "nehalem", 17),
    ("x86_64", "raptorlake", 17),
    ("x86_64", "rocketlake", 17),
    ("x86_64", "sandybridge", 17),
    ("x86_64", "sapphirerapids", 17),
    ("x86_64", "sierraforest", 17),
    ("x86_64", "skylake", 17),
    ("x86_64", "skylake-avx512", 17),
    ("x86_64", "tigerlake", 17),
    ("x86_64", "westmere", 17),
    ("x86_64", "znver1", 17),
    ("x86_64", "znver2", 17),
    ("x86_64", "znver3", 17),
    ("x86_64", "znver4", 17),
    ("x86_64", "znver5", 19),
    ("aarch64", "generic", 17),
    ("aarch64", "ampere1", 17),
    ("aarch64", "ampere1a", 17),
    ("aarch64", "apple-m1", 17),
    ("aarch64", "apple-m2", 17),
    ("aarch64", "apple-m3", 18),
    ("aarch64", "apple-m4", 19),
    ("aarch64", "cortex-a53", 17),
    ("aarch64", "cortex-a72", 17),
    ("aarch64", "cortex-a76", 17),
    ("aarch64", "neoverse-n1", 17),
    ("aarch64", "neoverse-n2", 17),
    ("aarch64", "neoverse-n3", 19),
    ("aarch64", "neoverse-v1", 17),
    ("aarch64", "neoverse-v2", 17),
    ("aarch64", "neoverse-v3", 19),
    ("amdgcn", "gfx90a", 17),
    ("amdgcn", "gfx942", 17),
    ("amdgcn", "gfx950", 20),
    ("amdgcn", "gfx1100", 17),
    ("amdgcn", "gfx1200", 18),
    ("amdgcn", "gfx1250", 21),
    ("nvptx64", "sm_80", 17),
    ("nvptx64", "sm_90", 17),
    ("nvptx64", "sm_90a", 17),
    ("nvptx64", "sm_100a", 20),
    ("nvptx64", "sm_120a", 20),
];

/// Whether LLVM of this version knows a processor of an architecture.
pub(crate) fn is_known(arch: &str, cpu: &str, major: u32) -> bool {
    CPUS.iter().any(|(its_arch, name, since)| *its_arch == arch && *name == cpu && *since <= major)
}

/// Refuses what LLVM does not know. `host` gives the triple and processor that LLVM found here.
pub(crate) fn check(
    spec: &TargetSpec,
    major: u32,
    host: impl FnOnce() -> (String, String),
) -> Result<(), LlvmError> {
    let arch = spec.triple.split('-').next().unwrap_or_default();
    if is_known(arch, &spec.cpu, major) {
        return Ok(());
    }
    let (host_triple, host_cpu) = host();
    if host_triple.split('-').next() == Some(arch) && host_cpu == spec.cpu {
        return Ok(());
    }
    let names: Vec<&str> = CPUS
        .iter()
        .filter(|(its_arch, _, since)| *its_arch == arch && *since <= major)
        .map(|(_, name, _)| *name)
        .collect();
    let newer = CPUS.iter().find(|(its_arch, name, _)| *its_arch == arch && *name == spec.cpu);
    Err(LlvmError::Target(match newer {
        Some((_, name, since)) => format!("`{name}` needs LLVM {since} or newer; this is LLVM {major}"),
        None if names.is_empty() => format!("the architecture of `{}` is not supported", spec.triple),
        None => format!("unknown processor `{}` for {arch}; known are: {}", spec.cpu, names.join(", ")),
    }))
}
