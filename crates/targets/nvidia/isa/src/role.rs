//! What instructions do, as far as somebody counts them.
//!
//! The rows of the table say it. Left out: what each instruction computes.

use crate::pattern::Role;
use crate::table::{find_in_any_order, is_of_registers};

/// The role of an instruction: that of its row.
pub fn role(mnemonic: &str) -> Role {
    find_in_any_order(mnemonic).map_or(Role::Other, |(row, _)| row.role)
}

/// Whether an instruction does nothing but compute registers from registers, carries aside.
pub fn computes(mnemonic: &str) -> bool {
    let carries = |word: &str| ["cc", "addc", "subc", "madc"].contains(&word);
    find_in_any_order(mnemonic).is_some_and(|(row, _)| is_of_registers(row))
        && !mnemonic.split('.').any(carries)
}

/// Bytes that a load or a store, by its role, moves between device memory and each lane; 0 for every other instruction.
pub fn device_bytes(role: Role, mnemonic: &str) -> u32 {
    if role != Role::Access {
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

/// About how many instructions of the machine an assembler makes of one that has no single one: quotients and rests,
/// which it computes by reciprocals (counted in what `ptxas` 13 makes for sm_90). 1 for all others.
pub fn machine_instructions(mnemonic: &str) -> u32 {
    let mut words = mnemonic.split('.');
    let divides = matches!(words.next(), Some("div" | "rem"));
    match words.next_back() {
        Some("s64" | "u64") if divides => 70,
        Some("s32" | "u32" | "s16" | "u16") if divides => 16,
        _ => 1,
    }
}

/// The mnemonics of a text of several statements, labels, declarations, guards and comments of a line left out.
pub fn mnemonics(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').filter_map(|statement| {
        let is_before = |word: &&str| word.starts_with(['@', '{', '}']) || word.ends_with(':');
        let lines = statement.lines().map(|line| line.split("//").next().unwrap_or_default());
        let mnemonic = lines.flat_map(str::split_whitespace).find(|word| !is_before(word))?;
        let is_name = mnemonic.starts_with(|c: char| c.is_ascii_lowercase());
        is_name.then_some(mnemonic)
    })
}

#[cfg(test)]
mod tests {
    use super::{Role, device_bytes, machine_instructions, mnemonics, role};

    #[test]
    fn roles_of_instructions() {
        for (mnemonic, wanted) in [
            ("bar.sync", Role::Barrier),
            ("bar.warp.sync", Role::WarpBarrier),
            ("barrier.cluster.wait.aligned", Role::ClusterBarrier),
            ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", Role::Multiply),
            ("wgmma.fence.sync.aligned", Role::MultiplyControl),
            ("wgmma.wait_group.sync.aligned", Role::MultiplyWait),
            ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", Role::MatrixLoad),
            ("ld.global.b32", Role::Access),
            ("ld.global.relaxed.gpu.v2.b64", Role::Access),
            ("ldu.global.b32", Role::Other),
            ("mad.lo.s32", Role::Other),
            ("mma.sync", Role::Other),
        ] {
            assert_eq!(role(mnemonic), wanted, "{mnemonic}");
        }
    }

    #[test]
    fn bytes_of_an_access() {
        let cases = [
            ("ld.global.v4.b32", 16),
            ("ld.global.L1::no_allocate.L2::128B.v2.b64", 16),
            ("st.global.b16", 2),
            ("ld.shared.v4.b32", 0),
            ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", 0),
            ("add.f32", 0),
        ];
        for (mnemonic, wanted) in cases {
            assert_eq!(device_bytes(role(mnemonic), mnemonic), wanted, "{mnemonic}");
        }
    }

    #[test]
    fn divisions_are_many_instructions() {
        let cases = [
            ("div.s64", 70),
            ("rem.u64", 70),
            ("rem.s32", 16),
            ("div.full.f32", 1),
            ("mul.lo.s64", 1),
            ("div", 1),
        ];
        for (mnemonic, wanted) in cases {
            assert_eq!(machine_instructions(mnemonic), wanted, "{mnemonic}");
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
