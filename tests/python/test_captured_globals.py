"""Globals and closures that a kernel was compiled with: what changes them is an error at the next launch."""

import importlib
import os

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

NUMBER = tl.constexpr(4)
DTYPE = tl.float32
WRAPPED_DTYPE = tl.constexpr(tl.float32)
LIST = tl.constexpr([1, 2])
PAIR = tl.constexpr((1, 2))
TABLE = tl.constexpr({tl.float32: 5, 8: {"name": "eight"}})
ANNOTATED: tl.constexpr = 4
ANNOTATED_BY_TEXT: "tl.constexpr" = "four"


@triton.jit
def number(x):
    tl.store(x, NUMBER)


@triton.jit
def helper():
    return NUMBER


@triton.jit
def through_a_helper(x):
    tl.store(x, helper())


@triton.jit
def dtype(x):
    tl.store(x, tl.full((), 1.75, tl.float32).to(DTYPE))


@triton.jit
def wrapped_dtype(x):
    tl.store(x, tl.full((), 1.75, tl.float32).to(WRAPPED_DTYPE))


@triton.jit
def listed(x):
    tl.store(x, LIST[0] + LIST[1])


@triton.jit
def paired(x):
    tl.store(x, PAIR[0] + PAIR[1])


@triton.jit
def looked_up(x):
    NAME: tl.constexpr = TABLE[8]["name"]
    tl.static_assert(NAME[0] == "e" and NAME[-2:] == "ht" and NAME[::-1] == "thgie")
    tl.store(x, TABLE[x.dtype.element_ty])


@triton.jit
def annotated(x):
    tl.store(x, ANNOTATED if ANNOTATED_BY_TEXT == "four" else 0)


def launch(kernel):
    x = np.zeros(1, np.float32)
    kernel[(1, )](x)
    return x[0]


CHANGES = [
    (number, "NUMBER", tl.constexpr(5), 4.0, r"from constexpr\[4\] to constexpr\[5\]"),
    (number, "NUMBER", tl.constexpr(4.0), 4.0, r"from constexpr\[4\] to constexpr\[4.0\]"),
    (number, "NUMBER", 4, 4.0, r"from constexpr\[4\] to 4"),
    (through_a_helper, "NUMBER", tl.constexpr(5), 4.0, r"from constexpr\[4\] to constexpr\[5\]"),
    (dtype, "DTYPE", tl.int32, 1.75, "from fp32 to int32"),
    (wrapped_dtype, "WRAPPED_DTYPE", tl.constexpr(tl.int32), 1.75, r"from constexpr\[fp32\] to constexpr\[int32\]"),
    (listed, "LIST", tl.constexpr([1, 3]), 3.0, r"from constexpr\[\[1, 2\]\] to constexpr\[\[1, 3\]\]"),
    (looked_up, "TABLE", tl.constexpr({}), 5.0, r"from constexpr\[\{.*\}\] to constexpr\[\{\}\]"),
    (annotated, "ANNOTATED", 5, 4.0, "from 4 to 5"),
    (paired, "PAIR", tl.constexpr((1, 3)), 3.0, r"from constexpr\[\(1, 2\)\] to constexpr\[\(1, 3\)\]"),
]


@pytest.mark.parametrize("kernel, name, value, expected, text", CHANGES)
def test_a_global_that_changes_is_an_error_until_it_is_put_back(monkeypatch, kernel, name, value, expected, text):
    for _ in range(3):
        assert launch(kernel) == expected
    with monkeypatch.context() as patch:
        patch.setitem(globals(), name, value)
        with pytest.raises(RuntimeError, match=f"Global variable {name} has changed since we compiled this kernel, {text}"):
            launch(kernel)
    assert launch(kernel) == expected


def test_an_equal_value_is_the_same(monkeypatch):
    assert launch(number) == 4
    monkeypatch.setitem(globals(), "NUMBER", tl.constexpr(4))
    assert launch(number) == 4


@pytest.mark.parametrize("change, back", [(lambda: setattr(NUMBER, "value", 6), lambda: setattr(NUMBER, "value", 4)),
                                          (lambda: LIST.value.append(3), lambda: LIST.value.pop()),
                                          (lambda: TABLE.value.update(more=1), lambda: TABLE.value.pop("more"))])
def test_a_constexpr_that_changes_inside_is_an_error(change, back):
    assert launch(number) == 4 and launch(listed) == 3 and launch(looked_up) == 5
    change()
    try:
        with pytest.raises(RuntimeError, match="has changed since we compiled this kernel"):
            launch(number), launch(listed), launch(looked_up)
    finally:
        back()
    assert launch(number) == 4 and launch(listed) == 3 and launch(looked_up) == 5


def test_a_key_that_a_dictionary_has_not_is_an_error():
    missing = tl.constexpr({1: 2})

    @triton.jit
    def kernel(x):
        tl.store(x, missing[3])

    with pytest.raises(triton.CompilationError, match="KeyError: 3"):
        launch(kernel)


def test_a_closure_that_changes_is_an_error():
    factor, kind = tl.constexpr(3), tl.float32

    @triton.jit
    def kernel(x):
        tl.store(x, (tl.full((), 1.5, tl.float32) * factor).to(kind))

    assert launch(kernel) == 4.5
    kind = tl.int32
    with pytest.raises(RuntimeError, match="Global variable kind has changed since we compiled this kernel, from fp32"):
        launch(kernel)
    kind, factor = tl.float32, tl.constexpr(2)
    with pytest.raises(RuntimeError, match="Global variable factor has changed"):
        launch(kernel)


def test_a_name_that_goes_is_an_error(monkeypatch):
    assert launch(number) == 4
    monkeypatch.delitem(globals(), "NUMBER")
    with pytest.raises(RuntimeError, match="Global variable NUMBER has changed since we compiled this kernel"):
        launch(number)


NEW_MODULE = """
import deuteron as triton
import deuteron.language as tl


@triton.jit
def added(x):
    return x + {first}


@triton.jit
def kernel(out_ptr):
    tl.store(out_ptr, added({second}))


@triton.jit
def late(out_ptr):
    tl.store(out_ptr, added({second}) * 1000)
"""


@pytest.mark.parametrize("interpret", [False, True])
def test_a_module_that_is_edited_and_loaded_again_is_new_and_its_old_functions_are_old(tmp_path, monkeypatch, interpret):
    file = tmp_path / f"edited_{interpret}.py"
    file.write_text(NEW_MODULE.format(first=1, second=2))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(file.stem)
    out = torch.zeros(1)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        module.kernel[(1, )](out)
        assert out.item() == 3
        old = module.late
        # Of the same size and age as far as the clock of the files tells; the lines are elsewhere.
        file.write_text("\n" + NEW_MODULE.format(first=50, second=7))
        os.utime(file, (1, 1))
        module = importlib.reload(module)
        for kernel, expected in ((module.kernel, 57), (module.late, 57000)):
            kernel[(1, )](out)
            assert out.item() == expected
        if not interpret:
            # Compiled for the first time now: of the text that it was made of. What it calls is found by name.
            old[(1, )](out)
            assert out.item() == 52000


def test_a_file_that_is_edited_before_the_first_launch(tmp_path, monkeypatch):
    file = tmp_path / "edited_early.py"
    file.write_text(NEW_MODULE.format(first=1, second=2))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(file.stem)
    file.write_text(NEW_MODULE.format(first=50, second=7))
    out = torch.zeros(1)
    module.kernel[(1, )](out)
    assert out.item() == 3
