//! A `ptxas` that was started ahead of its text makes and says what another one does.

#[path = "support/assembler.rs"]
mod assembler;

use assembler::assembler;
use nvidia::assemble::{AssembleError, AssembleOptions, Assembler, Cubin};
use std::path::Path;

/// A kernel that adds a number some times.
fn text(times: usize) -> String {
    let add = "\tadd.u32 %r1, %r1, %r2;\n\tmul.lo.u32 %r2, %r2, %r1;\n".repeat(times);
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         \t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n\
         \tmov.u32 %r2, %tid.x;\n{add}\tst.global.u32 [%rd1], %r2;\n\tret;\n}}\n"
    )
}

fn options(level: u32, line_info: bool) -> AssembleOptions {
    let options = AssembleOptions::new("sm_90a".parse().unwrap());
    AssembleOptions { optimization: level, line_info, ..options }
}

fn assemble(text: &str, options: &AssembleOptions) -> Result<Cubin, AssembleError> {
    assembler().assemble(text, options).map(|cubin| {
        let timeless = cubin.log.lines().filter(|line| !line.contains("Compile time"));
        Cubin { log: timeless.collect::<Vec<_>>().join("\n"), ..cubin }
    })
}

/// Children of this process that wait for a text.
fn waiting() -> Vec<u32> {
    let own = format!("/proc/{}/fd/", std::process::id());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let words = |id: &u32| std::fs::read(Path::new("/proc").join(id.to_string()).join("cmdline"));
    numbers.filter(|id| words(id).is_ok_and(|words| String::from_utf8_lossy(&words).contains(&own))).collect()
}

#[test]
fn nothing_tells_that_it_was_started_ahead() {
    let texts: Vec<String> = [1, 2, 3, 40, 400].into_iter().map(text).collect();
    for (level, line_info) in [(3, true), (1, true), (3, false)] {
        let options = options(level, line_info);
        // The first of a process does not begin to wait; afterwards each text finds one that does.
        let usual: Vec<_> = texts.iter().map(|text| assemble(text, &options).unwrap()).collect();
        let others = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| texts.iter().map(|text| assemble(text, &options).unwrap()).collect()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<Vec<_>>>()
        });
        assert!(others.iter().all(|other| *other == usual), "level {level}, lines {line_info}");
        assert!(!waiting().is_empty());
    }
    let options = options(3, true);
    let wrong = text(2).replace("mul.lo.u32", "mul.loo.u32");
    let errors = [(); 3].map(|()| assemble(&wrong, &options).unwrap_err());
    assert!(errors[0].to_string().contains("kernel.ptx, line 12"), "{}", errors[0]);
    assert!(errors.iter().all(|error| *error == errors[0]));
    assert_eq!(assemble(&texts[0], &options).unwrap().usage[0].0, "k");
    assert!(!waiting().is_empty(), "a wrong text is no reason to start no more");
    let killed = waiting();
    killed.iter().for_each(|id| {
        std::process::Command::new("kill").args(["-9", &id.to_string()]).status().unwrap();
    });
    assert!(assemble(&texts[0], &options).is_ok());
    assert!(waiting().iter().any(|id| !killed.contains(id)), "a killed one neither");
}
