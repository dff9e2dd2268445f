"""What a kernel takes as an argument: arrays of every kind, views of them, numbers, and what it refuses."""

import ctypes
import inspect

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)


@triton.jit
def copy_strided(x_ptr, y_ptr, rows, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * stride_row + offsets * stride_col, mask=mask)
    tl.store(y_ptr + row * cols + offsets, x, mask=mask)


class DevicePointer:
    """Anything with ``data_ptr()`` and a dtype."""

    def __init__(self, array, dtype):
        self.array = array
        self.dtype = dtype

    def data_ptr(self):
        return self.array.ctypes.data


class ArrayInterface:
    """Only ``__array_interface__``."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class DLPack:
    """Only the DLPack protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


WRAPPERS = {
    "numpy": lambda array: array,
    "torch": torch.from_numpy,
    "data_ptr with torch dtype": lambda array: DevicePointer(array, torch.float32),
    "data_ptr with tl dtype": lambda array: DevicePointer(array, tl.float32),
    "array interface": ArrayInterface,
    "dlpack": DLPack,
    "reinterpreted": lambda array: triton.reinterpret(torch.from_numpy(array.view(np.int32)), tl.float32),
}


@pytest.mark.parametrize("source", WRAPPERS)
@pytest.mark.parametrize("target", WRAPPERS)
def test_arrays_of_every_kind(rng, source, target):
    x, y = rng.standard_normal(1000).astype(np.float32), np.full(1000, np.nan, np.float32)
    double[(8, )](WRAPPERS[source](x), WRAPPERS[target](y), 1000, BLOCK=128)
    assert np.array_equal(y, x * 2)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                                   "float32", "float64"])
def test_element_types(arrays, rng, dtype):
    values = rng.integers(0, 60, 333).astype(dtype)
    output = arrays.make(np.zeros(333, dtype))
    double[(3, )](arrays.make(values), output, 333, BLOCK=128)
    assert np.array_equal(arrays.numpy(output), values * 2)


def test_bfloat16(rng):
    x = torch.from_numpy(rng.standard_normal(300).astype(np.float32)).bfloat16()
    y = torch.full_like(x, float("nan"))
    double[(3, )](x, y, 300, BLOCK=128)
    assert torch.equal(y, x * 2)


def test_booleans_are_bytes(arrays, rng):
    values = rng.integers(0, 2, 100).astype(bool)
    output = arrays.make(np.zeros(100, bool))
    copy_strided[(1, )](arrays.make(values), output, 1, 100, 100, 1, BLOCK=128)
    assert np.array_equal(arrays.numpy(output), values)


def test_views_with_offsets_and_strides(arrays, rng):
    whole = rng.standard_normal((30, 40)).astype(np.float32)
    x = arrays.make(whole)
    for view in (x[3:20, 5:], x.T, x[::2, 1::3], x[7:8]):
        rows, cols = view.shape
        output = arrays.make(np.full((rows, cols), np.nan, np.float32))
        copy_strided[(rows, )](view, output, rows, cols, arrays.stride(view, 0), arrays.stride(view, 1), BLOCK=64)
        assert np.array_equal(arrays.numpy(output), arrays.numpy(view))


def test_addresses_that_are_not_aligned(rng):
    raw = np.zeros(4 * 100 + 64, np.uint8)
    for shift in (1, 2, 4, 12, 16):
        x = raw[shift:shift + 400].view(np.float32) if shift % 4 == 0 else np.frombuffer(
            raw.data, np.float32, 100, shift)
        x[:] = rng.standard_normal(100)
        y = np.full(100, np.nan, np.float32)
        double[(1, )](x, y, 100, BLOCK=128)
        assert np.array_equal(y, x * 2), shift


def test_arrays_without_elements(arrays):
    x, y = arrays.make(np.zeros(0, np.float32)), arrays.make(np.zeros(0, np.float32))
    double[(1, )](x, y, 0, BLOCK=128)
    double[(0, )](x, y, 0, BLOCK=128)


@triton.jit
def store_scalar(out_ptr, value):
    tl.store(out_ptr, value)


@pytest.mark.parametrize("value, dtype", [
    (0, "int64"), (1, "int64"), (16, "int64"), (-5, "int64"), (2**31 - 1, "int64"), (-2**31, "int64"),
    (2**31, "int64"), (2**40, "int64"), (-2**63, "int64"), (2**63, "uint64"), (2**64 - 1, "uint64"), (1.5, "float64"),
    (1e-3, "float32"), (float("inf"), "float32"), (True, "int8"), (False, "int8")])
def test_numbers(value, dtype):
    out = np.zeros(1, dtype)
    store_scalar[(1, )](out, value)
    expected = np.float32(value) if isinstance(value, float) else value
    assert out[0] == np.array(expected).astype(dtype)


@pytest.mark.parametrize("value, dtype", [
    (np.int64(12345678901), "int64"), (np.int32(-7), "int64"), (np.uint8(1), "int64"), (np.float32(1.5), "float32"),
    (np.float64(2.5), "float32"), (np.bool_(True), "int8")])
def test_numpy_scalars_are_numbers(value, dtype):
    """They have an ``__array_interface__`` as arrays do, and are no pointers all the same."""
    out = np.zeros(1, dtype)
    store_scalar[(1, )](out, value)
    assert out[0] == value


@triton.jit
def optional(x_ptr, bias_ptr, y_ptr, BLOCK: tl.constexpr, SCALE: tl.constexpr = 3):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets) * SCALE
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offsets)
    tl.store(y_ptr + offsets, x)


def test_none_and_defaults(arrays, rng):
    x, bias = (rng.standard_normal(64).astype(np.float32) for _ in range(2))
    y = arrays.make(np.zeros(64, np.float32))
    optional[(1, )](arrays.make(x), None, y, BLOCK=64)
    assert np.allclose(arrays.numpy(y), x * 3)
    optional[(1, )](arrays.make(x), arrays.make(bias), y, 64, SCALE=2)
    assert np.allclose(arrays.numpy(y), x * 2 + bias)


def test_addresses_as_plain_memory():
    buffer = (ctypes.c_float * 4)(1, 2, 3, 4)
    out = np.zeros(4, np.float32)
    double[(1, )](np.ctypeslib.as_array(buffer), out, 4, BLOCK=4)
    assert out.tolist() == [2, 4, 6, 8]


class Elsewhere(DevicePointer):
    """A tensor on a device that this machine does not have."""

    def __init__(self, array, device):
        super().__init__(array, torch.float32)
        self.device = device


def test_a_tensor_elsewhere_is_refused():
    x = np.zeros(16, np.float32)
    with pytest.raises((ValueError, triton.TritonError)) as failure:
        double[(1, )](Elsewhere(x, "cuda:0"), x, 16, BLOCK=16)
    message = str(failure.value)
    assert "x_ptr" in message and "cuda" in message and "cpu" in message
    with pytest.raises((ValueError, triton.TritonError), match="meta"):
        double[(1, )](torch.zeros(16, device="meta"), x, 16, BLOCK=16)


@pytest.mark.parametrize("value", ["a text", object(), 1j, {}, 2**64, -2**63 - 1],
                         ids=["text", "object", "complex", "dict", "2**64", "-2**63-1"])
def test_what_is_no_argument_is_refused(value):
    out = np.zeros(1, np.int64)
    with pytest.raises((TypeError, ValueError, OverflowError, triton.TritonError)) as failure:
        store_scalar[(1, )](out, value)
    assert "value" in str(failure.value), "the message names the parameter"


@triton.jit
def mixed(x_ptr, one, nothing, n, BLOCK: tl.constexpr, y_ptr, LAST: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=0.0) + one + LAST)


def test_a_compiled_kernel_takes_all_arguments_or_all_that_are_no_constants():
    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel = mixed[(1, )](x, 1, None, 16, 16, y, 3)
    for arguments in [(x, 1, None, 16, 16, y, 3), (x, 1, None, 16, y), (x, 16, y)]:
        y[:] = 0
        kernel[(1, )](*arguments)
        np.testing.assert_array_equal(y, x + 4, err_msg=str(len(arguments)))
    with pytest.raises(TypeError, match=r"takes 7 arguments \(5 without those annotated as constexpr, 3 without all"):
        kernel[(1, )](x, 1, None, y)


@triton.jit(do_not_specialize=["n"])
def described(x_ptr, n: tl.int32, BLOCK: tl.constexpr, FLAG: tl.constexpr = None):
    tl.store(x_ptr + tl.arange(0, BLOCK), n)


def test_parameters_of_a_kernel_are_described():
    params, empty = described.params, inspect.Parameter.empty
    assert [(param.name, param.num, param.default) for param in params] == [
        ("x_ptr", 0, empty), ("n", 1, empty), ("BLOCK", 2, empty), ("FLAG", 3, None),
    ]
    assert [param.has_default for param in params] == [False, False, False, True]
    assert [param.annotation for param in params] == ["", "int32", "constexpr", "constexpr"]
    assert [param.annotation_type for param in params] == ["", "i32", "", ""]
    assert [param.is_constexpr for param in params] == [False, False, True, True]
    assert [param.do_not_specialize for param in params] == [False, True, False, False]


@triton.jit
def typed(out_ptr, n: int, scale: float, flag: bool, wide: "double", count: np.int64, narrow: "int8_t"):
    tl.static_assert(scale.dtype == tl.float32 and flag.dtype == tl.int1)
    tl.static_assert(wide.dtype == tl.float64 and count.dtype == tl.int64 and narrow.dtype == tl.int8)
    tl.store(out_ptr, scale / 2 + flag.to(tl.int32) + wide + count + narrow + n)


@pytest.mark.parametrize("interpret", [False, True])
def test_types_of_python_and_c_in_annotations_are_those_of_the_arguments(interpret):
    out = np.zeros(1)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        for n in (1, 7, 2**40):
            typed[(1, )](out, n, 3, 2, 4, 5, 6)
            assert out[0] == n + 1.5 + 1 + 4 + 5 + 6
    with pytest.raises(TypeError):
        typed[(1, )](out, 1, 3, True, 4, 5.5, 6)


@triton.jit
def strided(x_ptr, y_ptr, stride: int, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) * stride
    tl.store(y_ptr + i, tl.load(x_ptr + i))


def test_a_stride_of_one_is_known_where_it_is_called_an_int():
    x, y = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret, triton.knobs.runtime.emulate = False, "cuda:90"
        kernel = strided[(1, )](x, y, 1, BLOCK=1024)
    assert np.array_equal(x, y) and "ld.global.v4" in kernel.asm["ptx"]


@triton.jit
def rooted(out_ptr, n: int, counts):
    count, size = counts[0], n
    tl.static_assert(n.dtype == tl.int32 and size.dtype == tl.int32)
    tl.store(out_ptr, 1.0 / tl.sqrt((n * n).to(tl.float32)) + (-count).to(tl.float32))
    tl.store(out_ptr + 1, (n if count.to(tl.int1) else 5) + tl.sum(tl.arange(0, 4)[None, :] * size))


@pytest.mark.parametrize("interpret", [False, True])
def test_an_integer_that_is_one_is_converted_like_others(interpret):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        for n, count in ((4, 3), (1, 3), (4, 1), (1, 1)):
            out = np.zeros(2, np.float32)
            rooted[(1, )](out, n, (count, ))
            assert out.tolist() == [1 / n - count, 7 * n]


def nested(depth):
    found = (1, )
    for _ in range(depth):
        found = (found, )
    return found


def in_itself(kind):
    found = kind()
    found.append(found) if kind is list else found.update(one=found)
    return found


@triton.jit
def with_constexpr(out, c: tl.constexpr):
    tl.store(out, 1)


@triton.jit
def with_value(out, c):
    tl.store(out, 1)


@pytest.mark.parametrize("interpret", [False, True])
def test_what_is_nested_too_deep_is_refused(interpret):
    out = np.zeros(1, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        for kernel in with_constexpr, with_value:
            kernel[(1, )](out, nested(90))
        for kernel, value in (with_constexpr, in_itself(list)), (with_constexpr, nested(100_000)), (with_value, nested(100_000)):
            with pytest.raises(RecursionError):
                kernel[(1, )](out, value)
        with pytest.raises(RecursionError):
            with_constexpr[(1, )](out, tl.constexpr(in_itself(list)))
    assert out[0] == 1


@pytest.mark.parametrize("value", [in_itself(list), in_itself(dict), nested(100_000)], ids=["list", "dict", "tuple"])
def test_what_contains_itself_is_refused_outside_of_kernels(value):
    with pytest.raises((RecursionError, RuntimeError)):
        tl.abs(value)


def test_signatures_may_not_be_nested_deep():
    for signature, constexprs in ({"out": "*i32", "c": "constexpr"}, {"c": in_itself(list)}), ({"out": "*i32", "c": nested(100_000)}, {}):
        with pytest.raises(RecursionError):
            triton.compile(triton.compiler.ASTSource(fn=with_constexpr, signature=signature, constexprs=constexprs))


def test_kernels_are_not_iterated():
    tuned = triton.autotune([triton.Config({"c": 1})], key=[])(with_constexpr)
    for kernel in with_constexpr, tuned, triton.heuristics({"c": lambda args: 1})(with_constexpr):
        with pytest.raises(TypeError, match="not iterable"):
            list(kernel)
        with pytest.raises(TypeError, match="not iterable"):
            3 in kernel  # noqa: B015


@triton.jit
def parts_of_number(out_ptr, NUMBER: tl.constexpr, PAIR: tl.constexpr):
    tl.store(out_ptr, NUMBER >> 60)
    tl.store(out_ptr + 1, NUMBER % 1009)
    tl.store(out_ptr + 2, PAIR[1] // NUMBER if PAIR[1] > 0 else -1)
    if NUMBER > 0:
        tl.store(out_ptr + 3, NUMBER.bit_length())


@pytest.mark.parametrize("emulate", ["", "interpreter", "cuda:90"])
@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, 2**100 + 77, 2**121, -2**64 - 5, -2**110])
def test_constants_of_more_than_64_bits(emulate, number):
    out, pair = torch.zeros(4, dtype=torch.int64), (1, 3 * number + 1)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = emulate == "interpreter"
        triton.knobs.runtime.emulate = emulate.removeprefix("interpreter")
        kernel = triton.jit(parts_of_number.fn)
        kernel[(1, )](out, number, pair)
        kernel[(1, )](out, number, pair)
    expected = [number >> 60, number % 1009, pair[1] // number if pair[1] > 0 else -1, number.bit_length() if number > 0 else 0]
    assert out.tolist() == expected


@pytest.mark.parametrize("interpret", [False, True])
def test_integers_that_do_not_fit_are_refused(interpret):
    out = torch.zeros(4, dtype=torch.int64)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        kernel = triton.jit(parts_of_number.fn)
        with pytest.raises((OverflowError, triton.CompilationError), match="128 bits|too large"):
            kernel[(1, )](out, 2**200, (1, 2))
        with pytest.raises(OverflowError, match="does not fit 64 bits"):
            triton.jit(double.fn)[(1, )](out, out, 2**64, 16)


@pytest.mark.parametrize("interpret", [False, True])
def test_tensors_without_memory_are_compiled_for_but_not_launched(interpret):
    kernel = triton.jit(double.fn, interpret=interpret)
    freed = torch.zeros(16)
    freed.untyped_storage().resize_(0)
    y = torch.zeros(16)
    for x in (torch.ones(16), torch.ones(16)):
        kernel[(1, )](x, y, 16, BLOCK=16)
    for nowhere in (freed, FakeTensorMode().from_tensor(torch.zeros(16))):
        if not interpret:
            assert kernel.warmup(nowhere, y, 16, BLOCK=16, grid=(1, )) is not None
        with pytest.raises((ValueError, triton.TritonError), match="x_ptr.*elements and no memory"):
            kernel[(1, )](nowhere, y, 16, BLOCK=16)
    # Without elements none are missing.
    kernel[(1, )](torch.zeros(0), y, 0, BLOCK=16)
    assert y.eq(2).all()


@triton.jit
def double_first(pair, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.load(pair[0] + at) * 2)
    tl.store(pair[1][0] + at, 3.0)


@triton.jit
def double_described(x, y_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), x.load([0]) * 2)


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("launches_before", [0, 1, 4])
def test_tensors_without_memory_inside_of_arguments_are_refused(interpret, launches_before):
    y = torch.zeros(16)
    wrapped = {
        "first": (double_first, "pair", lambda x: (x, (torch.zeros(16), 5))),
        "deep": (double_first, "pair", lambda x: (torch.ones(16), (x, 5))),
        "descriptor": (double_described, "x", lambda x: TensorDescriptor(x, [16], [1], [16])),
    }
    for name, (function, parameter, wrap) in wrapped.items():
        kernel = triton.jit(function.fn, interpret=interpret)
        x = torch.ones(16)
        argument = wrap(x)
        for _ in range(launches_before):
            y.zero_()
            kernel[(1, )](argument, y, 16)
            assert y.eq(2).all(), name
        x.untyped_storage().resize_(0)
        if not interpret:
            assert kernel.warmup(argument, y, 16, grid=(1, )) is not None
        with pytest.raises((ValueError, triton.TritonError), match=f"{parameter}.*elements and no memory"):
            kernel[(1, )](argument, y, 16)


@triton.jit
def asks_by_truth(x_ptr, out_ptr, flag):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, x, allow_tf32=flag) + tl.sum(x, 1, keep_dims=flag))


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.filterwarnings("ignore:.*counts as true")
def test_run_time_flags_count_as_true_where_the_reference_asks_by_truth(flag):
    x, out = np.arange(256, dtype=np.float32).reshape(16, 16) % 7, np.empty((16, 16), np.float32)
    asks_by_truth[(1, )](x, out, flag)
    assert (out == x @ x + x.sum(1, keepdims=True)).all()
