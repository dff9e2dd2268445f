"""The examples on emulated AMD GPUs, at sizes that an emulator is fast enough for, and their kernels compiled for all architectures."""

import importlib
import warnings

import pytest

import deuteron as triton
from deuteron import _core

#: Sizes for each example, odd ones among them; the name of what the example takes them from.
SMALL = {
    "01_vector_add": ("SIZES", (1024, 1025, 1)),
    "02_softmax": ("SIZES", ((4, 512), (3, 781))),
    "03_matmul": ("SIZES", ((128, 64, 64), (127, 61, 33))),
    "04_layer_norm": ("SIZES", ((5, 256), (7, 33))),
    "05_dropout": ("SIZE", 8193),
    "06_attention": ("SIZES", ((2, 64, 32), (1, 77, 16))),
}

#: Architectures with the lanes of a wave.
ARCHITECTURES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1200": 32}


def checked(name, arch, monkeypatch):
    """Runs the checks of an example on an emulated device; what was compiled for it, as sources with their options."""
    module = importlib.import_module(name)
    attribute, sizes = SMALL[name]
    monkeypatch.setattr(module, attribute, sizes)
    sources = []

    def listen(*, src, metadata, **facts):
        sources.append((src, {key: metadata[key] for key in ("num_warps", "num_stages")}))

    with triton.knobs.runtime.scope(), triton.knobs.compilation.scope():
        triton.knobs.runtime.emulate = f"hip:{arch}"
        triton.knobs.compilation.listener = listen
        for function in vars(module).values():
            if isinstance(function, _core.JITFunction):
                function.clear_cache()
        checks = list(module.checks())
    failed = [(check.label, check.difference, check.allowed) for check in checks if not check.passed]
    assert checks and not failed
    assert sources
    return sources


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", SMALL)
def test_an_example_runs(name, arch, monkeypatch):
    checked(name, arch, monkeypatch)


@pytest.mark.parametrize("name", SMALL)
def test_the_kernels_of_an_example_compile_for_every_architecture(name, monkeypatch):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for launched, options in checked(name, "gfx942", monkeypatch):
        source = ASTSource(launched.fn, launched.signature, launched.constants, launched.attrs)
        for arch, lanes in ARCHITECTURES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Spills are a warning.
                kernel = triton.compile(source, target=GPUTarget("hip", arch, lanes), options=options)
            assert len(kernel.asm["hsaco"]) > 0 and kernel.metadata.target.arch == arch
