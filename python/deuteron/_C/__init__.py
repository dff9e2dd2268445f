"""Import path of the reference's native module, for programs that walk its IR."""


def __getattr__(name):
    """``triton._C.libtriton`` is there without an import of its own, as the reference's is."""
    if name == "libtriton":
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
