"""The examples as the demo runs them, and as programs of their own."""

import importlib

import numpy as np
import pytest
from conftest import EXAMPLES, ROOT

NAMES = ("01_vector_add", "02_softmax", "03_matmul", "04_layer_norm", "05_dropout", "06_attention")


@pytest.mark.parametrize("name", NAMES)
def test_every_check_of_an_example_passes(name):
    checks = list(importlib.import_module(name).checks())
    failed = [(check.label, check.difference, check.allowed) for check in checks if not check.passed]
    assert checks and not failed


@pytest.mark.parametrize("how", [("-m", "deuteron"), ()], ids=["switched", "standalone"])
def test_an_example_is_a_program(python, how, tmp_path):
    done = python(*how, EXAMPLES / "01_vector_add.py", cwd=tmp_path)
    assert "98432 elements" in done.stdout and "FAIL" not in done.stdout
    assert "torch" in done.stdout and "GB/s" in done.stdout


@pytest.mark.parametrize("name", ["01_vector_add", "05_dropout", "06_attention"])
def test_examples_work_on_numpy_arrays(python, name):
    code = (f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import importlib, common; assert common.torch is None; "
            f"ok = common.print_checks(importlib.import_module({name!r}).checks()); sys.exit(not ok)")
    assert "ok" in python("-m", "deuteron", "-c", code, env={"EXAMPLES_ARRAYS": "numpy"}).stdout


@pytest.mark.parametrize("shape", [(64, 64, 64), (1, 1, 1), (65, 130, 7), (31, 257, 100)])
@pytest.mark.parametrize("activation", ["", "leaky_relu"])
def test_matmul_on_random_sizes(rng, shape, activation):
    import common

    matmul = importlib.import_module("03_matmul")
    M, N, K = shape
    a = rng.standard_normal((M, K)).astype(np.float32)
    # The second operand is read through a transposed view, so its columns are contiguous.
    b = common.array(rng.standard_normal((N, K)).astype(np.float32)).T
    c = common.poisoned(M, N)
    matmul.matmul(common.array(a), b, c, activation)
    product = a.astype(np.float64) @ common.to_numpy(b)
    expected = np.where(product >= 0, product, 0.01 * product) if activation else product
    np.testing.assert_allclose(common.to_numpy(c), expected, rtol=1e-4, atol=1e-5 * K**0.5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_matmul_of_narrow_floats(rng, dtype):
    import common
    import torch

    matmul = importlib.import_module("03_matmul")
    a, b = common.randn(70, 90, dtype=dtype, seed=1), common.randn(90, 50, dtype=dtype, seed=2)
    c = common.poisoned(70, 50, dtype=dtype)
    matmul.matmul(a, b, c)
    exact = a.double() @ b.double()
    step = 2.0**-11 if dtype == "float16" else 2.0**-8
    assert (c.double() - exact).abs().max() <= exact.abs().max() * step * 1.01
    assert c.dtype == getattr(torch, dtype)


def test_layer_norm_of_extreme_rows(rng):
    import common

    module = importlib.import_module("04_layer_norm")
    x = rng.standard_normal((5, 100)).astype(np.float32)
    x[0] = 3.0
    x[1, 4] = np.nan
    x[2] *= 1e3
    w, b = np.ones(100, np.float32), np.zeros(100, np.float32)
    y, mean, rstd = common.poisoned(5, 100), common.poisoned(5), common.poisoned(5)
    module.forward(*map(common.array, (x, w, b)), y, mean, rstd)
    result = common.to_numpy(y)
    assert np.abs(result[0]).max() == 0 and np.isnan(result[1]).all()
    expected = module.reference(*(v.astype(np.float64) for v in (x, w, b, w * np.ones_like(x))))[0]
    np.testing.assert_allclose(result[2:], expected[2:], atol=4e-6)


def test_random_numbers_are_those_of_the_generator():
    """The first numbers of tl.rand for a seed, as every target gives them."""
    uniform = importlib.import_module("05_dropout").uniform
    assert (0 <= uniform(5, np.arange(1000))).all() and (uniform(5, np.arange(1000)) < 1).all()


def test_the_demo_runs(python, tmp_path):
    done = python("-m", "deuteron", ROOT / "examples" / "demo.py", "--quick", cwd=tmp_path)
    assert "All results agree with their references." in done.stdout
    assert "x numpy" in done.stdout and "[####" in done.stdout
    svg = (tmp_path / "demo-out" / "softmax.svg").read_text()
    assert svg.startswith("<svg") and "deuteron" in svg and "numpy" in svg and "torch" in svg
