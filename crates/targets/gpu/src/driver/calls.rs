//! The functions that drivers of all vendors have, with the same types.

use libloading::Library;
use std::ffi::{c_int, c_uint, c_void};

/// What a function of a driver returns; 0 is success.
pub type Status = c_int;
/// A context, a module, a function, a stream, an event, a graph: pointers that nobody looks behind.
pub type Handle = *mut c_void;

/// A table of a driver's functions that is filled from its library.
///
/// `driver_table! { /// Docs. pub struct Api; ctx_synchronize = "symbol" (); }` is a struct with a field for each
/// function, and `Api::from_library(&library, calls)` beside it; it holds the [`Calls`] too and dereferences to them.
#[macro_export]
macro_rules! driver_table {
    ($(#[$doc:meta])* pub struct $table:ident;
     $($field:ident = $symbol:literal ($($ty:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)] // Their documentation is the driver's own.
        pub struct $table {
            pub calls: $crate::driver::Calls,
            $(pub $field: unsafe extern "C" fn($($ty),*) -> $crate::driver_table!(@ $($result)?),)*
        }

        impl $table {
            /// Finds every function in the driver's library; the error names one that it lacks.
            pub(super) fn from_library(
                library: &libloading::Library,
                symbols: &$crate::driver::Symbols,
            ) -> Result<$table, &'static str> {
                Ok($table {
                    calls: $crate::driver::Calls::from_library(library, symbols)?,
                    // SAFETY: the type is that of the driver's header for this symbol.
                    $($field: *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }.map_err(|_| $symbol)?,)*
                })
            }
        }

        impl std::ops::Deref for $table {
            type Target = $crate::driver::Calls;

            #[inline]
            fn deref(&self) -> &$crate::driver::Calls {
                &self.calls
            }
        }
    };
    (@) => { $crate::driver::Status };
    (@ $result:ty) => { $result };
}

macro_rules! calls {
    ($($field:ident ($($ty:ty),*);)*) => {
        /// Functions that all drivers have.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)] // Their documentation is the drivers' own.
        pub struct Calls { $(pub $field: unsafe extern "C" fn($($ty),*) -> Status,)* }

        /// Their names in the library of a vendor.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)] // As above.
        pub struct Symbols { $(pub $field: &'static str,)* }

        impl Calls {
            /// Finds every function in a library; the error names one that it lacks.
            ///
            /// # Errors
            /// The symbol that is missing.
            pub fn from_library(library: &Library, symbols: &Symbols) -> Result<Calls, &'static str> {
                Ok(Calls { $(
                    // SAFETY: the vendor promises that its functions of these names have these types.
                    $field: *unsafe { library.get(symbols.$field.as_bytes()) }.map_err(|_| symbols.$field)?,
                )* })
            }
        }
    };
}

// Example: `init (c_uint);` is a field `init` in both, here a function and there its name.
calls! {
    init (c_uint);
    driver_get_version (*mut c_int);
    device_get_count (*mut c_int);
    synchronize ();

    mem_alloc (*mut u64, usize);
    mem_free (u64);
    memcpy_htod (u64, *const c_void, usize);
    memcpy_dtoh (*mut c_void, u64, usize);
    memset_d8_async (u64, u8, usize, Handle);
    pointer_get_attribute (*mut c_void, c_int, u64);

    func_get_attribute (*mut c_int, c_int, Handle);
    launch_kernel
        (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);

    event_create (*mut Handle, c_uint);
    event_record (Handle, Handle);
    event_synchronize (Handle);
    event_elapsed_time (*mut f32, Handle, Handle);
    event_destroy (Handle);

    stream_is_capturing (Handle, *mut c_int);
    thread_exchange_stream_capture_mode (*mut c_int);
}
