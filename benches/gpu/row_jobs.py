"""Jobs over rows: gradients of a norm, long softmax, rotary embedding, lookups, scans, sorts, transposes."""

import torch
from job import Job, near


def rows():
    """All of them."""
    yield from layer_norm_backward(8192, 4096)
    yield from long_softmax(1024, 131072)
    yield from rotary(8, 2048, 32, 128)
    yield from embedding(16384, 50000, 4096)
    yield from running_sums(8192, 4096)
    yield from sort(8192, 1024)
    yield from transpose(8192, 8192)


def layer_norm_backward(count, cols):
    """Gradients of x, weight and bias in fp16."""
    x, dy = (torch.randn(count, cols, device="cuda", dtype=torch.float16) for _ in range(2))
    w = torch.rand(cols, device="cuda", dtype=torch.float16)
    b = torch.rand(cols, device="cuda", dtype=torch.float16)
    exact = x.double()
    mean = exact.mean(1)
    rstd = torch.rsqrt(exact.var(1, correction=0) + 1e-5)
    normal = (exact - mean[:, None]) * rstd[:, None]
    scaled = w.double() * dy.double()
    along = (normal * scaled).mean(1, keepdim=True)
    expected = (scaled - normal * along - scaled.mean(1, keepdim=True)) * rstd[:, None], (dy.double() * normal).sum(0), \
        dy.double().sum(0)
    del exact, normal, scaled
    mean, rstd = mean.float(), rstd.float()
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    block = 1 << (cols - 1).bit_length()

    def make(module, configuration):
        programs, warps = configuration
        shares = [torch.empty(programs, cols, device="cuda") for _ in range(2)]

        def run():
            module.layer_norm_backward[(programs, )](x, dy, w, mean, rstd, dx, *shares, x.stride(0), count, cols, BLOCK=block,
                                                     PROGRAMS=programs, num_warps=warps)
            module.column_sums[(-(-cols // 32), )](*shares, dw, db, programs, cols, ROWS=32, COLUMNS=32)

        return run

    def check():
        near(dx, expected[0], 4e-3, 4e-3)
        # Sums of so many terms, rounded to fp16.
        near(dw, expected[1], 2e-3 * count**0.5, 2e-3)
        near(db, expected[2], 2e-3 * count**0.5, 2e-3)
        for gradient in (dx, dw, db):
            gradient.fill_(float("nan"))

    def library():
        return torch.ops.aten.native_layer_norm_backward(dy, x, [cols], mean[:, None], rstd[:, None], w, b, [True] * 3)

    yield Job("layer norm backward", f"{count}x{cols} fp16", "rows", "TB/s", 3 * 2 * count * cols,
              [(132, 16), (264, 8), (528, 8), (528, 4)], make, check, library)


def long_softmax(count, cols):
    """Rows that no block holds, in two loops."""
    x = torch.randn(count, cols, device="cuda")
    out = torch.empty_like(x)
    expected = torch.softmax(x.double(), 1)

    def make(module, configuration):
        block, warps = configuration
        return lambda: module.softmax_kernel_v1[(count, )](x, out, x.stride(0), cols, block, num_warps=warps)

    def check():
        near(out, expected, 1e-9, 1e-5)
        out.fill_(float("nan"))

    yield Job("softmax online", f"{count}x{cols}", "seeds", "TB/s", 2 * 4 * count * cols,
              [(1024, 4), (4096, 8), (4096, 16), (8192, 16)], make, check, lambda: torch.softmax(x, 1, out=out))


def rotary(sequences, length, heads, width):
    """All heads of all tokens in fp16."""
    x = torch.randn(sequences * length, heads, width, device="cuda", dtype=torch.float16)
    angle = torch.randn(length, width // 2, device="cuda")
    cos, sin = angle.cos(), angle.sin()
    out = torch.empty_like(x)
    some = slice(0, None, 61)
    places = torch.arange(sequences * length, device="cuda")[some] % length
    turned_cos, turned_sin = cos[places].double()[:, None], sin[places].double()[:, None]
    one, two = x[some].double().chunk(2, -1)
    expected = torch.cat([one * turned_cos - two * turned_sin, two * turned_cos + one * turned_sin], -1)

    def make(module, configuration):
        return lambda: module.rotary_embedding[(sequences * length, )](x, cos, sin, out, length, HEADS=heads,
                                                                       HALF=width // 2, num_warps=configuration[0])

    def check():
        near(out[some], expected, 1e-3, 2e-3)
        out.fill_(float("nan"))

    def library():
        one, two = x.view(sequences, length, heads, width).chunk(2, -1)
        c, s = cos[None, :, None], sin[None, :, None]
        return torch.cat([one * c - two * s, two * c + one * s], -1).half()

    yield Job("rotary embedding", f"{sequences}x{length}x{heads}x{width} fp16", "rows", "TB/s",
              2 * 2 * sequences * length * heads * width, [(4, ), (8, )], make, check, library)


def embedding(tokens, words, width):
    """Rows of a table in fp16."""
    table = torch.randn(words, width, device="cuda", dtype=torch.float16)
    index = torch.randint(words, (tokens, ), device="cuda")
    out = torch.empty(tokens, width, device="cuda", dtype=torch.float16)
    block = 1 << (width - 1).bit_length()

    def check():
        near(out, table[index], 0, 0)
        out.fill_(float("nan"))

    yield Job("embedding", f"{tokens} of {words}x{width} fp16", "rows", "TB/s", 2 * 2 * tokens * width, [(4, ), (8, )],
              lambda module, configuration: lambda: module.embedding[(tokens, )](table, index, out, width, BLOCK=block,
                                                                                 num_warps=configuration[0]),
              check, lambda: torch.nn.functional.embedding(index, table))


def running_sums(count, cols):
    """Along rows in fp32."""
    x = torch.randn(count, cols, device="cuda")
    out = torch.empty_like(x)
    expected = torch.cumsum(x.double(), 1)
    block = 1 << (cols - 1).bit_length()

    def check():
        near(out, expected, 1e-5 * cols**0.5, 1e-5)
        out.fill_(float("nan"))

    yield Job("cumulative sums", f"{count}x{cols} fp32", "rows", "TB/s", 2 * 4 * count * cols, [(4, ), (8, ), (16, )],
              lambda module, configuration: lambda: module.running_sums[(count, )](x, out, cols, BLOCK=block,
                                                                                   num_warps=configuration[0]),
              check, lambda: torch.cumsum(x, 1, out=out))


def sort(count, cols):
    """Each row, fp32; `cols` is a power of two."""
    x = torch.randn(count, cols, device="cuda")
    out = torch.empty_like(x)
    expected = torch.sort(x, 1).values

    def check():
        near(out, expected, 0, 0)
        out.fill_(float("nan"))

    yield Job("sort", f"{count}x{cols} fp32", "rows", "TB/s", 2 * 4 * count * cols, [(1, ), (4, ), (8, )],
              lambda module, configuration: lambda: module.sorted_rows[(count, )](x, out, N=cols,
                                                                                  num_warps=configuration[0]),
              check, lambda: torch.sort(x, 1))


def transpose(count, cols):
    """A matrix of fp16."""
    x = torch.randn(count, cols, device="cuda", dtype=torch.float16)
    out = torch.empty(cols, count, device="cuda", dtype=torch.float16)

    def make(module, configuration):
        m, n, warps = configuration
        return lambda: module.transposed[(-(-count // m), -(-cols // n))](x, out, count, cols, M=m, N=n, num_warps=warps)

    def check():
        near(out, x.t(), 0, 0)
        out.fill_(float("nan"))

    yield Job("transpose", f"{count}x{cols} fp16", "rows", "TB/s", 2 * 2 * count * cols,
              [(64, 64, 4), (64, 128, 8), (128, 128, 8)], make, check, lambda: out.copy_(x.t()))
