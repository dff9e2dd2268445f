//! The command as people run it.

use std::path::Path;
use std::process::{Command, Output};

const KERNELS: &str = r#"
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)

@triton.jit
def wrong(x_ptr):
    tl.store(x_ptr, nothing)

@triton.jit
def says(x_ptr, N: tl.constexpr):
    tl.static_print("N is", N)
    tl.store(x_ptr, N)
"#;

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(dir.path().join("kernels.py"), KERNELS).expect("writes");
        Bench(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_deuteron"))
            .args(args)
            .current_dir(self.path())
            .env("DEUTERON_CACHE_DIR", self.path().join("cache"))
            .output()
            .expect("it starts")
    }

    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        text
    }

    fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

const SIGNATURE: &str = "*fp32:16, *fp32:16, *fp32:16, i32, 64";

#[test]
fn stages_are_written() {
    let bench = Bench::new();
    let text = bench.ok(&["compile", "kernels.py", "-k", "add", "-s", SIGNATURE]);
    assert!(text.contains("tt.func public @add"), "{text}");
    bench.ok(&[
        "compile",
        "kernels.py",
        "-k",
        "add",
        "-s",
        SIGNATURE,
        "-e",
        "ttir,llir,obj",
        "-o",
        "out",
        "--time",
    ]);
    let read = |name: &str| std::fs::read(bench.path().join("out").join(name)).expect("it was written");
    assert!(read("add.llir").windows(6).any(|bytes| bytes == b"define"));
    assert!(read("add.obj").starts_with(b"\x7fELF") || !cfg!(target_os = "linux"));
    let held = bench.ok(&["cache"]);
    assert!(held.contains("1 kernels, 1 lists"), "{held}");
    assert!(bench.ok(&["cache", "clear"]).contains("removed 2 entries"));
    // What was written is a program again.
    let text = bench.ok(&["opt", "out/add.ttir", "--passes", "canonicalize,cse", "--no-locations"]);
    assert!(text.contains("tt.store") && !text.contains("loc("), "{text}");
    let text = bench.ok(&["compile", "out/add.ttir", "--emit", "llir"]);
    assert!(text.contains("define"), "{text}");
}

#[test]
fn native_code_and_the_interpreter_agree() {
    let bench = Bench::new();
    for len in ["1", "63", "65", "1000"] {
        let array = |fill: &str| format!("{fill}:f32:{len}");
        let (random, zeros) = (array("random"), array("zeros"));
        let text = bench.ok(&[
            "run",
            "kernels.py",
            "-k",
            "add",
            "-a",
            &random,
            "-a",
            &random,
            "-a",
            &zeros,
            "-a",
            len,
            "-a",
            "const:64",
            "-g",
            "16",
            "-e",
            "both",
            "--seed",
            len,
        ]);
        assert!(text.contains("agree (largest difference 0.0e0)") && text.contains("(written)"), "{text}");
    }
    // The interpreter sees what native code would not.
    let text = bench.fails(
        &[
            "run",
            "kernels.py",
            "-k",
            "add",
            "-a",
            "ones:f32:10",
            "-a",
            "ones:f32:10",
            "-a",
            "ones:f32:10",
            "-a",
            "20",
            "-a",
            "const:64",
            "-e",
            "interpreter",
        ],
        1,
    );
    assert!(text.contains("kernels.py:9") && text.contains("argument 0"), "{text}");
}

#[test]
fn errors_say_what_to_do() {
    let bench = Bench::new();
    let text = bench.fails(&["compile", "kernels.py", "-k", "wrong", "-s", "*fp32"], 1);
    assert!(text.contains("kernels.py:15") && text.contains("nothing"), "{text}");
    assert!(bench.fails(&["compile", "kernels.py", "-s", SIGNATURE], 1).contains("--kernel: add, wrong"));
    assert!(bench.fails(&["compile", "kernels.py", "-k", "add"], 1).contains("--signature"));
    assert!(bench.fails(&["compile", "kernels.py", "-k", "add", "-s", "i32"], 1).contains("5 parameters"));
    assert!(
        bench.fails(&["compile", "none.py", "-k", "add", "-s", "i32"], 1).contains("cannot read none.py")
    );
    let with =
        |option: &str| bench.fails(&["compile", "kernels.py", "-k", "add", "-s", SIGNATURE, "-O", option], 1);
    assert!(with("num_warps=3").contains("power of 2"));
    assert!(with("what=3").contains("what was specified but unrecognised"));
    assert!(
        bench.fails(&["run", "kernels.py", "-k", "add", "-a", "nonsense"], 1).contains("random:f32:1024")
    );
    assert!(bench.fails(&["opt", "kernels.py"], 1).contains("kernels.py:"));
    assert!(
        bench
            .fails(&["compile", "kernels.py", "--target", "abacus", "-k", "add", "-s", SIGNATURE], 1)
            .contains("cpu")
    );
    bench.fails(&["what"], 2);
    bench.fails(&["compile"], 2);
}

#[test]
fn it_tells_about_itself() {
    let bench = Bench::new();
    assert!(bench.ok(&["info"]).contains("target cpu"));
    assert!(bench.ok(&["env"]).contains("[cache]"));
    assert!(bench.ok(&["opt", "--list"]).contains("canonicalize"));
    assert!(bench.ok(&["cache", "path"]).trim().ends_with("cache"));
}

#[test]
fn what_a_compile_prints_stands_beside_its_output() {
    let bench = Bench::new();
    let output = bench.run(&["compile", "kernels.py", "--kernel", "says", "--signature", "*i32, 12"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert_eq!(err, "N is 12\n");
    assert!(out.contains("tt.func public @says") && !out.contains("N is"), "{out}");
}

#[test]
fn a_compile_is_repeated_from_its_file() {
    let bench = Bench::new();
    let compile = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_deuteron"))
            .args(["compile", "--emit", "source,llir"])
            .args(args)
            .current_dir(bench.path())
            .env("DEUTERON_CACHE_DIR", bench.path().join("cache"))
            .env("TRITON_REPRODUCER_PATH", bench.path().join("again"))
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let options = ["-O", "num_warps=2", "-O", "debug=True"];
    let python = ["kernels.py", "-k", "add", "-s", SIGNATURE];
    let first = compile(&[&python[..], &options].concat());
    let file = bench.path().join("again.make_ttir.repro.mlir");
    let text = std::fs::read_to_string(&file).expect("it is there");
    assert!(text.contains("pipeline: \"builtin.module(") && text.contains("\"debug\": true"), "{text}");
    // The file is written again by its own compile, and stays as it is.
    assert_eq!(compile(&["again.make_ttir.repro.mlir"]), first);
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), text);
    let more = bench.fails(&["compile", "again.make_ttir.repro.mlir", "-O", "num_warps=4"], 1);
    assert!(more.contains("says its target and its options"), "{more}");
}
