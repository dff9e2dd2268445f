//! Tests of the knob table.

use super::{KnobDefault, KnobKind, KnobValue, find, get, parse, reset, rows, set};
use std::collections::BTreeSet;

#[test]
fn every_row_is_unique_and_documented() {
    let mut names = BTreeSet::new();
    for row in rows() {
        assert!(names.insert((row.group, row.name)), "{}.{} twice", row.group, row.name);
        assert!(row.doc.ends_with('.'), "{}.{}", row.group, row.name);
        assert!(row.env.is_empty() || row.kind != KnobKind::Object, "{}.{}", row.group, row.name);
        let fits = match row.kind {
            KnobKind::Flag => matches!(row.default, KnobDefault::Bool(_)),
            KnobKind::Number => matches!(row.default, KnobDefault::Int(_)),
            KnobKind::Text => matches!(row.default, KnobDefault::Text(_)),
            KnobKind::OptText | KnobKind::Object => row.default == KnobDefault::Nothing,
            KnobKind::Path => matches!(row.default, KnobDefault::Home(_) | KnobDefault::CacheDir),
        };
        assert!(fits, "the default of {}.{} is not of its kind", row.group, row.name);
    }
}

#[test]
fn a_flag_reads_as_in_the_reference() {
    let row = find("compilation", "always_compile").expect("it is in the table");
    for (text, value) in
        [("1", true), ("TRUE", true), ("on", true), ("y", true), ("0", false), ("no", false), ("", false)]
    {
        assert_eq!(parse(row, "X", text), Ok(KnobValue::Bool(value)), "{text}");
    }
}

#[test]
fn a_damaged_number_names_its_variable() {
    let row = find("cache", "limit").expect("it is in the table");
    assert_eq!(parse(row, "X", " 12 "), Ok(KnobValue::Int(12)));
    let error = parse(row, "DEUTERON_CACHE_LIMIT", "many").expect_err("not a number").to_string();
    assert_eq!(error, "Unable to use DEUTERON_CACHE_LIMIT=many: expected int");
}

#[test]
fn code_wins_until_it_is_reset() {
    let row = find("autotuning", "print").expect("it is in the table");
    let before = get(row).expect("a flag always reads");
    let other = KnobValue::Bool(before != KnobValue::Bool(true));
    set(row, other.clone()).expect("a flag fits");
    assert_eq!(get(row), Ok(other));
    reset(row);
    assert_eq!(get(row), Ok(before));
    assert!(set(row, KnobValue::Text("x".into())).is_err());
    assert!(find("autotuning", "nothing").is_err());
}
