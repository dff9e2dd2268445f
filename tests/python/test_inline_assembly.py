"""Inline PTX that the language has operations for runs where there is no PTX."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90"]


@triton.jit
def assembly(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, 1.0)
    curve = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1)
    both = tl.inline_asm_elementwise("{ add.rn.f32 $0, $1, $2; }", "=f,f,f", [curve, value], dtype=tl.float32, is_pure=True, pack=1)
    whole = tl.inline_asm_elementwise("max.s32 $0, $1, $2;", "=r,r,r", [at, at * 0 + 5], dtype=tl.int32, is_pure=True, pack=1)
    narrow = tl.inline_asm_elementwise("cvt.rn.bf16.f32 $0, $1;", "=h,f", [both], dtype=tl.bfloat16, is_pure=True, pack=1)
    tl.store(out + at, both + whole, at < n)
    tl.store(out + n + at, narrow.to(tl.float32), at < n)


@pytest.mark.parametrize("n", [1, 77])
def test_single_instructions(engine, n):
    x = np.random.default_rng().standard_normal(n).astype(np.float32)
    out = np.full(2 * n, np.nan, np.float32)
    assembly[(1, )](x, out, n, 128)
    both = np.tanh(x.astype(np.float64)) + x
    # The instruction has about eleven bits.
    np.testing.assert_allclose(out[:n], both + np.maximum(np.arange(n), 5), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(out[n:], both, rtol=2.0**-8, atol=1e-3)


NIBBLES = """
{
    .reg .b32 r<4>, magic, sixteen;  // 1024 and 16 as fp16, twice
    mov.b32 magic, 0x64006400;
    mov.b32 sixteen, 0x4c004c00;
    prmt.b32 r0, $2, 0, 0x4140;
    prmt.b32 r1, $2, 0, 0x4342;
    shr.u32 r2, r0, 4;
    lop3.b32 r0, r0, 0x000f000f, magic, 0xea;
    lop3.b32 r2, r2, 0x000f000f, magic, 0xea;
    sub.f16x2 r0, r0, magic;
    sub.f16x2 r2, r2, magic;
    fma.rn.f16x2 $0, r2, sixteen, r0;
    shr.u32 r3, r1, 4;
    lop3.b32 r1, r1, 0x000f000f, magic, 0xea;
    lop3.b32 r3, r3, 0x000f000f, magic, 0xea;
    sub.f16x2 r1, r1, magic;
    sub.f16x2 r3, r3, magic;
    fma.rn.f16x2 $1, r3, sixteen, r1;
}
"""


@triton.jit
def packed_assembly(x, out, BLOCK: tl.constexpr, text: tl.constexpr):
    at = tl.arange(0, BLOCK)
    whole = tl.inline_asm_elementwise(text, "=r,=r,r", [tl.load(x + at)], dtype=tl.float16, is_pure=True, pack=4)
    byte = tl.inline_asm_elementwise("{ .reg .b16 t; cvt.rn.satfinite.e4m3x2.f32 t, 0f00000000, $1; cvt.u32.u16 $0, t; }", "=r,f", [whole.to(tl.float32)],
                                     dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + at, whole.to(tl.float32))
    tl.store(out + BLOCK + at, byte.to(tl.float32))


def test_several_instructions(engine):
    x = np.random.default_rng().integers(0, 256, 128).astype(np.uint8)
    out = np.full(256, np.nan, np.float32)
    packed_assembly[(1, )](x, out, 128, NIBBLES)
    # Each byte is made again of its halves: low plus 16 times high.
    np.testing.assert_array_equal(out[:128], x)
    eight = torch.from_numpy(x).float().to(torch.float8_e4m3fn).view(torch.uint8)
    np.testing.assert_array_equal(out[128:], eight.numpy())


FOURS = """
{
    .reg .b8 a, b, c, d;
    cvt.rn.satfinite.e2m1x2.f32 a, $5, $1;
    cvt.rn.satfinite.e2m1x2.f32 b, $6, $2;
    cvt.rn.satfinite.e2m1x2.f32 c, $7, $3;
    cvt.rn.satfinite.e2m1x2.f32 d, $8, $4;
    mov.b32 $0, {a, b, c, d};
}
"""


@triton.jit
def narrow_floats(x, codes, powers, back, n, BLOCK: tl.constexpr, text: tl.constexpr):
    at = tl.arange(0, BLOCK)
    low, high = tl.load(x + 2 * at, at < n, 0.0), tl.load(x + 2 * at + 1, at < n, 0.0)
    both = tl.inline_asm_elementwise(text, "=r,r,r,r,r,r,r,r,r", [low, high], dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(codes + at, both, at < n)
    power = tl.inline_asm_elementwise("cvt.rp.ue8m0x2.f32 $0, 0.0, $1;", "=h,r", [low], dtype=tl.uint16, is_pure=True, pack=1)
    tl.store(powers + at, power, at < n)
    halves = tl.inline_asm_elementwise("{ .reg .b8 c; .reg .f16x2 w; cvt.u8.u32 c, $1; cvt.rn.f16x2.e2m1x2 w, c; mov.b32 $0, w; }", "=r,r",
                                       [both], dtype=tl.uint32, is_pure=True, pack=1)
    tl.store(back + at, halves, at < n)


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "sm_100", "gfx942"], indirect=True)
@pytest.mark.parametrize("n", [3, 203])
def test_floats_of_four_bits_and_powers_of_two(engine, n, rng):
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    x = (rng.standard_normal(2 * n) * 3).astype(np.float32)
    # Halves between neighbours go to the even one.
    places = rng.permutation(2 * n)[:6]
    x[places] = np.array([0.25, -0.75, 1.25, -2.5, 5, 1e30], np.float32)[:len(places)]
    codes, powers, back = np.zeros(n, np.uint8), np.zeros(n, np.uint16), np.zeros(n, np.uint32)
    narrow_floats[(1, )](x, codes, powers, back, n, 256, FOURS)
    magnitude = np.minimum(np.abs(x.astype(np.float64)), 6)
    distance = np.abs(magnitude[:, None] - table)
    nearest = distance == distance.min(1, keepdims=True)
    code = np.where(nearest[:, ::2].any(1), 2 * nearest[:, ::2].argmax(1), 2 * nearest[:, 1::2].argmax(1) + 1)
    code = code | np.where(np.signbit(x), 8, 0)
    np.testing.assert_array_equal(codes, code[::2] | code[1::2] << 4)
    np.testing.assert_array_equal(back.view(np.float16), np.where(np.signbit(x), -1, 1) * table[code & 7])
    fraction, exponent = np.frexp(np.abs(x[::2]))
    np.testing.assert_array_equal(powers, exponent + 127 - (fraction == 0.5))


PAIRS = "{{ .reg .b8 code; .reg .f16x2 pair; mov.b32 pair, $1; cvt.rn.satfinite.e2m1x2.{}x2 code, pair; cvt.u32.u8 $0, code; }}"


@triton.jit
def narrow_pairs(x, codes, n, BLOCK: tl.constexpr, text: tl.constexpr, dtype: tl.constexpr):
    at = tl.arange(0, BLOCK)
    low, high = [tl.load(x + 2 * at + half, at < n, 0.0).to(dtype).to(tl.uint16, bitcast=True).to(tl.uint32) for half in (0, 1)]
    both = tl.inline_asm_elementwise(text, "=r,r", [low | (high << 16)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(codes + at, both.to(codes.dtype.element_ty), at < n)


def nearest_codes(values, table):
    """The codes of the numbers of a table that are nearest, of two the even one, with the sign above them; NaN is the greatest number."""
    distance = np.abs(np.minimum(np.abs(values), table[-1])[:, None] - table)
    nearest = distance == distance.min(1, keepdims=True)
    code = np.where(nearest[:, ::2].any(1), 2 * nearest[:, ::2].argmax(1), 2 * nearest[:, 1::2].argmax(1) + 1)
    return np.where(np.isnan(values), len(table) - 1, code | np.where(np.signbit(values), len(table), 0))


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "gfx942"], indirect=True)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_pairs_of_16_bits_to_four(engine, dtype, rng):
    x = (rng.standard_normal(202) * 3).astype(np.float32)
    x[:9] = [0.25, -0.75, 1.25, -2.5, 5, 60000, -np.inf, np.nan, -0.0]
    codes = np.zeros(101, np.uint8)
    narrow_pairs[(1, )](x, codes, 101, 128, PAIRS.format(dtype), tl.float16 if dtype == "f16" else tl.bfloat16)
    rounded = torch.from_numpy(x).to(torch.float16 if dtype == "f16" else torch.bfloat16).double().numpy()
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    code = nearest_codes(rounded, table)
    np.testing.assert_array_equal(codes, code[::2] | code[1::2] << 4)


SIX_BITS = "{{ .reg .b16 code; .reg .f16x2 pair; mov.b32 pair, $1; cvt.rn.satfinite.{}x2.{}x2 code, pair; cvt.u32.u16 $0, code; }}"


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "gfx942"], indirect=True)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("to, mantissa, bias", [("e2m3", 3, 1), ("e3m2", 2, 3)])
def test_pairs_of_16_bits_to_six(engine, to, mantissa, bias, dtype, rng):
    x = (rng.standard_normal(202) * 6).astype(np.float32)
    x[:9] = [0.0625, -0.1875, 1.0625, -2.125, 7.25, 60000, -np.inf, np.nan, -0.0]
    codes = np.zeros(101, np.uint16)
    narrow_pairs[(1, )](x, codes, 101, 128, SIX_BITS.format(to, dtype), tl.float16 if dtype == "f16" else tl.bfloat16)
    rounded = torch.from_numpy(x).to(torch.float16 if dtype == "f16" else torch.bfloat16).double().numpy()
    number = np.arange(32)
    exponent, fraction = number >> mantissa, (number & (1 << mantissa) - 1) / (1 << mantissa)
    table = np.where(exponent == 0, fraction * 2.0**(1 - bias), (1 + fraction) * 2.0**(exponent - bias))
    code = nearest_codes(rounded, table)
    np.testing.assert_array_equal(codes, code[::2] | code[1::2] << 8)


@triton.jit
def counted_bits(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b = tl.load(x + at, at < n, 0), tl.load(y + at, at < n, 0)
    wide = (a.to(tl.int64) << 32) | (b.to(tl.int64) & 0xFFFFFFFF)
    one: tl.constexpr = ["popc.b32 $0, $1;", "clz.b32 $0, $1;", "brev.b32 $0, $1;", "bfind.u32 $0, $1;", "abs.s32 $0, $1;",
                         "bfe.u32 $0, $1, 5, 9;", "bfe.s32 $0, $1, 27, 9;"]
    for row in tl.static_range(7):
        tl.store(out + row * n + at, tl.inline_asm_elementwise(one[row], "=r,r", [a], dtype=tl.int32, is_pure=True, pack=1), at < n)
    two: tl.constexpr = ["shf.l.wrap.b32 $0, $1, $2, $2;", "shf.r.wrap.b32 $0, $1, $2, $2;", "bfi.b32 $0, $1, $2, 3, 7;",
                         "mul.hi.s32 $0, $1, $2;", "sad.s32 $0, $1, $2, $1;", "sad.u32 $0, $1, $2, $1;",
                         "dp4a.s32.s32 $0, $1, $2, $1;", "dp4a.u32.s32 $0, $1, $2, $1;"]
    for row in tl.static_range(8):
        value = tl.inline_asm_elementwise(two[row], "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1)
        tl.store(out + (7 + row) * n + at, value, at < n)
    long = tl.inline_asm_elementwise("popc.b64 $0, $1;", "=r,l", [wide], dtype=tl.int32, is_pure=True, pack=1)
    zeros = tl.inline_asm_elementwise("{ .reg .b32 z; clz.b64 z, $1; mov.b32 $0, z; }", "=r,l", [wide], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + 15 * n + at, long, at < n)
    tl.store(out + 16 * n + at, zeros, at < n)


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "sm_90", "gfx942"], indirect=True)
def test_bits_and_bytes(engine, rng):
    n = 61
    x, y = (rng.integers(-2**31, 2**31, n, np.int64).astype(np.int32) >> rng.integers(0, 31, n).astype(np.int32) for _ in range(2))
    x[:4], y[:3] = [0, -1, 1, -2**31], [0, 31, 32]
    out = np.zeros((17, n), np.int32)
    counted_bits[(1, )](x, y, out, n, 64)

    def word(value):
        return (value + 2**31) % 2**32 - 2**31

    def signed(value, bits):
        return (value & (1 << bits) - 1) - ((value >> bits - 1 & 1) << bits)

    for at, (a, b) in enumerate(zip(map(int, x), map(int, y))):
        u, v = a % 2**32, b % 2**32
        whole = u << 32 | v
        both = v << 32 | u
        of_bytes = [[signed(k >> 8 * i, 8) for i in range(4)] for k in (u, v)]
        wanted = [
            u.bit_count(), 32 - u.bit_length(), word(int(f"{u:032b}"[::-1], 2)), u.bit_length() - 1, word(abs(a)), u >> 5 & 511,
            a >> 27, word((both << (v & 31)) >> 32), word(both >> (v & 31)), word(v & ~(127 << 3) | (u & 127) << 3), a * b >> 32,
            word(abs(a - b) + a), word(abs(u - v) + a), word(a + sum(p * q for p, q in zip(*of_bytes))),
            word(a + sum((u >> 8 * i & 255) * of_bytes[1][i] for i in range(4))), whole.bit_count(), 64 - whole.bit_length()
        ]
        assert out[:, at].tolist() == wanted, (a, b)


@triton.jit
def passes_on(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)
    tl.inline_asm_elementwise("bar.sync 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x + at, tl.load(out + BLOCK - 1 - at))


@triton.jit
def waits_for_the_launch_before(x, out, BLOCK: tl.constexpr):
    tl.inline_asm_elementwise("griddepcontrol.wait; // dummy $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise("griddepcontrol.launch_dependents; bar.sync 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 1)


@triton.jit
def reversed_runs(x, y, bytes_out, halves_out, M: tl.constexpr, N: tl.constexpr, WAY: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    at = rows * N + columns
    if WAY == "transposed":
        value = tl.trans(tl.load(x + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]))
    elif WAY == "reduced":
        value = tl.max(tl.load(x + at[:, :, None] + tl.arange(0, 1)[None, None, :]), 2).to(tl.uint8)
    else:
        value = tl.load(x + at)
    turned = tl.inline_asm_elementwise("prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [value], dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(bytes_out + at, turned)
    half = value.to(tl.float16)
    if WAY == "dot":
        half = tl.dot(half, tl.load(y + tl.arange(0, N)[:, None] * N + columns)).to(tl.float16)
    first, last = tl.inline_asm_elementwise(
        "{ prmt.b32 $0, $5, 0, 0x1032; prmt.b32 $1, $4, 0, 0x1032; mov.b32 $2, $4; mov.b32 $3, $5; }", "=r,=r,=r,=r,r,r", [half],
        dtype=(tl.float16, tl.float16), is_pure=True, pack=4)
    tl.store(halves_out + at, first + 256 * last)


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "sm_90", "gfx942"], indirect=True)
@pytest.mark.parametrize("way, m, n", [("plain", 1, 4), ("plain", 16, 128), ("transposed", 64, 32), ("transposed", 8, 4),
                                       ("reduced", 32, 16), ("dot", 64, 64)])
def test_a_run_takes_neighbours_along_the_last_dimension(engine, way, m, n):
    rng = np.random.default_rng()
    x = rng.integers(0, 8 if way == "dot" else 200, (m, n)).astype(np.uint8)
    y = np.eye(n, dtype=np.float16)[rng.permutation(n)]
    bytes_out, halves_out = np.full((m, n), 255, np.uint8), np.full((m, n), np.nan, np.float16)
    stored = np.ascontiguousarray(x.T) if way == "transposed" else x
    reversed_runs[(1, )](stored, y, bytes_out, halves_out, m, n, way)
    runs = lambda block: block.reshape(-1, 4)[:, ::-1].reshape(m, n)
    assert (bytes_out == runs(x)).all()
    half = (x.astype(np.float64) @ y if way == "dot" else x).astype(np.float64)
    assert (halves_out == (runs(half) + 256 * half).astype(np.float16)).all()


@pytest.mark.parametrize("engine", ["cpu", "sm_90", "gfx942"], indirect=True)
def test_a_barrier_is_one_elsewhere(engine):
    x, out = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    passes_on[(1, )](x, out, 256)
    assert np.array_equal(x, 2 * np.arange(256)[::-1])


@pytest.mark.parametrize("interpret", [False, True])
def test_barriers_and_launches_that_wait_for_each_other_run_where_they_never_overlap(interpret):
    x, out = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    triton.jit(waits_for_the_launch_before.fn, interpret=interpret)[(1, )](x, out, 256)
    assert np.array_equal(out, np.arange(1, 257))


@pytest.mark.parametrize("text", [
    "f32 $0, $1;",
    "{ .reg .b32 t; f16x2 t, $1; mov.b32 $0, t; }",
    ". $0, $1;",
    "{ mov.b32 {}, $1; }",
    "mov.b32 $0, $1; /* without an end",
    "{ .reg .f32 t; add.f32 t, $1, 0d3FF0000000000000; mov.b32 $0, t; }",
    "{ .reg .f64 t; cvt.f64.s32 t, $1; add.f64 t, t, 0f3F800000; cvt.rzi.s32.f64 $0, t; }",
])
def test_texts_without_a_known_type_or_an_end_or_with_floats_of_another_are_refused(text):

    @triton.jit
    def typeless(x, text: tl.constexpr):
        tl.store(x, tl.inline_asm_elementwise(text, "=r,r", [tl.load(x)], dtype=tl.int32, is_pure=True, pack=1))

    with pytest.raises(triton.TritonError, match="not supported on the CPU: inline assembly is written for one processor"):
        typeless[(1, )](np.zeros(1, np.int32), text)


def test_other_assembly_is_refused_where_it_has_no_meaning():

    @triton.jit
    def places(x):
        tl.store(x, tl.inline_asm_elementwise("fns.b32 $0, $1, 0, 2;", "=r,r", [tl.load(x)], dtype=tl.int32, is_pure=True, pack=1))

    @triton.jit
    def lanes(x):
        tl.store(x, tl.inline_asm_elementwise("{ mov.u32 $0, %tid.x; add.u32 $0, $0, 1; }", "=r", [], dtype=tl.int32, is_pure=True, pack=1))

    for kernel in (places, lanes):
        with pytest.raises(triton.TritonError, match="not supported on the CPU: inline assembly is written for one processor"):
            kernel[(1, )](np.zeros(1, np.int32))


@pytest.mark.parametrize("target", [("cuda", 90, 32), ("hip", "gfx942", 64)], ids=["nvidia", "amd"])
def test_assembly_that_the_assembler_refuses_is_an_error_of_the_kernel(target):

    @triton.jit
    def swapped(x):
        tl.store(x, tl.inline_asm_elementwise("bswap $0, $1;", "=r,r", [tl.load(x)], dtype=tl.int32, is_pure=True, pack=1))

    source = triton.compiler.ASTSource(swapped, {"x": "*i32"})
    with pytest.raises(triton.TritonError, match=r"test_inline_assembly.py:\d+:\d+: the inline assembly `bswap"):
        triton.compile(source, target=triton.backends.compiler.GPUTarget(*target))


def test_constraints_count_registers():

    @triton.jit
    def wide(x):
        tl.store(x, tl.inline_asm_elementwise("prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [tl.load(x)], dtype=tl.uint8, is_pure=True, pack=4))

    with pytest.raises(triton.CompilationError, match='"=r,r" name 1 results and 1 operands, and the elements of a run take 1 and 4'):
        wide[(1, )](np.zeros(1, np.int32))
