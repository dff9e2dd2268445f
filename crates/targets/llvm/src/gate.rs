//! Options of LLVM: they belong to the process, and targets want different ones.
//!
//! A compile enters with the options of its target and leaves when it is done. Compiles with the same options run side
//! by side; others wait until those are done, then the options are reset and set anew. An LLVM that cannot reset them
//! keeps those that were set first.

use crate::Llvm;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Options of a target.
pub type Options = &'static [&'static CStr];

/// Options for CPUs. Loop strength reduction takes half of the time of making code and gains nothing: the loops come
/// with addresses of a base, an index and a constant, as the processors have them. Scheduling once more after registers
/// are assigned takes a twentieth, and gains nothing on processors that do so themselves.
pub const FOR_CPUS: Options = &[c"-disable-lsr", c"-disable-post-ra"];

/// Options as text, for people and for keys.
pub fn words(options: Options) -> String {
    options.iter().map(|option| option.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// What is set, and who relies on it.
struct State {
    /// The process that the rest is about: after a fork no compile is under way.
    process: u32,
    options: Option<Options>,
    users: usize,
}

static STATE: Mutex<State> = Mutex::new(State { process: 0, options: None, users: 0 });
static LEFT: Condvar = Condvar::new();

/// How long a compile waits before it looks again.
const MOMENT: Duration = Duration::from_millis(20);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A compile that relies on the options that are set.
pub(crate) struct Inside(());

impl Drop for Inside {
    fn drop(&mut self) {
        leave();
    }
}

fn state() -> MutexGuard<'static, State> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if state.process != process {
        (state.process, state.users) = (process, 0);
    }
    state
}

/// Begins a compile with these options.
pub(crate) fn enter(llvm: &Llvm, wanted: Options) -> Inside {
    let mut state = state();
    while state.options != Some(wanted) {
        if state.users == 0 {
            if set(llvm, wanted, state.options.is_none()) {
                state.options = Some(wanted);
            }
            break;
        }
        state = LEFT.wait_timeout(state, MOMENT).unwrap_or_else(PoisonError::into_inner).0;
    }
    state.users += 1;
    IS_INSIDE.set(true);
    Inside(())
}

/// Ends the compile of this thread, if there is one: also where LLVM gave up and the thread is lost.
pub(crate) fn leave() {
    if IS_INSIDE.replace(false) {
        let mut state = state();
        state.users = state.users.saturating_sub(1);
        LEFT.notify_all();
    }
}

/// Sets options and the flags that LLVM was started with; whether that is possible.
fn set(llvm: &Llvm, options: Options, is_first: bool) -> bool {
    let api = llvm.api();
    if !is_first && !api.reset_options() {
        return false;
    }
    let own: Vec<CString> = options.iter().map(|&option| option.to_owned()).collect();
    let flags = llvm.flags.iter().filter_map(|flag| CString::new(format!("-{flag}")).ok());
    let flags: Vec<CString> = flags.filter(|flag| !own.contains(flag)).collect();
    let words = [c"deuteron"].into_iter().chain(own.iter().chain(&flags).map(CString::as_c_str));
    let words: Vec<*const c_char> = words.map(CStr::as_ptr).collect();
    // SAFETY: valid strings, which are read during the call; no compile is under way.
    unsafe { (api.parse_options)(words.len() as c_int, words.as_ptr(), c"".as_ptr()) };
    true
}
