"""What a name of the language is to Python: documentation, and a mark that the compiler knows it by.

Kernels are compiled from their source text, so no body is needed here: each function below `deuteron.language` is its
signature and its docstring, and calls the native engine where Python runs the body of a kernel. The mark ``__deuteron_builtin__`` holds the dotted name that the compiler looks up; rules
of types and shapes live in the compiler alone.
"""

import functools

from .. import _core

_PREFIX = "deuteron.language."

# What says where it can be imported from, and the name of the package in that.
_SHOWN = []
_PACKAGE = ["deuteron"]


def _show_below(obj, package):
    path = obj.__module__.split(".")
    if path[-1].startswith("_"):
        path[-1] = "core"
    obj.__module__ = ".".join([package, *path[1:]])


def show(obj):
    """Lets a name of the language say as its ``__module__`` a public module that has it: code that writes code, as that of
    ``torch.compile``, imports it from there."""
    _SHOWN.append(obj)
    _show_below(obj, _PACKAGE[0])
    return obj


def show_package_as(name):
    """From now on names of the language say that they are of the package `name`."""
    _PACKAGE[0] = name
    for obj in _SHOWN:
        _show_below(obj, name)


def _dotted_name(obj):
    module = obj.__module__.removeprefix(_PREFIX)
    return f"{module}.{obj.__qualname__}" if module.startswith("extra") else obj.__qualname__


def builtin(fn):
    """Marks a documented signature as a name of the language; a function from elsewhere is one that kernels inline, or that
    compiles call, if it asks for their options."""
    if not fn.__module__.startswith(_PREFIX):
        from ..runtime import JITFunction
        from ._run_time import asks_for_options, run_by_python

        if asks_for_options(fn):
            return run_by_python(fn)

        function = JITFunction(fn)
        function.__triton_builtin__ = True
        return function
    name = _dotted_name(fn)

    @functools.wraps(fn)
    def outside(*args, **kwargs):
        # Compiled kernels never come here; those whose bodies Python runs do.
        return _core.eager_call(name, args, kwargs)

    outside.__deuteron_builtin__ = name
    outside.__triton_builtin__ = True
    return show(outside)


def builtin_class(cls):
    """Marks a class (``tl.range``, ``tl.tensor``, …) as a name of the language."""
    cls.__deuteron_builtin__ = cls.__name__
    return show(cls)


def is_builtin(obj):
    """Whether `obj` is a name of the language."""
    return getattr(obj, "__deuteron_builtin__", None) is not None
