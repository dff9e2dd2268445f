//! Aliases that stand for others, each of which stands for two: what they say is read, or refused, in no time.

use ir::text::{ParseOptions, PrintOptions, parse, print};

/// A kernel in front of whose texts stand definitions of `#a0`, of the line that is given, and of `#a1` to `#a99`.
fn text(first: &str, next: impl Fn(usize) -> String, used: &str) -> String {
    let definitions: String = (1..100).map(|at| format!("#a{at} = {}\n", next(at - 1))).collect();
    format!(
        "#a0 = {first}\n{definitions}module attributes {{ttg.used = {used}}} {{\n  tt.func public @k(%x: i32) {{\n    tt.return loc(#a0)\n  }}\n}}\n"
    )
}

#[test]
fn places_that_are_places_of_two_others_are_read() {
    for first in ["loc(\"k.py\":3:5)", "loc(unknown)"] {
        let text = text(first, |at| format!("loc(callsite(#a{at} at #a{at}))"), "1 : i32")
            .replace("loc(#a0)", "loc(#a99)");
        let module = parse(&text, ttir::registry(), ParseOptions::default()).expect("the text is right");
        let places: Vec<_> =
            module.walk(module.top()).iter().map(|op| module.locs.describe(module.loc(*op))).collect();
        assert_eq!(places.iter().flatten().count() > 0, first.contains("k.py"), "{places:?}");
        assert!(print(&module, PrintOptions::default()).contains("callsite"));
    }
}

#[test]
fn attributes_that_are_two_others_are_too_large() {
    for next in [
        |at| format!("[#a{at}, #a{at}]"),
        |at| format!("{{x = #a{at}, y = #a{at}}}"),
        |at| format!("#foo.bar<#a{at}, #a{at}>"),
    ] {
        let text = text("[1]", next, "#a99").replace(" loc(#a0)", "");
        let Err(error) = parse(&text, ttir::registry(), ParseOptions::default()) else {
            panic!("this would fill the memory")
        };
        assert!(format!("{error:?}").contains("too large with what their aliases stand for"), "{error:?}");
    }
}
