"""Tensor descriptors as arguments: on the CPU, in the interpreter and on emulated GPUs, against NumPy."""

import inspect
import re

import descriptor_kernels as kernels
import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.runtime.jit import MockTensor
from deuteron.tools.tensor_descriptor import TensorDescriptor

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90"]


def numbers(rng, shape, dtype):
    """Numbers of a type, as an array whose last stride is 1 and whose others are multiples of 16 bytes."""
    item = np.dtype(dtype).itemsize
    padded = (*shape[:-1], -(-shape[-1] * item // 16) * 16 // item) if len(shape) > 1 else shape
    low = {"i": -100, "u": 2**31 - 100}.get(np.dtype(dtype).kind)
    values = rng.standard_normal(padded) if low is None else rng.integers(low, low + 200, padded)
    return values.astype(dtype)[..., :shape[-1]]


def equal(got, expected):
    np.testing.assert_array_equal(got, expected)


CASES = [
    # shape, block, where it is read, where it is written
    ((37, ), (16, ), (24, ), (32, )),
    ((64, ), (32, ), (-8, ), (16, )),
    ((7, 37), (4, 16), (5, 32), (4, 24)),
    ((9, 48), (8, 16), (-3, 40), (0, 32)),
    ((3, 5, 20), (2, 4, 16), (2, 3, 8), (1, 2, 8)),
    ((2, 3, 4, 24), (2, 2, 4, 8), (1, 2, 1, 16), (0, 1, 2, 20)),
    ((2, 2, 3, 4, 16), (1, 2, 2, 4, 16), (1, 1, 2, -1, 8), (1, 0, 1, 2, 0)),
    ((5, 16), (4, 16), (40, 0), (5, 0)),
]


@pytest.mark.parametrize("places", kernels.PLACES, ids=str)
@pytest.mark.parametrize("dtype, flat", [("float16", True), ("float32", False)])
def test_blocks_begin_anywhere(engine, places, dtype, flat, rng):
    kernels.check_moved_by_dots(np.array, np.array, rng, places, dtype, flat)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "x".join(map(str, case[0])))
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_blocks_are_moved_and_cut_at_the_edges(engine, case, dtype, rng):
    shape, block, at, to = case
    for padding in ["zero"] + ["nan"] * (dtype != "int8"):
        src, dst = numbers(rng, shape, dtype), numbers(rng, shape, dtype)
        expected = kernels.block_of(src, at, block, np.nan if padding == "nan" else 0)
        after = kernels.stored(dst, to, expected)
        kernels.move[(1, )](TensorDescriptor.from_tensor(src, list(block), padding),
                            TensorDescriptor.from_tensor(dst, list(block)), at, to)
        equal(dst, after)


def test_kernels_ask_descriptors(engine, rng):
    x = numbers(rng, (6, 40), np.float16)
    out = np.zeros(4, np.int64)
    kernels.facts[(1, )](TensorDescriptor.from_tensor(x, (4, 32)), out)
    assert out.tolist() == [6, 40, 40, 1]


BITS_AND_ORDER = ["min", "max", "and", "or", "xor"]
#: What the language combines of each type.
COMBINED = {"int32": ["add", *BITS_AND_ORDER], "uint32": ["add", *BITS_AND_ORDER], "int64": BITS_AND_ORDER, "float32": ["add"],
            "float16": ["add"]}


@pytest.mark.parametrize("dtype, kind", [(dtype, kind) for dtype, kinds in COMBINED.items() for kind in kinds])
def test_blocks_are_combined_into_memory(engine, kind, dtype, rng):
    x, values = numbers(rng, (7, 24), dtype), numbers(rng, (4, 16), dtype)
    operation = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                 "xor": np.bitwise_xor}[kind]
    inside = kernels.block_of(x, (5, 16), (4, 16), 0)
    expected = kernels.stored(x, (5, 16), operation(inside, values).astype(dtype))
    kernels.combine[(1, )](TensorDescriptor.from_tensor(x, [4, 16]), TensorDescriptor.from_tensor(values, [4, 16]),
                           (5, 16), kind)
    equal(x, expected)


@pytest.mark.parametrize("index", [np.int16, np.int32])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_rows_are_gathered_and_scattered(engine, dtype, index, rng):
    src = numbers(rng, (21, 72), dtype)
    rows = rng.integers(0, 21, 16).astype(index)
    rows[3], rows[7] = -1, 21
    column, width, height = 56, 32, 13
    dst = numbers(rng, (height, width), dtype)
    inside = (rows >= 0) & (rows < 21)
    picked = np.zeros((16, width), dtype)
    picked[inside, :72 - column] = src[rows[inside], column:]
    kernels.pick_rows[(1, )](TensorDescriptor.from_tensor(src, [1, width]), TensorDescriptor.from_tensor(dst, [1, width]),
                             rows, column, COUNT=16)
    equal(dst, picked[::-1][:height])


def test_what_cannot_be_gathered(rng):
    x = numbers(rng, (16, 32), np.float16)

    def refused(block, rows, count, wanted):
        desc = TensorDescriptor.from_tensor(x, block)
        with pytest.raises(triton.CompilationError, match=wanted):
            kernels.pick_rows[(1, )](desc, desc, rows, 0, COUNT=count)

    rows = np.arange(16, dtype=np.int32)
    refused([2, 32], rows, 16, "must have 1 row")
    refused([1, 8], rows, 16, "at least 16 columns")
    refused([1, 32], rows, 4, "at least 8 rows")
    refused([1, 32], rows.astype(np.int64), 16, "int16 or int32")


def test_loads_round_to_tf32(engine, rng):
    x = numbers(rng, (8, 32), np.float32)
    x[0, :6] = [np.inf, -np.inf, np.nan, 0.0, 1 + 2**-11, 1 + 3 * 2**-11]
    out = np.zeros_like(x)
    kernels.move[(1, )](TensorDescriptor.from_tensor(x, [8, 32], round_f32_to_tf32=True),
                        TensorDescriptor.from_tensor(out, [8, 32]), (0, 0), (0, 0))
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = ((bits + ((bits >> 13) & 1) + 0xfff) & 0xffffe000).astype(np.uint32).view(np.float32)
    equal(out, np.where(np.isfinite(x), rounded, x))
    assert out[0, 4] == 1 and out[0, 5] == 1 + 2**-9


@pytest.mark.parametrize("subtile", [False, True])
@pytest.mark.parametrize("shape", [(64, 48, 32), (100, 72, 136), (33, 128, 8)])
def test_persistent_matmul(engine, shape, subtile, rng):
    m, n, k = shape
    a, b = numbers(rng, (m, k), np.float16), numbers(rng, (n, k), np.float16)
    c = numbers(rng, (m, n), np.float16)
    kernels.matmul(a, b, c, (64, 32, 32), subtile)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c.astype(np.float64), expected, atol=1e-2, rtol=2e-3)


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(engine, causal, described, rng):
    q, k, v = (numbers(rng, (2, 128, 32), np.float16) for _ in range(3))
    out = np.zeros_like(q)
    kernels.attention_of(q, k, v, out, causal, described)
    scores = np.einsum("hmd,hnd->hmn", *(x.astype(np.float64) for x in (q, k))) / 32**0.5
    if causal:
        scores = np.where(np.tril(np.ones((128, 128), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(out.astype(np.float64), expected, atol=5e-3, rtol=5e-3)


def test_tuning_changes_block_shapes(rng):
    configs = [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SUBTILE": half, "GROUP": 4, "PROGRAMS": 2},
                      pre_hook=kernels.set_blocks) for m, n, k, half in [(32, 32, 16, True), (64, 64, 32, False)]
    ]
    tuned = triton.autotune(configs=configs, key=["M", "N", "K"])(kernels.persistent_matmul)
    a, b = numbers(rng, (70, 40), np.float16), numbers(rng, (56, 40), np.float16)
    c = np.zeros((70, 56), np.float16)
    descs = [TensorDescriptor.from_tensor(x, [1, 8]) for x in (a, b, c)]
    for _ in range(2):
        c[:] = 9
        tuned[(2, )](*descs, 70, 56, 40)
        np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32).T, atol=1e-2, rtol=2e-3)
    assert descs[0].block_shape == [tuned.best_config.kwargs["BLOCK_M"], tuned.best_config.kwargs["BLOCK_K"]]


def test_sizes_are_no_part_of_the_key_but_for_gaps_between_rows(rng):
    def kernel(shape, block=(4, 16), **options):
        x = numbers(rng, shape, np.float32)
        desc = TensorDescriptor.from_tensor(x, list(block), **options)
        return kernels.move[(1, )](desc, desc, (0, 0), (0, 0))

    first = kernel((8, 32))
    assert kernel((100, 64)) is first
    others = [kernel((8, 37)), kernel((8, 32), (4, 32)), kernel((8, 32), padding="nan"),
              kernel((8, 32), round_f32_to_tf32=True)]
    assert len({id(other) for other in [first, *others]}) == 5
    assert kernel((7, 101)) is others[0]
    assert first.src.signature == {"src": "tensordesc<fp32[4, 16]>", "dst": "tensordesc<fp32[4, 16]>",
                                   "at": ("i32", "i32"), "to": ("i32", "i32")}
    assert first.src.attrs[(0, )] == [["tt.divisibility", 16]]


def test_compiling_ahead():
    from triton.compiler import ASTSource

    head = ("(%desc: !tt.tensordesc<4x32xf16>, %desc.shape.0: i32, %desc.shape.1: i32, %desc.stride.0: i64, "
            "%desc.stride.1: i64, %out_ptr: !tt.ptr<i64>)")
    for signature in ["tensordesc<fp16[4,32]>", "tensordesc<fp16[4, 32]>"]:
        source = ASTSource(kernels.facts, {"desc": signature, "out_ptr": "*i64"}, {})
        for target in [None, triton.backends.compiler.GPUTarget("cuda", 90, 32)]:
            text = triton.compile(source, target=target).asm["ttir"]
            assert head in re.sub(r' loc\(("[^"]*":\d+:\d+|#loc\d*)\)', "", text)
    source = ASTSource(kernels.facts, {"desc": "tensordesc<fp16[4,32], padding=nan>", "out_ptr": "*i64"}, {},
                       {(0, ): [["tt.divisibility", 16]]})
    text = triton.compile(source).asm["ttir"]
    assert "{tt.pads_nan = true}" in text and text.count("tt.divisibility = 8") == 1
    with pytest.raises(ValueError, match="power of 2"):
        triton.compile(ASTSource(kernels.facts, {"desc": "tensordesc<fp16[4,33]>", "out_ptr": "*i64"}, {}))


def test_a_warm_up_needs_no_memory(rng):
    mock = TensorDescriptor.from_tensor(MockTensor(torch.float16, [64, 64]), [4, 32])
    kernel = kernels.facts.warmup(mock, MockTensor(torch.int64), grid=(1, ))
    x = torch.zeros(64, 64, dtype=torch.float16)
    out = torch.zeros(4, dtype=torch.int64)
    assert kernels.facts[(1, )](TensorDescriptor.from_tensor(x, [4, 32]), out) is kernel
    out.zero_()
    kernel[(1, )](TensorDescriptor.from_tensor(x[:5], [4, 32]), out)
    assert out.tolist() == [5, 64, 64, 1]
    with pytest.raises(TypeError, match=r"compiled for tensordesc<fp16\[4, 32\]>"):
        kernel[(1, )](TensorDescriptor.from_tensor(x, [4, 16]), out)
    with pytest.raises(TypeError, match="takes a tensordesc"):
        kernel[(1, )](x, out)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.bfloat16, torch.float64, torch.uint8, torch.bool])
def test_every_element_type_is_moved(engine, dtype, rng):
    x = torch.from_numpy(3 * numbers(rng, (9, 48), np.float32)).to(dtype)
    out = torch.zeros(9, 48).to(dtype)
    kernels.move[(1, )](TensorDescriptor.from_tensor(x, [8, 16]), TensorDescriptor.from_tensor(out, [8, 16]), (4, 32),
                        (4, 16))
    got, expected = out.view(torch.uint8).reshape(9, 48, -1), x.view(torch.uint8).reshape(9, 48, -1)
    assert torch.equal(got[4:, 16:32], expected[4:, 32:48]) and not got[:4].any() and not got[:, :16].any()


@triton.jit
def from_a_tuple(pair, out_ptr):
    tl.store(out_ptr + tl.arange(0, 8), pair[0].load([8]) + pair[1].load([0]))


def test_descriptors_stand_in_tuples(engine, rng):
    x, out = numbers(rng, (16, ), np.float32), np.zeros(8, np.float32)
    desc = TensorDescriptor.from_tensor(x, [8])
    from_a_tuple[(1, )]((desc, desc), out)
    equal(out, x[8:] + x[:8])


WRONG = [
    (dict(strides=[24, 1]), AssertionError, "strides must be 16-byte aligned"),
    (dict(strides=[32, 2]), AssertionError, "Last dimension must be contiguous"),
    (dict(shape=[8]), AssertionError, "rank mismatch"),
    (dict(shape=[], strides=[], block_shape=[]), AssertionError, "rank"),
    (dict(shape=[1] * 6, strides=[8] * 5 + [1], block_shape=[1] * 6), AssertionError, "rank"),
    (dict(shape=[8, 0]), AssertionError, "shape must be positive"),
    (dict(block_shape=[4, 12]), ValueError, "power of 2"),
    (dict(block_shape=[0, 16]), ValueError, "power of 2"),
    (dict(block_shape=[2048, 1024]), ValueError, "exceeds triton maximum"),
    (dict(block_shape=[4, 1.5]), TypeError, "integers are expected"),
    (dict(padding="one"), AssertionError, "Illegal value for padding"),
    (dict(round_f32_to_tf32=True), AssertionError, "only supported for float32"),
]


@pytest.mark.parametrize("changes,error,wanted", WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_rules_are_checked_when_made_and_when_launched(changes, error, wanted):
    base = torch.zeros(8, 32, dtype=torch.int8 if "strides" in changes else torch.float16)
    arguments = dict(base=base, shape=[8, 32], strides=[32, 1], block_shape=[4, 16])
    with pytest.raises(error, match=wanted):
        TensorDescriptor(**{**arguments, **changes})
    desc = TensorDescriptor(**arguments)
    for name, value in changes.items():
        setattr(desc, name, value)
    with pytest.raises((ValueError, TypeError, AssertionError), match=f"argument `src` of kernel move.*{wanted}"):
        kernels.move[(1, )](desc, desc, (0, 0), (0, 0))


@triton.jit
def product_of_pieces(a_ptr, b_ptr, c_ptr, places_ptr, cols, pieces, M: tl.constexpr, N: tl.constexpr,
                      K: tl.constexpr):
    acc = tl.zeros((M, N), dtype=tl.float32)
    for piece in range(pieces):
        # Where a piece of A lies, and how many rows it has, each iteration reads for itself.
        start, rows = tl.load(places_ptr + 2 * piece), tl.load(places_ptr + 2 * piece + 1)
        a_desc = tl.make_tensor_descriptor(a_ptr + start * K, [rows, K], [K, 1], [M, K])
        b_desc = tl.make_tensor_descriptor(b_ptr, [cols, pieces * K], [pieces * K, 1], [N, K])
        acc = tl.dot(a_desc.load([0, 0]), b_desc.load([0, piece * K]).T, acc)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@pytest.mark.parametrize("pieces, stages", [(1, 3), (5, 3), (4, 2), (7, 1)])
def test_iterations_make_descriptors_of_what_they_load(engine, rng, pieces, stages):
    m, n, k, cols = 64, 64, 32, 50
    rows = rng.integers(1, m + 1, pieces)
    starts = rng.permutation(pieces) * m
    a = rng.standard_normal((pieces * m, k)).astype(np.float16)
    b = rng.standard_normal((cols, pieces * k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    places = np.stack([starts, rows], axis=1).astype(np.int32)
    product_of_pieces[(1, )](a, b, c, places, cols, pieces, M=m, N=n, K=k, num_stages=stages)
    expected, scale = np.zeros((m, n)), np.zeros((m, n))
    for piece, (start, count) in enumerate(zip(starts, rows)):
        left = a[start:start + count].astype(np.float64)
        right = b[:, piece * k:(piece + 1) * k].astype(np.float64)
        expected[:count, :cols] += left @ right.T
        scale[:count, :cols] += np.abs(left) @ np.abs(right).T
    assert (np.abs(c - expected) <= 2**-20 * scale).all()


def test_bases_must_be_aligned_and_known():
    x = torch.zeros(100, dtype=torch.float16)
    with pytest.raises(AssertionError, match="base must be 16-byte aligned"):
        TensorDescriptor.from_tensor(x[1:], [16])
    with pytest.raises(AssertionError, match="floating point"):
        TensorDescriptor.from_tensor(x.to(torch.int32), [16], padding="nan")
    with pytest.raises(TypeError, match="kernels do not know"):
        TensorDescriptor.from_tensor(np.zeros(16, np.complex64), [16])
    desc = TensorDescriptor.from_tensor(x, [16])
    desc.base = x[1:]
    with pytest.raises(ValueError, match="base must be 16-byte aligned"):
        kernels.move[(1, )](desc, desc, (0, ), (0, ))


@triton.jit
def annotated(desc: tl.int32, constant: tl.constexpr):
    pass


def test_what_descriptors_are_no_arguments_for(rng):
    desc = TensorDescriptor.from_tensor(numbers(rng, (16, ), np.float32), [8])
    with pytest.raises(TypeError, match="annotated as i32 and cannot take a tensor descriptor"):
        annotated[(1, )](desc, 1)
    with pytest.raises(triton.CompilationError, match="expected value shape"):
        kernels.move[(1, )](desc, TensorDescriptor.from_tensor(numbers(rng, (16, ), np.float32), [16]), (0, ), (0, ))


def test_the_interpreter_checks_how_far_memory_goes(rng):
    x = numbers(rng, (4, 32), np.float32)
    desc = TensorDescriptor(x, [8, 32], [32, 1], [8, 32])
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = True
        with pytest.raises(triton.InterpreterError, match="byte 512 of `src, dst`"):
            kernels.move[(1, )](desc, desc, (0, 0), (0, 0))


def test_the_source_is_where_the_reference_has_it():
    from triton.tools.tensor_descriptor import TensorDescriptor as same

    assert same is TensorDescriptor
    assert list(inspect.signature(same).parameters) == ["base", "shape", "strides", "block_shape", "padding",
                                                        "round_f32_to_tf32"]
