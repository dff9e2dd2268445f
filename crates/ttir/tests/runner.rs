//! The pass runner: passes by name, dumps, times, errors; and where inlined code says it stands.

use ir::pass::{Dump, DumpWhen, PassRow, Times, Verify, by_names, run};
use ir::passes::{ALL, CANONICALIZE, CSE, INLINE};
use ir::text::{ParseOptions, PrintOptions, parse, print};

fn program(text: &str) -> ir::Module {
    let module = parse(text, ttir::registry(), ParseOptions { file: Some("f.ttir") }).expect("a valid text");
    ir::verify(&module).expect("a valid program");
    module
}

const TWICE: &str = "tt.func public @f(%a: i32) -> i32 {
  %x = arith.addi %a, %a : i32
  %y = arith.addi %a, %a : i32
  %z = arith.muli %x, %y : i32
  tt.return %z : i32
}";

#[test]
fn passes_are_found_by_name() {
    let found = by_names("inline, cse,,canonicalize", ALL).expect("known names");
    assert_eq!(found.iter().map(|pass| pass.name).collect::<Vec<_>>(), ["inline", "cse", "canonicalize"]);
    let error = by_names("cse,nonsense", ALL).err().expect("no such pass");
    assert!(
        error.to_string().contains("there is no pass `nonsense`") && error.to_string().contains("symbol-dce")
    );
}

#[test]
fn only_changes_are_dumped_when_only_changes_are_wanted() {
    let dumps = |when| {
        let mut texts = Vec::new();
        let mut sink = |text: &str| texts.push(text.to_owned());
        let mut observer = (Dump::new(when, PrintOptions::PLAIN, &mut sink), Times::default());
        run(&mut program(TWICE), &[&INLINE, &CSE, &CANONICALIZE], Verify::Each, &mut observer)
            .expect("no errors");
        let times = observer.1;
        assert_eq!(times.0.len(), 3);
        assert!(times.to_string().contains("total"));
        texts
    };
    let changed = dumps(DumpWhen::Changed);
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].contains("After cse") && !changed[0].contains("%y"));
    assert_eq!(dumps(DumpWhen::After).len(), 3);
    assert!(dumps(DumpWhen::Before)[0].contains("Before inline"));
}

/// Leaves a program that is not valid.
static BREAK: PassRow = PassRow {
    name: "break",
    doc: "Gives the function a type that is none of a function.",
    run: |module| {
        let function = module.first_op(module.body()).expect("there is a function");
        ttir::ops::func::FuncOp::set_ty(module, function, ir::Type::int(32));
        Ok(())
    },
};

#[test]
fn a_program_is_verified_when_it_is_asked_for() {
    let outcome = |passes: &[&'static PassRow], verify| {
        run(&mut program(TWICE), passes, verify, &mut ()).map_err(|errors| errors[0].to_string())
    };
    let each = outcome(&[&BREAK, &INLINE], Verify::Each).expect_err("the first pass breaks it");
    assert!(each.contains("before pass `break`"), "{each}");
    let end = outcome(&[&BREAK, &INLINE], Verify::End).expect_err("it is broken at the end");
    assert!(end.contains("before the passes"), "{end}");
    assert_eq!(outcome(&[&BREAK, &INLINE], Verify::Never), Ok(()));
    assert_eq!(outcome(&[&INLINE, &CSE], Verify::End), Ok(()));
}

#[test]
fn recursion_is_an_error_at_the_call() {
    let mut module = program(
        "tt.func public @f() {
  tt.call @g() : () -> ()
  tt.return
}
tt.func private @g() {
  tt.call @h() : () -> ()
  tt.return
}
tt.func private @h() {
  tt.call @g() : () -> ()
  tt.return
}",
    );
    let errors = run(&mut module, &[&INLINE], Verify::Each, &mut ()).expect_err("a recursion");
    assert_eq!(errors[0].place.as_deref(), Some("f.ttir:10:3"));
    assert!(errors[0].message.contains("@g calls itself"), "{}", errors[0]);
}

#[test]
fn inlined_code_says_where_it_was_called() {
    let mut module = program(
        "tt.func public @f(%a: tensor<4xf32>) -> f32 {
  %r = tt.call @g(%a) : (tensor<4xf32>) -> f32 loc(\"k.py\":9:4)
  tt.return %r : f32
}
tt.func private @g(%a: tensor<4xf32>) -> f32 {
  %s = \"tt.reduce\"(%a) <{axis = 0 : i32}> ({
  ^bb0(%x: f32 loc(\"lib.py\":2:1), %y: f32 loc(unknown)):
    %z = arith.addf %x, %y : f32 loc(\"lib.py\":3:1)
    tt.reduce.return %z : f32 loc(unknown)
  }) : (tensor<4xf32>) -> f32 loc(\"lib.py\":1:1)
  tt.return %s : f32
}",
    );
    run(&mut module, &[&INLINE], Verify::Each, &mut ()).expect("no errors");
    let text = print(&module, PrintOptions::default());
    // The reduction, its two arguments, the sum and the return.
    let call_sites: std::collections::HashSet<_> =
        text.lines().filter(|line| line.contains("= loc(callsite(")).collect();
    assert_eq!(call_sites.len(), 4, "{text}");
    assert!(text.contains("^bb0(%x: f32 loc(callsite("), "{text}");
    assert!(text.contains("\"k.py\":9:4") && !text.contains("@g"), "{text}");
}
