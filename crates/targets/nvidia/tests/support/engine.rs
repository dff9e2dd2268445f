//! Compiled code as an engine for fixtures and random programs: to PTX, which the emulator runs.

use super::encode::{Spread, encode};
use emulator::{Argument as Parameter, Checks, Launch, Memory, Program};
use lanes::{Lowered, Options};
use nvidia::instructions::Arch;
use nvidia::lower::Lanes;
use nvidia::{pipeline, ptx};
use ttir::ops::{descriptor, memory};
use ttir::testing::{Argument, Engine, Ran};

/// How blocks get their layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// One encoding for each shape, and conversions.
    Spread(Spread),
    /// The target's own passes, for so many warps.
    Passes(u32),
}

/// Compiled code on the emulator.
pub(crate) struct Emulated {
    /// Ten times the compute capability.
    pub(crate) capability: u32,
    /// How blocks get their layouts.
    pub(crate) way: Way,
    /// What is watched.
    pub(crate) checks: Checks,
}

impl Emulated {
    /// Watches everything but counters.
    pub(crate) fn new(capability: u32, way: Way) -> Emulated {
        let checks = Checks { counters: false, max_instructions: 50_000_000, ..Checks::default() };
        Emulated { capability, way, checks }
    }
}

/// Leaves one kernel public, so that the others are inlined or dropped.
fn isolate(module: &mut ir::Module, kernel: &str) {
    use ttir::ops::func::func_attr::VISIBILITY;
    for op in module.ops(module.body()).collect::<Vec<_>>() {
        let is_kernel = module.attr_named(op, "sym_name").and_then(ir::Attr::as_str) == Some(kernel);
        module.set_attr(op, VISIBILITY, Some(ir::Attr::str(if is_kernel { "public" } else { "private" })));
    }
}

/// Puts barriers around each operation that writes memory. Programs may read and write an element twice, from different
/// lanes: without barriers nothing says which access is the last.
fn order_writes(module: &mut ir::Module) {
    let all = ir::Attr::Enum { row: &memory::BARRIER_SCOPE, value: 7 };
    for op in module.walk(module.top()) {
        let writes = [&memory::STORE, &descriptor::STORE, &descriptor::SCATTER, &descriptor::REDUCE];
        if !writes.iter().any(|row| module.is(op, row)) {
            continue;
        }
        let loc = module.loc(op);
        let mut barrier = || {
            let attrs = [Some(all.clone())].into_iter().collect();
            module.create(&memory::BARRIER, ir::OpInit { attrs, ..ir::OpInit::default() }, loc)
        };
        let (before, after) = (barrier(), barrier());
        module.insert_before(op, before);
        module.insert_after(op, after);
    }
}

/// A ttir module with layouts.
fn with_layouts(module: ir::Module, capability: u32, way: Way) -> Result<ir::Module, String> {
    let num_warps = match way {
        Way::Spread(spread) => return encode(&module, spread),
        Way::Passes(num_warps) => num_warps,
    };
    let mut module = module;
    let machine = nvidia::machine::machine(capability).ok_or("no such machine")?;
    let options = pipeline::Options { num_warps, num_ctas: 1, num_stages: 3 };
    pipeline::to_ttgir(&mut module, capability, machine, &options, ir::pass::Verify::Each, &mut ())
        .map_err(|errors| errors[0].to_string())?;
    Ok(module)
}

/// A kernel of a ttir module as llir, for a device of a compute capability.
pub(crate) fn lowered(
    module: &ir::Module,
    kernel: &str,
    capability: u32,
    way: Way,
) -> Result<Lowered, String> {
    let mut module = module.clone();
    isolate(&mut module, kernel);
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
        .map_err(|errors| format!("{errors:?}"))?;
    order_writes(&mut module);
    let module = with_layouts(module, capability, way)?;
    if std::env::var_os("SHOW").is_some() {
        println!("{}", ir::text::print(&module, ir::text::PrintOptions::PLAIN));
    }
    let machine = nvidia::machine::machine(capability).ok_or("no such machine")?;
    let target = Lanes { capability, machine };
    // The interpreter rounds every product.
    let options = Options { fuse_multiply_add: false, ..Options::default() };
    let lowered = lanes::lower(&module, &target, &options).map_err(|errors| errors[0].to_string())?;
    match llir::verify(&lowered.module) {
        Ok(()) => Ok(lowered),
        Err(errors) => Err(format!("{}\n{}", errors[0], lowered.module)),
    }
}

impl Engine for Emulated {
    fn name(&self) -> &str {
        "emulator"
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let mut lowered = lowered(module, kernel, self.capability, self.way)?;
        let raw = lowered.module.to_string();
        ptx::optimize(&mut lowered.module, &mut |_, _| {});
        llir::verify(&lowered.module)
            .map_err(|errors| format!("{}\n{raw}\n{}", errors[0], lowered.module))?;
        let facts = lowered.kernels.first().ok_or("no kernel")?;
        let arch = Arch::of_capability(self.capability as u16).ok_or("no such architecture")?;
        let emitted = ptx::emit(&lowered.module, &ptx::Options::new(arch))
            .map_err(|errors| format!("{}\n{}", errors[0], lowered.module))?;
        if std::env::var_os("SHOW").is_some() {
            println!("{}\n{}", lowered.module, emitted.text);
        }
        let program = Program::parse(&emitted.text).map_err(|error| format!("{error}\n{}", emitted.text))?;
        let entry = program.entry(&emitted.kernels[0]).ok_or("no entry")?;
        let mut memory = Memory::new();
        let mut addresses = Vec::new();
        let mut arguments: Vec<Parameter> = Vec::new();
        for (arg, param) in args.iter().zip(entry.params) {
            let bits = match arg {
                Argument::Bits(bits) => *bits,
                Argument::Buffer(bytes) => {
                    let address = memory.allocate_with(bytes);
                    addresses.push((address, bytes.len()));
                    address
                }
            };
            arguments.push(Parameter(bits.to_le_bytes()[..param.bytes].to_vec()));
        }
        let programs = u64::from(grid[0]) * u64::from(grid[1]) * u64::from(grid[2]);
        let scratch = facts.global_scratch.bytes * programs;
        arguments.push(memory.allocate(scratch.max(16) as usize).into());
        arguments.push(0u64.into());
        let launch = Launch {
            grid,
            block: [facts.lanes * facts.num_warps, 1, 1],
            dynamic_shared: facts.shared_bytes as usize,
            arguments,
            ..Launch::default()
        };
        let report = program
            .launch(entry.name, &launch, &mut memory, self.checks)
            .map_err(|fault| fault.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(format!("{:?}: {finding}", finding.kind));
        }
        let mut ran = Ran { lines: report.output.lines().map(str::to_owned).collect(), ..Ran::default() };
        for (address, bytes) in addresses {
            let mut buffer = vec![0; bytes];
            memory.read(address, &mut buffer).map_err(|error| error.to_string())?;
            ran.buffers.push(buffer);
        }
        Ok(ran)
    }
}
