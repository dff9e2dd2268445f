//! What instructions do, as far as somebody counts them.
//!
//! A role belongs to the first words of mnemonics, as rows do: `wgmma.wait_group` waits for products, all other `wgmma` make them or
//! belong to it. Left out: what each instruction computes.

/// What an instruction does.
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
    /// A product of matrices.
    Multiply,
    /// What products of warp groups need beside: fences, ends of groups.
    MultiplyControl,
    /// A wait for products of warp groups.
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

/// The first words of mnemonics with their role; of several the longest counts.
const ROLES: &[(&str, Role)] = &[
    ("bar", Role::Barrier),
    ("bar.warp", Role::WarpBarrier),
    ("barrier", Role::Barrier),
    ("barrier.cluster", Role::ClusterBarrier),
    ("cp.async.wait_group", Role::CopyWait),
    ("ld", Role::Access),
    ("ldmatrix", Role::MatrixLoad),
    ("mma", Role::Multiply),
    ("redux", Role::Combine),
    ("shfl", Role::Shuffle),
    ("st", Role::Access),
    ("stmatrix", Role::MatrixStore),
    ("wgmma", Role::MultiplyControl),
    ("wgmma.mma_async", Role::Multiply),
    ("wgmma.wait_group", Role::MultiplyWait),
];

/// The role of an instruction.
pub fn role(mnemonic: &str) -> Role {
    let begins = |words: &str| {
        let rest = mnemonic.strip_prefix(words);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
    };
    let found = ROLES.iter().filter(|(words, _)| begins(words)).max_by_key(|(words, _)| words.len());
    found.map_or(Role::Other, |(_, role)| *role)
}

/// Bytes that a load or a store moves between device memory and each lane; 0 for every other instruction.
pub fn device_bytes(mnemonic: &str) -> u32 {
    if role(mnemonic) != Role::Access {
        return 0;
    }
    let mut words = mnemonic.split('.').skip(1);
    if words.next() != Some("global") {
        return 0;
    }
    words.fold(0, |bytes, word| match (word.get(..1), word.get(1..).map(str::parse::<u32>)) {
        (Some("v"), Some(Ok(count))) => count,
        (Some("b" | "u" | "s" | "f"), Some(Ok(bits))) => bytes.max(1) * bits / 8,
        _ => bytes,
    })
}

/// The mnemonics of a text of several statements, labels, declarations and guards left out.
pub fn mnemonics(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').filter_map(|statement| {
        let is_before = |word: &&str| word.starts_with(['@', '{', '}']) || word.ends_with(':');
        let mnemonic = statement.split_whitespace().find(|word| !is_before(word))?;
        let is_name = mnemonic.starts_with(|c: char| c.is_ascii_lowercase());
        is_name.then_some(mnemonic)
    })
}

#[cfg(test)]
mod tests {
    use super::{ROLES, Role, device_bytes, mnemonics, role};
    use crate::rows;

    #[test]
    fn every_role_belongs_to_a_row() {
        for (words, _) in ROLES {
            let begins = |pattern: &str| {
                // The words of a pattern may be chosen from several.
                let mut parts = pattern.split_whitespace();
                let stem = parts.next().unwrap_or_default();
                stem.starts_with(words) || words.starts_with(stem)
            };
            assert!(rows().any(|row| begins(row.pattern)), "no row begins with `{words}`");
        }
    }

    #[test]
    fn the_longest_words_count() {
        for (mnemonic, wanted) in [
            ("bar.sync", Role::Barrier),
            ("bar.sync 0", Role::Barrier),
            ("bar.warp.sync", Role::WarpBarrier),
            ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", Role::Multiply),
            ("wgmma.fence.sync.aligned", Role::MultiplyControl),
            ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", Role::MatrixLoad),
            ("ld.global.b32", Role::Access),
            ("ldu.global.b32", Role::Other),
            ("mad.lo.s32", Role::Other),
        ] {
            assert_eq!(role(mnemonic), wanted, "{mnemonic}");
        }
    }

    #[test]
    fn bytes_of_an_access() {
        let cases = [
            ("ld.global.v4.b32", 16),
            ("ld.global.cs.L1::no_allocate.L2::128B.v2.b64", 16),
            ("st.global.b16", 2),
            ("ld.shared.v4.b32", 0),
            ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", 0),
            ("add.f32", 0),
        ];
        for (mnemonic, wanted) in cases {
            assert_eq!(device_bytes(mnemonic), wanted, "{mnemonic}");
        }
    }

    #[test]
    fn mnemonics_of_a_text() {
        let text = "{\n\t.reg .pred p;\n\t@!$2 bra.uni done;\n\tagain: mbarrier.try_wait.b64 p, [ $0 ], $1;\n\tdone:\n\t}";
        assert_eq!(mnemonics(text).collect::<Vec<_>>(), ["bra.uni", "mbarrier.try_wait.b64"]);
        assert_eq!(
            mnemonics("@$1 st.global.b32 [ $0 ], 1; exit;").collect::<Vec<_>>(),
            ["st.global.b32", "exit"]
        );
    }
}
