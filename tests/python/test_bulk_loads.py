"""Loads by addresses that become bulk copies where a launch is as it must be, on the emulated sm_90.

Every product is computed twice, with bulk copies and by lanes (`disable_bulk_loads`), to the same bits, and is right.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor

BLOCK = 64


@pytest.fixture(autouse=True)
def emulated():
    """The emulated sm_90, from nothing."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield



@triton.jit
def positions(start, size, BLOCK: tl.constexpr, WAY: tl.constexpr):
    at = start + tl.arange(0, BLOCK)
    if WAY == "remainder":
        at = at % size
    elif WAY == "selection":
        at = tl.where(at < size, at, 0)
    elif WAY == "minimum":
        at = tl.minimum(at, size - 1)
    return at


@triton.jit
def grouped(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP * tiles_n
    first = pid // in_group * GROUP
    size = min(tiles_m - first, GROUP)
    return first + pid % in_group % size, pid % in_group // size


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ROWS: tl.constexpr = "remainder",
            ENDS: tl.constexpr = "masked", CARRIED: tl.constexpr = True, MORE: tl.constexpr = "",
            STORE: tl.constexpr = "masked"):
    row, column = grouped(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, 2)
    offs_m = row * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = column * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    at_m = positions(row * BLOCK_M, M, BLOCK_M, ROWS)
    at_n = positions(column * BLOCK_N, N, BLOCK_N, ROWS)
    a_ptrs = a_ptr + at_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + at_n[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        a_mask = offs_k[None, :] < K - step * BLOCK_K
        b_mask = offs_k[:, None] < K - step * BLOCK_K
        if ENDS == "moved":
            a_mask = step * BLOCK_K + offs_k[None, :] < K
            b_mask = K > step * BLOCK_K + offs_k[:, None]
        if ROWS == "mask":
            a_mask &= offs_m[:, None] < M
            b_mask &= offs_n[None, :] <= N - 1
        if MORE == "diagonal":
            a_mask &= offs_m[:, None] <= offs_k[None, :] + step * BLOCK_K + 1
        if CARRIED:
            a_now, b_now = a_ptrs, b_ptrs
        else:
            a_now = a_ptrs + step * BLOCK_K * stride_ak
            b_now = b_ptrs + step * BLOCK_K * stride_bk
        if ENDS == "even":
            a = tl.load(a_now)
            b = tl.load(b_now)
        else:
            a = tl.load(a_now, mask=a_mask, other=1.0 if MORE == "ones" else 0.0)
            b = tl.load(b_now, mask=b_mask, other=0.0)
        total = tl.dot(a, b, total)
        if CARRIED:
            a_ptrs += BLOCK_K * stride_ak
            b_ptrs += BLOCK_K * stride_bk
    c = total.to(c_ptr.dtype.element_ty)
    if STORE == "sums":
        total = tl.where(offs_n[None, :] < N, total, 0.0)
        tl.store(c_ptr + offs_m * stride_cm + column, tl.sum(total, 1).to(c_ptr.dtype.element_ty), mask=offs_m < M)
    elif STORE == "rows":
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, c, mask=offs_m[:, None] < M)
    else:
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, c, mask=mask)


# The same function, of which all kernels load by lanes.
product_by_lanes = triton.jit(product.fn)


def matrix(rng, rows, columns, dtype=torch.float16, offset=0, padding=0):
    """Random numbers in rows that begin so many elements behind a multiple of 16 bytes and are padded by so many."""
    memory = rng.standard_normal(rows * (columns + padding) + offset).astype(np.float32)
    whole = torch.from_numpy(memory).to(dtype)[offset:].view(rows, columns + padding)
    return whole[:, :columns]


def launch(a, b, c, blocks=(BLOCK, BLOCK, 32), options=None, kernel=product, **ways):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, blocks[0]) * triton.cdiv(n, blocks[1]), )
    strides = (*a.stride(), *b.stride(), *c.stride())
    return kernel[grid](a, b, c, m, n, k, *strides, *blocks, **ways, **(options or {}))


def launch_by_lanes(*args, **ways):
    """The same by lanes."""
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.disable_bulk_loads = True
        kernel = launch(*args, kernel=product_by_lanes, **ways)
    assert maps(kernel) == 0


def maps(kernel):
    """How many operands are bulk copies."""
    return len([part for part in kernel.metadata.tensor_maps.split("; ") if part])


def check(a, b, c=None, expect=None, **ways):
    """A product with bulk copies and by lanes."""
    c = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype) if c is None else c
    other = c.clone()
    kernel = launch(a, b, c, **ways)
    launch_by_lanes(a, b, other, **ways)
    assert torch.equal(c, other)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)
    if expect is not None:
        assert maps(kernel) == expect, kernel.metadata.tensor_maps
    return kernel


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("shape", [(64, 64, 64), (104, 72, 40), (70, 200, 136), (1, 8, 8), (129, 136, 24)])
def test_sizes(rng, shape, num_warps):
    m, n, k = shape
    # A row that all lanes share is no box: its number modulo one is zero.
    boxes = 1 if m == 1 else 2
    a, b = matrix(rng, m, k), matrix(rng, k, n)
    check(a, b, expect=boxes, options={"num_warps": num_warps, "num_stages": 3})


@pytest.mark.parametrize("rows", ["remainder", "selection", "minimum", "mask"])
@pytest.mark.parametrize("ends", ["masked", "moved"])
@pytest.mark.parametrize("carried", [False, True])
def test_forms(rng, rows, ends, carried):
    check(matrix(rng, 72, 56), matrix(rng, 56, 80), expect=2, ROWS=rows, ENDS=ends, CARRIED=carried)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float8_e4m3fn])
def test_dtypes(rng, dtype):
    a, b = matrix(rng, 72, 64).to(dtype), matrix(rng, 64, 80).to(dtype)
    c, other = torch.zeros(72, 80), torch.zeros(72, 80)
    kernel = launch(a, b, c)
    launch_by_lanes(a, b, other)
    assert maps(kernel) == 2 and torch.equal(c, other)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_operands_that_lie_the_other_way(rng, left, right):
    a = matrix(rng, 48, 72).T if left else matrix(rng, 72, 48)
    b = matrix(rng, 80, 48).T if right else matrix(rng, 48, 80)
    check(a, b, expect=2)


def test_what_is_not_known_to_be_aligned_is_loaded_by_lanes(rng):
    check(matrix(rng, 70, 40, offset=1), matrix(rng, 40, 72), expect=1)
    check(matrix(rng, 70, 40, offset=8), matrix(rng, 40, 72, offset=8), expect=2)
    check(matrix(rng, 70, 40, padding=8), matrix(rng, 40, 72, padding=4), expect=1)
    check(matrix(rng, 70, 41), matrix(rng, 41, 73), expect=0)


def test_sizes_without_a_mask(rng):
    check(matrix(rng, 72, 64), matrix(rng, 64, 80), expect=2, ENDS="even")
    check(matrix(rng, 128, 64), matrix(rng, 64, 64), expect=2, ENDS="even", ROWS="as they are")


@pytest.mark.parametrize("more", ["diagonal", "ones"])
def test_masks_that_are_no_boxes(rng, more):
    a, b = matrix(rng, 72, 56), matrix(rng, 56, 80)
    c, other = torch.zeros(72, 80, dtype=a.dtype), torch.zeros(72, 80, dtype=a.dtype)
    kernel = launch(a, b, c, MORE=more)
    launch_by_lanes(a, b, other, MORE=more)
    assert maps(kernel) == 1 and torch.equal(c, other)


def test_rows_that_are_stored_are_not_taken_for_zeros(rng):
    a, b = matrix(rng, 72, 56), matrix(rng, 56, 80)
    # Sums of rows have columns beyond the end in them, as far as anybody knows.
    c, other = torch.zeros(72, 2), torch.zeros(72, 2)
    kernel = launch(a, b, c, STORE="sums")
    launch_by_lanes(a, b, other, STORE="sums")
    assert maps(kernel) == 1 and torch.equal(c, other)
    # Columns beyond the end are stored into the padding.
    memory = torch.zeros(72, 128, dtype=a.dtype)
    other = torch.zeros(72, 128, dtype=a.dtype)
    kernel = launch(a, b, memory, STORE="rows")
    launch_by_lanes(a, b, other, STORE="rows")
    assert maps(kernel) == 1 and torch.equal(memory, other)
    assert torch.equal(memory[:, 80:], memory[:, :48])


def test_launches_of_one_kernel_that_take_different_versions(rng):
    a, b = matrix(rng, 72, 56), matrix(rng, 56, 80)
    expected = a.double() @ b.double()
    c = torch.zeros(72, 80, dtype=a.dtype)
    assert maps(launch(a, b, c)) == 2
    # A broadcast row: its stride is zero, which no map can have.
    row = a[:1].expand(72, 56)
    out = torch.zeros(72, 80, dtype=a.dtype)
    assert maps(launch(row, b, out)) == 2
    torch.testing.assert_close(out.double(), row.double() @ b.double(), rtol=1e-2, atol=1e-2)
    # And the same kernel again as before.
    again = torch.zeros(72, 80, dtype=a.dtype)
    launch(a, b, again)
    assert torch.equal(again, c)
    torch.testing.assert_close(c.double(), expected, rtol=1e-2, atol=1e-2)


def test_an_operand_that_is_the_result(rng):
    # One program reads all of it before it writes.
    square = matrix(rng, 64, 64)
    b = matrix(rng, 64, 64)
    expected = square.double() @ b.double()
    assert maps(launch(square, b, square)) == 2
    torch.testing.assert_close(square.double(), expected, rtol=1e-2, atol=1e-2)


@triton.jit
def tile_by_tile(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK_M: tl.constexpr,
                 BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr):
    first = tl.program_id(0)
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    stored = first - PROGRAMS
    for tile in tl.range(first, tiles, PROGRAMS, flatten=FLATTEN):
        row, column = grouped(tile, M, N, BLOCK_M, BLOCK_N, 2)
        offs_m = positions(row * BLOCK_M, M, BLOCK_M, "selection")
        offs_n = positions(column * BLOCK_N, N, BLOCK_N, "selection")
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            offs_k = step * BLOCK_K + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + offs_m[:, None] * stride_am + offs_k[None, :], mask=offs_k[None, :] < K, other=0.0)
            b = tl.load(b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :], mask=offs_k[:, None] < K, other=0.0)
            total = tl.dot(a, b, total)
        stored += PROGRAMS
        row, column = grouped(stored, M, N, BLOCK_M, BLOCK_N, 2)
        offs_m = row * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = column * BLOCK_N + tl.arange(0, BLOCK_N)
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], total.to(c_ptr.dtype.element_ty),
                 mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def launch_tiles(a, b, c, programs=2, flatten=True):
    (m, k), n = a.shape, b.shape[1]
    strides = (a.stride(0), b.stride(0), c.stride(0))
    return tile_by_tile[(programs, )](a, b, c, m, n, k, *strides, 64, 64, 32, programs, flatten, num_stages=3)


@pytest.mark.parametrize("flatten", [False, True])
def test_tiles_one_after_the_other(rng, flatten):
    # In a loop that says so, stores are bulk copies too.
    a, b = matrix(rng, 200, 56), matrix(rng, 56, 136)
    c = torch.zeros(200, 136, dtype=a.dtype)
    assert maps(launch_tiles(a, b, c, flatten=flatten)) == 2 + flatten
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("flatten", [False, True])
def test_tiles_that_read_what_was_written(rng, flatten):
    # One program: each tile of rows reads the rows that the one before has written.
    memory = matrix(rng, 192, 64)
    b = matrix(rng, 64, 64) * 0.25
    expected = memory.double()
    for tile in range(2):
        rows = slice(tile * 64, tile * 64 + 64)
        expected[tile * 64 + 64:tile * 64 + 128] = (expected[rows] @ b.double()).half().double()
    assert maps(launch_tiles(memory[:128], b, memory[64:], programs=1, flatten=flatten)) == 2 + flatten
    torch.testing.assert_close(memory.double(), expected, rtol=2e-2, atol=2e-2)


def test_negative_strides(rng):
    a, b = matrix(rng, 72, 64), matrix(rng, 64, 80)
    c = torch.zeros(72, 80, dtype=a.dtype)
    # The kernel is given the last row, and what lies in front of it is memory that the program has spoken of.
    last = a.numpy()[::-1]
    kernel = product[(4, )](last, b, c, 72, 80, 64, -a.stride(0), 1, *b.stride(), *c.stride(), 64, 64, 32)
    assert maps(kernel) == 2
    torch.testing.assert_close(c.double(), a.double().flip(0) @ b.double(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape", [(72, 80, 0), (72, 0, 56), (0, 80, 56)])
def test_nothing(rng, shape):
    m, n, k = shape
    a, b = matrix(rng, m, k), matrix(rng, k, n)
    c = torch.ones(m, n, dtype=a.dtype)
    launch(a, b, c, ROWS="mask")
    assert torch.equal(c, torch.zeros_like(c))


def test_random_products(rng):
    for _ in range(12):
        pick = rng.choice
        blocks = (int(pick([16, 64, 128])), int(pick([16, 64, 128])), int(pick([16, 32, 64])))
        m, n, k = (int(rng.integers(1, 24)) * int(pick([1, 2, 4, 8])) for _ in range(3))
        ways = {
            "ROWS": str(pick(["remainder", "selection", "minimum", "mask"])),
            "ENDS": str(pick(["masked", "moved"])),
            "CARRIED": bool(pick([False, True])),
            "MORE": str(pick(["", "", "", "diagonal", "ones"])),
        }
        layout = {"offset": int(pick([0, 0, 0, 1, 8])), "padding": int(pick([0, 0, 1, 4, 8]))}
        a, b = matrix(rng, m, k, **layout), matrix(rng, k, n, padding=-n % int(pick([1, 8])))
        if pick([False, True]):
            b = matrix(rng, n, k, padding=-k % 8).T
        c, other = torch.zeros(m, n), torch.zeros(m, n)
        options = {"num_warps": int(pick([4, 8])), "num_stages": int(pick([1, 2, 3, 4]))}
        print(blocks, (m, n, k), ways, layout, b.stride(), options)
        kernel = launch(a, b, c, blocks=blocks, options=options, **ways)
        launch_by_lanes(a, b, other, blocks=blocks, options=options, **ways)
        print(kernel.metadata.tensor_maps)
        assert torch.equal(c, other)
        if not ways["MORE"]:
            torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)


AGAIN = """
import torch
import deuteron as triton
import test_bulk_loads as tests

triton.knobs.runtime.emulate = "cuda:90"
torch.manual_seed(0)
a, b = torch.randn(72, 56).half(), torch.randn(56, 80).half()
c, row = torch.zeros(72, 80).half(), torch.zeros(72, 80).half()
kernel = tests.launch(a, b, c)
tests.launch(a[:1].expand(72, 56), b, row)
assert tests.maps(kernel) == 2
torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)
torch.testing.assert_close(row.double(), a[:1].double().expand(72, 56) @ b.double(), rtol=1e-2, atol=1e-2)
print(kernel.from_cache)
"""


@pytest.mark.parametrize("binary_only", ["0", "1"])
def test_both_versions_come_from_the_cache(tmp_path, binary_only):
    folder = str(Path(__file__).parent)
    environment = os.environ | {
        "TRITON_CACHE_DIR": str(tmp_path),
        "TRITON_STORE_BINARY_ONLY": binary_only,
        "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]),
    }
    runs = [
        subprocess.run([sys.executable, "-c", AGAIN], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.strip() for run in runs] == ["False", "True"]


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, stride_qh, stride_qm, stride_kh, stride_kn, stride_vh, stride_vn, LENGTH,
              scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr,
              MASKED: tl.constexpr):
    start_m, head = tl.program_id(0), tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, DIM)
    q = tl.load(q_ptr + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :])
    k_ptrs = k_ptr + head * stride_kh + offs_n[None, :] * stride_kn + offs_d[:, None]
    v_ptrs = v_ptr + head * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :]
    most = tl.full((BLOCK_M, ), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M, ), dtype=tl.float32)
    out = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    end = (start_m + 1) * BLOCK_M if CAUSAL else LENGTH
    for start in range(0, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        if MASKED:
            k = tl.load(k_ptrs + start * stride_kn, mask=(start + offs_n)[None, :] < LENGTH, other=0.0)
            v = tl.load(v_ptrs + start * stride_vn, mask=(start + offs_n)[:, None] < LENGTH, other=0.0)
        else:
            k = tl.load(k_ptrs + start * stride_kn)
            v = tl.load(v_ptrs + start * stride_vn)
        scores = tl.dot(q, k) * scale
        inside = (start + offs_n)[None, :] < LENGTH
        if CAUSAL:
            inside &= (start + offs_n)[None, :] <= offs_m[:, None]
        scores = tl.where(inside, scores, float("-inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - now[:, None])
        fade = tl.exp(most - now)
        total = total * fade + tl.sum(weights, 1)
        out = tl.dot(weights.to(v.dtype), v, out * fade[:, None])
        most = now
    out = out / total[:, None]
    tl.store(out_ptr + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :], out.to(q.dtype))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(rng, causal, masked):
    heads, length, dim = 2, 128, 64
    q, k, v = (torch.from_numpy(rng.standard_normal((heads, length, dim)).astype(np.float16)) for _ in range(3))
    out = torch.zeros_like(q)
    strides = [stride for x in (q, k, v) for stride in x.stride()[:2]]
    kernel = attention[(length // 64, heads)](q, k, v, out, *strides, length, dim**-0.5, 64, 64, dim, causal, masked,
                                              num_warps=4, num_stages=2)
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    torch.testing.assert_close(out.double(), expected, rtol=1e-2, atol=1e-2)
    # Where a head begins is a number of columns, which have no end that a mask names.
    assert maps(kernel) == 2


@triton.jit
def gradient_of_queries(q_ptr, k_ptr, v_ptr, do_ptr, most_ptr, delta_ptr, keys_ptr, dq_ptr, stride, LENGTH,
                        BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, MASKED: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, DIM)
    q = tl.load(q_ptr + offs_m[:, None] * stride + offs_d[None, :])
    do = tl.load(do_ptr + offs_m[:, None] * stride + offs_d[None, :])
    most = tl.load(most_ptr + offs_m)[:, None]
    delta = tl.load(delta_ptr + offs_m)[:, None]
    dq = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for start in range(0, LENGTH, BLOCK_N):
        at = start + offs_n
        if MASKED:
            k = tl.load(k_ptr + at[:, None] * stride + offs_d[None, :], mask=at[:, None] < LENGTH, other=0.0)
            v = tl.load(v_ptr + at[:, None] * stride + offs_d[None, :], mask=at[:, None] < LENGTH, other=0.0)
            weight = tl.load(keys_ptr + at, mask=at < LENGTH, other=0.0)
        else:
            k = tl.load(k_ptr + at[:, None] * stride + offs_d[None, :])
            v = tl.load(v_ptr + at[:, None] * stride + offs_d[None, :])
            weight = tl.load(keys_ptr + at)
        p = tl.exp2(tl.dot(q, k.T) - most) * weight[None, :]
        ds = p * (tl.dot(do, v.T) - delta)
        dq = tl.dot(ds.to(k.dtype), k, dq)
    tl.store(dq_ptr + offs_m[:, None] * stride + offs_d[None, :], dq)


gradient_by_lanes = triton.jit(gradient_of_queries.fn)


@pytest.mark.parametrize("rows, block, masked, num_warps, num_stages", [
    (128, 32, False, 4, 5), (128, 32, True, 4, 4), (64, 64, True, 4, 4), (64, 32, True, 4, 3), (128, 64, True, 8, 4),
    (128, 16, True, 4, 4),
])
def test_rows_beside_matrices(rng, rows, block, masked, num_warps, num_stages):
    """Blocks of one dimension come with those of two, in each number of iterations, none among them."""
    dim = 64
    for length in (0, block, 2 * block, 5 * block, 7 * block) if not masked else (0, 8, block + 8, 6 * block - 8):
        q, do = (matrix(rng, rows, dim) for _ in range(2))
        k, v = (matrix(rng, max(length, 1), dim) for _ in range(2))
        most, delta = (torch.from_numpy(rng.standard_normal(rows).astype(np.float32)) for _ in range(2))
        weight = torch.from_numpy(rng.standard_normal(max(length, 4)).astype(np.float32))
        found, by_lanes = (torch.full((rows, dim), float("nan")) for _ in range(2))
        arguments = (q, k * 0.1, v, do, most, delta, weight)
        options = dict(num_warps=num_warps, num_stages=num_stages)
        kernel = gradient_of_queries[(1, )](*arguments, found, dim, length, rows, block, dim, masked, **options)
        with triton.knobs.nvidia.scope():
            triton.knobs.nvidia.disable_bulk_loads = True
            other = gradient_by_lanes[(1, )](*arguments, by_lanes, dim, length, rows, block, dim, masked, **options)
        assert maps(other) == 0
        assert torch.equal(found, by_lanes)
        q, k, v, do, most, delta, weight = (x.double() for x in arguments)
        k, v, weight = k[:length], v[:length], weight[:length]
        p = torch.exp2(q @ k.T - most[:, None]) * weight
        expected = (p * (do @ v.T - delta[:, None])) @ k
        torch.testing.assert_close(found.double(), expected, rtol=2e-2, atol=2e-2 * (1 + expected.abs().max().item()))
        # 16 floats are 64 bytes, of which no ring of places for bulk copies can be made; nothing is copied for none.
        if length:
            assert maps(kernel) == (2 if block * 4 < 128 else 3), kernel.metadata.tensor_maps


@triton.jit
def weighted_rows(q_ptr, k_ptr, v_ptr, out_ptr, stride_q, stride_v, LENGTH, BLOCK_M: tl.constexpr,
                  BLOCK_N: tl.constexpr, DIM: tl.constexpr, DIM_V: tl.constexpr, TWICE: tl.constexpr):
    offs_m, offs_n = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    offs_d, offs_v = tl.arange(0, DIM), tl.arange(0, DIM_V)
    q = tl.load(q_ptr + offs_m[:, None] * stride_q + offs_d[None, :])
    out = tl.zeros((BLOCK_M, DIM_V), dtype=tl.float32)
    for start in range(0, LENGTH, BLOCK_N):
        at = (start + offs_n)[:, None]
        k = tl.load(k_ptr + at * stride_q + offs_d[None, :], mask=at < LENGTH, other=0.0)
        v = tl.load(v_ptr + at * stride_v + offs_v[None, :], mask=at < LENGTH, other=0.0)
        p = tl.exp2(tl.dot(q, k.T))
        if TWICE:
            p *= tl.dot(q, k)
        out = tl.dot(p.to(v.dtype), v, out)
    tl.store(out_ptr + offs_m[:, None] * stride_v + offs_v[None, :], out)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("roles", [True, False])
@pytest.mark.parametrize("bulk", [True, False])
def test_scores_that_begin_an_iteration_earlier(rng, bulk, roles, twice):
    """Loops of no iteration, of fewer and of more than a ring has places, whose first dot is made one iteration ahead."""
    block, dim, dim_v, stages = 64, 64, 256, 4
    kernels, function = [], triton.jit(weighted_rows.fn)
    for length in (0, 8, 64, 72, 128, 192, 256, 320, 328, 576):
        q, v = matrix(rng, block, dim) * 0.3, matrix(rng, max(length, 1), dim_v)
        k = matrix(rng, max(length, 1), dim) * 0.3
        out = torch.full((block, dim_v), float("nan"))
        with triton.knobs.nvidia.scope():
            triton.knobs.nvidia.disable_bulk_loads = not bulk
            if not roles:
                triton.knobs.nvidia.warp_specialize = False
            kernel = function[(1, )](q, k, v, out, dim, dim_v, length, block, block, dim, dim_v, twice, num_warps=4,
                                     num_stages=stages)
        kernels.append(kernel)
        q, k, v = q.double(), k[:length].double(), v[:length].double()
        p = torch.exp2(q @ k.T)
        if twice:
            whole = torch.zeros(-(-length // block) * block, dim, dtype=torch.float64)
            whole[:length] = k
            p = p * torch.cat([q @ part for part in whole.split(block)], 1)[:, :length] if length else p
        expected = p @ v
        torch.testing.assert_close(out.double(), expected, rtol=2e-2, atol=1e-2 * (1 + expected.abs().max().item()))
    if not roles or not bulk:
        # One more dot, in front of the loop.
        assert all(kernel.asm["ttgir"].count("= ttng.warp_group_dot ") == 3 + twice for kernel in kernels)


@triton.jit
def shifted_scores(q_ptr, k_desc, shift_desc, out_ptr, LENGTH, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   DIM: tl.constexpr):
    offs_m, offs_d = tl.arange(0, BLOCK_M), tl.arange(0, DIM)
    q = tl.load(q_ptr + offs_m[:, None] * DIM + offs_d[None, :])
    out = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for start in range(0, LENGTH, BLOCK_N):
        k = k_desc.load([start, 0])
        p = tl.dot(q, k.T) - shift_desc.load([start])[None, :]
        out = tl.dot(p.to(k.dtype), k, out)
    tl.store(out_ptr + offs_m[:, None] * DIM + offs_d[None, :], out)


@pytest.mark.parametrize("block, count", [(16, 1), (32, 2), (64, 2)])
def test_rows_by_descriptors(rng, block, count):
    """Of rows that are shorter than 128 bytes a ring cannot be made: lanes load them."""
    rows, dim, length = 64, 64, 128
    q, k = matrix(rng, rows, dim), matrix(rng, length, dim)
    shift = torch.from_numpy(rng.standard_normal(length).astype(np.float32))
    descriptors = TensorDescriptor.from_tensor(k, [block, dim]), TensorDescriptor.from_tensor(shift, [block])
    out = torch.full((rows, dim), float("nan"))
    kernel = shifted_scores[(1, )](q, *descriptors, out, length, rows, block, dim, num_warps=4, num_stages=3)
    expected = (q.double() @ k.double().T - shift.double()) @ k.double()
    torch.testing.assert_close(out.double(), expected, rtol=1e-2, atol=1e-2 * expected.abs().max().item())
    assert maps(kernel) == count


@triton.jit
def scaled_in_place(a, b, old, new, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    total = tl.dot(a.load([row, 0]), b.load([0, 0]))
    read = old.load([row, 0])
    new.store([row, 0], (total * read + tl.sum(read.to(tl.float32), 1)[:, None]).to(tl.float16))


def test_what_lanes_read_by_one_descriptor_a_copy_overwrites_by_another(rng):
    """The emulator finds the copy that no fence orders behind the reads."""
    a, b, c = (rng.integers(-2, 3, shape).astype(np.float16) for shape in [(128, BLOCK), (BLOCK, BLOCK), (128, BLOCK)])
    wanted = (a.astype(np.float32) @ b) * c + c.astype(np.float32).sum(1, keepdims=True)
    blocks = [TensorDescriptor.from_tensor(torch.from_numpy(of), [BLOCK, BLOCK]) for of in (a, b, c, c)]
    kernel = scaled_in_place[(2, )](*blocks, BLOCK=BLOCK)
    assert "cp.async.bulk.tensor.2d.global" in kernel.asm["ptx"]
    np.testing.assert_array_equal(c, wanted)


@triton.jit
def own_products(x, out_ptr, count, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, COLUMNS)[:, None], tl.arange(0, COLUMNS)[None, :]
    block = x.load([0, 0])
    total = tl.dot(block.T, block)
    for number in range(1, count):
        if number % 2 == 1:
            block = x.load([number * ROWS, 0])
            total = tl.dot(block.T, block, total)
    tl.store(out_ptr + i * COLUMNS + j, total)


@pytest.mark.parametrize("rows, columns, warps", [(16, 32, 1), (32, 64, 4)])
def test_blocks_that_are_first_wanted_turned(rng, rows, columns, warps):
    """Who waits for a copy is gone when lanes read the block turned from shared memory."""
    x = torch.from_numpy(rng.integers(-2, 3, (4 * rows, columns)).astype(np.float16))
    out = torch.full((columns, columns), float("nan"))
    kernel = own_products[(1, )](TensorDescriptor.from_tensor(x, [rows, columns]), out, 4, rows, columns, num_warps=warps)
    parts = [x[number * rows:(number + 1) * rows].float() for number in (0, 1, 3)]
    assert torch.equal(out, sum(part.T @ part for part in parts))
    assert kernel.asm["ttgir"].count("async_tma_copy_global_to_local") == 2
