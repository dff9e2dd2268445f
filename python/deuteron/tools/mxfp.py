"""Numbers of the OCP microscaling formats as tensors of torch: e2m1 elements of 4 bits and e8m0 scales of 8."""

import math

import torch

__all__ = ["MXFP4Tensor", "MXScaleTensor", "fp8e8m0_to_float32"]

#: Magnitudes of e2m1, by their three bits.
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SCALE_BIAS = 127
_SCALE_NAN = 255


def _shape_or_data(data, size, convert):
    """``(data, size)`` of a new tensor: the values converted, or a shape to be filled later."""
    if data is not None:
        if not isinstance(data, torch.Tensor):
            raise AssertionError("Parameter data must be a torch tensor")
        return convert(data), tuple(data.shape)
    if size is None:
        raise ValueError("Either parameter data or size must be provided")
    return None, size if isinstance(size, tuple) else (size, )


def _only_float32(dtype, what):
    if dtype != torch.float32:
        raise AssertionError(f"Currently only float32 is supported for {what} to float conversion")


class MXFP4Tensor:
    """Elements of e2m1: a sign, two bits of exponent, one of mantissa; no infinity and no NaN.

    Args:
        data: a float32 tensor to be converted.
        size: the shape, where there are no values yet.
        device: where such a tensor will be.

    Attributes:
        data: one element in the lower half of each byte.
    """

    def __init__(self, data=None, size=None, device=None):
        self.device = device if data is None else getattr(data, "device", device)
        values, self.size = _shape_or_data(data, size, self._from_float)
        if values is not None:
            self.data = values

    def random(self):
        """Fills it with random elements, every bit pattern as likely as any other; returns itself."""
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """The values as float32."""
        _only_float32(dtype, "fp4e2m1")
        table = torch.tensor([*_MAGNITUDES, *(-value for value in _MAGNITUDES)], dtype=dtype, device=self.data.device)
        return table[self.data.long()]

    def _from_float(self, values):
        """Rounds to the nearest, ties to the even one; what is too large, infinite or NaN has the largest magnitude."""
        magnitudes = torch.tensor(_MAGNITUDES, dtype=torch.float32, device=values.device)
        between = (magnitudes[1:] + magnitudes[:-1]) / 2
        size = values.abs().float().nan_to_num(nan=_MAGNITUDES[-1], posinf=_MAGNITUDES[-1])
        # Where a value is exactly between two, the one with an even number is taken: the lower one below 1, 3, 5, 7.
        lower = torch.searchsorted(between, size.contiguous(), right=False)
        upper = torch.searchsorted(between, size.contiguous(), right=True)
        code = torch.where(lower % 2 == 0, lower, upper)
        return (code + 8 * torch.signbit(values)).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Two neighbours along `dim` in each byte, the first in its lower half; a missing last one is 0."""
        if not 0 <= dim < self.data.ndim:
            raise AssertionError("The dimension to pack along is not within the range of tensor dimensions")
        elements = self.data.movedim(dim, -1)
        if elements.shape[-1] % 2:
            elements = torch.nn.functional.pad(elements, (0, 1))
        return (elements[..., 0::2] | elements[..., 1::2] << 4).movedim(-1, dim).contiguous()

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """The elements of what `to_packed_tensor` made of a tensor of `original_shape`, one in each byte."""
        packed = packed_tensor.movedim(dim, -1)
        both = torch.stack((packed & 15, packed >> 4 & 15), dim=-1).flatten(-2)
        return both[..., :original_shape[dim]].movedim(-1, dim).to(torch.uint8).contiguous()


def fp8e8m0_to_float32(scale):
    """Scales of e8m0, one in each byte, as float32."""
    exponents = scale.view(torch.uint8).to(torch.int32)
    # The smallest power is subnormal in float32.
    bits = torch.where(exponents == 0, 1 << 22, exponents << 23)
    return torch.where(exponents == _SCALE_NAN, 0x7FC00000, bits).to(torch.int32).view(torch.float32)


class MXScaleTensor:
    """Scales of e8m0: powers of two from 2**-127 to 2**127, and NaN.

    Args:
        data: a float32 tensor to be converted.
        size: the shape, where there are no values yet.
        device: where such a tensor will be.

    Attributes:
        data: the exponents plus 127 as uint8; 255 is NaN.
    """

    def __init__(self, data=None, size=None, device=None):
        self.device = device if data is None else getattr(data, "device", device)
        values, self.size = _shape_or_data(data, size, self._from_float)
        if values is not None:
            self.data = values

    def random(self, low=None, high=None):
        """Fills it with random scales between the powers of two of `low` and `high`, without NaN; returns itself."""
        first = 0 if low is None else max(0, int(math.log2(low)) + _SCALE_BIAS)
        last = 254 if high is None else min(254, max(0, int(math.log2(high)) + _SCALE_BIAS))
        if first > last:
            raise AssertionError("Low must be less than or equal to high")
        self.data = torch.randint(first, last + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """The values as float32."""
        _only_float32(dtype, "f8e8m0")
        return fp8e8m0_to_float32(self.data)

    def _from_float(self, values):
        """The largest power of two that is not above the value; NaN for what is not positive and finite."""
        valid = torch.isfinite(values) & (values > 0)
        exponent = torch.where(valid, values, 1.0).log2().floor().to(torch.int32) + _SCALE_BIAS
        return torch.where(valid, exponent.clamp(0, 254), _SCALE_NAN).to(torch.uint8)
