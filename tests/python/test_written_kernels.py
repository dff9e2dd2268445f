"""Kernels that programs write: what such a program asks of the function that it begins with, and sets of the one that it makes."""

import inspect
import types

import numpy as np

import deuteron as triton
import deuteron.language as tl

SCALE = tl.constexpr(3)


def captured_by(factor):
    @triton.jit
    def scaled(x_ptr, n):
        offsets = tl.arange(0, 8)
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * SCALE + factor)

    return scaled


def test_a_kernel_is_made_of_another_one():
    template = captured_by(tl.constexpr(4))
    scope = template.get_capture_scope()
    assert scope["factor"] == 4 and scope["SCALE"] is SCALE and "tl" in scope
    parameters = [p.name for p in inspect.signature(triton.JITFunction.__init__).parameters.values()]
    assert parameters[:9] == ["self", "fn", "version", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline", "repr",
                              "launch_metadata"]
    given = {name: getattr(template, name) for name in parameters[2:]}
    function = types.FunctionType((lambda x_ptr: None).__code__, {**scope})
    function.__name__ = function.__qualname__ = "written"
    made = type(template)(function, **given)
    made._unsafe_update_src("def written(x_ptr):\n    tl.store(x_ptr + tl.arange(0, 8), SCALE * factor)\n")
    made.raw_src, made.starting_line_number = list(template.raw_src), template.starting_line_number
    made.def_file_line_number, made.def_file_col_number = template.def_file_line_number, template.def_file_col_number
    made.file_name = template.file_name
    lines = "\n".join(made.warmup(np.zeros(8, np.float32), grid=(1, )).asm["ttir"].split("loc(")[1:])
    assert f'{__file__}":{template.def_file_line_number + 1}:' in lines
    assert made.raw_src == template.raw_src and made.def_file_line_number == template.starting_line_number + 1
    assert (made.def_file_col_number, made.file_name) == (5, __file__)
    made.__name__, made.__qualname__ = "named", "outer.named"
    assert (made.__name__, made.__qualname__, template.__name__) == ("named", "outer.named", "scaled")
    for interpret in (False, True):
        with triton.knobs.runtime.scope():
            triton.knobs.runtime.interpret = interpret
            x = np.zeros(8, np.float32)
            made[(1, )](x)
            np.testing.assert_array_equal(x, 12)
