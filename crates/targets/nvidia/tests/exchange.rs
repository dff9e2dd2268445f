//! Conversions, reductions, scans, gathers and histograms on random layouts, run by the emulator, whose race checker
//! must find nothing.

mod blocks;

use blocks::{Random, block, blocked, bytes, function, linear, pointers, run};
use std::fmt::Write as _;

/// A layout of results or operands of matrix instructions.
fn matrix(random: &mut Random, num_warps: u32) -> String {
    let warps = [num_warps, 1];
    let result = format!(
        "#ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = {warps:?}, instrShape = [16, 8]}}>"
    );
    match random.below(3) {
        0 => result,
        index => format!("#ttg.dot_op<{{opIdx = {}, parent = {result}, kWidth = 2}}>", index - 1),
    }
}

const SHAPES: &[&[usize]] =
    &[&[1], &[4], &[64], &[512], &[1, 8], &[16, 16], &[32, 64], &[8, 4, 16], &[128, 2], &[2, 256]];

#[test]
fn conversions_keep_every_element() {
    let mut random = Random(77);
    for round in 0..60 {
        let shape = *random.pick(SHAPES);
        let num_warps = *random.pick(&[1, 2, 4, 8]);
        let elem = *random.pick(&["i8", "i16", "i32", "i64", "f16", "f32", "bf16"]);
        let first = blocked(shape, num_warps);
        let mut body = String::new();
        pointers(&mut body, "x", "%arg0", shape, elem, &first);
        pointers(&mut body, "y", "%arg1", shape, elem, &first);
        let ptr = block(shape, &format!("!tt.ptr<{elem}>"), &first);
        writeln!(body, "  %v0 = tt.load %x : {ptr}").unwrap();
        let mut last = first.clone();
        for step in 0..3 {
            let next = match step {
                2 => first.clone(),
                _ if shape == [32, 64] && random.below(2) == 0 => matrix(&mut random, num_warps),
                _ => linear(&mut random, shape, num_warps, round % 2 == 0),
            };
            let (from, to) = (block(shape, elem, &last), block(shape, elem, &next));
            writeln!(body, "  %v{} = ttg.convert_layout %v{step} : {from} -> {to}", step + 1).unwrap();
            last = next;
        }
        writeln!(body, "  tt.store %y, %v3 : {ptr}").unwrap();
        let count: usize = shape.iter().product();
        let input: Vec<u8> = (0..count * bytes(elem)).map(|_| random.next() as u8).collect();
        let text = function(&[elem, elem], &body);
        let after = run(&text, num_warps, &[input.clone(), vec![0; input.len()]]);
        assert_eq!(after[1], input, "{text}");
    }
}

fn words(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks(4).map(|four| i32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// Lines of a block along an axis, as indices.
fn lines(shape: &[usize], axis: usize) -> Vec<Vec<usize>> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut lines = Vec::new();
    for first in 0..outer {
        for last in 0..inner {
            lines.push((0..shape[axis]).map(|at| (first * shape[axis] + at) * inner + last).collect());
        }
    }
    lines
}

/// The combining region of a pair of numbers that is associative but not commutative: the affine map `x -> a x + b`.
fn affine(last: &str) -> String {
    format!(
        "({{
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %ac = arith.muli %a, %c : i32
    %bc = arith.muli %b, %c : i32
    %bd = arith.addi %bc, %d : i32
    {last} %ac, %bd : i32, i32
  }})"
    )
}

/// The sum of one block and the maximum of another, together or each by itself.
fn reductions(axis: usize, block: &str, result: &str, together: bool) -> String {
    let head = format!("<{{axis = {axis} : i32}}> ({{");
    if together {
        return format!(
            "  %r:2 = \"tt.reduce\"(%w, %w2) {head}
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %s = arith.addi %a, %c : i32
    %m = arith.maxsi %b, %d : i32
    tt.reduce.return %s, %m : i32, i32
  }}) : ({block}, {block}) -> ({result}, {result})
"
        )
        .replace("%r:2", "%r0, %r1");
    }
    [("%r0", "%w", "addi"), ("%r1", "%w2", "maxsi")]
        .map(|(name, from, op)| {
            format!(
                "  {name} = \"tt.reduce\"({from}) {head}
  ^bb0(%a: i32, %b: i32):
    %s = arith.{op} %a, %b : i32
    tt.reduce.return %s : i32
  }}) : ({block}) -> {result}
"
            )
        })
        .concat()
}

#[test]
fn reductions_combine_every_element_once() {
    let mut random = Random(99);
    for round in 0..60 {
        let shape = *random.pick(SHAPES);
        let axis = random.below(shape.len());
        let num_warps = *random.pick(&[1, 2, 4, 8]);
        let first = blocked(shape, num_warps);
        let enc = linear(&mut random, shape, num_warps, round % 2 == 0);
        let mut body = String::new();
        pointers(&mut body, "x", "%arg0", shape, "i32", &first);
        let ptr = block(shape, "!tt.ptr<i32>", &first);
        let (from, to) = (block(shape, "i32", &first), block(shape, "i32", &enc));
        let rest: Vec<usize> = [&shape[..axis], &shape[axis + 1..]].concat();
        let result = match rest.is_empty() {
            true => "i32".to_owned(),
            false => block(&rest, "i32", &format!("#ttg.slice<{{dim = {axis}, parent = {enc}}}>")),
        };
        writeln!(body, "  %v = tt.load %x : {ptr}\n  %w = ttg.convert_layout %v : {from} -> {to}").unwrap();
        writeln!(body, "  %k = arith.constant dense<3> : {to}\n  %w2 = arith.xori %w, %k : {to}").unwrap();
        body += &reductions(axis, &to, &result, random.below(2) == 1);
        for (at, out) in ["y", "z"].iter().enumerate() {
            let arg = format!("%arg{}", at + 1);
            if rest.is_empty() {
                writeln!(body, "  tt.store {arg}, %r{at} : !tt.ptr<i32>").unwrap();
                continue;
            }
            let own = format!("#ttg.slice<{{dim = {axis}, parent = {enc}}}>");
            pointers(&mut body, out, &arg, &rest, "i32", &own);
            writeln!(body, "  tt.store %{out}, %r{at} : {}", block(&rest, "!tt.ptr<i32>", &own)).unwrap();
        }
        let count: usize = shape.iter().product();
        let input: Vec<i32> = (0..count).map(|_| random.next() as i32 % 1000).collect();
        let outputs = vec![0; 4 * count / shape[axis]];
        let text = function(&["i32", "i32", "i32"], &body);
        let after = run(&text, num_warps, &[words(&input), outputs.clone(), outputs]);
        let sums: Vec<i32> =
            lines(shape, axis).iter().map(|line| line.iter().map(|&at| input[at]).sum()).collect();
        let maxima: Vec<i32> = lines(shape, axis)
            .iter()
            .map(|line| line.iter().map(|&at| input[at] ^ 3).max().expect("a line has elements"))
            .collect();
        assert_eq!(numbers(&after[1]), sums, "{text}");
        assert_eq!(numbers(&after[2]), maxima, "{text}");
    }
}

#[test]
fn scans_keep_the_order() {
    let mut random = Random(42);
    for round in 0..60 {
        let shape = *random.pick(SHAPES);
        let axis = random.below(shape.len());
        let num_warps = *random.pick(&[1, 2, 4]);
        let reverse = random.below(2) == 1;
        let first = blocked(shape, num_warps);
        let enc = if round % 3 == 0 {
            first.clone()
        } else {
            linear(&mut random, shape, num_warps, round % 3 == 1)
        };
        let mut body = String::new();
        for (at, name) in ["x", "y"].iter().enumerate() {
            pointers(&mut body, name, &format!("%arg{at}"), shape, "i32", &first);
        }
        let ptr = block(shape, "!tt.ptr<i32>", &first);
        let (from, to) = (block(shape, "i32", &first), block(shape, "i32", &enc));
        writeln!(
            body,
            "  %v = tt.load %x : {ptr}\n  %w = ttg.convert_layout %v : {from} -> {to}
  %k = arith.constant dense<5> : {to}\n  %w2 = arith.xori %w, %k : {to}
  %r:2 = \"tt.scan\"(%w, %w2) <{{axis = {axis} : i32, reverse = {reverse}}}> {} : ({to}, {to}) -> ({to}, {to})
  %o = ttg.convert_layout %r#1 : {to} -> {from}\n  tt.store %y, %o : {ptr}",
            affine("tt.scan.return")
        )
        .unwrap();
        let count: usize = shape.iter().product();
        let input: Vec<i32> = (0..count).map(|_| random.next() as i32 % 1000 * 2 + 1).collect();
        let text = function(&["i32", "i32"], &body);
        let after = run(&text, num_warps, &[words(&input), vec![0; 4 * count]]);
        let mut expected = vec![0; count];
        for mut line in lines(shape, axis) {
            if reverse {
                line.reverse();
            }
            let mut before: Option<(i32, i32)> = None;
            for at in line {
                let (c, d) = (input[at], input[at] ^ 5);
                let now = match before {
                    None => (c, d),
                    Some((a, b)) => (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)),
                };
                expected[at] = now.1;
                before = Some(now);
            }
        }
        assert_eq!(numbers(&after[1]), expected, "{text}");
    }
}

#[test]
fn gathers_follow_their_indices() {
    let mut random = Random(7);
    for round in 0..30 {
        let shape = *random.pick(SHAPES);
        let axis = random.below(shape.len());
        let mut out = shape.to_vec();
        out[axis] = *random.pick(&[1, 4, 32]);
        let num_warps = *random.pick(&[1, 4]);
        let (from, to) = (blocked(shape, num_warps), blocked(&out, num_warps));
        let enc = linear(&mut random, &out, num_warps, round % 2 == 0);
        let mut body = String::new();
        pointers(&mut body, "x", "%arg0", shape, "i32", &from);
        pointers(&mut body, "i", "%arg1", &out, "i32", &to);
        pointers(&mut body, "y", "%arg2", &out, "i32", &to);
        let (source, index, own) =
            (block(shape, "i32", &from), block(&out, "i32", &to), block(&out, "i32", &enc));
        writeln!(
            body,
            "  %v = tt.load %x : {}\n  %n = tt.load %i : {ptr}\n  %m = ttg.convert_layout %n : {index} -> {own}
  %g = tt.gather %v[%m] {{axis = {axis} : i32}} : ({source}, {own}) -> {own}
  %o = ttg.convert_layout %g : {own} -> {index}\n  tt.store %y, %o : {ptr}",
            block(shape, "!tt.ptr<i32>", &from),
            ptr = block(&out, "!tt.ptr<i32>", &to)
        )
        .unwrap();
        let (count, wanted) = (shape.iter().product::<usize>(), out.iter().product::<usize>());
        let input: Vec<i32> = (0..count).map(|_| random.next() as i32).collect();
        let indices: Vec<i32> = (0..wanted).map(|_| random.below(shape[axis]) as i32).collect();
        let text = function(&["i32", "i32", "i32"], &body);
        let after = run(&text, num_warps, &[words(&input), words(&indices), vec![0; 4 * wanted]]);
        let mut expected = vec![0; wanted];
        for (from, to) in lines(shape, axis).iter().zip(lines(&out, axis)) {
            to.iter().for_each(|&at| expected[at] = input[from[indices[at] as usize]]);
        }
        assert_eq!(numbers(&after[2]), expected, "{text}");
    }
}

#[test]
fn histograms_count_each_element_once() {
    let mut random = Random(3);
    for round in 0..16 {
        let size = *random.pick(&[1usize, 32, 256, 1024]);
        let bins = *random.pick(&[2usize, 16, 128]);
        let num_warps = *random.pick(&[1, 4]);
        let (from, to) = (blocked(&[size], num_warps), blocked(&[bins], num_warps));
        let enc = linear(&mut random, &[size], num_warps, round % 2 == 0);
        let mut body = String::new();
        pointers(&mut body, "x", "%arg0", &[size], "i32", &from);
        pointers(&mut body, "y", "%arg1", &[bins], "i32", &to);
        let (source, own) = (block(&[size], "i32", &from), block(&[size], "i32", &enc));
        let counts = block(&[bins], "i32", &to);
        let bool_ty = block(&[size], "i1", &enc);
        writeln!(
            body,
            "  %v = tt.load %x : {}\n  %w = ttg.convert_layout %v : {source} -> {own}
  %k = arith.constant dense<3> : {own}\n  %m = arith.cmpi ne, %w, %k : {own}
  %h = tt.histogram %w, %m : {own} -> {counts}\n  tt.store %y, %h : {}",
            block(&[size], "!tt.ptr<i32>", &from),
            block(&[bins], "!tt.ptr<i32>", &to)
        )
        .unwrap();
        let body = body.replace(
            "tt.histogram %w, %m :",
            &format!("tt.histogram %w, %m : {bool_ty}, ").replace(&format!(" {bool_ty}, "), ""),
        );
        let input: Vec<i32> = (0..size).map(|_| random.below(bins + 3) as i32 - 1).collect();
        let text = function(&["i32", "i32"], &body);
        let after = run(&text, num_warps, &[words(&input), vec![0; 4 * bins]]);
        let expected: Vec<i32> = (0..bins as i32)
            .map(|bin| input.iter().filter(|&&value| value == bin && value != 3).count() as i32)
            .collect();
        assert_eq!(numbers(&after[1]), expected, "{text}");
    }
}
