"""Examples of libdevice."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% libdevice
from deuteron.language.extra import libdevice


@triton.jit
def polar(x_ptr, y_ptr, radius_ptr, angle_ptr):
    offsets = tl.arange(0, 16)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(radius_ptr + offsets, libdevice.hypot(x, y))
    tl.store(angle_ptr + offsets, libdevice.atan2(y, x))


x, y = np.random.randn(2, 16)
radius, angle = np.empty(16), np.empty(16)
polar[(1, )](x, y, radius, angle)
np.testing.assert_allclose(radius, np.hypot(x, y))
np.testing.assert_allclose(angle, np.arctan2(y, x))
