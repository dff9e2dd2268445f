//! What the tests share: random numbers, and kernels made of a few lines.

use amd_emulator::{Arch, Argument, Checks, Fault, FindingKind, Launch, Memory, Program, Report};
use std::hash::{BuildHasher, Hasher};

/// Numbers that differ in every run; the seed is printed, so a failure can be repeated.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn fresh() -> Random {
        let seed = std::hash::RandomState::new().build_hasher().finish() | 1;
        println!("random numbers from seed {seed:#x}");
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A whole number from `-end` to `end`.
    pub(crate) fn whole(&mut self, end: i64) -> i64 {
        (self.next() >> 11) as i64 % (2 * end + 1) - end
    }

    pub(crate) fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.next() as u32).collect()
    }
}

/// What every text may call.
const DECLARATIONS: &str = "
@lds = external addrspace(3) global [0 x i8], align 16
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
";

/// A kernel `k` of `p`, an array of words in and out; `%t` is the lane and `%a` the address of its word.
pub(crate) fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "{DECLARATIONS}{declarations}
define amdgpu_kernel void @k(ptr addrspace(1) %p) {{
bb0:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %a = getelementptr i32, ptr addrspace(1) %p, i32 %t
{body}
}}
"
    )
}

/// How to run a kernel.
pub(crate) struct Setup {
    pub(crate) arch: Arch,
    pub(crate) grid: u32,
    pub(crate) warps: u32,
    pub(crate) lds: usize,
    pub(crate) threads: usize,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { arch: Arch::Gfx942, grid: 1, warps: 1, lds: 0, threads: 2 }
    }
}

pub(crate) fn on(arch: Arch) -> Setup {
    Setup { arch, ..Setup::default() }
}

impl Setup {
    pub(crate) fn parse(&self, text: &str) -> Program {
        match Program::parse(text, self.arch) {
            Ok(program) => program,
            Err(error) => panic!("{error}\n{text}"),
        }
    }

    /// Runs `k` on words, which it may change.
    pub(crate) fn run(&self, text: &str, words: &mut [u32]) -> Result<Report, Box<Fault>> {
        let program = self.parse(text);
        let mut memory = Memory::new();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = memory.allocate_with(&bytes);
        let launch = Launch {
            grid: [self.grid, 1, 1],
            warps: self.warps,
            dynamic_lds: self.lds,
            arguments: vec![Argument::from(address)],
            threads: self.threads,
        };
        let report = program.launch("k", &launch, &mut memory, Checks::default())?;
        for (index, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; 4];
            memory.read(address + 4 * index as u64, &mut bytes).expect("the array was made so long");
            *word = u32::from_le_bytes(bytes);
        }
        Ok(report)
    }

    /// The same without findings.
    pub(crate) fn clean(&self, text: &str, words: &mut [u32]) {
        match self.run(text, words) {
            Ok(report) => assert!(report.findings.is_empty(), "{:?}\n{text}", report.findings),
            Err(fault) => panic!("{fault}\n{text}"),
        }
    }

    /// Runs it and expects one kind of finding; its first message with all there is.
    pub(crate) fn finds(&self, text: &str, kind: FindingKind) -> String {
        let mut words = vec![0; 1024];
        let report = self.run(text, &mut words).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        assert!(!report.findings.is_empty(), "nothing was found\n{text}");
        assert!(report.findings.iter().all(|finding| finding.kind == kind), "{:?}", report.findings);
        report.findings[0].to_string()
    }

    /// Runs it and expects a fault.
    pub(crate) fn faults(&self, text: &str) -> Fault {
        match self.run(text, &mut vec![0; 1024]) {
            Ok(report) => panic!("no fault; found {:?}\n{text}", report.findings),
            Err(fault) => *fault,
        }
    }
}
