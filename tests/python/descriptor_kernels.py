"""Kernels that take tensor descriptors as arguments, for tests of every engine."""

import numpy as np

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def move(src, dst, at, to):
    """One block from a place of one tensor to a place of another; offsets are tuples."""
    dst.store(to, src.load(at))


@triton.jit
def moved_by_dots(src, unit, dst, row, column, to_row, to_column, COUNT: tl.constexpr, BLOCK: tl.constexpr,
                  FLAT: tl.constexpr):
    """Blocks from places of one tensor to places of another, one diagonally behind the other, each multiplied
    by a unit matrix on the way."""
    one = unit.load([0, 0])
    for step in tl.range(COUNT, flatten=FLAT):
        x = src.load([row + step * BLOCK, column + step * BLOCK])
        dst.store([to_row + step * BLOCK, to_column + step * BLOCK], tl.dot(x, one).to(dst.dtype))


PLACES = [
    # where blocks are read, where they are written: along rows at multiples of 16 bytes and not, inside, in front of
    # the tensor and behind it
    ((0, 0), (0, 0)),
    ((-3, 5), (5, -3)),
    ((5, -3), (-3, 5)),
    ((-3, -16), (-3, -16)),
    ((-70, 0), (0, -128)),
    ((0, -128), (-70, 0)),
    ((150, 180), (150, 181)),
    ((-64, 40), (-60, -64)),
]


def check_moved_by_dots(tensor, array, rng, places, dtype, flat):
    """Moves blocks as [`moved_by_dots`] does; ``tensor`` makes a tensor of the engine of an array of NumPy, ``array``
    the other way round."""
    (row, column), (to_row, to_column) = places
    src = rng.standard_normal((160, 192)).astype(np.float16)
    dst = rng.standard_normal((160, 192)).astype(dtype)
    target = tensor(dst)
    descriptors = [TensorDescriptor.from_tensor(of, [64, 64]) for of in (tensor(src), tensor(np.eye(64, dtype=np.float16)),
                                                                         target)]
    moved_by_dots[(1, )](*descriptors, row, column, to_row, to_column, 3, 64, flat)
    expected = dst
    for step in range(0, 192, 64):
        block = block_of(src, (row + step, column + step), (64, 64), 0)
        expected = stored(expected, (to_row + step, to_column + step), block.astype(dtype))
    np.testing.assert_array_equal(array(target), expected)


@triton.jit
def facts(desc, out_ptr):
    """What a kernel can ask a descriptor."""
    tl.static_assert(isinstance(desc, tl.tensor_descriptor) and isinstance(desc, tl.core.tensor_descriptor_base))
    tl.static_assert(desc.dtype == tl.float16)
    tl.static_assert(desc.block_shape[0] == 4 and desc.block_shape[1] == 32 and len(desc.block_shape) == 2)
    tl.static_assert(desc.block_type.numel == 128)
    for dim in tl.static_range(2):
        tl.store(out_ptr + dim, desc.shape[dim])
        tl.store(out_ptr + 2 + dim, desc.strides[dim])


@triton.jit
def combine(desc, values, at, KIND: tl.constexpr):
    """A block combined into memory."""
    x = values.load([0, 0])
    if KIND == "add":
        desc.atomic_add(at, x)
    elif KIND == "min":
        desc.atomic_min(at, x)
    elif KIND == "max":
        desc.atomic_max(at, x)
    elif KIND == "and":
        desc.atomic_and(at, x)
    elif KIND == "or":
        desc.atomic_or(at, x)
    else:
        desc.atomic_xor(at, x)


@triton.jit
def pick_rows(src, dst, rows_ptr, column, COUNT: tl.constexpr):
    """Rows of one tensor, written in reverse order of their numbers to another."""
    rows = tl.load(rows_ptr + tl.arange(0, COUNT))
    block = src.gather(rows, column)
    dst.scatter(block, COUNT - 1 - tl.arange(0, COUNT), 0)


@triton.jit
def tile_of(tile, num_pid_m, num_pid_n, GROUP: tl.constexpr):
    """Tiles in groups of rows."""
    in_group = GROUP * num_pid_n
    first = (tile // in_group) * GROUP
    size = min(num_pid_m - first, GROUP)
    return first + (tile % size), (tile % in_group) // size


@triton.jit
def persistent_matmul(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      BLOCK_K: tl.constexpr, GROUP: tl.constexpr, SUBTILE: tl.constexpr, PROGRAMS: tl.constexpr,
                      ROLES: tl.constexpr = False):
    """``c = a @ b.T``; each program makes tile after tile."""
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), num_pid_m * num_pid_n, PROGRAMS, flatten=not ROLES, warp_specialize=ROLES):
        pid_m, pid_n = tile_of(tile, num_pid_m, num_pid_n, GROUP)
        row, column = pid_m * BLOCK_M, pid_n * BLOCK_N
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, step * BLOCK_K])
            b = b_desc.load([column, step * BLOCK_K])
            accumulator = tl.dot(a, b.T, accumulator)
        if SUBTILE:
            halves = tl.permute(tl.reshape(accumulator, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c_desc.store([row, column], left.to(c_desc.dtype))
            c_desc.store([row, column + BLOCK_N // 2], right.to(c_desc.dtype))
        else:
            c_desc.store([row, column], accumulator.to(c_desc.dtype))


def set_blocks(nargs):
    """What a configuration says about its tiles becomes the block shapes of the descriptors."""
    m, n, k = (nargs[f"BLOCK_{name}"] for name in "MNK")
    nargs["a_desc"].block_shape = [m, k]
    nargs["b_desc"].block_shape = [n, k]
    nargs["c_desc"].block_shape = [m, n // 2 if nargs["SUBTILE"] else n]


def matmul(a, b, c, blocks, subtile=False, kernel=persistent_matmul, programs=3, **options):
    """``c = a @ b.T`` by descriptors."""
    (m, k), n = a.shape, b.shape[0]
    tile_m, tile_n, tile_k = blocks
    descriptors = [
        TensorDescriptor.from_tensor(a, [tile_m, tile_k]),
        TensorDescriptor.from_tensor(b, [tile_n, tile_k]),
        TensorDescriptor.from_tensor(c, [tile_m, tile_n // 2 if subtile else tile_n]),
    ]
    return kernel[(programs, )](*descriptors, m, n, k, BLOCK_M=tile_m, BLOCK_N=tile_n, BLOCK_K=tile_k, GROUP=2,
                                SUBTILE=subtile, PROGRAMS=programs, **options)


@triton.jit
def as_descriptor(desc_or_ptr, shape, strides, block_shape):
    """A descriptor is taken as it is; a pointer becomes one."""
    if isinstance(desc_or_ptr, tl.tensor_descriptor):
        return desc_or_ptr
    else:
        return tl.make_tensor_descriptor(desc_or_ptr, shape, strides, block_shape)


@triton.jit
def attention(scale, heads, desc_q, desc_k, desc_v, desc_o, N_CTX, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr,
              BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, ROLES: tl.constexpr = False):
    """The forward pass; all heads lie below each other in one matrix of rows."""
    start_m, head = tl.program_id(0), tl.program_id(1)
    rows = heads * N_CTX
    desc_q = as_descriptor(desc_q, [rows, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_M, HEAD_DIM])
    desc_k = as_descriptor(desc_k, [rows, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_N, HEAD_DIM])
    desc_v = as_descriptor(desc_v, [rows, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_N, HEAD_DIM])
    desc_o = as_descriptor(desc_o, [rows, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_M, HEAD_DIM])
    first = head * N_CTX
    row = first + start_m * BLOCK_M
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    largest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    q = desc_q.load([row, 0])
    end = (start_m + 1) * BLOCK_M if CAUSAL else N_CTX
    for start_n in tl.range(0, end, BLOCK_N, warp_specialize=ROLES):
        k = desc_k.load([first + start_n, 0]).T
        scores = tl.dot(q, k) * scale
        if CAUSAL:
            scores += tl.where(offs_m[:, None] >= start_n + offs_n[None, :], 0, -1.0e6)
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - new[:, None])
        factor = tl.math.exp2(largest - new)
        v = desc_v.load([first + start_n, 0])
        acc = tl.dot(weights.to(desc_v.dtype), v, acc * factor[:, None])
        total = total * factor + tl.sum(weights, 1)
        largest = new
    # `total` began with one for the row's own maximum of minus infinity, which the first factor has made zero.
    desc_o.store([row, 0], (acc / total[:, None]).to(desc_o.dtype))


def attention_of(q, k, v, out, causal, described=True, **options):
    """The forward pass of tensors ``[heads, rows, head_dim]``; ``described`` says whether descriptors are passed."""
    heads, rows, head_dim = q.shape
    tile_m, tile_n = 64, 32
    flat = [x.reshape(heads * rows, head_dim) for x in (q, k, v, out)]
    if described:
        flat = [TensorDescriptor.from_tensor(x, [tile, head_dim]) for x, tile in
                zip(flat, (tile_m, tile_n, tile_n, tile_m))]
    scale = 1.44269504 / head_dim**0.5
    return attention[(rows // tile_m, heads)](scale, heads, *flat, rows, HEAD_DIM=head_dim, BLOCK_M=tile_m,
                                              BLOCK_N=tile_n, CAUSAL=causal, **options)


def block_of(array, at, block, padding):
    """What a load gives: the block at an offset, with padding outside."""
    result = np.full(block, padding, array.dtype)
    low = [max(0, -start) for start in at]
    high = [min(size, limit - start) for size, limit, start in zip(block, array.shape, at)]
    if all(a < b for a, b in zip(low, high)):
        inner = tuple(slice(a, b) for a, b in zip(low, high))
        outer = tuple(slice(start + a, start + b) for start, a, b in zip(at, low, high))
        result[inner] = array[outer]
    return result


def stored(array, at, block):
    """An array after a store of a block at an offset."""
    array = array.copy()
    low = [max(0, -start) for start in at]
    high = [min(size, limit - start) for size, limit, start in zip(block.shape, array.shape, at)]
    if all(a < b for a, b in zip(low, high)):
        inner = tuple(slice(a, b) for a, b in zip(low, high))
        outer = tuple(slice(start + a, start + b) for start, a, b in zip(at, low, high))
        array[outer] = block[inner]
    return array
