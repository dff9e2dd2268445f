"""Kernels compiled before they are launched, and the hooks around loading."""

import json
import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs
from deuteron.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def everything(x_ptr, y_ptr, n, large, one, flag, scale, pair, function: tl.constexpr, KIND: tl.constexpr,
               BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = (offsets < n) & (offsets < large)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0) * scale + one + pair[0] + pair[1]
    if KIND == "twice":
        x = function(x)
    tl.store(y_ptr + offsets, tl.where(flag, x, 0.0), mask=mask)


@triton.jit
def other(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


@triton.jit
def moves(source, target):
    target.store([0, 0], source.load([0, 0]))


def compiles(launch):
    """The result of a launch, and what the hook of each compile was given."""
    given = []
    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = lambda **facts: given.append(facts["compile"]["specialization_data"]) and None
        return launch(), given


@pytest.mark.parametrize("n, large", [(16, 1 << 40), (15, (1 << 40) + 1), (12, 1 << 63)])
def test_a_preloaded_kernel_is_found(n, large):
    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)

    def launch():
        return everything[(1, )](x, y, n, large, 1, True, 0.5, (3, 1), twice, "twice", BLOCK=16, num_warps=2)

    everything.clear_cache()
    kernel, (data, ) = compiles(launch)
    expected = np.where(np.arange(16) < n, (x * 0.5 + 5) * 2, 0)
    np.testing.assert_array_equal(y, expected)
    everything.clear_cache()
    loaded, again = compiles(lambda: everything.preload(data))
    assert loaded.hash == kernel.hash and again == [data], "hooks hear of it"
    y[:] = 0
    again, none = compiles(launch)
    assert not none and again is loaded
    np.testing.assert_array_equal(y, expected)


def test_options_that_are_dictionaries_are_preloaded():
    x = np.ones(8, np.float32)
    options = dict(BLOCK=8, extern_libs={"libdevice": __file__})
    kernel, (data, ) = compiles(lambda: other[(1, )](x, **options))
    other.clear_cache()
    loaded, _ = compiles(lambda: other.preload(data))
    assert loaded.hash == kernel.hash


def test_libraries_that_are_not_linked_are_said(capfd):
    other[(1, )](np.ones(8, np.float32), BLOCK=8, extern_libs={"libdevice": __file__, "a_library_of_mine": __file__})
    err = capfd.readouterr().err
    assert "extern_libs names `a_library_of_mine`, which is not linked" in err and "`libdevice`" not in err


@triton.jit
def filled(x, TYPE: tl.constexpr, SIZES: tl.constexpr):
    tl.store(x + tl.arange(0, SIZES[0][1]), tl.full((SIZES[0][1], ), SIZES[1], TYPE))


def test_a_dtype_is_a_constant_of_a_warm_up_and_arrays_of_integers_are_preloaded():
    sizes = ((2, 4), 5)
    filled.clear_cache()
    kernel, (data, ) = compiles(lambda: filled.warmup(torch.int32, tl.int16, sizes, grid=(1, )))
    filled.clear_cache()
    loaded, again = compiles(lambda: filled.preload(data))
    assert loaded.hash == kernel.hash and again == [data]
    x = np.zeros(6, np.int32)
    assert compiles(lambda: filled[(1, )](x, tl.int16, sizes))[1] == [] and x.tolist() == [5] * 4 + [0] * 2


def test_a_function_with_another_name_is_preloaded():
    renamed = triton.JITFunction(other.fn)
    renamed.__name__ = "renamed"
    _, (data, ) = compiles(lambda: renamed[(1, )](np.zeros(4, np.float32), BLOCK=4))
    renamed.clear_cache()
    loaded, again = compiles(lambda: renamed.preload(data))
    assert again == [data] and compiles(lambda: renamed[(1, )](np.zeros(4, np.float32), BLOCK=4))[1] == []
    assert loaded.metadata.name == "other"


def test_descriptors_are_preloaded():
    x, y = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64), torch.zeros(64, 64)

    def launch():
        descriptors = [TensorDescriptor.from_tensor(array, [16, 32], "nan") for array in (x, y)]
        return moves[(1, )](*descriptors)

    moves.clear_cache()
    _, (data, ) = compiles(launch)
    moves.clear_cache()
    moves.preload(data)
    assert compiles(launch)[1] == [] and torch.equal(y[:16, :32], x[:16, :32])


def test_what_belongs_to_another_kernel_or_target_is_refused():
    other.clear_cache()
    _, (data, ) = compiles(lambda: other[(1, )](np.zeros(4, np.float32), BLOCK=4))
    with pytest.raises(RuntimeError, match="Specialization data is for other but trying to preload for twice"):
        twice.preload(data)
    foreign = {**json.loads(data), "target": {"backend": "abacus", "arch": 1, "warp_size": 1}}
    with pytest.raises(RuntimeError, match=re.escape("Specialization data is for {'backend': 'abacus'")):
        other.preload(json.dumps(foreign))


def test_hooks_hear_of_loads():
    heard = []

    def hook(when):
        return lambda module, function, name, metadata_group, hash: heard.append((when, function, name, hash))

    hooks = [(knobs.runtime.kernel_load_start_hook, hook("first")), (knobs.runtime.kernel_load_start_hook, hook("start")),
             (knobs.runtime.kernel_load_end_hook, hook("end")), (knobs.runtime.kernel_load_end_hook, hook("last"))]
    for chain, function in hooks:
        chain.add(function)
    try:
        other.clear_cache()
        x = np.ones(8, np.float32)
        kernel = other[(1, )](x, BLOCK=8)
        other[(1, )](x, BLOCK=8)
        assert [when for when, *_ in heard] == ["first", "start", "last", "end"]
        assert all(name == "other" and hash == kernel.hash for _, _, name, hash in heard)
        assert heard[0][1] is None and isinstance(heard[-1][1], int)
    finally:
        for chain, function in hooks:
            chain.remove(function)
    heard.clear()
    other.clear_cache()
    other[(1, )](x, BLOCK=2)
    assert not heard


def test_kernels_are_never_unloaded():
    with pytest.raises(NotImplementedError, match="kernel_unload_hook is not supported.*life of the process"):
        knobs.runtime.kernel_unload_hook.add(print)
