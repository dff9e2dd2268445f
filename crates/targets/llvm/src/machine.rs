//! Target machines: what code is made for. One is kept per helper thread, specification and level.

use crate::api::{Api, LMachine, LTarget};
use crate::gate::Options;
use crate::{Llvm, LlvmError, cpus};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ffi::CString;
use std::rc::Rc;

/// What code is made for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct TargetSpec {
    /// LLVM's triple: `x86_64-unknown-linux-gnu`.
    pub triple: String,
    /// LLVM's name of the processor: `znver3`.
    pub cpu: String,
    /// Features on and off: `+avx2,-avx512f`.
    pub features: String,
    /// Options of LLVM.
    pub options: Options,
}

/// A target machine of one thread.
pub(crate) struct TargetMachine {
    api: &'static Api,
    pub(crate) handle: *mut LMachine,
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and used no more.
        unsafe { (self.api.machine_dispose)(self.handle) };
    }
}

/// How far code is optimised while it is made, with LLVM's codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Level {
    /// `O0`.
    None = 0,
    /// `O2`.
    Default = 2,
}

/// LLVM's codes: position-independent code, the small code model.
const RELOCATION_PIC: i32 = 2;
const CODE_MODEL_SMALL: i32 = 3;

thread_local! {
    static MACHINES: RefCell<FxHashMap<(TargetSpec, Level), Rc<TargetMachine>>> = RefCell::default();
}

/// The machine of this thread for a specification.
pub(crate) fn machine(
    llvm: &'static Llvm,
    spec: &TargetSpec,
    level: Level,
) -> Result<Rc<TargetMachine>, LlvmError> {
    MACHINES.with_borrow_mut(|machines| {
        let key = (spec.clone(), level);
        if let Some(machine) = machines.get(&key) {
            return Ok(machine.clone());
        }
        let machine = Rc::new(create(llvm, spec, level)?);
        machines.insert(key, machine.clone());
        Ok(machine)
    })
}

fn create(llvm: &'static Llvm, spec: &TargetSpec, level: Level) -> Result<TargetMachine, LlvmError> {
    cpus::check(spec, llvm.version().major, || (llvm.host_triple(), llvm.host_cpu()))?;
    let api = llvm.api();
    let target = find_target(api, &spec.triple)?;
    let [triple, cpu, features] = [&spec.triple, &spec.cpu, &spec.features].map(|text| c_string(text));
    // SAFETY: the strings outlive the call; the target is a static of LLVM.
    let handle = unsafe {
        (api.machine_create)(
            target,
            triple?.as_ptr(),
            cpu?.as_ptr(),
            features?.as_ptr(),
            level as i32,
            RELOCATION_PIC,
            CODE_MODEL_SMALL,
        )
    };
    if handle.is_null() {
        return Err(LlvmError::Target(format!("LLVM has no target machine for `{}`", spec.triple)));
    }
    Ok(TargetMachine { api, handle })
}

/// The back end for a triple.
pub(crate) fn find_target(api: &Api, triple: &str) -> Result<*mut LTarget, LlvmError> {
    let triple = c_string(triple)?;
    let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: valid places to write to.
    let failed = unsafe { (api.target_from_triple)(triple.as_ptr(), &mut target, &mut message) };
    let text = api.owned_string(message);
    if failed != 0 || target.is_null() { Err(LlvmError::Target(text)) } else { Ok(target) }
}

/// A C string; text with a zero byte is refused.
pub(crate) fn c_string(text: &str) -> Result<CString, LlvmError> {
    CString::new(text).map_err(|_| LlvmError::Target(format!("{text:?} has a zero byte in it")))
}
