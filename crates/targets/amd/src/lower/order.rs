//! Barriers that put LDS alone in order, on RDNA.
//!
//! The waves of a program may run on two compute units there, each with a cache of its own: a barrier that orders
//! device memory waits for every load under way and empties the caches, which ends what a loop loads ahead. In llir the
//! fences of other barriers are `syncscope("workgroup-one-as")`, which asks for more than is needed; LLVM learns from
//! an annotation that they are of LDS alone.

use amdgcn_isa::system;
use llir::{FunctionBuilder, Ordering, SyncScope};
use std::borrow::Cow;

/// The scope of these fences, as llir has it.
const SCOPE: &str = "fence syncscope(\"workgroup-one-as\") ";

/// The annotation of fences of LDS: its name until LLVM 20 and since. Versions that know neither order all memory.
const OF_LDS: &str = ", !mmra !{!{!\"amdgpu-as\", !\"local\"}, !{!\"amdgpu-synchronize-as\", !\"local\"}}";

/// Waits for all lanes of the program, and for accesses to LDS.
pub(super) fn shared_barrier(b: &mut FunctionBuilder<'_>) {
    b.fence_among(Ordering::Release, SyncScope::Shared);
    b.intrinsic_void(&system::S_BARRIER, &[]);
    b.fence_among(Ordering::Acquire, SyncScope::Shared);
}

/// The text with fences of LDS as LLVM knows them.
pub(crate) fn of_lds(text: &str) -> Cow<'_, str> {
    if !text.contains(SCOPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        match line.trim_start().strip_prefix(SCOPE) {
            Some(rest) => {
                // Behind the order there may be the place in the source.
                let (order, place) = rest.split_once(',').unwrap_or((rest, ""));
                let comma = if place.is_empty() { "" } else { "," };
                out.push_str(&format!("  fence syncscope(\"workgroup\") {order}{OF_LDS}{comma}{place}"));
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{OF_LDS, of_lds};

    #[test]
    fn fences_of_lds_are_annotated() {
        let all = "  fence syncscope(\"workgroup\") release\n";
        assert_eq!(of_lds(all), all);
        let text = format!("{all}  fence syncscope(\"workgroup-one-as\") acquire, !dbg !7\n");
        let expected = format!("{all}  fence syncscope(\"workgroup\") acquire{OF_LDS}, !dbg !7\n");
        assert_eq!(of_lds(&text), expected);
    }
}
