//! The parameters of a kernel, as a launch passes them.

use target::{KernelParam, ParamKind, TargetError};
use ttir::ops::func::kernel_of;
use ttir::types::DESCRIPTOR;

/// The parameters of the kernel of a module: its one public function.
///
/// # Errors
/// That there is none, or that a parameter cannot be passed.
pub fn params(module: &ir::Module) -> Result<Vec<KernelParam>, TargetError> {
    let kernel = kernel_of(module).map_err(|message| TargetError::Compile { message, location: None })?;
    let named = |(index, &arg): (usize, &ir::Value)| {
        let name = module.name(arg).map_or_else(|| format!("arg{index}"), str::to_owned);
        let ty = module.ty(arg);
        kind(ty).map(|kind| KernelParam { name, kind }).ok_or_else(|| TargetError::Compile {
            message: format!("a kernel cannot have a parameter of type {ty}"),
            location: None,
        })
    };
    // Descriptors behind the others, and numbers of programs, are what a launch makes of them.
    let counts = ttgir::programs_params(module, kernel.entry());
    let passed =
        |(at, arg): &(usize, &ir::Value)| !(DESCRIPTOR.check)(module.ty(**arg)) && !counts.contains(at);
    kernel.params().iter().enumerate().filter(passed).map(named).collect()
}

fn kind(ty: ir::Type) -> Option<ParamKind> {
    if ttir::types::pointee(ty).is_some() {
        return Some(ParamKind::Pointer);
    }
    match (ty.as_int(), ty.as_float()) {
        (Some(bits), _) => Some(ParamKind::Int(bits)),
        (_, Some(ir::FloatKind::BF16)) => Some(ParamKind::Bf16),
        (_, Some(float)) => Some(ParamKind::Float(float.bits())),
        _ => None,
    }
}
