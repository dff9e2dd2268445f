//! Compiles a text for this machine and runs it: what the tests of generated code share.

use cpu::loader::LoadedObject;
use llvm::{Llvm, Output, TargetSpec};

/// One instruction set that this machine can run.
#[derive(Clone, Debug)]
pub(crate) struct Isa {
    /// For messages.
    pub(crate) name: &'static str,
    /// What LLVM is told.
    pub(crate) spec: TargetSpec,
    /// Fused multiply-add is there.
    pub(crate) has_fma: bool,
    /// The bytes of a vector register and their number.
    pub(crate) vectors: (u32, u32),
}

/// A triple, processor and features.
pub(crate) fn spec(triple: &str, cpu: &str, features: &str) -> TargetSpec {
    TargetSpec {
        triple: triple.to_owned(),
        cpu: cpu.to_owned(),
        features: features.to_owned(),
        options: llvm::FOR_CPUS,
    }
}

/// The instruction sets of this machine, from the smallest on.
pub(crate) fn isas() -> Vec<Isa> {
    let triple = Llvm::load().expect("an LLVM is needed").host_triple();
    let mut isas = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let isa = |name, features, has_fma, vectors| Isa {
            name,
            spec: spec(&triple, "x86-64", features),
            has_fma,
            vectors,
        };
        isas.push(isa("sse2", "", false, (16, 16)));
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            isas.push(isa("avx2", "+avx2,+fma", true, (32, 16)));
        }
        if std::is_x86_feature_detected!("avx512dq") && std::is_x86_feature_detected!("avx512vl") {
            let features = "+avx2,+fma,+avx512f,+avx512vl,+avx512dq,+avx512bw";
            isas.push(isa("avx512", features, true, (64, 32)));
        }
    }
    #[cfg(target_arch = "aarch64")]
    isas.push(Isa {
        name: "neon",
        spec: spec(&triple, "generic", "+neon"),
        has_fma: true,
        vectors: (16, 32),
    });
    isas
}

/// The passes that generated functions assume, and little else.
pub(crate) const PASSES: &str = "always-inline,function(early-cse,instcombine,simplifycfg)";

/// Compiles and loads a text that may call nothing outside of it.
pub(crate) fn load(text: &str, isa: &Isa) -> LoadedObject {
    let compiled = Llvm::load()
        .expect("an LLVM is needed")
        .compile(text, &isa.spec, PASSES, Output::default())
        .unwrap_or_else(|error| panic!("{}: {error}", isa.name));
    LoadedObject::load(&compiled.object, &|_| None).unwrap_or_else(|error| panic!("{}: {error}", isa.name))
}

/// A small generator of random numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    /// Seeds from the clock and says how: a failure can be repeated by writing the number here.
    pub(crate) fn fresh() -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = now.map_or(1, |since| since.as_nanos() as u64);
        println!("random seed {seed}");
        Random(seed)
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Between the bounds.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}
