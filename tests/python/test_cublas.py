"""`triton._C.libtriton.nvidia`, as far as it can be asked without a GPU."""

import pytest

torch = pytest.importorskip("torch")

from deuteron._C.libtriton import nvidia  # noqa: E402


def matrices(*shapes, dtype=torch.float16):
    return [torch.zeros(shape, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize("shapes, said", [
    (((8, 4), (6, 4), (6, 8)), "the result M x N"),
    (((8, 4), (4, 6), (8, 6)), "b N x K"),
    (((8, 4), (6, 4), (8, 6)), "is not"),
    (((8, ), (6, 4), (8, 6)), "must be matrices"),
])
def test_operands_are_checked(shapes, said):
    with pytest.raises(RuntimeError, match=said):
        nvidia._check(*matrices(*shapes))


def test_types_must_be_one():
    (a, b), (d, ) = matrices((8, 4), (6, 4)), matrices((8, 6), dtype=torch.float32)
    with pytest.raises(RuntimeError, match="float16, float16, float32"):
        nvidia._check(a, b, d)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the error where there is no GPU")
def test_without_a_gpu_there_is_no_cublas():
    with pytest.raises(RuntimeError, match="no GPU"):
        nvidia.cublas.CublasLt(torch.zeros(16, dtype=torch.uint8))
