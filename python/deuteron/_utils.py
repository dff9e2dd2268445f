"""Small helpers that libraries import from here by name: nested tuples, shapes of blocks, names of dtypes."""

import functools
import warnings

#: Elements that a block may have.
TRITON_MAX_TENSOR_NUMEL = 1 << 20


def is_iterable(value):
    """Whether `value` is a list or a tuple, of Python or of the language."""
    if isinstance(value, (list, tuple)):
        return True
    from .language import core

    return isinstance(value, core.tuple)


def get_iterable_path(iterable, path):
    """The element of a nested tuple at `path`, a tuple of indices."""
    for index in path:
        iterable = iterable[index]
    return iterable


def set_iterable_path(iterable, path, value):
    """Replaces the element of a nested list at `path`."""
    assert len(path) != 0
    get_iterable_path(iterable, path[:-1])[path[-1]] = value


def apply_with_path(value, fn, _path=None):
    """Calls ``fn(path, leaf)`` for every leaf of nested tuples, in order."""
    path = () if _path is None else _path
    if not is_iterable(value):
        fn(path, value)
        return
    for index, element in enumerate(value):
        apply_with_path(element, fn, (*path, index))


def find_paths_if(iterable, pred):
    """Paths of all leaves for which ``pred(path, leaf)`` holds, in order."""
    found = []
    apply_with_path(iterable, lambda path, leaf: found.append(path) if pred(path, leaf) else None)
    return found


def parse_list_string(text):
    """``"[a, b]"`` to ``["a", "b"]``."""
    text = text.strip().removeprefix("[").removesuffix("]")
    return [item.strip() for item in text.split(",") if item.strip()]


def is_power_of_two(value):
    """Whether `value` is a positive power of two."""
    return value > 0 and value & (value - 1) == 0


def validate_block_shape(shape):
    """The number of elements of a block.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size is no power of two, or the block has more than `TRITON_MAX_TENSOR_NUMEL` elements.
    """
    count = 1
    for index, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {index} must have type `constexpr[int]`, got `constexpr[{type(size)}]`")
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {index} must be a power of 2, and is {size}")
        count *= size
    if count > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({count}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return count


def _short_names():
    """From every name of a dtype, of torch, NumPy, C and tl, to its short name."""
    names = {"void": "void", "half": "fp16", "float": "fp32", "double": "fp64", "int": "i32", "bfloat16": "bf16",
             "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5",
             "float8_e5m2fnuz": "fp8e5b16"}
    names.update(dict.fromkeys(("bool", "int1", "uint1", "i1"), "u1"))
    names.update({f"float{bits}": f"fp{bits}" for bits in (16, 32, 64)})
    for bits in (8, 16, 32, 64):
        names.update({f"int{bits}": f"i{bits}", f"uint{bits}": f"u{bits}"})
    names.update({f"float8{kind}": f"fp8{kind}" for kind in ("e4nv", "e4b8", "e4b15", "e5", "e5b16")})
    names.update({short: short for short in list(names.values())})
    return names


#: From every name of a dtype to its short name: ``"float32"`` and ``"float"`` to ``"fp32"``.
type_canonicalisation_dict = _short_names()


def canonicalize_dtype(dtype):
    """The short name (``"fp32"``, ``"i64"``) of a torch, NumPy or tl dtype."""
    name = str(dtype).rsplit(".", 1)[-1]
    if isinstance(dtype, type):
        # NumPy's classes of numbers.
        name = dtype.__name__
    return type_canonicalisation_dict[name]


def canonicalize_ptr_dtype(dtype, is_const):
    """As :func:`canonicalize_dtype`, for a pointer to it: ``"*fp32"``, ``"*kfp32"`` when it is const."""
    return f"*{'k' if is_const else ''}{canonicalize_dtype(dtype)}"


def _bits(short):
    if short == "void":
        return 0
    if short.startswith("fp8"):
        return 8
    return int(short.lstrip("iufpb"))


#: From every name of a dtype to its bits.
BITWIDTH_DICT = {name: _bits(short) for name, short in type_canonicalisation_dict.items()} | {"i1": 1}


def get_primitive_bitwidth(dtype):
    """Bits of a value of a dtype, by any of its names."""
    return BITWIDTH_DICT[dtype]


def is_namedtuple(value):
    """Whether `value` is a class of named tuples."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def _tuple_create(like, contents):
    """A tuple of the class of `like`, which may be a named one."""
    return type(like)(*contents) if hasattr(like, "_fields") else type(like)(contents)


@functools.cache
def warn_once(message):
    """Warns of something once in the life of the process."""
    warnings.warn(message, UserWarning, stacklevel=2)


def prewarm_deprecation_warnings():
    """Does nothing: no warning of a deprecation is given out once only, so that none has to be provoked ahead."""
