"""Stores of blocks that reach past the end of a row, on the emulated sm_90 and the CPU: bulk copies write 16 bytes at a time, and what lies
behind the row is left alone."""

import pytest
import torch
from row_end_kernels import COLUMNS, WAYS, check_row_ends

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor


@pytest.mark.parametrize("emulate", ["", "cuda:90"])
@pytest.mark.parametrize("persistence", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype, columns", COLUMNS)
def test_nothing_is_written_behind_a_row(rng, emulate, persistence, way, dtype, columns):
    with triton.knobs.runtime.scope(), triton.knobs.nvidia.scope():
        triton.knobs.runtime.emulate = emulate
        triton.knobs.nvidia.persistence = persistence
        kernel = check_row_ends("cpu", rng, dtype, columns, way)
    if emulate and (persistence or way != "by addresses"):
        copies = "async_tma_reduce" if way == "added" else "async_tma_copy_local_to_global"
        assert copies in kernel.asm["ttgir"]


@triton.jit
def combine(desc, values, KIND: tl.constexpr):
    block = tl.load(values + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :])
    if KIND == "or":
        desc.atomic_or([0, 0], block)
    elif KIND == "and":
        desc.atomic_and([0, 0], block)
    else:
        desc.atomic_xor([0, 0], block)


@pytest.mark.parametrize("kind", ["or", "and", "xor"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint64])
def test_bits_of_whole_numbers_are_combined(rng, dtype, kind):
    """Bulk copies do not combine bits of whole numbers of 64 bits that have a sign."""
    limits = torch.iinfo(torch.int32 if dtype == torch.int32 else torch.int64)
    old, values = (torch.from_numpy(rng.integers(limits.min, limits.max, (16, 32))) for _ in range(2))
    out = old.to(torch.int32).clone() if dtype == torch.int32 else old.clone().view(dtype)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        given = values.to(torch.int32) if dtype == torch.int32 else values.view(dtype)
        kernel = triton.jit(combine.fn)[(1, )](TensorDescriptor.from_tensor(out, [16, 32]), given, kind)
    expected = {"or": old | values, "and": old & values, "xor": old ^ values}[kind]
    assert torch.equal(out.view(torch.int64) if dtype != torch.int32 else out.long(), expected)
    assert ("async_tma_reduce" in kernel.asm["ttgir"]) == (dtype != torch.int64)
