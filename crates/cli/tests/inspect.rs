//! `deuteron inspect` as people run it.

use std::path::Path;
use std::process::{Command, Output};

const KERNEL: &str = r#"
import triton
import triton.language as tl

@triton.jit
def twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + x, mask=offsets < n)
"#;

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deuteron"))
        .arg("inspect")
        .args(args)
        .current_dir(folder)
        .env("DEUTERON_CACHE_DIR", folder.join("cache"))
        .output()
        .expect("it starts")
}

/// What it says, without the ends of lines.
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), KERNEL).expect("writes");
    folder
}

#[test]
fn a_kernel_of_a_file_for_two_targets() {
    let folder = folder();
    let of = |target: &str, n: &str| {
        let signature = format!("*fp32:16, *fp32:16, {n}, 1024");
        said(&run(folder.path(), &["k.py", "-s", &signature, "--target", target, "--grid", "4096"]))
    };
    let wide = of("cuda:90", "i32:16");
    assert!(wide.contains("Memory bound: 8192 B for each program, each byte moved once"), "{wide}");
    assert!(wide.contains("vector: 16 B an access (4 × 4 B)") && wide.contains("| x = tl.load("), "{wide}");
    assert!(wide.contains("16 sectors a request, 16 would do: 100 %"), "{wide}");
    let parts = of("cuda:90", "i32");
    assert!(
        parts.contains("vector, or parts of it where the mask ends: 16 B an access (4 × 4 B)"),
        "{parts}"
    );
    std::fs::write(folder.path().join("k.py"), KERNEL.replace("< n", "!= n")).expect("writes");
    let narrow = of("cuda:90", "i32");
    assert!(narrow.contains("not wider: the mask may change between single elements"), "{narrow}");
    std::fs::write(folder.path().join("k.py"), KERNEL).expect("writes");
    let cpu = of("cpu", "i32:16");
    assert!(cpu.contains("Memory bound") && cpu.contains("memory measured here"), "{cpu}");
}

const TURNED: &str = r#"
import triton
import triton.language as tl

@triton.jit
def turned(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)[:, None]
    columns = tl.arange(0, SIZE)[None, :]
    x = tl.exp(tl.load(x_ptr + rows * SIZE + columns))
    tl.store(out_ptr + rows * SIZE + columns, x + tl.trans(x))
"#;

#[test]
fn what_is_not_fused_says_why() {
    let folder = folder();
    std::fs::write(folder.path().join("turned.py"), TURNED).expect("writes");
    let report = said(&run(
        folder.path(),
        &["turned.py", "-s", "*fp32:16, *fp32:16, 64", "--target", "cpu", "--grid", "1"],
    ));
    assert!(
        report.contains(
            "64×64×f32 of math.exp, not fused: a loop reads it at other positions than it is computed at"
        ),
        "{report}"
    );
    let fused = said(&run(
        folder.path(),
        &["k.py", "-s", "*fp32:16, *fp32:16, i32:16, 1024", "--target", "cpu", "--grid", "4096"],
    ));
    assert!(!fused.contains("not fused"), "{fused}");
}

#[test]
fn a_file_with_layouts_and_a_page() {
    let folder = folder();
    let text =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ttgir/reference/matmul_small_90.ttgir");
    let text = text.to_str().expect("a path");
    let output = run(folder.path(), &[text, "--target", "cuda:90", "--html", "page.html"]);
    assert!(said(&output).contains("Dots"), "{}", said(&output));
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("it is there");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("data-stage=\"ttgir\""));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains(" src="));
}

#[test]
fn wrong_questions_say_what_is_right() {
    let folder = folder();
    let fails = |args: &[&str]| {
        let output = run(folder.path(), args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let with = |more: &[&str]| {
        let start = ["k.py", "-s", "*fp32, *fp32, i32, 64", "--target", "cuda:80"];
        fails(&[&start[..], more].concat())
    };
    assert!(with(&["--arg", "m=3"]).contains("no parameter `m`; it has x_ptr, out_ptr, n"));
    assert!(with(&["--arg", "n=many"]).contains("NAME=VALUE"));
    assert!(with(&["--device", "abacus"]).contains("A100 SXM"));
    assert!(with(&["--grid", "0"]).contains("at least 1"));
}
