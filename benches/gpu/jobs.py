"""What is measured: jobs with their configurations, each for every compiler."""

import math

import plane_jobs
import row_jobs
import tile_jobs
import torch
from job import Job, near


def vector_add():
    """2^28 sums, and as many as no power of two divides: its mask ends within a run of 16 bytes."""
    yield vector_add_of(1 << 28, torch.float32, "2^28 fp32")
    yield vector_add_of((1 << 28) + 3, torch.float16, "2^28+3 fp16")


def vector_add_of(n, dtype, size):
    x, y = (torch.rand(n, device="cuda", dtype=dtype) for _ in range(2))
    out = torch.empty_like(x)

    def make(module, configuration):
        block, warps = configuration
        grid = (-(-n // block), )
        return lambda: module.add_kernel[grid](x, y, out, n, BLOCK_SIZE=block, num_warps=warps)

    return Job("vector add", size, "seeds", "TB/s", 3 * x.element_size() * n, [(1024, 4), (2048, 8), (4096, 8)], make,
               lambda: near(out, x + y, 0, 0), lambda: torch.add(x, y, out=out))


def softmax(rows, cols, apart=0):
    """Each of the four kernels on one size, with rows so many elements apart (0: one right behind the other)."""
    x, out = (torch.randn(rows, apart or cols, device="cuda")[:, :cols] for _ in range(2))
    expected = torch.softmax(x.double(), 1)
    block = 1 << (cols - 1).bit_length()
    size = f"{rows}x{cols}" + (f", rows {apart} apart" if apart else "")

    def check():
        near(out, expected, 1e-7, 1e-5)
        out.zero_()

    def job(name, configurations, make):
        return Job(f"softmax {name}", size, "seeds", "TB/s", 2 * 4 * rows * cols, configurations, make, check,
                   lambda: torch.softmax(x, 1, out=out))

    def fused(module, configuration):
        return lambda: module.fused_softmax_kernel[(rows, )](x, out, x.stride(0), cols, BLOCK_SIZE=block,
                                                             num_warps=configuration[0])

    def looped(name):
        def make(module, configuration):
            kernel, (size, warps) = getattr(module, name), configuration
            return lambda: kernel[(rows, )](x, out, x.stride(0), cols, size, num_warps=warps)

        return make

    def persistent(module, configuration):
        programs, warps, stages = configuration
        return lambda: module.softmax_kernel[(min(programs, rows), )](
            out, x, x.stride(0), out.stride(0), rows, cols, BLOCK_SIZE=block, num_stages=stages, num_warps=warps)

    yield job("fused", [(4, ), (8, ), (16, )], fused)
    yield job("naive", [(256, 4), (1024, 4), (1024, 8)], looped("softmax_kernel_naive"))
    yield job("online", [(256, 4), (1024, 4), (1024, 8)], looped("softmax_kernel_v1"))
    yield job("persistent", [(264, 8, 2), (264, 8, 4), (528, 8, 4)], persistent)


def layer_norm(rows, cols):
    """Forward in fp16."""
    x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
    w, b = (torch.rand(cols, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(x)
    mean, rstd = (torch.empty(rows, device="cuda") for _ in range(2))
    expected = torch.nn.functional.layer_norm(x.double(), (cols, ), w.double(), b.double(), 1e-5)

    def make(module, configuration):
        block, warps = configuration
        return lambda: module.layer_norm_forward[(rows, )](x, out, w, b, mean, rstd, x.stride(0), cols, 1e-5,
                                                           BLOCK_SIZE=block, num_warps=warps)

    yield Job("layer norm forward", f"{rows}x{cols} fp16", "layer_norm", "TB/s", 2 * 2 * rows * cols,
              [(4096, 8), (4096, 4), (4096, 16)], make, lambda: near(out, expected, 4e-3, 2e-3),
              lambda: torch.nn.functional.layer_norm(x, (cols, ), w, b, 1e-5))


MATMULS = [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (128, 64, 64, 4, 4), (64, 64, 32, 4, 3)]


def matmul(size):
    """fp16, pointers, square."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    # float64 of whole rows is enough to see a wrong tile: every column of every tenth row.
    rows = torch.arange(0, size, 37, device="cuda")
    expected = a[rows].double() @ b.double()

    def make(module, configuration):
        m, n, k, warps, stages = configuration
        grid = (-(-size // m) * -(-size // n), )
        return lambda: module.matmul_kernel[grid](
            a, b, c, size, size, size, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
            BLOCK_SIZE_M=m, BLOCK_SIZE_N=n, BLOCK_SIZE_K=k, GROUP_SIZE_M=8, ACTIVATION="", num_warps=warps,
            num_stages=stages)

    def check():
        near(c[rows], expected, 1e-3 * math.sqrt(size), 2e-3)
        c.zero_()

    yield Job("matmul", f"{size}^3 fp16", "matmul", "TFLOP/s", 2 * size**3, MATMULS, make, check,
              lambda: torch.matmul(a, b, out=c))


ATTENTIONS = [(128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3), (128, 128, 8, 3)]


def attention(batch, heads, rows, width, causal):
    """Forward in fp16."""
    q, k, v = (torch.randn(batch * heads, rows, width, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    some = [0, batch * heads - 1]
    expected = torch.nn.functional.scaled_dot_product_attention(*(t[some].double() for t in (q, k, v)), is_causal=causal)

    def make(module, configuration):
        m, n, warps, stages = configuration
        grid = (-(-rows // m), batch * heads)
        return lambda: module.attention_forward[grid](
            q, k, v, out, 1 / math.sqrt(width), q.stride(0), q.stride(1), rows, BLOCK_M=m, BLOCK_N=n, HEAD_DIM=width,
            CAUSAL=causal, num_warps=warps, num_stages=stages)

    def check():
        near(out[some], expected, 2e-3, 5e-3)
        out.zero_()

    shape = (batch, heads, rows, width)
    operations = 4 * batch * heads * rows * rows * width // (2 if causal else 1)
    label = f"{batch}x{heads}x{rows}x{width}" + (" causal" if causal else "")
    yield Job("attention forward", label, "attention", "TFLOP/s", operations, ATTENTIONS, make, check,
              lambda: torch.nn.functional.scaled_dot_product_attention(*(t.view(shape) for t in (q, k, v)),
                                                                       is_causal=causal))


def wide():
    """Norms in one block, cross entropy, grouped and split matmul, strides that are no multiples of 16."""
    for rows, cols in ((8192, 4096), (4096, 8192), (4096, 15872)):
        yield from norms(rows, cols)
    yield from cross_entropy(4096, 131072)
    yield from matmul_shape(4000, 4104, 4040)
    yield from matmul_shape(4001, 4103, 4041)
    yield from grouped([(1024, 1024, 1024)] * 4)
    yield from grouped([(1024, 8192, 8192)] * 4)
    for rows in (16, 64, 256):
        yield from split_k(rows, 8192, 8192)


def norms(rows, cols):
    """Layer norm and rms norm, a row a program, fp16."""
    x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
    w, b = (torch.rand(cols, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(x)
    block = 1 << (cols - 1).bit_length()

    def check(expected):
        near(out, expected, 4e-3, 2e-3)
        out.fill_(float("nan"))

    def layer(module, configuration):
        return lambda: module.layer_norm_one_block[(rows, )](x, out, w, b, x.stride(0), cols, 1e-5, BLOCK=block,
                                                             num_warps=configuration[0])

    def rms(module, configuration):
        return lambda: module.rms_norm[(rows, )](x, out, w, x.stride(0), cols, 1e-5, BLOCK=block,
                                                 num_warps=configuration[0])

    layered = torch.nn.functional.layer_norm(x.double(), (cols, ), w.double(), b.double(), 1e-5)
    rooted = x.double() * torch.rsqrt(x.double().square().mean(1, keepdim=True) + 1e-5) * w.double()
    label, amount, warps = f"{rows}x{cols} fp16", 2 * 2 * rows * cols, [(4, ), (8, ), (16, )]
    yield Job("layer norm, one block", label, "wide", "TB/s", amount, warps, layer, lambda: check(layered),
              lambda: torch.nn.functional.layer_norm(x, (cols, ), w, b, 1e-5))
    yield Job("rms norm", label, "wide", "TB/s", amount, warps, rms, lambda: check(rooted),
              lambda: torch.nn.functional.rms_norm(x, (cols, ), w, 1e-5))


def cross_entropy(rows, cols):
    """The loss of each row, fp16."""
    x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
    labels = torch.randint(cols, (rows, ), device="cuda")
    out = torch.empty(rows, device="cuda")
    expected = torch.nn.functional.cross_entropy(x.double(), labels, reduction="none")

    def make(module, configuration):
        block, warps = configuration
        return lambda: module.cross_entropy[(rows, )](x, labels, out, x.stride(0), cols, BLOCK=block, num_warps=warps)

    def check():
        near(out, expected, 1e-4, 1e-4)
        out.fill_(float("nan"))

    yield Job("cross entropy", f"{rows}x{cols} fp16", "wide", "TB/s", 2 * rows * cols, [(1024, 4), (4096, 8), (8192, 8)],
              make, check, lambda: torch.nn.functional.cross_entropy(x, labels, reduction="none"))


def matmul_shape(m, n, k):
    """The matmul of the tutorial on a shape whose strides are no multiples of 16."""
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    rows = torch.arange(0, m, 37, device="cuda")
    expected = a[rows].double() @ b.double()

    def make(module, configuration):
        tile_m, tile_n, tile_k, warps, stages = configuration
        grid = (-(-m // tile_m) * -(-n // tile_n), )
        return lambda: module.matmul_kernel[grid](
            a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
            BLOCK_SIZE_M=tile_m, BLOCK_SIZE_N=tile_n, BLOCK_SIZE_K=tile_k, GROUP_SIZE_M=8, ACTIVATION="",
            num_warps=warps, num_stages=stages)

    def check():
        near(c[rows], expected, 1e-3 * math.sqrt(k), 2e-3)
        c.fill_(float("nan"))

    yield Job("matmul", f"{m}x{n}x{k} fp16", "matmul", "TFLOP/s", 2 * m * n * k, MATMULS, make, check,
              lambda: torch.matmul(a, b, out=c))


def grouped(shapes):
    """Several products in one launch, their places and sizes in memory."""
    a = [torch.randn(m, k, device="cuda", dtype=torch.float16) for m, n, k in shapes]
    b = [torch.randn(k, n, device="cuda", dtype=torch.float16) for m, n, k in shapes]
    c = [torch.empty(m, n, device="cuda", dtype=torch.float16) for m, n, k in shapes]
    places = [torch.tensor([t.data_ptr() for t in group], device="cuda") for group in (a, b, c)]
    sizes = torch.tensor(shapes, device="cuda", dtype=torch.int32)
    strides = torch.tensor([[x.stride(0), y.stride(0), z.stride(0)] for x, y, z in zip(a, b, c)], device="cuda",
                           dtype=torch.int32)
    expected = [x[::37].double() @ y.double() for x, y in zip(a, b)]

    def make(module, configuration):
        m, n, k, programs, warps, stages = configuration
        return lambda: module.grouped_matmul[(programs, )](*places, sizes, strides, len(shapes), PROGRAMS=programs, M=m,
                                                           N=n, K=k, num_warps=warps, num_stages=stages)

    def check():
        for z, right, shape in zip(c, expected, shapes):
            near(z[::37], right, 1e-3 * math.sqrt(shape[2]), 2e-3)
            z.fill_(float("nan"))

    def library():
        for x, y, z in zip(a, b, c):
            torch.matmul(x, y, out=z)

    m, n, k = shapes[0]
    yield Job("grouped matmul", f"{len(shapes)}x({m}x{n}x{k}) fp16", "wide", "TFLOP/s",
              sum(2 * m * n * k for m, n, k in shapes),
              [(128, 128, 64, 132, 4, 3), (128, 128, 32, 132, 4, 3), (64, 128, 64, 132, 4, 3), (128, 128, 64, 132, 8, 3)],
              make, check, library)


def split_k(m, n, k):
    """Shares of the depth are added to the result by atomics, fp32."""
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.zeros(m, n, device="cuda")
    expected = a.double() @ b.double()
    tile_m = min(m, 64)

    def make(module, configuration):
        tile_m, tile_n, tile_k, split, warps, stages = configuration
        grid = (-(-n // tile_n), -(-m // tile_m), split)

        def run():
            c.zero_()
            module.split_k_matmul[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), M=tile_m, N=tile_n,
                                        K=tile_k, SPLIT=split, num_warps=warps, num_stages=stages)

        return run

    yield Job("split-K matmul", f"{m}x{n}x{k} fp16", "wide", "TFLOP/s", 2 * m * n * k,
              [(tile_m, 128, 64, 4, 4, 3), (tile_m, 128, 64, 8, 4, 3), (tile_m, 64, 64, 4, 4, 3)], make,
              lambda: near(c, expected, 1e-3 * math.sqrt(k), 2e-3), lambda: torch.matmul(a, b))


def all_jobs():
    """Functions that make jobs, each with the name of its family; memory is taken when they are called."""
    yield "vector_add", vector_add
    for rows, cols in ((8192, 8192), (4096, 1000), (4096, 12672), (65536, 1024)):
        yield "softmax", lambda rows=rows, cols=cols: softmax(rows, cols)
    yield "softmax", lambda: softmax(8192, 4001, 4096)
    yield "layer_norm", lambda: layer_norm(8192, 4096)
    for size in (1024, 2048, 4096, 8192):
        yield "matmul", lambda size=size: matmul(size)
    for shape in ((4, 32, 4096, 64), (4, 16, 4096, 128)):
        for causal in (False, True):
            yield "attention", lambda shape=shape, causal=causal: attention(*shape, causal)
    yield "wide", wide
    yield "rows", row_jobs.rows
    yield "tiles", tile_jobs.tiles
    yield "planes", plane_jobs.planes
