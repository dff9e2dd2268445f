"""Products of whole numbers in tiles at random, of as many programs as fill a GPU: what is wrong once in many programs is found.

    python -m deuteron benches/compatibility/large_products.py --seconds 100 --seed 1

Every product is exact, so that one wrong element is one too many. Sizes, types, warps, stages, who loads (descriptors or
pointers), the order of B and roles of warps are drawn; each kernel is launched three times.
"""

import argparse
import random
import time

import torch

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "int8": torch.int8, "fp8": torch.float8_e4m3fn, "fp32": torch.float32}


@triton.jit
def by_descriptors(a_desc, b_desc, c_ptr, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                   TURNED: tl.constexpr, ROLES: tl.constexpr):
    row, col = tl.program_id(0) * M, tl.program_id(1) * N
    acc = tl.zeros((M, N), dtype=tl.int32 if a_desc.dtype == tl.int8 else tl.float32)
    for k in tl.range(0, tl.cdiv(depth, K), warp_specialize=ROLES):
        a = a_desc.load([row, k * K])
        if TURNED:
            b = b_desc.load([col, k * K]).T
        else:
            b = b_desc.load([k * K, col])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + (row + tl.arange(0, M))[:, None] * n + col + tl.arange(0, N)[None, :], acc)


@triton.jit
def by_pointers(a_ptr, b_ptr, c_ptr, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                TURNED: tl.constexpr, DOUBLED: tl.constexpr):
    rows, cols = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        at = k * K + tl.arange(0, K)
        a = tl.load(a_ptr + rows[:, None] * depth + at[None, :], mask=at[None, :] < depth, other=0.0)
        if TURNED:
            b = tl.load(b_ptr + cols[None, :] * depth + at[:, None], mask=at[:, None] < depth, other=0.0)
        else:
            b = tl.load(b_ptr + at[:, None] * n + cols[None, :], mask=at[:, None] < depth, other=0.0)
        if DOUBLED:
            a = (a * 2).to(a_ptr.dtype.element_ty)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc)


def operands(size, depth, device):
    """By type A, B, B with its columns one behind the other, and their product."""
    whole = lambda *shape: torch.randint(-4, 5, shape, device=device).float()
    for name, dtype in TYPES.items():
        a, b = whole(size, depth), whole(depth, size)
        yield name, (a.to(dtype), b.to(dtype), b.T.contiguous().to(dtype), a.double() @ b.double())


def drawn(rng):
    """A kernel: the type, the tile, warps, stages, whether B is turned, and what else differs."""
    while True:
        name, tile = rng.choice(list(TYPES)), (rng.choice([16, 32, 64, 128]), rng.choice([16, 32, 64, 128]), rng.choice([32, 64, 128]))
        warps, stages = rng.choice([1, 2, 4, 8]), rng.choice([2, 3, 4])
        fits = (tile[0] * tile[1] <= 8192 or warps >= 4) and (name != "fp32" or tile[2] < 128)
        if fits:
            return name, tile, warps, stages, rng.random() < 0.5, rng.random() < 0.25


def launch(data, c, kernel, kind):
    """Launches once; the factor by which the product is to be multiplied."""
    name, (m, n, k), warps, stages, turned, other = kernel
    (a, b, turned_b, _), (size, depth) = data, data[0].shape
    b, grid = turned_b if turned else b, (size // m, size // n)
    options = dict(num_warps=warps, num_stages=stages)
    if kind == "descriptors":
        descs = TensorDescriptor.from_tensor(a, [m, k]), TensorDescriptor.from_tensor(b, [n, k] if turned else [k, n])
        by_descriptors[grid](*descs, c, size, depth, m, n, k, turned, other, **options)
        return 1
    doubled = other and name != "fp8"
    by_pointers[grid](a, b, c, size, depth, m, n, k, turned, doubled, **options)
    return 2 if doubled else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=4096, help="rows and columns, a multiple of 128")
    parser.add_argument("--depth", type=int, default=1024)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data, rng = dict(operands(given.size, given.depth, device)), random.Random(given.seed)
    end, ran, wrong, refused = time.monotonic() + given.seconds, 0, 0, 0
    while time.monotonic() < end:
        kernel, kind = drawn(rng), rng.choice(["descriptors", "pointers"])
        exact = data[kernel[0]][-1]
        c = torch.empty(exact.shape, device=device, dtype=torch.int32 if kernel[0] == "int8" else torch.float32)
        try:
            for _ in range(3):
                c.fill_(-12345)
                factor = launch(data[kernel[0]], c, kernel, kind)
                different = int((c.double() != factor * exact).sum())
                if different:
                    wrong += 1
                    print(f"wrong: {kind} {kernel}: {different} elements", flush=True)
                    break
            ran += 1
        except triton.OutOfResources as error:
            refused += 1
            print(f"refused: {kind} {kernel}: {error}", flush=True)
    print(f"{ran} products, {wrong} wrong, {refused} refused")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
