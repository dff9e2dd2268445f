"""Kernels compiled before they are launched, from what the hooks of a compile said of them: `JITFunction.preload`."""

import gc
import json
import re
import sys

from .. import language as tl
from .jit import JITFunction, MockTensor


def _encode(value):
    """A constant as JSON has it."""
    if isinstance(value, tl.constexpr):
        return {"constexpr": _encode(value.value)}
    if isinstance(value, tl.dtype):
        return {"dtype": str(value)}
    if isinstance(value, (tuple, list)):
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, JITFunction):
        return {"jit_function": f"{value.module}:{value.__qualname__}"}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a constant of type {type(value).__name__} cannot be written down")


def _decode(value):
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "constexpr":
        return tl.constexpr(_decode(inner))
    if kind == "dtype":
        return tl.dtype(inner)
    if kind == "tuple":
        return tuple(map(_decode, inner))
    if kind == "dict":
        return {_decode(key): _decode(item) for key, item in inner}
    module, _, path = inner.partition(":")
    found = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    if isinstance(found, JITFunction):
        return found
    return _live(module, path)


def _live(module, path):
    """The function of a name that was made inside of another function."""
    known = [function for function in gc.get_objects() if issubclass(type(function), JITFunction)]
    named = [function for function in known if (function.module, function.__qualname__) == (module, path)]
    if len(named) != 1:
        count = len(named)
        raise RuntimeError(f"Unable to resolve JITFunction {module}:{path} for preload: {count} functions have this name")
    return named[0]


def specialization_data(name, signature, constants, attrs, options, key, target):
    """What a kernel is compiled for, as a text that `preload` reads; None where a constant or an option cannot be written down."""
    try:
        values = [_encode(value) for value in constants.values()]
        options = {option: _encode(value) for option, value in options.items()}
    except TypeError:
        return None
    backend, arch, warp_size = target
    return json.dumps({
        "name": name, "signature": signature,
        "constant_keys": [list(path) for path in constants], "constant_vals": values,
        "attrs_keys": [list(path) for path in attrs], "attrs_vals": list(attrs.values()),
        "options": options, "key": key,
        "target": {"backend": backend, "arch": arch, "warp_size": warp_size},
    })


class _Memory(MockTensor):
    """A mock at an address of a certain alignment."""

    def __init__(self, dtype, divisor):
        super().__init__(dtype)
        self._address = 16 if divisor == 16 else 8

    def data_ptr(self):
        """An address that is a multiple of what is said and of no more."""
        return self._address


#: A number beyond each smaller type, by the type.
_BASES = {"i64": 1 << 40, "u64": 1 << 63}
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\](.*)>")


def _argument(kind, path, constants, divisors):
    """A value that is specialised to this type."""
    if isinstance(kind, (list, tuple)):
        return tuple(_argument(item, (*path, at), constants, divisors) for at, item in enumerate(kind))
    if path in constants:
        value = constants[path]
        # Inside of a tuple a number is a constant by being called one, but for 1, which is one of itself.
        is_called = len(path) > 1 and value is not None and not (type(value) is int and value == 1)
        return tl.constexpr(value) if is_called else value
    divisor = divisors.get(path, 1)
    if kind.startswith("*"):
        return _Memory(tl.core.str_to_ty(kind).element_ty, divisor)
    if described := _DESCRIPTOR.match(kind):
        return _descriptor(*described.groups(), divisor)
    if kind == "u1":
        return True
    if kind[0] in "iu":
        return _BASES.get(kind, 0) + (32 if divisor == 16 else divisor if divisor > 1 else 3)
    return 0.5


def _descriptor(dtype, block, rest, divisor):
    from ..tools.tensor_descriptor import TensorDescriptor

    block = [int(size) for size in block.split(",")]
    shape = [64] * (len(block) - 1) + [64 if divisor == 16 else 63]
    strides = [64 * 64**at for at in range(len(block) - 1)][::-1] + [1]
    base = MockTensor(tl.core.str_to_ty(dtype), shape)
    return TensorDescriptor(base, shape, strides, block, padding="nan" if "padding=nan" in rest else "zero",
                            round_f32_to_tf32="round_f32_to_tf32" in rest)


def preload(function, data):
    """Compiles a function for what a text of `specialization_data` says; the next launch like that finds the kernel."""
    from .driver import driver

    kept = json.loads(data)
    name = function.__name__
    if kept["name"] != name:
        raise RuntimeError(f"Specialization data is for {kept['name']} but trying to preload for {name}")
    target = driver.active.get_current_target()
    here = {"backend": target.backend, "arch": target.arch, "warp_size": target.warp_size}
    if kept["target"] != here:
        raise RuntimeError(f"Specialization data is for {kept['target']} but trying to preload for {here}")
    constants = {tuple(path): _decode(value) for path, value in zip(kept["constant_keys"], kept["constant_vals"])}
    divisors = {tuple(path): value[0][1] for path, value in zip(kept["attrs_keys"], kept["attrs_vals"])}
    arguments = {parameter: _argument(kind, (at, ), constants, divisors)
                 for at, (parameter, kind) in enumerate(kept["signature"].items())}
    options = {option: _decode(value) for option, value in kept["options"].items()}
    return function._compile_for(**{**arguments, **options})
