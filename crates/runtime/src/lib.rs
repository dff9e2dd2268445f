//! Specialise, compile, cache, launch.
