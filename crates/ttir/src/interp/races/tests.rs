//! Kernels as text, run over a grid.

use crate::interp::{Arg, Lines, Memory, RunErrorKind, run};

/// The error of a kernel that gets `words` words of memory; empty if there is none.
fn races(body: &str, programs: u32, words: usize) -> String {
    let text = format!("tt.func public @k(%p: !tt.ptr<i32>) {{\n{body}\n  tt.return\n}}\n");
    let module =
        ir::text::parse(&text, crate::registry(), ir::text::ParseOptions::default()).expect("it parses");
    ir::verify(&module).expect("it verifies");
    let (grid, mut memory) = ([programs, 1, 1], Memory::new());
    let base = memory.alloc("p", vec![0; 4 * words]);
    memory.watch_races(grid);
    match run(&module, "k", grid, &[Arg::Pointer(base)], &mut memory, &mut Lines::default()) {
        Ok(()) => String::new(),
        Err(error) => {
            assert_eq!(error.kind, RunErrorKind::Race, "{error}");
            error.to_string()
        }
    }
}

const START: &str = "  %x = tt.get_program_id x : i32\n  %one = arith.constant 1 : i32\n  \
                     %two = arith.constant 2 : i32\n  %q = tt.addptr %p, %two : !tt.ptr<i32>, i32\n";

fn with_start(body: &str) -> String {
    format!("{START}{body}")
}

#[test]
fn stores_of_two_values_race_and_of_one_do_not() {
    let error = races(&with_start("  tt.store %q, %x : !tt.ptr<i32>"), 3, 4);
    assert!(
        error.contains("program (1, 0, 0) writes i32 at element 2 of `p`, where program (0, 0, 0)"),
        "{error}"
    );
    assert!(error.contains("2 elements clash"), "{error}");
    assert_eq!(races(&with_start("  tt.store %q, %one : !tt.ptr<i32>"), 3, 4), "");
    assert_eq!(races(&with_start("  tt.store %q, %x : !tt.ptr<i32>"), 1, 4), "");
}

#[test]
fn a_read_of_what_others_write_is_a_race_whatever_the_value() {
    let body = "  %v = tt.load %q : !tt.ptr<i32>\n  tt.store %q, %one : !tt.ptr<i32>";
    let error = races(&with_start(body), 2, 4);
    assert!(error.contains("program (1, 0, 0) reads i32"), "{error}");
    // The other order: the first program reads, the second one writes what is there already.
    let body = "  %c = arith.cmpi eq, %x, %one : i32\n  %zero = arith.constant 0 : i32\n  scf.if %c {\n    \
                tt.store %q, %zero : !tt.ptr<i32>\n  } else {\n    %v = tt.load %q : !tt.ptr<i32>\n  }";
    let error = races(&with_start(body), 2, 4);
    assert!(error.contains("program (1, 0, 0) writes i32"), "{error}");
}

/// A program that stores at `%q` behind one that does, with atomics at `%p` between them.
fn handed_over(first: &str, second: &str) -> String {
    let atomic = |sem: &str| format!("tt.atomic_rmw add, {sem}, %p, %one : (!tt.ptr<i32>, i32) -> i32");
    let body = format!(
        "  %c = arith.cmpi eq, %x, %one : i32\n  scf.if %c {{\n    %b = {}\n    tt.store %q, %two : !tt.ptr<i32>\n  \
         }} else {{\n    tt.store %q, %one : !tt.ptr<i32>\n    %a = {}\n  }}",
        atomic(second),
        atomic(first)
    );
    races(&with_start(&body), 2, 4)
}

#[test]
fn a_release_and_an_acquire_order_what_stands_around_them() {
    assert_eq!(handed_over("release, gpu", "acquire, gpu"), "");
    assert_eq!(handed_over("acq_rel, sys", "acq_rel, gpu"), "");
    for (first, second) in [
        ("relaxed, gpu", "acquire, gpu"),
        ("release, gpu", "relaxed, gpu"),
        ("acquire, gpu", "acquire, gpu"),
        ("release, gpu", "release, gpu"),
    ] {
        let error = handed_over(first, second);
        assert!(
            error.contains("program (1, 0, 0) writes i32 at element 2 of `p`"),
            "{first} {second}: {error}"
        );
        assert!(!error.contains("element 0 of `p`"), "atomics do not race: {error}");
    }
    // Among programs, atomics of a thread block are none.
    let error = handed_over("acq_rel, cta", "acq_rel, cta");
    assert!(error.contains("element 0 of `p`") && error.contains("element 2 of `p`"), "{error}");
}

#[test]
fn a_reader_in_the_middle_is_not_forgotten() {
    // Programs 0 and 2 release what they did, program 1 does not; program 3 acquires and writes what all have read.
    let body = "  %three = arith.constant 3 : i32\n  %last = arith.cmpi eq, %x, %three : i32\n  scf.if %last {\n    \
                %a = tt.atomic_rmw add, acquire, gpu, %p, %one : (!tt.ptr<i32>, i32) -> i32\n    \
                tt.store %q, %two : !tt.ptr<i32>\n  } else {\n    %v = tt.load %q : !tt.ptr<i32>\n    \
                %bit = arith.andi %x, %one : i32\n    %odd = arith.cmpi eq, %bit, %one : i32\n    scf.if %odd {\n    \
                } else {\n      %b = tt.atomic_rmw add, release, gpu, %p, %one : (!tt.ptr<i32>, i32) -> i32\n    }\n  }";
    let error = races(&with_start(body), 4, 4);
    assert!(
        error.contains("program (3, 0, 0) writes i32 at element 2 of `p`, where program (1, 0, 0) reads"),
        "{error}"
    );
    assert!(!error.contains("elements clash"), "{error}");
}
