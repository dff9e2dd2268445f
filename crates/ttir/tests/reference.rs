//! Programs that the reference wrote parse, and print back as they were.

use ir::text::{ParseOptions, PrintOptions, parse, print};

fn check(text: &str) {
    let module =
        parse(text, ttir::registry(), ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let printed = print(&module, PrintOptions::default());
    for (number, (ours, theirs)) in printed.lines().zip(text.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", number + 1);
    }
    assert_eq!(printed, text);
}

#[test]
fn vector_add() {
    check(include_str!("../../../tests/ttir/reference/add_kernel.ttir"));
}

#[test]
fn softmax() {
    check(include_str!("../../../tests/ttir/reference/softmax_kernel_v1.ttir"));
}

#[test]
fn matmul() {
    check(include_str!("../../../tests/ttir/reference/matmul_kernel.ttir"));
}

#[test]
fn every_kind_of_operation() {
    check(include_str!("../../../tests/ttir/reference/zoo.ttir"));
}

#[test]
fn more_operations() {
    check(include_str!("../../../tests/ttir/reference/zoo2.ttir"));
}

#[test]
fn calls_that_are_not_inlined() {
    check(include_str!("../../../tests/ttir/reference/calls.ttir"));
}
