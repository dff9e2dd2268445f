"""Checks of IR text written as comments: ``# CHECK: …`` in a kernel, compared with what the front end makes of it.

The checks themselves are in `_checks`; here is what connects them with kernels.
"""

import functools
import inspect

from . import _checks
from .backends.compiler import GPUTarget
from .runtime.jit import JITFunction

__all__ = ["MatchError", "filecheck_test", "run_filecheck", "run_filecheck_test", "run_parser", "stub_target"]

#: What the front end compiles for where a test names no target.
stub_target = GPUTarget("cuda", 100, 32)


class MatchError(ValueError):
    """A check does not hold; the text says which, and what was compared."""

    def __init__(self, message, module_str):
        super().__init__(message)
        self.module_str = module_str

    def __str__(self):
        return f"{super().__str__()}\n{self.module_str}"


def run_filecheck(name, module_str, check_template):
    """Raises `MatchError` unless `module_str` has what the ``CHECK`` lines of `check_template` say.

    Args:
        name: what the text is called in an error.
    """
    try:
        _checks.check(module_str, check_template)
    except _checks.CheckError as error:
        raise MatchError(str(error), f"in {name}:\n{module_str}") from None


def run_parser(kernel_fn, args=(), kwargs=None, target=stub_target):
    """What the front end makes of a kernel, before any pass.

    Args:
        kernel_fn: a @jit function.
        args, kwargs: as of a launch; options of a compile may be among the latter.
        target: what is compiled for; no such device needs to be there.

    Returns:
        A module: ``str()`` and ``str_nodebug()`` give its text, ``walk`` visits its operations.
    """
    from . import _core
    from ._C.libtriton.ir import module
    from .compiler import make_backend
    from .runtime.jit import create_function_from_signature

    given = {"sanitize_overflow": False, **(kwargs or {})}
    backend = make_backend(target)
    binder = create_function_from_signature(kernel_fn.signature, kernel_fn.params, backend)
    bound, specialization, options = binder(*args, **given)
    parsed, signature, constants, attrs = kernel_fn._pack_args(backend, given, bound, specialization, options)
    chosen = {name: value for name, value in parsed.items() if name in ("num_warps", "num_ctas", "debug", "sanitize_overflow")}
    return module(_core.ttir(kernel_fn, signature, constants, attrs, tuple(target), chosen, "source"))


def run_filecheck_test(kernel_fn, args=(), kwargs=None, target=stub_target):
    """Compares what the front end makes of a kernel with the ``CHECK`` lines in its source."""
    if not isinstance(kernel_fn, JITFunction):
        raise TypeError(f"run_filecheck_test takes a @jit function, and got {kernel_fn!r}")
    module = run_parser(kernel_fn, args=args, kwargs=kwargs, target=target)
    run_filecheck(kernel_fn.__name__, module.str_nodebug(), inspect.getsource(kernel_fn.fn))


def filecheck_test(fn):
    """Makes a kernel with ``CHECK`` lines a test of pytest."""

    @functools.wraps(fn.fn)
    def test():
        run_filecheck_test(fn)

    # pytest follows this to the kernel, whose parameters are no fixtures.
    del test.__wrapped__
    return test
