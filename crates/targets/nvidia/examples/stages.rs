//! Compiles a ttir file and writes every stage beside it: `stages FILE ARCH WARPS STAGES OUT`.
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let arch: u32 = args[2].parse().unwrap();
    let options = nvidia::pipeline::Options {
        num_warps: args[3].parse().unwrap(),
        num_ctas: 1,
        num_stages: args[4].parse().unwrap(),
    };
    let machine = nvidia::machine::machine(arch).unwrap();
    for round in 0..3 {
        let mut module =
            ir::text::parse(&text, ttgir::registry(), ir::text::ParseOptions::default()).unwrap();
        let t = Instant::now();
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Never, &mut ()).unwrap();
        let t0 = t.elapsed();
        let t = Instant::now();
        if let Err(e) = nvidia::pipeline::to_ttgir(
            &mut module,
            arch,
            machine,
            &options,
            if round == 0 { ir::pass::Verify::Each } else { ir::pass::Verify::Never },
            &mut (),
        ) {
            panic!("{e:?}")
        }
        let t1 = t.elapsed();
        std::fs::write(
            format!("{}.ttgir", args[5]),
            ir::text::print(&module, ir::text::PrintOptions::default()),
        )
        .unwrap();
        let t = Instant::now();
        let target = nvidia::lower::Lanes { capability: arch, machine };
        let lowered = match lanes::lower(&module, &target, &lanes::Options::default()) {
            Ok(l) => l,
            Err(e) => panic!("{e:?}"),
        };
        let t2 = t.elapsed();
        std::fs::write(format!("{}.llir", args[5]), lowered.module.to_string()).unwrap();
        if round == 0 {
            if let Err(e) = llir::verify(&lowered.module) {
                panic!("{}", e[0])
            }
        }
        let t = Instant::now();
        let ptx = nvidia::ptx::emit(
            &lowered.module,
            &nvidia::ptx::Options::new(nvidia::instructions::Arch::of_capability(arch as u16).unwrap()),
        )
        .unwrap_or_else(|e| panic!("{e:?}"));
        let t3 = t.elapsed();
        std::fs::write(format!("{}.ptx", args[5]), &ptx.text).unwrap();
        eprintln!(
            "ttir {t0:?} ttgir {t1:?} lanes {t2:?} ptx {t3:?} shared {} lines {}",
            lowered.kernels[0].shared_bytes,
            ptx.text.lines().count()
        );
    }
}
