//! What the assembly of a kernel executes: its main loop, and the instructions there by what they are.
//!
//! The main loop is the innermost loop with the most matrix instructions, else the longest; a kernel without loops is
//! taken whole. A loop is what stands between a label and a branch back to it.

use std::collections::BTreeMap;

/// Groups of instructions, by how their names begin. The first that fits counts.
const GROUPS: &[(&str, &[&str])] = &[
    ("matrix instructions", &["v_mfma", "v_smfmac", "v_wmma", "v_swmmac"]),
    ("moves of accumulators", &["v_accvgpr"]),
    ("loads", &["global_load", "buffer_load", "flat_load"]),
    ("stores", &["global_store", "buffer_store", "flat_store"]),
    ("atomics", &["global_atomic", "buffer_atomic", "flat_atomic"]),
    ("spills", &["scratch_"]),
    ("LDS reads", &["ds_read", "ds_load"]),
    ("LDS writes", &["ds_write", "ds_store"]),
    ("shuffles through LDS", &["ds_bpermute", "ds_permute", "ds_swizzle"]),
    ("waits", &["s_waitcnt", "s_wait_"]),
    ("barriers", &["s_barrier"]),
    ("exponentials", &["v_exp"]),
];

/// The instructions of a stretch of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stretch {
    /// Whether it is a loop.
    pub(crate) is_loop: bool,
    /// All instructions.
    pub(crate) all: usize,
    /// Those of the vector unit, without matrix instructions.
    pub(crate) vector: usize,
    /// By group: names with how often they occur.
    pub(crate) groups: Vec<(&'static str, BTreeMap<String, usize>)>,
}

/// The instructions of a kernel, and the places of its labels among them.
#[derive(Default)]
struct Code<'t> {
    lines: Vec<&'t str>,
    labels: BTreeMap<&'t str, usize>,
}

/// How instructions begin.
const UNITS: &[&str] = &["s", "v", "ds", "global", "buffer", "flat", "scratch"];

impl<'t> Code<'t> {
    fn of(text: &'t str) -> Code<'t> {
        let mut code = Code::default();
        for line in text.lines() {
            let line = line.split(';').next().unwrap_or_default().trim();
            if let Some(label) = line.strip_suffix(':') {
                code.labels.insert(label, code.lines.len());
            } else if line.split_once('_').is_some_and(|(unit, _)| UNITS.contains(&unit)) {
                code.lines.push(line);
            }
        }
        code
    }

    /// Where a branch goes to.
    fn target(&self, at: usize) -> Option<usize> {
        let line = self.lines[at];
        let label = line.split_whitespace().nth(1).filter(|_| line.contains("branch"))?;
        self.labels.get(label).copied()
    }

    /// Whether code from one place on comes to another.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.lines.len()];
        let mut waiting = vec![from];
        while let Some(mut at) = waiting.pop() {
            while at < self.lines.len() && !std::mem::replace(&mut seen[at], true) {
                if at == to {
                    return true;
                }
                waiting.extend(self.target(at));
                if self.lines[at].starts_with("s_branch") || self.lines[at].starts_with("s_endpgm") {
                    break;
                }
                at += 1;
            }
        }
        false
    }

    /// The loops: from a label to a branch back to it. A branch to code that stands above is none where it does not
    /// come back.
    fn loops(&self) -> Vec<(usize, usize)> {
        let back = |at: usize| Some((self.target(at).filter(|start| *start <= at)?, at + 1));
        let branches = (0..self.lines.len()).filter_map(back);
        branches.filter(|&(start, end)| self.reaches(start, end - 1)).collect()
    }
}

/// The main loop of a kernel's assembly.
pub(crate) fn main_loop(text: &str) -> Stretch {
    let code = Code::of(text);
    let loops = code.loops();
    let inside =
        |(a, b): (usize, usize)| move |&(c, d): &(usize, usize)| a <= c && d <= b && (c, d) != (a, b);
    let inner = loops.iter().filter(|&&own| !loops.iter().any(inside(own)));
    let matrix = |&&(a, b): &&(usize, usize)| {
        let is_matrix = |line: &&&str| group(line) == Some(GROUPS[0].0);
        (code.lines[a..b].iter().filter(is_matrix).count(), b - a)
    };
    match inner.max_by_key(matrix) {
        Some(&(a, b)) => Stretch { is_loop: true, ..count(&code.lines[a..b]) },
        None => count(&code.lines),
    }
}

fn group(instruction: &str) -> Option<&'static str> {
    let begins = |names: &[&str]| names.iter().any(|name| instruction.starts_with(name));
    GROUPS.iter().find(|(_, names)| begins(names)).map(|(group, _)| *group)
}

fn count(code: &[&str]) -> Stretch {
    let mut groups: Vec<(&'static str, BTreeMap<String, usize>)> =
        GROUPS.iter().map(|(name, _)| (*name, BTreeMap::new())).collect();
    let mut vector = 0;
    for line in code {
        let name = line.split_whitespace().next().unwrap_or_default();
        let found = group(name);
        vector += usize::from(name.starts_with("v_") && (found.is_none() || found == Some("exponentials")));
        let Some((_, names)) = groups.iter_mut().find(|(own, _)| found == Some(own)) else { continue };
        // Encodings of one instruction are one.
        let name = name.trim_end_matches("_e32").trim_end_matches("_e64");
        *names.entry(name.to_owned()).or_default() += 1;
    }
    groups.retain(|(_, names)| !names.is_empty());
    Stretch { is_loop: false, all: code.len(), vector, groups }
}

impl Stretch {
    /// Rows for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let what = if self.is_loop { "main loop" } else { "code, without a loop" };
        let mut rows =
            vec![(what.to_owned(), format!("{} instructions, {} of the vector unit", self.all, self.vector))];
        for (group, names) in &self.groups {
            let list: Vec<String> = names.iter().map(|(name, count)| format!("{count} {name}")).collect();
            rows.push((format!("  {group}"), list.join(", ")));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::main_loop;

    const TEXT: &str = "k:
\ts_load_dwordx2 s[0:1], s[4:5], 0x0
\tv_mov_b32_e32 v1, 0                     ; a comment
.LBB0_1:
\tv_add_u32_e32 v0, v0, v1
\ts_cbranch_scc1 .LBB0_1
.LBB0_2:
\tglobal_load_dwordx4 v[0:3], v4, s[0:1]
.LBB0_3:
\tds_read_b128 v[0:3], v4
\ts_waitcnt lgkmcnt(0)
\tv_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]
\tv_exp_f32_e32 v5, v5
\ts_barrier
\ts_cbranch_vccnz .LBB0_3
\ts_cbranch_scc0 .LBB0_2
\ts_endpgm
\t.section .rodata
";

    #[test]
    fn the_main_loop_is_the_innermost_with_matrix_instructions() {
        let stretch = main_loop(TEXT);
        assert_eq!((stretch.is_loop, stretch.all, stretch.vector), (true, 6, 1));
        let groups: Vec<_> = stretch.groups.iter().map(|(name, _)| *name).collect();
        assert_eq!(groups, ["matrix instructions", "LDS reads", "waits", "barriers", "exponentials"]);
        assert!(stretch.rows().iter().any(|(what, text)| what == "  LDS reads" && text == "1 ds_read_b128"));
    }

    #[test]
    fn a_branch_to_code_above_that_does_not_come_back_is_no_loop() {
        let text = "k:\n\ts_cbranch_scc1 .LBB0_2\n.LBB0_1:\n\tv_mov_b32_e32 v0, 0\n\ts_endpgm\n.LBB0_2:\n\ts_branch .LBB0_1\n";
        assert!(!main_loop(text).is_loop);
    }

    #[test]
    fn code_without_loops_is_taken_whole() {
        let stretch = main_loop("k:\n\tglobal_load_dword v0, v1, s[0:1]\n\ts_endpgm\n");
        assert_eq!((stretch.is_loop, stretch.all), (false, 2));
    }
}
