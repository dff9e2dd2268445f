//! LLVM's C interface, looked up by name.
//!
//! Every raw call is in this file and in `machine.rs` and `compile.rs`, which own the handles. A handle is used by one
//! thread at a time; LLVM is thread safe as long as contexts are not shared.

use crate::Version;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

/// Names an opaque type of LLVM.
macro_rules! opaque {
    ($($name:ident)*) => { $(
        #[repr(C)]
        pub(crate) struct $name { _private: [u8; 0] }
    )* };
}

opaque! { LContext LModule LBuffer LTarget LMachine LTargetData LPassOptions LErrorRef LDiagnostic }

/// Receives what LLVM has to say about a module.
pub(crate) type DiagnosticHandler = unsafe extern "C" fn(*mut LDiagnostic, *mut c_void);

/// Receives the last words of LLVM before it stops the process.
pub(crate) type FatalHandler = unsafe extern "C" fn(*const c_char);

/// Makes the table of functions and the code that fills it.
///
/// `context_create: "LLVMContextCreate" fn() -> *mut LContext;` becomes a field and its look-up.
macro_rules! functions {
    ($($field:ident: $name:literal fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions that are used, under LLVM's own names.
        pub(crate) struct Api {
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            library: Library,
        }

        impl Api {
            /// Looks everything up.
            fn resolve(library: Library) -> Result<Api, String> {
                // SAFETY: the types are those of LLVM's headers, which are the same from version 17 to 22.
                unsafe {
                    Ok(Api {
                        $($field: *library
                            .get(concat!($name, "\0").as_bytes())
                            .map_err(|_| format!("it has no `{}`", $name))?,)*
                        library,
                    })
                }
            }
        }
    };
}

functions! {
    get_version: "LLVMGetVersion" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    context_create: "LLVMContextCreate" fn() -> *mut LContext;
    context_dispose: "LLVMContextDispose" fn(*mut LContext);
    context_set_diagnostic_handler: "LLVMContextSetDiagnosticHandler"
        fn(*mut LContext, Option<DiagnosticHandler>, *mut c_void);
    diagnostic_description: "LLVMGetDiagInfoDescription" fn(*mut LDiagnostic) -> *mut c_char;
    diagnostic_severity: "LLVMGetDiagInfoSeverity" fn(*mut LDiagnostic) -> c_int;
    buffer_copy: "LLVMCreateMemoryBufferWithMemoryRangeCopy" fn(*const c_char, usize, *const c_char) -> *mut LBuffer;
    buffer_start: "LLVMGetBufferStart" fn(*mut LBuffer) -> *const c_char;
    buffer_size: "LLVMGetBufferSize" fn(*mut LBuffer) -> usize;
    buffer_dispose: "LLVMDisposeMemoryBuffer" fn(*mut LBuffer);
    parse_ir: "LLVMParseIRInContext" fn(*mut LContext, *mut LBuffer, *mut *mut LModule, *mut *mut c_char) -> c_int;
    module_dispose: "LLVMDisposeModule" fn(*mut LModule);
    module_print: "LLVMPrintModuleToString" fn(*mut LModule) -> *mut c_char;
    module_verify: "LLVMVerifyModule" fn(*mut LModule, c_int, *mut *mut c_char) -> c_int;
    module_set_triple: "LLVMSetTarget" fn(*mut LModule, *const c_char);
    module_set_layout: "LLVMSetModuleDataLayout" fn(*mut LModule, *mut LTargetData);
    message_dispose: "LLVMDisposeMessage" fn(*mut c_char);
    target_from_triple: "LLVMGetTargetFromTriple" fn(*const c_char, *mut *mut LTarget, *mut *mut c_char) -> c_int;
    machine_create: "LLVMCreateTargetMachine"
        fn(*mut LTarget, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> *mut LMachine;
    machine_dispose: "LLVMDisposeTargetMachine" fn(*mut LMachine);
    machine_data: "LLVMCreateTargetDataLayout" fn(*mut LMachine) -> *mut LTargetData;
    target_data_dispose: "LLVMDisposeTargetData" fn(*mut LTargetData);
    machine_emit: "LLVMTargetMachineEmitToMemoryBuffer"
        fn(*mut LMachine, *mut LModule, c_int, *mut *mut c_char, *mut *mut LBuffer) -> c_int;
    pass_options_create: "LLVMCreatePassBuilderOptions" fn() -> *mut LPassOptions;
    pass_options_dispose: "LLVMDisposePassBuilderOptions" fn(*mut LPassOptions);
    run_passes: "LLVMRunPasses" fn(*mut LModule, *const c_char, *mut LMachine, *mut LPassOptions) -> *mut LErrorRef;
    error_message: "LLVMGetErrorMessage" fn(*mut LErrorRef) -> *mut c_char;
    error_message_dispose: "LLVMDisposeErrorMessage" fn(*mut c_char);
    install_fatal_handler: "LLVMInstallFatalErrorHandler" fn(FatalHandler);
    parse_options: "LLVMParseCommandLineOptions" fn(c_int, *const *const c_char, *const c_char);
    get_default_triple: "LLVMGetDefaultTargetTriple" fn() -> *mut c_char;
    get_host_cpu_name: "LLVMGetHostCPUName" fn() -> *mut c_char;
    get_host_cpu_features: "LLVMGetHostCPUFeatures" fn() -> *mut c_char;
}

/// Further options that LLVM may be started with: names of flags that switch a step off, in every version that is
/// loaded. LLVM ends the process on one that it does not know, and on one that is given twice.
pub(crate) const FLAGS: &[&str] = &[
    "disable-block-placement",
    "disable-branch-fold",
    "disable-cgp",
    "disable-constant-hoisting",
    "disable-copyprop",
    "disable-early-ifcvt",
    "disable-early-taildup",
    "disable-lsr",
    "disable-machine-cse",
    "disable-machine-dce",
    "disable-machine-licm",
    "disable-machine-sink",
    "disable-mergeicmps",
    "disable-partial-libcall-inlining",
    "disable-post-ra",
    "disable-postra-machine-licm",
    "disable-postra-machine-sink",
    "disable-ssc",
    "disable-tail-duplicate",
];

/// The back ends that are asked for, where the library has them.
const BACK_ENDS: [&str; 4] = ["X86", "AArch64", "AMDGPU", "NVPTX"];

/// The symbol that sets all options back.
const RESET: &[u8] = b"_ZN4llvm2cl25ResetAllOptionOccurrencesEv\0";

/// The parts of a back end.
const PARTS: [&str; 5] = ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"];

impl Api {
    /// Loads a library and looks everything up.
    pub(crate) fn open(path: &Path) -> Result<Api, String> {
        // SAFETY: LLVM's initialisers only fill in its own tables. The library is never unloaded: its handle lives in
        // a static.
        let library = unsafe { Library::new(path) }.map_err(|error| format!("it does not load: {error}"))?;
        Api::resolve(library)
    }

    /// The version.
    pub(crate) fn version(&self) -> Version {
        let mut version = Version { major: 0, minor: 0, patch: 0 };
        // SAFETY: three valid places to write to.
        unsafe { (self.get_version)(&mut version.major, &mut version.minor, &mut version.patch) };
        version
    }

    /// Sets all options back to what they are without any, if this LLVM can.
    pub(crate) fn reset_options(&self) -> bool {
        // SAFETY: `llvm::cl::ResetAllOptionOccurrences` takes and gives nothing.
        let function = unsafe { self.library.get::<unsafe extern "C" fn()>(RESET) };
        // SAFETY: as above; the caller sees to it that no compile is under way.
        function.map(|function| unsafe { function() }).is_ok()
    }

    /// Registers the back ends that there are. A fatal error of LLVM calls `fatal`.
    pub(crate) fn initialize(&self, fatal: FatalHandler) {
        for back_end in BACK_ENDS {
            for part in PARTS {
                let name = format!("LLVMInitialize{back_end}{part}\0");
                // SAFETY: all of these take and give nothing.
                let function = unsafe { self.library.get::<unsafe extern "C" fn()>(name.as_bytes()) };
                if let Ok(function) = function {
                    // SAFETY: as above; called once, before any other use.
                    unsafe { function() };
                }
            }
        }
        // SAFETY: the handler lives as long as the program.
        unsafe { (self.install_fatal_handler)(fatal) };
    }

    pub(crate) fn default_triple(&self) -> *mut c_char {
        // SAFETY: takes nothing, gives a message.
        unsafe { (self.get_default_triple)() }
    }

    pub(crate) fn host_cpu_name(&self) -> *mut c_char {
        // SAFETY: as above.
        unsafe { (self.get_host_cpu_name)() }
    }

    pub(crate) fn host_cpu_features(&self) -> *mut c_char {
        // SAFETY: as above.
        unsafe { (self.get_host_cpu_features)() }
    }

    /// Copies a message of LLVM and gives the original back. `message` must come from LLVM, or be null.
    pub(crate) fn owned_string(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: LLVM's messages are valid C strings that the caller owns.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.message_dispose)(message);
            text
        }
    }

    /// The text of an error, which is used up. `error` must come from LLVM and not be null.
    pub(crate) fn error_text(&self, error: *mut LErrorRef) -> String {
        // SAFETY: the error is used up by the first call, its message by the second.
        unsafe {
            let message = (self.error_message)(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.error_message_dispose)(message);
            text
        }
    }
}
