"""Tensor descriptors as arguments on a GPU, against NumPy and float64."""

import importlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import deuteron as triton
from deuteron.tools.tensor_descriptor import TensorDescriptor

kernels = importlib.import_module("descriptor_kernels")


def device_tensor(array):
    """The values of an array on the GPU, with rows of a multiple of 16 bytes."""
    values = torch.from_numpy(np.array(array))
    item = values.element_size()
    width = -(-values.shape[-1] * item // 16) * 16 // item if values.dim() > 1 else values.shape[-1]
    padded = torch.zeros(*values.shape[:-1], width, dtype=values.dtype, device="cuda")
    padded[..., :values.shape[-1]] = values.cuda()
    return padded[..., :values.shape[-1]]


CASES = [
    # shape, block, where it is read, where it is written
    ((1000, ), (256, ), (896, ), (768, )),
    ((70, 37), (32, 16), (64, 32), (48, 24)),
    ((129, 256), (64, 64), (-3, 224), (100, 0)),
    ((3, 5, 20), (2, 4, 16), (2, 3, 8), (1, 2, 8)),
    ((2, 3, 4, 24), (2, 2, 4, 8), (1, 2, 1, 16), (0, 1, 2, 20)),
    ((2, 2, 3, 4, 16), (1, 2, 2, 4, 16), (1, 1, 2, -1, 8), (1, 0, 1, 2, 0)),
]


@pytest.mark.parametrize("places", kernels.PLACES, ids=str)
@pytest.mark.parametrize("dtype, flat", [("float16", True), ("float32", False), ("float16", False)])
def test_blocks_begin_anywhere(places, dtype, flat):
    kernels.check_moved_by_dots(device_tensor, lambda tensor: tensor.cpu().numpy(), np.random.default_rng(), places,
                                dtype, flat)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "x".join(map(str, case[0])))
@pytest.mark.parametrize("dtype, padding", [(torch.float16, "zero"), (torch.float16, "nan"), (torch.float32, "zero"),
                                            (torch.float32, "nan"), (torch.int8, "zero")])
def test_blocks_are_moved_and_cut_at_the_edges(case, dtype, padding, rng):
    shape, block, at, to = case
    src, dst = ((20 * torch.randn(shape, generator=rng, device="cuda")).to(dtype).cpu().numpy() for _ in range(2))
    expected = kernels.block_of(src, at, block, np.nan if padding == "nan" else 0)
    after = kernels.stored(dst, to, expected)
    target = device_tensor(dst)
    kernels.move[(1, )](TensorDescriptor.from_tensor(device_tensor(src), list(block), padding),
                        TensorDescriptor.from_tensor(target, list(block)), at, to)
    np.testing.assert_array_equal(target.cpu().numpy(), after)


def test_threads_that_have_launched_nothing_make_descriptors(rng):
    """Such a thread has no context of the device yet: gradients are computed by one."""
    source = torch.randn((64, 64), generator=rng, device="cuda").to(torch.float16)
    unit, target = torch.eye(32, dtype=torch.float16, device="cuda"), torch.full_like(source, torch.nan)
    moved = [TensorDescriptor.from_tensor(tensor, [32, 32]) for tensor in (source, unit, target)]
    torch.cuda.synchronize()

    def move():
        kernels.moved_by_dots[(1, )](*moved, 0, 0, 0, 0, COUNT=2, BLOCK=32, FLAT=False)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(move).result()
    torch.cuda.synchronize()
    for at in (slice(0, 32), slice(32, 64)):
        assert torch.equal(target[at, at], source[at, at])


FLOATS = [(dtype, kind) for dtype in (torch.float16, torch.bfloat16) for kind in ("add", "min", "max")]
INTEGERS = [(dtype, kind) for dtype in (torch.int32, torch.uint32, torch.uint64) for kind in ("add", "min", "max", "and", "xor")]


@pytest.mark.parametrize("dtype, kind", [(torch.float32, "add"), (torch.int64, "min"), (torch.int64, "or"), *FLOATS, *INTEGERS])
def test_bulk_copies_combine_what_lanes_do(dtype, kind, rng):
    """To the same bits, with NaN, infinities and negative zeros. Sums of whole numbers are exact in any order."""
    if dtype.is_floating_point:
        values = torch.randint(-8, 9, (2, 64, 64), generator=rng, device="cuda").to(dtype)
        values[torch.rand(values.shape, generator=rng, device="cuda") < 0.05] = float("nan")
        values[torch.rand(values.shape, generator=rng, device="cuda") < 0.05] = -0.0
        values[torch.rand(values.shape, generator=rng, device="cuda") < 0.02] = float("inf")
    else:
        bits = torch.randint(-2**63, 2**63 - 1, (2, 64, 64), generator=rng, device="cuda")
        values = bits.to(torch.int32).view(dtype) if dtype.itemsize == 4 else bits.view(dtype)
    found, texts = [], []
    for lanes in (False, True):
        out = values[1, :50].clone()
        with triton.knobs.nvidia.scope():
            triton.knobs.nvidia.disable_bulk_copies = lanes
            desc, block = (TensorDescriptor.from_tensor(of, [16, 64]) for of in (out, values[0]))
            combine = triton.jit(kernels.combine.fn)
            for row in range(0, 56, 8):  # Blocks that overlap, the last ones at the tensor's end.
                kernel = combine[(1, )](desc, block, (row, 0), kind)
        found.append(out.view(torch.uint8))
        texts.append("cp.reduce.async.bulk" in kernel.asm["ptx"])
    # Bits of whole numbers of 64 bits that have a sign: an illegal instruction.
    assert texts == [torch.cuda.get_device_capability()[0] == 9 and (dtype, kind) != (torch.int64, "or"), False]
    if dtype.is_floating_point:
        one, two = (bits.view(dtype).float() for bits in found)
        torch.testing.assert_close(one, two, rtol=0, atol=0, equal_nan=True)
    else:
        assert torch.equal(*found)


@pytest.mark.parametrize("index", [torch.int16, torch.int32])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_rows_are_gathered_and_scattered(dtype, index, rng):
    src = torch.randn((300, 72), generator=rng, device="cuda").to(dtype)
    rows = torch.randint(0, 300, (64, ), generator=rng, device="cuda").to(index)
    rows[3], rows[7] = -1, 300
    dst = torch.ones((50, 32), dtype=dtype, device="cuda")
    inside = (rows >= 0) & (rows < 300)
    picked = torch.zeros((64, 32), dtype=dtype, device="cuda")
    picked[inside, :16] = src[rows[inside].long(), 56:]
    kernels.pick_rows[(1, )](TensorDescriptor.from_tensor(src, [1, 32]), TensorDescriptor.from_tensor(dst, [1, 32]),
                             rows, 56, COUNT=64)
    assert torch.equal(dst, picked.flip(0)[:50])


@pytest.mark.parametrize("kind", ["add", "min", "max", "and", "or", "xor"])
def test_blocks_are_combined_into_memory(kind, rng):
    x = torch.randint(-100, 100, (7, 24), generator=rng, device="cuda", dtype=torch.int32)
    values = torch.randint(-100, 100, (4, 16), generator=rng, device="cuda", dtype=torch.int32)
    operation = {"add": torch.add, "min": torch.minimum, "max": torch.maximum, "and": torch.bitwise_and,
                 "or": torch.bitwise_or, "xor": torch.bitwise_xor}[kind]
    expected = x.clone()
    expected[5:, 16:] = operation(x[5:, 16:], values[:2, :8])
    kernels.combine[(1, )](TensorDescriptor.from_tensor(x, [4, 16]), TensorDescriptor.from_tensor(values, [4, 16]),
                           (5, 16), kind)
    assert torch.equal(x, expected)


@pytest.mark.parametrize("subtile", [False, True])
@pytest.mark.parametrize("blocks,options", [((64, 32, 32), {}), ((128, 128, 64), dict(num_stages=4)),
                                            ((128, 256, 64), dict(num_warps=8))])
@pytest.mark.parametrize("shape", [(512, 768, 256), (1000, 520, 136), (33, 128, 8)])
def test_persistent_matmul(shape, blocks, options, subtile, rng):
    m, n, k = shape
    a = torch.randn((m, k), generator=rng, device="cuda").half()
    b = torch.randn((n, k), generator=rng, device="cuda").half()
    c = torch.full((m, n), 9, dtype=torch.float16, device="cuda")
    kernels.matmul(a, b, c, blocks, subtile, programs=20, **options)
    torch.testing.assert_close(c.double(), a.double() @ b.double().T, atol=3e-2, rtol=2e-3)


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_attention(head_dim, causal, described, rng):
    q, k, v = (torch.randn((3, 256, head_dim), generator=rng, device="cuda").half() for _ in range(3))
    out = torch.empty_like(q)
    kernels.attention_of(q, k, v, out, causal, described)
    scores = q.double() @ k.double().transpose(1, 2) / head_dim**0.5
    if causal:
        scores = scores.masked_fill(~torch.ones(256, 256, device="cuda").tril().bool(), float("-inf"))
    expected = torch.softmax(scores, -1) @ v.double()
    torch.testing.assert_close(out.double(), expected, atol=5e-3, rtol=5e-3)


def test_tuning_changes_block_shapes(rng):
    configs = [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SUBTILE": half, "GROUP": 4, "PROGRAMS": 16},
                      pre_hook=kernels.set_blocks) for m, n, k, half in [(64, 64, 32, True), (128, 128, 64, False)]
    ]
    tuned = triton.autotune(configs=configs, key=["M", "N", "K"])(kernels.persistent_matmul)
    a = torch.randn((700, 400), generator=rng, device="cuda").half()
    b = torch.randn((560, 400), generator=rng, device="cuda").half()
    c = torch.empty((700, 560), dtype=torch.float16, device="cuda")
    descs = [TensorDescriptor.from_tensor(x, [1, 8]) for x in (a, b, c)]
    tuned[(16, )](*descs, 700, 560, 400)
    torch.testing.assert_close(c.double(), a.double() @ b.double().T, atol=3e-2, rtol=2e-3)
    assert descs[0].block_shape == [tuned.best_config.kwargs["BLOCK_M"], tuned.best_config.kwargs["BLOCK_K"]]


def test_tensors_elsewhere_are_refused():
    desc = TensorDescriptor.from_tensor(torch.zeros(64, dtype=torch.float32), [16])
    with pytest.raises(ValueError, match="cannot be accessed from Triton"):
        kernels.move[(1, )](desc, desc, (0, ), (0, ))
