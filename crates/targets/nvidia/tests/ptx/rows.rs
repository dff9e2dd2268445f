//! The rows of the instruction table: whatever mnemonic a row has, `ptxas` takes with the operands of the row.
//!
//! Left out: instructions whose operands are matrices or tensors, which their lowering's own tests assemble, and those
//! that only stand where something else does (calls, labels).

use crate::assembler::assembler;
use nvidia::assemble::{AssembleOptions, Assembler};
use ptx_isa::{Arch, Kind, Need, OperandRow, Width, expansions, operands, rows};
use std::collections::BTreeMap;

/// Mnemonics of one row that are tried.
const MOST: usize = 300;

/// How mnemonics begin that need more around them than registers.
const LEFT_OUT: &[&str] = &[
    "alloca",
    "bra",
    "brkpt",
    "brx",
    "call",
    "exit",
    "istypep",
    "mma",
    "ret",
    "setmaxnreg",
    "stackrestore",
    "stacksave",
    "tcgen05",
    "trap",
    "wgmma",
];

/// Words of a mnemonic that do.
const WORDS_LEFT_OUT: &[&str] =
    &["param::func", "query_cancel", "tensor", "movmatrix", "m16n16", "m16n8", "m8n16"];

const HEAD: &str = "    .reg .pred %p<9>;\n    .reg .b8 %b<9>;\n    .reg .b16 %h<9>;\n    .reg .b32 %r<9>;\n    .reg .b64 %l<9>;
    .reg .b128 %q<9>;\n    .shared .b64 words[16];\n";

/// What no assembler takes.
const WRONG: &str = "add.wrong %r1, %r2, %r3";

/// The bits of a type of PTX.
fn bits(word: &str) -> Option<u32> {
    let known = match word {
        "pred" => 1,
        "e2m1x2" => 8,
        "bf16" | "e4m3x2" | "e5m2x2" | "e2m3x2" | "e3m2x2" | "ue8m0x2" => 16,
        "tf32" | "bf16x2" => 32,
        _ => 0,
    };
    if known != 0 {
        return Some(known);
    }
    let rest = word.strip_prefix(['b', 'u', 's', 'f'])?;
    let (bits, count) = rest.split_once('x').unwrap_or((rest, "1"));
    Some(bits.parse::<u32>().ok()?.max(16) * count.parse::<u32>().ok()?)
}

fn register(bits: u32, number: usize) -> String {
    let file = match bits {
        1 => "%p",
        8 => "%b",
        16 => "%h",
        32 => "%r",
        64 => "%l",
        _ => "%q",
    };
    format!("{file}{}", number % 8)
}

/// The space of the address that comes next.
fn space<'a>(words: &[&'a str], addresses: usize) -> &'a str {
    let is_space = |word: &&str| {
        ["shared", "global", "local", "const", "param"].contains(&word.split("::").next().unwrap_or(""))
    };
    let spaces: Vec<&str> = words.iter().copied().filter(is_space).collect();
    match (addresses, spaces.as_slice()) {
        (2, _) => "shared",
        (_, []) => "global",
        (at, spaces) => spaces[at.min(spaces.len() - 1)],
    }
}

/// A statement with an instruction of a row.
fn statement(mnemonic: &str, row: &[OperandRow]) -> String {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let types: Vec<u32> = words.iter().filter_map(|word| bits(word)).collect();
    let count = words.iter().find_map(|word| word.strip_prefix(['v', 'x'])?.parse().ok()).unwrap_or(1);
    // Matrices of 16-bit elements come two to a register.
    let types = if words[0].ends_with("dmatrix") || words[0] == "stmatrix" { vec![32] } else { types };
    let (first, last) = (types.first().copied().unwrap_or(32), types.last().copied().unwrap_or(32));
    let (mut list, mut next, mut addresses) = (Vec::new(), 0, 0);
    for operand in row.iter().filter(|operand| !operand.optional) {
        let width = match operand.width {
            Width::Last => last,
            Width::First => first,
            Width::Double => 2 * last,
            Width::Predicate => 1,
            Width::Number(bytes) => 8 * bytes,
        };
        let mut one = || {
            next += 1;
            register(width, next)
        };
        let text = match operand.kind {
            // The result is in another block's memory.
            Kind::Result if words[0] == "mbarrier" && words.contains(&"shared::cluster") => "_".into(),
            Kind::Result | Kind::Operand => one(),
            Kind::Results | Kind::Operands if count == 1 && !operand.braced => one(),
            Kind::Results | Kind::Operands => {
                format!("{{{}}}", (0..count).map(|_| one()).collect::<Vec<_>>().join(", "))
            }
            Kind::Address => {
                let text = if space(&words, addresses).starts_with("shared") { "[words]" } else { "[%l1]" };
                addresses += 1;
                text.into()
            }
            Kind::Constant => {
                if let Width::Number(only) = operand.width {
                    only.to_string()
                } else {
                    "16".into()
                }
            }
            Kind::Name => "label".into(),
            Kind::Policy if mnemonic.contains("L2::cache_hint") => "%l7".into(),
            Kind::Policy => continue,
        };
        list.push(if operand.with_predicate { format!("{text}|%p7") } else { text });
    }
    format!("{mnemonic} {};", list.join(", "))
}

/// An architecture that has an instruction.
fn arch(need: Need) -> Arch {
    match (need.arch.specific, need.arch.number) {
        (true, number) => Arch { number, specific: true },
        (_, 0..=90) => Arch { number: 90, specific: true },
        (_, 91..=100) => Arch { number: 100, specific: true },
        (_, number) => Arch { number, specific: true },
    }
}

#[test]
fn ptxas_takes_every_mnemonic_with_the_operands_of_its_row() {
    let mut texts: BTreeMap<Arch, String> = BTreeMap::new();
    let mut tried = 0;
    for row in rows() {
        let first = row.pattern.split([' ', '.']).next().unwrap_or("");
        if LEFT_OUT.contains(&first) {
            continue;
        }
        let operands = operands(row.operands).expect("written right");
        for (mnemonic, need) in expansions(row, MOST).expect("written right") {
            if WORDS_LEFT_OUT.iter().any(|word| mnemonic.split('.').any(|own| own == *word)) {
                continue;
            }
            tried += 1;
            let text = texts.entry(arch(need)).or_default();
            *text += &format!("    {}\n", statement(&mnemonic, &operands));
        }
    }
    assert!(tried > 5_000, "only {tried}");
    for (arch, statements) in texts {
        // The assembler stops behind the wrong last line: to make code of all of this is too much for it.
        let ptx = format!(
            ".version 9.1\n.target {arch}\n.address_size 64\n.visible .entry k()\n{{\n{HEAD}{statements}    {WRONG};\n    ret;\n}}\n"
        );
        let last = format!("line {};", ptx.lines().count() - 2);
        let complaint = match assembler().assemble(&ptx, &AssembleOptions::new(arch)) {
            Ok(_) => panic!("`{WRONG}` is taken"),
            Err(error) => error.to_string(),
        };
        let errors: Vec<&str> = complaint.lines().filter(|line| line.contains("; error")).collect();
        assert!(
            !errors.is_empty() && errors.iter().all(|error| error.contains(&last)),
            "{arch}\n{complaint}"
        );
    }
}
