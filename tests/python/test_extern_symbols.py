"""Functions of libraries by their symbols: `core.extern_elementwise` in functions that are `@core.extern`."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.language import core

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]


@core.extern
def divided(arg0, arg1, _semantic=None):
    return core.extern_elementwise(
        "", "", [arg0, arg1], {
            (core.dtype("fp32"), core.dtype("fp32")): ("__nv_fdiv_rn", core.dtype("fp32")),
            (core.dtype("fp64"), core.dtype("fp64")): ("__nv_ddiv_rn", core.dtype("fp64")),
        }, is_pure=True, _semantic=_semantic)


# Functions that are marked read any global, as those that Python runs do.
PATH = "/nowhere.bc"


@core.extern
def exponential(arg0, _builder=None):
    return core.extern_elementwise("ocml", PATH, [arg0], {(tl.float32, ): ("__ocml_exp_f32", tl.float32)}, is_pure=True,
                                   _builder=_builder)


@core.extern
def ones(arg0, _semantic=None):
    u32 = tl.core.dtype("uint32")
    i32 = tl.core.dtype("int32")
    return tl.core.extern_elementwise("libdevice", "", [arg0], {(i32, ): ("__nv_popc", i32), (u32, ): ("__nv_popc", i32)},
                                      is_pure=True, _semantic=_semantic)


@triton.jit
def by_symbol(out, counts, x, y, n):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, divided(tl.load(x + lanes), 3.0))
    tl.store(out + 8 + lanes, divided(1.0, tl.load(x + lanes)))
    tl.store(out + 16 + lanes, exponential(tl.load(x + lanes)))
    found = ones(tl.load(y + lanes))
    tl.static_assert(found.dtype == tl.int32)
    tl.store(counts + lanes, found + ones(n))


def test_functions_are_called_by_their_symbols(engine):
    random = np.random.default_rng()
    x, y = random.uniform(0.5, 2, 8).astype(np.float32), random.integers(0, 1 << 32, 8).astype(np.uint32)
    out, counts = np.zeros(24, np.float32), np.zeros(8, np.int32)
    by_symbol[(1, )](out, counts, x, y, 7)
    np.testing.assert_array_equal(out[:16], [*(x / np.float32(3)), *(np.float32(1) / x)])
    np.testing.assert_allclose(out[16:], np.exp(x), rtol=1e-6)
    assert counts.tolist() == [int(value).bit_count() + 3 for value in y]


@triton.jit
def of_no_variant(out):
    tl.store(out, divided(1, 2))


@core.extern
def unheard_of(arg0, _semantic=None):
    return core.extern_elementwise("mine", "mine.bc", [arg0], {(tl.float32, ): ("my_function", tl.float32)}, is_pure=True,
                                   _semantic=_semantic)


@triton.jit
def of_another_library(out):
    tl.store(out, unheard_of(tl.load(out)))


def test_other_types_and_other_libraries_are_refused(engine):
    errors = (triton.CompilationError, triton.TritonError, RuntimeError, ValueError)
    with pytest.raises(errors, match="input arg type does not match. Expect one of .*fp32, fp32.*got .*int32, int32"):
        of_no_variant[(1, )](np.zeros(1, np.float32))
    with pytest.raises(errors, match="my_function"):
        of_another_library[(1, )](np.zeros(1, np.float32))
