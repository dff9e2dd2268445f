"""`assert_close`: two arrays are the same up to rounding."""


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Fails unless ``abs(x - y) <= atol + rtol * abs(y)`` everywhere; NaN equals NaN. Needs NumPy.

    Args:
        x, y: torch tensors, NumPy arrays or numbers.
        atol, rtol: 0.01 and 0 where they are not given; functions of the array's dtype are called.
        err_msg: is put before the message.
    """
    import numpy

    left, right = _to_numpy(x), _to_numpy(y)
    atol = 1e-2 if atol is None else atol(getattr(x, "dtype", None)) if callable(atol) else atol
    rtol = 0.0 if rtol is None else rtol(getattr(x, "dtype", None)) if callable(rtol) else rtol
    if left.size > 1 or right.size > 1:
        numpy.testing.assert_allclose(left, right, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)
    elif not numpy.allclose(left, right, atol=atol, rtol=rtol, equal_nan=True):
        raise AssertionError(f"{err_msg} {left} is not close to {right} (atol={atol}, rtol={rtol})")


def _to_numpy(value):
    import numpy

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "float" in str(value.dtype) else value
        return value.numpy()
    value = numpy.asarray(value)
    return value.astype(numpy.float32) if value.dtype.kind == "V" or value.dtype.name == "bfloat16" else value
