//! Programs in the place of the assembler, which read their input in different ways or not at all.

use super::{Call, LONGEST, NotMade, Process, Waiting, has_ended, keep};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A program in the place of the assembler; it gets the name of its input, `-o`, and that of its output.
struct StandIn {
    folder: TempDir,
}

impl StandIn {
    fn new(script: &str) -> StandIn {
        let stand_in = StandIn { folder: tempfile::tempdir().unwrap() };
        std::fs::write(stand_in.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(stand_in.path(), PermissionsExt::from_mode(0o755)).unwrap();
        stand_in
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("assembler")
    }

    fn call(&self) -> Call {
        Call::of(&self.path(), &[]).unwrap()
    }

    fn start(&self) -> Waiting {
        start(&self.call())
    }
}

/// Starts one; other tests may start programs while the file is written, which keeps it busy for a moment.
fn start(call: &Call) -> Waiting {
    let tries = std::iter::repeat_with(|| {
        Waiting::start(call).inspect_err(|_| std::thread::sleep(Duration::from_millis(20)))
    });
    tries.take(50).find_map(Result::ok).expect("it can be started")
}

/// Keeps one that has waited for as long; returns its number.
fn keep_for(call: &Call, age: Duration) -> u32 {
    let waiting = start(call);
    let id = waiting.process.child.id();
    keep::keep(Waiting { since: waiting.since.checked_sub(age).unwrap(), ..waiting });
    id
}

fn made(process: Result<Process, NotMade>) -> (String, String) {
    let made = process.unwrap().finish().unwrap();
    (String::from_utf8(made.bytes).unwrap(), made.log)
}

fn is_alive(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_text_is_read_once_or_twice_early_or_late() {
    let text = "line\n".repeat(LONGEST / 5);
    for script in [
        r#"cat "$1" > "$3""#,
        r#"cat "$1" > /dev/null; cat "$1" > "$3""#,
        r#"sleep 0.3; cat "$1" "$1" > /dev/null; head -c $(stat -L -c %s "$1") "$1" > "$3""#,
    ] {
        let stand_in = StandIn::new(&format!("{script}; echo \"$1, line 2\" >&2"));
        for pause in [0, 100] {
            let waiting = stand_in.start();
            std::thread::sleep(Duration::from_millis(pause));
            let (bytes, log) = made(waiting.hand_over(&text));
            assert!(bytes == text, "{script}: {} bytes", bytes.len());
            assert_eq!(log, "kernel.ptx, line 2\n", "{script}");
        }
    }
}

#[test]
fn one_that_reads_nothing_is_believed_while_it_runs() {
    let stand_in = StandIn::new(r#"sleep 0.5; echo fixed > "$3""#);
    assert_eq!(made(stand_in.start().hand_over("text")).0, "fixed\n");
}

#[test]
fn one_that_ended_gets_no_text() {
    for (script, ended_early) in [("exit 0", true), ("exit 3", true), ("kill -9 $$", false)] {
        let stand_in = StandIn::new(script);
        let waiting = stand_in.start();
        let state = format!("/proc/{}/stat", waiting.process.child.id());
        wait_until("an end", || std::fs::read_to_string(&state).unwrap().contains(") Z "));
        let error = waiting.hand_over("text").unwrap_err();
        assert_eq!(matches!(error, NotMade::EndedEarly), ended_early, "{script}: {error:?}");
    }
}

#[test]
fn what_is_no_answer_is_an_error() {
    for script in [r#"cat "$1" > "$3"; exit 1"#, r#"cat "$1""#, r#"read word < "$1"; kill -9 $$"#] {
        let stand_in = StandIn::new(script);
        let process = stand_in.start().hand_over("text\n").unwrap();
        assert!(process.finish().is_err(), "{script}");
    }
}

#[test]
fn it_ends_with_the_pipe() {
    let stand_in = StandIn::new(r#"cat "$1" > "$3""#);
    let Waiting { mut process, reader, writer, .. } = stand_in.start();
    std::thread::sleep(Duration::from_millis(100));
    assert!(process.child.try_wait().unwrap().is_none() && !has_ended(&reader));
    drop((reader, writer));
    assert!(process.child.wait().unwrap().success());
}

#[test]
fn a_pipe_that_others_hold_is_not_waited_for() {
    let stand_in = StandIn::new(r#"cat "$1" > "$3""#);
    let waiting = stand_in.start();
    let id = waiting.process.child.id();
    let held = waiting.writer.try_clone().unwrap();
    assert!(matches!(waiting.hand_over("text"), Err(NotMade::NoneWaits)));
    assert!(!is_alive(id));
    drop(held);
}

#[test]
fn a_call_is_of_one_file_and_one_environment() {
    let stand_in = StandIn::new("exit 0");
    let call = stand_in.call();
    assert_eq!(call, stand_in.call());
    assert_ne!(Some(&call), Call::of(&stand_in.path(), &["-v".into()]).as_ref());
    std::fs::write(stand_in.path(), "#!/bin/sh\nexit 11\n").unwrap();
    assert_ne!(call, stand_in.call());
    assert_eq!(Call::new(&stand_in.path(), &[]), None, "it is a script");
    std::fs::remove_file(stand_in.path()).unwrap();
    assert_eq!(Call::of(&stand_in.path(), &[]), None);
    assert!(Call::new(&std::env::current_exe().unwrap(), &[]).is_some());
}

#[test]
fn few_are_kept_and_not_for_long() {
    let stand_ins: [StandIn; 3] = std::array::from_fn(|_| StandIn::new(r#"cat "$1" > "$3""#));
    let calls = stand_ins.each_ref().map(StandIn::call);
    let ids = calls.each_ref().map(|call| keep_for(call, Duration::ZERO));
    assert!(!is_alive(ids[0]) && is_alive(ids[1]) && is_alive(ids[2]), "the oldest is too many");
    assert!(matches!(keep::assemble(&calls[0], "text"), Err(NotMade::NoneWaits)));
    assert!(matches!(keep::assemble(&calls[1], &"x".repeat(LONGEST + 1)), Err(NotMade::NoneWaits)));
    assert_eq!(keep::assemble(&calls[1], "text").unwrap().bytes, b"text");
    keep::give_up();
    assert!(!is_alive(ids[2]), "forks get none");
    let id = keep_for(&calls[0], keep::IDLE - Duration::from_millis(300));
    wait_until("the end of one that waits too long", || !is_alive(id));
}
