//! Every kernel of the fixtures becomes a code object on every architecture.

mod support;

use amdgcn_isa::ARCHS;
use support::{compile, fixtures, has_llvm, kernels};
use target::CompileOptions;

#[test]
fn kernels_compile_for_every_architecture() {
    if !has_llvm() {
        return;
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut failures, mut count) = (Vec::new(), 0);
    for path in fixtures() {
        let file = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        if !file.contains(&only) {
            continue;
        }
        for kernel in kernels(&path) {
            for arch in ARCHS {
                count += 1;
                let options = CompileOptions { num_warps: 1, ..CompileOptions::default() };
                let Err(error) = compile(kernel.module.clone(), arch.name(), &options) else { continue };
                failures.push(format!("{file}, {}, {arch}: {error}", kernel.name));
            }
        }
    }
    assert!(count > 0);
    assert!(failures.is_empty(), "{} failures of {count}\n{}", failures.len(), failures.join("\n"));
}
