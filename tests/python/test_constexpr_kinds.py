"""Objects of types that launches know nothing of, as constexprs: their types are asked once, each object what it has itself."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@triton.jit(interpret=False)
def given(x_ptr, n, WHAT: tl.constexpr):
    tl.store(x_ptr, n)


class Asked(type):
    names = []

    def __getattr__(cls, name):
        Asked.names.append(name)
        raise AttributeError(name)


class Quiet(metaclass=Asked):
    """An object of a type that has nothing of what arrays and numbers have."""


def test_a_type_is_asked_once():
    x = torch.zeros(1)
    first, second = Quiet(), Quiet()
    given[(1, )](x, 3.0, first)
    assert x[0] == 3 and "__dlpack__" in Asked.names
    Asked.names.clear()
    given[(1, )](x, 4.0, first)
    given[(1, )](x, 5.0, second)
    assert x[0] == 5 and not set(Asked.names) & {"data_ptr", "__dlpack__", "__array_interface__", "__index__", "__float__"}


def test_each_object_is_asked_for_its_own():
    x, array = torch.zeros(1), Quiet()
    array.data_ptr = lambda: 64
    given[(1, )](x, 3.0, Quiet())
    with pytest.raises(TypeError, match="is an array"):
        given[(1, )](x, 4.0, array)
    given[(1, )](x, 5.0, Quiet())
    assert x[0] == 5


@pytest.mark.parametrize("what", [tl.float32, tl.pointer_type(tl.int8), torch.float32, tl.exp, (tl.int32, tl.float16), given],
                         ids=["dtype", "pointer", "dtype of torch", "builtin", "tuple", "function"])
def test_types_and_functions(what):
    x = torch.zeros(1)
    for number in (1.0, 2.0):
        given[(1, )](x, number, what)
        assert x[0] == number
