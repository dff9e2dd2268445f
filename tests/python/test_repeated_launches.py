"""Launches that are like one before take a short way: whatever changes between two of them must be seen all the same."""

import random

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

BLOCK = 64
FACTOR = tl.constexpr(2)


@triton.jit
def axpy(x_ptr, out_ptr, n, scale, shift=3, bias: tl.int32 = 0, flag=True, tag: tl.constexpr = "plus",
         BLOCK: tl.constexpr = BLOCK):
    at = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float64) * scale + shift + bias
    if tag == "minus":
        y = -y
    tl.store(out_ptr + at, tl.where(flag, y, 0.0), mask=at < n)


def launch(x, out, n, scale, **more):
    """Launches of the same line: without names, with one that stands there, with any."""
    if "shift" in more and len(more) == 1:
        return axpy[(1, )](x, out, n, scale, shift=more["shift"])
    if more:
        return axpy[(1, )](x, out, n, scale, **more)
    return axpy[(1, )](x, out, n, scale)


def expected(x, n, scale, shift=3, bias=0, flag=True, tag="plus"):
    y = x.numpy().astype(np.float64)[:n] * np.float64(np.float32(scale) if isinstance(scale, float) else scale) + shift + bias
    return (-y if tag == "minus" else y) * flag


DTYPES = [torch.float32, torch.float64, torch.float16, torch.int32, torch.int8]


def test_arguments_of_all_sorts_in_any_sequence():
    """Most launches are like the one before or the one before that; the others differ in one thing or another."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    state = {"dtype": torch.float32, "skip": 0, "n": 40, "scale": 1.5}
    changes = {
        "dtype": lambda: rng.choice(DTYPES),
        "skip": lambda: rng.randrange(4),
        "n": lambda: rng.choice([1, 0, 16, 17, 63, 64, 1 << 20, 1 << 40, True]),
        "scale": lambda: rng.choice([1.5, -0.25, 2, 1, 1 << 33, True, 0.0]),
    }
    for turn in range(600):
        if rng.random() < 0.4:
            name = rng.choice(list(changes))
            state[name] = changes[name]()
        dtype, skip, n, scale = state.values()
        memory = torch.randint(-50, 50, (BLOCK + 4, )).to(dtype)
        x, out = memory[skip:skip + BLOCK], torch.full((BLOCK, ), 7.0, dtype=torch.float64)
        launch(x, out, n, scale)
        want = np.full(BLOCK, 7.0)
        count = min(int(n), BLOCK)
        want[:count] = expected(x, count, scale)
        assert np.array_equal(out.numpy(), want), (seed, turn, state)


def test_names_options_and_defaults_in_any_sequence():
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    choices = [{}, {"shift": 5}, {"shift": 1}, {"bias": 4}, {"flag": False}, {"tag": "minus"}, {"num_warps": 2},
               {"num_warps": 8, "shift": 2}, {"shift": 2, "num_warps": 8}, {"shift": 2.5}, {"shift": 1 << 40}]
    x = torch.randn(BLOCK)
    for turn in range(600):
        more = rng.choice(choices if rng.random() < 0.3 else choices[turn // 60 % len(choices):][:1])
        out = torch.full((BLOCK, ), 7.0, dtype=torch.float64)
        kernel = launch(x, out, BLOCK, 0.5, **more)
        values = {name: value for name, value in more.items() if name != "num_warps"}
        assert np.array_equal(out.numpy(), expected(x, BLOCK, 0.5, **values)), (seed, turn, more)
        assert kernel.metadata.num_warps == more.get("num_warps", 4), (seed, turn, more)


@triton.jit
def scaled(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at) * FACTOR)


@pytest.fixture
def repeated():
    """A tensor, and a launch that was done a few times."""
    x = torch.ones(BLOCK)
    scaled.clear_cache()

    def again():
        return scaled[(1, )](x, BLOCK)

    kernels = [again() for _ in range(5)]
    assert all(kernel is kernels[0] for kernel in kernels) and (x == 32).all()
    return x, again


def test_hooks_set_later_are_called(repeated):
    x, again = repeated
    seen = []
    scaled.add_pre_run_hook(lambda *args, **kwargs: seen.append("before"))
    try:
        again()
    finally:
        scaled.pre_run_hooks.clear()
    triton.knobs.runtime.launch_enter_hook = lambda metadata: seen.append(metadata.get()["name"])
    try:
        again()
    finally:
        triton.knobs.runtime.launch_enter_hook = None
    again()
    assert seen == ["before", "scaled"] and (x == 256).all()


def test_globals_that_change_are_refused(repeated):
    x, again = repeated
    global FACTOR
    old, FACTOR = FACTOR, tl.constexpr(3)
    try:
        with pytest.raises(RuntimeError, match="FACTOR has changed"):
            again()
    finally:
        FACTOR = old
    again()
    assert (x == 64).all()


def test_a_forgotten_kernel_is_made_again(repeated):
    x, again = repeated
    first = again()
    scaled.clear_cache()
    second = again()
    assert second is not first and again() is second and (x == 256).all()


def test_knobs_set_later_count(repeated):
    x, again = repeated
    plain = again()
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.debug = True
        assert again() is not plain
    assert again() is plain and (x == 256).all()


def test_wrong_arguments_are_told_of_as_ever(repeated):
    _, again = repeated
    for bad in ("text", object(), torch.ones(BLOCK, dtype=torch.complex64), None):
        with pytest.raises((TypeError, ValueError, triton.TritonError)):
            scaled[(1, )](bad, BLOCK)
    with pytest.raises(TypeError, match="missing a required argument"):
        scaled[(1, )](torch.ones(BLOCK))
    with pytest.raises(TypeError, match="positional"):
        scaled[(1, )](torch.ones(BLOCK), BLOCK, 3)
    again()


def test_an_empty_grid_and_other_grids(repeated):
    x, again = repeated
    again()
    scaled[(0, )](x, BLOCK)
    scaled[lambda meta: (1, )](x, BLOCK)
    scaled[1](x, BLOCK)
    assert (x == 256).all()
