"""Floats that do not fit become the same integers on every engine: the ends of the type, or of 16 bits for bytes."""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "cuda:80", "cuda:90", "hip:gfx942", "hip:gfx1100"]
KINDS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@triton.jit
def converted(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(y_ptr.dtype.element_ty))


def wanted(numbers, kind):
    bits = np.iinfo(kind).bits
    ends = np.iinfo(f"{'int' if np.iinfo(kind).min else 'uint'}{max(bits, 16)}")
    held = [int(min(max(number, -2.0**80), 2.0**80)) for number in numbers]
    held = [min(max(number, int(ends.min)), int(ends.max)) for number in held]
    return np.array([number % 2**bits for number in held], f"uint{bits}").view(kind)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 128])
def test_what_does_not_fit_is_held(rng, engine, dtype, n):
    powers = 2.0**rng.uniform(-2, 70, 96) * rng.choice([-1, 1], 96)
    ends = [float(end + by) for kind in KINDS for end in (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for by in (-1, 0, 1)]
    x = torch.tensor(np.resize(np.concatenate([powers, ends, [np.inf, -np.inf, -0.5]]), 256)).to(dtype)
    for kind in KINDS:
        y = np.zeros(256, kind)
        with triton.knobs.runtime.scope():
            triton.knobs.runtime.emulate = engine if ":" in engine else ""
            triton.jit(converted.fn, interpret=engine == "interpreter")[(256 // n, )](x, y, N=n)
        np.testing.assert_array_equal(y, wanted(x.double().tolist(), kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chunks_are_converted_as_vectors(kind, dtype):
    x, y = np.zeros(1024, dtype), np.zeros(1024, kind)
    text = converted[(1, )](x, y, N=1024).asm["llir"]
    assert re.search(r"fpto[su]i <\d+ x ", text), text
    # LLVM computes these lane by lane.
    assert ".sat.v" not in text
