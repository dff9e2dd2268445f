//! Every kernel of the fixtures becomes a code object on every architecture.

mod support;

use amdgcn_isa::ARCHS;
use std::sync::Mutex;
use support::{Kernel, compile, fixtures, has_llvm, kernels};
use target::CompileOptions;

/// Elements of a block for each warp: where one warp holds thousands of values, LLVM takes minutes to spill them.
const ELEMENTS_A_WARP: i64 = 256;

#[test]
fn kernels_compile_for_every_architecture() {
    if !has_llvm() {
        return;
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut jobs = Vec::new();
    for path in fixtures() {
        let file = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        if file.contains(&only) {
            jobs.extend(kernels(&path).into_iter().map(|kernel| (file.clone(), kernel)));
        }
    }
    assert!(!jobs.is_empty());
    let (rest, failures) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    let next = || rest.lock().expect("no thread failed").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((file, kernel)) = next() {
                    let found = failures_of(file, kernel);
                    failures.lock().expect("no thread failed").extend(found);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread failed");
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Compiles a kernel for every architecture, and says where that failed.
fn failures_of(file: &str, kernel: &Kernel) -> Vec<String> {
    let options = CompileOptions { num_warps: warps_of(&kernel.module), ..CompileOptions::default() };
    let compile = |arch: &str| compile(kernel.module.clone(), arch, &options).err();
    ARCHS
        .iter()
        .filter_map(|arch| {
            compile(arch.name()).map(|error| format!("{file}, {}, {arch}: {error}", kernel.name))
        })
        .collect()
}

/// Warps that the largest block of a module asks for: 1, 2, 4 or 8.
fn warps_of(module: &ir::Module) -> u32 {
    let results = module.walk(module.top()).into_iter().flat_map(|op| module.results(op));
    let shapes = results.filter_map(|value| module.ty(*value).shape_and_element());
    let largest = shapes.map(|(shape, _)| shape.iter().product::<i64>()).max().unwrap_or(1);
    let warps = (largest / ELEMENTS_A_WARP).clamp(1, 8);
    u32::try_from(warps).expect("there are at most eight").next_power_of_two()
}
