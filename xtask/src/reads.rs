//! How code reads operations: by the names of their views, not by index or by quoted key, and without invented
//! defaults. And intrinsics: by the rows of their tables, not by quoted names.
//!
//! ```text
//! module.operand(op, 0)                                         =>  LoadOp::new(module, op).ptr()
//! module.attr_named(op, "axis").and_then(Attr::as_int).unwrap_or(0)  =>  ReduceOp::new(module, op).axis()
//! b.intrinsic("llvm.fma", ty, args)                             =>  b.intrinsic(&intrinsics::FMA, ty, args)
//! ```
//!
//! Rows' own modules may: they are where names and places are declared. Left out: tests, and what a parser would know.

use crate::masked::mask;
use crate::sources::SourceFile;

/// Calls that read or write one operand or attribute by its place, or by its key.
const CALLS: &[&str] = &[
    "operand",
    "operand_named",
    "operands_named",
    "optional_operand",
    "operand_group",
    "operand_ty",
    "result_group",
    "set_operand",
    "attr",
    "set_attr",
    "attr_named",
    "attr_slot",
    "extra_attr",
];

/// What a place does that it should not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// Names an operand or attribute by a number or by a quoted key.
    ByIndex,
    /// Goes on with a default where an attribute is missing.
    WithDefault,
    /// Quotes the name of an intrinsic.
    Intrinsic,
}

impl Read {
    /// The kind of its exceptions.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Read::ByIndex => "index",
            Read::WithDefault => "default",
            Read::Intrinsic => "intrinsic",
        }
    }

    pub(crate) fn advice(self) -> &'static str {
        match self {
            Read::ByIndex => "read operands and attributes by the names of the operation's view",
            Read::WithDefault => "a required attribute has no default: read it by the operation's view",
            Read::Intrinsic => "call an intrinsic by its row, and compare rows",
        }
    }
}

/// Whether the rules hold for a file: not for rows' own modules, for what a view expands to, and for tests.
fn is_bound(path: &str) -> bool {
    let is_row = ["crates/ttir/src/ops/", "crates/ttgir/src/ops/", "crates/ir/src/view.rs"];
    path.contains("/src/") && !is_row.iter().any(|own| path.starts_with(own)) && !path.ends_with("/tests.rs")
}

/// Whether a file is a table of intrinsics.
fn is_table(path: &str) -> bool {
    path.ends_with("/src/intrinsics.rs") || path.contains("/isa/src/table/")
}

/// The lines of a file that read operations or intrinsics otherwise.
pub(crate) fn reads(file: &SourceFile) -> Vec<(usize, Read)> {
    if !is_bound(&file.path) || !file.path.starts_with("crates/") {
        return Vec::new();
    }
    let code = file.text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let masked = mask(code);
    let quotes = |line: &str| {
        !line.trim_start().starts_with("//") && ["\"llvm.", "@llvm."].iter().any(|name| line.contains(name))
    };
    let named = code.lines().enumerate().filter(|(_, line)| !is_table(&file.path) && quotes(line));
    let mut found: Vec<(usize, Read)> = named.map(|(at, _)| (at + 1, Read::Intrinsic)).collect();
    let mut line = 0;
    for statement in masked.split_inclusive([';', '{', '}']) {
        let of_calls = calls(statement);
        for &(at, arguments) in &of_calls {
            if is_index(arguments) {
                found.push((line + 1 + statement[..at].matches('\n').count(), Read::ByIndex));
            }
        }
        let of_lists = indexed_lists(statement).into_iter();
        found.extend(of_lists.map(|at| (line + 1 + statement[..at].matches('\n').count(), Read::ByIndex)));
        let reads_attr = of_calls.iter().any(|&(at, _)| {
            let name = &statement[..at];
            name.ends_with("attr") || name.ends_with("attr_named")
        });
        if reads_attr && statement.contains(".unwrap_or") {
            found.push((line + 1, Read::WithDefault));
        }
        line += statement.matches('\n').count();
    }
    found
}

/// The calls of [`CALLS`] in a statement: where their arguments begin, and the arguments.
fn calls(statement: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in statement.match_indices('(') {
        let before = &statement[..at];
        let name_at = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |place| place + 1);
        let is_definition = before[..name_at].trim_end().ends_with("fn");
        if CALLS.contains(&&before[name_at..]) && !is_definition {
            found.push((at, arguments(&statement[at + 1..])));
        }
    }
    found
}

/// Where a statement picks one, or the rest, of all operands or attributes by a number: `operands(op)[0]`,
/// `operands(op)[3..]`, `operands(op).first()`, `args.attrs[0]`.
fn indexed_lists(statement: &str) -> Vec<usize> {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_picked = |rest: &str| {
        let by = |start: &str| rest.strip_prefix(start);
        by("[").or_else(|| by(".get(")).is_some_and(is_number)
            || [".first()", ".last()", ".split_first()", ".split_last()"].iter().any(|end| by(end).is_some())
    };
    let of_call = |at: usize, name: &str| {
        let behind = &statement[at + name.len()..];
        behind[arguments(behind).len()..].strip_prefix(')').is_some_and(is_picked)
    };
    let calls = ["operands(", "attrs("].into_iter().flat_map(|name| {
        statement.match_indices(name).map(|(at, _)| at).filter(move |&at| of_call(at, name))
    });
    let fields = statement.match_indices(".attrs").map(|(at, _)| at);
    calls.chain(fields.filter(|at| is_picked(&statement[at + ".attrs".len()..]))).collect()
}

/// The text up to the parenthesis that closes.
fn arguments(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return &text[..at],
            ')' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// Whether the argument behind the operation is a number, or a literal that is blank here.
fn is_index(arguments: &str) -> bool {
    let mut depth = 0;
    let parts: Vec<&str> = arguments
        .split(|c: char| {
            depth += i32::from(c == '(' || c == '[') - i32::from(c == ')' || c == ']');
            c == ',' && depth == 0
        })
        .collect();
    // A literal is blank; what stands behind a last comma begins with a new line.
    let is_literal = |part: &&str| part.len() > 1 && part.trim().is_empty() && !part.contains('\n');
    let is_number = |part: &&str| !part.trim().is_empty() && part.trim().chars().all(|c| c.is_ascii_digit());
    match parts.as_slice() {
        [only] => is_literal(only),
        [_, second, ..] => is_literal(second) || is_number(second),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Read, reads};
    use crate::sources::SourceFile;

    fn found(path: &str, text: &str) -> Vec<(usize, Read)> {
        reads(&SourceFile { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn places_and_keys_are_found() {
        let path = "crates/x/src/a.rs";
        assert_eq!(found(path, "fn f() {\n    let a = module.operand(op, 0);\n}\n"), [(2, Read::ByIndex)]);
        assert_eq!(found(path, "let a = cx.operand(op, 12)?;"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.operand(load.op(), 1);"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.attr_named(op, \"axis\");"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.operand_named(op, \"mask\");"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.operands(op)[0];"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = &module.operands(of.op())[3..];"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.operands(op).first();"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.operands(op).get(1);"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = args.attrs[0].as_ref();"), [(1, Read::ByIndex)]);
        assert_eq!(found(path, "let a = module.attrs(op).first();"), [(1, Read::ByIndex)]);
        let default = "let a = module.attr(op, slot).and_then(Attr::as_int).unwrap_or(0);";
        assert_eq!(found(path, default), [(1, Read::WithDefault)]);
        let named = "// \"llvm.fma\"\nb.intrinsic(\"llvm.fma\", ty, args);";
        assert_eq!(found(path, named), [(2, Read::Intrinsic)]);
        assert_eq!(found("crates/llir/src/intrinsics.rs", named), []);
    }

    #[test]
    fn views_and_computed_places_are_fine() {
        let path = "crates/x/src/a.rs";
        assert!(found(path, "let a = LoadOp::new(module, op).ptr();").is_empty());
        assert!(found(path, "let a = module.operand(op, index as usize);").is_empty());
        assert!(found(path, "let a = module.operands(op)[slot];").is_empty());
        assert!(found(path, "let a = module.operands(op).get(slot);").is_empty());
        assert!(found(path, "let a = row.attrs[slot].kind;").is_empty());
        assert!(found(path, "fn operand(&self, op: Op) {}").is_empty());
        assert!(found("crates/ttir/src/ops/memory.rs", "let a = module.operand(op, 0);").is_empty());
        assert!(found("crates/x/tests/a.rs", "let a = module.operand(op, 0);").is_empty());
        assert!(
            found(path, "fn f() {}\n#[cfg(test)]\nmod tests { fn g() { m.operand(op, 0); } }").is_empty()
        );
    }
}
