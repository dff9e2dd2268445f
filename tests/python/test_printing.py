"""What kernels print while they are compiled."""

import io
import sys

import numpy as np
import pytest

import triton
import triton.language as tl


@triton.jit
def says(x_ptr, N: tl.constexpr, NAME: tl.constexpr):
    tl.static_print("N is", N, NAME, sep="|")
    tl.static_print(f"{N + 1 = }", end="!\n")
    tl.store(x_ptr, N)


@triton.jit
def says_and_fails(x_ptr, N: tl.constexpr):
    tl.static_print("before", N)
    tl.store(x_ptr, unknown_name)  # noqa: F821


@triton.jit
def says_elsewhere(x_ptr, FILE: tl.constexpr):
    tl.static_print("lost", file=FILE)


def test_static_print_prints_once_when_compiling(capsys):
    x = np.zeros(1, np.int32)
    says[(1,)](x, 41, "red")
    assert x[0] == 41
    assert capsys.readouterr().out == "N is|41|red\n42!\n".replace("42", "N + 1 = 42")
    says[(1,)](x, 41, "red")
    assert capsys.readouterr().out == ""
    says[(1,)](x, 43, "blue")
    assert capsys.readouterr().out == "N is|43|blue\nN + 1 = 44!\n"


def test_static_print_of_a_compile_that_fails(capsys):
    with pytest.raises(triton.CompilationError):
        says_and_fails[(1,)](np.zeros(1, np.int32), 5)
    assert capsys.readouterr().out == "before 5\n"


def test_static_print_follows_the_standard_output_of_the_moment(monkeypatch):
    x = np.zeros(1, np.int32)
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stdout", heard)
    says[(1,)](x, 50, "green")
    assert heard.getvalue().startswith("N is|50|green\n")
    monkeypatch.setattr(sys, "stdout", None)
    says[(1,)](x, 51, "green")
    assert x[0] == 51


def test_static_print_to_another_file_is_refused():
    with pytest.raises(triton.CompilationError, match="another file"):
        says_elsewhere[(1,)](np.zeros(1, np.int32), 2)
