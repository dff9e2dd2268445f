//! Deferred reductions give what the loop as written gives: run by the interpreter, which knows no layouts.

use ir::Module;
use ir::text::{ParseOptions, PrintOptions, parse, print};
use layout::Dim;
use std::fmt::Write as _;
use ttgir::Encoding;
use ttgir::ops::convert::CONVERT_LAYOUT;
use ttgir::passes::DEFER_REDUCTIONS;
use ttir::ops::reduce::{REDUCE, ReduceOp};
use ttir::testing::{Argument, Engine, Interpreter};

const BLOCKED: &str = "#blocked = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n\
     #rows = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [4, 8], warpsPerCTA = [2, 2], order = [1, 0]}>\n";
const HEAD: &str = "module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = 4 : i32, \
                    \"ttg.threads-per-warp\" = 32 : i32} {\n";

fn module(text: &str) -> Module {
    let module = parse(text, ttgir::registry(), ParseOptions { file: Some("f") })
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir::verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    module
}

/// The program with deferred reductions; how many reductions its loops have left that lanes share.
fn deferred(text: &str) -> (Module, usize) {
    let mut module = module(text);
    (DEFER_REDUCTIONS.run)(&mut module).expect("the pass takes every program");
    if let Err(errors) = ir::verify(&module) {
        panic!("{}\n{}", errors[0], print(&module, PrintOptions::PLAIN));
    }
    let shared = module.walk(module.top()).into_iter().filter(|&op| {
        let in_loop = module.parent_op(op).is_some_and(|parent| module.row(parent).name == "scf.for");
        in_loop && module.is(op, &REDUCE) && lanes_share(&module, op)
    });
    let left = shared.count();
    (module, left)
}

/// Whether several lanes hold what a reduction combines.
fn lanes_share(module: &Module, reduce: ir::Op) -> bool {
    let ty = module.ty(module.operand(reduce, 0));
    let axis = Dim::block(ReduceOp::new(module, reduce).axis());
    let layout = Encoding::of(ty).expect("it has a layout").to_linear(ttir::types::shape(ty));
    let threads = [Dim::LANE, Dim::WARP].into_iter().flat_map(|dim| layout.bases(dim));
    threads.flatten().any(|(dim, at)| dim == axis && at != 0)
}

/// Layouts mean nothing to the interpreter.
fn without_conversions(module: &mut Module) {
    for op in module.walk(module.top()) {
        if module.is(op, &CONVERT_LAYOUT) {
            let (from, to) = (module.operand(op, 0), module.result(op, 0));
            module.replace_uses(to, from);
            module.erase(op);
        }
    }
}

fn run(module: &mut Module, input: &[f32], outputs: usize, length: usize) -> Vec<f32> {
    without_conversions(module);
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let args = [
        Argument::Buffer(bytes(input)),
        Argument::Buffer(bytes(&vec![7.0; outputs])),
        Argument::Bits(length as u64),
    ];
    let ran = Interpreter.run(module, "f", [1, 1, 1], &args).expect("the program runs");
    ran.buffers[1].chunks(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

fn same(one: &[f32], two: &[f32]) -> bool {
    one.iter().zip(two).all(|(one, two)| {
        one == two || (one.is_nan() && two.is_nan()) || (one - two).abs() <= 1e-5 * one.abs().max(1e-3)
    })
}

struct Random(u64);

impl Random {
    fn value(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5) * 20.0
    }
}

fn region(op: &str) -> String {
    format!("({{\n^bb0(%a: f32, %b: f32):\n  %c = arith.{op} %a, %b : f32\n  tt.reduce.return %c : f32\n}})")
}

/// A loop over a vector with a running value.
fn running(op: &str, init: &str) -> String {
    let t = "tensor<256xf32, #blocked>";
    let (p, i) = (t.replace("f32", "!tt.ptr<f32>"), t.replace("f32", "i32"));
    format!(
        "{BLOCKED}{HEAD}tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {{
  %zero = arith.constant 0 : i32
  %step = arith.constant 256 : i32
  %init = arith.constant {init} : f32
  %pad = arith.constant dense<{init}> : {t}
  %range = tt.make_range {{end = 256 : i32, start = 0 : i32}} : {i}
  %end = tt.splat %n : i32 -> {i}
  %base = tt.splat %x : !tt.ptr<f32> -> {p}
  %m = scf.for %at = %zero to %n step %step iter_args(%acc = %init) -> (f32) : i32 {{
    %first = tt.splat %at : i32 -> {i}
    %where = arith.addi %range, %first : {i}
    %mask = arith.cmpi slt, %where, %end : {i}
    %from = tt.addptr %base, %where : {p}, {i}
    %v = tt.load %from, %mask, %pad : {p}
    %r = \"tt.reduce\"(%v) <{{axis = 0 : i32}}> {region} : ({t}) -> f32
    %next = arith.{op} %acc, %r : f32
    scf.yield %next : f32
  }}
  tt.store %y, %m : !tt.ptr<f32>
  tt.return
}}
}}
",
        region = region(op)
    )
}

#[test]
fn running_values_are_the_same() {
    let mut random = Random(5);
    for (op, init) in
        [("addf", "0.0"), ("maxnumf", "0xFF800000"), ("minnumf", "0x7F800000"), ("maximumf", "0xFF800000")]
    {
        let text = running(op, init);
        for length in [0, 1, 255, 256, 1000] {
            let mut input: Vec<f32> = (0..1024).map(|_| random.value()).collect();
            let (mut after, left) = deferred(&text);
            assert_eq!(left, 0, "{op}\n{}", print(&after, PrintOptions::PLAIN));
            for special in [None, Some(f32::NAN), Some(f32::INFINITY), Some(f32::NEG_INFINITY)] {
                if let Some(special) = special {
                    input[300] = special;
                }
                let expected = run(&mut module(&text), &input, 1, length);
                let found = run(&mut after, &input, 1, length);
                assert!(same(&expected, &found), "{op} {length} {special:?}: {expected:?} {found:?}");
            }
        }
    }
}

/// Stores the maximum and the sum.
fn outputs(rows: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if let Some(rows) = rows {
        let slice = "#ttg.slice<{dim = 1, parent = #rows}>";
        let (ptr, int) =
            (format!("tensor<{rows}x!tt.ptr<f32>, {slice}>"), format!("tensor<{rows}xi32, {slice}>"));
        lines.push(format!("%out = tt.splat %y : !tt.ptr<f32> -> {ptr}"));
        lines.push(format!("%o0 = tt.addptr %out, %ys : {ptr}, {int}"));
        lines.push(format!("%many = arith.constant dense<{rows}> : {int}"));
        lines.push(format!("%o1 = tt.addptr %o0, %many : {ptr}, {int}"));
        lines.push(format!("tt.store %o0, %md#0 : {ptr}"));
        lines.push(format!("tt.store %o1, %md#1 : {ptr}"));
    } else {
        lines.push("%one = arith.constant 1 : i32".into());
        lines.push("%o1 = tt.addptr %y, %one : !tt.ptr<f32>, i32".into());
        lines.push("tt.store %y, %md#0 : !tt.ptr<f32>".into());
        lines.push("tt.store %o1, %md#1 : !tt.ptr<f32>".into());
    }
    lines
}

/// A softmax's maximum and sum over a vector, or over the rows of a block.
fn online(rows: Option<usize>, max: &str, exp: &str) -> String {
    let (dims, enc) = match rows {
        Some(rows) => (format!("{rows}x64x"), "#rows"),
        None => ("256x".into(), "#blocked"),
    };
    let axis = usize::from(rows.is_some());
    let width = if rows.is_some() { 64 } else { 256 };
    let t = format!("tensor<{dims}f32, {enc}>");
    let (p, i) = (t.replace("f32", "!tt.ptr<f32>"), t.replace("f32", "i32"));
    let line = match rows {
        Some(_) => "#ttg.slice<{dim = 0, parent = #rows}>",
        None => "#blocked",
    };
    let r = rows
        .map_or("f32".into(), |rows| format!("tensor<{rows}xf32, #ttg.slice<{{dim = 1, parent = #rows}}>>"));
    let cst =
        |value: &str| if rows.is_some() { format!("dense<{value}> : {r}") } else { format!("{value} : f32") };
    let mut out =
        format!("{BLOCKED}{HEAD}tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {{\n");
    let mut line_of = |text: String| writeln!(out, "  {text}").expect("strings grow");
    line_of("%zero = arith.constant 0 : i32".into());
    line_of(format!("%step = arith.constant {width} : i32"));
    line_of(format!("%low = arith.constant {}", cst("0xFF800000")));
    line_of(format!("%none = arith.constant {}", cst("0.0")));
    line_of(format!("%pad = arith.constant dense<0xFF800000> : {t}"));
    line_of(format!(
        "%range = tt.make_range {{end = {width} : i32, start = 0 : i32}} : tensor<{width}xi32, {line}>"
    ));
    let position = if let Some(rows) = rows {
        let slice = format!("tensor<{rows}xi32, #ttg.slice<{{dim = 1, parent = #rows}}>>");
        line_of(format!("%ys = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : {slice}"));
        line_of(format!(
            "%y0 = tt.expand_dims %ys {{axis = 1 : i32}} : {slice} -> tensor<{rows}x1xi32, #rows>"
        ));
        line_of(format!("%pitch = arith.constant dense<1024> : tensor<{rows}x1xi32, #rows>"));
        line_of(format!("%y1 = arith.muli %y0, %pitch : tensor<{rows}x1xi32, #rows>"));
        line_of(format!("%y2 = tt.broadcast %y1 : tensor<{rows}x1xi32, #rows> -> {i}"));
        line_of(format!(
            "%x0 = tt.expand_dims %range {{axis = 0 : i32}} : tensor<64xi32, {line}> -> tensor<1x64xi32, #rows>"
        ));
        line_of(format!("%cols = tt.broadcast %x0 : tensor<1x64xi32, #rows> -> {i}"));
        "%cols"
    } else {
        "%range"
    };
    line_of(format!("%end = tt.splat %n : i32 -> {i}"));
    line_of(format!("%base = tt.splat %x : !tt.ptr<f32> -> {p}"));
    line_of(format!(
        "%md:2 = scf.for %at = %zero to %n step %step iter_args(%m = %low, %d = %none) -> ({r}, {r}) : i32 {{"
    ));
    line_of(format!("%first = tt.splat %at : i32 -> {i}"));
    line_of(format!("%col = arith.addi {position}, %first : {i}"));
    line_of(format!("%mask = arith.cmpi slt, %col, %end : {i}"));
    if rows.is_some() {
        line_of(format!("%where = arith.addi %col, %y2 : {i}"));
    } else {
        line_of(format!("%where = arith.addi %col, %pad0 : {i}").replace("%pad0", "%first0"));
    }
    line_of(format!("%from = tt.addptr %base, %where : {p}, {i}"));
    line_of(format!("%v = tt.load %from, %mask, %pad : {p}"));
    line_of(format!("%r = \"tt.reduce\"(%v) <{{axis = {axis} : i32}}> {} : ({t}) -> {r}", region(max)));
    line_of(format!("%m1 = arith.{max} %m, %r : {r}"));
    line_of(format!("%dm = arith.subf %m, %m1 : {r}"));
    line_of(format!("%s = math.{exp} %dm : {r}"));
    line_of(format!("%ds = arith.mulf %d, %s : {r}"));
    if let Some(rows) = rows {
        line_of(format!("%e = tt.expand_dims %m1 {{axis = 1 : i32}} : {r} -> tensor<{rows}x1xf32, #rows>"));
        line_of(format!("%mm = tt.broadcast %e : tensor<{rows}x1xf32, #rows> -> {t}"));
    } else {
        line_of(format!("%mm = tt.splat %m1 : f32 -> {t}"));
    }
    line_of(format!("%dx = arith.subf %v, %mm : {t}"));
    line_of(format!("%ex = math.{exp} %dx : {t}"));
    line_of(format!("%t = \"tt.reduce\"(%ex) <{{axis = {axis} : i32}}> {} : ({t}) -> {r}", region("addf")));
    line_of(format!("%d1 = arith.addf %ds, %t : {r}"));
    line_of(format!("scf.yield %m1, %d1 : {r}, {r}\n}}"));
    for line in outputs(rows) {
        line_of(line);
    }
    line_of("tt.return\n}\n}".into());
    let zeros = format!(
        "%range = tt.make_range {{end = {width} : i32, start = 0 : i32}} : tensor<{width}xi32, {line}>\n"
    );
    if rows.is_none() {
        out = out.replace(&zeros, &format!("{zeros}  %first0 = arith.constant dense<0> : {i}\n"));
    }
    out
}

#[test]
fn online_softmax_is_the_same() {
    let mut random = Random(9);
    for rows in [None, Some(8)] {
        for (max, exp) in [("maxnumf", "exp"), ("maximumf", "exp2")] {
            let text = online(rows, max, exp);
            let (mut after, left) = deferred(&text);
            assert_eq!(left, 0, "{}", print(&after, PrintOptions::PLAIN));
            let outputs = 2 * rows.unwrap_or(1);
            for length in [0, 1, 63, 256, 777, 1000] {
                let mut input: Vec<f32> = (0..8 * 1024).map(|_| random.value()).collect();
                for special in [None, Some(f32::NEG_INFINITY), Some(f32::INFINITY), Some(f32::NAN)] {
                    if let Some(special) = special {
                        input[40] = special;
                        input[3000] = special;
                    }
                    let expected = run(&mut module(&text), &input, outputs, length);
                    let found = run(&mut after, &input, outputs, length);
                    assert!(same(&expected, &found), "{rows:?} {length} {special:?}: {expected:?} {found:?}");
                }
            }
            // Nothing but -inf is NaN, as written.
            let input = vec![f32::NEG_INFINITY; 8 * 1024];
            assert!(same(
                &run(&mut module(&text), &input, outputs, 500),
                &run(&mut after, &input, outputs, 500)
            ));
        }
    }
}

/// The same with a sum that begins with something and a maximum that the loop uses otherwise.
fn scaled(rows: Option<usize>, max: &str, exp: &str) -> String {
    let text = online(rows, max, exp);
    let line = text.lines().find(|line| line.contains("%none = arith.constant")).expect("it is there");
    let ty = text.lines().find_map(|line| line.split_once("%m1 = ")?.1.split_once(" : ")).expect("a type").1;
    text.replace(line, &line.replace("0.0", "3.0"))
        .replace("%dm = ", &format!("%other = arith.negf %m1 : {ty}\n  %dm = "))
}

#[test]
fn a_sum_that_is_rescaled_is_the_same() {
    let mut random = Random(11);
    for rows in [None, Some(8)] {
        for (max, exp) in [("maxnumf", "exp"), ("maximumf", "exp2")] {
            let text = scaled(rows, max, exp);
            let (mut after, left) = deferred(&text);
            // The maximum is what all lanes of a row must know.
            assert_eq!(left, 1, "{}", print(&after, PrintOptions::PLAIN));
            let outputs = 2 * rows.unwrap_or(1);
            for length in [0, 1, 63, 256, 777, 1000] {
                let mut input: Vec<f32> = (0..8 * 1024).map(|_| random.value()).collect();
                for special in [None, Some(f32::NEG_INFINITY), Some(f32::INFINITY), Some(f32::NAN)] {
                    if let Some(special) = special {
                        input[40] = special;
                        input[3000] = special;
                    }
                    let expected = run(&mut module(&text), &input, outputs, length);
                    let found = run(&mut after, &input, outputs, length);
                    assert!(same(&expected, &found), "{rows:?} {length} {special:?}: {expected:?} {found:?}");
                }
            }
        }
    }
}

#[test]
fn a_sum_that_is_scaled_by_any_number_stays() {
    let text = scaled(Some(8), "maxnumf", "exp");
    for (from, to) in
        [("math.exp %dm", "math.absf %dm"), ("%dm = arith.subf %m, %m1", "%dm = arith.subf %m1, %m")]
    {
        assert!(text.contains(from));
        assert_eq!(deferred(&text.replace(from, to)).1, 2, "{to}");
    }
}

/// Sums over a vector, `loops` times, each time of what lies above the sum before.
fn sums(loops: usize) -> String {
    let t = "tensor<256xf32, #blocked>";
    let (p, i) = (t.replace("f32", "!tt.ptr<f32>"), t.replace("f32", "i32"));
    let mut out = format!(
        "{BLOCKED}{HEAD}tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {{
  %begin = arith.constant 512 : i32
  %step = arith.constant 256 : i32
  %m0 = arith.constant 0.0 : f32
  %pad = arith.constant dense<0.0> : {t}
  %range = tt.make_range {{end = 256 : i32, start = 0 : i32}} : {i}
  %end = tt.splat %n : i32 -> {i}
  %base = tt.splat %x : !tt.ptr<f32> -> {p}\n"
    );
    for number in 1..=loops {
        write!(
            out,
            "  %m{number} = scf.for %at = %begin to %n step %step iter_args(%acc = %m0) -> (f32) : i32 {{
    %first = tt.splat %at : i32 -> {i}
    %where = arith.addi %range, %first : {i}
    %mask = arith.cmpi slt, %where, %end : {i}
    %from = tt.addptr %base, %where : {p}, {i}
    %v = tt.load %from, %mask, %pad : {p}
    %before = tt.splat %m{before} : f32 -> {t}
    %above = arith.maxnumf %v, %before : {t}
    %r = \"tt.reduce\"(%above) <{{axis = 0 : i32}}> {region} : ({t}) -> f32
    %next = arith.addf %acc, %r : f32
    scf.yield %next : f32
  }}\n",
            before = number - 1,
            region = region("addf")
        )
        .expect("strings grow");
    }
    writeln!(out, "  tt.store %y, %m{loops} : !tt.ptr<f32>\n  tt.return\n}}\n}}").expect("strings grow");
    out
}

#[test]
fn every_other_loop_over_the_same_memory_runs_backwards() {
    let mut random = Random(17);
    for loops in 1..=4 {
        let text = sums(loops);
        let (mut after, left) = deferred(&text);
        let printed = print(&after, PrintOptions::PLAIN);
        assert_eq!(left, 0, "{printed}");
        // Each turned loop has the number of its steps in front of it.
        assert_eq!(printed.matches("arith.divui").count(), loops / 2, "{printed}");
        for length in [0, 512, 513, 767, 768, 1025, 2000] {
            let input: Vec<f32> = (0..2048).map(|_| random.value()).collect();
            let expected = run(&mut module(&text), &input, 1, length);
            let found = run(&mut after, &input, 1, length);
            assert!(same(&expected, &found), "{loops} {length}: {expected:?} {found:?}");
        }
    }
}

#[test]
fn loops_that_write_or_read_other_memory_keep_their_direction() {
    let text = sums(2);
    let other = text.replacen("tt.addptr %base, %where", "tt.addptr %far, %where", 1).replace(
        "  %base = tt.splat",
        "  %far = tt.splat %y : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #blocked>\n  %base = tt.splat",
    );
    let writes =
        text.replacen("    %v = tt.load", "    tt.store %y, %m0 : !tt.ptr<f32>\n    %v = tt.load", 1);
    for text in [other, writes] {
        let printed = print(&deferred(&text).0, PrintOptions::PLAIN);
        assert!(!printed.contains("arith.divui"), "{printed}");
    }
}

#[test]
fn a_maximum_that_the_loop_uses_stays() {
    let text = running("maxnumf", "0xFF800000")
        .replace("scf.yield %next : f32", "tt.store %y, %next : !tt.ptr<f32>\n    scf.yield %next : f32");
    assert_eq!(deferred(&text).1, 1);
}

#[test]
fn the_softmaxes_of_the_tutorials_are_found() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ttgir/reference");
    for name in ["softmax_naive_90", "softmax_online_90"] {
        let text = std::fs::read_to_string(format!("{folder}/{name}.ttgir")).expect("the file is there");
        let (module, left) = deferred(&text);
        assert_eq!(left, 0, "{name}\n{}", print(&module, PrintOptions::PLAIN));
    }
}
