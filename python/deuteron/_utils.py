"""Small helpers that libraries import from here by name."""


def get_iterable_path(iterable, path):
    """The element of a nested tuple at `path`, a tuple of indices."""
    for index in path:
        iterable = iterable[index]
    return iterable


def set_iterable_path(iterable, path, value):
    """Replaces the element of a nested list at `path`."""
    assert len(path) != 0
    get_iterable_path(iterable, path[:-1])[path[-1]] = value


def find_paths_if(iterable, pred):
    """Paths of all leaves for which ``pred(path, leaf)`` holds, in order."""
    found = []

    def visit(path, current):
        if isinstance(current, (list, tuple)):
            for index, element in enumerate(current):
                visit(path + (index,), element)
        elif pred(path, current):
            found.append(path)

    visit((), iterable)
    return found


def parse_list_string(text):
    """``"[a, b]"`` to ``["a", "b"]``."""
    text = text.strip().removeprefix("[").removesuffix("]")
    return [item.strip() for item in text.split(",") if item.strip()]


def is_power_of_two(value):
    """Whether `value` is a positive power of two."""
    return value > 0 and value & (value - 1) == 0


BITWIDTH_DICT = {
    **{f"i{bits}": bits for bits in (1, 8, 16, 32, 64)},
    **{f"u{bits}": bits for bits in (1, 8, 16, 32, 64)},
    **{f"fp{bits}": bits for bits in (16, 32, 64)},
    "bf16": 16,
    **{f"fp8{kind}": 8 for kind in ("e4nv", "e4b8", "e4b15", "e5", "e5b16")},
    "void": 0,
}

_TORCH_TO_TRITON = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5", "float8_e5m2fnuz": "fp8e5b16",
}


def canonicalize_dtype(dtype):
    """The short name (``"fp32"``, ``"i64"``) of a torch, NumPy or tl dtype."""
    if hasattr(dtype, "codegen_name"):
        return dtype.codegen_name
    name = str(dtype).rsplit(".", 1)[-1]
    return _TORCH_TO_TRITON.get(name, name)


def canonicalize_ptr_dtype(dtype, is_const):
    """As :func:`canonicalize_dtype`, for a pointer to it: ``"*fp32"``, ``"*kfp32"`` when it is const."""
    return f"*{'k' if is_const else ''}{canonicalize_dtype(dtype)}"
