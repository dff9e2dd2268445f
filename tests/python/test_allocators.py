"""Scratch memory of kernels that make tensor descriptors, from allocators that programs set."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def product(a, b, dst, M, N, K, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    left = tl.make_tensor_descriptor(a + row * K, [M - row, K], [K, 1], [BLOCK, BLOCK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(dst, [M, N], [N, 1], [BLOCK, BLOCK])
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        sums = tl.dot(left.load([0, k]), right.load([k, column]), sums)
    target.store([row, column], sums)


class Memory:
    """Memory of the host that begins so many bytes behind a multiple of 256."""

    def __init__(self, size, behind):
        self._bytes = bytearray(size + 512)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._bytes))
        self._address = first + -first % 256 + behind

    def data_ptr(self):
        return self._address


@pytest.mark.parametrize("behind", [0, 64])
def test_memory_that_is_aligned_less_than_asked(behind, rng):
    asked = []

    def allocate(size, alignment, stream):
        asked.append((size, alignment))
        return Memory(size, behind)

    a, b = rng.integers(-8, 8, (128, 192)).astype(np.float16), rng.integers(-8, 8, (192, 128)).astype(np.float16)
    dst = np.zeros((128, 128), np.float32)
    triton.set_allocator(allocate)
    try:
        with triton.knobs.runtime.scope():
            triton.knobs.runtime.emulate = "cuda:90"
            product[(2, 2)](a, b, dst, 128, 128, 192, BLOCK=64)
    finally:
        triton.set_allocator(triton.runtime._allocation._NULL_ALLOCATOR)
    np.testing.assert_array_equal(dst, a.astype(np.float32) @ b.astype(np.float32))
    size, alignment = asked[0]
    assert alignment == 128 and asked[1:] == ([(size + alignment, alignment)] if behind else [])


@pytest.mark.parametrize("stream, expected", [(7, None), (0, "default"), (9, 9)])
def test_memory_belongs_to_the_stream_of_the_launch(stream, expected):
    """With a torch whose current stream is 7: what is freed there may be used again before another stream is done with it."""
    entered, taken = [], []

    class Within:

        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            entered.append(self.stream)

        def __exit__(self, *error):
            entered.pop()

    cuda = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=7), stream=Within, ExternalStream=lambda number: number,
                           default_stream=lambda: "default")
    torch = SimpleNamespace(cuda=cuda, int8="int8", empty=lambda size, dtype, device: taken.append((size, dtype, device, entered[:])))
    triton.runtime._allocation._of_torch(torch, 4096, stream)
    assert taken == [(4096, "int8", "cuda", [] if expected is None else [expected])] and not entered
