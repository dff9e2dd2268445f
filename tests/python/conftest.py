"""What all tests share: a cache of their own, arrays of NumPy and torch, processes of their own."""

import glob
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# A shell starts what runs in its background with interrupts ignored, and so would all children: tests of interrupts need them.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The cache of the user is neither read nor filled; set before the first import.
_CACHE = tempfile.TemporaryDirectory(prefix="deuteron-test-cache-")
os.environ["TRITON_CACHE_DIR"] = _CACHE.name
# What emulated GPUs run is given to the assembler as well, where there is one: it refuses more than an emulator may know of.
_NVIDIA = importlib.util.find_spec("nvidia")
if _NVIDIA and any(glob.glob(f"{folder}/cu*/bin/ptxas") for folder in _NVIDIA.submodule_search_locations):
    os.environ.setdefault("DEUTERON_ASSEMBLE_EMULATED", "1")

import deuteron  # noqa: E402

deuteron.install()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))


class NumpyArrays:
    """Makes NumPy arrays."""

    name = "numpy"

    @staticmethod
    def make(values):
        """The values as an array of their own."""
        return np.array(values)

    @staticmethod
    def numpy(array):
        """The values of an array."""
        return array

    @staticmethod
    def stride(array, dim):
        """A stride in elements."""
        return array.strides[dim] // array.itemsize


class TorchArrays:
    """Makes torch tensors on the CPU."""

    name = "torch"

    @staticmethod
    def make(values):
        """The values as a tensor of their own."""
        return torch.from_numpy(np.array(values))

    @staticmethod
    def numpy(array):
        """The values of a tensor."""
        return array.numpy()

    @staticmethod
    def stride(array, dim):
        """A stride in elements."""
        return array.stride(dim)


@pytest.fixture(params=[NumpyArrays, TorchArrays], ids=lambda kind: kind.name)
def arrays(request):
    """Both libraries in turn."""
    return request.param


#: What runs kernels, by the settings that choose it.
SETTINGS_OF_ENGINES = {
    "cpu": {},
    "interpreter": {"interpret": True},
    "sm_80": {"emulate": "cuda:80"},
    "sm_90": {"emulate": "cuda:90"},
    "sm_100": {"emulate": "cuda:100"},
    "gfx942": {"emulate": "hip:gfx942"},
}


def pytest_generate_tests(metafunc):
    """A test that takes `engine` runs on each of the `ENGINES` of its file, or on those that it names itself."""
    engines = getattr(metafunc.module, "ENGINES", None)
    names_own = any(mark.args[0] == "engine" for mark in metafunc.definition.iter_markers("parametrize"))
    if engines is not None and "engine" in metafunc.fixturenames and not names_own:
        metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture
def engine(request):
    """Each engine in turn."""
    with deuteron.knobs.runtime.scope():
        for name, value in SETTINGS_OF_ENGINES[request.param].items():
            setattr(deuteron.knobs.runtime, name, value)
        yield request.param


@pytest.fixture
def rng():
    """Fresh random numbers; the seed is printed with a failure."""
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"random seed {seed}")
    return np.random.default_rng(seed)


@pytest.fixture
def python():
    """Runs Python in a process of its own; returns the finished process with its output as text."""

    def run(*arguments, env=None, cwd=None, check=True, stdin=None):
        finished = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                                  env={**os.environ, **(env or {})}, input=stdin, timeout=300)
        if check and finished.returncode != 0:
            raise AssertionError(f"exit code {finished.returncode}\n{finished.stdout}\n{finished.stderr}")
        return finished

    return run
