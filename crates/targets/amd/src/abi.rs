//! What a kernel says to the code generator of how it is called: arguments in registers, and what it does not need.

use amdgcn_isa::Arch;
use llir::{FuncId, Module};

/// What LLVM gives a kernel that does not say that it does without: the name in the attribute, and the intrinsic that
/// uses it.
const GIVEN: &[(&str, &str)] = &[
    ("workgroup-id-y", "llvm.amdgcn.workgroup.id.y"),
    ("workgroup-id-z", "llvm.amdgcn.workgroup.id.z"),
    ("workitem-id-y", "llvm.amdgcn.workitem.id.y"),
    ("workitem-id-z", "llvm.amdgcn.workitem.id.z"),
    ("dispatch-ptr", "llvm.amdgcn.dispatch.ptr"),
    ("queue-ptr", "llvm.trap"),
    ("dispatch-id", "llvm.amdgcn.dispatch.id"),
    ("implicitarg-ptr", "llvm.amdgcn.implicitarg.ptr"),
    ("hostcall-ptr", ""),
    ("heap-ptr", ""),
    ("default-queue", ""),
    ("completion-action", ""),
    ("multigrid-sync-arg", ""),
    ("lds-kernel-id", ""),
];

/// Says of the kernel what it does not use, and that its arguments should be in scalar registers when it starts.
pub(crate) fn finish(module: &mut Module, kernel: &str, arch: Arch) {
    let called: Vec<String> = module.callees().map(|callee| callee.name.clone()).collect();
    let is_used = |intrinsic: &str| called.iter().any(|name| name == intrinsic);
    let unused = GIVEN.iter().filter(|(_, intrinsic)| !is_used(intrinsic));
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
