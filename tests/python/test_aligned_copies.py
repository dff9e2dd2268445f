"""Launches that copy matrices whose rows begin at no multiple of 16 bytes to where bulk copies can load them, on the
emulated sm_90.

Every product is computed twice, of copies and element by element, and compared with float64.
"""

import pytest
import torch
from copied_kernels import any_product_kernel, copiers, launch

import deuteron as triton

TILE = (64, 64, 64)


@pytest.fixture(autouse=True)
def emulated(tmp_path):
    """The emulated sm_90, from nothing, with copies wherever they can be and every stage of every compile in a folder."""
    with (triton.knobs.runtime.scope(), triton.knobs.cache.scope(), triton.knobs.compilation.scope(),
          triton.knobs.nvidia.scope()):
        triton.knobs.runtime.emulate = "cuda:90"
        triton.knobs.cache.dir = str(tmp_path / "cache")
        triton.knobs.cache.dump_dir = str(tmp_path / "dump")
        triton.knobs.compilation.dump_ir = True
        triton.knobs.nvidia.aligned_copies = True
        yield


def matrix(rng, rows, columns, order="rows", dtype=torch.float16, before=0, pitch=None):
    """Random numbers behind some others, by rows or by columns so far apart, with NaN between them."""
    lines, length = (rows, columns) if order == "rows" else (columns, rows)
    pitch = pitch or length
    whole = torch.full((before + lines * pitch, ), float("nan"), dtype=dtype)
    inner = whole[before:].view(lines, pitch)[:, :length]
    inner.copy_(torch.from_numpy(rng.standard_normal((lines, length))))
    return inner if order == "rows" else inner.T


def check(rng, a, b, tile=TILE, allowed=2e-3, **options):
    """What the launch took; the result is as close to float64 as elements one by one give it."""
    results = []
    for copies in (True, False):
        triton.knobs.nvidia.aligned_copies = copies
        c = torch.full((a.shape[0], b.shape[1]), float("nan"), dtype=a.dtype)
        results.append((launch(any_product_kernel(), a, b, c, tile, **options), c))
    expected = a.double() @ b.double()
    for _, c in results:
        torch.testing.assert_close(c.double(), expected, rtol=allowed, atol=allowed)
    return results[0][0]


@pytest.mark.parametrize("orders", [("rows", "rows"), ("columns", "rows"), ("rows", "columns"), ("columns", "columns")])
@pytest.mark.parametrize("shape", [(67, 71, 73), (129, 65, 131), (64, 133, 199), (3, 5, 7)])
def test_products_of_odd_rows(rng, tmp_path, shape, orders):
    m, n, k = shape
    kernel = check(rng, matrix(rng, m, k, orders[0]), matrix(rng, k, n, orders[1]))
    assert "all" in kernel.metadata.unaligned and copiers(tmp_path) == 1


@pytest.mark.parametrize("dtype, allowed", [(torch.bfloat16, 2e-2), (torch.float32, 1e-5), (torch.float8_e5m2, 2e-1)])
def test_elements_of_all_sizes(rng, tmp_path, dtype, allowed):
    a, b = matrix(rng, 33, 35, dtype=dtype), matrix(rng, 35, 37, order="columns", dtype=dtype)
    check(rng, a, b, (32, 32, 32), allowed)
    assert copiers(tmp_path) == 1


@pytest.mark.parametrize("before", [1, 3, 8])
def test_tensors_that_begin_anywhere(rng, tmp_path, before):
    a, b = matrix(rng, 65, 64, before=before), matrix(rng, 64, 72, before=before, pitch=80)
    check(rng, a, b)
    assert copiers(tmp_path) == int(before % 8 != 0)


def test_one_operand_alone(rng, tmp_path):
    kernel = check(rng, matrix(rng, 65, 64), matrix(rng, 64, 71))
    assert kernel.metadata.unaligned.startswith("%1[") and ";" not in kernel.metadata.unaligned
    assert copiers(tmp_path) == 1


def test_a_product_of_a_matrix_with_itself(rng, tmp_path):
    a = matrix(rng, 71, 71)
    check(rng, a, a)
    assert copiers(tmp_path) == 1


def test_few_programs_do_not_gain(rng, tmp_path):
    triton.knobs.nvidia.aligned_copies = None
    a, b, c = matrix(rng, 67, 73), matrix(rng, 73, 71), torch.empty(67, 71, dtype=torch.float16)
    kernel = launch(any_product_kernel(), a, b, c, TILE)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=2e-3)
    assert kernel.metadata.unaligned and copiers(tmp_path) == 0


def test_what_is_no_whole_tensor_is_not_copied(rng, tmp_path):
    """Programs stay inside of the rows that there are, though a size says more."""
    a, b = matrix(rng, 64, 73), matrix(rng, 73, 71)
    c = torch.full((64, 71), float("nan"), dtype=torch.float16)
    any_product_kernel()[(1, 2)](a, b, c, 128, 71, 73, *a.stride(), *b.stride(), c.stride(0), *TILE)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=2e-3)
    assert copiers(tmp_path) == 0


@pytest.mark.parametrize("apart", [True, False])
def test_written_memory_is_not_copied(rng, tmp_path, apart):
    """Where the product is stored behind the rows that are read, in the memory of the same tensor."""
    memory, b = matrix(rng, 128, 65), matrix(rng, 65, 65)
    c = torch.full((64, 65), float("nan"), dtype=torch.float16) if apart else memory[64:]
    expected = memory[:64].double() @ b.double()
    kernel = any_product_kernel()[(1, 2)](memory, b, c, 64, 65, 65, *memory.stride(), *b.stride(), c.stride(0), *TILE)
    torch.testing.assert_close(c.double(), expected, rtol=2e-3, atol=2e-3)
    assert kernel.metadata.unaligned.endswith(" %2") and copiers(tmp_path) == int(apart)


def test_programs_that_wait_for_others_load_elements(rng, tmp_path):
    """What a program sees behind a flag is newer than the launch."""

    def chained(a_ptr, b_ptr, c_ptr, flag_ptr, N, BLOCK: triton.language.constexpr):
        tl = triton.language
        ready = tl.atomic_add(flag_ptr, 1, sem="acquire")
        offs = tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for step in range(0, tl.cdiv(N, BLOCK)):
            at = step * BLOCK + offs
            a = tl.load(a_ptr + offs[:, None] * N + at[None, :], mask=(offs < N)[:, None] & (at < N)[None, :], other=0.0)
            b = tl.load(b_ptr + at[:, None] * N + offs[None, :], mask=(at < N)[:, None] & (offs < N)[None, :], other=0.0)
            total = tl.dot(a, b, total)
        mask = (offs < N)[:, None] & (offs < N)[None, :]
        tl.store(c_ptr + offs[:, None] * N + offs[None, :], (total + ready).to(tl.float16), mask=mask)

    a, b, c = matrix(rng, 61, 61), matrix(rng, 61, 61), torch.full((61, 61), float("nan"), dtype=torch.float16)
    kernel = triton.jit(chained)[(1, )](a, b, c, torch.zeros(1, dtype=torch.int32), 61, 64)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=2e-3)
    assert kernel.metadata.unaligned == "" and copiers(tmp_path) == 0


def test_without_memory_for_copies(rng, tmp_path):
    def none(arrays, size, alignment, stream):
        raise MemoryError(f"no {size} bytes")

    a, b, c = matrix(rng, 67, 73), matrix(rng, 73, 71), torch.full((67, 71), float("nan"), dtype=torch.float16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deuteron.runtime._allocation.allocate_on", none)
        launch(any_product_kernel(), a, b, c, TILE)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=2e-3)
    assert copiers(tmp_path) == 0


@pytest.mark.parametrize("option", ["launch_pdl", "launch_cooperative_grid"])
def test_launches_that_do_not_wait_for_copies(rng, tmp_path, option):
    a, b, c = matrix(rng, 67, 73), matrix(rng, 73, 71), torch.full((67, 71), float("nan"), dtype=torch.float16)
    launch(any_product_kernel(), a, b, c, TILE, **{option: True})
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=2e-3)
    assert copiers(tmp_path) == 0


def test_rows_beside_matrices_are_copied_too(rng, tmp_path):
    """A row whose tensor begins anywhere, loaded in the loop."""

    def scaled(a_ptr, b_ptr, scale_ptr, c_ptr, N, K, BLOCK: triton.language.constexpr):
        tl = triton.language
        offs = tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK)):
            at = step * BLOCK + offs
            a = tl.load(a_ptr + offs[:, None] * K + at[None, :], mask=(offs < N)[:, None] & (at < K)[None, :], other=0.0)
            b = tl.load(b_ptr + at[:, None] * N + offs[None, :], mask=(at < K)[:, None] & (offs < N)[None, :], other=0.0)
            scale = tl.load(scale_ptr + at, mask=at < K, other=0.0)
            total = tl.dot(a * scale[None, :], b, total)
        tl.store(c_ptr + offs[:, None] * N + offs[None, :], total.to(tl.float16), mask=(offs < N)[:, None] & (offs < N)[None, :])

    a, b, scale = matrix(rng, 61, 133), matrix(rng, 133, 61), matrix(rng, 1, 133, before=1)[0]
    c = torch.full((61, 61), float("nan"), dtype=torch.float16)
    kernel = triton.jit(scaled)[(1, )](a, b, scale, c, 61, 133, 64)
    torch.testing.assert_close(c.double(), (a * scale).double() @ b.double(), rtol=2e-3, atol=2e-3)
    assert kernel.metadata.unaligned.count(";") == 2 and copiers(tmp_path) == 1


def test_sizes_change_from_launch_to_launch(rng, tmp_path):
    kernel = any_product_kernel()
    for m, n, k in [(67, 71, 73), (129, 71, 73), (67, 71, 73), (33, 7, 9), (66, 70, 74)]:
        a, b, c = matrix(rng, m, k), matrix(rng, k, n), torch.full((m, n), float("nan"), dtype=torch.float16)
        for _ in range(2):
            launch(kernel, a, b, c, TILE)
            torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=2e-3)
            a.neg_()
    assert copiers(tmp_path) == 1


def test_loops_over_programs_load_copies(rng, tmp_path):
    triton.knobs.nvidia.persistence = True
    check(rng, matrix(rng, 200, 73), matrix(rng, 73, 135))
    texts = [path.read_text() for path in (tmp_path / "dump").rglob("product.ttgir")]
    assert copiers(tmp_path) == 1 and any("tt.map_copied" in text and "tt.programs" in text for text in texts)
