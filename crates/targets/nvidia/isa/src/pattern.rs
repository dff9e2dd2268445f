//! Patterns of mnemonics.
//!
//! A pattern is a list of groups with blanks between them. The first group is how the mnemonic begins; each further one
//! is a list of modifiers between bars, one of which follows after a dot. A group that ends in `?` may be left out. A
//! modifier may say since when it exists: `bf16@7.0/80` is PTX 7.0 and sm_80, `@8.0/90a` an instruction of sm_90a
//! alone, `@8.0/90a+` one of sm_90a, sm_100a, …
//!
//! `mul hi|lo|wide s16|u16|s32|u32` stands for `mul.hi.s32`, `mul.wide.u16` and ten others.

use crate::arch::{Arch, Version};

/// What an instruction does, as far as somebody counts it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Lanes of a thread block wait for each other.
    Barrier,
    /// Lanes of a cluster wait for each other.
    ClusterBarrier,
    /// Lanes of a warp wait for each other.
    WarpBarrier,
    /// Lanes of a warp exchange registers.
    Shuffle,
    /// Lanes of a warp combine registers.
    Combine,
    /// A dot of fragments: a matrix instruction.
    Multiply,
    /// What dots of warp groups need beside: fences, ends of groups.
    MultiplyControl,
    /// A wait for dots of warp groups.
    MultiplyWait,
    /// A load of matrices from shared memory.
    MatrixLoad,
    /// A store of matrices to shared memory.
    MatrixStore,
    /// A wait for asynchronous copies of lanes.
    CopyWait,
    /// A load or a store of registers.
    Access,
    /// None of these.
    Other,
}

/// One family of mnemonics that take the same operands.
#[derive(Debug)]
pub struct Row {
    /// The pattern.
    pub pattern: &'static str,
    /// The operands in order, in the letters of [`crate::operands`].
    pub operands: &'static str,
    /// The PTX version and the architecture that brought it: `6.0/70`.
    pub since: &'static str,
    /// What it does, as far as somebody counts it.
    pub role: Role,
}

/// A row of instructions that nobody counts.
pub(super) const fn row(pattern: &'static str, operands: &'static str, since: &'static str) -> Row {
    Row { pattern, operands, since, role: Role::Other }
}

impl Row {
    /// What all its mnemonics begin with, up to the first dot.
    pub(super) fn first_word(&self) -> &'static str {
        let end = self.pattern.find(['.', ' ']);
        &self.pattern[..end.unwrap_or(self.pattern.len())]
    }

    /// The same for instructions that somebody counts.
    pub(super) const fn does(self, role: Role) -> Row {
        Row { role, ..self }
    }
}

/// What an instruction needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// The PTX version that has it.
    pub version: Version,
    /// The architecture that has it. What a specific one has, no other has, but for [`Need::also_later`].
    pub arch: Arch,
    /// Whether specific architectures after it have it as well.
    pub also_later: bool,
}

impl Need {
    /// What everything has that this back end writes for.
    pub const NONE: Need = Need { version: Version::new(6, 0), arch: Arch::new(50), also_later: false };

    /// What is needed for both.
    #[must_use]
    pub fn and(self, other: Need) -> Need {
        let version = self.version.max(other.version);
        let stronger = match (self.arch.specific, other.arch.specific) {
            (true, false) => self,
            (false, true) => other,
            _ if self.arch >= other.arch => self,
            _ => other,
        };
        Need { version, ..stronger }
    }

    /// Whether an architecture has it.
    pub fn is_met_by(self, arch: Arch) -> bool {
        match (self.arch.specific, self.also_later) {
            (true, false) => arch == self.arch,
            (true, true) => arch.specific && arch.number >= self.arch.number,
            (false, _) => arch.number >= self.arch.number,
        }
    }

    /// Reads `7.0/80`, `7.0`, `/80`, `8.0/90a` or `8.0/90a+`.
    fn parse(text: &str) -> Option<Need> {
        let (version, arch) = text.split_once('/').unwrap_or((text, ""));
        let mut need = Need::NONE;
        if !version.is_empty() {
            let (major, minor) = version.split_once('.')?;
            need.version = Version::new(major.parse().ok()?, minor.parse().ok()?);
        }
        if !arch.is_empty() {
            let arch = arch.strip_suffix('+').inspect(|_| need.also_later = true).unwrap_or(arch);
            let (digits, specific) = arch.strip_suffix('a').map_or((arch, false), |digits| (digits, true));
            need.arch = Arch { number: digits.parse().ok()?, specific };
        }
        Some(need)
    }
}

/// A pattern taken apart.
#[derive(Debug)]
pub(super) struct Pattern {
    stem: &'static str,
    groups: Vec<Group>,
    since: Need,
}

#[derive(Debug)]
struct Group {
    optional: bool,
    modifiers: Vec<(&'static str, Need)>,
}

impl Pattern {
    /// Takes a row apart; `None` where it is not written right, which a test excludes.
    pub(super) fn parse(row: &Row) -> Option<Pattern> {
        let mut parts = row.pattern.split_whitespace();
        let stem = parts.next()?;
        let groups = parts.map(group).collect::<Option<Vec<Group>>>()?;
        Some(Pattern { stem, groups, since: Need::parse(row.since)? })
    }

    /// What a mnemonic needs; `None` where it is none of this pattern.
    pub(super) fn need(&self, mnemonic: &str) -> Option<Need> {
        let rest = mnemonic.strip_prefix(self.stem)?;
        follow(&self.groups, rest, self.since)
    }

    /// The same for modifiers in another order than the pattern's, which assemblers take as well.
    pub(super) fn need_in_any_order(&self, mnemonic: &str) -> Option<Need> {
        let rest = mnemonic.strip_prefix(self.stem)?;
        let modifiers: Vec<&str> = rest.strip_prefix('.').unwrap_or(rest).split('.').collect();
        gather(&self.groups, &modifiers, self.since)
    }

    /// The mnemonic at a place among all of the pattern, and what it needs.
    fn at(&self, mut place: usize) -> (String, Need) {
        let (mut mnemonic, mut need) = (self.stem.to_owned(), self.since);
        for group in &self.groups {
            let chosen = place % group.choices();
            place /= group.choices();
            // Behind the modifiers comes that none is there.
            if let Some((modifier, more)) = group.modifiers.get(chosen) {
                mnemonic.push('.');
                mnemonic.push_str(modifier);
                need = need.and(*more);
            }
        }
        (mnemonic, need)
    }
}

impl Group {
    fn choices(&self) -> usize {
        self.modifiers.len() + usize::from(self.optional)
    }
}

/// The mnemonics of a row with what they need: all, or so many of them, spread over all.
pub fn expansions(row: &Row, most: usize) -> Option<Vec<(String, Need)>> {
    /// A prime above all counts, so that the steps meet each place once.
    const STEP: usize = 1_000_003;
    let pattern = Pattern::parse(row)?;
    let total: usize = pattern.groups.iter().map(Group::choices).product();
    Some((0..total.min(most)).map(|index| pattern.at(index * STEP % total)).collect())
}

fn group(text: &'static str) -> Option<Group> {
    let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
    let modifier = |modifier: &'static str| match modifier.split_once('@') {
        Some((modifier, need)) => Some((modifier, Need::parse(need)?)),
        None => Some((modifier, Need::NONE)),
    };
    let modifiers = text.split('|').map(modifier).collect::<Option<Vec<_>>>()?;
    Some(Group { optional, modifiers })
}

fn follow(groups: &[Group], rest: &str, need: Need) -> Option<Need> {
    let Some((group, further)) = groups.split_first() else {
        return rest.is_empty().then_some(need);
    };
    for (modifier, more) in &group.modifiers {
        let after = rest.strip_prefix('.').and_then(|rest| rest.strip_prefix(modifier));
        let Some(after) = after.filter(|after| after.is_empty() || after.starts_with('.')) else { continue };
        if let Some(need) = follow(further, after, need.and(*more)) {
            return Some(need);
        }
    }
    if group.optional { follow(further, rest, need) } else { None }
}

/// As [`follow`], but a modifier may stand anywhere; modifiers of one group stay side by side.
fn gather(groups: &[Group], rest: &[&str], need: Need) -> Option<Need> {
    let Some((group, further)) = groups.split_first() else {
        return rest.is_empty().then_some(need);
    };
    for (modifier, more) in &group.modifiers {
        let parts: Vec<&str> = modifier.split('.').collect();
        for at in 0..rest.len().saturating_sub(parts.len() - 1) {
            if rest[at..at + parts.len()] != parts {
                continue;
            }
            let others: Vec<&str> = [&rest[..at], &rest[at + parts.len()..]].concat();
            if let Some(need) = gather(further, &others, need.and(*more)) {
                return Some(need);
            }
        }
    }
    if group.optional { gather(further, rest, need) } else { None }
}

#[cfg(test)]
mod tests {
    use super::{Arch, Need, Pattern, Version, expansions, row};

    #[test]
    fn patterns_match_whole_mnemonics() {
        let row = row("cvt rn|rz? sat? f32|bf16@7.0/80 f32|s32", "DA", "6.0");
        let pattern = Pattern::parse(&row).expect("a pattern");
        assert_eq!(pattern.need("cvt.rn.f32.s32"), Some(Need::NONE));
        assert_eq!(pattern.need("cvt.f32.f32"), Some(Need::NONE));
        let bfloat = Need { version: Version::new(7, 0), arch: Arch::new(80), also_later: false };
        assert_eq!(pattern.need("cvt.rz.sat.bf16.f32"), Some(bfloat));
        for wrong in
            ["cvt", "cvt.f32", "cvt.rn.f32.f32.f32", "cvt.f321.f32", "cvtf.f32.f32", "cvt.sat.rn.f32.f32"]
        {
            assert_eq!(pattern.need(wrong), None, "{wrong}");
        }
        assert_eq!(pattern.need_in_any_order("cvt.sat.bf16.rz.f32"), Some(bfloat));
        assert_eq!(pattern.need_in_any_order("cvt.sat.bf16.rz"), None);
        let all = expansions(&row, usize::MAX).expect("a pattern");
        assert_eq!(all.len(), 3 * 2 * 2 * 2);
        assert!(all.iter().all(|(mnemonic, need)| pattern.need(mnemonic) == Some(*need)));
    }

    #[test]
    fn an_instruction_of_one_architecture_needs_it() {
        let [hopper, later] = [90, 100].map(|number| Arch { number, specific: true });
        let need = Need::NONE.and(Need::parse("8.0/90a").expect("a need"));
        assert!(need.is_met_by(hopper));
        assert!(!need.is_met_by(Arch::new(90)) && !need.is_met_by(later));
        let need = Need::NONE.and(Need::parse("8.0/90a+").expect("a need"));
        assert!(need.is_met_by(hopper) && need.is_met_by(later));
        assert!(!need.is_met_by(Arch::new(90)) && !need.is_met_by(Arch::new(100)));
    }
}
