"""Interpreted kernels take tensors in the memory of a device: they work on copies, which are copied back."""

import collections

import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor

Two = collections.namedtuple("Two", "first second")
Device = collections.namedtuple("Device", "type index")


class Storage:
    """A storage on a device that is none: it can only be copied."""

    def __init__(self, kept):
        self.kept, self.copies = kept, 0

    def data_ptr(self):
        """An address that no kernel can use."""
        return (1 << 60) + self.kept.data_ptr()

    def nbytes(self):
        """Its size."""
        return self.kept.nbytes()

    def cpu(self):
        """A copy on the host."""
        self.copies += 1
        return self.kept.clone()

    def copy_(self, other):
        """Takes what a copy holds."""
        self.kept.copy_(other)


class Tensor:
    """A tensor on a device that is none."""

    is_cpu = False
    device = Device("cuda", 0)

    def __init__(self, like, storage=None):
        self.like, self.storage = like, storage or Storage(like.untyped_storage())
        self.dtype, self.shape = like.dtype, like.shape
        self.size, self.stride, self.storage_offset = like.size, like.stride, like.storage_offset

    def untyped_storage(self):
        """The storage that it looks at."""
        return self.storage

    def data_ptr(self):
        """An address that no kernel can use."""
        return self.storage.data_ptr() + self.like.storage_offset() * self.like.element_size()

    def element_size(self):
        """Bytes of an element."""
        return self.like.element_size()

    def view(self, make):
        """A tensor that looks at the same storage."""
        return Tensor(make(self.like), self.storage)


@triton.jit(interpret=True)
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit(interpret=True)
def half_way(x_ptr):
    tl.store(x_ptr, 1.0)
    raise KeyError("on purpose")


@triton.jit(interpret=True)
def summed(pair, out_ptr):
    tl.store(out_ptr, tl.load(pair.first) + tl.load(pair.second))


@triton.jit(interpret=True)
def moved(source, out):
    out.store([0, 0], source.load([0, 0]) + 1)


def test_tensors_of_a_device_are_copied_and_copied_back():
    x, out = torch.rand(37), torch.full((37,), float("nan"))
    doubled[(3,)](Tensor(x), Tensor(out), 37, BLOCK=16)
    assert torch.equal(out, x * 2)


def test_views_of_one_storage_stay_views_of_one_memory():
    both = torch.rand(74)
    expected = both[37:] * 2
    there = Tensor(both)
    doubled[(3,)](there.view(lambda kept: kept[37:]), there.view(lambda kept: kept[:37]), 37, BLOCK=16)
    assert torch.equal(both[:37], expected)
    assert there.storage.copies == 1


def test_tensors_of_the_host_are_used_as_they_are():
    x, out = torch.rand(16), torch.full((16,), float("nan"))
    doubled[(1,)](x, Tensor(out), 16, BLOCK=16)
    assert torch.equal(out, x * 2)


def test_what_was_stored_before_an_error_is_copied_back():
    x = torch.zeros(1)
    with pytest.raises(KeyError, match="on purpose"):
        half_way[(1,)](Tensor(x))
    assert x.item() == 1


def test_tensors_in_tuples_and_descriptors():
    first, second, out = torch.rand(1), torch.rand(1), torch.zeros(1)
    summed[(1,)](Two(Tensor(first), second), out_ptr=Tensor(out))
    assert torch.equal(out, first + second)
    source, out = torch.rand(8, 16), torch.full((8, 16), float("nan"))
    there = [TensorDescriptor(Tensor(tensor), [8, 16], [16, 1], [8, 16]) for tensor in (source, out)]
    moved[(1,)](*there)
    assert torch.equal(out, source + 1)
    assert not there[0].base.is_cpu


def test_reinterpreted_tensors():
    x, out = torch.arange(-8, 8, dtype=torch.int8), torch.zeros(16, dtype=torch.uint8)
    doubled[(1,)](triton.reinterpret(Tensor(x), tl.int8), triton.reinterpret(Tensor(out), tl.int8), 16, BLOCK=16)
    assert torch.equal(out.view(torch.int8), x * 2)


class Array:
    """An array of another package in the memory of a device that is none."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.tensor.data_ptr(), False), "shape": tuple(self.tensor.shape), "typestr": "<f4", "version": 3}


@pytest.fixture
def arrays(monkeypatch):
    """Torch looks at such arrays as it does at those of CuPy, without a copy."""
    as_tensor = torch.as_tensor
    monkeypatch.setattr(torch, "as_tensor", lambda value, **options: value.tensor if isinstance(value, Array)
                        else as_tensor(value, **options))
    return Array


def test_arrays_of_other_packages(arrays):
    x, out = torch.rand(37), torch.full((37,), float("nan"))
    doubled[(3,)](arrays(Tensor(x)), arrays(Tensor(out)), 37, BLOCK=16)
    assert torch.equal(out, x * 2)
    doubled[(3,)](arrays(Tensor(x)), arrays(Tensor(x)), 37, BLOCK=16)
    assert torch.equal(out, x)


def test_arrays_that_overlap_are_refused(arrays):
    x = torch.rand(37)
    part = torch.empty(0).set_(x.untyped_storage(), 0, (16,))
    shorter = Tensor(part, Storage(x[:16].clone().untyped_storage()))
    shorter.storage.data_ptr = Tensor(x).storage.data_ptr
    with pytest.raises(ValueError, match="overlap"):
        doubled[(1,)](arrays(Tensor(x)), arrays(shorter), 16, BLOCK=16)
