"""What this machine can do at most: the probes of ``limits.rs``, compiled on first use and called by ctypes."""

import ctypes
import functools
import os
import subprocess
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.rs")
COPY, ADD, READ = range(3)
BINARY32, BFLOAT16 = range(2)


@functools.cache
def library():
    """The probes as a library: built once a process, next to nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "limits.so")
        subprocess.run(["rustc", "-O", "--crate-type", "cdylib", "--edition", "2024", "-o", path, SOURCE], check=True)
        loaded = ctypes.CDLL(path)
    loaded.move_seconds.restype = ctypes.c_double
    loaded.move_seconds.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_uint32,
                                    *[ctypes.c_size_t] * 4]
    loaded.multiply_rate.restype = ctypes.c_double
    loaded.multiply_rate.argtypes = [ctypes.c_uint32, ctypes.c_size_t, ctypes.c_uint64]
    return loaded


def address(tensor):
    """Where a tensor or an array begins."""
    return tensor.data_ptr() if hasattr(tensor, "data_ptr") else tensor.ctypes.data


def move_probe(threads, out, *sources):
    """Seconds of the fastest way to fill `out` from one source or from the sum of two, or to read one where `out` is
    None, of all the ways that there are: with and without prefetch, through the caches and past them."""
    what = READ if out is None else ADD if len(sources) == 2 else COPY
    a, b = sources[0], sources[-1]
    size = a.nbytes
    places = [address(a if out is None else out), address(a), address(b)]
    if size % 256 or any(place % 32 for place in places):
        raise ValueError("the probes move whole, aligned blocks of 256 bytes")

    def probe(_kept=(out, *sources)):
        ways = range(library().move_ways())
        return min(library().move_seconds(what, way, threads, passes_of(size), *places, size) for way in ways)

    return probe


def passes_of(size):
    """So many passes that one takes no less than about a millisecond."""
    return max(1, (16 << 20) // size)


def multiply_probe(kinds, threads, operations):
    """Seconds that so many operations take at the rate of multiply-adds in registers, of the fastest of some kinds."""

    def probe():
        return operations / max(library().multiply_rate(kind, threads, 1 << 19) for kind in kinds for _ in range(2))

    return probe


def kinds_for(dtype):
    """How numbers of a type can be multiplied: bfloat16 as it is, where there is an instruction, or as binary32."""
    return (BFLOAT16, BINARY32) if dtype == "bfloat16" and has_bfloat16() else (BINARY32, )


def has_bfloat16():
    """Whether the processor multiplies bfloat16 by an instruction."""
    with open("/proc/cpuinfo") as file:
        return "avx512_bf16" in file.read()
