"""Can be imported, as public code does beside its kernels, and has no names: kernels for GPUs are written without LLVM, and those for the
CPU by the LLVM of the system.
"""


def __getattr__(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: Deuteron does not lend LLVM. `triton.compile` takes a kernel, or "
                         "the path of a .ttir, .ttgir or .ptx file, to machine code, and `kernel.asm` has the text of every stage")
