"""What the programs of `valued.py` are made of: types and their rules, functions that kernels call and what these compute in NumPy."""

import dataclasses
import typing

import numpy as np
import torch

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
NARROW = ("float8e5", "float8e4nv")
TYPES = ("int1", *INTEGERS, *FLOATS, *NARROW)
# How torch names what NumPy has not.
TORCH = {"bfloat16": torch.bfloat16, "float8e5": torch.float8_e5m2, "float8e4nv": torch.float8_e4m3fn}
SMALL = ("int8", "float16", "bfloat16", "float32", "float8e5")
SCRATCH = ("int32", "uint32", "int64", "uint64", "float32", "float64", "float16")
LENGTH, REGION = 1 << 14, 1 << 15

HEAD = '''import typing

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def whole(x):
    x = x.to(tl.float32)
    return tl.clamp(tl.where(x == x, x, 0.0), -100.0, 100.0)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def later(a, b):
    return b


@triton.jit
def best(v, i, w, j):
    take = (w > v) | ((w == v) & (j < i))
    return tl.where(take, w, v), tl.where(take, j, i)


@triton.jit
def three(a, b, c, d, e, f):
    return a + d, tl.maximum(b, e), c ^ f


@triton.jit
def collatz(x, y):
    if x % 2 == 0:
        x = x // 2
    else:
        x = 3 * x + y
    return x
'''


def bits(dtype):
    return 1 if dtype == "int1" else 8 if dtype in NARROW else int("".join(c for c in dtype if c.isdigit()))


def numpy_type(dtype):
    return np.dtype("bool" if dtype == "int1" else "float32" if dtype in TORCH else dtype)


def fit(dtype, values):
    """Values as elements of a type; floats are rounded to the nearest."""
    values = np.asarray(values)
    if dtype == "int1":
        return np.asarray(values != 0)
    if dtype in TORCH:
        return torch.from_numpy(np.asarray(values, np.float32).reshape(-1).copy()).to(TORCH[dtype]).float().numpy().reshape(values.shape)
    return values.astype(dtype)


def promoted(one, two):
    """The type of an operation on two blocks."""
    for dtype in ("float64", "float32", "float16"):
        if dtype in (one, two):
            return dtype
    if "bfloat16" in (one, two):
        return "bfloat16" if one == two else "float32"
    signed = [dtype.startswith("i") and dtype != "int1" for dtype in (one, two)]
    if signed[0] == signed[1]:
        return max(one, two, key=bits)
    plain, unsigned = (one, two) if signed[0] else (two, one)
    return unsigned if bits(unsigned) >= bits(plain) else plain


@dataclasses.dataclass
class Expr:
    """A text, the type of what it stands for, and a function from variables to its value."""
    text: str
    dtype: str
    shape: tuple
    value: typing.Callable

    def run(self, env):
        value = np.asarray(self.value(env))
        assert value.shape == self.shape and value.dtype == numpy_type(self.dtype), (self.text, value.shape, value.dtype, self.shape, self.dtype)
        return value


def variable(name, dtype, shape):
    return Expr(name, dtype, shape, lambda env: env[name])


def shifted(shape, dim):
    """An index along one dimension, as a block of that rank."""
    if len(shape) == 1:
        return f"tl.arange(0, {shape[0]})"
    return f"tl.arange(0, {shape[dim]})[{', '.join(':' if at == dim else 'None' for at in range(len(shape)))}]"


def spread(shape, dim):
    index = np.arange(shape[dim]).reshape([-1 if at == dim else 1 for at in range(len(shape))])
    return np.broadcast_to(index, shape)


def scanned(arrays, axis, reverse, combine):
    """A scan by a function of two tuples."""
    arrays = [np.flip(array, axis) if reverse else array for array in arrays]
    found = [np.array(array) for array in arrays]
    parts = [np.moveaxis(array, axis, 0) for array in found]
    for at in range(1, parts[0].shape[0]):
        for part, value in zip(parts, combine([part[at - 1] for part in parts], [part[at] for part in parts])):
            part[at] = value
    return [np.flip(array, axis) if reverse else array for array in found]


def reduced(arrays, axis, combine):
    return [np.take(array, -1, axis) for array in scanned(arrays, axis, False, combine)]


def affine(one, two):
    return one[0] * two[0], one[1] * two[0] + two[1]


def best(one, two):
    take = (two[0] > one[0]) | ((two[0] == one[0]) & (two[1] < one[1]))
    return np.where(take, two[0], one[0]), np.where(take, two[1], one[1])


def three(one, two):
    return one[0] + two[0], np.maximum(one[1], two[1]), one[2] ^ two[2]
