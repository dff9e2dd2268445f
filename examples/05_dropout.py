"""Dropout without a stored mask: one seed, and a random number that follows from each element's position."""

import common
import numpy as np
import triton
import triton.language as tl


@triton.jit
def seeded_dropout(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    # The same seed and offsets always give the same numbers, so nothing needs to be kept for the way back
    random = tl.rand(seed, offsets)
    x_keep = random > p
    output = tl.where(x_keep, x / (1 - p), 0.0)
    tl.store(output_ptr + offsets, output, mask=mask)


def dropout(x, p, seed, output=None):
    """`x` with a share `p` of its elements set to zero, and the others scaled."""
    output = common.poisoned(len(x)) if output is None else output

    def grid(meta):
        return (triton.cdiv(len(x), meta["BLOCK_SIZE"]), )

    seeded_dropout[grid](x, output, len(x), p, seed, BLOCK_SIZE=1024)
    return output


def uniform(seed, offsets):
    """The numbers that ``tl.rand`` must give: Philox with ten rounds, in NumPy."""
    words = [offsets.astype(np.uint64), *(np.zeros(len(offsets), np.uint64) for _ in range(3))]
    low = np.uint64(0xFFFFFFFF)
    keys = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(second >> np.uint64(32)) ^ words[1] ^ keys[0], second & low,
                 (first >> np.uint64(32)) ^ words[3] ^ keys[1], first & low]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    signed = words[0].astype(np.uint32).view(np.int32)
    positive = np.where(signed < 0, -signed.astype(np.int64) - 1, signed.astype(np.int64))
    return positive.astype(np.float32) * np.float32(4.6566127342e-10)


SIZE = 98433


def checks():
    """Against the generator in NumPy: the same elements are zero, and the others are bit for bit the same on a CPU, two steps off at most on
    GPUs, which divide so; the same seed twice; another seed."""
    size, p = SIZE, 0.35
    exact = common.on_cpu()
    x = common.randn(size, seed=11)
    values = common.to_numpy(x, np.float32)
    for seed in (123, 2**31 - 1):
        kept = uniform(seed, np.arange(size)) > np.float32(p)
        expected = np.where(kept, values / np.float32(1 - np.float32(p)), 0)
        difference = common.max_difference(dropout(x, p, seed), expected.astype(np.float64))
        allowed = 0.0 if exact else common.steps(2, expected)
        yield common.Check(f"dropout with seed {seed}, {size} elements", difference, allowed)
    again = common.max_difference(dropout(x, p, 7), common.to_numpy(dropout(x, p, 7)))
    yield common.Check("dropout twice with one seed", again, 0.0)
    share = float((common.to_numpy(dropout(x, p, 8)) == 0).mean())
    yield common.Check(f"share of zeros, wanted {p}", abs(share - p), 1e-2)


def measurements():
    """Bandwidth: one array read, one written."""
    size = 1 << 22
    x, output = common.randn(size, seed=11), common.zeros(size)
    values, generator = common.to_numpy(x, None), np.random.default_rng(0)

    def numpy_dropout():
        return np.where(generator.random(size, dtype=np.float32) > 0.5, values * 2, 0)

    drop = common.torch and common.torch.nn.functional.dropout
    yield common.Measurement(
        f"dropout, {size} elements", 2 * 4 * size, "GB/s",
        deuteron=lambda: dropout(x, 0.5, 123, output), numpy=numpy_dropout,
        torch=common.torch and (lambda: drop(x, 0.5)))


def main():
    """Checks and measures."""
    common.run(__name__)


if __name__ == "__main__":
    main()
