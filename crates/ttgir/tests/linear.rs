//! The linear layouts of encodings, against facts held in `tests/ttgir/layouts.txt`: in each line an encoding, a shape and
//! the bases of the layout, separated by tabs. `LAYOUT_FACTS` names another such file.

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
