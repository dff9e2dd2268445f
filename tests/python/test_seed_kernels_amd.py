"""The public kernels on emulated AMD GPUs, with odd sizes, NaN and infinities in the data, and compiled for all architectures."""

import warnings

import conftest
import numpy as np
import pytest
import seed_kernels
import seed_kernels_workshop
import test_seed_kernels as seeds

import deuteron as triton
from deuteron import _core
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

#: Architectures with the lanes of a wave.
ARCHITECTURES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1200": 32}
ROW_SIZES = ((1, 1), (3, 17), (4, 781), (2, 1025))


def forget():
    """Forgets what the kernels were compiled for."""
    for module in (seed_kernels, seed_kernels_workshop):
        for value in vars(module).values():
            # A tuned function has the kernel inside.
            function = value if isinstance(value, _core.JITFunction) else getattr(value, "fn", None)
            if isinstance(function, _core.JITFunction):
                function.clear_cache()


@pytest.fixture(params=["gfx942", "gfx1100"], name="arch")
def emulated_arch(request):
    """Both widths of a wave, with kernels that were compiled for nothing else."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = f"hip:{request.param}"
        forget()
        yield request.param


@pytest.fixture(name="arrays")
def torch_arrays():
    """Arrays of one library: what is tested is the same for both."""
    return conftest.TorchArrays


@pytest.mark.parametrize("size", (1, 7, 1023, 1025))
@pytest.mark.parametrize("kernel", [seed_kernels.add_kernel, seed_kernels.add_kernel_basic], ids=lambda k: k.__name__)
def test_vector_add(arch, arrays, rng, kernel, size):
    seeds.test_vector_add(arrays, rng, kernel, size)


def test_autotuned_vector_add(arch, arrays, rng):
    seeds.test_autotuned_vector_add(arrays, rng)


@pytest.mark.parametrize("shape", ROW_SIZES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("variant", seeds.SOFTMAXES)
def test_softmax(arch, arrays, rng, variant, shape):
    seeds.test_softmax(arrays, rng, variant, shape)


@pytest.mark.parametrize("variant", seeds.SOFTMAXES)
def test_softmax_with_infinities_and_nan(arch, arrays, rng, variant):
    seeds.test_softmax_with_infinities(arrays, rng, variant)
    seeds.test_softmax_keeps_nan_and_infinity_to_their_rows(arrays, rng, variant)


def test_softmax_of_a_part_of_a_matrix(arch, arrays, rng):
    seeds.test_softmax_of_a_part_of_a_matrix(arrays, rng)


def sources():
    """What the kernels are compiled for where they are launched, each once, with its options."""
    found = {}

    def listen(*, src, metadata, **facts):
        options = {key: metadata[key] for key in ("num_warps", "num_stages")}
        found.setdefault((src.fn.__name__, *options.values()), (src, options))

    rng = np.random.default_rng(0)
    arrays = conftest.TorchArrays
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.listener = listen
        for kernel in (seed_kernels.add_kernel, seed_kernels.add_kernel_basic):
            seeds.test_vector_add(arrays, rng, kernel, 1023)
        seeds.test_autotuned_vector_add(arrays, rng)
        for variant in seeds.SOFTMAXES:
            seeds.test_softmax(arrays, rng, variant, (3, 300))
    return list(found.values())


def test_they_compile_for_every_architecture():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "hip:gfx942"
        forget()
        found = sources()
    names = {source.fn.__name__ for source, _ in found}
    assert len(names) == 8, names
    for source, options in found:
        again = ASTSource(source.fn, source.signature, source.constants, source.attrs)
        for arch, lanes in ARCHITECTURES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # Spills are a warning.
                kernel = triton.compile(again, target=GPUTarget("hip", arch, lanes), options=options)
            assert len(kernel.asm["hsaco"]) > 0 and kernel.metadata.target.arch == arch
