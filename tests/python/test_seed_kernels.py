"""The public kernels, unchanged, against float64: odd sizes, NaN and infinities in the data, poisoned outputs."""

import numpy as np
import pytest
import seed_kernels
import seed_kernels_workshop

import deuteron as triton

ADD_SIZES = (1, 7, 1023, 1024, 1025, 98432)
ROW_SIZES = ((1, 1), (3, 17), (37, 256), (61, 781), (16, 1000), (5, 4099))


def special(rng, *shape):
    """Random numbers with NaN, infinities, zeros of both signs and denormals among them."""
    values = rng.standard_normal(shape).astype(np.float32)
    flat = values.reshape(-1)
    for value in (np.nan, np.inf, -np.inf, -0.0, 1e-40, 3e38):
        flat[rng.integers(0, flat.size, max(1, flat.size // 50))] = value
    return values


def assert_same_bits_or_nan(result, expected):
    """Equal everywhere, zeros with their signs; NaN where NaN is."""
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    regular = ~np.isnan(expected)
    assert np.array_equal(result[regular], expected[regular])
    assert np.array_equal(np.signbit(result[regular]), np.signbit(expected[regular]))


@pytest.mark.parametrize("size", ADD_SIZES)
@pytest.mark.parametrize("kernel", [seed_kernels.add_kernel, seed_kernels.add_kernel_basic], ids=lambda k: k.__name__)
def test_vector_add(arrays, rng, kernel, size):
    x, y = special(rng, size), special(rng, size)
    # One element more than the kernel may write.
    output = arrays.make(np.full(size + 1, 77, np.float32))

    def grid(meta):
        return (triton.cdiv(size, meta["BLOCK_SIZE"]), )

    kernel[grid](arrays.make(x), arrays.make(y), output, size, BLOCK_SIZE=1024)
    with np.errstate(all="ignore"):
        expected = x + y
    result = arrays.numpy(output)
    assert_same_bits_or_nan(result[:size], expected)
    assert result[size] == 77, "nothing is written behind the end"


def test_autotuned_vector_add(arrays, rng):
    x, y = special(rng, 777), special(rng, 777)
    output = arrays.make(np.full(777, np.nan, np.float32))

    def grid(meta):
        return (triton.cdiv(777, meta["BLOCK_SIZE"]), )

    seed_kernels.add_kernel_autotune[grid](arrays.make(x), arrays.make(y), output, 777, 1024)
    with np.errstate(all="ignore"):
        assert_same_bits_or_nan(arrays.numpy(output), x + y)
    assert seed_kernels.add_kernel_autotune.best_config in seed_kernels.add_kernel_autotune.configs


def blocked(kernel):
    def run(arrays, x, output):
        kernel[(x.shape[0], )](x, output, arrays.stride(x, 0), x.shape[1], BLOCK_SIZE=256)

    return run


def fused(arrays, x, output):
    block = triton.next_power_of_2(x.shape[1])
    seed_kernels.fused_softmax_kernel[(x.shape[0], )](x, output, arrays.stride(x, 0), x.shape[1], BLOCK_SIZE=block,
                                                      num_warps=8)


def persistent(kernel):
    """As the workshops launch it: programs by occupancy, through the kernel of a warm-up."""

    def run(arrays, x, output):
        driver = triton.runtime.driver.active
        properties = driver.utils.get_device_properties(driver.get_active_torch_device().index)
        n_rows, n_cols = x.shape
        block, warps, stages = triton.next_power_of_2(n_cols), 8, 4 if properties["max_shared_mem"] > 200000 else 2
        strides = arrays.stride(x, 0), arrays.stride(output, 0)
        compiled = kernel.warmup(output, x, *strides, n_rows, n_cols, BLOCK_SIZE=block, num_stages=stages,
                                 num_warps=warps, grid=(1, ))
        compiled._init_handles()
        occupancy = properties["max_num_regs"] // (compiled.n_regs * properties["warpSize"] * warps)
        occupancy = min(occupancy, properties["max_shared_mem"] // compiled.metadata.shared)
        programs = min(properties["multiprocessor_count"] * occupancy, n_rows)
        assert programs >= 1
        compiled[(programs, 1, 1)](output, x, *strides, n_rows, n_cols, block, stages)

    return run


SOFTMAXES = {
    "naive": blocked(seed_kernels.softmax_kernel_naive),
    "v1": blocked(seed_kernels.softmax_kernel_v1),
    "online": blocked(seed_kernels.online_softmax_kernel),
    "fused": fused,
    "persistent": persistent(seed_kernels.softmax_kernel),
    "workshop": persistent(seed_kernels_workshop.fused_softmax_kernel),
}


def softmax(x):
    """In float64."""
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("shape", ROW_SIZES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("variant", SOFTMAXES)
def test_softmax(arrays, rng, variant, shape):
    values = (rng.standard_normal(shape) * rng.choice([0.1, 1, 30])).astype(np.float32)
    x, output = arrays.make(values), arrays.make(np.full(shape, np.nan, np.float32))
    SOFTMAXES[variant](arrays, x, output)
    # fp32 exp of an argument of size a has a relative error of about a * 2**-24.
    np.testing.assert_allclose(arrays.numpy(output), softmax(values), rtol=4e-6, atol=1e-9)


@pytest.mark.parametrize("variant", SOFTMAXES)
def test_softmax_with_infinities(arrays, rng, variant):
    values = rng.standard_normal((9, 333)).astype(np.float32)
    values[0, 5] = values[1, :300] = values[2, 300:] = -np.inf
    values[3] = 0
    output = arrays.make(np.full(values.shape, np.nan, np.float32))
    SOFTMAXES[variant](arrays, arrays.make(values), output)
    expected = softmax(values)
    # A first block of nothing but -inf makes the online forms compute inf - inf, on every target.
    rows = [0, *range(2, 9)] if variant in ("v1", "online") else list(range(9))
    np.testing.assert_allclose(arrays.numpy(output)[rows], expected[rows], rtol=4e-6, atol=1e-9)


@pytest.mark.parametrize("variant", SOFTMAXES)
def test_softmax_keeps_nan_and_infinity_to_their_rows(arrays, rng, variant):
    values = rng.standard_normal((6, 300)).astype(np.float32)
    values[1, 7], values[3, 299], values[4, 0] = np.nan, np.inf, np.nan
    output = arrays.make(np.full(values.shape, 55, np.float32))
    SOFTMAXES[variant](arrays, arrays.make(values), output)
    result = arrays.numpy(output)
    clean = [0, 2, 5]
    np.testing.assert_allclose(result[clean], softmax(values)[clean], rtol=4e-6, atol=1e-9)
    # A NaN in the data makes its row's sum NaN, and +inf its own element.
    assert np.isnan(result[[1, 4]]).all() and np.isnan(result[3, 299])


def test_softmax_of_a_part_of_a_matrix(arrays, rng):
    """Rows that do not follow each other in memory, through a row stride."""
    whole = rng.standard_normal((20, 500)).astype(np.float32)
    x = arrays.make(whole)[3:17, 10:410]
    output = arrays.make(np.full((14, 500), np.nan, np.float32))
    SOFTMAXES["fused"](arrays, x, output)
    np.testing.assert_allclose(arrays.numpy(output)[:, :400], softmax(whole[3:17, 10:410]), rtol=4e-6, atol=1e-9)
    assert np.isnan(arrays.numpy(output)[:, 400:]).all()
