//! Facts about processors as data: of this machine, or of one that is named.
//!
//! [`Processor::host`] looks at the processor itself and needs no LLVM, so that a cached kernel is found without one.
//! [`Processor::named`] reads rows, for cross compiles: `avx512`, `avx2`, `x86-64`, `aarch64`, or a processor that LLVM
//! has a name for.

use crate::topology;
pub use crate::topology::Caches;
use llvm::{FOR_CPUS, Llvm, TargetSpec};
use std::fmt;
use std::sync::OnceLock;
use target::TargetError;

/// What generated code depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processor {
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// LLVM's name of the processor; empty on the host, where LLVM finds it when it compiles.
    pub cpu: String,
    /// What tells processors of one kind apart (family, model, stepping); empty for a named machine.
    pub identity: String,
    /// Names of the instruction sets, sorted, as LLVM writes them.
    pub features: Vec<String>,
    /// Bytes of a vector register.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vector_registers: u32,
    /// Bytes of the caches.
    pub caches: Caches,
}

/// How users call the host's processor.
pub(crate) const NATIVE: &str = "native";

/// How wide vectors are, and what comes with that.
#[derive(Debug)]
struct Level {
    name: &'static str,
    arch: &'static str,
    cpu: &'static str,
    vector_bytes: u32,
    vector_registers: u32,
    features: &'static [&'static str],
}

const SSE: &[&str] = &["sse2"];
const AVX2: &[&str] = &[
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse2", "sse3", "sse4.1",
    "sse4.2", "ssse3",
];
const AVX512: &[&str] = &[
    "avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "bmi", "bmi2", "f16c", "fma",
    "lzcnt", "movbe", "popcnt", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3",
];

/// The names without a processor in them.
const LEVELS: [Level; 4] = [
    Level {
        name: "avx512",
        arch: "x86_64",
        cpu: "x86-64-v4",
        vector_bytes: 64,
        vector_registers: 32,
        features: AVX512,
    },
    Level {
        name: "avx2",
        arch: "x86_64",
        cpu: "x86-64-v3",
        vector_bytes: 32,
        vector_registers: 16,
        features: AVX2,
    },
    Level {
        name: "x86-64",
        arch: "x86_64",
        cpu: "x86-64",
        vector_bytes: 16,
        vector_registers: 16,
        features: SSE,
    },
    Level {
        name: "aarch64",
        arch: "aarch64",
        cpu: "generic",
        vector_bytes: 16,
        vector_registers: 32,
        features: &["neon"],
    },
];

/// Processors by LLVM's names: the level each has, and what it adds.
const PROCESSORS: &[(&str, &str, &[&str])] = &[
    ("x86-64-v2", "x86-64", &["popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"]),
    ("x86-64-v3", "avx2", &[]),
    ("x86-64-v4", "avx512", &[]),
    ("haswell", "avx2", &[]),
    ("broadwell", "avx2", &[]),
    ("skylake", "avx2", &[]),
    ("alderlake", "avx2", &["avxvnni"]),
    ("raptorlake", "avx2", &["avxvnni"]),
    ("znver1", "avx2", &[]),
    ("znver2", "avx2", &[]),
    ("znver3", "avx2", &[]),
    ("znver4", "avx512", &["avx512bf16", "avx512vnni"]),
    ("znver5", "avx512", &["avx512bf16", "avx512vnni", "avxvnni"]),
    ("skylake-avx512", "avx512", &[]),
    ("cascadelake", "avx512", &["avx512vnni"]),
    ("cooperlake", "avx512", &["avx512bf16", "avx512vnni"]),
    ("icelake-client", "avx512", &["avx512vnni"]),
    ("icelake-server", "avx512", &["avx512vnni"]),
    ("tigerlake", "avx512", &["avx512vnni"]),
    ("rocketlake", "avx512", &["avx512vnni"]),
    (
        "sapphirerapids",
        "avx512",
        &["amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avx512vnni"],
    ),
    (
        "emeraldrapids",
        "avx512",
        &["amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avx512vnni"],
    ),
    (
        "graniterapids",
        "avx512",
        &["amx-bf16", "amx-fp16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avx512vnni"],
    ),
    ("neoverse-n1", "aarch64", &["dotprod", "fullfp16"]),
    ("neoverse-n2", "aarch64", &["bf16", "dotprod", "fullfp16", "i8mm", "sve", "sve2"]),
    ("neoverse-v1", "aarch64", &["bf16", "dotprod", "fullfp16", "i8mm", "sve"]),
    ("neoverse-v2", "aarch64", &["bf16", "dotprod", "fullfp16", "i8mm", "sve", "sve2"]),
    ("apple-m1", "aarch64", &["dotprod", "fullfp16"]),
    ("apple-m2", "aarch64", &["bf16", "dotprod", "fullfp16", "i8mm"]),
    ("cortex-a72", "aarch64", &[]),
    ("cortex-a76", "aarch64", &["dotprod", "fullfp16"]),
];

/// What is assumed of the caches of a machine that is not at hand.
const USUAL_CACHES: Caches = Caches { l1: 32 << 10, l2: 1 << 20, last: 32 << 20 };

impl Processor {
    /// This machine, looked at once.
    pub fn host() -> &'static Processor {
        static HOST: OnceLock<Processor> = OnceLock::new();
        HOST.get_or_init(|| {
            let features = detect::features();
            let (vector_bytes, vector_registers) = detect::vectors(&features);
            Processor {
                arch: std::env::consts::ARCH.into(),
                cpu: String::new(),
                identity: detect::identity(),
                features,
                vector_bytes,
                vector_registers,
                caches: topology::caches().unwrap_or(USUAL_CACHES),
            }
        })
    }

    /// The machine of a name; the empty name, `native` and what the host's architecture is called are the host.
    ///
    /// # Errors
    /// Lists the names when it is none of them.
    pub fn named(name: &str) -> Result<Processor, TargetError> {
        if name.is_empty() || name == NATIVE {
            return Ok(Processor::host().clone());
        }
        let level = |name: &str| LEVELS.iter().find(|level| level.name == name);
        if let Some(level) = level(name) {
            return Ok(Processor::of_level(level, level.cpu, &[]));
        }
        let processor = PROCESSORS.iter().find(|(cpu, ..)| *cpu == name);
        match processor.and_then(|(cpu, its_level, more)| Some((cpu, level(its_level)?, more))) {
            Some((cpu, level, more)) => Ok(Processor::of_level(level, cpu, more)),
            None if name == std::env::consts::ARCH => Ok(Processor::host().clone()),
            None => {
                let levels = LEVELS.iter().map(|level| level.name);
                let names: Vec<&str> = levels.chain(PROCESSORS.iter().map(|(cpu, ..)| *cpu)).collect();
                let message = format!("unknown processor `{name}`; known are: native, {}", names.join(", "));
                Err(TargetError::Compile { message, location: None })
            }
        }
    }

    fn of_level(level: &Level, cpu: &str, more: &[&str]) -> Processor {
        let mut features: Vec<String> =
            level.features.iter().chain(more).map(|name| name.to_string()).collect();
        features.sort();
        features.dedup();
        Processor {
            arch: level.arch.into(),
            cpu: cpu.into(),
            identity: String::new(),
            features,
            vector_bytes: level.vector_bytes,
            vector_registers: level.vector_registers,
            caches: USUAL_CACHES,
        }
    }

    /// Whether it has an instruction set.
    pub fn has(&self, feature: &str) -> bool {
        self.features.binary_search_by(|name| name.as_str().cmp(feature)).is_ok()
    }

    /// Whether pairs of bf16 are multiplied faster than the same numbers as binary32. Intel's cores with AVX-512 FP16
    /// (Sapphire Rapids and since) begin one such instruction in two cycles and two multiply-adds in each: half the
    /// rate.
    pub fn has_fast_bf16_pairs(&self) -> bool {
        let is_intel = self.identity.is_empty() || self.identity.starts_with("GenuineIntel");
        self.vector_bytes == 64 && self.has("avx512bf16") && !(is_intel && self.has("avx512fp16"))
    }

    /// Whether its code can run in this process.
    pub fn runs_here(&self) -> bool {
        let host = Processor::host();
        self.arch == host.arch && self.features.iter().all(|feature| host.has(feature))
    }

    /// What LLVM generates code for.
    pub fn spec(&self, llvm: &Llvm) -> TargetSpec {
        if self.cpu.is_empty() {
            let (cpu, features) = (llvm.host_cpu(), llvm.host_features());
            return TargetSpec { triple: self.triple(), cpu, features, options: FOR_CPUS };
        }
        let features: Vec<String> = self.features.iter().map(|feature| format!("+{feature}")).collect();
        TargetSpec {
            triple: self.triple(),
            cpu: self.cpu.clone(),
            features: features.join(","),
            options: FOR_CPUS,
        }
    }

    /// LLVM's triple. Objects are ELF on every system: our own loader reads them.
    pub fn triple(&self) -> String {
        format!("{}-unknown-linux-gnu", self.arch)
    }
}

impl fmt::Display for Processor {
    /// All facts, one per line: part of the key of a cached kernel.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "arch: {}", self.arch)?;
        writeln!(f, "cpu: {}", if self.cpu.is_empty() { "native" } else { &self.cpu })?;
        if !self.identity.is_empty() {
            writeln!(f, "identity: {}", self.identity)?;
        }
        writeln!(f, "features: {}", self.features.join(","))?;
        writeln!(f, "vectors: {} of {} bytes", self.vector_registers, self.vector_bytes)?;
        writeln!(f, "caches: {}, {}, {}", self.caches.l1, self.caches.l2, self.caches.last)
    }
}

/// The names that are detected, as text.
macro_rules! detected {
    ($is_detected:ident: $($std:tt $name:literal,)*) => {{
        let mut found: Vec<String> = Vec::new();
        $(if std::arch::$is_detected!($std) {
            found.push($name.into());
        })*
        found.sort();
        found
    }};
}

#[cfg(target_arch = "x86_64")]
mod detect {
    //! What the processor says of itself.
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    pub(super) fn features() -> Vec<String> {
        let mut features = detected!(is_x86_feature_detected:
            "sse2" "sse2", "sse3" "sse3", "ssse3" "ssse3", "sse4.1" "sse4.1", "sse4.2" "sse4.2", "popcnt" "popcnt",
            "avx" "avx", "avx2" "avx2", "fma" "fma", "f16c" "f16c", "bmi1" "bmi", "bmi2" "bmi2", "lzcnt" "lzcnt",
            "movbe" "movbe", "avx512f" "avx512f", "avx512bw" "avx512bw", "avx512cd" "avx512cd",
            "avx512dq" "avx512dq", "avx512vl" "avx512vl", "avx512vbmi" "avx512vbmi", "avx512vbmi2" "avx512vbmi2",
            "avx512vnni" "avx512vnni", "avx512bf16" "avx512bf16", "avx512fp16" "avx512fp16",
            "avx512bitalg" "avx512bitalg", "avx512ifma" "avx512ifma", "avx512vpopcntdq" "avx512vpopcntdq",
            "gfni" "gfni", "vaes" "vaes", "vpclmulqdq" "vpclmulqdq", "avxvnni" "avxvnni",
        );
        features.extend(amx().into_iter().map(String::from));
        features.sort();
        features
    }

    /// The instruction sets for tile registers, where the processor has them and the system lets this process use them:
    /// that is asked here. All threads may then, those that exist as well, and the children of a fork.
    fn amx() -> Vec<&'static str> {
        let leaf = __cpuid_count(7, 0);
        // `eax` is the last part of this leaf that there is.
        let more = if leaf.eax >= 1 { __cpuid_count(7, 1).eax } else { 0 };
        let bits = [
            ("amx-tile", leaf.edx, 24),
            ("amx-bf16", leaf.edx, 22),
            ("amx-int8", leaf.edx, 25),
            ("amx-fp16", more, 21),
        ];
        let found: Vec<&str> =
            bits.into_iter().filter(|(_, word, bit)| word >> bit & 1 == 1).map(|(name, ..)| name).collect();
        if found.contains(&"amx-tile") && is_amx_granted() { found } else { Vec::new() }
    }

    #[cfg(target_os = "linux")]
    fn is_amx_granted() -> bool {
        /// `ARCH_REQ_XCOMP_PERM`, and the number of the data of tile registers among the parts of a processor's state.
        const REQUEST: libc::c_int = 0x1023;
        const TILE_DATA: libc::c_ulong = 18;
        // SAFETY: the call takes two numbers and touches no memory.
        unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
    }

    #[cfg(not(target_os = "linux"))]
    fn is_amx_granted() -> bool {
        false
    }

    pub(super) fn vectors(features: &[String]) -> (u32, u32) {
        let has = |name: &str| features.iter().any(|feature| feature == name);
        if ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has) {
            return (64, 32);
        }
        (if has("avx2") && has("fma") { 32 } else { 16 }, 16)
    }

    /// Family, model and stepping, and the raw words of features, known to us or not.
    pub(super) fn identity() -> String {
        let (first, basic, more) = (__cpuid(0), __cpuid(1), __cpuid_count(7, 0));
        let vendor: Vec<u8> =
            [first.ebx, first.edx, first.ecx].iter().flat_map(|word| word.to_le_bytes()).collect();
        let vendor = String::from_utf8_lossy(&vendor).into_owned();
        // The fields of leaf 1 that differ from core to core (EBX) are left out.
        format!(
            "{vendor} {:08x} {:08x} {:08x} {:08x} {:08x} {:08x}",
            basic.eax, basic.ecx, basic.edx, more.ebx, more.ecx, more.edx
        )
    }
}

#[cfg(target_arch = "aarch64")]
mod detect {
    //! What the processor says of itself.

    pub(super) fn features() -> Vec<String> {
        detected!(is_aarch64_feature_detected:
            "neon" "neon", "fp16" "fullfp16", "dotprod" "dotprod", "bf16" "bf16", "i8mm" "i8mm", "sve" "sve",
            "sve2" "sve2", "lse" "lse",
        )
    }

    pub(super) fn vectors(_features: &[String]) -> (u32, u32) {
        (16, 32)
    }

    /// What the system says of the first processor.
    pub(super) fn identity() -> String {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let facts = text.lines().take_while(|line| !line.is_empty());
        let kept = facts.filter(|line| line.starts_with("CPU") || line.starts_with("Features"));
        kept.map(|line| line.replace('\t', " ")).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod detect {
    //! A processor that no code is generated for.

    pub(super) fn features() -> Vec<String> {
        Vec::new()
    }

    pub(super) fn vectors(_features: &[String]) -> (u32, u32) {
        (16, 16)
    }

    pub(super) fn identity() -> String {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let host = Processor::host();
        assert!(host.runs_here());
        assert!([16, 32, 64].contains(&host.vector_bytes));
        assert_eq!(host.has("avx2"), host.features.contains(&"avx2".to_string()));
        assert!(host.caches.l1 >= 8 << 10 && host.caches.last >= host.caches.l1);
        assert!(host.to_string().contains("features: "));
    }

    #[test]
    fn names_give_machines_that_llvm_knows() {
        let llvm = Llvm::load().expect("this test needs an LLVM");
        let names = LEVELS.iter().map(|level| level.name).chain(PROCESSORS.iter().map(|(cpu, ..)| *cpu));
        for name in names {
            let machine = Processor::named(name).unwrap();
            let spec = machine.spec(llvm);
            assert!(llvm.has_target(&spec.triple));
            let text = "define void @f() {\n  ret void\n}";
            llvm.compile(text, &spec, "", llvm::Output::default())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(Processor::named("avx512").unwrap().vector_bytes, 64);
        assert_eq!(Processor::named("znver3").unwrap().vector_registers, 16);
        assert!(Processor::named("sapphirerapids").unwrap().has("avx512fp16"));
        assert!(Processor::named("znver4").unwrap().has_fast_bf16_pairs());
        assert!(!Processor::named("emeraldrapids").unwrap().has_fast_bf16_pairs());
        assert!(!Processor::named("icelake-server").unwrap().has_fast_bf16_pairs());
        let host = Processor::named(&Processor::host().arch).unwrap();
        assert_eq!(host.arch, Processor::host().arch);
        let error = Processor::named("pentium9").unwrap_err().to_string();
        assert!(error.contains("unknown processor `pentium9`") && error.contains("znver4"), "{error}");
    }
}
