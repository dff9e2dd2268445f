//! `deuteron tune` as people run it.

use runtime::tuning::{Outcome, Record, Subject, Times, write_file};
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deuteron"))
        .args(args)
        .current_dir(folder)
        .env("DEUTERON_CACHE_DIR", folder.join("cache"))
        .env_remove("DEUTERON_CACHE")
        .output()
        .expect("it starts")
}

fn ok(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fails(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn record(kernel: &str) -> Record {
    let subject = Subject {
        kernel: kernel.into(),
        values: vec![("M".into(), "512".into())],
        dtypes: vec!["torch.float16".into()],
        device: "A device of elsewhere, 132 SMs".into(),
        ..Subject::default()
    };
    let mut record = Record { subject, measured: Vec::new() };
    let times = |median| Times { median, low: median, high: median };
    record.set("BLOCK: 64", Outcome::Timed(times(2.0)));
    record.set("BLOCK: 128", Outcome::Timed(times(0.5)));
    record.set("BLOCK: 256", Outcome::Slower(times(4.0)));
    record.set("BLOCK: 512", Outcome::Failed("OutOfResources: out of resource: shared memory\nmore".into()));
    record
}

#[test]
fn results_travel() {
    let (here, there) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let text = write_file(&[record("matmul"), record("softmax")]).expect("plain data");
    std::fs::write(here.path().join("tuned.jsonl"), &text).expect("writes");
    assert_eq!(ok(here.path(), &["tune", "list"]), "no results of tuning are kept\n");
    let said = ok(here.path(), &["tune", "import", "tuned.jsonl"]);
    assert_eq!(said, "2 results taken from tuned.jsonl, 0 of them for a device of this machine\n");
    let listed = ok(here.path(), &["tune", "list", "--kernel", "matmul", "--all"]);
    assert_eq!(
        listed,
        "matmul (M=512, torch.float16)\n  device   A device of elsewhere, 132 SMs\n  fastest  BLOCK: 128: 0.5000 ms\n  \
         measured 3 configurations, and 1 that cannot run\n    BLOCK: 64: 2.0000 ms (2.0000 to 2.0000)\n    BLOCK: 128: 0.5000 \
         ms (0.5000 to 0.5000)\n    BLOCK: 256: 4.0000 ms, not timed to the end\n    BLOCK: 512: OutOfResources: out of \
         resource: shared memory\n"
    );
    ok(here.path(), &["tune", "export", "again.jsonl"]);
    assert_eq!(std::fs::read_to_string(here.path().join("again.jsonl")).expect("it is there"), text);
    assert_eq!(ok(here.path(), &["tune", "export", "-"]), text);
    assert!(fails(here.path(), &["tune", "export", "no/such/folder.jsonl"]).contains("cannot write"));
    let path = here.path().join("again.jsonl");
    ok(there.path(), &["tune", "import", path.to_str().expect("UTF-8")]);
    assert!(ok(there.path(), &["tune", "list"]).starts_with("matmul"));
}

#[test]
fn a_kernel_without_results_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = |name: &str| folder.path().join(name).exists();
    let error = fails(folder.path(), &["tune", "export", "all.jsonl"]);
    assert!(
        error.contains("no results of tuning are kept in ") && error.contains("nothing to export"),
        "{error}"
    );
    let error = fails(folder.path(), &["tune", "export", "all.jsonl", "--kernel", "matmul"]);
    assert!(error.contains("`matmul`") && error.contains("none of any kernel"), "{error}");
    let text = write_file(&[record("matmul"), record("softmax")]).expect("plain data");
    std::fs::write(folder.path().join("tuned.jsonl"), &text).expect("writes");
    ok(folder.path(), &["tune", "import", "tuned.jsonl"]);
    for verb in [&["list"][..], &["export", "all.jsonl"], &["export", "-"]] {
        let output = run(folder.path(), &[&["tune"], verb, &["--kernel", "matmull"]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true), "{verb:?}: {error}");
        assert!(error.contains("`matmull`") && error.contains("matmul, softmax"), "{error}");
    }
    assert!(!there("all.jsonl"));
    ok(folder.path(), &["tune", "export", "one.jsonl", "--kernel", "softmax"]);
    let one = runtime::tuning::read_file(
        &std::fs::read_to_string(folder.path().join("one.jsonl")).expect("it is there"),
    );
    assert_eq!(one, Ok(vec![record("softmax")]));
}

#[test]
fn a_damaged_file_is_refused_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = write_file(&[record("matmul")]).expect("plain data");
    std::fs::write(folder.path().join("cut.jsonl"), &text[..text.len() - 5]).expect("writes");
    let error = fails(folder.path(), &["tune", "import", "cut.jsonl"]);
    assert!(error.contains("cut.jsonl: the file is damaged"), "{error}");
    std::fs::write(folder.path().join("other.jsonl"), "PNG").expect("writes");
    assert!(fails(folder.path(), &["tune", "import", "other.jsonl"]).contains("no file of tuning results"));
    std::fs::write(folder.path().join("bytes.jsonl"), [0xff, 0x00, 0xc3, 0x28, b'\n']).expect("writes");
    assert!(fails(folder.path(), &["tune", "import", "bytes.jsonl"]).contains("no file of tuning results"));
    assert!(fails(folder.path(), &["tune", "import", "missing.jsonl"]).contains("cannot read missing.jsonl"));
    assert_eq!(ok(folder.path(), &["tune", "list"]), "no results of tuning are kept\n");
}
