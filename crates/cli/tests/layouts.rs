//! `deuteron layout`: what `docs/layouts.md` shows is what it prints.

use std::path::Path;
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deuteron")).args(args).current_dir(root()).output().expect("it starts")
}

/// Words of a command line; quotes keep blanks in a word.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one from the start").push(c),
        }
    }
    words
}

#[test]
fn the_page_shows_what_is_printed() {
    let page = std::fs::read_to_string(root().join("docs/layouts.md")).expect("the page is there");
    let mut count = 0;
    for block in page.split("```console\n$ deuteron ").skip(1) {
        let (line, rest) = block.split_once('\n').expect("a line");
        let expected = rest.split_once("```").expect("a closed block").0;
        let words = words(line);
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}");
        count += 1;
    }
    assert_eq!(count, 3);
}

#[test]
fn a_drawing_is_written() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("a.svg");
    let name = path.to_str().expect("a plain name");
    let shared = "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>";
    assert!(run(&["layout", shared, "tensor<64x64xf16>", "--svg", name, "--hardware"]).status.success());
    let drawing = std::fs::read_to_string(&path).expect("it was written");
    assert!(drawing.starts_with("<svg") && drawing.matches("<rect").count() == 64 * 64 + 1);
}

#[test]
fn mistakes_are_named() {
    let blocked =
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>";
    for (encoding, ty, words) in [
        ("#mma", "tensor<4xf32>", "`#mma` is not defined"),
        (blocked, "tensor<4x4xf32>", "the encoding has 1 dimensions"),
        (blocked, "f32", "is not a tensor"),
        (blocked, "tensor<3xf32>", "not a positive power of two"),
        ("#ttg.shared_memory", "tensor<4xf32>", "is neither an encoding"),
        ("#ttg.blocked<{order = [0]}>", "tensor<4xf32>", "is missing"),
    ] {
        let output = run(&["layout", encoding, ty]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{encoding} {ty}");
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_program_with_layouts_is_read_and_checked() {
    let text = run(&["opt", "tests/ttgir/reference/add_90.ttgir"]);
    let expected = std::fs::read(root().join("tests/ttgir/reference/add_90.ttgir")).expect("it is there");
    assert_eq!(text.stdout, expected);
    let wrong = run(&["opt", "tests/ttgir/verify/encodings.ttgir"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("for 8 warps, the program has 4"));
}

#[test]
fn passes_know_the_machine_that_a_program_names() {
    let passes = "assign-layouts,unroll-loads,prefetch-loads,pipeline-loops";
    for file in ["add_90", "softmax_online_90", "softmax_naive_90"] {
        let path = format!("tests/ttgir/reference/{file}.ttgir");
        let done = run(&["opt", &path, "--passes", passes]);
        assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(String::from_utf8_lossy(&done.stdout).contains("ttg.target = \"cuda:90\""), "{file}");
    }
    let text =
        std::fs::read_to_string(root().join("tests/ttgir/reference/add_90.ttgir")).expect("it is there");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("add.ttgir");
    std::fs::write(&path, text.replace("cuda:90", "abacus:3")).expect("writes");
    let refused = run(&["opt", &path.display().to_string(), "--passes", passes]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("nothing is known here of the machine `abacus:3`"), "{error}");
}
