"""`@jit` and what surrounds it. The launch path itself is in the native module."""

import functools
from collections import namedtuple
from typing import TypeVar

from .. import _core
from .._data_fields import DataFields
from .._utils import find_paths_if, get_iterable_path, type_canonicalisation_dict
from . import _binding, _written
from ._signature import KernelParam, create_function_from_signature, native_specialize_impl

__all__ = ["ConstexprFunction", "JITCallable", "JITFunction", "JitFunctionInfo", "KernelInterface", "KernelParam", "MockTensor",
           "TensorWrapper", "compute_cache_key", "constexpr_function", "create_function_from_signature", "find_paths_if", "get_iterable_path", "jit", "mangle_type",
           "native_specialize_impl", "reinterpret", "serialize_specialization_data", "type_canonicalisation_dict"]


#: The function of a kernel, in ``class Mine(KernelInterface[T])``.
T = TypeVar("T")


class _NativeToo(type):
    """Classes of which native kernels are instances, although they do not inherit from them."""

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or ("_native_too" in vars(cls)
                                                         and isinstance(instance, _core.JITFunction))

    def __subclasscheck__(cls, subclass):
        return type.__subclasscheck__(cls, subclass) or ("_native_too" in vars(cls)
                                                         and issubclass(subclass, _core.JITFunction))


class KernelInterface(metaclass=_NativeToo):
    """Whatever can be launched: ``kernel[grid](*args, **kwargs)``."""

    _native_too = True

    def __class_getitem__(cls, item):
        return cls

    def warmup(self, *args, grid, **kwargs):
        """Compiles for these arguments without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        """Compiles for these arguments where that has not been done, and launches unless `warmup`."""
        raise NotImplementedError("run not implemented")

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid, warmup=False)

    # Every number is a grid, so that iterating would not end.
    __iter__ = None


JITFunction = _core.JITFunction
_written.add_to(JITFunction)
_binding.add_to(JITFunction)
JITFunction.__iter__ = None


class JitFunctionInfo(namedtuple("JitFunctionInfo", ("module", "name", "jit_function"))):
    """The kernel that a hook around a compile is told of."""

    __slots__ = ()
    __dataclass_fields__ = DataFields()


class JITCallable(metaclass=_NativeToo):
    """What kernels may call and what is compiled from its text; kernels are instances."""

    _native_too = True


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None,
        do_not_specialize_on_alignment=None, debug=None, noinline=None, interpret=None,
        extensions=None):
    """Makes a function a kernel, or a function that kernels may call.

    The function is compiled from its source text when it is first launched with arguments of new types; see
    ``kernel[grid](…)``. Parameters annotated ``tl.constexpr`` are compile-time values; NumPy arrays, torch tensors
    and anything with DLPack, ``__array_interface__`` or ``data_ptr()`` are passed as pointers.

    Args:
        version: anything; part of the cache key.
        repr: called with the specialisation (its ``constants`` and ``signature``), gives the name of the compiled kernel: of its
            symbol, which profilers show.
        launch_metadata: called with ``(grid, metadata, arguments)``; its result reaches the launch hooks.
        do_not_specialize: names or positions of parameters whose value (1, a multiple of 16) must not matter.
        do_not_specialize_on_alignment: the same for the multiple of 16 alone.
        debug: turn on ``tl.device_assert`` and overflow checks.
        noinline: keep the function a function where other kernels call it.
        interpret: launch it in the interpreter, as ``TRITON_INTERPRET=1`` does with all kernels. Where another kernel calls it, it
            is part of that one.
        extensions: names of what the function uses beyond the language: ``loop_exits``, ``floor_division``, ``pointer_difference``,
            ``block_indexing``, ``half_math``, ``any_shape``; see ``docs/extensions.md``.
    """

    def decorator(function):
        if not callable(function):
            raise TypeError(f"@triton.jit decorates functions, not {type(function).__name__}")
        if getattr(getattr(function, "__code__", None), "co_filename", "").startswith("<"):
            from ._exec_source import keep_source

            keep_source(function)
        return JITFunction(function, version=version, do_not_specialize=do_not_specialize,
                           do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug,
                           noinline=noinline, repr=repr, launch_metadata=launch_metadata, interpret=interpret,
                           extensions=extensions)

    return decorator if fn is None else decorator(fn)


class DefaultRepr:
    """Names a compiled kernel after its function."""

    def __init__(self, name):
        self.name = name

    def __call__(self, specialization=None):
        return self.name


#: Types whose values need no unwrapping.
_PLAIN = frozenset((int, float, bool, str, type(None)))


class ConstexprFunction(JITCallable):
    """A Python function that kernels call while they are compiled, on compile-time values."""

    __deuteron_constexpr_function__ = True
    __triton_builtin__ = True

    hash = None
    _src = None

    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    @property
    def src(self):
        """The text from ``def`` on."""
        if self._src is None:
            from ._dependencies import source_of

            self._src = source_of(self.fn)
        return self._src

    @property
    def _text_key(self):
        return self.src

    @property
    def cache_key(self):
        """A hash of the text and of what it refers to."""
        from ._dependencies import key_of

        return key_of(self)

    def _unsafe_update_src(self, new_src):
        """Replaces the text that keys are made of; what is called stays the Python function."""
        self._src = new_src
        _core.forget_kernels()

    def __get__(self, obj, objclass=None):
        return self if obj is None else functools.partial(self.__call__, obj)

    def __call__(self, *args, _semantic=None, **kwargs):
        # The functions that compute grids call this at every launch, on plain integers.
        if _semantic is None and not kwargs and all(map(_PLAIN.__contains__, map(type, args))):
            return self.fn(*args)
        if self.fn.__name__ == "cdiv" and self.fn.__module__.startswith("deuteron.") and any(
                isinstance(arg, _core.KernelValue) for arg in (*args, *kwargs.values())):
            return _core.eager_call("cdiv", args, kwargs)
        from ..language.core import _unwrap_if_constexpr, constexpr

        args = [_unwrap_if_constexpr(arg) for arg in args]
        kwargs = {name: _unwrap_if_constexpr(arg) for name, arg in kwargs.items()}
        result = self.fn(*args, **kwargs)
        return result if _semantic is None else constexpr(result)

    def __repr__(self):
        return f"ConstexprFunction({self.__module__}:{self.__qualname__})"


def constexpr_function(fn):
    """Makes a Python function callable at compile time inside kernels; outside it stays what it was.

    In a kernel all its arguments must be constexprs, and its result is one.
    """
    return ConstexprFunction(fn)


class MockTensor:
    """Stands for a tensor of a dtype in a warm-up: it has a type and no memory.

    ``kernel.warmup(MockTensor(torch.float32), …, grid=(1,))``; a bare dtype is wrapped by itself.
    """

    @staticmethod
    def wrap_dtype(arg):
        """A mock for a dtype of torch or of tl; anything else as it is."""
        if type(arg).__name__ == "dtype" and type(arg).__module__.split(".")[0] in ("torch", "deuteron", "triton"):
            return MockTensor(arg)
        return arg

    def __init__(self, dtype, shape=None):
        self.dtype = dtype
        self.shape = [1] if shape is None else shape

    def stride(self):
        """Strides of a contiguous tensor of its shape, as a tuple."""
        strides = [1]
        for size in list(self.shape)[:0:-1]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr():
        """An address that is a multiple of 16."""
        return 0

    @staticmethod
    def ptr_range():
        """Bytes of memory behind it."""
        return 0


class TensorWrapper:
    """A tensor seen as one of another dtype; made by `reinterpret`."""

    def __init__(self, base, dtype):
        self.dtype = dtype
        self.base = base
        self.data = getattr(base, "data", None)
        self.device = getattr(base, "device", None)
        self.shape = base.shape

    def data_ptr(self):
        """The address of the first element."""
        if hasattr(self.base, "data_ptr"):
            return self.base.data_ptr()
        return self.base.__array_interface__["data"][0]

    def stride(self, *args):
        """Strides as of the tensor."""
        return self.base.stride(*args)

    def element_size(self):
        """Bytes of an element."""
        return self.base.element_size()

    def cpu(self):
        """The same on the CPU."""
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other):
        """Copies the values of another wrapper into this one."""
        self.base.copy_(other.base)

    def clone(self):
        """A copy."""
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device):
        """The same on another device."""
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        """A new tensor of the same dtype, not initialised."""
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """`tensor` seen as one of `dtype`: for element types that the array library does not have, such as fp8."""
    if isinstance(tensor, TensorWrapper):
        base = tensor.base
        return base if dtype == base.dtype else TensorWrapper(base, dtype)
    if hasattr(tensor, "data_ptr") or hasattr(tensor, "__array_interface__"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"Cannot reinterpret a {type(tensor)}.")


def _by_text(value):
    """A specialization in which kernels and functions stand as hashes of their text."""
    if isinstance(value, JITCallable):
        return value.cache_key
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_by_text, value))
    return type(value)(map(_by_text, value)) if type(value) in (list, tuple) else value


def compute_cache_key(kernel_key_cache, specialization, options):
    """A text that says which kernel a launch needs; it changes with the text of functions among the arguments.

    Args:
        kernel_key_cache: a dictionary that remembers texts.
        specialization, options: what a function of `create_function_from_signature` returns behind the arguments.
    """
    known = (tuple(specialization), str(options))
    if known not in kernel_key_cache:
        kernel_key_cache[known] = f"{_by_text(specialization)}{options}"
    return kernel_key_cache[known]


def serialize_specialization_data(name, signature, constants, attrs, options, key, target):
    """What a kernel is compiled for, as a text that `JITFunction.preload` reads; None where a constant or an option cannot be written down.

    It is called for the hooks of a compile, by this name: a function that takes its place is called instead.
    """
    from ._preload import specialization_data

    return specialization_data(name, signature, constants, attrs, getattr(options, "__dict__", options), key, tuple(target))


def mangle_type(arg, specialize=False):
    """The signature string of one argument: ``"i32"``, ``"*fp32"``, ``"constexpr"``, …."""
    return native_specialize_impl(None, arg, False, specialize, specialize)[0]


def get_full_name(fn):
    """Module and qualified name of a function."""
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn):
    """``(file, line)`` where a kernel's ``def`` stands."""
    while not isinstance(fn, JITFunction):
        fn = fn.fn
    return fn.fn.__code__.co_filename, fn.starting_line_number
