"""Tests for a machine with a GPU: ``make gpu-test``. Elsewhere the folder says that it was not run."""

import os
import sys
import tempfile
from pathlib import Path

# The cache of the user is neither read nor filled; set before the first import.
_CACHE = tempfile.TemporaryDirectory(prefix="deuteron-gpu-test-cache-")
os.environ["TRITON_CACHE_DIR"] = _CACHE.name

import pytest  # noqa: E402

torch = pytest.importorskip("torch", reason="NOT RUN: torch is not installed")

import deuteron  # noqa: E402

deuteron.install()

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "python")]


def why_not():
    """Why these tests cannot run here; None if they can."""
    if not torch.cuda.is_available():
        return "NOT RUN: torch sees no GPU here"
    target = deuteron.runtime.driver.active.get_current_target()
    return None if target.backend != "cpu" else f"NOT RUN: the current target is {target}"


def pytest_collection_modifyitems(items):
    reason = why_not()
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def rng():
    """Fresh random numbers on the GPU; the seed is printed with a failure."""
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"random seed {seed}")
    return torch.Generator(device="cuda").manual_seed(seed)


@pytest.fixture
def python():
    """Runs Python in a process of its own; an error of the GPU ends that one alone."""
    import subprocess

    def run(*arguments, env=None):
        return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **(env or {})})

    return run
