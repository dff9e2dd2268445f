//! Which lines of each stage belong to which lines of the source.
//!
//! IR names places at the ends of lines (`loc(#loc3)`, defined further down), LLVM's text by metadata (`!dbg !7`),
//! assembly by directives (`.loc 1 18 4`) that hold until the next one. Only lines of the kernel's own file are linked.

use crate::report::StageText;
use std::collections::{BTreeMap, BTreeSet};

/// The source, by its file and text, and the stages.
pub(crate) fn stages(texts: &[(String, String)], file: Option<&str>, source: Option<&str>) -> Vec<StageText> {
    let mut all = Vec::new();
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    if let (Some(file), Some(text)) = (file, source) {
        let lines = text.lines().enumerate().map(|(index, line)| (line.to_owned(), vec![index as u32 + 1]));
        all.push(StageText { name: base(file), is_source: true, lines: lines.collect() });
    }
    for (name, text) in texts {
        let lines = link(text, file.map(base).as_deref());
        all.push(StageText { name: name.clone(), is_source: false, lines });
    }
    all
}

/// The lines of a stage. `file` is the name of the kernel's file, without folders.
fn link(text: &str, file: Option<&str>) -> Vec<(String, Vec<u32>)> {
    let file = file.unwrap_or_default();
    if text.lines().any(|line| line.contains("!DILocation(")) {
        return by_metadata(text, file);
    }
    if text.lines().any(|line| line.trim_start().starts_with(".loc")) {
        return by_directives(text, file);
    }
    by_locations(text, file)
}

/// The lines of the kernel's file that text between quotes and colons names: `"…/file.py":18:4`.
fn direct(text: &str, file: &str) -> BTreeSet<u32> {
    let end = format!("{file}\":");
    text.match_indices(&end)
        .filter_map(|(at, _)| {
            let rest = &text[at + end.len()..];
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect()
}

fn by_locations(text: &str, file: &str) -> Vec<(String, Vec<u32>)> {
    // `#loc12 = loc(callsite(#loc3 at #loc4))`: what each name stands for, names among it.
    let defined: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(" = loc("))
        .filter(|(name, _)| name.starts_with("#loc"))
        .collect();
    let lines = text.lines().map(|line| {
        let is_definition = line.starts_with("#loc");
        // The place of the operation stands at the end; arguments have theirs before.
        let from = line.rfind(" loc(").map_or(line.len(), |at| at);
        let places = if is_definition { BTreeSet::new() } else { resolve(&line[from..], &defined, file, 8) };
        (strip(line), places.into_iter().collect())
    });
    let mut lines: Vec<(String, Vec<u32>)> =
        lines.filter(|(line, _): &(String, Vec<u32>)| !line.starts_with("#loc")).collect();
    // What holds regions has its place behind the last of them.
    let mut open = Vec::new();
    for index in 0..lines.len() {
        let text = lines[index].0.trim_start();
        let (closes, opens) = (text.starts_with('}'), text.ends_with('{'));
        let start = if closes { open.pop() } else { None };
        if opens {
            open.push(start.unwrap_or(index));
        } else if let Some(start) = start.filter(|start| lines[*start].1.is_empty()) {
            lines[start].1 = lines[index].1.clone();
        }
    }
    lines
}

/// A line without the name of its place, which the link replaces.
fn strip(line: &str) -> String {
    let Some(at) = line.rfind(" loc(") else { return line.to_owned() };
    if line.ends_with(')') { line[..at].to_owned() } else { line.to_owned() }
}

fn resolve(text: &str, defined: &BTreeMap<&str, &str>, file: &str, depth: u32) -> BTreeSet<u32> {
    let mut found = direct(text, file);
    if depth == 0 {
        return found;
    }
    for (at, _) in text.match_indices("#loc") {
        let rest = &text[at..];
        let end =
            rest[4..].find(|character: char| !character.is_ascii_digit()).map_or(rest.len(), |end| end + 4);
        if let Some(definition) = defined.get(&rest[..end]) {
            found.extend(resolve(definition, defined, file, depth - 1));
        }
    }
    found
}

/// `name: value` in metadata.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("{name}: "))? + name.len() + 2;
    let rest = &text[start..];
    Some(rest[..rest.find([',', ')']).unwrap_or(rest.len())].trim_matches('"'))
}

fn by_metadata(text: &str, file: &str) -> Vec<(String, Vec<u32>)> {
    let nodes: BTreeMap<&str, &str> =
        text.lines().filter(|line| line.starts_with('!')).filter_map(|line| line.split_once(" = ")).collect();
    let node = |name: &str| nodes.get(name).copied();
    // A place, its scope, the file of that.
    let line_of = |name: &str| -> Option<u32> {
        let place = node(name).filter(|text| text.contains("!DILocation("))?;
        let mut scope = node(field(place, "scope")?)?;
        for _ in 0..8 {
            if let Some(own) = field(scope, "file").and_then(node).and_then(|text| field(text, "filename")) {
                let is_own = own.rsplit('/').next() == Some(file);
                return field(place, "line").filter(|_| is_own)?.parse().ok();
            }
            scope = node(field(scope, "scope")?)?;
        }
        None
    };
    let lines = text.lines().filter(|line| !line.starts_with('!')).map(|line| match line.find("!dbg ") {
        Some(at) => {
            let name = line[at + 5..].split([',', ' ', ')']).next().unwrap_or_default();
            let shown = line[..at].trim_end().trim_end_matches(',').to_owned();
            let shown = if line.ends_with('{') { format!("{shown} {{") } else { shown };
            (shown, line_of(name).into_iter().collect())
        }
        None => (line.to_owned(), Vec::new()),
    });
    lines.collect()
}

fn by_directives(text: &str, file: &str) -> Vec<(String, Vec<u32>)> {
    let own: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(".file"))
        .filter(|rest| rest.contains(&format!("{file}\"")))
        .filter_map(|rest| rest.split_whitespace().next())
        .collect();
    let mut current = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.trim_start().strip_prefix(".loc") {
            let mut words = rest.split_whitespace();
            let is_own = words.next().is_some_and(|number| own.contains(number));
            current =
                words.next().and_then(|line| line.parse().ok()).filter(|_| is_own).into_iter().collect();
            continue;
        }
        // A label or the end of a function ends what a place was said of.
        let is_code = line.starts_with([' ', '\t']) && !line.trim_start().starts_with('.');
        lines.push((line.to_owned(), if is_code { current.clone() } else { Vec::new() }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::link;

    #[test]
    fn places_of_block_level_code() {
        let text = "%x = tt.load %p : tensor<4xf32> loc(#loc2)\n%y = foo %x loc(callsite(#loc1 at #loc2))\n\
                    #loc1 = loc(\"lib/other.py\":7:1)\n#loc2 = loc(\"a/k.py\":12:3)\n";
        let lines = link(text, Some("k.py"));
        assert_eq!(lines[0], ("%x = tt.load %p : tensor<4xf32>".to_owned(), vec![12]));
        assert_eq!((lines[1].1.clone(), lines.len()), (vec![12], 2));
    }

    #[test]
    fn what_holds_regions_has_the_place_behind_them() {
        let text = "scf.for %i {\n  %x = foo loc(#loc1)\n} loc(#loc2)\nscf.if %c {\n} else {\n} loc(#loc1)\n\
                    #loc1 = loc(\"k.py\":3:1)\n#loc2 = loc(\"k.py\":2:1)\n";
        let lines = link(text, Some("k.py"));
        assert_eq!([0, 1, 2, 3].map(|line| lines[line].1.clone()), [vec![2], vec![3], vec![2], vec![3]]);
    }

    #[test]
    fn places_of_llvm() {
        let text = "define void @k() !dbg !4 {\n  %a = add i32 1, 2, !dbg !6\n  ret void, !dbg !7\n}\n\
                    !3 = !DIFile(filename: \"k.py\", directory: \"/x\")\n!4 = distinct !DISubprogram(name: \"k\", file: !3, line: 2)\n\
                    !6 = !DILocation(line: 9, column: 2, scope: !4)\n!7 = !DILocation(line: 10, column: 2, scope: !4)\n";
        let lines = link(text, Some("k.py"));
        assert_eq!(lines[0].0, "define void @k() {");
        assert_eq!(lines[1], ("  %a = add i32 1, 2".to_owned(), vec![9]));
        assert_eq!(lines[2].1, [10]);
    }

    #[test]
    fn places_of_assembly() {
        let text = "\t.loc 1 5 2\n\tadd.s32 %r1, %r2;\n$L1:\n\t.loc 2 8 1\n\tret;\n.file 1 \"k.py\"\n.file 2 \"other.py\"\n";
        let lines = link(text, Some("k.py"));
        assert_eq!(lines[0], ("\tadd.s32 %r1, %r2;".to_owned(), vec![5]));
        assert_eq!((lines[1].1.len(), lines[2].1.len()), (0, 0));
    }
}
