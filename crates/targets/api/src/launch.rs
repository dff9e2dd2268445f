//! What a launch must know of a compiled kernel beyond its code.
//!
//! A compile writes it once; drivers, emulated devices, the cache and `kernel.metadata` read this and nothing else.
//! Left out: the arguments, which a launch brings along, and the bytes of shared memory ([`crate::Artifact::shared`]),
//! which every target has.

use crate::{ArgExpr, Guards, OptionValue, ProgramLoop, Unaligned};
use std::fmt;
use std::str::FromStr;

/// Who runs a kernel, and what they must know for it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LaunchFacts {
    /// The interpreter runs its ttir.
    Interpreted,
    /// The cores of the host run its machine code.
    Host(HostFacts),
    /// A device runs it, or an emulated one.
    Device(DeviceFacts),
}

/// What the host's thread pool must know.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HostFacts {
    /// The instruction sets that the code uses.
    pub features: Vec<String>,
    /// How many bytes of scratch, from the first on, programs of a launch leave to the next one that runs on the same
    /// thread.
    pub kept_bytes: u64,
    /// What a launch must be; one that is not so takes a kernel that was compiled without.
    pub guards: Guards,
    /// Whether all programs must run at the same time.
    pub cooperative: bool,
    /// Whether programs may wait for what others write.
    pub waits: bool,
}

/// What the driver of a device must know.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceFacts {
    /// The architecture that the code is for, by the target's own name.
    pub arch: String,
    /// Warps of a thread block.
    pub num_warps: u32,
    /// How many of them have roles beside those that the launch asks for.
    pub role_warps: u32,
    /// Lanes of a warp.
    pub warp_size: u32,
    /// Thread blocks of the cluster that is one program.
    pub num_ctas: u32,
    /// Memory of the device that each program needs.
    pub global_scratch: ScratchFacts,
    /// Memory of a profiler that each program needs.
    pub profile_scratch: ScratchFacts,
    /// Bytes of memory that a launch hands in for what the kernel prints, where the driver has no way of its own; 0 for
    /// none.
    pub log_bytes: u64,
    /// Whether all programs must run at the same time.
    pub cooperative: bool,
    /// Whether the launch may begin before the one in front of it in the stream is finished.
    pub overlaps: bool,
    /// Descriptors that launches make of their arguments: parameters behind those of the signature.
    pub maps: Vec<MapRecipe>,
    /// What a launch must be; one that is not so takes a kernel that was compiled without.
    pub guards: Guards,
    /// Which programs of a launch the kernel loops over: a launch starts as many as the device runs at a time, and says
    /// behind the arguments how many there are.
    pub persistent: ProgramLoop,
    /// What a launch of more programs than the device runs at a time must be to gain in any case by a kernel that loops
    /// over them; without conditions where there is no such kernel. Others gain where an SM runs one program at a time.
    pub persistence: Guards,
    /// Whether two programs that lie side by side along x are a cluster, and each copies half of what both read.
    pub paired: bool,
    /// Tensors of which kernels in pairs could be made, and what a launch must be for each.
    pub pairs: Vec<PairFacts>,
    /// Tensors that a kernel could load by descriptors if their rows were copied to where these can begin.
    pub unaligned: Vec<Unaligned>,
    /// Whether loops have fewer stages than they ask for, as shared memory is short.
    pub fewer_stages: bool,
    /// Whether shared memory has room for more stages than loops over dots ask for, by which launches gain that have
    /// few programs for an SM.
    pub spare_stages: bool,
    /// At which level of optimisation a driver assembles the code when it loads it; none where it is machine code
    /// already.
    pub assembler_level: Option<u32>,
}

/// Device memory that each program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ScratchFacts {
    /// Bytes of one program.
    pub bytes: u64,
    /// What its address is a multiple of.
    pub align: u64,
}

impl ScratchFacts {
    /// No memory.
    pub const NONE: ScratchFacts = ScratchFacts { bytes: 0, align: 1 };
}

impl DeviceFacts {
    /// A kernel of one thread block a program, which needs no memory and nothing special.
    pub fn new(arch: impl Into<String>, num_warps: u32, warp_size: u32) -> DeviceFacts {
        DeviceFacts {
            arch: arch.into(),
            num_warps,
            role_warps: 0,
            warp_size,
            num_ctas: 1,
            global_scratch: ScratchFacts::NONE,
            profile_scratch: ScratchFacts::NONE,
            log_bytes: 0,
            cooperative: false,
            overlaps: false,
            maps: Vec::new(),
            guards: Guards::default(),
            persistent: ProgramLoop::None,
            persistence: Guards::default(),
            paired: false,
            pairs: Vec::new(),
            unaligned: Vec::new(),
            fewer_stages: false,
            spare_stages: false,
            assembler_level: None,
        }
    }

    /// Warps that the launch asks for, without those that have roles beside them.
    pub fn asked_warps(&self) -> u32 {
        self.num_warps.saturating_sub(self.role_warps)
    }

    /// Thread blocks of a cluster: those of one program, or one of each of two.
    pub fn cluster(&self) -> u32 {
        if self.paired { 2 } else { self.num_ctas }
    }

    /// Lanes of a thread block.
    pub fn lanes(&self) -> u32 {
        self.num_warps.saturating_mul(self.warp_size)
    }
}

/// A tensor of which two programs that lie side by side read the same.
///
/// Its text is `%1 if 8; program 0; … | 10 alike`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PairFacts {
    /// The number of the argument that is its address.
    pub base: usize,
    /// What a launch must be for that.
    pub guards: Guards,
}

impl fmt::Display for PairFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{} if {}", self.base, self.guards)
    }
}

impl FromStr for PairFacts {
    type Err = String;

    fn from_str(text: &str) -> Result<PairFacts, String> {
        let parts = text.strip_prefix('%').and_then(|text| text.split_once(" if "));
        let (base, guards) = parts.ok_or_else(|| format!("`{text}` names no tensor and what it takes"))?;
        let base = base.parse().map_err(|_| format!("`{base}` is no number of an argument"))?;
        Ok(PairFacts { base, guards: guards.parse()? })
    }
}

/// What an element of a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum MapElement {
    /// An integer of so many bits, or a float of 8.
    Int(u32),
    /// An integer of 32 or 64 bits that is compared as an unsigned one.
    Unsigned(u32),
    /// A float of 16, 32 or 64 bits.
    Float(u32),
    /// A bfloat16.
    Bf16,
}

impl MapElement {
    /// Bits of one.
    pub fn bits(self) -> u32 {
        match self {
            MapElement::Int(bits) | MapElement::Unsigned(bits) | MapElement::Float(bits) => bits,
            MapElement::Bf16 => 16,
        }
    }
}

impl fmt::Display for MapElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapElement::Int(bits) => write!(f, "i{bits}"),
            MapElement::Unsigned(bits) => write!(f, "u{bits}"),
            MapElement::Float(bits) => write!(f, "f{bits}"),
            MapElement::Bf16 => f.write_str("bf16"),
        }
    }
}

/// A descriptor of a tensor that a launch makes of its arguments, for a copy engine that moves it by boxes.
///
/// Its text, which people read, is `%0[%1:i32,%2:i32][%3:i64] f16 128 128x64`: the tensor of rank 2 whose address,
/// sizes and distance of rows are these arguments, of 16-bit floats, swizzled within 128 bytes, read in boxes of 128
/// rows of 64; `out` behind it says that the kernel writes by it, `copied` that the launch copies the tensor first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MapRecipe {
    /// The number of the argument that is its address.
    pub base: usize,
    /// Elements along each axis, the slowest first.
    pub sizes: Vec<ArgExpr>,
    /// Elements from one to the next along each axis but the last, where it is one.
    pub strides: Vec<ArgExpr>,
    /// What an element is.
    pub element: MapElement,
    /// Bytes over which rows of a box are swizzled in shared memory; 0 for not at all.
    pub swizzle: u32,
    /// Elements of a box along each axis.
    pub sides: Vec<u32>,
    /// Whether the kernel writes by it.
    pub is_written: bool,
    /// Whether it is of a copy of the tensor, which the launch makes as descriptors need it
    /// ([`crate::AlignedCopies`]).
    pub is_copied: bool,
}

impl MapRecipe {
    /// The numbers of the arguments that it is made of.
    pub fn args(&self) -> Vec<usize> {
        let mut found = vec![self.base];
        self.sizes.iter().chain(&self.strides).for_each(|part| part.args(&mut found));
        found
    }
}

impl fmt::Display for MapRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[ArgExpr]| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        write!(f, "%{}[{}][{}]", self.base, list(&self.sizes), list(&self.strides))?;
        let sides: Vec<String> = self.sides.iter().map(ToString::to_string).collect();
        write!(f, " {} {} {}", self.element, self.swizzle, sides.join("x"))?;
        match () {
            () if self.is_written => f.write_str(" out"),
            () if self.is_copied => f.write_str(" copied"),
            () => Ok(()),
        }
    }
}

impl LaunchFacts {
    /// The facts of a kernel that a device runs.
    pub fn device(&self) -> Option<&DeviceFacts> {
        match self {
            LaunchFacts::Device(facts) => Some(facts),
            LaunchFacts::Interpreted | LaunchFacts::Host(_) => None,
        }
    }

    /// The facts of a kernel that the host's cores run.
    pub fn host(&self) -> Option<&HostFacts> {
        match self {
            LaunchFacts::Host(facts) => Some(facts),
            LaunchFacts::Interpreted | LaunchFacts::Device(_) => None,
        }
    }

    /// What a launch must be; one that is not so takes a kernel that was compiled without.
    pub fn guards(&self) -> Option<&Guards> {
        match self {
            LaunchFacts::Interpreted => None,
            LaunchFacts::Host(facts) => Some(&facts.guards),
            LaunchFacts::Device(facts) => Some(&facts.guards),
        }
    }

    /// What a launch must be to gain in any case by a kernel that loops over its programs, where there is one.
    pub fn persistence(&self) -> Option<&Guards> {
        self.device().map(|facts| &facts.persistence).filter(|guards| !guards.is_empty())
    }

    /// All of it by the names that `kernel.metadata` has for it, for people and scripts.
    pub fn named(&self) -> Vec<(&'static str, OptionValue)> {
        let int = |value: u64| OptionValue::Int(i64::try_from(value).unwrap_or(i64::MAX));
        let text = |guards: &Guards| if guards.is_empty() { String::new() } else { guards.to_string() };
        let nothing = ScratchFacts::NONE;
        let scratch = |global: &ScratchFacts, profile: &ScratchFacts| {
            vec![
                ("global_scratch_size", int(global.bytes)),
                ("global_scratch_align", int(global.align)),
                ("profile_scratch_size", int(profile.bytes)),
                ("profile_scratch_align", int(profile.align)),
            ]
        };
        match self {
            LaunchFacts::Interpreted => {
                [scratch(&nothing, &nothing), vec![("interpreted", OptionValue::Bool(true))]].concat()
            }
            LaunchFacts::Host(HostFacts { features, kept_bytes, guards, cooperative, waits }) => {
                let own = vec![
                    ("features", OptionValue::Str(features.join(","))),
                    ("kept", int(*kept_bytes)),
                    (crate::COOPERATIVE, OptionValue::Bool(*cooperative)),
                    ("waits", OptionValue::Bool(*waits)),
                    ("launch_guards", OptionValue::Str(text(guards))),
                ];
                [scratch(&nothing, &nothing), own].concat()
            }
            LaunchFacts::Device(facts) => {
                let maps: Vec<String> = facts.maps.iter().map(ToString::to_string).collect();
                let pairs: Vec<String> = facts.pairs.iter().map(ToString::to_string).collect();
                let unaligned: Vec<String> = facts.unaligned.iter().map(ToString::to_string).collect();
                let mut own = scratch(&facts.global_scratch, &facts.profile_scratch);
                own.extend([
                    ("num_warps", int(facts.num_warps.into())),
                    ("total_num_warps", int(facts.num_warps.into())),
                    ("warp_size", int(facts.warp_size.into())),
                    ("num_ctas", int(facts.num_ctas.into())),
                    ("log_bytes", int(facts.log_bytes)),
                    (crate::COOPERATIVE, OptionValue::Bool(facts.cooperative)),
                    ("launch_pdl", OptionValue::Bool(facts.overlaps)),
                    ("tensor_maps", OptionValue::Str(maps.join("; "))),
                    ("launch_guards", OptionValue::Str(text(&facts.guards))),
                    ("persistent", OptionValue::Bool(facts.persistent.is_some())),
                    ("program_counts", int(facts.persistent.counts(&[1; 3]).len() as u64)),
                    ("persistence", OptionValue::Str(text(&facts.persistence))),
                    ("paired", OptionValue::Bool(facts.paired)),
                    ("pairs", OptionValue::Str(pairs.join(" or "))),
                    ("unaligned", OptionValue::Str(unaligned.join("; "))),
                    ("fewer_stages", OptionValue::Bool(facts.fewer_stages)),
                    ("spare_stages", OptionValue::Bool(facts.spare_stages)),
                ]);
                own
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceFacts, LaunchFacts, MapElement, MapRecipe};
    use crate::{ArgExpr, Combine, OptionValue};

    #[test]
    fn facts_have_names_for_people() {
        let (rows, columns) = (ArgExpr::Arg { slot: 1, bits: 32 }, ArgExpr::Constant(64));
        let parts = Box::new([rows.clone(), ArgExpr::Constant(2)]);
        let map = MapRecipe {
            base: 0,
            sizes: vec![ArgExpr::Combined { by: Combine::Mul, bits: 32, parts }, columns],
            strides: vec![ArgExpr::Arg { slot: 3, bits: 64 }],
            element: MapElement::Float(16),
            swizzle: 128,
            sides: vec![128, 64],
            is_written: true,
            is_copied: false,
        };
        assert_eq!(map.args(), [0, 1, 3]);
        let facts = LaunchFacts::Device(DeviceFacts {
            maps: vec![map],
            role_warps: 1,
            ..DeviceFacts::new("x1", 4, 64)
        });
        let named = facts.named();
        let of =
            |wanted: &str| named.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone());
        let text = "%0[%1:i32_2_mul32,64][%3:i64] f16 128 128x64 out";
        assert_eq!(of("tensor_maps"), Some(OptionValue::Str(text.into())));
        assert_eq!(of("num_warps"), Some(OptionValue::Int(4)));
        assert_eq!(facts.device().map(DeviceFacts::lanes), Some(256));
        assert_eq!(LaunchFacts::Interpreted.named().last().map(|(name, _)| *name), Some("interpreted"));
    }
}
