"""Dots by the tile registers of AMX: where the processor has them and the system lets this process use them."""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

# The system lets no process use tile registers that has a stack for signals too small for what they hold.
SMALL_STACK = """
import ctypes
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
room = ctypes.create_string_buffer(8192)
stack = Stack(ctypes.addressof(room), 0, 8192)
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
"""

# Compiles and runs one dot, also in a child behind a fork; says whether that took tile registers, and the sum of all.
CHILD = """
import json, os, sys
sys.path[:0] = [{folder!r}]
import test_tile_registers as tests
kernel, c = tests.run(64, 64, 64, "bfloat16")
child = os.fork()
if child == 0:
    _, again = tests.run(64, 64, 64, "bfloat16")
    os._exit(0 if (again == c).all() else 1)
_, status = os.waitpid(child, 0)
print(json.dumps(["tdpbf16ps" in kernel.asm["asm"], float(abs(c - tests.expected(64, 64, 64, "bfloat16")[0]).max()), status]))
"""


@triton.jit
def product(a_ptr, b_ptr, c_ptr, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr, TURN: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.full((M, N), 3, ACC)
    for start in range(0, k_size, K):
        a = tl.load(a_ptr + m[:, None] * k_size + (start + k)[None, :])
        if TURN:
            b = tl.trans(tl.load(b_ptr + n[:, None] * k_size + (start + k)[None, :]))
        else:
            b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc, out_dtype=ACC)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@triton.jit
def chained(a_ptr, b_ptr, c_ptr, out_ptr, n_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """`out = sum over blocks of (a @ b.T) @ c`, where the product in the middle is of the operands' type."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    acc = tl.zeros((M, K), tl.float32)
    for start in range(0, n_size, N):
        b = tl.load(b_ptr + (start + n)[:, None] * K + k[None, :])
        c = tl.load(c_ptr + (start + n)[:, None] * K + k[None, :])
        middle = tl.dot(a, tl.trans(b))
        acc += tl.dot(middle.to(c.dtype), c)
    tl.store(out_ptr + m[:, None] * K + k[None, :], acc)


def numbers(dtype, *shape, seed):
    """Random numbers of a type."""
    random = np.random.default_rng(seed)
    if dtype == "int8":
        return torch.from_numpy(random.integers(-128, 128, shape, dtype=np.int8))
    return torch.from_numpy(random.standard_normal(shape).astype(np.float32)).to(getattr(torch, dtype))


def expected(m, n, k, dtype, turn=False):
    """What the product is, and the sum of magnitudes that bounds its error."""
    a, b = (tensor.double().numpy() for tensor in operands(m, n, k, dtype, turn))
    b = b.T if turn else b
    return a @ b + 3, np.abs(a) @ np.abs(b) + 3


def operands(m, n, k, dtype, turn=False):
    """Both operands; the right one column by column where it is turned."""
    right = (n, 3 * k) if turn else (3 * k, n)
    return numbers(dtype, m, 3 * k, seed=m), numbers(dtype, *right, seed=n)


def run(m, n, k, dtype, turn=False):
    """Three steps of k of a product; the kernel and the result."""
    a, b = operands(m, n, k, dtype, turn)
    is_int = dtype == "int8"
    c = np.full((m, n), 99, np.int32) if is_int else np.full((m, n), np.nan, np.float32)
    kernel = product[(1, )](a, b, c, 3 * k, m, n, k, tl.int32 if is_int else tl.float32, turn)
    return kernel, c


@functools.cache
def in_a_process(before):
    """What CHILD says, in a process that begins with `before`."""
    code = before + CHILD.format(folder=os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def needs_amx():
    """Skips where there are no tile registers, and says so."""
    with open("/proc/cpuinfo") as file:
        words = file.read().split()
    if not {"amx_tile", "amx_bf16", "amx_int8"} <= set(words):
        pytest.skip("NOT RUN: this processor has no AMX")


SIZES = [(16, 16, 16), (16, 16, 32), (32, 32, 32), (16, 64, 64), (64, 16, 128), (128, 32, 64), (128, 128, 32), (8, 32, 64)]


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_products_of_floats(dtype, turn):
    for m, n, k in SIZES:
        _, c = run(m, n, k, dtype, turn)
        want, size = expected(m, n, k, dtype, turn)
        assert (np.abs(c - want) <= 2e-7 * 3 * k * size).all(), (m, n, k)


@pytest.mark.parametrize("turn", [False, True])
def test_products_of_bytes(turn):
    for m, n, k in SIZES:
        _, c = run(m, n, k, "int8", turn)
        assert np.array_equal(c, expected(m, n, k, "int8", turn)[0]), (m, n, k)


def test_denormal_operands_of_fp16_count():
    """Every denormal number of fp16, in a left operand and in one that a product in the middle makes."""
    a, one = torch.arange(1024, dtype=torch.int16).reshape(32, 32).view(torch.float16), torch.eye(32).half()
    out = np.full((32, 32), np.nan, np.float32)
    chained[(1, )](a, one, one, out, 32, 32, 32, 32)
    assert np.array_equal(out, a.float().numpy())
    chained[(1, )](one, a, one, out, 32, 32, 32, 32)
    assert np.array_equal(out, a.t().float().numpy())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_chained_products(dtype):
    for m, n, k in [(64, 64, 64), (16, 32, 64), (128, 32, 32), (32, 128, 128)]:
        a, b, c = (numbers(dtype, size, k, seed=seed) for seed, size in enumerate([m, 4 * n, 4 * n], 1))
        out = np.full((m, k), np.nan, np.float32)
        chained[(1, )](a, b, c, out, 4 * n, m, n, k)
        middle = (a.float() @ b.float().T).to(a.dtype).double().numpy()
        want, size = middle @ c.double().numpy(), np.abs(middle) @ np.abs(c.double().numpy())
        # The product in the middle is rounded to one of two neighbours.
        assert (np.abs(out - want) <= 2e-4 * size).all(), (m, n, k)


def test_a_product_in_the_middle_is_rounded_to_nearest_even():
    a, s = numbers("bfloat16", 64, 64, seed=4), numbers("bfloat16", 64, seed=5)
    out = np.full((64, 64), np.nan, np.float32)
    # Products of two numbers of bf16 are numbers of binary32, so what comes out is each of them rounded once.
    chained[(1, )](a, torch.diag(s), torch.eye(64).bfloat16(), out, 64, 64, 64, 64)
    assert np.array_equal(out, (a.float() * s.float()).bfloat16().float().numpy())
    ties = torch.tensor([1 + 2**-7, 1 + 3 * 2**-7, -1 - 2**-7, 3 + 2**-6]).bfloat16().repeat(64, 16)
    chained[(1, )](ties, torch.diag(torch.full((64, ), 1.5).bfloat16()), torch.eye(64).bfloat16(), out, 64, 64, 64, 64)
    assert np.array_equal(out, (ties.float() * 1.5).bfloat16().float().numpy())


def test_infinities_and_nans_stay_in_their_rows_and_columns():
    a, b = operands(32, 32, 32, "bfloat16")
    a[5, 3], b[7, 9] = torch.nan, torch.inf
    a[:, 7] = 1
    c = np.zeros((32, 32), np.float32)
    product[(1, )](a, b, c, 96, 32, 32, 32, tl.float32, False)
    rows, columns = np.arange(32)[:, None] == 5, np.arange(32)[None, :] == 9
    assert np.isnan(c[5]).all()
    assert (c[:, 9][np.arange(32) != 5] == np.inf).all()
    assert np.isfinite(c[~(rows | columns)]).all()


def test_kernels_take_tile_registers():
    needs_amx()
    taken, error, status = in_a_process("")
    assert taken, "the system lets this process use no tile registers"
    assert error <= 1e-4 and status == 0


def test_kernels_do_without_where_the_system_refuses():
    needs_amx()
    assert in_a_process("")[0]
    # The same cache of kernels serves both: one that was made with tile registers is not taken here.
    taken, error, status = in_a_process(SMALL_STACK)
    assert not taken
    assert error <= 1e-4 and status == 0


def test_a_processor_that_is_named_decides():
    a, b = operands(64, 64, 64, "bfloat16")
    c = np.zeros((64, 64), np.float32)
    kernel = product[(1, )](a, b, c, 192, 64, 64, 64, tl.float32, False, arch="avx2")
    assert "tdpbf16ps" not in kernel.asm["asm"]
    assert np.abs(c - expected(64, 64, 64, "bfloat16")[0]).max() <= 1e-4
