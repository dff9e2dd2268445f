//! What a kernel says to the code generator of how it is called: arguments in registers, and what it does not need.

use amdgcn_isa::{Arch, system};
use llir::{FuncId, Intrinsic, Module, intrinsics};

/// What LLVM gives a kernel that does not say that it does without: the name in the attribute, and the intrinsic that
/// uses it, if code of lanes calls one.
static GIVEN: &[(&str, Option<&Intrinsic>)] = &[
    ("workgroup-id-y", Some(&system::WORKGROUP_ID_Y.intrinsic)),
    ("workgroup-id-z", Some(&system::WORKGROUP_ID_Z.intrinsic)),
    ("workitem-id-y", Some(&system::WORKITEM_ID_Y.intrinsic)),
    ("workitem-id-z", Some(&system::WORKITEM_ID_Z.intrinsic)),
    ("dispatch-ptr", None),
    ("queue-ptr", Some(&intrinsics::TRAP)),
    ("dispatch-id", None),
    ("implicitarg-ptr", Some(&system::IMPLICITARG_PTR.intrinsic)),
    ("hostcall-ptr", None),
    ("heap-ptr", None),
    ("default-queue", None),
    ("completion-action", None),
    ("multigrid-sync-arg", None),
    ("lds-kernel-id", None),
];

/// Says of the kernel what it does not use, and that its arguments should be in scalar registers when it starts.
pub(crate) fn finish(module: &mut Module, kernel: &str, arch: Arch) {
    let is_used = |intrinsic: &Intrinsic| module.find(intrinsic.name).is_some();
    let unused = GIVEN.iter().filter(|(_, intrinsic)| !intrinsic.is_some_and(is_used));
    let attributes: Vec<String> = unused.map(|(name, _)| format!("\"amdgpu-no-{name}\"")).collect();
    let Some(function) = module.find(kernel).and_then(|id: FuncId| module.function_mut(id)) else { return };
    function.attributes.extend(attributes);
    // Other architectures load arguments: there it says nothing.
    if amdgcn_isa::CDNA.has(arch) {
        for param in &mut function.params {
            param.attributes.in_register = true;
        }
    }
}
