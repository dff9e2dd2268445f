"""`triton._C.libtriton.nvidia` and `amd`, as far as they can be asked without a GPU."""

import pytest

torch = pytest.importorskip("torch")

from deuteron._C.libtriton import amd, nvidia  # noqa: E402

LIBRARIES = [nvidia.cublas.CublasLt, amd.hipblas.HipblasLt]


def matrices(*shapes, dtype=torch.float16):
    return [torch.zeros(shape, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shapes, said", [
    (((8, 4), (6, 4), (6, 8)), "the result M x N"),
    (((8, 4), (4, 6), (8, 6)), "b N x K"),
    (((8, 4), (6, 4), (8, 6)), "is not"),
    (((8, ), (6, 4), (8, 6)), "must be matrices"),
])
def test_operands_are_checked(library, shapes, said):
    with pytest.raises(RuntimeError, match=said):
        library.check(*matrices(*shapes))


@pytest.mark.parametrize("library", LIBRARIES)
def test_types_must_be_one(library):
    (a, b), (d, ) = matrices((8, 4), (6, 4)), matrices((8, 6), dtype=torch.float32)
    with pytest.raises(RuntimeError, match="float16, float16, float32"):
        library.check(a, b, d)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the error where there is no GPU")
@pytest.mark.parametrize("library", LIBRARIES)
def test_without_a_gpu_there_is_no_library(library):
    with pytest.raises(RuntimeError, match=f"no GPU.*{library.library}"):
        library(torch.zeros(16, dtype=torch.uint8))


def test_what_torchs_compiler_asks_of_amd():
    from torch.utils._triton import _has_triton_amd_tdm_device

    assert not _has_triton_amd_tdm_device("gfx942")
    assert amd.supports_tdm("gfx950") is False
    with pytest.raises(TypeError, match="gfx942"):
        amd.supports_tdm(942)
