"""Kernels whose bodies Python runs: ``TRITON_INTERPRET=1``, ``deuteron.knobs.runtime.interpret = True``, ``@jit(interpret=True)``.

The body of a kernel is run as the Python function that it is, so that ``print``, ``breakpoint()``, exceptions and any library work inside;
each operation of the language is run by the native engine. Rules and results are those of compiled kernels.
"""

import dataclasses
import linecache
import os
import sys
import threading

from .. import _core, knobs
from ._body import KnownInteger, body_of

__all__ = ["InterpretedFunction", "KernelValue", "KnownInteger", "TensorHandle", "body_of", "current_place", "run_another", "run_grid", "to_numpy"]

KernelValue = _core.KernelValue

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# What NumPy calls the element types of the language; those that it does not have become wider ones.
_NUMPY = {"int1": "bool", "fp16": "float16", "fp32": "float32", "fp64": "float64"}


class _HandleClass(type):
    """The class of which the ``handle`` of a block in an interpreted kernel is an instance."""

    def __instancecheck__(cls, instance):
        if isinstance(instance, KernelValue):
            return instance.kernel_class == "tensor"
        return type.__instancecheck__(cls, instance)


@dataclasses.dataclass
class TensorHandle(metaclass=_HandleClass):
    """An array and the type of its elements. What ``x.handle`` is in an interpreted kernel has the same ``data`` and ``dtype``.

    Attributes:
        data: a NumPy array, of which an element has no more bits than the type has.
        dtype: the type of an element.
        attr: whatever is kept beside it.
    """

    data: object
    dtype: object
    attr: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        bits, most = self.data.itemsize * 8, max(self.dtype.primitive_bitwidth, 8)
        if bits > most:
            raise ValueError(f"elements of the array have {bits} bits, those of {self.dtype} have {most}")

    def __bool__(self):
        return bool(self.data.all())

    def get_element_ty(self):
        """The type at the end of pointers and blocks."""
        dtype = self.dtype
        while hasattr(dtype, "element_ty"):
            dtype = dtype.element_ty
        return dtype

    def clone(self):
        """The same with an array of its own."""
        return TensorHandle(self.data.copy(), self.dtype)

    def set_attr(self, key, value):
        """Keeps something beside the array."""
        self.attr[key] = value


class InterpretedFunction:
    """No @jit function is an instance: interpreted or compiled, they are all `JITFunction`."""


# Programs that may wait in the middle of each other, and the calls of Python that each may need.
_MOST_OPEN = 400
_CALLS = 50

# The launches that run, each inside the one before it.
_threads = threading.local()


class _Launch:
    """The programs of a launch, of which those that have not begun may run in the middle of one that waits."""

    def __init__(self, kernel, programs, args, named):
        self.kernel = kernel
        self.body = body_of(kernel)
        self.programs = iter(programs)
        self.args = args
        self.named = named
        self.program = None
        self.open = 0

    def run_next(self):
        """Runs the next program to its end. Returns whether there was one."""
        self.program = program = next(self.programs, None)
        if program is None:
            return False
        _core.eager_enter(*program)
        try:
            self.body(*self.args, **self.named)
        except Exception as error:
            note = f"in program {program} of kernel {self.kernel.__name__}"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
        return True

    def run_another(self):
        """Runs the next program in the middle of the one that runs. Returns whether there was one."""
        if self.open == _MOST_OPEN:
            return False
        waiting, limit = self.program, sys.getrecursionlimit()
        self.open += 1
        if self.open == 1:
            sys.setrecursionlimit(limit + _MOST_OPEN * _CALLS)
        try:
            ran = self.run_next()
        finally:
            self.open -= 1
            if self.open == 0:
                sys.setrecursionlimit(limit)
            self.program = waiting
        if ran:
            _core.eager_enter(*waiting)
        return ran


def run_grid(kernel, grid, args, named):
    """Runs the programs of a grid, x fastest; only one of them if `knobs.runtime.interpret_program` names it."""
    chosen = knobs.runtime.interpret_program
    launch = _Launch(kernel, [_chosen(chosen, grid)] if chosen else _programs(grid), args, named)
    launches = _threads.__dict__.setdefault("launches", [])
    launches.append(launch)
    try:
        while launch.run_next():
            pass
    finally:
        launches.pop()


def run_another():
    """Runs the next program of the launch in the middle of the one that waits. Returns whether there was one."""
    return _threads.launches[-1].run_another()


def _programs(grid):
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                yield x, y, z


def _chosen(text, grid):
    """The program that a setting names, as in ``3`` or ``3,0,1``."""
    try:
        program = [int(part) for part in str(text).strip("() ").split(",") if part.strip()]
    except ValueError:
        program = []
    program += [0] * (3 - len(program))
    if len(program) != 3 or not str(text).strip() or any(not 0 <= at < size for at, size in zip(program, grid)):
        raise ValueError(f"runtime.interpret_program is {text!r}, which is no program of the grid {tuple(grid)}")
    return tuple(program)


def is_own_code(code):
    """Whether code belongs to this package, rather than to a kernel."""
    return code.co_filename.startswith(_PACKAGE)


def current_place():
    """What the innermost function outside this package does: file, line, column, width, text of the line, line and column in the function."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return None
    code, line = frame.f_code, frame.f_lineno
    first, last, column, end = list(code.co_positions())[max(frame.f_lasti, 0) // 2]
    column = column or 0
    width = max((end or 0) - column, 1) if first == last else 1
    text = linecache.getline(code.co_filename, line, frame.f_globals).rstrip("\n")
    return code.co_filename, line, column + 1, width, text, (max(line - code.co_firstlineno + 1, 0), column)


def _get_np_dtype(tt_dtype):
    """The type of an array that keeps elements as memory does: those of formats that NumPy does not have as their bits."""
    import numpy as np

    dtype = tt_dtype.scalar
    if dtype.is_ptr():
        return np.dtype("uint64")
    return np.dtype(_NUMPY.get(dtype.name) or (f"uint{dtype.primitive_bitwidth}" if dtype.is_floating() else dtype.name))


def to_numpy(value):
    """The elements of a value of a kernel as an array of its shape."""
    import numpy as np

    dtype = value.dtype
    if dtype.is_ptr():
        name = "uint64"
    else:
        name = _NUMPY.get(dtype.name) or ("float32" if dtype.is_floating() else dtype.name)
    numbers = [0 if number is None else number for number in value.tolist()]
    return np.array(numbers, dtype=name).reshape(tuple(value.shape))
