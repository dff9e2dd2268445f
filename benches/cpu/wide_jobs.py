"""Jobs of the wide table: kernels that models run beside their large products, each beside torch's own."""

import functools

import common
import limits
import triton
import wide_kernels as kernels
from jobs import THREADS, Job, block, compiled, matmul_limit

torch = common.torch
functional = torch.nn.functional if torch else None


@functools.cache
def _probes():
    """Bytes that a probe moves, and the probes of copying and of reading them."""
    one, two = block(1 << 24), block(1 << 24, seed=1)
    return {"copy": (2 * two.nbytes, limits.move_probe(THREADS, one, two)),
            "read": (two.nbytes, limits.move_probe(THREADS, None, two))}


def _moved(amount, how):
    """Answers the seconds that so many bytes take at the rate of a copy, or of a read, of 64 MiB."""
    size, probe = _probes()[how]
    return lambda: probe() * amount / size


def _far(result, expected):
    """The greatest difference from what is expected, of the greatest number there."""
    expected = expected.double()
    return ((result.double() - expected).abs().max() / expected.abs().max()).item()


def _job(label, amount, ours, right, rivals, *, how="copy", torch_runs, compiles=None):
    """A row that memory bounds: `right` answers the result and what it must be, computed in binary64."""
    return Job(label, amount, "GB/s", 0, limit=_moved(amount, how), ours=ours, check=lambda: _far(*right()) < 2e-5,
               torch=torch_runs, compiled=compiles and rivals and compiled(*compiles))


def rms_norm(rivals):
    rows, n = 4096, 4096
    x, w, y = block(rows, n, seed=1), block(n, seed=2), block(rows, n)
    function = lambda x, w: functional.rms_norm(x, (n, ), w, 1e-6)  # noqa: E731
    return _job("rms norm 4096x4096", 2 * x.nbytes, lambda: kernels.rms_norm[(rows, )](x, w, y, n, 1e-6, 4096),
                lambda: (y[:64], function(x[:64].double(), w.double())), rivals, torch_runs=lambda: function(x, w),
                compiles=(function, x, w))


def cross_entropy(rivals):
    rows, n = 1024, 32000
    x, loss = block(rows, n, seed=3), block(rows)
    labels = torch.randint(0, n, (rows, ))
    function = lambda x, labels: functional.cross_entropy(x, labels, reduction="none")  # noqa: E731
    return _job("cross entropy 1024x32000", x.nbytes, lambda: kernels.cross_entropy[(rows, )](x, labels, loss, n, 4096),
                lambda: (loss, function(x.double(), labels)), rivals, how="read", torch_runs=lambda: function(x, labels),
                compiles=(function, x, labels))


def softmax_backward(rivals):
    rows, n = 4096, 4096
    y, dy, dx = torch.softmax(block(rows, n, seed=4), 1), block(rows, n, seed=5), block(rows, n)
    function = lambda dy, y: torch._softmax_backward_data(dy, y, 1, y.dtype)  # noqa: E731
    return _job("softmax backward 4096x4096", 3 * y.nbytes,
                lambda: kernels.softmax_backward[(rows, )](y, dy, dx, n, 4096),
                lambda: (dx[:64], function(dy[:64].double(), y[:64].double())), rivals, torch_runs=lambda: function(dy, y))


def rotary(rivals):
    tokens, heads, half, length = 4096, 32, 64, 2048
    x, y = block(tokens, heads, 2 * half, seed=6), block(tokens, heads, 2 * half)
    angles = torch.outer(torch.arange(length), 10000.0**(-torch.arange(half) / half))
    cos, sin = angles.cos(), angles.sin()

    def function(x, cos, sin):
        c, s = (t.repeat(tokens // length, 1)[:, None, :] for t in (cos, sin))
        one, two = x[..., :half], x[..., half:]
        return torch.cat((one * c - two * s, two * c + one * s), -1)

    return _job("rotary embedding 4096x32x128", 2 * x.nbytes,
                lambda: kernels.rotary[(tokens, )](x, cos, sin, y, length, heads, half),
                lambda: (y, function(x.double(), cos.double(), sin.double())), rivals,
                torch_runs=lambda: function(x, cos, sin), compiles=(function, x, cos, sin))


def embedding(rivals):
    tokens, words, n = 16384, 50257, 768
    table, y, index = block(words, n, seed=7), block(tokens, n), torch.randint(0, words, (tokens, ))
    return _job("embedding 16384 of 50257x768", 2 * y.nbytes,
                lambda: kernels.embedding[(tokens, )](table, index, y, n, 1024),
                lambda: (y, functional.embedding(index, table)), rivals,
                torch_runs=lambda: functional.embedding(index, table))


def swiglu(rivals):
    n = 1 << 24
    gate, up, y = block(n, seed=8), block(n, seed=9), block(n)
    function = lambda gate, up: functional.silu(gate) * up  # noqa: E731
    return _job("swiglu 2^24", 3 * y.nbytes, lambda: kernels.swiglu[(n // 4096, )](gate, up, y, n, 4096),
                lambda: (y[:1 << 16], function(gate[:1 << 16].double(), up[:1 << 16].double())), rivals,
                torch_runs=lambda: function(gate, up), compiles=(function, gate, up))


def adamw(rivals):
    n = 1 << 22
    mine = [block(n, seed=seed) for seed in (10, 11)] + [block(n), block(n)]
    theirs = [tensor.clone() for tensor in mine]
    as_64 = [tensor.double() for tensor in mine]
    settings = {"beta1": 0.9, "beta2": 0.999, "lr": 1e-3, "weight_decay": 0.01, "eps": 1e-8}
    steps = torch.tensor([1.0])

    def library(p, g, m, v):
        torch._fused_adamw_([p], [g], [m], [v], [], [steps], **settings, amsgrad=False, maximize=False)

    def ours():
        kernels.adamw[(n // 4096, )](*mine, n, 1e-3, 0.9, 0.999, 1e-8, 0.01, 1 - 0.9, 1 - 0.999, 4096)

    def right():
        # One step was taken by now.
        p, g, m, v = as_64
        m, v = 0.1 * g, 0.001 * g * g
        return mine[0], p * (1 - 1e-5) - 1e-3 * (m / 0.1) / ((v / 0.001).sqrt() + 1e-8)

    return _job("adamw 2^22", 7 * mine[0].nbytes, ours, right, rivals, torch_runs=lambda: library(*theirs))


def quantize_rows(rivals):
    rows, n = 4096, 4096
    x, y, scale = block(rows, n, seed=12), torch.empty(rows, n, dtype=torch.int8), block(rows)

    def function(x):
        scale = x.abs().amax(1, keepdim=True) / 127
        return (x / scale).round().to(torch.int8), scale

    def right():
        return y.double() * scale[:, None].double(), x.double() + 0 * y

    job = _job("rows to int8 4096x4096", x.nbytes + y.nbytes,
               lambda: kernels.quantize_rows[(rows, )](x, y, scale, n, 4096), right, rivals,
               torch_runs=lambda: function(x), compiles=(function, x))
    # Half a step of a row, where the greatest number has 127.
    job.check = lambda: bool(((right()[0] - x).abs() <= scale[:, None] * 0.50001).all())
    return job


def transpose(rivals):
    rows, columns = 4096, 4096
    x, y, other = block(rows, columns, seed=13), block(columns, rows), block(columns, rows)
    return _job("transpose 4096x4096", 2 * x.nbytes,
                lambda: kernels.transpose[(rows // 64, columns // 64)](x, y, rows, columns, 64, 64),
                lambda: (y, x.T), rivals, torch_runs=lambda: other.copy_(x.T))


def column_sums(rivals):
    rows, columns = 8192, 4096
    x, y = block(rows, columns, seed=14), block(columns)
    return _job("column sums 8192x4096", x.nbytes,
                lambda: kernels.column_sums[(columns // 128, )](x, y, rows, columns, 32, 128),
                lambda: (y, x.double().sum(0)), rivals, how="read", torch_runs=lambda: x.sum(0),
                compiles=(lambda x: x.sum(0), x))


def group_norm(rivals):
    images, channels, side, groups = 16, 64, 56, 8
    x, y = block(images, channels, side, side, seed=15), block(images, channels, side, side)
    w, b = block(channels, seed=16), block(channels, seed=17)
    each, size = channels // groups, triton.next_power_of_2(channels // groups * side * side)
    function = lambda x, w, b: functional.group_norm(x, groups, w, b, 1e-5)  # noqa: E731
    return _job("group norm 16x64x56x56", 2 * x.nbytes,
                lambda: kernels.group_norm[(images, groups)](x, w, b, y, channels, side * side, 1e-5, each, size),
                lambda: (y, function(x.double(), w.double(), b.double())), rivals,
                torch_runs=lambda: function(x, w, b), compiles=(function, x, w, b))


def index_add(rivals):
    rows, kept, n = 16384, 4096, 1024
    x, y, other = block(rows, n, seed=18), block(kept, n), block(kept, n)
    index = torch.randint(0, kept, (rows, ))

    def right():
        # Ours ran once by now.
        return y.clone(), torch.zeros(kept, n, dtype=torch.float64).index_add_(0, index, x.double())

    return _job("index_add 16384 rows to 4096x1024", 3 * x.nbytes,
                lambda: kernels.index_add[(rows, )](y, index, x, n, 1024), right, rivals,
                torch_runs=lambda: other.index_add_(0, index, x))


def histogram(rivals):
    n, bins = 1 << 22, 256
    x, counts = torch.randint(0, bins, (n, ), dtype=torch.int32), torch.zeros(bins, dtype=torch.int32)

    def right():
        return counts.clone(), torch.bincount(x, minlength=bins)

    return _job("histogram 2^22 in 256 bins", x.nbytes, lambda: kernels.histogram[(n // 4096, )](x, counts, n, bins, 4096),
                right, rivals, how="read", torch_runs=lambda: torch.bincount(x, minlength=bins))


def sort_rows(rivals):
    rows, n = 4096, 1024
    x, y = block(rows, n, seed=19), block(rows, n)
    return _job("sorted rows 4096x1024", 2 * x.nbytes, lambda: kernels.sort_rows[(rows, )](x, y, n),
                lambda: (y, x.sort(1).values), rivals, torch_runs=lambda: x.sort(1))


def causal_convolution(rivals):
    batch, length, channels, width = 2, 2048, 2048, 4
    x, y = block(batch * length, channels, seed=20), block(batch * length, channels)
    w, b = block(width, channels, seed=21), block(channels, seed=22)

    def function(x, w, b):
        across = x.view(batch, length, channels).transpose(1, 2)
        out = functional.conv1d(across, w.T[:, None, :], b, padding=width - 1, groups=channels)[..., :length]
        return functional.silu(out).transpose(1, 2).reshape(batch * length, channels)

    return _job("causal convolution 4096x2048, 4 wide", 2 * x.nbytes,
                lambda: kernels.causal_convolution[(batch * length, channels // 1024)](x, w, b, y, length, channels, width, 1024),
                lambda: (y, function(x.double(), w.double(), b.double())), rivals, torch_runs=lambda: function(x, w, b),
                compiles=(function, x, w, b))


def max_pool(rivals):
    planes, side = 1024, 112
    x, y = block(planes, side, side, seed=23), block(planes, side // 2, side // 2)
    function = lambda x: functional.max_pool2d(x[None], 2)[0]  # noqa: E731
    return _job("max pool 2x2 of 1024x112x112", x.nbytes + y.nbytes,
                lambda: kernels.max_pool[(planes, side // 2)](x, y, side, side, 2, 64), lambda: (y, function(x)), rivals,
                torch_runs=lambda: function(x), compiles=(function, x))


def decode_attention(rivals):
    heads, length, d = 32, 4096, 64
    q, y = block(heads, d, seed=24), block(heads, d)
    k, v = block(heads, length, d, seed=25), block(heads, length, d, seed=26)
    function = lambda q, k, v: functional.scaled_dot_product_attention(q[None, :, None], k[None], v[None])[0, :, 0]  # noqa: E731
    return _job("attention of one query, 32x4096x64", k.nbytes + v.nbytes,
                lambda: kernels.decode_attention[(heads, )](q, k, v, y, d**-0.5, length, d, 64),
                lambda: (y, function(q.double(), k.double(), v.double())), rivals, how="read",
                torch_runs=lambda: function(q, k, v))


def _vector_matrix(label, dtype, order, by_dot, rivals):
    n, k = 4096, 4096
    x, y = block(1, k, dtype=dtype, seed=27), block(1, n, dtype=dtype)
    w = block(n, k, dtype=dtype, seed=28).T if order == "nk" else block(k, n, dtype=dtype, seed=28)

    def dot():
        kernels.linear[(n // 64, 1)](x, w, x, y, 1, n, k, *w.stride(), False, 16, 64, 64)

    def sums():
        kernels.vector_matrix[(n // 64, )](x, w, y, n, k, *w.stride(), 64, 64)

    job = _job(label, w.nbytes, dot if by_dot else sums, lambda: (y, x.double() @ w.double()), rivals, how="read",
               torch_runs=lambda: x @ w)
    if dtype != "float32":
        job.check = lambda: _far(y, x.double() @ w.double()) < 0.01
    return job


def _linear(label, shape, dtype, tile, rivals, *, order="kn", bias=False, weights=None):
    """A product whose right operand lies along its columns ("nk") or its rows ("kn")."""
    m, n, k = shape
    whole = dtype == "int8"
    if whole:
        x = torch.randint(-128, 128, (m, k), dtype=torch.int8)
        w = torch.randint(-128, 128, (k, n), dtype=torch.int8)
        y = torch.empty(m, n, dtype=torch.int32)
    else:
        x, w, y = block(m, k, dtype=dtype, seed=29), block(k, n, dtype=dtype, seed=30), block(m, n, dtype=dtype)
    if weights:
        w = torch.randint(-128, 128, (k, n), dtype=getattr(torch, weights))
    if order == "nk":
        w = w.T.contiguous().T
    b = block(n, dtype=dtype, seed=31) if bias else x
    tile_m, tile_n, tile_k = tile
    operations = 2 * m * n * k

    def ours():
        kernels.linear[(triton.cdiv(n, tile_n), triton.cdiv(m, tile_m))](x, w, b, y, m, n, k, *w.stride(), bias, *tile)

    def check():
        expected = x.double() @ w.double() + (b.double() if bias else 0)
        return _far(y, expected) <= (0 if whole else 2e-5 if dtype == "float32" else 0.01)

    def library():
        if whole:
            return torch._int_mm(x, w)
        return torch.addmm(b, x, w) if bias else x @ w.to(x.dtype)

    return Job(label, operations, "GFLOP/s", 0, limit=None if whole else matmul_limit(dtype, operations), ours=ours,
               check=check, torch=library)


# What each row is called, and how it is made.
ROWS = [
    ("rms norm", rms_norm),
    ("cross entropy", cross_entropy),
    ("softmax backward", softmax_backward),
    ("rotary embedding", rotary),
    ("embedding", embedding),
    ("swiglu", swiglu),
    ("adamw", adamw),
    ("rows to int8", quantize_rows),
    ("transpose", transpose),
    ("column sums", column_sums),
    ("group norm", group_norm),
    ("index_add", index_add),
    ("histogram", histogram),
    ("sorted rows", sort_rows),
    ("causal convolution", causal_convolution),
    ("max pool", max_pool),
    ("attention of one query", decode_attention),
    *[(f"row times matrix {dtype} {order} {way}",
       lambda rivals, dtype=dtype, order=order, way=way: _vector_matrix(
           f"row times matrix {dtype}, W[{order.upper()}] 4096x4096 by {way}", dtype, order, way == "dots", rivals))
      for dtype in ("float32", "bfloat16") for order in ("kn", "nk") for way in ("sums", "dots")],
    *[(label, lambda rivals, label=label, arguments=arguments, more=more: _linear(label, *arguments, rivals, **more))
      for label, arguments, more in (
          ("linear 8x4096x4096 float32 W[NK]", ((8, 4096, 4096), "float32", (16, 64, 64)), {"order": "nk"}),
          ("linear 8x4096x4096 float32 W[KN]", ((8, 4096, 4096), "float32", (16, 64, 64)), {}),
          ("linear 64x4096x4096 float32", ((64, 4096, 4096), "float32", (64, 64, 64)), {"order": "nk"}),
          ("linear 512x1024x1024 bfloat16 with bias", ((512, 1024, 1024), "bfloat16", (64, 64, 64)),
           {"order": "nk", "bias": True}),
          ("matmul 1000x1000x1000 float32", ((1000, 1000, 1000), "float32", (64, 64, 32)), {}),
          ("matmul 256x256x256 float32", ((256, 256, 256), "float32", (64, 64, 32)), {}),
          ("matmul 1024x1024x1024 float16", ((1024, 1024, 1024), "float16", (128, 128, 32)), {}),
          ("matmul 1024x1024x1024 int8", ((1024, 1024, 1024), "int8", (128, 128, 64)), {}),
          ("matmul 16x4096x4096 bfloat16, int8 weights", ((16, 4096, 4096), "bfloat16", (16, 64, 64)),
           {"order": "nk", "weights": "int8"}),
      )],
]

