//! `emit FILE.ttir [sm_90a] [WARPS] [STAGES] [BLOCKS]`: writes what a kernel becomes, stage by stage, and how long each
//! took.

use ir::pass::Verify;
use nvidia::assemble::{AssembleOptions, Assembler, Ptxas, Search};
use nvidia::lower::Lanes;
use nvidia::pipeline;
use ptx_isa::Arch;
use std::time::{Duration, Instant};

fn timed<T>(times: &mut Vec<(&'static str, Duration)>, name: &'static str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    times.push((name, start.elapsed()));
    result
}

fn main() -> Result<(), String> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: emit FILE.ttir [sm_90a] [WARPS] [STAGES] [BLOCKS]")?;
    let arch: Arch =
        args.next().as_deref().unwrap_or("sm_90a").parse().map_err(|error| format!("{error}"))?;
    let mut number = |default: u32| args.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (num_warps, num_stages, num_ctas) = (number(4), number(3), number(1));
    let options = pipeline::Options { num_warps, num_ctas, num_stages };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let capability = u32::from(arch.number);
    let machine = nvidia::machine::machine(capability).ok_or("no such machine")?;
    let mut times = Vec::new();
    let parse = ir::text::ParseOptions::default();
    let mut module = ir::text::parse(&text, ttir::registry(), parse).map_err(|error| format!("{error:?}"))?;
    timed(&mut times, "ttir", || ir::pass::run(&mut module, ttir::passes::pipeline(), Verify::Each, &mut ()))
        .map_err(|errors| errors.first().map(|error| format!("{error:?}")).unwrap_or_default())?;
    timed(&mut times, "ttgir", || {
        pipeline::to_ttgir(&mut module, capability, machine, &options, Verify::Each, &mut ())
    })
    .map_err(|errors| errors.first().map(|error| format!("{error:?}")).unwrap_or_default())?;
    if std::env::var_os("TTGIR").is_some() {
        println!("{}", ir::text::print(&module, ir::text::PrintOptions::PLAIN));
    }
    let target = Lanes::new(capability, machine);
    let lowered = timed(&mut times, "llir", || lanes::lower(&module, &target, &lanes::Options::default()));
    let mut lowered =
        lowered.map_err(|errors| errors.first().map(|error| format!("{error:?}")).unwrap_or_default())?;
    if std::env::var_os("RAW").is_some() {
        println!("{}", lowered.module);
    }
    timed(&mut times, "passes", || nvidia::ptx::optimize(&mut lowered.module, &mut |_, _| {}));
    llir::verify(&lowered.module).map_err(|errors| format!("{errors:?}\n{}", lowered.module))?;
    if std::env::var_os("LLIR").is_some() {
        println!("{}", lowered.module);
    }
    let has_lines = std::env::var_os("LOCATIONS").is_some();
    let options = nvidia::ptx::Options { has_lines, unroll: false, ..nvidia::ptx::Options::new(arch) };
    let emit = || nvidia::ptx::emit(&lowered.module, &options);
    // The first time builds the table of instructions; a busy machine disturbs any.
    let ptx = timed(&mut times, "ptx, first", emit);
    let count = std::env::var("REPEAT").ok().and_then(|text| text.parse().ok()).unwrap_or(9);
    let mut again = Vec::new();
    for _ in 0..count {
        timed(&mut again, "ptx, best", || _ = emit());
    }
    times.extend(again.into_iter().min_by_key(|(_, time)| *time));
    let ptx = ptx.map_err(|errors| format!("{}", errors[0]))?;
    println!("{}", ptx.text);
    let search = Search::from_environment(Some(std::path::Path::new(".venv")));
    let ptxas = Ptxas::find(&search).map_err(|error| error.to_string())?;
    let assembled = timed(&mut times, "ptxas", || ptxas.assemble(&ptx.text, &AssembleOptions::new(arch)));
    for (name, usage) in assembled.map_err(|error| error.to_string())?.usage {
        eprintln!("{name}: {usage:?}");
    }
    for (name, time) in times {
        eprintln!("{name:>8} {:8.3} ms", time.as_secs_f64() * 1e3);
    }
    Ok(())
}
