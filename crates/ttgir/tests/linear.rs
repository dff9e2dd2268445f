//! The linear layouts of encodings, against facts held in `tests/ttgir/layouts.txt`: in each line an encoding, a shape
//! and the bases of the layout, separated by tabs. `LAYOUT_FACTS` names another such file.

use ir::Attr;
use layout::{Dim, LinearLayout};
use std::fmt::Write;
use ttgir::{Encoding, SharedEncoding};

fn facts() -> String {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ttgir/layouts.txt");
    let path = std::env::var("LAYOUT_FACTS").unwrap_or(own.into());
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn bases(layout: &LinearLayout, inputs: &[Dim]) -> String {
    let mut out = String::new();
    for &dim in inputs {
        let list = layout.bases(dim);
        let list: Vec<Vec<u32>> =
            list.iter().map(|basis| basis.iter().map(|part| part.1).collect()).collect();
        let _ = write!(out, "{}{} {list:?}", if out.is_empty() { "" } else { " " }, dim.name());
    }
    out
}

fn read(attr: &Attr, shape: &[i64]) -> String {
    if let Some(encoding) = Encoding::from_attr(attr) {
        return bases(&encoding.to_linear(shape), &[Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK]);
    }
    let encoding = SharedEncoding::from_attr(attr).expect("an encoding");
    bases(&encoding.to_linear(shape), &[Dim::OFFSET, Dim::BLOCK])
}

#[test]
fn layouts_are_those_of_the_facts() {
    let mut wrong = 0;
    for line in facts().lines().filter(|line| !line.starts_with("//")) {
        let [text, shape, expected] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let shape: Vec<i64> = shape.split('x').map(|size| size.parse().expect("a size")).collect();
        let attr =
            ir::text::parse_attr(text, ttgir::registry()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(ir::text::attr_to_string(&attr), text);
        let found = read(&attr, &shape);
        if found != expected {
            println!("{text} {shape:?}\n  found    {found}\n  expected {expected}");
            wrong += 1;
        }
    }
    assert_eq!(wrong, 0);
}

fn encoding<T: Clone + 'static>(text: &str, of: fn(&Attr) -> Option<T>) -> T {
    let attr =
        ir::text::parse_attr(text, ttgir::registry()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(ir::text::attr_to_string(&attr), text);
    of(&attr).expect("an encoding")
}

#[test]
fn padded_memory_leaves_gaps() {
    let text = "#ttg.padded_shared<[2:+1, 4:+2] {order = [1, 0], shape = [2, 4]}>";
    let padded = encoding(text, SharedEncoding::from_attr);
    let offsets: Vec<u32> =
        (0..8).map(|offset| offset + ttgir::Padding::in_front(padded.padding(), offset)).collect();
    // x x . x x . . . x x . x x
    assert_eq!(offsets, [0, 1, 3, 4, 8, 9, 11, 12]);
    let text = "#ttg.padded_shared<[8:+1] {offset = [[0, 1], [0, 2], [2, 0], [4, 0], [1, 0]], block = []}>";
    let rows = encoding(text, SharedEncoding::from_attr).to_linear(&[8, 4]);
    assert_eq!(rows.apply(&[(Dim::OFFSET, 4)])[0].1, 2);
}

#[test]
fn rotating_memory_swaps_by_groups_of_rows() {
    let text = "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>";
    let layout = encoding(text, SharedEncoding::from_attr).to_linear(&[16, 16]);
    for offset in 0..256u32 {
        let (row, group) = (offset / 16, offset % 16 / 4);
        let column = (group ^ (row % 4) ^ (row / 4 % 4)) * 4 + offset % 4;
        let place = layout.apply(&[(Dim::OFFSET, offset)]);
        assert_eq!((place[0].1, place[1].1), (row, column));
    }
}

#[test]
fn interleaved_tiles_put_neighbours_into_one_lane() {
    let text = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = true, \
                interleaved = [1, 2]}>";
    let layout = encoding(text, Encoding::from_attr).to_linear(&[32, 64]);
    let columns: Vec<u32> = (0..8).map(|register| layout.apply(&[(Dim::REGISTER, register)])[1].1).collect();
    assert_eq!(columns, [0, 1, 2, 3, 4, 5, 6, 7]);
    let rows = |lane| layout.apply(&[(Dim::LANE, lane)]).iter().map(|part| part.1).collect::<Vec<_>>();
    assert_eq!((rows(1), rows(32)), (vec![1, 0], vec![0, 8]));
    let text = format!("#ttg.dot_op<{{opIdx = 1, parent = {text}, kWidth = 8}}>");
    let operand = encoding(&text, Encoding::from_attr).to_linear(&[64, 64]);
    let of = |input, at| operand.apply(&[(input, at)]).iter().map(|part| part.1).collect::<Vec<_>>();
    assert_eq!((of(Dim::REGISTER, 4), of(Dim::REGISTER, 8)), (vec![4, 0], vec![0, 1]));
    assert_eq!((of(Dim::LANE, 1), of(Dim::LANE, 32)), (vec![0, 2], vec![8, 0]));
}

#[test]
fn impossible_instructions_are_refused() {
    let wrong = [
        "#ttg.amd_mfma<{version = 5, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = true}>",
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [4, 4, 8], isTransposed = true}>",
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32], isTransposed = true}>",
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 3], instrShape = [32, 32, 8], isTransposed = true}>",
        "#ttg.amd_wmma<{version = 1, isTranspose = true, ctaLayout = {warp = [[0, 2]]}}>",
        "#ttg.padded_shared<[3:+1] {order = [1, 0], shape = [2, 4]}>",
        "#ttg.padded_shared<[4:+1, 4:+2] {order = [1, 0], shape = [2, 4]}>",
    ];
    for text in wrong {
        assert!(ir::text::parse_attr(text, ttgir::registry()).is_err(), "{text}");
    }
}
