"""Keys of functions follow what these call and read; a text or `noinline` that is changed later is compiled anew."""

from concurrent.futures import Executor, Future

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.language.target_info import current_target, is_cuda

SCALE = tl.constexpr(3)


@triton.jit
def inner(x):
    return x + 1


@triton.jit
def outer(x):
    return inner(x) * SCALE


@triton.constexpr_function
def two():
    return 2


@triton.constexpr_function
def of_python():
    return np.prod(2)


@triton.jit
def kernel(out, of: tl.constexpr):
    tl.store(out, of(4) + two())


@triton.jit
def caller(out):
    tl.store(out, outer(4) + two())


@triton.jit
def reads_python(out):
    tl.store(out, of_python())


@triton.constexpr_function
def of_the_target():
    return current_target() is None or is_cuda()


@triton.jit
def reads_the_target(out):
    tl.store(out, of_the_target())


def launched(function, *args):
    out = np.zeros(1, np.int32)
    function[(1, )](out, *args)
    return out[0]


def changed(function, old, new, do):
    source = function.src
    function._unsafe_update_src(source.replace(old, new))
    try:
        return do()
    finally:
        function._unsafe_update_src(source)


@pytest.mark.parametrize("callee", [inner, outer])
def test_a_text_that_changes_is_seen_by_callers(callee):
    before = caller.cache_key
    assert launched(caller) == 17
    old, new = ("+ 1", "+ 2") if callee is inner else ("* SCALE", "* 7")
    key, result = changed(callee, old, new, lambda: (caller.cache_key, launched(caller)))
    assert key != before and result == (20 if callee is inner else 37)
    assert caller.cache_key == before and launched(caller) == 17


def test_a_text_that_changes_is_seen_where_the_function_is_an_argument():
    assert launched(kernel, inner) == 7
    assert changed(inner, "+ 1", "+ 5", lambda: launched(kernel, inner)) == 11
    assert launched(kernel, inner) == 7


def test_keys_follow_constexpr_functions():
    before = caller.cache_key
    assert changed(two, "2", "3", lambda: caller.cache_key) != before
    assert caller.cache_key == before
    assert changed(inner, "+ 1", "+ 2", lambda: two.cache_key) == two.cache_key


def test_keys_follow_globals(monkeypatch):
    before = caller.cache_key
    monkeypatch.setitem(globals(), "SCALE", tl.constexpr(4))
    assert caller.cache_key != before


def test_functions_of_python_have_no_key():
    with pytest.raises(RuntimeError, match="Unsupported function referenced"):
        reads_python.cache_key


def test_functions_of_the_language_have_keys():
    assert len(reads_the_target.cache_key) == len(two.cache_key)


def test_functions_that_call_each_other_have_keys():

    @triton.jit
    def first(x, n: tl.constexpr):
        return second(x, n - 1) if n > 0 else x

    @triton.jit
    def second(x, n: tl.constexpr):
        return first(x, n)

    assert first.cache_key != second.cache_key


def test_noinline_can_be_set_later():

    @triton.jit
    def function(x):
        return x

    before = function.cache_key
    function.noinline = True
    assert function.noinline and function.cache_key != before


def test_what_was_compiled_is_a_view():

    @triton.jit
    def function(out, n):
        tl.store(out, n)

    kernels = function.device_caches["cpu"][0]
    assert len(kernels) == 0
    launched(function, 3)
    assert len(kernels) == 1 == len(function.device_caches[0][0])
    key, = kernels
    assert "tt.store" in kernels[key].asm["ttir"]
    kernels.clear()
    assert len(kernels) == 0
    assert launched(function, 3) == 3


def test_constexprs_are_specialised():

    @triton.jit(do_not_specialize=["n"])
    def function(out, n: tl.constexpr):
        tl.store(out, n)

    with pytest.raises(triton.CompilationError, match="n marked as constexpr and listed in do_not_specialize"):
        launched(function, 3)


def test_num_warps_is_asserted():

    @triton.jit
    def function(out):
        tl.store(out, 1)

    for kind in (AssertionError, ValueError):
        with pytest.raises(kind, match="must be a power of 2"):
            function[(1, )](np.zeros(1, np.int32), num_warps=3)


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("value", [float("nan"), -0.0])
def test_extrema_of_constants_that_depend_on_the_order(name, value):

    @triton.jit
    def smallest(out, a: tl.constexpr):
        tl.store(out, min(a, 1.0))

    @triton.jit
    def largest(out, a: tl.constexpr):
        tl.store(out, max(1.0, a))

    function = smallest if name == "min" else largest
    with pytest.raises(triton.CompilationError, match=f"{name} of constants does not support"):
        launched(function, value)


class Waiting(Executor):
    """An executor that does nothing until it is asked to."""

    def __init__(self):
        self.tasks = []

    def submit(self, work, *args):
        future = Future()

        def task():
            try:
                future.set_result(work(*args))
            except Exception as error:
                future.set_exception(error)

        self.tasks.append(task)
        return future


def test_warm_ups_are_handed_to_an_executor():

    @triton.jit
    def function(out, n: tl.constexpr):
        tl.static_assert(n != 7)
        tl.store(out, n)

    executor, kernels = Waiting(), function.device_caches[0][0]
    with pytest.raises(triton.CompilationError), triton.AsyncCompileMode(executor):
        for number in (3, 5, 3, 7):
            function.warmup(np.zeros(1, np.int32), number, grid=(1, ))
        assert len(executor.tasks) == 3 == len(kernels)
        executor.tasks[0]()
        assert launched(function, 3) == 3 and len(kernels) == 3
        for task in executor.tasks[1:]:
            task()
    assert len(kernels) == 2 and launched(function, 5) == 5


def test_functions_of_functions_are_found_again():

    @triton.jit
    def five():
        return 5

    @triton.jit
    def stores(out, of: tl.constexpr):
        tl.store(out, of())

    data = []
    triton.knobs.runtime.jit_cache_hook = lambda **said: data.append(said["compile"]["specialization_data"]) and None
    try:
        kernel = stores.warmup(np.zeros(1, np.int32), five, grid=(1, ))
    finally:
        triton.knobs.runtime.jit_cache_hook = None
    stores.clear_cache()
    assert stores.preload(data[0]).hash == kernel.hash


def test_parts_of_maps_have_places():

    @triton.jit
    def less(x, y):
        return x if x < y else y

    @triton.jit
    def function(out):
        x = tl.arange(0, 4)
        tl.store(out + x, tl.map_elementwise(less, x, x + 1))

    text = function.warmup(np.zeros(4, np.int32), grid=(1, )).asm["ttir"]
    assert "map_elementwise" in text and "loc(unknown)" not in text


def test_annotations_of_one_bit():

    @triton.jit
    def function(out, n: "tl.uint1"):
        tl.store(out, n.to(tl.int32))

    out = np.zeros(1, np.int32)
    assert "%n: i1" in function[(1, )](out, True).asm["ttir"]
    assert out[0] == 1
