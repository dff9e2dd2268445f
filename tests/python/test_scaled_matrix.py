"""Products of scaled blocks by gfx950's matrix instructions for them, against sums in float64."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
TYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


@triton.jit
def scaled_matmul(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, M, N, K, A: tl.constexpr, B: tl.constexpr, HAS_B_SCALE: tl.constexpr,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    a_each: tl.constexpr = 2 if A == "e2m1" else 1
    b_each: tl.constexpr = 2 if B == "e2m1" else 1
    m, n = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k_a, k_b, groups = tl.arange(0, BLOCK_K // a_each), tl.arange(0, BLOCK_K // b_each), tl.arange(0, BLOCK_K // 32)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * (K // a_each) + (k // a_each + k_a)[None, :], mask=m[:, None] < M, other=0.0)
        b = tl.load(b_ptr + (k // b_each + k_b)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        a_scale = tl.load(a_scale_ptr + m[:, None] * (K // 32) + (k // 32 + groups)[None, :], mask=m[:, None] < M, other=127)
        b_scale = None
        if HAS_B_SCALE:
            b_scale = tl.load(b_scale_ptr + n[:, None] * (K // 32) + (k // 32 + groups)[None, :], mask=n[:, None] < N, other=127)
        acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def operand(rng, name, rows, depth):
    """Random numbers, as the kernel takes them (rows × depth) and as float64."""
    if name == "e2m1":
        packed = rng.integers(0, 256, (rows, depth // 2), dtype=np.uint8)
        nibbles = np.stack([packed & 15, packed >> 4], axis=-1).reshape(rows, depth)
        return torch.from_numpy(packed), E2M1[nibbles & 7] * np.where(nibbles & 8, -1, 1)
    numbers = torch.from_numpy(rng.standard_normal((rows, depth)).astype(np.float32)).to(TYPES[name])
    return numbers, numbers.double().numpy()


def run(rng, formats, shape, blocks, num_warps, has_b_scale=True, special=False):
    """The kernel's result, what it should be, and the kernel."""
    (M, N, K), (A, B) = shape, formats
    (a, left), (b, right) = operand(rng, A, M, K), operand(rng, B, N, K)
    a_scale, b_scale = (rng.integers(118, 136, (lines, K // 32), dtype=np.uint8) for lines in (M, N))
    if special:
        a_scale[1, 0], b_scale[2, 1] = 255, 0
    factor = lambda scale: np.where(scale == 255, np.nan, 2.0**(scale.astype(float) - 127))  # noqa: E731
    left = left * np.repeat(factor(a_scale), 32, axis=1)
    right = right * np.repeat(factor(b_scale), 32, axis=1) if has_b_scale else right
    c = torch.full((M, N), np.nan)
    grid = (triton.cdiv(M, blocks[0]), triton.cdiv(N, blocks[1]))
    kernel = scaled_matmul[grid](a, b.view(torch.uint8).T.contiguous().view(b.dtype), a_scale, b_scale, c, M, N, K, A, B, has_b_scale,
                                 *blocks, num_warps=num_warps)
    return c.double().numpy(), left @ right.T, np.abs(left) @ np.abs(right).T, kernel


@pytest.fixture
def gfx950():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "hip:gfx950"
        yield


@pytest.mark.parametrize("formats", [(a, b) for a in ("e4m3", "e5m2", "e2m1") for b in ("e4m3", "e5m2", "e2m1")])
def test_every_pair_of_formats(gfx950, rng, formats):
    found, expected, size, kernel = run(rng, formats, (64, 48, 256), (64, 64, 128), 4)
    assert "@llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4" in kernel.asm["llir"]
    assert (np.abs(found - expected) <= 2e-6 * size).all()


@pytest.mark.parametrize("blocks, num_warps", [((16, 16, 128), 1), ((32, 32, 64), 1), ((128, 64, 128), 4), ((32, 128, 256), 8), ((16, 64, 128), 4)])
@pytest.mark.parametrize("formats", [("e4m3", "e2m1"), ("e2m1", "e2m1")])
def test_blocks_and_warps(gfx950, rng, formats, blocks, num_warps):
    found, expected, size, kernel = run(rng, formats, (blocks[0] + 5, 2 * blocks[1] - 3, 512), blocks, num_warps)
    assert "mfma.scale" in kernel.asm["llir"]
    assert (np.abs(found - expected) <= 2e-6 * size).all()


def test_one_scale_and_special_scales(gfx950, rng):
    found, expected, size, _ = run(rng, ("e4m3", "e5m2"), (32, 32, 128), (32, 32, 128), 2, has_b_scale=False)
    assert (np.abs(found - expected) <= 2e-6 * size).all()
    found, expected, size, _ = run(rng, ("e4m3", "e4m3"), (32, 32, 128), (32, 32, 128), 2, special=True)
    assert np.isnan(found[1]).all() and np.array_equal(np.isnan(found), np.isnan(expected))
    rest = ~np.isnan(expected)
    assert (np.abs(found - expected)[rest] <= 2e-6 * size[rest]).all()


def test_sums_shorter_than_the_instruction_are_widened(gfx950, rng):
    found, expected, size, kernel = run(rng, ("e4m3", "e4m3"), (32, 32, 64), (16, 16, 64), 1)
    assert "mfma.scale" not in kernel.asm["llir"]
    assert (np.abs(found - expected) <= 2e-6 * size).all()


def test_the_instruction_is_in_the_machine_code():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {"a_ptr": "*fp8e4nv", "b_ptr": "*u8", "a_scale_ptr": "*u8", "b_scale_ptr": "*u8", "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    constants = {"A": "e4m3", "B": "e2m1", "HAS_B_SCALE": True, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128}
    attributes = {(index, ): [["tt.divisibility", 16]] for index in range(8)}
    source = ASTSource(scaled_matmul, {**types, **dict.fromkeys(constants, "constexpr")}, constants, attributes)
    kernel = triton.compile(source, target=GPUTarget("hip", "gfx950", 64))
    assert "v_mfma_scale_f32_32x32x64_f8f6f4" in kernel.asm["amdgcn"] and kernel.metadata.vgpr_spills == 0


@triton.jit
def float_scales(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, A: tl.constexpr, B: tl.constexpr):
    m, n, k, groups = tl.arange(0, 32), tl.arange(0, 16), tl.arange(0, 128), tl.arange(0, 4)
    a = tl.load(a_ptr + m[:, None] * 128 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + n[None, :])
    a_scale = tl.load(a_scale_ptr + m[:, None] * 4 + groups[None, :])
    b_scale = tl.load(b_scale_ptr + n[:, None] * 4 + groups[None, :])
    tl.store(c_ptr + m[:, None] * 16 + n[None, :], tl.dot_scaled(a, a_scale, A, b, b_scale, B))


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "sm_90", "gfx942"], indirect=True)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float8_e5m2, torch.float8_e4m3fn])
@pytest.mark.parametrize("formats", [("e4m3", "e5m2"), ("e4m3", "e4m3")])
def test_scales_are_floats(engine, rng, dtype, formats):
    (a, left), (b, right) = operand(rng, formats[0], 32, 128), operand(rng, formats[1], 16, 128)
    scales = [torch.from_numpy(rng.uniform(0.25, 4, (lines, 4))).to(dtype) for lines in (32, 16)]
    left, right = (side * scale.double().numpy().repeat(32, axis=1) for side, scale in zip((left, right), scales))
    c = torch.full((32, 16), np.nan)
    float_scales[(1, )](a, b.view(torch.uint8).T.contiguous().view(b.dtype), *scales, c, *formats)
    assert (np.abs(c.double().numpy() - left @ right.T) <= 2e-3 * (np.abs(left) @ np.abs(right).T)).all()
