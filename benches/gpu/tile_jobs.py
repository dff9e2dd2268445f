"""Jobs over tiles: a matrix by a vector, persistent products, other types, attention backward and over pages."""

import math

import torch
from job import Job, near


def tiles():
    """All of them."""
    yield from matrix_vector(28672, 8192)
    yield from persistent(8192, 8192, 512)
    yield from persistent(4096, 4096, 4096)
    yield from typed(4096, 4096, 4096, "int8")
    yield from typed(4096, 4096, 4096, "tf32")
    yield from block_scaled(4096, 4096, 7168)
    for causal in (False, True):
        yield from attention_backward(4, 32, 4096, 64, causal)
    yield from paged(32, 8, 8, 128, 64, 4096)


def matrix_vector(n, k):
    """One token by a weight in fp16."""
    w = torch.randn(n, k, device="cuda", dtype=torch.float16)
    x = torch.randn(k, device="cuda", dtype=torch.float16)
    out = torch.empty(n, device="cuda", dtype=torch.float16)
    expected = torch.cat([part.double() @ x.double() for part in w.split(4096)])

    def make(module, configuration):
        rows, cols, warps = configuration
        return lambda: module.matrix_vector[(-(-n // rows), )](w, x, out, n, k, N=rows, K=cols, num_warps=warps)

    def check():
        near(out, expected, 1e-3 * math.sqrt(k), 2e-3)
        out.fill_(float("nan"))

    yield Job("matrix by vector", f"{n}x{k} fp16", "tiles", "TB/s", 2 * n * k, [(4, 1024, 4), (8, 512, 4), (16, 512, 8)], make,
              check, lambda: torch.mv(w, x, out=out))


def persistent(m, n, k):
    """As many programs as there are processors, fp16, by pointers."""
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    some = torch.arange(0, m, 37, device="cuda")
    expected = a[some].double() @ b.double()

    def make(module, configuration):
        tile_m, tile_n, tile_k, warps, stages = configuration
        count = torch.cuda.get_device_properties(0).multi_processor_count
        programs = min(count, -(-m // tile_m) * -(-n // tile_n))
        return lambda: module.persistent_matmul[(programs, )](a, b, c, m, n, k, M=tile_m, N=tile_n, K=tile_k, GROUP=8,
                                                              PROGRAMS=programs, num_warps=warps, num_stages=stages)

    def check():
        near(c[some], expected, 1e-3 * math.sqrt(k), 2e-3)
        c.fill_(float("nan"))

    yield Job("persistent matmul", f"{m}x{n}x{k} fp16", "tiles", "TFLOP/s", 2 * m * n * k,
              [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4)], make, check, lambda: torch.matmul(a, b, out=c))


def typed(m, n, k, kind):
    """int8 with sums of int32, and fp32 by tf32."""
    some = torch.arange(0, m, 37, device="cuda")
    if kind == "int8":
        a = torch.randint(-128, 128, (m, k), device="cuda", dtype=torch.int8)
        # Matrix instructions read 8-bit operands along the sums.
        b = torch.randint(-128, 128, (n, k), device="cuda", dtype=torch.int8).t()
        c = torch.empty(m, n, device="cuda", dtype=torch.int32)
        allowed = 0, 0
    else:
        a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
        c = torch.empty(m, n, device="cuda")
        # Operands have 10 bits behind the point.
        allowed = 2e-3 * math.sqrt(k), 2e-3
    expected = a[some].double() @ b.double()

    def make(module, configuration):
        tile_m, tile_n, tile_k, warps, stages = configuration
        grid = (-(-m // tile_m) * -(-n // tile_n), )
        sums = module.tl.int32 if kind == "int8" else module.tl.float32
        return lambda: module.typed_matmul[grid](a, b, c, m, n, k, b.stride(0), b.stride(1), M=tile_m, N=tile_n, K=tile_k,
                                                 SUMS=sums, num_warps=warps, num_stages=stages)

    def check():
        near(c[some], expected, *allowed)
        c.fill_(-1)

    def library():
        if kind == "int8":
            return torch._int_mm(a, b)
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return torch.matmul(a, b, out=c)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    depth = 128 if kind == "int8" else 32
    yield Job(f"matmul {kind}", f"{m}x{n}x{k}", "tiles", "TFLOP/s", 2 * m * n * k,
              [(128, 256, depth, 8, 3), (128, 128, depth, 4, 4), (128, 128, depth, 8, 3)], make, check, library)


def block_scaled(m, n, k):
    """fp8 (e4m3) with a scale for 128 numbers of a row of one side and for 128×128 of the other."""
    a = (torch.randn(m, k, device="cuda") * 4).to(torch.float8_e4m3fn)
    b = (torch.randn(n, k, device="cuda") * 4).to(torch.float8_e4m3fn)
    a_scale = torch.rand(m, k // 128, device="cuda")
    b_scale = torch.rand(n // 128, k // 128, device="cuda")
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    some = torch.arange(0, m, 37, device="cuda")
    left = a[some].double() * a_scale[some].double().repeat_interleave(128, 1)
    right = b.double() * b_scale.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    expected = left @ right.t()
    del right

    def make(module, configuration):
        tile_m, tile_n, warps, stages = configuration
        grid = (-(-m // tile_m) * -(-n // tile_n), )
        return lambda: module.block_scaled_matmul[grid](a, b, a_scale, b_scale, c, m, n, k, M=tile_m, N=tile_n, K=128,
                                                        num_warps=warps, num_stages=stages)

    def check():
        # Matrix instructions keep about 14 bits of sums of 8-bit floats; fp16 has 11.
        near(c[some], expected, 2e-2 * math.sqrt(k), 4e-3)
        c.fill_(float("nan"))

    # cuBLAS wants the scales of a side one below the other.
    columns, rows = a_scale.t().contiguous().t(), b_scale.t()

    def library():
        return torch._scaled_mm(a, b.t(), columns, rows, out_dtype=torch.bfloat16)

    yield Job("matmul fp8, scaled blocks", f"{m}x{n}x{k}", "tiles", "TFLOP/s", 2 * m * n * k,
              [(128, 128, 4, 3), (128, 128, 8, 3), (64, 128, 4, 4)], make, check, library)


def attention_backward(batch, heads, length, width, causal):
    """Gradients of queries, keys and values in fp16."""
    shape = (batch * heads, length, width)
    q, k, v, do = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(4))
    scale = 1 / math.sqrt(width)
    out, lse = torch.empty_like(q), torch.empty(batch * heads, length, device="cuda")
    hidden = torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1) if causal else None
    for head in range(batch * heads):
        scores = (q[head].float() @ k[head].float().t()) * scale
        if causal:
            scores.masked_fill_(hidden, float("-inf"))
        lse[head] = torch.logsumexp(scores, 1) / math.log(2)
        out[head] = torch.softmax(scores, 1).half() @ v[head]
    delta = (out.float() * do.float()).sum(-1)
    dq, dk, dv = (torch.empty_like(q) for _ in range(3))
    some = [0, batch * heads - 1]
    leaves = [t[some].double().requires_grad_() for t in (q, k, v)]
    attend = torch.nn.functional.scaled_dot_product_attention
    expected = torch.autograd.grad(attend(*leaves, is_causal=causal), leaves, do[some].double())

    def make(module, configuration):
        m, n, warps, stages = configuration
        options = {"D": width, "CAUSAL": causal, "num_warps": warps, "num_stages": stages}
        scaled = scale / math.log(2)

        def run():
            module.gradient_of_keys[(length // n, batch * heads)](q, k, v, do, dk, dv, lse, delta, scaled, length, M=m, N=n,
                                                                  **options)
            module.gradient_of_queries[(length // n, batch * heads)](q, k, v, do, dq, lse, delta, scaled, length, M=n, N=m,
                                                                     **options)

        return run

    def check():
        for result, right in zip((dq, dk, dv), expected):
            near(result[some], right, 6e-3, 1e-2)
            result.fill_(float("nan"))

    own = [t.view(batch, heads, length, width).detach().requires_grad_() for t in (q, k, v)]
    forward = attend(*own, is_causal=causal)
    given = do.view(batch, heads, length, width)

    def library():
        return torch.autograd.grad(forward, own, given, retain_graph=True)

    label = f"{batch}x{heads}x{length}x{width}" + (" causal" if causal else "")
    operations = 10 * batch * heads * length * length * width // (2 if causal else 1)
    yield Job("attention backward", label, "tiles", "TFLOP/s", operations, [(64, 128, 8, 2), (64, 64, 4, 2), (32, 128, 4, 3)],
              make, check, library)


def paged(batch, heads, group, width, page, longest):
    """One token of each sequence; `group` heads of queries share a head of keys and values."""
    lengths = torch.randint(longest // 2, longest + 1, (batch, ), device="cuda", dtype=torch.int32)
    pages = longest // page
    table = torch.randperm(batch * pages, device="cuda", dtype=torch.int32).view(batch, pages)
    k, v = (torch.randn(batch * pages, page, heads, width, device="cuda", dtype=torch.float16) for _ in range(2))
    # Matrix instructions take 16 rows: heads of queries that there are not are zero.
    rows = max(group, 16)
    q = torch.zeros(batch, heads, rows, width, device="cuda", dtype=torch.float16)
    q[:, :, :group].normal_()
    out = torch.empty_like(q)
    scale = 1 / math.sqrt(width)
    keys, values = (t[table.long()].view(batch, longest, heads, width).transpose(1, 2) for t in (k, v))
    seen = (torch.arange(longest, device="cuda") < lengths[:, None])[:, None, None]
    attend = torch.nn.functional.scaled_dot_product_attention
    expected = attend(q.double(), keys.double(), values.double(), attn_mask=seen)

    def make(module, configuration):
        splits, warps, stages = configuration
        acc = torch.empty(batch * heads * rows, splits, width, device="cuda")
        top, total = (torch.empty(batch * heads * rows, splits, device="cuda") for _ in range(2))

        def run():
            module.paged_attention[(batch, heads, splits)](q, k, v, table, lengths, acc, top, total, scale / math.log(2), pages,
                                                           HEADS=heads, GROUP=rows, D=width, PAGE=page, SPLITS=splits,
                                                           num_warps=warps, num_stages=stages)
            module.joined_shares[(batch * heads * rows, )](acc, top, total, out, D=width, SPLITS=splits)

        return run

    def check():
        near(out, expected, 2e-3, 5e-3)
        out.fill_(float("nan"))

    few = q[:, :, :group].contiguous()
    amount = 2 * 2 * int(lengths.sum()) * heads * width
    yield Job("decode over pages", f"{batch}x{heads}x{longest}x{width}, pages of {page}", "tiles", "TB/s", amount,
              [(4, 4, 3), (8, 4, 3), (4, 8, 3)], make, check,
              lambda: attend(few, keys, values, attn_mask=seen))
