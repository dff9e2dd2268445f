//! The library `libnvJitLink`, loaded where there is one: an assembler in this process.

use super::log::{complaints, usage};
use super::search::LIBRARY;
use super::{AssembleError, AssembleOptions, Assembler, Cubin, NotFound, Search};
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;

/// Names of the library.
const NAMES: &[&str] = &["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"];
/// `NVJITLINK_INPUT_PTX`.
const INPUT_PTX: c_int = 2;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
type OnHandle = unsafe extern "C" fn(Handle) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type Version = unsafe extern "C" fn(*mut u32, *mut u32) -> c_int;

/// An assembler that is a library.
#[derive(Debug)]
pub struct NvJitLink {
    create: Create,
    destroy: Destroy,
    add_data: AddData,
    complete: OnHandle,
    cubin: (Size, Get),
    errors: (Size, Get),
    infos: (Size, Get),
    version: (u32, u32),
    path: PathBuf,
    /// Kept, for the functions are in it.
    _library: Library,
}

impl NvJitLink {
    /// Looks for the library and loads it.
    ///
    /// # Errors
    /// Where it was looked for in vain.
    pub fn find(search: &Search) -> Result<NvJitLink, AssembleError> {
        let candidates = search.libraries(NAMES);
        // SAFETY: the files have the names of a library that is fit to be loaded.
        let loaded = candidates.iter().find_map(|path| Some((unsafe { Library::new(path) }.ok()?, path)));
        let Some((library, path)) = loaded else {
            let text = NotFound { what: LIBRARY, looked: candidates }.to_string();
            return Err(AssembleError::NotRun(text));
        };
        // SAFETY: the signatures are those of the library's header.
        unsafe { NvJitLink::bind(library, path.clone()) }
    }

    /// # Safety
    /// The library is nvJitLink.
    unsafe fn bind(library: Library, path: PathBuf) -> Result<NvJitLink, AssembleError> {
        /// Takes a function by its name; those of the newer interface have the version in them.
        unsafe fn get<T: Copy>(library: &Library, name: &str) -> Result<T, AssembleError> {
            let names = [format!("__{name}_13_0"), format!("__{name}_12_0"), name.to_owned()];
            // SAFETY: the caller names the type that goes with the name.
            let found = names.iter().find_map(|name| unsafe { library.get::<T>(name.as_bytes()) }.ok());
            found
                .map(|symbol| *symbol)
                .ok_or_else(|| AssembleError::NotRun(format!("libnvJitLink has no function `{name}`")))
        }
        // SAFETY: each type is the one that the header gives to the name.
        unsafe {
            let version: Version = get(&library, "nvJitLinkVersion")?;
            let (mut major, mut minor) = (0, 0);
            version(&raw mut major, &raw mut minor);
            Ok(NvJitLink {
                create: get(&library, "nvJitLinkCreate")?,
                destroy: get(&library, "nvJitLinkDestroy")?,
                add_data: get(&library, "nvJitLinkAddData")?,
                complete: get(&library, "nvJitLinkComplete")?,
                cubin: (
                    get(&library, "nvJitLinkGetLinkedCubinSize")?,
                    get(&library, "nvJitLinkGetLinkedCubin")?,
                ),
                errors: (get(&library, "nvJitLinkGetErrorLogSize")?, get(&library, "nvJitLinkGetErrorLog")?),
                infos: (get(&library, "nvJitLinkGetInfoLogSize")?, get(&library, "nvJitLinkGetInfoLog")?),
                version: (major, minor),
                path,
                _library: library,
            })
        }
    }

    /// What one of the pairs of functions gives.
    fn read(&self, handle: Handle, (size, get): (Size, Get)) -> Option<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the handle is alive, and the buffer has the size that the library asked for, and room for the zero
        // behind a log, which is written also where the log is empty and its size 0.
        unsafe {
            if size(handle, &raw mut bytes) != 0 {
                return None;
            }
            let mut buffer = vec![0u8; bytes + 1];
            let status = get(handle, buffer.as_mut_ptr().cast());
            buffer.truncate(bytes);
            (status == 0).then_some(buffer)
        }
    }

    fn log(&self, handle: Handle, pair: (Size, Get)) -> String {
        let bytes = self.read(handle, pair).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }

    fn run(&self, handle: Handle, ptx: &str) -> Result<Cubin, AssembleError> {
        let text =
            CString::new(ptx).map_err(|_| AssembleError::Refused("  the PTX has a zero in it".into()))?;
        let bytes = text.as_bytes_with_nul();
        // SAFETY: the text ends with a zero and lives long enough; the name is a C string.
        let status = unsafe {
            (self.add_data)(handle, INPUT_PTX, bytes.as_ptr().cast(), bytes.len(), c"kernel.ptx".as_ptr())
        };
        // SAFETY: the handle is alive.
        let status = if status == 0 { unsafe { (self.complete)(handle) } } else { status };
        let log = self.log(handle, self.infos);
        if status != 0 {
            let errors = self.log(handle, self.errors);
            let text = complaints(&errors, ptx);
            let text = if text.is_empty() { format!("  it ended with status {status}") } else { text };
            return Err(AssembleError::Refused(text));
        }
        let bytes = self.read(handle, self.cubin);
        let bytes = bytes.ok_or_else(|| AssembleError::NotRun("libnvJitLink gives no cubin".into()))?;
        let usage = usage(&log);
        Ok(Cubin { bytes, log, usage })
    }
}

impl Assembler for NvJitLink {
    fn version(&self) -> String {
        format!("nvJitLink {}.{} ({})", self.version.0, self.version.1, self.path.display())
    }

    fn assemble(&self, ptx: &str, options: &AssembleOptions) -> Result<Cubin, AssembleError> {
        // It knows the levels 0 and 3 alone.
        let level = if options.optimization == 0 { 0 } else { 3 };
        let mut words = vec![format!("-arch={}", options.arch), format!("-O{level}")];
        words.push("-verbose".into());
        words.extend(options.line_info.then(|| "-lineinfo".to_owned()));
        words.extend((!options.fuse).then(|| "-fma=0".to_owned()));
        words.extend(options.further.iter().cloned());
        let words: Result<Vec<CString>, _> = words.into_iter().map(CString::new).collect();
        let words = words.map_err(|_| AssembleError::NotRun("an option has a zero in it".into()))?;
        let pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: there are as many C strings as the number says.
        let status = unsafe { (self.create)(&raw mut handle, pointers.len() as u32, pointers.as_ptr()) };
        if status != 0 {
            return Err(AssembleError::NotRun(format!("libnvJitLink refuses its options (status {status})")));
        }
        let result = self.run(handle, ptx);
        // SAFETY: the handle is ours, and what came out of it was copied.
        unsafe { (self.destroy)(&raw mut handle) };
        result
    }
}
