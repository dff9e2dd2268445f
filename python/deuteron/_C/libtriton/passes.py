"""Can be imported, as public code does beside its kernels, and has no names: the passes of this compiler are its own."""


def __getattr__(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: Deuteron has passes of its own. `deuteron opt` runs them on a "
                         "file, and `triton.compile` on a kernel or on the path of a .ttir or .ttgir file")
