"""Names that the reference does not document and other people's code imports all the same."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.language.standard import _elementwise_max, sort_impl  # noqa: E402
from triton.runtime.jit import compute_cache_key, create_function_from_signature  # noqa: E402


@triton.jit
def wrapped(value1, index1, value2, index2):
    return tl.standard._argmax_combine(value1, index1, value2, index2, True)


def combining(x_ptr, out_ptr, index_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    whole = x.to(tl.int32)
    value, index = tl.reduce((x, i), 0, wrapped)
    tl.store(out_ptr, value)
    tl.store(index_ptr, index)
    value, index = tl.reduce((x, i), 0, tl.standard._argmin_combine_tie_break_left)
    tl.store(out_ptr + 1, value)
    tl.store(index_ptr + 1, index)
    tl.store(out_ptr + 2, tl.reduce(x, 0, tl.standard._sum_combine))
    tl.store(out_ptr + 3, tl.reduce(x, 0, _elementwise_max))
    tl.store(index_ptr + 2, tl.reduce(whole, 0, tl.standard._xor_combine))
    tl.store(index_ptr + 3, tl.reduce(whole, 0, tl.standard._or_combine))
    tl.store(out_ptr + 4 + i, tl.associative_scan(x, 0, tl.standard._prod_combine))
    tl.store(out_ptr + 4 + N + i, sort_impl(x, None, 0, True))
    tl.store(out_ptr + 4 + 2 * N + tl.arange(0, 2), sort_impl(x, 2, descending=True))


@pytest.mark.parametrize("interpret", [False, True])
def test_combine_functions_of_the_library(interpret):
    n = 8
    x = np.array([1, 2, 4, 1, 4, 0, 1, 0], np.float32)
    out, index = np.zeros(4 + 2 * n + 2, np.float32), np.zeros(4, np.int32)
    triton.jit(combining, interpret=interpret)[(1, )](x, out, index, n)
    assert list(out[:4]) == [4, 0, 13, 4] and list(index) == [2, 5, 1 ^ 2 ^ 4 ^ 1 ^ 4 ^ 1, 7]
    np.testing.assert_array_equal(out[4:4 + n], np.cumprod(x))
    np.testing.assert_array_equal(out[4 + n:], [*sorted(x, reverse=True), 4, 4])


@triton.jit
def double(x):
    return x * 2


@triton.jit
def applied(x_ptr, n, F: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, F(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


def test_keys_of_launches_follow_the_text_of_functions():
    bind = create_function_from_signature(applied.signature, applied.params, None)
    x, known = torch.zeros(16), {}

    def key(known, **changed):
        _, found, options = bind(x, changed.pop("n", 32), F=double, BLOCK=64, **changed)
        return compute_cache_key(known, found, options)

    first = key(known)
    assert key(known) == first == key({}) and len(known) == 1 and double.cache_key in first
    assert key(known, n=33) != first != key(known, num_warps=8)
    text = double.src
    double._unsafe_update_src(text.replace("2", "3"))
    try:
        assert key({}) != first
    finally:
        double._unsafe_update_src(text)
    assert key({}) == first


def test_what_a_launch_compiles_for_is_packed():
    import deuteron.runtime.jit as jit

    _, kernel_key_cache, target, backend, bind = applied.device_caches[0]
    assert target == triton.runtime.driver.active.get_current_target() and applied.create_binder()[2] == target
    given = {"F": double, "BLOCK": 64, "num_warps": 8}
    bound, found, left = bind(torch.zeros(16), 32, **given)
    assert compute_cache_key(kernel_key_cache, found, left) in kernel_key_cache.values()
    options, signature, constants, attrs = applied._pack_args(backend, given, bound, found, left)
    assert signature == {"x_ptr": "*fp32", "n": "i32", "F": "constexpr", "BLOCK": "constexpr"} and options.num_warps == 8
    assert constants == {(2, ): double, (3, ): 64} and attrs[(1, )] == [["tt.divisibility", 16]] and not attrs[(2, )]
    source = triton.compiler.ASTSource(applied, signature, constants, attrs)
    assert triton.compile(source, target=target, options=options.__dict__).metadata.num_warps == 8
    with pytest.raises(KeyError, match="such was specified but unrecognised"):
        applied._pack_args(backend, {"such": 1}, bound, found, left)
    parts = ("applied", signature, constants, attrs, {"num_warps": 8}, "a key", target)
    data = json.loads(jit.serialize_specialization_data(*parts))
    assert data["constant_vals"][1] == 64 and data["options"] == {"num_warps": 8}
    assert data["target"]["backend"] == target.backend


def test_hooks_hear_what_a_function_in_the_place_of_the_one_that_writes_says(monkeypatch):
    import deuteron.runtime.jit as jit

    heard = []
    monkeypatch.setattr(jit, "serialize_specialization_data", lambda *args: "instead")
    hear = lambda **named: heard.append(named["compile"]["specialization_data"])  # noqa: E731
    monkeypatch.setattr(triton.knobs.runtime, "jit_post_compile_hook", hear)
    triton.jit(applied.fn, interpret=False).warmup(torch.zeros(16), 7, F=double, BLOCK=16, grid=(1, ))
    assert heard == ["instead"]


def test_sizes_are_unwrapped():
    unwrap = tl.core._unwrap_shape
    assert unwrap((tl.constexpr(4), 8)) == unwrap(tl.constexpr([4, tl.constexpr(8)])) == [4, 8] and unwrap(()) == []


def test_versions_of_ptx():
    from triton.backends.nvidia import compiler

    read = {"10.2": 65, "11.8": 78, "12.4": 84, "12.5": 85, "12.6": 85, "12.9": 88, "13.0": 90, "13.2": 92, "14.0": 100}
    assert {version: compiler.ptx_get_version(version) for version in read} == read
    with pytest.raises(RuntimeError, match="CUDA 10.0"):
        compiler.ptx_get_version("9.2")
    backend = triton.compiler.make_backend(GPUTarget("cuda", 90, 32))
    assert backend.get_target_name(backend.parse_options({})) == "cuda:90"
    for given, feature in ((84, "+ptx84"), (92, "+ptx90")):
        options = backend.parse_options({"ptx_version": given})
        assert compiler.get_ptx_version_from_options(options, 90) == given and compiler.get_features(options, 90) == feature


def test_stages_are_read_from_files(tmp_path):
    from triton._C.libtriton import ir
    from triton.compiler.compiler import filter_traceback, parse

    source = triton.compiler.ASTSource(applied, {"x_ptr": "*fp32", "n": "i32", "F": "constexpr", "BLOCK": "constexpr"},
                                       {"F": double, "BLOCK": 256})
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    context = ir.context()
    ir.load_dialects(context)
    for stage in ("ttir", "ttgir"):
        path = tmp_path / f"applied.{stage}"
        path.write_text(kernel.asm[stage])
        module, names = parse(str(path), stage, context), []
        module.walk(lambda op, names=names: names.append(op.get_name()))
        assert module.context is context and names[-2:] == ["tt.func", "builtin.module"] and names.count("tt.store") == 1
        assert module.get_entry_func_name() == "applied" and module.has_function("applied") and not module.has_function("a")
        assert module.get_function_signature(module.get_function("applied")) == ["*f32", "i32"]
        assert module.get_int_attr("ttg.num-warps") == (8 if stage == "ttgir" else None)
        again = tmp_path / f"again.{stage}"
        again.write_text(str(module))
        assert str(ir.parse_mlir_module(str(again), context)) == str(module)
    (tmp_path / "applied.ptx").write_text(kernel.asm["ptx"])
    assert parse(tmp_path / "applied.ptx", "ptx", context) == kernel.asm["ptx"]
    broken = tmp_path / "broken.ttir"
    broken.write_text("module { tt.func @k() { tt.nothing } }")
    with pytest.raises(triton.CompilationError, match="broken.ttir:1") as failed:
        ir.parse_mlir_module(str(broken), context)
    filter_traceback(failed.value)
    with pytest.raises(RuntimeError, match="no function none"):
        module.get_function("none")


def test_parts_of_the_native_module_that_are_not_there_say_so():
    from triton._C.libtriton import ir, llvm, passes
    from triton._C.libtriton.linear_layout import LinearLayout
    from triton.experimental import gluon
    from triton.experimental.gluon._runtime import GluonASTSource

    assert LinearLayout is triton.tools.LinearLayout and GluonASTSource is gluon.GluonASTSource
    assert not hasattr(passes, "race") and not hasattr(ir, "no_such_name")
    with pytest.raises(AttributeError, match="deuteron opt"):
        passes.common.add_canonicalizer
    with pytest.raises(AttributeError, match="does not lend LLVM"):
        llvm.to_module
