//! Tests of the knob table.

use super::{
    KnobDefault, KnobKind, KnobStanding, KnobValue, default_of, find, get, parse, reset, rows, set, typed,
};
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
            KnobKind::OptText
            | KnobKind::Object
            | KnobKind::OptFlag
            | KnobKind::FlagOrText
            | KnobKind::Tool => row.default == KnobDefault::Nothing,
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
#[should_panic(expected = "knob `cache.dir` is read as a number and holds Text")]
fn a_knob_that_is_no_number_is_not_read_as_one() {
    super::number("cache", "dir");
}

#[test]
#[should_panic(expected = "knob `cache.limit` is read as a flag and holds Int")]
fn a_knob_that_is_no_flag_is_not_read_as_one() {
    super::flag("cache", "limit");
}

#[test]
fn the_folder_of_the_cache_is_absolute() {
    let row = find("cache", "dir").expect("it is in the table");
    let here = std::env::current_dir().expect("there is one");
    let text = |path: std::path::PathBuf| Ok(KnobValue::Text(path.to_string_lossy().into_owned()));
    assert_eq!(parse(row, "X", "/a/b"), text("/a/b".into()));
    assert_eq!(parse(row, "X", "a folder/b"), text(here.join("a folder/b")));
    assert_eq!(parse(row, "X", "./kept"), text(here.join("kept")));
    assert_eq!(typed(row, KnobValue::Text("below".into())), text(here.join("below")));
    assert_eq!(typed(row, KnobValue::Text(String::new())), Ok(default_of(row)));
    // Other paths are what was said.
    let row = find("cache", "dump_dir").expect("it is in the table");
    assert_eq!(parse(row, "X", "dump"), text("dump".into()));
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

#[test]
fn a_variable_belongs_to_one_knob_and_groups_stand_together() {
    let mut seen = BTreeSet::new();
    for variable in rows().iter().flat_map(|row| row.env) {
        assert!(seen.insert(variable), "{variable} twice");
    }
    let mut groups: Vec<_> = rows().iter().map(|row| row.group).collect();
    groups.dedup();
    let count = groups.len();
    groups.sort_unstable();
    groups.dedup();
    assert_eq!(groups.len(), count);
}

#[test]
fn what_cannot_be_obeyed_says_what_to_do_instead() {
    for row in rows() {
        let Some(reason) = row.standing.reason() else { continue };
        assert!(reason.len() > 20, "{}.{}: {reason}", row.group, row.name);
        if !matches!(row.standing, KnobStanding::Idle(_)) && row.kind == KnobKind::Flag {
            let error = set(row, KnobValue::Bool(true)).expect_err("it is not there").to_string();
            assert!(error.ends_with(reason), "{error}");
            assert!(set(row, KnobValue::Bool(false)).is_ok(), "nothing is asked for");
            reset(row);
        }
    }
}

#[test]
fn a_flag_may_be_a_list() {
    let row = find("compilation", "disable_llvm_opt").expect("it is in the table");
    for (text, value) in [
        ("1", KnobValue::Bool(true)),
        ("True", KnobValue::Bool(true)),
        ("0", KnobValue::None),
        ("", KnobValue::None),
        ("disable-lsr", KnobValue::Text("disable-lsr".into())),
    ] {
        assert_eq!(parse(row, "X", text), Ok(value), "{text}");
    }
    let row = find("autotuning", "print").expect("it is in the table");
    assert!(set(row, KnobValue::Int(1)).is_ok() && get(row) == Ok(KnobValue::Bool(true)));
    reset(row);
}
