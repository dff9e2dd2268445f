"""Launches that copy matrices whose rows begin at no multiple of 16 bytes to where bulk copies can load them, on a GPU."""

import threading

import pytest
import torch
from copied_kernels import any_product_kernel, copiers, launch

import deuteron as triton

TILES = [((128, 256, 64), 8, 3), ((128, 128, 64), 4, 4), ((64, 64, 32), 4, 3)]


@pytest.fixture(autouse=True)
def hopper(tmp_path):
    """A GPU with bulk copies, every stage of every compile in a folder."""
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("NOT RUN: copies are made for bulk copies, on sm_90 alone")
    with triton.knobs.cache.scope(), triton.knobs.compilation.scope(), triton.knobs.nvidia.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        triton.knobs.cache.dump_dir = str(tmp_path / "dump")
        triton.knobs.compilation.dump_ir = True
        yield


def matrix(rng, rows, columns, order="rows", dtype=torch.float16, before=0):
    """Random numbers behind some NaN, by rows or by columns."""
    whole = torch.full((before + rows * columns, ), float("nan"), device="cuda", dtype=dtype)
    inner = whole[before:].view((rows, columns) if order == "rows" else (columns, rows))
    inner.copy_(torch.randn(inner.shape, generator=rng, device="cuda"))
    return inner if order == "rows" else inner.T


def product(kernel, a, b, tile=(128, 128, 64), **options):
    c = torch.full((a.shape[0], b.shape[1]), float("nan"), dtype=a.dtype, device="cuda")
    launch(kernel, a, b, c, tile, **options)
    return c


def check(c, a, b, allowed=1e-2):
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=allowed, atol=10 * allowed)


@pytest.mark.parametrize("tile, num_warps, num_stages", TILES)
@pytest.mark.parametrize("orders", [("rows", "rows"), ("columns", "rows"), ("rows", "columns"), ("columns", "columns")])
@pytest.mark.parametrize("shape", [(1001, 1003, 1005), (511, 2050, 777), (4001, 259, 1027)])
def test_odd_products(rng, tmp_path, shape, orders, tile, num_warps, num_stages):
    m, n, k = shape
    a, b = matrix(rng, m, k, orders[0]), matrix(rng, k, n, orders[1])
    kernel = any_product_kernel()
    for _ in range(3):
        check(product(kernel, a, b, tile, num_warps=num_warps, num_stages=num_stages), a, b)
    assert copiers(tmp_path) == 1


@pytest.mark.parametrize("dtype, allowed", [(torch.bfloat16, 2e-2), (torch.float32, 1e-4)])
def test_elements_of_other_types(rng, tmp_path, dtype, allowed):
    a, b = matrix(rng, 1001, 1003, dtype=dtype), matrix(rng, 1003, 1005, dtype=dtype)
    check(product(any_product_kernel(), a, b, (64, 64, 32)), a, b, allowed)
    assert copiers(tmp_path) == 1


@pytest.mark.parametrize("before", [1, 2, 3, 7])
def test_views_that_begin_anywhere(rng, tmp_path, before):
    a, b = matrix(rng, 1024, 1024, before=before), matrix(rng, 1024, 1024)
    check(product(any_product_kernel(), a, b), a, b)
    assert copiers(tmp_path) == 1


def test_memory_is_given_back(rng):
    a, b, kernel = matrix(rng, 1001, 1003), matrix(rng, 1003, 1005), any_product_kernel()
    c = product(kernel, a, b)
    allocated = torch.cuda.memory_allocated()
    for _ in range(20):
        launch(kernel, a, b, c, (128, 128, 64))
    assert torch.cuda.memory_allocated() == allocated
    check(c, a, b)


def test_launches_in_a_row_see_what_was_stored(rng):
    """Each product is the left operand of the next one, whose copy waits for it."""
    size, kernel = 777, any_product_kernel()
    a, b = matrix(rng, size, size), matrix(rng, size, size) / size**0.5
    expected = a
    for _ in range(30):
        a = product(kernel, a, b)
        expected = (expected.double() @ b.double()).half()
    torch.testing.assert_close(a.double(), expected.double(), rtol=5e-2, atol=5e-2)


def test_graphs_hold_copies(rng):
    a, b, kernel = matrix(rng, 1001, 1003), matrix(rng, 1003, 1005), any_product_kernel()
    c = product(kernel, a, b)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch(kernel, a, b, c, (128, 128, 64))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(kernel, a, b, c, (128, 128, 64))
    for _ in range(3):
        a.copy_(torch.randn(a.shape, generator=rng, device="cuda"))
        c.fill_(float("nan"))
        graph.replay()
        check(c, a, b)


def test_threads_have_copies_of_their_own(rng):
    kernel, failures = any_product_kernel(), []
    operands = [(matrix(rng, 501, 1003), matrix(rng, 1003, 1505)) for _ in range(4)]

    def work(a, b):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                results = [product(kernel, a, b) for _ in range(20)]
                torch.cuda.current_stream().synchronize()
            for c in results:
                check(c, a, b)
        except BaseException as error:
            failures.append(error)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=pair) for pair in operands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_without_memory_lanes_load(rng, tmp_path):
    def none(arrays, size, alignment, stream):
        raise torch.OutOfMemoryError(f"no {size} bytes")

    a, b = matrix(rng, 1001, 1003), matrix(rng, 1003, 1005)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deuteron.runtime._allocation.allocate_on", none)
        check(product(any_product_kernel(), a, b), a, b)
    assert copiers(tmp_path) == 0
