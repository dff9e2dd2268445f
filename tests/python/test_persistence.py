"""Kernels that loop over the programs of their launch, on the emulated sm_90, which runs two programs at a time.

Every product is computed twice, by such a loop and by one program a tile (`persistence`), to the same bits, and is right.
"""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

BLOCK = 64


@pytest.fixture(autouse=True)
def emulated(tmp_path):
    """The emulated sm_90, from nothing, with every stage of every compile in a folder."""
    with triton.knobs.runtime.scope(), triton.knobs.cache.scope(), triton.knobs.compilation.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        triton.knobs.cache.dir = str(tmp_path / "cache")
        triton.knobs.cache.dump_dir = str(tmp_path / "dump")
        triton.knobs.compilation.dump_ir = True
        yield


def product_of(store):
    """A fresh kernel, so that each test sees its own compiles."""

    def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
                STORE: tl.constexpr):
        tiles = tl.cdiv(N, BLOCK)
        row, column = tl.program_id(0) // tiles * BLOCK, tl.program_id(0) % tiles * BLOCK
        c_ptr += tl.program_id(1) * M * stride_cm
        offs_m, offs_n = row + tl.arange(0, BLOCK), column + tl.arange(0, BLOCK)
        offs_k = tl.arange(0, BLOCK_K)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            at = step * BLOCK_K + offs_k
            a = tl.load(a_ptr + offs_m[:, None] * stride_am + at[None, :],
                        mask=(offs_m < M)[:, None] & (at < K)[None, :], other=0.0)
            b = tl.load(b_ptr + at[:, None] * stride_bk + offs_n[None, :],
                        mask=(at < K)[:, None] & (offs_n < N)[None, :], other=0.0)
            total = tl.dot(a, b, total)
        if STORE == "count":
            total += tl.num_programs(0)
        c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
        mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
        if STORE == "add":
            total += tl.load(c_ptrs, mask=mask, other=0.0)
        if STORE == "row":
            total += tl.load(a_ptr + offs_n, mask=offs_n < N, other=0.0)[None, :]
        if STORE == "atomic":
            tl.atomic_add(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=mask)
        else:
            tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=mask)

    return triton.jit(product), store


def launch(kernel, a, b, c, block_k=32, batch=1):
    """The product of `a` and `b`, stored `batch` times, one below the other."""
    product, store = kernel
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, BLOCK) * triton.cdiv(n, BLOCK), batch)
    return product[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(-2), BLOCK, block_k, store, num_stages=3)


@triton.jit
def product_of_tile(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, row, column, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    offs_m, offs_n = row * BLOCK + tl.arange(0, BLOCK), column * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + at[None, :], mask=(offs_m < M)[:, None] & (at < K)[None, :], other=0.0)
        b = tl.load(b_ptr + at[:, None] * stride_bk + offs_n[None, :], mask=(at < K)[:, None] & (offs_n < N)[None, :], other=0.0)
        total = tl.dot(a, b, total)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


def plane_of(turned):
    """A fresh kernel over planes of tiles, each of whose programs also counts itself where nobody else does."""

    def product(a_ptr, b_ptr, c_ptr, seen_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
                TURNED: tl.constexpr):
        x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
        row, column = (y, x) if TURNED else (x, y)
        c_ptr += z * M * stride_cm
        product_of_tile(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, row, column, BLOCK, BLOCK_K)
        number = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
        tl.store(seen_ptr + number, tl.num_programs(2) * 10000 + number)

    return triton.jit(product), turned


def launch_plane(kernel, a, b, c, seen, block=16):
    product, turned = kernel
    (m, k), n = a.shape, b.shape[1]
    tiles = triton.cdiv(m, block), triton.cdiv(n, block)
    strides = (a.stride(0), b.stride(0), c.stride(-2))
    grid = (*(tiles[::-1] if turned else tiles), c.shape[0])
    return product[grid](a, b, c, seen, m, n, k, *strides, block, 32, turned, num_stages=2)


def loops(tmp_path):
    """How many kernels that loop over programs were compiled."""
    return sum("tt.programs" in path.read_text() for path in (tmp_path / "dump").rglob("*.ttgir"))


def one_by_one(*args, store="", **ways):
    """The same without such loops."""
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.persistence = False
        launch(product_of(store), *args, **ways)


def matrix(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float16))


def poisoned(*shape):
    return torch.full(shape, float("nan"), dtype=torch.float16)


@pytest.mark.parametrize("shape", [(192, 64, 64), (200, 136, 72), (65, 136, 31 * 8), (70, 129 * 8, 24)])
def test_more_programs_than_run_at_a_time(rng, tmp_path, shape):
    m, n, k = shape
    a, b, c, other = matrix(rng, m, k), matrix(rng, k, n), poisoned(m, n), poisoned(m, n)
    kernel = launch(product_of(""), a, b, c)
    assert loops(tmp_path) == 1 and not kernel.metadata.persistent
    one_by_one(a, b, other)
    assert loops(tmp_path) == 1
    assert torch.equal(c, other)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=2e-2)


def test_few_programs_and_long_loops_stay(rng, tmp_path):
    kernel = product_of("")
    for m, n, k in ((64, 128, 64), (192, 64, 9 * 32)):
        a, b, c = matrix(rng, m, k), matrix(rng, k, n), poisoned(m, n)
        launch(kernel, a, b, c)
        assert loops(tmp_path) == 0
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)
    a, b, c = matrix(rng, 192, 64), matrix(rng, 64, 64), poisoned(192, 64)
    launch(kernel, a, b, c)
    assert loops(tmp_path) == 1
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("batch", [1, 3])
def test_number_of_programs_and_other_axes(rng, batch):
    a, b = matrix(rng, 192, 48), matrix(rng, 48, 72)
    c, other = poisoned(batch, 192, 72), poisoned(batch, 192, 72)
    launch(product_of("count"), a, b, c, batch=batch)
    one_by_one(a, b, other, store="count", batch=batch)
    assert torch.equal(c, other)
    torch.testing.assert_close(c.double(), (a.double() @ b.double() + 6).expand(batch, 192, 72), rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("tiles", [(1, 5, 1), (9, 3, 2), (17, 2, 1), (8, 4, 1), (3, 10, 2), (2, 1, 1), (12, 7, 1)])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("persistence", [None, True, False])
@pytest.mark.parametrize("grouped", [True, False])
def test_planes_of_tiles(rng, tmp_path, tiles, turned, persistence, grouped):
    rows, columns, count = tiles
    m, n = 16 * rows - int(rng.integers(0, 8)), 16 * columns - 8 * int(rng.integers(0, 2))
    a, b, c = matrix(rng, m, 48), matrix(rng, 48, n), poisoned(count, m, n)
    seen = torch.full((rows * columns * count + 8, ), -1, dtype=torch.int32)
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.persistence = persistence
        triton.knobs.nvidia.disable_tile_groups = not grouped
        kernel = launch_plane(plane_of(turned), a, b, c, seen)
    assert kernel.metadata.program_counts == (3 if persistence else 0)
    texts = [path.read_text() for path in (tmp_path / "dump").rglob("*.ttgir")]
    assert all(("arith.minsi" in text) == grouped for text in texts) and texts
    numbers = torch.arange(rows * columns * count, dtype=torch.int32)
    assert torch.equal(seen[:-8], numbers + 10000 * count) and (seen[-8:] == -1).all()
    torch.testing.assert_close(c.double(), (a.double() @ b.double()).expand(count, m, n), rtol=1e-2, atol=2e-2)


def lines_of(turned):
    """A fresh kernel over lines of tiles, one behind the other, each of whose programs also counts itself."""

    def product(a_ptr, b_ptr, c_ptr, seen_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
                TURNED: tl.constexpr):
        pid = tl.program_id(0)
        if TURNED:
            row, column = pid % tl.cdiv(M, BLOCK), pid // tl.cdiv(M, BLOCK)
        else:
            row, column = pid // tl.cdiv(N, BLOCK), pid % tl.cdiv(N, BLOCK)
        product_of_tile(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, row, column, BLOCK, BLOCK_K)
        tl.store(seen_ptr + row * 100 + column, 1)

    return triton.jit(product), turned


@pytest.mark.parametrize("tiles", [(1, 5), (9, 3), (2, 17), (17, 2), (3, 12), (9, 9), (2, 1)])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("persistence", [None, True, False])
@pytest.mark.parametrize("missing", [0, 1, -3])
def test_lines_of_tiles(rng, tmp_path, tiles, turned, persistence, missing):
    # A launch may leave out the last program, or have some behind it.
    rows, columns = tiles
    m, n, block = 16 * rows - int(rng.integers(0, 8)), 16 * columns - 8 * int(rng.integers(0, 2)), 16
    a, b, c = matrix(rng, m, 48), matrix(rng, 48, n), poisoned(m, n)
    seen = torch.zeros(30, 100, dtype=torch.int32)
    product, turned = lines_of(turned)
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.persistence = persistence
        product[(rows * columns - missing, )](a, b, c, seen, m, n, 48, a.stride(0), b.stride(0), c.stride(0), block, 32, turned, num_stages=2)
    texts = [path.read_text() for path in (tmp_path / "dump").rglob("*.ttgir")]
    assert all("arith.minsi" in text for text in texts) and texts
    ran = torch.zeros(30, 100, dtype=torch.int32)
    for pid in range(rows * columns - missing):
        ran[(pid % rows, pid // rows) if turned else (pid // columns, pid % columns)] = 1
    assert torch.equal(seen, ran)
    expected = (a.double() @ b.double()).half()
    known = ran[:rows, :columns].repeat_interleave(block, 0).repeat_interleave(block, 1)[:m, :n] == 1
    torch.testing.assert_close(c[known].double(), expected[known].double(), rtol=1e-2, atol=2e-2)
    assert torch.isnan(c[~known]).all()


def test_planes_whose_tensors_depend_on_both_axes_stay_in_order(rng, tmp_path):
    kernel = product_of("")
    a, b, c = matrix(rng, 192, 48), matrix(rng, 48, 72), poisoned(3, 192, 72)
    launch(kernel, a, b, c, batch=3)
    texts = [path.read_text() for path in (tmp_path / "dump").rglob("*.ttgir")]
    assert loops(tmp_path) == 1 and not any("arith.minsi" in text for text in texts)
    torch.testing.assert_close(c.double(), (a.double() @ b.double()).expand(3, 192, 72), rtol=1e-2, atol=2e-2)


def test_atomic_programs_stay(rng, tmp_path):
    a, b, c = matrix(rng, 192, 64), matrix(rng, 64, 64), torch.zeros(192, 64)
    launch(product_of("atomic"), a, b, c)
    assert loops(tmp_path) == 0
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=2e-2)


def test_programs_that_add_a_block_stay(rng, tmp_path):
    a, b, c = matrix(rng, 192, 64), matrix(rng, 64, 64), matrix(rng, 192, 64)
    expected = c.double() + a.double() @ b.double()
    launch(product_of("add"), a, b, c)
    assert loops(tmp_path) == 0
    torch.testing.assert_close(c.double(), expected, rtol=1e-2, atol=2e-2)
    c = poisoned(192, 64)
    launch(product_of("row"), a, b, c)
    assert loops(tmp_path) == 1, "a row is little"
    torch.testing.assert_close(c.double(), a[0].double() + a.double() @ b.double(), rtol=1e-2, atol=2e-2)


def test_an_operand_that_is_the_result(rng, tmp_path):
    # Each program reads and writes rows of its own.
    a, b = matrix(rng, 320, 64), matrix(rng, 64, 64)
    expected = a.double() @ b.double()
    launch(product_of(""), a, b, a)
    torch.testing.assert_close(a.double(), expected, rtol=1e-2, atol=2e-2)


def test_all_kernels_that_can_where_that_is_asked(rng, tmp_path):
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.persistence = True
        for m, n, k in ((64, 64, 64), (192, 136, 9 * 32), (0, 64, 64)):
            a, b, c = matrix(rng, m, k), matrix(rng, k, n), poisoned(m, n)
            assert launch(product_of(""), a, b, c).metadata.persistent
            torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)


def test_an_edited_stage_is_what_runs(rng, tmp_path):
    """No other way to launch the kernel is compiled beside it, as that would be another one."""
    a, b, c = matrix(rng, 192, 64), matrix(rng, 64, 64), poisoned(192, 64)
    assert launch(product_of(""), a, b, c).metadata.persistence and loops(tmp_path) == 1
    [own] = [path for path in (tmp_path / "dump").rglob("*.ttgir") if "tt.programs" not in path.read_text()]
    for stage in ("ptx", "llir"):
        folder = tmp_path / stage
        folder.mkdir()
        (folder / f"product.{stage}").write_text(own.with_suffix(f".{stage}").read_text())
        triton.knobs.cache.override_dir, triton.knobs.compilation.override = str(folder), True
        again = poisoned(192, 64)
        assert not launch(product_of(""), a, b, again).metadata.persistence and loops(tmp_path) == 1
        assert torch.equal(again, c)
