//! Copies from device memory to LDS that pass by the registers: `buffer_load_dwordx4 … lds` on gfx950,
//! `buffer_load_dword … lds` on CDNA.
//!
//! The lanes of a wave are written one behind the other from an address of all of them. A lane that is masked off reads
//! out of bounds, and so writes zeros. A copy counts among the loads that `s_waitcnt` waits for.

use super::arrange;
use super::buffer::{near, place};
use amdgcn_isa::{Arch, CDNA, exchange, memory, system};
use lanes::{Access, Pending};
use llir::{FunctionBuilder, Op, Type, Value};
use std::borrow::Cow;

/// Begins a copy; `false` where there is no instruction for it.
pub(super) fn begin(
    b: &mut FunctionBuilder<'_>,
    arch: Arch,
    (to, offset): (Value, i64),
    from: &Access,
    only: Option<Value>,
) -> bool {
    let bytes = from.element.lane_bytes() as usize * from.count;
    let has = match bytes {
        4 => CDNA.has(arch),
        16 => arch == Arch::Gfx950,
        _ => false,
    };
    let Some(near) = near(from).filter(|_| has && only.is_none()) else { return false };
    let offset = b.i32(offset as i32);
    let to = b.gep(Type::I8, to, offset);
    let space = b.ty(to);
    let address = b.cast(Op::PTRTOINT, to, Type::I32);
    let first = b.intrinsic(&exchange::READFIRSTLANE, Type::I32, &[address]);
    let first = b.cast(Op::INTTOPTR, first, space);
    let [buffer, place, zero, cached] = place(b, arch, from, near);
    let size = b.i32(bytes as i32);
    b.intrinsic_void(&memory::RAW_PTR_BUFFER_LOAD_LDS, &[buffer, first, size, place, zero, zero, cached]);
    true
}

/// Waits until at most so many are under way.
pub(super) fn wait(b: &mut FunctionBuilder<'_>, pending: Pending) {
    let counters = b.i32(arrange::loads_left(pending.copies) as i32);
    b.intrinsic_void(&system::S_WAITCNT, &[counters]);
}

/// Numbers of metadata that no module has.
const SCOPE: u32 = 1_000_000;

/// What a barrier releases among the waves of a program, as llir has it.
const RELEASE: &str = "fence syncscope(\"workgroup\") release";

/// The text with what LLVM must know of copies to LDS: that loads from there are none of what they write, but behind a
/// wait for them. It would wait for all copies in front of each load otherwise. It would do so at each barrier, too, so
/// that what barriers wait for is said: accesses of LDS. Those of device memory are in order for the waves of a compute
/// unit of these machines.
pub(crate) fn scopes(text: &str) -> Cow<'_, str> {
    let (copy, wait) = (memory::RAW_PTR_BUFFER_LOAD_LDS.name, system::S_WAITCNT.name);
    if !text.contains(copy) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let done =
        format!("call void @{wait}(i32 {})\n  fence syncscope(\"wavefront\") release", arrange::SHARED_DONE);
    for line in text.lines() {
        out.push_str(&line.replace(RELEASE, &done));
        if line.trim_start().starts_with("call ") && line.contains(copy) {
            out.push_str(&format!(", !alias.scope !{}", SCOPE + 2));
        } else if line.contains(" = load ") && line.contains(", ptr addrspace(3) ") {
            out.push_str(&format!(", !noalias !{}", SCOPE + 2));
        }
        out.push('\n');
    }
    let declared = format!("declare void @{wait}(i32)");
    if !text.contains(&declared) {
        out.extend([&declared, "\n"]);
    }
    let [domain, scope, list] = [SCOPE, SCOPE + 1, SCOPE + 2];
    out.push_str(&format!(
        "!{domain} = distinct !{{!{domain}}}\n!{scope} = distinct !{{!{scope}, !{domain}}}\n!{list} = !{{!{scope}}}\n"
    ));
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::scopes;

    #[test]
    fn loads_from_lds_do_not_wait_for_copies() {
        let plain = "  %1 = load i32, ptr addrspace(3) %0, align 4\n";
        assert_eq!(scopes(plain), plain);
        let copy = "  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(i32 0)\n  fence syncscope(\"workgroup\") release\n";
        let text = format!("{copy}{plain}");
        let found = scopes(&text);
        assert!(
            found.contains("s.waitcnt(i32 49279)\n  fence syncscope(\"wavefront\") release\n"),
            "{found}"
        );
        assert!(found.contains("lds(i32 0), !alias.scope !1000002\n"), "{found}");
        assert!(found.contains("align 4, !noalias !1000002\n"), "{found}");
        assert!(found.ends_with("!1000002 = !{!1000001}\n"), "{found}");
    }
}
