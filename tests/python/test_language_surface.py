"""Every public name of the reference is there, documented, and says what it is when it is used in the wrong place."""

import importlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import deuteron
import deuteron as triton
import deuteron.language as tl

NAMES = json.loads((Path(__file__).parent / "public_names.json").read_text())


@pytest.mark.parametrize("module", NAMES)
def test_every_public_name_is_there(module):
    found = importlib.import_module(module)
    missing = [name for name in NAMES[module] if not hasattr(found, name)]
    missing += [f"{name}.{member}" for name, members in NAMES[module].items() for member in members
                if hasattr(found, name) and not hasattr(getattr(found, name), member)
                and name not in ("JITFunction", "CompiledKernel", "tensor_descriptor")]
    assert not missing


def language_functions():
    """All functions of the language, libdevice included."""
    for module in (tl, tl.extra.libdevice, tl.extra.cuda, tl.extra.hip):
        for name in dir(module):
            value = getattr(module, name)
            if inspect.isfunction(value) and hasattr(value, "__deuteron_builtin__"):
                yield pytest.param(value, id=f"{module.__name__.rsplit('.', 1)[-1]}.{name}")


@pytest.mark.parametrize("function", list(language_functions()))
def test_functions_are_documented_and_refuse_to_be_called(function):
    assert function.__doc__ and len(function.__doc__) > 8
    parameters = inspect.signature(function).parameters.values()
    required = [1 for parameter in parameters
                if parameter.default is parameter.empty and parameter.kind != parameter.VAR_POSITIONAL]
    with pytest.raises(RuntimeError, match="outside a kernel"):
        function(*required)


def test_there_are_all_of_libdevice():
    assert len(tl.extra.libdevice.__all__) == 198
    assert tl.extra.cuda.libdevice.tanh is tl.extra.libdevice.tanh


def test_functions_of_targets_have_the_paths_of_the_reference():
    for target, module in (("cuda", "utils"), ("cuda", "gdc"), ("hip", "utils")):
        found = importlib.import_module(f"deuteron.language.extra.{target}.{module}")
        assert all(getattr(found, name) is getattr(getattr(tl.extra, target), name) for name in found.__all__)
        assert getattr(getattr(tl.extra, target), module) is found


def test_types_are_named_by_a_builder():
    ir = importlib.import_module("deuteron._C.libtriton.ir")
    builder = ir.builder(ir.context())
    named = {
        tl.int1: "i1", tl.uint8: "i8", tl.int32: "i32", tl.uint64: "i64", tl.void: "none", tl.float16: "f16", tl.bfloat16: "bf16",
        tl.float32: "f32", tl.float64: "f64", tl.float8e5: "f8E5M2", tl.float8e5b16: "f8E5M2FNUZ", tl.float8e4nv: "f8E4M3FN",
        tl.float8e4b8: "f8E4M3FNUZ", tl.float8e4b15: "i8", tl.pointer_type(tl.int16): "!tt.ptr<i16>",
        tl.pointer_type(tl.float16, const=True): '!tt.ptr<f16, "constant">', tl.block_type(tl.float32, [16, 2]): "tensor<16x2xf32>",
        tl.block_type(tl.pointer_type(tl.int8), [4]): "tensor<4x!tt.ptr<i8>>",
    }
    assert {ty: str(ty.to_ir(builder)) for ty in named} == named
    assert tl.int32.to_ir(builder).is_integer(32) and tl.uint32.to_ir(builder) == tl.int32.to_ir(builder) != tl.int64.to_ir(builder)


def test_element_types_of_tensor_maps_have_two_numbers():
    numbers = importlib.import_module("deuteron.backends.nvidia.driver").TMA_DTYPE_DEVICE_TO_HOST
    # 8, 9 and 10 are f32.ftz, f64 and bf16 in PTX; `CUtensorMapDataType` has them in the order f64, bf16, f32.ftz.
    assert [numbers[number] for number in range(16)] == [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15]


def test_the_only_item_is_unwrapped():
    unwrap = tl.core._unwrap_iterable
    assert unwrap(((0, 1), )) == (0, 1) and unwrap((2, 3)) == (2, 3) and unwrap((4, )) == (4, )
    assert unwrap((tl.constexpr((0, 1, 2)), )) == (0, 1, 2)


def test_dtypes():
    assert (str(tl.float32), tl.float32.primitive_bitwidth, tl.int1.itemsize) == ("fp32", 32, 1)
    assert tl.float16.is_fp16() and tl.float16.is_floating() and not tl.float16.is_fp8()
    assert tl.float8e4nv.is_fp8() and tl.float8e5.is_fp8e5() and tl.int1.is_bool()
    assert tl.uint8.get_int_max_value() == 255 and tl.int16.get_int_min_value() == -32768
    pointer = tl.pointer_type(tl.float32)
    assert pointer.is_ptr() and pointer == tl.pointer_type(tl.float32) != tl.pointer_type(tl.int32)
    assert tl.float16.codegen_name() == "float16" and tl.float8e4nv.codegen_name() == "float8e4nv"
    assert tl.core.str_to_ty("*kfp16") == tl.pointer_type(tl.float16, const=True)
    assert tl.block_type(tl.int32, [4, 8]).numel == 32
    assert len({tl.int32, tl.dtype("int32"), tl.core.get_int_dtype(32, True)}) == 1
    with pytest.raises(ValueError, match="no unsigned integer of 24 bits"):
        tl.core.get_int_dtype(24, False)
    with pytest.raises(ValueError, match="no dtype"):
        tl.dtype("int7")
    with pytest.raises(TypeError):
        tl.pointer_type("fp32")


def test_constexprs_compute():
    a = tl.constexpr(7)
    assert (a + 1).value == 8 and (1 - a).value == -6 and (a // tl.constexpr(2)).value == 3
    assert bool(a == 7) and bool(a > 3) and (-a).value == -7 and [10, 11][tl.constexpr(1)] == 11
    assert tl.constexpr(tl.constexpr(3)).value == 3 and repr(a) == "constexpr[7]"


def test_constexpr_functions_are_functions():
    assert deuteron.cdiv(98432, 1024) == 97 and deuteron.cdiv(tl.constexpr(5), 2) == 3
    assert [deuteron.next_power_of_2(n) for n in (1, 2, 3, 781, 8192, 2**40 + 1)] == [1, 2, 4, 1024, 8192, 2**41]


def test_a_name_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(tl, "no_such_operation")
    with pytest.raises(AttributeError, match="no_such_operation"):
        tl.no_such_operation
    assert not hasattr(deuteron, "no_such_thing")


def test_values_of_kernels_cannot_be_made_outside():
    with pytest.raises(RuntimeError, match="value of a kernel"):
        tl.tensor(None, tl.int32)
    with pytest.raises(RuntimeError, match="value of a kernel"):
        list(tl.range(0, 4))
    assert tl.range(4).start == 0 and tl.static_range(1, 9, 2).step == 2


@triton.jit
def two_values(x):
    return x, 2 * x


@triton.jit
def asks_types(out_ptr, N: tl.constexpr):
    x = tl.arange(0, N)
    tl.static_assert(x[None, :].type.get_block_shapes() == (1, N))
    values = two_values(x)
    tl.static_assert(values.type == tl.tuple_type([x.type, x.type]))
    tl.static_assert(values.type != tl.tuple_type((x.type, tl.int32), fields=None))
    tl.store(out_ptr + x, values[1])


@pytest.mark.parametrize("interpret", [False, True])
def test_types_of_blocks_and_tuples(interpret):
    out = np.zeros(8, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        asks_types[(1, )](out, N=8)
    assert np.array_equal(out, 2 * np.arange(8))
    pair = tl.tuple_type([tl.int32, tl.float32], ("a", "b"))
    assert str(pair) == "[a:int32,b:fp32]" and list(pair) == [tl.int32, tl.float32] and pair[1] is tl.float32
